// This file has the slider and the button that move time.

// Moves of the slider between two frames are one redrawing.
let frame = 0;
const slider = element("input", {
  type: "range", id: "time", min: 1, max: T, step: 1, value: T, "aria-label": "time", disabled: T === 1,
});
const shownTime = element("output", { for: "time" });
const play = element(
  "button", { id: "play", type: "button", disabled: T === 1, onclick: () => playing(!state.playing) }, "Play",
);
const unit = sets.some((set) => set.thinned) ? "point" : "step";

function setTime(t) {
  state.t = Math.min(T, Math.max(1, t));
  slider.value = state.t;
  shownTime.textContent = `${unit} ${state.t} of ${T}`;
  slider.setAttribute("aria-valuetext", shownTime.textContent);
  if (!frame)
    frame = requestAnimationFrame(() => {
      frame = 0;
      const begun = performance.now(), t = state.t;
      sets.forEach(moveTrajectories);
      Object.assign(window.vendirl, { t, milliseconds: performance.now() - begun });
    });
}
slider.addEventListener("input", () => {
  playing(false);
  setTime(Number(slider.value));
});

function playing(on) {
  if (on === state.playing) return;
  state.playing = on;
  play.textContent = on ? "Pause" : "Play";
  if (!on) return sets.forEach(settle);
  const from = state.t >= T ? 1 : state.t, begun = performance.now();
  const each = Math.min(8000, Math.max(3000, 30 * T)) / T; // thirty steps a second, if that takes a few seconds
  setTime(from);
  const tick = (now) => {
    if (!state.playing) return;
    const t = from + Math.floor(Math.max(0, now - begun) / each);
    if (t !== state.t) setTime(t);
    if (t >= T) playing(false);
    else requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
