// strata COMMAND ...: runs a program, makes reports of recordings and profiles, says what can be
// counted.
#include "command.hpp"

#include <CLI/CLI.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/version.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>

#include "arguments.hpp"

namespace tools {

namespace {

/// Lines of which nothing controls a terminal.
void write_lines(std::FILE* stream, char const* format, std::va_list values) {
  std::va_list again;
  va_copy(again, values);
  int const size = std::vsnprintf(nullptr, 0, format, values);
  std::string text(static_cast<std::size_t>(size > 0 ? size : 0) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  std::string shown;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find('\n', begin), text.size());
    shown += strata::detail::console_text(std::string_view(text).substr(begin, end - begin));
    if (end < text.size()) shown += '\n';
    begin = end + 1;
  }
  std::fwrite(shown.data(), 1, shown.size(), stream);
}

}  // namespace

void print(char const* format, ...) {
  std::va_list values;
  va_start(values, format);
  write_lines(stdout, format, values);
  va_end(values);
}

void print_json(std::string const& text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string shown;
  for (std::size_t index = 0; index < text.size();) {
    strata::detail::utf8_character const c = strata::detail::decode_utf8(text, index);
    std::string_view const bytes = std::string_view(text).substr(index, c.length);
    index += c.length;
    bool const is_kept =
        !c.valid || c.value == '\n' || strata::detail::console_text(bytes) == bytes;
    if (is_kept) {
      shown += bytes;
    } else {
      shown += "\\u";
      for (unsigned shift = 16; shift > 0;) shown += digits[c.value >> (shift -= 4) & 15];
    }
  }
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

void print_error(char const* format, ...) {
  std::va_list values;
  va_start(values, format);
  write_lines(stderr, format, values);
  va_end(values);
}

void report_problem(char const* command, std::string const& what, std::string const& why) {
  print_error("strata %s: %s: %s\n", command, strata::detail::console_text(what).c_str(),
              strata::detail::console_text(why).c_str());
}
exit_code refuse(char const* command, std::string const& what, std::string const& why) {
  report_problem(command, what, why);
  return exit_code::unusable;
}

std::vector<subcommand_pointer> make_all() {
  std::vector<subcommand_pointer> commands;
  for (auto* const make :
       {&make_run, &make_attach, &make_report, &make_compare, &make_ranks, &make_trace,
        &make_ledger, &make_explain, &make_metrics, &make_ceilings, &make_help})
    commands.push_back(make());
  return commands;
}

namespace {

constexpr char codes[] =
    R"(Exit codes of all commands:
  0  fine
  1  found: a regression, a late rank, bytes that do not add up, a process that no window begins in
  2  unusable: an argument or a file is not what it should be, or the output cannot be written
  3  undecided: the runs or ranks that were compared do not tell)";

/// Says the usage in words of the command's own.
class formatter_with_usage final : public CLI::Formatter {
 public:
  explicit formatter_with_usage(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(CLI::App const*, std::string) const override { return usage_ + "\n"; }

 private:
  std::string usage_;
};

/// What a subcommand takes besides options, as in "one FILE".
std::string taken_by(CLI::App const& app) {
  for (CLI::Option const* const option : app.get_options())
    if (option->get_positional()) return "one " + option->get_name(true);
  return "none";
}

/// What is wrong on the command line, as one line.
std::string problem_of(CLI::ParseError const& error, CLI::App const& asked) {
  std::string text = error.what();
  constexpr std::string_view has_value = " was given a disallowed flag override";
  if (std::size_t const end = text.find(has_value); end != text.npos)
    text = "--" + text.substr(0, end) + " takes no value";
  std::vector<std::string> const more = asked.remaining();
  if (!more.empty() && asked.get_parent() != nullptr)
    text = more.front() + " is one argument too many: it takes " + taken_by(asked);
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  return strata::detail::console_text(text);
}

/// The name that a word of the command line is near to, as ", did you mean report?"; nothing where
/// it is near to none.
std::string meant(CLI::App const& app, std::string const& word) {
  strata::detail::nearest_names nearest(word);
  for (CLI::App const* const own : app.get_subcommands(nullptr)) nearest.consider(own->get_name());
  for (CLI::Option const* const option : app.get_options())
    for (std::string const& name : option->get_lnames()) nearest.consider("--" + name);
  auto const best = nearest.best(1);
  return best.empty() ? std::string() : ", did you mean " + best.front() + "?";
}

bool has_command(CLI::App const& app, std::string const& name) {
  bool found = false;
  for (CLI::App const* const own : app.get_subcommands(nullptr))
    found = found || own->get_name() == name;
  return found;
}

/// The first word of the command line that is no option, subcommand or file of it; empty: none.
std::string unknown_word(CLI::App const& app, int count, char** words) {
  for (int i = 1; i < count; ++i) {
    std::string const word = std::string(words[i]).substr(0, std::string(words[i]).find('='));
    bool const is_option = word.size() > 2 && word.compare(0, 2, "--") == 0;
    bool const is_command = i == 1 && app.get_parent() == nullptr && !is_option;
    if (is_command && !has_command(app, word)) return word;
    if (is_option && app.get_option_no_throw(word) == nullptr) return word;
  }
  return {};
}

/// What the command says by its exit code, where what it printed went out whole.
int written(std::string const& name, int said) {
  bool const whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (whole) return said;
  print_error("%s: stdout: It cannot be written: close no stdout, and free space where it goes.\n",
              name.c_str());
  return static_cast<int>(exit_code::unusable);
}

/// A stream that is closed would be the next file that is opened. The program of `strata run` has
/// them as they were.
void hold_closed_streams() {
  for (int stream = 0; stream < 3; ++stream)
    if (::fcntl(stream, F_GETFD) < 0)
      (void)::open(stream == 1 ? "/dev/full" : "/dev/null", O_RDWR | O_CLOEXEC);
}

/// How many words are this command's: the others, behind the `--` of `strata run`, are a program's.
int own_words(int count, char** words) {
  if (count < 2 || std::string_view(words[1]) != "run") return count;
  for (int i = 2; i < count; ++i)
    if (std::string_view(words[i]) == "--") return i;
  return count;
}

int run(int count, char** words) {
  int const own_count = own_words(count, words);
  CLI::App app("Records programs, and reports what was recorded.", "strata");
  app.require_subcommand(1);
  app.set_version_flag("--version", "strata " + strata::detail::version_text());
  app.footer(codes);
  std::vector<subcommand_pointer> const commands = make_all();
  std::vector<CLI::App*> apps;
  for (subcommand_pointer const& command : commands) {
    CLI::App* const own = app.add_subcommand(command->name(), command->about());
    if (*command->usage() != '\0')
      own->formatter(std::make_shared<formatter_with_usage>(command->usage()));
    own->footer(command->details());
    arguments takes(*own);
    command->declare(takes);
    if (own_count < count) command->set_program(words + own_count + 1);
    apps.push_back(own);
  }
  try {
    app.parse(own_count, words);
  } catch (CLI::Success const& asked) {  // --help, --version
    std::ostringstream text;
    int const code = app.exit(asked, text);
    std::fputs(text.str().c_str(), stdout);
    return written("strata", code);
  } catch (CLI::ParseError const& error) {
    CLI::App const* asked = &app;
    for (CLI::App const* const own : apps)
      if (own->parsed()) asked = own;
    std::string const name = asked == &app ? "strata" : "strata " + asked->get_name();
    std::string const word = unknown_word(*asked, own_count, words);
    std::string problem = problem_of(error, *asked);
    std::error_code absent;
    if (!word.empty())
      problem = "there is no " + strata::detail::console_text(word) + meant(*asked, word);
    if (asked == &app && std::filesystem::exists(word, absent))
      problem = strata::detail::console_text(word) + " is no subcommand: strata report, explain " +
                "or trace " + strata::detail::shell_word(word);
    print_error("%s: %s\n%s --help shows all options\n", name.c_str(), problem.c_str(),
                name.c_str());
    return static_cast<int>(exit_code::unusable);
  }
  for (std::size_t i = 0; i < apps.size(); ++i)
    if (apps[i]->parsed())
      return written("strata " + apps[i]->get_name(), static_cast<int>(commands[i]->run()));
  return static_cast<int>(exit_code::unusable);
}

}  // namespace
}  // namespace tools

int main(int count, char** words) {
  tools::hold_closed_streams();
  char const* why = nullptr;
  try {
    return tools::run(count, words);
  } catch (std::bad_alloc const&) {
    why = "The memory is not enough: give it more, or record fewer steps and ranges.";
  } catch (std::exception const& error) {
    why = error.what();
  }
  return static_cast<int>(tools::refuse(count > 1 ? words[1] : "", "stopped", why));
}
