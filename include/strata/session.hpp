#include <strata/version.hpp>
#ifndef STRATA_SESSION_HPP
#define STRATA_SESSION_HPP

// A session in code. This header declares it; <strata/implementation.hpp>, which one source file of
// the program compiles, has the implementation. Reading the profile needs <strata/profile.hpp>.

#include <strata/options.hpp>
#include <strata/status.hpp>

STRATA_BEGIN

struct profile;

/// An argument of `replay`: its body may run several times with the same outcome.
struct repeatable_t {};
inline constexpr repeatable_t repeatable{};

STRATA_END

#if !STRATA_ENABLED

// The same classes for STRATA_ENABLED=0: they collect nothing, say so, and need no implementation.

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
  explicit session(strata::options const& wanted) : options_(wanted) {}
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  ~session() {}

  status start() { return counter_passes::off(); }
  void stop() noexcept {}
  bool running() const noexcept { return false; }
  strata::options const& options() const noexcept { return options_; }
  counter_passes counters(std::string_view) const noexcept { return {}; }
  /// An empty profile; asking for it needs <strata/profile.hpp>.
  template <class Profile = strata::profile>
  Profile const& profile() const noexcept {
    static Profile const empty{};
    return empty;
  }
  vec<status> const& problems() const noexcept { return problems_; }
  status report() { return start(); }

 private:
  strata::options options_;
  vec<status> problems_;
};

STRATA_END_SWITCH

#else

STRATA_BEGIN

namespace detail {
class counter_collector;
class session_core;
}  // namespace detail

STRATA_END

STRATA_BEGIN_SWITCH

/// Passes of hardware counters that the program drives itself: `for (auto const& pass : passes)
/// step();` or `passes.replay(step)`. It is valid as long as its session. Threads: the one whose
/// ranges are counted.
class STRATA_DETAIL_EXPORT counter_passes {
 public:
  /// One pass of a loop. It ends with the body, and counts when the loop continues: `break`,
  /// `return` or an exception discard it.
  class pass {
   public:
    pass(pass const&) = delete;
    pass& operator=(pass const&) = delete;
    ~pass() { owner_->end_pass(); }

   private:
    friend class counter_passes;
    explicit pass(counter_passes& owner) : owner_(&owner) { owner.begin_pass(); }
    counter_passes* owner_;
  };

  class iterator {
   public:
    pass operator*() {
      ran_ = true;
      return pass(*owner_);
    }
    iterator& operator++() {
      owner_->accept_pass();
      return *this;
    }
    /// Whether the body runs (again). It runs once when nothing can be counted.
    bool operator!=(iterator const&) const noexcept { return !ran_ || !owner_->done(); }

   private:
    friend class counter_passes;
    explicit iterator(counter_passes& owner) : owner_(&owner) {}
    counter_passes* owner_;
    bool ran_ = false;
  };

  iterator begin() { return iterator(*this); }
  iterator end() { return iterator(*this); }

  /// Runs `body` once and counts it. Requests that take several passes are refused, since the body
  /// may change its own input. Errors: bad_argument: the request was refused, and the body ran
  /// uncounted; those of a pass.
  template <class Body>
  status replay(Body&& body) {
    auto call = [&body] { body(); };
    return replay_once(&run<decltype(call)>, &call);
  }
  /// Runs `body` once for each pass, at least once.
  template <class Body>
  status replay(Body&& body, repeatable_t) {
    auto call = [&body] { body(); };
    return replay_all(&run<decltype(call)>, &call);
  }

  /// How many passes the request takes, which is how often the body runs.
  std::size_t passes() const noexcept;
  std::size_t passes_done() const noexcept;
  bool done() const noexcept;

 private:
  friend class session;
  using body_function = void(void* body);

  template <class Call>
  static void run(void* call) {
    (*static_cast<Call*>(call))();
  }

  explicit counter_passes(detail::counter_collector& collector) noexcept : collector_(&collector) {}
  void begin_pass();
  void end_pass() noexcept;
  void accept_pass();
  status replay_once(body_function* run, void* body);
  status replay_all(body_function* run, void* body);

  detail::counter_collector* collector_;
};

/// Collects while it runs, then makes a profile and its reports.
/// One session runs in a process at a time; `start` of a second one returns an error and does
/// nothing. Nothing throws, nothing exits. Threads: one thread uses it; ranges come from any.
class STRATA_DETAIL_EXPORT session {
 public:
  session();
  explicit session(strata::options const& wanted);
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  /// Stops the run and writes nothing: that is what `report` is for.
  ~session();

  /// Begins to collect. What is not available (no driver, say) is left out; `problems` says why.
  /// Errors: bad_argument when options().enabled is false; busy when another session runs, or a
  /// step of the last one is still in CUPTI or the driver, after `drain=` ms; unavailable in a
  /// forked child of a process that has started one. Cost: microseconds; the start of CUPTI where
  /// the program uses CUDA, else when it begins to.
  status start();

  /// Waits for the GPU, collects its records and ends. Then ranges cost an idle range's time again.
  void stop();

  bool running() const noexcept;
  strata::options const& options() const noexcept;

  /// Hardware counters for passes that the program drives itself:
  /// `for (auto const& pass : run.counters("hbm+l1")) step();` or
  /// `run.counters("hbm").replay(step)`. Another request in the same run is refused. `problems`
  /// says what went wrong. Requires: a CUDA context in this thread. Threads: the one of the ranges
  /// that are counted.
  counter_passes counters(std::string_view request);

  /// Everything that the last run produced; stops it first.
  strata::profile const& profile();

  /// What could not be done, one sentence each.
  vec<status> const& problems() const noexcept;

  /// Writes the files and prints the table that the options ask for; stops the run first.
  /// Errors: input_output; the table is printed all the same. Those of a refused `start`, and
  /// bad_argument where there was none: nothing is written.
  status report();

 private:
  detail::session_core* core_;
};

STRATA_END_SWITCH

#endif  // STRATA_ENABLED
#endif  // STRATA_SESSION_HPP
