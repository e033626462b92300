#!/usr/bin/env python3
"""False alarms of strata compare on runs of one and the same program (A/A), and what it finds of a planted delay.

Usage: benchmarks/compare_bench.py record FOLDER RUNS COMMAND...      each run's profile.json in a folder below FOLDER
       benchmarks/compare_bench.py trace FOLDER RUNS COMMAND...       recordings of programs on a GPU
       benchmarks/compare_bench.py judge STRATA FOLDER [FOLDER_AFTER] [--side 1] [--most 2000] [-- options of compare]
`judge` compares each pair of runs of FOLDER, or those of FOLDER with those of FOLDER_AFTER, and counts verdicts, their
reasons, and what changed most. --side 3 compares 3 runs with 3 others, chosen at random (seed 1).
"""
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile


def record(folder, runs, command, collect="host", formats="json", file="profile.json"):
    for run in range(int(runs)):
        out = pathlib.Path(folder, f"run{run:03}")
        done = subprocess.run(command, env={**os.environ, "STRATA": f"{collect},skip=1,formats={formats},out={out}"}, stdout=subprocess.DEVNULL)
        if done.returncode != 0 or not (out / file).exists():
            sys.exit(f"compare_bench.py: run {run} of {command} wrote no {out}/{file}")


def verdict(program, before, after, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        words = [program, "compare", "--json", result.name, *options]
        for each in before:
            words += ["--baseline", each]
        done = subprocess.run(words + after, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
        if done.returncode == 2:
            sys.exit(done.stderr)
        said = json.load(open(result.name, encoding="utf-8"))
    slower = [r["path"] for r in said["ranges"] + said["indexed"] if r["verdict"] == "slower"]
    noisy = said["noisy_times"] / max(1, said["judged_times"])
    changed = [row["label"] for row in said["period"]["rows"] if row["changed"]]
    return said["verdict"], re.sub(r"[-+]?\d[\d.]*", "N", said["reason"]), slower, noisy, changed


def judge(program, before, after, side, most, options):
    runs = [sorted(str(found) for found in pathlib.Path(folder).glob("*/profile.*")
                   if found.suffix in (".json", ".strata") and not found.parent.is_symlink())  # but run000-latest
            for folder in (before, after)]
    chosen = random.Random(1)
    if side == 1:
        pairs = list(itertools.combinations(runs[0], 2) if before == after else itertools.product(*runs))
        chosen.shuffle(pairs)
        pairs = [([a], [b]) for a, b in pairs[:most]]
    else:
        pairs = []
        for _ in range(most):
            if before == after:
                both = chosen.sample(runs[0], 2 * side)
                pairs.append((both[:side], both[side:]))
            else:
                pairs.append((chosen.sample(runs[0], side), chosen.sample(runs[1], side)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda pair: verdict(program, *pair, options), pairs))
    counts = collections.Counter(result[0] for result in results)
    total = len(results)
    print(f"{len(runs[0])} and {len(runs[1])} runs, {total} comparisons of {side} with {side}")
    for name in ("no regression", "inconclusive", "regression"):
        print(f"  {name:14} {counts[name]:6}  {100 * counts[name] / total:.2f} %")
    for reason, count in collections.Counter(r[1] for r in results if r[0] != "no regression").most_common(12):
        print(f"  {count:6}  {reason}")
    for path, count in collections.Counter(p for r in results for p in r[2]).most_common(12):
        print(f"  {count:6}  slower: {path}")
    named = [r[4][0] for r in results if r[4]]
    print(f"  {len(named):6}  name a change: {100 * len(named) / total:.2f} %")
    for label, count in collections.Counter(named).most_common(12):
        print(f"  {count:6}  changed most: {label}")
    noisy = sum(r[3] for r in results) / total
    print(f"  {100 * noisy:.0f} % of the times of ranges are too noisy to show twice the limit")


if sys.argv[1:2] == ["record"] and len(sys.argv) > 4:
    record(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1:2] == ["trace"] and len(sys.argv) > 4:
    record(sys.argv[2], sys.argv[3], sys.argv[4:], "trace", "recording", "profile.strata")
elif sys.argv[1:2] == ["judge"] and len(sys.argv) > 3:
    words = sys.argv[2:]
    options = words[words.index("--") + 1:] if "--" in words else []
    words = words[:words.index("--")] if "--" in words else words
    numbers = {"--side": 1, "--most": 2000}
    for name in numbers:
        if name in words:
            at = words.index(name)
            numbers[name] = int(words[at + 1])
            del words[at:at + 2]
    judge(words[0], words[1], words[-1] if len(words) > 2 else words[1], numbers["--side"], numbers["--most"], options)
else:
    sys.exit(__doc__)
