#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_SHELL_HPP
#define STRATA_REPORT_PAGE_SHELL_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>

#include <cstddef>
#include <string>
#include <string_view>

// How much a page has, and what stands around its data. Its markup, style and script are the files
// of page/ (page_files.hpp).

STRATA_BEGIN

/// How much of a run report.html shows, which keeps it below 2 MB; it says what it leaves out.
struct page_limits {
  std::size_t ranges = 1200;           ///< of each of the two tables, the most expensive
  std::size_t counter_values = 20000;  ///< of each of the two tables
  std::size_t kernels = 800;           ///< rows, the longest
  std::size_t points = 1200;           ///< of the roofline
  std::size_t findings = 100;          ///< the most expensive
  std::size_t first_slices = 110000;   ///< of the timeline that is shown first
  std::size_t slices = 16000;          ///< of those of other steps together
  std::size_t tracks = 32;             ///< of that timeline
  std::size_t name = 96;               ///< columns of a name; its middle is left out
  std::size_t kernel_name = 80;        ///< the same of a kernel in the table, and of it below
  std::size_t whole_name = 200;
};

namespace detail {

/// A text of JSON within HTML: nothing in it ends the script element.
inline void write_in_script(text_writer& out, std::string_view json) {
  while (!json.empty()) {
    std::size_t const bracket = json.find('<');
    out.write(json.substr(0, bracket));
    if (bracket == json.npos) return;
    out.write("\\u003c");
    json.remove_prefix(bracket + 1);
  }
}

/// Writes parts of a page.
template <std::size_t Many>
void write_parts(text_writer& out, std::string_view const (&parts)[Many]) {
  for (std::string_view const part : parts) out.write(part);
}

/// A page: what stands before its data, the data, which `write_data` writes as JSON, and the rest.
template <class Write, std::size_t Before, std::size_t Behind>
void write_page(text_writer& out, std::string_view const (&head)[Before], Write const& write_data,
                std::string_view const (&tail)[Behind]) {
  std::string data;
  {
    text_writer json(data);
    write_data(json);
  }
  write_parts(out, head);
  write_in_script(out, data);
  write_parts(out, tail);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_SHELL_HPP
