#include "page.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/devices.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include <strata/tables/table.hpp>
#include "../analyse/column_meanings.hpp"
#include "../analyse/device_peaks.hpp"
#include "../analyse/kernel_amounts.hpp"
#include "../analyse/kernel_names.hpp"
#include "../analyse/rule_context.hpp"
#include "answer_json.hpp"
#include "counter_view.hpp"
#include "name_cutter.hpp"
#include "page_budget.hpp"
#include "page_collectives.hpp"
#include "page_files.hpp"
#include "page_memory.hpp"
#include "page_plain.hpp"
#include "page_shell.hpp"
#include "page_timeline.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// The rows of a table that a page shows, with all rows above them.
class page_rows {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  page_rows(vec<range_row> const& rows, std::size_t most)
      : rows_(rows), positions_(rows.size(), none) {
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
      for (std::uint32_t index = row; positions_[index] == none; index = rows[index].parent) {
        ++needed;
        if (kept + needed > most || index == 0 || rows[index].parent >= index) break;
      }
      if (kept + needed > most) continue;
      kept += needed;
      for (std::uint32_t index = row; positions_[index] == none; index = rows[index].parent) {
        positions_[index] = 0;
        if (index == 0 || rows[index].parent >= index) break;
      }
    }
    number();
  }

  vec<std::uint32_t> const& shown() const noexcept { return shown_; }
  /// The positions by row, as position_of() has them.
  vec<std::uint32_t> const& positions() const noexcept { return positions_; }
  /// The position on the page of a row of the table, or of the nearest one above it.
  std::uint32_t position_of(std::size_t row) const noexcept {
    return row < positions_.size() ? positions_[row] : 0;
  }
  /// How many rows below a position are left out, without those below one that is shown.
  std::uint32_t hidden(std::size_t position) const noexcept { return hidden_[position]; }
  range_row const& row(std::size_t position) const noexcept { return rows_[shown_[position]]; }
  std::size_t total() const noexcept { return rows_.size(); }

 private:
  static std::int64_t cost(range_row const& row) noexcept {
    return std::max(row.host_total_ns, row.gpu_busy_ns);
  }

  void number() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::uint32_t const parent = rows_[i].parent;
      if (positions_[i] != none) {
        positions_[i] = static_cast<std::uint32_t>(shown_.size());
        shown_.push_back(static_cast<std::uint32_t>(i));
        hidden_.push_back(0);
      } else {
        positions_[i] = parent < i ? positions_[parent] : 0;
        if (positions_[i] < hidden_.size()) ++hidden_[positions_[i]];
      }
    }
  }

  vec<range_row> const& rows_;
  vec<std::uint32_t> positions_;  ///< by row
  vec<std::uint32_t> shown_;      ///< by position
  vec<std::uint32_t> hidden_;     ///< by position
};

/// Which columns of a table differ between its rows.
class column_survey final : public cell_sink {
 public:
  /// What follows is the cells of one row more.
  void begin_row() noexcept { position_ = 0; }

  void absent(char const* key) override { compare(key, 0); }
  void text(char const* key, std::string_view value) override {
    fnv1a hash;
    hash.add(value);
    compare(key, hash.value());
  }
  void exact(char const*, std::string_view) override {}
  void number(char const* key, double value) override {
    std::uint64_t bits = 0;
    if (is_finite(value)) std::memcpy(&bits, &value, sizeof bits);
    compare(key, is_finite(value) ? bits + 1 : 0);
  }
  void whole(char const* key, std::uint64_t magnitude, bool negative) override {
    compare(key, negative ? ~magnitude : magnitude + 1);
  }

  bool differs(std::size_t position) const noexcept { return columns_[position].differs; }

 private:
  struct column {
    std::uint64_t first;
    bool differs;
  };

  void compare(char const*, std::uint64_t value) {
    if (position_ == columns_.size()) columns_.push_back({value, false});
    column& known = columns_[position_];
    known.differs = known.differs || known.first != value;
    ++position_;
  }

  vec<column> columns_;
  std::size_t position_ = 0;
};

/// What of a row is written.
enum class page_cell : std::uint8_t { name, same, differing };

