// This file makes the table of what each skill adds to the score, and of its nearest other.

function drawSkills(set, i) {
  const result = resultOf(set), box = inside("skills", i);
  if (result === null) return box.replaceChildren(absent("Not measured by this similarity."));
  const n = set.labels.length, adds = result.contributions || [],
    twins = new Map((result.twins || []).map((twin) => [twin.skill, twin]));
  const low = Math.min(0, ...adds), high = Math.max(1, ...adds), at = (x) => (100 * (x - low)) / (high - low);
  const bar = (x) =>
    element(
      "span", { class: "bar", "aria-hidden": "true" },
      element("i", {
        class: x < 0 ? "negative" : null,
        style: `left:${at(Math.min(0, x))}%;width:${at(Math.max(0, x)) - at(Math.min(0, x))}%`,
      }),
      element("b", { style: `left:${at(0)}%` }),
    );
  // Of very many only the ends are listed; the map has all.
  const many = numerous(set), ends = 12, byAdds = range(n).sort((a, b) => adds[b] - adds[a]);
  const listed = many ? [...byAdds.slice(0, ends), ...byAdds.slice(-ends)] : ordered(set);
  const named = (k) =>
    element("span", { class: "named", title: set.labels[k] }, swatch(k, n), short(set.labels[k], 18));
  box.replaceChildren(
    ...(many
      ? [
          box.querySelector(".plot") || plotBox("map", i, "kernel", `A map of ${n} skills, coloured by what each adds`),
          absent(`Alike skills lie near each other. Below: the ${ends} that add most, and the ${ends} that add least.`),
        ]
      : []),
    scroll(
      many ? "What some skills add" : "What each skill adds",
      element(
        "table", {},
        head([
          element("th", {}, "skill"), element("th", { class: "number" }, "adds"), element("th", {}, ""),
          element("th", {}, "nearest"), element("th", { class: "number" }, "similarity"),
        ]),
        element(
          "tbody", {},
          listed.map((k) =>
            element(
              "tr", pointing(i, k), element("th", { scope: "row" }, named(k)),
              element("td", { class: "number" }, number(adds[k], 3)),
              element("td", {}, adds[k] === undefined ? null : bar(adds[k])),
              element(
                "td", {},
                twins.has(k) && set.labels[twins.get(k).twin] !== undefined ? named(twins.get(k).twin) : "\u2013",
              ),
              element("td", { class: "number" }, twins.has(k) ? number(twins.get(k).similarity, 3) : "\u2013"),
            ),
          ),
        ),
      ),
    ),
  );
  return many ? drawMap(set, i) : null;
}
