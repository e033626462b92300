"use strict";
// Which steps a mean step averages. Amounts of one are `mean_...` of a row.

const unit = hasSteps ? "step" : "run";

/** What shares of time are of: with what lies between two steps it is a period. */
const wholeTime = summary.between_ns > 0 ? "period" : unit;

/** Whether recorded steps take longer than others: what is predicted is of the others. */
const isSlowed = summary.usual_ns < summary.mean_ns;

/** Counts and times of the GPU are of one step; counts of the CPU are sums of all steps. */
const isSum = counted => counted.level === "cpu" && !/%|\//.test(counted.unit);

/** The steps that the mean is of: a slow first one is apart. */
const typicalCount = summary.count - (summary.without_first ? 1 : 0);

/** The steps that a mean is of: `a mean of 9 steps, without the first`. */
function meanSteps(amount = typicalCount) {
  if (!hasSteps) return "the run";
  return "a mean of " + some(amount, "step") + (summary.without_first ? ", without the first" : "");
}

/** A sum over the run that goes by the host's time, as counts of the CPU, in a mean step. */
const perStep = (row, value) => none(value) ? value : value * row.mean_part;

/** Whether a range has no part in a mean step: what loads a model, for example. */
const inNoStep = row => hasSteps && row.calls > 0 && !row.inside;
