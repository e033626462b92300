"use strict";
// The bars of the timeline, and which of them are one at a zoom.

/** Bars that are narrower than this many pixels are joined with their neighbours. */
const narrowBar = 2;

/**
 * The bars of a track in the order of time: begin, end, busy time, how many records, label, range.
 * A joined bar stands for records that were too many for the page.
 */
function readBars(track, labels) {
  const bars = [];
  let begin = 0;
  for (let i = 0; i + 2 < track.bars.length; i += 3) {
    const [sinceLast, length, label] = track.bars.slice(i, i + 3);
    begin += sinceLast;
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
  for (let i = 0; i + 2 < track.joined.length; i += 3) {
    const [position, records, busy] = track.joined.slice(i, i + 3);
    Object.assign(bars[position], {count: records, busy, longest: busy / records});
  }
  return bars;
}

/** What the host did in a gap, by the numbers that the page has of causes. */
const gapCauses = ["launch", "host work", "wait", "allocation", "copy", "device"];

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
    (track.launched || []).forEach((before, i) => {
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
 * What is drawn of a track between two times on so many pixels. Bars that are too narrow to be seen
 * are joined where they begin in the same few pixels: a gap of that width stays one.
 */
function visibleBars(bars, from, to, pixels) {
  const width = narrowBar * (to - from) / pixels;
  const groups = new Map();
  const visible = [];
  for (const bar of bars) {
    if (bar.end < from || bar.begin > to) continue;
    if (bar.end - bar.begin >= width) {
      visible.push(bar);
      continue;
    }
    const column = Math.floor((bar.begin - from) / width);
    const group = groups.get(column);
    if (group) {
      joinBar(group, bar);
    } else {
      const first = {...bar};
      groups.set(column, first);
      visible.push(first);
    }
  }
  return visible;
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
