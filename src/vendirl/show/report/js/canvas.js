// This file paints trajectories on a canvas when they are too many for Plotly, and only what is new when time moves on.

const DASH_LENGTHS = { solid: [], dash: [7, 4], dot: [2, 3], dashdot: [7, 3, 2, 3] };

/** A canvas as large as a box, ready to be painted in its pixels; whether it was made anew, and so is empty. */
function readied(canvas, wide, high) {
  const dots = devicePixelRatio || 1, context = canvas.getContext("2d");
  const [across, down] = [wide, high].map((length) => Math.round(length * dots));
  const fresh = canvas.width !== across || canvas.height !== down;
  if (fresh) [canvas.width, canvas.height] = [across, down];
  context.setTransform(dots, 0, 0, dots, 0, 0);
  return { context, fresh };
}

/** Where the axes of a chart put a point: [across, right, up, bottom, and the rectangle that is painted in]. */
function viewOfChart(box) {
  const { xaxis, yaxis } = box._fullLayout;
  const across = xaxis._length / (xaxis.range[1] - xaxis.range[0]),
    up = yaxis._length / (yaxis.range[1] - yaxis.range[0]);
  return [
    across, xaxis._offset - across * xaxis.range[0], up, yaxis._offset + yaxis._length + up * yaxis.range[0],
    xaxis._offset, yaxis._offset, xaxis._length, yaxis._length,
  ];
}

/**
 * The episodes of a skill in pixels, found once for each view: x, y, and the length up to each point, with which dashes
 * go on where they ended. A world's start is the first point.
 */
function pixels(set, k, view) {
  const key = `${set.axes}/${view}`;
  set.pixels = set.pixels || new Map();
  const held = set.pixels.get(k);
  if (held?.key === key) return held.episodes;
  const [across, right, up, bottom] = view;
  const axes = set.axes.slice(0, 2), from = startOf(set, axes);
  const episodes = set.bySkill[k].map((points) => {
    const first = from ? 1 : 0, n = points.length + first;
    const x = new Float32Array(n), y = new Float32Array(n), along = new Float32Array(n);
    for (let p = 0; p < n; p++) {
      const s = p - first, at = (axis) => (s < 0 ? from[axis] : axis === STEP ? s : points[s][axis]);
      x[p] = right + across * at(axes[0]);
      y[p] = bottom - up * at(axes[1]);
      if (p) along[p] = along[p - 1] + Math.hypot(x[p] - x[p - 1], y[p] - y[p - 1]);
    }
    return { x, y, along, first };
  });
  set.pixels.set(k, { key, episodes });
  return episodes;
}
const startOf = (set, axes) =>
  set.world?.start && axes.every((axis) => axis === 0 || axis === 1) ? set.world.start : null;
/** The last point of an episode at a time. */
const lastOf = ({ x, first }, t) => Math.min(t + first, x.length) - 1;

/** The lines of a skill from one time to another; without dashes where they would be longer than what they are of. */
function trace(context, set, k, view, from, to, solid = false) {
  const n = set.labels.length, dashes = DASH_LENGTHS[solid ? "solid" : dash(k, n)];
  context.strokeStyle = colour(k, n);
  context.setLineDash(dashes);
  pixels(set, k, view).forEach((episode) => {
    const begin = from === 0 ? 0 : lastOf(episode, from), end = lastOf(episode, to);
    if (end <= begin) return;
    const { x, y, along } = episode;
    if (dashes.length) context.lineDashOffset = along[begin];
    context.beginPath(); // each by itself: one long path of all would be slower, not faster
    context.moveTo(x[begin], y[begin]);
    for (let p = begin + 1; p <= end; p++) context.lineTo(x[p], y[p]);
    context.stroke();
  });
}

/** Where the episodes of a skill have come to: its mark, made once and then copied. */
function heads(context, set, k, view, size = 1) {
  const picture = markPicture(k, set.labels.length, size), half = picture.width / (2 * (devicePixelRatio || 1));
  pixels(set, k, view).forEach((episode) => {
    const end = lastOf(episode, state.t);
    context.drawImage(picture, episode.x[end] - half, episode.y[end] - half, 2 * half, 2 * half);
  });
}
const markPicture = (() => {
  const made = new Map();
  return (k, n, size) => {
    const key = `${k}/${n}/${size}/${dark()}`;
    if (!made.has(key)) {
      const dots = devicePixelRatio || 1, side = Math.ceil(9 * size * dots), canvas = element("canvas", {});
      [canvas.width, canvas.height] = [side, side];
      const context = canvas.getContext("2d");
      context.translate(side / 2, side / 2);
      context.scale(0.6 * size * dots, 0.6 * size * dots); // a swatch's mark, whose middle is (13, 6)
      context.translate(-13, -6);
      context.fillStyle = colour(k, n);
      context.fill(MARK_SHAPES[mark(k, n)]);
      made.set(key, canvas);
    }
    return made.get(key);
  };
})();

/** Trajectories up to now behind the chart, where its axes say. What is there already is left if only time went on. */
function paint(set, i) {
  const box = inside("trajectories", i), canvas = inside("canvas", i);
  if (!box?._fullLayout || box.hidden) return;
  const { context, fresh } = readied(canvas, box.clientWidth, box.clientHeight);
  const flat = set.axes[2] === null && box._fullLayout.xaxis;
  const view = flat ? viewOfChart(box) : null, look = flat ? `${view}/${set.axes}/${set.visible}/${dark()}` : "";
  const on = !fresh && look === set.look && state.t >= set.upTo && set.upTo > 0;
  if (!on) context.clearRect(0, 0, box.clientWidth, box.clientHeight);
  set.look = look;
  if (flat) {
    context.save();
    context.beginPath();
    context.rect(...view.slice(4));
    context.clip();
    context.lineWidth = numerous(set) ? 0.7 : 1.5;
    context.lineJoin = "round";
    context.globalAlpha = opacityOf(set);
    set.visible.forEach((shown, k) => shown && trace(context, set, k, view, on ? set.upTo : 0, state.t));
    context.restore();
  }
  set.upTo = state.t;
  paintOver(set, i);
}

/** Before the chart: where skills have come to, and those that are pointed at, alone. */
function paintOver(set, i) {
  const box = inside("trajectories", i), canvas = inside("over", i);
  if (!box?._fullLayout || !canvas) return;
  const flat = set.axes[2] === null && box._fullLayout.xaxis, lit = flat ? set.lit : [];
  const { context } = readied(canvas, box.clientWidth, box.clientHeight);
  context.clearRect(0, 0, box.clientWidth, box.clientHeight);
  canvas.parentElement.classList.toggle("dimmed", lit.length > 0);
  if (!flat) return;
  const view = viewOfChart(box);
  if (lit.length) {
    context.save();
    context.beginPath();
    context.rect(...view.slice(4));
    context.clip();
    context.lineWidth = 2.5;
    context.lineJoin = "round";
    lit.forEach((k) => trace(context, set, k, view, 0, state.t));
    context.restore();
    lit.forEach((k) => heads(context, set, k, view, 1.6));
  } else if (set.painted) set.visible.forEach((shown, k) => shown && heads(context, set, k, view));
}
