// This file shows the scores of several seeds together: their middle, how they vary, and every one of them.

function scoreOfSeeds(group, shown) {
  const results = shown.map(resultOf).filter((result) => result !== null), any = results[0];
  const scores = results.map((result) => result.vendi_score), table = payload.comparison;
  const column = table ? table.similarities.indexOf(any.similarity) : -1;
  const middle = column < 0 ? sum(scores) / scores.length : table.iqm[group.index][column];
  const ends = column < 0 ? null : table.intervals[group.index][column];
  const untrained = results.map((result) => result.untrained).filter(known);
  const gap = group.differences[any.similarity];
  const more = results.filter((result) => result.verdict?.startsWith("more diverse")).length;
  const undecided = results.filter((result) => result.verdict?.includes("cannot be decided")).length;
  const mean = (list) => sum(list) / list.length;
  const rows = [
    [
      "over seeds", ends ? between(ends) : "no interval",
      ends
        ? `${percent(table.confidence ?? 0.95)} bootstrap interval of the interquartile mean of ${scores.length} seeds`
        : "one seed does not tell how seeds vary",
    ],
    ["each seed", scores.map((x) => number(x)).join(", "), `Vendi Scores of ${episodesOf(shown[0])} each, acting with noise`],
  ];
  if (any.verdict)
    rows.push([
      "by chance", number(mean(results.map((result) => result.null.mean))),
      undecided
        ? "mean score with the skill labels shuffled; so few episodes cannot tell whether the seeds score more"
        : `mean score with the skill labels shuffled; ${more} of ${results.length} seeds score more (p at most 0.05)`,
    ]);
  if (untrained.length)
    rows.push([
      "before training", number(mean(untrained)),
      "mean of the same seeds untrained, from the same beginnings" + (gap ? `; ${differenceWords(gap)}` : ""),
    ]);
  const free = results.map((result) => result.noise_free).filter(known);
  if (free.length)
    rows.push(["without noise", free.map((x) => number(x)).join(", "), "one episode of each skill, as vendirl train scores a run"]);
  return [
    element(
      "div", { class: "figures" },
      headline(middle, any.ceiling ?? shown[0].labels.length, any, `Interquartile mean of ${scores.length} seeds' Vendi Scores`),
      strip([
        ...scores.map((score, s) => ({
          kind: "seed", at: score, title: `${shown[s].seed}: ${number(score)}`,
          words: s ? null : `${scores.length} seeds`,
        })),
        placed("middle", middle, `middle ${number(middle)}`),
        spanned("interval", ends, ends ? `over seeds ${between(ends)}` : null),
        placed("untrained", untrained.length ? mean(untrained) : null, `before training ${number(mean(untrained))}`),
        placed("attainable", any.attainable, `attainable ${number(any.attainable)}`),
        placed("ceiling", any.ceiling, `at most ${number(any.ceiling)}`),
      ]),
    ),
    whatIsWhat(rows),
  ];
}
