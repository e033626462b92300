"""Checks of the headers as a product: python3 tests/package CHECK [ARGUMENTS]; CHECK is the name of a file here."""
import importlib
import os
import pathlib
import sys

# Checks write to the folder they are started in, but never into the sources.
root = pathlib.Path(__file__).resolve().parents[2]
here = pathlib.Path.cwd().resolve()
if (here == root or root in here.parents) and root / "build" not in here.parents:
    work = root / "build" / "package" / "-".join(sys.argv[1:3]).replace("/", "_")
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)

sys.exit(importlib.import_module(sys.argv[1]).main(*sys.argv[2:]))
