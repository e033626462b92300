#include "analyse/device_peaks.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace device_peaks_test {

using strata::device_ceiling;
using strata::profile_device;
using strata::detail::architecture_rates;
using strata::detail::architecture_table;
using strata::detail::device_peak;
using strata::detail::measured_peak;
using strata::detail::roof_of;

TEST_CASE("each line of the table beside what NVIDIA publishes of a board") {
  struct published {
    char const* board;
    std::uint32_t major, minor, multiprocessors;
    double mhz;
    char const* roof;
    double rate;  // TFLOP/s, TB/s
  };
  // Dense rates. Tensor cores of Hopper and B200 are published at a lower clock than the SMs'
  // highest.
  published const all[] = {{"V100 SXM2", 7, 0, 80, 1530, "FP32", 15.7},
                           {"V100 SXM2", 7, 0, 80, 1530, "FP64", 7.8},
                           {"V100 SXM2", 7, 0, 80, 1530, "FP16", 31.4},
                           {"V100 SXM2", 7, 0, 80, 1530, "FP16 tensor", 125},
                           {"T4", 7, 5, 40, 1590, "FP32", 8.1},
                           {"T4", 7, 5, 40, 1590, "FP16 tensor", 65},
                           {"T4", 7, 5, 40, 1590, "INT8 tensor", 130},
                           {"RTX 2080 Ti FE", 7, 5, 68, 1635, "FP16", 28.5},
                           {"RTX 2080 Ti FE", 7, 5, 68, 1635, "FP64", 0.445},
                           {"T4", 7, 5, 40, 1590, "L1", 4.07},
                           {"A100 SXM", 8, 0, 108, 1410, "FP32", 19.5},
                           {"A100 SXM", 8, 0, 108, 1410, "FP64", 9.7},
                           {"A100 SXM", 8, 0, 108, 1410, "FP16", 78},
                           {"A100 SXM", 8, 0, 108, 1410, "BF16 tensor", 312},
                           {"A100 SXM", 8, 0, 108, 1410, "TF32 tensor", 156},
                           {"A100 SXM", 8, 0, 108, 1410, "FP64 tensor", 19.5},
                           {"A100 SXM", 8, 0, 108, 1410, "INT8 tensor", 624},
                           {"GeForce RTX 2080 Ti FE", 7, 5, 68, 1635, "FP16 tensor", 56.9},
                           {"Quadro RTX 6000", 7, 5, 72, 1770, "FP16 tensor", 130.5},
                           {"Jetson AGX Xavier", 7, 2, 8, 1377, "FP32", 1.41},
                           {"Jetson AGX Xavier", 7, 2, 8, 1377, "FP16 tensor", 11.3},
                           {"Jetson AGX Xavier", 7, 2, 8, 1377, "INT8 tensor", 22.6},
                           {"Jetson AGX Orin 64GB", 8, 7, 16, 1300, "FP32", 5.3},
                           {"Jetson AGX Orin 64GB", 8, 7, 16, 1300, "INT8 tensor", 85},
                           {"Jetson AGX Orin 64GB", 8, 7, 16, 1300, "FP16 tensor", 42.5},
                           {"GeForce RTX 3090", 8, 6, 82, 1695, "BF16 tensor", 71},
                           {"GeForce RTX 3090", 8, 6, 82, 1695, "TF32 tensor", 35.6},
                           {"GeForce RTX 3090", 8, 6, 82, 1695, "INT8 tensor", 284},
                           {"A40", 8, 6, 84, 1740, "FP32", 37.4},
                           {"A40", 8, 6, 84, 1740, "BF16 tensor", 149.7},
                           {"A40", 8, 6, 84, 1740, "TF32 tensor", 74.8},
                           {"A40", 8, 6, 84, 1740, "INT8 tensor", 299.3},
                           {"L40S", 8, 9, 142, 2520, "FP32", 91.6},
                           {"L40S", 8, 9, 142, 2520, "BF16 tensor", 362},
                           {"L40S", 8, 9, 142, 2520, "FP8 tensor", 733},
                           {"GeForce RTX 4090", 8, 9, 128, 2520, "FP16 tensor", 165.2},
                           {"GeForce RTX 4090", 8, 9, 128, 2520, "TF32 tensor", 82.6},
                           {"GeForce RTX 4090", 8, 9, 128, 2520, "FP8 tensor", 330.3},
                           {"GeForce RTX 4090", 8, 9, 128, 2520, "INT8 tensor", 660.6},
                           {"RTX 6000 Ada", 8, 9, 142, 2505, "BF16 tensor", 364.2},
                           {"RTX 6000 Ada", 8, 9, 142, 2505, "FP8 tensor", 728.5},
                           {"H100 SXM", 9, 0, 132, 1980, "FP32", 66.9},
                           {"H100 SXM", 9, 0, 132, 1980, "FP64", 33.5},
                           {"H100 SXM", 9, 0, 132, 1830, "BF16 tensor", 989},
                           {"H100 SXM", 9, 0, 132, 1830, "FP8 tensor", 1979},
                           {"H100 SXM", 9, 0, 132, 1980, "FP64 tensor", 66.9},
                           {"B200", 10, 0, 148, 1965, "FP32", 75},
                           {"B200", 10, 0, 148, 1965, "FP64", 37},
                           {"B200", 10, 0, 148, 1965, "FP64 tensor", 37},
                           {"B200", 10, 0, 148, 1850, "BF16 tensor", 2250},
                           {"B200", 10, 0, 148, 1850, "FP8 tensor", 4500},
                           {"B200", 10, 0, 148, 1850, "FP4 tensor", 9000},
                           {"B300", 10, 3, 148, 1850, "BF16 tensor", 2250},
                           {"B300", 10, 3, 148, 1850, "FP4 tensor", 13500},
                           {"B300", 10, 3, 148, 2032, "FP64", 1.2},
                           {"B300", 10, 3, 148, 1850, "INT8 tensor", 0},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "FP32", 104.8},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "FP16", 104.8},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "FP64", 1.64},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "FP16 tensor", 209.5},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "BF16 tensor", 209.5},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "TF32 tensor", 104.8},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "FP8 tensor", 419},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "INT8 tensor", 838},
                           {"GeForce RTX 5090", 12, 0, 170, 2407, "FP4 tensor", 1676},
                           {"RTX PRO 6000 Blackwell", 12, 0, 188, 2617, "BF16 tensor", 503.8},
                           {"RTX PRO 6000 Blackwell", 12, 0, 188, 2617, "FP32", 126},
                           {"Jetson T5000", 11, 0, 20, 1575, "FP32", 8.06},
                           {"Jetson T5000", 11, 0, 20, 1575, "FP4 tensor", 1035},
                           {"Jetson T5000", 11, 0, 20, 1575, "FP8 tensor", 517},
                           {"GB10", 12, 1, 48, 2520, "FP32", 31},
                           {"GB10", 12, 1, 48, 2520, "FP4 tensor", 500},
                           {"GB10", 12, 1, 48, 2520, "FP64", 0}};
  for (published const& each : all) {
    profile_device device;
    device.name = each.board;
    device.compute_capability_major = each.major;
    device.compute_capability_minor = each.minor;
    device.multiprocessors = each.multiprocessors;
    device.clock_khz = static_cast<std::uint32_t>(each.mhz * 1e3);
    CAPTURE(each.board);
    CAPTURE(each.roof);
    CHECK(device_peak(device, each.roof) / 1e12 == doctest::Approx(each.rate).epsilon(0.015));
  }
  for (architecture_rates const& line : architecture_table) {
    bool seen = false;
    for (published const& each : all) seen |= 10 * each.major + each.minor == line.capability;
    CAPTURE(line.capability);
    CHECK(seen);
  }
}

