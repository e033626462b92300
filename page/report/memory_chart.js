"use strict";
// The memory of one range: what its instructions, L1, shared memory, L2 and device memory move.

/** Bytes of a sector, and of a wavefront of L1 or shared memory. */
const sectorBytes = 32;
const wavefrontBytes = 128;

const timesKnown = (value, factor) => none(value) ? null : factor * value;

/** The seconds of a mean step that the bytes of a range were moved in. */
const secondsOf = row => firstKnown(metric(row, "timed_gpu_seconds"),
  timesKnown(metric(row, "time_ns"), 1e-9));

/** The use of each unit of a range, by its place: a part of the unit's peak. */
const unitUses = new Map(answer.limits.filter(limit => limit.use)
  .map(limit => [limit.range, new Map(limit.use.map(({unit: name, part}) => [name, part]))]));

/**
 * Bytes and their rate, and the use of their unit: where units were not counted, the share that
 * the rate has of a peak. L2 can be nearer to its peak than its bytes are.
 */
function traffic(row, name, amount, peak) {
  const seconds = secondsOf(row);
  const perSecond = none(amount) || !(seconds > 0) ? null : amount / seconds;
  const most = metric(row, peak);
  const used = unitUses.get(row.place);
  if (used && used.has(name)) return {amount, perSecond, share: 100 * used.get(name)};
  const share = none(perSecond) || !(most > 0) ? null : 100 * perSecond / most;
  return {amount, perSecond, share};
}

const level1Traffic = row => traffic(row, "L1", level1Bytes(row),
  metricAt.has("l1_data_bytes") ? "l1_peak_bytes_per_second" : "none");
const sharedTraffic = row => traffic(row, "shared memory",
  timesKnown(metric(row, "shared_wavefronts"), wavefrontBytes), "l1_peak_bytes_per_second");
const level2Traffic = row =>
  traffic(row, "L2", metric(row, "l2_bytes"), "l2_peak_bytes_per_second");
const deviceTraffic = row =>
  traffic(row, memoryName, metric(row, "hbm_bytes"), "hbm_peak_bytes_per_second");

const withValue = lines => lines.filter(([, value]) => !none(value) && value !== "");

/** The boxes: where each is (`level` from the SM on, `from` and `to` of three lanes), and lines. */
function memoryBoxes(row) {
  const value = key => metric(row, key);
  const sectors = value("l1_sectors_per_load");
  const hits = firstKnown(value("l2_hit_rate"), value("l2_request_hit_rate"));
  const conflicts = value("shared_bank_conflicts");
  const boxes = [
    {id: "global", name: "Global", level: 0, from: 0, to: 1, lines: [
      ["sectors a load", none(sectors) ? null : digits(sectors)],
    ]},
    {id: "local", name: "Local", level: 0, from: 1, to: 2, lines: []},
    {id: "asked", name: "Shared", level: 0, from: 2, to: 3, lines: [
      ["conflicts", none(conflicts) ? null : count(conflicts)],
    ]},
    {id: "l1", name: "L1", level: 1, from: 0, to: 2, use: level1Traffic(row), lines: [
      ["hits", percent(value("l1_hit_rate"))],
    ]},
    {id: "shared", name: "Shared memory", level: 1, from: 2, to: 3, use: sharedTraffic(row),
      lines: []},
    {id: "l2", name: "L2", level: 2, from: 0, to: 3, use: level2Traffic(row), lines: [
      ["hits", percent(hits)],
    ]},
    {id: "hbm", name: memoryName, level: 3, from: 0, to: 1, use: deviceTraffic(row), lines: []},
    {id: "host", name: "Host, PCIe", level: 3, from: 1, to: 2, lines: []},
    {id: "peers", name: "NVLink", level: 3, from: 2, to: 3, lines: []},
  ];
  return boxes.map(box => ({...box, lines: withValue(box.lines)}));
}

/** A link of bytes in two directions: `inwards` towards the SM, `outwards` away from it. */
const link = (from, to, inwards, outwards, share) => ({from, to, inwards, outwards, share});

/** The links between the boxes: bytes of a step towards the SM and away from it. */
function memoryLinks(row) {
  const value = key => metric(row, key);
  const inSectors = key => timesKnown(value(key), sectorBytes);
  const fromL2 = firstKnown(value("l1_from_l2_bytes"), null);
  const both = inSectors("l2_from_sm_sectors");
  const toL2 = none(fromL2) || none(both) ? null : Math.max(0, both - fromL2);
  const hbm = deviceTraffic(row);
  return [
    link("global", "l1", loadsOf(row), storesOf(row), level1Traffic(row).share),
    link("local", "l1", inSectors("l1_local_load_sectors"), inSectors("l1_local_store_sectors"),
      null),
    link("asked", "shared", value("shared_load_bytes"), value("shared_store_bytes"),
      sharedTraffic(row).share),
    {...link("l1", "l2", fromL2, toL2, level2Traffic(row).share), both: none(fromL2) ? both : null},
    {...link("l2", "hbm", value("hbm_read_bytes"), value("hbm_write_bytes"), hbm.share),
      both: none(value("hbm_read_bytes")) ? hbm.amount : null},
    link("l2", "host", value("pcie_read_bytes"), value("pcie_write_bytes"),
      linkUse(row, "pcie_ns")),
    link("l2", "peers", value("nvlink_receive_bytes"), value("nvlink_transmit_bytes"),
      linkUse(row, "nvlink_ns")),
  ];
}

