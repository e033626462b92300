"""Work that waits for the program, beside all that Strata does: each program ends as without Strata, soon after it, and
what can be counted is. With the stand-ins: tests/fake/waiting_work_test.cpp."""

import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

from _gpu import here, nvcc, root

folder = pathlib.Path("hang_matrix").resolve()

NOT_HERE = 77
steps = 24
deadline_s = 15  # of one program: then it is killed, and has failed
later_s = 2.0  # than without Strata
counting_s = 4.0  # what counting may cost: 0.3 to 0.7 s a configuration, and drain= where a wait is in vain
together = 4  # programs that do not count

# State of the program, and whether its launches may wait for their work.
STATES = {"plain": True, "grid-sync": True, "wait-value": False, "batch-mem-op": False, "host-flag": False,
          "late-flag": False, "other-stream": False, "other-thread": False, "host-function": False, "persistent": None,
          "graph": None, "two-gpus": False, "nccl": None}
PRESETS = ["hbm", "l1", "memory", "l2hit", "flops", "tensor", "roofline", "instructions", "stalls", "occupancy", "limits",
           "findings", "links"]
INSTRUMENTED = {"counters=flops", "counters=instructions", "counters=findings"}
SESSIONS = ["", "sync=1", "watchdog=2", "every=4,active=1", *(f"counters={preset}" for preset in PRESETS),
            "counters=hbm,kernels=waits"]

Ended = collections.namedtuple("Ended", "code seconds out err")


def run(program, state, options=None):
    made = {k: v for k, v in os.environ.items() if not k.startswith("STRATA") and "_INJECTION64_PATH" not in k}
    if options is not None:
        parts = ["trace", "drain=300", options, "formats=json", f"out={folder / (state + '-' + options.replace(',', '-'))}"]
        made["STRATA"] = ",".join(part for part in parts if part)
    begin = time.monotonic()
    process = subprocess.Popen([program, state, str(steps)], env=made, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=deadline_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        code = "no end"
    return Ended(code, time.monotonic() - begin, out.decode(errors="replace"),
                 " ".join(err.decode(errors="replace").split()))


def failures(state, options, plain, ended):
    wrong = []
    if ended.code != plain.code:
        wrong.append(f"exit {ended.code}, not {plain.code}")
    if ended.out != plain.out:
        wrong.append(f"printed {ended.out!r}, not {plain.out!r}")
    longest = plain.seconds + later_s + (counting_s if "counters" in options else 0)
    if ended.seconds > longest:
        wrong.append(f"{ended.seconds:.2f} s, without Strata {plain.seconds:.2f} s")
    may_wait = STATES[state]
    left_out = "counters that instrument kernels are left out" in ended.err
    if options in INSTRUMENTED and may_wait is not None and left_out == may_wait:
        wrong.append("instrumented code was left out" if may_wait else "no word that instrumented code was left out")
    has_all = options != "counters=links"  # a machine of one GPU may have none
    if may_wait and has_all and "counters" in options and "counters: " in ended.err:
        wrong.append("not counted")
    return wrong


def build_program():
    program = folder / "waiting_program"
    command = [nvcc, "-std=c++17", "-O1", "-arch=native", "-DSTRATA_IMPLEMENTATION", f"-I{root}/include",
                    f"-I{root}/src", root / "src/all.cpp",
               here / "program/waiting_program.cu", "-o", program, "-lcuda", "-ldl"]
    if subprocess.run([*command, "-DWITH_NCCL", "-lnccl"], capture_output=True).returncode != 0:
        print("LEFT OUT: nccl: no NCCL to build with")
        subprocess.run(command, check=True)
    return program


def main():
    if not pathlib.Path(nvcc).exists():
        print("SKIPPED: no nvcc here")
        return NOT_HERE
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    program = build_program()
    plain = {}
    for state in STATES:
        plain[state] = run(program, state)
        if plain[state].code == NOT_HERE:
            print(f"LEFT OUT: {state}: {plain[state].out.strip() or 'not on this machine'}")
            del plain[state]
    if not plain:
        print("SKIPPED: no CUDA device that runs the program")
        return NOT_HERE
    cells = [(state, options) for state in plain for options in SESSIONS]
    with concurrent.futures.ThreadPoolExecutor(together) as many, concurrent.futures.ThreadPoolExecutor(1) as one:
        jobs = {cell: (one if "counters" in cell[1] else many).submit(run, program, *cell) for cell in cells}
        ended = {cell: job.result() for cell, job in jobs.items()}
    failed = 0
    print("state".ljust(14), *((options.replace("counters=", "") or "trace").ljust(16) for options in SESSIONS))
    for state in plain:
        row = [f"{ended[state, options].seconds:.2f}" for options in SESSIONS]
        print(state.ljust(14), *(cell.ljust(16) for cell in row), f"plain {plain[state].seconds:.2f}")
    for state, options in cells:
        wrong = failures(state, options, plain[state], ended[state, options])
        if wrong:
            failed += 1
            print(f"FAILED: {state}, STRATA=trace,{options}: {'; '.join(wrong)}")
            print("   ", ended[state, options].err[-700:])
    print(f"{len(cells)} programs, {failed} failed; {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
