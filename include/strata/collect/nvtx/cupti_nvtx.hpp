#ifndef STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
#define STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP

#include <strata/collect/nvtx/nccl_payloads.hpp>

// NVTX's entry points, once: as CUPTI reports them, and as NVTX calls a tool that it loads
// (tools/inject/nvtx_injection.hpp).
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

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
