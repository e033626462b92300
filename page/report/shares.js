"use strict";
// Shares of a step: each bar is a whole, its parts are the ranges.

/** How many ranges a bar names; the others are one part. */
const namedShares = 12;

/** Bytes that threads ask for: counted as bytes, or as sectors of 32 bytes. */
function askedBytes(row, key, sectors) {
  const counted = metric(row, key);
  if (!none(counted)) return counted;
  return none(metric(row, sectors)) ? null : 32 * metric(row, sectors);
}

function floatingOperations(row) {
  const plain = metric(row, "flop");
  const tensor = metric(row, "tensor_flop");
  return none(plain) && none(tensor) ? null : (plain || 0) + (tensor || 0);
}

const level1Bytes = row => firstKnown(metric(row, "l1_data_bytes"), metric(row, "l1_bytes"));

const gpuTimeOf = row =>
  none(row.gpu_kernel_ns) ? null : row.mean_kernel_ns + row.mean_copy_ns;
const hostTimeOf = row =>
  row.depth ? row.mean_stepping_ns : sum(row.children, hostTimeOf);

const loadsOf = row => askedBytes(row, "global_load_bytes", "l1_global_load_sectors");
const storesOf = row => askedBytes(row, "global_store_bytes", "l1_global_store_sectors");

/** What is counted by the first of these metrics that was. */
const aboutCountedOf = (...keys) => aboutMetric(keys.find(key => metricAt.has(key)));

/** The bars, with the amount of a range in a mean step, and what a number of it is. */
const shareKinds = [
  {
    name: "GPU time",
    amount: gpuTimeOf,
    show: time,
    about: aboutFigure("Of kernels and copies", "gpu_kernel_ns + gpu_copy_ns", "ranges.csv"),
  },
  {name: "Host time", amount: hostTimeOf, show: time, about: aboutColumn("host_total_ns")},
  {name: "Kernels", amount: row => row.mean_kernels, show: count, about: aboutColumn("kernels")},
  {
    name: "Loads",
    amount: loadsOf,
    show: bytes,
    about: aboutCountedOf("global_load_bytes", "l1_global_load_sectors"),
    counted: true,
  },
  {
    name: "Stores",
    amount: storesOf,
    show: bytes,
    about: aboutCountedOf("global_store_bytes", "l1_global_store_sectors"),
    counted: true,
  },
  {
    name: "L1",
    amount: level1Bytes,
    show: bytes,
    about: aboutCountedOf("l1_data_bytes", "l1_bytes"),
    counted: true,
  },
  {
    name: "L2",
    amount: row => metric(row, "l2_bytes"),
    show: bytes,
    about: aboutCountedOf("l2_bytes"),
    counted: true,
  },
  {
    name: memoryName,
    amount: row => metric(row, "hbm_bytes"),
    show: bytes,
    about: aboutCountedOf("hbm_bytes"),
    counted: true,
  },
  {
    name: "FLOP",
    amount: floatingOperations,
    show: count,
    about: aboutCountedOf("flop", "tensor_flop"),
    counted: true,
  },
  {
    name: "Instructions",
    amount: row => perStep(row, metric(row, "cpu_instructions")),
    show: count,
    about: aboutCountedOf("cpu_instructions"),
  },
].filter(({amount}) => {
  const root = folded.rows[0];
  return amount(root) > 0 || sum(root.children, amount) > 0;
});

/** A part of the bars: the row, or above `depth` what it did itself. */
function sharePart(row, depth) {
  const isWhole = row.depth === depth || !row.children.length;
  const name = row.path + (row.depth && !isWhole ? " (itself)" : "");
  const values = shareKinds.map(({amount}) => isWhole ? amount(row) : selfOf(row, amount));
  return {place: row.place, name, values};
}

function otherShares(rest) {
  return {
    place: 0,
    name: some(rest.length, "other"),
    rest: true,
    values: shareKinds.map((kind, i) => sum(rest, part => part.values[i])),
    shares: shareKinds.map((kind, i) => sum(rest, part => part.shares[i])),
  };
}

/** The parts down to a depth, which add up to the whole, and the whole of each kind. */
function parts(depth) {
  const list = folded.rows.filter(row => row.depth <= depth).map(row => sharePart(row, depth))
    .filter(part => part.values.some(value => value > 0));
  const totals = shareKinds.map((kind, i) => sum(list, part => part.values[i]));
  for (const part of list) {
    part.shares = part.values.map((value, i) => totals[i] > 0 ? (value || 0) / totals[i] : 0);
    part.most = Math.max(...part.shares);
  }
  list.sort((a, b) => b.most - a.most || a.place - b.place);
  const named = list.slice(0, namedShares).filter(part => part.most >= 0.004);
  const rest = list.slice(named.length);
  named.sort((a, b) => a.place - b.place);
  if (rest.length) named.push(otherShares(rest));
  return {parts: named, totals};
}

/** The depth that shows most ranges while few are joined. */
function startDepth(deepest) {
  const hidesMuch = depth => parts(depth).parts.some(part => part.rest && part.shares[0] > 0.02);
  let best = 1;
  for (let depth = 2; depth <= deepest && !hidesMuch(depth); depth += 1) {
    if (parts(depth).parts.length > parts(best).parts.length) best = depth;
  }
  return best;
}

