"""Children of Python's multiprocessing have CUDA as without Strata, with the stand-ins of a GPU. On a device:
tests/gpu/fork_test.py."""

import pathlib
import sys

from _script import build, end, environment, library, needs, run, that

here = pathlib.Path(__file__).resolve().parent
fakes = build / "tests/fake/lib"
needs(library, fakes / "libcuda.so.1", fakes / "libcupti.so.13")
environment["STRATA_LIBCUDA"] = str(fakes / "libcuda.so.1")
environment["STRATA_CUPTI"] = str(fakes / "libcupti.so.13")


def ended(way, before, **variables):
    done = run(sys.executable, "-B", here / "_children.py", way, before, env={**environment, **variables})
    return done.returncode, done.stdout, done.stderr


for way in ("fork", "spawn", "forkserver"):
    for before in ("nothing", "range", "cuda"):
        without = ended(way, before)
        that(without[0] == 0 and "nothing\n" not in without[1], f"{way} {before}: without Strata: {without}")
        beside = ended(way, before, STRATA="trace,formats=none", LD_PRELOAD=str(library))
        that(beside[:2] == without[:2], f"{way} {before}: {beside}, without Strata {without}")
end("children of multiprocessing")
