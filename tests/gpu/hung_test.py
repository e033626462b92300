"""Endings on a real device, and kernels that do not end: a program with Strata ends in the same way as without it, at
most two seconds later, with a report that names what hangs; and no step waits for another stream. The ways to end are
those of tests/endings.hpp. With the stand-ins: tests/fake/ending_test.cpp and hung_test.cpp."""

import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from _gpu import build, here, injected, nvcc, root

folder = pathlib.Path("hung").resolve()

NOT_HERE = 77
deadline_s = 25  # of one program
later_s = 2.0  # than without Strata
step_ms = 5.0  # what a step may be longer beside another stream's work
many_again = 12  # cases that fail are run once more, alone: so many at most

EVERY = "every=5,warmup=1,active=2"
SESSIONS = ["", EVERY, "counters=hbm", EVERY + ",keep=3", EVERY + ",attach=window", "watchdog=2", "sync=1"]
# State, way, and what is named where all is traced.
HUNG = [("hung", "return", ["calls? in stuck"]), ("hung", "wait SIGTERM", ["calls? in stuck", "is in all-reduce"]),
        ("hung", "wait SIGINT", ["calls? in stuck", "is in all-reduce"]),
        ("hung", "wait SIGHUP", ["calls? in stuck", "is in all-reduce"]), ("contexts", "return", ["2 calls in stuck"]),
        ("threads", "return", ["calls? in stuck", "is in (all-reduce|stuck)"]),
        ("hung-capture", "return", ["calls? in stuck"])]
BESIDE = ["held", "spin"]  # states with steps beside another stream's work
# What is under way at the end: state of the program, STRATA, and whether its files have no room.
UNDER_WAY = {"idle": ("idle", "", False), "busy": ("busy", "", False), "hung GPU": ("hung", "", False),
             "capture": ("capture", "", False), "counting step": ("step", "counters=hbm,warmup=2,active=1", False),
             "window's end": ("window", "every=4,active=2", False), "disk full": ("idle", "", True)}
# What says why nothing, or not all, was reported.
REASONS = re.compile(r"nothing is reported|nothing was recorded|no report|the program ended|no window|cannot write")
NAMED = re.compile(r"on the GPU: (\d+ calls? in \S+)|(thread \d+ is in \S+), for|in the way was (.*?):")
STEPS = re.compile(r"longest step ([0-9.]+) ms, then ([0-9.]+) ms\n")

TORCH = """
import sys
import torch
from torch.cuda import nvtx

x = torch.zeros(64, device="cuda")
for _ in range(3):
    with nvtx.range("good"):
        x.add_(1)
        torch.cuda.synchronize()
with nvtx.range("stuck"):
    torch.cuda._sleep(1 << 38)
if "wait" in sys.argv:
    print("waiting", flush=True)
    with nvtx.range("all-reduce"):
        torch.cuda.synchronize()
print("ending", flush=True)
"""

Ended = collections.namedtuple("Ended", "code seconds out err steps files json")


