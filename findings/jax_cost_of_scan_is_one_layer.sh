#!/usr/bin/env bash
# JAX 0.8.1, its CPU backend.
#
# Guess: cost_analysis() of a model whose layers run in lax.scan counts the layers times the length, which is known when
# it compiles, so that FLOPs divided by the measured time are the speed.
# Behaviour: the body of the loop is counted once, lowered and compiled alike, so a model of 8 layers counts as one. The
# same layers in a Python loop count as 8. What is told to strata::flops() must be multiplied by the length.
# Seen: 8 products of (64, 256) by (256, 256), 67,108,864 FLOPs: 8,388,610 with lax.scan, 67,108,864 unrolled
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

layers = jnp.ones((8, 256, 256))
x = jnp.ones((64, 256))


def scanned(x, layers):
    return jax.lax.scan(lambda x, layer: (x @ layer, None), x, layers)[0]


def unrolled(x, layers):
    for layer in layers:
        x = x @ layer
    return x


def counted(function):
    lowered = jax.jit(function).lower(x, layers)
    return lowered.cost_analysis()["flops"], lowered.compile().cost_analysis()["flops"]


one = 2 * 64 * 256 * 256
seen = counted(scanned), counted(unrolled)
print(seen, "for", 8 * one)
whole = all(each == 8 * one for each in seen[1])
once = all(one <= each < 1.01 * one for each in seen[0])
sys.exit(0 if whole and once else 1)
PY
