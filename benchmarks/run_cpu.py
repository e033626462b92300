#!/usr/bin/env python3
"""Runs the benchmarks of the host side and keeps every repetition, without what tells one machine from another.

Usage: benchmarks/run_cpu.py BUILD_FOLDER OUTPUT_FOLDER [--prefix NAME-] [--only range,thread,report,free] [--repetitions N]
BUILD_FOLDER holds range_bench and the others (build/benchmarks of a CMake build). Benchmarks that are not there are
skipped with a word. Repetitions are interleaved at random by Google Benchmark.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# file name, executable, repetitions, further arguments, the column that counts
RUNS = [
    ("range", "range_bench", 21, [], "cpu_time"),
    ("range-clang", "range_bench_clang", 21, [], "cpu_time"),
    ("thread", "thread_bench", 15, [], "real_time"),  # its own processor time a thread
    ("report", "report_bench", 5, [], "cpu_time"),
]


def machine():
    model = ""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"cpu": model, "cores": os.cpu_count()}


def compact(raw, column):
    """Google Benchmark's JSON, less its host name and paths: the times of each repetition by name."""
    benchmarks = {}
    for row in raw["benchmarks"]:
        if row.get("run_type") == "aggregate":
            continue
        name = row["run_name"].split("/iterations:")[0]
        entry = benchmarks.setdefault(name, {"iterations": row["iterations"], "ns": [], "wall_ns": []})
        if row.get("error_occurred"):
            sys.exit(f"run_cpu.py: {name}: {row['error_message']}")
        scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[row["time_unit"]]
        entry["ns"].append(round(row[column] * scale, 4))
        entry["wall_ns"].append(round(row["real_time"] * scale, 4))
        for counter in ("ranges", "records", "bytes", "events"):
            if counter in row:
                entry[counter] = row[counter]
    return benchmarks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--only", default="range,thread,report,free")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--largest", type=int, default=10_000_000, help="kernels of the largest profile")
    args = parser.parse_args()
    wanted = args.only.split(",")
    args.output.mkdir(parents=True, exist_ok=True)
    for name, executable, repetitions, extra, column in RUNS:
        if name.split("-")[0] not in wanted:
            continue
        program = (args.build / executable).resolve()
        if not program.exists():
            print(f"run_cpu.py: SKIPPED {name}: there is no {executable} in the build folder")
            continue
        options = [f"--benchmark_repetitions={args.repetitions or repetitions}",
                   "--benchmark_enable_random_interleaving=true", *extra]
        if name == "report":
            options.append(f"--largest={args.largest}")
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as work:
            raw = pathlib.Path(work, "raw.json")
            subprocess.run([str(program), f"--benchmark_out={raw}", "--benchmark_out_format=json", *options],
                           check=True, stdout=subprocess.DEVNULL, cwd=work)
            data = json.loads(raw.read_text())
        context = data["context"]
        result = {
            "bench": name,
            "date": datetime.date.today().isoformat(),
            "command": " ".join([executable, *options]),
            "machine": machine(),
            "load_before": round(load, 2),
            "compiler": context.get("compiler", "") + " " + context.get("flags", ""),
            "ns_is": column,
            "benchmarks": compact(data, column),
        }
        lines = json.dumps(result, indent=1)
        (args.output / f"{args.prefix}{name}.json").write_text(lines + "\n")
        print(f"run_cpu.py: {name} done", flush=True)
    if "free" in wanted:
        subprocess.run([sys.executable, str(HERE / "range_free.py"), str(args.output / f"{args.prefix}free.json")],
                       check=True)
        print("run_cpu.py: free done")


if __name__ == "__main__":
    main()
