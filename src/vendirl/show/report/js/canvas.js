// This file paints trajectories on a canvas when they are too many for Plotly.

/** Trajectories up to now on the canvas behind the chart, where its axes say. */
function paint(set, i) {
  const box = inside("trajectories", i), canvas = inside("canvas", i), context = canvas.getContext("2d");
  const [wide, high] = [box.clientWidth, box.clientHeight],
    dots = devicePixelRatio || 1;
  if (canvas.width !== Math.round(wide * dots) || canvas.height !== Math.round(high * dots)) {
    [canvas.width, canvas.height] = [wide, high].map((length) => Math.round(length * dots));
  }
  context.setTransform(dots, 0, 0, dots, 0, 0);
  context.clearRect(0, 0, wide, high);
  if (set.axes[2] !== null || !box._fullLayout?.xaxis) return;
  const { xaxis, yaxis } = box._fullLayout,
    n = set.labels.length;
  const { lines, heads } = drawnUpTo(set, state.t);
  const across = xaxis._length / (xaxis.range[1] - xaxis.range[0]),
    up = yaxis._length / (yaxis.range[1] - yaxis.range[0]);
  const right = xaxis._offset - across * xaxis.range[0],
    bottom = yaxis._offset + yaxis._length + up * yaxis.range[0];
  context.save();
  context.beginPath();
  context.rect(xaxis._offset, yaxis._offset, xaxis._length, yaxis._length);
  context.clip();
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.globalAlpha = opacityOf(set);
  lines.forEach(([x, y], k) => {
    context.strokeStyle = colour(k, n);
    context.setLineDash({ solid: [], dash: [7, 4], dot: [2, 3], dashdot: [7, 3, 2, 3] }[dash(k, n)]);
    let pen = false;
    for (let p = 0; p < x.length; p++) {
      if (x[p] === null) {
        context.stroke(); // each by itself: one long path of all would be slower, not faster
        pen = false;
      } else if (pen) context.lineTo(right + across * x[p], bottom - up * y[p]);
      else {
        context.beginPath();
        context.moveTo(right + across * x[p], bottom - up * y[p]);
        pen = true;
      }
    }
  });
  context.restore();
  owners(set).forEach((k, e) => {
    context.setTransform(
      dots, 0, 0, dots, dots * (right + across * heads[0][e] - 0.6 * 13),
      dots * (bottom - up * heads[1][e] - 0.6 * 6),
    );
    context.scale(0.6, 0.6); // a swatch's mark, whose middle is (13, 6)
    context.fillStyle = colour(k, n);
    context.fill(MARK_SHAPES[mark(k, n)]);
  });
}
