"""Surroundings: units built in different ways meet in one program, and the program behaves as without Strata.

Each row of the tables builds a program of small units. Without STRATA it is silent and ends as it should; with STRATA
there is one report with the ranges that the row names. Arguments choose parts: ranks runs what programs builds."""
import concurrent.futures
import csv
import os
import pathlib
import re
import shutil

from common import FULL, HERE, IMPLEMENTATION, INCLUDE, ROOT, Checks, clean_environment, compilers, headers, left_out, nvcc, run
from headers import hostile
from odr import ranges

SOURCE = HERE / "surroundings"
LEAVES_OUT = re.compile(r"strata: the ranges of the parts built with Strata \d+\.\d+ are not recorded, because Strata "
                        r"\d+\.\d+ is in this process already: build all parts with one version\n")
NOT_LINKED = "STRATA is set, but this program has no implementation of Strata"
GXX = ["g++", "-O0", "-std=c++17"]


def copy_of(folder, version=None):
    """A vendored copy of the headers, of another version where one is named."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(INCLUDE, folder)
    if version:
        path = pathlib.Path(folder, "strata", "version.hpp")
        text = path.read_text()
        numbers = dict(zip(("MAJOR", "MINOR", "PATCH"), version))
        for name, value in numbers.items():
            text = re.sub(rf"(define STRATA_VERSION_{name}) \d+", rf"\g<1> {value}", text)
        whole = version[0] * 10000 + version[1] * 100 + version[2]
        text = re.sub(r"(define STRATA_VERSION|STRATA_VERSION !=) \d+", rf"\g<1> {whole}", text)
        path.write_text(text)
    return pathlib.Path(folder).absolute()


def behaves(checks, what, program, code, expected, said=lambda text: True):
    """Idle: silent. Asked for: the expected ranges, and on stderr besides the report what `said` accepts."""
    program = pathlib.Path(program).absolute()
    idle = run([program])
    checks.that(idle.returncode == code and not idle.stdout + idle.stderr, f"{what}: silent without STRATA",
                f"  exit code {idle.returncode}\n{idle.stdout}{idle.stderr}")
    out = pathlib.Path(f"out-{program.name}").absolute()
    shutil.rmtree(out, ignore_errors=True)
    traced = run([program], env=clean_environment(STRATA=f"host,out={out},formats=csv"))
    calls = ranges(out)
    checks.that(traced.returncode == code and calls == expected and said(traced.stderr), f"{what}: one report",
                f"  exit code {traced.returncode}\n  expected {expected}\n  recorded {calls}\n{traced.stderr}")


def quiet(text):
    return not [line for line in text.splitlines() if line and "wrote" not in line]


def other_version_said(text):
    return len(LEAVES_OUT.findall(text)) == 1


# name of the object: the compiler and its flags, and what it defines; `bodies` are the implementation, which is dear
def objects():
    own, same, other = (f"-I{folder}" for folder in (INCLUDE, copy_of("same"), copy_of("other", (0, 9, 0))))
    table = {
        "first_17": GXX + [own, "-DUNIT=first"],
        "second_20": GXX + [own, "-DUNIT=second", "-std=c++20"],
        "third_23": GXX + [own, "-DUNIT=third", "-std=c++2b", "-DUMBRELLA"],
        "first_lto": GXX + [own, "-DUNIT=first", "-O2", "-flto"],
        "third_lto": GXX + [own, "-DUNIT=third", "-O1", "-flto", "-DUMBRELLA"],
        "second_same": GXX + [same, "-DUNIT=second", "-fvisibility=hidden"],
        "second_other": GXX + [other, "-DUNIT=second"],
    }
    bodies = {
        "bodies_lto": GXX + [own, "-O1", "-flto", "-fvisibility=hidden"],
        "bodies_other": GXX + [other],
    }
    if "clang++" in compilers():
        table["first_clang"] = ["clang++", "-std=c++20", "-O1", "-fno-exceptions", "-fno-rtti", own, "-DUNIT=first"]
    if nvcc():
        table["first_cu"] = [nvcc(), "-std=c++17", "-arch=sm_80", own, "-DUNIT=first", "-x", "cu"]
    return bodies, table


ALL = {"first": 1, "second": 1, "third": 1}
# (what, what is linked, the units, flags of the linker, the ranges, what is said besides)
PROGRAMS = [
    ("C++17, C++20 and C++23", "first_17.o second_20.o third_23.o bodies.o", "first second third", [], ALL, quiet),
    ("a unit of clang++ without exceptions", "first_clang.o second_20.o third_23.o bodies.o", "first second third", [],
     ALL, quiet),
    ("a unit of nvcc", "first_cu.o second_20.o third_23.o bodies.o", "first second third", ["nvcc"], ALL, quiet),
    ("static libraries", "libthird.a libsecond.a libfirst.a libstrata.a", "first second third",
     ["-Wl,-u,strata_implementation"], ALL, quiet),
    ("the implementation in a library that nobody needs", "libfirst.a libstrata.a", "first", [], None,
     lambda text: NOT_LINKED in text and text.count("\n") == 1),
    ("no implementation", "first_17.o third_23.o", "first third", [], None,
     lambda text: NOT_LINKED in text and text.count("\n") == 1),
    ("LTO but for the implementation", "first_lto.o second_20.o third_23.o bodies.o", "first second third",
     ["-O2", "-flto"], ALL, quiet),
    ("two copies of one version", "first_17.o second_same.o third_23.o bodies.o", "first second third", [], ALL, quiet),
    ("the implementation twice", "bodies.o first_17.o second_20.o third_23.o bodies_again.o", "first second third", [],
     ALL, quiet),
    ("two versions", "first_17.o second_other.o third_23.o bodies.o", "first second third", [],
     {"first": 1, "third": 1}, other_version_said),
    ("two versions, linked the other way round", "second_other.o bodies.o third_23.o first_17.o", "second first third",
     [], {"first": 1, "third": 1}, other_version_said),
    ("two versions, each with an implementation", "first_17.o third_23.o bodies.o second_other.o bodies_other.o",
     "first second third", [], {"first": 1, "third": 1}, other_version_said),
    ("two versions, the other with its implementation first", "second_other.o bodies_other.o first_17.o third_23.o "
     "bodies.o", "first second third", [], {"second": 1}, other_version_said),
]
LTO_PROGRAMS = [
    ("LTO of the implementation alone", "first_17.o second_20.o third_23.o bodies_lto.o", "first second third",
     ["-O1", "-flto"], ALL, quiet),
    ("LTO of units and of the implementation, which is there twice", "bodies_lto.o first_lto.o third_lto.o bodies_lto_again.o", "first third", ["-O1", "-flto"],
     {"first": 1, "third": 1}, quiet),
]
LIBRARIES = {"libfirst.a": "first_17", "libsecond.a": "second_20", "libthird.a": "third_23", "libstrata.a": "bodies"}


def link(number, linked, units, flags):
    names = "".join(f" DO({unit})" for unit in units.split())
    compiler = [nvcc()] if "nvcc" in flags else ["g++"]
    return [*compiler, "-std=c++17", f"-DUNITS(DO)={names}", SOURCE / "program.cpp", *linked.split(),
            *[f for f in flags if f != "nvcc"], "-ldl", "-o", f"program-{number}"]


def programs(checks, table=PROGRAMS):
    bodies, units = objects()
    missing = {"first_clang": "clang++", "first_cu": "nvcc"}
    rows = [row for row in table if not any(name in row[1] and name not in units for name in missing)]
    for name, tool in missing.items():
        if name not in units and any(name in row[1] for row in table):
            left_out(f"units of {tool}", "it is not here")
    checks.bodies()
    parts = {part for row in rows for part in row[1].split()}
    linked = parts | {f"{LIBRARIES[part]}.o" for part in parts & LIBRARIES.keys()}
    sources = [(name, IMPLEMENTATION, flags) for name, flags in bodies.items()]  # first what takes longest
    sources += [(name, SOURCE / "unit.cpp", flags) for name, flags in units.items()]
    built = checks.all_succeed([(f"{name}.o", [*flags, "-c", source, "-o", f"{name}.o"], None)
                                for name, source, flags in sources if f"{name}.o" in linked])
    if any(b.returncode for b in built):
        return
    for again in (part for part in linked if part.endswith("_again.o")):
        shutil.copy(again.replace("_again", ""), again)
    for library in LIBRARIES.keys() & linked:
        run(["ar", "rcs", library, f"{LIBRARIES[library]}.o"])
    links = checks.all_succeed([(f"{what}: links", link(number, parts, units, flags), None)
                                for number, (what, parts, units, flags, _, _) in enumerate(rows)])
    for number, (done, (what, _, units, _, expected, said)) in enumerate(zip(links, rows)):
        if done.returncode == 0:
            behaves(checks, what, f"program-{number}", 40 + len(units.split()), expected, said)


def lto(checks):
    """An implementation under link-time optimisation, which each link compiles once more."""
    programs(checks, LTO_PROGRAMS)


def one_unit(checks):
    """Two copies in one source file: of one version they are one, of two versions an error that says what to do."""
    def includes(folder):
        return f'#include "{pathlib.Path(folder).absolute()}/strata/range.hpp"\n#include <strata/range.hpp>\n'
    syntax = [*GXX, f"-I{INCLUDE}", "-fsyntax-only", "-x", "c++", "-"]
    checks.succeeds("two copies of one version in one unit", syntax, stdin=includes("same"))
    text = (f'#include <strata/version.hpp>\n#include "{pathlib.Path("other").absolute()}/strata/version.hpp"\n')
    for order in (text, "".join(reversed(text.splitlines(True)))):
        refused = run(syntax, stdin=order)
        checks.that(refused.returncode != 0 and "Two versions of Strata meet in one source file" in refused.stderr,
                    "two versions in one unit are an error", refused.stderr)
    def errors_of(header, compiler):
        return run([compiler, "-std=c++14", f"-I{INCLUDE}", "-fsyntax-only", "-x", "c++", "-"], stdin=f"#include <strata/{header}>\n").stderr
    for header in sorted(path.name for path in (INCLUDE / "strata").glob("*.hpp") if path.name != "version.hpp"):
        for compiler in filter(shutil.which, ("g++", "clang++")):
            errors = errors_of(header, compiler)
            checks.that(errors.count(" error: ") == 1 and "Strata needs C++17: compile with -std=c++17" in errors,
                        f"C++14 is one error with its fix: {header}, {compiler}", errors)
    for compiler in filter(shutil.which, ("gcc", "clang")):
        errors = run([compiler, f"-I{INCLUDE}", "-fsyntax-only", "-x", "c", "-"], stdin="#include <strata/strata.hpp>\n").stderr
        checks.that(errors.count(" error: ") == 1 and "This header is C++: C sources include strata/c.h" in errors, f"C++ in C is one error with its fix: {compiler}", errors)
    for line, what in (('if (c) STRATA_RANGE("a");', "range"), ('switch (c) default: STRATA_FUNCTION();', "range"),
                       ('if (c) STRATA_STEP();', "step"), ('if (c) STRATA_MEMORY("w");', "range")):
        errors = run(syntax, stdin=f"#include <strata/range.hpp>\nvoid f(int c) {{ {line} }}\n").stderr
        checks.that(f"strata_{what}_needs_braces_" in errors.partition(" error: ")[2].partition("\n")[0], f"a range without a scope of its own: {line}", errors)
    checks.that(errors_of("c.h", "g++") == "", "<strata/c.h> is for C++14 too", errors_of("c.h", "g++"))
    # Macros that are defined after the header do not reach what its macros expand to.
    checks.succeeds("hostile macros after the header", syntax,
                    stdin=f'#include <strata/strata.hpp>\n{hostile()}#include "{HERE}/parity.cpp"\n')


def openmp(checks):
    for compiler in compilers():
        name = f"openmp-{compiler}"
        probe = run([compiler, "-fopenmp", "-x", "c++", "-", "-o", "probe"], stdin="#include <omp.h>\nint main() {}\n")
        if probe.returncode != 0:
            left_out(f"OpenMP of {compiler}", "it is not here")
            continue
        if checks.succeeds(name, [compiler, "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}",
                                  "-fopenmp", SOURCE / "openmp.cpp", checks.bodies(), "-ldl", "-pthread", "-o",
                                  name]).returncode:
            continue
        behaves(checks, name, name, 42, {"attention": 1, "head": 32, "load": 1}, quiet)
        with open(pathlib.Path(f"out-{name}", "ranges.csv"), newline="") as file:
            rows = {row["path"]: row for row in csv.DictReader(file)}
        outside = [path for path in rows if path and not path.startswith("attention[7]")]
        checks.that(not outside, f"{name}: all below the range that handed its place over", str(outside))
        parent = rows["attention[7]"]
        checks.that(0 <= int(parent["host_self_ns"]) <= int(parent["host_total_ns"]), f"{name}: self time", str(parent))


def ranks(checks):
    """Ranks that start at the same time in one directory."""
    out = pathlib.Path("ranks").absolute()
    shutil.rmtree(out, ignore_errors=True)

    def rank(number):
        return run(["./program-0"], env=clean_environment(STRATA=f"host,out={out},formats=csv",
                                                          OMPI_COMM_WORLD_RANK=str(number)))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(rank, range(8)))
    checks.that(all(e.returncode == 43 for e in ended), "ranks end as they should", "\n".join(e.stderr for e in ended))
    found = {}
    for path in out.rglob("ranges.csv"):
        with open(path, newline="") as file:
            found[path.parent.name] = {row["rank"] for row in csv.DictReader(file)}
    checks.that(found == {f"rank{n}": {str(n)} for n in range(8)}, "each rank has a directory and a column",
                str(found))


def range_free(checks):
    """The umbrella header and the implementation: what they leave behind in a program without ranges."""
    for name, flags in (("without", []), ("with", ["-DUMBRELLA", checks.bodies()])):
        checks.succeeds(f"range-free, {name}", ["g++", "-std=c++17", "-O0", f"-I{INCLUDE}", *flags,
                                                SOURCE / "range_free.cpp", "-ldl", "-o", f"free-{name}"])
    told = {}
    for name in ("without", "with"):
        here = pathlib.Path(f"run-{name}").absolute()
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        result = run([f"../free-{name}", "1000", "tell"], cwd=here)
        checks.that(result.returncode == 42 and not result.stderr and not os.listdir(here), f"range-free, {name}: ends",
                    f"  {result.returncode} {result.stderr} {os.listdir(here)}")
        told[name] = result.stdout
    heap = {name: int(re.search(r"heap (\d+)", text)[1]) for name, text in told.items()}
    # One entry in the environment, by which later copies of Strata in the process find this one.
    checks.that(0 <= heap["with"] - heap["without"] <= 8192, "range-free: at most 8 KB of heap", str(heap))
    for text in told.values():
        checks.that("Threads:\t1\n" in text, "range-free: one thread", text)
    files = {name: {line for line in text.splitlines() if line.startswith("/")} - {f"/free-{name}"}
             for name, text in told.items()}
    # A linker may leave out a library that only the umbrella uses.
    extra = {f for f in files["with"] - files["without"] if not re.match(r"/(libdl|libpthread|libgcc_s|libm)\b", f)}
    checks.that(not extra and files["without"] <= files["with"], "range-free: the same files in memory", str(files))
    for wish in ("trace", "host", "off"):
        here = pathlib.Path(f"run-{wish}").absolute()
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        result = run(["../free-with"], cwd=here, env=clean_environment(STRATA=wish))
        checks.that(result.returncode == 42 and not result.stderr and not os.listdir(here),
                    f"range-free, STRATA={wish}: there is nothing to record", result.stderr)


# Every report of a recording.
REPORTS = "".join(f'#include "live/{part.name}"\n' for part in sorted((ROOT / "src/live").glob("*.cpp"))) + """
#include "recording/recording.cpp"
int main(int, char** words) {
  strata::vec<std::string> problems;
  strata::options const wanted = strata::options::parse(words[2], problems);
  strata::profile recorded;
  if (!problems.empty() || !strata::read_recording_file(words[1], recorded).ok()) return 2;
  return strata::report_recording(recorded, wanted).ok() ? 0 : 1;
}
"""


def reports_of(program, folder):
    """All that a program makes of each recording: the files by name, and the table. The program's path is not in it."""
    made = {}
    for recording in sorted((ROOT / "examples/report").glob("*.strata")):
        here = pathlib.Path(folder, recording.stem).absolute()
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir(parents=True)
        done = run([pathlib.Path(program).absolute(), recording,
                    "formats=table+csv+json+trace+trace.json+html+recording+openmetrics,out=reports"], cwd=here)
        said = f"{done.stdout}{done.stderr}".replace(str(here), "HERE")
        made[f"{recording.stem}: table"] = f"{done.returncode}\n{said}".encode()
        made.update((f"{recording.stem}: {path.name}", path.read_bytes()) for path in (here / "reports").iterdir())
    return made


