#include <strata/version.hpp>
#ifndef STRATA_CEILINGS_CEILINGS_HPP
#define STRATA_CEILINGS_CEILINGS_HPP

// What this device reaches, measured by short kernels that only read, write or compute. Sessions
// take the results for their roofs once write_ceilings() has kept them. Needs neither a toolkit nor
// a session.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN

/// What was measured, of a device or of the CPU.
struct measured_ceilings {
  profile_device device;  ///< with its `ceilings`; those that are refused too
  std::uint32_t driver_version = 0;
  bool cpu = false;      ///< one thread of the CPU, as this program was compiled
  double seconds = 0.0;  ///< that all took
  status outcome;        ///< why nothing was measured
};

namespace detail {

/// Keeps a result out where it contradicts the device's attributes: it is above them by more than
/// 2 %, or below half of them.
void judge_ceiling(device_ceiling& ceiling);

/// The lines of a file of ceilings about this device, as ceilings_file::read takes them.
std::string ceilings_lines(profile_device const& device, std::uint32_t driver_version);

}  // namespace detail

/// Measures what a device reaches, in about a second: its memory, L2, L1 and shared memory; FP32,
/// FP64, FP16 and the tensor cores. `device`: the driver's ordinal; -1 is the device of the current
/// context, or the first.
/// Errors: `outcome` says why nothing was measured, `refused` of a ceiling why that one is none.
/// Requires: nothing else runs on the device, and no stream is being captured.
/// Cost: up to 4 GiB of device memory meanwhile; all threads may continue.
measured_ceilings measure_ceilings(int device = -1);

/// Measures one thread of the CPU, as this program was compiled: a copy, a triad, multiply and add.
/// Cost: 0.3 s and 96 MiB.
measured_ceilings measure_cpu_ceilings();

/// A table of what was measured: the rate, what the attributes allow, its share, clock and spread.
std::string ceilings_text(measured_ceilings const& ceilings);

/// Keeps the ceilings of a device where sessions look for them: a file in `$XDG_CACHE_HOME/strata`,
/// else `~/.cache/strata`, which is replaced at once. `path`: another file.
status write_ceilings(measured_ceilings const& ceilings, std::string path = {});

STRATA_END

#endif  // STRATA_CEILINGS_CEILINGS_HPP
