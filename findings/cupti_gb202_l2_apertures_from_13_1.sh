#!/usr/bin/env bash
# CUPTI 13.0.85 and 13.1.115 (nvidia-cuda-cupti).
#
# Guess: GB202 has a part of L2 for host memory (syslts__), as GB100 has, so lts__ counts no sectors of host memory
# there, as on GB100; a minor release changes nothing of that.
# Behaviour: 13.1 has lts__t_sectors_aperture_sysmem on GB202, beside syslts__t_sectors_aperture_sysmem. By names, one
# release says that host memory passes the one part of L2 alone, and the next one that it passes the other too. GB100
# has syslts__ alone in both, GB10B lts__ alone.
# Seen: {'13.0.85': {'GB202': [17, 0], 'GB100': [17, 0], 'GB10B': [0, 17]},
#        '13.1.115': {'GB202': [0, 0], 'GB100': [17, 0], 'GB10B': [0, 17]}}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti


def look(library):
    names = [f"{part}__t_sectors_aperture_sysmem.sum" for part in ("lts", "syslts")]
    return {chip: [cupti.properties(library, chip, name)[0] for name in names] for chip in ("GB202", "GB100", "GB10B")}


seen = cupti.of_versions(look, {"13.0.85": "nvidia-cuda-cupti", "13.1.115": "nvidia-cuda-cupti"})
print(seen)
before = {"GB202": [17, 0], "GB100": [17, 0], "GB10B": [0, 17]}
sys.exit(0 if seen == {"13.0.85": before, "13.1.115": {**before, "GB202": [0, 0]}} else 1)
PY
