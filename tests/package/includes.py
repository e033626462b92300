"""The folder of a header is its room, and data flows one way between rooms: from the library in include/ to the reports in src/.
What a header may include at all."""
import re

from common import INCLUDE, INCLUDE_LINE, ROOT, Checks, headers, includes_of, run

# What the headers of a room may include: rooms (folders below include/strata, and src/ with those below it), or single
# headers of another.
MAY_INCLUDE = {
    "base": "base",
    "profile": "base profile",
    "annotate": "base annotate profile/records.hpp profile/overflow_names.hpp",  # attributes are plain records
    "collect/host": "base annotate profile collect/host",
    "collect/nvtx": "base annotate profile collect/host collect/nvtx",
    "collect/cuda": "base annotate profile collect/host collect/nvtx collect/cuda",
    "collect/counters": "base annotate profile collect/host collect/cuda collect/counters",
    "collect/cpu": "base annotate profile collect/host collect/cpu",
    "recording": "base profile recording",
    # Tables are pure functions of a profile at rest: they reach no collector, no session, no options.
    "tables": "base profile tables",
    "session": """base annotate profile collect/host collect/nvtx collect/cuda collect/counters collect/cpu recording tables
        session""",
    # An ordinary library, which nothing of include/ sees: pure functions of a profile too, and what hands them to sessions.
    "src/model": "base src/model",
    "src/analyse": "base profile tables src/model src/analyse",
    "src/report": "base profile tables options.hpp src/analyse src/report",  # the next command has the keys of the run
    "src/live": "base profile tables src/live",
    "src/recording": "base profile recording session src/live src/recording",
    "src/ceilings": "base profile collect/cuda session src/analyse src/ceilings",
    "src/benchmark": "base annotate profile collect/cuda session src/analyse src/benchmark",
    "src/adapters": "base annotate profile src/adapters",
    "src": "base profile collect/counters session tables src/analyse src/live src/recording src/report src/ceilings src",
}
# What users include stands on top, and nothing else does. Each belongs to a room all the same.
PUBLIC = {
    "version.hpp": "base", "status.hpp": "base",
    "range.hpp": "annotate", "inherit.hpp": "annotate", "c.h": "annotate", "nvtx.hpp": "annotate",
    "profile.hpp": "profile",
    "options.hpp": "session", "session.hpp": "session", "strata.hpp": "session", "implementation.hpp": "session",
}
# Each collector works without the others; what one needs of another, the session hands to it as functions.
COLLECTORS = "collect/cuda/activity collect/counters/counters collect/counters/kernel_counters collect/cpu/cpu_counters".split()

# What a range runs in the functions of the program has the program's flags; every other header is exact under
# -ffast-math, which is what STRATA_BEGIN and STRATA_BEGIN_SWITCH see to.
LIGHT = """annotate/attributes annotate/process base/console base/containers base/deadline base/environment base/memory base/numbers base/threads base/vec
    base/vocabulary inherit nvtx range strata base/macros""".split()

STANDARD = set("""algorithm array atomic bit cassert cctype cerrno cfloat charconv chrono cinttypes climits cmath
    condition_variable csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque exception
    initializer_list iterator limits list map memory mutex new numeric optional ostream set stdexcept string string_view
    system_error tuple type_traits typeinfo unordered_map unordered_set utility variant vector
    stddef.h stdint.h stdbool.h""".split())
# Expensive, or they carry static state or locales: never in a header.
BANNED = set("iostream fstream filesystem regex functional thread sstream locale iomanip future random".split())
FOREIGN = re.compile(r"(^|/)(cuda|cupti|nvtx|nvToolsExt|nvml|cublas|cudnn|nvperf|driver_types)", re.I)
# The operating system is reached from these rooms only; the C++ runtime's <cxxabi.h> reads the names of kernels.
SYSTEM_OWNERS = re.compile(r"(base|collect|session)/|src/ceilings/|annotate/process\.hpp$|src/recording/input_file\.hpp$|c\.h$|tables/kernel_names\.hpp$|src/report/zlib_library\.hpp$")


def short(name):
    """session/report_side.hpp of strata/..., and src/report/page.hpp as it is."""
    return name[len("strata/"):] if name.startswith("strata/") else name


def path_of(name):
    return (ROOT if name.startswith("src/") else INCLUDE) / name


def room_of(name):
    """The room of strata/folder/header.hpp or src/folder/header.hpp, or None."""
    folder, _, file = short(name).rpartition("/")
    return folder if folder in MAY_INCLUDE else None if folder else PUBLIC.get(file)


