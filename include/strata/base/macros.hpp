#include <strata/version.hpp>
#ifndef STRATA_BASE_MACROS_HPP
#define STRATA_BASE_MACROS_HPP

// A file that is not there ends the compilation, with its name as the error. After #error it would
// continue, to an error for each line that is C++17. <strata/c.h> is for units of any language.
#if !defined(STRATA_C_H)
#if !defined(__cplusplus)
#define STRATA_DETAIL_LANGUAGE "This header is C++: C sources include strata/c.h"
#elif __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#define STRATA_DETAIL_LANGUAGE "Strata needs C++17: compile with -std=c++17"
#endif
#ifdef STRATA_DETAIL_LANGUAGE
#include STRATA_DETAIL_LANGUAGE
#endif
#endif

// STRATA_ENABLED: 1 compiles the instrumentation in (the default on Linux), 0 leaves nothing of it
// (elsewhere). Set it for the whole program (-DSTRATA_ENABLED=0, or CMake's STRATA_ENABLE=OFF);
// units that differ still link, because the mode is part of the name of every class that depends on
// it.
#if !defined(__linux__)
#undef STRATA_ENABLED
#define STRATA_ENABLED 0
#elif !defined(STRATA_ENABLED)
#define STRATA_ENABLED 1
#endif

#if STRATA_ENABLED
#define STRATA_DETAIL_MODE mode_on
#else
#define STRATA_DETAIL_MODE mode_off
#endif

// The version is part of every name, so that units built with two versions link into one program;
// at run time the later one records nothing. Patch levels share a name: they change no layout.
#define STRATA_DETAIL_NAMED(major, minor) v##major##_##minor
#define STRATA_DETAIL_NAME(major, minor) STRATA_DETAIL_NAMED(major, minor)
#define STRATA_DETAIL_VERSION STRATA_DETAIL_NAME(STRATA_VERSION_MAJOR, STRATA_VERSION_MINOR)

// Raised when the layout of what the copies of Strata in a process share changes within a version;
// unit.range_test knows the size of it.
#define STRATA_DETAIL_PROCESS_LAYOUT 12
// Copies that differ in this share nothing.
#define STRATA_DETAIL_PROCESS_ABI (STRATA_DETAIL_PROCESS_LAYOUT * 1000000 + STRATA_VERSION / 100)

// Said at exit where STRATA is set and nothing can start a session.
#define STRATA_DETAIL_NO_IMPLEMENTATION                                                        \
  "STRATA is set, but this program has no implementation of Strata, so nothing was recorded: " \
  "compile include/strata/implementation.cpp (C++17) into it (CMake: link "                    \
  "strata::implementation), or run the program under libstrata_inject.so"

// An amount that was not given or measured is NaN. LLM code is often built with -ffast-math or
// -Ofast, which assume that no number is NaN and reorder sums. Strata's namespaces switch both off
// for themselves, so that a report does not depend on these flags.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#define STRATA_DETAIL_FAST_MATH 1
#else
#define STRATA_DETAIL_FAST_MATH 0
#endif
// clang-format off
#if STRATA_DETAIL_FAST_MATH && defined(__clang__)
#define STRATA_DETAIL_EXACT_MATH
#define STRATA_DETAIL_BEGIN_EXACT \
  _Pragma("float_control(push)") \
  _Pragma("float_control(precise, on)")
#define STRATA_DETAIL_END_EXACT _Pragma("float_control(pop)")
#elif STRATA_DETAIL_FAST_MATH && defined(__GNUC__)
#if defined(__CUDACC__)  /* nvcc warns of what it hands to g++ */
#define STRATA_DETAIL_EXACT_MATH \
  _Pragma("nv_diagnostic push") \
  _Pragma("nv_diag_suppress 1675") \
  _Pragma("GCC optimize(\"no-fast-math,no-var-tracking\")") \
  _Pragma("nv_diagnostic pop")
#else
#define STRATA_DETAIL_EXACT_MATH _Pragma("GCC optimize(\"no-fast-math,no-var-tracking\")")
#endif
#define STRATA_DETAIL_BEGIN_EXACT _Pragma("GCC push_options") STRATA_DETAIL_EXACT_MATH
#define STRATA_DETAIL_END_EXACT _Pragma("GCC pop_options")
#else
#define STRATA_DETAIL_EXACT_MATH
#define STRATA_DETAIL_BEGIN_EXACT
#define STRATA_DETAIL_END_EXACT
#endif
// clang-format on

// What a range runs in the functions of the program has the program's flags, or compilers would not
// inline it. Types that are the same in both modes: records.
#define STRATA_BEGIN_LIGHT \
  namespace strata {       \
  inline namespace STRATA_DETAIL_VERSION {
#define STRATA_END_LIGHT \
  }                      \
  }

