#include <strata/version.hpp>
#ifndef STRATA_C_CALLS_HPP
#define STRATA_C_CALLS_HPP

// The bodies of <strata/c.h>.

#include <strata/c.h>
#include <strata/range.hpp>

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
  if (listener const* const to = active_listener()) to->step_end();
}

inline void c_step_begin() {
  c_step_end();
  if (listener const* const to = active_listener()) c_step() = to->step_begin();
}

inline constexpr strata_detail_c_calls c_calls{&c_push, &c_push_indexed, &c_pop, &c_step_begin,
                                               &c_step_end};

}  // namespace detail

STRATA_END

#if !defined(__linux__)
extern "C" {
STRATA_DETAIL_BODY void strata_push(char const* name) { strata::detail::c_push(name); }
STRATA_DETAIL_BODY void strata_push_indexed(char const* name, long long index) {
  strata::detail::c_push_indexed(name, index);
}
STRATA_DETAIL_BODY void strata_pop(void) { strata::detail::c_pop(); }
STRATA_DETAIL_BODY void strata_step_begin(void) { strata::detail::c_step_begin(); }
STRATA_DETAIL_BODY void strata_step_end(void) { strata::detail::c_step_end(); }
}  // extern "C"
#endif

#endif  // STRATA_C_CALLS_HPP
