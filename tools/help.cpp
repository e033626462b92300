// strata help: what a word of the outputs means: a key of STRATA=, a command, a column, a metric, a
// limiter, a finding, a message, and the words between them.
#include <strata/profile/metric_resolver.hpp>
#include <strata/session/options_reader.hpp>
#include "analyse/column_meanings.hpp"
#include "analyse/rules.hpp"
#include "analyse/speed_of_light.hpp"
#include "report/console_tables.hpp"
#include "report/finding_view.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "documents.hpp"
#include "words.hpp"

namespace tools {
namespace {

/// Calls look(column, file) for each column of the CSV files.
template <class Look>
void for_each_csv_column(Look const& look) {
  auto const in_file = [&](auto const& columns, char const* file) {
    for (strata::detail::column_meaning const& column : columns) look(column, file);
  };
  in_file(strata::detail::range_meanings, "ranges.csv");
  in_file(strata::detail::kernel_meanings, "kernels.csv");
  in_file(strata::detail::allocation_meanings, "memory.csv");
  in_file(strata::detail::span_meanings, "spans.csv");
  in_file(strata::detail::counter_meanings, "counters.csv");
}

/// What the columns of the range table mean whose headers do not say it, a line each.
std::string columns_help() {
  std::string text = "\nColumns:\n";
  std::string_view last;  // neighbouring columns have one line
  for (strata::detail::range_console_column const& known : strata::detail::range_console_columns) {
    std::string_view const legend = known.shown.legend;
    if (!legend.empty() && legend != last) text.append("  ").append(legend).append("\n");
    last = legend;
  }
  return text;
}

constexpr std::string_view any_text = "…";

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (char const letter : text) lower += strata::detail::lower(letter);
  return lower;
}

/// A name as it is compared: `L1 hit %`, `l1 hit` and `L1 hit 87 %` are one, and so are
/// `few-blocks` and `few blocks`.
std::string plain_name(std::string_view name) {
  constexpr std::string_view around = " ().:";
  std::string text = in_lower_case(name);
  for (std::string_view const more : {"%", "0123456789"}) {
    std::size_t const end = text.find_last_not_of(more);
    if (end != text.npos && end + 1 < text.size() && text[end] == ' ') text.resize(end);
  }
  std::size_t const begin = (std::min)(text.find_first_not_of(around), text.size());
  text.erase(0, begin);
  text.resize(text.find_last_not_of(around) + 1);
  std::replace(text.begin(), text.end(), '-', ' ');
  return text;
}

template <class Names>
std::string joined(Names const& names) {
  std::string text;
  for (std::string_view const name : names) strata::detail::add_part(text, name);
  return text;
}

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
    return "Explain a word of the outputs: a key, a column, a metric, a finding, a message";
  }
  std::string details() const override {
    return "  strata help                     the keys of STRATA=\n"
           "  strata help counters\n"
           "  strata help hbm_bytes\n"
           "  strata help launch-bound\n"
           "  strata help short scoreboard\n"
           "  strata help ranges.csv\n"
           "  strata help 'no NVIDIA driver'";
  }
  void declare(arguments& takes) override {
    takes.rest("TOPIC", words_, 0,
               "a word of the outputs: a key, command, column, file, metric, preset, stall, "
               "limiter, finding or message");
  }
  exit_code run() override {
    std::string topic;
    for (std::string const& word : words_) topic += (topic.empty() ? "" : " ") + word;
    if (topic.empty()) {
      print("%s", (strata::detail::options_reader::help() + columns_help()).c_str());
      return exit_code::fine;
    }
    wanted_ = plain_name(topic);
    explain_key();
    if (topic.find(' ') == topic.npos && topic.find('=') != topic.npos) explain_text(topic);
    explain_command();
    explain_file(topic);
    explain_column();
    explain_csv_column();
    explain_metric(wanted_);
    explain_stall(topic);
    explain_unit();
    explain_finding();
    explain_idle();
    explain_evidence();
    explain_entry();
    explain_word();
    if (said_ == 0) explain_member();
    if (said_ == 0) explain_message(topic);
    if (said_ > 0) return exit_code::fine;
    if (!has_documents())
      return refuse(name(), topic,
                    "it is none of the words that this strata knows, which was built without its "
                    "documents: docs/reference/command.md says how to build it with them");
    return refuse(
        name(), topic,
        "it is no key, column, file, metric, preset, stall, limiter, finding or message" +
            meant(topic) +
            " strata help lists the keys and columns, strata metrics what can be counted, "
            "docs/reference/files.md all columns");
  }

 private:
  void say(std::string const& text) {
    ++said_;
    print("%s\n", text.c_str());
  }
  bool is_wanted(std::string_view name) const { return plain_name(name) == wanted_; }
  bool is_wanted(strata::detail::column_words const& words) const {
    return !words.many.empty() && (is_wanted(words.many) || is_wanted(words.one));
  }
  template <class Name>
  bool is_wanted(std::vector<Name> const& names) const {
    for (std::string_view const name : names)
      if (is_wanted(name)) return true;
    return false;
  }

  /// What may be meant, as ", did you mean sort?", or where the topic is spoken of; a colon where
  /// nothing is found. A word is taken for a name, several for a part of an explanation.
  std::string meant(std::string_view topic) const {
    bool const is_word = topic.find(' ') == topic.npos;
    std::string const by_name = near_name(topic);
    std::string const by_meaning = explained_by();
    std::string const& first = is_word ? by_name : by_meaning;
    std::string const& second = is_word ? by_meaning : by_name;
    if (!first.empty()) return first;
    return second.empty() ? ":" : second;
  }

  /// The first names whose meanings have all words of the topic.
  std::string explained_by() const {
    constexpr std::size_t most = 4;
    std::vector<std::string> words;
    std::istringstream all(wanted_);
    for (std::string word; all >> word;) words.push_back(std::move(word));
    std::vector<std::string> found;
    for_each_meaning([&](std::string_view name, std::string_view meaning) {
      std::string const text = in_lower_case(meaning);
      auto const has = [&](std::string const& word) { return text.find(word) != text.npos; };
      if (found.size() < most && std::all_of(words.begin(), words.end(), has) &&
          std::find(found.begin(), found.end(), name) == found.end())
        found.emplace_back(name);
    });
    return found.empty() ? ""
                         : ", but strata help explains what may be meant: " + joined(found) + ".";
  }
  template <class Look>
  static void for_each_meaning(Look const& look) {
    for (strata::detail::finding_rule const& rule : strata::detail::finding_rules)
      look(rule.id, std::string(rule.cause) + ' ' + std::string(rule.advice));
    for_each_metric([&](strata::metric const& metric) { look(metric.key(), metric.meaning()); });
    for (explained_words const& words : output_words) look(words.names.front(), words.meaning);
    for (explained_entry const& entry : documented_entries())
      if (entry.kind != member) look(entry.names.front(), entry.meaning);
  }

  /// The name that the topic is near to. What can be typed comes before what is only printed.
  static std::string near_name(std::string_view topic) {
    std::string const wanted = in_lower_case(topic);
    strata::detail::nearest_names names(wanted);
    consider_names(names);
    strata::vec<std::string> best = names.best(1);
    if (best.empty()) {
      strata::detail::nearest_names words(wanted);
      for_each_csv_column([&](auto const& column, char const*) { words.consider(column.key); });
      for (explained_entry const& entry : documented_entries())
        for (std::string_view const name : entry.names) words.consider(name);
      for (explained_file const& file : documented_files())
        for (std::string_view const name : file.names) words.consider(name);
      for (explained_words const& row : output_words)
        for (std::string_view const name : row.names) words.consider(name);
      best = words.best(1);
    }
    return best.empty() ? std::string() : ", did you mean " + best.front() + "?";
  }
  static void consider_names(strata::detail::nearest_names& nearest) {
    for_each_metric([&](strata::metric const& metric) { nearest.consider(metric.key()); });
    for (strata::metric_preset const& preset : strata::preset_list()) nearest.consider(preset.name);
    for (strata::detail::finding_rule const& rule : strata::detail::finding_rules)
      nearest.consider(rule.id);
    for (subcommand_pointer const& command : make_all()) nearest.consider(command->name());
    for_each_key([&](std::string_view key, std::string_view) { nearest.consider(key); });
    strata::detail::for_each_console_column(
        [&](strata::detail::console_table::column const& known, std::string_view) {
          nearest.consider(known.header);
        });
  }

  template <class Look>
  static void for_each_metric(Look const& look) {
    using source = strata::metric_source;
    for (source const from : {source::cupti, source::perf, source::rates})
      for (strata::metric const& metric : strata::metric_list{from}) look(metric);
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
    for_each_line(all, " =[", look);
  }

  void explain_key() { explain_key(wanted_); }
  void explain_key(std::string_view wanted) {
    for_each_key([&](std::string_view key, std::string_view line) {
      if (plain_name(key) == wanted) say("STRATA=" + std::string(line));
    });
  }
  /// A text of STRATA=, such as skip=10 or STRATA=trace,counters=hbm: its keys, and what they
  /// count.
  void explain_text(std::string_view text) {
    constexpr std::string_view variable = "STRATA=";
    if (text.substr(0, variable.size()) == variable) text.remove_prefix(variable.size());
    for (std::size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
      end = std::min(text.find(','), text.size());
      std::string_view const item = text.substr(0, end);
      std::string_view const key = item.substr(0, item.find_first_of("=:"));
      std::size_t const before = said_;
      explain_key(plain_name(key));
      if (said_ == before || key != "counters") continue;
      std::string_view names = item.substr(std::min(key.size() + 1, item.size()));
      for (std::size_t last = 0; !names.empty();
           names.remove_prefix(std::min(last + 1, names.size()))) {
        last = std::min(names.find('+'), names.size());
        explain_metric(names.substr(0, last));
      }
    }
  }

  void explain_command() {
    for (subcommand_pointer const& command : make_all())
      if (is_wanted(command->name()) || is_wanted(std::string("strata ") + command->name()))
        say(std::string("strata ") + command->name() + ": " + command->about() +
            "; --help has more");
  }

  /// A file that a run writes, with its columns or members.
  void explain_file(std::string_view path) {
    std::string_view const wanted = path.substr(path.rfind('/') + 1);
    for (explained_file const& file : documented_files()) {
      if (std::find(file.names.begin(), file.names.end(), wanted) == file.names.end()) continue;
      std::string text = "file " + file.names.front() + ": " + file.meaning;
      for (explained_entry const& part : file.parts)
        text += "\n  " + joined(part.names) + (part.meaning.empty() ? "" : ": " + part.meaning);
      say(text + "\n  " + std::string(file.document));
    }
  }

  /// A column of the console: by the line below its table, or by its metric.
  void explain_column() {
    std::string said;  // a column of two tables once
    strata::detail::for_each_console_column(
        [&](strata::detail::console_table::column const& known, std::string_view metric) {
          std::string_view const line = known.legend;
          std::string_view const title = line.substr(0, line.find(':'));
          if (!is_wanted(known.header) && !is_wanted(title)) return;
          if (!line.empty() && line != said) say("column " + std::string(line));
          said = line;
          if (metric.empty()) return;
          say("column " + std::string(known.header) + ": " + std::string(metric));
          explain_metric(metric);
        });
  }

  /// A column of the CSV files; where several have it with one meaning, once.
  void explain_csv_column() {
    struct meaning_in_files {
      std::string head;
      std::string files;
      std::string meaning;
    };
    std::vector<meaning_in_files> all;
    for_each_csv_column([&](auto const& column, char const* file) {
      if (!is_wanted(column.key) && !is_wanted(column.words)) return;
      std::string head = "column " + std::string(column.key);
      if (!column.unit.empty()) head += " [" + std::string(column.unit) + "]";
      for (meaning_in_files& each : all)
        if (each.head == head && each.meaning == column.meaning)
          return strata::detail::add_part(each.files, file);
      all.push_back({head, file, std::string(column.meaning)});
    });
    is_csv_column_ = !all.empty();
    for (meaning_in_files const& each : all)
      say(each.head + " of " + each.files + ": " + each.meaning + "\n  docs/reference/files.md");
  }

  void explain_metric(std::string_view key) {
    if (strata::metric const* const found = strata::detail::find_entry(key)) {
      say(std::string(key) + " [" + std::string(found->unit()) + "], " +
          std::string(to_string(found->level())) + ": " + std::string(found->meaning()) +
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

  /// What the column `limiter` says of a unit, or of two: `tensor 66 % and issue 64 %`.
  void explain_unit() {
    if (wanted_.find(" % and ") != std::string::npos)
      say("limiter " + wanted_ +
          ": the range uses these two units most, within 3 points of each other");
    for (strata::gpu_unit_entry const& unit : strata::gpu_unit_table) {
      if (!is_wanted(std::vector{std::string(unit.name), std::string(unit.name) + "-bound"}))
        continue;
      say("limiter " + std::string(unit.name) +
          ": of all units the range uses this one most, at 60 % of its peak or more");
      explain_metric(unit.metric);
    }
  }

  void explain_finding() {
    for (strata::detail::finding_rule const& rule : strata::detail::finding_rules) {
      if (!is_wanted(rule.id) && (rule.cause.empty() || !is_wanted(rule.cause))) continue;
      std::string needs = strata::undecided_rule{rule.id, rule.needs, {}}.needs();
      if (!needs.empty()) needs = "\n  needs " + needs;
      say("finding " + std::string(rule.id) + ", try: " + std::string(rule.advice) + needs);
    }
  }

  /// What account, answer and comparison call idle time of one cause.
  void explain_idle() {
    for (strata::idle_cause_entry const& cause : strata::idle_cause_table)
      if (is_wanted(std::vector{cause.name, cause.meanwhile, cause.words}) ||
          is_wanted("GPU idle: " + std::string(cause.words)))
        say("GPU idle: " + std::string(cause.words) + ": the GPU is idle " +
            std::string(cause.meanwhile));
  }

  /// What evidence calls a value that no file has.
  void explain_evidence() {
    for (strata::detail::evidence_column const& known : strata::detail::evidence_columns)
      if (is_wanted(known.words)) explain_word(known.key);
    for_each_metric([&](strata::metric const& metric) {
      std::string_view const meaning = metric.meaning();
      if (is_wanted(meaning) || is_wanted(meaning.substr(0, meaning.find(':'))))
        explain_metric(metric.key());
    });
  }

  void explain_entry() {
    explain_entries([this](explained_entry const& entry) {
      bool const is_of_csv = std::string_view(entry.kind).find(".csv") != entry.kind.npos;
      return entry.kind != member && !(is_csv_column_ && is_of_csv);
    });
  }
  /// A member of the JSON files; where several have it with one meaning, once.
  void explain_member() {
    std::set<std::string> meanings;
    explain_entries([&](explained_entry const& entry) {
      return entry.kind == member && meanings.insert(entry.meaning).second;
    });
  }
  template <class Takes>
  void explain_entries(Takes const& takes) {
    for (explained_entry const& entry : documented_entries()) {
      if (!is_wanted(entry.names) || !takes(entry)) continue;
      std::string const meaning = entry.meaning.empty() ? "" : ": " + entry.meaning;
      say(entry.kind + " " + joined(entry.names) + meaning + "\n  " + std::string(entry.document));
    }
  }

  void explain_word() {
    for (explained_words const& words : output_words)
      if (is_wanted(words.names)) explain(words);
  }
  void explain_word(std::string_view name) {
    for (explained_words const& words : output_words)
      if (std::find(words.names.begin(), words.names.end(), name) != words.names.end())
        explain(words);
  }
  void explain(explained_words const& words) {
    say(joined(words.names) + ": " + std::string(words.meaning));
  }

  /// Messages that the text is or has in it; else the first of those that have the text in them.
  void explain_message(std::string const& text) {
    std::vector<std::string> within;
    for (explained_message const& row : documented_messages()) {
      std::string const fix = "\n  " + row.fix;
      for (std::string const& message : row.said) {
        bool const is_part = in_lower_case(message).find(in_lower_case(text)) != std::string::npos;
        if (is_message(message, text))
          say(message + fix);
        else if (is_part)
          within.push_back(message + fix);
        if (is_part || is_message(message, text)) break;
      }
    }
    if (said_ > 0 || within.empty()) return;
    bool const is_word = text.find(' ') == text.npos;
    if (is_word)
      say("no entry for " + text + "; " + std::to_string(within.size()) +
          (within.size() == 1 ? " message contains it:" : " messages contain it:"));
    std::size_t const shown = (std::min)(within.size(), is_word ? std::size_t{3} : within.size());
    for (std::size_t i = 0; i < shown; ++i) say(within[i]);
    if (shown < within.size()) say("and more: give more words of the one that is meant");
  }

  std::vector<std::string> words_;
  std::string wanted_;  ///< the topic as names are compared
  bool is_csv_column_ = false;
  std::size_t said_ = 0;
};

}  // namespace

subcommand_pointer make_help() { return std::make_unique<help_command>(); }

}  // namespace tools
