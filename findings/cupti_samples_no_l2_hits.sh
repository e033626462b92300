#!/usr/bin/env bash
# CUPTI 13.1.115 (nvidia-cuda-cupti), its Host API for PM sampling.
#
# Guess: what the Range Profiler counts in one pass can be sampled, so that the hit rate of L2 and the instructions of
# the tensor cores can be had over time without another run.
# Behaviour: the sectors of L2 are sampled on every chip, those that hit and those that read on none, though both are
# counted in one pass on all. Tensor instructions alone take two passes when sampled on GH100, and one on GA102 and
# AD102; the cycles in which the tensor cores are busy take one.
# Seen: 30 of 30 chips count hits and reads, and none samples them. Passes of tensor instructions, counted and sampled:
# {'GH100': (1, 2), 'GA102': (1, 1), 'AD102': (1, 1)}
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import sys

sys.path.insert(0, ".")
import cupti

KINDS = (cupti.RANGES, cupti.SAMPLING)
L2 = ("lts__t_sectors", "lts__t_sectors_lookup_hit", "lts__t_sectors_op_read")
TENSOR = "sm__inst_executed_pipe_tensor.sum"


def look(library):
    chips = cupti.chips(library)
    l2 = {name: [sum(cupti.passes(library, chip, [name + ".sum"], kind) == 1 for chip in chips) for kind in KINDS]
          for name in L2}
    tensor = {chip: tuple(cupti.passes(library, chip, [TENSOR], kind) for kind in KINDS)
              for chip in ("GH100", "GA102", "AD102")}
    return len(chips), l2, tensor


chips, l2, tensor = cupti.of_versions(look, {"13.1.115": "nvidia-cuda-cupti"})["13.1.115"]
print(chips, l2, tensor)
sectors, *parts = l2.values()
sys.exit(0 if sectors == [chips, chips] and all(each[0] > 0 and each[1] == 0 for each in parts)
         and tensor == {"GH100": (1, 2), "GA102": (1, 1), "AD102": (1, 1)} else 1)
PY
