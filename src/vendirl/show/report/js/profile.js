// This file draws the score by its order.

// Orders 0 to infinity on an axis of finite length: q / (1 + q) puts 0 at its beginning, 1 in the middle, infinity at
// its end.
const order = (q) => (q === "inf" ? Infinity : Number(q));
const orderPlace = (q) => (order(q) === Infinity ? 1 : order(q) / (1 + order(q)));

function drawProfile(set, i) {
  const box = inside("profile", i), result = resultOf(set);
  const none = result === null || !result.profile;
  box.hidden = none;
  if (none || !sighted(box)) return null;
  const { q, score } = result.profile,
    words = (x) => (order(x) === Infinity ? "\u221e" : number(order(x)));
  const ticks = q.length <= 8 ? q : [0, 0.5, 1, 2, 5, "inf"];
  return Plotly.react(
    box,
    [
      {
        type: "scatter", mode: q.length <= 20 ? "lines+markers" : "lines", x: q.map(orderPlace), y: score,
        text: q.map(words), line: { color: css("--accent"), width: 2 }, marker: { size: 7 },
        hovertemplate: "q = %{text}: %{y:.4g}<extra></extra>",
      },
      {
        type: "scatter", mode: "markers", name: "reported", x: [orderPlace(result.q)], y: [result.vendi_score],
        hoverinfo: "skip", marker: { size: 13, symbol: "circle-open", color: css("--ink"), line: { width: 2 } },
      },
    ],
    layout({
      xaxis: {
        title: { text: "order q" }, tickmode: "array", tickvals: ticks.map(orderPlace), ticktext: ticks.map(words),
        range: [-0.05, 1.05],
      },
      yaxis: {
        title: { text: "Vendi Score" },
        range: [0, topOf(shownResults().map((one) => [one.profile?.score ?? [], one.vendi_score]))], nticks: 6,
      },
    }),
    QUIET,
  );
}
