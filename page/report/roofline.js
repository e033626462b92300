"use strict";
// The roofline: a circle is a range, between what its operations and its bytes allow.

// Where a range is counted, what it declares has no circle beside that.
const isCounted = new Set(answer.points.filter(point => point.evidence === "counted")
  .map(point => point.range + point.level));
const circles = answer.points.filter(point =>
  point.evidence === "counted" || !isCounted.has(point.range + point.level));

const rooflineMargin = {left: 58, right: 16, top: 14, bottom: 42};
const rooflineHalo = "paint-order:stroke;stroke:var(--card);stroke-width:3px";

/** Where a roof's rate is from, unless it was counted. */
function originOf(roof) {
  if (roof.origin === "counted") return "";
  const day = roof.measured_at ? " " + roof.measured_at.slice(0, 10) : "";
  return " (" + roof.origin + day + ")";
}

function describePoint(point) {
  const atRoof = shareText(100 * point.time_at_roof_ns / point.time_ns);
  const limit = limitOf(folded.rows[point.range]);
  return titleOf(point.range) + "\n" + digits(point.flop_per_byte) + " FLOP/B of " + point.level
    + ", " + rate("FLOP/s")(point.flop_per_second) + "\n" + time(point.time_ns) + " a " + unit
    + "; at the roof " + time(point.time_at_roof_ns) + (atRoof && " (" + atRoof + ")")
    + (limit ? "\nLimiter: " + limit : "") + "\n" + point.evidence
    + (point.above_roof ? "\nAbove a roof: units, clocks or declarations are wrong." : "");
}

/** Draws the roofline of one level of memory at one width. */
class RooflineDrawing {
  constructor(width, state, roofs, all, list) {
    this.width = width;
    this.height = Math.min(520, Math.max(320, width * 0.52));
    this.state = state;
    this.all = all;
    this.list = list;
    this.nameless = [];
    this.memory = roofs.find(roof => roof.memory && roof.name === state.level);
    this.compute = roofs.filter(roof => !roof.memory && roof.rate > 0)
      .sort((a, b) => b.rate - a.rate);
    this.placeAxes();
    this.svg = sv("svg", {
      width,
      height: this.height,
      id: "roofline-figure",
      role: "group",
      "aria-label": "Roofline of " + state.level + ", both axes logarithmic",
    });
    const longest = Math.max(...all.map(point => point.time_ns));
    this.radius = point => 4 + 12 * Math.sqrt(point.time_ns / longest);
    // What has a place already: circles, roofs and labels.
    this.taken = list.map(point => this.boxOf(point));
  }

  placeAxes() {
    const {left, right, top, bottom} = rooflineMargin;
    const {compute, all} = this;
    this.end = this.width - right;
    this.floor = this.height - bottom;
    const hasRidge = this.memory && compute.length > 0;
    this.ridge = hasRidge ? compute[0].rate / this.memory.rate : all[0].flop_per_byte;
    const across = [...all.map(point => point.flop_per_byte), this.ridge, this.ridge * 4];
    const upwards = [...all.map(point => point.flop_per_second), ...compute.map(roof => roof.rate)];
    this.x = logAxis(across, left, this.end);
    this.y = logAxis(upwards, this.floor, top);
  }

  boxOf(point) {
    const radius = this.radius(point);
    return {
      x: this.x.at(point.flop_per_byte) - radius,
      y: this.y.at(point.flop_per_second) + 4,
      wide: 2 * radius,
      high: radius + 5,
    };
  }

  draw() {
    this.drawAxes();
    this.takeSlantedRoof();
    this.compute.forEach(roof => this.drawFlatRoof(roof));
    if (this.memory) this.drawSlantedRoof();
    this.drawNames();
    this.list.forEach(point => this.svg.append(this.circle(point)));
    return this.svg;
  }

  drawAxes() {
    const {left, top} = rooflineMargin;
    const {svg, x, y, end, floor} = this;
    for (const power of x.powers) {
      const place = x.at(10 ** power);
      const anchor = place > end - 16 ? "end" : "middle";
      const text = power < -2 || power > 4 ? "1e" + power : String(+(10 ** power).toFixed(2));
      svg.append(
        sv("line", {x1: place, x2: place, y1: top, y2: floor, class: "grid"}),
        sv("text", {x: place, y: floor + 16, "text-anchor": anchor, class: "soft"}, text));
    }
    for (const power of y.powers) {
      const place = y.at(10 ** power);
      const text = scaled(10 ** power, 1000, ["", " k", " M", " G", " T", " P"]);
      svg.append(
        sv("line", {x1: left, x2: end, y1: place, y2: place, class: "grid"}),
        sv("text", {x: left - 6, y: place + 4, "text-anchor": "end", class: "soft"}, text));
    }
    const middle = {x: (left + end) / 2, y: this.height - 6, "text-anchor": "middle"};
    svg.append(
      sv("text", middle, "FLOP per byte of " + this.state.level),
      sv("text", {x: left + 4, y: top - 2, class: "soft"}, "FLOP/s"));
  }

