// The one C++ source file of a C program.
#define STRATA_C_IMPLEMENTATION
#include <strata/c.h>
#include <strata/strata.hpp>
