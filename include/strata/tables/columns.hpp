#include <strata/version.hpp>
#ifndef STRATA_TABLES_COLUMNS_HPP
#define STRATA_TABLES_COLUMNS_HPP

#include <strata/base/cell_sink.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/table_input.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

// The columns of the CSV files and the keys of profile.json, in one place. `index` is that of
// the row, past the last one for the line of column names.

template <class Row>
using columns_of = void (*)(cell_sink& cells, table_input const& input, Row const& row,
                            std::size_t index);

inline double standard_deviation(duration_statistics const& durations) noexcept {
  if (durations.count() < 2) return std::numeric_limits<double>::quiet_NaN();
  auto const n = static_cast<double>(durations.count());
  double const squares = durations.sum_of_squares() - durations.sum() * durations.sum() / n;
  return square_root((squares > 0.0 ? squares : 0.0) / (n - 1.0));
}

/// A value where it is known.
template <class Integer>
inline void known_integer(cell_sink& cells, char const* key, bool known, Integer value) {
  if (known) {
    cells.integer(key, value);
  } else {
    cells.absent(key);
  }
}

inline void rank_column(cell_sink& cells, profile const& source) {
  std::int64_t const rank = source.environment.rank;
  known_integer(cells, "rank", rank >= 0, rank);
}

inline void range_name_columns(cell_sink& cells, range_row const& row) {
  cells.text("name", row.name);
  if (row.index == no_index) {
    cells.absent("index");
  } else if (row.index == any_index) {
    cells.text("index", "*");
  } else {
    cells.integer("index", row.index);
  }
}

/// Calls and host time.
inline void range_host_columns(cell_sink& cells, range_row const& row) {
  bool const called = row.host.count() > 0;
  auto const host = [&](char const* key, std::int64_t value) {
    known_integer(cells, key, called, value);
  };
  cells.integer("calls", row.host.count());
  cells.integer("host_total_ns", row.host_total_ns);
  cells.integer("host_self_ns", row.host_self_ns);
  host("host_min_ns", row.host.minimum());
  host("host_p50_ns", row.host.quantile(0.5));
  host("host_p95_ns", row.host.quantile(0.95));
  host("host_max_ns", row.host.maximum());
  cells.number("host_mean_ns", called ? row.host.mean() : std::numeric_limits<double>::quiet_NaN());
  cells.number("host_stddev_ns", standard_deviation(row.host));
  cells.integer("first_step_calls", row.first_step_calls);
  cells.integer("first_step_host_ns", row.first_step_host_ns);
  cells.number("step_share", row.step_share);
}

/// Work of the GPU, launches and memory.
inline void range_device_columns(cell_sink& cells, table_input const& input, range_row const& row) {
  auto const device = [&](char const* key, auto value) {
    known_integer(cells, key, input.source.traced, value);
  };
  device_work const& self = row.self;
  device_work const& total = row.total;
  device("launches_self", self.launches);
  device("launches", total.launches);
  device("launch_self_ns", self.launch_ns);
  device("launch_ns", total.launch_ns);
  device("kernels_self", self.kernels);
  device("kernels", total.kernels);
  device("gpu_kernel_self_ns", self.kernel_ns);
  device("gpu_kernel_ns", total.kernel_ns);
  device("gpu_busy_ns", row.gpu_busy_ns);
  if (input.source.has_whole_timeline()) {
    device("span_ns", row.span_ns);
  } else {
    cells.absent("span_ns");
  }
  device("copies_self", self.copies);
  device("copies", total.copies);
  device("gpu_copy_self_ns", self.copy_ns);
  device("gpu_copy_ns", total.copy_ns);
  device("h2d_bytes", total.host_to_device_bytes);
  device("d2h_bytes", total.device_to_host_bytes);
  device("d2d_bytes", total.device_to_device_bytes);
  device("other_copy_bytes", total.other_bytes);
  device("set_bytes", total.set_bytes);
  device("synchronizations", total.synchronizations);
  device("synchronization_ns", total.synchronization_ns);
  device("allocations", total.allocations);
  device("allocated_bytes", total.allocated_bytes);
  device("releases", total.releases);
  device("released_bytes", total.released_bytes);
  device("peak_bytes", row.peak_bytes);
  device("graph_kernels", total.graph_kernels);
  device("graph_kernel_ns", total.graph_kernel_ns);
  auto const managed = [&](char const* key, auto value) {
    known_integer(cells, key, input.source.has_migrations, value);
  };
  managed("migrated_bytes_h2d", row.migrated_to_device_bytes);
  managed("migrated_bytes_d2h", row.migrated_to_host_bytes);
  managed("gpu_page_faults", row.gpu_page_faults);
  managed("migration_ns", row.migration_ns);
  device("adopted_kernels", total.adopted_kernels);
  device("adopted_ns", total.adopted_ns);
  device("p2p_copies", total.peer_copies);
  device("p2p_bytes", total.peer_bytes);
  device("p2p_ns", total.peer_ns);
}

