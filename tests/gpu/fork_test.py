"""Children of a program with a session have CUDA and the environment as without it, on a real device: by fork, exec,
posix_spawn and system, before and after the first range and the first use of CUDA, and by each way of Python's
multiprocessing. And a kernel is traced whose launch is the program's first call of CUDA. By itself: fork_test.py. With
the stand-ins: tests/fake/process_test.cpp."""

import os
import pathlib
import shutil
import subprocess
import sys

from _gpu import here, injected, nvcc, root, rows, skip

folder = pathlib.Path("fork").resolve()
first_launches = 10  # runs: the session begins in a thread beside the launch

failures = []


def that(ok, text):
    if not ok:
        failures.append(text)


def run(command, **variables):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_", "CUDA_INJECTION"))}
    done = subprocess.run([str(word) for word in command], env={**plain, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def launches_of(out):
    return sum(int(row["count"]) for row in rows(out / "kernels.csv"))


if not pathlib.Path(nvcc).exists():
    skip("no nvcc here")
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir()
os.chdir(folder)
program = folder / "fork_program"
subprocess.run([nvcc, "-std=c++17", "-O1", "-arch=native", "-DSTRATA_IMPLEMENTATION", f"-I{root}/include",
                    f"-I{root}/src", root / "src/all.cpp",
                here / "program/fork_program.cu", "-o", program], check=True)

for how in ("fork", "exec", "spawn", "system"):
    child = "child=" + how
    for words in ([child, "range=2", child], ["range=2", child, "range=2", "cuda", "launch", child],
                  ["cuda", child, "range=1", child], ["steps=3", child], ["range=1", "launch", child]):
        without = run([program, *words])
        that("CUDA in a child" in without[1], f"{words}: {without}")
        for session in ("trace", "trace,counters=hbm", "host"):
            beside = run([program, *words], STRATA=session + ",formats=none")
            that(beside[:2] == without[:2], f"{session} {words}: {beside}, without Strata {without}")

for i in range(first_launches):
    out = folder / f"first{i}"
    code, _, said = run([program, "range=1", "launch"], STRATA=f"trace,formats=csv,out={out}")
    that(code == 3 and launches_of(out) == 1, f"first launch, run {i}: {said}")
    out = folder / f"steps{i}"
    code, _, said = run([program, "steps=5"], STRATA=f"trace,formats=csv,out={out}")
    that(code == 3 and launches_of(out) == 5, f"first step, run {i}: {said}")
code, _, said = run([program, "range=50"], STRATA="trace,formats=csv,out=host")
that(code == 3 and "did not use CUDA" in said, f"a program without CUDA: {said}")

script = root / "tests/script/_children.py"
if injected.exists():
    for way in ("fork", "spawn", "forkserver"):
        for when in ("nothing", "range", "cuda"):
            command = [sys.executable, "-B", script, way, when]
            without = run(command)
            beside = run(command, STRATA="trace,formats=none", LD_PRELOAD=str(injected))
            that(beside[:2] == without[:2], f"Python {way} {when}: {beside}, without Strata {without}")
else:
    print(f"LEFT OUT: Python's multiprocessing: there is no {injected}")

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
