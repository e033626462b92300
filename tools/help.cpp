// strata help: what a key of STRATA=, a column, a metric, a limiter, a finding or a message means.
#include <strata/analyse/finding_rules.hpp>
#include <strata/analyse/speed_of_light.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/session/options_reader.hpp>
#include <strata/tables/range_table.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"

namespace tools {
namespace {

struct explained_message {
  std::vector<std::string_view> said;  ///< alternatives; … stands for what differs
  std::string_view cure;
};

explained_message const messages[] = {
#include "messages.inc"
};

constexpr std::string_view any_text = "…";
constexpr std::string_view columns_head = "Columns of the table:";

/// The parts of a message that do not differ, in order, are all in the text.
bool is_message(std::string_view message, std::string_view text) {
  constexpr std::size_t least = 10;  // letters; "…: …" is no message
  std::size_t known = 0;
  while (!message.empty()) {
    std::size_t const end = (std::min)(message.find(any_text), message.size());
    std::string_view const part = message.substr(0, end);
    std::size_t const found = text.find(part);
    if (found == text.npos) return false;
    known += part.size();
    text.remove_prefix(found + part.size());
    message.remove_prefix((std::min)(end + any_text.size(), message.size()));
  }
  return known >= least;
}

class help_command final : public subcommand {
 public:
  char const* name() const override { return "help"; }
  char const* about() const override {
    return "Explain a key of STRATA=, a column, a metric, a finding or a message";
  }
  std::string details() const override {
    return "  strata help                     the keys of STRATA=\n"
           "  strata help counters\n"
           "  strata help hbm_bytes\n"
           "  strata help launch-bound\n"
           "  strata help short scoreboard\n"
           "  strata help 'no NVIDIA driver'";
  }
  void declare(arguments& takes) override {
    takes.rest("TOPIC", words_, 0,
               "a key, column, metric, preset, stall, limiter, finding or message");
  }
  exit_code run() override {
    std::string topic;
    for (std::string const& word : words_) topic += (topic.empty() ? "" : " ") + word;
    if (topic.empty()) {
      std::fputs(strata::detail::options_reader::help().c_str(), stdout);
      return exit_code::fine;
    }
    explain_key(topic);
    explain_column(topic);
    explain_metric(topic);
    explain_stall(topic);
    explain_limiter(topic);
    explain_finding(topic);
    if (said_ == 0) explain_message(topic);
    if (said_ > 0) return exit_code::fine;
    return refuse(
        name(), topic,
        "it is no key, column, metric, preset, stall, limiter, finding or message" + meant(topic) +
            " strata help lists the keys and columns, strata metrics what can be counted, "
            "docs/reference/files.md all columns");
  }

 private:
  void say(std::string const& text) {
    ++said_;
    std::printf("%s\n", text.c_str());
  }

  /// The topic that this one is near to, as ", did you mean sort?"; a colon where it is near to
  /// none.
  static std::string meant(std::string_view topic) {
    std::string wanted;
    for (char const letter : topic) wanted += strata::detail::lower(letter);
    strata::detail::nearest_names nearest(wanted);
    for (strata::metric const& metric : strata::metric_list()) nearest.consider(metric.key());
    for (strata::metric_preset const& preset : strata::preset_list()) nearest.consider(preset.name);
    for (strata::detail::finding_rule const& rule : strata::detail::finding_rules::rules)
      nearest.consider(rule.id);
    for_each_key([&](std::string_view key, std::string_view) { nearest.consider(key); });
    for_each_column([&](std::string_view name, std::string_view) { nearest.consider(name); });
    strata::vec<std::string> const best = nearest.best(1);
    return best.empty() ? std::string(":") : ", did you mean " + best.front() + "?";
  }

  using look_at_line = std::function<void(std::string_view, std::string_view)>;

  /// Calls `look(name, line)` for each indented line of a text; its name ends where one of these
  /// letters stands.
  static void for_each_line(std::string_view text, char const* ends, look_at_line const& look) {
    while (!text.empty()) {
      std::size_t const end = (std::min)(text.find('\n'), text.size());
      std::string_view const line = text.substr(0, end);
      text.remove_prefix((std::min)(end + 1, text.size()));
      if (line.size() < 3 || line.substr(0, 2) != "  " || line[2] == ' ') continue;
      look(line.substr(2, line.find_first_of(ends, 2) - 2), line.substr(2));
    }
  }
  /// For each key of STRATA= and its line of the help.
  static void for_each_key(look_at_line const& look) {
    std::string const all = strata::detail::options_reader::help();
    for_each_line(std::string_view(all).substr(0, all.find(columns_head)), " =[", look);
  }
  /// For each column of the table that the help explains.
  static void for_each_column(look_at_line const& look) {
    for_each_line(strata::detail::range_table::help(), ":", look);
  }

