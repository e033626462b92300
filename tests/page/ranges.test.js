"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/selection.js"],
  ["folded", "metric", "selfOf", "titleOf", "shortPath", "lastName", "endOfPath", "isWithin",
    "unit", "isSum", "perStep", "inNoStep", "color", "choose", "listeners", "readRows", "colours",
    "lookOf", "placeOfAddress"],
  data);
const {rows} = page.folded;
const named = name => rows.find(row => row.name === name);

test("a row has its columns, and what is the same in all rows", () => {
  assert.deepStrictEqual(page.readRows(["a", "b"], {c: 3}, [[1, 2]]), [{a: 1, b: 2, c: 3}]);
  assert.strictEqual(named("mlp").gpu_kernel_ns, 200);
  assert.strictEqual(named("mlp").mean_graph_kernel_ns, 0);
});

test("a row knows its path, depth and children", () => {
  assert.strictEqual(named("mlp").path, "step/block[*]/mlp");
  assert.strictEqual(named("mlp").depth, 3);
  assert.deepStrictEqual(named("step").children.map(row => row.label), ["block[*]", "loss"]);
  assert.strictEqual(rows[0].path, "(outside ranges)");
  assert.strictEqual(page.titleOf(4), "step/block[*]/mlp");
  assert.strictEqual(page.titleOf(99), "");
  assert.strictEqual(page.lastName("step/block[*]/mlp"), "mlp");
  assert.strictEqual(page.endOfPath("block[*]/attention/values"), "block[*]/attention/values");
  assert.strictEqual(page.endOfPath("block[*]/attention/softmax"), "block[*]/attention/softmax");
  assert.strictEqual(page.endOfPath("block[*]/attention/projection"),
    "\u2026/attention/projection");
  assert.strictEqual(page.endOfPath("forward/attention_of_all_heads/down"), "\u2026/down");
  const long = "a name of more than 26 letters";
  assert.strictEqual(page.endOfPath(long), long);
  assert.strictEqual(page.shortPath("step/loss"), "step/loss");  // two ranges stand on top
});

test("a range is within itself and those above it", () => {
  assert.ok(page.isWithin(4, 4) && page.isWithin(4, 1) && page.isWithin(4, 0));
  assert.ok(!page.isWithin(4, 3) && !page.isWithin(1, 4));
});

test("what a row did itself is without its children", () => {
  assert.strictEqual(page.selfOf(named("block"), row => row.kernels), 0);
  assert.strictEqual(page.selfOf(rows[0], row => row.kernels), 1);
  assert.strictEqual(page.selfOf(rows[0], () => null), null);
});

test("a sum over the run is a part of a mean step", () => {
  assert.strictEqual(page.unit, "step");
  assert.strictEqual(page.perStep(named("mlp"), 8), 4);
  assert.strictEqual(page.perStep(named("mlp"), null), null);
  assert.strictEqual(page.perStep(named("load"), 400), 0);
  assert.strictEqual(page.selfOf(named("block"), row => row.mean_kernels), 10 - 4.5 - 4);
});

test("what loads a model has no part in a step", () => {
  assert.deepStrictEqual(rows.filter(page.inNoStep).map(row => row.name), ["load"]);
});

test("counts of the CPU are sums, those of the GPU of one step", () => {
  const [gpu, cpu] = page.folded.metrics;
  assert.ok(!page.isSum(gpu) && page.isSum(cpu));
  assert.ok(!page.isSum({level: "cpu", unit: "instructions/cycle"}));
  assert.strictEqual(page.metric(named("mlp"), "hbm_bytes"), 300);
  assert.strictEqual(page.metric(named("mlp"), "l2_bytes"), undefined);
});

test("siblings have different colours, and keep them", () => {
  assert.strictEqual(page.color(0), "var(--rest)");
  const siblings = named("block").children.map(row => page.color(row.place));
  assert.strictEqual(new Set(siblings).size, siblings.length);
  assert.strictEqual(page.color(3), page.color(3));
  page.colours.clear();
  page.colours.set(4, 1);  // the next that is free would be 1, which a sibling has
  assert.strictEqual(page.color(3), "var(--range-2)");
  assert.ok(rows.slice(1).every(row => /^var\(--range-\d+\)$/.test(page.color(row.place))));
});

test("a choice is told to all that listen", () => {
  const heard = [];
  page.listeners.push(place => heard.push(place));
  page.choose(3, true);
  assert.deepStrictEqual(heard, [3]);
  assert.deepStrictEqual([3, 4].map(page.lookOf), [null, null]);  // what is quiet is not marked
});

test("a choice is kept in the address, which leads back to it", () => {
  const addresses = [];
  globalThis.location = {pathname: "/report.html", hash: ""};
  globalThis.history = {pushState: (state, title, address) => {
    addresses.push(address);
    globalThis.location.hash = address.startsWith("#") ? address : "";
  }};
  page.choose(3);
  page.choose(3);  // Back leads to another choice, not to the same one
  assert.deepStrictEqual(addresses, ["#range=step%2Fblock%5B*%5D%2Fattention"]);
  assert.strictEqual(page.placeOfAddress(addresses[0]), 3);
  assert.deepStrictEqual([3, 2, 4].map(page.lookOf), ["picked", null, "pale"]);
  page.choose(0);
  assert.strictEqual(addresses[1], "/report.html");
  for (const address of ["", "#range", "#range=none", "#range=%", "#row-3"]) {
    assert.strictEqual(page.placeOfAddress(address), undefined);
  }
});
