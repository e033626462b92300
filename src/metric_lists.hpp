#ifndef STRATA_METRIC_LISTS_HPP
#define STRATA_METRIC_LISTS_HPP

#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/profile/metric_set.hpp>

#include <string>
#include <string_view>

STRATA_BEGIN

/// The presets with their passes on a chip (GH100, AD102, ...), what it lacks, and every metric.
/// Needs libcupti, but no GPU: without it, or a chip that it knows, the text is one sentence.
/// Cost: 50 to 500 ms.
std::string list_metrics(std::string_view chip);
/// The same by another library.
std::string list_metrics(std::string_view chip, detail::profiler_library const& library);

/// What `counters=cpu` and its keys count on a CPU. Needs nothing; whether this machine counts it
/// is known when it is asked for.
std::string list_cpu_metrics();

namespace detail {

/// Chips that the library knows, such as GH100.
vec<std::string> supported_chips(profiler_library const& library);

/// What a metric means on a chip beyond its text: dense or with sparsity, with or without host
/// memory, hits or fills; empty where it means on all chips the same.
std::string meaning_on_chip(chip_metrics& chip, resolved_metric const& metric);

}  // namespace detail

STRATA_END

#endif  // STRATA_METRIC_LISTS_HPP
