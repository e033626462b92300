"use strict";
// The ranges of the run: two tables, with indices folded (block[*]) and each index by itself.

const answer = data.answer;
const summary = answer.step;
const hasSteps = summary.from_steps;
/** What people call the memory of the devices. */
const memoryName = data.memory_name;

/** The rows of a table as objects with the columns of ranges.csv. */
function readRows(names, same, rows) {
  return rows.map(cells => {
    const row = {...same};
    names.forEach((name, i) => {
      row[name] = cells[i];
    });
    return row;
  });
}

/** Gives a row its label, its path, its depth and its parent's list of children. */
function placeRow(row, rows) {
  row.label = row.name + (none(row.index) ? "" : "[" + row.index + "]");
  if (none(row.parent)) {
    row.depth = 0;
    row.label = "(outside ranges)";
    row.path = row.label;
    return;
  }
  const parent = rows[row.parent];
  parent.children.push(row);
  row.depth = parent.depth + 1;
  row.path = parent.depth ? parent.path + "/" + row.label : row.label;
  if (row.thread && row.thread !== parent.thread) row.label += " (" + row.thread + ")";
}

/** A table: its rows, a parent before its children, and the metrics that were counted for them. */
function readView(view) {
  const rows = readRows(data.columns, data.same, view.rows);
  rows.forEach((row, place) => {
    row.place = place;
    row.children = [];
    row.counted = view.counted && view.counted[place] || [];
    row.folded = view.folded ? view.folded[place] : place;
    placeRow(row, rows);
  });
  for (const row of rows.slice().reverse()) {
    const isCalled = row.calls > 0 && row.step_share > 0;
    row.inside = isCalled || row.children.some(child => child.inside);
  }
  return {name: view.name, total: view.total, rows, metrics: view.metrics || []};
}

const views = data.views.map(readView);
const folded = views[0];
const metricAt = new Map(folded.metrics.map((metric, i) => [metric.key, i]));

/** A counted value of a row; undefined where the metric was not counted. */
const metric = (row, key) => metricAt.has(key) ? row.counted[metricAt.get(key)] : undefined;

const anyRow = test => folded.rows.some(test);

/** What a row did itself, without the rows below it: of an amount that adds up. */
function selfOf(row, amount) {
  const all = amount(row);
  return none(all) ? all : Math.max(0, all - sum(row.children, amount));
}

/** GPU time in the run; overlapping work counts each. */
const gpuTimeOfRun = row => (row.gpu_kernel_ns || 0) + (row.gpu_copy_ns || 0);

const titleOf = place => folded.rows[place] ? folded.rows[place].path : "";

// Where all ranges lie below one, figures leave its name out.
const tops = folded.rows.filter(row => row.depth === 1);
const commonTop = tops.length === 1 && tops[0].children.length ? tops[0].path + "/" : "";

function shortPath(path) {
  return commonTop && path.startsWith(commonTop) ? path.slice(commonTop.length) : path;
}

/** The last names of a path, as many as fit into the legend of the budget. */
function endOfPath(path) {
  const most = 26; // characters
  if (path.length <= most) return path;
  const names = path.split("/");
  let end = names.pop();
  while (names.length && end.length + names[names.length - 1].length + 3 <= most) {
    end = names.pop() + "/" + end;
  }
  return names.length ? "\u2026/" + end : end;
}

const shortTitle = place => shortPath(titleOf(place));
const lastName = path => shortPath(path).split("/").pop();

/** Whether a row of the folded table is another one, or lies below it. */
function isWithin(place, top) {
  for (let row = folded.rows[place]; row; row = folded.rows[row.parent]) {
    if (row.place === top) return true;
  }
  return false;
}
