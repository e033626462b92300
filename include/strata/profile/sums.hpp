#ifndef STRATA_PROFILE_SUMS_HPP
#define STRATA_PROFILE_SUMS_HPP

#include <strata/base/memory_budget.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>

STRATA_BEGIN
namespace detail {
struct recorded_fields;
}

/// Durations of one kind, as running sums and a logarithmic histogram.
/// Units: ns. Quantiles have a relative error below 0.8 % and are exact for one value; those of a
/// coarse histogram are rough. All else is exact.
class duration_statistics {
 public:
  void add(std::int64_t duration) {
    if (!make_room(duration)) detail::out_of_memory();
    minimum_ = count_ == 0 || duration < minimum_ ? duration : minimum_;
    maximum_ = count_ == 0 || duration > maximum_ ? duration : maximum_;
    ++count_;
    auto const value = static_cast<double>(duration);
    sum_ += value;
    sum_of_squares_ += value * value;
    ++histogram_[bucket(duration) - first_bucket_];
  }
  void add(duration_statistics const& other) {
    if (other.count_ == 0) return;
    if (other.coarseness_ < coarseness_) {
      duration_statistics alike(other);
      if (!alike.coarsen_to(coarseness_)) detail::out_of_memory();
      return add(alike);
    }
    if (!coarsen_to(other.coarseness_) ||
        !widen(other.first_bucket_, other.first_bucket_ + other.histogram_.size() - 1))
      detail::out_of_memory();
    minimum_ = count_ == 0 || other.minimum_ < minimum_ ? other.minimum_ : minimum_;
    maximum_ = count_ == 0 || other.maximum_ > maximum_ ? other.maximum_ : maximum_;
    count_ += other.count_;
    sum_ += other.sum_;
    sum_of_squares_ += other.sum_of_squares_;
    std::uint64_t* const buckets = histogram_.data() + (other.first_bucket_ - first_bucket_);
    for (std::size_t i = 0; i < other.histogram_.size(); ++i) buckets[i] += other.histogram_[i];
  }
  /// Room for a duration: adding it needs no memory then. False where there is none.
  [[nodiscard]] bool make_room(std::int64_t duration) noexcept {
    std::size_t const index = bucket(duration);
    return (index >= first_bucket_ && index - first_bucket_ < histogram_.size()) ||
           widen(index, index);
  }
  /// What make_room would take of memory. Units: bytes.
  std::size_t growth(std::int64_t duration) const noexcept {
    std::size_t const capacity = histogram_.capacity();
    std::size_t const wanted = wanted_size(bucket(duration), bucket(duration));
    if (wanted <= capacity || wanted <= min_capacity) return 0;
    std::size_t const grown = 2 * capacity;
    return ((grown < wanted ? wanted : grown) - capacity) * sizeof(std::uint64_t);
  }
  /// The memory of the histogram.
  std::size_t bytes() const noexcept { return histogram_.capacity() * sizeof(std::uint64_t); }
  /// Takes less memory from now on: where 64 parts were an octave there are 8, then one, then one
  /// part is all. False where there is no memory to do so, or nothing is coarser.
  [[nodiscard]] bool coarsen() noexcept {
    return !is_coarsest() && coarsen_to(coarseness_ + (coarseness_ < one_an_octave ? 3u : 6u));
  }
  bool is_coarse() const noexcept { return coarseness_ != 0; }
  /// Whether it never grows beyond its first value's room.
  bool is_coarsest() const noexcept { return coarseness_ == all_in_one; }

