"use strict";
// The icicle: ranges from the top down, each as wide as its part of the one above it.

const icicleLine = 25;

/** How many levels are drawn below the one at the top. */
const icicleDepth = 12;

/** Parts that are narrower than this many pixels are left out. */
const narrowPart = 1;

/**
 * Kernels in graphs, by the place of the range that launched them: of each range that captured
 * some, and of those above it, the GPU time of these kernels in a mean step.
 */
function readCaptured(pairs, rows) {
  const byLauncher = new Map();
  for (const [launching, capturing, ns] of pairs) {
    if (!(ns > 0)) continue;
    if (!byLauncher.has(launching)) byLauncher.set(launching, new Map());
    const times = byLauncher.get(launching);
    for (let row = rows[capturing]; !isWithin(launching, row.place); row = rows[row.parent]) {
      times.set(row.place, (times.get(row.place) || 0) + ns);
    }
  }
  return byLauncher;
}

const captured = readCaptured(data.views[0].captured, folded.rows);

/** Sums of the times of several launching ranges. */
function addedTimes(maps) {
  const all = new Map();
  for (const times of maps) {
    for (const [place, ns] of times) all.set(place, (all.get(place) || 0) + ns);
  }
  return all;
}

/** What ranges captured under a place for launching ranges that are elsewhere. */
const capturedForOthers = top => addedTimes(Array.from(captured)
  .filter(([launching]) => !isWithin(launching, top)).map(([, times]) => times));

/** Of what counts in the GPU time of a range at the top: the kernels that others launched. */
const timesAtTop = (top, kind) =>
  kind.amount === gpuTimeOf ? capturedForOthers(top.place) : new Map();

/** What a row has of a kind in a mean step, with all below it. */
const icicleAmount = (row, kind) => kind.amount(row) || 0;

/**
 * What lies below a row: {row, amount, own, times}. GPU time of a graph's kernels is the launching
 * row's, and below it that of the rows that captured them. `own`: whether a row's own amount counts
 * here; `times`: what counts of captured kernels.
 */
function icicleChildren({row, own, times}, kind) {
  const launched = own && kind.amount === gpuTimeOf && captured.get(row.place) || new Map();
  const inner = addedTimes([times, launched]);
  const highest = Array.from(launched.keys(), place => folded.rows[place])
    .filter(top => !launched.has(top.parent) && top.parent !== row.place);
  return row.children.concat(highest).map(child => {
    const isBelow = child.parent === row.place;
    const amount = (own && isBelow ? icicleAmount(child, kind) : 0) + (inner.get(child.place) || 0);
    return {row: child, amount, own: own && isBelow, times: inner};
  }).filter(({amount}) => amount > 0)
    .sort((a, b) => b.amount - a.amount || a.row.place - b.row.place);
}

/**
 * The boxes of a row and of those below it: {row, amount, depth, begin, end} with parts of the
 * whole from 0 to 1. Children that take longer together than the row, as in several threads, share
 * it.
 */
function icicleBoxes(top, kind, least) {
  const boxes = [];
  const visit = (place, depth, begin, end) => {
    boxes.push({row: place.row, amount: place.amount, depth, begin, end});
    if (depth >= icicleDepth) return;
    const inner = icicleChildren(place, kind);
    const whole = Math.max(sum(inner, ({amount}) => amount), place.amount);
    let from = begin;
    for (const child of inner) {
      const to = from + child.amount / whole * (end - begin);
      if (to - from >= least) visit(child, depth + 1, from, to);
      from = to;
    }
  };
  const times = timesAtTop(top, kind);
  visit({row: top, amount: icicleWhole(top, kind), own: true, times}, 0, 0, 1);
  return boxes;
}

/** The whole of a kind: of the row at the top, or of what is below it where it has none itself. */
function icicleWhole(top, kind) {
  // Ranges that are not on the page are part of it.
  if (!top.depth && kind.amount === hostTimeOf && data.host_in_ranges_ns > 0) {
    return data.host_in_ranges_ns;
  }
  const own = icicleAmount(top, kind) + (timesAtTop(top, kind).get(top.place) || 0);
  return own || sum(top.children, child => icicleAmount(child, kind));
}

