"use strict";
// Memory in use over the run, what lives at the end, and what steps allocate.

// What a program names its memory for says most, so that comes first.
const memoryOrders = {
  by_purpose: {label: "by purpose, device memory", about: "by purpose"},
  by_range: {label: "by range, device memory", about: "by the range that allocated it"},
  by_kind: {label: "by kind, pinned memory too", about: "by kind"},
};

/** The names of the parts; the last one may be of all others. */
function partNames(set) {
  const named = set.series.map(part =>
    typeof part === "number" ? shortTitle(part) : part.replace(/_/g, " "));
  return set.others ? [...named, some(set.others, "other")] : named;
}

function partPaint(set, i) {
  if (i >= set.series.length) return "var(--rest)";
  const part = set.series[i];
  return typeof part === "number" ? color(part) : "var(--range-" + i % colourCount + ")";
}

const inUse = point => sum(point.slice(1), value => Math.max(0, value));

/** The parts of a set at its peak, the largest first: {name, value, share}. */
function holdersOf(set, names) {
  const peak = set.points.reduce((most, point) => inUse(point) > inUse(most) ? point : most);
  const total = inUse(peak) || 1;
  return names.map((name, i) => ({name, value: peak[i + 1] || 0}))
    .filter(part => part.value > 0)
    .sort((a, b) => b.value - a.value)
    .map(part => ({...part, share: part.value / total}));
}

/** What a range and those below it have in use: [time, bytes], of the ranges that have a part. */
function memoryOfRange(place) {
  const {series, points} = data.memory.by_range;
  const mine = series.map((part, i) => isWithin(part, place) ? i + 1 : 0).filter(Boolean);
  return mine.length ? points.map(point => [point[0], sum(mine, i => point[i])]) : [];
}

/** The corners of a line of steps: [x, y] for each value, and where the next begins. */
function stairs(points, values, x, y) {
  return values.flatMap((value, i) => {
    const corner = [x(points[i][0]), y(value)];
    return i ? [[corner[0], y(values[i - 1])], corner] : [corner];
  });
}

/** Draws the bytes of each part on top of each other. */
class MemoryDrawing {
  constructor(width, order) {
    const [left, right, top, bottom] = [74, 10, 16, 26];
    this.set = data.memory[order];
    this.order = order;
    this.width = width;
    this.height = 240;
    this.box = {left, top, end: width - right, floor: this.height - bottom};
    this.most = Math.max(1, ...this.set.points.map(point => sum(point.slice(1), value => value)));
    this.svg = sv("svg", {
      width,
      height: this.height,
      id: "memory-figure",
      role: "img",
      "aria-label": "Memory in use over the run, " + memoryOrders[order].about
        + ". The numbers are in the table below.",
    });
  }

  x(ns) {
    return this.box.left + ns / (data.end_ns || 1) * (this.box.end - this.box.left);
  }

  y(value) {
    return this.box.floor - value / this.most * (this.box.floor - this.box.top);
  }

  draw(names) {
    this.drawAxes();
    let base = this.set.points.map(() => 0);
    names.forEach((name, i) => {
      base = this.drawPart(name, i, base);
    });
    this.drawPeak();
    if (isChosen && chosen && this.order !== "by_kind") this.drawChosen();
    return this.svg;
  }

  drawAxes() {
    const {left, end} = this.box;
    for (const mark of byteMarks(this.most, 5)) {
      const y = this.y(mark);
      this.svg.append(
        sv("line", {x1: left, x2: end, y1: y, y2: y, class: "grid"}),
        sv("text", {x: left - 6, y: y + 4, "text-anchor": "end", class: "soft"}, bytes(mark)));
    }
    for (const mark of timeMarks(0, data.end_ns || 1, (end - left) / 110)) {
      const x = this.x(mark.ns);
      const room = textWidth(mark.text) / 2;
      const anchor = x - room < left ? "start" : x + room > this.width ? "end" : "middle";
      const place = {x, y: this.height - 8, "text-anchor": anchor, class: "soft tick"};
      this.svg.append(sv("text", place, mark.text));
    }
  }

