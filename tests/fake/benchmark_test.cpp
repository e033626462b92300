// Trials timed by records of device work.
#include <doctest/doctest.h>
#include <strata/benchmark.hpp>

#include <cstdint>

#include "fake_session.hpp"

using fake::launch;

TEST_CASE("trials are timed from the begin of their first kernel to the end of the last") {
  fake::unscript();
  strata::benchmarks all;
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n : {100, 200, 400}) {
      auto const each_ns = static_cast<std::uint64_t>(n) * 1000;
      strata::benchmark_options how{2, 4};
      how.x = {"n", n};
      all.run(
          "kernels",
          [&] {
            launch("first", 7, each_ns);
            launch("second", 7, each_ns);
          },
          how, [] { launch("flush", 7, 5'000'000); });
    }
  strata::benchmark_options several{0, 4, 5};
  several.x = {"n", 100};
  several.y = {"k", 3};
  all.run(
      "pair", [] { launch("first", 7, 10'000); }, several);
  all.run("host", [] {}, {0, 4});
  strata::vec<strata::benchmark_result> const& found = all.results();
  REQUIRE(found.size() == 5);
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(found[i].by_device);
    CHECK(found[i].ns.size() == 8);
    double const expected = 2e3 * static_cast<double>(found[i].how.x.value);
    CHECK(found[i].median_ns == doctest::Approx(expected).epsilon(0.01));
    CHECK(found[i].p95_ns == doctest::Approx(expected).epsilon(0.01));
  }
  CHECK(found[3].by_device);
  CHECK(found[3].median_ns == doctest::Approx(10'000).epsilon(0.02));  // of one of five calls
  CHECK_FALSE(found[4].by_device);
  CHECK(found[4].median_ns < 1e6);
}

TEST_CASE("a trial whose work was not recorded leaves the run to the host") {
  fake::unscript();
  strata::benchmarks all;
  int calls = 0;
  all.run("f",
          [&] {
            if (++calls != 3) launch("work", 7, 50'000'000);
          },
          {0, 4});
  CHECK_FALSE(all.results()[0].by_device);
  CHECK(all.results()[0].median_ns < 40e6);
}
