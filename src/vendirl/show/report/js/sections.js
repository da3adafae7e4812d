// This file makes the sections of the page, with a column for each set, and what often stands in them.

const size = (set) =>
  [
    plural(set.labels.length, "skill"), plural(sum(set.counts ?? [set.episodes.length]), "episode"),
    plural(set.features.length, "feature"),
    ...(set.acted ? [set.acted] : []),
  ].join(" \u00b7 ");

/** A section with a column for each set, seeds of the same in a row of their own; `fill(set, i)` fills a column. */
function section(id, heading, caption, width, fill) {
  const article = (set) => {
    const name = seeded ? set.seed : several ? set.name : null;
    return element(
      "article", { "data-set": sets.indexOf(set) }, name === null ? null : element("h3", {}, name),
      fill(set, sets.indexOf(set)),
    );
  };
  const row = (of) => element("div", { class: "columns" }, of.map(article));
  const rows = seeded
    ? groups.map((group) =>
        element(
          "div", { class: "group", "data-group": group.index }, element("h3", { class: "name" }, group.name),
          row(membersOf(group)),
        ),
      )
    : [row(sets)];
  return framed(id, heading, caption, width, rows);
}

/** A section with a column for each group; `fill(group)` fills a column. */
function groupSection(id, heading, caption, width, fill) {
  const named = (group) =>
    columns || id === "score"
      ? element("h3", {}, group.name, id === "score" ? element("span", { class: "size" }, ` ${sizeOf(group)}`) : null)
      : null;
  const parts = groups.map((group) =>
    element("article", { "data-group": group.index }, named(group), fill(group)),
  );
  return framed(id, heading, caption, width, element("div", { class: "columns" }, parts));
}
const sizeOf = (group) =>
  (group.sets.length > 1 ? `${plural(group.sets.length, "seed")}, each ` : "") + size(membersOf(group)[0]);

function framed(id, heading, caption, width, content) {
  const made = element(
    "section", { id, class: width, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, heading), caption ? element("p", { class: "caption" }, caption) : null,
    content,
  );
  main.append(made);
  return made;
}

const plotBox = (kind, i, size, label) =>
  element("div", { id: `${kind}-${i}`, class: `plot ${size}`, role: "img", "aria-label": label });
const inside = (kind, i) => document.getElementById(`${kind}-${i}`);
const absent = (words) => element("p", { class: "soft" }, words);
const scroll = (label, table) =>
  element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
const head = (cells) => element("thead", {}, element("tr", {}, cells));
