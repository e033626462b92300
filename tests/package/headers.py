"""Every header that users include compiles alone, in both modes, and with STRATA_TEST_FULL=1 each of the others; all of them
in several orders beside hostile macros; and linked twice into one program."""
import random
import re
import shutil

from common import (FULL, INCLUDE, MODES, WARNINGS, Checks, compilers, cuda_include, headers, in_mode, includes_of,
                    left_out, needs_nvtx, run, system_includes)

# Names that CUDA, LLM code, test frameworks and windows.h are known to define. Each expands to something that cannot
# compile, so a header that uses one as a name of its own fails.
OBJECTS = """B T C I K H V N M L NH BT EPS PI WARP_SIZE BLOCK_SIZE GPU CPU TRUE FALSE IN OUT OPTIONAL ERROR INFO WARN
    DEBUG TRACE FAIL SUCCESS STRICT small near far interface restrict
    None Bool Status Success""".split()
FUNCTIONS = """LOG LOG_INF LOG_ERR CHECK CUDA_CHECK CUPTI_CALL CUPTI_API_CALL DRIVER_API_CALL RUNTIME_API_CALL NVTX_CHECK
    cudaCheck cublasCheck check verify assert ASSERT ASSERT_EQ VERIFY REQUIRE EXPECT EXPECT_EQ GGML_ASSERT min max MIN MAX
    abs_diff CEIL_DIV DIV_CEIL ARRAY_SIZE UNUSED STR STRINGIFY CAT CONCAT TEST TEST_CASE SUBCASE SECTION RANGE PROFILE
    PUSH_RANGE POP_RANGE SCOPE DEFER""".split()


def hostile():
    lines = [system_includes()]
    for name in OBJECTS:
        lines.append(f"#undef {name}\n#define {name} @hostile_{name}@")
    for name in FUNCTIONS:
        lines.append(f"#undef {name}\n#define {name}(...) @hostile_{name}@")
    return "\n".join(lines) + "\n"


def everything(names):
    return "".join(f"#include <{n}>\n" for n in names)


def depends_on_mode(name):
    """A header that mentions the switch, or reaches one that does. The others are the same text in both modes."""
    seen, stack = set(), [name]
    while stack:
        at = stack.pop()
        if at in seen or not (INCLUDE / at).exists():
            continue
        seen.add(at)
        if at != "strata/base/macros.hpp" and re.search(r"STRATA_ENABLED|_SWITCH\b", (INCLUDE / at).read_text()):
            return True
        stack += [target for _, target in includes_of(at) if target.startswith("strata/")]
    return False


def for_users(name):
    return name.count("/") == 1


def orders(names):
    """A header that lacks an include fails where nothing before it brought that."""
    yield "forwards", names
    yield "backwards", names[::-1]
    if FULL:
        yield "shuffled", random.Random(1).sample(names, len(names))


def main():
    checks = Checks()
    compiler = compilers()[-1]  # clang++, where it is, takes half of g++'s time
    nvtx = cuda_include()
    names = [n for n in headers() if nvtx or not needs_nvtx(n)]
    if not nvtx:
        left_out("nvtx.hpp", "no nvtx3/nvToolsExt.h here")
    base = [compiler, "-std=c++17", f"-I{INCLUDE}"]

    def with_nvtx(some):
        return ["-isystem", nvtx] if nvtx and any(needs_nvtx(n) for n in some) else []

    # Alone, twice in a row (guards), without any foreign include path.
    jobs = []
    for mode, define in MODES.items():
        for name in in_mode(names, mode):
            if not (FULL or for_users(name)) or (mode == "off" and not depends_on_mode(name)):
                continue
            jobs.append((f"{name} alone, {mode}",
                         base + WARNINGS + [define, "-fsyntax-only", "-x", "c++", "-"] + with_nvtx([name]),
                         everything([name, name])))
    for name in names:
        if name.endswith(".h") and shutil.which("gcc"):
            for standard in ("c99", "c11"):
                jobs.append((f"{name} as {standard}",
                             ["gcc", f"-std={standard}", f"-I{INCLUDE}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                              "-fsyntax-only", "-x", "c", "-"], everything([name, name])))

    # All of them after the hostile macros.
    for mode, define in MODES.items():
        mine = in_mode(names, mode)
        for order, some in orders(mine):
            jobs.append((f"hostile macros, {mode}, {order}",
                         base + [define, "-fsyntax-only", "-x", "c++", "-"] + with_nvtx(some),
                         hostile() + everything(some)))
    for result in checks.all_succeed(jobs):
        places = re.findall(r"strata/(\S+:\d+):\d+: note: in expansion of macro .(\w+)", result.stderr)
        for place, macro in sorted(set(places)):
            print(f"  {place} uses the name {macro}")

    # A unit with everything, twice in one program: a forgotten inline is a duplicate symbol.
    jobs = [("main.o", [compiler, "-c", "-o", "main.o", "-x", "c++", "-"], "int main() {}\n")]
    for mode, define in MODES.items():
        jobs.insert(0, (f"everything, {mode}",
                        base + [define, "-O0", "-c", "-o", f"{mode}_one.o", "-x", "c++", "-"] + with_nvtx(names),
                        everything(in_mode(names, mode))))
    checks.all_succeed(jobs)
    for mode in MODES:
        shutil.copy(f"{mode}_one.o", f"{mode}_two.o")
        link = checks.succeeds(f"linked twice, {mode}", [compiler, "main.o", f"{mode}_one.o", f"{mode}_two.o", "-ldl",
                                                         "-o", f"twice_{mode}"])
        if link.returncode == 0:
            checks.runs_silently(f"runs silently, {mode}", f"./twice_{mode}")
    symbols = run(["nm", "-C", "off_two.o"]).stdout.splitlines()
    undefined = [s for s in symbols if " U " in s and "strata" in s]
    checks.that(not undefined, "off mode leaves no undefined symbol", "\n".join(undefined))
    print(f"{len(names)} headers")
    return checks.end()
