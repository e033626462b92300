#!/usr/bin/env bash
# CUPTI 12.8.90 and 12.9.79 (nvidia-cuda-cupti-cu12).
#
# Guess: a metric that a release has for a chip is there in the next release of the same major version.
# Behaviour: on GB202 (RTX 5090) 12.8 has dram__bytes_read.sum, and 12.9 answers 17, CUPTI_ERROR_INVALID_METRIC_NAME;
# it has dram__bytes_op_read.sum, which 12.8 has not. GB100 keeps the first name.
# Seen: {'12.8.90': {'GB202': [0, 17], 'GB100': [0, 17]}, '12.9.79': {'GB202': [17, 0], 'GB100': [0, 17]}}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti


def look(library):
    names = ("dram__bytes_read.sum", "dram__bytes_op_read.sum")
    return {chip: [cupti.properties(library, chip, name)[0] for name in names] for chip in ("GB202", "GB100")}


seen = cupti.of_versions(look, {"12.8.90": "nvidia-cuda-cupti-cu12", "12.9.79": "nvidia-cuda-cupti-cu12"})
print(seen)
expected = {"12.8.90": {"GB202": [0, 17], "GB100": [0, 17]}, "12.9.79": {"GB202": [17, 0], "GB100": [0, 17]}}
sys.exit(0 if seen == expected else 1)
PY
