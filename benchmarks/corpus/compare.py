#!/usr/bin/env python3
"""What Strata and Nsight Compute say of the same operations: limiters, use of units, bytes, instructions, findings.

    compare.py OUT.md STRATA_FOLDER NCU.csv [STRATA_FOLDER NCU.csv ...]

STRATA_FOLDER has counters_wide.csv, ranges.csv, kernels.csv and findings.json of `runner.py LIST strata`, NCU.csv is the raw
page of `ncu --nvtx --csv --page raw --print-units base` on `runner.py LIST ncu`. OUT.md has a row for each operation, then
each difference by name, then the shares. A unit's use that lies apart says why:

    time                 the unit works as long, of another time: at equal time its use is within 3 points
    clock                its cycles are as many, at another clock: power limits products more or less from run to run
    copies in the range  Strata's range has copies in its time, which ncu does not profile
    several kernels      ncu takes each alone, and empties the caches before it
    not explained        none of these

It only exits with 1 where nothing could be compared.
"""

import csv
import json
import pathlib
import re
import sys

# Units: the names that ncu's breakdown gives them; the first pattern that matches a metric's name (without
# .avg.pct_of_peak_sustained_elapsed) wins. DIRECT: the metrics that Strata counts too, of which the highest counts.
UNITS = [
    ("tensor", r"sm__(pipe_tensor|inst_executed_pipe_tensor|pipe_shared_cycles|ops_path_tensor)"),
    ("fp64", r"sm__(pipe_fp64|inst_executed_pipe_fp64)"),
    ("fma", r"sm__(pipe_fma|inst_executed_pipe_fma)"),
    ("fma", r"sm__(pipe_fp16|inst_executed_pipe_fp16|pipe_half)"),
    ("alu", r"sm__(pipe_alu|inst_executed_pipe_alu)"),
    ("xu", r"sm__(pipe_xu|inst_executed_pipe_xu)"),
    ("lsu", r"sm__(inst_executed_pipe_lsu|mio|memory)|l1tex__lsu"),
    ("adu", r"sm__inst_executed_pipe_adu"),
    ("branch", r"sm__inst_executed_pipe_(cbu|uniform|uniform_datapath|ipa|tex)"),
    ("issue", r"(sm|smsp)__(inst_issued|inst_executed|issue_active|instruction)"),
    ("shared", r"l1tex__data_pipe_lsu_wavefronts_mem_shared"),
    ("l1", r"l1tex__|idc__|tpc__l1tex"),
    ("l2", r"(lts|ltc|l2|gpc__l1tex|xbar)"),
    ("hbm", r"(dram|fbpa|gpu__dram)"),
]
DIRECT = {
    "tensor": ["sm__pipe_tensor_cycles_active"],
    "fma": ["sm__pipe_fma_cycles_active", "sm__pipe_fmaheavy_cycles_active"],
    "adu": ["sm__inst_executed_pipe_adu"],
    "alu": ["sm__pipe_alu_cycles_active"],
    "fp64": ["sm__pipe_fp64_cycles_active"],
    "xu": ["sm__inst_executed_pipe_xu"],
    "lsu": ["sm__inst_executed_pipe_lsu"],
    "issue": ["sm__inst_issued", "sm__issue_active"],
    "shared": ["l1tex__data_pipe_lsu_wavefronts_mem_shared"],
    "l1": ["l1tex__data_pipe_lsu_wavefronts", "l1tex__m_l1tex2xbar_req_cycles_active"],
    "l2": ["lts__t_sectors", "lts__t_tag_requests", "lts__xbar2lts_cycles_active"],
    "hbm": ["dram__cycles_active"],
}
# Sums over units are no unit.
TOTALS = re.compile(r"^(sm__throughput|sm__(memory|instruction)_throughput|gpu__compute_memory)")
# Not of ncu's breakdown: counted beside it, so never its limiter.
BESIDE = {"l1tex__data_pipe_lsu_wavefronts_mem_shared"}
# The unit in the limiter's text of Strata, by its first word.
LIMITERS = {"adu": "adu", "tensor": "tensor", "fma": "fma", "fp32": "fma", "fp16": "fma", "alu": "alu", "fp64": "fp64", "xu": "xu", "lsu": "lsu",
            "shared": "shared", "l1": "l1", "l2": "l2", "hbm": "hbm", "issue": "issue"}
