#include <strata/version.hpp>
#ifndef STRATA_REPORT_HTML_CHARTS_HPP
#define STRATA_REPORT_HTML_CHARTS_HPP

#include <strata/base/macros.hpp>
#include <strata/report/html_sections.hpp>
#include <strata/report/html_shell.hpp>

#include <string_view>

// The script of the figures: roofline, levels of memory, kernels, timeline, memory; and the order
// of the page.

STRATA_BEGIN
namespace detail {

using std::string_view_literals::operator""sv;  // g++ counts the characters of others one by one

inline constexpr std::string_view page_roofline = R"js(<script>
"use strict";
/* ---- Roofline ---- */
// Where a range is counted, what it declares has no circle beside that.
const isCounted = new Set(answer.points.filter(p => p.evidence === "counted").map(p => p.range + p.level));
const circles = answer.points.filter(p => p.evidence === "counted" || !isCounted.has(p.range + p.level));
function roofline() {
  const points = circles;
  const roofs = [];
  for (const roof of answer.roofs) {
    const same = roofs.find(r => r.unit === roof.unit && r.rate === roof.rate);
    if (same) same.name += ", " + roof.name; else roofs.push({ ...roof, memory: roof.unit === "B/s" });
  }
  const originOf = roof => roof.origin === "counted" ? "" : " (" + roof.origin + (roof.measured_at ? " " + roof.measured_at.slice(0, 10) : "") + ")";
  const withPoints = new Set(points.map(p => p.range));
  const isInner = p => !(function below(row) { return row.children.some(c => withPoints.has(c.place) || below(c)); })(folded.rows[p.range]);
  const inner = points.filter(isInner);
  if (!points.length) {
    if (data.traced) section("roofline", "Roofline", "No range has both operations and bytes. counters=roofline+flops counts them (tensor for tensor cores), or a range declares them: strata::flops(f), strata::bytes(b).");
    return;
  }
  const levels = ["HBM", "L2", "L1"].filter(level => points.some(p => p.level === level));
  const state = { level: levels[0], part: 100, alone: null, all: false };
  const pool = () => (state.all ? points : inner).filter(p => p.level === state.level);
  const rowOf = p => folded.rows[p.range];
  const leaves = () => {
    const list = pool().sort((a, b) => b.time_ns - a.time_ns || a.range - b.range);
    const total = sum(list, p => p.time_ns);
    let before = 0;
    return list.filter(p => { const keep = before < total * state.part / 100 || before === 0; before += p.time_ns; return keep; });
  };
  const describe = p => titleOf(p.range) + "\n" + digits(p.flop_per_byte) + " FLOP/B of " + state.level + ", " + rate("FLOP/s")(p.flop_per_second)
    + "\n" + time(p.time_ns) + " a " + unit + "; at the roof " + time(p.time_at_roof_ns) + " (" + percent(100 * p.time_at_roof_ns / p.time_ns) + ")"
    + (limitOf(rowOf(p)) ? "\nLimiter: " + limitOf(rowOf(p)) : "") + "\n" + p.evidence
    + (p.above_roof ? "\nAbove a roof: units, clocks or declarations are wrong." : "");
  const numbersBox = el("div", {}), note = el("p", { class: "about", role: "status" });
  const figure = chart((box, width) => {
    const height = Math.min(520, Math.max(320, width * .52)), left = 58, right = 16, top = 14, bottom = 42;
    const all = pool(), list = leaves();
    if (!all.length) { box.replaceChildren(el("p", {}, "No range has bytes of this level.")); return; }
    const memory = roofs.find(r => r.memory && r.name === state.level), compute = roofs.filter(r => !r.memory && r.rate > 0).sort((a, b) => b.rate - a.rate);
    const ridge = memory && compute.length ? compute[0].rate / memory.rate : all[0].flop_per_byte;
    const range = values => [Math.log10(Math.min(...values)) - .35, Math.log10(Math.max(...values)) + .3];
    const [x0, x1] = range([...all.map(p => p.flop_per_byte), ridge, ridge * 4]), [y0, y1] = range([...all.map(p => p.flop_per_second), ...compute.map(r => r.rate)]);
    const x = v => left + (Math.log10(v) - x0) / (x1 - x0) * (width - left - right), y = v => height - bottom - (Math.log10(v) - y0) / (y1 - y0) * (height - top - bottom);
    const drawing = sv("svg", { width, height, id: "roofline-figure", role: "group", "aria-label": "Roofline of " + state.level + ", both axes logarithmic" });
    for (let i = Math.ceil(x0); i <= x1; i++) {
      drawing.append(sv("line", { x1: x(10 ** i), x2: x(10 ** i), y1: top, y2: height - bottom, class: "grid" }),
        sv("text", { x: x(10 ** i), y: height - bottom + 16, "text-anchor": x(10 ** i) > width - right - 16 ? "end" : "middle", class: "soft" }, i < -2 || i > 4 ? "1e" + i : String(+(10 ** i).toFixed(2))));
    }
    for (let i = Math.ceil(y0); i <= y1; i++) {
      drawing.append(sv("line", { x1: left, x2: width - right, y1: y(10 ** i), y2: y(10 ** i), class: "grid" }),
        sv("text", { x: left - 6, y: y(10 ** i) + 4, "text-anchor": "end", class: "soft" }, scaled(10 ** i, 1000, ["", " k", " M", " G", " T", " P"])));
    }
    drawing.append(sv("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "FLOP per byte of " + state.level),
      sv("text", { x: left + 4, y: top - 2, class: "soft" }, "FLOP/s"));
    const halo = "paint-order:stroke;stroke:var(--card);stroke-width:3px", nameless = [];
    /* What has a place: circles, roofs and labels, by left end, line of text, width and height. A label takes the first place that is free. */
    const most = Math.max(...all.map(p => p.time_ns)), radius = p => 4 + 12 * Math.sqrt(p.time_ns / most);
    const taken = list.map(p => ({ x: x(p.flop_per_byte) - radius(p), y: y(p.flop_per_second) + 4, wide: 2 * radius(p), high: radius(p) + 5 }));
    const label = (text, places, more) => {
      const wide = textWidth(text);
      const at = places(wide).map(place => ({ ...place, wide })).find(a => a.x >= left && a.x + wide <= width - right && !taken.some(l => Math.abs(l.y - a.y) < (l.high || 13) && a.x < l.x + l.wide && l.x < a.x + wide));
      if (!at) return false;
      taken.push(at);
      drawing.append(sv("text", { x: at.x, y: at.y, style: halo, ...more }, text));
      return true;
    };
    const end = memory ? Math.min(10 ** x1, compute.length ? ridge : 10 ** y1 / memory.rate) : 0, start = memory ? Math.max(10 ** x0, 10 ** y0 / memory.rate) : 0;
    for (let i = 0; memory && i <= 24; i++) { const at = start * (end / start) ** (i / 24); taken.push({ x: x(at) - 3, y: y(memory.rate * at) + 4, wide: 6, high: 8 }); }
    compute.forEach(roof => {
      const from = memory ? Math.max(10 ** x0, roof.rate / memory.rate) : 10 ** x0;
      if (from >= 10 ** x1) return;
      drawing.append(sv("line", { x1: x(from), x2: x(10 ** x1), y1: y(roof.rate), y2: y(roof.rate), class: "roof" }, sv("title", {}, roof.name)));
      const text = roof.name + " " + rate("FLOP/s")(roof.rate) + originOf(roof), line = y(roof.rate);
      if (!label(text, wide => [{ x: width - right - 2 - wide, y: line - 5 }, { x: width - right - 2 - wide, y: line + 13 }, { x: x(from) + 8, y: line - 5 }])) nameless.push(text);
    });
    if (memory) {
      const tx = Math.sqrt(start * end), angle = -Math.atan2(y(memory.rate * start) - y(memory.rate * end), x(end) - x(start)) * 180 / Math.PI;
      drawing.append(sv("line", { x1: x(start), y1: y(memory.rate * start), x2: x(end), y2: y(memory.rate * end), class: "roof" }),
        sv("text", { x: x(tx), y: y(memory.rate * tx) - 7, "text-anchor": "middle", style: halo, transform: "rotate(" + angle + " " + x(tx) + " " + y(memory.rate * tx) + ")" },
          state.level + " " + rate("B/s")(memory.rate) + originOf(memory)));
    }
    list.slice(0, width < 560 ? 8 : 24).forEach(p => {
      const r = radius(p) + 2, px = x(p.flop_per_byte), py = y(p.flop_per_second);
      label(shortTitle(p.range).split("/").pop(), wide => [{ x: px + r, y: py + 4 }, { x: px - r - wide, y: py + 4 }, { x: px - wide / 2, y: py + r + 11 }, { x: px - wide / 2, y: py - r - 3 }],
        { class: state.alone !== null && state.alone !== p.range && "dim", "aria-hidden": "true" });
    });
    list.forEach(p => drawing.append(sv("circle", { cx: x(p.flop_per_byte), cy: y(p.flop_per_second), r: radius(p), fill: color(p.range), "fill-opacity": .82,
      stroke: p.above_roof ? "var(--warn)" : p.evidence === "counted" ? "var(--card)" : "var(--text)", "stroke-width": p.above_roof ? 3 : 1.2, "stroke-dasharray": p.evidence === "counted" ? undefined : "3 2", class: state.alone !== null && state.alone !== p.range && "dim", "data-range": p.range,
      tabindex: "0", role: "button", "aria-pressed": String(state.alone === p.range), "aria-label": describe(p), ...hinted(describe(p)),
      ...pressed(() => { state.alone = state.alone === p.range ? null : p.range; if (state.alone !== null) choose(p.range); figure.redraw();
        const again = box.querySelector('[data-range="' + p.range + '"]'); if (again) again.focus(); }) })));
    box.replaceChildren(drawing);
    const covered = sum(list, p => p.time_ns), whole = sum(all, p => p.time_ns);
    note.textContent = count(list.length) + " of " + count(all.length) + " ranges" + (state.alone === null ? "" : "; " + titleOf(state.alone) + " stands alone") + (covered < whole ? ", with " + percent(100 * covered / whole) + " of their time" : "") + "." + (nameless.length ? " Roofs without room for a name: " + nameless.join(", ") + "." : "");
    legend.replaceChildren(...list.slice(0, 24).map(p => el("li", {}, el("button", { type: "button", "aria-pressed": String(state.alone === p.range), onclick: () => { state.alone = state.alone === p.range ? null : p.range; figure.redraw(); } },
      el("i", { style: "background:" + color(p.range) }), shortTitle(p.range)))));
    numbersBox.replaceChildren(numbers("Numbers of this figure", () => table("Numbers of the roofline", [{ label: "Range", get: p => titleOf(p.range), text: true }, { label: "Level", get: p => p.level, text: true },
      { label: "FLOP a " + unit, get: p => count(p.flops) }, { label: "Bytes a " + unit, get: p => bytes(p.bytes) }, { label: "FLOP/B", get: p => digits(p.flop_per_byte) }, { label: "FLOP/s", get: p => rate("FLOP/s")(p.flop_per_second) },
      { label: "Time", get: p => time(p.time_ns) }, { label: "Time at the roof", get: p => time(p.time_at_roof_ns) }, { label: "Limiter", get: p => limitOf(rowOf(p)), text: true }, { label: "From", get: p => p.evidence, text: true }], answer.points)));
  }, 320);
  const legend = el("ul", { class: "legend", "aria-label": "Ranges in the roofline" });
  section("roofline", "Roofline", "A range is a circle; its area grows with its time. The higher roof bounds operations, the slanted one bytes: what lies on a roof is as fast as the device allows. A click isolates a range. A dashed circle rests on declared work.",
    el("div", { class: "controls" }, levels.length > 1 ? picker("Bytes of", levels.map(l => [l, l]), v => { state.level = v; figure.redraw(); }) : null,
      inner.length < points.length ? picker("Ranges", [["", "the innermost"], ["1", "all"]], v => { state.all = Boolean(v); figure.redraw(); }) : null,
      el("label", {}, "Most of the time, up to", el("input", { type: "range", id: "roofline-part", min: 5, max: 100, step: 5, value: 100, oninput: e => { state.part = Number(e.target.value); e.target.nextSibling.textContent = e.target.value + " %"; figure.redraw(); } }), el("span", {}, "100 %")),
      el("button", { type: "button", onclick: () => { state.alone = null; figure.redraw(); } }, "Show all"),
      el("button", { type: "button", id: "roofline-png", onclick: () => savePicture(byId("roofline-figure"), "roofline.png") }, "Save as PNG")),
    figure, note, legend, numbersBox);
}
/* Draws an SVG with its present colours and hands it to the browser as a file. */
function savePicture(source, name) {
  const copy = source.cloneNode(true), from = source.querySelectorAll("*"), to = copy.querySelectorAll("*");
  to.forEach((node, i) => {
    const style = getComputedStyle(from[i]);
    for (const key of ["fill", "stroke", "stroke-width", "opacity", "font-size", "font-family", "fill-opacity"]) node.style.setProperty(key, style.getPropertyValue(key));
  });
  const width = source.clientWidth, height = source.clientHeight;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const image = new Image();
  image.onload = () => {
    const canvas = el("canvas", { width: width * 2, height: height * 2 }), paint = canvas.getContext("2d");
    paint.fillStyle = getComputedStyle(document.body).getPropertyValue("--card");
    paint.fillRect(0, 0, width * 2, height * 2);
    paint.drawImage(image, 0, 0, width * 2, height * 2);
    el("a", { download: name, href: canvas.toDataURL("image/png") }).click();
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
}
</script>
)js"sv;

inline constexpr std::string_view page_detail = R"js(<script>
"use strict";
/* ---- One range: levels of memory, kernels ---- */
function levelsOf(row) {
  const m = key => metric(row, key);
  const both = key => [m(key + "_per_second"), m(key.replace("_bytes", "_of_peak"))];
  const fromSm = none(m("l2_from_sm_sectors")) ? null : 32 * m("l2_from_sm_sectors");
  return [
    { box: "SM", lines: [["occupancy", percent(m("achieved_occupancy"))], ["FLOP", none(m("flop")) && none(m("tensor_flop")) ? "" : count((m("flop") || 0) + (m("tensor_flop") || 0))], ["issue rate", percent(m("issue_rate"))]] },
    { arrow: [["", none(m("l1_data_bytes")) ? m("l1_bytes") : m("l1_data_bytes")]], rates: both("l1_bytes") },
    { box: "L1", lines: [["hits", percent(m("l1_hit_rate"))], ["sectors a load", none(m("l1_sectors_per_load")) ? "" : digits(m("l1_sectors_per_load"))]] },
    { arrow: none(fromSm) ? [["", m("l2_bytes")]] : [["from SMs", fromSm], ["all", m("l2_bytes")]], rates: both("l2_bytes") },
    { box: "L2", lines: [["hits", percent(m("l2_hit_rate") ?? m("l2_request_hit_rate"))]] },
    { arrow: none(m("hbm_read_bytes")) ? [["", m("hbm_bytes")]] : [["read", m("hbm_read_bytes")], ["written", m("hbm_write_bytes")]], rates: both("hbm_bytes") },
    { box: "HBM", lines: [["moved", bytes(m("hbm_bytes"))]] },
  ];
}
function drawLevels(box, width, row) {
  const levels = levelsOf(row), upright = width < 640;
  const boxWide = upright ? 150 : Math.min(150, width * .15), boxHigh = upright ? 80 : 86, gap = upright ? 74 : (width - 4 * boxWide) / 3;
  const height = upright ? 4 * boxHigh + 3 * gap : boxHigh + 50;
  const drawing = sv("svg", { width, height, id: "levels-figure", role: "img", "aria-label": "Bytes between SM, L1, L2 and HBM in " + row.path + ". The numbers are in the table below." });
  let at = 0;
  for (const level of levels) {
    if (level.box) {
      const x = upright ? 0 : at, y = upright ? at : 25;
      drawing.append(sv("rect", { x: x + 1, y: y + 1, width: boxWide - 2, height: boxHigh - 2, rx: 8, class: "box" }), sv("text", { x: x + boxWide / 2, y: y + 22, "text-anchor": "middle", "font-weight": 650 }, level.box));
      level.lines.filter(([, v]) => v).forEach(([name, v], i) => drawing.append(sv("text", { x: x + boxWide / 2, y: y + 42 + 16 * i, "text-anchor": "middle", class: "soft" }, name + " " + v)));
      at += upright ? boxHigh : boxWide;
      continue;
    }
    const share = level.rates[1], wide = 2 + 12 * Math.min(1, (share || 0) / 100), known = level.arrow.some(([, v]) => !none(v));
    const texts = [...level.arrow.filter(([, v]) => !none(v)).map(([name, v]) => (bytes(v) + " " + name).trim()), ...(none(level.rates[0]) ? [] : [rate("B/s")(level.rates[0])]), ...(none(share) ? [] : [percent(share) + " of peak"])];
    const from = at + 6, to = at + gap - 6, middle = 25 + boxHigh / 2, half = wide / 2 + 5;
    const paint = { fill: "none", stroke: known ? (share >= 60 ? "var(--c3)" : "var(--c0)") : "var(--rest)", "stroke-width": wide, "stroke-dasharray": known ? undefined : "4 4" };
    const head = (tip, sign) => upright ? [boxWide / 2, tip, boxWide / 2 - half, tip - sign * 9, boxWide / 2 + half, tip - sign * 9] : [tip, middle, tip - sign * 9, middle - half, tip - sign * 9, middle + half];
    drawing.append(upright ? sv("line", { x1: boxWide / 2, x2: boxWide / 2, y1: from + 8, y2: to - 8, ...paint }) : sv("line", { x1: from + 8, x2: to - 8, y1: middle, y2: middle, ...paint }),
      sv("polygon", { points: head(from, -1).join(" "), fill: paint.stroke }), sv("polygon", { points: head(to, 1).join(" "), fill: paint.stroke }));
    texts.forEach((text, i) => drawing.append(upright ? sv("text", { x: boxWide / 2 + 18, y: from + 16 + 15 * i }, text)
      : sv("text", { x: (from + to) / 2, y: i < level.arrow.length ? middle - half - 5 - 15 * (level.arrow.length - 1 - i) : middle + half + 14 + 15 * (i - level.arrow.length), "text-anchor": "middle" }, text)));
    if (!known) drawing.append(sv("text", upright ? { x: boxWide / 2 + 18, y: from + 30, class: "soft" } : { x: (from + to) / 2, y: middle - 12, "text-anchor": "middle", class: "soft" }, "not counted"));
    at += gap;
  }
  box.replaceChildren(drawing);
}

const kernelRows = data.kernels.rows.map(cells => Object.fromEntries(data.kernel_columns.map((column, i) => [column, cells[i]])));
function within(place, top) {
  for (let row = folded.rows[place]; row; row = folded.rows[row.parent]) if (row.place === top) return true;
  return false;
}
/* A histogram of time: bars with a label below each. */
function histogram(box, width, bins, caption) {
  const height = 170, left = 4, bottom = 34, top = 18, wide = (width - left) / bins.length, most = Math.max(...bins.map(b => b.value), 1e-9), total = sum(bins, b => b.value);
  const drawing = sv("svg", { width, height, role: "img", "aria-label": caption });
  bins.forEach((bin, i) => {
    const high = (height - bottom - top) * bin.value / most, x = left + i * wide;
    drawing.append(sv("rect", { x: x + 1, y: height - bottom - high, width: Math.max(1, wide - 2), height: high, fill: "var(--c0)", "data-value": bin.value, ...hinted(bin.label + ": " + time(bin.value) + " a " + unit) }));
    if (bin.value > 0 && wide > 26) drawing.append(sv("text", { x: x + wide / 2, y: height - bottom - high - 4, "text-anchor": "middle", class: "soft" }, (100 * bin.value / total).toFixed(0) + " %"));
    if (wide > 30 || i % Math.ceil(34 / wide) === 0) drawing.append(sv("text", { x: x + wide / 2, y: height - bottom + 15, "text-anchor": "middle", class: "soft" }, bin.short));
  });
  drawing.append(sv("line", { x1: left, x2: width, y1: height - bottom, y2: height - bottom, class: "axis" }), sv("text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, caption));
  box.replaceChildren(drawing);
}
function fillBins(list) {
  const bins = Array.from({ length: 10 }, (_, i) => ({ label: i * 10 + " to " + (i + 1) * 10 + " % of the GPU", short: String(i * 10 + 10), value: 0 }));
  list.forEach(k => { if (!none(k.gpu)) bins[Math.min(9, Math.floor(k.gpu * 10))].value += k.total_ns / summary.count; });
  return bins;
}
function gridBins(list) {
  const top = Math.max(1, ...list.map(k => Math.floor(Math.log2(Math.max(1, k.blocks_median)))));
  const bins = Array.from({ length: top + 1 }, (_, i) => ({ label: count(2 ** i) + " to " + count(2 ** (i + 1) - 1) + " blocks", short: count(2 ** i), value: 0 }));
  list.forEach(k => { bins[Math.floor(Math.log2(Math.max(1, k.blocks_median)))].value += k.total_ns / summary.count; });
  return bins;
}
function oneRange() {
  const counted = ["hbm_bytes", "l2_bytes", "l1_data_bytes", "l1_bytes"].some(key => metricAt.has(key));
  if (!kernelRows.length && !folded.metrics.length) return;
  const first = folded.rows.filter(r => r.depth).sort((a, b) => (b.busy_ns || b.host_ns) - (a.busy_ns || a.host_ns) || a.place - b.place)[0];
  chosen = first ? first.place : 0;
  const select = el("select", { id: "range-chosen", onchange: e => choose(Number(e.target.value)) },
    folded.rows.slice(0, 400).map(row => el("option", { value: row.place }, "\u00a0".repeat(2 * Math.max(0, row.depth - 1)) + (row.depth ? row.label : "the whole run"))));
  const kernelsBox = el("div", {}), valuesBox = el("div", {}), heading = el("h3", { "aria-live": "polite" });
  const mine = () => kernelRows.filter(k => within(k.range, chosen));
  const levels = counted ? chart((box, width) => drawLevels(box, width, folded.rows[chosen]), 130) : null;
  const fill = kernelRows.some(k => !none(k.gpu)) ? chart((box, width) => histogram(box, width, fillBins(mine()), "% of the GPU that grids and blocks can fill, by time"), 170) : null;
  const grids = chart((box, width) => histogram(box, width, gridBins(mine()), "blocks of a launch, by time" + (new Set(data.devices.map(d => d.multiprocessors)).size === 1 ? "; the GPU has " + data.devices[0].multiprocessors + " SMs" : "")), 170);
  const redraw = () => {
    const row = folded.rows[chosen], list = mine();
    select.value = chosen;
    heading.textContent = row.depth ? row.path : "The whole run";
    for (const each of [levels, fill, grids]) if (each) each.redraw();
    const total = sum(list, k => k.total_ns);
    const merged = new Map();
    list.forEach(k => {
      const key = k.name + "\n" + k.whole, to = merged.get(key);
      if (!to) return merged.set(key, { ...k, ranges: new Set([k.range]) });
      to.gpu = none(to.gpu) || none(k.gpu) ? null : (to.gpu * to.total_ns + k.gpu * k.total_ns) / (to.total_ns + k.total_ns || 1);
      to.count += k.count; to.total_ns += k.total_ns; to.ranges.add(k.range);
      to.max_ns = Math.max(to.max_ns, k.max_ns); to.min_ns = Math.min(to.min_ns, k.min_ns);
      to.blocks_min = Math.min(to.blocks_min, k.blocks_min); to.blocks_max = Math.max(to.blocks_max, k.blocks_max);
    });
    const kernels = [...merged.values()].sort((a, b) => b.total_ns - a.total_ns).slice(0, 200);
    kernelsBox.replaceChildren(!kernelRows.length ? "" : list.length ? table("Kernels of the range", [{ label: "Kernel", get: k => k.name, hint: k => k.whole, text: true }, { label: "Launches", get: k => count(k.count / summary.count) },
      { label: "Time", get: k => time(k.total_ns / summary.count) }, { label: "% of range", title: "of the kernels' time of the range", get: k => percent(100 * k.total_ns / (total || 1)) }, { label: "Mean", get: k => time(k.total_ns / (k.count || 1)) }, { label: "GPU fill", get: k => none(k.gpu) ? "" : percent(100 * k.gpu) },
      { label: "Blocks", title: "of a grid", get: k => k.blocks_min === k.blocks_max ? count(k.blocks_min) : count(k.blocks_min) + " to " + count(k.blocks_max) }, { label: "Threads", title: "of a block", get: k => count(k.threads) }, { label: "Registers", title: "of a thread", get: k => count(k.registers) },
      { label: "Shared", title: "shared memory of a block", get: k => bytes(k.static_shared + k.dynamic_shared) }, { label: "Longest", get: k => time(k.max_ns) }, { label: "Range", get: k => k.ranges.size > 1 ? k.ranges.size + " ranges" : titleOf(k.range), text: true }], kernels)
      : el("p", {}, "This range launched no kernel."));
    const values = folded.metrics.filter(m => !none(metric(row, m.key))), open = !counted && !kernelRows.length || Boolean(valuesBox.querySelector("details[open]"));
    valuesBox.replaceChildren(values.length ? numbers("All counted values of " + (row.depth ? row.path : "the run") + ", of a " + unit, () => table("Counted values", [{ label: "Metric", get: m => m.key, text: true }, { label: "Value", get: m => inUnit(m.unit)(isSum(m) ? perStep(row, metric(row, m.key)) : metric(row, m.key)) }, { label: "Level", get: m => m.level, text: true },
      { label: "Meaning", get: m => m.meaning, text: true }], values), open) : folded.metrics.length ? el("p", {}, "Nothing was counted in this range.") : "");
    for (const box of [fill, grids]) if (box && box.parentNode) box.parentNode.hidden = !list.length;
  };
  section("range", kernelRows.length ? "One range: memory and kernels" : "One range: counted values", null, el("div", { class: "controls" }, el("label", {}, "Range", select)), heading,
    counted ? [el("p", { class: "about" }, "Bytes of a step between the levels of memory. An arrow is as thick as the share of the peak. Occupancy: warps on the SMs, of those that fit. Issue rate: cycles in which a warp issued. Hits: what was found in that level."), levels] : data.traced ? el("p", { class: "about" }, "counters=memory+roofline adds the picture of bytes, hit rates and shares of peaks from SM to HBM.") : null, valuesBox,
    kernelRows.length ? [el("h3", {}, "Kernels"), el("p", { class: "about" }, "Launches and time are of a mean " + unit + ". GPU fill: how much of the SMs the sizes of grid and blocks can keep busy."), kernelsBox, data.kernels.total > kernelRows.length ? el("p", { class: "about" }, count(data.kernels.total - kernelRows.length) + " more rows of kernels, with " + time(data.kernels.rest_ns) + " of the run, are in kernels.csv.") : null,
      el("div", { class: "two" }, fill ? el("div", {}, el("h3", {}, "How much of the GPU they can fill"), fill, numbers("Numbers of this figure", () => table("Time by GPU fill", [{ label: "GPU fill", get: b => b.label, text: true }, { label: "Time", get: b => time(b.value) }], fillBins(mine())))) : null,
        el("div", {}, el("h3", {}, "Sizes of grids"), grids, numbers("Numbers of this figure", () => table("Time by blocks", [{ label: "Blocks", get: b => b.label, text: true }, { label: "Time", get: b => time(b.value) }], gridBins(mine())))))] : null);
  listeners.push(redraw);
  redraw();
}
</script>
)js"sv;

inline constexpr std::string_view page_time = R"js(<script>
"use strict";
/* ---- The timeline of one step ---- */
function timeline() {
  const windows = data.timeline.windows.filter(w => w.tracks.length).map(w => ({ ...w, tracks: w.tracks.map(t => {
    const bars = [];
    for (let i = 0; i + 4 < t.bars.length; i += 5) bars.push({ at: t.bars[i], length: t.bars[i + 1], label: data.timeline.labels[t.bars[i + 2]] || "", range: t.bars[i + 3], count: t.bars[i + 4] });
    return { ...t, bars };
  }) }));
  if (!windows.length) return;
  let shown = windows[0], from = 0, to = shown.length_ns, drawnBars = [];
  const canvas = el("canvas", { role: "img", id: "timeline-figure" }), note = el("p", { class: "about", role: "status" }), list = el("div", {});
  const high = 20, gap = 3;
  const figure = chart((box, width) => {
    if (canvas.parentNode !== box) box.replaceChildren(canvas);
    const left = width < 560 ? 84 : 190, known = new Map(), paint = name => { if (!known.has(name)) known.set(name, palette(name)); return known.get(name); };
    const height = shown.tracks.length * (high + gap) + 24, zoom = devicePixelRatio || 1;
    canvas.width = width * zoom; canvas.height = height * zoom;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
    const c = canvas.getContext("2d");
    c.scale(zoom, zoom);
    c.font = "12px system-ui, sans-serif"; c.textBaseline = "middle";
    const x = t => left + (t - from) / (to - from) * (width - left);
    c.fillStyle = paint("var(--soft)"); c.strokeStyle = paint("var(--grid)");
    const step = roundStep((to - from) / Math.max(2, (width - left) / 110));
    for (let t = Math.ceil(from / step) * step; t <= to && x(t) < width - 44; t += step) { c.fillText(time(Math.round(t)), x(t) + 3, 8); c.beginPath(); c.moveTo(x(t), 0); c.lineTo(x(t), height); c.stroke(); }
    drawnBars = [];
    const cut = (text, room) => { if (c.measureText(text).width <= room) return text; let n = Math.max(0, Math.floor(text.length * room / c.measureText(text).width) - 1); return n > 1 ? text.slice(0, n) + "\u2026" : ""; };
    shown.tracks.forEach((track, i) => {
      const y = 22 + i * (high + gap);
      const above = shown.tracks[i - 1], same = i > 0 && track.kind === "ranges" && above.kind === "ranges" && above.thread === track.thread;
      c.fillStyle = paint("var(--text)");
      if (!same) c.fillText(cut(track.name, left - 8), 0, y + high / 2);
      c.fillStyle = paint("var(--track)"); c.fillRect(left, y, width - left, high);
      c.save(); c.beginPath(); c.rect(left, y, width - left, high); c.clip();
      for (const bar of track.bars) {
        const x0 = x(bar.at), wide = Math.max(1, x(bar.at + bar.length) - x0);
        if (x0 + wide < left || x0 > width) continue;
        const fill = paint(track.kind === "calls" ? "var(--rest)" : color(bar.range));
        c.fillStyle = fill;
        c.globalAlpha = bar.count > 1 ? .6 : 1;
        c.fillRect(x0, y, Math.max(.6, wide - (wide > 3 ? .8 : 0)), high);
        c.globalAlpha = 1;
        drawnBars.push({ x0, x1: x0 + wide, y, track, bar });
        if (wide > 30 && bar.count === 1) { c.fillStyle = ink(fill); c.fillText(cut(bar.label, wide - 8), Math.max(x0, left) + 4, y + high / 2 + 1); }
      }
      c.restore();
    });
    canvas.setAttribute("data-bars", drawnBars.length);
    canvas.setAttribute("aria-label", "Timeline of " + title(shown) + ", from " + time(Math.round(from)) + " to " + time(Math.round(to)) + ", " + shown.tracks.length + " tracks. The longest bars are in the table below.");
    note.textContent = time(Math.round(to - from)) + " of " + time(shown.length_ns) + ". A paler bar joins neighbours that are too short to be seen at the whole length" + (shown.left_out ? "; " + some(shown.left_out, "record", "records") + " on further threads or streams " + (shown.left_out === 1 ? "is" : "are") + " left out" : "") + ". " + (data.trace_file ? data.trace_file + " has all." : "formats=html+trace writes all of it.");
  });
  const title = w => none(w.step) ? w.what : "step " + w.step + " (" + w.what + ", " + time(w.length_ns) + ")";
  const hit = e => { const r = canvas.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top; for (let i = drawnBars.length - 1; i >= 0; i--) { const d = drawnBars[i]; if (px >= d.x0 - 1 && px <= d.x1 + 1 && py >= d.y && py <= d.y + high) return d; } return null; };
  const show = (a, b) => { const size = Math.max(50, Math.min(shown.length_ns, b - a)); from = Math.max(0, Math.min(a, shown.length_ns - size)); to = from + size; figure.redraw(); };
  const scale = (factor, at) => { const middle = at === undefined ? (from + to) / 2 : at, size = (to - from) * factor; show(middle - (middle - from) * factor, middle - (middle - from) * factor + size); };
  const move = part => show(from + (to - from) * part, to + (to - from) * part);
  let drag = null;
  canvas.addEventListener("pointermove", e => {
    if (drag) { const t = (drag.x - e.clientX) / canvas.clientWidth * (drag.to - drag.from); if (Math.abs(drag.x - e.clientX) > 3) drag.moved = true; show(drag.from + t, drag.to + t); return; }
    const d = hit(e);
    tip(d ? (d.bar.count > 1 ? count(d.bar.count) + " bars, the longest: " : "") + d.bar.label + "\n" + titleOf(d.bar.range) + "\n" + time(d.bar.length) + " from " + time(d.bar.at) + "\n" + d.track.name : "", e.clientX, e.clientY);
  });
  canvas.addEventListener("pointerleave", () => { tip(""); drag = null; });
  canvas.addEventListener("pointerdown", e => { drag = { x: e.clientX, from, to }; });
  canvas.addEventListener("pointerup", e => { const d = drag && !drag.moved && hit(e); drag = null; if (d) choose(d.bar.range); });
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    const r = canvas.getBoundingClientRect(), left = r.width < 560 ? 84 : 190;
    scale(e.deltaY > 0 || e.deltaX > 0 ? 1.25 : .8, from + (to - from) * Math.max(0, e.clientX - r.left - left) / (r.width - left));
  }, { passive: false });
  const longest = () => list.replaceChildren(numbers("The longest bars of this step", () => table("Bars of the timeline", [{ label: "What", get: b => b.label, text: true }, { label: "Track", get: b => b.track, text: true }, { label: "Range", get: b => titleOf(b.range), text: true },
    { label: "From", get: b => time(b.at) }, { label: "Length", get: b => time(b.length) }, { label: "Joined", get: b => count(b.count) }], shown.tracks.flatMap(t => t.bars.map(b => ({ ...b, track: t.name }))).sort((a, b) => b.length - a.length || a.at - b.at).slice(0, 200))));
  const button = (text, name, act) => el("button", { type: "button", "aria-label": name, onclick: act }, text);
  section("timeline", "Timeline", hasSteps ? "What threads and streams did in one step. Ctrl and the wheel zoom, dragging moves." : "What threads and streams did in the run. Ctrl and the wheel zoom, dragging moves.",
    el("div", { class: "controls" }, windows.length > 1 ? picker("Show", windows.map((w, i) => [i, title(w)]), v => { shown = windows[v]; from = 0; to = shown.length_ns; longest(); figure.redraw(); }) : null,
      button("+", "Zoom in", () => scale(.5)), button("\u2212", "Zoom out", () => scale(2)), button("\u25c2", "Earlier", () => move(-.5)), button("\u25b8", "Later", () => move(.5)), button("All", "Show all of it", () => show(0, shown.length_ns))),
    figure, note, list);
  redrawOnTheme.push(() => figure.redraw());
  longest();
}
/* ---- Memory ---- */
function memory() {
  const m = data.memory;
  if (!m) return;
  let by = "by_range";
  const legend = el("ul", { class: "legend", "aria-label": "Parts of the figure" }), box = el("div", {});
  const names = set => [...set.series.map(s => typeof s === "number" ? shortTitle(s) : s.replace(/_/g, " ")), ...(set.others ? [some(set.others, "other")] : [])];
  const paint = (set, i) => i >= set.series.length ? "var(--rest)" : typeof set.series[i] === "number" ? color(set.series[i]) : "var(--c" + i % 10 + ")";
  const figure = chart((target, width) => {
    const set = m[by], height = 240, left = 74, right = 10, top = 16, bottom = 26, all = names(set);
    const most = Math.max(1, ...set.points.map(p => sum(p.slice(1), v => v))), x = t => left + t / (data.end_ns || 1) * (width - left - right), y = v => height - bottom - v / most * (height - top - bottom);
    const drawing = sv("svg", { width, height, id: "memory-figure", role: "img", "aria-label": "Memory in use over the run, " + ({ by_range: "by the range that allocated it", by_purpose: "by purpose", by_kind: "by kind" })[by] + ". The numbers are in the table below." });
    for (let i = 0; i <= 4; i++) drawing.append(sv("line", { x1: left, x2: width - right, y1: y(most * i / 4), y2: y(most * i / 4), class: "grid" }), sv("text", { x: left - 6, y: y(most * i / 4) + 4, "text-anchor": "end", class: "soft" }, bytes(Math.round(most * i / 4))));
    for (let i = 0; i <= (width < 500 ? 2 : 5); i++) { const t = data.end_ns * i / (width < 500 ? 2 : 5); drawing.append(sv("text", { x: x(t), y: height - 8, "text-anchor": i === 0 ? "start" : t === data.end_ns ? "end" : "middle", class: "soft" }, time(Math.round(t)))); }
    const base = set.points.map(() => 0);
    all.forEach((name, s) => {
      const upper = set.points.map((p, i) => base[i] + Math.max(0, p[s + 1] || 0));
      const line = (values, back) => { const out = []; values.forEach((v, i) => { const at = set.points[i][0]; if (i) out.push(x(at) + "," + y(values[i - 1])); out.push(x(at) + "," + y(v)); }); return back ? out.reverse() : out; };
      drawing.append(sv("polygon", { points: [...line(upper), ...line(base, true)].join(" "), fill: paint(set, s), "fill-opacity": .85, ...hinted(name + "\npeak " + bytes(Math.max(...set.points.map(p => p[s + 1] || 0)))) }));
      upper.forEach((v, i) => { base[i] = v; });
    });
    if (by !== "by_kind" && m.peak_bytes > 0 && m.peak_bytes <= most * 1.001) drawing.append(sv("line", { x1: x(m.peak_at_ns), x2: x(m.peak_at_ns), y1: top - 4, y2: height - bottom, class: "axis", "stroke-dasharray": "3 3" }),
      sv("text", { x: Math.min(width - right - 110, Math.max(left, x(m.peak_at_ns) + 4)), y: top - 4 }, "peak " + bytes(m.peak_bytes)));
    target.replaceChildren(drawing);
    legend.replaceChildren(...all.map((name, s) => el("li", {}, el("button", { type: "button", onclick: () => { if (typeof set.series[s] === "number") choose(set.series[s]); } }, el("i", { style: "background:" + paint(set, s) }), name))));
    box.replaceChildren(numbers("Numbers of this figure", () => table("Memory over time", [{ label: "Time", get: p => time(p[0]), text: true }, ...all.map((name, s) => ({ label: name, get: p => bytes(p[s + 1] || 0) }))], set.points)));
  }, 240);
  const totals = m.totals.map(([range, kind, n, size, liveN, liveSize, stepN, stepSize, firstN]) => ({ range, kind, n, size, liveN, liveSize, stepN, stepSize, firstN }));
  const per = m.steps ? "step" : "run", live = totals.filter(t => t.liveN > 0), inSteps = totals.filter(t => t.stepN > t.firstN).sort((a, b) => b.stepN - a.stepN || a.range - b.range);
  const where = { label: "Range", get: t => t.range ? titleOf(t.range) : "(outside ranges)", text: true }, kind = { label: "Kind", get: t => t.kind.replace(/_/g, " "), text: true };
  section("memory", "Memory", some(m.allocations, "allocation") + "; at most " + bytes(m.peak_bytes) + " of device memory at one time" + (m.older ? "; " + some(m.older, "release") + " of what was allocated before" : "") + ".",
    el("div", { class: "controls" }, picker("Parts", [["by_range", "by range, device memory"], ...(m.by_purpose ? [["by_purpose", "by purpose, device memory"]] : []), ["by_kind", "by kind, pinned memory too"]], v => { by = v; figure.redraw(); })), figure, legend, box,
    m.purposes ? [el("h3", {}, "By purpose"), table("Device memory by purpose", [{ label: "Purpose", get: p => p[0], text: true }, { label: "Allocated a " + per, get: p => bytes(p[1] / (m.steps || 1)) }, { label: "Released a " + per, get: p => bytes(p[2] / (m.steps || 1)) },
      { label: "Live at the end", get: p => bytes(p[3]) }, { label: "Its peak", get: p => bytes(p[4]) }, { label: "At the peak of all", get: p => bytes(p[5]) }, { label: "% of that", get: p => percent(100 * p[5] / (m.peak_bytes || 1)) }], m.purposes)] : null,
    el("div", { class: "two" },
      el("div", {}, el("h3", {}, "Not released at the end"), live.length ? table("Memory that was not released", [where, kind, { label: "Allocations", get: t => count(t.liveN) }, { label: "Bytes", get: t => bytes(t.liveSize) }], live) : el("p", {}, "Everything that was allocated was released.")),
      hasSteps ? el("div", {}, el("h3", {}, "Allocated in steps after the first"), inSteps.length ? table("Allocations in steps", [where, kind, { label: "Allocations a step", get: t => count((t.stepN - t.firstN) / Math.max(1, m.steps - 1)) }, { label: "Bytes in steps", get: t => bytes(t.stepSize) }], inSteps) : el("p", {}, "No step but the first allocated memory.")) : null),
    m.left_out ? el("p", { class: "about" }, count(m.left_out) + " more ranges are in memory.csv.") : null);
}

/* ---- The page ---- */
for (const part of [headline, findings, doubts, ranges, shares, roofline, oneRange, timeline, memory, environment, themeButton]) part();
if (chosen) choose(chosen, true);
if (/^#row-\d+$/.test(location.hash)) showRow(Number(location.hash.slice(5)));
addEventListener("hashchange", () => { if (/^#row-\d+$/.test(location.hash)) showRow(Number(location.hash.slice(5))); });
</script>
</body>
</html>
)js"sv;

/// Behind the data of a run.
inline constexpr std::string_view page_tail[] = {page_core,   page_model,  page_findings,
                                                 page_ranges, page_shares, page_roofline,
                                                 page_detail, page_time};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_HTML_CHARTS_HPP
