"use strict";
// The report page. It reads its payload from #payload and builds everything with text nodes and attributes; no string
// of the payload is ever parsed as HTML. Charts are Plotly's; `escaped` makes its pseudo-HTML show a string as it is.
// For tests and the curious: window.vendirl = {ready, t, milliseconds}, where t is the time drawn last.

(() => {
  window.vendirl = { ready: false, t: null, milliseconds: null };
  const root = document.documentElement;
  const payload = JSON.parse(document.getElementById("payload").textContent);
  const sets = payload.sets;
  const several = sets.length > 1;
  const main = document.getElementById("report");
  const coarse = matchMedia("(pointer: coarse)").matches;
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  // ---- text and elements ------------------------------------------------------------------------------------------

  function element(tag, attributes = {}, ...children) {
    const svg = ["svg", "line", "path"].includes(tag);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false)
        made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** Four significant digits, without trailing zeros. */
  function number(value, digits = 4) {
    if (typeof value !== "number") return value === null || value === undefined ? "\u2013" : String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en").replaceAll(",", "\u202f");
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2).replace("e+", "e");
    return String(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1e-300))))));
  }
  const between = (interval) => `${number(interval[0])} to ${number(interval[1])}`;
  /** Three digits; what is less than all is never rounded to 100%. */
  const percent = (x) => `${x >= 0.995 && x < 1 ? Math.floor(1e4 * x) / 100 : Number((100 * x).toPrecision(3))}%`;
  const escaped = (text) =>
    String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\s+/g, " ");
  const short = (text, most = 14) =>
    String(text).length > most ? `${String(text).slice(0, most - 1)}\u2026` : String(text);
  const skillName = (set, k) => (/^\d+$/.test(set.labels[k]) ? `skill ${set.labels[k]}` : String(set.labels[k]));

  // ---- colours ----------------------------------------------------------------------------------------------------

  // Okabe and Ito's eight; for more skills evenly spaced colours of a map whose lightness rises steadily ("plasma"),
  // cut where it would vanish in the background. Dashes and marks differ between neighbours: colour is not all.
  const OKABE_ITO = ["#E69F00", "#56B4E9", "#009E73", "#D6C800", "#0072B2", "#D55E00", "#CC79A7", "#000000"];
  const PLASMA = [
    "#0d0887", "#46039f", "#7201a8", "#9c179e", "#bd3786", "#d8576b", "#ed7953", "#fb9f3a", "#fdca26", "#f0f921",
  ];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const MARKS = ["circle", "square", "diamond", "cross", "x"]; // those that 3D charts have too
  const MARK_PATHS = {
    circle: "M17,6a4,4 0 1,1 -8,0a4,4 0 1,1 8,0Z", square: "M9.5,2.5h7v7h-7Z", diamond: "M13,1l5,5l-5,5l-5,-5Z",
    cross: "M11.5,1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z", x: "M9,4l2,-2l2,2l2,-2l2,2l-2,2l2,2l-2,2l-2,-2l-2,2l-2,-2l2,-2Z",
  };
  const MARK_SHAPES = Object.fromEntries(Object.entries(MARK_PATHS).map(([name, path]) => [name, new Path2D(path)]));
  const dark = () => root.dataset.theme === "dark";
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function mixed(a, b, share) {
    const parts = [1, 3, 5].map((i) => [a, b].map((hex) => parseInt(hex.slice(i, i + 2), 16)));
    return `#${parts
      .map(([x, y]) =>
        Math.round(x + share * (y - x))
          .toString(16)
          .padStart(2, "0"),
      )
      .join("")}`;
  }

  function colour(k, n) {
    if (n <= OKABE_ITO.length) return dark() && OKABE_ITO[k] === "#000000" ? "#F2F2F2" : OKABE_ITO[k];
    const [from, to] = dark() ? [0.28, 1] : [0, 0.86];
    const place = (from + ((to - from) * k) / (n - 1)) * (PLASMA.length - 1);
    const i = Math.min(Math.floor(place), PLASMA.length - 2);
    return mixed(PLASMA[i], PLASMA[i + 1], place - i);
  }
  const dash = (k, n) => (n <= OKABE_ITO.length ? "solid" : DASHES[k % DASHES.length]);
  const mark = (k, n) => (n <= OKABE_ITO.length ? "circle" : MARKS[k % MARKS.length]);

  function swatch(k, n) {
    const dashes = { solid: null, dash: "6 3", dot: "2 2", dashdot: "6 2 2 2" }[dash(k, n)];
    return element(
      "svg", { class: "swatch", viewBox: "0 0 26 12", "aria-hidden": "true" },
      element("line", {
        x1: 0, y1: 6, x2: 26, y2: 6, stroke: colour(k, n), "stroke-width": 2.5, "stroke-dasharray": dashes,
      }),
      element("path", { d: MARK_PATHS[mark(k, n)], fill: colour(k, n) }),
    );
  }

  // ---- state ------------------------------------------------------------------------------------------------------

  const orders = new Set(sets.flatMap((set) => set.results.map((result) => result.q)));
  const sense = (result) => (orders.size > 1 ? `${result.similarity}, q = ${result.q}` : result.similarity);
  const senses = [...new Set(sets.flatMap((set) => set.results.map(sense)))];
  const lengthOf = (set) => set.episodes.reduce((longest, episode) => Math.max(longest, episode.points.length), 1);
  const T = Math.max(...sets.map(lengthOf));
  const STEP = -1; // an axis that is not a feature: time
  const alike = sets.every((set) => same(set.features, sets[0].features));

  const state = { sense: senses[0], t: T, playing: false };
  sets.forEach((set) => {
    set.bySkill = set.labels.map(() => []);
    set.episodes.forEach((episode) => set.bySkill[episode.skill].push(episode.points));
    set.visible = set.labels.map(() => true);
    set.pair = null; // the two skills that were chosen in the heat map
    set.cursor = null; // where the arrow keys are in it
    set.drawn = null; // the time it was drawn for
    const [east, north] = ["x", "y"].map((name) => set.features.indexOf(name));
    if (set.features.length === 1) set.axes = [STEP, 0, null];
    else if (east >= 0 && north >= 0) set.axes = [east, north, null]; // a body from above
    else set.axes = east >= 0 ? [STEP, east, null] : [0, 1, null];
    set.points = sum(set.episodes.map((episode) => episode.points.length));
  });
  const resultOf = (set) => set.results.find((result) => sense(result) === state.sense) || null;

  // 3D needs WebGL, and a page has room for few such charts.
  const webgl = (() => {
    if (sets.every((set) => set.features.length < 3)) return false;
    const context = document.createElement("canvas").getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return context !== null;
  })();
  // Plotly makes an element of each trajectory, which is slow for hundreds, and its WebGL lines are slow without a
  // graphics card. Many trajectories are painted on a canvas behind the chart instead, in milliseconds on any machine;
  // the chart still has axes, zoom and hover, and the same traces, which it does not draw.
  sets.forEach((set) => {
    set.painted = set.episodes.length > 200 || set.points > 20000;
    if (set.features.length === 3 && !set.world && webgl && sets.length <= 4) set.axes = [0, 1, 2];
  });

  // ---- sections ---------------------------------------------------------------------------------------------------

  const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
  const size = (set) =>
    [
      plural(set.labels.length, "skill"), plural(set.episodes.length, "episode"),
      plural(set.features.length, "feature"),
    ].join(" \u00b7 ");

  /** A section with a column for each set; `fill(set, i)` gives what stands in a column. */
  function section(id, heading, caption, width, fill) {
    const columns = element(
      "div", { class: "columns" },
      sets.map((set, i) =>
        element(
          "article", { "data-set": i },
          several || id === "score"
            ? element("h3", {}, set.name, id === "score" ? element("span", { class: "size" }, ` ${size(set)}`) : null)
            : null,
          fill(set, i),
        ),
      ),
    );
    const made = element(
      "section", { id, class: width, "aria-labelledby": `${id}-heading` },
      element("h2", { id: `${id}-heading` }, heading), caption ? element("p", { class: "caption" }, caption) : null,
      columns,
    );
    main.append(made);
    return made;
  }

  const plotBox = (kind, i, size, label) =>
    element("div", { id: `${kind}-${i}`, class: `plot ${size}`, role: "img", "aria-label": label });
  const inside = (kind, i) => document.getElementById(`${kind}-${i}`);
  const absent = (words) => element("p", { class: "soft" }, words);
  const scroll = (label, table) =>
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  const head = (cells) => element("thead", {}, element("tr", {}, cells));

  const QUIET = { responsive: true, displayModeBar: false, scrollZoom: false };

  function layout(extra = {}) {
    const paint = {
      gridcolor: css("--grid"), linecolor: css("--rule"), zeroline: false, automargin: true, fixedrange: true,
    };
    return {
      autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      dragmode: false, font: { family: "system-ui, sans-serif", size: 12, color: css("--soft") },
      hoverlabel: { bgcolor: css("--ink"), bordercolor: css("--ink"), font: { color: css("--card"), size: 13 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--ink") },
      margin: { l: 44, r: 12, t: 10, b: 40 },
      ...extra,
      xaxis: { ...paint, ...extra.xaxis }, yaxis: { ...paint, ...extra.yaxis },
    };
  }

  // ---- the score --------------------------------------------------------------------------------------------------

  function sentence(set, result) {
    const n = set.labels.length, score = result.vendi_score;
    const say = [`${number(score)} effectively different skills of ${n}`];
    say.push(
      result.ceiling !== null && result.ceiling !== undefined && result.ceiling < n - 1e-6
        ? `; this similarity allows at most ${number(result.ceiling)}. `
        : ". ",
    );
    if (result.interval)
      say.push(`The ${percent(result.confidence ?? 0.95)} interval is ${between(result.interval)}. `);
    else if (result.interval_note) say.push(`No interval: ${result.interval_note.replace(/\.$/, "")}. `);
    if (result.null) {
      say.push(
        `With the skill labels shuffled the score is ${number(result.null.mean)} (${between(result.null.interval)})`,
      );
      if (score <= result.null.interval[1]) say.push("; these skills do no better than that. ");
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
        `${percent(result.confidence ?? 0.95)} interval ${between(result.interval)}`,
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

  // ---- trajectories -----------------------------------------------------------------------------------------------

  const featureName = (set, axis) => (axis === STEP ? "step" : set.features[axis]);
  const plane = (set) =>
    set.world && set.axes[0] !== set.axes[1] && set.axes.slice(0, 2).every((a) => a === 0 || a === 1);

  /** Lines of each visible skill up to time t, episodes parted by a gap, and where they have come to. */
  function drawnUpTo(set, t) {
    const axes = set.axes.filter((axis) => axis !== null);
    const start = set.world?.start && axes.every((axis) => axis === 0 || axis === 1) ? set.world.start : null;
    const heads = axes.map(() => []);
    const lines = set.bySkill.map((episodes, k) => {
      const line = axes.map(() => []);
      if (!set.visible[k]) return line;
      episodes.forEach((points) => {
        const end = Math.min(t, points.length);
        axes.forEach((axis, a) => {
          const to = line[a];
          if (start) to.push(start[axis]);
          if (axis === STEP) for (let s = 0; s < end; s++) to.push(s);
          else for (let s = 0; s < end; s++) to.push(points[s][axis]);
          heads[a].push(to[to.length - 1]);
          to.push(null);
        });
      });
      return line;
    });
    return { lines, heads };
  }

  /** From least to most of an axis, with a margin; the same for all sets that have the same features. */
  const limits = (() => {
    const known = new Map();
    return (set, axis) => {
      const key = `${alike ? "" : sets.indexOf(set)}/${axis}`;
      if (!known.has(key)) {
        let low = Infinity,
          high = -Infinity;
        const take = (x) => {
          if (x < low) low = x;
          if (x > high) high = x;
        };
        (alike ? sets : [set]).forEach((one) => {
          one.episodes.forEach(({ points }) => {
            if (axis === STEP) {
              take(0);
              take(points.length - 1);
            } else points.forEach((point) => take(point[axis]));
          });
          if (one.world && (axis === 0 || axis === 1)) {
            if (one.world.bounds) {
              take(one.world.bounds[axis]);
              take(one.world.bounds[axis + 2]);
            }
            (one.world.walls || []).forEach((wall) => {
              take(wall[axis]);
              take(wall[axis + 2]);
            });
            if (one.world.start) take(one.world.start[axis]);
          }
        });
        if (low > high) [low, high] = [0, 1];
        const margin = high > low ? 0.04 * (high - low) : 0.5;
        known.set(key, [low - margin, high + margin]);
      }
      return [...known.get(key)];
    };
  })();

  function worldLines(set) {
    const [a, b] = set.axes,
      { bounds, walls } = set.world;
    const frame = bounds
      ? [
          {
            type: "rect", layer: "below", x0: bounds[a], y0: bounds[b], x1: bounds[a + 2], y1: bounds[b + 2],
            line: { color: css("--soft"), width: 1 },
          },
        ]
      : [];
    return frame.concat(
      (walls || []).map((wall) => ({
        type: "line", x0: wall[a], y0: wall[b], x1: wall[a + 2], y1: wall[b + 2],
        line: { color: css("--ink"), width: 3 },
      })),
    );
  }

  const mostEpisodes = (set) => Math.max(1, ...set.bySkill.map((episodes) => episodes.length));
  const opacityOf = (set) => (mostEpisodes(set) === 1 ? 1 : mostEpisodes(set) < 10 ? 0.8 : 0.5);

  function trajectoryTraces(set) {
    const n = set.labels.length, three = set.axes[2] !== null;
    const type = three ? "scatter3d" : "scatter", paints = set.painted && !three;
    const { lines, heads } = drawnUpTo(set, state.t);
    const opacity = opacityOf(set);
    const names = set.axes.map((axis) => axis !== null && escaped(featureName(set, axis)));
    const where = ["x", "y", "z"]
      .slice(0, three ? 3 : 2)
      .map((c, a) => `${names[a].replace(/%\{/g, "% {")} %{${c}:.3g}`)
      .join(", ");
    const coordinates = (values) => Object.fromEntries(values.map((list, a) => ["xyz"[a], list]));
    const traces = lines.map((line, k) => ({
      type, mode: paints ? "none" : "lines", name: escaped(skillName(set, k)), meta: escaped(skillName(set, k)),
      visible: set.visible[k],
      ...coordinates(line),
      opacity, line: { color: colour(k, n), width: three ? 3 : 1.7, dash: dash(k, n) },
      hovertemplate: `%{meta}<br>${where}<extra></extra>`,
    }));
    const skills = owners(set);
    traces.push({
      type, mode: paints ? "none" : "markers", name: "now",
      ...coordinates(heads),
      hoverinfo: "skip",
      marker: {
        size: three ? 4 : mostEpisodes(set) > 10 ? 5 : 7, color: skills.map((k) => colour(k, n)),
        symbol: skills.map((k) => mark(k, n)), line: { color: css("--card"), width: three ? 0 : 1 },
      },
    });
    if (plane(set) && set.world.start && !three) {
      traces.push({
        type, mode: "markers", name: "start", x: [set.world.start[set.axes[0]]], y: [set.world.start[set.axes[1]]],
        hovertemplate: "start<extra></extra>",
        marker: { size: 11, symbol: "circle-open", color: css("--ink"), line: { width: 2 } },
      });
    }
    if (plane(set) && three) {
      const [a, b] = set.axes,
        floor = limits(set, set.axes[2])[0], x = [], y = [],
        { bounds, walls } = set.world;
      (walls || []).forEach((wall) => {
        x.push(wall[a], wall[a + 2], null);
        y.push(wall[b], wall[b + 2], null);
      });
      if (bounds) {
        [[0, 1], [2, 1], [2, 3], [0, 3], [0, 1]].forEach(([p, q]) => {
          x.push(bounds[a === 0 ? p : q]);
          y.push(bounds[b === 0 ? p : q]);
        });
      }
      traces.push({
        type, mode: "lines", name: "world", x, y, z: x.map(() => floor), hoverinfo: "skip",
        line: { color: css("--soft"), width: 3 },
      });
    }
    return traces;
  }

  function drawTrajectories(set, i) {
    const box = inside("trajectories", i);
    if (!box) return null;
    const three = set.axes[2] !== null;
    const axis = (a) => ({
      title: { text: escaped(short(featureName(set, set.axes[a]), 40)) }, range: limits(set, set.axes[a]),
    });
    const look = layout({ uirevision: set.axes.join(), hovermode: "closest", dragmode: coarse ? false : "pan" });
    look.meta = ""; // titles are templates too; with this no pattern in them finds anything
    if (three) {
      const paint = {
        gridcolor: css("--band"), zerolinecolor: css("--band"), backgroundcolor: "rgba(0,0,0,0)", showspikes: false,
      };
      const extent = (a) => {
        const [low, high] = limits(set, set.axes[a]);
        return high - low;
      };
      const equal = plane(set) ? Math.max(extent(0), extent(1)) : null;
      look.margin = { l: 0, r: 0, t: 0, b: 0 };
      look.dragmode = "turntable";
      look.scene = {
        xaxis: { ...paint, ...axis(0) }, yaxis: { ...paint, ...axis(1) }, zaxis: { ...paint, ...axis(2) },
        aspectmode: "manual",
        aspectratio: equal ? { x: extent(0) / equal, y: extent(1) / equal, z: 0.8 } : { x: 1, y: 1, z: 0.9 },
        camera: { eye: { x: 1.55, y: 1.55, z: 1 } },
      };
    } else {
      const shown = { fixedrange: coarse, showgrid: !set.painted }; // a grid would lie over what is painted behind it
      Object.assign(look.xaxis, axis(0), shown);
      Object.assign(look.yaxis, axis(1), shown);
      if (plane(set)) {
        Object.assign(look.yaxis, { scaleanchor: "x", constrain: "domain" });
        look.xaxis.constrain = "domain";
        look.shapes = worldLines(set);
      }
    }
    const buttons = [[...(set.painted && !three ? [] : ["toImage"]), three ? "resetCameraDefault3d" : "resetScale2d"]];
    if (box.data && box.three !== three) Plotly.purge(box);
    box.three = three;
    set.drawn = state.t;
    const fresh = !box.data;
    const made = Plotly.react(box, trajectoryTraces(set), look, {
      ...QUIET,
      displayModeBar: coarse ? false : "hover", displaylogo: false, modeBarButtons: buttons,
    });
    if (set.painted && fresh)
      ["plotly_afterplot", "plotly_relayouting"].forEach((event) => box.on(event, () => paint(set, i)));
    if (set.painted) paint(set, i);
    return made;
  }

  /** Trajectories up to now on the canvas behind the chart, where its axes say. */
  function paint(set, i) {
    const box = inside("trajectories", i), canvas = inside("canvas", i), context = canvas.getContext("2d");
    const [wide, high] = [box.clientWidth, box.clientHeight],
      dots = devicePixelRatio || 1;
    if (canvas.width !== Math.round(wide * dots) || canvas.height !== Math.round(high * dots)) {
      [canvas.width, canvas.height] = [wide, high].map((length) => Math.round(length * dots));
    }
    context.setTransform(dots, 0, 0, dots, 0, 0);
    context.clearRect(0, 0, wide, high);
    if (set.axes[2] !== null || !box._fullLayout?.xaxis) return;
    const { xaxis, yaxis } = box._fullLayout,
      n = set.labels.length;
    const { lines, heads } = drawnUpTo(set, state.t);
    const across = xaxis._length / (xaxis.range[1] - xaxis.range[0]),
      up = yaxis._length / (yaxis.range[1] - yaxis.range[0]);
    const right = xaxis._offset - across * xaxis.range[0],
      bottom = yaxis._offset + yaxis._length + up * yaxis.range[0];
    context.save();
    context.beginPath();
    context.rect(xaxis._offset, yaxis._offset, xaxis._length, yaxis._length);
    context.clip();
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.globalAlpha = opacityOf(set);
    lines.forEach(([x, y], k) => {
      context.strokeStyle = colour(k, n);
      context.setLineDash({ solid: [], dash: [7, 4], dot: [2, 3], dashdot: [7, 3, 2, 3] }[dash(k, n)]);
      let pen = false;
      for (let p = 0; p < x.length; p++) {
        if (x[p] === null) {
          context.stroke(); // each by itself: one long path of all would be slower, not faster
          pen = false;
        } else if (pen) context.lineTo(right + across * x[p], bottom - up * y[p]);
        else {
          context.beginPath();
          context.moveTo(right + across * x[p], bottom - up * y[p]);
          pen = true;
        }
      }
    });
    context.restore();
    owners(set).forEach((k, e) => {
      context.setTransform(
        dots, 0, 0, dots, dots * (right + across * heads[0][e] - 0.6 * 13),
        dots * (bottom - up * heads[1][e] - 0.6 * 6),
      );
      context.scale(0.6, 0.6); // a swatch's mark, whose middle is (13, 6)
      context.fillStyle = colour(k, n);
      context.fill(MARK_SHAPES[mark(k, n)]);
    });
  }

  /** The skill of each head, in the order of `drawnUpTo`. */
  const owners = (set) => set.labels.flatMap((_, k) => (set.visible[k] ? set.bySkill[k].map(() => k) : []));

  /** The same chart at another time: only the points of visible skills change. */
  function moveTrajectories(set, i) {
    const box = inside("trajectories", i);
    if (!box || !box.data || set.drawn === state.t) return;
    const edge = box.getBoundingClientRect();
    if (edge.bottom < 0 || edge.top > innerHeight) return; // out of sight; it catches up when it comes into sight
    set.drawn = state.t;
    if (set.painted && set.axes[2] === null) {
      // hover follows when time stands still
      paint(set, i);
      clearTimeout(set.later);
      set.later = setTimeout(() => restyle(set, box), 150);
    } else restyle(set, box);
  }

  function restyle(set, box) {
    const { lines, heads } = drawnUpTo(set, state.t);
    const shown = range(set.labels.length).filter((k) => set.visible[k]);
    const change = {};
    heads.forEach((list, a) => {
      change["xyz"[a]] = [...shown.map((k) => lines[k][a]), list];
    });
    Plotly.restyle(box, change, [...shown, set.labels.length]);
  }

  // Moves of the slider between two frames are one redrawing.
  let frame = 0;
  const slider = element("input", {
    type: "range", id: "time", min: 1, max: T, step: 1, value: T, "aria-label": "time", disabled: T === 1,
  });
  const shownTime = element("output", { for: "time" });
  const play = element(
    "button", { id: "play", type: "button", disabled: T === 1, onclick: () => playing(!state.playing) }, "Play",
  );
  const unit = sets.some((set) => set.thinned) ? "point" : "step";

  function setTime(t) {
    state.t = Math.min(T, Math.max(1, t));
    slider.value = state.t;
    shownTime.textContent = `${unit} ${state.t} of ${T}`;
    slider.setAttribute("aria-valuetext", shownTime.textContent);
    if (!frame)
      frame = requestAnimationFrame(() => {
        frame = 0;
        const begun = performance.now(), t = state.t;
        sets.forEach(moveTrajectories);
        Object.assign(window.vendirl, { t, milliseconds: performance.now() - begun });
      });
  }
  slider.addEventListener("input", () => {
    playing(false);
    setTime(Number(slider.value));
  });

  function playing(on) {
    if (on === state.playing) return;
    state.playing = on;
    play.textContent = on ? "Pause" : "Play";
    if (!on) return;
    const from = state.t >= T ? 1 : state.t, begun = performance.now();
    const each = Math.min(8000, Math.max(3000, 60 * T)) / T;
    setTime(from);
    const tick = (now) => {
      if (!state.playing) return;
      const t = from + Math.floor(Math.max(0, now - begun) / each);
      if (t !== state.t) setTime(t);
      if (t >= T) playing(false);
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // ---- which skills are shown -------------------------------------------------------------------------------------

  function show(i, visible, pair = null) {
    const set = sets[i];
    set.visible = visible;
    set.pair = pair;
    document
      .querySelectorAll(`#trajectories button[data-set="${i}"][data-skill]`)
      .forEach((chip, k) => chip.setAttribute("aria-pressed", visible[k]));
    drawTrajectories(set, i);
    outlinePairs(set, i);
  }

  function choosePair(i, a, b) {
    const set = sets[i], pair = [Math.min(a, b), Math.max(a, b)];
    const again = same(set.pair, pair);
    show(i, set.labels.map((_, k) => again || pair.includes(k)), again ? null : pair);
    say(
      i,
      again
        ? "All skills are shown."
        : a === b
          ? `Only ${skillName(set, a)} is shown.`
          : `Only ${pairName(set, a, b)} are shown; choose them again for all.`,
    );
  }

  function chips(set, i) {
    const n = set.labels.length;
    const every = (on, words) =>
      element(
        "button",
        {
          type: "button", class: "all", "data-set": i, "data-show": words,
          onclick: () => show(i, set.labels.map(() => on)),
        },
        words,
      );
    return element(
      "div", { class: "chips", role: "group", "aria-label": `Skills shown${several ? ` of ${set.name}` : ""}` },
      every(true, "all"), every(false, "none"),
      set.labels.map((label, k) =>
        element(
          "button",
          {
            type: "button", "data-set": i, "data-skill": k, "aria-pressed": true,
            title: `${skillName(set, k)}: click to hide or show, double-click for it alone`,
            onclick: () => show(i, set.visible.map((on, j) => (j === k ? !on : on))),
            ondblclick: () => show(i, set.labels.map((_, j) => j === k)),
          },
          swatch(k, n), element("span", {}, label),
        ),
      ),
    );
  }

  function axisChoice(of) {
    const set = of[0];
    const redraw = () => of.forEach((one) => drawTrajectories(one, sets.indexOf(one)));
    const choose = (name, a, options) => {
      const menu = element(
        "select",
        {
          "data-axis": name,
          onchange: () => {
            of.forEach((one) => {
              one.axes[a] = menu.value === "none" ? null : Number(menu.value);
            });
            redraw();
          },
        },
        options.map(([value, words]) =>
          element("option", { value, selected: String(value) === String(set.axes[a] ?? "none") }, words),
        ),
      );
      return element("label", {}, name, menu);
    };
    const features = [...set.features.map((feature, axis) => [axis, feature]), [STEP, "step"]];
    const made = element(
      "div", { class: "axes", role: "group", "aria-label": "Axes" }, choose("x", 0, features),
      choose("y", 1, features),
    );
    if (set.features.length > 2) {
      const third = choose("z", 2, [["none", "none"], ...features]);
      if (!webgl) {
        third.querySelector("select").disabled = true;
        third.title = "3D needs WebGL, which this browser does not offer";
      }
      made.append(third);
    }
    return made;
  }

  // ---- the kernel -------------------------------------------------------------------------------------------------

  const pairName = (set, a, b) => (a === b ? skillName(set, a) : `${skillName(set, a)} and ${skillName(set, b)}`);
  const say = (i, words) => {
    const line = document.getElementById(`readout-${i}`);
    if (line) line.textContent = words;
  };
  const similarityOf = (set, a, b) => `${pairName(set, a, b)}: similarity ${number(resultOf(set).kernel[a][b], 3)}`;

  function kernelShapes(set) {
    const cell = (a, b, line) => ({
      type: "rect", x0: a - 0.5, x1: a + 0.5, y0: b - 0.5, y1: b + 0.5, line, fillcolor: "rgba(0,0,0,0)",
    });
    const shapes = set.pair
      ? [set.pair, [...set.pair].reverse()].map(([a, b]) => cell(a, b, { color: css("--warm"), width: 3 }))
      : [];
    return set.cursor
      ? [...shapes, cell(set.cursor[1], set.cursor[0], { color: css("--warm"), width: 2, dash: "dot" })]
      : shapes;
  }

  function outlinePairs(set, i) {
    const box = inside("kernel", i);
    if (box && box.data) Plotly.relayout(box, { shapes: kernelShapes(set) });
  }

  function drawKernel(set, i) {
    const box = inside("kernel", i), result = resultOf(set), n = set.labels.length;
    box.hidden = result === null;
    say(i, result === null ? "Not measured by this similarity." : "");
    if (result === null) return null;
    const K = result.kernel, signed = Math.min(...K.map((row) => Math.min(...row))) < -1e-6;
    const scale = dark() ? ["#1d232b", "#1f4e73", "#3f8fc7", "#a9d8f5"] : ["#f5f8fb", "#b9d7ea", "#4a97c9", "#08306b"];
    const below = dark() ? ["#ffc266", "#8a5a10"] : ["#8a3b00", "#f0b27a"];
    const colours = signed ? [...below, ...scale] : scale;
    const places = signed ? [0, 0.3, 0.5, 0.67, 0.83, 1] : [0, 0.33, 0.67, 1];
    const each = Math.max(1, Math.ceil(n / 12));
    const ticks = range(n).filter((k) => k % each === 0);
    const named = {
      tickmode: "array", tickvals: ticks, ticktext: ticks.map((k) => escaped(short(set.labels[k]))), showgrid: false,
      constrain: "domain",
      ticks: "",
    };
    const first = !box.data;
    const drawn = Plotly.react(
      box,
      [
        {
          type: "heatmap", z: K, zmin: signed ? -1 : 0, zmax: 1, colorscale: colours.map((c, k) => [places[k], c]),
          xgap: n <= 24 ? 1 : 0, ygap: n <= 24 ? 1 : 0,
          text: n <= 10 ? K.map((row) => row.map((x) => x.toFixed(2))) : undefined,
          texttemplate: n <= 10 ? "%{text}" : undefined, textfont: { size: 11 },
          hovertext: K.map((row, a) => row.map((_, b) => escaped(similarityOf(set, a, b)))), hoverinfo: "text",
          colorbar: { thickness: 8, outlinewidth: 0, len: 0.9, tickfont: { size: 11 }, nticks: 5 },
        },
      ],
      layout({
        margin: { l: 30, r: 6, t: 8, b: 30 }, shapes: kernelShapes(set), hovermode: "closest",
        xaxis: { ...named, range: [-0.5, n - 0.5] },
        yaxis: { ...named, range: [n - 0.5, -0.5], scaleanchor: "x", constraintoward: "top" },
      }),
      QUIET,
    );
    if (first) {
      box.on("plotly_hover", (event) => say(i, similarityOf(set, event.points[0].y, event.points[0].x)));
      box.on("plotly_click", (event) => choosePair(i, event.points[0].y, event.points[0].x));
    }
    return drawn;
  }

  function kernelKeys(event, i) {
    const set = sets[i], n = set.labels.length,
      [row, column] = set.cursor || [0, 0];
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (resultOf(set) === null) return;
    if (move) {
      const next = set.cursor ? [row + move[0], column + move[1]].map((k) => Math.min(n - 1, Math.max(0, k))) : [0, 0];
      set.cursor = next;
      outlinePairs(set, i);
      say(i, similarityOf(set, ...next));
    } else if ((event.key === "Enter" || event.key === " ") && set.cursor) choosePair(i, row, column);
    else if (event.key === "Escape")
      show(i, set.labels.map(() => true));
    else return;
    event.preventDefault();
  }

  // ---- spectrum, profile, curve -----------------------------------------------------------------------------------

  const topOf = (values) =>
    1.06 * values.flat(9).reduce((top, x) => (typeof x === "number" ? Math.max(top, x) : top), 1e-9);
  const shownResults = () => sets.map(resultOf).filter((result) => result !== null);

  function drawSpectrum(set, i) {
    const box = inside("spectrum", i), result = resultOf(set);
    box.hidden = result === null;
    if (result === null) return null;
    const n = result.spectrum.length, places = range(n).map((k) => k + 1);
    return Plotly.react(
      box,
      [
        {
          type: "bar", x: places, y: result.spectrum, marker: { color: css("--accent") },
          hovertemplate: "eigenvalue %{x}: %{y:.3g}<extra></extra>",
        },
      ],
      layout({
        bargap: 0.25,
        xaxis: {
          title: { text: "eigenvalue" }, range: [0.4, n + 0.6], showgrid: false,
          ...(n <= 12 ? { dtick: 1 } : {}),
        },
        yaxis: {
          title: { text: "of K/n" }, range: [0, topOf([...shownResults().map((one) => one.spectrum), 1 / n])],
          nticks: 5,
        },
        shapes: [
          {
            type: "line", x0: 0.4, x1: n + 0.6, y0: 1 / n, y1: 1 / n,
            line: { color: css("--ink"), width: 1.5, dash: "dash" },
          },
        ],
        annotations: [
          {
            x: 1, xref: "paper", y: 1 / n, text: "flat: 1/n", showarrow: false, xanchor: "right", yanchor: "bottom",
            font: { size: 11, color: css("--ink") },
          },
        ],
      }),
      QUIET,
    );
  }

  // Orders 0 to infinity on an axis of finite length: q / (1 + q) puts 0 at its beginning, 1 in the middle, infinity at
  // its end.
  const order = (q) => (q === "inf" ? Infinity : Number(q));
  const orderPlace = (q) => (order(q) === Infinity ? 1 : order(q) / (1 + order(q)));

  function drawProfile(set, i) {
    const box = inside("profile", i), result = resultOf(set);
    const none = result === null || !result.profile;
    box.hidden = none;
    if (none) return null;
    const { q, score } = result.profile,
      words = (x) => (order(x) === Infinity ? "\u221e" : number(order(x)));
    const ticks = q.length <= 8 ? q : [0, 0.5, 1, 2, 5, "inf"];
    return Plotly.react(
      box,
      [
        {
          type: "scatter", mode: q.length <= 20 ? "lines+markers" : "lines", x: q.map(orderPlace), y: score,
          text: q.map(words), line: { color: css("--accent"), width: 2 }, marker: { size: 7 },
          hovertemplate: "q = %{text}: %{y:.4g}<extra></extra>",
        },
        {
          type: "scatter", mode: "markers", name: "reported", x: [orderPlace(result.q)], y: [result.vendi_score],
          hoverinfo: "skip", marker: { size: 13, symbol: "circle-open", color: css("--ink"), line: { width: 2 } },
        },
      ],
      layout({
        xaxis: {
          title: { text: "order q" }, tickmode: "array", tickvals: ticks.map(orderPlace), ticktext: ticks.map(words),
          range: [-0.05, 1.05],
        },
        yaxis: {
          title: { text: "Vendi Score" },
          range: [0, topOf(shownResults().map((one) => [one.profile?.score ?? [], one.vendi_score]))], nticks: 6,
        },
      }),
      QUIET,
    );
  }

  function drawCurve(set, i) {
    const box = inside("curve", i), curve = set.curve;
    if (!box || !curve) return null;
    const seeds = range(Math.max(...curve.scores.map((row) => row.length)));
    const mean = curve.scores.map((row) => {
      const known = row.filter((x) => x !== null);
      return known.length ? sum(known) / known.length : null;
    });
    const traces = seeds.map((s) => ({
      type: "scatter", mode: curve.steps.length === 1 ? "markers" : "lines", x: curve.steps,
      y: curve.scores.map((row) => row[s] ?? null), opacity: seeds.length > 1 ? 0.45 : 1,
      line: { color: css("--accent"), width: seeds.length > 1 ? 1 : 2 },
      hovertemplate: `seed ${s}: %{y:.4g} at %{x:,} steps<extra></extra>`,
    }));
    if (seeds.length > 1)
      traces.push({
        type: "scatter", mode: "lines", x: curve.steps, y: mean, line: { color: css("--accent"), width: 3 },
        hovertemplate: "mean of seeds: %{y:.4g} at %{x:,} steps<extra></extra>",
      });
    const mine = sets.flatMap((one) => (one.curve ? [one.curve.scores, one.curve.ceiling] : []));
    const line =
      curve.ceiling === null || curve.ceiling === undefined
        ? {}
        : {
            shapes: [
              {
                type: "line", xref: "paper", x0: 0, x1: 1, y0: curve.ceiling, y1: curve.ceiling,
                line: { color: css("--warm"), width: 2, dash: "dot" },
              },
            ],
            annotations: [
              {
                xref: "paper", x: 0, xanchor: "left", y: curve.ceiling, yanchor: "bottom",
                text: `attainable ${number(curve.ceiling)}`, showarrow: false,
                font: { size: 11, color: css("--warm") },
              },
            ],
          };
    return Plotly.react(
      box, traces,
      layout({
        hovermode: "closest", xaxis: { title: { text: "environment steps" }, nticks: 5 },
        yaxis: { title: { text: "Vendi Score" }, range: [0, 1.1 * topOf(mine)], nticks: 6 },
        ...line,
      }),
      QUIET,
    );
  }

  // ---- tables -----------------------------------------------------------------------------------------------------

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
    const named = (k) =>
      element("span", { class: "named", title: set.labels[k] }, swatch(k, n), short(set.labels[k], 18));
    return box.replaceChildren(
      scroll(
        "What each skill adds",
        element(
          "table", {},
          head([
            element("th", {}, "skill"), element("th", { class: "number" }, "adds"), element("th", {}, ""),
            element("th", {}, "nearest"), element("th", { class: "number" }, "similarity"),
          ]),
          element(
            "tbody", {},
            set.labels.map((_, k) =>
              element(
                "tr", {}, element("th", { scope: "row" }, named(k)),
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
  }

  const setting = (value) =>
    value === null || value === undefined
      ? "none"
      : typeof value === "number"
        ? String(value)
        : typeof value === "object"
          ? JSON.stringify(value)
          : String(value);

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

  function comparisonTable({ methods, similarities, iqm, intervals }) {
    const most = similarities.map((_, s) =>
      Math.max(1e-9, ...methods.map((__, m) => Math.max(iqm[m][s], intervals?.[m]?.[s]?.[1] ?? 0))),
    );
    const cell = (m, s) => {
      const interval = intervals?.[m]?.[s], place = (x) => `${Math.max(0, Math.min(100, (100 * x) / most[s]))}%`;
      return element(
        "td", {}, element("strong", {}, number(iqm[m][s])),
        interval ? element("span", { class: "soft" }, ` ${between(interval)}`) : null,
        element(
          "span", { class: "span", "aria-hidden": "true" },
          interval
            ? element("i", {
                style: `left:${place(interval[0])};width:calc(${place(interval[1])} - ${place(interval[0])})`,
              })
            : null,
          element("b", { style: `left:${place(iqm[m][s])}` }),
        ),
      );
    };
    return scroll(
      "Comparison",
      element(
        "table", {},
        head([
          element("th", {}, "method"),
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

  /** Nested settings as "ppo.epochs": 4. */
  function flat(settings, before = "") {
    return Object.entries(settings || {}).flatMap(([name, value]) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? flat(value, `${before}${name}.`)
        : [[before + name, setting(value)]],
    );
  }

  function settingsTable() {
    const all = sets.map((set) => new Map(flat(set.settings))),
      names = [...new Set(all.flatMap((map) => [...map.keys()]))];
    return scroll(
      "Settings",
      element(
        "table", {},
        several
          ? head([element("th", {}, "setting"), ...sets.map((set) => element("th", { class: "name" }, set.name))])
          : null,
        element(
          "tbody", {},
          names.map((name) => {
            const values = all.map((map) => (map.has(name) ? map.get(name) : "\u2013"));
            return element(
              "tr", { class: new Set(values).size > 1 ? "differs" : null }, element("th", { scope: "row" }, name),
              values.map((value) => element("td", {}, element("code", {}, value))),
            );
          }),
        ),
      ),
    );
  }

  // ---- the page ---------------------------------------------------------------------------------------------------

  function build() {
    document.body.classList.add(several ? "several" : "one");
    const some = (part) => sets.some((set) => set[part] && (!Array.isArray(set[part]) || set[part].length));
    const controls = document.getElementById("controls");
    if (senses.length > 1) {
      const menu = element(
        "select",
        {
          id: "similarity",
          onchange: () => {
            state.sense = menu.value;
            drawResults();
          },
        },
        senses.map((words) => element("option", { value: words }, words)),
      );
      controls.append(element("label", {}, "similarity", menu));
    }
    controls.append(
      element("button", { id: "theme", type: "button", onclick: () => setTheme(dark() ? "light" : "dark") }),
    );

    if (senses.length)
      section("score", "Effective number of unique skills", null, "", (_, i) => element("div", { id: `score-${i}` }));

    const drawn = section("trajectories", "Trajectories", null, senses.length ? "w7" : "", (set, i) => {
      if (!set.episodes.length) return absent("No trajectories were given.");
      const n = set.labels.length;
      return [
        several && !alike ? axisChoice([set]) : null, chips(set, i),
        element(
          "div", { class: "stage" },
          set.painted ? element("canvas", { id: `canvas-${i}`, "aria-hidden": "true" }) : null,
          plotBox("trajectories", i, "hero", `Trajectories of ${n} skills, coloured by skill`),
        ),
        set.thinned ? absent(set.thinned) : null,
      ];
    });
    drawn
      .querySelector("h2")
      .after(
        element(
          "div", { class: "toolbar" }, element("div", { class: "time" }, play, slider, shownTime),
          several && !alike ? null : axisChoice(sets),
        ),
      );

    if (senses.length) {
      section(
        "kernel", "Kernel", "How alike each two skills are. Choose a cell to see its two skills alone.", "w5",
        (set, i) => {
          const box = plotBox(
            "kernel", i, "kernel",
            `Kernel matrix of ${set.labels.length} skills: arrow keys move between pairs, ` +
              "Enter shows the two skills alone, Escape all",
          );
          box.setAttribute("tabindex", 0);
          box.setAttribute("role", "application");
          box.addEventListener("keydown", (event) => kernelKeys(event, i));
          return [box, element("p", { class: "readout", id: `readout-${i}`, "aria-live": "polite" })];
        },
      );
      section(
        "skills", "What each skill adds",
        "The score lost without it: near 1 if no other is like it, near 0 if one is.", "w5",
        (_, i) => element("div", { id: `skills-${i}` }),
      );
      const third = some("curve") ? "w4" : "w6";
      section(
        "spectrum", "Spectrum", "Eigenvalues of K/n. Skills that have nothing in common make it flat.", third,
        (set, i) => plotBox("spectrum", i, "small", "Eigenvalues of K/n, largest first, beside the flat line 1/n"),
      );
      section(
        "profile", "Profile", "The score at each order: 0 counts every difference, \u221e only the commonest kind.",
        third, (set, i) => plotBox("profile", i, "small", "Vendi Score by order q"),
      );
    }
    if (some("curve")) {
      section(
        "curve", "Learning curve", "The score while the skills were learned.", senses.length ? "w4" : "",
        (set, i) =>
          set.curve ? plotBox("curve", i, "small", "Vendi Score by environment steps") : absent("None was recorded."),
      );
    }
    const whole = (id, heading, width, ...children) =>
      main.append(
        element(
          "section", { id, class: width, "aria-labelledby": `${id}-heading` },
          element("h2", { id: `${id}-heading` }, heading), children,
        ),
      );
    if (some("measures")) whole("measures", "Measures", "", measuresTable());
    if (payload.comparison) {
      whole(
        "comparison", "Comparison", "",
        payload.comparison.note ? element("p", { class: "caption" }, payload.comparison.note) : null,
        comparisonTable(payload.comparison),
      );
    }
    if (some("videos")) {
      section("videos", "Videos", null, "", (set) =>
        element(
          "div", { class: "videos" },
          (set.videos || [])
            .filter((video) => String(video.src).startsWith("data:video/"))
            .map((video) =>
              element(
                "figure", {},
                element("video", {
                  controls: true, loop: true, muted: true, playsinline: true, preload: "metadata", src: video.src,
                  "aria-label": skillName(set, video.skill),
                }),
                element("figcaption", {}, skillName(set, video.skill)),
              ),
            ),
        ),
      );
    }
    if (some("settings"))
      whole(
        "settings", "Settings", "w8", several ? element("p", { class: "caption" }, "Marked: what differs.") : null,
        settingsTable(),
      );
    whole(
      "versions", "Versions", some("settings") ? "w4" : "",
      scroll(
        "Versions",
        element(
          "table", {},
          element(
            "tbody", {},
            Object.entries(payload.versions || {}).map(([name, version]) =>
              element(
                "tr", {}, element("th", { scope: "row" }, name),
                element("td", {}, element("code", {}, setting(version))),
              ),
            ),
          ),
        ),
      ),
      payload.command ? element("p", { class: "soft" }, "Made by ", element("code", {}, payload.command)) : null,
    );
  }

  function drawResults() {
    if (!senses.length) return [];
    return sets.flatMap((set, i) => {
      drawScore(set, i);
      drawSkills(set, i);
      return [drawKernel(set, i), drawSpectrum(set, i), drawProfile(set, i)];
    });
  }

  const drawAll = () => Promise.all([...sets.map(drawTrajectories), ...drawResults(), ...sets.map(drawCurve)]);

  function setTheme(theme) {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`);
    document.querySelectorAll("#trajectories button[data-skill] svg").forEach((old) => {
      const { set, skill } = old.closest("button").dataset;
      old.replaceWith(swatch(Number(skill), sets[set].labels.length));
    });
    return drawAll();
  }

  const failed = (reason) =>
    main.prepend(
      element("p", { class: "notice", role: "alert" }, `A part of this report could not be drawn: ${reason}`),
    );
  window.addEventListener("error", (event) => failed(event.message));
  window.addEventListener("unhandledrejection", (event) => failed(event.reason));

  const system = matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = system.matches ? "dark" : "light";
  build();
  setTime(T);
  setTheme(root.dataset.theme).then(() => {
    system.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
    // A chart that was out of sight while time moved catches up when it comes into sight.
    const watcher = new IntersectionObserver((seen) =>
      seen
        .filter((entry) => entry.isIntersecting)
        .forEach((entry) => {
          const i = Number(entry.target.id.split("-")[1]);
          moveTrajectories(sets[i], i);
        }),
    );
    sets.forEach((_, i) => {
      if (inside("trajectories", i)) watcher.observe(inside("trajectories", i));
    });
    window.vendirl.ready = true;
  });
})();
