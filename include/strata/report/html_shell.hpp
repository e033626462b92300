#include <strata/version.hpp>
#ifndef STRATA_REPORT_HTML_SHELL_HPP
#define STRATA_REPORT_HTML_SHELL_HPP

#include <strata/base/macros.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstddef>
#include <string>
#include <string_view>

// The page around the data: markup, style, and the parts of the script that every section uses. A
// compiler takes string literals of 64 KB; each part is shorter.

STRATA_BEGIN
namespace detail {

using std::string_view_literals::operator""sv;  // g++ counts the characters of others one by one

inline constexpr std::string_view page_markup = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:">
<meta name="color-scheme" content="light dark">
<title>Strata report</title>
<style>
)html"sv;

inline constexpr std::string_view page_style = R"css(
:root {
  --back: #f6f7f9; --card: #ffffff; --text: #1a1f27; --soft: #525c69; --line: #d9dee5; --track: #e9edf2;
  --link: #0b57b0; --strong: #0f2f57; --warn: #9a3b00; --warn-back: #fff4e8; --pick: #e3eefb; --grid: #e4e8ee;
  --c0: #3b76c4; --c1: #e2852e; --c2: #3f9d6b; --c3: #c8503f; --c4: #8765b8; --c5: #9a6b4f; --c6: #d570a9;
  --c7: #6f7d8c; --c8: #b3a125; --c9: #2a9fb5;
  --c10: #5f8f2f; --c11: #b04f86; --c12: #27686b; --c13: #8a5a1c; --rest: #b3bbc5;
}
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) {
  --back: #12161c; --card: #1a2029; --text: #e6eaf0; --soft: #a6b0bd; --line: #333c48; --track: #28303b;
  --link: #85b8f5; --strong: #cfe2fa; --warn: #ffb37a; --warn-back: #35261a; --pick: #22344b; --grid: #2a323d;
  --c0: #6a9fe6; --c1: #f0a35a; --c2: #63c08d; --c3: #e67a69; --c4: #ab8fdd; --c5: #bd9177; --c6: #ec97c6;
  --c7: #95a2b1; --c8: #d3c455; --c9: #58c3d8;
  --c10: #9cc96b; --c11: #dd86b5; --c12: #67aeb1; --c13: #cfa068; --rest: #5b6675;
} }
:root[data-theme="dark"] {
  --back: #12161c; --card: #1a2029; --text: #e6eaf0; --soft: #a6b0bd; --line: #333c48; --track: #28303b;
  --link: #85b8f5; --strong: #cfe2fa; --warn: #ffb37a; --warn-back: #35261a; --pick: #22344b; --grid: #2a323d;
  --c0: #6a9fe6; --c1: #f0a35a; --c2: #63c08d; --c3: #e67a69; --c4: #ab8fdd; --c5: #bd9177; --c6: #ec97c6;
  --c7: #95a2b1; --c8: #d3c455; --c9: #58c3d8;
  --c10: #9cc96b; --c11: #dd86b5; --c12: #67aeb1; --c13: #cfa068; --rest: #5b6675; color-scheme: dark;
}
:root[data-theme="light"] { color-scheme: light; }
* { box-sizing: border-box; }
html { scroll-padding-top: 3.2rem; }
body { margin: 0; overflow-wrap: anywhere; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 1320px; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.1rem; display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; }
header h1 { margin: 0; font-size: 1.3rem; font-weight: 650; color: var(--strong); overflow-wrap: anywhere; flex: 1; }
header p { margin: 0; color: var(--soft); flex: 1 0 100%; overflow-wrap: anywhere; }
nav { position: sticky; top: 0; z-index: 5; background: var(--back); border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
nav ul { max-width: 1320px; margin: 0 auto; padding: .35rem 1.25rem; display: flex; gap: 1.1rem; list-style: none; overflow-x: auto;
  white-space: nowrap; }
nav a { display: inline-block; padding: .25rem 0; }
a { color: var(--link); }
a:not(:hover) { text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.15rem 1.1rem; margin: 0 0 1rem; }
h2 { margin: 0 0 .2rem; font-size: 1.12rem; color: var(--strong); }
h3 { margin: 1.1rem 0 .3rem; font-size: .98rem; }
p.about { margin: 0 0 .7rem; color: var(--soft); max-width: 75ch; }
#headline p { margin: 0 0 .6rem; } .answer { font-size: 1.2rem; font-weight: 650; color: var(--strong); }
.tiles { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); margin: 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .7rem .9rem; min-width: 0; }
.tile dt { color: var(--soft); font-size: .86rem; }
.tile dd { margin: 0; font-size: 1.5rem; font-weight: 620; letter-spacing: -.01em; overflow-wrap: anywhere; }
.tile dd.small { font-size: 1.05rem; line-height: 1.35; padding-top: .3rem; }
.tile dd.note { font-size: .84rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
#headline { background: none; border: 0; padding: 0; }
.meter { height: .5rem; border-radius: .25rem; background: var(--track); overflow: hidden; margin-top: .35rem; display: flex; }
.meter span { background: var(--c0); }
.findings { margin: 0; padding: 0; list-style: none; counter-reset: finding; }
.findings > li { border-top: 1px solid var(--line); padding: .75rem 0 .75rem 2.5rem; position: relative; counter-increment: finding; }
.findings > li:first-child { border-top: 0; padding-top: .3rem; }
.findings > li:last-child { padding-bottom: 0; }
.findings > li::before { content: counter(finding); position: absolute; left: 0; width: 1.7rem; height: 1.7rem; border-radius: 50%;
  background: var(--pick); color: var(--strong); text-align: center; line-height: 1.7rem; font-weight: 620; font-size: .9rem; }
.findings h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
.findings p { margin: .15rem 0; max-width: 90ch; overflow-wrap: anywhere; }
.findings .gain { color: var(--warn); font-weight: 620; white-space: nowrap; }
.findings p.evidence { max-width: none; }
.evidence { color: var(--soft); font-size: .9rem; }
.controls { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: center; margin: .2rem 0 .7rem; }
.controls label { overflow-wrap: normal; max-width: 100%; min-width: 0; display: inline-flex; gap: .4rem; align-items: center; color: var(--soft); font-size: .9rem; }
button, select, input[type="search"] { font: inherit; font-size: .9rem; color: var(--text); background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: .25rem .6rem; min-height: 2rem; max-width: 100%; }
button { cursor: pointer; }
button:hover, select:hover { border-color: var(--soft); }
button[aria-pressed="true"] { background: var(--pick); border-color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
select { min-width: 0; flex: 0 1 auto; }
input[type="range"] { accent-color: var(--link); width: 9rem; }
.scroll { overflow-x: auto; max-width: 100%; border: 1px solid var(--line); border-radius: 8px; }
.tall { max-height: max(36rem, 85vh); overflow-y: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
thead th { position: sticky; top: 0; background: var(--card); z-index: 2; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
thead button { border: 0; background: none; padding: 0; min-height: 1.7rem; font-weight: 600; color: inherit; font-size: inherit; }
thead [aria-sort] button::after { content: " \2193"; }
thead [aria-sort="ascending"] button::after { content: " \2191"; }
th:first-child, td.text, th.text { text-align: left; }
tbody th { font-weight: 400; position: sticky; left: 0; background: var(--card); z-index: 1; max-width: 26rem; overflow: hidden; text-overflow: ellipsis; }
tbody tr:hover > *, tbody tr.picked > * { background: var(--pick); }
tbody tr:last-child > * { border-bottom: 0; }
td.more { text-align: left; color: var(--soft); font-style: italic; }
td.text { max-width: 28rem; overflow: hidden; text-overflow: ellipsis; }
.wraps td.text { max-width: none; white-space: normal; overflow-wrap: anywhere; }
.name { display: flex; align-items: center; gap: .15rem; min-width: 0; }
.name button { border: 0; background: none; padding: 0 .15rem; min-height: 1.5rem; }
.name .fold, .name .leaf { width: 1.5rem; flex: none; color: var(--soft); text-align: center; }
.name .pick { overflow: hidden; text-overflow: ellipsis; color: var(--link); text-align: left; }
.bar { display: inline-block; width: 3.2rem; height: .5rem; background: var(--track); border-radius: 2px; margin-left: .5rem; vertical-align: .08em; }
.bar span { display: block; height: 100%; border-radius: 2px; background: var(--c0); }
.chart { position: relative; min-width: 0; }
.chart svg, .chart canvas { display: block; max-width: 100%; }
svg text { fill: var(--text); font-size: 12px; }
svg .soft { fill: var(--soft); }
svg .axis { stroke: var(--soft); fill: none; stroke-width: 1; }
svg .grid { stroke: var(--grid); fill: none; }
svg .roof { stroke: var(--text); fill: none; stroke-width: 1.6; }
svg .box { fill: var(--card); stroke: var(--soft); stroke-width: 1.4; }
svg [tabindex] { cursor: pointer; }
svg .dim { opacity: .13; }
svg .edge { stroke: var(--card); stroke-width: 1; }
.more-columns { border: 0; color: var(--link); position: sticky; left: 0; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin: .6rem 0 0; padding: 0; list-style: none; font-size: .88rem; }
.legend li { min-width: 0; }
.legend button { overflow-wrap: anywhere; display: inline-flex; gap: .4rem; align-items: center; border-color: transparent; padding: .05rem .4rem; min-height: 1.6rem; text-align: left; }
.legend i { width: .8rem; height: .8rem; border-radius: 3px; flex: none; }
.two { display: grid; gap: 1rem 1.6rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.two > * { min-width: 0; }
details { margin-top: .7rem; }
summary { cursor: pointer; color: var(--link); width: fit-content; font-size: .9rem; }
details > .scroll { margin-top: .5rem; }
.notice { background: var(--warn-back); color: var(--text); border-left: 3px solid var(--warn); padding: .4rem .7rem; margin: .4rem 0; border-radius: 4px;
  overflow-wrap: anywhere; }
#tip { position: fixed; z-index: 9; pointer-events: none; background: var(--text); color: var(--card); padding: .35rem .6rem; border-radius: 6px;
  font-size: .85rem; max-width: min(24rem, 90vw); white-space: pre-line; overflow-wrap: anywhere; }
#tip[hidden] { display: none; }
footer { color: var(--soft); font-size: .88rem; padding-bottom: 2rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem; z-index: 10; }
@media (max-width: 640px) {
  body { font-size: 14.5px; }
  header, main, footer { padding-left: .7rem; padding-right: .7rem; }
  nav ul { padding-left: .7rem; padding-right: .7rem; }
  section { padding: .8rem .75rem; }
  .tiles { grid-template-columns: repeat(2, 1fr); gap: .5rem; }
  .tile dd { font-size: 1.2rem; }
  tbody th { max-width: 11rem; }
  th, td { padding-left: .4rem; padding-right: .4rem; }
  table { font-size: .82rem; }
  #range tbody th, #factors tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 9rem; }
  .bar { display: none; }
  .findings > li { padding-left: 2.1rem; }
}
@media print {
  :root { --back: #fff; --card: #fff; }
  nav, .controls, #theme, #print, .skip { display: none !important; }
  section { break-inside: avoid-page; border-color: #bbb; }
  #ranges, #environment { break-inside: auto; }
  .tall { max-height: none; } .scroll { overflow: visible; }
  body { font-size: 11px; }
}
)css"sv;

inline constexpr std::string_view page_body = R"html(</style>
</head>
<body>
<a class="skip" href="#main">To the report</a>
<header>
<h1 id="title">Strata report</h1>
<button id="print" type="button">Print</button>
<button id="theme" type="button">Dark</button>
<p id="where"></p>
</header>
<nav aria-label="Sections"><ul id="sections"></ul></nav>
<main id="main" tabindex="-1">
<noscript><p>This page draws its data with JavaScript, which is off. The JSON and CSV files have the same data.</p></noscript>
</main>
<footer id="foot"></footer>
<div id="tip" aria-hidden="true" hidden></div>
<script type="application/json" id="data">)html";

/// What every section of a page uses, whatever its data: elements, numbers, tables, figures,
/// colours.
inline constexpr std::string_view page_core = R"js(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const none = v => v === null || v === undefined || Number.isNaN(v);

/* Elements. Texts become text nodes and never markup. */
function put(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (!none(child)) element.append(child);
  return element;
}
const el = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const sv = (tag, attributes, ...children) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const byId = id => document.getElementById(id);
const sum = (list, of) => list.reduce((total, each) => total + (of(each) || 0), 0);

/* Numbers with three digits that count. */
function digits(v) {
  const size = Math.abs(v);
  if (size === 0) return "0";
  if (size >= 100) return Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  return size >= 10 ? v.toFixed(1) : size >= 1 ? v.toFixed(2) : size >= 0.0095 ? v.toFixed(3) : v.toExponential(1);
}
function scaled(v, step, units) {
  if (none(v)) return "";
  let i = 0;
  while (Math.abs(v) >= step * 0.9995 && i + 1 < units.length) { v /= step; i++; }
  return (i === 0 && Number.isInteger(v) ? v.toString() : digits(v)) + units[i];
}
function time(ns) {
  if (none(ns)) return "";
  if (Math.abs(ns) < 999.5) return (Number.isInteger(ns) ? ns : digits(ns)) + " ns";
  return scaled(ns / 1000, 1000, [" us", " ms", " s"]);
}
const bytes = v => scaled(v, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
const count = v => none(v) ? "" : Math.abs(v) < 1e6 ? digits(Number.isInteger(v) && Math.abs(v) < 100 ? 0 : v) === "0" ? String(v) : digits(v) : scaled(v, 1000, ["", " k", " M", " G", " T"]);
/* An amount of things: `1 other`, `2 others`. */
const some = (n, one, many) => count(n) + " " + (n === 1 ? one : many || one + "s");
const rate = unit => v => none(v) ? "" : scaled(v, 1000, ["", " k", " M", " G", " T", " P"].map(p => (p || " ") + unit));
const percent = v => none(v) ? "" : (Math.abs(v) >= 99.95 ? v.toFixed(0) : Math.abs(v) >= 10 ? v.toFixed(1) : v.toFixed(Math.abs(v) >= 1 ? 1 : 2)) + " %";
const inUnit = unit => ({ "%": percent, B: bytes, ns: time, s: v => time(v * 1e9), "": count })[unit]
  || (unit.endsWith("/s") ? rate(unit) : v => none(v) ? "" : count(v) + " " + (v === 1 ? unit.replace(/(?<=ss|ch)es(?=\/|$)|s(?=\/|$)/, "") : unit));

/* The colour that a name stands for, and one that can be read on it. */
const palette = name => /^var/.test(name) ? getComputedStyle(document.documentElement).getPropertyValue(name.slice(4, -1)).trim() : name;
function ink(name) {
  const hex = palette(name), part = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) || 0);
  return .299 * part[0] + .587 * part[1] + .114 * part[2] > 128 ? "#10151c" : "#ffffff";
}
/* How wide a text of a figure is. */
const pen = el("canvas").getContext("2d");
function textWidth(text) {
  pen.font = "12px " + getComputedStyle(document.body).fontFamily;
  return pen.measureText(text).width;
}
const redrawOnTheme = [];

function tip(text, x, y) {
  const box = byId("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const width = box.offsetWidth, height = box.offsetHeight;
  box.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + "px";
  box.style.top = (y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18) + "px";
}
/* Shows a text at the mouse and at the keyboard's focus. */
const hinted = text => ({
  onmousemove: e => tip(text, e.clientX, e.clientY), onmouseleave: () => tip(""), onblur: () => tip(""),
  onfocus: e => { const r = e.target.getBoundingClientRect(); tip(text, r.left + r.width / 2, r.bottom - 14); },
});
/* What a mouse clicks, Enter and the space bar do too. */
const pressed = act => ({ onclick: act, onkeydown: e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); act(e); } } });

function section(id, title, about, ...children) {
  const made = el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title),
    about ? el("p", { class: "about" }, about) : null, children);
  byId("main").append(made);
  byId("sections").append(el("li", {}, el("a", { href: "#" + id }, title)));
  return made;
}
/* The distance of an axis' marks: 1, 2 or 5 and noughts. */
const roundStep = least => { const base = 10 ** Math.floor(Math.log10(least)); return [1, 2, 5, 10].map(f => f * base).find(s => s >= least); };
/* The last columns of a table that have no room are hidden, and offered. */
const widened = new Set();
function fitColumns(box) {
  const made = box.querySelector("table"), name = box.getAttribute("aria-label"), room = box.clientWidth;
  if (!made || !room) return;
  const heads = [...made.tHead.rows[0].cells], old = box.querySelector(".more-columns");
  const show = n => { for (const row of made.rows) [...row.cells].forEach((cell, i) => { cell.hidden = i >= n; }); };
  if (old) { show(heads.length); old.remove(); }
  if (made.offsetWidth <= room) return;
  const begin = made.getBoundingClientRect().left;
  let fitting = Math.max(2, heads.filter(h => h.getBoundingClientRect().right - begin <= room).length);
  if (fitting >= heads.length) return;
  /* What stays may become wider without the others. */
  if (!widened.has(name)) for (show(fitting); made.offsetWidth > room && fitting > 2;) show(--fitting);
  box.append(el("button", { class: "more-columns", type: "button", onclick: () => { widened.has(name) ? widened.delete(name) : widened.add(name); fitColumns(box); } },
    widened.has(name) ? "Show fewer columns" : "Show " + some(heads.length - fitting, "more column")));
}
const fitting = new ResizeObserver(boxes => { for (const { target } of boxes) if (target.fitted !== target.clientWidth) { target.fitted = target.clientWidth; fitColumns(target); } });
/* Only a table of many rows scrolls within itself. */
const isTall = rows => rows > 40;
/* A table of texts; a column with `text` is not a number. */
function table(caption, columns, rows, attributes) {
  const box = el("div", { class: isTall(rows.length) ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", attributes || {}, el("thead", {}, el("tr", {}, columns.map(c => el("th", { scope: "col", class: c.text && "text", title: c.title }, c.label)))),
      el("tbody", {}, rows.map(row => el("tr", {}, columns.map((c, i) => {
        const value = c.get(row);
        return el(i ? "td" : "th", { class: c.text && "text", scope: i ? undefined : "row", title: c.hint ? c.hint(row) : c.text && String(value).length > 40 && String(value) }, value);
      }))))));
  fitting.observe(box);
  return box;
}
/* The numbers of a figure, which a screen reader and a spreadsheet can take; made when it is opened. */
function numbers(caption, make, open) {
  const box = el("details", { open }, el("summary", {}, caption), open ? make() : null);
  box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(make()); });
  return box;
}
/* A figure is drawn anew at the width that it has. */
function chart(draw, height) {
  const box = el("div", { class: "chart", style: height ? "min-height:" + height + "px" : undefined });
  let width = 0;
  box.redraw = () => { if (width > 0) draw(box, width); };
  new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now > 0 && now !== width) { width = now; box.redraw(); }
  }).observe(box);
  return box;
}
const picker = (label, choices, act) => el("label", {}, label, el("select", { onchange: e => act(e.target.value) },
  choices.map(([value, text]) => el("option", { value }, text))));
function isDark() {
  const set = document.documentElement.dataset.theme;
  return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
function themeButton() {
  const button = byId("theme");
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", "Use " + (isDark() ? "light" : "dark") + " colours"); for (const redraw of redrawOnTheme) redraw(); };
  button.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  byId("print").addEventListener("click", () => print());
  label();
}
</script>
)js"sv;

/// A text of JSON within HTML: nothing in it ends the script element.
inline void write_in_script(text_writer& out, std::string_view json) {
  while (!json.empty()) {
    std::size_t const at = json.find('<');
    out.write(json.substr(0, at));
    if (at == json.npos) return;
    out.write("\\u003c");
    json.remove_prefix(at + 1);
  }
}

/// A page: what its script reads, which `write_data` writes as JSON, and the script itself.
template <class Write, std::size_t Parts>
void write_page(text_writer& out, Write const& write_data,
                std::string_view const (&script)[Parts]) {
  std::string data;
  {
    text_writer json(data);
    write_data(json);
  }
  for (std::string_view const part : {page_markup, page_style, page_body}) out.write(part);
  write_in_script(out, data);
  for (std::string_view const part : script) out.write(part);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_HTML_SHELL_HPP
