#ifndef STRATA_COLLECT_COUNTERS_PUSHED_RANGES_HPP
#define STRATA_COLLECT_COUNTERS_PUSHED_RANGES_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>

STRATA_BEGIN
namespace detail {

/// The ranges that were pushed in the passes of a configuration: which of them CUPTI counted whole,
/// how many had no room in its image, and whether the passes should be made again with more.
class pushed_ranges {
 public:
  /// A configuration begins, with room for this many different ranges, or for those that were seen
  /// to need it. Returns: the room.
  std::size_t begin(std::size_t max_ranges) noexcept {
    room_ = larger(max_ranges, needed_);
    if (!repeating_) lost_ += refused_ + unfit_;
    repeating_ = false;
    seen_.clear();
    names_ = max_pushes_ = 0;
    unfit_ = refused_ = 0;
    return room_;
  }
  void begin_pass() noexcept { pushes_ = refused_now_ = 0; }
  void end_pass() noexcept { max_pushes_ = larger(max_pushes_, pushes_); }

  /// Returns: false where there is no memory to know the range by; it is not counted then.
  bool push(std::uint32_t range) noexcept {
    if (range >= seen_.size()) {
      if (!seen_.make_room(range + std::size_t{1} - seen_.size())) {
        ++unfit_;
        return false;
      }
      seen_.resize(range + std::size_t{1});
    }
    use& known = seen_[range];
    if (known.last == 0) ++names_;
    known.last = larger(known.last, ++pushes_);
    return true;
  }
  /// CUPTI had no room for the range that was pushed.
  void note_no_room(std::uint32_t range) noexcept {
    seen_[range].refused = true;
    ++unfit_;
  }
  /// CUPTI refused the range that was pushed.
  void note_refused(std::uint32_t range) noexcept {
    seen_[range].refused = true;
    ++refused_;
    ++refused_now_;
  }
  /// CUPTI refused to end a range.
  void note_end_refused() noexcept { ++refused_; }
  /// CUPTI's image lacks so many. Pushes beyond the room count for nothing, even of a known name,
  /// and CUPTI does not tell (H200, CUDA 13.0).
  void note_dropped(std::size_t ranges) noexcept {
    unfit_ += ranges;
    if (max_pushes_ > room_) unfit_ = larger(unfit_, std::uint64_t{max_pushes_ - room_});
  }

  /// Whether CUPTI refused every range of the pass.
  bool all_refused() const noexcept { return refused_now_ != 0 && refused_now_ == pushes_; }
  /// Whether every part of the range was counted. CUPTI does not tell what it dropped; where it
  /// dropped anything, only what came while there was room is sure.
  bool is_whole(std::uint32_t range) const noexcept {
    if (range >= seen_.size()) return false;
    return !seen_[range].refused && (unfit_ == 0 || seen_[range].last <= room_);
  }

  /// Whether the passes had more ranges than room: they should be made again, after another
  /// `begin`, which makes the room. Not for ever: a program may have new ranges in every step.
  bool should_repeat() const noexcept { return is_full() && repeats_ < max_repeats; }
  /// They will be.
  void repeat() noexcept {
    ++repeats_;
    repeating_ = true;
    if (is_full()) needed_ = larger(2 * room_, max_pushes_ + 32);
  }
  /// They will not.
  void accept() noexcept { repeats_ = 0; }
  /// They do not count, and what they lost is not lost.
  void forgive() noexcept { refused_ = unfit_ = 0; }

  std::size_t room() const noexcept { return room_; }
  /// Without room, in this configuration.
  std::uint64_t unfit() const noexcept { return unfit_; }
  /// Pushes and pops that CUPTI refused, in this configuration.
  std::uint64_t refused() const noexcept { return refused_; }
  /// Both, in all configurations that were not repeated.
  std::uint64_t lost() const noexcept { return lost_ + refused_ + unfit_; }

 private:
  static constexpr unsigned max_repeats = 2;

  /// What is known of a range's pushes.
  struct use {
    std::size_t last = 0;  // its last place in a pass; from 1 on, 0: never
    bool refused = false;
  };

  bool is_full() const noexcept { return names_ > room_ || unfit_ != 0; }

  vec<use> seen_;                // by range
  std::size_t room_ = 0;         // different ranges in an image
  std::size_t needed_ = 0;       // that were seen
  std::size_t names_ = 0;        // different ranges
  std::size_t pushes_ = 0;       // of this pass
  std::size_t max_pushes_ = 0;   // of a pass
  std::size_t refused_now_ = 0;  // of this pass
  std::uint64_t refused_ = 0;
  std::uint64_t unfit_ = 0;
  std::uint64_t lost_ = 0;  // in earlier configurations
  unsigned repeats_ = 0;
  bool repeating_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PUSHED_RANGES_HPP
