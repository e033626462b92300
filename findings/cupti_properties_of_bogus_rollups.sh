#!/usr/bin/env bash
# CUPTI 13.0.85 and 13.1.115 (nvidia-cuda-cupti).
#
# Guess: cuptiProfilerHostGetMetricProperties tells whether a name with its rollup exists.
# Behaviour: in 13.0 it does (17 is CUPTI_ERROR_INVALID_METRIC_NAME); in 13.1 it answers 0 for a rollup that does not exist.
# Seen: {'13.0.85': [0, 17, 17], '13.1.115': [0, 0, 17]}
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
get() { # PACKAGE VERSION: its libraries in $folder/VERSION
  python3 -m pip download -q --no-deps --only-binary=:all: -d "$folder" "$1==$2"
  python3 -m zipfile -e "$folder"/*-"$2"-*.whl "$folder/$2"
}
get nvidia-cuda-cupti 13.0.85
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

def look(version):
    cupti = load(version)
    return [properties(cupti, "GH100", name)[0] for name in ("dram__bytes_read.sum", "dram__bytes_read.bogus", "dram__bytes_raed.sum")]
seen = of_versions(look, "13.0.85", "13.1.115")
print(seen)
sys.exit(0 if seen == {"13.0.85": [0, 17, 17], "13.1.115": [0, 0, 17]} else 1)
PY
