#!/usr/bin/env bash
# HolisticTraceAnalysis 0.5.0, pandas 2.3.3, Python 3.11.
#
# Guess: with HTA_DISABLE_NS_ROUNDING=1, by which HTA keeps times of less than a microsecond, the time by kind of kernel
# (get_gpu_kernel_breakdown) adds up to the time of the kernels, as compute time does in get_temporal_breakdown.
# Behaviour: the breakdown cuts each stretch between two events to whole microseconds. 1,000 kernels of 1.9 us are
# 1,900 us in the one table and 1,000 us in the other.
# Seen: temporal 1900.0 us, breakdown 1000 us
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q HolisticTraceAnalysis==0.5.0 pandas==2.3.3 numpy==2.4.6
cd "$folder"
HTA_DISABLE_NS_ROUNDING=1 "$folder/v/bin/python" -W ignore - <<'PY'
import json, logging, sys
logging.disable(logging.CRITICAL)
events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 9, "tid": 9, "ts": 5000.5 * i,
           "dur": 5000.5, "args": {}} for i in range(2)]
for i in range(1000):
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
                   "ts": 4.0 * i + 0.5, "dur": 1.0, "args": {"correlation": i + 1}})
    events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 4.0 * i + 2, "dur": 1.9,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}})
json.dump({"traceEvents": events}, open("trace.json", "w"))
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: "trace.json"}, trace_dir=".", include_last_profiler_step=True)
temporal = float(analysis.get_temporal_breakdown(visualize=False)["compute_time(us)"][0])
breakdown = float(analysis.get_gpu_kernel_breakdown(visualize=False)[0]["sum"].sum())
print(f"temporal {temporal:.1f} us, breakdown {breakdown:.0f} us")
sys.exit(0 if abs(temporal - 1900) < 1 and abs(breakdown - 1000) < 1 else 1)
PY
