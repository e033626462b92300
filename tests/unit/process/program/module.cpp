// A module with ranges: TEST_NAME is the range's name, TEST_WITH_SESSION brings a session.
#include <strata/range.hpp>
#if TEST_WITH_SESSION  // with an implementation of its own
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
#endif

extern "C" __attribute__((visibility("default"))) void module_work() { STRATA_RANGE(TEST_NAME); }
