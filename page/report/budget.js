"use strict";
// The step as a budget: GPU time by what limits it, then idle time by its cause; and each step.

const multiplyAdds = {
  means: "multiply-adds",
  helps: "tensor cores: TF32 or BF16",
  paint: "var(--fma)",
};
// A program that replays graphs has no use for the advice to make one.
const fewerLaunches = data.launches_graphs
  ? "the next graph before the wait; fusion; fewer graphs with more work in each"
  : "a CUDA graph, or the next one before the wait; fusion; more work in each launch";
const fewerTurns = "larger tiles in registers; no bank conflicts";

// By limiter, as the console and the table name it; `means` says it in plain words, `helps` what
// makes it less. A unit in use for less than latency_use of the analysis, 60 %, is no limiter: that
// is latency.
const busyKinds = {
  tensor: {
    means: "matrix units",
    helps: "narrower formats; fewer products",
    paint: "var(--tensor)",
  },
  FMA: multiplyAdds,
  FP32: multiplyAdds,
  ALU: {
    means: "integers and logic",
    helps: "less index arithmetic; constants; wider loads",
    paint: "var(--alu)",
  },
  "shared memory": {
    means: "memory of an SM",
    helps: fewerTurns,
    paint: "var(--sm-memory)",
  },
  "L1 with shared memory": {
    means: "per SM",
    helps: fewerTurns,
    paint: "var(--sm-memory)",
  },
  L1: {
    means: "cache of an SM",
    helps: "neighbouring addresses; reuse in registers",
    paint: "var(--l1)",
  },
  L2: {
    means: "cache of all SMs",
    helps: "larger tiles in shared memory",
    paint: "var(--l2)",
  },
  [memoryName]: {
    means: "device memory",
    helps: "fusion; narrower formats; tiles that fit into L2",
    paint: "var(--hbm)",
  },
  issue: {
    means: "rate of instructions",
    helps: "fewer instructions: wider loads, tensor cores",
    paint: "var(--issue)",
  },
  "tensor memory": {
    means: "operands and sums of tensor cores",
    helps: "larger tiles; fewer reads of the sums",
    paint: "var(--tensor)",
    fine: true,
  },
  TMA: {means: "copies of tiles", helps: "larger tiles", paint: "var(--sm-memory)", fine: true},
  FP64: {means: "double precision", helps: "FP32 where it suffices", paint: "var(--fp64)"},
  XU: {
    means: "conversions, special functions",
    helps: "fewer conversions; fast intrinsics",
    paint: "var(--fp64)",
    fine: true,
  },
  ADU: {
    means: "addresses and branches",
    helps: "fewer branches; no indexed constants",
    paint: "var(--alu)",
    fine: true,
  },
  LSU: {means: "loads and stores", helps: "wider loads and stores", paint: "var(--l1)", fine: true},
  PCIe: {
    means: "bus to the host",
    helps: "data that stay on the GPU",
    paint: "var(--copies)",
    fine: true,
  },
  NVLink: {
    means: "links between GPUs",
    helps: "less traffic; overlap with kernels",
    paint: "var(--copies)",
    fine: true,
  },
  latency: {
    means: "no unit saturated, all below 60 %",
    helps: "more warps, or more independent work in each",
    paint: "var(--latency)",
  },
  launch: {
    means: "kernels shorter than their launches",
    helps: fewerLaunches,
    paint: "var(--launch)",
  },
  "start and end of kernels": {
    helps: "fusion: fewer kernels, each with more work",
    paint: "var(--launch)",
    fine: true,
  },
  "kernels with few blocks": {
    helps: "more blocks, or kernels side by side",
    paint: "var(--latency)",
    fine: true,
  },
  copies: {
    means: "by the GPU",
    helps: "overlap with kernels, from pinned memory",
    paint: "var(--copies)",
  },
  "above the roof": {
    name: "above the roof: numbers contradict each other",
    helps: "check declared work and clocks",
    paint: "var(--mark)",
  },
  "not known": {
    name: "limiter not counted",
    helps: "counters=findings counts it",
    paint: "var(--rest)",
  },
};

