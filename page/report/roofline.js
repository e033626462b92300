"use strict";
// The roofline: a mark is a range, between what its operations and its bytes allow.

const rooflineMargin = {left: 58, right: 16, top: 14, bottom: 42};
const rooflineHalo = "paint-order:stroke;stroke:var(--card);stroke-width:3px";

/** Where a roof's rate is from, unless it was counted. */
function originOf(roof) {
  if (roof.origin === "counted") return "";
  const day = roof.measured_at ? " " + roof.measured_at.slice(0, 10) : "";
  return " (" + roof.origin + day + ")";
}

const nameOfPoint = point => point.kernel || titleOf(point.range);

function describePoint(point) {
  const atRoof = shareText(100 * point.time_at_roof_ns / point.time_ns);
  const limit = !point.kernel && limitOf(folded.rows[point.range]);
  const roofTime = none(point.time_at_roof_ns)
    ? ""
    : "; at the roof " + time(point.time_at_roof_ns) + (atRoof && " (" + atRoof + ")");
  return nameOfPoint(point) + "\n" + digits(point.flop_per_byte) + " FLOP/B of "
    + levelName(point.level) + ", " + rate("FLOP/s")(point.flop_per_second) + "\n"
    + time(point.time_ns) + " a " + unit + roofTime + (limit ? "\nLimiter: " + limit : "") + "\n"
    + point.evidence + (point.kernel ? " kernel of " + titleOf(point.range) : "")
    + (point.above_roof
      ? "\nAbove the roof: what is counted or declared, a clock or the peak is wrong."
      : "");
}

/** Draws the roofline of one level of memory, or of all together, at one width. */
class RooflineDrawing {
  /** `shown`: the levels, all points, the list of those that are drawn, and kernels. */
  constructor(width, state, shown) {
    Object.assign(this, {width, state}, roofsFor(shown.levels), shown);
    this.height = Math.min(560, Math.max(340, width * 0.52));
    this.nameless = [];
    this.placeAxes();
    const levels = this.levels.map(levelName).join(", ");
    this.svg = sv("svg", {
      width,
      height: this.height,
      id: "roofline-figure",
      role: "group",
      "aria-label": "Roofline of " + levels + ", both axes logarithmic",
    });
    const longest = Math.max(...this.all.map(point => point.time_ns));
    const most = this.levels.length > 1 ? 8 : 12;
    this.radius = point => 4 + most * Math.sqrt(Math.min(1, point.time_ns / longest));
    // What has a place already: marks, roofs and labels.
    this.taken = [...this.list, ...this.kernels].map(point => this.boxOf(point));
  }

  placeAxes() {
    const {left, right, top, bottom} = rooflineMargin;
    const {flat, slanted} = this;
    const points = [...this.all, ...this.kernels];
    this.end = this.width - right;
    this.floor = this.height - bottom;
    const ridges = flat.length ? slanted.map(roof => flat[0].rate / roof.rate) : [];
    const last = ridges.length ? 4 * Math.max(...ridges) : points[0].flop_per_byte;
    const across = [...points.map(point => point.flop_per_byte), ...ridges, last];
    const upwards = [
      ...points.map(point => point.flop_per_second),
      ...flat.map(roof => roof.rate),
    ];
    this.x = logAxis(across, left, this.end);
    this.y = logAxis(upwards, this.floor, top);
  }

  placeOf(point) {
    return {x: this.x.at(point.flop_per_byte), y: this.y.at(point.flop_per_second)};
  }

  boxOf(point) {
    const radius = this.radius(point);
    const {x, y} = this.placeOf(point);
    return {x: x - radius, y: y + 4, wide: 2 * radius, high: radius + 5};
  }