/** The share of the time that a link to outside the GPU takes at its peak. */
function linkUse(row, key) {
  const seconds = secondsOf(row);
  return none(metric(row, key)) || !(seconds > 0) ? null : metric(row, key) / seconds / 1e7;
}

const isCountedLink = item =>
  [item.inwards, item.outwards, item.both].some(amount => !none(amount));

/** Whether a box has more to show than its name. */
const hasNumbers = ({lines, use}) => lines.length > 0 || Boolean(use && !none(use.amount));

/** The colour of a use in per cent: the stronger the nearer to its peak. */
function usePaint(share) {
  if (none(share)) return "var(--rest)";
  const part = Math.round(15 + 0.85 * Math.min(100, share));
  return "color-mix(in srgb, var(--hot) " + part + "%, var(--track))";
}

/** Draws the chart from left to right, or downwards where that has no room. */
class MemoryChart {
  constructor(width, row) {
    this.row = row;
    this.isUpright = width < 620;
    this.width = width;
    const links = memoryLinks(row);
    const counted = links.filter(isCountedLink);
    const linked = new Set(counted.flatMap(item => [item.from, item.to]));
    const always = new Set(["global", "l1", "l2", "hbm"]);
    this.boxes = memoryBoxes(row)
      .filter(box => linked.has(box.id) || always.has(box.id) || hasNumbers(box));
    const has = id => this.boxes.some(box => box.id === id);
    this.links = links.filter(item => has(item.from) && has(item.to));
    this.long = this.isUpright ? 108 : Math.min(150, width * 0.14);  // of a box, along the path
    this.gap = this.isUpright ? 86 : (width - 4 * this.long) / 3;
    this.lane = this.isUpright ? width / 3 : 104;
    this.svg = sv("svg", {
      width,
      height: this.isUpright ? 4 * this.long + 3 * this.gap : 3 * this.lane,
      id: "memory-chart",
      role: "img",
      "aria-label": "Bytes between the levels of memory of " + row.path
        + ". The numbers are in the table below.",
    });
  }

  draw() {
    for (const item of this.links) this.drawLink(item);
    for (const box of this.boxes) this.drawBox(box);
    return this.svg;
  }

  /** The rectangle of a box; the last of its kind takes the lanes that the others leave. */
  rectangle(box) {
    const siblings = this.boxes.filter(other => other.level === box.level);
    const isLast = siblings[siblings.length - 1] === box;
    const along = box.level * (this.long + this.gap);
    const across = box.from * this.lane + 3;
    const high = ((isLast ? 3 : box.to) - box.from) * this.lane - 6;
    return this.isUpright ? {x: across, y: along + 1, width: high, height: this.long - 2}
                          : {x: along + 1, y: across, width: this.long - 2, height: high};
  }

  drawBox(box) {
    const place = this.rectangle(box);
    const middle = {x: place.x + place.width / 2, "text-anchor": "middle"};
    const use = box.use || {};
    const lines = box.level === 0 ? [["", "accesses"], ...box.lines] : [...box.lines];
    if (!none(use.amount)) lines.unshift(["", bytes(use.amount)]);
    if (!none(use.perSecond)) lines.push(["", rate("B/s")(use.perSecond)]);
    if (!none(use.share)) {
      lines.push(["", percent(use.share) + " of peak"]);
    }
    const top = place.y + Math.max(17, (place.height - 16 * lines.length) / 2 - 2);
    this.svg.append(
      sv("rect", {...place, rx: 8, class: "box"}),
      sv("text", {...middle, y: top, "font-weight": 650}, box.name));
    lines.forEach(([name, text], i) => {
      const line = {...middle, y: top + 16 * (i + 1), class: "soft"};
      this.svg.append(sv("text", line, (name + " " + text).trim()));
    });
    if (none(use.share)) return;
    const bar = {x: place.x + 8, y: place.y + place.height - 12, height: 6, rx: 3};
    const wide = place.width - 16;
    this.svg.append(
      sv("rect", {...bar, width: wide, fill: "var(--track)"}),
      sv("rect", {...bar, width: wide * Math.min(1, use.share / 100), style: "fill:var(--hot)",
        "data-use": use.share}));
  }

