#ifndef STRATA_COLLECT_CUDA_LAUNCH_GATE_HPP
#define STRATA_COLLECT_CUDA_LAUNCH_GATE_HPP

#include <strata/base/clock.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// A call that launches, or makes a stream wait for something outside of the device.
struct gated_call {
  cupti::stream_wait waits = cupti::stream_wait::none;  ///< none: it launches
  /// The same for the same kernel, for the same executable graph until it changes or is destroyed,
  /// and for the same other function.
  std::uint64_t what = 0;
  driver::context_handle context = nullptr;
  bool done = false;  ///< it has ended, and did what it was asked for
  api_kind kind = api_kind::none;
  cupti::api_data const* call = nullptr;  ///< what CUPTI says of it, while it is handed over
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
    turn_.fetch_add(1);
    keeper_.store(nullptr);
    turn_.fetch_add(1);  // who has seen the first of the two and the last keeper sees another one
    deadline patience(longest_ns);
    for (unsigned turn = 0; inside_.load() != 0 && patience.lasts(); ++turn) wait_a_turn(turn);
    context_.store(context);
    keeper_.store(next);
  }

  gated_call read(api_kind kind, cupti::stream_wait waits,
                  cupti::api_data const& call) const noexcept {
    gated_call made;
    made.waits = waits;
    made.context = call.context;
    made.kind = kind;
    made.call = &call;
    fnv1a hash;
    hash.add(static_cast<std::uint64_t>(kind));
    bool const is_graph = kind == api_kind::graph_launch && call.function_params != nullptr;
    char const* const name = kind == api_kind::launch && call.symbol_name != nullptr
                                 ? call.symbol_name
                                 : call.function_name;
    if (is_graph) {
      void const* const graph = cupti::first_argument(call);
      hash.add(reinterpret_cast<std::uintptr_t>(graph));
      hash.add(changes_[slot_of(graph)].load(memory_order_relaxed));
    } else if (name != nullptr) {
      hash.add(std::string_view(name));
    }
    made.what = hash.value();
    return made;
  }
  /// A call that changes or destroys a graph, which is its first argument: from now on it is
  /// another one, and so may be some others. Threads: any.
  void graph_changed(cupti::api_data const& call) noexcept {
    if (call.function_params != nullptr)
      changes_[slot_of(cupti::first_argument(call))].fetch_add(1, memory_order_relaxed);
  }

  STRATA_DETAIL_HOT_CODE
  bool is_kept() const noexcept { return keeper_.load(memory_order_relaxed) != nullptr; }
  STRATA_DETAIL_END_CODE

  void begins(gated_call const& call) noexcept {
    visit v(*this);
    if (v.keeper != nullptr) v.keeper->begins(v.context, call);
  }
  void ended(gated_call const& call) noexcept {
    visit v(*this);
    if (v.keeper != nullptr) v.keeper->ended(v.context, call);
  }

 private:
  static constexpr std::size_t slots = 256;
  static std::size_t slot_of(void const* graph) noexcept {
    return (reinterpret_cast<std::uintptr_t>(graph) * 0x9e3779b97f4a7c15u) >> 56;
  }

  struct visit : uncopied {
    explicit visit(launch_gate& of) noexcept : gate(of) {
      gate.inside_.fetch_add(1);
      std::uint32_t const turn = gate.turn_.load();
      keeper = gate.keeper_.load();
      context = gate.context_.load();
      if (gate.turn_.load() != turn) keeper = nullptr;  // these are not of one `set`
    }
    ~visit() { gate.inside_.fetch_sub(1); }

    launch_gate& gate;
    launch_gate::keeper const* keeper;
    void* context;
  };

  atomic<keeper const*> keeper_{nullptr};
  atomic<std::uint32_t> inside_{0};
  atomic<void*> context_{nullptr};
  atomic<std::uint32_t> turn_{0};              // of `set`
  atomic<std::uint64_t> changes_[slots] = {};  // of graphs
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
