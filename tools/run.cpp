// strata run: records a program as it is, by libstrata_inject.so. The program takes the place of
// this one (exec), so that its exit code, signals, stdin and terminal are its own: there is nothing
// left to do after it, since the library writes the report and says where it is.
#include <strata/collect/counters/device_profilers.hpp>
#include <strata/options.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <elf.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arguments.hpp"
#include "command.hpp"

// From the folder of the command to that of the library, where both are installed.
#if !defined(STRATA_LIBRARY_FOLDER)
#define STRATA_LIBRARY_FOLDER "../lib"
#endif

namespace tools {
namespace {

namespace fs = std::filesystem;

constexpr char library_name[] = "libstrata_inject.so";

/// A path, or why there is none.
struct found_file {
  std::string path;
  std::string why;
  exit_code code = exit_code::fine;
};

/// Seconds of a text such as 30, 30s, 5m or 2h; 0 where it is none.
unsigned long seconds_of(std::string const& text) {
  std::size_t const digits = (std::min)(text.find_first_not_of("0123456789"), text.size());
  std::string const unit = text.substr(digits);
  unsigned long scale = 0;
  if (unit.empty() || unit == "s") scale = 1;
  if (unit == "m") scale = 60;
  if (unit == "h") scale = 3600;
  constexpr std::size_t max_digits = 6;
  if (digits == 0 || digits > max_digits) return 0;
  return std::stoul(text.substr(0, digits)) * scale;
}

/// Whether the dynamic linker ignores LD_PRELOAD in a program, since it runs with other rights.
bool has_other_rights(char const* path, struct stat const& file) {
  bool const as_user = (file.st_mode & S_ISUID) != 0 && file.st_uid != geteuid();
  bool const as_group = (file.st_mode & S_ISGID) != 0 && file.st_gid != getegid();
  bool const capable = geteuid() != 0 && getxattr(path, "security.capability", nullptr, 0) > 0;
  return as_user || as_group || capable;
}

/// What keeps one file from being run, with the code that shells have for it.
found_file look_at(std::string const& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) {
    if (errno == EACCES)
      return {path, "You may not search one of its folders: chmod +x opens a folder.",
              exit_code::not_runnable};
    return {path, "There is no such program: check its path.", exit_code::not_found};
  }
  if (S_ISDIR(file.st_mode))
    return {path, "It is a folder: name a program in it.", exit_code::not_runnable};
  if (!S_ISREG(file.st_mode) || access(path.c_str(), X_OK) != 0)
    return {path,
            "It is not executable: chmod +x makes it so, and a script may follow its interpreter, "
            "as in strata run -- python3 train.py",
            exit_code::not_runnable};
  if (has_other_rights(path.c_str(), file))
    return {path,
            "It is setuid, setgid or has capabilities, and loads no library of its user's: run a "
            "copy of it without them.",
            exit_code::unusable};
  return {path, {}, exit_code::fine};
}

/// Searches as a shell does.
found_file find_program(std::string const& word) {
  if (word.find('/') != word.npos || word.empty()) return look_at(word);
  char const* const path = std::getenv("PATH");
  std::string const folders = path == nullptr ? "/bin:/usr/bin" : path;
  found_file best{word,
                  "There is no such program in PATH: name its path, as in " +
                      strata::detail::shell_word("./" + word),
                  exit_code::not_found};
  for (std::size_t begin = 0; begin <= folders.size();) {
    std::size_t const end = (std::min)(folders.find(':', begin), folders.size());
    std::string const folder = folders.substr(begin, end - begin);
    begin = end + 1;
    found_file const here = look_at((folder.empty() ? "." : folder) + "/" + word);
    if (here.code == exit_code::fine || here.code == exit_code::unusable) return here;
    if (here.code == exit_code::not_runnable && best.code == exit_code::not_found) best = here;
  }
  return best;
}

/// The header of a file of 64 bits. Returns: false of another file.
bool read_elf_header(std::istream& file, Elf64_Ehdr& head) {
  return file.read(reinterpret_cast<char*>(&head), sizeof head) &&
         std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64;
}

/// Whether a file is a library of this machine with what CUDA calls: the dynamic linker passes over
/// another one, and the program would run without a word.
bool is_library(fs::path const& path) {
  constexpr std::size_t max_bytes = std::size_t{256} << 20;
  std::error_code error;
  if (fs::file_size(path, error) > max_bytes || error) return false;
  std::ifstream file(path, std::ios::binary);
  std::ifstream self("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr head{};
  Elf64_Ehdr own{};
  if (!read_elf_header(file, head) || !read_elf_header(self, own)) return false;
  if (head.e_type != ET_DYN || head.e_machine != own.e_machine) return false;
  std::string const rest{std::istreambuf_iterator<char>(file), {}};
  return rest.find("InitializeInjection") != rest.npos;
}

/// The library that was asked for, or the one that was installed (by CMake or Meson, else by a
/// wheel) or built with this command.
found_file find_library(std::string const& wish) {
  std::error_code error;
  fs::path const own = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> places{wish};
  if (wish.empty())
    places = {own / STRATA_LIBRARY_FOLDER / library_name, own / library_name,
              own / "../libexec/strata" / library_name, own / "inject" / library_name};
  found_file found{wish.empty() ? library_name : wish, {}, exit_code::unusable};
  for (fs::path const& candidate : places) {
    fs::path const file = fs::canonical(candidate, error);
    if (error || !fs::is_regular_file(file, error)) continue;
    found.path = file.string();
    if (found.path.find_first_of(" :") != found.path.npos) {
      found.why = "LD_PRELOAD ends a path at a blank or colon: move the library.";
    } else if (!is_library(file)) {
      found.why =
          "It is no libstrata_inject.so of this machine: build it with this command, or leave "
          "--library out.";
    } else {
      found.code = exit_code::fine;
    }
    return found;
  }
  found.why = wish.empty()
                  ? "It is neither beside this command nor in " STRATA_LIBRARY_FOLDER
                    " from there: build it by cmake --build build --target strata_inject, or name "
                    "it by --library."
                  : "There is no such library: check its path, or leave --library out.";
  return found;
}

/// What runs a program: the file itself, or the interpreter that a script names.
std::string binary_of(std::string path) {
  constexpr int max_scripts = 4;  // as the kernel follows them
  for (int i = 0; i < max_scripts; ++i) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    if (file.get() != '#' || file.get() != '!' || !std::getline(file, line)) break;
    std::size_t const begin = (std::min)(line.find_first_not_of(" \t"), line.size());
    path = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  }
  return path;
}

/// How a program gets its libraries.
enum class linking { by_glibc, by_musl, none };

/// Other files than programs of 64 bits are left to the kernel and to the loader.
linking linking_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head{};
  bool const is_elf = read_elf_header(file, head);
  std::string loader = fs::path(path).filename().string();
  bool const is_loader = loader.compare(0, 2, "ld") == 0;
  if (!is_elf || head.e_phentsize != sizeof(Elf64_Phdr)) return linking::by_glibc;
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  bool found = is_loader;
  for (unsigned i = 0; i < head.e_phnum && !found; ++i) {
    Elf64_Phdr part{};
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    found = !file || part.p_type == PT_INTERP;
    if (!file || part.p_type != PT_INTERP || part.p_filesz > PATH_MAX) continue;
    std::string name(part.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    file.read(&name[0], static_cast<std::streamsize>(name.size()));
    loader = fs::path(name.c_str()).filename().string();
  }
  if (!found) return linking::none;
  return loader.compare(0, 7, "ld-musl") == 0 ? linking::by_musl : linking::by_glibc;
}

/// Whether programs that are linked to musl run on this machine.
bool has_musl() {
  std::error_code error;
  for (fs::directory_entry const& file : fs::directory_iterator("/lib", error))
    if (file.path().filename().string().compare(0, 7, "ld-musl") == 0) return true;
  return false;
}

/// A path by which glibc's loader finds a library, and that of musl does not: a program ends where
/// musl's loads what is linked to glibc. glibc's replaces $ORIGIN by the folder of the program.
std::string path_for_glibc(std::string const& library) {
  constexpr int max_folders = 64;
  std::string path = "$ORIGIN";
  for (int i = 0; i < max_folders; ++i) path += "/..";
  return path + library;
}

/// Whether a variable names a tool, and not this library.
bool names_other_tool(char const* variable, std::string const& library) {
  char const* const value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return false;
  std::error_code error;
  return fs::canonical(value, error) != fs::path(library);
}

/// The program and its children load the library, whichever way comes first.
void set_environment(std::string const& library, bool beside_musl, std::string const& request) {
  char const* const others = std::getenv("LD_PRELOAD");
  bool const alone = others == nullptr || *others == '\0';
  std::string const path = beside_musl ? path_for_glibc(library) : library;
  setenv("LD_PRELOAD", (alone ? path : path + ":" + others).c_str(), 1);
  // A program that is linked to a shared ASan ends where another library comes before it. Ours
  // replaces no function.
  char const* const asan = std::getenv("ASAN_OPTIONS");
  std::string const order = "verify_asan_link_order=0";
  setenv("ASAN_OPTIONS", (asan == nullptr ? order : order + ":" + asan).c_str(), 1);
  setenv("CUDA_INJECTION64_PATH", library.c_str(), 1);
  setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
  setenv("STRATA", request.c_str(), 1);
  setenv("STRATA_DETAIL_RUN", std::to_string(getpid()).c_str(), 1);
}

class run_command final : public subcommand {
 public:
  char const* name() const override { return "run"; }
  char const* about() const override { return "Record a program as it is, without a rebuild"; }
  char const* usage() const override {
    return "Usage: strata run [OPTIONS] [KEY=VALUE ...] -- PROGRAM [ARGUMENTS ...]";
  }
  std::string details() const override {
    return "The program is what follows --, with its arguments; KEY=VALUE is a key of STRATA=,\n"
           "of which those of the environment come first. strata help lists them.\n\n"
           "  strata run -- python3 train.py\n"
           "  strata run --steps 'Train step' --counters findings -- python3 train.py\n"
           "  strata run --for 30s --out run1 sort=order -- ./server 8080\n"
           "  strata run --idle -- ./server 8080     # strata attach PID records a window\n\n"
           "A program that is killed leaves a recording: strata report takes its folder.\n"
           "The exit code is the program's; 126: it cannot be run; 127: there is none.";
  }
  void declare(arguments& takes) override {
    auto const text = [](std::string& field) {
      return [&field](std::string const& given) {
        field = given;
        return true;
      };
    };
    takes.option("--counters", text(counters_), "names joined by +, such as findings",
                 "hardware counters joined by +, such as findings");
    takes.option("--steps", text(steps_), "the name of a range, such as 'Train step'",
                 "the range whose calls are the steps, such as 'Train step'; or graph, sync, auto");
    takes.folder("--out", out_, "the folder of the files: strata-out");
    takes.option("--every", text(every_), "a number of steps, such as 100",
                 "a window of steps at the end of each so many");
    auto const take = [this](std::string const& text) {
      seconds_ = seconds_of(text);
      return seconds_ != 0;
    };
    takes.option("--for", take, "a time such as 30s, 5m or 2h",
                 "how long it is recorded: then the report comes, and the program continues");
    takes.flag("--idle", idle_,
               "record nothing until strata attach PID asks for a window of 10 steps (active=10)");
    takes.option("--library", library_, "libstrata_inject.so, where it is not beside this command");
    takes.rest("KEY=VALUE", keys_, 0, "more keys of STRATA=, such as skip=10");
  }
  void set_program(char** words) override { program_ = words; }

