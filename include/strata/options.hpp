#include <strata/version.hpp>
#ifndef STRATA_OPTIONS_HPP
#define STRATA_OPTIONS_HPP

#include <strata/base/vec.hpp>
#include <strata/profile/row_order.hpp>

#include <string>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN_SWITCH

/// What a session does: the fields that STRATA=... sets, or code.
struct options {
  enum class nvtx_mode : unsigned char { automatic, out, in, in_and_out, off };
  using order = row_order;

  bool enabled = true;  ///< `off` clears it
  bool trace = true;    ///< device activity by CUPTI; `host` clears it: ranges and host times only
  bool trace_kernels = true;  ///< `trace=kernels+copies+memory+waits` chooses some of them
  bool trace_copies = true;   ///< and fills
  bool trace_memory = true;   ///< allocations and releases
  bool trace_waits = true;    ///< of the host for the device
  /// Migrations of managed memory from the start; else from the first allocation that is seen.
  bool trace_managed = false;
  std::string out =
      "strata-out";   ///< directory of the files; a used one is never overwritten, `-2` is appended
  bool table = true;  ///< `formats=table+csv+json+trace`
  bool csv = true;
  bool json = true;
  bool chrome_trace = true;
  bool plain_trace = false;  ///< `formats=trace.json`: the trace that is not compressed
  bool html = false;         ///< `formats=html`: report.html, a page to look at
  bool recording = false;    ///< `formats=recording`: profile.strata, for reports made later
  bool openmetrics = false;  ///< `formats=openmetrics`: metrics.prom, for Prometheus
  order sort = order::cost;  ///< of the ranges below one, in the table and at first on the page
  /// A name or pattern: the calls of these ranges are the steps, in place of STRATA_STEP().
  std::string step;
  std::uint32_t skip = 0;    ///< steps that are not recorded, before each window
  std::uint32_t warmup = 0;  ///< steps to record and drop
  std::uint32_t active = 0;  ///< steps to keep; 0: all that follow
  std::uint32_t repeat = 1;  ///< windows; 0: until the program ends
  std::uint32_t every = 0;   ///< a window at the end of each so many steps, until the program ends
  /// A file: each time that it is touched, a window of warmup + active (or 1) steps is recorded and
  /// reported in a directory of its own below `out`. Nothing is recorded between the windows.
  std::string trigger;
  std::uint32_t slower = 0;  ///< with `trigger`: also where steps take so many % longer; 0: never
  /// With `every` or `trigger`: reports that stay, the last ones; 0: all of `trigger`, while
  /// `every` has one report, at the end.
  std::uint32_t keep = 0;
  /// `for`: how many seconds the session of STRATA lasts at most; the program continues; 0: all.
  std::uint32_t for_s = 0;
  /// `attach=window`: CUPTI comes into the process with the first window, and stays. Requires: no
  /// other thread makes or destroys CUDA graphs when it comes, as at the start of a session.
  bool attach_in_window = false;
  /// Work of threads in no range belongs to the range of the thread that drives the steps.
  bool adopt = true;
  vec<std::string> only;  ///< patterns (`*`, `?`) of range names: these and what is below them
  /// Patterns (`*`, `?`) of kernels in which GPUs wait for each other, besides the known ones.
  vec<std::string> collectives;
  /// Experimental: samples the device's counters of memory, L2 and SMs; without `trace` nothing
  /// else of CUPTI is used.
  bool live = false;
  std::uint32_t interval_us = 0;  ///< of a sample, 20 to 1000; 0: some 300
  bool synchronize =
      false;  ///< wait for the device at the end of every range, for wall-clock comparisons
  nvtx_mode nvtx =
      nvtx_mode::automatic;  ///< ranges to NVTX tools as well; `in`: the program's NVTX calls too
  /// How long the end of a session waits for a device, in ms. What has not ended by then is a loss.
  std::uint32_t drain_ms = 1000;
  /// After so many seconds without progress the console says where the program is; 0: never.
  std::uint32_t watchdog_s = 0;
  bool verbose = false;
  bool strict = false;             ///< exit code 3 when something could not be measured
  std::uint32_t log_mb = 256;      ///< memory limit of ranges, launches and names
  std::uint32_t buffers_mb = 512;  ///< memory limit of device activity and its sums
  /// Hardware counters: presets (hbm, l1, ...), keys and CUPTI names joined by `+`.
  std::string counters;
  /// The CPU's counters by perf: `cpu` for all, or keys such as cpu_instructions joined by `+`.
  std::string cpu_counters;
  /// Patterns (`*`, `?`) of range names whose kernels are counted one by one as well; `all`; `off`
  /// for none. Empty: with the preset `findings` those of ranges with several kernels.
  vec<std::string> kernels;
  /// The file of this device's measured ceilings, which become roofs; `off` for none, empty for the
  /// one that `src/ceilings/ceilings.hpp` keeps.
  std::string ceilings;
  /// The preloaded library of `strata run --library`, for the next command of an answer.
  std::string library;
  bool help = false;  ///< print the keys, record nothing
  std::string text;   ///< as given

  /// Reads `key[=value[+value...]],...`. Mistakes become sentences in `problems`.
#if STRATA_ENABLED
  STRATA_DETAIL_EXPORT static options parse(std::string_view text, vec<std::string>& problems);
#else
  static options parse(std::string_view text, vec<std::string>&) {
    options made;
    made.enabled = false;
    made.text = std::string(text);
    return made;
  }
#endif

  /// Whether the options ask for the program's NVTX calls as ranges, and for ranges as NVTX calls.
  bool nvtx_in() const noexcept { return nvtx == nvtx_mode::in || nvtx == nvtx_mode::in_and_out; }
  bool nvtx_out() const noexcept { return nvtx == nvtx_mode::out || nvtx == nvtx_mode::in_and_out; }

  /// Whether each window has a report of its own, while the program continues.
  bool reports_windows() const noexcept { return !trigger.empty() || (every != 0 && keep != 0); }

  /// Whether CUPTI comes with the first window. With `nvtx=in` it cannot: NVTX looks for its tool
  /// at the program's first NVTX call. Nor can it where steps are calls that it reports.
  bool attaches_in_windows() const noexcept {
    return attach_in_window && trace && has_schedule() && !nvtx_in() && !steps_are_calls();
  }

  /// Whether the steps are calls into the driver, rather than ranges or STRATA_STEP().
  bool steps_are_calls() const noexcept {
    return step == "graph" || step == "sync" || step == "auto";
  }

  /// Whether the steps are recorded in windows rather than all.
  bool has_schedule() const noexcept {
    return skip != 0 || warmup != 0 || active != 0 || every != 0 || !trigger.empty();
  }
};

STRATA_END_SWITCH
STRATA_DETAIL_END_CODE

#endif  // STRATA_OPTIONS_HPP
