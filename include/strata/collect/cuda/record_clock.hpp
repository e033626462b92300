#ifndef STRATA_COLLECT_CUDA_RECORD_CLOCK_HPP
#define STRATA_COLLECT_CUDA_RECORD_CLOCK_HPP

#include <strata/base/clock.hpp>

STRATA_BEGIN
namespace detail {

/// CUPTI's clock in a session, and which times a record can have by it: none before the session
/// began, after the clock was read last, or before the call that caused it. The clock continues
/// where it was set, back or forth, and a record that was stamped before has its time by the clock
/// as it went then. Units: ns of the continued clock; of calls ticks. Threads: one at a time.
class record_clock {
 public:
  /// How far CUPTI's times may be from the host's. They are some microseconds apart (H200, CUDA
  /// 13.0); a device's clock that is read rarely drifts.
  static constexpr std::int64_t tolerance = 1'000'000;
  static constexpr std::int64_t call_tolerance = 10 * tolerance;

  /// A session begins. Until the clock is read, any time is one that can be.
  void begin_session() noexcept {
    has_read_ = false;
    first_ = latest_ = {};
    eras_ = 1;
    era_[0] = {1, INT64_MAX - larger(offset(), std::int64_t{0}), offset(), 0};
  }

  /// The clock is read; its time becomes a continued one. `after` and `before` are times of
  /// CLOCK_MONOTONIC around that. Returns: whether it was set, back or forth, since the last call.
  bool read(clock_sample& sample, std::int64_t after, std::int64_t before) noexcept {
    bool const was_set_back = clock_.read(sample.other, after, before);
    bool const was_set = clock_.close_gap() || was_set_back;
    sample.other = clock_.continued(sample.other);
    if (was_set && has_read_) {
      eras_ = smaller(eras_ + 1, max_eras);
      for (std::size_t i = eras_ - 1; i > 0; --i) era_[i] = era_[i - 1];
      era_[0].since = latest_.other - tolerance;
    }
    if (!has_read_) begun_ = era_[0].since = sample.other - tolerance;
    if (!has_read_ || was_set) first_ = sample;
    has_read_ = true;
    latest_ = sample;
    era_[0].offset = offset();
    for (std::size_t i = 0; i < eras_; ++i) {
      era_[i].begin = larger(era_[i].since - era_[i].offset, std::int64_t{1});
      era_[i].end = sample.other + tolerance - era_[i].offset;
    }
    if (latest_.ticks > first_.ticks)
      ns_per_tick_ = static_cast<double>(latest_.other - first_.other) /
                     static_cast<double>(latest_.ticks - first_.ticks);
    return was_set;
  }
  /// What was read last.
  clock_sample const& latest() const noexcept { return latest_; }

  /// Makes continued times of CUPTI's. Returns: false where no record can have them. One that
  /// `may_be_older` may have begun before the session.
  bool accept(std::int64_t& begin, std::int64_t& end, bool may_be_older = false) const noexcept {
    if (begin <= 0 || end < begin) return false;
    for (std::size_t i = 0; i < eras_; ++i)
      if (begin >= era_[i].begin && end <= era_[i].end) return move(begin, end, era_[i].offset);
    std::int64_t const first = may_be_older ? 1 : begun_ - era_[0].offset;
    return begin >= first && end <= era_[0].end && move(begin, end, era_[0].offset);
  }

  /// Whether `begin` lies before a call that was made at `ticks` in the session. The time of calls
  /// of before the clock was set is not known well enough.
  bool is_before_call(std::int64_t begin, std::int64_t ticks) const noexcept {
    if (has_read_ && begin < begun_) return true;
    return ticks >= first_.ticks && latest_.ticks > first_.ticks &&
           begin < latest_.other - since(ticks) / 1000 - since(ticks) - call_tolerance;
  }
  /// The time of such a call. 0 where the clock was not read.
  std::int64_t time_of_call(std::int64_t ticks) const noexcept {
    return latest_.other - since(ticks);
  }

  continued_clock const& clock() const noexcept { return clock_; }

 private:
  /// How the clock went from one moment at which it was set to the next, as bounds of what it can
  /// have shown. CUPTI may not notice at once that it was set.
  struct era {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t offset;  // to the continued clock
    std::int64_t since;   // by the continued clock
  };
  static constexpr std::size_t max_eras = 4;

  static bool move(std::int64_t& begin, std::int64_t& end, std::int64_t offset) noexcept {
    begin += offset;
    end += offset;
    return true;
  }
  std::int64_t offset() const noexcept { return clock_.continued(0); }
  /// ns from these ticks until the clock was read last.
  std::int64_t since(std::int64_t ticks) const noexcept {
    return ticks < latest_.ticks ? static_cast<std::int64_t>(
                                       static_cast<double>(latest_.ticks - ticks) * ns_per_tick_)
                                 : 0;
  }

  continued_clock clock_;
  era era_[max_eras] = {{1, INT64_MAX, 0, 0}, {}, {}, {}};  // the last one first
  std::size_t eras_ = 1;
  bool has_read_ = false;
  std::int64_t begun_ = 0;  // the session
  clock_sample first_;      // since when it goes at one rate
  clock_sample latest_;
  double ns_per_tick_ = 1.0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_RECORD_CLOCK_HPP
