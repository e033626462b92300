#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_CALL_STEPS_HPP
#define STRATA_COLLECT_CUDA_CALL_STEPS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/host/period_finder.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/host/thread_recorder.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Which calls into the driver are steps, by `step=`: launches of a graph, or periods of launches
/// and waits.
enum class step_calls : unsigned char { none, graph, sync, automatic };

constexpr step_calls step_calls_of(std::string_view wish) noexcept {
  if (wish == "graph") return step_calls::graph;
  if (wish == "sync") return step_calls::sync;
  return wish == "auto" ? step_calls::automatic : step_calls::none;
}

/// The CUDA graph that a thread launches most, chosen while it launches: the first executable that
/// was launched `fewest` times. Each of its launches begins a step. Where several are launched
/// once in a step, any of them will do. Another one takes its place when it was launched `fewest`
/// times without the chosen one between: a program makes graphs anew, and has one for each batch
/// size. Threads: one at a time. Cost: some ns a launch of a graph.
class graph_choice {
 public:
  static constexpr std::uint32_t fewest = 8;

  /// An executable graph is about to be launched. Returns: `next` where that begins a step.
  STRATA_DETAIL_HOT_CODE
  step_change launch(std::uint64_t graph) noexcept {
    if (graph == graph_ && chosen_ != 0) {
      ++round_;
      return step_change::next;
    }
    candidate& one = candidates_[(graph ^ graph >> 6 ^ graph >> 12) % most];
    if (one.graph != graph || one.round != round_) {
      bool const is_free = one.round != round_ || one.launches == 0;
      if (!is_free && ++one.others < fewest) return step_change::none;
      one = {};
      one.graph = graph;
      one.round = round_;
    }
    if (++one.launches < fewest) return step_change::none;
    graph_ = graph;
    ++chosen_;
    ++round_;
    return step_change::next;
  }
  STRATA_DETAIL_END_CODE

  /// How many were chosen, one after the other.
  std::uint32_t chosen() const noexcept { return chosen_; }

 private:
  static constexpr std::size_t most = 64;

  struct candidate {
    std::uint64_t graph = 0;
    std::uint64_t round = 0;
    std::uint32_t launches = 0;  // in this round
    std::uint32_t others = 0;    // that have the same place
  };

  std::uint64_t graph_ = 0;
  std::uint64_t round_ = 1;  // a new one with each launch of the chosen one
  std::uint32_t chosen_ = 0;
  candidate candidates_[most];
};

/// What calls said of the steps of a session.
struct call_steps_seen {
  std::uint64_t launches = 0;  // of the threads that drove them; with step=graph, of graphs
  std::uint64_t in_steps = 0;  // of them; with step=graph, those of the graph that was chosen
  std::uint64_t steps = 0;
  std::uint32_t found = 0;  // periods or graphs, one after the other
  bool ends_with_wait = false;
};

/// `step=graph`, `step=sync`, `step=auto`: begins and ends steps at calls of the program into the
/// driver. Each thread's calls are looked at by themselves; the first one in which steps are found
/// drives them, until they are lost or it ends. A step changes within CUPTI's callback, before a
/// launch begins or after a wait has ended, where no lock is held and the driver may be called;
/// never while a stream captures. Each session has its own, as calls may still be under way when
/// the next one begins; `before` keeps them. Threads: any. Cost: that of period_finder and some 5
/// ns a call; no lock and no allocation but the recorder's of a new thread.
class call_steps {
 public:
  /// Threads that are looked at; calls of others are left out.
  static constexpr std::size_t most_threads = 8;

  call_steps(step_calls wanted, call_steps const* before) noexcept
      : before_(before), wanted_(wanted) {
    if (wanted != step_calls::automatic)
      for (lane& each : lanes_) each.periods = period_finder(period_finder::marks::waits);
  }

  /// The calls that are followed, with step=graph and otherwise.
  static bool is_graph(cupti::step_call call) noexcept {
    return call == cupti::step_call::graph_launch;
  }
  static bool is_any(cupti::step_call call) noexcept { return call != cupti::step_call::none; }

  STRATA_DETAIL_HOT_CODE
  /// A call of this kind is about to begin.
  void begins(cupti::step_call kind, cupti::api_data const& call) noexcept {
    bool const is_graph = kind == cupti::step_call::graph_launch;
    if (kind == cupti::step_call::wait || call.function_params == nullptr) return;
    if (wanted_ == step_calls::graph && !is_graph) return;
    thread_recorder const* const self = thread_recorder::current();
    lane* own = self == nullptr ? nullptr : lane_of(self);
    if (own == nullptr) own = new_lane();
    if (own == nullptr || own->changes || capture_guard::capturing()) return;
    step_change change = step_change::none;
    std::uint64_t const what = launched(kind, call.function_params);
    if (wanted_ == step_calls::graph) {
      change = own->graphs.launch(what);
    } else {
      change = own->periods.launch(
          what, is_graph ? period_finder::weight_of_graph : period_finder::weight_of_launch);
    }
    if (change != step_change::none) apply(*own, change);
    add_one(own->launches);
    bool const counts = wanted_ == step_calls::graph ? change == step_change::next : own->in_step;
    if (counts) add_one(own->in_steps);
  }

