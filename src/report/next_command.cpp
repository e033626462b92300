#include "next_command.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/options.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/table.hpp>
#include "../analyse/account.hpp"
#include "../analyse/findings.hpp"
#include "answer_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

/// One line without control characters, cut to so many columns.
std::string shown_line(std::string_view text, std::size_t columns = 300) {
  return shortened(console_text(text), columns);
}

constexpr std::string_view unknown_program = "PROGRAM";

/// The recorded command, if `shell_word` made it: nothing in a recording is run by a shell.
/// `unknown_program` where it is no plain list of words, or has what cannot be shown as it is.
std::string program_words(std::string_view command) {
  constexpr std::size_t max_columns = 1000;
  std::string all;
  for (std::string_view rest = command; !rest.empty();)
    all += (all.empty() ? "" : " ") + shell_word(take_word(rest));
  bool const has_program = !all.empty() && all.compare(0, 2, "''") != 0;
  bool const is_plain = all == command && shown_line(all, max_columns) == all;
  return has_program && is_plain ? all : std::string(unknown_program);
}

/// The fewest steps that a request of `counters=` takes after the timed ones.
/// Source: docs/reference/configuration.md, GH100, and a step in which it is tried.
std::uint64_t fewest_counting_steps(std::string_view request) {
  struct entry {
    std::string_view preset;
    std::uint64_t steps;
  };
  constexpr entry known[] = {{"findings", 10}, {"stalls", 7}, {"memory", 2}, {"hbm", 1}};
  std::uint64_t sum = 0;
  for (entry const& each : known)
    if (request.find(each.preset) != request.npos) sum += each.steps;
  return std::max<std::uint64_t>(1, sum);
}

/// A command whose option for the number of steps is raised.
struct raised_steps {
  std::string command;
  std::string option;  ///< "--steps 13"; empty where the command has none
};

/// Raises a number that is all of a text. Returns: whether it is one.
bool raise_number(std::string& text, std::uint64_t more) {
  std::uint64_t number = 0;
  char const* const end = text.data() + text.size();
  auto const [last, failed] = std::from_chars(text.data(), end, number);
  if (text.empty() || last != end || failed != std::errc()) return false;
  text = std::to_string(number + more);
  return true;
}

/// Raises "--steps 4" or "--steps=4". Other names say less surely what they count.
raised_steps with_more_steps(std::string_view command, std::uint64_t more) {
  constexpr std::string_view names[] = {"--steps", "--max-steps", "--num-steps", "--iterations",
                                        "--iters"};
  raised_steps made;
  std::string name;  // of an option whose value is the next word
  for (std::string_view rest = command; !rest.empty();) {
    std::string word = take_word(rest);
    std::string const option = std::exchange(name, word.substr(0, word.find('=')));
    std::string value = word.substr(std::min(name.size() + 1, word.size()));
    auto const is_known = [&](std::string const& text) {
      return made.option.empty() &&
             std::find(std::begin(names), std::end(names), text) != std::end(names);
    };
    if (is_known(option) && raise_number(word, more))
      made.option = option + " " + word;
    else if (is_known(name) && raise_number(value, more))
      made.option = word = name + "=" + value;
    made.command += (made.command.empty() ? "" : " ") + shell_word(word);
  }
  return made;
}

class command_maker {
 public:
  explicit command_maker(report_input const& input) : in_(input) {
    vec<std::string> ignored;
    before_ = options::parse(in_.source.environment.options, ignored);
  }

  next_command make() {
    find_what_tells();
    std::string program = program_words(in_.source.environment.command);
    std::string const step = step_words();
    std::string const memory = memory_words();
    next_command made;
    made.is_whole = program != unknown_program;
    made.tells_more = tells_ || !memory.empty() || step != before_.step || is_host_alone();
    if (!made.tells_more && !kernel_.empty()) {
      made.tells_more = true;
      made.text = "ncu --set full --kernel-name " + shell_word(shown_line(kernel_)) + " " + program;
      return made;
    }
    fit_steps(step, program);
    made.first = first_;
    // strata run is for programs with and without Strata in them.
    made.text = environment_;
    made.text += made.tells_more ? "strata run --out next" : "strata run --out after-the-change";
    if (!before_.library.empty())
      made.text += " --library " + shell_word(shown_line(before_.library));
    if (waits_for_attach()) made.text += " --idle";
    if (!step.empty()) made.text += " --steps " + shell_word(shown_line(step));
    if (is_short_) made.text += " warmup=1 active=1";
    for (std::string const& key : keys_of_run(!keys_.empty(), memory)) {
      bool const is_shown = shown_line(key) == key;
      made.is_whole = made.is_whole && is_shown;
      made.text +=
          " " + (is_shown ? shell_word(key) : key.substr(0, key.find_first_of("=:")) + "=VALUE");
    }
    made.text += memory + keys_ + " -- " + program;
    return made;
  }

