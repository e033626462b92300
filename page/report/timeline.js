"use strict";
// The timeline: what threads and streams did in one step.

const barHeight = 20;
const barLine = barHeight + 3;
const axisHeight = 22;
const nameLine = 15;

/** More arrows than these cannot be distinguished. */
const mostArrows = 300;

/** Nanoseconds that are shown at the deepest zoom. */
const deepestZoom = 50;

function windowTitle(shown) {
  if (none(shown.step)) return shown.what;
  const what = shown.what ? shown.what + ", " : "";
  return "step " + shown.step + " (" + what + time(shown.length_ns) + ")";
}

/** Which steps of the recording are here, and what the tracks of uses are. */
function leftOutNote(windows, shown) {
  const stepsHere = windows.filter(item => !none(item.step)).length;
  const uses = shown.tracks.filter(track => track.kind === "use");
  return (hasSteps && stepsHere < summary.count
    ? " " + count(stepsHere) + " of " + count(summary.count) + " steps are on this page."
    : "")
    + (uses.length ? " Uses are as high as their share of the peak: counters give the mean of a"
      + " range, not samples." : "")
    + (uses.some(track => track.joined) ? " They are means of 500 parts of the step." : "");
}

/** The uses of devices as tracks, which name the device where they are several. */
function useTracks(uses) {
  const hasDevices = new Set(uses.map(use => use.device)).size > 1;
  return uses.map(use => ({
    name: (hasDevices ? "GPU " + use.device + ": " : "") + use.name,
    kind: "use",
    joined: use.joined,
    bars: readUse(use),
  }));
}

/** Whether a track has records of the program, and not what follows from them. */
const hasRecords = track => track.kind !== "gaps" && track.kind !== "use";

/** A window with the bars of its tracks; when no device worked is a track of its own. */
function readWindow(item) {
  const {labels} = data.timeline;
  const tracks = item.tracks.map(track => ({...track, bars: readBars(track, labels)}));
  joinCalls(tracks);
  const bars = readGaps(item);
  if (bars.length) tracks.push({name: "GPU idle, by cause", kind: "gaps", bars});
  const all = [...tracks, ...useTracks(item.uses)];
  return {...item, tracks: all.map(track => ({...track, levels: new BarLevels(track.bars)}))};
}

/** Device memory and tensor cores have the colours that they have as limiters. */
function paintOfUse(label) {
  if (label.startsWith(memoryName)) return busyKinds[memoryName].paint;
  return label.startsWith("tensor") ? busyKinds.tensor.paint : "var(--mark)";
}

const gapName = label => idleKinds[label].name;

/** The ranges of a thread are on several lines; its name stands beside the first. */
function isContinued(tracks, i) {
  const [above, track] = [tracks[i - 1], tracks[i]];
  if (!above || track.kind !== "ranges" || above.kind !== "ranges") return false;
  return above.thread === track.thread;
}

/** Draws a window of time on a canvas, and knows which bar is where. */
class TimelineDrawing {
  constructor(canvas) {
    this.canvas = canvas;
    this.rows = [];
  }

  /** `view`: the window of the data that is `shown`, and the part from `from` to `to` of it. */
  draw(view, width) {
    this.view = view;
    this.width = width;
    this.placeTracks(view.shown.tracks);
    this.known = new Map();
    this.stripes = new Map();
    this.rows = view.shown.tracks.map(() => []);  // what is drawn of each track
    const zoom = devicePixelRatio || 1;
    const {canvas} = this;
    canvas.width = width * zoom;
    canvas.height = this.height * zoom;
    canvas.style.width = width + "px";
    canvas.style.height = this.height + "px";
    this.paper = canvas.getContext("2d");
    this.paper.scale(zoom, zoom);
    this.paper.font = figureFont();
    this.paper.textBaseline = "middle";
    this.drawMarks();
    view.shown.tracks.forEach((track, i) => this.drawTrack(track, i));
    this.drawArrows();
    const drawn = this.rows.flat();
    const records = drawn.filter(item => hasRecords(item.track));
    const ofKind = kind => drawn.filter(item => item.track.kind === kind);
    canvas.setAttribute("data-bars", drawn.length);
    canvas.setAttribute("data-records", sum(records, item => item.bar.count));
    canvas.setAttribute("data-gaps", ofKind("gaps").length);
    canvas.setAttribute("data-idle", sum(ofKind("gaps"), item => item.bar.busy));
    canvas.setAttribute("data-use", sum(ofKind("use"), item => item.bar.busy));
    canvas.setAttribute("aria-label", "Timeline of " + windowTitle(view.shown) + ", from "
      + time(Math.round(view.from)) + " to " + time(Math.round(view.to)) + ", "
      + view.shown.tracks.length + " tracks. The longest bars are in the table below.");
  }

