#ifndef STRATA_MODEL_LLM_TYPES_HPP
#define STRATA_MODEL_LLM_TYPES_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <string_view>

STRATA_BEGIN

/// What a transformer needs: a `model` and a `pass` give the `cost` of each of its parts
/// (llm.hpp). Counts are doubles, which are exact up to 2^53. No function here measures or takes a
/// time but `mfu`, `hfu` and `mbu`, in seconds.
namespace llm {

/// How numbers are stored: blocks of `values` numbers that take `bytes` bytes, scales included.
struct storage {
  std::string_view name;
  double values;  ///< numbers of a block
  double bytes;   ///< of a block

  /// The bits of one number.
  constexpr double bits() const noexcept { return 8 * bytes / values; }
};

/// Storage types by their names in ggml. Source of the blocks: the structures `block_*` of ggml's
/// `ggml-common.h`; next to each row its fields, where h is a 16-bit float.
inline constexpr storage storages[] = {
    {"f64", 1, 8},        {"f32", 1, 4}, {"f16", 1, 2},
    {"bf16", 1, 2},       {"fp8", 1, 1},  // E4M3 and E5M2; no type of ggml
    {"q1_0", 128, 18},                    // h scale, 128 x 1 bit
    {"q4_0", 32, 18},                     // h scale, 32 x 4 bits
    {"q4_1", 32, 20},                     // h scale, h minimum, 32 x 4 bits
    {"q5_0", 32, 22},                     // h scale, 32 x 1 bit, 32 x 4 bits
    {"q5_1", 32, 24},                     // h scale, h minimum, 32 x 1 bit, 32 x 4 bits
    {"q8_0", 32, 34},                     // h scale, 32 x 8 bits
    {"q8_1", 32, 36},                     // h scale, h sum, 32 x 8 bits
    {"q2_K", 256, 84},                    // 2 h, 16 x 8 bits of scales and minima, 256 x 2 bits
    {"q3_K", 256, 110},                   // h, 12 bytes of scales, 256 x 1 bit, 256 x 2 bits
    {"q4_K", 256, 144},                   // 2 h, 12 bytes of scales and minima, 256 x 4 bits
    {"q5_K", 256, 176},    // 2 h, 12 bytes of scales and minima, 256 x 1 bit, 256 x 4 bits
    {"q6_K", 256, 210},    // h, 16 x 8 bits of scales, 256 x 2 bits, 256 x 4 bits
    {"q8_K", 256, 292},    // 32-bit scale, 256 x 8 bits, 16 x 16 bits of sums
    {"iq1_s", 256, 50},    // h, 32 bytes of indices, 8 x 16 bits of high bits and scales
    {"iq1_m", 256, 56},    // 32 bytes of indices, 16 bytes of high bits, 8 bytes of scales
    {"iq2_xxs", 256, 66},  // h, 32 x 16 bits
    {"iq2_xs", 256, 74},   // h, 32 x 16 bits, 8 bytes of scales
    {"iq2_s", 256, 82},    // h, 64 bytes of indices and signs, 8 of high bits, 8 of scales
    {"iq3_xxs", 256, 98},  // h, 96 bytes of indices, signs and scales
    {"iq3_s", 256, 110},   // h, 64 bytes of indices, 8 of high bits, 32 of signs, 4 of scales
    {"iq4_nl", 32, 18},    // h scale, 32 x 4 bits
    {"iq4_xs", 256, 136},  // h, 16 bits and 4 bytes of scales, 256 x 4 bits
    {"tq1_0", 256, 54},    // 48 bytes of 5 trits, 4 bytes of 4 trits, h
    {"tq2_0", 256, 66},    // 256 x 2 bits, h
    {"mxfp4", 32, 17},     // 8-bit exponent, 32 x 4 bits
    {"nvfp4", 64, 36},     // 4 x 8 bits of scales, 64 x 4 bits
};

/// Other names of some of them.
struct storage_alias {
  std::string_view alias;
  std::string_view name;
};
inline constexpr storage_alias storage_aliases[] = {
    {"fp64", "f64"},          {"float64", "f64"},   {"double", "f64"},      {"fp32", "f32"},
    {"float32", "f32"},       {"float", "f32"},     {"fp16", "f16"},        {"float16", "f16"},
    {"half", "f16"},          {"bfloat16", "bf16"}, {"e4m3", "fp8"},        {"e5m2", "fp8"},
    {"fp8_e4m3", "fp8"},      {"fp8_e5m2", "fp8"},  {"float8_e4m3", "fp8"}, {"float8_e5m2", "fp8"},
    {"float8_e4m3fn", "fp8"},
};

namespace detail {

constexpr bool alike_without_case(std::string_view a, std::string_view b) noexcept {
  auto const lower_case = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  bool alike = a.size() == b.size();
  for (std::size_t i = 0; alike && i < a.size(); ++i) alike = lower_case(a[i]) == lower_case(b[i]);
  return alike;
}

}  // namespace detail

/// The bits of a number of the type of that name in capitals or small letters: `bits("q4_K")`,
/// `bits("Q4_0")`, `bits("fp16")`.
/// Returns: 0 where there is no such type. `Q4_K_M` is none: a file of several, see `precision`.
constexpr double bits(std::string_view name) noexcept {
  for (storage_alias const& alias : storage_aliases)
    if (detail::alike_without_case(alias.alias, name)) name = alias.name;
  for (storage const& known : storages)
    if (detail::alike_without_case(known.name, name)) return known.bits();
  return 0;
}

/// The bits of one number in each part of a model. Units: bits. A file of mixed types, such as
/// Q4_K_M, has one mean for each part: 8 x bytes / numbers of its tensors.
struct precision {
  double attention = 16;    ///< weights of the attention's products
  double ffn = 16;          ///< weights of the feed-forward, of all experts
  double head = 16;         ///< weights of the output head
  double embedding = 16;    ///< tables of tokens and positions
  double others = 32;       ///< norms, biases, routers
  double kv = 16;           ///< the KV cache
  double activations = 16;  ///< what one part hands to the next
  double logits = 32;       ///< results of the head
};

/// One number of bits for everything.
constexpr precision uniform(double bits) noexcept {
  return {bits, bits, bits, bits, bits, bits, bits, bits};
}

/// The nonlinearity of the feed-forward. The gated ones multiply it by a second product.
enum class activation { gelu, relu, swiglu, geglu };

/// Blocks that are alike, and how many of them the model has. Units: numbers (of heads, of values
/// in a vector), and tokens for `window`, `compression` and `selected`.
struct layer {
  double count = 0;

