#include "explanation.hpp"

#include <strata/base/json_writer.hpp>
#include <strata/options.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/table.hpp>
#include "recording/recording.hpp"
#include "report/account_view.hpp"
#include "report/answer_text.hpp"
#include "report/findings.hpp"
#include "report/next_command.hpp"
#include "report/report_input.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "markdown.hpp"

namespace tools {
namespace {

namespace inner = strata::detail;

/// One line without control characters, cut to so many columns, and to the bytes that so many
/// characters have: marks that stand over others take no column.
std::string line_of(std::string_view text, std::size_t columns = 300) {
  std::string line = inner::shortened(inner::console_text(text), columns);
  std::size_t end = 4 * columns;
  if (line.size() <= end) return line;
  while (end > 0 && (line[end] & 0xc0) == 0x80) --end;  // within a character
  line.resize(end);
  return line.append(inner::ellipsis);
}

/// Whether a text can be shown as it is: a command must not be cut or changed.
bool is_shown_whole(std::string_view text, std::size_t columns) {
  return line_of(text, columns) == text;
}

/// A file that the command line named, as a word of the next one.
std::string file_word(std::string const& file) {
  constexpr std::size_t max_columns = 400;
  std::string const word = inner::shell_word(file.compare(0, 1, "-") == 0 ? "./" + file : file);
  return is_shown_whole(word, max_columns) ? word : "FILE";
}

std::string path_of(std::string_view path) { return line_of(path, 120); }

/// Fills an explanation from the tables of a profile.
class explainer {
 public:
  explainer(strata::profile const& recorded, std::string const& file)
      : source_(recorded), file_(file), tables_(recorded), input_(std::move(tables_.input())) {
    input_.find_answer(tables_.folded());
    strata::vec<std::string> ignored;
    before_ = strata::options::parse(recorded.environment.options, ignored);
  }

  /// `most`: causes, values that prove one, ranges, problems.
  explanation make(std::size_t most) {
    made_ = {};
    most_ = most;
    strata::report_input const& input = input_;
    made_.run = line_of(inner::where_text(source_.environment));
    if (!source_.environment.started_at.empty())
      made_.run += " | " + line_of(source_.environment.started_at);
    made_.settings = line_of(source_.environment.options);
    made_.step = inner::step_text(input.steps, source_.has_steps);
    made_.device = line_of(inner::device_text(input));
    made_.step_ns = input.steps.mean_ns;
    made_.usual_step_ns = input.steps.usual_ns();
    made_.period_ns = input.steps.period_ns();
    made_.bound = line_of(input.findings.bound, 600);
    made_.account = line_of(inner::account_text(input), 600);
    made_.unknown = line_of(inner::unknown_text(input), 600);
    made_.rest_of_ranges = where("csv");
    made_.rest_of_findings = made_.rest_of_problems = where("json");
    add_causes();
    add_ranges();
    add_what_was_not_examined();
    add_problems();
    add_next();
    return std::move(made_);
  }

 private:
  /// The command that makes the file with the rest of a list; one of the run may lie elsewhere.
  std::string where(char const* format) const {
    return ": strata report " + file_word(file_) + " --formats " + format;
  }

  void add_causes() {
    strata::report_input const& input = input_;
    std::vector<strata::finding> const& all = input.findings.findings;
    for (strata::finding const& found : all) {
      if (made_.causes.size() == most_) break;
      explained_cause cause;
      cause.rule = line_of(found.rule);
      cause.path = path_of(found.path);
      inner::finding_view const view = inner::view_of(found, input.analysed);
      cause.text = line_of(view.place, 150);
      if (!cause.text.empty()) cause.text += ": ";
      cause.text += line_of(view.title, 600) + ".";
      if (!view.prediction.empty()) cause.text += " " + view.prediction;
      cause.cost_ns = found.cost_ns_per_step;
      cause.predicted_step_ns = found.predicted_step_ns;
      cause.gain_ns = view.gain_ns;
      cause.shortens_step = view.shortens_step;
      cause.advice = line_of(found.advice);
      cause.next = line_of(view.next);
      for (inner::evidence_view const& value : view.evidence)
        if (cause.evidence.size() < most_)
          cause.evidence.push_back({path_of(value.path), path_of(value.kernel),
                                    path_of(value.label), line_of(value.column), value.value,
                                    line_of(value.unit), line_of(value.text)});
      cause.evidence_left_out = found.evidence.size() - cause.evidence.size();
      made_.causes.push_back(std::move(cause));
    }
    made_.together = line_of(inner::together_text(input.findings, input.analysed), 600);
    made_.causes_left_out = all.size() - made_.causes.size();
  }

