#ifndef STRATA_PROFILE_DEVICE_SUMMING_HPP
#define STRATA_PROFILE_DEVICE_SUMMING_HPP

#include <strata/base/containers.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile/sums.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
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

/// The times of every subtree of a tree, from work in the order of its begins. Of so many devices
/// each has its own; those beyond count as one, so that memory is that of the places. No recorder
/// nests deeper than `deepest`: what lies deeper is directly below a place at that depth. Cost: a
/// step for each level that was not busy yet.
class subtree_sweep {
 public:
  static constexpr std::size_t max_devices = 64;
  static constexpr std::uint32_t deepest = 1024;

  explicit subtree_sweep(subtree_sums& sums) noexcept : sums_(&sums) {}

  /// Adds a place below an earlier one; the first is the root, its own parent. Requires: room.
  void add_place(std::uint32_t parent) {
    bool const is_root = parents_.empty();
    if (!is_root && depths_[parent] > deepest) parent = parents_[parent];
    depths_.push_back(is_root ? 0 : depths_[parent] + 1);
    parents_.push_back(parent);
    sums_->times.push_back({});
    in_use_.push_back(0);
    busy_until_.push_back(lost_time);
    for (device& known : devices_) known.busy_until.push_back(lost_time);
    for (device_busy& busy : sums_->devices) busy.ns.push_back(0);
  }
  std::size_t places() const noexcept { return parents_.size(); }
  /// So that the next place needs no memory.
  void make_room_for_place() {
    std::size_t const count = places() + 1;
    parents_.reserve(count);
    depths_.reserve(count);
    sums_->times.reserve(count);
    in_use_.reserve(count);
    busy_until_.reserve(count);
    for (device& known : devices_) known.busy_until.reserve(count);
    for (device_busy& busy : sums_->devices) busy.ns.reserve(count);
  }
  /// So that work on a device needs no memory.
  void make_room_for_busy(std::uint32_t on) {
    if (any_ && (on != sums_->only_device || !devices_.empty())) (void)position_of(on);
  }

  /// Work on a device. What begins before earlier work counts from that work's end on.
  void add_busy(std::uint32_t position, std::int64_t begin, std::int64_t end, std::uint32_t on) {
    if (!any_) sums_->only_device = on;
    any_ = true;
    if (on != sums_->only_device || !devices_.empty()) {
      std::size_t const index = position_of(on);
      vec<std::int64_t>& until = devices_[index].busy_until;
      vec<std::int64_t>& ns = sums_->devices[index].ns;
      for (std::uint32_t i = position; until[i] < end; i = parents_[i])
        add(ns[i], until[i], begin, end);
    }
    // Where a place is busy for longer, so are all places above it.
    for (; busy_until_[position] < end; position = parents_[position])
      add(sums_->times[position].busy_ns, busy_until_[position], begin, end);
  }

  void allocate(std::uint32_t position, std::uint64_t bytes) noexcept {
    for (;; position = parents_[position]) {
      in_use_[position] = add_saturated(in_use_[position], signed_bytes(bytes));
      std::int64_t& peak = sums_->times[position].peak_bytes;
      peak = larger(peak, in_use_[position]);
      if (position == 0) return;
    }
  }
  void release(std::uint32_t position, std::uint64_t bytes) noexcept {
    for (;; position = parents_[position]) {
      in_use_[position] -= smaller(in_use_[position], signed_bytes(bytes));
      if (position == 0) return;
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
      device_busy first{sums_->only_device, vec<std::int64_t>(places(), 0)};
      for (std::size_t i = 0; i < places(); ++i) first.ns[i] = sums_->times[i].busy_ns;
      add_device(std::move(first), busy_until_);
    }
    std::size_t index = 0;
    while (index < sums_->devices.size() && sums_->devices[index].device != on) ++index;
    if (index == max_devices) return index - 1;
    if (index == devices_.size())
      add_device({on, vec<std::int64_t>(places(), 0)}, vec<std::int64_t>(places(), lost_time));
    return index;
  }

  void add_device(device_busy busy, vec<std::int64_t> until) {
    sums_->devices.reserve(sums_->devices.size() + 1);
    devices_.push_back({std::move(until)});
    sums_->devices.push_back(std::move(busy));
  }

  subtree_sums* sums_;
  vec<std::uint32_t> parents_;
  vec<std::uint32_t> depths_;     ///< one more than `deepest` at most
  vec<std::int64_t> in_use_;      ///< device memory, bytes
  vec<std::int64_t> busy_until_;  ///< on any device
  vec<device> devices_;           ///< as subtree_sums::devices
  bool any_ = false;
};

/// What the sums had no room for. The sums by range are exact all the same.
struct summing_losses {
  std::uint64_t kernels_merged = 0;       ///< kernels in the sums of the stand-in of other names
  std::uint64_t histograms_coarse = 0;    ///< sums of a kernel
  std::uint64_t allocations_dropped = 0;  ///< in no peak
};

/// Adds device records, joined to their nodes, to sums. Records of one kind come in the order of
/// their begins; what comes late is in all sums, and in the busy time as far as it ends later.
/// Bounded by a budget, if there is one: nodes are always charged to it; kernels beyond it share
/// the sums of one name in their range, then in the root.
/// Threads: one at a time.
class device_summing : uncopied {
 public:
  static constexpr std::size_t max_devices = subtree_sweep::max_devices;

  /// `stand_in` is the number of the name for those without room: by default no kernel's.
  explicit device_summing(device_sums& sums, memory_budget* budget = nullptr,
                          std::uint32_t stand_in = ~std::uint32_t{0})
      : sums_(&sums),
        by_node_(sums.by_node),
        by_family_(sums.by_family),
        budget_(budget),
        other_names_(stand_in) {
    add_node(root_node, 0);
  }

  /// The next node of the tree, below an earlier one. One parent and one name are a family.
  void add_node(std::uint32_t parent, std::uint32_t name) {
    sums_->nodes.reserve(nodes() + 1);  // all room first: without memory nothing is added
    sums_->family_of_node.reserve(nodes() + 1);
    by_node_.make_room_for_place();
    by_family_.make_room_for_place();
    if (!families_.make_room()) out_of_memory();
    charge(bytes_of_node);
    auto const node = static_cast<std::uint32_t>(sums_->nodes.size());
    sums_->nodes.emplace_back();
    by_node_.add_place(parent);
    std::uint32_t family = 0;
    if (node != root_node) {
      std::uint32_t& known = families_[key_of(sums_->family_of_node[parent], name)];
      if (known == 0) {
        known = static_cast<std::uint32_t>(by_family_.places());
        by_family_.add_place(sums_->family_of_node[parent]);
      }
      family = known;
    } else {
      by_family_.add_place(0);
    }
    sums_->family_of_node.push_back(family);
  }
  std::size_t nodes() const noexcept { return sums_->nodes.size(); }
  summing_losses const& losses() const noexcept { return losses_; }

  /// How many multiprocessors a device has, for the use that its kernels make of it.
  void describe_device(std::uint32_t device, std::uint32_t multiprocessors) noexcept {
    if (device < max_devices) multiprocessors_[device] = multiprocessors;
  }

  std::uint32_t multiprocessors(std::uint32_t device) const noexcept {
    return device < max_devices ? multiprocessors_[device] : 0;
  }
  /// A context whose work may use a part of the device only.
  void describe_context(profile_context const& context) {
    std::uint32_t* const known = contexts_.find(context.context);
    if (known == nullptr && !contexts_.make_room()) out_of_memory();
    contexts_[context.context] = context.multiprocessors;
  }

  /// Units: of time: any, the sums of all launches have it.
  void add_launches(std::uint32_t node, std::uint64_t launches, std::int64_t duration) noexcept {
    device_work& work = work_of(node);
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
    device_work& work = work_of(kernel.node);
    ++work.kernels;
    work.kernel_ns = add_saturated(work.kernel_ns, duration);
    if (kernel.adopted != 0) {
      ++work.adopted_kernels;
      work.adopted_ns = add_saturated(work.adopted_ns, duration);
    }
    add_busy(kernel.node, kernel.begin, kernel.end, kernel.device);
    if (!captured) return;
    graph_kernel_sums& sums = sums_->graph_kernels[graph];
    ++sums.kernels;
    sums.kernel_ns = add_saturated(sums.kernel_ns, duration);
  }

  void add(copy_record const& copy) {
    make_room_for_busy(copy.begin, copy.end, copy.device);
    device_work& work = work_of(copy.node);
    if (copy.peer.again == 0) ++work.copies;
    std::int64_t const duration = elapsed(copy.begin, copy.end);
    work.copy_ns = add_saturated(work.copy_ns, duration);
    if (copy.adopted != 0) work.adopted_ns = add_saturated(work.adopted_ns, duration);
    bytes_of(work, copy.kind) += copy.bytes;
    if (copy.kind == copy_kind::peer) {
      if (copy.peer.again == 0) ++work.peer_copies;
      work.peer_ns = add_saturated(work.peer_ns, duration);
    }
    add_busy(copy.node, copy.begin, copy.end, copy.device);
  }

