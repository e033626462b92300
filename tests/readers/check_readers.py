#!/usr/bin/env python3
"""Opens the traces of the shipped recordings with the programs that other people read traces with, and compares what they
say with what Strata says. They are in build/readers, at the versions of requirements.txt (tests/run.sh puts them there).

Exit status: 0; 1 with what is wrong; 77 where no reader is installed.
"""
import contextlib
import csv
import io
import json
import logging
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else HolisticTraceAnalysis rounds each event to whole microseconds
here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
for folder in (os.environ.get("STRATA_TEST_READERS"), root / "build" / "readers"):
    if folder and pathlib.Path(folder).is_dir():
        sys.path.insert(0, str(folder))
        break
warnings.filterwarnings("ignore")
try:
    import analyzer as gpu_idle
    import duckdb
    import viztracer
    from hta.trace_analysis import TraceAnalysis
    from torch_tb_profiler.profiler.data import RunProfileData
except ImportError as error:
    print(f"SKIPPED: the readers are not here ({error}): python3 -m pip install --target build/readers "
          "-r tests/readers/requirements.txt")
    sys.exit(77)
logging.disable(logging.CRITICAL)
node = shutil.which("node") or shutil.which("nodejs")
if not node:
    print("SKIPPED: there is no node: apt-get install nodejs")
    sys.exit(77)

strata = pathlib.Path(os.environ.get("STRATA_TEST_BUILD_DIR", root / "build/tests")).resolve() / "tools/strata"
engine = next((pathlib.Path(viztracer.__file__).parent / "web_dist").glob("v*"))
LIMIT = 0.005
WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
failed = []
compared = 0


def same(what, found, wanted, limit=LIMIT):
    global compared
    compared += 1
    if not abs(found - wanted) <= limit * abs(wanted):
        failed.append(f"{what}: {found}, not {wanted}")


def run(*arguments, environment=None):
    done = subprocess.run([str(a) for a in arguments], env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        failed.append(f"{arguments[:3]}: exit code {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def covered(spans):
    """How long any of them lasts, and the time from the first to the last."""
    total, last = 0.0, float("-inf")
    spans = sorted(spans)
    for begin, end in spans:
        total += max(0.0, end - max(begin, last))
        last = max(last, end)
    return total, last - spans[0][0]


def quietly(function, *arguments, **named):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return function(*arguments, **named)


def check_hta(name, files, wanted):
    """Idle, compute and other time of the GPU; time by kind of kernel; kernels and the ranges around them."""
    analysis = quietly(TraceAnalysis, trace_files=files, trace_dir=str(pathlib.Path(files[0]).parent),
                       include_last_profiler_step=True)
    rows = quietly(analysis.get_temporal_breakdown, visualize=False).to_dict("records")
    for rank, row in enumerate(rows):
        busy = row["compute_time(us)"] + row["non_compute_time(us)"]
        same(f"{name}: HTA, busy us of rank {rank}", busy, wanted["busy_us"])
        same(f"{name}: HTA, idle us of rank {rank}", row["idle_time(us)"], wanted["span_us"] - wanted["busy_us"])
        same(f"{name}: HTA, compute us of rank {rank}", row["compute_time(us)"], wanted["kernels_us"])
    same(f"{name}: HTA and Strata, busy us", rows[0]["compute_time(us)"] + rows[0]["non_compute_time(us)"], wanted["strata_busy_us"])
    launches = quietly(analysis.get_cuda_kernel_launch_stats, visualize=False)
    same(f"{name}: HTA, work with its launch", len(launches[0]), wanted["launched"])
    ranges = quietly(analysis.get_gpu_user_annotation_breakdown, visualize=False)
    same(f"{name}: HTA, ranges on the GPU", 0 if ranges is None else len(set(ranges["name"])), wanted["gpu_ranges"])


def check_critical_path(name, path, events):
    """The longest path through a step that the GPU bounds is the work of that step, but for what runs beside the host."""
    analysis = quietly(TraceAnalysis, trace_files={0: str(path)}, trace_dir=str(pathlib.Path(path).parent), include_last_profiler_step=True)
    graph, found = quietly(analysis.critical_path_analysis, rank=0, annotation="ProfilerStep", instance_id=1)
    if not found:
        return failed.append(f"{name}: HTA finds no critical path")
    step = sorted((e for e in events if e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])[1]
    end = step["ts"] + step["dur"]
    launched = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime" and step["ts"] <= e["ts"] < end}
    kernels = sum(e["dur"] for e in events if e.get("cat") in WORK and e["args"]["correlation"] in launched)
    parts = graph.get_critical_path_breakdown()
    on_path = parts[(parts["type"] == "critical_path_operator") & (parts["bound_by"] == "gpu_compute_bound")]["duration"].sum()
    if not 0.95 * kernels <= on_path <= kernels * (1 + LIMIT):  # the first of them run beside the host, which is longer
        failed.append(f"{name}: HTA has {on_path} us of work on the critical path, of {kernels}")
    return None


def check_overlap(folder):
    """Communication beside computation: a trace with one of each, half over the other, as Strata writes them."""
    def kernel(name, number, begin, stream):
        where = {"device": 0, "context": 1, "stream": stream, "correlation": number}
        return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1000, "tid": 1, "ts": number * 1.5, "dur": 1.0,
                 "args": {"correlation": number}},
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": begin, "dur": 100.25, "args": where}]
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1000, "tid": 1, "ts": 300.5 * i, "dur": 300.5,
               "args": {"step": i}} for i in range(2)]
    events += kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1, 20.5, 8) + kernel("gemm", 2, 70.625, 7)
    path = pathlib.Path(folder, "overlap.json")
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}))
    analysis = quietly(TraceAnalysis, trace_files={0: str(path)}, trace_dir=folder, include_last_profiler_step=True)
    same("HTA, overlap %", quietly(analysis.get_comm_comp_overlap, visualize=False)["comp_comm_overlap_pctg"][0], 50.0)


