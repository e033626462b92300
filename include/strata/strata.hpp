#include <strata/version.hpp>
#ifndef STRATA_STRATA_HPP
#define STRATA_STRATA_HPP

// Ranges, steps and the declared session: what every source file with ranges includes. It is light
// to compile. One source file of the program defines STRATA_IMPLEMENTATION before it includes this
// header; that file compiles all bodies. <strata/implementation.cpp> is such a file.

#include <strata/range.hpp>
#include <strata/session.hpp>

#endif  // STRATA_STRATA_HPP

// Outside the guard: the source file may have included this one before.
#if defined(STRATA_IMPLEMENTATION) && defined(STRATA_SESSION_HPP)
#include <strata/implementation.hpp>
#endif
