// Timelines whose times with a change are computed by hand. A launch takes 3 us; the device begins
// 0.5 us after it, or after the work before; a wait ends 2 us after the work.
#include "analyse/what_if.hpp"
#include <doctest/doctest.h>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>
#include "analyse/findings.hpp"
#include "analyse/roofline.hpp"
#include "analyse/step_replay.hpp"
#include "analyse/steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sample_profile.hpp"

namespace what_if_test {

using namespace strata;

namespace {

constexpr std::int64_t us = 1000;

struct program : sample::maker {
  std::int64_t now = 1000 * us;
  std::int64_t free[16] = {};
  std::uint32_t step = no_step;
  std::uint32_t a = node(0, "a");
  std::uint32_t b = node(0, "b");

  program() {
    made.traced = true;
    made.kernel_names.push_back({"work"});
  }

  template <class Body>
  program& run(std::uint32_t count, Body body) {
    made.has_steps = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::int64_t const begin = now;
      step = i;
      body();
      made.steps.push_back({begin, now, i, 0});
    }
    return end();
  }
  program& end() {
    made.end = *std::max_element(free, free + 16);
    made.end = std::max(now, made.end) + us;
    made.cost.seconds_in_window = static_cast<double>(made.end) * 1e-9;
    return *this;
  }

  std::uint32_t api(std::uint32_t where, std::int64_t ns, api_kind kind, std::uint16_t thread = 0) {
    std::uint32_t const id = launch(where, now, now + ns, kind, thread);
    made.launches.back().step = step;
    now += ns;
    return id;
  }
  kernel_record& kernel_at(std::uint32_t id, std::int64_t begin, std::int64_t ns,
                           std::uint32_t stream) {
    kernel_record& record = kernel(id, begin, begin + ns);
    record.name = 1;
    record.stream = stream;
    free[stream] = begin + ns;
    return record;
  }
  void kernel_of(std::uint32_t where, std::int64_t ns, std::uint32_t stream = 7) {
    std::uint32_t const id = api(where, 3 * us, api_kind::launch);
    kernel_at(id, std::max(now, free[stream]) + us / 2, ns, stream);
  }
  /// One after the other.
  void kernels(std::uint32_t where, int count, std::int64_t ns, std::uint32_t blocks = 1000) {
    for (int i = 0; i < count; ++i) {
      kernel_of(where, ns);
      made.kernels.back().grid_x = blocks;
    }
  }
  void copy_of(std::uint32_t where, std::int64_t ns, std::uint32_t stream) {
    std::uint32_t const id = api(where, 5 * us, api_kind::copy);
    std::int64_t const begin = std::max(now, free[stream]) + us / 2;
    copy(id, begin, begin + ns, 1 << 24, copy_kind::host_to_device).stream = stream;
    free[stream] = begin + ns;
  }
  void wait(std::uint32_t where = 0, std::uint32_t stream = 7) {
    std::int64_t const until = free[stream] > now ? free[stream] + 2 * us : now + us;
    std::uint32_t const id = api(where, until - now, api_kind::wait);
    made.synchronizations.push_back(
        {now - us, now, where, id, stream, synchronization_kind::stream, {}});
  }
  /// The program's own code.
  void compute(std::uint32_t where, std::int64_t ns) {
    call(where, now, now + ns).step = step;
    now += ns;
  }
};

/// The step with a change in us, and the recorded one.
struct answer {
  call_tree tree;
  step_analysis steps;
  profile const& source;

  explicit answer(program const& of)
      : tree(of.made, folding::by_name),
        steps(make_steps(of.made, tree, call_tree(of.made).rows())),
        source(of.made) {}

  double now() const { return steps.mean_ns / us; }
  double with(what_if const& change) const {
    return predict(source, tree, steps, {change})[0] / us;
  }
};

what_if change_of(std::size_t row, double what_if::*part, double factor) {
  what_if made;
  made.row = row;
  made.*part = factor;
  return made;
}

}  // namespace

TEST_CASE("a step that the GPU bounds follows its kernels, not its launches") {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 10; ++i) p.kernel_of(p.a, 100 * us);
    p.wait();
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(3.5 + 1000 + 9 * 0.5 + 2));
  CHECK(step.with(what_if()) == doctest::Approx(step.now()));
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(510));
  CHECK(step.with(without_gaps(1)) == doctest::Approx(1010));
  // Another range's kernels, and those of no range at all.
  CHECK(step.with(change_of(0, &what_if::kernels, 0.5)) == doctest::Approx(1010));
  what_if all = change_of(0, &what_if::kernels, 0.5);
  all.below = true;
  CHECK(step.with(all) == doctest::Approx(510));
}

TEST_CASE("a copy that blocks waits for the kernels before it, not for its call") {
  program p;
  p.run(4, [&] {
    p.kernel_of(p.a, 300 * us);
    p.kernel_of(p.b, 500 * us);
    std::int64_t const begin = p.free[7] + us;
    std::uint32_t const id = p.api(p.b, begin + 5 * us - p.now, api_kind::copy);
    p.copy(id, begin, begin + 2 * us, 4, copy_kind::device_to_host).stream = 7;
    p.free[7] = begin + 2 * us;
  });
  answer const step(p);
  CHECK(step.with(what_if()) == doctest::Approx(step.now()));
  CHECK(step.now() - step.with(change_of(2, &what_if::kernels, 0.5)) == doctest::Approx(250));
  CHECK(step.now() - step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(150));
}