def check_tensorboard(name, path, folder, wanted):
    """Steps, the GPU's use in them, and time by category."""
    log = pathlib.Path(folder, "rank0.pt.trace.json.gz")
    shutil.copy(path, log)
    run_data = quietly(RunProfileData.parse, "rank0", None, str(log), folder)
    if run_data.steps_names != [str(step) for step in wanted["steps"]]:
        failed.append(f"{name}: TensorBoard's steps {run_data.steps_names}, not {wanted['steps']}")
    if run_data.used_devices != sorted(wanted["use"]):
        failed.append(f"{name}: TensorBoard's devices {run_data.used_devices}, not {sorted(wanted['use'])}")
    for device, use in wanted["use"].items():
        same(f"{name}: TensorBoard, use of GPU {device}", run_data.gpu_metrics_parser.gpu_utilization[device], use)
    costs = [step.costs[-1] for step in run_data.steps_costs]
    costs = costs[1:] if wanted["without_first"] else costs
    same(f"{name}: TensorBoard, us a step", sum(costs) / len(costs), wanted["step_us"])


def check_gpu_idle(name, path, wanted):
    found = gpu_idle.measure(path)
    same(f"{name}: gpu-idle, steps", found["steps"], len(wanted["steps"]))
    same(f"{name}: gpu-idle, busy %", found["busy_pct"], wanted["kernels_in_steps_percent"])


QUERIES = ["select count(*) from slice", "select count(*) from flow", "select count(*) from counter",
           "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
           "select count(*) from slice where dur < 0 or name is null",
           "select count(distinct upid) from process where name like 'GPU %'"]


def check_perfetto(name, path, events):
    """Every slice, arrow and value of a counter, and no error of the import."""
    answers = [json.loads(line) for line in run(node, here / "trace_processor.js", engine, path, *QUERIES).splitlines()]
    if len(answers) != len(QUERIES):
        return failed.append(f"{name}: Perfetto gives no answer")
    slices, arrows, counters, errors, broken, devices = answers
    same(f"{name}: Perfetto, slices", slices[0][0], sum(e["ph"] in "Xib" for e in events), 0)
    same(f"{name}: Perfetto, arrows", arrows[0][0], sum("flow_in" in e or e["ph"] == "f" for e in events), 0)
    same(f"{name}: Perfetto, values of counters", counters[0][0], sum(e["ph"] == "C" for e in events), 0)
    same(f"{name}: Perfetto, broken slices", broken[0][0], 0, 0)
    same(f"{name}: Perfetto, GPUs", devices[0][0], len({e["args"]["device"] for e in events if e.get("cat") in WORK}), 0)
    if errors:
        failed.append(f"{name}: Perfetto's import has errors: {errors}")
    return None


def check_nsys_ai(name, recording, events, wanted, folder):
    """Nsight Systems' tables: kernels by step and by range, busy and idle time."""
    path = pathlib.Path(folder, f"{name}.sqlite")
    run(strata, "trace", recording, "--out", path)

    def skill(which, *words):
        command = [sys.executable, "-m", "nsys_ai", "skill", "run", which, str(path), "--format", "json", *words]
        return json.loads(run(*command, environment={"PYTHONPATH": os.pathsep.join(sys.path)}))
    kernels = [e for e in events if e.get("cat") == "kernel"]
    devices = {e["args"]["device"] for e in kernels}
    if len(devices) == 1:  # it looks at one device
        found = skill("overlap_breakdown")[0]
        same(f"{name}: nsys-ai, kernels", found["compute_kernels"], len(kernels), 0)
        same(f"{name}: nsys-ai, compute ms", found["compute_only_ms"], wanted["kernels_us"] / 1e3)
    if name.startswith("gpt2"):  # it looks for steps in the thread that launches most, which is not always theirs
        steps = skill("iteration_timing", "-p", "marker=step")
        same(f"{name}: nsys-ai, steps", len([s for s in steps if not s["heuristic"]]), len(wanted["steps"]), 0)
    in_ranges = {row["start_ms"] for row in skill("nvtx_kernel_map")}
    if not in_ranges:
        failed.append(f"{name}: nsys-ai finds no kernel in a range")


