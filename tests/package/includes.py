"""Data flows one way: a header reaches only the rooms to its left. What a header may include at all; its length.

Rooms are given for the headers that anchor them. A header that is not named here belongs to the rightmost room that it
reaches, so a helper never opens a back door."""
import re

from common import INCLUDE, TREE, Checks, headers, includes_of, run

LIMIT = 400

# In the order of the flow. Profile is plain data and may be included by collectors, although it stands to their right.
ROOMS = {
    "base": "version config status detail/text detail/clock detail/off",
    "annotate": "range c nvtx detail/process",
    "profile": "record profile metric",
    "collect": "activity counters live_counters cpu_counters detail/cupti detail/driver",
    "analyse": "call_tree roofline memory compare llm",
    "report": "report/table report/csv report/json report/trace report/html",
    "session": "session implementation benchmark strata",
}
# Analysis and reports are pure functions: they never reach a collector. Annotating knows nothing of profiles.
MAY_REACH = {
    "base": "base",
    "annotate": "base annotate profile",  # attributes are plain records
    "profile": "base profile",
    "collect": "base annotate profile collect",
    "analyse": "base profile analyse",
    "report": "base profile analyse report",
    "session": "base annotate profile collect analyse report session",
}
STANDARD = set("""algorithm array atomic bit cassert cctype cerrno cfloat charconv chrono cinttypes climits cmath
    condition_variable csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque exception
    initializer_list iterator limits list map memory mutex new numeric optional ostream set stdexcept string string_view
    system_error tuple type_traits typeinfo unordered_map unordered_set utility variant vector
    stddef.h stdint.h stdbool.h""".split())
# Dear, or they carry static state or locales: never in a header.
BANNED = set("iostream fstream filesystem regex functional thread sstream locale iomanip future random".split())
FOREIGN = re.compile(r"(^|/)(cuda|cupti|nvtx|nvToolsExt|nvml|cublas|cudnn|nvperf|driver_types)", re.I)
# The operating system is reached from detail/, from the collector of Linux counters and from the header for C.
SYSTEM_OWNERS = re.compile(r"strata/(detail/|cpu_counters\.hpp$|c\.h$)")


def room_of(name):
    stem = re.sub(r"^strata/|\.(hpp|h)$", "", name)
    if stem.startswith("adapters/"):
        return "session"
    for room, stems in ROOMS.items():
        if stem in stems.split():
            return room
    return None


def reach(name, graph, seen):
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
    names = headers(adapters=True)
    graph = {}
    for name in names:
        text = (INCLUDE / name).read_text()
        lines = text.count("\n")
        checks.that(lines <= LIMIT, f"{name} has at most {LIMIT} lines", f"  it has {lines}")
        checks.that("#pragma once" not in text, f"{name} has a named guard, which collapses two copies")
        checks.that(".." not in "".join(n for _, n in includes_of(name)), f"{name} includes by full path")
        graph[name] = []
        for quote, target in includes_of(name):
            what = f"{name} includes {quote}{target}"
            if target.startswith("strata/"):
                graph[name].append(target)
                checks.that(quote == "<", what + ": own headers as <strata/...>")
                checks.that((INCLUDE / target).exists(), what + ", which exists")
            elif "/adapters/" in name:
                continue
            elif target in STANDARD:
                checks.that(True, what)
            elif target in BANNED:
                checks.that(False, what + ", which no header may")
            elif FOREIGN.search(target):
                checks.that(name == "strata/nvtx.hpp" and target.startswith("nvtx3/"),
                            what + ": no CUDA, CUPTI or NVTX header, but NVTX's C header in nvtx.hpp")
            else:
                checks.that(SYSTEM_OWNERS.match(name), what + ": the system's headers only in detail/")
    for name in names:
        room = room_of(name)
        found = reach(name, graph, set())
        checks.that(name not in found, f"{name} does not include itself",
                    "  " + " -> ".join(found.get(name, [])))
        if room is None:
            continue
        for target, way in sorted(found.items()):
            other = room_of(target)
            if other is not None:
                checks.that(other in MAY_REACH[room].split(), f"{name} ({room}) does not reach {target} ({other})",
                            "  " + " -> ".join(way))
    # What every source file of a program includes: by the compiler's account, since the implementation is under #if.
    told = run(["g++", "-std=c++17", f"-I{INCLUDE}", "-M", "-x", "c++", "-"], stdin="#include <strata/strata.hpp>\n")
    reached = sorted(set(re.findall(r"\S*/(strata/\S+\.(?:hpp|h))", told.stdout)))
    heavy = [n for n in reached if room_of(n) in ("collect", "analyse", "report")]
    checks.that(told.returncode == 0 and "strata/range.hpp" in reached and not heavy,
                "strata.hpp reaches no collector, analysis or report", told.stderr + "\n".join(heavy))
    print(f"strata.hpp: {len(reached)} headers")
    sizes = sorted((INCLUDE / n).read_text().count("\n") for n in names)
    print(f"{len(names)} headers, {sum(sizes)} lines, median {sizes[len(sizes) // 2]}, largest {sizes[-1]}")
    return checks.end()
