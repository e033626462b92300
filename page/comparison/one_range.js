"use strict";
// All columns of the chosen range, and the ranges that only one side has.

let chosen = ranges.length ? ranges[0].path : null;

/** Chooses a range by its path; `goes`: the focus goes there too. */
function choose(path, goes) {
  chosen = path;
  drawRange();
  drawFactors();
  if (!goes) return;
  byId("range").scrollIntoView();
  byId("range-chosen").focus({preventScroll: true});
}

function timeSentence(range) {
  const times = milliseconds(range.was) + " before, " + milliseconds(range.now) + " after a "
    + range.unit;
  if (!range.judged) {
    const why = "Not judged: it is too small, or has few calls. Its ";
    return why + range.by + " time: " + times + ".";
  }
  const ends = range.ends ? " (95 % interval " + between(range.ends) + ")" : "";
  const most = shareText(100 * range.share);
  return "Judged by its " + range.by + " time: " + times + ", factor " + factor(range.factor) + ends
    + "; " + range.said + (most && "; " + most + " of a step at most") + ".";
}

function drawRange() {
  const range = ranges.find(other => other.path === chosen);
  const values = range.values.filter(value => value.before !== 0 || value.after !== 0);
  byId("range-chosen").value = range.path;
  byId("range-time").textContent = timeSentence(range);
  byId("range-columns").replaceChildren(table("Columns of the range", [
    {label: "Column", get: value => value.name, text: true},
    {label: "Factor", get: factorOf},
    {label: "Before", get: value => amountOn(value, "before")},
    {label: "After", get: value => amountOn(value, "after")},
  ], values));
}

function oneRange() {
  if (!ranges.length) return;
  const choices = ranges.map(range => [range.path, range.title]);
  const about = "Each column that is not 0 on both sides, of a mean " + unit + ". What begins with"
    + " first_step is of the first step; extremes, medians and deviations are of calls.";
  const select = picker("Range", choices, path => choose(path), {id: "range-chosen"});
  const made = section("range", "One range", about,
    el("div", {class: "controls"}, select),
    el("p", {id: "range-time", role: "status"}),
    el("div", {id: "range-columns"}));
  made.classList.add("on-screen");
  drawRange();
}

function onlyOn(side) {
  const name = "only_" + side;
  const paths = data[name];
  if (!paths.length) return null;
  const column = {label: "Range", get: path => path, text: true};
  return el("div", {},
    el("h3", {}, "Only " + side + ": " + some(data.totals[name], "range")),
    table("Ranges only " + side, [column], paths, {class: "wraps"}),
    leftOut(name, paths.length));
}

function onlyOne() {
  const parts = sides.map(onlyOn).filter(Boolean);
  if (!parts.length) return;
  section("only", "On one side only", "Ranges that the other side does not have.",
    el("div", {class: "two"}, parts));
}
