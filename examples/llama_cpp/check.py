#!/usr/bin/env python3
"""Judges a run of llama_strata by what Strata wrote: is every layer there, do the parts add up, was anything lost?

    STRATA=trace,out=run,formats=csv+json+trace ./llama_strata tiny.gguf --mode coarse
    python3 check.py run --mode coarse [--layers 4] [--bound 5] [--graphs] [--devices]

--mode     the mode of the run: coarse, per-op, none, or fork for ranges inside the backend's own loop
--bound    how much of a decode's time, in percent, may lie outside the ranges within it; with --devices of its GPU time
--devices  the run has to have GPU work: every kernel belongs to a range, and the parts' GPU time adds up to the decode's
--graphs   and the decodes have to be CUDA graphs: fewer launches than kernels

Prints what it found, one line each; the exit code is 1 when a line says FAILED. Needs nothing but Python.
"""
import argparse
import collections
import csv
import gzip
import json
import pathlib
import statistics
import sys

failed = 0


def check(ok, what, found=""):
    global failed
    failed += not ok
    print(("ok      " if ok else "FAILED  ") + what + (f": {found}" if found != "" else ""))


def number(text):
    return float(text) if text else 0.0


def coverage(folder, top):
    """For each range of this name the share of its time that the ranges directly within it take."""
    with gzip.open(folder / "trace.json.gz", "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    ranges = [e for e in events if e.get("cat") == "user_annotation" and not e["name"].startswith("ProfilerStep#")]
    ranges.sort(key=lambda e: (e["tid"], e["ts"], -e["dur"]))
    outer, around = [], []  # of each outer one: its time and that of what is directly within it
    for e in ranges:
        while around and (around[-1]["tid"] != e["tid"] or around[-1]["ts"] + around[-1]["dur"] <= e["ts"]):
            around.pop()
        if e["name"] == top:
            outer.append([e["dur"], 0.0])
        elif around and around[-1]["name"] == top:
            outer[-1][1] += e["dur"]
        around.append(e)
    return [covered / duration for duration, covered in outer]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mode", required=True, choices=["coarse", "per-op", "none", "fork"])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--bound", type=float, default=5.0)
    parser.add_argument("--devices", action="store_true")
    parser.add_argument("--graphs", action="store_true")
    options = parser.parse_args()
    folder, mode = options.folder, options.mode

    profile = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    with open(folder / "ranges.csv", newline="", encoding="utf-8") as file:
        rows = {r["path"]: r for r in csv.DictReader(file)}
    losses = {k: v for k, v in profile["losses"].items() if v}
    check(not losses, "nothing was lost", losses or "")
    check(not profile["problems"], "no problem was met", profile["problems"] or "")

    steps = len(profile["steps"])
    calls = {path: int(r["calls"]) for path, r in rows.items()}
    check(steps > 0 and calls.get("decode") == steps, "one decode a step", f"{calls.get('decode')} in {steps}")
    check(calls.get("prefill") == 1, "one prefill")

    if mode in ("coarse", "per-op"):
        wanted = {"embedding": 1, "output": 1}
        for layer in range(options.layers):
            wanted.update({f"norm[{layer}]": 2, f"attention[{layer}]": 1, f"mlp[{layer}]": 1})
        wrong = {p: calls.get(f"decode/{p}") for p, n in wanted.items() if calls.get(f"decode/{p}") != n * steps}
        check(not wrong, f"every part of {options.layers} layers, once a step", wrong or "")
        parts = [p for p in calls if p.startswith("decode/") and p.count("/") == 1]
        extra = sorted(p for p in parts if p[len("decode/"):] not in wanted)
        check(not extra, "no other part", extra or "")
        work = [p for p in parts if "attention" in p or "mlp" in p or "output" in p]
        leaves = work if mode == "coarse" else [p for p in calls if p.startswith("decode/") and "/MUL_MAT" in p]
        without = [p for p in leaves if not number(rows[p]["flops"]) or not number(rows[p]["bytes"])]
        check(leaves and not without, "the parts that multiply matrices have flops and bytes", without or "")
        shares = coverage(folder, "decode")
        middle = statistics.median(shares)
        # A GPU makes a small model so fast that llama.cpp's own time before and after the graph shows: told, not judged.
        check(max(shares) <= 1.0001 and (options.devices or middle >= 1 - options.bound / 100),
              f"the parts take all but {options.bound:g} % of a decode's time" if not options.devices else
              "the parts' share of a decode's time on the host",
              f"median {100 * middle:.1f} %, least {100 * min(shares):.1f} %")
        prefill = coverage(folder, "prefill")[0]
        print(f"        of the prefill {100 * prefill:.1f} %")

    if options.devices or options.graphs:
        check(profile["traced"], "the run was traced")
        decode = rows["decode"]
        kernels, gpu = number(decode["kernels"]), number(decode["gpu_kernel_ns"])
        launches, host = number(decode["launches"]), number(decode["host_total_ns"])
        check(kernels > 0, "decodes have kernels", f"{kernels / steps:.1f} a decode, {gpu / steps / 1e3:.1f} us of GPU "
              f"time in {host / steps / 1e3:.1f} us, {launches / steps:.1f} launches")
        outside = number(rows[""]["kernels_self"])
        check(outside == 0, "no kernel is outside of all ranges", f"{outside:g}" if outside else "")
        if mode in ("coarse", "per-op"):
            sums = collections.Counter()
            for path in parts:
                for key in ("kernels", "gpu_kernel_ns", "gpu_busy_ns"):
                    sums[key] += number(rows[path][key])
            for key in ("gpu_kernel_ns", "gpu_busy_ns"):
                whole = number(decode[key])
                check(whole > 0 and abs(sums[key] / whole - 1) <= options.bound / 100,
                      f"{key} of the parts adds up to the decode's", f"{100 * sums[key] / max(whole, 1):.2f} %")
            check(sums["kernels"] <= kernels, "kernels of the parts", f"{sums['kernels']:g} of {kernels:g}")
        if mode == "fork":
            captured = {p: number(r["graph_kernels"]) for p, r in rows.items() if number(r["graph_kernels"])}
            layers = {p.split("/")[1] for p in captured if p.startswith("decode/") and p.count("/") >= 1}
            check(any(p.startswith("attention[") for p in layers) and any(p.startswith("mlp[") for p in layers),
                  "kernels of CUDA graphs are counted for the nodes that they were captured in", len(captured))
        if options.graphs:
            check(kernels >= 2 * launches > 0, "decodes are CUDA graphs: at least two kernels a launch",
                  f"{kernels / max(launches, 1):.1f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
