// Every report of a profile in one text, and recordings of any bytes.
#ifndef STRATA_TESTS_UNIT_ALL_REPORTS_HPP
#define STRATA_TESTS_UNIT_ALL_REPORTS_HPP

#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include "recording/recording.hpp"
#include "report/findings.hpp"
#include "report/fleet_metrics.hpp"
#include "report/page.hpp"
#include "report/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "report_sample.hpp"

namespace report_test {

inline constexpr std::size_t report_count = 9;

/// The report of this number; the tables of ranges, kernels and so on are one.
inline void write_report(detail::text_writer& out, report_input const& input, std::size_t number) {
  switch (number) {
    case 0:
      return write_table(out, input);
    case 1:
      write_ranges_csv(out, input);
      write_kernels_csv(out, input);
      write_memory_csv(out, input);
      return write_spans_csv(out, input);
    case 2:
      for (counter_tables const& each : input.counters)
        write_counters_wide_csv(out, input, each.ranges);
      return;
    case 3:
      return write_findings(out, input);
    case 4:
      return write_json(out, input);
    case 5:
      return (void)write_trace(out, input);
    case 6: {
      trace_options how;
      how.compressed = true;
      return (void)write_trace(out, input, how);
    }
    case 7:
      return write_openmetrics(out, input);
    case 8:
    default:
      return write_html(out, input);
  }
}

inline std::string reports_of(profile const& of) {
  report_tables const tables(of);
  std::string text;
  detail::text_writer out(text);
  for (std::size_t i = 0; i < report_count; ++i) write_report(out, tables.input(), i);
  out.flush();
  return text;
}

inline std::string report_of(profile const& of, std::size_t number) {
  report_tables const tables(of);
  std::string text;
  detail::text_writer out(text);
  write_report(out, tables.input(), number);
  out.flush();
  return text;
}

inline std::string number_bytes(std::uint64_t value) {
  char text[sizeof value];
  std::memcpy(text, &value, sizeof text);
  return std::string(text, sizeof text);
}
inline std::string hash_bytes(std::string_view content) {
  detail::fnv1a hash;
  hash.add(content);
  return number_bytes(hash.value());
}

inline std::string const recording_line = "strata recording 2\n";
/// The parts of a recording, with hashes that are right.
inline std::string profile_part(std::string const& content) {
  return "w" + content + hash_bytes(content);
}
inline std::string piece_part(std::string const& content) {
  return "p" + number_bytes(content.size()) + number_bytes(~std::uint64_t{content.size()}) +
         content + hash_bytes(content);
}
/// A recording whose report has this content.
inline std::string recording_with(std::string_view content) {
  return recording_line + profile_part(std::string(content));
}

}  // namespace report_test

#endif  // STRATA_TESTS_UNIT_ALL_REPORTS_HPP
