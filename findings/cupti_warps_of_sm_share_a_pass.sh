#!/usr/bin/env bash
# CUPTI 13.0.85 (nvidia-cuda-cupti), GH100.
#
# Guess: sm__warps_active and smsp__warps_active are one count, of warps in flight, and cost the same: the first adds
# up what the second has by scheduler. What warps of a scheduler wait for fits a pass best with the counter of the
# scheduler.
# Behaviour: three counters of schedulers fill a pass. The counter of the SM shares it with three stalls, the same
# counter of the schedulers needs a second pass; so do the threads of instructions, which instrumented code counts
# beside all others.
# Seen: {'13.0.85': [1, 2, 2, 1]}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti

STALLS = [f"smsp__warps_issue_stalled_{name}.sum" for name in ("barrier", "membar", "wait")]
EXACT = ["smsp__sass_thread_inst_executed.sum", "smsp__sass_inst_executed.sum",
         "smsp__sass_data_bytes_mem_global_op_ld.sum", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]


def look(library):
    lists = (STALLS + ["sm__warps_active.sum"], STALLS + ["smsp__warps_active.sum"],
             STALLS + ["smsp__thread_inst_executed.sum"], EXACT)
    return [cupti.passes(library, "GH100", names) for names in lists]


seen = cupti.of_versions(look, {"13.0.85": "nvidia-cuda-cupti"})
print(seen)
sys.exit(0 if seen == {"13.0.85": [1, 2, 2, 1]} else 1)
PY
