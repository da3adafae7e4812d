// This file makes the sections of the page, with a column for each set, and what often stands in them.

const size = (set) =>
  [
    plural(set.labels.length, "skill"), plural(set.episodes.length, "episode"),
    plural(set.features.length, "feature"),
  ].join(" \u00b7 ");

/** A section with a column for each set; `fill(set, i)` gives what stands in a column. */
function section(id, heading, caption, width, fill) {
  const columns = element(
    "div", { class: "columns" },
    sets.map((set, i) =>
      element(
        "article", { "data-set": i },
        several || id === "score"
          ? element("h3", {}, set.name, id === "score" ? element("span", { class: "size" }, ` ${size(set)}`) : null)
          : null,
        fill(set, i),
      ),
    ),
  );
  const made = element(
    "section", { id, class: width, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, heading), caption ? element("p", { class: "caption" }, caption) : null,
    columns,
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