  /// Converts the durations to another unit: each is multiplied by the factor.
  void scale(double factor) {
    auto const convert = [factor](std::int64_t duration) {
      double const value = static_cast<double>(duration) * factor;
      return value < 9.2e18 ? static_cast<std::int64_t>(value)
                            : std::int64_t{9'200'000'000'000'000'000};
    };
    duration_statistics scaled;
    scaled.coarseness_ = coarseness_;
    for (std::size_t i = 0; i < histogram_.size(); ++i) {
      if (histogram_[i] == 0) continue;
      std::size_t const index = scaled.bucket(convert(middle(first_bucket_ + i)));
      if (!scaled.widen(index, index)) detail::out_of_memory();
      scaled.histogram_[index - scaled.first_bucket_] += histogram_[i];
    }
    scaled.count_ = count_;
    scaled.sum_ = sum_ * factor;
    scaled.sum_of_squares_ = sum_of_squares_ * factor * factor;
    scaled.minimum_ = convert(minimum_);
    scaled.maximum_ = convert(maximum_);
    *this = scaled;
  }
  std::uint64_t count() const noexcept { return count_; }
  double sum() const noexcept { return sum_; }
  double sum_of_squares() const noexcept { return sum_of_squares_; }
  std::int64_t minimum() const noexcept { return count_ == 0 ? 0 : minimum_; }
  std::int64_t maximum() const noexcept { return maximum_; }
  double mean() const noexcept { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }
  /// The value below which the given fraction (0 to 1) lies.
  std::int64_t quantile(double fraction) const noexcept {
    if (count_ == 0 || !(fraction > 0.0)) return minimum();
    if (fraction >= 1.0) return maximum_;
    auto const rank = static_cast<std::uint64_t>(fraction * static_cast<double>(count_ - 1) + 0.5);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < histogram_.size(); ++i) {
      seen += histogram_[i];
      if (seen > rank) {
        std::int64_t const value = middle(first_bucket_ + i);
        return value < minimum_ ? minimum_ : value > maximum_ ? maximum_ : value;
      }
    }
    return maximum_;
  }

 private:
  friend struct detail::recorded_fields;  // a recording keeps all of it

  static constexpr std::size_t min_capacity = 4;  // of a vec
  static constexpr std::uint32_t one_an_octave = 6;
  static constexpr std::uint32_t all_in_one = 12;

  std::size_t bucket(std::int64_t duration) const noexcept {
    return fine_bucket(duration) >> coarseness_;
  }
  /// In the middle of a bucket, as far as there are values.
  std::int64_t middle(std::size_t bucket) const noexcept {
    if (coarseness_ == 0) return fine_middle(bucket);
    std::int64_t const first = fine_middle(bucket << coarseness_);
    std::int64_t const last = fine_middle(((bucket + 1) << coarseness_) - 1);
    std::int64_t const low = first < minimum_ ? minimum_ : first;
    std::int64_t const high = last > maximum_ || last < first ? maximum_ : last;
    return low + (high - low) / 2;
  }
  static std::size_t fine_bucket(std::int64_t duration) noexcept {
    // 64 linear parts an octave: values below 128 ns are exact.
    if (duration < 128) return duration < 0 ? 0 : static_cast<std::size_t>(duration);
    auto const value = static_cast<std::uint64_t>(duration);
    unsigned const octave = 57u - static_cast<unsigned>(__builtin_clzll(value));
    return 64u * octave + static_cast<std::size_t>(value >> octave);
  }
  static std::int64_t fine_middle(std::size_t bucket) noexcept {
    constexpr std::size_t most = 58 * 64 - 1;  // that of the largest duration
    if (bucket < 128) return static_cast<std::int64_t>(bucket);
    if (bucket > most) bucket = most;
    std::size_t const octave = (bucket - 64) / 64;
    std::int64_t const low = static_cast<std::int64_t>(bucket - 64 * octave) << octave;
    return low + (std::int64_t{1} << octave) / 2;
  }
  /// How many buckets there are once it reaches from `first` to `last`.
  std::size_t wanted_size(std::size_t first, std::size_t last) const noexcept {
    std::size_t const size = histogram_.size();
    std::size_t const own_first = size == 0 ? first : first_bucket_;
    std::size_t const below = first < own_first ? own_first - first : 0;
    std::size_t const reach = last < own_first ? 0 : last - own_first + 1;
    return below + (reach < size ? size : reach);
  }
  /// False without memory: then nothing has changed.
  [[nodiscard]] bool coarsen_to(std::uint32_t coarseness) noexcept {
    if (coarseness <= coarseness_) return true;
    std::uint32_t const shift = coarseness - coarseness_;
    std::size_t const first = first_bucket_ >> shift;
    vec<std::uint64_t> coarse;
    if (!histogram_.empty()) {
      std::size_t const last = (first_bucket_ + histogram_.size() - 1) >> shift;
      if (!coarse.make_room(last - first + 1)) return false;
      coarse.resize(last - first + 1, 0);
      for (std::size_t i = 0; i < histogram_.size(); ++i)
        coarse[((first_bucket_ + i) >> shift) - first] += histogram_[i];
    }
    histogram_.swap(coarse);
    first_bucket_ = first;
    coarseness_ = coarseness;
    return true;
  }
  /// False without memory: then nothing has changed.
  [[nodiscard]] bool widen(std::size_t first, std::size_t last) noexcept {
    std::size_t const former = histogram_.size();
    if (former == 0) first_bucket_ = first;
    std::size_t const below = first < first_bucket_ ? first_bucket_ - first : 0;
    std::size_t const wanted = wanted_size(first, last);
    if (!histogram_.make_room(wanted - former)) return false;
    histogram_.resize(wanted);
    std::uint64_t* const begin = histogram_.data();
    std::memmove(begin + below, begin, former * sizeof *begin);
    std::memset(begin, 0, below * sizeof *begin);
    first_bucket_ -= below;
    return true;
  }

  std::uint64_t count_ = 0;
  double sum_ = 0.0;
  double sum_of_squares_ = 0.0;
  std::int64_t minimum_ = 0;
  std::int64_t maximum_ = 0;
  std::size_t first_bucket_ = 0;
  vec<std::uint64_t> histogram_;  ///< from first_bucket_ on, as far as there are values
  std::uint32_t coarseness_ = 0;  ///< 2 to this power are so many fine buckets in one
};