/// Writes the names of the columns that differ, the values of the others, or those that differ.
class page_cells final : public cell_sink {
 public:
  page_cells(json_writer& json, column_survey const& survey, page_cell what, std::size_t width)
      : json_(json), survey_(survey), what_(what), width_(width) {}

  void absent(char const* key) override {
    if (begin(key)) json_.absent(key);
  }
  void text(char const* key, std::string_view value) override {
    if (begin(key)) json_.text(key, shortened(value, width_));
  }
  void exact(char const*, std::string_view) override {}
  void number(char const* key, double value) override {
    if (begin(key)) json_.number(key, value);
  }
  void whole(char const* key, std::uint64_t magnitude, bool negative) override {
    if (begin(key)) json_.whole(key, magnitude, negative);
  }

 private:
  /// Whether the value is written: with its key, or without one.
  bool begin(char const*& key) {
    bool const differs = survey_.differs(position_);
    ++position_;
    if (what_ == page_cell::same) return !differs;
    if (what_ == page_cell::name && differs) json_.text({}, key);
    key = nullptr;
    return what_ == page_cell::differing && differs;
  }

  json_writer& json_;
  column_survey const& survey_;
  page_cell what_;
  std::size_t width_;  ///< of a text, in columns
  std::size_t position_ = 0;
};

inline void write_page_metric(json_writer& json, counter_table const& table,
                              counter_metric const& metric) {
  json.line();
  json.object();
  json.text("key", metric.key);
  json.text("unit", metric.unit);
  json.text("level", to_string(metric.level));
  json.text("meaning", metric.meaning);
  if (!metric.formula.empty()) json.text("formula", metric.formula);
  json.text("method", to_string(metric.method));
  auto const look = [&](console_table::column const& known, std::string_view key) {
    if (key == metric.key) json.text("label", known.header);
  };
  counter_view::for_each_column(table.memory, look);
  json.text("set", table.name);
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
    for_each_metric([&](counter_table const& table, std::size_t i) {
      write_page_metric(json_, table, table.metrics[i]);
      ++metrics;
    });
    json_.end_array();
    std::size_t const most = metrics == 0 ? 0 : limits.counter_values / metrics;
    json_.line();
    json_.array("counted");
    for (std::size_t position = 0; position < rows.shown().size() && position < most; ++position) {
      json_.line();
      json_.array();
      for_each_metric([&](counter_table const& table, std::size_t i) {
        std::size_t const row = rows.shown()[position];
        if (row >= table.rows) return json_.absent({});
        json_.number({}, table.at(row, i, counter_scope::total).value);
      });
      json_.end_array();
    }
    json_.end_array();
  }

 private:
  template <class Visit>
  void for_each_metric(Visit visit) const {
    for (counter_tables const& tables : input_.counters) {
      counter_table const& table = folded_ ? tables.folded : tables.ranges;
      // What was counted in passes stands for what was sampled too: a key is there once.
      if (table.name == counter_set::live && gpu_counters(input_) != nullptr) continue;
      for (std::size_t i = 0; i < table.metrics.size(); ++i)
        if (table.metrics[i].why_absent.empty()) visit(table, i);
    }
  }

  json_writer& json_;
  report_input const& input_;
  bool folded_;
};

/// Writes the data of the page.
class page_writer {
 public:
  page_writer(text_writer& out, report_input const& input, page_limits const& limits)
      : json_(out, true),
        input_(input),
        limits_(limits),
        folded_(input.folded, limits.ranges),
        unfolded_(input.ranges, limits.ranges),
        folded_mean_(input.folded, input.steps),
        unfolded_mean_(input.ranges, input.steps) {
    find_positions();
  }

