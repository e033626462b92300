#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_RECORDER_STATE_HPP
#define STRATA_COLLECT_HOST_RECORDER_STATE_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/name_table.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/collect/host/span_log.hpp>
#include <strata/profile/records.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// What the threads' recorders have in common.
struct recorder_state {
  tick_source clock;
  name_table names;
  node_table nodes{names.intern("[deeper]", {}), names.intern("[other ranges]", {})};
  memory_budget budget;
  std::atomic<std::uint32_t> session{
      0};  // number of the session that records now, 0 while none does
  std::atomic<std::uint32_t> step{no_step};
  std::atomic<bool> warming{false};  // calls into the driver are followed but not reported
  std::atomic<void (*)() noexcept> before_end{nullptr};  // `sync=1`
  std::atomic<void (*)(char const* name, std::size_t length) noexcept> forward_begin{
      nullptr};  // NVTX
  std::atomic<void (*)() noexcept> forward_end{nullptr};
  std::atomic<std::uint64_t> ended_elsewhere{0};
  std::atomic<std::uint64_t> pops_without_push{0};
  std::atomic<std::uint64_t> too_many_open{0};

  span_log spans{clock, names, budget, session, step};

  static constexpr std::string_view other_names = "[other names]";
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORDER_STATE_HPP
