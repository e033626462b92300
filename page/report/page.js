"use strict";
// The order of the page.

const pageParts = [
  headline,
  findings,
  doubts,
  ranges,
  shares,
  roofline,
  oneRange,
  timeline,
  memory,
  environment,
  headerButtons,
];
for (const part of pageParts) part();
if (chosen) choose(chosen, true);

/** A link to a row may lead to one that is folded. */
function followLink() {
  if (/^#row-\d+$/.test(location.hash)) showRow(Number(location.hash.slice(5)));
}
followLink();
addEventListener("hashchange", followLink);
