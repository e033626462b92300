#!/usr/bin/env bash
# nsys-ai 0.3.0 looks for the ranges of iterations only in the thread that launches most kernels.
# Input: tables as Nsight Systems exports them of a training loop: thread 1 has a range for each of 4 steps and
# launches 20 kernels in each, thread 2 (the backward pass of PyTorch) launches 30 in each and has no range.
# Guess: `iteration_timing -p marker=step` finds the 4 ranges, since no others are called so.
# Seen: no range is found; it reports the same 4 iterations by gaps between kernels, named heuristic_step_0 to 3. With
# 10 launches a step in thread 2 the ranges are found. Each answer says which it was ("heuristic").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet nsys-ai==0.3.0
cat > "$folder/try.py" <<'PYTHON'
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
STEPS, FORWARD, STEP_NS = 4, 20, 20_000_000


def write(path, backward):
    tables = sqlite3.connect(path)
    tables.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
            gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
            textId INTEGER);
        INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel');""")
    process, number = 7 << 24, 0
    for step in range(STEPS):
        begin = step * STEP_NS
        tables.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL)",
                       (begin, begin + 10_000_000, f"step {step}", process | 1))
        for i in range(FORWARD + backward):
            number += 1
            call = begin + 100_000 * (i + 1)
            tables.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 2)",
                           (call, call + 5_000, process | (1 if i < FORWARD else 2), number))
            tables.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 1, 1, 1, 1, 1, 32, 1, 1)",
                (call + 10_000, call + 90_000, number, process))
    tables.commit()
    tables.close()


def iterations(backward):
    path = folder / f"{backward}.sqlite"
    write(path, backward)
    done = subprocess.run([sys.executable, "-m", "nsys_ai", "skill", "run", "iteration_timing", str(path),
                           "-p", "marker=step", "--format", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [(row["text"], row["heuristic"]) for row in json.loads(done.stdout)]


few, many = iterations(10), iterations(30)
print("10 launches a step in the thread without ranges:", few)
print("30:", many)
found = [(f"step {i}", False) for i in range(STEPS)]
guessed = [(f"heuristic_step_{i}", True) for i in range(STEPS)]
sys.exit(few != found or many != guessed)
PYTHON
"$folder/venv/bin/python" "$folder/try.py" "$folder"
echo "as described"
