#include "comparison_files.hpp"

#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/profile.hpp>
#include "../analyse/comparison.hpp"
#include "page_files.hpp"
#include "page_shell.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

STRATA_BEGIN

namespace detail {

/// Writes a comparison as JSON: of each list of ranges the first `most` and those that are slower.
class comparison_json {
 public:
  comparison_json(text_writer& out, comparison const& c, compare_options const& options,
                  std::size_t most, bool rounds)
      : json_(out, rounds), c_(c), options_(options), most_(most) {
    for (compared_range const& range : c_.ranges)
      for (compared_column const& column : range.columns)
        if (places_.emplace(column.name, columns_.size()).second) columns_.push_back(&column);
  }

  void write() {
    json_.object();
    json_.line();
    write_schema(json_, "strata.comparison", comparison_schema_version);
    json_.line();
    json_.text("verdict", to_string(c_.verdict));
    json_.text("reason", c_.reason);
    json_.text("headline", c_.headline);
    json_.line();
    write_texts("notes", c_.notes);
    json_.line();
    json_.object("options");
    json_.number("limit", options_.limit);
    json_.number("least_share", options_.least_share);
    json_.number("run_noise", options_.run_noise);
    json_.boolean("anyway", options_.anyway);
    json_.end_object();
    write_step();
    write_period();
    json_.line();
    count("judged_times", c_.judged_times);
    count("noisy_times", c_.noisy_times);
    json_.number("geometric_mean", c_.geometric_mean);
    json_.line();
    json_.object("totals");
    count("ranges", c_.ranges.size());
    count("indexed", c_.indexed.size());
    count("only_before", c_.only_before.size());
    count("only_after", c_.only_after.size());
    json_.end_object();
    write_runs();
    write_ranges("ranges", c_.ranges, true);
    write_ranges("indexed", c_.indexed, false);
    json_.line();
    write_texts("only_before", c_.only_before);
    json_.line();
    write_texts("only_after", c_.only_after);
    json_.line();
    json_.end_object();
  }

 private:
  void count(char const* key, std::size_t number) { json_.whole(key, number, false); }
  void write_texts(char const* key, std::vector<std::string> const& texts) {
    json_.array(key);
    for (std::size_t i = 0; i < std::min(texts.size(), most_); ++i) json_.text({}, texts[i]);
    json_.end_array();
  }

  void write_step() {
    json_.line();
    json_.object("step");
    count("before_runs", c_.before_runs);
    count("after_runs", c_.after_runs);
    count("before_steps", c_.before_steps);
    count("after_steps", c_.after_steps);
    json_.number("before_ms", c_.before_ms);
    json_.number("after_ms", c_.after_ms);
    json_.boolean("before_of_gpu", c_.before_of_gpu);
    json_.boolean("after_of_gpu", c_.after_of_gpu);
    json_.boolean("comparable", c_.comparable);
    json_.number("change", c_.change);
    json_.number("noise", c_.noise);
    json_.boolean("runs_known", c_.runs_known);
    json_.number("resolution", c_.resolution);
    json_.number("chance", c_.chance);
    json_.number("common", c_.common);
    count("steps_to_decide", c_.steps_to_decide);
    count("runs_to_decide", c_.runs_to_decide);
    json_.end_object();
  }

  /// The change of the period, in rows that sum to it.
  void write_period() {
    period_change const& period = c_.period;
    json_.line();
    json_.object("period");
    json_.number("before_ms", period.before_ms);
    json_.number("after_ms", period.after_ms);
    json_.number("before_first_ms", period.before_first_ms);
    json_.number("after_first_ms", period.after_first_ms);
    json_.text("before_bound", period.before_bound);
    json_.text("after_bound", period.after_bound);
    json_.array("rows");
    for (std::size_t i = 0; i < std::min(period.rows.size(), most_); ++i)
      write_period_row(period.rows[i]);
    json_.end_array();
    json_.end_object();
  }
  void write_period_row(period_row const& row) {
    json_.line();
    json_.object();
    json_.text("kind", to_string(row.kind));
    json_.text("name", row.name);
    json_.text("label", row_label(row));
    json_.number("before_ms", row.before_ms);
    json_.number("after_ms", row.after_ms);
    json_.number("noise_ms", row.noise_ms);
    json_.number("noise", row.noise);
    json_.boolean("changed", row.changed);
    json_.boolean("within_noise", row.is_noise && !row.changed);
    json_.number("before_kernels", row.before_kernels);
    json_.number("after_kernels", row.after_kernels);
    json_.number("before_hbm_bytes", row.before_hbm_bytes);
    json_.number("after_hbm_bytes", row.after_hbm_bytes);
    json_.text("before_limiter", row.before_limiter);
    json_.text("after_limiter", row.after_limiter);
    json_.end_object();
  }