def fast_math(checks):
    """Under -ffast-math no number is NaN, says the compiler; yet every report is the same, byte for byte."""
    for name in headers():
        uses = re.findall(r"std::is(?:nan|finite)\(", (INCLUDE / name).read_text())
        checks.that(not uses, f"{name}: asks base/numbers.hpp, which holds under -ffast-math")
    fast_compilers = compilers() if FULL else compilers()[:1]  # g++, which llm.c's flags are for
    own = pathlib.Path("report.cpp")
    own.write_text(REPORTS)
    common = ["-std=c++17", f"-I{INCLUDE}", f"-I{ROOT / 'src'}"]
    jobs = []
    checks.bodies()
    for compiler in fast_compilers:
        fast = [compiler, *common, "-O1", "-ffast-math", "-Wall", "-Wextra", "-Werror"]
        jobs.append((f"fast-{compiler}.o", [*fast, "-c", IMPLEMENTATION, "-o", f"fast-{compiler}.o"], None))
        jobs.append((f"report-{compiler}.o", [*fast, "-c", own, "-o", f"report-{compiler}.o"], None))
    jobs.append(("report.o", [*GXX, *common, "-c", own, "-o", "report.o"], None))
    if any(done.returncode for done in checks.all_succeed(jobs)):
        return
    checks.succeeds("report", ["g++", "report.o", "bodies.o", "-ldl", "-pthread", "-o", "report"])
    expected = reports_of("report", "reports")
    checks.that(len(expected) > 20, "the program makes its reports", " ".join(expected))
    for compiler in fast_compilers:
        name = f"report-{compiler}"
        checks.succeeds(name, [compiler, "-ffast-math", f"{name}.o", f"fast-{compiler}.o", "-ldl", "-pthread", "-o", name])
        found = reports_of(name, f"out-{name}")
        differ = [what for what in sorted(expected.keys() | found.keys()) if expected.get(what) != found.get(what)]
        checks.that(not differ, f"fast math of {compiler}: the same reports", "\n".join(differ))
    if checks.succeeds("fast math", [*GXX, "-O1", "-ffast-math", f"-I{INCLUDE}", ROOT / "examples/minimal/minimal.cpp",
                                     "fast-g++.o", "-ldl", "-o", "fast"]).returncode:
        return
    out = pathlib.Path("out-fast").absolute()
    shutil.rmtree(out, ignore_errors=True)
    traced = run(["./fast"], env=clean_environment(STRATA=f"host,out={out}"))
    with open(out / "ranges.csv", newline="") as file:
        flops = {row["path"]: row["flops"] for row in csv.DictReader(file)}
    checks.that(traced.returncode == 0 and flops["block[0]"] == "" and float(flops["block[0]/attention"]) == 20971520,
                "fast math: what was given and what was not", str(flops))


PARTS = ("programs", "one_unit", "openmp", "ranks", "range_free", "lto", "fast_math")


def main(*only):
    checks = Checks()
    pathlib.Path("bodies.o").unlink(missing_ok=True)  # of an earlier run
    for part in only or PARTS:
        globals()[part](checks)
    return checks.end()
