// This file makes the table of settings, in which those that differ between sets are marked.

/** Nested settings as "ppo.epochs": 4. */
function flat(settings, before = "") {
  return Object.entries(settings || {}).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? flat(value, `${before}${name}.`)
      : [[before + name, setting(value)]],
  );
}

/** The settings of a group; where its seeds differ, all that there are. */
function settingsOf(group) {
  const found = membersOf(group).map((set) => new Map(flat(set.settings))), all = new Map();
  found.forEach((map) =>
    map.forEach((value, name) => all.set(name, [...new Set([...(all.get(name) ?? []), value])])),
  );
  return new Map([...all].map(([name, values]) => [name, values.join(", ")]));
}

function settingsTable() {
  const all = groups.map(settingsOf), names = [...new Set(all.flatMap((map) => [...map.keys()]))];
  return scroll(
    "Settings",
    element(
      "table", columns ? { class: "cards" } : {},
      columns
        ? head([element("th", {}, "setting"), ...groups.map((one) => element("th", { class: "name" }, one.name))])
        : null,
      element(
        "tbody", {},
        names.map((name) => {
          const values = all.map((map) => (map.has(name) ? map.get(name) : "\u2013"));
          return element(
            "tr", { class: new Set(values).size > 1 ? "differs" : null }, element("th", { scope: "row" }, name),
            values.map((value, g) =>
              element("td", { "data-of": columns ? groups[g].name : null }, element("code", {}, value)),
            ),
          );
        }),
      ),
    ),
  );
}
