"""Kernels of programs.py: Triton reads their source, so they stand at the top of a file."""

import triton
import triton.language as tl


@triton.jit
def scale(x, factor, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + index, tl.load(x + index, mask=index < n) * factor, mask=index < n)


@triton.jit
def shift(x, amount, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + index, tl.load(x + index, mask=index < n) + amount, mask=index < n)
