"""The hand-written CUPTI and driver declarations agree with the toolkit's own headers, of each version that can be had.

The headers are the installed toolkit's; without one, or with --full, they are fetched by pip, where there is a network.
abi_*.abi is C++ with tables, in which a pair is THEIRS=OURS, or THEIRS alone where ours is the same in small letters:

    values PREFIX = ENUMERATION: NAME, ...;        codes of CUPTI, which begin with the prefix
    functions PREFIX = TABLE: NAME, ...;           parameters of one size and class
    fields THEIR_TYPE = OUR_TYPE: FIELD, ...;      place and size
    record MACRO = OUR_TYPE: FIELD, ...;           the same as a macro of their type, with the size of the whole
    params THEIR_TYPE = MEMBER [TYPE [FUNCTION]]: FIELD, ...;   a function and its structure of parameters"""
import pathlib
import re
import sys
import zipfile

from common import FULL, HERE, INCLUDE, ROOT, WARNINGS, Checks, compilers, left_out, run, skip

TOOLKIT = pathlib.Path("/usr/local/cuda/include")
# Fetched with --full; the last one alone without a toolkit.
RELEASES = ("12.1", "12.4", "12.8", "12.9", "13.0", "13.1", "13.2", "13.3", "13.4", "13.5")


def fetch(release):
    """The include folders of a release, from its wheels; None where they cannot be had."""
    major = release.split(".")[0]
    suffix = f"-cu{major}" if major == "12" else ""
    folder = pathlib.Path(f"headers-{release}").absolute()
    for part in ("cupti", "runtime"):
        if not (folder / part).is_dir():
            wheels = folder / "wheels" / part
            got = run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                       "--timeout=15", "--retries=1", "-d", wheels, f"nvidia-cuda-{part}{suffix}=={release}.*"])
            found = sorted(wheels.glob("*.whl"))
            if got.returncode != 0 or not found:
                return None
            with zipfile.ZipFile(found[0]) as wheel:
                wheel.extractall(folder / part, [n for n in wheel.namelist() if "/include/" in n])
            found[0].unlink()
    found = [p.parent for name in ("cupti.h", "cuda.h") for p in sorted(folder.rglob(name))]
    return found if len(found) >= 2 else None


def driver_calls(name, folders):
    """A folder with driver_calls.hpp: CUPTI's driver functions whose names speak of captures, graphs or memory."""
    header = next(f / "cupti_driver_cbid.h" for f in folders if (f / "cupti_driver_cbid.h").exists())
    calls = re.findall(r"CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=", header.read_text(encoding="utf-8"))
    chosen = [call for call in calls if re.search("Capture|Graph|Alloc|Map|Free|Pool|^cuMem", call)]
    if len(chosen) < 200:
        sys.exit(f"{header}: only {len(chosen)} driver functions were found in it")
    folder = pathlib.Path(f"calls-{name}".replace(" ", "-")).absolute()
    folder.mkdir(exist_ok=True)
    (folder / "driver_calls.hpp").write_text("".join(f"CALL({call})\n" for call in chosen), encoding="utf-8")
    return folder


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def pairs(text, theirs="", ours=""):
    for item in filter(None, (each.strip() for each in text.split(","))):
        name, _, own = item.partition("=")
        yield theirs + name.strip(), ours + (own.strip() or snake(name.strip()))


def assertions(kind, left, right, text):
    """A table's lines of C++, in the macros of abi_common.hpp."""
    if kind == "values":
        return [f"SAME_VALUE({a}, {b})" for a, b in pairs(text, left, right + "::")]
    if kind == "functions":
        return [f"SAME_FUNCTION({a}, {right}, {b})" for a, b in pairs(text, left)]
    if kind == "params":
        theirs = left + "_Params"
        member, params, function, *_ = [*right.split(), *[""] * 2]
        params = params or member + "_params"
        function = function or left.replace("CUpti_", "cupti").replace("_", "")
        return [f"SAME_PARAMS({theirs}, {params}, {member}, {function})",
                *(f"SAME_FIELD({theirs}, {a}, ours::{params}, {b})" for a, b in pairs(text))]
    fields = [f"SAME_FIELD({'T' if kind == 'record' else left}, {a}, {right}, {b})" for a, b in pairs(text)]
    return [f"#define {left}(T) PREFIX_OF(T, {right})", *fields] if kind == "record" else fields


def expanded(path):
    """C++ of a file with tables, in a folder of this test."""
    def of(found):
        made = assertions(found[1], *(part.strip() for part in found[2].split("=")), found[3].replace("\n", " "))
        return "; ".join(made) if found[1] == "record" else ";\n".join(made) + ";"
    made = pathlib.Path(path.stem + ".cpp").absolute()
    made.write_text(re.sub(r"^(values|functions|params|record|fields) ((?:[^:;]|::)+):(?!:)([^;]*);", of,
                           path.read_text(encoding="utf-8"), flags=re.M), encoding="utf-8")
    return made


def main():
    sources = [*map(expanded, sorted(HERE.glob("abi_*.abi"))), *sorted(HERE.glob("abi_*.cpp"))]
    sets = {}
    if (TOOLKIT / "cupti.h").exists():
        sets["installed toolkit"] = [TOOLKIT]
    for release in RELEASES if FULL else () if sets else RELEASES[-1:]:
        folders = fetch(release)
        if folders:
            sets[release] = folders
        else:
            left_out(f"headers of {release}", "they could not be fetched")
    if not sets:
        skip("no CUPTI headers: no toolkit here, and none could be fetched")
    checks = Checks()
    for name, folders in sets.items():
        folders = [*folders, driver_calls(name, folders)]
        for compiler in compilers():
            checks.all_succeed([(f"{source.name}, {compiler}, {name}",
                                 [compiler, "-std=c++17", *WARNINGS, f"-I{HERE}", f"-I{INCLUDE}", f"-I{ROOT / 'src'}"] +
                                 [f"-isystem{f}" for f in folders] + ["-fsyntax-only", source], None)
                                for source in sources])
    return checks.end()
