// What a measurement keeps and what it refuses, the file that sessions read, and the PTX as text.
// Kernels run in tests/gpu/ceilings_test.cu.

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <strata/base/clock.hpp>
#include <strata/session/ceilings_file.hpp>
#include <string>
#include "analyse/device_peaks.hpp"
#include "ceilings/ceiling_kernels.hpp"
#include "ceilings/ceilings.hpp"

#include "work_folder.hpp"

namespace ceilings_test {

namespace {

using namespace strata;
using detail::ceilings_file;

profile_device h200() {
  profile_device made;
  made.name = "NVIDIA H200";
  made.uuid = "00112233-4455-6677-8899-aabbccddeeff";
  made.multiprocessors = 132;
  made.compute_capability_major = 9;
  made.clock_khz = 1'980'000;
  made.memory_clock_khz = 3'201'000;
  made.memory_bus_bits = 6144;
  return made;
}

device_ceiling ceiling(char const* name, bool memory, double rate, double theory = 0.0) {
  device_ceiling made;
  made.name = name;
  made.memory = memory;
  made.rate = rate;
  made.theory = theory;
  made.spread = 0.0125;
  made.clock_hertz = 1.755e9;
  made.samples = 7;
  return made;
}

measured_ceilings measured() {
  measured_ceilings made;
  made.device = h200();
  made.driver_version = 13000;
  made.device.measured_at = "2026-11-22T20:11:18Z";
  made.device.ceilings.push_back(ceiling("HBM read", true, 4.5e12, 4.917e12));
  made.device.ceilings.push_back(ceiling("HBM copy", true, 4.25e12, 4.917e12));
  made.device.ceilings.push_back(ceiling("BF16 tensor", false, 8.0e14, 1.07e15));
  made.device.ceilings.push_back(ceiling("FP64", false, 4e13, 3.3e13));
  detail::judge_ceiling(made.device.ceilings.back());
  return made;
}

std::string text() {
  measured_ceilings const made = measured();
  return detail::ceilings_lines(made.device, made.driver_version);
}

std::string replaced(std::string where, std::string const& what, std::string const& by) {
  std::size_t const at = where.find(what);
  REQUIRE(at != std::string::npos);
  return where.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a ceiling above the device's attributes, or below half of them, is refused") {
  auto const judged = [](double rate, double theory) {
    device_ceiling made = ceiling("FP32", false, rate, theory);
    detail::judge_ceiling(made);
    return made.refused;
  };
  CHECK(judged(1.019, 1.0).empty());
  CHECK(judged(1.021, 1.0).find("102 %") != std::string::npos);
  CHECK(judged(0.501, 1.0).empty());
  CHECK(judged(0.499, 1.0).find("50 %") != std::string::npos);
  CHECK(judged(5.0, 0.0).empty());  // no attribute tells it
}

TEST_CASE("tensor ceilings of mma.sync are none where tcgen05 is faster") {
  for (std::uint32_t const capability : {100u, 103u, 110u})
    CHECK(detail::has_newer_tensor_cores(capability));
  for (std::uint32_t const capability : {75u, 80u, 86u, 89u, 90u, 120u, 121u})
    CHECK_FALSE(detail::has_newer_tensor_cores(capability));
}

TEST_CASE("what the attributes allow, by compute capability") {
  profile_device device = h200();
  using detail::device_peak;
  CHECK(device_peak(device, "HBM") == doctest::Approx(4.917e12).epsilon(0.001));
  CHECK(device_peak(device, "FP32") == doctest::Approx(66.9e12).epsilon(0.001));
  CHECK(device_peak(device, "FP64") == doctest::Approx(33.5e12).epsilon(0.002));
  CHECK(device_peak(device, "FP64 tensor") == doctest::Approx(66.9e12).epsilon(0.001));
  CHECK(device_peak(device, "FP16") == doctest::Approx(133.8e12).epsilon(0.001));
  CHECK(device_peak(device, "BF16 tensor") == doctest::Approx(1070.5e12).epsilon(0.001));
  CHECK(device_peak(device, "TF32 tensor") == doctest::Approx(535.3e12).epsilon(0.001));
  CHECK(device_peak(device, "FP8 tensor") == doctest::Approx(2141e12).epsilon(0.001));
  CHECK(device_peak(device, "INT8 tensor") == doctest::Approx(2141e12).epsilon(0.001));
  CHECK(device_peak(device, "L1") == device_peak(device, "shared"));
  CHECK(device_peak(device, "L2") == 0.0);
  device.compute_capability_major = 6;
  CHECK(device_peak(device, "FP32") == 0.0);
}

TEST_CASE("the best of reading, writing and copying is the roof; what was refused is none") {
  profile_device const device = measured().device;
  CHECK(detail::roof_of("HBM copy") == "HBM");
  CHECK(detail::roof_of("BF16 tensor") == "BF16 tensor");
  CHECK(detail::roof_of("FP32") == "FP32");
  CHECK(detail::measured_peak(device, "HBM") == 4.5e12);
  CHECK(detail::measured_peak(device, "FP64") == 0.0);
  CHECK(detail::measured_peak(device, "L2") == 0.0);
}

TEST_CASE("the file gives back what was measured") {
  INFO(text());
  profile_device back = h200();
  REQUIRE(ceilings_file::read(text(), 13000, back).ok());
  CHECK(back.measured_at == "2026-11-22T20:11:18Z");
  REQUIRE(back.ceilings.size() == 3);
  CHECK(back.ceilings[0].name == "HBM read");
  CHECK(back.ceilings[0].memory);
  CHECK(back.ceilings[0].rate == 4.5e12);
  CHECK(back.ceilings[0].theory == 4.917e12);
  CHECK(back.ceilings[0].spread == doctest::Approx(0.0125));
  CHECK(back.ceilings[0].clock_hertz == 1.755e9);
  CHECK(back.ceilings[0].samples == 7);
  CHECK(back.ceilings[2].name == "BF16 tensor");
  CHECK_FALSE(back.ceilings[2].memory);
  CHECK(text().find("refused FP64: it is 121 %") != std::string::npos);
}

TEST_CASE("a file of another device, driver or clock is not taken") {
  auto const code = [](std::uint32_t driver, auto change) {
    profile_device device = h200();
    change(device);
    status const outcome = ceilings_file::read(text(), driver, device);
    CHECK(device.ceilings.empty() == !outcome.ok());
    return outcome.code();
  };
  CHECK(code(13000, [](profile_device&) {}) == errc::ok);
  CHECK(code(12080, [](profile_device&) {}) == errc::not_supported);
  CHECK(code(13000, [](profile_device& of) { of.uuid[0] = 'f'; }) == errc::not_supported);
  CHECK(code(13000, [](profile_device& of) { of.clock_khz = 1'755'000; }) == errc::not_supported);
  CHECK(code(13000, [](profile_device& of) { of.memory_clock_khz = 1; }) == errc::not_supported);
}

TEST_CASE("a file that is cut off or hostile is broken, wherever") {
  std::string const whole = text();
  for (std::size_t size = 0; size + 4 < whole.size(); ++size) {
    profile_device device = h200();
    CHECK_FALSE(ceilings_file::read(whole.substr(0, size), 13000, device).ok());
    CHECK(device.ceilings.empty());
  }
  for (std::string const& each :
       {replaced(whole, "4.5e+12", "nan"), replaced(whole, "4.5e+12", "-1"),
        replaced(whole, "4.5e+12", "inf"), replaced(whole, "4.5e+12", ""),
        replaced(whole, " 0.0125 ", " -0.0125 "), replaced(whole, " 0.0125 ", " 0.0125 -"),
        replaced(whole, " 7 ", " 1e300 "), replaced(whole, "B/s", "b/s"),
        replaced(whole, "HBM read", "<b>"), replaced(whole, "HBM read", ""),
        replaced(whole, "HBM read", "\x01"), replaced(whole, "2026-11-22T", "<script>"),
        replaced(whole, "ceilings 1", "ceilings 2"), std::string(100'000, 'x'),
        std::string(100'000, '\n')}) {
    profile_device device = h200();
    CHECK(ceilings_file::read(each, 13000, device).code() == errc::input_output);
    CHECK(device.ceilings.empty());
  }
}

TEST_CASE("written at once, read by its path; what cannot be written or read is a sentence") {
  test::work_folder const folder;
  std::string const path = folder / "ceilings.txt";
  REQUIRE(write_ceilings(measured(), path).ok());
  REQUIRE(write_ceilings(measured(), path).ok());  // replaces it
  profile_environment here;
  here.driver_version = 13000;
  here.devices.push_back(h200());
  CHECK(ceilings_file::take(here, path).ok());
  CHECK(here.devices[0].ceilings.size() == 3);
  here.devices[0] = h200();
  CHECK(ceilings_file::take(here, "off").ok());
  CHECK(here.devices[0].ceilings.empty());
  here.driver_version = 12000;
  CHECK(ceilings_file::take(here, path).message().find("is of another driver") !=
        std::string::npos);
  CHECK(ceilings_file::take(here, folder / "none").message().find("cannot be read") !=
        std::string::npos);
  // A pipe that nobody writes to keeps no program waiting.
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(ceilings_file::take(here, folder / "pipe").message().find("cannot be read") !=
        std::string::npos);
  status const refused = write_ceilings(measured(), folder / "no/folder/file.txt");
  CHECK(refused.code() == errc::input_output);
  CHECK(refused.message().find("are not kept") != std::string::npos);
  measured_ceilings none;
  none.outcome = status(errc::unavailable, "no GPU");
  CHECK(write_ceilings(none, path).message() == "no GPU");
}

TEST_CASE("the table has a line for each, and the reason of what was refused") {
  std::string const table = ceilings_text(measured());
  INFO(table);
  CHECK(table.find("NVIDIA H200, 2026-11-22T20:11:18Z") == 0);
  CHECK(table.find("4500 GB/s") != std::string::npos);
  CHECK(table.find("91.5 %") != std::string::npos);
  CHECK(table.find("800.00 TFLOP/s") != std::string::npos);
  CHECK(table.find("1755 MHz") != std::string::npos);
  CHECK(table.find("refused: FP64: it is 121 %") != std::string::npos);
}

TEST_CASE("the table of a CPU has units of its size") {
  measured_ceilings made;
  made.cpu = true;
  made.device.ceilings.push_back(ceiling("CPU copy", true, 6.54e9));
  made.device.ceilings.push_back(ceiling("CPU FP32", false, 3.21e9));
  std::string const table = ceilings_text(made);
  INFO(table);
  CHECK(table.find(" 3.2 GFLOP/s ") != std::string::npos);
  CHECK(table.find(" 6.5 GB/s ") != std::string::npos);
}

TEST_CASE("the kernels' text: every loop ends, and every result is stored") {
  using kernel = detail::ceiling_kernel;
  vec<std::string> all = {kernel::read("cg", 8),     kernel::read("ca", 4),
                          kernel::read("shared", 4), kernel::write(false, 8),
                          kernel::write(true, 2),    kernel::fma("f32"),
                          kernel::fma("f64"),        kernel::fma("f16x2"),
                          kernel::mma_f64(true),     kernel::mma_f64(false)};
  for (detail::tensor_kind const& each : detail::tensor_kinds) {
    all.push_back(kernel::mma(each));
    all.push_back(kernel::wgmma(each));
  }
  for (std::string const& each : all) {
    INFO(each);
    auto const count = [&](char const* word) {
      std::size_t found = 0;
      for (std::size_t at = each.find(word); at != std::string::npos; at = each.find(word, at + 1))
        ++found;
      return found;
    };
    CHECK(count("\nloop:\n") == 1);
    CHECK(count("@%again bra loop;") == 1);
    CHECK(count("st.global.u32 [%out+16], %sum;") == 1);
    CHECK(count(kernel::entry) == 1);
    CHECK(count("{") == count("}"));
  }
  CHECK(all[0].find("ld.global.cg.v4.u32") != std::string::npos);
}

TEST_CASE("ceilings= of another file is said before there are devices") {
  test::work_folder const here;
  std::ofstream(here / "kept") << text();
  CHECK(ceilings_file::look_for(here / "kept").ok());
  for (std::string const other : {"int main() {}\n", ""}) {
    std::ofstream(here / "other") << other;
    strata::status const outcome = ceilings_file::look_for(here / "other");
    CHECK(outcome.code() == strata::errc::input_output);
    CHECK(outcome.message().find("other is no file of ceilings") != std::string::npos);
  }
}

}  // namespace ceilings_test
