"use strict";
// The levels of memory of one range: what SM, L1, L2 and HBM move between each other.

/** From this per cent of its peak on a link is drawn as a limit. */
const busyLink = 60;

/** Boxes and the links between them. A link has [text, bytes] and [rate, per cent of the peak]. */
function levelsOf(row) {
  const value = key => metric(row, key);
  const use = key => [value(key + "_per_second"), value(key.replace("_bytes", "_of_peak"))];
  const operations = floatingOperations(row);
  const sectorsPerLoad = value("l1_sectors_per_load");
  const fromSm = none(value("l2_from_sm_sectors")) ? null : 32 * value("l2_from_sm_sectors");
  const split = [["from SMs", fromSm], ["all", value("l2_bytes")]];
  const bothWays = [["read", value("hbm_read_bytes")], ["written", value("hbm_write_bytes")]];
  return [
    {
      box: "SM",
      lines: [
        ["occupancy", percent(value("achieved_occupancy"))],
        ["FLOP", none(operations) ? "" : count(operations)],
        ["issue rate", percent(value("issue_rate"))],
      ],
    },
    {link: [["", level1Bytes(row)]], use: use("l1_bytes")},
    {
      box: "L1",
      lines: [
        ["hits", percent(value("l1_hit_rate"))],
        ["sectors a load", none(sectorsPerLoad) ? "" : digits(sectorsPerLoad)],
      ],
    },
    {link: none(fromSm) ? [["", value("l2_bytes")]] : split, use: use("l2_bytes")},
    {
      box: "L2",
      lines: [["hits", percent(firstKnown(value("l2_hit_rate"), value("l2_request_hit_rate")))]],
    },
    {
      link: none(value("hbm_read_bytes")) ? [["", value("hbm_bytes")]] : bothWays,
      use: use("hbm_bytes"),
    },
    {box: "HBM", lines: [["moved", bytes(value("hbm_bytes"))]]},
  ];
}

/** Draws the boxes and links from left to right, or downwards where that has no room. */
class LevelsDrawing {
  constructor(width, row) {
    this.isUpright = width < 640;
    this.boxWide = this.isUpright ? 150 : Math.min(150, width * 0.15);
    this.boxHigh = this.isUpright ? 80 : 86;
    this.gap = this.isUpright ? 74 : (width - 4 * this.boxWide) / 3;
    this.middle = 25 + this.boxHigh / 2;
    this.svg = sv("svg", {
      width,
      height: this.isUpright ? 4 * this.boxHigh + 3 * this.gap : this.boxHigh + 50,
      id: "levels-figure",
      role: "img",
      "aria-label": "Bytes between SM, L1, L2 and HBM in " + row.path
        + ". The numbers are in the table below.",
    });
  }

  draw(levels) {
    let place = 0;
    for (const level of levels) {
      if (level.box) {
        this.drawBox(level, place);
        place += this.isUpright ? this.boxHigh : this.boxWide;
      } else {
        this.drawLink(level, place);
        place += this.gap;
      }
    }
    return this.svg;
  }

  drawBox({box, lines}, place) {
    const x = this.isUpright ? 0 : place;
    const y = this.isUpright ? place : 25;
    const middle = {x: x + this.boxWide / 2, "text-anchor": "middle"};
    const width = this.boxWide - 2;
    const height = this.boxHigh - 2;
    this.svg.append(
      sv("rect", {x: x + 1, y: y + 1, width, height, rx: 8, class: "box"}),
      sv("text", {...middle, y: y + 22, "font-weight": 650}, box));
    lines.filter(([, text]) => text).forEach(([name, text], i) => {
      const line = {...middle, y: y + 42 + 16 * i, class: "soft"};
      this.svg.append(sv("text", line, name + " " + text));
    });
  }

  drawLink({link, use}, place) {
    const [perSecond, share] = use;
    const known = link.filter(([, value]) => !none(value));
    const amounts = known.map(([name, value]) => (bytes(value) + " " + name).trim());
    const texts = [...amounts];
    if (!none(perSecond)) texts.push(rate("B/s")(perSecond));
    if (!none(share)) texts.push(percent(share) + " of peak");
    const wide = 2 + 12 * Math.min(1, (share || 0) / 100);
    const colour = share >= busyLink ? "var(--c3)" : "var(--c0)";
    const arrow = {
      from: place + 6,
      to: place + this.gap - 6,
      wide,
      half: wide / 2 + 5,
      paint: known.length ? colour : "var(--rest)",
      dashes: known.length ? undefined : "4 4",
    };
    this.drawArrow(arrow);
    texts.forEach((text, i) => this.linkText(text, i, link.length, arrow));
    if (!known.length) this.unknownText(arrow);
  }

  drawArrow({from, to, wide, half, paint, dashes}) {
    const style = {fill: "none", stroke: paint, "stroke-width": wide, "stroke-dasharray": dashes};
    const across = this.boxWide / 2;
    const line = this.isUpright ? {x1: across, x2: across, y1: from + 8, y2: to - 8}
                                : {x1: from + 8, x2: to - 8, y1: this.middle, y2: this.middle};
    const head = (end, sign) => {
      const back = end - sign * 9;
      if (this.isUpright) return [across, end, across - half, back, across + half, back];
      return [end, this.middle, back, this.middle - half, back, this.middle + half];
    };
    this.svg.append(
      sv("line", {...line, ...style}),
      sv("polygon", {points: head(from, -1).join(" "), fill: paint}),
      sv("polygon", {points: head(to, 1).join(" "), fill: paint}));
  }

  /** Amounts stand above the arrow, rates below it; all of them beside one that goes down. */
  linkText(text, i, amounts, {from, to, half}) {
    if (this.isUpright) {
      this.svg.append(sv("text", {x: this.boxWide / 2 + 18, y: from + 16 + 15 * i}, text));
      return;
    }
    const above = this.middle - half - 5 - 15 * (amounts - 1 - i);
    const below = this.middle + half + 14 + 15 * (i - amounts);
    const y = i < amounts ? above : below;
    this.svg.append(sv("text", {x: (from + to) / 2, y, "text-anchor": "middle"}, text));
  }

  unknownText({from, to}) {
    const place = this.isUpright
      ? {x: this.boxWide / 2 + 18, y: from + 30}
      : {x: (from + to) / 2, y: this.middle - 12, "text-anchor": "middle"};
    this.svg.append(sv("text", {...place, class: "soft"}, "not counted"));
  }
}
