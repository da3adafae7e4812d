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
  sets.forEach((_, i) => {
    if (inside("trajectories", i)) watcher.observe(inside("trajectories", i));
  });
  window.vendirl.ready = true;
});
