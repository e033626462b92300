#!/usr/bin/env python3
"""Whether the tests see careless faults: each line of mutants.txt is one.

    run.py [--jobs N] [--only PATTERN...] [--update]

A copy of include/ and src/ gets all of them at once, each behind a switch; the unit and fake tests are built with it. All tests
run with none, which also tells which tests come by each mutant. Then each mutant is switched on by itself, and the
tests that come by it run, its listed killer first, until one fails. A test has 20 s (three times what it took without
a mutant, where that is more), a mutant 60 s: what takes longer in a test has failed, what takes longer in all survives.

The list of results is printed and written to build/mutants/results.txt. The exit status is 1 where less than 90 % are
killed, where a listed killer does not kill, or where a text is not found exactly once in them.

--only tries those whose names match one of the patterns; --update writes into mutants.txt which test killed each.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).resolve().parent / "mutants.txt"
HOME = ROOT / "build" / "mutants"
TREE = HOME / "tree"  # the sources: all but include/ and src/ are links
OUT = HOME / "out"  # what CMake makes of them
FOLDERS = ("include", "src")
TEST_S = 20
MUTANT_S = 60
LEAST_KILLED = 0.9
NUMBERS = 1 << 20  # that mutants may have

# What decides in the program which mutant is on, and notes by which ones it comes: in a file that all processes of a
# test share, since many of them do not end as programs should.
SWITCH = """\
#ifndef STRATA_MUTANTS_HPP
#define STRATA_MUTANTS_HPP

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// Hidden, or a module that has a copy of them is never unloaded.
namespace strata_mutants __attribute__((visibility("hidden"))) {

struct switches {
  int on = 0;
  unsigned char* reached = nullptr;
};
inline switches read_switches() noexcept {
  switches made;
  if (char const* const on = getenv("MUTANT_ON")) made.on = atoi(on);
  char const* const path = getenv("MUTANTS_REACHED");
  int const file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return made;
  void* const memory = mmap(nullptr, MUTANT_COUNT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) made.reached = static_cast<unsigned char*>(memory);
  return made;
}
inline bool is_on(int mutant) noexcept {
  static switches const now = read_switches();
  if (now.reached != nullptr) now.reached[mutant] = 1;
  return now.on == mutant;
}
inline bool const begun = is_on(0);  // before the program can be short of memory

}  // namespace strata_mutants

#define STRATA_MUTANT(n) ::strata_mutants::is_on(n)
// The same in a function that the compiler may evaluate: there the original holds.
#define STRATA_MUTANT_OF_CONSTANT(n) (!__builtin_is_constant_evaluated() && ::strata_mutants::is_on(n))

#endif
"""


class Mutant:
    def __init__(self, line):
        self.name, self.killer, text = line.split(None, 2)
        self.number = 1 + zlib.crc32(self.name.encode()) % (NUMBERS - 1)  # others keep theirs when one is added
        parts = re.fullmatch(r"(.*)\{\{ (.+?) =>(.*?) \}\}(.*)", text.strip())
        if not parts:
            sys.exit(f"{LIST.name}: {self.name} has no {{{{ ORIGINAL => REPLACEMENT }}}}")
        self.before, self.original, self.replacement, self.after = (part.strip() for part in parts.groups())
        self.problem = ""

    def switched(self, original, in_constant):
        macro = "STRATA_MUTANT_OF_CONSTANT" if in_constant else "STRATA_MUTANT"
        if self.original.endswith(";"):
            return f"if ({macro}({self.number})) {{ {self.replacement} }} else {{ {original} }}"
        return f"({macro}({self.number}) ? ({self.replacement}) : ({original}))"


def read_list():
    lines = [line for line in LIST.read_text().splitlines() if line.strip() and not line.startswith("#")]
    mutants = [Mutant(line) for line in lines]
    by_number = {}
    for mutant in mutants:
        other = by_number.setdefault(mutant.number, mutant)
        if other is not mutant:
            sys.exit(f"{LIST.name}: {other.name} and {mutant.name} have one number: name one of them differently")
    return mutants


# ---- a copy of the headers with all mutants in it -------------------------------------------------------------------
class Source:
    """A header without its blanks, and where each character of it stands."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), self.text)
        self.places = [i for i, c in enumerate(self.text) if not c.isspace()]
        self.dense = "".join(self.text[i] for i in self.places)
        self.found = []  # (begin, end, mutant)

    def starts_of(self, wanted):
        start = self.dense.find(wanted)
        while start >= 0:
            yield start
            start = self.dense.find(wanted, start + 1)