TEST_CASE("a capability that no document describes has no peaks of another one") {
  profile_device device;
  device.multiprocessors = 100;
  device.clock_khz = 1'000'000;
  device.memory_clock_khz = 1'000'000;
  device.memory_bus_bits = 4096;
  for (std::uint32_t const minor : {1u, 2u, 9u}) {
    device.compute_capability_major = 10;
    device.compute_capability_minor = minor;
    for (char const* const roof : {"FP32", "FP64", "BF16 tensor", "FP4 tensor", "L1"})
      CHECK(device_peak(device, roof) == 0.0);
  }
  CHECK(device_peak(device, "HBM") == 1.024e12);  // of the driver's attributes
  device.compute_capability_minor = 0;
  CHECK(device_peak(device, "FP32") == 25.6e12);
  CHECK(device_peak(device, "NVLink") == 0.0);
}

TEST_CASE("the bus to the host is that of the chip, and none where both share the memory") {
  auto const bus_of = [](std::uint32_t major, std::uint32_t minor) {
    profile_device device;
    device.compute_capability_major = major;
    device.compute_capability_minor = minor;
    return strata::detail::bus_peak(device) / 1e9;
  };
  // GB/s in one direction, of which data sheets give both: 32, 64 and 128.
  CHECK(bus_of(7, 0) == doctest::Approx(15.75).epsilon(0.001));
  CHECK(bus_of(7, 5) == doctest::Approx(15.75).epsilon(0.001));
  for (std::uint32_t const minor : {0u, 6u, 9u})
    CHECK(bus_of(8, minor) == doctest::Approx(31.5).epsilon(0.001));
  CHECK(bus_of(9, 0) == doctest::Approx(63.0).epsilon(0.001));
  CHECK(bus_of(10, 0) == doctest::Approx(63.0).epsilon(0.001));
  CHECK(bus_of(10, 3) == doctest::Approx(118.0).epsilon(0.001));
  CHECK(bus_of(12, 0) == doctest::Approx(63.0).epsilon(0.001));
  CHECK(bus_of(7, 2) == 0.0);
  CHECK(bus_of(8, 7) == 0.0);
  CHECK(bus_of(11, 0) == 0.0);
  CHECK(bus_of(12, 1) == 0.0);
  CHECK(bus_of(13, 0) == 0.0);
}

TEST_CASE("a measured peak is the best of reading, writing and copying that was not refused") {
  profile_device device;
  auto const measure = [&](char const* name, double rate, char const* refused) {
    device_ceiling made;
    made.name = name;
    made.rate = rate;
    made.refused = refused;
    device.ceilings.push_back(made);
  };
  measure("HBM read", 4e12, "");
  measure("HBM copy", 3e12, "");
  measure("HBM write", 9e12, "it is 190 % of what the attributes allow");
  CHECK(roof_of("HBM copy") == "HBM");
  CHECK(measured_peak(device, "HBM") == 4e12);
  CHECK(measured_peak(device, "L2") == 0.0);
}

}  // namespace device_peaks_test
