"use strict";
// Numbers as texts, each with its unit and the digits that count.

/** Whether there is no value: null, undefined or NaN. */
const none = value => value === null || value === undefined || Number.isNaN(value);

/** The first of some values that there is. */
const firstKnown = (...values) => values.find(value => !none(value));

const sum = (list, amount) => list.reduce((total, item) => total + (amount(item) || 0), 0);

/** Three digits that count: 1,234; 12.3; 1.23; 0.012; 1.2e-4. */
function digits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 99.95) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return size >= 0.0095 ? value.toFixed(3) : value.toExponential(1);
}

/** The value in the largest unit that leaves at least 1; each is `step` times the one before. */
function scaled(value, step, units) {
  if (none(value)) return "";
  let rest = value;
  let unit = 0;
  while (Math.abs(rest) >= step * 0.9995 && unit + 1 < units.length) {
    rest /= step;
    unit += 1;
  }
  return (unit === 0 && Number.isInteger(rest) ? rest.toString() : digits(rest)) + units[unit];
}

function time(ns) {
  if (none(ns)) return "";
  if (Math.abs(ns) < 999.5) return (Number.isInteger(ns) ? ns : digits(ns)) + " ns";
  return scaled(ns / 1000, 1000, [" us", " ms", " s"]);
}

const bytes = value => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);

function count(value) {
  if (none(value)) return "";
  if (Math.abs(value) >= 1e6) return scaled(value, 1000, ["", " k", " M", " G", " T"]);
  const isShort = Number.isInteger(value) && Math.abs(value) < 100;
  return isShort || value === 0 ? String(value) : digits(value);
}

/** An amount of things: `1 other`, `2 others`. */
const some = (amount, one, many) => count(amount) + " " + (amount === 1 ? one : many || one + "s");

/** Formats an amount a second: `rate("B/s")(2e12)` is `2.00 TB/s`. */
const rate = unit => value => {
  const units = ["", " k", " M", " G", " T", " P"].map(prefix => (prefix || " ") + unit);
  return none(value) ? "" : scaled(value, 1000, units);
};

function percent(value) {
  if (none(value)) return "";
  const size = Math.abs(value);
  if (size === 0) return "0 %";
  if (size < 0.005) return "< 0.01 %";
  const places = size >= 99.95 ? 0 : size >= 1 ? 1 : 2;
  return value.toFixed(places) + " %";
}

/** A share of a whole. A part that is larger than its whole is of other work: it has none. */
const shareText = value => none(value) || value > 100.05 ? "" : percent(Math.min(value, 100));

/** The singular of a unit: `faults` is `fault`, `misses/s` is `miss/s`. */
const singular = unit => unit.replace(/(?<=ss|ch)es(?=\/|$)|s(?=\/|$)/, "");

/** The function that formats a value in this unit of a metric. */
function inUnit(unit) {
  const known = {"%": percent, B: bytes, ns: time, s: value => time(value * 1e9), "": count};
  if (known[unit]) return known[unit];
  if (unit.endsWith("/s")) return rate(unit);
  return value => {
    if (none(value)) return "";
    return count(value) + " " + (value === 1 ? singular(unit) : unit);
  };
}

/** A text of at most `most` letters: one ellipsis stands for its middle, cut before or not. */
function cutMiddle(text, most) {
  if (text.length <= most) return text;
  const gap = text.indexOf("\u2026");
  const [begin, end] = gap < 0 ? [text, text] : [text.slice(0, gap), text.slice(gap + 1)];
  const half = Math.ceil((most - 1) / 2);
  const before = Math.min(begin.length, Math.max(half, most - 1 - end.length));
  const after = most - 1 - before;
  return begin.slice(0, before) + "\u2026" + (after > 0 ? end.slice(-after) : "");
}

/** With a capital, unless it begins with an identifier. */
function capital(text) {
  const first = /^\w*_/.test(text) ? text[0] : text[0].toUpperCase();
  return first + text.slice(1);
}

/** The same with a full stop. */
const sentence = text => text ? capital(text) + (/[.!?\u2026]$/.test(text) ? "" : ".") : "";
