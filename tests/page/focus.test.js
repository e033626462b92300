"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");

const {positionAfter, contrast, inkOn} = load(["shared/focus.js", "shared/colours.js"],
  ["positionAfter", "contrast", "inkOn"]);

test("arrow keys, Home and End lead to another thing, and stop at the ends", () => {
  const after = key => [0, 2, 4].map(position => positionAfter(key, position, 5));
  assert.deepStrictEqual(after("ArrowRight"), [1, 3, 4]);
  assert.deepStrictEqual(after("ArrowDown"), [1, 3, 4]);
  assert.deepStrictEqual(after("ArrowLeft"), [0, 1, 3]);
  assert.deepStrictEqual(after("Home"), [0, 0, 0]);
  assert.deepStrictEqual(after("End"), [4, 4, 4]);
  assert.deepStrictEqual(after("Enter"), [undefined, undefined, undefined]);
});

test("a text on a colour is the one that can be read better", () => {
  assert.ok(Math.abs(contrast("#000000", "#ffffff") - 21) < 1e-9);
  assert.ok(Math.abs(contrast("#777777", "#ffffff") - 4.48) < 0.01);
  assert.strictEqual(inkOn("#ffffff"), "#10151c");
  assert.strictEqual(inkOn("#0b57b0"), "#ffffff");
  for (const hex of ["#3b76c4", "#e2852e", "#3f9d6b", "#c8503f", "#8765b8", "#9a6b4f", "#6f7d8c"]) {
    assert.ok(contrast(hex, inkOn(hex)) >= 4.1, hex + ": " + contrast(hex, inkOn(hex)));
  }
});
