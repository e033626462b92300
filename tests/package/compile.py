"""One compiler against the language levels, both modes, and the flags that LLM code is built with; warnings are errors.

The annotations go through all of it. The implementation is dear: the language levels see its syntax, and it is compiled
once, without exceptions. "implementations" compiles it by each compiler, optimised and hardened as distributions do it,
for the warnings of the optimiser and of the C library, and by nvcc. "device_programs" compiles what runs on a device alone.
All flags are for STRATA_TEST_FULL=1."""
import glob
import os
import pathlib
import re
import shutil

from common import (FULL, HERE, IMPLEMENTATION, INCLUDE, MODES, ROOT, WARNINGS, Checks, compilers, left_out, nvcc, run,
                    skip, tree_has)

PARITY = HERE / "parity.cpp"
STANDARDS = ("c++17", "c++20", "c++2b")
# What foreign projects compile with: all warnings of llama.cpp and ggml, and llm.c's flags.
LLAMA = "-Wall -Wextra -Wpedantic -Wcast-qual -Wno-unused-function -Wmissing-declarations -Wmissing-noreturn".split()
LLAMA_OWN = {
    "g++": "-Wno-array-bounds -Wextra-semi -Wdouble-promotion".split(),
    "clang++": """-Wunreachable-code-break -Wunreachable-code-return -Wmissing-prototypes -Wextra-semi
                  -Wdouble-promotion""".split(),
}
LLMC = "-Ofast -Wno-unused-result -Wno-ignored-pragmas -Wno-unknown-attributes -march=native".split()
LLMC_NVCC = "--threads=0 -t=0 --use_fast_math -std=c++17 -O3".split()


# Mistakes, and what the compiler says of them.
MISTAKES = [
    ('STRATA_RANGE("b", i, i);', "one whole number as its index, then attributes"),
    ('STRATA_RANGE("b", 0.5);', "one whole number as its index, then attributes"),
    ('struct none {}; STRATA_RANGE("b", none());', "one whole number as its index, then attributes"),
    ('STRATA_RANGE(i);', "the name of a range comes first, and is a text"),
    ('STRATA_RANGE(i, "b");', "the name of a range comes first, and is a text"),
    ('STRATA_RANGE();', "a range has a name"),
    ('STRATA_MEMORY(i);', "the purpose is a literal"),
]


def hardened(level):
    """What distributions build with: the C library checks the arguments of open(), as Ubuntu's compilers do by default, at
    level 3 since 24.04."""
    return f"-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE={level} -D_GLIBCXX_ASSERTIONS -fstack-protector-strong".split()


def host(checks, compiler):
    base = [compiler, f"-I{INCLUDE}", *WARNINGS]
    for line, says in MISTAKES:
        text = "#include <strata/strata.hpp>\nvoid unit(int i) {\n  (void)i;\n  " + line + "\n}\n"
        told = run(base + ["-std=c++17", "-fsyntax-only", "-x", "c++", "-"], stdin=text)
        checks.that(told.returncode != 0 and says in told.stderr, f"{line} is explained", told.stderr)
    jobs = []
    builds = [("hardened", hardened(3)), ("bare", ["-O0", "-fno-exceptions", "-fno-rtti"]),
              ("fast", ["-O3", "-ffast-math", "-march=native", "-flto"])]
    for name, flags in builds:  # first what takes longest
        if FULL or name == "bare":
            jobs.append((f"implementation, {name}", base + ["-std=c++17", MODES["on"], *flags, "-c", IMPLEMENTATION, "-o",
                                                            f"implementation-{name}.o"], None))
    for name, flags in (("optimised", ["-O2"]), ("fortified 2", hardened(2))):
        for source in [PARITY, IMPLEMENTATION] if FULL else [PARITY]:
            jobs.append((f"{source.stem}, {name}",
                         base + ["-std=c++17", MODES["on"], *flags, "-c", source, "-o", os.devnull], None))
    for mode, define in MODES.items():
        llama = [compiler, f"-I{INCLUDE}", "-std=c++17", "-Werror", *LLAMA, *LLAMA_OWN.get(compiler, []), define]
        llmc = [compiler, f"-I{INCLUDE}", "-std=c++17", "-Werror", "-Wall", *LLMC, define]
        for source in (IMPLEMENTATION, PARITY):
            for standard in STANDARDS if FULL or source == PARITY else STANDARDS[2:]:  # C++17 is "bare"
                jobs.append((f"{source.stem}, {standard} {mode}",
                             base + [f"-std={standard}", define, "-fsyntax-only", source], None))
            jobs.append((f"{source.stem}, llama.cpp's flags, {mode}", llama + ["-fsyntax-only", source], None))
            if FULL or source == PARITY:  # some warnings need the optimiser
                jobs.append((f"{source.stem}, llama.cpp's flags, optimised, {mode}",
                             llama + ["-O3", "-c", source, "-o", os.devnull], None))
                jobs.append((f"{source.stem}, llm.c's flags, {mode}", llmc + ["-c", source, "-o", os.devnull], None))
        for name, flags in builds:
            jobs.append((f"parity, {mode} {name}", base + ["-std=c++17", define, *flags, "-c", PARITY, "-o",
                                                           f"parity-{mode}-{name}.o"], None))
    # The strictest program, to which these are headers of the system.
    jobs.append(("parity, beside system headers", [compiler, "-isystem", INCLUDE, *WARNINGS, "-Weffc++", "-Wold-style-cast", "-std=c++17",
                                                   MODES["on"], "-fsyntax-only", PARITY], None))
    for program in glob.glob("parity-*") + glob.glob("implementation-*"):
        os.unlink(program)
    checks.all_succeed(jobs)
    # The program has to link and stay silent; where the implementation was not built so, it stands beside another one.
    jobs = []
    for mode in MODES:
        for name, flags in builds:
            beside = [f"implementation-{name if FULL else 'bare'}.o"] if mode == "on" else []
            jobs.append((f"{mode} {name}: links", [compiler, "-std=c++17", *flags, f"parity-{mode}-{name}.o", *beside,
                                                   "-ldl", "-o", f"parity-{mode}-{name}"], None))
    checks.all_succeed(jobs)
    for mode in MODES:
        for name, _ in builds:
            program = f"./parity-{mode}-{name}"
            if os.path.exists(program):
                checks.runs_silently(f"{program} runs silently", program)


