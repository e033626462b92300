#ifndef STRATA_INJECT_NVTX_INJECTION_HPP
#define STRATA_INJECT_NVTX_INJECTION_HPP

// The part of NVTX's tool interface that a library needs which NVTX loads, declared here so that no
// NVTX header is needed. tests/package/abi_nvtx.cpp holds every number against the toolkit's.

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/collect/nvtx/nccl_payloads.hpp>
#include <strata/collect/nvtx/nvtx_ranges.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

STRATA_BEGIN
namespace detail {
namespace nvtx {

/// NvtxExportTableID.
inline constexpr std::uint32_t callbacks_table = 1;

using function = void (*)();

/// NvtxExportTableCallbacks: where one module of the program keeps its pointers to the tool.
struct export_callbacks {
  std::size_t struct_size;
  int (*get_module_table)(module_id module, function*** table, unsigned* last);
};

/// NvtxGetExportTableFunc_t.
using export_table_function = void const*(std::uint32_t table);

/// NVTX_EXT_PAYLOAD_MODULEID: the extension by which NCCL ends its ranges and describes them.
inline constexpr std::uint16_t payload_extension = 2;

/// NVTX3EXT_CBID_*: slots of that extension's functions.
enum class payload_id : std::size_t { add_schema = 0, push = 3, pop = 4, start = 5, end = 6 };

/// nvtxExtModuleSegment_t.
struct extension_segment {
  std::size_t number;
  std::size_t slot_count;
  std::intptr_t* slots;  // functions of the tool
};

/// nvtxExtModuleInfo_t: an extension of one module of the program.
struct extension {
  std::uint16_t version;
  std::uint16_t struct_size;
  std::uint16_t which;
  std::uint16_t compatibility;
  std::size_t segment_count;
  extension_segment* segments;
  void* get_export_function;
  void const* about;
};

/// NVTX_PAYLOAD_ENTRY_TYPE_UINT64 and _SIZE.
inline constexpr std::uint64_t uint64_entry = 18;
inline constexpr std::uint64_t size_entry = 22;

/// nvtxPayloadSchemaEntry_t.
struct schema_entry {
  std::uint64_t flags;
  std::uint64_t type;
  char const* name;
  char const* description;
  std::uint64_t detail;
  std::uint64_t offset;
  void const* semantics;
  void const* reserved;
};

/// nvtxPayloadSchemaAttr_t.
struct schema {
  std::uint64_t fields;
  char const* name;
  std::uint64_t type;
  std::uint64_t flags;
  schema_entry const* entries;
  std::size_t entry_count;
  std::size_t size;
  std::size_t alignment;
  std::uint64_t id;
  void* extension;
};

}  // namespace nvtx

/// Strata as the tool that NVTX loads: the library that NVTX_INJECTION64_PATH names exports
/// `InitializeInjectionNvtx2`, which returns `nvtx_injection::attach(table)`. It needs no CUPTI.
/// The first call starts the session that STRATA asks for. Threads: any.
class nvtx_injection {
 public:
  /// Fills the function tables of one module of the program. NVTX waits for it at the first call in
  /// each module, so no session may start here. 1; 0 where the interface is not known.
  static int attach(nvtx::export_table_function* get_table) noexcept {
    if (get_table == nullptr) return 0;
    auto const* const callbacks =
        static_cast<nvtx::export_callbacks const*>(get_table(nvtx::callbacks_table));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(nvtx::export_callbacks)) return 0;
    slots core;
    slots core2;
    if (callbacks->get_module_table(nvtx::module_id::core, &core.table, &core.last) == 0 ||
        callbacks->get_module_table(nvtx::module_id::core2, &core2.table, &core2.last) == 0 ||
        core.table == nullptr || core2.table == nullptr)
      return 0;
    block().nvtx_from.store(nvtx_source::injection);
    fill(core, core2, std::make_index_sequence<nvtx_calls::entry_count>());
    return 1;
  }

  /// The same for an extension, which the program's first call of it asks for: ranges with payloads
  /// begin and end like others. 1; 0 where it is none that Strata knows.
  static int attach_extension(nvtx::extension* program) noexcept {
    bool const known = program != nullptr && program->struct_size >= sizeof(nvtx::extension) &&
                       program->which == nvtx::payload_extension && program->segment_count > 0 &&
                       program->segments != nullptr;
    if (!known) return 0;
    nvtx::extension_segment const& functions = program->segments[0];
    set(functions, nvtx::payload_id::add_schema, reinterpret_cast<std::intptr_t>(&add_schema));
    set(functions, nvtx::payload_id::push, reinterpret_cast<std::intptr_t>(&push_payload));
    set(functions, nvtx::payload_id::pop, reinterpret_cast<std::intptr_t>(&pop_payload));
    set(functions, nvtx::payload_id::start, reinterpret_cast<std::intptr_t>(&start_payload));
    set(functions, nvtx::payload_id::end, reinterpret_cast<std::intptr_t>(&end_payload));
    return 1;
  }

