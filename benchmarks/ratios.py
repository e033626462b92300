#!/usr/bin/env python3
"""Prints the ratios that the benchmarks stand for, and the bars that they are held against, from raw results.

Usage: benchmarks/ratios.py RESULT.json|RESULT.jsonl ...        Markdown to stdout; exit code 1 when a bar is missed
Medians of all repetitions; the ratio of the minima stands beside, since noise only adds.
"""
import json
import pathlib
import statistics
import sys

# Measured on one H100 machine, not in the same run: only the size of the difference is meant.
TRACY_NS = 143.0
CALIPER_NS = 710.0
KINETO_BYTES_PER_S = 100e6
KINETO_S_PER_EVENT = 10.0 / 0.1e6

missed = []


def median(values):
    return statistics.median(values)


def number(value):
    if value >= 1e6:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def verdict(ok, what):
    if ok is None:
        return ""
    if not ok:
        missed.append(what)
    return "met" if ok else "**missed**"


class Table:
    def __init__(self, title, columns):
        print(f"\n### {title}\n")
        print("| " + " | ".join(columns) + " |")
        print("|" + "|".join(["---"] + ["---:"] * (len(columns) - 1)) + "|")

    def row(self, *cells):
        print("| " + " | ".join(str(c) for c in cells) + " |")


def about(result):
    machine = result.get("machine", {})
    parts = [result.get("date", ""), result.get("compiler", "")]
    if machine:
        parts.append(f"{machine['cpu']}, {machine['cores']} cores")
    if "load_before" in result:
        parts.append(f"load average {result['load_before']}")
    print("\n" + "; ".join(p for p in parts if p) + f". `{result.get('command', '')}`")


def range_table(result):
    rows = result["benchmarks"]
    title = "Ranges, " + result["compiler"]
    clang = "clang" in result["compiler"]

    def per_range(name, pick=median):
        return pick(rows[name]["ns"]) / rows[name].get("ranges", 1)

    table = Table(title, ["ns a range", "median", "min", "beside", "ratio (min)", "bar", ""])

    def compare(name, beside, limit=None):
        if name not in rows or beside not in rows:
            return
        below, least = per_range(beside), per_range(beside, min)
        ratio = per_range(name) / below if below > 0.05 else None
        ratio_min = per_range(name, min) / least if least > 0.05 else None
        text = f"{ratio:.2f} ({ratio_min:.2f})" if ratio and ratio_min else "both nothing"
        ok = None if limit is None or ratio is None else ratio <= limit
        table.row(name, number(per_range(name)), number(per_range(name, min)), f"{beside} {number(below)}", text,
                  "" if limit is None else f"<= {limit}", verdict(ok, f"{title}: {name}"))

    compare("compiled out", "empty")
    compare("compiled out, attributes", "empty")
    compare("idle", "nvtx3::scoped_range", 0.7 if clang else 0.5)
    compare("idle, nested", "nvtx3::scoped_range, nested")
    for name in ("idle, index", "idle, attributes", "idle, push and pop", "idle, phases", "idle, std::string"):
        compare(name, "nvtx3::scoped_range")
    pair = "clock pair, ticks"
    compare("clock pair, steady_clock", pair)
    for name in rows:
        if name.startswith("recording"):
            compare(name, pair)
    for name in ("recording", "recording, 64 layers"):
        above = per_range(name) - per_range(pair)
        table.row(f"{name}, above the clock pair", number(above), number(per_range(name, min) - per_range(pair, min)),
                  pair, "", "<= 6 ns", verdict(above <= 6.0, f"{title}: {name}"))
    for name, ns, limit in (("a Tracy zone", TRACY_NS, 0.5), ("a Caliper region", CALIPER_NS, 0.1)):
        ratio = per_range("recording, first touch") / ns
        table.row("recording, first touch", number(per_range("recording, first touch")),
                  number(per_range("recording, first touch", min)), f"{name} {ns:.0f} (elsewhere)", f"{ratio:.2f}",
                  f"<= {limit}", verdict(ratio <= limit, f"{title}: recording against {name}"))


