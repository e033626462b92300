#!/usr/bin/env bash
# CUPTI 13.1.115 (nvidia-cuda-cupti), the release whose Host API tells the scope of a metric without a driver.
#
# Guess: a counter of L2 has one scope, the context's, also in its form for sampling on the fly (_realtime): a metric of the
# same unit lts__ can be counted in the same pass.
# Behaviour: on GB202 some lts__..._realtime are of the device (1), others and the same on GH100 of the context (0), so a
# list of one unit's metrics can be refused as mixed.
# Seen: [('GB202', 'lts__t_requests_srcunit_tex', 0, 0), ('GB202', 'lts__t_requests_srcunit_tex_realtime', 0, 1), ...]
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
get() { # PACKAGE VERSION: its libraries in $folder/VERSION
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$folder" "$1==$2"
  python3 -m zipfile -e "$folder"/*-"$2"-*.whl "$folder/$2"
}
get nvidia-cuda-cupti 13.1.115
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

cupti = load("13.1.115")
seen = [(chip, name, *properties(cupti, chip, name + ".sum")) for chip, name in (
    ("GB202", "lts__t_requests_srcunit_tex"), ("GB202", "lts__t_requests_srcunit_tex_realtime"),
    ("GB202", "lts__lts2xbar_cycles_active_realtime"), ("GH100", "lts__lts2xbar_cycles_active_realtime"))]
print(seen)
sys.exit(0 if [one[2:] for one in seen] == [(0, 0), (0, 1), (0, 0), (0, 0)] else 1)
PY
