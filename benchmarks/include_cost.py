#!/usr/bin/env python3
"""What an include costs: user seconds of the compiler's processor and its memory, beside a unit with <nvtx3/nvtx3.hpp>.

Usage: benchmarks/include_cost.py [OUTPUT.json]     ROUNDS: 9 unless set; the heavy unit 3.
The units and the measuring are those of the test, tests/package/cost.py. The compilations are interleaved, round by round;
ratios.py prints the table.
"""
import datetime
import json
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "package"))
import cost  # noqa: E402
from common import cuda_include, run  # noqa: E402

LIGHT = ["g++ -O2", "clang++ -O2"]
HEAVY = ["g++ -O2", "g++ -O0", "g++ -g -O3", "clang++ -O2"]


def measure(folder):
    rounds = int(os.environ.get("ROUNDS", "9"))
    light = [u for u in cost.UNITS if u != "heavy" and (cuda_include() or u != "nvtx3.hpp")]
    pairs = [(u, how) for how in LIGHT for u in light] + [(u, "nvcc") for u in ("nothing", "range.hpp", "light")]
    pairs = [p for p in pairs if cost.tool(p[1].split()[0])]
    heavy = [("heavy", how) for how in HEAVY if cost.tool(how.split()[0])]
    found = cost.in_turns(pairs, 1, folder)  # the first round fills the file cache
    found = cost.in_turns(pairs, rounds, folder)
    found.update(cost.in_turns(heavy, min(3, rounds), folder))
    rows = []
    for (unit, how), results in found.items():
        if not all(r[0] for r in results):
            sys.exit(f"include_cost.py: {unit} by {how} does not compile")
        rows.append({"unit": unit, "by": how, "user_s": [round(r[0], 4) for r in results],
                     "wall_s": [round(r[1], 4) for r in results], "memory_mb": round(max(r[2] for r in results))})
    compilers = sorted({how.split()[0] for _, how in found})
    versions = [run([cost.tool(c), "--version"]).stdout.strip().splitlines() for c in compilers]
    return {
        "bench": "include",
        "date": datetime.date.today().isoformat(),
        "command": "-std=c++17 -c",
        "compiler": ", ".join(v[-2 if c == "nvcc" else 0] for c, v in zip(compilers, versions)),
        "units": rows,
    }


def main():
    with tempfile.TemporaryDirectory() as work:
        text = json.dumps(measure(work), indent=1)
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
