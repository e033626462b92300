// The unit of a program that compiles Strata's bodies.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
