"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/selection.js", "report/shares.js", "report/icicle.js"],
  ["folded", "shareKinds", "icicleBoxes", "icicleAmount", "icicleWhole"], data);
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

test("kernels that a range captured are in its width", () => {
  const captured = {...rows[3], graph_kernel_ns: 100, step_work_share: 0.5};
  const launched = {...captured, graph_kernel_ns: 0};
  assert.strictEqual(page.icicleAmount(captured, gpu) - page.icicleAmount(launched, gpu), 25);
  const kernels = page.shareKinds.find(kind => kind.name === "Kernels");
  assert.strictEqual(page.icicleAmount(captured, kernels), page.icicleAmount(launched, kernels));
});

test("counts are those of a step by launches", () => {
  const kernels = page.shareKinds.find(kind => kind.name === "Kernels");
  assert.strictEqual(page.icicleAmount(rows[3], kernels), 12 * 0.75 / 2);
});

test("children that take longer than their parent share it", () => {
  const host = {name: "x", amount: row => ({0: 10, 1: 8, 6: 12}[row.place]), show: String};
  const boxes = page.icicleBoxes(rows[0], {...host, counted: true}, 0);
  assert.deepStrictEqual(boxes.map(box => [box.row.place, box.begin, box.end]),
    [[0, 0, 1], [6, 0, 0.6], [1, 0.6, 1]]);
});