  exit_code run() override {
    if (program_ == nullptr || *program_ == nullptr) return refuse_no_program();
    std::string request = has_key("live") && !has_key("trace") ? "" : "trace,";
    request += "formats=table+csv+json+trace+recording";
    if (idle_) request += ",step=auto,active=10,trigger=" + trigger_file();
    if (char const* const given = std::getenv("STRATA")) request += std::string(",") + given;
    if (!add("counters", counters_) || !add("step", steps_) || !add("every", every_) ||
        !is_one_value(out_))
      return exit_code::unusable;
    constexpr std::string_view variable = "STRATA=";
    if (seconds_ != 0) keys_.push_back("for=" + std::to_string(seconds_));
    for (std::string& key : keys_) {
      if (key.compare(0, variable.size(), variable) == 0) key.erase(0, variable.size());
      request += "," + key;
    }
    if (!is_sound(request)) return exit_code::unusable;
    return become_program(request + ",out=" + folder_from_root(request));
  }

 private:
  exit_code refuse_no_program() const {
    // The keys end at the first word that is none.
    std::string keys;
    std::string program = "PROGRAM";
    for (std::string const& word : keys_) {
      strata::vec<std::string> problems;
      (void)strata::options::parse(word, problems);
      if (word.find('=') == word.npos && !problems.empty()) {
        program = word;
        break;
      }
      keys += strata::detail::shell_word(word) + ' ';
    }
    return refuse(name(), program == "PROGRAM" ? "nothing to run" : program,
                  "A program comes after --, as in strata run " + keys + "-- " +
                      strata::detail::shell_word(program));
  }

