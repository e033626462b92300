#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_ACCOUNT_HPP
#define STRATA_ANALYSE_ACCOUNT_HPP

// The account of a run: what all of its period goes to. Console, page, strata explain and
// findings.json show this one.

#include <strata/base/macros.hpp>
#include <strata/tables/table_input.hpp>
#include "findings.hpp"
#include "roofline.hpp"
#include "steps.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN

/// The counted values of the GPU by the rows of `folded`, or null.
inline counter_table const* gpu_counters(table_input const& tables) noexcept {
  for (counter_tables const& each : tables.counters)
    if (each.folded.name == counter_set::gpu) return &each.folded;
  return nullptr;
}

/// What is known of a part of the period.
enum class account_kind : std::uint8_t {
  at_roof,    ///< busy: what a unit needs at its peak; all of it from a use of 80 % on
  explained,  ///< busy: a finding, a wait that was counted, or the launch of kernels says why
  unknown,    ///< busy: nothing says why it takes so long
  idle,       ///< of the device, in steps, by cause
  between     ///< the same between steps
};
constexpr std::string_view to_string(account_kind kind) noexcept {
  constexpr std::string_view names[] = {"at a hardware limit", "explained", "unknown", "idle",
                                        "between"};
  return names[static_cast<std::size_t>(kind)];
}

/// What would tell more of a part of which nothing is known.
struct next_look {
  std::string_view counters = {};  ///< of counters=; "" where these tell nothing more
  std::string kernels = {};        ///< of kernels=
  bool without_graphs = false;     ///< with CUDA graphs switched off
  std::string kernel = {};         ///< that Nsight Compute would tell more of
  std::string_view words = {};     ///< what is no key: fixed clocks, a mark in the code

  /// The keys of STRATA=, or words.
  std::string text() const;
};

/// The variable that switches off the CUDA graphs of a program that Strata knows, with its value;
/// empty if none is known.
std::string variable_without_graphs(profile const& source);

/// Time of a period that goes to one thing in one range itself.
struct account_part {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  account_kind kind = account_kind::unknown;
  std::string name;            ///< of busy time its limiter, of idle time its cause
  std::size_t row = none;      ///< of the folded tree; none where it has no place
  std::size_t finding = none;  ///< position of the one that explains it
  double ns = 0.0;
  std::string_view stall = {};  ///< of explained latency, what its warps wait for most
  /// Whether `ns` is all time of the finding's kernels, also what its fix leaves.
  bool has_rest = false;
  // Of what is unknown.
  std::string about;  ///< its kernel, and how near that is to a limit
  next_look tells;
};

/// The period of a run and all of its parts, which add up to it.
/// Units: ns.
struct period_account {
  double period_ns = 0.0;
  double step_ns = 0.0;
  double between_ns = 0.0;  ///< from a step to the next one; the period is both
  /// Busy parts first, then what is idle in steps and between them; of each the longest first.
  std::vector<account_part> parts;

  double of(account_kind kind) const noexcept {
    double sum = 0.0;
    for (account_part const& part : parts)
      if (part.kind == kind) sum += part.ns;
    return sum;
  }
  double busy_ns() const noexcept {
    return of(account_kind::at_roof) + of(account_kind::explained) + of(account_kind::unknown);
  }
  /// Whether a part is worth a sentence.
  bool is_large(account_part const& part) const noexcept {
    return part.ns >= detail::least_share * period_ns;
  }
  /// The limiter with half of the busy time or more, "mixed" if none has; "" where that is not
  /// known, since too little was counted.
  std::string limiter() const;
  /// "No single limiter: issue for 32 % of the step, latency for 26 %.": those with much of it;
  /// empty where there is none, or the device is idle most of the time. `whole`: "step".
  std::string limiters_text(std::string const& whole) const;
  /// The longest part of which nothing is known; null where there is none.
  account_part const* largest_unknown() const noexcept {
    for (account_part const& part : parts)
      if (part.kind == account_kind::unknown) return &part;
    return nullptr;
  }
};

/// The account of a profile's mean period; without a part where no GPU worked or none was traced.
/// `by_kernel`: with rows of kernels that were counted one by one; null if none was.
/// Requires: the steps and counters of the tables. Cost: O(rows + kernels + findings).
period_account make_account(table_input const& tables, step_analysis const& steps,
                            roofline_table const& roofline, findings_table const& findings,
                            kernels_apart const* by_kernel);

namespace detail {

/// Time of which neither a limiter nor a cause is known.
inline constexpr std::string_view not_known = "not known";

/// What the account calls kernels whose range the host launches more slowly than they run.
inline constexpr std::string_view short_kernels = "kernels shorter than their launches";

/// What a kernel takes whatever it does: its blocks begin, and the last one ends.
inline constexpr std::string_view kernel_ends = "start and end of kernels";

/// Time of kernels that leave half of the SMs without a block.
inline constexpr std::string_view with_few_blocks = "kernels with few blocks";

/// What limits the kernels of a range: a unit ("HBM"), "latency", "above the roof" or "not known".
/// Of `roofline_table::own`, which has no kind.
std::string limiter_name(range_limit const& limit);

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_ACCOUNT_HPP
