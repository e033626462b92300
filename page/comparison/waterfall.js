"use strict";
// The way from the period before to the period after: a bar for each row of its change.

/** How many rows have a bar of their own. */
const waterfallRows = 12;

/**
 * The bars {name, from, to, kind} in milliseconds: the period before, the rows that change most,
 * the others together, and the period after.
 */
function waterfallBars(period) {
  const changed = period.rows.map(row =>
    ({...row, row_kind: row.kind, name: row.label, ms: row.after_ms - row.before_ms}));
  const shown = changed.filter(({ms}) => isChange(ms)).slice(0, waterfallRows);
  const others = changed.filter(row => !shown.includes(row));
  const rest = period.after_ms - period.before_ms - sum(shown, ({ms}) => ms);
  const name = some(others.length, "smaller change");
  if (isChange(rest)) shown.push({name, ms: rest, rest: true});
  let now = period.before_ms;
  const bars = shown.map(item => {
    const from = now;
    now += item.ms;
    return {...item, from, to: now, kind: item.ms > 0 ? "more" : "less"};
  });
  return [
    {name: "Period before", from: 0, to: period.before_ms, kind: "step"},
    ...bars,
    {name: "Period after", from: 0, to: period.after_ms, kind: "step"},
  ];
}

const waterfallPaint = {step: "var(--mark)", more: "var(--more)", less: "var(--less)"};

const waterfallText = bar =>
  bar.kind === "step" ? milliseconds(bar.to) : signed(bar.to - bar.from, milliseconds);

const digitsOf = value => none(value) ? null : inUnit("")(value);
const bytesOf = value => none(value) ? null : inUnit("B")(value);

/** The path of a bar's range, where the table of ranges has it. */
function rangeOf(bar) {
  const known = bar.row_kind === "range" && ranges.some(range => range.path === bar.name);
  return known ? bar.name : null;
}

/** What differs between both sides, or the time alone. */
function describeBar(bar, text) {
  const both = (name, before, after) =>
    none(before) || none(after) || before === after || before === "" || after === ""
      ? "" : "\n" + name + ": " + before + " before, " + after + " after";
  return bar.name + "\n" + text + " a period"
    + (bar.within_noise ? ", within noise" : "")
    + (bar.within_noise === false && !bar.changed && bar.row_kind !== "overlap"
      ? ", too few steps to tell" : "")
    + both("time", bar.before_ms && milliseconds(bar.before_ms), milliseconds(bar.after_ms))
    + both(bar.row_kind === "copy" ? "copies" : "kernels", digitsOf(bar.before_kernels),
      digitsOf(bar.after_kernels))
    + both("device memory traffic", bytesOf(bar.before_hbm_bytes), bytesOf(bar.after_hbm_bytes))
    + both("limiter", bar.before_limiter, bar.after_limiter);
}

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
    "aria-label": "From the period before to the period after",
  });
  bars.forEach((bar, i) => {
    const y = i * line + (isNarrow ? 18 : 4);
    const [begin, end] = [bar.from, bar.to].map(x).sort((a, b) => a - b);
    const text = waterfallText(bar);
    const hint = describeBar(bar, text);
    const path = bar.kind !== "step" && rangeOf(bar);
    const press = path ? {role: "button", ...pressed(() => choose(path, true))} : {};
    drawNamedBar(drawing, {name: bar.name, text, begin, end, y, left, width}, {
      fill: waterfallPaint[bar.kind],
      "fill-opacity": bar.rest || bar.changed === false ? 0.55 : 1,
      "data-from": bar.from,
      "data-to": bar.to,
      "aria-label": path ? hint : undefined,
      ...press,
      ...(path ? hinted(hint) : hovered(hint)),
    });
    if (i + 1 < bars.length) {
      const at = {x1: x(bar.to), x2: x(bar.to), y1: y + 17, y2: y + line};
      drawing.append(sv("line", {...at, class: "axis", "stroke-dasharray": "2 2"}));
    }
  });
  return drawing;
}

function waterfall() {
  if (!data.period.rows.length) return;
  const bars = waterfallBars(data.period);
  const figure = chart((box, width) => box.replaceChildren(drawWaterfall(width, bars)));
  const first = Math.max(data.period.before_first_ms, data.period.after_first_ms) > 0
    ? " A first step that is apart is in no bar: " + milliseconds(data.period.before_first_ms)
      + " before, " + milliseconds(data.period.after_first_ms) + " after."
    : "";
  const about = "Milliseconds of the mean period, from the start of a step to that of the next."
    + " Each bar begins where the one above it ends: kernels of a range itself, copies, idle time"
    + " of the GPU by cause, and the time between steps. A paler bar is within noise,"
    + " or of too few steps to tell." + first;
  section("waterfall", "From before to after", about, figure);
  redrawOnTheme.push(() => figure.redraw());
}
