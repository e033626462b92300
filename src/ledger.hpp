#include <strata/version.hpp>
#ifndef STRATA_LEDGER_HPP
#define STRATA_LEDGER_HPP

// Where the bytes of a step come from: what the model needs beside what was counted, by range. Pure
// functions of a profile with counters; they need no implementation of their own.

#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/llm.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/devices.hpp>
#include <strata/tables/steps.hpp>
#include "analyse/byte_ledger.hpp"

#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN

/// A part of a model as a need.
inline byte_need need_of(std::string_view path, llm::cost const& cost, double logits = 0.0) {
  byte_need made;
  made.path = std::string(path);
  made.weights = cost.weight_bytes;
  made.kv = cost.kv_bytes;
  made.activations = detail::larger(0.0, cost.activation_bytes - logits);
  made.logits = logits;
  return made;
}

/// The needs of one forward pass in ranges named `embedding`, `attention`, `mlp` and `head` or
/// `lm_head`, whatever is above them; `head` and `embedding` not below `attention` or `mlp`.
inline vec<byte_need> needs_of(llm::model const& m, llm::pass const& p) {
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

/// The ledger of a mean step. `rows` are folded, `counters` of the same rows or null; `l2_size` in
/// bytes, 0 where it is unknown.
inline byte_ledger make_ledger(vec<range_row> const& rows, steps_summary const& steps,
                               counter_table const* counters, vec<byte_need> const& needs,
                               double l2_size = 0.0) {
  return detail::ledger_builder(rows, steps, counters, needs, l2_size).build();
}

/// The same of a profile, as `session::profile()` returns it. Ranges without a need of the model
/// have what they declare with `bytes()` or a cost.
/// Requires: `counters=hbm` at least; memory+instructions+l2_atomic_sectors for all residuals.
inline byte_ledger make_ledger(profile const& source, vec<byte_need> const& needs) {
  call_tree const whole(source);
  call_tree const folded(source, folding::by_name);
  steps_summary const steps = make_steps(source, folded, whole.rows());
  counter_table const counters = make_counter_table(source, folded, counter_set::gpu, steps);
  double l2_size = 0.0;
  for (profile_device const* device : detail::worked_devices(source))
    l2_size += static_cast<double>(device->l2_bytes);
  return make_ledger(folded.rows(), steps, &counters, needs, l2_size);
}

/// A table: a line for each range, the step last, then the verdict.
inline std::string ledger_text(byte_ledger const& ledger) {
  std::size_t width = 14;
  for (ledger_row const& row : ledger.rows)
    width = detail::larger(width, detail::display_width(detail::console_text(row.path)));
  auto const cell = [](double bytes) {
    return detail::aligned(detail::is_nan(bytes) ? "-" : detail::bytes_text(bytes), 12);
  };
  auto const signed_text = [](double bytes) {
    return (bytes > 0.0 ? "+" : "") + detail::bytes_text(bytes);
  };
  std::string text = detail::aligned("range", width, true);
  text += "        need    declared         HBM          L2          L1  HBM beside the need\n";
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

/// The rows as a JSON array of objects, the step last with the path "".
inline std::string ledger_json(byte_ledger const& ledger) {
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

#endif  // STRATA_LEDGER_HPP