  bool has_gpu_work() const { return input_.folded[0].gpu_busy_ns != 0; }
  /// Of a step: the GPU was busy for it; host time by itself where the GPU did nothing that is
  /// known.
  double time_of(inner::step_amounts const& amounts, std::size_t row) const {
    if (!has_gpu_work()) return amounts.stepping_self_ns(row);
    return input_.steps.busy_ns(input_.folded[row]);
  }

  /// What a range's time is a share of: host times are as they were recorded.
  double whole_ns() const {
    strata::steps_summary const& steps = input_.steps;
    return has_gpu_work() ? steps.period_ns() : steps.mean_ns + steps.between_ns;
  }

  void add_ranges() {
    strata::report_input const& input = input_;
    made_.time_of_ranges = has_gpu_work() ? "GPU busy" : "host self";
    inner::step_amounts const amounts(input.folded, input.steps);
    for (std::size_t i = 1; i < input.folded.size(); ++i) {
      explained_range range;
      range.time_ns = time_of(amounts, i);
      if (!(range.time_ns > 0)) continue;
      range.path = path_of(input.folded[i].path);
      range.share = inner::share_of(range.time_ns, whole_ns());
      if (input.folded[i].is_many)
        range.limiter = "many ranges in one row";
      else if (i < input.roofline.limits.size())
        range.limiter = line_of(input.roofline.limits[i].text);
      made_.ranges.push_back(std::move(range));
    }
    std::stable_sort(made_.ranges.begin(), made_.ranges.end(),
                     [](explained_range const& one, explained_range const& other) {
                       return one.time_ns > other.time_ns;
                     });
    std::size_t const shown = (std::min)(most_, made_.ranges.size());
    made_.ranges_left_out = made_.ranges.size() - shown;
    made_.ranges.resize(shown);
  }

  void add_what_was_not_examined() {
    if (!source_.traced && before_.trace)
      made_.not_examined.push_back("the GPU: it could not be traced; the problems say why");
    if (!source_.traced && !before_.trace)
      made_.not_examined.push_back(
          "the GPU: only host times were recorded; record with STRATA=trace");
    if (!source_.has_steps)
      made_.not_examined.push_back(
          "steps: record with step=NAME, the name of a range that is called once a step; or put "
          "STRATA_STEP() at the top of the loop's body");
    if (source_.traced && !input_.steps.has_timeline)
      made_.not_examined.push_back(
          "why the GPU is idle: the timeline is not whole; raise buffers= or log=");
    std::map<std::string, std::string> rules;  // by what to do
    for (strata::undecided_rule const& rule : input_.findings.undecided) {
      std::string& list = rules[rule.how_to_decide()];
      if (!list.empty()) list += ", ";
      list += rule.rule;
    }
    for (auto const& [how, list] : rules) {
      bool const several = list.find(',') != std::string::npos;
      std::string const what = several ? " to run these checks" : " to run this check";
      made_.not_examined.push_back(line_of(list + ": " + how + what, 600));
    }
  }

  void add_problems() {
    for (std::string const& loss : inner::loss_advice(source_)) add_problem("lost: " + loss);
    for (std::string const& problem : source_.problems) add_problem(problem);
  }
  void add_problem(std::string const& text) {
    if (made_.problems.size() < most_)
      made_.problems.push_back(line_of(text, 600));
    else
      ++made_.problems_left_out;
  }

  void add_next() {
    inner::next_command const next = inner::make_next_command(input_);
    made_.next.push_back(next.text);
    made_.next.push_back("strata report " + file_word(file_) + " --formats html");
    made_.next_first = next.first;
    if (!next.is_whole)
      made_.next_note += "PROGRAM and VALUE stand for what is too long, or cannot be shown. ";
    made_.next_note +=
        "The program, its arguments and the keys are those that the recording names: read the "
        "command before you run it, unless the recording is your own.";
  }

