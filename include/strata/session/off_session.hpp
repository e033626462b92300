#include <strata/version.hpp>
#ifndef STRATA_SESSION_OFF_SESSION_HPP
#define STRATA_SESSION_OFF_SESSION_HPP

// The twins of session.hpp for STRATA_ENABLED=0: they collect nothing and say so, and need no
// implementation.

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/options.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <string_view>

STRATA_BEGIN_SWITCH

/// The body of the loop, or of `replay`, runs once.
class counter_passes {
 public:
  class pass {
   public:
    pass() = default;
    pass(pass const&) = delete;
    pass& operator=(pass const&) = delete;
    ~pass() {}
  };
  class iterator {
   public:
    pass operator*() const noexcept { return {}; }
    iterator& operator++() noexcept {
      ran_ = true;
      return *this;
    }
    bool operator!=(iterator const&) const noexcept { return !ran_; }

   private:
    bool ran_ = false;
  };
  iterator begin() const noexcept { return {}; }
  iterator end() const noexcept { return {}; }

  template <class Body>
  status replay(Body&& body) {
    body();
    return off();
  }
  template <class Body>
  status replay(Body&& body, repeatable_t) {
    body();
    return off();
  }
  std::size_t passes() const noexcept { return 0; }
  std::size_t passes_done() const noexcept { return 0; }
  bool done() const noexcept { return true; }

  static status off() { return {errc::unavailable, "Strata is compiled out (STRATA_ENABLED=0)"}; }
};

class session {
 public:
  session() = default;
  explicit session(configuration const& how) : how_(how) {}
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  ~session() {}

  status start() { return counter_passes::off(); }
  void stop() noexcept {}
  bool running() const noexcept { return false; }
  configuration const& how() const noexcept { return how_; }
  counter_passes counters(std::string_view) const noexcept { return {}; }
  /// An empty profile; asking for it needs <strata/profile.hpp>.
  template <class Profile = strata::profile>
  Profile const& result() const noexcept {
    static Profile const empty{};
    return empty;
  }
  vec<status> const& problems() const noexcept { return problems_; }
  status report() { return start(); }

 private:
  configuration how_;
  vec<status> problems_;
};

STRATA_END_SWITCH

#endif  // STRATA_SESSION_OFF_SESSION_HPP
