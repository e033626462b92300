#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP
#define STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Samples in a bounded memory: where it is full, each two that follow each other become one, so
/// that nothing is lost but half of the resolution. Threads: one at a time.
class sample_store {
 public:
  /// A sample, and where its values are.
  struct sample {
    std::int64_t begin;
    std::int64_t end;
  };

  void begin(std::size_t counters, std::size_t bytes) {
    counters_ = counters;
    limit_ = larger(std::size_t{16}, bytes / (sizeof(sample) + counters * sizeof(double)));
    samples_.clear();
    values_.clear();
    halvings_ = 0;
  }

  /// Without memory the store takes no more than it has now.
  void add(std::int64_t begin, std::int64_t end, double const* values) noexcept {
    bool const has_room =
        samples_.size() < limit_ && samples_.make_room(1) && values_.make_room(counters_);
    if (!has_room) {
      if (samples_.size() < 2) return;
      limit_ = smaller(limit_, samples_.size());
      halve();
    }
    samples_.push_back({begin, end});
    for (std::size_t i = 0; i < counters_; ++i) values_.push_back(values[i]);
  }

  std::size_t size() const noexcept { return samples_.size(); }
  std::size_t counters() const noexcept { return counters_; }
  vec<sample> const& samples() const noexcept { return samples_; }
  /// Of a sample, one a counter.
  double const* values(std::size_t i) const noexcept { return values_.data() + i * counters_; }
  std::size_t bytes() const noexcept {
    return samples_.size() * sizeof(sample) + values_.size() * sizeof(double);
  }
  /// How often two became one.
  unsigned halvings() const noexcept { return halvings_; }

  /// `convert(begin, end)` says what the times are by another clock; false: there is no such time.
  /// Returns: how many samples were left out. The others are in the order of their times.
  template <class Convert>
  std::size_t convert(Convert&& convert) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      sample now = samples_[i];
      if (!convert(now.begin, now.end)) continue;
      samples_[kept] = now;
      for (std::size_t k = 0; k < counters_; ++k)
        values_[kept * counters_ + k] = values_[i * counters_ + k];
      ++kept;
    }
    std::size_t const left_out = samples_.size() - kept;
    samples_.resize(kept);
    values_.resize(kept * counters_);
    sort();
    return left_out;
  }

 private:
  void halve() noexcept {
    std::size_t const pairs = samples_.size() / 2;
    bool const odd = samples_.size() % 2 == 1;
    for (std::size_t i = 0; i < pairs; ++i) {
      sample const a = samples_[2 * i];
      sample const b = samples_[2 * i + 1];
      samples_[i] = {smaller(a.begin, b.begin), larger(a.end, b.end)};
      for (std::size_t k = 0; k < counters_; ++k)
        values_[i * counters_ + k] =
            values_[2 * i * counters_ + k] + values_[(2 * i + 1) * counters_ + k];
    }
    if (odd) {
      samples_[pairs] = samples_.back();
      for (std::size_t k = 0; k < counters_; ++k)
        values_[pairs * counters_ + k] = values_[2 * pairs * counters_ + k];
    }
    samples_.resize(pairs + (odd ? 1 : 0));
    values_.resize(samples_.size() * counters_);
    ++halvings_;
  }

  void sort() {
    struct place {
      std::int64_t begin;
      std::size_t at;
    };
    bool in_order = true;
    for (std::size_t i = 1; i < samples_.size(); ++i)
      in_order = in_order && samples_[i - 1].begin <= samples_[i].begin;
    if (in_order) return;
    vec<place> order;
    for (std::size_t i = 0; i < samples_.size(); ++i) order.push_back({samples_[i].begin, i});
    order.sort([](place const& a, place const& b) { return a.begin < b.begin; });
    vec<sample> samples;
    vec<double> values;
    for (place const& each : order) {
      samples.push_back(samples_[each.at]);
      for (std::size_t k = 0; k < counters_; ++k)
        values.push_back(values_[each.at * counters_ + k]);
    }
    samples_ = std::move(samples);
    values_ = std::move(values);
  }

  std::size_t counters_ = 0;
  std::size_t limit_ = 0;
  unsigned halvings_ = 0;
  vec<sample> samples_;
  vec<double> values_;  // counters_ a sample
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_SAMPLE_STORE_HPP
