"""What the scripts for a device have in common."""

import csv
import os
import pathlib
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
build = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", root / "build/tests"))
injected = (build / "tools/inject/libstrata_inject.so").resolve()
nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def skip(why):
    print("SKIPPED:", " ".join(why.split()))
    sys.exit(77)


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text):
    return int(text) if text else 0


def bare_client():
    """A library that is a client of CUPTI and nothing else: what it sees is the truth."""
    library = pathlib.Path("libbare_client.so").resolve()
    toolkit = pathlib.Path(os.path.realpath(nvcc)).parent.parent
    places = [toolkit / "extras/CUPTI/lib64", toolkit / "lib64", toolkit / "targets/x86_64-linux/lib"]
    flags = [f"-L{p}" for p in places if p.exists()] + [f"-Wl,-rpath,{p}" for p in places if p.exists()]
    includes = [f"-I{p}" for p in (toolkit / "include", toolkit / "extras/CUPTI/include") if p.exists()]
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", str(here / "bare_client.cpp"), "-o", str(library), *includes,
                    *flags, "-lcupti"], check=True)
    return library
