// Sums by range and kernel within a budget: what finds no room joins others, and nothing is lost.
#include <doctest/doctest.h>

#include <strata/profile/device_summing.hpp>
#include <strata/profile/overflow_names.hpp>

#include <cstdint>

namespace device_summing_test {

using namespace strata;

namespace {

constexpr std::uint32_t other_names = 1;
constexpr std::uint32_t nodes = 200;
constexpr std::uint32_t names = 60;

/// Each of the names twice in each of the nodes, with durations over many octaves.
device_sums sum_within(std::int64_t limit, detail::summing_losses& losses,
                       detail::memory_budget& budget) {
  device_sums sums;
  budget.set(limit);
  detail::device_summing summing(sums, &budget, other_names);
  for (std::uint32_t node = 1; node < nodes; ++node) summing.add_node(root_node, node);
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t node = 1; node < nodes; ++node) {
      for (std::uint32_t name = 2; name < 2 + names; ++name) {
        kernel_record kernel{};
        kernel.captured_by = no_node;
        kernel.node = node;
        kernel.name = name;
        kernel.begin = 1'000;
        kernel.end = 1'000 + (std::int64_t{100} << (round * 10 + name % 8));
        summing.add(kernel);
      }
    }
  }
  for (std::uint64_t address = 1; address <= 20'000; ++address) {
    memory_record made{};
    made.address = 512 * address;
    made.bytes = 512;
    made.allocates = 1;
    made.kind = memory_kind::device;
    summing.add(made);
  }
  summing.finish(1.0);
  losses = summing.losses();
  return sums;
}

struct totals {
  std::uint64_t kernels = 0;
  double ns = 0.0;
  std::uint64_t of_others = 0;
};

totals total_of(device_sums const& sums) {
  totals made;
  for (kernel_sums const& kernel : sums.kernels) {
    made.kernels += kernel.count;
    made.ns += kernel.duration.sum();
    made.of_others += kernel.name == other_names ? kernel.count : 0;
  }
  return made;
}

}  // namespace

TEST_CASE("kernels beyond the budget share a name, in their range or in none; no total changes") {
  detail::memory_budget budget;
  detail::summing_losses losses;
  totals const whole = total_of(sum_within(std::int64_t{1} << 30, losses, budget));
  CHECK(whole.kernels == 2 * (nodes - 1) * names);
  CHECK(whole.of_others == 0);
  CHECK(losses.kernels_merged == 0);
  CHECK(losses.histograms_coarse == 0);
  CHECK(losses.allocations_dropped == 0);

  constexpr std::int64_t limit = std::int64_t{1} << 20;
  device_sums const less = sum_within(limit, losses, budget);
  totals const merged = total_of(less);
  CHECK(merged.kernels == whole.kernels);
  CHECK(merged.ns == whole.ns);
  CHECK(merged.of_others > 0);
  CHECK(merged.of_others == losses.kernels_merged);
  CHECK(losses.histograms_coarse > 0);
  CHECK(losses.allocations_dropped > 0);
  CHECK(budget.used() <= limit);
  std::uint64_t kernels = 0;
  std::uint64_t bytes = 0;
  bool own_stand_ins = false;
  bool common_stand_in = false;
  for (device_work const& work : less.nodes) {
    kernels += work.kernels;
    bytes += work.allocated_bytes;
  }
  for (kernel_sums const& kernel : less.kernels) {
    if (kernel.name != other_names) continue;
    bool const is_common = kernel.node == root_node;
    common_stand_in = common_stand_in || is_common;
    own_stand_ins = own_stand_ins || !is_common;
  }
  CHECK(kernels == whole.kernels);
  CHECK(bytes == 20'000 * 512);
  CHECK(less.nodes[1].kernels == 2 * names);
  CHECK(own_stand_ins);
  CHECK(common_stand_in);
}

}  // namespace device_summing_test
