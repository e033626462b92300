"use strict";
// What is wrong, what it costs and what would help; and what was lost.

/** How many findings are shown at once. */
const openFindings = 5;

const toRow = (place, text) => el("a", {
  href: "#row-" + place,
  onclick: event => {
    event.preventDefault();
    showRow(place);
  },
}, text || titleOf(place));

const hasCost = finding => finding.cost_ns_per_step > 0;

/** Those that shorten the step, and doubts about the numbers: the list begins with them. */
const leadingFindings =
  answer.findings.filter(finding => finding.shortens_step || !hasCost(finding));

/** What proves it; what is of another range, or of a kernel, names that. */
const evidence = finding => finding.evidence.map((item, i) => [
  i ? "; " : "",
  item.path !== finding.path ? item.path + " " : null,
  item.kernel ? cutMiddle(item.kernel, 40) + ": " : null,
  el("span", {title: item.column}, item.text),
]);

const folding = (summaryText, ...children) =>
  el("details", {}, el("summary", {}, summaryText), children);

function otherRanges(finding) {
  if (finding.ranges.length < 2) return null;
  const list = finding.ranges.map((range, i) => [
    i ? ", " : "",
    range.path ? toRow(range.range, shortPath(range.path)) : titleOf(0),
    " " + time(range.cost_ns_per_step),
  ]);
  return el("p", {class: "evidence"}, "In: ", list, ".");
}

/** How many ranges of a finding its line names. */
const namedRanges = 5;

/** The ranges of a finding, the first alone where they are many; null for the whole step. */
function placesOf(finding) {
  if (!finding.path) return null;
  const all = [...new Map(finding.ranges.map(item => [item.range, item])).values()];
  const named = all.length > namedRanges ? [finding] : all;
  const inRanges = named.filter(item => item.path);
  const links = inRanges.map((item, i) =>
    [i ? ", " : "", toRow(item.range, i ? shortTitle(item.range) : shortPath(item.path))]);
  const more = all.length - named.length;
  const others = more > 0 ? some(more, "more range", "more ranges") : "outside ranges";
  return [links, (more > 0 || inRanges.length < named.length ? " and " + others : "") + ": "];
}

function findingTitle(finding) {
  const title = finding.path ? finding.title : sentence(finding.title).replace(/\.$/, "");
  const gain = finding.gain ? [" \u2013 ", el("span", {class: "gain"}, finding.gain)] : null;
  return el("h3", {}, placesOf(finding), title, gain);
}

/** The places of the ranges that a finding is of. */
const rangesOf = finding => [finding, ...finding.ranges].filter(item => item.path)
  .map(item => item.range);

/** Marks the findings of the chosen range, of those below it and above it. */
function markFindings() {
  for (const item of document.querySelectorAll(".findings li")) {
    const places = item.dataset.ranges.split(" ").filter(Boolean).map(Number);
    const isPicked = isChosen && chosen > 0
      && places.some(place => isWithin(place, chosen) || isWithin(chosen, place));
    item.classList.toggle("picked", isPicked);
    item.setAttribute("aria-current", String(isPicked));
  }
}

function oneFinding(finding, number) {
  return el("li", {id: "finding-" + number, "data-ranges": rangesOf(finding).join(" ")},
    findingTitle(finding),
    el("p", {}, (finding.prediction ? finding.prediction + " " : "") + sentence(finding.advice)),
    finding.next ? el("p", {class: "evidence"}, sentence(finding.next)) : null,
    folding("Ranges and evidence",
      otherRanges(finding),
      el("p", {class: "evidence"},
        finding.evidence.length ? [evidence(finding), ". "] : null,
        "Rule ", el("code", {}, finding.rule), ".")));
}

/** A list whose numbers begin behind `before`. */
function findingList(list, before) {
  const attributes = before
    ? {class: "findings", start: before + 1, style: "counter-reset: finding " + before}
    : {class: "findings"};
  return el("ol", attributes,
    list.map((finding, i) => oneFinding(finding, before + i + 1)));
}

function undecidedRules() {
  const rules = answer.undecided;
  if (!rules.length) return null;
  const columns = [
    {label: "Check", get: rule => rule.rule, text: true},
    {label: "What would run it", get: rule => rule.how, text: true},
  ];
  return folding(some(rules.length, "check", "checks") + " could not run",
    table("Checks that could not run", columns, rules));
}

function aboutFindings(list) {
  const blind = answer.undecided.length;
  const run = answer.checks - blind;
  const nothing = data.traced
    ? some(run, "check", "checks") + " found nothing"
      + (answer.findings.length ? " that would shorten the " + wholeTime : "")
      + (blind ? "; " + blind + " could not run." : ".")
    : "No check of the host times found anything; most checks look at the GPU's.";
  const found = "One cause each, over all its ranges, by what the " + wholeTime
    + " gains without it, with all else as it is.";
  const more = answer.findings_left_out
    ? count(answer.findings_left_out) + " more are in findings.json."
    : "";
  const sentences = [list.length ? found : nothing, answer.together.prediction, more];
  return sentences.filter(Boolean).join(" ");
}

function findings() {
  if (!answer.findings.length && !answer.bound && !answer.undecided.length) return;
  const list = leadingFindings;
  const others = answer.findings.filter(finding => !list.includes(finding));
  const rest = list.slice(openFindings);
  section("findings", "Findings", aboutFindings(list),
    list.length ? findingList(list.slice(0, openFindings), 0) : null,
    rest.length
      ? folding(count(rest.length) + " more, which gain less", findingList(rest, openFindings))
      : null,
    others.length
      ? folding(
          some(others.length, "finding", "findings") + " without a gain alone",
          findingList(others, list.length)
        )
      : null,
    undecidedRules());
  listeners.push(markFindings);
}

/** What was lost or went wrong; nothing where all is well. */
function doubts() {
  const texts = [...data.losses, ...data.problems];
  if (!texts.length) return;
  const notices = texts.map(text => el("p", {class: "notice"}, sentence(text)));
  section("lost", "Lost and not measured", null, notices);
}