  void add(synchronization_record const& wait) noexcept {
    if (wait.kind == synchronization_kind::stream_wait_event) return;  // the host does not wait
    device_work& work = work_of(wait.node);
    ++work.synchronizations;
    work.synchronization_ns = add_saturated(work.synchronization_ns, elapsed(wait.begin, wait.end));
  }

  /// A release ends the life of an allocation, and so does an allocation at an address that is
  /// still in use, because its release was lost.
  void add(memory_record const& record) {
    bool const is_followed = record.allocates != 0 && follows_one_more();
    allocation ended;
    if (allocation const* const live = live_.find(record.address)) {
      ended = *live;
      live_.erase(record.address);
      if (is_device_memory(ended.kind)) {
        by_node_.release(ended.node, ended.bytes);
        by_family_.release(sums_->family_of_node[ended.node], ended.bytes);
      }
    }
    device_work& work = work_of(record.node);
    if (record.allocates == 0) {
      ++work.releases;
      work.released_bytes += record.bytes == 0 ? ended.bytes : record.bytes;
      return;
    }
    ++work.allocations;
    work.allocated_bytes += record.bytes;
    if (!is_followed) return (void)++losses_.allocations_dropped;
    std::uint32_t const node = known(record.node);
    live_[record.address] = {record.bytes, node, record.kind};
    if (!is_device_memory(record.kind)) return;
    by_node_.allocate(node, record.bytes);
    by_family_.allocate(sums_->family_of_node[node], record.bytes);
  }

  /// Fills in what is known only at the end. Units: `launch_unit` in ns.
  void finish(double launch_unit) {
    for (device_work& work : sums_->nodes)
      work.launch_ns = whole_ns(static_cast<double>(work.launch_ns) * launch_unit);
    // Those whose first record found no memory.
    sums_->kernels.keep_if([](kernel_sums const& kernel) { return kernel.count != 0; });
    for (kernel_sums const& sums : sums_->kernels)
      losses_.histograms_coarse += sums.duration.is_coarse() || sums.blocks.is_coarse() ? 1 : 0;
    sums_->graph_kernels.keep_if([](graph_kernel_sums const& sums) { return sums.kernels != 0; });
    sums_->complete = true;
  }

 private:
  struct allocation {
    std::uint64_t bytes = 0;
    std::uint32_t node = root_node;
    memory_kind kind = memory_kind::unknown;
  };

  /// With its place in both trees and in the map of families, which is a quarter full at least.
  static constexpr std::size_t bytes_of_node =
      sizeof(device_work) + sizeof(std::uint32_t) +
      2 * (sizeof(subtree_times) + 2 * sizeof(std::uint32_t) + 2 * sizeof(std::int64_t)) + 3 * 16;
  /// With its place in the map of names and two histograms of a few values each.
  static constexpr std::size_t bytes_of_kernel = sizeof(kernel_sums) + 3 * 16 + 2 * 48;

  void charge(std::size_t bytes) noexcept {
    if (budget_ != nullptr) budget_->charge(bytes);
  }
  bool may_take(std::size_t bytes, memory_use use) noexcept {
    return budget_ == nullptr || budget_->take(bytes, use);
  }

  /// Room for one more allocation in use, within the budget.
  bool follows_one_more() {
    std::size_t const wanted = live_.growth();
    if (wanted != 0 && !may_take(wanted, memory_use::sum)) return false;
    if (!live_.make_room()) out_of_memory();
    return true;
  }

  std::uint32_t known(std::uint32_t node) const noexcept { return node < nodes() ? node : 0; }
  device_work& work_of(std::uint32_t node) noexcept { return sums_->nodes[known(node)]; }

  void add_busy(std::uint32_t node, std::int64_t begin, std::int64_t end, std::uint32_t device) {
    if (begin == lost_time || end <= begin) return;
    by_node_.add_busy(known(node), begin, end, device);
    by_family_.add_busy(sums_->family_of_node[known(node)], begin, end, device);
  }

  void make_room_for_busy(std::int64_t begin, std::int64_t end, std::uint32_t device) {
    if (begin == lost_time || end <= begin) return;
    by_node_.make_room_for_busy(device);
    by_family_.make_room_for_busy(device);
  }

