#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RUN_ANSWER_HPP
#define STRATA_ANALYSE_RUN_ANSWER_HPP

#include <strata/base/macros.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/table_input.hpp>
#include "account.hpp"
#include "findings.hpp"
#include "roofline.hpp"
#include "steps.hpp"

STRATA_BEGIN

/// What limits a run, what is wrong in it, and what its period goes to.
struct run_answer {
  roofline_table roofline;
  findings_table findings;
  period_account account;
};

/// `predicts`: with the step without each finding, by which these are ranked then.
/// Requires: the counters of the tables; `folded_tree` and `steps` are theirs.
/// Cost: that of make_findings, of make_account, and of predict_steps where it predicts.
run_answer make_run_answer(table_input const& tables, call_tree const& folded_tree,
                           step_analysis const& steps, bool predicts);

STRATA_END

#endif  // STRATA_ANALYSE_RUN_ANSWER_HPP
