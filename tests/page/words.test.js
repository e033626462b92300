"use strict";
// The page has the words of the console, which are read from its source.
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js",
    "report/range_columns.js", "report/budget.js", "report/kernels.js"],
  ["recordedColumns", "countedColumn", "busyKinds", "kernelColumns", "limiterOf", "limitOf",
    "helpOf", "useOf", "folded"],
  {...data, answer: {...data.answer, limits: [
    {range: 3, limiter: "HBM 80 %", kind: "unit", unit: "HBM", time_ns: 10, time_at_roof_ns: 8},
    {range: 5, limiter: "L1 95 % and tensor 93 %", kind: "unit", unit: "L1",
      names: "L1 and tensor", time_ns: 100, time_at_roof_ns: 95},
    {range: 4, limiter: "latency: wait", kind: "latency", unit: "L1 with shared memory",
      time_ns: 10, time_at_roof_ns: 4},
  ]}});

const root = path.join(__dirname, "..", "..");
const read = file => fs.readFileSync(path.join(root, file), "utf8");
const plain = label => label.toLowerCase().replace(/ %$/, "");

/** The headings of a table of the console. */
const headings = file =>
  [...read(file).matchAll(/\{"([^"]+)", \d+, (?:console_)?form::/g)].map(([, name]) => name);

const recorded = key => page.recordedColumns.find(column => column.key === key);

test("columns of ranges have the report's names, units and help", () => {
  const busy = recorded("busy");
  assert.deepStrictEqual([busy.label, busy.title, busy.show(1500)],
    ["GPU busy", "Time in which a kernel or copy ran.\ngpu_busy_ns [ns] of ranges.csv", "1.50 us"]);
  assert.deepStrictEqual([recorded("host").label, recorded("use").label], ["Host total", "Use %"]);
  assert.strictEqual(recorded("copies").label, "Copies");  // no column of the console
  assert.strictEqual(recorded("copies").title,
    "GPU time of copies and fills.\ngpu_copy_ns [ns] of ranges.csv");
  assert.strictEqual(recorded("bytes").label, "B/s");  // its unit is in each cell
});

test("counted values have the report's names", () => {
  assert.strictEqual(page.countedColumn("hbm_bytes").label, "HBM");
  assert.strictEqual(page.countedColumn("cpu_instructions").label, "cpu_instructions");
});

test("tokens are by the longer of host and GPU, as on the console", () => {
  const row = {tokens: 10, gpu_busy_ns: 1e9, host_total_ns: 2e9};
  assert.strictEqual(recorded("tokens").get(row), 5);
  assert.strictEqual(recorded("tokens").get({...row, host_total_ns: 5e8}), 10);
});

test("columns of kernels have the console's headings", () => {
  const known = headings("src/report/console_tables.hpp").map(plain);
  for (const label of ["Kernel", "Range", "Launches", "GPU time", "Mean", "GPU fill %"]) {
    assert.ok(page.kernelColumns(1).some(column => column.label === label), label);
    assert.ok(known.includes(plain(label)), label);
  }
});

test("parts of the budget are the console's limiters", () => {
  const source = read("src/analyse/speed_of_light.hpp");
  const [, units] = /gpu_unit_table\[gpu_units\] = (\{[^;]*)/.exec(source);
  const names = [...units.matchAll(/\{"([^"]+)", "\w+"\}/g)].map(([, name]) => name);
  names.push(/"(L1 with [^"]+)"/.exec(source)[1]);
  for (const name of names) assert.ok(page.busyKinds[name], name);
  for (const part of ["kernel_ends", "with_few_blocks"]) {
    const [, name] = new RegExp(part + ' = "([^"]+)"').exec(read("src/analyse/account.hpp"));
    assert.ok(page.busyKinds[name], name);
  }
  const [, words] = /words\[\] = \{([^}]*)/.exec(read("src/analyse/roofline.hpp"));
  for (const word of ["latency", "launch", "copies"]) {
    assert.ok(page.busyKinds[word] && words.includes('"' + word + '"'), word);
  }
});

test("a limiter and its use are two columns, as on the console", () => {
  const of = place => ({...page.folded.rows[place], folded: place});
  assert.strictEqual(page.limiterOf(of(3)), "HBM");
  assert.strictEqual(page.useOf(of(3)), 80);
  assert.strictEqual(page.limiterOf(of(4)), "latency: wait (L1)");
  assert.strictEqual(page.useOf(of(4)), 40);
  assert.strictEqual(page.useOf(of(5)), 95);
  assert.strictEqual(page.limiterOf(of(5)), "L1 and tensor");
  assert.strictEqual(page.useOf(of(2)), null);
  assert.strictEqual(page.limiterOf(of(2)), "");
});

test("in a sentence a limiter has its use, of what it is a part, and what helps", () => {
  const of = place => ({...page.folded.rows[place], folded: place});
  assert.strictEqual(page.limitOf(of(3)), "HBM at 80 % of its peak");
  assert.strictEqual(page.limitOf(of(4)), "latency: wait");
  assert.strictEqual(page.limitOf(of(5)), "L1 95 % and tensor 93 %");
  assert.strictEqual(page.limitOf(of(2)), "");
  assert.strictEqual(page.helpOf(of(3)), page.busyKinds.HBM.helps);
  assert.strictEqual(page.helpOf(of(4)), page.busyKinds.latency.helps);
  assert.strictEqual(page.helpOf(of(2)), "");
});