  /** Names stand beside their tracks; where that has no room, above them. */
  placeTracks(tracks) {
    const names = tracks.map((track, i) => isContinued(tracks, i) ? "" : track.name);
    const isNarrow = this.width < 560;
    const longest = Math.max(...names.map(textWidth)) + 10;
    this.left = isNarrow ? 0 : Math.min(longest, 260);
    this.tops = [];
    let y = axisHeight;
    names.forEach(name => {
      y += isNarrow && name ? nameLine : 0;
      this.tops.push(y);
      y += barLine;
    });
    this.height = y + 2;
  }

  drawName(track, i) {
    const {left, view} = this;
    if (isContinued(view.shown.tracks, i)) return;
    this.paper.fillStyle = this.paint("var(--text)");
    const y = this.tops[i] + (left ? barHeight : -nameLine) / 2;
    this.paper.fillText(this.cut(track.name, (left || this.width) - 8), 0, y);
  }

  paint(name) {
    if (!this.known.has(name)) this.known.set(name, palette(name));
    return this.known.get(name);
  }

  x(ns) {
    const {from, to} = this.view;
    return this.left + (ns - from) / (to - from) * (this.width - this.left);
  }

  drawMarks() {
    const {from, to} = this.view;
    const {paper, height} = this;
    paper.fillStyle = this.paint("var(--soft)");
    paper.strokeStyle = this.paint("var(--grid)");
    for (const mark of timeMarks(from, to, (this.width - this.left) / 110)) {
      const x = this.x(mark.ns);
      if (x + paper.measureText(mark.text).width + 4 > this.width) break;
      paper.fillText(mark.text, x + 3, 8);
      paper.beginPath();
      paper.moveTo(x, 0);
      paper.lineTo(x, height);
      paper.stroke();
    }
  }

  /** The begin of a text that has room, with one ellipsis; nothing where that says nothing. */
  cut(text, room) {
    const wide = words => this.paper.measureText(words).width;
    if (wide(text) <= room) return text;
    let length = Math.max(0, Math.floor(text.length * room / wide(text)));
    while (length > 1 && wide(text.slice(0, length) + "\u2026") > room) length -= 1;
    return length > 1 ? text.slice(0, length).replace(/\u2026.*/, "") + "\u2026" : "";
  }

  drawTrack(track, i) {
    const {paper, left, width, view} = this;
    const y = this.tops[i];
    this.drawName(track, i);
    paper.fillStyle = this.paint("var(--track)");
    paper.fillRect(left, y, width - left, barHeight);
    paper.save();
    paper.beginPath();
    paper.rect(left, y, width - left, barHeight);
    paper.clip();
    for (const bar of visibleBars(track.levels, view.from, view.to, width - left)) {
      this.rows[i].push(this.drawBar(bar, track, y));
    }
    paper.restore();
  }

  fillOf(bar, track) {
    if (track.kind === "gaps") return this.stripesOf(bar.label);
    if (track.kind === "use") return this.paint(paintOfUse(bar.label));
    return this.paint(track.kind === "calls" ? "var(--rest)" : color(bar.range));
  }

  /** The stripes of a cause of idle time, as the budget has them. */
  stripesOf(cause) {
    if (this.stripes.has(cause)) return this.stripes.get(cause);
    const {paint, angle} = idleKinds[cause];
    const size = 7;
    const piece = el("canvas", {width: size, height: size});
    const brush = piece.getContext("2d");
    brush.fillStyle = this.paint("var(--card)");
    brush.fillRect(0, 0, size, size);
    brush.fillStyle = this.paint(paint);
    if (angle % 90 === 0) {
      brush.fillRect(0, 0, angle ? 4 : size, angle ? size : 4);
    } else {
      for (let x = 0; x < size; x += 1) {
        for (let n = 0; n < 4; n += 1) {
          brush.fillRect(angle > 0 ? size - 1 - x : x, (n + size - x) % size, 1, 1);
        }
      }
    }
    const made = this.paper.createPattern(piece, "repeat");
    this.stripes.set(cause, made);
    return made;
  }

