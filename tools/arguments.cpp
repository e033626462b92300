#include "arguments.hpp"

#include <CLI/CLI.hpp>

namespace tools {
namespace {

void refuse_value(char const* name, char const* takes, std::string const& text) {
  std::string sentence = std::string(name) + " takes " + takes;
  if (!text.empty()) sentence += ", not '" + text + "'";
  throw CLI::ValidationError(sentence);
}

}  // namespace

void arguments::required(char const* name, std::string& value, char const* about) {
  app_.add_option(name, value, about)->required();
}

void arguments::optional(char const* name, std::string& value, char const* about) {
  app_.add_option(name, value, about);
}

void arguments::rest(char const* name, std::vector<std::string>& values, std::size_t least,
                     char const* about) {
  CLI::Option* const option = app_.add_option(name, values, about);
  if (least > 0) option->required()->expected(static_cast<int>(least), -1);
}

void arguments::flag(char const* name, bool& value, char const* about) {
  app_.add_flag(name, value, about)->disable_flag_override();
}

void arguments::option(char const* name, std::string& value, char const* about) {
  app_.add_option(name, value, about);
}

void arguments::option(char const* name, std::vector<std::string>& values, char const* about) {
  app_.add_option(name, values, about)->allow_extra_args(false);
}

void arguments::option(char const* name, std::string& value, std::vector<std::string> const& words,
                       char const* about) {
  app_.add_option(name, value, about)->check(CLI::IsMember(words));
}

void arguments::option(char const* name, reader const& read, char const* takes, char const* about) {
  auto const take = [=](std::string const& text) {
    if (text.empty() || !read(text)) refuse_value(name, takes, text);
  };
  app_.add_option_function<std::string>(name, take, about);
}

void arguments::output(char const* name, std::string& path, char const* about) {
  auto const take = [name, &path](std::string const& text) {
    if (text.empty() || text.compare(0, 2, "--") == 0)
      refuse_value(name, "the path of a file", text);
    path = text;
  };
  app_.add_option_function<std::string>(name, take, about)->type_name("FILE");
}

}  // namespace tools
