#!/usr/bin/env python3
"""Whether the text of each fault in tests/mutants/mutants.txt is in include/ once, so that tests/mutants/run.py can try
it. Exit status: 0, or 1 with those that are not."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/mutants"))
import run  # noqa: E402


def main():
    mutants = run.read_list()
    headers = [path for path in sorted((ROOT / "include").rglob("*")) if path.suffix in (".hpp", ".cpp")]
    run.find(mutants, [run.Source(path) for path in headers])
    lost = [mutant for mutant in mutants if mutant.problem]
    for mutant in lost:
        print(f"FAILED: {mutant.name}: {mutant.problem}")
    print(f"{len(mutants)} faults, {len(lost)} without a place in include/")
    return 1 if lost or not mutants else 0


sys.exit(main())
