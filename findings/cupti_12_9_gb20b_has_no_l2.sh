#!/usr/bin/env bash
# CUPTI 12.9.79 (nvidia-cuda-cupti-cu12) and 13.0.85 (nvidia-cuda-cupti).
#
# Guess: a CUPTI that lists a chip has the counters of its caches.
# Behaviour: 12.9 lists and opens GB20B (DGX Spark), and has none of L2 (lts__): 17, CUPTI_ERROR_INVALID_METRIC_NAME;
# those of the SMs are there. 13.0 has both.
# Seen: {'12.9.79': [0, 17, 0], '13.0.85': [0, 0, 0]}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti


def look(library):
    names = ("lts__t_sectors.sum", "sm__inst_executed.sum")
    return [cupti.open_chip(library, "GB20B")[0]] + [cupti.properties(library, "GB20B", name)[0] for name in names]


seen = cupti.of_versions(look, {"12.9.79": "nvidia-cuda-cupti-cu12", "13.0.85": "nvidia-cuda-cupti"})
print(seen)
sys.exit(0 if seen == {"12.9.79": [0, 17, 0], "13.0.85": [0, 0, 0]} else 1)
PY
