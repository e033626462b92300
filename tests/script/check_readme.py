"""The README is short, its GPU code compiles, and its commands and files exist."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
text = (root / "README.md").read_text(encoding="utf-8")
MOST_LINES, MOST_LINES_OF_CODE = 120, 20
failures = []

if len(text.splitlines()) > MOST_LINES:
    failures.append(f"{len(text.splitlines())} lines, {MOST_LINES} at most")
for path in re.findall(r"(?<![\w/])(?:examples|tests|benchmarks|include|docs)/[\w./-]*\w", text):
    if not (root / path).exists():
        failures.append(f"{path} does not exist")

# The code, as a compiler for C++ can see it: launches become calls.
shown = re.search(r"```cpp\n(.*?)```", text, re.S)
code = shown.group(1) if shown else ""
if "<<<" not in code or "STRATA_RANGE" not in code or "STRATA_STEP" not in code:
    failures.append("no code of a GPU with ranges and steps")
if len(code.splitlines()) > MOST_LINES_OF_CODE:
    failures.append(f"{len(code.splitlines())} lines of code, {MOST_LINES_OF_CODE} at most")
compiler = next(filter(shutil.which, ["c++", "g++", "clang++"]), None)
if compiler is None:
    print("LEFT OUT: the code of the README: no compiler here")
else:
    kernels = "".join(f"void {name}(float*);\n" for name in sorted(set(re.findall(r"(\w+)<<<", code))))
    source = kernels + re.sub(r"<<<[^>]*>>>", "", code)
    done = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", f"-I{root}/include", "-x", "c++", "-"], input=source,
                          universal_newlines=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        failures.append(f"its code does not compile:\n{done.stdout}")

# The answer that it shows is what the command prints of that recording.
strata = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", "")) / "tools/strata"
answer = re.search(r"```\n(answer: .*?)\.\.\.\n```", text, re.S)
if not answer:
    failures.append("it shows no answer")
elif not strata.exists():
    print("LEFT OUT: the answer of the README: the command strata was not built")
else:
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run([str(strata.resolve()), "report", str(root / "examples/report/gpt2-fused.strata"), "--formats", "table"], cwd=folder,
                              universal_newlines=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if " ".join(answer.group(1).split()) not in " ".join(told.stdout.split()):
        failures.append(f"its answer is not what strata report prints:\n{told.stdout[:2500]}")

# Scripts that it names take the options that it tells, and say before they install what they will install.
commands = re.findall(r"^    bash (\S+)", text, re.M)
if len(commands) < 2:
    failures.append("it does not name the demo and the tests")
for script in commands:
    source = (root / script).read_text(encoding="utf-8")
    if subprocess.run(["bash", "-n", str(root / script)]).returncode:
        failures.append(f"{script} is no script")
    for option in re.findall(r"`(--[\w-]+)`", text):
        if option == "--no-install" and option not in source:
            failures.append(f"{script} does not take {option}")
    helped = subprocess.run(["bash", str(root / script), "--help"], stdout=subprocess.PIPE, universal_newlines=True)
    if helped.returncode or "--no-install" not in helped.stdout:
        failures.append(f"{script} --help does not tell of --no-install")

# Root without cmake: they say what they install before they do it, and --no-install refuses.
TOOLS = "bash sh dirname nproc realpath sort sed grep cat mktemp rm mkdir ls find uname head python3 g++ make ninja meson pkg-config".split()
with tempfile.TemporaryDirectory() as folder:
    bin_folder, marker = pathlib.Path(folder, "bin"), pathlib.Path(folder, "installed")
    bin_folder.mkdir()
    for tool in filter(shutil.which, TOOLS):
        (bin_folder / tool).symlink_to(shutil.which(tool))
    for name, lines in (("id", "echo 0"), ("apt-get", f'echo "$@" >> {marker}')):
        (bin_folder / name).write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        (bin_folder / name).chmod(0o755)
    for script in commands:
        for options in ([], ["--no-install"]):
            marker.unlink(missing_ok=True)
            done = subprocess.run([shutil.which("bash"), str(root / script), *options], env={"PATH": str(bin_folder), "HOME": folder},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            said = "installed now, as root" in done.stdout and "cmake" in done.stdout
            if options and (marker.exists() or done.returncode == 0 or "cmake" not in done.stdout):
                failures.append(f"{script} --no-install installs, or does not say what is missing:\n{done.stdout}")
            if not options and not (marker.exists() and said):
                failures.append(f"{script} does not say that it installs cmake, or does not:\n{done.stdout}")

for failure in failures:
    print("FAILED: README.md:", failure)
sys.exit(1 if failures else 0)
