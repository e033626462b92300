#!/usr/bin/env python3
"""What the umbrella header and the implementation cost a program without a range: the time of its loop, and of its start and end.

Usage: benchmarks/range_free.py [OUTPUT.json]     CXX: the compiler, g++ unless set. ROUNDS: 31 unless set.
The same program with and without them, at -O2, in turns; ratios.py prints the table.
"""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "package" / "surroundings" / "range_free.cpp"
STEPS = 50_000_000  # of the loop
STARTS = 20  # of processes that do nothing, in one value


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_"))}


def run(program, steps):
    """Seconds of the loop, by the program's own clock."""
    done = subprocess.run([program, str(steps)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment())
    if done.returncode != 42 or done.stderr:
        sys.exit(f"range_free.py: {program} ended with {done.returncode}: {done.stderr}")
    return float(done.stdout.split()[1])


def start(program):
    """Wall seconds from the start of a process that does nothing to its end."""
    begin = time.perf_counter()
    for _ in range(STARTS):
        run(program, 1)
    return (time.perf_counter() - begin) / STARTS


def measure():
    compiler = os.environ.get("CXX", "g++")
    rounds = int(os.environ.get("ROUNDS", "31"))
    if shutil.which(compiler) is None:
        sys.exit(f"range_free.py: there is no {compiler}")
    load = os.getloadavg()[0]
    result = {}
    with tempfile.TemporaryDirectory() as work:
        programs = {}
        for name, flags in (("without", []), ("with", ["-DUMBRELLA", str(ROOT / "include/strata/implementation.cpp")])):
            programs[name] = str(pathlib.Path(work, name))
            subprocess.run([compiler, "-std=c++17", "-O2", f"-I{ROOT / 'include'}", *flags, str(PROGRAM), "-ldl", "-o",
                            programs[name]], check=True)
            result[name] = {"loop_s": [], "start_s": []}
        for turn in range(rounds + 1):
            for name in sorted(programs, reverse=turn % 2 == 1):
                times = {"loop_s": run(programs[name], STEPS), "start_s": start(programs[name])}
                if turn > 0:  # the first round fills the file cache
                    for key, value in times.items():
                        result[name][key].append(round(value, 7))
    version = subprocess.run([compiler, "-dumpfullversion"], stdout=subprocess.PIPE, text=True).stdout.strip()
    return {
        "bench": "free",
        "date": datetime.date.today().isoformat(),
        "command": f"range_free.cpp {STEPS}",
        "compiler": f"{compiler} {version} -O2",
        "load_before": round(load, 2),
        "programs": result,
    }


def main():
    text = json.dumps(measure(), indent=1)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
