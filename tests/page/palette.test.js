"use strict";
// Colours that stand side by side are told apart by everybody, in both themes and on paper:
// CIEDE2000 between them, also as the colour-blind see them (Machado, Oliveira and Fernandes 2009)
// and in grey.
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/selection.js", "report/budget.js"],
  ["busyKinds", "idleKinds", "colourCount"], data);

/** The least difference that a pair has: 2.3 is just seen, 9 is another colour at a glance. */
const least = 9;
/** The same in the grey of a printer without colours, where names and lines help. */
const leastInGrey = 3.5;

const file = path.join(__dirname, "..", "..", "page", "style", "theme.css");
const style = fs.readFileSync(file, "utf8");

/** The colours of the rule that begins with `selector`. */
function coloursOf(selector) {
  const [, rule] = style.split(selector + " {");
  return new Map([...rule.split("}")[0].matchAll(/--([\w-]+): (#\w{6});/g)].map(m => [m[1], m[2]]));
}

const themes = {
  light: coloursOf(":root"),
  dark: coloursOf(":root[data-theme=\"dark\"]"),
};

const linear = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
const times = (matrix, v) => matrix.map(row => row.reduce((all, item, i) => all + item * v[i], 0));

const sights = {
  "all colours": v => v,
  protanopia: v => times([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998]], v),
  deuteranopia: v => times([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881]], v),
  tritanopia: v => times([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039]], v),
  grey: v => Array(3).fill(0.2126729 * v[0] + 0.7151522 * v[1] + 0.072175 * v[2]),
};

/** CIE L*a*b* under D65 of a colour as a kind of sight has it. */
function lab(hex, sight) {
  const part = [1, 3, 5].map(i => linear(parseInt(hex.slice(i, i + 2), 16) / 255));
  const seen = sight(part).map(v => Math.min(1, Math.max(0, v)));
  const xyz = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175],
    [0.0193339, 0.119192, 0.9503041]], seen);
  const [x, y, z] = [xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883]
    .map(t => t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const degrees = (b, a) => (Math.atan2(b, a) * 180 / Math.PI + 360) % 360;
const radians = angle => angle * Math.PI / 180;

/** CIEDE2000 (Sharma, Wu and Dalal 2005). */
function difference([l1, a1, b1], [l2, a2, b2]) {
  const seven = c => Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  const g = 0.5 * (1 - seven((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2));
  const [x1, x2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(x1, b1), Math.hypot(x2, b2)];
  const [h1, h2] = [degrees(b1, x1), degrees(b2, x2)];
  const isGrey = c1 * c2 === 0;
  const turn = isGrey ? 0 : (h2 - h1 + 540) % 360 - 180;
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin(radians(turn / 2));
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const isFar = Math.abs(h1 - h2) > 180;
  const h = isGrey ? h1 + h2 : (h1 + h2 + (isFar ? h1 + h2 < 360 ? 360 : -360 : 0)) / 2;
  const t = 1 - 0.17 * Math.cos(radians(h - 30)) + 0.24 * Math.cos(radians(2 * h))
    + 0.32 * Math.cos(radians(3 * h + 6)) - 0.2 * Math.cos(radians(4 * h - 63));
  const sl = 1 + 0.015 * (l - 50) ** 2 / Math.sqrt(20 + (l - 50) ** 2);
  const sc = 1 + 0.045 * c;
  const sh = 1 + 0.015 * c * t;
  const r = -2 * seven(c) * Math.sin(radians(60 * Math.exp(-(((h - 275) / 25) ** 2))));
  const [dl, dc, dg] = [(l2 - l1) / sl, (c2 - c1) / sc, dh / sh];
  return Math.sqrt(dl ** 2 + dc ** 2 + dg ** 2 + r * dc * dg);
}

const names = kinds => [...new Set(Object.values(kinds).map(kind => kind.paint.slice(6, -1)))];
const ranges = Array.from({length: page.colourCount}, (_, i) => "range-" + i);
const limiters = names(page.busyKinds).filter(name => name !== "rest" && name !== "mark");
const causes = names(page.idleKinds).filter(name => name !== "rest");

/** Of causes, which are grey and have lines at angles of their own. */
const leastOfCauses = 5.4;

/** What stands side by side: all of a set, in whatever order. */
const sets = {ranges, limiters, causes, changes: ["more", "less"]};

test("the difference of two colours is that of the paper's examples", () => {
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-4, a + " is not " + b);
  near(difference([50, 2.6772, -79.7751], [50, 0, -82.7485]), 2.0425);
  near(difference([50, -0.001, 2.49], [50, 0.0011, -2.49]), 4.7461);
  near(difference([50, 2.5, 0], [58, 24, 15]), 19.4535);
  near(difference([90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447]), 1.4441);
});

for (const [theme, colours] of Object.entries(themes)) {
  for (const [set, members] of Object.entries(sets)) {
    test("neighbours of " + set + " are told apart in the " + theme + " theme", () => {
      assert.ok(members.length > 1 && members.every(name => colours.has(name)), members.join());
      for (const [sight, see] of Object.entries(sights)) {
        if (sight === "grey" && theme === "dark") continue;  // paper is light
        const bar = sight === "grey" ? leastInGrey : set === "causes" ? leastOfCauses : least;
        const seen = members.map(name => lab(colours.get(name), see));
        for (let i = 0; i < members.length; i += 1) {
          for (let k = 0; k < i; k += 1) {
            const far = difference(seen[i], seen[k]);
            const pair = members[k] + " and " + members[i] + ", " + sight + ": ";
            assert.ok(far >= bar, pair + far.toFixed(1));
          }
        }
      }
    });
  }
}

test("one hue has one meaning: ranges have green to blue, limiters the others, causes none", () => {
  for (const colours of Object.values(themes)) {
    const tone = name => {
      const [, a, b] = lab(colours.get(name), v => v);
      return {hue: degrees(b, a), chroma: Math.hypot(a, b)};
    };
    const isOfRanges = ({hue}) => hue > 104 && hue < 255;
    for (const name of ranges) assert.ok(isOfRanges(tone(name)), name);
    for (const name of limiters) assert.ok(!isOfRanges(tone(name)), name);
    for (const name of causes) assert.ok(tone(name).chroma < 3, name);
  }
});

test("limiters that share a colour, and causes, differ by their lines", () => {
  const looks = kinds => Object.entries(kinds).filter(([name]) => name !== "not known")
    .map(([, kind]) => kind).map(({paint, angle, fine}) => [paint, angle, fine].join());
  const idle = looks(page.idleKinds);
  assert.strictEqual(new Set(idle).size, idle.length);
  const shown = Object.entries(page.busyKinds)
    .filter(([name]) => !/^L1 with|^FP32|^NVLink/.test(name));
  const busy = looks(Object.fromEntries(shown));  // these three stand for others
  assert.strictEqual(new Set(busy).size, busy.length);
});

test("both rules of the dark theme have the same colours", () => {
  const media = coloursOf("  :root:not([data-theme=\"light\"])");
  assert.deepStrictEqual([...media], [...themes.dark]);
});
