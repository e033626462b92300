#!/usr/bin/env python3
"""What an include costs: processor seconds of `g++ -O2 -c` of a unit with nothing else in it, and preprocessed lines.

Usage: benchmarks/include_cost.py [OUTPUT.json]     CXX: the compiler, g++ unless set. ROUNDS: 9 unless set.
The compilations are interleaved, round by round; ratios.py prints the table.
"""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ["", "strata/range.hpp", "strata/strata.hpp", "nvtx3/nvtx3.hpp", "vector", "string"]


def cuda_include():
    for base in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if base and pathlib.Path(base, "include", "nvtx3", "nvtx3.hpp").exists():
            return pathlib.Path(base, "include")
    return None


def cpu_seconds(command):
    """User and system time of the compiler and of all that it starts."""
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure():
    compiler = os.environ.get("CXX", "g++")
    rounds = int(os.environ.get("ROUNDS", "9"))
    if shutil.which(compiler) is None:
        sys.exit(f"include_cost.py: there is no {compiler}")
    flags = ["-std=c++17", "-O2", f"-I{ROOT / 'include'}"]
    cuda = cuda_include()
    if cuda:
        flags.append(f"-isystem{cuda}")
    headers = [h for h in HEADERS if cuda or not h.startswith("nvtx3")]
    seconds = {h: [] for h in headers}
    lines = {}
    with tempfile.TemporaryDirectory() as work:
        units = {}
        for i, header in enumerate(headers):
            units[header] = pathlib.Path(work, f"unit{i}.cpp")
            units[header].write_text((f"#include <{header}>\n" if header else "") + "int unit;\n")
            text = subprocess.run([compiler, *flags, "-E", "-P", str(units[header])], check=True, stdout=subprocess.PIPE)
            lines[header] = text.stdout.count(b"\n")
        for turn in range(rounds + 1):
            for i in range(len(headers)):
                header = headers[(i + turn) % len(headers)]
                spent = cpu_seconds([compiler, *flags, "-c", str(units[header]), "-o", str(pathlib.Path(work, "unit.o"))])
                if turn > 0:  # the first round fills the file cache
                    seconds[header].append(round(spent, 4))
    version = subprocess.run([compiler, "-dumpfullversion"], stdout=subprocess.PIPE, text=True).stdout.strip()
    return {
        "bench": "include",
        "date": datetime.date.today().isoformat(),
        "command": f"{compiler} -std=c++17 -O2 -c",
        "compiler": f"{compiler} {version}",
        "includes": {h or "(nothing)": {"cpu_s": seconds[h], "lines": lines[h]} for h in headers},
    }


def main():
    text = json.dumps(measure(), indent=1)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
