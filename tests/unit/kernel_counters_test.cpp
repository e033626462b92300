#include <doctest/doctest.h>
#include <strata/collect/counters/kernel_counters.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/kernel_table.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "counter_sample.hpp"

namespace kernel_counters_test {

using namespace counter_test;
using strata::detail::kernel_regions;

namespace {

char const* const mark = kernel_regions::mark;

/// A thread in ranges that launches kernels by name.
struct choice {
  kernel_regions regions;
  detail::recorder& recorder = detail::recorder::instance();
  detail::thread_recorder* own = recorder.of_this_thread();

  explicit choice(vec<std::string> const& patterns) { regions.choose(patterns); }

  void launch(std::uint32_t node, char const* kernel, api_kind kind = api_kind::launch,
              std::uint32_t warps = 1) {
    detail::cupti::launch_kernel_params params{nullptr, {warps, 1, 1}, {32, 1, 1}, 0, nullptr};
    detail::cupti::api_data call{};
    call.function_params = &params;
    call.function_name = "cuLaunchKernel";
    call.symbol_name = kernel;
    regions.enter(node, regions.contains(node));
    regions.add(kind, call);
  }
};

/// The node of `outer/inner`, made by a listener that only counts.
std::uint32_t node_of(char const* outer, char const* inner) {
  detail::recorder_state& state = detail::recorder::instance().state();
  std::uint32_t const parent =
      state.nodes.child(root_node, state.names.intern(outer, outer), no_index);
  return state.nodes.child(parent, state.names.intern(inner, inner), no_index);
}

}  // namespace

TEST_CASE("kernels belong to regions that match, or lie below one") {
  std::uint32_t const inner = node_of("attention", "softmax");
  std::uint32_t const other = node_of("mlp", "gelu");
  choice f({"att*"});
  CHECK(f.regions.contains(inner));
  CHECK_FALSE(f.regions.contains(other));
  CHECK_FALSE(f.regions.contains(root_node));
  CHECK_FALSE(f.regions.contains(1'000'000));
  f.regions.begin(f.own);
  f.launch(inner, "a");
  f.launch(other, "b");
  f.launch(inner, "c", api_kind::copy);  // no kernel
  f.regions.end();
  CHECK(f.regions.take({mark}, {{1}}).ok());  // a
  CHECK(f.regions.contains(node_of("attention", "made later")));
}

TEST_CASE("sums by range and kernel, the largest of maxima") {
  std::uint32_t const inner = node_of("attention", "softmax");
  choice f({"softmax"});
  f.regions.begin(f.own);
  for (char const* kernel : {"a", "b", "a"}) f.launch(inner, kernel);
  f.regions.end();
  f.launch(inner, "late");
  vec<std::string> const names{"dram__bytes.sum", "dram__bytes.sum.peak_sustained", mark};
  REQUIRE(f.regions.take(names, {{1, 8, 1}, {10, 8, 1}, {2, 8, 1}}).ok());
  // A second step counts other metrics and launches one more.
  f.regions.begin(f.own);
  for (char const* kernel : {"a", "b", "a", "b"}) f.launch(inner, kernel);
  REQUIRE(f.regions.take({"l1tex__t_sectors.sum", mark}, {{3, 1}, {4, 1}, {5, 1}, {6, 1}}).ok());
  profile p;
  p.kernel_names.push_back({"b"});
  f.regions.copy_to(p);
  REQUIRE(p.counters(counter_set::gpu_kernels).kernels.size() == 2);
  REQUIRE(p.counters(counter_set::gpu_kernels).names.size() == 5);
  counted_kernel const& a = p.counters(counter_set::gpu_kernels).kernels[0];
  CHECK(p.kernel_names[a.name - 1].mangled == "a");
  CHECK(a.node == inner);
  CHECK(a.launches_min == 2);
  CHECK(a.launches_max == 2);
  CHECK(a.values == vec<double>{3, 8, 2, 8, 2});
  counted_kernel const& b = p.counters(counter_set::gpu_kernels).kernels[1];
  CHECK(b.name == 1);
  CHECK(b.launches_min == 1);
  CHECK(b.launches_max == 2);
}

TEST_CASE("CUPTI's own kernels are told by their size") {
  std::uint32_t const inner = node_of("attention", "softmax");
  for (std::size_t own : {0u, 1u, 2u}) {
    choice f({"softmax"});
    f.regions.begin(f.own);
    f.launch(inner, "a", api_kind::launch, 64);
    f.launch(inner, "b", api_kind::launch, 8);
    vec<vec<double>> kernels{{5, 64}, {7, 8}};
    kernels.insert(kernels.begin() + static_cast<std::ptrdiff_t>(own), {99, 1});
    REQUIRE(f.regions.take({"dram__bytes.sum", mark}, kernels).ok());
    profile p;
    f.regions.copy_to(p);
    REQUIRE(p.counters(counter_set::gpu_kernels).kernels.size() == 2);
    CHECK(p.counters(counter_set::gpu_kernels).kernels[0].values[0] == 5);
    CHECK(p.counters(counter_set::gpu_kernels).kernels[1].values[0] == 7);
  }
}

TEST_CASE("what was launched outside of the regions may be counted too, and is left out") {
  std::uint32_t const inner = node_of("attention", "softmax");
  std::uint32_t const other = node_of("mlp", "gelu");
  choice f({"softmax"});
  f.regions.begin(f.own);
  f.launch(other, "x", api_kind::launch, 8);
  f.launch(inner, "a", api_kind::launch, 8);
  REQUIRE(f.regions.take({"dram__bytes.sum", mark}, {{1, 8}, {2, 8}}).ok());
  profile p;
  f.regions.copy_to(p);
  REQUIRE(p.counters(counter_set::gpu_kernels).kernels.size() == 1);
  CHECK(p.counters(counter_set::gpu_kernels).kernels[0].values[0] == 2);
}

TEST_CASE("what cannot be joined is refused and said") {
  std::uint32_t const inner = node_of("attention", "softmax");
  choice f({"softmax"});
  f.regions.begin(f.own);
  f.launch(inner, "a");
  status const uncertain = f.regions.take({"dram__bytes.sum", mark}, {{1, 1}, {2, 1}});
  CHECK(uncertain.code() == errc::not_supported);
  CHECK(uncertain.message().find("2 kernels for 1 launches") != std::string::npos);
  CHECK_FALSE(f.regions.take({"dram__bytes.sum", mark}, {{1, 2}}).ok());  // of another size
  CHECK_FALSE(f.regions.take({"dram__bytes.sum", mark}, {}).ok());
  CHECK_FALSE(f.regions.take({"dram__bytes.sum"}, {{1}}).ok());  // nothing to tell it by
  f.regions.begin(f.own);
  f.launch(inner, nullptr, api_kind::graph_launch);
  CHECK_FALSE(f.regions.take({"dram__bytes.sum", mark}, {{1, 1}}).ok());
  f.regions.begin(f.own);
  detail::thread_recorder::current() = nullptr;  // another thread
  f.launch(inner, "a");
  detail::thread_recorder::current() = f.own;
  CHECK(f.regions.take({"dram__bytes.sum", mark}, {{1, 1}}).message().find("another thread") !=
        std::string::npos);
  profile p;
  f.regions.copy_to(p);
  CHECK(p.counters(counter_set::gpu_kernels).kernels.empty());
}

TEST_CASE("counted kernels stand in kernels.csv, with rates by their timed durations") {
  counter_sample s("hbm_read_bytes+hbm_write_bytes+hbm_bytes");
  s.made.kernel_names = {{"known"}, {"never_traced"}};
  std::uint32_t const correlation = s.launch(s.attention0, 0, 1);
  s.kernel(correlation, 0, 100).name = 1;
  counter_set counted = s.counted();
  counted.name = counter_set::gpu_kernels;
  counted.values.clear();
  counted.kernels = {{s.attention0, 1, 2, 2, {600, 400}}, {s.attention0, 2, 1, 1, {1, 1}}};
  s.made.counter_sets.push_back(counted);
  call_tree const tree(s.made);
  auto const rows = make_kernel_table(s.made, tree);
  auto const table = make_kernel_counter_table(s.made, tree, rows);
  CHECK(table.unknown == 1);
  std::size_t at = 0;
  while (at < rows.size() && rows[at].mangled != "known") ++at;
  REQUIRE(at < rows.size());
  CHECK(table.launches[at] == 2);
  auto const value = [&](kernel_counter_table const& from, std::string const& key) {
    for (std::size_t i = 0; i < from.metrics.size(); ++i)
      if (from.metrics[i].key == key) return from.at(at, i);
    FAIL("no metric " << key);
    return sample::not_given;
  };
  CHECK(value(table, "hbm_bytes") == 1000);
  // Two launches of 100 ns each.
  CHECK(value(table, "hbm_bytes_per_second") == doctest::Approx(1000 / 200e-9));

  call_tree const folded(s.made, folding::by_name);
  memory_table const memory = make_memory_table(s.made, tree);
  table_input input(s.made, tree, folded, rows, memory);
  auto const text_of = [&] {
    std::string text;
    detail::text_writer out(text);
    write_kernels_csv(out, input);
    out.flush();
    return text;
  };
  CHECK(text_of().find("counted_launches") == std::string::npos);
  input.kernel_counters = &table;
  std::string const text = text_of();
  CHECK(text.find(",first_step_ns,counted_launches,hbm_read_bytes,") != std::string::npos);
  CHECK(text.find(",2,600,400,1000,") != std::string::npos);

  // An optional input that the chip has, but that was not counted, is no 0.
  counter_set& again = s.made.add_counters(counter_set::gpu_kernels);
  counter_set const whole = again;
  again.metrics = resolve_metrics({"tensor_fp16", "tensor_bf16", "tensor_flop"},
                                  [](std::string const&) { return true; });
  again.names = {"sm__ops_path_tensor_src_fp16.sum", "unasked"};
  auto const partly = make_kernel_counter_table(s.made, tree, rows);
  CHECK(value(partly, "tensor_fp16") == 600);
  CHECK(std::isnan(value(partly, "tensor_flop")));
  s.made.add_counters(counter_set::gpu_kernels) = whole;

  // Steps that launched another number of them do not fit together.
  s.made.add_counters(counter_set::gpu_kernels).kernels[0].launches_min = 1;
  CHECK(std::isnan(value(make_kernel_counter_table(s.made, tree, rows), "hbm_bytes")));
}

}  // namespace kernel_counters_test