# Strata's second name is a part of the first.
ALIKE = {("l1", "shared"), ("l1", "lsu")}

# Strata's column, ncu's metric, bytes of one, the share that may differ.
SUMS = [
    ("hbm_read_bytes", "dram__bytes_read.sum", 1, 0.02),
    ("hbm_write_bytes", "dram__bytes_write.sum", 1, 0.05),
    ("l2_sectors", "lts__t_sectors.sum", 32, 0.02),
    ("l1_sectors", "l1tex__t_sectors.sum", 32, 0.02),
]
EXACT = [
    ("fadd_instructions", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"),
    ("fmul_instructions", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"),
    ("ffma_instructions", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
    ("tensor_active_cycles", "sm__pipe_tensor_cycles_active.sum"),
]
EXACT_SHARE = 0.001
# What runs by the clock of the SMs.
SM_UNITS = {"tensor", "fma", "alu", "fp64", "xu", "adu", "lsu", "issue", "shared", "l1"}
REASONS = ("time", "clock", "copies in the range", "several kernels", "not explained")
LONG_NS = 10_000.0  # shorter kernels are listed and not judged
POINTS = 3.0  # of a unit's use
LEAST_BYTES = 1e6
SATURATED = 80.0  # % of a unit: nothing to gain
ACCUSED = 0.05  # of the operation's time
PERCENT = ".avg.pct_of_peak_sustained_elapsed"
TIME = "gpu__time_duration.sum"
CYCLES = "sm__cycles_elapsed.max"


def number(text):
    try:
        return float(text.replace(",", ""))
    except (AttributeError, ValueError):
        return None


def unit_of(metric):
    name = metric[:-len(PERCENT)]
    return None if TOTALS.match(name) else next((unit for unit, pattern in UNITS if re.match(pattern, name)), "other")


def short(kernel):
    name = re.sub(r"\(.*", "", re.sub(r"<.*", "", kernel.replace("(anonymous namespace)::", "")))
    return (name.split(" ")[-1].split("::")[-1] or kernel)[:44]


# --- Nsight Compute ---

def read_ncu(path):
    """By range, of the thread or of the process: its kernels, each with its name and its metrics."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines(keepends=True)
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    operations = {}
    for row in csv.DictReader(line for line in lines[begin:] if not line.startswith("==")):
        if not (row.get("ID") or "").isdigit():
            continue  # the units
        ranges = " ".join(value or "" for column, value in row.items() if column and "_Range:" in column)
        name = re.search(r"<default domain>:(\w+):", ranges)  # the outermost
        metrics = {column.split("breakdown:")[-1]: number(value) for column, value in row.items()
                   if column and "__" in column and number(value) is not None}
        operations.setdefault(name.group(1) if name else "(none)", []).append((row["Kernel Name"], metrics))
    return operations


def sum_up(kernels):
    """Metrics of an operation: percentages weighted by the kernels' times, all else added up."""
    time = sum(metrics.get(TIME, 0.0) for _, metrics in kernels)
    together = {}
    for name in {name for _, metrics in kernels for name in metrics}:
        parts = [(metrics[name], metrics.get(TIME, 0.0)) for _, metrics in kernels if name in metrics]
        if name.endswith(PERCENT):
            together[name] = sum(value * share for value, share in parts) / time if time else max(value for value, _ in parts)
        else:
            together[name] = sum(value for value, _ in parts)
    return together


def uses_by_ncu(metrics):
    """% by unit: the highest of the metrics that Strata counts too where there are any, else of the unit's."""
    uses, highest = {}, {}
    for metric, value in metrics.items():
        unit = unit_of(metric) if metric.endswith(PERCENT) else None
        if unit:
            uses[unit] = max(uses.get(unit, 0.0), value)
        if unit and metric[:-len(PERCENT)] not in BESIDE:
            highest[metric] = value
    for unit, names in DIRECT.items():
        found = [metrics[name + PERCENT] for name in names if name + PERCENT in metrics]
        uses.update({unit: max(found)} if found else {})
    top = max(highest, key=highest.get, default=None)
    return uses, top, highest.get(top, 0.0)


# --- Strata ---

def rows(path):
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_operation(table, names):
    """The row of each operation's range: the one that has nothing of the operation above it."""
    found = {}
    for row in sorted(table, key=lambda row: row["path"].count("/")):
        own = row["path"].split("/")[-1]
        if own in names:
            found.setdefault(own, row)
    return found


def read_strata(folder, names):
    folder = pathlib.Path(folder)
    findings = json.loads((folder / "findings.json").read_text(encoding="utf-8")) if (folder / "findings.json").exists() else {}
    limits = {limit["path"].split("/")[-1]: limit["limiter"] for limit in findings.get("limits", []) if limit.get("path")}
    counters = by_operation(rows(folder / "counters_wide.csv"), names)
    ranges = by_operation(rows(folder / "ranges.csv"), names)
    made = {}
    for name in names:
        row, times = counters.get(name, {}), ranges.get(name, {})
        calls = number(times.get("calls")) or 1.0
        made[name] = {
            "row": row,
            "uses": {column.split("_use")[0]: number(value) for column, value in row.items()
                     if re.fullmatch(r"\w+_use(_pct)?", column or "") and number(value) is not None},
            "limiter": row.get("limiter") or limits.get(name, ""),
            "time": (number(times.get("gpu_busy_ns")) or 0.0) / calls,
            "kernels": (number(times.get("kernels")) or 0.0) / calls,
            "copies": (number(times.get("copies")) or 0.0) / calls,
        }
    return made, findings


def limiter_of_strata(said):
    """The unit that the text names, else the unit of the highest use."""
    for word in re.findall(r"[a-z]+\d*", said["limiter"].lower()):
        if word in LIMITERS:
            return LIMITERS[word]
        if word in ("latency", "launch", "copies", "above"):
            break
    return max(said["uses"], key=said["uses"].get, default=None)


def blames_idle_time(finding):
    """Whether the finding is about a GPU that waits for the host, which no kernel of ncu's can answer for."""
    return any(fact["column"] == "gpu_idle_ns" for fact in finding.get("evidence", []))


def accusations(findings, name, times):
    """Findings on the kernels of this range that predict a gain of more than 5 % of its time. What one of several ranges
    predicts is shared out by the costs of its ranges."""
    step = findings.get("step", {})
    whole = step.get("mean_ns") or 0.0
    made = []
    for finding in findings.get("findings", []):
        costs = {}
        for one in finding["ranges"]:
            last = one["path"].split("/")[-1]
            costs[last] = costs.get(last, 0.0) + one["cost_ns_per_step"]
        together = sum(costs.values())
        if not costs.get(name) or blames_idle_time(finding):
            continue
        after = finding.get("predicted_step_ns")
        gain = whole - after if after is not None else finding["cost_ns_per_step"]
        time = times.get(name, 0.0)
        own = gain * costs[name] / together
        if own > ACCUSED * time:
            made.append(f"{finding['rule']} ({own / 1000:.1f} us of {time / 1000:.1f} us)")
    return made


# --- beside each other ---

class Comparison:
    """One operation."""

    def __init__(self, name, kernels, said, findings, times):
        self.name, self.kernels = name, kernels
        self.metrics = sum_up(kernels)
        self.time = self.metrics.get(TIME, 0.0)
        self.long = self.time / max(1, len(kernels)) > LONG_NS or any(m.get(TIME, 0.0) > LONG_NS for _, m in kernels)
        self.uses, self.top, self.top_use = uses_by_ncu(self.metrics)
        self.unit = unit_of(self.top) if self.top else None
        self.said, self.own = said, limiter_of_strata(said)
        self.counted = bool(said["row"]) and any(number(v) is not None for k, v in said["row"].items() if k not in ("path_id", "rank"))
        beside = self.uses.get(self.own)
        tie = beside is not None and self.top_use - beside <= POINTS
        self.same = self.own is not None and (self.own == self.unit or (self.unit, self.own) in ALIKE or tie)
        self.points = {unit: said["uses"][unit] - self.uses[unit] for unit in said["uses"] if unit in self.uses}
        self.why = {unit: self.reason(unit) for unit, points in self.points.items() if abs(points) > POINTS}
        self.accused = accusations(findings, name, times)
        self.differences = list(self.sums())

    def at_equal_time(self, unit):
        """Points apart where both had taken ncu's time for the same work."""
        slower = self.said["time"] / self.time if self.time and self.said["time"] else 1.0
        return self.said["uses"][unit] * slower - self.uses[unit]

    def faster_clock(self):
        """The SMs' clock while Strata counted, of that under ncu; None where it is not known."""
        row = self.said["row"]
        cycles, time, theirs = number(row.get("sm_cycles")), number(row.get("time_ns")), self.metrics.get(CYCLES)
        if not cycles or not time or not theirs or not self.time:
            return None
        return cycles / time / (theirs / self.time)

    def reason(self, unit):
        if abs(self.at_equal_time(unit)) <= POINTS:
            return "time"
        clock = self.faster_clock() if unit in SM_UNITS else None
        if clock and abs((self.at_equal_time(unit) + self.uses[unit]) * clock - self.uses[unit]) <= POINTS:
            return "clock"
        if self.said["copies"]:
            return "copies in the range"
        return "several kernels" if len(self.kernels) > 1 else "not explained"

    def reasons(self):
        return "; ".join(f"{reason}: {' '.join(unit for unit, own in self.why.items() if own == reason)}" for reason in REASONS
                         if reason in self.why.values())

    def sums(self):
        """(judged, text) of each sum that differs. With several kernels ncu's caches are not the program's."""
        for column, metric, width, most in SUMS:
            mine, theirs = number(self.said["row"].get(column)), self.metrics.get(metric)
            if mine is None or theirs is None or width * max(mine, theirs) < LEAST_BYTES:
                continue
            if abs(mine - theirs) > most * max(theirs, 1.0):
                yield len(self.kernels) == 1, f"{column} {mine:,.0f}, ncu {theirs:,.0f} ({percent(mine, theirs)})"
        for column, metric in EXACT:
            mine, theirs = number(self.said["row"].get(column)), self.metrics.get(metric)
            if mine is not None and theirs is not None and abs(mine - theirs) > EXACT_SHARE * max(theirs, 1.0):
                yield True, f"{column} {mine:,.0f}, ncu {theirs:,.0f} ({percent(mine, theirs)})"

    def line(self):
        names = list(dict.fromkeys(short(kernel) for kernel, _ in self.kernels))
        mine = self.said["uses"].get(self.own)
        apart = " ".join(f"{unit} {points:+.1f}" for unit, points in self.points.items() if abs(points) > POINTS)
        top = (self.top or "").replace(PERCENT, "")
        sums = {column: (number(self.said["row"].get(column)), self.metrics.get(metric)) for column, metric, *_ in SUMS}
        cells = [self.name, f"{len(self.kernels)}: {', '.join(names[:2])}", f"{self.time / 1000:.1f}", f"{self.said['time'] / 1000:.1f}",
                 f"{self.unit} {self.top_use:.0f} ({top})", f"{self.own} {'' if mine is None else format(mine, '.0f')}",
                 self.said["limiter"], "same" if self.same else "OTHER", apart, self.reasons(), *[percent(*sums[column]) for column in sums],
                 "; ".join(self.accused)]
        return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def percent(mine, theirs):
    return "" if mine is None or not theirs else f"{100 * (mine / theirs - 1):+.1f} %"


HEAD = ["operation", "kernels", "ncu us", "Strata us", "ncu's limiter %", "Strata's %", "Strata's text", "", "points apart", "why", "HBM read",
        "HBM written", "L2 sectors", "L1 sectors", "findings"]


def named(title, lines):
    return ["", f"## {title}: {len(lines)}", "", *[f"- {line}" for line in lines]]


def share(some, all_of_them):
    return f"{len(some)} of {len(all_of_them)} ({100 * len(some) / max(1, len(all_of_them)):.1f} %)"


def report(compared, missing):
    judged = [one for one in compared if one.long and one.counted]
    same = [one for one in judged if one.same]
    full = [one for one in judged if one.top_use >= SATURATED]
    false = [one for one in full if one.accused]
    points = [f"{one.name}: {unit}: {one.said['uses'][unit]:.1f}, ncu {one.uses[unit]:.1f}; {reason}" for one in judged
              for unit, reason in one.why.items()]
    reasons = [reason for one in judged for reason in one.why.values()]
    sums = [f"{one.name}: {text}" for one in judged for strict, text in one.differences if strict]
    loose = [f"{one.name}: {text}" for one in judged for strict, text in one.differences if not strict]
    kernels = [f"{one.name}: {one.said['kernels']:.1f}, ncu {len(one.kernels)}" for one in compared
               if one.said["kernels"] and abs(one.said["kernels"] - len(one.kernels)) > 0.1]
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *[one.line() for one in compared]]
    lines += named("Another limiter", [f"{one.name}: {one.own} ({one.said['limiter']}), ncu {one.unit} {one.top_use:.0f} %" for one in judged
                                       if not one.same])
    lines += named(f"More than {POINTS:.0f} points apart", points)
    lines += named("Sums that differ, operations of one kernel", sums)
    lines += named("Sums that differ, several kernels (not judged: ncu empties the caches before each)", loose)
    lines += named(f"Accused at {SATURATED:.0f} % of a unit", [f"{one.name}: {'; '.join(one.accused)}; {one.top} {one.top_use:.0f} %"
                                                            for one in false])
    lines += named("Other numbers of kernels", kernels)
    lines += named("Without values", [*[f"{one.name}: not counted" for one in compared if not one.counted], *missing])
    lines += ["", "## Summary", "",
              f"- operations: {len(compared)}, kernels: {sum(len(one.kernels) for one in compared)}, above 10 us and counted: {len(judged)}",
              f"- same limiter: {share(same, judged)}",
              f"- operations within {POINTS:.0f} points in each unit: "
              + share([one for one in judged if all(abs(p) <= POINTS for p in one.points.values())], judged),
              f"- the same at equal time: "
              + share([one for one in judged if all(abs(one.at_equal_time(unit)) <= POINTS for unit in one.points)], judged),
              f"- units more than {POINTS:.0f} points apart: {len(reasons)}; "
              + ", ".join(f"{reason} {reasons.count(reason)}" for reason in REASONS),
              f"- sums that differ, one kernel: {len(sums)}; several: {len(loose)}",
              f"- falsely accused: {share(false, full)} of those at {SATURATED:.0f} % or more of a unit",
              "- ncu's metrics of no unit: " + (", ".join(sorted({metric.replace(PERCENT, "") for one in compared for metric in one.metrics
                                                                if metric.endswith(PERCENT) and unit_of(metric) == "other"})) or "none")]
    return lines


def compare(pairs):
    compared, missing = [], []
    for folder, page in pairs:
        operations = read_ncu(page)
        outside = operations.pop("(none)", [])
        said, findings = read_strata(folder, operations)
        times = {name: said[name]["time"] or sum_up(kernels).get(TIME, 0.0) for name, kernels in operations.items()}
        compared += [Comparison(name, kernels, said[name], findings, times) for name, kernels in operations.items()]
        missing += [f"{page}: {len(outside)} kernels of no range: {', '.join(sorted({short(k) for k, _ in outside})[:5])}"] if outside else []
    return compared, missing


def main():
    if len(sys.argv) < 4 or len(sys.argv) % 2:
        sys.exit(__doc__)
    compared, missing = compare(list(zip(sys.argv[2::2], sys.argv[3::2])))
    lines = report(compared, missing)
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines[next(i for i, line in enumerate(lines) if line == "## Summary"):]))
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main())
