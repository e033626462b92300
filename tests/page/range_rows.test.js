"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const {folded, visibleRows, columns} = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js",
    "report/range_columns.js", "report/range_rows.js"],
  ["folded", "visibleRows", "columns"], data);

const column = key => columns.find(item => item.key === key);

/** The labels of the rows that are shown. */
function shown(wishes) {
  const all = {rows: folded.rows, sort: "order", search: "", isOpen: () => true,
    isHidden: () => false, ...wishes};
  return visibleRows(all).map(row => {
    if (row.more) return row.more + " more";
    return row.outside ? "outside" : row.label;
  });
}

test("all rows stand in the order of execution, with what is left out and outside", () => {
  assert.deepStrictEqual(shown({}),
    ["step", "block[*]", "attention", "mlp", "3 more", "loss", "load", "outside"]);
});

test("what is folded is not shown", () => {
  assert.deepStrictEqual(shown({isOpen: () => false}), ["step", "load", "outside"]);
  assert.deepStrictEqual(shown({isOpen: row => row.name === "step"}),
    ["step", "block[*]", "loss", "load", "outside"]);
});

test("what has no place is hidden, with what is below it", () => {
  assert.deepStrictEqual(shown({isHidden: row => row.name === "block"}),
    ["step", "loss", "load", "outside"]);
});

test("a second click on a heading sorts the other way round", () => {
  const sort = column("busy") || column("host");
  const rows = isReversed => visibleRows({rows: folded.rows, sort, isReversed, search: "",
    isOpen: () => false, isHidden: () => false}).filter(row => !row.more && !row.outside);
  const usual = rows(false);
  assert.ok(usual.length > 1);
  assert.deepStrictEqual(rows(true).map(row => row.label),
    usual.map(row => row.label).reverse());
});

test("rows are sorted within their parent", () => {
  assert.deepStrictEqual(shown({sort: "name"}),
    ["load", "step", "block[*]", "attention", "mlp", "3 more", "loss", "outside"]);
  assert.deepStrictEqual(shown({sort: column("host")}),
    ["step", "block[*]", "attention", "mlp", "3 more", "loss", "load", "outside"]);
  assert.deepStrictEqual(shown({sort: {get: row => -row.host_total_ns}}).slice(0, 3),
    ["load", "step", "loss"]);
});

test("a column of texts sorts upwards, and empty ones last", () => {
  const sorted = shown({sort: column("limit"), isOpen: row => row.name === "block"
    || row.name === "step"});
  assert.deepStrictEqual(sorted.slice(0, 4), ["step", "block[*]", "attention", "mlp"]);
  const backwards = {text: true, get: row => ({attention: "", mlp: "z"}[row.name])};
  assert.deepStrictEqual(shown({sort: backwards}).slice(2, 4), ["mlp", "attention"]);
});

test("a search shows the matches and the rows above them, folded or not", () => {
  assert.deepStrictEqual(shown({search: "MLP", isOpen: () => false}), ["step", "block[*]", "mlp"]);
  assert.deepStrictEqual(shown({search: "block[*]/a"}), ["step", "block[*]", "attention"]);
  assert.deepStrictEqual(shown({search: "no such range"}), []);
  assert.deepStrictEqual(shown({search: "load", isHidden: () => true}), ["load"]);
});

test("columns without a value are left out", () => {
  const keys = columns.map(item => item.key);
  const wanted = ["busy", "share", "limit", "kernels", "host", "hbm_bytes"];
  assert.ok(wanted.every(key => keys.includes(key)));
  assert.ok(!["copies", "flops", "peak", "l2_bytes"].some(key => keys.includes(key)));
});

test("a column has the amount of the run, and that of a mean step", () => {
  const block = folded.rows[2];
  const keys = ["busy", "kernels", "host", "self", "calls"];
  assert.deepStrictEqual(keys.map(key => column(key).get(block)), [1000, 20, 1300, 300, 4]);
  assert.deepStrictEqual(keys.map(key => column(key).per(block)), [500, 10, 650, 150, 2]);
  assert.strictEqual(column("share").get(block), 100 * 500 / 750);
  assert.strictEqual(column("cpu_instructions").per(block), 15);
});

test("a search finds what stands in a label, such as the thread of a range", () => {
  const rows = folded.rows.map(row =>
    row.label === "load" ? {...row, label: "load (thread loader)"} : row);
  assert.deepStrictEqual(shown({rows, search: "(Thread loader"}), ["load"]);
});