namespace detail {

/// Room for a duration within a budget; without room, a coarse histogram. False without memory.
[[nodiscard]] inline bool make_room_within(memory_budget* budget, duration_statistics& sums,
                                           std::int64_t duration) noexcept {
  while (budget != nullptr && !sums.is_coarsest()) {
    std::size_t const wanted = sums.growth(duration);
    memory_use const use = sums.is_coarse() ? memory_use::stand_in : memory_use::detail;
    if (wanted == 0 || budget->take(wanted, use)) break;
    std::size_t const before = sums.bytes();
    if (!sums.coarsen()) return false;
    std::size_t const after = sums.bytes();
    budget->give(before);
    budget->charge(after);
  }
  return sums.make_room(duration);
}

}  // namespace detail

/// Device work of a range. Units: ns and bytes. Recordings have the members by position.
struct device_work {
  /// Calls that put work on the device (launch, graph launch, copy, fill) or into a captured graph.
  std::uint64_t launches = 0;
  std::int64_t launch_ns = 0;  ///< host time inside those calls
  std::uint64_t kernels = 0;
  std::int64_t kernel_ns = 0;  ///< sum of the kernels' durations
  std::uint64_t copies = 0;    ///< copies and fills
  std::int64_t copy_ns = 0;
  std::uint64_t host_to_device_bytes = 0;
  std::uint64_t device_to_host_bytes = 0;
  std::uint64_t device_to_device_bytes = 0;  ///< within a device
  std::uint64_t other_bytes = 0;             ///< host to host and unknown
  std::uint64_t set_bytes = 0;               ///< fills
  std::uint64_t synchronizations = 0;
  std::int64_t synchronization_ns = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t releases = 0;
  std::uint64_t released_bytes = 0;
  /// Kernels that this range captured into a graph which another range launched. Not additive: the
  /// launching range and all above it have them in `kernels`, so a total leaves them out there.
  std::uint64_t graph_kernels = 0;
  std::int64_t graph_kernel_ns = 0;
  /// Of `kernels`, those that threads in no range launched.
  std::uint64_t adopted_kernels = 0;
  std::int64_t adopted_ns = 0;    ///< time of these kernels, and of copies by such threads
  std::uint64_t peer_copies = 0;  ///< of `copies`, those from one device to another
  std::uint64_t peer_bytes = 0;
  std::int64_t peer_ns = 0;