class Case:
    """One ending: a command, without Strata and with it. `says` is what Strata does, `names` what it has to name."""

    def __init__(self, title, command, options, says="report", names=(), send=None, full=False, inject=None):
        self.title, self.command, self.options = title, [str(part) for part in command], options
        self.says, self.names, self.send, self.full, self.inject = says, names, send, full, inject
        self.plain = self.ended = None

    def counts(self):
        return "counters=" in self.options

    def is_beside(self):
        return any(state in self.command for state in BESIDE)

    def has_schedule(self):
        return "every=" in self.options

    def key(self):
        return tuple(self.command), self.send, self.full

    def failures(self):
        plain, ended, wrong = self.plain, self.ended, []
        if plain.code == "no end":
            return ["the program does not end without Strata either"]
        if ended.code != plain.code:
            wrong.append(f"exit {ended.code}, not {plain.code}")
        if ended.out != plain.out:
            wrong.append(f"printed {ended.out!r}, not {plain.out!r}")
        if ended.seconds > plain.seconds + later_s:
            wrong.append(f"{ended.seconds:.2f} s, without Strata {plain.seconds:.2f} s")
        if ended.steps and plain.steps and ended.steps[0] > plain.steps[0] + step_ms:
            wrong.append(f"steps of {ended.steps} ms, without Strata {plain.steps} ms")
        return wrong + self.wrong_words()

    def wrong_words(self):
        ended, wrong = self.ended, []
        wrote = ended.err.count("strata: wrote ")
        may_lack = (self.full or self.has_schedule()) and REASONS.search(ended.err)
        if self.says == "report" and not ended.json and not may_lack:
            wrong.append("no report, and no reason")
        if self.says == "sentence" and ended.err.count("aborted: nothing was reported") != 1:
            wrong.append("no sentence that it aborted")
        if self.says != "report" and (wrote or ended.files):
            wrong.append("a report where none can be")
        if self.says == "report" and not self.has_schedule() and not self.full and wrote != 1:
            wrong.append(f"{wrote} reports")
        for name in self.names if not self.has_schedule() else ():
            if not re.search(name, " ".join(ended.err.split())):  # the console folds its lines
                wrong.append(f"not said: {name}")
        return wrong

    def row(self):
        plain, ended = self.plain, self.ended
        steps = " ".join(f"{ms:.1f}" for ms in ended.steps) + (f" ({plain.steps[0]:.1f})" if plain.steps else "")
        named = NAMED.findall(ended.err)
        return [self.title, self.options or "trace", str(ended.code), f"{ended.seconds:.2f}", f"{plain.seconds:.2f}",
                steps, "; ".join(dict.fromkeys("".join(parts) for parts in named))]


def environment_of(case, out):
    made = {k: v for k, v in os.environ.items() if not k.startswith("STRATA") and "_INJECTION64_PATH" not in k}
    made["TMPDIR"] = str(out.parent)
    if out.name == "plain":
        return made
    parts = ["trace", case.options, "formats=csv+json+html+table", f"out={out}"]
    made["STRATA"] = ",".join(part for part in parts if part)
    if case.inject:
        made["CUDA_INJECTION64_PATH"] = str(case.inject)
    return made


