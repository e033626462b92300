"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/sources.js", "report/collectives.js"],
  ["aboutCollectives", "collectiveColumns"], data);

const row = {
  range: 3, operation: "all_reduce", calls: 2, bytes: 2048, ns: 4000, alone_ns: 1000,
  bus_bytes_per_s: 9e10,
};
const unknown = {...row, bytes: null, bus_bytes_per_s: null};

/** The texts of a row, without the link to its range. */
const texts = (recorded, shown) =>
  page.collectiveColumns(recorded).slice(1).map(column => column.get(shown));

test("a collective has its time, its bytes and the part of the link's peak", () => {
  const recorded = {rows: [row, unknown], link_bytes_per_s: 4.5e11};
  assert.deepStrictEqual(texts(recorded, row),
    ["4 us", "1 us", "all reduce", "2", "2.00 KiB", "90.0 GB/s", "20.0 %"]);
  assert.deepStrictEqual(texts(recorded, unknown).slice(4), ["", "", ""]);
});

test("without a known link or bandwidth there is no column of it", () => {
  const last = recorded => page.collectiveColumns(recorded).pop().label;
  assert.strictEqual(last({rows: [row], link_bytes_per_s: null}), "Bus bandwidth");
  assert.strictEqual(last({rows: [unknown], link_bytes_per_s: 4.5e11}), "Bytes a step");
});

test("what the section says", () => {
  assert.match(page.aboutCollectives({rows: [row, row]}),
    /^8 us of a step, 2 us of it exposed: .* tells apart\.$/);
  assert.match(page.aboutCollectives({rows: [unknown]}), /NCCL_PROFILER_PLUGIN=strata/);
});
