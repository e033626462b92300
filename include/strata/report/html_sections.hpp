#include <strata/version.hpp>
#ifndef STRATA_REPORT_HTML_SECTIONS_HPP
#define STRATA_REPORT_HTML_SECTIONS_HPP

#include <strata/base/macros.hpp>

#include <string_view>

// The script of a run: its ranges, and the sections of text and tables: headline, findings, ranges,
// shares, run.

STRATA_BEGIN
namespace detail {

using std::string_view_literals::operator""sv;  // g++ counts the characters of others one by one

inline constexpr std::string_view page_model = R"js(<script>
"use strict";
/* The ranges: two tables, with indices folded (block[*]) and each by itself. A row knows its parent and children. */
const answer = data.answer, summary = answer.step, hasSteps = summary.from_steps;
function readView(view) {
  const rows = view.rows.map((cells, place) => {
    const row = { place, children: [] };
    data.columns.forEach((column, i) => { row[column] = cells[i]; });
    row.counted = view.counted && view.counted[place] || [];
    return row;
  });
  rows.forEach(row => {
    row.folded = view.folded ? view.folded[row.place] : row.place;
    row.label = row.name + (none(row.index) ? "" : "[" + row.index + "]");
    if (none(row.parent)) { row.depth = 0; row.path = row.label = "(outside ranges)"; return; }
    const parent = rows[row.parent];
    parent.children.push(row);
    row.depth = parent.depth + 1;
    row.path = parent.depth ? parent.path + "/" + row.label : row.label;
  });
  rows.slice().reverse().forEach(row => { row.inside = row.calls > 0 && row.step_share > 0 || row.children.some(child => child.inside); });
  return { name: view.name, total: view.total, rows, metrics: view.metrics || [] };
}
const views = data.views.map(readView);
const folded = views[0];
const metricAt = new Map(folded.metrics.map((metric, i) => [metric.key, i]));
const metric = (row, key) => metricAt.has(key) ? row.counted[metricAt.get(key)] : undefined;
const anyRow = test => folded.rows.some(test);
/* What a row did itself, without the rows below it: for amounts that add up. */
function selfOf(row, of) {
  const all = of(row);
  return none(all) ? all : Math.max(0, all - sum(row.children, of));
}
const titleOf = place => folded.rows[place] ? folded.rows[place].path : "";
/* Where all ranges lie below one, figures leave its name out. */
const tops = folded.rows.filter(row => row.depth === 1);
const commonTop = tops.length === 1 && tops[0].children.length ? tops[0].path + "/" : "";
const shortPath = path => commonTop && path.startsWith(commonTop) ? path.slice(commonTop.length) : path;
const shortTitle = place => shortPath(titleOf(place));

/* A range keeps its colour in all figures. Those that took longest by themselves get theirs first. */
const colors = new Map();
function color(place) {
  if (place === 0) return "var(--rest)";
  if (!colors.has(place)) {
    const near = new Set();
    for (let at = place; at !== 0;) {
      at = folded.rows[at].parent;
      for (const row of folded.rows[at].children) near.add(colors.get(row.place));
    }
    let at = colors.size % 14;
    for (let tries = 0; tries < 14 && near.has(at); tries++) at = (at + 1) % 14;
    colors.set(place, at);
  }
  return "var(--c" + colors.get(place) + ")";
}
const ownTime = row => selfOf(row, r => (r.kernel_ns || 0) + (r.copy_ns || 0)) || row.host_self_ns * 1e-3;
folded.rows.slice(1).sort((a, b) => ownTime(b) - ownTime(a) || a.place - b.place).slice(0, 14).forEach(row => color(row.place));

/* One range is chosen at a time, by its place in the folded table. */
const listeners = [];
let chosen = 0;
function choose(place, quiet) {
  chosen = place;
  for (const each of listeners) each(place, quiet);
}
</script>
)js"sv;

