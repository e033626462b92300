"use strict";
// The bars of the timeline, and which of them are one at a zoom.

/** Bars that are narrower than this many pixels are joined with their neighbours. */
const narrowBar = 2;

const packedDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
const digitValues = new Map([...packedDigits].map((digit, value) => [digit.charCodeAt(0), value]));

/** Numbers of a text, from 0 on: digits of five bits, the lowest first, and a bit for more. */
function unpack(text) {
  const numbers = [];
  let [value, place] = [0, 1];
  for (let i = 0; i < text.length; i += 1) {
    const digit = digitValues.get(text.charCodeAt(i));
    value += (digit & 31) * place;
    place *= 32;
    if (digit & 32) continue;
    numbers.push(value);
    [value, place] = [0, 1];
  }
  return numbers;
}

/**
 * The bars of a track in the order of time: begin, end, busy time, how many records, label, range.
 * A joined bar stands for records that were too many for the page.
 */
function readBars(track, labels) {
  const bars = [];
  const numbers = unpack(track.bars);
  let begin = 0;
  for (let i = 0; i + 2 < numbers.length; i += 3) {
    const [length, label] = [numbers[i + 1], numbers[i + 2]];
    begin += numbers[i];
    bars.push({
      begin,
      end: begin + length,
      busy: length,
      count: 1,
      longest: length,
      label: labels[2 * label],
      range: labels[2 * label + 1],
    });
  }
  const joined = unpack(track.joined);
  for (let i = 0; i + 2 < joined.length; i += 3) {
    const [position, records, busy] = joined.slice(i, i + 3);
    Object.assign(bars[position], {count: records, busy, longest: busy / records});
  }
  return bars;
}

/** What the host did in a gap, by the numbers that the page has of causes. */
const gapCauses = [
  "launch", "host work", "wait", "range end", "allocation", "graph", "copy", "device",
];

/** The gaps of a window as bars of a track: begin, length, cause; several may be joined in one. */
function readGaps({gaps, joined}) {
  const bars = [];
  let begin = 0;
  for (let i = 0; i + 2 < gaps.length; i += 3) {
    const [sinceLast, length, cause] = gaps.slice(i, i + 3);
    begin += sinceLast;
    const label = gapCauses[cause];
    const end = begin + length;
    bars.push({begin, end, busy: length, count: 1, longest: length, label, range: 0});
  }
  for (let i = 0; i + 3 < joined.length; i += 4) {
    const [position, amount, busy, longest] = joined.slice(i, i + 4);
    Object.assign(bars[position], {count: amount, busy, longest});
  }
  return bars;
}

/** The use of a device as bars: begin, length, thousandths. What is used is busy. */
function readUse({pieces, name}) {
  const bars = [];
  let begin = 0;
  for (let i = 0; i + 2 < pieces.length; i += 3) {
    const [sinceLast, length, use] = pieces.slice(i, i + 3);
    begin += sinceLast;
    const busy = length * use / 1000;
    const end = begin + length;
    bars.push({begin, end, busy, count: 1, longest: length, label: name, range: 0});
  }
  return bars;
}

/** Joins bars of devices with the calls that caused them: `bar.call` is {track, begin, end}. */
function joinCalls(tracks) {
  const calls = new Map();
  tracks.forEach((track, i) => {
    if (track.kind !== "calls") return;
    for (const bar of track.bars) {
      if (bar.count === 1) calls.set(bar.begin, {track: i, begin: bar.begin, end: bar.end});
    }
  });
  for (const track of tracks) {
    unpack(track.launched || "").forEach((number, i) => {
      const before = number % 2 ? -(number + 1) / 2 : number / 2;
      if (before) track.bars[i].call = calls.get(track.bars[i].begin - before);
    });
  }
}

/** Whether a bar has the words of a search in its label or in the path of its range. */
const matches = (bar, words, pathOf) =>
  bar.label.toLowerCase().includes(words) || pathOf(bar.range).toLowerCase().includes(words);

/** The first bar whose middle is behind a time, else the first of all; undefined where none is. */
function nextBar(bars, after) {
  const middle = bar => (bar.begin + bar.end) / 2;
  const sorted = bars.slice().sort((a, b) => middle(a) - middle(b));
  return sorted.find(bar => middle(bar) > after + 0.5) || sorted[0];
}

/** A bar that stands for another one too; its label is that of the longest. */
function joinBar(group, bar) {
  group.end = Math.max(group.end, bar.end);
  group.busy += bar.busy;
  group.count += bar.count;
  if (bar.longest <= group.longest) return;
  group.longest = bar.longest;
  group.label = bar.label;
  group.range = bar.range;
}

