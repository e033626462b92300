#include <strata/version.hpp>
#ifndef STRATA_REPORT_HTML_HPP
#define STRATA_REPORT_HTML_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/findings.hpp>
#include <strata/report/html_charts.hpp>
#include <strata/report/html_timeline.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// The rows of a table that a page shows, with all rows above them.
class page_rows {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  page_rows(vec<range_row> const& rows, std::size_t most)
      : rows_(rows), places_(rows.size(), none) {
    vec<std::uint32_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    order.sort([&rows](std::uint32_t a, std::uint32_t b) {
      std::int64_t const left = cost(rows[a]);
      std::int64_t const right = cost(rows[b]);
      return left != right ? left > right : a < b;
    });
    std::size_t kept = 0;
    for (std::uint32_t const row : order) {
      std::size_t needed = 0;
      for (std::uint32_t at = row; places_[at] == none; at = rows[at].parent) {
        ++needed;
        if (at == 0 || rows[at].parent >= at) break;
      }
      if (kept + needed > most) continue;
      kept += needed;
      for (std::uint32_t at = row; places_[at] == none; at = rows[at].parent) {
        places_[at] = 0;
        if (at == 0 || rows[at].parent >= at) break;
      }
    }
    number();
  }

  vec<std::uint32_t> const& shown() const noexcept { return shown_; }
  /// The places by row, as place() has them.
  vec<std::uint32_t> const& places() const noexcept { return places_; }
  /// The place on the page of a row of the table, or of the nearest one above it.
  std::uint32_t place(std::size_t row) const noexcept {
    return row < places_.size() ? places_[row] : 0;
  }
  /// How many rows below a place are left out, without those below one that is shown.
  std::uint32_t hidden(std::size_t place) const noexcept { return hidden_[place]; }
  range_row const& row(std::size_t place) const noexcept { return rows_[shown_[place]]; }
  std::size_t total() const noexcept { return rows_.size(); }

 private:
  static std::int64_t cost(range_row const& row) noexcept {
    return larger(row.host_total_ns, row.gpu_busy_ns);
  }

  void number() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::uint32_t const parent = rows_[i].parent;
      if (places_[i] != none) {
        places_[i] = static_cast<std::uint32_t>(shown_.size());
        shown_.push_back(static_cast<std::uint32_t>(i));
        hidden_.push_back(0);
      } else {
        places_[i] = parent < i ? places_[parent] : 0;
        if (places_[i] < hidden_.size()) ++hidden_[places_[i]];
      }
    }
  }

  vec<range_row> const& rows_;
  vec<std::uint32_t> places_;  ///< by row
  vec<std::uint32_t> shown_;   ///< by place
  vec<std::uint32_t> hidden_;  ///< by place
};

/// The columns of a range on the page, in the order of write_page_row.
inline constexpr std::string_view page_columns[] = {"parent",
                                                    "name",
                                                    "index",
                                                    "calls",
                                                    "host_ns",
                                                    "host_self_ns",
                                                    "p50_ns",
                                                    "p95_ns",
                                                    "min_ns",
                                                    "max_ns",
                                                    "first_step_ns",
                                                    "launches",
                                                    "launch_ns",
                                                    "kernels",
                                                    "kernel_ns",
                                                    "busy_ns",
                                                    "copies",
                                                    "copy_ns",
                                                    "h2d_bytes",
                                                    "d2h_bytes",
                                                    "d2d_bytes",
                                                    "set_bytes",
                                                    "waits",
                                                    "wait_ns",
                                                    "allocations",
                                                    "allocated_bytes",
                                                    "peak_bytes",
                                                    "graph_kernels",
                                                    "flops",
                                                    "bytes",
                                                    "tokens",
                                                    "shape",
                                                    "note",
                                                    "path_id",
                                                    "step_share",
                                                    "step_work_share",
                                                    "step_self_share",
                                                    "hidden"};

