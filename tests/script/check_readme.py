"""The README shows the minimal example verbatim, names files that exist, and stays short."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
text = (root / "README.md").read_text(encoding="utf-8")
failures = []

shown = re.search(r"```cpp\n(.*?)```", text, re.S)
if shown is None or shown.group(1) != (root / "examples/minimal/minimal.cpp").read_text(encoding="utf-8"):
    failures.append("the C++ block is not examples/minimal/minimal.cpp")
if len(text.splitlines()) > 150:
    failures.append(f"{len(text.splitlines())} lines, 150 at most")
for path in re.findall(r"\b(?:examples|tests|benchmarks|include)/[\w./-]*\w", text):
    if not (root / path).exists():
        failures.append(f"{path} does not exist")
reader = (root / "include/strata/session/options_reader.hpp").read_text(encoding="utf-8")
keys = set(re.findall(r'^      \{"([a-z-]+)", "', reader, re.M))  # the rows of its help
if not keys:
    failures.append("options_reader.hpp has no keys that could be compared")
for key in sorted(keys):
    if not re.search(rf"\b{re.escape(key)}\b", text):
        failures.append(f"the key {key} of STRATA= is not described")

for failure in failures:
    print("FAILED: README.md:", failure)
sys.exit(1 if failures else 0)
