#!/usr/bin/env python3
"""Programs with one planted bottleneck each, and sound ones: does findings.json name it first, and does what it predicts hold?

    benchmarks/planted.py OUTDIR [CASE...]             on a machine with a GPU and nvcc; OUTDIR/planted.md is the table
    benchmarks/planted.py --pairs OUTDIR [CASE...]     OUTDIR/pairs.md

A planted case is right where the first finding has one of the expected rules, and names the expected range where one is
given; a sound one where no finding predicts a gain of more than 5 % of the step. In neither may a share be above 100 %, and a
training step has less than 1 % of the GPU's time outside ranges.
Exits with 1 where a case is wrong. PLANTED_BINARY is a program that is built already, PLANTED_INJECT a libstrata_inject.so.
The programs of PyTorch run where `python3` (or PLANTED_PYTHON) has one that sees a GPU, and are left out elsewhere.

--pairs runs each case and the same program without its fault in turns, five times each: `predicted_step_ns` of the first
finding beside the median step of the mended program, medians of the runs. Exits with 1 where fewer than ten are within 15 %, or
where one promises more: it is more than 15 % below.
"""

import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Case: the counters that it needs, the rules that are right, the last part of the range's path where that matters.
CASES = {
    "launch_storm": ("", ["launch-bound"]),
    "pageable_copy": ("", ["pageable-copy"]),
    "pinned_copy": ("", ["copy-in-step"]),
    "graph_rebuild": ("", ["graph-rebuild"]),
    "legacy_stream": ("", ["copy-in-step"]),
    "wait_in_step": ("", ["wait-in-step"]),
    "allocation": ("", ["allocation-in-step"]),
    "few_blocks": ("", ["few-blocks"]),
    "serialised_streams": ("", ["serialised-streams"]),
    "cpu_work": ("", ["host-work"]),
    "cpu_gap": ("", ["gap-between-ranges", "host-work"]),
    "strided": ("findings", ["uncoalesced"]),
    "fp32_gemm": ("findings", ["fp32-without-tensor"]),
    "spills": ("findings", ["register-spills"]),
    "bank_conflicts": ("findings", ["bank-conflicts"]),
    "atomics": ("findings", ["atomics"]),
    "pointer_chase": ("findings", ["latency-bound"]),
    "trimmed_pool": ("", ["allocation-in-step"]),
    "serialised_beside": ("", ["serialised-streams"]),
    "tail_wave": ("findings", ["tail-wave"]),
    "low_occupancy": ("findings", ["low-occupancy"]),
    "extra_traffic": ("findings", ["extra-traffic"]),
    "declared_work": ("findings", ["declared-work"]),
    "two_faults": ("", ["pageable-copy"]),
    "barrier_stalls": ("findings", ["latency-bound"]),
    "dependent_chain": ("findings", ["latency-bound"]),
    "instruction_misses": ("findings", ["latency-bound"]),
    "sleeping": ("findings+stalls", ["latency-bound"]),
    "hot_blocks": ("findings", ["sm-imbalance"]),
    "uneven_warps": ("findings", ["occupancy-gap"]),
    "hot_line": ("findings", ["memory-imbalance"]),
    "host_reads": ("findings", ["host-memory"]),
    "both_branches": ("findings", ["divergence"]),
    "unfused_chain": ("findings", ["unfused"]),
    "conversions_in_loop": ("findings", ["conversions"]),
    "index_arithmetic": ("findings", ["integer-work"]),
    "naive_gemm": ("findings", ["fp32-without-tensor"]),
    "half_gemm": ("findings", ["fp16-without-tensor"]),
    "double_gemm": ("findings", ["fp64-without-tensor"]),
    "small_tiles": ("findings", ["small-tiles"]),
    "sound_triad": ("findings", []),
    "sound_fma": ("findings", []),
    "sound_ahead": ("", []),
    "sound_layers": ("", []),
    "sound_graph": ("", []),
    "sound_overlap": ("", []),
    "item_in_layer": ("", ["wait-in-step", "pageable-copy"]),
    "dear_first_step": ("", ["first-step"]),
    "managed_thrash": ("", ["managed-memory"]),
    "tail_wave_shared": ("findings", ["tail-wave"]),
    "chain_in_one_block": ("findings", ["latency-bound"]),
    "fp64_by_accident": ("findings", ["fp64-by-accident"]),
    "uncoalesced_transpose": ("findings", ["uncoalesced"]),
    "conflicts_in_transpose": ("findings", ["bank-conflicts"]),
    "spilling_gemm": ("findings", ["register-spills"]),
    "gelu_by_eight": ("findings", ["kernel-fusion"], "gelu"),
    "rms_norm_residual": ("findings", ["kernel-fusion"], "norm"),
    "cross_entropy": ("findings", ["kernel-fusion"], "loss"),
    "dequantised_weights": ("findings", ["kernel-fusion"], "token"),
    "decode_norm_of_one_block": ("", ["few-blocks"], "token"),
    "sound_optimizer": ("findings", []),
    "sound_fused_kernels": ("findings", []),
    "gemm_fp32": ("findings", ["fp32-without-tensor"]),
    "recomputed_product": ("findings+tensor+flops", ["declared-work"]),
    "decode_storm": ("", ["launch-bound"]),
    "backward_thread": ("findings", ["uncoalesced"], "backward"),
    "sound_backward_thread": ("findings", []),
    "sound_gemm_bf16": ("findings", []),
    "sound_gemm_fp16": ("findings", []),
    "sound_gemm_tf32": ("findings", []),
    "sound_gemm_tf32_large": ("findings", []),
    "sound_gemm_fp64": ("findings", []),
    "sound_gemm_int8": ("findings", []),
    "sound_gemm_fp8": ("findings", []),
    "sound_mlp": ("findings", []),
    "sound_decode": ("findings", []),
    "sound_decode_graph": ("findings", []),
    "sound_norm": ("findings", []),
    "sound_softmax": ("findings", []),
}
# Programs of PyTorch. What eager training leaves to gain is not known: only where its time is found, and shares.
TORCH_CASES = {
    "sound_attention": ("findings", []),
    "sound_attention_others": ("findings", []),
    "sound_library": ("findings", []),
    "training_small": ("", ["launch-bound"]),
    "training_logged": ("", ["wait-in-step", "pageable-copy", "launch-bound"], "log"),
    "training_backward": ("findings", None),
    "training_attention": ("findings", None),
    "decode_graph": ("findings", None),
}
# The range that has to have so much of the step's busy GPU time.
SHARES = {"training_backward": ("backward", 0.4), "backward_thread": ("backward", 0.2), "sound_backward_thread": ("backward", 0.4)}
# Programs whose work is all in ranges, also what another thread launches: so little of the GPU's time may be in none.
ALL_IN_RANGES = {case for case in TORCH_CASES if case.startswith("training")} | {"backward_thread", "sound_backward_thread"}
OUTSIDE, MOST_OUTSIDE = "(outside ranges)", 0.01
MOST = 0.05
# These cost a mean step nothing, so any place in the list is right.
WITHOUT_COST = {"first-step"}
# Cases that `planted CASE STEPS mended` mends as the finding assumes: without the launches' cost, copies, waits or host work,
# or with kernels that do the same work in the way that the finding advises.
PAIRS = ["launch_storm", "pageable_copy", "pinned_copy", "wait_in_step", "allocation", "few_blocks", "serialised_streams",
         "cpu_work", "cpu_gap", "strided", "uncoalesced_transpose", "bank_conflicts", "conflicts_in_transpose", "fp64_by_accident", "barrier_stalls", "hot_blocks",
         "both_branches", "unfused_chain", "gelu_by_eight", "rms_norm_residual", "cross_entropy", "dequantised_weights"]
