// The change of the period: rows that sum to it, named where noise does not make them.
#include <doctest/doctest.h>
#include <strata/tables/json.hpp>
#include "analyse/compare.hpp"
#include "analyse/run_period.hpp"
#include "analyse/run_tables.hpp"
#include "report/report_input.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../../tools/compare_markdown.hpp"
#include "../../tools/profile_json.hpp"
#include "../sanitizers.hpp"
#include "finding_sample.hpp"
#include "resampled_program.hpp"

namespace compare_period_test {

using strata::comparison;
using strata::comparison_verdict;
using strata::period_kind;
using strata::period_row;

namespace {

constexpr char const* recordings[] = {"gpt2-eager.strata",        "gpt2-fused.strata",
                                      "gpt2-memory.strata",       "llama-decode.strata",
                                      "pytorch-attention.strata", "pytorch-decode.strata",
                                      "pytorch-training.strata"};

/// STRATA_COMPARE_PAIRS: how many pairs a test draws in place of the few that take a second.
int pairs(int few) {
  char const* const wanted = std::getenv("STRATA_COMPARE_PAIRS");
  int const all = wanted == nullptr ? few : std::atoi(wanted);
  return test::sanitized ? 2 : all;
}

comparison compared(strata::profile const& before, strata::profile const& after) {
  return strata::compare(make_run_tables(before), make_run_tables(after));
}

void check_sums(comparison const& c) {
  double before = 0, after = 0;
  for (period_row const& row : c.period.rows) {
    before += row.before_ms;
    after += row.after_ms;
  }
  CHECK(before == doctest::Approx(c.period.before_ms));
  CHECK(after == doctest::Approx(c.period.after_ms));
}

/// How often a planted change is named first.
int found(resampled::planted const& change, period_kind kind, std::string const& name, int tried) {
  std::mt19937 random(41);
  int named = 0;
  for (int i = 0; i < tried; ++i) {
    resampled::program const program = resampled::made_up(random);
    comparison const c = compared(resampled::run_of(program, random, 20),
                                  resampled::run_of(program, random, 20, {}, change));
    period_row const* const most = c.most_changed();
    named += most != nullptr && most->kind == kind && most->name.find(name) == 0 &&
             most->change_ms() > 0;
  }
  return named;
}

}  // namespace

TEST_CASE("report, account and comparison have one time between steps, without rare pauses") {
  using finding_test::us;
  auto const between_of = [](int pauses, std::int64_t usual, strata::run_period& by_sums,
                             strata::run_period& by_records) {
    finding_test::program p;
    for (int i = 0; i < 40; ++i) {
      p.run(1, [&] {
        p.kernel_of(p.mlp, 90 * us);
        p.wait();
      });
      p.now += i % 4 == 1 && i / 4 < pauses ? 30000 * us : usual;
    }
    strata::profile_tables tables(p.made);
    strata::run_tables const run = make_run_tables(p.made);
    by_sums = make_run_period(run);
    by_records = run.period;
    strata::report_input input(std::move(tables.input()));
    input.find_answer(tables.folded());
    CHECK(input.account.between_ns == input.steps.between_ns);
    return input.steps.between_ns;
  };
  auto const ns = [](strata::run_period const& period) {
    strata::period_part const* const part = period.find(period_kind::between, "between steps");
    return part == nullptr ? 0.0 : part->ns;
  };
  strata::run_period by_sums, by_records;
  double const usual = between_of(2, 40 * us, by_sums, by_records);
  CHECK(usual == doctest::Approx(40 * us));
  CHECK(ns(by_sums) == doctest::Approx(usual));
  CHECK(ns(by_records) == doctest::Approx(usual));
  double const frequent = between_of(8, 40 * us, by_sums, by_records);
  CHECK(frequent > 5000 * us);
  CHECK(ns(by_sums) == doctest::Approx(frequent));
  CHECK(ns(by_records) == doctest::Approx(frequent));
  // What is too short to be named is known, and of no comparison.
  CHECK(between_of(0, us / 2, by_sums, by_records) == 0.0);
  CHECK(ns(by_records) == doctest::Approx(us / 2));
  CHECK(!by_records.names_between);
}

TEST_CASE("no row of host times is below 0: the first step and calls outside steps are apart") {
  using finding_test::us;
  finding_test::program p;
  std::uint32_t const plan = p.node(p.mlp, "plan");
  auto const works = [&p](std::int64_t ns) { return [&p, ns](std::uint32_t) { p.now += ns; }; };
  p.made.traced = false;
  p.in(p.attention, works(9000 * us));  // to warm up
  for (std::uint32_t step = 0; step < 10; ++step)
    p.run(1, [&] {
      p.now += 10 * us;
      p.in(p.attention, works(100 * us));
      p.in(p.mlp, [&](std::uint32_t) {
        p.now += step == 0 ? 700 * us : 50 * us;
        if (step % 2 == 0) p.in(plan, works(step == 0 ? 8000 * us : 20 * us));
      });
    });
  strata::run_tables const run = make_run_tables(p.made);
  strata::run_period const by_sums = make_run_period(run);
  for (strata::run_period const* const period : {&run.period, &by_sums}) {
    auto const ns = [&](char const* name) {
      strata::period_part const* const part = period->find(period_kind::range, name);
      return part == nullptr ? 0.0 : part->ns;
    };
    CHECK(period->first_ns == doctest::Approx(8810 * us));
    CHECK(ns("mlp") == doctest::Approx(50 * us));
    CHECK(ns("mlp/plan") == doctest::Approx(20 * us * 4 / 9.0));
    bool const is_exact = period == &run.period;  // sums tell the warm-up's calls, not their time
    CHECK(ns("attention") == doctest::Approx(is_exact ? 100 * us : 110 * us));
    CHECK(ns("") == doctest::Approx(is_exact ? 10 * us : 0));
    for (strata::period_part const& part : period->parts) CHECK(part.ns >= 0.0);
    CHECK(period->ns == doctest::Approx((10 + 100 + 50 + 20 * 4 / 9.0) * us));
  }
}

TEST_CASE("kernels of a range outside of steps are in no row") {
  using finding_test::us;
  finding_test::program p;
  auto const attend = [&p](std::uint32_t row) { p.kernel_of(row, 100 * us); };
  for (int i = 0; i < 30; ++i) p.in(p.attention, attend);  // to warm up
  p.run(10, [&] {
    p.in(p.attention, attend);
    p.in(p.mlp, [&](std::uint32_t row) { p.kernel_of(row, 50 * us); });
    p.wait();
  });
  strata::run_tables const run = make_run_tables(p.made);
  strata::run_period const by_sums = make_run_period(run);
  for (strata::run_period const* const period : {&run.period, &by_sums}) {
    strata::period_part const* const attention = period->find(period_kind::range, "attention");
    REQUIRE(attention != nullptr);
    CHECK(attention->ns == doctest::Approx(100 * us));
    CHECK(attention->kernels == doctest::Approx(1));
    for (strata::period_part const& part : period->parts)
      CHECK((part.ns >= 0.0 || part.kind == period_kind::overlap));
    double waiting = 0;
    for (strata::period_part const& part : period->parts)
      if (part.kind == period_kind::idle || part.kind == period_kind::overlap) waiting += part.ns;
    CHECK(waiting > 0.0);
  }
}

TEST_CASE("the rows of the period sum to its change") {
  std::mt19937 random(5);
  for (char const* const name : recordings) {
    CAPTURE(name);
    resampled::program const program = resampled::recorded(name);
    REQUIRE(!program.steps.empty());
    resampled::planted change;
    change.of_gaps = 3.0;
    comparison const c = compared(resampled::run_of(program, random, 6),
                                  resampled::run_of(program, random, 6, {}, change));
    REQUIRE(!c.period.rows.empty());
    check_sums(c);
    for (std::size_t i = 1; i < c.period.rows.size(); ++i)
      CHECK(std::abs(c.period.rows[i - 1].change_ms()) >= std::abs(c.period.rows[i].change_ms()));
  }
}

TEST_CASE("equal runs raise no alarm and name no change") {
  std::mt19937 random(43);
  int made = 0, alarms = 0, named = 0;
  for (char const* const name : recordings) {
    resampled::program const program = resampled::recorded(name);
    for (int i = 0; i < pairs(4); ++i) {
      int const counts[] = {2, 3, 5, 10, 20};
      comparison const c = compared(resampled::run_of(program, random, counts[random() % 5]),
                                    resampled::run_of(program, random, counts[random() % 5]));
      ++made;
      alarms += c.verdict == comparison_verdict::regression;
      named += c.most_changed() != nullptr;
    }
  }
  for (int i = 0; i < pairs(20); ++i) {
    resampled::program const program = resampled::made_up(random);
    comparison const c =
        compared(resampled::run_of(program, random, 20), resampled::run_of(program, random, 20));
    ++made;
    alarms += c.verdict == comparison_verdict::regression;
    named += c.most_changed() != nullptr;
  }
  MESSAGE(made << " pairs: " << alarms << " false alarms, " << named << " changes named");
  CHECK(alarms * 100 <= made);
  CHECK(named <= std::max(1, made / 100));
}

TEST_CASE("5 % planted in one of 100 ranges, in idle time, in a copy is named first") {
  int const tried = pairs(20);
  resampled::planted range;
  range.node = 42;
  range.of_node = 1.05;
  int const in_range = found(range, period_kind::range, "r41", tried);
  resampled::planted gaps;
  gaps.of_gaps = 1.05;
  int const in_gaps = found(gaps, period_kind::idle, "", tried);
  resampled::planted copies;
  copies.of_copies = 1.05;
  int const in_copies = found(copies, period_kind::copy, "copies to", tried);
  MESSAGE("of " << tried << ": range " << in_range << ", idle " << in_gaps << ", copy "
                << in_copies);
  CHECK(in_range * 100 >= tried * 95);
  CHECK(in_gaps * 100 >= tried * 95);
  CHECK(in_copies * 100 >= tried * 95);
}

TEST_CASE("steps that only launch are compared by their periods on the GPU") {
  using finding_test::us;
  strata::run_tables read;  // of the JSON of the last run
  auto const run_of = [&](std::int64_t gpu_us, std::int64_t host_us, bool waits, int loads = 1) {
    finding_test::program p;
    for (int i = 0; i < 6; ++i) p.in(p.other, [&](std::uint32_t) { p.now += loads * 1000 * us; });
    p.run(20, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        p.now += host_us * us;
        p.kernel_of(row, gpu_us * us);
        if (waits) p.wait(row);
      });
    });
    std::string json;
    strata::profile_tables tables(p.made);
    tables.input().find_steps(tables.folded());
    {
      strata::detail::text_writer out(json);
      strata::write_json(out, tables.input());
    }
    REQUIRE(tools::read_profile_json(json, read) == "");
    return make_run_tables(p.made);
  };
  strata::run_tables const before = run_of(3000, 100, false);
  REQUIRE(before.period_of_gpu);
  REQUIRE(read.period_of_gpu);
  CHECK(strata::compare(before, read).headline.find("no change: 3.00 ms on the GPU before") == 0);
  comparison const faster = strata::compare(before, run_of(1000, 300, false));
  CHECK(faster.verdict == comparison_verdict::no_regression);
  CHECK(
      faster.headline.find("the step is 3.0x faster, 3.00 ms on the GPU before and 1.00 ms on the "
                           "GPU after (medians)") == 0);
  CHECK(faster.change == doctest::Approx(-2.0 / 3.0).epsilon(0.001));
  CHECK(strata::compare(before, run_of(7000, 10, false)).verdict == comparison_verdict::regression);
  comparison const same = strata::compare(before, before);
  CHECK(same.verdict == comparison_verdict::no_regression);
  CHECK(same.headline.find("no change: 3.00 ms on the GPU before") == 0);
  CHECK(same.runs[0].steps_ms[5] == doctest::Approx(3.0).epsilon(0.001));

  // A wait in each step: the period is the host's then, and hardly longer.
  strata::run_tables const waiting = run_of(3000, 5, true);
  REQUIRE(!waiting.period_of_gpu);
  comparison const mixed = strata::compare(before, waiting);
  CHECK(mixed.verdict == comparison_verdict::no_regression);
  CHECK(mixed.headline.find("3.00 ms on the GPU before and 3.01 ms after (medians)") !=
        std::string::npos);
  CHECK((mixed.before_of_gpu && !mixed.after_of_gpu));

  // What is outside of the steps is judged as ever.
  comparison const loading = strata::compare(before, run_of(3000, 100, false, 3));
  CHECK(loading.reason.find("sample (host) is 3.0x slower") == 0);

  // A side that does not know its periods, as JSON of before they were written: both are times of
  // the host, which decide nothing.
  strata::run_tables unknown = waiting;
  for (strata::run_step& step : unknown.steps)
    step.period_ns = std::numeric_limits<double>::quiet_NaN();
  comparison const of_host = strata::compare(before, unknown);
  CHECK(!of_host.before_of_gpu);
  CHECK(of_host.before_ms == doctest::Approx(0.103));
  CHECK(of_host.verdict == comparison_verdict::inconclusive);
  CHECK(of_host.reason.find("steps only launch, and the GPU's time of each is not known") == 0);
}

