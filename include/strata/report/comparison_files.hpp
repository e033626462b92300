#include <strata/version.hpp>
#ifndef STRATA_REPORT_COMPARISON_FILES_HPP
#define STRATA_REPORT_COMPARISON_FILES_HPP

#include <strata/analyse/comparison.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/html_shell.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Compared runs as JSON, and as a page: the shell of report.html, and sections of its own.

STRATA_BEGIN

/// Of the JSON: members may be added within a version; a change of meaning makes a new one.
inline constexpr int comparison_schema_version = 1;

namespace detail {

/// Writes a comparison as JSON: of each list of ranges the first `most` and those that are slower.
class comparison_json {
 public:
  comparison_json(text_writer& out, comparison const& c, compare_options const& options,
                  std::size_t most, bool rounds)
      : json_(out, rounds), c_(c), options_(options), most_(most) {
    for (compared_range const& range : c_.ranges)
      for (compared_column const& column : range.columns)
        if (places_.find(column.name) == nullptr) {
          places_[column.name] = static_cast<std::uint32_t>(columns_.size());
          columns_.push_back(&column);
        }
  }

  void write() {
    json_.object();
    json_.line();
    json_.object("schema");
    json_.text("name", "strata.comparison");
    count("version", comparison_schema_version);
    json_.text("strata", version_text());
    json_.end_object();
    json_.line();
    json_.text("verdict", to_string(c_.verdict));
    json_.text("reason", c_.reason);
    json_.line();
    write_texts("notes", c_.notes);
    json_.line();
    json_.object("options");
    json_.number("limit", options_.limit);
    json_.number("least_share", options_.least_share);
    json_.number("run_noise", options_.run_noise);
    json_.boolean("anyway", options_.anyway);
    json_.end_object();
    write_step();
    json_.line();
    count("judged_times", c_.judged_times);
    count("noisy_times", c_.noisy_times);
    json_.number("geometric_mean", c_.geometric_mean);
    json_.line();
    json_.object("totals");
    count("ranges", c_.ranges.size());
    count("indexed", c_.indexed.size());
    count("only_before", c_.only_before.size());
    count("only_after", c_.only_after.size());
    json_.end_object();
    write_runs();
    write_ranges("ranges", c_.ranges, true);
    write_ranges("indexed", c_.indexed, false);
    json_.line();
    write_texts("only_before", c_.only_before);
    json_.line();
    write_texts("only_after", c_.only_after);
    json_.line();
    json_.end_object();
  }

 private:
  void count(char const* key, std::size_t number) { json_.whole(key, number, false); }
  void write_texts(char const* key, vec<std::string> const& texts) {
    json_.array(key);
    for (std::size_t i = 0; i < smaller(texts.size(), most_); ++i) json_.text({}, texts[i]);
    json_.end_array();
  }

  void write_step() {
    json_.line();
    json_.object("step");
    count("before_runs", c_.before_runs);
    count("after_runs", c_.after_runs);
    count("before_steps", c_.before_steps);
    count("after_steps", c_.after_steps);
    json_.number("before_ms", c_.before_ms);
    json_.number("after_ms", c_.after_ms);
    json_.number("change", c_.change);
    json_.number("noise", c_.noise);
    json_.boolean("runs_known", c_.runs_known);
    json_.number("resolution", c_.resolution);
    json_.number("chance", c_.chance);
    json_.number("common", c_.common);
    count("steps_to_decide", c_.steps_to_decide);
    count("runs_to_decide", c_.runs_to_decide);
    json_.end_object();
  }

  /// Each with the times of its steps, evenly thinned to a few hundred.
  void write_runs() {
    constexpr std::size_t most_steps = 500;
    json_.line();
    json_.array("runs");
    for (compared_run const& run : c_.runs) {
      json_.line();
      json_.object();
      json_.text("side", run.after ? "after" : "before");
      json_.text("command", run.command);
      json_.text("settings", run.settings);
      json_.text("host", run.host);
      json_.text("cpu", run.cpu);
      json_.text("devices", run.devices);
      json_.text("started_at", run.started_at);
      count("steps", run.steps_ms.size());
      json_.array("steps_ms");
      std::size_t const shown = smaller(run.steps_ms.size(), most_steps);
      for (std::size_t i = 0; i < shown; ++i)
        json_.number({}, run.steps_ms[i * run.steps_ms.size() / shown]);
      json_.end_array();
      json_.end_object();
    }
    json_.end_array();
  }

