"""One compiler against the language levels, both modes, and the flags that LLM code is built with; warnings are errors."""
import glob
import os
import shutil

from common import FULL, HERE, INCLUDE, MODES, WARNINGS, Checks, run, skip

PARITY = HERE / "parity.cpp"
STANDARDS = ("c++17", "c++20", "c++2b")


def host(checks, compiler):
    base = [compiler, f"-I{INCLUDE}", *WARNINGS]
    jobs = []
    for mode, define in MODES.items():
        for standard in STANDARDS:
            jobs.append((f"{standard} {mode}", base + [f"-std={standard}", define, "-fsyntax-only", PARITY], None))
        # Some warnings need the optimiser; and the program has to link and stay silent.
        builds = [("plain", ["-O2"]), ("bare", ["-O0", "-fno-exceptions", "-fno-rtti"])]
        if FULL or mode == "off":
            builds.append(("fast", ["-O3", "-ffast-math", "-march=native", "-flto"]))
        for name, flags in builds:
            jobs.append((f"c++17 {mode} {name}",
                         base + ["-std=c++17", define, *flags, PARITY, "-ldl", "-o", f"parity-{mode}-{name}"], None))
    for program in glob.glob("parity-*"):
        os.unlink(program)
    checks.all_succeed(jobs)
    for mode in MODES:
        for name in ("plain", "bare", "fast"):
            program = f"./parity-{mode}-{name}"
            if os.path.exists(program):
                result = run([program])
                checks.that(result.returncode == 0 and not result.stdout + result.stderr, f"{program} runs silently",
                            f"  exit code {result.returncode}\n{result.stdout}{result.stderr}")


def device(checks, nvcc):
    base = [nvcc, f"-I{INCLUDE}", "-arch=sm_80", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c"]
    jobs = []
    for mode, define in MODES.items():
        for standard in ("c++17", "c++20") if FULL else ("c++17",):
            for source in (PARITY, HERE / "device.cu"):
                jobs.append((f"{source.name} {standard} {mode}",
                             base + [f"-std={standard}", define, "-x", "cu", source, "-o",
                                     f"{source.stem}-{standard}-{mode}.o"], None))
    checks.all_succeed(jobs)


def main(compiler):
    checks = Checks()
    if compiler == "nvcc":
        tool = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
        if not tool:
            skip("no nvcc here")
        device(checks, tool)
    else:
        if not shutil.which(compiler):
            skip(f"no {compiler} here")
        host(checks, compiler)
    print(run([tool if compiler == "nvcc" else compiler, "--version"]).stdout.strip().splitlines()[0])
    return checks.end()
