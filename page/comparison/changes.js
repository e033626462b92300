"use strict";
// What changed most: a bar a range.

/** The end of a text that has room, behind an ellipsis. */
function endOf(text, room) {
  let end = text;
  while (end.length > 1 && textWidth(end) > room) {
    end = end.slice(Math.max(1, Math.ceil(end.length * 0.06)));
  }
  return end === text ? text : "\u2026" + end.slice(1);
}

const changeText = range => signed(range.delta, milliseconds)
  + (range.factor > 0 ? " (\u00d7\u202f" + factor(range.factor) + ")" : "");

function describeChange(range) {
  const ends = range.ends ? ", 95 % interval " + between(range.ends) : "";
  return range.title + "\n" + milliseconds(range.was) + " before, " + milliseconds(range.now)
    + " after\n" + changeText(range) + ends + "\n" + range.said;
}

/** Appends a bar, its name before it and a text behind it; `more`: attributes of the bar. */
function drawNamedBar(drawing, {name, text, begin, end, y, left, width}, more) {
  const isNarrow = left === 0;
  const place = isNarrow ? {x: 0, y: y - 5} : {x: left - 8, y: y + 13, "text-anchor": "end"};
  drawing.append(
    sv("text", place, endOf(name, (isNarrow ? width : left) - 10)),
    sv("rect", {x: begin, y, width: Math.max(1, end - begin), height: 17, ...more}),
    sv("text", {x: end + 7, y: y + 13, class: "soft", "aria-hidden": "true"}, text));
}

/** Draws the bars; returns the figure. */
function drawChanges(width, shown) {
  const isNarrow = width < 620;
  const line = isNarrow ? 40 : 25;
  const widest = texts => Math.max(0, ...texts.map(textWidth));
  const right = widest(shown.map(changeText)) + 14;
  const titles = Math.min(width * 0.42, widest(shown.map(range => range.title)) + 12);
  const left = isNarrow ? 0 : titles;
  const low = Math.min(0, ...shown.map(range => range.delta));
  const high = Math.max(0, ...shown.map(range => range.delta));
  const x = value => left + (value - low) / (high - low || 1) * (width - left - right);
  const drawing = sv("svg", {
    width,
    height: shown.length * line + 4,
    id: "changes-figure",
    role: "group",
    "aria-label": "Change of time by range, milliseconds a " + meanUnit,
  });
  shown.forEach((range, i) => {
    const y = i * line + (isNarrow ? 18 : 4);
    const hint = describeChange(range);
    const begin = Math.min(x(0), x(range.delta));
    const end = Math.max(x(0), x(range.delta));
    const text = changeText(range);
    drawNamedBar(drawing, {name: range.title, text, begin, end, y, left, width}, {
      fill: range.delta > 0 ? "var(--more)" : "var(--less)",
      "fill-opacity": range.judged ? 1 : 0.55,
      "data-delta": range.delta,
      role: "button",
      "aria-label": hint,
      ...hinted(hint),
      ...pressed(() => choose(range.path, true)),
    });
    drawing.append(sv("line", {x1: x(0), x2: x(0), y1: y - 4, y2: y + 21, class: "axis"}));
  });
  return drawing;
}

function aboutChanges() {
  const nested = " A range has the time of those below it.";
  const trimmed = " Trimmed: a mean without the longest and the shortest call of each run, since"
    + " one of them is far from the others.";
  const once = " Once: a range outside of steps, by the whole run.";
  return "Milliseconds a " + meanUnit
    + "; after less before: blue is less time, red more."
    + " \u00d7: the factor, after / before. A paler bar was not judged: it is too small, or has"
    + " few calls. A click shows all columns of the range."
    + (inner.length < ranges.length ? nested : "")
    + (ranges.some(range => range.trimmed) ? trimmed : "")
    + (ranges.some(range => range.once) ? once : "");
}

function changes() {
  if (!ranges.length) return;
  const changed = all => all.filter(range => range.slower || isChange(range.delta));
  let list = changed(inner);
  let most = 15;
  const figure = chart((box, width) => {
    const nothing = el("p", {}, "No range changed.");
    box.replaceChildren(list.length ? drawChanges(width, list.slice(0, most)) : nothing);
    more.hidden = list.length <= most;
    more.textContent = "Show " + some(list.length - most, "more range");
  });
  const showMore = () => {
    most += 100;
    figure.redraw();
  };
  const setRanges = value => {
    list = changed(value === "all" ? ranges : inner);
    figure.redraw();
  };
  const more = button("", showMore, {hidden: true});
  const choices = [["inner", "the innermost"], ["all", "all"]];
  const controls = inner.length < ranges.length
    ? el("div", {class: "controls"}, picker("Ranges", choices, setRanges))
    : null;
  section("changes", "What changed most", aboutChanges(), controls, figure, more);
  redrawOnTheme.push(() => figure.redraw());
}
