#include "model/llm.hpp"
#include <strata/annotate/attributes.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace llm_test {

namespace llm = strata::llm;
using llm::attended;
using llm::cost;
using llm::model;
using llm::pass;

namespace {

constexpr model gpt2_124m() {
  model m;
  m.width = 768;
  m.vocabulary = 50257;
  m.positions = 1024;
  m.tied = true;
  m.rms = false;
  m.bits = llm::uniform(32);
  llm::layer& l = m.kinds[0];
  l.count = 12;
  l.heads = l.kv_heads = 12;
  l.head_size = 64;
  l.ffn = 3072;
  l.nonlinearity = llm::activation::gelu;
  l.bias = l.qkv_bias = true;
  return m;
}

/// Llama 3: GQA, SwiGLU, RMSNorm, RoPE, no bias, a head of its own.
constexpr model llama3(double layers, double width, double heads, double ffn) {
  model m;
  m.width = width;
  m.vocabulary = 128256;
  m.bits = llm::uniform(16);
  llm::layer& l = m.kinds[0];
  l.count = layers;
  l.heads = heads;
  l.kv_heads = 8;
  l.head_size = l.rotated = 128;
  l.ffn = ffn;
  return m;
}
constexpr model llama3_8b() { return llama3(32, 4096, 32, 14336); }

constexpr model qwen3_30b_a3b() {
  model m;
  m.width = 2048;
  m.vocabulary = 151936;
  llm::layer& l = m.kinds[0];
  l.count = 48;
  l.heads = 32;
  l.kv_heads = 4;
  l.head_size = l.rotated = 128;
  l.query_key_norm = true;
  l.ffn = 768;
  l.experts = 128;
  l.active = 8;
  return m;
}

constexpr model deepseek_v3() {
  model m;
  m.width = 7168;
  m.vocabulary = 129280;
  llm::layer l;
  l.heads = 128;
  l.head_size = 192;  // 128, and 64 that RoPE rotates
  l.rotated = 64;
  l.value_size = 128;
  l.query_latent = 1536;
  l.latent = 512;
  l.ffn = 18432;
  l.count = 3;
  m.kinds[0] = l;
  l.ffn = l.shared_ffn = 2048;
  l.experts = 256;
  l.active = 8;
  l.count = 58;
  m.kinds[1] = l;
  return m;
}

/// With the layer of multi-token prediction. Sizes: the configuration `deepseek_v4_flash` of
/// torchtitan (torchtitan/models/deepseek_v4, pull request 4441).
constexpr model deepseek_v4_flash() {
  double const width = 4096;
  model m;
  m.width = width;
  m.vocabulary = 129280;
  llm::layer l;
  l.heads = 64;
  l.kv_heads = 1;
  l.head_size = 512;
  l.rotated = 64;
  l.value_is_key = true;
  l.query_latent = 1024;
  l.output_rank = 1024;
  l.output_groups = 8;
  l.window = 128;
  l.ffn = l.shared_ffn = 2048;
  l.experts = 256;
  l.active = 6;
  // The norm of keys, a sink for each head; two hyper-connections of four streams: (2 + 4) 4 rows
  // of 4 width, a bias for each row, 3 scales.
  double const plain = 512 + 64 + 2 * (24 * 4 * width + 24 + 3);
  // A compressor of ratio r to heads of d, c = 2 where groups overlap, else 1: two products of
  // width x c d, a norm of d, positions of r x c d.
  double const by_4 = 2 * width * 2 * 512 + 512 + 4 * 2 * 512;
  double const by_128 = 2 * width * 512 + 512 + 128 * 512;
  // The indexer: its queries from the queries' latent, a weight for each head, its own compressor.
  double const indexer = 1024 * 64 * 128 + width * 64 + 2 * width * 2 * 128 + 128 + 4 * 2 * 128;
  l.other = plain;
  l.count = 2 + 1;  // the last is that of multi-token prediction
  m.kinds[0] = l;
  l.other = plain + by_128;
  l.compression = 128;
  l.count = 20;
  m.kinds[1] = l;
  l.other = plain + by_4 + indexer;
  l.compression = 4;
  l.selected = 512;
  l.index_heads = 64;
  l.index_size = 128;
  l.count = 21;
  m.kinds[2] = l;
  m.predicted = 1;
  m.streams = 4;
  // Two mergers of the four streams: 4 rows of 4 width, 4 biases, a scale. Multi-token prediction:
  // two products and three norms.
  m.other = 2 * (4 * 4 * width + 4 + 1) + 2 * width * width + 3 * width;
  return m;
}

bool same(cost const& a, cost const& b) {
  auto const near = [](double x, double y) { return x == doctest::Approx(y).epsilon(1e-12); };
  return near(a.flops, b.flops) && near(a.weight_bytes, b.weight_bytes) &&
         near(a.kv_bytes, b.kv_bytes) && near(a.activation_bytes, b.activation_bytes);
}

std::string words(llm::utilisation const& u) { return llm::describe(u).text; }

pass all_keys(pass p) {
  p.keys = attended::all;
  return p;
}

/// A model of random kind and size.
model some_model(std::mt19937& random) {
  auto const pick = [&](int from, int to) {
    return static_cast<double>(std::uniform_int_distribution<int>(from, to)(random));
  };
  model m;
  m.width = 64 * pick(1, 16);
  m.vocabulary = pick(100, 5000);
  m.tied = pick(0, 1) > 0;
  m.rms = pick(0, 1) > 0;
  m.positions = pick(0, 1) * 512;
  m.bits = llm::uniform(8 * pick(1, 4));
  for (int kind = 0; kind < static_cast<int>(pick(1, 4)); ++kind) {
    llm::layer& l = m.kinds[kind];
    l.count = pick(1, 5);
    l.kv_heads = pick(1, 4);
    l.heads = l.kv_heads * pick(1, 4);
    l.head_size = 16 * pick(1, 8);
    l.rotated = l.head_size / pick(1, 2);
    l.window = pick(0, 1) * pick(1, 300);
    l.latent = pick(0, 1) * 32 * pick(1, 4);
    l.query_latent = pick(0, 1) * 48;
    l.compression = pick(0, 1) * pick(1, 8);
    l.selected = pick(0, 1) * pick(1, 64);
    l.index_heads = pick(0, 1) * 4;
    l.index_size = 16;
    l.query_key_norm = pick(0, 1) > 0;
    l.qkv_bias = l.bias = pick(0, 1) > 0;
    l.ffn = 32 * pick(1, 16);
    l.experts = pick(0, 1) * 16;
    l.active = pick(1, 16);
    l.shared_ffn = l.experts > 0 ? pick(0, 1) * l.ffn : 0;
    l.nonlinearity = pick(0, 1) > 0 ? llm::activation::swiglu : llm::activation::gelu;
    l.other = pick(0, 1) * 1000;
  }
  return m;
}

pass some_pass(std::mt19937& random) {
  auto const pick = [&](int from, int to) {
    return static_cast<double>(std::uniform_int_distribution<int>(from, to)(random));
  };
  switch (std::uniform_int_distribution<int>(0, 2)(random)) {
    case 0:
      return llm::training(pick(1, 8), pick(1, 500));
    case 1:
      return llm::prefill(pick(1, 8), pick(1, 500), pick(0, 500));
    default:
      return llm::decode(pick(1, 64), pick(0, 1000));
  }
}

}  // namespace

