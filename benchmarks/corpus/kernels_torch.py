"""Operations of PyTorch: cuBLAS, cuBLASLt, CUTLASS, cuDNN, FlashAttention, cuFFT, cuSPARSE, CUB, ATen and Inductor.

CORPUS_DEVICE=cpu and CORPUS_SHRINK=32 try the calls on a machine without a GPU.
"""

import gc
import os

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = os.environ.get("CORPUS_DEVICE", "cuda")
SHRINK = int(os.environ.get("CORPUS_SHRINK", "1"))
BF16, FP16, FP32, FP64, FP8 = torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.float8_e4m3fn
MAKERS = {}

# The backward pass belongs to the range of the thread that calls it.
torch.autograd.set_multithreading_enabled(False)


def synchronise():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def release():
    """Gives back what the last operation held."""
    gc.collect(1)
    if DEVICE == "cuda":
        torch.cuda.empty_cache()


def flusher():
    """Reads 256 MiB, five times an H200's L2."""
    other = torch.ones(1 << 26, device=DEVICE)
    return lambda: other.amax()


def operations():
    torch.manual_seed(1)
    return MAKERS


def operation(maker):
    assert maker.__name__ not in MAKERS, maker.__name__
    MAKERS[maker.__name__] = maker
    return maker


def named(name, maker):
    assert name not in MAKERS, name
    MAKERS[name] = maker


def size(number, least=16):
    return max(least, number // SHRINK)


def normal(*shape, dtype=FP32, grad=False, scale=1.0):
    made = (scale * torch.randn(*[size(n) if n >= 1024 else n for n in shape], device=DEVICE)).to(dtype)
    return made.requires_grad_(grad)


def whole(most, *shape, dtype=torch.int64):
    return torch.randint(0, most, [size(n) if n >= 1024 else n for n in shape], device=DEVICE, dtype=dtype)


def backward_of(output, inputs):
    gradient = torch.randn_like(output)
    return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)


# --- products ---

def product(dtype, m, n, k, tf32=False):
    def make():
        x, w = normal(m, k, dtype=dtype), normal(n, k, dtype=dtype)

        def call():
            torch.backends.cuda.matmul.allow_tf32 = tf32
            return torch.mm(x, w.t())
        return call
    return make


for shape in ((1024, 1024, 1024), (4096, 4096, 4096), (8192, 8192, 8192), (16384, 1024, 4096), (4096, 128, 4096), (64, 4096, 16384)):
    named("gemm_bf16_{}_{}_{}".format(*shape), product(BF16, *shape))
for shape in ((4096, 4096, 4096), (2048, 16384, 2048), (128, 4096, 4096)):
    named("gemm_fp16_{}_{}_{}".format(*shape), product(FP16, *shape))
for shape in ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 512, 2048)):
    named("gemm_tf32_{}_{}_{}".format(*shape), product(FP32, *shape, tf32=True))
for shape in ((2048, 2048, 2048), (4096, 4096, 4096), (4096, 64, 4096)):
    named("gemm_fp32_{}_{}_{}".format(*shape), product(FP32, *shape))
for shape in ((1024, 1024, 1024), (2048, 2048, 2048)):
    named("gemm_fp64_{}_{}_{}".format(*shape), product(FP64, *shape))
for rows in (1, 4, 16, 64):
    named(f"decode_bf16_{rows}_28672_8192", product(BF16, rows, 28672, 8192))
named("decode_fp16_1_8192_28672", product(FP16, 1, 8192, 28672))
named("decode_fp32_1_16384_8192", product(FP32, 1, 16384, 8192))


def product_fp8(m, n, k, rows=False):
    def make():
        x, w = normal(m, k).to(FP8), normal(n, k).to(FP8)
        scales = [torch.ones(s, device=DEVICE) for s in (((x.shape[0], 1), (1, w.shape[0])) if rows else ((), ()))]
        return lambda: torch._scaled_mm(x, w.t(), scale_a=scales[0], scale_b=scales[1], out_dtype=BF16, use_fast_accum=True)
    return make


for shape in ((4096, 4096, 4096), (8192, 8192, 8192), (16, 28672, 8192)):
    named("gemm_fp8_{}_{}_{}".format(*shape), product_fp8(*shape))
named("gemm_fp8_rows_4096_4096_4096", product_fp8(4096, 4096, 4096, rows=True))