def run(case, out):
    """One process. Seconds are from the line with which its end begins, or from the signal that it is sent."""
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir(parents=True)
    # EFBIG is what a file without room gets here: a disk of that size can be made by root only.
    limit = ["sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"] if case.full else []
    begin = time.monotonic()
    process = subprocess.Popen(limit + case.command, env=environment_of(case, out), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    printed, overdue = b"", threading.Timer(deadline_s, process.kill)
    overdue.start()
    while line := process.stdout.readline():  # unbuffered: what follows is left for communicate()
        printed += line
        if line == (b"waiting\n" if case.send else b"ending\n"):
            break
    if case.send and line:
        time.sleep(3.0 if "watchdog=" in case.options else 1.0)
        process.send_signal(case.send)
    begin = time.monotonic() if line else begin
    rest, said = (text.decode(errors="replace") for text in process.communicate())
    seconds = time.monotonic() - begin
    code = process.returncode if overdue.is_alive() else "no end"
    overdue.cancel()
    printed = printed.decode(errors="replace") + rest
    steps = [float(ms) for found in STEPS.findall(printed) for ms in found]
    files = [path for path in out.parent.rglob("*") if path.is_file()]
    text = "".join(path.read_text(errors="replace") for path in files if path.name == "profile.json")
    shutil.rmtree(out.parent, ignore_errors=True)
    return Ended(code, seconds, STEPS.sub("", printed), said, steps, len(files), text)


class Runs:
    """Runs cases side by side, each command without Strata once."""

    def __init__(self):
        self.plain, self.lock, self.number = {}, threading.Lock(), 0

    def place(self, name):
        with self.lock:
            self.number += 1
            return folder / f"{self.number}" / name

    def run_plain(self, case):
        with self.lock:
            first = case.key() not in self.plain
            if first:
                self.plain[case.key()] = concurrent.futures.Future()
            known = self.plain[case.key()]
        if first:
            try:
                known.set_result(run(case, self.place("plain")))
            except BaseException as failure:
                known.set_exception(failure)
        return known.result()

    def run_case(self, case):
        case.plain = self.run_plain(case)
        case.ended = run(case, self.place("out"))
        return case

    def run_again(self, case):
        self.plain.pop(case.key(), None)
        return self.run_case(case)

    def run_all(self, cases):
        """Steps are timed alone on the device; of those that count, one process is at a time."""
        for case in cases:
            if case.is_beside():
                self.run_case(case)
        others = [case for case in cases if not case.is_beside()]
        with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as many, \
                concurrent.futures.ThreadPoolExecutor(1) as one:
            for job in [(one if case.counts() else many).submit(self.run_case, case) for case in others]:
                job.result()


def hung_cases(program):
    for state, way, names in HUNG:
        word, _, name = way.partition(" ")
        for options in SESSIONS:
            more = [r"nothing has gone on for 2 s \(watchdog=\)"] if "watchdog" in options and name else []
            yield Case(f"{state}, {way}", [program, state, word], options, names=names + more,
                       send=getattr(signal, name) if name else None)
    for state in BESIDE:
        for options in SESSIONS:
            blocked = state == "held" and "counters=" in options
            names = ["no pass was counted; in the way was a stream whose last traced launch was in stuck, [0-9.]+ s"]
            yield Case(f"{state}, return", [program, state, "return"], options, names=names if blocked else [])


def ending_cases(program, ways):
    for what, (state, options, full) in UNDER_WAY.items():
        for way, says in ways:
            names = ["calls? in stuck"] if state == "hung" and says == "report" else []
            yield Case(f"{what}: {way}", [program, state, way], options, says, names, full=full)


def injected_cases():
    script = [sys.executable, str(folder / "stuck.py")]
    yield Case("PyTorch, return", script, "nvtx=in", names=["calls? in stuck"], inject=injected)
    yield Case("PyTorch, wait SIGTERM", script + ["wait"], "nvtx=in", names=["calls? in stuck", "is in all-reduce"],
               send=signal.SIGTERM, inject=injected)


def build_program():
    program = folder / "hung_program"
    subprocess.run([nvcc, "-std=c++17", "-O1", "-arch=native", "-DSTRATA_IMPLEMENTATION", f"-I{root}/include",
                    f"-I{root}/src", f"-I{build}/page", root / "src/all.cpp",
                    f"-I{here.parent}", here / "program/hung_program.cu", "-o", program, "-ldl"], check=True)
    return program


def has_torch():
    code = "import torch; assert torch.cuda.is_available()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def print_table(rows):
    rows = [["what, way", "STRATA=trace,...", "exit", "s", "plain s", "longest steps, ms (plain)", "named"]] + rows
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def skip(why):
    print("SKIPPED:", why)
    return NOT_HERE


def check_all(cases, began):
    runs = Runs()
    runs.run_all(cases)
    wrong = [case for case in cases if case.failures()]
    print_table([case.row() for case in cases])
    for case in wrong[:many_again]:
        print(f"again, alone: {case.title}, {case.options or 'trace'}: {'; '.join(case.failures())}")
        runs.run_again(case)
        print("   ", "  ".join(case.row()))
    failed = [case for case in wrong if case.failures()]
    for case in failed:
        print(f"FAILED: {case.title}, STRATA=trace,{case.options}: {'; '.join(case.failures())}")
        print(case.ended.err[-1500:])
    print(f"{len(cases)} endings, {len(failed)} failed, {len(wrong)} at first; {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def main():
    if not pathlib.Path(nvcc).exists():
        return skip("no nvcc here")
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "stuck.py").write_text(TORCH)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with_torch = pool.submit(has_torch)
        program = build_program()
        if subprocess.run([program, "idle", "return"], capture_output=True).returncode == NOT_HERE:
            return skip("no CUDA device that runs the program")
        ways = [line.split() for line in subprocess.check_output([program, "ways"], text=True).splitlines()]
        cases = [*hung_cases(program), *ending_cases(program, ways)]
        if with_torch.result():
            cases += injected_cases()
        else:
            print("LEFT OUT: PyTorch: no PyTorch that uses a GPU here")
    return check_all(cases, began)


if __name__ == "__main__":
    sys.exit(main())