def thread_table(result):
    rows = result["benchmarks"]
    table = Table("Threads that record, " + result["compiler"],
                  ["threads", "recording, ns a range", "min", "clock pair, ns", "above the pair", "to one thread"])

    def each(name, threads, pick=median):
        row = rows[f"{name}/{threads}"]
        return pick(row["ns"]) / row["ranges"]

    for threads in (1, 2, 4, 8):
        ns, pair = each("recording", threads), each("clock pair, ticks", threads)
        table.row(threads, number(ns), number(each("recording", threads, min)), number(pair), f"{ns - pair:.1f}",
                  f"{ns / each('recording', 1):.2f}")


def report_table(result):
    rows = result["benchmarks"]
    sizes = sorted(int(n.rsplit("/", 1)[1]) for n in rows if n.startswith("call tree/"))
    table = Table("Aggregation, " + result["compiler"],
                  ["kernels (as many launches, 1.3 x the ranges)", "call tree, s", "and kernel table, s", "min", "us a kernel",
                   "to the size before", "bar", ""])
    before = None
    for size in sizes:
        both = rows[f"call tree and kernel table/{size}"]["ns"]
        each = median(both) / size
        bar, ok = "", None
        if size == 1_000_000:
            limit = KINETO_S_PER_EVENT / 100
            bar, ok = f"<= {limit * 1e6:.0f} us", each * 1e-9 <= limit
        elif size > 1_000_000 and before:
            bar, ok = "linear (<= 1.25)", each / before <= 1.25
        table.row(f"{size:,}", number(median(rows[f"call tree/{size}"]["ns"]) * 1e-9), number(median(both) * 1e-9),
                  number(min(both) * 1e-9), f"{each * 1e-3:.3f}", f"{each / before:.2f}" if before else "", bar,
                  verdict(ok, f"aggregation of {size}"))
        before = each
    if "duration_statistics::add" in rows:
        ns = rows["duration_statistics::add"]["ns"]
        print(f"\n`duration_statistics::add`: {median(ns):.2f} ns (min {min(ns):.2f}).")

    table = Table("Writing the reports of 1,000,000 kernels (and as many allocations)",
                  ["file", "MB", "to nowhere, MB/s", "to a file, MB/s", "memcpy, MB/s", "fwrite, MB/s", "nowhere to memcpy",
                   "file to fwrite", "bar", ""])
    for what in ("memory.csv", "trace.json"):
        def rate(how):
            row = rows[f"{what}, {how}"]
            return row["bytes"] / median(row["ns"]) * 1e3
        speeds = [rate(how) for how in ("to nowhere", "to a file", "memcpy", "fwrite")]
        # 64 bytes a row of memory.csv are 70 ns of the processor (g++ -O2, AMD EPYC; 118 ns before cells were looked at
        # once): thirteen cells by virtual calls, and the digits of eight numbers. 2 GB/s would be 32 ns a row.
        limit = (7.5 if what == "memory.csv" else 5) * KINETO_BYTES_PER_S / 1e6
        table.row(what, number(rows[f"{what}, memcpy"]["bytes"] / 1e6), *[f"{s:,.0f}" for s in speeds],
                  f"{speeds[0] / speeds[2]:.2f}", f"{speeds[1] / speeds[3]:.2f}", f">= {limit:.0f} MB/s",
                  verdict(speeds[0] >= limit, f"writing {what}"))
    if "trace.json.gz, to a file" in rows:
        compressed_table(rows)


def compressed_table(rows):
    table = Table("The trace of 1,000,000 kernels with launches, ranges, arrows and as many allocations, compressed",
                  ["bytes a kernel", "of trace.json", "M kernels/s, to a file", "those of trace.json"])
    row, plain = rows["trace.json.gz, to a file"], rows["trace.json, to a file"]
    table.row(number(row["bytes"] / 1e6), f"1/{plain['bytes'] / row['bytes']:.0f}", number(1e3 / (median(row["ns"]) / 1e6)),
              number(1e3 / (median(plain["ns"]) / 1e6)))


def free_table(result):
    table = Table("A program without a range, with and without the umbrella header",
                  ["", "without (min)", "with (min)", "ratio", "of the minima", "bar", ""])
    rows = result["programs"]
    for name, key, limit in (("its loop, ms", "loop_s", 1.02), ("its start and end, ms", "start_s", None)):
        without, beside = rows["without"][key], rows["with"][key]
        ratio = min(beside) / min(without)
        table.row(name, f"{median(without) * 1e3:.3f} ({min(without) * 1e3:.3f})",
                  f"{median(beside) * 1e3:.3f} ({min(beside) * 1e3:.3f})",
                  f"{median(beside) / median(without):.3f}", f"{ratio:.3f}", f"<= {limit}" if limit else "",
                  verdict(None if limit is None else ratio <= limit, "the speed of a program without ranges"))


