#ifndef STRATA_COLLECT_CUDA_GRAPH_LAUNCHES_HPP
#define STRATA_COLLECT_CUDA_GRAPH_LAUNCHES_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/profile/records.hpp>

STRATA_BEGIN

namespace detail {

/// Which launch of a graph a kernel belongs to that bears the id of no call, as those in the body
/// of a conditional node do (H200, CUDA 13.0). The kernel that ran before it in the same graph or
/// stream tells it, where the graph has kernels with an id; else the time of the launches.
/// Bounded: the last launches and some graphs and streams are known.
/// Threads: `launched` any, within callbacks; the rest one at a time.
class graph_launches {
 public:
  /// A launch of an executable graph begins. Units: `time` in CUPTI's ns.
  void launched(std::uint32_t correlation, void const* graph, std::int64_t time) noexcept {
    spin_lock const lock(mutex_);
    launches_[count_++ % most] = {time, graph, correlation};
  }

  /// A kernel whose launch is known, in the order of their begins.
  void saw(kernel_record const& kernel, std::uint32_t graph_id) noexcept {
    if (!follow(graph_id, kernel)) return;
    std::uint32_t const correlation = kernel.correlation;
    if (correlation == last_seen_) return;
    last_seen_ = correlation;
    spin_lock const lock(mutex_);
    launch const* const own = find(correlation);
    if (own == nullptr || own->graph == nullptr) return;
    if (with_kernels_.size() >= most || !with_kernels_.make_room()) with_kernels_ = {};
    if (with_kernels_.make_room()) with_kernels_[key_of(own->graph)] = true;
  }

  /// The id of the launch of a kernel that has none; false where no launch is known.
  bool find(kernel_record const& kernel, std::uint32_t graph_id, continued_clock const& clock,
            std::uint32_t& correlation) const noexcept {
    std::uint32_t const* before = graph_id == 0 ? nullptr : by_graph_.find(graph_id);
    if (before != nullptr) {
      correlation = *before;
      return true;
    }
    before = by_stream_.find(stream_of(kernel));
    if (before == nullptr) before = by_stream_.find(context_of(kernel));
    spin_lock const lock(mutex_);
    launch const* const last = last_before(kernel.begin, clock);
    // A graph without kernels of its own leaves no trace but its launch.
    bool const is_bare = last != nullptr && with_kernels_.find(key_of(last->graph)) == nullptr;
    bool const is_newer = is_bare && (before == nullptr || last->correlation - *before < half);
    if (before == nullptr && last == nullptr) return false;
    correlation = before == nullptr || is_newer ? last->correlation : *before;
    return true;
  }

  void clear() noexcept {
    by_graph_ = {};
    by_stream_ = {};
    last_seen_ = 0;
    spin_lock const lock(mutex_);
    with_kernels_ = {};
    count_ = 0;
    found_ = 0;
  }

 private:
  static constexpr std::size_t most = 1024;
  static constexpr std::uint32_t half = 0x80000000u;

  struct launch {
    std::int64_t time;
    void const* graph;  ///< the executable one; null where that is not known
    std::uint32_t correlation;
  };

  static std::uint64_t key_of(void const* graph) noexcept {
    return reinterpret_cast<std::uintptr_t>(graph);
  }
  /// Of no stream: a context as a whole.
  static std::uint64_t context_of(kernel_record const& kernel) noexcept {
    return std::uint64_t{kernel.context} << 32 | 0xffffffffu;
  }
  static std::uint64_t stream_of(kernel_record const& kernel) noexcept {
    return std::uint64_t{kernel.context} << 32 | kernel.stream;
  }

  /// False where there is no memory.
  bool follow(std::uint32_t graph_id, kernel_record const& kernel) noexcept {
    if (by_graph_.size() >= most) by_graph_ = {};
    if (by_stream_.size() >= most) by_stream_ = {};
    if (!by_graph_.make_room() || !by_stream_.make_room()) return false;
    if (graph_id != 0) by_graph_[graph_id] = kernel.correlation;
    by_stream_[stream_of(kernel)] = kernel.correlation;
    if (!by_stream_.make_room()) return false;
    by_stream_[context_of(kernel)] = kernel.correlation;
    return true;
  }

  std::size_t known() const noexcept { return count_ < most ? count_ : most; }
  /// Cost: two comparisons where kernels begin in the order of their launches.
  launch const* find(std::uint32_t correlation) noexcept {
    std::size_t const oldest = count_ - known();
    if (count_ > most && launches_[oldest % most].correlation - correlation - 1 < half)
      return nullptr;
    std::size_t number = found_ < oldest ? oldest : found_;
    for (std::size_t i = 0; i < known(); ++i) {
      launch const& candidate = launches_[number % most];
      if (candidate.correlation == correlation) {
        found_ = number;
        return &candidate;
      }
      if (++number == count_) number = oldest;
    }
    return nullptr;
  }
  launch const* last_before(std::int64_t begin, continued_clock const& clock) const noexcept {
    for (std::size_t i = 1; i <= known(); ++i) {
      launch const& latest = launches_[(count_ - i) % most];
      if (clock.continued(latest.time) <= begin) return &latest;
    }
    return nullptr;
  }

  mutable spin_mutex mutex_;  // of the launches and of what they are of
  launch launches_[most] = {};
  std::size_t count_ = 0;
  std::size_t found_ = 0;          ///< the number of the launch that was found last
  number_map<bool> with_kernels_;  ///< executable graphs
  number_map<std::uint32_t> by_graph_;
  number_map<std::uint32_t> by_stream_;
  std::uint32_t last_seen_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_GRAPH_LAUNCHES_HPP
