// Any names of ranges, kernels, threads, notes and problems, through one of the writers: what is
// read back is well-formed, and nothing of a name becomes markup, a control sequence or a further
// row.
#include "recording/recording.hpp"
#include "report/page.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../unit/all_reports.hpp"
#include "../unit/sample_profile.hpp"
#include "fuzz.hpp"
#include "outputs.hpp"

namespace {

strata::profile named(fuzz::input& names) {
  sample::maker made;
  made.made.traced = true;
  for (std::uint32_t call = 0; call < 3; ++call) {
    std::uint32_t const outer = made.node(strata::root_node, names.line());
    std::uint32_t const inner = made.node(outer, names.line());
    std::int64_t const begin = call * 1000;
    made.call(outer, begin, begin + 900);
    strata::range_record& range = made.call(inner, begin + 100, begin + 800);
    made.describe(range).note = made.name(names.line());
    std::uint32_t const id = made.launch(inner, begin + 200, begin + 210);
    made.made.kernel_names.push_back({names.line()});
    strata::kernel_record kernel{};
    kernel.begin = begin + 300;
    kernel.end = begin + 700;
    kernel.correlation = id;
    kernel.node = inner;
    kernel.name = call;
    made.made.kernels.push_back(kernel);
  }
  made.made.threads.push_back({1, 1, names.line()});
  made.made.problems.push_back(names.line());
  made.made.environment.options = names.line();
  made.made.end = 4000;
  made.made.device = strata::detail::sum_records(made.made);
  return made.made;
}

using fuzz::check_console;
using fuzz::check_csv;
using fuzz::check_json;
using fuzz::count_of;
using fuzz::text_of;

std::size_t scripts_of(strata::report_input const& input) {
  return count_of(text_of([&](auto& out) { write_html(out, input); }), "</script");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static std::size_t const scripts = [] {
    fuzz::input none(nullptr, 0);
    return scripts_of(report_test::report_tables(named(none)).input());
  }();
  fuzz::input names(data, size);
  report_test::report_tables const tables(named(names));
  strata::report_input const input = tables.input();
  switch (fuzz::choose(data, size, 6)) {
    case 0:
      check_json(text_of([&](auto& out) { write_json(out, input); }), "profile.json is JSON");
      break;
    case 1:
      check_json(text_of([&](auto& out) { (void)write_trace(out, input); }), "trace.json is JSON");
      break;
    case 2:
      check_csv(text_of([&](auto& out) { write_ranges_csv(out, input); }));
      check_csv(text_of([&](auto& out) { write_kernels_csv(out, input); }));
      check_csv(text_of([&](auto& out) { write_spans_csv(out, input); }));
      break;
    case 3:
      check_console(text_of([&](auto& out) { write_table(out, input); }));
      break;
    case 4:
      (void)text_of([&](auto& out) {
        strata::trace_options how;
        how.compressed = true;
        (void)write_trace(out, input, how);
      });
      break;
    default:
      fuzz::require(scripts_of(input) == scripts, "no name ends the page's script");
  }
  return 0;
}
