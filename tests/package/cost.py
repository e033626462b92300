"""What an include costs, in preprocessed lines, against NVTX's C++ header, which does a part of the same job."""
from common import INCLUDE, MODES, TREE, Checks, cuda_include, run

NVTX_LINES = 25400  # nvtx3.hpp of CUDA 13.0 with g++ 12, where the toolkit is not here
BUDGET = {  # header, mode: share of nvtx3.hpp
    ("range.hpp", "on"): 0.6,
    ("range.hpp", "off"): 0.4,
    ("strata.hpp", "on"): 2.5,
    ("strata.hpp", "off"): 2.5,
}


def lines(header, *flags):
    result = run(["g++", "-std=c++17", "-E", "-P", "-x", "c++", "-", *flags], stdin=f"#include <{header}>\n")
    return result, result.stdout.count("\n")


def main():
    checks = Checks()
    reference = NVTX_LINES
    cuda = cuda_include()
    if cuda and (cuda / "nvtx3" / "nvtx3.hpp").exists():
        result, reference = lines("nvtx3/nvtx3.hpp", f"-isystem{cuda}")
        checks.that(result.returncode == 0, "nvtx3.hpp preprocesses", result.stderr)
    print(f"{'nvtx3.hpp':12} {'':4} {reference:7} lines" + ("" if cuda else "  (a fixed number: no toolkit here)"))
    for (header, mode), share in BUDGET.items():
        if not checks.that((TREE / header).exists(), f"{header} exists"):
            continue
        result, n = lines(f"strata/{header}", f"-I{INCLUDE}", MODES[mode])
        checks.that(result.returncode == 0, f"{header}, {mode}: preprocesses", result.stderr)
        print(f"{header:12} {mode:4} {n:7} lines  {n / reference:5.2f} x  (at most {share} x)")
        checks.that(n <= share * reference, f"{header}, {mode}: within its budget", f"  {n} > {share} x {reference}")
    return checks.end()
