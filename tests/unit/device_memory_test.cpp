// What the memory of a device is called where people read.
#include <doctest/doctest.h>
#include <strata/profile/device_memory.hpp>
#include <strata/tables/table.hpp>

#include <string>

#include "finding_sample.hpp"

namespace device_memory_test {

using namespace strata;
using detail::memory_name;
using detail::with_memory_name;

namespace {

profile with(std::uint32_t bits, std::uint32_t major, std::uint32_t minor) {
  profile made;
  made.environment.devices.emplace_back();
  made.environment.devices[0].memory_bus_bits = bits;
  made.environment.devices[0].compute_capability_major = major;
  made.environment.devices[0].compute_capability_minor = minor;
  return made;
}

}  // namespace

TEST_CASE("memory: HBM has a wide bus") {
  CHECK(memory_name(with(5120, 9, 0)) == "HBM");   // H100
  CHECK(memory_name(with(8192, 10, 0)) == "HBM");  // B200
  CHECK(memory_name(with(512, 12, 0)) == "DRAM");  // RTX 5090
  CHECK(memory_name(with(384, 8, 9)) == "DRAM");   // L40S
  CHECK(memory_name(with(256, 12, 1)) == "DRAM");  // DGX Spark
  CHECK(memory_name(with(0, 8, 7)) == "DRAM");     // Orin
  CHECK(memory_name(with(0, 9, 0)) == "HBM");      // no attribute tells
  CHECK(memory_name(profile()) == "HBM");
}

TEST_CASE("memory: the devices without memory of their own") {
  CHECK(detail::shares_host_memory(with(256, 8, 7).environment.devices[0]));
  CHECK(detail::shares_host_memory(with(256, 11, 0).environment.devices[0]));
  CHECK(detail::shares_host_memory(with(256, 12, 1).environment.devices[0]));
  CHECK_FALSE(detail::shares_host_memory(with(512, 12, 0).environment.devices[0]));
  CHECK_FALSE(detail::shares_host_memory(with(6144, 9, 0).environment.devices[0]));  // GH200
}

TEST_CASE("memory: a name takes the place of another, and columns stay in line") {
  CHECK(with_memory_name("limited by HBM.", "DRAM") == "limited by DRAM.");
  CHECK(with_memory_name("HBM3 and hbm_bytes stay", "DRAM") == "HBM3 and hbm_bytes stay");
  CHECK(with_memory_name("   HBM read   HBM peak %", "DRAM") == "  DRAM read  DRAM peak %");
  CHECK(with_memory_name("HBM 87 %   next\nHBM 9", "DRAM") == "DRAM 87 %  next\nDRAM 9");
  CHECK(with_memory_name("HBM", "HBM") == "HBM");
}

TEST_CASE("memory: the table and the answer have the name of the device's memory") {
  finding_test::program p = finding_test::one_kernel();
  auto const text = [&] {
    finding_test::answer const a(p.made);
    std::string made;
    {
      detail::text_writer out(made);
      write_table(out, a.input, {200, false, 30});
      a.input.write_answer(out, 200, false);
    }
    return made;
  };
  CHECK(text().find("HBM") != std::string::npos);
  p.made.environment.devices[0].memory_bus_bits = 512;
  std::string const other = text();
  CHECK(other.find("HBM ") == std::string::npos);
  CHECK(other.find("DRAM") != std::string::npos);
}

}  // namespace device_memory_test
