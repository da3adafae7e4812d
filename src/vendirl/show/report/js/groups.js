// This file knows which sets are seeds of the same, and which of them are shown.

// Without groups in the payload every set is by itself. Seeds are judged together: scores, curves, measures and
// settings have a column for each group, and all that is of single skills one for each seed.
const groups = (payload.groups || sets.map((set, i) => ({ name: set.name, sets: [i] }))).map((group, g) => ({
  learned: null, differences: {}, untrained_note: null, ...group, index: g,
}));
groups.forEach((group) =>
  group.sets.forEach((i, place) => {
    sets[i].group = group;
    sets[i].place = place;
    sets[i].seed = group.sets.length > 1 ? String(sets[i].name).split(/[/\\]/).pop() : null;
  }),
);
const seeded = groups.some((group) => group.sets.length > 1);
const columns = groups.length > 1; // whether there are several of what has a column for each group
const membersOf = (group) => group.sets.map((i) => sets[i]);
/** The members of a group that are shown now: all, or the seed that was chosen. */
const shownOf = (group) =>
  membersOf(group).filter((set) => state.seed === null || set.seed === null || set.seed === state.seed);

/** Menus that choose one seed or one method; at first all are shown. */
function choices() {
  const menu = (id, words, all, options, choose) => {
    const made = element(
      "select", { id, onchange: () => choose(made.value === "" ? null : made.value) },
      element("option", { value: "" }, all),
      options.map(([value, text]) => element("option", { value }, text)),
    );
    return element("label", {}, words, made);
  };
  const seeds = [...new Set(sets.map((set) => set.seed).filter((seed) => seed !== null))];
  const found = [];
  if (columns && sets.length > 4)
    found.push(
      menu("group", "show", "all methods", groups.map((group, g) => [g, short(group.name, 40)]), (g) => {
        state.group = g === null ? null : Number(g);
        choose();
      }),
    );
  if (seeded)
    found.push(
      menu("seed", "of", "all seeds", seeds.map((seed) => [seed, seed]), (seed) => {
        state.seed = seed;
        choose();
      }),
    );
  return found;
}

function choose() {
  document.querySelectorAll("[data-group]").forEach((part) => {
    part.hidden = state.group !== null && Number(part.dataset.group) !== state.group;
  });
  document.querySelectorAll("article[data-set]").forEach((article) => {
    const set = sets[article.dataset.set];
    article.hidden = !shownOf(set.group).includes(set);
  });
  drawResults();
}
