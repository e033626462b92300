"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");

const {logAxis, joinRoofs, longestPoints, slantedRoof, freePlace} = load(
  ["shared/units.js", "report/roofline_scale.js"],
  ["logAxis", "joinRoofs", "longestPoints", "slantedRoof", "freePlace"]);

test("a factor is the same distance everywhere on a logarithmic axis", () => {
  const axis = logAxis([0.1, 1000], 58, 984);
  const step = axis.at(10) - axis.at(1);
  assert.ok(Math.abs(axis.at(1000) - axis.at(100) - step) < 1e-9);
  assert.ok(axis.at(0.1) > 58 && axis.at(1000) < 984);
  assert.deepStrictEqual(axis.powers, [-1, 0, 1, 2, 3]);
  assert.ok(Math.abs(axis.at(10 ** axis.low) - 58) < 1e-9);
  const upwards = logAxis([1e9, 1e12], 400, 14);
  assert.ok(upwards.at(1e12) < upwards.at(1e9));
});

test("roofs of one rate are one", () => {
  const roofs = joinRoofs([
    {name: "HBM", unit: "B/s", rate: 3e12},
    {name: "BF16", unit: "FLOP/s", rate: 1e15},
    {name: "FP16", unit: "FLOP/s", rate: 1e15},
  ]);
  assert.deepStrictEqual(roofs.map(roof => [roof.name, roof.memory]),
    [["HBM", true], ["BF16, FP16", false]]);
});

test("the slider keeps the ranges with most of the time", () => {
  const points = [10, 50, 30, 10].map((ns, range) => ({time_ns: ns, range}));
  assert.deepStrictEqual(longestPoints(points, 100).map(point => point.range), [1, 2, 0, 3]);
  assert.deepStrictEqual(longestPoints(points, 60).map(point => point.range), [1, 2]);
  assert.deepStrictEqual(longestPoints(points, 5).map(point => point.range), [1]);
  assert.strictEqual(points[0].time_ns, 10);  // the list itself stays as it is
});

test("the slanted roof ends where it meets the highest flat one", () => {
  const axes = [{low: -1, high: 4}, {low: 9, high: 15}];
  assert.deepStrictEqual(slantedRoof(1e12, 100, true, ...axes), {start: 0.1, end: 100});
  assert.deepStrictEqual(slantedRoof(1e12, 100, false, ...axes), {start: 0.1, end: 1000});
  assert.deepStrictEqual(slantedRoof(1e9, 1e6, true, ...axes), {start: 1, end: 10000});
});

test("a label takes the first place that has room", () => {
  const places = [{x: 10, y: 50}, {x: 10, y: 80}, {x: 200, y: 50}];
  assert.deepStrictEqual(freePlace(places, 40, 0, 300, []), places[0]);
  const box = {x: 0, y: 52, wide: 30, high: 10};
  assert.deepStrictEqual(freePlace(places, 40, 0, 300, [box]), places[1]);
  assert.deepStrictEqual(freePlace(places, 40, 20, 300, [box]), places[2]);
  assert.strictEqual(freePlace(places, 40, 20, 220, [box]), undefined);
});
