#include "rank_collectives.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/range_rows.hpp>
#include "rank_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

STRATA_BEGIN

namespace detail {

std::uint32_t ranks_in(std::string_view name) {
  constexpr std::string_view end = " ranks)";
  constexpr std::uint32_t max_ranks = 1u << 24;
  if (!begins_with(name, nccl_domain) || !ends_with(name, end)) return 0;
  name.remove_suffix(end.size());
  std::size_t const number = name.find_last_not_of("0123456789") + 1;
  if (!ends_with(name.substr(0, number), " of ")) return 0;
  std::uint32_t ranks = 0;
  for (char const digit : name.substr(number)) {
    ranks = ranks * 10 + static_cast<std::uint32_t>(digit - '0');
    if (ranks > max_ranks) return 0;
  }
  return ranks;
}

double bus_factor(std::string_view operation, std::uint32_t ranks) noexcept {
  if (ranks < 2) return not_a_number;
  double const n = ranks;
  if (operation == "all_reduce") return 2.0 * (n - 1.0) / n;
  for (std::string_view const known :
       {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"})
    if (operation == known) return n - 1.0;
  for (std::string_view const known : {"broadcast", "reduce", "send_receive"})
    if (operation == known) return 1.0;
  return not_a_number;
}

double nvlink_peak(std::string_view device) noexcept {
  struct board {
    std::string_view name;
    double gb_per_s;
  };
  // Boards for PCIe come first: a bridge joins two of them, or none.
  constexpr board boards[] = {{"PCIe", 0},        {"NVL", 0},        {"GH200", 0},
                              {"H800", 0},        {"H20 ", 0},       {"B300", 900},
                              {"B200", 900},      {"H200", 450},     {"H100 80GB HBM3", 450},
                              {"A100-SXM4", 300}, {"V100-SXM2", 150}};
  for (board const& known : boards)
    if (device.find(known.name) != device.npos)
      return known.gb_per_s > 0.0 ? 1e9 * known.gb_per_s : not_a_number;
  return not_a_number;
}

/// Puts the times of the ranks together.
class rank_collective_list {
 public:
  explicit rank_collective_list(std::vector<rank_run> const& runs) : runs_(runs) {}

  std::vector<rank_collective_row> make() {
    for (rank_run const& run : runs_)
      for (rank_collective const& collective : run.collectives) add(collective);
    for (rank_run const& run : runs_)
      for (rank_collective const& collective : run.collectives) add_waits(run, collective);
    double const link = link_of_all();
    for (std::size_t i = 0; i < rows_.size(); ++i) finish(rows_[i], sums_[i], link);
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
      row.communicator_ranks = collective.communicator_ranks;
      rows_.push_back(std::move(row));
      sums_.emplace_back();
      number = rows_.size();
    }
    return number - 1;
  }
  void add(rank_collective const& collective) {
    std::size_t const position = position_of(collective);
    if (is_nan(rows_[position].bytes)) rows_[position].bytes = collective.bytes;
    if (rows_[position].communicator_ranks != collective.communicator_ranks)
      rows_[position].communicator_ranks = 0;
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
  /// The link between the ranks, where all have the same; NaN otherwise.
  double link_of_all() const {
    if (runs_.empty()) return not_a_number;
    for (rank_run const& run : runs_)
      if (run.host != runs_[0].host || run.device != runs_[0].device) return not_a_number;
    return nvlink_peak(runs_[0].device);
  }
  static void finish(rank_collective_row& row, row_sums const& sums, double link) {
    for (double const ns : sums.least) row.transfer_ns += ns;
    row.transfer_ns /= std::max(1.0, static_cast<double>(sums.least.size()));
    row.wait_ns = sums.wait / std::max(1.0, sums.ranks);
    row.ranks = static_cast<std::uint32_t>(sums.ranks);
    bool const is_known = row.communicator_ranks != 0;
    double const moved =
        bus_factor(row.operation, is_known ? row.communicator_ranks : row.ranks) * row.bytes;
    if (!(moved > 0.0) || !(row.transfer_ns > 0.0)) return;
    row.bus_bytes_per_s = moved / row.transfer_ns * 1e9;
    if (is_known) row.link_bytes_per_s = link;
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