 private:
  static void set(nvtx::extension_segment const& in, nvtx::payload_id which,
                  std::intptr_t function) noexcept {
    auto const slot = static_cast<std::size_t>(which);
    if (slot < in.slot_count && in.slots != nullptr) in.slots[slot] = function;
  }
  /// The number of a schema: its own, or one that nothing is known of.
  static std::uint64_t add_schema(void const* domain, nvtx::schema const* schema) {
    if (schema == nullptr) return 0;
    if (nccl_payloads::is_nccl(static_cast<nvtx_domain const*>(domain))) learn(*schema);
    return schema->id;
  }
  /// Where the bytes of the message are in a payload of NCCL's.
  static void learn(nvtx::schema const& schema) noexcept {
    if (schema.entries == nullptr) return;
    for (std::size_t i = 0; i < schema.entry_count; ++i) {
      nvtx::schema_entry const& entry = schema.entries[i];
      bool const is_number = entry.type == nvtx::uint64_entry || entry.type == nvtx::size_entry;
      bool const is_placed = i == 0 || entry.offset != 0;
      if (!is_number || !is_placed || entry.flags != 0 || entry.name == nullptr) continue;
      if (std::string_view(entry.name).find("[bytes]") == std::string_view::npos) continue;
      return nccl_payloads::place(schema.id, entry.offset);
    }
  }
  /// What a payload says is not read: its range has no text.
  static nvtx_name without_text(void const* domain) noexcept {
    return {static_cast<nvtx_domain const*>(domain), static_cast<char const*>(nullptr)};
  }
  static int push_payload(void const* domain, void const*, std::size_t) {
    return nvtx_ranges::push(without_text(domain));
  }
  static int pop_payload(void const* domain, void const*, std::size_t) {
    return nvtx_ranges::pop(static_cast<nvtx_domain const*>(domain));
  }
  static nvtx::range_id start_payload(void const* domain, void const*, std::size_t) {
    nvtx::range_id const id = nvtx_ranges::next_id();
    nvtx_ranges::start(without_text(domain), id);
    return id;
  }
  static void end_payload(void const*, nvtx::range_id id, void const*, std::size_t) {
    nvtx_ranges::end(id);
  }

  struct slots {
    nvtx::function** table = nullptr;
    unsigned last = 0;
  };

  template <std::size_t... At>
  static void fill(slots const& core, slots const& core2, std::index_sequence<At...>) noexcept {
    (set(nvtx_calls::entries[At].module == nvtx::module_id::core ? core : core2,
         nvtx_calls::entries[At].slot, function_of<At>()),
     ...);
  }
  static void set(slots const& in, unsigned slot, nvtx::function function) noexcept {
    if (slot <= in.last && in.table[slot] != nullptr) *in.table[slot] = function;
  }

  /// The function of an entry, with NVTX's parameters and result.
  template <std::size_t At>
  static nvtx::function function_of() noexcept {
    constexpr nvtx_entry const& entry = nvtx_calls::entries[At];
    using operation = nvtx_entry::operation;
    if constexpr (entry.does == operation::push || entry.does == operation::pop) {
      return function_returning<At, int>();
    } else if constexpr (entry.does == operation::start) {
      return function_returning<At, nvtx::range_id>();
    } else if constexpr (entry.does == operation::end || entry.does == operation::mark) {
      return function_returning<At, void>();
    } else {
      return function_returning<At, void const*>();
    }
  }
  template <std::size_t At, class Result>
  static nvtx::function function_returning() noexcept {
    constexpr nvtx_entry const& entry = nvtx_calls::entries[At];
    using given =
        std::conditional_t<entry.takes == nvtx_entry::argument::id, nvtx::range_id, void const*>;
    if constexpr (entry.takes != nvtx_entry::argument::none && entry.in_domain) {
      return reinterpret_cast<nvtx::function>(&call<At, Result, void const*, given>);
    } else if constexpr (entry.takes != nvtx_entry::argument::none || entry.in_domain) {
      return reinterpret_cast<nvtx::function>(&call<At, Result, given>);
    } else {
      return reinterpret_cast<nvtx::function>(&call<At, Result>);
    }
  }

  template <std::size_t At, class Result, class... Words>
  static Result call(Words... words) noexcept {
    constexpr nvtx_entry const& entry = nvtx_calls::entries[At];
    cupti::nvtx_word given[] = {word_of(words)..., word_of(nullptr), word_of(nullptr)};
    auto* const domain =
        entry.in_domain ? static_cast<nvtx_domain*>(const_cast<void*>(given[0].pointer)) : nullptr;
    cupti::nvtx_word const out =
        nvtx_calls::run(entry, domain, given[entry.in_domain], &string_of, nullptr);
    if constexpr (std::is_pointer_v<Result>) {
      return out.pointer;
    } else if constexpr (!std::is_void_v<Result>) {
      return static_cast<Result>(out.id);
    }
  }
  static cupti::nvtx_word word_of(void const* pointer) noexcept { return {pointer}; }
  static cupti::nvtx_word word_of(nvtx::range_id id) noexcept {
    cupti::nvtx_word made{nullptr};
    made.id = id;
    return made;
  }
  static nvtx_string* string_of(void const* handle) noexcept {
    return static_cast<nvtx_string*>(const_cast<void*>(handle));
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_INJECT_NVTX_INJECTION_HPP
