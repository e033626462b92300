"use strict";
// The sums of a selected part of the timeline: busy, idle by cause, kernels by name.

/** How many names the table has. */
const namesOfSums = 50;

/** A line for busy time and for idle time of each cause: {name, ns, paint, isIdle}. */
const lineOfSums = ({busy, causes}) => [
  {name: "GPU busy", ns: busy, paint: "var(--mark)"},
  ...causes.map(({label, ns}) => ({
    ...idleKinds[label], name: "GPU idle: " + gapName(label), ns, isIdle: true,
  })),
];

function sumsList(sums) {
  return el("ul", {class: "parts", id: "timeline-parts"}, lineOfSums(sums).map(part =>
    el("li", {},
      el("i", budgetLook(part)),
      el("span", {class: "what"}, part.name),
      el("span", {class: "amount", "data-ns": part.ns}, time(Math.round(part.ns))),
      el("span", {class: "amount"}, shareText(100 * part.ns / sums.length)))));
}

const sumsTable = ({names, length}) => table("Kernels and copies of the selected part", [
  {label: "Kernel or copy", get: item => item.label, text: true},
  {label: "GPU time", title: aboutKernels("total_ns"), get: item => time(Math.round(item.ns))},
  {label: "% of it", title: aboutKernels("total_ns"), get: item => percent(100 * item.ns / length)},
  {label: "Launches", title: aboutKernels("count"), get: item => count(item.count)},
  {label: "Mean", title: aboutKernels("mean_ns"),
    get: item => item.count ? time(Math.round(item.ns / item.count)) : ""},
], names.slice(0, namesOfSums), {class: "kernels"});

/** Fills the box with the sums of what is selected; without a selection it says how to select. */
function showSums(box, {shown, selected}) {
  if (!selected) {
    box.replaceChildren(el("p", {class: "about"},
      "Drag over the figure, or press Select, for the sums of a part."));
    return;
  }
  const {from, to} = selected;
  const sums = sumsBetween(shown.tracks, from, to);
  const hasGpu = shown.tracks.some(track => track.kind === "device");
  box.replaceChildren(
    el("h3", {}, "Selected: " + time(Math.round(to - from)) + " from " + time(Math.round(from))),
    hasGpu ? sumsList(sums) : el("p", {}, "No GPU worked in this window."),
    sums.names.length ? sumsTable(sums) : "");
}
