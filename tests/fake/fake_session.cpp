#include "fake_session.hpp"

namespace fake {

strata::options configure(std::string const& text) {
  strata::vec<std::string> problems;
  strata::options how = strata::options::parse(text, problems);
  REQUIRE(problems.empty());
  return how;
}

void unscript() {
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

/// Whether the calling thread holds a mutex over which it may call neither the driver nor CUPTI.
int holds_lock() {
  using strata::detail::held_over;
  return strata::detail::locks_of_this_thread() % static_cast<int>(held_over::calls) != 0 ? 1 : 0;
}

traced::traced(std::string const& more)
    : session(configure("trace,formats=none,drain=60000" + (more.empty() ? "" : "," + more))) {
  unscript();
  REQUIRE(fake_use_cuda() == 1);
  fake_set_lock_question(&holds_lock);
  REQUIRE(start().ok());
}

traced::~traced() {
  stop();
  CHECK(fake_calls_under_lock() == 0);
  fake_set_lock_question(nullptr);
}

std::uint32_t launch(char const* name, std::uint32_t stream, std::uint64_t duration_ns) {
  fake_kernel kernel;
  kernel.name = name;
  kernel.stream = stream;
  kernel.duration_ns = duration_ns;
  return fake_launch(&kernel);
}

void nothing_lost(profile const& p) {
  test::nothing_lost(p);
  CHECK(p.traced);
  INFO(fake_last_misuse());
  CHECK(fake_misuse_count() == 0);
  CHECK(fake_cuda_misuse_count() == 0);
  CHECK(fake_buffers_outstanding() == 0);
}

profile const& whole(session& s) {
  profile const& made = s.profile();
  nothing_lost(made);
  return made;
}

bool has_problem(profile const& p, std::string const& part) {
  for (std::string const& problem : p.problems)
    if (problem.find(part) != std::string::npos) return true;
  return false;
}

void check_tracing(bool on) {
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
