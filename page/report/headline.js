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
  const early = summary.early_steps
    ? " " + some(summary.early_steps, "step") + " before any recorded work of a GPU left out."
    : "";
  const means = "All numbers of a step are means of ";
  if (!isSlowed) return means + some(typicalCount, "step") + apart + "." + early;
  return means + some(typicalCount, "recorded step") + apart + ". Recording slows them: shares "
    + "of the step, findings and idle time are of one without it, whose idle time is an estimate, "
    + "all of it shortened alike; host times and the timeline are as recorded." + early;
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
  if (summary.between_ns > 0) {
    tiles.push(tile({
      name: "Period",
      value: time(summary.period_ns),
      note: "the step, and " + time(summary.between_ns) + " until the next one",
    }));
  }
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
    value: summary.times_lost ? "times lost" : data.traced ? "no work" : "not traced",
    note: summary.times_lost
      ? "see what was lost"
      : data.traced ? "nothing ran on the device" : hostNote,
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

/** What the ranges declare of a step, as parts of what the GPU could do in it. */
function declaredTiles() {
  const tiles = [];
  if (!none(summary.mbu)) {
    const peak = rate("B/s")(summary.mbu_peak);
    const note = bytes(summary.declared_bytes) + " a step; " + memoryName + " has " + peak;
    tiles.push(tile({name: "MBU, as declared", value: percent(100 * summary.mbu), note}));
  }
  if (!none(summary.mfu)) {
    const clock = summary.mfu_peak_clock_hz;
    const note = rate("FLOP")(summary.declared_flops) + " a step; BF16 has "
      + rate("FLOP/s")(summary.mfu_peak)
      + (clock ? " at " + Math.round(clock / 1e6) + " MHz" : "");
    tiles.push(tile({name: "MFU, as declared", value: percent(100 * summary.mfu), note}));
  }
  return tiles;
}

/** Kernels of a mean step in ranges that have a counted value, and in all of them. */
function countedLaunches(key) {
  const counted = row =>
    none(metric(row, key)) ? sum(row.children, counted) : row.mean_kernels;
  return {counted: counted(folded.rows[0]), all: folded.rows[0].mean_kernels};
}

/** A counted use where nothing was declared: of what time, and of how many launches. */
function countedTile(name, key, more) {
  const use = metric(folded.rows[0], key);
  const {counted, all} = countedLaunches(key);
  if (none(use) || !(counted > 0)) return [];
  const launches = count(counted) + " of " + some(all, "launch", "launches") + " a " + unit;
  const note = more + "of the peak while kernels ran, counted in " + launches;
  return [tile({name: name + " use, counted", value: percent(use), note, about: aboutMetric(key)})];
}

function countedTiles() {
  const moved = metric(folded.rows[0], "hbm_bytes");
  const bytesOfStep = none(moved) ? "" : bytes(moved) + " a " + unit + "; ";
  return [
    ...(none(summary.mbu) ? countedTile(memoryName, "hbm_use", bytesOfStep) : []),
    ...(none(summary.mfu) ? countedTile("Tensor", "tensor_use", "") : []),
  ];
}

/** The peak of the device's memory, who held it, and what is never released. */
function memoryTiles() {
  const recorded = data.memory;
  if (!recorded || !(recorded.peak_bytes > 0)) return [];
  const set = recorded.by_purpose || recorded.by_range;
  const [holder] = holdersOf(set, partNames(set));
  return [tile({
    name: "Most memory while recorded",
    value: bytes(recorded.peak_bytes),
    note: holder ? holder.name + ": " + bytes(holder.value) + " of it" : null,
    more: el("dd", {class: "note"}, neverReleased(memoryTotals(recorded)) || "all was released"),
  })];
}

/** That no rule found a gain, or that some could not look for one; null where no GPU worked. */
function helpsNothing() {
  if (!(summary.gpu_busy_ns > 0)) return null;
  const blind = answer.undecided;
  const ran = some(answer.checks - blind.length, "check", "checks") + " found nothing that would "
    + "shorten the " + wholeTime + ".";
  if (!blind.length) return el("p", {}, ran);
  const open = sentence(answer.more_checks);
  return el("p", {}, "What helps most is not measured. " + open + " " + ran);
}

/** The cause that gains most, its fix, and what the step becomes. */
function helpsMost() {
  if (!bestFinding) return helpsNothing();
  const isLittle = bestFinding.gain_ns_per_step < little * summary.period_ns;
  const intro = "What helps most" + (isLittle ? ", though little: " : ": ");
  return el("p", {}, intro, placesOf(bestFinding), sentence(bestFinding.title), " ",
    sentence(bestFinding.advice), " ", bestFinding.prediction);
}

/** Parts of a step: from what on a cause is named, below what a gain is little. */
const much = 0.1;
const little = 0.05;

/** The finding that gains most. */
const bestFinding = answer.findings.find(finding => finding.shortens_step);

/** Whether the answer is of what bounds the step, and not that nothing is known of it. */
const isBound = /^([A-Z][a-z]+|GPU|CPU)-bound: |^Idle: /.test(answer.bound || "");

/** The cause that gains most, where that is much of the step. */
function mostToGain() {
  if (bestFinding && bestFinding.gain_ns_per_step > much * summary.period_ns) {
    return " Most to gain: " + bestFinding.cause + ".";
  }
  const blind = answer.undecided.length;
  const most = bestFinding ? 100 * bestFinding.gain_ns_per_step / summary.period_ns : 0;
  return (most ? " Known fixes gain at most " + percent(most) + "." : " No known fix shortens it.")
    + (blind ? " " + some(blind, "check", "checks") + " could not run." : "");
}

/** The answer: its first sentence stands out, with what there is to gain. */
function bound() {
  if (!answer.bound) return null;
  const text = sentence(answer.bound);
  if (!isBound) return el("p", {class: "answer"}, text);
  const [first] = text.match(/^.*?\.(?= |$)/) || [text];
  const rest = text.slice(first.length).trim();
  return [el("p", {class: "answer"}, first + mostToGain()), rest ? el("p", {}, rest) : null];
}

/** What all of the period goes to, and what is not known most of all. */
function account() {
  const {text, unknown} = answer.account;
  const {command, first, tells_more: tells} = answer.next;
  return [
    text ? el("p", {class: "account"}, text) : null,
    unknown ? el("p", {class: "account"}, "Most of what is unknown: " + unknown) : null,
    tells && data.traced
      ? el("p", {class: "account"}, "What would tell more: ", first, first && " ",
        el("code", {class: "next"}, command))
      : null,
  ];
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
  tiles.push(...declaredTiles(), ...countedTiles(), ...memoryTiles(), machineTile());
  byId("main").append(el("section", {id: "headline", "aria-label": "Headline"},
    bound(),
    helpsMost(),
    el("div", {class: "first"}, budget(), account(), stepDots(),
      el("p", {class: "about"}, setOfSteps())),
    el("dl", {class: "tiles"}, tiles)));
}
