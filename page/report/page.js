"use strict";
// The order of the page.

const pageParts = [
  headline,
  findings,
  doubts,
  icicle,
  ranges,
  kernelSection,
  shares,
  roofline,
  oneRange,
  timeline,
  collectives,
  memory,
  environment,
  headerButtons,
];
for (const part of pageParts) part();

/** What is chosen stands beside the sections, wherever the page is scrolled to. */
function showChoice() {
  const box = byId("chosen");
  box.hidden = !isChosen || !chosen;
  if (box.hidden) return;
  box.replaceChildren(
    el("i", {style: "background:" + color(chosen)}),
    toRow(chosen, titleOf(chosen)),
    button("\u00d7", () => choose(0), {"aria-label": "Choose no range"}));
}
listeners.push(showChoice);
if (chosen) choose(chosen, true);

/** Brings the figures of the chosen range into view, at the height that they have when drawn. */
function showChosen() {
  for (const figure of figures) figure.fit();
  const shown = ["range", "icicle", "ranges"].map(byId).find(Boolean);
  if (shown) shown.scrollIntoView();
}

/** A range that an address names may be one of another run, or too small for the page. */
function sayMissing() {
  const box = byId("chosen");
  box.hidden = false;
  box.replaceChildren("This page has no range " + location.hash.slice("#range=".length) + ".");
}

/** An address names a kernel as one of a range, which another run may not have. */
function followKernel(name) {
  if (showKernel(decodeURIComponent(name))) byId("kernels").scrollIntoView();
}

/** A finding may be in a list that is folded. */
function showFinding(item) {
  for (let box = item.parentElement; box; box = box.parentElement) {
    if (box.tagName === "DETAILS") box.open = true;
  }
  item.scrollIntoView();
}

/**
 * An address names a range, a finding or a row, which may be folded; that of a section keeps the
 * choice. Back and forward come here too.
 */
function followLink() {
  const place = placeOfAddress(location.hash);
  const finding = /^#finding-\d+$/.test(location.hash) && byId(location.hash.slice(1));
  if (finding) showFinding(finding);
  if (!location.hash) {
    if (chosen) choose(0, true);
  } else if (place === undefined && location.hash.startsWith("#range=")) {
    sayMissing();
  } else if (place !== undefined) {
    unfoldTo(place);
    choose(place);
    showChosen();
  } else if (location.hash.startsWith("#kernel=")) {
    followKernel(location.hash.slice("#kernel=".length));
  } else if (/^#row-\d+$/.test(location.hash)) {
    showRow(Number(location.hash.slice(5)));
  } else if (location.hash && isChosen && chosen) {
    history.replaceState(null, "", addressOf(chosen));
  }
}
if (location.hash) followLink();  // else the longest range is shown
addEventListener("hashchange", followLink);
