"use strict";
// Which rows the range table shows, and in which order: by search, sorting and folding.

/** The places of the rows whose path or label has the words, and of all rows above them. */
function matchingPlaces(rows, words) {
  const wanted = new Set();
  for (const match of rows) {
    if (!(match.path + "\n" + match.label).toLowerCase().includes(words)) continue;
    for (let row = match; row; row = rows[row.parent]) wanted.add(row.place);
  }
  return wanted;
}

const byLabel = (a, b) => a.label.localeCompare(b.label) || a.place - b.place;

/** Compares by a column: texts upwards, the empty ones last; numbers downwards. */
function byColumn(column) {
  const text = row => String(column.get(row) || "");
  const isEmpty = row => Number(text(row) === "");
  const number = row => column.get(row) || 0;
  if (column.text) {
    return (a, b) => isEmpty(a) - isEmpty(b) || text(a).localeCompare(text(b));
  }
  return (a, b) => number(b) - number(a) || a.place - b.place;
}

/** The children of a row in the order of the table; `sort` is a column, "name" or "order". */
function sortedRows(rows, sort, isReversed) {
  if (sort === "order") return rows;
  const sorted = rows.slice().sort(sort === "name" ? byLabel : byColumn(sort));
  return isReversed ? sorted.reverse() : sorted;
}

/**
 * The visible rows from the top: rows of the view, `{more}` for rows that are left out of the page,
 * and `{outside}` for work outside of all ranges.
 * `isReversed`: against the usual order of the column. `isHidden(row)`: a row that has no place
 * here; `isOpen(row)`: one whose children are shown.
 */
function visibleRows({rows, sort, isReversed, search, isOpen, isHidden}) {
  const words = search.toLowerCase();
  const wanted = words ? matchingPlaces(rows, words) : null;
  const result = [];
  const visit = row => {
    const below = wanted ? row.children.filter(child => wanted.has(child.place)) : row.children;
    for (const child of sortedRows(below, sort, isReversed)) {
      if (!wanted && isHidden(child)) continue;
      result.push(child);
      if (wanted || isOpen(child)) visit(child);
    }
    if (!wanted && row.hidden > 0) result.push({more: row.hidden, depth: row.depth + 1});
  };
  const root = rows[0];
  visit(root);
  const isOutside = column => root[column] > sum(root.children, row => row[column]);
  if (!wanted && (isOutside("kernels") || isOutside("copies"))) {
    result.push({...root, children: [], outside: true});
  }
  return result;
}