const sharePaint = part => part.rest ? "var(--rest)" : color(part.place);

function chooseShare(part) {
  if (!part.rest) choose(part.place);
}

/** The rectangle of a part, and its name where there is room. */
function drawShare(drawing, part, kind, i, place) {
  const {x, y, width, height, words} = place;
  const look = part.rest ? words ? "pale" : lookOf(0) : lookWith(part.place, words);
  const paint = sharePaint(part);
  const text = part.name + "\n" + kind.name + ": " + shareText(100 * part.shares[i]) + ", "
    + kind.show(part.values[i]);
  const isButton = width > 3;
  drawing.append(sv("rect", {
    x, y, width, height,
    fill: paint,
    class: ["edge", look].filter(Boolean).join(" "),
    "data-key": kind.name + part.place,
    "data-share": part.shares[i],
    role: isButton ? "button" : "presentation",
    "aria-label": isButton ? text : undefined,
    ...(isButton ? hinted(text) : hovered(text)),
    ...(part.rest ? {} : pressed(() => choose(part.place))),
  }));
  const label = lastName(part.name);
  if (width <= label.length * 7 + 12) return;
  drawing.append(sv("text", {
    x: x + width / 2,
    y: y + height / 2 + 4,
    "text-anchor": "middle",
    style: "pointer-events:none;fill:" + (look === "pale" ? "var(--text)" : ink(paint)),
    "aria-hidden": "true",
  }, label));
}

function drawShares(width, {parts: list, totals}, words) {
  const isNarrow = width < 520;
  const left = isNarrow ? 78 : 145;
  const right = isNarrow ? 4 : 90;
  const height = 26;
  const line = height + 9;
  const drawing = sv("svg", {
    width,
    height: shareKinds.length * line,
    role: "group",
    "aria-label": "Shares of a mean " + unit + " by range",
  });
  shareKinds.forEach((kind, i) => {
    const y = i * line;
    const middle = y + height / 2 + 4;
    const lines = isNarrow ? kind.name.split(", ") : [kind.name];
    lines.forEach((text, n) => {
      const down = 13 * (n - (lines.length - 1) / 2);
      drawing.append(sv("text", {x: left - 8, y: middle + down, "text-anchor": "end"}, text));
    });
    if (!isNarrow) {
      const place = {x: width - right + 8, y: middle, class: "soft"};
      drawing.append(sv("text", place, kind.show(totals[i])));
    }
    let x = left;
    for (const part of list) {
      const wide = part.shares[i] * (width - left - right);
      if (!(wide > 0)) continue;
      drawShare(drawing, part, kind, i, {x, y, width: wide, height, words});
      x += wide;
    }
  });
  return drawing;
}

function shareNumbers(list) {
  const amounts = shareKinds.flatMap((kind, i) => [
    {
      label: kind.name,
      title: kind.about,
      get: part => none(part.values[i]) ? "" : kind.show(part.values[i]),
    },
    {
      label: "%",
      title: aboutFigure("Part of the " + wholeTime, "Range / all ranges", kind.about),
      get: part => shareText(100 * part.shares[i]),
    },
  ]);
  const range = {label: "Range", get: part => part.name, text: true};
  return numbersOfFigure(() => table("Shares by range", [range, ...amounts], list));
}

function aboutShares() {
  const about = "Each bar is a whole; its parts are the ranges.";
  const asked = folded.rows.some(row => !none(metric(row, "global_load_bytes")))
    ? "bytes that threads ask for in" : "sectors that threads ask L1 for, of";
  const counted = " Loads and stores: " + asked + " global memory."
    + " L1, L2, " + memoryName + ": bytes that this level moves for them.";
  const fix = " counters=memory+instructions adds loads, stores, L1, L2 and " + memoryName + ".";
  if (shareKinds.some(kind => kind.counted)) return about + counted;
  return about + (data.traced ? fix : "");
}

function shares() {
  if (!shareKinds.length || folded.rows.length < 2) return;
  const deepest = Math.min(8, Math.max(...folded.rows.map(row => row.depth)));
  let depth = startDepth(deepest);
  let words = "";
  const legend = legendList("Ranges in the figure");
  const numbers = el("div", {});
  const figure = chart((box, width) => {
    const shown = parts(depth);
    box.replaceChildren(drawShares(width, shown, words));
    legend.fill(shown.parts.map(part =>
      legendItem(sharePaint(part), shortPath(part.name), () => chooseShare(part))));
    numbers.replaceChildren(shareNumbers(shown.parts));
  });
  const setDepth = event => {
    depth = Number(event.target.value);
    figure.redraw();
  };
  const slider = {type: "range", min: 1, max: deepest, value: depth, id: "share-depth"};
  const input = el("input", {...slider, oninput: setDepth});
  const control = deepest > 1 ? el("label", {}, "Depth of the ranges", input) : null;
  const filter = filterBox("share-filter", typed => {
    words = typed;
    figure.redraw();
  });
  section("shares", "Shares of a " + unit, aboutShares(),
    el("div", {class: "controls"}, control, filter),
    figure, legend, numbers);
  listeners.push(() => figure.redraw());
  redrawOnTheme.push(() => figure.redraw());
}
