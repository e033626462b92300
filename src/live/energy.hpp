#include <strata/version.hpp>
#ifndef STRATA_LIVE_ENERGY_HPP
#define STRATA_LIVE_ENERGY_HPP

// Whose the energy is that a device used: of the work that ran meanwhile, at a power of each range.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include "sample_split.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

STRATA_BEGIN
namespace live {

/// Energy by the owners of work. Units: J. The values of owners, `idle` and `late` are `total`.
struct energy_split {
  std::size_t updates = 0;  ///< of the counter, that are split
  std::vector<double> values;
  std::vector<double> errors;  ///< half of an interval meant for 95 %
  std::vector<double> covered_ns;
  std::vector<double> work_ns;
  double idle = 0.0;  ///< while none of the work ran
  double late = 0.0;  ///< that came with late updates: of no owner
  double total = 0.0;
  double seconds = 0.0;  ///< that it covers
};

/// Updates that it takes: of fewer, nothing is split.
constexpr std::size_t least_updates = 10;

/// The energy between two updates is what each kind of owner uses in a ns while its work runs, and
/// the device while none does: least squares, none below 0 or above what a GPU uses, and about
/// equal where the updates do not tell them apart (split_samples). The interval has how far these
/// may be from each other then, and the times of the updates, which are known to some ms. What came
/// with an update that took several times as long as those around it belongs to no owner.
/// `kind_of`: owners of one kind have one power. `recorded`: where there are such, the times, in
/// order, outside of which nothing is known of the work. Cost: that of split_samples.
energy_split split_energy(std::vector<energy_reading> const& readings,
                          std::vector<sampled_work> const& work,
                          std::vector<std::uint32_t> const& kind_of,
                          std::vector<sample_span> const& recorded);

/// Adds the metric `energy` to a set of sampled counters whose owners are these nodes, and says
/// where all of it is. Returns: a sentence.
std::string add_energy(profile const& source, counter_set& set,
                       std::vector<sampled_work> const& work,
                       std::vector<std::uint32_t> const& nodes,
                       std::vector<sample_span> const& recorded);

/// The energy of a recording whose work is not known: a sentence; empty without readings.
std::string describe_energy(profile const& source);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_ENERGY_HPP
