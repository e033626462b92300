"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const memory = {
  by_range: {series: [3, 4], others: 1, points: [[0, 5, 0, 0], [10, 40, 20, 4], [20, 30, 0, 1]]},
};
const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/memory.js"],
  ["holdersOf", "memoryOfRange", "neverReleased"], {...data, memory});

test("who held the peak is what was in use when all parts together had most", () => {
  const set = {points: [[0, 90, 0], [5, 60, 40], [9, 0, 70]]};
  const names = ["weights", "other"];
  assert.deepStrictEqual(page.holdersOf(set, names), [
    {name: "weights", value: 60, share: 0.6},
    {name: "other", value: 40, share: 0.4},
  ]);
  assert.deepStrictEqual(page.holdersOf({points: [[0, 0, 7]]}, names).map(part => part.name),
    ["other"]);
});

test("a range has what it and those below it have in use; one without a part has nothing", () => {
  assert.deepStrictEqual(page.memoryOfRange(2), [[0, 5], [10, 60], [20, 30]]);
  assert.deepStrictEqual(page.memoryOfRange(4), [[0, 0], [10, 20], [20, 0]]);
  assert.deepStrictEqual(page.memoryOfRange(5), []);
});

test("what was never released is said in one sum", () => {
  const totals = [{liveCount: 2, liveSize: 2048}, {liveCount: 0, liveSize: 0},
    {liveCount: 1, liveSize: 1024}];
  assert.strictEqual(page.neverReleased(totals), "3.00 KiB in 3 allocations was never released");
  assert.strictEqual(page.neverReleased([]), null);
});
