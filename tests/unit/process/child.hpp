// Runs programs of the folder that the test lies in, in an environment of their own, and tells how
// they ended.
#ifndef STRATA_TESTS_UNIT_PROCESS_CHILD_HPP
#define STRATA_TESTS_UNIT_PROCESS_CHILD_HPP

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../work_folder.hpp"

extern char** environ;

namespace processes {

namespace fs = std::filesystem;
using test::content;
using test::touch;
using test::work_folder;
using texts = std::vector<std::string>;

struct ending {
  int code = -1;   // of a process that ended by exit
  int signal = 0;  // that ended it
  std::string out;
  std::string err;
};

inline std::string program(std::string const& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
}

/// Whether cases with NVTX's header can run; where they cannot, the account of run.sh says so.
inline bool with_nvtx(bool here) {
  static bool told = false;
  if (!here && !told) std::puts("LEFT OUT: cases with NVTX: no nvtx3/nvToolsExt.h here");
  told = told || !here;
  return here;
}

inline std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

inline bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// What a program inherits: nothing that decides what is profiled.
inline texts clean_environment() {
  texts kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string const text = *entry;
    bool stays = true;
    for (char const* prefix : {"STRATA", "NVTX", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                               "SLURM_PROCID", "RANK=", "LOCAL_RANK=", "COLUMNS"})
      stays = stays && text.compare(0, std::string(prefix).size(), prefix) != 0;
    if (stays) kept.push_back(text);
  }
  return kept;
}

/// Runs a program to its end. When its output says `ready` it gets the signals, one each time.
inline ending run(texts command, texts more_environment = {}, std::vector<int> const& signals = {},
                  unsigned deadline_s = 240) {
  // The leak check of a forked child waits for ever where another thread held the allocator's lock.
  if (command.size() > 1 && command[1].compare(0, 4, "fork") == 0)
    more_environment.push_back("ASAN_OPTIONS=detect_leaks=0");
  texts environment = clean_environment();
  for (std::string const& each : more_environment) {  // of two values the first one counts
    std::string const name = each.substr(0, each.find('=') + 1);
    environment.erase(std::remove_if(environment.begin(), environment.end(),
                                     [&](std::string const& known) {
                                       return known.compare(0, name.size(), name) == 0;
                                     }),
                      environment.end());
  }
  environment.insert(environment.end(), more_environment.begin(), more_environment.end());
  std::vector<char*> arguments;
  for (std::string& text : command) arguments.push_back(&text[0]);
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (std::string& text : environment) variables.push_back(&text[0]);
  variables.push_back(nullptr);

  int out[2];
  int err[2];
  REQUIRE(pipe2(out, O_CLOEXEC) == 0);
  REQUIRE(pipe2(err, O_CLOEXEC) == 0);
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(out[1], 1);
    dup2(err[1], 2);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGABRT, SIGSEGV, SIGPIPE})
      std::signal(signal, SIG_DFL);
    setpgid(0, 0);
    alarm(deadline_s);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  ending result;
  std::size_t sent = 0;
  pollfd open[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  // A forked child has no alarm, and keeps the pipes open.
  int const patience_ms = static_cast<int>(deadline_s + 10) * 1000;
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    int const ready = poll(open, 2, patience_ms);
    if (ready == 0) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      result.err += "\nneither output nor end in time: killed\n";
      break;
    }
    if (ready < 0) continue;
    for (pollfd& each : open) {
      if (each.fd < 0 || each.revents == 0) continue;
      char buffer[4096];
      ssize_t const size = read(each.fd, buffer, sizeof buffer);
      if (size <= 0) {
        each.fd = -1;
      } else {
        (&each == open ? result.out : result.err).append(buffer, static_cast<std::size_t>(size));
      }
    }
    while (sent < signals.size() && count_of(result.out, "ready\n") > sent)
      kill(child, signals[sent++]);
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

/// How many reports were printed.
inline std::size_t reports_in(ending const& e) { return count_of(e.err, "\ncost: "); }

using call_counts = std::map<std::string, std::uint64_t>;

/// A column by path, from the file `ranges.csv` of a folder. The names hold neither commas nor
/// quotes.
inline call_counts values_in(std::string const& folder, std::string const& name,
                             std::string* rank = nullptr) {
  call_counts values;
  std::ifstream file(folder + "/ranges.csv");
  std::string line;
  std::map<std::string, std::size_t> column;
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    texts cells(1);
    for (char const c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    if (column.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) column[cells[i]] = i;
      continue;
    }
    if (rank != nullptr) *rank = cells.at(column.at("rank"));
    std::string const& path = cells.at(column.at("path"));
    std::string const& value = cells.at(column.at(name));
    if (!path.empty() && !value.empty()) values[path] = std::stoull(value);
  }
  return values;
}
inline call_counts calls_in(std::string const& folder, std::string* rank = nullptr) {
  return values_in(folder, "calls", rank);
}

}  // namespace processes

#endif  // STRATA_TESTS_UNIT_PROCESS_CHILD_HPP
