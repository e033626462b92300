"use strict";
// The columns of the range table. `get` is the amount of the whole run, `per` that of a mean step.

const limits = new Map(answer.limits.map(limit => [limit.range, limit]));

/** What limits a range: `tensor at 87 % of its peak`, `launch`; "" where nothing says it. */
function limitOf(row) {
  const {limiter, kind, unit: name, names, ...spent} = limits.get(row.folded) || {limiter: ""};
  if (kind !== "unit" || names) return limiter;
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

/** The limiter without its use, where that has a column of its own, and whose use it is. */
function limiterOf(row) {
  const {limiter, kind, unit: name, names} = limits.get(row.folded) || {limiter: ""};
  if (none(useOf(row))) return limiter;
  if (kind === "unit") return names || name;
  const whose = none(name) || name === limiter ? "" : " (" + name.replace(/^L1 .*/, "L1") + ")";
  return (limiter + whose).trim();
}

/** What would help a range, in the words of the budget; "" where nothing says what limits it. */
function helpOf(row) {
  const {kind, unit: name} = limits.get(row.folded) || {};
  const known = busyKinds[kind === "unit" ? name : kind];
  return known ? known.helps : "";
}

/** Per cent of the period: of the GPU's busy time, of recorded host time where no GPU worked. */
function shareOfStep(row) {
  const hasGpu = data.traced && summary.gpu_busy_ns > 0;
  if (hasGpu) return 100 * row.mean_busy_ns / summary.period_ns;
  return 100 * row.mean_stepping_ns / (summary.mean_ns + summary.between_ns);
}

/** A column of ranges.csv: of the whole run, and of a mean step. */
function recordedColumn(key, name, ofStep, label = aboutOf(name).label) {
  return {
    key,
    label: capital(label || name),
    title: aboutColumn(name),
    get: row => row[name],
    per: ofStep && (row => row[ofStep]),
    show: inUnit(aboutOf(name).unit || ""),
  };
}

/** A column that is computed of others. */
function computed(key, name, more) {
  const {label} = aboutOf(name);
  return {key, label: capital(label || name), title: aboutColumn(name), ...more};
}

/** What a range declares, a second of what it takes; its unit is in each cell. */
function declared(key, took, show) {
  const column = computed(key, key + "_per_second", {
    get: row => row[key] > 0 && took(row) > 0 ? row[key] / took(row) * 1e9 : null,
    show,
  });
  return {...column, label: column.label.replace(/^G(?=FLOP|B)/, "")};
}

const gpuOrHost = row => row.gpu_busy_ns || row.host_total_ns;
const longer = row => Math.max(row.gpu_busy_ns || 0, row.host_total_ns);

const busyTitle = "GPU busy time (host time where no GPU worked) of the mean " + wholeTime
  + "; empty where that of several threads or steps is longer.\nComputed of ranges.csv";

const recordedColumns = [
  recordedColumn("busy", "gpu_busy_ns", "mean_busy_ns"),
  {
    key: "share",
    label: "% of " + wholeTime,
    title: busyTitle,
    get: shareOfStep,
    show: shareText,
    bar: true,
  },
  computed("limit", "limiter", {
    text: true,
    get: row => limiterOf(row) || null,
    show: value => value || "",
  }),
  computed("use", "use", {get: useOf, show: shareText}),
  recordedColumn("graphs", "graph_kernel_ns", "mean_graph_kernel_ns"),
  recordedColumn("kernels", "kernels", "mean_kernels"),
  recordedColumn("host", "host_total_ns", "mean_host_ns"),
  recordedColumn("launch", "launch_ns", "mean_launch_ns"),
  recordedColumn("calls", "calls", "mean_calls"),
  recordedColumn("self", "host_self_ns", "mean_self_ns"),
  recordedColumn("p50", "host_p50_ns"),
  declared("flops", gpuOrHost, rate("FLOP/s")),
  declared("bytes", gpuOrHost, rate("B/s")),
  recordedColumn("copies", "gpu_copy_ns", "mean_copy_ns", "copies"),
  recordedColumn("waits", "synchronization_ns", "mean_synchronization_ns", "waits"),
  recordedColumn("allocations", "allocations", "mean_allocations"),
  recordedColumn("peak", "peak_bytes"),
  declared("tokens", longer, count),
];

/** The counted metrics that have a column, in its order. */
const countedKeys = ["hbm_bytes", "hbm_of_peak", "l2_bytes", "l1_data_bytes", "l1_bytes",
  "l1_hit_rate", "l2_hit_rate", "flop", "achieved_occupancy", "cpu_instructions", "cpu_ipc",
  "cpu_llc_misses"];

function countedColumn(key) {
  const counted = folded.metrics[metricAt.get(key)];
  return {
    key,
    label: capital(counted.label || key),
    title: aboutCounted(counted),
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
