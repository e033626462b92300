#!/usr/bin/env python3
"""Programs with one planted bottleneck each, and sound ones: does findings.json name it first?

    benchmarks/planted.py OUTDIR [CASE...]     on a machine with a GPU and nvcc; OUTDIR/planted.md is the table

A planted case is right where the first finding has one of the expected rules; a sound one where no finding costs more than
5 % of the step. Exits with 1 where a case is wrong. PLANTED_BINARY is a program that is built already.
"""

import json
import os
import pathlib
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
    "sound_triad": ("findings", []),
    "sound_fma": ("findings", []),
    "sound_ahead": ("", []),
    "sound_graph": ("", []),
    "sound_overlap": ("", []),
}
MOST = 0.05


def build(folder):
    binary = folder / "planted"
    nvcc = os.environ.get("CUDACXX", "/usr/local/cuda/bin/nvcc")
    subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=native", f"-I{ROOT}/include", "-o", binary, ROOT / "benchmarks/planted.cu",
                    ROOT / "include/strata/implementation.cpp", "-ldl"], check=True)
    return binary


def run(binary, folder, case, counters):
    out = folder / case
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    environment["STRATA"] = "trace,formats=table+json+csv," + (f"counters={counters}," if counters else "") + f"out={out}"
    done = subprocess.run([binary, case, "40"], env=environment, capture_output=True, text=True, timeout=280)
    (folder / f"{case}.txt").write_text(done.stdout + done.stderr)
    written = sorted(folder.glob(f"{case}*/findings.json"), key=os.path.getmtime)
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


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = sys.argv[2:] or list(CASES)
    given = os.environ.get("PLANTED_BINARY")
    binary = pathlib.Path(given).resolve() if given else build(folder)
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
