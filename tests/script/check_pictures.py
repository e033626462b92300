#!/usr/bin/env python3
"""The pictures of README.md and docs/ show what the page makes of the recordings: page/pictures.py --check."""
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
strata = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")) / "tools/strata"
if not strata.exists():
    print("SKIPPED: the command strata was not built")
    sys.exit(77)
sys.path.insert(0, str(root / "page"))
import pictures  # noqa: E402

texts = [path.read_text(encoding="utf-8") for path in (root / "README.md", *root.glob("docs/**/*.md"))]
shown = {pathlib.Path(name).name for text in texts for name in re.findall(r"[\w/.-]+\.png", text)}
made = {pathlib.Path(name).name for name in pictures.PICTURES}
if shown != made:
    print(f"FAILED: README.md and docs show {sorted(shown)}, page/pictures.py makes {sorted(made)}")
    sys.exit(1)
sys.exit(subprocess.run([sys.executable, "-B", str(root / "page/pictures.py"), str(strata.resolve()), "--check"]).returncode)
