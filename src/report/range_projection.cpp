#include "range_projection.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

class range_projection {
 public:
  static vec<projected_range> project_ranges(profile const& source,
                                             callback<bool(std::uint32_t)> has_own_row) {
    range_projection made(source);
    for (std::uint32_t node = 0; node < source.nodes.size(); ++node) {
      bool const is_shown = node != root_node && has_own_row(node);
      std::uint32_t const parent = source.nodes[node].parent;
      std::uint32_t const above = parent < node ? made.shown_[parent] : root_node;
      made.shown_.push_back(is_shown ? node : above);
    }
    made.sort_calls();
    made.collect();
    made.project();
    return std::move(made.projected_);
  }

 private:
  struct work {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t launch;
    std::uint32_t node;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
  };
  /// A range around some work.
  struct level {
    std::uint32_t node;
    std::uint32_t call;  ///< in source.ranges; none where it is not known

    bool operator==(level const& other) const noexcept {
      return node == other.node && call == other.call;
    }
  };
  static constexpr std::uint32_t none = 0xffffffffu;
  static constexpr std::size_t most_levels = 64;

  explicit range_projection(profile const& source) : source_(source), launches_(source) {}

  /// A call of a range in the order of its thread and begin.
  struct call {
    std::int64_t begin;
    std::uint32_t thread;
    std::uint32_t index;  ///< in source.ranges

    bool operator<(call const& other) const noexcept {
      return thread != other.thread ? thread < other.thread : begin < other.begin;
    }
  };

  void sort_calls() {
    first_call_.resize(source_.nodes.size() + 1);
    for (range_record const& range : source_.ranges)
      if (range.node < source_.nodes.size()) ++first_call_[range.node + 1];
    std::partial_sum(first_call_.begin(), first_call_.end(), first_call_.begin());
    calls_.resize(first_call_.back());
    next_call_ = first_call_;
    for (std::uint32_t i = 0; i < source_.ranges.size(); ++i) {
      range_record const& range = source_.ranges[i];
      if (range.node < source_.nodes.size())
        calls_[next_call_[range.node]++] = {range.begin, range.thread, i};
    }
    for (std::size_t node = 0; node + 1 < first_call_.size(); ++node) {
      auto const begin = calls_.begin() + first_call_[node];
      auto const end = calls_.begin() + first_call_[node + 1];
      if (!std::is_sorted(begin, end)) std::stable_sort(begin, end);
    }
    next_call_ = first_call_;
  }

  void collect() {
    launches_.visit_work([this](auto const& record, std::uint32_t launch) {
      if (record.end == lost_time) return;
      work_.push_back({record.begin, std::max(record.begin, record.end), launch, record.node,
                       record.device, record.context, record.stream});
    });
    auto const is_before = [](work const& a, work const& b) {
      if (!on_one_stream(a, b)) {
        if (a.device != b.device) return a.device < b.device;
        return a.context != b.context ? a.context < b.context : a.stream < b.stream;
      }
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    };
    if (!std::is_sorted(work_.begin(), work_.end(), is_before))
      std::stable_sort(work_.begin(), work_.end(), is_before);
  }

  static bool on_one_stream(work const& a, work const& b) noexcept {
    return a.device == b.device && a.context == b.context && a.stream == b.stream;
  }

  /// The call of a node in which a launch began. The launches of a stream follow each other, so it
  /// is most often the call of the launch before, or the next one.
  std::uint32_t call_of(std::uint32_t node, driver_call_record const& launch) {
    auto const begin = calls_.begin() + first_call_[node];
    auto const end = calls_.begin() + first_call_[node + 1];
    call const wanted{launch.begin, launch.thread, none};
    auto after = calls_.begin() + next_call_[node];
    auto const is_it = [&] {
      return (after == begin || !(wanted < *(after - 1))) && (after == end || wanted < *after);
    };
    if (!is_it() && after != end) ++after;
    if (!is_it()) after = std::upper_bound(begin, end, wanted);
    next_call_[node] = static_cast<std::size_t>(after - calls_.begin());
    if (after == begin) return none;
    call const& found = *(after - 1);
    bool const is_in =
        found.thread == launch.thread && source_.ranges[found.index].end >= launch.begin;
    return is_in ? found.index : none;
  }

  /// The ranges around some work, the outermost first.
  void find_levels(work const& record, driver_call_record const& launch,
                   std::vector<level>& levels) {
    levels.clear();
    std::uint32_t node = record.node < shown_.size() ? shown_[record.node] : root_node;
    while (node != root_node && levels.size() < most_levels) {
      levels.push_back({node, call_of(node, launch)});
      std::uint32_t const parent = source_.nodes[node].parent;
      node = parent < node ? shown_[parent] : root_node;
    }
    std::reverse(levels.begin(), levels.end());
  }

  /// Ends the ranges behind the first `kept`.
  void close(std::size_t kept) {
    while (open_.size() > kept) {
      projected_.push_back(open_.back());
      open_.pop_back();
      open_levels_.pop_back();
    }
  }

  void project() {
    std::vector<level> levels;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      work const& next = work_[i];
      driver_call_record const& launch = source_.launches[next.launch];
      if (i > 0 && !on_one_stream(next, work_[i - 1])) close(0);
      if (!open_.empty() && open_.back().step != launch.step) close(0);
      find_levels(next, launch, levels);
      std::size_t same = 0;
      while (same < levels.size() && same < open_levels_.size() &&
             levels[same] == open_levels_[same])
        ++same;
      close(same);
      for (projected_range& outer : open_) outer.end = std::max(outer.end, next.end);
      for (std::size_t index = same; index < levels.size(); ++index) {
        open_levels_.push_back(levels[index]);
        open_.push_back({next.begin, next.end, levels[index].node, launch.step, next.device,
                         next.context, next.stream, static_cast<std::uint8_t>(index + 1)});
      }
    }
    close(0);
  }

  profile const& source_;
  launch_index launches_;
  std::vector<std::uint32_t> shown_;     ///< by node: it, or the next around it that is shown
  std::vector<call> calls_;              ///< by node
  std::vector<std::size_t> first_call_;  ///< by node, in calls_
  std::vector<std::size_t> next_call_;   ///< by node: the one behind the call that was found last
  std::vector<work> work_;               ///< by stream and time
  std::vector<projected_range> open_;
  std::vector<level> open_levels_;  ///< of open_
  vec<projected_range> projected_;
};

}  // namespace

vec<projected_range> project_ranges(profile const& source,
                                    callback<bool(std::uint32_t)> has_own_row) {
  return range_projection::project_ranges(source, has_own_row);
}

}  // namespace detail
STRATA_END
