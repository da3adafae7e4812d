// This file draws all charts, and draws them anew in other colours.

function drawResults() {
  if (!senses.length) return [];
  groups.forEach(drawScore);
  return sets.flatMap((set, i) => {
    return [drawSkills(set, i), drawKernel(set, i), drawSpectrum(set, i), drawProfile(set, i)];
  });
}

const drawAll = () => Promise.all([...sets.map(drawTrajectories), ...drawResults(), ...groups.map(drawCurve)]);

function setTheme(theme) {
  root.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = dark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`);
  document.querySelectorAll("#trajectories button[data-skill] svg").forEach((old) => {
    const { set, skill } = old.closest("button").dataset;
    old.replaceWith(swatch(Number(skill), sets[set].labels.length));
  });
  sets.forEach((set, i) => {
    Object.assign(set, { upTo: 0, tilesUpTo: 0 });
    drawMultiples(set, i);
  });
  return drawAll();
}