def dense(text):
    return "".join(text.split())


def find(mutants, sources):
    for mutant in mutants:
        before, original, after = dense(mutant.before), dense(mutant.original), dense(mutant.after)
        wanted = before + original + after
        places = [(source, start) for source in sources for start in source.starts_of(wanted)]
        if len(places) != 1:
            mutant.problem = f"its text is in include/ and src/ {len(places)} times: " + ", ".join(
                str(source.path.relative_to(ROOT)) for source, _ in places)
            continue
        source, start = places[0]
        begin = source.places[start + len(before)]
        end = source.places[start + len(before) + len(original) - 1] + 1
        line = source.text[source.text.rfind("\n", 0, begin) + 1:begin]
        if len(re.findall(r'"', re.sub(r"\\.|'\"'", "", line))) % 2:
            mutant.problem = "it begins within a text: ORIGINAL is the whole literal"
            continue
        source.found.append((begin, end, mutant))


class Keyword:
    """The `constexpr` of a constant that changes: it is none to the compiler."""

    def __init__(self, replacement):
        self.name = "constexpr"
        self.replacement = replacement

    def switched(self, original, in_constant):
        return self.replacement


def keyword_of(code, place):
    """Of the statement that a place is in, where that declares a constant: (begin, end, Keyword)."""
    statement = max(code.rfind(c, 0, place) for c in ";{}") + 1
    declared = re.match(r"\s*((?:static |inline )*constexpr )[^(=]*=", code[statement:place])
    if not declared:
        return None
    storage = "inline static " if "static" in declared.group(1) else declared.group(1)[:-len("constexpr ")]
    return statement + declared.start(1), statement + declared.end(1), Keyword(storage + "const ")


def mutated(source):
    text = source.text
    keywords = {}
    for begin, _, _ in source.found:
        keyword = keyword_of(source.code, begin)
        if keyword:
            keywords[keyword[0]] = keyword
    found = sorted(source.found + list(keywords.values()), key=lambda each: (each[0], -each[1]))

    def render(begin, end, inside):
        """The text from begin to end with the mutants that lie in it."""
        made, at = "", begin
        while inside:
            first, last, mutant = inside.pop(0)
            within = []
            while inside and inside[0][0] < last:
                if inside[0][1] > last:
                    sys.exit(f"{mutant.name} and {inside[0][2].name} lie across each other")
                within.append(inside.pop(0))
            made += text[at:first]
            made += mutant.switched(render(first, last, within), is_in_constant_function(text, first))
            at = last
        return made + text[at:end]

    return render(0, len(text), found)


