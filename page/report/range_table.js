"use strict";
// The table of ranges: folding, sorting, searching.

/** The columns that work outside of all ranges has an amount for. */
const outsideColumns = ["kernels", "copies", "launch", "waits", "allocations"];

/** How many rows are shown before a click on the button for more. */
const firstRows = 250;

const rangeTable = {
  view: folded,
  sort: data.sort,
  isReversed: false,
  search: "",
  per: true,
  open: new Set(),
  most: firstRows,
  updateFocus: () => {},
};
if (rangeTable.sort === "cost") {
  rangeTable.sort = columns.some(column => column.key === "busy") ? "busy" : "host";
}

function shownRows() {
  const {view, sort, search, open, per} = rangeTable;
  const column = columns.find(item => item.key === sort);
  return visibleRows({
    rows: view.rows,
    sort: column || (sort === "name" ? "name" : "order"),
    isReversed: rangeTable.isReversed,
    search,
    isOpen: row => open.has(row.place),
    isHidden: row => per && inNoStep(row),
  });
}

/** Unfolds the rows above a depth; fewer where they would be more than `limit`. */
function openTo(depth, limit) {
  rangeTable.open.clear();
  for (const row of rangeTable.view.rows) {
    if (row.depth < depth && row.children.length) rangeTable.open.add(row.place);
  }
  if (depth > 1 && limit && shownRows().length > limit) openTo(depth - 1, limit);
}

/** The GPU's time with work that no range launched, which is known of a mean step. */
function rangelessValue(column) {
  const ns = summary.rangeless_busy_ns;
  if (!rangeTable.per || !(ns > 0)) return null;
  if (column.key === "busy") return ns;
  return column.key === "share" ? 100 * ns / summary.period_ns : null;
}

/** The amount of a cell: of the whole run, or of a mean step. */
function cellValue(row, column) {
  if (row.outside) {
    if (!outsideColumns.includes(column.key)) return rangelessValue(column);
    return selfOf(rangeTable.view.rows[0], rangeTable.per && column.per || column.get);
  }
  const value = column.get(row);
  return none(value) || !column.per || !rangeTable.per ? value : column.per(row);
}

function rangeCell(row, column) {
  const value = cellValue(row, column);
  const text = value ? column.show(value) : "";
  if (!column.bar || !(value > 0)) return el("td", {class: column.text && "text"}, text);
  const style = "width:" + Math.min(100, value) + "%;background:" + color(row.folded);
  return el("td", {}, text, el("span", {class: "bar", "aria-hidden": "true"}, el("span", {style})));
}

function toggleRow(row) {
  if (!rangeTable.open.delete(row.place)) rangeTable.open.add(row.place);
  drawRanges(row.place);
}

function foldButton(row, name) {
  const isFoldable = row.children.length && !rangeTable.search;
  if (!isFoldable) return el("span", {class: "leaf", "aria-hidden": "true"}, "\u00b7");
  const isOpen = rangeTable.open.has(row.place);
  return button(isOpen ? "\u25be" : "\u25b8", () => toggleRow(row), {
    class: "fold",
    tabindex: "-1",
    "aria-expanded": String(isOpen),
    "aria-label": (isOpen ? "Fold " : "Unfold ") + name,
  });
}

const rowId = place => (rangeTable.view === folded ? "row-" : "each-") + place;

function rangeRow(row) {
  const style = "padding-left:" + ((row.depth - 1) * 1.05 + 0.3) + "rem";
  if (row.more) {
    const amount = some(row.more, "smaller range is", "smaller ranges are");
    const cell = {class: "more", colspan: columns.length + 1, style};
    return el("tr", {}, el("td", cell, amount + " folded into the row above"));
  }
  const title = [row.path, row.shape, row.note].filter(Boolean).join("\n");
  const isPicked = row.folded === chosen && !row.outside;
  return el("tr", {id: row.outside ? "row-0" : rowId(row.place), class: isPicked && "picked"},
    el("th", {scope: "row", style}, el("div", {class: "name"},
      foldButton(row, row.label),
      button(row.label, () => choose(row.folded),
        {class: "pick", title, "data-place": row.place}))),
    columns.map(column => rangeCell(row, column)));
}

/**
 * The first heading sorts by execution, then by name; the others by their column, and at the next
 * click the other way round. The focus stays on the heading.
 */
function sortBy(key) {
  const isFirst = key === "order" || key === "name";
  rangeTable.isReversed = !isFirst && rangeTable.sort === key && !rangeTable.isReversed;
  const isOrder = key === "order" && rangeTable.sort === "order";
  if (isOrder) {
    rangeTable.sort = "name";
  } else {
    rangeTable.sort = key === "name" ? "order" : key;
  }
  drawRanges();
  byId("range-rows").querySelector("[aria-sort] button").focus();
}

function rangeHeading(key, {label, title, text}) {
  const isUpwards = key === "order" || key === "name" || Boolean(text);
  const direction = isUpwards !== rangeTable.isReversed ? "ascending" : "descending";
  const sorted = rangeTable.sort === key ? direction : undefined;
  return el("th", {scope: "col", class: text && "text", "aria-sort": sorted},
    button(label, () => sortBy(key), {"data-about": title}));
}

function rangeNote(rows) {
  const {view, search} = rangeTable;
  const match = some(rows.length, "row matches or stands above a match",
    "rows match or stand above a match") + ". ";
  const found = rows.length ? match : "No range matches. ";
  const left = view.total - view.rows.length;
  const leftOut = count(left) + " of " + count(view.total)
    + " ranges are folded into those above them: they cost least. ranges.csv has all.";
  return (search ? found : "") + (left > 0 ? leftOut : "");
}

