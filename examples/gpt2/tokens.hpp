// Numbers from text. This is no tokenizer: each pair of bytes is hashed into the vocabulary, which
// is all that a model with random weights can make use of.
#ifndef GPT2_TOKENS_HPP
#define GPT2_TOKENS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dimensions.hpp"

namespace gpt2 {

/// The text as an endless stream of tokens, cut into batches; a text shorter than a batch repeats.
class token_stream {
 public:
  /// Requires: at least two bytes of text.
  explicit token_stream(std::string const& text) {
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      auto const pair = static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << 8 |
                        static_cast<unsigned char>(text[i + 1]);
      stream_.push_back(static_cast<int>((pair * 2654435761u >> 8) % dimensions::V));
    }
  }

  /// Tokens first, first + 1, ...: a batch, or its targets when `first` is one more.
  [[nodiscard]] std::vector<int> batch(std::size_t first, std::size_t count) const {
    std::vector<int> tokens(count);
    for (std::size_t i = 0; i < count; ++i) tokens[i] = stream_[(first + i) % stream_.size()];
    return tokens;
  }

 private:
  std::vector<int> stream_;
};

}  // namespace gpt2

#endif  // GPT2_TOKENS_HPP