  /** Two arrows beside each other: towards the SM, and away from it. */
  drawLink(item) {
    const [from, to] = [item.from, item.to].map(id => this.boxes.find(box => box.id === id));
    const [one, two] = [this.rectangle(from), this.rectangle(to)];
    const narrow = from.to - from.from <= to.to - to.from ? one : two;
    const across = this.isUpright ? narrow.x + narrow.width / 2 : narrow.y + narrow.height / 2;
    const begin = this.isUpright ? one.y + one.height : one.x + one.width;
    const end = this.isUpright ? two.y : two.x;
    const style = isCountedLink(item)
      ? {fill: usePaint(item.share), stroke: "var(--soft)", "stroke-width": 0.6}
      : {fill: "none", stroke: "var(--rest)", "stroke-dasharray": "4 3"};
    if (!none(item.both)) {
      this.drawArrow(begin, end, across, style, [true, true]);
      const text = bytes(item.both);
      this.linkText(this.isUpright ? text + " both ways" : text, begin, end, across, 1);
      if (!this.isUpright) this.linkText("both ways", begin, end, across, 3);
      return;
    }
    const away = this.isUpright ? 26 : 13;
    this.drawArrow(begin, end, across - away, style, [true, false]);
    this.drawArrow(begin, end, across + away, style, [false, true]);
    const text = (name, amount) => none(amount) ? "" : bytes(amount) + " " + name;
    const [inwards, outwards] = isCountedLink(item)
      ? [text("read", item.inwards), text("written", item.outwards)]
      : ["not counted", ""];
    this.linkText(inwards, begin, end, across, 0);
    this.linkText(outwards, begin, end, across, 2);
  }

  /** An arrow with heads at its begin and its end, or at one of them. */
  drawArrow(begin, end, across, style, [atBegin, atEnd]) {
    const [b, e] = [begin + 4, end - 4];
    const [half, head] = [4, 9];
    const along = [
      ...(atBegin ? [[b, 0], [b + head, -2 * half], [b + head, -half]] : [[b, -half]]),
      ...(atEnd ? [[e - head, -half], [e - head, -2 * half], [e, 0]] : [[e, -half], [e, half]]),
      ...(atEnd ? [[e - head, 2 * half], [e - head, half]] : []),
      ...(atBegin ? [[b + head, half], [b + head, 2 * half]] : [[b, half]]),
    ];
    const points = along.map(([a, c]) => this.isUpright ? [across + c, a] : [a, across + c]);
    this.svg.append(sv("polygon", {points: points.join(" "), style: styleOf(style)}));
  }

  /** The text of the first, the only or the second arrow of a link, or what is below the only. */
  linkText(text, begin, end, across, which) {
    if (!text) return;
    const middle = (begin + end) / 2;
    const beside = [-25, -14, 36, 23][which];
    const place = this.isUpright
      ? {x: across, y: middle - 11 + 15 * which}
      : {x: middle, y: across + beside};
    const halo = "paint-order:stroke;stroke:var(--card);stroke-width:4px";
    this.svg.append(sv("text", {...place, "text-anchor": "middle", style: halo}, text));
  }
}

/** A style of several properties; as attributes they would not know colours that are mixed. */
const styleOf = style => Object.entries(style).map(([key, value]) => key + ":" + value).join(";");

/** The numbers of the chart. */
function memoryTable(row) {
  const names = new Map(memoryBoxes(row).map(box => [box.id, box.name]));
  const links = memoryLinks(row).filter(isCountedLink).map(item => ({
    name: names.get(item.from) + " \u2013 " + names.get(item.to),
    inwards: bytes(item.inwards),
    outwards: bytes(item.outwards),
    amount: bytes(firstKnown(item.both, (item.inwards || 0) + (item.outwards || 0))),
    rate: "",
    share: percent(item.share),
  }));
  const boxes = memoryBoxes(row).filter(box => box.use && !none(box.use.amount)).map(box => ({
    name: box.name,
    inwards: "",
    outwards: "",
    amount: bytes(box.use.amount),
    rate: rate("B/s")(box.use.perSecond),
    share: percent(box.use.share),
  }));
  const column = (label, key, help, formula) => ({
    label,
    get: line => line[key],
    title: aboutFigure(help, formula, "Of the counted values below"),
  });
  return table("Memory of the range", [
    {label: "What", get: line => line.name, text: true},
    column("Bytes a " + unit, "amount", "What a level moves, or a link between two"),
    column("Towards the SM", "inwards", "What is read over a link"),
    column("Away from it", "outwards", "What is written over a link"),
    column("Rate", "rate", "Bytes a second", "Bytes / GPU time of the range while it was counted"),
    column("% of peak", "share", "Use of the level's unit; of a link, part of what it can move",
      "Limits of findings.json; where units were not counted, rate / peak"),
  ], [...boxes, ...links]);
}
