#include "rank_collectives.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include "rank_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

STRATA_BEGIN

namespace detail {

/// Puts the times of the ranks together.
class rank_collective_list {
 public:
  explicit rank_collective_list(std::vector<rank_run> const& runs) : runs_(runs) {}

  std::vector<rank_collective_row> make() {
    for (rank_run const& run : runs_)
      for (rank_collective const& collective : run.collectives) add(collective);
    for (rank_run const& run : runs_)
      for (rank_collective const& collective : run.collectives) add_waits(run, collective);
    for (std::size_t i = 0; i < rows_.size(); ++i) finish(rows_[i], sums_[i]);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](rank_collective_row const& a, rank_collective_row const& b) {
                       return a.transfer_ns + a.wait_ns > b.transfer_ns + b.wait_ns;
                     });
    return std::move(rows_);
  }

 private:
  struct row_sums {
    std::vector<double> least;  // by sample; 0 where no rank took part
    double wait = 0.0;          // of all ranks, in a mean step
    double ranks = 0.0;         // that took part
    double least_wait = 0.0;
  };

  std::size_t position_of(rank_collective const& collective) {
    std::size_t& number = places_[collective.path + '\n' + collective.kernel];
    if (number == 0) {
      rank_collective_row row;
      row.path = collective.path;
      row.kernel = collective.kernel;
      row.operation = collective.operation;
      row.algorithm = collective.algorithm;
      row.protocol = collective.protocol;
      rows_.push_back(std::move(row));
      sums_.emplace_back();
      number = rows_.size();
    }
    return number - 1;
  }
  void add(rank_collective const& collective) {
    std::size_t const position = position_of(collective);
    if (is_nan(rows_[position].bytes)) rows_[position].bytes = collective.bytes;
    std::vector<double>& least = sums_[position].least;
    if (least.size() < collective.ns.size()) least.resize(collective.ns.size(), 0.0);
    for (std::size_t i = 0; i < collective.ns.size(); ++i) {
      double const ns = collective.ns[i];
      if (ns > 0.0) least[i] = least[i] > 0.0 ? std::min(least[i], ns) : ns;
    }
  }
  void add_waits(rank_run const& run, rank_collective const& collective) {
    std::size_t const position = position_of(collective);
    row_sums& sums = sums_[position];
    double wait = 0.0;
    bool takes_part = false;
    for (std::size_t i = 0; i < collective.ns.size(); ++i) {
      if (!(collective.ns[i] > 0.0)) continue;
      takes_part = true;
      wait += collective.ns[i] - sums.least[i];
    }
    if (!takes_part) return;
    wait /= static_cast<double>(collective.ns.size());
    rank_collective_row& row = rows_[position];
    if (row.longest_wait_rank < 0 || wait > row.longest_wait_ns) {
      row.longest_wait_ns = wait;
      row.longest_wait_rank = run.rank;
    }
    if (row.least_wait_rank < 0 || wait < sums.least_wait) {
      sums.least_wait = wait;
      row.least_wait_rank = run.rank;
    }
    sums.wait += wait;
    sums.ranks += 1.0;
  }
  static void finish(rank_collective_row& row, row_sums const& sums) {
    for (double const ns : sums.least) row.transfer_ns += ns;
    row.transfer_ns /= std::max(1.0, static_cast<double>(sums.least.size()));
    row.wait_ns = sums.wait / std::max(1.0, sums.ranks);
  }

  std::vector<rank_run> const& runs_;
  std::unordered_map<std::string, std::size_t> places_;  // position and 1
  std::vector<rank_collective_row> rows_;
  std::vector<row_sums> sums_;
};

}  // namespace detail

std::vector<rank_collective_row> list_collectives(std::vector<rank_run> const& runs) {
  return detail::rank_collective_list(runs).make();
}

STRATA_END
