#include <strata/version.hpp>
#ifndef STRATA_REPORT_RANGE_TABLE_HPP
#define STRATA_REPORT_RANGE_TABLE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/console_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// The folded tree as rows of a console table: indented, the dearest sibling first.
class range_table {
 public:
  range_table(report_input const& input, std::size_t max_rows)
      : rows_(input.folded), by_gpu_(gpu_time(input)), table_(columns(by_gpu_)) {
    if (rows_.empty()) return;
    order_rows();
    choose_rows(max_rows);
    // Not the uppermost totals: threads that inherited a place work below them at the same time.
    for (range_row const& row : rows_) host_ns_ += static_cast<double>(row.host_self_ns);
    for (std::size_t const i : order_)
      if (visible_[i]) add_range(i);
    device_work const& outside = rows_[0].self;
    if (outside.kernels + outside.copies + outside.launches > 0) add_outside();
    table_.begin_totals();
    add_total();
  }

  console_table& table() noexcept { return table_; }
  bool by_gpu() const noexcept { return by_gpu_; }
  /// Whether some rates are by GPU time and some, of ranges without any, by host time.
  bool rates_by_both() const noexcept { return rates_by_both_; }
  /// Rows beyond the limit.
  std::size_t hidden() const noexcept { return hidden_; }
  vec<range_row> const& rows() const noexcept { return rows_; }
  /// Positions of the rows in the table, in its order, without the root.
  vec<std::size_t> shown() const {
    vec<std::size_t> positions;
    for (std::size_t const i : order_)
      if (visible_[i]) positions.push_back(i);
    return positions;
  }

  /// What the row adds to the path of the row above.
  std::string label(std::size_t i) const {
    std::string const& above = rows_[rows_[i].parent].path;
    std::string const& path = rows_[i].path;
    if (above.empty()) return path;
    bool const below = path.size() > above.size() + 1 && path.compare(0, above.size(), above) == 0;
    return below ? path.substr(above.size() + 1) : rows_[i].name;
  }

 private:
  using cell = console_table::cell;

  static bool gpu_time(report_input const& input) noexcept {
    return input.source.traced && !input.folded.empty() && input.folded[0].gpu_busy_ns > 0;
  }

  static vec<console_table::column> columns(bool gpu) {
    return {{"range", 1000, 24, true},
            {"calls", 70},
            {"host total", 100},
            {"host %", gpu ? 40 : 75},
            {"", 31, 0, true, console_bar},
            {"host self", 60},
            {"median", 65},
            {"max", 28},
            {"launch", 55},
            {"GPU busy", 95},
            {"GPU %", 90},
            {"", 30, 0, true, console_bar},
            {"in graphs", 78},
            {"kernel sum", 35},
            {"kernels", 80},
            {"copied", 45},
            {"allocated", 20},
            {"peak", 25},
            {"GFLOP/s", 50},
            {"GB/s", 48},
            {"tokens/s", 46}};
  }

  std::int64_t key(std::size_t i) const noexcept {
    return by_gpu_ ? add_saturated(rows_[i].gpu_busy_ns, rows_[i].total.graph_kernel_ns)
                   : rows_[i].host_total_ns;
  }

  bool dearer(std::size_t a, std::size_t b) const noexcept {
    if (key(a) != key(b)) return key(a) > key(b);
    if (rows_[a].host_total_ns != rows_[b].host_total_ns)
      return rows_[a].host_total_ns > rows_[b].host_total_ns;
    return a < b;
  }

  /// Depth first; a row's children follow it.
  void order_rows() {
    vec<vec<std::size_t>> children(rows_.size());
    for (std::size_t i = 1; i < rows_.size(); ++i)
      children[rows_[i].parent < i ? rows_[i].parent : 0].push_back(i);
    vec<std::size_t> stack{0};
    while (!stack.empty()) {
      std::size_t const at = stack.back();
      stack.pop_back();
      if (at != 0) order_.push_back(at);
      auto& below = children[at];
      below.sort([this](std::size_t a, std::size_t b) { return dearer(b, a); });
      stack.insert(stack.end(), below.begin(), below.end());
    }
  }

  /// The dearest rows, and what is above them.
  void choose_rows(std::size_t max_rows) {
    visible_.assign(rows_.size(), true);
    if (max_rows == 0 || order_.size() <= max_rows) return;
    visible_.assign(rows_.size(), false);
    vec<std::size_t> dearest = order_;
    dearest.sort([this](std::size_t a, std::size_t b) { return dearer(a, b); });
    hidden_ = order_.size();
    for (std::size_t i = 0; i < max_rows; ++i) {
      for (std::size_t at = dearest[i]; at != 0 && !visible_[at]; at = rows_[at].parent) {
        visible_[at] = true;
        --hidden_;
      }
    }
  }