// Types that differ between the modes: ranges.
#define STRATA_BEGIN_SWITCH_LIGHT          \
  namespace strata {                       \
  inline namespace STRATA_DETAIL_VERSION { \
  inline namespace STRATA_DETAIL_MODE {
#define STRATA_END_SWITCH_LIGHT \
  }                             \
  }                             \
  }

// Everything else. Types that are the same in both modes: tables, reports.
#define STRATA_BEGIN STRATA_DETAIL_BEGIN_EXACT STRATA_BEGIN_LIGHT
#define STRATA_END STRATA_END_LIGHT STRATA_DETAIL_END_EXACT

// Types that differ between the modes: collectors, sessions.
#define STRATA_BEGIN_SWITCH STRATA_DETAIL_BEGIN_EXACT STRATA_BEGIN_SWITCH_LIGHT
#define STRATA_END_SWITCH STRATA_END_SWITCH_LIGHT STRATA_DETAIL_END_EXACT

// What runs once, at the start or for a report, is compiled for size, without the passes that take
// more time than they save; what runs for every launch stays at the level of the command line.
// Standard headers come before cold code, or they would be cold for the whole unit. The passes are
// one text: g++ keeps a list of texts for each declaration.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && defined(__OPTIMIZE__)
#define STRATA_DETAIL_PRAGMA(text) _Pragma(#text)
// clang-format off
#define STRATA_DETAIL_PUSH_CODE /* a compiler that lacks a pass says nothing */ \
  _Pragma("GCC diagnostic push") \
  _Pragma("GCC diagnostic ignored \"-Wpragmas\"") \
  _Pragma("GCC diagnostic ignored \"-Wattributes\"") \
  _Pragma("GCC push_options")
#define STRATA_DETAIL_COLD_CODE \
  STRATA_DETAIL_PUSH_CODE \
  STRATA_DETAIL_PRAGMA(GCC optimize( \
      "Os,no-omit-frame-pointer,no-var-tracking,no-var-tracking-assignments,no-tree-bit-ccp," \
      "no-tree-ch,no-tree-copy-prop,no-tree-dominator-opts,no-tree-dse,no-tree-fre," \
      "no-tree-loop-optimize,no-tree-pre,no-tree-pta,no-tree-sink,no-tree-slsr,no-tree-vrp," \
      "no-code-hoisting,no-thread-jumps,no-ipa-cp,no-ipa-icf,no-ipa-ra,no-ipa-sra," \
      "no-cse-follow-jumps,no-dce,no-dse,no-expensive-optimizations,no-forward-propagate," \
      "no-gcse,no-if-conversion,no-if-conversion2,no-ipa-modref,no-ipa-profile," \
      "no-ipa-pure-const,no-ipa-reference,no-rerun-cse-after-loop,no-schedule-insns2"))
#define STRATA_DETAIL_HOT_CODE \
  STRATA_DETAIL_PUSH_CODE \
  _Pragma("GCC reset_options") \
  STRATA_DETAIL_EXACT_MATH
#define STRATA_DETAIL_END_CODE _Pragma("GCC pop_options") _Pragma("GCC diagnostic pop")
// clang-format on
#else
#define STRATA_DETAIL_COLD_CODE
#define STRATA_DETAIL_HOT_CODE
#define STRATA_DETAIL_END_CODE
#endif

// Visible across shared objects even under -fvisibility=hidden.
#define STRATA_DETAIL_EXPORT __attribute__((visibility("default")))
#define STRATA_DETAIL_COLD __attribute__((noinline, cold))
#define STRATA_DETAIL_ALWAYS_INLINE __attribute__((always_inline))
#define STRATA_DETAIL_UNLIKELY(x) __builtin_expect(!!(x), 0)

// One in each program and shared object. They find each other (annotate/process.hpp), and
// one that is not recorded can be unloaded: what the linker would merge between them (g++:
// STB_GNU_UNIQUE) stays in the process until it ends.
#define STRATA_DETAIL_OF_MODULE __attribute__((visibility("hidden")))

// A body that is in the implementation alone, for a function that the light headers declare.
// Several implementations may meet in one program or process: the linker keeps one.
#define STRATA_DETAIL_BODY __attribute__((weak))

// Ranges may be in functions that nvcc compiles for the device too; there they do nothing.
#if defined(__CUDACC__)
#define STRATA_DETAIL_HOST_DEVICE __host__ __device__
#else
#define STRATA_DETAIL_HOST_DEVICE
#endif

#define STRATA_DETAIL_CAT_(a, b) a##b
#define STRATA_DETAIL_CAT(a, b) STRATA_DETAIL_CAT_(a, b)

#endif  // STRATA_BASE_MACROS_HPP
