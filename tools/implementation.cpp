// Strata's implementation, once in the program.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
