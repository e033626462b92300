#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_CAPTURED_CALLS_HPP
#define STRATA_ANALYSE_CAPTURED_CALLS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Tells the calls of ranges that only captured work into a graph from those that did it.
/// Cost: two sorts of the launches, nothing where none was captured; O(log n) a question.
class captured_calls {
 public:
  explicit captured_calls(profile const& source) {
    for (launch_record const& launch : source.launches)
      if (launch.captured == launch_record::in_capture && is_work(launch.kind))
        captured_.push_back(moment_of(launch));
    if (captured_.empty()) return;
    for (launch_record const& launch : source.launches)
      if (launch.captured == 0 && is_work(launch.kind)) worked_.push_back(moment_of(launch));
    std::sort(captured_.begin(), captured_.end());
    std::sort(worked_.begin(), worked_.end());
  }

  bool only_captured(range_record const& range) const noexcept {
    return within(captured_, range) && !within(worked_, range);
  }

 private:
  using moment = std::pair<std::uint32_t, std::int64_t>;  ///< thread and time

  static moment moment_of(launch_record const& launch) noexcept {
    return {launch.thread, launch.begin};
  }

  static bool within(vec<moment> const& moments, range_record const& range) noexcept {
    auto const at =
        std::lower_bound(moments.begin(), moments.end(), moment{range.thread, range.begin});
    return at != moments.end() && at->first == range.thread && at->second <= range.end;
  }

  vec<moment> captured_;
  vec<moment> worked_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_CAPTURED_CALLS_HPP
