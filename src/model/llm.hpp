#include <strata/version.hpp>
#ifndef STRATA_MODEL_LLM_HPP
#define STRATA_MODEL_LLM_HPP

#include "llm_types.hpp"

#include <cstdio>

STRATA_BEGIN

namespace llm {

namespace detail {

constexpr double least(double a, double b) noexcept { return a < b ? a : b; }

/// The keys that the first `n` queries of a sequence see, where each sees at most `most`: the sum
/// of min(i, most), with `half` the integral of min(x, most).
constexpr double triangle(double n, double most, attended keys) noexcept {
  double const within = least(n, most);
  double const rest = (n - within) * most;
  return within * within / 2 + (keys == attended::causal ? within / 2 : 0) + rest;
}

/// The products of a query and a key in one sequence; limit 0 is none.
constexpr double pairs(pass const& p, double limit) noexcept {
  double const context = p.past + p.tokens;
  double const most = limit > 0 ? limit : context;
  if (p.keys == attended::all) return p.tokens * least(context, most);
  return triangle(context, most, p.keys) - triangle(p.past, most, p.keys);
}

/// Whether queries see the tokens themselves, and not only what is compressed.
constexpr bool local(layer const& l) noexcept { return l.compression <= 0 || l.window > 0; }

constexpr double pairs(layer const& l, pass const& p) noexcept {
  double const own = local(l) ? pairs(p, l.window) : 0;
  return l.compression > 0 ? own + pairs(p, l.selected * l.compression) / l.compression : own;
}
constexpr double index_pairs(layer const& l, pass const& p) noexcept {
  return l.compression > 0 && l.index_heads > 0 ? pairs(p, 0) / l.compression : 0;
}

/// How many tokens' keys a layer has to do with: the tokens' own, compressed ones, the indexer's.
struct key_tokens {
  double own;
  double compressed;
  double indexed;
};
/// Those of `tokens` that `queries` new tokens have to read; the last `included` are new.
constexpr key_tokens read_keys(layer const& l, double tokens, double queries,
                               double included) noexcept {
  double const packed = l.compression > 0 ? tokens / l.compression : 0;
  double const own = l.window > 0 ? least(tokens, l.window - 1 + included) : tokens;
  return {local(l) ? own : 0, l.selected > 0 ? least(packed, l.selected * queries) : packed,
          l.index_heads > 0 ? packed : 0};
}
/// Those that a cache of `tokens` keeps.
constexpr key_tokens kept_keys(layer const& l, double tokens, double window) noexcept {
  double const packed = l.compression > 0 ? tokens / l.compression : 0;
  return {local(l) ? (window > 0 ? least(tokens, window) : tokens) : 0, packed,
          l.index_heads > 0 ? packed : 0};
}

/// The numbers of keys and values of a token.
constexpr double stored(layer const& l) noexcept {
  if (l.latent > 0) return l.latent + l.rotated;
  return l.kv_heads * (l.value_is_key ? l.head_size : l.head_size + l.values());
}
constexpr double numbers(layer const& l, key_tokens const& keys) noexcept {
  return (keys.own + keys.compressed) * stored(l) + keys.indexed * l.index_size;
}
constexpr double kv_bytes(model const& m, pass const& p, double count) noexcept {
  return count * (p.cache ? m.bits.kv : m.bits.activations) / 8;
}
constexpr double activation_bytes(model const& m, double count) noexcept {
  return count * m.bits.activations / 8;
}

/// What the products of attention are made of, for one head.
constexpr double key_size(layer const& l, pass const& p) noexcept {
  return l.latent > 0 && p.absorbed ? l.latent + l.rotated : l.head_size;
}
constexpr double value_size(layer const& l, pass const& p) noexcept {
  return l.latent > 0 && p.absorbed ? l.latent : l.values();
}
/// The heads that keys and values have in memory: MLA expands its latents to all, or to none.
constexpr double heads_in_memory(layer const& l, pass const& p) noexcept {
  return l.latent > 0 ? (p.absorbed ? 1 : l.heads) : l.kv_heads;
}

/// Weights of one product, and its other parameters (biases, norms).
struct weights {
  double large = 0;
  double others = 0;

