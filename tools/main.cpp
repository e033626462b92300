// strata COMMAND ...: runs a program, makes reports of recordings and profiles, says what can be
// counted.
#include "command.hpp"

#include <CLI/CLI.hpp>
#include <strata/tables/text_writer.hpp>
#include <strata/version.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"

namespace tools {

exit_code refuse(char const* command, std::string const& what, std::string const& why) {
  std::fprintf(stderr, "strata %s: %s: %s\n", command, strata::detail::console_text(what).c_str(),
               strata::detail::console_text(why).c_str());
  return exit_code::unusable;
}

namespace {

constexpr char codes[] =
    R"(Exit codes of all commands:
  0  fine
  1  found: a regression, bytes that do not add up, a file that could not be written
  2  unusable: an argument or a file is not what it should be
  3  undecided: the runs that were compared do not tell)";

/// What is wrong on the command line, as one line.
std::string problem_of(CLI::ParseError const& error) {
  std::string text = error.what();
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  return strata::detail::console_text(text);
}

/// What a subcommand says by its exit code, where what it printed went out whole.
exit_code written(subcommand const& command, exit_code said) {
  bool const whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (whole) return said;
  refuse(command.name(), "stdout", "It cannot be written.");
  return said == exit_code::fine ? exit_code::found : said;
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
  CLI::App app("Reports of what Strata recorded.", "strata");
  app.require_subcommand(1);
  app.set_version_flag("--version", "strata " + strata::detail::version_text());
  app.footer(codes);
  std::vector<subcommand_pointer> commands;
  for (auto* const make : {&make_run, &make_report, &make_compare, &make_trace, &make_ledger,
                           &make_explain, &make_metrics, &make_ceilings, &make_help})
    commands.push_back(make());
  std::vector<CLI::App*> apps;
  for (subcommand_pointer const& command : commands) {
    CLI::App* const own = app.add_subcommand(command->name(), command->about());
    own->footer(command->details());
    arguments takes(*own);
    command->declare(takes);
    if (own_count < count) command->set_program(words + own_count + 1);
    apps.push_back(own);
  }
  try {
    app.parse(own_count, words);
  } catch (CLI::Success const& asked) {  // --help, --version
    return app.exit(asked);
  } catch (CLI::ParseError const& error) {
    std::string name = "strata";
    for (CLI::App const* const own : apps)
      if (own->parsed()) name += " " + own->get_name();
    std::fprintf(stderr, "%s: %s\n%s --help tells all options\n", name.c_str(),
                 problem_of(error).c_str(), name.c_str());
    return static_cast<int>(exit_code::unusable);
  }
  for (std::size_t i = 0; i < apps.size(); ++i)
    if (apps[i]->parsed()) return static_cast<int>(written(*commands[i], commands[i]->run()));
  return static_cast<int>(exit_code::unusable);
}

}  // namespace
}  // namespace tools

int main(int count, char** words) { return tools::run(count, words); }