  draw() {
    this.drawAxes();
    this.drawRoofs();
    this.drawTies();
    this.drawNames();
    this.list.forEach(point => this.svg.append(this.mark(point)));
    this.kernels.forEach(point => this.svg.append(this.kernelMark(point)));
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
    const ofLevel = this.levels.length > 1 ? "a level" : levelName(this.levels[0]);
    svg.append(
      sv("text", middle, "FLOP per byte of " + ofLevel),
      sv("text", {x: left + 4, y: top - 2, class: "soft"}, "FLOP/s"));
  }

  /** Writes a text at the first free one of its places; returns whether there was one. */
  label(text, places, attributes, taken = this.taken) {
    const gap = 4;  // to the next text, in pixels
    const wide = textWidth(text);
    const place = freePlace(places(wide), wide, rooflineMargin.left, this.end, taken);
    if (!place) return false;
    this.taken.push({...place, x: place.x - gap, wide: wide + 2 * gap});
    this.svg.append(sv("text", {...place, style: rooflineHalo, ...attributes}, text));
    return true;
  }

  /** No name of a roof lies on a roof, another name or a mark. */
  drawRoofs() {
    const slanted = this.slanted.map(roof => this.slantedLine(roof));
    const flat = this.flat.map(roof => this.flatLine(roof)).filter(Boolean);
    for (const line of [...slanted, ...flat]) this.drawRoof(line);
    for (const line of slanted) {
      const others = [...slanted, ...flat].filter(other => other !== line);
      this.nameSlantedRoof(line, [...this.taken, ...others.flatMap(lineBoxes)]);
    }
    this.taken.push(...slanted.flatMap(lineBoxes));
    for (const line of flat) {
      const others = flat.filter(other => other !== line);
      this.nameFlatRoof(line, [...this.taken, ...others.flatMap(lineBoxes)]);
    }
  }

  slantedLine(roof) {
    const hasFlat = this.flat.length > 0;
    const ridge = hasFlat ? this.flat[0].rate / roof.rate : 0;
    const {start, end} = slantedRoof(roof.rate, ridge, hasFlat, this.x, this.y);
    const place = value => ({x: this.x.at(value), y: this.y.at(roof.rate * value)});
    const text = roof.name + " " + rate("B/s")(roof.rate) + originOf(roof);
    return {text, first: place(start), last: place(end)};
  }

  flatLine(roof) {
    const low = 10 ** this.x.low;
    const fastest = Math.max(0, ...this.slanted.map(other => other.rate));
    const from = fastest ? Math.max(low, roof.rate / fastest) : low;
    if (from >= 10 ** this.x.high) return null;
    const y = this.y.at(roof.rate);
    const text = roof.name + " " + rate("FLOP/s")(roof.rate) + originOf(roof);
    const last = {x: this.end, y};
    return {text, first: {x: this.x.at(from), y}, last, idle: roof.idle};
  }

  drawRoof({text, first, last, idle}) {
    const look = idle ? "roof unused" : "roof";
    const hint = text + (idle ? "\nNothing here used this format." : "");
    this.svg.append(sv("line", {
      x1: first.x, y1: first.y, x2: last.x, y2: last.y, class: look, "data-roof": text,
      ...hovered(hint),
    }));
  }

  /** Writes the name along the line, where it has room. */
  nameSlantedRoof({text, first, last}, taken) {
    const angle = Math.atan2(last.y - first.y, last.x - first.x);
    const wide = textWidth(text);
    const spare = Math.hypot(last.x - first.x, last.y - first.y) - wide - 16;
    const middles = [0.5, 0.3, 0.7, 0.1, 0.9].map(part => part * spare + wide / 2 + 8)
      .map(along => ({x: first.x + along * Math.cos(angle), y: first.y + along * Math.sin(angle)}));
    const isFree = boxes => !boxes.some(box => isCovered(box, box.wide, taken));
    const free = spare >= 0 && middles.find(at => isFree(slantedBoxes(at, angle, wide)));
    if (!free) {
      this.nameless.push(text);
      return;
    }
    this.taken.push(...slantedBoxes(free, angle, wide));
    this.svg.append(sv("text", {
      x: free.x,
      y: free.y - 6,
      "text-anchor": "middle",
      style: rooflineHalo,
      transform: "rotate(" + angle * 180 / Math.PI + " " + free.x + " " + free.y + ")",
    }, text));
  }