TEST_CASE("bits of stored types, as ggml's comments give them") {
  std::pair<std::string_view, double> const expected[] = {
      {"f32", 32},        {"f16", 16},       {"bf16", 16},        {"fp8", 8},
      {"q1_0", 1.125},    {"q4_0", 4.5},     {"q4_1", 5},         {"q5_0", 5.5},
      {"q5_1", 6},        {"q8_0", 8.5},     {"q8_1", 9},         {"q2_K", 2.625},
      {"q3_K", 3.4375},   {"q4_K", 4.5},     {"q5_K", 5.5},       {"q6_K", 6.5625},
      {"q8_K", 9.125},    {"iq1_s", 1.5625}, {"iq1_m", 1.75},     {"iq2_xxs", 2.0625},
      {"iq2_xs", 2.3125}, {"iq2_s", 2.5625}, {"iq3_xxs", 3.0625}, {"iq3_s", 3.4375},
      {"iq4_nl", 4.5},    {"iq4_xs", 4.25},  {"tq1_0", 1.6875},   {"tq2_0", 2.0625},
      {"mxfp4", 4.25},    {"nvfp4", 4.5},    {"f64", 64}};
  for (auto const& each : expected) {
    CAPTURE(std::string(each.first));
    CHECK(llm::bits(each.first) == each.second);
  }
  CHECK(sizeof expected / sizeof *expected == sizeof llm::storages / sizeof *llm::storages);
  for (auto const& each :
       {std::pair("Q4_0", 4.5), std::pair("F16", 16.0), std::pair("BF16", 16.0),
        std::pair("fp16", 16.0), std::pair("FP32", 32.0), std::pair("bfloat16", 16.0),
        std::pair("q6_k", 6.5625), std::pair("IQ2_XXS", 2.0625), std::pair("E4M3", 8.0)}) {
    CAPTURE(std::string(each.first));
    CHECK(llm::bits(each.first) == each.second);
  }
  for (auto const& each : llm::storage_aliases) CHECK(llm::bits(each.alias) > 0);
  for (char const* const none : {"q9_K", "", "q4", "q4_K_M", "Q4_K_M"}) CHECK(llm::bits(none) == 0);
  static_assert(llm::bits("q4_K") == 4.5, "known to the compiler");
}