TEST_CASE("what no noise explains is decided, also of two steps, and no label says noise of it") {
  auto const of_ranges = [](double attention_us, double mlp_us) {
    finding_test::program p;
    double const uneven[] = {1.0, 1.002, 0.999};
    for (double const part : uneven)
      p.run(1, [&] {
        p.in(p.attention, [&](std::uint32_t row) {
          p.kernel_of(row, static_cast<std::int64_t>(part * attention_us * 1000));
        });
        p.in(p.mlp, [&](std::uint32_t row) {
          p.kernel_of(row, static_cast<std::int64_t>(part * mlp_us * 1000));
        });
        p.wait();
      });
    return p.made;
  };
  comparison const c = compared(of_ranges(1000, 500), of_ranges(20, 540));
  for (period_row const& row : c.period.rows) {
    std::string const text = tools::period_line(row).text;
    CAPTURE(text);
    if (row.name == "attention") CHECK((row.changed && text == "attention"));
    if (row.name == "mlp") {  // 8 % of 500 us, of which three steps do not tell the noise well
      CHECK(!row.is_noise);
      CHECK(text == (row.changed ? "mlp" : "mlp (too few steps to tell)"));
    }
    if (row.is_noise && !row.changed) CHECK(text.find("(within noise)") != std::string::npos);
  }
}

