"""python/wheel.py: the wheel of the build is installed by pip into an environment of its own, and everything in it works there: the
command, the library that it finds, the two modules and the manual page; its bytes are the same again, and its tag is honest."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from _script import build, end, expect, library, needs, program, root, skip, that

needs(program, library)
if sys.version_info < (3, 8):
    skip("the wheel needs Python 3.8 or later")
environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRATA", "NVTX_", "CUDA_INJECTION", "LD_PRELOAD", "PYTHON", "PIP_"))}
here = pathlib.Path("wheel").resolve()
shutil.rmtree(here, ignore_errors=True)
here.mkdir()
os.chdir(here)


def ran(*words, code=0, **options):
    return expect(code, *words, env=environment, **options)


script = root / "python/wheel.py"
if subprocess.run([sys.executable, "-m", "venv", "environment"], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode != 0:
    skip("python3 -m venv does not work here: apt-get install python3-venv")

# The file: its name, its bytes, what it has.
wheel = pathlib.Path(ran(sys.executable, "-B", script, build, "--out", "dist").stdout.strip())
again = pathlib.Path(ran(sys.executable, "-B", script, build, "--out", "again/deeper").stdout.strip())
that(wheel.parent == pathlib.Path("dist") and wheel.name == again.name and wheel.read_bytes() == again.read_bytes(), "other bytes for the same build")
version = ran(build / "tools/strata", "--version").stdout.split()[-1]
machine = os.uname().machine
named = re.fullmatch(rf"strata_profiler-{re.escape(version)}-py3-none-(manylinux_2_(\d+)|linux)_{machine}\.whl", wheel.name)
that(named, f"its name is {wheel.name}")
archive = zipfile.ZipFile(wheel)
files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
about, data = f"strata_profiler-{version}.dist-info", f"strata_profiler-{version}.data"
that(archive.getinfo(f"{data}/scripts/strata").external_attr >> 16 == 0o100755, "the command is not executable")
rows = list(csv.reader(io.StringIO(files[f"{about}/RECORD"].decode())))
that(sorted(row[0] for row in rows) == sorted(files), f"RECORD has other files: {rows}")
for name, digest, size in rows:
    own = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
    that((digest, size) == (("", "") if name.endswith("/RECORD") else (f"sha256={own}", str(len(files[name])))), f"RECORD: {name}, {digest}, {size}")
that(f"\nVersion: {version}\n" in files[f"{about}/METADATA"].decode(), "METADATA has another version")
that(f"\nTag: py3-none-{wheel.stem.split('-', 4)[4]}\n" in files[f"{about}/WHEEL"].decode(), "WHEEL has another tag than the name")
if named and named.group(2) and shutil.which("readelf"):  # as another reader of ELF has it
    told = "".join(ran("readelf", "-V", build / path).stdout for path in ("tools/strata", "tools/inject/libstrata_inject.so"))
    newest = max(int(number) for number in re.findall(r"Name: GLIBC_2\.(\d+)", told))
    that(int(named.group(2)) >= newest, f"{wheel.name} needs glibc 2.{newest}")

# Installed into an environment, and into a folder.
python = here / "environment/bin/python"
pip = ran(python, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps", wheel.resolve())
strata, library = here / "environment/bin/strata", here / "environment/libexec/strata/libstrata_inject.so"
if pip.returncode == 0:
    that(ran(strata, "help", "out").stdout == ran(build / "tools/strata", "help", "out").stdout, "strata help out")
    shown = ran(strata, "run", "--", "env").stdout
    that(f"LD_PRELOAD={library}\n" in shown, f"strata run takes another library: {shown}")
    marked = "import strata\nwith strata.step(), strata.range('a'): pass\nprint(strata.is_loaded())"
    that(ran(python, "-c", marked, cwd="/").stdout == "False\n", "import strata")
    that(ran(strata, "run", "--out", here / "out", "host", "--", python, "-c", marked).stdout == "True\n", "strata run of a program with import strata")
    with open("out/ranges.csv", newline="", encoding="utf-8") as file:
        that([row["path"] for row in csv.DictReader(file) if row["path"]] == ["a"], "ranges of a program with import strata")
    that(ran(strata, "explain", "out").stdout.startswith("run "), "strata explain of what strata run wrote")
    that((here / "environment/share/man/man1/strata.1").read_bytes() == (build / "tools/strata.1").read_bytes(), "no manual page")
    ran(python, "-m", "pip", "uninstall", "--yes", "strata-profiler")
    that(not strata.exists() and not library.exists(), "it is not removed")
ran(python, "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps", "--target", "target", wheel.resolve())
that(f"LD_PRELOAD={here}/target/libexec/strata/libstrata_inject.so\n" in ran("target/bin/strata", "run", "--", "env").stdout, "strata run below --target")

# What keeps a wheel from being made is a sentence with its fix.
made = here / "made"
(made / "tools").mkdir(parents=True)
(made / "tools/inject").mkdir(parents=True)


def refused(words):
    told = ran(sys.executable, "-B", script, made, "--out", "none", code=1)
    that(told.stderr == f"wheel.py: {words}\n" and not told.stdout and not list(here.glob("none/*")), f"it says {told.stdout}{told.stderr}, not {words}")


refused(f"{made}/tools/strata was not built: cmake --build {made} --target strata_command builds it.")
shutil.copy(root / "README.md", made / "tools/strata")
refused(f"{made}/tools/strata is no program of Linux for x86_64 or aarch64: build it for one.")
shutil.copy(build / "tools/strata", made / "tools")
refused(f"{made}/tools/inject/libstrata_inject.so was not built: cmake --build {made} --target strata_inject builds it.")
shutil.copy(build / "tools/inject/libstrata_inject.so", made / "tools/inject")
head = bytearray((build / "tools/strata").read_bytes())
other = 183 if machine == "x86_64" else 62
head[18:20] = other.to_bytes(2, "little")
(made / "tools/strata").write_bytes(head)
refused("The command and its library are for different machines: build both in one folder.")
head[18:20] = (8).to_bytes(2, "little")
(made / "tools/strata").write_bytes(head)
refused(f"{made}/tools/strata is for machine 8 of ELF: a wheel is made for x86_64 and aarch64.")
data = bytearray((build / "tools/strata").read_bytes())
(made / "tools/strata").write_bytes(data[:64])
refused(f"{made}/tools/strata is cut short: build it again.")
data[60:62] = b"\0\0"  # the count of sections
(made / "tools/strata").write_bytes(data)
refused(f"{made}/tools/strata has no sections, which say what it needs: build it again, and strip symbols alone.")

# The tag by what is needed: a version beyond all glibc, or a library that not all systems have, is no manylinux.
sys.path.insert(0, str(script.parent))
sys.dont_write_bytecode = True
import wheel as maker
for wanted, glibc in (("GLIBC_2.2.5", 2), ("GLIBC_2.34", 34), ("GLIBC_ABI_DT_RELR", 36), ("GLIBC_PRIVATE", None), ("GLIBCXX_3.4", 17), ("GLIBCXX_3.4.19", 17),
                     ("GLIBCXX_3.4.29", 34), ("GLIBCXX_3.4.31", 39), ("GLIBCXX_3.4.34", None), ("CXXABI_1.3", 17), ("CXXABI_1.3.13", 34), ("GCC_3.0", 17),
                     ("GCC_4.8.0", 17), ("GCC_12.0.0", 35), ("OPENSSL_3", None)):
    that(maker.glibc_of(wanted) == glibc, f"{wanted} is of glibc 2.{maker.glibc_of(wanted)}")


class Program:
    """A file as its wheel sees it."""

    machine = "x86_64"

    def __init__(self, *needs, library="libc.so.6"):
        self.needs, self.library = needs, library

    def versions(self):
        return self.needs

    def libraries(self):
        return [self.library]


for programs, tag in (([Program("GLIBC_2.2.5")], "manylinux_2_17_x86_64"), ([Program("GLIBC_2.34", "GLIBCXX_3.4.30"), Program("GLIBC_2.28")], "manylinux_2_35_x86_64"),
                      ([Program("GLIBCXX_3.4.99")], "linux_x86_64"), ([Program(library="libc.musl-x86_64.so.1")], "linux_x86_64")):
    that(maker.platform_of(programs) == tag, f"{maker.platform_of(programs)} is not {tag}")

end(wheel.name)
