#!/usr/bin/env bash
# CUPTI 12.6.80 (nvidia-cuda-cupti-cu12).
#
# Guess: cuptiProfilerHostInitialize opens each chip that cuptiProfilerHostGetSupportedChips lists.
# Behaviour: 17 of 36 are refused with 27, CUPTI_ERROR_NOT_SUPPORTED: those before GV100, GV11B, and four of Tegra.
# Seen: 36 listed, refused {'GM107': 27, ..., 'GP10B': 27, 'GV11B': 27, 'T124': 27, 'T132': 27, 'T186': 27, 'T210': 27}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti

library = cupti.load("nvidia-cuda-cupti-cu12", "12.6.80")
listed = cupti.chips(library)
answers = {chip: cupti.open_chip(library, chip)[0] for chip in listed}
refused = {chip: answer for chip, answer in answers.items() if answer}
print(f"{len(listed)} listed, refused {refused}")
sys.exit(0 if len(listed) == 36 and len(refused) == 17 and set(refused.values()) == {27} else 1)
PY
