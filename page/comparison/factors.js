"use strict";
// The factors of every column.

/** The columns that stand first, in this order. */
const importantColumns = [
  "gpu_busy_ns",
  "host_total_ns",
  "kernels",
  "launches",
  "launch_ns",
  "hbm_bytes",
  "l2_bytes",
  "l1_bytes",
  "global_load_bytes",
  "global_store_bytes",
  "instructions_executed",
  "flop",
  "tensor_flop",
];

const rankOf = name => importantColumns.indexOf(name) + 1 || importantColumns.length + 1;
const columnOf = (range, name) => range.values.find(value => value.name === name);

/** Whether a value differs by more than rounding. */
function hasChanged(value) {
  if (!value) return false;
  return value.before > 0 ? Math.abs(value.after / value.before - 1) > 0.0005 : value.after > 0;
}

const differing = data.columns
  .filter(column => ranges.some(range => hasChanged(columnOf(range, column.name))))
  .sort((a, b) => rankOf(a.name) - rankOf(b.name));

/** The colour of a cell: the stronger the further its factor is from 1. */
function shade(value) {
  if (!(value > 0)) return null;
  const part = Math.min(28, Math.round(9 * Math.abs(Math.log2(value))));
  const colour = value > 1 ? "--more" : "--less";
  if (part <= 0) return null;
  return "background:color-mix(in srgb, var(" + colour + ") " + part + "%, transparent)";
}

const amountOn = (value, side) => inUnit(value.unit)(value[side]);

function factorOf({before, after}) {
  if (before > 0) return factor(after / before);
  return after > 0 ? "new" : "";
}

/** The column of the factors of one column. */
function factorColumn(name) {
  const found = range => columnOf(range, name);
  const number = range => {
    const value = found(range);
    return value ? ratio(value.before, value.after) : null;
  };
  return {
    label: name,
    key: name,
    title: "factor of " + name + ", after / before",
    get: number,
    show: range => found(range) ? factorOf(found(range)) : "",
    hint: range => {
      const value = found(range);
      return value && amountOn(value, "before") + " before, " + amountOn(value, "after") + " after";
    },
    shade: range => shade(number(range)),
  };
}

const titleButton = range =>
  button(range.title, () => choose(range.path, true), {class: "pick"});

const factorColumns = [
  {label: "Range", key: "title", text: true, get: range => range.title, show: titleButton},
  {
    label: "Factor",
    key: "factor",
    title: "after / before, of the judged time",
    get: range => range.factor,
    show: range => factor(range.factor),
    shade: range => shade(range.factor),
  },
  {
    label: "Change",
    key: "delta",
    title: "of the judged time a " + meanUnit + ", after less before",
    get: range => Math.abs(range.delta),
    show: range => signed(range.delta, milliseconds),
  },
  {label: "Verdict", key: "said", text: true, get: range => range.said, show: range => range.said},
  {
    label: "95 % interval",
    key: "ends",
    title: "of the factor, by the noise of calls, ranges and runs",
    get: range => range.ends && range.ends[1] - range.ends[0],
    show: range => range.ends ? between(range.ends) : "",
  },
  {
    label: "Before",
    key: "was",
    title: "a " + meanUnit,
    get: range => range.was,
    show: range => milliseconds(range.was),
  },
  {
    label: "After",
    key: "now",
    title: "a " + meanUnit,
    get: range => range.now,
    show: range => milliseconds(range.now),
  },
  ...differing.map(column => factorColumn(column.name)),
];

const factorTable = {key: "delta", most: 100};

/** The ranges in the order of a column: texts upwards, numbers downwards. */
function sortedRanges(column) {
  const number = range => none(column.get(range)) ? -1 : column.get(range);
  const compare = column.text ? (a, b) => column.get(a).localeCompare(column.get(b))
                              : (a, b) => number(b) - number(a);
  return ranges.slice().sort(compare);
}

function factorHeading(column) {
  const direction = column.text ? "ascending" : "descending";
  const sorted = column.key === factorTable.key ? direction : undefined;
  const sort = () => {
    factorTable.key = column.key;
    drawFactors();
  };
  const style = {class: column.text && "text", "data-about": column.title, "aria-sort": sorted};
  return el("th", {scope: "col", ...style}, button(column.label, sort));
}

function factorCell(range, column, i) {
  if (i === 0) return el("th", {scope: "row"}, el("div", {class: "name"}, column.show(range)));
  return el("td", {
    class: column.text && "text",
    style: column.shade && column.shade(range),
    title: column.hint && column.hint(range),
  }, column.show(range));
}

function drawFactors() {
  const list = sortedRanges(factorColumns.find(column => column.key === factorTable.key));
  const shown = list.slice(0, factorTable.most);
  const line = range => el("tr", {class: range.path === chosen && "picked"},
    factorColumns.map((column, i) => factorCell(range, column, i)));
  const box = byId("factor-rows");
  box.classList.toggle("tall", isTall(shown.length));
  // Of some hundred columns a reader on paper needs those of the verdict, which stand first.
  box.replaceChildren(el("table", {"data-first-on-paper": true},
    el("thead", {}, el("tr", {}, factorColumns.map(factorHeading))),
    el("tbody", {}, shown.map(line))));
  fitColumns(box);
  byId("factor-more").hidden = list.length <= shown.length;
  byId("factor-more").textContent = "Show " + some(list.length - shown.length, "more range");
}

/** The names of the columns that all ranges have alike. */
function sameColumns() {
  const isUsed = column => ranges.some(range => (columnOf(range, column.name) || {}).before > 0);
  const same = data.columns.filter(column => !differing.includes(column) && isUsed(column));
  return same.map(column => column.name);
}

const indexTable = () => table("Ranges with an index", [
  {label: "Range", get: range => range.title, text: true},
  {label: "Verdict", get: range => range.said, text: true},
  {label: "Change", get: range => signed(range.delta, milliseconds)},
  {label: "Factor", get: range => factor(range.factor)},
  {label: "95 % interval", get: range => range.ends ? between(range.ends) : ""},
  {label: "Before", get: range => milliseconds(range.was)},
  {label: "After", get: range => milliseconds(range.now)},
], indexed);

function factors() {
  if (!ranges.length) return;
  const same = sameColumns();
  const sameText = "The same in all ranges: " + same.join(", ") + ".";
  const showMore = () => {
    factorTable.most += 1000;
    drawFactors();
  };
  const onPaper = "On paper: the first columns of the table. The page and the JSON of"
    + " compare --json have all of them, of each range.";
  const rows = tableBox("Table of factors", 0);
  rows.id = "factor-rows";
  const about = "After / before, of a " + meanUnit + "; the columns are those of"
    + " ranges.csv and of the counters. A click on a heading sorts."
    + leftOut("ranges", ranges.length);
  section("factors", "Factors of every column", about,
    rows,
    button("", showMore, {id: "factor-more", hidden: true}),
    el("p", {class: "about on-paper"}, onPaper),
    same.length ? el("p", {class: "about on-screen", style: "margin-top:.6rem"}, sameText) : null,
    indexed.length ? details("Each index by itself", indexTable) : null);
  drawFactors();
}
