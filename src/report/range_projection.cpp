#include "range_projection.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

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

  bool is_before(range_record const& a, range_record const& b) const noexcept {
    if (a.node != b.node) return a.node < b.node;
    return a.thread != b.thread ? a.thread < b.thread : a.begin < b.begin;
  }

  void sort_calls() {
    for (std::uint32_t i = 0; i < source_.ranges.size(); ++i) calls_.push_back(i);
    calls_.sort([this](std::uint32_t a, std::uint32_t b) {
      return is_before(source_.ranges[a], source_.ranges[b]);
    });
  }

  void collect() {
    launches_.visit_work([this](auto const& record, std::uint32_t launch) {
      if (record.end == lost_time) return;
      work_.push_back({record.begin, larger(record.begin, record.end), launch, record.node,
                       record.device, record.context, record.stream});
    });
    work_.sort([](work const& a, work const& b) {
      if (!on_one_stream(a, b)) {
        if (a.device != b.device) return a.device < b.device;
        return a.context != b.context ? a.context < b.context : a.stream < b.stream;
      }
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
  }

  static bool on_one_stream(work const& a, work const& b) noexcept {
    return a.device == b.device && a.context == b.context && a.stream == b.stream;
  }

  /// The call of a node in which a launch began.
  std::uint32_t call_of(std::uint32_t node, driver_call_record const& launch) const {
    range_record wanted{};
    wanted.node = node;
    wanted.thread = launch.thread;
    wanted.begin = launch.begin;
    std::size_t const after = calls_.count_first(
        [&](std::uint32_t call) { return !is_before(wanted, source_.ranges[call]); });
    if (after == 0) return none;
    range_record const& found = source_.ranges[calls_[after - 1]];
    bool const is_in = found.node == node && found.thread == launch.thread &&
                       found.begin <= launch.begin && found.end >= launch.begin;
    return is_in ? calls_[after - 1] : none;
  }

  /// The ranges around some work, the outermost first.
  void find_levels(work const& record, driver_call_record const& launch, vec<level>& levels) const {
    levels.clear();
    std::uint32_t node = record.node < shown_.size() ? shown_[record.node] : root_node;
    while (node != root_node && levels.size() < most_levels) {
      levels.push_back({node, call_of(node, launch)});
      std::uint32_t const parent = source_.nodes[node].parent;
      node = parent < node ? shown_[parent] : root_node;
    }
    for (std::size_t i = 0; i < levels.size() / 2; ++i)
      std::swap(levels[i], levels[levels.size() - 1 - i]);
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
    vec<level> levels;
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
      for (projected_range& outer : open_) outer.end = larger(outer.end, next.end);
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
  vec<std::uint32_t> shown_;  ///< by node: it, or the next one around it that is shown; or the root
  vec<std::uint32_t> calls_;  ///< of source.ranges, by node, thread and begin
  vec<work> work_;            ///< by stream and time
  vec<projected_range> open_;
  vec<level> open_levels_;  ///< of open_
  vec<projected_range> projected_;
};

}  // namespace

vec<projected_range> project_ranges(profile const& source,
                                    callback<bool(std::uint32_t)> has_own_row) {
  return range_projection::project_ranges(source, has_own_row);
}

}  // namespace detail
STRATA_END