RUNS, WITHIN, LEAST = 5, 0.15, 10


def build(folder):
    binary = folder / "planted"
    nvcc = os.environ.get("CUDACXX", "/usr/local/cuda/bin/nvcc")
    sources = sorted((ROOT / "benchmarks/planted").glob("*.cu"))
    subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=native", "--threads", "0", f"-I{ROOT}/include", f"-I{ROOT}/src", "-o", binary,
                    *sources, ROOT / "include/strata/implementation.cpp", ROOT / "src/all.cpp", "-ldl", "-lcublas", "-lcublasLt"], check=True)
    return binary


def python_with_torch():
    """The interpreter for the programs of PyTorch, None where it has no GPU."""
    python = os.environ.get("PLANTED_PYTHON", "python3")
    try:
        found = subprocess.run([python, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True, timeout=120)
    except OSError:
        return None
    return python if found.returncode == 0 else None


def build_for_torch(folder):
    """The environment of the programs of PyTorch: the injected library, and the markers of steps and ranges."""
    library, markers, inject = folder / "libstrata_inject.so", folder / "libmarkers.so", ROOT / "tools/inject"
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-I{ROOT}/include", f"-I{toolkit}/include", "-o", markers,
                    ROOT / "benchmarks/corpus/markers.c", "-ldl"], check=True)
    if "PLANTED_INJECT" not in os.environ:
        subprocess.run(["g++", "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}/include",
                        f"-I{ROOT}/src", inject / "inject.cpp", ROOT / "src/all.cpp", f"-Wl,--version-script={inject / 'inject.map'}", "-static-libstdc++",
                        "-static-libgcc", "-o", library, "-ldl", "-pthread"], check=True)
    return {"CUDA_INJECTION64_PATH": os.environ.get("PLANTED_INJECT", str(library)), "CORPUS_MARKERS": str(markers)}


