// No report's work grows faster than n log n with what a profile has many of. Work is counted, not
// timed: this file is compiled with -fsanitize-coverage=trace-pc, see tests/CMakeLists.txt.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../counted_branches.hpp"
#include "../growing_profiles.hpp"

namespace growth {

/// What each report took at a size: branches and bytes.
struct cost {
  std::uint64_t branches;
  std::uint64_t bytes;
};

std::vector<cost> costs_of(growing::dimension const& grows, std::size_t size) {
  growing::program made;
  grows.fill(made, size);
  strata::profile const source = made.take();
  growing::analysed from(source);
  std::vector<cost> all;
  for (growing::report const& report : growing::reports) {
    std::uint64_t const before = counted_branches;
    std::uint64_t const bytes = report.make(from).size();
    all.push_back({counted_branches - before, bytes});
  }
  return all;
}

/// Of amounts at 1, 2 and 4 times a size, without what does not grow: 1 is linear, 2 is quadratic,
/// n log n is 1.1 to 1.2 at these sizes. 0 where nearly all of it does not grow, so that a bend
/// says nothing.
double exponent(std::uint64_t one, std::uint64_t two, std::uint64_t four) {
  if (two <= one || four <= two || 20 * (four - two) < four) return 0.0;
  return std::log2(static_cast<double>(four - two) / static_cast<double>(two - one));
}

TEST_CASE("the branches of each report are counted") {
  std::vector<cost> const of = costs_of(growing::dimensions[0], 100);
  for (std::size_t i = 0; i < of.size(); ++i) {
    CAPTURE(std::string(growing::reports[i].name));
    bool const is_empty = growing::reports[i].name == std::string("sums");  // no work of a device
    CHECK(of[i].branches > (is_empty ? 0 : 10'000));
  }
}

TEST_CASE("no report grows faster than n log n") {
  constexpr double most = 1.7;
  // Fewer bend where a rule stops to look at what is small.
  constexpr std::uint64_t least_branches = 250'000, least_bytes = 500'000;
  for (growing::dimension const& grows : growing::dimensions) {
    std::vector<cost> const one = costs_of(grows, grows.size / 2);
    std::vector<cost> const two = costs_of(grows, grows.size);
    std::vector<cost> const four = costs_of(grows, 2 * grows.size);
    for (std::size_t i = 0; i < four.size(); ++i) {
      CAPTURE(std::string(grows.name));
      CAPTURE(std::string(growing::reports[i].name));
      CAPTURE(four[i].branches);
      if (four[i].branches > least_branches)
        CHECK(exponent(one[i].branches, two[i].branches, four[i].branches) < most);
      if (four[i].bytes > least_bytes)
        CHECK(exponent(one[i].bytes, two[i].bytes, four[i].bytes) < most);
    }
  }
}

/// What to compare so many ranks takes: branches.
std::uint64_t cost_of_ranks(std::size_t ranks) {
  growing::program made;
  growing::names(made, 50);
  made.made.kernel_names[0].mangled = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)";
  strata::profile const source = made.take();
  std::vector<strata::rank_run> runs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    runs.push_back(read_rank(source));
    runs.back().rank = static_cast<std::int32_t>(rank);
  }
  std::uint64_t const before = counted_branches;
  (void)compare_ranks(runs);
  (void)list_collectives(runs);
  (void)join_clocks(runs);
  return counted_branches - before;
}

TEST_CASE("nothing that is said of ranks grows faster than n log n with them") {
  std::uint64_t const four = cost_of_ranks(256);
  CHECK(four > 500'000);
  CHECK(exponent(cost_of_ranks(64), cost_of_ranks(128), four) < 1.7);
}

}  // namespace growth