TEST_CASE("rows say both sides by name") {
  period_row row;
  row.name = "mlp";
  row.before_ms = 2;
  row.after_ms = 1;
  row.changed = true;
  row.before_kernels = 96;
  row.after_kernels = 24;
  row.before_limiter = "launch";
  row.after_limiter = "HBM 87 % and issue 85 %";
  CHECK(
      tools::period_line(row).text ==
      "mlp; kernels 96.0 before, 24.0 after; limiter launch before, HBM 87 % and issue 85 % after");
}

TEST_CASE("the largest part of a change is named, whatever kind it is of") {
  strata::profile profiles[2];
  char const* const names[] = {"gpt2-eager.strata", "gpt2-fused.strata"};
  for (int i = 0; i < 2; ++i) {
    std::ifstream file(std::string(STRATA_TEST_DIR) + "/../examples/report/" + names[i],
                       std::ios::binary);
    std::string const bytes{std::istreambuf_iterator<char>(file), {}};
    REQUIRE(strata::read_recording(bytes, profiles[i]).ok());
  }
  comparison const c = compared(profiles[0], profiles[1]);
  check_sums(c);
  CHECK(c.verdict == comparison_verdict::no_regression);
  CHECK(c.headline.find("the step is 17.6x faster, ") == 0);
  CHECK(c.headline.find("; launch-bound before, ") != std::string::npos);
  REQUIRE(c.most_changed() != nullptr);
  CHECK(row_label(*c.most_changed()) == "GPU idle: waiting for launches");
  CHECK(tools::most_changed_text(c).find(
            "GPU idle: waiting for launches, 18.2 ms before and 280 us after") == 0);
  // A unit that only one run counted says nothing of the other.
  strata::run_tables counted = make_run_tables(profiles[1]);
  CHECK(strata::compare(counted, counted)
            .headline.find("; GPU-bound (no single limiter) before and after") !=
        std::string::npos);
  strata::run_tables uncounted = counted;
  uncounted.period.limit = "";
  CHECK(strata::compare(counted, uncounted).headline.find("; GPU-bound before and after") !=
        std::string::npos);
  // Nobody knows the causes of idle time by the sums alone.
  strata::run_tables const before = make_run_tables(profiles[0]);
  strata::run_tables after = make_run_tables(profiles[1]);
  after.period = make_run_period(after);
  comparison const by_sums = strata::compare(before, after);
  check_sums(by_sums);
  CHECK(row_label(*by_sums.most_changed()) == "GPU idle");
}