  bool has_key(std::string const& key) const {
    return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
  }
  /// An option is one key: a comma would begin another one.
  bool is_one_value(std::string const& value) const {
    if (value.find(',') == value.npos) return true;
    report_problem(name(), value, "A comma begins another key of STRATA=: lists are joined by +.");
    return false;
  }
  bool add(char const* key, std::string const& value) {
    if (value.empty()) return true;
    keys_.push_back(std::string(key) + "=" + value);
    return is_one_value(value);
  }

  /// Whether the session takes all of the request: who waits for a run learns of a mistake before.
  bool is_sound(std::string const& request) const {
    constexpr std::string_view prefix = "STRATA: ";
    strata::vec<std::string> problems;
    strata::options const wanted = strata::options::parse(request, problems);
    strata::vec<strata::status> unknown;
    if (!wanted.counters.empty())
      (void)strata::detail::pass_plan::is_known(wanted.counters, unknown);
    for (strata::status const& metric : unknown) problems.push_back(metric.message());
    for (std::string problem : problems) {
      if (problem.compare(0, prefix.size(), prefix) == 0) problem.erase(0, prefix.size());
      // "every=x" is ignored: every takes ...: here nothing is run.
      constexpr std::string_view ignored = "\" is ignored: ";
      std::size_t const end = problem.find(ignored);
      bool const is_key = problem[0] == '"' && end != problem.npos;
      report_problem(name(), is_key ? problem.substr(1, end - 1) : "STRATA",
                     is_key ? problem.substr(end + ignored.size()) : problem);
    }
    return problems.empty();
  }