  void write() {
    json_.object();
    write_schema(json_, "strata.page", 2);
    write_run();
    answer_on_page const shown{folded_.positions(), folded_.shown(), limits_.findings,
                               limits_.points, limits_.name};
    json_.line();
    json_.object("answer");
    answer_json(json_, input_, &shown).write();
    json_.end_object();
    page_budget(json_, input_, folded_.positions()).write();
    double host_ns = 0.0;  // of all ranges, on the page or not
    for (std::size_t i = 0; i < input_.folded.size(); ++i)
      host_ns += folded_mean_.stepping_self_ns(i);
    json_.number("host_in_ranges_ns", host_ns);
    write_views();
    write_kernels();
    page_timeline(json_, input_, node_positions_, limits_).write();
    if (!input_.analysed.collectives.empty())
      page_collectives(json_, input_, folded_.positions()).write();
    if (!input_.memory.allocations.empty()) page_memory(json_, input_, path_positions_).write();
    json_.line();
    json_.end_object();
  }

 private:
  /// Where the rows, paths and nodes of the whole table are in the folded one on the page.
  void find_positions() {
    node_positions_.resize(input_.source.nodes.size(), page_rows::none);
    for (std::size_t i = 0; i < input_.ranges.size(); ++i) {
      std::uint32_t const position = folded_.position_of(input_.folded_rows[i]);
      range_row const& range = input_.ranges[i];
      row_positions_.push_back(position);
      path_positions_[range.path_id] = position;
      path_rows_[range.path_id] = static_cast<std::uint32_t>(i);
      unfolded_positions_[range.path_id] = unfolded_.position_of(i);
      if (range.node < node_positions_.size()) node_positions_[range.node] = position;
    }
    for (std::size_t i = 0; i < node_positions_.size(); ++i) {
      std::uint32_t const parent = input_.source.nodes[i].parent;
      if (node_positions_[i] == page_rows::none)
        node_positions_[i] = parent < i ? node_positions_[parent] : 0;
    }
  }

  bool any_launches_graphs() const noexcept {
    for (range_row const& row : input_.folded)
      if (launches_graphs(row, input_.steps)) return true;
    return false;
  }

