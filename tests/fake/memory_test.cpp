// Memory limits: nothing beyond them, what does not fit is counted, and buffers are used again.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <strata/collect/cuda/cupti_library.hpp>
#include "../sanitizers.hpp"
#include "fake_session.hpp"

namespace memory_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

constexpr std::uint64_t megabyte = 1u << 20;

void many(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) launch("kernel", 7, 1);
}

}  // namespace

TEST_CASE("buffers that CUPTI fills while nothing is delivered end at the limit") {
  // 216 bytes a record: 16 MB, and the 16 MB beyond, hold less than 156,000 of them.
  traced s("buffers=16");
  {
    STRATA_RANGE("many");
    many(200'000);
  }
  profile const& p = s.profile();
  CHECK(fake_misuse_count() == 0);
  CHECK(p.losses.buffers_refused > 0);
  CHECK(p.losses.activity_dropped > 0);
  CHECK(p.cost.activity_bytes <= 36 * megabyte);  // and a quarter of the limit waits to be joined
  CHECK(p.losses.launches_dropped == 0);
  CHECK(row(p, "many").self.kernels + p.losses.activity_dropped == 200'000);
  CHECK(p.kernels.size() + p.losses.activity_summed == row(p, "many").self.kernels);
  CHECK(row(p, "many").self.launches == 200'000);
  CHECK(fake_buffers_outstanding() == 0);
}

TEST_CASE("a session with a lower limit than the pool of the one before still has room") {
  constexpr std::uint64_t count = test::sanitized ? 120'000 : 300'000;
  traced big("buffers=512");
  many(count);  // 25 or 62 MB of buffers
  CHECK(big.profile().kernels.size() == count);
  CHECK(big.profile().cost.activity_bytes > (test::sanitized ? 24 : 60) * megabyte);
  traced s("buffers=16");
  many(40'000);
  profile const& p = s.profile();
  CHECK(p.cost.activity_bytes <= 36 * megabyte);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.kernels.size() == 40'000);
}

TEST_CASE("a session after one that was full starts clean") {
  for (int round = 0; round < 3; ++round) {
    traced s("buffers=16");
    many(100);
    profile const& p = fake::whole(s);
    CHECK(p.kernels.size() == 100);
    CHECK(p.cost.activity_bytes <= 16 * megabyte);
  }
}

TEST_CASE("records beyond the limit are missing in the timeline alone") {
  constexpr std::uint64_t count = test::sanitized ? 250'000 : 450'000;
  traced s("buffers=16");
  fake_set_auto_delivery(5'000);  // so that few buffers are in use
  {
    STRATA_RANGE("many");
    many(count);
  }
  fake_kernel last;
  last.name = "last";
  (void)fake_launch(&last);
  profile const& p = s.profile();
  CHECK(fake_misuse_count() == 0);
  CHECK(p.losses.activity_summed > 0);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.losses.uncorrelated == 0);
  CHECK(p.kernels.size() + p.losses.activity_summed == count + 1);
  // CUPTI may have 16 MB of buffers beyond the limit while the delivery lags, rather than lose any.
  CHECK(p.cost.activity_bytes <= 2 * 16 * megabyte);
  CHECK(p.launches.size() == count + 1);
  CHECK(row(p, "many").self.kernels == count);
  CHECK(row(p, "many").self.kernel_ns == std::int64_t{count});
  CHECK(row(p, "many").span_ns == 0);  // a part of the kernels is no span
}

TEST_CASE("buffers are used again") {
  traced s;
  std::uint64_t first = 0;
  for (int round = 0; round < 50; ++round) {
    many(1000);
    REQUIRE(strata::detail::cupti_library::get().api.flush_all(
                strata::detail::cupti::flush_flag::forced) ==
            strata::detail::cupti::result::success);
    CHECK(fake_buffers_outstanding() == 0);
  }
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 50'000);
  first = p.cost.activity_bytes;
  // 50 forced flushes brought back at least a buffer each; a few served for all of them.
  CHECK(first < 16 * megabyte);
}

TEST_CASE("buffers come back empty too") {
  traced s;
  launch();
  s.stop();
  CHECK(fake_buffers_outstanding() == 0);
  traced none;
  fake::nothing_lost(none.profile());
}

TEST_CASE("launches beyond the limit are missing in the timeline alone") {
  constexpr std::uint64_t count = test::sanitized ? 200'000 : 800'000;
  traced s("log=1");
  fake_set_auto_delivery(5'000);
  {
    STRATA_RANGE("many");
    many(count);
  }
  profile const& p = s.profile();
  CHECK(p.losses.launches_summed > 0);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.losses.uncorrelated == 0);
  CHECK(p.launches.size() + p.losses.launches_summed == count);
  CHECK(p.kernels.size() == count);
  CHECK(row(p, "many").self.launches == count);
  CHECK(row(p, "many").self.kernels == count);
  CHECK(p.cost.log_bytes <= 20 * megabyte);  // pages of calls without their work yet
}

TEST_CASE("launches without memory for their table are lost, which is said") {
  traced s("log=1");
  many(800'000);  // and nothing is delivered, so that none of them is done
  profile const& p = s.profile();
  CHECK(p.losses.launches_dropped > 0);
  CHECK(p.launches.size() + p.losses.launches_summed + p.losses.launches_dropped == 800'000);
  CHECK(p.losses.uncorrelated == p.losses.launches_dropped);
  CHECK(row(p, "").total.kernels == 800'000);
}

}  // namespace memory_test
