// This file knows what is shown now, in which sense and up to what time, and of each set which skills and axes.

const orders = new Set(sets.flatMap((set) => set.results.map((result) => result.q)));
const sense = (result) => (orders.size > 1 ? `${result.similarity}, q = ${result.q}` : result.similarity);
const senses = [...new Set(sets.flatMap((set) => set.results.map(sense)))];
const lengthOf = (set) => set.episodes.reduce((longest, episode) => Math.max(longest, episode.points.length), 1);
const T = Math.max(...sets.map(lengthOf));
const STEP = -1; // an axis that is not a feature: time
const alike = sets.every((set) => same(set.features, sets[0].features));

const state = {
  sense: senses[0], t: T, playing: false, order: sets.some(numerous) ? "alike" : "number", apart: false, seed: null,
  group: null,
};
sets.forEach((set) => {
  set.bySkill = set.labels.map(() => []);
  set.episodes.forEach((episode) => set.bySkill[episode.skill].push(episode.points));
  set.visible = set.labels.map(() => true);
  set.pair = null; // the two skills that were chosen in the heat map
  set.cursor = null; // where the arrow keys are in it
  set.drawn = null; // the time it was drawn for
  set.lit = []; // the skills that are pointed at
  set.upTo = 0; // the time up to which it is painted
  const [east, north] = ["x", "y"].map((name) => set.features.indexOf(name));
  if (set.features.length === 1) set.axes = [STEP, 0, null];
  else if (east >= 0 && north >= 0) set.axes = [east, north, null]; // a body from above
  else set.axes = east >= 0 ? [STEP, east, null] : [0, 1, null];
  set.points = sum(set.episodes.map((episode) => episode.points.length));
});
const resultOf = (set) => set.results.find((result) => sense(result) === state.sense) || null;
const shownResults = () => sets.map(resultOf).filter((result) => result !== null);

// 3D needs WebGL, and a page has room for few such charts.
const webgl = (() => {
  if (sets.every((set) => set.features.length < 3)) return false;
  const context = document.createElement("canvas").getContext("webgl");
  context?.getExtension("WEBGL_lose_context")?.loseContext();
  return context !== null;
})();
// Plotly makes an element of each trajectory, which is slow for hundreds, and its WebGL lines are slow without a
// graphics card. Many trajectories are painted on a canvas behind the chart instead, in milliseconds on any machine;
// the chart still has axes, zoom and hover, and the same traces, which it does not draw.
const crowded = sum(sets.map((set) => set.episodes.length)) > 200 || sum(sets.map((set) => set.points)) > 20000;
sets.forEach((set) => {
  set.painted = crowded;
  if (set.features.length === 3 && !set.world && webgl && sets.length <= 4) set.axes = [0, 1, 2];
});
