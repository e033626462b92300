#!/usr/bin/env bash
# JAX 0.8.1, its CPU backend.
#
# Guess: "bytes accessed" of an embedding lookup, compiled, are those of the rows that are read, as they are before it
# is compiled, so that they can stand beside the traffic that counters saw.
# Behaviour: lowered, 16 rows are read and written; compiled, the whole table is counted, a thousand times as much. A
# decode step that looks up few tokens in a large vocabulary looks bound by memory where it is not.
# Seen: table of 50,257 by 768 floats, 16 rows: 99,176 bytes lowered, 154 million compiled
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v"
"$folder/v/bin/pip" install -q jax==0.8.1 jaxlib==0.8.1
cd "$folder"
JAX_PLATFORMS=cpu "$folder/v/bin/python" - <<'PY'
import sys

import jax
import jax.numpy as jnp

table = jnp.ones((50257, 768))
tokens = jnp.zeros(16, jnp.int32)
lowered = jax.jit(lambda table, tokens: table[tokens]).lower(table, tokens)
before = lowered.cost_analysis()["bytes accessed"]
after = lowered.compile().cost_analysis()["bytes accessed"]
rows = 16 * 768 * 4
print(f"{rows} bytes of rows, {table.nbytes} of the table: {before:.0f} lowered, {after:.0f} compiled")
sys.exit(0 if rows <= before < 3 * rows and after >= table.nbytes else 1)
PY
