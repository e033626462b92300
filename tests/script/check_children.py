"""Children of Python's multiprocessing have CUDA as without Strata, with the stand-ins of a GPU. On a device:
tests/gpu/fork_test.py."""

import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
build = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")).resolve()
library = build / "tools/inject/libstrata_inject.so"
fakes = build / "tests/fake/lib"
if not (library.exists() and (fakes / "libcuda.so.1").exists() and (fakes / "libcupti.so.13").exists()):
    print("LEFT OUT: no libstrata_inject.so, or no stand-ins")
    sys.exit(77)
environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_", "CUDA_INJECTION", "LD_PRELOAD"))}
environment["STRATA_LIBCUDA"] = str(fakes / "libcuda.so.1")
environment["STRATA_CUPTI"] = str(fakes / "libcupti.so.13")
failures = []


def run(way, before, **variables):
    done = subprocess.run([sys.executable, "-B", str(here / "_children.py"), way, before], env={**environment, **variables},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


for way in ("fork", "spawn", "forkserver"):
    for before in ("nothing", "range", "cuda"):
        without = run(way, before)
        if without[0] != 0 or "nothing\n" in without[1]:
            failures.append(f"{way} {before}: without Strata: {without}")
        beside = run(way, before, STRATA="trace,formats=none", LD_PRELOAD=str(library))
        if beside[:2] != without[:2]:
            failures.append(f"{way} {before}: {beside}, without Strata {without}")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
