"""Kernels in Triton, after its tutorials: what model code writes by hand.

CORPUS_DEVICE=cpu with TRITON_INTERPRET=1 and CORPUS_SHRINK=32 tries them on a machine without a GPU.
"""

import torch
import triton
import triton.language as tl

from kernels_torch import BF16, DEVICE, FP16, FP32, flusher, normal, release, synchronise, whole  # noqa: F401

MAKERS = {}


def operations():
    torch.manual_seed(1)
    return MAKERS


def operation(maker):
    MAKERS[maker.__name__] = maker
    return maker


@triton.jit
def add_kernel(x, y, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < count) + tl.load(y + i, i < count), i < count)


@triton.jit
def gelu_kernel(x, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, i < count).to(tl.float32)
    tl.store(out + i, 0.5 * value * (1 + tl.erf(value * 0.70710678)), i < count)


@triton.jit
def dropout_kernel(x, out, count, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > 0.1
    tl.store(out + i, tl.where(keep, tl.load(x + i, i < count) / 0.9, 0.0), i < count)


@triton.jit
def softmax_kernel(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row + i, i < width, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + i, value / tl.sum(value, 0), i < width)


@triton.jit
def layer_norm_kernel(x, w, b, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row + i, i < width, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / width
    apart = tl.where(i < width, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, 0) / width + 1e-5)
    value = apart * scale * tl.load(w + i, i < width, other=0.0) + tl.load(b + i, i < width, other=0.0)
    tl.store(out + row + i, value, i < width)


@triton.jit
def rms_norm_kernel(x, w, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row + i, i < width, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(value * value, 0) / width + 1e-5)
    tl.store(out + row + i, value * scale * tl.load(w + i, i < width, other=0.0), i < width)


@triton.jit
def sum_rows_kernel(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, width, BLOCK):
        total += tl.load(x + row + begin + tl.arange(0, BLOCK))
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def transpose_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + i[:, None] * columns + j[None, :])
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(tile))


@triton.jit
def histogram_kernel(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i), 1)


@triton.jit
def gather_rows_kernel(x, rows, out, width, BLOCK: tl.constexpr):
    source = tl.load(rows + tl.program_id(0))
    for begin in range(0, width, BLOCK):
        i = begin + tl.arange(0, BLOCK)
        tl.store(out + tl.program_id(0).to(tl.int64) * width + i, tl.load(x + source * width + i))


@triton.jit
def matmul_kernel(x, y, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
                  TF32: tl.constexpr):
    across = tl.cdiv(n, N)
    first = tl.program_id(0) // (GROUP * across) * GROUP
    height = min(tl.cdiv(m, M) - first, GROUP)
    inside = tl.program_id(0) % (GROUP * across)
    i = (first + inside % height) * M + tl.arange(0, M)
    j = inside // height * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for begin in range(0, k, K):
        left = tl.load(x + i[:, None] * k + begin + depth[None, :])
        right = tl.load(y + (begin + depth[:, None]) * n + j[None, :])
        total = tl.dot(left, right, total, input_precision=TF32)
    tl.store(out + i[:, None] * n + j[None, :], total.to(out.dtype.element_ty))


@triton.jit
def vector_matrix_kernel(x, w, out, k, N: tl.constexpr, K: tl.constexpr):
    j = tl.program_id(0) * N + tl.arange(0, N)
    total = tl.zeros((N, K), tl.float32)
    for begin in range(0, k, K):
        i = begin + tl.arange(0, K)
        total += tl.load(w + j[:, None] * k + i[None, :]).to(tl.float32) * tl.load(x + i)[None, :].to(tl.float32)
    tl.store(out + j, tl.sum(total, 1).to(out.dtype.element_ty))


