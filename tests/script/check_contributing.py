"""CONTRIBUTING.md is true of the tree: the files that it names exist, every room has its line, and the walks of a range
and of a finding name all files that these pass, as gcov counts them."""

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

# --- the walks ----------------------------------------------------------------------------------------------------

PROGRAM = """#define STRATA_IMPLEMENTATION
#define STRATA_WITHOUT_NVTX
#include <strata/recording.hpp>
#include <strata/session/report_files.hpp>
#include <strata/strata.hpp>

// The report on the console of a recording whose only finding is that a kernel has few blocks.
int report(char const* path) {
  strata::profile recorded;
  if (!strata::read_recording_file(path, recorded).ok()) return 1;
  if (std::getenv("SECOND") == nullptr)
    for (auto& kernel : recorded.device.kernels) {
      kernel.blocks = {};
      kernel.blocks.add(264);
    }
  strata::vec<std::string> problems;
  strata::options const wanted = strata::options::parse("formats=table", problems);
  auto const here = strata::detail::report_files::look_around(true);
  return strata::detail::report_files(wanted, here).write(recorded).ok() ? 0 : 1;
}

int main(int count, char** words) {
  if (count > 1) return report(words[1]);
  STRATA_STEP();
  { STRATA_RANGE("first"); }
  if (std::getenv("SECOND") != nullptr) { STRATA_RANGE("second"); }
}
"""


def lines_run(folder, *words, **variables):
    """How often each line of the headers ran."""
    for old in [*folder.glob("*.gcda"), folder / "out"]:
        shutil.rmtree(old) if old.is_dir() else old.unlink() if old.exists() else None
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_"))}
    subprocess.run(["./walk", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**environment, **variables})
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


def passed_by_range(folder):
    """Files whose code runs once more where there is one range more."""
    host = {"STRATA": "host,formats=csv,out=out"}
    pairs = [(lines_run(folder, **host), lines_run(folder, **host, SECOND="1")) for _ in range(4)]
    one, two = zip(*pairs)
    return {line[0] for line in two[0]
            if one[0].get(line) != two[0][line] and steady(one, line) and steady(two, line)}


def passed_by_finding(folder):
    """Files with code that runs only where there is a finding."""
    recording = str(root / "examples/report/pytorch-attention.strata")
    # A wide table and a narrow one, since a buffer that is full by chance is no part of a finding.
    without = [lines_run(folder, recording, COLUMNS=width) for width in ("40", "120", "300")]
    one = lines_run(folder, recording, SECOND="1", COLUMNS="120")
    return {line[0] for line, count in one.items() if count > 0 and not any(none.get(line) for none in without)}


def check_walk(what, most, passed):
    walk = re.search(rf"^## The walk of a {what}\n(.*?)^## ", text, re.S | re.M).group(1)
    told = set(re.findall(r"^\d+\. `([\w/.]+)`", walk, re.M))
    passed = {file for file in passed if not file.startswith("base/")} - {"session/environment_session.hpp"}
    for file in sorted(passed - told):
        failures.append(f"a {what} passes {file}, which its walk does not name")
    for file in sorted(told - passed):
        failures.append(f"no {what} passes {file}, which its walk names")
    if len(passed) > most:
        failures.append(f"a {what} passes {len(passed)} files, {most} at most")


if not shutil.which("g++") or not shutil.which("gcov"):
    print("LEFT OUT: the files that a range and a finding pass: no g++ or gcov here")
else:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "walk.cpp").write_text(PROGRAM, encoding="utf-8")
        subprocess.run(["g++", "-std=c++17", "-O0", "--coverage", f"-I{root}/include", "walk.cpp", "-o", "walk", "-ldl"],
                       cwd=folder, check=True)
        check_walk("range", 15, passed_by_range(folder))
        check_walk("finding", 8, passed_by_finding(folder))

for failure in failures:
    print("FAILED: CONTRIBUTING.md:", failure)
sys.exit(1 if failures else 0)
