"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/kernels.js"],
  ["kernelRows", "kernelsIn", "mergeKernels", "fillBins", "gridBins"], data);

test("a range has the kernels of those below it", () => {
  const counts = [0, 2, 3, 4, 5].map(place => page.kernelsIn(place).length);
  assert.deepStrictEqual(counts, [3, 3, 1, 2, 0]);
});

test("a kernel of several ranges is one row, with times and shares of both", () => {
  const [gemm, gelu] = page.mergeKernels(page.kernelsIn(0));
  assert.deepStrictEqual([gemm.name, gemm.count, gemm.total_ns], ["gemm", 16, 900]);
  assert.strictEqual(gemm.ranges.size, 2);
  assert.deepStrictEqual([gemm.blocks_min, gemm.blocks_max], [64, 128]);
  assert.deepStrictEqual([gemm.min_ns, gemm.max_ns], [25, 800 / 12]);
  assert.ok(Math.abs(gemm.gpu_utilisation - (0.95 * 800 + 0.45 * 100) / 900) < 1e-12);
  assert.deepStrictEqual([gelu.name, gelu.gpu_utilisation], ["gelu", null]);
  assert.strictEqual(page.kernelRows[0].count, 12);  // the rows themselves stay as they are
});

test("the time of a step is sorted by how much of the GPU can be filled", () => {
  const values = page.fillBins(page.kernelsIn(0)).map(bin => bin.value);
  assert.deepStrictEqual(values, [0, 0, 0, 0, 50, 0, 0, 0, 0, 400]);
  assert.strictEqual(page.fillBins([{gpu_utilisation: 1, ns: 6}])[9].value, 6);
});

test("the time of a step is sorted by blocks in powers of two", () => {
  const bins = page.gridBins(page.kernelsIn(0));
  assert.deepStrictEqual(bins.map(bin => bin.value), [50, 0, 0, 0, 0, 0, 50, 400]);
  assert.strictEqual(bins[6].label, "64 to 127 blocks");
});

test("launches of a step go by the launches in steps, times by the time in them", () => {
  const [attention] = page.kernelsIn(3);
  assert.deepStrictEqual([attention.launches, attention.ns], [12 * 0.75 / 2, 800 / 2]);
  const [mlp] = page.kernelsIn(4);
  assert.deepStrictEqual([mlp.launches, mlp.ns], [4 / 2, 100 / 2]);
});
