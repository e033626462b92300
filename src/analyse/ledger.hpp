#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_LEDGER_HPP
#define STRATA_ANALYSE_LEDGER_HPP

// Where the bytes of a step come from: what the model needs and what was counted, by range. Pure
// functions of a profile with counters; they need no implementation of their own.

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../model/llm.hpp"
#include "byte_ledger.hpp"

#include <string>
#include <string_view>

STRATA_BEGIN

/// A part of a model as a need.
byte_need need_of(std::string_view path, llm::cost const& cost, double logits = 0.0);

/// The needs of one forward pass in ranges named `embedding`, `attention`, `mlp` and `head` or
/// `lm_head`, whatever is above them; `head` and `embedding` not below `attention` or `mlp`.
vec<byte_need> needs_of(llm::model const& m, llm::pass const& p);

/// The ledger of a mean step. `rows` are folded, `counters` of the same rows or null; `l2_size` in
/// bytes, 0 where it is unknown.
byte_ledger make_ledger(vec<range_row> const& rows, steps_summary const& steps,
                        counter_table const* counters, vec<byte_need> const& needs,
                        double l2_size = 0.0);

/// The same of a profile, as `session::profile()` returns it. Ranges without a need of the model
/// have what they declare with `bytes()` or a cost.
/// Requires: `counters=hbm` at least; memory+instructions+l2_atomic_sectors for all residuals.
byte_ledger make_ledger(profile const& source, vec<byte_need> const& needs);

/// A table: a line for each range, the step last, then the verdict.
std::string ledger_text(byte_ledger const& ledger);

/// The rows as a JSON array of objects, the step last with the path "".
std::string ledger_json(byte_ledger const& ledger);

STRATA_END

#endif  // STRATA_ANALYSE_LEDGER_HPP