  void write_ranges(char const* key, vec<compared_range> const& all, bool with_columns) {
    if (with_columns) {
      json_.line();
      json_.array("columns");
      for (compared_column const* const column : columns_) {
        json_.object();
        json_.text("name", column->name);
        json_.text("unit", column->unit);
        json_.end_object();
      }
      json_.end_array();
    }
    json_.line();
    json_.array(key);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i < most_ || all[i].slower) write_range(all[i], with_columns);
    json_.end_array();
  }

  void write_range(compared_range const& each, bool with_columns) {
    bool const judged = each.verdict != range_verdict::unjudged;
    auto const number = [&](char const* key, double value) {
      judged ? json_.number(key, value) : json_.absent(key);
    };
    json_.line();
    json_.object();
    json_.text("path", each.path);
    json_.text("verdict", to_string(each.verdict));
    json_.boolean("slower", each.slower);
    json_.text("time", each.gpu ? "gpu" : "host");
    if (each.once) json_.boolean("once", true);
    json_.number("before_ms", each.before_ms);
    json_.number("after_ms", each.after_ms);
    judged ? json_.text("judged_by", each.judged_gpu ? "gpu" : "host") : json_.absent("judged_by");
    number("judged_before_ms", each.judged_before_ms);
    number("judged_after_ms", each.judged_after_ms);
    number("change", each.change);
    number("noise", each.noise);
    json_.number("share", each.share);
    count("steps_to_decide", each.steps_to_decide);
    if (with_columns) {
      vec<compared_column const*> known(columns_.size());
      for (compared_column const& column : each.columns)
        known[*places_.find(column.name)] = &column;
      for (bool const after : {false, true}) {
        json_.array(after ? "columns_after" : "columns_before");
        for (compared_column const* const column : known)
          column == nullptr ? json_.absent({})
                            : json_.number({}, after ? column->after : column->before);
        json_.end_array();
      }
    }
    json_.end_object();
  }

  json_writer json_;
  comparison const& c_;
  compare_options const& options_;
  std::size_t most_;
  vec<compared_column const*> columns_;  // each that a range has
  flat_map<std::string, std::uint32_t> places_;
};

}  // namespace detail

/// All of a comparison as JSON. Times are milliseconds a step, changes and shares fractions.
inline void write_comparison_json(detail::text_writer& out, comparison const& c,
                                  compare_options const& options) {
  detail::comparison_json(out, c, options, ~std::size_t{0}, false).write();
  out.put('\n');
}