TEST_CASE("GPT-2 124M by hand") {
  model const m = gpt2_124m();
  // A block: norms 2 x 2 x 768 = 3,072; QKV 768 x 2,304 + 2,304 = 1,771,776; output 768 x 768 + 768
  // = 590,592; up 768 x 3,072 + 3,072 = 2,362,368; down 3,072 x 768 + 768 = 2,360,064: 7,087,872.
  // 12 blocks 85,054,464, tokens 50,257 x 768 = 38,597,376, positions 786,432, last norm 1,536.
  CHECK(llm::parameters(m).total == 124439808);
  CHECK(llm::parameters(m).active == 124439808 - 786432);  // as nanoGPT: without positions
  CHECK(llm::weight_bytes(m) == 4.0 * 124439808);
  // 6 x 123,653,376 = 741,920,256; 12 x 12 layers x 12 heads x 64 x 1,024 = 113,246,208.
  CHECK(llm::training_flops(m, 1024, llm::full_square) == 741920256 + 113246208);
  CHECK(llm::training_flops(m, 1024, llm::causal_half) == 741920256 + 113246208 / 2);
  CHECK(llm::training_flops(m, 1024, llm::flash_half) == 741920256 + 113246208 / 12 * 7);
  CHECK(llm::training_flops(m, 1024, llm::weights_only) == 741920256);
  CHECK(llm::training_flops(m, 1024, without_head(llm::weights_only)) ==
        741920256 - 6.0 * 38597376);
  CHECK(llm::forward_flops(m, 1024, llm::full_square) == 741920256 / 3 + 113246208 / 3);
}

TEST_CASE("Llama-3 8B by hand") {
  model const m = llama3_8b();
  // A block: Q 4,096^2 = 16,777,216; K and V 4,096 x 2,048 = 8,388,608; output 16,777,216; MLP
  // 3 x 4,096 x 14,336 = 176,160,768; norms 8,192: 218,112,000. 32 blocks 6,979,584,000; tokens and
  // head 128,256 x 4,096 = 525,336,576 each; last norm 4,096.
  CHECK(llm::parameters(m).total == 8030261248);
  CHECK(llm::parameters(m).active == 7504924672);  // without the table of tokens
  // 6 x 7,504,924,672 = 45,029,548,032; 12 x 32 x 32 x 128 x 8,192 = 12,884,901,888.
  CHECK(llm::training_flops(m, 8192, llm::full_square) == 45029548032 + 12884901888);
  // Cache: 2 x 8 heads x 128 x 32 layers x 2 bytes = 131,072 a token.
  CHECK(llm::kv_cache_bytes(m, 1, 1) == 131072);
  CHECK(llm::kv_cache_bytes(m, 16, 8192) == 16.0 * 8192 * 131072);
  // A token after 8,191 others reads all weights but the table of tokens, of which one row, and the
  // cache, and writes its own keys and values.
  cost const one = llm::forward(m, llm::decode(1, 8191));
  CHECK(one.weight_bytes == 2.0 * 7504924672 + 2 * 4096);
  CHECK(one.kv_bytes == 8192.0 * 131072);
  // 4 + 4 + 8 bytes a weight; ZeRO's 16 in mixed precision too.
  auto const adam = llm::memory(m, llm::training(1, 1));
  CHECK(adam.weights + adam.gradients + adam.optimizer == 16.0 * 8030261248);
  auto const mixed = llm::memory(m, llm::training(1, 1), llm::mixed_precision);
  CHECK(mixed.weights == 2.0 * 8030261248);
  CHECK(mixed.weights + mixed.gradients + mixed.optimizer == 16.0 * 8030261248);
  // Q4_K all over: 4.5 bits a weight.
  model q4 = m;
  q4.bits = llm::uniform(llm::bits("q4_K"));
  CHECK(llm::weight_bytes(q4) == 8030261248 * 4.5 / 8);
}

TEST_CASE("Qwen3-30B-A3B as torchtitan counts it") {
  model const m = qwen3_30b_a3b();
  // A block: Q and output 2 x 2,048 x 4,096 = 16,777,216; K and V 2 x 2,048 x 512 = 2,097,152;
  // norms 2 x 128 + 2 x 2,048 = 4,352; router 262,144; an expert 3 x 2,048 x 768 = 4,718,592, 8 of
  // them 37,748,736: 56,889,600. 48 of these 2,730,700,800, head 311,164,928, norm 2,048:
  // 3,041,867,776.
  CHECK(llm::parameters(m).active == 3041867776);
  // 120 experts more: 48 x 566,231,040; the table of tokens 311,164,928.
  CHECK(llm::parameters(m).total == 3041867776 + 48 * 566231040.0 + 311164928);
  // 6 x 3,041,867,776 = 18,251,206,656; 12 x 48 x 32 x 128 x 8,192 = 19,327,352,832.
  CHECK(llm::training_flops(m, 8192, llm::full_square) == 37578559488);
}

TEST_CASE("DeepSeek-V3: MLA and two kinds of layers") {
  model const m = deepseek_v3();
  // Attention: 7,168 x 1,536 + 1,536 + 1,536 x 24,576 + 7,168 x 576 + 512 + 512 x 128 x 256 +
  // 16,384 x 7,168 = 187,107,328; two norms 14,336. Dense: 3 x 7,168 x 18,432 = 396,361,728: 3
  // blocks 1,750,450,176. Mixture: router 1,835,008, 257 experts of 44,040,192 = 11,318,329,344: 58
  // blocks 667,422,588,928. Tokens and head 926,679,040 each, norm 7,168. (The checkpoint also has
  // a balancing bias for each expert of 58 routers, 14,848, which no token is multiplied with.)
  CHECK(llm::parameters(m).total == 1750450176 + 667422588928 + 2.0 * 926679040 + 7168);
  CHECK(llm::kv_cache_bytes(m, 1, 1) == 61 * 576 * 2);
  // Prefill multiplies heads of 192 and 128, decode the latents: 576 and 512.
  CHECK(llm::scores(m, llm::prefill(1, 1)).flops == 2 * 128 * 192);
  CHECK(llm::scores(m, llm::decode(1, 0)).flops == 2 * 128 * 576);
  CHECK(llm::values(m, llm::decode(1, 0)).flops == 2 * 128 * 512);
  CHECK(llm::attention(m, llm::decode(1, 99)).kv_bytes == 100 * 576 * 2);
}

TEST_CASE("DeepSeek-V4-Flash as torchtitan counts it") {
  model const m = deepseek_v4_flash();
  CHECK(llm::parameters(m).total == 290942278866);
  // 6N + 12LHQT over the windows and the compressed keys, 6 for the indexer. Multi-token prediction
  // runs the head once more, and one product of width x width for each of three more streams.
  CHECK(llm::training_flops(m, 4096, llm::full_square) == 92762352876);
  // The same passes of the parts, and of what is done again.
  model without = m;
  without.predicted = 0;
  double const again = 129280.0 * 4096 + 3 * 4096.0 * 4096;
  pass const p = llm::training(2, 1000);
  CHECK(llm::forward(m, p).flops - llm::forward(without, p).flops == 2 * 2000 * again);
  CHECK(llm::step(m, p).flops - llm::step(without, p).flops ==
        3 * (2 * 2000 * again + llm::loss(m, p).flops));
  for (llm::convention const& c : {llm::full_square, llm::without_head(llm::full_square)}) {
    double const more = c.head ? again : 3 * 4096.0 * 4096;
    CHECK(llm::training_flops(m, 4096, c) - llm::training_flops(without, 4096, c) == 6 * more);
    CHECK(llm::hardware_flops(m, 4096, c, llm::recomputation::full) -
              llm::hardware_flops(without, 4096, c, llm::recomputation::full) ==
          6 * more);
  }
}

TEST_CASE("parts add up to the whole, and a whole moves no more than its parts") {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    model const m = some_model(random);
    pass const p = some_pass(random);
    cost whole = llm::embedding(m, p) + llm::norm(m, p) + llm::head(m, p);
    for (int kind = 0; kind < 4; ++kind) {
      llm::layer const& l = m.kinds[kind];
      if (l.count <= 0) continue;
      cost const parts = llm::qkv(m, p, kind) + llm::rope(m, p, kind) + llm::scores(m, p, kind) +
                         llm::softmax(m, p, kind) + llm::values(m, p, kind) +
                         llm::output(m, p, kind);
      cost const attention = llm::attention(m, p, kind);
      CHECK(attention.flops == doctest::Approx(parts.flops).epsilon(1e-12));  // fused on arm64
      CHECK(attention.weight_bytes == doctest::Approx(parts.weight_bytes).epsilon(1e-12));
      CHECK(attention.bytes() <= parts.bytes());
      cost const feed = llm::router(m, p, kind) + llm::up(m, p, kind) +
                        llm::nonlinearity(m, p, kind) + llm::down(m, p, kind);
      cost const mlp = llm::mlp(m, p, kind);
      CHECK(mlp.flops == doctest::Approx(feed.flops).epsilon(1e-12));
      CHECK(mlp.weight_bytes == doctest::Approx(feed.weight_bytes).epsilon(1e-12));
      CHECK(mlp.bytes() <= feed.bytes());
      cost const other{2 * p.rows() * l.other, l.other * m.bits.attention / 8, 0, 0, 0};
      whole = whole +
              l.count * (2 * llm::norm(m, p) + attention + mlp + 2 * llm::residual(m, p) + other);
    }
    CHECK(same(llm::forward(m, p), whole));
    cost const trained = whole + llm::loss(m, p);
    CHECK(same(llm::step(m, p), 3 * trained));
    CHECK(llm::step(m, p, llm::recomputation::full).flops >
          llm::step(m, p, llm::recomputation::selective).flops);
    CHECK(llm::step(m, p, llm::recomputation::selective).flops > 3 * trained.flops);
  }
}

TEST_CASE("backward is twice the forward of each product") {
  model const m = llama3_8b();
  pass const p = llm::training(2, 128);
  for (cost const& c : {llm::qkv(m, p), llm::output(m, p), llm::up(m, p), llm::down(m, p)}) {
    CHECK(llm::backward(c).flops == 2 * c.flops);
    CHECK(llm::backward(c).bytes() == 2 * c.bytes());
  }
}

TEST_CASE("token by token is the prompt at once") {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    model const m = some_model(random);
    int const tokens = static_cast<int>(1 + random() % 200);
    for (int kind = 0; kind < 4; ++kind) {
      if (m.kinds[kind].count <= 0) continue;
      auto const linear = [&](pass const& p) {
        return llm::qkv(m, p, kind).flops + llm::output(m, p, kind).flops +
               llm::mlp(m, p, kind).flops + llm::rope(m, p, kind).flops;
      };
      double one_by_one = 0, pairs = 0;
      for (int past = 0; past < tokens; ++past) {
        pass p = llm::decode(3, past);
        p.absorbed = false;
        one_by_one += linear(p);
        pairs += llm::scores(m, p, kind).flops;
      }
      pass const at_once = llm::prefill(3, tokens);
      CHECK(one_by_one == doctest::Approx(linear(at_once)).epsilon(1e-12));
      CHECK(pairs == doctest::Approx(llm::scores(m, at_once, kind).flops).epsilon(1e-9));
    }
  }
}

TEST_CASE("a mixture reads the experts that its tokens chose") {
  model const m = qwen3_30b_a3b();
  double const expert = 3 * 2048 * 768 * 2, router = 128 * 2048 * 4;
  CHECK(llm::mlp(m, llm::decode(1, 10)).weight_bytes == 8 * expert + router);
  // 16 tokens that choose 8 of 128 each: 128 (1 - (15/16)^16) = 82.423.
  double const distinct = 128 * (1 - std::pow(15.0 / 16, 16));
  CHECK(distinct == doctest::Approx(82.423).epsilon(1e-5));
  CHECK(llm::mlp(m, llm::decode(16, 10)).weight_bytes ==
        doctest::Approx(distinct * expert + router));
  CHECK(llm::experts(m, llm::prefill(1, 4096)).weight_bytes == doctest::Approx(128 * expert));
  CHECK(llm::experts(m, llm::prefill(1, 1e18)).weight_bytes == 128 * expert);
  CHECK(llm::experts(m, llm::decode(1, 10)).weight_bytes == 8 * expert);
  pass measured = llm::decode(16, 10);
  measured.experts_read = 71.5;  // the mean of the layers
  CHECK(llm::mlp(m, measured).weight_bytes == 71.5 * expert + router);
  CHECK(llm::mlp(m, measured).flops == llm::mlp(m, llm::decode(16, 10)).flops);
}

TEST_CASE("Mixtral 8x7B by hand: the experts that four tokens are expected to choose") {
  model m = llama3(32, 4096, 32, 14336);
  m.vocabulary = 32000;
  m.kinds[0].experts = 8;
  m.kinds[0].active = 2;
  // An expert 3 x 4,096 x 14,336 x 2 B = 352,321,536 B. 8 (1 - 0.75^2) = 3.5 and
  // 8 (1 - 0.75^4) = 5.46875 of them.
  CHECK(llm::experts(m, llm::decode(1, 10)).weight_bytes == 2 * 352321536.0);
  CHECK(llm::experts(m, llm::decode(2, 10)).weight_bytes == 3.5 * 352321536.0);
  CHECK(llm::experts(m, llm::decode(4, 10)).weight_bytes == 5.46875 * 352321536.0);
  CHECK(llm::experts(m, llm::decode(2, 10)).weight_bytes <
        llm::experts(m, llm::decode(2.5, 10)).weight_bytes);
  // 32 blocks: experts 61,656,268,800 B; Q and output 2 x 33,554,432 B, K and V 2 x 8,388,608 B,
  // together 2,684,354,560 B; head 262,144,000 B: 64.60 GB. Routers, norms and the rows of four
  // tokens are less than 0.01 GB.
  CHECK(llm::forward(m, llm::decode(4, 10)).weight_bytes / 1e9 ==
        doctest::Approx(64.60).epsilon(2e-4));
}

TEST_CASE("activations as Korthikanti et al. count them") {
  model m = gpt2_124m();
  m.bits = llm::uniform(16);
  double const s = 1024, b = 4, h = 768, a = 12;
  pass const p = all_keys(llm::training(b, s));
  using again = llm::recomputation;
  CHECK(llm::kept_activation_bytes(m, p, 0, again::none, true) == s * b * h * (34 + 5 * a * s / h));
  CHECK(llm::kept_activation_bytes(m, p, 0, again::selective, true) == 34 * s * b * h);
  CHECK(llm::kept_activation_bytes(m, p, 0, again::full, true) == 2 * s * b * h);
  // Without dropout its masks go: 2 sbh, and 3 of the 5 bytes of a score.
  CHECK(llm::kept_activation_bytes(m, p, 0, again::none, false) ==
        s * b * h * (32 + 2 * a * s / h));
  // The ends: 4 sbh (1 + v / h), with logits in 32 bits.
  m.bits.logits = 32;
  double const all = llm::memory(m, p, {}, again::full).activations;
  CHECK(all == 12 * 2 * s * b * h + 4 * s * b * h * (1 + 50257 / h));
}

TEST_CASE("ratios bear their convention and their denominator") {
  model const m = gpt2_124m();
  llm::peak const a100{312e12, "bf16 dense", false};
  // 855,166,464 x 100,000 tokens/s of 312 TFLOP/s.
  auto const used = llm::mfu(m, 1024, 1e5, 1, llm::full_square, a100);
  CHECK(used.value == doctest::Approx(855166464e5 / 312e12));
  CHECK(words(used) == std::string("MFU 27.4 % (6N + 12LHQT, with head; of 312 "
                                   "TFLOP/s, bf16 dense, data sheet)"));
  // 6 x 85,056,000 and half of the attention, 566,959,104.
  auto const bare = llm::mfu(m, 1024, 1e5, 1, without_head(llm::causal_half), a100);
  CHECK(words(bare) == std::string("MFU 18.2 % (6N + 6LHQT, without head; of 312 "
                                   "TFLOP/s, bf16 dense, data sheet)"));
  // Blocks again: 2 x 85,054,464 and a third of the attention.
  auto const done = llm::hfu(m, 1024, 1e5, 1, llm::full_square, llm::recomputation::full, a100);
  CHECK(done.value == doctest::Approx((855166464 + 2 * 85054464 + 113246208 / 3) * 1e5 / 312e12));
  CHECK(llm::hardware_flops(m, 1024, llm::full_square, llm::recomputation::selective) ==
        855166464 + 113246208 / 3);
  CHECK(llm::hardware_flops(m, 1024, llm::full_square, llm::recomputation::none) == 855166464);
  // Databricks' example: 14 GB in 14 ms of 2 TB/s.
  auto const moved = llm::mbu({0, 14e9, 0, 1e9, 0}, 0.014, {2e12, "HBM", true});
  CHECK(moved.value == doctest::Approx(0.5));
  CHECK(words(moved) == std::string("MBU 50.0 % (weights + KV; of 2000 GB/s, HBM, measured)"));
  auto const weightless = llm::mbu({0, 0, 14e9, 1e9, 0}, 0.014, {2e12, "HBM", true});
  CHECK(words(weightless) ==
        std::string("MBU 50.0 % (0 bytes of weights + KV; of 2000 GB/s, HBM, measured): is `bits` "
                    "0, as of a name that llm::bits does not know?"));
  auto const wrong = llm::mfu(m, 1024, 1e6, 1, llm::full_square, a100);
  CHECK(words(wrong).find("above the peak") != std::string::npos);
}

TEST_CASE("a cost is an attribute of a range") {
  strata::detail::range_attributes all;
  cost const c{10, 4, 2, 1, 0};
  c.apply(all);
  CHECK(all.record.flops == 10);
  CHECK(all.record.bytes == 7);
  CHECK_FALSE(all.refused);
  static_assert(llm::norm(gpt2_124m(), llm::training(1, 1)).flops == 7 * 768, "at compile time");
}

}  // namespace llm_test
