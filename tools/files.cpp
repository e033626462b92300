#include "files.hpp"

#include <strata/tables/kernel_names.hpp>
#include "recording/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tools {
namespace {

namespace fs = std::filesystem;

/// The names of the folders in one that have a recording, in order.
std::vector<std::string> folders_with_recording(std::string const& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code absent;
    if (fs::exists(entry->path() / recording_name, absent) ||
        fs::exists(entry->path() / recording_part_name, absent))
      names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The first of these files that a folder has; empty where it has none.
std::string first_file(fs::path const& folder, std::vector<std::string> const& names) {
  std::error_code error;
  for (std::string const& name : names)
    if (fs::exists(folder / name, error)) return (folder / name).string();
  return {};
}

/// Whether an entry is a link to another of its folder, as NAME-latest is: that one is there by
/// itself.
bool leads_beside(fs::directory_entry const& entry) {
  std::error_code error;
  if (!entry.is_symlink(error)) return false;
  fs::path const target = fs::canonical(entry.path(), error);
  return !error && target.parent_path() == fs::canonical(entry.path().parent_path(), error);
}

/// Why a folder is no run.
std::string no_recording(std::string const& path) {
  std::vector<std::string> const names = folders_with_recording(path);
  if (names.empty())
    return "The folder has no profile.strata: record with STRATA=trace,formats=table+recording.";
  std::string text = "The folder has no profile.strata, and its folders have: name one, such as ";
  return text + names.front() + ".";
}

/// Whether what stands for a name in C++ can be far longer than it: each reference to an earlier
/// part may double the text.
bool may_double(std::string const& mangled) {
  constexpr std::size_t max_references = 12;
  std::size_t references = 0;
  bool within = false;
  for (char const c : mangled) {
    if (c == 'S' || c == 'T') {
      within = true;
    } else if (c == '_') {
      references += within;
      within = false;
    } else {
      within = within && ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'));
    }
  }
  return mangled.compare(0, 2, "_Z") == 0 && references > max_references;
}

/// In another process, one second of the CPU at most: a byte for each name, whether it is short
/// enough in C++. Returns: the bytes; where the process ended within a name, they end there.
std::string judge_names(std::vector<std::string*> const& names, std::size_t begin) {
  constexpr std::size_t longest = std::size_t{1} << 16;
  int ends[2];
  if (::pipe(ends) != 0) return {};
  pid_t const child = ::fork();
  if (child == 0) {
    rlimit const second{1, 1};
    rlimit const nothing{0, 0};
    (void)::setrlimit(RLIMIT_CPU, &second);
    (void)::setrlimit(RLIMIT_CORE, &nothing);
#if !defined(__SANITIZE_ADDRESS__)
    rlimit const gibibyte{rlim_t{1} << 30, rlim_t{1} << 30};
    (void)::setrlimit(RLIMIT_AS, &gibibyte);
#endif
    for (std::size_t i = begin; i < names.size(); ++i) {
      char const is_short = strata::detail::demangled_text(*names[i]).size() <= longest ? 'y' : 'n';
      if (::write(ends[1], &is_short, 1) != 1) break;
    }
    ::_exit(0);
  }
  (void)::close(ends[1]);
  std::string judged;
  char part[4096];
  for (ssize_t got; child > 0;) {
    got = ::read(ends[0], part, sizeof part);
    if (got > 0) judged.append(part, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  (void)::close(ends[0]);
  if (child > 0)
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return judged;
}

/// The demangler has no limit: a name of 300 bytes can stand for gigabytes. Such a name stays as it
/// is recorded.
void keep_names_short(strata::profile& recorded) {
  std::vector<std::string*> names;
  for (strata::kernel_name& name : recorded.kernel_names) {
    if (may_double(name.mangled)) names.push_back(&name.mangled);
  }
  constexpr int max_attempts = 3;  // after that the rest is not tried
  std::string judged;
  for (int attempt = 0; judged.size() < names.size() && attempt < max_attempts; ++attempt) {
    judged += judge_names(names, judged.size());
    if (judged.size() < names.size()) judged += 'n';
  }
  judged.resize(names.size(), 'n');
  for (std::size_t i = 0; i < names.size(); ++i)
    if (judged[i] == 'n') names[i]->insert(0, "[too long in C++] ");
}

}  // namespace

strata::status read_recording(std::string_view bytes, strata::profile& recorded) {
  strata::status const outcome = strata::read_recording(bytes, recorded);
  if (outcome.ok()) keep_names_short(recorded);
  return outcome;
}

bool read_recording(char const* command, std::string const& path, strata::profile& recorded,
                    strata::recording_view wanted) {
  std::string file = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    file = first_file(path, {recording_name, recording_part_name});
    if (file.empty()) {
      report_problem(command, path, no_recording(path));
      return false;
    }
  }
  strata::status const outcome = strata::read_recording_file(file, recorded, wanted);
  if (!outcome.ok()) report_problem(command, file, outcome.message());
  if (outcome.ok()) keep_names_short(recorded);
  return outcome.ok();
}

std::vector<std::string> profiles_in(std::string const& path,
                                     std::vector<std::string> const& names) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  if (std::string own = first_file(path, names); !own.empty()) return {own};
  std::vector<std::string> found;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (leads_beside(*entry)) continue;
    if (std::string inner = first_file(entry->path(), names); !inner.empty())
      found.push_back(inner);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> folders_without(std::string const& path,
                                         std::vector<std::string> const& names) {
  std::error_code error;
  std::vector<std::string> found;
  if (!first_file(path, names).empty()) return found;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (leads_beside(*entry) || !fs::is_directory(entry->path(), unknown)) continue;
    if (first_file(entry->path(), names).empty()) found.push_back(entry->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string read_file(std::string const& path, std::string& text, expected_text what) {
  constexpr std::size_t most = std::size_t{1} << 30;
  strata::detail::input_file file;
  strata::status outcome = file.open(path);
  std::error_code error;
  if (what == expected_text::lines && fs::is_directory(path, error))
    return "It is a directory: name a file of lines.";
  if (!outcome.ok()) return outcome.message();
  std::string const begin = file.first_bytes();
  constexpr std::string_view magic = strata::detail::recording_magic;
  std::string_view const kind = strata::detail::kind_of_file(begin);
  std::string const seems = kind.empty() ? "" : ", it seems to be " + std::string(kind);
  bool const is_text = kind == "plain text" || kind == "JSON text";
  if (what == expected_text::profile && kind != "JSON text" &&
      begin.compare(0, magic.size(), magic) != 0)
    return "It is no profile.json and no recording of Strata" + seems +
           ": formats=json or formats=recording writes one.";
  if (what == expected_text::lines && !is_text && !begin.empty())
    return "It is no text" + seems + ": name a file of lines.";
  if (file.size() > most) return "It has more than 1 GiB: record fewer steps.";
  outcome = file.read_rest(most, text);
  if (!outcome.ok()) return outcome.message();
  return text.size() > most ? "It has more than 1 GiB: record fewer steps." : "";
}

std::string ending_of(std::string const& path) {
  std::string ending = fs::path(path).extension().string();
  for (char& letter : ending) letter = strata::detail::lower(letter);
  return ending;
}

std::string replace_file(std::string const& path,
                         std::function<std::string(std::string const&)> const& write) {
  namespace fs = std::filesystem;
  std::error_code error;
  bool const exists = fs::exists(path, error);
  if (exists && !fs::is_regular_file(path, error)) return write(path);
  // A link stays one, and what may not be written is not replaced.
  std::string const place = exists ? fs::canonical(path, error).string() : path;
  if (error) return error.message();
  if (exists && access(place.c_str(), W_OK) != 0) return std::strerror(errno);
  std::string const part = place + ".part";
  fs::remove(part, error);
  std::string problem = write(part);
  if (problem.empty()) {
    fs::rename(part, place, error);
    if (error) problem = error.message();
  }
  if (!problem.empty()) fs::remove(part, error);
  return problem;
}

bool write_file(char const* command, std::string const& path,
                std::function<void(strata::detail::text_writer&)> const& write) {
  if (path.empty()) return true;
  std::string const problem = replace_file(path, [&](std::string const& at) -> std::string {
    std::FILE* const file = std::fopen(at.c_str(), "wb");
    int failure = file == nullptr ? errno : 0;
    if (file != nullptr) {
      {
        strata::detail::text_writer out(file);
        write(out);
        if (!out.flush()) failure = out.error();
      }
      if (std::fclose(file) != 0 && failure == 0) failure = errno;
    }
    return failure == 0 ? "" : std::strerror(failure);
  });
  if (problem.empty()) return true;
  report_unwritten(command, path, problem);
  return false;
}

void report_unwritten(char const* command, std::string const& path, std::string const& problem) {
  report_problem(command, path,
                 "It cannot be written: " + problem +
                     "; name a place that is there, has space, and that you may write to.");
}

}  // namespace tools
