// Any text as the value of STRATA, as a list of accepted regressions, and as a formula's metric.
#include <strata/options.hpp>
#include "analyse/compare.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  strata::vec<std::string> problems;
  strata::options const made = strata::options::parse(text, problems);
  fuzz::require(made.text == text, "the text is kept as it was given");
  for (std::string const& problem : problems) {
    fuzz::require(!problem.empty(), "a mistake is a sentence");
    for (char const c : problem)
      fuzz::require(c == '\t' || static_cast<unsigned char>(c) >= ' ', "no control characters",
                    problem);
  }
  std::vector<strata::accepted_regression> accepted;
  (void)strata::read_accepted(text, accepted);
  return 0;
}
