"""Strata as a dependency, in each of the forms that the README names; and what an installation holds."""
import csv
import json
import os
import pathlib
import re
import shutil

from common import FULL, HERE, INCLUDE, MODES, ROOT, WARNINGS, Checks, clean_environment, compilers, headers, left_out, nvcc, run

SOURCE = HERE / "consumers"


def runs(checks, program, prefix="", reports=True):
    """The program works, says nothing, and leaves nothing behind; asked for a trace, it writes one and works the same. With
    src/ it writes the page; without it a recording, and names the command that makes the rest."""
    here = pathlib.Path("run").absolute()
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    program = pathlib.Path(program).absolute()
    idle = run([program], cwd=here)
    checks.that(idle.returncode == 42, prefix + "exit code 42", f"  {idle.returncode}\n{idle.stdout}{idle.stderr}")
    checks.that(not idle.stdout + idle.stderr, prefix + "silent without STRATA", idle.stdout + idle.stderr)
    checks.that(not list(here.iterdir()), prefix + "writes nothing without STRATA", str(list(here.iterdir())))
    traced = run([program], cwd=here, env=clean_environment(STRATA="trace,out=traced,formats=csv+html"))
    checks.that(traced.returncode == 42, prefix + "exit code 42 when traced", traced.stdout + traced.stderr)
    for made in ("ranges.csv", "report.html" if reports else "profile.strata"):
        found = list(here.rglob(made))
        checks.that(len(found) == 1 and b"work" in found[0].read_bytes(), f"{prefix}STRATA=trace writes {made}",
                    traced.stdout + traced.stderr)
    checks.that(reports == ("strata explain" not in traced.stderr), f"{prefix}the command for the rest is named without src alone",
                traced.stderr)


def generator():
    return ["-G", "Ninja"] if shutil.which("ninja") else []


def tree(folder):
    return sorted(p.relative_to(folder).as_posix() for p in pathlib.Path(folder).rglob("*") if p.is_file())


def other_compiler():
    """For the builds that compile all of src/: clang++, where it is, takes half of g++'s time. pkg_config is g++'s."""
    return {"CXX": "clang++"} if "clang++" in compilers() else {}


def cmake(checks, name, *options, **environment):
    build = pathlib.Path("build").absolute()
    shutil.rmtree(build, ignore_errors=True)
    checks.succeeds("configures", ["cmake", "-S", SOURCE / name, "-B", build, *generator(), *options],
                    env=clean_environment(**environment))
    checks.succeeds("builds", ["cmake", "--build", build, "--verbose"])
    runs(checks, build / "consumer")
    return build


def files_of_tools(is_built):
    """What is installed with the command, beside it and its library: the manual page is made when it is built."""
    schemas = [f"share/strata/schema/{path.name}" for path in (ROOT / "docs/schema").iterdir()]
    return [*(["share/man/man1/strata.1"] if is_built else []), "share/strata/python/strata.py", *schemas]


def sources():
    """What is installed of src/."""
    return [f"share/strata/src/{name}" for name in ("strata_page_files.hpp", *tree(ROOT / "src"))]


