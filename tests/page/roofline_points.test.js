"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const point = (range, level, ns, evidence = "counted") =>
  ({range, level, time_ns: ns, evidence, flop_per_byte: 1});

const memoryRoof = (name, rate, used) => ({name, unit: "B/s", rate, used});
const computeRoof = (name, rate, used) => ({name, unit: "FLOP/s", rate, used});

const counted = {
  counted_ns: 0,
  counted_flops: 0,
  counted_hbm_bytes: null,
  counted_l2_bytes: null,
  counted_l1_bytes: null,
  counted_shared_bytes: null,
};

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js",
    "report/kernels.js", "report/roofline_scale.js", "report/roofline_points.js"],
  ["levelsIn", "innermostPoints", "longestPoints", "roofsFor", "kernelPoints", "kernelRows",
    "answer"], data);

test("levels stand in the order from the device's memory to the SM", () => {
  const points = [point(3, "shared", 1), point(3, "L1", 1), point(4, "HBM", 1)];
  assert.deepStrictEqual(page.levelsIn(points), ["HBM", "L1", "shared"]);
});

test("the innermost points are those below which no other range has one", () => {
  const points = [point(2, "HBM", 9), point(3, "HBM", 5), point(3, "L2", 5), point(5, "HBM", 2)];
  assert.deepStrictEqual(page.innermostPoints(points).map(one => [one.range, one.level]),
    [[3, "HBM"], [3, "L2"], [5, "HBM"]]);
});

test("the slider keeps the ranges with most of the time, at all of their levels", () => {
  const points = [10, 50, 30, 10].flatMap((ns, range) =>
    [point(range, "HBM", ns), point(range, "L2", ns)]);
  const ranges = part => page.longestPoints(points, part).map(one => one.range);
  assert.deepStrictEqual(ranges(100), [1, 1, 2, 2, 0, 0, 3, 3]);
  assert.deepStrictEqual(ranges(60), [1, 1, 2, 2]);
  assert.deepStrictEqual(ranges(5), [1, 1]);
  assert.strictEqual(points[0].time_ns, 10);  // the list itself stays as it is
});

test("the roofs are of the levels and of all operations, idle where nothing used them", () => {
  page.answer.roofs = [memoryRoof("HBM", 3e12, true), memoryRoof("L1", 3e13, true),
    memoryRoof("shared", 3e13, true), computeRoof("FP32", 6e13, true),
    computeRoof("BF16 tensor", 9e14, false)];
  const both = page.roofsFor(["L1", "shared"]);
  assert.deepStrictEqual(both.slanted.map(roof => roof.name), ["L1, shared memory"]);
  const looks = ({flat}) => flat.map(roof => [roof.name, roof.idle]);
  assert.deepStrictEqual(looks(both), [["BF16 tensor", true], ["FP32", false]]);
  for (const roof of page.answer.roofs) roof.used = false;
  const none = page.roofsFor(["HBM"]);
  assert.deepStrictEqual(looks(none), [["BF16 tensor", false], ["FP32", false]]);
});

test("a kernel of a range has a point for each level that was counted, over all its ranges", () => {
  page.kernelRows.forEach(row => Object.assign(row, counted));
  const [first, second] = page.kernelRows;  // of one name in two ranges
  Object.assign(first, {counted_ns: 30, counted_flops: 600, counted_hbm_bytes: 20,
    counted_shared_bytes: 100});
  Object.assign(second, {counted_ns: 10, counted_flops: 200, counted_hbm_bytes: 60,
    counted_shared_bytes: 100});
  const points = page.kernelPoints(2);
  assert.deepStrictEqual(points.map(one => [one.kernel, one.level, one.flop_per_byte]),
    [["gemm", "HBM", 10], ["gemm", "shared", 4]]);
  assert.strictEqual(points[0].flop_per_second, 2e10);
  assert.deepStrictEqual(page.kernelPoints(3).map(one => one.flop_per_byte), [30, 6]);
  assert.deepStrictEqual(page.kernelPoints(5), []);
});