  /// Each with the times of its steps, evenly thinned to a few hundred.
  void write_runs() {
    constexpr std::size_t most_steps = 500;
    json_.line();
    json_.array("runs");
    for (compared_run const& run : c_.runs) {
      json_.line();
      json_.object();
      json_.text("side", run.after ? "after" : "before");
      json_.text("program", program_of(run.command));
      json_.text("command", run.command);
      json_.text("settings", run.settings);
      json_.text("host", run.host);
      json_.text("cpu", run.cpu);
      json_.text("devices", run.devices);
      json_.text("started_at", run.started_at);
      count("steps", run.steps_ms.size());
      json_.array("steps_ms");
      std::size_t const shown = std::min(run.steps_ms.size(), most_steps);
      for (std::size_t i = 0; i < shown; ++i)
        json_.number({}, run.steps_ms[i * run.steps_ms.size() / shown]);
      json_.end_array();
      json_.end_object();
    }
    json_.end_array();
  }

  void write_ranges(char const* key, std::vector<compared_range> const& all, bool with_columns) {
    if (with_columns) {
      json_.line();
      json_.array("columns");
      for (compared_column const* const column : columns_) {
        json_.object();
        json_.text("name", column->name);
        json_.text("unit", column->unit);
        json_.end_object();
      }
      json_.end_array();
    }
    json_.line();
    json_.array(key);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i < most_ || all[i].slower) write_range(all[i], with_columns);
    json_.end_array();
  }

  void write_range(compared_range const& range, bool with_columns) {
    bool const judged = range.verdict != range_verdict::unjudged;
    auto const number = [&](char const* key, double value) {
      if (judged) {
        json_.number(key, value);
      } else {
        json_.absent(key);
      }
    };
    json_.line();
    json_.object();
    json_.text("path", range.path);
    json_.text("verdict", to_string(range.verdict));
    json_.boolean("slower", range.slower);
    json_.text("time", range.gpu ? "gpu" : "host");
    if (range.once) json_.boolean("once", true);
    if (!range.thread.empty()) json_.text("thread", range.thread);
    json_.number("before_ms", range.before_ms);
    json_.number("after_ms", range.after_ms);
    if (judged) {
      json_.text("judged_by", range.judged_gpu ? "gpu" : "host");
    } else {
      json_.absent("judged_by");
    }
    number("judged_before_ms", range.judged_before_ms);
    number("judged_after_ms", range.judged_after_ms);
    number("change", range.change);
    number("noise", range.noise);
    if (judged && range.lost_before + range.lost_after > 0) {
      json_.number("lost_before", range.lost_before);
      json_.number("lost_after", range.lost_after);
    }
    if (range.judged_trimmed) json_.boolean("trimmed", true);
    if (range.lost) json_.boolean("lost", true);
    json_.number("share", range.share);
    count("steps_to_decide", range.steps_to_decide);
    if (with_columns) {
      std::vector<compared_column const*> known(columns_.size());
      for (compared_column const& column : range.columns) known[places_.at(column.name)] = &column;
      for (bool const after : {false, true}) {
        json_.array(after ? "columns_after" : "columns_before");
        for (compared_column const* const column : known) {
          if (column == nullptr) {
            json_.absent({});
          } else {
            json_.number({}, after ? column->after : column->before);
          }
        }
        json_.end_array();
      }
    }
    json_.end_object();
  }

  json_writer json_;
  comparison const& c_;
  compare_options const& options_;
  std::size_t most_;
  std::vector<compared_column const*> columns_;  // each that a range has
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace detail

void write_comparison_json(detail::text_writer& out, comparison const& c,
                           compare_options const& options) {
  detail::comparison_json(out, c, options, ~std::size_t{0}, false).write();
  out.put('\n');
}

void write_comparison_html(detail::text_writer& out, comparison const& c,
                           compare_options const& options) {
  constexpr std::size_t most = 300;
  detail::write_page(
      out, strata_pages::comparison_head,
      [&](detail::text_writer& json) {
        detail::comparison_json(json, c, options, most, true).write();
      },
      strata_pages::comparison_tail);
}

STRATA_END
