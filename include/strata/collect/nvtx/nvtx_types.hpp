#include <strata/version.hpp>
#ifndef STRATA_COLLECT_NVTX_NVTX_TYPES_HPP
#define STRATA_COLLECT_NVTX_NVTX_TYPES_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <cstdint>

// The part of NVTX's tool interface that Strata uses, declared here so that no NVTX header is
// needed. tests/package/abi_nvtx.cpp holds every number against the toolkit's headers.

STRATA_BEGIN
namespace detail {
namespace nvtx {

using range_id = std::uint64_t;  // nvtxRangeId_t

/// nvtxMessageType_t.
enum class message_kind : std::int32_t { none = 0, text = 1, wide_text = 2, registered = 3 };

/// nvtxEventAttributes_t: what is said of a range.
struct event {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_kind;
  std::uint32_t color;
  std::int32_t payload_kind;
  std::int32_t reserved;
  std::uint64_t payload;
  message_kind kind;
  void const* message;  // char const*, wchar_t const* or the handle of a registered string
};

/// What a range without a level is told: NVTX_NO_PUSH_POP_TRACKING.
inline constexpr int no_level = -2;

/// NvtxExportTableID and NvtxCallbackModule.
inline constexpr std::uint32_t callbacks_table = 1;
enum class module_id : int { core = 1, core2 = 5 };

/// NvtxCallbackIdCore.
enum class core_id : unsigned {
  mark_event = 1,
  mark = 2,
  mark_wide = 3,
  start_event = 4,
  start = 5,
  start_wide = 6,
  end = 7,
  push_event = 8,
  push = 9,
  push_wide = 10,
  pop = 11
};

/// NvtxCallbackIdCore2.
enum class core2_id : unsigned {
  domain_mark = 1,
  domain_start = 2,
  domain_end = 3,
  domain_push = 4,
  domain_pop = 5,
  register_string = 10,
  register_string_wide = 11,
  create_domain = 12,
  create_domain_wide = 13,
  destroy_domain = 14
};

using function = void (*)();

/// NvtxExportTableCallbacks: where one module of the program keeps its pointers to the tool.
struct export_callbacks {
  std::size_t struct_size;
  int (*get_module_table)(module_id module, function*** table, unsigned* last);
};

/// NvtxGetExportTableFunc_t.
using export_table_function = void const*(std::uint32_t table);

}  // namespace nvtx
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_NVTX_TYPES_HPP
