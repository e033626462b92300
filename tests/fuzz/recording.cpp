// Any bytes as the content of a recording: refused, or one of the reports is made of it.
#include <strata/recording.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../unit/all_reports.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // The hash is made right, since it would refuse every change.
  std::string const bytes =
      report_test::recording_with(std::string_view(reinterpret_cast<char const*>(data), size));
  strata::profile read;
  if (!strata::read_recording(bytes, read).ok()) return 0;
  (void)report_test::report_of(read, fuzz::choose(data, size, report_test::report_count));
  return 0;
}
