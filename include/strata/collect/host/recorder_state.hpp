#ifndef STRATA_COLLECT_HOST_RECORDER_STATE_HPP
#define STRATA_COLLECT_HOST_RECORDER_STATE_HPP

#include <strata/base/open_ranges.hpp>
#include <strata/collect/host/launch_table.hpp>
#include <strata/collect/host/node_table.hpp>

STRATA_BEGIN
namespace detail {

/// What the threads' recorders have in common.
struct recorder_state {
  tick_source clock;
  name_table names{name_table::long_texts::cut};
  memory_budget budget;
  node_table nodes{names.intern(deeper_ranges, {}), names.intern(other_ranges, {}), &budget};
  std::uint32_t const others = names.intern(other_names, {});  // a stand-in needs no memory
  launch_table launches{budget};
  atomic<std::uint32_t> session{0};    // that records now, 0 while none does
  atomic<std::uint32_t> forgotten{0};  // whose records nobody needs any more
  atomic<std::uint32_t> step{no_step};
  // Work of threads in no range belongs to the range of the thread that drives the steps: of the
  // one that began the last step, if `adopt=` does not say otherwise.
  atomic<bool> adopts{true};
  atomic<thread_place const*> of_steps{nullptr};
  atomic<bool> warming{false};  // calls into the driver are followed but not reported
  atomic<void (*)() noexcept> before_end{nullptr};  // `sync=1`
  atomic<void (*)(char const* name, std::size_t length) noexcept> forward_begin{nullptr};  // NVTX
  atomic<void (*)() noexcept> forward_end{nullptr};
  left_ranges left;  // of the thread that ended last
  atomic<std::uint64_t> ended_elsewhere{0};
  atomic<std::uint64_t> pops_without_push{0};
  // Ranges that no pop has ended: how many, and the name of the first one.
  atomic<std::uint64_t> left_in_steps{0};
  atomic<std::uint32_t> first_left{0};
  // NVTX's stack of the calling thread: a step begins, or has ended what was pushed in it.
  atomic<void (*)(bool ends) noexcept> other_stack{nullptr};
  atomic<std::uint64_t> too_many_open{0};
  atomic<std::uint64_t> unrecorded{0};  // memory was short
  // Ranges that leave a full log before they are streamed to a file.
  atomic<bool> streaming{false};
  memory_budget stream_budget;
  atomic<std::uint64_t> stream_dropped{0};

  span_log spans{clock, names, budget, session, step};

  /// The range that the thread which drives the steps is in; the root where none is known.
  std::uint32_t node_of_steps() const noexcept {
    thread_place const* const position = of_steps.load(memory_order_acquire);
    return position == nullptr ? root_node : position->seen_at(nodes.term());
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORDER_STATE_HPP
