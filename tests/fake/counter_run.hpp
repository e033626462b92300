// What the tests of counting sessions share.
#ifndef STRATA_TESTS_FAKE_COUNTER_RUN_HPP
#define STRATA_TESTS_FAKE_COUNTER_RUN_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <string>

#include "fake_profiler.hpp"
#include "fake_session.hpp"

namespace fake {

inline constexpr char const* hbm_read = "dram__bytes_read.sum";
inline constexpr char const* hbm_write = "dram__bytes_write.sum";
inline constexpr char const* l2_bytes = "lts__t_bytes.sum";
inline constexpr char const* sass = "smsp__sass_inst_executed.sum";  // instrumented code

/// What a session is told that counts after one timed step and writes nothing.
inline std::string counting_options(std::string const& request, std::string const& more = "") {
  return "trace,formats=none,active=1,counters=" + request + (more.empty() ? "" : "," + more);
}

/// A session that has started, with stand-ins that know nothing of the test before.
struct started : session {
  explicit started(std::string const& options) : session(configure(options)) {
    unscript();
    fake_profiler_reset();
    misuses = fake_misuse_count();
    REQUIRE(start().ok());
  }
  std::size_t misuses = 0;  ///< before it started
};

/// A session that counts. At its end everything is given back, and nothing was misused.
struct counting : started {
  explicit counting(std::string const& request, std::string const& more = "")
      : started(counting_options(request, more)) {}
  ~counting() {
    stop();
    INFO(std::string(fake_last_misuse()));
    CHECK(fake_misuse_count() == misuses);
    CHECK(fake_cuda_misuse_count() == 0);
    CHECK(fake_profiler_enabled() == 0);
    fake_profiler_reset();
  }
};

/// A kernel of 32 threads a block: it adds 32 * blocks to a metric of weight 1.
inline void launch_blocks(int blocks, char const* name = "kernel", std::uint32_t stream = 7) {
  fake_kernel kernel;
  kernel.name = name;
  kernel.grid[0] = blocks;
  kernel.stream = stream;
  (void)fake_launch(&kernel);
}

template <class Body>
void run_steps(int steps, Body body) {
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    body();
  }
}

using test::counted;

inline bool says(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Exactly one problem, and it says this.
inline void one_problem(profile const& p, std::string const& part) {
  for (std::string const& problem : p.problems) INFO(problem);
  CAPTURE(part);
  std::string all;
  for (std::string const& problem : p.problems) all += problem + '\n';
  CAPTURE(all);
  REQUIRE(p.problems.size() == 1);
  CHECK(says(p.problems[0], part));
}

inline void no_problem(profile const& p) {
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  CHECK(p.losses.counter_ranges_lost == 0);
}
/// The profile, with no problem.
inline profile const& clean(session& s) {
  profile const& made = s.profile();
  no_problem(made);
  return made;
}

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_COUNTER_RUN_HPP
