#!/usr/bin/env python3
"""What CUPTI's presence costs a program while nothing is traced, and what of it is Strata's.

    nvcc -std=c++17 -O2 -arch=native -Iinclude -o presence benchmarks/presence.cu include/strata/implementation.cpp -ldl
    python3 benchmarks/presence.py ./presence [--seconds 150] [--rounds 9] [--only TEXT] > presence.md

Processes in turns, one for each way, until the time is over; lower quartiles of the rounds (of medians), in us, and their ratio to plain: each process has a
fast or a slow mode of its own.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import time

ours = "early=subscribe+ends+nodes+captures"
never, window = "trace,skip=1000000,active=1", "trace,skip=2,active=1"
WAYS = {
    "plain": [],
    "libcupti loaded": ["early=load"],
    "subscribed": ["early=subscribe"],
    "subscribed, graphs made before": ["late=subscribe"],
    "+ contexts and streams that go": ["early=subscribe+ends"],
    "+ nodes of graphs": ["early=subscribe+ends+nodes"],
    "+ captures": [ours],
    "+ changes of graphs": [ours + "+changes"],
    "+ launches, copies, waits": [ours + "+calls"],
    "those on and off": [ours, "late=calls+-calls"],
    "traced once": [ours, "late=traced"],
    "traced once, kernels": [ours, "late=kernel"],
    "traced once, allocations": [ours, "late=memory"],
    "traced once, waits": [ours, "late=wait"],
    "traced once, with a flush period": [ours, "late=period+traced"],
    "traced once, with one that ended": [ours, "late=period+traced+-period"],
    "traced": [ours + "", "late=traces"],
    "traced once, no subscriber": ["late=traced"],
    "traced once, unsubscribed": [ours, "late=traced+unsubscribe"],
    "subscribed late, traced once, finalized": ["late=subscribe+traced+unsubscribe+finalize"],
    "Strata host": ["STRATA=host,skip=1000000,active=1"],
    "Strata trace, attach=window, before one": ["STRATA=attach=window," + never],
    "Strata trace, attach=window, after one": ["STRATA=attach=window," + window],
    "Strata trace, before a window": ["STRATA=" + never],
    "Strata trace, after a window": ["STRATA=" + window],
    "Strata trace=kernels, after a window": ["STRATA=" + window.replace("trace", "trace=kernels")],
}


def run(binary, way):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA") and "INJECTION" not in k}
    environment.update(a.split("=", 1) for a in way if a.startswith("STRATA="))
    if "STRATA" in environment:
        environment["STRATA"] += ",formats=none"
    try:
        done = subprocess.run([binary] + [a for a in way if not a.startswith("STRATA=")], env=environment, timeout=20,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return json.loads(done.stdout), done.stderr
    except (subprocess.TimeoutExpired, ValueError) as problem:
        return {"failed": str(problem)[:100]}, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--rounds", type=int, default=99)
    parser.add_argument("--only", default="", help="ways whose name has this text, and plain")
    options = parser.parse_args()
    ways = {name: way for name, way in WAYS.items() if name == "plain" or options.only in name}
    numbers = collections.defaultdict(lambda: collections.defaultdict(list))
    begin, rounds, names, said = time.monotonic(), 0, list(ways), {}
    while rounds < options.rounds and time.monotonic() - begin < options.seconds:
        for i in range(len(names)):
            name = names[(i + 5 * rounds) % len(names)]
            values, messages = run(os.path.abspath(options.binary), ways[name])
            said.setdefault(name, messages.strip()[:300])
            for key, value in values.items():
                if isinstance(value, float):
                    numbers[name][key].append(value)
                elif key == "failed":
                    said[name] = value
        rounds += 1
    middle = {n: {k: sorted(v)[len(v) // 4] for k, v in of.items()} for n, of in numbers.items()}
    columns = [k for k in middle["plain"] if not k.startswith(("action ", "code "))]
    print(f"{rounds} rounds in {time.monotonic() - begin:.0f} s; us, and the ratio to plain\n")
    for part in (columns[:7], columns[7:14], columns[14:]):
        print("| |" + "|".join(part) + "|\n|---|" + "---:|" * len(part))
        for name in names:
            cells = [f"{middle[name][c]:.2f} ({middle[name][c] / middle['plain'][c]:.3f})" if c in middle[name] else ""
                     for c in part]
            print(f"| {name} | " + " | ".join(cells) + " |")
        print()
    for name in names:
        actions = {k: f"{v:.0f}" for k, v in middle[name].items() if k.startswith(("action ", "code "))}
        print(f"- {name}: {actions} {said.get(name, '')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
