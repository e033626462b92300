// The answer of a profile in few words: what `strata explain` prints.
#ifndef STRATA_TOOLS_EXPLANATION_HPP
#define STRATA_TOOLS_EXPLANATION_HPP

#include <strata/profile.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tools {

/// The most bytes of an explanation: what people and language models read at once.
inline constexpr std::size_t max_explained_bytes = 20'000;
/// Of the JSON: members may be added within a version; a change of meaning makes a new one.
inline constexpr int explanation_schema_version = 1;

/// A value that proves a cause.
struct explained_evidence {
  std::string path;
  std::string kernel;  ///< the kernel it concerns; "": the whole range
  std::string label;   ///< "mlp (gelu)": the path or what an empty one means, and the kernel
  std::string column;
  double value = 0;
  std::string unit;
  std::string text;  ///< "GPU idle 9.34 ms"
};

/// A finding.
struct explained_cause {
  std::string rule;
  std::string path;
  std::string text;              ///< what is wrong, and what the step becomes without it
  double cost_ns = 0;            ///< of a step: the most that could be gained
  double predicted_step_ns = 0;  ///< NaN where that is unknown
  double gain_ns = 0;            ///< of a step: by the prediction, else the cost
  bool shortens_step = false;    ///< by a hundredth or more
  std::vector<explained_evidence> evidence;
  std::size_t evidence_left_out = 0;
  std::string advice;
  std::string next;  ///< what to record to learn more; empty where nothing would tell
};

/// A range with a large part of the step.
struct explained_range {
  std::string path;
  double time_ns = 0;  ///< of a step: the GPU was busy for it; its own host time if none was traced
  double share = 0;    ///< of the step, a fraction; NaN where its work continues during other steps
  std::string limiter;
};

/// What is said of a run.
struct explanation {
  std::string run;       ///< program, host, devices
  std::string settings;  ///< of STRATA
  std::string step;      ///< how long it takes
  std::string device;    ///< what the GPU did in it
  double step_ns = 0;
  double usual_step_ns = 0;  ///< without recording, from which gains go
  double period_ns = 0;      ///< from the begin of a step to that of the next: the whole of shares
  std::string bound;         ///< what bounds the step
  std::string account;       ///< what all of the period goes to
  std::string unknown;       ///< what is not known most of all; may be empty
  std::vector<explained_cause> causes;
  std::string together;  ///< the step without the first causes at once; may be empty
  std::size_t causes_left_out = 0;
  std::string rest_of_findings;  ///< where it is, behind "8 more"
  std::string time_of_ranges;    ///< which time of a range it is, in words
  std::vector<explained_range> ranges;
  std::size_t ranges_left_out = 0;
  std::string rest_of_ranges;
  std::vector<std::string> not_examined;
  std::vector<std::string> problems;  ///< what was lost or could not be measured
  std::size_t problems_left_out = 0;
  std::string rest_of_problems;
  std::string next_first;         ///< what to do before the first command; mostly empty
  std::vector<std::string> next;  ///< commands
  std::string next_note;          ///< whose words they are
};

/// As text, markdown or json, with as much of each list as fits in `max_explained_bytes`.
std::string bounded_explanation(strata::profile const& recorded, std::string const& file,
                                std::string const& format);

}  // namespace tools

#endif  // STRATA_TOOLS_EXPLANATION_HPP
