#ifndef STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
#define STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP

#include <strata/collect/nvtx/nccl_payloads.hpp>

// NVTX's entry points, once: as CUPTI reports them, and as NVTX calls a tool that it loads.
// tests/package/abi_nvtx.cpp holds the numbers against the toolkit's headers.

STRATA_BEGIN
namespace detail {
namespace cupti {

/// CUpti_nvtx_api_trace_cbid: the NVTX calls in use.
enum class nvtx_id : std::uint32_t {
  mark = 1,
  mark_wide = 2,
  mark_event = 3,
  start = 4,
  start_wide = 5,
  start_event = 6,
  end = 7,
  push = 8,
  push_wide = 9,
  push_event = 10,
  pop = 11,
  domain_mark = 30,
  domain_start = 31,
  domain_end = 32,
  domain_push = 33,
  domain_pop = 34,
  register_string = 39,
  register_string_wide = 40,
  create_domain = 41,
  create_domain_wide = 42
};

/// CUpti_NvtxData: domain nvtx.
struct nvtx_data {
  char const* function_name;
  void const* parameters;
  void const* result;  // points to what the call returns
};

/// One parameter, or what a call returns.
union nvtx_word {
  void const* pointer;
  nvtx::range_id id;
};

/// The parameters of the calls, as generated_nvtx_meta.h has them: a domain comes first.
struct nvtx_parameters {
  nvtx_word first;
  nvtx_word second;  // absent where the call takes one parameter
};

}  // namespace cupti

/// One entry point of NVTX: what it does, what it takes, and its numbers.
struct nvtx_entry {
  enum class operation : unsigned char { push, pop, start, end, mark, add_string, add_domain };
  enum class argument : unsigned char { none, text, wide_text, event, id };

  cupti::nvtx_id id;
  operation does;
  argument takes;
  nvtx::module_id module;  // whose table of functions has it
  unsigned slot;           // in that table
  bool in_domain = false;  // the first parameter is a domain

  constexpr nvtx_entry(cupti::nvtx_id by_cupti, nvtx::core_id index, operation what,
                       argument given) noexcept
      : id(by_cupti),
        does(what),
        takes(given),
        module(nvtx::module_id::core),
        slot(static_cast<unsigned>(index)) {}
  constexpr nvtx_entry(cupti::nvtx_id by_cupti, nvtx::core2_id index, operation what,
                       argument given) noexcept
      : id(by_cupti),
        does(what),
        takes(given),
        module(nvtx::module_id::core2),
        slot(static_cast<unsigned>(index)),
        in_domain(what != operation::add_domain) {}
};

/// The program's NVTX calls, carried out on nvtx_ranges. CUPTI calls back for none of NVTX's
/// extensions: a range that one of them ends stays open there, as ncclCommInitRankConfig of NCCL.
/// Threads: any.
class nvtx_calls {
  using id = cupti::nvtx_id;
  using core = nvtx::core_id;
  using core2 = nvtx::core2_id;
  using does = nvtx_entry::operation;
  using takes = nvtx_entry::argument;
  using word = cupti::nvtx_word;

 public:
  static constexpr nvtx_entry entries[] = {
      {id::mark, core::mark, does::mark, takes::text},
      {id::mark_wide, core::mark_wide, does::mark, takes::wide_text},
      {id::mark_event, core::mark_event, does::mark, takes::event},
      {id::start, core::start, does::start, takes::text},
      {id::start_wide, core::start_wide, does::start, takes::wide_text},
      {id::start_event, core::start_event, does::start, takes::event},
      {id::end, core::end, does::end, takes::id},
      {id::push, core::push, does::push, takes::text},
      {id::push_wide, core::push_wide, does::push, takes::wide_text},
      {id::push_event, core::push_event, does::push, takes::event},
      {id::pop, core::pop, does::pop, takes::none},
      {id::domain_mark, core2::domain_mark, does::mark, takes::event},
      {id::domain_start, core2::domain_start, does::start, takes::event},
      {id::domain_end, core2::domain_end, does::end, takes::id},
      {id::domain_push, core2::domain_push, does::push, takes::event},
      {id::domain_pop, core2::domain_pop, does::pop, takes::none},
      {id::register_string, core2::register_string, does::add_string, takes::text},
      {id::register_string_wide, core2::register_string_wide, does::add_string, takes::wide_text},
      {id::create_domain, core2::create_domain, does::add_domain, takes::text},
      {id::create_domain_wide, core2::create_domain_wide, does::add_domain, takes::wide_text}};
  static constexpr std::size_t entry_count = sizeof entries / sizeof *entries;

