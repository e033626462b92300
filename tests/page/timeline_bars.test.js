"use strict";
const assert = require("assert");
const test = require("node:test");
const {load, randomNumbers} = require("./load.js");

const page = load(
  ["shared/units.js", "report/timeline_bars.js"],
  ["readBars", "readGaps", "readUse", "joinCalls", "nextBar", "matches", "visibleBars", "busyShare",
    "clampWindow", "seenPart", "unpack", "BarLevels", "sumsBetween"]);
const {readBars, readGaps, readUse, joinCalls, nextBar, matches, busyShare, clampWindow, seenPart,
  unpack, BarLevels, sumsBetween} = page;
const visibleBars = (bars, ...view) => page.visibleBars(new BarLevels(bars), ...view);

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/** Numbers as the report writes them. */
const packed = numbers => numbers.map(number => {
  let [text, rest] = ["", number];
  for (; rest >= 32; rest = Math.floor(rest / 32)) text += digits[32 + rest % 32];
  return text + digits[rest];
}).join("");

const bar = (begin, end, label = "kernel", range = 1) =>
  ({begin, end, busy: end - begin, count: 1, longest: end - begin, label, range});

const total = (list, amount) => list.reduce((all, item) => all + item[amount], 0);

test("bars are read from differences, labels and what was joined", () => {
  const track = {bars: packed([100, 50, 1, 200, 900, 0]), joined: packed([1, 30, 300])};
  assert.deepStrictEqual(readBars(track, ["gemm", 7, "copy", 3]), [
    {begin: 100, end: 150, busy: 50, count: 1, longest: 50, label: "copy", range: 3},
    {begin: 300, end: 1200, busy: 300, count: 30, longest: 10, label: "gemm", range: 7},
  ]);
});

test("a kernel of 10 us every 100 us is seen as such from the zoom on that has room", () => {
  const kernels = Array.from({length: 400}, (_, i) => bar(i * 100, i * 100 + 10));
  const far = visibleBars(kernels, 0, 40000, 1000);
  assert.strictEqual(total(far, "count"), 400);
  const middle = visibleBars(kernels, 0, 40000, 100);
  assert.ok(middle.length <= 50);
  assert.strictEqual(total(middle, "count"), 400);
  for (const joined of middle.filter(item => item.count > 4)) {
    assert.ok(Math.abs(busyShare(joined) - 0.1) < 0.03, String(busyShare(joined)));
  }
  const near = visibleBars(kernels, 1000, 2000, 1000);
  assert.deepStrictEqual(near.map(item => item.count), near.map(() => 1));
  assert.deepStrictEqual(near.map(item => item.begin), kernels.slice(10, 21).map(k => k.begin));
});

test("a gap of a few pixels is never covered", () => {
  const random = randomNumbers(3);
  for (let run = 0; run < 200; run += 1) {
    const bars = [];
    let now = 0;
    for (let i = 0; i < 300; i += 1) {
      now += random() < 0.05 ? 2000 * random() : 20 * random();
      const end = now + 30 * random();
      bars.push(bar(now, end));
      now = end;
    }
    const pixels = 500;
    const widest = 2 * now / pixels;
    const shown = visibleBars(bars, 0, now, pixels);
    assert.strictEqual(total(shown, "count"), bars.length);
    assert.ok(Math.abs(total(shown, "busy") - total(bars, "busy")) < 1e-6 * now);
    bars.slice(1).forEach((next, i) => {
      const [begin, end] = [bars[i].end, next.begin];
      if (end - begin <= widest) return;
      assert.ok(!shown.some(item => item.begin <= begin && item.end >= end));
    });
  }
});

test("what is joined has the label of the longest", () => {
  const bars = [bar(0, 1, "a", 1), bar(2, 6, "b", 2), bar(7, 8, "c", 3)];
  const [joined] = visibleBars(bars, 0, 10000, 10);
  assert.deepStrictEqual([joined.label, joined.range, joined.count, joined.busy, joined.end],
    ["b", 2, 3, 6, 8]);
});

