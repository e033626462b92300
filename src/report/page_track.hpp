#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_TRACK_HPP
#define STRATA_REPORT_PAGE_TRACK_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// Bars of one line of the timeline. If they are too many, bars that are shorter than a part of the
/// time is joined to one bar with its neighbours in that part.
class page_track {
 public:
  struct identity {
    std::uint32_t process = 0;  ///< 0 is the host, n + 1 is device n
    std::uint32_t group = 0;    ///< thread or context
    std::uint32_t lane = 0;     ///< depth of ranges, what calls there are, or the stream

    bool operator==(identity const& p) const noexcept {
      return process == p.process && group == p.group && lane == p.lane;
    }
    bool operator<(identity const& p) const noexcept {
      if (process != p.process) return process < p.process;
      return group != p.group ? group < p.group : lane < p.lane;
    }
  };
  static constexpr std::uint32_t calls = 100;  ///< lanes of a thread behind those of its ranges
  static constexpr std::uint32_t waits = 101;

  struct bar {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t count = 0;
    std::int64_t busy = 0;      ///< the length of all that are joined
    std::int64_t longest = -1;  ///< of those joined, whose label this has
    std::uint32_t label = 0;
    std::uint32_t range = 0;
    std::int64_t launched = lost_time;  ///< when the call began that caused it
  };

  explicit page_track(identity const& where) : where_(where) {}

  identity const& where() const noexcept { return where_; }
  /// Records of this line.
  std::uint64_t count() const noexcept { return count_; }
  void count_one() noexcept { ++count_; }

  /// From `from` on, `length` nanoseconds; at most `most` bars, and two more. Requires: count_one()
  /// for each bar that follows.
  void begin(std::int64_t from, std::int64_t length, std::uint64_t most) {
    from_ = from;
    bars_.clear();
    parts_.clear();
    part_ns_ = 0;
    if (count_ <= most) return;
    parts_.resize(static_cast<std::size_t>(most / 2 + 1));
    part_ns_ = length / static_cast<std::int64_t>(parts_.size()) + 1;
  }

  void add(bar const& one) {
    std::int64_t const length = one.end - one.begin;
    if (parts_.empty() || (length >= part_ns_ && bars_.size() < parts_.size())) {
      bars_.push_back(one);
      return;
    }
    auto const part =
        static_cast<std::size_t>(std::max<std::int64_t>(0, one.begin - from_) / part_ns_);
    bar& joined = parts_[std::min(part, parts_.size() - 1)];
    if (joined.count == 0 || one.begin < joined.begin) joined.begin = one.begin;
    if (joined.count == 0 || one.end > joined.end) joined.end = one.end;
    ++joined.count;
    joined.busy += length;
    if (length < joined.longest) return;
    bool const is_later = one.label > joined.label || one.range > joined.range;
    if (length == joined.longest && is_later) return;
    joined.longest = length;
    joined.label = one.label;
    joined.range = one.range;
  }

  /// In order of time.
  vec<bar> const& bars() {
    for (bar const& part : parts_)
      if (part.count != 0) bars_.push_back(part);
    parts_.clear();
    bars_.sort([](bar const& a, bar const& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.label < b.label;
    });
    return bars_;
  }

 private:
  identity where_;
  std::uint64_t count_ = 0;
  std::int64_t from_ = 0;
  std::int64_t part_ns_ = 0;
  vec<bar> parts_;
  vec<bar> bars_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_TRACK_HPP
