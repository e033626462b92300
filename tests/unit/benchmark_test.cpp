#include "benchmark/benchmark.hpp"
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "../work_folder.hpp"

namespace benchmark_test {

using namespace strata;

namespace {

benchmark_result result_of(char const* name, vec<double> const& ns) {
  benchmark_result made;
  made.name = name;
  made.ns = ns;
  detail::summarise(made);
  return made;
}

benchmark_result at(char const* name, std::int64_t x, std::int64_t y, double ns) {
  benchmark_result made = result_of(name, {ns, ns, ns});
  made.how.x = {"n", x};
  if (y > 0) made.how.y = {"k", y};
  return made;
}

}  // namespace

TEST_CASE("median, spread and outliers of trials") {
  benchmark_result const one = result_of("f", {10, 12, 11, 9, 10, 11, 8, 12, 10, 100, 11});
  CHECK(one.median_ns == 11);
  CHECK(one.mad_ns == 1);  // distances 0 0 0 1 1 1 1 1 2 3 89
  CHECK(one.mean_ns == doctest::Approx(204 / 11.0));
  CHECK(one.p5_ns == doctest::Approx(8.5));    // between 8 and 9
  CHECK(one.p95_ns == doctest::Approx(56.0));  // between 12 and 100
  CHECK(one.outliers == 1);
  CHECK(one.deviation_ns == doctest::Approx(27.0421));
  CHECK(result_of("still", {5, 5, 5, 5.001}).outliers == 0);
  CHECK(result_of("none", {}).median_ns == 0);
}

TEST_CASE("rates and the share of the ceiling") {
  benchmark_result one = result_of("f", {1000, 1000});
  CHECK(std::isnan(one.flops_per_s()));
  CHECK(one.ceiling_ns() == 0);
  one.how.flops = 2e6;
  one.how.bytes = 1e6;
  CHECK(one.flops_per_s() == doctest::Approx(2e12));
  CHECK(one.bytes_per_s() == doctest::Approx(1e12));
  one.how.peak_flops_per_s = 10e12;
  CHECK(one.of_ceiling() == doctest::Approx(0.2));
  one.how.peak_bytes_per_s = 4e12;  // 250 ns for the bytes, 200 for the operations
  CHECK(one.of_ceiling() == doctest::Approx(0.25));
  CHECK(benchmark_text({one}).find("25.0 %") != std::string::npos);
  one.how.peak_flops_per_s = one.how.peak_bytes_per_s = 1e11;  // of another GPU
  CHECK(one.of_ceiling() > 1.0);
  CHECK(benchmark_text({one}).find("  -  host") != std::string::npos);
}

TEST_CASE("the fitted exponent is that of the times, beside the expected one") {
  vec<benchmark_result> runs;
  for (std::int64_t n : {64, 128, 256}) {
    auto const size = static_cast<double>(n);
    benchmark_result cubic = at("matmul", n, 0, size * size * size);
    cubic.how.flops = 2 * size * size * size;
    cubic.how.bytes = 12 * size * size;
    runs.push_back(cubic);
    benchmark_result linear = at("copy", n, 0, 7 * size);
    linear.how.bytes = 8 * size;
    runs.push_back(linear);
    runs.push_back(at("sort", n, 0, size * size));
    runs[runs.size() - 1].how.growth_x = 1;
  }
  vec<benchmark_growth> const found = growth_of(runs);
  REQUIRE(found.size() == 3);
  CHECK(found[0].name == "matmul");
  CHECK(found[0].values == 3);
  CHECK(found[0].exponent == doctest::Approx(3));
  CHECK(found[0].expected == doctest::Approx(3));
  CHECK(found[1].exponent == doctest::Approx(1));
  CHECK(found[1].expected == doctest::Approx(1));
  CHECK(found[2].exponent == doctest::Approx(2));
  CHECK(found[2].expected == 1);
  CHECK(benchmark_text(runs).find("sort: time grows with n^2.00, expected n^1.00 (3 runs)\n") !=
        std::string::npos);
  CHECK(growth_of({at("once", 64, 0, 10)}).empty());
}

TEST_CASE("two parameters are fitted together; those that vary together are not told apart") {
  vec<benchmark_result> runs;
  for (std::int64_t n : {10, 20, 40})
    for (std::int64_t k : {3, 9, 27})
      runs.push_back(at("f", n, k, static_cast<double>(n * n) * std::sqrt(static_cast<double>(k))));
  vec<benchmark_growth> const found = growth_of(runs);
  REQUIRE(found.size() == 2);
  CHECK(found[0].parameter == "n");
  CHECK(found[0].exponent == doctest::Approx(2));
  CHECK(found[1].parameter == "k");
  CHECK(found[1].exponent == doctest::Approx(0.5));
  CHECK(std::isnan(found[1].expected));
  CHECK(growth_of({at("g", 1, 2, 5), at("g", 2, 4, 10), at("g", 4, 8, 20)}).empty());
}

TEST_CASE("lines with the columns of llama.cpp's tools") {
  benchmark_result product = at("MUL_MAT", 256, 0, 352'740);
  product.how.flops = 2.0 * 256 * 256 * 256;
  benchmark_result copy = result_of("CPY", {5000, 5000});
  copy.how.calls = 10;
  copy.how.bytes = 1 << 20;
  copy.how.tokens = 5;
  CHECK(backend_ops_text({product, copy}) ==
        "  MUL_MAT(n=256):        3 runs -   352.74 us/run -  33.55 MFLOP/run -  95.13 GFLOPS\n"
        "  CPY:       20 runs -     5.00 us/run -     1024 kB/run -  195.31 GB/s\n");
  benchmark_result decode = result_of("tg", {10e6, 20e6});
  decode.how.tokens = 1;
  // 100 and 50 tokens/s: mean 75, deviation 25 * sqrt(2).
  CHECK(llama_bench_text({product, decode}) ==
        "| test | t/s |\n| --- | ---: |\n| tg | 75.00 \xC2\xB1 35.36 |\n");
}

TEST_CASE("names do no harm on a terminal and keep the columns straight") {
  benchmark_result hostile = at("\x1b[31mf\n", 8, 0, 10);
  hostile.how.x.name = "\tn";
  hostile.how.tokens = 1;
  benchmark_result wide = at("\xE8\xA1\x8C\xE5\x88\x97", 8, 0, 10);  // two characters, four columns
  for (std::string const& text : {benchmark_text({hostile, wide, at("\x1b[31mf\n", 16, 0, 20)}),
                                  backend_ops_text({hostile}), llama_bench_text({hostile})}) {
    CAPTURE(text);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\t') == std::string::npos);
    CHECK(text.find("\\x1b[31mf\\n(") != std::string::npos);
  }
  std::string const table = benchmark_text({wide, result_of("plain", {10})});
  CHECK(table.find("\xE8\xA1\x8C\xE5\x88\x97(n=8)       3 ") != std::string::npos);
  CHECK(table.find("plain           1 ") != std::string::npos);
}

TEST_CASE("without a device the host times the trials, which are calls of ranges") {
  test::quiet_stderr const quiet;
  benchmarks all("host,formats=none");
  int calls = 0;
  int flushed = 0;
  benchmark_options how{2, 5, 3};
  how.flops = 100;
  how.x = {"n", 64};
  all.run(
      "f", [&] { ++calls; }, how, [&] { ++flushed; });
  CHECK(calls == 2 + 5 * 3);
  CHECK(flushed == 2 + 5);
  all.run(
      "f", [&] { ++calls; }, how);  // five trials more
  how.y = {"k", 2};
  all.run(
      "f", [&] { ++calls; }, how);
  vec<benchmark_result> const& results = all.results();
  REQUIRE(results.size() == 2);
  CHECK_FALSE(results[0].by_device);
  CHECK(results[0].ns.size() == 10);
  profile const& made = all.session().profile();
  std::size_t outer = 0;
  std::size_t inner = 0;
  for (range_record const& each : made.ranges) {
    profile_node const& node = made.nodes[each.node];
    if (made.names[node.name] == "f" && node.index == 64) ++outer;
    if (made.names[node.name] == "k" && node.index == 2) ++inner;
    if (each.attribute != no_reference) CHECK(made.attributes[each.attribute - 1].flops == 300);
  }
  CHECK(outer == 15);
  CHECK(made.steps.size() == 15);
  CHECK(inner == 5);
  // The profile is closed: nothing is run.
  all.run("late", [&] { calls = 0; });
  CHECK(calls > 0);
  CHECK(all.results().size() == 2);
}

TEST_CASE("beside another session the trials are ranges of that one") {
  test::quiet_stderr const quiet;
  vec<std::string> problems;
  session other(options::parse("host,formats=none", problems));
  REQUIRE(other.start().ok());
  benchmark_result const one = benchmark("f", [] {}, {1, 4});
  CHECK_FALSE(one.by_device);
  CHECK(one.ns.size() == 4);
  other.stop();
  CHECK(other.profile().ranges.size() == 5);  // with the warm-up
}

TEST_CASE("a function may run another benchmark") {
  test::quiet_stderr const quiet;
  benchmarks all("host,formats=none");
  all.run("outer", [&] {
    for (int i = 0; i < 8; ++i)  // the list of results grows
      all.run(
          "inner" + std::to_string(i), [] {},
          [] {
            benchmark_options once;
            once.trials = 1;
            once.warmup = 0;
            return once;
          }());
  });
  CHECK(all.results().size() == 9);
  for (benchmark_result const& each : all.results()) CHECK_FALSE(each.ns.empty());
}

}  // namespace benchmark_test