  /// All but the kernels that were captured, whose totals are no sums.
  void add(device_work const& more) noexcept {
    launches += more.launches;
    launch_ns = detail::add_saturated(launch_ns, more.launch_ns);
    kernels += more.kernels;
    kernel_ns = detail::add_saturated(kernel_ns, more.kernel_ns);
    copies += more.copies;
    copy_ns = detail::add_saturated(copy_ns, more.copy_ns);
    host_to_device_bytes += more.host_to_device_bytes;
    device_to_host_bytes += more.device_to_host_bytes;
    device_to_device_bytes += more.device_to_device_bytes;
    other_bytes += more.other_bytes;
    set_bytes += more.set_bytes;
    synchronizations += more.synchronizations;
    synchronization_ns = detail::add_saturated(synchronization_ns, more.synchronization_ns);
    allocations += more.allocations;
    allocated_bytes += more.allocated_bytes;
    releases += more.releases;
    released_bytes += more.released_bytes;
    adopted_kernels += more.adopted_kernels;
    adopted_ns = detail::add_saturated(adopted_ns, more.adopted_ns);
    peer_copies += more.peer_copies;
    peer_bytes += more.peer_bytes;
    peer_ns = detail::add_saturated(peer_ns, more.peer_ns);
  }
  /// Of copies, without fills.
  std::uint64_t copied_bytes() const noexcept {
    return host_to_device_bytes + device_to_host_bytes + device_to_device_bytes + peer_bytes +
           other_bytes;
  }
};

/// All launches of one kernel by one range.
struct kernel_sums {
  std::uint32_t node = root_node;
  std::uint32_t name = no_reference;  ///< 1-based in profile::kernel_names
  std::uint64_t count = 0;
  duration_statistics duration;         ///< ns; without launches whose times the device lost
  duration_statistics blocks;           ///< blocks of a launch
  std::uint64_t block_threads_min = 0;  ///< threads of a block
  std::uint64_t block_threads_max = 0;
  std::uint64_t warps = 0;                 ///< warps of a block, summed over the launches
  std::uint32_t registers = 0;             ///< a thread, largest
  std::uint32_t static_shared_bytes = 0;   ///< largest
  std::uint32_t dynamic_shared_bytes = 0;  ///< largest
  /// What a launch uses of a multiprocessor, from 0 to 1, times its weight, summed up.
  struct use {
    double weight = 0.0;
    double sm = 0.0;
    double placed_weight = 0.0;  ///< of launches on a device that is known
    double gpu = 0.0;
  };
  use by_time;   ///< the weight is the duration in ns
  use by_count;  ///< the weight is 1
};

/// Kernels that one range captured into a graph and that another range launched.
struct graph_kernel_sums {
  std::uint32_t launched_by;
  std::uint32_t captured_by;
  std::uint64_t kernels;
  std::int64_t kernel_ns;
};

/// What a place in the tree and everything below it did together: not the sum of its parts.
struct subtree_times {
  std::int64_t busy_ns = 0;     ///< at least one kernel or copy ran, on any device
  std::int64_t peak_bytes = 0;  ///< most device memory in use at one time
};

/// The busy time of one device.
struct device_busy {
  std::uint32_t device;
  vec<std::int64_t> ns;  ///< by place
};

/// The places of a tree. One device that did all the work has its times in `times`.
struct subtree_sums {
  vec<subtree_times> times;  ///< by place
  vec<device_busy> devices;  ///< of a run with several devices
  std::uint32_t only_device = 0;
};

/// Sums over all device work of a run, including work for which the timeline had no room.
struct device_sums {
  bool complete = false;   ///< false: the profile has only records, the sums are made of them
  vec<device_work> nodes;  ///< by node: the node itself
  vec<kernel_sums> kernels;
  vec<graph_kernel_sums> graph_kernels;
  subtree_sums by_node;
  /// By node: the place of its family, which all nodes of one name below one family share.
  vec<std::uint32_t> family_of_node;
  subtree_sums by_family;
};

STRATA_END

#endif  // STRATA_PROFILE_SUMS_HPP
