#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_FILES_HPP
#define STRATA_REPORT_PAGE_FILES_HPP

#include <strata/base/macros.hpp>

#include <string_view>

// Made by page/embed.py of the files in page/. Change those, then run: python3 page/embed.py
// clang-format off

STRATA_BEGIN
namespace detail {

using std::string_view_literals::operator""sv;  // g++ counts the characters of others one by one

inline constexpr std::string_view page_markup_1 = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline';
  script-src 'unsafe-inline'; img-src data: blob:">
<meta name="color-scheme" content="light dark">
<title>Strata report</title>
)page"sv;
inline constexpr std::string_view page_style_theme_css = R"page(<style>
:root {
--back: #f6f7f9;
--card: #ffffff;
--text: #1a1f27;
--soft: #525c69;
--line: #d9dee5;
--track: #e9edf2;
--link: #0b57b0;
--strong: #0f2f57;
--warn: #9a3b00;
--warn-back: #fff4e8;
--pick: #e3eefb;
--grid: #e4e8ee;
--c0: #3b76c4;
--c1: #e2852e;
--c2: #3f9d6b;
--c3: #c8503f;
--c4: #8765b8;
--c5: #9a6b4f;
--c6: #d570a9;
--c7: #6f7d8c;
--c8: #b3a125;
--c9: #2a9fb5;
--c10: #5f8f2f;
--c11: #b04f86;
--c12: #27686b;
--c13: #8a5a1c;
--rest: #b3bbc5;
--hot: #d1382c;
}
@media screen and (prefers-color-scheme: dark) {
:root:not([data-theme="light"]) {
--back: #12161c;
--card: #1a2029;
--text: #e6eaf0;
--soft: #a6b0bd;
--line: #333c48;
--track: #28303b;
--link: #85b8f5;
--strong: #cfe2fa;
--warn: #ffb37a;
--warn-back: #35261a;
--pick: #22344b;
--grid: #2a323d;
--c0: #6a9fe6;
--c1: #f0a35a;
--c2: #63c08d;
--c3: #e67a69;
--c4: #ab8fdd;
--c5: #bd9177;
--c6: #ec97c6;
--c7: #95a2b1;
--c8: #d3c455;
--c9: #58c3d8;
--c10: #9cc96b;
--c11: #dd86b5;
--c12: #67aeb1;
--c13: #cfa068;
--rest: #5b6675;
--hot: #f0705f;
}
}
:root[data-theme="dark"] {
--back: #12161c;
--card: #1a2029;
--text: #e6eaf0;
--soft: #a6b0bd;
--line: #333c48;
--track: #28303b;
--link: #85b8f5;
--strong: #cfe2fa;
--warn: #ffb37a;
--warn-back: #35261a;
--pick: #22344b;
--grid: #2a323d;
--c0: #6a9fe6;
--c1: #f0a35a;
--c2: #63c08d;
--c3: #e67a69;
--c4: #ab8fdd;
--c5: #bd9177;
--c6: #ec97c6;
--c7: #95a2b1;
--c8: #d3c455;
--c9: #58c3d8;
--c10: #9cc96b;
--c11: #dd86b5;
--c12: #67aeb1;
--c13: #cfa068;
--rest: #5b6675;
--hot: #f0705f;
color-scheme: dark;
}
:root[data-theme="light"] {
color-scheme: light;
}
</style>
)page"sv;
inline constexpr std::string_view page_style_layout_css = R"page(<style>
* {
box-sizing: border-box;
}
html {
font-size: 93.75%;
scroll-padding-top: 3.2rem;
}
html:has(#chosen:not([hidden])) {
scroll-padding-top: 5.4rem;
}
body {
margin: 0;
overflow-wrap: anywhere;
background: var(--back);
color: var(--text);
font: 1rem/1.5 system-ui, "Segoe UI", Roboto, sans-serif;
}
header,
main,
footer {
max-width: 1320px;
margin: 0 auto;
padding: 0 1.25rem;
}
header {
padding-top: 1.1rem;
display: flex;
flex-wrap: wrap;
gap: 0.3rem 1rem;
align-items: baseline;
}
header h1 {
margin: 0;
font-size: 1.2rem;
font-weight: 650;
color: var(--strong);
overflow-wrap: anywhere;
flex: 1;
}
header p {
margin: 0;
color: var(--soft);
flex: 1 0 100%;
overflow-wrap: anywhere;
}
nav {
position: sticky;
top: 0;
z-index: 5;
background: var(--back);
border-bottom: 1px solid var(--line);
margin-bottom: 1rem;
}
nav ul {
max-width: 1320px;
margin: 0 auto;
padding: 0.35rem 1.25rem;
display: flex;
flex-wrap: wrap;
gap: 0.1rem 1.1rem;
list-style: none;
white-space: nowrap;
}
#chosen {
max-width: 1320px;
margin: 0 auto;
padding: 0 1.25rem 0.35rem;
display: flex;
gap: 0.5rem;
align-items: center;
}
#chosen[hidden] {
display: none;
}
#chosen i {
width: 0.8rem;
height: 0.8rem;
border-radius: 3px;
flex: none;
}
#chosen button {
min-height: 1.5rem;
padding: 0 0.5rem;
}
nav a {
display: inline-block;
padding: 0.25rem 0;
}
a {
color: var(--link);
}
a:not(:hover) {
text-decoration-color: color-mix(in srgb, currentColor 40%, transparent);
}
section {
background: var(--card);
border: 1px solid var(--line);
border-radius: 10px;
padding: 1rem 1.15rem 1.1rem;
margin: 0 0 1rem;
}
h2 {
margin: 0 0 0.2rem;
font-size: 1.2rem;
color: var(--strong);
}
h3 {
margin: 1.1rem 0 0.3rem;
font-size: 1rem;
}
p.about {
margin: 0 0 0.7rem;
color: var(--soft);
max-width: 75ch;
}
.two {
display: grid;
gap: 1rem 1.6rem;
grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
}
.two > * {
min-width: 0;
}
details {
margin-top: 0.7rem;
}
summary {
cursor: pointer;
color: var(--link);
width: fit-content;
font-size: 0.88rem;
}
details > .scroll {
margin-top: 0.5rem;
}
.notice {
background: var(--warn-back);
color: var(--text);
border-left: 3px solid var(--warn);
padding: 0.4rem 0.7rem;
margin: 0.4rem 0;
border-radius: 4px;
overflow-wrap: anywhere;
}
#tip {
position: fixed;
z-index: 9;
pointer-events: none;
background: var(--text);
color: var(--card);
padding: 0.35rem 0.6rem;
border-radius: 6px;
font-size: 0.88rem;
max-width: min(24rem, 90vw);
white-space: pre-line;
overflow-wrap: anywhere;
}
#tip[hidden] {
display: none;
}
footer {
color: var(--soft);
font-size: 0.88rem;
padding-bottom: 2rem;
}
.skip {
position: absolute;
left: -99rem;
}
.skip:focus {
left: 1rem;
top: 0.5rem;
background: var(--card);
padding: 0.4rem;
z-index: 10;
}
</style>
)page"sv;
inline constexpr std::string_view page_style_findings_css = R"page(<style>
#headline p {
margin: 0 0 0.6rem;
}
.answer {
font-size: 1.2rem;
font-weight: 650;
color: var(--strong);
}
.tiles {
display: grid;
gap: 0.75rem;
grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr));
margin: 0;
}
.tile {
background: var(--card);
border: 1px solid var(--line);
border-radius: 10px;
padding: 0.7rem 0.9rem;
min-width: 0;
}
.tile dt {
color: var(--soft);
font-size: 0.88rem;
}
.tile dd {
margin: 0;
font-size: 1.5rem;
font-weight: 620;
letter-spacing: -0.01em;
overflow-wrap: anywhere;
}
.tile dd.small {
font-size: 1rem;
line-height: 1.35;
padding-top: 0.3rem;
}
.tile dd.note {
font-size: 0.88rem;
font-weight: 400;
color: var(--soft);
letter-spacing: 0;
}
#headline {
background: none;
border: 0;
padding: 0;
}
.meter {
height: 0.5rem;
border-radius: 0.25rem;
background: var(--track);
overflow: hidden;
margin-top: 0.35rem;
display: flex;
}
.meter span {
background: var(--c0);
}
.findings {
margin: 0;
padding: 0;
list-style: none;
counter-reset: finding;
}
.findings > li.picked {
background: var(--pick);
box-shadow: -0.3rem 0 0 var(--link);
}
.findings > li {
border-top: 1px solid var(--line);
padding: 0.75rem 0 0.75rem 2.5rem;
position: relative;
counter-increment: finding;
}
.findings > li:first-child {
border-top: 0;
padding-top: 0.3rem;
}
.findings > li:last-child {
padding-bottom: 0;
}
.findings > li::before {
content: counter(finding);
position: absolute;
left: 0;
width: 1.7rem;
height: 1.7rem;
border-radius: 50%;
background: var(--pick);
color: var(--strong);
text-align: center;
line-height: 1.7rem;
font-weight: 620;
font-size: 0.88rem;
}
.findings h3 {
margin: 0;
font-size: 1rem;
overflow-wrap: anywhere;
}
.findings p {
margin: 0.15rem 0;
max-width: 90ch;
overflow-wrap: anywhere;
}
.findings .gain {
color: var(--warn);
font-weight: 620;
white-space: nowrap;
}
.findings p.evidence {
max-width: none;
}
.evidence {
color: var(--soft);
font-size: 0.88rem;
}
.budget {
display: flex;
gap: 1px;
height: 2.4rem;
border-radius: 8px;
overflow: hidden;
margin: 0.2rem 0 0.3rem;
}
.budget > span {
flex: 0 1 0;
min-width: 2px;
background: var(--paint);
cursor: pointer;
}
.budget > span:focus-visible {
outline-offset: -3px;
outline-color: var(--text);
}
.budget > .idle,
.parts i.idle {
background: repeating-linear-gradient(
-45deg,
var(--paint) 0 4px,
var(--card) 4px 7px
);
}
.parts {
list-style: none;
margin: 0;
padding: 0;
}
.parts li {
display: grid;
grid-template-columns: 0.9rem minmax(9rem, 1fr) 4.2rem 3.6rem minmax(0, 12.5rem);
gap: 0 0.6rem;
align-items: baseline;
padding: 0.08rem 0;
}
.parts i {
width: 0.9rem;
height: 0.9rem;
border-radius: 3px;
background: var(--paint);
align-self: center;
}
.parts .amount {
text-align: right;
font-variant-numeric: tabular-nums;
}
.parts .more {
display: contents;
}
.parts .helps {
grid-column: 2 / -1;
}
.helps {
color: var(--soft);
font-size: 0.88rem;
font-weight: 400;
}
.parts .most {
overflow: hidden;
text-overflow: ellipsis;
white-space: nowrap;
}
#headline p.heading {
margin: 0.4rem 0 0.2rem;
font-weight: 650;
}
#headline .first {
background: var(--card);
border: 1px solid var(--line);
border-radius: 10px;
padding: 0.8rem 1rem;
margin-bottom: 0.75rem;
}
</style>
)page"sv;
inline constexpr std::string_view page_style_controls_css = R"page(<style>
.controls {
display: flex;
flex-wrap: wrap;
gap: 0.5rem 0.8rem;
align-items: center;
margin: 0.2rem 0 0.7rem;
}
.controls label {
overflow-wrap: normal;
max-width: 100%;
min-width: 0;
display: inline-flex;
gap: 0.4rem;
align-items: center;
color: var(--soft);
font-size: 0.88rem;
}
button,
select,
input[type="search"] {
font: inherit;
font-size: 0.88rem;
color: var(--text);
background: var(--card);
border: 1px solid var(--line);
border-radius: 6px;
padding: 0.25rem 0.6rem;
min-height: 2rem;
max-width: 100%;
}
button {
cursor: pointer;
}
button:hover,
select:hover {
border-color: var(--soft);
}
button[aria-pressed="true"] {
background: var(--pick);
border-color: var(--link);
}
:focus-visible {
outline: 2px solid var(--link);
outline-offset: 1px;
}
select {
min-width: 0;
flex: 0 1 auto;
}
input[type="range"] {
accent-color: var(--link);
width: 9rem;
}
</style>
)page"sv;
inline constexpr std::string_view page_style_table_css = R"page(<style>
.scroll {
overflow-x: auto;
max-width: 100%;
border: 1px solid var(--line);
border-radius: 8px;
}
.tall {
max-height: max(36rem, 85vh);
overflow-y: auto;
}
table {
border-collapse: collapse;
width: 100%;
font-size: 0.88rem;
font-variant-numeric: tabular-nums;
}
th,
td {
padding: 0.22rem 0.6rem;
text-align: right;
white-space: nowrap;
border-bottom: 1px solid var(--grid);
}
thead th {
position: sticky;
top: 0;
background: var(--card);
z-index: 2;
font-weight: 600;
color: var(--soft);
border-bottom: 1px solid var(--line);
}
thead button {
border: 0;
background: none;
padding: 0;
min-height: 1.7rem;
font-weight: 600;
color: inherit;
font-size: inherit;
}
thead [aria-sort] button::after {
content: " \2193";
}
thead [aria-sort="ascending"] button::after {
content: " \2191";
}
th:first-child,
td.text,
th.text {
text-align: left;
}
tbody th {
font-weight: 400;
position: sticky;
left: 0;
background: var(--card);
z-index: 1;
max-width: 26rem;
overflow: hidden;
text-overflow: ellipsis;
}
tbody tr:hover > *,
tbody tr.picked > * {
background: var(--pick);
}
tbody tr:last-child > * {
border-bottom: 0;
}
td.more {
text-align: left;
color: var(--soft);
font-style: italic;
}
td.text {
max-width: 28rem;
overflow: hidden;
text-overflow: ellipsis;
}
.wraps td.text {
max-width: none;
white-space: normal;
overflow-wrap: anywhere;
}
noscript :is(th, td):is(:first-child, :last-child) {
text-align: left;
}
.kernels tbody th {
width: 24rem;
min-width: 21rem;
max-width: 24rem;
white-space: normal;
overflow-wrap: anywhere;
}
.name {
display: flex;
align-items: center;
gap: 0.15rem;
min-width: 0;
}
.name button {
border: 0;
background: none;
padding: 0 0.15rem;
min-height: 1.5rem;
}
.name .fold,
.name .leaf {
width: 1.5rem;
flex: none;
color: var(--soft);
text-align: center;
}
.name .pick {
overflow: hidden;
text-overflow: ellipsis;
color: var(--link);
text-align: left;
}
.bar {
display: inline-block;
width: 3.2rem;
height: 0.5rem;
background: var(--track);
border-radius: 2px;
margin-left: 0.5rem;
vertical-align: 0.08em;
}
.bar span {
display: block;
height: 100%;
border-radius: 2px;
background: var(--c0);
}
.more-columns {
border: 0;
color: var(--link);
position: sticky;
left: 0;
}
</style>
)page"sv;
inline constexpr std::string_view page_style_figure_css = R"page(<style>
.chart {
position: relative;
min-width: 0;
}
.chart svg,
.chart canvas {
display: block;
max-width: 100%;
}
svg text {
fill: var(--text);
font-size: 12px;
}
svg .soft {
fill: var(--soft);
}
svg .axis {
stroke: var(--soft);
fill: none;
stroke-width: 1;
}
svg .grid {
stroke: var(--grid);
fill: none;
}
svg .roof {
stroke: var(--text);
fill: none;
stroke-width: 1.6;
}
svg .box {
fill: var(--card);
stroke: var(--soft);
stroke-width: 1.4;
}
svg [tabindex] {
cursor: pointer;
}
svg .dim {
opacity: 0.13;
}
svg .pale {
opacity: 0.4;
}
svg .picked {
stroke: var(--text);
stroke-width: 2.5;
}
svg .chosen-line {
fill: none;
stroke: var(--text);
stroke-width: 2;
}
svg .edge {
stroke: var(--card);
stroke-width: 1;
}
.legend {
display: flex;
flex-wrap: wrap;
gap: 0.3rem 0.5rem;
margin: 0.6rem 0 0;
padding: 0;
list-style: none;
font-size: 0.88rem;
}
.legend li {
min-width: 0;
}
.legend button {
overflow-wrap: anywhere;
display: inline-flex;
gap: 0.4rem;
align-items: center;
border-color: transparent;
padding: 0.05rem 0.4rem;
min-height: 1.6rem;
text-align: left;
}
.legend i {
display: inline-block;
vertical-align: -0.06rem;
width: 0.8rem;
height: 0.8rem;
border-radius: 3px;
flex: none;
}
</style>
)page"sv;
inline constexpr std::string_view page_style_narrow_css = R"page(<style>
@media (max-width: 640px) {
header,
main,
footer {
padding-left: 0.7rem;
padding-right: 0.7rem;
}
nav {
display: contents;
}
nav ul {
padding: 0.35rem 0.7rem;
margin-bottom: 0.8rem;
border-bottom: 1px solid var(--line);
}
#chosen {
position: sticky;
top: 0;
z-index: 5;
padding: 0.35rem 0.7rem;
background: var(--back);
border-bottom: 1px solid var(--line);
}
html:has(#chosen:not([hidden])) {
scroll-padding-top: 3.2rem;
}
html {
font-size: 90.6%;
scroll-padding-top: 0.5rem;
}
section {
padding: 0.8rem 0.75rem;
}
.tiles {
grid-template-columns: repeat(2, 1fr);
gap: 0.5rem;
}
.tile dd {
font-size: 1.2rem;
}
tbody th {
max-width: 11rem;
}
noscript :is(th, td) {
white-space: normal;
overflow-wrap: anywhere;
}
th,
td {
padding-left: 0.4rem;
padding-right: 0.4rem;
}
#range tbody th,
#factors tbody th {
white-space: normal;
overflow-wrap: anywhere;
min-width: 9rem;
}
.bar {
display: none;
}
.parts li {
grid-template-columns: 0.9rem minmax(0, 1fr) auto 3.6rem;
}
.parts .more {
display: block;
grid-column: 2 / -1;
}
.parts .most {
white-space: normal;
}
.parts .most + .helps::before {
content: " \b7  ";
}
.findings > li {
padding-left: 2.1rem;
}
}
</style>
)page"sv;
inline constexpr std::string_view page_style_print_css = R"page(<style>
:root.paper {
--back: #ffffff;
font-size: 11px;
print-color-adjust: exact;
-webkit-print-color-adjust: exact;
}
.paper :is(header, main, footer) {
max-width: none;
width: 690px;
margin: 0 auto;
padding: 0;
}
.paper svg text {
font-size: 1rem;
}
.paper p.about {
max-width: none;
}
.paper section:not(#headline) {
border-width: 1px 0 0;
border-radius: 0;
padding: 0.8rem 0 0;
}
.paper .parts li {
grid-template-columns: 0.9rem minmax(0, 1fr) auto 3.6rem;
}
.paper .parts .more {
display: block;
grid-column: 2 / -1;
}
.paper .parts .most {
white-space: normal;
}
.paper .parts .most + .helps::before {
content: " \b7  ";
}
@media print {
nav,
.controls,
.more-columns,
#theme,
#print,
.skip,
footer,
section > button,
section > details:not([open]),
section div > details:not([open]),
.findings details:not([open]) {
display: none !important;
}
#findings > details {
display: block !important;
}
.chart,
.budget,
.tile,
.two > *,
.legend,
.findings > li,
p,
tr {
break-inside: avoid;
}
h2,
h3,
.heading,
.about,
thead,
tbody tr:nth-child(-n + 3) {
break-after: avoid;
}
.chart ~ :is(ul, p),
tbody tr:nth-last-child(-n + 2) {
break-before: avoid;
}
.tall {
max-height: none;
}
.scroll {
overflow: visible;
}
}
</style>
)page"sv;
inline constexpr std::string_view page_markup_2 = R"page(</head>
<body>
<a class="skip" href="#main">To the report</a>
<header>
<h1 id="title">Strata report</h1>
<button id="print" type="button" hidden>Print</button>
<button id="theme" type="button" hidden>Dark</button>
<p id="where"></p>
</header>
<nav aria-label="Sections"><ul id="sections"></ul><p id="chosen" hidden></p></nav>
<main id="main" tabindex="-1">
<noscript>
<p>This page draws its figures with JavaScript, which is off. In words:</p>
)page"sv;
inline constexpr std::string_view page_markup_3 = R"page(</noscript>
</main>
<footer id="foot"></footer>
<div id="tip" aria-hidden="true" hidden></div>
<script type="application/json" id="data">)page"sv;
inline constexpr std::string_view page_markup_4 = R"page(</script>
)page"sv;
inline constexpr std::string_view page_shared_units_js = R"page(<script>
"use strict";
const none = value => value === null || value === undefined || Number.isNaN(value);
const firstKnown = (...values) => values.find(value => !none(value));
const sum = (list, amount) => list.reduce((total, item) => total + (amount(item) || 0), 0);
function digits(value) {
const size = Math.abs(value);
if (size === 0) return "0";
if (size >= 99.95) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
if (size >= 9.995) return value.toFixed(1);
if (size >= 0.9995) return value.toFixed(2);
return size >= 0.0095 ? value.toFixed(3) : value.toExponential(1);
}
function scaled(value, step, units) {
if (none(value)) return "";
let rest = value;
let unit = 0;
while (Math.abs(rest) >= step * 0.9995 && unit + 1 < units.length) {
rest /= step;
unit += 1;
}
return (unit === 0 && Number.isInteger(rest) ? rest.toString() : digits(rest)) + units[unit];
}
function time(ns) {
if (none(ns)) return "";
if (Math.abs(ns) < 999.5) return (Number.isInteger(ns) ? ns : digits(ns)) + " ns";
return scaled(ns / 1000, 1000, [" us", " ms", " s"]);
}
const bytes = value => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
function count(value) {
if (none(value)) return "";
if (Math.abs(value) >= 1e6) return scaled(value, 1000, ["", " k", " M", " G", " T"]);
const isShort = Number.isInteger(value) && Math.abs(value) < 100;
return isShort || value === 0 ? String(value) : digits(value);
}
const some = (amount, one, many) => count(amount) + " " + (amount === 1 ? one : many || one + "s");
const rate = unit => value => {
const units = ["", " k", " M", " G", " T", " P"].map(prefix => (prefix || " ") + unit);
return none(value) ? "" : scaled(value, 1000, units);
};
function percent(value) {
if (none(value)) return "";
const size = Math.abs(value);
if (size === 0) return "0 %";
if (size < 0.005) return "< 0.01 %";
const places = size >= 99.95 ? 0 : size >= 1 ? 1 : 2;
return value.toFixed(places) + " %";
}
const shareText = value => none(value) || value > 100.05 ? "" : percent(Math.min(value, 100));
const singular = unit => unit.replace(/(?<=ss|ch)es(?=\/|$)|s(?=\/|$)/, "");
function inUnit(unit) {
const known = {"%": percent, B: bytes, ns: time, s: value => time(value * 1e9), "": count};
if (known[unit]) return known[unit];
if (unit.endsWith("/s")) return rate(unit);
return value => {
if (none(value)) return "";
return count(value) + " " + (value === 1 ? singular(unit) : unit);
};
}
function cutMiddle(text, most) {
if (text.length <= most) return text;
const gap = text.indexOf("\u2026");
const [begin, end] = gap < 0 ? [text, text] : [text.slice(0, gap), text.slice(gap + 1)];
const half = Math.ceil((most - 1) / 2);
const before = Math.min(begin.length, Math.max(half, most - 1 - end.length));
const after = most - 1 - before;
return begin.slice(0, before) + "\u2026" + (after > 0 ? end.slice(-after) : "");
}
function capital(text) {
const first = /^\w*_/.test(text) ? text[0] : text[0].toUpperCase();
return first + text.slice(1);
}
const sentence = text => text ? capital(text) + (/[.!?\u2026]$/.test(text) ? "" : ".") : "";
</script>
)page"sv;
inline constexpr std::string_view page_shared_axis_js = R"page(<script>
"use strict";
function roundStep(least) {
const base = 10 ** Math.floor(Math.log10(least));
return [1, 2, 5, 10].map(times => times * base).find(step => step >= least);
}
const timeUnits = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]];
function timeMarks(from, to, most) {
const step = roundStep((to - from) / Math.max(3, most));
const [name, size] = timeUnits.filter(([, ns]) => ns <= to).pop() || timeUnits[0];
const places = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
const marks = [];
for (let i = Math.ceil(from / step); i * step <= to; i += 1) {
const ns = i * step;
marks.push({ns, text: (ns / size).toFixed(places) + " " + name});
}
return marks;
}
function byteMarks(largest, most) {
let size = 1;
while (largest / size >= 1024) size *= 1024;
const step = largest / size <= 1 ? size : roundStep(largest / size / most) * size;
const marks = [];
for (let value = 0; value <= largest; value += step) marks.push(value);
return marks;
}
</script>
)page"sv;
inline constexpr std::string_view page_shared_elements_js = R"page(<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
function put(element, attributes, children) {
for (const [key, value] of Object.entries(attributes || {})) {
if (value === undefined || value === null || value === false) continue;
if (key.startsWith("on")) {
element.addEventListener(key.slice(2), value);
} else {
element.setAttribute(key, value === true ? "" : value);
}
}
for (const child of children.flat(Infinity)) {
if (!none(child)) element.append(child);
}
return element;
}
const el = (tag, attributes, ...children) =>
put(document.createElement(tag), attributes, children);
const svgSpace = "http://www.w3.org/2000/svg";
const sv = (tag, attributes, ...children) =>
put(document.createElementNS(svgSpace, tag), attributes, children);
const byId = id => document.getElementById(id);
function section(id, title, about, ...children) {
const heading = el("h2", {id: id + "-title"}, title);
const first = [heading, about ? el("p", {class: "about"}, about) : null];
const made = el("section", {id, "aria-labelledby": id + "-title"}, first, children);
byId("main").append(made);
byId("sections").append(el("li", {}, el("a", {href: "#" + id}, title)));
return made;
}
const button = (text, act, attributes) =>
el("button", {type: "button", onclick: act, ...attributes}, text);
function picker(label, choices, act, attributes) {
const options = choices.map(([value, text]) => el("option", {value}, text));
return el("label", {}, label,
el("select", {onchange: event => act(event.target.value), ...attributes}, options));
}
const tile = ({name, value, note, more, small}) => el("div", {class: "tile"},
el("dt", {}, name),
el("dd", {class: small && "small"}, value),
note ? el("dd", {class: "note"}, note) : null,
more);
</script>
)page"sv;
inline constexpr std::string_view page_shared_tip_js = R"page(<script>
"use strict";
function tip(text, x, y) {
const box = byId("tip");
box.hidden = !text;
if (!text) return;
box.textContent = text;
const width = box.offsetWidth;
const height = box.offsetHeight;
const above = y + 18 + height > innerHeight;
box.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 8)) + "px";
box.style.top = (above ? Math.max(4, y - height - 12) : y + 18) + "px";
}
const hovered = text => ({
onmousemove: event => tip(text, event.clientX, event.clientY),
onmouseleave: () => tip(""),
});
const hinted = text => ({
...hovered(text),
onblur: () => tip(""),
onfocus: event => {
const place = event.target.getBoundingClientRect();
tip(text, place.left + place.width / 2, place.bottom - 14);
},
});
const pressed = act => ({
onclick: act,
onkeydown: event => {
if (event.key !== "Enter" && event.key !== " ") return;
event.preventDefault();
act(event);
},
});
</script>
)page"sv;
inline constexpr std::string_view page_shared_focus_js = R"page(<script>
"use strict";
const focusKeys = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
function positionAfter(key, position, amount) {
if (key === "Home") return 0;
if (key === "End") return amount - 1;
if (!focusKeys[key]) return undefined;
return Math.max(0, Math.min(amount - 1, position + focusKeys[key]));
}
function oneTabStop(box, selector, act = () => false) {
let current = 0;
const items = () => [...box.querySelectorAll(selector)];
const update = () => {
const all = items();
current = Math.min(current, Math.max(0, all.length - 1));
all.forEach((item, i) => item.setAttribute("tabindex", i === current ? "0" : "-1"));
};
box.addEventListener("focusin", event => {
const position = items().indexOf(event.target);
if (position < 0) return;
current = position;
update();
});
box.addEventListener("keydown", event => {
const all = items();
const position = all.indexOf(event.target);
if (position < 0 || act(event.key, event.target)) return;
const next = positionAfter(event.key, position, all.length);
if (next === undefined) return;
event.preventDefault();
all[next].focus();
});
return update;
}
</script>
)page"sv;
inline constexpr std::string_view page_shared_table_js = R"page(<script>
"use strict";
const widened = new Set();
function showColumns(made, amount) {
for (const row of made.rows) {
[...row.cells].forEach((cell, i) => {
cell.hidden = i >= amount;
});
}
}
function fitColumns(box) {
const made = box.querySelector("table");
const name = box.getAttribute("aria-label");
const room = box.clientWidth;
if (!made || !room) return;
const heads = [...made.tHead.rows[0].cells];
const offer = box.querySelector(".more-columns");
if (offer) {
showColumns(made, heads.length);
offer.remove();
}
if (made.offsetWidth <= room) return;
const begin = made.getBoundingClientRect().left;
const inside = heads.filter(head => head.getBoundingClientRect().right - begin <= room);
let fitting = Math.max(2, inside.length);
if (fitting >= heads.length) return;
if (!widened.has(name)) {
showColumns(made, fitting);
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
const isTall = rows => rows > 40;
function tableBox(name, rows, ...children) {
const style = {class: isTall(rows) ? "scroll tall" : "scroll"};
const box = el("div", {...style, tabindex: "0", role: "region", "aria-label": name}, children);
fitting.observe(box);
return box;
}
function table(caption, columns, rows, attributes, isPicked = () => false) {
const heading = column =>
el("th", {scope: "col", class: column.text && "text", title: column.title}, column.label);
const cell = (column, row, isFirst) => {
const value = column.get(row);
const whole = column.text && String(value).length > 40 && String(value);
const title = column.hint ? column.hint(row) : whole;
const scope = isFirst ? "row" : undefined;
const style = {class: column.text && "text", scope, title, "aria-label": column.hint && title};
return el(isFirst ? "th" : "td", style, value);
};
const line = row => el("tr", {class: isPicked(row) && "picked"},
columns.map((column, i) => cell(column, row, i === 0)));
return tableBox(caption, rows.length, el("table", attributes || {},
el("thead", {}, el("tr", {}, columns.map(heading))),
el("tbody", {}, rows.map(line))));
}
function details(summary, make, open) {
const box = el("details", {open}, el("summary", {}, summary), open ? make() : null);
box.addEventListener("toggle", () => {
if (box.open && box.children.length === 1) box.append(make());
});
return box;
}
const numbersOfFigure = make => details("Numbers of this figure", make);
</script>
)page"sv;
inline constexpr std::string_view page_shared_colours_js = R"page(<script>
"use strict";
function luminance(hex) {
const [red, green, blue] = [1, 3, 5].map(i => {
const part = (parseInt(hex.slice(i, i + 2), 16) || 0) / 255;
return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
});
return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(first, second) {
const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b);
return (light + 0.05) / (dark + 0.05);
}
const darkInk = "#10151c";
const lightInk = "#ffffff";
const inkOn = hex => contrast(hex, darkInk) > contrast(hex, lightInk) ? darkInk : lightInk;
</script>
)page"sv;
inline constexpr std::string_view page_shared_figure_js = R"page(<script>
"use strict";
const redrawOnTheme = [];
const figures = [];
function chart(draw, height) {
const style = height ? "min-height:" + height + "px" : undefined;
const box = el("div", {class: "chart", style});
const updateFocus = oneTabStop(box, "[role=button]");
let width = 0;
box.redraw = () => {
if (width <= 0) return;
const focused = box.contains(document.activeElement) && document.activeElement.dataset.key;
draw(box, width);
updateFocus();
if (!focused) return;
const items = [...box.querySelectorAll("[data-key]")];
const again = items.find(item => item.dataset.key === focused);
if (again) again.focus();
};
box.fit = () => {
const now = Math.floor(box.clientWidth);
if (now <= 0 || now === width) return;
width = now;
box.redraw();
};
new ResizeObserver(box.fit).observe(box);
figures.push(box);
return box;
}
function palette(name) {
if (!name.startsWith("var")) return name;
return getComputedStyle(document.documentElement).getPropertyValue(name.slice(4, -1)).trim();
}
const ink = name => inkOn(palette(name));
const pen = el("canvas").getContext("2d");
function figureFont() {
const size = document.documentElement.classList.contains("paper") ? 11 : 12;
return size + "px " + getComputedStyle(document.body).fontFamily;
}
function textWidth(text) {
pen.font = figureFont();
return pen.measureText(text).width;
}
const legendItem = (paint, name, act, attributes) => el("li", {},
button([el("i", {style: "background:" + paint}), name], act, attributes));
function legendList(label) {
const list = el("ul", {class: "legend", "aria-label": label});
const updateFocus = oneTabStop(list, "button");
list.fill = items => {
list.replaceChildren(...items);
updateFocus();
};
return list;
}
</script>
)page"sv;
inline constexpr std::string_view page_shared_theme_js = R"page(<script>
"use strict";
const darkQuery = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
const chosen = document.documentElement.dataset.theme;
return chosen ? chosen === "dark" : darkQuery.matches;
}
function headerButtons() {
const theme = byId("theme");
const printer = byId("print");
theme.hidden = printer.hidden = false;  // without a script they would do nothing
const update = () => {
theme.textContent = isDark() ? "Light" : "Dark";
theme.setAttribute("aria-label", "Use " + (isDark() ? "light" : "dark") + " colours");
for (const redraw of redrawOnTheme) redraw();
};
theme.addEventListener("click", () => {
document.documentElement.dataset.theme = isDark() ? "light" : "dark";
update();
});
darkQuery.addEventListener("change", update);
printer.addEventListener("click", () => print());
followPrinting(update);
update();
}
function followPrinting(update) {
const root = document.documentElement;
let theme;
const fitAll = () => {
for (const box of document.querySelectorAll(".scroll")) fitColumns(box);
for (const figure of figures) figure.fit();
update();
};
addEventListener("beforeprint", () => {
theme = root.dataset.theme;
root.dataset.theme = "light";
root.classList.add("paper");
fitAll();
});
addEventListener("afterprint", () => {
root.classList.remove("paper");
if (theme) {
root.dataset.theme = theme;
} else {
delete root.dataset.theme;
}
fitAll();
});
}
</script>
)page"sv;
inline constexpr std::string_view page_report_ranges_js = R"page(<script>
"use strict";
const answer = data.answer;
const summary = answer.step;
const hasSteps = summary.from_steps;
function readRows(names, same, rows) {
return rows.map(cells => {
const row = {...same};
names.forEach((name, i) => {
row[name] = cells[i];
});
return row;
});
}
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
const metric = (row, key) => metricAt.has(key) ? row.counted[metricAt.get(key)] : undefined;
const anyRow = test => folded.rows.some(test);
function selfOf(row, amount) {
const all = amount(row);
return none(all) ? all : Math.max(0, all - sum(row.children, amount));
}
const gpuTimeOfRun = row => (row.gpu_kernel_ns || 0) + (row.gpu_copy_ns || 0);
const titleOf = place => folded.rows[place] ? folded.rows[place].path : "";
const tops = folded.rows.filter(row => row.depth === 1);
const commonTop = tops.length === 1 && tops[0].children.length ? tops[0].path + "/" : "";
function shortPath(path) {
return commonTop && path.startsWith(commonTop) ? path.slice(commonTop.length) : path;
}
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
function isWithin(place, top) {
for (let row = folded.rows[place]; row; row = folded.rows[row.parent]) {
if (row.place === top) return true;
}
return false;
}
</script>
)page"sv;
inline constexpr std::string_view page_report_steps_js = R"page(<script>
"use strict";
const unit = hasSteps ? "step" : "run";
const isSlowed = summary.usual_ns < summary.mean_ns;
const isSum = counted => counted.level === "cpu" && !/%|\//.test(counted.unit);
const typicalCount = summary.count - (summary.without_first ? 1 : 0);
function meanSteps(amount = typicalCount) {
if (!hasSteps) return "the run";
return "a mean of " + some(amount, "step") + (summary.without_first ? ", without the first" : "");
}
const perStep = (row, value) => none(value) ? value : value * row.mean_part;
const inNoStep = row => hasSteps && row.calls > 0 && !row.inside;
</script>
)page"sv;
inline constexpr std::string_view page_report_selection_js = R"page(<script>
"use strict";
const colourCount = 14;
const colours = new Map();
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
function color(place) {
if (place === 0) return "var(--rest)";
if (!colours.has(place)) colours.set(place, freeColour(place));
return "var(--c" + colours.get(place) + ")";
}
function colourLongest() {
const ownTime = row => selfOf(row, gpuTimeOfRun) || row.host_self_ns * 1e-3;
const longest = folded.rows.slice(1).sort((a, b) => ownTime(b) - ownTime(a) || a.place - b.place);
longest.slice(0, colourCount).forEach(row => color(row.place));
}
colourLongest();
const listeners = [];
let chosen = 0;
let isChosen = false;
const addressOf = place => "#range=" + encodeURIComponent(folded.rows[place].path);
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
function lookOf(place) {
if (!isChosen || !chosen) return null;
if (place === chosen) return "picked";
return isWithin(place, chosen) || isWithin(chosen, place) ? null : "pale";
}
const inkOf = (place, paint) => lookOf(place) === "pale" ? "var(--text)" : ink(paint);
function choose(place, quiet) {
chosen = place;
if (!quiet) {
isChosen = true;
history.replaceState(null, "", place ? addressOf(place) : location.pathname);
}
for (const listener of listeners) listener(place);
}
</script>
)page"sv;
inline constexpr std::string_view page_report_budget_js = R"page(<script>
"use strict";
const multiplyAdds = {
means: "multiply-adds",
helps: "tensor cores: TF32 or BF16",
paint: "var(--c10)",
};
const fewerLaunches =
"a CUDA graph, or the next one before the wait; fusion; more work in each launch";
const fewerTurns = "larger tiles in registers; no bank conflicts";
const busyKinds = {
tensor: {means: "matrix units", helps: "narrower formats; fewer products", paint: "var(--c2)"},
FMA: multiplyAdds,
FP32: multiplyAdds,
ALU: {
means: "integers and logic",
helps: "less index arithmetic; constants; wider loads",
paint: "var(--c8)",
},
"shared memory": {
means: "memory of an SM",
helps: fewerTurns,
paint: "var(--c4)",
},
"L1 with shared memory": {
means: "per SM",
helps: fewerTurns,
paint: "var(--c4)",
},
L1: {
means: "cache of an SM",
helps: "neighbouring addresses; reuse in registers",
paint: "var(--c6)",
},
L2: {
means: "cache of all SMs",
helps: "larger tiles in shared memory",
paint: "var(--c9)",
},
HBM: {
means: "device memory",
helps: "fusion; narrower formats; tiles that fit into L2",
paint: "var(--c1)",
},
issue: {
means: "rate of instructions",
helps: "fewer instructions: wider loads, tensor cores",
paint: "var(--c5)",
},
FP64: {means: "double precision", helps: "FP32 where it suffices", paint: "var(--c3)"},
XU: {
means: "conversions, special functions",
helps: "fewer conversions; fast intrinsics",
paint: "var(--c13)",
},
ADU: {
means: "addresses and branches",
helps: "fewer branches; no indexed constants",
paint: "var(--c7)",
},
LSU: {means: "loads and stores", helps: "wider loads and stores", paint: "var(--c9)"},
PCIe: {means: "bus to the host", helps: "data that stay on the GPU", paint: "var(--c12)"},
NVLink: {
means: "links between GPUs",
helps: "less traffic; overlap with kernels",
paint: "var(--c12)",
},
latency: {
means: "no unit reaches 60 %",
helps: "more warps, or more independent work in each",
paint: "var(--c0)",
},
launch: {
means: "short kernels",
helps: fewerLaunches,
paint: "var(--c11)",
},
copies: {
means: "by the GPU",
helps: "overlap with kernels, from pinned memory",
paint: "var(--c12)",
},
"above the roof": {
name: "above the roof: numbers contradict each other",
helps: "check declared work and clocks",
paint: "var(--c7)",
},
"not known": {
name: "limiter not counted",
helps: "counters=limits counts it",
paint: "var(--rest)",
},
};
const idleKinds = {
launch: {
name: "the host launches",
helps: fewerLaunches,
paint: "var(--c3)",
},
"host work": {
name: "the program computes",
helps: "launch first; another thread",
paint: "var(--c13)",
},
wait: {
name: "the host waits, then launches",
helps: "one wait a step",
paint: "var(--c6)",
},
allocation: {
name: "the host allocates",
helps: "allocate before the loop; cudaMallocAsync",
paint: "var(--c8)",
},
copy: {
name: "the host copies",
helps: "cudaMemcpyAsync from pinned memory",
paint: "var(--c12)",
},
device: {
name: "queued work begins late",
helps: "fewer dependences between streams",
paint: "var(--c7)",
},
"not known": {name: "cause not recorded", paint: "var(--rest)"},
};
function budgetParts(list, kinds, isIdle) {
const found = new Map();
for (let i = 0; i + 2 < list.length; i += 3) {
const [what, range, ns] = list.slice(i, i + 3);
const kind = kinds[what] || {paint: "var(--c" + (i / 3 + 5) % 14 + ")"};
const name = (kind.name || what) + (kind.means ? " (" + kind.means + ")" : "");
if (!found.has(what)) found.set(what, {...kind, name, what, isIdle, ns: 0, ranges: []});
const part = found.get(what);
part.ns += ns;
part.ranges.push({range, ns});
}
for (const part of found.values()) part.ranges.sort((a, b) => b.ns - a.ns);
return [...found.values()].sort((a, b) => b.ns - a.ns);
}
function describeBudget(part, whole) {
const where = part.ranges.slice(0, 4).map(({range, ns}) => shortTitle(range) + " " + time(ns));
return (part.isIdle ? "GPU idle: " : "GPU busy: ") + part.name + "\n" + time(part.ns) + ", "
+ percent(100 * part.ns / whole) + " of the " + unit + "\n" + where.join("\n")
+ (part.helps ? "\nHelps: " + part.helps : "");
}
function budgetRange(part) {
const [most] = part.ranges;
return most && most.range > 0 ? most.range : null;
}
function toMost(part) {
const range = budgetRange(part);
if (!part.ranges.length || part.ranges[0].range < 0) return null;  // not on the page
const others = part.ranges.length > 1 ? " + " + (part.ranges.length - 1) : null;
return el("span", {class: "most"},
range ? toRow(range, endOfPath(shortTitle(range))) : "in no range", others);
}
const findingParts = {
launch: "launches",
"host work": "host work",
wait: "waits",
allocation: "allocations",
copy: "copies",
copies: "copies",
};
const findingPart = part => findingParts[part.what] || (part.isIdle ? "" : "kernels");
function gainOfPart(part, finding, all) {
const places = new Set(part.ranges.map(item => item.range));
const cost = sum(finding.ranges, item => item.cost_ns_per_step);
const own = sum(finding.ranges, item => places.has(item.range) ? item.cost_ns_per_step : 0);
const same = all.filter(item => item.what !== part.what || item.isIdle !== part.isIdle)
.filter(item => findingPart(part) !== "kernels" && findingPart(item) === findingPart(part));
const share = part.ns / (part.ns + sum(same, item => item.ns));
return cost > 0 ? Math.min(part.ns, finding.gain_ns_per_step * share * own / cost) : 0;
}
function findingOf(part, list, all) {
const kind = findingPart(part);
const found = list.filter(item => item.shortens_step && item.part === kind)
.map(finding => ({finding, gain: gainOfPart(part, finding, all)}))
.sort((a, b) => b.gain - a.gain)[0];
return found && found.gain > 0 ? found : null;
}
const cures = 0.2;
function helpsPart(part, all) {
const found = findingOf(part, answer.findings, all);
const general = part.helps ? "in general: " + part.helps : "";
if (!found) return general ? el("span", {class: "helps"}, general) : null;
const {finding, gain} = found;
const place = leadingFindings.indexOf(finding) + 1;
const isCure = gain > cures * part.ns;
return el("span", {class: "helps", "data-finding": place, "data-gain": gain},
el("a", {href: "#findings"}, "finding " + place), " (" + time(gain) + ")",
isCure ? ": " + finding.advice : "; " + general);
}
const budgetSwatch = part => el("i", {
class: part.isIdle ? "idle" : null,
style: "--paint:" + part.paint,
});
function budgetSegment(part, whole) {
const text = describeBudget(part, whole);
const range = budgetRange(part);
return el("span", {
class: part.isIdle ? "idle" : null,
style: "--paint:" + part.paint + ";flex-grow:" + part.ns / whole,
role: "button",
"data-ns": part.ns,
"aria-label": text,
...hinted(text),
...pressed(() => range && showRow(range)),
});
}
function budgetGroup(title, by, list, {all, whole}) {
if (!list.length) return null;
const ns = sum(list, part => part.ns);
return el("div", {},
el("p", {class: "heading"}, title + " " + time(ns) + ", " + percent(100 * ns / whole),
el("span", {class: "helps"}, " by " + by + ", with what helps")),
el("ul", {class: "parts"}, list.map(part => el("li", {},
budgetSwatch(part),
el("span", {class: "what"}, part.name),
el("span", {class: "amount"}, time(part.ns)),
el("span", {class: "amount"}, percent(100 * part.ns / whole)),
el("span", {class: "more"},
toMost(part),
helpsPart(part, all))))));
}
function waitOf(range) {
const {stall} = answer.limits.find(item => item.range === range) || {};
if (!stall) return "";
const counted = folded.metrics.find(item => item.key === "stall_" + stall + "_share");
return "its warps " + (counted ? counted.meaning.replace(/^.*warps that /, "") : "wait")
+ " (" + stall.replace(/_/g, " ") + ")";
}
function readBudget() {
if (!data.budget || !(summary.gpu_busy_ns > 0)) return null;
const busy = budgetParts(data.budget.busy, busyKinds, false);
const idle = budgetParts(data.budget.idle, idleKinds, true);
return {busy, idle, all: [...busy, ...idle], whole: sum([...busy, ...idle], part => part.ns)};
}
function budget() {
const step = readBudget();
if (!step) return null;
const {busy, idle, all, whole} = step;
const bar = el("div", {class: "budget", role: "group", "aria-label": "Budget of a mean " + unit},
all.map(part => budgetSegment(part, whole)));
oneTabStop(bar, "[role=button]")();
return el("div", {id: "budget"}, bar, el("div", {class: "two"},
budgetGroup("GPU busy", "limiter", busy, step),
budgetGroup("GPU idle", "cause", idle, step)));
}
function stepGroups() {
const groups = [];
const list = data.steps || [];
for (let i = 0; i + 3 < list.length; i += 4) {
const [number, amount, shortest, longest] = list.slice(i, i + 4);
groups.push({number, amount, shortest, longest});
}
return groups;
}
function describeSteps({number, amount, shortest, longest}) {
if (amount === 1) return "step " + number + ": " + time(longest);
return "steps " + number + " to " + (number + amount - 1) + ": " + time(shortest) + " to "
+ time(longest);
}
function drawStepDots(width, groups) {
const [left, right, top, floor] = [64, 8, 12, 78];
const height = floor + 20;
const most = Math.max(...groups.map(group => group.longest));
const wide = (width - left - right) / groups.length;
const y = ns => floor - ns / most * (floor - top);
const drawing = sv("svg", {width, height, id: "steps-figure", role: "img",
"aria-label": "Time of " + some(sum(groups, group => group.amount), "step")});
for (const ns of [0, most]) {
const place = y(ns);
drawing.append(
sv("line", {x1: left, x2: width - right, y1: place, y2: place, class: "grid"}),
sv("text", {x: left - 6, y: place + 4, "text-anchor": "end", class: "soft"}, time(ns)));
}
groups.forEach((group, i) => {
const x = left + (i + 0.5) * wide;
const look = {"data-step": group.number, ...hovered(describeSteps(group))};
const round = {"stroke-width": 5, "stroke-linecap": "round", stroke: "var(--c0)"};
const line = {x1: x, x2: x, y1: y(group.shortest), y2: y(group.longest) + 0.01};
drawing.append(sv("line", {...line, ...round, ...look}));
});
const last = groups[groups.length - 1];
const write = (x, anchor, text) =>
drawing.append(sv("text", {x, y: height - 4, "text-anchor": anchor, class: "soft"}, text));
write(left, "start", "step " + groups[0].number);
if (groups.length > 1) write(width - right, "end", "step " + (last.number + last.amount - 1));
return drawing;
}
const fewestDots = 5;
function stepDots() {
const groups = stepGroups();
if (isSlowed) return null;  // they are longer than the step that all else is of
const isApart = summary.without_first && groups.length > 1 && groups[0].amount === 1;
const shown = isApart ? groups.slice(1) : groups;
if (!hasSteps || sum(shown, group => group.amount) < fewestDots) return null;
const about = (summary.period_of_gpu ? "Host time of each step" : "Each step")
+ (isApart ? "; the first is apart" : "");
return el("div", {id: "each-step"},
el("p", {class: "heading"}, about),
chart((box, width) => box.replaceChildren(drawStepDots(width, shown)), 98));
}
</script>
)page"sv;
inline constexpr std::string_view page_report_headline_js = R"page(<script>
"use strict";
const program = data.environment.program || "program";
const deviceNames = [...new Set(data.devices.map(device => device.name))].map(name => {
const same = data.devices.filter(device => device.name === name);
const times = same.length > 1 ? same.length + " \u00d7 " : "";
return times + name + " (" + same[0].multiprocessors + " SMs)";
});
function setOfSteps() {
if (!hasSteps) {
const why = data.has_steps ? "no step was recorded" : "the program has no STRATA_STEP()";
return "All numbers are of the whole run: " + why + ".";
}
const apart = summary.without_first
? ". The first one is in none of them"
: "";
const means = "All numbers of a step are means of ";
if (!isSlowed) return means + some(typicalCount, "step") + apart + ".";
return means + some(typicalCount, "recorded step") + apart + ". On this first screen idle time "
+ "is an estimate: all of it is shortened alike, to a step without recording.";
}
function stepTiles() {
if (!hasSteps) return [tile({name: "Recorded", value: time(summary.mean_ns)})];
const unrecorded = summary.unrecorded_ns && !isSlowed
? "; unrecorded " + time(summary.unrecorded_ns)
: "";
const fewestOfTail = 20;  // of fewer steps p95 is the longest
const tail = typicalCount < fewestOfTail ? ", longest " : ", p95 ";
const spread = (isSlowed ? "recorded: mean " + time(summary.mean_ns) + ", " : "")
+ "median " + time(summary.p50_ns) + tail + time(summary.p95_ns) + unrecorded;
const tiles = [tile({
name: summary.period_of_gpu ? "Step, as a period of the GPU" : "Step time",
value: time(summary.usual_ns),
note: summary.count > 1 ? spread : null,
})];
if (summary.without_first) {
const note = "apart: in no figure of a mean step";
tiles.push(tile({name: "First step", value: time(summary.first_ns), note}));
}
return tiles;
}
function gpuTiles() {
if (data.traced && summary.gpu_busy_ns > 0) return [];
const isHostOnly = /host/.test(data.environment.configuration);
const hostNote = "host times only" + (isHostOnly ? ": STRATA=trace records the GPU" : "");
return [tile({
name: "GPU",
value: data.traced ? "no work" : "not traced",
note: data.traced ? "nothing ran on the device" : hostNote,
small: true,
})];
}
function machineTile() {
const hasDevice = data.devices.length > 0;
const worked = data.devices.filter(device => device.worked);
const idleOthers = worked.length > 0 && worked.length < data.devices.length;
const which = idleOthers
? "GPU " + worked.map(device => device.device).join(", ") + " worked; "
: "";
return tile({
name: hasDevice ? "Device" : "CPU",
value: deviceNames.join(", ") || data.environment.cpu || "unknown",
note: hasDevice ? which + data.environment.cpu : null,
small: true,
});
}
function declaredTiles() {
const tiles = [];
if (!none(summary.mbu)) {
const peak = rate("B/s")(summary.mbu_peak);
const note = bytes(summary.declared_bytes) + " a step; HBM has " + peak;
tiles.push(tile({name: "MBU, as declared", value: percent(100 * summary.mbu), note}));
}
if (!none(summary.mfu)) {
const note = rate("FLOP")(summary.declared_flops) + " a step; BF16 has "
+ rate("FLOP/s")(summary.mfu_peak);
tiles.push(tile({name: "MFU, as declared", value: percent(100 * summary.mfu), note}));
}
return tiles;
}
function memoryTiles() {
const recorded = data.memory;
if (!recorded || !(recorded.peak_bytes > 0)) return [];
const set = recorded.by_purpose || recorded.by_range;
const [holder] = holdersOf(set, partNames(set));
return [tile({
name: "Memory at its peak",
value: bytes(recorded.peak_bytes),
note: holder ? holder.name + ": " + bytes(holder.value) + " of it" : null,
more: el("dd", {class: "note"}, neverReleased(memoryTotals(recorded)) || "all was released"),
})];
}
function commonestNeed(rules) {
const amounts = new Map();
for (const {needs} of rules) amounts.set(needs, (amounts.get(needs) || 0) + 1);
return [...amounts].sort((a, b) => b[1] - a[1])[0][0];
}
function helpsNothing() {
if (!(summary.gpu_busy_ns > 0)) return null;
const blind = answer.undecided;
const nothing = " found anything that would shorten the " + unit + ".";
if (!blind.length) return el("p", {}, "No rule" + nothing);
return el("p", {}, "What helps most is not measured: " + commonestNeed(blind) + " would let "
+ some(blind.length, "more rule", "more rules") + " look. No other one" + nothing);
}
function helpsMost() {
if (!bestFinding) return helpsNothing();
const isLittle = bestFinding.gain_ns_per_step < little * summary.usual_ns;
const intro = "What helps most" + (isLittle ? ", though little: " : ": ");
return el("p", {}, intro, placesOf(bestFinding), sentence(bestFinding.title), " ",
sentence(bestFinding.advice), " ", afterwards(bestFinding));
}
const much = 0.1;
const little = 0.05;
const bestFinding = answer.findings.find(finding => finding.shortens_step);
const isBound = /^([A-Z][a-z]+|GPU|CPU)-bound: |^Idle: /.test(answer.bound || "");
function mostToGain() {
if (bestFinding && bestFinding.gain_ns_per_step > much * summary.usual_ns) {
return " Most to gain: " + bestFinding.cause + ".";
}
const blind = answer.undecided.length;
return " No rule has a cure for much of it"
+ (blind ? "; " + some(blind, "rule lacks", "rules lack") + " data." : ".");
}
function mainLimiters() {
const {busy = [], whole = 0} = readBudget() || {};
const most = busy.filter(part => part.ns > much * whole);
const all = sum(busy, part => part.ns);
if (all < 0.5 * whole || !most.length) return "";
const named = most.map(part => (part.what === "not known" ? "not counted" : part.what)
+ " " + Math.round(100 * part.ns / whole) + " %");
const isMixed = most.length > 1 && most[0].ns < 0.5 * all;
const label = isMixed ? "No single limiter: " : most.length > 1 ? "Limiters: " : "Limiter: ";
return label + named.join(", ") + ". ";
}
function bound() {
if (!answer.bound) return null;
const text = sentence(answer.bound);
if (!isBound) return el("p", {class: "answer"}, text);
const [first] = text.match(/^.*?\.(?= |$)/) || [text];
const rest = mainLimiters() + text.slice(first.length).trim();
return [el("p", {class: "answer"}, first + mostToGain()), rest ? el("p", {}, rest) : null];
}
const beginning = (text, most) => text.length > most ? text.slice(0, most) + "\u2026" : text;
function headline() {
const run = data.environment;
document.title = program + " \u2013 Strata report";
byId("title").textContent = program;
byId("where").textContent = [
beginning(run.command, 100),
run.host,
none(run.rank) ? "" : "rank " + run.rank,
deviceNames.join(", ") || run.cpu,
run.started_at,
].filter(Boolean).join(" \u00b7 ");
const tiles = [...stepTiles(), ...gpuTiles()];
if (summary.tokens_per_second > 0) {
const value = count(summary.tokens_per_second);
tiles.push(tile({name: "Tokens/s", value, note: "as the ranges declare them"}));
}
tiles.push(...declaredTiles(), ...memoryTiles(), machineTile());
byId("main").append(el("section", {id: "headline", "aria-label": "Headline"},
bound(),
helpsMost(),
el("div", {class: "first"}, budget(), stepDots(), el("p", {class: "about"}, setOfSteps())),
el("dl", {class: "tiles"}, tiles)));
}
</script>
)page"sv;
inline constexpr std::string_view page_report_findings_js = R"page(<script>
"use strict";
const openFindings = 5;
const toRow = (place, text) => el("a", {
href: "#row-" + place,
onclick: event => {
event.preventDefault();
showRow(place);
},
}, text || titleOf(place));
const hasCost = finding => finding.cost_ns_per_step > 0;
const leadingFindings =
answer.findings.filter(finding => finding.shortens_step || !hasCost(finding));
const evidence = finding => finding.evidence.map((item, i) => [
i ? "; " : "",
item.path !== finding.path ? item.path + " " : null,
el("code", {}, item.column),
" ",
inUnit(item.unit)(item.value),
]);
function gainShare(finding) {
const share = 100 * finding.gain_ns_per_step / summary.usual_ns;
return share >= 0.05 ? shareText(share) : "";
}
function afterwards(finding) {
if (!hasCost(finding)) return "";
if (!finding.shortens_step) return "Fixing only this would not shorten the " + unit + ". ";
const share = gainShare(finding);
if (none(finding.predicted_step_ns)) {
const most = "At most " + time(finding.cost_ns_per_step) + " of the " + unit;
return most + (share && " (" + share + ")") + ". ";
}
const others = finding.ends_other_waits ? ", since other idle time ends with it. " : ". ";
return "Predicted " + unit + ", at best: " + time(finding.predicted_step_ns)
+ (share && " (" + share + " shorter)") + others;
}
function gainOf(finding) {
const share = gainShare(finding);
const most = none(finding.predicted_step_ns) ? "up to " : "";
return most + time(finding.gain_ns_per_step) + " a " + unit + (share && " (" + share + ")");
}
const folding = (summaryText, ...children) =>
el("details", {}, el("summary", {}, summaryText), children);
function otherRanges(finding) {
if (finding.ranges.length < 2) return null;
const list = finding.ranges.map((range, i) => [
i ? ", " : "",
range.path ? toRow(range.range, shortPath(range.path)) : titleOf(0),
" " + time(range.cost_ns_per_step),
]);
return el("p", {class: "evidence"}, "In: ", list, ".");
}
const namedRanges = 5;
function placesOf(finding) {
if (!finding.path) return null;
const all = [...new Map(finding.ranges.map(item => [item.range, item])).values()];
const named = all.length > namedRanges ? [finding] : all;
const inRanges = named.filter(item => item.path);
const links = inRanges.map((item, i) =>
[i ? ", " : "", toRow(item.range, i ? shortTitle(item.range) : shortPath(item.path))]);
const more = all.length - named.length;
const others = more > 0 ? some(more, "more range", "more ranges") : "between ranges";
return [links, (more > 0 || inRanges.length < named.length ? " and " + others : "") + ": "];
}
function findingTitle(finding) {
const title = finding.path ? finding.title : sentence(finding.title).replace(/\.$/, "");
const helps = hasCost(finding) && finding.shortens_step;
const gain = helps ? [" \u2013 ", el("span", {class: "gain"}, gainOf(finding))] : null;
return el("h3", {}, placesOf(finding), title, gain);
}
const rangesOf = finding => [finding, ...finding.ranges].filter(item => item.path)
.map(item => item.range);
function markFindings() {
for (const item of document.querySelectorAll(".findings li")) {
const places = item.dataset.ranges.split(" ").filter(Boolean).map(Number);
const isPicked = isChosen && chosen > 0
&& places.some(place => isWithin(place, chosen) || isWithin(chosen, place));
item.classList.toggle("picked", isPicked);
item.setAttribute("aria-current", String(isPicked));
}
}
function oneFinding(finding) {
const needs = (finding.needs || "").replace(/^counters=/, "");
return el("li", {"data-ranges": rangesOf(finding).join(" ")},
findingTitle(finding),
el("p", {}, afterwards(finding) + sentence(finding.advice)),
needs ? el("p", {class: "evidence"}, "counters=" + needs + " tells more.") : null,
folding("Ranges and evidence",
otherRanges(finding),
el("p", {class: "evidence"},
finding.evidence.length ? [evidence(finding), ". "] : null,
"Rule ", el("code", {}, finding.rule), ".")));
}
function findingList(list, before) {
const attributes = before
? {class: "findings", start: before + 1, style: "counter-reset: finding " + before}
: {class: "findings"};
return el("ol", attributes, list.map(oneFinding));
}
function undecidedRules() {
const rules = answer.undecided;
if (!rules.length) return null;
const columns = [
{label: "Rule", get: rule => rule.rule, text: true},
{label: "What would decide it", get: rule => rule.needs, text: true},
];
return folding(some(rules.length, "rule lacks", "rules lack") + " data",
table("Rules that lack data", columns, rules));
}
function aboutFindings(list) {
const nothing = data.traced
? "No rule found anything wrong."
: "No rule found anything wrong in the host times; most rules look at the GPU's.";
const found = "One cause each, over all its ranges, by what the " + unit
+ " gains without it. What is predicted is the best case.";
const more = answer.findings_left_out
? count(answer.findings_left_out) + " more are in findings.json."
: "";
return [list.length ? found : nothing, more].filter(Boolean).join(" ");
}
function findings() {
if (!answer.findings.length && !answer.bound && !answer.undecided.length) return;
const list = leadingFindings;
const others = answer.findings.filter(finding => !list.includes(finding));
const rest = list.slice(openFindings);
section("findings", "Findings", aboutFindings(list),
list.length ? findingList(list.slice(0, openFindings), 0) : null,
rest.length
? folding(count(rest.length) + " more, which gain less", findingList(rest, openFindings))
: null,
others.length
? folding(some(others.length, "finding", "findings") + " that would not shorten the " + unit
+ " alone", findingList(others, list.length))
: null,
undecidedRules());
listeners.push(markFindings);
}
function doubts() {
const texts = [...data.losses, ...data.problems];
if (!texts.length) return;
const notices = texts.map(text => el("p", {class: "notice"}, sentence(text)));
section("lost", "Lost and not measured", null, notices);
}
</script>
)page"sv;
inline constexpr std::string_view page_report_range_columns_js = R"page(<script>
"use strict";
const limits = new Map(answer.limits.map(limit => [limit.range, limit]));
function limitOf(row) {
const {limiter, kind, unit: name, ...spent} = limits.get(row.folded) || {limiter: ""};
if (kind !== "unit") return limiter;
const use = Math.min(100, 100 * spent.time_at_roof_ns / spent.time_ns);
return name + " at " + use.toFixed(0) + " % of its peak";
}
function useOf(row) {
const {time_at_roof_ns: ns, time_ns: whole, kind} = limits.get(row.folded) || {};
const isCounted = folded.rows[row.folded].counted.some(value => !none(value));
if (!isCounted || !(ns > 0) || !(whole > 0) || kind === "above the roof") return null;
return Math.min(100, 100 * ns / whole);
}
function limiterOf(row) {
const {limiter, kind, unit: name} = limits.get(row.folded) || {limiter: ""};
return kind === "unit" && !none(useOf(row)) ? name : limiter;
}
function helpOf(row) {
const {kind, unit: name} = limits.get(row.folded) || {};
const known = busyKinds[kind === "unit" ? name : kind];
return known ? known.helps : "";
}
function shareOfStep(row) {
const hasGpu = data.traced && summary.gpu_busy_ns > 0;
const part = hasGpu ? row.mean_busy_ns : row.mean_stepping_ns;
return 100 * part / summary.mean_ns;
}
const declaredRate = column => row => {
const ns = row.gpu_busy_ns || row.host_total_ns;
return row[column] > 0 && ns > 0 ? row[column] / ns * 1e9 : null;
};
const busyTitle = "GPU busy time (host time where no GPU worked) of the mean " + unit
+ "; empty where that of several threads or steps is longer";
const declaredTitle = "declared work by GPU busy time, by host time where there is none";
const inRunAndStep = (column, ofStep) => ({get: row => row[column], per: row => row[ofStep]});
const recordedColumns = [
{
key: "busy",
label: "GPU busy",
title: "time in which a kernel or copy of the range ran",
...inRunAndStep("gpu_busy_ns", "mean_busy_ns"),
show: time,
},
{
key: "share",
label: "% of " + unit,
title: busyTitle,
get: shareOfStep,
show: shareText,
bar: true,
},
{
key: "limit",
label: "Limiter",
title: "the unit used most, from 60 % on; else launch, copies or latency",
text: true,
get: row => limiterOf(row) || null,
show: value => value || "",
},
{
key: "use",
label: "Use %",
title: "the highest use of a unit, of its peak",
get: useOf,
show: shareText,
},
{
key: "graphs",
label: "In graphs",
title: "kernels that it captured; busy where the graph is launched",
...inRunAndStep("graph_kernel_ns", "mean_graph_kernel_ns"),
show: time,
},
{key: "kernels", label: "Kernels", ...inRunAndStep("kernels", "mean_kernels"), show: count},
{
key: "host",
label: "Host total",
title: "host time, of all threads",
...inRunAndStep("host_total_ns", "mean_host_ns"),
show: time,
},
{
key: "launch",
label: "Driver calls",
title: "host time in launches, copies and fills",
...inRunAndStep("launch_ns", "mean_launch_ns"),
show: time,
},
{
key: "calls",
label: "Calls",
...inRunAndStep("calls", "mean_calls"),
show: count,
},
{
key: "self",
label: "Host self",
title: "host time without the ranges below",
...inRunAndStep("host_self_ns", "mean_self_ns"),
show: time,
},
{key: "p50", label: "Median", get: row => row.host_p50_ns, show: time},
{
key: "flops",
label: "FLOP/s",
title: declaredTitle,
get: declaredRate("flops"),
show: rate("FLOP/s"),
},
{key: "gbs", label: "B/s", title: declaredTitle, get: declaredRate("bytes"), show: rate("B/s")},
{
key: "copies",
label: "Copies",
title: "GPU time of copies and fills",
...inRunAndStep("gpu_copy_ns", "mean_copy_ns"),
show: time,
},
{
key: "waits",
label: "Waits",
title: "host time in which it waited for the GPU",
...inRunAndStep("synchronization_ns", "mean_synchronization_ns"),
show: time,
},
{
key: "allocations",
label: "Allocations",
...inRunAndStep("allocations", "mean_allocations"),
show: count,
},
{
key: "peak",
label: "Peak",
title: "most device memory of the range at one time",
get: row => row.peak_bytes,
show: bytes,
},
{key: "tokens", label: "Tokens/s", get: declaredRate("tokens"), show: count},
];
const countedLabels = {
hbm_bytes: "HBM",
hbm_of_peak: "HBM peak %",
l2_bytes: "L2",
l1_data_bytes: "L1 data",
l1_bytes: "L1",
l1_hit_rate: "L1 hit %",
l2_hit_rate: "L2 hit %",
flop: "FLOP",
achieved_occupancy: "Occupancy %",
cpu_instructions: "Instructions",
cpu_ipc: "IPC",
cpu_llc_misses: "LLC misses",
};
function countedColumn(key) {
const counted = folded.metrics[metricAt.get(key)];
return {
key,
label: countedLabels[key],
title: counted.meaning + " (counted)",
get: row => metric(row, key),
per: isSum(counted) && (row => perStep(row, metric(row, key))),
show: inUnit(counted.unit === "B" || counted.unit === "%" ? counted.unit : ""),
};
}
const hasValue = column =>
anyRow(row => row.depth > 0 && (column.text ? column.get(row) : column.get(row) > 0));
const columns = [
...recordedColumns,
...Object.keys(countedLabels).filter(key => metricAt.has(key)).map(countedColumn),
].filter(hasValue);
</script>
)page"sv;
inline constexpr std::string_view page_report_range_rows_js = R"page(<script>
"use strict";
function matchingPlaces(rows, words) {
const wanted = new Set();
for (const match of rows) {
if (!(match.path + "\n" + match.label).toLowerCase().includes(words)) continue;
for (let row = match; row; row = rows[row.parent]) wanted.add(row.place);
}
return wanted;
}
const byLabel = (a, b) => a.label.localeCompare(b.label) || a.place - b.place;
function byColumn(column) {
const text = row => String(column.get(row) || "");
const isEmpty = row => Number(text(row) === "");
const number = row => column.get(row) || 0;
if (column.text) {
return (a, b) => isEmpty(a) - isEmpty(b) || text(a).localeCompare(text(b));
}
return (a, b) => number(b) - number(a) || a.place - b.place;
}
function sortedRows(rows, sort) {
if (sort === "order") return rows;
return rows.slice().sort(sort === "name" ? byLabel : byColumn(sort));
}
function visibleRows({rows, sort, search, isOpen, isHidden}) {
const words = search.toLowerCase();
const wanted = words ? matchingPlaces(rows, words) : null;
const result = [];
const visit = row => {
const below = wanted ? row.children.filter(child => wanted.has(child.place)) : row.children;
for (const child of sortedRows(below, sort)) {
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
</script>
)page"sv;
inline constexpr std::string_view page_report_range_table_js = R"page(<script>
"use strict";
const outsideColumns = ["kernels", "copies", "launch", "waits", "allocations"];
const firstRows = 250;
const rangeTable = {
view: folded,
sort: data.sort,
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
search,
isOpen: row => open.has(row.place),
isHidden: row => per && inNoStep(row),
});
}
function openTo(depth, limit) {
rangeTable.open.clear();
for (const row of rangeTable.view.rows) {
if (row.depth < depth && row.children.length) rangeTable.open.add(row.place);
}
if (depth > 1 && limit && shownRows().length > limit) openTo(depth - 1, limit);
}
function rangelessValue(column) {
const ns = summary.rangeless_busy_ns;
if (!rangeTable.per || !(ns > 0)) return null;
if (column.key === "busy") return ns;
return column.key === "share" ? 100 * ns / summary.mean_ns : null;
}
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
function sortBy(key) {
const isOrder = key === "order" && rangeTable.sort === "order";
if (isOrder) {
rangeTable.sort = "name";
} else {
rangeTable.sort = key === "name" ? "order" : key;
}
drawRanges();
}
function rangeHeading(key, {label, title, text}) {
const isUpwards = key === "order" || key === "name";
const direction = isUpwards ? "ascending" : "descending";
const sorted = rangeTable.sort === key ? direction : undefined;
return el("th", {scope: "col", class: text && "text", "aria-sort": sorted},
button(label, () => sortBy(key), {title}));
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
function foldByKey(key, item) {
const place = Number(item.dataset.place);
const isOpen = rangeTable.open.has(place);
const isFold = key === "ArrowLeft" || key === "ArrowRight";
const row = rangeTable.view.rows[place];
if (!isFold) return false;
if (row.children.length && isOpen === (key === "ArrowLeft")) toggleRow(row);
return true;
}
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
function outsideSteps() {
const isOutermost = row => inNoStep(row) && !inNoStep(folded.rows[row.parent]);
const rows = folded.rows.filter(row => row.depth > 0 && isOutermost(row));
if (!rows.length) return null;
const shown = columns.filter(column => column.per && rows.some(row => column.get(row) > 0));
const amounts = shown.map(column => ({
label: column.label,
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
button("Fold all", foldAll));
}
function ranges() {
openTo(3, 40);
const about = "Amounts are of a mean " + unit + ". A click on a heading sorts; the first one is"
+ " for the order of execution and for names. A click on a name shows the range in the figures"
+ " below. The arrow keys go from name to name, and fold.";
const limiter = " Limiter: the unit used most, from 60 % on; else launch: the GPU waits for the"
+ " host; copies; or latency: kernels wait for their own results.";
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
</script>
)page"sv;
inline constexpr std::string_view page_report_shares_js = R"page(<script>
"use strict";
const namedShares = 12;
function askedBytes(row, key, sectors) {
const counted = metric(row, key);
if (!none(counted)) return counted;
return none(metric(row, sectors)) ? null : 32 * metric(row, sectors);
}
function floatingOperations(row) {
const plain = metric(row, "flop");
const tensor = metric(row, "tensor_flop");
return none(plain) && none(tensor) ? null : (plain || 0) + (tensor || 0);
}
const level1Bytes = row => firstKnown(metric(row, "l1_data_bytes"), metric(row, "l1_bytes"));
const gpuTimeOf = row =>
none(row.gpu_kernel_ns) ? null : row.mean_kernel_ns + row.mean_copy_ns;
const hostTimeOf = row =>
row.depth ? row.mean_stepping_ns : sum(row.children, hostTimeOf);
const loadsOf = row => askedBytes(row, "global_load_bytes", "l1_global_load_sectors");
const storesOf = row => askedBytes(row, "global_store_bytes", "l1_global_store_sectors");
const shareKinds = [
{name: "GPU time", amount: gpuTimeOf, show: time},
{name: "Host time", amount: hostTimeOf, show: time},
{name: "Kernels", amount: row => row.mean_kernels, show: count},
{name: "Loads", amount: loadsOf, show: bytes, counted: true},
{name: "Stores", amount: storesOf, show: bytes, counted: true},
{name: "L1", amount: level1Bytes, show: bytes, counted: true},
{name: "L2", amount: row => metric(row, "l2_bytes"), show: bytes, counted: true},
{name: "HBM", amount: row => metric(row, "hbm_bytes"), show: bytes, counted: true},
{name: "FLOP", amount: floatingOperations, show: count, counted: true},
{name: "Instructions", amount: row => perStep(row, metric(row, "cpu_instructions")), show: count},
].filter(({amount}) => {
const root = folded.rows[0];
return amount(root) > 0 || sum(root.children, amount) > 0;
});
function sharePart(row, depth) {
const isWhole = row.depth === depth || !row.children.length;
const name = row.path + (row.depth && !isWhole ? " (itself)" : "");
const values = shareKinds.map(({amount}) => isWhole ? amount(row) : selfOf(row, amount));
return {place: row.place, name, values};
}
function otherShares(rest) {
return {
place: 0,
name: some(rest.length, "other"),
rest: true,
values: shareKinds.map((kind, i) => sum(rest, part => part.values[i])),
shares: shareKinds.map((kind, i) => sum(rest, part => part.shares[i])),
};
}
function parts(depth) {
const list = folded.rows.filter(row => row.depth <= depth).map(row => sharePart(row, depth))
.filter(part => part.values.some(value => value > 0));
const totals = shareKinds.map((kind, i) => sum(list, part => part.values[i]));
for (const part of list) {
part.shares = part.values.map((value, i) => totals[i] > 0 ? (value || 0) / totals[i] : 0);
part.most = Math.max(...part.shares);
}
list.sort((a, b) => b.most - a.most || a.place - b.place);
const named = list.slice(0, namedShares).filter(part => part.most >= 0.004);
const rest = list.slice(named.length);
named.sort((a, b) => a.place - b.place);
if (rest.length) named.push(otherShares(rest));
return {parts: named, totals};
}
function startDepth(deepest) {
const hidesMuch = depth => parts(depth).parts.some(part => part.rest && part.shares[0] > 0.02);
let best = 1;
for (let depth = 2; depth <= deepest && !hidesMuch(depth); depth += 1) {
if (parts(depth).parts.length > parts(best).parts.length) best = depth;
}
return best;
}
const sharePaint = part => part.rest ? "var(--rest)" : color(part.place);
function chooseShare(part) {
if (!part.rest) choose(part.place);
}
function drawShare(drawing, part, kind, i, place) {
const {x, y, width, height} = place;
const paint = sharePaint(part);
const text = part.name + "\n" + kind.name + ": " + shareText(100 * part.shares[i]) + ", "
+ kind.show(part.values[i]);
const isButton = width > 3;
drawing.append(sv("rect", {
x, y, width, height,
fill: paint,
class: ["edge", lookOf(part.rest ? 0 : part.place)].filter(Boolean).join(" "),
"data-key": kind.name + part.place,
"data-share": part.shares[i],
role: isButton ? "button" : "presentation",
"aria-label": isButton ? text : undefined,
...(isButton ? hinted(text) : hovered(text)),
...(part.rest ? {} : pressed(() => choose(part.place))),
}));
const label = lastName(part.name);
if (width <= label.length * 7 + 12) return;
drawing.append(sv("text", {
x: x + width / 2,
y: y + height / 2 + 4,
"text-anchor": "middle",
style: "pointer-events:none;fill:" + inkOf(part.rest ? 0 : part.place, paint),
"aria-hidden": "true",
}, label));
}
function drawShares(width, {parts: list, totals}) {
const isNarrow = width < 520;
const left = isNarrow ? 78 : 145;
const right = isNarrow ? 4 : 90;
const height = 26;
const line = height + 9;
const drawing = sv("svg", {
width,
height: shareKinds.length * line,
role: "group",
"aria-label": "Shares of a mean " + unit + " by range",
});
shareKinds.forEach((kind, i) => {
const y = i * line;
const middle = y + height / 2 + 4;
const lines = isNarrow ? kind.name.split(", ") : [kind.name];
lines.forEach((text, n) => {
const down = 13 * (n - (lines.length - 1) / 2);
drawing.append(sv("text", {x: left - 8, y: middle + down, "text-anchor": "end"}, text));
});
if (!isNarrow) {
const place = {x: width - right + 8, y: middle, class: "soft"};
drawing.append(sv("text", place, kind.show(totals[i])));
}
let x = left;
for (const part of list) {
const wide = part.shares[i] * (width - left - right);
if (!(wide > 0)) continue;
drawShare(drawing, part, kind, i, {x, y, width: wide, height});
x += wide;
}
});
return drawing;
}
function shareNumbers(list) {
const amounts = shareKinds.flatMap((kind, i) => [
{label: kind.name, get: part => none(part.values[i]) ? "" : kind.show(part.values[i])},
{label: "%", get: part => shareText(100 * part.shares[i])},
]);
const range = {label: "Range", get: part => part.name, text: true};
return numbersOfFigure(() => table("Shares by range", [range, ...amounts], list));
}
function aboutShares() {
const about = "Each bar is a whole; its parts are the ranges.";
const asked = folded.rows.some(row => !none(metric(row, "global_load_bytes")))
? "bytes that threads ask for in" : "sectors that threads ask L1 for, of";
const counted = " Loads and stores: " + asked + " global memory."
+ " L1, L2, HBM: bytes that this level moves for them.";
const cure = " counters=memory+instructions adds loads, stores, L1, L2 and HBM.";
if (shareKinds.some(kind => kind.counted)) return about + counted;
return about + (data.traced ? cure : "");
}
function shares() {
if (!shareKinds.length || folded.rows.length < 2) return;
const deepest = Math.min(8, Math.max(...folded.rows.map(row => row.depth)));
let depth = startDepth(deepest);
const legend = legendList("Ranges in the figure");
const numbers = el("div", {});
const figure = chart((box, width) => {
const shown = parts(depth);
box.replaceChildren(drawShares(width, shown));
legend.fill(shown.parts.map(part =>
legendItem(sharePaint(part), shortPath(part.name), () => chooseShare(part))));
numbers.replaceChildren(shareNumbers(shown.parts));
});
const setDepth = event => {
depth = Number(event.target.value);
figure.redraw();
};
const slider = {type: "range", min: 1, max: deepest, value: depth, id: "share-depth"};
const input = el("input", {...slider, oninput: setDepth});
const control = el("label", {}, "Depth of the ranges", input);
section("shares", "Shares of a " + unit, aboutShares(),
deepest > 1 ? el("div", {class: "controls"}, control) : null,
figure, legend, numbers);
listeners.push(() => figure.redraw());
redrawOnTheme.push(() => figure.redraw());
}
</script>
)page"sv;
inline constexpr std::string_view page_report_icicle_js = R"page(<script>
"use strict";
const icicleLine = 25;
const icicleDepth = 12;
const narrowPart = 1;
function readCaptured(pairs, rows) {
const byLauncher = new Map();
for (const [launching, capturing, ns] of pairs) {
if (!(ns > 0)) continue;
if (!byLauncher.has(launching)) byLauncher.set(launching, new Map());
const times = byLauncher.get(launching);
for (let row = rows[capturing]; !isWithin(launching, row.place); row = rows[row.parent]) {
times.set(row.place, (times.get(row.place) || 0) + ns);
}
}
return byLauncher;
}
const captured = readCaptured(data.views[0].captured, folded.rows);
function addedTimes(maps) {
const all = new Map();
for (const times of maps) {
for (const [place, ns] of times) all.set(place, (all.get(place) || 0) + ns);
}
return all;
}
const capturedForOthers = top => addedTimes(Array.from(captured)
.filter(([launching]) => !isWithin(launching, top)).map(([, times]) => times));
const timesAtTop = (top, kind) =>
kind.amount === gpuTimeOf ? capturedForOthers(top.place) : new Map();
const icicleAmount = (row, kind) => kind.amount(row) || 0;
function icicleChildren({row, own, times}, kind) {
const launched = own && kind.amount === gpuTimeOf && captured.get(row.place) || new Map();
const inner = addedTimes([times, launched]);
const highest = Array.from(launched.keys(), place => folded.rows[place])
.filter(top => !launched.has(top.parent) && top.parent !== row.place);
return row.children.concat(highest).map(child => {
const isBelow = child.parent === row.place;
const amount = (own && isBelow ? icicleAmount(child, kind) : 0) + (inner.get(child.place) || 0);
return {row: child, amount, own: own && isBelow, times: inner};
}).filter(({amount}) => amount > 0)
.sort((a, b) => b.amount - a.amount || a.row.place - b.row.place);
}
function icicleBoxes(top, kind, least) {
const boxes = [];
const visit = (place, depth, begin, end) => {
boxes.push({row: place.row, amount: place.amount, depth, begin, end});
if (depth >= icicleDepth) return;
const inner = icicleChildren(place, kind);
const whole = Math.max(sum(inner, ({amount}) => amount), place.amount);
let from = begin;
for (const child of inner) {
const to = from + child.amount / whole * (end - begin);
if (to - from >= least) visit(child, depth + 1, from, to);
from = to;
}
};
const times = timesAtTop(top, kind);
visit({row: top, amount: icicleWhole(top, kind), own: true, times}, 0, 0, 1);
return boxes;
}
function icicleWhole(top, kind) {
const own = icicleAmount(top, kind) + (timesAtTop(top, kind).get(top.place) || 0);
return own || sum(top.children, child => icicleAmount(child, kind));
}
function describeBox({row, amount}, kind, whole) {
const limit = limitOf(row);
return (row.depth ? row.path : "The whole " + unit) + "\n" + kind.name + ": " + kind.show(amount)
+ ", " + percent(100 * amount / whole) + (limit ? "\nLimiter: " + limit : "");
}
function drawBox(drawing, box, kind, view) {
const {row, depth, begin, end} = box;
const x = begin * view.width;
const wide = (end - begin) * view.width;
const y = depth * icicleLine;
const paint = color(row.place);
const text = describeBox(box, kind, view.whole);
drawing.append(sv("rect", {
x,
y,
width: Math.max(1, wide - 1),
height: icicleLine - 2,
rx: 2,
fill: paint,
class: lookOf(row.place),
"data-key": row.place,
role: "button",
"aria-label": text,
...hinted(text),
...pressed(() => choose(row.place)),
ondblclick: () => view.zoom(row.place),
}));
const name = row.depth ? row.label : "whole " + unit;
const room = wide - 10;
if (room < 18) return;
const cut = textWidth(name) <= room
? name
: name.slice(0, Math.floor(name.length * room / textWidth(name)) - 1) + "\u2026";
if (cut !== name && cut.length < 3) return;
drawing.append(sv("text", {
x: x + 5,
y: y + 15,
style: "pointer-events:none;fill:" + inkOf(row.place, paint),
"aria-hidden": "true",
}, cut));
}
function drawIcicle(width, state) {
const {kind, top} = state;
const boxes = icicleBoxes(top, kind, narrowPart / width);
const drawing = sv("svg", {
width,
height: (1 + Math.max(...boxes.map(box => box.depth))) * icicleLine,
id: "icicle-figure",
role: "group",
"aria-label": "Ranges of " + (top.depth ? top.path : "a mean " + unit) + " by " + kind.name,
});
const view = {width, whole: icicleWhole(folded.rows[0], kind) || 1, zoom: state.zoom};
for (const box of boxes) drawBox(drawing, box, kind, view);
return drawing;
}
function icicleNote({top, kind}) {
const whole = icicleWhole(folded.rows[0], kind) || 1;
const shown = icicleWhole(top, kind);
return (top.depth ? top.path : "All of a mean " + unit) + ", by " + kind.name + ": "
+ kind.show(shown) + ", " + percent(100 * shown / whole) + ".";
}
function icicle() {
if (!shareKinds.length || folded.rows.length < 3) return;
const note = el("p", {class: "about", role: "status"});
const state = {kind: shareKinds[0], top: folded.rows[0]};
const figure = chart((box, width) => {
box.replaceChildren(drawIcicle(width, state));
note.textContent = icicleNote(state);
});
state.zoom = place => {
state.top = folded.rows[place];
figure.redraw();
};
const setKind = value => {
state.kind = shareKinds[value];
figure.redraw();
};
const choices = shareKinds.map((kind, i) => [i, kind.name]);
const inGraphs = captured.size
? " The kernels of a graph lie below the range that launched it, in those that captured them."
: "";
const about = "Ranges from the top down, each as wide as its part." + inGraphs
+ " A click chooses a range in all figures and in the address of the page; a double click"
+ " shows only what is below it.";
section("icicle", "Where the " + unit + " goes", about,
el("div", {class: "controls"},
choices.length > 1 ? picker("Width by", choices, setKind) : null,
button("Only the chosen range", () => state.zoom(chosen)),
button("All ranges", () => state.zoom(0))),
figure, note);
listeners.push(() => figure.redraw());
redrawOnTheme.push(() => figure.redraw());
}
</script>
)page"sv;
inline constexpr std::string_view page_report_picture_js = R"page(<script>
"use strict";
const pictureStyles = [
"fill",
"stroke",
"stroke-width",
"opacity",
"font-size",
"font-family",
"fill-opacity",
];
function savePicture(source, name) {
const copy = source.cloneNode(true);
const styled = source.querySelectorAll("*");
copy.querySelectorAll("*").forEach((node, i) => {
const style = getComputedStyle(styled[i]);
for (const key of pictureStyles) node.style.setProperty(key, style.getPropertyValue(key));
});
const width = 2 * source.clientWidth;
const height = 2 * source.clientHeight;
copy.setAttribute("xmlns", svgSpace);
const image = new Image();
image.onload = () => {
const canvas = el("canvas", {width, height});
const paint = canvas.getContext("2d");
paint.fillStyle = getComputedStyle(document.body).getPropertyValue("--card");
paint.fillRect(0, 0, width, height);
paint.drawImage(image, 0, 0, width, height);
el("a", {download: name, href: canvas.toDataURL("image/png")}).click();
};
const text = new XMLSerializer().serializeToString(copy);
image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}
</script>
)page"sv;
inline constexpr std::string_view page_report_roofline_scale_js = R"page(<script>
"use strict";
function logAxis(values, from, to) {
const low = Math.log10(Math.min(...values)) - 0.35;
const high = Math.log10(Math.max(...values)) + 0.3;
const at = value => from + (Math.log10(value) - low) / (high - low) * (to - from);
const powers = [];
for (let power = Math.ceil(low); power <= high; power += 1) powers.push(power);
return {low, high, at, powers};
}
function joinRoofs(all) {
const roofs = [];
for (const roof of all) {
const same = roofs.find(other => other.unit === roof.unit && other.rate === roof.rate);
if (same) {
same.name += ", " + roof.name;
} else {
roofs.push({...roof});
}
}
return roofs;
}
function slantedRoof(perSecond, ridge, hasCompute, x, y) {
const start = Math.max(10 ** x.low, 10 ** y.low / perSecond);
const end = Math.min(10 ** x.high, hasCompute ? ridge : 10 ** y.high / perSecond);
return {start, end};
}
function isCovered(place, width, boxes) {
return boxes.some(box => {
const isNear = Math.abs(box.y - place.y) < (box.high || 13);
return isNear && place.x < box.x + box.wide && box.x < place.x + width;
});
}
function freePlace(places, width, left, right, boxes) {
return places.find(place =>
place.x >= left && place.x + width <= right && !isCovered(place, width, boxes));
}
const markCorners = {
L2: [[-0.89, -0.89], [0.89, -0.89], [0.89, 0.89], [-0.89, 0.89]],
L1: [[0, -1.45], [1.3, 0.8], [-1.3, 0.8]],
shared: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
};
function markOutline(level, x, y, r) {
if (!markCorners[level]) {
const turn = "a" + r + " " + r + " 0 1 0 ";
return "M" + (x - r) + " " + y + turn + 2 * r + " 0" + turn + -2 * r + " 0Z";
}
const place = ([across, down]) => (x + r * across) + " " + (y + r * down);
return "M" + markCorners[level].map(place).join("L") + "Z";
}
function lineBoxes({first, last}) {
const pieces = 40;
const least = 6;
return Array.from({length: pieces + 1}, (_, i) => ({
x: first.x + i / pieces * (last.x - first.x) - least / 2,
y: first.y + i / pieces * (last.y - first.y) + 4,
wide: Math.max(least, Math.abs(last.x - first.x) / pieces),
high: 8,
}));
}
function slantedBoxes(middle, angle, wide) {
const size = 10;
const spacing = 12;
const away = 9;
const pieces = Math.max(2, Math.ceil(wide / spacing));
return Array.from({length: pieces}, (_, i) => {
const along = (i / (pieces - 1) - 0.5) * wide;
return {
x: middle.x + along * Math.cos(angle) + away * Math.sin(angle) - size / 2,
y: middle.y + along * Math.sin(angle) - away * Math.cos(angle) + size / 2,
wide: size,
};
});
}
</script>
)page"sv;
inline constexpr std::string_view page_report_roofline_points_js = R"page(<script>
"use strict";
const memoryLevels = [
{key: "HBM", name: "HBM", counted: "counted_hbm_bytes"},
{key: "L2", name: "L2", counted: "counted_l2_bytes"},
{key: "L1", name: "L1", counted: "counted_l1_bytes"},
{key: "shared", name: "shared memory", counted: "counted_shared_bytes"},
];
const levelName = key => memoryLevels.find(level => level.key === key).name;
const rangePoints = answer.points;
const levelsIn = points =>
memoryLevels.map(level => level.key).filter(key => points.some(point => point.level === key));
function innermostPoints(points) {
const withPoints = new Set(points.map(point => point.range));
const hasInner = row =>
row.children.some(child => withPoints.has(child.place) || hasInner(child));
return points.filter(point => !hasInner(folded.rows[point.range]));
}
function kernelPoint(name, sums, {key, counted}) {
const size = sums[counted];
const {counted_flops: flops, counted_ns: ns} = sums;
if (!(size > 0) || !(flops > 0) || !(ns > 0)) return null;
return {
kernel: name,
range: sums.range,
level: key,
evidence: "counted",
flops,
bytes: size,
flop_per_byte: flops / size,
flop_per_second: flops / ns * 1e9,
time_ns: ns,
};
}
function kernelPoints(place) {
const keys = ["counted_ns", "counted_flops", ...memoryLevels.map(level => level.counted)];
const kernels = new Map();
for (const kernel of kernelRows) {
if (!(kernel.counted_ns > 0) || !isWithin(kernel.range, place)) continue;
const sums = kernels.get(kernel.name) || {range: kernel.range};
for (const key of keys) sums[key] = (sums[key] || 0) + (kernel[key] || 0);
kernels.set(kernel.name, sums);
}
return [...kernels].flatMap(([name, sums]) =>
memoryLevels.map(level => kernelPoint(name, sums, level)).filter(Boolean));
}
function roofsFor(levels) {
const isMemory = roof => roof.unit === "B/s";
const compute = answer.roofs.filter(roof => !isMemory(roof));
const counted = compute.filter(roof => roof.used);
const moved = answer.roofs.filter(roof => isMemory(roof) && levels.includes(roof.name))
.map(roof => ({...roof, name: levelName(roof.name)}));
return {
slanted: joinRoofs(moved),
flat: joinRoofs(counted.length ? counted : compute).filter(roof => roof.rate > 0)
.sort((a, b) => b.rate - a.rate),
};
}
function longestPoints(points, part) {
const times = new Map(points.map(point => [point.range, point.time_ns]));
const total = sum([...times.values()], ns => ns);
const kept = new Set();
let before = 0;
for (const [range, ns] of [...times].sort((a, b) => b[1] - a[1] || a[0] - b[0])) {
if (before < total * part / 100 || before === 0) kept.add(range);
before += ns;
}
return points.filter(point => kept.has(point.range))
.sort((a, b) => b.time_ns - a.time_ns || a.range - b.range);
}
</script>
)page"sv;
inline constexpr std::string_view page_report_roofline_js = R"page(<script>
"use strict";
const rooflineMargin = {left: 58, right: 16, top: 14, bottom: 42};
const rooflineHalo = "paint-order:stroke;stroke:var(--card);stroke-width:3px";
function originOf(roof) {
if (roof.origin === "counted") return "";
const day = roof.measured_at ? " " + roof.measured_at.slice(0, 10) : "";
return " (" + roof.origin + day + ")";
}
const nameOfPoint = point => point.kernel || titleOf(point.range);
function describePoint(point) {
const atRoof = shareText(100 * point.time_at_roof_ns / point.time_ns);
const limit = !point.kernel && limitOf(folded.rows[point.range]);
const roofTime = none(point.time_at_roof_ns)
? ""
: "; at the roof " + time(point.time_at_roof_ns) + (atRoof && " (" + atRoof + ")");
return nameOfPoint(point) + "\n" + digits(point.flop_per_byte) + " FLOP/B of "
+ levelName(point.level) + ", " + rate("FLOP/s")(point.flop_per_second) + "\n"
+ time(point.time_ns) + " a " + unit + roofTime + (limit ? "\nLimiter: " + limit : "") + "\n"
+ point.evidence + (point.kernel ? " kernel of " + titleOf(point.range) : "")
+ (point.above_roof ? "\nAbove a roof: units, clocks or declarations are wrong." : "");
}
class RooflineDrawing {
constructor(width, state, shown) {
Object.assign(this, {width, state}, roofsFor(shown.levels), shown);
this.height = Math.min(560, Math.max(340, width * 0.52));
this.nameless = [];
this.placeAxes();
const levels = this.levels.map(levelName).join(", ");
this.svg = sv("svg", {
width,
height: this.height,
id: "roofline-figure",
role: "group",
"aria-label": "Roofline of " + levels + ", both axes logarithmic",
});
const longest = Math.max(...this.all.map(point => point.time_ns));
const most = this.levels.length > 1 ? 8 : 12;
this.radius = point => 4 + most * Math.sqrt(Math.min(1, point.time_ns / longest));
this.taken = [...this.list, ...this.kernels].map(point => this.boxOf(point));
}
placeAxes() {
const {left, right, top, bottom} = rooflineMargin;
const {flat, slanted} = this;
const points = [...this.all, ...this.kernels];
this.end = this.width - right;
this.floor = this.height - bottom;
const ridges = flat.length ? slanted.map(roof => flat[0].rate / roof.rate) : [];
const last = ridges.length ? 4 * Math.max(...ridges) : points[0].flop_per_byte;
const across = [...points.map(point => point.flop_per_byte), ...ridges, last];
const upwards = [
...points.map(point => point.flop_per_second),
...flat.map(roof => roof.rate),
];
this.x = logAxis(across, left, this.end);
this.y = logAxis(upwards, this.floor, top);
}
placeOf(point) {
return {x: this.x.at(point.flop_per_byte), y: this.y.at(point.flop_per_second)};
}
boxOf(point) {
const radius = this.radius(point);
const {x, y} = this.placeOf(point);
return {x: x - radius, y: y + 4, wide: 2 * radius, high: radius + 5};
}
draw() {
this.drawAxes();
this.drawRoofs();
this.drawTies();
this.drawNames();
this.list.forEach(point => this.svg.append(this.mark(point)));
this.kernels.forEach(point => this.svg.append(this.kernelMark(point)));
return this.svg;
}
drawAxes() {
const {left, top} = rooflineMargin;
const {svg, x, y, end, floor} = this;
for (const power of x.powers) {
const place = x.at(10 ** power);
const anchor = place > end - 16 ? "end" : "middle";
const text = power < -2 || power > 4 ? "1e" + power : String(+(10 ** power).toFixed(2));
svg.append(
sv("line", {x1: place, x2: place, y1: top, y2: floor, class: "grid"}),
sv("text", {x: place, y: floor + 16, "text-anchor": anchor, class: "soft"}, text));
}
for (const power of y.powers) {
const place = y.at(10 ** power);
const text = scaled(10 ** power, 1000, ["", " k", " M", " G", " T", " P"]);
svg.append(
sv("line", {x1: left, x2: end, y1: place, y2: place, class: "grid"}),
sv("text", {x: left - 6, y: place + 4, "text-anchor": "end", class: "soft"}, text));
}
const middle = {x: (left + end) / 2, y: this.height - 6, "text-anchor": "middle"};
const ofLevel = this.levels.length > 1 ? "a level" : levelName(this.levels[0]);
svg.append(
sv("text", middle, "FLOP per byte of " + ofLevel),
sv("text", {x: left + 4, y: top - 2, class: "soft"}, "FLOP/s"));
}
label(text, places, attributes, taken = this.taken) {
const gap = 4;  // to the next text, in pixels
const wide = textWidth(text);
const place = freePlace(places(wide), wide, rooflineMargin.left, this.end, taken);
if (!place) return false;
this.taken.push({...place, x: place.x - gap, wide: wide + 2 * gap});
this.svg.append(sv("text", {...place, style: rooflineHalo, ...attributes}, text));
return true;
}
drawRoofs() {
const slanted = this.slanted.map(roof => this.slantedLine(roof));
const flat = this.flat.map(roof => this.flatLine(roof)).filter(Boolean);
for (const line of [...slanted, ...flat]) this.drawRoof(line);
for (const line of slanted) {
const others = [...slanted, ...flat].filter(other => other !== line);
this.nameSlantedRoof(line, [...this.taken, ...others.flatMap(lineBoxes)]);
}
this.taken.push(...slanted.flatMap(lineBoxes));
for (const line of flat) {
const others = flat.filter(other => other !== line);
this.nameFlatRoof(line, [...this.taken, ...others.flatMap(lineBoxes)]);
}
}
slantedLine(roof) {
const hasFlat = this.flat.length > 0;
const ridge = hasFlat ? this.flat[0].rate / roof.rate : 0;
const {start, end} = slantedRoof(roof.rate, ridge, hasFlat, this.x, this.y);
const place = value => ({x: this.x.at(value), y: this.y.at(roof.rate * value)});
const text = roof.name + " " + rate("B/s")(roof.rate) + originOf(roof);
return {text, first: place(start), last: place(end)};
}
flatLine(roof) {
const low = 10 ** this.x.low;
const fastest = Math.max(0, ...this.slanted.map(other => other.rate));
const from = fastest ? Math.max(low, roof.rate / fastest) : low;
if (from >= 10 ** this.x.high) return null;
const y = this.y.at(roof.rate);
const text = roof.name + " " + rate("FLOP/s")(roof.rate) + originOf(roof);
return {text, first: {x: this.x.at(from), y}, last: {x: this.end, y}};
}
drawRoof({text, first, last}) {
this.svg.append(sv("line", {x1: first.x, y1: first.y, x2: last.x, y2: last.y, class: "roof"},
sv("title", {}, text)));
}
nameSlantedRoof({text, first, last}, taken) {
const angle = Math.atan2(last.y - first.y, last.x - first.x);
const wide = textWidth(text);
const spare = Math.hypot(last.x - first.x, last.y - first.y) - wide - 16;
const middles = [0.5, 0.3, 0.7, 0.1, 0.9].map(part => part * spare + wide / 2 + 8)
.map(along => ({x: first.x + along * Math.cos(angle), y: first.y + along * Math.sin(angle)}));
const isFree = boxes => !boxes.some(box => isCovered(box, box.wide, taken));
const free = spare >= 0 && middles.find(at => isFree(slantedBoxes(at, angle, wide)));
if (!free) {
this.nameless.push(text);
return;
}
this.taken.push(...slantedBoxes(free, angle, wide));
this.svg.append(sv("text", {
x: free.x,
y: free.y - 6,
"text-anchor": "middle",
style: rooflineHalo,
transform: "rotate(" + angle * 180 / Math.PI + " " + free.x + " " + free.y + ")",
}, text));
}
nameFlatRoof({text, first: {x, y}}, taken) {
const isNamed = this.label(text, wide => [
{x: this.end - 2 - wide, y: y - 5},
{x: this.end - 2 - wide, y: y + 13},
{x: x + 8, y: y - 5},
], {}, taken);
if (!isNamed) this.nameless.push(text);
}
isDim(point) {
return this.state.alone !== null && this.state.alone !== point.range;
}
byRange() {
const lists = new Map();
for (const point of this.list) {
if (!lists.has(point.range)) lists.set(point.range, []);
lists.get(point.range).push(point);
}
return [...lists.values()]
.map(points => points.sort((a, b) => b.flop_per_byte - a.flop_per_byte));
}
drawTies() {
for (const ofRange of this.byRange()) {
const points = ofRange.filter(point => point.evidence !== "declared");
if (points.length < 2) continue;
const corners = points.map(point => this.placeOf(point)).map(({x, y}) => x + "," + y);
const look = this.isDim(points[0]) ? "dim" : lookOf(points[0].range) === "pale" && "pale";
this.svg.append(sv("polyline", {
points: corners.join(" "),
fill: "none",
stroke: color(points[0].range),
class: look,
}));
}
}
drawNames() {
const longest = this.byRange().slice(0, this.width < 560 ? 8 : 24)
.map(([point]) => [point, lastName(titleOf(point.range))]);
const kernels = new Map(this.kernels.map(point => [point.kernel, point]));
const counted = [...kernels].map(([name, point]) => [point, cutMiddle(name, 28)]);
const named = [...longest, ...counted];
for (const [point, name] of named) {
const away = this.radius(point) + 2;
const {x, y} = this.placeOf(point);
const places = wide => [
{x: x + away, y: y + 4},
{x: x - away - wide, y: y + 4},
{x: x - wide / 2, y: y + away + 11},
{x: x - wide / 2, y: y - away - 3},
];
const style = {class: !point.kernel && this.isDim(point) && "dim", "aria-hidden": "true"};
this.label(name, places, style);
}
}
outline(point) {
const {x, y} = this.placeOf(point);
return {
d: markOutline(point.level, x, y, this.radius(point)),
"data-level": point.level,
"data-x": x,
};
}
mark(point) {
const isSure = point.evidence === "counted";
const edge = isSure ? "var(--card)" : color(point.range);
const text = describePoint(point);
return sv("path", {
...this.outline(point),
fill: color(point.range),
"fill-opacity": isSure ? 0.82 : 0.25,
stroke: point.above_roof ? "var(--warn)" : edge,
"stroke-width": point.above_roof ? 3 : 1.2,
"stroke-dasharray": isSure ? undefined : "3 2",
class: this.isDim(point) ? "dim" : lookOf(point.range),
"data-range": point.range,
"data-key": point.range + point.level + point.evidence,
role: "button",
"aria-pressed": String(this.state.alone === point.range),
"aria-label": text,
...hinted(text),
...pressed(() => this.state.isolate(point.range)),
});
}
kernelMark(point) {
return sv("path", {
...this.outline(point),
fill: "var(--card)",
"fill-opacity": 0.7,
stroke: "var(--text)",
"stroke-width": 1.6,
"data-kernel": point.kernel,
...hovered(describePoint(point)),
});
}
}
function rooflineNote({all, list, kernels, state, nameless}) {
const timesOf = points => sum([...new Map(points.map(point =>
[point.range, point.time_ns])).values()], ns => ns);
const countOf = points => new Set(points.map(point => point.range)).size;
const [covered, whole] = [timesOf(list), timesOf(all)];
const counted = new Set(kernels.map(point => point.kernel)).size;
return countOf(list) + " of " + some(countOf(all), "range")
+ (state.alone === null ? "" : "; " + titleOf(state.alone) + " stands alone")
+ (covered < whole ? ", with " + shareText(100 * covered / whole) + " of their time" : "")
+ (counted ? "; " + some(counted, "kernel") + " of " + titleOf(chosen) : "") + "."
+ (nameless.length ? " Roofs without room for a name: " + nameless.join(", ") + "." : "");
}
const rooflineNumbers = kernels => table("Numbers of the roofline", [
{label: "Range", get: nameOfPoint, text: true},
{label: "Level", get: point => levelName(point.level), text: true},
{label: "FLOP a " + unit, get: point => count(point.flops)},
{label: "Bytes a " + unit, get: point => bytes(point.bytes)},
{label: "FLOP/B", get: point => digits(point.flop_per_byte)},
{label: "FLOP/s", get: point => rate("FLOP/s")(point.flop_per_second)},
{label: "Time", get: point => time(point.time_ns)},
{label: "Time at the roof", get: point => time(point.time_at_roof_ns)},
{
label: "Limiter",
get: point => point.kernel ? "" : limitOf(folded.rows[point.range]),
text: true,
},
{label: "From", get: point => point.evidence + (point.kernel ? " kernel" : ""), text: true},
], [...rangePoints, ...kernels]);
function noRoofline() {
if (!data.traced) return;
section("roofline", "Roofline", "No range has both operations and bytes. counters=roofline+flops"
+ " counts them (tensor for tensor cores), or a range declares them: strata::flops(f),"
+ " strata::bytes(b).");
}
function rooflineControls(state, levels, hasOuter, redraw) {
const set = change => value => {
change(value);
redraw();
};
const part = el("span", {}, "100 %");
const setPart = set(value => {
state.part = Number(value);
part.textContent = value + " %";
});
const setLevel = set(value => {
state.level = value;
});
const setAll = set(value => {
state.all = Boolean(value);
});
const showAll = set(() => {
state.alone = null;
});
const save = () => savePicture(byId("roofline-figure"), "roofline.png");
const slider = {type: "range", id: "roofline-part", min: 5, max: 100, step: 5, value: 100};
const choices = [["", "all levels"], ...levels.map(level => [level, levelName(level)])];
const oninput = event => setPart(event.target.value);
return el("div", {class: "controls"},
levels.length > 1 ? picker("Bytes of", choices, setLevel, {id: "roofline-level"}) : null,
hasOuter
? picker("Ranges", [["", "the innermost"], ["1", "all"]], setAll, {id: "roofline-ranges"})
: null,
el("label", {}, "Most of the time, up to", el("input", {...slider, oninput}), part),
button("Show all", showAll),
button("Save as PNG", save, {id: "roofline-png"}));
}
function markLegend(box, levels, points) {
const sample = (level, attributes) => sv("svg", {width: 16, height: 14, "aria-hidden": "true"},
sv("path", {d: markOutline(level, 8, 7, 5), ...attributes}));
const filled = {fill: "var(--soft)"};
const entry = (picture, text) => el("li", {class: "mark"}, picture, " " + text);
const isDeclared = points.some(point => point.evidence !== "counted");
const dashed = {fill: "none", stroke: "var(--text)", "stroke-dasharray": "3 2"};
const hollow = {fill: "var(--card)", stroke: "var(--text)", "stroke-width": 1.6};
const hasKernels = points.some(point => point.kernel);
box.replaceChildren(
...levels.map(level => entry(sample(level, filled), levelName(level))),
...isDeclared ? [entry(sample("HBM", dashed), "declared work")] : [],
...hasKernels ? [entry(sample("HBM", hollow), "a kernel of the chosen range")] : []);
}
function roofline() {
if (!rangePoints.length) {
noRoofline();
return;
}
const inner = innermostPoints(rangePoints);
const levels = levelsIn(rangePoints);
const state = {level: "", part: 100, alone: null, all: false};
const numbers = el("div", {});
const note = el("p", {class: "about", role: "status"});
const legend = legendList("Ranges in the roofline");
const marks = el("ul", {class: "legend", "aria-label": "Marks of the roofline"});
const toggle = range => {
state.alone = state.alone === range ? null : range;
figure.redraw();
};
const entry = range => legendItem(color(range), shortTitle(range),
() => toggle(range), {"aria-pressed": String(state.alone === range)});
const figure = chart((box, width) => {
const shown = levels.filter(level => !state.level || level === state.level);
const isShown = point => shown.includes(point.level);
const all = (state.all ? rangePoints : inner).filter(isShown);
if (!all.length) {
box.replaceChildren(el("p", {}, "No range has bytes of this level."));
return;
}
const kernels = isChosen && chosen ? kernelPoints(chosen).filter(isShown) : [];
const list = longestPoints(all, state.part);
const drawing = new RooflineDrawing(width, state, {levels: shown, all, list, kernels});
box.replaceChildren(drawing.draw());
note.textContent = rooflineNote(drawing);
legend.fill([...new Set(list.map(point => point.range))].slice(0, 24).map(entry));
)page"sv;
inline constexpr std::string_view page_report_roofline_js_2 = R"page(markLegend(marks, shown, [...list, ...kernels]);
numbers.replaceChildren(numbersOfFigure(() => rooflineNumbers(kernels)));
}, 320);
state.isolate = range => {
toggle(range);
if (state.alone !== null) choose(range);
};
const isLeftOut = answer.roofs.some(roof => roof.used && roof.unit === "FLOP/s");
const about = "A range is a mark; its area grows with its time. The higher roof bounds"
+ " operations, the slanted one bytes: what lies on a roof is as fast as the device allows. A"
+ " click isolates a range."
+ (isLeftOut ? " Roofs of work that was not counted are left out." : "");
section("roofline", "Roofline", about,
rooflineControls(state, levels, inner.length < rangePoints.length, () => figure.redraw()),
figure, marks, note, legend, numbers);
listeners.push(() => figure.redraw());
}
</script>
)page"sv;
inline constexpr std::string_view page_report_memory_chart_js = R"page(<script>
"use strict";
const sectorBytes = 32;
const wavefrontBytes = 128;
const timesKnown = (value, factor) => none(value) ? null : factor * value;
const secondsOf = row => firstKnown(metric(row, "timed_gpu_seconds"),
timesKnown(metric(row, "time_ns"), 1e-9));
function traffic(row, amount, peak) {
const seconds = secondsOf(row);
const perSecond = none(amount) || !(seconds > 0) ? null : amount / seconds;
const most = metric(row, peak);
const share = none(perSecond) || !(most > 0) ? null : 100 * perSecond / most;
return {amount, perSecond, share};
}
const level1Traffic = row => traffic(row, level1Bytes(row),
metricAt.has("l1_data_bytes") ? "l1_peak_bytes_per_second" : "none");
const sharedTraffic = row => traffic(row,
timesKnown(metric(row, "shared_wavefronts"), wavefrontBytes), "l1_peak_bytes_per_second");
const level2Traffic = row => traffic(row, metric(row, "l2_bytes"), "l2_peak_bytes_per_second");
const deviceTraffic = row => traffic(row, metric(row, "hbm_bytes"), "hbm_peak_bytes_per_second");
const withValue = lines => lines.filter(([, value]) => !none(value) && value !== "");
function memoryBoxes(row) {
const value = key => metric(row, key);
const sectors = value("l1_sectors_per_load");
const hits = firstKnown(value("l2_hit_rate"), value("l2_request_hit_rate"));
const conflicts = value("shared_bank_conflicts");
const boxes = [
{id: "global", name: "Global", level: 0, from: 0, to: 1, lines: [
["sectors a load", none(sectors) ? null : digits(sectors)],
]},
{id: "local", name: "Local", level: 0, from: 1, to: 2, lines: []},
{id: "asked", name: "Shared", level: 0, from: 2, to: 3, lines: [
["conflicts", none(conflicts) ? null : count(conflicts)],
]},
{id: "l1", name: "L1", level: 1, from: 0, to: 2, use: level1Traffic(row), lines: [
["hits", percent(value("l1_hit_rate"))],
]},
{id: "shared", name: "Shared memory", level: 1, from: 2, to: 3, use: sharedTraffic(row),
lines: []},
{id: "l2", name: "L2", level: 2, from: 0, to: 3, use: level2Traffic(row), lines: [
["hits", percent(hits)],
]},
{id: "hbm", name: "HBM", level: 3, from: 0, to: 1, use: deviceTraffic(row), lines: []},
{id: "host", name: "Host, PCIe", level: 3, from: 1, to: 2, lines: []},
{id: "peers", name: "NVLink", level: 3, from: 2, to: 3, lines: []},
];
return boxes.map(box => ({...box, lines: withValue(box.lines)}));
}
const link = (from, to, inwards, outwards, share) => ({from, to, inwards, outwards, share});
function memoryLinks(row) {
const value = key => metric(row, key);
const inSectors = key => timesKnown(value(key), sectorBytes);
const fromL2 = firstKnown(value("l1_from_l2_bytes"), null);
const both = inSectors("l2_from_sm_sectors");
const toL2 = none(fromL2) || none(both) ? null : Math.max(0, both - fromL2);
const hbm = deviceTraffic(row);
return [
link("global", "l1", loadsOf(row), storesOf(row), level1Traffic(row).share),
link("local", "l1", inSectors("l1_local_load_sectors"), inSectors("l1_local_store_sectors"),
null),
link("asked", "shared", value("shared_load_bytes"), value("shared_store_bytes"),
sharedTraffic(row).share),
{...link("l1", "l2", fromL2, toL2, level2Traffic(row).share), both: none(fromL2) ? both : null},
{...link("l2", "hbm", value("hbm_read_bytes"), value("hbm_write_bytes"), hbm.share),
both: none(value("hbm_read_bytes")) ? hbm.amount : null},
link("l2", "host", value("pcie_read_bytes"), value("pcie_write_bytes"),
linkUse(row, "pcie_ns")),
link("l2", "peers", value("nvlink_receive_bytes"), value("nvlink_transmit_bytes"),
linkUse(row, "nvlink_ns")),
];
}
function linkUse(row, key) {
const seconds = secondsOf(row);
return none(metric(row, key)) || !(seconds > 0) ? null : metric(row, key) / seconds / 1e7;
}
const isCountedLink = item =>
[item.inwards, item.outwards, item.both].some(amount => !none(amount));
function usePaint(share) {
if (none(share)) return "var(--rest)";
const part = Math.round(15 + 0.85 * Math.min(100, share));
return "color-mix(in srgb, var(--hot) " + part + "%, var(--track))";
}
class MemoryChart {
constructor(width, row) {
this.row = row;
this.isUpright = width < 620;
this.width = width;
const links = memoryLinks(row);
const counted = links.filter(isCountedLink);
const linked = new Set(counted.flatMap(item => [item.from, item.to]));
const always = new Set(["global", "l1", "l2", "hbm"]);
this.boxes = memoryBoxes(row).filter(box => linked.has(box.id) || always.has(box.id));
const has = id => this.boxes.some(box => box.id === id);
this.links = links.filter(item => has(item.from) && has(item.to));
this.long = this.isUpright ? 108 : Math.min(150, width * 0.14);  // of a box, along the path
this.gap = this.isUpright ? 86 : (width - 4 * this.long) / 3;
this.lane = this.isUpright ? width / 3 : 104;
this.svg = sv("svg", {
width,
height: this.isUpright ? 4 * this.long + 3 * this.gap : 3 * this.lane,
id: "memory-chart",
role: "img",
"aria-label": "Bytes between the levels of memory of " + row.path
+ ". The numbers are in the table below.",
});
}
draw() {
for (const item of this.links) this.drawLink(item);
for (const box of this.boxes) this.drawBox(box);
return this.svg;
}
rectangle(box) {
const siblings = this.boxes.filter(other => other.level === box.level);
const isLast = siblings[siblings.length - 1] === box;
const along = box.level * (this.long + this.gap);
const across = box.from * this.lane + 3;
const high = ((isLast ? 3 : box.to) - box.from) * this.lane - 6;
return this.isUpright ? {x: across, y: along + 1, width: high, height: this.long - 2}
: {x: along + 1, y: across, width: this.long - 2, height: high};
}
drawBox(box) {
const place = this.rectangle(box);
const middle = {x: place.x + place.width / 2, "text-anchor": "middle"};
const use = box.use || {};
const lines = [...box.lines];
if (!none(use.amount)) lines.unshift(["", bytes(use.amount)]);
if (!none(use.perSecond)) lines.push(["", rate("B/s")(use.perSecond)]);
if (!none(use.share)) lines.push(["", percent(use.share) + " of peak"]);
const top = place.y + Math.max(17, (place.height - 16 * lines.length) / 2 - 2);
this.svg.append(
sv("rect", {...place, rx: 8, class: "box"}),
sv("text", {...middle, y: top, "font-weight": 650}, box.name));
lines.forEach(([name, text], i) => {
const line = {...middle, y: top + 16 * (i + 1), class: "soft"};
this.svg.append(sv("text", line, (name + " " + text).trim()));
});
if (none(use.share)) return;
const bar = {x: place.x + 8, y: place.y + place.height - 12, height: 6, rx: 3};
const wide = place.width - 16;
this.svg.append(
sv("rect", {...bar, width: wide, fill: "var(--track)"}),
sv("rect", {...bar, width: wide * Math.min(1, use.share / 100), style: "fill:var(--hot)",
"data-use": use.share}));
}
drawLink(item) {
const [from, to] = [item.from, item.to].map(id => this.boxes.find(box => box.id === id));
const [one, two] = [this.rectangle(from), this.rectangle(to)];
const narrow = from.to - from.from <= to.to - to.from ? one : two;
const across = this.isUpright ? narrow.x + narrow.width / 2 : narrow.y + narrow.height / 2;
const begin = this.isUpright ? one.y + one.height : one.x + one.width;
const end = this.isUpright ? two.y : two.x;
const style = isCountedLink(item)
? {fill: usePaint(item.share), stroke: "var(--soft)", "stroke-width": 0.6}
: {fill: "none", stroke: "var(--rest)", "stroke-dasharray": "4 3"};
if (!none(item.both)) {
this.drawArrow(begin, end, across, style, [true, true]);
const text = bytes(item.both);
this.linkText(this.isUpright ? text + " both ways" : text, begin, end, across, 1);
if (!this.isUpright) this.linkText("both ways", begin, end, across, 3);
return;
}
const away = this.isUpright ? 26 : 13;
this.drawArrow(begin, end, across - away, style, [true, false]);
this.drawArrow(begin, end, across + away, style, [false, true]);
const text = (name, amount) => none(amount) ? "" : bytes(amount) + " " + name;
const [inwards, outwards] = isCountedLink(item)
? [text("read", item.inwards), text("written", item.outwards)]
: ["not counted", ""];
this.linkText(inwards, begin, end, across, 0);
this.linkText(outwards, begin, end, across, 2);
}
drawArrow(begin, end, across, style, [atBegin, atEnd]) {
const [b, e] = [begin + 4, end - 4];
const [half, head] = [4, 9];
const along = [
...(atBegin ? [[b, 0], [b + head, -2 * half], [b + head, -half]] : [[b, -half]]),
...(atEnd ? [[e - head, -half], [e - head, -2 * half], [e, 0]] : [[e, -half], [e, half]]),
...(atEnd ? [[e - head, 2 * half], [e - head, half]] : []),
...(atBegin ? [[b + head, half], [b + head, 2 * half]] : [[b, half]]),
];
const points = along.map(([a, c]) => this.isUpright ? [across + c, a] : [a, across + c]);
this.svg.append(sv("polygon", {points: points.join(" "), style: styleOf(style)}));
}
linkText(text, begin, end, across, which) {
if (!text) return;
const middle = (begin + end) / 2;
const beside = [-25, -14, 36, 23][which];
const place = this.isUpright
? {x: across, y: middle - 11 + 15 * which}
: {x: middle, y: across + beside};
const halo = "paint-order:stroke;stroke:var(--card);stroke-width:4px";
this.svg.append(sv("text", {...place, "text-anchor": "middle", style: halo}, text));
}
}
const styleOf = style => Object.entries(style).map(([key, value]) => key + ":" + value).join(";");
function memoryTable(row) {
const names = new Map(memoryBoxes(row).map(box => [box.id, box.name]));
const links = memoryLinks(row).filter(isCountedLink).map(item => ({
name: names.get(item.from) + " \u2013 " + names.get(item.to),
inwards: bytes(item.inwards),
outwards: bytes(item.outwards),
amount: bytes(firstKnown(item.both, (item.inwards || 0) + (item.outwards || 0))),
rate: "",
share: percent(item.share),
}));
const boxes = memoryBoxes(row).filter(box => box.use && !none(box.use.amount)).map(box => ({
name: box.name,
inwards: "",
outwards: "",
amount: bytes(box.use.amount),
rate: rate("B/s")(box.use.perSecond),
share: percent(box.use.share),
}));
return table("Memory of the range", [
{label: "What", get: line => line.name, text: true},
{label: "Bytes a " + unit, get: line => line.amount},
{label: "Towards the SM", get: line => line.inwards},
{label: "Away from it", get: line => line.outwards},
{label: "Rate", get: line => line.rate},
{label: "% of peak", get: line => line.share},
], [...boxes, ...links]);
}
</script>
)page"sv;
inline constexpr std::string_view page_report_unit_bars_js = R"page(<script>
"use strict";
const unitUses = new Map(answer.limits.filter(limit => limit.use)
.map(limit => [limit.range, limit.use]));
const limitingUse = 60;
const countedUses = [
["tensor", row => firstKnown(metric(row, "tensor_active_rate"),
metric(row, "tensor_of_peak"))],
["FP32", row => metric(row, "fp32_of_peak")],
["FP64", row => metric(row, "fp64_of_peak")],
["FP16", row => metric(row, "fp16_of_peak")],
["issue", row => metric(row, "issue_rate")],
["shared memory", row => sharedTraffic(row).share],
["L1", row => level1Traffic(row).share],
["L2", row => level2Traffic(row).share],
["HBM", row => deviceTraffic(row).share],
];
function unitsOf(row) {
const counted = unitUses.get(row.place);
const units = counted
? counted.map(({unit: name, part}) => ({name, use: 100 * part}))
: countedUses.map(([name, use]) => ({name, use: use(row)}));
return units.filter(({use}) => !none(use));
}
const readyReasons = ["selected", "not selected"];
function stallsOf(row) {
const stalls = folded.metrics.filter(({key}) => /^stall_.*_share$/.test(key))
.map(({key, meaning}) => ({
name: key.slice("stall_".length, -"_share".length).replace(/_/g, " "),
use: metric(row, key),
meaning,
})).filter(({use}) => use >= 0.05);
const isReady = stall => readyReasons.includes(stall.name);
return stalls.sort((a, b) => isReady(a) - isReady(b) || b.use - a.use);
}
function drawPercentBars(width, bars, {id, label, paintOf, most}) {
const left = Math.min(150, Math.max(0, ...bars.map(bar => textWidth(bar.name))) + 10);
const line = 22;
const drawing = sv("svg", {width, height: bars.length * line + 2, id, role: "img",
"aria-label": label});
const room = width - left - 60;
bars.forEach((bar, i) => {
const y = i * line;
const wide = Math.max(1, room * Math.min(1, bar.use / most));
const hint = bar.name + ": " + percent(bar.use) + (bar.meaning ? "\n" + bar.meaning : "");
const end = {x: left + wide + 6, y: y + 15, class: "soft"};
drawing.append(
sv("text", {x: left - 8, y: y + 15, "text-anchor": "end"}, bar.name),
sv("rect", {x: left, y: y + 3, width: room, height: line - 7, fill: "var(--track)", rx: 2,
...hovered(hint)}),
sv("rect", {x: left, y: y + 3, width: wide, height: line - 7, rx: 2, "data-use": bar.use,
fill: paintOf(bar), ...hovered(hint)}),
sv("text", {...end, style: "paint-order:stroke;stroke:var(--card);stroke-width:3px"},
percent(bar.use)));
});
return drawing;
}
const percentTable = (name, label, bars) => numbersOfFigure(() => table(name, [
{label, get: bar => bar.name, text: true},
{label: "%", get: bar => percent(bar.use)},
], bars));
function percentFigure(title, look, barsOf) {
let bars = [];
const figure = chart((box, width) => {
box.replaceChildren(drawPercentBars(width, bars, look));
});
const numbers = el("div", {});
const box = el("div", {}, el("h3", {}, title), figure, numbers);
box.redraw = row => {
bars = barsOf(row);
box.hidden = !bars.length;
figure.redraw();
numbers.replaceChildren(percentTable(look.label, look.column, bars));
};
return box;
}
function unitBars() {
const units = percentFigure("Use of each unit, % of its peak", {
id: "units-figure",
label: "Use of the units",
column: "Unit",
paintOf: bar => bar.use >= limitingUse ? "var(--hot)" : "var(--c0)",
most: 100,
}, unitsOf);
const stalls = percentFigure("What warps wait for, % of their time", {
id: "stalls-figure",
label: "What warps wait for",
column: "Reason",
paintOf: bar => readyReasons.includes(bar.name) ? "var(--rest)" : "var(--c0)",
most: 100,
}, stallsOf);
if (!anyRow(row => unitsOf(row).length || stallsOf(row).length)) return null;
const box = el("div", {class: "two"}, units, stalls);
box.redraw = row => {
units.redraw(row);
stalls.redraw(row);
};
return box;
}
</script>
)page"sv;
inline constexpr std::string_view page_report_kernels_js = R"page(<script>
"use strict";
const mostKernels = 200;
const kernelRows = readRows(data.kernel_columns, data.kernel_same, data.kernels.rows);
function kernelsIn(place) {
const isWhole = inNoStep(folded.rows[place]);
const ofRun = ({count: launches, total_ns: ns, gpu_utilisation: fill}) => ({launches, ns, fill});
const ofStep = ({step_launches: launches, step_ns: ns, step_gpu_fill: fill}) =>
({launches, ns, fill});
const amounts = isWhole ? ofRun : ofStep;
return kernelRows.filter(kernel => isWithin(kernel.range, place))
.map(kernel => ({...kernel, ...amounts(kernel)}))
.filter(kernel => kernel.launches > 0);
}
function meanShare(a, b) {
if (none(a.fill) || none(b.fill)) return null;
return (a.fill * a.ns + b.fill * b.ns) / (a.ns + b.ns || 1);
}
function mergeKernels(list) {
const merged = new Map();
for (const kernel of list) {
const key = kernel.name + "\n" + kernel.whole;
const known = merged.get(key);
if (!known) {
merged.set(key, {...kernel, ranges: new Set([kernel.range])});
continue;
}
known.fill = meanShare(known, kernel);
known.launches += kernel.launches;
known.ns += kernel.ns;
known.ranges.add(kernel.range);
known.max_ns = Math.max(known.max_ns, kernel.max_ns);
known.min_ns = Math.min(known.min_ns, kernel.min_ns);
known.blocks_min = Math.min(known.blocks_min, kernel.blocks_min);
known.blocks_max = Math.max(known.blocks_max, kernel.blocks_max);
}
return [...merged.values()].sort((a, b) => b.ns - a.ns);
}
function fillBins(list) {
const bins = Array.from({length: 10}, (_, i) => ({
label: i * 10 + " to " + (i + 1) * 10 + " % of the GPU",
short: String(i * 10 + 10),
value: 0,
}));
for (const kernel of list) {
if (none(kernel.fill)) continue;
const bin = Math.min(9, Math.floor(kernel.fill * 10));
bins[bin].value += kernel.ns;
}
return bins;
}
function gridBins(list) {
const power = kernel => Math.floor(Math.log2(Math.max(1, kernel.blocks_median)));
const bins = Array.from({length: Math.max(1, ...list.map(power)) + 1}, (_, i) => ({
label: count(2 ** i) + " to " + count(2 ** (i + 1) - 1) + " blocks",
short: count(2 ** i),
value: 0,
}));
for (const kernel of list) bins[power(kernel)].value += kernel.ns;
return bins;
}
function drawHistogram(box, width, bins, caption) {
const height = 170;
const left = 4;
const top = 18;
const floor = height - 34;
const wide = (width - left) / bins.length;
const most = Math.max(...bins.map(bin => bin.value), 1e-9);
const total = sum(bins, bin => bin.value);
const labelled = Math.ceil((Math.max(...bins.map(bin => textWidth(bin.short))) + 6) / wide);
const drawing = sv("svg", {width, height, role: "img", "aria-label": caption});
const write = (x, y, text, style) =>
drawing.append(sv("text", {x, y, "text-anchor": "middle", class: style}, text));
bins.forEach((bin, i) => {
const high = (floor - top) * bin.value / most;
const x = left + i * wide;
const middle = x + wide / 2;
drawing.append(sv("rect", {
x: x + 1,
y: floor - high,
width: Math.max(1, wide - 2),
height: high,
fill: "var(--c0)",
"data-value": bin.value,
...hovered(bin.label + ": " + time(bin.value) + " a " + unit),
}));
const share = Math.round(100 * bin.value / total);
if (share > 0 && wide > 26) write(middle, floor - high - 4, share + " %", "soft");
const end = width - textWidth(bin.short) / 2;
if (i % labelled === 0) write(Math.min(middle, end), floor + 15, bin.short, "soft");
});
drawing.append(sv("line", {x1: left, x2: width, y1: floor, y2: floor, class: "axis"}));
write((left + width) / 2, height - 3, caption);
box.replaceChildren(drawing);
}
function blocksText({blocks_min: least, blocks_max: most}) {
return least === most ? count(least) : count(least) + " to " + count(most);
}
const wholeName = kernel => kernel.whole || kernel.name;
function kernelColumns(total) {
const fill = kernel => none(kernel.fill) ? "" : shareText(100 * kernel.fill);
const shared = kernel => bytes(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
const range = kernel =>
kernel.ranges.size > 1 ? kernel.ranges.size + " ranges" : titleOf(kernel.range);
const ofRange = kernel => shareText(100 * kernel.ns / total);
return [
{label: "Kernel", get: kernel => kernel.name, hint: wholeName, text: true},
{label: "Launches", get: kernel => count(kernel.launches)},
{label: "GPU time", get: kernel => time(kernel.ns)},
{label: "% of range", title: "of the kernels' time of the range", get: ofRange},
{label: "Mean", get: kernel => time(kernel.ns / kernel.launches)},
{label: "GPU fill %", get: fill},
{label: "Blocks", title: "of a grid", get: blocksText},
{label: "Threads", title: "of a block", get: kernel => count(kernel.block_threads_max)},
{label: "Registers", title: "of a thread", get: kernel => count(kernel.registers_per_thread)},
{label: "Shared", title: "shared memory of a block", get: shared},
{label: "Longest", title: "of all launches of the run", get: kernel => time(kernel.max_ns)},
{label: "Range", get: range, text: true},
];
}
function kernelTable(list) {
const total = sum(list, kernel => kernel.ns) || 1;
const rows = mergeKernels(list).slice(0, mostKernels);
return table("Kernels of the range", kernelColumns(total), rows, {class: "kernels"});
}
</script>
)page"sv;
inline constexpr std::string_view page_report_one_range_js = R"page(<script>
"use strict";
const offeredRanges = 400;
const hasLevels = ["hbm_bytes", "l2_bytes", "l1_data_bytes", "l1_bytes"]
.some(key => metricAt.has(key));
function rangePicker() {
const indent = row => "\u00a0".repeat(2 * Math.max(0, row.depth - 1));
const options = folded.rows.slice(0, offeredRanges).map(row =>
el("option", {value: row.place}, indent(row) + (row.depth ? row.label : "the whole run")));
const act = event => choose(Number(event.target.value));
return el("select", {id: "range-chosen", onchange: act}, options);
}
function countedValues(row) {
const values = folded.metrics.filter(counted => !none(metric(row, counted.key)));
const amount = counted => {
const value = metric(row, counted.key);
return inUnit(counted.unit)(isSum(counted) ? perStep(row, value) : value);
};
return {
values,
make: () => table("Counted values", [
{label: "Metric", get: counted => counted.key, text: true},
{label: "Value", get: amount},
{label: "Level", get: counted => counted.level, text: true},
{label: "Meaning", get: counted => counted.meaning, text: true},
], values),
};
}
function drawValues(box, row) {
const {values, make} = countedValues(row);
const wasOpen = Boolean(box.querySelector("details[open]"));
const open = !hasLevels && !kernelRows.length || wasOpen;
if (values.length) {
const whose = row.depth ? row.path : "the run";
const caption = "All counted values of " + whose + ", of a " + unit;
box.replaceChildren(details(caption, make, open));
} else if (folded.metrics.length) {
box.replaceChildren(el("p", {}, "Nothing was counted in this range."));
} else {
box.replaceChildren("");
}
}
function aboutLevels() {
if (hasLevels) {
return "Bytes of a " + unit + " from the instructions to the memory of the device; the redder,"
+ " the nearer to the peak. Bytes, rate and % of peak of a box are of one count. Hits: what"
+ " was found in that level.";
}
return data.traced
? "counters=memory+roofline adds the picture of bytes, hit rates and shares of peaks from SM to"
+ " HBM."
: null;
}
const aboutText = text => text ? el("p", {class: "about"}, text) : null;
function limitSentence(row) {
const limit = limitOf(row);
if (limit) {
const wait = waitOf(row.folded);
const help = helpOf(row);
return "Limiter: " + (wait ? "latency; " + wait : limit) + "."
+ (help ? " Helps: " + help + "." : "");
}
return row.gpu_busy_ns > 0 ? "Limiter not counted: " + busyKinds["not known"].helps + "." : "";
}
function leftOutKernels() {
const left = data.kernels.total - kernelRows.length;
if (left <= 0) return null;
return aboutText(count(left) + " more rows of kernels, with " + time(data.kernels.rest_ns)
+ " of the run, are in kernels.csv.");
}
const kernelFigure = (title, figure, make) =>
el("div", {}, el("h3", {}, title), figure, numbersOfFigure(make));
const binTable = (name, label, bins) => table(name, [
{label, get: bin => bin.label, text: true},
{label: "Time", get: bin => time(bin.value)},
], bins);
function kernelFigures() {
const mine = () => kernelsIn(chosen);
const multiprocessors = new Set(data.devices.map(device => device.multiprocessors));
const sms = multiprocessors.size === 1
? "; the GPU has " + data.devices[0].multiprocessors + " SMs"
: "";
const drawFill = (box, width) => drawHistogram(box, width, fillBins(mine()),
"% of the GPU that grids and blocks can fill, by time");
const drawGrids = (box, width) => drawHistogram(box, width, gridBins(mine()),
"blocks of a launch, by time" + sms);
const isKnown = kernelRows.some(kernel => !none(kernel.step_gpu_fill));
const fill = isKnown ? chart(drawFill, 170) : null;
const grids = chart(drawGrids, 170);
const fillTable = () => binTable("Time by GPU fill", "GPU fill", fillBins(mine()));
const gridTable = () => binTable("Time by blocks", "Blocks", gridBins(mine()));
return {
figures: [fill, grids].filter(Boolean),
box: el("div", {class: "two"},
fill ? kernelFigure("How much of the GPU they can fill", fill, fillTable) : null,
kernelFigure("Sizes of grids", grids, gridTable)),
};
}
function tellingPlaces() {
const places = new Set(folded.rows.filter(row => row.counted.some(value => !none(value)))
.map(row => row.place));
for (const kernel of kernelRows) {
for (let row = folded.rows[kernel.range]; row; row = folded.rows[row.parent]) {
places.add(row.place);
}
}
return places;
}
function isMany(row) {
const names = row.path.split("/");
return names.some(name => ["[deeper]", "[other names]", "[other ranges]"].includes(name));
}
function longestRange() {
const telling = tellingPlaces();
const rows = folded.rows.filter(row => row.depth);
const shown = rows.filter(row => telling.has(row.place) && !isMany(row));
const gpu = row => selfOf(row, gpuTimeOfRun) * (inNoStep(row) ? 1e-6 : 1);
const compare = (a, b) =>
gpu(b) - gpu(a) || b.host_total_ns - a.host_total_ns || a.place - b.place;
return (shown.length ? shown : rows).sort(compare)[0];
}
function oneRange() {
if (!kernelRows.length && !folded.metrics.length) return;
const first = longestRange();
chosen = first ? first.place : 0;
const select = rangePicker();
const heading = el("h3", {"aria-live": "polite"});
const limit = el("p", {id: "range-limit"});
const valuesBox = el("div", {});
const kernelsBox = el("div", {});
const drawLevels = (box, width) => {
const row = folded.rows[chosen];
box.replaceChildren(new MemoryChart(width, row).draw());
};
const levels = hasLevels ? chart(drawLevels, 130) : null;
const levelNumbers = el("div", {});
const units = unitBars();
const kernels = kernelRows.length ? kernelFigures() : {figures: [], box: null};
const drawKernels = list => {
if (!kernelRows.length) return;
const nothing = el("p", {}, "This range launched no kernel.");
kernelsBox.replaceChildren(list.length ? kernelTable(list) : nothing);
};
const redraw = () => {
const row = folded.rows[chosen];
const list = kernelsIn(chosen);
select.value = chosen;
heading.textContent = row.depth ? row.path : "The whole run";
limit.textContent = limitSentence(row);
for (const figure of [levels, ...kernels.figures]) {
if (figure) figure.redraw();
}
if (levels) levelNumbers.replaceChildren(numbersOfFigure(() => memoryTable(row)));
if (units) units.redraw(row);
drawKernels(list);
drawValues(valuesBox, row);
for (const figure of kernels.figures) figure.parentNode.hidden = !list.length;
};
const title = kernelRows.length ? "memory and kernels" : "counted values";
section("range", "One range: " + title, null,
el("div", {class: "controls"}, el("label", {}, "Range", select)),
heading,
limit,
aboutText(aboutLevels()),
levels,
levels ? levelNumbers : null,
units,
valuesBox,
kernelRows.length ? [
el("h3", {}, "Kernels"),
aboutText("Launches, GPU time and GPU fill are of " + meanSteps() + ". GPU fill: how much of"
+ " the SMs the sizes of grid and blocks can keep busy."),
kernelsBox,
leftOutKernels(),
kernels.box,
] : null);
listeners.push(redraw);
redraw();
}
</script>
)page"sv;
inline constexpr std::string_view page_report_timeline_bars_js = R"page(<script>
"use strict";
const narrowBar = 2;
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
const gapCauses = ["launch", "host work", "wait", "allocation", "copy", "device"];
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
const matches = (bar, words, pathOf) =>
bar.label.toLowerCase().includes(words) || pathOf(bar.range).toLowerCase().includes(words);
function nextBar(bars, after) {
const middle = bar => (bar.begin + bar.end) / 2;
const sorted = bars.slice().sort((a, b) => middle(a) - middle(b));
return sorted.find(bar => middle(bar) > after + 0.5) || sorted[0];
}
function joinBar(group, bar) {
group.end = Math.max(group.end, bar.end);
group.busy += bar.busy;
group.count += bar.count;
if (bar.longest <= group.longest) return;
group.longest = bar.longest;
group.label = bar.label;
group.range = bar.range;
}
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
function busyShare(bar) {
const length = bar.end - bar.begin;
return length > 0 ? Math.min(1, bar.busy / length) : 1;
}
function clampWindow(from, to, length, least) {
const size = Math.max(Math.min(least, length), Math.min(length, to - from));
const begin = Math.max(0, Math.min(from, length - size));
return {from: begin, to: begin + size};
}
const seenPart = (begin, end, left, right) =>
({begin: Math.max(begin, left), end: Math.max(left, Math.min(end, right))});
</script>
)page"sv;
inline constexpr std::string_view page_report_timeline_js = R"page(<script>
"use strict";
const barHeight = 20;
const barLine = barHeight + 3;
const axisHeight = 22;
const nameLine = 15;
const mostArrows = 300;
const deepestZoom = 50;
function windowTitle(shown) {
if (none(shown.step)) return shown.what;
const what = shown.what ? shown.what + ", " : "";
return "step " + shown.step + " (" + what + time(shown.length_ns) + ")";
}
function leftOutNote(windows, shown) {
const stepsHere = windows.filter(item => !none(item.step)).length;
const uses = shown.tracks.filter(track => track.kind === "use");
return (hasSteps && stepsHere < summary.count
? " " + count(stepsHere) + " of " + count(summary.count) + " steps are on this page."
: "")
+ (uses.length ? " Uses are as high as their share of the peak: counters give the mean of a"
+ " range, not samples." : "")
+ (uses.some(track => track.joined) ? " They are means of 500 parts of the step." : "");
}
function useTracks(uses) {
const hasDevices = new Set(uses.map(use => use.device)).size > 1;
return uses.map(use => ({
name: (hasDevices ? "GPU " + use.device + ": " : "") + use.name,
kind: "use",
joined: use.joined,
bars: readUse(use),
}));
}
const hasRecords = track => track.kind !== "gaps" && track.kind !== "use";
function readWindows() {
const {windows, labels} = data.timeline;
return windows.filter(item => item.tracks.length).map(item => {
const tracks = item.tracks.map(track => ({...track, bars: readBars(track, labels)}));
joinCalls(tracks);
const bars = readGaps(item);
if (bars.length) tracks.push({name: "GPU idle, by cause", kind: "gaps", bars});
return {...item, tracks: [...tracks, ...useTracks(item.uses)]};
});
}
function paintOfUse(label) {
if (label.startsWith("HBM")) return busyKinds.HBM.paint;
return label.startsWith("tensor") ? busyKinds.tensor.paint : "var(--c0)";
}
const gapName = label => idleKinds[label].name;
function isContinued(tracks, i) {
const [above, track] = [tracks[i - 1], tracks[i]];
if (!above || track.kind !== "ranges" || above.kind !== "ranges") return false;
return above.thread === track.thread;
}
class TimelineDrawing {
constructor(canvas) {
this.canvas = canvas;
this.drawn = [];
}
draw(view, width) {
this.view = view;
this.width = width;
this.placeTracks(view.shown.tracks);
this.known = new Map();
this.drawn = [];
const zoom = devicePixelRatio || 1;
const {canvas} = this;
canvas.width = width * zoom;
canvas.height = this.height * zoom;
canvas.style.width = width + "px";
canvas.style.height = this.height + "px";
this.paper = canvas.getContext("2d");
this.paper.scale(zoom, zoom);
this.paper.font = figureFont();
this.paper.textBaseline = "middle";
this.drawMarks();
view.shown.tracks.forEach((track, i) => this.drawTrack(track, i));
this.drawArrows();
const records = this.drawn.filter(item => hasRecords(item.track));
const ofKind = kind => this.drawn.filter(item => item.track.kind === kind);
canvas.setAttribute("data-bars", this.drawn.length);
canvas.setAttribute("data-records", sum(records, item => item.bar.count));
canvas.setAttribute("data-gaps", ofKind("gaps").length);
canvas.setAttribute("data-idle", sum(ofKind("gaps"), item => item.bar.busy));
canvas.setAttribute("data-use", sum(ofKind("use"), item => item.bar.busy));
canvas.setAttribute("aria-label", "Timeline of " + windowTitle(view.shown) + ", from "
+ time(Math.round(view.from)) + " to " + time(Math.round(view.to)) + ", "
+ view.shown.tracks.length + " tracks. The longest bars are in the table below.");
}
placeTracks(tracks) {
const names = tracks.map((track, i) => isContinued(tracks, i) ? "" : track.name);
const isNarrow = this.width < 560;
const longest = Math.max(...names.map(textWidth)) + 10;
this.left = isNarrow ? 0 : Math.min(longest, 260);
this.tops = [];
let y = axisHeight;
names.forEach(name => {
y += isNarrow && name ? nameLine : 0;
this.tops.push(y);
y += barLine;
});
this.height = y + 2;
}
drawName(track, i) {
const {left, view} = this;
if (isContinued(view.shown.tracks, i)) return;
this.paper.fillStyle = this.paint("var(--text)");
const y = this.tops[i] + (left ? barHeight : -nameLine) / 2;
this.paper.fillText(this.cut(track.name, (left || this.width) - 8), 0, y);
}
paint(name) {
if (!this.known.has(name)) this.known.set(name, palette(name));
return this.known.get(name);
}
x(ns) {
const {from, to} = this.view;
return this.left + (ns - from) / (to - from) * (this.width - this.left);
}
drawMarks() {
const {from, to} = this.view;
const {paper, height} = this;
paper.fillStyle = this.paint("var(--soft)");
paper.strokeStyle = this.paint("var(--grid)");
for (const mark of timeMarks(from, to, (this.width - this.left) / 110)) {
const x = this.x(mark.ns);
if (x + paper.measureText(mark.text).width + 4 > this.width) break;
paper.fillText(mark.text, x + 3, 8);
paper.beginPath();
paper.moveTo(x, 0);
paper.lineTo(x, height);
paper.stroke();
}
}
cut(text, room) {
const wide = words => this.paper.measureText(words).width;
if (wide(text) <= room) return text;
let length = Math.max(0, Math.floor(text.length * room / wide(text)));
while (length > 1 && wide(text.slice(0, length) + "\u2026") > room) length -= 1;
return length > 1 ? text.slice(0, length).replace(/\u2026.*/, "") + "\u2026" : "";
}
drawTrack(track, i) {
const {paper, left, width, view} = this;
const y = this.tops[i];
this.drawName(track, i);
paper.fillStyle = this.paint("var(--track)");
paper.fillRect(left, y, width - left, barHeight);
paper.save();
paper.beginPath();
paper.rect(left, y, width - left, barHeight);
paper.clip();
for (const bar of visibleBars(track.bars, view.from, view.to, width - left)) {
this.drawBar(bar, track, y);
}
paper.restore();
}
fillOf(bar, track) {
if (track.kind === "gaps") return this.paint(idleKinds[bar.label].paint);
if (track.kind === "use") return this.paint(paintOfUse(bar.label));
return this.paint(track.kind === "calls" ? "var(--rest)" : color(bar.range));
}
isPale(bar, track) {
if (this.view.search) return !matches(bar, this.view.search, titleOf);
return hasRecords(track) && lookOf(bar.range) === "pale";
}
drawUse(bar, track, y) {
const begin = this.x(bar.begin);
const wide = Math.max(1, this.x(bar.end) - begin);
const high = Math.max(1, busyShare(bar) * barHeight);
this.paper.fillStyle = this.fillOf(bar, track);
this.paper.fillRect(begin, y + barHeight - high, wide, high);
this.drawn.push({begin, end: begin + wide, y, track, bar});
}
drawBar(bar, track, y) {
if (track.kind === "use") return this.drawUse(bar, track, y);
const {paper} = this;
const begin = this.x(bar.begin);
const wide = Math.max(1, this.x(bar.end) - begin);
const fill = this.fillOf(bar, track);
const isPale = this.isPale(bar, track);
paper.fillStyle = fill;
paper.globalAlpha = (0.12 + 0.88 * busyShare(bar)) * (isPale ? 0.3 : 1);
paper.fillRect(begin, y, wide > 3 ? wide - 0.8 : wide, barHeight);
paper.globalAlpha = 1;
this.drawn.push({begin, end: begin + wide, y, track, bar});
if (wide <= 30 || bar.count > 1) return;
paper.fillStyle = isPale ? this.paint("var(--text)") : ink(fill);
const label = track.kind === "gaps" ? gapName(bar.label) : bar.label;
const seen = seenPart(begin, begin + wide, this.left, this.width);
const text = this.cut(label, seen.end - seen.begin - 8);
paper.fillText(text, seen.begin + 4, y + barHeight / 2 + 1);
}
hasArrow({bar}) {
if (!bar.call) return false;
return bar === this.view.hovered || isChosen && chosen && isWithin(bar.range, chosen);
}
drawArrows() {
const {paper, left, width} = this;
const all = this.drawn.filter(item => this.hasArrow(item));
const isHovered = ({bar}) => bar === this.view.hovered;
const arrows = all.length <= mostArrows ? all : all.filter(isHovered);
this.canvas.setAttribute("data-arrows", arrows.length);
paper.save();
paper.beginPath();
paper.rect(left, 0, width - left, this.height);
paper.clip();
paper.strokeStyle = paper.fillStyle = this.paint("var(--text)");
for (const {bar, y} of arrows) {
const begin = this.x((bar.call.begin + bar.call.end) / 2);
const from = this.tops[bar.call.track] + barHeight;
const to = this.x(bar.begin);
paper.beginPath();
paper.moveTo(begin, from);
paper.bezierCurveTo(begin, (from + y) / 2, to, (from + y) / 2, to, y);
paper.stroke();
paper.beginPath();
paper.moveTo(to, y);
paper.lineTo(to - 3, y - 6);
paper.lineTo(to + 3, y - 6);
paper.fill();
}
paper.restore();
}
find(event) {
const box = this.canvas.getBoundingClientRect();
const x = event.clientX - box.left;
const y = event.clientY - box.top;
const isHit = item =>
x >= item.begin - 1 && x <= item.end + 1 && y >= item.y && y <= item.y + barHeight;
return this.drawn.slice().reverse().find(isHit) || null;
}
timeAt(event) {
const box = this.canvas.getBoundingClientRect();
const part = Math.max(0, event.clientX - box.left - this.left) / (box.width - this.left);
return this.view.from + (this.view.to - this.view.from) * part;
}
}
function describeGap(bar) {
const idle = "idle for " + percent(100 * busyShare(bar)) + " of " + time(bar.end - bar.begin);
const joined = count(bar.count) + " gaps, " + idle + ", the longest: ";
return "GPU idle: " + (bar.count > 1 ? joined : "") + gapName(bar.label) + "\n"
+ time(bar.longest) + (bar.count > 1 ? "" : " from " + time(bar.begin));
}
const describeUse = (bar, track) => track.name + "\n" + percent(100 * busyShare(bar)) + " for "
+ time(Math.round(bar.end - bar.begin)) + " from " + time(Math.round(bar.begin));
function describeBar({bar, track}) {
if (track.kind === "gaps") return describeGap(bar);
if (track.kind === "use") return describeUse(bar, track);
const busy = percent(100 * busyShare(bar));
const joined = count(bar.count) + " bars, busy " + busy + ", the longest: ";
const launched = bar.call
? "\nlaunched " + time(bar.begin - bar.call.begin) + " before"
: "";
return (bar.count > 1 ? joined : "") + bar.label + "\n" + titleOf(bar.range) + "\n"
+ time(bar.end - bar.begin) + " from " + time(bar.begin) + launched + "\n" + track.name;
}
function timelineNote({shown, from, to}, windows) {
const isAll = from <= 0 && to >= shown.length_ns;
const part = isAll ? ", all of it" : ", " + time(Math.round(to - from)) + " from "
+ time(Math.round(from)) + " on";
const left = shown.left_out;
const lost = left
? " " + some(left, "record") + " on further threads or streams " + (left === 1 ? "is" : "are")
+ " left out."
: "";
const cure = "formats=html+trace writes all of it.";
const file = data.trace_file ? data.trace_file + " has all." : cure;
return sentence(windowTitle(shown) + part) + " Bars that are too short to be seen are joined: the"
+ " paler one is, the less of its time something ran."
+ leftOutNote(windows, shown) + lost + " " + file;
}
const longestBars = 200;
const barTable = shown => table("Bars of the timeline", [
{label: "What", get: bar => bar.label, text: true},
{label: "Track", get: bar => bar.track, text: true},
{label: "Range", get: bar => titleOf(bar.range), text: true},
{label: "From", get: bar => time(bar.begin)},
{label: "Length", get: bar => time(bar.end - bar.begin)},
{label: "Joined", get: bar => count(bar.count)},
], shown.tracks.filter(track => track.kind !== "use")
.flatMap(track => track.bars.map(bar => ({...bar, track: track.name})))
.sort((a, b) => b.end - b.begin - (a.end - a.begin) || a.begin - b.begin)
.slice(0, longestBars));
function followMouse(canvas, drawing, view) {
let drag = null;
const isDragged = event => Math.abs(drag.x - event.clientX) > 3;
canvas.addEventListener("pointermove", event => {
if (!drag) {
const item = drawing.find(event);
tip(item ? describeBar(item) : "", event.clientX, event.clientY);
view.hover(item && item.bar.call ? item.bar : null);
return;
}
drag.moved = drag.moved || isDragged(event);
const moved = (drag.x - event.clientX) / canvas.clientWidth * (drag.to - drag.from);
view.show(drag.from + moved, drag.to + moved);
});
canvas.addEventListener("pointerleave", () => {
tip("");
view.hover(null);
drag = null;
});
canvas.addEventListener("pointerdown", event => {
drag = {x: event.clientX, from: view.from, to: view.to};
});
canvas.addEventListener("pointerup", event => {
const item = drag && !drag.moved && drawing.find(event);
drag = null;
if (item && hasRecords(item.track)) choose(item.bar.range);
});
canvas.addEventListener("wheel", event => {
if (!event.ctrlKey && !event.shiftKey) return;
event.preventDefault();
view.zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, drawing.timeAt(event));
}, {passive: false});
}
class TimelineView {
constructor(shown, redraw) {
this.redraw = redraw;
this.search = "";
this.hovered = null;
this.choose(shown);
}
choose(shown) {
this.shown = shown;
this.from = 0;
this.to = shown.length_ns;
}
show(from, to) {
Object.assign(this, clampWindow(from, to, this.shown.length_ns, deepestZoom));
this.redraw();
}
hover(bar) {
if (this.hovered === bar) return;
this.hovered = bar;
this.redraw();
}
findNext() {
const bars = this.shown.tracks.filter(hasRecords).flatMap(track => track.bars)
.filter(bar => this.search && matches(bar, this.search, titleOf));
const next = nextBar(bars, (this.from + this.to) / 2);
if (!next) return 0;
const length = Math.max(20 * (next.end - next.begin), 200 * deepestZoom);
const room = Math.min(this.to - this.from, length);
const middle = (next.begin + next.end) / 2;
this.show(middle - room / 2, middle + room / 2);
return bars.length;
}
showAll() {
this.show(0, this.shown.length_ns);
}
zoom(factor, around = (this.from + this.to) / 2) {
this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
}
move(part) {
const step = (this.to - this.from) * part;
this.show(this.from + step, this.to + step);
}
}
const timelineKeys = {
w: view => view.zoom(0.5),
s: view => view.zoom(2),
a: view => view.move(-0.25),
d: view => view.move(0.25),
ArrowUp: view => view.zoom(0.5),
ArrowDown: view => view.zoom(2),
ArrowLeft: view => view.move(-0.25),
ArrowRight: view => view.move(0.25),
Home: view => view.showAll(),
};
function followKeys(canvas, view) {
canvas.addEventListener("keydown", event => {
const act = timelineKeys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
event.preventDefault();
act(view);
});
}
function timelineSearch(view) {
const input = el("input", {type: "search", id: "timeline-search"});
input.addEventListener("input", () => {
view.search = input.value.trim().toLowerCase();
view.redraw();
});
input.addEventListener("keydown", event => {
if (event.key === "Enter") view.findNext();
});
return el("label", {}, "Search", input);
}
function gapLegend(list, shown) {
const labels = new Set(shown.tracks.filter(track => track.kind === "gaps")
.flatMap(track => track.bars.map(bar => bar.label)));
list.replaceChildren(...gapCauses.filter(label => labels.has(label)).map(label => el("li", {},
el("i", {style: "background:" + idleKinds[label].paint}), " GPU idle: " + gapName(label))));
}
function timelineControls(windows, view, chooseWindow) {
const named = (text, name, act) => button(text, act, {"aria-label": name});
const choices = windows.map((item, i) => [i, windowTitle(item)]);
return el("div", {class: "controls"},
)page"sv;
inline constexpr std::string_view page_report_timeline_js_2 = R"page(windows.length > 1 ? picker(hasSteps ? "Step" : "Show", choices, chooseWindow) : null,
named("+", "Zoom in", () => view.zoom(0.5)),
named("\u2212", "Zoom out", () => view.zoom(2)),
named("\u25c2", "Earlier", () => view.move(-0.5)),
named("\u25b8", "Later", () => view.move(0.5)),
named("All", "Show all of it", () => view.showAll()),
timelineSearch(view),
button("Next", () => view.findNext(), {"aria-label": "Next that the search finds"}));
}
function timeline() {
const windows = readWindows();
if (!windows.length) return;
const canvas = el("canvas", {role: "img", id: "timeline-figure", tabindex: "0"});
const note = el("p", {class: "about", role: "status"});
const list = el("div", {});
const causes = el("ul", {class: "legend", "aria-label": "Causes of gaps"});
const drawing = new TimelineDrawing(canvas);
const figure = chart((box, width) => {
if (canvas.parentNode !== box) box.replaceChildren(canvas);
drawing.draw(view, width);
note.textContent = timelineNote(view, windows);
});
const view = new TimelineView(windows[0], () => figure.redraw());
const listLongest = () => {
list.replaceChildren(details("The longest bars of this step", () => barTable(view.shown)));
gapLegend(causes, view.shown);
};
const chooseWindow = value => {
view.choose(windows[value]);
listLongest();
figure.redraw();
};
followMouse(canvas, drawing, view);
followKeys(canvas, view);
const about = "What threads and streams did in " + (hasSteps ? "one step" : "the run")
+ ". Ctrl and the wheel zoom, dragging moves; so do W, S, A and D. Arrows lead from launches of"
+ " the chosen range to its kernels.";
section("timeline", "Timeline", about,
timelineControls(windows, view, chooseWindow), figure, causes, note, list);
redrawOnTheme.push(() => figure.redraw());
listeners.push(() => figure.redraw());
listLongest();
}
</script>
)page"sv;
inline constexpr std::string_view page_report_memory_js = R"page(<script>
"use strict";
const memoryOrders = {
by_purpose: {label: "by purpose, device memory", about: "by purpose"},
by_range: {label: "by range, device memory", about: "by the range that allocated it"},
by_kind: {label: "by kind, pinned memory too", about: "by kind"},
};
function partNames(set) {
const named = set.series.map(part =>
typeof part === "number" ? shortTitle(part) : part.replace(/_/g, " "));
return set.others ? [...named, some(set.others, "other")] : named;
}
function partPaint(set, i) {
if (i >= set.series.length) return "var(--rest)";
return typeof set.series[i] === "number" ? color(set.series[i]) : "var(--c" + i % 10 + ")";
}
const inUse = point => sum(point.slice(1), value => Math.max(0, value));
function holdersOf(set, names) {
const peak = set.points.reduce((most, point) => inUse(point) > inUse(most) ? point : most);
const total = inUse(peak) || 1;
return names.map((name, i) => ({name, value: peak[i + 1] || 0}))
.filter(part => part.value > 0)
.sort((a, b) => b.value - a.value)
.map(part => ({...part, share: part.value / total}));
}
function memoryOfRange(place) {
const {series, points} = data.memory.by_range;
const mine = series.map((part, i) => isWithin(part, place) ? i + 1 : 0).filter(Boolean);
return mine.length ? points.map(point => [point[0], sum(mine, i => point[i])]) : [];
}
function stairs(points, values, x, y) {
return values.flatMap((value, i) => {
const corner = [x(points[i][0]), y(value)];
return i ? [[corner[0], y(values[i - 1])], corner] : [corner];
});
}
class MemoryDrawing {
constructor(width, order) {
const [left, right, top, bottom] = [74, 10, 16, 26];
this.set = data.memory[order];
this.order = order;
this.width = width;
this.height = 240;
this.box = {left, top, end: width - right, floor: this.height - bottom};
this.most = Math.max(1, ...this.set.points.map(point => sum(point.slice(1), value => value)));
this.svg = sv("svg", {
width,
height: this.height,
id: "memory-figure",
role: "img",
"aria-label": "Memory in use over the run, " + memoryOrders[order].about
+ ". The numbers are in the table below.",
});
}
x(ns) {
return this.box.left + ns / (data.end_ns || 1) * (this.box.end - this.box.left);
}
y(value) {
return this.box.floor - value / this.most * (this.box.floor - this.box.top);
}
draw(names) {
this.drawAxes();
let base = this.set.points.map(() => 0);
names.forEach((name, i) => {
base = this.drawPart(name, i, base);
});
this.drawPeak();
if (isChosen && chosen && this.order !== "by_kind") this.drawChosen();
return this.svg;
}
drawAxes() {
const {left, end} = this.box;
for (const mark of byteMarks(this.most, 5)) {
const y = this.y(mark);
this.svg.append(
sv("line", {x1: left, x2: end, y1: y, y2: y, class: "grid"}),
sv("text", {x: left - 6, y: y + 4, "text-anchor": "end", class: "soft"}, bytes(mark)));
}
for (const mark of timeMarks(0, data.end_ns || 1, (end - left) / 110)) {
const x = this.x(mark.ns);
const room = textWidth(mark.text) / 2;
const anchor = x - room < left ? "start" : x + room > this.width ? "end" : "middle";
const place = {x, y: this.height - 8, "text-anchor": anchor, class: "soft tick"};
this.svg.append(sv("text", place, mark.text));
}
}
drawChosen() {
const points = memoryOfRange(chosen);
if (!points.length) return;
const values = points.map(point => point[1]);
const corners = stairs(points, values, ns => this.x(ns), value => this.y(value));
this.svg.append(sv("polyline", {
points: corners.map(corner => corner.join(",")).join(" "),
class: "chosen-line",
"data-peak": Math.max(...values),
...hovered(titleOf(chosen) + "\npeak " + bytes(Math.max(...values))),
}));
}
drawPart(name, i, base) {
const {points} = this.set;
const amount = point => point[i + 1] || 0;
const upper = points.map((point, n) => base[n] + Math.max(0, amount(point)));
const line = values => stairs(points, values, ns => this.x(ns), value => this.y(value));
const corners = [...line(upper), ...line(base).reverse()];
const peak = bytes(Math.max(...points.map(amount)));
this.svg.append(sv("polygon", {
points: corners.map(corner => corner.join(",")).join(" "),
fill: partPaint(this.set, i),
"fill-opacity": 0.85,
class: typeof this.set.series[i] === "number" ? lookOf(this.set.series[i]) : undefined,
...hovered(name + "\npeak " + peak),
}));
return upper;
}
drawPeak() {
const {peak_bytes: peak, peak_at_ns: when} = data.memory;
if (this.order === "by_kind" || !(peak > 0) || peak > this.most * 1.001) return;
const {left, top, end, floor} = this.box;
const x = this.x(when);
const place = {x: Math.min(end - 110, Math.max(left, x + 4)), y: top - 4};
const line = {x1: x, x2: x, y1: top - 4, y2: floor, class: "axis", "stroke-dasharray": "3 3"};
this.svg.append(sv("line", line), sv("text", place, "peak " + bytes(peak)));
}
}
const memoryTotals = ({totals}) =>
totals.map(([range, kind, , , liveCount, liveSize, laterCount, laterSize]) =>
({range, kind, liveCount, liveSize, laterCount, laterSize}));
const isOfChoice = total => isChosen && chosen > 0 && isWithin(total.range, chosen);
const rangeColumn = {
label: "Range",
get: total => titleOf(total.range),
text: true,
};
const kindColumn = {label: "Kind", get: total => total.kind.replace(/_/g, " "), text: true};
function liveTable(totals) {
const live = totals.filter(total => total.liveCount > 0);
if (!live.length) return el("p", {}, "Everything that was allocated was released.");
return table("Memory that was not released", [
rangeColumn,
kindColumn,
{label: "Allocations", get: total => count(total.liveCount)},
{label: "Bytes", get: total => bytes(total.liveSize)},
], live, {}, isOfChoice);
}
function stepTable(totals, steps) {
const inSteps = totals.filter(total => total.laterCount > 0)
.sort((a, b) => b.laterCount - a.laterCount || a.range - b.range);
if (!inSteps.length) return el("p", {}, "No step but the first allocated memory.");
const later = Math.max(1, steps - 1);
return table("Allocations in steps", [
rangeColumn,
kindColumn,
{label: "Allocations a step", get: total => count(total.laterCount / later)},
{label: "Bytes a step", get: total => bytes(total.laterSize / later)},
], inSteps, {}, isOfChoice);
}
function purposeTable({purposes, mean_steps: steps, peak_bytes: peak}) {
if (!purposes) return null;
const per = steps ? "step" : "run";
const about = steps ? "Allocated and released: in " + meanSteps(steps) + "." : "";
const rows = purposes.map(([name, allocated, released, live, most, atPeak]) =>
({name, allocated, released, live, most, atPeak}));
return [el("h3", {}, "By purpose"), aboutText(about), table("Device memory by purpose", [
{label: "Purpose", get: row => row.name, text: true},
{label: "At the peak of all", get: row => bytes(row.atPeak)},
{label: "% of that", get: row => shareText(100 * row.atPeak / (peak || 1))},
{label: "Its peak", get: row => bytes(row.most)},
{label: "Never released", get: row => bytes(row.live)},
{label: "Allocated a " + per, get: row => bytes(row.allocated)},
{label: "Released a " + per, get: row => bytes(row.released)},
], rows)];
}
function memoryNumbers(set, names) {
const amounts = names.map((name, i) => ({label: name, get: point => bytes(point[i + 1] || 0)}));
const when = {label: "Time", get: point => time(point[0]), text: true};
return numbersOfFigure(() => table("Memory over time", [when, ...amounts], set.points));
}
function aboutMemory({allocations, peak_bytes: peak, older}) {
const releases = some(older, "release") + " of what was allocated before";
return some(allocations, "allocation") + "; at most " + bytes(peak)
+ " of device memory at one time" + (older ? "; " + releases : "") + ".";
}
function peakNote(set, names, order) {
const shown = holdersOf(set, names).filter(part => part.share > 0.001).slice(0, 5)
.map(part => part.name + " " + bytes(part.value) + " (" + percent(100 * part.share) + ")");
const held = "At the peak: " + shown.join(", ") + ".";
if (!isChosen || !chosen || order === "by_kind") return held;
const mine = memoryOfRange(chosen);
const most = Math.max(0, ...mine.map(point => point[1]));
return held + " " + titleOf(chosen) + (mine.length
? " has " + bytes(most) + " at most: the line."
: " is none of the ranges that have a part.");
}
function neverReleased(totals) {
const live = totals.filter(total => total.liveCount > 0);
const size = sum(live, total => total.liveSize);
return size > 0 ? bytes(size) + " in " + some(sum(live, total => total.liveCount), "allocation")
+ " was never released" : null;
}
function memory() {
const recorded = data.memory;
if (!recorded) return;
const keys = Object.keys(memoryOrders).filter(key => recorded[key]);
let [order] = keys;
const note = el("p", {class: "about", role: "status"});
const legend = legendList("Parts of the figure");
const numbers = el("div", {});
const figure = chart((box, width) => {
const set = recorded[order];
const names = partNames(set);
const chooseSeries = part => {
if (typeof part === "number") choose(part);
};
box.replaceChildren(new MemoryDrawing(width, order).draw(names));
legend.fill(names.map((name, i) =>
legendItem(partPaint(set, i), name, () => chooseSeries(set.series[i]))));
note.textContent = peakNote(set, names, order);
numbers.replaceChildren(memoryNumbers(set, names));
}, 240);
const setOrder = value => {
order = value;
figure.redraw();
};
const orders = keys.map(key => [key, memoryOrders[key].label]);
const totals = memoryTotals(recorded);
const tables = el("div", {class: "two"});
const drawTables = () => tables.replaceChildren(
el("div", {}, el("h3", {}, "Never released"), aboutText(sentence(neverReleased(totals))),
liveTable(totals)),
hasSteps
? el("div", {}, el("h3", {}, "Allocated in steps after the first"),
stepTable(totals, recorded.steps))
: "");
const more = count(recorded.left_out) + " more ranges are in memory.csv.";
section("memory", "Memory", aboutMemory(recorded),
el("div", {class: "controls"}, picker("Parts", orders, setOrder)),
figure, note, legend, numbers,
purposeTable(recorded),
tables,
recorded.left_out ? el("p", {class: "about"}, more) : null);
drawTables();
listeners.push(() => {
figure.redraw();
drawTables();
});
}
</script>
)page"sv;
inline constexpr std::string_view page_report_environment_js = R"page(<script>
"use strict";
function deviceText(device) {
return device.name + ", " + device.multiprocessors + " SMs, compute capability "
+ device.compute_capability_major + "." + device.compute_capability_minor + ", "
+ bytes(device.memory_bytes) + ", L2 " + bytes(device.l2_bytes) + ", "
+ digits(device.clock_khz / 1e3) + " MHz";
}
function runTable() {
const run = data.environment;
const known = Object.entries({
Program: run.command,
Host: run.host,
Rank: run.rank,
CPU: run.cpu,
"Started at": run.started_at,
"STRATA=": run.configuration,
Clock: run.clock,
CUPTI: run.cupti_path && run.cupti_path + " (" + run.cupti_version + ")",
Driver: run.driver_version || null,
Strata: data.schema.strata,
}).filter(([, value]) => !none(value) && value !== "");
const devices = data.devices.map(device => ["GPU " + device.device, deviceText(device)]);
return table("Run", [
{label: "What", get: ([name]) => name, text: true},
{label: "Value", get: ([, value]) => value, text: true},
], [...known, ...devices], {class: "wraps"});
}
function costTable() {
const cost = data.cost_parts;
const times = [
["in ranges", cost.range_ns],
["in launch callbacks", cost.callback_ns],
["in readings of CPU counters", cost.counter_ns],
["waiting for a flush", cost.flush_ns],
["to start", cost.start_ns],
["on CUPTI's own threads", cost.activity_ns],
].filter(([, ns]) => ns > 0);
if (!times.length) return null;
const ofTime = ([, ns]) => shareText(100 * ns / (cost.window_ns || data.end_ns));
return table("Cost of Strata", [
{label: "What", get: ([name]) => name, text: true},
{label: "Time", get: ([, ns]) => time(ns)},
{label: "% of the recorded time", get: ofTime},
], times);
}
function environment() {
const isWhole = !data.losses.length && !data.problems.length;
section("environment", "Run and cost",
isWhole ? "Nothing was lost, and nothing went wrong." : null,
el("div", {class: "two"},
el("div", {}, el("h3", {}, "Run"), runTable()),
el("div", {}, el("h3", {}, "Cost of Strata"), el("p", {}, data.cost + "."), costTable())));
byId("foot").textContent = "Strata " + data.schema.strata
+ ". This page needs no network; its numbers are those of profile.json.";
}
</script>
)page"sv;
inline constexpr std::string_view page_report_page_js = R"page(<script>
"use strict";
const pageParts = [
headline,
findings,
doubts,
icicle,
ranges,
shares,
roofline,
oneRange,
timeline,
memory,
environment,
headerButtons,
];
for (const part of pageParts) part();
function showChoice() {
const box = byId("chosen");
box.hidden = !isChosen || !chosen;
if (box.hidden) return;
box.replaceChildren(
el("i", {style: "background:" + color(chosen)}),
toRow(chosen, titleOf(chosen)),
button("\u00d7", () => choose(0), {"aria-label": "Choose no range"}));
}
listeners.push(showChoice);
if (chosen) choose(chosen, true);
function showChosen() {
for (const figure of figures) figure.fit();
const shown = ["range", "icicle", "ranges"].map(byId).find(Boolean);
if (shown) shown.scrollIntoView();
}
function followLink() {
const place = placeOfAddress(location.hash);
if (place !== undefined) {
unfoldTo(place);
choose(place);
showChosen();
} else if (/^#row-\d+$/.test(location.hash)) {
showRow(Number(location.hash.slice(5)));
} else if (location.hash && isChosen && chosen) {
history.replaceState(null, "", addressOf(chosen));
}
}
followLink();
addEventListener("hashchange", followLink);
</script>
)page"sv;
inline constexpr std::string_view page_markup_5 = R"page(</body>
</html>
)page"sv;
inline constexpr std::string_view page_markup_6 = R"page(</head>
<body>
<a class="skip" href="#main">To the report</a>
<header>
<h1 id="title">Strata report</h1>
<button id="print" type="button" hidden>Print</button>
<button id="theme" type="button" hidden>Dark</button>
<p id="where"></p>
</header>
<nav aria-label="Sections"><ul id="sections"></ul></nav>
<main id="main" tabindex="-1">
<noscript><p>This page draws its data with JavaScript, which is off. The JSON and CSV files have the
same data.</p></noscript>
</main>
<footer id="foot"></footer>
<div id="tip" aria-hidden="true" hidden></div>
<script type="application/json" id="data">)page"sv;
inline constexpr std::string_view page_comparison_compared_js = R"page(<script>
"use strict";
const step = data.step;
const hasSteps = step.before_steps > 0 && step.after_steps > 0;
const unit = hasSteps ? "step" : "run";
const meanUnit = hasSteps ? "mean step" : "run";
const sides = ["before", "after"];
const runsOf = side => data.runs.filter(run => run.side === side);
const program = (data.runs[0] || {}).program || "program";
const milliseconds = value => none(value) ? "" : time(value * 1e6);
function signed(value, show) {
if (value === 0) return show(0);
return (value < 0 ? "\u2212" : "+") + show(Math.abs(value));
}
function factor(value) {
if (none(value)) return "";
if (value >= 100) return digits(value);
if (value >= 10) return value.toFixed(1);
if (value >= 0.0995) return value.toFixed(3);
return value > 0 ? Number(value.toPrecision(3)).toString() : "0";
}
const ratio = (before, after) => before > 0 ? after / before : null;
const interval = (change, noise, lostBefore = 0, lostAfter = 0) => [
Math.exp(Math.log1p(change) - 1.96 * noise) / (1 + lostBefore),
Math.exp(Math.log1p(change) + 1.96 * noise) * (1 + lostAfter),
];
const between = ends => factor(ends[0]) + " to " + factor(ends[1]);
function verdictOf(range, ends) {
if (range.slower) return "slower";
if (range.verdict === "unjudged") return "not judged";
if (range.lost) return "unsure (times lost)";
if (range.verdict !== "within") return range.verdict;
return ends[1] < 1 / (1 + data.options.limit) ? "faster" : "within the limit";
}
function valuesOf(range) {
if (!range.columns_before) return [];
const both = data.columns.map((column, i) =>
({...column, before: range.columns_before[i], after: range.columns_after[i]}));
return both.filter(value => !none(value.before));
}
function readRange(range) {
const judged = range.verdict !== "unjudged";
const by = (judged ? range.judged_by : range.time) === "gpu" ? "GPU" : "host";
const was = judged ? range.judged_before_ms : range.before_ms;
const now = judged ? range.judged_after_ms : range.after_ms;
const ends = judged
? interval(range.change, range.noise, range.lost_before, range.lost_after)
: null;
return {
...range,
judged,
by,
was,
now,
ends,
delta: now - was,
factor: judged ? 1 + range.change : ratio(was, now),
said: verdictOf(range, ends),
title: range.path + " (" + [by, range.thread, range.once && "once"].filter(Boolean).join(", ")
+ ")",
unit: range.once ? "run" : meanUnit,
values: valuesOf(range),
};
}
const ranges = data.ranges.map(readRange);
const indexed = data.indexed.map(readRange);
const isChange = ms => Math.abs(ms) >= 0.00005;
const inner = ranges.filter(range =>
!ranges.some(other => other.path.startsWith(range.path + "/")));
function leftOut(name, shown) {
const left = data.totals[name] - shown;
return left > 0 ? " " + count(left) + " more are in the JSON of compare --json." : "";
}
</script>
)page"sv;
inline constexpr std::string_view page_comparison_headline_js = R"page(<script>
"use strict";
const toRange = range => el("a", {href: "#range", onclick: () => choose(range.path)}, range.title);
const isFine = data.verdict === "no regression";
function onBothSides(name) {
const first = sides.map(side => runsOf(side)[0] || {});
return [...new Set(first.map(run => run[name]).filter(Boolean))].join(" / ");
}
const stepSentence = () =>
sentence(data.headline || "there are no steps on both sides: times are of the whole run");
function stepTiles() {
if (!hasSteps) return [];
const medianOf = side =>
"median of " + some(step[side + "_steps"], "step") + " in " + some(step[side + "_runs"], "run");
const ends = between(interval(step.change, step.noise));
const noise = step.runs_known ? "with that between runs" : "within the runs only";
return [
tile({name: "Step before", value: milliseconds(step.before_ms), note: medianOf("before")}),
tile({name: "Step after", value: milliseconds(step.after_ms), note: medianOf("after")}),
tile({
name: "Factor (after / before)",
value: factor(ratio(step.before_ms, step.after_ms)),
note: step.noise > 0 ? "95 % interval " + ends + ", noise " + noise : null,
}),
];
}
function mostChanged() {
const most = inner[0];
if (!most || !(Math.abs(most.delta) > 0)) return null;
const mayBeNone = most.judged && most.ends[0] <= 1 && most.ends[1] >= 1;
if (mayBeNone) return null;
const amount = ", " + milliseconds(most.was) + " before and " + milliseconds(most.now) + " after"
+ (most.once ? " in the run." : ".");
return el("p", {}, "Changed most: ", toRange(most), amount);
}
function headline() {
document.title = program + " \u2013 two sides compared";
byId("title").textContent = program + ", before and after";
const settings = onBothSides("settings");
byId("where").textContent = [
onBothSides("command"),
onBothSides("devices"),
onBothSides("host"),
settings && "STRATA=" + settings,
].filter(Boolean).join(" \u00b7 ");
const verdict = tile({
name: "Verdict",
value: capital(data.verdict),
note: "at a limit of " + percent(100 * data.options.limit),
small: true,
});
const tiles = [verdict, ...stepTiles()];
if (data.geometric_mean > 0) {
const note = "geometric mean of " + some(ranges.length, "range");
tiles.push(tile({name: "Factor of the ranges", value: factor(data.geometric_mean), note}));
}
byId("main").append(el("section", {id: "headline", "aria-label": "Headline"},
el("p", {class: "answer"}, stepSentence()),
isFine ? null : el("p", {}, sentence(data.verdict + ": " + data.reason)),
mostChanged(),
el("dl", {class: "tiles"}, tiles)));
}
function noisyTimes() {
if (!(data.noisy_times > 0)) return null;
const cure = step.runs_known ? "" : " Several runs of each side show more.";
return el("p", {}, count(data.noisy_times) + " of " + some(data.judged_times, "time")
+ " of ranges, host and GPU, are too noisy to show a slowdown of twice the limit." + cure);
}
function resolution() {
const noise = " (noise " + percent(100 * step.noise) + ").";
if (step.resolution > 10) return el("p", {}, "No slowdown is detectable" + noise);
if (!(step.resolution > 0)) return null;
return el("p", {}, "Smallest detectable slowdown: " + percent(100 * step.resolution) + noise);
}
function notes() {
const isAlike = !data.notes.length && data.verdict !== "inconclusive";
section("notes", "Comparability",
isAlike ? "Machine, versions, settings and work of the runs are the same." : null,
data.notes.map(text => el("p", {class: "notice"}, text)),
noisyTimes(),
resolution());
}
</script>
)page"sv;
inline constexpr std::string_view page_comparison_changes_js = R"page(<script>
"use strict";
function endOf(text, room) {
let end = text;
while (end.length > 1 && textWidth(end) > room) {
end = end.slice(Math.max(1, Math.ceil(end.length * 0.06)));
}
return end === text ? text : "\u2026" + end.slice(1);
}
const changeText = range => signed(range.delta, milliseconds)
+ (range.factor > 0 ? " (\u00d7\u202f" + factor(range.factor) + ")" : "");
function describeChange(range) {
const ends = range.ends ? ", 95 % interval " + between(range.ends) : "";
return range.title + "\n" + milliseconds(range.was) + " before, " + milliseconds(range.now)
+ " after\n" + changeText(range) + ends + "\n" + range.said;
}
function drawNamedBar(drawing, {name, text, begin, end, y, left, width}, more) {
const isNarrow = left === 0;
const place = isNarrow ? {x: 0, y: y - 5} : {x: left - 8, y: y + 13, "text-anchor": "end"};
drawing.append(
sv("text", place, endOf(name, (isNarrow ? width : left) - 10)),
sv("rect", {x: begin, y, width: Math.max(1, end - begin), height: 17, ...more}),
sv("text", {x: end + 7, y: y + 13, class: "soft", "aria-hidden": "true"}, text));
}
function drawChanges(width, shown) {
const isNarrow = width < 620;
const line = isNarrow ? 40 : 25;
const widest = texts => Math.max(0, ...texts.map(textWidth));
const right = widest(shown.map(changeText)) + 14;
const titles = Math.min(width * 0.42, widest(shown.map(range => range.title)) + 12);
const left = isNarrow ? 0 : titles;
const low = Math.min(0, ...shown.map(range => range.delta));
const high = Math.max(0, ...shown.map(range => range.delta));
const x = value => left + (value - low) / (high - low || 1) * (width - left - right);
const drawing = sv("svg", {
width,
height: shown.length * line + 4,
id: "changes-figure",
role: "group",
"aria-label": "Change of time by range, milliseconds a " + meanUnit,
});
shown.forEach((range, i) => {
const y = i * line + (isNarrow ? 18 : 4);
const hint = describeChange(range);
const begin = Math.min(x(0), x(range.delta));
const end = Math.max(x(0), x(range.delta));
const text = changeText(range);
drawNamedBar(drawing, {name: range.title, text, begin, end, y, left, width}, {
fill: range.delta > 0 ? "var(--c3)" : "var(--c2)",
"fill-opacity": range.judged ? 1 : 0.55,
"data-delta": range.delta,
role: "button",
"aria-label": hint,
...hinted(hint),
...pressed(() => choose(range.path, true)),
});
drawing.append(sv("line", {x1: x(0), x2: x(0), y1: y - 4, y2: y + 21, class: "axis"}));
});
return drawing;
}
function aboutChanges() {
const nested = " A range has the time of those below it.";
const once = " Once: a range outside of steps, by the whole run.";
return "Milliseconds a " + meanUnit + ", after less before: green is less time, red more."
+ " \u00d7: the factor, after / before. A paler bar was not judged: it is too small, or has"
+ " few calls. A click shows all columns of the range."
+ (inner.length < ranges.length ? nested : "")
+ (ranges.some(range => range.once) ? once : "");
}
function changes() {
if (!ranges.length) return;
const changed = all => all.filter(range => range.slower || isChange(range.delta));
let list = changed(inner);
let most = 15;
const figure = chart((box, width) => {
const nothing = el("p", {}, "No range changed.");
box.replaceChildren(list.length ? drawChanges(width, list.slice(0, most)) : nothing);
more.hidden = list.length <= most;
more.textContent = "Show " + some(list.length - most, "more range");
});
const showMore = () => {
most += 100;
figure.redraw();
};
const setRanges = value => {
list = changed(value === "all" ? ranges : inner);
figure.redraw();
};
const more = button("", showMore, {hidden: true});
const choices = [["inner", "the innermost"], ["all", "all"]];
const controls = inner.length < ranges.length
? el("div", {class: "controls"}, picker("Ranges", choices, setRanges))
: null;
section("changes", "What changed most", aboutChanges(), controls, figure, more);
redrawOnTheme.push(() => figure.redraw());
}
</script>
)page"sv;
inline constexpr std::string_view page_comparison_waterfall_js = R"page(<script>
"use strict";
const waterfallRanges = 12;
function busyOf(range, side) {
const value = range.values.find(column => column.name === "gpu_busy_ns");
return value && !none(value[side]) ? value[side] / 1e6 : null;
}
function steppingPart(range, side) {
const amount = name => (range.values.find(column => column.name === name) || {})[side] || 0;
return 1 - amount("other_threads_ns") / (amount("host_total_ns") || 1);
}
function addedBy(range, hasGpu) {
const host = side => range[side + "_ms"] * steppingPart(range, side);
if (!hasGpu) return host("after") - host("before");
return (busyOf(range, "after") || 0) - (busyOf(range, "before") || 0);
}
function waterfallBars(list) {
const hasGpu = list.some(range => busyOf(range, "before") > 0 || busyOf(range, "after") > 0);
const added = list.filter(range => !range.once)
.map(range => ({name: range.path, path: range.path, ms: addedBy(range, hasGpu)}))
.filter(({ms}) => isChange(ms))
.sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms));
const shown = added.slice(0, waterfallRanges);
const others = added.slice(waterfallRanges);
if (others.length) {
shown.push({name: some(others.length, "smaller change"), ms: sum(others, ({ms}) => ms)});
}
const known = sum(shown, ({ms}) => ms);
const name = hasGpu ? "GPU idle, and what overlaps" : "The rest of the step";
shown.push({name, ms: step.after_ms - step.before_ms - known, rest: true});
let now = step.before_ms;
const bars = shown.map(item => {
const from = now;
now += item.ms;
return {...item, from, to: now, kind: item.ms > 0 ? "more" : "less"};
});
return [
{name: "Step before", from: 0, to: step.before_ms, kind: "step"},
...bars,
{name: "Step after", from: 0, to: step.after_ms, kind: "step"},
];
}
const waterfallPaint = {step: "var(--c7)", more: "var(--c3)", less: "var(--c2)"};
const waterfallText = bar =>
bar.kind === "step" ? milliseconds(bar.to) : signed(bar.to - bar.from, milliseconds);
function drawWaterfall(width, bars) {
const isNarrow = width < 620;
const line = isNarrow ? 40 : 26;
const right = Math.max(...bars.map(bar => textWidth(waterfallText(bar)))) + 14;
const titles = Math.max(...bars.map(bar => textWidth(bar.name))) + 12;
const left = isNarrow ? 0 : Math.min(width * 0.42, titles);
const ends = bars.flatMap(bar => [bar.from, bar.to]);
const [low, high] = [Math.min(0, ...ends), Math.max(...ends)];
const x = value => left + (value - low) / (high - low || 1) * (width - left - right);
const drawing = sv("svg", {
width,
height: bars.length * line + 4,
id: "waterfall-figure",
role: "group",
"aria-label": "From the step before to the step after",
});
bars.forEach((bar, i) => {
const y = i * line + (isNarrow ? 18 : 4);
const [begin, end] = [bar.from, bar.to].map(x).sort((a, b) => a - b);
const text = waterfallText(bar);
const hint = bar.name + "\n" + text + " a " + unit;
const press = bar.path ? {role: "button", ...pressed(() => choose(bar.path, true))} : {};
drawNamedBar(drawing, {name: bar.name, text, begin, end, y, left, width}, {
fill: waterfallPaint[bar.kind],
"fill-opacity": bar.rest ? 0.55 : 1,
"data-from": bar.from,
"data-to": bar.to,
"aria-label": bar.path ? hint : undefined,
...press,
...(bar.path ? hinted(hint) : hovered(hint)),
});
if (i + 1 < bars.length) {
const at = {x1: x(bar.to), x2: x(bar.to), y1: y + 17, y2: y + line};
drawing.append(sv("line", {...at, class: "axis", "stroke-dasharray": "2 2"}));
}
});
return drawing;
}
function waterfall() {
if (!hasSteps || !inner.length) return;
const bars = waterfallBars(inner);
const hasGpu = bars.some(bar => bar.name.startsWith("GPU idle"));
const figure = chart((box, width) => box.replaceChildren(drawWaterfall(width, bars)));
const about = "Milliseconds: the steps are medians, ranges are means. Each bar begins where the"
+ " one above it ends: what the innermost ranges add to the step or take away ("
+ (hasGpu ? "GPU busy, copies too" : "host time") + "), and what is no time of theirs.";
section("waterfall", "From before to after", about, figure);
redrawOnTheme.push(() => figure.redraw());
}
</script>
)page"sv;
inline constexpr std::string_view page_comparison_factors_js = R"page(<script>
"use strict";
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
function hasChanged(value) {
if (!value) return false;
return value.before > 0 ? Math.abs(value.after / value.before - 1) > 0.0005 : value.after > 0;
}
const differing = data.columns
.filter(column => ranges.some(range => hasChanged(columnOf(range, column.name))))
.sort((a, b) => rankOf(a.name) - rankOf(b.name));
function shade(value) {
if (!(value > 0)) return null;
const part = Math.min(28, Math.round(9 * Math.abs(Math.log2(value))));
const colour = value > 1 ? "--c1" : "--c0";
if (part <= 0) return null;
return "background:color-mix(in srgb, var(" + colour + ") " + part + "%, transparent)";
}
const amountOn = (value, side) => inUnit(value.unit)(value[side]);
function factorOf({before, after}) {
if (before > 0) return factor(after / before);
return after > 0 ? "new" : "";
}
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
const style = {class: column.text && "text", title: column.title, "aria-sort": sorted};
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
box.replaceChildren(el("table", {},
el("thead", {}, el("tr", {}, factorColumns.map(factorHeading))),
el("tbody", {}, shown.map(line))));
fitColumns(box);
byId("factor-more").hidden = list.length <= shown.length;
byId("factor-more").textContent = "Show " + some(list.length - shown.length, "more range");
}
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
const rows = tableBox("Table of factors", 0);
rows.id = "factor-rows";
const about = "After / before, of a mean " + unit + "; the columns are those of ranges.csv and of"
+ " the counters. A click on a heading sorts." + leftOut("ranges", ranges.length);
section("factors", "Factors of every column", about,
rows,
button("", showMore, {id: "factor-more", hidden: true}),
same.length ? el("p", {class: "about", style: "margin-top:.6rem"}, sameText) : null,
indexed.length ? details("Each index by itself", indexTable) : null);
drawFactors();
}
</script>
)page"sv;
inline constexpr std::string_view page_comparison_one_range_js = R"page(<script>
"use strict";
let chosen = ranges.length ? ranges[0].path : null;
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
section("range", "One range", about,
el("div", {class: "controls"}, select),
el("p", {id: "range-time", role: "status"}),
el("div", {id: "range-columns"}));
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
</script>
)page"sv;
inline constexpr std::string_view page_comparison_runs_js = R"page(<script>
"use strict";
const runLine = 22;
function runName(run) {
const same = runsOf(run.side);
return run.side + (same.length > 1 ? " " + (same.indexOf(run) + 1) : "");
}
function median(list) {
if (!list.length) return null;
const sorted = list.slice().sort((a, b) => a - b);
const middle = sorted.length >> 1;
return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
function drawSteps(width, most) {
const left = Math.max(...data.runs.map(run => textWidth(runName(run)))) + 14;
const right = 16;
const bottom = data.runs.length * runLine + 6;
const x = value => left + value / most * (width - left - right);
const drawing = sv("svg", {
width,
height: bottom + 20,
id: "steps-figure",
role: "img",
"aria-label": "The time of each step in milliseconds, a line for each run. The table below has"
+ " their medians.",
});
const gap = roundStep(most / Math.max(2, (width - left) / 110));
for (let value = 0; value <= most; value += gap) {
const text = milliseconds(value);
const place = Math.min(x(value), width - textWidth(text) / 2);
const anchor = value === 0 ? "start" : "middle";
drawing.append(
sv("line", {x1: x(value), x2: x(value), y1: 0, y2: bottom, class: "grid"}),
sv("text", {x: place, y: bottom + 14, class: "soft", "text-anchor": anchor}, text));
}
data.runs.forEach((run, i) => drawing.append(...runPoints(run, i, left, x)));
return drawing;
}
function runPoints(run, i, left, x) {
const y = i * runLine + runLine / 2 + 3;
const middle = median(run.steps_ms);
const points = run.steps_ms.map(value => sv("circle", {
cx: x(value),
cy: y,
r: 4,
fill: run.side === "before" ? "var(--c0)" : "var(--c1)",
"fill-opacity": 0.45,
...hovered(runName(run) + "\n" + milliseconds(value)),
}));
const stroke = none(middle)
? []
: [sv("line", {x1: x(middle), x2: x(middle), y1: y - 8, y2: y + 8, class: "roof"})];
const name = sv("text", {x: left - 8, y: y + 4, "text-anchor": "end"}, runName(run));
return [name, ...points, ...stroke];
}
const runTable = () => table("Runs", [
{label: "Run", get: runName, text: true},
{label: "Steps", get: run => count(run.steps)},
{label: "Median step", get: run => milliseconds(median(run.steps_ms))},
{label: "Shortest", get: run => run.steps ? milliseconds(Math.min(...run.steps_ms)) : ""},
{label: "Longest", get: run => run.steps ? milliseconds(Math.max(...run.steps_ms)) : ""},
{label: "Started at", get: run => run.started_at, text: true},
{label: "Program", get: run => run.command, text: true},
{label: "GPU", get: run => run.devices || "none", text: true},
{label: "CPU", get: run => run.cpu, text: true},
{label: "Host", get: run => run.host, text: true},
{label: "STRATA=", get: run => run.settings, text: true},
], data.runs);
function runs() {
const most = Math.max(0, ...data.runs.flatMap(run => run.steps_ms));
const figure = most > 0
? chart((box, width) => box.replaceChildren(drawSteps(width, most)))
: null;
const about = "Each point is a step, with milliseconds to the right; a stroke is the median. The"
+ " first step of a run is not judged.";
section("runs", "Runs and steps", figure ? about : null, figure, runTable());
if (figure) redrawOnTheme.push(() => figure.redraw());
byId("foot").textContent = "Strata " + data.schema.strata
+ ". This page needs no network; its numbers are those of compare --json.";
}
</script>
)page"sv;
inline constexpr std::string_view page_comparison_page_js = R"page(<script>
"use strict";
const pageParts = [
headline,
notes,
waterfall,
changes,
factors,
oneRange,
onlyOne,
runs,
headerButtons,
];
for (const part of pageParts) part();
</script>
)page"sv;