inline constexpr std::string_view page_findings = R"js(<script>
"use strict";
/* ---- Headline and findings ---- */
const unit = hasSteps ? "step" : "run";
/* A sum over the run as a part of a mean step. */
/* Counts and times of the GPU are of one step; counts of the CPU are sums of all steps. */
const isSum = m => m.level === "cpu" && !/%|\//.test(m.unit);
const perStep = (row, value, share = row.step_share) => none(value) ? value : value * (!hasSteps || none(share) ? 1 : share) / summary.count;
const isAround = row => hasSteps && !none(row.step_self_share);
const workPerStep = (row, value) => perStep(row, value, row.step_work_share);
/* Amounts that add up: of a range around steps, without what its children did outside of steps. */
const amountPerStep = (row, of) => none(of(row)) ? of(row) : !isAround(row) ? workPerStep(row, of(row)) : perStep(row, selfOf(row, of), row.step_self_share) + sum(row.children, child => amountPerStep(child, of));
const outsideNs = row => row.host_ns * (1 - row.step_share);
const hostSelfPerStep = row => !isAround(row) ? perStep(row, row.host_self_ns) : Math.max(0, row.host_self_ns - Math.max(0, outsideNs(row) - sum(row.children, outsideNs))) / summary.count;
/* Rows are sums over all steps, a dear first one with them. */
const meanOfAll = summary.without_first ? (summary.mean_ns * (summary.count - 1) + summary.first_ns) / summary.count : summary.mean_ns;
const program = (data.environment.command || "").split(" ")[0].split("/").pop() || "program";
const deviceNames = [...new Set(data.devices.map(d => d.name))].map(name => {
  const same = data.devices.filter(d => d.name === name);
  return (same.length > 1 ? same.length + " \u00d7 " : "") + name + " (" + same[0].multiprocessors + " SMs)";
});

function headline() {
  const e = data.environment;
  document.title = program + " \u2013 Strata report";
  byId("title").textContent = program;
  byId("where").textContent = [e.host, none(e.rank) ? "" : "rank " + e.rank, deviceNames.join(", ") || e.cpu,
    e.started_at, e.configuration && "STRATA=" + e.configuration].filter(Boolean).join(" \u00b7 ");
  const tiles = [];
  const tile = (name, value, note, extra, small) => tiles.push(el("div", { class: "tile" }, el("dt", {}, name),
    el("dd", { class: small && "small" }, value), note ? el("dd", { class: "note" }, note) : null, extra));
  if (hasSteps) {
    tile(summary.period_of_gpu ? "Step, as a period of the GPU" : "Step time", time(summary.mean_ns),
      summary.count > 1 ? "mean of " + count(summary.count - (summary.without_first ? 1 : 0)) + ", median " + time(summary.p50_ns) + ", p95 " + time(summary.p95_ns) : "of 1 step");
    if (summary.without_first) tile("First step", time(summary.first_ns), "apart: in no other figure up here");
  } else {
    tile("Recorded", time(summary.mean_ns), (data.has_steps ? "no step was recorded" : "the program has no STRATA_STEP()") + ": all numbers are of the whole run");
  }
  if (data.traced && summary.gpu_busy_ns > 0) {
    const idle = summary.gpu_idle_ns;
    const share = 100 * summary.gpu_busy_ns / (summary.gpu_busy_ns + idle);
    tile("GPU busy", percent(share), time(summary.gpu_busy_ns) + " a " + unit + " with a kernel or copy",
      el("dd", { class: "meter", "aria-hidden": "true" }, el("span", { style: "width:" + share + "%" })));
    tile("GPU idle", time(idle), percent(100 - share) + " of the mean " + unit);
  } else {
    tile("GPU", data.traced ? "no work" : "not traced", data.traced ? "nothing ran on the device" : "host times only" + (/host/.test(data.environment.configuration) ? ": STRATA=trace records the GPU" : ""), null, true);
  }
  if (summary.tokens_per_second > 0) tile("Tokens/s", count(summary.tokens_per_second), "as the ranges declare them");
  tile(data.devices.length ? "Device" : "CPU", deviceNames.join(", ") || e.cpu || "unknown", data.devices.length ? e.cpu : null, null, true);
  const first = answer.findings.find(f => f.shortens_step);
  byId("main").append(el("section", { id: "headline", "aria-label": "Headline" }, answer.bound ? el("p", { class: "answer" }, sentence(answer.bound)) : null,
    first && first.cost_ns_per_step > 0 ? el("p", {}, "What helps most: ", first.path ? [toRow(first.range, shortPath(first.path)), ": "] : null, first.advice, ". ", afterwards(first)) : null, el("dl", { class: "tiles" }, tiles)));
}

