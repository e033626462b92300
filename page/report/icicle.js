"use strict";
// The icicle: ranges from the top down, each as wide as its part of the one above it.

const icicleLine = 25;

/** How many levels are drawn below the one at the top. */
const icicleDepth = 12;

/** Parts that are narrower than this many pixels are left out. */
const narrowPart = 1;

/** GPU time, and that of kernels which a range captured and another one launches as a graph. */
const timeWithCaptured = row => gpuTimeOf(row) + row.mean_graph_kernel_ns;

/** A kind of shares as the icicle has it: GPU time with captured kernels, where there are some. */
function icicleKind(kind, hasCaptured) {
  if (kind.amount !== gpuTimeOf || !hasCaptured) return kind;
  return {...kind, name: "GPU time, captured kernels too", amount: timeWithCaptured};
}

const hasCaptured = anyRow(row => row.mean_graph_kernel_ns > 0);
const icicleKinds = shareKinds.map(kind => icicleKind(kind, hasCaptured));

/** What a row has of a kind in a mean step, with all below it. */
const icicleAmount = (row, kind) => kind.amount(row) || 0;

/**
 * The boxes of a row and of those below it: {row, depth, begin, end} with parts of the whole from 0
 * to 1. Children that take longer together than the row, as in several threads, share it.
 */
function icicleBoxes(top, kind, least) {
  const boxes = [];
  const visit = (row, depth, begin, end) => {
    boxes.push({row, depth, begin, end});
    if (depth >= icicleDepth) return;
    const inner = row.children.map(child => ({child, amount: icicleAmount(child, kind)}))
      .filter(({amount}) => amount > 0)
      .sort((a, b) => b.amount - a.amount || a.child.place - b.child.place);
    const all = sum(inner, ({amount}) => amount);
    const whole = Math.max(all, icicleAmount(row, kind));
    let from = begin;
    for (const {child, amount} of inner) {
      const to = from + amount / whole * (end - begin);
      if (to - from >= least) visit(child, depth + 1, from, to);
      from = to;
    }
  };
  visit(top, 0, 0, 1);
  return boxes;
}

/** The whole of a kind: of the row at the top, or of what is below it where it has none itself. */
function icicleWhole(top, kind) {
  return icicleAmount(top, kind) || sum(top.children, child => icicleAmount(child, kind));
}

function describeBox({row}, kind, whole) {
  const amount = icicleAmount(row, kind) || icicleWhole(row, kind);
  const limit = limitOf(row);
  return (row.depth ? row.path : "The whole " + unit) + "\n" + kind.name + ": " + kind.show(amount)
    + ", " + percent(100 * amount / whole) + (limit ? "\nLimiter: " + limit : "");
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
    class: lookOf(row.place),
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
    style: "pointer-events:none;fill:" + inkOf(row.place, paint),
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
  const view = {width, whole: icicleWhole(folded.rows[0], kind) || 1, zoom: state.zoom};
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
  const state = {kind: icicleKinds[0], top: folded.rows[0]};
  const figure = chart((box, width) => {
    box.replaceChildren(drawIcicle(width, state));
    note.textContent = icicleNote(state);
  });
  state.zoom = place => {
    state.top = folded.rows[place];
    figure.redraw();
  };
  const setKind = value => {
    state.kind = icicleKinds[value];
    figure.redraw();
  };
  const choices = icicleKinds.map((kind, i) => [i, kind.name]);
  const about = "Ranges from the top down, each as wide as its part. A click chooses a range in all"
    + " figures and in the address of the page; a double click shows only what is below it.";
  section("icicle", "Where the " + unit + " goes", about,
    el("div", {class: "controls"},
      choices.length > 1 ? picker("Width by", choices, setKind) : null,
      button("Only the chosen range", () => state.zoom(chosen)),
      button("All ranges", () => state.zoom(0))),
    figure, note);
  listeners.push(() => figure.redraw());
  redrawOnTheme.push(() => figure.redraw());
}
