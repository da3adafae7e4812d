// This file draws the charts of many sets when they come into sight, and not before.

const patient = sets.length > 3;
const draws = new Map(); // what draws a box

/** Whether a chart is to be drawn now: always if there are few, else once it has come near. */
const sighted = (box) => !patient || box.dataset.sighted === "yes";

const nearing = new IntersectionObserver(
  (seen) =>
    seen
      .filter((entry) => entry.isIntersecting && entry.target.dataset.sighted !== "yes")
      .forEach((entry) => {
        entry.target.dataset.sighted = "yes";
        draws.get(entry.target)();
      }),
  { rootMargin: "400px" },
);
function drawInSight(box, draw) {
  if (!patient || !box) return;
  draws.set(box, draw);
  nearing.observe(box);
}
