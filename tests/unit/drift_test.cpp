// What changes while a program runs is named, and what does not is not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <strata/profile/samples.hpp>
#include <strata/session/sampled_totals.hpp>

#include "../sanitizers.hpp"
#include "live/attribution.hpp"
#include "live/drift.hpp"
#include "sample_profile.hpp"

namespace drift_test {

using strata::live::find_drift;
using strata::live::find_lasting_change;
using strata::live::range_drift;
using strata::live::sampled_steps;
using strata::live::samples;
using strata::live::step_map;

namespace {

/// A program whose steps repeat a map, and its samples.
struct program {
  explicit program(unsigned seed) : random(seed) {}

  std::mt19937_64 random;
  step_map map;
  std::vector<double> lengths;  ///< of each owner, of those in the map, from `since` on
  std::vector<double> bytes;
  std::size_t since = 0;
  double interval = 309'017.0;
  sampled_steps steps;
  samples given;
  std::vector<strata::live::mapped_work> ran;  ///< in all steps
  std::vector<std::size_t> step_of;

  double part() { return std::uniform_real_distribution<double>(0.0, 1.0)(random); }
  double around(double by) { return 1.0 + by * (2.0 * part() - 1.0); }

  /// Layers of some ranges each, and one behind them.
  void make_map() {
    auto const owners = static_cast<std::uint32_t>(3 + random() % 4);
    auto const layers = static_cast<std::uint32_t>(1 + random() % 6);
    std::vector<double> each_ns;
    std::vector<double> rates;
    for (std::uint32_t i = 0; i < owners; ++i) {
      each_ns.push_back((i + 1 == owners ? layers : 1) * (100'000.0 + 700'000.0 * part()));
      rates.push_back(0.1 + 3.0 * part());
    }
    double at = 0.0;
    auto const add = [&](std::uint32_t owner) {
      map.work.push_back({static_cast<std::int64_t>(at),
                          static_cast<std::int64_t>(at + each_ns[owner]), owner,
                          rates[owner] * each_ns[owner]});
      at += each_ns[owner] + 2'000.0 + 8'000.0 * part();
    };
    for (std::uint32_t layer = 0; layer < layers; ++layer)
      for (std::uint32_t i = 0; i + 1 < owners; ++i) add(i);
    add(owners - 1);
    lengths.assign(owners, 1.0);
    bytes.assign(owners, 1.0);
  }

  double share(std::uint32_t owner) const {
    double own = 0.0;
    for (auto const& each : map.work)
      if (each.owner == owner) own += static_cast<double>(each.end - each.begin);
    return own / static_cast<double>(map.length());
  }

  void run(std::size_t count) {
    std::vector<std::pair<double, double>> course{{0.0, 0.0}};  // what was moved by a time
    double at = 1e6;
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      steps.begins.push_back(static_cast<std::int64_t>(at + 40'000.0 * (2.0 * part() - 1.0)));
      double const clock = around(0.01);
      double mapped = 0.0;
      double now = at;
      for (auto const& each : map.work) {
        now += clock * (static_cast<double>(each.begin) - mapped);
        course.push_back({now, sum});
        mapped = static_cast<double>(each.end);
        double const longer = i >= since ? lengths[each.owner] : 1.0;
        double const more = i >= since ? bytes[each.owner] : 1.0;
        ran.push_back({static_cast<std::int64_t>(now), 0, each.owner, 0.0});
        step_of.push_back(i);
        now += clock * longer * around(0.01) * static_cast<double>(each.end - each.begin);
        ran.back().end = static_cast<std::int64_t>(now);
        sum += each.bytes * more * around(0.01);
        course.push_back({now, sum});
      }
      at = now + 20'000.0 + 30'000.0 * part();
    }
    steps.tolerance_ns = 80'000;
    given.counters = 1;
    std::size_t k = 1;
    double before = 0.0;
    for (double begin = 0.0; begin < at; begin += interval) {
      double const end = begin + interval;
      while (k + 1 < course.size() && course[k].first < end) ++k;
      auto const& [t0, b0] = course[k - 1];
      auto const& [t1, b1] = course[k];
      double const inside = std::clamp((end - t0) / std::max(1.0, t1 - t0), 0.0, 1.0);
      double const until = b0 + inside * (b1 - b0);
      given.times.push_back({static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)});
      given.values.push_back(until - before);
      before = until;
    }
  }

