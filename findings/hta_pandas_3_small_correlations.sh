#!/usr/bin/env bash
# HolisticTraceAnalysis 0.5.0, pandas 3.1.1 and 2.3.3, Python 3.11.
#
# Guess: HTA 0.5.0, which asks for any pandas from 1.1 on, reads a trace with the newest pandas as with an older one.
# Behaviour: it stores correlations in the smallest integer that holds them, then puts row numbers into a column of that
# type. pandas 2 widens the column; pandas 3 raises TypeError. A trace whose correlations are below 128 and that has
# more than 127 rows cannot be read, one with larger correlations can: a program that launches a few graphs, say.
# Seen: pandas 3.1.1: correlations from 1 TypeError, from 1000 read; pandas 2.3.3: both read
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >read.py <<'PY'
import json, logging, sys, pandas
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
outcome = []
for first in (1, 1000):
    events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 9, "tid": 9, "ts": 900 * i,
               "dur": 900, "args": {}} for i in range(2)]
    for i in range(100):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 8 * i,
                       "dur": 1, "args": {"correlation": first + i}})
    for i in range(100):
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 8 * i + 2, "dur": 4,
                       "args": {"device": 0, "stream": 7, "correlation": first + i}})
    json.dump({"traceEvents": events}, open("trace.json", "w"))
    try:
        TraceAnalysis(trace_files={0: "trace.json"}, trace_dir=".").get_temporal_breakdown(visualize=False)
        outcome.append("read")
    except TypeError:
        outcome.append("TypeError")
print(f"pandas {pandas.__version__}: correlations from 1 {outcome[0]}, from 1000 {outcome[1]}")
sys.exit(0 if outcome == sys.argv[1:] else 1)
PY
python3 -m venv v
v/bin/pip install -q HolisticTraceAnalysis==0.5.0 pandas==3.1.1 numpy==2.4.6
v/bin/python -W ignore read.py TypeError read
v/bin/pip install -q pandas==2.3.3 numpy==2.4.6
v/bin/python -W ignore read.py read read
