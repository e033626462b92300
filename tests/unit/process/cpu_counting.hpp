// Counting with the machine's own perf_event_open. A test that cannot have the counters it is about
// ends with 77: skipped, not passed.
#ifndef STRATA_TESTS_UNIT_PROCESS_CPU_COUNTING_HPP
#define STRATA_TESTS_UNIT_PROCESS_CPU_COUNTING_HPP

#include <strata/collect/cpu/cpu_counters.hpp>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "../../counter_tables.hpp"
#include "../recording.hpp"

namespace cpu_counting {

/// Runs the tests if `key` can be counted here.
inline int run_tests(char const* key, int argc, char** argv) {
  {
    strata::detail::cpu_counter_collector probe;
    strata::vec<strata::status> problems;
    strata::status const opened = probe.open(key, problems);
    if (!opened.ok()) {
      std::printf("SKIPPED: %s\n", opened.message().c_str());
      return 77;
    }
  }
  doctest::Context context(argc, argv);
  return context.run();
}

/// What a program counted.
class counted {
 public:
  counted(std::string const& request, std::function<void()> const& program) {
    strata::options how = recording_test::quiet();
    how.cpu_counters = request;
    recording_test::recording all(how);
    REQUIRE(all.started());
    program();
    data_ = all.profile();
    strata::call_tree const tree(data_);
    rows_ = tree.rows();
    table_ = strata::make_counter_table(data_, tree, strata::counter_set::cpu);
  }

  /// NaN where there is none.
  double value(std::string const& path, std::string const& key,
               strata::counter_scope scope = strata::counter_scope::self) const {
    std::size_t const metric = table_.find(key);
    for (std::size_t row = 0; metric != strata::counter_table::none && row < rows_.size(); ++row) {
      if (rows_[row].path == path) return table_.at(row, metric, scope).value;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  strata::profile const& data() const { return data_; }

  bool says(std::string const& part) const {
    for (std::string const& each : data_.problems) {
      if (each.find(part) != std::string::npos) return true;
    }
    return false;
  }

 private:
  strata::profile data_;
  strata::vec<strata::range_row> rows_;
  strata::counter_table table_;
};

}  // namespace cpu_counting

#endif  // STRATA_TESTS_UNIT_PROCESS_CPU_COUNTING_HPP
