"""CONTRIBUTING.md is true of the tree: the files that it names exist, every room has its line, and the walk of a range
names all files that a range passes, as gcov counts them."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
include = root / "include/strata"
text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
most_files = 15
failures = []

# --- names --------------------------------------------------------------------------------------------------------

for path in re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.(?:hpp|h|cpp|py|md|sh))`", text):
    if not (include / path).exists() and not (root / path).exists():
        failures.append(f"{path} does not exist")
for path in re.findall(r"`((?:include|tests|benchmarks|examples)/[\w/]*\w)`", text):
    if not (root / path).exists():
        failures.append(f"{path} does not exist")
rooms = {p.parent for p in include.rglob("*.hpp")}
for room in sorted(p.relative_to(root).as_posix() for p in rooms):
    if not re.search(rf"^- `{re.escape(room)}`", text, re.M):
        failures.append(f"the room {room} has no line")

# --- the walk of a range ------------------------------------------------------------------------------------------

PROGRAM = """#define STRATA_IMPLEMENTATION
#define STRATA_WITHOUT_NVTX
#include <strata/strata.hpp>
int main() {
  STRATA_STEP();
  { STRATA_RANGE("first"); }
  if (std::getenv("SECOND") != nullptr) { STRATA_RANGE("second"); }
}
"""


def lines_run(folder, **variables):
    """How often each line of the headers ran."""
    for old in [*folder.glob("*.gcda"), folder / "out"]:
        shutil.rmtree(old) if old.is_dir() else old.unlink() if old.exists() else None
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_"))}
    subprocess.run(["./walk"], cwd=folder, check=True, stderr=subprocess.DEVNULL,
                   env={**environment, "STRATA": "host,formats=csv,out=out", **variables})
    told = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, folder.glob("*.gcda"))], cwd=folder, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True).stdout
    counts = {}
    for file in json.loads(told.splitlines()[0])["files"]:
        for line in file["lines"] if "/include/strata/" in file["file"] else []:
            key = file["file"].split("/include/strata/")[-1], line["line_number"]
            counts[key] = counts.get(key, 0) + line["count"]
    return counts


def steady(runs, line):
    """Whether a line runs equally often in each of them: others depend on the machine, as where a session ends."""
    return len({run.get(line) for run in runs}) == 1


walk = re.search(r"^## The walk of a range\n(.*?)^## ", text, re.S | re.M).group(1)
told = set(re.findall(r"^\d+\. `([\w/.]+)`", walk, re.M))
if not shutil.which("g++") or not shutil.which("gcov"):
    print("LEFT OUT: the files that a range passes: no g++ or gcov here")
else:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "walk.cpp").write_text(PROGRAM, encoding="utf-8")
        subprocess.run(["g++", "-std=c++17", "-O0", "--coverage", f"-I{root}/include", "walk.cpp", "-o", "walk", "-ldl"],
                       cwd=folder, check=True)
        pairs = [(lines_run(folder), lines_run(folder, SECOND="1")) for _ in range(4)]
        one, two = zip(*pairs)
        lines = {line for line in two[0] if one[0].get(line) != two[0][line] and steady(one, line) and steady(two, line)}
        passed = {file for file, _ in lines if not file.startswith("base/")} - {"session/environment_session.hpp"}
        for file in sorted(passed - told):
            failures.append(f"a range passes {file}, which its walk does not name")
        for file in sorted(told - passed):
            failures.append(f"no range passes {file}, which its walk names")
        if len(passed) > most_files:
            failures.append(f"a range passes {len(passed)} files, {most_files} at most")

for failure in failures:
    print("FAILED: CONTRIBUTING.md:", failure)
sys.exit(1 if failures else 0)
