#ifndef STRATA_TABLES_COLUMNS_HPP
#define STRATA_TABLES_COLUMNS_HPP

#include <strata/base/json_writer.hpp>
#include <strata/tables/table_input.hpp>

STRATA_BEGIN
namespace detail {

// The columns of the CSV files, in their order: the rows of profile.json have them as keys. What
// they mean is in src/analyse/column_meanings.hpp.

/// Where the value of a column goes, and what it is made of besides its row.
struct column_cell {
  cell_sink& sink;
  char const* key;
  table_input const& input;

  void absent() const { sink.absent(key); }
  void text(std::string_view value) const { sink.text(key, value); }
  void number(double value) const { sink.number(key, value); }
  template <class Integer>
  void integer(Integer value) const {
    sink.integer(key, value);
  }
  /// A value where it is known.
  template <class Integer>
  void known(bool is_known, Integer value) const {
    is_known ? integer(value) : absent();
  }
};

template <class Row>
struct column {
  char const* key;  ///< in the first line of the CSV file, and in JSON
  void (*write)(column_cell const& to, Row const& row);
  bool in_csv = true;  ///< else it is in profile.json alone
};

/// The columns of a table, or some that stand side by side.
template <class Row>
class column_list {
 public:
  template <std::size_t Count>
  constexpr explicit column_list(column<Row> const (&all)[Count]) noexcept
      : begin_(all), end_(all + Count) {}

  constexpr column<Row> const* begin() const noexcept { return begin_; }
  constexpr column<Row> const* end() const noexcept { return end_; }
  /// The column of that name; end() where there is none.
  constexpr column<Row> const* find(std::string_view key) const noexcept {
    column<Row> const* found = begin_;
    while (found != end_ && found->key != key) ++found;
    return found;
  }
  constexpr column_list from(std::string_view key) const noexcept { return {find(key), end_}; }
  constexpr column_list until(std::string_view key) const noexcept { return {begin_, find(key)}; }

  /// Calls look(key) for each column of the CSV file.
  template <class Look>
  void for_each_key(Look const& look) const {
    for (column<Row> const& each : *this)
      if (each.in_csv) look(each.key);
  }
  void write(cell_sink& cells, table_input const& input, Row const& row) const {
    for (column<Row> const& each : *this) each.write({cells, each.key, input}, row);
  }

 private:
  constexpr column_list(column<Row> const* begin, column<Row> const* end) noexcept
      : begin_(begin), end_(end) {}

