// The matrix product of the CPU implementation.
#ifndef GPT2_CPU_MATMUL_HPP
#define GPT2_CPU_MATMUL_HPP

#include <cstddef>

namespace gpt2 {

/// out[m][n] = bias[n] + sum_k in[m][k] * weight[n][k]; `bias` may be null, N must be a multiple
/// of 32.
void matmul(float* out, float const* in, float const* weight, float const* bias, std::size_t M,
            std::size_t N, std::size_t K);

}  // namespace gpt2

#endif  // GPT2_CPU_MATMUL_HPP