const toRow = (place, text) => el("a", { href: "#row-" + place, onclick: e => { e.preventDefault(); showRow(place); } }, text || titleOf(place));
const sentence = text => text ? (/^\w*_/.test(text) ? text[0] : text[0].toUpperCase()) + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "";
/* Columns and values; those of another range name it. */
const evidence = finding => finding.evidence.map((item, i) => [i ? "; " : "", item.path !== finding.path ? item.path + " " : null,
  el("code", {}, item.column), " ", inUnit(item.unit)(item.value)]);
function afterwards(f) {
  if (!(f.cost_ns_per_step > 0)) return "";
  if (!f.shortens_step) return "Fixing only this would not shorten the " + unit + ". ";
  return none(f.predicted_step_ns) ? "" : "Predicted " + unit + ": " + time(f.predicted_step_ns) + " instead of " + time(answer.step.typical_ns) + ". ";
}
const gainOf = f => {
  const share = answer.step.typical_ns > 0 ? " (" + percent(100 * f.gain_ns_per_step / answer.step.typical_ns) + ")" : "";
  return (none(f.predicted_step_ns) ? "up to " : "") + time(f.gain_ns_per_step) + " a " + unit + share;
};
const otherRanges = f => f.ranges.length < 2 ? null : el("p", { class: "evidence" }, "In: ", f.ranges.map((r, i) => [i ? ", " : "", r.path ? toRow(r.range, shortPath(r.path)) : "(outside ranges)", " " + time(r.cost_ns_per_step)]), ".");
function oneFinding(f) {
  const gain = f.cost_ns_per_step > 0 && f.shortens_step ? el("span", { class: "gain" }, gainOf(f)) : null;
  const more = f.ranges.length > 1 ? " and " + some(f.ranges.length - 1, "more range", "more ranges") : "";
  return el("li", {}, el("h3", {}, f.path ? [toRow(f.range, shortPath(f.path)), more + ": "] : null, f.path ? f.title : sentence(f.title).replace(/\.$/, ""), gain ? [" \u2013 ", gain] : null),
    el("p", {}, afterwards(f) + sentence(f.advice)), otherRanges(f),
    el("p", { class: "evidence" }, f.evidence.length ? [evidence(f), ". "] : null, f.needs ? "counters=" + f.needs.replace(/^counters=/, "") + " tells more. " : null, "Rule ", el("code", {}, f.rule), "."));
}
function findings() {
  const helps = f => f.shortens_step || !(f.cost_ns_per_step > 0), undecided = answer.undecided, most = 5;
  const list = answer.findings.filter(helps), others = answer.findings.filter(f => !helps(f));
  if (!answer.findings.length && !answer.bound && !undecided.length) return;
  const about = list.length ? "One cause each, over all its ranges, by what the " + unit + " gains without it. Gains are upper bounds." : data.traced ? "No rule found anything wrong." : "No rule found anything wrong in the host times; most rules look at the GPU's.";
  const numbered = (part, from) => el("ol", { class: "findings", start: from + 1, style: "counter-reset: finding " + from }, part.map(oneFinding));
  section("findings", "Findings", [about, answer.findings_left_out ? count(answer.findings_left_out) + " more are in findings.json." : ""].filter(Boolean).join(" "),
    list.length ? el("ol", { class: "findings" }, list.slice(0, most).map(oneFinding)) : null,
    list.length > most ? el("details", {}, el("summary", {}, count(list.length - most) + " more, which gain less"), numbered(list.slice(most), most)) : null,
    others.length ? el("details", {}, el("summary", {}, some(others.length, "finding", "findings") + " that would not shorten the " + unit + " alone"), numbered(others, list.length)) : null,
    undecided.length ? el("details", {}, el("summary", {}, some(undecided.length, "rule lacks", "rules lack") + " data"),
      table("Rules that lack data", [{ label: "Rule", get: u => u.rule, text: true }, { label: "What would decide it", get: u => u.needs, text: true }], undecided)) : null);
}
function doubts() {
  const texts = [...data.losses, ...data.problems];
  if (texts.length) section("lost", "Lost and not measured", null, texts.map(text => el("p", { class: "notice" }, sentence(text))));
}
</script>
)js"sv;

