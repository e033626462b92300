"use strict";
// What was compared: the two sides, and each range with the time that was judged.

const step = data.step;
const hasSteps = step.before_steps > 0 && step.after_steps > 0;
const unit = hasSteps ? "step" : "run";
/** Times of ranges are means; that of the step is its median. */
const meanUnit = hasSteps ? "mean step" : "run";
const sides = ["before", "after"];
const runsOf = side => data.runs.filter(run => run.side === side);
const program = (data.runs[0] || {}).program || "program";

const milliseconds = value => none(value) ? "" : time(value * 1e6);

function signed(value, show) {
  if (value === 0) return show(0);
  return (value < 0 ? "\u2212" : "+") + show(Math.abs(value));
}

/** A factor with three or four digits that count. */
function factor(value) {
  if (none(value)) return "";
  if (value >= 100) return digits(value);
  if (value >= 10) return value.toFixed(1);
  if (value >= 0.0995) return value.toFixed(3);
  return value > 0 ? Number(value.toPrecision(3)).toString() : "0";
}

const ratio = (before, after) => before > 0 ? after / before : null;

/** The factor's 95 % interval: noise is a standard deviation of the logarithm. Losses widen it. */
const interval = (change, noise, lostBefore = 0, lostAfter = 0) => [
  Math.exp(Math.log1p(change) - 1.96 * noise) / (1 + lostBefore),
  Math.exp(Math.log1p(change) + 1.96 * noise) * (1 + lostAfter),
];

const between = ends => factor(ends[0]) + " to " + factor(ends[1]);

function verdictOf(range, ends) {
  if (range.slower) return "slower";
  if (range.verdict === "unjudged") return "not judged";
  if (range.lost) return "unsure (times lost)";
  if (range.verdict !== "within") return range.verdict;
  return ends[1] < 1 / (1 + data.options.limit) ? "faster" : "within the limit";
}

/** The columns of a range that both sides have. */
function valuesOf(range) {
  if (!range.columns_before) return [];
  const both = data.columns.map((column, i) =>
    ({...column, before: range.columns_before[i], after: range.columns_after[i]}));
  return both.filter(value => !none(value.before));
}

/** A range with the time that was judged; of one that was not, the other. */
function readRange(range) {
  const judged = range.verdict !== "unjudged";
  const byGpu = judged ? "GPU" : "GPU busy";  // of kernels, or with copies
  const by = (judged ? range.judged_by : range.time) === "gpu" ? byGpu : "host";
  const was = judged ? range.judged_before_ms : range.before_ms;
  const now = judged ? range.judged_after_ms : range.after_ms;
  const ends = judged
    ? interval(range.change, range.noise, range.lost_before, range.lost_after)
    : null;
  return {
    ...range,
    judged,
    by,
    was,
    now,
    ends,
    delta: now - was,
    factor: judged ? 1 + range.change : ratio(was, now),
    said: verdictOf(range, ends),
    title: range.path + " ("
      + [by, range.thread, range.trimmed && "trimmed", range.once && "once"].filter(Boolean)
        .join(", ") + ")",
    unit: range.once ? "run" : meanUnit,
    values: valuesOf(range),
  };
}

const ranges = data.ranges.map(readRange);
const indexed = data.indexed.map(readRange);
/** Whether a change in milliseconds is more than 0 with the digits of the console. */
const isChange = ms => Math.abs(ms) >= 0.00005;

const inner = ranges.filter(range =>
  !ranges.some(other => other.path.startsWith(range.path + "/")));

/** What to say of the ranges of a list that the page does not have. */
function leftOut(name, shown) {
  const left = data.totals[name] - shown;
  return left > 0 ? " " + count(left) + " more are in the JSON of compare --json." : "";
}
