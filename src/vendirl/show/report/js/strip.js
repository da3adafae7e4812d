// This file draws a score on a strip from 1 to what it can be, beside all that it is to be compared with.

/** A strip of marks, each with its `kind`, `at` a score or `from` and `to` another, and `words` for the key. */
function strip(marks) {
  const known = marks.filter((mark) => mark.at !== undefined || mark.from !== undefined);
  const top = Math.max(1 + 1e-9, ...known.map((mark) => mark.at ?? mark.to));
  const place = (x) => `${Math.min(100, Math.max(0, (100 * (x - 1)) / (top - 1)))}%`;
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((s) => (top - 1) / s <= 8) ?? top;
  const ticks = [
    1,
    ...range(Math.floor(top / step + 1e-6) + 1)
      .map((i) => Number((i * step).toPrecision(6)))
      .filter((x) => x > 1 + 0.6 * step),
  ];
  const style = (mark) =>
    mark.at === undefined
      ? `left:${place(mark.from)};width:calc(${place(mark.to)} - ${place(mark.from)})`
      : `left:${place(mark.at)}`;
  const keyed = known.filter((mark) => mark.words);
  return element(
    "div", {},
    element(
      "div", { class: "strip", "aria-hidden": "true" }, element("span", { class: "axis" }),
      ticks.map((x) => element("span", { class: "tick", style: `left:${place(x)}` }, number(x))),
      [...known].reverse().map((mark) =>
        element("span", { class: mark.kind, style: style(mark), title: mark.title ?? mark.words }),
      ),
    ),
    element(
      "ul", { class: "key" },
      keyed.map((mark) => element("li", {}, element("i", { class: mark.kind }), mark.words)),
    ),
  );
}
const spanned = (kind, interval, words) => (interval ? { kind, from: interval[0], to: interval[1], words } : { kind });
const placed = (kind, at, words) => (known(at) ? { kind, at, words } : { kind });
