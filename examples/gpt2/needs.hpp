// What the model needs, in the words of "model/llm.hpp".
#ifndef GPT2_NEEDS_HPP
#define GPT2_NEEDS_HPP

#include "model/llm.hpp"

#include "dimensions.hpp"

namespace gpt2 {

/// GPT-2 124M in 32 bits, for what each range has to do.
inline strata::llm::model gpt2_124m(dimensions const& d) {
  namespace llm = strata::llm;
  llm::model m;
  m.width = dimensions::C;
  m.vocabulary = dimensions::V;
  m.padded_vocabulary = dimensions::Vp;
  m.positions = dimensions::max_T;
  m.tied = true;
  m.rms = false;
  m.bits = llm::uniform(32);
  llm::layer& block = m.kinds[0];
  block.count = static_cast<double>(d.L);
  block.heads = block.kv_heads = dimensions::H;
  block.head_size = dimensions::D;
  block.ffn = 4 * dimensions::C;
  block.nonlinearity = llm::activation::gelu;
  block.bias = block.qkv_bias = true;
  return m;
}

/// Logits everywhere, and no kernel that the causal mask saves work.
inline strata::llm::pass whole_batch(dimensions const& d) {
  strata::llm::pass p = strata::llm::training(static_cast<double>(d.B), static_cast<double>(d.T));
  p.keys = strata::llm::attended::all;
  return p;
}

/// The byte ledger of a recording of this program, and its MFU. The exit code of the program.
int print_ledger(dimensions const& d, char const* recording);

}  // namespace gpt2

#endif  // GPT2_NEEDS_HPP
