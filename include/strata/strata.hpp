#include <strata/version.hpp>
#ifndef STRATA_STRATA_HPP
#define STRATA_STRATA_HPP

// Ranges and steps: what every source file with ranges includes. It is light to compile. One source
// file of the program defines STRATA_IMPLEMENTATION before it includes this header; that file
// compiles the implementation. <strata/implementation.cpp> is such a file.

#include <strata/range.hpp>

STRATA_BEGIN_SWITCH_LIGHT

class session;   // include <strata/session.hpp>, which has the string and the options, to use it
struct options;  // include <strata/session.hpp>

STRATA_END_SWITCH_LIGHT

#endif  // STRATA_STRATA_HPP

// Outside the guard: the source file may have included this one before.
#if defined(STRATA_IMPLEMENTATION) && defined(STRATA_RANGE_HPP)
#include <strata/implementation.hpp>
#endif