inline constexpr std::string_view page_ranges = R"js(<script>
"use strict";
/* ---- The range table ---- */
const rangeTable = { view: folded, sort: data.sort, search: "", per: true, open: new Set(), most: 250 };
const limiters = new Map(answer.limits.map(limit => [limit.range, limit.limiter]));
const limitOf = row => limiters.get(row.folded) || "";
const timeShare = row => data.traced && summary.gpu_busy_ns > 0 ? 100 * workPerStep(row, row.busy_ns) / meanOfAll : 100 * perStep(row, row.host_ns) / meanOfAll;
const declaredRate = key => row => row[key] > 0 && (row.busy_ns || row.host_ns) > 0 ? row[key] / (row.busy_ns || row.host_ns) * 1e9 : null;
const allColumns = [
  { key: "busy", label: "GPU busy", per: r => workPerStep(r, r.busy_ns), get: r => r.busy_ns, show: time, title: "time in which a kernel or copy of the range ran" },
  { key: "share", label: "% of " + unit, get: timeShare, show: percent, bar: true, title: "GPU busy time (host time where no GPU worked) of the mean " + unit },
  { key: "limit", label: "Limiter", text: true, get: r => limitOf(r) || null, show: v => v || "", title: "the unit with the highest use, or what the GPU waits for" },
  { key: "kernels", label: "Kernels", per: r => amountPerStep(r, c => c.kernels), get: r => r.kernels, show: count },
  { key: "host", label: "Host", per: r => perStep(r, r.host_ns), get: r => r.host_ns, show: time, title: "host time, of all threads" },
  { key: "launch", label: "Launching", per: r => amountPerStep(r, c => c.launch_ns), get: r => r.launch_ns, show: time, title: "host time in calls that launch" },
  { key: "calls", label: "Calls", per: r => isAround(r) ? null : perStep(r, r.calls), get: r => r.calls, show: count },
  { key: "self", label: "Host self", per: hostSelfPerStep, get: r => r.host_self_ns, show: time, title: "host time without the ranges below" },
  { key: "p50", label: "Median call", get: r => r.p50_ns, show: time },
  { key: "flops", label: "FLOP/s declared", get: declaredRate("flops"), show: rate("FLOP/s") },
  { key: "gbs", label: "B/s declared", get: declaredRate("bytes"), show: rate("B/s") },
  { key: "copies", label: "Copies", per: r => amountPerStep(r, c => c.copy_ns), get: r => r.copy_ns, show: time, title: "GPU time of copies and fills" },
  { key: "waits", label: "Waits", per: r => amountPerStep(r, c => c.wait_ns), get: r => r.wait_ns, show: time, title: "host time in which it waited for the GPU" },
  { key: "allocations", label: "Allocations", per: r => amountPerStep(r, c => c.allocations), get: r => r.allocations, show: count },
  { key: "peak", label: "Peak memory", get: r => r.peak_bytes, show: bytes, title: "most device memory of the range at one time" },
  { key: "tokens", label: "Tokens/s", get: declaredRate("tokens"), show: count },
  ...["hbm_bytes", "hbm_of_peak", "l2_bytes", "l1_data_bytes", "l1_bytes", "l1_hit_rate", "l2_hit_rate", "flop", "achieved_occupancy", "cpu_instructions", "cpu_ipc", "cpu_llc_misses"]
    .filter(key => metricAt.has(key)).map(key => {
      const m = folded.metrics[metricAt.get(key)];
      return { key, label: key.replace(/_/g, " ").replace("hbm", "HBM").replace(/\bl([12])\b/, "L$1").replace("cpu", "CPU"),
        per: isSum(m) && (r => perStep(r, metric(r, key))), get: r => metric(r, key), show: inUnit(m.unit === "B" || m.unit === "%" ? m.unit : ""), title: m.meaning + " (counted)" };
    }),
];
const columns = allColumns.filter(c => anyRow(r => r.depth > 0 && (c.text ? c.get(r) : c.get(r) > 0)));
if (rangeTable.sort === "cost") rangeTable.sort = columns.some(c => c.key === "busy") ? "busy" : "host";