  /// A file of this process, which is to be the program's.
  static std::string trigger_file() {
    std::string folder = "/tmp";
    for (char const* const variable : {"TMPDIR", "XDG_RUNTIME_DIR"}) {
      std::error_code error;
      char const* const value = std::getenv(variable);
      bool const is_folder = value != nullptr && *value == '/' && fs::is_directory(value, error);
      if (is_folder && std::strchr(value, ',') == nullptr) folder = value;
    }
    folder += "/strata-" + std::to_string(getpid());
    return folder + ".trigger";
  }

  /// The folder of the files by its whole path: the program may change its own before it records.
  std::string folder_from_root(std::string const& request) const {
    strata::vec<std::string> said;
    std::string const out = out_.empty() ? strata::options::parse(request, said).out : out_;
    if (out.empty() || out.front() == '~') return out;
    std::error_code error;
    std::string const path = fs::absolute(out, error).string();
    bool const is_value = !error && path.find(',') == path.npos;  // a comma would end it
    return is_value ? path : out;
  }

  exit_code refuse_file(found_file const& file) const {
    report_problem(name(), file.path, file.why);
    return file.code;
  }

  /// Returns: where the program cannot be run.
  exit_code become_program(std::string const& request) const {
    found_file const program = find_program(*program_);
    if (program.code != exit_code::fine) return refuse_file(program);
    found_file const library = find_library(library_);
    if (library.code != exit_code::fine) return refuse_file(library);
    for (char const* const variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
      if (names_other_tool(variable, library.path))
        return refuse(name(), variable, "It names another tool, and one is loaded: unset it.");
    linking const linked = linking_of(binary_of(program.path));
    if (linked == linking::none)
      report_problem(
          name(), program.path,
          "It is linked statically, and no library can be loaded into it: nothing of it is "
          "recorded, but the programs that it starts are.");
    if (linked == linking::by_musl)
      report_problem(
          name(), program.path,
          "It is linked to musl, and the library to glibc: nothing of it is recorded, but the "
          "programs that it starts are, where they are linked to glibc.");
    bool const beside_musl = linked == linking::by_musl || has_musl();
    bool const is_named = !library_.empty() && library.path.find(',') == library.path.npos;
    set_environment(library.path, beside_musl,
                    is_named ? request + ",library=" + library.path : request);
    (void)execv(program.path.c_str(), program_);
    std::string why = std::string("It cannot be run: ") + std::strerror(errno) +
                      "; see whether it runs without strata run.";
    if (errno == ENOEXEC) why = "It is no program of this machine: begin a script with #!/bin/sh.";
    if (errno == ENOENT) why = "Its interpreter is missing: see its first line.";
    return refuse_file({program.path, why, exit_code::not_runnable});
  }

  std::string counters_;
  std::string steps_;
  std::string out_;
  std::string every_;
  bool idle_ = false;
  std::string library_;
  std::vector<std::string> keys_;
  unsigned long seconds_ = 0;
  char** program_ = nullptr;  // its words, and null behind them
};

}  // namespace

subcommand_pointer make_run() { return std::make_unique<run_command>(); }

}  // namespace tools
