"use strict";
// The marks of an axis.

/** The smallest of 1, 2 and 5 times a power of ten that is not below `least`. */
function roundStep(least) {
  const base = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(times => times * base).find(step => step >= least);
}

const timeUnits = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]];

/**
 * The marks of an axis of times from `from` to `to` nanoseconds, about `most` of them: all in one
 * unit, with as many digits as tell them apart.
 */
function timeMarks(from, to, most) {
  const step = roundStep((to - from) / Math.max(3, most));
  const [name, size] = timeUnits.filter(([, ns]) => ns <= to).pop() || timeUnits[0];
  const places = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  const marks = [];
  for (let i = Math.ceil(from / step); i * step <= to; i += 1) {
    const ns = i * step;
    marks.push({ns, text: (ns / size).toFixed(places) + " " + name});
  }
  return marks;
}

/** About `most` marks of an axis of bytes from 0 on: round in the unit of the largest. */
function byteMarks(largest, most) {
  let size = 1;
  while (largest / size >= 1024) size *= 1024;
  const step = largest / size <= 1 ? size : roundStep(largest / size / most) * size;
  const marks = [];
  for (let value = 0; value <= largest; value += step) marks.push(value);
  return marks;
}
