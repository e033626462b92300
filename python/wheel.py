#!/usr/bin/env python3
"""Makes a wheel of a build, for pip and pipx: the command strata, the library that it loads into
programs, and strata.py. The same build gives the same bytes.

    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --target strata_command strata_inject
    python3 python/wheel.py build
    pipx install ./strata_profiler-*.whl
"""

import argparse
import base64
import hashlib
import pathlib
import re
import struct
import sys
import zipfile

NAME = "strata_profiler"
SUMMARY = "Tells where programs spend their time on NVIDIA GPUs, and what to do about it"
root = pathlib.Path(__file__).resolve().parent.parent

MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine
STRING_TABLE, DYNAMIC, NEEDED_VERSIONS = 3, 6, 0x6FFFFFFE  # sh_type
NEEDED = 1  # d_tag
# The libraries that each system of PEP 600 has, and the N of the glibc 2.N beside which all systems have a version of
# the others, by its last number: as auditwheel has them.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libstdc++.so.6",
             "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OLDEST_GLIBC = 17
GLIBC_OF = {
    "GLIBCXX_3.4": {19: 17, 22: 24, 24: 27, 28: 31, 29: 34, 30: 35, 33: 39},
    "CXXABI_1.3": {7: 17, 10: 24, 11: 27, 12: 31, 13: 34, 15: 39},
    "GCC": {4: 17, 7: 27, 12: 35, 14: 39},
}


class Mistake(Exception):
    """What keeps a wheel from being made, and the fix."""


# --- what a program needs of a system --------------------------------------------------------------------------------


class Elf:
    """The machine, the libraries and the versions that a file of ELF, of 64 bits and little-endian, needs."""

    def __init__(self, path):
        self.path = path
        self.data = path.read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise Mistake(f"{path} is no program of Linux for x86_64 or aarch64: build it for one.")
        machine = self.read("<H", 18)[0]
        if machine not in MACHINES:
            raise Mistake(f"{path} is for machine {machine} of ELF: a wheel is made for x86_64 and aarch64.")
        self.machine = MACHINES[machine]
        offset, size, count = self.read("<Q", 40)[0], self.read("<H", 58)[0], self.read("<H", 60)[0]
        self.sections = [self.read("<IIQQQQIIQQ", offset + number * size) for number in range(count)]
        if not self.sections:
            raise Mistake(f"{path} has no sections, which say what it needs: build it again, and strip symbols alone.")

    def read(self, layout, offset):
        try:
            return struct.unpack_from(layout, self.data, offset)
        except struct.error:
            raise Mistake(f"{self.path} is cut short: build it again.") from None

    def sections_of(self, kind):
        """Offset and size of each section of a kind, with the offset of its texts."""
        for section in self.sections:
            if section[1] == kind:
                yield section[4], section[5], self.sections[section[6]][4]

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode("ascii")

    def libraries(self):
        for offset, size, texts in self.sections_of(DYNAMIC):
            for entry in range(offset, offset + size, 16):
                tag, value = self.read("<QQ", entry)
                if tag == NEEDED:
                    yield self.text(texts + value)

    def versions(self):
        """Such as GLIBC_2.34."""
        for offset, _, texts in self.sections_of(NEEDED_VERSIONS):
            library = offset
            while library is not None:
                _, count, _, first, next_library = self.read("<HHIII", library)
                version = library + first
                for _ in range(count):
                    _, _, _, name, next_version = self.read("<IHHII", version)
                    yield self.text(texts + name)
                    version += next_version
                library = library + next_library if next_library else None


def glibc_of(version):
    """The N of the glibc 2.N beside which all systems have this version of a library; None: no such is known."""
    if version == "GLIBC_ABI_DT_RELR":
        return 36
    glibc = re.fullmatch(r"GLIBC_2\.(\d+)(?:\.\d+)?", version)
    if glibc:
        return int(glibc.group(1))
    for name, releases in GLIBC_OF.items():
        number = re.fullmatch(rf"{re.escape(name)}(?:[._](\d+)[.\d]*)?", version)
        if number:
            return next((glibc for most, glibc in releases.items() if int(number.group(1) or 0) <= most), None)
    return None


def platform_of(files):
    """The tag of what runs them: manylinux with its glibc, or linux where they need what not all systems have."""
    machine = files[0].machine
    if any(file.machine != machine for file in files):
        raise Mistake("The command and its library are for different machines: build both in one folder.")
    needed = [glibc_of(version) for file in files for version in file.versions()]
    others = {library for file in files for library in file.libraries()} - LIBRARIES
    if others or None in needed:
        return f"linux_{machine}"
    return f"manylinux_2_{max([OLDEST_GLIBC, *needed])}_{machine}"


# --- the wheel -------------------------------------------------------------------------------------------------------


def version():
    text = (root / "include/strata/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.findall(r"^#define STRATA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text, re.M))


def built(path, build, target):
    if not path.exists():
        raise Mistake(f"{path} was not built: cmake --build {build} --target {target} builds it.")
    return path


def command_of(build):
    return built(build / "tools/strata", build, "strata_command")


def library_of(build):
    return built(build / "tools/inject/libstrata_inject.so", build, "strata_inject")


def contents(build, tag):
    """The files of the wheel by their names in it, without RECORD."""
    about, data = f"{NAME}-{version()}.dist-info", f"{NAME}-{version()}.data"
    metadata = ["Metadata-Version: 2.1", f"Name: {NAME.replace('_', '-')}", f"Version: {version()}",
                f"Summary: {SUMMARY}", "License: MIT", "Requires-Python: >=3.8"]
    wheel = ["Wheel-Version: 1.0", "Generator: strata wheel.py", "Root-Is-Purelib: false", f"Tag: {tag}"]
    return {
        "strata.py": (root / "python/strata.py").read_bytes(),
        f"{data}/scripts/strata": command_of(build).read_bytes(),
        f"{data}/data/libexec/strata/libstrata_inject.so": library_of(build).read_bytes(),
        f"{data}/data/share/man/man1/strata.1": built(build / "tools/strata.1", build, "strata_command").read_bytes(),
        f"{about}/METADATA": "\n".join([*metadata, ""]).encode(),
        f"{about}/WHEEL": "\n".join([*wheel, ""]).encode(),
        f"{about}/LICENSE": (root / "LICENSE").read_bytes(),
    }


def with_record(files):
    """The files and RECORD, which has the digest and size of each."""
    rows = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(text)}\n")
    record = f"{NAME}-{version()}.dist-info/RECORD"
    return {**files, record: "".join([*rows, f"{record},,\n"]).encode()}


def write(path, files):
    """Entries have one time and mode, whenever and by whomever they are written."""
    with zipfile.ZipFile(str(path), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # of Unix: it has modes
            is_program = name.endswith("/scripts/strata")
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)


def main():
    reader = argparse.ArgumentParser(description="Makes a wheel of a build of Strata, for pip and pipx.")
    reader.add_argument("build", metavar="BUILD", type=pathlib.Path, help="the folder of the build")
    reader.add_argument("--out", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path(),
                        help="where it is written: here")
    asked = reader.parse_args()
    try:
        tag = f"py3-none-{platform_of([Elf(command_of(asked.build)), Elf(library_of(asked.build))])}"
        path = asked.out / f"{NAME}-{version()}-{tag}.whl"
        asked.out.mkdir(parents=True, exist_ok=True)
        write(path, with_record(contents(asked.build, tag)))
    except (Mistake, OSError) as mistake:
        print(f"wheel.py: {mistake}", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
