"use strict";
// The columns of the range table. `get` is the amount of the whole run, `per` that of a mean step.

const limits = new Map(answer.limits.map(limit => [limit.range, limit]));

/** What limits a range: `HBM at 87 % of its peak`, `launch`; "" where nothing says it. */
function limitOf(row) {
  const {limiter, kind, unit: name, ...spent} = limits.get(row.folded) || {limiter: ""};
  if (kind !== "unit") return limiter;
  const use = Math.min(100, 100 * spent.time_at_roof_ns / spent.time_ns);
  return name + " at " + use.toFixed(0) + " % of its peak";
}

/** The highest use of a unit, in per cent; null where none was counted, or more than fits. */
function useOf(row) {
  const {time_at_roof_ns: ns, time_ns: whole, kind} = limits.get(row.folded) || {};
  const isCounted = folded.rows[row.folded].counted.some(value => !none(value));
  if (!isCounted || !(ns > 0) || !(whole > 0) || kind === "above the roof") return null;
  return Math.min(100, 100 * ns / whole);
}

/** The limiter without its use, where that has a column of its own. */
function limiterOf(row) {
  const {limiter, kind, unit: name} = limits.get(row.folded) || {limiter: ""};
  return kind === "unit" && !none(useOf(row)) ? name : limiter;
}

/** What would help a range, in the words of the budget; "" where nothing says what limits it. */
function helpOf(row) {
  const {kind, unit: name} = limits.get(row.folded) || {};
  const known = busyKinds[kind === "unit" ? name : kind];
  return known ? known.helps : "";
}

/** Per cent of the mean step: of the GPU's busy time, of host time where no GPU worked. */
function shareOfStep(row) {
  const hasGpu = data.traced && summary.gpu_busy_ns > 0;
  const part = hasGpu ? row.mean_busy_ns : row.mean_stepping_ns;
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

/** A column of the run, and of a mean step. */
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
