// Counts the work of what is compiled with -fsanitize-coverage=trace-pc: each branch that is taken.
#ifndef STRATA_TESTS_UNIT_COUNTED_BRANCHES_HPP
#define STRATA_TESTS_UNIT_COUNTED_BRANCHES_HPP

#include <cstdint>

#if defined(__clang__)
#define STRATA_TEST_NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define STRATA_TEST_NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif

inline std::uint64_t counted_branches = 0;

extern "C" STRATA_TEST_NOT_COUNTED void __sanitizer_cov_trace_pc() { ++counted_branches; }

#endif  // STRATA_TESTS_UNIT_COUNTED_BRANCHES_HPP