  /** Whether a bar stands back: beside those of a search, else beside those of the choice. */
  isPale(bar, track) {
    if (this.view.search) return !matches(bar, this.view.search, titleOf);
    return hasRecords(track) && lookOf(bar.range) === "pale";
  }

  /** A use is as high as its share; what is between joined ones counts as none. */
  drawUse(bar, track, y) {
    const begin = this.x(bar.begin);
    const wide = Math.max(1, this.x(bar.end) - begin);
    const high = Math.max(1, busyShare(bar) * barHeight);
    this.paper.fillStyle = this.fillOf(bar, track);
    this.paper.fillRect(begin, y + barHeight - high, wide, high);
    return {begin, end: begin + wide, y, track, bar};
  }

  /** A bar is the paler the less of its time something ran. */
  drawBar(bar, track, y) {
    if (track.kind === "use") return this.drawUse(bar, track, y);
    const {paper} = this;
    const begin = this.x(bar.begin);
    const wide = Math.max(1, this.x(bar.end) - begin);
    const fill = this.fillOf(bar, track);
    const isPale = this.isPale(bar, track);
    paper.fillStyle = fill;
    paper.globalAlpha = (0.12 + 0.88 * busyShare(bar)) * (isPale ? 0.3 : 1);
    paper.fillRect(begin, y, wide > 3 ? wide - 0.8 : wide, barHeight);
    paper.globalAlpha = 1;
    if (wide > 30 && bar.count === 1) {
      const seen = seenPart(begin, begin + wide, this.left, this.width);
      this.drawLabel({bar, track, fill, isPale, y}, seen);
    }
    return {begin, end: begin + wide, y, track, bar};
  }

  /** The name of a bar; on stripes it has a ground of its own. */
  drawLabel({bar, track, fill, isPale, y}, seen) {
    const {paper} = this;
    const isStriped = track.kind === "gaps";
    const label = isStriped ? gapName(bar.label) : bar.label;
    const text = this.cut(label, seen.end - seen.begin - 8);
    if (isStriped && text) {
      paper.fillStyle = this.paint("var(--card)");
      paper.fillRect(seen.begin + 2, y + 2, paper.measureText(text).width + 4, barHeight - 4);
    }
    paper.fillStyle = isPale || isStriped ? this.paint("var(--text)") : ink(fill);
    paper.fillText(text, seen.begin + 4, y + barHeight / 2 + 1);
  }

  /** Whether the arrow to a bar is drawn: the mouse is on it, or it is of the chosen range. */
  hasArrow({bar}) {
    if (!bar.call) return false;
    return bar === this.view.hovered || isChosen && chosen && isWithin(bar.range, chosen);
  }

  /** Arrows from the calls that launched to the kernels, as long as they can be distinguished. */
  drawArrows() {
    const {paper, left, width} = this;
    const all = this.rows.flat().filter(item => this.hasArrow(item));
    const isHovered = ({bar}) => bar === this.view.hovered;
    const arrows = all.length <= mostArrows ? all : all.filter(isHovered);
    this.canvas.setAttribute("data-arrows", arrows.length);
    paper.save();
    paper.beginPath();
    paper.rect(left, 0, width - left, this.height);
    paper.clip();
    paper.strokeStyle = paper.fillStyle = this.paint("var(--text)");
    for (const {bar, y} of arrows) {
      const begin = this.x((bar.call.begin + bar.call.end) / 2);
      const from = this.tops[bar.call.track] + barHeight;
      const to = this.x(bar.begin);
      paper.beginPath();
      paper.moveTo(begin, from);
      paper.bezierCurveTo(begin, (from + y) / 2, to, (from + y) / 2, to, y);
      paper.stroke();
      paper.beginPath();
      paper.moveTo(to, y);
      paper.lineTo(to - 3, y - 6);
      paper.lineTo(to + 3, y - 6);
      paper.fill();
    }
    paper.restore();
  }

