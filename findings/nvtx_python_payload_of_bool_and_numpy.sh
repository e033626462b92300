#!/usr/bin/env bash
# nvtx 0.2.17 (Python), numpy 2.4.6, Python 3.11, a tool of NVTX compiled with the headers of nvidia-nvtx 13.5.25,
# gcc.
#
# Guess: payload=True is 1, since a bool of Python is an int, and scalars of numpy arrive as numbers, numpy.float64
# in any case, since it is a float of Python.
# Behaviour: only int and float exactly become a payload. What derives from them, and scalars of numpy, are left
# out: the range has none, and a warning says so.
# Seen: payload types 2 (int), 3 (float), 0 (bool), 0 (numpy.int32), 0 (numpy.float32), 0 (numpy.float64)
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q --no-deps nvtx==0.2.17 numpy==2.4.6 nvidia-nvtx==13.5.25
include=$(echo "$folder"/v/lib/python3*/site-packages/nvidia/cu13/include)
gcc -shared -fPIC -I"$include" -o "$folder/tool.so" "$here/nvtx_events.c"
NVTX_INJECTION64_PATH="$folder/tool.so" "$folder/v/bin/python" -W ignore - >"$folder/seen" <<'PY'
import numpy, nvtx

for number in 7, 1.5, True, numpy.int32(3), numpy.float32(2.5), numpy.float64(2.5):
    with nvtx.annotate(type(number).__name__, domain="d", payload=number):
        pass
PY
grep push "$folder/seen" | tr '\n' ';'
echo
[ "$(sed -n 's/^push .* payload //p' "$folder/seen" | tr '\n' ' ')" = "2 3 0 0 0 0 " ]