  // Attention. MHA: kv_heads = heads; GQA: fewer; MQA: 1.
  double heads = 0;
  double kv_heads = 0;
  double head_size = 0;   ///< of queries and keys
  double value_size = 0;  ///< of values; 0: head_size
  double rotated = 0;     ///< numbers of a head that RoPE rotates
  double window = 0;      ///< the tokens that a query sees, itself among them; 0: all
  // MLA (DeepSeek-V2, arXiv 2405.04434, 2.1): the cache holds `latent` + `rotated` numbers a token.
  double query_latent = 0;  ///< rank of the queries' projection; 0: a full one
  double latent = 0;        ///< rank of keys and values; 0: no MLA
  // Sparse attention (DeepSeek-V4, V3.2): in addition to the window, one key for each `compression`
  // tokens, of which an indexer chooses `selected`; 0: none, all.
  double compression = 0;
  double selected = 0;
  double index_heads = 0;
  double index_size = 0;
  bool value_is_key = false;  ///< one projection serves both
  double output_rank = 0;     ///< of the output projection, for each of its groups; 0: a full one
  double output_groups = 1;
  bool query_key_norm = false;  ///< norms of each head's queries and keys
  bool qkv_bias = false;

  // Feed-forward. A mixture of experts has `experts`, each as wide as `ffn`, `active` for a token.
  double ffn = 0;
  double experts = 0;
  double active = 0;
  double shared_ffn = 0;  ///< width of the experts that each token passes
  activation nonlinearity = activation::swiglu;

