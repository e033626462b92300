#!/usr/bin/env python3
"""Whether the text of each fault in tests/mutants/mutants.txt is in include/ once, and whether the headers compile with all
faults in them, so that tests/mutants/run.py can try them. Exit status: 0, or 1 with those that are not."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/mutants"))
import run  # noqa: E402


def main():
    mutants = run.read_list()
    run.TREE = pathlib.Path("tree").resolve()
    run.make_tree(mutants)
    lost = [mutant for mutant in mutants if mutant.problem]
    for mutant in lost:
        print(f"FAILED: {mutant.name}: {mutant.problem}")
    print(f"{len(mutants)} faults, {len(lost)} without a place in include/ and src/")
    include = run.TREE / "include"
    compiled = subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-fsyntax-only", f"-I{include}",
                               include / "strata/implementation.cpp"], capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        print(f"FAILED: the headers do not compile with all faults in them:\n{compiled.stderr[:4000]}")
    return 1 if lost or not mutants or compiled.returncode != 0 else 0


sys.exit(main())
