"use strict";
// The chosen range: its levels of memory, its counted values, its kernels.

/** How many ranges the list offers. */
const offeredRanges = 400;

const hasLevels = ["hbm_bytes", "l2_bytes", "l1_data_bytes", "l1_bytes"]
  .some(key => metricAt.has(key));

function rangePicker() {
  const indent = row => "\u00a0".repeat(2 * Math.max(0, row.depth - 1));
  const options = folded.rows.slice(0, offeredRanges).map(row =>
    el("option", {value: row.place}, indent(row) + (row.depth ? row.label : "the whole run")));
  const act = event => choose(Number(event.target.value));
  return el("select", {id: "range-chosen", onchange: act}, options);
}

function countedValues(row) {
  const values = folded.metrics.filter(counted => !none(metric(row, counted.key)));
  const amount = counted => {
    const value = metric(row, counted.key);
    return inUnit(counted.unit)(isSum(counted) ? perStep(row, value) : value);
  };
  return {
    values,
    make: () => table("Counted values", [
      {label: "Metric", get: counted => counted.key, text: true},
      {label: "Value", title: "Of a mean " + unit, about: aboutCounted, get: amount},
      {label: "Level", get: counted => counted.level, text: true},
      {label: "Meaning", get: counted => counted.meaning, text: true},
    ], values),
  };
}

/** Fills the box of counted values; it stays open where it was. */
function drawValues(box, row) {
  const {values, make} = countedValues(row);
  const wasOpen = Boolean(box.querySelector("details[open]"));
  const open = !hasLevels && !kernelRows.length || wasOpen;
  if (values.length) {
    const whose = row.depth ? row.path : "the run";
    const caption = "All counted values of " + whose + ", of a " + unit;
    box.replaceChildren(details(caption, make, open));
  } else if (folded.metrics.length) {
    box.replaceChildren(el("p", {}, "Nothing was counted in this range."));
  } else {
    box.replaceChildren("");
  }
}

function aboutLevels() {
  if (hasLevels) {
    return "Bytes of a " + unit + " from the instructions to the memory of the device; the redder,"
      + " the nearer to the peak. % of peak: the use of this unit; L2 can be nearer to its peak"
      + " than its bytes show. Hits: what was found in that level.";
  }
  return data.traced
    ? "counters=memory+roofline adds the picture of bytes, hit rates and shares of peaks from SM"
      + " to " + memoryName + "."
    : null;
}

const aboutText = text => text ? el("p", {class: "about"}, text) : null;

/** What limits a range, and what helps; what would tell it where nothing was counted. */
function limitSentence(row) {
  const limit = limitOf(row);
  if (limit) {
    const wait = waitOf(row.folded);
    const help = helpOf(row);
    return "Limiter: " + (wait ? "latency; " + wait : limit) + "."
      + (help ? " Helps: " + help + "." : "");
  }
  return row.gpu_busy_ns > 0 ? "Limiter not counted: " + busyKinds["not known"].helps + "." : "";
}

function leftOutKernels() {
  const left = data.kernels.total - kernelRows.length;
  if (left <= 0) return null;
  return aboutText(count(left) + " more rows of kernels, with " + time(data.kernels.rest_ns)
    + " of the run, are in kernels.csv.");
}

/** A figure of kernels with its heading and numbers. */
const kernelFigure = (title, figure, make) =>
  el("div", {}, el("h3", {}, title), figure, numbersOfFigure(make));

const binTable = (name, label, bins) => table(name, [
  {label, get: bin => bin.label, text: true},
  {
    label: "Time",
    title: aboutFigure("GPU time of these kernels", "Their sum in a mean " + unit, "kernels.csv"),
    get: bin => time(bin.value),
  },
], bins);

