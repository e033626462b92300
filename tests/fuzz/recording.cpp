// Any bytes as the content of a recording's report, of two of its pieces, or of a piece and a
// report: refused, or one of the reports is made of it.

#include "recording/recording.hpp"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../unit/all_reports.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // The hash is made right, since it would refuse every change.
  std::string const content(reinterpret_cast<char const*>(data), size);
  std::string bytes = report_test::recording_with(content);
  std::size_t const shape = size % 4;
  if (shape == 1)
    bytes = report_test::recording_line + report_test::piece_part(content) +
            report_test::piece_part(content);
  if (shape == 2)
    bytes = report_test::recording_line + report_test::piece_part(content) +
            report_test::profile_part(content);
  strata::profile read;
  auto const wanted =
      shape == 2 ? strata::recording_view::timeline : strata::recording_view::report;
  if (!strata::read_recording(bytes, read, wanted).ok()) return 0;
  (void)report_test::report_of(read, fuzz::choose(data, size, report_test::report_count));
  return 0;
}