TEST_CASE("no factor and no row is beyond what can be answered") {
  program p;
  p.run(4, [&] {
    p.kernels(p.a, 2, 100 * us);
    p.compute(p.b, 50 * us);
    p.copy_of(p.a, 20 * us, 7);
    p.api(p.b, 30 * us, api_kind::allocate);
    p.wait();
  });
  answer const step(p);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double what_if::*const part : {&what_if::kernels, &what_if::copies, &what_if::launches,
                                      &what_if::host_work, &what_if::waits, &what_if::allocations})
    for (std::size_t row : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      CAPTURE(row);
      auto const with = [&](double factor) {
        what_if change = change_of(row, part, factor);
        change.below = row == 0;
        return step.with(change);
      };
      CHECK(with(std::nan("")) == step.now());
      for (double const less : {-1e-9, -1.0, -1e300, -infinity}) CHECK(with(less) == with(0));
      for (double const more : {1001.0, 1e18, 1e300, infinity}) CHECK(with(more) == with(1000));
      CHECK(with(1000) >= step.now());
      CHECK(with(1000) <= 1001 * step.now());
    }
  CHECK(step.with(change_of(1, &what_if::kernels, 1e300)) > 100'000);  // it did count
  for (std::size_t const row : {std::size_t{3}, std::size_t{1} << 32, ~std::size_t{0}}) {
    CAPTURE(row);
    what_if beyond = change_of(row, &what_if::kernels, 0);
    CHECK(step.with(beyond) == step.now());
    beyond.below = true;
    CHECK(step.with(beyond) == step.now());
  }
  // A run that lasted eleven days.
  program slow;
  slow.run(2, [&] {
    slow.kernel_of(slow.a, 500'000'000'000'000);
    slow.wait();
  });
  double const longest = answer(slow).with(change_of(1, &what_if::kernels, 1e300));
  CHECK(longest == doctest::Approx(5e14).epsilon(0.01));  // us
}

TEST_CASE("a step that launches bound follows its launches, not its kernels") {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 100; ++i) p.kernel_of(p.a, us);
    p.wait();
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(300 + 0.5 + 1 + 2));
  // Only the last kernel is waited for.
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(303));
  // Launches of 2.4 us: the kernels still wait for the host.
  CHECK(step.with(change_of(1, &what_if::launches, 0.8)) ==
        doctest::Approx(99 * 2.4 + 3.5 + 1 + 2));
  // Without: back to back, 0.5 us apart as in a graph where it was never seen how far.
  CHECK(step.with(without_gaps(1)) == doctest::Approx(3.5 + 100 + 99 * 0.5 + 2));
  // Launches that cost something are none of a graph: 1 us apart.
  CHECK(step.with(change_of(1, &what_if::launches, 0.01)) ==
        doctest::Approx(100 + 99 + 2).epsilon(0.02));
}

TEST_CASE("of two streams side by side the longer one counts") {
  program p;
  p.run(4, [&] {
    p.kernel_of(p.a, 100 * us, 7);
    p.kernel_of(p.b, 60 * us, 8);
    p.wait(0, 7);
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(105.5));
  CHECK(step.with(change_of(2, &what_if::kernels, 0.1)) == doctest::Approx(105.5));
  // The second stream outlasts the wait for the first: then its kernels of 60 us are 1 us apart.
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx((66.5 + 3 * 61) / 4));
}

TEST_CASE("work that begins when another stream's ended waited for it") {
  program p;
  p.run(4, [&] {
    p.kernel_of(p.a, 100 * us, 7);
    std::uint32_t const id = p.api(p.b, 3 * us, api_kind::launch);
    p.kernel_at(id, p.free[7] + us / 2, 60 * us, 8);
    p.wait(0, 8);
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(3.5 + 100 + 0.5 + 60 + 2));
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(116));
  what_if apart;
  apart.any_order = true;
  // The first stream's kernels of 100 us are 1 us apart.
  CHECK(step.with(apart) == doctest::Approx((103.5 + 3 * 101) / 4));
}

TEST_CASE("host work counts where the device waits for it, and nowhere else") {
  for (bool const hidden : {false, true}) {
    CAPTURE(hidden);
    program p;
    p.run(4, [&] {
      p.kernel_of(p.a, 50 * us);
      if (hidden) p.kernel_of(p.a, 450 * us);
      if (!hidden) p.wait();
      p.compute(p.b, 200 * us);
      p.kernel_of(p.a, 50 * us);
      p.wait();
    });
    answer const step(p);
    double const now = hidden ? 3.5 + 50 + 0.5 + 450 + 0.5 + 50 + 2 : 55.5 + 200 + 55.5;
    CHECK(step.now() == doctest::Approx(now));
    CHECK(step.with(change_of(2, &what_if::host_work, 0.25)) ==
          doctest::Approx(hidden ? now : now - 150));
    CHECK(step.with(change_of(1, &what_if::kernels, 0.2)) ==
          doctest::Approx(hidden ? 206 + 3 + 0.5 + 10 + 2 : now - 80));
  }
}

