"""examples/compare: what it prints and its exit codes, on the golden profiles and on changed copies."""

import copy
import json
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
program = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", ""), "examples", "compare")
if not program.exists():
    print("the example compare was not built")
    sys.exit(77)
failures = []


def compared(code, *words):
    done = subprocess.run([str(program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != code:
        failures.append(f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done


def says(done, text):
    if text not in done.stdout + done.stderr:
        failures.append(f"{done.args}: nothing on '{text}'\n{done.stdout}{done.stderr}")


def written(name, profile):
    path = pathlib.Path(name)
    path.write_text(profile if isinstance(profile, str) else json.dumps(profile), encoding="utf-8")
    return path


golden = root / "tests/unit/golden/profile_gpu.json"
before = json.loads(golden.read_text(encoding="utf-8"))
before["steps"] = [{"step": i, "thread": 0, "begin_ns": 10000000 * i, "end_ns": 10000000 * i + 4000000 + 10000 * i} for i in range(10)]
slow = copy.deepcopy(before)
for step in slow["steps"]:
    step["end_ns"] += 1000000
for row in slow["ranges"]:
    if row["path"] == "forward/encoder":
        row["gpu_busy_ns"] = row["gpu_busy_ns"] * 3
a, b = written("before.json", before), written("after.json", slow)

says(compared(0, a, a), "no regression: the steps are within the limit")
worse = compared(1, a, b)
says(worse, "regression: the steps are slower than the limit")
first = worse.stdout.splitlines()[1]
if "3.000  forward/encoder (GPU)" not in first:
    failures.append(f"the range that changed most is not first: {first}")
compared(0, "--fail-over", "50%", a, b)
compared(0, b, a)
says(compared(1, golden, golden), "inconclusive: a run has less than 5 steps")
says(compared(0, "--range", "forward/encoder", a, a), "gpu_busy_ns")
columns = compared(0, "--range", "forward/block[*]", a, a).stdout
for words in ("calls 4 4 1.000", "gpu_busy_ns 820 us 820 us 1.000"):
    if words not in " ".join(columns.split()):
        failures.append(f"--range prints no '{words}'\n{columns}")
if "e+0" in columns or "stddev" in columns:
    failures.append(f"--range prints what it should not\n{columns}")
says(compared(0, "--range", "forward/block[1]", a, a), "host_stddev_ns")
if "block[0]" in worse.stdout or "forward/block[*] (GPU)" not in worse.stdout:
    failures.append(f"indices are not folded\n{worse.stdout}")
says(compared(2, "--range", "nothing", a, a), "no range 'nothing' is in both profiles")
says(compared(2, a), "Exit code: 0 no regression")
for limit in ("5", "x%", "-1%", ""):
    compared(2, "--fail-over", limit, a, a)
says(compared(2, a, "missing.json"), "missing.json: It cannot be opened.")
says(compared(2, written("cut.json", golden.read_text(encoding="utf-8")[:3000]), a), "cut.json: It is no JSON: line ")
says(compared(2, a, root / "tests/unit/golden/trace_cpu.json"), "It is no profile of Strata")
other = copy.deepcopy(before)
for row in other["ranges"][1:]:
    row["path"] = "other/" + row["path"]
apart = compared(1, a, written("other.json", other))
says(apart, "inconclusive: the profiles have no range in common")
if "change" in apart.stdout or "0.000" in apart.stdout.replace("0.0000", ""):
    failures.append(f"a table of nothing\n{apart.stdout}")
moved = copy.deepcopy(before)
moved["environment"]["configuration"] += ",out=elsewhere,formats=json"
if "note:" in compared(0, a, written("moved.json", moved)).stdout:
    failures.append("out= and formats= are noted as a difference")
newer = copy.deepcopy(before)
newer["schema"]["version"] = 99
says(compared(2, a, written("newer.json", newer)), "Its schema version is not readable here")

print("\n".join(failures) or "compare says what it should")
sys.exit(bool(failures))
