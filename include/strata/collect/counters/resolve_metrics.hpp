#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_RESOLVE_METRICS_HPP
#define STRATA_COLLECT_COUNTERS_RESOLVE_METRICS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>

#include <string>
#include <type_traits>

STRATA_BEGIN

/// Resolves names against a chip: has(name) tells whether it has a CUPTI metric with its rollup.
/// `chip_names` are what misspelt CUPTI names are compared with.
/// Cost: has() is called several times for a name, so it should remember.
template <class Has>
metric_set resolve_metrics(vec<std::string> const& wanted, Has&& has,
                           vec<std::string> const& chip_names = {}) {
  return detail::metric_resolver<std::remove_reference_t<Has>>(has, chip_names).run(wanted);
}

STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_RESOLVE_METRICS_HPP
