"use strict";
// The first screen: the answer, what helps most, and tiles.

const program = data.environment.program || "program";

const deviceNames = [...new Set(data.devices.map(device => device.name))].map(name => {
  const same = data.devices.filter(device => device.name === name);
  const times = same.length > 1 ? same.length + " \u00d7 " : "";
  return times + name + " (" + same[0].multiprocessors + " SMs)";
});

/** Which steps the numbers of a mean step are of, said once. */
function setOfSteps() {
  if (!hasSteps) {
    const why = data.has_steps ? "no step was recorded" : "the program has no STRATA_STEP()";
    return "All numbers are of the whole run: " + why + ".";
  }
  const apart = summary.without_first
    ? ". The first one is in none of them"
    : "";
  const slowed = summary.usual_ns < summary.mean_ns
    ? " Recording slows them: the answer and what is predicted take a step as it is unrecorded, "
      + time(summary.usual_ns) + "."
    : "";
  const kind = slowed ? "recorded step" : "step";
  return "All numbers of a step are means of " + some(typicalCount, kind) + apart + "." + slowed;
}

function stepTiles() {
  if (!hasSteps) return [tile({name: "Recorded", value: time(summary.mean_ns)})];
  const unrecorded = summary.unrecorded_ns
    ? "; unrecorded " + time(summary.unrecorded_ns)
    : "";
  const spread = "median " + time(summary.p50_ns) + ", p95 " + time(summary.p95_ns) + unrecorded;
  const tiles = [tile({
    name: summary.period_of_gpu ? "Step, as a period of the GPU" : "Step time",
    value: time(summary.mean_ns),
    note: summary.count > 1 ? spread : null,
  })];
  if (summary.without_first) {
    const note = "apart: in no figure of a mean step";
    tiles.push(tile({name: "First step", value: time(summary.first_ns), note}));
  }
  return tiles;
}

/** Whether a GPU worked; its busy and idle time are in the budget. */
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

/** The peak of the device's memory, who held it, and what is never released. */
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

/** That no rule found a gain, and how many could not look for one; null where no GPU worked. */
function helpsNothing() {
  if (!(summary.gpu_busy_ns > 0)) return null;
  const blind = answer.undecided.length;
  const lack = blind ? "; " + some(blind, "rule lacks", "rules lack") + " data" : "";
  return el("p", {}, "No rule found anything that would shorten the " + unit + lack + ".");
}

/** The cause that gains most, its cure, and what the step becomes. */
function helpsMost() {
  const first = answer.findings.find(finding => finding.shortens_step);
  if (!first) return helpsNothing();
  const isLittle = first.gain_ns_per_step < 0.05 * summary.usual_ns;
  const intro = "What helps most" + (isLittle ? ", though little: " : ": ");
  return el("p", {}, intro, placesOf(first), sentence(first.title), " ", sentence(first.advice),
    " ", afterwards(first));
}

/** The first letters of a text. */
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
  tiles.push(...memoryTiles(), machineTile());
  byId("main").append(el("section", {id: "headline", "aria-label": "Headline"},
    answer.bound ? el("p", {class: "answer"}, sentence(answer.bound)) : null,
    largestPart(),
    helpsMost(),
    el("div", {class: "first"}, budget(), stepDots(), el("p", {class: "about"}, setOfSteps())),
    el("dl", {class: "tiles"}, tiles)));
}
