#!/usr/bin/env python3
"""Runs the tests of the page's script that need no browser: tests/page/*.test.js, by node --test.

Exit status: that of node; 77 without node 18 or newer.
"""
import pathlib
import re
import shutil
import subprocess
import sys

folder = pathlib.Path(__file__).resolve().parent.parent / "page"


def main():
    node = shutil.which("node") or shutil.which("nodejs")
    version = node and subprocess.run([node, "--version"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    if not version or int(re.match(r"v(\d+)", version).group(1)) < 18:
        print("SKIPPED: there is no node 18 or newer: apt-get install nodejs")
        return 77
    files = sorted(str(path) for path in folder.glob("*.test.js"))
    done = subprocess.run([node, "--test", *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    counts = dict(re.findall(r"^\S+ (tests|pass|fail) (\d+)$", done.stdout, re.M))
    if done.returncode != 0 or int(counts.get("pass", 0)) == 0:
        print(done.stdout)
        return 1
    print(f"{len(files)} files, {counts['pass']} of {counts['tests']} tests passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
