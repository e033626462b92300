#include "cpu_matmul.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "parallel.hpp"

namespace gpt2 {
namespace {

// A tile of the result (tile_rows x tile_columns) stays in vector registers while its inner
// dimension is walked.
#if defined(__AVX512F__)
constexpr std::size_t width = 16, tile_rows = 12;
#elif defined(__AVX__)
constexpr std::size_t width = 8, tile_rows = 6;
#else
constexpr std::size_t width = 4;
constexpr std::size_t tile_rows = 6;
#endif
constexpr std::size_t tile_columns = 2 * width;
constexpr std::size_t depth = 768;  // of a packed panel, which then fits the second-level cache

using lanes __attribute__((vector_size(width * sizeof(float)))) = float;

inline lanes load(float const* from) {
  lanes v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store(float* target, lanes v) { std::memcpy(target, &v, sizeof v); }

// Adds in[Rows][k] * panel[k][tile_columns] to a tile of the result.
template <std::size_t Rows>
void tile(float* out, std::size_t N, float const* in, std::size_t K, float const* panel,
          std::size_t k_count) {
  lanes sum[Rows][2];
  for (std::size_t r = 0; r < Rows; ++r) {
    sum[r][0] = load(out + r * N);
    sum[r][1] = load(out + r * N + width);
  }
  for (std::size_t k = 0; k < k_count; ++k) {
    lanes const left = load(panel + k * tile_columns);
    lanes const right = load(panel + k * tile_columns + width);
    for (std::size_t r = 0; r < Rows; ++r) {
      float const value = in[r * K + k];
      sum[r][0] += value * left;
      sum[r][1] += value * right;
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    store(out + r * N, sum[r][0]);
    store(out + r * N + width, sum[r][1]);
  }
}

// Turns tile_columns rows of the weight into a panel whose rows can be loaded as vectors.
void pack(float* panel, float const* weight, std::size_t K, std::size_t k_count) {
  constexpr std::size_t step = 16;
  for (std::size_t k = 0; k < k_count; k += step) {
    std::size_t const end = std::min(k_count, k + step);
    for (std::size_t n = 0; n < tile_columns; ++n) {
      for (std::size_t i = k; i < end; ++i) panel[i * tile_columns + n] = weight[n * K + i];
    }
  }
}

void columns(float* out, float const* in, float const* weight, float const* bias, std::size_t M,
             std::size_t N, std::size_t K, float* panel) {
  for (std::size_t m = 0; m < M; ++m) {
    for (std::size_t n = 0; n < tile_columns; ++n) out[m * N + n] = bias ? bias[n] : 0.0f;
  }
  for (std::size_t k = 0; k < K; k += depth) {
    std::size_t const k_count = std::min(depth, K - k);
    pack(panel, weight + k, K, k_count);
    std::size_t m = 0;
    for (; m + tile_rows <= M; m += tile_rows) {
      tile<tile_rows>(out + m * N, N, in + m * K + k, K, panel, k_count);
    }
    for (; m < M; ++m) tile<1>(out + m * N, N, in + m * K + k, K, panel, k_count);
  }
}

}  // namespace

void matmul(float* out, float const* in, float const* weight, float const* bias, std::size_t M,
            std::size_t N, std::size_t K) {
  std::size_t const strips = N / tile_columns;
  GPT2_PARALLEL_FOR
  for (std::size_t s = 0; s < strips; ++s) {
    static thread_local std::vector<float> panel(depth * tile_columns);
    std::size_t const n = s * tile_columns;
    columns(out + n, in, weight + n * K, bias ? bias + n : nullptr, M, N, K, panel.data());
  }
}

}  // namespace gpt2
