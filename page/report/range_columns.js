"use strict";
// The columns of the range table. `get` is the amount of the whole run, `per` that of a mean step.

const limits = new Map(answer.limits.map(limit => [limit.range, limit]));
const limitOf = row => limits.has(row.folded) ? limits.get(row.folded).limiter : "";

/** The highest use of a unit, in per cent; null where none was counted, or more than fits. */
function useOf(row) {
  const {time_at_roof_ns: ns, time_ns: whole, limiter} = limits.get(row.folded) || {};
  const isCounted = folded.rows[row.folded].counted.some(value => !none(value));
  if (!isCounted || !(ns > 0) || !(whole > 0) || limiter === "above the roof") return null;
  return Math.min(100, 100 * ns / whole);
}

/** The limiter without its use, where that has a column of its own. */
const limiterOf = row => none(useOf(row)) ? limitOf(row) : limitOf(row).replace(/ \d+ %$/, "");

/** Per cent of the mean step: of the GPU's busy time, of host time where no GPU worked. */
function shareOfStep(row) {
  const hasGpu = data.traced && summary.gpu_busy_ns > 0;
  const part = hasGpu ? busyPerStep(row) : perStep(row, steppingTime(row));
  return 100 * part / summary.mean_ns;
}

/** What a range declares, a second of its GPU time, or of its host time without a GPU. */
const declaredRate = column => row => {
  const ns = row.gpu_busy_ns || row.host_total_ns;
  return row[column] > 0 && ns > 0 ? row[column] / ns * 1e9 : null;
};

const busyTitle = "GPU busy time (host time where no GPU worked) of the mean " + unit
  + "; empty where that of several threads or steps is longer";

const declaredTitle = "declared work by GPU busy time, by host time where there is none";

/** A column whose amounts add up; `by` says which part of them is in steps. */
const adding = (column, by = byTime) => ({
  get: row => row[column],
  per: row => amountPerStep(row, item => item[column], by),
  self: by.self,
});

const recordedColumns = [
  {
    key: "busy",
    label: "GPU busy",
    title: "time in which a kernel or copy of the range ran",
    get: row => row.gpu_busy_ns,
    per: busyPerStep,
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
    get: row => row.graph_kernel_ns,
    per: graphTimePerStep,
    show: time,
  },
  {key: "kernels", label: "Kernels", ...adding("kernels", byLaunches), show: count},
  {
    key: "host",
    label: "Host total",
    title: "host time, of all threads",
    get: row => row.host_total_ns,
    per: row => perStep(row, row.host_total_ns),
    show: time,
  },
  {
    key: "launch",
    label: "Launch",
    title: "host time in calls that launch",
    ...adding("launch_ns", byLaunchTime),
    show: time,
  },
  {
    key: "calls",
    label: "Calls",
    get: row => row.calls,
    per: row => isAround(row) ? null : perStep(row, row.calls, row.step_call_share),
    show: count,
  },
  {
    key: "self",
    label: "Host self",
    title: "host time without the ranges below",
    get: row => row.host_self_ns,
    per: hostSelfPerStep,
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
    ...adding("gpu_copy_ns"),
    show: time,
  },
  {
    key: "waits",
    label: "Waits",
    title: "host time in which it waited for the GPU",
    ...adding("synchronization_ns"),
    show: time,
  },
  {key: "allocations", label: "Allocations", ...adding("allocations"), show: count},
  {
    key: "peak",
    label: "Peak",
    title: "most device memory of the range at one time",
    get: row => row.peak_bytes,
    show: bytes,
  },
  {key: "tokens", label: "Tokens/s", get: declaredRate("tokens"), show: count},
];

/** The counted metrics that have a column, in its order, as the console names them. */
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
