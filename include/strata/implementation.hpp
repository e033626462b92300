#include <strata/version.hpp>
#ifndef STRATA_IMPLEMENTATION_HPP
#define STRATA_IMPLEMENTATION_HPP

// The definitions of all of Strata's functions, and the session that STRATA= starts: strata.hpp
// includes it where STRATA_IMPLEMENTATION is defined, best in a file of its own, since this is what
// takes time to compile. Two in one program, or in each of several shared objects, do no harm.

#include <strata/base/macros.hpp>

#if STRATA_ENABLED

// Ranges go to NVTX's tools where NVTX's headers are, unless STRATA_WITHOUT_NVTX is defined.
#if defined(__has_include) && !defined(STRATA_WITHOUT_NVTX)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <strata/base/threads.hpp>
#include <strata/nvtx.hpp>
#endif
#endif

// What runs for a range or a launch, what writes reports, and the standard headers of the library
// come before the cold code: they keep the level of optimisation of the command line.
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <strata/c.h>
#include <strata/collect/cpu/perf_events.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>

// The functions of <strata/c.h>.

STRATA_BEGIN
namespace detail {

/// Whether this thread's step is open, and counts.
inline bool& c_step() noexcept {
  static thread_local bool open = false;
  return open;
}

/// A null name is a mistake that must not end the program.
inline char const* c_name(char const* name) noexcept { return name == nullptr ? "[null]" : name; }

inline void c_push(char const* name) { push(c_name(name)); }
inline void c_push_indexed(char const* name, long long index) { push(c_name(name), index); }
inline void c_pop() { pop(); }

inline void c_step_end() {
  if (!c_step()) return;
  c_step() = false;
  if (listener const* const active = active_listener()) active->step_end();
}

inline void c_step_begin() {
  c_step_end();
  if (listener const* const active = active_listener()) c_step() = active->step_begin();
}

inline constexpr strata_detail_c_calls c_calls{&c_push, &c_push_indexed, &c_pop, &c_step_begin,
                                               &c_step_end};

static_assert(offsetof(process_block, abi) == offsetof(strata_detail_c_block, abi) &&
                  offsetof(process_block, c_calls) == offsetof(strata_detail_c_block, calls),
              "c.h reads the beginning of the block");

}  // namespace detail
STRATA_END

STRATA_DETAIL_COLD_CODE

#include <strata/session/environment_session.hpp>
#include <strata/session/options_reader.hpp>
#include <strata/session/problem_log.hpp>
#include <strata/session/session_core.hpp>

#include <strata/session/table_reports.hpp>

STRATA_BEGIN_SWITCH

STRATA_DETAIL_BODY options options::parse(std::string_view text, vec<std::string>& problems) {
  options made;
  made.text = std::string(text);
  detail::options_reader(made, problems).read(text);
  return made;
}

STRATA_DETAIL_BODY std::size_t counter_passes::passes() const noexcept {
  return collector_->passes();
}
STRATA_DETAIL_BODY std::size_t counter_passes::passes_done() const noexcept {
  return collector_->passes_done();
}
STRATA_DETAIL_BODY bool counter_passes::done() const noexcept {
  return detail::in_forked_child() || collector_->done();
}
// In a forked child no pass begins or ends: the profiler is the parent's.
STRATA_DETAIL_BODY void counter_passes::begin_pass() {
  if (!detail::in_forked_child()) (void)collector_->begin_pass();
}
STRATA_DETAIL_BODY void counter_passes::end_pass() noexcept {
  if (!detail::in_forked_child()) collector_->stop_pass();
}
STRATA_DETAIL_BODY void counter_passes::accept_pass() {
  if (!detail::in_forked_child()) (void)collector_->accept_pass();
}
STRATA_DETAIL_BODY status counter_passes::replay_once(body_function* call, void* body) {
  if (!detail::in_forked_child()) return collector_->replay_once(call, body);
  call(body);
  return detail::child_is_silent();
}
STRATA_DETAIL_BODY status counter_passes::replay_all(body_function* call, void* body) {
  if (!detail::in_forked_child()) return collector_->replay_all(call, body);
  call(body);
  return detail::child_is_silent();
}

STRATA_DETAIL_BODY session::session() : session(strata::options()) {}
STRATA_DETAIL_BODY session::session(strata::options const& wanted)
    : core_(new detail::session_core(wanted)) {}
STRATA_DETAIL_BODY session::~session() {
  // A forked child leaves it alone, where leak checkers find it: the profiler is the parent's.
  static detail::atomic<detail::session_core const*> left_alone{nullptr};
  if (!detail::in_forked_child()) core_->stop();
  if (detail::in_forked_child() || !core_->may_go()) {
    left_alone.store(core_);
  } else {
    delete core_;
  }
}
STRATA_DETAIL_BODY status session::start() { return core_->start(); }
STRATA_DETAIL_BODY void session::stop() { core_->stop(); }
STRATA_DETAIL_BODY bool session::running() const noexcept { return core_->running(); }
STRATA_DETAIL_BODY strata::options const& session::options() const noexcept {
  return core_->options();
}
STRATA_DETAIL_BODY counter_passes session::counters(std::string_view request) {
  return counter_passes(core_->counters(request));
}
STRATA_DETAIL_BODY strata::profile const& session::profile() { return core_->profile(); }
STRATA_DETAIL_BODY vec<status> const& session::problems() const noexcept {
  return core_->problems();
}
STRATA_DETAIL_BODY status session::report() { return core_->report(); }

STRATA_END_SWITCH

#if !defined(STRATA_DETAIL_INJECTION)  // an injected library registers itself

STRATA_BEGIN
namespace detail {

/// Tells the first range that a session can be started. It runs before the program's own static
/// objects, which may have ranges.
__attribute__((constructor(102))) static void register_implementation() {
  (void)register_session(&environment_session::start, &c_calls);
  standard_error::watch();
  install_tables();
}

inline bool const nvtx_session_started = environment_session::start_for_nvtx();

}  // namespace detail
STRATA_END

#endif

/// What a linker option names to keep this unit: `-u strata_implementation`.
extern "C" STRATA_DETAIL_EXPORT void strata_implementation();
extern "C" STRATA_DETAIL_BODY void strata_implementation() {}

STRATA_DETAIL_END_CODE

#endif  // STRATA_ENABLED
#endif  // STRATA_IMPLEMENTATION_HPP
