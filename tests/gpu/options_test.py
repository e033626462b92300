"""Each two keys of STRATA= together, on the GPT-2 example and on a program with graphs: the exit code and the output are
those without Strata, and there is a report, or a sentence that says why there is none."""

import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

from _gpu import build, here, nvcc

folder = pathlib.Path("options").resolve()
deadline_s = 60

KEYS = {
    "every": ["every=4,active=2", "every=3,warmup=1,active=1"],
    "attach": ["attach=window"],
    "trigger": ["trigger=FOLDER/now,active=1"],
    "keep": ["keep=2"],
    "counters": ["counters=hbm"],
    "skip": ["skip=2"],
    "repeat": ["repeat=2", "repeat=0"],
    "only": ["only=block", "only=nothing-has-this-name"],
    "nvtx": ["nvtx=in", "nvtx=in+out"],
    "sync": ["sync"],
    "trace": ["trace=kernels", "trace=copies+memory", "trace=managed"],
    "formats": ["formats=csv+json", "formats=trace.json", "formats=trace+html+recording", "formats=none"],
    "kernels": ["kernels=add"],
    "active": ["active=3"],
    "host": ["host"],
    "small": ["log=1,buffers=16"],
}
# What says why nothing was reported.
REASONS = re.compile(r"nothing is reported|nothing was recorded|no report|the program ended")


def pairs():
    values = [(key, value) for key, of_key in KEYS.items() for value in of_key]
    return [f"{a},{b}" for (key, a), (other, b) in itertools.combinations(values, 2) if key != other]


def programs():
    graphs = folder / "graph_program"
    subprocess.run([nvcc, "-std=c++17", "-O1", "-arch=native", "-DSTRATA_IMPLEMENTATION", f"-I{here.parent.parent}/include",
                    f"-I{here.parent.parent}/src", f"-I{build.resolve()}/page", here.parent.parent / "src/all.cpp",
                    here / "program/graph_program.cu", "-o", graphs, "-ldl"], check=True)
    gpt2 = build / "examples/gpt2/gpt2"
    shape = ["--impl", "fused", "--B", "1", "--T", "16", "--layers", "2", "--steps", "12", "--warmup", "1"]
    return {"gpt2": [gpt2.resolve(), *shape], "graphs": [graphs, "40"]}


def without_times(text):
    return re.sub(r"[0-9.]+ (ms a step|tokens/s|ms|s)\b", "TIME", text)


def run(command, name, options):
    """The exit code, the output but for times, and what Strata said; of a program whose trigger is touched all the time."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    if options:
        environment["STRATA"] = f"trace,out={own}/out," + options.replace("FOLDER", str(own))
    with open(own / "out.txt", "w") as out, open(own / "err.txt", "w") as err:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
        touching = threading.Event()

        def touch():
            while not touching.wait(0.05):
                (own / "now").touch()

        if "trigger=" in (options or ""):
            threading.Thread(target=touch).start()
        try:
            code = process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "no end"
        touching.set()
    return code, without_times((own / "out.txt").read_text()), (own / "err.txt").read_text()


def failure(command, kind, options, expected):
    name = f"{kind}-{re.sub('[^a-z0-9]+', '-', options)}"
    code, text, said = run(command, name, options)
    written = [path for path in (folder / name).rglob("*") if path.is_file() and path.name not in ("out.txt", "err.txt", "now")]
    reported = bool(written) or "range " in said or "answer: " in said or bool(REASONS.search(said))
    wrong = []
    if code != expected[0]:
        wrong.append(f"exit code {code}, not {expected[0]}")
    if text != expected[1]:
        wrong.append(f"another output: {text!r}")
    if not reported and "formats=none" not in options:
        wrong.append("no report, and no reason")
    shutil.rmtree(folder / name, ignore_errors=True)
    return f"{kind}, STRATA={options}: {'; '.join(wrong)}\n{said[-1500:]}" if wrong else None


def main():
    gpt2 = build / "examples/gpt2/gpt2"
    known = subprocess.run([gpt2, "--list"], capture_output=True, text=True).stdout if gpt2.exists() else ""
    if shutil.which(str(nvcc)) is None or "fused" not in known:
        print("SKIPPED: no nvcc, or the GPT-2 example has no GPU implementation here")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    failures, done, jobs = 0, 0, []
    many = concurrent.futures.ThreadPoolExecutor(min(12, os.cpu_count() or 1))
    one = concurrent.futures.ThreadPoolExecutor(1)  # counters are one process's at a time
    for kind, command in programs().items():
        expected = run(command, kind, None)
        for options in pairs():
            jobs.append((one if "counters=" in options else many).submit(failure, command, kind, options, expected))
    for job in concurrent.futures.as_completed(jobs):
        done += 1
        failures += job.result() is not None
        if job.result():
            print(job.result(), flush=True)
        elif done % 50 == 0:
            print(f"{done} of {len(jobs)}", flush=True)
    print(f"{done} runs, {failures} failed")
    return 1 if failures else 0


sys.exit(main())
