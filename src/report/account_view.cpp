#include "account_view.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/steps_summary.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
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

/// "launch 275 us, host work 50 us": the parts of one kind, joined by what they are, the longest
/// first.
std::string list_of(period_account const& account, account_kind kind) {
  std::vector<std::pair<std::string, double>> sums;
  for (account_part const& part : account.parts) {
    if (part.kind != kind) continue;
    std::string name = part.name;
    if (kind == account_kind::explained)
      name = part.finding != account_part::none   ? "finding " + std::to_string(part.finding + 1)
             : name == to_string(limiter::launch) ? "kernels too short to fill the GPU"
                                                  : name;
    auto const same = std::find_if(sums.begin(), sums.end(),
                                   [&](auto const& known) { return known.first == name; });
    if (same == sums.end())
      sums.emplace_back(std::move(name), part.ns);
    else
      same->second += part.ns;
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](auto const& a, auto const& b) { return a.second > b.second; });
  constexpr std::size_t most = 4;
  std::string text;
  double rest = 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (i >= most && sums.size() > most + 1)
      rest += sums[i].second;
    else
      add_part(text, sums[i].first + " " + time_text(sums[i].second), ", ");
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
  constexpr group groups[] = {{account_kind::at_roof, "at a roof", true},
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
    if (each.has_list) part += ": " + list_of(account, each.kind);
    add_part(text, part, "; ");
  }
  std::string const whole = input.steps.from_steps
                                ? std::string("A ") + input.steps.whole() + " of "
                                : std::string("The run of ");
  return whole + time_text(account.period_ns) + " is " + text + ".";
}

std::string unknown_text(report_input const& input) {
  constexpr double least = 0.01;  // of the period: least_share of the rules
  account_part const* const most = input.account.largest_unknown();
  if (most == nullptr || most->ns < least * input.account.period_ns) return {};
  if (!input.source.traced) return {};
  std::string text = most->row == account_part::none || most->row >= input.folded.size()
                         ? std::string("Work of no range")
                         : path_label(console_text(input.folded[most->row].path));
  text += ", " + time_and_share(most->ns, std::string("of the ") + input.steps.whole(),
                                input.account.period_ns);
  if (!most->about.empty()) text += ": " + most->about;
  return text + ". What would tell more: " + most->tells;  // no full stop ends a command
}

}  // namespace detail
STRATA_END
