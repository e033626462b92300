// The size of the model and of one batch.
#ifndef GPT2_DIMENSIONS_HPP
#define GPT2_DIMENSIONS_HPP

#include <cstddef>

namespace gpt2 {

/// GPT-2 124M; batch, sequence length and the number of layers can be chosen.
struct dimensions {
  std::size_t B = 4;   // sequences in the batch
  std::size_t T = 64;  // tokens in a sequence
  std::size_t L = 12;  // layers

  static constexpr std::size_t C = 768;         // channels
  static constexpr std::size_t H = 12;          // heads
  static constexpr std::size_t D = C / H;       // channels of one head
  static constexpr std::size_t V = 50257;       // vocabulary
  static constexpr std::size_t Vp = 50304;      // vocabulary, padded to a multiple of 128
  static constexpr std::size_t max_T = 1024;    // positions that the model knows
  static constexpr float epsilon = 1e-5f;       // of the layer norms
  static constexpr float score_scale = 0.125f;  // 1 / sqrt(D)

  [[nodiscard]] constexpr std::size_t rows() const { return B * T; }
  [[nodiscard]] constexpr std::size_t scores() const { return B * H * T * T; }
};
static_assert(dimensions::D == 64, "score_scale is 1 / sqrt(64)");

}  // namespace gpt2

#endif  // GPT2_DIMENSIONS_HPP
