"use strict";
// How near the units of the GPU are to their peaks in one range, and what its warps wait for.

/** From this per cent on a unit limits a range. */
const limitingUse = 60;

/** Uses that follow from bytes and rates, where the units themselves were not counted. */
const countedUses = [
  ["tensor", row => firstKnown(metric(row, "tensor_active_rate"),
    metric(row, "tensor_of_peak"))],
  ["FP32", row => metric(row, "fp32_of_peak")],
  ["FP64", row => metric(row, "fp64_of_peak")],
  ["FP16", row => metric(row, "fp16_of_peak")],
  ["issue", row => metric(row, "issue_rate")],
  ["shared memory", row => sharedTraffic(row).share],
  ["L1", row => level1Traffic(row).share],
  ["L2", row => level2Traffic(row).share],
  [memoryName, row => deviceTraffic(row).share],
];

/** The units of a range with their use in per cent, those that did anything. */
function unitsOf(row) {
  const counted = unitUses.get(row.place);
  const units = counted
    ? [...counted].map(([name, part]) => ({name, use: 100 * part}))
    : countedUses.map(([name, use]) => ({name, use: use(row)}));
  const about = counted
    ? aboutFigure("Part of the unit's sustained peak", "Its time at that peak / GPU time",
        "limits of findings.json")
    : aboutFigure("Part of the unit's peak", "What it did a second / its peak",
        "Of the counted values below");
  return units.filter(({use}) => !none(use)).map(bar => ({...bar, about}));
}

/** Warps that issued, or could have: these wait for nothing. */
const readyReasons = ["selected", "not selected"];

/** The reasons why warps did not issue, the most frequent first; those that issued come last. */
function stallsOf(row) {
  const stalls = folded.metrics.filter(({key}) => /^stall_.*_share$/.test(key))
    .map(({key, meaning}) => ({
      name: key.slice("stall_".length, -"_share".length).replace(/_/g, " "),
      use: metric(row, key),
      meaning,
      about: aboutMetric(key),
    })).filter(({use}) => use >= 0.05);
  const isReady = stall => readyReasons.includes(stall.name);
  return stalls.sort((a, b) => isReady(a) - isReady(b) || b.use - a.use);
}

/** Bars of per cent: {name, use, meaning}; `paintOf(bar)` is a colour. */
function drawPercentBars(width, bars, {id, label, paintOf, most}) {
  const left = Math.min(150, Math.max(0, ...bars.map(bar => textWidth(bar.name))) + 10);
  const line = 22;
  const drawing = sv("svg", {width, height: bars.length * line + 2, id, role: "img",
    "aria-label": label});
  const room = width - left - 60;
  bars.forEach((bar, i) => {
    const y = i * line;
    const wide = Math.max(1, room * Math.min(1, bar.use / most));
    const hint = bar.name + ": " + percent(bar.use) + (bar.meaning ? "\n" + bar.meaning : "");
    const end = {x: left + wide + 6, y: y + 15, class: "soft"};
    drawing.append(
      sv("text", {x: left - 8, y: y + 15, "text-anchor": "end"}, bar.name),
      sv("rect", {x: left, y: y + 3, width: room, height: line - 7, fill: "var(--track)", rx: 2,
        ...hovered(hint)}),
      sv("rect", {x: left, y: y + 3, width: wide, height: line - 7, rx: 2, "data-use": bar.use,
        fill: paintOf(bar), ...hovered(hint)}),
      sv("text", {...end, style: "paint-order:stroke;stroke:var(--card);stroke-width:3px"},
        percent(bar.use)));
  });
  return drawing;
}

const percentTable = (name, label, bars) => numbersOfFigure(() => table(name, [
  {label, get: bar => bar.name, text: true},
  {label: "%", about: bar => bar.about, get: bar => percent(bar.use)},
], bars));

/** A figure of bars with a heading and numbers; `redraw(row)` shows another range. */
function percentFigure(title, look, barsOf) {
  let bars = [];
  const figure = chart((box, width) => {
    box.replaceChildren(drawPercentBars(width, bars, look));
  });
  const numbers = el("div", {});
  const box = el("div", {}, el("h3", {}, title), figure, numbers);
  box.redraw = row => {
    bars = barsOf(row);
    box.hidden = !bars.length;
    figure.redraw();
    numbers.replaceChildren(percentTable(look.label, look.column, bars));
  };
  return box;
}

/** Both figures beside each other; null where neither has anything in any range. */
function unitBars() {
  const units = percentFigure("Use of each unit, % of its peak", {
    id: "units-figure",
    label: "Use of the units",
    column: "Unit",
    paintOf: bar => bar.use >= limitingUse ? "var(--hot)" : "var(--mark)",
    most: 100,
  }, unitsOf);
  const stalls = percentFigure("What warps wait for, % of their time", {
    id: "stalls-figure",
    label: "What warps wait for",
    column: "Reason",
    paintOf: bar => readyReasons.includes(bar.name) ? "var(--rest)" : "var(--mark)",
    most: 100,
  }, stallsOf);
  if (!anyRow(row => unitsOf(row).length || stallsOf(row).length)) return null;
  const box = el("div", {class: "two"}, units, stalls);
  box.redraw = row => {
    units.redraw(row);
    stalls.redraw(row);
  };
  return box;
}
