"""Compiled out means out: the same instructions as without the marks, no symbol of ours, no foreign header."""
import difflib
import re

from common import HERE, INCLUDE, MODES, Checks, compilers, run


def assembly(checks, compiler, level, marked):
    what = f"{compiler} {level}, {'marked' if marked else 'unmarked'}"
    argv = [compiler, "-std=c++17", level, f"-I{INCLUDE}", MODES["off"], "-S", "-o", "-", HERE / "off" / "off.cpp"]
    result = checks.succeeds(what, argv + ["-DOFF_MARKED"] * marked)
    labels = {}  # numbered in the order in which they stand
    text = re.sub(r"\.L\w+", lambda m: labels.setdefault(m[0], f".L{len(labels)}"), result.stdout)
    return [line for line in text.splitlines() if not re.match(r"\s*\.(file|ident|addrsig)", line)]


def main():
    checks = Checks()
    for compiler in compilers():
        for level in ("-O1", "-O2", "-O3"):
            plain = assembly(checks, compiler, level, False)
            marked = assembly(checks, compiler, level, True)
            if level == "-O3":  # the scheduler may swap two that are independent
                plain, marked = sorted(plain), sorted(marked)
            checks.that(plain == marked and len(plain) > 20, f"{compiler} {level}: the same instructions",
                        "\n".join(difflib.unified_diff(plain, marked, "without", "with", lineterm="", n=1)))
        # At -O0 calls remain, but nothing that would have to be linked.
        for level in ("-O0", "-O2"):
            output = f"off-{compiler}{level}.o"
            checks.succeeds(f"{compiler} {level} object",
                            [compiler, "-std=c++17", level, f"-I{INCLUDE}", MODES["off"], "-DOFF_MARKED", "-c",
                             HERE / "off" / "off.cpp", "-o", output])
            undefined = [line for line in run(["nm", "-uC", output]).stdout.splitlines()
                         if "strata" in line or "dlopen" in line]
            checks.that(not undefined, f"{compiler} {level}: nothing undefined", "\n".join(undefined))
    # Marking in off mode drags in no header of CUDA, CUPTI or NVTX, wherever they lie.
    result = run(["g++", "-std=c++17", f"-I{INCLUDE}", "-isystem", "/usr/local/cuda/include", MODES["off"], "-M", "-x",
                  "c++", "-"], stdin="#include <strata/range.hpp>\n")
    foreign = re.findall(r"\S*(?:/cuda/|cupti|nvtx)\S*", result.stdout)
    checks.that(result.returncode == 0 and not foreign, "range.hpp in off mode reads no foreign header",
                "\n".join(foreign) + result.stderr)
    return checks.end()
