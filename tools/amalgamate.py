#!/usr/bin/env python3
"""Writes the library as one header to drop into a tree: python3 tools/amalgamate.py strata.hpp

It has ranges, sessions, the model, benchmarks and recordings; one source file of the program defines STRATA_IMPLEMENTATION
before it includes it. The reports of src/ are made by the command `strata`.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[1]
include = root / "include"
# What users include, but for nvtx.hpp and the adapters, which need headers of others. strata.hpp is last: it brings the implementation.
PUBLIC = ("include/strata/inherit.hpp", "include/strata/session.hpp", "src/model/llm.hpp", "src/benchmark/benchmark.hpp",
          "include/strata/strata.hpp")
OWN = re.compile(r"\s*#\s*include\s*(?:<(strata/[\w/]+\.(?:hpp|h))>|\"([\w/.]+)\")")
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|endif)\b")


def amalgamated():
    whole, conditional = set(), set()  # headers in place already: for all, and where a condition holds

    def put(path, within_condition):
        if path in whole or (within_condition and path in conditional):
            return
        (conditional if within_condition else whole).add(path)
        open_conditions = []  # whether each is one; the header's guard is none
        for line in path.read_text(encoding="utf-8").splitlines():
            directive = CONDITION.match(line)
            if directive and directive.group(1) == "endif":
                open_conditions.pop()
            elif directive:
                open_conditions.append(not re.match(r"#ifndef STRATA_\w+_(HPP|H)$", line))
            own = OWN.match(line)
            if own:
                found = include / own.group(1) if own.group(1) else (path.parent / own.group(2)).resolve()
                yield from put(found, within_condition or any(open_conditions))
            else:
                yield line

    version = dict(re.findall(r"#define STRATA_VERSION_(\w+) (\d+)", (include / "strata/version.hpp").read_text()))
    yield "// Strata {MAJOR}.{MINOR}.{PATCH} in one header. In one source file of the program:".format(**version)
    yield from ("//", "//   #define STRATA_IMPLEMENTATION", '//   #include "strata.hpp"', "//")
    for line in (root / "LICENSE").read_text(encoding="utf-8").splitlines():
        yield f"// {line}".rstrip()
    for name in PUBLIC:
        yield from put(root / name, False)


if len(sys.argv) != 2:
    sys.exit(__doc__)
pathlib.Path(sys.argv[1]).write_text("\n".join(amalgamated()) + "\n", encoding="utf-8")
