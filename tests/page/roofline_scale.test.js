"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");

const {
  logAxis, joinRoofs, slantedRoof, freePlace, isCovered, markOutline, lineBoxes, slantedBoxes,
} = load(
  ["shared/units.js", "report/roofline_scale.js"],
  ["logAxis", "joinRoofs", "slantedRoof", "freePlace", "isCovered", "markOutline", "lineBoxes",
    "slantedBoxes"]);

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
  assert.deepStrictEqual(roofs.map(roof => [roof.name, roof.rate]),
    [["HBM", 3e12], ["BF16, FP16", 1e15]]);
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

/** The area of an outline of straight lines, and its extent. */
function areaOf(outline) {
  const corners = outline.slice(1, -1).split("L").map(corner => corner.split(" ").map(Number));
  const doubled = corners.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = corners[(i + 1) % corners.length];
    return sum + x * nextY - nextX * y;
  }, 0);
  return Math.abs(doubled) / 2;
}

test("the marks of all levels have about the area of a circle", () => {
  for (const level of ["L2", "L1", "shared"]) {
    const area = areaOf(markOutline(level, 100, 50, 10));
    assert.ok(Math.abs(area / (Math.PI * 100) - 1) < 0.07, level + " " + area);
  }
  assert.match(markOutline("HBM", 100, 50, 10), /^M90 50a10 10/);
});

test("a name along a line is above it, and lies on another line that is near", () => {
  const line = {first: {x: 0, y: 100}, last: {x: 400, y: 100}};
  const name = slantedBoxes({x: 200, y: 100}, 0, 90);
  assert.ok(name.every(box => box.y < 100 && box.x >= 150 && box.x <= 250));
  const isOn = boxes => name.some(box => isCovered(box, box.wide, boxes));
  assert.ok(!isOn(lineBoxes(line)));
  assert.ok(isOn(lineBoxes({first: {x: 0, y: 92}, last: {x: 400, y: 92}})));
  const across = lineBoxes({first: {x: 0, y: 0}, last: {x: 400, y: 190}});
  assert.ok(isOn(across));
});
