"""Each rule has its entry in docs/reference/findings.md with an example and a cure, and no entry is without a rule. The planted programs
of the benchmarks expect rules that exist."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
code = (root / "src/analyse/finding_rules.hpp").read_text(encoding="utf-8")
page = (root / "docs/reference/findings.md").read_text(encoding="utf-8")
table = code[code.index("finding_rules::rules[] = {"):]
table = table[:table.index("\n};")]
rules = re.findall(r'^    \{"([a-z0-9-]+)",', table, re.M)
needing = re.findall(r'\{"([a-z0-9-]+)",(?:(?!&finding_rules).)*deciding::(?:findings|hbm)', table, re.S)
entries, by_counters, failures = {}, [], []
ENTRY = r"^- `([a-z0-9-]+)`: ((?:.*\n)(?: +.*\n)*)"  # - `id`: when. *example*: cure.
for title in ("Rules that need the trace alone", "Rules that need counters"):
    part = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.S | re.M).group(1)
    for rule, text in re.findall(ENTRY, part, re.M):
        cells = re.fullmatch(r"(.*?\.) \*(.*?)\*: (.*)", re.sub(r"\s+", " ", text).strip())
        entries[rule] = cells.groups() if cells else ("",)
        by_counters += [rule] if "counters" in title else []
failures += [f"docs/reference/findings.md has no entry of {each}" for each in rules if each not in entries]
failures += [f"docs/reference/findings.md has {each}, which is no rule" for each in entries if each not in rules]
failures += [f"the entry of {each} lacks its condition, example or cure" for each, cells in entries.items() if not all(cells)]
failures += [f"{each} stands in the wrong table" for each in rules if (each in needing) != (each in by_counters)]
if len(rules) < 20 or len(set(rules)) != len(rules):
    failures.append(f"{len(rules)} rules were found, or one twice")
expected = re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', (root / "benchmarks/planted.py").read_text(encoding="utf-8"))
failures += [f"benchmarks/planted.py expects {each}, which is no rule" for each in expected if each not in rules]
cases = {name for source in (root / "benchmarks/planted").glob("*.cu")
         for name in re.findall(r'\{"([a-z0-9_]+)",', source.read_text(encoding="utf-8"))}
cases |= set(re.findall(r"^def ((?:sound|training|decode)_\w+)\(\)", (root / "benchmarks/planted/planted_torch.py").read_text(encoding="utf-8"), re.M))
told = set(re.findall(r'^    "([a-z0-9_]+)": \(', (root / "benchmarks/planted.py").read_text(encoding="utf-8"), re.M))
failures += [f"planted: {each} is not in both" for each in sorted(cases ^ told)]
for each in failures:
    print("failed: " + each)
print(f"{len(rules)} rules, {len(cases)} planted programs")
sys.exit(1 if failures else 0)
