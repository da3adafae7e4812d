// This file gives all charts the same look, in the colours of the page's theme.

const QUIET = { responsive: true, displayModeBar: false, scrollZoom: false };

function layout(extra = {}) {
  const paint = {
    gridcolor: css("--grid"), linecolor: css("--rule"), zeroline: false, automargin: true, fixedrange: true,
  };
  return {
    autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    dragmode: false, font: { family: "system-ui, sans-serif", size: 12, color: css("--soft") },
    hoverlabel: { bgcolor: css("--ink"), bordercolor: css("--ink"), font: { color: css("--card"), size: 13 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--ink") },
    margin: { l: 44, r: 12, t: 10, b: 40 },
    ...extra,
    xaxis: { ...paint, ...extra.xaxis }, yaxis: { ...paint, ...extra.yaxis },
  };
}

/** Where an axis ends that begins at 0, so that the largest of these values, however nested, has air above it. */
const topOf = (values) =>
  1.06 * values.flat(9).reduce((top, x) => (typeof x === "number" ? Math.max(top, x) : top), 1e-9);
