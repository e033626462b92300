#include <strata/version.hpp>
#ifndef STRATA_REPORT_COUNTER_JSON_HPP
#define STRATA_REPORT_COUNTER_JSON_HPP

#include <strata/analyse/counter_table.hpp>
#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/json_writer.hpp>
#include <strata/report/report_input.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN
namespace detail {

inline void write_counter_metrics(json_writer& json, counter_table const& table) {
  json.line();
  json.array("metrics");
  for (counter_metric const& metric : table.metrics) {
    if (!metric.why_absent.empty()) continue;
    json.line();
    json.object();
    json.text("key", metric.key);
    json.text("unit", metric.unit);
    json.text("level", to_string(metric.level));
    json.text("method", to_string(metric.method));
    json.text("meaning", metric.meaning);
    json.text("formula", metric.formula);
    json.boolean("stand_in", metric.stand_in);
    json.array("passes");
    for (std::uint32_t const pass : metric.passes) json.integer({}, pass);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.line();
  json.array("absent");
  for (counter_metric const& metric : table.metrics) {
    if (metric.why_absent.empty()) continue;
    json.line();
    json.object();
    json.text("key", metric.key);
    json.text("reason", metric.why_absent);
    json.end_object();
  }
  json.end_array();
}

/// The values of one row and scope as `scope`: {metric: value}, and what there is to say as
/// `scope`_notes: {metric: text}. Where all values are missing for one reason, `scope` is null and
/// `scope`_note is the reason.
class counter_values_json {
 public:
  counter_values_json(json_writer& json, counter_table const& table) : json_(json), table_(table) {
    for (std::size_t i = 0; i < table.metrics.size(); ++i)
      if (table.metrics[i].why_absent.empty()) metrics_.push_back(i);
  }

  void write(std::size_t row, counter_scope scope) {
    bool const self = scope == counter_scope::self;
    bool noted = false;
    bool empty = !metrics_.empty();
    for (std::size_t const i : metrics_) {
      counter_cell const& cell = table_.at(row, i, scope);
      noted = noted || cell.note != 0;
      empty =
          empty && is_nan(cell.value) && cell.note == table_.at(row, metrics_.front(), scope).note;
    }
    if (empty) {
      json_.absent(to_string(scope));
      json_.text(self ? "self_note" : "total_note",
                 table_.note(table_.at(row, metrics_.front(), scope)));
      return;
    }
    json_.object(to_string(scope));
    for (std::size_t const i : metrics_)
      json_.number(table_.metrics[i].key, table_.at(row, i, scope).value);
    json_.end_object();
    if (!noted) return;
    json_.object(self ? "self_notes" : "total_notes");
    for (std::size_t const i : metrics_) {
      counter_cell const& cell = table_.at(row, i, scope);
      if (cell.note != 0) json_.text(table_.metrics[i].key, table_.note(cell));
    }
    json_.end_object();
  }

 private:
  json_writer& json_;
  counter_table const& table_;
  vec<std::size_t> metrics_;  ///< those that the chip has
};

/// Requires: a table of input.ranges.
inline void write_counters(json_writer& json, report_input const& input, std::string_view key,
                           counter_table const& table) {
  json.line();
  json.object(key);
  json.text("chip", table.chip);
  if (!table.devices.empty()) {  // a CPU has none
    json.array("devices");
    for (std::uint32_t const device : table.devices) json.integer({}, device);
    json.end_array();
  }
  json.integer("passes", table.passes);
  json.integer("passes_done", table.passes_done);
  json.integer("timed_steps", table.timed_steps);
  write_counter_metrics(json, table);
  json.line();
  json.array("values");
  counter_values_json values(json, table);
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    json.line();
    json.object();
    json.integer("path_id", input.ranges[row].path_id);
    json.text("path", input.ranges[row].path);
    if (row < table.work.size() && table.work[row] != 0)
      json.text("work", table.notes[table.work[row]]);
    values.write(row, counter_scope::self);
    values.write(row, counter_scope::total);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_COUNTER_JSON_HPP
