#include "account_view.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/steps_summary.hpp>

#include "../analyse/range_paths.hpp"
#include "../analyse/speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

/// "426 us"; with its share of the period where that does not round to 0.
std::string time_and_share(double ns, std::string const& what, double period_ns) {
  std::string const share = human_percent(ns, period_ns);
  return time_text(ns) + " " + what + (share.empty() ? share : " (" + share + " %)");
}

/// A part as sentences name it.
std::string words_of(account_part const& part) {
  bool const is_idle = part.kind == account_kind::idle || part.kind == account_kind::between;
  if (is_idle) return std::string(idle_words(part.name));
  bool const is_explained = part.kind == account_kind::explained;
  if (is_explained && part.name == to_string(limiter::launch)) return std::string(short_kernels);
  return part.stall.empty() ? part.name : part.name + " (" + stall_name(part.stall) + ")";
}

/// What a list has of one name.
struct listed_part {
  std::string name;
  std::size_t finding;  ///< or none
  double ns;
  bool has_rest;  ///< see account_part

  /// The work that a finding explains: all of its kernels, also what its fix leaves of them; or
  /// what its cause takes of kernels that something else explains the rest of.
  std::string words() const {
    if (finding == account_part::none) return name;
    bool const is_copies = name == to_string(limiter::copies);
    return "finding " + std::to_string(finding + 1) +
           (is_copies  ? "'s copies"
            : has_rest ? "'s kernels"
                       : "'s cause");
  }
};

/// " (454 us to gain)": of kernels that a finding explains, most of which their limit takes. Empty
/// where it gains nearly all of them.
std::string gain_text(listed_part const& part, report_input const& input) {
  constexpr double nearly_all = 0.95;  // chosen
  if (part.finding == account_part::none) return {};
  double const period_ns = input.account.period_ns;
  finding const& found = input.findings.findings[part.finding];
  if (found.leaves_step(period_ns)) return " (alone no gain)";
  double const gain = found.gain_ns(period_ns);
  return gain < nearly_all * part.ns ? " (" + time_text(gain) + " to gain)" : std::string();
}

/// "waiting for launches 275 us, waits of the host 50 us": the parts of one kind, joined by what
/// they are, the longest first.
std::string list_of(report_input const& input, account_kind kind) {
  std::vector<listed_part> sums;
  for (account_part const& part : input.account.parts) {
    if (part.kind != kind) continue;
    std::size_t const finding = kind == account_kind::explained ? part.finding : account_part::none;
    bool const is_copies = part.name == to_string(limiter::copies);
    std::string name = finding == account_part::none ? words_of(part)
                       : is_copies                   ? part.name
                                                     : std::string("kernels");
    auto const same = std::find_if(sums.begin(), sums.end(), [&](listed_part const& known) {
      return known.finding == finding && known.name == name;
    });
    if (same == sums.end()) {
      sums.push_back({std::move(name), finding, part.ns, part.has_rest});
      continue;
    }
    same->ns += part.ns;
    same->has_rest = same->has_rest || part.has_rest;
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](auto const& a, auto const& b) { return a.ns > b.ns; });
  constexpr std::size_t most = 4;
  std::string text;
  double rest = 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (i >= most && sums.size() > most + 1)
      rest += sums[i].ns;
    else
      add_part(text, sums[i].words() + " " + time_text(sums[i].ns) + gain_text(sums[i], input),
               ", ");
  }
  if (rest > 0.0) add_part(text, "others " + time_text(rest), ", ");
  return text;
}

}  // namespace

std::string account_text(report_input const& input) {
  period_account const& account = input.account;
  if (account.parts.empty() || !input.source.traced) return {};
  struct group {
    account_kind kind;
    char const* words;
    bool has_list;
  };
  constexpr group groups[] = {{account_kind::at_roof, "at a hardware limit", true},
                              {account_kind::explained, "explained", true},
                              {account_kind::unknown, "unknown", false},
                              {account_kind::idle, "idle", true},
                              {account_kind::between, "idle between steps", true}};
  constexpr double least = 0.0005;  // of the period: a share that rounds to 0
  std::string text;
  for (group const& each : groups) {
    double const ns = account.of(each.kind);
    if (!(ns > least * account.period_ns)) continue;
    std::string part = time_and_share(ns, each.words, account.period_ns);
    if (each.has_list) part += ": " + list_of(input, each.kind);
    add_part(text, part, "; ");
  }
  std::string const whole = input.steps.from_steps
                                ? std::string("A ") + input.analysed.whole() + " of "
                                : std::string("The run of ");
  return whole + time_text(account.period_ns) + " is " + text + ".";
}

std::string unknown_text(report_input const& input) {
  account_part const* const most = input.account.largest_unknown();
  if (most == nullptr || !input.account.is_large(*most)) return {};
  if (!input.source.traced) return {};
  std::string text = most->row == account_part::none || most->row >= input.folded.size()
                         ? std::string("Work of no range")
                         : path_label(console_text(input.folded[most->row].path));
  text += ", " + time_and_share(most->ns, std::string("of the ") + input.analysed.whole(),
                                input.account.period_ns);
  if (!most->about.empty()) text += ": " + most->about;
  text += ".";
  if (most->tells.words.empty()) return text;  // the next command tells, where it is worth one
  return text + " What would tell more: " + std::string(most->tells.words) + ".";
}

}  // namespace detail
STRATA_END
