"""The files that CONTRIBUTING.md names exist, and every room has its line."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
include, src = root / "include/strata", root / "src"
text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
failures = []

# --- names --------------------------------------------------------------------------------------------------------

for path in re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.(?:hpp|h|cpp|py|md|sh))`", text):
    if not any((folder / path).exists() for folder in (include, src, root)):
        failures.append(f"{path} does not exist")
for path in re.findall(r"`((?:include|tests|benchmarks|examples)/[\w/]*\w)`", text):
    if not (root / path).exists():
        failures.append(f"{path} does not exist")
rooms = {p.parent for folder in (include, src) for p in folder.rglob("*.hpp")}
for room in sorted(p.relative_to(root).as_posix() for p in rooms):
    if not re.search(rf"^- `{re.escape(room)}`", text, re.M):
        failures.append(f"the room {room} has no line")

for failure in failures:
    print("FAILED: CONTRIBUTING.md:", failure)
sys.exit(1 if failures else 0)
