#!/usr/bin/env bash
# NCCL 2.32.3 (nvidia-nccl-cu13), a tool of NVTX compiled with the headers of nvidia-nvtx 13.5.25, gcc.
#
# Guess: NCCL's NVTX ranges show a group as one range from ncclGroupStart to ncclGroupEnd, in which its work is
# launched.
# Behaviour: each of the two calls is a range that ends with the call. A tool that wants to know what a group
# launched has to look into the range ncclGroupEnd; the range of a collective in the group is over before.
# ncclGetUniqueId has no range.
# Seen: push ncclGroupStart, pop, push ncclGroupEnd, pop
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q --no-deps nvidia-nccl-cu13==2.32.3 nvidia-nvtx==13.5.25
packages=$(echo "$folder"/v/lib/python3*/site-packages/nvidia)
gcc -shared -fPIC -I"$packages/cu13/include" -o "$folder/tool.so" "$here/nvtx_events.c"
NVTX_INJECTION64_PATH="$folder/tool.so" "$folder/v/bin/python" - "$packages"/nccl/lib/libnccl.so.2 \
  >"$folder/seen" <<'PY'
import ctypes, sys

nccl = ctypes.CDLL(sys.argv[1])
assert nccl.ncclGroupStart() == 0 and nccl.ncclGroupEnd() == 0
assert nccl.ncclGetUniqueId(ctypes.create_string_buffer(128)) == 0
PY
tr '\n' ';' <"$folder/seen"
echo
[ "$(tr '\n' ';' <"$folder/seen")" = "push ncclGroupStart payload 0;pop;push ncclGroupEnd payload 0;pop;" ]