  column<Row> const* begin_;
  column<Row> const* end_;
};

// Functions for `column::write`.

/// A member that is a whole number, of any row.
template <auto Field, class Row>
inline void integer_of(column_cell const& to, Row const& row) {
  to.integer(row.*Field);
}
template <auto Field, class Row>
inline void number_of(column_cell const& to, Row const& row) {
  to.number(row.*Field);
}
template <auto Field, class Row>
inline void text_of(column_cell const& to, Row const& row) {
  to.text(row.*Field);
}
template <class Row>
inline void rank_of(column_cell const& to, Row const&) {
  std::int64_t const rank = to.input.source.environment.rank;
  to.known(rank >= 0, rank);
}
/// Of device work: of the range alone, or with all below it.
template <auto Field>
inline void self_work(column_cell const& to, range_row const& row) {
  to.known(to.input.source.traced, row.self.*Field);
}
template <auto Field>
inline void total_work(column_cell const& to, range_row const& row) {
  to.known(to.input.source.traced, row.total.*Field);
}
template <auto Field>
inline void traced(column_cell const& to, range_row const& row) {
  to.known(to.input.source.traced, row.*Field);
}
template <auto Field>
inline void managed(column_cell const& to, range_row const& row) {
  to.known(to.input.source.has_migrations, row.*Field);
}
/// Of the times of a range's calls, where it has any; a quantile is given in percent.
template <auto Time, int... Percent>
inline void host_time(column_cell const& to, range_row const& row) {
  to.known(row.host.count() > 0, (row.host.*Time)((Percent / 100.0)...));
}

inline double standard_deviation(duration_statistics const& durations) noexcept {
  if (durations.count() < 2) return std::numeric_limits<double>::quiet_NaN();
  auto const n = static_cast<double>(durations.count());
  double const squares = durations.sum_of_squares() - durations.sum() * durations.sum() / n;
  return square_root((squares > 0.0 ? squares : 0.0) / (n - 1.0));
}

/// Whether device work of the first recorded step is distinguished from that of the others.
inline bool knows_first_step(profile const& source) noexcept {
  return source.traced && source.has_steps && source.has_whole_timeline();
}
template <auto Field>
inline void of_first_step(column_cell const& to, kernel_row const& row) {
  to.known(knows_first_step(to.input.source), row.*Field);
}

inline void range_index(column_cell const& to, range_row const& row) {
  if (row.index == no_index) return to.absent();
  if (row.index == any_index) return to.text("*");
  to.integer(row.index);
}

/// ranges.csv: a row each path and index.
inline constexpr column<range_row> range_columns_list[] = {
    {"rank", rank_of},
    {"path_id", integer_of<&range_row::path_id>},
    {"parent_path_id",
     [](column_cell const& to, range_row const& row) {
       bool const has_parent = row.depth != 0 && row.parent < to.input.ranges.size();
       to.known(has_parent, has_parent ? to.input.ranges[row.parent].path_id : 0);
     }},
    {"path", text_of<&range_row::path>},
    {"name", text_of<&range_row::name>},
    {"index", range_index},
    {"depth", integer_of<&range_row::depth>},
    {"calls", [](column_cell const& to, range_row const& row) { to.integer(row.host.count()); }},
    {"host_total_ns", integer_of<&range_row::host_total_ns>},
    {"host_self_ns", integer_of<&range_row::host_self_ns>},
    {"host_min_ns", host_time<&duration_statistics::minimum>},
    {"host_p50_ns", host_time<&duration_statistics::quantile, 50>},
    {"host_p95_ns", host_time<&duration_statistics::quantile, 95>},
    {"host_max_ns", host_time<&duration_statistics::maximum>},
    {"host_mean_ns",
     [](column_cell const& to, range_row const& row) {
       to.number(row.host.count() > 0 ? row.host.mean() : std::numeric_limits<double>::quiet_NaN());
     }},
    {"host_stddev_ns",
     [](column_cell const& to, range_row const& row) { to.number(standard_deviation(row.host)); }},
    {"first_step_calls", integer_of<&range_row::first_step_calls>},
    {"first_step_host_ns", integer_of<&range_row::first_step_host_ns>},
    {"step_share", number_of<&range_row::step_share>},
    {"launches_self", self_work<&device_work::launches>},
    {"launches", total_work<&device_work::launches>},
    {"launch_self_ns", self_work<&device_work::launch_ns>},
    {"launch_ns", total_work<&device_work::launch_ns>},
    {"kernels_self", self_work<&device_work::kernels>},
    {"kernels", total_work<&device_work::kernels>},
    {"gpu_kernel_self_ns", self_work<&device_work::kernel_ns>},
    {"gpu_kernel_ns", total_work<&device_work::kernel_ns>},
    {"gpu_busy_ns", traced<&range_row::gpu_busy_ns>},
    {"span_ns",
     [](column_cell const& to, range_row const& row) {
       bool const is_whole = to.input.source.traced && to.input.source.has_whole_timeline();
       to.known(is_whole, row.span_ns);
     }},
    {"copies_self", self_work<&device_work::copies>},
    {"copies", total_work<&device_work::copies>},
    {"gpu_copy_self_ns", self_work<&device_work::copy_ns>},
    {"gpu_copy_ns", total_work<&device_work::copy_ns>},
    {"h2d_bytes", total_work<&device_work::host_to_device_bytes>},
    {"d2h_bytes", total_work<&device_work::device_to_host_bytes>},
    {"d2d_bytes", total_work<&device_work::device_to_device_bytes>},
    {"other_copy_bytes", total_work<&device_work::other_bytes>},
    {"set_bytes", total_work<&device_work::set_bytes>},
    {"synchronizations", total_work<&device_work::synchronizations>},
    {"synchronization_ns", total_work<&device_work::synchronization_ns>},
    {"allocations", total_work<&device_work::allocations>},
    {"allocated_bytes", total_work<&device_work::allocated_bytes>},
    {"releases", total_work<&device_work::releases>},
    {"released_bytes", total_work<&device_work::released_bytes>},
    {"peak_bytes", traced<&range_row::peak_bytes>},
    {"graph_kernels", total_work<&device_work::graph_kernels>},
    {"graph_kernel_ns", total_work<&device_work::graph_kernel_ns>},
    {"migrated_bytes_h2d", managed<&range_row::migrated_to_device_bytes>},
    {"migrated_bytes_d2h", managed<&range_row::migrated_to_host_bytes>},
    {"gpu_page_faults", managed<&range_row::gpu_page_faults>},
    {"migration_ns", managed<&range_row::migration_ns>},
    {"adopted_kernels", total_work<&device_work::adopted_kernels>},
    {"adopted_ns", total_work<&device_work::adopted_ns>},
    {"p2p_copies", total_work<&device_work::peer_copies>},
    {"p2p_bytes", total_work<&device_work::peer_bytes>},
    {"p2p_ns", total_work<&device_work::peer_ns>},
    {"flops", number_of<&range_row::flops>},
    {"bytes", number_of<&range_row::bytes>},
    {"tokens", number_of<&range_row::tokens>},
    {"shape", text_of<&range_row::shape>},
    {"note", text_of<&range_row::note>},
    {"first_step_gpu_busy_ns",
     [](column_cell const& to, range_row const& row) {
       double const in_first = row.step_busy_share.in_steps - row.step_busy_share.typical;
       to.known(knows_first_step(to.input.source),
                whole_ns(larger(0.0, in_first) * static_cast<double>(row.gpu_busy_ns)));
     }},
    {"other_threads_ns", integer_of<&range_row::other_threads_ns>},
    {"thread", text_of<&range_row::thread>},
    {"collective_bytes", number_of<&range_row::collective_bytes>},
};
inline constexpr column_list<range_row> range_columns(range_columns_list);

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

/// kernels.csv: a row each kernel in a range. What was counted of them follows `first_step_ns`.
inline constexpr column<kernel_row> kernel_columns_list[] = {
    {"rank", rank_of},
    {"path_id", integer_of<&kernel_row::path_id>},
    {"path", text_of<&kernel_row::path>},
    {"kernel", text_of<&kernel_row::short_name>},
    {"demangled", text_of<&kernel_row::demangled>},
    {"mangled",
     [](column_cell const& to, kernel_row const& row) { to.sink.exact(to.key, row.mangled); },
     false},
    {"count", integer_of<&kernel_row::count>},
    {"total_ns", [](column_cell const& to,
                    kernel_row const& row) { to.integer(whole_part(row.duration.sum())); }},
    {"min_ns",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.minimum()); }},
    {"p50_ns",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.quantile(0.5)); }},
    {"p95_ns",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.quantile(0.95)); }},
    {"max_ns",
     [](column_cell const& to, kernel_row const& row) { to.integer(row.duration.maximum()); }},
    {"mean_ns",
     [](column_cell const& to, kernel_row const& row) { to.number(row.duration.mean()); }},
    {"stddev_ns", [](column_cell const& to,
                     kernel_row const& row) { to.number(standard_deviation(row.duration)); }},
    {"blocks_min", integer_of<&kernel_row::blocks_min>},
    {"blocks_median", integer_of<&kernel_row::blocks_median>},
    {"blocks_mean", number_of<&kernel_row::blocks_mean>},
    {"blocks_max", integer_of<&kernel_row::blocks_max>},
    {"block_threads_min", integer_of<&kernel_row::block_threads_min>},
    {"block_threads_max", integer_of<&kernel_row::block_threads_max>},
    {"warps_per_block", number_of<&kernel_row::warps_per_block>},
    {"registers_per_thread", integer_of<&kernel_row::registers_per_thread>},
    {"static_shared_bytes", integer_of<&kernel_row::static_shared_bytes>},
    {"dynamic_shared_bytes", integer_of<&kernel_row::dynamic_shared_bytes>},
    {"sm_utilisation", number_of<&kernel_row::sm_utilisation>},
    {"gpu_utilisation", number_of<&kernel_row::gpu_utilisation>},
    {"first_step_count", of_first_step<&kernel_row::first_step_count>},
    {"first_step_ns", of_first_step<&kernel_row::first_step_ns>},
    {"collective", [](column_cell const& to,
                      kernel_row const& row) { to.text(to_string(row.collective.operation)); }},
    {"algorithm",
     [](column_cell const& to, kernel_row const& row) { to.text(row.collective.algorithm); }},
    {"protocol",
     [](column_cell const& to, kernel_row const& row) { to.text(row.collective.protocol); }},
};
inline constexpr column_list<kernel_row> kernel_columns(kernel_columns_list);

