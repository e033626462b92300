#ifndef STRATA_TABLES_JSON_HPP
#define STRATA_TABLES_JSON_HPP

#include <strata/tables/columns.hpp>
#include <strata/tables/step_traffic.hpp>

STRATA_BEGIN

/// Of profile.json: keys may be added within a version; a change of meaning makes a new one.
inline constexpr int profile_schema_version = 1;

namespace detail {

/// An array of objects, one a line.
template <class Rows, class Columns>
inline void write_list(json_writer& json, char const* key, Rows const& rows, Columns columns) {
  json.line();
  json.array(key);
  for (auto const& row : rows) {
    json.line();
    json.object();
    columns(row);
    json.end_object();
  }
  json.end_array();
}

/// The rows of a table, with the columns of its CSV file.
template <class Row>
inline void write_rows(json_writer& json, char const* key, table_input const& input,
                       vec<Row> const& rows, column_list<Row> columns) {
  write_list(json, key, rows, [&](Row const& row) { columns.write(json, input, row); });
}

inline void write_kernels(json_writer& json, table_input const& input) {
  kernel_cells const kernels(input);
  write_list(json, "kernels", input.kernels, [&](kernel_row const& row) {
    kernels.write(json, static_cast<std::size_t>(&row - input.kernels.data()));
  });
}

inline void write_numbers(json_writer& json, char const* key, vec<std::uint32_t> const& numbers) {
  json.array(key);
  for (std::uint32_t const number : numbers) json.integer({}, number);
  json.end_array();
}

inline void write_texts(json_writer& json, char const* key, vec<std::string> const& texts) {
  json.array(key);
  for (std::string const& text : texts) json.text({}, text);
  json.end_array();
}

inline void write_counter_metrics(json_writer& json, counter_table const& table) {
  vec<counter_metric const*> counted;
  vec<counter_metric const*> absent;
  for (counter_metric const& metric : table.metrics)
    (metric.why_absent.empty() ? counted : absent).push_back(&metric);
  write_list(json, "metrics", counted, [&](counter_metric const* metric) {
    json.text("key", metric->key);
    json.text("unit", metric->unit);
    json.text("level", to_string(metric->level));
    json.text("method", to_string(metric->method));
    json.text("meaning", metric->meaning);
    json.text("formula", metric->formula);
    json.boolean("stand_in", metric->stand_in);
    write_numbers(json, "passes", metric->passes);
  });
  write_list(json, "absent", absent, [&](counter_metric const* metric) {
    json.text("key", metric->key);
    json.text("reason", metric->why_absent);
  });
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
      json_.absent(to_string(scope).data());
      json_.text(self ? "self_note" : "total_note",
                 table_.note(table_.at(row, metrics_.front(), scope)));
      return;
    }
    json_.object(to_string(scope).data());
    for (std::size_t const i : metrics_)
      json_.number(table_.metrics[i].key.c_str(), table_.at(row, i, scope).value);
    json_.end_object();
    if (table_.method == counting::sampled) {
      json_.object(self ? "self_plus_minus" : "total_plus_minus");
      for (std::size_t const i : metrics_)
        json_.number(table_.metrics[i].key.c_str(), table_.at(row, i, scope).plus_minus);
      json_.end_object();
    }
    if (!noted) return;
    json_.object(self ? "self_notes" : "total_notes");
    for (std::size_t const i : metrics_) {
      counter_cell const& cell = table_.at(row, i, scope);
      if (cell.note != 0) json_.text(table_.metrics[i].key.c_str(), table_.note(cell));
    }
    json_.end_object();
  }

 private:
  json_writer& json_;
  counter_table const& table_;
  vec<std::size_t> metrics_;  ///< those that the chip has
};