  /** Writes a text at the first free one of its places; returns whether there was one. */
  label(text, places, attributes) {
    const wide = textWidth(text);
    const place = freePlace(places(wide), wide, rooflineMargin.left, this.end, this.taken);
    if (!place) return false;
    this.taken.push({...place, wide});
    this.svg.append(sv("text", {...place, style: rooflineHalo, ...attributes}, text));
    return true;
  }

  /** No label lies on the slanted roof. */
  takeSlantedRoof() {
    if (!this.memory) return;
    const hasCompute = this.compute.length > 0;
    this.slant = slantedRoof(this.memory.rate, this.ridge, hasCompute, this.x, this.y);
    const {start, end} = this.slant;
    for (let i = 0; i <= 24; i += 1) {
      const value = start * (end / start) ** (i / 24);
      const y = this.y.at(this.memory.rate * value) + 4;
      this.taken.push({x: this.x.at(value) - 3, y, wide: 6, high: 8});
    }
  }

  drawFlatRoof(roof) {
    const first = 10 ** this.x.low;
    const from = this.memory ? Math.max(first, roof.rate / this.memory.rate) : first;
    if (from >= 10 ** this.x.high) return;
    const begin = this.x.at(from);
    const y = this.y.at(roof.rate);
    const line = {x1: begin, x2: this.end, y1: y, y2: y, class: "roof"};
    this.svg.append(sv("line", line, sv("title", {}, roof.name)));
    const text = roof.name + " " + rate("FLOP/s")(roof.rate) + originOf(roof);
    const isNamed = this.label(text, wide => [
      {x: this.end - 2 - wide, y: y - 5},
      {x: this.end - 2 - wide, y: y + 13},
      {x: begin + 8, y: y - 5},
    ]);
    if (!isNamed) this.nameless.push(text);
  }

  drawSlantedRoof() {
    const {start, end} = this.slant;
    const place = value => ({x: this.x.at(value), y: this.y.at(this.memory.rate * value)});
    const first = place(start);
    const last = place(end);
    const middle = place(Math.sqrt(start * end));
    const angle = -Math.atan2(first.y - last.y, last.x - first.x) * 180 / Math.PI;
    const text = this.state.level + " " + rate("B/s")(this.memory.rate) + originOf(this.memory);
    this.svg.append(
      sv("line", {x1: first.x, y1: first.y, x2: last.x, y2: last.y, class: "roof"}),
      sv("text", {
        x: middle.x,
        y: middle.y - 7,
        "text-anchor": "middle",
        style: rooflineHalo,
        transform: "rotate(" + angle + " " + middle.x + " " + middle.y + ")",
      }, text));
  }

  isDim(point) {
    return this.state.alone !== null && this.state.alone !== point.range;
  }

  /** The names of the longest ranges, where there is room beside their circles. */
  drawNames() {
    for (const point of this.list.slice(0, this.width < 560 ? 8 : 24)) {
      const away = this.radius(point) + 2;
      const x = this.x.at(point.flop_per_byte);
      const y = this.y.at(point.flop_per_second);
      const places = wide => [
        {x: x + away, y: y + 4},
        {x: x - away - wide, y: y + 4},
        {x: x - wide / 2, y: y + away + 11},
        {x: x - wide / 2, y: y - away - 3},
      ];
      const style = {class: this.isDim(point) && "dim", "aria-hidden": "true"};
      this.label(lastName(titleOf(point.range)), places, style);
    }
  }

  circle(point) {
    const isSure = point.evidence === "counted";
    const edge = isSure ? "var(--card)" : "var(--text)";
    const text = describePoint(point);
    return sv("circle", {
      cx: this.x.at(point.flop_per_byte),
      cy: this.y.at(point.flop_per_second),
      r: this.radius(point),
      fill: color(point.range),
      "fill-opacity": 0.82,
      stroke: point.above_roof ? "var(--warn)" : edge,
      "stroke-width": point.above_roof ? 3 : 1.2,
      "stroke-dasharray": isSure ? undefined : "3 2",
      class: this.isDim(point) ? "dim" : lookOf(point.range),
      "data-range": point.range,
      role: "button",
      "aria-pressed": String(this.state.alone === point.range),
      "aria-label": text,
      ...hinted(text),
      ...pressed(() => this.state.isolate(point.range)),
    });
  }
}

