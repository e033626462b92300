// All parameters of the model in one piece of memory, seeded at random.
#ifndef GPT2_WEIGHTS_HPP
#define GPT2_WEIGHTS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dimensions.hpp"

namespace gpt2 {

/// Where each tensor lies. Matrices are row-major, one row an output channel: out[n] = sum_k in[k]
/// * w[n][k].
struct parameters {
  struct norm {
    float const* gain;
    float const* bias;
  };
  struct linear {
    float const* weight;
    float const* bias;
  };
  struct block {
    norm ln1;
    linear qkv;
    linear projection;
    norm ln2;
    linear up;
    linear down;
  };
  float const* token_table;     // Vp x C, also the weight of lm_head
  float const* position_table;  // max_T x C
  std::vector<block> blocks;
  norm lnf;
};

/// The parameters on the host. The same seed gives the same bits on every machine and with any
/// number of threads.
class weights {
 public:
  explicit weights(dimensions const& d, std::uint64_t seed = 1);

  [[nodiscard]] float const* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The tensors in this object's memory, or in a copy of it that begins at `base`.
  [[nodiscard]] parameters view(float const* base) const;
  [[nodiscard]] parameters view() const { return view(data()); }

 private:
  struct tensor {
    std::size_t offset;
    std::size_t size;
    float mean;
    float deviation;
  };
  void plan(dimensions const& d);
  void add(std::size_t size, float mean, float deviation);

  std::vector<tensor> tensors_;
  std::size_t size_ = 0;
  std::unique_ptr<float[]> data_;
};

}  // namespace gpt2

#endif  // GPT2_WEIGHTS_HPP