// By cause, which is what the host does meanwhile. What is idle is grey and striped, each cause at
// an `angle` of its own.
const idleKinds = {
  launch: {
    name: "waiting for launches",
    helps: fewerLaunches,
    paint: "var(--idle-0)",
    angle: -45,
  },
  "host work": {
    name: "CPU code between launches",
    helps: "launch first; another thread",
    paint: "var(--idle-2)",
    angle: 45,
  },
  wait: {
    name: "waits of the host",
    helps: "one wait a step",
    paint: "var(--idle-1)",
    angle: 0,
  },
  "range end": {
    name: "stops at the ends of ranges",
    helps: "a run without these ranges",
    paint: "var(--idle-1)",
    angle: 90,
  },
  allocation: {
    name: "allocations",
    helps: "allocate before the loop; cudaMallocAsync",
    paint: "var(--idle-5)",
    angle: 90,
  },
  graph: {
    name: "making CUDA graphs",
    helps: "make one graph, launch it in each step",
    paint: "var(--idle-4)",
    angle: 0,
  },
  copy: {
    name: "calls that copy",
    helps: "fewer, larger copies; pinned memory",
    paint: "var(--idle-4)",
    angle: -45,
  },
  device: {
    name: "queued work not started",
    helps: "fewer dependences between streams",
    paint: "var(--idle-3)",
    angle: 45,
  },
  "not known": {name: "cause not recorded", paint: "var(--rest)", angle: 0},
};

/** The parts of a list of [what, range, ns, finding, ...] by what they are, the longest first. */
function budgetParts(list, kinds, isIdle) {
  const found = new Map();
  const add = (sums, key, ns) => sums.set(key, (sums.get(key) || 0) + ns);
  for (let i = 0; i + 3 < list.length; i += 4) {
    const [what, range, ns, number] = list.slice(i, i + 4);
    const kind = kinds[what] || {paint: "var(--mark)", angle: 90};
    const short = kind.name || what;
    const name = short + (kind.means ? " (" + kind.means + ")" : "");
    if (!found.has(what)) {
      found.set(what,
        {...kind, name, short, what, isIdle, ns: 0, ranges: new Map(), explained: new Map()});
    }
    const part = found.get(what);
    part.ns += ns;
    add(part.ranges, range, ns);
    if (number > 0) add(part.explained, answer.findings[number - 1], ns);
  }
  for (const part of found.values()) {
    part.ranges = [...part.ranges].map(([range, ns]) => ({range, ns})).sort((a, b) => b.ns - a.ns);
  }
  return [...found.values()].sort((a, b) => b.ns - a.ns);
}

/** A part in words: its time, its share of all, and the ranges that have most of it. */
function describeBudget(part, whole) {
  const where = part.ranges.slice(0, 4).map(({range, ns}) => shortTitle(range) + " " + time(ns));
  return (part.isIdle ? "GPU idle: " : "GPU busy: ") + part.name + "\n" + time(part.ns) + ", "
    + percent(100 * part.ns / whole) + " of the " + wholeTime + "\n" + where.join("\n")
    + (part.helps ? "\nHelps: " + part.helps : "");
}

/** The range that has most of a part; null where that is no range. */
function budgetRange(part) {
  const [most] = part.ranges;
  return most && most.range > 0 ? most.range : null;
}

/** The range that has most of a part, and how many others have the rest. */
function toMost(part) {
  const range = budgetRange(part);
  if (!part.ranges.length || part.ranges[0].range < 0) return null;  // not on the page
  const others = part.ranges.length > 1 ? " + " + (part.ranges.length - 1) : null;
  return el("span", {class: "most"},
    range ? toRow(range, endOfPath(shortTitle(range))) : "outside ranges", others);
}

/** What a part gains by a finding: as much of all it gains as the part has of what it explains. */
function gainOfPart(part, finding, all) {
  const explained = sum(all, item => item.explained.get(finding) || 0);
  const gain = finding.gain_ns_per_step * part.explained.get(finding) / explained;
  return Math.min(part.ns, gain);
}