inline void write_page_row(json_writer& json, page_rows const& rows, std::size_t place, bool traced,
                           page_limits const& limits) {
  range_row const& row = rows.row(place);
  device_work const& work = row.total;
  bool const called = row.host.count() > 0;
  auto const host = [&](std::int64_t value) { called ? json.integer({}, value) : json.absent({}); };
  auto const device = [&](auto value) { traced ? json.integer({}, value) : json.absent({}); };
  json.line();
  json.array();
  place == 0 ? json.absent({}) : json.integer({}, rows.place(row.parent));
  json.text({}, shortened(row.name, limits.name));
  row.index == no_index    ? json.absent({})
  : row.index == any_index ? json.text({}, "*")
                           : json.integer({}, row.index);
  json.integer({}, row.host.count());
  json.integer({}, row.host_total_ns);
  json.integer({}, row.host_self_ns);
  host(row.host.quantile(0.5));
  host(row.host.quantile(0.95));
  host(row.host.minimum());
  host(row.host.maximum());
  json.integer({}, row.first_step_host_ns);
  device(work.launches);
  device(work.launch_ns);
  device(work.kernels);
  device(work.kernel_ns);
  device(row.gpu_busy_ns);
  device(work.copies);
  device(work.copy_ns);
  device(work.host_to_device_bytes);
  device(work.device_to_host_bytes);
  device(work.device_to_device_bytes);
  device(work.set_bytes);
  device(work.synchronizations);
  device(work.synchronization_ns);
  device(work.allocations);
  device(work.allocated_bytes);
  device(row.peak_bytes);
  device(work.graph_kernels);
  json.number({}, row.flops);
  json.number({}, row.bytes);
  json.number({}, row.tokens);
  json.text({}, row.shape);
  json.text({}, shortened(row.note, limits.name));
  json.integer({}, row.path_id);
  json.number({}, row.step_share);
  json.number({}, row.step_work_share);
  row.around_steps ? json.number({}, row.step_self_share) : json.absent({});
  json.integer({}, rows.hidden(place));
  json.end_array();
}

inline void write_page_metric(json_writer& json, counter_metric const& metric,
                              std::string_view set) {
  json.line();
  json.object();
  json.text("key", metric.key);
  json.text("unit", metric.unit);
  json.text("level", to_string(metric.level));
  json.text("meaning", metric.meaning);
  json.text("set", set);
  json.end_object();
}

/// Writes the counted values of the rows of one table: metrics, then a list a row.
class page_counters {
 public:
  page_counters(json_writer& json, report_input const& input, bool folded)
      : json_(json), input_(input), folded_(folded) {}

  void write(page_rows const& rows, page_limits const& limits) {
    json_.line();
    json_.array("metrics");
    std::size_t metrics = 0;
    each_metric([&](counter_table const& table, std::size_t i) {
      write_page_metric(json_, table.metrics[i], table.name);
      ++metrics;
    });
    json_.end_array();
    std::size_t const most = metrics == 0 ? 0 : limits.counter_values / metrics;
    json_.line();
    json_.array("counted");
    for (std::size_t place = 0; place < rows.shown().size() && place < most; ++place) {
      json_.line();
      json_.array();
      each_metric([&](counter_table const& table, std::size_t i) {
        std::size_t const row = rows.shown()[place];
        row < table.rows ? json_.number({}, table.at(row, i, counter_scope::total).value)
                         : json_.absent({});
      });
      json_.end_array();
    }
    json_.end_array();
  }

 private:
  template <class Visit>
  void each_metric(Visit visit) const {
    for (counter_tables const& each : input_.counters) {
      counter_table const& table = folded_ ? each.folded : each.ranges;
      for (std::size_t i = 0; i < table.metrics.size(); ++i)
        if (table.metrics[i].why_absent.empty()) visit(table, i);
    }
  }

  json_writer& json_;
  report_input const& input_;
  bool folded_;
};

/// A kernel in a range: see kernel_row. The ranges are places in the two tables.
inline constexpr std::string_view page_kernel_columns[] = {
    "range",         "range_each",     "name",       "whole",   "count",
    "total_ns",      "min_ns",         "p50_ns",     "p95_ns",  "max_ns",
    "blocks_min",    "blocks_median",  "blocks_max", "threads", "registers",
    "static_shared", "dynamic_shared", "sm",         "gpu"};