  nameFlatRoof({text, first: {x, y}, idle}, taken) {
    const isNamed = this.label(text, wide => [
      {x: this.end - 2 - wide, y: y - 5},
      {x: this.end - 2 - wide, y: y + 13},
      {x: x + 8, y: y - 5},
    ], {class: idle && "soft"}, taken);
    if (!isNamed) this.nameless.push(text);
  }

  isDim(point) {
    return this.state.alone !== null && this.state.alone !== point.range;
  }

  /** The points of each range, from the most to the fewest operations a byte. */
  byRange() {
    const lists = new Map();
    for (const point of this.list) {
      if (!lists.has(point.range)) lists.set(point.range, []);
      lists.get(point.range).push(point);
    }
    return [...lists.values()]
      .map(points => points.sort((a, b) => b.flop_per_byte - a.flop_per_byte));
  }

  /** What was counted of a range at several levels hangs together by a thin line. */
  drawTies() {
    for (const ofRange of this.byRange()) {
      const points = ofRange.filter(point => point.evidence !== "declared");
      if (points.length < 2) continue;
      const corners = points.map(point => this.placeOf(point)).map(({x, y}) => x + "," + y);
      const look = this.isDim(points[0]) ? "dim" : lookOf(points[0].range) === "pale" && "pale";
      this.svg.append(sv("polyline", {
        points: corners.join(" "),
        fill: "none",
        stroke: color(points[0].range),
        class: look,
      }));
    }
  }

  /** The names of the longest ranges and of kernels, where there is room beside their marks. */
  drawNames() {
    const longest = this.byRange().slice(0, this.width < 560 ? 8 : 24)
      .map(([point]) => [point, lastName(titleOf(point.range))]);
    const kernels = new Map(this.kernels.map(point => [point.kernel, point]));
    const counted = [...kernels].map(([name, point]) => [point, cutMiddle(name, 28)]);
    const named = [...longest, ...counted];
    for (const [point, name] of named) {
      const away = this.radius(point) + 2;
      const {x, y} = this.placeOf(point);
      const places = wide => [
        {x: x + away, y: y + 4},
        {x: x - away - wide, y: y + 4},
        {x: x - wide / 2, y: y + away + 11},
        {x: x - wide / 2, y: y - away - 3},
      ];
      const style = {class: !point.kernel && this.isDim(point) && "dim", "aria-hidden": "true"};
      this.label(name, places, style);
    }
  }

  outline(point) {
    const {x, y} = this.placeOf(point);
    return {
      d: markOutline(point.level, x, y, this.radius(point)),
      "data-level": point.level,
      "data-x": x,
    };
  }

  mark(point) {
    const isSure = point.evidence === "counted";
    const edge = isSure ? "var(--card)" : color(point.range);
    const text = describePoint(point);
    return sv("path", {
      ...this.outline(point),
      fill: color(point.range),
      "fill-opacity": isSure ? 0.82 : 0.25,
      stroke: point.above_roof ? "var(--warn)" : edge,
      "stroke-width": point.above_roof ? 3 : 1.2,
      "stroke-dasharray": isSure ? undefined : "3 2",
      class: this.isDim(point) ? "dim" : lookOf(point.range),
      "data-range": point.range,
      "data-key": point.range + point.level + point.evidence,
      role: "button",
      "aria-pressed": String(this.state.alone === point.range),
      "aria-label": text,
      ...hinted(text),
      ...pressed(() => this.state.isolate(point.range)),
    });
  }