def install(checks, prefix):
    """CMake and Meson install every header of the tree, and the package files; nothing else."""
    expected = sorted([*headers(), "strata/implementation.cpp"])
    shutil.rmtree(prefix, ignore_errors=True)
    shutil.rmtree("build", ignore_errors=True)
    checks.succeeds("configures", ["cmake", "-S", ROOT, "-B", "build", *generator(), f"-DCMAKE_INSTALL_PREFIX={prefix}"])
    checks.that(not pathlib.Path("build/tests").exists(), "no tests, which need doctest, unless they are asked for")
    checks.succeeds("installs", ["cmake", "--install", "build"])
    installed = tree(prefix)
    checks.that([n[len("include/"):] for n in installed if n.startswith("include/")] == expected, "every header",
                "\n".join(installed))
    rest = [n for n in installed if not n.startswith("include/")]
    cache = pathlib.Path("build/CMakeCache.txt").read_text()
    checks.that("CMAKE_BUILD_TYPE:STRING=Release\n" in cache,
                "it is optimised unless another build is asked for", cache)
    with_tools = "STRATA_BUILD_TOOLS:BOOL=ON" in cache
    of_tools = files_of_tools(is_built=False) if with_tools else []
    checks.that(rest == sorted([*of_tools, "share/cmake/strata/strataConfig.cmake", "share/cmake/strata/strataConfigVersion.cmake",
                                "share/cmake/strata/strataTargets.cmake", *sources(), "share/doc/strata/LICENSE", "share/pkgconfig/strata.pc"]),
                "the package files and nothing else", "\n".join(rest))
    text = "".join((pathlib.Path(prefix) / n).read_text() for n in rest)
    checks.that(str(ROOT) not in text and str(prefix) not in text, "no path of this machine in them", text)

    meson_prefix = pathlib.Path("meson-prefix").absolute()
    shutil.rmtree("meson", ignore_errors=True)
    shutil.rmtree(meson_prefix, ignore_errors=True)
    full = os.environ.get("STRATA_TEST_FULL")
    tests = "enabled" if full else "disabled"
    tools = "enabled" if full and os.path.exists("/usr/include/CLI") else "disabled"
    checks.succeeds("meson: configures", ["meson", "setup", "meson", ROOT, f"--prefix={meson_prefix}",
                                          f"-Dtests={tests}", f"-Dtools={tools}"])
    if tests == "enabled":
        checks.succeeds("meson: tests", ["meson", "test", "-C", "meson"])
    checks.succeeds("meson: installs", ["meson", "install", "-C", "meson"])
    installed = tree(meson_prefix)
    checks.that([n[len("include/"):] for n in installed if n.startswith("include/")] == expected, "meson: every header",
                "\n".join(installed))
    of_tools = files_of_tools(is_built=True) if tools == "enabled" else []
    rest = [n for n in installed if not n.startswith(("include/", "bin/", "lib"))]
    checks.that(rest == sorted([*of_tools, *sources(), "share/doc/strata/LICENSE", "share/pkgconfig/strata.pc"]), "meson: the package files", "\n".join(rest))
    checks.that(("bin/strata" in installed) == (tools == "enabled"), "meson: the command", "\n".join(installed))
    if tools == "enabled":
        library = next((meson_prefix / n for n in installed if n.endswith("/libstrata_inject.so")), None)
        shown = run([meson_prefix / "bin/strata", "run", "--", "env"], env=clean_environment()).stdout
        checks.that(library is not None and f"LD_PRELOAD={library}\n" in shown, "meson: strata run takes the installed library",
                    "\n".join(installed) + shown)
    if full:
        checks.succeeds("the command by g++", ["g++", "-std=c++17", "-O2", f"-I{INCLUDE}", f"-I{ROOT / 'src'}", *sorted((ROOT / "tools").glob("*.cpp")),
                                               ROOT / "src/all.cpp",
                                               "-o", "strata", "-ldl", "-pthread"])
        checks.succeeds("the command runs", ["./strata", "--version"])

    version = dict(re.findall(r"#define STRATA_VERSION_(\w+) (\d+)", (INCLUDE / "strata/version.hpp").read_text()))
    version = "{MAJOR}.{MINOR}.{PATCH}".format(**version)
    for name, where in (("cmake", prefix), ("meson", meson_prefix)):
        env = clean_environment(PKG_CONFIG_PATH=f"{where}/share/pkgconfig")
        told = run(["pkg-config", "--modversion", "strata"], env=env).stdout.strip()
        checks.that(told == version, f"{name}: version {version}", told)
        flags = run(["pkg-config", "--cflags", "--libs", "strata"], env=env).stdout.split()
        checks.that(set(flags) <= {f"-I{where}/include", f"-I{where}/share/pkgconfig/../../include",
                                   "-DSTRATA_ENABLED=1", "-ldl"}, f"{name}: flags", " ".join(flags))
        reports = run(["pkg-config", "--variable=reports", "strata"], env=env).stdout.strip()
        checks.that(os.path.exists(reports), f"{name}: pkg-config names the reports", reports)
        src = run(["pkg-config", "--variable=src", "strata"], env=env).stdout.strip()
        checks.that(os.path.exists(f"{src}/model/llm.hpp"), f"{name}: pkg-config names the folder of src", src)


def add_subdirectory(checks, prefix):
    build = cmake(checks, "add_subdirectory", f"-DSTRATA_SOURCE={ROOT}", **other_compiler())
    checks.succeeds("installs", ["cmake", "--install", build, "--prefix", "prefix"])
    checks.that(pathlib.Path("prefix/lib/cmake/engine/engineTargets.cmake").exists(), "exports its own target")
    commands = (build / "build.ninja").read_text() if (build / "build.ninja").exists() else "-isystem"
    checks.that("-isystem" in commands, "a subproject's headers are system headers")


