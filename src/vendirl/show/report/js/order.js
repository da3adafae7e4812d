// This file puts skills in order: by number, alike ones beside each other, or by what they add.

const ORDERS = { number: "by number", alike: "alike ones together", adds: "by what they add" };

/** The skills of a set in the order that was chosen. */
function ordered(set) {
  const result = resultOf(set), n = set.labels.length;
  if (state.order === "adds" && result?.contributions)
    return range(n).sort((a, b) => result.contributions[b] - result.contributions[a]);
  if (state.order === "alike" && result) {
    const key = state.sense;
    set.chains = set.chains || {};
    set.chains[key] = set.chains[key] || chain(result.kernel);
    return set.chains[key];
  }
  return range(n);
}

/** From the skill that is least like the others, always on to the one most like the last. */
function chain(K) {
  const left = new Set(range(K.length)), rows = K.map(sum);
  let last = rows.indexOf(Math.min(...rows));
  const found = [last];
  left.delete(last);
  while (left.size) {
    last = [...left].reduce((best, k) => (K[last][k] > K[last][best] ? k : best));
    found.push(last);
    left.delete(last);
  }
  return found;
}

function orderMenu() {
  const menu = element(
    "select",
    {
      id: "order",
      onchange: () => {
        state.order = menu.value;
        drawResults();
        sets.forEach((set, i) => {
          orderChips(set, i);
          drawMultiples(set, i);
        });
      },
    },
    Object.entries(ORDERS).map(([value, words]) => element("option", { value }, words)),
  );
  menu.value = state.order;
  return element("label", {}, "order of skills", menu);
}
