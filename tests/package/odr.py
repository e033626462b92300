"""Units of both modes in one program, in both link orders; several shared objects and the executable; several
implementations; one session. "lto": several implementations under link-time optimisation, of which each link is one more
compilation: for STRATA_TEST_FULL=1."""
import csv
import pathlib
import shutil

from common import FULL, HERE, IMPLEMENTATION, INCLUDE, MODES, Checks, clean_environment, compilers, run

SOURCE = HERE / "odr"
HIDDEN = compilers() if FULL else compilers()[-1:]  # what compiles hidden symbols: clang++, where it is
WORDS = ("range", "scope", "phase", "push")


def ranges(folder):
    """The number of calls of every range in a report's ranges.csv, or None."""
    found = sorted(pathlib.Path(folder).rglob("ranges.csv"))
    if len(found) != 1:
        return None
    calls = {}
    with open(found[0], newline="") as file:
        for row in csv.DictReader(file):
            if int(row["calls"]) > 0:  # the root has none
                calls[row["name"]] = calls.get(row["name"], 0) + int(row["calls"])
    return calls


def behaves(checks, what, program, modes):
    """Silent without STRATA; with it, every unit that is on is recorded once and no unit that is off at all."""
    here = pathlib.Path(program).parent
    name = f"./{pathlib.Path(program).name}"
    idle = run([name], cwd=here)
    checks.that(idle.returncode == 42 and not idle.stdout + idle.stderr, what + ": idle",
                f"  exit code {idle.returncode}\n{idle.stdout}{idle.stderr}")
    out = here / "out"
    shutil.rmtree(out, ignore_errors=True)
    traced = run([name], cwd=here, env=clean_environment(STRATA=f"trace,out={out},formats=csv"))
    calls = ranges(out)
    expected = {f"{unit}_{word}": 1 for unit, mode in modes.items() if mode == "on" for word in WORDS
                if unit != "main" or word == "range"}
    checks.that(traced.returncode == 42 and calls == expected, what + ": one session sees every unit once",
                f"  exit code {traced.returncode}\n  expected {expected}\n  recorded {calls}\n"
                f"{traced.stdout}{traced.stderr}")


def implementations(checks):
    """The bodies by compiler and visibility, once for all programs but those of link-time optimisation."""
    kinds = [("g++", "default"), *((compiler, "hidden") for compiler in HIDDEN)]
    made = {kind: pathlib.Path("bodies-" + "-".join(kind) + ".o").absolute() for kind in kinds[1:]}
    checks.all_succeed([(path.name, [kind[0], "-O0", "-fPIC", f"-fvisibility={kind[1]}", "-std=c++17", f"-I{INCLUDE}",
                                     MODES["on"], "-c", IMPLEMENTATION, "-o", path], None) for kind, path in made.items()])
    pathlib.Path("bodies.o").unlink(missing_ok=True)  # of an earlier run
    return {kinds[0]: pathlib.Path(checks.bodies()).absolute(), **made}


def visibility(flags):
    return "hidden" if "-fvisibility=hidden" in flags else "default"


# How the parts are compiled, and what the linker is given.
SEVERAL = [(["g++", "-O0"], []), (["g++", "-O0"], ["-static-libstdc++", "-static-libgcc"]),
           *(([compiler, "-O0", "-fvisibility=hidden"], []) for compiler in HIDDEN)]
LTO = [(["g++", "-O1", "-flto", "-fvisibility=hidden"], [])]


def several_implementations(checks, builds, implementation):
    """Two implementations: in one program, in two shared objects, in a program and in a module that it loads by itself."""
    compiled = {}
    for flags, linked in builds:
        key = " ".join(flags)
        folder = compiled.setdefault(key, pathlib.Path(f"several-{len(compiled)}").absolute())
        base = [*flags, "-fPIC", "-std=c++17", f"-I{INCLUDE}", MODES["on"], "-c"]
        if not folder.exists() or not linked:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            units = [("main", SOURCE / "main.cpp", []), ("first", SOURCE / "unit.cpp", ["-DUNIT=first", "-DUMBRELLA"]),
                     ("second", SOURCE / "unit.cpp", ["-DUNIT=second"])]
            if "-flto" in flags:
                units.append(("bodies", IMPLEMENTATION, []))
            else:
                shutil.copy(implementation[flags[0], visibility(flags)], folder / "bodies.o")
            built = checks.all_succeed([(f"{key}: {name}.o", [*base, *define, source, "-o", folder / f"{name}.o"], None)
                                        for name, source, define in units])
            if any(each.returncode for each in built):
                continue
            shutil.copy(folder / "bodies.o", folder / "again.o")
        command = [*flags, *linked]
        what = " ".join(command)
        shared = {f"lib{name}.so": [*command, "-shared", f"{name}.o", "bodies.o", "-ldl", "-o", f"lib{name}.so"]
                  for name in ("first", "second")}
        programs = {"in one program": ["main.o", "first.o", "second.o", "bodies.o", "again.o"],
                    "in two shared objects": ["main.o", "-Wl,--no-as-needed", "-L.", "-lfirst", "-lsecond", "-Wl,-rpath,$ORIGIN"],
                    "in two modules": ["main.o"],
                    "in the program and two modules": ["main.o", "bodies.o"]}
        for name, how in shared.items():
            checks.succeeds(f"{what}: {name}", how, cwd=folder)
        for number, (where, parts) in enumerate(programs.items()):
            program = folder / f"program-{number}"
            if checks.succeeds(f"{what}, {where}: links", [*command, *parts, "-ldl", "-o", program], cwd=folder).returncode == 0:
                modes = {"first": "on", "second": "on", **({} if where == "in two modules" else {"main": "on"})}
                behaves(checks, f"{what}, {where}", program, modes)  # main's range is older than the modules