function kernelFigures() {
  const mine = () => kernelsIn(chosen);
  const multiprocessors = new Set(data.devices.map(device => device.multiprocessors));
  const sms = multiprocessors.size === 1
    ? "; the GPU has " + data.devices[0].multiprocessors + " SMs"
    : "";
  const drawFill = (box, width) => drawHistogram(box, width, fillBins(mine()),
    "% of the GPU that grids and blocks can fill, by time");
  const drawGrids = (box, width) => drawHistogram(box, width, gridBins(mine()),
    "blocks of a launch, by time" + sms);
  const isKnown = kernelRows.some(kernel => !none(kernel.step_gpu_fill));
  const fill = isKnown ? chart(drawFill, 170) : null;
  const grids = chart(drawGrids, 170);
  const fillTable = () => binTable("Time by GPU fill", "GPU fill", fillBins(mine()));
  const gridTable = () => binTable("Time by blocks", "Blocks", gridBins(mine()));
  return {
    figures: [fill, grids].filter(Boolean),
    box: el("div", {class: "two"},
      fill ? kernelFigure("How much of the GPU they can fill", fill, fillTable) : null,
      kernelFigure("Sizes of grids", grids, gridTable)),
  };
}

/** The places of ranges that have something to show: kernels, or counted values. */
function tellingPlaces() {
  const places = new Set(folded.rows.filter(row => row.counted.some(value => !none(value)))
    .map(row => row.place));
  for (const kernel of kernelRows) {
    for (let row = folded.rows[kernel.range]; row; row = folded.rows[row.parent]) {
      places.add(row.place);
    }
  }
  return places;
}

/** Whether a row stands for many ranges that there was no room for, or lies below such a one. */
function isMany(row) {
  const names = row.path.split("/");
  return names.some(name => ["[deeper]", "[other names]", "[other ranges]"].includes(name));
}

/** The range that is shown first: of those with something the hottest, with most time itself. */
function longestRange() {
  const telling = tellingPlaces();
  const rows = folded.rows.filter(row => row.depth);
  const shown = rows.filter(row => telling.has(row.place) && !isMany(row));
  const gpu = row => selfOf(row, gpuTimeOfRun) * (inNoStep(row) ? 1e-6 : 1);
  const compare = (a, b) =>
    gpu(b) - gpu(a) || b.host_total_ns - a.host_total_ns || a.place - b.place;
  return (shown.length ? shown : rows).sort(compare)[0];
}

function oneRange() {
  if (!kernelRows.length && !folded.metrics.length) return;
  const first = longestRange();
  chosen = first ? first.place : 0;
  const select = rangePicker();
  const heading = el("h3", {"aria-live": "polite"});
  const limit = el("p", {id: "range-limit"});
  const valuesBox = el("div", {});
  const kernelsBox = el("div", {});
  const drawLevels = (box, width) => {
    const row = folded.rows[chosen];
    box.replaceChildren(new MemoryChart(width, row).draw());
  };
  const levels = hasLevels ? chart(drawLevels, 130) : null;
  const levelNumbers = el("div", {});
  const units = unitBars();
  const kernels = kernelRows.length ? kernelFigures() : {figures: [], box: null};
  const drawKernels = list => {
    if (!kernelRows.length) return;
    const nothing = el("p", {}, "This range launched no kernel.");
    kernelsBox.replaceChildren(list.length ? kernelTable(list) : nothing);
  };
  const redraw = () => {
    const row = folded.rows[chosen];
    const list = kernelsIn(chosen);
    select.value = chosen;
    heading.textContent = row.depth ? row.path : "The whole run";
    limit.textContent = limitSentence(row);
    for (const figure of [levels, ...kernels.figures]) {
      if (figure) figure.redraw();
    }
    if (levels) levelNumbers.replaceChildren(numbersOfFigure(() => memoryTable(row)));
    if (units) units.redraw(row);
    drawKernels(list);
    drawValues(valuesBox, row);
    for (const figure of kernels.figures) figure.parentNode.hidden = !list.length;
  };
  const title = kernelRows.length ? "memory and kernels" : "counted values";
  section("range", "One range: " + title, null,
    el("div", {class: "controls"}, el("label", {}, "Range", select)),
    heading,
    limit,
    aboutText(aboutLevels()),
    levels,
    levels ? levelNumbers : null,
    units,
    valuesBox,
    kernelRows.length ? [
      el("h3", {}, "Kernels"),
      aboutText("Launches, GPU time and GPU fill are of " + meanSteps() + ". GPU fill: how much of"
        + " the SMs the sizes of grid and blocks can keep busy."),
      kernelsBox,
      leftOutKernels(),
      kernels.box,
    ] : null);
  listeners.push(redraw);
  redraw();
}
