"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");

const range = (path, verdict, extra) => ({
  path,
  verdict,
  time: "host",
  judged_by: "gpu",
  before_ms: 4,
  after_ms: 3,
  judged_before_ms: 2,
  judged_after_ms: 1,
  change: -0.5,
  noise: 0.01,
  columns_before: [10, null],
  columns_after: [5, null],
  ...extra,
});
const data = {
  step: {before_steps: 5, after_steps: 5, before_ms: 20, after_ms: 11},
  runs: [{side: "before", program: "gpt2"}, {side: "after", program: "gpt2"}],
  options: {limit: 0.05},
  totals: {ranges: 5},
  columns: [{name: "kernels", unit: ""}, {name: "flops", unit: ""}],
  ranges: [
    range("block", "within"),
    range("block/mlp", "unjudged"),
    range("loss", "within", {change: 0, slower: false}),
    range("head", "regression", {slower: true, once: true}),
  ],
  indexed: [],
};
const page = load(
  ["shared/units.js", "shared/elements.js", "comparison/compared.js", "comparison/waterfall.js",
    "comparison/runs.js"],
  ["factor", "signed", "interval", "between", "ranges", "inner", "isChange", "leftOut", "median",
    "milliseconds", "program", "readRange", "waterfallBars"], data);

test("times of a range are of a mean step, of one outside of steps of the run", () => {
  const unitOf = path => page.ranges.find(range => range.path === path).unit;
  assert.deepStrictEqual(["block", "head"].map(unitOf), ["mean step", "run"]);
});

test("a factor has the digits that count", () => {
  assert.deepStrictEqual([null, 0, 0.0123456, 0.5, 1, 12.34, 1234].map(page.factor),
    ["", "0", "0.0123", "0.500", "1.000", "12.3", "1,234"]);
  assert.deepStrictEqual([0, 1.5, -1.5].map(value => page.signed(value, page.milliseconds)),
    ["0 ns", "+1.50 ms", "\u22121.50 ms"]);
});

test("the interval is around the factor, as wide as the noise", () => {
  const [low, high] = page.interval(-0.5, 0.1);
  assert.ok(Math.abs(Math.sqrt(low * high) - 0.5) < 1e-12);
  assert.ok(Math.abs(Math.log(high / low) - 2 * 1.96 * 0.1) < 1e-12);
});

test("a range has the time that was judged, or the other one", () => {
  const [block, mlp, loss, head] = page.ranges;
  assert.deepStrictEqual([block.was, block.now, block.delta, block.factor], [2, 1, -1, 0.5]);
  assert.deepStrictEqual([block.by, block.said], ["GPU", "faster"]);
  assert.deepStrictEqual([mlp.was, mlp.factor, mlp.said, mlp.ends], [4, 0.75, "not judged", null]);
  assert.deepStrictEqual([mlp.by, mlp.title], ["host", "block/mlp (host)"]);
  assert.strictEqual(loss.said, "within the limit");
  assert.deepStrictEqual([head.said, head.title, head.unit], ["slower", "head (GPU, once)", "run"]);
  assert.deepStrictEqual(block.values, [{name: "kernels", unit: "", before: 10, after: 5}]);
});

test("the innermost ranges have no others below them", () => {
  assert.deepStrictEqual(page.inner.map(item => item.path), ["block/mlp", "loss", "head"]);
  assert.strictEqual(page.leftOut("ranges", 4), " 1 more are in the JSON of compare --json.");
  assert.strictEqual(page.leftOut("ranges", 5), "");
  assert.strictEqual(page.program, "gpt2");
});

test("a median is the middle, or between two", () => {
  assert.deepStrictEqual([[], [3], [3, 1, 2], [4, 1, 2, 3]].map(page.median), [null, 3, 2, 2.5]);
});

const row = (label, before_ms, after_ms, extra) => ({
  kind: "range",
  name: label,
  label,
  before_ms,
  after_ms,
  changed: true,
  ...extra,
});
const periodOf = rows => ({
  before_ms: rows.reduce((all, item) => all + item.before_ms, 0),
  after_ms: rows.reduce((all, item) => all + item.after_ms, 0),
  rows,
});

test("a waterfall leads from the period before to the period after, without a gap", () => {
  const idle = row("GPU idle: waiting for launches", 8, 2, {kind: "idle"});
  const bars = page.waterfallBars(periodOf([idle, row("b", 6, 2), row("c", 1, 3), row("d", 2, 2)]));
  assert.deepStrictEqual(bars.map(bar => [bar.name, bar.from, bar.to, bar.kind]), [
    ["Period before", 0, 17, "step"],
    ["GPU idle: waiting for launches", 17, 11, "less"],
    ["b", 11, 7, "less"],
    ["c", 7, 9, "more"],
    ["Period after", 0, 9, "step"],
  ]);
});

test("rows beyond twelve are one bar, and what rounds to 0 has none", () => {
  const many = Array.from({length: 20}, (_, i) => row("r" + i, 1, 1.5));
  const bars = page.waterfallBars(periodOf(many));
  assert.strictEqual(bars.length, 1 + 12 + 1 + 1);
  assert.deepStrictEqual([bars[13].name, bars[13].ms], ["8 smaller changes", 4]);
  assert.deepStrictEqual([0, 4e-5, -4e-5, 5e-5, -1].map(page.isChange),
    [false, false, false, true, true]);
  const quiet = page.waterfallBars(periodOf([row("a", 5, 4), row("b", 6, 6.00001)]));
  assert.deepStrictEqual(quiet.map(bar => bar.name), ["Period before", "a", "Period after"]);
});

test("a range of a thread that drives no step is named with it", () => {
  const load = page.readRange(range("load", "unjudged", {thread: "thread loader"}));
  assert.strictEqual(load.title, "load (host, thread loader)");
});
