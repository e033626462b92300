#include <strata/version.hpp>
#ifndef STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
#define STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/nvtx/nvtx_ranges.hpp>

#include <cstdint>
#include <mutex>

// The part of CUPTI that tells NVTX calls; tests/package/abi_nvtx.cpp holds it against the
// toolkit's headers.

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

inline constexpr nvtx_id nvtx_ids[] = {nvtx_id::mark,
                                       nvtx_id::mark_wide,
                                       nvtx_id::mark_event,
                                       nvtx_id::start,
                                       nvtx_id::start_wide,
                                       nvtx_id::start_event,
                                       nvtx_id::end,
                                       nvtx_id::push,
                                       nvtx_id::push_wide,
                                       nvtx_id::push_event,
                                       nvtx_id::pop,
                                       nvtx_id::domain_mark,
                                       nvtx_id::domain_start,
                                       nvtx_id::domain_end,
                                       nvtx_id::domain_push,
                                       nvtx_id::domain_pop,
                                       nvtx_id::register_string,
                                       nvtx_id::register_string_wide,
                                       nvtx_id::create_domain,
                                       nvtx_id::create_domain_wide};

/// CUpti_NvtxData: domain nvtx.
struct nvtx_data {
  char const* function_name;
  void const* parameters;
  void const* result;  // points to what the call returns
};

/// The parameters of the calls, as generated_nvtx_meta.h has them: at most a domain and one more.
struct nvtx_text_parameters {
  void const* text;
};
struct nvtx_event_parameters {
  nvtx::event const* event;
};
struct nvtx_end_parameters {
  nvtx::range_id id;
};
struct nvtx_domain_parameters {
  void const* domain;
};
struct nvtx_domain_event_parameters {
  void const* domain;
  nvtx::event const* event;
};
struct nvtx_domain_end_parameters {
  void const* domain;
  nvtx::range_id id;
};
struct nvtx_domain_text_parameters {
  void const* domain;
  void const* text;
};

/// The program's NVTX calls as CUPTI's callbacks tell them. Domains and strings are CUPTI's
/// handles. Threads: any.
class nvtx_calls {
 public:
  static void on_call(nvtx_id id, nvtx_data const& call) noexcept {
    if (call.parameters == nullptr && id != nvtx_id::pop) return;
    switch (id) {
      case nvtx_id::push:
        return (void)nvtx_ranges::push({nullptr, text<char>(call)});
      case nvtx_id::push_wide:
        return (void)nvtx_ranges::push({nullptr, text<wchar_t>(call)});
      case nvtx_id::push_event:
        return (void)nvtx_ranges::push(named(nullptr, of<nvtx_event_parameters>(call).event));
      case nvtx_id::pop:
        return (void)nvtx_ranges::pop(nullptr);
      case nvtx_id::start:
        return nvtx_ranges::start({nullptr, text<char>(call)}, number(call));
      case nvtx_id::start_wide:
        return nvtx_ranges::start({nullptr, text<wchar_t>(call)}, number(call));
      case nvtx_id::start_event:
        return nvtx_ranges::start(named(nullptr, of<nvtx_event_parameters>(call).event),
                                  number(call));
      case nvtx_id::end:
        return nvtx_ranges::end(of<nvtx_end_parameters>(call).id);
      case nvtx_id::mark:
        return nvtx_ranges::mark({nullptr, text<char>(call)});
      case nvtx_id::mark_wide:
        return nvtx_ranges::mark({nullptr, text<wchar_t>(call)});
      case nvtx_id::mark_event:
        return nvtx_ranges::mark(named(nullptr, of<nvtx_event_parameters>(call).event));
      default:
        return on_domain_call(id, call);
    }
  }

 private:
  /// What CUPTI's handles stand for.
  struct handles {
    std::mutex mutex;
    flat_map<void const*, nvtx_domain*> domains;
    flat_map<void const*, nvtx_string*> strings;
  };
  static handles& known() noexcept {
    static handles& only = *new handles;
    return only;
  }

  static void on_domain_call(nvtx_id id, nvtx_data const& call) noexcept {
    switch (id) {
      case nvtx_id::domain_push:
        return (void)nvtx_ranges::push(named(of<nvtx_domain_event_parameters>(call)));
      case nvtx_id::domain_pop:
        return (void)nvtx_ranges::pop(domain_of(of<nvtx_domain_parameters>(call).domain));
      case nvtx_id::domain_start:
        return nvtx_ranges::start(named(of<nvtx_domain_event_parameters>(call)), number(call));
      case nvtx_id::domain_end:
        return nvtx_ranges::end(of<nvtx_domain_end_parameters>(call).id);
      case nvtx_id::domain_mark:
        return nvtx_ranges::mark(named(of<nvtx_domain_event_parameters>(call)));
      case nvtx_id::register_string:
        return register_string<char>(call);
      case nvtx_id::register_string_wide:
        return register_string<wchar_t>(call);
      case nvtx_id::create_domain:
        return create_domain<char>(call);
      case nvtx_id::create_domain_wide:
        return create_domain<wchar_t>(call);
      default:
        return;
    }
  }

  template <class Parameters>
  static Parameters const& of(nvtx_data const& call) noexcept {
    return *static_cast<Parameters const*>(call.parameters);
  }
  template <class Char>
  static Char const* text(nvtx_data const& call) noexcept {
    return static_cast<Char const*>(of<nvtx_text_parameters>(call).text);
  }
  static nvtx::range_id number(nvtx_data const& call) noexcept {
    return call.result == nullptr ? 0 : *static_cast<nvtx::range_id const*>(call.result);
  }
  /// The handle that the call returns, null where CUPTI does not tell.
  static void const* handle(nvtx_data const& call) noexcept {
    return call.result == nullptr ? nullptr : *static_cast<void const* const*>(call.result);
  }

  static nvtx_domain* domain_of(void const* handle) noexcept {
    if (handle == nullptr) return nullptr;
    std::lock_guard<std::mutex> lock(known().mutex);
    nvtx_domain** const found = known().domains.find(handle);
    return found == nullptr ? nullptr : *found;
  }
  static nvtx_string* string_of(void const* handle) noexcept {
    std::lock_guard<std::mutex> lock(known().mutex);
    nvtx_string** const found = known().strings.find(handle);
    return found == nullptr ? nullptr : *found;
  }
  static nvtx_name named(nvtx_domain const* domain, nvtx::event const* event) noexcept {
    return {domain, event, &string_of};
  }
  static nvtx_name named(nvtx_domain_event_parameters const& call) noexcept {
    return named(domain_of(call.domain), call.event);
  }

  template <class Char>
  static void register_string(nvtx_data const& call) noexcept {
    auto const& given = of<nvtx_domain_text_parameters>(call);
    nvtx_string* const string = nvtx_registry::instance().string(
        {domain_of(given.domain), static_cast<Char const*>(given.text)});
    if (handle(call) == nullptr || string == nullptr) return;
    std::lock_guard<std::mutex> lock(known().mutex);
    known().strings[handle(call)] = string;
  }
  template <class Char>
  static void create_domain(nvtx_data const& call) noexcept {
    nvtx_domain* const domain =
        nvtx_registry::instance().domain(nvtx_name(nullptr, text<Char>(call)).full());
    if (handle(call) == nullptr || domain == nullptr) return;
    std::lock_guard<std::mutex> lock(known().mutex);
    known().domains[handle(call)] = domain;
  }
};

}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_CUPTI_NVTX_HPP