  /// A call has ended; `id` is its function.
  void ended(cupti::step_call kind, std::uint32_t id) noexcept {
    if (kind != cupti::step_call::wait || wanted_ == step_calls::graph) return;
    thread_recorder const* const self = thread_recorder::current();
    lane* const own = self == nullptr ? nullptr : lane_of(self);  // one that launched nothing: none
    if (own == nullptr || own->changes || capture_guard::capturing()) return;
    step_change const change = own->periods.wait(id);
    if (change != step_change::none) apply(*own, change);
  }
  STRATA_DETAIL_END_CODE

  /// A thread ends, and so does its step. The main thread ends with the process, and its last step
  /// is not whole.
  void leave(thread_recorder const* own) noexcept {
    for (lane& each : lanes_) {
      if (each.thread.load(memory_order_relaxed) != own) continue;
      apply(each, step_change::end);
      each.periods.forget();
      each.graphs = {};
      each.thread.store(nullptr, memory_order_release);
    }
  }

  call_steps_seen seen() const noexcept {
    call_steps_seen all;
    for (lane const& each : lanes_) {
      std::uint64_t const launches = each.launches.load(memory_order_relaxed);
      std::uint64_t const steps = each.steps.load(memory_order_relaxed);
      if (steps == 0) {
        if (all.steps == 0) all.launches = larger(all.launches, launches);
        continue;
      }
      if (all.steps == 0) all.launches = 0;
      all.launches += launches;
      all.in_steps += each.in_steps.load(memory_order_relaxed);
      all.steps += steps;
      all.found = larger(all.found, each.found.load(memory_order_relaxed));
      all.ends_with_wait = each.ends_with_wait.load(memory_order_relaxed);
    }
    return all;
  }

 private:
  /// Of one thread. What is atomic is read by the session.
  struct alignas(64) lane {
    atomic<thread_recorder const*> thread{nullptr};
    bool changes = false;  // a step begins or ends: calls meanwhile are Strata's
    bool in_step = false;
    atomic<std::uint64_t> launches{0};
    atomic<std::uint64_t> in_steps{0};
    atomic<std::uint64_t> steps{0};
    atomic<std::uint32_t> found{0};
    atomic<bool> ends_with_wait{false};
    graph_choice graphs;
    period_finder periods{period_finder::marks::any};
  };

  STRATA_DETAIL_HOT_CODE
  /// By one thread.
  static void add_one(atomic<std::uint64_t>& to) noexcept {
    to.store(to.load(memory_order_relaxed) + 1, memory_order_relaxed);
  }

  /// The kernel's or the graph's handle.
  static std::uint64_t launched(cupti::step_call kind, void const* params) noexcept {
    void const* const handle =
        kind == cupti::step_call::launch_by_config
            ? static_cast<cupti::launch_kernel_ex_params const*>(params)->function
            : *static_cast<void* const*>(params);
    return reinterpret_cast<std::uintptr_t>(handle);
  }

  lane* lane_of(thread_recorder const* own) noexcept {
    for (lane& each : lanes_)
      if (each.thread.load(memory_order_relaxed) == own) return &each;
    return nullptr;
  }
  STRATA_DETAIL_END_CODE

  /// Null beyond the limit of threads.
  STRATA_DETAIL_COLD lane* new_lane() noexcept {
    thread_recorder const* const own = recorder::instance().of_this_thread();
    for (lane& each : lanes_) {
      thread_recorder const* nobody = nullptr;
      bool const is_free = own != nullptr && each.thread.load(memory_order_relaxed) == nullptr;
      if (is_free && each.thread.compare_exchange_strong(nobody, own)) return &each;
    }
    return nullptr;
  }

  STRATA_DETAIL_COLD void apply(lane& own, step_change change) noexcept {
    recorder& all = recorder::instance();
    own.found.store(
        wanted_ == step_calls::graph ? own.graphs.chosen() : own.periods.periods_found(),
        memory_order_relaxed);
    own.ends_with_wait.store(own.periods.has_wait(), memory_order_relaxed);
    lane* driver = nullptr;
    bool const drives = driver_.compare_exchange_strong(driver, &own) || driver == &own;
    if (!drives) {
      if (change == step_change::next) all.leave_out_step();
      return;
    }
    own.changes = true;
    if (own.in_step) all.end_step();
    own.in_step = change == step_change::next && all.begin_step();
    if (own.in_step) add_one(own.steps);
    own.changes = false;
    if (!own.in_step) driver_.store(nullptr, memory_order_release);
  }

  [[maybe_unused]] call_steps const* before_;  // keeps it in reach
  step_calls wanted_;
  atomic<lane*> driver_{nullptr};
  lane lanes_[most_threads];
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_CALL_STEPS_HPP
