#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RUN_LOSSES_HPP
#define STRATA_ANALYSE_RUN_LOSSES_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// What a loss may take from the times of ranges.
enum class loss_effect : std::uint8_t {
  none,          ///< sums of ranges stay whole
  calls,         ///< calls of ranges on the host are missing
  device_work,   ///< records of the GPU's work are missing in their ranges
  device_times,  ///< records are counted in their ranges, with a time of 0
  any            ///< it is not known: all of these but the last
};

struct loss_effect_entry {
  std::string_view key;
  loss_effect effect;
};
/// By the key in profile.json. A kind that is not here may take anything.
inline constexpr loss_effect_entry loss_effects[] = {
    {"ranges_folded", loss_effect::none},
    {"steps_folded", loss_effect::none},
    {"ranges_left_open", loss_effect::calls},
    {"ranges_ended_elsewhere", loss_effect::calls},
    // What a stand-in has is in no other range: those that have a row of their own have all calls.
    {"ranges_too_deep", loss_effect::none},
    {"names_refused", loss_effect::none},
    {"indices_refused", loss_effect::none},
    {"nodes_refused", loss_effect::none},
    {"pops_without_push", loss_effect::none},
    {"launches_folded", loss_effect::none},
    {"launches_dropped", loss_effect::device_work},
    {"activity_folded", loss_effect::none},
    {"activity_dropped", loss_effect::device_work},
    {"graph_nodes_refused", loss_effect::none},
    {"buffers_refused", loss_effect::none},  // what CUPTI dropped for that is counted by itself
    {"uncorrelated", loss_effect::device_work},
    {"timestamps_lost", loss_effect::device_times},
    {"counter_ranges_lost", loss_effect::none},
    {"spans_dropped", loss_effect::none},
    {"spans_left_open", loss_effect::none},
    {"threads_merged", loss_effect::none},
    {"migrations_dropped", loss_effect::none},
    {"kernels_merged", loss_effect::none},
    {"histograms_coarse", loss_effect::none},
    {"allocations_dropped", loss_effect::none},
    {"work_unfinished", loss_effect::device_work},
    {"unrecorded", loss_effect::any},        // for which no memory was left
    {"records_refused", loss_effect::any}};  // of a recording, for their times

constexpr loss_effect effect_of(std::string_view key) noexcept {
  for (loss_effect_entry const& entry : loss_effects)
    if (entry.key == key) return entry.effect;
  return loss_effect::any;
}

/// What a run lost that its ranges' times miss.
struct run_losses {
  double calls = 0.0;         ///< of ranges on the host
  double device_work = 0.0;   ///< records of the GPU that are in no range
  double device_times = 0.0;  ///< records that are in their range, without a time
  std::string host_text;      ///< the largest loss of the host's times: "3 range calls ..."
  std::string device_text;    ///< the same of the GPU's

  void add(std::string_view key, std::string_view what, double count) {
    if (!(count > 0.0)) return;
    loss_effect const effect = effect_of(key);
    if (effect == loss_effect::none) return;
    std::string const text = in_groups(static_cast<std::uint64_t>(std::min(count, 1e18))) + " " +
                             std::string(what.empty() ? key : what);
    if (effect == loss_effect::calls || effect == loss_effect::any) {
      calls += count;
      keep_largest(host_text, largest_host_, text, count);
    }
    if (effect == loss_effect::calls) return;
    (effect == loss_effect::device_times ? device_times : device_work) += count;
    keep_largest(device_text, largest_device_, text, count);
  }
  double all() const noexcept { return calls + device_work + device_times; }
  bool any() const noexcept { return all() > 0.0; }
  /// Both kinds in one text, each once; empty where nothing is missing.
  std::string text() const {
    std::string all = device_text;
    if (host_text != device_text) add_part(all, host_text, " and ");
    return all;
  }

 private:
  static void keep_largest(std::string& kept, double& largest, std::string const& text,
                           double count) {
    if (!(count > largest)) return;
    kept = text;
    largest = count;
  }
  double largest_host_ = 0.0;
  double largest_device_ = 0.0;
};

inline std::string_view loss_words(std::string_view key) noexcept {
  for (loss_kind const& kind : loss_kinds)
    if (kind.key == key) return kind.what;
  return {};
}

inline run_losses losses_of(profile_losses const& lost) {
  run_losses made;
  for (loss_kind const& kind : loss_kinds)
    made.add(kind.key, kind.what, static_cast<double>(lost.*kind.count));
  return made;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RUN_LOSSES_HPP
