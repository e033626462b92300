#!/usr/bin/env bash
# nvidia-nvtx-cu12 12.9.79, nvidia-nvtx 13.5.25.
#
# Guess: the wheel of CUDA 12.9 has the headers of NVTX's extensions, by which NCCL (2.18 of 2023 and later) hands
# payloads to tools: nvToolsExtPayload.h.
# Behaviour: it has nvToolsExt.h and the extensions of CUDA, OpenCL and the like alone. The wheel of CUDA 13.5 has
# them.
# Seen: 12.9.79: no header of payloads or counters; 13.5.25: nvToolsExtCounters.h, nvToolsExtPayload.h and the helper
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
for package in nvidia-nvtx-cu12==12.9.79 nvidia-nvtx==13.5.25; do
  "$folder/v/bin/pip" install -q --no-deps --target "$folder/$package" "$package"
  find "$folder/$package" -name 'nvToolsExt*.h' -printf '%f\n' | sort |
    grep -E 'nvToolsExt\.|Payload|Counters\.' | tr '\n' ' '
  echo "in $package"
done >"$folder/seen"
cat "$folder/seen"
grep -qx 'nvToolsExt.h in nvidia-nvtx-cu12==12.9.79' "$folder/seen"
grep -q 'nvToolsExtPayload.h .*in nvidia-nvtx==13.5.25' "$folder/seen"
