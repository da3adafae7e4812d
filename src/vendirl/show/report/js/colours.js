// This file gives each skill its colour, its dash and its mark, in light and in dark.

// Okabe and Ito's eight; for more skills evenly spaced colours of a map whose lightness rises steadily ("plasma"),
// cut where it would vanish in the background. Dashes and marks differ between neighbours: colour is not all.
const OKABE_ITO = ["#E69F00", "#56B4E9", "#009E73", "#D6C800", "#0072B2", "#D55E00", "#CC79A7", "#000000"];
const PLASMA = [
  "#0d0887", "#46039f", "#7201a8", "#9c179e", "#bd3786", "#d8576b", "#ed7953", "#fb9f3a", "#fdca26", "#f0f921",
];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const MARKS = ["circle", "square", "diamond", "cross", "x"]; // those that 3D charts have too
const MARK_PATHS = {
  circle: "M17,6a4,4 0 1,1 -8,0a4,4 0 1,1 8,0Z", square: "M9.5,2.5h7v7h-7Z", diamond: "M13,1l5,5l-5,5l-5,-5Z",
  cross: "M11.5,1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z", x: "M9,4l2,-2l2,2l2,-2l2,2l-2,2l2,2l-2,2l-2,-2l-2,2l-2,-2l2,-2Z",
};
const MARK_SHAPES = Object.fromEntries(Object.entries(MARK_PATHS).map(([name, path]) => [name, new Path2D(path)]));
const dark = () => root.dataset.theme === "dark";
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

function mixed(a, b, share) {
  const parts = [1, 3, 5].map((i) => [a, b].map((hex) => parseInt(hex.slice(i, i + 2), 16)));
  return `#${parts
    .map(([x, y]) =>
      Math.round(x + share * (y - x))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function colour(k, n) {
  if (n <= OKABE_ITO.length) return dark() && OKABE_ITO[k] === "#000000" ? "#F2F2F2" : OKABE_ITO[k];
  const [from, to] = dark() ? [0.28, 1] : [0, 0.86];
  const place = (from + ((to - from) * k) / (n - 1)) * (PLASMA.length - 1);
  const i = Math.min(Math.floor(place), PLASMA.length - 2);
  return mixed(PLASMA[i], PLASMA[i + 1], place - i);
}
const dash = (k, n) => (n <= OKABE_ITO.length ? "solid" : DASHES[k % DASHES.length]);
const mark = (k, n) => (n <= OKABE_ITO.length ? "circle" : MARKS[k % MARKS.length]);

function swatch(k, n) {
  const dashes = { solid: null, dash: "6 3", dot: "2 2", dashdot: "6 2 2 2" }[dash(k, n)];
  return element(
    "svg", { class: "swatch", viewBox: "0 0 26 12", "aria-hidden": "true" },
    element("line", {
      x1: 0, y1: 6, x2: 26, y2: 6, stroke: colour(k, n), "stroke-width": 2.5, "stroke-dasharray": dashes,
    }),
    element("path", { d: MARK_PATHS[mark(k, n)], fill: colour(k, n) }),
  );
}