  static cell time(double ns) { return ns > 0.0 ? cell::of(human_time(ns)) : cell(); }
  static cell time(std::int64_t ns) { return time(static_cast<double>(ns)); }
  static cell count(std::uint64_t value) {
    return value > 0 ? cell::of(human_count(value)) : cell();
  }
  static cell bytes(double value) { return value > 0.0 ? cell::of(human_bytes(value)) : cell(); }
  static cell share(std::int64_t part, double whole) {
    return part > 0 ? cell{human_percent(static_cast<double>(part), whole)} : cell();
  }
  static cell bar(double part, double whole) { return {share_bar(part, whole, 10)}; }
  /// Per second, in units of `unit`; nothing where the amount was not declared.
  static cell rate(double value, double ns, double unit) {
    if (!is_finite(value) || !(ns > 0.0)) return {};
    return cell::rate(value / ns * (1e9 / unit));
  }

  double gpu_ns() const noexcept { return static_cast<double>(rows_[0].gpu_busy_ns); }

  /// The cells from `launch` to `peak`.
  void add_device(vec<cell>& cells, device_work const& work, std::int64_t busy_ns,
                  std::int64_t peak_bytes) const {
    cells.push_back(time(work.launch_ns));
    cells.push_back(time(busy_ns));
    cells.push_back(by_gpu_ ? share(busy_ns, gpu_ns()) : cell());
    cells.push_back(by_gpu_ ? bar(static_cast<double>(busy_ns), gpu_ns()) : cell());
    cells.push_back(time(work.graph_kernel_ns));
    cells.push_back(time(work.kernel_ns));
    cells.push_back(count(work.kernels));
    cells.push_back(
        bytes(static_cast<double>(work.host_to_device_bytes + work.device_to_host_bytes +
                                  work.device_to_device_bytes + work.other_bytes)));
    cells.push_back(bytes(static_cast<double>(work.allocated_bytes)));
    cells.push_back(bytes(static_cast<double>(peak_bytes)));
  }

  void add_range(std::size_t i) {
    range_row const& row = rows_[i];
    auto const host_ns = static_cast<double>(row.host_total_ns);
    auto const busy_ns = static_cast<double>(row.gpu_busy_ns);
    double const work_ns = by_gpu_ && busy_ns > 0.0 ? busy_ns : host_ns;
    vec<cell> cells;
    cells.push_back({console_text(label(i)), {}, 2 * (std::size_t{row.depth} - 1)});
    cells.push_back(count(row.host.count()));
    cells.push_back(time(row.host_total_ns));
    cells.push_back(share(row.host_total_ns, host_ns_));
    cells.push_back(by_gpu_ ? cell() : bar(host_ns, host_ns_));
    cells.push_back(time(row.host_self_ns));
    bool const repeated = row.host.count() > 1;
    cells.push_back(repeated ? time(row.host.quantile(0.5)) : cell());
    cells.push_back(repeated ? time(row.host.maximum()) : cell());
    add_device(cells, row.total, row.gpu_busy_ns, row.peak_bytes);
    if (by_gpu_ && busy_ns <= 0.0 && (is_finite(row.flops) || is_finite(row.bytes)))
      rates_by_both_ = true;
    cells.push_back(rate(row.flops, work_ns, 1e9));
    cells.push_back(rate(row.bytes, work_ns, 1e9));
    // Either the host or the device is what the tokens wait for.
    cells.push_back(rate(row.tokens, (std::max)(host_ns, busy_ns), 1.0));
    table_.add_row(std::move(cells));
  }

  /// Its busy time is known where no work overlapped at all: then it is the sum.
  void add_outside() {
    device_work const& work = rows_[0].self;
    device_work const& all = rows_[0].total;
    bool const apart = all.kernel_ns + all.copy_ns == rows_[0].gpu_busy_ns;
    std::int64_t const busy_ns = apart ? work.kernel_ns + work.copy_ns : 0;
    vec<cell> cells(8);
    cells[0].text = "(outside ranges)";
    add_device(cells, work, busy_ns, 0);
    cells.resize(21);
    table_.add_row(std::move(cells));
  }

  void add_total() {
    vec<cell> cells(8);
    cells[0].text = "total";
    cells[2] = time(host_ns_);
    add_device(cells, rows_[0].total, rows_[0].gpu_busy_ns, rows_[0].peak_bytes);
    cells.resize(21);
    table_.add_row(std::move(cells));
  }

  vec<range_row> const& rows_;
  bool by_gpu_;  ///< the time that counts is that of the device
  console_table table_;
  double host_ns_ = 0.0;  ///< in ranges of the first level, over all threads
  vec<std::size_t> order_;
  vec<bool> visible_;
  std::size_t hidden_ = 0;
  bool rates_by_both_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_RANGE_TABLE_HPP
