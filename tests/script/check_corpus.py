"""benchmarks/corpus/compare.py on made-up values: limiters, percentages by time, sums, findings, ranges in ranges."""

import json
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
program = root / "benchmarks" / "corpus" / "compare.py"
percent = ".avg.pct_of_peak_sustained_elapsed"
METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "sm__pipe_tensor_cycles_active" + percent,
           "dram__throughput" + percent, "l1tex__data_bank_reads" + percent, "sm__made_up" + percent,
           "sm__throughput" + percent, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]
KERNELS = [
    ("gemm", '1  "<default domain>:gemm:none:none:none:none:none"  "CCCL:inner:none:none:none:none:none"', "void cutlass::Kernel2<a::b>(Params)",
     ["100,000", "1000000000", "50000000", "95", "20", "40", "1", "95", "0"]),
    ("copy", '1  "<default domain>:copy:none:none:none:none:none"', "copy_kernel(float*)",
     ["30000", "200000000", "100000000", "0", "90", "10", "1", "90", "7"]),
    ("copy", '1  "<default domain>:copy:none:none:none:none:none"', "copy_kernel(float*)",
     ["10000", "100000000", "100000000", "0", "50", "10", "n/a", "50", "0"]),
    ("small", '1  "<default domain>:small:none:none:none:none:none"', "small_kernel()", ["900", "0", "0", "0", "1", "2", "1", "2", "0"]),
]
folder = pathlib.Path("corpus")
folder.mkdir(exist_ok=True)
failures = []


def quoted(cells):
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"


column = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
pathlib.Path("ncu.csv").write_text(
    "==PROF== Connected to process 7\n" + quoted(["ID", column, "Kernel Name", *METRICS])
    + quoted(["", "", "", "ns", "byte", "byte", *["%"] * 5, "inst"])
    + "".join(quoted([str(i), ranges, kernel, *values]) for i, (_, ranges, kernel, values) in enumerate(KERNELS)))
(folder / "ranges.csv").write_text("path,calls,kernels,gpu_busy_ns\n,1,8,900\ngemm,2,2,200000\ncopy,2,4,80000\nsmall,2,2,1800\n")
(folder / "counters_wide.csv").write_text(
    "path,limiter,hbm_read_bytes,hbm_write_bytes,tensor_use_pct,hbm_use_pct,ffma_instructions\n"
    ",,1,1,,,\ngemm,HBM 96 %,1001000000,40000000,90,96,0\ngemm/inner,,1,1,1,1,0\ncopy,HBM 81 %,300000000,200000000,0,81,6\nsmall,,,,,,\n")
(folder / "findings.json").write_text(json.dumps({
    "step": {"mean_ns": 300000, "typical_ns": 300000},
    "findings": [
        {"rule": "uncoalesced", "path": "gemm", "paths": ["gemm", "copy"], "predicted_step_ns": 286000, "cost_ns_per_step": 14000},
        {"rule": "spills", "path": "gemm", "folded": True, "predicted_step_ns": 200000, "cost_ns_per_step": 100000},
        {"rule": "tail", "path": "copy", "predicted_step_ns": 299900, "cost_ns_per_step": 30000}]}))
done = subprocess.run([sys.executable, str(program), "out.md", str(folder), "ncu.csv"], stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, universal_newlines=True)
text = pathlib.Path("out.md").read_text() if done.returncode == 0 else done.stdout
for wanted in ("| gemm | 1: Kernel2 | 100.0 | 100.0 | tensor 95 (sm__pipe_tensor_cycles_active) | hbm 96 | HBM 96 % | OTHER | tensor -5.0 hbm +76.0 ",
               "| copy | 2: copy_kernel | 40.0 | 40.0 | hbm 80 (dram__throughput) | hbm 81 | HBM 81 % | same |  |",
               "- gemm: hbm (HBM 96 %), ncu tensor 95 %", "- gemm: tensor: 90.0, ncu 95.0",
               "- gemm: hbm_write_bytes 40,000,000, ncu 50,000,000 (-20.0 %)", "- copy: ffma_instructions 6, ncu 7 (-14.3 %)",
               "- gemm: uncoalesced (10.0 us of 100.0 us);", "- copy: uncoalesced (4.0 us of 40.0 us);",
               "- small: not counted", "above 10 us and counted: 2", "- same limiter: 1 of 2 (50.0 %)",
               "- falsely accused: 2 of 2", "metrics of no unit: sm__made_up"):
    if wanted not in text:
        failures.append(f"not said: {wanted}")
for unwanted in ("spills", "tail", "hbm_read_bytes"):
    if unwanted in text:
        failures.append(f"said: {unwanted}")
for failure in failures:
    print("FAILED:", failure)
if failures:
    print(text)
sys.exit(1 if failures else 0)
