#include <strata/version.hpp>
#ifndef STRATA_STRATA_HPP
#define STRATA_STRATA_HPP

// Ranges, steps and sessions: what a program writes. It costs the compiler little. One source file
// of the program says `#define STRATA_IMPLEMENTATION` before it includes this one, and has the
// bodies.

#include <strata/range.hpp>
#include <strata/session.hpp>

#endif  // STRATA_STRATA_HPP

// Outside the guard: the source file may have included this one before.
#if defined(STRATA_IMPLEMENTATION)
#include <strata/implementation.hpp>
#endif
