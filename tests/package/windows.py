"""Host times on Windows: every header compiles for it, a program links, and runs where wine is (STRATA_TEST_FULL=1)."""
import os
import pathlib
import shutil

from common import (FULL, IMPLEMENTATION, INCLUDE, MODES, ROOT, WARNINGS, Checks, clean_environment, headers, in_mode, left_out, needs_nvtx,
                    run, skip)

COMPILERS = ("x86_64-w64-mingw32-g++-posix", "x86_64-w64-mingw32-g++")
# Where Debian has it, and where a path may lead.
WINE = ("/usr/lib/wine/wine64", "wine64", "wine")


def runs(checks, wine, program):
    """Without STRATA silent; with it, one report."""
    here = pathlib.Path("run").absolute()
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    extra = {"WINEDEBUG": "-all", "WINEPREFIX": str(pathlib.Path("wine").absolute())}
    run([wine, program], cwd=here, env=clean_environment(**extra))  # the first time it makes its own files
    idle = run([wine, program], cwd=here, env=clean_environment(**extra))
    checks.that(idle.returncode == 0 and not idle.stdout + idle.stderr and not os.listdir(here), "wine: silent",
                f"  exit code {idle.returncode}\n{idle.stdout}{idle.stderr}")
    traced = run([wine, program], cwd=here, env=clean_environment(STRATA="host,out=out", **extra))
    found = here / "out" / "ranges.csv"
    checks.that(traced.returncode == 0 and found.exists() and "block[0]/attention" in found.read_text(),
                "wine: a report", f"  exit code {traced.returncode}\n{traced.stdout}{traced.stderr}")


def main():
    compiler = next((c for c in COMPILERS if shutil.which(c)), None)
    if compiler is None:
        skip("no cross compiler for Windows here (g++-mingw-w64-x86-64-posix)")
    checks = Checks()
    base = [compiler, "-std=c++17", f"-I{INCLUDE}", *WARNINGS]
    names = [n for n in headers() if n.endswith(".hpp") and not needs_nvtx(n)]
    program = pathlib.Path("minimal.exe").absolute()
    for old in (program, pathlib.Path("bodies.o")):
        old.unlink(missing_ok=True)
    jobs = []
    for mode, define in MODES.items():
        mine = in_mode(names, mode)
        sets = {"all headers": mine, "all headers backwards": mine[::-1]}
        if FULL and mode == "on":
            sets.update({name: [name] for name in mine})
        for what, some in sets.items():
            jobs.append((f"{what}, {mode}", base + [define, "-fsyntax-only", "-x", "c++", "-"],
                         "".join(f"#include <{n}>\n" for n in some)))
    # Without the optimiser the implementation has more sections than an object file holds (-Wa,-mbig-obj).
    jobs.insert(0, ("bodies.o", base + [MODES["on"], "-O1", "-c", IMPLEMENTATION, "-o", "bodies.o"], None))
    checks.all_succeed(jobs)
    minimal = base + ["-O1", "-static", ROOT / "examples/minimal/minimal.cpp"]
    checks.succeeds("minimal, off", minimal + [MODES["off"], "-o", "minimal-off.exe"])
    if pathlib.Path("bodies.o").exists():
        shutil.copy("bodies.o", "again.o")
        checks.succeeds("minimal, on", minimal + [MODES["on"], "bodies.o", "-o", program])
        checks.succeeds("two implementations", minimal + ["bodies.o", "again.o", "-o", "twice.exe"])
    wine = next((w for w in WINE if shutil.which(w)), None)
    if FULL and wine and program.exists():
        runs(checks, wine, program)
    elif FULL:
        left_out("running", "no wine here")
    print(f"{len(names)} headers, {run([compiler, '--version']).stdout.splitlines()[0]}")
    return checks.end()
