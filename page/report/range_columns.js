"use strict";
// The columns of the range table. `get` is the amount of the whole run, `per` that of a mean step.

const limiters = new Map(answer.limits.map(limit => [limit.range, limit.limiter]));
const limitOf = row => limiters.get(row.folded) || "";

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
    title: "the unit with the highest use, or what the GPU waits for",
    text: true,
    get: row => limitOf(row) || null,
    show: value => value || "",
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
  {key: "flops", label: "FLOP/s declared", get: declaredRate("flops"), show: rate("FLOP/s")},
  {key: "gbs", label: "B/s declared", get: declaredRate("bytes"), show: rate("B/s")},
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
    label: "Peak memory",
    title: "most device memory of the range at one time",
    get: row => row.peak_bytes,
    show: bytes,
  },
  {key: "tokens", label: "Tokens/s", get: declaredRate("tokens"), show: count},
];

/** The counted metrics that have a column, in its order. */
const countedKeys = [
  "hbm_bytes",
  "hbm_of_peak",
  "l2_bytes",
  "l1_data_bytes",
  "l1_bytes",
  "l1_hit_rate",
  "l2_hit_rate",
  "flop",
  "achieved_occupancy",
  "cpu_instructions",
  "cpu_ipc",
  "cpu_llc_misses",
];

function countedColumn(key) {
  const counted = folded.metrics[metricAt.get(key)];
  const words = key.replace(/_/g, " ");
  return {
    key,
    label: words.replace("hbm", "HBM").replace(/\bl([12])\b/, "L$1").replace("cpu", "CPU"),
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
  ...countedKeys.filter(key => metricAt.has(key)).map(countedColumn),
].filter(hasValue);
