// Recordings of programs that have many of one thing: script/check_limits.py reads them within
// limits of time and memory.
#include "recording/recording.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "all_reports.hpp"
#include "growing_profiles.hpp"

namespace growing_profiles_test {

namespace {

std::string recording_of(growing::dimension const& grows, std::size_t size) {
  growing::program made;
  grows.fill(made, size);
  return report_test::recording_of(made.take());
}

/// Of about so many bytes, and not of more.
std::string recording_of_bytes(growing::dimension const& grows, std::size_t bytes) {
  std::size_t size = grows.size;
  for (;;) {
    std::string const made = recording_of(grows, size);
    if (made.size() <= bytes && made.size() > bytes / 20 * 17) return made;
    size = size * (bytes / 100 * 97) / made.size();
  }
}

}  // namespace

TEST_CASE("a recording of each can be read") {
  for (growing::dimension const& grows : growing::dimensions) {
    CAPTURE(std::string(grows.name));
    strata::profile read;
    CHECK(strata::read_recording(recording_of(grows, grows.size / 8), read).message() == "");
  }
}

TEST_CASE("recordings of so many bytes are written for a script") {
  char const* const wanted = std::getenv("STRATA_TEST_GROWING");  // bytes, and names
  if (wanted == nullptr) return;
  std::istringstream words(wanted);
  std::size_t bytes = 0;
  words >> bytes;
  for (std::string name; words >> name;) {
    CAPTURE(name);
    bool is_written = false;
    for (growing::dimension const& grows : growing::dimensions)
      if (grows.name == name) {
        std::ofstream file(name + ".strata", std::ios::binary);
        is_written = static_cast<bool>(file << recording_of_bytes(grows, bytes));
      }
    CHECK(is_written);
  }
}

}  // namespace growing_profiles_test