namespace detail {

using std::string_view_literals::operator""sv;  // g++ counts the characters of others one by one

/// Its data are those of the JSON.
inline constexpr std::string_view page_comparison = R"js(<script>
"use strict";
/* ---- What was compared ---- */
const step = data.step, hasSteps = step.before_steps > 0 && step.after_steps > 0, unit = hasSteps ? "step" : "run";
const sides = ["before", "after"], runsOf = side => data.runs.filter(r => r.side === side);
const ms = v => none(v) ? "" : time(v * 1e6);
const signed = (v, show) => (v === 0 ? "" : v < 0 ? "\u2212" : "+") + show(Math.abs(v));
const factor = v => none(v) ? "" : v >= 100 ? digits(v) : v >= 10 ? v.toFixed(1) : v >= .0995 ? v.toFixed(3) : v > 0 ? Number(v.toPrecision(3)).toString() : "0";
const ratio = (before, after) => before > 0 ? after / before : null;
const sentence = text => text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "";
/* Noise is a standard deviation of the logarithm; 95 of 100 lie within 1.96 of them. */
const interval = (change, noise) => [-1.96, 1.96].map(z => Math.exp(Math.log1p(change) + z * noise));
const between = ends => factor(ends[0]) + " to " + factor(ends[1]);
const faster = f => f <= .5 ? factor(1 / f) + " times as fast" : f < 1 ? percent(100 * (1 - f)) + " shorter" : f === 1 ? "as long as before" : f < 2 ? percent(100 * (f - 1)) + " longer" : factor(f) + " times as long";
const program = ((data.runs[0] || {}).command || "").split(" ")[0].split("/").pop() || "program";

/* A range with the time that was judged; of one that was not, the other. */
const read = r => {
  const judged = r.verdict !== "unjudged";
  const row = { ...r, judged, by: (judged ? r.judged_by : r.time) === "gpu" ? "GPU" : "host", was: judged ? r.judged_before_ms : r.before_ms, now: judged ? r.judged_after_ms : r.after_ms };
  row.delta = row.now - row.was;
  row.factor = judged ? 1 + r.change : ratio(row.was, row.now);
  row.ends = judged ? interval(r.change, r.noise) : null;
  row.said = r.slower ? "slower" : r.verdict === "within" ? (row.ends[1] < 1 / (1 + data.options.limit) ? "faster" : "within the limit") : judged ? r.verdict : "not judged";
  row.title = r.path + " (" + row.by + (r.once ? ", once" : "") + ")";
  row.unit = r.once ? "run" : unit;
  row.values = data.columns.map((column, i) => r.columns_before ? { ...column, before: r.columns_before[i], after: r.columns_after[i] } : null).filter(v => v && !none(v.before));
  return row;
};
const ranges = data.ranges.map(read), indexed = data.indexed.map(read);
const inner = ranges.filter(r => !ranges.some(other => other.path.startsWith(r.path + "/")));
const leftOut = (name, shown) => data.totals[name] > shown ? " " + count(data.totals[name] - shown) + " more are in the JSON of compare --json." : "";

function headline() {
  const f = ratio(step.before_ms, step.after_ms), ends = interval(step.change, step.noise);
  document.title = program + " \u2013 two sides compared";
  byId("title").textContent = program + ", before and after";
  const first = sides.map(side => runsOf(side)[0] || {}), both = name => [...new Set(first.map(r => r[name]).filter(Boolean))].join(" / ");
  byId("where").textContent = [both("command"), both("devices"), both("host"), both("settings") && "STRATA=" + both("settings")].filter(Boolean).join(" \u00b7 ");
  const noisy = step.noise > 0 && ends[0] <= 1 && ends[1] >= 1;
  const text = hasSteps ? "The step went from " + ms(step.before_ms) + " to " + ms(step.after_ms) + ": it is " + faster(f) + (noisy ? ", which its noise can do" : "") + "." : "There are no steps on both sides: times are of the whole run.";
  const tiles = [], tile = (name, value, note, small) => tiles.push(el("div", { class: "tile" }, el("dt", {}, name), el("dd", { class: small && "small" }, value), note ? el("dd", { class: "note" }, note) : null));
  tile("Verdict", sentence(data.verdict).replace(".", ""), "limit: " + percent(100 * data.options.limit) + " slower", true);
  if (hasSteps) {
    const of = side => "median of " + some(step[side + "_steps"], "step") + " in " + some(step[side + "_runs"], "run");
    tile("Step before", ms(step.before_ms), of("before"));
    tile("Step after", ms(step.after_ms), of("after"));
    tile("Factor (after / before)", factor(f), step.noise > 0 ? "95 % interval " + between(ends) + ", noise " + (step.runs_known ? "with that between runs" : "within the runs only") : null);
  }
  if (data.geometric_mean > 0) tile("Factor of the ranges", factor(data.geometric_mean), "geometric mean of " + some(ranges.length, "range"));
  const most = inner.length && Math.abs(inner[0].delta) > 0 ? inner[0] : null;
  byId("main").append(el("section", { id: "headline", "aria-label": "Headline" }, el("p", { class: "answer" }, text),
    el("p", {}, sentence(data.verdict + ": " + data.reason)),
    most ? el("p", {}, "What changed most: ", toRange(most), ", " + signed(most.delta, ms) + " a " + most.unit + (most.factor > 0 ? " (factor " + factor(most.factor) + ")" : "") + ".") : null, el("dl", { class: "tiles" }, tiles)));
}
const toRange = r => el("a", { href: "#range", onclick: () => choose(r.path) }, r.title);

function notes() {
  const alike = !data.notes.length && data.verdict !== "inconclusive";
  section("notes", "Comparability", alike ? "Machine, versions, settings and work of the runs are the same." : null, data.notes.map(text => el("p", { class: "notice" }, text)),
    data.noisy_times > 0 ? el("p", {}, count(data.noisy_times) + " of " + some(data.judged_times, "time") + " of ranges, host and GPU, are too noisy to show a slowdown of twice the limit." + (step.runs_known ? "" : " Several runs of each side show more.")) : null,
    step.resolution > 10 ? el("p", {}, "No slowdown is detectable (noise " + percent(100 * step.noise) + ").") : step.resolution > 0 ? el("p", {}, "Smallest detectable slowdown: " + percent(100 * step.resolution) + " (noise " + percent(100 * step.noise) + ").") : null);
}

/* ---- What changed most ---- */
const shorten = (text, room) => { let cut = text; while (cut.length > 1 && textWidth(cut) > room) cut = cut.slice(Math.max(1, Math.ceil(cut.length * .06))); return cut === text ? text : "\u2026" + cut.slice(1); };
function changes() {
  if (!ranges.length) return;
  let list = inner, most = 15;
  const figure = chart((box, width) => {
    const shown = list.slice(0, most), narrow = width < 620, line = narrow ? 40 : 25;
    const texts = shown.map(r => signed(r.delta, ms) + (r.factor > 0 ? "  \u00d7 " + factor(r.factor) : ""));
    const right = Math.max(0, ...texts.map(textWidth)) + 14, left = narrow ? 0 : Math.min(width * .42, Math.max(0, ...shown.map(r => textWidth(r.title))) + 12);
    const low = Math.min(0, ...shown.map(r => r.delta)), high = Math.max(0, ...shown.map(r => r.delta)), span = high - low || 1;
    const x = v => left + (v - low) / span * (width - left - right);
    const drawing = sv("svg", { width, height: shown.length * line + 4, id: "changes-figure", role: "group", "aria-label": "Change of time by range, milliseconds a " + unit });
    shown.forEach((r, i) => {
      const y = i * line + (narrow ? 18 : 4), text = r.title + "\n" + ms(r.was) + " before, " + ms(r.now) + " after\n" + texts[i] + (r.ends ? ", 95 % interval " + between(r.ends) : "") + "\n" + r.said;
      drawing.append(sv("text", narrow ? { x: 0, y: y - 5 } : { x: left - 8, y: y + 13, "text-anchor": "end" }, shorten(r.title, (narrow ? width : left) - 10)),
        sv("rect", { x: Math.min(x(0), x(r.delta)), y, width: Math.max(1, Math.abs(x(r.delta) - x(0))), height: 17, fill: r.delta > 0 ? "var(--c3)" : "var(--c2)", "fill-opacity": r.judged ? 1 : .55, "data-delta": r.delta,
          tabindex: "0", role: "button", "aria-label": text, ...hinted(text), ...pressed(() => choose(r.path, true)) }),
        sv("text", { x: Math.max(x(0), x(r.delta)) + 7, y: y + 13, class: "soft", "aria-hidden": "true" }, texts[i]), sv("line", { x1: x(0), x2: x(0), y1: y - 4, y2: y + 21, class: "axis" }));
    });
    box.replaceChildren(drawing);
    more.hidden = list.length <= most;
    more.textContent = "Show " + some(list.length - most, "more range");
  });
  const more = el("button", { type: "button", hidden: true, onclick: () => { most += 100; figure.redraw(); } });
  section("changes", "What changed most", "Milliseconds a " + unit + ", after less before: green is less time, red more. \u00d7: the factor, after / before. A paler bar was not judged: it is too small, or has few calls. A click shows all columns of the range."
    + (inner.length < ranges.length ? " A range has the time of those below it." : "") + (ranges.some(r => r.once) ? " Once: a range outside of steps, by the whole run." : ""),
    inner.length < ranges.length ? el("div", { class: "controls" }, picker("Ranges", [["inner", "the innermost"], ["all", "all"]], v => { list = v === "all" ? ranges : inner; figure.redraw(); })) : null, figure, more);
  redrawOnTheme.push(() => figure.redraw());
}

/* ---- The factors of every column ---- */
const important = ["gpu_busy_ns", "host_total_ns", "kernels", "launches", "launch_ns", "hbm_bytes", "l2_bytes", "l1_bytes", "global_load_bytes", "global_store_bytes", "instructions_executed", "flop", "tensor_flop"];
const place = name => (important.indexOf(name) + 1 || 99);
const valueOf = (r, name) => r.values.find(v => v.name === name);
const changed = v => v && (v.before > 0 ? Math.abs(v.after / v.before - 1) > .0005 : v.after > 0);
const differing = data.columns.filter(c => ranges.some(r => changed(valueOf(r, c.name)))).sort((a, b) => place(a.name) - place(b.name));
const shade = f => { const part = Math.min(28, Math.round(9 * Math.abs(Math.log2(f)))); return part > 0 ? "background:color-mix(in srgb, var(" + (f > 1 ? "--c1" : "--c0") + ") " + part + "%, transparent)" : null; };
const amount = (v, side) => inUnit(v.unit)(v[side]);
const heads = [
  { label: "Range", key: "title", text: true, get: r => r.title, show: r => el("button", { class: "pick", type: "button", onclick: () => choose(r.path, true) }, r.title) },
  { label: "Factor", key: "factor", get: r => r.factor, show: r => factor(r.factor), title: "after / before, of the judged time", shade: r => r.factor > 0 && shade(r.factor) },
  { label: "Change", key: "delta", get: r => Math.abs(r.delta), show: r => signed(r.delta, ms), title: "of the judged time a " + unit + ", after less before" },
  { label: "Verdict", key: "said", text: true, get: r => r.said },
  { label: "95 % interval", key: "ends", get: r => r.ends && r.ends[1] - r.ends[0], show: r => r.ends ? between(r.ends) : "", title: "of the factor, by the noise of calls, ranges and runs" },
  { label: "Before", key: "was", get: r => r.was, show: r => ms(r.was), title: "a " + unit },
  { label: "After", key: "now", get: r => r.now, show: r => ms(r.now), title: "a " + unit },
  ...differing.map(c => ({ label: c.name, key: c.name, get: r => { const v = valueOf(r, c.name); return v ? ratio(v.before, v.after) : null; },
    show: r => { const v = valueOf(r, c.name); return !v || v.before === 0 && v.after === 0 ? "" : v.before > 0 ? factor(v.after / v.before) : "new"; },
    title: "factor of " + c.name + ", after / before", hint: r => { const v = valueOf(r, c.name); return v && amount(v, "before") + " before, " + amount(v, "after") + " after"; }, shade: r => { const v = valueOf(r, c.name), f = v && ratio(v.before, v.after); return f > 0 && shade(f); } })),
];
const sorting = { key: "delta", most: 100 };
function drawFactors() {
  const by = heads.find(h => h.key === sorting.key), list = ranges.slice().sort((a, b) => by.text ? by.get(a).localeCompare(by.get(b)) : (by.get(b) ?? -1) - (by.get(a) ?? -1));
  byId("factor-rows").classList.toggle("tall", isTall(Math.min(list.length, sorting.most)));
  byId("factor-rows").replaceChildren(el("table", {},
    el("thead", {}, el("tr", {}, heads.map(h => el("th", { scope: "col", class: h.text && "text", title: h.title, "aria-sort": h === by ? (h.text ? "ascending" : "descending") : undefined },
      el("button", { type: "button", onclick: () => { sorting.key = h.key; drawFactors(); } }, h.label))))),
    el("tbody", {}, list.slice(0, sorting.most).map(r => el("tr", { class: r.path === chosen && "picked" }, heads.map((h, i) => i ? el("td", { class: h.text && "text", style: h.shade && h.shade(r) || null, title: h.hint && h.hint(r) }, h.show ? h.show(r) : h.get(r))
      : el("th", { scope: "row" }, el("div", { class: "name" }, h.show(r)))))))));
  fitColumns(byId("factor-rows"));
  byId("factor-more").hidden = list.length <= sorting.most;
  byId("factor-more").textContent = "Show " + some(list.length - sorting.most, "more range");
}
function factors() {
  if (!ranges.length) return;
  const same = data.columns.filter(c => !differing.includes(c) && ranges.some(r => { const v = valueOf(r, c.name); return v && v.before > 0; })).map(c => c.name);
  section("factors", "Factors of every column", "After / before, of a mean " + unit + "; the columns are those of ranges.csv and of the counters. A click on a heading sorts." + leftOut("ranges", ranges.length),
    el("div", { id: "factor-rows", class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of factors" }),
    el("button", { id: "factor-more", type: "button", hidden: true, onclick: () => { sorting.most += 1000; drawFactors(); } }),
    same.length ? el("p", { class: "about", style: "margin-top:.6rem" }, "The same in all ranges: " + same.join(", ") + ".") : null,
    indexed.length ? numbers("Each index by itself", () => table("Ranges with an index", [{ label: "Range", get: r => r.title, text: true }, { label: "Verdict", get: r => r.said, text: true }, { label: "Change", get: r => signed(r.delta, ms) }, { label: "Factor", get: r => factor(r.factor) },
      { label: "95 % interval", get: r => r.ends ? between(r.ends) : "" }, { label: "Before", get: r => ms(r.was) }, { label: "After", get: r => ms(r.now) }], indexed)) : null);
  fitting.observe(byId("factor-rows"));
  drawFactors();
}

/* ---- One range ---- */
let chosen = ranges.length ? ranges[0].path : null;
function choose(path, goes) {
  chosen = path;
  drawRange();
  drawFactors();
  if (goes) { byId("range").scrollIntoView(); byId("range-chosen").focus({ preventScroll: true }); }
}
function drawRange() {
  const r = ranges.find(each => each.path === chosen);
  byId("range-chosen").value = r.path;
  byId("range-time").textContent = "Judged by its " + r.by + " time: " + ms(r.was) + " before, " + ms(r.now) + " after a " + r.unit + ", factor " + factor(r.factor) + (r.ends ? " (95 % interval " + between(r.ends) + ")" : "") + "; " + r.said + "; " + percent(100 * r.share) + " of a step at most.";
  if (!r.judged) byId("range-time").textContent = "Not judged: it is too small, or has few calls. Its " + r.by + " time: " + ms(r.was) + " before, " + ms(r.now) + " after a " + r.unit + ".";
  byId("range-columns").replaceChildren(table("Columns of the range", [{ label: "Column", get: v => v.name, text: true }, { label: "Factor", get: v => v.before > 0 ? factor(v.after / v.before) : v.after > 0 ? "new" : "" },
    { label: "Before", get: v => amount(v, "before") }, { label: "After", get: v => amount(v, "after") }], r.values.filter(v => v.before !== 0 || v.after !== 0)));
}
function oneRange() {
  if (!ranges.length) return;
  section("range", "One range", "Each column that is not 0 on both sides, of a mean " + unit + ". What begins with first_step is of the first step; extremes, medians and deviations are of calls.",
    el("div", { class: "controls" }, el("label", {}, "Range", el("select", { id: "range-chosen", onchange: e => choose(e.target.value) }, ranges.map(r => el("option", { value: r.path }, r.title))))),
    el("p", { id: "range-time", role: "status" }), el("div", { id: "range-columns" }));
  drawRange();
}
function onlyOne() {
  const parts = sides.map(side => ({ side, paths: data["only_" + side] })).filter(part => part.paths.length);
  if (!parts.length) return;
  section("only", "On one side only", "Ranges that the other side does not have.", el("div", { class: "two" }, parts.map(part => el("div", {}, el("h3", {}, "Only " + part.side + ": " + some(data.totals["only_" + part.side], "range")),
    table("Ranges only " + part.side, [{ label: "Range", get: path => path, text: true }], part.paths, { class: "wraps" }), leftOut("only_" + part.side, part.paths.length)))));
}

/* ---- The runs and their steps ---- */
function runs() {
  const most = Math.max(0, ...data.runs.flatMap(r => r.steps_ms)), perRun = 22, name = (r, i) => r.side + (runsOf(r.side).length > 1 ? " " + (runsOf(r.side).indexOf(r) + 1) : "");
  const median = list => { const s = list.slice().sort((a, b) => a - b), n = s.length >> 1; return !s.length ? null : s.length % 2 ? s[n] : (s[n - 1] + s[n]) / 2; };
  const figure = most > 0 ? chart((box, width) => {
    const left = Math.max(...data.runs.map((r, i) => textWidth(name(r, i)))) + 14, right = 16, x = v => left + v / most * (width - left - right), bottom = data.runs.length * perRun + 6;
    const drawing = sv("svg", { width, height: bottom + 20, id: "steps-figure", role: "img", "aria-label": "The time of each step in milliseconds, a line for each run. The table below has their medians." });
    const step = roundStep(most / Math.max(2, (width - left) / 110));
    for (let v = 0; v <= most; v += step) drawing.append(sv("line", { x1: x(v), x2: x(v), y1: 0, y2: bottom, class: "grid" }),
      sv("text", { x: Math.min(x(v), width - textWidth(ms(v)) / 2), y: bottom + 14, class: "soft", "text-anchor": v === 0 ? "start" : "middle" }, ms(v)));
    data.runs.forEach((r, i) => {
      const y = i * perRun + perRun / 2 + 3, middle = median(r.steps_ms);
      drawing.append(sv("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, name(r, i)));
      r.steps_ms.forEach((v, n) => drawing.append(sv("circle", { cx: x(v), cy: y, r: 4, fill: r.side === "before" ? "var(--c0)" : "var(--c1)", "fill-opacity": .45, ...hinted(name(r, i) + "\n" + ms(v)) })));
      if (!none(middle)) drawing.append(sv("line", { x1: x(middle), x2: x(middle), y1: y - 8, y2: y + 8, class: "roof" }));
    });
    box.replaceChildren(drawing);
  }) : null;
  section("runs", "Runs and steps", most > 0 ? "Each point is a step, with milliseconds to the right; a stroke is the median. The first step of a run is not judged." : null, figure,
    table("Runs", [{ label: "Run", get: (r, i) => name(r), text: true }, { label: "Steps", get: r => count(r.steps) }, { label: "Median step", get: r => ms(median(r.steps_ms)) }, { label: "Shortest", get: r => r.steps ? ms(Math.min(...r.steps_ms)) : "" }, { label: "Longest", get: r => r.steps ? ms(Math.max(...r.steps_ms)) : "" },
      { label: "Started at", get: r => r.started_at, text: true }, { label: "Program", get: r => r.command, text: true }, { label: "GPU", get: r => r.devices || "none", text: true }, { label: "CPU", get: r => r.cpu, text: true }, { label: "Host", get: r => r.host, text: true }, { label: "STRATA=", get: r => r.settings, text: true }], data.runs));
  if (figure) redrawOnTheme.push(() => figure.redraw());
  byId("foot").textContent = "Strata " + data.schema.strata + ". This page needs no network; its numbers are those of compare --json.";
}
for (const part of [headline, notes, changes, factors, oneRange, onlyOne, runs, themeButton]) part();
</script>
</body>
</html>
)js"sv;

}  // namespace detail

/// A page of a comparison, as report.html is of a run: one file that needs no network. Of each list
/// of ranges it has the 300 that changed most and those that are slower.
inline void write_comparison_html(detail::text_writer& out, comparison const& c,
                                  compare_options const& options) {
  constexpr std::size_t most = 300;
  detail::write_page(out,
                     [&](detail::text_writer& json) {
                       detail::comparison_json(json, c, options, most, true).write();
                     },
                     {detail::page_core, detail::page_comparison});
}

STRATA_END

#endif  // STRATA_REPORT_COMPARISON_FILES_HPP