  /** What was drawn at a place of the window; null where nothing was. */
  find(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const row = this.rows[this.tops.findIndex(top => y >= top && y <= top + barHeight)] || [];
    const after = firstWhere(row.length, i => row[i].begin > x + 1);
    for (let i = after - 1; i >= Math.max(0, after - 64); i -= 1) {
      if (x <= row[i].end + 1) return row[i];
    }
    return null;
  }

  /** The time at a place of the window. */
  timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = Math.max(0, event.clientX - box.left - this.left) / (box.width - this.left);
    return this.view.from + (this.view.to - this.view.from) * part;
  }
}

/** What the hint of a gap says. */
function describeGap(bar) {
  const idle = "idle for " + percent(100 * busyShare(bar)) + " of " + time(bar.end - bar.begin);
  const joined = count(bar.count) + " gaps, " + idle + ", the longest: ";
  return "GPU idle: " + (bar.count > 1 ? joined : "") + gapName(bar.label) + "\n"
    + time(bar.longest) + (bar.count > 1 ? "" : " from " + time(bar.begin));
}

/** What the hint of a use says. */
const describeUse = (bar, track) => track.name + "\n" + percent(100 * busyShare(bar)) + " for "
  + time(Math.round(bar.end - bar.begin)) + " from " + time(Math.round(bar.begin));

/** What the hint of a bar says. */
function describeBar({bar, track}) {
  if (track.kind === "gaps") return describeGap(bar);
  if (track.kind === "use") return describeUse(bar, track);
  const busy = percent(100 * busyShare(bar));
  const joined = count(bar.count) + " bars, busy " + busy + ", the longest: ";
  const launched = bar.call
    ? "\nlaunched " + time(bar.begin - bar.call.begin) + " before"
    : "";
  return (bar.count > 1 ? joined : "") + bar.label + "\n" + titleOf(bar.range) + "\n"
    + time(bar.end - bar.begin) + " from " + time(bar.begin) + launched + "\n" + track.name;
}

function timelineNote({shown, from, to}, windows) {
  const isAll = from <= 0 && to >= shown.length_ns;
  const part = isAll ? ", all of it" : ", " + time(Math.round(to - from)) + " from "
    + time(Math.round(from)) + " on";
  const left = shown.left_out;
  const lost = left
    ? " " + some(left, "record") + " on further threads or streams " + (left === 1 ? "is" : "are")
      + " left out."
    : "";
  const fix = "formats=html+trace writes all of it.";
  const file = data.trace_file ? data.trace_file + " has all." : fix;
  return sentence(windowTitle(shown) + part) + " Bars that are too short to be seen are joined: the"
    + " paler one is, the less of its time something ran."
    + leftOutNote(windows, shown) + lost + " " + file;
}

/** How many bars the table has. */
const longestBars = 200;

const aboutBar = help => aboutFigure(help, "", "Recorded; the trace file has each record");

const barTable = shown => table("Bars of the timeline", [
  {label: "What", get: bar => bar.label, text: true},
  {label: "Track", get: bar => bar.track, text: true},
  {label: "Range", get: bar => titleOf(bar.range), text: true},
  {label: "From", title: aboutBar("Since the window began"), get: bar => time(bar.begin)},
  {label: "Length", title: aboutBar("End - begin"), get: bar => time(bar.end - bar.begin)},
  {label: "Joined", title: aboutBar("Records that are one bar"), get: bar => count(bar.count)},
], shown.tracks.filter(track => track.kind !== "use")
  .flatMap(track => track.bars.map(bar => ({...bar, track: track.name})))
  .sort((a, b) => b.end - b.begin - (a.end - a.begin) || a.begin - b.begin)
  .slice(0, longestBars));

/**
 * The mouse on the figure: hints, a click, Ctrl with the wheel; dragging selects a part, with Shift
 * or a finger it moves.
 */
