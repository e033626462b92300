// The source file of a program that compiles Strata's implementation.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
