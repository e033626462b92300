#!/usr/bin/env bash
# HolisticTraceAnalysis 0.5.0, pandas 2.3.3, Python 3.11.
#
# Guess: TraceAnalysis.get_potential_stragglers() compares the collectives of the ranks, whatever NCCL wrote them.
# Behaviour: it takes kernels whose name begins with ncclKernel, as before NCCL 2.19, on streams above 0. Of two ranks
# whose kernels have the name of today, ncclDevKernel_AllReduce_Sum_f32_RING_LL, or whose old ones are on stream 0, it
# raises ValueError.
# Seen: ncclKernel on stream 7 [1], ncclDevKernel on stream 7 ValueError, ncclKernel on stream 0 ValueError
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q HolisticTraceAnalysis==0.5.0 pandas==2.3.3 numpy==2.4.6
cd "$folder"
"$folder/v/bin/python" -W ignore - <<'PY'
import json, logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis


def trace(rank, name, stream):
    """Three steps with a kernel and a collective each: rank 1 comes late, so its collectives are short."""
    events = []
    for step in range(3):
        start = 1000.0 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100, "tid": 1, "ts": start,
                       "dur": 1000.0, "args": {}})
        late = 400.0 * rank
        for number, (kernel, begin, length) in enumerate((("gemm", 10.0, 100.0 + late), (name, 200.0 + late, 600.0 - late))):
            correlation = 1 + 2 * step + number
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1,
                           "ts": start + 1.0 + 3.0 * number, "dur": 2.0, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": stream, "ts": start + begin, "dur": length,
                           "args": {"device": 0, "context": 1, "stream": stream, "correlation": correlation}})
    return {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}


def found(name, stream):
    files = {}
    for rank in range(2):
        files[rank] = f"{name}-{stream}-{rank}.json"
        with open(files[rank], "w") as file:
            json.dump(trace(rank, name, stream), file)
    try:
        analysis = TraceAnalysis(trace_files=files, trace_dir=".", include_last_profiler_step=True)
        return str([int(rank) for rank in analysis.get_potential_stragglers(num_candidates=1)])
    except ValueError:
        return "ValueError"


types = "_AllReduce_Sum_f32_RING_LL"
tries = (("ncclKernel", 7), ("ncclDevKernel", 7), ("ncclKernel", 0))
answers = [found(name + types, stream) for name, stream in tries]
print(", ".join(f"{name} on stream {stream} {answer}" for (name, stream), answer in zip(tries, answers)))
sys.exit(0 if answers == ["[1]", "ValueError", "ValueError"] else 1)
PY
