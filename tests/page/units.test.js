"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");

const names = ["none", "firstKnown", "sum", "digits", "time", "bytes", "count", "some", "rate",
  "percent", "shareText", "inUnit", "cutMiddle", "sentence"];
const page = load(["shared/units.js"], names);

/** Compares a function with its results, one a line. */
function checkEach(format, wanted) {
  for (const [value, text] of wanted) assert.strictEqual(format(value), text, String(value));
}

test("what there is not is no value", () => {
  assert.deepStrictEqual([null, undefined, NaN, 0, "", false].map(page.none),
    [true, true, true, false, false, false]);
  assert.strictEqual(page.firstKnown(null, undefined, 0, 3), 0);
  assert.strictEqual(page.firstKnown(null), undefined);
  assert.strictEqual(page.sum([1, null, 3], value => value), 4);
});

test("a number has three digits that count", () => {
  checkEach(page.digits, [[0, "0"], [1234567, "1,234,567"], [999.6, "1,000"], [99.96, "100"],
    [9.996, "10.0"], [12.34, "12.3"], [1.234, "1.23"], [-1.234, "-1.23"], [0.0123, "0.012"],
    [0.00012, "1.2e-4"]]);
});

test("a time has the unit that fits", () => {
  checkEach(page.time, [[null, ""], [0, "0 ns"], [999, "999 ns"], [0.5, "0.500 ns"],
    [999.6, "1.00 us"], [1500, "1.50 us"], [999960, "1.00 ms"], [2.6e6, "2.60 ms"],
    [4.58e10, "45.8 s"], [1e13, "10,000 s"]]);
});

test("bytes are counted in powers of 1,024", () => {
  checkEach(page.bytes, [[undefined, ""], [0, "0 B"], [1023, "1023 B"], [1024, "1.00 KiB"],
    [1.5 * 2 ** 20, "1.50 MiB"], [2 ** 30, "1.00 GiB"], [2 ** 50, "1,024 TiB"]]);
});

test("an amount of things has its plural", () => {
  checkEach(page.count, [[null, ""], [0, "0"], [7, "7"], [99, "99"], [0.5, "0.500"],
    [1234, "1,234"], [1e6, "1.00 M"], [2.5e9, "2.50 G"]]);
  assert.strictEqual(page.some(1, "row"), "1 row");
  assert.strictEqual(page.some(0, "row"), "0 rows");
  assert.strictEqual(page.some(2, "row matches", "rows match"), "2 rows match");
});

test("a rate has its unit behind the prefix", () => {
  checkEach(page.rate("B/s"), [[null, ""], [5, "5 B/s"], [3.35e12, "3.35 TB/s"]]);
});

test("per cent has a digit more where it is small, and never rounds to 0", () => {
  checkEach(page.percent, [[null, ""], [0, "0 %"], [0.004, "< 0.01 %"], [0.684, "0.68 %"],
    [1.24, "1.2 %"], [58.77, "58.8 %"], [99.96, "100 %"], [250, "250 %"]]);
});

test("a share is never above 100 %", () => {
  checkEach(page.shareText, [[null, ""], [0, "0 %"], [1e-4, "< 0.01 %"], [42.42, "42.4 %"],
    [100, "100 %"], [100.04, "100 %"], [100.1, ""], [515, ""]]);
});

test("a value of a metric is shown in its unit", () => {
  const shown = [["%", 12.3], ["B", 2048], ["ns", 1500], ["s", 0.002], ["", 12], ["B/s", 2e9],
    ["faults", 1], ["faults", 3], ["misses", 1], ["branches", 1], ["misses/instruction", 1]];
  assert.deepStrictEqual(shown.map(([unit, value]) => page.inUnit(unit)(value)),
    ["12.3 %", "2.00 KiB", "1.50 us", "2.00 ms", "12", "2.00 GB/s", "1 fault", "3 faults",
      "1 miss", "1 branch", "1 miss/instruction"]);
  assert.strictEqual(page.inUnit("faults")(null), "");
});

test("a sentence begins with a capital, unless that is a name of a program's", () => {
  checkEach(page.sentence, [["", ""], ["the GPU is idle", "The GPU is idle."],
    ["hbm_bytes is missing", "hbm_bytes is missing."], ["why?", "Why?"]]);
});

test("a long name is cut once, in its middle", () => {
  assert.strictEqual(page.cutMiddle("gemm", 4), "gemm");
  assert.strictEqual(page.cutMiddle("abcdefghij", 7), "abc\u2026hij");
  assert.strictEqual(page.cutMiddle("abcdefghij", 2), "a\u2026");
  const cut = [["abcdef\u2026uvwxyz", "abcd\u2026wxyz"], ["abcdefghijk\u2026z", "abcdefg\u2026z"],
    ["a\u2026qrstuvwxyz", "a\u2026tuvwxyz"]];
  for (const [name, wanted] of cut) assert.strictEqual(page.cutMiddle(name, 9), wanted);
});
