// This file puts numbers, names and settings into words.

/** Four significant digits, without trailing zeros. */
function number(value, digits = 4) {
  if (typeof value !== "number") return value === null || value === undefined ? "\u2013" : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en").replaceAll(",", "\u202f");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1e-300))))));
}
const between = (interval) => `${number(interval[0])} to ${number(interval[1])}`;
/** Three digits; what is less than all is never rounded to 100%. */
const percent = (x) => `${x >= 0.995 && x < 1 ? Math.floor(1e4 * x) / 100 : Number((100 * x).toPrecision(3))}%`;
const chance = (p) => (p < 1e-4 ? "p < 0.0001" : `p = ${number(p, 2)}`);
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
/** What Plotly, whose text is pseudo-HTML, shows as the string that it was. */
const escaped = (text) =>
  String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\s+/g, " ");
const short = (text, most = 14) =>
  String(text).length > most ? `${String(text).slice(0, most - 1)}\u2026` : String(text);
const skillName = (set, k) => (/^\d+$/.test(set.labels[k]) ? `skill ${set.labels[k]}` : String(set.labels[k]));

/** Whether there is such a number. */
const known = (x) => x !== null && x !== undefined;
/** How many episodes of each skill a set has; `counts` is of all, also where fewer are drawn. */
function episodesOf(set) {
  const counts = set.counts ?? set.bySkill.map((episodes) => episodes.length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return `${least === most ? plural(most, "episode") : `${least} to ${plural(most, "episode")}`} of each skill`;
}

const setting = (value) =>
  value === null || value === undefined
    ? "none"
    : typeof value === "number"
      ? String(value)
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