 private:
  /// The largest part of which nothing is known says what would tell; else what most of the checks
  /// lack that could not run.
  void find_what_tells() {
    most_deciding const most(in_.findings.undecided);
    if (most.rule != nullptr) look_at(*most.rule);
    account_part const* const part = in_.account.largest_unknown();
    if (part == nullptr || !in_.account.is_large(*part)) return;
    next_look const& look = part->tells;
    if (is_worth_ncu(*part)) kernel_ = look.kernel;
    if (look.without_graphs) return switch_graphs_off();
    if (look.counters.empty()) return;
    tells_ = true;
    bool const has_kernels = keys_.find(" kernels=") != keys_.npos;
    if (!look.kernels.empty() || !has_kernels)
      keys_ = " counters=" + std::string(look.counters) +
              (look.kernels.empty() ? "" : " kernels=" + shell_word(shown_line(look.kernels)));
  }
  /// Whether the step can gain from what Nsight Compute says of one kernel: its time is a good part
  /// of the step, which the GPU's work bounds.
  bool is_worth_ncu(account_part const& part) const {
    constexpr double least_part = 0.05;  // of the period; chosen
    constexpr double most_idle = 0.1;    // the same, of a GPU that waits for no host; chosen
    double const period_ns = in_.account.period_ns;
    return part.ns >= least_part * period_ns &&
           in_.analysed.period_idle_ns() < most_idle * period_ns;
  }
  void look_at(undecided_rule const& rule) {
    if (rule.decider == deciding::no_graphs) return switch_graphs_off();
    tells_ = rule.decider != deciding::other_gpu;
    if (rule.is_by_keys()) keys_ = " " + rule.needs_as(shell_word(shown_line(rule.range)), " ");
  }
  void switch_graphs_off() {
    std::string const variable = variable_without_graphs(in_.source);
    tells_ = true;
    if (variable.empty())
      first_ =
          "First make the program launch its work without CUDA graphs (no stream capture), for "
          "this run only.";
    else
      environment_ = variable + " ";
  }

  /// The steps of the recorded program, or the calls of the range that are to be its steps; 0 where
  /// that is not known.
  std::uint64_t steps_of_program(std::string const& step) const {
    if (!in_.source.has_steps) {
      for (range_row const& row : in_.folded)
        if (row.parent == 0 && row.name == step) return row.host.count();
      return 0;
    }
    if (before_.reports_windows() || before_.every != 0 || before_.repeat == 0) return 0;
    std::uint64_t recorded = in_.source.summed_steps.count();
    std::uint64_t last = 0;
    for (vec<step_record> const* const steps : {&in_.source.early_steps, &in_.source.steps})
      for (step_record const& each : *steps) {
        ++recorded;
        last = std::max<std::uint64_t>(last, each.step + std::uint64_t{1});
      }
    std::uint64_t others = in_.source.cost.unrecorded_steps;
    for (counter_set const& set : in_.source.counter_sets)
      if (set.method == counting::passes) others += set.passes_done;
    return std::max(last, recorded + others + std::uint64_t{before_.warmup} * before_.repeat);
  }
  /// Where the program had too few steps for what is to be counted: with fewer timed ones that is
  /// enough, or the program has to run more, by its own option where it has one that is known.
  void fit_steps(std::string const& step, std::string& program) {
    if (keys_.empty() || !tells_) return;
    std::uint64_t const known = steps_of_program(step);
    std::uint64_t const windows = std::max<std::uint64_t>(1, before_.repeat);
    std::uint64_t const timed =
        before_.active == 0
            ? std::uint64_t{before_.skip} + std::max(1u, before_.warmup) + 3
            : windows * (std::uint64_t{before_.skip} + before_.warmup + before_.active);
    std::uint64_t const counting = fewest_counting_steps(keys_);
    if (known == 0 || known >= timed + counting) return;
    is_short_ = known >= 2 + counting;
    if (is_short_) return;
    std::string const needed = std::to_string(timed + counting);
    raised_steps more = with_more_steps(program, timed + counting - known);
    if (!first_.empty()) first_ += " ";
    first_ += more.option.empty()
                  ? "Let the program run " + needed + " steps or more"
                  : "Run with " + more.option + ", so that it has " + needed + " steps";
    first_ += ": it had " + std::to_string(known) + ", and counting takes a step for each pass.";
    if (!more.option.empty()) program = std::move(more.command);
  }

