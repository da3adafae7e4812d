// This file has the menus that choose what the axes of trajectories are.

function axisChoice(of) {
  const set = of[0];
  const redraw = () => of.forEach((one) => drawTrajectories(one, sets.indexOf(one)));
  const choose = (name, a, options) => {
    const menu = element(
      "select",
      {
        "data-axis": name,
        onchange: () => {
          of.forEach((one) => {
            one.axes[a] = menu.value === "none" ? null : Number(menu.value);
          });
          redraw();
        },
      },
      options.map(([value, words]) =>
        element("option", { value, selected: String(value) === String(set.axes[a] ?? "none") }, words),
      ),
    );
    return element("label", {}, name, menu);
  };
  const features = [...set.features.map((feature, axis) => [axis, feature]), [STEP, "step"]];
  const made = element(
    "div", { class: "axes", role: "group", "aria-label": "Axes" }, choose("x", 0, features),
    choose("y", 1, features),
  );
  if (set.features.length > 2) {
    const third = choose("z", 2, [["none", "none"], ...features]);
    if (!webgl) {
      third.querySelector("select").disabled = true;
      third.title = "3D needs WebGL, which this browser does not offer";
    }
    made.append(third);
  }
  return made;
}