/** Of all parts one, and the finding that gains it most: {finding, gain}; null where none does. */
function findingOf(part, all) {
  const found = [...part.explained.keys()]
    .filter(finding => finding.shortens_step)
    .map(finding => ({finding, gain: gainOfPart(part, finding, all)}))
    .sort((a, b) => b.gain - a.gain)[0];
  return found && found.gain > 0 ? found : null;
}

/** From what part of a part's time on a finding is its fix; of less, what helps in general. */
const fixes = 0.2;

/** What helps a part. */
function helpsPart(part, all) {
  const found = findingOf(part, all);
  const general = part.helps ? "in general: " + part.helps : "";
  if (!found) return general ? el("span", {class: "helps"}, general) : null;
  const {finding, gain} = found;
  const place = leadingFindings.indexOf(finding) + 1;
  const isFix = gain > fixes * part.ns;
  return el("span", {class: "helps", "data-finding": place, "data-gain": gain},
    el("a", {href: "#finding-" + place}, "finding " + place), " (" + time(gain) + ")",
    isFix ? ": " + finding.advice : "; " + general);
}

/** What a part of the budget looks like, in the bar and beside it: idle time has stripes. */
const budgetLook = part => ({
  class: part.isIdle ? "idle" : part.fine ? "fine" : null,
  style: "--paint:" + part.paint + (part.isIdle ? ";--angle:" + part.angle + "deg" : ""),
});

/** The longest label of a part that has room on so many pixels: name and share, or the share. */
function budgetLabel(part, whole, room) {
  const share = Math.round(100 * part.ns / whole) + " %";
  const labels = [part.name + " " + share, part.short + " " + share, share];
  return labels.find(text => textWidth(text) <= room) || "";
}

/** The pixels of a part's label that are no text. */
const labelPadding = 16;

function budgetSegment(part, whole, width) {
  const text = describeBudget(part, whole);
  const range = budgetRange(part);
  const label = budgetLabel(part, whole, part.ns / whole * width - labelPadding);
  const {class: look, style} = budgetLook(part);
  return el("span", {
    class: look,
    style: style + ";flex-grow:" + part.ns / whole,
    role: "button",
    "data-ns": part.ns,
    "data-key": part.isIdle + part.what,
    "aria-label": text,
    ...hinted(text),
    ...pressed(() => range && showRow(range)),
  }, label ? el("span", {class: "label", "aria-hidden": "true"}, label) : null);
}

function budgetGroup(title, by, list, {all, whole}) {
  if (!list.length) return null;
  const ns = sum(list, part => part.ns);
  return el("div", {},
    el("p", {class: "heading"}, title + " " + time(ns) + ", " + percent(100 * ns / whole),
      el("span", {class: "helps"}, " by " + by + ", with what helps")),
    el("ul", {class: "parts"}, list.map(part => el("li", {},
      el("i", budgetLook(part)),
      el("span", {class: "what"}, part.name),
      el("span", {class: "amount"}, time(part.ns)),
      el("span", {class: "amount"}, percent(100 * part.ns / whole)),
      el("span", {class: "more"},
        toMost(part),
        helpsPart(part, all))))));
}

/** What the warps of a range wait for, in the words of the metric that its limiter names. */
function waitOf(range) {
  const {stall} = answer.limits.find(item => item.range === range) || {};
  if (!stall) return "";
  const counted = folded.metrics.find(item => item.key === "stall_" + stall + "_share");
  return "its warps " + (counted ? counted.meaning.replace(/^.*warps that /, "") : "wait")
    + " (" + stall.replace(/_/g, " ") + ")";
}

/**
 * The parts of the period, busy before idle, in steps before between them; null where no GPU
 * worked.
 */
