// The change of the period: rows that sum to it, named where noise does not make them.
#include <doctest/doctest.h>
#include "analyse/compare.hpp"
#include "analyse/run_tables.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../../tools/compare_markdown.hpp"
#include "../sanitizers.hpp"
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
  CHECK(named * 100 <= made);
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

}  // namespace compare_period_test