inline void write_page_kernel(json_writer& json, kernel_row const& row, std::string const& name,
                              page_limits const& limits) {
  json.text({}, name);
  json.text({}, row.demangled == name ? "" : shortened(row.demangled, limits.whole_name));
  json.integer({}, row.count);
  json.integer({}, static_cast<std::int64_t>(row.duration.sum()));
  json.integer({}, row.duration.minimum());
  json.integer({}, row.duration.quantile(0.5));
  json.integer({}, row.duration.quantile(0.95));
  json.integer({}, row.duration.maximum());
  json.integer({}, row.blocks_min);
  json.integer({}, row.blocks_median);
  json.integer({}, row.blocks_max);
  json.integer({}, row.block_threads_max);
  json.integer({}, row.registers_per_thread);
  json.integer({}, row.static_shared_bytes);
  json.integer({}, row.dynamic_shared_bytes);
  json.number({}, row.sm_utilisation);
  json.number({}, row.gpu_utilisation);
}

/// Writes the data of the page.
class page_writer {
 public:
  page_writer(text_writer& out, report_input const& input, page_limits const& limits)
      : json_(out, true),
        input_(input),
        limits_(limits),
        folded_(input.folded, limits.ranges),
        each_(input.ranges, limits.ranges) {
    find_places();
  }

  void write() {
    json_.object();
    json_.object("schema");
    json_.text("name", "strata.page");
    json_.integer("version", 1);
    json_.text("strata", version_text());
    json_.end_object();
    write_run();
    answer_on_page const shown{folded_.places(), folded_.shown(), limits_.findings, limits_.points,
                               limits_.name};
    json_.line();
    json_.object("answer");
    answer_json(json_, input_, &shown).write();
    json_.end_object();
    write_views();
    write_kernels();
    page_timeline(json_, input_, node_places_, limits_).write();
    if (!input_.memory.allocations.empty()) page_memory(json_, input_, path_places_).write();
    json_.line();
    json_.end_object();
  }