  bool bias = false;  ///< of all products but QKV and router
  /// Weights of a block that nothing above describes, each multiplied once a token.
  double other = 0;

  constexpr bool gated() const noexcept {
    return nonlinearity == activation::swiglu || nonlinearity == activation::geglu;
  }
  constexpr double values() const noexcept { return value_size > 0 ? value_size : head_size; }
};

/// A decoder-only transformer. Units: numbers of weights, rows and values of a vector.
struct model {
  double width = 0;
  double vocabulary = 0;
  double padded_vocabulary = 0;  ///< rows of the head as it is computed; 0: vocabulary
  double positions = 0;          ///< rows of a learnt table of positions; 0: none
  bool tied = false;             ///< the head is the table of tokens
  bool rms = true;               ///< RMSNorm, without it LayerNorm
  double other = 0;              ///< weights outside the blocks that nothing above describes
  /// Tokens beyond the next that are predicted (multi-token prediction: DeepSeek-V3, arXiv
  /// 2412.19437, 2.2). Their blocks are among `kinds`, their other weights in `other`; for each the
  /// head runs once more, and one product of width x width for each of `streams`.
  double predicted = 0;
  double streams = 1;  ///< of the residual (hyper-connections, arXiv 2409.19606)
  layer kinds[4];      ///< most models have one kind; a kind without a count is not there
  precision bits;

  constexpr double rows_of_head() const noexcept {
    return padded_vocabulary > 0 ? padded_vocabulary : vocabulary;
  }
  /// Weights of `other` that a token is multiplied with again.
  constexpr double other_again() const noexcept {
    return predicted * (streams - 1) * width * width;
  }
  constexpr double layers() const noexcept {
    double all = 0;
    for (layer const& kind : kinds) all += kind.count;
    return all;
  }
};

/// Which keys a query counts as multiplied with. `all`: each in the context, as kernels without
/// knowledge of the mask do. `causal`: those that the mask leaves. `half`: half of the context on
/// average, which published formulas say for `causal`.
enum class attended { all, causal, half };

/// One pass over a batch of equal sequences. Units: sequences and tokens.
struct pass {
  double sequences = 1;
  double tokens = 1;        ///< new ones of each sequence
  double past = 0;          ///< tokens of each sequence that the KV cache holds
  double logits = 1;        ///< positions of each sequence that reach the head
  bool cache = true;        ///< keys and values are read from and written to a KV cache
  bool absorbed = false;    ///< MLA multiplies with the latents themselves
  double experts_read = 0;  ///< distinct experts of a layer, measured; 0: the expected number
  attended keys = attended::causal;

  constexpr double rows() const noexcept { return sequences * tokens; }
};

/// A forward pass of training: logits at each position, no cache.
constexpr pass training(double sequences, double tokens) noexcept {
  return {sequences, tokens, 0, tokens, false, false, 0, attended::causal};
}
/// Prompts, after `past` tokens that are in the cache: logits at the last position.
constexpr pass prefill(double sequences, double tokens, double past = 0) noexcept {
  return {sequences, tokens, past, 1, true, false, 0, attended::causal};
}
/// One new token for each sequence, after `past` tokens.
constexpr pass decode(double sequences, double past) noexcept {
  return {sequences, 1, past, 1, true, true, 0, attended::causal};
}

/// What a part of a model has to do. Units: operations, bytes, numbers. As an attribute of a range
/// it declares operations and bytes: `STRATA_RANGE("qkv", llm::qkv(m, p))`.
struct cost {
  double flops = 0;         ///< a multiply-add is two
  double weight_bytes = 0;  ///< read once
  double kv_bytes = 0;      ///< keys and values, read and written
  double activation_bytes = 0;
  double elements = 0;  ///< numbers in the result