test("what lies outside of the window is not drawn", () => {
  const shown = visibleBars([bar(0, 10), bar(90, 120), bar(300, 310)], 100, 200, 100);
  assert.deepStrictEqual(shown.map(item => item.begin), [90]);
});

test("a part that has no length is busy", () => {
  assert.strictEqual(busyShare(bar(5, 5)), 1);
  assert.strictEqual(busyShare({begin: 0, end: 10, busy: 12}), 1);
});

test("a window stays within the step, and not below the deepest zoom", () => {
  assert.deepStrictEqual(clampWindow(-50, 50, 1000, 50), {from: 0, to: 100});
  assert.deepStrictEqual(clampWindow(950, 1050, 1000, 50), {from: 900, to: 1000});
  assert.deepStrictEqual(clampWindow(500, 501, 1000, 50), {from: 500, to: 550});
  assert.deepStrictEqual(clampWindow(-10, 5000, 1000, 50), {from: 0, to: 1000});
  assert.deepStrictEqual(clampWindow(0, 5, 20, 50), {from: 0, to: 20});
});

test("gaps are bars with their cause, and stay to be seen where bars are joined", () => {
  const gaps = readGaps({gaps: [100, 50, 0, 200, 30, 2], joined: []});
  assert.deepStrictEqual(gaps.map(gap => [gap.begin, gap.end, gap.label]),
    [[100, 150, "launch"], [300, 330, "wait"]]);
  const many = readGaps({
    gaps: Array.from({length: 300}, (_, i) => [i ? 100 : 0, 40, 0]).flat(),
    joined: [],
  });
  const [joined] = visibleBars(many, 0, 30000, 30);
  assert.ok(joined.count > 1);
  assert.ok(Math.abs(busyShare(joined) - 0.4) < 0.03);
});

test("a kernel knows the call that launched it, a joined bar none", () => {
  const tracks = [
    {kind: "ranges", bars: [bar(80, 500)]},
    {kind: "calls", bars: [bar(100, 110), {...bar(200, 260), count: 9}]},
    {
      kind: "device",
      bars: [bar(130, 150), bar(300, 310), bar(320, 330)],
      launched: packed([60, 200, 0]),
    },
  ];
  joinCalls(tracks);
  assert.deepStrictEqual(tracks[2].bars.map(item => item.call), [
    {track: 1, begin: 100, end: 110}, undefined, undefined]);
});

test("a search finds labels and ranges, and goes from one to the next and round", () => {
  const path = range => range === 1 ? "block/mlp" : "loss";
  assert.ok(matches(bar(0, 1, "GEMM"), "gemm", path) && matches(bar(0, 1), "mlp", path));
  assert.ok(!matches(bar(0, 1, "copy", 2), "mlp", path));
  const bars = [bar(50, 60), bar(0, 10), bar(20, 30)];
  assert.strictEqual(nextBar(bars, 5).begin, 20);
  assert.strictEqual(nextBar(bars, 55).begin, 0);
  assert.strictEqual(nextBar([], 0), undefined);
});

test("gaps that are joined say how many they are, and how long the GPU was idle", () => {
  const [, joined] = readGaps({gaps: [0, 9, 1, 10, 80, 3], joined: [1, 5, 40, 25]});
  assert.deepStrictEqual([joined.begin, joined.end, joined.count, joined.busy, joined.longest],
    [10, 90, 5, 40, 25]);
  assert.strictEqual(busyShare(joined), 0.5);
});

test("a use is the busy share of its bar, and what lies between joined ones is none", () => {
  const bars = readUse({name: "HBM use", pieces: [0, 10, 600, 30, 10, 200]});
  assert.deepStrictEqual(bars.map(bar => [bar.begin, bar.end]), [[0, 10], [30, 40]]);
  assert.deepStrictEqual(bars.map(busyShare), [0.6, 0.2]);
  const [joined] = visibleBars(bars, 0, 4000, 10);
  assert.strictEqual(busyShare(joined), 8 / 40);
});

