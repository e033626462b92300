// What parts of a small odd model need, added up by hand: each size and each precision is another
// number, so that no two are confused.
#include <doctest/doctest.h>
#include "analyse/ledger.hpp"
#include "model/llm.hpp"

#include <algorithm>
#include <cmath>

namespace llm_by_hand_test {

using namespace strata;

namespace {

constexpr double width = 6, vocabulary = 50, padded = 64, positions = 20;
// Bits of attention, feed-forward, head, embedding, others, cache, activations and logits.
constexpr llm::precision bits{4, 12, 6, 20, 32, 10, 16, 24};

llm::layer gqa() {
  llm::layer made;
  made.count = 2;
  made.heads = 6;
  made.kv_heads = 2;
  made.head_size = 8;
  made.value_size = 5;
  made.rotated = 4;
  made.ffn = 11;
  made.nonlinearity = llm::activation::gelu;
  made.qkv_bias = made.bias = true;
  return made;
}
llm::layer mixture() {
  llm::layer made = gqa();
  made.count = 3;
  made.nonlinearity = llm::activation::swiglu;
  made.experts = 7;
  made.active = 2;
  made.shared_ffn = 13;
  made.window = 3;
  made.query_key_norm = true;
  return made;
}
llm::layer latent() {
  llm::layer made = gqa();
  made.count = 1;
  made.latent = 7;
  made.rotated = 3;
  made.query_latent = 9;
  made.qkv_bias = made.bias = false;
  made.other = 17;
  return made;
}
llm::layer sparse() {
  llm::layer made = gqa();
  made.count = 4;
  made.window = 3;
  made.compression = 2;
  made.selected = 2;
  made.index_heads = 3;
  made.index_size = 5;
  made.value_is_key = true;
  made.output_rank = 4;
  made.output_groups = 2;
  return made;
}

llm::model model_of(llm::layer const& kind) {
  llm::model made;
  made.width = width;
  made.vocabulary = vocabulary;
  made.padded_vocabulary = padded;
  made.positions = positions;
  made.tied = true;
  made.rms = false;
  made.kinds[0] = kind;
  made.bits = bits;
  return made;
}

/// Three sequences of four tokens behind five.
llm::pass cached() {
  llm::pass made = llm::prefill(3, 4, 5);
  made.logits = 2;
  return made;
}
constexpr double rows = 12;

/// Products of a query and a key in one sequence, one by one; a query sees `most` keys at most.
double pairs(llm::pass const& p, double most) {
  double sum = 0;
  for (double query = p.past; query < p.past + p.tokens; ++query)
    sum += std::min(query + 1, most > 0 ? most : 1e9);
  return sum;
}

void check(llm::cost const& made, llm::cost const& expected) {
  CHECK(made.flops == doctest::Approx(expected.flops).epsilon(1e-12));
  CHECK(made.weight_bytes == doctest::Approx(expected.weight_bytes).epsilon(1e-12));
  CHECK(made.kv_bytes == doctest::Approx(expected.kv_bytes).epsilon(1e-12));
  CHECK(made.activation_bytes == doctest::Approx(expected.activation_bytes).epsilon(1e-12));
  CHECK(made.elements == doctest::Approx(expected.elements).epsilon(1e-12));
}

}  // namespace

TEST_CASE("by hand: embedding, norm, residual, head and loss") {
  llm::model m = model_of(gqa());
  llm::pass const p = cached();
  // The rows of positions are read once for all sequences.
  check(llm::embedding(m, p),
        {rows * 6, (rows * 6 + 4 * 6) * 20 / 8, 0, 4 * rows + rows * 6 * 2, rows * 6});
  check(llm::norm(m, p), {7 * rows * 6, 2 * 6 * 4, 0, 2 * rows * 6 * 2, rows * 6});
  check(llm::residual(m, p), {rows * 6, 0, 0, 3 * rows * 6 * 2, rows * 6});
  // Two positions of each sequence; the tied head is the table of tokens.
  check(llm::head(m, p), {2 * 6 * 6 * 64, 6 * 64 * 20 / 8.0, 0, 6 * 6 * 2 + 6 * 64 * 3, 6 * 64});
  check(llm::loss(m, p), {3 * 6 * 50, 0, 0, 6 * 50 * 3 + 4 * 6 + 4, 6});
  m.tied = false;
  m.rms = true;
  m.positions = 0;
  CHECK(llm::head(m, p).weight_bytes == 6 * 64 * 6 / 8.0);
  check(llm::norm(m, p), {4 * rows * 6, 6 * 4, 0, 2 * rows * 6 * 2, rows * 6});
  check(llm::embedding(m, p), {0, rows * 6 * 20 / 8, 0, 4 * rows + rows * 6 * 2, rows * 6});
}

TEST_CASE("by hand: attention of grouped queries with values of another size") {
  llm::model const m = model_of(gqa());
  llm::pass const p = cached();
  double const stored = 2 * (8 + 5);
  check(llm::qkv(m, p),
        {2 * rows * 6 * (48 + stored), (6 * (48 + stored) * 4 + (48 + stored) * 32) / 8,
         rows * stored * 10 / 8, (rows * 6 + rows * 48) * 2, rows * (48 + stored)});
  check(llm::rope(m, p), {3 * rows * 8 * 4, 0, 0, 2 * rows * 8 * 4 * 2, rows * 8 * 4});
  double const products = pairs(p, 0);
  CHECK(products == 6 + 7 + 8 + 9);
  double const scores = 3 * 6 * products;
  check(llm::scores(m, p),
        {2 * scores * 8, 0, 3 * 9 * 2 * 8 * 10 / 8, (rows * 48 + scores) * 2, scores});
  check(llm::softmax(m, p), {3 * scores, 0, 0, 2 * scores * 2, scores});
  check(llm::values(m, p),
        {2 * scores * 5, 0, 3 * 9 * 2 * 5 * 10 / 8.0, (scores + rows * 30) * 2, rows * 30});
  check(llm::output(m, p),
        {2 * rows * 30 * 6, (30 * 6 * 4 + 6 * 32) / 8, 0, (rows * 30 + rows * 6) * 2, rows * 6});
  // What the cache held is read, what is new is written.
  llm::cost const parts = llm::qkv(m, p) + llm::rope(m, p) + llm::scores(m, p) +
                          llm::softmax(m, p) + llm::values(m, p) + llm::output(m, p);
  check(llm::attention(m, p), {parts.flops, parts.weight_bytes, 3 * (5 + 4) * stored * 10 / 8,
                               2 * rows * 6 * 2, rows * 6});
  llm::pass uncached = p;
  uncached.cache = false;  // keys are what one part hands to the next
  CHECK(llm::qkv(m, uncached).kv_bytes == rows * stored * 16 / 8);
  CHECK(llm::attention(m, uncached).kv_bytes == 0);
}

TEST_CASE("by hand: masks, windows and halves") {
  llm::model m = model_of(gqa());
  for (double const past : {0.0, 1.0, 5.0})
    for (double const window : {0.0, 1.0, 3.0, 40.0}) {
      CAPTURE(past);
      CAPTURE(window);
      m.kinds[0].window = window;
      llm::pass p = llm::prefill(1, 4, past);
      CHECK(llm::softmax(m, p).elements == 6 * pairs(p, window));
      p.keys = llm::attended::all;
      double const seen = window > 0 ? std::min(window, past + 4) : past + 4;
      CHECK(llm::softmax(m, p).elements == 6 * 4 * seen);
      p.keys = llm::attended::half;
      double area = 0;  // of the keys that a query sees, along the sequence
      for (int i = 0; i < 4000; ++i)
        area += std::min(past + (i + 0.5) / 1000, window > 0 ? window : 1e9) / 1000;
      CHECK(llm::softmax(m, p).elements == doctest::Approx(6 * area).epsilon(1e-5));
      // The last query needs window - 1 older keys and itself, the first ones older ones too.
      double const read = window > 0 ? std::min(past + 4, window - 1 + 4) : past + 4;
      CHECK(llm::scores(m, p).kv_bytes == read * 2 * 8 * 10 / 8);
    }
}

TEST_CASE("by hand: latent keys and values") {
  llm::model const m = model_of(latent());
  llm::pass p = cached();
  double const weights = 6 * 9 + 9 * 48 + 6 * (7 + 3) + 7 * 6 * (8 - 3 + 5);
  double const expanded = 6 * (8 - 3 + 5) + 3;
  llm::cost const made = llm::qkv(m, p);
  check(made, {2 * rows * weights, (weights * 4 + (9 + 7) * 32) / 8, rows * expanded * 10 / 8,
               (rows * 6 + rows * 48) * 2, rows * (48 + expanded)});
  check(llm::rope(m, p), {3 * rows * 7 * 3, 0, 0, 2 * rows * 7 * 3 * 2, rows * 7 * 3});
  double const scores = 3 * 6 * pairs(p, 0);
  CHECK(llm::scores(m, p).flops == 2 * scores * 8);
  CHECK(llm::scores(m, p).kv_bytes == 3 * 9 * 6 * 8 * 10 / 8);
  p.absorbed = true;  // each head multiplies with the latent itself
  CHECK(llm::qkv(m, p).kv_bytes == rows * 10 * 10 / 8);
  CHECK(llm::scores(m, p).flops == 2 * scores * (7 + 3));
  CHECK(llm::scores(m, p).kv_bytes == doctest::Approx(3 * 9 * 10 * 10 / 8.0));
  CHECK(llm::values(m, p).flops == 2 * scores * 7);
  CHECK(llm::values(m, p).elements == rows * 6 * 7);
  CHECK(llm::kv_cache_bytes(m, 3, 9) == doctest::Approx(3 * 9 * 10 * 10 / 8.0));
  // The weights that nothing describes are multiplied once a row.
  llm::cost const parts =
      2 * llm::norm(m, p) + llm::attention(m, p) + llm::mlp(m, p) + 2 * llm::residual(m, p);
  CHECK(llm::block(m, p).flops == parts.flops + 2 * rows * 17);
  CHECK(llm::block(m, p).weight_bytes == parts.weight_bytes + 17 * 4 / 8.0);
}

TEST_CASE("by hand: a window beside compressed keys of which an indexer chooses") {
  llm::model const m = model_of(sparse());
  llm::pass const p = cached();
  double const seen = pairs(p, 3) + pairs(p, 2 * 2) / 2;
  double const scores = 3 * 6 * seen;
  double const indexed = 3 * 3 * 5 * pairs(p, 0) / 2;
  // Six of the nine tokens in windows, four of four and a half compressed keys, all of the index.
  double const keys = (6 + 4.5) * 2 * 8 + 4.5 * 5;
  check(llm::scores(m, p),
        {2 * scores * 8 + 2 * indexed, 0, 3 * keys * 10 / 8, (rows * 48 + scores) * 2, scores});
  CHECK(llm::values(m, p).kv_bytes == 3 * (6 + 4.5) * 2 * 5 * 10 / 8);
  // One projection serves keys and values; the output goes through a rank in two groups.
  CHECK(llm::qkv(m, p).kv_bytes == rows * 2 * 8 * 10 / 8);
  CHECK(llm::output(m, p).flops == 2 * rows * (30 + 2 * 6) * 4);
  llm::pass const one = llm::decode(3, 15);  // two keys of eight are chosen for one query
  CHECK(llm::scores(m, one).kv_bytes == 3 * ((3 + 2) * 2 * 8 + 8 * 5) * 10 / 8);
  // The cache keeps a window, the compressed keys and the index.
  CHECK(llm::kv_cache_bytes(m, 3, 16) == 4 * 3 * ((3 + 8) * 2 * 8 + 8 * 5) * 10 / 8);
}

TEST_CASE("by hand: a feed-forward of one, and a mixture with shared experts") {
  llm::model m = model_of(gqa());
  llm::pass const p = cached();
  check(llm::up(m, p),
        {2 * rows * 6 * 11, (6 * 11 * 12 + 11 * 32) / 8, 0, (rows * 6 + rows * 11) * 2, rows * 11});
  check(llm::nonlinearity(m, p), {9 * rows * 11, 0, 0, 2 * rows * 11 * 2, rows * 11});
  check(llm::down(m, p),
        {2 * rows * 11 * 6, (6 * 11 * 12 + 6 * 32) / 8, 0, (rows * 11 + rows * 6) * 2, rows * 6});
  CHECK(llm::router(m, p).bytes() == 0);
  m.kinds[0] = mixture();
  double const read = 7 * (1 - std::pow(1 - 2.0 / 7, rows));
  double const active = 2 * 11 + 13;
  check(llm::up(m, p),
        {2 * rows * 6 * 2 * active, (6 * 2 * (read * 11 + 13) * 12 + 2 * (read * 11 + 13) * 32) / 8,
         0, (rows * 6 + rows * 2 * active) * 2, rows * 2 * active});
  check(llm::nonlinearity(m, p), {5 * rows * active, 0, 0, 3 * rows * active * 2, rows * active});
  // A bias of each expert that is read, and one of the shared ones.
  check(llm::down(m, p),
        {2 * rows * active * 6, (6 * (read * 11 + 13) * 12 + 6 * (read + 1) * 32) / 8, 0,
         (rows * active + rows * 6) * 2, rows * 6});
  check(llm::router(m, p),
        {2 * rows * 7 * 6, 7 * 6 * 32 / 8, 0, (rows * 6 + rows * 7) * 2, rows * 7});
  check(llm::rope(m, p), {3 * rows * 8 * 4 + 4 * rows * 8 * 8, 2 * 8 * 32 / 8, 0,
                          2 * rows * 8 * 8 * 2, rows * 8 * 8});
  llm::cost const experts = llm::up(m, p) + llm::nonlinearity(m, p) + llm::down(m, p);
  check(llm::mlp(m, p), {experts.flops + llm::router(m, p).flops,
                         experts.weight_bytes + 7 * 6 * 32 / 8, 0, 2 * rows * 6 * 2, rows * 6});
}

TEST_CASE("by hand: the whole model, its weights and its training") {
  llm::model m = model_of(gqa());
  m.kinds[1] = mixture();
  m.kinds[2] = latent();
  m.kinds[3] = sparse();
  m.other = 19;
  m.predicted = 2;
  m.streams = 3;
  llm::pass const p = cached();
  double const again = 2 * (3 - 1) * 36;
  llm::cost all = llm::embedding(m, p) + llm::norm(m, p) + 3 * llm::head(m, p) +
                  llm::cost{2 * rows * (19 + again), 19 * 4 / 8.0, 0, 0, 0};
  for (int kind = 0; kind < 4; ++kind) all = all + m.kinds[kind].count * llm::block(m, p, kind);
  check(llm::forward(m, p), all);

  // Weights of a block: norms, queries, keys and values, output, feed-forward.
  double const dense = 24 + (6 * 74 + 74) + (30 * 6 + 6) + (6 * 11 + 11) + (11 * 6 + 6);
  auto const mixed = [](double experts) {
    double const hidden = experts * 11 + 13;
    return 24 + (6 * 74 + 74) + 16 + (30 * 6 + 6) + 7 * 6 + (6 * 2 * hidden + 2 * hidden) +
           (6 * hidden + 6 * (experts + 1));
  };
  double const of_latent =
      24 + (6 * 9 + 9 * 48 + 9) + (6 * 10 + 7 * 60 + 7) + 30 * 6 + 6 * 11 + 11 * 6 + 17;
  double const of_sparse =
      24 + (6 * 64 + 64) + ((30 + 2 * 6) * 4 + 6) + (6 * 11 + 11) + (11 * 6 + 6);
  double const blocks = 2 * dense + of_latent + 4 * of_sparse;
  llm::parameter_count const weights = llm::parameters(m);
  CHECK(weights.total == 50 * 6 + 20 * 6 + 12 + 19 + blocks + 3 * mixed(7));
  CHECK(weights.active == 50 * 6 + 12 + 19 + blocks + 3 * mixed(2));
  CHECK(weights.head == 50 * 6);

  // Stored, all experts with them; what is no matrix has 32 bits.
  llm::pass one = llm::decode(1, 0);
  double stored = 6 * (50 + 20) * 20 / 8.0 + 12 * 4 + 19 * 4 / 8.0;
  for (int kind = 0; kind < 4; ++kind) {
    one.experts_read = kind == 1 ? 7 : 0;
    stored += m.kinds[kind].count * llm::block(m, one, kind).weight_bytes;
  }
  CHECK(llm::weight_bytes(m) == doctest::Approx(stored));
  CHECK(llm::kv_cache_bytes(m, 3, 16) ==
        doctest::Approx(3 * 10 / 8.0 *
                        (2 * 16 * 26 + 3 * 3 * 26 + 16 * 10 + 4 * ((3 + 8) * 16 + 8 * 5))));

  double const multiplied = weights.active + again + 2 * 50 * 6;
  double attention = 0;  // of causal keys, for each of ten tokens
  llm::pass const ten = llm::training(1, 10);
  double const whole = pairs(ten, 0);
  attention += (2 + 1) * 6 * 13 * whole + 3 * 6 * 13 * pairs(ten, 3);
  attention += 4 * (6 * 13 * (pairs(ten, 3) + pairs(ten, 4) / 2) + 3 * 5 * whole / 2);
  attention *= 2.0 / 10;
  llm::convention const by{"test", llm::attended::causal, 3.5, true};
  CHECK(llm::training_flops(m, 10, by) == doctest::Approx(6 * multiplied + 3.5 * attention));
  CHECK(llm::forward_flops(m, 10, by) == doctest::Approx(2 * multiplied + attention));
  CHECK(llm::training_flops(m, 10, llm::without_head(by)) ==
        doctest::Approx(6 * (weights.active + again - 50 * 6) + 3.5 * attention));
  double const again_blocks = weights.active + again - 50 * 6 - 12 - 19 - again;
  CHECK(llm::hardware_flops(m, 10, by, llm::recomputation::full) ==
        doctest::Approx(6 * multiplied + 3.5 * attention + 2 * again_blocks + attention));
  CHECK(llm::hardware_flops(m, 10, by, llm::recomputation::selective) ==
        doctest::Approx(6 * multiplied + 4.5 * attention));

  llm::training_memory const memory =
      llm::memory(m, llm::training(3, 4), llm::optimizer_state{3, 5, 7});
  CHECK(memory.weights == 3 * weights.total);
  CHECK(memory.gradients == 5 * weights.total);
  CHECK(memory.optimizer == 7 * weights.total);
}

TEST_CASE("by hand: what a block keeps for its backward pass") {
  llm::model m = model_of(gqa());
  llm::pass const p = llm::training(3, 4);
  double const scores = 3 * 6 * pairs(p, 0);
  // Inputs of two norms and two products, values, twice the hidden numbers, queries, keys, values.
  double const kept = rows * (4 * 6 + 30 + 2 * 11) + rows * (48 + 26);
  auto const bytes = [&](llm::recomputation again, bool dropout) {
    return llm::kept_activation_bytes(m, p, 0, again, dropout);
  };
  CHECK(bytes(llm::recomputation::none, false) == 2 * (kept + scores));
  CHECK(bytes(llm::recomputation::none, true) == 2 * (kept + 2 * scores) + 2 * rows * 6 + scores);
  CHECK(bytes(llm::recomputation::selective, false) == 2 * kept);
  CHECK(bytes(llm::recomputation::full, true) == 2 * rows * 6);
  m.kinds[0] = mixture();
  double const hidden = 3 * (2 * 11 + 13);
  CHECK(bytes(llm::recomputation::selective, false) ==
        2 * (rows * (4 * 6 + 30 + hidden) + rows * (48 + 26)));
}

TEST_CASE("by hand: the needs of ranges are the model's, logits apart from activations") {
  llm::model m = model_of(gqa());
  m.kinds[1] = mixture();
  llm::pass const p = cached();
  vec<byte_need> const needs = needs_of(m, p);
  REQUIRE(needs.size() == 4);
  CHECK(needs[1].weights == doctest::Approx(2 * llm::attention(m, p, 0).weight_bytes +
                                            3 * llm::attention(m, p, 1).weight_bytes));
  CHECK(needs[2].weights ==
        doctest::Approx(2 * llm::mlp(m, p, 0).weight_bytes + 3 * llm::mlp(m, p, 1).weight_bytes));
  CHECK(needs[3].logits == 6 * 64 * 3);
  CHECK(needs[3].activations == 6 * 6 * 2);
  CHECK(needs[3].all() == doctest::Approx(llm::head(m, p).bytes()));
}

}  // namespace llm_by_hand_test
