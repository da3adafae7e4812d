// This file builds the page, section by section; what is in them is drawn later.

function build() {
  document.body.classList.add(several ? "several" : "one");
  if (seeded) document.body.classList.add("seeded");
  const some = (part) => sets.some((set) => set[part] && (!Array.isArray(set[part]) || set[part].length));
  const controls = document.getElementById("controls");
  if (senses.length > 1) {
    const menu = element(
      "select",
      {
        id: "similarity",
        onchange: () => {
          state.sense = menu.value;
          drawResults();
          sets.forEach(orderChips);
          sets.forEach(drawMultiples);
        },
      },
      senses.map((words) => element("option", { value: words }, words)),
    );
    controls.append(element("label", {}, "similarity", menu));
  }
  controls.append(...choices());
  if (senses.length && sets.some((set) => set.labels.length > 8)) controls.append(orderMenu());
  controls.append(
    element("button", { id: "theme", type: "button", onclick: () => setTheme(dark() ? "light" : "dark") }),
  );

  const whole = (id, heading, width, ...children) =>
    main.append(
      element(
        "section", { id, class: width, "aria-labelledby": `${id}-heading` },
        element("h2", { id: `${id}-heading` }, heading), children,
      ),
    );
  if (payload.comparison) {
    const gaps = payload.comparison.differences || [];
    whole(
      "comparison", "Comparison", "",
      payload.comparison.note ? element("p", { class: "caption" }, payload.comparison.note) : null,
      comparisonTable(payload.comparison), gaps.map((words) => element("p", { class: "words" }, words)),
    );
  }
  if (senses.length)
    groupSection("score", "Effective number of unique skills", null, "", (group) =>
      element("div", { id: `score-${group.index}` }),
    );

  const drawn = section("trajectories", "Trajectories", null, senses.length ? "w7" : "", (set, i) => {
    if (!set.episodes.length) return absent("No trajectories were given.");
    const n = set.labels.length;
    return [
      several && !alike ? axisChoice([set]) : null, chips(set, i),
      element("p", { class: "readout", id: `pointed-${i}` }),
      element(
        "div", { class: "stage" },
        set.painted ? element("canvas", { id: `canvas-${i}`, class: "under", "aria-hidden": "true" }) : null,
        plotBox("trajectories", i, "hero", `Trajectories of ${n} skills, coloured by skill`),
        element("canvas", { id: `over-${i}`, class: "over", "aria-hidden": "true" }), multiplesCanvas(set, i),
      ),
      set.thinned ? absent(set.thinned) : null,
    ];
  });
  drawn
    .querySelector("h2")
    .after(
      element(
        "div", { class: "toolbar" }, element("div", { class: "time" }, play, slider, shownTime),
        apartButton, several && !alike ? null : axisChoice(sets),
      ),
    );

  if (senses.length) {
    section(
      "kernel", "Kernel", "How alike each two skills are. Choose a cell to see its two skills alone.", "w5",
      (set, i) => {
        const box = plotBox(
          "kernel", i, "kernel",
          `Kernel matrix of ${set.labels.length} skills: arrow keys move between pairs, ` +
            "Enter shows the two skills alone, Escape all",
        );
        box.setAttribute("tabindex", 0);
        box.setAttribute("role", "application");
        box.addEventListener("keydown", (event) => kernelKeys(event, i));
        return [box, element("p", { class: "readout", id: `readout-${i}`, "aria-live": "polite" })];
      },
    );
    section(
      "skills", "What each skill adds",
      "The score lost without it: near 1 if no other is like it, near 0 if one is.", "w5",
      (_, i) => element("div", { id: `skills-${i}` }),
    );
    const third = some("curve") ? "w4" : "w6";
    section(
      "spectrum", "Spectrum", "Eigenvalues of K/n. Skills that have nothing in common make it flat.", third,
      (set, i) => plotBox("spectrum", i, "small", "Eigenvalues of K/n, largest first, beside the flat line 1/n"),
    );
    section(
      "profile", "Profile", "The score at each order: 0 counts every difference, \u221e only the commonest kind.",
      third, (set, i) => plotBox("profile", i, "small", "Vendi Score by order q"),
    );
  }
  if (some("curve")) {
    groupSection(
      "curve", "Learning curve",
      "The score while the skills were learned, of one episode of each skill without noise, by the run's own " +
        "similarity.",
      senses.length ? "w4" : "",
      (group) => {
        const curve = curveOf(group);
        if (!curve) return absent("None was recorded.");
        return [
          plotBox("curve", group.index, "small", "Vendi Score by environment steps"),
          curve.similarity ? element("p", { class: "soft" }, "by ", element("code", {}, curve.similarity)) : null,
          curve.note ? element("p", { class: "soft" }, curve.note) : null,
        ];
      },
    );
  }
  if (some("measures")) whole("measures", "Measures", "", ...measuresTable());
  if (some("videos")) section("videos", "Videos", null, "", videosOf);
  if (some("settings"))
    whole(
      "settings", "Settings", "w8", columns ? element("p", { class: "caption" }, "Marked: what differs.") : null,
      settingsTable(),
    );
  whole(
    "versions", "Versions", some("settings") ? "w4" : "", versionsTable(),
    payload.command ? element("p", { class: "soft" }, "Made by ", element("code", {}, payload.command)) : null,
  );
}
