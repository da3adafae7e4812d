// This file draws a map of skills where there are too many for a row, a button and a curve each: alike ones are near.

const MANY = 64; // skills that can be told apart one by one
const numerous = (set) => set.labels.length > MANY;

/** Classical scaling of a kernel: its two largest eigenvectors once it is centred, by powers of it. */
function placesOf(K) {
  const n = K.length, rows = K.map((row) => sum(row) / n), all = sum(rows) / n;
  const product = (v) => {
    const total = sum(v), weighted = rows.reduce((s, row, k) => s + row * v[k], 0);
    return K.map((row, a) => {
      let found = 0;
      for (let b = 0; b < n; b++) found += row[b] * v[b];
      return found - rows[a] * total - weighted + all * total;
    });
  };
  const dot = (u, v) => u.reduce((s, x, k) => s + x * v[k], 0);
  const unit = (v) => {
    const length = Math.sqrt(dot(v, v));
    return length > 0 ? v.map((x) => x / length) : v;
  };
  let axes = [1, 2].map((a) => range(n).map((k) => Math.sin(1 + 7.3 * a * k + k * k))), sizes = [0, 0];
  for (let step = 0; step < 60; step++) {
    const [u, v] = axes.map(product), first = unit(u), along = dot(first, v);
    sizes = [dot(axes[0], u), dot(axes[1], v)];
    axes = [first, unit(v.map((x, k) => x - along * first[k]))];
  }
  return axes.map((axis, a) => axis.map((x) => x * Math.sqrt(Math.max(0, sizes[a]))));
}

/** The skills of a set on the map, each with the colour of what it adds. */
function drawMap(set, i) {
  const box = inside("map", i), result = resultOf(set);
  if (!box || result === null) return null;
  set.places = set.places || {};
  const [x, y] = (set.places[state.sense] = set.places[state.sense] || placesOf(result.kernel));
  const adds = result.contributions || [], fresh = !box.data;
  const bare = { showgrid: false, showline: false, showticklabels: false, ticks: "" };
  const drawn = Plotly.react(
    box,
    [
      {
        type: "scatter", mode: "markers", x, y,
        text: set.labels.map((_, k) => escaped(skillName(set, k))),
        hovertemplate: "%{text}<br>adds %{marker.color:.3g}<extra></extra>",
        marker: {
          size: Math.max(3, Math.min(9, 150 / Math.sqrt(set.labels.length))), color: adds, colorscale: "Viridis",
          colorbar: { thickness: 8, outlinewidth: 0, len: 0.9, tickfont: { size: 11 }, nticks: 5 },
        },
      },
    ],
    layout({
      margin: { l: 6, r: 6, t: 6, b: 6 }, hovermode: "closest", xaxis: { ...bare, scaleanchor: "y" }, yaxis: bare,
    }),
    QUIET,
  );
  if (fresh) {
    box.on("plotly_hover", (event) => highlight(i, [event.points[0].pointNumber]));
    box.on("plotly_unhover", () => highlight(i, []));
    box.on("plotly_click", (event) => choosePair(i, event.points[0].pointNumber, event.points[0].pointNumber));
  }
  return drawn;
}
