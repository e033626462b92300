// Which launch of a graph a kernel belongs to that bears the id of no call.
#include <doctest/doctest.h>

#include <strata/collect/cuda/graph_captures.hpp>

#include <cstdint>

namespace graph_launches_test {

using strata::kernel_record;
using strata::detail::continued_clock;
using strata::detail::graph_launches;

namespace {

constexpr std::uint32_t last = 1500;  // more launches than are known

/// The address of an executable graph.
void const* graph(std::uint32_t number) {
  return reinterpret_cast<void const*>(std::uintptr_t{number} * 64);
}

kernel_record kernel(std::uint32_t correlation, std::int64_t begin) {
  kernel_record record{};
  record.correlation = correlation;
  record.begin = begin;
  record.context = 1;
  record.stream = 7;
  return record;
}

/// The launch of a kernel without an id in a graph that no kernel told of, at 1 us times `launch`;
/// 0 if unknown.
std::uint32_t launch_of_bare(graph_launches const& launches, std::uint32_t launch) {
  std::uint32_t found = 0;
  kernel_record record = kernel(0, std::int64_t{launch} * 1000 + 500);
  record.context = 2;
  record.stream = 9;
  return launches.find(record, 0, continued_clock(), found) ? found : 0;
}

/// Launch `n` launches graph `n`, with the id 10 n, at n us.
void launch_all(graph_launches& launches) {
  for (std::uint32_t n = 1; n <= last; ++n)
    launches.launched(10 * n, graph(n), std::int64_t{n} * 1000);
}

}  // namespace

TEST_CASE("a launch is found by its id, in any order, as long as it is known") {
  graph_launches launches;
  launch_all(launches);
  // A graph with kernels of its own is not bare: what begins behind it is of the kernel before it
  // in its stream.
  for (std::uint32_t const n : {last - 1, last, last - 1023, last - 2, last - 1022}) {
    CHECK(launch_of_bare(launches, n) == 10 * n);
    launches.saw(kernel(10 * n, std::int64_t{n} * 1000), n);
    kernel_record behind = kernel(0, std::int64_t{n} * 1000 + 900);
    std::uint32_t found = 0;
    REQUIRE(launches.find(behind, 0, continued_clock(), found));
    CHECK(found == 10 * n);
  }
}

TEST_CASE("a launch that was forgotten, or never seen, takes nothing from the others") {
  graph_launches launches;
  launch_all(launches);
  launches.saw(kernel(10 * (last - 1024), 0), 1);  // forgotten
  launches.saw(kernel(10 * last + 5, 0), 2);       // of no graph
  launches.saw(kernel(10 * last, std::int64_t{last} * 1000), last);
  // The stream's last kernel is of the last launch, whose graph has kernels.
  std::uint32_t found = 0;
  REQUIRE(launches.find(kernel(0, std::int64_t{last} * 1000 + 1), 0, continued_clock(), found));
  CHECK(found == 10 * last);
}

TEST_CASE("cleared, it knows no launch, and finds new ones") {
  graph_launches launches;
  launch_all(launches);
  launches.saw(kernel(10 * last, 0), last);
  launches.clear();
  CHECK(launch_of_bare(launches, last) == 0);
  launches.launched(3, graph(1), 1000);
  launches.saw(kernel(3, 1000), 1);
  launches.launched(5, graph(1),
                    1050);  // none of its kernels came, and its graph has some: it did not begin
  std::uint32_t found = 0;
  REQUIRE(launches.find(kernel(0, 1100), 0, continued_clock(), found));
  CHECK(found == 3);
}

}  // namespace graph_launches_test
