#include "reports.hpp"

#if STRATA_ENABLED

STRATA_BEGIN
namespace detail {
namespace {

constexpr report_side all_reports{&session_reports::make, &range_table::help, true};

/// Lets the sessions of this program or library make all reports. It runs before main, before or
/// after the implementation registers itself.
[[maybe_unused]] bool const registered = [] {
  installed_reports() = &all_reports;
  return true;
}();

}  // namespace
}  // namespace detail
STRATA_END

/// What a linker option names to keep this unit: `-u strata_reports`.
extern "C" STRATA_DETAIL_EXPORT void strata_reports();
extern "C" STRATA_DETAIL_BODY void strata_reports() {}

#endif  // STRATA_ENABLED