TEST_CASE("without its waits a step is as long as its device work") {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 10; ++i) {
      p.kernel_of(p.a, 20 * us);
      p.wait(p.b);
    }
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(255));
  // Ten kernels of 20 us, 1 us apart. The first is launched while the step before still runs.
  double const without = step.with(change_of(2, &what_if::waits, 0));
  CHECK(without == doctest::Approx(210).epsilon(0.01));
}

TEST_CASE("a loop that only launches: its kernels count until the host bounds it") {
  program p;
  p.run(20, [&] {
    for (int i = 0; i < 10; ++i) p.kernel_of(p.a, 10 * us);
  });
  answer const step(p);
  REQUIRE(step.steps.period_of_gpu);
  CHECK(step.now() == doctest::Approx(105).epsilon(0.01));
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(55).epsilon(0.01));
  CHECK(step.with(change_of(1, &what_if::kernels, 0.1)) == doctest::Approx(30).epsilon(0.03));
}

TEST_CASE("launches that wait in a full queue follow the device") {
  program p;
  std::vector<std::int64_t> ends;
  p.run(3, [&] {
    for (std::size_t i = 0; i < 1000; ++i) {
      // As many as 300 are under way.
      std::size_t const at = ends.size();
      std::int64_t const room = at < 300 ? 0 : ends[at - 300] + us;
      std::uint32_t const id = p.api(p.a, std::max(3 * us, room - p.now), api_kind::launch);
      p.kernel_at(id, std::max(p.now, p.free[7]) + us / 2, 24'500, 7);
      ends.push_back(p.free[7]);
    }
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(25'000).epsilon(0.01));
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(12'750).epsilon(0.02));
}

TEST_CASE("another thread keeps its distance from the start of the step") {
  program p;
  p.run(4, [&] {
    p.compute(p.b, 100 * us);
    std::int64_t const begin = p.now;
    std::uint32_t const id = p.api(p.a, 3 * us, api_kind::launch, 1);
    p.kernel_at(id, p.now + us / 2, 50 * us, 7);
    p.now = begin;
    p.kernel_of(p.a, 10 * us, 8);
    p.wait(0, 7);
  });
  answer const step(p);
  CHECK(step.now() == doctest::Approx(155.5));
  CHECK(step.with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(130.5));
}

TEST_CASE("without steps the run is predicted; without a whole timeline nothing is") {
  program p;
  for (int i = 0; i < 10; ++i) p.kernel_of(p.a, 100 * us);
  p.wait();
  p.end();
  double const window = answer(p).now();
  CHECK(window - answer(p).with(change_of(1, &what_if::kernels, 0.5)) == doctest::Approx(500));
  p.made.losses.launches_summed = 1;
  CHECK(std::isnan(answer(p).with(what_if())));
  program none;
  none.end();
  CHECK(std::isnan(answer(none).with(what_if())));
}

namespace {

/// Many kernels, which the maker looks for among the launches, for which long runs have no time.
void many_kernels(program& p, std::uint32_t where, int count) {
  for (int i = 0; i < count; ++i) {
    std::uint32_t const id = p.api(where, 3 * us, api_kind::launch);
    kernel_record record{};
    record.begin = std::max(p.now, p.free[7]) + us / 2;
    record.end = p.free[7] = record.begin + 10 * us;
    record.node = where;
    record.captured_by = no_node;
    record.correlation = id;
    record.name = 1;
    record.stream = 7;
    p.made.kernels.push_back(record);
  }
}

}  // namespace

TEST_CASE("without steps a run of more than 2^18 records has no prediction") {
  for (int const kernels : {1 << 17, (1 << 17) + 1}) {
    CAPTURE(kernels);
    program p;
    many_kernels(p, p.a, kernels);
    p.end();
    answer const run(p);
    double const shorter = run.with(change_of(1, &what_if::kernels, 0.5));
    CHECK(std::isnan(shorter) == (kernels > 1 << 17));
    CHECK(!(shorter > 0.6 * run.now()));
    std::vector<finding> findings(1);
    findings[0].part = finding_part::kernels;
    findings[0].row = 1;
    findings[0].cost_ns_per_step = 1e6;
    findings[0].ranges.push_back({"a", 1, 1e6, findings[0].part});
    predict_steps(findings, run.source, run.tree, run.steps);
    CHECK(std::isnan(findings[0].predicted_step_ns) == (kernels > 1 << 17));
  }
}

TEST_CASE("of steps that are not alike the last ones of 2^18 records count") {
  for (std::uint32_t const long_step : {5u, 15u, 19u}) {
    CAPTURE(long_step);
    program p;
    p.run(20, [&] {
      many_kernels(p, p.b, p.step == long_step ? 1 << 17 : 0);
      many_kernels(p, p.a, 10);
      p.wait();
    });
    answer const step(p);
    double const shorter = step.with(change_of(2, &what_if::kernels, 0.5));
    if (long_step == 19)
      CHECK(std::isnan(shorter));
    else
      CHECK(shorter == doctest::Approx(step.now()));
    double const other = step.now() - step.with(change_of(1, &what_if::kernels, 0.5));
    if (long_step != 19) CHECK(other == doctest::Approx(50).epsilon(0.01));
  }
}

TEST_CASE("without a change every timeline is as it was recorded") {
  sample::random_numbers random(7);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    profile made = sample::random_program(seed, 12).run(40);
    made.traced = true;
    made.end = 1 << 20;
    for (driver_call_record& each : made.launches)
      if (random.below(4) == 0) each.kind = api_kind::wait;
    for (kernel_record& each : made.kernels) each.stream = random.below(3);
    std::int64_t first = detail::latest_time;
    std::int64_t last = lost_time;
    auto const see = [&](std::int64_t begin, std::int64_t end) {
      first = std::min(first, begin);
      last = std::max(last, std::max(begin, end));
    };
    for (driver_call_record const& each : made.launches) see(each.begin, each.end);
    for (kernel_record const& each : made.kernels) see(each.begin, each.end);
    for (copy_record const& each : made.copies) see(each.begin, each.end);
    call_tree const tree(made, folding::by_name);
    step_analysis const steps = make_steps(made, tree, call_tree(made).rows());
    detail::step_replay replay(made, tree, steps);
    CHECK(replay.unchanged_ns() == static_cast<double>(last - first));
    // Shorter kernels never make it longer; whatever is taken away, it stays a time.
    what_if change;
    change.below = true;
    change.kernels = 0.5;
    CHECK(replay.step_ns(std::vector<what_if>(1, change)) <= steps.mean_ns);
    change.copies = change.launches = change.host_work = change.waits = change.allocations = 0.0;
    change.any_order = true;
    double const least = replay.step_ns(std::vector<what_if>(1, change));
    CHECK(least >= 0.0);
    CHECK(least <= steps.mean_ns);
    (void)replay.next_bottleneck();  // it ends
  }
}

TEST_CASE("a part of the roof is a factor of the range's own kernels") {
  roofline_table roofs;
  roofs.own.resize(3);
  roofs.own[1].time_ns = 100;
  roofs.own[1].roof_ns = 45;
  roofs.own[2].time_ns = 100;
  CHECK(at_roof(roofs, 1).kernels == doctest::Approx(0.5));
  CHECK(at_roof(roofs, 1, 0.4).kernels == 1.0);  // it is there already
  CHECK(at_roof(roofs, 2).kernels == 1.0);       // no roof is known
  CHECK(at_roof(roofs, 9).kernels == 1.0);
}

namespace {

/// 100 launches of 3 us, whose kernels take 1 us.
program launches_of_100() {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 100; ++i) p.kernel_of(p.a, us);
    p.wait();
  });
  return p;
}

finding cause(finding_part part, double cost, std::size_t row = 1) {
  finding made;
  made.part = part;
  made.row = row;
  made.cost_ns_per_step = cost;
  made.ranges.push_back({"", row, cost, part});
  return made;
}
constexpr auto of_launches = finding_part::launches;
constexpr auto of_kernels = finding_part::kernels;

}  // namespace

TEST_CASE("findings say what the step becomes without one of them") {
  program const p = launches_of_100();
  answer const step(p);
  std::vector<finding> findings{cause(of_launches, 200'000), cause(of_kernels, 50'000),
                                cause(finding_part::none, 200'000), cause(of_kernels, 0)};
  // The last one's numbers are in doubt.
  predict_steps(findings, step.source, step.tree, step.steps);
  // What gains most is first, by its cost where that is not predicted.
  CHECK(findings[0].part == finding_part::none);
  CHECK(std::isnan(findings[0].predicted_step_ns));
  CHECK(findings[0].gain_ns(step.steps.mean_ns) == 200'000);
  CHECK(findings[1].part == finding_part::launches);
  CHECK(findings[1].predicted_step_ns == doctest::Approx(155'000));
  CHECK(std::isnan(findings[2].predicted_step_ns));  // a doubt, before what gains nothing alone
  CHECK(findings[2].cost_ns_per_step == 0.0);
  CHECK(findings[3].predicted_step_ns == doctest::Approx(303'000));  // the launches stay
  // No gain above the cost.
  findings[1].cost_ns_per_step = 20'000;
  predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[1].predicted_step_ns == doctest::Approx(283'500));
}

TEST_CASE("what a step waits for without a cause: kernels, launches, copies or the host's code") {
  auto const next_of = [](finding_part part, auto body) {
    program p;
    p.run(4, [&] {
      body(p);
      p.wait();
      p.wait(0, 9);
    });
    answer const step(p);
    std::vector<finding> findings{cause(part, 90'000)};
    predict_steps(findings, step.source, step.tree, step.steps);
    CHECK(findings[0].leaves_step(step.steps.mean_ns) == (part == of_kernels));
    return findings[0].next_part == finding_part::none
               ? "none"
               : std::string(to_string(findings[0].next_part)) + " in " + findings[0].next_path;
  };
  CHECK(next_of(of_kernels, [](program& p) {
          p.kernel_of(p.a, 100 * us);
          p.kernel_of(p.b, 100 * us, 9);
        }) == "kernels in b");
  CHECK(next_of(of_kernels, [](program& p) {
          p.kernel_of(p.b, 500 * us);  // before and after the fix: nobody's next bottleneck
          p.wait();
          p.kernel_of(p.a, 100 * us);
          p.copy_of(p.b, 92 * us, 9);
        }) == "copies in b");
  CHECK(next_of(of_kernels, [](program& p) {
          p.kernel_of(p.a, 100 * us);
          p.compute(p.b, 110 * us);
        }) == "host work in b");
  CHECK(next_of(of_kernels, [](program& p) {
          p.kernel_of(p.a, 100 * us);
          for (int i = 0; i < 40; ++i) p.kernel_of(p.b, us, 9);
        }) == "launches in b");
  CHECK(next_of(of_launches, [](program& p) {
          for (int i = 0; i < 40; ++i) p.kernel_of(p.a, 2 * us);
        }) == "kernels in a");
  // The kernels of a range get shorter, its launches stay.
  CHECK(next_of(of_kernels, [](program& p) {
          p.kernel_of(p.a, 100 * us);
          for (int i = 0; i < 40; ++i) p.kernel_of(p.a, us, 9);
        }) == "launches in a");
  std::vector<finding> findings{cause(of_kernels, 90'000)};
  profile const empty;
  call_tree const tree(empty, folding::by_name);
  predict_steps(findings, empty, tree, step_analysis());
  CHECK(findings[0].next_part == finding_part::none);
}

TEST_CASE("a step that waits for another thread does not wait for the code of its own") {
  program p;
  p.run(4, [&] {
    p.kernel_of(p.a, 100 * us, 9);
    std::int64_t const begin = p.now;
    for (int i = 0; i < 3; ++i) {  // as autograd's thread does while backward is open
      p.now = begin + (20 + 60 * i) * us;
      std::uint32_t const id = p.api(p.b, 3 * us, api_kind::launch, 1);
      p.kernel_at(id, p.now + us, 10 * us, 7);
    }
    p.now = begin;
    p.compute(p.b, 200 * us);
    p.wait();
  });
  answer const step(p);
  std::vector<finding> findings{cause(of_kernels, 90'000)};
  predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[0].leaves_step(step.steps.mean_ns));
  CHECK(findings[0].next_part == finding_part::none);
}

TEST_CASE("what steps wait for is the same where windows lie far apart") {
  std::string last;
  for (std::int64_t const apart : {0, 1'000'000}) {
    program p;
    p.made.has_steps = true;
    for (std::uint32_t i = 0; i < 8; ++i) {
      if (i == 4) p.now += apart * us;
      std::int64_t const begin = p.now;
      p.step = i < 4 ? i : i + 10;
      p.kernel_of(p.a, 100 * us);
      p.kernel_of(p.b, 100 * us, 9);
      p.wait();
      p.wait(0, 9);
      p.made.steps.push_back({begin, p.now, p.step, 0});
    }
    p.end();
    answer const step(p);
    std::vector<finding> findings{cause(of_kernels, 90'000)};
    predict_steps(findings, step.source, step.tree, step.steps);
    CHECK(findings[0].next_part == of_kernels);
    CHECK(findings[0].next_path == "b");
  }
}

TEST_CASE("two steps that begin at one time, each with a call of the other's thread") {
  program p;
  p.kernel_at(p.launch(p.a, 10 * us, 12 * us, api_kind::launch, 1), 20 * us, 70 * us, 7);
  std::int64_t const begin = 200 * us;
  for (std::uint16_t thread : {0, 1}) {
    std::uint32_t const id = p.launch(p.a, begin, begin, api_kind::launch, thread);
    p.made.launches.back().step = thread + 1u;
    p.kernel_at(id, begin + (40 + 30 * thread) * us, 20 * us, 7u + thread);
  }
  p.made.has_steps = true;
  p.made.steps.push_back({0, 100 * us, 0, 0});
  p.made.steps.push_back({begin, begin + 100 * us, 1, 1});
  p.made.steps.push_back({begin, begin + 110 * us, 2, 0});
  p.now = begin + 200 * us;
  p.end();
  answer const step(p);
  std::vector<finding> findings{cause(of_kernels, 10'000)};
  predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[0].predicted_step_ns > 0.0);
}

TEST_CASE("what gains nothing alone gains with the first cause") {
  program const p = launches_of_100();
  answer const step(p);
  std::vector<finding> findings{cause(of_launches, 200'000), cause(of_kernels, 50'000)};
  fixed_together const made = predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(made.findings == std::vector<std::size_t>{0, 1});
  CHECK(made.step_ns == doctest::Approx(105'000));
  CHECK(findings[0].predicted_step_ns == doctest::Approx(155'000));
  CHECK(std::isnan(findings[0].with_first_ns));
  CHECK(findings[1].leaves_step(step.steps.mean_ns));
  CHECK(findings[1].with_first_ns == doctest::Approx(105'000));  // 100 kernels of half a us
}

TEST_CASE("idle time that recording adds is nobody's gain, also beside a cause of the GPU") {
  program const p = launches_of_100();
  answer const step(p);
  step_analysis steps = step.steps;
  steps.unrecorded_ns = 200'000;
  REQUIRE(steps.is_slowed());
  std::vector<finding> findings{cause(of_launches, 200'000), cause(of_kernels, 50'000)};
  predict_steps(findings, step.source, step.tree, steps);
  // The step without recording is 100 us of kernels and 100 us of idle time.
  CHECK(findings[1].with_first_ns == doctest::Approx(200'000 - 100'000 - 50'000).epsilon(0.02));
}

TEST_CASE("at best, kernels of one range gain what each of them may") {
  program p;
  p.run(4, [&] {
    p.kernels(p.a, 4, 100 * us);
    p.wait();
  });
  answer const step(p);
  std::vector<finding> findings{cause(of_kernels, 160'000)};
  findings[0].cost_ns_per_step = 320'000;
  findings[0].ranges[0].best_ns = 176'000;
  findings[0].ranges.push_back(findings[0].ranges[0]);
  double const now = step.steps.mean_ns;
  predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[0].predicted_step_ns == doctest::Approx(now - 320'000));
  CHECK(findings[0].best_step_ns == doctest::Approx(now - 352'000));
  // At best no less goes than is sure.
  findings[0].ranges[1].best_ns = 100'000;
  predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[0].best_step_ns == doctest::Approx(now - 336'000));
}

TEST_CASE("at best, launches end gaps between kernels, but not what recording adds to these") {
  program const p = launches_of_100();
  answer const step(p);
  step_analysis slowed = step.steps;
  slowed.unrecorded_ns = 200'000;
  for (step_analysis const* const steps : {&step.steps, &std::as_const(slowed)}) {
    std::vector<finding> findings{cause(of_launches, 200'000)};
    findings[0].ranges[0].best_ns = 99'000;
    predict_steps(findings, step.source, step.tree, *steps);
    CHECK(findings[0].predicted_step_ns - findings[0].best_step_ns ==
          doctest::Approx(99'000 + 99 * 500 * steps->own_idle_part()));
  }
}

TEST_CASE("the first causes together gain what each of them gains, and no more than they cost") {
  program p;
  p.run(4, [&] {
    p.kernels(p.a, 4, 100 * us);
    p.kernels(p.b, 4, 100 * us);
    p.wait();
  });
  answer const step(p);
  std::vector<finding> findings{cause(of_kernels, 200'000, 1), cause(of_kernels, 200'000, 2)};
  double const now = step.steps.mean_ns;
  fixed_together const made = predict_steps(findings, step.source, step.tree, step.steps);
  REQUIRE(made.findings.size() == 2);
  CHECK(findings[0].predicted_step_ns == doctest::Approx(now - 200'000));
  CHECK(made.step_ns == doctest::Approx(now - 400'000));
}

TEST_CASE("work that waits for other streams in its queue begins sooner without their order") {
  program p;
  p.run(4, [&] {
    p.compute(p.b, 50 * us);
    std::int64_t last = 0;
    for (std::uint32_t stream : {7, 8, 9, 10, 7, 8, 9, 10}) {
      std::uint32_t const id = p.api(p.a, 3 * us, api_kind::launch);
      p.kernel_at(id, std::max(p.now, last) + 6 * us, 100 * us, stream);
      last = p.free[stream];
    }
    p.wait(0, 10);
  });
  answer const step(p);
  double const now = step.steps.mean_ns;
  double const late = step.steps.idle_of(idle_cause::device);
  CHECK(late == doctest::Approx(7 * 5 * us));
  std::vector<finding> findings{cause(finding_part::order, 300 * us),
                                cause(finding_part::host_work, 50 * us, 2)};
  fixed_together const made = predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[0].predicted_step_ns == doctest::Approx(now - 300 * us - late));
  // Other idle time goes with the other cause, and none of it twice.
  REQUIRE(made.findings.size() == 2);
  CHECK(made.step_ns == doctest::Approx(now - 300 * us - step.steps.step_idle_ns()));
}

TEST_CASE("together are those that gain most together, not the first ones of the list") {
  program p;
  p.run(4, [&] {
    p.kernels(p.a, 4, 100 * us);
    p.kernels(p.b, 4, 50 * us);
    p.wait();
  });
  answer const step(p);
  // The second is a part of the first one's kernels: what it takes goes with those.
  std::vector<finding> findings{cause(of_kernels, 400'000), cause(of_kernels, 300'000),
                                cause(of_kernels, 200'000, 2)};
  fixed_together const made = predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[1].row == 1);
  CHECK(made.findings == std::vector<std::size_t>{0, 2});
  CHECK(made.step_ns < findings[0].predicted_step_ns - 190'000);
  // Alone there is nothing together.
  findings.resize(1);
  CHECK(predict_steps(findings, step.source, step.tree, step.steps).findings.empty());
}

TEST_CASE("a cause in several ranges goes in all of them at once") {
  program p;
  std::uint32_t const ranges[] = {p.a, p.b, p.node(0, "c"), p.node(0, "d"), p.node(0, "e")};
  p.run(4, [&] {
    for (std::uint32_t const range : ranges) p.kernels(range, 2, 100 * us);
    p.wait();
  });
  answer const step(p);
  // Two launches of 3 us and the device's 0.5 us, 10 kernels with 0.5 us between them, 2 us at the
  // end: the rest of the host's launches is hidden.
  double const now = 3'500 + 10 * 100'000 + 9 * 500 + 2'000;
  REQUIRE(step.steps.mean_ns == doctest::Approx(now));
  std::vector<finding> findings(1);
  findings[0].part = finding_part::kernels;
  findings[0].row = 1;
  findings[0].path = "a";
  for (std::size_t row = 1; row <= 5; ++row) {
    double const cost = 20'000.0 * static_cast<double>(row);  // of 200 us each
    findings[0].ranges.push_back({step.tree.rows()[row].path, row, cost, findings[0].part});
    findings[0].cost_ns_per_step += cost;
  }
  predict_steps(findings, step.source, step.tree, step.steps);
  CHECK(findings[0].predicted_step_ns == doctest::Approx(now - 300'000));
  // By the replay itself, all changes at once and one at a time.
  detail::step_replay replay(step.source, step.tree, step.steps);
  std::vector<what_if> changes;
  for (std::size_t row = 1; row <= 5; ++row) {
    what_if change;
    change.row = row;
    change.kernels = 1.0 - 0.1 * static_cast<double>(row);
    changes.push_back(change);
    CHECK(replay.step_ns(std::vector<what_if>(1, change)) ==
          doctest::Approx(now - 20'000.0 * static_cast<double>(row)));
  }
  CHECK(replay.step_ns(changes) == doctest::Approx(now - 300'000));
  // Of two changes of a range the later one holds; no change is what was recorded.
  changes.assign(1, changes[0]);
  what_if half = changes[0];
  half.kernels = 0.5;
  changes.push_back(half);
  CHECK(replay.step_ns(changes) == doctest::Approx(now - 100'000));
  CHECK(replay.step_ns({}) == doctest::Approx(now));
}

TEST_CASE("causes that one wait hides shorten the step only together") {
  // Launches of 50 us for kernels of 45 us: the host bounds the step.
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 10; ++i) {
      p.now += 47 * us;
      p.kernel_of(p.a, 45 * us);
    }
    p.wait();
  });
  answer const step(p);
  double const now = step.steps.mean_ns;
  std::vector<finding> findings{cause(of_kernels, 200'000)};
  predict_steps(findings, step.source, step.tree, step.steps);
  // Of the last kernel alone: 45 us less by 200 / 450.
  CHECK(findings[0].predicted_step_ns == doctest::Approx(now - 20'000));
  CHECK(findings[0].gain_ns(now) == doctest::Approx(20'000));
  CHECK_FALSE(findings[0].leaves_step(now));  // 3.6 % of it
  findings[0].predicted_step_ns = 0.9901 * now;
  CHECK(findings[0].leaves_step(now));
  findings[0].predicted_step_ns = 0.9899 * now;
  CHECK_FALSE(findings[0].leaves_step(now));
  findings[0].cost_ns_per_step = 0.0;  // a doubt is no cause that could be folded
  findings[0].predicted_step_ns = now;
  CHECK_FALSE(findings[0].leaves_step(now));
}

TEST_CASE("kernels that are on their way to the device do not wait for it") {
  // A kernel begins 8 us after its call, and the calls follow each other sooner: the kernel before
  // ends after the next call, and yet nothing waits for it.
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 100; ++i) {
      std::uint32_t const id = p.api(p.a, 4 * us, api_kind::launch);
      p.kernel_at(id, std::max(p.now + 4 * us, p.free[7] + us), us, 7);
    }
    p.wait();
  });
  answer const step(p);
  double const now = step.now();
  CHECK(now == doctest::Approx(407.0).epsilon(0.01));
  double const then = step.with(change_of(1, &what_if::launches, 0.0));
  CHECK(then == doctest::Approx(8 + 100 + 99 * 0.5 + 2));  // 1 us a kernel, 0.5 us to the next
  CHECK(step.with(change_of(1, &what_if::kernels, 0.0)) > 0.95 * now);  // the host bounds it
}

// --- what a finding says the step becomes, compared with the program without it ---

namespace {

struct program_pair {
  char const* name;
  char const* rule;
  char const* path;
  void (*slow)(program&);
  void (*without)(program&);
};

constexpr program_pair pairs[] = {
    {"launches", "launch-bound", "a",
     [](program& p) {
       for (int i = 0; i < 300; ++i) {
         p.kernels(p.a, 1, us);
         p.now += 4 * us;  // of the library that launches
       }
       p.kernels(p.b, 4, 300 * us);
       p.wait();
     },
     [](program& p) {
       p.kernels(p.a, 1, 300 * us);  // fused
       p.kernels(p.b, 4, 300 * us);
       p.wait();
     }},
    {"host", "host-work", "b",
     [](program& p) {
       p.kernels(p.a, 4, 200 * us);
       p.wait();
       p.compute(p.b, 1500 * us);
       p.kernels(p.a, 4, 200 * us);
       p.wait();
     },
     [](program& p) {
       p.kernels(p.a, 4, 200 * us);
       p.wait();
       p.kernels(p.a, 4, 200 * us);
       p.wait();
     }},
    {"hidden-host", "host-work", "b",
     [](program& p) {
       p.kernels(p.a, 1, 200 * us);
       p.compute(p.b, 3000 * us);
       p.kernels(p.a, 4, 200 * us);
       p.kernels(p.a, 1, 1000 * us);
       p.compute(p.b, 800 * us);  // the device is busy meanwhile
       p.wait();
     },
     [](program& p) {
       p.kernels(p.a, 5, 200 * us);
       p.kernels(p.a, 1, 1000 * us);
       p.wait();
     }},
    // Each launch comes behind the host's work: without it the next ones hide its latency.
    {"host-latency", "host-work", "b",
     [](program& p) {
       for (int i = 0; i < 20; ++i) {
         p.kernels(p.a, 1, 13 * us);
         p.compute(p.b, 200 * us);
       }
       p.wait();
     },
     [](program& p) {
       p.kernels(p.a, 20, 13 * us);
       p.wait();
     }},
    {"waits", "wait-in-step", "b",
     [](program& p) {
       for (int i = 0; i < 100; ++i) {
         p.kernels(p.a, 1, 20 * us);
         p.wait(p.b);
         p.now += 6 * us;
       }
     },
     [](program& p) {
       for (int i = 0; i < 100; ++i) {
         p.kernels(p.a, 1, 20 * us);
         p.now += 6 * us;
       }
       p.wait(p.b);
     }},
    {"few-blocks", "few-blocks", "b",
     [](program& p) {
       p.kernels(p.a, 1, 1000 * us);
       p.kernels(p.b, 1, 4000 * us, 33);
       p.wait();
     },
     [](program& p) {
       p.kernels(p.a, 1, 1000 * us);
       p.kernels(p.b, 1, 1000 * us);
       p.wait();
     }},
    // The host bounds the step: a kernel that ends before it gains nothing.
    {"few-blocks-hidden", "few-blocks", "b",
     [](program& p) {
       p.kernels(p.b, 1, 2000 * us, 33);
       p.compute(p.a, 4000 * us);
       p.wait();
     },
     [](program& p) {
       p.kernels(p.b, 1, 500 * us);
       p.compute(p.a, 4000 * us);
       p.wait();
     }},
    {"copy", "copy-in-step", "b",
     [](program& p) {
       p.copy_of(p.b, 900 * us, 7);
       p.kernels(p.a, 4, 400 * us);
       p.wait();
     },
     [](program& p) {
       p.copy_of(p.b, 900 * us, 8);  // overlaps the kernels
       p.kernels(p.a, 4, 400 * us);
       p.wait();
     }},
};

}  // namespace

TEST_CASE("the predicted step is within 15 % of that of the program without the finding") {
  for (program_pair const& pair : pairs) {
    std::string const name = pair.name;
    CAPTURE(name);
    program slow;
    slow.made.environment.devices.push_back(
        {0, "H200", 132, 9, 0, 1980000, 3201000, 6016, 50u << 20, 0, {}, {}, {}});
    slow.run(4, [&] { pair.slow(slow); });
    program without;
    without.run(4, [&] { pair.without(without); });
    answer const step(slow);
    vec<range_row> const& rows = step.tree.rows();
    vec<kernel_row> const kernels = make_kernel_table(slow.made, step.tree);
    roofline_table const roofs = make_roofline(slow.made, rows, step.steps, nullptr);
    findings_table table =
        make_findings({slow.made, rows, kernels, step.steps, roofs, nullptr, step.tree, rows});
    predict_steps(table.findings, slow.made, step.tree, step.steps);
    double predicted = 0.0;
    double const then = answer(without).now() * us;
    double const gpu_idle = step.steps.gpu_idle_ns;
    for (finding const& each : table.findings) {
      if (each.rule != pair.rule || each.path != pair.path) continue;
      predicted = each.predicted_step_ns;
      // The printed cost is never less than the gain, nor the gain more than the device idles.
      double const gain = each.gain_ns(step.steps.mean_ns);
      CHECK(each.cost_ns_per_step >= gain * (1.0 - 1e-9));
      if (each.part == finding_part::host_work) CHECK(gain <= gpu_idle * (1.0 + 1e-9));
    }
    CHECK(std::abs(predicted - then) < 0.15 * then);
  }
}

}  // namespace what_if_test