/// A row of kernels.csv, with what was counted of the kernel.
class kernel_cells {
 public:
  explicit kernel_cells(table_input const& input) : input_(input), counted_(input.kernel_counters) {
    if (counted_ == nullptr) return;
    counted_keys_.push_back("counted_launches");
    for (counter_metric const& metric : counted_->metrics)
      counted_keys_.push_back(metric_column(metric));
  }

  template <class Look>
  void for_each_key(Look const& look) const {
    kernel_columns.until(after_counted).for_each_key(look);
    for (std::string const& key : counted_keys_) look(key.c_str());
    kernel_columns.from(after_counted).for_each_key(look);
  }
  void write(cell_sink& cells, std::size_t index) const {
    kernel_row const& row = input_.kernels[index];
    kernel_columns.until(after_counted).write(cells, input_, row);
    for (std::size_t i = 0; i < counted_keys_.size(); ++i) {
      if (i == 0)
        cells.integer(counted_keys_[i].c_str(), counted_->launches[index]);
      else
        cells.number(counted_keys_[i].c_str(), counted_->at(index, i - 1));
    }
    kernel_columns.from(after_counted).write(cells, input_, row);
  }

 private:
  static constexpr std::string_view after_counted = "collective";

  table_input const& input_;
  kernel_counter_table const* counted_;  ///< null where nothing was
  vec<std::string> counted_keys_;
};

