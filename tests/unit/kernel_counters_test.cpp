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
using strata::detail::kernel_launches;
using strata::detail::launch_shape;

namespace {

launch_shape const one_block{{1, 1, 1}, {32, 1, 1}};
launch_shape const two_blocks{{2, 1, 1}, {32, 1, 1}};

/// The node of `outer/inner`, made by a listener that only counts.
std::uint32_t node_of(char const* outer, char const* inner) {
  detail::recorder_state& state = detail::recorder::instance().state();
  std::uint32_t const parent =
      state.nodes.child(root_node, state.names.intern(outer, outer), no_index);
  return state.nodes.child(parent, state.names.intern(inner, inner), no_index);
}

}  // namespace

TEST_CASE("kernels belong to ranges that match, or lie below one") {
  std::uint32_t const inner = node_of("attention", "softmax");
  std::uint32_t const other = node_of("mlp", "gelu");
  kernel_launches chosen;
  chosen.choose({"att*"});
  CHECK(chosen.add(inner, "a", one_block) == 0);
  CHECK(chosen.add(other, "b", one_block) == kernel_launches::not_chosen);
  CHECK(chosen.add(root_node, "c", one_block) == kernel_launches::not_chosen);
  CHECK(chosen.add(1'000'000, "d", one_block) == kernel_launches::not_chosen);
  CHECK(chosen.add(node_of("attention", "made later"), "a", one_block) == 1);
  for (char const* everything : {"all", "*"}) {
    kernel_launches all;
    all.choose({everything});
    CHECK(all.add(root_node, "c", one_block) == 0);
    CHECK(all.add(other, "b", one_block) == 1);
  }
}

TEST_CASE("a kernel is another one by range, name, grid or block, but not by a range's index") {
  detail::recorder_state& state = detail::recorder::instance().state();
  std::uint32_t const name = state.names.intern("layer", "layer");
  std::uint32_t const first = state.nodes.child(root_node, name, 0);
  std::uint32_t const second = state.nodes.child(root_node, name, 1);
  kernel_launches chosen;
  chosen.choose({"layer"});
  CHECK(chosen.add(first, "a", one_block) == 0);
  CHECK(chosen.add(second, "a", one_block) == 0);
  CHECK(chosen.add(first, "a", two_blocks) == 1);
  CHECK(chosen.add(first, "a", {{1, 1, 1}, {64, 1, 1}}) == 2);
  CHECK(chosen.add(first, "b", one_block) == 3);
  CHECK(chosen.launches_of(0) == 2);
  CHECK(chosen.launches() == 5);
  chosen.begin_pass();
  CHECK(chosen.launches_of(0) == 0);
  CHECK(chosen.size() == 4);
}

TEST_CASE("a launch that was counted stands for those of other indices") {
  detail::recorder_state& state = detail::recorder::instance().state();
  std::uint32_t const name = state.names.intern("layer", "layer");
  kernel_launches chosen;
  chosen.choose({"layer"});
  for (std::int64_t i = 0; i < 3; ++i)
    chosen.add(state.nodes.child(root_node, name, i), "a", one_block);
  chosen.end_pass();
  profile p;
  chosen.copy_to(p, {"dram__bytes.sum"}, {{0, 0, 20}}, {2});
  counter_set const& set = p.counters(counter_set::gpu_kernels);
  REQUIRE(set.kernels.size() == 3);
  for (counted_kernel const& each : set.kernels) {
    CHECK(each.launches_max == 1);
    CHECK(each.values == vec<double>{10});
  }
  CHECK(set.kernels[2].node == state.nodes.child(root_node, name, 2));
}

