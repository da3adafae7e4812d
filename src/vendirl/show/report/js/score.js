// This file shows the score of one set: as a number, on a strip beside what it can be, and line by line in words.

const sure = (result) => percent(result.confidence ?? 0.95);
const stop = (words) => String(words).replace(/\.$/, "");

/** What a score is to be compared with: [name, number, what it means]. */
function lines(set, result) {
  const n = set.labels.length, score = result.vendi_score, found = [];
  const repetition = result.repetition ?? result.interval ?? null;
  const few = result.limit && (score < result.limit[0] || score > result.limit[1]);
  found.push([
    "a repetition", repetition ? between(repetition) : "no interval",
    repetition
      ? `${sure(result)} interval of the score that as many episodes of these skills would have again`
      : stop(result.repetition_note ?? result.interval_note ?? "none was asked for"),
  ]);
  found.push([
    "the limit", result.limit ? between(result.limit) : "no interval",
    result.limit
      ? `${sure(result)} interval of the score that infinitely many episodes of these skills would have` +
        (few ? `; the score lies outside: few episodes ${score > result.limit[1] ? "inflate" : "deflate"} it` : "")
      : stop(result.limit_note ?? "none was asked for"),
  ]);
  if (result.null) {
    const p = known(result.p_value) ? ` (${chance(result.p_value)})` : "";
    const verdict = result.verdict ?? (score <= result.null.interval[1] ? "the skills do no better than that" : null);
    found.push([
      "by chance", `${number(result.null.mean)} (${between(result.null.interval)})`,
      `the same episodes with the skill labels shuffled${verdict ? `; ${verdict}${p}` : ""}`,
    ]);
  }
  const gap = set.group.differences[result.similarity];
  if (known(result.untrained))
    found.push([
      "before training", number(result.untrained),
      "the same skills untrained, as many episodes from the same beginnings" +
        (set.seed === null && gap ? `; ${differenceWords(gap)}` : ""),
    ]);
  if (known(result.noise_free))
    found.push([
      "without noise", number(result.noise_free),
      "one episode of each skill in which it takes its likeliest actions, as vendirl train scores a run",
    ]);
  if (known(result.attainable))
    found.push([
      "attainable", number(result.attainable),
      `the best found for skills that may go anywhere in this world, without noise; ` +
        `this is ${percent(score / result.attainable)} of it`,
    ]);
  if (known(result.ceiling))
    found.push([
      "at most", number(result.ceiling),
      result.ceiling < n - 1e-6 ? "what this similarity allows for so many features" : "the number of skills",
    ]);
  if (result.narrower) found.push(["to be surer", "", stop(result.narrower)]);
  if (result.interval_note && result.interval_note !== result.repetition_note)
    found.push(["note", "", stop(result.interval_note)]);
  if (result.negative_mass > 1e-4)
    found.push([
      "negative", number(result.negative_mass),
      "mass of negative eigenvalues, which were clipped: the kernel is not positive semidefinite",
    ]);
  return found;
}

const differenceWords = (gap) =>
  gap.interval
    ? `${signed(gap.difference)} since then (${percent(gap.confidence)} interval ${between(gap.interval)}, ` +
      `${chance(gap.p_value)}; ${stop(gap.note)})`
    : `${signed(gap.difference)} since then`;
const signed = (x) => (x < 0 ? `\u2212${number(-x)}` : `+${number(x)}`);

function marksOf(result) {
  const ends = result.repetition ?? result.interval;
  return [
    placed("dot", result.vendi_score, `score ${number(result.vendi_score)}`),
    spanned("interval", ends, "a repetition"), spanned("limit", result.limit, "the limit"),
    spanned("null", result.null?.interval, "by chance: labels shuffled"),
    placed("untrained", result.untrained, `before training ${number(result.untrained)}`),
    placed("noise-free", result.noise_free, `without noise ${number(result.noise_free)}`),
    placed("attainable", result.attainable, `attainable ${number(result.attainable)}`),
    placed("ceiling", result.ceiling, `at most ${number(result.ceiling)}`),
  ];
}

const headline = (value, of, result, words) =>
  element(
    "div", {},
    element("div", { class: "big" }, number(value), " ", element("small", {}, `of ${number(of)}`)),
    element(
      "div", { class: "soft" }, words, result.q === 1 ? "" : ` of order ${number(result.q)}`, " by ",
      element("code", {}, result.similarity),
    ),
  );

const whatIsWhat = (rows) =>
  element(
    "table", { class: "lines" },
    element(
      "tbody", {},
      rows.map(([name, value, words]) =>
        element(
          "tr", {}, element("th", { scope: "row" }, name), element("td", { class: "number" }, value),
          element("td", { class: "soft" }, words),
        ),
      ),
    ),
  );

function scoreOfSet(set, result) {
  const n = set.labels.length, noisy = set.acted ? `, ${set.acted}` : "";
  return [
    element(
      "div", { class: "figures" },
      headline(result.vendi_score, result.ceiling ?? n, result, "Vendi Score"), strip(marksOf(result)),
    ),
    element(
      "p", { class: "words" },
      `${number(result.vendi_score)} effectively different skills of ${n}, from ${episodesOf(set)}${noisy}.`,
    ),
    whatIsWhat(lines(set, result)),
  ];
}

function drawScore(group) {
  const shown = shownOf(group), result = resultOf(shown[0] ?? membersOf(group)[0]);
  const found =
    result === null
      ? [absent("Not measured by this similarity.")]
      : shown.length > 1
        ? scoreOfSeeds(group, shown)
        : scoreOfSet(shown[0] ?? membersOf(group)[0], result);
  inside("score", group.index).replaceChildren(...found, ...learnedWords(group));
}

/** Whether it learned anything: the sentence with which training ended, and the difference of scores with noise. */
function learnedWords(group) {
  if (!group.learned && !group.untrained_note) return [];
  const said = group.learned ?? `Not known: ${stop(group.untrained_note)}.`;
  const own = group.learned && group.similarity ? ["By ", element("code", {}, group.similarity), ", the run's own similarity: "] : null;
  const gap = own ? group.differences[group.similarity] : null; // the two may differ, even in sign
  const noisy = gap ? ` Acting with noise, ${differenceWords(gap)}.` : null;
  return [element("p", { class: "learned" }, element("strong", {}, "Did it learn anything? "), own, said, noisy)];
}
