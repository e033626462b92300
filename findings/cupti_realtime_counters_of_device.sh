#!/usr/bin/env bash
# CUPTI 13.1.115 (nvidia-cuda-cupti), the release whose Host API tells the scope of a metric without a driver.
#
# Guess: a counter of L2 has one scope, the context's, also in its form for sampling on the fly (_realtime): a metric
# of the same unit lts__ can be counted in the same pass.
# Behaviour: on GB202 some lts__..._realtime are of the device (1), others and the same on GH100 of the context (0), so
# a list of one unit's metrics can be refused as mixed.
# Seen: [('GB202', 'lts__t_requests_srcunit_tex', 0, 0), ('GB202', 'lts__t_requests_srcunit_tex_realtime', 0, 1), ...]
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti

library = cupti.load("nvidia-cuda-cupti", "13.1.115")
seen = [(chip, name, *cupti.properties(library, chip, name + ".sum")) for chip, name in (
    ("GB202", "lts__t_requests_srcunit_tex"), ("GB202", "lts__t_requests_srcunit_tex_realtime"),
    ("GB202", "lts__lts2xbar_cycles_active_realtime"), ("GH100", "lts__lts2xbar_cycles_active_realtime"))]
print(seen)
sys.exit(0 if [one[2:] for one in seen] == [(0, 0), (0, 1), (0, 0), (0, 0)] else 1)
PY