@operation
def gemm_int8_4096():
    x = whole(8, 4096, 4096, dtype=torch.int8)
    w = whole(8, 4096, 4096, dtype=torch.int8)
    return lambda: torch._int_mm(x, w.t())


@operation
def gemm_int8_8192_1024_8192():
    x = whole(8, 8192, 8192, dtype=torch.int8)
    w = whole(8, 1024, 8192, dtype=torch.int8)
    return lambda: torch._int_mm(x, w.t())


@operation
def gemm_int4_weights():
    w = torch.randint(0, 255, (size(8192, 64), size(8192, 1024) // 2), device=DEVICE, dtype=torch.uint8)
    packed = torch._convert_weight_to_int4pack(w, 8)
    scales = torch.ones(2 * w.shape[1] // 128, w.shape[0], 2, device=DEVICE, dtype=BF16)
    x = torch.randn(16, 2 * w.shape[1], device=DEVICE).to(BF16)
    return lambda: torch._weight_int4pack_mm(x, packed, 128, scales)


@operation
def gemm_bias():
    x, w, b = normal(4096, 4096, dtype=BF16), normal(4096, 4096, dtype=BF16), normal(4096, dtype=BF16)
    return lambda: F.linear(x, w, b)


@operation
def gemm_bias_gelu():
    x, w, b = normal(4096, 4096, dtype=BF16), normal(4096, 4096, dtype=BF16), normal(4096, dtype=BF16)
    return lambda: torch._addmm_activation(b, x, w.t(), use_gelu=True)


@operation
def gemm_transposed_left():
    x, w = normal(4096, 4096, dtype=BF16), normal(4096, 4096, dtype=BF16)
    return lambda: torch.mm(x.t(), w)


@operation
def gemm_complex64():
    x = torch.randn(size(1024), size(1024), device=DEVICE, dtype=torch.complex64)
    return lambda: torch.mm(x, x)


@operation
def batched_scores_bf16():
    q, k = normal(64, 2048, 128, dtype=BF16), normal(64, 2048, 128, dtype=BF16)
    return lambda: torch.bmm(q, k.transpose(1, 2))


@operation
def batched_values_bf16():
    p, v = normal(64, 2048, 2048, dtype=BF16), normal(64, 2048, 128, dtype=BF16)
    return lambda: torch.bmm(p, v)


@operation
def batched_small_fp32():
    x, y = normal(16384, 32, 32), normal(16384, 32, 32)
    return lambda: torch.bmm(x, y)


@operation
def batched_decode_bf16():
    q, k = normal(512, 1, 128, dtype=BF16), normal(512, 4096, 128, dtype=BF16)
    return lambda: torch.bmm(q, k.transpose(1, 2))


@operation
def grouped_experts_bf16():
    x, w = normal(8192, 2048, dtype=BF16), normal(8, 4096, 2048, dtype=BF16)
    ends = torch.arange(1, 9, device=DEVICE, dtype=torch.int32) * (x.shape[0] // 8)
    return lambda: torch._grouped_mm(x, w.transpose(1, 2), offs=ends)


@operation
def matrix_vector_fp32():
    x, v = normal(16384, 8192), normal(8192)
    return lambda: torch.mv(x, v)


@operation
def dot_fp32():
    x, y = normal(1 << 26), normal(1 << 26)
    return lambda: torch.dot(x, y)


@operation
def sparse_times_dense():
    n = size(16384)
    columns = torch.randint(0, n, (n * 64,), device=DEVICE, dtype=torch.int32)
    rows = torch.arange(0, n + 1, device=DEVICE, dtype=torch.int32) * 64
    columns = columns.view(n, 64).sort(dim=1).values.reshape(-1)
    x = torch.sparse_csr_tensor(rows, columns, torch.ones(n * 64, device=DEVICE), (n, n))
    y = torch.randn(n, 128, device=DEVICE)
    return lambda: torch.mm(x, y)


# --- attention ---

BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
            "cudnn": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH}


def attention(backend, batch, heads, length, width, causal=True, dtype=BF16, backward=False):
    def make():
        q, k, v = [normal(batch, heads, length, width, dtype=dtype, grad=backward) for _ in range(3)]

        def forward():
            with sdpa_kernel(BACKENDS[backend]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return backward_of(forward(), (q, k, v)) if backward else forward
    return make


for backend in ("flash", "efficient", "cudnn"):
    named(f"attention_{backend}_128", attention(backend, 4, 16, 4096, 128))
    named(f"attention_{backend}_64_whole", attention(backend, 4, 16, 2048, 64, causal=False, dtype=FP16))
    named(f"attention_{backend}_backward", attention(backend, 4, 16, 2048, 128, backward=True))
named("attention_math", attention("math", 1, 16, 2048, 64))
named("attention_math_backward", attention("math", 1, 16, 1024, 64, backward=True))
named("attention_efficient_fp32", attention("efficient", 2, 16, 2048, 64, dtype=FP32))


def decode_attention(backend):
    def make():
        q = normal(8, 32, 1, 128, dtype=BF16)
        k, v = normal(8, 32, 8192, 128, dtype=BF16), normal(8, 32, 8192, 128, dtype=BF16)

        def call():
            with sdpa_kernel(BACKENDS[backend]):
                return F.scaled_dot_product_attention(q, k, v)
        return call
    return make


named("attention_flash_decode", decode_attention("flash"))
named("attention_cudnn_decode", decode_attention("cudnn"))


@operation
def attention_flash_grouped():
    q = normal(2, 32, 4096, 128, dtype=BF16)
    k, v = normal(2, 8, 4096, 128, dtype=BF16), normal(2, 8, 4096, 128, dtype=BF16)

    def call():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return call


# --- norms, softmax, losses ---

def norm_pair(name, rows, width, dtype, apply):
    def make(grad):
        x = normal(rows, width, dtype=dtype, grad=grad)
        w, b = [normal(width, dtype=dtype, grad=grad) for _ in range(2)]
        inputs = (x, w, b) if "layer" in name else (x, w)
        if grad:
            return backward_of(apply(x, w, b), inputs)
        return lambda: apply(x, w, b)
    named(name, lambda: make(False))
    named(name + "_backward", lambda: make(True))


norm_pair("layer_norm_4096", 16384, 4096, BF16, lambda x, w, b: F.layer_norm(x, w.shape, w, b))
norm_pair("layer_norm_1024_fp32", 32768, 1024, FP32, lambda x, w, b: F.layer_norm(x, w.shape, w, b))
norm_pair("rms_norm_4096", 16384, 4096, BF16, lambda x, w, b: F.rms_norm(x, w.shape, w, 1e-5))


@operation
def group_norm():
    x, w, b = normal(16, 256, 64, 64), normal(256), normal(256)
    return lambda: F.group_norm(x, 32, w, b)


@operation
def batch_norm_training():
    x = normal(32, 256, 56, 56)
    mean, variance, w, b = [torch.ones(256, device=DEVICE) for _ in range(4)]
    return lambda: F.batch_norm(x, mean, variance, w, b, training=True)


@operation
def batch_norm_channels_last():
    x = normal(32, 256, 56, 56, dtype=FP16).to(memory_format=torch.channels_last)
    mean, variance, w, b = [torch.ones(256, device=DEVICE) for _ in range(4)]
    return lambda: F.batch_norm(x, mean, variance, w, b, training=True)


@operation
def batch_norm_inference():
    x = normal(32, 256, 56, 56)
    mean, variance, w, b = [torch.ones(256, device=DEVICE) for _ in range(4)]
    return lambda: F.batch_norm(x, mean, variance, w, b)


@operation
def instance_norm():
    x = normal(32, 128, 64, 64)
    return lambda: F.instance_norm(x)


def rows_operation(name, rows, width, dtype, apply):
    def make():
        x = normal(rows, width, dtype=dtype)
        return lambda: apply(x)
    named(name, make)


rows_operation("softmax_4096_bf16", 16384, 4096, BF16, lambda x: F.softmax(x, -1))
rows_operation("softmax_64_fp32", 1 << 19, 64, FP32, lambda x: F.softmax(x, -1))
rows_operation("softmax_128256_fp32", 1024, 128256, FP32, lambda x: F.softmax(x, -1))
rows_operation("softmax_columns_fp32", 4096, 8192, FP32, lambda x: F.softmax(x, 0))
rows_operation("log_softmax_50304_bf16", 2048, 50304, BF16, lambda x: F.log_softmax(x, -1))


@operation
def softmax_backward():
    x = normal(16384, 4096, dtype=BF16, grad=True)
    return backward_of(F.softmax(x, -1), (x,))


@operation
def cross_entropy_50304():
    x = normal(4096, 50304)
    y = whole(x.shape[1], 4096)
    return lambda: F.cross_entropy(x, y)


@operation
def cross_entropy_backward():
    x = normal(4096, 32000, grad=True)
    y = whole(x.shape[1], 4096)
    loss = F.cross_entropy(x, y)
    return lambda: torch.autograd.grad(loss, (x,), retain_graph=True)


@operation
def nll_loss_2d():
    x = F.log_softmax(normal(16, 64, 256, 256), 1)
    y = torch.randint(0, 64, (16, 256, 256), device=DEVICE)
    return lambda: F.nll_loss(x, y)


@operation
def mse_loss():
    x, y = normal(1 << 25), normal(1 << 25)
    return lambda: F.mse_loss(x, y)


# --- elementwise ---

def elementwise(name, apply, dtype=BF16, count=1 << 25, inputs=1):
    def make():
        given = [normal(count, dtype=dtype).abs_().clamp_(0.01, 2.0) for _ in range(inputs)]
        return lambda: apply(*given)
    named(name, make)


elementwise("gelu_bf16", F.gelu)
elementwise("gelu_tanh_bf16", lambda x: F.gelu(x, approximate="tanh"))
elementwise("gelu_fp32", F.gelu, FP32)
elementwise("gelu_backward_bf16", torch.ops.aten.gelu_backward, inputs=2)
elementwise("silu_bf16", F.silu)
elementwise("silu_backward_bf16", torch.ops.aten.silu_backward, inputs=2)
elementwise("relu_fp16", F.relu, FP16)
elementwise("sigmoid_fp32", torch.sigmoid, FP32)
elementwise("tanh_bf16", torch.tanh)
elementwise("exp_fp32", torch.exp, FP32)
elementwise("erfinv_fp32", lambda x: torch.erfinv(x), FP32)
elementwise("sin_fp32", torch.sin, FP32)
elementwise("log_fp64", torch.log, FP64, 1 << 24)
elementwise("sin_fp64", torch.sin, FP64, 1 << 23)
elementwise("pow_fp32", lambda x, y: torch.pow(x, y), FP32, 1 << 25, 2)
elementwise("lgamma_fp32", torch.lgamma, FP32)
elementwise("add_bf16", torch.add, inputs=2)
elementwise("add_fp32", torch.add, FP32, 1 << 26, 2)
elementwise("add_in_place_fp32", lambda x, y: x.add_(y, alpha=1e-6), FP32, 1 << 25, 2)
elementwise("multiply_scalar_bf16", lambda x: x * 1.5)
elementwise("addcmul_fp32", lambda x, y, z: torch.addcmul(x, y, z), FP32, 1 << 25, 3)
elementwise("lerp_fp32", lambda x, y: torch.lerp(x, y, 0.9), FP32, 1 << 25, 2)
elementwise("where_fp32", lambda x, y: torch.where(x > y, x, y), FP32, 1 << 25, 2)
elementwise("dropout_bf16", lambda x: F.dropout(x, 0.1, True))
elementwise("cast_fp32_to_bf16", lambda x: x.to(BF16), FP32)
elementwise("cast_bf16_to_fp32", lambda x: x.to(FP32))
elementwise("cast_fp32_to_fp8", lambda x: x.to(FP8), FP32)
elementwise("cast_fp32_to_fp64", lambda x: x.to(FP64), FP32)
elementwise("fake_quantise", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127), FP32)
elementwise("remainder_int64", lambda x: (x * 1000).long().remainder_(7), FP32)
elementwise("complex_multiply", lambda x: torch.view_as_complex(x.view(-1, 2)).mul(1.5 + 0.5j), FP32)


@operation
def add_bias_rows():
    x, b = normal(16384, 4096, dtype=BF16), normal(4096, dtype=BF16)
    return lambda: x + b


@operation
def add_bias_columns():
    x, b = normal(16384, 4096, dtype=BF16), normal(16384, 1, dtype=BF16)
    return lambda: x + b


@operation
def swiglu():
    x = normal(8192, 28672, dtype=BF16)
    return lambda: F.silu(x[:, :x.shape[1] // 2]) * x[:, x.shape[1] // 2:]


# --- moving and indexing ---

def moving(name, apply, *shape, dtype=FP32):
    def make():
        x = normal(*shape, dtype=dtype)
        return lambda: apply(x)
    named(name, make)


moving("transpose_fp32", lambda x: x.t().contiguous(), 8192, 8192)
moving("transpose_bf16", lambda x: x.t().contiguous(), 8192, 8192, dtype=BF16)
moving("permute_heads_bf16", lambda x: x.permute(0, 2, 1, 3).contiguous(), 8, 4096, 32, 64, dtype=BF16)
moving("permute_channels_fp32", lambda x: x.permute(0, 3, 1, 2).contiguous(), 32, 128, 128, 64)
moving("clone_fp32", torch.clone, 1 << 26)
moving("flip_fp32", lambda x: x.flip(0, 1), 8192, 8192)
moving("roll_fp32", lambda x: x.roll(3, 1), 8192, 8192)
moving("cat_bf16", lambda x: torch.cat([x, x, x], 1), 8192, 2048, dtype=BF16)
moving("cat_rows_fp32", lambda x: torch.cat([x, x], 0), 8192, 4096)
moving("stack_fp32", lambda x: torch.stack([x, x], -1), 1 << 24)
moving("repeat_interleave_bf16", lambda x: x.repeat_interleave(4, dim=1), 16, 8, 2048, 128, dtype=BF16)
moving("strided_slice_fp32", lambda x: x[:, ::2].contiguous(), 8192, 8192)
moving("tril_fp32", torch.tril, 8192, 8192)
moving("masked_fill_bf16", lambda x: x.masked_fill(x > 1.0, float("-inf")), 8192, 8192, dtype=BF16)
moving("pad_constant_fp32", lambda x: F.pad(x, (3, 5)), 8192, 8192)


@operation
def zero_fp32():
    x = normal(1 << 27)
    return lambda: x.fill_(1.0)


@operation
def embedding():
    w = normal(65536, 4096, dtype=BF16)
    i = whole(w.shape[0], 16384)
    return lambda: F.embedding(i, w)


@operation
def embedding_backward():
    g, i = normal(16384, 4096, dtype=BF16), whole(1000, 16384)
    return lambda: torch.ops.aten.embedding_dense_backward(g, i, 32000, -1, False)


@operation
def index_select_rows():
    x, i = normal(65536, 1024), whole(65536 // SHRINK, 65536)
    return lambda: x.index_select(0, i)


@operation
def gather_columns():
    x, i = normal(8192, 8192), whole(size(8192), 8192, 4096)
    return lambda: x.gather(1, i)


@operation
def gather_random_elements():
    x, i = normal(1 << 26), whole((1 << 26) // SHRINK, 1 << 23)
    return lambda: x[i]


@operation
def index_put():
    x, i, y = normal(65536, 512), torch.randperm(size(65536), device=DEVICE)[:size(32768)], normal(32768, 512)
    return lambda: x.index_copy_(0, i, y)


@operation
def scatter_add_spread():
    x, i, y = normal(1 << 24), whole((1 << 24) // SHRINK, 1 << 23), normal(1 << 23)
    return lambda: x.scatter_add_(0, i, y)


@operation
def scatter_add_few():
    x, i, y = torch.zeros(1000, device=DEVICE), whole(1000, 1 << 22), normal(1 << 22)
    return lambda: x.scatter_add_(0, i, y)


@operation
def index_add_rows():
    x, i, y = normal(32768, 1024), whole(32768 // SHRINK, 65536), normal(65536, 1024)
    return lambda: x.index_add_(0, i, y)


@operation
def bucketize():
    x, ends = normal(1 << 24), torch.linspace(-3, 3, 1025, device=DEVICE)
    return lambda: torch.bucketize(x, ends)


@operation
def one_hot_compare():
    i = whole(1000, 65536)
    classes = torch.arange(1000, device=DEVICE)
    return lambda: (i[:, None] == classes).to(FP32)


# --- order and scans ---

moving("sort_fp32", torch.sort, 1 << 23)
moving("sort_rows_fp32", lambda x: x.sort(dim=-1), 4096, 2048)
moving("sort_short_rows_fp32", lambda x: x.sort(dim=-1), 65536, 128)
moving("topk_50_of_128256", lambda x: x.topk(50), 256, 128256)
moving("topk_8_of_256", lambda x: x.topk(8), 65536, 256)
moving("kthvalue_rows", lambda x: x.kthvalue(100, dim=-1), 2048, 8192)
moving("median_rows", lambda x: x.median(dim=-1), 4096, 4096)
moving("cumsum_fp32", lambda x: x.cumsum(0), 1 << 25)
moving("cumsum_rows_fp32", lambda x: x.cumsum(1), 8192, 4096)
moving("cumsum_columns_fp32", lambda x: x.cumsum(0), 4096, 8192)
moving("logcumsumexp_rows", lambda x: x.logcumsumexp(1), 4096, 4096)
moving("cummax_rows", lambda x: x.cummax(1), 8192, 4096)
moving("histogram_fp32", lambda x: torch.histc(x, 1000, -4, 4), 1 << 24)

# --- reductions ---

moving("sum_fp32", torch.sum, 1 << 26)
moving("sum_bf16", torch.sum, 1 << 26, dtype=BF16)
moving("sum_rows_fp32", lambda x: x.sum(1), 16384, 4096)
moving("sum_columns_fp32", lambda x: x.sum(0), 16384, 4096)
moving("sum_columns_bf16", lambda x: x.sum(0), 16384, 8192, dtype=BF16)
moving("sum_short_rows_fp32", lambda x: x.sum(1), 1 << 21, 16)
moving("argmax_rows_bf16", lambda x: x.argmax(-1), 1024, 128256, dtype=BF16)
moving("argmax_fp32", torch.argmax, 1 << 26)
moving("amax_columns_fp32", lambda x: x.amax(0), 16384, 4096)
moving("norm_fp32", torch.linalg.vector_norm, 1 << 26)
moving("var_mean_rows_fp32", lambda x: torch.var_mean(x, 1), 16384, 4096)
moving("logsumexp_rows_fp32", lambda x: x.logsumexp(1), 16384, 4096)
moving("prod_rows_fp64", lambda x: x.prod(1), 8192, 4096, dtype=FP64)
moving("count_nonzero_rows", lambda x: (x > 0).sum(1), 16384, 4096)
moving("cdist_fp32", lambda x: torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist"), 2048, 64)
moving("fft_1d", lambda x: torch.fft.rfft(x), 16384, 4096)
moving("fft_2d", lambda x: torch.fft.rfft2(x), 8, 2048, 2048)

# --- convolutions and pools ---


def convolution(name, dtype, batch, inside, outside, side, kernel, last=False, groups=1, stride=1):
    def make():
        layout = torch.channels_last if last else torch.contiguous_format
        x = normal(batch, inside, side, side, dtype=dtype).to(memory_format=layout)
        w = normal(outside, inside // groups, kernel, kernel, dtype=dtype).to(memory_format=layout)
        return lambda: F.conv2d(x, w, padding=kernel // 2, groups=groups, stride=stride)
    named(name, make)


convolution("conv2d_fp16_3x3_last", FP16, 32, 256, 256, 56, 3, last=True)
convolution("conv2d_bf16_3x3", BF16, 32, 128, 128, 56, 3)
convolution("conv2d_tf32_3x3", FP32, 16, 128, 128, 56, 3)
convolution("conv2d_fp16_1x1_last", FP16, 32, 256, 512, 56, 1, last=True)
convolution("conv2d_fp16_stem_last", FP16, 32, 4, 64, 224, 7, last=True, stride=2)
convolution("conv2d_depthwise_fp32", FP32, 32, 256, 256, 56, 3, groups=256)
convolution("conv2d_depthwise_fp16_last", FP16, 32, 256, 256, 56, 3, last=True, groups=256)


@operation
def conv1d_fp16():
    x, w = normal(16, 512, 4096, dtype=FP16), normal(512, 512, 3, dtype=FP16)
    return lambda: F.conv1d(x, w, padding=1)


@operation
def conv1d_depthwise_fp32():
    x, w = normal(16, 1000, 4096), normal(1000, 1, 4)
    return lambda: F.conv1d(x, w, padding=3, groups=1000)


@operation
def conv_transpose2d_fp16():
    x, w = normal(16, 128, 56, 56, dtype=FP16), normal(128, 128, 2, 2, dtype=FP16)
    return lambda: F.conv_transpose2d(x, w, stride=2)


def convolution_backward(wanted):
    def make():
        x = normal(32, 128, 56, 56, dtype=FP16).to(memory_format=torch.channels_last)
        w = normal(128, 128, 3, 3, dtype=FP16).to(memory_format=torch.channels_last)
        g = torch.randn_like(F.conv2d(x, w, padding=1))
        return lambda: torch.ops.aten.convolution_backward(g, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, wanted)
    return make


named("conv2d_backward_input", convolution_backward([True, False, False]))
named("conv2d_backward_weight", convolution_backward([False, True, False]))


def image(name, apply, dtype=FP32, last=False):
    def make():
        x = normal(32, 128, 112, 112, dtype=dtype)
        x = x.to(memory_format=torch.channels_last) if last else x
        return lambda: apply(x)
    named(name, make)


image("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1))
image("max_pool2d_last_fp16", lambda x: F.max_pool2d(x, 3, 2, 1), FP16, True)
image("avg_pool2d", lambda x: F.avg_pool2d(x, 2))
image("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1))
image("interpolate_bilinear", lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"))
image("interpolate_nearest", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"))
image("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2))
image("unfold", lambda x: F.unfold(x[:4], 3, padding=1))
image("pad_reflect", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"))


@operation
def max_pool2d_backward():
    x = normal(32, 128, 112, 112, grad=True)
    return backward_of(F.max_pool2d(x, 3, 2, 1), (x,))


@operation
def grid_sample():
    x, places = normal(16, 64, 128, 128), normal(16, 128, 128, 2).clamp_(-1, 1)
    return lambda: F.grid_sample(x, places, align_corners=False)


# --- optimisers ---

def optimiser(name, kind, matrices=8, **options):
    def make():
        parameters = [torch.nn.Parameter(normal(4096, 2048)) for _ in range(matrices)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        made = kind(parameters, lr=1e-4, **options)
        return made.step
    named(name, make)


optimiser("adamw_fused", torch.optim.AdamW, fused=True)
optimiser("adamw_foreach", torch.optim.AdamW, foreach=True)
optimiser("adamw_single", torch.optim.AdamW, matrices=1, foreach=False)
optimiser("sgd_momentum_foreach", torch.optim.SGD, momentum=0.9, foreach=True)


@operation
def gradient_norm_foreach():
    given = [normal(2048, 2048) for _ in range(16)]
    return lambda: torch._foreach_norm(given)


@operation
def unscale_gradients():
    given = [normal(2048, 2048) for _ in range(16)]
    found, scale = torch.zeros(1, device=DEVICE), torch.ones(1, device=DEVICE)
    return lambda: torch._amp_foreach_non_finite_check_and_unscale_(given, found, scale)


# --- random numbers ---

moving("uniform_fp32", lambda x: x.uniform_(), 1 << 26)
moving("normal_fp32", lambda x: x.normal_(), 1 << 26)
moving("normal_bf16", lambda x: x.normal_(), 1 << 26, dtype=BF16)
moving("bernoulli_fp32", lambda x: x.bernoulli_(0.3), 1 << 26)
moving("exponential_fp32", lambda x: x.exponential_(), 1 << 25)


@operation
def multinomial():
    p = F.softmax(normal(1024, 32000), -1)
    return lambda: torch.multinomial(p, 1)


@operation
def random_permutation():
    return lambda: torch.randperm(size(1 << 23), device=DEVICE)


# --- what Inductor makes of eager code ---

def compiled(name, apply, *shapes, dtype=BF16):
    def make():
        made = torch.compile(apply, dynamic=False)
        given = [normal(*shape, dtype=dtype) for shape in shapes]
        return lambda: made(*given)
    named(name, make)


def rms(x, w):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5).to(x.dtype) * w


def rotated(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat((-right, left), -1) * sine


compiled("inductor_pointwise", lambda x, y: F.silu(x) * y + 0.5, (8192, 4096), (8192, 4096))
compiled("inductor_residual_norm", lambda x, y, w: rms(x + y, w), (16384, 4096), (16384, 4096), (4096,))
compiled("inductor_softmax", lambda x: F.softmax(x.float() * 0.1, -1).to(x.dtype), (8192, 8192))
compiled("inductor_rotary", rotated, (8, 32, 2048, 128), (2048, 128), (2048, 128))
compiled("inductor_layer_norm_gelu", lambda x, w: F.gelu(F.layer_norm(x, w.shape, w)), (16384, 2048), (2048,))
compiled("inductor_sum_columns", lambda x: (x * x).sum(0), (16384, 4096), dtype=FP32)