def run(command, folder, case, counters, mended=(), more=None):
    """findings.json of a run, with the shares of the busy GPU time by the last part of a path in `shares`."""
    out = folder / "-".join([case, *mended])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    environment.update(more or {})
    environment["STRATA"] = "trace,formats=table+json+csv," + (f"counters={counters}," if counters else "") + f"out={out}"
    environment["STRATA"] += ",nvtx=in,skip=2,active=10" if more else ""
    try:
        done = subprocess.run([*command, case, "40", *mended], env=environment, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    (folder / f"{out.name}.txt").write_text(done.stdout + done.stderr)
    written = sorted(folder.glob(f"{out.name}*/findings.json"), key=os.path.getmtime)
    if done.returncode != 0 or not written:
        return None
    made = json.loads(written[-1].read_text())
    made["shares"] = shares(written[-1].parent / "ranges.csv")
    return made


def shares(path):
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf8") as file:
        rows = list(csv.DictReader(file))
    busy = {row["path"]: float(row["gpu_busy_ns"] or 0) for row in rows}
    busy[OUTSIDE] = sum(float(row[key] or 0) for row in rows if not row["path"] for key in ("gpu_kernel_self_ns", "gpu_copy_self_ns"))
    return {name.split("/")[-1]: time / busy[""] for name, time in busy.items() if name and busy.get("")}


def gain(finding, step):
    """What the finding says that the step would gain, as a fraction."""
    if finding.get("predicted_step_ns") is None:
        return finding["cost_of_step"]
    whole = step["mean_ns"]
    return max(0.0, 1 - finding["predicted_step_ns"] / whole) if whole else 0.0


def names(finding, path):
    return any(one["path"].split("/")[-1] == path for one in finding["ranges"])


def impossible(made):
    """A share above 100 % in what is said."""
    texts = [made.get("bound") or "", *[finding["title"] for finding in made["findings"]],
             *[limit["limiter"] for limit in made.get("limits", [])]]
    return next((text for text in texts for share in re.findall(r"([0-9][0-9,.]*) %", text) if float(share.replace(",", "")) > 100.5), None)


def judge(made, case, expected, path=None):
    """Whether the case is right, and what was said first."""
    if made is None:
        return False, "no findings.json"
    if impossible(made):
        return False, "above 100 %: " + impossible(made)
    costly = [finding for finding in made["findings"] if finding["shortens_step"]]
    first = costly[0] if costly else None
    said = "nothing" if first is None else f"{first['rule']} ({100 * first['cost_of_step']:.1f} %) {first['path']}: {first['title']}"
    name, least = SHARES.get(case, (None, 0.0))
    if name and made["shares"].get(name, 0.0) < least:
        return False, f"{name} has {100 * made['shares'].get(name, 0.0):.0f} % of the GPU's time; {said}"
    if case in ALL_IN_RANGES:
        outside = made["shares"].get(OUTSIDE, 1.0)
        said = f"{100 * outside:.2f} % outside ranges; {said}"
        if outside >= MOST_OUTSIDE:
            return False, said
    if expected is None:
        return True, said
    if set(expected) & WITHOUT_COST:
        return any(finding["rule"] in expected for finding in made["findings"]), said
    if expected:
        return first is not None and first["rule"] in expected and (path is None or names(first, path)), said
    worst = max(costly, key=lambda finding: gain(finding, made["step"]), default=None)
    if worst is None or gain(worst, made["step"]) <= MOST:
        return True, said
    return False, f"{worst['rule']} ({100 * gain(worst, made['step']):.1f} % to gain) {worst['path']}: {worst['title']}"


def compare(binary, folder, case):
    """Medians in ns: the step of the slow program, what its first finding predicts, the step of the mended one."""
    counters, expected = CASES[case][:2]
    steps, predicted, mended = [], [], []
    for number in range(RUNS):
        turn = folder / str(number)
        turn.mkdir(exist_ok=True)
        slow = run([binary], turn, case, counters)
        fast = run([binary], turn, case, "", ("mended",))
        if slow is None or fast is None:
            return None, "a run failed"
        first = next((cause for cause in slow["findings"] if cause["cost_ns_per_step"] > 0), None)
        if first is None or first["rule"] not in expected or first["predicted_step_ns"] is None:
            return None, f"run {number} names {first and first['rule']} first"
        steps.append(slow["step"]["p50_ns"])
        predicted.append(first["predicted_step_ns"])
        mended.append(fast["step"]["p50_ns"])
    return [statistics.median(times) for times in (steps, predicted, mended)], first["rule"]


def pairs(binary, folder, chosen):
    lines, right = ["| case | finding | step | predicted | mended | predicted / mended |", "|---|---|---:|---:|---:|---:|"], 0
    too_low = []
    for case in chosen:
        medians, said = compare(binary, folder, case)
        if medians is None:
            lines.append(f"| {case} | {said} | | | | |")
        else:
            error = medians[1] / medians[2] - 1
            right += abs(error) <= WITHIN
            too_low += [case] if error < -WITHIN else []
            times = " | ".join(f"{ns / 1e6:.3f} ms" for ns in medians)
            lines.append(f"| {case} | {said} | {times} | {100 * error:+.1f} % |")
        print(lines[-1], flush=True)
    lines.append(f"\n{right} of {len(chosen)} within {100 * WITHIN:.0f} %; medians of {RUNS} runs each")
    if too_low:
        lines[-1] += f"; promise more: {', '.join(too_low)}"
    print(lines[-1])
    (folder / "pairs.md").write_text("\n".join(lines) + "\n")
    return 1 if too_low or right < min(LEAST, len(chosen)) else 0


def main():
    in_pairs = sys.argv[1:2] == ["--pairs"]
    given = sys.argv[2:] if in_pairs else sys.argv[1:]
    if not given or given[0].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(given[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    built = os.environ.get("PLANTED_BINARY")
    binary = pathlib.Path(built).resolve() if built else build(folder)
    if in_pairs:
        return pairs(binary, folder, given[1:] or PAIRS)
    chosen = given[1:] or [*CASES, *TORCH_CASES]
    python = python_with_torch() if set(chosen) & set(TORCH_CASES) else None
    more = build_for_torch(folder) if python else None
    lines, wrong, ran = ["| case | | step | busy | first finding |", "|---|---|---|---|---|"], 0, 0
    for case in chosen:
        if case in TORCH_CASES and not python:
            lines.append(f"| {case} | left out | | | no PyTorch that uses a GPU here |")
            print(lines[-1], flush=True)
            continue
        counters, *right_ones = CASES[case] if case in CASES else TORCH_CASES[case]
        if case in CASES:
            made = run([binary], folder, case, counters)
        else:
            made = run([python, str(ROOT / "benchmarks/planted/planted_torch.py")], folder, case, counters, more=more)
        right, said = judge(made, case, *right_ones)
        wrong += not right
        ran += 1
        step = made["step"] if made else {"mean_ns": 0, "gpu_busy_ns": 0}
        busy = step["gpu_busy_ns"] / step["mean_ns"] if step["mean_ns"] else 0
        lines.append(f"| {case} | {'right' if right else 'WRONG'} | {step['mean_ns'] / 1e6:.3f} ms | {100 * busy:.0f} % | {said} |")
        print(lines[-1], flush=True)
        for more_said in (made["findings"][1:4] if made and not right else []):
            print(f"    then {more_said['rule']} ({100 * more_said['cost_of_step']:.1f} %) {more_said['path']}: {more_said['title']}", flush=True)
    lines.append(f"\n{ran - wrong} of {ran} right")
    print(lines[-1])
    (folder / "planted.md").write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
