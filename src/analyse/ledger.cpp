#include "ledger.hpp"

#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_sums.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/steps.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../model/llm.hpp"
#include "byte_ledger.hpp"
#include "devices.hpp"
#include "roofline.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Fills a byte_ledger.
class ledger_builder {
 public:
  ledger_builder(vec<range_row> const& rows, steps_summary const& steps,
                 counter_table const* counters, vec<byte_need> const& needs, double l2_size)
      : rows_(rows), steps_(steps), counters_(counters), needs_(needs), l2_size_(l2_size) {}

  byte_ledger build() {
    made_.step = counted_row(0);
    made_.step.path.clear();
    if (!(made_.step.hbm_bytes > 0.0)) {
      made_.verdict =
          "no bytes of device memory were counted: run with "
          "counters=memory+instructions+l2_atomic_sectors";
      return std::move(made_);
    }
    find_needs();
    for (std::size_t row = 1; row < rows_.size(); ++row)
      if (has_need(row) && !has_need_below(row)) add(row);
    add_rest();
    sum_up();
    return std::move(made_);
  }

 private:
  static constexpr double no = ledger_row::no;
  static constexpr double sector = 32.0;

  double value(std::size_t row, std::string_view key) const noexcept {
    double const all = counted_value(counters_, row, key);
    bool const sums = counters_ != nullptr && counters_->method == counting::while_running;
    return sums ? steps_.per_step(all) : all;
  }
  ledger_row counted_row(std::size_t row) const {
    ledger_row made;
    if (row < rows_.size()) {
      made.path = rows_[row].path;
      made.declared_bytes = steps_.declared_bytes(rows_[row]);
    }
    made.hbm_read_bytes = value(row, "hbm_read_bytes");
    made.hbm_write_bytes = value(row, "hbm_write_bytes");
    made.hbm_bytes = value(row, "hbm_bytes");
    if (is_nan(made.hbm_bytes)) made.hbm_bytes = made.hbm_read_bytes + made.hbm_write_bytes;
    made.l2_bytes = value(row, "l2_bytes");
    made.l1_bytes = value(row, "l1_bytes");
    return made;
  }

  // --- needs ---

  /// Whether a path, or its end from a name on, is one of the alternatives.
  static bool matches_end(std::string_view path, std::string_view alternatives) {
    std::size_t const bracket = path.back() == ']' ? path.rfind('[') : path.npos;
    while (!alternatives.empty()) {
      std::size_t const bar = std::min(alternatives.find('|'), alternatives.size());
      std::string const one(alternatives.substr(0, bar));
      for (std::string_view const text : {path, path.substr(0, bracket)})
        if (!one.empty() && (matches(text, one) || matches(text, "*/" + one))) return true;
      alternatives.remove_prefix(std::min(bar + 1, alternatives.size()));
    }
    return false;
  }
  static bool is_meant(std::string_view path, byte_need const& need) {
    if (path.empty() || !matches_end(path, need.path)) return false;
    for (std::size_t index = path.find('/', 1); index != path.npos;
         index = path.find('/', index + 1))
      if (matches_end(path.substr(0, index), need.not_below)) return false;
    return true;
  }
  /// Ranges that match one need share it by their calls.
  void find_needs() {
    by_model_.resize(rows_.size());
    is_by_model_.resize(rows_.size(), false);
    for (byte_need const& model : needs_) {
      if (model.path.empty()) {
        made_.step.need = model;
        made_.step.by_model = true;
        continue;
      }
      double calls = 0.0;
      vec<std::size_t> found;  // not those below another one, which has the need already
      for (std::size_t row = 1; row < rows_.size();) {
        std::size_t const index = row++;
        if (!is_meant(rows_[index].path, model)) continue;
        found.push_back(index);
        calls += calls_of(index);
        while (row < rows_.size() && rows_[row].depth > rows_[index].depth) ++row;
      }
      for (std::size_t const row : found) {
        if (!(calls > 0.0)) break;
        is_by_model_[row] = true;
        add_need(by_model_[row], model, calls_of(row) / calls);
      }
    }
  }
  double calls_of(std::size_t row) const noexcept {
    return static_cast<double>(rows_[row].host.count());
  }
  static void add_need(byte_need& sum, byte_need const& need, double part) noexcept {
    bool const first = !(sum.all() > 0.0);
    sum.written = (first ? 0.0 : sum.written) + part * need.written;
    sum.weights += part * need.weights;
    sum.kv += part * need.kv;
    sum.activations += part * need.activations;
    sum.logits += part * need.logits;
  }
  bool has_need(std::size_t row) const noexcept {
    return is_by_model_[row] || rows_[row].bytes > 0.0;
  }
  bool has_need_below(std::size_t row) const noexcept {
    for (std::size_t i = row + 1; i < rows_.size() && rows_[i].depth > rows_[row].depth; ++i)
      if (has_need(i)) return true;
    return false;
  }

