// The forward pass as a list of operations, which each implementation fills in.
#ifndef GPT2_MODEL_HPP
#define GPT2_MODEL_HPP

#include <cstdio>
#include <memory>
#include <vector>

#include "model/llm.hpp"

#include "dimensions.hpp"
#include "weights.hpp"

namespace gpt2 {

/// GPT-2 without its arithmetic: forward() names the ranges and calls the operations in order.
class model {
 public:
  virtual ~model() = default;
  model(model const&) = delete;
  model& operator=(model const&) = delete;

  /// One pass over B x T tokens; returns the mean cross-entropy against `targets`.
  float forward(int const* tokens, int const* targets);

  /// The logits of the last pass, B*T rows of Vp columns.
  virtual std::vector<float> logits() = 0;

  /// Counts the launches of every following pass, from the source and not by a profiler.
  virtual void count_launches() {}
  virtual void print_launches(std::FILE*) const {}

 protected:
  explicit model(dimensions const& d);

  // `x` is the residual stream, `y` the branch beside it.
  virtual void embedding(int const* tokens) = 0;  // x = token + position
  virtual void ln1(std::size_t layer) = 0;        // y = norm(x)
  virtual void qkv(std::size_t layer) = 0;        // queries, keys, values of y
  virtual void scores(std::size_t layer) = 0;     // queries * keys
  virtual void softmax(std::size_t layer) = 0;    // scaled, causal
  virtual void values(std::size_t layer) = 0;     // probabilities * values
  virtual void projection(std::size_t layer) = 0;
  virtual void residual1(std::size_t layer) = 0;  // x = x + y
  virtual void ln2(std::size_t layer) = 0;
  virtual void up(std::size_t layer) = 0;
  virtual void gelu(std::size_t layer) = 0;
  virtual void down(std::size_t layer) = 0;
  virtual void residual2(std::size_t layer) = 0;
  virtual void lnf() = 0;
  virtual void lm_head() = 0;
  virtual float loss(int const* targets) = 0;

  dimensions d_;

 private:
  void block(std::size_t layer);
  void attention(std::size_t layer);
  void mlp(std::size_t layer);

  strata::llm::model llm_;  // what its ranges have to do
  strata::llm::pass pass_;
};

std::unique_ptr<model> make_cpu(dimensions const& d, weights const& w);

#if GPT2_CUDA
/// False without a device or a driver.
bool gpu_available();
std::unique_ptr<model> make_eager(dimensions const& d, weights const& w);
std::unique_ptr<model> make_fused(dimensions const& d, weights const& w, bool tf32);
#endif

}  // namespace gpt2

#endif  // GPT2_MODEL_HPP
