#include <strata/version.hpp>
#ifndef STRATA_DETAIL_ENVIRONMENT_SESSION_HPP
#define STRATA_DETAIL_ENVIRONMENT_SESSION_HPP

#include <strata/config.hpp>
#if STRATA_ENABLED

#include <strata/configuration.hpp>
#include <strata/detail/device_chip.hpp>
#include <strata/detail/exit_hooks.hpp>
#include <strata/detail/process.hpp>
#include <strata/list_metrics.hpp>
#include <strata/session.hpp>
#include <strata/status.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN

namespace detail {

/// The session that STRATA=... asks for: begun by the first range, reported when the process ends.
class environment_session {
 public:
  static bool start() noexcept {
    std::vector<std::string> problems;
    char const* const text = std::getenv("STRATA");
    configuration const how = configuration::parse(text == nullptr ? "" : text, problems);
    for (std::string const& problem : problems) say(problem.c_str());
    if (how.list_metrics) {
      std::fputs(list_metrics(how.chip.empty() ? chip_of_device() : how.chip).c_str(), stderr);
      return false;
    }
    if (!how.enabled) return false;
    auto* const made = new session(how);
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

 private:
  static session*& current() noexcept {
    static session* the = nullptr;
    return the;
  }

  static void finish(bool at_exit) {
    session& the = *current();
    (void)the.report();
    if (at_exit && the.how().strict && !the.problems().empty()) {
      std::fflush(nullptr);
      std::_Exit(3);
    }
  }
};

/// Tells the first range that a session can be started.
inline bool const session_registered = register_session(&environment_session::start);

}  // namespace detail

STRATA_END

#endif  // STRATA_ENABLED
#endif  // STRATA_DETAIL_ENVIRONMENT_SESSION_HPP
