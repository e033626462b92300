#!/usr/bin/env python3
"""Hardware counters beside Nsight Compute: the same metrics of the same GPT-2 step, values and step times.

    benchmarks/counters_bench.py PROGRAM OUTDIR     PROGRAM is the built examples/gpt2/gpt2, on a machine with a GPU and ncu

Writes OUTDIR/counters.md (a table) and OUTDIR/counters.json (the raw numbers). Each value is the sum over one step: Strata's
by user ranges in the running program, ncu's by replaying every kernel. ncu runs without clock or cache control, so that both
see the device as it is. What a first start takes is the time of the whole process, less that of the same process without
counters, less what its steps took longer.
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HBM = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum"]
MIXED = HBM + ["l1tex__t_bytes.sum", "smsp__inst_executed.sum", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
               "smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_data_bytes_mem_global_op_ld.sum"]
# Implementation, layers, metrics, and how many kernels ncu replays where all of a step would take it minutes: then its time a
# kernel is the slope between a fifth of them and all, its step is that times the step's kernels, and values are not compared.
CASES = [("fused", "2", HBM, None), ("fused", "2", MIXED, None), ("eager", "1", HBM, None), ("fused", "12", HBM, None),
         ("fused", "12", MIXED, 60), ("eager", "12", HBM, 1000), ("eager", "12", MIXED, 100)]


def step_times(text):
    return [float(t) for t in re.findall(r"^step \d+: .*?([0-9.]+) ms", text, re.M)]


def run(command, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    environment.update(more)
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout, done.stderr, seconds


def strata_totals(path):
    totals = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["path"] == "" and row["scope"] == "total" and row["value"]:
                totals[row["metric"]] = float(row["value"])
    return totals


def kernels_of_a_step(path, steps):
    with open(path, newline="", encoding="utf-8") as file:
        return next(int(row["kernels"]) for row in csv.DictReader(file) if row["path"] == "") // steps


def ncu_totals(text, metrics):
    table = text[text.index('"ID"'):]
    totals = {m: 0.0 for m in metrics}
    kernels = set()
    for row in csv.DictReader(io.StringIO(table)):
        if not row.get("ID", "").isdigit():
            continue
        kernels.add(row["ID"])
        totals[row["Metric Name"]] += float(row["Metric Value"].replace(",", ""))
    return totals, len(kernels)


def main():
    program, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    results = []
    for implementation, layers, metrics, launches in CASES:
        shape = [str(program), "--impl", implementation, "--B", "4", "--T", "64", "--layers", layers, "--warmup", "0"]
        folder = out / "run"
        configured = f"out={folder},formats=csv"
        shutil.rmtree(folder, ignore_errors=True)
        bare_seconds = run(shape + ["--steps", "2"])[2]
        traced = run(shape + ["--steps", "16"], STRATA=f"trace,warmup=1,active=3,{configured}")[2]
        shutil.rmtree(folder, ignore_errors=True)
        text, errors, seconds = run(shape + ["--steps", "16"], STRATA=f"trace,counters={'+'.join(metrics)},{configured}")
        times = step_times(text)
        passes = int(re.search(r"in the next (\d+) step", errors).group(1))
        plain = sorted(times[1:4])[1]
        counted = times[4:4 + passes]
        strata = strata_totals(folder / "counters.csv")
        kernels = kernels_of_a_step(folder / "ranges.csv", 3)
        ncu = ["ncu", "--metrics", ",".join(metrics), "--clock-control", "none", "--cache-control", "none"]
        if launches is None:  # two equal steps: the time of the second, the mean of their values
            text, _, ncu_seconds = run(ncu + ["--csv", "--print-units", "base"] + shape + ["--steps", "2"])
            slow = step_times(text)
            slow_step = slow[-1]
            ncu_start = 1e3 * (ncu_seconds - bare_seconds) - (sum(slow) - 2 * plain)
            values = {m: v / 2 for m, v in ncu_totals(text, metrics)[0].items()}
        else:
            few, many = (step_times(run(ncu + ["--launch-count", str(n)] + shape + ["--steps", "1"])[0])[0]
                         for n in (launches // 5, launches))
            slow_step = plain + (many - few) / (launches - launches // 5) * kernels
            ncu_start = None
            values = {}
        results.append({
            "implementation": implementation, "layers": int(layers), "metrics": metrics, "kernels": kernels,
            "kernels_replayed": launches, "plain_step_ms": plain, "counted_steps_ms": counted, "strata_ms": sum(counted),
            "strata_start_ms": 1e3 * (seconds - traced) - (sum(counted) - passes * plain), "ncu_step_ms": slow_step,
            "ncu_start_ms": ncu_start,
            "ratio": slow_step / sum(counted),
            "values": {m: {"strata": strata.get(m), "ncu": values[m]} for m in values}})
        shutil.rmtree(folder, ignore_errors=True)
        write(out, results)
    print((out / "counters.md").read_text())


def write(out, results):
    (out / "counters.json").write_text(json.dumps(results, indent=1) + "\n")
    lines = ["| step (B=4, T=64) | metrics | kernels | plain ms | Strata: passes, ms in all | ncu ms | ncu / Strata | "
             "first start, ms: Strata, ncu |", "|---|---|---|---|---|---|---|---|"]
    for r in results:
        of = "" if r["kernels_replayed"] is None else f" (from {r['kernels_replayed']} kernels)"
        start = "" if r["ncu_start_ms"] is None else f", {r['ncu_start_ms']:.0f}"
        lines.append(f"| {r['implementation']}, {r['layers']} layers | {len(r['metrics'])} | {r['kernels']} | "
                     f"{r['plain_step_ms']:.2f} | {len(r['counted_steps_ms'])}, {r['strata_ms']:.1f} | "
                     f"{r['ncu_step_ms']:.0f}{of} | {r['ratio']:.1f} | {r['strata_start_ms']:.0f}{start} |")
    lines += ["", "| step | metric | Strata | ncu | difference |", "|---|---|---|---|---|"]
    for r in results:
        for m, v in r["values"].items():
            gap = "" if v["strata"] is None or not v["ncu"] else f"{100 * (v['strata'] / v['ncu'] - 1):+.3f} %"
            lines.append(f"| {r['implementation']} | {m} | {v['strata'] if v['strata'] is None else format(v['strata'], '.0f')} | "
                         f"{v['ncu']:.0f} | {gap} |")
    (out / "counters.md").write_text("\n".join(lines) + "\n")


main()
