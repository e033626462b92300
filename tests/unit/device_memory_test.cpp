// What the memory of a device is called where people read.
#include <doctest/doctest.h>
#include <strata/profile/devices.hpp>
#include <strata/tables/table.hpp>

#include <string>

#include "all_reports.hpp"
#include "analyse/device_peaks.hpp"
#include "analyse/ledger.hpp"
#include "finding_sample.hpp"

namespace device_memory_test {

using namespace strata;
using detail::memory_name;

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

namespace {

struct board {
  char const* name;
  std::uint32_t bits;
  std::uint32_t major;
  std::uint32_t minor;
  char const* memory;
};
constexpr board boards[] = {{"NVIDIA H200", 6144, 9, 0, "HBM"},
                            {"NVIDIA B200", 8192, 10, 0, "HBM"},
                            {"NVIDIA GeForce RTX 5090", 512, 12, 0, "DRAM"},
                            {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 512, 12, 0, "DRAM"},
                            {"NVIDIA L4", 192, 8, 9, "DRAM"},
                            {"NVIDIA GB10", 256, 12, 1, "DRAM"},
                            {"NVIDIA Thor", 256, 11, 0, "DRAM"},
                            {"Orin", 0, 8, 7, "DRAM"}};

/// Limited by memory, with declared bytes.
finding_test::program program_on(board const& on) {
  finding_test::program p = finding_test::one_kernel();
  p.hbm(p.attention, 0.9);
  profile_device& device = p.made.environment.devices[0];
  device.name = on.name;
  device.memory_bus_bits = on.bits;
  device.compute_capability_major = on.major;
  device.compute_capability_minor = on.minor;
  return p;
}

std::string all_texts(profile const& made) {
  std::string text;
  for (std::size_t report = 0; report < report_test::report_count; ++report)
    if (report != 6) text += report_test::report_of(made, report);  // 6 is compressed
  {
    finding_test::answer const a(made);
    detail::text_writer out(text);
    write_table(out, a.input, {200, false, 30});
    a.input.write_answer(out, 200, false);
  }
  text += ledger_text(make_ledger(made, {}));
  // A name may be broken into two lines.
  std::string words;
  for (char const letter : text) {
    bool const is_blank = letter == ' ' || letter == '\n';
    if (!is_blank || words.empty() || words.back() != ' ') words += is_blank ? ' ' : letter;
  }
  return words;
}

std::size_t times(std::string const& text, std::string const& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("memory: every output has the name of the device's memory, and no other") {
  for (board const& on : boards) {
    CAPTURE(on.name);
    std::string const text = all_texts(program_on(on).made);
    bool const is_hbm = std::string(on.memory) == "HBM";
    CHECK(times(text, on.memory) > 10);
    CHECK(times(text, is_hbm ? "DRAM" : "HBM") == 0);
    CHECK(text.find(std::string(on.memory) + " 90 %") != text.npos);
    CHECK(text.find(std::string(on.memory) + " peak %") != text.npos);
    CHECK(text.find(std::string(on.memory) + " use, means") != text.npos);
  }
}

TEST_CASE("memory: names that a program gives stay as they are") {
  finding_test::program p = program_on(boards[2]);
  std::size_t const own = times(all_texts(p.made), "HBM");
  CHECK(own == 0);
  p.made.names[p.made.nodes[p.attention].name] = "HBM copy";
  std::string const text = all_texts(p.made);
  CHECK(times(text, "HBM copy") > 5);
  CHECK(times(text, "HBM copy") == times(text, "HBM"));
  CHECK(text.find("DRAM copy") == text.npos);
}

TEST_CASE("memory: devices of both kinds have memory") {
  finding_test::program p = program_on(boards[0]);
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices[1].ordinal = 1;
  p.made.environment.devices[1].memory_bus_bits = 512;
  CHECK(memory_name(p.made) == "memory");
  std::string const text = all_texts(p.made);
  CHECK(text.find("memory peak %") != text.npos);
  CHECK(times(text, "HBM") == 0);
}

TEST_CASE("memory: a ceiling that was measured is that of the memory, whatever it was called") {
  profile_device device = program_on(boards[2]).made.environment.devices[0];
  device_ceiling ceiling;
  ceiling.name = "HBM read";  // by an older Strata
  ceiling.memory = true;
  ceiling.rate = 1.5e12;
  device.ceilings.push_back(ceiling);
  CHECK(detail::measured_peak(device, "DRAM") == 1.5e12);
  CHECK(detail::measured_peak(device, "L2") == 0.0);
}

}  // namespace device_memory_test
