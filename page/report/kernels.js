"use strict";
// The kernels of a range: a row each, how much of the GPU they fill, how large their grids are.

/** How many kernels the table shows. */
const mostKernels = 200;

const kernelRows = readRows(data.kernel_columns, data.kernel_same, data.kernels.rows);

/**
 * The kernels of a range and of those below it, with their `launches`, `ns` and `fill` in a mean
 * step; of a range that is in no step those of the whole run.
 */
function kernelsIn(place) {
  const isWhole = inNoStep(folded.rows[place]);
  const ofRun = ({count: launches, total_ns: ns, gpu_utilisation: fill}) => ({launches, ns, fill});
  const ofStep = ({step_launches: launches, step_ns: ns, step_gpu_fill: fill}) =>
    ({launches, ns, fill});
  const amounts = isWhole ? ofRun : ofStep;
  return kernelRows.filter(kernel => isWithin(kernel.range, place))
    .map(kernel => ({...kernel, ...amounts(kernel)}))
    .filter(kernel => kernel.launches > 0);
}

/** The mean of two shares by their times; null where one is unknown. */
function meanShare(a, b) {
  if (none(a.fill) || none(b.fill)) return null;
  return (a.fill * a.ns + b.fill * b.ns) / (a.ns + b.ns || 1);
}

/** One row for each kernel, whatever the ranges that launched it; the longest first. */
function mergeKernels(list) {
  const merged = new Map();
  for (const kernel of list) {
    const key = kernel.name + "\n" + kernel.whole;
    const known = merged.get(key);
    if (!known) {
      merged.set(key, {...kernel, ranges: new Set([kernel.range])});
      continue;
    }
    known.fill = meanShare(known, kernel);
    known.launches += kernel.launches;
    known.ns += kernel.ns;
    known.ranges.add(kernel.range);
    known.max_ns = Math.max(known.max_ns, kernel.max_ns);
    known.min_ns = Math.min(known.min_ns, kernel.min_ns);
    known.blocks_min = Math.min(known.blocks_min, kernel.blocks_min);
    known.blocks_max = Math.max(known.blocks_max, kernel.blocks_max);
  }
  return [...merged.values()].sort((a, b) => b.ns - a.ns);
}

/** The time of a step by how much of the GPU its kernels can fill, in ten parts. */
function fillBins(list) {
  const bins = Array.from({length: 10}, (_, i) => ({
    label: i * 10 + " to " + (i + 1) * 10 + " % of the GPU",
    short: String(i * 10 + 10),
    value: 0,
  }));
  for (const kernel of list) {
    if (none(kernel.fill)) continue;
    const bin = Math.min(9, Math.floor(kernel.fill * 10));
    bins[bin].value += kernel.ns;
  }
  return bins;
}

/** The time of a step by the blocks of a launch, in powers of two. */
function gridBins(list) {
  const power = kernel => Math.floor(Math.log2(Math.max(1, kernel.blocks_median)));
  const bins = Array.from({length: Math.max(1, ...list.map(power)) + 1}, (_, i) => ({
    label: count(2 ** i) + " to " + count(2 ** (i + 1) - 1) + " blocks",
    short: count(2 ** i),
    value: 0,
  }));
  for (const kernel of list) bins[power(kernel)].value += kernel.ns;
  return bins;
}

/** Draws times as bars with a label below each. */
function drawHistogram(box, width, bins, caption) {
  const height = 170;
  const left = 4;
  const top = 18;
  const floor = height - 34;
  const wide = (width - left) / bins.length;
  const most = Math.max(...bins.map(bin => bin.value), 1e-9);
  const total = sum(bins, bin => bin.value);
  // A label in so many bins, as they have room.
  const labelled = Math.ceil((Math.max(...bins.map(bin => textWidth(bin.short))) + 6) / wide);
  const drawing = sv("svg", {width, height, role: "img", "aria-label": caption});
  const write = (x, y, text, style) =>
    drawing.append(sv("text", {x, y, "text-anchor": "middle", class: style}, text));
  bins.forEach((bin, i) => {
    const high = (floor - top) * bin.value / most;
    const x = left + i * wide;
    const middle = x + wide / 2;
    drawing.append(sv("rect", {
      x: x + 1,
      y: floor - high,
      width: Math.max(1, wide - 2),
      height: high,
      fill: "var(--mark)",
      "data-value": bin.value,
      ...hovered(bin.label + ": " + time(bin.value) + " a " + unit),
    }));
    const share = Math.round(100 * bin.value / total);
    if (share > 0 && wide > 26) write(middle, floor - high - 4, share + " %", "soft");
    const end = width - textWidth(bin.short) / 2;
    if (i % labelled === 0) write(Math.min(middle, end), floor + 15, bin.short, "soft");
  });
  drawing.append(sv("line", {x1: left, x2: width, y1: floor, y2: floor, class: "axis"}));
  write((left + width) / 2, height - 3, caption);
  box.replaceChildren(drawing);
}

function blocksText({blocks_min: least, blocks_max: most}) {
  return least === most ? count(least) : count(least) + " to " + count(most);
}

/** What a pointer and a screen reader get of a name that has no room. */
const wholeName = kernel => kernel.whole || kernel.name;

/** The columns of kernels, with amounts of a mean step; `total`: the time of all of them. */
function kernelColumns(total) {
  const fill = kernel => none(kernel.fill) ? "" : shareText(100 * kernel.fill);
  const shared = kernel => bytes(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
  const range = kernel =>
    kernel.ranges.size > 1 ? kernel.ranges.size + " ranges" : titleOf(kernel.range);
  const ofRange = kernel => shareText(100 * kernel.ns / total);
  const column = (label, name, get) => ({label, title: aboutKernels(name), get});
  return [
    {label: "Kernel", get: kernel => toKernel(kernel.name), hint: wholeName, text: true},
    column("Launches", "count", kernel => count(kernel.launches)),
    column("GPU time", "total_ns", kernel => time(kernel.ns)),
    column("% of range", "total_ns", ofRange),
    column("Mean", "mean_ns", kernel => time(kernel.ns / kernel.launches)),
    column("GPU fill %", "gpu_utilisation", fill),
    column("Blocks", "blocks_median", blocksText),
    column("Threads", "block_threads_max", kernel => count(kernel.block_threads_max)),
    column("Registers", "registers_per_thread", kernel => count(kernel.registers_per_thread)),
    column("Shared", "dynamic_shared_bytes", shared),
    column("Longest", "max_ns", kernel => time(kernel.max_ns)),
    {label: "Range", get: range, text: true},
  ];
}

function kernelTable(list) {
  const total = sum(list, kernel => kernel.ns) || 1;
  const rows = mergeKernels(list).slice(0, mostKernels);
  return table("Kernels of the range", kernelColumns(total), rows, {class: "kernels"});
}