TEST_CASE("counted launches stand for the others of their kernel") {
  std::uint32_t const inner = node_of("attention", "softmax");
  kernel_launches chosen;
  chosen.choose({"softmax"});
  for (int pass = 0; pass < 2; ++pass) {
    chosen.begin_pass();
    for (int i = 0; i < 4; ++i) CHECK(chosen.add(inner, "a", one_block) == 0);
    for (int i = 0; i < 1 + pass; ++i) CHECK(chosen.add(inner, "b", one_block) == 1);
    chosen.end_pass();
  }
  profile p;
  p.kernel_names.push_back({"b"});
  chosen.copy_to(p, {"dram__bytes.sum", "lts__t_bytes.sum", "dram__bytes.sum.peak_sustained"},
                 {{0, 0, 10}, {0, 2, 8}, {1, 0, 5}}, {1, 1, 1});
  counter_set const& set = p.counters(counter_set::gpu_kernels);
  REQUIRE(set.kernels.size() == 2);
  REQUIRE(set.names.size() == 3);
  counted_kernel const& a = set.kernels[0];
  CHECK(p.kernel_names[a.name - 1].mangled == "a");
  CHECK(a.node == inner);
  CHECK(a.launches_min == 4);
  CHECK(a.launches_max == 4);
  CHECK(a.values[0] == 40);  // of one launch of four
  CHECK(std::isnan(a.values[1]));
  CHECK(a.values[2] == 8);  // a constant
  counted_kernel const& b = set.kernels[1];
  CHECK(b.name == 1);
  CHECK(b.launches_min == 1);
  CHECK(b.launches_max == 2);
  CHECK(b.values[0] == 10);
  CHECK(std::isnan(b.values[1]));
}

TEST_CASE("the turn of a launch is the thread's until it ends, and nobody waits for what is over") {
  detail::launch_turn turn;
  CHECK_FALSE(turn.is_own());
  CHECK_FALSE(turn.take([] { return false; }));
  CHECK_FALSE(turn.is_own());
  CHECK(turn.take([] { return true; }));
  CHECK(turn.is_own());
  CHECK(turn.take([] { return true; }));  // a launch within a launch
  turn.end();
  CHECK_FALSE(turn.is_own());
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

TEST_CASE("counts of launches that are longer than most stand for these by their durations") {
  constexpr double us = 1e3;
  double const unknown = std::numeric_limits<double>::quiet_NaN();
  // Counting adds 20 us to each kernel; the last one runs at another clock then.
  vec<double> const factors = detail::count_factors({{25 * us, 5 * us, false},
                                                     {35 * us, 12 * us, true},
                                                     {420 * us, 40 * us, true},
                                                     {60 * us, 40 * us, false},
                                                     {80 * us, 600 * us, true},
                                                     {26 * us, 600 * us, true},
                                                     {unknown, 40 * us, true},
                                                     {1100 * us, 1300 * us, false},
                                                     {1420 * us, 1000 * us, true}});
  CHECK(factors[0] == 1.0);
  CHECK(factors[1] == 1.0);
  CHECK(factors[2] == doctest::Approx(0.1));
  CHECK(factors[3] == 1.0);
  CHECK(factors[4] == doctest::Approx(10.0));
  CHECK(std::isnan(factors[5]));
  CHECK(factors[6] == 1.0);  // what was not counted has no value anyway
  CHECK(factors[7] == 1.0);
  CHECK(factors[8] == 1.0);
  CHECK(detail::cupti_overhead_ns({{5 * us, 40 * us, false}}) == 10 * us);
  CHECK(detail::cupti_overhead_ns({{90 * us, 40 * us, false}}) == 40 * us);
  CHECK(detail::cupti_overhead_ns({{5 * us, 40 * us, true}}) == 20 * us);
  CHECK(detail::count_factors({}).empty());

  counter_sample s("time_ns+hbm_bytes");
  s.made.kernel_names = {{"product"}};
  for (std::int64_t const ns : {90'000, 10'000, 10'000, 10'000})
    s.kernel(s.launch(s.attention0, 0, 1), 0, ns).name = 1;
  counter_set counted = s.counted();
  counted.name = counter_set::gpu_kernels;
  counted.values.clear();
  vec<double> values(counted.names.size(), 4e6);
  values[counted.names.index_of(detail::counted_time)] = 4 * 110e3;  // the first one, for all
  counted.kernels = {{s.attention0, 1, 4, 4, values}};
  s.made.counter_sets.push_back(counted);
  call_tree const tree(s.made);
  auto const rows = make_kernel_table(s.made, tree);
  auto const table = make_kernel_counter_table(s.made, tree, rows);
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row].mangled == "product")
      CHECK(table.at(row, "time_ns") == doctest::Approx(4 * 110e3 * 30 / 90));
}

}  // namespace kernel_counters_test
