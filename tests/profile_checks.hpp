// What tests look at in a profile: its rows and counted values by path, and what it lost.
#ifndef STRATA_TESTS_PROFILE_CHECKS_HPP
#define STRATA_TESTS_PROFILE_CHECKS_HPP

#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>

#include <cstddef>
#include <string>
#include <string_view>

// The bodies are compiled once: each of them makes whole tables.
namespace test {

/// Where the row with this path is; the test ends where there is none.
std::size_t place_of(strata::vec<strata::range_row> const& rows, std::string_view path);
strata::range_row const& row_at(strata::call_tree const& tree, std::string_view path);
strata::range_row row(strata::profile const& of, std::string const& path);

/// What was counted on the GPU.
struct counted {
  strata::call_tree tree;
  strata::counter_table table;

  explicit counted(strata::profile const& of, strata::folding mode = strata::folding::none);
  ~counted();
  counted(counted const&) = delete;
  counted& operator=(counted const&) = delete;

  strata::counter_cell const& cell(
      std::string const& path, std::string const& metric,
      strata::counter_scope scope = strata::counter_scope::total) const;
  double total(std::string const& path, std::string const& metric) const;
  double self(std::string const& path, std::string const& metric) const;
  bool empty(std::string const& path, std::string const& metric) const;
  std::string note(std::string const& path, std::string const& metric,
                   strata::counter_scope scope = strata::counter_scope::total) const;
  /// Whether the counting steps had the same work there; empty where they had.
  std::string work(std::string const& path) const;
};

/// Nothing but the `times` of so many records.
void nothing_lost(strata::profile const& p, std::uint64_t times = 0);

}  // namespace test

#endif  // STRATA_TESTS_PROFILE_CHECKS_HPP
