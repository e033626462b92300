"use strict";
// Sums over the run as parts of a mean step.

const unit = hasSteps ? "step" : "run";

/** Counts and times of the GPU are of one step; counts of the CPU are sums of all steps. */
const isSum = counted => counted.level === "cpu" && !/%|\//.test(counted.unit);

/** A sum over the run as a part of a mean step, of which `share` was within steps. */
function perStep(row, value, share = row.step_share) {
  if (none(value)) return value;
  return value * (!hasSteps || none(share) ? 1 : share) / summary.count;
}

const workPerStep = (row, value) => perStep(row, value, row.step_work_share);

/** Whether a range is around steps, as a loop of training is. */
const isAround = row => hasSteps && !none(row.step_self_share);

/** An amount that adds up: of a range around steps, without what was below it outside of steps. */
function amountPerStep(row, amount) {
  const all = amount(row);
  if (none(all)) return all;
  if (!isAround(row)) return workPerStep(row, all);
  const itself = perStep(row, selfOf(row, amount), row.step_self_share);
  return itself + sum(row.children, child => amountPerStep(child, amount));
}

const outsideNs = row => row.host_total_ns * (1 - row.step_share);

function hostSelfPerStep(row) {
  if (!isAround(row)) return perStep(row, row.host_self_ns);
  const outsideItself = Math.max(0, outsideNs(row) - sum(row.children, outsideNs));
  return Math.max(0, row.host_self_ns - outsideItself) / summary.count;
}

/** Rows are sums over all steps, a slow first one with them; the mean step may leave it out. */
const meanOfAll = summary.without_first
  ? (summary.mean_ns * (summary.count - 1) + summary.first_ns) / summary.count
  : summary.mean_ns;

/** Whether a range has no part in a mean step: what loads a model, for example. */
const inNoStep = row => hasSteps && row.calls > 0 && !row.inside;
