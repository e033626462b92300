#ifndef STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP
#define STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP

#include <strata/profile/samples.hpp>

STRATA_BEGIN
namespace detail {

/// Samples in a bounded memory: where it is full, each two that follow each other without a gap
/// become one, so that nothing is lost but half of the resolution. Threads: one at a time.
class sample_store {
 public:
  /// `max_gap_ns`: what may be between two samples that follow each other.
  void begin(std::size_t counters, std::size_t bytes, std::int64_t max_gap_ns) {
    all_ = {};
    all_.counters = counters;
    limit_ = larger(std::size_t{16}, bytes / (sizeof(sample_span) + counters * sizeof(double)));
    halvings_ = 0;
    max_gap_ns_ = max_gap_ns;
    without_room_ = 0;
  }

  /// Without memory the store takes no more than it has now.
  void add(std::int64_t begin, std::int64_t end, double const* values) noexcept {
    bool const has_room =
        all_.size() < limit_ && all_.times.make_room(1) && all_.values.make_room(all_.counters);
    if (!has_room) {
      if (all_.size() < 2) return;
      limit_ = smaller(limit_, all_.size());
      if (without_room_ == 0) halve();
      bool const helped = all_.size() + limit_ / 16 < limit_;
      if (!helped) {  // most samples are alone
        ++without_room_;
        return;
      }
    }
    all_.times.push_back({begin, end});
    for (std::size_t i = 0; i < all_.counters; ++i) all_.values.push_back(values[i]);
  }

  samples const& all() const noexcept { return all_; }
  std::size_t bytes() const noexcept {
    return all_.size() * (sizeof(sample_span) + all_.counters * sizeof(double));
  }
  /// How often two became one.
  unsigned halvings() const noexcept { return halvings_; }
  /// Samples that were not taken, since too many stand alone between gaps.
  std::uint64_t without_room() const noexcept { return without_room_; }

  /// `convert(begin, end)` says what the times are by another clock; false: there is no such time.
  /// Returns: how many samples were left out. The others are in the order of their times.
  template <class Convert>
  std::size_t convert(Convert&& convert) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      sample_span now = all_.times[i];
      if (convert(now.begin, now.end)) put(kept++, now, all_.at(i));
    }
    std::size_t const left_out = all_.size() - kept;
    cut(kept);
    sort();
    return left_out;
  }

 private:
  void put(std::size_t place, sample_span when, double const* values) noexcept {
    all_.times[place] = when;
    for (std::size_t k = 0; k < all_.counters; ++k) all_.at(place)[k] = values[k];
  }
  void cut(std::size_t count) noexcept {
    all_.times.resize(count);
    all_.values.resize(count * all_.counters);
  }

  void halve() noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all_.size(); ++kept) {
      sample_span now = all_.times[i];
      std::size_t const first = i++;
      bool const joins = i < all_.size() && follows(now, all_.times[i]);
      if (joins) now.end = all_.times[i].end;
      put(kept, now, all_.at(first));
      if (!joins) continue;
      for (std::size_t k = 0; k < all_.counters; ++k) all_.at(kept)[k] += all_.at(i)[k];
      ++i;
    }
    cut(kept);
    ++halvings_;
  }
  bool follows(sample_span a, sample_span b) const noexcept {
    std::int64_t const between = b.begin - a.end;
    return b.end > a.end && between <= max_gap_ns_ && between >= -max_gap_ns_;
  }

  void sort() {
    struct place {
      std::int64_t begin;
      std::size_t at;
    };
    vec<place> order;
    for (std::size_t i = 0; i < all_.size(); ++i) order.push_back({all_.times[i].begin, i});
    order.sort([](place const& a, place const& b) { return a.begin < b.begin; });
    samples sorted;
    sorted.counters = all_.counters;
    for (place const& each : order) {
      sorted.times.push_back(all_.times[each.at]);
      for (std::size_t k = 0; k < all_.counters; ++k) sorted.values.push_back(all_.at(each.at)[k]);
    }
    all_ = std::move(sorted);
  }

  samples all_;
  std::size_t limit_ = 0;
  unsigned halvings_ = 0;
  std::int64_t max_gap_ns_ = 0;
  std::uint64_t without_room_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP
