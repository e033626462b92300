// Chains of kernels that hand each other values through device memory: what is found, what it gains
// compared with the same work done by one kernel, and programs without the fault.
#include <doctest/doctest.h>
#include "report/findings.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "finding_sample.hpp"

namespace fusion_rules_test {

using namespace strata;
using namespace finding_test;

namespace {

constexpr std::string_view rule = "kernel-fusion";
constexpr double values = 128.0 * (1 << 20);  ///< bytes of all values, far beyond L2
constexpr double reached = 0.85 * 4800.0;     ///< bytes a ns that kernels move

/// One launch: inputs and outputs in units of all values.
struct pass {
  char const* name;
  double reads;
  double writes;
};
using passes = std::vector<pass>;

/// What is known of the kernels.
enum class known { times, ranges, kernels };

/// A program of kernels that move values.
struct model : program {
  double bytes = values;
  std::uint32_t blocks = 20'000;
  std::uint32_t stream = 7;
  struct moved {
    double launches = 0.0;
    double reads = 0.0;
    double writes = 0.0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, moved> of_step;

  std::uint32_t kernel_named(std::string const& text) {
    for (std::uint32_t i = 0; i < made.kernel_names.size(); ++i)
      if (made.kernel_names[i].mangled == text) return i + 1;
    made.kernel_names.push_back({text});
    return static_cast<std::uint32_t>(made.kernel_names.size());
  }
  /// A kernel that device memory bounds; the least that a kernel takes is 2 us.
  void run_pass(std::uint32_t where, pass const& each) {
    double const all = (each.reads + each.writes) * bytes;
    take(where, each, std::max<std::int64_t>(2 * us, static_cast<std::int64_t>(all / reached)));
  }
  void take(std::uint32_t where, pass const& each, std::int64_t ns) {
    std::uint32_t const name = kernel_named(each.name);
    kernel_of(where, ns, blocks, stream).name = name;
    moved& sum = of_step[{where, name}];
    if (step != 0) return;  // all steps are alike
    sum.launches += 1.0;
    sum.reads += each.reads * bytes;
    sum.writes += each.writes * bytes;
  }
  void run_all(std::uint32_t where, passes const& all) {
    for (pass const& each : all) run_pass(where, each);
  }
  void product(std::uint32_t where, double reads = 1.0, std::int64_t ns = 300 * us) {
    take(where, {"gemm", reads, 0.2}, ns);
  }

  /// Counts what each kernel moves.
  void count_kernels() {
    counter_set& set = made.add_counters(counter_set::gpu_kernels);
    set.where = "GH100";
    set.devices = {0};
    set.metrics = resolve_metrics(expand_metrics("hbm"), [](std::string const&) { return true; });
    set.names = set.metrics.counters();
    std::size_t const read = set.names.index_of("dram__bytes_read.sum");
    std::size_t const write = set.names.index_of("dram__bytes_write.sum");
    REQUIRE(read < set.names.size());
    REQUIRE(write < set.names.size());
    for (auto const& [key, sum] : of_step) {
      auto const launches = static_cast<std::uint64_t>(sum.launches);
      counted_kernel kernel{key.first, key.second, launches, launches, {}};
      kernel.values.resize(set.names.size(), 1.0);
      kernel.values[read] = sum.reads;
      kernel.values[write] = sum.writes;
      set.kernels.push_back(kernel);
    }
  }
  /// Counts what each range moves in the time of its kernels.
  void count_ranges() {
    for (auto const& entry : of_step) count_nothing(entry.first.first);
    std::map<std::uint32_t, moved> rows;
    for (auto const& [key, sum] : of_step) {
      rows[key.first].reads += sum.reads;
      rows[key.first].writes += sum.writes;
    }
    for (auto const& [where, sum] : rows) {
      double ns = 0.0;
      for (kernel_record const& kernel : made.kernels)
        if (kernel.node == where) ns += static_cast<double>(kernel.end - kernel.begin);
      ns /= static_cast<double>(steps);
      hbm(where, (sum.reads + sum.writes) / ns / hbm_peak * ns / 1e6);
      set(where, "dram__bytes_read.sum", sum.reads);
      set(where, "dram__bytes_write.sum", sum.writes);
      set(where, "gpu__time_duration.sum", ns);
      for (char const* name :
           {"dram__cycles_elapsed.avg", "lts__cycles_elapsed.avg", "gpc__cycles_elapsed.avg"})
        set(where, name, ns);
    }
  }
  void count(known what) {
    if (what == known::kernels) count_kernels();
    if (what == known::ranges) count_ranges();
  }
};

template <class Body>
model steps_of(known what, Body const& body) {
  model p;
  p.run(6, [&] {
    body(p);
    p.wait();
  });
  p.count(what);
  return p;
}

/// The same kernels each step, between products in a range of their own.
model chain_of(passes const& all, known what) {
  return steps_of(what, [&](model& p) {
    p.in(p.mlp, [&](std::uint32_t at) { p.product(at); });
    p.in(p.attention, [&](std::uint32_t at) { p.run_all(at, all); });
    p.in(p.other, [&](std::uint32_t at) { p.product(at); });
  });
}

double mean_step(model const& p) { return answer(p.made).steps().mean_ns; }

/// The finding predicts the step of the fused program: of its gain within 15 %.
void predicts(model const& unfused, model const& fused, double within = 0.15) {
  answer const a(unfused.made);
  INFO(a.all());
  finding const* const found = a.find(rule);
  REQUIRE(found != nullptr);
  double const now = a.steps().mean_ns;
  double const then = mean_step(fused);
  INFO("now ", now, " predicted ", found->predicted_step_ns, " fused ", then);
  CHECK(now - found->predicted_step_ns == doctest::Approx(now - then).epsilon(within));
  CHECK(&a.findings()[0] == found);
}

bool is_found(model const& p) {
  answer const a(p.made);
  return a.find(rule) != nullptr;
}
void is_silent(model const& p) {
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find(rule) == nullptr);
}
std::string title_of(model const& p) {
  answer const a(p.made);
  INFO(a.all());
  finding const* const found = a.find(rule);
  REQUIRE(found != nullptr);
  return found->title;
}
bool is_open(model const& p) {
  answer const a(p.made);
  for (undecided_rule const& open : a.input.findings.undecided)
    if (open.rule == rule) return true;
  return false;
}

// 0.5 x (1 + tanh(c (x + 0.044715 x^3))), each operation a kernel.
passes const gelu_by_eight = {{"scale", 1, 1}, {"pow", 1, 1},     {"scale", 1, 1},
                              {"add", 2, 1},   {"scale", 1, 1},   {"tanh_kernel", 1, 1},
                              {"plus", 1, 1},  {"multiply", 2, 1}};
passes const rms_norm = {{"add", 2, 1},       {"square", 1, 1},
                         {"mean", 1, 0.0005}, {"rsqrt", 0.0005, 0.0005},
                         {"mul_rows", 1, 1},  {"mul", 1, 1}};

}  // namespace

TEST_CASE("kernel-fusion: GELU as eight kernels, whatever is known of them") {
  for (known const what : {known::times, known::ranges, known::kernels}) {
    CAPTURE(static_cast<int>(what));
    model const unfused = chain_of(gelu_by_eight, what);
    model const fused = chain_of({{"gelu", 1, 1}}, what);
    predicts(unfused, fused);
    is_silent(fused);
    answer(unfused.made).first_is(rule, "attention");
  }
}

TEST_CASE("kernel-fusion: counted bytes are said, and times are only what seems so") {
  model const counted = chain_of(gelu_by_eight, known::kernels);
  CHECK(
      title_of(counted) ==
      "8 kernels (scale x 3, pow, add, tanh_kernel and 2 more) pass on through device memory what "
      "one kernel would keep on the chip: 1.94 GiB of the 2.25 GiB that they move in a step");
  answer const a(counted.made);
  CHECK(a.find(rule)->needs.empty());
  model const timed = chain_of(gelu_by_eight, known::times);
  CHECK(title_of(timed).find("seem to pass on") != std::string::npos);
  answer const b(timed.made);
  CHECK(b.find(rule)->needs == "counters=memory,kernels=all");
  CHECK(text_of(b, true).find("record with counters=memory,kernels=all to learn more") !=
        std::string::npos);
}

TEST_CASE("kernel-fusion: a norm with its residual, in the parts that can be fused") {
  for (known const what : {known::times, known::kernels}) {
    model const unfused = chain_of(rms_norm, what);
    predicts(unfused, chain_of({{"add_rms_norm", 2, 2}}, what), 0.25);
    CHECK(title_of(unfused).find("mean needs all values before the rest begins") !=
          std::string::npos);
    is_silent(chain_of({{"add_rms_norm", 2, 2}}, what));
    // What follows a reduction at once is of the same chain, in another part.
    passes const parts = {
        {"add", 1, 1}, {"row_sum", 1, 0.0005}, {"divide_rows", 1, 1}, {"mul", 1, 1}};
    CHECK(title_of(chain_of(parts, what)).find("4 kernels (add, row_sum, divide_rows, mul)") == 0);
  }
}

TEST_CASE("kernel-fusion: scale, mask and softmax between two products are attention") {
  passes const scores = {{"scale", 1, 1}, {"add_mask", 2, 1}, {"softmax", 1, 1}};
  for (known const what : {known::times, known::kernels}) {
    auto const made = [what](passes const& between) {
      return steps_of(what, [&](model& p) {
        p.in(p.attention, [&](std::uint32_t at) {
          p.product(at);
          p.run_all(at, between);
          p.product(at);
        });
      });
    };
    model const unfused = made(scores);
    predicts(unfused, made({}));
    CHECK(title_of(unfused).find("stand between two products of attention") != std::string::npos);
    answer const a(unfused.made);
    CHECK(a.find(rule)->advice.find("FlashAttention") != std::string_view::npos);
    CHECK(title_of(made({{"softmax", 1, 1}})).find("1 kernel (softmax) stands between") == 0);
    is_silent(made({{"gelu", 1, 1}}));  // one kernel is no chain
    is_silent(made({}));
  }
  is_silent(chain_of({{"flash_attention", 1, 1}}, known::kernels));
}

TEST_CASE("kernel-fusion: weights made of smaller ones before each product") {
  for (known const what : {known::times, known::kernels}) {
    auto const made = [what](passes const& before, double reads) {
      return steps_of(what, [&](model& p) {
        for (std::int64_t layer = 0; layer < 4; ++layer)
          p.in(p.mlp, [&](std::uint32_t at) {
            p.run_all(at, before);
            p.product(at, reads);
          });
      });
    };
    model const unfused = made({{"dequantize_int8", 0.5, 1}, {"scale", 1, 1}}, 1);
    predicts(unfused, made({}, 0.5));
    CHECK(title_of(unfused).find("what gemm reads next, 4 times") != std::string::npos);
    predicts(made({{"int8_to_bf16", 0.5, 1}}, 1), made({}, 0.5));
    is_silent(made({}, 0.5));
  }
}

TEST_CASE("kernel-fusion: what a product reads larger than it was is seen by its bytes alone") {
  auto const made = [](double reads, double writes) {
    return steps_of(known::kernels, [&](model& p) {
      p.in(p.mlp, [&](std::uint32_t at) {
        p.run_pass(at, {"k1", reads, writes});
        p.product(at, writes);
      });
    });
  };
  CHECK(is_found(made(0.5, 1)));
  is_silent(made(1, 1));  // an activation
}

TEST_CASE("kernel-fusion: a loss of FP32 logits") {
  for (known const what : {known::times, known::kernels}) {
    auto const made = [what](passes const& loss) {
      return steps_of(what, [&](model& p) {
        p.in(p.mlp, [&](std::uint32_t at) { p.product(at); });
        p.in(p.other, [&](std::uint32_t at) { p.run_all(at, loss); });
        p.in(p.mlp, [&](std::uint32_t at) { p.product(at, 0.5); });
      });
    };
    model const unfused = made({{"cast_to_float", 0.5, 1},
                                {"log_softmax", 1, 1},
                                {"nll_loss", 0.0005, 0.00001},
                                {"softmax_backward", 2, 1},
                                {"cast_to_bf16", 1, 0.5}});
    model const fused = made({{"fused_cross_entropy", 0.5, 0.5}});
    predicts(unfused, fused, 0.25);
    answer const a(unfused.made);
    CHECK(a.find(rule)->advice.find("fused loss") != std::string_view::npos);
    is_silent(fused);
  }
}

TEST_CASE("kernel-fusion: a copy of the cache for a layout") {
  for (known const what : {known::times, known::kernels}) {
    auto const made = [what](std::size_t copies) {
      return steps_of(what, [&](model& p) {
        p.in(p.attention, [&](std::uint32_t at) {
          p.run_all(at, passes(copies, {"copy_cache", 1, 1}));
          p.take(at, {"paged_attention", 2, 0.01}, 100 * us);
        });
      });
    };
    for (std::size_t const copies : {1u, 2u, 3u}) predicts(made(copies), made(0));
    is_silent(made(0));
  }
}

TEST_CASE("kernel-fusion: a copy is of one chain, also where copies follow each other") {
  passes const all = {{"add", 1, 1}, {"copy_x", 1, 1}, {"copy_x", 1, 1}, {"copy_x", 1, 1}};
  model const p = steps_of(known::kernels, [&](model& made) {
    made.in(made.attention, [&](std::uint32_t where) {
      made.run_all(where, all);
      made.product(where, 2.0);
    });
  });
  answer const a(p.made);
  INFO(a.all());
  finding const* const found = a.find(rule);
  REQUIRE(found != nullptr);
  double kernels = 0.0;
  for (finding_evidence const& value : found->evidence)
    if (value.column == "chain_kernels") kernels += value.value;
  CHECK(kernels == 4.0);
}

TEST_CASE("kernel-fusion: an optimizer needs its passes") {
  passes const clipped = {{"grad_norm", 1, 0.0001}, {"clip_by", 0.0001, 0.0001}, {"adamw", 4, 3}};
  passes const tensors(6, {"adamw", 4, 3});
  passes const unnamed = {{"k1", 1, 0.0001}, {"k2", 4, 3}, {"k2", 4, 3}, {"k2", 4, 3}};
  for (known const what : {known::times, known::ranges, known::kernels}) {
    is_silent(chain_of(clipped, what));
    is_silent(chain_of(tensors, what));
  }
  is_silent(chain_of(unnamed, known::kernels));
}

TEST_CASE("kernel-fusion: the same kernels over and over have other values each time") {
  passes const norms(4, {"rms_norm", 1, 1});
  passes const others = {{"softmax", 1, 1}, {"layer_norm", 1, 1}};
  for (known const what : {known::times, known::ranges, known::kernels}) {
    is_silent(chain_of(norms, what));
    is_silent(chain_of(others, what));
  }
  // Of [add gelu] three times, the chain is add and gelu.
  passes const twice = {{"add", 1, 1},  {"gelu", 1, 1}, {"add", 1, 1},
                        {"gelu", 1, 1}, {"add", 1, 1},  {"gelu", 1, 1}};
  model const unfused = chain_of(twice, known::kernels);
  CHECK(title_of(unfused).find("2 kernels (add, gelu) pass on") == 0);
  predicts(unfused, chain_of(passes(3, {"add_gelu", 1, 1}), known::kernels));
}

TEST_CASE("kernel-fusion: values that stay in L2 are no traffic") {
  auto const made = [](double part, known what) {
    model p;
    p.bytes = values * part;
    p.run(6, [&] {
      for (int i = 0; i < 20; ++i)
        p.in(p.attention, [&](std::uint32_t at) {
          p.run_all(at, gelu_by_eight);
          p.product(at);
        });
      p.wait();
    });
    p.count(what);
    return p;
  };
  CHECK(is_found(made(1.0, known::times)));
  is_silent(made(0.04, known::times));
  CHECK_FALSE(is_open(made(0.04, known::times)));
  // Between the two it is not known, and the counts of kernels would tell.
  is_silent(made(0.3, known::times));
  CHECK(is_open(made(0.3, known::times)));
  CHECK(is_found(made(0.3, known::kernels)));
  // Counted: what is read did not come from device memory.
  model l2 = made(0.3, known::times);
  for (auto& each : l2.of_step) each.second.reads = 0.0;
  l2.count_kernels();
  is_silent(l2);
  CHECK_FALSE(is_open(l2));
}

TEST_CASE("kernel-fusion: kernels of other sizes are no chain") {
  for (known const what : {known::times, known::kernels}) {
    is_silent(chain_of({{"gelu", 1, 1}, {"add", 16, 16}}, what));
    is_silent(chain_of({{"add", 16, 16}, {"gelu", 1, 1}}, what));
  }
  is_silent(chain_of({{"gelu", 1, 1}, {"rope", 0.4, 0.4}}, known::kernels));
}

TEST_CASE("kernel-fusion: names that say nothing need counts") {
  passes unnamed;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gelu_by_eight.size(); ++i) names.push_back("k" + std::to_string(i));
  for (std::size_t i = 0; i < gelu_by_eight.size(); ++i)
    unnamed.push_back({names[i].c_str(), gelu_by_eight[i].reads, gelu_by_eight[i].writes});
  model const timed = chain_of(unnamed, known::times);
  is_silent(timed);
  REQUIRE(is_open(timed));
  answer const a(timed.made);
  for (undecided_rule const& open : a.input.findings.undecided)
    if (open.rule == rule) CHECK(open.needs() == "counters=memory,kernels=all");
  predicts(chain_of(unnamed, known::kernels), chain_of({{"k0", 1, 1}}, known::kernels));
  predicts(chain_of(unnamed, known::ranges), chain_of({{"k0", 1, 1}}, known::ranges));
  // Kernels next to a chain of known kernels do not belong to it.
  auto const beside = [](known what) {
    return steps_of(what, [&](model& p) {
      p.in(p.mlp, [&](std::uint32_t at) { p.take(at, {"compute", 0.01, 0.01}, 150 * us); });
      p.in(p.attention, [&](std::uint32_t at) { p.run_all(at, gelu_by_eight); });
      p.in(p.mlp, [&](std::uint32_t at) { p.take(at, {"compute", 0.01, 0.01}, 150 * us); });
    });
  };
  for (known const what : {known::times, known::ranges, known::kernels})
    CHECK(title_of(beside(what)).find("8 kernels (scale x 3") == 0);
  // Matrices times a vector, one after the other: nothing is written.
  passes vectors;
  for (std::string const& name : names) vectors.push_back({name.c_str(), 2, 0.001});
  is_silent(chain_of(vectors, known::ranges));
  is_silent(chain_of(vectors, known::kernels));
}

TEST_CASE("kernel-fusion: a range that moves little gains no more than what it writes") {
  auto const made = [](double writes) {
    model p;
    p.run(6, [&] {
      p.in(p.attention, [&](std::uint32_t at) {
        for (int i = 0; i < 4; ++i) p.product(at);
        p.run_all(at, gelu_by_eight);
      });
      p.wait();
    });
    p.count_ranges();
    p.set(p.attention, "dram__bytes_write.sum", writes * values);
    answer const a(p.made);
    finding const* const found = a.find(rule);
    return found == nullptr ? 0.0 : found->cost_ns_per_step;
  };
  double const all = made(8);
  CHECK(all > 400'000);
  CHECK(made(1) < 0.5 * all);
  CHECK(made(1) > 0.0);
  CHECK(made(0) == 0.0);
}

TEST_CASE("kernel-fusion: a chain goes through ranges, in the order of its stream") {
  auto const made = [](bool together, bool other_stream) {
    return steps_of(known::kernels, [&](model& p) {
      static std::uint32_t block = 0, one = 0, two = 0, three = 0;
      if (p.step == 0) {
        block = p.node(0, "block");
        one = p.node(block, "scale");
        two = p.node(block, "mask");
        three = p.node(block, "softmax");
      }
      p.in(block, [&](std::uint32_t) {
        p.run_pass(one, {"scale", 1, 1});
        if (other_stream) p.stream = 8;
        p.run_pass(two, {"add_mask", 1, 1});
        p.stream = 7;
        if (together) p.run_pass(three, {"softmax", 1, 1});
      });
      p.in(p.mlp, [&](std::uint32_t at) { p.product(at); });
    });
  };
  answer const a(made(true, false).made);
  finding const* const found = a.find(rule);
  REQUIRE(found != nullptr);
  CHECK(found->ranges.size() == 3);
  CHECK(found->title.find("3 kernels (scale, add_mask, softmax)") == 0);
  CHECK(is_found(made(false, false)));
  is_silent(made(false, true));
  // Two ranges that have nothing in common but the step may have values of one shape.
  is_silent(steps_of(known::kernels, [](model& p) {
    p.run_pass(p.mlp, {"gelu", 1, 1});
    p.run_pass(p.attention, {"softmax", 1, 1});
  }));
}

TEST_CASE("kernel-fusion: rows that stand for many ranges are not judged as one") {
  auto const made = [](char const* name) {
    return steps_of(known::kernels, [&](model& p) {
      static std::uint32_t at = 0;
      if (p.step == 0) at = p.node(0, name);
      p.in(at, [&](std::uint32_t where) { p.run_all(where, gelu_by_eight); });
    });
  };
  CHECK(is_found(made("gelu")));
  is_silent(made("[other ranges]"));
  // Nor is one unit what limits all of them.
  auto const limiter_of = [&](char const* name) {
    model p = made(name);
    p.count_ranges();
    answer const a(p.made);
    for (std::size_t row = 0; row < a.input.folded.size(); ++row)
      if (a.input.folded[row].name == name) return a.input.roofline.limits[row].text;
    return std::string("no row");
  };
  CHECK(limiter_of("gelu") == "HBM 85 %");
  CHECK(limiter_of("[other ranges]").empty());
  is_silent(made("[deeper]"));
}

TEST_CASE("kernel-fusion: a step that the host bounds gains the launches that go") {
  auto const made = [](passes const& all) {
    model p;
    p.bytes = values / 4;
    p.run(6, [&] {
      for (int layer = 0; layer < 10; ++layer)
        p.in(p.attention, [&](std::uint32_t at) {
          for (pass const& each : all) {
            p.run_pass(at, each);
            p.now += 25 * us;  // the host's way to the next launch
          }
        });
      p.wait();
    });
    p.count_kernels();
    return p;
  };
  model const unfused = made(gelu_by_eight);
  model const fused = made({{"gelu", 1, 1}});
  answer const a(unfused.made);
  INFO(a.all());
  finding const* const found = a.find(rule);
  REQUIRE(found != nullptr);
  INFO("now ", a.steps().mean_ns, " fused ", mean_step(fused));
  CHECK(found->predicted_step_ns == doctest::Approx(mean_step(fused)).epsilon(0.15));
}

TEST_CASE("kernel-fusion: kernels of a graph are a chain, and their launches stay") {
  auto const made = [](passes const& all) {
    model p;
    p.run(6, [&] {
      std::uint32_t const graph = p.api(p.other, 8 * us, api_kind::graph_launch);
      for (int layer = 0; layer < 3; ++layer) {
        for (pass const& each : all) {
          p.run_pass(p.other, each);
          p.made.launches.pop_back();
          --p.correlations;
          p.made.kernels.back().correlation = graph;
        }
        p.product(p.other);
        p.made.launches.pop_back();
        --p.correlations;
        p.made.kernels.back().correlation = graph;
      }
      p.wait();
    });
    return p;
  };
  model const unfused = made(gelu_by_eight);
  predicts(unfused, made({{"gelu", 1, 1}}));
  answer const a(unfused.made);
  CHECK(a.find(rule)->ranges[0].launches == 0.0);
  CHECK(a.find(rule)->needs.empty());  // graphs are counted whole
}

TEST_CASE("few-blocks: a norm of one block in a graph, though it is short") {
  auto const made = [](std::int64_t norm_ns, std::uint32_t blocks, bool in_graph) {
    program p;
    p.made.kernel_names.push_back({"layer_norm"});
    p.run(6, [&] {
      std::uint32_t graph = 0;
      if (in_graph) graph = p.api(p.other, 8 * us, api_kind::graph_launch);
      for (int layer = 0; layer < 16; ++layer)
        for (bool const norm : {true, false}) {
          kernel_record& kernel =
              norm ? p.kernel_of(p.other, norm_ns, blocks) : p.kernel_of(p.other, 30 * us);
          if (norm) kernel.name = 2;
          if (!in_graph) continue;
          kernel.correlation = graph;
          p.made.launches.pop_back();
          --p.correlations;
        }
      p.wait();
    });
    answer const a(p.made);
    finding const* const found = a.find("few-blocks");
    if (found == nullptr) return std::string();
    // Each takes 1.5 us at least, and 131 of 132 SMs idle for the rest.
    double const idle = 16.0 * static_cast<double>(norm_ns - 1500) * 131.0 / 132.0;
    CHECK(found->cost_ns_per_step == doctest::Approx(idle).epsilon(0.01));
    return found->title;
  };
  CHECK(made(8300, 1, true) == "layer_norm has 1 block for 132 SMs");
  CHECK(made(8300, 1, false).empty());
  CHECK(made(8300, 132, true).empty());
  CHECK(made(4900, 1, true).empty());
}

TEST_CASE("kernel-fusion: the order of records and of ranges changes nothing") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    sample::random_numbers random(seed);
    model p = chain_of(gelu_by_eight, known::kernels);
    answer const before(p.made);
    sample::shuffle(p.made.kernels, random);
    sample::shuffle(p.made.ranges, random);
    sample::shuffle(p.made.add_counters(counter_set::gpu_kernels).kernels, random);
    answer const after(p.made);
    REQUIRE(after.find(rule) != nullptr);
    CHECK(after.find(rule)->title == before.find(rule)->title);
    CHECK(after.find(rule)->cost_ns_per_step ==
          doctest::Approx(before.find(rule)->cost_ns_per_step));
  }
}

TEST_CASE("kernel-fusion: random kernels gain no more than they take") {
  char const* const names[] = {"add",  "gelu", "softmax", "reduce", "copy",
                               "gemm", "k1",   "adamw",   "fill",   "flash_attention"};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    sample::random_numbers random(seed);
    passes all;
    std::uint32_t const count = 1 + random.below(30);
    for (std::uint32_t i = 0; i < count; ++i)
      all.push_back({names[random.below(10)], random.below(5) * 0.5, random.below(5) * 0.5});
    known const what[] = {known::times, known::ranges, known::kernels};
    model const p = chain_of(all, what[random.below(3)]);
    answer const a(p.made);
    finding const* const found = a.find(rule);
    if (found == nullptr) continue;
    double of_chains = 0.0;
    for (kernel_record const& kernel : p.made.kernels)
      if (kernel.node == p.attention) of_chains += static_cast<double>(kernel.end - kernel.begin);
    CHECK(found->cost_ns_per_step <= of_chains / 6 * 1.001);
    CHECK(found->predicted_step_ns >= a.steps().mean_ns - of_chains / 6 * 1.2);
  }
}

}  // namespace fusion_rules_test
