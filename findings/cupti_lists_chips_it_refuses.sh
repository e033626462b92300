#!/usr/bin/env bash
# CUPTI 12.6.80 (nvidia-cuda-cupti-cu12).
#
# Guess: cuptiProfilerHostInitialize opens each chip that cuptiProfilerHostGetSupportedChips lists.
# Behaviour: 17 of 36 are refused with 27, CUPTI_ERROR_NOT_SUPPORTED: those before GV100, GV11B, and four of Tegra.
# Seen: 36 listed, refused {'GM107': 27, ..., 'GP10B': 27, 'GV11B': 27, 'T124': 27, 'T132': 27, 'T186': 27, 'T210': 27}
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
get() { # PACKAGE VERSION: its libraries in $folder/VERSION
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$folder" "$1==$2"
  python3 -m zipfile -e "$folder"/*-"$2"-*.whl "$folder/$2"
}
get nvidia-cuda-cupti-cu12 12.6.80
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

cupti = load("12.6.80")
_, (count, names) = call(cupti.cuptiProfilerHostGetSupportedChips, (c.c_size_t,), (c.POINTER(c.c_char_p),))
refused = {names[i].decode(): open_chip(cupti, names[i].decode())[0] for i in range(count)}
refused = {chip: answer for chip, answer in refused.items() if answer}
seen = f"{count} listed, refused {refused}"
print(seen)
sys.exit(0 if count == 36 and len(refused) == 17 and set(refused.values()) == {27} else 1)
PY
