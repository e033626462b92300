// Controls of the scripted PM sampling. A test writes each sample itself, into the buffers of all
// devices that sample: a metric's value is the amount times its weight (fake_profiler_set_weight).
// As with the fake profiler, each misuse adds to fake_misuse_count.
#ifndef STRATA_TESTS_FAKE_FAKE_SAMPLING_HPP
#define STRATA_TESTS_FAKE_FAKE_SAMPLING_HPP

#include "fake.hpp"

extern "C" {

/// Back to the start; objects that are enabled stay.
FAKE_EXPORT void fake_sampling_reset();
/// Objects that nobody disables any more go.
FAKE_EXPORT void fake_sampling_forget();
/// A record of the hardware. Units: ns of CLOCK_REALTIME. Returns: on how many devices.
FAKE_EXPORT std::size_t fake_sample(std::uint64_t begin_ns, std::uint64_t end_ns, double amount);
/// The last records of a buffer cannot be decoded yet.
FAKE_EXPORT void fake_sampling_hold(std::size_t records);
/// Records that a buffer has room for: one more, and decoding fails with CUPTI_ERROR_OUT_OF_MEMORY
/// until the object is made anew.
FAKE_EXPORT void fake_sampling_set_room(std::size_t records);
/// Decoding ends after so many records, for another reason. 0: never.
FAKE_EXPORT void fake_sampling_pause_after(std::size_t records);
/// Added to the times of samples.
FAKE_EXPORT void fake_sampling_skew(std::int64_t ns);

FAKE_EXPORT std::size_t fake_sampling_enabled();
FAKE_EXPORT std::size_t fake_sampling_started();     // now
FAKE_EXPORT std::size_t fake_sampling_starts();      // since the reset
FAKE_EXPORT std::size_t fake_sampling_waiting();     // records that were not decoded
FAKE_EXPORT std::uint64_t fake_sampling_interval();  // of the last configuration
FAKE_EXPORT std::size_t fake_sampling_device();      // that was enabled last
}

#endif  // STRATA_TESTS_FAKE_FAKE_SAMPLING_HPP