  // --- rows ---

  void add(std::size_t row) {
    ledger_row made = counted_row(row);
    if (!(made.hbm_bytes >= 0.0)) return;
    made.by_model = is_by_model_[row];
    if (made.by_model) made.need = by_model_[row];
    made.need_bytes = made.by_model ? made.need.all() : made.declared_bytes;
    explain(made, row);
    made_.rows.push_back(made);
  }

  /// Takes up to `bytes` of the excess for a reason.
  static double take(ledger_row& row, std::string_view name, double bytes) {
    double const taken = std::min(bytes, row.unexplained_bytes);
    if (!(taken > 0.0)) return 0.0;
    row.residuals.push_back({name, taken});
    row.unexplained_bytes -= taken;
    return taken;
  }

  void explain(ledger_row& entry, std::size_t row) const {
    entry.unexplained_bytes = entry.hbm_bytes - entry.need_bytes;
    if (entry.unexplained_bytes < 0.0) return explain_less(entry, row);
    double const moving = entry.need.kv + entry.need.activations + entry.need.logits;
    double written = entry.by_model ? (is_nan(entry.need.written) ? moving : entry.need.written)
                                    : entry.need_bytes;
    double stored =
        sector * (value(row, "l2_write_sectors") + zero(value(row, "l2_atomic_sectors")));
    if (is_nan(stored)) stored = sector * value(row, "l1_global_store_sectors");
    if (!is_nan(stored)) {
      take(entry, "write-back", entry.hbm_write_bytes - stored);
      // What is written beyond the result is read again.
      double const more = std::min(entry.hbm_write_bytes, stored) - written;
      take(entry, value(row, "l2_atomic_sectors") > 0.0 ? "split-K" : "workspace", 2.0 * more);
    }
    take(entry, "uncoalesced", unused(row) * entry.hbm_read_bytes);
    // HBM read again what L2 was asked for more than once and did not keep.
    written = std::min(written, entry.hbm_write_bytes);
    double const asked = sector * value(row, "l2_read_sectors");
    if (!is_nan(asked)) take(entry, "re-reads", asked - (entry.need_bytes - written));
  }
  static double zero(double value) noexcept { return is_nan(value) ? 0.0 : value; }

  /// Less than the need: results that the next range found in L2, weights too where all of them
  /// fit. What is only declared can be either: as much as L2 holds, in each call. In no case more
  /// than L2 was asked for beyond what HBM moved.
  void explain_less(ledger_row& entry, std::size_t row) const {
    double const calls = std::max(1.0, steps_.per_step(calls_of(row), rows_[row].step_call_share));
    double most = std::min(entry.need_bytes, calls * l2_size_);
    if (entry.by_model && entry.need_bytes > l2_size_)
      most = entry.need.activations + entry.need.logits;
    double const asked = sector * (value(row, "l2_read_sectors") + value(row, "l2_write_sectors"));
    if (!is_nan(asked)) most = std::min(most, asked - entry.hbm_bytes);
    double const kept = std::min(-entry.unexplained_bytes, most);
    if (!(kept > 0.0)) return;
    entry.residuals.push_back({"kept in L2", -kept});
    entry.unexplained_bytes += kept;
  }

  /// The part of the sectors of global loads and stores that no thread asked for.
  double unused(std::size_t row) const noexcept {
    double const loads = value(row, "l1_global_load_sectors");
    double const stores = zero(value(row, "l1_global_store_sectors"));
    double const asked = value(row, "global_load_bytes") + zero(value(row, "global_store_bytes"));
    if (asked > 0.0 && loads > 0.0) return std::max(0.0, 1.0 - asked / (sector * (loads + stores)));
    // A warp that loads 16 bytes a thread, the most that there is, asks for 16 sectors.
    double const a_request = loads / value(row, "l1_global_load_requests");
    return a_request > 16.0 ? 1.0 - 16.0 / a_request : 0.0;
  }

