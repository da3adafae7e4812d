// This file decides which skills are shown, and has a button for each.

function show(i, visible, pair = null) {
  const set = sets[i];
  set.visible = visible;
  set.pair = pair;
  document
    .querySelectorAll(`#trajectories button[data-set="${i}"][data-skill]`)
    .forEach((chip) => chip.setAttribute("aria-pressed", visible[chip.dataset.skill]));
  if (state.apart) drawMultiples(set, i);
  else drawTrajectories(set, i);
  outlinePairs(set, i);
}

function choosePair(i, a, b) {
  const set = sets[i], pair = [Math.min(a, b), Math.max(a, b)];
  const again = same(set.pair, pair);
  show(i, set.labels.map((_, k) => again || pair.includes(k)), again ? null : pair);
  say(
    i,
    again
      ? "All skills are shown."
      : a === b
        ? `Only ${skillName(set, a)} is shown.`
        : `Only ${pairName(set, a, b)} are shown; choose them again for all.`,
  );
}

function chips(set, i) {
  const n = set.labels.length;
  const every = (on, words) =>
    element(
      "button",
      {
        type: "button", class: "all", "data-set": i, "data-show": words,
        onclick: () => show(i, set.labels.map(() => on)),
      },
      words,
    );
  return element(
    "div", { class: "chips", role: "group", "aria-label": `Skills shown${several ? ` of ${set.name}` : ""}` },
    every(true, "all"), every(false, "none"),
    set.labels.map((label, k) =>
      element(
        "button",
        {
          type: "button", "data-set": i, "data-skill": k, "aria-pressed": true,
          title: `${skillName(set, k)}: click to hide or show, double-click for it alone`,
          onclick: () => show(i, set.visible.map((on, j) => (j === k ? !on : on))),
          ondblclick: () => show(i, set.labels.map((_, j) => j === k)),
          ...pointing(i, k),
        },
        swatch(k, n), element("span", {}, label),
      ),
    ),
  );
}

/** The buttons in the order that was chosen. */
function orderChips(set, i) {
  const every = [...document.querySelectorAll(`#trajectories button[data-set="${i}"][data-skill]`)];
  const by = new Map(every.map((chip) => [Number(chip.dataset.skill), chip]));
  if (every.length) every[0].parentElement.append(...ordered(set).map((k) => by.get(k)));
}
