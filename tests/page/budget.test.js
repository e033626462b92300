"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/budget.js"],
  ["budgetParts", "describeBudget", "budgetRange", "busyKinds", "idleKinds",
    "stepGroups", "findingOf", "waitOf"],
  {
    ...data,
    steps: [0, 1, 900, 900, 1, 2, 700, 760],
    answer: {...data.answer, limits: [{range: 3, stall: "short_scoreboard"}]},
    views: [{
      ...data.views[0],
      metrics: [{
        key: "stall_short_scoreboard_share",
        unit: "%",
        level: "sm",
        meaning: "share of warps that wait for shared memory",
      }],
    }],
  });

test("parts of one kind are one, with its ranges by their time", () => {
  const list = ["latency", 3, 100, "HBM", 4, 250, "latency", 4, 300];
  const [latency, hbm] = page.budgetParts(list, page.busyKinds, false);
  assert.deepStrictEqual([latency.what, latency.ns], ["latency", 400]);
  assert.strictEqual(page.budgetRange(latency), 4);
  assert.deepStrictEqual(latency.ranges.map(item => item.ns), [300, 100]);
  assert.deepStrictEqual([hbm.what, hbm.ns], ["HBM", 250]);
});

test("a part that no table names has its own name and a colour", () => {
  const [part] = page.budgetParts(["BF16 tensor", 0, 5], page.busyKinds, false);
  assert.strictEqual(part.name, "BF16 tensor");
  assert.match(part.paint, /^var\(--c\d+\)$/);
  assert.strictEqual(page.budgetRange(part), null);
});

test("a part says what share of the step it is, and where", () => {
  const [part] = page.budgetParts(["launch", 3, 150], page.idleKinds, true);
  const lines = page.describeBudget(part, 750).split("\n");
  assert.strictEqual(lines[0], "GPU idle: the host launches");
  assert.strictEqual(lines[1], "150 ns, 20.0 % of the step");
  assert.match(lines[2], /attention 150 ns$/);
  assert.match(lines[3], /^Helps: a CUDA graph/);
});

test("steps are read in groups", () => {
  assert.deepStrictEqual(page.stepGroups(), [
    {number: 0, amount: 1, shortest: 900, longest: 900},
    {number: 1, amount: 2, shortest: 700, longest: 760},
  ]);
});

test("a part has the first finding of its kind that is of its ranges", () => {
  const finding = (rule, range, shortens = true) =>
    ({rule, shortens_step: shortens, ranges: [{range: 9}, {range}]});
  const list = [finding("launch-bound", 3), finding("atomics", 4, false), finding("atomics", 4),
    finding("copy-in-step", 4), finding("gap-between-ranges", 0)];
  const found = (what, range, isIdle) =>
    page.findingOf({what, isIdle, ranges: [{range: 8}, {range}]}, list);
  assert.strictEqual(found("latency", 4, false), list[2]);
  assert.strictEqual(found("latency", 3, false), undefined);
  assert.strictEqual(found("copies", 4, false), list[3]);
  assert.strictEqual(found("launch", 3, true), list[0]);
  assert.strictEqual(found("launch", 3, false), list[0]);
  assert.strictEqual(found("host work", 0, true), list[4]);
  assert.strictEqual(found("device", 4, true), undefined);
});

test("what warps wait for is in the words of the metric that the limiter names", () => {
  assert.strictEqual(page.waitOf(3), "its warps wait for shared memory (short scoreboard)");
  assert.strictEqual(page.waitOf(4), "");
});

test("each part says what helps; of what was not counted, which key of STRATA= counts it", () => {
  for (const [what, kind] of Object.entries({...page.busyKinds, ...page.idleKinds})) {
    assert.ok(kind.helps || kind.name === "cause not recorded", what);
  }
  assert.match(page.busyKinds["not known"].helps, /counters=limits/);
});

test("a limiter of the GPU and a cause that is the host's have different words", () => {
  const names = [...Object.keys(page.busyKinds), ...Object.values(page.idleKinds).map(k => k.name)];
  assert.strictEqual(new Set(names).size, names.length);
  for (const [what, {name}] of Object.entries(page.idleKinds)) {
    assert.ok(!(what in page.busyKinds) || name !== what, what);
  }
});
