#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_LABELS_HPP
#define STRATA_REPORT_TRACE_LABELS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/escape.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The parts of a trace that repeat, already written as JSON: names of ranges and kernels.
class trace_labels {
 public:
  trace_labels(report_input const& input, bool mangled) {
    label_ranges(input);
    label_kernels(input, mangled);
  }

  /// Whether the calls of a node are a row of the tree, not a part of one above.
  bool has_own_row(std::uint32_t node) const noexcept {
    return node < nodes_.size() && nodes_[node].own;
  }
  /// `{"name":"block[3]","cat":"range","args":{"path":"model/block[3]","index":3`
  std::string const& range(std::uint32_t node) const noexcept { return ranges_[row_of(node)]; }
  /// `"range":"model/block[3]"`; empty outside ranges.
  std::string const& range_argument(std::uint32_t node) const noexcept {
    return arguments_[row_of(node)];
  }
  /// `{"name":"sgemm","cat":"kernel","args":{"kernel":"void sgemm<float>(...)",` and the mangled
  /// name if asked for.
  std::string const& kernel(std::uint32_t name) const noexcept {
    return kernels_[name < kernels_.size() ? name : 0];
  }

 private:
  struct place {
    std::uint32_t row;
    bool own;
  };

  std::size_t row_of(std::uint32_t node) const noexcept {
    return node < nodes_.size() ? nodes_[node].row : 0;
  }

  void label_ranges(report_input const& input) {
    // Position 0 stands for what has no row.
    ranges_.resize(input.ranges.size() + 1);
    arguments_.resize(input.ranges.size() + 1);
    nodes_.resize(input.source.nodes.size());
    for (std::size_t i = 0; i < input.ranges.size(); ++i) {
      range_row const& row = input.ranges[i];
      if (row.node < nodes_.size()) nodes_[row.node] = {static_cast<std::uint32_t>(i + 1), true};
      std::string name = row.name;
      if (row.index == any_index) name += "[*]";
      if (row.index != no_index && row.index != any_index)
        name.append("[").append(std::to_string(row.index)).append("]");
      text_writer out(ranges_[i + 1]);
      out.write("{\"name\":");
      write_json_string(out, name);
      out.write(",\"cat\":\"range\",\"args\":{\"path\":");
      write_json_string(out, row.path);
      if (row.index != no_index && row.index != any_index) {
        out.write(",\"index\":");
        out.integer(row.index);
      }
      if (row.path.empty()) continue;
      text_writer argument(arguments_[i + 1]);
      argument.write("\"range\":");
      write_json_string(argument, row.path);
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      std::uint32_t const parent = input.source.nodes[i].parent;
      if (!nodes_[i].own && parent < i) nodes_[i].row = nodes_[parent].row;
    }
  }

  void label_kernels(report_input const& input, bool mangled) {
    std::size_t const count = input.source.kernel_names.size();
    vec<kernel_row const*> rows(count + 1);
    for (kernel_row const& row : input.kernels)
      if (row.name <= count) rows[row.name] = &row;
    kernels_.resize(count + 1);
    for (std::size_t i = 0; i <= count; ++i) {
      std::string const none = "kernel without a name";
      std::string const& written = i == 0 ? none : input.source.kernel_names[i - 1].mangled;
      std::string_view const name = rows[i] != nullptr && i > 0 ? rows[i]->short_name : written;
      text_writer out(kernels_[i]);
      out.write("{\"name\":");
      write_json_string(out, name.empty() ? std::string_view(none) : name);
      out.write(",\"cat\":\"kernel\",\"args\":{");
      if (rows[i] != nullptr && i > 0 && rows[i]->demangled != rows[i]->short_name) {
        // Each event repeats it; profile.json has all of it.
        out.write("\"kernel\":");
        write_json_string(out, shortened(rows[i]->demangled, 200));
        out.put(',');
      }
      if (mangled) {
        out.write("\"mangled\":");
        write_json_string(out, written);
        out.put(',');
      }
    }
  }

  vec<place> nodes_;
  vec<std::string> ranges_;
  vec<std::string> arguments_;
  vec<std::string> kernels_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TRACE_LABELS_HPP
