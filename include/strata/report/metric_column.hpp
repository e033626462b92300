#include <strata/version.hpp>
#ifndef STRATA_REPORT_METRIC_COLUMN_HPP
#define STRATA_REPORT_METRIC_COLUMN_HPP

#include <strata/analyse/counter_metric.hpp>
#include <strata/analyse/kernel_counter_table.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/base/macros.hpp>
#include <strata/profile/formula.hpp>
#include <strata/report/report_input.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

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
      for (char const c : part)
        words += c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return words;
}

/// The name of a metric with its unit, of which nothing is said that the name says:
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
  return said ? metric.key : metric.key + '_' + unit;
}

/// What was counted of a kernel; nothing where no kernels were counted.
template <class Cells>
inline void kernel_counter_columns(Cells& cells, report_input const& input, kernel_row const& row) {
  if (input.kernel_counters == nullptr) return;
  kernel_counter_table const& table = *input.kernel_counters;
  // A header asks for a row that is none.
  auto const offset = reinterpret_cast<std::uintptr_t>(&row) -
                      reinterpret_cast<std::uintptr_t>(input.kernels.data());
  std::size_t const at = offset / sizeof(kernel_row);
  bool const known = at < input.kernels.size();
  cells.integer("counted_launches", known ? table.launches[at] : 0);
  for (std::size_t i = 0; i < table.metrics.size(); ++i)
    cells.number(metric_column(table.metrics[i]), known ? table.at(at, i) : 0.0);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_METRIC_COLUMN_HPP
