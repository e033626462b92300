// A module with ranges: TEST_NAME is the range's name. One is linked with an implementation of its
// own.
#include <strata/range.hpp>

extern "C" __attribute__((visibility("default"))) void module_work() { STRATA_RANGE(TEST_NAME); }
