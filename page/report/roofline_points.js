"use strict";
// What the roofline shows: ranges, kernels and the roofs of each level of memory.

/** The levels from the device's memory to the SM, with their names and the keys of kernels. */
const memoryLevels = [
  {key: memoryName, name: memoryName, counted: "counted_hbm_bytes"},
  {key: "L2", name: "L2", counted: "counted_l2_bytes"},
  {key: "L1", name: "L1", counted: "counted_l1_bytes"},
  {key: "shared", name: "shared memory", counted: "counted_shared_bytes"},
];
const levelName = key => memoryLevels.find(level => level.key === key).name;

/** All points of ranges, counted and declared. */
const rangePoints = answer.points;

/** The levels that any point is of. */
const levelsIn = points =>
  memoryLevels.map(level => level.key).filter(key => points.some(point => point.level === key));

/** The points of ranges below which no other range has a point. */
function innermostPoints(points) {
  const withPoints = new Set(points.map(point => point.range));
  const hasInner = row =>
    row.children.some(child => withPoints.has(child.place) || hasInner(child));
  return points.filter(point => !hasInner(folded.rows[point.range]));
}

/** The counted work of a kernel at one level as a point; null where there is none. */
function kernelPoint(name, sums, {key, counted}) {
  const size = sums[counted];
  const {counted_flops: flops, counted_ns: ns} = sums;
  if (!(size > 0) || !(flops > 0) || !(ns > 0)) return null;
  return {
    kernel: name,
    range: sums.range,
    level: key,
    evidence: "counted",
    flops,
    bytes: size,
    flop_per_byte: flops / size,
    flop_per_second: flops / ns * 1e9,
    time_ns: ns,
  };
}

/** The kernels of a range that were counted one by one: a point for each level. */
function kernelPoints(place) {
  const keys = ["counted_ns", "counted_flops", ...memoryLevels.map(level => level.counted)];
  const kernels = new Map();
  for (const kernel of kernelRows) {
    if (!(kernel.counted_ns > 0) || !isWithin(kernel.range, place)) continue;
    const sums = kernels.get(kernel.name) || {range: kernel.range};
    for (const key of keys) sums[key] = (sums[key] || 0) + (kernel[key] || 0);
    kernels.set(kernel.name, sums);
  }
  return [...kernels].flatMap(([name, sums]) =>
    memoryLevels.map(level => kernelPoint(name, sums, level)).filter(Boolean));
}

/**
 * The roofs of some levels, and of all kinds of operations: `idle` are those that nothing used
 * while others were.
 */
function roofsFor(levels) {
  const isMemory = roof => roof.unit === "B/s";
  const compute = answer.roofs.filter(roof => !isMemory(roof));
  const isCounted = compute.some(roof => roof.used);
  const moved = answer.roofs.filter(roof => isMemory(roof) && levels.includes(roof.name))
    .map(roof => ({...roof, name: levelName(roof.name)}));
  return {
    slanted: joinRoofs(moved),
    flat: joinRoofs(compute.map(roof => ({...roof, idle: isCounted && !roof.used})))
      .filter(roof => roof.rate > 0)
      .sort((a, b) => b.rate - a.rate),
  };
}

/** The points with the most time, until they have `part` per cent of it; all levels of a range. */
function longestPoints(points, part) {
  const times = new Map(points.map(point => [point.range, point.time_ns]));
  const total = sum([...times.values()], ns => ns);
  const kept = new Set();
  let before = 0;
  for (const [range, ns] of [...times].sort((a, b) => b[1] - a[1] || a[0] - b[0])) {
    if (before < total * part / 100 || before === 0) kept.add(range);
    before += ns;
  }
  return points.filter(point => kept.has(point.range))
    .sort((a, b) => b.time_ns - a.time_ns || a.range - b.range);
}
