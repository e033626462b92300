#!/usr/bin/env bash
# CUPTI 13.0.85 and 13.1.115 (nvidia-cuda-cupti).
#
# Guess: cuptiProfilerHostGetMetricProperties tells whether a name with its rollup exists.
# Behaviour: in 13.0 it does (17 is CUPTI_ERROR_INVALID_METRIC_NAME); in 13.1 it answers 0 for a rollup that does not
# exist.
# Seen: {'13.0.85': [0, 17, 17], '13.1.115': [0, 0, 17]}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti


def look(library):
    names = ("dram__bytes_read.sum", "dram__bytes_read.bogus", "dram__bytes_raed.sum")
    return [cupti.properties(library, "GH100", name)[0] for name in names]


seen = cupti.of_versions(look, {"13.0.85": "nvidia-cuda-cupti", "13.1.115": "nvidia-cuda-cupti"})
print(seen)
sys.exit(0 if seen == {"13.0.85": [0, 17, 17], "13.1.115": [0, 0, 17]} else 1)
PY
