"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

// One range, in which 2 us of a step moved these amounts.
const counted = {
  timed_gpu_seconds: 2e-6,
  l1_data_bytes: 3e6,
  l1_bytes: 9e6,
  l1_peak_bytes_per_second: 6e12,
  l1_hit_rate: 25,
  shared_wavefronts: 70000,
  shared_bank_conflicts: 12,
  l2_bytes: 1e6,
  l2_peak_bytes_per_second: 5e12,
  l2_from_sm_sectors: 31250,
  hbm_bytes: 4e6,
  hbm_read_bytes: 3e6,
  hbm_write_bytes: 1e6,
  hbm_peak_bytes_per_second: 4e12,
  l1_local_load_sectors: 2,
  stall_barrier_share: 20,
  stall_wait_share: 30,
  stall_selected_share: 50,
};
const metrics = Object.keys(counted).map(key => ({key, unit: "", level: "gpu", meaning: key}));
const view = {...data.views[0], metrics, counted: data.views[0].rows.map(() =>
  Object.values(counted))};

// Of another range, its units: L2 is nearer to its peak than its bytes are.
const limits = [...data.answer.limits,
  {range: 4, limiter: "latency", kind: "latency", use: [{unit: "L2", part: 0.4}]}];
const answer = {...data.answer, limits};
const scripts = ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
  "report/sources.js", "report/shares.js", "report/memory_chart.js", "report/unit_bars.js"];
const page = load(scripts,
  ["folded", "memoryBoxes", "memoryLinks", "isCountedLink", "usePaint", "unitsOf", "stallsOf",
    "hasNumbers"],
  {...data, answer, views: [view]});
const row = page.folded.rows[3];
const box = id => page.memoryBoxes(row).find(item => item.id === id);
const link = (from, to) => page.memoryLinks(row).find(item => item.from === from && item.to === to);

test("bytes, rate and share of the peak of a box are of one count", () => {
  const {amount, perSecond, share} = box("l1").use;
  assert.deepStrictEqual([amount, perSecond, share], [3e6, 1.5e12, 25]);
  assert.ok(Math.abs(box("hbm").use.share - 50) < 1e-9);
});

test("the share of a box is the use of its unit, as the bars of units have it", () => {
  const limited = page.folded.rows[4];
  const l2 = page.memoryBoxes(limited).find(item => item.id === "l2");
  assert.strictEqual(l2.use.share, 40);
  assert.strictEqual(l2.use.amount, 1e6);
  const [bar] = page.unitsOf(limited);
  assert.deepStrictEqual([bar.name, bar.use], ["L2", 40]);
});

test("a box with numbers is shown, also where no link to it was counted", () => {
  assert.ok(page.hasNumbers(box("shared")));
  assert.ok(page.hasNumbers(box("asked")));
  assert.ok(!page.hasNumbers(box("host")));
});

test("shared memory moves 128 bytes a wavefront, beside the peak of L1's data path", () => {
  const {amount, share} = box("shared").use;
  assert.strictEqual(amount, 128 * 70000);
  assert.ok(Math.abs(share - 100 * 128 * 70000 / 2e-6 / 6e12) < 1e-9);
  assert.deepStrictEqual(box("asked").lines, [["conflicts", "12"]]);
});

test("links have their directions, or both together where only that was counted", () => {
  assert.deepStrictEqual([link("l2", "hbm").inwards, link("l2", "hbm").outwards], [3e6, 1e6]);
  assert.strictEqual(link("l1", "l2").both, 1e6);
  assert.strictEqual(link("local", "l1").inwards, 64);
  assert.ok(!page.isCountedLink(link("l2", "host")));
});

test("a use has a colour by how near it is to the peak", () => {
  assert.strictEqual(page.usePaint(null), "var(--rest)");
  assert.match(page.usePaint(100), / 100%,/);
  assert.match(page.usePaint(0), / 15%,/);
});

test("units and stalls: those that were counted, what waits before what issues", () => {
  assert.deepStrictEqual(page.unitsOf(row).map(unit => unit.name),
    ["shared memory", "L1", "L2", "HBM"]);
  assert.deepStrictEqual(page.stallsOf(row).map(stall => stall.name),
    ["wait", "barrier", "selected"]);
});
