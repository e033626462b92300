#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_COLLECTIVES_HPP
#define STRATA_REPORT_PAGE_COLLECTIVES_HPP

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/collectives.hpp>
#include "../analyse/rank_collectives.hpp"
#include "../analyse/steps.hpp"
#include "report_input.hpp"

#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// The collectives of this rank by range, in a mean step. Their time has the wait for other ranks.
class page_collectives {
 public:
  /// `places`: on the page, of the rows of input.folded.
  page_collectives(json_writer& json, report_input const& input, vec<std::uint32_t> const& places)
      : json_(json), input_(input), places_(places), mean_(input.folded, input.steps) {
    find_operations();
    for (std::size_t i = 1; i < input.folded.size(); ++i)
      communicators_.add(input.folded[i].parent, input.folded[i].name);
  }

  void write() {
    json_.line();
    json_.object("collectives");
    auto const& devices = input_.source.environment.devices;
    json_.number("link_bytes_per_s", devices.empty() ? not_a_number : nvlink_peak(devices[0].name));
    json_.array("rows");
    for (collective_time const& time : input_.analysed.collectives) write(time);
    json_.end_array();
    json_.end_object();
  }

 private:
  /// Of each range the operation of its collectives; `other` where they differ.
  void find_operations() {
    number_map<std::uint32_t> rows;
    for (std::size_t i = 0; i < input_.ranges.size(); ++i)
      rows[input_.ranges[i].path_id] = input_.folded_rows[i];
    operations_.resize(input_.folded.size(), collective_operation::none);
    for (kernel_row const& kernel : input_.kernels) {
      if (!kernel.collective) continue;
      collective_operation& known = operations_[rows[kernel.path_id]];
      bool const is_same = known == collective_operation::none ||  //
                           known == kernel.collective.operation;
      known = is_same ? kernel.collective.operation : collective_operation::other;
    }
  }
  void write(collective_time const& time) {
    collective_operation const operation = operations_[time.row];
    // Sends and receives have both in one sum: strata ranks tells them apart.
    double const bytes = operation == collective_operation::send_receive
                             ? not_a_number
                             : input_.folded[time.row].collective_bytes * mean_.factor(time.row);
    double const moved =
        bus_factor(to_string(operation), communicators_.of(static_cast<std::uint32_t>(time.row))) *
        bytes;
    json_.line();
    json_.object();
    json_.integer("range", places_[time.row]);
    json_.text("operation", to_string(operation));
    json_.number("calls", time.count);
    json_.number("bytes", bytes);
    json_.number("ns", time.ns);
    json_.number("alone_ns", time.alone_ns);
    json_.number("bus_bytes_per_s", time.ns > 0.0 ? moved / time.ns * 1e9 : not_a_number);
    json_.end_object();
  }

  json_writer& json_;
  report_input const& input_;
  vec<std::uint32_t> const& places_;
  step_amounts mean_;
  vec<collective_operation> operations_;  ///< by row of input.folded
  communicator_sizes<std::uint32_t> communicators_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_COLLECTIVES_HPP