def main(part="plain"):
    checks = Checks()
    if part == "lto":
        several_implementations(checks, LTO, {})
        return checks.end()
    variants = [["g++", "-O0", "-fPIC", "-fvisibility=default"],
                *([compiler, "-O2", "-fPIC", "-fvisibility=hidden"] for compiler in HIDDEN)]
    implementation = implementations(checks)
    for number, variant in enumerate(variants):
        compiler = variant[0]
        folder = pathlib.Path(f"variant-{number}").absolute()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        print(" ".join(variant), flush=True)

        def compile_unit(output, mode, source, *flags):
            return (f"{folder.name}: {output}", [*variant, "-std=c++17", f"-I{INCLUDE}", MODES[mode], *flags, "-c",
                                                 SOURCE / source, "-o", folder / output], None)

        # The first unit has the umbrella too, the second only what it needs; the second exists in both modes. The
        # program has the implementation, and in one variant the first shared object has its own copy too.
        shutil.copy(implementation[compiler, visibility(variant)], folder / "bodies.o")
        checks.all_succeed([
            compile_unit("main.o", "on", "main.cpp"),
            compile_unit("first.o", "on", "unit.cpp", "-DUNIT=first", *["-DUMBRELLA"] * (number == 0)),
            compile_unit("second_on.o", "on", "unit.cpp", "-DUNIT=second"),
            compile_unit("second_off.o", "off", "unit.cpp", "-DUNIT=second", "-DUMBRELLA")])

        # One program of both modes, linked in both orders.
        for order in (["first.o", "second_off.o", "bodies.o"], ["second_off.o", "bodies.o", "first.o"]):
            program = folder / f"static-{order[0][:-2]}-first"
            if checks.succeeds(f"{program.name}: links", [compiler, *order, "main.o", "-ldl", "-o", program],
                               cwd=folder).returncode == 0:
                behaves(checks, f"{folder.name} {program.name}", program,
                        {"main": "on", "first": "on", "second": "off"})

        # Two shared objects and the executable: linked, loaded with RTLD_LOCAL, and loaded with exported symbols.
        checks.succeeds("libfirst.so", [compiler, "-shared", "first.o", *["bodies.o"] * (number == 0), "-ldl", "-o",
                                        "libfirst.so"], cwd=folder)
        for second in ("on", "off"):
            checks.succeeds(f"libsecond.so {second}",
                            [compiler, "-shared", f"second_{second}.o", "-ldl", "-o", "libsecond.so"], cwd=folder)
            for kind, flags in (("linked", ["-Wl,--no-as-needed", "-L.", "-lfirst", "-lsecond", "-Wl,-rpath,$ORIGIN"]),
                                ("loaded", []), ("exported", ["-rdynamic"])):
                program = folder / kind
                if checks.succeeds(f"{kind}: links", [compiler, "main.o", "bodies.o", *flags, "-ldl", "-o", program],
                                   cwd=folder).returncode == 0:
                    behaves(checks, f"{folder.name} {kind}, second {second}", program,
                            {"main": "on", "first": "on", "second": second})

    several_implementations(checks, SEVERAL, implementation)

    # A session never crosses modes in silence.
    for mode, flags in (("on", []), ("off", ["-DODR_TAKE"])):
        checks.succeeds(f"across, {mode}", ["g++", "-std=c++17", f"-I{INCLUDE}", MODES[mode], *flags, "-c",
                                            SOURCE / "across.cpp", "-o", f"across_{mode}.o"])
    link = run(["g++", "across_on.o", "across_off.o", "-ldl", "-o", "across"])
    checks.that(link.returncode != 0 and "undefined reference" in link.stderr and "take" in link.stderr,
                "a session handed to the other mode does not link", link.stderr)
    return checks.end()
