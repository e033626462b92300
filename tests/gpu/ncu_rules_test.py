"""The programs of benchmarks/planted/ncu_rules.cu: the first finding names each fault, and its sentence the wait
where one is expected; of the same work without the fault nothing is said that gains more than 5 % of the step.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
specification = importlib.util.spec_from_file_location("planted", root / "benchmarks/planted.py")
planted = importlib.util.module_from_spec(specification)
specification.loader.exec_module(planted)

# What the first finding says of the wait.
WORDS = {
    "barrier_stalls": "(barrier)",
    "dependent_chain": "(wait)",
    "instruction_misses": "(no instruction)",
    "sleeping": "(sleeping)",
}
folder = pathlib.Path("ncu_rules").resolve()
folder.mkdir(exist_ok=True)
source = (root / "benchmarks/planted/ncu_rules.cu").read_text(encoding="utf-8")
cases = re.findall(r'\{"(\w+)", \w+\}', source)
has_twin = {
    name: "mended" in re.search(rf"^void {name}\(\) \{{(.*?)^\}}", source, re.S | re.M).group(1) for name in cases
}
if os.environ.get("PLANTED_BINARY"):
    binary = pathlib.Path(os.environ["PLANTED_BINARY"])
else:
    binary = folder / "planted"
    nvcc = os.environ.get("CUDACXX", "/usr/local/cuda/bin/nvcc")
    subprocess.run(
        [
            nvcc,
            "-std=c++17",
            "-O2",
            "-arch=native",
            f"-I{root}/include",
            f"-I{root}/src",
            f"-I{pathlib.Path(os.environ.get('STRATA_TEST_BUILD_DIR', 'build/tests')).resolve()}/page",
            "-o",
            binary,
            root / "benchmarks/planted/main.cu",
            root / "benchmarks/planted/ncu_rules.cu",
            root / "include/strata/implementation.cpp",
            root / "src/all.cpp",
            "-ldl",
        ],
        check=True,
    )
failures = []
for case in cases:
    counters, expected = planted.CASES[case][:2]
    right, said = planted.judge(planted.run([binary], folder, case, counters), case, expected)
    if WORDS.get(case, "") not in said:
        right = False
    print(f"{'ok' if right else 'WRONG'} {case}: {said}", flush=True)
    failures += [] if right else [case]
    if not has_twin[case]:
        continue
    right, said = planted.judge(planted.run([binary], folder, case, counters, ("mended",)), case, [])
    print(f"{'ok' if right else 'WRONG'} {case} mended: {said}", flush=True)
    failures += [] if right else [case + " mended"]
if len(cases) < 15:
    failures.append(f"{len(cases)} programs were found")
print(f"{len(cases)} programs, {len(failures)} wrong: {', '.join(failures)}")
sys.exit(1 if failures else 0)