inline constexpr std::string_view report_page_head[] = {
    page_markup_1,
    page_style_theme_css,
    page_style_layout_css,
    page_style_findings_css,
    page_style_controls_css,
    page_style_table_css,
    page_style_figure_css,
    page_style_narrow_css,
    page_style_print_css,
    page_markup_2,
};

inline constexpr std::string_view report_page_middle[] = {
    page_markup_3,
};

inline constexpr std::string_view report_page_tail[] = {
    page_markup_4,
    page_shared_units_js,
    page_shared_axis_js,
    page_shared_elements_js,
    page_shared_tip_js,
    page_shared_focus_js,
    page_shared_table_js,
    page_shared_colours_js,
    page_shared_figure_js,
    page_shared_theme_js,
    page_report_ranges_js,
    page_report_steps_js,
    page_report_selection_js,
    page_report_budget_js,
    page_report_headline_js,
    page_report_findings_js,
    page_report_range_columns_js,
    page_report_range_rows_js,
    page_report_range_table_js,
    page_report_shares_js,
    page_report_icicle_js,
    page_report_picture_js,
    page_report_roofline_scale_js,
    page_report_roofline_points_js,
    page_report_roofline_js,
    page_report_roofline_js_2,
    page_report_memory_chart_js,
    page_report_unit_bars_js,
    page_report_kernels_js,
    page_report_one_range_js,
    page_report_timeline_bars_js,
    page_report_timeline_js,
    page_report_timeline_js_2,
    page_report_memory_js,
    page_report_environment_js,
    page_report_page_js,
    page_markup_5,
};

inline constexpr std::string_view comparison_page_head[] = {
    page_markup_1,
    page_style_theme_css,
    page_style_layout_css,
    page_style_findings_css,
    page_style_controls_css,
    page_style_table_css,
    page_style_figure_css,
    page_style_narrow_css,
    page_style_print_css,
    page_markup_6,
};

inline constexpr std::string_view comparison_page_tail[] = {
    page_markup_4,
    page_shared_units_js,
    page_shared_axis_js,
    page_shared_elements_js,
    page_shared_tip_js,
    page_shared_focus_js,
    page_shared_table_js,
    page_shared_colours_js,
    page_shared_figure_js,
    page_shared_theme_js,
    page_comparison_compared_js,
    page_comparison_headline_js,
    page_comparison_changes_js,
    page_comparison_waterfall_js,
    page_comparison_factors_js,
    page_comparison_one_range_js,
    page_comparison_runs_js,
    page_comparison_page_js,
    page_markup_5,
};

}  // namespace detail
STRATA_END

// clang-format on

#endif  // STRATA_REPORT_PAGE_FILES_HPP
