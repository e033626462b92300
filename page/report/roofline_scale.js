"use strict";
// The geometry of the roofline: logarithmic axes, where roofs meet, where labels have room.

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

/** Roofs of one rate and unit are one, with both names. */
function joinRoofs(all) {
  const roofs = [];
  for (const roof of all) {
    const same = roofs.find(other => other.unit === roof.unit && other.rate === roof.rate);
    if (same) {
      same.name += ", " + roof.name;
    } else {
      roofs.push({...roof, memory: roof.unit === "B/s"});
    }
  }
  return roofs;
}

/** The points with the most time, until they have `part` per cent of it. */
function longestPoints(points, part) {
  const list = points.slice().sort((a, b) => b.time_ns - a.time_ns || a.range - b.range);
  const total = sum(list, point => point.time_ns);
  let before = 0;
  return list.filter(point => {
    const isKept = before < total * part / 100 || before === 0;
    before += point.time_ns;
    return isKept;
  });
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
