"""The sources are as clang-format writes them. Versions differ in what they write, so one is pinned."""
import re
import shutil

from common import ROOT, Checks, run, skip

MAJOR = 14
AT_ONCE = 64  # files: each start of clang-format takes as long as a file
SUFFIXES = (".hpp", ".h", ".cpp", ".cu", ".cuh", ".c")


def main():
    tool = shutil.which(f"clang-format-{MAJOR}") or shutil.which("clang-format")
    if not tool:
        skip(f"clang-format {MAJOR} is not installed")
    version = re.search(r"version (\d+)", run([tool, "--version"]).stdout)
    if not version or int(version.group(1)) != MAJOR:
        skip(f"clang-format {MAJOR} is not installed: {tool} is another version")
    listed = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT) if shutil.which("git") else None
    if listed and listed.returncode == 0 and listed.stdout:
        files = listed.stdout.split("\n")
    else:
        folders = ("include", "tests", "examples", "benchmarks", "tools")
        files = [p.relative_to(ROOT).as_posix() for d in folders for p in (ROOT / d).rglob("*")]
    files = sorted(f for f in files if f.endswith(SUFFIXES) and (ROOT / f).is_file())
    checks = Checks()
    for first in range(0, len(files), AT_ONCE):
        some = files[first:first + AT_ONCE]
        told = run([tool, "--dry-run", "-Werror", *some], cwd=ROOT)
        lines = {name: [line for line in told.stderr.splitlines() if line.startswith(name + ":")] for name in some}
        for name, mine in lines.items():
            checks.that(not mine, name, "\n".join(mine[:40]))
        checks.that(told.returncode == 0 or any(lines.values()), f"clang-format reads {some[0]} and the next", told.stderr)
    return checks.end()