@triton.jit
def attention_kernel(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                     CAUSAL: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length * D
    i = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    query = tl.load(q + head + i[:, None] * D + d[None, :])
    most = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    end = (tl.program_id(0) + 1) * M if CAUSAL else length
    for begin in range(0, end, N):
        j = begin + tl.arange(0, N)
        key = tl.load(k + head + j[None, :] * D + d[:, None])
        score = tl.dot(query, key) * scale
        if CAUSAL:
            score = tl.where(i[:, None] >= j[None, :], score, -float("inf"))
        highest = tl.maximum(most, tl.max(score, 1))
        score = tl.exp2(score - highest[:, None])
        fade = tl.exp2(most - highest)
        weight = weight * fade + tl.sum(score, 1)
        value = tl.load(v + head + j[:, None] * D + d[None, :])
        total = tl.dot(score.to(value.dtype), value, total * fade[:, None])
        most = highest
    tl.store(out + head + i[:, None] * D + d[None, :], (total / weight[:, None]).to(out.dtype.element_ty))


def pointwise(name, kernel, inputs, dtype, block, *more):
    def make():
        given = [normal(1 << 25, dtype=dtype) for _ in range(inputs)]
        out = torch.empty_like(given[0])
        count = out.numel()
        return lambda: kernel[(triton.cdiv(count, block),)](*given, out, count, *more, BLOCK=block)
    MAKERS[name] = make


pointwise("triton_add_fp32", add_kernel, 2, FP32, 1024)
pointwise("triton_add_bf16", add_kernel, 2, BF16, 4096)
pointwise("triton_gelu_bf16", gelu_kernel, 1, BF16, 1024)
pointwise("triton_dropout_fp32", dropout_kernel, 1, FP32, 1024, 7)


def matmul(name, m, n, k, dtype, tile, warps, stages, precision="tf32"):
    def make():
        x, y = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
        out = torch.empty(x.shape[0], y.shape[1], device=DEVICE, dtype=dtype)
        blocks = triton.cdiv(out.shape[0], tile[0]) * triton.cdiv(out.shape[1], tile[1])
        return lambda: matmul_kernel[(blocks,)](x, y, out, *out.shape, x.shape[1], *tile, GROUP=8, TF32=precision,
                                                num_warps=warps, num_stages=stages)
    MAKERS[name] = make


matmul("triton_matmul_bf16", 4096, 4096, 4096, BF16, (128, 256, 64), 8, 3)
matmul("triton_matmul_fp16_small_tiles", 4096, 4096, 4096, FP16, (64, 64, 32), 4, 4)
matmul("triton_matmul_tf32", 4096, 4096, 2048, FP32, (128, 128, 32), 8, 3)
matmul("triton_matmul_fp32", 2048, 2048, 2048, FP32, (64, 64, 16), 4, 2, "ieee")


def attention(name, length, width, causal, dtype=BF16):
    def make():
        heads = 64
        q, k, v = [normal(heads, length, width, dtype=dtype) for _ in range(3)]
        out = torch.empty_like(q)
        return lambda: attention_kernel[(triton.cdiv(q.shape[1], 128), heads)](
            q, k, v, out, q.shape[1], width**-0.5 * 1.4427, M=128, N=64, D=width, CAUSAL=causal, num_warps=8, num_stages=2)
    MAKERS[name] = make


attention("triton_attention_64", 4096, 64, False)
attention("triton_attention_causal_128", 4096, 128, True)


@operation
def triton_softmax():
    x = normal(16384, 4096, dtype=BF16)
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    return lambda: softmax_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block, num_warps=8)


@operation
def triton_layer_norm():
    x, w, b = normal(16384, 4096, dtype=BF16), normal(4096), normal(4096)
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    return lambda: layer_norm_kernel[(x.shape[0],)](x, w, b, out, x.shape[1], BLOCK=block, num_warps=8)


@operation
def triton_rms_norm():
    x, w = normal(16384, 8192, dtype=BF16), normal(8192)
    out = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    return lambda: rms_norm_kernel[(x.shape[0],)](x, w, out, x.shape[1], BLOCK=block, num_warps=16)


@operation
def triton_sum_rows():
    x = normal(16384, 8192)
    out = torch.empty(x.shape[0], device=DEVICE)
    return lambda: sum_rows_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=min(1024, x.shape[1]))


@operation
def triton_transpose():
    x = normal(8192, 8192)
    out = torch.empty_like(x)
    blocks = x.shape[0] // 64
    return lambda: transpose_kernel[(blocks, blocks)](x, out, *x.shape, BLOCK=64)


@operation
def triton_histogram():
    x, out = whole(512, 1 << 23), torch.zeros(512, device=DEVICE, dtype=torch.int32)
    return lambda: histogram_kernel[(x.numel() // 1024,)](x, out, BLOCK=1024)


@operation
def triton_gather_rows():
    x = normal(65536, 2048, dtype=BF16)
    rows = whole(x.shape[0], 32768)
    out = torch.empty(rows.numel(), x.shape[1], device=DEVICE, dtype=BF16)
    return lambda: gather_rows_kernel[(rows.numel(),)](x, rows, out, x.shape[1], BLOCK=min(1024, x.shape[1]))


@operation
def triton_vector_matrix():
    x, w = normal(8192, dtype=BF16), normal(28672, 8192, dtype=BF16)
    out = torch.empty(w.shape[0], device=DEVICE, dtype=BF16)
    return lambda: vector_matrix_kernel[(w.shape[0] // 16,)](x, w, out, w.shape[1], N=16, K=min(256, w.shape[1]))
