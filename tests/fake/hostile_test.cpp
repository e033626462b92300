// Random programs with hangs, windows, captures in threads, small budgets, forks and signals, each
// compared with the same without Strata. STRATA_TEST_FULL=1 runs many more seeds,
// STRATA_TEST_SEEDS= FIRST-LAST others. Meant for -fsanitize=thread as well.
#include "../sanitizers.hpp"
#include "../unit/process/child.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fake.hpp"

namespace hostile_test {

using namespace processes;

namespace {

constexpr double margin_seconds = 80.0;  // its threads work all the while, on a busy machine
constexpr unsigned usual = test::sanitized ? 12 : 24;
/// What a step may wait for a device that hangs, and the end for the same.
constexpr double max_seconds = 2.0;

struct trial {
  unsigned seed;
  std::string options{};
  ending without{}, with{};
  double longer = 0;

  void run_all() {
    work_folder const folder;
    options = choose(folder);
    std::string const blocked = std::to_string(blocks());
    texts const usual_environment{
        "ASAN_OPTIONS=detect_leaks=0", "STRATA_CUPTI=" FAKE_DIR "/libcupti.so.13",
        "STRATA_LIBCUDA=" FAKE_DIR "/libcuda.so.1", "FAKE_CUPTI_FILE=" FAKE_DIR "/libcupti.so.13",
        "FAKE_HANG=" + blocked};
    double seconds_without = 0, seconds_with = 0;
    auto const timed = [&](texts environment, double& seconds) {
      auto const begin = std::chrono::steady_clock::now();
      ending made = run({HOSTILE_PROGRAM, std::to_string(seed)}, environment, {}, 120);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      return made;
    };
    without = timed(usual_environment, seconds_without);
    texts environment = usual_environment;
    environment.push_back("STRATA=" + options);
    with = timed(environment, seconds_with);
    longer = seconds_with - seconds_without;
  }

  void check() const {
    CAPTURE(seed);
    CAPTURE(options);
    CAPTURE(with.err);
    CHECK(with.code == without.code);
    CHECK(with.signal == without.signal);
    CHECK(with.out == without.out);
    CHECK(longer < max_seconds + margin_seconds);
    CHECK(!has(with.err, "Sanitizer"));
  }

 private:
  bool has_windows() const { return has(options, "every=") || has(options, "trigger="); }

  /// Of a device that hangs CUPTI's switches return at once (H200): a window's end is in a thread
  /// of the program's. What the end of a process calls may block.
  unsigned blocks() const {
    if (has_windows()) return fake_blocks_context | fake_blocks_stream | fake_blocks_profiler;
    return seed % 2 == 0 ? fake_blocks_all : fake_blocks_context | fake_blocks_profiler;
  }

  std::string choose(work_folder const& folder) const {
    std::mt19937 random(seed);
    auto const one_of = [&](std::vector<std::string> const& all) {
      return all[random() % all.size()];
    };
    std::string text = "trace,drain=200,out=" + (folder / "out");
    text += one_of({"", "", ",every=3,active=1", ",every=4,active=2,warmup=1",
                    ",every=2,active=1,keep=2", ",every=5,active=2,keep=1",
                    ",active=2,skip=1,repeat=3", ",trigger=" + (folder / "out") + ",active=1"});
    text += one_of({"", "", "", ",counters=hbm"});
    text += one_of({"", "", ",attach=window"});
    text += one_of({"", "", ",log=1,buffers=16"});
    text += one_of({"", "", ",watchdog=1"});
    text += one_of({"", ",nvtx=out", ",adopt=off", ",trace=kernels"});
    text += one_of({",formats=csv+json", ",formats=recording", ",formats=none", ",formats=table",
                    ",formats=csv+table+html+recording+trace"});
    return text;
  }
};

}  // namespace

TEST_CASE("random programs with hangs, windows, captures, small budgets and signals") {
  unsigned first = 1;
  unsigned last = std::getenv("STRATA_TEST_FULL") == nullptr ? usual : 25 * usual;
  if (char const* const chosen = std::getenv("STRATA_TEST_SEEDS"))
    REQUIRE(std::sscanf(chosen, "%u-%u", &first, &last) == 2);
  std::vector<trial> trials;
  for (unsigned seed = first; seed <= last; ++seed) trials.push_back({seed});
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> runners;
  for (int i = 0; i < (test::sanitized ? 2 : 4); ++i)
    runners.emplace_back([&] {
      for (std::size_t row = next++; row < trials.size(); row = next++) trials[row].run_all();
    });
  for (std::thread& runner : runners) runner.join();
  for (trial const& one : trials) one.check();
}

}  // namespace hostile_test
