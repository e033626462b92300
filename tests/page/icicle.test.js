"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/selection.js", "report/shares.js", "report/icicle.js"],
  ["folded", "shareKinds", "icicleKind", "icicleKinds", "icicleBoxes", "icicleAmount"], data);
const [gpu] = page.icicleKinds;
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

test("kernels that a range captured are in its width, which says so", () => {
  assert.strictEqual(gpu.name, "GPU time");
  const captured = page.icicleKind(gpu, true);
  assert.strictEqual(captured.name, "GPU time, captured kernels too");
  const row = {...rows[3], mean_graph_kernel_ns: 25};
  assert.strictEqual(page.icicleAmount(row, captured) - page.icicleAmount(row, gpu), 25);
  const kernels = page.shareKinds.find(kind => kind.name === "Kernels");
  assert.strictEqual(page.icicleKind(kernels, true), kernels);
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
