"""Other systems and a newer compiler: the tree compiles for them, and a program for arm64 runs, emulated.

Zig's package on PyPI is a recent clang with the headers of each system, and with clang's own C++ library."""
import os
import pathlib
import re
import shutil
import sys

from common import (HERE, IMPLEMENTATION, INCLUDE, ROOT, WARNINGS, Checks, clean_environment, left_out, run, skip)

# Where Strata records; aarch64 is compiled by a cross compiler, and runs.
LINUX = {"x86_64-linux-gnu": "-std=c++26", "x86_64-linux-musl": "-std=c++17"}
# Where nothing of it is left: one unit of all that a program includes. A program is not linked: Zig compiles its C++ library for
# that, 100 s of a processor for each system.
OTHERS = ["aarch64-macos", "x86_64-freebsd", "x86_64-windows-gnu"]
PUBLIC = ["strata.hpp", "session.hpp", "options.hpp", "inherit.hpp", "nvtx.hpp", "c.h", "implementation.cpp"]
# Zig adds checks and debug information by itself, of which nothing is used: half of its time.
PLAIN = ["-fno-sanitize=undefined", "-g0"]
ZIG = ROOT / "build" / "zig"  # where tests/run.sh puts it
CROSS = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"


def compiles(checks):
    cache = pathlib.Path("zig").absolute()
    env = clean_environment(ZIG_GLOBAL_CACHE_DIR=str(cache), ZIG_LOCAL_CACHE_DIR=str(cache))
    env["PYTHONPATH"] = os.pathsep.join([str(ZIG), env.get("PYTHONPATH", "")])
    clang = [sys.executable, "-m", "ziglang", "c++"]
    version = run(clang + ["--version"], env=env)
    if version.returncode != 0:
        left_out("other systems", "no Zig here (python3 -m pip install --target build/zig ziglang)")
        return False
    print(version.stdout.splitlines()[0])
    command = [*clang, *PLAIN, f"-I{INCLUDE}", *WARNINGS, "-DSTRATA_ENABLED=1"]
    jobs = [(f"{source.stem} for {system}", [*command, "-target", system, standard, "-c", source, "-o", f"{source.stem}-{system}.o"], None)
            for system, standard in LINUX.items() for source in (HERE / "parity.cpp", IMPLEMENTATION)]
    unit = pathlib.Path("public.cpp")
    unit.write_text("".join(f"#include <strata/{name}>\n" for name in PUBLIC)
                    + f'static_assert(!STRATA_ENABLED);\n#include "{HERE / "parity.cpp"}"\n', encoding="utf-8")
    jobs += [(f"a program for {system}", [*command, "-target", system, "-std=c++17", "-S", "-emit-llvm", "-Wno-unused-command-line-argument", unit, "-o", f"{system}.ll"], None)
             for system in OTHERS]
    checks.all_succeed(jobs, env=env)
    for system in OTHERS:
        made = pathlib.Path(f"{system}.ll")
        missing = re.findall(r"^declare .*strata.*", made.read_text(encoding="utf-8"), re.M) if made.exists() else ["it is not made"]
        checks.that(not missing, f"{system}: nothing is left to link", "\n".join(missing))
    return True


def runs_on_arm64(checks):
    """Without STRATA silent; with it, one report by the processor's own clock."""
    missing = [tool for tool in (CROSS, EMULATOR) if not shutil.which(tool)]
    if missing:
        left_out("running on arm64", f"no {' and '.join(missing)} here")
        return False
    program = pathlib.Path("minimal").absolute()
    made = checks.succeeds("minimal for arm64", [CROSS, "-std=c++17", "-O0", "-static", f"-I{INCLUDE}", *WARNINGS,
                                                 ROOT / "examples/minimal/minimal.cpp", IMPLEMENTATION, "-o", program])
    if made.returncode != 0:
        return True
    here = pathlib.Path("run").absolute()
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    idle = run([EMULATOR, program], cwd=here)
    checks.that(idle.returncode == 0 and not idle.stdout + idle.stderr and not os.listdir(here), "arm64: silent",
                f"  exit code {idle.returncode}\n{idle.stdout}{idle.stderr}")
    traced = run([EMULATOR, program], cwd=here,
                 env=clean_environment(STRATA="host,verbose=1,out=out,formats=table+csv+trace"))
    found = here / "out" / "ranges.csv"
    checks.that(traced.returncode == 0 and "by cntvct" in traced.stderr and found.exists()
                and "block[0]/attention" in found.read_text(), "arm64: a report",
                f"  exit code {traced.returncode}\n{traced.stdout}{traced.stderr}")
    return True


def main():
    checks = Checks()
    if not any([compiles(checks), runs_on_arm64(checks)]):
        skip("neither Zig nor a cross compiler for arm64 and its emulator here")
    return checks.end()
