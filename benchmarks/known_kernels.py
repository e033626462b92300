#!/usr/bin/env python3
"""Counters of kernels with known traffic: by hand, by Strata and by Nsight Compute.

    benchmarks/known_kernels.py OUTDIR     on a machine with a GPU, nvcc and ncu; OUTDIR/known_kernels.md is the table

Both see the same kernels of benchmarks/known_kernels.cu on a cold L2: Strata in the running program after a kernel that fills
L2 with something else, ncu with its own cache control. Clocks are left alone. Exits with 1 where an instruction count
differs at all, or bytes of a memory level that move 64 MiB or more differ by 2 % or more. The matrices fit into L2, so what
L1 keeps of them, and with it the traffic below L1, is another in every run: that is shown and not judged, nor is what was
counted by hand, which a test does.
"""

import csv
import io
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRAFFIC = ["dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
           "lts__t_bytes.sum", "l1tex__t_bytes.sum"]
EXACT = ["smsp__inst_executed.sum", "smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_global_st.sum",
         "smsp__sass_data_bytes_mem_global_op_ld.sum", "smsp__sass_data_bytes_mem_global_op_st.sum",
         "smsp__sass_inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_st.sum",
         "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
         "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]
GIB, WARPS, SIDE = 2.0**30, 2.0**28 / 32, 1024.0
BY_HAND = {
    ("copy_kernel", "dram__bytes_read.sum"): GIB,
    ("copy_kernel", "dram__bytes_write.sum"): GIB,
    ("copy_kernel", "smsp__sass_inst_executed_op_global_ld.sum"): WARPS,
    ("copy_kernel", "smsp__sass_inst_executed_op_global_st.sum"): WARPS,
    ("copy_kernel", "smsp__sass_data_bytes_mem_global_op_ld.sum"): GIB,
    ("copy_kernel", "smsp__sass_data_bytes_mem_global_op_st.sum"): GIB,
    ("triad_kernel", "dram__bytes_read.sum"): 2 * GIB,
    ("triad_kernel", "dram__bytes_write.sum"): GIB,
    ("triad_kernel", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"): 2.0**28,
    ("triad_kernel", "smsp__sass_data_bytes_mem_global_op_ld.sum"): 2 * GIB,
    ("strided_kernel", "dram__bytes_read.sum"): GIB,
    ("strided_kernel", "dram__bytes_write.sum"): GIB / 8,
    ("strided_kernel", "smsp__sass_data_bytes_mem_global_op_ld.sum"): GIB / 8,
    ("atomic_kernel", "dram__bytes_read.sum"): GIB,
    ("atomic_kernel", "dram__bytes_write.sum"): GIB,
    ("matmul_kernel", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"): SIDE**3,
    ("matmul_kernel", "smsp__sass_inst_executed_op_global_ld.sum"): 2 * SIDE**3 / 32 / 32,
    ("matmul_kernel", "smsp__sass_data_bytes_mem_global_op_ld.sum"): 2 * SIDE**3 / 32 * 4,
    ("matmul_kernel", "smsp__sass_data_bytes_mem_global_op_st.sum"): SIDE**2 * 4,
}


def run(command, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STRATA")}
    environment.update(more)
    done = subprocess.run([str(c) for c in command], env=environment, capture_output=True, text=True, timeout=280)
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def counted_by_strata(program, folder):
    """One step is timed, each other one counts a pass."""
    run([program, 30], STRATA=f"trace,active=1,counters={'+'.join(TRAFFIC + EXACT)},out={folder},formats=csv")
    with open(folder / "counters.csv", newline="", encoding="utf-8") as file:
        return {(r["path"], r["metric"]): float(r["value"]) for r in csv.DictReader(file)
                if r["scope"] == "total" and r["value"] and r["path"]}


def counted_by_ncu(program):
    """The second of two steps: the first one meets cold code."""
    text = run(["ncu", "--metrics", ",".join(TRAFFIC + EXACT), "--clock-control", "none", "--cache-control", "all",
                "--kernel-name", "regex:(copy|triad|strided|atomic|matmul)_kernel", "--csv", "--print-units", "base", program, 2])
    values = {}
    for row in csv.DictReader(io.StringIO(text[text.index('"ID"'):])):
        if row["ID"].isdigit():
            values[row["Kernel Name"].split("(")[0].split("::")[-1], row["Metric Name"]] = float(
                row["Metric Value"].replace(",", ""))
    return values


def apart(value, other):
    return "" if not other else f"{100 * (value / other - 1):+.3f} %"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    program = out / "known_kernels"
    run([os.environ.get("CUDACXX", "nvcc"), "-std=c++17", "-O2", "-arch=native", f"-I{ROOT}/include", f"-I{ROOT}/tests",
         ROOT / "benchmarks/known_kernels.cu", ROOT / "include/strata/implementation.cpp", "-o", program])
    ours, theirs = counted_by_strata(program, out / "run"), counted_by_ncu(program)
    shutil.rmtree(out / "run")
    program.unlink()
    lines = ["| kernel | metric | by hand | Strata | ncu | Strata to hand | Strata to ncu | |", "|---|---|---|---|---|---|---|---|"]
    failed = 0
    for key in sorted(theirs, key=lambda k: (list(dict.fromkeys(n for n, _ in theirs)).index(k[0]), (TRAFFIC + EXACT).index(k[1]))):
        kernel, metric = key
        if not theirs[key] and not ours.get(key):
            continue
        mine = ours.get(key, float("nan"))
        sector = 32 if "sectors" in metric else 1
        if metric in EXACT:
            verdict = "" if mine == theirs[key] else "DIFFERS"
        elif kernel == "matmul_kernel" and not metric.startswith("l1tex"):
            verdict = "varies"
        elif sector * max(mine, theirs[key]) < 2.0**26:
            verdict = "below 64 MiB"
        else:
            verdict = "" if abs(mine - theirs[key]) < 0.02 * theirs[key] else "DIFFERS"
        failed += verdict == "DIFFERS" or mine != mine
        hand = BY_HAND.get(key)
        lines.append(f"| {kernel} | {metric} | {'' if hand is None else format(hand, '.0f')} | {mine:.0f} | {theirs[key]:.0f} | "
                     f"{apart(mine, hand)} | {apart(mine, theirs[key])} | {verdict} |")
    (out / "known_kernels.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    sys.exit(1 if failed or not theirs else 0)


main()