/// Requires: a table of input.ranges.
inline void write_counters(json_writer& json, table_input const& input,
                           counter_table const& table) {
  json.line();
  json.object(table.name.c_str());
  json.text("chip", table.chip);
  if (!table.devices.empty()) write_numbers(json, "devices", table.devices);  // a CPU has none
  json.integer("passes", table.passes);
  json.integer("passes_done", table.passes_done);
  json.integer("timed_steps", table.timed_steps);
  if (!table.about.empty()) json.text("about", table.about);
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

inline void write_environment(json_writer& json, profile const& source) {
  profile_environment const& e = source.environment;
  json.line();
  json.object("environment");
  json.text("host", e.host);
  json.text("program", program_of(e.command));
  json.text("command", e.command);
  json.text("configuration", e.options);
  json.text("started_at", e.started_at);
  json.integer("started_at_unix_ns", e.started_at_unix_ns);
  json.text("cpu", e.cpu);
  json.text("clock", e.clock);
  json.text("cupti_path", e.cupti_path);
  json.integer("cupti_version", e.cupti_version);
  json.integer("driver_version", e.driver_version);
  json.integer("process_id", e.process_id);
  e.rank >= 0 ? json.integer("rank", e.rank) : json.absent("rank");
  json.end_object();
  number_map<bool> worked;
  for (std::uint32_t const ordinal : worked_ordinals(source)) worked[ordinal] = true;
  write_list(json, "devices", e.devices, [&](profile_device const& d) {
    json.integer("device", d.ordinal);
    json.boolean("worked", worked.find(d.ordinal) != nullptr);
    json.text("name", d.name);
    json.integer("multiprocessors", d.multiprocessors);
    json.integer("compute_capability_major", d.compute_capability_major);
    json.integer("compute_capability_minor", d.compute_capability_minor);
    json.integer("clock_khz", d.clock_khz);
    json.integer("memory_clock_khz", d.memory_clock_khz);
    json.integer("memory_bus_bits", d.memory_bus_bits);
    json.integer("l2_bytes", d.l2_bytes);
    json.integer("memory_bytes", d.memory_bytes);
    json.integer("warp_size", d.warp_size);
    json.integer("threads_per_multiprocessor", d.threads_per_multiprocessor);
    json.integer("blocks_per_multiprocessor", d.blocks_per_multiprocessor);
    json.integer("registers_per_multiprocessor", d.registers_per_multiprocessor);
    json.integer("shared_bytes_per_multiprocessor", d.shared_bytes_per_multiprocessor);
    json.integer("reserved_shared_bytes_per_block", d.reserved_shared_bytes_per_block);
  });
  if (source.contexts.empty()) return;
  write_list(json, "contexts", source.contexts, [&](profile_context const& context) {
    json.integer("context", context.context);
    json.integer("device", context.device);
    json.integer("multiprocessors", context.multiprocessors);
  });
}

inline void write_losses(json_writer& json, profile_losses const& losses) {
  json.line();
  json.object("losses");
  for (loss_kind const& kind : loss_kinds) json.integer(kind.key.data(), losses.*kind.count);
  json.end_object();
}

inline void write_hang(json_writer& json, profile_hang const& hang) {
  if (!hang.found) return;
  json.line();
  json.object("hang");
  write_list(json, "open_ranges", hang.ranges, [&](hung_range const& open) {
    json.integer("thread", open.thread);
    json.text("path", open.path);
    if (open.open_ns >= 0) json.number("open_seconds", static_cast<double>(open.open_ns) * 1e-9);
  });
  write_list(json, "unfinished", hang.work, [&](hung_work const& work) {
    json.text("path", work.path);
    json.integer("calls", work.calls);
    json.number("last_call_seconds_ago", static_cast<double>(work.last_ns) * 1e-9);
  });
  json.end_object();
}

inline void write_cost(json_writer& json, profile_cost const& c) {
  json.line();
  json.object("cost");
  json.number("seconds_in_window", c.seconds_in_window);
  json.number("range_ns", c.range_ns);
  json.integer("ranges", c.ranges);
  json.integer("callbacks", c.callbacks);
  json.number("callback_ns", c.callback_ns);
  json.number("activity_seconds", c.activity_seconds);
  json.number("flush_seconds", c.flush_seconds);
  json.number("start_seconds", c.start_seconds);
  if (c.unrecorded_steps != 0) {
    json.integer("unrecorded_steps", c.unrecorded_steps);
    json.number("unrecorded_step_ns", c.unrecorded_step_ns);
  }
  if (c.counter_reads != 0) {
    json.integer("counter_reads", c.counter_reads);
    json.number("counter_read_ns", c.counter_read_ns);
  }
  json.integer("log_bytes", c.log_bytes);
  json.integer("activity_bytes", c.activity_bytes);
  json.end_object();
}

inline void write_steps(json_writer& json, table_input const& input) {
  profile const& source = input.source;
  steps_summary const& steps = input.steps;
  std::size_t position = 0;
  write_list(json, "steps", source.steps, [&](step_record const& s) {
    json.integer("step", s.step);
    json.integer("thread", s.thread);
    json.integer("begin_ns", s.begin);
    json.integer("end_ns", s.end);
    if (position < steps.step_lengths.size())
      json.number("period_ns", steps.step_lengths[position++] + steps.between_ns);
    if (s.cpu_ns == 0) return;
    json.integer("cpu_ns", s.cpu_ns);
    json.integer("voluntary_switches", s.voluntary_switches);
    json.integer("involuntary_switches", s.involuntary_switches);
  });
  write_list(json, "threads", source.threads, [&](profile_thread const& t) {
    json.integer("thread", t.ordinal);
    json.integer("os_id", t.os_id);
    json.text("name", t.name);
  });
}

/// The bytes of device memory of each step that was sampled.
inline void write_step_traffic(json_writer& json, profile const& source) {
  step_traffic const all = make_step_traffic(source);
  json.line();
  json.object("step_traffic");
  json.number("p50_hbm_bytes", all.p50);
  json.number("p99_hbm_bytes", all.p99);
  write_list(json, "steps", source.step_traffic, [&](step_traffic_record const& step) {
    json.integer("step", step.step);
    json.number("hbm_bytes", step.bytes);
  });
  json.end_object();
}

/// The memory in use over time in at most 512 points, each the highest of its part of the run.
inline void write_timeline(json_writer& json, memory_table const& memory) {
  constexpr std::size_t most = 512;
  std::size_t const points = memory.timeline.size();
  std::size_t const parts = points < most ? points : most;
  json.line();
  json.object("timeline");
  json.integer("points", points);
  json.array("time_ns_and_bytes");
  for (std::size_t part = 0; part < parts; ++part) {
    memory_point highest = memory.timeline[part * points / parts];
    for (std::size_t i = part * points / parts; i < (part + 1) * points / parts; ++i)
      if (memory.timeline[i].bytes > highest.bytes) highest = memory.timeline[i];
    json.array();
    json.integer({}, highest.time);
    json.integer({}, highest.bytes);
    json.end_array();
  }
  json.end_array();
  json.end_object();
}

inline void write_memory(json_writer& json, table_input const& input) {
  json.line();
  json.object("memory");
  json.integer("peak_bytes", input.memory.peak_bytes);
  json.integer("peak_at_ns", input.memory.peak_at);
  json.integer("releases_of_older_memory", input.memory.releases_of_older_memory);
  write_timeline(json, input.memory);
  write_list(json, "purposes", input.memory.purposes, [&](memory_purpose const& purpose) {
    json.text("purpose", purpose.name);
    json.integer("allocations", purpose.allocations);
    json.integer("allocated_bytes", purpose.allocated);
    json.integer("released_bytes", purpose.released);
    json.integer("first_step_allocations", purpose.first_step_allocations);
    json.integer("first_step_allocated_bytes", purpose.first_step_allocated);
    json.integer("first_step_released_bytes", purpose.first_step_released);
    json.integer("live_bytes", purpose.live);
    json.integer("peak_bytes", purpose.peak);
    json.integer("bytes_at_peak", purpose.at_peak);
  });
  vec<memory_step> steps = input.memory.steps;
  steps.keep_if(
      [](memory_step const& changed) { return changed.allocated + changed.released > 0; });
  write_list(json, "steps", steps, [&](memory_step const& changed) {
    json.integer("step", changed.step);
    json.integer("allocated_bytes", changed.allocated);
    json.integer("released_bytes", changed.released);
    json.integer("live_bytes", changed.live);
    json.integer("peak_bytes", changed.peak);
  });
  write_rows(json, "allocations", input, input.memory.allocations, allocation_columns);
  json.end_object();
}

}  // namespace detail