  bool has_gpu_work() const { return !in_.folded.empty() && in_.folded[0].gpu_busy_ns != 0; }
  /// The memory limits that the run's losses ask for, as words of a shell.
  std::string memory_words() const {
    std::string all;
    for (char const* const key : {"log=", "buffers="}) {
      for (std::string const& advice : loss_advice(in_.source)) {
        std::size_t const begin = advice.find(key);
        if (begin == advice.npos) continue;
        std::size_t const end = advice.find_first_not_of("0123456789", begin + std::strlen(key));
        all += " " + advice.substr(begin, end - begin);
        break;
      }
    }
    return all;
  }
  /// Whether the run was to record host times alone.
  bool is_host_alone() const { return !in_.source.traced && !before_.trace; }

  /// What would make steps, where the run has none: the outermost range that repeats and has most
  /// of the time, or the period of the GPU's work. What the run had, where nothing is known.
  std::string step_words() const {
    constexpr std::uint64_t fewest = 3;  // calls; chosen
    if (in_.source.has_steps) return before_.step;
    double all = 0;
    range_row const* longest = nullptr;
    for (std::size_t i = 1; i < in_.folded.size(); ++i) {
      range_row const& row = in_.folded[i];
      if (row.parent != 0) continue;
      all += static_cast<double>(row.host_total_ns);
      if (longest == nullptr || row.host_total_ns > longest->host_total_ns) longest = &row;
    }
    bool const repeats = longest != nullptr && !longest->is_many && longest->thread.empty() &&
                         longest->host.count() >= fewest &&
                         longest->name.find_first_of(",*?") == longest->name.npos;
    if (repeats && 2 * static_cast<double>(longest->host_total_ns) > all)
      return std::string(longest->name);
    return before_.step.empty() && has_gpu_work() ? "auto" : before_.step;
  }

  /// Whether the file of trigger= is that of strata run --idle.
  bool waits_for_attach() const {
    std::string const name(without_folder(before_.trigger));
    std::size_t const end = name.rfind(".trigger");
    return name.compare(0, 7, "strata-") == 0 && end != name.npos && end + 8 == name.size();
  }

  /// The keys of the recorded run: the last of each, without those that strata
  /// run has by itself or by an option, or that the next run has anew.
  std::vector<std::string> keys_of_run(bool counts_anew, std::string const& memory) const {
    std::string_view const others[] = {"trace", "on", "1", "formats", "out", "step", "library"};
    std::vector<std::pair<std::string, std::string>> words;
    std::string_view text = in_.source.environment.options;
    while (!text.empty()) {
      std::size_t const comma = (std::min)(text.find(','), text.size());
      std::string const item(trimmed(text.substr(0, comma)));
      text.remove_prefix((std::min)(comma + 1, text.size()));
      std::string const key(trimmed(item.substr(0, item.find_first_of("=:"))));
      bool const is_all_trace = key == "trace" && item != key;
      bool const is_other =
          std::find(std::begin(others), std::end(others), key) != std::end(others);
      bool const is_idle = key == "trigger" && waits_for_attach();
      bool const is_of_steps =
          key == "skip" || key == "warmup" || key == "active" || key == "repeat";
      bool const is_anew = (is_short_ && is_of_steps) ||
                           memory.find(" " + key + "=") != memory.npos ||
                           (counts_anew && (key == "counters" || key == "kernels")) ||
                           ((counts_anew || is_host_alone()) && (key == "host" || key == "trace"));
      vec<std::string> problems;
      (void)options::parse(key == "interval" ? "live," + item : item, problems);
      if (item.empty() || (is_other && !is_all_trace) || is_idle || is_anew || !problems.empty())
        continue;
      auto const has_key = [&key](auto const& word) { return word.first == key; };
      words.erase(std::remove_if(words.begin(), words.end(), has_key), words.end());
      words.emplace_back(key, item);
    }
    std::vector<std::string> items;
    for (auto& word : words) items.push_back(std::move(word.second));
    return items;
  }

  report_input const& in_;
  options before_;           // of the recorded run
  bool tells_ = false;       // another run would tell more
  bool is_short_ = false;    // it has to time as few steps as can be
  std::string keys_;         // of it, as words of a shell
  std::string environment_;  // of it
  std::string first_;
  std::string kernel_;  // that Nsight Compute would tell more of
};

}  // namespace

next_command make_next_command(report_input const& input) { return command_maker(input).make(); }

}  // namespace detail
STRATA_END
