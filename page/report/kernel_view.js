"use strict";
// All kernels of a step: which ranges run each, how often, how long, and what limits them.

/** How many kernels are shown before a click on the button for more. */
const firstKernels = 30;

/** What limits most of the kernels that a range runs itself, as the budget has it, by place. */
function readRangeLimits(list) {
  const longest = new Map();
  for (const part of list) {
    for (const {range, ns} of part.ranges) {
      const known = longest.get(range);
      if (!known || ns > known.ns) longest.set(range, {what: part.what, ns});
    }
  }
  return longest;
}

const rangeLimits =
  readRangeLimits(data.budget ? budgetParts(data.budget.busy, busyKinds, false) : []);

/** Kernels of a step with the ranges that run each, both with the longest first. */
function kernelGroups(list) {
  const groups = new Map();
  for (const kernel of list) {
    const key = kernel.name + "\n" + kernel.whole;
    if (!groups.has(key)) groups.set(key, {...kernel, launches: 0, ns: 0, runs: new Map()});
    const group = groups.get(key);
    group.launches += kernel.launches;
    group.ns += kernel.ns;
    const run = group.runs.get(kernel.range) || {range: kernel.range, launches: 0, ns: 0};
    run.launches += kernel.launches;
    run.ns += kernel.ns;
    group.runs.set(kernel.range, run);
  }
  const byTime = (a, b) => b.ns - a.ns;
  return [...groups.values()].sort(byTime)
    .map(group => ({...group, runs: [...group.runs.values()].sort(byTime)}));
}

/** The limiters of the ranges that run a kernel, that of the longest first. */
const limitersOf = runs =>
  [...new Set(runs.map(({range}) => (rangeLimits.get(range) || {}).what).filter(Boolean))];

/** Whether a kernel or one of its ranges has the words of the filter. */
const isKernelFound = ({name, whole, runs}, words) => [name, whole,
  ...runs.map(({range}) => titleOf(range))].some(text => text.toLowerCase().includes(words));

const kernelView = {words: "", most: firstKernels, open: new Set(), updateFocus: () => {}};

const shownKernels = () =>
  allKernels.filter(group => !kernelView.words || isKernelFound(group, kernelView.words));

function swatchOf(kind) {
  const {class: look, style} = budgetLook(kind);
  return el("i", {class: ["swatch", look].filter(Boolean).join(" "), style});
}

const limiterNames = list => list.map((what, i) => [
  i ? ", " : "",
  swatchOf(busyKinds[what] || {paint: "var(--mark)"}),
  (busyKinds[what] || {}).name || what,
]);

/** The amounts of a row: of a kernel, or of one that a range runs. */
function kernelCells({ns, launches}, limiters, amount) {
  const share = 100 * ns / summary.period_ns;
  const style = {style: "width:" + Math.min(100, share) + "%"};
  return [
    el("td", {}, time(ns)),
    el("td", {}, shareText(share),
      el("span", {class: "bar", "aria-hidden": "true"}, el("span", style))),
    el("td", {}, count(launches)),
    el("td", {}, time(ns / launches)),
    el("td", {class: "text"}, limiterNames(limiters)),
    el("td", {}, amount),
  ];
}

function toggleKernel(group) {
  if (!kernelView.open.delete(group.key)) kernelView.open.add(group.key);
  drawKernelView(group.key);
}

