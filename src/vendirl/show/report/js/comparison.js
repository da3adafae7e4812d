// This file makes the table that compares methods over many seeds.

function comparisonTable({ methods, similarities, iqm, intervals, scores }) {
  const most = similarities.map((_, s) =>
    Math.max(1e-9, ...methods.map((__, m) => Math.max(iqm[m][s], intervals?.[m]?.[s]?.[1] ?? 0, ...(scores?.[m]?.[s] ?? [])))),
  );
  const cell = (m, s) => {
    const interval = intervals?.[m]?.[s], place = (x) => `${Math.max(0, Math.min(100, (100 * x) / most[s]))}%`;
    return element(
      "td", { "data-of": similarities[s] }, element("strong", {}, number(iqm[m][s])),
      interval ? element("span", { class: "soft" }, ` ${between(interval)}`) : null,
      element(
        "span", { class: "span", "aria-hidden": "true" },
        interval
          ? element("i", {
              style: `left:${place(interval[0])};width:calc(${place(interval[1])} - ${place(interval[0])})`,
            })
          : null,
        (scores?.[m]?.[s] ?? []).map((score) => element("u", { style: `left:${place(score)}` })),
        element("b", { style: `left:${place(iqm[m][s])}` }),
      ),
    );
  };
  return scroll(
    "Comparison",
    element(
      "table", { class: "cards" },
      head([
        element("th", {}, seeded ? "method" : "set"),
        ...similarities.map((words) => element("th", { class: "name" }, element("code", {}, words))),
      ]),
      element(
        "tbody", {},
        methods.map((method, m) =>
          element(
            "tr", {}, element("th", { scope: "row", class: "wide" }, method),
            similarities.map((_, s) => cell(m, s)),
          ),
        ),
      ),
    ),
  );
}
