// This file draws the eigenvalues of K/n beside those of skills that have nothing in common.

function drawSpectrum(set, i) {
  const box = inside("spectrum", i), result = resultOf(set);
  box.hidden = result === null;
  if (result === null || !sighted(box)) return null;
  const n = result.spectrum.length, places = range(n).map((k) => k + 1);
  return Plotly.react(
    box,
    [
      {
        type: "bar", x: places, y: result.spectrum, marker: { color: css("--accent") },
        hovertemplate: "eigenvalue %{x}: %{y:.3g}<extra></extra>",
      },
    ],
    layout({
      bargap: 0.25,
      xaxis: {
        title: { text: "eigenvalue" }, showgrid: false,
        ...(n > MANY ? { type: "log", range: [Math.log10(0.5), Math.log10(n + 0.6)] } : { range: [0.4, n + 0.6] }),
        ...(n <= 12 ? { dtick: 1 } : {}),
      },
      yaxis: {
        title: { text: "of K/n" }, range: [0, topOf([...shownResults().map((one) => one.spectrum), 1 / n])],
        nticks: 5,
      },
      shapes: [
        {
          type: "line", x0: 0.4, x1: n + 0.6, y0: 1 / n, y1: 1 / n,
          line: { color: css("--ink"), width: 1.5, dash: "dash" },
        },
      ],
      annotations: [
        {
          x: 1, xref: "paper", y: 1 / n, text: "flat: 1/n", showarrow: false, xanchor: "right", yanchor: "bottom",
          font: { size: 11, color: css("--ink") },
        },
      ],
    }),
    QUIET,
  );
}