function rooflineNote(drawing) {
  const {all, list, state, nameless} = drawing;
  const covered = sum(list, point => point.time_ns);
  const whole = sum(all, point => point.time_ns);
  return count(list.length) + " of " + count(all.length) + " ranges"
    + (state.alone === null ? "" : "; " + titleOf(state.alone) + " stands alone")
    + (covered < whole ? ", with " + shareText(100 * covered / whole) + " of their time" : "") + "."
    + (nameless.length ? " Roofs without room for a name: " + nameless.join(", ") + "." : "");
}

const rooflineNumbers = () => table("Numbers of the roofline", [
  {label: "Range", get: point => titleOf(point.range), text: true},
  {label: "Level", get: point => point.level, text: true},
  {label: "FLOP a " + unit, get: point => count(point.flops)},
  {label: "Bytes a " + unit, get: point => bytes(point.bytes)},
  {label: "FLOP/B", get: point => digits(point.flop_per_byte)},
  {label: "FLOP/s", get: point => rate("FLOP/s")(point.flop_per_second)},
  {label: "Time", get: point => time(point.time_ns)},
  {label: "Time at the roof", get: point => time(point.time_at_roof_ns)},
  {label: "Limiter", get: point => limitOf(folded.rows[point.range]), text: true},
  {label: "From", get: point => point.evidence, text: true},
], answer.points);

/** The points of ranges below which no other range has a point. */
function innermostPoints(points) {
  const withPoints = new Set(points.map(point => point.range));
  const hasInner = row =>
    row.children.some(child => withPoints.has(child.place) || hasInner(child));
  return points.filter(point => !hasInner(folded.rows[point.range]));
}

function noRoofline() {
  if (!data.traced) return;
  section("roofline", "Roofline", "No range has both operations and bytes. counters=roofline+flops"
    + " counts them (tensor for tensor cores), or a range declares them: strata::flops(f),"
    + " strata::bytes(b).");
}

function rooflineControls(state, levels, hasOuter, redraw) {
  const part = el("span", {}, "100 %");
  const setPart = event => {
    state.part = Number(event.target.value);
    part.textContent = event.target.value + " %";
    redraw();
  };
  const setLevel = value => {
    state.level = value;
    redraw();
  };
  const setAll = value => {
    state.all = Boolean(value);
    redraw();
  };
  const showAll = () => {
    state.alone = null;
    redraw();
  };
  const save = () => savePicture(byId("roofline-figure"), "roofline.png");
  const slider = {type: "range", id: "roofline-part", min: 5, max: 100, step: 5, value: 100};
  return el("div", {class: "controls"},
    levels.length > 1 ? picker("Bytes of", levels.map(level => [level, level]), setLevel) : null,
    hasOuter ? picker("Ranges", [["", "the innermost"], ["1", "all"]], setAll) : null,
    el("label", {}, "Most of the time, up to", el("input", {...slider, oninput: setPart}), part),
    button("Show all", showAll),
    button("Save as PNG", save, {id: "roofline-png"}));
}

function roofline() {
  if (!circles.length) {
    noRoofline();
    return;
  }
  const roofs = joinRoofs(answer.roofs);
  const inner = innermostPoints(circles);
  const levels = ["HBM", "L2", "L1"].filter(level => circles.some(point => point.level === level));
  const state = {level: levels[0], part: 100, alone: null, all: false};
  const numbers = el("div", {});
  const note = el("p", {class: "about", role: "status"});
  const legend = legendList("Ranges in the roofline");
  const toggle = range => {
    state.alone = state.alone === range ? null : range;
    figure.redraw();
  };
  const entry = point => legendItem(color(point.range), shortTitle(point.range),
    () => toggle(point.range), {"aria-pressed": String(state.alone === point.range)});
  const figure = chart((box, width) => {
    const all = (state.all ? circles : inner).filter(point => point.level === state.level);
    if (!all.length) {
      box.replaceChildren(el("p", {}, "No range has bytes of this level."));
      return;
    }
    const drawing = new RooflineDrawing(width, state, roofs, all, longestPoints(all, state.part));
    box.replaceChildren(drawing.draw());
    note.textContent = rooflineNote(drawing);
    legend.fill(drawing.list.slice(0, 24).map(entry));
    numbers.replaceChildren(numbersOfFigure(rooflineNumbers));
  }, 320);
  state.isolate = range => {
    toggle(range);
    if (state.alone !== null) choose(range);
    const again = figure.querySelector('[data-range="' + range + '"]');
    if (again) again.focus();
  };
  const about = "A range is a circle; its area grows with its time. The higher roof bounds"
    + " operations, the slanted one bytes: what lies on a roof is as fast as the device allows. A"
    + " click isolates a range. A dashed circle rests on declared work.";
  section("roofline", "Roofline", about,
    rooflineControls(state, levels, inner.length < circles.length, () => figure.redraw()),
    figure, note, legend, numbers);
  listeners.push(() => figure.redraw());
}
