"""Each rule of the code has its row in a table of docs/reference/findings.md: the right table, no empty cell, no row without a rule. The
planted programs of the benchmarks expect rules that exist."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
code = (root / "src/analyse/rules.hpp").read_text(encoding="utf-8")
page = (root / "docs/reference/findings.md").read_text(encoding="utf-8")
table = code[code.index("finding_rules[] = {"):]
table = table[:table.index("\n};")]
rules = re.findall(r'^    \{"([a-z0-9-]+)",', table, re.M)
needing = re.findall(r'\{"([a-z0-9-]+)",(?:(?!deciding|&).)*deciding::(?:findings|hbm)', table, re.S)
COLUMNS = ["rule", "what Strata sees", "why it costs time", "how to fix it"]
rows, by_counters, failures = {}, [], []
for title in ("Rules that need the trace alone", "Rules that need counters"):
    part = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.S | re.M).group(1)
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in re.findall(r"^\|.*", part, re.M)]
    if lines[:1] != [COLUMNS]:
        failures.append(f"the table of '{title}' has other columns than {COLUMNS}")
    for rule, *cells in lines[2:]:
        rule = rule.strip("`")
        failures += [f"{rule} has two rows"] if rule in rows else []
        rows[rule] = cells
        by_counters += [rule] if "counters" in title else []
failures += [f"docs/reference/findings.md has no row of {each}" for each in rules if each not in rows]
failures += [f"docs/reference/findings.md has {each}, which is no rule" for each in rows if each not in rules]
failures += [f"the row of {each} lacks a cell" for each, cells in rows.items() if len(cells) != len(COLUMNS) - 1 or not all(cells)]
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
