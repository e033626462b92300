"use strict";
// The order of the page.

const pageParts = [
  headline,
  notes,
  waterfall,
  changes,
  factors,
  oneRange,
  onlyOne,
  runs,
  headerButtons,
];
for (const part of pageParts) part();
