// Memory limits: nothing beyond them, what does not fit is counted, and buffers are used again.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <strata/collect/cuda/cupti_library.hpp>
#include "fake_session.hpp"

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

constexpr std::uint64_t megabyte = 1u << 20;

void many(int count) {
  for (int i = 0; i < count; ++i) launch("kernel", 7, 1);
}

}  // namespace

TEST_CASE("buffers that CUPTI fills while nothing is delivered end at the limit") {
  // 216 bytes a record: 16 MB hold less than 78,000 of them.
  traced s("buffers=16");
  {
    STRATA_RANGE("many");
    many(100'000);
  }
  profile const& p = s.profile();
  CHECK(fake_misuse_count() == 0);
  CHECK(p.losses.buffers_refused > 0);
  CHECK(p.losses.activity_dropped > 0);
  CHECK(p.cost.activity_bytes <= 16 * megabyte);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.kernels.size() + p.losses.activity_dropped + p.losses.activity_refused == 100'000);
  CHECK(row(p, "many").self.launches == 100'000);
  CHECK(fake_buffers_outstanding() == 0);
}

TEST_CASE("a session with a lower limit than the pool of the one before still has room") {
  traced big("buffers=512");
  many(300'000);  // 62 MB of buffers
  CHECK(big.profile().kernels.size() == 300'000);
  CHECK(big.profile().cost.activity_bytes > 60 * megabyte);
  traced s("buffers=16");
  many(50'000);
  profile const& p = s.profile();
  CHECK(p.cost.activity_bytes <= 16 * megabyte);
  CHECK(p.kernels.size() + p.losses.activity_dropped + p.losses.activity_refused == 50'000);
  CHECK(p.kernels.size() > 20'000);
}

TEST_CASE("a session after one that was full starts clean") {
  for (int round = 0; round < 3; ++round) {
    traced s("buffers=16");
    many(100);
    profile const& p = s.profile();
    fake::nothing_lost(p);
    CHECK(p.kernels.size() == 100);
    CHECK(p.cost.activity_bytes <= 16 * megabyte);
  }
}

TEST_CASE("records beyond the limit are counted and collection goes on") {
  traced s("buffers=16");
  fake_set_auto_delivery(5'000);  // so that few buffers are in use
  many(150'000);
  fake_kernel last;
  last.name = "last";
  (void)fake_launch(&last);
  profile const& p = s.profile();
  CHECK(fake_misuse_count() == 0);
  CHECK(p.losses.activity_refused > 0);
  CHECK(p.kernels.size() + p.losses.activity_refused + p.losses.activity_dropped == 150'001);
  CHECK(p.cost.activity_bytes <= 16 * megabyte);
  CHECK(p.launches.size() == 150'001);
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
  profile const& p = s.profile();
  fake::nothing_lost(p);
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

TEST_CASE("a full log of launches loses launches, which is said") {
  traced s("log=1");
  many(100'000);
  profile const& p = s.profile();
  CHECK(p.losses.launches_dropped > 0);
  CHECK(p.launches.size() + p.losses.launches_dropped == 100'000);
  CHECK(p.losses.uncorrelated == p.losses.launches_dropped);
  CHECK(p.kernels.size() == 100'000);
  CHECK(p.cost.log_bytes <= megabyte);
}
