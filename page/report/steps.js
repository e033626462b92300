"use strict";
// Sums over the run as parts of a mean step.

const unit = hasSteps ? "step" : "run";

/** Counts and times of the GPU are of one step; counts of the CPU are sums of all steps. */
const isSum = counted => counted.level === "cpu" && !/%|\//.test(counted.unit);

/** The steps that the mean is of: a slow first one is apart. */
const typicalCount = summary.count - (summary.without_first ? 1 : 0);

/** The steps that a mean is of: `a mean of 9 steps, without the first`. */
function meanSteps(amount = typicalCount) {
  if (!hasSteps) return "the run";
  return "a mean of " + some(amount, "step") + (summary.without_first ? ", without the first" : "");
}

/** A sum over the run as a part of a mean step, of which `share` was within these steps. */
function perStep(row, value, share = row.step_host_share) {
  if (none(value)) return value;
  return value * (!hasSteps || none(share) ? 1 : share) / typicalCount;
}

/** The part of work in steps: counts go by launches, times by themselves; of a row, or itself. */
const byLaunches = {
  total: row => row.step_launch_share,
  self: row => row.step_self_launch_share,
};
/** Host time in launches: the first ones are dear. */
const byLaunchTime = {
  total: row => row.step_launch_time_share,
  self: row => row.step_self_launch_time_share,
};
const byTime = {
  total: row => row.step_work_share,
  self: row => firstKnown(row.step_self_share, row.step_work_share),
};

/** Host time of the threads that drive steps: others run beside them. */
const steppingTime = row => row.host_total_ns - (row.other_threads_ns || 0);

const busyPerStep = row => perStep(row, row.gpu_busy_ns, row.step_busy_share);

/** Of kernels that a range captured into graphs, which another one launches. */
const graphTimePerStep = row => perStep(row, row.graph_kernel_ns, row.step_work_share);
const hostSelfPerStep = row => perStep(row, row.host_self_ns, row.step_host_self_share);

/** Whether a range is around steps, as a loop of training is. */
const isAround = row => hasSteps && !none(row.step_self_share);

/** An amount that adds up: of a range around steps, without what was below it outside of steps. */
function amountPerStep(row, amount, by = byTime) {
  const all = amount(row);
  if (none(all)) return all;
  if (!isAround(row)) return perStep(row, all, by.total(row));
  const itself = perStep(row, selfOf(row, amount), by.self(row));
  return itself + sum(row.children, child => amountPerStep(child, amount, by));
}

/** Whether a range has no part in a mean step: what loads a model, for example. */
const inNoStep = row => hasSteps && row.calls > 0 && !row.inside;