inline void allocation_address(column_cell const& to, allocation_row const& row) {
  char address[longest_number] = {'0', 'x'};
  char const* const end = digits_text(address + 2, row.address, 16);
  to.text({address, static_cast<std::size_t>(end - address)});
}
inline void allocation_purpose(column_cell const& to, allocation_row const& row) {
  vec<memory_purpose> const& purposes = to.input.memory.purposes;
  to.text(row.purpose < purposes.size() ? std::string_view(purposes[row.purpose].name)
                                        : std::string_view());
}

/// memory.csv: a row each allocation.
inline constexpr column<allocation_row> allocation_columns_list[] = {
    {"rank", rank_of},
    {"path_id", integer_of<&allocation_row::path_id>},
    {"path", text_of<&allocation_row::path>},
    {"address", allocation_address},
    {"bytes", integer_of<&allocation_row::bytes>},
    {"kind",
     [](column_cell const& to, allocation_row const& row) { to.text(to_string(row.kind)); }},
    {"asynchronous", [](column_cell const& to,
                        allocation_row const& row) { to.integer(row.asynchronous ? 1 : 0); }},
    {"device", integer_of<&allocation_row::device>},
    {"stream", integer_of<&allocation_row::stream>},
    {"allocated_at_ns", integer_of<&allocation_row::allocated_at>},
    {"released_at_ns",
     [](column_cell const& to, allocation_row const& row) {
       to.known(row.released_at >= 0, row.released_at);
     }},
    {"released_in", text_of<&allocation_row::released_in>},
    {"purpose", allocation_purpose},
};
inline constexpr column_list<allocation_row> allocation_columns(allocation_columns_list);

/// A text of the profile; empty where there is none.
inline std::string_view name_text(profile const& source, std::uint32_t name) noexcept {
  return name < source.names.size() ? std::string_view(source.names[name]) : std::string_view();
}

/// spans.csv: a row each start/end range or mark of NVTX.
inline constexpr column<span_record> span_columns_list[] = {
    {"rank", rank_of},
    {"kind",
     [](column_cell const& to, span_record const& span) {
       to.text(span.kind == span_kind::mark ? "mark" : "range");
     }},
    {"domain", [](column_cell const& to,
                  span_record const& span) { to.text(name_text(to.input.source, span.domain)); }},
    {"name", [](column_cell const& to,
                span_record const& span) { to.text(name_text(to.input.source, span.name)); }},
    {"step", [](column_cell const& to,
                span_record const& span) { to.known(span.step != no_step, span.step); }},
    {"thread", integer_of<&span_record::thread>},
    {"end_thread", integer_of<&span_record::end_thread>},
    {"begin_ns", integer_of<&span_record::begin>},
    {"end_ns", integer_of<&span_record::end>},
    {"duration_ns",
     [](column_cell const& to, span_record const& span) { to.integer(span.end - span.begin); }},
};
inline constexpr column_list<span_record> span_columns(span_columns_list);

/// A metric of a range.
struct counter_line {
  range_row const& range;
  counter_scope scope;
  counter_metric const& metric;
  counter_cell const& cell;
  std::string_view note;
};

/// counters.csv and cpu_counters.csv: a row each path, scope and metric.
inline constexpr column<counter_line> counter_columns_list[] = {
    {"rank", rank_of},
    {"path_id",
     [](column_cell const& to, counter_line const& row) { to.integer(row.range.path_id); }},
    {"path", [](column_cell const& to, counter_line const& row) { to.text(row.range.path); }},
    {"metric", [](column_cell const& to, counter_line const& row) { to.text(row.metric.key); }},
    {"value", [](column_cell const& to, counter_line const& row) { to.number(row.cell.value); }},
    {"unit", [](column_cell const& to, counter_line const& row) { to.text(row.metric.unit); }},
    {"scope",
     [](column_cell const& to, counter_line const& row) { to.text(to_string(row.scope)); }},
    {"method",
     [](column_cell const& to, counter_line const& row) { to.text(to_string(row.metric.method)); }},
    {"passes",
     [](column_cell const& to, counter_line const& row) { to.integer(row.metric.passes.size()); }},
    {"note", [](column_cell const& to, counter_line const& row) { to.text(row.note); }},
    {"plus_minus",
     [](column_cell const& to, counter_line const& row) { to.number(row.cell.plus_minus); }},
};
inline constexpr column_list<counter_line> counter_columns(counter_columns_list);

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_COLUMNS_HPP
