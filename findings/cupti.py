"""CUPTI's Host API from the wheels of PyPI, without a device: what the scripts cupti_*.sh share."""

import atexit
import ctypes as c
import glob
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile

folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, folder)


def load(package, version):
    """The library of a wheel. A process has one, since those of all versions have one soname."""
    place = f"{folder}/{version}"
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", place,
                    f"{package}=={version}"], check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", *glob.glob(f"{place}/*.whl"), place], check=True)
    [cupti] = glob.glob(f"{place}/nvidia/*/lib/libcupti.so.*")
    c.CDLL(os.path.dirname(cupti) + "/libnvperf_host.so", mode=c.RTLD_GLOBAL)
    return c.CDLL(cupti)


def call(function, *members):
    """The answer, and the members of its parameters, which follow the size and a null pointer."""
    fields = [("size", c.c_size_t), ("none", c.c_void_p)] + [(f"m{i}", m[0]) for i, m in enumerate(members)]
    kind = type("Parameters", (c.Structure,), {"_fields_": fields})
    made = kind()
    last = getattr(kind, f"m{len(members) - 1}")
    made.size = last.offset + last.size
    for i, m in enumerate(members):
        if len(m) > 1:
            setattr(made, f"m{i}", m[1])
    return function(c.byref(made)), [getattr(made, f"m{i}") for i in range(len(members))]


def chips(cupti):
    """The chips that it lists."""
    _, (count, names) = call(cupti.cuptiProfilerHostGetSupportedChips, (c.c_size_t,), (c.POINTER(c.c_char_p),))
    return [names[i].decode() for i in range(count)]


RANGES, SAMPLING = 0, 1  # what a host object is for


def open_chip(cupti, chip, kind=RANGES):
    """The answer, and the host object of a chip."""
    answer, members = call(cupti.cuptiProfilerHostInitialize, (c.c_int, kind), (c.c_char_p, chip.encode()),
                           (c.c_void_p,), (c.c_void_p,))
    return answer, members[3]


def passes(cupti, chip, names, kind=RANGES):
    """How many passes the metrics take together; 0 where the chip lacks one."""
    host = (c.c_void_p, open_chip(cupti, chip, kind)[1])
    texts = (c.c_char_p * len(names))(*[name.encode() for name in names])
    answer, _ = call(cupti.cuptiProfilerHostConfigAddMetrics, host, (c.c_void_p, c.cast(texts, c.c_void_p)),
                     (c.c_size_t, len(names)))
    if answer != 0:
        return 0
    _, (_, size) = call(cupti.cuptiProfilerHostGetConfigImageSize, host, (c.c_size_t,))
    image = (c.c_uint8 * size)()
    place = (c.c_void_p, c.cast(image, c.c_void_p))
    call(cupti.cuptiProfilerHostGetConfigImage, host, (c.c_size_t, size), place)
    return call(cupti.cuptiProfilerHostGetNumOfPasses, (c.c_size_t, size), place, (c.c_size_t,))[1][2]


def properties(cupti, chip, name):
    """The answer, and the scope, which 13.1 tells: 0 is of a context, 1 of the device."""
    members = [(c.c_void_p, open_chip(cupti, chip)[1]), (c.c_char_p, name.encode()), (c.c_char_p,), (c.c_char_p,),
               (c.c_char_p,), (c.c_int,)]
    for more in ([(c.c_int,)], []):
        answer, told = call(cupti.cuptiProfilerHostGetMetricProperties, *members, *more)
        if answer != 1:
            break
    return answer, told[6] if more else None


def of_versions(look, packages):
    """What `look` finds in the library of each version, in a process of its own."""
    found = {}
    for version, package in packages.items():
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found[version] = pool.apply(_look, (look, package, version))
    return found


def _look(look, package, version):
    return look(load(package, version))