  kernelMark(point) {
    return sv("path", {
      ...this.outline(point),
      fill: "var(--card)",
      "fill-opacity": 0.7,
      stroke: "var(--text)",
      "stroke-width": 1.6,
      "data-kernel": point.kernel,
      ...hovered(describePoint(point)),
    });
  }
}

function rooflineNote({all, list, kernels, state, nameless}) {
  const timesOf = points => sum([...new Map(points.map(point =>
    [point.range, point.time_ns])).values()], ns => ns);
  const countOf = points => new Set(points.map(point => point.range)).size;
  const [covered, whole] = [timesOf(list), timesOf(all)];
  const counted = new Set(kernels.map(point => point.kernel)).size;
  return countOf(list) + " of " + some(countOf(all), "range")
    + (state.alone === null ? "" : "; " + titleOf(state.alone) + " stands alone")
    + (covered < whole ? ", with " + shareText(100 * covered / whole) + " of their time" : "")
    + (counted ? "; " + some(counted, "kernel") + " of " + titleOf(chosen) : "") + "."
    + (nameless.length ? " Roofs without room for a name: " + nameless.join(", ") + "." : "");
}

/** A column of points, which says what its number is, how it comes about and where it is from. */
const pointColumn = (label, get, help, formula) => ({
  label,
  get,
  about: point => aboutFigure(help + (point.kernel ? ", of counted launches" : ", of a " + unit),
    formula, capital(point.evidence) + (point.kernel ? ", kernels.csv" : ", findings.json")),
});

const rooflineNumbers = kernels => table("Numbers of the roofline", [
  {label: "Range", get: nameOfPoint, text: true},
  {label: "Level", get: point => levelName(point.level), text: true},
  pointColumn("FLOP a " + unit, point => count(point.flops), "Operations of all formats"),
  pointColumn("Bytes a " + unit, point => bytes(point.bytes), "What this level moved"),
  pointColumn("FLOP/B", point => digits(point.flop_per_byte), "Operations for each byte",
    "FLOP / bytes"),
  pointColumn("FLOP/s", point => rate("FLOP/s")(point.flop_per_second), "Operations a second",
    "FLOP / time"),
  pointColumn("Time", point => time(point.time_ns), "GPU busy time"),
  pointColumn("Time at the roof", point => time(point.time_at_roof_ns), "The shortest time",
    "The longer of FLOP / peak FLOP/s and bytes / peak bytes/s of the level"),
  {
    label: "Limiter",
    get: point => point.kernel ? "" : limitOf(folded.rows[point.range]),
    text: true,
  },
  {label: "From", get: point => point.evidence + (point.kernel ? " kernel" : ""), text: true},
], [...rangePoints, ...kernels]);

function noRoofline() {
  if (!data.traced) return;
  section("roofline", "Roofline", "No range has both operations and bytes. counters=roofline+flops"
    + " counts them (tensor for tensor cores), or a range declares them: strata::flops(f),"
    + " strata::bytes(b).");
}

function rooflineControls(state, levels, hasOuter, redraw) {
  const set = change => value => {
    change(value);
    redraw();
  };
  const part = el("span", {}, "100 %");
  const setPart = set(value => {
    state.part = Number(value);
    part.textContent = value + " %";
  });
  const setLevel = set(value => {
    state.level = value;
  });
  const setAll = set(value => {
    state.all = Boolean(value);
  });
  const showAll = set(() => {
    state.alone = null;
  });
  const save = () => savePicture(byId("roofline-figure"), "roofline.png");
  const slider = {type: "range", id: "roofline-part", min: 5, max: 100, step: 5, value: 100};
  const choices = [["", "all levels"], ...levels.map(level => [level, levelName(level)])];
  const oninput = event => setPart(event.target.value);
  const find = filterBox("roofline-filter", set(words => {
    state.words = words;
  }));
  // Of one range there is nothing to choose.
  const ofRanges = new Set(rangePoints.map(point => point.range)).size > 1 ? [
    el("label", {}, "Most of the time, up to", el("input", {...slider, oninput}), part),
    find,
    button("Show all", showAll),
  ] : [];
  return el("div", {class: "controls"},
    levels.length > 1 ? picker("Bytes of", choices, setLevel, {id: "roofline-level"}) : null,
    hasOuter
      ? picker("Ranges", [["", "the innermost"], ["1", "all"]], setAll, {id: "roofline-ranges"})
      : null,
    ...ofRanges,
    button("Save as PNG", save, {id: "roofline-png"}));
}

