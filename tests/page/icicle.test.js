"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/selection.js", "report/sources.js", "report/shares.js", "report/icicle.js"],
  ["folded", "shareKinds", "readCaptured", "captured", "icicleBoxes", "icicleAmount",
    "icicleWhole"], data);
const [gpu] = page.shareKinds;
const {rows} = page.folded;

test("a box is as wide as its part, below the box of its parent", () => {
  const boxes = page.icicleBoxes(rows[0], gpu, 0);
  const at = name => boxes.find(box => box.row.name === name);
  assert.strictEqual(at("step").end, 1200 / 1250);
  assert.deepStrictEqual([at("attention").depth, at("attention").begin], [3, at("block").begin]);
  assert.ok(Math.abs(at("attention").end - 800 / 1250) < 1e-12);
  assert.ok(Math.abs(at("mlp").begin - at("attention").end) < 1e-12);
  assert.strictEqual(at("load"), undefined);
});

test("what is narrower than a pixel is left out, its neighbours stay where they are", () => {
  const names = page.icicleBoxes(rows[0], gpu, 0.2).map(box => box.row.name);
  assert.deepStrictEqual(names, ["", "step", "block", "attention"]);
});

/** The boxes while the loss launches a graph that attention and mlp captured. */
function withGraph(pairs, top, kind) {
  const captured = page.readCaptured(pairs, rows);
  for (const [place, times] of captured) page.captured.set(place, times);
  const boxes = page.icicleBoxes(rows[top], kind, 0);
  const whole = page.icicleWhole(rows[top], kind);
  page.captured.clear();
  return {boxes, whole};
}
const placesAndTimes = boxes => boxes.map(({row, depth, amount}) => [row.place, depth, amount]);
const graph = [[5, 3, 60], [5, 4, 30]];

test("a graph's kernels are drawn once, below the range that launched it", () => {
  const {boxes} = withGraph(graph, 0, gpu);
  const below = placesAndTimes(boxes).slice(-4);
  assert.deepStrictEqual(below, [[5, 2, 100], [2, 3, 90], [3, 4, 60], [4, 4, 30]]);
  const loss = boxes[boxes.length - 4];
  const block = boxes[boxes.length - 3];
  assert.strictEqual(block.begin, loss.begin);
  assert.ok(Math.abs((block.end - block.begin) / (loss.end - loss.begin) - 0.9) < 1e-12);
  const plain = page.icicleBoxes(rows[0], gpu, 0);
  assert.deepStrictEqual(boxes.slice(0, plain.length), plain, "the others stay where they are");
});

test("a range that captured has at the top the kernels that others launched for it", () => {
  const {boxes, whole} = withGraph(graph, 2, gpu);
  assert.strictEqual(whole, 590);
  assert.deepStrictEqual(placesAndTimes(boxes), [[2, 0, 590], [3, 1, 460], [4, 1, 130]]);
  assert.strictEqual(withGraph(graph, 1, gpu).whole, 600, "what it launched itself counts once");
});

test("captured kernels count in GPU time alone", () => {
  const kernels = page.shareKinds.find(kind => kind.name === "Kernels");
  const {boxes} = withGraph(graph, 0, kernels);
  assert.deepStrictEqual(boxes, page.icicleBoxes(rows[0], kernels, 0));
});

test("amounts are those of a mean step", () => {
  const kernels = page.shareKinds.find(kind => kind.name === "Kernels");
  assert.strictEqual(page.icicleAmount(rows[3], kernels), 4.5);
  assert.strictEqual(page.icicleAmount(rows[3], gpu), 400);
});

test("children that take longer than their parent share it", () => {
  const host = {name: "x", amount: row => ({0: 10, 1: 8, 6: 12}[row.place]), show: String};
  const boxes = page.icicleBoxes(rows[0], host, 0);
  assert.deepStrictEqual(boxes.map(box => [box.row.place, box.begin, box.end]),
    [[0, 0, 1], [6, 0, 0.6], [1, 0.6, 1]]);
});
