// This file draws trajectories with Plotly, in two or three dimensions, and moves them in time.

// A finger on a chart scrolls the page, so it neither pans nor zooms there.
const coarse = matchMedia("(pointer: coarse)").matches;

function worldLines(set) {
  const [a, b] = set.axes,
    { bounds, walls } = set.world;
  const frame = bounds
    ? [
        {
          type: "rect", layer: "below", x0: bounds[a], y0: bounds[b], x1: bounds[a + 2], y1: bounds[b + 2],
          line: { color: css("--soft"), width: 1 },
        },
      ]
    : [];
  return frame.concat(
    (walls || []).map((wall) => ({
      type: "line", x0: wall[a], y0: wall[b], x1: wall[a + 2], y1: wall[b + 2],
      line: { color: css("--ink"), width: 3 },
    })),
  );
}

const mostEpisodes = (set) => Math.max(1, ...set.bySkill.map((episodes) => episodes.length));
const opacityOf = (set) => (mostEpisodes(set) === 1 ? 1 : mostEpisodes(set) < 10 ? 0.8 : 0.5);

function trajectoryTraces(set) {
  const n = set.labels.length, three = set.axes[2] !== null;
  const type = three ? "scatter3d" : "scatter", paints = set.painted && !three;
  const { lines, heads } = drawnUpTo(set, state.t);
  const opacity = opacityOf(set);
  const names = set.axes.map((axis) => axis !== null && escaped(featureName(set, axis)));
  const where = ["x", "y", "z"]
    .slice(0, three ? 3 : 2)
    .map((c, a) => `${names[a].replace(/%\{/g, "% {")} %{${c}:.3g}`)
    .join(", ");
  const coordinates = (values) => Object.fromEntries(values.map((list, a) => ["xyz"[a], list]));
  const traces = lines.map((line, k) => ({
    type, mode: paints ? "none" : "lines", name: escaped(skillName(set, k)), meta: escaped(skillName(set, k)),
    visible: set.visible[k],
    ...coordinates(line),
    opacity, line: { color: colour(k, n), width: three ? 3 : 1.7, dash: dash(k, n) },
    hovertemplate: `%{meta}<br>${where}<extra></extra>`,
  }));
  const skills = owners(set);
  traces.push({
    type, mode: paints ? "none" : "markers", name: "now",
    ...coordinates(heads),
    hoverinfo: "skip",
    marker: {
      size: three ? 4 : mostEpisodes(set) > 10 ? 5 : 7, color: skills.map((k) => colour(k, n)),
      symbol: skills.map((k) => mark(k, n)), line: { color: css("--card"), width: three ? 0 : 1 },
    },
  });
  if (plane(set) && set.world.start && !three) {
    traces.push({
      type, mode: "markers", name: "start", x: [set.world.start[set.axes[0]]], y: [set.world.start[set.axes[1]]],
      hovertemplate: "start<extra></extra>",
      marker: { size: 11, symbol: "circle-open", color: css("--ink"), line: { width: 2 } },
    });
  }
  if (plane(set) && three) {
    const [a, b] = set.axes,
      floor = limits(set, set.axes[2])[0], x = [], y = [],
      { bounds, walls } = set.world;
    (walls || []).forEach((wall) => {
      x.push(wall[a], wall[a + 2], null);
      y.push(wall[b], wall[b + 2], null);
    });
    if (bounds) {
      [[0, 1], [2, 1], [2, 3], [0, 3], [0, 1]].forEach(([p, q]) => {
        x.push(bounds[a === 0 ? p : q]);
        y.push(bounds[b === 0 ? p : q]);
      });
    }
    traces.push({
      type, mode: "lines", name: "world", x, y, z: x.map(() => floor), hoverinfo: "skip",
      line: { color: css("--soft"), width: 3 },
    });
  }
  return traces;
}

