#!/usr/bin/env bash
# CUPTI 13.1.115 (nvidia-cuda-cupti), its Host API for PM sampling.
#
# Guess: what the Range Profiler counts in one pass can be sampled, so that the hit rate of L2 and the instructions of the
# tensor cores can be had over time without another run.
# Behaviour: the sectors of L2 are sampled on every chip, those that hit and those that read on none, though both are
# counted in one pass on all. Tensor instructions alone take two passes when sampled on GH100, and one on GA102 and AD102;
# the cycles in which the tensor cores are busy take one.
# Seen: of 30 chips 30 count hits and reads, and none samples them; {'GH100': (1, 2), 'GA102': (1, 1), 'AD102': (1, 1)} passes, counted and sampled
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 -B - <<'PY'
import ctypes as c
import sys

sys.path.insert(0, ".")
import cupti

RANGES, SAMPLING = 0, 1


def passes(library, chip, name, kind):
    """0 where the chip has no such counter."""
    _, members = cupti.call(library.cuptiProfilerHostInitialize, (c.c_int, kind), (c.c_char_p, chip.encode()),
                            (c.c_void_p,), (c.c_void_p,))
    host = (c.c_void_p, members[3])
    texts = (c.c_char_p * 1)(name.encode())
    answer, _ = cupti.call(library.cuptiProfilerHostConfigAddMetrics, host, (c.c_void_p, c.cast(texts, c.c_void_p)),
                           (c.c_size_t, 1))
    if answer != 0:
        return 0
    _, (_, size) = cupti.call(library.cuptiProfilerHostGetConfigImageSize, host, (c.c_size_t,))
    image = (c.c_uint8 * size)()
    place = (c.c_void_p, c.cast(image, c.c_void_p))
    cupti.call(library.cuptiProfilerHostGetConfigImage, host, (c.c_size_t, size), place)
    return cupti.call(library.cuptiProfilerHostGetNumOfPasses, (c.c_size_t, size), place, (c.c_size_t,))[1][2]


def look(library):
    chips = cupti.chips(library)
    l2 = {name: [sum(passes(library, chip, name + ".sum", kind) == 1 for chip in chips) for kind in (RANGES, SAMPLING)]
          for name in ("lts__t_sectors", "lts__t_sectors_lookup_hit", "lts__t_sectors_op_read")}
    tensor = {chip: tuple(passes(library, chip, "sm__inst_executed_pipe_tensor.sum", kind) for kind in (RANGES, SAMPLING))
              for chip in ("GH100", "GA102", "AD102")}
    return len(chips), l2, tensor


chips, l2, tensor = cupti.of_versions(look, {"13.1.115": "nvidia-cuda-cupti"})["13.1.115"]
print(chips, l2, tensor)
sectors, *parts = l2.values()
sys.exit(0 if sectors == [chips, chips] and all(each[0] > 0 and each[1] == 0 for each in parts)
         and tensor == {"GH100": (1, 2), "GA102": (1, 1), "AD102": (1, 1)} else 1)
PY
