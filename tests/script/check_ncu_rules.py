"""Each rule of docs/reference/ncu-rules.md that stands for one of Nsight Compute exists; each rule of ncu has one
row, which says what stands for it; each wait that the analysis has a fix for is in the table of
docs/reference/findings.md.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
page = (root / "docs/reference/ncu-rules.md").read_text(encoding="utf-8")
code = (root / "src/analyse/rules.hpp").read_text(encoding="utf-8")
ours = set(re.findall(r'^    \{"([a-z0-9-]+)",', code[code.index("finding_rules[] = {") :], re.M))
# Of 2025.1 to 2025.4 (`ncu --list-rules`).
NCU = """AchievedOccupancy CPIStall Compute FPInstructions HighPipeUtilization IssueSlotUtilization LaunchConfiguration LocalMemoryUsage
    Memory MemoryApertureUsage MemoryCacheAccessPattern MemoryL2Compression PCSamplingData SOLBottleneck SOLFPRoofline
    SharedMemoryConflicts SlowPipeLimiter TheoreticalOccupancy ThreadDivergence Tile UncoalescedGlobalAccess UncoalescedSharedAccess
    WorkloadImbalance""".split()
failures, seen = [], []
for line in re.findall(r"^\| `.*", page, re.M):
    rule, section, covered, _ = [cell.strip() for cell in line.strip("|\n").split("|")]
    seen.append(rule.strip("`"))
    named = [word for word in re.findall(r"`([^`]+)`", covered) if "=" not in word]
    failures += [f"{rule}: {word} is no rule of Strata" for word in named if word not in ours]
    if not named and not re.search(r"none needed|missing|\bunits?\b", covered):
        failures.append(f"{rule}: nothing stands for it, and the row does not say why")
    if not section:
        failures.append(f"{rule} has no section")
failures += [f"{rule} has no row, or several" for rule in NCU if seen.count(rule) != 1]
failures += [f"{rule} is no rule of ncu" for rule in seen if rule not in NCU]
beyond = page[page.index("Beyond these") :]
failures += [
    f"{word} is no rule of Strata" for word in re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", beyond) if word not in ours
]
findings = (root / "docs/reference/findings.md").read_text(encoding="utf-8")
waits = findings[findings.index("## What warps wait for") : findings.index("## findings.json")]
stalls = re.findall(r'^    \{"([a-z_]+)",', (root / "src/analyse/stalls.hpp").read_text(encoding="utf-8"), re.M)
named = {name.strip(" *") for row in re.findall(r"^\| ([^|]+) \|", waits, re.M) for name in row.split(",")}
failures += [
    f"docs/reference/findings.md has no fix of {stall}"
    for stall in stalls
    if stall != "misc" and stall.replace("_", " ") not in named
]
if len(stalls) < 15:
    failures.append(f"{len(stalls)} stalls were found")
for failure in failures:
    print("failed: " + failure)
print(f"{len(seen)} rules of ncu, {len(stalls)} stalls")
sys.exit(1 if failures else 0)
