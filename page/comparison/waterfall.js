"use strict";
// The way from the step before to the step after: a bar for what each range adds or takes away.

/** How many ranges have a bar of their own. */
const waterfallRanges = 12;

/** The GPU's busy time of a range in milliseconds a step, on a side; null where it is unknown. */
function busyOf(range, side) {
  const value = range.values.find(column => column.name === "gpu_busy_ns");
  return value && !none(value[side]) ? value[side] / 1e6 : null;
}

/** The part of a range's host time that is in threads which drive steps: others run beside. */
function steppingPart(range, side) {
  const amount = name => (range.values.find(column => column.name === name) || {})[side] || 0;
  return 1 - amount("other_threads_ns") / (amount("host_total_ns") || 1);
}

/** What a range adds to the step: GPU time where any range has some, else host time. */
function addedBy(range, hasGpu) {
  const host = side => range[side + "_ms"] * steppingPart(range, side);
  if (!hasGpu) return host("after") - host("before");
  return (busyOf(range, "after") || 0) - (busyOf(range, "before") || 0);
}

/**
 * The bars {name, from, to, kind} in milliseconds: the step before, the ranges that change most,
 * the others together, what is no time of a range, and the step after.
 */
function waterfallBars(list) {
  const hasGpu = list.some(range => busyOf(range, "before") > 0 || busyOf(range, "after") > 0);
  const added = list.filter(range => !range.once)
    .map(range => ({name: range.path, path: range.path, ms: addedBy(range, hasGpu)}))
    .filter(({ms}) => isChange(ms))
    .sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms));
  const shown = added.slice(0, waterfallRanges);
  const others = added.slice(waterfallRanges);
  if (others.length) {
    shown.push({name: some(others.length, "smaller change"), ms: sum(others, ({ms}) => ms)});
  }
  const known = sum(shown, ({ms}) => ms);
  const name = hasGpu ? "GPU idle, and what overlaps" : "The rest of the step";
  shown.push({name, ms: step.after_ms - step.before_ms - known, rest: true});
  let now = step.before_ms;
  const bars = shown.map(item => {
    const from = now;
    now += item.ms;
    return {...item, from, to: now, kind: item.ms > 0 ? "more" : "less"};
  });
  return [
    {name: "Step before", from: 0, to: step.before_ms, kind: "step"},
    ...bars,
    {name: "Step after", from: 0, to: step.after_ms, kind: "step"},
  ];
}

const waterfallPaint = {step: "var(--c7)", more: "var(--c3)", less: "var(--c2)"};

const waterfallText = bar =>
  bar.kind === "step" ? milliseconds(bar.to) : signed(bar.to - bar.from, milliseconds);

function drawWaterfall(width, bars) {
  const isNarrow = width < 620;
  const line = isNarrow ? 40 : 26;
  const right = Math.max(...bars.map(bar => textWidth(waterfallText(bar)))) + 14;
  const titles = Math.max(...bars.map(bar => textWidth(bar.name))) + 12;
  const left = isNarrow ? 0 : Math.min(width * 0.42, titles);
  const ends = bars.flatMap(bar => [bar.from, bar.to]);
  const [low, high] = [Math.min(0, ...ends), Math.max(...ends)];
  const x = value => left + (value - low) / (high - low || 1) * (width - left - right);
  const drawing = sv("svg", {
    width,
    height: bars.length * line + 4,
    id: "waterfall-figure",
    role: "group",
    "aria-label": "From the step before to the step after",
  });
  bars.forEach((bar, i) => {
    const y = i * line + (isNarrow ? 18 : 4);
    const [begin, end] = [bar.from, bar.to].map(x).sort((a, b) => a - b);
    const text = waterfallText(bar);
    const hint = bar.name + "\n" + text + " a " + unit;
    const press = bar.path ? {role: "button", ...pressed(() => choose(bar.path, true))} : {};
    drawNamedBar(drawing, {name: bar.name, text, begin, end, y, left, width}, {
      fill: waterfallPaint[bar.kind],
      "fill-opacity": bar.rest ? 0.55 : 1,
      "data-from": bar.from,
      "data-to": bar.to,
      "aria-label": bar.path ? hint : undefined,
      ...press,
      ...(bar.path ? hinted(hint) : hovered(hint)),
    });
    if (i + 1 < bars.length) {
      const at = {x1: x(bar.to), x2: x(bar.to), y1: y + 17, y2: y + line};
      drawing.append(sv("line", {...at, class: "axis", "stroke-dasharray": "2 2"}));
    }
  });
  return drawing;
}

function waterfall() {
  if (!hasSteps || !inner.length) return;
  const bars = waterfallBars(inner);
  const hasGpu = bars.some(bar => bar.name.startsWith("GPU idle"));
  const figure = chart((box, width) => box.replaceChildren(drawWaterfall(width, bars)));
  const about = "Milliseconds: the steps are medians, ranges are means. Each bar begins where the"
    + " one above it ends: what the innermost ranges add to the step or take away ("
    + (hasGpu ? "GPU busy, copies too" : "host time") + "), and what is no time of theirs.";
  section("waterfall", "From before to after", about, figure);
  redrawOnTheme.push(() => figure.redraw());
}
