"""Including Strata defines no macro but STRATA_*, and neither changes nor removes anyone else's."""
from common import (INCLUDE, MODES, Checks, compilers, cuda_include, headers, in_mode, needs_nvtx, run,
                    system_includes)


def macros(compiler, mode, text, nvtx):
    argv = [compiler, "-std=c++17", f"-I{INCLUDE}", mode, "-dM", "-E", "-x", "c++", "-"]
    result = run(argv + (["-isystem", nvtx] if nvtx else []), stdin=text)
    table = {}
    for line in result.stdout.splitlines():
        _, name, *value = line.split(None, 2)
        table[name.split("(")[0]] = line
    return result, table


def main():
    checks = Checks()
    nvtx = cuda_include()
    names = [n for n in headers() if nvtx or not needs_nvtx(n)]
    # Headers of the system that only define macros when included by others are taken from the tree's own lines.
    before_text = system_includes()
    for compiler in compilers():
        for mode, define in MODES.items():
            what = f"{compiler}, {mode}"
            first, before = macros(compiler, define, before_text, nvtx)
            own = "".join(f"#include <{n}>\n" for n in in_mode(names, mode))
            second, after = macros(compiler, define, before_text + own, nvtx)
            if not checks.that(first.returncode == 0 and second.returncode == 0, what + ": preprocesses",
                               first.stderr + second.stderr):
                continue
            new = sorted(set(after) - set(before))
            leaked = [n for n in new if not n.startswith("STRATA_")]
            checks.that(not leaked, what + ": nothing but STRATA_* is new", "\n".join(after[n] for n in leaked))
            changed = [n for n in before if after.get(n) != before[n] and not n.startswith("STRATA_")]
            checks.that(not changed, what + ": nothing else changed", "\n".join(changed))
            public = [n for n in new if not n.startswith("STRATA_DETAIL_") and not n.endswith(("_HPP", "_H"))]
            print(f"{what}: {len(new)} new; public: {' '.join(public)}")
    return checks.end()
