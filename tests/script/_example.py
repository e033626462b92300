"""One small example: it ends well, is silent without STRATA, and its rows and words are those that its comment promises.

_example.py NAME PROGRAM
"""

import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys

name, program = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve())
environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_"))}
environment["XDG_CACHE_HOME"] = str(pathlib.Path("cache").resolve())  # no roofs of the user's
failures = []


def that(ok, text):
    if not ok:
        failures.append(text)


def run(**variables):
    done = subprocess.run([program], env={**environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    that(done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def calls_in(folder):
    """The calls of every row by its path; the root's row is left out."""
    with open(pathlib.Path(folder, "ranges.csv"), newline="", encoding="utf-8") as file:
        return {row["path"]: int(row["calls"]) for row in csv.DictReader(file) if row["path"]}


def below(parents, calls, *children):
    """What calls_in says of ranges and of the same children in each."""
    return {f"{parent}{child}": calls for parent in parents for child in ("", *(f"/{c}" for c in children))}


for folder in [*pathlib.Path().glob("*out*"), *pathlib.Path().glob("cache")]:
    folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)
quiet = run()
if name == "session":
    that(quiet.stdout == "recorded 3 of 5 requests\n", f"it says: {quiet.stdout}")
    that(re.search(r"^request +3 ", quiet.stderr, re.M), f"no row for three requests:\n{quiet.stderr}")
    that(calls_in("session-out") == {"request": 3}, "ranges.csv has other rows")
    that(not pathlib.Path("session-out/trace.json.gz").exists(), "trace.json.gz was written")
elif name == "counters":
    said = re.fullmatch(r"(\d+) runs, (\d+) passes counted\n", quiet.stdout)
    that(said and int(said.group(1)) == 1 + max(1, int(said.group(2))), f"it says: {quiet.stdout}")
    that(calls_in("counters-out").get("forward", 0) >= 1, "ranges.csv has no row for the piece")
    counted = pathlib.Path("counters-out/counters.csv").exists()
    that(counted or re.search(r"^problem: ", quiet.stderr, re.M), f"no counters, and no reason:\n{quiet.stderr}")
elif name == "benchmark":
    number = r" +[\d.]+ (?:ns|us|ms|s)"
    for run_name, trials in [*((f"product(n={n})", 20) for n in (64, 128, 256)),
                             *((f"{copy}(bytes={1 << k})", 20) for k in (20, 22, 24) for copy in ("copy", "copy cold"))]:
        row = re.search(rf"^{re.escape(run_name)} +{trials}{number * 3} .* host$", quiet.stdout, re.M)
        that(row, f"no row for {run_name}:\n{quiet.stdout}")
        that(re.search(rf"^  {re.escape(run_name)}: +{trials} runs - +[\d.]+ us/run - ", quiet.stdout, re.M),
             f"no line for {run_name} as test-backend-ops has it:\n{quiet.stdout}")
    swept = re.findall(r"^([\w ]+): time grows with (\w+)\^-?[\d.]+, expected \w+\^(\d\.00) \(3 runs\)$", quiet.stdout, re.M)
    that(swept == [("product", "n", "3.00"), ("copy", "bytes", "1.00"), ("copy cold", "bytes", "1.00")], f"other sweeps:\n{quiet.stdout}")
    that(quiet.stderr.count("timed by the host: only host times are asked for: STRATA=trace asks for those of the device (") == 1, f"it does not say who timed:\n{quiet.stderr}")
    run(STRATA="host,out=out,formats=csv")
    found = {path: calls for path, calls in calls_in("out").items() if path != "warmup"}
    that(found == {**{f"product[{n}]": 20 for n in (64, 128, 256)}, **{f"{copy}[{1 << k}]": 20 for k in (20, 22, 24) for copy in ("copy", "copy cold")}},
         f"rows: {found}")
else:
    that(not quiet.stdout + quiet.stderr, f"it speaks without STRATA:\n{quiet.stdout}{quiet.stderr}")
    that(not list(pathlib.Path().iterdir()), "it writes without STRATA")
    told = run(STRATA="host,out=out,formats=table+csv")
    layers = range(4 if name == "minimal" else 2)
    expected = {
        "minimal": below([f"block[{i}]" for i in layers], 10, "attention"),
        "phases": below([f"block[{i}]" for i in layers], 3, "norm", "attention", "mlp"),
        "threads": below([f"attention[{i}]" for i in layers], 1, "head[0]", "head[1]", "head[2]"),
        "c": below([f"block[{i}]" for i in layers], 3, "attention"),
    }[name]
    found = calls_in("out")
    that(found == expected, f"rows: {found}")
    that(re.search(r"^(block|attention)\[\*\] ", told.stderr, re.M), f"the table does not fold indices:\n{told.stderr}")

for failure in failures:
    print("FAILED:", name + ":", failure)
sys.exit(1 if failures else 0)