function followMouse(canvas, drawing, view) {
  let drag = null;
  const isDragged = event => Math.abs(drag.x - event.clientX) > 3;
  const dragTo = event => {
    if (drag.isMove) {
      const moved = (drag.x - event.clientX) / canvas.clientWidth * (drag.to - drag.from);
      view.show(drag.from + moved, drag.to + moved);
    } else {
      view.select(drag.at, drawing.timeAt(event));
    }
  };
  canvas.addEventListener("pointermove", event => {
    if (!drag) {
      const item = drawing.find(event);
      tip(item ? describeBar(item) : "", event.clientX, event.clientY);
      view.hover(item && item.bar.call ? item.bar : null);
      return;
    }
    drag.moved = drag.moved || isDragged(event);
    if (drag.moved) dragTo(event);
  });
  canvas.addEventListener("pointerleave", () => {
    tip("");
    view.hover(null);
    if (drag && drag.moved && !drag.isMove) view.endSelection();
    drag = null;
  });
  canvas.addEventListener("pointerdown", event => {
    const isMove = event.shiftKey || event.pointerType === "touch";
    drag = {x: event.clientX, at: drawing.timeAt(event), from: view.from, to: view.to, isMove};
  });
  canvas.addEventListener("pointerup", event => {
    const item = drag && !drag.moved && drawing.find(event);
    if (drag && !drag.isMove) {
      if (!drag.moved) view.select(0, 0);
      view.endSelection();
    }
    drag = null;
    if (item && hasRecords(item.track)) choose(item.bar.range);
  });
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    view.zoom(event.deltaY > 0 || event.deltaX > 0 ? 1.25 : 0.8, drawing.timeAt(event));
  }, {passive: false});
}

/** The part of a window that is shown. */
class TimelineView {
  /** `mark` shows the selected part while it changes, `sum` its sums behind that. */
  constructor(shown, {redraw, mark, sum: showSum}) {
    Object.assign(this, {redraw, mark, showSum});
    this.search = "";
    this.hovered = null;
    this.choose(shown);
  }

  choose(shown) {
    this.shown = shown;
    this.selected = null;
    this.from = 0;
    this.to = shown.length_ns;
  }

  show(from, to) {
    Object.assign(this, clampWindow(from, to, this.shown.length_ns, deepestZoom));
    this.redraw();
  }

  /** Selects a part of the window, or nothing where it has no length. */
  select(from, to) {
    const [begin, end] = [Math.max(0, Math.min(from, to)), Math.max(from, to)];
    const last = Math.min(end, this.shown.length_ns);
    this.selected = last > begin ? {from: begin, to: last} : null;
    this.mark();
  }

  endSelection() {
    this.mark();
    this.showSum();
  }

  selectShown() {
    this.select(this.from, this.to);
    this.endSelection();
  }

  /** Zooms to what is selected, else by a half. */
  zoomIn() {
    if (!this.selected) {
      this.zoom(0.5);
      return;
    }
    this.show(this.selected.from, this.selected.to);
  }

  /** Shows the arrow of the bar that the mouse is on. */
  hover(bar) {
    if (this.hovered === bar) return;
    this.hovered = bar;
    this.redraw();
  }

  /** Brings the next bar that a search finds into the middle; returns how many there are. */
  findNext() {
    const bars = this.shown.tracks.filter(hasRecords).flatMap(track => track.bars)
      .filter(bar => this.search && matches(bar, this.search, titleOf));
    const next = nextBar(bars, (this.from + this.to) / 2);
    if (!next) return 0;
    const length = Math.max(20 * (next.end - next.begin), 200 * deepestZoom);
    const room = Math.min(this.to - this.from, length);
    const middle = (next.begin + next.end) / 2;
    this.show(middle - room / 2, middle + room / 2);
    return bars.length;
  }

  showAll() {
    this.show(0, this.shown.length_ns);
  }

  /** Makes what is shown `factor` times as long around a time, or around its middle. */
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  move(part) {
    const step = (this.to - this.from) * part;
    this.show(this.from + step, this.to + step);
  }
}

/** What the keys W, A, S and D do, the arrow keys and Home. */
const timelineKeys = {
  w: view => view.zoom(0.5),
  s: view => view.zoom(2),
  a: view => view.move(-0.25),
  d: view => view.move(0.25),
  ArrowUp: view => view.zoom(0.5),
  ArrowDown: view => view.zoom(2),
  ArrowLeft: view => view.move(-0.25),
  ArrowRight: view => view.move(0.25),
  Home: view => view.showAll(),
  Enter: view => view.selectShown(),
  z: view => view.zoomIn(),
  Escape: view => {
    view.select(0, 0);
    view.endSelection();
  },
};

