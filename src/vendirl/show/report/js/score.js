// This file shows the score of each set: as a number, on a strip beside what it can be, and in a sentence.

function sentence(set, result) {
  const n = set.labels.length, score = result.vendi_score;
  const say = [`${number(score)} effectively different skills of ${n}`];
  say.push(
    result.ceiling !== null && result.ceiling !== undefined && result.ceiling < n - 1e-6
      ? `; this similarity allows at most ${number(result.ceiling)}. `
      : ". ",
  );
  const sure = percent(result.confidence ?? 0.95);
  if (result.interval)
    say.push(`As many episodes again would be expected to score ${between(result.interval)} (${sure} interval). `);
  else if (result.interval_note) say.push(`No interval: ${result.interval_note.replace(/\.$/, "")}. `);
  if (result.limit)
    say.push(`Infinitely many episodes would score ${between(result.limit)} (${sure} interval). `);
  if (result.null) {
    say.push(
      `With the skill labels shuffled the score is ${number(result.null.mean)} (${between(result.null.interval)})`,
    );
    if (result.verdict?.includes("cannot be decided")) say.push(`; ${result.verdict}. `);
    else if (score <= result.null.interval[1]) say.push("; these skills do no better than that. ");
    else if (result.excess !== null && result.excess !== undefined)
      say.push(`, so ${number(result.excess)} of it is due to the skills. `);
    else say.push(". ");
  }
  if (result.attainable) {
    say.push(
      `The best score found attainable is ${number(result.attainable)}; ` +
        `this is ${percent(score / result.attainable)} of it. `,
    );
  }
  if (result.negative_mass > 1e-4) {
    say.push(
      `The kernel is not positive semidefinite: its negative eigenvalues have mass ${number(result.negative_mass)}. `,
    );
  }
  return say.join("").trim();
}

function strip(result) {
  const known = (x) => x !== null && x !== undefined;
  const top = Math.max(
    result.ceiling ?? 1, result.vendi_score, result.attainable ?? 1, result.interval?.[1] ?? 1, 1 + 1e-9,
  );
  const place = (x) => `${Math.min(100, Math.max(0, (100 * (x - 1)) / (top - 1)))}%`;
  const wide = ([a, b]) => `left:${place(a)};width:calc(${place(b)} - ${place(a)})`;
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((s) => (top - 1) / s <= 8) ?? top;
  const ticks = [
    1,
    ...range(Math.floor(top / step + 1e-6) + 1)
      .map((i) => Number((i * step).toPrecision(6)))
      .filter((x) => x > 1 + 0.6 * step),
  ];
  const bar = element(
    "div", { class: "strip", "aria-hidden": "true" }, element("span", { class: "axis" }),
    ticks.map((x) => element("span", { class: "tick", style: `left:${place(x)}` }, number(x))),
  );
  const key = element("ul", { class: "key" });
  const entries = [];
  const add = (kind, style, words) => {
    bar.append(element("span", { class: kind, style, title: words }));
    entries.unshift(element("li", {}, element("i", { class: kind }), words));
  };
  if (known(result.ceiling)) add("ceiling", `left:${place(result.ceiling)}`, `ceiling ${number(result.ceiling)}`);
  if (known(result.attainable))
    add("attainable", `left:${place(result.attainable)}`, `attainable ${number(result.attainable)}`);
  if (result.null)
    add(
      "null", wide(result.null.interval),
      `labels shuffled (null) ${number(result.null.mean)}, ${between(result.null.interval)}`,
    );
  if (result.interval)
    add(
      "interval", wide(result.interval),
      `${percent(result.confidence ?? 0.95)} interval of a repetition ${between(result.interval)}`,
    );
  add("dot", `left:${place(result.vendi_score)}`, `score ${number(result.vendi_score)}`);
  key.append(...entries);
  return element("div", {}, bar, key);
}

function drawScore(set, i) {
  const result = resultOf(set);
  inside("score", i).replaceChildren(
    ...(result === null
      ? [absent("Not measured by this similarity.")]
      : [
          element(
            "div", { class: "figures" },
            element(
              "div", {},
              element(
                "div", { class: "big" }, number(result.vendi_score), " ",
                element("small", {}, `of ${number(result.ceiling ?? set.labels.length)}`),
              ),
              element(
                "div", { class: "soft" }, "Vendi Score", result.q === 1 ? "" : ` of order ${number(result.q)}`,
                " by ", element("code", {}, result.similarity),
              ),
            ),
            strip(result),
          ),
          element("p", { class: "words" }, sentence(set, result)),
        ]),
  );
}