def is_in_constant_function(text, at):
    """Whether the function around a place is declared constexpr: one at the margin, or a member."""
    for indent in ("", "  "):
        heads = list(re.finditer(rf"^{indent}(?=[^\s/#}}])[^\n]*", text[:at], re.M))
        if heads and re.match(r"\s*(?:static |inline )*constexpr\b(?![^(]*=)", heads[-1].group()):
            return True
    return False


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make_tree(mutants):
    TREE.mkdir(parents=True, exist_ok=True)
    for entry in ROOT.iterdir():
        if entry.name not in (*FOLDERS, "build", ".git") and not (TREE / entry.name).is_symlink():
            (TREE / entry.name).symlink_to(entry)
    sources = [Source(path) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    find(mutants, [source for source in sources if source.path.suffix in (".hpp", ".cpp")])
    wanted = {TREE / "include/strata/mutants.hpp"}
    write(TREE / "include/strata/mutants.hpp", SWITCH.replace("MUTANT_COUNT", str(NUMBERS)))
    for source in sources:
        text = mutated(source)
        if source.path.name == "version.hpp":
            text += "#if defined(__cplusplus)\n#include <strata/mutants.hpp>\n#endif\n"
        target = TREE / source.path.relative_to(ROOT)
        wanted.add(target)
        write(target, text)
    for path in [path for folder in FOLDERS for path in (TREE / folder).rglob("*")]:
        if path.is_file() and path not in wanted:
            path.unlink()


def build(jobs):
    doctest = os.environ.get("STRATA_DOCTEST_INCLUDE") or (
        ROOT / ".deps/doctest" if (ROOT / ".deps/doctest/doctest/doctest.h").exists() else "")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    log = HOME / "build.log"
    commands = (["cmake", "-S", TREE, "-B", OUT, *generator, *launcher, "-DCMAKE_BUILD_TYPE=Debug", "-DSTRATA_TEST_TOGETHER=ON",
                 "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DSTRATA_BUILD_TESTS=ON", "-DSTRATA_BUILD_EXAMPLES=OFF",
                 "-DSTRATA_TEST_RINGS=unit;fake", f"-DSTRATA_DOCTEST_INCLUDE={doctest}"],
                ["cmake", "--build", OUT, "-j", str(jobs), "--target", "strata_implementation"],  # most fail here
                ["cmake", "--build", OUT, "-j", str(jobs)])
    with open(log, "w") as out:
        for command in commands:
            if subprocess.run([str(word) for word in command], stdout=out, stderr=out).returncode != 0:
                sys.exit(f"the mutated headers do not build: see {log}")


# ---- tests ----------------------------------------------------------------------------------------------------------
class Test:
    def __init__(self, entry):
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        self.name = entry["name"]
        self.command = entry["command"]
        if self.command[0].endswith(("unit_tests", "fake_tests")):
            self.command = self.command + ["--abort-after=1"]
        self.environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        self.seconds = 0.0
        self.reached = set()  # numbers of mutants


def read_tests():
    said = subprocess.run(["ctest", "--test-dir", OUT, "--show-only=json-v1"], capture_output=True, text=True,
                          check=True).stdout
    tests = [Test(entry) for entry in json.loads(said)["tests"]]
    return [test for test in tests if ".script." not in test.name and ".example." not in test.name]


def end_session(leader):
    """Ends all processes that a test has left."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.getsid(int(entry.name)) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def run(test, place, deadline, more):
    """Runs a test in a folder of its own: seconds, and whether it passed."""
    folder = place / test.name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("STRATA", "NVTX"))}
    environment.update(test.environment, TMPDIR=str(folder / "tmp"), **more)
    begin = time.monotonic()
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(test.command, cwd=folder, env=environment, stdout=output, stderr=output,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = process.wait(deadline)
        except subprocess.TimeoutExpired:
            code = None
        end_session(process.pid)
        process.wait()
    return time.monotonic() - begin, code in (0, 77)


def with_places(jobs, function, items):
    free = queue.Queue()
    for i in range(jobs):
        free.put(HOME / "work" / str(i))

    def one(item):
        place = free.get()
        try:
            return function(item, place)
        finally:
            free.put(place)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, items)


def run_with_none(tests, mutants, jobs):
    def one(test, place):
        place.mkdir(parents=True, exist_ok=True)
        reached = place / f"{test.name}.reached"
        with open(reached, "wb") as file:
            file.truncate(NUMBERS)
        test.seconds, passed = run(test, place, 300, {"MUTANTS_REACHED": str(reached)})
        came_by = reached.read_bytes()
        test.reached = {mutant.number for mutant in mutants if came_by[mutant.number]}
        return test, passed, (place / test.name / "output").read_text(errors="replace")

    failed = 0
    for test, passed, output in with_places(jobs, one, tests):
        if not passed:
            failed += 1
            print(f"{test.name} fails with no mutant on:\n{output[-2000:]}")
    if failed:
        sys.exit(f"{failed} of {len(tests)} tests fail with no mutant on")


class Result:
    def __init__(self, mutant):
        self.mutant = mutant
        self.by = ""  # the test that killed it
        self.seconds = 0.0
        self.said = ""
        self.survived = False
        self.lost_killer = False


def try_mutant(mutant, tests, place):
    result = Result(mutant)
    if mutant.problem:
        result.said = mutant.problem
        return result
    reaching = [test for test in tests if mutant.number in test.reached]
    reaching.sort(key=lambda test: (test.name != mutant.killer, test.seconds))
    for test in reaching:
        if result.seconds > MUTANT_S:
            result.said = f"{MUTANT_S} s were over"
            break
        deadline = max(TEST_S, 3 * test.seconds)
        seconds, passed = run(test, place, deadline, {"MUTANT_ON": str(mutant.number)})
        result.seconds += seconds
        if not passed:
            result.by = test.name
            result.said = "did not end" if seconds >= deadline else ""
            break
        result.lost_killer = result.lost_killer or test.name == mutant.killer
    result.survived = not result.by
    if mutant.killer != "-" and mutant.killer not in (test.name for test in reaching):
        result.lost_killer = True
    if result.survived and not reaching:
        result.said = "no test comes by it"
    return result


def line_of(result):
    name = f"{result.mutant.name:34}"
    if result.mutant.problem:
        return f"NOT APPLICABLE  {name}  {result.said}"
    said = f"  ({result.said})" if result.said else ""
    lost = f"  {result.mutant.killer} does not kill it any more" if result.lost_killer else ""
    if result.survived:
        return f"survived        {name}{lost}{said}"
    return f"killed          {name}  {result.by}  {result.seconds:.1f} s{lost}{said}"


def update(results):
    killers = {result.mutant.name: result.by or "-" for result in results if not result.mutant.problem}
    lines = []
    for line in LIST.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, killer, text = line.split(None, 2)
            line = f"{name:34} {killers.get(name, killer):26} {text}"
        lines.append(line)
    LIST.write_text("\n".join(lines) + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    arguments.add_argument("--only", default=["*"], nargs="+")
    arguments.add_argument("--update", action="store_true")
    wanted = arguments.parse_args()
    begin = time.monotonic()
    mutants = read_list()
    make_tree(mutants)
    for mutant in mutants:
        if mutant.problem:
            print(f"{mutant.name}: {mutant.problem}", flush=True)
    build(wanted.jobs)
    built = time.monotonic()
    tests = read_tests()
    run_with_none(tests, mutants, wanted.jobs)
    passed = time.monotonic()
    print(f"{len(tests)} tests pass with no mutant on; built in {built - begin:.0f} s, run in {passed - built:.0f} s, "
          f"{processor_s():.0f} s of processors", flush=True)
    chosen = [mutant for mutant in mutants if any(fnmatch.fnmatch(mutant.name, each) for each in wanted.only)]
    results = []
    for result in with_places(wanted.jobs, lambda mutant, place: try_mutant(mutant, tests, place), chosen):
        results.append(result)
        print(line_of(result), flush=True)
    if wanted.update:
        update(results)
    return summary(results, passed - begin, time.monotonic() - passed)


def processor_s():
    """Of what was built and run until now."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(results, prepared_s, tried_s):
    rooms = collections.OrderedDict()
    for result in results:
        if not result.mutant.problem:
            rooms.setdefault(result.mutant.name.split(".")[0], []).append(result)
    lines = [line_of(result) for result in results] + [""]
    lines += [f"{room:12} {sum(not each.survived for each in some):3} of {len(some):3}" for room, some in rooms.items()]
    applicable = [result for result in results if not result.mutant.problem]
    killed = sum(not result.survived for result in applicable)
    lost = sum(result.lost_killer for result in applicable)
    absent = len(results) - len(applicable)
    lines.append(f"{killed} of {len(applicable)} mutants killed ({100 * killed / max(1, len(applicable)):.1f} %), "
                 f"{lost} not by the listed test, {absent} not applicable; {prepared_s:.0f} s to build and run all tests, "
                 f"{tried_s:.0f} s for the mutants, {processor_s():.0f} s of processors in all")
    (HOME / "results.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[len(results):]))
    return 1 if killed < LEAST_KILLED * len(applicable) or lost or absent else 0


if __name__ == "__main__":
    sys.exit(main())
