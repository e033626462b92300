"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const {parts, shareKinds, startDepth, askedBytes, folded} = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js", "report/shares.js"],
  ["parts", "shareKinds", "startDepth", "askedBytes", "folded"], data);

const kind = name => shareKinds.findIndex(item => item.name === name);

test("only kinds that were recorded have a bar", () => {
  assert.deepStrictEqual(shareKinds.map(item => item.name),
    ["GPU time", "Host time", "Kernels", "HBM", "Instructions"]);
});

test("at each depth the parts add up to the whole", () => {
  for (const depth of [1, 2, 3]) {
    const {parts: list, totals} = parts(depth);
    assert.strictEqual(totals[kind("GPU time")], 625);
    shareKinds.forEach((item, i) => {
      const whole = list.reduce((all, part) => all + part.shares[i], 0);
      assert.ok(Math.abs(whole - 1) < 1e-9, `${item.name} at depth ${depth}: ${whole}`);
    });
  }
});

test("what a range did itself is a part of its own", () => {
  const names = parts(3).parts.map(part => part.name);
  assert.ok(names.includes("step/block[*]/mlp"));
  assert.ok(names.includes("step/block[*] (itself)"));
  assert.ok(!parts(2).parts.some(part => part.name === "step/block[*] (itself)"));
  assert.strictEqual(startDepth(3), 3);
});

test("loads are bytes, or sectors of 32", () => {
  assert.strictEqual(askedBytes(folded.rows[4], "hbm_bytes", "none"), 300);
  assert.strictEqual(askedBytes(folded.rows[4], "none", "hbm_bytes"), 32 * 300);
  assert.strictEqual(askedBytes(folded.rows[4], "none", "neither"), null);
});