function drawTrajectories(set, i) {
  const box = inside("trajectories", i);
  if (!box || state.apart || !sighted(box.parentElement)) return null;
  const three = set.axes[2] !== null;
  const axis = (a) => ({
    title: { text: escaped(short(featureName(set, set.axes[a]), 40)) }, range: limits(set, set.axes[a]),
  });
  const look = layout({ uirevision: set.axes.join(), hovermode: "closest", dragmode: coarse ? false : "pan" });
  look.meta = ""; // titles are templates too; with this no pattern in them finds anything
  if (three) {
    const paint = {
      gridcolor: css("--band"), zerolinecolor: css("--band"), backgroundcolor: "rgba(0,0,0,0)", showspikes: false,
    };
    const extent = (a) => {
      const [low, high] = limits(set, set.axes[a]);
      return high - low;
    };
    const equal = plane(set) ? Math.max(extent(0), extent(1)) : null;
    look.margin = { l: 0, r: 0, t: 0, b: 0 };
    look.dragmode = "turntable";
    look.scene = {
      xaxis: { ...paint, ...axis(0) }, yaxis: { ...paint, ...axis(1) }, zaxis: { ...paint, ...axis(2) },
      aspectmode: "manual",
      aspectratio: equal ? { x: extent(0) / equal, y: extent(1) / equal, z: 0.8 } : { x: 1, y: 1, z: 0.9 },
      camera: { eye: { x: 1.55, y: 1.55, z: 1 } },
    };
  } else {
    const shown = { fixedrange: coarse, showgrid: !set.painted }; // a grid would lie over what is painted behind it
    Object.assign(look.xaxis, axis(0), shown);
    Object.assign(look.yaxis, axis(1), shown);
    if (plane(set)) {
      Object.assign(look.yaxis, { scaleanchor: "x", constrain: "domain" });
      look.xaxis.constrain = "domain";
      look.shapes = worldLines(set);
    }
  }
  const buttons = [[...(set.painted && !three ? [] : ["toImage"]), three ? "resetCameraDefault3d" : "resetScale2d"]];
  if (box.data && box.three !== three) Plotly.purge(box);
  box.three = three;
  set.drawn = state.t;
  const fresh = !box.data;
  const made = Plotly.react(box, trajectoryTraces(set), look, {
    ...QUIET,
    displayModeBar: coarse ? false : "hover", displaylogo: false, modeBarButtons: buttons,
  });
  if (fresh) {
    const again = set.painted ? paint : paintOver;
    ["plotly_afterplot", "plotly_relayouting"].forEach((event) => box.on(event, () => again(set, i)));
    box.on("plotly_hover", (event) => {
      const k = event.points[0].curveNumber;
      if (k < set.labels.length) highlight(i, [k]);
    });
    box.on("plotly_unhover", () => highlight(i, []));
  }
  if (set.painted) paint(set, i);
  return made;
}

/** The same chart at another time: only the points of visible skills change. */
function moveTrajectories(set, i) {
  const box = inside("trajectories", i);
  if (!box || (!state.apart && (!box.data || set.drawn === state.t))) return;
  const edge = box.parentElement.getBoundingClientRect();
  if (edge.bottom < 0 || edge.top > innerHeight) return; // out of sight; it catches up when it comes into sight
  if (state.apart) return drawMultiples(set, i);
  set.drawn = state.t;
  if (set.painted && set.axes[2] === null) {
    paint(set, i);
    settle(set, i);
  } else {
    restyle(set, box);
    if (set.lit.length) paintOver(set, i);
  }
}

/** When time stands still hover follows, and all is painted once more in one piece, without joints. */
function settle(set, i) {
  clearTimeout(set.later);
  const box = inside("trajectories", i);
  if (state.playing || state.apart || !set.painted || !box?.data || set.axes[2] !== null) return;
  set.later = setTimeout(() => {
    set.upTo = 0;
    restyle(set, box);
  }, 150);
}

function restyle(set, box) {
  const { lines, heads } = drawnUpTo(set, state.t);
  const shown = range(set.labels.length).filter((k) => set.visible[k]);
  const change = {};
  heads.forEach((list, a) => {
    change["xyz"[a]] = [...shown.map((k) => lines[k][a]), list];
  });
  Plotly.restyle(box, change, [...shown, set.labels.length]);
}
