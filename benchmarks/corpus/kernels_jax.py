"""Operations of JAX: what XLA fuses and emits, and the libraries that it calls."""

import gc
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Kernels, not graphs of them: Nsight Compute profiles either, one by one only these.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_enable_command_buffer="

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

SHRINK = int(os.environ.get("CORPUS_SHRINK", "1"))
MAKERS = {}


def synchronise():
    """Each call waits for its own result."""


def release():
    """Gives back what the last operation held."""
    gc.collect()


def flusher():
    other = jnp.ones(1 << 26 if SHRINK == 1 else 1 << 16)
    read = jax.jit(jnp.max)
    return lambda: read(other).block_until_ready()


def operations():
    return MAKERS


def normal(*shape, dtype=jnp.float32):
    shape = [max(16, n // SHRINK) if n >= 1024 else n for n in shape]
    return jax.random.normal(jax.random.key(len(shape)), shape).astype(dtype)


def operation(name, apply, *shapes, dtype=jnp.float32):
    def make():
        given = [normal(*shape, dtype=dtype) for shape in shapes]
        made = jax.jit(apply)
        return lambda: jax.block_until_ready(made(*given))
    MAKERS["jax_" + name] = make


def attention(implementation):
    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=implementation)


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def network_loss(w, v, x):
    return (jax.nn.gelu(x @ w) @ v).astype(jnp.float32).sum()


def convolve(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


BF16 = jnp.bfloat16
operation("matmul_bf16", jnp.matmul, (4096, 4096), (4096, 4096), dtype=BF16)
operation("matmul_fp32", lambda x, y: jnp.matmul(x, y, precision="highest"), (2048, 2048), (2048, 2048))
operation("matmul_tf32", jnp.matmul, (4096, 4096), (4096, 4096))
operation("matmul_bias_gelu", lambda x, w, b: jax.nn.gelu(x @ w + b), (4096, 4096), (4096, 4096), (4096,), dtype=BF16)
operation("vector_matrix", lambda x, w: x @ w, (1, 8192), (8192, 16384), dtype=BF16)
operation("attention_cudnn", attention("cudnn"), *[(4, 2048, 16, 128)] * 3, dtype=BF16)
operation("attention_xla", attention("xla"), *[(1, 2048, 16, 64)] * 3, dtype=BF16)
operation("softmax", lambda x: jax.nn.softmax(x, -1), (16384, 4096), dtype=BF16)
operation("layer_norm", layer_norm, (16384, 4096))
operation("gelu", jax.nn.gelu, (1 << 26,), dtype=BF16)
operation("pointwise_chain", lambda x, y: jnp.tanh(x) * jax.nn.sigmoid(y) + x, (1 << 25,), (1 << 25,))
operation("sum", jnp.sum, (1 << 26,))
operation("sum_columns", lambda x: x.sum(0), (16384, 8192))
operation("argmax_rows", lambda x: x.argmax(-1), (1024, 128000))
operation("cumsum_rows", lambda x: x.cumsum(-1), (4096, 4096))
operation("sort_rows", lambda x: jnp.sort(x, -1), (2048, 4096))
operation("top_k", lambda x: jax.lax.top_k(x, 16), (1024, 32000))
operation("transpose", lambda x: x.T + 1.0, (8192, 8192))
operation("gather_rows", lambda x, i: x[(jnp.abs(i) * 10000).astype(jnp.int32) % x.shape[0]], (65536, 1024), (65536,))
operation("scatter_add", lambda x, i: x.at[(jnp.abs(i) * 10000).astype(jnp.int32) % x.shape[0]].add(i), (1 << 20,), (1 << 22,))
operation("convolution", convolve, (32, 56, 56, 256), (3, 3, 256, 256), dtype=BF16)
operation("max_pool", lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
          (32, 112, 112, 128))
operation("gradient", jax.grad(network_loss, (0, 1)), (2048, 8192), (8192, 2048), (2048, 2048), dtype=BF16)
operation("random_normal", lambda x: x + jax.random.normal(jax.random.key(1), x.shape), (1 << 25,))
operation("fft", jnp.fft.rfft, (16384, 4096))