/// profile.json: everything, one row a line. Keys are the column names of the CSV files; the text
/// is exact, but for bytes that are not UTF-8; an unknown number is null.
inline void write_json(detail::text_writer& out, table_input const& input) {
  profile const& source = input.source;
  detail::json_writer json(out);
  json.object();
  json.line();
  detail::write_schema(json, "strata.profile", profile_schema_version);
  detail::write_environment(json, source);
  json.line();
  json.boolean("traced", source.traced);
  json.boolean("has_steps", source.has_steps);
  json.boolean("period_of_gpu", input.steps.period_of_gpu);
  json.integer("end_ns", source.end);
  detail::write_losses(json, source.losses);
  detail::write_hang(json, source.hang);
  detail::write_cost(json, source.cost);
  json.line();
  detail::write_texts(json, "problems", source.problems);
  detail::write_steps(json, input);
  detail::write_rows(json, "ranges", input, input.ranges, detail::range_columns);
  detail::write_kernels(json, input);
  detail::write_memory(json, input);
  if (!source.spans.empty())
    detail::write_rows(json, "spans", input, source.spans, detail::span_columns);
  for (counter_tables const& tables : input.counters)
    detail::write_counters(json, input, tables.ranges);
  if (!source.step_traffic.empty()) detail::write_step_traffic(json, source);
  json.line();
  json.end_object();
  out.put('\n');
}

STRATA_END

#endif  // STRATA_TABLES_JSON_HPP