  /// CUPTI's callback for a call that has returned. Domains and strings are CUPTI's handles.
  static void on_call(cupti::nvtx_id which, cupti::nvtx_data const& call) noexcept {
    for (nvtx_entry const& entry : entries) {
      if (entry.id != which) continue;
      if (call.parameters == nullptr && which != id::pop) return;
      auto const* const given = static_cast<word const*>(call.parameters);
      bool const returns_handle = entry.does == does::start || entry.does == does::add_string ||
                                  entry.does == does::add_domain;
      word const made = returns_handle && call.result != nullptr
                            ? *static_cast<word const*>(call.result)
                            : word{nullptr};
      nvtx_domain* const domain = entry.in_domain ? domain_of(given[0].pointer) : nullptr;
      bool const takes_more = entry.takes != takes::none;
      (void)run(entry, domain, takes_more ? given[entry.in_domain] : word{nullptr}, &string_of,
                &made);
      return;
    }
  }

  /// Carries out one call. `made` is the handle that CUPTI gave to the result; without CUPTI, null,
  /// the address of a domain or string is its handle.
  static word run(nvtx_entry const& entry, nvtx_domain* domain, word given,
                  nvtx_string* (*string_of)(void const*), word const* made) noexcept {
    word out{nullptr};
    switch (entry.does) {
      case does::push:
        out.id = static_cast<nvtx::range_id>(nvtx_ranges::push(
            name_of(entry, domain, given, string_of), bytes_of(entry, domain, given)));
        break;
      case does::pop:
        out.id = static_cast<nvtx::range_id>(nvtx_ranges::pop(domain));
        break;
      case does::start:
        out.id = made == nullptr ? nvtx_ranges::next_id() : made->id;
        nvtx_ranges::start(name_of(entry, domain, given, string_of), out.id);
        break;
      case does::end:
        nvtx_ranges::end(given.id);
        break;
      case does::mark:
        nvtx_ranges::mark(name_of(entry, domain, given, string_of));
        break;
      case does::add_string: {
        nvtx_string* const string =
            nvtx_registry::instance().string(name_of(entry, domain, given, string_of));
        out.pointer = string;
        keep(known().strings, made, string);
        break;
      }
      case does::add_domain: {
        nvtx_domain* const added =
            nvtx_registry::instance().domain(name_of(entry, nullptr, given, string_of).full());
        out.pointer = added;
        keep(known().domains, made, added);
        break;
      }
    }
    return out;
  }

 private:
  /// What CUPTI's handles stand for.
  struct handles {
    system_mutex mutex;
    flat_map<void const*, nvtx_domain*> domains;
    flat_map<void const*, nvtx_string*> strings;
  };
  static handles& known() noexcept {
    static auto* const only = static_cast<handles*>(
        shared_object(process_object::nvtx_handles, []() -> void* { return new handles; }));
    return *only;
  }

  static nvtx_name name_of(nvtx_entry const& entry, nvtx_domain const* domain, word given,
                           nvtx_string* (*string_of)(void const*)) noexcept {
    if (entry.takes == takes::text) return {domain, static_cast<char const*>(given.pointer)};
    if (entry.takes == takes::wide_text)
      return {domain, static_cast<wchar_t const*>(given.pointer)};
    return {domain, static_cast<nvtx::event const*>(given.pointer), string_of};
  }

  static double bytes_of(nvtx_entry const& entry, nvtx_domain const* domain, word given) noexcept {
    if (entry.takes != takes::event) return not_a_number;
    return nccl_payloads::bytes_of(domain, static_cast<nvtx::event const*>(given.pointer));
  }

  template <class Map, class Object>
  STRATA_DETAIL_COLD static void keep(Map& objects, word const* handle, Object* object) noexcept {
    if (handle == nullptr || handle->pointer == nullptr || object == nullptr) return;
    system_lock lock(known().mutex);
    objects[handle->pointer] = object;
  }
  template <class Map>
  static auto found(Map& in, void const* handle) noexcept {
    system_lock lock(known().mutex);
    auto* const object = in.find(handle);
    return object == nullptr ? nullptr : *object;
  }
  static nvtx_domain* domain_of(void const* handle) noexcept {
    return handle == nullptr ? nullptr : found(known().domains, handle);
  }
  static nvtx_string* string_of(void const* handle) noexcept {
    return found(known().strings, handle);
  }
};

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
    nccl_payloads::add(static_cast<nvtx_domain const*>(domain), schema);
    return schema == nullptr ? 0 : schema->id;
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

#endif  // STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