/** What the marks mean. */
function markLegend(box, levels, points) {
  const sample = (level, attributes) => sv("svg", {width: 16, height: 14, "aria-hidden": "true"},
    sv("path", {d: markOutline(level, 8, 7, 5), ...attributes}));
  const filled = {fill: "var(--soft)"};
  const entry = (picture, text) => el("li", {class: "mark"}, picture, " " + text);
  const isDeclared = points.some(point => point.evidence !== "counted");
  const dashed = {fill: "none", stroke: "var(--text)", "stroke-dasharray": "3 2"};
  const hollow = {fill: "var(--card)", stroke: "var(--text)", "stroke-width": 1.6};
  const hasKernels = points.some(point => point.kernel);
  box.replaceChildren(
    ...levels.map(level => entry(sample(level, filled), levelName(level))),
    ...isDeclared ? [entry(sample(memoryName, dashed), "declared work")] : [],
    ...hasKernels ? [entry(sample(memoryName, hollow), "a kernel of the chosen range")] : []);
}

function roofline() {
  if (!rangePoints.length) {
    noRoofline();
    return;
  }
  const inner = innermostPoints(rangePoints);
  const levels = levelsIn(rangePoints);
  const state = {level: "", part: 100, alone: null, all: false, words: ""};
  const numbers = el("div", {});
  const note = el("p", {class: "about", role: "status"});
  const legend = legendList("Ranges in the roofline");
  const marks = el("ul", {class: "legend", "aria-label": "Marks of the roofline"});
  const toggle = range => {
    state.alone = state.alone === range ? null : range;
    figure.redraw();
  };
  const entry = range => legendItem(color(range), shortTitle(range),
    () => toggle(range), {"aria-pressed": String(state.alone === range)});
  const figure = chart((box, width) => {
    const shown = levels.filter(level => !state.level || level === state.level);
    const isShown = point => shown.includes(point.level);
    const all = (state.all ? rangePoints : inner).filter(isShown);
    if (!all.length) {
      box.replaceChildren(el("p", {}, "No range has bytes of this level."));
      return;
    }
    const kernels = isChosen && chosen ? kernelPoints(chosen).filter(isShown) : [];
    const list = longestPoints(all, state.part).filter(point => hasWords(point.range, state.words));
    const drawing = new RooflineDrawing(width, state, {levels: shown, all, list, kernels});
    box.replaceChildren(drawing.draw());
    note.textContent = rooflineNote(drawing);
    legend.fill([...new Set(list.map(point => point.range))].slice(0, 24).map(entry));
    markLegend(marks, shown, [...list, ...kernels]);
    numbers.replaceChildren(numbersOfFigure(() => rooflineNumbers(kernels)));
  }, 320);
  state.isolate = range => {
    toggle(range);
    if (state.alone !== null) choose(range);
  };
  const hasUnused = roofsFor([]).flat.some(roof => roof.idle);
  const about = "A range is a mark; its area grows with its time. The higher roof bounds"
    + " operations, the slanted one bytes: what lies on a roof is as fast as the device allows. A"
    + " click isolates a range."
    + (hasUnused ? " A dashed roof is of a format that nothing here used." : "");
  section("roofline", "Roofline", about,
    rooflineControls(state, levels, inner.length < rangePoints.length, () => figure.redraw()),
    figure, marks, note, legend, numbers);
  listeners.push(() => figure.redraw());
}
