#include <strata/version.hpp>
#ifndef STRATA_PROFILE_SUMS_HPP
#define STRATA_PROFILE_SUMS_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

STRATA_BEGIN

namespace detail {
struct recorded_fields;
}

/// Durations of one kind, as running sums and a logarithmic histogram.
/// Units: ns. Quantiles have a relative error below 0.8 % and are exact for one value.
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
    if (!widen(other.first_bucket_, other.first_bucket_ + other.histogram_.size() - 1))
      detail::out_of_memory();
    minimum_ = count_ == 0 || other.minimum_ < minimum_ ? other.minimum_ : minimum_;
    maximum_ = count_ == 0 || other.maximum_ > maximum_ ? other.maximum_ : maximum_;
    count_ += other.count_;
    sum_ += other.sum_;
    sum_of_squares_ += other.sum_of_squares_;
    std::uint64_t* const to = histogram_.data() + (other.first_bucket_ - first_bucket_);
    for (std::size_t i = 0; i < other.histogram_.size(); ++i) to[i] += other.histogram_[i];
  }
  /// Room for a duration: adding it needs no memory then. False where there is none.
  [[nodiscard]] bool make_room(std::int64_t duration) noexcept {
    std::size_t const at = bucket(duration);
    return (at >= first_bucket_ && at - first_bucket_ < histogram_.size()) || widen(at, at);
  }
  /// Converts the durations to another unit: each is multiplied by the factor.
  void scale(double factor) {
    auto const convert = [factor](std::int64_t duration) {
      double const value = static_cast<double>(duration) * factor;
      return value < 9.2e18 ? static_cast<std::int64_t>(value)
                            : std::int64_t{9'200'000'000'000'000'000};
    };
    duration_statistics scaled;
    for (std::size_t i = 0; i < histogram_.size(); ++i) {
      if (histogram_[i] == 0) continue;
      std::size_t const to = bucket(convert(middle(first_bucket_ + i)));
      if (!scaled.widen(to, to)) detail::out_of_memory();
      scaled.histogram_[to - scaled.first_bucket_] += histogram_[i];
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

  static std::size_t bucket(std::int64_t duration) noexcept {
    // 64 linear parts an octave: values below 128 ns are exact.
    if (duration < 128) return duration < 0 ? 0 : static_cast<std::size_t>(duration);
    auto const value = static_cast<std::uint64_t>(duration);
    unsigned octave = 0;
#if defined(__GNUC__)
    octave = 57u - static_cast<unsigned>(__builtin_clzll(value));
#else
    for (auto rest = value; rest >= 128; rest >>= 1) ++octave;
#endif
    return 64u * octave + static_cast<std::size_t>(value >> octave);
  }
  static std::int64_t middle(std::size_t bucket) noexcept {
    if (bucket < 128) return static_cast<std::int64_t>(bucket);
    std::size_t const octave = (bucket - 64) / 64;
    std::int64_t const low = static_cast<std::int64_t>(bucket - 64 * octave) << octave;
    return low + (std::int64_t{1} << octave) / 2;
  }
  /// False without memory: then nothing has changed.
  [[nodiscard]] bool widen(std::size_t first, std::size_t last) noexcept {
    std::size_t const former = histogram_.size();
    if (former == 0) first_bucket_ = first;
    std::size_t const below = first < first_bucket_ ? first_bucket_ - first : 0;
    std::size_t const reach = last < first_bucket_ ? 0 : last - first_bucket_ + 1;
    std::size_t const wanted = below + (reach < former ? former : reach);
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
};

STRATA_DETAIL_COLD_CODE

/// Device work of a range: once for the range itself, once with everything below it.
/// Units: ns and bytes.
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
  std::uint64_t device_to_device_bytes = 0;  ///< peer copies included
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

/// What a place in the tree and everything below it did together, which is no sum of its parts.
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

/// Sums over all device work of a run, also over what the timeline had no room for.
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

namespace detail {

template <class Record>
constexpr auto time_of(Record const& record) noexcept -> decltype(record.begin) {
  return record.begin;
}
constexpr std::int64_t time_of(memory_record const& record) noexcept { return record.time; }

template <class Record>
void sort_by_time(vec<Record>& records) {
  records.sort([](Record const& a, Record const& b) { return time_of(a) < time_of(b); });
}

/// Hands the first ones of two sorted lists to `sink`, in the order of their times.
template <class First, class Second, class Sink>
void add_by_time(vec<First>& a, std::size_t count_a, vec<Second>& b, std::size_t count_b,
                 Sink sink) {
  for (std::size_t i = 0, j = 0; i < count_a || j < count_b;) {
    if (j == count_b || (i < count_a && time_of(a[i]) <= time_of(b[j]))) {
      sink(a[i++]);
    } else {
      sink(b[j++]);
    }
  }
}

/// The times of every subtree of a tree, from work in the order of its begins.
/// Cost: a step for each level that was not busy yet.
class subtree_sweep {
 public:
  explicit subtree_sweep(subtree_sums& to) noexcept : to_(&to) {}

  /// Adds a place below an earlier one; the first is the root, its own parent. Requires: room.
  void add_place(std::uint32_t parent) {
    parents_.push_back(parent);
    to_->times.push_back({});
    in_use_.push_back(0);
    busy_until_.push_back(lost_time);
    for (device& each : devices_) each.busy_until.push_back(lost_time);
    for (device_busy& each : to_->devices) each.ns.push_back(0);
  }
  std::size_t places() const noexcept { return parents_.size(); }
  /// So that the next place needs no memory.
  void make_room_for_place() {
    std::size_t const count = places() + 1;
    parents_.reserve(count);
    to_->times.reserve(count);
    in_use_.reserve(count);
    busy_until_.reserve(count);
    for (device& each : devices_) each.busy_until.reserve(count);
    for (device_busy& each : to_->devices) each.ns.reserve(count);
  }
  /// So that work on a device needs no memory.
  void make_room_for_busy(std::uint32_t on) {
    if (any_ && (on != to_->only_device || !devices_.empty())) (void)position_of(on);
  }

  /// Work on a device. What begins before earlier work counts from that work's end on.
  void add_busy(std::uint32_t place, std::int64_t begin, std::int64_t end, std::uint32_t on) {
    if (!any_) to_->only_device = on;
    any_ = true;
    if (on != to_->only_device || !devices_.empty()) {
      std::size_t const at = position_of(on);
      vec<std::int64_t>& until = devices_[at].busy_until;
      vec<std::int64_t>& ns = to_->devices[at].ns;
      for (std::uint32_t i = place; until[i] < end; i = parents_[i])
        add(ns[i], until[i], begin, end);
    }
    // Where a place is busy for longer, so are all places above it.
    for (; busy_until_[place] < end; place = parents_[place])
      add(to_->times[place].busy_ns, busy_until_[place], begin, end);
  }

  void allocate(std::uint32_t place, std::uint64_t bytes) noexcept {
    for (;; place = parents_[place]) {
      in_use_[place] = add_saturated(in_use_[place], signed_bytes(bytes));
      std::int64_t& peak = to_->times[place].peak_bytes;
      peak = larger(peak, in_use_[place]);
      if (place == 0) return;
    }
  }
  void release(std::uint32_t place, std::uint64_t bytes) noexcept {
    for (;; place = parents_[place]) {
      in_use_[place] -= smaller(in_use_[place], signed_bytes(bytes));
      if (place == 0) return;
    }
  }

 private:
  struct device {
    vec<std::int64_t> busy_until;  ///< by place: when the last work of its subtree ends
  };

  static void add(std::int64_t& sum, std::int64_t& until, std::int64_t begin,
                  std::int64_t end) noexcept {
    sum = add_saturated(sum, elapsed(larger(begin, until), end));
    until = end;
  }

  /// Where a device has its own times, from the moment on at which there are several.
  std::size_t position_of(std::uint32_t on) {
    if (devices_.empty()) {
      device_busy first{to_->only_device, vec<std::int64_t>(places(), 0)};
      for (std::size_t i = 0; i < places(); ++i) first.ns[i] = to_->times[i].busy_ns;
      add_device(std::move(first), busy_until_);
    }
    std::size_t at = 0;
    while (at < to_->devices.size() && to_->devices[at].device != on) ++at;
    if (at == devices_.size())
      add_device({on, vec<std::int64_t>(places(), 0)}, vec<std::int64_t>(places(), lost_time));
    return at;
  }

  void add_device(device_busy busy, vec<std::int64_t> until) {
    to_->devices.reserve(to_->devices.size() + 1);
    devices_.push_back({std::move(until)});
    to_->devices.push_back(std::move(busy));
  }

  subtree_sums* to_;
  vec<std::uint32_t> parents_;
  vec<std::int64_t> in_use_;      ///< device memory, bytes
  vec<std::int64_t> busy_until_;  ///< on any device
  vec<device> devices_;           ///< as subtree_sums::devices
  bool any_ = false;
};

/// Adds device records, joined to their nodes, to sums. Records of one kind come in the order of
/// their begins; what comes late is in all sums, and in the busy time as far as it ends later.
/// Threads: one at a time.
class device_summing {
 public:
  static constexpr std::size_t most_devices = 64;

  explicit device_summing(device_sums& to)
      : to_(&to), by_node_(to.by_node), by_family_(to.by_family) {
    add_node(root_node, 0);
  }
  device_summing(device_summing const&) = delete;
  device_summing& operator=(device_summing const&) = delete;

  /// The next node of the tree, below an earlier one. Nodes with one parent and one name number
  /// are a family.
  void add_node(std::uint32_t parent, std::uint32_t name) {
    to_->nodes.reserve(nodes() + 1);  // all room first: without memory nothing is added
    to_->family_of_node.reserve(nodes() + 1);
    by_node_.make_room_for_place();
    by_family_.make_room_for_place();
    if (!families_.make_room()) out_of_memory();
    auto const node = static_cast<std::uint32_t>(to_->nodes.size());
    to_->nodes.emplace_back();
    by_node_.add_place(parent);
    std::uint32_t family = 0;
    if (node != root_node) {
      std::uint64_t const key =
          std::uint64_t{to_->family_of_node[parent]} << 32 | std::uint64_t{name};
      std::uint32_t& known = families_[key];
      if (known == 0) {
        known = static_cast<std::uint32_t>(by_family_.places());
        by_family_.add_place(to_->family_of_node[parent]);
      }
      family = known;
    } else {
      by_family_.add_place(0);
    }
    to_->family_of_node.push_back(family);
  }
  std::size_t nodes() const noexcept { return to_->nodes.size(); }

  /// How many multiprocessors a device has, for the use that its kernels make of it.
  void describe_device(std::uint32_t device, std::uint32_t multiprocessors) noexcept {
    if (device < most_devices) multiprocessors_[device] = multiprocessors;
  }

  /// Units: of time: any, the sums of all launches have it.
  void add_launches(std::uint32_t node, std::uint64_t launches, std::int64_t duration) noexcept {
    device_work& work = of(node);
    work.launches += launches;
    work.launch_ns = add_saturated(work.launch_ns, duration);
  }

  /// Without memory it throws, as the others do, and the record is in no sum.
  void add(kernel_record const& kernel) {
    std::int64_t const duration = elapsed(kernel.begin, kernel.end);
    bool const captured = kernel.captured_by != no_node && kernel.captured_by != kernel.node;
    std::size_t const graph = captured ? position_of_captured(kernel) : 0;
    make_room_for_busy(kernel.begin, kernel.end, kernel.device);
    add_to_name(kernel, duration);
    device_work& work = of(kernel.node);
    ++work.kernels;
    work.kernel_ns = add_saturated(work.kernel_ns, duration);
    add_busy(kernel.node, kernel.begin, kernel.end, kernel.device);
    if (!captured) return;
    graph_kernel_sums& sums = to_->graph_kernels[graph];
    ++sums.kernels;
    sums.kernel_ns = add_saturated(sums.kernel_ns, duration);
  }

  void add(copy_record const& copy) {
    make_room_for_busy(copy.begin, copy.end, copy.device);
    device_work& work = of(copy.node);
    ++work.copies;
    work.copy_ns = add_saturated(work.copy_ns, elapsed(copy.begin, copy.end));
    bytes_of(work, copy.kind) += copy.bytes;
    add_busy(copy.node, copy.begin, copy.end, copy.device);
  }

  void add(synchronization_record const& wait) noexcept {
    if (wait.kind == synchronization_kind::stream_wait_event) return;  // the host does not wait
    device_work& work = of(wait.node);
    ++work.synchronizations;
    work.synchronization_ns = add_saturated(work.synchronization_ns, elapsed(wait.begin, wait.end));
  }

  /// A release ends the life of an allocation, and so does an allocation at an address that is
  /// still in use, because its release was lost.
  void add(memory_record const& record) {
    if (record.allocates != 0 && !live_.make_room()) out_of_memory();
    allocation ended;
    if (allocation const* const live = live_.find(record.address)) {
      ended = *live;
      live_.erase(record.address);
      if (is_device_memory(ended.kind)) {
        by_node_.release(ended.node, ended.bytes);
        by_family_.release(to_->family_of_node[ended.node], ended.bytes);
      }
    }
    device_work& work = of(record.node);
    if (record.allocates == 0) {
      ++work.releases;
      work.released_bytes += record.bytes == 0 ? ended.bytes : record.bytes;
      return;
    }
    ++work.allocations;
    work.allocated_bytes += record.bytes;
    std::uint32_t const node = known(record.node);
    live_[record.address] = {record.bytes, node, record.kind};
    if (!is_device_memory(record.kind)) return;
    by_node_.allocate(node, record.bytes);
    by_family_.allocate(to_->family_of_node[node], record.bytes);
  }

  /// Fills in what is known only at the end. Units: `launch_unit` in ns.
  void finish(double launch_unit) {
    for (device_work& work : to_->nodes)
      work.launch_ns = whole_ns(static_cast<double>(work.launch_ns) * launch_unit);
    // Those whose first record found no memory.
    to_->kernels.keep_if([](kernel_sums const& each) { return each.count != 0; });
    to_->graph_kernels.keep_if([](graph_kernel_sums const& each) { return each.kernels != 0; });
    to_->complete = true;
  }

 private:
  struct allocation {
    std::uint64_t bytes = 0;
    std::uint32_t node = root_node;
    memory_kind kind = memory_kind::unknown;
  };

  std::uint32_t known(std::uint32_t node) const noexcept { return node < nodes() ? node : 0; }
  device_work& of(std::uint32_t node) noexcept { return to_->nodes[known(node)]; }

  void add_busy(std::uint32_t node, std::int64_t begin, std::int64_t end, std::uint32_t device) {
    if (begin == lost_time || end <= begin) return;
    by_node_.add_busy(known(node), begin, end, device);
    by_family_.add_busy(to_->family_of_node[known(node)], begin, end, device);
  }

  void make_room_for_busy(std::int64_t begin, std::int64_t end, std::uint32_t device) {
    if (begin == lost_time || end <= begin) return;
    by_node_.make_room_for_busy(device);
    by_family_.make_room_for_busy(device);
  }

  std::size_t position_of_captured(kernel_record const& kernel) {
    std::uint64_t const key =
        std::uint64_t{known(kernel.node)} << 32 | std::uint64_t{kernel.captured_by};
    std::uint32_t& at = graphs_[key];
    if (at == 0) {
      to_->graph_kernels.push_back({known(kernel.node), kernel.captured_by, 0, 0});
      at = static_cast<std::uint32_t>(to_->graph_kernels.size());
    }
    return at - 1;
  }

  static std::uint64_t& bytes_of(device_work& work, copy_kind kind) noexcept {
    switch (kind) {
      case copy_kind::host_to_device:
        return work.host_to_device_bytes;
      case copy_kind::device_to_host:
        return work.device_to_host_bytes;
      case copy_kind::device_to_device:
      case copy_kind::peer:
        return work.device_to_device_bytes;
      case copy_kind::set:
        return work.set_bytes;
      default:
        return work.other_bytes;
    }
  }

  kernel_sums& of_name(kernel_record const& kernel) {
    std::uint64_t const key = std::uint64_t{known(kernel.node)} << 32 | std::uint64_t{kernel.name};
    std::uint32_t& at = names_[key];
    if (at == 0) {
      to_->kernels.emplace_back();
      to_->kernels.back().node = known(kernel.node);
      to_->kernels.back().name = kernel.name;
      at = static_cast<std::uint32_t>(to_->kernels.size());
    }
    return to_->kernels[at - 1];
  }

  void add_to_name(kernel_record const& kernel, std::int64_t duration) {
    kernel_sums& sums = of_name(kernel);
    std::uint64_t const threads = std::uint64_t{kernel.block_x} * kernel.block_y * kernel.block_z;
    std::uint64_t const blocks = std::uint64_t{kernel.grid_x} * kernel.grid_y * kernel.grid_z;
    std::uint64_t const warps = (threads + 31) / 32;
    if (!sums.duration.make_room(duration) || !sums.blocks.make_room(signed_bytes(blocks)))
      out_of_memory();
    bool const first = sums.count == 0;
    sums.block_threads_min = first ? threads : smaller(sums.block_threads_min, threads);
    sums.block_threads_max = larger(sums.block_threads_max, threads);
    ++sums.count;
    sums.warps += warps;
    if (kernel.begin != lost_time) sums.duration.add(duration);
    sums.blocks.add(signed_bytes(blocks));
    sums.registers = larger(sums.registers, std::uint32_t{kernel.registers});
    sums.static_shared_bytes =
        larger(sums.static_shared_bytes, std::uint32_t{kernel.static_shared_bytes});
    sums.dynamic_shared_bytes = larger(sums.dynamic_shared_bytes, kernel.dynamic_shared_bytes);
    double const used = static_cast<double>(smaller(warps, std::uint64_t{4})) / 4.0;
    double filled = -1.0;  // part of the device's multiprocessors; unknown
    if (kernel.device < most_devices && multiprocessors_[kernel.device] != 0) {
      double const part =
          static_cast<double>(blocks) / static_cast<double>(multiprocessors_[kernel.device]);
      filled = part < 1.0 ? part : 1.0;
    }
    add_use(sums.by_time, static_cast<double>(duration), used, filled);
    add_use(sums.by_count, 1.0, used, filled);
  }

  static void add_use(kernel_sums::use& to, double weight, double used, double filled) noexcept {
    to.weight += weight;
    to.sm += weight * used;
    if (filled < 0.0) return;
    to.placed_weight += weight;
    to.gpu += weight * used * filled;
  }

  device_sums* to_;
  subtree_sweep by_node_;
  subtree_sweep by_family_;
  number_map<std::uint32_t> families_;  ///< by family above and name
  number_map<std::uint32_t> graphs_;    ///< by launching and capturing node: position + 1
  number_map<std::uint32_t> names_;     ///< by node and name: position + 1
  number_map<allocation> live_;         ///< by address
  std::uint32_t multiprocessors_[most_devices] = {};
};

}  // namespace detail

STRATA_DETAIL_END_CODE

STRATA_END

#endif  // STRATA_PROFILE_SUMS_HPP
