#!/usr/bin/env bash
# Triton 3.9.0 (Proton's viewer), llnl-hatchet 2026.2.0.
#
# Guess: "util" of a kernel whose FP64 operations run at the A100's published peak (19.5 TFLOP/s) is 1, as it is for
# FP16 (312 TFLOP/s); and a kernel that tells its operations alone has a "util" too.
# Behaviour: a peak is that of 8 bits divided by the width, so FP64's is 78 TFLOP/s on an A100, and a perfect FP64
# kernel is shown at a quarter. Without "bytes" in any kernel the viewer ends with KeyError.
# Seen: util 1.0 for FP16, 0.25 for FP64, KeyError: 'bytes' without bytes
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q triton==3.9.0 llnl-hatchet==2026.2.0 pandas==2.3.3
cd "$folder"
"$folder/v/bin/python" - <<'PY'
import json
import sys

import triton.profiler.viewer as viewer

A100 = {"arch": "80", "num_sms": 108, "clock_rate": 1410000, "memory_clock_rate": 1215000, "bus_width": 5120}


def util(**told):
    metrics = {"time (ns)": 1000000, "count": 1, "device_id": "0", "device_type": "CUDA", **told}
    kernel = {"frame": {"name": "gemm", "type": "function"}, "metrics": metrics, "children": []}
    root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {"time (ns)": 0, "count": 0},
            "children": [kernel]}
    with open("run.hatchet", "w") as file:
        json.dump([root, {"CUDA": {"0": A100}}], file)
    try:
        frame, _ = viewer.parse(["util"], "run.hatchet")
    except KeyError as error:
        return f"KeyError: {error}"
    return round(float(frame.dataframe["util"].iloc[1]), 3)


seen = [util(flops16=312e9, bytes=1), util(flops64=19.5e9, bytes=1), util(flops16=312e9)]
print(seen)
sys.exit(0 if seen == [1.0, 0.25, "KeyError: 'bytes'"] else 1)
PY