def reach(name, graph):
    """Everything that a header reaches, with the way there."""
    found = {}
    stack = [(name, [name])]
    while stack:
        at, way = stack.pop()
        for to in graph.get(at, []):
            if to not in found:
                found[to] = way + [to]
                stack.append((to, way + [to]))
    return found


def main():
    checks = Checks()
    names = headers() + [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "src").rglob("*.?pp"))]
    graph, sizes = {}, {}
    for name in names:
        room = room_of(name)
        checks.that(room is not None, f"{name} stands in a room, or on top as one of {' '.join(sorted(PUBLIC))}")
        text = path_of(name).read_text()
        included = INCLUDE_LINE.findall(text)
        sizes[name] = text.count("\n")
        checks.that("#pragma once" not in text, f"{name} has a named guard, which collapses two copies")
        checks.that(name.startswith("src/") or ".." not in "".join(n for _, n in included), f"{name} includes by full path")
        stem = short(name).rsplit(".", 1)[0]
        light = re.search(r"^(STRATA_(BEGIN|END)\w*_LIGHT|namespace strata)\b", text, re.M)
        checks.that(not light or stem in LIGHT, f"{name} has its bodies between STRATA_BEGIN and STRATA_END")
        graph[name] = []
        for quote, target in included:
            what = f"{name} includes {quote}{target}"
            if target.endswith("strata_page_files.hpp"):  # made by the build
                continue
            if quote == '"' and name.startswith("src/"):  # relative, so that a user's folders are never found first
                target = (path_of(name).parent / target).resolve().relative_to(ROOT).as_posix()
            if target.startswith(("strata/", "src/")):
                graph[name].append(target)
                checks.that((quote == "<") == target.startswith("strata/"), what + ": <strata/...>, and src/ in quotes")
                checks.that(path_of(target).exists(), what + ", which exists")
                may = MAY_INCLUDE.get(room, "").split()
                checks.that(room_of(target) in may or short(target) in may, what + f": the room {room} sees {', '.join(may)}")
            elif name.startswith("src/adapters/"):  # which need the headers of the project they adapt
                continue
            elif target in STANDARD:
                checks.that(True, what)
            elif target in BANNED:
                checks.that(name.startswith("src/") and name.endswith(".cpp"), what + ", which no header may")
            elif FOREIGN.search(target):
                checks.that(name == "strata/nvtx.hpp" and target.startswith("nvtx3/"),
                            what + ": no CUDA, CUPTI or NVTX header, but NVTX's C header in nvtx.hpp")
            else:
                checks.that(SYSTEM_OWNERS.match(short(name)), what + ": the system's headers only where it is reached")
    for name in names:
        found = reach(name, graph)
        checks.that(name not in found, f"{name} does not include itself", "  " + " -> ".join(found.get(name, [])))
        stem, _ = short(name).rsplit(".", 1)
        for target, way in sorted(found.items()):
            other, _ = short(target).rsplit(".", 1)
            if stem in COLLECTORS and other in COLLECTORS:
                checks.that(other == stem, f"{name} works without {target}", "  " + " -> ".join(way))
    # What every source file of a program includes: by the compiler's account, since the implementation is under #if.
    told = run(["g++", "-std=c++17", f"-I{INCLUDE}", "-M", "-x", "c++", "-"], stdin="#include <strata/strata.hpp>\n")
    reached = sorted(set(re.findall(r"\S*/(strata/\S+\.(?:hpp|h))", told.stdout)))
    heavy = [n for n in reached if (room_of(n) or "").split("/")[0] in ("collect", "recording", "tables", "src")]
    checks.that(told.returncode == 0 and "strata/range.hpp" in reached and not heavy,
                "strata.hpp reaches no collector, recording or table", told.stderr + "  " + " ".join(heavy))
    print(f"strata.hpp: {len(reached)} headers")
    before_cold = {target for _, target in includes_of("strata/implementation.hpp")}
    cold = set(reach("strata/implementation.hpp", graph)) - {"strata/nvtx.hpp"}  # that one comes before the cold code itself
    for target in sorted({target for name in cold for _, target in includes_of(name)} & STANDARD):
        checks.that(target in before_cold or target.endswith(".h"), f"{target} stands before the cold code")
    sizes = sorted(sizes.values())
    print(f"{len(names)} headers, {sum(sizes)} lines, median {sizes[len(sizes) // 2]}, largest {sizes[-1]}")
    return checks.end()
