#include <strata/version.hpp>
#ifndef STRATA_C_H
#define STRATA_C_H

// Ranges and steps for C99, and for C++ units that may include nothing of C++. The bodies stand in
// one C++ source file of the program:
//
//   #define STRATA_C_IMPLEMENTATION
//   #include <strata/c.h>
//   #include <strata/strata.hpp>
//
// With STRATA_ENABLED=0 every call compiles to nothing.

#include <strata/config.hpp>

#ifdef __cplusplus
extern "C" {
#endif

#if STRATA_ENABLED

/// Begins a range that the next `strata_pop` of this thread ends; the name is copied. Cost: a call,
/// a load and a branch while nobody listens; else the name is looked up each time.
STRATA_DETAIL_EXPORT void strata_push(char const* name);

/// The same with an index: rows `block[0]`, `block[1]`, ...
STRATA_DETAIL_EXPORT void strata_push_indexed(char const* name, long long index);

/// Ends the range that the last push of this thread began.
STRATA_DETAIL_EXPORT void strata_pop(void);

/// Begins a step of the program's loop: schedules and counter passes go by steps. A step that this
/// thread has left open, by `continue` say, ends first. Threads: one drives the steps.
STRATA_DETAIL_EXPORT void strata_step_begin(void);

/// Ends the step that this thread began; where there is none it does nothing.
STRATA_DETAIL_EXPORT void strata_step_end(void);

#elif !defined(STRATA_C_IMPLEMENTATION)
#define STRATA_DETAIL_C_INLINE

static inline void strata_push(char const* name) { (void)name; }
static inline void strata_push_indexed(char const* name, long long index) {
  (void)name;
  (void)index;
}
static inline void strata_pop(void) {}
static inline void strata_step_begin(void) {}
static inline void strata_step_end(void) {}

#endif

#ifdef __cplusplus
}
#endif

#endif  // STRATA_C_H

// Outside the guard: another header of the same source file may have included this one before.
#if defined(STRATA_C_IMPLEMENTATION) && !defined(STRATA_DETAIL_C_BODIES)
#define STRATA_DETAIL_C_BODIES

#ifndef __cplusplus
#error \
    "STRATA_C_IMPLEMENTATION is for one C++ source file of the program: this one is compiled as C."
#endif

// Weak, since two libraries of one program may each bring the bodies. The empty ones stay within
// their library: they are for units with STRATA_ENABLED=1 beside this one with 0.
#if defined(_WIN32)
#define STRATA_DETAIL_C_BODY
#elif STRATA_ENABLED
#define STRATA_DETAIL_C_BODY __attribute__((weak))
#else
#define STRATA_DETAIL_C_BODY __attribute__((weak, visibility("hidden")))
#endif

#if STRATA_ENABLED

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

}  // namespace detail

STRATA_END

extern "C" {

STRATA_DETAIL_C_BODY void strata_push(char const* name) {
  strata::push(strata::detail::c_name(name));
}

STRATA_DETAIL_C_BODY void strata_push_indexed(char const* name, long long index) {
  strata::push(strata::detail::c_name(name), index);
}

STRATA_DETAIL_C_BODY void strata_pop(void) { strata::pop(); }

STRATA_DETAIL_C_BODY void strata_step_end(void) {
  if (!strata::detail::c_step()) return;
  strata::detail::c_step() = false;
  if (auto const* const to = strata::detail::active_listener()) to->step_end();
}

STRATA_DETAIL_C_BODY void strata_step_begin(void) {
  strata_step_end();
  if (auto const* const to = strata::detail::active_listener())
    strata::detail::c_step() = to->step_begin();
}

}  // extern "C"

#elif !defined(STRATA_DETAIL_C_INLINE)

extern "C" {

STRATA_DETAIL_C_BODY void strata_push(char const*) {}
STRATA_DETAIL_C_BODY void strata_push_indexed(char const*, long long) {}
STRATA_DETAIL_C_BODY void strata_pop(void) {}
STRATA_DETAIL_C_BODY void strata_step_begin(void) {}
STRATA_DETAIL_C_BODY void strata_step_end(void) {}

}  // extern "C"

#endif
#endif  // STRATA_C_IMPLEMENTATION
