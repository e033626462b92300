// The version, and nothing else: CMake and Meson read these lines. There is no include guard on
// purpose: another copy with the same numbers may be included again, one with other numbers is an
// error.
#if defined(STRATA_VERSION) && STRATA_VERSION != 100
#error \
    "Two versions of Strata meet in one source file: let one include path come first, or update the older copy."
#endif
#ifndef STRATA_VERSION
#define STRATA_VERSION_MAJOR 0
#define STRATA_VERSION_MINOR 1
#define STRATA_VERSION_PATCH 0
#define STRATA_VERSION 100  // major * 10000 + minor * 100 + patch
#endif