/// Whether device work of the first recorded step is distinguished from that of the others.
inline bool knows_first_step(profile const& source) noexcept {
  return source.traced && source.has_steps && source.has_whole_timeline();
}

/// What a range has, wherever it stands.
inline void range_value_columns(cell_sink& cells, table_input const& input, range_row const& row) {
  range_host_columns(cells, row);
  range_device_columns(cells, input, row);
  cells.number("flops", row.flops);
  cells.number("bytes", row.bytes);
  cells.number("tokens", row.tokens);
  cells.text("shape", row.shape);
  cells.text("note", row.note);
  double const in_first = row.step_busy_share.in_steps - row.step_busy_share.typical;
  known_integer(cells, "first_step_gpu_busy_ns", knows_first_step(input.source),
                whole_ns(larger(0.0, in_first) * static_cast<double>(row.gpu_busy_ns)));
  cells.integer("other_threads_ns", row.other_threads_ns);
  cells.text("thread", row.thread);
  cells.number("collective_bytes", row.collective_bytes);
}

inline void range_columns(cell_sink& cells, table_input const& input, range_row const& row,
                          std::size_t) {
  bool const has_parent = row.depth != 0 && row.parent < input.ranges.size();
  rank_column(cells, input.source);
  cells.integer("path_id", row.path_id);
  known_integer(cells, "parent_path_id", has_parent,
                has_parent ? input.ranges[row.parent].path_id : 0);
  cells.text("path", row.path);
  range_name_columns(cells, row);
  cells.integer("depth", row.depth);
  range_value_columns(cells, input, row);
}

/// A unit as part of a column name: `bytes_per_second`.
inline std::string unit_words(std::string_view unit) {
  if (unit == "%") return "pct";
  std::string words;
  while (!unit.empty()) {
    if (!words.empty()) words += "_per_";
    std::string_view const part = take_until(unit, "/");
    if (part == "B") {
      words += words.empty() ? "bytes" : "byte";
    } else if (part == "s") {
      words += words.empty() ? "seconds" : "second";
    } else {
      for (char const c : part) words += c == ' ' ? '_' : lower(c);
    }
  }
  return words;
}

/// The name of a metric, with the words of its unit that are not in the name:
/// `l1_hit_rate_pct`, `hbm_bytes_per_second`.
inline std::string metric_column(counter_metric const& metric) {
  std::string const unit = unit_words(metric.unit);
  bool said = true;
  for (std::string_view rest = unit; !rest.empty();) {
    std::string_view const word = take_until(rest, "_");
    bool found = false;
    for (std::string_view key = metric.key; !key.empty() && !found;)
      found = take_until(key, "_") == word;
    said = said && found;
  }
  return said ? metric.key : sentence(metric.key) << '_' << unit;
}

/// What was counted of the kernel of a row; nothing where no kernels were counted.
inline void kernel_counter_columns(cell_sink& cells, table_input const& input, std::size_t index) {
  if (input.kernel_counters == nullptr) return;
  kernel_counter_table const& table = *input.kernel_counters;
  bool const known = index < input.kernels.size();
  cells.integer("counted_launches", known ? table.launches[index] : 0);
  for (std::size_t i = 0; i < table.metrics.size(); ++i)
    cells.number(metric_column(table.metrics[i]).c_str(), known ? table.at(index, i) : 0.0);
}

/// The launches of a kernel, their times and sizes.
inline void kernel_value_columns(cell_sink& cells, kernel_row const& row) {
  cells.integer("count", row.count);
  cells.integer("total_ns", whole_part(row.duration.sum()));
  cells.integer("min_ns", row.duration.minimum());
  cells.integer("p50_ns", row.duration.quantile(0.5));
  cells.integer("p95_ns", row.duration.quantile(0.95));
  cells.integer("max_ns", row.duration.maximum());
  cells.number("mean_ns", row.duration.mean());
  cells.number("stddev_ns", standard_deviation(row.duration));
  cells.integer("blocks_min", row.blocks_min);
  cells.integer("blocks_median", row.blocks_median);
  cells.number("blocks_mean", row.blocks_mean);
  cells.integer("blocks_max", row.blocks_max);
  cells.integer("block_threads_min", row.block_threads_min);
  cells.integer("block_threads_max", row.block_threads_max);
  cells.number("warps_per_block", row.warps_per_block);
  cells.integer("registers_per_thread", row.registers_per_thread);
  cells.integer("static_shared_bytes", row.static_shared_bytes);
  cells.integer("dynamic_shared_bytes", row.dynamic_shared_bytes);
  cells.number("sm_utilisation", row.sm_utilisation);
  cells.number("gpu_utilisation", row.gpu_utilisation);
}