  constexpr double bytes() const noexcept { return weight_bytes + kv_bytes + activation_bytes; }

  /// For STRATA_RANGE.
  template <class Attributes>
  void apply(Attributes& attributes) const noexcept {
    attributes.set(attributes.record.flops, flops);
    attributes.set(attributes.record.bytes, bytes());
  }
};

constexpr cost operator+(cost const& a, cost const& b) noexcept {
  return {a.flops + b.flops, a.weight_bytes + b.weight_bytes, a.kv_bytes + b.kv_bytes,
          a.activation_bytes + b.activation_bytes, a.elements + b.elements};
}
constexpr cost operator*(double times, cost const& operand) noexcept {
  return {times * operand.flops, times * operand.weight_bytes, times * operand.kv_bytes,
          times * operand.activation_bytes, times * operand.elements};
}

/// What the backward pass computes again: nothing; scores, softmax and values; whole blocks from
/// their inputs (Korthikanti et al., arXiv 2205.05198, 5).
enum class recomputation { none, selective, full };

/// The weights of a model. Units: numbers, not bytes.
struct parameter_count {
  double total = 0;
  /// N of 6N: what a token is multiplied with, norms and biases too. The head is in it, tables that
  /// are only looked up are not, and of a mixture the active experts (PaLM, appendix B).
  double active = 0;
  double head = 0;  ///< of `active`, the output head
};

/// Bytes for each weight. Adam in 32 bits: weight, gradient, two moments.
struct optimizer_state {
  double weight = 4;
  double gradient = 4;
  double optimizer = 8;
};
/// 16-bit weights and gradients; in 32 bits a copy and two moments (ZeRO, arXiv 1910.02054, 3.1).
inline constexpr optimizer_state mixed_precision{2, 2, 12};

/// What a training step keeps on one device. Units: bytes.
struct training_memory {
  double weights;
  double gradients;
  double optimizer;
  double activations;

  constexpr double total() const noexcept { return weights + gradients + optimizer + activations; }
};

/// How a published count of operations is made: 6 for each active weight, and attention for the
/// given keys, `passes` times its forward products.
struct convention {
  std::string_view name;
  attended keys = attended::all;
  double passes = 3;  ///< forward once, backward twice
  bool head = true;   ///< the head's weights are in N
};
/// PaLM (arXiv 2204.02311, appendix B), nanoGPT, torchtitan: all pairs, a window at most.
inline constexpr convention full_square{"6N + 12LHQT", attended::all, 3, true};
/// The half that a causal mask leaves.
inline constexpr convention causal_half{"6N + 6LHQT", attended::half, 3, true};
/// That half with the scores computed again, as FlashAttention's backward does: 5 products for the
/// forward's 2 (arXiv 2307.08691, 4.1).
inline constexpr convention flash_half{"6N + 7LHQT", attended::half, 3.5, true};
/// Weights alone (Kaplan et al., arXiv 2001.08361, 2.1).
inline constexpr convention weights_only{"6N", attended::all, 0, true};

constexpr convention without_head(convention c) noexcept {
  c.head = false;
  return c;
}

/// What a ratio is taken of. Units: operations or bytes a second. Tensor peaks are those of dense
/// products, never of sparse ones.
struct peak {
  double per_second = 0;  ///< operations, or bytes
  std::string_view what;  ///< "bf16 dense", "HBM"
  bool measured = false;  ///< else the data sheet's
};

/// A ratio with its convention and its denominator. Units: `value` is a fraction, 0.4 is 40 %.
struct utilisation {
  std::string_view ratio;
  double value;
  convention by;
  peak of;
};

}  // namespace llm

STRATA_END

#endif  // STRATA_MODEL_LLM_TYPES_HPP
