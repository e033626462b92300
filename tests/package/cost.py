"""What an include costs: user seconds of the compiler's processor, as times those of a unit with <nvtx3/nvtx3.hpp>.

Only the ratios are held to the bars: both sides are compiled in turns by one compiler, so a slow or busy machine slows
both. The implementation takes seconds, in which a machine changes: the unit beside it is compiled before and after each
time, and the best of these ratios counts. A failure is measured again. The ring runs this test alone."""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from common import INCLUDE, Checks, cuda_include, left_out, nvcc

# A unit of Strata, compiler and flags; the unit beside it; at most so many times its seconds, and so many MB of memory.
BARS = [
    ("light", "g++ -O2", "nvtx3.hpp", "g++ -O2", 0.25, None),
    ("light", "clang++ -O2", "nvtx3.hpp", "clang++ -O2", 0.5, None),
    ("light", "nvcc", "nothing", "nvcc", 1.5, None),  # an empty file takes nvcc 0.6 s
    # The ratio depends on the CPU. The memory is the same wherever g++ 12 is.
    ("heavy", "g++ -O2", "nvtx3.hpp", "g++ -O2", 18.0, 500),
    ("heavy", "g++ -g -O3", "heavy", "g++ -O2", 1.5, None),  # the aim is 1.3
    ("heavy", "g++ -O0", "nvtx3.hpp", "g++ -O2", 9.0, 400),
]
MARGIN = 1.15  # above the bar by more than this is a failure
ATTEMPTS, HOPELESS = 3, 1.3  # a light unit above this many times the bar is compiled once; it is no noise
ROUNDS, MOST_ROUNDS_OF_HEAVY = 5, 5

UNITS = {
    "nothing": "int unit;\n",
    "nvtx3.hpp": "#include <nvtx3/nvtx3.hpp>\n",
    "range.hpp": """#include <strata/range.hpp>
void unit(int layer) {
  STRATA_RANGE("unit", layer);
}
""",
    # What a source file of the program has.
    "light": """#include <strata/strata.hpp>
void unit(int layer) {
  STRATA_STEP();
  STRATA_RANGE("unit", layer);
}
""",
    # What one source file of the program has.
    "heavy": "#define STRATA_IMPLEMENTATION\n#include <strata/strata.hpp>\n",
    "<vector>": "#include <vector>\n",
    "<string>": "#include <string>\n",
}
# Where nvtx3.hpp is not: headers of the standard library, and how many times their seconds nvtx3.hpp took beside them
# (that of CUDA 13.0; g++ 12.2 and clang 14).
STAND_IN = "".join(f"#include <{name}>\n" for name in "algorithm functional map memory string vector".split())
STAND_IN_TIMES = {"g++ -O2": 2.2, "clang++ -O2": 1.0}


def tool(compiler):
    return nvcc() if compiler == "nvcc" else shutil.which(compiler)


def compile_once(unit, how, folder):
    """User seconds, wall seconds and the memory, in MB, of the compiler and all that it starts; (0, 0, 0) if it fails."""
    compiler, *flags = how.split()
    nvtx = cuda_include()
    text, scale = UNITS[unit], 1.0
    if unit == "nvtx3.hpp" and compiler != "nvcc":
        if nvtx:
            flags.append(f"-isystem{nvtx}")
        else:
            text, scale = STAND_IN, STAND_IN_TIMES[how]
    source = pathlib.Path(folder, "unit.cu" if compiler == "nvcc" else "unit.cpp")
    source.write_text(text)
    begin = time.monotonic()
    process = subprocess.Popen([tool(compiler), "-std=c++17", *flags, f"-I{INCLUDE}", "-c", source, "-o",
                                source.with_suffix(".o")])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status  # it is gone: nothing is left to wait for
    wall = time.monotonic() - begin
    return (used.ru_utime * scale, wall, used.ru_maxrss / 1024) if status == 0 else (0.0, 0.0, 0.0)


def in_turns(pairs, rounds, folder):
    """pairs: (unit, how). What compile_once says of each, round by round, as a list by pair."""
    found = {pair: [] for pair in pairs}
    for _ in range(rounds):
        for pair in pairs:
            found[pair].append(compile_once(*pair, folder))
    return found


def median(results, column=0):
    return statistics.median(r[column] for r in results)


def beside_heavy(mine, beside, limit, folder, before):
    """The least ratio of the rounds until one is within the margin, and the results of both sides in it: each time is
    compared with those of the unit beside it just before and just after. None if one did not compile."""
    best, before = None, before or compile_once(*beside, folder)
    for _ in range(MOST_ROUNDS_OF_HEAVY):
        own, after = compile_once(*mine, folder), compile_once(*beside, folder)
        if not (before[0] and own[0] and after[0]):
            return None
        ratio = 2 * own[0] / (before[0] + after[0])
        if best is None or ratio < best[0]:
            best = ratio, [own], [before, after]
        if ratio <= MARGIN * limit:  # more rounds could not change the verdict
            break
        before = after
    return best


def versus(mine, beside, limit, folder, before=None):
    """The least ratio of some attempts, and the results of both sides in it; None if one did not compile. `before` is
    what the unit beside it took a moment ago, where it is known."""
    if mine[0] == "heavy":
        return beside_heavy(mine, beside, limit, folder, before)
    best = None
    for _ in range(ATTEMPTS):
        found = in_turns([beside, mine], 1, folder)  # fills the file cache, and says whether there is any hope
        if found[mine][0][0] <= 2 * HOPELESS * limit * found[beside][0][0]:
            found = in_turns([beside, mine], ROUNDS, folder)
        if not all(r[0] for results in found.values() for r in results):
            return None
        ratio = median(found[mine]) / median(found[beside])
        if best is None or ratio < best[0]:
            best = ratio, found[mine], found[beside]
        if best[0] <= MARGIN * limit:
            break
    return best


def main():
    checks = Checks()
    folder = pathlib.Path("units")
    folder.mkdir(exist_ok=True)
    if not cuda_include():
        left_out("nvtx3.hpp", "not here: headers of the standard library stand in for it")
    print(f"{'unit':8} {'by':12} {'user s':>7} {'wall s':>7} {'MB':>5}   {'beside':25} {'user s':>7} {'times':>7} {'bar':>5}")
    last = {}  # the one unit that was just measured, and its last result
    for unit, how, beside, beside_how, limit, memory in BARS:
        name = f"{unit} by {how}"
        if not tool(how.split()[0]):
            left_out(name, f"no {how.split()[0]} here")
            continue
        result = versus((unit, how), (beside, beside_how), limit, folder, last.get((beside, beside_how)))
        if not checks.that(result, f"{name} compiles"):
            continue
        ratio, mine, other = result
        last = {(unit, how): mine[-1]}
        peak = median(mine, 2)
        verdict = "" if ratio <= limit else "  above, within the margin" if ratio <= limit * MARGIN else "  ABOVE"
        if memory and peak > memory:
            verdict += f"  more than {memory} MB"
        print(f"{unit:8} {how:12} {median(mine):7.3f} {median(mine, 1):7.3f} {peak:5.0f}   "
              f"{beside + ' by ' + beside_how:25} {median(other):7.3f} {ratio:7.2f} {limit:5}{verdict}", flush=True)
        checks.that(ratio <= limit * MARGIN, f"{name} takes at most {limit} times {beside} by {beside_how}",
                    f"  {ratio:.2f} times; a failure is what is above {MARGIN} times the bar")
        if memory:
            checks.that(peak <= memory * MARGIN, f"{name} takes at most {memory} MB", f"  {peak:.0f} MB")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
