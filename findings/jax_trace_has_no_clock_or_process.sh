#!/usr/bin/env bash
# JAX 0.8.1 (jax.profiler.trace), its CPU backend.
#
# Guess: trace.json.gz names the process that it is of and says when it began, so that the traces of two ranks, or one
# of them and one of another tool, can stand side by side; and an annotation's numbers are numbers.
# Behaviour: the process id is 701 in every trace, times begin at 0 with no absolute time beside them, and thread ids
# are not the system's. Two ranks merged by id lie on top of each other. step_num and every other argument are
# strings.
# Seen: 701 for two processes, keys displayTimeUnit and metadata (highres-ticks), "step_num": "0"
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q jax==0.8.1 jaxlib==0.8.1
cd "$folder"
cat >rank.py <<'PY'
import sys

import jax
import jax.numpy as jnp

product = jax.jit(lambda x: x @ x)
x = jnp.ones((64, 64))
product(x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    for step in range(2):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            product(x).block_until_ready()
PY
export JAX_PLATFORMS=cpu
"$folder/v/bin/python" rank.py rank0
"$folder/v/bin/python" rank.py rank1
"$folder/v/bin/python" - <<'PY'
import glob
import gzip
import json
import sys


def read(folder):
    with gzip.open(glob.glob(f"{folder}/**/*.trace.json.gz", recursive=True)[0]) as file:
        return json.load(file)


traces = [read("rank0"), read("rank1")]
steps = [[each for each in trace["traceEvents"] if each.get("name") == "train"] for trace in traces]
processes = {each["pid"] for rank in steps for each in rank}
others = sorted(set(traces[0]) - {"traceEvents"})
numbers = [each["args"]["step_num"] for each in steps[0]]
latest = max(each["ts"] for rank in steps for each in rank)
print(processes, others, traces[0]["metadata"], numbers, latest)
words = json.dumps([others, traces[0]["metadata"]]).lower().split('"')
clock = [word for word in words if "base" in word or "start" in word]
sys.exit(0 if len(processes) == 1 and numbers == ["0", "1"] and not clock and latest < 60e6 else 1)
PY