def told(path, events, recording):
    """What the readers have to find: of the rows by arithmetic of our own, and of Strata's own answer."""
    work = [e for e in events if e.get("cat") in WORK]
    steps = sorted((e for e in events if e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"])
    begin, end = steps[0]["ts"], max(e["ts"] + e["dur"] for e in steps)

    def clipped(rows):
        return [(max(e["ts"], begin), min(e["ts"] + e["dur"], end)) for e in rows if e["ts"] < end and e["ts"] + e["dur"] > begin]
    kernels = [e for e in work if e["cat"] == "kernel"]
    within = [e for e in kernels if begin <= e["ts"] <= end]
    busy, span = covered([(e["ts"], e["ts"] + e["dur"]) for e in work])
    calls = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime"
             and e["name"] in ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync")}
    answer = json.loads(run(strata, "explain", recording, "--format", "json"))
    report = pathlib.Path(path).parent / "report"
    run(strata, "report", recording, "--formats", "json", "--out", report)
    profile = json.loads((report / "profile.json").read_text(encoding="utf-8"))
    shutil.rmtree(report)
    return {
        "busy_us": busy, "span_us": span,
        "kernels_us": covered([(e["ts"], e["ts"] + e["dur"]) for e in kernels])[0],
        "strata_busy_us": profile["ranges"][0]["gpu_busy_ns"] / 1e3,
        "launched": sum(e["args"]["correlation"] in calls for e in work),
        "gpu_ranges": len({e["name"] for e in events if e.get("cat") == "gpu_user_annotation"}),
        "steps": [e["args"]["step"] for e in steps], "step_us": answer["step_ns"] / 1e3, "without_first": "left out" in answer["step"],
        "use": {device: covered(clipped([e for e in kernels if e["args"]["device"] == device]))[0] / (end - begin)
                for device in {e["args"]["device"] for e in kernels}},
        "kernels_in_steps_percent": 100 * covered([(e["ts"], e["ts"] + e["dur"]) for e in within])[0] / (end - begin),
    }


def check_duckdb(folder):
    """The commands of docs/how-to/several-ranks.md over the CSV files of four ranks."""
    text = (root / "docs/how-to/several-ranks.md").read_text(encoding="utf-8")
    commands = [re.sub(r"\s+", " ", command) for command in re.findall(r'duckdb -c "([^"]*)"', text)]
    sums = {}
    for rank, name in enumerate(("gpt2-eager", "gpt2-fused", "llama-decode", "gpt2-eager")):
        run(strata, "report", root / f"examples/report/{name}.strata", "--formats", "csv", "--out", pathlib.Path(folder, f"run/rank{rank}"))
        file = pathlib.Path(folder, f"run/rank{rank}/ranges.csv")
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        for row in rows:
            row["rank"] = rank
            sums.setdefault(row["path"], []).append(int(row["gpu_busy_ns"] or 0))
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    here = os.getcwd()
    os.chdir(folder)
    try:
        duckdb.sql(commands[0])
        same("DuckDB, rows of all ranks", duckdb.sql("select count(*) from 'ranges.parquet'").fetchall()[0][0],
             sum(map(len, sums.values())), 0)
        for path, rank, more in duckdb.sql(commands[1]).fetchall():
            busy = sums[path or ""]
            same(f"DuckDB, {path}: more than the median", more, max(busy) - statistics.median(busy), 0)
    finally:
        os.chdir(here)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for recording in sorted((root / "examples/report").glob("*.strata")):
            name = recording.stem
            packed, plain = pathlib.Path(folder, f"{name}.json.gz"), pathlib.Path(folder, f"{name}.json")
            for path in (packed, plain):
                run(strata, "trace", recording, "--out", path)
            events = json.loads(plain.read_text(encoding="utf-8"))["traceEvents"]
            wanted = told(packed, events, recording)
            check_hta(name, {0: str(packed)}, wanted)
            if name == "gpt2-fused":
                check_critical_path(name, packed, events)
            check_tensorboard(name, packed, folder, wanted)
            check_gpu_idle(name, plain, wanted)
            if name in ("gpt2-fused", "llama-decode"):  # each question takes it 15 s where DuckDB finds no network
                check_nsys_ai(name, recording, events, wanted, folder)
            check_perfetto(name, packed, events)
        check_overlap(folder)
        check_duckdb(folder)
    print("\n".join(failed) or f"{compared} numbers of the readers are those of Strata")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
