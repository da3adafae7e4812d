// This file makes the table of other measures, with the best of several sets marked.

function measuresTable() {
  const keyOf = (measure) => JSON.stringify([measure.name, measure.unit ?? "", measure.settings ?? {}]);
  const measured = sets.map((set) => new Map((set.measures || []).map((measure) => [keyOf(measure), measure])));
  const keys = [...new Set(measured.flatMap((map) => [...map.keys()]))];
  const rows = keys.map((key) => {
    const found = measured.map((map) => map.get(key) || null), any = found.find((measure) => measure !== null);
    const values = found.map((measure) => measure?.value ?? null), known = values.filter((value) => value !== null);
    const best =
      several && any.better && known.length > 1 && new Set(known).size > 1
        ? any.better === "higher"
          ? Math.max(...known)
          : Math.min(...known)
        : null;
    const how = Object.entries(any.settings || {})
      .map(([name, value]) => `${name} ${setting(value)}`)
      .join(", ");
    const notes = [...new Set(found.filter((measure) => measure?.note).map((measure) => measure.note))].join("; ");
    return element(
      "tr", {}, element("th", { scope: "row" }, any.name),
      values.map((value) =>
        element(
          "td", { class: value !== null && value === best ? "number best" : "number" }, number(value),
          value !== null && value === best ? element("span", { class: "visually-hidden" }, " (best)") : null,
        ),
      ),
      element("td", {}, any.unit ?? ""),
      element("td", { class: "short" }, any.better ? `${any.better} is better` : ""),
      element("td", { class: "soft wide" }, [how, notes].filter(Boolean).join(". ")),
    );
  });
  return scroll(
    "Measures",
    element(
      "table", {},
      head(
        [
          element("th", {}, "measure"),
          several
            ? sets.map((set) => element("th", { class: "number name" }, set.name))
            : element("th", { class: "number" }, "value"),
          element("th", {}, "unit"), element("th", {}, ""), element("th", {}, "settings and notes"),
        ].flat(),
      ),
      element("tbody", {}, rows),
    ),
  );
}