/* Has no part in a mean step. */
const inNoStep = row => hasSteps && row.calls > 0 && !row.inside;
function shownRows() {
  const { view, sort, search, open } = rangeTable;
  const words = search.toLowerCase();
  const wanted = new Set();
  if (words) view.rows.forEach(row => {
    if (row.path.toLowerCase().includes(words)) for (let at = row; at; at = view.rows[at.parent]) wanted.add(at.place);
  });
  const column = columns.find(c => c.key === sort);
  const result = [];
  const visit = row => {
    let below = words ? row.children.filter(c => wanted.has(c.place)) : row.children;
    if (sort === "name") below = below.slice().sort((a, b) => a.label.localeCompare(b.label) || a.place - b.place);
    if (column) below = below.slice().sort((a, b) => column.text ? String(column.get(a) || "~").localeCompare(String(column.get(b) || "~"))
      : (column.get(b) || 0) - (column.get(a) || 0) || a.place - b.place);
    for (const child of below) {
      if (!words && rangeTable.per && inNoStep(child)) continue;
      result.push(child);
      if (words || open.has(child.place)) visit(child);
    }
    if (!words && row.hidden > 0) result.push({ more: row.hidden, depth: row.depth + 1 });
  };
  visit(view.rows[0]);
  const root = view.rows[0];
  if (!words && (root.kernels > sum(root.children, r => r.kernels) || root.copies > sum(root.children, r => r.copies))) result.push({ ...root, children: [], outside: true });
  return result;
}
const openTo = (depth, limit) => {
  rangeTable.open.clear();
  rangeTable.view.rows.forEach(row => { if (row.depth < depth && row.children.length) rangeTable.open.add(row.place); });
  for (let d = depth; d > 1 && limit && shownRows().length > limit; d--) openTo(d - 1, limit);
};