  void write_run() {
    profile const& source = input_.source;
    write_environment(json_, source);
    json_.line();
    json_.boolean("traced", source.traced);
    json_.text("memory_name", memory_name(source));
    json_.boolean("launches_graphs", any_launches_graphs());
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

  /// The names of the columns that differ, and the values of the others.
  template <class WriteRow>
  void write_columns(char const* names, char const* same, column_survey const& survey,
                     WriteRow const& write_row) {
    json_.line();
    json_.array(names);
    write_row(page_cell::name, survey);
    json_.end_array();
    json_.line();
    json_.object(same);
    write_row(page_cell::same, survey);
    json_.end_object();
  }

  /// What the columns are: the names that the console has for them, units, and what they mean.
  void write_about_columns() {
    json_.line();
    json_.object("about_columns");
    auto const write = [this](char const* key, std::string_view unit, std::string_view label,
                              std::string_view help) {
      json_.object(key);
      json_.text("unit", unit);
      if (!label.empty()) json_.text("label", label);
      if (!help.empty()) json_.text("help", help);
      json_.end_object();
    };
    auto const recorded = range_columns.from("calls");
    for (column<range_row> const& each : recorded) {
      std::string_view label;
      for (range_console_column const& known : range_console_columns)
        if (std::string_view(known.key) == each.key) label = known.shown.header;
      column_meaning const& about = *meaning_of(range_meanings, each.key);
      write(each.key, about.unit, label, about.meaning);
    }
    for (range_console_column const& known : range_console_columns) {
      bool const is_own = *known.key != '\0' && recorded.find(known.key) == recorded.end();
      std::string_view help = known.shown.legend;
      if (std::size_t const at = help.find(": "); at != help.npos) help.remove_prefix(at + 2);
      if (is_own) write(known.key, "", known.shown.header, help);
    }
    json_.end_object();
    json_.line();
    json_.object("about_kernel_columns");
    for (column<kernel_row> const& each : kernel_columns.from("count")) {
      column_meaning const& about = *meaning_of(kernel_meanings, each.key);
      write(each.key, about.unit, {}, about.meaning);
    }
    json_.end_object();
  }

  void write_range(cell_sink& cells, page_rows const& rows, std::size_t position) const {
    range_row const& row = rows.row(position);
    if (position == 0) {
      cells.absent("parent");
    } else {
      cells.integer("parent", rows.position_of(row.parent));
    }
    cells.integer("path_id", row.path_id);
    range_columns.from("name").until("depth").write(cells, input_, row);
    range_columns.from("calls").write(cells, input_, row);
    write_mean(cells, &rows == &folded_ ? folded_mean_ : unfolded_mean_, row,
               rows.shown()[position]);
    cells.integer("hidden", rows.hidden(position));
  }

  /// What a range is in a mean step. `mean_part`: the part of what the host's time divides.
  void write_mean(cell_sink& cells, step_amounts const& mean, range_row const& row,
                  std::size_t index) const {
    mean_work const& work = mean.work(index);
    if (row.around_steps) {
      cells.absent("mean_calls");
    } else {
      cells.number("mean_calls", mean.calls(index));
    }
    cells.number("mean_part", input_.steps.per_step(1.0, row.step_host_share));
    cells.number("mean_host_ns", mean.host_ns(index));
    cells.number("mean_stepping_ns", mean.stepping_ns(index));
    cells.number("mean_self_ns", mean.self_ns(index));
    cells.number("mean_busy_ns", mean.busy_ns(index));
    cells.number("mean_kernels", work.kernels);
    cells.number("mean_kernel_ns", work.kernel_ns);
    cells.number("mean_graph_kernel_ns", work.graph_kernel_ns);
    cells.number("mean_launch_ns", work.launch_ns);
    cells.number("mean_copy_ns", work.copy_ns);
    cells.number("mean_synchronization_ns", work.synchronization_ns);
    cells.number("mean_allocations", work.allocations);
  }

  void write_views() {
    bool const has_indices = input_.ranges.size() != input_.folded.size();
    column_survey survey;
    for (page_rows const* const rows : {&folded_, &unfolded_}) {
      if (rows == &unfolded_ && !has_indices) continue;
      for (std::size_t position = 0; position < rows->shown().size(); ++position) {
        survey.begin_row();
        write_range(survey, *rows, position);
      }
    }
    write_columns("columns", "same", survey, [this](page_cell what, column_survey const& known) {
      page_cells cells(json_, known, what, limits_.name);
      if (!folded_.shown().empty()) write_range(cells, folded_, 0);
    });
    write_about_columns();
    json_.line();
    json_.array("views");
    write_view(folded_, survey, true);
    if (has_indices) write_view(unfolded_, survey, false);
    json_.end_array();
  }

  /// Kernels in graphs: where they were launched, where they were captured, ns in a mean step.
  void write_captured(page_rows const& rows) {
    json_.line();
    json_.array("captured");
    for (std::size_t i = 0; i < input_.folded.size(); ++i) {
      for (captured_work const& work : input_.folded[i].captured) {
        if (!(folded_mean_.captured_ns(work) > 0.0)) continue;
        json_.array();
        json_.integer({}, rows.position_of(work.launching_row));
        json_.integer({}, rows.position_of(i));
        json_.number({}, folded_mean_.captured_ns(work));
        json_.end_array();
      }
    }
    json_.end_array();
  }

  void write_view(page_rows const& rows, column_survey const& survey, bool folded) {
    json_.line();
    json_.object();
    json_.text("name", folded ? "folded" : "each");
    json_.integer("total", rows.total());
    json_.array("rows");
    for (std::size_t position = 0; position < rows.shown().size(); ++position) {
      page_cells cells(json_, survey, page_cell::differing, limits_.name);
      json_.line();
      json_.array();
      write_range(cells, rows, position);
      json_.end_array();
    }
    json_.end_array();
    if (!folded) {  // where each row is in the folded table
      json_.line();
      json_.array("folded");
      for (std::uint32_t const row : rows.shown()) json_.integer({}, row_positions_[row]);
      json_.end_array();
    }
    if (folded) write_captured(rows);
    if (!input_.counters.empty()) page_counters(json_, input_, folded).write(rows, limits_);
    json_.end_object();
  }

  /// A kernel in a range, which is a place in each of the two tables; its launches and its time are
  /// also of a mean step.
  void write_kernel(cell_sink& cells, std::size_t index, std::string const& name) {
    kernel_row const& row = input_.kernels[index];
    cells.integer("range", path_positions_[row.path_id]);
    cells.integer("range_each", unfolded_positions_[row.path_id]);
    cells.text("name", name);
    cells.text("whole", row.demangled == name ? std::string_view() : row.demangled);
    kernel_columns.from("count").until("first_step_count").write(cells, input_, row);
    range_row const& range = input_.ranges[path_rows_[row.path_id]];
    cells.number("step_launches", launches_in_step(row, range, input_.steps));
    cells.number("step_ns", ns_in_step(row, range, input_.steps));
    cells.number("step_gpu_fill", gpu_fill_in_step(row, input_.steps));
    if (input_.kernel_counters != nullptr) write_counted_kernel(cells, index);
  }

  /// What the counted launches of a kernel do: their time, operations, and bytes at each level.
  void write_counted_kernel(cell_sink& cells, std::size_t index) const {
    kernel_counter_table const& table = *input_.kernel_counters;
    auto const value = [&](std::string_view key) { return table.at(index, key); };
    double const mean = mean_duration(input_.kernels[index], input_.steps);
    cells.number("counted_ns", mean * static_cast<double>(table.launches[index]));
    cells.number("counted_flops", counted_operations(value));
    cells.number("counted_hbm_bytes", value("hbm_bytes"));
    cells.number("counted_l2_bytes", value("l2_bytes"));
    cells.number("counted_l1_bytes", value("l1_data_bytes"));
    cells.number("counted_shared_bytes", wavefront_bytes * value("shared_wavefronts"));
  }

  void write_kernels() {
    std::size_t const shown = std::min(input_.kernels.size(), limits_.kernels);
    double rest_ns = 0.0;
    for (std::size_t i = shown; i < input_.kernels.size(); ++i)
      rest_ns += input_.kernels[i].duration.sum();
    vec<std::string> names = distinct_names(input_.kernels);
    names.resize(shown);
    // The begin of a name of a kernel says more than its end.
    name_cutter(limits_.kernel_name, limits_.kernel_name / 4).cut(names);
    column_survey survey;
    for (std::size_t i = 0; i < shown; ++i) {
      survey.begin_row();
      write_kernel(survey, i, names[i]);
    }
    write_columns("kernel_columns", "kernel_same", survey,
                  [&](page_cell what, column_survey const& known) {
                    page_cells cells(json_, known, what, limits_.whole_name);
                    if (shown > 0) write_kernel(cells, 0, names[0]);
                  });
    json_.line();
    json_.object("kernels");
    json_.integer("total", input_.kernels.size());
    json_.number("rest_ns", rest_ns);
    json_.array("rows");
    for (std::size_t i = 0; i < shown; ++i) {
      page_cells cells(json_, survey, page_cell::differing, limits_.whole_name);
      json_.line();
      json_.array();
      write_kernel(cells, i, names[i]);
      json_.end_array();
    }
    json_.end_array();
    json_.end_object();
  }

  json_writer json_;
  report_input const& input_;
  page_limits const& limits_;
  page_rows folded_;
  page_rows unfolded_;
  step_amounts folded_mean_;
  step_amounts unfolded_mean_;
  vec<std::uint32_t> row_positions_;   ///< in the folded table on the page, by row of input.ranges
  vec<std::uint32_t> node_positions_;  ///< the same by node
  number_map<std::uint32_t> path_positions_;      ///< the same by path_id
  number_map<std::uint32_t> path_rows_;           ///< in input.ranges, by path_id
  number_map<std::uint32_t> unfolded_positions_;  ///< in the other table, by path_id
};

}  // namespace detail

void write_page_data(detail::text_writer& out, report_input const& input,
                     page_limits const& limits) {
  detail::page_writer(out, input, limits).write();
}

void write_html(detail::text_writer& out, report_input const& input, page_limits const& limits) {
  detail::write_parts(out, strata_pages::report_head);
  detail::page_plain(out, input).write();
  detail::write_page(
      out, strata_pages::report_middle,
      [&](detail::text_writer& json) { write_page_data(json, input, limits); },
      strata_pages::report_tail);
}

bool has_page_files() noexcept { return STRATA_HAS_PAGE_FILES != 0; }

STRATA_END