  /** What the chosen range has in use is a line of its own. */
  drawChosen() {
    const points = memoryOfRange(chosen);
    if (!points.length) return;
    const values = points.map(point => point[1]);
    const corners = stairs(points, values, ns => this.x(ns), value => this.y(value));
    this.svg.append(sv("polyline", {
      points: corners.map(corner => corner.join(",")).join(" "),
      class: "chosen-line",
      "data-peak": Math.max(...values),
      ...hovered(titleOf(chosen) + "\npeak " + bytes(Math.max(...values))),
    }));
  }

  /** Draws a part on top of others; returns where the next one begins. */
  drawPart(name, i, base) {
    const {points} = this.set;
    const amount = point => point[i + 1] || 0;
    const upper = points.map((point, n) => base[n] + Math.max(0, amount(point)));
    const line = values => stairs(points, values, ns => this.x(ns), value => this.y(value));
    const corners = [...line(upper), ...line(base).reverse()];
    const peak = bytes(Math.max(...points.map(amount)));
    this.svg.append(sv("polygon", {
      points: corners.map(corner => corner.join(",")).join(" "),
      fill: partPaint(this.set, i),
      "fill-opacity": 0.85,
      class: typeof this.set.series[i] === "number" ? lookOf(this.set.series[i]) : undefined,
      ...hovered(name + "\npeak " + peak),
    }));
    return upper;
  }

  /** The peak is of device memory; it is not one of all kinds. */
  drawPeak() {
    const {peak_bytes: peak, peak_at_ns: when} = data.memory;
    if (this.order === "by_kind" || !(peak > 0) || peak > this.most * 1.001) return;
    const {left, top, end, floor} = this.box;
    const x = this.x(when);
    const place = {x: Math.min(end - 110, Math.max(left, x + 4)), y: top - 4};
    const line = {x1: x, x2: x, y1: top - 4, y2: floor, class: "axis", "stroke-dasharray": "3 3"};
    this.svg.append(sv("line", line), sv("text", place, "peak " + bytes(peak)));
  }
}

/** Allocations by range and kind, as objects; numbers and bytes of all of them come first. */
const memoryTotals = ({totals}) =>
  totals.map(([range, kind, , , liveCount, liveSize, laterCount, laterSize]) =>
    ({range, kind, liveCount, liveSize, laterCount, laterSize}));

/** What a number of the memory is; the file has all allocations. */
const aboutMemoryOf = (help, formula) => aboutFigure(help, formula, "Computed of memory.csv");

/** Whether a row is of the chosen range. */
const isOfChoice = total => isChosen && chosen > 0 && isWithin(total.range, chosen);

const rangeColumn = {
  label: "Range",
  get: total => titleOf(total.range),
  text: true,
};
const kindColumn = {label: "Kind", get: total => total.kind.replace(/_/g, " "), text: true};

function liveTable(totals) {
  const live = totals.filter(total => total.liveCount > 0);
  if (!live.length) return el("p", {}, "Everything that was allocated was released.");
  return table("Memory that was not released", [
    rangeColumn,
    kindColumn,
    {
      label: "Allocations",
      title: aboutMemoryOf("Allocations that were not released at the end"),
      get: total => count(total.liveCount),
    },
    {
      label: "Bytes",
      title: aboutMemoryOf("What they hold at the end"),
      get: total => bytes(total.liveSize),
    },
  ], live, {}, isOfChoice);
}

function stepTable(totals, steps) {
  const inSteps = totals.filter(total => total.laterCount > 0)
    .sort((a, b) => b.laterCount - a.laterCount || a.range - b.range);
  if (!inSteps.length) return el("p", {}, "No step but the first allocated memory.");
  const later = Math.max(1, steps - 1);
  return table("Allocations in steps", [
    rangeColumn,
    kindColumn,
    {
      label: "Allocations a step",
      title: aboutMemoryOf("Allocations in a step", "Those after the first step / " + later),
      get: total => count(total.laterCount / later),
    },
    {
      label: "Bytes a step",
      title: aboutMemoryOf("Allocated in a step", "What is after the first step / " + later),
      get: total => bytes(total.laterSize / later),
    },
  ], inSteps, {}, isOfChoice);
}

