// The arguments of a subcommand. CLI11 reads them; only arguments.cpp and main.cpp include it,
// since it takes seconds to compile.
#ifndef STRATA_TOOLS_ARGUMENTS_HPP
#define STRATA_TOOLS_ARGUMENTS_HPP

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tools {

/// Declares arguments. A variable keeps the value that it has where its argument is not given.
class arguments {
 public:
  /// Whether a text is taken; where it is, it was put to its place.
  using reader = std::function<bool(std::string const& text)>;

  explicit arguments(CLI::App& app) : app_(app) {}

  void required(char const* name, std::string& value, char const* about);
  void optional(char const* name, std::string& value, char const* about);
  /// All arguments that are no options: `least` or more.
  void rest(char const* name, std::vector<std::string>& values, std::size_t least,
            char const* about);

  void flag(char const* name, bool& value, char const* about);
  void option(char const* name, std::string& value, char const* about);
  /// May be given several times.
  void option(char const* name, std::vector<std::string>& values, char const* about);
  /// One of several words.
  void option(char const* name, std::string& value, std::vector<std::string> const& words,
              char const* about);
  /// `takes` says what a value is, as in "a percentage such as 5%".
  void option(char const* name, reader const& read, char const* takes, char const* about);
  /// A file to be written: no text that looks like an option, or names a file of another kind than
  /// these endings do; none: of any kind.
  void output(char const* name, std::string& path, std::vector<std::string> const& endings,
              char const* about);
  /// A folder to be written: no name that looks like a file's.
  void folder(char const* name, std::string& path, char const* about);

 private:
  CLI::App& app_;
};

}  // namespace tools

#endif  // STRATA_TOOLS_ARGUMENTS_HPP
