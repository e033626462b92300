// Every report of a profile in one text, and recordings of any bytes.
#ifndef STRATA_TESTS_UNIT_ALL_REPORTS_HPP
#define STRATA_TESTS_UNIT_ALL_REPORTS_HPP

#include <strata/recording.hpp>
#include <strata/report/findings.hpp>
#include <strata/report/html.hpp>
#include <strata/report/perfetto.hpp>
#include <strata/report/trace.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "report_sample.hpp"

namespace report_test {

inline std::string reports_of(profile const& of) {
  report_tables const tables(of);
  report_input const input = tables.input();
  std::string text;
  detail::text_writer out(text);
  write_table(out, input);
  write_ranges_csv(out, input);
  write_kernels_csv(out, input);
  write_memory_csv(out, input);
  write_spans_csv(out, input);
  for (counter_tables const& each : input.counters)
    write_counters_wide_csv(out, input, each.ranges);
  write_findings(out, input);
  write_json(out, input);
  (void)write_trace(out, input);
  (void)write_perfetto(out, input);
  write_html(out, input);
  out.flush();
  return text;
}

inline std::string with_hash(std::string bytes) {
  detail::fnv1a hash;
  hash.add(bytes);
  std::uint64_t const value = hash.value();
  char text[sizeof value];
  std::memcpy(text, &value, sizeof text);
  return bytes.append(text, sizeof text);
}

/// A recording of these bytes after the first line, with a hash that is right.
inline std::string recording_with(std::string_view content) {
  return with_hash("strata recording 1\n" + std::string(content));
}

}  // namespace report_test

#endif  // STRATA_TESTS_UNIT_ALL_REPORTS_HPP
