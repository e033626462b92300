// Sessions with `live`: samples of the device go to the ranges whose work ran meanwhile.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <random>
#include <strata/base/clock.hpp>
#include <strata/collect/counters/device_sampler.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/session/table_reports.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/step_traffic.hpp>
#include <string>

#include "../counter_tables.hpp"
#include "../sanitizers.hpp"
#include "../work_folder.hpp"
#include "counter_run.hpp"
#include "fake_nvml.hpp"
#include "fake_sampling.hpp"
#include "live/attribution.hpp"
#include "recording/recording.hpp"

namespace live_test {

using strata::counter_cell;
using strata::counter_metric;
using strata::counter_scope;
using strata::counter_set;
using strata::counter_table;
using strata::profile;

namespace {

void rest(long ms) {
  timespec const time{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

/// Waits until something is so, as long as a loaded machine needs.
template <class Condition>
void await(Condition is_so) {
  for (int i = 0; i < 100'000 && !is_so(); ++i) rest(1);
  REQUIRE(is_so());
}

/// How much of a value a range may miss. Sanitizers make reads of clocks take tens of us while
/// other programs run, and times of samples and kernels are as far apart.
constexpr double near(double part) { return test::sanitized ? 0.6 : part; }

struct live : fake::session {
  /// A loaded machine may stop the thread that samples for seconds.
  static char const* patience(std::string const& options) {
    return options.find("drain=") == std::string::npos ? ",drain=60000," : ",";
  }
  explicit live(std::string const& options, char const* failing = nullptr,
                char const* formats = "none")
      : session(fake::configure(std::string("formats=") + formats + patience(options) + options)) {
    fake::unscript();
    fake_profiler_reset();
    fake_sampling_reset();
    fake_nvml_reset(25'000'000);
    strata::detail::device_sampler::settling_ns() = 0;
    if (failing != nullptr && std::string(failing).rfind("nvml", 0) == 0)
      fake_nvml_fail(failing, 3);
    else if (failing != nullptr)
      fake_fail(failing, 35);
    misuses = fake_misuse_count();
    REQUIRE(start().ok());
  }
  ~live() {
    stop();
    INFO(std::string(fake_last_misuse()));
    CHECK(fake_misuse_count() == misuses);
    CHECK(fake_sampling_enabled() == 0);
    fake_profiler_reset();
    fake_sampling_reset();
  }
  std::size_t misuses = 0;
};

/// A kernel of a range, at a time after `begin`. Units: us.
void kernel(std::int64_t begin, std::int64_t from, std::int64_t to, char const* name) {
  fake_set_next_times(static_cast<std::uint64_t>(begin + 1000 * from),
                      static_cast<std::uint64_t>(begin + 1000 * to));
  (void)fake::launch(name);
}

/// The cell of a range in the table of the set.
counter_cell cell(profile const& p, std::string const& path, std::string const& key,
                  counter_scope scope = counter_scope::self) {
  strata::call_tree const tree(p);
  counter_table const table = make_counter_table(p, tree, counter_set::live);
  std::size_t const metric = table.find(key);
  REQUIRE(metric != counter_table::none);
  for (std::size_t row = 0; row < tree.rows().size(); ++row)
    if (tree.rows()[row].path == path) return table.at(row, metric, scope);
  FAIL("no row " << path);
  return {};
}

/// Steps of two ranges: `a` moves 3 times as much in a ns as `b`, with a pause between them.
/// `ahead`, ms: then no kernel begins before its launch, also on a loaded machine.
void run(int steps, long ahead = 200) {
  std::int64_t const begin = strata::detail::realtime_ns() + ahead * 1'000'000;
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    {
      STRATA_RANGE("a");
      kernel(begin, 100 * i, 100 * i + 40, "one");
    }
    STRATA_RANGE("b");
    kernel(begin, 100 * i + 50, 100 * i + 90, "two");
  }
  // A sample each 10 us, in which what ran moves 300 or 100 bytes.
  for (int i = 0; i < 10 * steps; ++i) {
    int const at = i % 10;
    double const bytes = at < 4 ? 300.0 : at > 4 && at < 9 ? 100.0 : 0.0;
    REQUIRE(fake_sample(static_cast<std::uint64_t>(begin + 10'000 * i),
                        static_cast<std::uint64_t>(begin + 10'000 * i + 10'000), bytes) == 1);
  }
  rest(ahead + 2 + steps / 10);  // the device has done it
}

void await_sampling() {
  REQUIRE(fake_use_cuda() != 0);
  await([] { return fake_sampling_started() == 1; });
}

}  // namespace

TEST_CASE("trace,live: each range has what was sampled while its kernels ran") {
  live session("trace,live,interval=20");
  await_sampling();
  CHECK(fake_sampling_interval() == 20'000);
  run(40);
  session.stop();
  profile const& p = session.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  counter_set const& set = p.counters(counter_set::live);
  CHECK(set.method == strata::counting::sampled);
  CHECK(set.where == "GH100");
  // Of a step: 4 samples of 300 and of 100; the stand-in counts reads and writes alike.
  for (std::string const key : {"hbm_read_bytes", "hbm_write_bytes"}) {
    CHECK(cell(p, "a", key).value == doctest::Approx(1200.0).epsilon(near(0.05)));
    CHECK(cell(p, "b", key).value == doctest::Approx(400.0).epsilon(near(0.05)));
  }
  CHECK(cell(p, "a", "hbm_bytes").value == doctest::Approx(2400.0).epsilon(near(0.05)));
  CHECK(cell(p, "", "hbm_bytes", counter_scope::total).value ==
        doctest::Approx(3200.0).epsilon(near(0.02)));
  // The bridge between the clocks is some 100 ns off: the values know it.
  counter_cell const known = cell(p, "a", "hbm_bytes");
  CHECK(std::abs(known.value - 2400.0) <= known.plus_minus + 1e-4 * known.value);
  CHECK(known.plus_minus < 0.2 * known.value);
  REQUIRE(p.step_traffic.size() >= 39);
  for (strata::step_traffic_record const& step : p.step_traffic)
    CHECK(step.bytes == doctest::Approx(3200.0).epsilon(near(0.05)));
  INFO(set.about);
  CHECK(fake::says(set.about, "while work ran"));
}

TEST_CASE("trace,live: each range has the energy that the device used while its kernels ran") {
  live session("trace,live,interval=1000");
  await_sampling();
  std::int64_t const begin = strata::detail::realtime_ns() + 50'000'000;
  std::mt19937_64 random(7);
  double used[] = {0.0, 0.0};
  double const watts[] = {400.0, 200.0};
  constexpr int steps = 20;
  int at = 0;
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    for (int which = 0; which < 2; ++which) {
      STRATA_RANGE(which == 0 ? "a" : "b");
      int const us = static_cast<int>(20'000 + random() % 80'000);
      kernel(begin, at, at + us, "one");
      fake_nvml_use(static_cast<std::uint64_t>(begin + 1000 * std::int64_t{at}),
                    static_cast<std::uint64_t>(begin + 1000 * std::int64_t{at + us}),
                    watts[which] - 100.0);
      used[which] += 1e-6 * us * watts[which] / steps;
      at += us;
    }
  }
  for (int i = 0; i < at / 1000; ++i)
    REQUIRE(fake_sample(static_cast<std::uint64_t>(begin + 1'000'000 * std::int64_t{i}),
                        static_cast<std::uint64_t>(begin + 1'000'000 * std::int64_t{i + 1}),
                        10.0) == 1);
  rest(at / 1000 + 300);
  std::size_t const reads = fake_nvml_reads();
  session.stop();
  profile const& p = session.profile();
  CHECK(p.problems.empty());
  CHECK(p.energy.size() > 10);
  CHECK(reads < 5 * p.energy.size());
  counter_set const& set = p.counters(counter_set::live);
  INFO(set.about);
  CHECK(fake::says(set.about, "updates of its counter"));
  if (test::sanitized) return;  // on a loaded machine reads are too late for these ranges
  counter_cell const a = cell(p, "a", "energy");
  counter_cell const b = cell(p, "b", "energy");
  CAPTURE(used[0]);
  CAPTURE(used[1]);
  CHECK(std::abs(a.value - used[0]) <= a.plus_minus + 0.05 * used[0]);
  CHECK(std::abs(b.value - used[1]) <= b.plus_minus + 0.05 * used[1]);
  CHECK(a.value > b.value);
  CHECK(cell(p, "", "energy", counter_scope::total).value == doctest::Approx(a.value + b.value));
}

TEST_CASE("why there is no energy is said") {
  SUBCASE("NVML refuses") {
    live session("trace,live,interval=20", "nvmlDeviceGetTotalEnergyConsumption");
    await_sampling();
    run(3);
    await([] { return fake_sampling_waiting() == 0; });
    session.stop();
    counter_set const& set = session.profile().counters(counter_set::live);
    CHECK(
        fake::says(set.about, "Energy was not read: nvmlDeviceGetTotalEnergyConsumption says 3. "));
    CHECK(session.profile().problems.empty());
    CHECK(session.profile().energy.empty());
  }
  SUBCASE("too few updates") {
    live session("trace,live,interval=20");
    await_sampling();
    run(3);
    await([] { return fake_nvml_reads() > 4; });
    session.stop();
    CHECK(session.profile().energy.size() <= 10);
    counter_cell const a = cell(session.profile(), "a", "energy");
    CHECK(std::isnan(a.value));
  }
  SUBCASE("a read fails") {
    live session("trace,live,interval=20");
    await_sampling();
    await([] { return fake_nvml_reads() > 2; });
    fake_nvml_fail("nvmlDeviceGetTotalEnergyConsumption", 999);
    std::size_t const before = fake_nvml_reads();
    await([&] { return fake_nvml_reads() > before + 1; });
    run(3);
    session.stop();
    CHECK(fake::has_problem(session.profile(), "the energy of the GPU could not be read"));
  }
}

TEST_CASE("clocks that are a little apart are moved to where samples show the work") {
  live session("trace,live,interval=20");
  await_sampling();
  fake_sampling_skew(600);
  run(60);
  session.stop();
  counter_cell const a = cell(session.profile(), "a", "hbm_bytes");
  counter_cell const b = cell(session.profile(), "b", "hbm_bytes");
  CHECK(a.value == doctest::Approx(2400.0).epsilon(near(0.03)));
  CHECK(b.value == doctest::Approx(800.0).epsilon(near(0.05)));
  CHECK(std::abs(a.value - 2400.0) <= a.plus_minus + near(1e-4) * a.value);
  CHECK(std::abs(b.value - 800.0) <= b.plus_minus + near(1e-4) * b.value);
  counter_cell const all = cell(session.profile(), "", "hbm_bytes", counter_scope::total);
  CHECK(all.value == doctest::Approx(a.value + b.value));
  CHECK(all.plus_minus ==
        doctest::Approx(std::sqrt(a.plus_minus * a.plus_minus + b.plus_minus * b.plus_minus)));
}

TEST_CASE("live alone: the steps have their bytes, and CUPTI has no subscriber") {
  live session("live,interval=20");
  await_sampling();
  CHECK(fake_subscribed() == 0);
  auto const sample = [](std::int64_t from, std::int64_t to, double bytes) {
    (void)fake_sample(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), bytes);
  };
  std::int64_t end = strata::detail::realtime_ns();
  for (int i = 0; i < 5; ++i) {
    std::int64_t const begin = strata::detail::realtime_ns();
    {
      STRATA_STEP();
      rest(4);
    }
    if (i != 0) sample(end, begin, 0.0);
    end = strata::detail::realtime_ns();
    // The third step begins without samples.
    sample(i == 2 ? begin + 1'000'000 : begin, end, 100.0 * (i + 1));
  }
  session.stop();
  profile const& p = session.profile();
  CHECK(!p.traced);
  REQUIRE(p.step_traffic.size() == 4);  // without the third
  for (strata::step_traffic_record const& step : p.step_traffic)
    CHECK(step.bytes == doctest::Approx(200.0 * (step.step + 1)).epsilon(near(0.05)));
  // Of the third step three quarters of the time.
  CHECK(cell(p, "", "hbm_bytes", counter_scope::total).value ==
        doctest::Approx(630.0).epsilon(near(0.08)));
}

TEST_CASE("what sampling lost is said") {
  SUBCASE("a full buffer") {
    live session("trace,live,interval=20");
    await_sampling();
    run(3);
    await([] { return fake_sampling_waiting() == 0; });
    fake_sampling_set_room(10);
    run(3);
    await([] { return fake_sampling_starts() == 2; });
    fake_sampling_set_room(1000);
    run(3);
    session.stop();
    CHECK(
        fake::has_problem(session.profile(), "were not sampled (full buffers of the hardware: 1)"));
    counter_cell const scaled = cell(session.profile(), "a", "hbm_bytes");
    CHECK(scaled.value == doctest::Approx(2400.0).epsilon(0.1));
    CHECK(scaled.note != 0);
  }
  SUBCASE("CUPTI refuses") {
    std::size_t const before = fake_calls("cuptiPmSamplingDisable");
    live session("trace,live", "cuptiPmSamplingSetConfig");
    REQUIRE(fake_use_cuda() != 0);
    await([before] { return fake_calls("cuptiPmSamplingDisable") > before; });
    session.stop();
    fake_fail("cuptiPmSamplingSetConfig", 0);
    CHECK(
        fake::has_problem(session.profile(), "live: nothing is sampled: cuptiPmSamplingSetConfig"));
    CHECK(session.profile().counter_sets.empty());
  }
  SUBCASE("decoding fails") {
    live session("trace,live,interval=20");
    await_sampling();
    run(3);
    await([] { return fake_sampling_waiting() == 0; });
    fake_fail("cuptiPmSamplingDecodeData", 999);
    await([] { return fake_sampling_started() == 0; });
    fake_fail("cuptiPmSamplingDecodeData", 0);
    session.stop();
    CHECK(fake::has_problem(session.profile(), "the sampling ended early"));
    CHECK(cell(session.profile(), "a", "hbm_bytes").value > 0.0);
  }
}

TEST_CASE("live ends where counting begins: both want the counters") {
  live session("trace,live,interval=20,active=3,counters=hbm");
  await_sampling();
  run(3, 0);
  std::size_t before = fake_sampling_enabled();
  CHECK(before == 1);
  fake::run_steps(4, [] {
    STRATA_RANGE("a");
    fake::launch_blocks(1);
  });
  CHECK(fake_sampling_enabled() == 0);
  session.stop();
  CHECK(!session.profile().counters().values.empty());
  CHECK(!session.profile().counters(counter_set::live).values.empty());
}

TEST_CASE("live ends where the program counts by itself") {
  live session("trace,live,interval=20");
  await_sampling();
  run(3);
  CHECK(fake_sampling_enabled() == 1);
  (void)session.counters("hbm");
  CHECK(fake_sampling_enabled() == 0);
}

TEST_CASE("a sampling that does not come back: nothing is counted, and no second one begins") {
  live session("trace,live,interval=20,drain=50,active=2,counters=hbm");
  await_sampling();
  fake_hang(fake_blocks_sampling);
  await([] { return fake_waits() == 1; });
  std::size_t const before = fake_calls("cuptiRangeProfilerEnable");
  fake::run_steps(5, [] { fake::launch_blocks(1); });
  CHECK(fake_calls("cuptiRangeProfilerEnable") == before);
  session.stop();
  CHECK(fake::has_problem(session.profile(), "live has the counters of the device"));
  CHECK(fake::has_problem(session.profile(), "what was sampled is lost"));
  (void)session.start();
  session.stop();
  CHECK(fake::has_problem(session.profile(), "an earlier session's call of CUPTI"));
  fake_hang(0);
  await([] { return fake_sampling_enabled() == 0; });
  rest(20);  // the thread ends
  REQUIRE(session.start().ok());
  await([] { return fake_sampling_started() == 1; });
}

TEST_CASE("where a capture is open at the end, CUPTI is left alone") {
  using strata::detail::capture_guard;
  live session("live,interval=20");
  await_sampling();
  int place = 0;
  auto* const stream = reinterpret_cast<strata::detail::driver::stream_handle>(&place);
  auto const ends = [] {
    return fake_calls("cuptiPmSamplingStop") + fake_calls("cuptiPmSamplingDisable");
  };
  std::size_t const before = ends();
  capture_guard::capture_began(stream, nullptr);
  session.stop();
  capture_guard::capture_ended(stream);
  CHECK(ends() == before);
  CHECK(fake_sampling_enabled() == 1);
  fake_sampling_forget();
}

TEST_CASE("within a capture a full buffer is not begun anew") {
  using strata::detail::capture_guard;
  live session("live,interval=20");
  await_sampling();
  int place = 0;
  auto* const stream = reinterpret_cast<strata::detail::driver::stream_handle>(&place);
  fake_sampling_set_room(0);
  capture_guard::capture_began(stream, nullptr);
  std::size_t const decoded = fake_calls("cuptiPmSamplingDecodeData");
  (void)fake_sample(1000, 2000, 1.0);
  await([&] { return fake_calls("cuptiPmSamplingDecodeData") > decoded; });
  rest(30);  // it looks again and again
  CHECK(fake_sampling_starts() == 1);
  CHECK(fake_sampling_enabled() == 1);
  capture_guard::capture_ended(stream);
  await([] { return fake_sampling_starts() == 2; });
}

TEST_CASE("samples take a quarter of log=, however many there are") {
  live session("live,interval=20,log=1");
  await_sampling();
  auto const begin = static_cast<std::uint64_t>(strata::detail::realtime_ns());
  std::mt19937_64 random(3);
  double sum = 0.0;
  constexpr std::uint64_t count = 40'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const amount = static_cast<double>(random() % 1'000'000);
    sum += amount;
    (void)fake_sample(begin + i * 10, begin + i * 10 + 10, amount);
    if (i % 1000 == 999) await([] { return fake_sampling_waiting() == 0; });
  }
  session.stop();
  strata::device_samples const& all = session.profile().samples;
  CHECK(all.count > 1000);
  CHECK(all.count < count / 2);
  CHECK(all.coded.size() <= (std::size_t{1} << 20) / 8);  // with as much for joining them
  double kept = 0.0;
  strata::detail::sample_reader reader(all);
  for (strata::detail::counted_sample now; reader.next(now);)
    kept += static_cast<double>(now.counts[0]);
  CHECK(kept == sum);
  CHECK(fake::says(session.profile().counters(counter_set::live).about, "samples, kept as "));
}

TEST_CASE("files have what was sampled, its method and its interval") {
  test::work_folder const here;
  live session("trace,live,interval=20,out=" + (here / "out"), nullptr,
               "table+csv+json+recording+openmetrics");
  await_sampling();
  run(20);
  REQUIRE(session.report().ok());
  std::string const csv = test::content(here / "out/live_counters.csv");
  CHECK(fake::says(csv, ",note,plus_minus"));
  CHECK(fake::says(csv, ",hbm_bytes,"));
  CHECK(fake::says(csv, ",self,sampled,1,"));
  std::string const json = test::content(here / "out/profile.json");
  CHECK(fake::says(json, "\"live_counters\""));
  CHECK(fake::says(json, "\"self_plus_minus\""));
  CHECK(fake::says(json, "\"p99_hbm_bytes\""));
  CHECK(fake::says(test::content(here / "out/metrics.prom"), "strata_step_hbm_p50_bytes{"));
}

TEST_CASE("a recorder without the analysis adds up by step, and its recording says the rest") {
  test::work_folder const here;
  std::string const file = here / "out/profile.strata";
  double in_program[3] = {};
  for (bool const alone : {true, false}) {
    std::string const options = "trace,live,interval=20,out=" + (here / "out");
    strata::detail::report_side const* const all = strata::detail::installed_reports();
    live session(options, nullptr, "recording");
    if (alone) strata::detail::installed_reports() = &strata::detail::tables_alone;
    await_sampling();
    run(40);
    CHECK(session.report().ok());
    strata::detail::installed_reports() = all;
    profile const& p = session.profile();
    counter_set const& set = p.counters(counter_set::live);
    INFO(set.about);
    profile read;
    REQUIRE(strata::read_recording_file(file, read).ok());
    CHECK(read.samples.count == p.samples.count);
    std::size_t at = 0;
    for (char const* const path : {"a", "b"}) {
      counter_cell const made = cell(read, path, "hbm_bytes");
      CHECK(made.value == doctest::Approx(at == 0 ? 2400.0 : 800.0).epsilon(near(0.05)));
      CHECK(!std::isnan(made.plus_minus));
      in_program[at++] = cell(p, path, "hbm_bytes").value;
      CHECK(std::isnan(in_program[at - 1]) == alone);
      if (!alone) CHECK(in_program[at - 1] == doctest::Approx(made.value).epsilon(near(1e-4)));
    }
    CHECK(fake::says(read.counters(counter_set::live).about, "while work ran"));
    REQUIRE(read.step_traffic.size() >= 39);
    CHECK(strata::make_step_traffic(read).p50 == doctest::Approx(3200.0).epsilon(near(0.06)));
    if (!alone) continue;
    CHECK(set.values.size() == set.names.size());  // of the root alone
    CHECK(cell(p, "", "hbm_bytes", counter_scope::total).value ==
          doctest::Approx(3200.0).epsilon(near(0.05)));
    CHECK(fake::says(set.about, "strata report"));
    strata::call_tree const tree(p);
    counter_table const table = make_counter_table(p, tree, counter_set::live);
    CHECK(fake::says(table.note(cell(p, "a", "hbm_bytes")), "strata report"));
    CHECK(p.samples.coded.size() < 25 * p.samples.count);
  }
}

namespace {

/// Steps of some ms, in which `a` moves 40 in a us and `b` 10; or the other way round in time.
/// The host marks them, and the device begins later.
void run_for_map(int steps, int first_other = 1000, double more = 1.0) {
  std::int64_t t = strata::detail::realtime_ns();  // where the next sample begins
  for (int i = 0; i < steps; ++i) {
    std::int64_t const begin = strata::detail::realtime_ns();
    bool const other = i >= first_other;
    auto const at = [&](int us) { return other ? 4200 - us : us; };
    {
      STRATA_STEP();
      {
        STRATA_RANGE("a");
        kernel(begin, std::min(at(500), at(1500)), std::max(at(500), at(1500)), "one");
      }
      {
        STRATA_RANGE("b");
        kernel(begin, std::min(at(2000), at(3600)), std::max(at(2000), at(3600)), "two");
      }
      rest(5);
    }
    std::int64_t const end = strata::detail::realtime_ns();
    for (; t + 70'000 <= end; t += 70'000) {
      double bytes = 0.0;
      for (std::int64_t ns = t; ns < t + 70'000; ns += 1000) {
        auto const us = at(static_cast<int>((ns - begin) / 1000));
        if (us >= 500 && us < 1500) bytes += 40.0;
        if (us >= 2000 && us < 3600) bytes += 10.0 * more;
      }
      (void)fake_sample(static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(t + 70'000),
                        bytes);
    }
  }
  rest(10);
}

profile record_for_map(std::string const& options, int steps, int first_other = 1000,
                       double more = 1.0) {
  live session(options);
  await_sampling();
  {
    STRATA_STEP();  // while which the sampling begins
    rest(20);
  }
  run_for_map(steps, first_other, more);
  session.stop();
  return session.profile();
}

/// Steps that the set says do not look like the map.
int misfits(std::string const& about) {
  std::size_t const at = about.find(" of them do not look like the map");
  if (at == std::string::npos) return 0;
  return std::stoi(about.substr(about.rfind(' ', at - 1)));
}

}  // namespace

TEST_CASE("live alone: a map of a traced step says whose the samples are") {
  profile const traced = record_for_map("trace,live,interval=70", 12);
  profile alone = record_for_map("live,interval=70", 30);
  CHECK(std::isnan(cell(alone, "a", "hbm_bytes").value));
  double const whole = cell(alone, "", "hbm_bytes", counter_scope::total).value;
  REQUIRE(strata::live::attribute_by_map(alone, traced).ok());
  std::string const& about = alone.counters(counter_set::live).about;
  INFO(about);
  counter_cell const a = cell(alone, "a", "hbm_bytes");
  counter_cell const b = cell(alone, "b", "hbm_bytes");
  CHECK(std::abs(a.value - 80'000.0) <= a.plus_minus + 0.02 * 80'000.0);
  CHECK(std::abs(b.value - 32'000.0) <= b.plus_minus + 0.02 * 32'000.0);
  CHECK(a.value == doctest::Approx(80'000.0).epsilon(near(0.08)));
  CHECK(b.value == doctest::Approx(32'000.0).epsilon(near(0.08)));
  CHECK(a.value + b.value == doctest::Approx(whole).epsilon(near(0.08)));
  CHECK(fake::says(about, "By a map of the step with 2 kernels and copies, aligned with"));
  CHECK(fake::says(about, "while work ran"));
  CHECK(misfits(about) < 5);  // on a loaded machine a mark may be late
  CHECK(!fake::says(about, "where the map has"));
}

TEST_CASE("live alone: steps that are others than the map's are counted and said") {
  profile const traced = record_for_map("trace,live,interval=70", 12);
  SUBCASE("in another order") {
    profile alone = record_for_map("live,interval=70", 30, 24);
    REQUIRE(strata::live::attribute_by_map(alone, traced).ok());
    std::string const& about = alone.counters(counter_set::live).about;
    INFO(about);
    CHECK(misfits(about) >= 3);
    CHECK(misfits(about) < 11);
    CHECK(fake::says(about, ", the first is step "));
    CHECK(cell(alone, "a", "hbm_bytes").value == doctest::Approx(80'000.0).epsilon(near(0.08)));
  }
  SUBCASE("with other traffic") {
    profile alone = record_for_map("live,interval=70", 30, 1000, 3.0);
    REQUIRE(strata::live::attribute_by_map(alone, traced).ok());
    std::string const& about = alone.counters(counter_set::live).about;
    INFO(about);
    CHECK(fake::says(about, "where the map has"));
    CHECK(cell(alone, "b", "hbm_bytes").value == doctest::Approx(96'000.0).epsilon(near(0.08)));
  }
}

TEST_CASE("a map is refused where it is of no use") {
  profile const traced = record_for_map("trace,live,interval=70", 3);
  profile alone = record_for_map("live,interval=70", 3);
  auto const refusal = [](profile target, profile const& map) {
    strata::status const outcome = strata::live::attribute_by_map(target, map);
    CHECK(outcome.code() == strata::errc::bad_argument);
    return outcome.message();
  };
  CHECK(fake::says(refusal(traced, traced), "leave --map out"));
  CHECK(fake::says(refusal(alone, alone), "record it with STRATA=trace"));
  CHECK(fake::says(refusal(alone, {}), "record it with STRATA=trace"));
  CHECK(fake::says(refusal({}, traced), "record it with STRATA=live"));
  profile without = alone;
  without.step_traffic = {};
  CHECK(fake::says(refusal(without, traced), "sampled from its begin to its end"));
}

TEST_CASE("a recording that says that more ran at once than can is not split") {
  live session("trace,live,interval=20");
  await_sampling();
  run(40);
  session.stop();
  profile p = session.profile();
  strata::kernel_record const first = p.kernels[0];
  for (int i = 0; i < 40'000; ++i) p.kernels.push_back(first);
  strata::live::attribute_samples(p);
  CHECK(fake::says(p.counters(counter_set::live).about, "more ran at once than a GPU can run"));
}

TEST_CASE("each window that is reported while the program runs has its samples") {
  test::work_folder folder;
  std::string const out = folder / "out";
  live session("live,interval=20,every=12,active=6,keep=9,out=" + out, nullptr, "openmetrics+json");
  REQUIRE(fake_use_cuda() != 0);
  auto const has = [&](int window) {
    return test::fs::exists(out + "/00" + std::to_string(window) + "/metrics.prom");
  };
  std::int64_t end = strata::detail::realtime_ns();
  auto const step = [&] {
    STRATA_STEP();
    rest(10);
    for (int i = 0; i < 50 && fake_sampling_started() == 0; ++i) rest(1);  // not between windows
    std::int64_t const now = strata::detail::realtime_ns();
    if (fake_sampling_started() != 0)
      (void)fake_sample(static_cast<std::uint64_t>(end), static_cast<std::uint64_t>(now), 1000.0);
    end = now;
  };
  for (int i = 0; i < 3000 && !has(2); ++i) step();
  session.stop();
  for (int const window : {1, 2}) {
    CAPTURE(window);
    REQUIRE(has(window));
    std::string const metrics =
        test::content(out + "/00" + std::to_string(window) + "/metrics.prom");
    std::string const name = "strata_step_hbm_p50_bytes{";
    std::size_t const at = metrics.find("\n" + name);
    REQUIRE(at != std::string::npos);
    double const bytes = std::stod(metrics.substr(metrics.find("} ", at) + 2));
    CHECK(bytes == doctest::Approx(2000.0).epsilon(near(0.2)));
    CHECK(fake::says(test::content(out + "/00" + std::to_string(window) + "/profile.json"),
                     "\"about\":\"Sampled on GH100"));
  }
  CHECK(fake_sampling_enabled() == 0);
}

}  // namespace live_test