def by_nvcc(tool):
    return [tool, f"-I{INCLUDE}", "-arch=sm_80", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-c"]


def implementations(checks):
    jobs = []
    for compiler in sorted({"g++", "clang++"} - set(compilers())):
        left_out(f"the implementation by {compiler}", "it is not here")
    builds = [(compiler, name, flags) for compiler in compilers()
              for name, flags in (("optimised", ["-O2"]), ("hardened", hardened(3)))[0 if FULL else 1:]]
    tree_is_hardened = tree_has(r"^STRATA_TEST_IMPLEMENTATION_FLAGS:\w+=.*FORTIFY_SOURCE=3.*-Werror")
    for compiler, name, flags in builds:
        if compiler == "g++" and name == "hardened" and tree_is_hardened:
            pathlib.Path("bodies.o").unlink(missing_ok=True)  # of an earlier run
            shutil.copy(checks.bodies(), f"implementation-{compiler}-{name}.o")
            continue
        jobs.append((f"implementation, {compiler} {name}", [compiler, f"-I{INCLUDE}", *WARNINGS, "-std=c++17", MODES["on"], *flags,
                                                            "-c", IMPLEMENTATION, "-o", f"implementation-{compiler}-{name}.o"], None))
    if nvcc():
        jobs.append(("implementation, nvcc", [*by_nvcc(nvcc()), "-std=c++17", MODES["on"], "-x", "cu", IMPLEMENTATION, "-o",
                                              "implementation-nvcc.o"], None))
    else:
        left_out("the implementation by nvcc", "no nvcc here")
    checks.all_succeed(jobs)
    for compiler, name, flags in builds:
        program = f"./parity-{compiler}-{name}"
        built = checks.succeeds(f"{program} links", [compiler, "-std=c++17", *flags, f"-I{INCLUDE}", PARITY,
                                                     f"implementation-{compiler}-{name}.o", "-ldl", "-o", program])
        if built.returncode == 0:
            checks.runs_silently(f"{program} runs silently", program)


def device(checks, tool):
    base = by_nvcc(tool)
    jobs = []
    for mode, define in MODES.items():
        for standard in ("c++17", "c++20"):
            for source in (IMPLEMENTATION, PARITY, HERE / "device.cu"):
                if source == IMPLEMENTATION and not FULL:
                    continue
                jobs.append((f"{source.name} {standard} {mode}",
                             base + [f"-std={standard}", define, "-x", "cu", source, "-o",
                                     f"{source.stem}-{standard}-{mode}.o"], None))
        jobs.append((f"llm.c's flags, {mode}", [tool, f"-I{INCLUDE}", *LLMC_NVCC, define, "-c", HERE / "device.cu",
                                                "-o", f"llmc-{mode}.o"], None))
    checks.all_succeed(jobs)


def device_programs(checks, tool):
    """What runs on a device alone, so that it does not grow stale where there is none."""
    base = [tool, f"-I{INCLUDE}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests'}", "-std=c++17", "-arch=compute_90", MODES["on"], "--cuda",
            "-DSTRATA_TEST_IS_COMPILED_ONLY=1"]
    base += [f'-DSTRATA_TEST_{folder}=""' for folder in ("DIR", "WORK_DIR")]
    doctest = os.environ.get("STRATA_DOCTEST_INCLUDE")
    base += [f"-I{doctest}"] if doctest else []
    # Most of a unit's time is its headers: all tests are one unit, and all kernels of benchmarks/planted, each file in a
    # namespace behind what they include.
    together = {"gpu_tests": sorted((ROOT / "tests/gpu").rglob("*.cu")),
                "planted": sorted(path for path in (ROOT / "benchmarks/planted").glob("*.cu") if path.stem != "main")}
    alone = [path for room in ("benchmarks", "examples", "tests/gpu") for path in (ROOT / room).rglob("*.cu")
             if FULL or path not in sum(together.values(), [])]
    for name, paths in together.items():
        base += [f"-I{folder}" for folder in sorted({path.parent for path in paths})]
        lines = sorted({line for path in paths for line in re.findall(r"^#include .*", path.read_text(), re.M)}, key=lambda line: '"' in line)
        alone.insert(0, pathlib.Path(f"{name}.cu"))
        alone[0].write_text("\n".join(lines) + "".join(f'\nnamespace unit_{path.stem} {{\n#include "{path}"\n}}' for path in paths) + "\n")
    checks.all_succeed([(path.name, [*base, path, "-o", f"{path.stem}.ii"], None) for path in alone])


def main(compiler):
    checks = Checks()
    if compiler == "implementations":
        implementations(checks)
        return checks.end()
    if compiler in ("nvcc", "device_programs"):
        tool = nvcc()
        if not tool:
            skip("no nvcc here")
        (device if compiler == "nvcc" else device_programs)(checks, tool)
    else:
        tool = compiler
        if not shutil.which(compiler):
            skip(f"no {compiler} here")
        host(checks, compiler)
    print(run([tool, "--version"]).stdout.strip().splitlines()[0])
    return checks.end()
