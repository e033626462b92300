#!/usr/bin/env python3
"""Programs with one planted bottleneck each, and sound ones: does findings.json name it first, and does what it predicts hold?

    benchmarks/planted.py OUTDIR [CASE...]             on a machine with a GPU and nvcc; OUTDIR/planted.md is the table
    benchmarks/planted.py --pairs OUTDIR [CASE...]     OUTDIR/pairs.md

A planted case is right where the first finding has one of the expected rules; a sound one where no finding costs more than
5 % of the step. Exits with 1 where a case is wrong. PLANTED_BINARY is a program that is built already.

--pairs runs each case and the same program without its fault in turns, five times each: `predicted_step_ns` of the first
finding beside the median step of the mended program, medians of the runs. Exits with 1 where fewer than four are within 15 %.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Case: the counters that it needs, the rules that are right.
CASES = {
    "launch_storm": ("", ["launch-bound"]),
    "pageable_copy": ("", ["pageable-copy"]),
    "pinned_copy": ("", ["copy-in-step"]),
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
    "sound_triad": ("findings", []),
    "sound_fma": ("findings", []),
    "sound_ahead": ("", []),
    "sound_layers": ("", []),
    "sound_graph": ("", []),
    "sound_overlap": ("", []),
}
MOST = 0.05
# Cases that `planted CASE STEPS mended` mends as the finding assumes: without the launches' cost, copies, waits or host work,
# or with kernels that are as much shorter as the finding costs.
PAIRS = ["launch_storm", "pageable_copy", "pinned_copy", "wait_in_step", "allocation", "few_blocks", "serialised_streams",
         "cpu_work", "cpu_gap", "strided", "bank_conflicts"]
RUNS, WITHIN, LEAST = 5, 0.15, 4


def build(folder):
    binary = folder / "planted"
    nvcc = os.environ.get("CUDACXX", "/usr/local/cuda/bin/nvcc")
    subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=native", f"-I{ROOT}/include", "-o", binary, ROOT / "benchmarks/planted.cu",
                    ROOT / "include/strata/implementation.cpp", "-ldl"], check=True)
    return binary


def run(binary, folder, case, counters, mended=()):
    out = folder / "-".join([case, *mended])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    environment["STRATA"] = "trace,formats=table+json+csv," + (f"counters={counters}," if counters else "") + f"out={out}"
    done = subprocess.run([binary, case, "40", *mended], env=environment, capture_output=True, text=True, timeout=280)
    (folder / f"{out.name}.txt").write_text(done.stdout + done.stderr)
    written = sorted(folder.glob(f"{out.name}*/findings.json"), key=os.path.getmtime)
    if done.returncode != 0 or not written:
        return None
    return json.loads(written[-1].read_text())


def judge(made, expected):
    """Whether the case is right, and what was said first."""
    if made is None:
        return False, "no findings.json"
    costly = [each for each in made["findings"] if each["cost_ns_per_step"] > 0]
    first = costly[0] if costly else None
    said = "nothing" if first is None else f"{first['rule']} ({100 * first['cost_of_step']:.1f} %) {first['path']}: {first['title']}"
    if expected:
        return first is not None and first["rule"] in expected, said
    return all(each["cost_of_step"] <= MOST for each in costly), said


def compare(binary, folder, case):
    """Medians in ns: the step of the slow program, what its first finding predicts, the step of the mended one."""
    counters, expected = CASES[case]
    steps, predicted, mended = [], [], []
    for number in range(RUNS):
        turn = folder / str(number)
        turn.mkdir(exist_ok=True)
        slow = run(binary, turn, case, counters)
        fast = run(binary, turn, case, "", ("mended",))
        if slow is None or fast is None:
            return None, "a run failed"
        first = next((each for each in slow["findings"] if each["cost_ns_per_step"] > 0), None)
        if first is None or first["rule"] not in expected or first["predicted_step_ns"] is None:
            return None, f"run {number} names {first and first['rule']} first"
        steps.append(slow["step"]["p50_ns"])
        predicted.append(first["predicted_step_ns"])
        mended.append(fast["step"]["p50_ns"])
    return [statistics.median(each) for each in (steps, predicted, mended)], first["rule"]


def pairs(binary, folder, chosen):
    lines, right = ["| case | finding | step | predicted | mended | predicted / mended |", "|---|---|---:|---:|---:|---:|"], 0
    for case in chosen:
        medians, said = compare(binary, folder, case)
        if medians is None:
            lines.append(f"| {case} | {said} | | | | |")
        else:
            error = medians[1] / medians[2] - 1
            right += abs(error) <= WITHIN
            times = " | ".join(f"{each / 1e6:.3f} ms" for each in medians)
            lines.append(f"| {case} | {said} | {times} | {100 * error:+.1f} % |")
        print(lines[-1], flush=True)
    lines.append(f"\n{right} of {len(chosen)} within {100 * WITHIN:.0f} %; medians of {RUNS} runs each")
    print(lines[-1])
    (folder / "pairs.md").write_text("\n".join(lines) + "\n")
    return 0 if right >= min(LEAST, len(chosen)) else 1


def main():
    in_pairs = sys.argv[1:2] == ["--pairs"]
    given = sys.argv[2:] if in_pairs else sys.argv[1:]
    if not given:
        sys.exit(__doc__)
    folder = pathlib.Path(given[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    built = os.environ.get("PLANTED_BINARY")
    binary = pathlib.Path(built).resolve() if built else build(folder)
    if in_pairs:
        return pairs(binary, folder, given[1:] or PAIRS)
    chosen = given[1:] or list(CASES)
    lines, wrong = ["| case | | step | busy | first finding |", "|---|---|---|---|---|"], 0
    for case in chosen:
        counters, expected = CASES[case]
        made = run(binary, folder, case, counters)
        right, said = judge(made, expected)
        wrong += not right
        step = made["step"] if made else {"mean_ns": 0, "gpu_busy_ns": 0}
        busy = step["gpu_busy_ns"] / step["mean_ns"] if step["mean_ns"] else 0
        lines.append(f"| {case} | {'right' if right else 'WRONG'} | {step['mean_ns'] / 1e6:.3f} ms | {100 * busy:.0f} % | {said} |")
        print(lines[-1], flush=True)
        for more in (made["findings"][1:4] if made and not right else []):
            print(f"    then {more['rule']} ({100 * more['cost_of_step']:.1f} %) {more['path']}: {more['title']}", flush=True)
    lines.append(f"\n{len(chosen) - wrong} of {len(chosen)} right")
    print(lines[-1])
    (folder / "planted.md").write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
