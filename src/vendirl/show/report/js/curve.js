// This file draws the score by environment steps, for each seed and on average.

/** The curve of a group: of a run with several seeds it has all of them; else those of its members side by side. */
function curveOf(group) {
  const found = membersOf(group).flatMap((set) => (set.curve ? [set.curve] : []));
  const unlike = found.filter((curve, c) => found.findIndex((other) => same(other, curve)) === c);
  if (unlike.length < 2) return unlike[0] ?? null;
  const steps = [...new Set(unlike.flatMap((curve) => curve.steps))].sort((a, b) => a - b);
  const scores = steps.map((step) =>
    unlike.flatMap((curve) => {
      const at = curve.steps.indexOf(step);
      return curve.scores[0].map((_, s) => (at < 0 ? null : curve.scores[at][s]));
    }),
  );
  return { ...unlike[0], steps, scores };
}

function drawCurve(group) {
  const box = inside("curve", group.index), curve = curveOf(group);
  if (!box || !curve || !sighted(box)) return null;
  const seeds = range(Math.max(...curve.scores.map((row) => row.length)));
  const mean = curve.scores.map((row) => {
    const known = row.filter((x) => x !== null);
    return known.length ? sum(known) / known.length : null;
  });
  const traces = seeds.map((s) => ({
    type: "scatter", mode: curve.steps.length === 1 ? "markers" : "lines", x: curve.steps,
    y: curve.scores.map((row) => row[s] ?? null), connectgaps: true, opacity: seeds.length > 1 ? 0.45 : 1,
    line: { color: css("--accent"), width: seeds.length > 1 ? 1 : 2 },
    hovertemplate: `seed ${s}: %{y:.4g} at %{x:,} steps<extra></extra>`,
  }));
  if (seeds.length > 1)
    traces.push({
      type: "scatter", mode: "lines", x: curve.steps, y: mean, line: { color: css("--accent"), width: 3 },
      hovertemplate: "mean of seeds: %{y:.4g} at %{x:,} steps<extra></extra>",
    });
  const mine = sets.flatMap((one) => (one.curve ? [one.curve.scores, one.curve.ceiling] : []));
  const line =
    curve.ceiling === null || curve.ceiling === undefined
      ? {}
      : {
          shapes: [
            {
              type: "line", xref: "paper", x0: 0, x1: 1, y0: curve.ceiling, y1: curve.ceiling,
              line: { color: css("--warm"), width: 2, dash: "dot" },
            },
          ],
          annotations: [
            {
              xref: "paper", x: 0, xanchor: "left", y: curve.ceiling, yanchor: "bottom",
              text: `attainable ${number(curve.ceiling)}`, showarrow: false,
              font: { size: 11, color: css("--warm") },
            },
          ],
        };
  return Plotly.react(
    box, traces,
    layout({
      hovermode: "closest", xaxis: { title: { text: "environment steps" }, nticks: 5 },
      yaxis: { title: { text: "Vendi Score" }, range: [0, 1.1 * topOf(mine)], nticks: 6 },
      ...line,
    }),
    QUIET,
  );
}