  void explain_key(std::string_view wanted) {
    for_each_key([&](std::string_view key, std::string_view line) {
      if (key == wanted) say("STRATA=" + std::string(line));
    });
  }

  void explain_column(std::string_view wanted) {
    for_each_column([&](std::string_view name, std::string_view line) {
      if (name == wanted) say("column " + std::string(line));
    });
  }

  void explain_metric(std::string_view key) {
    if (strata::metric const* const found = strata::detail::find_entry(key)) {
      say(std::string(key) + " [" + std::string(found->unit()) + "], " +
          std::string(to_string(found->level)) + ": " + std::string(found->meaning()) +
          "\n  = " + std::string(found->formula()));
    }
    if (strata::metric_preset const* const found = strata::find_preset(key)) {
      say("counters=" + std::string(key) + ": " + std::string(found->meaning) + "\n  " +
          std::string(found->items));
    }
  }

  /// What a limiter says that warps wait for: `short scoreboard`, `latency: short scoreboard` or
  /// `short-scoreboard`.
  void explain_stall(std::string name) {
    constexpr std::string_view latency = "latency: ";
    if (strata::detail::begins_with(name, latency)) name.erase(0, latency.size());
    for (char& letter : name) {
      if (letter == ' ' || letter == '-') letter = '_';
      letter = strata::detail::lower(letter);
    }
    std::string_view const meaning = strata::detail::stall_meaning(name);
    if (meaning.empty()) return;
    say("latency: " + strata::detail::stall_name(name) + ": warps " + std::string(meaning));
    explain_metric("stall_" + name + "_share");
  }

  /// What the column `limiter` says.
  void explain_limiter(std::string_view word) {
    struct limiter_meaning {
      strata::limiter kind;
      char const* text;
    };
    static constexpr limiter_meaning meanings[] = {
        {strata::limiter::copies, "they take more than half of the range's GPU time"},
        {strata::limiter::launch,
         "the host takes twice the GPU's time, and kernels take less than 20 us"},
        {strata::limiter::latency,
         "no unit is used to 60 %, so kernels wait for their own results; counters=stalls says for "
         "what"},
        {strata::limiter::above_roof,
         "more work than the time allows, by 5 %: numbers contradict each other"},
    };
    for (limiter_meaning const& meaning : meanings)
      if (to_string(meaning.kind) == word)
        say("limiter " + std::string(word) + ": " + meaning.text);
    for (strata::gpu_unit_entry const& unit : strata::gpu_unit_table) {
      if (strata::detail::edit_distance(unit.name, word) != 0) continue;
      say("limiter " + std::string(unit.name) +
          ": of all units the range uses this one most, at 60 % of its peak or more");
      explain_metric(unit.metric);
    }
  }

  void explain_finding(std::string_view id) {
    for (strata::detail::finding_rule const& rule : strata::detail::finding_rules::rules) {
      if (rule.id != id) continue;
      std::string needs = strata::undecided_rule{rule.id, rule.needs, {}}.needs();
      if (!needs.empty()) needs = "\n  needs " + needs;
      say("finding " + std::string(id) + ", try: " + std::string(rule.advice) + needs +
          "\n  docs/reference/findings.md says when");
    }
  }

  /// Messages that the text is or has in it; else those that have the text in them.
  void explain_message(std::string_view text) {
    for (bool const whole : {true, false}) {
      for (explained_message const& row : messages)
        for (std::string_view const message : row.said)
          if (whole ? is_message(message, text) : message.find(text) != message.npos) {
            say(std::string(message) + "\n  " + std::string(row.cure));
            break;
          }
      if (said_ > 0) return;
    }
  }

  std::vector<std::string> words_;
  std::size_t said_ = 0;
};

}  // namespace

subcommand_pointer make_help() { return std::make_unique<help_command>(); }

}  // namespace tools