/** Draws the table; the focus goes to the row of a place. */
function drawRanges(focus) {
  const rows = shownRows();
  const shown = rows.slice(0, rangeTable.most);
  const box = byId("range-rows");
  const first = {label: "Range", title: "in the order of execution, then by name"};
  box.classList.toggle("tall", isTall(shown.length));
  box.replaceChildren(el("table", {},
    el("thead", {}, el("tr", {},
      rangeHeading(rangeTable.sort === "name" ? "name" : "order", first),
      columns.map(column => rangeHeading(column.key, column)))),
    el("tbody", {}, shown.map(rangeRow))));
  fitColumns(box);
  rangeTable.updateFocus();
  byId("range-more").hidden = rows.length <= shown.length;
  byId("range-more").textContent = "Show " + some(rows.length - shown.length, "more row");
  byId("range-note").textContent = rangeNote(rows);
  const row = focus === undefined ? null : byId(rowId(focus));
  if (row) row.querySelector(".pick").focus();
}

/** The arrow keys to the sides fold and unfold a row. */
function foldByKey(key, item) {
  const place = Number(item.dataset.place);
  const isOpen = rangeTable.open.has(place);
  const isFold = key === "ArrowLeft" || key === "ArrowRight";
  const row = rangeTable.view.rows[place];
  if (!isFold) return false;
  if (row.children.length && isOpen === (key === "ArrowLeft")) toggleRow(row);
  return true;
}

/** Unfolds what is above a row of the folded table, so that it is shown when it is drawn next. */
function unfoldTo(place) {
  rangeTable.view = folded;
  rangeTable.search = "";
  byId("range-search").value = "";
  if (byId("range-view")) byId("range-view").value = "0";
  if (inNoStep(folded.rows[place])) {
    rangeTable.per = false;
    byId("range-per").value = "";
  }
  for (let row = folded.rows[place]; row && row.depth > 0; row = folded.rows[row.parent]) {
    if (row.place !== place) rangeTable.open.add(row.place);
  }
  const position = shownRows().findIndex(row => row.place === place);
  rangeTable.most = Math.max(rangeTable.most, position + 20);
}

/** Brings a row of the folded table into view. */
function showRow(place) {
  unfoldTo(place);
  choose(place);
  const row = byId("row-" + place);
  if (!row) {
    byId("ranges").scrollIntoView();
    return;
  }
  row.scrollIntoView({block: "center"});
  row.querySelector(".pick").focus({preventScroll: true});
}

/** What loads and saves a model: each once, by the whole run. */
function outsideSteps() {
  const isOutermost = row => inNoStep(row) && !inNoStep(folded.rows[row.parent]);
  const rows = folded.rows.filter(row => row.depth > 0 && isOutermost(row));
  if (!rows.length) return null;
  const shown = columns.filter(column => column.per && rows.some(row => column.get(row) > 0));
  const amounts = shown.map(column => ({
    label: column.label,
    title: column.title,
    get: row => column.get(row) ? column.show(column.get(row)) : "",
  }));
  const range = {label: "Range", get: row => row.path, text: true};
  return [
    el("h3", {}, "Outside of steps"),
    table("Ranges outside of steps, by the whole run", [range, ...amounts], rows),
  ];
}

function viewPicker() {
  if (views.length < 2) return null;
  const show = value => {
    rangeTable.view = views[value];
    openTo(2, 60);
    drawRanges();
  };
  const choices = [[0, "folded, as block[*]"], [1, "each by itself"]];
  return picker("Indices", choices, show, {id: "range-view"});
}

function amountPicker() {
  if (summary.count <= 1 && !anyRow(inNoStep)) return null;
  const show = value => {
    rangeTable.per = Boolean(value);
    drawRanges();
  };
  return picker("Amounts", [["1", "a step"], ["", "whole run"]], show, {id: "range-per"});
}

function rangeControls() {
  const search = event => {
    rangeTable.search = event.target.value.trim();
    drawRanges();
  };
  const unfoldAll = () => {
    openTo(99);
    drawRanges();
  };
  const foldAll = () => {
    rangeTable.open.clear();
    drawRanges();
  };
  return el("div", {class: "controls"},
    el("label", {}, "Search", el("input", {type: "search", id: "range-search", oninput: search})),
    viewPicker(),
    amountPicker(),
    button("Unfold all", unfoldAll),
    button("Fold all", foldAll),
    copyButtons(() => byId("range-rows").querySelector("table")));
}

function ranges() {
  openTo(3, 40);
  const about = "Amounts are of a mean " + unit + ". A click on a heading sorts, a second one the"
    + " other way round; the first heading is for the order of execution and for names. A click on"
    + " a name shows the range in the figures below. The arrow keys go from name to name, and"
    + " fold.";
  const limiter = " Limiter: the unit used most, if 60 % or more; else launch: the GPU waits for"
    + " the host; copies; or latency: kernels wait for their own results.";
  const showMore = () => {
    rangeTable.most += 1000;
    drawRanges();
  };
  const hasLimiter = columns.some(column => column.key === "limit");
  const rows = tableBox("Table of ranges", 0);
  rows.id = "range-rows";
  rangeTable.updateFocus = oneTabStop(rows, ".pick", foldByKey);
  section("ranges", "Ranges", about + (hasLimiter ? limiter : ""),
    rangeControls(),
    rows,
    el("p", {id: "range-note", class: "about", role: "status"}),
    button("", showMore, {id: "range-more", hidden: true}),
    outsideSteps());
  listeners.push(() => drawRanges());
  drawRanges();
}
