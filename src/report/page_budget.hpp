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

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The first screen of report.html: what a mean step's time goes to, and how long each step took.

STRATA_BEGIN
namespace detail {

/// Writes the account as a budget: GPU time by what limits it, idle time by its cause in steps and
/// between them, each with the range that it is of.
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
    double ns;
  };
  static constexpr std::size_t most_parts = 200;
  static constexpr std::size_t most_groups = 300;

  void add(std::string const& name, std::size_t row, double ns) {
    if (!(ns > 0.0) || !is_finite(ns)) return;
    std::uint32_t const position = row < places_.size() ? places_[row] : 0;
    std::size_t& number = positions_[name + '\n' + std::to_string(position)];
    if (number == 0) {
      parts_.push_back({name, position, 0.0});
      number = parts_.size();
    }
    parts_[number - 1].ns += ns;
  }

  template <class IsMeant>
  void write_parts(char const* key, IsMeant is_meant) {
    for (account_part const& known : input_.account.parts)
      if (is_meant(known.kind)) add(known.name, known.row, known.ns);
    parts_.sort([](part const& a, part const& b) {
      if (a.ns != b.ns) return a.ns > b.ns;
      return a.name != b.name ? a.name < b.name : a.position < b.position;
    });
    json_.array(key);  // what, range (-1: of many), ns
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      json_.text({}, parts_[i].name);
      if (i < most_parts)
        json_.integer({}, parts_[i].position);
      else
        json_.integer({}, -1);
      json_.number({}, parts_[i].ns);
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
      std::size_t const end = smaller(steps.size(), i + together);
      std::int64_t shortest = steps[i].end - steps[i].begin;
      std::int64_t longest = shortest;
      for (std::size_t step = i; step < end; ++step) {
        shortest = smaller(shortest, steps[step].end - steps[step].begin);
        longest = larger(longest, steps[step].end - steps[step].begin);
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
  flat_map<std::string, std::size_t> positions_;  ///< 1 + position in parts_, by name and place
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_BUDGET_HPP
