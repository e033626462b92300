"use strict";
// The run, and what Strata cost it.

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
    ["in ranges", cost.range_ns, "recorded"],
    ["in launch callbacks", cost.callback_ns, "recorded"],
    ["in readings of CPU counters", cost.counter_ns, "recorded"],
    ["waiting for a flush", cost.flush_ns],
    ["to start", cost.start_ns],
    ["on CUPTI's own threads", cost.activity_ns],
  ].filter(([, ns]) => ns > 0);
  if (!times.length) return null;
  // What comes before or after the recording, or in CUPTI's threads, is not part of its time.
  const ofTime = ([, ns, when]) =>
    when ? shareText(100 * ns / (cost.window_ns || data.end_ns)) : "";
  return table("Cost of Strata", [
    {label: "What", get: ([name]) => name, text: true},
    {
      label: "Time",
      title: aboutFigure("What Strata took of the program's time", "", "cost of profile.json"),
      get: ([, ns]) => time(ns),
    },
    {
      label: "% of the recorded time",
      title: aboutFigure("Part of the recorded time", "Time / recorded time",
        "cost of profile.json"),
      get: ofTime,
    },
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
