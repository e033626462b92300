"use strict";
// A range keeps its colour in all figures, and one range is chosen at a time.

/** As many as the style has: --range-0 to --range-11. */
const colourCount = 12;
const colours = new Map();

/** A number of a colour that no sibling of the range, or of one above it, has. */
function freeColour(place) {
  const near = new Set();
  for (let row = folded.rows[place]; row.place !== 0; row = folded.rows[row.parent]) {
    for (const sibling of folded.rows[row.parent].children) near.add(colours.get(sibling.place));
  }
  let colour = colours.size % colourCount;
  for (let tries = 0; tries < colourCount && near.has(colour); tries += 1) {
    colour = (colour + 1) % colourCount;
  }
  return colour;
}

/** The colour of a range, by its place in the folded table. */
function color(place) {
  if (place === 0) return "var(--rest)";
  if (!colours.has(place)) colours.set(place, freeColour(place));
  return "var(--range-" + colours.get(place) + ")";
}

/** Those that took longest by themselves get their colours first. */
function colourLongest() {
  const ownTime = row => selfOf(row, gpuTimeOfRun) || row.host_self_ns * 1e-3;
  const longest = folded.rows.slice(1).sort((a, b) => ownTime(b) - ownTime(a) || a.place - b.place);
  longest.slice(0, colourCount).forEach(row => color(row.place));
}
colourLongest();

/** Functions that hear of the choice: (place). */
const listeners = [];
let chosen = 0;

/** Whether someone chose a range: until then figures mark none. */
let isChosen = false;

/** The address of a choice: the path of a range, by which another page of the program knows it. */
const addressOf = place => "#range=" + encodeURIComponent(folded.rows[place].path);

/** The place of a range that an address names; undefined where it names none that is here. */
function placeOfAddress(address) {
  if (!address.startsWith("#range=")) return undefined;
  let path = address.slice("#range=".length);
  try {
    path = decodeURIComponent(path);
  } catch (error) {
    return undefined;
  }
  const row = folded.rows.find(item => item.path === path);
  return row && row.place;
}

/** How a figure shows a range: `picked`, `pale` beside a chosen one, or as it is. */
function lookOf(place) {
  if (!isChosen || !chosen) return null;
  if (place === chosen) return "picked";
  return isWithin(place, chosen) || isWithin(chosen, place) ? null : "pale";
}

/** Whether a range or one above it has the words of a filter. */
const hasWords = (place, words) => titleOf(place).toLowerCase().includes(words);

/** The same; a filter makes places without its words pale. */
const lookWith = (place, words) => words && !hasWords(place, words) ? "pale" : lookOf(place);

/** What can be read on a range as a figure shows it. */
const inkOf = (place, paint, words) =>
  lookWith(place, words) === "pale" ? "var(--text)" : ink(paint);

/** Chooses a range by its place in the folded table; what is quiet is not marked or kept. */
function choose(place, quiet) {
  chosen = place;
  if (!quiet) {
    isChosen = true;
    const address = place ? addressOf(place) : "";
    if (location.hash !== address) history.pushState(null, "", address || location.pathname);
  }
  for (const listener of listeners) listener(place);
}
