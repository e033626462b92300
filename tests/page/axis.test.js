"use strict";
const assert = require("assert");
const test = require("node:test");
const {load, randomNumbers} = require("./load.js");

const {roundStep, timeMarks, byteMarks, bytes} = load(["shared/units.js", "shared/axis.js"],
  ["roundStep", "timeMarks", "byteMarks", "bytes"]);

test("marks are 1, 2 or 5 and noughts apart", () => {
  assert.deepStrictEqual([0.011, 1, 1.1, 3, 7, 150].map(roundStep), [0.02, 1, 2, 5, 10, 200]);
});

test("the marks of a time axis are in one unit", () => {
  assert.deepStrictEqual(timeMarks(0, 45.8e6, 9).map(mark => mark.text),
    ["0 ms", "10 ms", "20 ms", "30 ms", "40 ms"]);
  assert.deepStrictEqual(timeMarks(9.1402e6, 9.1408e6, 3).map(mark => mark.text),
    ["9.1402 ms", "9.1404 ms", "9.1406 ms", "9.1408 ms"]);
});

test("no two marks of a time axis are alike, at any zoom", () => {
  const random = randomNumbers(7);
  for (let i = 0; i < 2000; i += 1) {
    const from = 10 ** (random() * 10);
    const to = from + 50 + 10 ** (random() * 10);
    const marks = timeMarks(from, to, 2 + random() * 8);
    assert.ok(marks.length >= 1 && marks.length <= 12, `${marks.length} from ${from} to ${to}`);
    assert.strictEqual(new Set(marks.map(mark => mark.text)).size, marks.length);
    assert.ok(marks.every(mark => mark.ns >= from && mark.ns <= to));
  }
});

test("the marks of an axis of bytes are round", () => {
  assert.deepStrictEqual(byteMarks(632 * 2 ** 20, 5).map(bytes),
    ["0 B", "200 MiB", "400 MiB", "600 MiB"]);
  assert.deepStrictEqual(byteMarks(1.3 * 2 ** 30, 5).map(bytes), ["0 B", "512 MiB", "1.00 GiB"]);
  assert.deepStrictEqual(byteMarks(1, 5), [0, 1]);
});