function rangeRow(row) {
  const padding = "padding-left:" + ((row.depth - 1) * 1.05 + .3) + "rem";
  if (row.more) return el("tr", {}, el("td", { class: "more", colspan: columns.length + 1, style: padding }, some(row.more, "smaller range is", "smaller ranges are") + " folded into the row above"));
  const foldable = row.children.length && !rangeTable.search;
  const isOpen = rangeTable.open.has(row.place);
  const name = row.outside ? "(outside ranges)" : row.label;
  const value = c => {
    if (row.outside) {
      if (!["kernels", "copies", "launch", "waits", "allocations"].includes(c.key)) return null;
      return selfOf(rangeTable.view.rows[0], c.get);
    }
    return c.get(row);
  };
  return el("tr", { id: row.outside ? "row-0" : rangeTable.view === folded ? "row-" + row.place : "each-" + row.place, class: row.folded === chosen && !row.outside && "picked" },
    el("th", { scope: "row", style: padding }, el("div", { class: "name" },
      foldable ? el("button", { class: "fold", type: "button", "aria-expanded": String(isOpen), "aria-label": (isOpen ? "Fold " : "Unfold ") + name,
        onclick: e => { isOpen ? rangeTable.open.delete(row.place) : rangeTable.open.add(row.place); drawRanges(row.place); } }, isOpen ? "\u25be" : "\u25b8")
        : el("span", { class: "leaf", "aria-hidden": "true" }, "\u00b7"),
      el("button", { class: "pick", type: "button", title: [row.path, row.shape, row.note].filter(Boolean).join("\n"), onclick: () => choose(row.folded) }, name))),
    columns.map(c => {
      const v = value(c), mean = none(v) || !c.per || !rangeTable.per ? v : row.outside ? perStep(row, v) : c.per(row);
      const text = none(mean) ? "" : c.show(mean);
      return el("td", { class: c.text && "text" }, text, c.bar && v > 0 ? el("span", { class: "bar", "aria-hidden": "true" },
        el("span", { style: "width:" + Math.min(100, v) + "%;background:" + color(row.folded) })) : null);
    }));
}
function drawRanges(focus) {
  const rows = shownRows();
  const shown = rows.slice(0, rangeTable.most);
  const byRow = rangeTable.sort === "name" ? "name" : "order";
  const heading = (key, label, title, text) => el("th", { scope: "col", class: text && "text", "aria-sort": rangeTable.sort === key ? (key === byRow ? "ascending" : "descending") : undefined },
    el("button", { type: "button", title, onclick: () => { rangeTable.sort = key === "order" && rangeTable.sort === "order" ? "name" : key === "name" ? "order" : key; drawRanges(); } }, label));
  byId("range-rows").classList.toggle("tall", isTall(shown.length));
  byId("range-rows").replaceChildren(el("table", {}, el("thead", {}, el("tr", {}, heading(byRow, "Range", "in the order of execution, then by name"), columns.map(c => heading(c.key, c.label, c.title, c.text)))),
    el("tbody", {}, shown.map(rangeRow))));
  fitColumns(byId("range-rows"));
  byId("range-more").hidden = rows.length <= shown.length;
  byId("range-more").textContent = "Show " + some(rows.length - shown.length, "more row");
  const left = rangeTable.view.total - rangeTable.view.rows.length;
  byId("range-note").textContent = (!rangeTable.search ? "" : rows.length ? some(rows.length, "row matches or stands above a match", "rows match or stand above a match") + ". " : "No range matches. ")
    + (left > 0 ? count(left) + " of " + count(rangeTable.view.total) + " ranges are folded into those above them: they cost least. ranges.csv has all." : "");
  if (focus !== undefined) { const row = byId((rangeTable.view === folded ? "row-" : "each-") + focus); if (row) row.querySelector(".fold, .pick").focus(); }
}
/* Brings a row of the folded table into view. */
function showRow(place) {
  rangeTable.view = folded;
  rangeTable.search = byId("range-search").value = "";
  if (byId("range-view")) byId("range-view").value = "0";
  if (inNoStep(folded.rows[place])) { rangeTable.per = false; byId("range-per").value = ""; }
  for (let row = folded.rows[place]; row && row.depth > 0; row = folded.rows[row.parent]) if (row.place !== place) rangeTable.open.add(row.place);
  rangeTable.most = Math.max(rangeTable.most, shownRows().findIndex(r => r.place === place) + 20);
  choose(place, true);
  const row = byId("row-" + place);
  if (!row) return byId("ranges").scrollIntoView();
  row.scrollIntoView({ block: "center" });
  row.querySelector(".pick").focus({ preventScroll: true });
}
/* What loads and saves a model: each once, by the whole run. */
function outsideSteps() {
  const rows = folded.rows.filter(row => row.depth > 0 && inNoStep(row) && !inNoStep(folded.rows[row.parent]));
  if (!rows.length) return null;
  const shown = columns.filter(c => c.per && rows.some(row => c.get(row) > 0));
  return [el("h3", {}, "Outside of steps"), table("Ranges outside of steps, by the whole run", [{ label: "Range", get: row => row.path, text: true },
    ...shown.map(c => ({ label: c.label, get: row => none(c.get(row)) ? "" : c.show(c.get(row)) }))], rows)];
}
function ranges() {
  openTo(3, 40);
  const redraw = () => drawRanges();
  const view = views.length > 1 ? el("label", {}, "Indices", el("select", { id: "range-view", onchange: e => { rangeTable.view = views[e.target.value]; openTo(2, 60); redraw(); } },
    el("option", { value: 0 }, "folded, as block[*]"), el("option", { value: 1 }, "each by itself"))) : null;
  const amounts = picker("Amounts", [["1", "a step"], ["", "whole run"]], v => { rangeTable.per = Boolean(v); redraw(); });
  amounts.lastChild.id = "range-per";
  section("ranges", "Ranges", "Amounts are of a mean " + unit + ". A click on a heading sorts; the first one is for the order of execution and for names. A click on a name shows the range in the figures below."
    + (columns.some(c => c.key === "limit") ? " Limiter: the unit with the highest use, from 60 % on; else launch: the GPU waits for the host; copies; or latency: kernels wait for their own results." : ""),
    el("div", { class: "controls" },
      el("label", {}, "Search", el("input", { type: "search", id: "range-search", oninput: e => { rangeTable.search = e.target.value.trim(); redraw(); } })), view,
      summary.count > 1 || anyRow(inNoStep) ? amounts : null,
      el("button", { type: "button", onclick: () => { openTo(99); redraw(); } }, "Unfold all"),
      el("button", { type: "button", onclick: () => { rangeTable.open.clear(); redraw(); } }, "Fold all")),
    el("div", { id: "range-rows", class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of ranges" }),
    el("p", { id: "range-note", class: "about", role: "status" }),
    el("button", { id: "range-more", type: "button", hidden: true, onclick: () => { rangeTable.most += 1000; redraw(); } }),
    outsideSteps());
  fitting.observe(byId("range-rows"));
  listeners.push(redraw);
  redraw();
}
</script>
)js"sv;

inline constexpr std::string_view page_shares = R"js(<script>
"use strict";
/* ---- Shares of a step ---- */
const kinds = [
  { name: "GPU time", of: r => none(r.kernel_ns) ? null : r.kernel_ns + r.copy_ns, show: time, work: true },
  { name: "Host time, all threads", of: r => r.depth ? r.host_ns : sum(r.children, c => c.host_ns), show: time },
  { name: "Kernels", of: r => r.kernels, show: count, work: true },
  { name: "Loads", of: r => metric(r, "global_load_bytes") ?? (none(metric(r, "l1_global_load_sectors")) ? null : 32 * metric(r, "l1_global_load_sectors")), show: bytes, counted: true },
  { name: "Stores", of: r => metric(r, "global_store_bytes") ?? (none(metric(r, "l1_global_store_sectors")) ? null : 32 * metric(r, "l1_global_store_sectors")), show: bytes, counted: true },
  { name: "L1", of: r => none(metric(r, "l1_data_bytes")) ? metric(r, "l1_bytes") : metric(r, "l1_data_bytes"), show: bytes, counted: true },
  { name: "L2", of: r => metric(r, "l2_bytes"), show: bytes, counted: true },
  { name: "HBM", of: r => metric(r, "hbm_bytes"), show: bytes, counted: true },
  { name: "FLOP", of: r => none(metric(r, "flop")) && none(metric(r, "tensor_flop")) ? null : (metric(r, "flop") || 0) + (metric(r, "tensor_flop") || 0), show: count, counted: true },
  { name: "Instructions", of: r => metric(r, "cpu_instructions"), show: count },
].filter(kind => kind.of(folded.rows[0]) > 0 || sum(folded.rows[0].children, kind.of) > 0);

/* The rows of a depth, and above it what ranges did themselves: their sum is the whole. */
function parts(depth) {
  const list = [];
  for (const row of folded.rows) {
    if (row.depth > depth) continue;
    const of = row.depth === depth || !row.children.length ? kind => kind.of(row) : kind => selfOf(row, kind.of);
    const values = kinds.map(kind => { const v = of(kind); return none(v) ? v : kind.counted ? v : kind.work ? workPerStep(row, v) : perStep(row, v); });
    if (values.some(v => v > 0)) list.push({ place: row.place, name: row.path + (row.depth && row.depth < depth && row.children.length ? " (itself)" : ""), values });
  }
  const totals = kinds.map((kind, i) => sum(list, part => part.values[i]));
  list.forEach(part => { part.shares = part.values.map((v, i) => totals[i] > 0 ? (v || 0) / totals[i] : 0); part.most = Math.max(...part.shares); });
  list.sort((a, b) => b.most - a.most || a.place - b.place);
  const named = list.filter((part, i) => i < 12 && part.most >= .004), rest = list.slice(named.length);
  named.sort((a, b) => a.place - b.place);
  if (rest.length) named.push({ place: 0, name: some(rest.length, "other"), rest: true, values: kinds.map((kind, i) => sum(rest, p => p.values[i])), shares: kinds.map((kind, i) => sum(rest, p => p.shares[i])) });
  return { parts: named, totals };
}
function shares() {
  if (!kinds.length || folded.rows.length < 2) return;
  const deepest = Math.min(8, Math.max(...folded.rows.map(r => r.depth)));
  let depth = 1;
  const folds = d => parts(d).parts.some(part => part.rest && part.shares[0] > .02);
  for (let d = 2; d <= deepest && !folds(d); d++) if (parts(d).parts.length > parts(depth).parts.length) depth = d;
  const legend = el("ul", { class: "legend", "aria-label": "Ranges in the figure" }), numbersBox = el("div", {});
  const figure = chart((box, width) => {
    const { parts: list, totals } = parts(depth);
    const left = width < 520 ? 78 : 145, right = width < 520 ? 4 : 90, high = 26, gap = 9;
    const drawing = sv("svg", { width, height: kinds.length * (high + gap), role: "group", "aria-label": "Shares of a mean " + unit + " by range" });
    kinds.forEach((kind, i) => {
      const y = i * (high + gap);
      const lines = width < 520 ? kind.name.split(", ") : [kind.name];
      lines.forEach((line, n) => drawing.append(sv("text", { x: left - 8, y: y + high / 2 + 4 + 13 * (n - (lines.length - 1) / 2), "text-anchor": "end" }, line)));
      if (width >= 520) drawing.append(sv("text", { x: width - right + 8, y: y + high / 2 + 4, class: "soft" }, kind.show(totals[i])));
      let x = left;
      for (const part of list) {
        const wide = part.shares[i] * (width - left - right);
        if (!(wide > 0)) continue;
        const text = part.name + "\n" + kind.name + ": " + percent(100 * part.shares[i]) + ", " + kind.show(part.values[i]);
        drawing.append(sv("rect", { x, y, width: wide, height: high, fill: part.rest ? "var(--rest)" : color(part.place), class: "edge", "data-share": part.shares[i],
          tabindex: wide > 3 ? "0" : undefined, role: wide > 3 ? "button" : "presentation", "aria-label": wide > 3 ? text : undefined, ...hinted(text), ...(part.rest ? {} : pressed(() => choose(part.place))) }));
        const label = shortPath(part.name).split("/").pop();
        if (wide > label.length * 7 + 12) drawing.append(sv("text", { x: x + wide / 2, y: y + high / 2 + 4, "text-anchor": "middle", style: "pointer-events:none;fill:" + ink(part.rest ? "var(--rest)" : color(part.place)), "aria-hidden": "true" }, label));
        x += wide;
      }
    });
    box.replaceChildren(drawing);
    legend.replaceChildren(...list.map(part => el("li", {}, el("button", { type: "button", onclick: () => { if (!part.rest) choose(part.place); } },
      el("i", { style: "background:" + (part.rest ? "var(--rest)" : color(part.place)) }), shortPath(part.name)))));
    numbersBox.replaceChildren(numbers("Numbers of this figure", () => table("Shares by range",
      [{ label: "Range", get: p => p.name, text: true }, ...kinds.flatMap((kind, i) => [{ label: kind.name, get: p => none(p.values[i]) ? "" : kind.show(p.values[i]) }, { label: "%", get: p => percent(100 * p.shares[i]) }])], list)));
  });
  section("shares", "Shares of a " + unit, "Each bar is a whole; its parts are the ranges." + (kinds.some(k => k.counted) ? " Loads and stores: bytes that threads ask for in global memory. L1, L2, HBM: bytes that this level moves for them." : data.traced ? " counters=memory+instructions adds loads, stores, L1, L2 and HBM." : ""),
    deepest > 1 ? el("div", { class: "controls" }, el("label", {}, "Depth of the ranges", el("input", { type: "range", min: 1, max: deepest, value: depth, id: "share-depth",
      oninput: e => { depth = Number(e.target.value); figure.redraw(); } }))) : null, figure, legend, numbersBox);
  redrawOnTheme.push(() => figure.redraw());
}

/* ---- The environment, what Strata cost ---- */
function environment() {
  const e = data.environment, c = data.cost_parts;
  const pairs = Object.entries({ Program: e.command, Host: e.host, Rank: e.rank, CPU: e.cpu, "Started at": e.started_at, "STRATA=": e.configuration, Clock: e.clock,
    CUPTI: e.cupti_path && e.cupti_path + " (" + e.cupti_version + ")", Driver: e.driver_version || null, Strata: data.schema.strata }).filter(([, v]) => !none(v) && v !== "");
  data.devices.forEach(d => pairs.push(["GPU " + d.device, d.name + ", " + d.multiprocessors + " SMs, compute capability " + d.compute_capability_major + "." + d.compute_capability_minor
    + ", " + bytes(d.memory_bytes) + ", L2 " + bytes(d.l2_bytes) + ", " + digits(d.clock_khz / 1e3) + " MHz"]));
  const costs = [["in ranges", c.range_ns], ["in launch callbacks", c.callback_ns], ["in readings of CPU counters", c.counter_ns], ["waiting for a flush", c.flush_ns],
    ["to start", c.start_ns], ["on CUPTI's own threads", c.activity_ns]].filter(([, v]) => v > 0);
  section("environment", "Run and cost", data.losses.length || data.problems.length ? null : "Nothing was lost, and nothing went wrong.",
    el("div", { class: "two" },
      el("div", {}, el("h3", {}, "Run"), table("Run", [{ label: "What", get: p => p[0], text: true }, { label: "Value", get: p => p[1], text: true }], pairs, { class: "wraps" })),
      el("div", {}, el("h3", {}, "Cost of Strata"), el("p", {}, data.cost + "."), costs.length ? table("Cost of Strata", [{ label: "What", get: p => p[0], text: true }, { label: "Time", get: p => time(p[1]) },
          { label: "% of the recorded time", get: p => percent(100 * p[1] / (c.window_ns || data.end_ns)) }], costs) : null)));
  byId("foot").textContent = "Strata " + data.schema.strata + ". This page needs no network; its numbers are those of profile.json.";
}
</script>
)js"sv;

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_HTML_SECTIONS_HPP
