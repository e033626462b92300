// Any text as a profile.json: refused in a sentence, or compared with itself or a sound one.
#include <strata/tables/json.hpp>
#include "analyse/compare.hpp"
#include "report/comparison_files.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "../../tools/profile_json.hpp"
#include "../unit/report_sample.hpp"
#include "fuzz.hpp"

namespace {

std::string sound_profile() {
  report_test::report_sample const sample = report_test::gpu_sample(2, 3);
  std::string text;
  strata::detail::text_writer out(text);
  write_json(out, sample.input());
  out.flush();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static strata::run_tables const* const sound = [] {
    auto* const made = new strata::run_tables;
    fuzz::require(tools::read_profile_json(sound_profile(), *made).empty(),
                  "a profile is readable");
    return made;
  }();
  strata::run_tables read;
  std::string const text(reinterpret_cast<char const*>(data), size);
  if (!tools::read_profile_json(text, read).empty()) return 0;
  std::string written;
  strata::detail::text_writer out(written);
  std::size_t const way = fuzz::choose(data, size, 3);
  strata::run_tables const& before = way == 1 ? *sound : read;
  strata::run_tables const& after = way == 2 ? *sound : read;
  write_comparison_json(out, strata::compare(before, after), {});
  out.flush();
  return 0;
}