  /// What no range with a need moved.
  void add_rest() {
    ledger_row rest;
    rest.path = "(other ranges)";
    rest.hbm_bytes = made_.step.hbm_bytes;
    rest.need_bytes = made_.step.by_model ? made_.step.need.all() : 0.0;
    for (ledger_row const& row : made_.rows) {
      rest.hbm_bytes -= row.hbm_bytes;
      rest.need_bytes -= row.need_bytes;
    }
    rest.need_bytes = std::max(0.0, rest.need_bytes);
    rest.by_model = made_.step.by_model;
    rest.unexplained_bytes = rest.hbm_bytes - rest.need_bytes;
    if (std::fabs(rest.hbm_bytes) + rest.need_bytes > 1e-6 * made_.step.hbm_bytes)
      made_.rows.push_back(rest);
  }

  void sum_up() {
    ledger_row& step = made_.step;
    step.need_bytes = 0.0;
    double open = 0.0;
    bool const given = step.by_model;
    for (ledger_row const& row : made_.rows) {
      if (row.by_model && !given) {
        add_need(step.need, row.need, 1.0);
        step.by_model = true;
      }
      step.need_bytes += row.need_bytes;
      step.unexplained_bytes += row.unexplained_bytes;
      open += std::fabs(row.unexplained_bytes);
      for (ledger_residual const& part : row.residuals) {
        std::size_t index = 0;
        while (index < step.residuals.size() && step.residuals[index].name != part.name) ++index;
        if (index == step.residuals.size()) step.residuals.push_back({part.name, 0.0});
        step.residuals[index].bytes += part.bytes;
      }
    }
    made_.unexplained_share = open / step.hbm_bytes;
    made_.closes = made_.unexplained_share <= 0.05;
    if (!(step.need_bytes > 0.0)) {
      made_.verdict =
          "no range has a need: give ranges bytes() or a cost as attribute, or needs of a model";
      return;
    }
    std::string const share = human_percent(made_.unexplained_share, 1.0);
    std::string const part =
        share.empty() ? fixed_string(made_.unexplained_share, 1) + " times the counted bytes"
                      : share + " % of the counted bytes";
    made_.verdict = made_.closes
                        ? "the sum closes: " + part + " is unexplained"
                        : "the sum does not close: " + part + " is unexplained" + most_open();
  }
  /// Where the largest part of it is.
  std::string most_open() const {
    ledger_row const* most = nullptr;
    for (ledger_row const& row : made_.rows)
      if (most == nullptr || std::fabs(row.unexplained_bytes) > std::fabs(most->unexplained_bytes))
        most = &row;
    return most == nullptr ? "" : ", most of it in " + most->path;
  }

  vec<range_row> const& rows_;
  steps_summary const& steps_;
  counter_table const* counters_;
  vec<byte_need> const& needs_;
  double l2_size_;
  vec<byte_need> by_model_;
  vec<bool> is_by_model_;
  byte_ledger made_;
};

}  // namespace detail

byte_need need_of(std::string_view path, llm::cost const& cost, double logits) {
  byte_need made;
  made.path = std::string(path);
  made.weights = cost.weight_bytes;
  made.kv = cost.kv_bytes;
  made.activations = std::max(0.0, cost.activation_bytes - logits);
  made.logits = logits;
  return made;
}

vec<byte_need> needs_of(llm::model const& m, llm::pass const& p) {
  llm::cost attention;
  llm::cost mlp;
  for (int kind = 0; kind < 4; ++kind) {
    double const count = m.kinds[kind].count;
    if (!(count > 0.0)) continue;
    attention = attention + count * llm::attention(m, p, kind);
    mlp = mlp + count * llm::mlp(m, p, kind);
  }
  llm::cost const head = llm::head(m, p);
  vec<byte_need> made;
  made.push_back(need_of("embedding", llm::embedding(m, p)));
  made.push_back(need_of("attention", attention));
  made.push_back(need_of("mlp", mlp));
  made.push_back(need_of("head|lm_head", head, head.elements * m.bits.logits / 8));
  made[0].not_below = made[3].not_below = "attention|mlp";
  return made;
}

