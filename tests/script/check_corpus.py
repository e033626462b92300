"""benchmarks/corpus/compare.py on made-up values: limiters, percentages by time, sums, findings, ranges in ranges."""

import json
import pathlib
import re
import subprocess
import sys

from _script import end, failures, root

program = root / "benchmarks" / "corpus" / "compare.py"
percent = ".avg.pct_of_peak_sustained_elapsed"
METRICS = ["sm__cycles_elapsed.max", "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "sm__pipe_tensor_cycles_active" + percent,
           "dram__throughput" + percent, "l1tex__data_bank_reads" + percent, "sm__made_up" + percent,
           "sm__throughput" + percent, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]
KERNELS = [
    ("gemm", '1  "<default domain>:gemm:none:none:none:none:none"  "CCCL:inner:none:none:none:none:none"', "void cutlass::Kernel2<a::b>(Params)",
     ["180000", "100,000", "1000000000", "50000000", "95", "20", "40", "1", "95", "0"]),
    ("copy", '1  "<default domain>:copy:none:none:none:none:none"', "copy_kernel(float*)",
     ["54000", "30000", "200000000", "100000000", "0", "90", "10", "1", "90", "7"]),
    ("copy", '1  "<default domain>:copy:none:none:none:none:none"', "copy_kernel(float*)",
     ["18000", "10000", "100000000", "100000000", "0", "50", "10", "n/a", "50", "0"]),
    ("small", '1  "<default domain>:small:none:none:none:none:none"', "small_kernel()", ["1620", "900", "0", "0", "0", "1", "2", "1", "2", "0"]),
    # Alike but for: time; clock; copies; several kernels; nothing that is known.
    *[(name, f'1  "<default domain>:{name}:none:none:none:none:none"', f"{name}_kernel()",
       [str(18 * ns // 10), str(ns), "0", "0", "60", "30", "10", "1", "60", "0"])
      for name, ns in (("slower", 50000), ("throttled", 50000), ("copying", 50000), ("parts", 30000), ("parts", 20000),
                       ("strange", 50000))],
]
folder = pathlib.Path("corpus")
folder.mkdir(exist_ok=True)


def quoted(cells):
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


column = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
pathlib.Path("ncu.csv").write_text(
    "==PROF== Connected to process 7\n" + quoted(["ID", column, "Kernel Name", *METRICS])
    + quoted(["", "", "", "cycle", "ns", "byte", "byte", *["%"] * 5, "inst"])
    + "".join(quoted([str(i), ranges, kernel, *values]) for i, (_, ranges, kernel, values) in enumerate(KERNELS)))
(folder / "ranges.csv").write_text(
    "path,calls,kernels,copies,gpu_busy_ns\n,1,8,0,900\ngemm,2,2,0,200000\ncopy,2,4,0,80000\nsmall,2,2,0,1800\n"
    "slower,2,2,0,120000\nthrottled,2,2,0,100000\ncopying,2,2,2,100000\nparts,2,4,0,100000\nstrange,2,2,0,100000\n")
(folder / "counters_wide.csv").write_text(
    "path,limiter,hbm_read_bytes,hbm_write_bytes,tensor_use_pct,hbm_use_pct,ffma_instructions,sm_cycles,time_ns\n"
    ",,1,1,,,,,\ngemm,HBM 96 %,1001000000,40000000,90,96,0,190000,100000\ngemm/inner,,1,1,1,1,0,,\n"
    "copy,HBM 81 %,300000000,200000000,0,81,6,,\nsmall,,,,,,,,\n"
    "slower,tensor 50 %,,,50,25,0,90000,50000\nthrottled,tensor 50 %,,,54,22,0,100000,50000\ncopying,tensor 50 %,,,50,30,0,90000,50000\n"
    "parts,tensor 50 %,,,50,30,0,90000,50000\nstrange,tensor 50 %,,,50,30,0,90000,50000\n")
(folder / "findings.json").write_text(json.dumps({
    "step": {"mean_ns": 300000},
    "findings": [
        {"rule": "uncoalesced", "path": "gemm", "predicted_step_ns": 286000, "cost_ns_per_step": 21000,
         "ranges": [{"path": "gemm", "cost_ns_per_step": 15000}, {"path": "step/copy", "cost_ns_per_step": 6000}]},
        {"rule": "doubt", "path": "gemm", "predicted_step_ns": None, "cost_ns_per_step": 0,
         "ranges": [{"path": "gemm", "cost_ns_per_step": 0}]},
        {"rule": "tail", "path": "copy", "predicted_step_ns": 299900, "cost_ns_per_step": 30000,
         "ranges": [{"path": "copy", "cost_ns_per_step": 30000}]}]}))
done = subprocess.run([sys.executable, str(program), "out.md", str(folder), "ncu.csv"], stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, universal_newlines=True)
text = pathlib.Path("out.md").read_text() if done.returncode == 0 else done.stdout
for wanted in ("| gemm | 1: Kernel2 | 100.0 | 100.0 | tensor 95 (sm__pipe_tensor_cycles_active) | hbm 96 | HBM 96 % | OTHER | tensor -5.0 hbm +76.0 |",
               "tensor -5.0 hbm +76.0 | clock: tensor; not explained: hbm |",
               "| tensor -10.0 hbm -5.0 | time: tensor hbm |", "| tensor -6.0 hbm -8.0 | clock: tensor; not explained: hbm |",
               "| tensor -10.0 | copies in the range: tensor |", "| tensor -10.0 | several kernels: tensor |",
               "| tensor -10.0 | not explained: tensor |",
               "- the same at equal time: 2 of 7 (28.6 %)",
               "- units more than 3 points apart: 9; time 2, clock 2, copies in the range 1, several kernels 1, not explained 3",
               "| copy | 2: copy_kernel | 40.0 | 40.0 | hbm 80 (dram__throughput) | hbm 81 | HBM 81 % | same |  |  |",
               "- gemm: hbm (HBM 96 %), ncu tensor 95 %", "- gemm: tensor: 90.0, ncu 95.0; clock",
               "- gemm: hbm_write_bytes 40,000,000, ncu 50,000,000 (-20.0 %)", "- copy: ffma_instructions 6, ncu 7 (-14.3 %)",
               "- gemm: uncoalesced (10.0 us of 100.0 us);", "- copy: uncoalesced (4.0 us of 40.0 us);",
               "- small: not counted", "above 10 us and counted: 7", "- same limiter: 6 of 7 (85.7 %)",
               "- falsely accused: 2 of 2", "metrics of no unit: sm__made_up"):
    if wanted not in text:
        failures.append(f"not said: {wanted}")
for unwanted in ("doubt", "tail", "hbm_read_bytes"):
    if unwanted in text:
        failures.append(f"said: {unwanted}")
# What is read of findings.json is there, and asking for help makes nothing.
written = (root / "src/report/answer_json.hpp").read_text(encoding="utf-8")
for script in (program, root / "benchmarks/planted.py"):
    keys = set(re.findall(r"\bfinding(?:\.get\(|\[)\"(\w+)\"", script.read_text(encoding="utf-8")))
    failures += [f"{script.name} reads {key}, which no finding has" for key in sorted(keys) if f'"{key}"' not in written]
asked = pathlib.Path("asked")
asked.mkdir(exist_ok=True)
for script in (program, root / "benchmarks/planted.py"):
    said = subprocess.run([sys.executable, str(script), "--help"], cwd=asked, capture_output=True, text=True)
    if script.name not in said.stdout + said.stderr or list(asked.iterdir()):
        failures.append(f"{script.name} --help does not only say how it is called")
if failures:
    print(text)
end("benchmarks/corpus/compare.py")
