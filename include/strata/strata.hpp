#include <strata/version.hpp>
#ifndef STRATA_STRATA_HPP
#define STRATA_STRATA_HPP

// Everything. Annotations alone need <strata/range.hpp>; one source file of the program includes
// this one.

#include <strata/range.hpp>
#if STRATA_ENABLED && defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <strata/nvtx.hpp>
#endif
#endif
#include <strata/session.hpp>  // may start a session, which asks what stands above

#endif  // STRATA_STRATA_HPP
