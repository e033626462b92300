#include <strata/version.hpp>
#ifndef STRATA_SESSION_ENVIRONMENT_SESSION_HPP
#define STRATA_SESSION_ENVIRONMENT_SESSION_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/device_chip.hpp>
#include <strata/options.hpp>
#include <strata/session/exit_hooks.hpp>
#include <strata/session/list_metrics.hpp>
#include <strata/session/nvtx_input.hpp>
#include <strata/session/session_core.hpp>
#include <strata/status.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

STRATA_BEGIN

namespace detail {

/// The session that STRATA=... asks for: begun by the first range, reported when the process ends.
/// With nvtx=in it begins before main, since a program may have no other ranges than NVTX's, and
/// NVTX must know where to send them.
class environment_session {
 public:
  static bool start() noexcept {
    vec<std::string> problems;
    char const* const text = std::getenv("STRATA");
    configuration const how = configuration::parse(text == nullptr ? "" : text, problems);
    for (std::string const& problem : problems) say(problem.c_str());
    if (how.list_metrics) {
      std::string const chip = how.chip.empty() ? chip_of_device() : how.chip;
      if (chip.empty()) {
        say("list-metrics finds no GPU here: name a chip, as in list-metrics,chip=GH100");
      } else {
        std::fputs((list_metrics(chip) + '\n').c_str(), stderr);
      }
      std::fputs(list_cpu_metrics().c_str(), stderr);
      return false;
    }
    if (!how.enabled) return false;
    auto* const made = new session_core(how);
    current() = made;
    status const outcome = made->start();
    for (std::string& problem : problems) made->add_said_problem(std::move(problem));
    if (!outcome.ok()) {
      say(outcome.message().c_str());
      return false;
    }
    exit_hooks::install(&finish);
    return true;
  }

  /// True.
  static bool start_for_nvtx() noexcept {
    char const* const text = std::getenv("STRATA");
    if (text == nullptr || std::strstr(text, "nvtx") == nullptr) return true;
    vec<std::string> told_later;
    if (configuration::parse(text, told_later).nvtx_in() && !nvtx_input::is_the_tool())
      (void)decide_listener();
    return true;
  }

 private:
  static session_core*& current() noexcept {
    static session_core* the = nullptr;
    return the;
  }

  static void finish(bool at_exit) {
    session_core& the = *current();
    (void)the.report();
    if (at_exit && the.how().strict && !the.problems().empty()) {
      std::fflush(nullptr);
      std::_Exit(3);
    }
  }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_ENVIRONMENT_SESSION_HPP
