"use strict";
const assert = require("assert");
const test = require("node:test");
const {load} = require("./load.js");
const {data} = require("./sample.js");

const undecided = [{rule: "a", needs: ""}, {rule: "b", needs: ""}];
const page = load(
  ["shared/units.js", "shared/elements.js", "report/ranges.js", "report/steps.js",
    "report/budget.js", "report/findings.js"],
  ["aboutFindings", "answer", "busyKinds", "idleKinds"],
  {
    ...data,
    launches_graphs: true,
    answer: {...data.answer, checks: 32, undecided, together: {prediction: "Together 1 us."}},
  });

test("without findings it says how many checks ran, and how many could not", () => {
  assert.match(page.aboutFindings([]), /^30 checks found nothing; 2 could not run\. /);
});

test("a finding without a gain is found all the same", () => {
  page.answer.findings.push({rule: "device-copy"});
  assert.match(page.aboutFindings([]), /^30 checks found nothing that would shorten the step; 2 /);
  page.answer.findings.pop();
});

test("what findings gain together is said above them", () => {
  assert.match(page.aboutFindings([{}]), /Together 1 us\./);
});

test("a program that launches graphs is not told to make one", () => {
  for (const kinds of [page.busyKinds, page.idleKinds]) {
    assert.match(kinds.launch.helps, /the next graph/);
    assert.doesNotMatch(kinds.launch.helps, /a CUDA graph/);
  }
});