  std::size_t position_of_captured(kernel_record const& kernel) {
    std::uint32_t& number = graphs_[key_of(known(kernel.node), kernel.captured_by)];
    if (number == 0) {
      charge(sizeof(graph_kernel_sums) + 3 * 16);
      sums_->graph_kernels.push_back({known(kernel.node), kernel.captured_by, 0, 0});
      number = static_cast<std::uint32_t>(sums_->graph_kernels.size());
    }
    return number - 1;
  }

  static std::uint64_t& bytes_of(device_work& work, copy_kind kind) noexcept {
    switch (kind) {
      case copy_kind::host_to_device:
        return work.host_to_device_bytes;
      case copy_kind::device_to_host:
        return work.device_to_host_bytes;
      case copy_kind::device_to_device:
        return work.device_to_device_bytes;
      case copy_kind::peer:
        return work.peer_bytes;
      case copy_kind::set:
        return work.set_bytes;
      default:
        return work.other_bytes;
    }
  }

  static std::uint64_t key_of(std::uint32_t node, std::uint32_t other) noexcept {
    return std::uint64_t{node} << 32 | std::uint64_t{other};
  }

  kernel_sums& make_name(std::uint32_t node, std::uint32_t name) {
    std::uint32_t& number = names_[key_of(node, name)];
    if (number == 0) {
      sums_->kernels.emplace_back();
      sums_->kernels.back().node = node;
      sums_->kernels.back().name = name;
      number = static_cast<std::uint32_t>(sums_->kernels.size());
    }
    return sums_->kernels[number - 1];
  }

  /// The sums of a kernel in its range; where there is no room for more, those that stand in for
  /// several: the range's, then the root's.
  kernel_sums& of_name(kernel_record const& kernel) {
    std::uint32_t const node = known(kernel.node);
    std::uint32_t const* const own = names_.find(key_of(node, kernel.name));
    if (own != nullptr && *own != 0) return sums_->kernels[*own - 1];
    if (may_take(bytes_of_kernel, memory_use::sum)) return make_name(node, kernel.name);
    std::uint32_t const* const others = names_.find(key_of(node, other_names_));
    if (others != nullptr && *others != 0) return sums_->kernels[*others - 1];
    if (may_take(bytes_of_kernel, memory_use::stand_in)) return make_name(node, other_names_);
    return make_name(root_node, other_names_);
  }

  void add_to_name(kernel_record const& kernel, std::int64_t duration) {
    kernel_sums& sums = of_name(kernel);
    std::uint64_t const threads = std::uint64_t{kernel.block_x} * kernel.block_y * kernel.block_z;
    std::uint64_t const blocks = std::uint64_t{kernel.grid_x} * kernel.grid_y * kernel.grid_z;
    std::uint64_t const warps = (threads + 31) / 32;
    if (!make_room_within(budget_, sums.duration, duration) ||
        !make_room_within(budget_, sums.blocks, signed_bytes(blocks)))
      out_of_memory();
    if (sums.name == other_names_) ++losses_.kernels_merged;
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
    if (std::uint32_t const all = multiprocessors(kernel.device)) {
      std::uint32_t const* const own = contexts_.find(kernel.context);
      std::uint32_t const most = own == nullptr ? all : smaller(*own, all);
      filled = smaller(static_cast<double>(blocks), 1.0 * most) / all;
    }
    add_use(sums.by_time, static_cast<double>(duration), used, filled);
    add_use(sums.by_count, 1.0, used, filled);
  }

  static void add_use(kernel_sums::use& total, double weight, double used, double filled) noexcept {
    total.weight += weight;
    total.sm += weight * used;
    if (filled < 0.0) return;
    total.placed_weight += weight;
    total.gpu += weight * used * filled;
  }

  device_sums* sums_;
  subtree_sweep by_node_;
  subtree_sweep by_family_;
  number_map<std::uint32_t> families_;  ///< by family above and name
  number_map<std::uint32_t> graphs_;    ///< by launching and capturing node: position + 1
  number_map<std::uint32_t> names_;     ///< by node and name: position + 1
  number_map<allocation> live_;         ///< by address
  number_map<std::uint32_t> contexts_;  ///< multiprocessors of those that have a part
  std::uint32_t multiprocessors_[max_devices] = {};
  memory_budget* budget_;
  std::uint32_t other_names_;
  summing_losses losses_;
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_DEVICE_SUMMING_HPP
