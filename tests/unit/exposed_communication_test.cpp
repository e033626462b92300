// The time in which collectives run on a device and no other kernel does, compared with a slow
// reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>
#include <vector>
#include "analyse/steps.hpp"

#include "finding_sample.hpp"

namespace exposed_communication_test {

using finding_test::program;
using finding_test::us;
using sample::random_numbers;
using strata::kernel_record;

namespace {

struct interval {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t device;
  bool is_collective;
  std::uint32_t step;
};

/// Every moment by itself: the mean of the steps but the first, of the profile's own intervals.
/// `begin` of all is a whole number of `grain`.
double exposed_by_hand(std::vector<interval> const& all, std::uint32_t steps, std::int64_t grain) {
  std::int64_t last = 0;
  for (interval const& each : all) last = std::max(last, each.end);
  std::uint64_t exposed = 0;
  for (std::int64_t t = 0; t < last; t += grain) {
    bool any = false;
    for (std::uint32_t device = 0; device < 4; ++device) {
      bool sends = false;
      bool computes = false;
      for (interval const& each : all) {
        if (each.device != device || t < each.begin || t >= each.end) continue;
        sends = sends || (each.is_collective && each.step != 0);
        computes = computes || !each.is_collective;
      }
      any = any || (sends && !computes);
    }
    if (any) exposed += static_cast<std::uint64_t>(grain);
  }
  return static_cast<double>(exposed) / (steps - 1);
}

double exposed_of(strata::profile const& made) {
  strata::call_tree const folded(made, strata::folding::by_name);
  strata::call_tree const tree(made);
  strata::step_analysis const steps = strata::make_steps(made, folded, tree.rows());
  REQUIRE(steps.without_first);
  double sum = 0.0;
  for (strata::collective_time const& each : steps.collectives) sum += each.alone_ns;
  return sum;
}

}  // namespace

TEST_CASE("exposed communication is what the intervals of a profile give") {
  constexpr std::int64_t grain = 100;
  constexpr std::uint32_t steps = 4;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    CAPTURE(seed);
    random_numbers numbers(seed);
    std::uint32_t const devices = 1 + numbers.below(3);
    program p;
    p.made.kernel_names.push_back({"_ZN4vllm26cross_device_reduce_2stageIfLi8EEEvv"});
    std::vector<std::uint32_t> nodes = {p.attention, p.mlp, p.other};
    for (int i = 0; i < 20; ++i) nodes.push_back(p.node(0, "layer " + std::string(1, 'a' + i)));
    std::vector<interval> all;
    p.run(steps, [&] {
      std::int64_t const base = p.step * 40'000 + 2'000'000;
      for (std::uint32_t i = 0, count = 5 + numbers.below(40); i < count; ++i) {
        bool const is_collective = numbers.below(3) != 0;
        std::uint32_t const device = numbers.below(devices);
        std::int64_t const begin = base + grain * numbers.below(200);
        std::int64_t const end = begin + grain * (1 + numbers.below(is_collective ? 60 : 40));
        p.in(nodes[numbers.below(static_cast<std::uint32_t>(nodes.size()))], [&](std::uint32_t at) {
          kernel_record& kernel = p.kernel_of(at, 100, 24, 7 + numbers.below(3));
          kernel.begin = begin;
          kernel.end = end;
          kernel.device = static_cast<std::uint16_t>(device);
          kernel.name = is_collective ? 2 : 1;
        });
        all.push_back({begin, end, device, is_collective, p.step});
      }
      p.now += p.step == 0 ? 10'000 * us : 100 * us;  // the first step is apart
    });
    CHECK(exposed_of(p.made) == doctest::Approx(exposed_by_hand(all, steps, grain)).epsilon(1e-9));
  }
}

TEST_CASE("exposed-communication counts what each of many ranges has little of") {
  constexpr int layers = 1000;
  program p;
  p.made.kernel_names.push_back({"ncclDevKernel_AllGather_RING_LL"});
  std::vector<std::uint32_t> nodes;
  for (int i = 0; i < layers; ++i)
    nodes.push_back(p.node(0, "layer of " + std::to_string(i) + "th"));
  p.run(4, [&] {
    for (std::uint32_t const node : nodes)
      p.in(node, [&](std::uint32_t at) {
        p.kernel_of(at, 8 * us);
        p.kernel_of(at, 1 * us, 24, 20).name = 2;
      });
    p.wait();
  });
  finding_test::answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.find("exposed-communication") != nullptr);
  CHECK(a.find("exposed-communication")->cost_ns_per_step ==
        doctest::Approx(layers * us).epsilon(0.001));
}

TEST_CASE("exposed-communication: what another GPU computes meanwhile hides nothing") {
  program p;
  p.made.kernel_names.push_back({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL"});
  p.run(4, [&] {
    std::int64_t begin = 0;
    p.in(p.mlp, [&](std::uint32_t at) {
      kernel_record& kernel = p.kernel_of(at, 800 * us);
      kernel.device = 1;
      begin = kernel.begin;
    });
    p.in(p.attention, [&](std::uint32_t at) {
      kernel_record& kernel = p.kernel_of(at, 500 * us);
      kernel.name = 2;
      kernel.begin = begin;
      kernel.end = begin + 500 * us;
    });
    p.wait();
  });
  finding_test::answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.find("exposed-communication") != nullptr);
  CHECK(a.find("exposed-communication")->cost_ns_per_step == doctest::Approx(500 * us));
}

}  // namespace exposed_communication_test
