#include "files.hpp"

#include <strata/report/report_input.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table_input.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

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

}  // namespace

bool read_recording(char const* command, std::string const& path, strata::profile& recorded,
                    strata::recording_view wanted) {
  std::string file = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    file = first_file(path, {recording_name, recording_part_name});
    if (file.empty()) {
      refuse(command, path, no_recording(path));
      return false;
    }
  }
  strata::status const outcome = strata::read_recording_file(file, recorded, wanted);
  if (!outcome.ok()) refuse(command, file, outcome.message());
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

std::string profile_json(strata::profile const& recorded) {
  std::string text;
  strata::profile_tables tables(recorded);
  strata::report_input input(std::move(tables.input()));
  input.find_answer(tables.folded());
  strata::detail::text_writer out(text);
  strata::write_json(out, input);
  out.flush();
  return text;
}

std::string read_file(std::string const& path, std::string& text) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return std::string("It cannot be opened: ") + std::strerror(errno) + '.';
  char part[1 << 16];
  for (std::size_t got; text.size() <= most && (got = std::fread(part, 1, sizeof part, file)) > 0;)
    text.append(part, got);
  bool const broken = std::ferror(file) != 0;
  std::fclose(file);
  if (broken) return "It cannot be read.";
  return text.size() > most ? "It has more than 1 GiB: record fewer steps." : "";
}

bool write_file(char const* command, std::string const& path,
                std::function<void(strata::detail::text_writer&)> const& write) {
  if (path.empty()) return true;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  int problem = file == nullptr ? errno : 0;
  if (file != nullptr) {
    {
      strata::detail::text_writer out(file);
      write(out);
      if (!out.flush()) problem = out.error();
    }
    if (std::fclose(file) != 0 && problem == 0) problem = errno;
  }
  if (problem == 0) return true;
  refuse(command, path, std::string("It cannot be written: ") + std::strerror(problem) + '.');
  return false;
}

}  // namespace tools
