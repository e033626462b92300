#!/usr/bin/env python3
"""Runs a list of operations that others wrote, each in an NVTX range of its name: for Strata, or for Nsight Compute.

    runner.py LIST strata [STEPS]     steps of all operations, for libstrata_inject.so
    runner.py LIST ncu                each operation once, between cuProfilerStart and cuProfilerStop, and nothing else in
                                      memory: ncu saves all of it before each kernel
    runner.py LIST list               the names and their times

LIST is torch, triton, jax, cupy or llama: kernels_LIST.py has `operations()`, the makers by name, `synchronise()`, `flusher()` and
`release()`. A maker prepares inputs and returns what the operation calls. One that fails is left out with its reason.

Environment: CORPUS_ONLY and CORPUS_WITHOUT, regular expressions of names; CORPUS_WARM=1: the caches stay as they are, else
something else is read before each operation, so that L2 is as cold as ncu's --cache-control all leaves it; CORPUS_MARKERS:
libmarkers.so; CORPUS_TIMES: a file for the times.
"""

import ctypes
import importlib
import json
import os
import re
import sys
import time

LONGEST_OPERATION_S = 0.05
STEPS = 40
WARM_UPS = 3
TIMED_CALLS = 5


class Markers:
    """The functions of libmarkers.so, or nothing in their place."""

    def __init__(self):
        path = os.environ.get("CORPUS_MARKERS")
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) if path else None
        for name in ("step_begin", "step_end", "range_push", "range_pop", "range_start", "range_end"):
            call = getattr(library, f"corpus_{name}") if library else lambda *_: None
            if library:
                call.restype = ctypes.c_ulonglong if name == "range_start" else None
                call.argtypes = {"range_push": [ctypes.c_char_p], "range_start": [ctypes.c_char_p],
                                 "range_end": [ctypes.c_ulonglong]}.get(name, [])
            setattr(self, name, call)


def profiler(call):
    """cuProfilerStart or cuProfilerStop."""
    try:
        return getattr(ctypes.CDLL("libcuda.so.1"), call)()
    except OSError:
        return 0


def chosen(makers):
    only = re.compile(os.environ.get("CORPUS_ONLY", "."))
    without = os.environ.get("CORPUS_WITHOUT")
    return {name: maker for name, maker in makers.items()
            if only.search(name) and not (without and re.search(without, name))}


def time_of(call, synchronise):
    """Median seconds of a call, launches included."""
    times = []
    for _ in range(TIMED_CALLS):
        begin = time.perf_counter()
        call()
        synchronise()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def prepared(name, maker, synchronise):
    """What the operation calls, warm, and its seconds; None where it does not work here."""
    try:
        call = maker()
        for _ in range(WARM_UPS):
            call()
        synchronise()
        seconds = time_of(call, synchronise)
    except Exception as problem:  # one operation never ends the run
        reason = (str(problem).strip().splitlines() or [""])[0]
        print(f"left out: {name}: {type(problem).__name__}: {reason[:200]}", file=sys.stderr, flush=True)
        return None, 0.0
    if seconds > LONGEST_OPERATION_S and not os.environ.get("CORPUS_SLOW"):
        print(f"left out: {name}: takes {1000 * seconds:.1f} ms", file=sys.stderr, flush=True)
        return None, seconds
    return call, seconds


def prepare(makers, synchronise):
    """The operations that work, by name, and their times."""
    calls, times = {}, {}
    for name, maker in makers.items():
        call, seconds = prepared(name, maker, synchronise)
        if call is not None:
            calls[name], times[name] = call, seconds
    return calls, times


def run_once(calls, markers, flush, of_the_process):
    """All operations once; one that fails now is not called again."""
    failed = []
    for name, call in calls.items():
        flush()
        process_range = markers.range_start(name.encode()) if of_the_process else None
        markers.range_push(name.encode())
        try:
            call()
        except Exception as problem:
            print(f"failed: {name}: {problem}", file=sys.stderr, flush=True)
            failed.append(name)
        markers.range_pop()
        if of_the_process:
            markers.range_end(process_range)
    for name in failed:
        del calls[name]


def run_steps(module, makers, markers, steps):
    begin = time.perf_counter()
    calls, times = prepare(makers, module.synchronise)
    print(f"{len(calls)} operations prepared in {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    flush = (lambda: None) if os.environ.get("CORPUS_WARM") else module.flusher()
    flush()
    module.synchronise()
    for _ in range(steps):
        markers.step_begin()
        run_once(calls, markers, flush, of_the_process=False)
        module.synchronise()
        markers.step_end()
    return times


def run_for_ncu(module, makers, markers):
    """One operation after another; ncu empties the caches itself."""
    times = {}
    for name, maker in makers.items():
        call, seconds = prepared(name, maker, module.synchronise)
        if call is None:
            continue
        times[name] = seconds
        profiler("cuProfilerStart")
        run_once({name: call}, markers, lambda: None, of_the_process=True)
        try:
            module.synchronise()
        except Exception as problem:
            print(f"failed: {name}: {problem}", file=sys.stderr, flush=True)
        profiler("cuProfilerStop")
        del call
        module.release()
    return times


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("strata", "ncu", "list"):
        sys.exit(__doc__)
    markers = Markers()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    module = importlib.import_module(f"kernels_{sys.argv[1]}")
    makers = chosen(module.operations())
    begin = time.perf_counter()
    if sys.argv[2] == "strata":
        times = run_steps(module, makers, markers, int(sys.argv[3]) if len(sys.argv) > 3 else STEPS)
    elif sys.argv[2] == "ncu":
        times = run_for_ncu(module, makers, markers)
    else:
        _, times = prepare(makers, module.synchronise)
        for name, seconds in times.items():
            print(f"{1e6 * seconds:10.1f} us  {name}")
    print(f"{sys.argv[2]}: {len(times)} operations, {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    if os.environ.get("CORPUS_TIMES"):
        with open(os.environ["CORPUS_TIMES"], "w", encoding="utf-8") as file:
            json.dump(times, file, indent=1)


if __name__ == "__main__":
    main()
