// This file shows a skill that is pointed at, in any part of the page, and says what it is.

/** Point at some skills of a set, or at none. */
function highlight(i, skills) {
  const set = sets[i], lit = skills.filter((k) => k !== null && k !== undefined);
  if (same(set.lit, lit)) return;
  set.lit = lit;
  document
    .querySelectorAll(`#trajectories button[data-set="${i}"][data-skill]`)
    .forEach((chip) => chip.classList.toggle("lit", lit.includes(Number(chip.dataset.skill))));
  const line = inside("pointed", i);
  if (line) line.textContent = lit.map((k) => aboutSkill(set, k)).join("; ");
  if (state.apart) drawMultiples(set, i);
  else if (!set.waits)
    set.waits = requestAnimationFrame(() => {
      set.waits = 0;
      paintOver(set, i);
    });
}

function aboutSkill(set, k) {
  const result = resultOf(set), adds = result?.contributions?.[k], twin = result?.twins?.find((one) => one.skill === k);
  const said = [];
  if (known(adds)) said.push(`adds ${number(adds, 3)}`);
  if (twin && set.labels[twin.twin] !== undefined)
    said.push(`most like ${skillName(set, twin.twin)} (${number(twin.similarity, 3)})`);
  return skillName(set, k) + (said.length ? `: ${said.join(", ")}` : "");
}

/** Handlers that point at a skill while the pointer or the focus is there. */
const pointing = (i, ...skills) => ({
  onpointerenter: () => highlight(i, skills), onpointerleave: () => highlight(i, []),
  onfocusin: () => highlight(i, skills), onfocusout: () => highlight(i, []),
});