function readBudget() {
  if (!data.budget || !(summary.gpu_busy_ns > 0)) return null;
  const busy = budgetParts(data.budget.busy, busyKinds, false);
  const idle = budgetParts(data.budget.idle, idleKinds, true);
  const between = budgetParts(data.budget.between, idleKinds, true);
  const all = [...busy, ...idle, ...between];
  return {busy, idle, between, all, whole: sum(all, part => part.ns)};
}

/** The budget bar with its legend; null where no GPU worked. */
function budget() {
  const step = readBudget();
  if (!step) return null;
  const {busy, idle, between, all, whole} = step;
  const about = "Budget of a mean " + wholeTime;
  const bar = chart((box, width) => box.replaceChildren(
    el("div", {class: "budget", role: "group", "aria-label": about},
      all.map(part => budgetSegment(part, whole, width)))), 36);
  return el("div", {id: "budget"}, bar, el("div", {class: "two"},
    budgetGroup("GPU busy", "limiter (all time of what it limits)", busy, step),
    budgetGroup("GPU idle", "cause", idle, step),
    budgetGroup("GPU idle between steps", "cause", between, step)));
}

/** Groups of steps that follow each other: number, how many, the shortest and the longest. */
function stepGroups() {
  const groups = [];
  const list = data.steps || [];
  for (let i = 0; i + 3 < list.length; i += 4) {
    const [number, amount, shortest, longest] = list.slice(i, i + 4);
    groups.push({number, amount, shortest, longest});
  }
  return groups;
}

function describeSteps({number, amount, shortest, longest}) {
  if (amount === 1) return "step " + number + ": " + time(longest);
  return "steps " + number + " to " + (number + amount - 1) + ": " + time(shortest) + " to "
    + time(longest);
}

/** Draws a dot a step, or a line from the shortest to the longest of a group. */
function drawStepDots(width, groups) {
  const [left, right, top, floor] = [64, 8, 12, 78];
  const height = floor + 20;
  const most = Math.max(...groups.map(group => group.longest));
  const wide = (width - left - right) / groups.length;
  const y = ns => floor - ns / most * (floor - top);
  const drawing = sv("svg", {width, height, id: "steps-figure", role: "img",
    "aria-label": "Time of " + some(sum(groups, group => group.amount), "step")});
  for (const ns of [0, most]) {
    const place = y(ns);
    drawing.append(
      sv("line", {x1: left, x2: width - right, y1: place, y2: place, class: "grid"}),
      sv("text", {x: left - 6, y: place + 4, "text-anchor": "end", class: "soft"}, time(ns)));
  }
  groups.forEach((group, i) => {
    const x = left + (i + 0.5) * wide;
    const look = {"data-step": group.number, ...hovered(describeSteps(group))};
    const round = {"stroke-width": 5, "stroke-linecap": "round", stroke: "var(--mark)"};
    const line = {x1: x, x2: x, y1: y(group.shortest), y2: y(group.longest) + 0.01};
    drawing.append(sv("line", {...line, ...round, ...look}));
  });
  const last = groups[groups.length - 1];
  const write = (x, anchor, text) =>
    drawing.append(sv("text", {x, y: height - 4, "text-anchor": anchor, class: "soft"}, text));
  write(left, "start", "step " + groups[0].number);
  if (groups.length > 1) write(width - right, "end", "step " + (last.number + last.amount - 1));
  return drawing;
}

/** Fewer steps are no distribution. */
const fewestDots = 5;

/** The steps side by side. If the mean leaves out the first one, that is in a tile, not here. */
function stepDots() {
  const groups = stepGroups();
  if (isSlowed) return null;  // they are longer than the step that all other values describe
  const isApart = summary.without_first && groups.length > 1 && groups[0].amount === 1;
  const shown = isApart ? groups.slice(1) : groups;
  if (!hasSteps || sum(shown, group => group.amount) < fewestDots) return null;
  const about = (summary.period_of_gpu ? "Host time of each step" : "Each step")
    + (isApart ? "; the first is apart" : "");
  return el("div", {id: "each-step"},
    el("p", {class: "heading"}, about),
    chart((box, width) => box.replaceChildren(drawStepDots(width, shown)), 98));
}
