// This file draws the kernel as a heat map in which one chooses two skills, by pointer or by keyboard.

const pairName = (set, a, b) => (a === b ? skillName(set, a) : `${skillName(set, a)} and ${skillName(set, b)}`);
const say = (i, words) => {
  const line = document.getElementById(`readout-${i}`);
  if (line) line.textContent = words;
};
const similarityOf = (set, a, b) => `${pairName(set, a, b)}: similarity ${number(resultOf(set).kernel[a][b], 3)}`;

function kernelShapes(set) {
  const order = ordered(set);
  const cell = (a, b, line) => ({
    type: "rect", x0: a - 0.5, x1: a + 0.5, y0: b - 0.5, y1: b + 0.5, line, fillcolor: "rgba(0,0,0,0)",
  });
  const shapes = set.pair
    ? [set.pair, [...set.pair].reverse()].map((pair) =>
        cell(...pair.map((k) => order.indexOf(k)), { color: css("--warm"), width: 3 }),
      )
    : [];
  return set.cursor
    ? [...shapes, cell(set.cursor[1], set.cursor[0], { color: css("--warm"), width: 2, dash: "dot" })]
    : shapes;
}

function outlinePairs(set, i) {
  const box = inside("kernel", i);
  if (box && box.data) Plotly.relayout(box, { shapes: kernelShapes(set) });
}

function drawKernel(set, i) {
  const box = inside("kernel", i), result = resultOf(set), n = set.labels.length;
  box.hidden = result === null;
  say(i, result === null ? "Not measured by this similarity." : "");
  if (result === null || !sighted(box)) return null;
  const order = ordered(set), K = order.map((a) => order.map((b) => result.kernel[a][b]));
  const signed = Math.min(...K.map((row) => Math.min(...row))) < -1e-6;
  const scale = dark() ? ["#1d232b", "#1f4e73", "#3f8fc7", "#a9d8f5"] : ["#f5f8fb", "#b9d7ea", "#4a97c9", "#08306b"];
  const below = dark() ? ["#ffc266", "#8a5a10"] : ["#8a3b00", "#f0b27a"];
  const colours = signed ? [...below, ...scale] : scale;
  const places = signed ? [0, 0.3, 0.5, 0.67, 0.83, 1] : [0, 0.33, 0.67, 1];
  const each = Math.max(1, Math.ceil(n / 12));
  const ticks = range(n).filter((k) => k % each === 0);
  const named = {
    tickmode: "array", tickvals: ticks, ticktext: ticks.map((k) => escaped(short(set.labels[order[k]]))), showgrid: false,
    constrain: "domain",
    ticks: "",
  };
  const first = !box.data;
  const drawn = Plotly.react(
    box,
    [
      {
        type: "heatmap", z: K, zmin: signed ? -1 : 0, zmax: 1, colorscale: colours.map((c, k) => [places[k], c]),
        xgap: n <= 24 ? 1 : 0, ygap: n <= 24 ? 1 : 0,
        text: n <= 10 ? K.map((row) => row.map((x) => x.toFixed(2))) : undefined,
        texttemplate: n <= 10 ? "%{text}" : undefined, textfont: { size: 11 },
        // of many skills the line below says it: a million texts would take longer than all else
        ...(numerous(set)
          ? { hoverinfo: "none" }
          : {
              hovertext: K.map((row, a) => row.map((_, b) => escaped(similarityOf(set, order[a], order[b])))),
              hoverinfo: "text",
            }),
        colorbar: { thickness: 8, outlinewidth: 0, len: 0.9, tickfont: { size: 11 }, nticks: 5 },
      },
    ],
    layout({
      margin: { l: 30, r: 6, t: 8, b: 30 }, shapes: kernelShapes(set), hovermode: "closest",
      xaxis: { ...named, range: [-0.5, n - 0.5] },
      yaxis: { ...named, range: [n - 0.5, -0.5], scaleanchor: "x", constraintoward: "top" },
    }),
    QUIET,
  );
  if (first) {
    const pair = (event) => [event.points[0].y, event.points[0].x].map((k) => ordered(set)[k]);
    box.on("plotly_hover", (event) => {
      say(i, similarityOf(set, ...pair(event)));
      highlight(i, [...new Set(pair(event))]);
    });
    box.on("plotly_unhover", () => highlight(i, []));
    box.on("plotly_click", (event) => choosePair(i, ...pair(event)));
  }
  return drawn;
}

function kernelKeys(event, i) {
  const set = sets[i], n = set.labels.length,
    [row, column] = set.cursor || [0, 0];
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (resultOf(set) === null) return;
  if (move) {
    const next = set.cursor ? [row + move[0], column + move[1]].map((k) => Math.min(n - 1, Math.max(0, k))) : [0, 0];
    set.cursor = next;
    outlinePairs(set, i);
    say(i, similarityOf(set, ...next.map((k) => ordered(set)[k])));
  } else if ((event.key === "Enter" || event.key === " ") && set.cursor) choosePair(i, ...[row, column].map((k) => ordered(set)[k]));
  else if (event.key === "Escape")
    show(i, set.labels.map(() => true));
  else return;
  event.preventDefault();
}
