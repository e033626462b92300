"use strict";
// Tables: their columns fit the width that they have, long ones scroll within themselves.

/** Names of the tables whose columns are all shown, although they have no room. */
const widened = new Set();

function showColumns(made, amount) {
  for (const row of made.rows) {
    [...row.cells].forEach((cell, i) => {
      cell.hidden = i >= amount;
    });
  }
}

/** Which columns stand together on paper: the first one, and as many others as have room. */
function columnGroups(widths, room) {
  const groups = [];
  let left = 0;
  for (let i = 1; i < widths.length; i += 1) {
    if (!groups.length || widths[i] > left) {
      groups.push([]);
      left = room - widths[0];
    }
    groups[groups.length - 1].push(i);
    left -= widths[i];
  }
  return groups;
}

/** On paper nothing can be unfolded: columns without room follow in a table of their own. */
function splitColumns(made, room) {
  const widths = [...made.tHead.rows[0].cells].map(head => head.offsetWidth);
  const [first, ...rest] = columnGroups(widths, room);
  const others = "firstOnPaper" in made.dataset ? [] : rest;
  const show = (copy, group) => {
    for (const row of copy.rows) {
      [...row.cells].forEach((cell, i) => {
        cell.hidden = i > 0 && !group.includes(i);
      });
    }
  };
  const copies = others.map(group => {
    const copy = made.cloneNode(true);
    copy.classList.add("continued");
    copy.querySelectorAll("[id]").forEach(item => item.removeAttribute("id"));
    show(copy, group);
    return copy;
  });
  show(made, first);
  made.after(...copies);
}

/** Hides the last columns that have no room, and offers them. */
function fitColumns(box) {
  const made = box.querySelector("table");
  const name = box.getAttribute("aria-label");
  const room = box.clientWidth;
  if (!made || !room) return;
  const heads = [...made.tHead.rows[0].cells];
  const added = box.querySelectorAll(".more-columns, .continued");
  if (added.length) showColumns(made, heads.length);
  added.forEach(item => item.remove());
  if (made.offsetWidth <= room) return;
  if (document.documentElement.classList.contains("paper")) {
    splitColumns(made, room);
    return;
  }
  const begin = made.getBoundingClientRect().left;
  const inside = heads.filter(head => head.getBoundingClientRect().right - begin <= room);
  let fitting = Math.max(2, inside.length);
  if (fitting >= heads.length) return;
  if (!widened.has(name)) {
    showColumns(made, fitting);
    // What stays may become wider without the others.
    while (made.offsetWidth > room && fitting > 2) {
      fitting -= 1;
      showColumns(made, fitting);
    }
  }
  const more = "Show " + some(heads.length - fitting, "more column");
  const text = widened.has(name) ? "Show fewer columns" : more;
  box.append(button(text, () => toggleColumns(box, name), {class: "more-columns"}));
}

function toggleColumns(box, name) {
  if (!widened.delete(name)) widened.add(name);
  fitColumns(box);
}

const fitting = new ResizeObserver(boxes => {
  for (const {target} of boxes) {
    if (target.fitted === target.clientWidth) continue;
    target.fitted = target.clientWidth;
    fitColumns(target);
  }
});

/** Only a table of many rows scrolls within itself. */
const isTall = rows => rows > 40;

/** The box around a table, which its name is for. */
function tableBox(name, rows, ...children) {
  const style = {class: isTall(rows) ? "scroll tall" : "scroll"};
  const box = el("div", {...style, tabindex: "0", role: "region", "aria-label": name}, children);
  fitting.observe(box);
  return box;
}

/**
 * A table of texts. A column has a `label` and `get(row)`; with `text` it is no number; `title` is
 * for its heading and its numbers, `about(row)` for one of them; `hint(row)` is what a cell has no
 * room for, read instead of it. `isPicked(row)`: whether a row is marked.
 */
function table(caption, columns, rows, attributes, isPicked = () => false) {
  const heading = ({label, text, title}) =>
    el("th", {scope: "col", class: text && "text", "data-about": title}, label);
  const cell = (column, row, isFirst) => {
    const value = column.get(row);
    const whole = column.text && !value.append && String(value).length > 40 && String(value);
    const title = column.hint ? column.hint(row) : whole;
    const scope = isFirst ? "row" : undefined;
    const about = column.about && column.about(row);
    const style = {
      class: column.text && "text", scope, title, "aria-label": column.hint && title,
      "data-about": about,
    };
    return el(isFirst ? "th" : "td", style, value);
  };
  const line = row => el("tr", {class: isPicked(row) && "picked"},
    columns.map((column, i) => cell(column, row, i === 0)));
  return tableBox(caption, rows.length, el("table", attributes || {},
    el("thead", {}, el("tr", {}, columns.map(heading))),
    el("tbody", {}, rows.map(line))));
}

/** The texts of a table's cells, of columns that have no room too. */
const textsOfTable = made => [...made.rows].map(row =>
  [...row.cells].map(cell => (cell.querySelector(".pick") || cell).textContent.trim()));

function markdownOf(rows) {
  const line = cells => "| " + cells.map(text => text.replace(/\|/g, "\\|")).join(" | ") + " |\n";
  return line(rows[0]) + line(rows[0].map((_, i) => i ? "--:" : "---"))
    + rows.slice(1).map(line).join("");
}

function csvOf(rows) {
  const cell = text => /[",\n]/.test(text) ? "\"" + text.replace(/"/g, "\"\"") + "\"" : text;
  return rows.map(cells => cells.map(cell).join(",") + "\n").join("");
}

/** Puts a text into the clipboard, also of a page that is a file. */
function copyText(text) {
  const box = el("textarea", {"aria-hidden": "true", tabindex: "-1"});
  const before = document.activeElement;
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
  if (before) before.focus();
}

/** What is shown of a table, for a comment or a spreadsheet. */
const copyButtons = find => [
  button("Copy as Markdown", () => copyText(markdownOf(textsOfTable(find())))),
  button("Copy as CSV", () => copyText(csvOf(textsOfTable(find())))),
];

/** What stands behind a summary; made when it is opened. */
function details(summary, make, open) {
  const box = el("details", {open}, el("summary", {}, summary), open ? make() : null);
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(make());
  });
  return box;
}

/** The numbers of a figure, which a screen reader and a spreadsheet can take. */
const numbersOfFigure = make => details("Numbers of this figure", make);