def find_package(checks, prefix):
    """A large program in two folders that each ask for Strata, and the versions that an installation accepts. A static library
    brings the one implementation into programs that do not name it."""
    cuda = nvcc() is not None
    if not cuda:
        left_out("CUDA", "no nvcc here")
    build, units = many(checks, prefix, "find_package", 10, cuda), 10 + 2 * cuda
    checks.succeeds("builds", ["cmake", "--build", build, "--verbose"])
    for program in ("consumer", "trimmed", "direct"):
        runs(checks, build / "app" / program, f"{program}: ")
        with open(next(pathlib.Path("run").rglob("ranges.csv")), newline="", encoding="utf-8") as file:
            found = {row["path"] for row in csv.DictReader(file) if row["path"]}
        checks.that(found == {"work", *(f"work/unit{i}" for i in range(units))}, f"{program}: the ranges of all {units} units",
                    str(sorted(found)))
    for wanted, accepted in (("0.0", False), ("0.1", True), ("9.0", False)):
        text = f"""cmake_minimum_required(VERSION 3.14...3.31)
project(versions LANGUAGES NONE)
find_package(strata {wanted} REQUIRED)
"""
        pathlib.Path("versions").mkdir(exist_ok=True)
        pathlib.Path("versions/CMakeLists.txt").write_text(text)
        shutil.rmtree("versions/build", ignore_errors=True)
        asked = run(["cmake", "-S", "versions", "-B", "versions/build", f"-DCMAKE_PREFIX_PATH={prefix}"])
        checks.that((asked.returncode == 0) == accepted, f"version {wanted} {'accepted' if accepted else 'refused'}",
                    asked.stdout + asked.stderr)


