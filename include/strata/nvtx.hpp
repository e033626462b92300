#include <strata/version.hpp>
#ifndef STRATA_NVTX_HPP
#define STRATA_NVTX_HPP

#include <strata/base/macros.hpp>

#if STRATA_ENABLED

#include <strata/annotate/process.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/threads.hpp>
#include <strata/profile/overflow_names.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// NVTX looks for its tool by fifty functions that run once.
// clang-format off
STRATA_DETAIL_COLD_CODE
#include <nvtx3/nvToolsExt.h>
STRATA_DETAIL_END_CODE
// clang-format on

STRATA_BEGIN_LIGHT
namespace detail {

/// Ranges as NVTX ranges in the domain `strata`, so that Nsight Systems and `ncu --nvtx-include`
/// see them. Threads: any. Cost: the tool's; nothing is called while no tool listens.
class nvtx_output {
 public:
  static void push(char const* name, std::size_t length) noexcept {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = registered({name, length});
    nvtxDomainRangePushEx(domain(), &event);
  }
  static void pop() noexcept { nvtxDomainRangePop(domain()); }

  /// The listener of ranges while no session runs and an NVTX tool is active.
  static constexpr bool listens = true;
  static listener const& as_listener() noexcept {
    static constexpr listener hears{
        &begin, &pop_pushed, &step_begin, &step_end, &no_current, &no_inherit, []() noexcept {
          return true;
        }};
    return hears;
  }

 private:
  static nvtxDomainHandle_t domain() noexcept {
    static nvtxDomainHandle_t const ours = nvtxDomainCreateA("strata");
    return ours;
  }

  /// NVTX keeps one handle for each text.
  static nvtxStringHandle_t registered(std::string_view name) noexcept {
    static name_table& names = *new name_table;
    static atomic<nvtxStringHandle_t>* const handles =
        new atomic<nvtxStringHandle_t>[name_table::max_names + 1]();
    std::uint32_t const number = names.intern(name, other_names);
    nvtxStringHandle_t handle = handles[number].load(memory_order_acquire);
    if (handle == nullptr) {
      handle = nvtxDomainRegisterStringA(domain(), std::string(name).c_str());
      handles[number].store(handle, memory_order_release);
    }
    return handle;
  }

  static void end(range_token) noexcept { pop(); }

  static range_token begin(name_cache*, char const* name, std::size_t length, std::int64_t,
                           range_attributes const*, bool) noexcept {
    static range_owner owner{&end};
    push(name, length);
    return {&owner, 1, 0};
  }
  static void pop_pushed() noexcept { pop(); }
  static bool step_begin() noexcept { return false; }
  static void step_end() noexcept {}
};

inline bool const nvtx_registered =
    register_nvtx(&nvtx_output::as_listener(), &nvtx_output::push, &nvtx_output::pop);

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_ENABLED
#endif  // STRATA_NVTX_HPP
