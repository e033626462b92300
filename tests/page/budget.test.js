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
  assert.match(part.paint, /^var\(--mark\)$/);
  assert.strictEqual(page.budgetRange(part), null);
});

test("a part says what share of the step it is, and where", () => {
  const [part] = page.budgetParts(["launch", 3, 150], page.idleKinds, true);
  const lines = page.describeBudget(part, 750).split("\n");
  assert.strictEqual(lines[0], "GPU idle: waiting for launches");
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

test("a part has the finding of its kind that gains it most, by the cost of its ranges", () => {
  const finding = (part, ranges, gain, shortens = true) => ({
    part,
    shortens_step: shortens,
    gain_ns_per_step: gain,
    ranges: ranges.map(([range, cost]) => ({range, cost_ns_per_step: cost})),
  });
  const launches = finding("launches", [[3, 10], [0, 30]], 20);
  const atomics = finding("kernels", [[4, 60], [5, 20]], 40);
  const spills = finding("kernels", [[5, 30]], 30);
  const copies = finding("copies", [[4, 8]], 8);
  const idle = {what: "copy", isIdle: true, ns: 300, ranges: [{range: 4, ns: 300}]};
  const list = [launches, finding("kernels", [[4, 90]], 90, false), atomics, spills, copies];
  const made = (what, ranges, isIdle) =>
    ({what, isIdle, ns: 100, ranges: ranges.map(range => ({range, ns: 100 / ranges.length}))});
  const found = (what, ranges, isIdle) => {
    const part = made(what, ranges, isIdle);
    return page.findingOf(part, list, [part, idle]);
  };
  assert.deepStrictEqual(found("latency", [4], false), {finding: atomics, gain: 30});
  assert.deepStrictEqual(found("latency", [4, 5], false), {finding: atomics, gain: 40});
  assert.deepStrictEqual(found("HBM", [5], false), {finding: spills, gain: 30});
  assert.strictEqual(found("latency", [3], false), null);
  assert.deepStrictEqual(found("copies", [4], false), {finding: copies, gain: 2});
  assert.deepStrictEqual(found("launch", [0], true), {finding: launches, gain: 15});
  // Less idle time shortens no kernel.
  assert.strictEqual(found("launch", [3], false), null);
  assert.strictEqual(found("device", [4], true), null);
  // Of a range below two limiters each part has its share: together no more than all.
  const [most, rest] = [made("HBM", [4, 5], false), made("latency", [4], false)];
  const gains = [most, rest].map(part => page.findingOf(part, [atomics], [most, rest]).gain);
  assert.deepStrictEqual(gains, [20, 20]);
});

test("no part gains more than it takes", () => {
  const ranges = [{range: 2, cost_ns_per_step: 9}];
  const finding = {part: "waits", shortens_step: true, gain_ns_per_step: 90, ranges};
  const part = {what: "wait", isIdle: true, ns: 50, ranges: [{range: 2, ns: 50}]};
  assert.strictEqual(page.findingOf(part, [finding], [part]).gain, 50);
});

test("what warps wait for is in the words of the metric that the limiter names", () => {
  assert.strictEqual(page.waitOf(3), "its warps wait for shared memory (short scoreboard)");
  assert.strictEqual(page.waitOf(4), "");
});

test("each part says what helps; of what was not counted, which key of STRATA= counts it", () => {
  for (const [what, kind] of Object.entries({...page.busyKinds, ...page.idleKinds})) {
    assert.ok(kind.helps || kind.name === "cause not recorded", what);
  }
  assert.match(page.busyKinds["not known"].helps, /counters=findings/);
  assert.match(page.busyKinds.launch.helps, /^a CUDA graph/);
});

test("a limiter of the GPU and a cause that is the host's have different words", () => {
  const names = [...Object.keys(page.busyKinds), ...Object.values(page.idleKinds).map(k => k.name)];
  assert.strictEqual(new Set(names).size, names.length);
  for (const [what, {name}] of Object.entries(page.idleKinds)) {
    assert.ok(!(what in page.busyKinds) || name !== what, what);
  }
});
