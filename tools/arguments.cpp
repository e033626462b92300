#include "arguments.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "files.hpp"

namespace tools {
namespace {

void refuse_value(char const* name, char const* takes, std::string const& text) {
  std::string sentence = std::string(name) + " takes " + takes;
  if (!text.empty()) sentence += ", not '" + text + "'";
  throw CLI::ValidationError(sentence);
}

/// Takes what is not empty.
std::function<void(std::string const&)> path_to(char const* name, std::string& value) {
  return [name, &value](std::string const& text) {
    if (text.empty()) throw CLI::ValidationError(std::string(name) + " is empty: name it");
    value = text;
  };
}

/// Whether the name of a file says what it is.
bool is_of_file(std::string const& path) {
  char const* const known[] = {".json", ".gz",     ".html",    ".htm", ".md",      ".markdown",
                               ".csv",  ".sqlite", ".sqlite3", ".db",  ".parquet", ".strata",
                               ".pdf",  ".png",    ".zip",     ".zst", ".txt",     ".nsys-rep"};
  std::string const ending = ending_of(path);
  return std::any_of(std::begin(known), std::end(known),
                     [&](char const* each) { return ending == each; });
}

}  // namespace

void arguments::required(char const* name, std::string& value, char const* about) {
  app_.add_option_function<std::string>(name, path_to(name, value), about)->required();
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
  std::string all;
  for (std::string const& word : words)
    all += (all.empty() ? "" : &word == &words.back() ? " or " : ", ") + word;
  auto const take = [=, &value](std::string const& text) {
    if (std::count(words.begin(), words.end(), text) == 0) refuse_value(name, all.c_str(), text);
    value = text;
  };
  app_.add_option_function<std::string>(name, take, about);
}

void arguments::option(char const* name, reader const& read, char const* takes, char const* about) {
  auto const take = [=](std::string const& text) {
    if (text.empty() || !read(text)) refuse_value(name, takes, text);
  };
  app_.add_option_function<std::string>(name, take, about);
}

void arguments::output(char const* name, std::string& path, std::vector<std::string> const& endings,
                       char const* about) {
  auto const take = [=, &path](std::string const& text) {
    std::error_code error;
    bool const is_folder = std::filesystem::is_directory(text, error);
    if (text.empty() || text.compare(0, 2, "--") == 0 || is_folder)
      refuse_value(name, "the path of a file", text);
    bool const is_own = std::count(endings.begin(), endings.end(), ending_of(text)) > 0;
    if (!endings.empty() && !is_own && is_of_file(text))
      refuse_value(name, ("a name that ends in " + endings.front()).c_str(), text);
    path = text;
  };
  app_.add_option_function<std::string>(name, take, about)->type_name("FILE");
}

void arguments::folder(char const* name, std::string& path, char const* about) {
  auto const take = [=, &path](std::string const& text) {
    std::error_code error;
    bool const is_file = is_of_file(text) && !std::filesystem::is_directory(text, error);
    if (text.empty() || is_file)
      refuse_value(name, "the name of a folder, whose files have names of their own", text);
    path = text;
  };
  app_.add_option_function<std::string>(name, take, about)->type_name("FOLDER");
}

}  // namespace tools