  strata::profile const& source_;
  std::string const& file_;
  std::size_t most_ = 0;
  strata::profile_tables tables_;
  strata::report_input input_;
  strata::options before_;  // of the recorded run
  explanation made_;
};

/// Empty where it is not known.
std::string percent_text(double share) {
  return inner::is_nan(share) ? std::string() : inner::fixed_string(100 * share, 1) + " %";
}

/// `label` stands before the first line; the others are indented as far.
void add_lines(std::string& text, std::string const& label, std::vector<std::string> const& lines) {
  std::string start = label;
  start.resize(14, ' ');
  for (std::string const& line : lines) {
    text += start + line + "\n";
    start.assign(14, ' ');
  }
}

void write_causes(inner::json_writer& json, explanation const& all) {
  json.array("findings");
  for (explained_cause const& cause : all.causes) {
    json.line();
    json.object();
    json.text("rule", cause.rule);
    json.text("path", cause.path);
    json.text("text", cause.text);
    json.number("cost_ns_per_step", cause.cost_ns);
    json.number("predicted_step_ns", cause.predicted_step_ns);
    json.number("gain_ns_per_step", cause.gain_ns);
    json.boolean("shortens_step", cause.shortens_step);
    json.text("advice", cause.advice);
    json.text("next", cause.next);
    json.array("evidence");
    for (explained_evidence const& value : cause.evidence) {
      json.object();
      json.text("path", value.path);
      if (!value.kernel.empty()) json.text("kernel", value.kernel);
      json.text("column", value.column);
      json.number("value", value.value);
      json.text("unit", value.unit);
      json.text("text", value.text);
      json.end_object();
    }
    json.end_array();
    json.integer("evidence_left_out", cause.evidence_left_out);
    json.end_object();
  }
  json.end_array();
  json.integer("findings_left_out", all.causes_left_out);
  json.text("together", all.together);
}

void write_ranges(inner::json_writer& json, explanation const& all) {
  json.line();
  json.array("ranges");
  for (explained_range const& range : all.ranges) {
    json.line();
    json.object();
    json.text("path", range.path);
    json.number("time_ns", range.time_ns);
    json.number("share", range.share);
    json.text("limiter", range.limiter);
    json.end_object();
  }
  json.end_array();
  json.integer("ranges_left_out", all.ranges_left_out);
}

void write_list(inner::json_writer& json, char const* key, std::vector<std::string> const& texts) {
  json.line();
  json.array(key);
  for (std::string const& text : texts) json.text({}, text);
  json.end_array();
}

std::vector<std::string> problems_of(explanation const& all) {
  std::vector<std::string> lines = all.problems;
  if (all.problems_left_out > 0)
    lines.push_back(std::to_string(all.problems_left_out) + " more" + all.rest_of_problems);
  return lines;
}

std::string text_of(explanation const& all) {
  std::string text;
  add_lines(text, "run", {all.run});
  if (!all.settings.empty()) add_lines(text, "settings", {all.settings});
  add_lines(text, "measured", {all.step, all.device});
  if (!all.bound.empty()) add_lines(text, "answer", {all.bound});
  if (!all.account.empty()) add_lines(text, "account", {all.account});
  for (std::size_t i = 0; i < all.causes.size(); ++i) {
    explained_cause const& cause = all.causes[i];
    text += "\n";
    add_lines(text, "finding " + std::to_string(i + 1), {cause.rule + ": " + cause.text});
    std::vector<std::string> proofs;
    for (explained_evidence const& value : cause.evidence)
      proofs.push_back(value.label + ": " + value.text);
    if (cause.evidence_left_out > 0)
      proofs.push_back(std::to_string(cause.evidence_left_out) + " more" + all.rest_of_findings);
    add_lines(text, "  evidence", proofs);
    add_lines(text, "  try", {cause.advice});
    if (!cause.next.empty()) add_lines(text, "  next", {cause.next});
  }
  if (all.causes.empty()) text += "\nfindings      none\n";
  if (!all.together.empty()) text += "\ntogether      " + all.together + "\n";
  if (!all.unknown.empty()) text += "\nunknown       " + all.unknown + "\n";
  if (all.causes_left_out > 0)
    text += "\n" + std::to_string(all.causes_left_out) +
            (all.causes_left_out == 1 ? " more finding" : " more findings") + all.rest_of_findings +
            "\n";
  std::vector<std::string> rows;
  for (explained_range const& range : all.ranges) {
    std::string row =
        range.path + ": " + all.time_of_ranges + " " + inner::time_text(range.time_ns);
    for (std::string const& part : {percent_text(range.share), range.limiter})
      if (!part.empty()) row += ", " + part;
    rows.push_back(row);
  }
  if (all.ranges_left_out > 0)
    rows.push_back(std::to_string(all.ranges_left_out) + " more" + all.rest_of_ranges);
  text += "\n";
  add_lines(text, "ranges", rows);
  add_lines(text, "not examined", all.not_examined);
  add_lines(text, "problems", problems_of(all));
  std::vector<std::string> next = all.next;
  if (!all.next_first.empty()) next.insert(next.begin(), all.next_first);
  add_lines(text, "next", next);
  add_lines(text, "", {all.next_note});
  return text;
}

std::string markdown_of(explanation const& all) {
  std::string text = "# " + plain_markdown(all.bound) + "\n\n" + plain_markdown(all.run) + "\n\n" +
                     plain_markdown(all.step) + "; " + plain_markdown(all.device) + "\n";
  if (!all.account.empty()) text += "\n" + plain_markdown(all.account) + "\n";
  text += "\n## Findings\n\n";
  for (explained_cause const& cause : all.causes) {
    text += "1. **" + plain_markdown(cause.rule) + "**: " + plain_markdown(cause.text) +
            "\n   Try: " + plain_markdown(cause.advice) + "\n";
    for (explained_evidence const& value : cause.evidence)
      text += "   - " + code_markdown(value.label) + ": " + plain_markdown(value.text) + "\n";
    if (cause.evidence_left_out > 0)
      text += "   - " + std::to_string(cause.evidence_left_out) + " more" +
              plain_markdown(all.rest_of_findings) + "\n";
  }
  if (all.causes.empty()) text += "None.\n";
  if (!all.together.empty()) text += "\n" + plain_markdown(all.together) + "\n";
  if (!all.unknown.empty()) text += "\nUnknown: " + plain_markdown(all.unknown) + "\n";
  if (all.causes_left_out > 0)
    text += "\n" + std::to_string(all.causes_left_out) + " more" +
            plain_markdown(all.rest_of_findings) + "\n";
  text += "\n## Ranges\n\n| range | " + all.time_of_ranges +
          " | of the step | limiter |\n|---|--:|--:|---|\n";
  for (explained_range const& range : all.ranges)
    text += "| " + code_markdown(range.path) + " | " + inner::time_text(range.time_ns) + " | " +
            percent_text(range.share) + " | " + plain_markdown(range.limiter) + " |\n";
  if (all.ranges_left_out > 0)
    text += "\n" + std::to_string(all.ranges_left_out) + " more" +
            plain_markdown(all.rest_of_ranges) + "\n";
  auto const list = [&text](char const* title, std::vector<std::string> const& lines, char mark) {
    if (lines.empty()) return;
    text += std::string("\n## ") + title + "\n\n";
    for (std::string const& line : lines)
      text += mark == '`' ? "    " + line + "\n" : "- " + plain_markdown(line) + "\n";
  };
  list("Not examined", all.not_examined, '-');
  list("Problems", problems_of(all), '-');
  list("Next", all.next, '`');
  std::string const first = all.next_first.empty() ? "" : all.next_first + " ";
  text += "\n" + plain_markdown(first + all.next_note) + "\n";
  return text;
}

std::string json_of(explanation const& all) {
  std::string text;
  {
    inner::text_writer out(text);
    inner::json_writer json(out);
    json.object();
    json.line();
    inner::write_schema(json, "strata.explanation", explanation_schema_version);
    json.line();
    json.text("run", all.run);
    json.text("settings", all.settings);
    json.line();
    json.text("step", all.step);
    json.text("device", all.device);
    json.number("step_ns", all.step_ns);
    json.number("usual_step_ns", all.usual_step_ns);
    json.line();
    json.number("period_ns", all.period_ns);
    json.text("bound", all.bound);
    json.text("account", all.account);
    json.text("unknown", all.unknown);
    json.line();
    write_causes(json, all);
    write_ranges(json, all);
    write_list(json, "not_examined", all.not_examined);
    write_list(json, "problems", all.problems);
    json.integer("problems_left_out", all.problems_left_out);
    write_list(json, "next", all.next);
    json.text("next_first", all.next_first);
    json.text("next_note", all.next_note);
    json.line();
    json.end_object();
    out.put('\n');
  }
  return text;
}

}  // namespace

std::string bounded_explanation(strata::profile const& recorded, std::string const& file,
                                std::string const& format) {
  constexpr std::size_t usual = 8;
  explainer answer(recorded, file);
  for (std::size_t most = usual;; most /= 2) {
    explanation const all = answer.make(most);
    std::string const text = format == "json"       ? json_of(all)
                             : format == "markdown" ? markdown_of(all)
                                                    : text_of(all);
    if (text.size() <= max_explained_bytes || most == 0) return text;
  }
}

}  // namespace tools
