// This file paints every skill in a small picture of its own, all in the same world, so that many can be told apart.

/** How the pictures of a set are laid out in a width: columns, the side of each, and the skills in them. */
function tiles(set, wide) {
  const skills = ordered(set).filter((k) => set.visible[k]);
  const least = wide < 500 ? 74 : 92, most = Math.max(1, Math.floor(wide / least));
  const across = Math.max(1, Math.min(most, Math.ceil(Math.sqrt(1.4 * skills.length))));
  const side = Math.min(wide / across, 260);
  return { skills, across, side, high: Math.ceil(skills.length / across) * (side + 14) };
}

/** Where a picture puts a point; the same scale in both directions where a world is not to be distorted. */
function viewOfTile(set, place, { across, side }) {
  const left = (place % across) * side, top = Math.floor(place / across) * (side + 14) + 14, room = side - 6;
  const [x, y] = [0, 1].map((a) => limits(set, set.axes[a]));
  let [wide, high] = [x, y].map(([low, top_]) => room / (top_ - low));
  if (plane(set)) wide = high = Math.min(wide, high);
  return [
    wide, left + 3 + room / 2 - (wide * (x[0] + x[1])) / 2, high, top + 3 + room / 2 + (high * (y[0] + y[1])) / 2,
    left + 3, top + 3, room, room,
  ];
}

function drawMultiples(set, i) {
  const canvas = inside("multiples", i);
  if (!canvas || !state.apart || !sighted(canvas.parentElement)) return;
  const wide = canvas.parentElement.clientWidth, laid = tiles(set, wide);
  canvas.style.height = `${laid.high}px`;
  const { context, fresh } = readied(canvas, wide, laid.high);
  const look = `${laid.skills}/${wide}/${set.axes}/${dark()}/${set.lit}`;
  const on = !fresh && look === set.tileLook && state.t >= set.tilesUpTo && set.tilesUpTo > 0;
  if (!on) context.clearRect(0, 0, wide, laid.high);
  set.tileLook = look;
  laid.skills.forEach((k, place) => {
    const view = viewOfTile(set, place, laid), lit = set.lit.includes(k);
    if (!on) {
      context.strokeStyle = css(lit ? "--ink" : "--rule");
      context.lineWidth = lit ? 2 : 1;
      context.setLineDash([]);
      context.strokeRect(...view.slice(4));
      context.fillStyle = css("--soft");
      context.font = "11px system-ui, sans-serif";
      context.fillText(short(set.labels[k], Math.max(4, Math.floor(view[6] / 7))), view[4], view[5] - 4);
      worldIn(context, set, view);
    }
    context.save();
    context.beginPath();
    context.rect(...view.slice(4));
    context.clip();
    context.lineWidth = 1.2;
    context.globalAlpha = opacityOf(set);
    trace(context, set, k, view, on ? set.tilesUpTo : 0, state.t, true);
    context.restore();
  });
  set.tilesUpTo = state.t;
}

/** The walls of a world in a picture. */
function worldIn(context, set, [across, right, up, bottom]) {
  if (!plane(set)) return;
  const [a, b] = set.axes, at = (wall, from) => [right + across * wall[a + from], bottom - up * wall[b + from]];
  context.strokeStyle = css("--soft");
  context.lineWidth = 1;
  (set.world.walls || []).forEach((wall) => {
    context.beginPath();
    context.moveTo(...at(wall, 0));
    context.lineTo(...at(wall, 2));
    context.stroke();
  });
}

/** The skill whose picture is at a place of the canvas, or null. */
function tileAt(set, canvas, event) {
  const edge = canvas.getBoundingClientRect(), { skills, across, side } = tiles(set, canvas.parentElement.clientWidth);
  const column = Math.floor((event.clientX - edge.left) / side);
  const row = Math.floor((event.clientY - edge.top) / (side + 14));
  return column < across ? (skills[row * across + column] ?? null) : null;
}

function multiplesCanvas(set, i) {
  const canvas = element("canvas", {
    id: `multiples-${i}`, class: "multiples", role: "img", hidden: true,
    "aria-label": `Each of ${set.labels.length} skills in a picture of its own`,
    onpointermove: (event) => highlight(i, [tileAt(set, canvas, event)]),
    onpointerleave: () => highlight(i, []),
    onclick: (event) => {
      const k = tileAt(set, canvas, event);
      if (k === null) return;
      setApart(false);
      show(i, set.labels.map((_, j) => j === k));
    },
  });
  return canvas;
}

window.addEventListener("resize", () => sets.forEach(drawMultiples));

const apartButton = element(
  "button",
  { id: "apart", type: "button", "aria-pressed": "false", onclick: () => setApart(!state.apart) }, "One by one",
);

function setApart(on) {
  state.apart = on;
  apartButton.setAttribute("aria-pressed", String(on));
  sets.forEach((set, i) => {
    const box = inside("trajectories", i);
    if (!box) return;
    [box, inside("canvas", i), inside("over", i)].forEach((part) => {
      if (part) part.hidden = on;
    });
    inside("multiples", i).hidden = !on;
    set.tilesUpTo = 0;
    set.upTo = 0;
    set.lit = [];
    if (on) drawMultiples(set, i);
    else drawTrajectories(set, i);
  });
}