TEST_CASE("programs without a common range have no factor and no rows") {
  std::mt19937 random(7);
  strata::profile const one =
      resampled::run_of(resampled::recorded("gpt2-fused.strata"), random, 6);
  strata::profile const other =
      resampled::run_of(resampled::recorded("pytorch-decode.strata"), random, 6);
  comparison const c = compared(one, other);
  CHECK(c.verdict == comparison_verdict::inconclusive);
  CHECK_FALSE(c.comparable);
  CHECK(c.period.rows.empty());
  CHECK(c.headline.find("a step takes ") == 0);
}

TEST_CASE("losses and other clocks are no change") {
  std::mt19937 random(11);
  resampled::program const program = resampled::made_up(random);
  resampled::planted change;
  change.node = 42;
  change.of_node = 1.08;
  strata::profile const before = resampled::run_of(program, random, 20);
  strata::profile after = resampled::run_of(program, random, 20, {}, change);
  REQUIRE(compared(before, after).most_changed() != nullptr);
  CHECK(row_label(*compared(before, after).most_changed()) == "r41");
  strata::profile lossy = after;
  lossy.losses.work_unfinished = after.kernels.size();
  CHECK(compared(before, lossy).most_changed() == nullptr);
  after.environment.devices[0].clock_khz = 1980000 * 0.91;
  CHECK(compared(before, after).most_changed() == nullptr);
}

TEST_CASE("lines of a period sum to it, with the rows that are left out") {
  std::mt19937 random(13);
  resampled::program const program = resampled::made_up(random);
  resampled::planted change;
  change.of_gaps = 2.0;
  comparison const c = compared(resampled::run_of(program, random, 20),
                                resampled::run_of(program, random, 20, {}, change));
  std::vector<tools::period_line> const lines = tools::period_lines(c.period);
  REQUIRE(lines.size() == 14);
  CHECK(lines[0].text.find("GPU idle: ") == 0);
  CHECK(lines[12].text.find(" other rows") != std::string::npos);
  CHECK(lines[13].text == "the period");
  double before = 0, after = 0;
  for (std::size_t i = 0; i < 13; ++i) {
    before += lines[i].before_ms;
    after += lines[i].after_ms;
  }
  CHECK(before == doctest::Approx(lines[13].before_ms));
  CHECK(after == doctest::Approx(lines[13].after_ms));
}

}  // namespace compare_period_test
