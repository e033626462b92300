"""A child of multiprocessing uses CUDA, and tells the codes of its first calls.

_children.py fork|spawn|forkserver nothing|range|cuda: what the parent has done before. STRATA_LIBCUDA names a stand-in.
"""

import ctypes
import multiprocessing
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
import strata  # noqa: E402


def driver():
    return ctypes.CDLL(os.environ.get("STRATA_LIBCUDA", "libcuda.so.1"))


def use_cuda(answers):
    codes = [driver().cuInit(0), driver().cuDeviceGetCount(ctypes.byref(ctypes.c_int()))]
    with strata.range("child"):
        pass
    answers.put(codes)


if __name__ == "__main__":
    way, before = sys.argv[1:]
    if before != "nothing":
        with strata.range("parent"):
            pass
    if before == "cuda":
        driver().cuInit(0)
        with strata.range("parent"):
            pass
    ways = multiprocessing.get_context(way)
    answers = ways.SimpleQueue()
    child = ways.Process(target=use_cuda, args=(answers,))
    child.start()
    child.join(60)
    print(way, before, child.exitcode, "nothing" if answers.empty() else answers.get())