/**
 * Joins bars that are narrower than a width of time where they begin in the same column of it: a
 * gap of that width stays one.
 */
function joinBars(bars, width) {
  const groups = new Map();
  const joined = [];
  for (const bar of bars) {
    if (bar.end - bar.begin >= width) {
      joined.push(bar);
      continue;
    }
    const column = Math.floor(bar.begin / width);
    const group = groups.get(column);
    if (group) {
      joinBar(group, bar);
    } else {
      const first = {...bar};
      groups.set(column, first);
      joined.push(first);
    }
  }
  return joined;
}

/** The first position where a test holds that holds for all behind it too. */
function firstWhere(amount, test) {
  let [low, high] = [0, amount];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** Nanoseconds: bars are joined in steps of this, four times this, and so on. */
const finestColumn = 8;

/** The bars of a track for every zoom: what is drawn takes no longer where they are many. */
class BarLevels {
  constructor(bars) {
    this.levels = [this.indexed(bars)];
  }

  /** Bars in the order of time, and by position the latest end up to there. */
  indexed(bars) {
    let latest = 0;
    const ends = bars.map(bar => {
      latest = Math.max(latest, bar.end);
      return latest;
    });
    return {bars, ends};
  }

  /** The bars joined in columns of at most `width` nanoseconds. */
  at(width) {
    const steps = width < finestColumn
      ? 0 : 1 + Math.floor(Math.log(width / finestColumn) / Math.log(4) + 1e-9);
    while (this.levels.length <= steps) {
      const column = finestColumn * 4 ** (this.levels.length - 1);
      const {bars} = this.levels[this.levels.length - 1];
      this.levels.push(this.indexed(joinBars(bars, column)));
    }
    return this.levels[steps];
  }

  /** Those that have a part between two times, at a level. */
  between(from, to, {bars, ends} = this.levels[0]) {
    const first = firstWhere(bars.length, i => ends[i] >= from);
    const last = firstWhere(bars.length, i => bars[i].begin > to);
    return bars.slice(first, last).filter(bar => bar.end >= from);
  }
}

/**
 * What is drawn of a track between two times on so many pixels: what is too narrow to be seen is
 * joined with its neighbours.
 */
function visibleBars(levels, from, to, pixels) {
  const width = narrowBar * (to - from) / pixels;
  const bars = levels.between(from, to, levels.at(width));
  return joinBars(bars, width);
}

/**
 * What happened between two times: `busy` and `idle` of the GPU, idle time by cause, and kernels
 * and copies by name with launches and time, each with the longest first. A bar at the edge has its
 * part.
 */
function sumsBetween(tracks, from, to) {
  const add = (sums, label, bar) => {
    const part = Math.min(1, (Math.min(bar.end, to) - Math.max(bar.begin, from))
      / Math.max(1e-9, bar.end - bar.begin));
    const known = sums.get(label) || {label, range: bar.range, count: 0, ns: 0};
    known.count += bar.begin >= from && bar.begin < to ? bar.count : 0;
    known.ns += bar.busy * part;
    sums.set(label, known);
  };
  const [causes, names] = [new Map(), new Map()];
  for (const {kind, levels} of tracks) {
    const sums = kind === "gaps" ? causes : kind === "device" ? names : null;
    if (!sums) continue;
    for (const bar of levels.between(from, to)) add(sums, bar.label, bar);
  }
  const list = sums => [...sums.values()].filter(({ns}) => ns > 0).sort((a, b) => b.ns - a.ns);
  const idle = sum(list(causes), ({ns}) => ns);
  const length = to - from;
  return {length, idle, busy: length - idle, causes: list(causes), names: list(names)};
}

/** The part of a bar's time in which something ran. */
function busyShare(bar) {
  const length = bar.end - bar.begin;
  return length > 0 ? Math.min(1, bar.busy / length) : 1;
}

/** The part that lies within the length: at least `least` long, moved inwards at the ends. */
function clampWindow(from, to, length, least) {
  const size = Math.max(Math.min(least, length), Math.min(length, to - from));
  const begin = Math.max(0, Math.min(from, length - size));
  return {from: begin, to: begin + size};
}

/** The part of a bar between two places: what has room for its name. */
const seenPart = (begin, end, left, right) =>
  ({begin: Math.max(begin, left), end: Math.max(left, Math.min(end, right))});