def many(checks, prefix, way, units, cuda=False):
    """Configures the large program; its implementation is compiled once, however often Strata is asked for."""
    build = pathlib.Path(way).absolute()
    shutil.rmtree(build, ignore_errors=True)
    env = clean_environment(**other_compiler(), **({"CUDACXX": nvcc()} if cuda else {}))
    checks.succeeds(f"{way}: configures", ["cmake", "-S", SOURCE / "many", "-B", build, *generator(), f"-DWAY={way}", f"-DCOUNT={units}",
                                           f"-DWITH_CUDA={cuda}", f"-DSTRATA_SOURCE={ROOT}", f"-DCMAKE_PREFIX_PATH={prefix}",
                                           "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], env=env)
    commands = json.loads((build / "compile_commands.json").read_text())
    checks.that(sum(each["file"].endswith("implementation.cpp") for each in commands) == 1,
                f"{way}: the implementation is compiled once", str(commands))
    return build


def fetch_content(checks, prefix):
    """It adds the folder as add_subdirectory does, which is built: here the commands are counted."""
    many(checks, prefix, "add_subdirectory", 2)
    build = many(checks, prefix, "fetch_content", 2)
    shutil.rmtree("prefix", ignore_errors=True)
    checks.succeeds("installs", ["cmake", "--install", build, "--prefix", "prefix"])
    checks.that(not tree("prefix"), "installs nothing into its parent", "\n".join(tree("prefix")))


def meson(checks, prefix):
    source = pathlib.Path("source").absolute()
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree("build", ignore_errors=True)
    shutil.copytree(SOURCE / "meson", source)
    shutil.copy(SOURCE / "main.cpp", source)
    (source / "subprojects" / "strata").symlink_to(ROOT)
    checks.succeeds("configures", ["meson", "setup", "--buildtype=plain", "build", source], env=clean_environment(**other_compiler()))
    checks.succeeds("builds", ["meson", "compile", "-C", "build"])
    runs(checks, "build/consumer")


def pkg_config(checks, prefix):
    env = clean_environment(PKG_CONFIG_PATH=f"{prefix}/share/pkgconfig")
    flags = run(["pkg-config", "--cflags", "--libs", "strata"], env=env).stdout.split()
    bodies = run(["pkg-config", "--variable=implementation", "strata"], env=env).stdout.strip()
    checks.that(os.path.exists(bodies), "pkg-config names the implementation", bodies)  # find_package compiles it
    pathlib.Path("bodies.o").unlink(missing_ok=True)
    checks.bodies()
    reports = run(["pkg-config", "--variable=reports", "strata"], env=env).stdout.split()
    src = run(["pkg-config", "--variable=src", "strata"], env=env).stdout.strip()
    compiler = ["g++", "-std=c++17", *WARNINGS]
    checks.all_succeed([("reports: no warning", [*compiler, "-fsyntax-only", *reports, *flags], None),
                        *((f"{output}: compiles", [*compiler, "-c", *source, *flags, "-o", output], None)
                          for output, source in (("main.o", [SOURCE / "main.cpp"]),
                                                 ("src_headers.o", [f"-I{src}", SOURCE / "src_headers.cpp"])))])
    for name, more in (("consumer", checks.reports([*reports, *flags])), ("tables", [])):
        checks.succeeds(f"{name}: links", ["g++", "main.o", "bodies.o", *more, *flags, "-o", name])
        runs(checks, name, f"{name}: ", reports=bool(more))
    checks.succeeds("headers of src: links", ["g++", "src_headers.o", "bodies.o", *flags, "-o", "src_headers"])
    checks.that(run([pathlib.Path("src_headers").absolute()]).returncode == 42, "headers of src: exit code 42")


def makefile(checks, prefix):
    folder = pathlib.Path("consumers/makefile")
    shutil.rmtree("consumers", ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(SOURCE / "makefile" / "Makefile", folder)
    shutil.copy(SOURCE / "main.cpp", "consumers")
    shutil.copy(SOURCE / "src_headers.cpp", "consumers")
    shutil.copy(SOURCE / "main.cpp", "consumers/main.cu")
    shutil.copytree(SOURCE / "c", "consumers/c")
    make = ["make", "-C", folder, f"STRATA_SOURCE={ROOT}", *(f"{k}={v}" for k, v in other_compiler().items())]
    built = checks.succeeds("builds", make)
    checks.that(built.stdout.count(" -Wall -O0 -Wextra ") == 3, "flags below the include hold", built.stdout)
    checks.that(tree(folder) == ["Makefile", "consumer", "strata.o", "strata_page_files.hpp", "strata_reports.o"], "nothing else is built", str(tree(folder)))
    runs(checks, folder / "consumer")
    checks.succeeds("headers of src: builds", [*make, "consumer_src"])
    checks.that(run([folder.absolute() / "consumer_src"]).returncode == 42, "headers of src: exit code 42")
    checks.succeeds("C: builds", [*make, "consumer_c"])
    runs(checks, folder / "consumer_c", "C: ", reports=False)
    if nvcc():
        checks.succeeds("CUDA: builds", [*make, "consumer_cu", f"NVCC={nvcc()}"])
        runs(checks, folder / "consumer_cu", "CUDA: ", reports=False)
    else:
        left_out("CUDA", "no nvcc here")
    checks.succeeds("off: builds", [*make, "-B", "consumer", "consumer_c", "STRATA_ENABLED=0"])
    for name in ("consumer", "consumer_c"):
        off = run([folder.absolute() / name], env=clean_environment(STRATA="trace,out=off-out"))
        checks.that(off.returncode == 42 and not off.stdout + off.stderr and not os.path.exists("off-out"),
                    f"off: {name} is deaf to STRATA", off.stdout + off.stderr)


def bare(checks, prefix):
    """A copied folder, one flag. The copy is elsewhere: nothing may depend on the repository around it."""
    shutil.rmtree("vendor", ignore_errors=True)
    shutil.copytree(INCLUDE, "vendor")
    compiler = compilers()[-1]
    checks.succeeds("builds", [compiler, "-std=c++17", "-Ivendor", SOURCE / "main.cpp",
                               "vendor/strata/implementation.cpp", "-ldl", "-o", "consumer"])
    runs(checks, "consumer", reports=False)
    checks.succeeds("builds, off", [compiler, "-std=c++17", "-Ivendor", "-DSTRATA_ENABLED=0", SOURCE / "main.cpp",
                                    "vendor/strata/implementation.cpp", "-o", "off"])
    off = run(["./off"], env=clean_environment(STRATA="trace,out=off-out"))
    checks.that(off.returncode == 42 and not off.stdout + off.stderr and not os.path.exists("off-out"),
                "off: deaf to STRATA", off.stdout + off.stderr)


def single(checks, prefix):
    """The library in one header, which is all that is there."""
    shutil.rmtree("vendor", ignore_errors=True)
    pathlib.Path("vendor").mkdir()
    checks.succeeds("made", ["python3", ROOT / "tools/amalgamate.py", "vendor/strata.hpp"])
    text = (SOURCE / "main.cpp").read_text()
    own = re.findall(r"^\s*#\s*include\s*[<\"]strata.*", pathlib.Path("vendor/strata.hpp").read_text(), re.M)
    checks.that(not own, "it includes no other header of Strata", "\n".join(own))
    pathlib.Path("main.cpp").write_text(re.sub(r"<strata/\w+\.hpp>", '"strata.hpp"', text))
    pathlib.Path("strata.cpp").write_text('#define STRATA_IMPLEMENTATION\n#include "strata.hpp"\n')
    for compiler in compilers() if FULL else compilers()[-1:]:
        checks.succeeds(f"{compiler}: builds", [compiler, "-std=c++17", *WARNINGS, "-Ivendor", "main.cpp", "strata.cpp", "-ldl",
                                                "-pthread", "-o", "consumer"])
        runs(checks, "consumer", f"{compiler}: ", reports=False)


def c(checks, prefix):
    """C sources and one C++ file: as objects, a static library, a shared object; and units that differ in the mode."""
    strict = ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
    bodies = [compilers()[-1], "-std=c++17", *WARNINGS, f"-I{INCLUDE}", "-fPIC", "-fvisibility=hidden", "-c",
              SOURCE / "c" / "strata.cpp"]
    for mode, define in MODES.items():
        for unit in ("main", "engine"):
            checks.succeeds(f"{unit}.c, {mode}", [*strict, define, "-fPIC", "-fvisibility=hidden", "-c",
                                                  SOURCE / "c" / f"{unit}.c", "-o", f"{unit}-{mode}.o"])
        checks.succeeds(f"strata.cpp, {mode}", [*bodies, define, "-o", f"strata-{mode}.o"])
    symbols = run(["nm", "-u", "main-off.o", "engine-off.o"]).stdout
    checks.that("strata" not in symbols, "off: the C units need nothing of Strata", symbols)

    link = {"objects": ["main-on.o", "engine-on.o", "strata-on.o"],
            "static": ["main-on.o", "libengine.a", "-Wl,-u,strata_implementation"],
            "shared": ["main-on.o", "libengine.so", "-Wl,-rpath,$ORIGIN"],
            "twice": ["main-on.o", "strata-on.o", "libengine.so", "-Wl,-rpath,$ORIGIN"]}
    pathlib.Path("libengine.a").unlink(missing_ok=True)
    checks.succeeds("static library", ["ar", "rcs", "libengine.a", "engine-on.o", "strata-on.o"])
    checks.succeeds("shared object", ["g++", "-shared", "engine-on.o", "strata-on.o", "-ldl", "-o", "libengine.so"])
    for name, parts in link.items():
        checks.succeeds(f"{name}: links", ["g++", *parts, "-ldl", "-o", f"consumer-{name}"])
        runs(checks, f"consumer-{name}", f"{name}: ", reports=False)
        with open(next(pathlib.Path("run").rglob("ranges.csv")), newline="", encoding="utf-8") as file:
            calls = {row["path"]: int(row["calls"]) for row in csv.DictReader(file)}
        blocks = {f"block[{i}]{part}": 3 for i in range(3) for part in ("", "/attention", "/work")}
        calls.pop("", None)
        checks.that(calls == {**blocks, "[null]": 1}, f"{name}: the ranges and their calls", str(calls))
        told = run([pathlib.Path(f"consumer-{name}").absolute()], cwd="run",
                   env=clean_environment(STRATA="host,skip=2,active=1,formats=table")).stderr
        checks.that(re.search(r"^block\[\*\] +3 ", told, re.M), f"{name}: one step of four is chosen", told)
    for unit, other in (("on", "off"), ("off", "on")):
        checks.succeeds(f"C units {unit}, bodies {other}: links", ["g++", f"main-{unit}.o", f"engine-{unit}.o",
                                                                   f"strata-{other}.o", "-ldl", "-o", "mixed"])
        mixed = run(["./mixed"])
        checks.that(mixed.returncode == 42 and not mixed.stdout + mixed.stderr, f"C units {unit}, bodies {other}: runs",
                    mixed.stdout + mixed.stderr)
    checks.succeeds("no implementation: links", ["gcc", "main-on.o", "engine-on.o", "-o", "without"])
    without = run(["./without"], env=clean_environment(STRATA="host"))
    checks.that(without.returncode == 42 and without.stderr.count("\n") == 1
                and "this program has no implementation of Strata" in without.stderr, "no implementation: told once",
                without.stdout + without.stderr)


def main(form, prefix):
    checks = Checks()
    globals()[form](checks, prefix)
    return checks.end()
