"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js",
    "report/kernels.js"],
  ["kernelRows", "kernelsIn", "mergeKernels", "fillBins", "gridBins", "folded"], data);

test("a range has the kernels of those below it", () => {
  const counts = [0, 2, 3, 4, 5].map(place => page.kernelsIn(place).length);
  assert.deepStrictEqual(counts, [3, 3, 1, 2, 0]);
});

test("a kernel of several ranges is one row, with times and shares of both", () => {
  const [gemm, gelu] = page.mergeKernels(page.kernelsIn(0));
  assert.deepStrictEqual([gemm.name, gemm.launches, gemm.ns], ["gemm", 6.5, 450]);
  assert.strictEqual(gemm.ranges.size, 2);
  assert.deepStrictEqual([gemm.blocks_min, gemm.blocks_max], [64, 128]);
  assert.deepStrictEqual([gemm.min_ns, gemm.max_ns], [25, 800 / 12]);
  assert.ok(Math.abs(gemm.fill - (0.98 * 400 + 0.45 * 50) / 450) < 1e-12);
  assert.deepStrictEqual([gelu.name, gelu.fill], ["gelu", null]);
  assert.strictEqual(page.kernelRows[0].count, 12);  // the rows themselves stay as they are
});

test("the time of a step is sorted by how much of the GPU can be filled", () => {
  const values = page.fillBins(page.kernelsIn(0)).map(bin => bin.value);
  assert.deepStrictEqual(values, [0, 0, 0, 0, 50, 0, 0, 0, 0, 400]);
  assert.strictEqual(page.fillBins([{fill: 1, ns: 6}])[9].value, 6);
});

test("the time of a step is sorted by blocks in powers of two", () => {
  const bins = page.gridBins(page.kernelsIn(0));
  assert.deepStrictEqual(bins.map(bin => bin.value), [50, 0, 0, 0, 0, 0, 50, 400]);
  assert.strictEqual(bins[6].label, "64 to 127 blocks");
});

test("launches, time and fill are of a mean step, which has no kernel of the first alone", () => {
  const [attention] = page.kernelsIn(3);
  assert.deepStrictEqual([attention.launches, attention.ns, attention.fill], [4.5, 400, 0.98]);
  assert.deepStrictEqual(page.kernelsIn(5), []);
});

test("a range that is in no step has the launches of the whole run", () => {
  const row = page.folded.rows[5];
  row.inside = false;
  const [warm] = page.kernelsIn(5);
  row.inside = true;
  assert.deepStrictEqual([warm.launches, warm.ns, warm.fill], [1, 30, 0.1]);
});
