"use strict";
// What a number is, how it comes about, and the file that has it: the words are those of the column
// tables of the report.

const withUnit = (name, unitName) => name + (unitName ? " [" + unitName + "]" : "");

/** What the report says of a column of ranges: its label, its unit, its help. */
const aboutOf = name => data.about_columns && data.about_columns[name] || {};

/** A column of ranges.csv, or one that is computed of them, as on the console. */
function aboutColumn(name) {
  const {help, unit: unitName} = aboutOf(name);
  if (!help) return undefined;
  const isRecorded = name in folded.rows[0];
  return sentence(help) + "\n"
    + (isRecorded ? withUnit(name, unitName) + " of ranges.csv" : "Computed of ranges.csv");
}

/** A column of kernels.csv. */
function aboutKernels(name) {
  const {help, unit: unitName} = (data.about_kernel_columns || {})[name] || {};
  return help && sentence(help) + "\n" + withUnit(name, unitName) + " of kernels.csv";
}

/** A counted metric: its meaning, its formula, and how it was counted. */
function aboutCounted({key, unit: unitName, meaning, formula, method, set}) {
  const how = formula ? " = " + formula : "";
  const source = [method, set && set + ".csv"].filter(Boolean).join(", ");
  return sentence(meaning || "") + "\n" + withUnit(key, unitName) + how
    + (source ? "\n" + capital(source) : "");
}

/** A number of a figure: what it is, how it comes about, and the file that has what it is of. */
const aboutFigure = (help, formula, source) =>
  sentence(help) + "\n" + (formula ? formula + "\n" : "") + source;

/** The same by its key; undefined where it was not counted. */
const aboutMetric = key =>
  metricAt.has(key) ? aboutCounted(folded.metrics[metricAt.get(key)]) : undefined;
