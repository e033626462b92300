#ifndef STRATA_COLLECT_COUNTERS_PASS_FINGERPRINT_HPP
#define STRATA_COLLECT_COUNTERS_PASS_FINGERPRINT_HPP

#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/host/recorder.hpp>

STRATA_BEGIN
namespace detail {

/// Grid and block of a launch, in blocks and threads; all 0 where the call does not tell.
struct launch_shape {
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};

  /// Of all blocks.
  double threads() const noexcept {
    double product = 1.0;
    for (int i = 0; i < 3; ++i) product *= static_cast<double>(grid[i]) * block[i];
    return product;
  }

  /// Of all blocks, partial warps counted whole.
  double warps() const noexcept {
    double const blocks = static_cast<double>(grid[0]) * grid[1] * grid[2];
    std::uint64_t const block_threads = std::uint64_t{block[0]} * block[1] * block[2];
    return blocks * static_cast<double>((block_threads + 31) / 32);
  }

  /// Reads it from a callback of the driver domain.
  static launch_shape read(cupti::api_data const& call) noexcept {
    launch_shape made;
    (void)cupti::read_launch(call, [&made](auto const& launch) {
      for (int i = 0; i < 3; ++i) {
        made.grid[i] = launch.grid[i];
        made.block[i] = launch.block[i];
      }
    });
    return made;
  }
};

/// What each range puts on the device in each counting step, so that steps with other work are
/// distinguished from steps with the same. Threads: calls come one at a time.
class pass_fingerprint {
 public:
  /// Begins a pass over the ranges of a thread.
  void begin(std::uint32_t pass, thread_recorder const* counted) noexcept {
    pass_ = pass;
    counted_ = counted;
    ranges_.clear();
  }

  /// The range that the counted thread is in now.
  void enter(std::uint32_t node) noexcept { node_.store(node, memory_order_relaxed); }
  std::uint32_t node() const noexcept { return node_.load(memory_order_relaxed); }

  /// Whether the calling thread is the one whose ranges are counted.
  bool is_counted_thread() const noexcept {
    return counted_ != nullptr && thread_recorder::current() == counted_;
  }

  /// One call into the driver, by whichever thread. That of another thread is foreign where the
  /// timed steps have its work in another range than the one that counts it.
  void add(api_kind kind, cupti::api_data const& call) {
    if (counted_ == nullptr || !is_work(kind)) return;
    counted_work& range = find_or_add(node());
    if (!is_counted_thread() && recorder::work_node() != range.node) {
      ++range.foreign;
      return;
    }
    launch_shape const shape = launch_shape::read(call);
    std::uint64_t const what = hash_of(kind, call.symbol_name);
    ++range.launches;
    range.what += what;
    if (kind == api_kind::launch) note_kernel(range.node, what);
    range.shapes += hash_of(what, shape);
    range.threads += shape.threads();
  }

  /// Ends the pass; one that does not count leaves no trace.
  void end(bool counts) {
    if (counts) {
      ranges_.for_each([this](std::uint32_t, counted_work const& work) { done_.push_back(work); });
    }
    ranges_.clear();
    counted_ = nullptr;
  }

  /// Forgets the passes from this one on.
  void forget_from(std::uint32_t pass) noexcept {
    while (!done_.empty() && done_.back().pass >= pass) done_.pop_back();
  }

  vec<counted_work> const& passes() const noexcept { return done_; }

  /// The ranges that launched kernels of several names.
  vec<std::uint32_t> const& mixed() const noexcept { return mixed_; }

 private:
  void note_kernel(std::uint32_t node, std::uint64_t name) {
    std::uint64_t& first = first_kernels_[node];
    if (first == 0) first = name;
    if (first == name || first == several) return;
    first = several;
    mixed_.push_back(node);
  }

  counted_work& find_or_add(std::uint32_t node) {
    counted_work& made = ranges_[node];
    made.node = node;
    made.pass = pass_;
    return made;
  }

  // A hash is spread at the end, since hashes are added up.
  static std::uint64_t hash_of(api_kind kind, char const* symbol) noexcept {
    fnv1a hash;
    hash.add(static_cast<std::uint64_t>(kind));
    if (kind == api_kind::launch && symbol != nullptr) hash.add(std::string_view(symbol));
    return spread(hash.value());
  }
  static std::uint64_t hash_of(std::uint64_t what, launch_shape const& shape) noexcept {
    fnv1a hash;
    hash.add(what);
    for (std::uint32_t const n : shape.grid) hash.add(std::uint64_t{n});
    for (std::uint32_t const n : shape.block) hash.add(std::uint64_t{n});
    return spread(hash.value());
  }
  static std::uint64_t spread(std::uint64_t h) noexcept {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 33);
  }

  static constexpr std::uint64_t several = ~std::uint64_t{0};

  std::uint32_t pass_ = 0;
  thread_recorder const* counted_ = nullptr;
  atomic<std::uint32_t> node_{root_node};
  flat_map<std::uint32_t, counted_work> ranges_;  ///< of the pass under way
  vec<counted_work> done_;
  number_map<std::uint64_t>
      first_kernels_;  ///< by node, of all passes: hash of the name, or `several`
  vec<std::uint32_t> mixed_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PASS_FINGERPRINT_HPP
