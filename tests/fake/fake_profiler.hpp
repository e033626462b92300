// Controls of the scripted Profiler Host API and Range Profiler. What they count is exact by
// construction: a launch adds its threads, times the weight of a metric, to the range that is
// pushed, in the one pass that has the metric. Every way to misuse them adds to fake_misuse_count.
#ifndef STRATA_TESTS_FAKE_FAKE_PROFILER_HPP
#define STRATA_TESTS_FAKE_FAKE_PROFILER_HPP

#include "fake.hpp"

/// What becomes of a range for which the image has no room.
enum class fake_full : int {
  drop,    // it is dropped, and DecodeData tells how many were
  refuse,  // PushRange says MAX_LIMIT_REACHED
  ignore   // it is dropped, and nobody tells
};

extern "C" {

/// Back to the start: one pass, weight 1, nothing fails. Objects that are enabled stay.
FAKE_EXPORT void fake_profiler_reset();
/// The chip has no metric with this in its name.
FAKE_EXPORT void fake_profiler_lack(char const* part);
/// Metrics of the hardware in one pass; SASS metrics have a pass of their own after them.
FAKE_EXPORT void fake_profiler_set_metrics_per_pass(std::size_t count);
/// The same on the device of one context alone.
FAKE_EXPORT void fake_profiler_set_metrics_per_pass_of(std::uint32_t context, std::size_t count);
/// What a thread of a kernel adds to the metric.
FAKE_EXPORT void fake_profiler_set_weight(char const* metric, double weight);
/// The metric has no value, in the range of this name or, with null, in all.
FAKE_EXPORT void fake_profiler_lose_value(char const* metric, char const* range);
/// The `first` call from now on (1: the next) and `count - 1` after it return `code`.
FAKE_EXPORT void fake_profiler_fail(char const* function, std::size_t first, std::size_t count,
                                    int code);
/// `count_pushes`: the room is one of pushes in a pass, not of names.
FAKE_EXPORT void fake_profiler_set_full(fake_full how, int count_pushes);
/// What cuptiDeviceGetChipName says of a device; GH100 until it is told.
FAKE_EXPORT void fake_profiler_set_chip(std::size_t device, char const* chip);
/// The next DecodeData drops the last ranges.
FAKE_EXPORT void fake_profiler_drop(std::size_t ranges);
/// cuptiProfilerDeviceSupported answers no, because of "architecture", "sli", "vgpu",
/// "confidential", "cmp", "wsl", "sku" or nothing of these.
FAKE_EXPORT void fake_profiler_set_unsupported(char const* why);

FAKE_EXPORT std::size_t fake_profiler_pushes();
FAKE_EXPORT std::size_t fake_profiler_passes();  // that Stop ended
FAKE_EXPORT std::size_t fake_profiler_room();    // ranges of the last SetConfig
FAKE_EXPORT std::size_t fake_profiler_enabled();
FAKE_EXPORT std::size_t fake_profiler_hosts();
}

#endif  // STRATA_TESTS_FAKE_FAKE_PROFILER_HPP
