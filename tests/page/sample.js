"use strict";
// The data of a small run, as report/page.hpp writes them: two steps, and a range outside of them.

const columns = ["parent", "name", "index", "calls", "host_total_ns", "host_self_ns", "kernels",
  "gpu_kernel_ns", "gpu_copy_ns", "gpu_busy_ns", "copies", "step_share", "hidden", "mean_kernels",
  "mean_part", "mean_calls", "mean_host_ns", "mean_stepping_ns", "mean_self_ns", "mean_busy_ns",
  "mean_kernel_ns", "mean_copy_ns"];

/** A row with its amounts of a mean step, the run having two. */
function row(cells) {
  const [, , , calls, host, self, , kernel, copy, busy, , share] = cells;
  const amounts = [1, calls, host, host, self, busy, kernel, copy];
  return [...cells, ...amounts.map(amount => amount * share / 2)];
}

// Where a row stands, its calls and host times, its work, its share in steps, rows left out, its
// kernels in a mean step. A quarter of the launches of attention, none of its time, is outside of
// steps.
const rows = [
  [null, "", null, 0, 1900, 0, 25, 1250, 0, 1250, 0, 1, 0, 12.5],
  [0, "step", null, 2, 1500, 100, 24, 1200, 0, 1200, 0, 1, 0, 12],
  [1, "block", "*", 4, 1300, 300, 20, 1000, 0, 1000, 0, 1, 3, 10],
  [2, "attention", null, 4, 700, 700, 12, 800, 0, 800, 0, 1, 0, 4.5],
  [2, "mlp", null, 4, 300, 300, 8, 200, 0, 200, 0, 1, 0, 4],
  [1, "loss", null, 2, 100, 100, 4, 200, 0, 200, 0, 1, 0, 2],
  [0, "load", null, 1, 400, 400, 0, 0, 0, 0, 0, 0, 0, 0],
].map(row);

// Of the whole run, then of a mean step: launches, time, how much of the GPU is filled.
const kernel = (range, name, blocks, [count, total, gpu], ofStep) =>
  [range, name, count, total, blocks, blocks, blocks, gpu, total / count, total / count, ...ofStep];

const data = {
  answer: {
    step: {
      from_steps: true,
      count: 2,
      mean_ns: 750,
      between_ns: 0,
      period_ns: 750,
      first_ns: 750,
      without_first: false,
      gpu_busy_ns: 600,
      gpu_idle_ns: 150,
    },
    findings: [],
    limits: [{range: 3, limiter: "latency", kind: "latency"}],
    points: [],
    roofs: [],
  },
  memory_name: "HBM",
  traced: true,
  sort: "cost",
  devices: [],
  environment: {program: "toy", command: "./build/toy -n 3"},
  about_columns: {
    gpu_busy_ns: {unit: "ns", label: "GPU busy", help: "time in which a kernel or copy ran"},
    host_total_ns: {unit: "ns", label: "host total", help: "host time"},
    kernels: {unit: "", label: "kernels", help: "kernels that ran"},
    gpu_copy_ns: {unit: "ns", help: "GPU time of copies and fills"},
    use: {unit: "", label: "use %", help: "the highest use of a unit"},
    bytes_per_second: {unit: "", label: "GB/s", help: "declared work"},
  },
  columns,
  same: {
    bytes: null,
    flops: null,
    mean_graph_kernel_ns: 0,
  },
  views: [{
    name: "folded",
    total: 10,
    rows,
    captured: [],
    metrics: [
      {key: "hbm_bytes", unit: "B", level: "hbm", meaning: "bytes",
        label: "HBM"},
      {key: "cpu_instructions", unit: "instructions", level: "cpu", meaning: "instructions"},
    ],
    counted: [[900, 40], [900, 40], [800, 30], [500, 20], [300, 10], [100, 10], [null, 0]],
  }],
  kernel_columns: ["range", "name", "count", "total_ns", "blocks_min", "blocks_median",
    "blocks_max", "gpu_utilisation", "min_ns", "max_ns", "step_launches",
    "step_ns", "step_gpu_fill"],
  kernel_same: {whole: "", static_shared_bytes: 0},
  kernels: {
    total: 3,
    rest_ns: 0,
    rows: [
      kernel(3, "gemm", 128, [12, 800, 0.95], [4.5, 400, 0.98]),
      kernel(4, "gemm", 64, [4, 100, 0.45], [2, 50, 0.45]),
      kernel(4, "gelu", 1, [4, 100, null], [2, 50, null]),
      kernel(5, "warm", 1, [1, 30, 0.1], [0, 0, null]),
    ],
  },
};

module.exports = {data};
