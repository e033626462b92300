"""What the scripts of tests have in common: where things are, running a program, and failures, which are told at the end."""

import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")).resolve()
program = build / "tools/strata"
library = build / "tools/inject/libstrata_inject.so"
recordings = sorted((root / "examples/report").glob("*.strata"))
# Nothing of the shell that the tests run from is recorded, or loads a library.
environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_", "CUDA_INJECTION", "LD_PRELOAD"))}
# What to do about a file.
UNREAD = "; name a file that is there, and that you may read."
UNWRITTEN = "; name a place that is there, has space, and that you may write to."
UNTOUCHED = "; start the process with a trigger= in a folder that is there, and that it may write to."
failures = []


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


def needs(*files):
    """Skips the test where one of these was not built."""
    missing = [file.name for file in files if not file.exists()]
    if missing:
        skip(f"not built: {', '.join(missing)}")


def that(ok, text):
    if not ok:
        failures.append(text)


def run(*words, **options):
    """A program, and what it said."""
    options = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "universal_newlines": True, **options}
    return subprocess.run([*map(str, words)], **options)


def expect(code, *words, **options):
    """The same, with this exit code."""
    done = run(*words, **options)
    that(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done


def end(said):
    for failure in failures:
        print("FAILED:", failure)
    print(f"{said}; {len(failures)} failures")
    sys.exit(1 if failures else 0)
