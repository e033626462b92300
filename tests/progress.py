"""For run.sh: says what is ahead, and how far a build or ctest is. Its whole output goes to a file.

    progress.py plan JOBS NAME...                 what build/NAME has to do, and about how long that takes here
    progress.py run WHAT NAME JOBS LOG COMMAND... WHAT: building or testing; ends as the command does
"""
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
TIMES = BUILD / "logs" / "times.json"  # of the last run: seconds of a core a file, seconds of the tests
EVERY_S = 1 if sys.stdout.isatty() else 15
# Where nothing was measured yet: the same on a machine with two cores, and what the probe takes there.
PROBE_S = 0.55
PROBE = "".join(f"#include <{name}>\n" for name in "algorithm functional map memory string vector".split())
FILE_S = {"quick": 1.2, "tests": 5.0, "asan": 8.0, "tsan": 8.0}
TEST_S = {"unit": 1.5, "fake": 3.5, "package": 20, "toolchains": 70, "readers": 60, "host": 5, "gpu": 15, "fuzz": 8}


def known():
    try:
        return json.loads(TIMES.read_text())
    except (OSError, ValueError):
        return {}


def note(name, **what):
    times = known()
    times.setdefault(name, {}).update(what)
    TIMES.parent.mkdir(parents=True, exist_ok=True)
    TIMES.write_text(json.dumps(times, indent=1) + "\n")


def output(*command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True).stdout


def duration(seconds):
    """With its seconds, so that a line that is renewed shows that it continues."""
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


def estimate(seconds):
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def probe():
    """Seconds that a small unit takes to compile here; the better of two."""
    folder = BUILD / "logs"
    (folder / "probe.cpp").write_text(PROBE)
    took = []
    for _ in range(2):
        begin = time.monotonic()
        output("g++", "-std=c++17", "-O1", "-c", folder / "probe.cpp", "-o", folder / "probe.o")
        took.append(time.monotonic() - begin)
    return min(took)


def files_to_compile(folder):
    manifest = folder / "build.ninja"
    if manifest.exists():  # under its own name a dry run stops where it would configure again
        copy = folder / "plan.ninja"
        shutil.copy(manifest, copy)
        text = output("ninja", "-C", folder, "-f", copy.name, "-n")
        copy.unlink()
        return len(re.findall(r"\bBuilding \w+ object\b", text))
    rules = sum(path.read_text().count("\"Building ") for path in folder.rglob("build.make"))
    return max(0, rules - len(list(folder.rglob("*.o"))))


def plan(jobs, *names):
    times, guessed, total = known(), [], 0.0
    scale = None
    for name in names:
        folder = BUILD / name
        files = files_to_compile(folder)
        tests = json.loads(output("ctest", "--test-dir", folder, "--show-only=json-v1") or "{}").get("tests", [])
        last = times.get(name, {})
        if "file_s" not in last or last.get("tests") != len(tests):
            scale = scale or probe() / PROBE_S
            guessed.append(name)
        build_s = files * last.get("file_s", scale and FILE_S.get(name, 5.0) * scale) / jobs
        if last.get("tests") == len(tests):
            test_s = last["test_s"]
        else:
            labels = [label for t in tests for p in t.get("properties", []) if p["name"] == "LABELS" for label in p["value"]]
            test_s = sum(TEST_S.get(label, 1) for label in labels) * scale / jobs
        total += build_s + test_s
        print(f"{name}: {files} files to compile, {len(tests)} tests; about {estimate(build_s + test_s)}")
    how = "from the last run" if not guessed else f"from a compile here, which took {scale:.1f} times as long as on a usual core"
    print(f"about {estimate(total)} in all on {jobs} core{'s' * (jobs > 1)}: an estimate {how}", flush=True)


class Progress:
    """Reads the lines of ninja, make or ctest."""

    def __init__(self, what, name):
        self.what, self.name = what, name
        self.done = self.total = self.failed = 0
        self.percent = ""
        self.running = {}
        self.show = False  # the output of a test that failed
        self.begin = self.told = time.monotonic()

    def line(self, text):
        step = re.match(r"\[(\d+)/(\d+)\]", text)
        percent = re.match(r"\[ *(\d+)%\]", text)
        start = re.match(r" *Start +(\d+): (\S+)", text)
        test = re.match(r" *(\d+)/(\d+) Test +#(\d+): (\S+) \.*(\*{3})?\s*(.*)", text)
        if self.what == "building":
            if step and int(step[2]) < 3:  # only whether to configure again
                pass
            elif step:
                self.done, self.total = int(step[1]), int(step[2])
            elif percent:
                self.percent = f"{percent[1]} %"
                self.done += " Building " in text
        elif start:
            self.running[start[1]] = start[2]
            self.show = False
        elif test:
            self.done, self.total = int(test[1]), int(test[2])
            self.running.pop(test[3], None)
            self.show = bool(test[5]) and not test[6].startswith("Skipped")
            self.failed += self.show
        elif "tests passed," in text:  # the account at the end says the rest
            self.show = False
        elif "No tests were found" in text:
            self.show = True
        if self.show:
            self.say(text)

    def say(self, text):
        print(("\r\033[K" if sys.stdout.isatty() else "") + text, flush=True)

    def far(self):
        unit = "steps" if self.what == "building" else "tests"
        count = f"{self.done} of {self.total} {unit}" if self.total else self.percent or "beginning"
        return f"{self.what} {self.name}: {count} ({duration(time.monotonic() - self.begin)})"

    def tell(self):
        if time.monotonic() - self.told < EVERY_S:
            return
        self.told = time.monotonic()
        names = list(self.running.values())
        text = self.far() + (", now " + ", ".join(names[:3]) + ", ..." * (len(names) > 3) if names else "")
        if sys.stdout.isatty():
            text = text[:shutil.get_terminal_size().columns - 1]
            print("\r\033[K" + text, end="", flush=True)
        else:
            print(text, flush=True)


def run(what, name, jobs, log, *command):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    progress = Progress(what, name)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
                               env={**os.environ, "NINJA_STATUS": "[%f/%t] "})
    rest = b""
    with open(log, "wb") as file, selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while True:
            if ready.select(timeout=1):
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    break
                file.write(piece)
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    progress.line(line.decode(errors="replace"))
            progress.tell()
    code = process.wait()
    took = time.monotonic() - progress.begin
    progress.say(progress.far() + (f", {progress.failed} failed" if progress.failed else ""))
    if code == 0 and what == "building" and progress.done > 20:
        note(name, file_s=took * jobs / progress.done)
    elif what == "testing" and progress.done:
        note(name, tests=progress.total, test_s=took)
    return code


if __name__ == "__main__":
    if sys.argv[1] == "plan":
        sys.exit(plan(int(sys.argv[2]), *sys.argv[3:]))
    code = run(sys.argv[2], sys.argv[3], int(sys.argv[4]), *sys.argv[5:])
    sys.exit(code if code >= 0 else 128 - code)
