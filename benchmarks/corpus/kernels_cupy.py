"""Operations of CuPy: its own kernels, CUB, cuBLAS, cuFFT, cuRAND, and kernels that NVRTC compiles."""

import gc

import cupy as cp

MAKERS = {}


def synchronise():
    cp.cuda.Device().synchronize()


def release():
    """Gives back what the last operation held."""
    gc.collect()
    cp.get_default_memory_pool().free_all_blocks()


def flusher():
    other = cp.ones(1 << 26, dtype=cp.float32)
    return other.max


def operations():
    cp.random.seed(1)
    return MAKERS


def normal(*shape, dtype=cp.float32):
    return cp.random.standard_normal(shape, dtype=cp.float32).astype(dtype)


def operation(name, apply, *shapes, dtype=cp.float32):
    def make():
        given = [normal(*shape, dtype=dtype) for shape in shapes]
        return lambda: apply(*given)
    MAKERS["cupy_" + name] = make


def maker(make):
    MAKERS["cupy_" + make.__name__] = make
    return make


MANY = (1 << 25,)
operation("add", cp.add, MANY, MANY)
operation("exp", cp.exp, MANY)
operation("sin_fp64", cp.sin, (1 << 23,), dtype=cp.float64)
operation("where", lambda x, y: cp.where(x > 0, x, y), MANY, MANY)
operation("cast_fp16", lambda x: x.astype(cp.float16), MANY)
operation("power", lambda x: cp.abs(x) ** 1.7, MANY)
operation("sum", cp.sum, (1 << 26,))
operation("sum_rows", lambda x: x.sum(axis=1), (16384, 4096))
operation("sum_columns", lambda x: x.sum(axis=0), (16384, 4096))
operation("argmax", cp.argmax, (1 << 26,))
operation("variance", cp.var, MANY)
operation("norm", cp.linalg.norm, MANY)
operation("sort", cp.sort, (1 << 23,))
operation("argsort", cp.argsort, (1 << 22,))
operation("partition", lambda x: cp.partition(x, 1000), (1 << 22,))
operation("cumsum", cp.cumsum, (1 << 25,))
operation("cumsum_rows", lambda x: cp.cumsum(x, axis=1), (4096, 4096))
operation("matmul", cp.matmul, (2048, 2048), (2048, 2048))
operation("matmul_fp16", cp.matmul, (4096, 4096), (4096, 4096), dtype=cp.float16)
operation("matmul_fp64", cp.matmul, (1024, 1024), (1024, 1024), dtype=cp.float64)
operation("tensordot", lambda x, y: cp.tensordot(x, y, axes=([2], [0])), (64, 128, 512), (512, 1024))
operation("fft", cp.fft.fft, (4096, 4096))
operation("rfft_long", cp.fft.rfft, (1 << 24,))
operation("fft_prime", cp.fft.fft, (1024, 4099))
operation("transpose", lambda x: cp.ascontiguousarray(x.T), (8192, 8192))
operation("take_rows", lambda x: x[cp.arange(x.shape[0]) * 7919 % x.shape[0]], (65536, 512))
operation("concatenate", lambda x: cp.concatenate([x, x]), MANY)
operation("histogram", lambda x: cp.histogram(x, bins=256, range=(-4, 4)), (1 << 22,))


@maker
def gaussian_filter():
    from cupyx.scipy import ndimage
    x = normal(4096, 4096)
    return lambda: ndimage.gaussian_filter(x, 2)


@maker
def convolve_2d():
    from cupyx.scipy import ndimage
    x, w = normal(4096, 4096), cp.ones((5, 5), dtype=cp.float32)
    return lambda: ndimage.convolve(x, w)


@maker
def random_normal():
    return lambda: cp.random.standard_normal(1 << 25, dtype=cp.float32)


@maker
def random_generator():
    made = cp.random.default_rng(1)
    return lambda: made.random(1 << 25, dtype=cp.float32)


@maker
def scatter_add():
    x, i, y = cp.zeros(1 << 20, dtype=cp.float32), cp.random.randint(0, 1 << 20, 1 << 23), normal(1 << 23)
    return lambda: cp.add.at(x, i, y)


@maker
def elementwise_kernel():
    made = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * y + sinf(x)", "corpus_elementwise")
    x, y = normal(*MANY), normal(*MANY)
    return lambda: made(x, y)


@maker
def reduction_kernel():
    made = cp.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0", "corpus_reduction")
    x = normal(16384, 4096)
    return lambda: made(x, axis=1)


@maker
def fused():
    @cp.fuse(kernel_name="corpus_fused")
    def made(x, y):
        return cp.tanh(x) * y + cp.maximum(x, 0)

    x, y = normal(*MANY), normal(*MANY)
    return lambda: made(x, y)


NEIGHBOURS = r"""
extern "C" __global__ void corpus_neighbours(float const* from, float* to, int side) {
  int const column = blockIdx.x * blockDim.x + threadIdx.x + 1, row = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (column >= side - 1 || row >= side - 1) return;
  float const* const here = from + static_cast<long long>(row) * side + column;
  to[static_cast<long long>(row) * side + column] = 0.2f * (here[0] + here[-1] + here[1] + here[-side] + here[side]);
}
"""
BODIES = r"""
extern "C" __global__ void corpus_bodies(float4 const* all, float4* out, int count) {
  __shared__ float4 tile[256];
  int const own = blockIdx.x * 256 + threadIdx.x;
  float4 const here = all[own];
  float x = 0, y = 0, z = 0;
  for (int begin = 0; begin < count; begin += 256) {
    tile[threadIdx.x] = all[begin + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 256; ++i) {
      float const dx = tile[i].x - here.x, dy = tile[i].y - here.y, dz = tile[i].z - here.z;
      float const near = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f), pull = tile[i].w * near * near * near;
      x += dx * pull, y += dy * pull, z += dz * pull;
    }
    __syncthreads();
  }
  out[own] = make_float4(x, y, z, 0);
}
"""


@maker
def raw_neighbours():
    made = cp.RawKernel(NEIGHBOURS, "corpus_neighbours")
    x, y = normal(8192, 8192), cp.zeros((8192, 8192), dtype=cp.float32)
    return lambda: made((256, 1024), (32, 8), (x, y, cp.int32(8192)))


@maker
def raw_bodies():
    made = cp.RawKernel(BODIES, "corpus_bodies")
    count = 1 << 15
    x, y = normal(count, 4), cp.zeros((count, 4), dtype=cp.float32)
    return lambda: made((count // 256,), (256,), (x, y, cp.int32(count)))