/** The keyboard on the figure. */
function followKeys(canvas, view) {
  canvas.addEventListener("keydown", event => {
    const act = timelineKeys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act(view);
  });
}

/** The search: what it finds stays bright; Enter goes from one to the next. */
function timelineSearch(view) {
  const input = el("input", {type: "search", id: "timeline-search"});
  input.addEventListener("input", () => {
    view.search = input.value.trim().toLowerCase();
    view.redraw();
  });
  input.addEventListener("keydown", event => {
    if (event.key === "Enter") view.findNext();
  });
  return el("label", {}, "Search", input);
}

/** The causes of the gaps of a window, with their colours. */
function gapLegend(list, shown) {
  const labels = new Set(shown.tracks.filter(track => track.kind === "gaps")
    .flatMap(track => track.bars.map(bar => bar.label)));
  list.replaceChildren(...gapCauses.filter(label => labels.has(label)).map(label => el("li", {},
    el("i", budgetLook({...idleKinds[label], isIdle: true})), " GPU idle: " + gapName(label))));
}

function timelineControls(windows, view, chooseWindow) {
  const named = (text, name, act) => button(text, act, {"aria-label": name});
  const choices = windows.map((item, i) => [i, windowTitle(item)]);
  return el("div", {class: "controls"},
    windows.length > 1 ? picker(hasSteps ? "Step" : "Show", choices, chooseWindow) : null,
    named("+", "Zoom in", () => view.zoom(0.5)),
    named("\u2212", "Zoom out", () => view.zoom(2)),
    named("\u25c2", "Earlier", () => view.move(-0.5)),
    named("\u25b8", "Later", () => view.move(0.5)),
    named("All", "Show all of it", () => view.showAll()),
    named("Select", "Select what is shown, for its sums", () => view.selectShown()),
    named("Zoom to it", "Zoom to what is selected", () => view.zoomIn()),
    timelineSearch(view),
    button("Next", () => view.findNext(), {"aria-label": "Next that the search finds"}));
}

function timeline() {
  const windows = data.timeline.windows.filter(item => item.tracks.length);
  if (!windows.length) return;
  const canvas = el("canvas", {role: "img", id: "timeline-figure", tabindex: "0"});
  const note = el("p", {class: "about", role: "status"});
  const list = el("div", {});
  const causes = el("ul", {class: "legend", "aria-label": "Causes of gaps"});
  const drawing = new TimelineDrawing(canvas);
  const part = el("div", {class: "selection", hidden: true});
  const sums = el("div", {id: "timeline-sums"});
  const mark = () => {
    part.hidden = !view.selected;
    if (part.hidden) return;
    const [begin, end] = [view.selected.from, view.selected.to]
      .map(ns => Math.max(drawing.left, Math.min(drawing.width, drawing.x(ns))));
    part.hidden = end <= begin;
    part.style.left = begin + "px";
    part.style.width = end - begin + "px";
  };
  const figure = chart((box, width) => {
    if (canvas.parentNode !== box) box.replaceChildren(canvas, part);
    drawing.draw(view, width);
    mark();
    note.textContent = timelineNote(view, windows);
  });
  const view = new TimelineView(readWindow(windows[0]), {
    redraw: () => figure.redraw(),
    mark,
    sum: () => showSums(sums, view),
  });
  const listLongest = () => {
    list.replaceChildren(details("The longest bars of this step", () => barTable(view.shown)));
    gapLegend(causes, view.shown);
  };
  const chooseWindow = value => {
    view.choose(readWindow(windows[value]));
    view.endSelection();
    listLongest();
    figure.redraw();
  };
  followMouse(canvas, drawing, view);
  followKeys(canvas, view);
  const about = "What threads and streams did in " + (hasSteps ? "one step" : "the run")
    + ". Dragging selects a part and adds it up; Z zooms to it, Escape leaves it. Ctrl and the"
    + " wheel zoom, Shift and dragging move; so do W, S, A and D. Arrows lead from launches of the"
    + " chosen range to its kernels.";
  section("timeline", "Timeline", about,
    timelineControls(windows, view, chooseWindow), figure, causes, note, sums, list);
  redrawOnTheme.push(() => figure.redraw());
  listeners.push(() => figure.redraw());
  view.endSelection();
  listLongest();
}
