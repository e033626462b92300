"use strict";
// The geometry of the roofline: logarithmic axes, where roofs meet, the outlines of marks, where
// labels have room.

/**
 * A logarithmic axis on which all values have room: `at(value)` is a place between `from` and `to`,
 * `low` and `high` are the ends as powers of ten, `powers` the whole ones between.
 */
function logAxis(values, from, to) {
  const low = Math.log10(Math.min(...values)) - 0.35;
  const high = Math.log10(Math.max(...values)) + 0.3;
  const at = value => from + (Math.log10(value) - low) / (high - low) * (to - from);
  const powers = [];
  for (let power = Math.ceil(low); power <= high; power += 1) powers.push(power);
  return {low, high, at, powers};
}

/** Roofs of one rate and unit are one, with both names; one that is idle is none that is used. */
function joinRoofs(all) {
  const roofs = [];
  for (const roof of all) {
    const same = roofs.find(other =>
      other.unit === roof.unit && other.rate === roof.rate && other.idle === roof.idle);
    if (same) {
      same.name += ", " + roof.name;
    } else {
      roofs.push({...roof});
    }
  }
  return roofs;
}

/** From where to where the slanted roof goes, in FLOP a byte: up to the highest flat one. */
function slantedRoof(perSecond, ridge, hasCompute, x, y) {
  const start = Math.max(10 ** x.low, 10 ** y.low / perSecond);
  const end = Math.min(10 ** x.high, hasCompute ? ridge : 10 ** y.high / perSecond);
  return {start, end};
}

/** Whether a label of this place and width would lie on one of the boxes. */
function isCovered(place, width, boxes) {
  return boxes.some(box => {
    const isNear = Math.abs(box.y - place.y) < (box.high || 13);
    return isNear && place.x < box.x + box.wide && box.x < place.x + width;
  });
}

/** The first of the places that has room between `left` and `right`; undefined where none has. */
function freePlace(places, width, left, right, boxes) {
  return places.find(place =>
    place.x >= left && place.x + width <= right && !isCovered(place, width, boxes));
}

/** The corners of a mark of radius 1, so that all marks have the area of a circle. */
const markCorners = {
  L2: [[-0.89, -0.89], [0.89, -0.89], [0.89, 0.89], [-0.89, 0.89]],
  L1: [[0, -1.45], [1.3, 0.8], [-1.3, 0.8]],
  shared: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
};

/**
 * The outline of a mark: device memory is a circle, L2 a square, L1 a triangle, shared memory a
 * diamond.
 */
function markOutline(level, x, y, r) {
  if (!markCorners[level]) {
    const turn = "a" + r + " " + r + " 0 1 0 ";
    return "M" + (x - r) + " " + y + turn + 2 * r + " 0" + turn + -2 * r + " 0Z";
  }
  const place = ([across, down]) => (x + r * across) + " " + (y + r * down);
  return "M" + markCorners[level].map(place).join("L") + "Z";
}

/** The boxes that a line takes. */
function lineBoxes({first, last}) {
  const pieces = 40;
  // In pixels.
  const least = 6;
  return Array.from({length: pieces + 1}, (_, i) => ({
    x: first.x + i / pieces * (last.x - first.x) - least / 2,
    y: first.y + i / pieces * (last.y - first.y) + 4,
    wide: Math.max(least, Math.abs(last.x - first.x) / pieces),
    high: 8,
  }));
}

/**
 * The boxes of a text along a line that rises by `angle` radians, its middle above a place of the
 * line: small ones, each of which has room by itself.
 */
function slantedBoxes(middle, angle, wide) {
  // In pixels: of a box, from one to the next at most, from the line to the middle of the text.
  const size = 10;
  const spacing = 12;
  const away = 9;
  const pieces = Math.max(2, Math.ceil(wide / spacing));
  return Array.from({length: pieces}, (_, i) => {
    const along = (i / (pieces - 1) - 0.5) * wide;
    return {
      x: middle.x + along * Math.cos(angle) + away * Math.sin(angle) - size / 2,
      y: middle.y + along * Math.sin(angle) - away * Math.cos(angle) + size / 2,
      wide: size,
    };
  });
}
