#ifndef STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP
#define STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP

#include <strata/profile/samples.hpp>

STRATA_BEGIN
namespace detail {

/// Samples in a bounded memory. Where it is full, each two that follow each other without a gap
/// become one, so that nothing is lost but half of the resolution. Threads: one at a time.
class sample_store {
 public:
  /// Takes no memory yet. `bytes`: at most, with the copy that is made when samples become one.
  /// `max_gap_ns`: what may be between two samples that follow each other.
  void begin(std::size_t counters, std::size_t bytes, std::int64_t max_gap_ns) noexcept {
    all_ = {};
    all_.counters = static_cast<std::uint32_t>(counters);
    writer_ = {};
    limit_ = bytes / 2;
    max_gap_ns_ = max_gap_ns;
    without_room_ = 0;
  }

  /// Without room it is counted.
  void add(counted_sample const& next) noexcept {
    if (!has_room() && without_room_ == 0) halve();
    if (!has_room()) {
      ++without_room_;
      return;
    }
    writer_.add(all_, next);
  }

  device_samples const& all() const noexcept { return all_; }
  /// Samples that were not taken: memory was short, or too many stand alone between gaps.
  std::uint64_t without_room() const noexcept { return without_room_; }

  /// `convert(begin, end)` says what the times are by another clock; false: there is no such time.
  /// Returns: how many samples were left out, also because memory is short.
  template <class Convert>
  std::uint64_t convert(Convert&& convert) noexcept {
    std::uint64_t const before = all_.count;
    bool const made = rewrite([&](sample_reader& reader, counted_sample& now) {
      while (reader.next(now))
        if (convert(now.begin, now.end)) return true;
      return false;
    });
    if (!made) all_.coded = {};
    return before - (made ? all_.count : 0);
  }
  device_samples take() noexcept { return std::move(all_); }

 private:
  bool has_room() noexcept {
    if (all_.coded.size() + sample_writer::most_bytes > limit_) return false;
    return all_.coded.make_room(sample_writer::most_bytes);
  }

  /// Replaces the samples by those that `next(reader, sample)` makes of them. Returns: false where
  /// memory is short, and all is as it was.
  template <class Next>
  bool rewrite(Next next) noexcept {
    device_samples made;
    made.counters = all_.counters;
    sample_writer writer;
    sample_reader reader(all_);
    for (counted_sample now; next(reader, now);) {
      if (!made.coded.make_room(sample_writer::most_bytes)) return false;
      writer.add(made, now);
    }
    all_ = std::move(made);
    writer_ = writer;
    return true;
  }

  /// Where that frees little, most samples stand alone, and it is left alone.
  void halve() noexcept {
    counted_sample waiting;
    bool has_waiting = false;
    std::size_t const before = all_.coded.size();
    (void)rewrite([&](sample_reader& reader, counted_sample& now) {
      if (!std::exchange(has_waiting, false) && !reader.next(waiting)) return false;
      now = waiting;
      if (!reader.next(waiting)) return true;
      std::int64_t const between = waiting.begin - now.end;
      has_waiting = between > max_gap_ns_ || between < -max_gap_ns_ || waiting.end <= now.end;
      if (has_waiting) return true;
      now.end = waiting.end;
      for (std::size_t i = 0; i < all_.counters; ++i) now.counts[i] += waiting.counts[i];
      return true;
    });
    if (all_.coded.size() + before / 16 > before) limit_ = 0;
  }

  device_samples all_;
  sample_writer writer_;
  std::size_t limit_ = 0;
  std::int64_t max_gap_ns_ = 0;
  std::uint64_t without_room_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP
