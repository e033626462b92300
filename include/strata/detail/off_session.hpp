#include <strata/version.hpp>
#ifndef STRATA_DETAIL_OFF_SESSION_HPP
#define STRATA_DETAIL_OFF_SESSION_HPP

// The twin of session.hpp's session for STRATA_ENABLED=0: it collects nothing and says so.

#include <strata/config.hpp>
#include <strata/configuration.hpp>
#include <strata/detail/vec.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <string>
#include <utility>

STRATA_BEGIN_SWITCH

class session {
 public:
  explicit session(configuration how = {}) : how_(std::move(how)) {}
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  ~session() {}

  status start() { return {errc::unavailable, "Strata is compiled out (STRATA_ENABLED=0)"}; }
  void stop() noexcept {}
  bool running() const noexcept { return false; }
  configuration const& how() const noexcept { return how_; }
  profile const& result() noexcept { return profile_; }
  vec<status> const& problems() const noexcept { return problems_; }
  status report() { return start(); }

 private:
  configuration how_;
  profile profile_;
  vec<status> problems_;
};

STRATA_END_SWITCH

#endif  // STRATA_DETAIL_OFF_SESSION_HPP
