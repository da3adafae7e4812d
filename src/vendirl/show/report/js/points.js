// This file gives the points of trajectories up to a time, and the limits of the axes they are drawn in.

const featureName = (set, axis) => (axis === STEP ? "step" : set.features[axis]);
const plane = (set) =>
  set.world && set.axes[0] !== set.axes[1] && set.axes.slice(0, 2).every((a) => a === 0 || a === 1);

/** Lines of each visible skill up to time t, episodes parted by a gap, and where they have come to. */
function drawnUpTo(set, t) {
  const axes = set.axes.filter((axis) => axis !== null);
  const start = set.world?.start && axes.every((axis) => axis === 0 || axis === 1) ? set.world.start : null;
  const heads = axes.map(() => []);
  const lines = set.bySkill.map((episodes, k) => {
    const line = axes.map(() => []);
    if (!set.visible[k]) return line;
    episodes.forEach((points) => {
      const end = Math.min(t, points.length);
      axes.forEach((axis, a) => {
        const to = line[a];
        if (start) to.push(start[axis]);
        if (axis === STEP) for (let s = 0; s < end; s++) to.push(s);
        else for (let s = 0; s < end; s++) to.push(points[s][axis]);
        heads[a].push(to[to.length - 1]);
        to.push(null);
      });
    });
    return line;
  });
  return { lines, heads };
}

/** The skill of each head, in the order of `drawnUpTo`. */
const owners = (set) => set.labels.flatMap((_, k) => (set.visible[k] ? set.bySkill[k].map(() => k) : []));

/** From least to most of an axis, with a margin; the same for all sets that have the same features. */
const limits = (() => {
  const known = new Map();
  return (set, axis) => {
    const key = `${alike ? "" : sets.indexOf(set)}/${axis}`;
    if (!known.has(key)) {
      let low = Infinity,
        high = -Infinity;
      const take = (x) => {
        if (x < low) low = x;
        if (x > high) high = x;
      };
      (alike ? sets : [set]).forEach((one) => {
        one.episodes.forEach(({ points }) => {
          if (axis === STEP) {
            take(0);
            take(points.length - 1);
          } else points.forEach((point) => take(point[axis]));
        });
        if (one.world && (axis === 0 || axis === 1)) {
          if (one.world.bounds) {
            take(one.world.bounds[axis]);
            take(one.world.bounds[axis + 2]);
          }
          (one.world.walls || []).forEach((wall) => {
            take(wall[axis]);
            take(wall[axis + 2]);
          });
          if (one.world.start) take(one.world.start[axis]);
        }
      });
      if (low > high) [low, high] = [0, 1];
      const margin = high > low ? 0.04 * (high - low) : 0.5;
      known.set(key, [low - margin, high + margin]);
    }
    return [...known.get(key)];
  };
})();
