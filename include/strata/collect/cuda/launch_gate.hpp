#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_LAUNCH_GATE_HPP
#define STRATA_COLLECT_CUDA_LAUNCH_GATE_HPP

#include <strata/base/clock.hpp>
#include <strata/base/deadline.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>
#include <string_view>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// A call that launches, or makes a stream wait for something outside of the device.
struct gated_call {
  cupti::stream_wait waits = cupti::stream_wait::none;  ///< none: it launches
  std::uint64_t what = 0;  ///< the same for the same kernel, and for the same other function
  driver::context_handle context = nullptr;
  bool done = false;  ///< it has ended, and did what it was asked for

  static gated_call read(api_kind kind, cupti::stream_wait waits,
                         cupti::api_data const& call) noexcept {
    gated_call made;
    made.waits = waits;
    made.context = call.context;
    fnv1a hash;
    hash.add(static_cast<std::uint64_t>(kind));
    char const* const name = kind == api_kind::launch && call.symbol_name != nullptr
                                 ? call.symbol_name
                                 : call.function_name;
    if (name != nullptr) hash.add(std::string_view(name));
    made.what = hash.value();
    return made;
  }
};

/// Who looks at such calls when they begin and when they have ended, in the threads that make them:
/// one at a time. Threads: any.
class launch_gate {
 public:
  struct keeper {
    void (*begins)(void* context, gated_call const& call) noexcept;
    void (*ended)(void* context, gated_call const& call) noexcept;
  };

  /// Null ends it: no call of the last keeper is under way when it returns, unless this thread has
  /// interrupted one.
  void set(keeper const* next, void* context) noexcept {
    constexpr std::int64_t longest_ns = 500'000'000;
    keeper_.store(nullptr);
    deadline patience(longest_ns);
    for (unsigned turn = 0; inside_.load() != 0 && patience.lasts(); ++turn) wait_a_turn(turn);
    context_ = context;
    keeper_.store(next);
  }

  STRATA_DETAIL_HOT_CODE
  bool is_kept() const noexcept { return keeper_.load(memory_order_relaxed) != nullptr; }
  STRATA_DETAIL_END_CODE

  void begins(gated_call const& call) noexcept {
    visit v(*this);
    if (v.keeper != nullptr) v.keeper->begins(context_, call);
  }
  void ended(gated_call const& call) noexcept {
    visit v(*this);
    if (v.keeper != nullptr) v.keeper->ended(context_, call);
  }

 private:
  struct visit {
    explicit visit(launch_gate& of) noexcept : gate(of) {
      gate.inside_.fetch_add(1);
      keeper = gate.keeper_.load();
    }
    visit(visit const&) = delete;
    visit& operator=(visit const&) = delete;
    ~visit() { gate.inside_.fetch_sub(1); }

    launch_gate& gate;
    launch_gate::keeper const* keeper;
  };

  atomic<keeper const*> keeper_{nullptr};
  atomic<std::uint32_t> inside_{0};
  void* context_ = nullptr;
};

/// The last call that made a stream wait for a value in memory or a semaphore, which something else
/// than the device writes. Threads: `saw` from any.
class stream_waits_seen {
 public:
  void forget() noexcept { name_.store(nullptr); }
  void saw(char const* function, std::uint32_t node) noexcept {
    node_.store(node);
    name_.store(function == nullptr ? "a stream wait" : function);
  }
  /// The driver's function, null where there was none; the range.
  char const* name() const noexcept { return name_.load(); }
  std::uint32_t node() const noexcept { return node_.load(); }

 private:
  atomic<char const*> name_{nullptr};
  atomic<std::uint32_t> node_{no_reference};
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_LAUNCH_GATE_HPP