  constexpr double all() const noexcept { return large + others; }
};
constexpr weights operator+(weights const& a, weights const& b) noexcept {
  return {a.large + b.large, a.others + b.others};
}

constexpr weights norm_weights(model const& m) noexcept { return {0, (m.rms ? 1 : 2) * m.width}; }

constexpr weights query_weights(model const& m, layer const& l) noexcept {
  double const out = l.heads * l.head_size;
  if (l.query_latent <= 0) return {m.width * out, l.qkv_bias ? out : 0};
  return {m.width * l.query_latent + l.query_latent * out, l.query_latent};
}
constexpr weights kv_weights(model const& m, layer const& l) noexcept {
  if (l.latent > 0) {
    double const up = l.latent * l.heads * (l.head_size - l.rotated + l.values());
    return {m.width * stored(l) + up, l.latent};
  }
  return {m.width * stored(l), l.qkv_bias ? stored(l) : 0};
}
constexpr weights rope_weights(layer const& l) noexcept {
  return {0, l.query_key_norm ? 2 * l.head_size : 0};
}
constexpr weights output_weights(model const& m, layer const& l) noexcept {
  double const in = l.heads * l.values();
  double const matrix =
      l.output_rank > 0 ? (in + l.output_groups * m.width) * l.output_rank : in * m.width;
  return {matrix, l.bias ? m.width : 0};
}
constexpr weights router_weights(model const& m, layer const& l) noexcept {
  return {0, l.experts * m.width};
}
/// One of the two products of the feed-forward, with that many experts in it.
constexpr weights up_weights(model const& m, layer const& l, double experts) noexcept {
  double const out = (l.gated() ? 2 : 1) * (experts * l.ffn + l.shared_ffn);
  return {m.width * out, l.bias ? out : 0};
}
constexpr weights down_weights(model const& m, layer const& l, double experts) noexcept {
  double const in = experts * l.ffn + l.shared_ffn;
  return {m.width * in, l.bias ? m.width * (experts + (l.shared_ffn > 0 ? 1 : 0)) : 0};
}

/// The experts that a token passes, that there are, and that a pass has to read.
constexpr double active(layer const& l) noexcept { return l.experts > 0 ? l.active : 1; }
constexpr double all_experts(layer const& l) noexcept { return l.experts > 0 ? l.experts : 1; }
/// `base` to the power of a number of rows; between whole numbers on the line between their powers.
constexpr double power(double base, double rows) noexcept {
  constexpr double most = 9e15;  // any base below 1 has come to 0 long before
  auto left = static_cast<unsigned long long>(least(rows, most));
  double const part = least(rows, most) - static_cast<double>(left);
  double all = 1 - part * (1 - base);
  for (double square = base; left != 0; left /= 2, square *= square)
    if (left % 2 != 0) all *= square;
  return all;
}
/// Measured, else as many distinct ones as tokens choose that choose each expert alike.
constexpr double read_experts(layer const& l, pass const& p) noexcept {
  if (l.experts <= 0) return 1;
  if (p.experts_read > 0) return p.experts_read;
  if (p.rows() <= 1) return p.rows() * l.active;
  return l.experts * (1 - power(1 - least(l.active / l.experts, 1), p.rows()));
}

constexpr weights block_weights(model const& m, layer const& l, double experts) noexcept {
  weights const attention =
      query_weights(m, l) + kv_weights(m, l) + rope_weights(l) + output_weights(m, l);
  weights const mlp =
      router_weights(m, l) + up_weights(m, l, experts) + down_weights(m, l, experts);
  return norm_weights(m) + norm_weights(m) + attention + mlp + weights{l.other, 0};
}

/// Two operations a multiply-add; input, weights and result move once.
constexpr cost product(model const& m, double multiply_adds, double in, double out,
                       weights const& read, double weight_bits) noexcept {
  return {2 * multiply_adds, (read.large * weight_bits + read.others * m.bits.others) / 8, 0,
          activation_bytes(m, in + out), out};
}

/// The parts as one kernel would do them: their results stay on the chip.
constexpr cost fused(model const& m, pass const& p, cost parts, double kv) noexcept {
  double const result = p.rows() * m.width;
  return {parts.flops, parts.weight_bytes, kv, activation_bytes(m, 2 * result), result};
}

/// Operations of one number of the feed-forward: an exponential or a tanh counts one.
constexpr double nonlinearity_flops(activation a) noexcept {
  switch (a) {
    case activation::relu:
      return 1;
    case activation::gelu:
      return 9;  // 0.5 x (1 + tanh(c (x + a x^3)))
    case activation::swiglu:
      return 5;  // x / (1 + exp(-x)), and the gate
    case activation::geglu:
      return 10;
  }
  return 0;
}

}  // namespace detail

// The parts of one block; `kind` is the place of the block's layer in `model::kinds`. Bytes are the
// least that the part can move when it is a kernel of its own.

/// Looks up tokens, and positions where they are learnt, and adds them up.
/// Bytes: token numbers of 4 bytes, a row of each table for each token, the positions' rows once.
constexpr cost embedding(model const& m, pass const& p) noexcept {
  double const result = p.rows() * m.width;
  double const positions = m.positions > 0 ? p.tokens * m.width : 0;
  return {m.positions > 0 ? result : 0, (result + positions) * m.bits.embedding / 8, 0,
          4 * p.rows() + detail::activation_bytes(m, result), result};
}

/// LayerNorm, 7 operations a number (mean 1, variance 3, scale and shift 3); RMSNorm 4.
constexpr cost norm(model const& m, pass const& p) noexcept {
  double const result = p.rows() * m.width;
  return {(m.rms ? 4 : 7) * result, detail::norm_weights(m).others * m.bits.others / 8, 0,
          detail::activation_bytes(m, 2 * result), result};
}

/// Queries, keys and values: 2 rows width (heads + 2 kv_heads) head_size. MLA: both projections of
/// queries and of keys and values (DeepSeek-V2, arXiv 2405.04434, equations 9 to 13).
constexpr cost qkv(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  detail::weights const read = detail::query_weights(m, l) + detail::kv_weights(m, l);
  bool const expanded = l.latent > 0 && !p.absorbed;
  double const kv =
      expanded ? l.heads * (l.head_size - l.rotated + l.values()) + l.rotated : detail::stored(l);
  double const queries = p.rows() * l.heads * l.head_size;
  cost all = detail::product(m, p.rows() * read.large, p.rows() * m.width, queries, read,
                             m.bits.attention);
  all.kv_bytes = detail::kv_bytes(m, p, p.rows() * kv);
  all.elements += p.rows() * kv;
  return all;
}

/// RoPE, 3 operations a number that it rotates (arXiv 2104.09864, equation 34), and the norms of
/// queries and keys where the model has them.
constexpr cost rope(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const heads = p.rows() * (l.heads + (l.latent > 0 ? 1 : l.kv_heads));
  double const normed = l.query_key_norm ? heads * l.head_size : 0;
  double const rotated = heads * l.rotated;
  double const touched = normed > rotated ? normed : rotated;
  return {3 * rotated + 4 * normed, detail::rope_weights(l).others * m.bits.others / 8, 0,
          detail::activation_bytes(m, 2 * touched), touched};
}

/// Queries times keys: 2 heads head_size for each pair (PaLM, arXiv 2204.02311, appendix B: 2 LHQT
/// a token in all layers), and the indexer's products.
constexpr cost scores(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const result = p.sequences * l.heads * detail::pairs(l, p);
  double const indexed = p.sequences * l.index_heads * l.index_size * detail::index_pairs(l, p);
  double const queries = p.rows() * l.heads * detail::key_size(l, p);
  detail::key_tokens const keys = detail::read_keys(l, p.past + p.tokens, p.tokens, p.tokens);
  double const read =
      (keys.own + keys.compressed) * detail::heads_in_memory(l, p) * detail::key_size(l, p) +
      keys.indexed * l.index_size;
  return {2 * result * detail::key_size(l, p) + 2 * indexed, 0,
          detail::kv_bytes(m, p, p.sequences * read), detail::activation_bytes(m, queries + result),
          result};
}

/// 3 operations a score: difference to the maximum, exponential, division.
constexpr cost softmax(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const result = p.sequences * l.heads * detail::pairs(l, p);
  return {3 * result, 0, 0, detail::activation_bytes(m, 2 * result), result};
}

/// Probabilities times values: 2 heads value_size for each pair.
constexpr cost values(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const size = detail::value_size(l, p);
  double const weighted = p.sequences * l.heads * detail::pairs(l, p);
  double const result = p.rows() * l.heads * size;
  detail::key_tokens const keys = detail::read_keys(l, p.past + p.tokens, p.tokens, p.tokens);
  double const read = (keys.own + keys.compressed) * detail::heads_in_memory(l, p) * size;
  return {2 * weighted * size, 0, detail::kv_bytes(m, p, p.sequences * read),
          detail::activation_bytes(m, weighted + result), result};
}

/// The projection behind attention: 2 rows heads value_size width; or through a rank, in groups.
constexpr cost output(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  detail::weights const read = detail::output_weights(m, l);
  return detail::product(m, p.rows() * read.large, p.rows() * l.heads * l.values(),
                         p.rows() * m.width, read, m.bits.attention);
}

/// From QKV to the output projection as one. The operations and weights are those of the parts;
/// scores stay on the chip (FlashAttention, arXiv 2205.14135), and of keys and values only the
/// cache is counted: what it held read once, the new ones written.
constexpr cost attention(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  cost const parts = qkv(m, p, kind) + rope(m, p, kind) + scores(m, p, kind) + softmax(m, p, kind) +
                     values(m, p, kind) + output(m, p, kind);
  double const moved = detail::numbers(l, detail::read_keys(l, p.past, p.tokens, 0)) +
                       detail::numbers(l, detail::kept_keys(l, p.tokens, 0));
  return detail::fused(m, p, parts, p.cache ? detail::kv_bytes(m, p, p.sequences * moved) : 0);
}

/// The addition to the residual stream.
constexpr cost residual(model const& m, pass const& p) noexcept {
  double const result = p.rows() * m.width;
  return {result, 0, 0, detail::activation_bytes(m, 3 * result), result};
}

/// The scores of all experts: 2 rows width experts. The choice of the best is not counted.
constexpr cost router(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  detail::weights const read = detail::router_weights(m, l);
  return detail::product(m, p.rows() * read.others, l.experts > 0 ? p.rows() * m.width : 0,
                         p.rows() * l.experts, read, m.bits.others);
}

/// The first product of the feed-forward, gate and up: 2 rows width ffn, twice where it is gated,
/// for each active expert. Of a mixture, the weights of the experts that the pass reads.
constexpr cost up(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const out = detail::up_weights(m, l, detail::active(l)).large / m.width;
  return detail::product(m, p.rows() * m.width * out, p.rows() * m.width, p.rows() * out,
                         detail::up_weights(m, l, detail::read_experts(l, p)), m.bits.ffn);
}

/// GELU, 9 operations a number, or the gate, 5 with SiLU; a transcendental function counts one.
constexpr cost nonlinearity(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const result = p.rows() * (detail::active(l) * l.ffn + l.shared_ffn);
  return {detail::nonlinearity_flops(l.nonlinearity) * result, 0, 0,
          detail::activation_bytes(m, (l.gated() ? 3 : 2) * result), result};
}

/// The second product: 2 rows ffn width for each active expert; their sum is not counted.
constexpr cost down(model const& m, pass const& p, int kind = 0) noexcept {
  layer const& l = m.kinds[kind];
  double const in = detail::active(l) * l.ffn + l.shared_ffn;
  return detail::product(m, p.rows() * in * m.width, p.rows() * in, p.rows() * m.width,
                         detail::down_weights(m, l, detail::read_experts(l, p)), m.bits.ffn);
}

/// The feed-forward as one, without its router: `mlp` of a dense block, the experts of a mixture.
constexpr cost experts(model const& m, pass const& p, int kind = 0) noexcept {
  return detail::fused(m, p, up(m, p, kind) + nonlinearity(m, p, kind) + down(m, p, kind), 0);
}

/// The feed-forward as one, with its router.
constexpr cost mlp(model const& m, pass const& p, int kind = 0) noexcept {
  cost const gate = router(m, p, kind);
  cost all = experts(m, p, kind);
  all.flops += gate.flops;
  all.weight_bytes += gate.weight_bytes;
  return all;
}

/// A block: two norms, attention, feed-forward, two additions, and `layer::other`.
constexpr cost block(model const& m, pass const& p, int kind = 0) noexcept {
  double const more = m.kinds[kind].other;
  cost const other{2 * p.rows() * more, more * m.bits.attention / 8, 0, 0, 0};
  return 2 * norm(m, p) + attention(m, p, kind) + mlp(m, p, kind) + 2 * residual(m, p) + other;
}

/// The output head: 2 rows width vocabulary, at the positions that need logits.
constexpr cost head(model const& m, pass const& p) noexcept {
  double const rows = p.sequences * p.logits;
  double const read = m.width * m.rows_of_head();
  cost all = detail::product(m, rows * read, rows * m.width, 0, {read, 0},
                             m.tied ? m.bits.embedding : m.bits.head);
  all.elements = rows * m.rows_of_head();
  all.activation_bytes += all.elements * m.bits.logits / 8;
  return all;
}

/// Softmax and cross-entropy: 3 operations a logit; logits read once, targets of 4 bytes, one sum.
constexpr cost loss(model const& m, pass const& p) noexcept {
  double const rows = p.sequences * p.logits;
  return {3 * rows * m.vocabulary, 0, 0, rows * m.vocabulary * m.bits.logits / 8 + 4 * rows + 4,
          rows};
}

/// The whole forward pass, without the loss. The head runs for each predicted token.
constexpr cost forward(model const& m, pass const& p) noexcept {
  double const more = m.other + m.other_again();
  cost all = embedding(m, p) + norm(m, p) + (1 + m.predicted) * head(m, p) +
             cost{2 * p.rows() * more, m.other * m.bits.attention / 8, 0, 0, 0};
  for (int kind = 0; kind < 4; ++kind)
    if (m.kinds[kind].count > 0) all = all + m.kinds[kind].count * block(m, p, kind);
  return all;
}

/// Of a part's forward cost, that of its backward: twice. A product has two of the same size, for
/// the gradients of its input and of its weights (Kaplan et al., arXiv 2001.08361, 2.1); they read
/// input, weights and twice the result's gradient, and write two gradients. For norms and
/// nonlinearities it is an estimate.
constexpr cost backward(cost const& forward) noexcept { return 2 * forward; }

/// One step of training without its optimiser: forward, loss and backward.
constexpr cost step(model const& m, pass const& p,
                    recomputation again = recomputation::none) noexcept {
  cost const once = forward(m, p) + (1 + m.predicted) * loss(m, p);
  cost all = once + backward(once);
  for (int kind = 0; kind < 4; ++kind) {
    double const count = m.kinds[kind].count;
    if (count <= 0 || again == recomputation::none) continue;
    cost const scored = scores(m, p, kind) + softmax(m, p, kind) + values(m, p, kind);
    cost const chip{scored.flops, 0, 0, 0, 0};  // nothing of it leaves the chip
    all = all + count * (again == recomputation::full ? block(m, p, kind) : chip);
  }
  return all;
}

constexpr parameter_count parameters(model const& m) noexcept {
  double const table = m.vocabulary * m.width;
  double const rest = detail::norm_weights(m).all() + m.other;
  parameter_count all{(m.tied ? 1 : 2) * table + m.positions * m.width + rest, table + rest, table};
  for (layer const& l : m.kinds) {
    all.total += l.count * detail::block_weights(m, l, detail::all_experts(l)).all();
    all.active += l.count * detail::block_weights(m, l, detail::active(l)).all();
  }
  return all;
}

/// The bytes of all weights as they are stored.
constexpr double weight_bytes(model const& m) noexcept {
  pass one = decode(1, 0);
  double const table = m.width * (m.vocabulary + m.positions) * m.bits.embedding / 8;
  double const end = m.tied ? 0 : m.width * m.vocabulary * m.bits.head / 8;
  double all = table + end + norm(m, one).weight_bytes + m.other * m.bits.attention / 8;
  for (int kind = 0; kind < 4; ++kind) {
    one.experts_read = m.kinds[kind].experts;
    if (m.kinds[kind].count > 0) all += m.kinds[kind].count * block(m, one, kind).weight_bytes;
  }
  return all;
}

/// The KV cache of sequences that are each `tokens` long; a window keeps no more than itself.
constexpr double kv_cache_bytes(model const& m, double sequences, double tokens) noexcept {
  double all = 0;
  for (layer const& l : m.kinds)
    all += l.count * detail::numbers(l, detail::kept_keys(l, tokens, l.window));
  return sequences * all * m.bits.kv / 8;
}

/// What one block keeps for its backward pass (Korthikanti et al., arXiv 2205.05198, equations 1
/// and 2: 34 sbh + 5 as^2 b bytes for 16-bit MHA with a GELU of 4h and dropout). Of a mixture, the
/// numbers of the active experts.
constexpr double kept_activation_bytes(model const& m, pass const& p, int kind, recomputation again,
                                       bool dropout) noexcept {
  layer const& l = m.kinds[kind];
  double const rows = p.rows();
  if (again == recomputation::full) return detail::activation_bytes(m, rows * m.width);
  double const inputs = 4 * m.width + l.heads * l.values();  // of norms and products
  double const hidden = (l.gated() ? 3 : 2) * (detail::active(l) * l.ffn + l.shared_ffn);
  double const numbers = rows * (inputs + hidden) + qkv(m, p, kind).elements;
  double const scored = again == recomputation::none ? softmax(m, p, kind).elements : 0;
  double const masks = dropout ? 2 * rows * m.width + scored : 0;  // of a byte
  return detail::activation_bytes(m, numbers + (dropout ? 2 : 1) * scored) + masks;
}

/// The memory of one training step on one device, without workspaces. `p` is a `training` pass, its
/// `keys` are `all` where scores are whole matrices.
constexpr training_memory memory(model const& m, pass const& p, optimizer_state const& state = {},
                                 recomputation again = recomputation::none,
                                 bool dropout = false) noexcept {
  double const weights = parameters(m).total;
  double const rows = p.sequences * p.logits;
  double kept = detail::activation_bytes(m, p.rows() * m.width + rows * m.width) +
                rows * m.rows_of_head() * m.bits.logits / 8;
  for (int kind = 0; kind < 4; ++kind)
    if (m.kinds[kind].count > 0)
      kept += m.kinds[kind].count * kept_activation_bytes(m, p, kind, again, dropout);
  return {weights * state.weight, weights * state.gradient, weights * state.optimizer, kept};
}

namespace detail {

/// The attention's products for one token, forward.
constexpr double attention_flops(model const& m, double tokens, attended keys) noexcept {
  pass p = training(1, tokens);
  p.keys = keys;
  double all = 0;
  for (layer const& l : m.kinds)
    all += l.count * (l.heads * (l.head_size + l.values()) * pairs(l, p) +
                      l.index_heads * l.index_size * index_pairs(l, p));
  return 2 * all / tokens;
}
constexpr double multiplied(model const& m, convention const& c) noexcept {
  parameter_count const n = parameters(m);
  return n.active + m.other_again() + (c.head ? m.predicted * n.head : -n.head);
}

}  // namespace detail

/// Operations of training for each token of sequences of `tokens`: 6N and attention.
constexpr double training_flops(model const& m, double tokens, convention const& c) noexcept {
  return 6 * detail::multiplied(m, c) + c.passes * detail::attention_flops(m, tokens, c.keys);
}
/// Those of a forward pass alone: 2N and attention once.
constexpr double forward_flops(model const& m, double tokens, convention const& c) noexcept {
  double const passes = c.passes > 0 ? 1 : 0;
  return 2 * detail::multiplied(m, c) + passes * detail::attention_flops(m, tokens, c.keys);
}
/// Those that the hardware does: training and what is computed again.
constexpr double hardware_flops(model const& m, double tokens, convention const& c,
                                recomputation again) noexcept {
  double const blocks = detail::multiplied(m, without_head(c)) - detail::norm_weights(m).all();
  double const other = m.other + m.other_again();
  double const scored = c.passes > 0 ? detail::attention_flops(m, tokens, c.keys) : 0;
  double const more = again == recomputation::full ? 2 * (blocks - other) + scored : scored;
  return training_flops(m, tokens, c) + (again == recomputation::none ? 0 : more);
}

/// Model FLOP utilisation: the operations that the model needs, by a convention (PaLM, appendix B).
/// `tokens`: the length of a sequence; `all_tokens`: those of all sequences of the step, which took
/// `seconds`.
constexpr utilisation mfu(model const& m, double tokens, double all_tokens, double seconds,
                          convention const& convention, peak const& peak) noexcept {
  return {"MFU", training_flops(m, tokens, convention) * all_tokens / seconds / peak.per_second,
          convention, peak};
}
/// Hardware FLOP utilisation: with the operations that are done again.
constexpr utilisation hfu(model const& m, double tokens, double all_tokens, double seconds,
                          convention const& convention, recomputation again,
                          peak const& peak) noexcept {
  double const flops = hardware_flops(m, tokens, convention, again);
  return {"HFU", flops * all_tokens / seconds / peak.per_second, convention, peak};
}
namespace detail {
inline constexpr std::string_view without_weights = "0 bytes of weights + KV";
}

/// Model bandwidth utilisation: weights and KV cache that a pass has to move.
constexpr utilisation mbu(cost const& needed, double seconds, peak const& peak) noexcept {
  return {"MBU", (needed.weight_bytes + needed.kv_bytes) / seconds / peak.per_second,
          convention{needed.weight_bytes > 0 ? "weights + KV" : detail::without_weights,
                     attended::all, 0, true},
          peak};
}

struct sentence {
  char text[192];
};
/// The ratio in words, with all that it depends on.
inline sentence describe(utilisation const& u) noexcept {
  sentence all{};
  auto const size = [](std::string_view text) { return static_cast<int>(text.size()); };
  bool const bandwidth = u.ratio == "MBU";
  char const* const head = bandwidth ? "" : u.by.head ? ", with head" : ", without head";
  int const begun =
      std::snprintf(all.text, sizeof all.text, "%.*s %.1f %% (%.*s%s; of ", size(u.ratio),
                    u.ratio.data(), 100 * u.value, size(u.by.name), u.by.name.data(), head);
  if (begun < 0 || begun >= static_cast<int>(sizeof all.text)) return all;
  std::snprintf(all.text + begun, sizeof all.text - static_cast<std::size_t>(begun),
                "%.4g %s, %.*s, %s)%s", u.of.per_second / (bandwidth ? 1e9 : 1e12),
                bandwidth ? "GB/s" : "TFLOP/s", size(u.of.what), u.of.what.data(),
                u.of.measured ? "measured" : "data sheet",
                u.by.name == detail::without_weights
                    ? ": is `bits` 0, as of a name that llm::bits does not know?"
                : u.value > 1 ? ": above the peak, so a unit, the clock or the count is wrong"
                              : "");
  return all;
}

}  // namespace llm

STRATA_END

#endif  // STRATA_MODEL_LLM_HPP
