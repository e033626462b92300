#ifndef STRATA_PROFILE_SAMPLES_HPP
#define STRATA_PROFILE_SAMPLES_HPP

#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// A time of a device, and what each counter counted in it.
struct counted_sample {
  static constexpr std::size_t max_counters = 16;
  static constexpr double most = 1e15;  ///< that a counter counts in one

  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t counts[max_counters] = {};
};

/// Writes samples in few bytes: what each differs by from the one before it, as whole numbers of 7
/// bits a byte. The gap before it comes first, then its length, then its counts.
class sample_writer {
 public:
  /// Bytes that a sample takes at most.
  static constexpr std::size_t most_bytes = 10 * (2 + counted_sample::max_counters);

  /// Where there is room for most_bytes in `target`, it does not grow.
  void add(device_samples& target, counted_sample const& next) noexcept {
    number(target, difference(next.begin, before_.end));
    number(target,
           difference(difference(next.end, next.begin), difference(before_.end, before_.begin)));
    for (std::size_t i = 0; i < target.counters; ++i)
      number(target, difference(next.counts[i], before_.counts[i]));
    before_ = next;
    ++target.count;
  }

 private:
  /// Wraps, as the reader's sum does: the numbers may be any.
  static std::int64_t difference(std::int64_t a, std::int64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
  static void number(device_samples& target, std::int64_t value) noexcept {
    std::uint64_t code =
        static_cast<std::uint64_t>(value) << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0);
    for (; code >= 128; code >>= 7) target.coded.push_back(static_cast<std::uint8_t>(code | 128));
    target.coded.push_back(static_cast<std::uint8_t>(code));
  }

  counted_sample before_;
};

/// Reads them, whatever the bytes are. Requires: at most max_counters.
class sample_reader {
 public:
  explicit sample_reader(device_samples const& from) noexcept : from_(from) {}

  /// Returns: false at the end, and where the bytes are no samples. Numbers may be any.
  bool next(counted_sample& made) noexcept {
    if (!good_ || at_ == from_.coded.size()) return false;
    made.begin = before_.end;
    add(made.begin);
    add(length_);
    made.end = sum(made.begin, static_cast<std::uint64_t>(length_));
    before_.end = made.end;
    for (std::size_t i = 0; i < from_.counters; ++i) {
      add(before_.counts[i]);
      made.counts[i] = before_.counts[i];
    }
    return good_;
  }
  /// Whether all bytes so far were samples.
  bool is_whole() const noexcept { return good_; }

 private:
  static std::int64_t sum(std::int64_t a, std::uint64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + b);
  }
  void add(std::int64_t& value) noexcept {
    std::uint64_t code = 0;
    std::uint8_t byte = 128;
    for (unsigned shift = 0; byte >= 128; shift += 7) {
      good_ = good_ && at_ < from_.coded.size() && shift < 64;
      if (!good_) return;
      byte = from_.coded[at_++];
      code |= std::uint64_t{byte & 127u} << shift;
    }
    value = sum(value, code >> 1 ^ (~(code & 1) + 1));
  }

  device_samples const& from_;
  std::size_t at_ = 0;
  bool good_ = true;
  std::int64_t length_ = 0;
  counted_sample before_;
};

/// What a set of sampled counters has besides the counters, so that it adds up as they do.
struct sampled_names {
  static constexpr std::string_view work = "strata__work_ns.sum";        ///< kernels and copies
  static constexpr std::string_view covered = "strata__sampled_ns.sum";  ///< of it, in samples
  static constexpr std::string_view shared = "strata__shared_ns.sum";    ///< of it, during others'
  static constexpr std::string_view merged = "strata__merged.sum";       ///< counted above it
  static constexpr std::string_view energy = "energy";                   ///< a metric: modelled
  static constexpr std::string_view energy_counter = "strata__energy.sum";  ///< of it, J
  static constexpr double deviations = 2.0;  ///< in half of an interval meant for 95 %

  /// Of a counter: the square of its standard deviation.
  static std::string variance(std::string_view counter) {
    std::string_view const base = counter.substr(0, counter.rfind('.'));
    return std::string(base) + "_variance.sum";
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_SAMPLES_HPP
