"use strict";
// The verdict, the step, and whether the runs can be compared.

/** A verdict that the tile and the sentence of the step say all of. */
const isFine = data.verdict === "no regression";

/** What both sides have, or both values. */
function onBothSides(name) {
  const first = sides.map(side => runsOf(side)[0] || {});
  return [...new Set(first.map(run => run[name]).filter(Boolean))].join(" / ");
}

const stepSentence = () =>
  sentence(data.headline || "there are no steps on both sides: times are of the whole run");

function stepTiles() {
  if (!hasSteps) return [];
  const medianOf = side =>
    "median of " + some(step[side + "_steps"], "step") + " in " + some(step[side + "_runs"], "run")
    + (step[side + "_of_gpu"] ? ", as periods of the GPU" : "");
  const ends = between(interval(step.change, step.noise));
  const noise = step.runs_known ? "with that between runs" : "within the runs only";
  const tiles = [
    tile({name: "Step before", value: milliseconds(step.before_ms), note: medianOf("before")}),
    tile({name: "Step after", value: milliseconds(step.after_ms), note: medianOf("after")}),
  ];
  if (!step.comparable) return tiles;
  return [...tiles, tile({
    name: "Factor (after / before)",
    value: factor(ratio(step.before_ms, step.after_ms)),
    note: step.noise > 0 ? "95 % interval " + ends + ", noise " + noise : null,
  })];
}

function mostChanged() {
  const most = data.period.rows.find(row => row.changed);
  if (!most) return null;
  const link = el("a", {href: "#waterfall"}, most.label);
  return el("p", {}, "Changed most: ", link, ", " + milliseconds(most.before_ms) + " before and "
    + milliseconds(most.after_ms) + " after (means of a step).");
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
  const fix = step.runs_known ? "" : " Several runs of each side show more.";
  return el("p", {}, count(data.noisy_times) + " of " + some(data.judged_times, "time")
    + " of ranges, host and GPU, are too noisy to show a slowdown of twice the limit." + fix);
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