  std::vector<range_drift> find() const { return find_drift(map, steps, given); }

  /// What a session with live has of it.
  strata::profile record(bool traced) const {
    sample::maker m;
    for (std::uint32_t owner = 0; owner < map.owners(); ++owner)
      (void)m.node(strata::root_node, "range" + std::to_string(owner));
    for (std::size_t i = 0; i + 1 < steps.begins.size(); ++i)
      m.made.steps.push_back(
          {steps.begins[i], steps.begins[i + 1] - 1, static_cast<std::uint32_t>(i), 0});
    for (std::size_t i = 0; traced && i < ran.size(); ++i) {
      std::int64_t const mark = steps.begins[step_of[i]];
      std::uint32_t const call = m.launch(ran[i].owner + 1, mark, mark + 1000);
      m.made.launches.back().step = static_cast<std::uint32_t>(step_of[i]);
      (void)m.kernel(call, ran[i].begin, ran[i].end);
    }
    m.made.traced = traced;
    m.made.has_steps = true;
    m.made.samples.counters = 1;
    m.made.samples.only_steps = true;
    strata::detail::sample_writer writer;
    for (std::size_t i = 0; i < given.size(); ++i)
      writer.add(
          m.made.samples,
          {given.times[i].begin, given.times[i].end, {static_cast<std::int64_t>(given.values[i])}});
    strata::counter_set& set = m.made.add_counters(strata::counter_set::live);
    set.method = strata::counting::sampled;
    set.names.emplace_back("dram__bytes_read.sum");
    strata::detail::add_sampled_totals(m.made, set);
    strata::live::attribute_samples(m.made);
    return std::move(m.made);
  }
};

/// Programs that a test tries: STRATA_TEST_SERIES, for more of them.
unsigned series(unsigned usual) {
  char const* const text = std::getenv("STRATA_TEST_SERIES");
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : usual;
}

/// A program whose lengths or bytes of one owner are so many times those of the map from the
/// middle of its run on. Returns: the owner.
std::uint32_t run_with_change(program& p, std::vector<double> program::*of_owners, double times) {
  p.make_map();
  auto const owner = static_cast<std::uint32_t>(p.random() % p.lengths.size());
  (p.*of_owners)[owner] = times;
  p.since = 700;
  p.run(1400);
  return owner;
}

}  // namespace

TEST_CASE("noise is no lasting change") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(1.0, 0.05);
  unsigned found = 0;
  for (unsigned i = 0; i < test::trials(3'000u); ++i) {
    std::vector<double> values;
    for (int k = 0; k < 128; ++k) values.push_back(noise(random));
    found += find_lasting_change(values, {}).has_value() ? 1 : 0;
  }
  CHECK(found == 0);
}

TEST_CASE("what is 0 has no change") {
  CHECK_FALSE(find_lasting_change(std::vector<double>(100, 0.0), {}));
}

TEST_CASE("a lasting change has its place and its size") {
  std::mt19937_64 random(4);
  std::normal_distribution<double> noise(1.0, 0.02);
  for (std::size_t const at : {5u, 40u, 90u}) {
    std::vector<double> values;
    for (std::size_t k = 0; k < 100; ++k) values.push_back(noise(random) * (k < at ? 1.0 : 1.1));
    auto const found = find_lasting_change(values, {});
    REQUIRE(found.has_value());
    CHECK(found->at == at);
    CHECK(found->part == doctest::Approx(0.1).epsilon(0.2));
  }
}

// Of these three a sanitizer sees all in the report below.
TEST_CASE("programs that stay as they are: no range is named" * doctest::skip(test::sanitized)) {
  unsigned named = 0;
  unsigned const all = series(4);
  for (unsigned seed = 0; seed < all; ++seed) {
    program p(seed);
    p.make_map();
    p.run(400);
    named += p.find().empty() ? 0 : 1;
  }
  MESSAGE(named << " of " << all);
  CHECK(named == 0);
}

TEST_CASE("a range that becomes 10 % slower is named, with the step and by how much" *
          doctest::skip(test::sanitized)) {
  unsigned named = 0;
  unsigned others = 0;
  unsigned const all = series(2);
  for (unsigned seed = 0; seed < all; ++seed) {
    CAPTURE(seed);
    program p(1000 + seed);
    std::uint32_t const which = run_with_change(p, &program::lengths, 1.1);
    std::vector<range_drift> const found = p.find();
    bool is_named = false;
    for (range_drift const& each : found) {
      bool const is_it = each.owner == which && each.of_time;
      is_named = is_named || is_it;
      others += is_it ? 0 : 1;
      if (!is_it) continue;
      CHECK(each.part == doctest::Approx(0.1).epsilon(0.3));
      CHECK(std::abs(static_cast<double>(each.since) - 700.0) <= 60.0);
    }
    named += is_named ? 1 : 0;
    if (!is_named || found.size() != 1)
      MESSAGE(seed << ": " << p.share(which) << " of the step, found " << found.size());
  }
  MESSAGE(named << " of " << all << ", others " << others);
  CHECK(20 * named >= 19 * all);
  CHECK(20 * others <= all);
}

TEST_CASE("a range that moves a fifth more is named for that, and no range for its time" *
          doctest::skip(test::sanitized)) {
  unsigned named = 0;
  unsigned others = 0;
  unsigned const all = series(2);
  for (unsigned seed = 0; seed < all; ++seed) {
    CAPTURE(seed);
    program p(5000 + seed);
    std::uint32_t const which = run_with_change(p, &program::bytes, 1.2);
    bool is_named = false;
    for (range_drift const& each : p.find()) {
      bool const is_it = each.owner == which && !each.of_time;
      is_named = is_named || is_it;
      others += is_it ? 0 : 1;
    }
    named += is_named ? 1 : 0;
  }
  MESSAGE(named << " of " << all << ", others " << others);
  CHECK(10 * named >= 8 * all);
  CHECK(20 * others <= all);
}

TEST_CASE("a report says which range became slower than it was, when, and by how much") {
  program traced(77);
  traced.interval = 100'019.0;
  traced.make_map();
  program p = traced;
  traced.run(40);
  strata::profile const map = traced.record(true);
  p.random.seed(78);
  p.lengths[1] = 1.15;
  p.since = 300;
  p.run(600);
  strata::profile alone = p.record(false);
  std::string const before = alone.counters(strata::counter_set::live).about;
  INFO(before);
  CHECK(before.find(", a step has taken ") != std::string::npos);
  REQUIRE(strata::live::attribute_by_map(alone, map).ok());
  std::string const& about = alone.counters(strata::counter_set::live).about;
  INFO(about);
  std::size_t const at = about.rfind("Since step ", about.find("range1 has taken 1"));
  REQUIRE(at != std::string::npos);
  std::string const sentence = about.substr(at, about.find(". ", at) - at);
  CHECK(sentence.find(", range1 has taken ") != std::string::npos);
  CHECK(sentence.find(" than before") != std::string::npos);
  CHECK(std::abs(std::stod(sentence.substr(std::string("Since step ").size())) - 300.0) < 40.0);
  for (std::uint32_t owner = 0; owner < p.map.owners(); ++owner)
    if (owner != 1)
      CHECK(about.find("range" + std::to_string(owner) + " has taken") == std::string::npos);
}

TEST_CASE("steps that stay as they are: nothing is said to change") {
  program p(90);
  p.make_map();
  p.run(500);
  std::string const about = p.record(false).counters(strata::counter_set::live).about;
  INFO(about);
  CHECK(about.find(", a step has taken ") == std::string::npos);
  CHECK(about.find(" than before") == std::string::npos);
}

}  // namespace drift_test
