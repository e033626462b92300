// Products by cuBLAS and cuBLASLt: sound ones of each type, decoding, and what is wrong around
// them.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>

#include "planted.hpp"

#define BLAS(CALL)                                                              \
  do {                                                                          \
    cublasStatus_t const code = (CALL);                                         \
    if (code != CUBLAS_STATUS_SUCCESS) {                                        \
      std::fprintf(stderr, "planted: %s: %d\n", #CALL, static_cast<int>(code)); \
      std::exit(2);                                                             \
    }                                                                           \
  } while (false)

namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

/// C = A^T B, all matrices of `side` x `side`, from the buffers a and b into c.
class product {
 public:
  struct types {
    cudaDataType_t in, out;
    cublasComputeType_t compute;
    cudaDataType_t scale;
  };

  void prepare(types kind, int side) {
    BLAS(cublasLtCreate(&handle_));
    CHECK(cudaMalloc(&workspace_, workspace_bytes));
    scale_ = kind.scale;
    cublasOperation_t const transposed = CUBLAS_OP_T;
    BLAS(cublasLtMatmulDescCreate(&operation_, kind.compute, kind.scale));
    BLAS(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                        sizeof(transposed)));
    std::uint64_t const length = static_cast<std::uint64_t>(side);
    BLAS(cublasLtMatrixLayoutCreate(&in_, kind.in, length, length, side));
    BLAS(cublasLtMatrixLayoutCreate(&out_, kind.out, length, length, side));
    cublasLtMatmulPreference_t preference;
    BLAS(cublasLtMatmulPreferenceCreate(&preference));
    BLAS(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &workspace_bytes, sizeof(workspace_bytes)));
    int found = 0;
    BLAS(cublasLtMatmulAlgoGetHeuristic(handle_, operation_, in_, in_, out_, out_, preference, 1,
                                        &algorithm_, &found));
    if (found == 0) BLAS(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  void run() const {
    float const one = 1.0f, none = 0.0f;
    double const long_one = 1.0, long_none = 0.0;
    std::int32_t const whole_one = 1, whole_none = 0;
    void const* alpha = &one;
    void const* beta = &none;
    if (scale_ == CUDA_R_64F) {
      alpha = &long_one;
      beta = &long_none;
    }
    if (scale_ == CUDA_R_32I) {
      alpha = &whole_one;
      beta = &whole_none;
    }
    BLAS(cublasLtMatmul(handle_, operation_, alpha, a, in_, b, in_, beta, c, out_, c, out_,
                        &algorithm_.algo, workspace_, workspace_bytes, nullptr));
  }

 private:
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t in_ = nullptr, out_ = nullptr;
  cublasLtMatmulHeuristicResult_t algorithm_{};
  cudaDataType_t scale_ = CUDA_R_32F;
  void* workspace_ = nullptr;
};
product matmul;

constexpr product::types bf16{CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
constexpr product::types fp16{CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
constexpr product::types tf32{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
constexpr product::types fp32{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
constexpr product::types fp64{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
constexpr product::types int8{CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
constexpr product::types fp8{CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};

template <int Times>
void matmuls() {
  STRATA_RANGE("matmul");
  for (int i = 0; i < Times; ++i) matmul.run();
  wait();
}

/// A product, what stands between two of them, and another.
void sound_mlp() {
  {
    STRATA_RANGE("up");
    for (int i = 0; i < 4; ++i) matmul.run();
  }
  {
    STRATA_RANGE("activation");
    triad(large);
  }
  STRATA_RANGE("down");
  for (int i = 0; i < 4; ++i) matmul.run();
  wait();
}

/// Computed three times over, declared once.
void recomputed_product() {
  constexpr double side = 4096.0;
  STRATA_RANGE("attention", strata::flops(2.0 * side * side * side));
  for (int i = 0; i < (mended ? 1 : 3); ++i) matmul.run();
  wait();
}

// --- a decoder's step: a vector by one matrix after another ---

constexpr int width = 8192;
constexpr int weights = 8;  // of 128 MiB each: four fill a buffer
cublasHandle_t blas;
cudaGraphExec_t decoding;

/// y = W x in BF16, W of `length` x `length`, from the buffer with the weights' own place.
void vector_product(int weight, int length, cudaStream_t stream) {
  float const one = 1.0f, none = 0.0f;
  std::size_t const floats = std::size_t{width} * width / 2;
  float const* const matrix = (weight < 4 ? a : b) + (weight % 4) * floats;
  BLAS(cublasSetStream(blas, stream));
  BLAS(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, length, 1, length, &one, matrix, CUDA_R_16BF,
                    length, c, CUDA_R_16BF, length, &none, c + width, CUDA_R_16BF, length,
                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}
void decode(cudaStream_t stream) {
  for (int weight = 0; weight < weights; ++weight) vector_product(weight, width, stream);
}
constexpr int small_width = 512;
void decode_small(cudaStream_t stream) {
  for (int layer = 0; layer < 200; ++layer) vector_product(layer % weights, small_width, stream);
}

// --- the same with weights that are made of INT8 in each step ---

__global__ void dequantize_kernel(char4 const* from, __nv_bfloat162* to) {
  char4 const x = from[position()];
  to[2 * position()] = __floats2bfloat162_rn(x.x, x.y);
  to[2 * position() + 1] = __floats2bfloat162_rn(x.z, x.w);
}
__global__ void scale_weights_kernel(__nv_bfloat162 const* from, __nv_bfloat162* to, float by) {
  std::size_t const at = 2 * position();
  for (std::size_t i = at; i < at + 2; ++i) {
    float2 const x = __bfloat1622float2(from[i]);
    to[i] = __floats2bfloat162_rn(by * x.x, by * x.y);
  }
}
/// Mended, the weights are kept as they are read.
void dequantised_weights() {
  STRATA_RANGE("token");
  constexpr std::size_t count = std::size_t{width} * width;
  constexpr unsigned blocks = count / 4 / threads;
  for (int weight = 0; weight < weights; ++weight) {
    auto* const made = reinterpret_cast<__nv_bfloat162*>(b + (weight % 2) * count / 2);
    auto* const raw = reinterpret_cast<__nv_bfloat162*>(b + (2 + weight % 2) * count / 2);
    if (!mended) {
      dequantize_kernel<<<blocks, threads, 0, streams[0]>>>(
          reinterpret_cast<char4 const*>(a + weight * count / 4), raw);
      scale_weights_kernel<<<blocks, threads, 0, streams[0]>>>(raw, made, 0.01f);
    }
    vector_product(4 + weight % 2, width, streams[0]);
  }
  CHECK(cudaStreamSynchronize(streams[0]));
}

void prepare_decode() {
  void* workspace;
  BLAS(cublasCreate(&blas));
  CHECK(cudaMalloc(&workspace, workspace_bytes));
  BLAS(cublasSetWorkspace(blas, workspace, workspace_bytes));
  decode(streams[0]);
  decode_small(streams[0]);
  wait();
}

void sound_decode() {
  STRATA_RANGE("token");
  decode(streams[0]);
  CHECK(cudaStreamSynchronize(streams[0]));
}
void sound_decode_graph() {
  STRATA_RANGE("token");
  CHECK(cudaGraphLaunch(decoding, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
}
/// Each product takes as long as its launch, or less.
void decode_storm() {
  STRATA_RANGE("token");
  if (mended)
    CHECK(cudaGraphLaunch(decoding, streams[0]));
  else
    decode_small(streams[0]);
  CHECK(cudaStreamSynchronize(streams[0]));
}

constexpr planted programs[] = {
    {"sound_gemm_bf16", matmuls<4>, [] { matmul.prepare(bf16, 4096); }},
    {"sound_gemm_fp16", matmuls<4>, [] { matmul.prepare(fp16, 4096); }},
    {"sound_gemm_tf32", matmuls<2>, [] { matmul.prepare(tf32, 4096); }},
    {"sound_gemm_tf32_large", matmuls<1>, [] { matmul.prepare(tf32, 8192); }},
    {"sound_gemm_fp64", matmuls<4>, [] { matmul.prepare(fp64, 2048); }},
    {"sound_gemm_int8", matmuls<8>, [] { matmul.prepare(int8, 4096); }},
    {"sound_gemm_fp8", matmuls<8>, [] { matmul.prepare(fp8, 4096); }},
    {"gemm_fp32", matmuls<1>, [] { matmul.prepare(fp32, 4096); }},
    {"sound_mlp", sound_mlp, [] { matmul.prepare(bf16, 4096); }},
    {"recomputed_product", recomputed_product, [] { matmul.prepare(bf16, 4096); }},
    {"sound_decode", sound_decode, prepare_decode},
    {"dequantised_weights", dequantised_weights, prepare_decode},
    {"sound_decode_graph", sound_decode_graph,
     [] {
       prepare_decode();
       decoding = capture(decode);
     }},
    {"decode_storm", decode_storm, [] {
       prepare_decode();
       decoding = capture(decode_small);
     }}};
planted_list const list{programs};

}  // namespace