function purposeTable({purposes, mean_steps: steps, peak_bytes: peak}) {
  if (!purposes) return null;
  const per = steps ? "step" : "run";
  const about = steps ? "Allocated and released: in " + meanSteps(steps) + "." : "";
  const rows = purposes.map(([name, allocated, released, live, most, atPeak]) =>
    ({name, allocated, released, live, most, atPeak}));
  const column = (label, get, help, formula) =>
    ({label, get, title: aboutMemoryOf(help, formula)});
  const share = row => shareText(100 * row.atPeak / (peak || 1));
  return [el("h3", {}, "By purpose"), aboutText(about), table("Device memory by purpose", [
    {label: "Purpose", get: row => row.name, text: true},
    column("At the peak of all", row => bytes(row.atPeak),
      "In use when all purposes together had most"),
    column("% of that", share, "Part of the peak", "At the peak of all / " + bytes(peak)),
    column("Its peak", row => bytes(row.most), "Most that was in use at one time"),
    column("Never released", row => bytes(row.live), "In use at the end"),
    column("Allocated a " + per, row => bytes(row.allocated), "Allocated in a mean " + per),
    column("Released a " + per, row => bytes(row.released), "Released in a mean " + per),
  ], rows)];
}

function memoryNumbers(set, names) {
  const title = aboutMemoryOf("In use at this time");
  const amounts = names.map((name, i) =>
    ({label: name, title, get: point => bytes(point[i + 1] || 0)}));
  const when = {label: "Time", get: point => time(point[0]), text: true};
  return numbersOfFigure(() => table("Memory over time", [when, ...amounts], set.points));
}

function aboutMemory({allocations, peak_bytes: peak, older}) {
  const releases = some(older, "release") + " of what was allocated before";
  return some(allocations, "allocation") + "; at most " + bytes(peak)
    + " of device memory at one time" + (older ? "; " + releases : "") + ".";
}

/** Who held the peak, and what the chosen range has of it. */
function peakNote(set, names, order) {
  const shown = holdersOf(set, names).filter(part => part.share > 0.001).slice(0, 5)
    .map(part => part.name + " " + bytes(part.value) + " (" + percent(100 * part.share) + ")");
  const held = "At the peak: " + shown.join(", ") + ".";
  if (!isChosen || !chosen || order === "by_kind") return held;
  const mine = memoryOfRange(chosen);
  const most = Math.max(0, ...mine.map(point => point[1]));
  return held + " " + titleOf(chosen) + (mine.length
    ? " has " + bytes(most) + " at most: the line."
    : " is none of the ranges that have a part.");
}

/** What was never released, largest first. */
function neverReleased(totals) {
  const live = totals.filter(total => total.liveCount > 0);
  const size = sum(live, total => total.liveSize);
  return size > 0 ? bytes(size) + " in " + some(sum(live, total => total.liveCount), "allocation")
    + " was never released" : null;
}

function memory() {
  const recorded = data.memory;
  if (!recorded) return;
  const keys = Object.keys(memoryOrders).filter(key => recorded[key]);
  let [order] = keys;
  const note = el("p", {class: "about", role: "status"});
  const legend = legendList("Parts of the figure");
  const numbers = el("div", {});
  const figure = chart((box, width) => {
    const set = recorded[order];
    const names = partNames(set);
    const chooseSeries = part => {
      if (typeof part === "number") choose(part);
    };
    box.replaceChildren(new MemoryDrawing(width, order).draw(names));
    legend.fill(names.map((name, i) =>
      legendItem(partPaint(set, i), name, () => chooseSeries(set.series[i]))));
    note.textContent = peakNote(set, names, order);
    numbers.replaceChildren(memoryNumbers(set, names));
  }, 240);
  const setOrder = value => {
    order = value;
    figure.redraw();
  };
  const orders = keys.map(key => [key, memoryOrders[key].label]);
  const totals = memoryTotals(recorded);
  const tables = el("div", {class: "two"});
  const drawTables = () => tables.replaceChildren(
    el("div", {}, el("h3", {}, "Never released"), aboutText(sentence(neverReleased(totals))),
      liveTable(totals)),
    hasSteps
      ? el("div", {}, el("h3", {}, "Allocated in steps after the first"),
          stepTable(totals, recorded.steps))
      : "");
  const more = count(recorded.left_out) + " more ranges are in memory.csv.";
  section("memory", "Memory", aboutMemory(recorded),
    el("div", {class: "controls"}, picker("Parts", orders, setOrder)),
    figure, note, legend, numbers,
    purposeTable(recorded),
    tables,
    recorded.left_out ? el("p", {class: "about"}, more) : null);
  drawTables();
  listeners.push(() => {
    figure.redraw();
    drawTables();
  });
}
