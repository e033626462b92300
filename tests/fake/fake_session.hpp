// What the tests of sessions against the stand-ins share.
#ifndef STRATA_TESTS_FAKE_FAKE_SESSION_HPP
#define STRATA_TESTS_FAKE_FAKE_SESSION_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/profile.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>
#include <utility>

#include "fake.hpp"
#include "profile_checks.hpp"

namespace fake {

using strata::call_tree;
using strata::profile;
using strata::session;

// CUPTI's kinds of records.
enum kind : std::uint32_t {
  copies = 1,
  fills = 2,
  kernels = 10,
  overheads = 17,
  peer_copies = 22,
  waits = 38,
  allocations = 49
};
inline constexpr kind all_kinds[] = {copies,      fills, kernels,    overheads,
                                     peer_copies, waits, allocations};

inline strata::options configure(std::string const& text) {
  strata::vec<std::string> problems;
  strata::options how = strata::options::parse(text, problems);
  REQUIRE(problems.empty());
  return how;
}

/// Undoes what a test scripted. Strata may stay CUPTI's subscriber from one session to the next, so
/// fake_reset would take the ground from under it.
inline void unscript() {
  fake_set_order(fake_order::launched, 1);
  fake_set_delivery(fake_thread::caller);
  fake_set_records_per_buffer(0);
  fake_set_auto_delivery(0);
  fake_hold(0);
  fake_lose_timestamps(0);
  fake_set_runtime_api(1);
  fake_skew_clock(0);
  fake_cuda_reset();
}

/// Locks of Strata's that no call of the driver or CUPTI may be made under.
inline int holds_lock() { return strata::detail::holds_memory_lock() ? 1 : 0; }

/// A session that traces and writes nothing.
/// A loaded machine and a sanitizer slow the fake down: only tests of hung devices have less
/// patience.
struct traced : session {
  explicit traced(std::string const& more = "")
      : session(configure("trace,formats=none,drain=60000" + (more.empty() ? "" : "," + more))) {
    unscript();
    fake_set_lock_question(&holds_lock);
    REQUIRE(start().ok());
  }
  ~traced() {
    stop();
    CHECK(fake_calls_under_lock() == 0);
    fake_set_lock_question(nullptr);
  }
};

inline std::uint32_t launch(char const* name = "kernel", std::uint32_t stream = 7,
                            std::uint64_t duration_ns = 1000) {
  fake_kernel kernel;
  kernel.name = name;
  kernel.stream = stream;
  kernel.duration_ns = duration_ns;
  return fake_launch(&kernel);
}

/// Whether a device time is right, as far as the bridge between the clocks lets it be.
inline bool about(std::int64_t is, std::int64_t expected) {
  return is > expected - expected / 20 - 20 && is < expected + expected / 20 + 20;
}

using test::row;

inline void nothing_lost(profile const& p) {
  test::nothing_lost(p);
  CHECK(p.traced);
  INFO(fake_last_misuse());
  CHECK(fake_misuse_count() == 0);
  CHECK(fake_cuda_misuse_count() == 0);
  CHECK(fake_buffers_outstanding() == 0);
}

/// Whether the records and the launch callbacks are all on, or all off. Launches of graphs may be
/// looked at between windows, until one was seen.
inline void check_tracing(bool on) {
  for (kind const k : all_kinds) {
    CAPTURE(k);
    CHECK((fake_kind_enabled(k) != 0) == on);
  }
  for (char const* const function :
       {"cuLaunchKernel", "cuLaunchKernelEx", "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async",
        "cuMemAlloc_v2", "cuMemFree_v2", "cuStreamSynchronize"}) {
    CAPTURE(function);
    CHECK((fake_callback_enabled(function) != 0) == on);
  }
  if (on) CHECK(fake_callback_enabled("cuGraphLaunch") != 0);
  CHECK(fake_callback_enabled("cuInit") == 0);
}

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_FAKE_SESSION_HPP
