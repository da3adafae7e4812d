// This file starts the page, and comes last because it needs what all others define.

const failed = (reason) =>
  main.prepend(
    element("p", { class: "notice", role: "alert" }, `A part of this report could not be drawn: ${reason}`),
  );
window.addEventListener("error", (event) => failed(event.message));
window.addEventListener("unhandledrejection", (event) => failed(event.reason));

const system = matchMedia("(prefers-color-scheme: dark)");
root.dataset.theme = system.matches ? "dark" : "light";
build();
setTime(T);
setTheme(root.dataset.theme).then(() => {
  system.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
  // A chart that was out of sight while time moved catches up when it comes into sight.
  const watcher = new IntersectionObserver((seen) =>
    seen
      .filter((entry) => entry.isIntersecting)
      .forEach((entry) => {
        const i = Number(entry.target.id.split("-")[1]);
        moveTrajectories(sets[i], i);
      }),
  );
  sets.forEach((set, i) => {
    const box = inside("trajectories", i);
    if (!box) return;
    watcher.observe(box);
    drawInSight(box.parentElement, () => (state.apart ? drawMultiples(set, i) : drawTrajectories(set, i)));
    drawInSight(inside("kernel", i), () => drawKernel(set, i));
    drawInSight(inside("spectrum", i), () => drawSpectrum(set, i));
    drawInSight(inside("profile", i), () => drawProfile(set, i));
  });
  groups.forEach((group) => drawInSight(inside("curve", group.index), () => drawCurve(group)));
  window.vendirl.ready = true;
});
