// This file gives each skill its colour, its dash and its mark, in light and in dark.

// Okabe and Ito's eight; of more skills every next one is turned by the golden angle on the wheel of hues, and lighter or
// darker than the last, so that neighbours never look alike. Dashes and marks differ too: colour is not all.
const OKABE_ITO = ["#E69F00", "#56B4E9", "#009E73", "#D6C800", "#0072B2", "#D55E00", "#CC79A7", "#000000"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const MARKS = ["circle", "square", "diamond", "cross", "x"]; // those that 3D charts have too
const MARK_PATHS = {
  circle: "M17,6a4,4 0 1,1 -8,0a4,4 0 1,1 8,0Z", square: "M9.5,2.5h7v7h-7Z", diamond: "M13,1l5,5l-5,5l-5,-5Z",
  cross: "M11.5,1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z", x: "M9,4l2,-2l2,2l2,-2l2,2l-2,2l2,2l-2,2l-2,-2l-2,2l-2,-2l2,-2Z",
};
const MARK_SHAPES = Object.fromEntries(Object.entries(MARK_PATHS).map(([name, path]) => [name, new Path2D(path)]));
const dark = () => root.dataset.theme === "dark";
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/** A colour of equal steps for the eye (OKLCH: lightness, chroma, hue in degrees) as red, green and blue. */
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180), b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const shown = (x) => (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
  return `#${linear
    .map((x) =>
      Math.round(255 * shown(Math.min(1, Math.max(0, x))))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

const wheel = new Map(); // asked for in every frame
function colour(k, n) {
  if (n <= OKABE_ITO.length) return dark() && OKABE_ITO[k] === "#000000" ? "#F2F2F2" : OKABE_ITO[k];
  const key = `${k}/${dark()}`;
  if (!wheel.has(key)) {
    const lightness = (dark() ? [0.7, 0.86, 0.6] : [0.55, 0.7, 0.42])[k % 3];
    wheel.set(key, oklch(lightness, 0.14, (30 + 137.508 * k) % 360));
  }
  return wheel.get(key);
}
// Very many are told apart by pointing at them, and are calmer all alike.
const uniform = (n) => n <= OKABE_ITO.length || n > MANY;
const dash = (k, n) => (uniform(n) ? "solid" : DASHES[k % DASHES.length]);
const mark = (k, n) => (uniform(n) ? "circle" : MARKS[k % MARKS.length]);

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
