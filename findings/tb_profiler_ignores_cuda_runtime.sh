#!/usr/bin/env bash
# torch-tb-profiler 0.4.3, pandas 2.3.3, Python 3.11.
#
# Guess: TensorBoard's profiler knows the calls of the CUDA runtime in a trace of PyTorch 2, whose category is
# cuda_runtime, and lets a step last until the kernels that it launched are over.
# Behaviour: it knows the older category Runtime alone. Calls of cuda_runtime are dropped, so a step ends where the
# host's loop ends: here 20 us, though its kernel runs until 100 us. The same trace with Runtime has a step of 100 us.
# Seen: cuda_runtime: step 20.0 us, kernels 10.0 us; Runtime: step 100.0 us, kernels 90.0 us
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q torch-tb-profiler==0.4.3 pandas==2.3.3 setuptools==80.9.0 numpy==2.4.6
cd "$folder"
"$folder/v/bin/python" -W ignore - <<'PY'
import sys
from torch_tb_profiler.profiler.data import RunProfileData
found = {}
for category in ("cuda_runtime", "Runtime"):
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 9, "tid": 9, "ts": 0, "dur": 20,
               "args": {}},
              {"ph": "X", "cat": category, "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5, "dur": 2,
               "args": {"correlation": 1}},
              {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 90,
               "args": {"device": 0, "stream": 7, "correlation": 1}}]
    costs = RunProfileData.from_json("worker", "span", {"traceEvents": events}).avg_costs.costs
    found[category] = (float(costs[-1]), float(costs[0]))
print("; ".join(f"{category}: step {step:.1f} us, kernels {kernels:.1f} us"
                for category, (step, kernels) in found.items()))
sys.exit(0 if found == {"cuda_runtime": (20.0, 10.0), "Runtime": (100.0, 90.0)} else 1)
PY
