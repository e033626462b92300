#include "sample_profile.hpp"

#include <strata/analyse/joins.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace strata;
using sample::maker;

namespace {

void correlate(profile& p) { detail::correlation(p).run(); }

void mark(maker& m, std::uint32_t correlation, std::uint8_t flags) {
  for (launch_record& l : m.made.launches) {
    if (l.correlation == correlation) l.flags |= flags;
  }
}

}  // namespace

TEST_CASE("work finds its call, in any order") {
  maker m;
  std::uint32_t const node = m.node(0, "a");
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(m.launch(node, i * 10, i * 10 + 5));
  std::mt19937 random(7);
  std::shuffle(ids.begin(), ids.end(), random);
  std::shuffle(m.made.launches.begin(), m.made.launches.end(), random);
  for (std::uint32_t const id : ids) m.kernel(id, 5000, 6000);
  correlate(m.made);
  CHECK(m.made.losses.uncorrelated == 0);
  CHECK(m.made.kernels.size() == 100);
  CHECK(std::is_sorted(m.made.launches.begin(), m.made.launches.end(),
                       [](launch_record const& a, launch_record const& b) {
                         return a.correlation < b.correlation;
                       }));
}

TEST_CASE("work without a call is kept and counted") {
  maker m;
  std::uint32_t const known = m.launch(m.node(0, "a"), 0, 1);
  m.kernel(known, 2, 3);
  m.kernel(known + 1000, 4, 5);
  m.kernel(0, 4, 5);
  correlate(m.made);
  CHECK(m.made.kernels.size() == 3);
  CHECK(m.made.losses.uncorrelated == 2);
}

TEST_CASE("times that the device lost are counted") {
  maker m;
  std::uint32_t const id = m.launch(m.node(0, "a"), 0, 1);
  m.kernel(id, lost_time, lost_time);
  m.kernel(id, 2, 3);
  correlate(m.made);
  CHECK(m.made.kernels.size() == 2);
  CHECK(m.made.losses.timestamps_lost == 1);
  CHECK(m.made.losses.uncorrelated == 0);
}

TEST_CASE("calls of warm-up steps and their work are left out") {
  maker m;
  std::uint32_t const node = m.node(0, "a");
  std::uint32_t const warm = m.launch(node, 0, 1);
  std::uint32_t const active = m.launch(node, 10, 11);
  mark(m, warm, launch_record::in_warmup);
  m.kernel(warm, 2, 3);
  m.kernel(active, 12, 13);
  memory_record memory{};
  memory.correlation = warm;
  m.made.memory.push_back(memory);
  memory.correlation = active;
  m.made.memory.push_back(memory);
  correlate(m.made);
  REQUIRE(m.made.launches.size() == 1);
  CHECK(m.made.launches[0].correlation == active);
  REQUIRE(m.made.kernels.size() == 1);
  CHECK(m.made.kernels[0].correlation == active);
  REQUIRE(m.made.memory.size() == 1);
  CHECK(m.made.memory[0].correlation == active);
  CHECK(m.made.losses.uncorrelated == 0);
}

TEST_CASE("a call that only captured keeps its mark; one that worked loses it") {
  maker m;
  std::uint32_t const node = m.node(0, "a");
  std::uint32_t const captured = m.launch(node, 0, 1);
  std::uint32_t const worked = m.launch(node, 2, 3);
  mark(m, captured, launch_record::in_capture);
  mark(m, worked, launch_record::in_capture);
  m.kernel(worked, 4, 5);
  correlate(m.made);
  REQUIRE(m.made.launches.size() == 2);
  CHECK(m.made.launches[0].flags == launch_record::in_capture);
  CHECK(m.made.launches[1].flags == 0);
}

TEST_CASE("nothing at all") {
  profile empty;
  correlate(empty);
  CHECK(empty.launches.empty());
  CHECK(empty.losses.uncorrelated == 0);
}
