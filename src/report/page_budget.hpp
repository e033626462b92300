#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_BUDGET_HPP
#define STRATA_REPORT_PAGE_BUDGET_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../analyse/account.hpp"
#include "report_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The first screen of report.html: what a mean step's time goes to, and how long each step took.

STRATA_BEGIN
namespace detail {

/// Writes the account as a budget: GPU time by what limits it, idle time by its cause in steps and
/// between them, each with its range and with the finding that explains it.
class page_budget {
 public:
  /// `places`: on the page, by row of the folded tree.
  page_budget(json_writer& json, report_input const& input, vec<std::uint32_t> const& places)
      : json_(json), input_(input), places_(places) {}

  void write() {
    json_.line();
    json_.object("budget");
    write_parts("busy", [](account_kind kind) {
      return kind != account_kind::idle && kind != account_kind::between;
    });
    write_parts("idle", [](account_kind kind) { return kind == account_kind::idle; });
    write_parts("between", [](account_kind kind) { return kind == account_kind::between; });
    json_.end_object();
    write_steps();
  }

 private:
  struct part {
    std::string name;
    std::uint32_t position;  ///< on the page
    std::size_t finding;     ///< its number; 0 if none explains it
    double ns;
  };
  static constexpr std::size_t most_parts = 200;
  static constexpr std::size_t most_groups = 300;

  void add(account_part const& known) {
    if (!(known.ns > 0.0) || !is_finite(known.ns)) return;
    std::uint32_t const position = known.row < places_.size() ? places_[known.row] : 0;
    std::size_t const finding = known.finding + 1;
    std::size_t& number =
        positions_[known.name + '\n' + std::to_string(position) + '\n' + std::to_string(finding)];
    if (number == 0) {
      parts_.push_back({known.name, position, finding, 0.0});
      number = parts_.size();
    }
    parts_[number - 1].ns += known.ns;
  }

  template <class IsMeant>
  void write_parts(char const* key, IsMeant is_meant) {
    for (account_part const& known : input_.account.parts)
      if (is_meant(known.kind)) add(known);
    parts_.sort([](part const& a, part const& b) {
      if (a.ns != b.ns) return a.ns > b.ns;
      if (a.name != b.name) return a.name < b.name;
      return a.position != b.position ? a.position < b.position : a.finding < b.finding;
    });
    json_.array(key);  // what, range (-1: of many), ns, finding
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      json_.text({}, parts_[i].name);
      if (i < most_parts)
        json_.integer({}, parts_[i].position);
      else
        json_.integer({}, -1);
      json_.number({}, parts_[i].ns);
      json_.integer({}, parts_[i].finding);
    }
    json_.end_array();
    parts_.clear();
    positions_.clear();
  }

  /// The length of each step; of many, the shortest and the longest of neighbours.
  void write_steps() {
    vec<step_record> const& steps = input_.source.steps;
    std::size_t const together = steps.size() / most_groups + 1;
    json_.line();
    json_.array("steps");  // the first of a group, how many, the shortest, the longest
    for (std::size_t i = 0; i < steps.size(); i += together) {
      std::size_t const end = std::min(steps.size(), i + together);
      std::int64_t shortest = steps[i].end - steps[i].begin;
      std::int64_t longest = shortest;
      for (std::size_t step = i; step < end; ++step) {
        shortest = std::min(shortest, steps[step].end - steps[step].begin);
        longest = std::max(longest, steps[step].end - steps[step].begin);
      }
      json_.integer({}, steps[i].step);
      json_.integer({}, end - i);
      json_.integer({}, shortest);
      json_.integer({}, longest);
    }
    json_.end_array();
  }

  json_writer& json_;
  report_input const& input_;
  vec<std::uint32_t> const& places_;
  vec<part> parts_;
  /// 1 + position in parts_, by name, place and finding.
  flat_map<std::string, std::size_t> positions_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_BUDGET_HPP