byte_ledger make_ledger(vec<range_row> const& rows, steps_summary const& steps,
                        counter_table const* counters, vec<byte_need> const& needs,
                        double l2_size) {
  return detail::ledger_builder(rows, steps, counters, needs, l2_size).build();
}

byte_ledger make_ledger(profile const& source, vec<byte_need> const& needs) {
  call_tree const whole(source);
  call_tree const folded(source, folding::by_name);
  steps_summary const steps = make_mean_step(source, folded, whole.rows());
  counter_table const counters = make_counter_table(source, folded, source.counters(), steps);
  double l2_size = 0.0;
  for (profile_device const* device : detail::worked_devices(source))
    l2_size += static_cast<double>(device->l2_bytes);
  byte_ledger made = make_ledger(folded.rows(), steps, &counters, needs, l2_size);
  made.memory = counters.memory;
  return made;
}

std::string ledger_text(byte_ledger const& ledger) {
  std::size_t width = 14;
  for (ledger_row const& row : ledger.rows)
    width = std::max(width, detail::display_width(detail::console_text(row.path)));
  auto const cell = [](double bytes) {
    return detail::aligned(detail::is_nan(bytes) ? "-" : detail::bytes_text(bytes), 12);
  };
  auto const signed_text = [](double bytes) {
    return (bytes > 0.0 ? "+" : "") + detail::bytes_text(bytes);
  };
  std::string text = detail::aligned("range", width, true);
  text += "        need    declared" + detail::aligned(ledger.memory, 12) +
          "          L2          L1  " + std::string(ledger.memory) + " beside the need\n";
  auto const line = [&](ledger_row const& row, std::string const& name) {
    text += detail::aligned(detail::console_text(name), width, true);
    text += cell(row.need_bytes) + cell(row.declared_bytes) + cell(row.hbm_bytes) +
            cell(row.l2_bytes) + cell(row.l1_bytes) + "  ";
    std::string parts;
    for (ledger_residual const& part : row.residuals)
      parts += std::string(part.name) + ' ' + signed_text(part.bytes) + ", ";
    text += parts + "unexplained " + signed_text(row.unexplained_bytes) + "\n";
  };
  if (ledger.step.hbm_bytes > 0.0) {
    for (ledger_row const& row : ledger.rows) line(row, row.path);
    line(ledger.step, "step");
  }
  return (ledger.step.hbm_bytes > 0.0 ? text : std::string()) +
         detail::console_text(ledger.verdict) + "\n";
}

std::string ledger_json(byte_ledger const& ledger) {
  std::string text;
  detail::text_writer out(text);
  detail::json_writer json(out);
  auto const object = [&json](ledger_row const& row) {
    json.line();
    json.object();
    json.text("path", row.path);
    json.text("need", row.by_model ? "model" : "declared");
    json.number("need_bytes", row.need_bytes);
    json.number("weight_bytes", row.by_model ? row.need.weights : ledger_row::no);
    json.number("kv_bytes", row.by_model ? row.need.kv : ledger_row::no);
    json.number("activation_bytes", row.by_model ? row.need.activations : ledger_row::no);
    json.number("logit_bytes", row.by_model ? row.need.logits : ledger_row::no);
    json.number("declared_bytes", row.declared_bytes);
    json.number("hbm_read_bytes", row.hbm_read_bytes);
    json.number("hbm_write_bytes", row.hbm_write_bytes);
    json.number("hbm_bytes", row.hbm_bytes);
    json.number("l2_bytes", row.l2_bytes);
    json.number("l1_bytes", row.l1_bytes);
    json.array("residuals");
    for (ledger_residual const& part : row.residuals) {
      json.object();
      json.text("name", part.name);
      json.number("bytes", part.bytes);
      json.end_object();
    }
    json.end_array();
    json.number("unexplained_bytes", row.unexplained_bytes);
    json.end_object();
  };
  json.array();
  for (ledger_row const& row : ledger.rows) object(row);
  object(ledger.step);
  json.line();
  json.end_array();
  out.put('\n');
  out.flush();
  return text;
}

STRATA_END
