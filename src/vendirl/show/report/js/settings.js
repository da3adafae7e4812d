// This file makes the table of settings, in which those that differ between sets are marked.

/** Nested settings as "ppo.epochs": 4. */
function flat(settings, before = "") {
  return Object.entries(settings || {}).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? flat(value, `${before}${name}.`)
      : [[before + name, setting(value)]],
  );
}

function settingsTable() {
  const all = sets.map((set) => new Map(flat(set.settings))),
    names = [...new Set(all.flatMap((map) => [...map.keys()]))];
  return scroll(
    "Settings",
    element(
      "table", {},
      several
        ? head([element("th", {}, "setting"), ...sets.map((set) => element("th", { class: "name" }, set.name))])
        : null,
      element(
        "tbody", {},
        names.map((name) => {
          const values = all.map((map) => (map.has(name) ? map.get(name) : "\u2013"));
          return element(
            "tr", { class: new Set(values).size > 1 ? "differs" : null }, element("th", { scope: "row" }, name),
            values.map((value) => element("td", {}, element("code", {}, value))),
          );
        }),
      ),
    ),
  );
}
