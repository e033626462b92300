#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_PLAIN_HPP
#define STRATA_REPORT_PAGE_PLAIN_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include "account_view.hpp"
#include "answer_text.hpp"
#include "next_command.hpp"
#include "report_input.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

// What report.html says where the browser runs no script.

STRATA_BEGIN
namespace detail {

/// Writes the answer, its findings and the most expensive ranges as markup without figures.
class page_plain {
 public:
  page_plain(text_writer& out, report_input const& input) : out_(out), input_(input) {}

  void write() {
    write_element("p", input_.findings.bound);
    write_element("p", step_text());
    write_element("p", account_text(input_));
    write_findings();
    write_ranges();
  }

 private:
  static constexpr std::size_t most_findings = 5;
  static constexpr std::size_t most_ranges = 40;

  /// A text in which nothing is markup; bytes that are not UTF-8 become U+FFFD.
  void write_text(std::string_view text) {
    struct escapes {
      text_writer& out;
      static bool needs(char c) noexcept { return c == '<' || c == '>' || c == '&'; }
      void write(char c) { out.write(c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;"); }
    };
    write_escaped(out_, text, escapes{out_});
  }
  void write_element(char const* name, std::string_view text) {
    if (text.empty()) return;
    out_.put('<');
    out_.write(name);
    out_.put('>');
    write_text(text);
    out_.write("</");
    out_.write(name);
    out_.put('>');
  }

  std::string step_text() const {
    step_analysis const& steps = input_.analysed;
    if (!(steps.mean_ns > 0.0)) return {};
    sentence text(steps.from_steps ? "Step: " : "Run: ");
    text << time_text(steps.usual_ns());
    if (steps.between_ns > 0.0)
      text << "; with the time until the next one " << time_text(steps.period_ns());
    if (steps.is_slowed()) text << " (recorded: " << time_text(steps.mean_ns) << ")";
    if (steps.period_busy_ns() > 0.0)
      text << "; GPU busy for " << time_text(steps.period_busy_ns()) << ", idle for "
           << time_text(steps.period_idle_ns());
    if (steps.without_first) text << "; the first step, apart: " << time_text(steps.first_ns);
    return text << ".";
  }

  void write_findings() {
    if (input_.findings.findings.empty()) return;
    out_.write("<ol>");
    for (std::size_t i = 0; i < std::min(input_.findings.findings.size(), most_findings); ++i) {
      finding_view const view = view_of(input_.findings.findings[i], input_.analysed);
      write_element("li", view.text() + " Try: " + std::string(view.found->advice) + ".");
    }
    out_.write("</ol>\n");
    write_element("p", together_text(input_.findings, input_.analysed));
    write_element("p", unknown_text(input_));
    next_command const next = make_next_command(input_);
    if (!next.tells_more || !input_.source.traced) return;
    write_element("p", "What would tell more: " + next.first);
    write_element("pre", next.text);
  }

  /// Of a mean step, the longest first: on the GPU, or on the host where no GPU worked.
  void write_ranges() {
    step_amounts const amounts(input_.folded, input_.steps);
    bool const gpu = input_.steps.gpu_busy_ns > 0.0;
    auto const cost = [&](std::size_t row) {
      return gpu ? amounts.busy_ns(row) : amounts.host_ns(row);
    };
    vec<std::size_t> order;
    for (std::size_t row = 1; row < input_.folded.size(); ++row)
      if (cost(row) > 0.0) order.push_back(row);
    if (order.empty()) return;
    order.sort([&](std::size_t a, std::size_t b) {
      return cost(a) != cost(b) ? cost(a) > cost(b) : a < b;
    });
    order.resize(std::min(order.size(), most_ranges));
    out_.write(
        "<table><tr><th>Range</th><th>GPU busy</th><th>Host total</th><th>Limiter</th></tr>\n");
    for (std::size_t const row : order) {
      out_.write("<tr>");
      range_row const& range = input_.folded[row];
      write_cell(range.thread.empty() ? range.path : range.path + " (" + range.thread + ")");
      write_cell(gpu ? time_text(amounts.busy_ns(row)) : std::string());
      write_cell(time_text(amounts.host_ns(row)));
      write_cell(limiter_text(row));
      out_.write("</tr>\n");
    }
    out_.write("</table>\n");
  }
  std::string limiter_text(std::size_t row) const {
    if (row >= input_.roofline.limits.size()) return {};
    range_limit const& limit = input_.roofline.limits[row];
    if (limit.kind != limiter::unit) return limit.text;
    return limit.beside.empty() ? limit.first_name() + " " + limit.use_text() : limit.text;
  }
  void write_cell(std::string_view text) {
    out_.write("<td>");
    write_text(text);
    out_.write("</td>");
  }

  text_writer& out_;
  report_input const& input_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_PLAIN_HPP
