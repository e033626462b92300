// The one C++ source file of a C program.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