/** A kernel, and where it is open a row for each range that runs it. */
function kernelLines(group) {
  const isOpen = kernelView.open.has(group.key);
  const isPicked = isChosen && chosen > 0 && group.runs.some(run => isWithin(run.range, chosen));
  const whole = group.whole || group.name;
  const fold = button(isOpen ? "\u25be" : "\u25b8", () => toggleKernel(group), {
    class: "fold",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  const name = button(group.name, () => toggleKernel(group), {
    class: "pick",
    title: whole,
    "aria-expanded": String(isOpen),
    "data-kernel": group.key,
  });
  const line = el("tr", {class: isPicked && "picked"},
    el("th", {scope: "row"}, el("div", {class: "name"}, fold, name)),
    kernelCells(group, limitersOf(group.runs), count(group.runs.length)));
  if (!isOpen) return [line];
  return [line, ...group.runs.map(run => el("tr", {
    class: run.range === chosen && isChosen && "picked",
    "data-range": run.range,
  },
    el("th", {scope: "row", class: "inner"},
      el("div", {class: "name"}, button(run.range ? shortTitle(run.range) : "(outside ranges)",
        () => choose(run.range), {class: "pick", title: titleOf(run.range)}))),
    kernelCells(run, limitersOf([run]), "")))];
}

const kernelHeadings = [
  {label: "Kernel and its ranges", text: true},
  {label: "GPU time", title: aboutKernels("total_ns")},
  {label: "% of " + wholeTime, title: aboutKernels("total_ns")},
  {label: "Launches", title: aboutKernels("count")},
  {label: "Mean", title: aboutKernels("mean_ns")},
  {label: "Limiter", title: aboutColumn("limiter"), text: true},
  {label: "Ranges", title: aboutFigure("Ranges that run the kernel", "", "kernels.csv")},
];

/** Draws the table; the focus goes to the kernel of a key. */
function drawKernelView(focus) {
  const list = shownKernels();
  const shown = list.slice(0, kernelView.most);
  const box = byId("kernel-rows");
  const rows = shown.flatMap(kernelLines);
  box.classList.toggle("tall", isTall(rows.length));
  box.replaceChildren(el("table", {class: "kernels"},
    el("thead", {}, el("tr", {}, kernelHeadings.map(({label, title, text}) =>
      el("th", {scope: "col", class: text && "text", "data-about": title}, label)))),
    el("tbody", {}, rows)));
  fitColumns(box);
  kernelView.updateFocus();
  const left = list.length - shown.length;
  byId("kernel-more").hidden = left <= 0;
  byId("kernel-more").textContent = "Show " + some(left, "more kernel");
  const ns = sum(list, group => group.ns);
  byId("kernel-note").textContent = some(list.length, "kernel")
    + (kernelView.words ? " of " + count(allKernels.length) + " found" : "") + ", "
    + time(ns) + " a " + unit + ".";
  const wanted = focus && [...box.querySelectorAll("[data-kernel]")]
    .find(item => item.dataset.kernel === focus);
  if (wanted) wanted.focus();
}

/** Shows a kernel with its ranges, by its name. */
function showKernel(name) {
  const place = allKernels.findIndex(group => group.name === name || group.whole === name);
  if (place < 0) return false;
  Object.assign(kernelView, {words: "", most: Math.max(kernelView.most, place + 1)});
  byId("kernel-filter").value = "";
  kernelView.open.add(allKernels[place].key);
  drawKernelView(allKernels[place].key);
  return true;
}

/** A link to a kernel of this page; its name alone where it is in no step. */
const toKernel = name => allKernels.some(group => group.name === name)
  ? el("a", {
      href: "#kernel=" + encodeURIComponent(name),
      class: "pick",
      onclick: event => {
        event.preventDefault();
        showKernel(name);
      },
    }, name)
  : name;

/** The arrow keys to the sides unfold and fold a kernel. */
function foldKernel(key, item) {
  const group = allKernels.find(other => other.key === item.dataset.kernel);
  if (key !== "ArrowLeft" && key !== "ArrowRight") return false;
  if (group && kernelView.open.has(group.key) === (key === "ArrowLeft")) toggleKernel(group);
  return true;
}

const allKernels = kernelGroups(kernelsIn(0)).map((group, i) => ({...group, key: String(i)}));

function kernelSection() {
  if (!allKernels.length) return;
  const filter = filterBox("kernel-filter", words => {
    kernelView.words = words;
    drawKernelView();
  });
  const showMore = () => {
    kernelView.most += 200;
    drawKernelView();
  };
  const rows = tableBox("Table of kernels", 0);
  rows.id = "kernel-rows";
  kernelView.updateFocus = oneTabStop(rows, ".pick", foldKernel);
  const about = "Each kernel of " + meanSteps() + ", the longest first. A click on one shows the"
    + " ranges that run it; a click on a range chooses it. Limiter: of all kernels that the range"
    + " runs itself, as in the bar at the top.";
  section("kernels", "Kernels", about,
    el("div", {class: "controls"}, filter,
      copyButtons(() => byId("kernel-rows").querySelector("table"))),
    rows,
    el("p", {id: "kernel-note", class: "about", role: "status"}),
    button("", showMore, {id: "kernel-more", hidden: true}),
    leftOutKernels());
  listeners.push(() => drawKernelView());
  drawKernelView();
}