inline void kernel_columns(cell_sink& cells, table_input const& input, kernel_row const& row,
                           std::size_t index) {
  rank_column(cells, input.source);
  cells.integer("path_id", row.path_id);
  cells.text("path", row.path);
  cells.text("kernel", row.short_name);
  cells.text("demangled", row.demangled);
  cells.exact("mangled", row.mangled);
  kernel_value_columns(cells, row);
  bool const knows_first = knows_first_step(input.source);
  known_integer(cells, "first_step_count", knows_first, row.first_step_count);
  known_integer(cells, "first_step_ns", knows_first, row.first_step_ns);
  kernel_counter_columns(cells, input, index);
  cells.text("collective", to_string(row.collective.operation));
  cells.text("algorithm", row.collective.algorithm);
  cells.text("protocol", row.collective.protocol);
}

inline void allocation_columns(cell_sink& cells, table_input const& input,
                               allocation_row const& row, std::size_t) {
  char address[longest_number] = {'0', 'x'};
  char const* const end = digits_text(address + 2, row.address, 16);
  rank_column(cells, input.source);
  cells.integer("path_id", row.path_id);
  cells.text("path", row.path);
  cells.text("address", {address, static_cast<std::size_t>(end - address)});
  cells.integer("bytes", row.bytes);
  cells.text("kind", to_string(row.kind));
  cells.integer("asynchronous", row.asynchronous ? 1 : 0);
  cells.integer("device", row.device);
  cells.integer("stream", row.stream);
  cells.integer("allocated_at_ns", row.allocated_at);
  bool const released = row.released_at >= 0;
  known_integer(cells, "released_at_ns", released, row.released_at);
  cells.text("released_in", row.released_in);
  cells.text("purpose", row.purpose < input.memory.purposes.size()
                            ? std::string_view(input.memory.purposes[row.purpose].name)
                            : std::string_view());
}

/// A text of the profile; empty where there is none.
inline std::string_view name_text(profile const& source, std::uint32_t name) noexcept {
  return name < source.names.size() ? std::string_view(source.names[name]) : std::string_view();
}

inline void span_columns(cell_sink& cells, table_input const& input, span_record const& span,
                         std::size_t) {
  rank_column(cells, input.source);
  cells.text("kind", span.kind == span_kind::mark ? "mark" : "range");
  cells.text("domain", name_text(input.source, span.domain));
  cells.text("name", name_text(input.source, span.name));
  known_integer(cells, "step", span.step != no_step, span.step);
  cells.integer("thread", span.thread);
  cells.integer("end_thread", span.end_thread);
  cells.integer("begin_ns", span.begin);
  cells.integer("end_ns", span.end);
  cells.integer("duration_ns", span.end - span.begin);
}

// How the columns of ranges.csv, which profile.json has too, go together.

/// How the values of a column go together over ranges and steps.
enum class column_sum : std::uint8_t {
  amount,      ///< they add up
  first_step,  ///< they add up over ranges, and are of one step
  call,        ///< of a call, or of a time: they do not add up
  identity     ///< which range it is, and where: no value of it
};

struct column_of_sum {
  std::string_view name;
  column_sum sum;
};

/// The columns of numbers that are no amount.
inline constexpr column_of_sum columns_without_amount[] = {
    {"rank", column_sum::identity},
    {"path_id", column_sum::identity},
    {"parent_path_id", column_sum::identity},
    {"index", column_sum::identity},
    {"depth", column_sum::identity},
    {"step_share", column_sum::identity},
    {"host_min_ns", column_sum::call},
    {"host_p50_ns", column_sum::call},
    {"host_p95_ns", column_sum::call},
    {"host_max_ns", column_sum::call},
    {"host_mean_ns", column_sum::call},
    {"host_stddev_ns", column_sum::call},
    {"peak_bytes", column_sum::call},
    {"first_step_calls", column_sum::first_step},
    {"first_step_host_ns", column_sum::first_step},
    {"first_step_gpu_busy_ns", column_sum::first_step}};

constexpr column_sum sum_of_column(std::string_view name) noexcept {
  for (column_of_sum const& column : columns_without_amount)
    if (column.name == name) return column.sum;
  return column_sum::amount;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_COLUMNS_HPP
