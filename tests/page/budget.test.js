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
  const list = ["latency", 3, 60, 0, "HBM", 4, 250, 0, "latency", 4, 300, 0, "latency", 3, 40, 1];
  const [latency, hbm] = page.budgetParts(list, page.busyKinds, false);
  assert.deepStrictEqual([latency.what, latency.ns], ["latency", 400]);
  assert.strictEqual(page.budgetRange(latency), 4);
  assert.deepStrictEqual(latency.ranges.map(item => item.ns), [300, 100]);
  assert.deepStrictEqual([hbm.what, hbm.ns], ["HBM", 250]);
});

test("a part that no table names has its own name and a colour", () => {
  const [part] = page.budgetParts(["BF16 tensor", 0, 5, 0], page.busyKinds, false);
  assert.strictEqual(part.name, "BF16 tensor");
  assert.match(part.paint, /^var\(--mark\)$/);
  assert.strictEqual(page.budgetRange(part), null);
});

test("a part says what share of the step it is, and where", () => {
  const [part] = page.budgetParts(["launch", 3, 150, 0], page.idleKinds, true);
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

const findingOf = (gain, shortens = true) =>
  ({shortens_step: shortens, gain_ns_per_step: gain});
/** A part of [ns, finding]. */
const partOf = items => ({
  ns: items.reduce((all, [ns]) => all + ns, 0),
  explained: new Map(items.filter(([, finding]) => finding).map(([ns, finding]) => [finding, ns])),
});

test("a part has the finding that gains it most, by the time that it explains", () => {
  const atomics = findingOf(40);
  const spills = findingOf(30);
  const hidden = findingOf(90, false);
  const found = (part, others = []) => page.findingOf(part, [part, ...others]);
  const most = partOf([[100, atomics], [300, hidden], [50, spills]]);
  assert.deepStrictEqual(found(most), {finding: atomics, gain: 40});
  assert.deepStrictEqual(found(partOf([[90, spills]])), {finding: spills, gain: 30});
  // What nothing explains, and what no step gains of.
  assert.strictEqual(found(partOf([[100, undefined], [50, hidden]]), [most]), null);
  // Of kernels below two limiters each part has its share: together no more than all.
  const least = partOf([[100, atomics]]);
  const rest = partOf([[300, atomics], [900, undefined]]);
  assert.strictEqual(found(least, [rest]).gain, 10);
  assert.strictEqual(found(rest, [least]).gain, 30);
});

test("no part gains more than it takes", () => {
  const finding = findingOf(90);
  const part = partOf([[50, finding]]);
  assert.strictEqual(page.findingOf(part, [part]).gain, 50);
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
