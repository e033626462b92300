#!/usr/bin/env bash
# CUPTI 12.9.79 (nvidia-cuda-cupti-cu12) and 13.0.85 (nvidia-cuda-cupti).
#
# Guess: a CUPTI that lists a chip has the counters of its caches.
# Behaviour: 12.9 lists and opens GB20B (DGX Spark), and has none of L2 (lts__): 17, CUPTI_ERROR_INVALID_METRIC_NAME; those
# of the SMs are there. 13.0 has both.
# Seen: {'12.9.79': [0, 17, 0], '13.0.85': [0, 0, 0]}
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
get() { # PACKAGE VERSION: its libraries in $folder/VERSION
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$folder" "$1==$2"
  python3 -m zipfile -e "$folder"/*-"$2"-*.whl "$folder/$2"
}
get nvidia-cuda-cupti-cu12 12.9.79
get nvidia-cuda-cupti 13.0.85
python3 - "$folder" <<'PY'
import ctypes as c, glob, multiprocessing, os, sys

def load(version):
    [cupti] = glob.glob(f"{sys.argv[1]}/{version}/nvidia/*/lib/libcupti.so.*") or [None]
    c.CDLL(os.path.dirname(cupti) + "/libnvperf_host.so", mode=c.RTLD_GLOBAL)
    return c.CDLL(cupti)

def call(function, *members):
    """The answer, and the members of its parameters, which follow the size and a null pointer."""
    kind = type("Parameters", (c.Structure,), {"_fields_": [("size", c.c_size_t), ("none", c.c_void_p)]
                                               + [(f"m{i}", m[0]) for i, m in enumerate(members)]})
    made = kind()
    last = getattr(kind, f"m{len(members) - 1}")
    made.size = last.offset + last.size
    for i, m in enumerate(members):
        if len(m) > 1: setattr(made, f"m{i}", m[1])
    return function(c.byref(made)), [getattr(made, f"m{i}") for i in range(len(members))]

def open_chip(cupti, chip):
    return call(cupti.cuptiProfilerHostInitialize, (c.c_int, 0), (c.c_char_p, chip.encode()), (c.c_void_p,), (c.c_void_p,))

def properties(cupti, chip, name):
    """The answer, and the scope, which 13.1 tells: 0 is of a context, 1 of the device."""
    host = open_chip(cupti, chip)[1][3]
    members = [(c.c_void_p, host), (c.c_char_p, name.encode()), (c.c_char_p,), (c.c_char_p,), (c.c_char_p,), (c.c_int,)]
    for more in ([(c.c_int,)], []):
        answer, told = call(cupti.cuptiProfilerHostGetMetricProperties, *members, *more)
        if answer != 1: break
    return answer, told[6] if more else None

def of_versions(function, *versions):
    """Each version in a process of its own: both libraries have one soname."""
    made = {}
    for version in versions:
        with multiprocessing.get_context("fork").Pool(1) as pool: made[version] = pool.apply(function, (version,))
    return made

def look(version):
    cupti = load(version)
    return [open_chip(cupti, "GB20B")[0]] + [properties(cupti, "GB20B", name)[0] for name in ("lts__t_sectors.sum", "sm__inst_executed.sum")]
seen = of_versions(look, "12.9.79", "13.0.85")
print(seen)
sys.exit(0 if seen == {"12.9.79": [0, 17, 0], "13.0.85": [0, 0, 0]} else 1)
PY