test("a name has the room of the part of its bar that is seen", () => {
  assert.deepStrictEqual(seenPart(20, 90, 10, 100), {begin: 20, end: 90});
  assert.deepStrictEqual(seenPart(-50, 30, 10, 100), {begin: 10, end: 30});
  assert.deepStrictEqual(seenPart(80, 300, 10, 100), {begin: 80, end: 100});
  assert.deepStrictEqual(seenPart(-50, 5, 10, 100), {begin: 10, end: 10});
});

test("numbers are read from digits of five bits", () => {
  assert.deepStrictEqual(unpack("AfgB-----H"), [0, 31, 32, 2 ** 28 - 1]);
  const numbers = [0, 31, 32, 1023, 1024, 2 ** 40 + 5];
  assert.deepStrictEqual(unpack(packed(numbers)), numbers);
});

/** Bars of a stream, and how many of them were looked at. */
function counted(amount) {
  let looks = 0;
  const random = randomNumbers(7);
  const bars = [];
  let now = 0;
  for (let i = 0; i < amount; i += 1) {
    now += 20 + Math.floor(400 * random());
    const end = now + 10 + Math.floor(300 * random());
    const made = bar(now, end);
    delete made.end;
    Object.defineProperty(made, "end", {get: () => {
      looks += 1;
      return end;
    }, enumerable: true});
    bars.push(made);
    now = end;
  }
  return {bars, length: now, looks: () => looks};
}

test("a view of 100,000 bars looks at as few as one of 1,000, and each is there by itself", () => {
  const pixels = 1000;
  const mostLooks = amount => {
    const {bars, length, looks} = counted(amount);
    const levels = new BarLevels(bars);
    page.visibleBars(levels, 0, length, pixels);  // makes the levels
    let most = 0;
    for (let part = length; part > 2000; part /= 1.7) {
      for (const from of [0, 0.3 * (length - part), length - part]) {
        const before = looks();
        const shown = page.visibleBars(levels, from, from + part, pixels);
        most = Math.max(most, looks() - before);
        assert.ok(shown.length <= 2 * pixels, shown.length + " bars on " + pixels + " pixels");
      }
    }
    const near = page.visibleBars(levels, 0.6 * length, 0.6 * length + 20000, pixels);
    assert.ok(near.length > 20 && near.every(item => item.count === 1));
    const all = page.visibleBars(levels, 0, length, pixels);
    assert.strictEqual(total(all, "count"), amount);
    return most;
  };
  assert.ok(mostLooks(100000) < 12 * pixels, "it looks at " + mostLooks(100000));
});

test("the sums of a part are busy, idle by cause, and kernels by name, cut at its edges", () => {
  const device = [bar(0, 100, "gemm"), bar(200, 300, "gelu"), bar(300, 400, "gemm"),
    bar(500, 600, "copy")];
  const gaps = [bar(100, 200, "launch", 0), bar(400, 500, "wait", 0)];
  const tracks = [
    {kind: "calls", levels: new BarLevels([bar(0, 600, "launch")])},
    {kind: "device", levels: new BarLevels(device)},
    {kind: "gaps", levels: new BarLevels(gaps)},
  ];
  const sums = sumsBetween(tracks, 50, 450);
  assert.deepStrictEqual([sums.length, sums.busy, sums.idle], [400, 250, 150]);
  assert.deepStrictEqual(sums.causes.map(({label, ns}) => [label, ns]),
    [["launch", 100], ["wait", 50]]);
  assert.deepStrictEqual(sums.names.map(({label, ns, count}) => [label, ns, count]),
    [["gemm", 150, 1], ["gelu", 100, 1]]);
});
