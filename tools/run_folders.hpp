// Folders that ranks and runs leave behind: whose they are, and which run of several is the newest.
#ifndef STRATA_TOOLS_RUN_FOLDERS_HPP
#define STRATA_TOOLS_RUN_FOLDERS_HPP

#include <strata/base/text.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

inline std::string folder_of(std::string const& file) {
  return file.substr(0, file.find_last_of('/'));
}

/// The rank whose folder it is, by its name: 3 of run/rank3 and run/rank3-2; -1 of another name.
inline std::int32_t rank_of_folder(std::string const& folder) {
  std::string const name = folder.substr(folder.find_last_of('/') + 1);
  constexpr std::string_view word = "rank";
  std::size_t end = word.size();
  while (end < name.size() && strata::detail::is_digit(name[end])) ++end;
  bool const is_rank = name.compare(0, word.size(), word) == 0 && end > word.size() &&
                       end < word.size() + 7 && (end == name.size() || name[end] == '-');
  return is_rank ? std::stoi(name.substr(word.size(), end - word.size())) : -1;
}

/// Whether another run had its folder already: run/rank3-2.
inline bool is_of_later_run(std::string const& folder) {
  return rank_of_folder(folder) >= 0 &&
         folder.find('-', folder.find_last_of('/') + 1) != folder.npos;
}

/// When the newest run began of those that recorded from and until these times: ranks of one run
/// record at the same time. 0 where all belong to one run, or it is not known.
inline std::int64_t begin_of_newest(std::vector<std::pair<std::int64_t, std::int64_t>> times) {
  std::sort(times.begin(), times.end());
  std::int64_t newest = 0;
  std::int64_t end = times.empty() ? 0 : times.front().second;
  for (auto const& [began_at, ended_at] : times) {
    if (began_at == 0) return 0;
    if (began_at > end) newest = began_at;
    end = (std::max)(end, ended_at);
  }
  return newest;
}

/// What is said of a folder that several runs wrote into. `is_done`: what the newest one is.
inline std::string about_newest(char const* is_done, std::size_t kept, std::size_t left_out) {
  return std::string("Several runs wrote into this folder: the newest one is ") + is_done +
         " (recordings: " + std::to_string(kept) +
         "; older ones, left out: " + std::to_string(left_out) +
         "). Give each run an out= of its own.";
}

}  // namespace tools

#endif  // STRATA_TOOLS_RUN_FOLDERS_HPP