def launch_table(lines):
    times = {}
    for line in lines:
        times.setdefault((line["shape"], line["mode"]), []).append(line["ns"])
    for shape in ("drained", "batched", "full", "allocating"):
        if (shape, "plain") not in times:
            continue
        windows = len(times[shape, "plain"])
        table = Table(f"Launches, {shape} ({windows} windows of each)",
                      ["mode", "median, ns", "min, ns", "above plain (min)", "to plain", "to bare (min)", "bar", ""])
        for mode in ("plain", "idle", "bare-short", "bare", "strata", "strata-range", "strata-kernels"):
            if (shape, mode) not in times:
                continue
            values, bare = times[shape, mode], times.get((shape, "bare"))
            plain = times[shape, "plain"]
            ratio = median(values) / median(bare) if bare else None
            limit = 1.05 if mode == "strata" else None
            ok = None if limit is None or ratio is None else ratio <= limit
            table.row(mode, number(median(values)), number(min(values)),
                      f"{median(values) - median(plain):.0f} ({min(values) - min(plain):.0f})",
                      f"{median(values) / median(plain):.3f}",
                      f"{ratio:.3f} ({min(values) / min(bare):.3f})" if ratio else "", "<= 1.05" if limit else "",
                      verdict(ok, f"launches, {shape}"))


def memory_table(lines):
    table = Table("Memory and reports of a traced run",
                  ["mode", "kernels", "before, MB", "traced, MB", "bytes a kernel", "stopped, MB", "reported, MB", "stop, s",
                   "report, s"])
    for line in lines:
        grown = line["traced_mb"] - line["before_mb"]
        table.row(line["mode"], f"{line['kernels']:,}", number(line["before_mb"]), number(line["traced_mb"]),
                  f"{grown * 2**20 / line['kernels']:.0f}" if line["kernels"] else "", number(line["stopped_mb"]),
                  number(line["reported_mb"]), f"{line['stop_s']:.2f}", f"{line['report_s']:.2f}")


def gpt2_table(lines):
    runs = {}
    for line in lines:
        runs.setdefault(line["impl"], {}).setdefault(line["variant"], []).append(median(line["step_ms"]))
    for impl, variants in runs.items():
        plain, bare = variants["plain"], variants.get("bare")
        table = Table(f"GPT-2 example, {impl}, B=4 T=64: ms a step, the median of each of {len(plain)} runs",
                      ["variant", "median (min), ms", "to plain (min)", "to bare (min)", "bar", ""])
        for variant, values in variants.items():
            to_plain, to_bare = median(values) / median(plain), median(values) / median(bare) if bare else None
            ratio, bar = {"trace": (to_bare, "<= 1.00 of bare"), "trace=kernels": (to_plain, "<= 1.10 of plain")}.get(
                variant, (None, ""))
            limit = 1.005 if variant == "trace" else 1.10
            table.row(variant, f"{median(values):.3f} ({min(values):.3f})",
                      f"{to_plain:.3f} ({min(values) / min(plain):.3f})",
                      f"{to_bare:.3f} ({min(values) / min(bare):.3f})" if bare else "", bar,
                      verdict(None if ratio is None else ratio <= limit, f"GPT-2 {impl}, {variant}"))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    lines = []
    for argument in sys.argv[1:]:
        path = pathlib.Path(argument)
        text = path.read_text()
        if path.suffix == ".jsonl":
            lines += [json.loads(line) for line in text.splitlines() if line.strip()]
            continue
        result = json.loads(text)
        kind = result["bench"].split("-")[0]
        {"range": range_table, "thread": thread_table, "report": report_table, "free": free_table}[kind](result)
        about(result)
    for kind, table in (("launch", launch_table), ("report", memory_table), ("gpt2", gpt2_table)):
        chosen = [line for line in lines if line["bench"] == kind]
        if chosen:
            table(chosen)
    print("\nBars missed: " + ("; ".join(missed) if missed else "none") + ".")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