function describeBox({row, amount}, kind, whole) {
  const limit = limitOf(row);
  return (row.depth ? row.path : "The whole " + unit) + "\n" + kind.name + ": " + kind.show(amount)
    + ", " + percent(100 * amount / whole) + " of all "
    + kind.name.toLowerCase().replace("gpu", "GPU")
    + (limit ? "\nLimiter: " + limit : "");
}

function drawBox(drawing, box, kind, view) {
  const {row, depth, begin, end} = box;
  const x = begin * view.width;
  const wide = (end - begin) * view.width;
  const y = depth * icicleLine;
  const paint = color(row.place);
  const text = describeBox(box, kind, view.whole);
  drawing.append(sv("rect", {
    x,
    y,
    width: Math.max(1, wide - 1),
    height: icicleLine - 2,
    rx: 2,
    fill: paint,
    class: lookWith(row.place, view.words),
    "data-key": row.place,
    role: "button",
    "aria-label": text,
    ...hinted(text),
    ...pressed(() => choose(row.place)),
    ondblclick: () => view.zoom(row.place),
  }));
  const name = row.depth ? row.label : "whole " + unit;
  const room = wide - 10;
  if (room < 18) return;
  const cut = textWidth(name) <= room
    ? name
    : name.slice(0, Math.floor(name.length * room / textWidth(name)) - 1) + "\u2026";
  if (cut !== name && cut.length < 3) return;
  drawing.append(sv("text", {
    x: x + 5,
    y: y + 15,
    style: "pointer-events:none;fill:" + inkOf(row.place, paint, view.words),
    "aria-hidden": "true",
  }, cut));
}

function drawIcicle(width, state) {
  const {kind, top} = state;
  const boxes = icicleBoxes(top, kind, narrowPart / width);
  const drawing = sv("svg", {
    width,
    height: (1 + Math.max(...boxes.map(box => box.depth))) * icicleLine,
    id: "icicle-figure",
    role: "group",
    "aria-label": "Ranges of " + (top.depth ? top.path : "a mean " + unit) + " by " + kind.name,
  });
  const whole = icicleWhole(folded.rows[0], kind) || 1;
  const view = {width, whole, zoom: state.zoom, words: state.words};
  for (const box of boxes) drawBox(drawing, box, kind, view);
  return drawing;
}

function icicleNote({top, kind}) {
  const whole = icicleWhole(folded.rows[0], kind) || 1;
  const shown = icicleWhole(top, kind);
  return (top.depth ? top.path : "All of a mean " + unit) + ", by " + kind.name + ": "
    + kind.show(shown) + ", " + percent(100 * shown / whole) + ".";
}

function icicle() {
  if (!shareKinds.length || folded.rows.length < 3) return;
  const note = el("p", {class: "about", role: "status"});
  const state = {kind: shareKinds[0], top: folded.rows[0], words: ""};
  const figure = chart((box, width) => {
    box.replaceChildren(drawIcicle(width, state));
    note.textContent = icicleNote(state);
  });
  state.zoom = place => {
    state.top = folded.rows[place];
    figure.redraw();
  };
  const setKind = value => {
    state.kind = shareKinds[value];
    figure.redraw();
  };
  const choices = shareKinds.map((kind, i) => [i, kind.name]);
  const inGraphs = captured.size
    ? " The kernels of a graph lie below the range that launched it, in those that captured them."
    : "";
  const about = "Ranges from the top down, each as wide as its part." + inGraphs
    + " A click chooses a range in all figures and in the address of the page; a double click"
    + " shows only what is below it.";
  section("icicle", "Where the " + unit + " goes", about,
    el("div", {class: "controls"},
      choices.length > 1 ? picker("Width by", choices, setKind) : null,
      filterBox("icicle-filter", words => {
        state.words = words;
        figure.redraw();
      }),
      button("Only the chosen range", () => state.zoom(chosen)),
      button("All ranges", () => state.zoom(0))),
    figure, note);
  listeners.push(() => figure.redraw());
  redrawOnTheme.push(() => figure.redraw());
}
