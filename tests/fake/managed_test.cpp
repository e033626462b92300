// Managed memory: migrations and faults belong to ranges by time, and cost nothing without it.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include <strata/tables/columns.hpp>

#include "fake_session.hpp"

namespace managed_test {

using fake::row;
using fake::traced;
using strata::profile;

namespace {

constexpr int to_device = 1;
constexpr int to_host = 2;
constexpr int cpu_fault = 3;
constexpr int gpu_faults = 4;
constexpr std::uint64_t address = 0x10000;
constexpr std::uint32_t unified_memory = 25;  // CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER

std::uint64_t now() {
  auto const since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

/// The kernel of a range touches what the host wrote; then the host touches it.
void thrash() {
  std::uint64_t const start = now();
  {
    STRATA_RANGE("touch");
    fake_set_next_times(start, start + 1'000'000);
    (void)fake::launch("add");
    fake_migrate(gpu_faults, 3, start + 1'000, start + 2'000);
    fake_migrate(to_device, 4096, start + 2'000, start + 2'500);
    fake_migrate(to_device, 65536, start + 3'000, start + 3'500);
  }
  wait_a_moment();
  STRATA_RANGE("outer");
  STRATA_RANGE("read");
  wait_a_moment();
  std::uint64_t const read = now();
  fake_migrate(cpu_fault, 0xABCDEF, read, 0);  // belongs to no report
  fake_migrate(to_host, 8192, read, read + 700);
  wait_a_moment();
}

void check(profile const& p) {
  fake::nothing_lost(p);
  CHECK(p.has_migrations);
  REQUIRE(p.migrations.size() == 4);
  CHECK(row(p, "touch").gpu_page_faults == 3);
  CHECK(row(p, "touch").migrated_to_device_bytes == 4096 + 65536);
  CHECK(fake::about(row(p, "touch").migration_ns, 1000));
  CHECK(row(p, "touch").migrated_to_host_bytes == 0);
  CHECK(row(p, "outer/read").migrated_to_host_bytes == 8192);
  CHECK(row(p, "outer").migrated_to_host_bytes == 8192);
  CHECK(row(p, "").migrated_to_host_bytes == 8192);
  CHECK(row(p, "").migrated_to_device_bytes == 4096 + 65536);
  CHECK(row(p, "").gpu_page_faults == 3);
}

}  // namespace

// The first test of this process: what was seen stays seen.
TEST_CASE("without managed memory CUPTI is asked for nothing") {
  traced s;
  (void)fake_malloc(address, 4096, 3, 0);
  std::uint64_t const moved = now();
  fake_migrate(to_device, 4096, moved, moved + 10);
  thrash();
  profile const& p = s.profile();
  CHECK_FALSE(p.has_migrations);
  CHECK(p.migrations.empty());
  CHECK(row(p, "touch").migrated_to_device_bytes == 0);
  CHECK(fake_calls("cuptiActivityConfigureUnifiedMemoryCounter") == 0);
}

TEST_CASE("asked for, they are followed from the start, and a refusal is said") {
  {
    traced s("trace=kernels+managed");
    thrash();
    check(s.profile());
  }
  strata::session s(fake::configure("trace=kernels+managed,formats=none"));
  fake::unscript();
  fake_fail("cuptiActivityConfigureUnifiedMemoryCounter", 36);
  (void)s.start();
  thrash();
  profile const& p = s.profile();
  fake_fail("cuptiActivityConfigureUnifiedMemoryCounter", 0);
  CHECK_FALSE(p.has_migrations);
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("not traced: migrations") != std::string::npos);
}

// Before any other test that allocates managed memory.
TEST_CASE("the window ends while another thread makes the first managed allocation") {
  static strata::session* ending = nullptr;
  traced s;
  ending = &s;
  std::thread([] {
    fake_set_configure_hook([] { std::thread([] { ending->stop(); }).join(); });
    (void)fake_malloc(address, 4096, 5, 0);
  }).join();
  CHECK(fake_kind_enabled(unified_memory) == 0);
}

TEST_CASE("the first managed allocation has its migrations followed, silently where that fails") {
  {
    traced s;
    (void)fake_malloc(address, 4096, 5, 0);
    thrash();
    check(s.profile());
  }
  {
    traced s("trace=kernels");
    thrash();
    CHECK_FALSE(s.profile().has_migrations);  // allocations are not traced
  }
  traced s;  // what is allocated stays
  thrash();
  check(s.profile());
}

TEST_CASE("steps: migrations outside of the window are not recorded") {
  traced s("active=1");
  thrash();
  for (int i = 0; i < 3; ++i) {
    STRATA_STEP();
    thrash();
  }
  check(s.profile());
}

TEST_CASE("steps: migrations of a window that come after its end are of it") {
  traced s("active=1");
  std::uint64_t last = 0;
  {
    STRATA_STEP();
    thrash();
    STRATA_RANGE("last");
    wait_a_moment();
    last = now();
    wait_a_moment();
  }
  {
    STRATA_STEP();
    CHECK(fake_kind_enabled(unified_memory) == 1);
    fake_migrate(to_host, 16384, last, last + 700);
    wait_a_moment();
    std::uint64_t const moved = now();
    fake_migrate(to_host, 32768, moved, moved + 700);  // of this step
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 0; i < 2; ++i) {
    STRATA_STEP();
  }
  CHECK(fake_kind_enabled(unified_memory) == 0);
  profile const& p = fake::whole(s);
  CHECK(row(p, "last").migrated_to_host_bytes == 16384);
  CHECK(row(p, "").migrated_to_host_bytes == 8192 + 16384);
}

TEST_CASE("a refusal of what nobody asked for is no problem") {
  strata::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_fail("cuptiActivityConfigureUnifiedMemoryCounter", 36);
  REQUIRE(s.start().ok());
  thrash();
  profile const& p = s.profile();
  fake_fail("cuptiActivityConfigureUnifiedMemoryCounter", 0);
  CHECK(p.problems.empty());
  CHECK_FALSE(p.has_migrations);
}

}  // namespace managed_test
