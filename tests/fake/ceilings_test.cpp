// A session takes the measured ceilings of its device from the cache; a libcuda that cannot run
// kernels is a sentence.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <strata/collect/cuda/driver.hpp>
#include <strata/session/machine.hpp>
#include "ceilings/ceilings.hpp"
#include "fake_session.hpp"
#include "work_folder.hpp"

namespace ceilings_test {

using fake::launch;
using fake::traced;
using strata::profile;

namespace {

strata::measured_ceilings measured() {
  strata::detail::driver_library const& driver = strata::detail::driver_library::get();
  strata::measured_ceilings made;
  made.device = strata::detail::machine::describe_device(driver, 0);
  made.driver_version = static_cast<std::uint32_t>(driver.version);
  made.device.measured_at = "2026-11-22T20:11:18Z";
  strata::device_ceiling hbm;
  hbm.name = "HBM read";
  hbm.memory = true;
  hbm.rate = 3e12;
  made.device.ceilings.push_back(hbm);
  return made;
}

std::size_t taken(char const* options, std::size_t problems = 0) {
  traced s(options);
  {
    STRATA_RANGE("work");
    launch("kernel", 7, 1);
  }
  profile const& p = s.profile();
  CHECK(p.problems.size() == problems);
  REQUIRE(!p.environment.devices.empty());
  CHECK(p.environment.devices[0].measured_at.empty() == p.environment.devices[0].ceilings.empty());
  return p.environment.devices[0].ceilings.size();
}

}  // namespace

TEST_CASE("the cache of this device is taken, without ceilings=off") {
  test::work_folder const folder;
  REQUIRE(setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1) == 0);
  CHECK(taken("") == 0);
  strata::measured_ceilings made = measured();
  CHECK(made.device.uuid == "fa000000-0000-0000-0000-000000000000");
  REQUIRE(strata::write_ceilings(made).ok());
  CHECK(taken("") == 1);
  CHECK(taken("ceilings=off") == 0);
  std::string const file = folder / "cache/strata/fa000000-0000-0000-0000-000000000000.txt";
  CHECK(taken(("ceilings=" + file).c_str()) == 1);
  CHECK(taken(("ceilings=" + (folder / "none")).c_str(), 1) == 0);

  ++made.driver_version;  // of another driver: as if there were none
  REQUIRE(strata::write_ceilings(made).ok());
  CHECK(taken("") == 0);
  CHECK(taken(("ceilings=" + file).c_str(), 1) == 0);
  test::touch(file);  // broken
  CHECK(taken("", 1) == 0);
  unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("a libcuda that cannot run kernels is a sentence") {
  strata::measured_ceilings const made = strata::measure_ceilings();
  CHECK(made.outcome.message().find("libcuda lacks functions that run kernels") == 0);
  CHECK(made.device.ceilings.empty());
  CHECK(strata::ceilings_text(made) == made.outcome.message() + "\n");
}

}  // namespace ceilings_test
