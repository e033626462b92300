"use strict";
// The runs, and each of their steps as a point.

const runLine = 22;

function runName(run) {
  const same = runsOf(run.side);
  return run.side + (same.length > 1 ? " " + (same.indexOf(run) + 1) : "");
}

function median(list) {
  if (!list.length) return null;
  const sorted = list.slice().sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function drawSteps(width, most) {
  const left = Math.max(...data.runs.map(run => textWidth(runName(run)))) + 14;
  const right = 16;
  const bottom = data.runs.length * runLine + 6;
  const x = value => left + value / most * (width - left - right);
  const drawing = sv("svg", {
    width,
    height: bottom + 20,
    id: "steps-figure",
    role: "img",
    "aria-label": "The time of each step in milliseconds, a line for each run. The table below has"
      + " their medians.",
  });
  const gap = roundStep(most / Math.max(2, (width - left) / 110));
  for (let value = 0; value <= most; value += gap) {
    const text = milliseconds(value);
    const place = Math.min(x(value), width - textWidth(text) / 2);
    const anchor = value === 0 ? "start" : "middle";
    drawing.append(
      sv("line", {x1: x(value), x2: x(value), y1: 0, y2: bottom, class: "grid"}),
      sv("text", {x: place, y: bottom + 14, class: "soft", "text-anchor": anchor}, text));
  }
  data.runs.forEach((run, i) => drawing.append(...runPoints(run, i, left, x)));
  return drawing;
}

/** The name of a run, a point for each of its steps, and a stroke for their median. */
function runPoints(run, i, left, x) {
  const y = i * runLine + runLine / 2 + 3;
  const middle = median(run.steps_ms);
  const points = run.steps_ms.map(value => sv("circle", {
    cx: x(value),
    cy: y,
    r: 4,
    fill: run.side === "before" ? "var(--rest)" : "var(--link)",
    "fill-opacity": 0.45,
    ...hovered(runName(run) + "\n" + milliseconds(value)),
  }));
  const stroke = none(middle)
    ? []
    : [sv("line", {x1: x(middle), x2: x(middle), y1: y - 8, y2: y + 8, class: "roof"})];
  const name = sv("text", {x: left - 8, y: y + 4, "text-anchor": "end"}, runName(run));
  return [name, ...points, ...stroke];
}

const runTable = () => table("Runs", [
  {label: "Run", get: runName, text: true},
  {label: "Steps", get: run => count(run.steps)},
  {label: "Median step", get: run => milliseconds(median(run.steps_ms))},
  {label: "Shortest", get: run => run.steps ? milliseconds(Math.min(...run.steps_ms)) : ""},
  {label: "Longest", get: run => run.steps ? milliseconds(Math.max(...run.steps_ms)) : ""},
  {label: "Started at", get: run => run.started_at, text: true},
  {label: "Program", get: run => run.command, text: true},
  {label: "GPU", get: run => run.devices || "none", text: true},
  {label: "CPU", get: run => run.cpu, text: true},
  {label: "Host", get: run => run.host, text: true},
  {label: "STRATA=", get: run => run.settings, text: true},
], data.runs);

function runs() {
  const most = Math.max(0, ...data.runs.flatMap(run => run.steps_ms));
  const figure = most > 0
    ? chart((box, width) => box.replaceChildren(drawSteps(width, most)))
    : null;
  const about = "Each point is a step, with milliseconds to the right; a stroke is the median. The"
    + " first step of a run is not judged.";
  section("runs", "Runs and steps", figure ? about : null, figure, runTable());
  if (figure) redrawOnTheme.push(() => figure.redraw());
  byId("foot").textContent = "Strata " + data.schema.strata
    + ". This page needs no network; its numbers are those of compare --json.";
}
