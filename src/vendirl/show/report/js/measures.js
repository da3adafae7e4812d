// This file makes the table of other measures: a row for each, a column for each group, the best of several marked.

/** What a group's sets have for a measure of a name: the values that there are, and why others are missing. */
function measureOf(group, name) {
  const found = membersOf(group).flatMap((set) => (set.measures || []).filter((measure) => measure.name === name));
  const values = found.map((measure) => measure.value).filter(known).sort((a, b) => a - b);
  const half = values.length / 2;
  return {
    values,
    value: values.length ? (values[Math.ceil(half) - 1] + values[Math.floor(half)]) / 2 : null, // the median
    missing: found.length
      ? [...new Set(found.filter((measure) => !known(measure.value)).map((measure) => measure.note || "no value"))]
      : ["not measured"],
    notes: found.filter((measure) => known(measure.value)).map((measure) => parts(measure.note)),
    settings: found.filter((measure) => known(measure.value)).map((measure) => how(measure.settings)),
    any: found[0] ?? null,
  };
}
const plain = (value) =>
  typeof value === "number" ? number(value) : Array.isArray(value) ? value.map(plain).join(" ") : setting(value);
const how = (settings) => Object.entries(settings || {}).map(([name, value]) => `${name} ${plain(value)}`);
/** The parts of a note; what to give belongs to what it is for. */
const parts = (note) => (note ? note.split(/; (?!give )/) : []);
const inAll = (lists) => (lists[0] ?? []).filter((one) => lists.every((list) => list.includes(one)));
const inSome = (lists, all) => [...new Set(lists.flat().filter((one) => !all.includes(one)))];

/** `shared` are the settings that are the same for all: only others stand in a cell. */
function measureCell(group, found, best, shared) {
  const own = inSome(found.settings, shared);
  const is = found.value !== null && found.value === best, many = found.values.length;
  const spread =
    many > 1 ? ` (median of ${many} seeds; ${between([found.values[0], found.values[many - 1]])})` : "";
  return element(
    "td", { class: is ? "number best" : "number", "data-of": columns ? group.name : null },
    element(
      "div", {}, found.value === null ? "\u2013" : number(found.value),
      is ? element("span", { class: "visually-hidden" }, " (best)") : null,
      spread ? element("span", { class: "soft" }, spread) : null,
      found.missing.length && columns
        ? element("div", { class: "soft why" }, (many ? "else: " : "") + found.missing.join("; "))
        : null,
      own.length ? element("div", { class: "soft why" }, own.join(", ")) : null,
    ),
  );
}

function measuresTable() {
  const names = [...new Set(sets.flatMap((set) => (set.measures || []).map((measure) => measure.name)))];
  const absentOnes = new Map(), rows = [];
  names.forEach((name) => {
    const found = groups.map((group) => measureOf(group, name)), any = found.find((one) => one.any !== null).any;
    const having = found.filter((one) => one.value !== null);
    const ways = having.flatMap((one) => one.settings), shared = inAll(ways), unlike = inSome(ways, shared).length > 0;
    if (!having.length) {
      const why = [...new Set(found.flatMap((one) => one.missing))].filter((words) => words !== "not measured");
      absentOnes.set(why.join("; "), [...(absentOnes.get(why.join("; ")) ?? []), name]);
      return;
    }
    const values = having.map((one) => one.value);
    const comparable = columns && any.better && !unlike && new Set(values).size > 1;
    const best = comparable ? (any.better === "higher" ? Math.max(...values) : Math.min(...values)) : null;
    const notes = having.flatMap((one) => one.notes), said = inAll(notes), more = inSome(notes, said);
    const words = [
      any.better ? `${any.better} is better` : "", shared.join(", "), ...said,
      unlike ? "settings differ, so the values cannot be compared" : "",
    ];
    rows.push(
      element(
        "tr", {}, element("th", { scope: "row" }, name, any.unit ? element("span", { class: "unit" }, ` ${any.unit}`) : null),
        found.map((one, g) => measureCell(groups[g], one, best, shared)),
        element(
          "td", { class: "soft wide" }, words.filter(Boolean).join(". "),
          more.length
            ? element("details", {}, element("summary", {}, "of some sets"), element("div", {}, more.join("; ")))
            : null,
        ),
      ),
    );
  });
  const heads = columns
    ? groups.map((group) => element("th", { class: "number name" }, group.name))
    : [element("th", { class: "number" }, "value")];
  return [
    scroll(
      "Measures",
      element(
        "table", { class: "cards" }, head([element("th", {}, "measure"), ...heads, element("th", {}, "settings and notes")]),
        element("tbody", {}, rows),
      ),
    ),
    absentOnes.size
      ? element(
          "div", { class: "missing" }, element("h3", {}, "Not computed"),
          [...absentOnes].map(([why, which]) =>
            element("p", { class: "soft" }, element("strong", {}, which.join(", ")), why ? `: ${why}` : ""),
          ),
        )
      : null,
  ].filter((part) => part !== null);
}
