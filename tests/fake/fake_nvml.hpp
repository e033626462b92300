// Controls of the scripted NVML: a counter of energy that moves at equal times, as that of an H200
// does each 100 ms (driver 580).
#ifndef STRATA_TESTS_FAKE_FAKE_NVML_HPP
#define STRATA_TESTS_FAKE_FAKE_NVML_HPP

#include "fake.hpp"

extern "C" {

/// Back to the start: 100 W, and a counter that moves each `period_ns`.
FAKE_EXPORT void fake_nvml_reset(std::uint64_t period_ns);
/// The device uses so many W more in this time. Units: ns of CLOCK_REALTIME.
FAKE_EXPORT void fake_nvml_use(std::uint64_t begin_ns, std::uint64_t end_ns, double watts);
/// The function with this name says this code; 0: it works.
FAKE_EXPORT void fake_nvml_fail(char const* function, int code);
FAKE_EXPORT std::size_t fake_nvml_reads();  // since the reset
}

#endif  // STRATA_TESTS_FAKE_FAKE_NVML_HPP
