#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_FILES_HPP
#define STRATA_REPORT_PAGE_FILES_HPP

// The pages as text, which builds by CMake and Meson make of page/. Each source file that includes
// this has its own: modules of a process may be built with other pages, or without.

#if defined(__has_include) && __has_include("strata_page_files.hpp")
#include "strata_page_files.hpp"
#define STRATA_HAS_PAGE_FILES 1
#elif defined(__has_include) && __has_include("../strata_page_files.hpp")
#include "../strata_page_files.hpp"  // as it is installed
#define STRATA_HAS_PAGE_FILES 1
#else
#include <string_view>

#define STRATA_HAS_PAGE_FILES 0

namespace strata_pages {
static constexpr std::string_view report_head[] = {{}};
static constexpr std::string_view report_middle[] = {{}};
static constexpr std::string_view report_tail[] = {{}};
static constexpr std::string_view comparison_head[] = {{}};
static constexpr std::string_view comparison_tail[] = {{}};
}  // namespace strata_pages
#endif

#endif  // STRATA_REPORT_PAGE_FILES_HPP