 private:
  /// Where the rows, paths and nodes of the whole table are in the folded one on the page.
  void find_places() {
    flat_map<std::string, std::uint32_t> rows;
    for (std::size_t i = 0; i < input_.folded.size(); ++i)
      if (rows.find(input_.folded[i].path) == nullptr)
        rows[input_.folded[i].path] = static_cast<std::uint32_t>(i);
    vec<std::string> const paths = folded_paths(input_.ranges);
    node_places_.resize(input_.source.nodes.size(), page_rows::none);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      std::uint32_t const* const row = rows.find(paths[i]);
      std::uint32_t const place = row == nullptr ? 0 : folded_.place(*row);
      range_row const& range = input_.ranges[i];
      row_places_.push_back(place);
      path_places_[range.path_id] = place;
      each_places_[range.path_id] = each_.place(i);
      if (range.node < node_places_.size()) node_places_[range.node] = place;
    }
    for (std::size_t i = 0; i < node_places_.size(); ++i) {
      std::uint32_t const parent = input_.source.nodes[i].parent;
      if (node_places_[i] == page_rows::none)
        node_places_[i] = parent < i ? node_places_[parent] : 0;
    }
  }

  void write_run() {
    profile const& source = input_.source;
    write_environment(json_, source);
    json_.line();
    json_.boolean("traced", source.traced);
    json_.boolean("has_steps", source.has_steps);
    json_.text("sort", row_order_names[static_cast<std::size_t>(input_.sort)]);
    json_.text("trace_file", input_.trace_file);
    json_.integer("end_ns", source.end);
    json_.line();
    write_texts(json_, "problems", source.problems);
    json_.line();
    write_texts(json_, "losses", loss_advice(source));
    json_.line();
    json_.text("cost", cost_text(source));
    write_cost_parts();
  }

  void write_cost_parts() {
    profile_cost const& c = input_.source.cost;
    json_.line();
    json_.object("cost_parts");
    json_.number("window_ns", c.seconds_in_window * 1e9);
    json_.number("range_ns", c.ranges_ns());
    json_.number("callback_ns", c.callbacks_ns());
    json_.number("counter_ns", c.counters_ns());
    json_.number("flush_ns", c.flush_seconds * 1e9);
    json_.number("start_ns", c.start_seconds * 1e9);
    json_.number("activity_ns", c.activity_seconds * 1e9);
    json_.integer("memory_bytes", c.log_bytes + c.activity_bytes);
    json_.end_object();
  }

  void write_columns(char const* key, std::string_view const* names, std::size_t count) {
    json_.line();
    json_.array(key);
    for (std::size_t i = 0; i < count; ++i) json_.text({}, names[i]);
    json_.end_array();
  }

  void write_views() {
    write_columns("columns", page_columns, sizeof page_columns / sizeof *page_columns);
    json_.line();
    json_.array("views");
    write_view(folded_, true);
    if (input_.ranges.size() != input_.folded.size()) write_view(each_, false);
    json_.end_array();
  }

  void write_view(page_rows const& rows, bool folded) {
    json_.line();
    json_.object();
    json_.text("name", folded ? "folded" : "each");
    json_.integer("total", rows.total());
    json_.array("rows");
    for (std::size_t place = 0; place < rows.shown().size(); ++place)
      write_page_row(json_, rows, place, input_.source.traced, limits_);
    json_.end_array();
    if (!folded) {  // where each row is in the folded table
      json_.line();
      json_.array("folded");
      for (std::uint32_t const row : rows.shown()) json_.integer({}, row_places_[row]);
      json_.end_array();
    }
    if (!input_.counters.empty()) page_counters(json_, input_, folded).write(rows, limits_);
    json_.end_object();
  }

  void write_kernels() {
    std::size_t const shown = smaller(input_.kernels.size(), limits_.kernels);
    double rest_ns = 0.0;
    for (std::size_t i = shown; i < input_.kernels.size(); ++i)
      rest_ns += input_.kernels[i].duration.sum();
    write_columns("kernel_columns", page_kernel_columns,
                  sizeof page_kernel_columns / sizeof *page_kernel_columns);
    vec<std::string> names = distinct_names(input_.kernels);
    names.resize(shown);
    name_cutter(limits_.kernel_name).cut(names);
    json_.line();
    json_.object("kernels");
    json_.integer("total", input_.kernels.size());
    json_.number("rest_ns", rest_ns);
    json_.array("rows");
    for (std::size_t i = 0; i < shown; ++i) {
      kernel_row const& row = input_.kernels[i];
      json_.line();
      json_.array();
      json_.integer({}, path_places_[row.path_id]);
      json_.integer({}, each_places_[row.path_id]);
      write_page_kernel(json_, row, names[i], limits_);
      json_.end_array();
    }
    json_.end_array();
    json_.end_object();
  }

  json_writer json_;
  report_input const& input_;
  page_limits const& limits_;
  page_rows folded_;
  page_rows each_;
  vec<std::uint32_t> row_places_;   ///< in the folded table on the page, by row of input.ranges
  vec<std::uint32_t> node_places_;  ///< the same by node
  number_map<std::uint32_t> path_places_;  ///< the same by path_id
  number_map<std::uint32_t> each_places_;  ///< in the other table, by path_id
};

}  // namespace detail

/// What the script of report.html reads, as JSON.
inline void write_page_data(detail::text_writer& out, report_input const& input,
                            page_limits const& limits = {}) {
  detail::page_writer(out, input, limits).write();
}

/// report.html: a page that needs no other file and no network. The same input gives the same
/// bytes.
inline void write_html(detail::text_writer& out, report_input const& input,
                       page_limits const& limits = {}) {
  detail::write_page(
      out, [&](detail::text_writer& json) { write_page_data(json, input, limits); },
      detail::page_tail);
}

STRATA_END

#endif  // STRATA_REPORT_HTML_HPP
