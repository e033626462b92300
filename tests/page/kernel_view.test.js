"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js", "report/budget.js", "report/kernels.js", "report/kernel_view.js"],
  ["readRangeLimits", "kernelGroups", "kernelsIn", "isKernelFound", "allKernels", "rangeLimits",
    "limitersOf", "budgetParts", "busyKinds"], data);

test("a range has the limiter of most of its time", () => {
  const list = ["L2", 3, 30, 0, "HBM", 3, 25, 0, "issue", 4, 5, 0, "HBM", 3, 15, 1];
  const limits = page.readRangeLimits(page.budgetParts(list, page.busyKinds, false));
  assert.deepStrictEqual([...limits].map(([range, {what}]) => [range, what]),
    [[3, "HBM"], [4, "issue"]]);
});

test("a kernel has its ranges with launches and time, the longest first", () => {
  const [gemm, gelu] = page.kernelGroups(page.kernelsIn(0));
  assert.deepStrictEqual([gemm.name, gemm.launches, gemm.ns], ["gemm", 6.5, 450]);
  assert.deepStrictEqual(gemm.runs,
    [{range: 3, launches: 4.5, ns: 400}, {range: 4, launches: 2, ns: 50}]);
  assert.deepStrictEqual(gelu.runs, [{range: 4, launches: 2, ns: 50}]);
  assert.strictEqual(page.allKernels.length, 2);  // what ran outside of steps is in no step
});

test("the limiters of a kernel are those of its ranges, each once", () => {
  page.rangeLimits.set(3, {what: "HBM", ns: 1}).set(4, {what: "issue", ns: 1});
  const [gemm, gelu] = page.allKernels;
  assert.deepStrictEqual(page.limitersOf(gemm.runs), ["HBM", "issue"]);
  assert.deepStrictEqual(page.limitersOf(gelu.runs), ["issue"]);
  assert.deepStrictEqual(page.limitersOf([{range: 5}]), []);
});

test("a kernel is found by its name and by its ranges", () => {
  const [gemm, gelu] = page.allKernels;
  assert.ok(page.isKernelFound(gelu, "gelu") && !page.isKernelFound(gemm, "gelu"));
  assert.ok(page.isKernelFound(gemm, "attention") && !page.isKernelFound(gelu, "attention"));
});
