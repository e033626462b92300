// A module of a program as NVTX's header makes it: a table of pointers that a tool fills, and calls
// that go through it. It needs no NVTX header.
#ifndef STRATA_TESTS_NVTX_MODULE_HPP
#define STRATA_TESTS_NVTX_MODULE_HPP

#include <cstdint>
#include <cstring>

#include "../tools/inject/nvtx_injection.hpp"

namespace nvtx_calls {

namespace nvtx = strata::detail::nvtx;

using domain = void*;
using string = void*;

inline nvtx::event text_event(char const* text) {
  nvtx::event e{};
  e.version = 3;
  e.size = sizeof e;
  e.kind = nvtx::message_kind::text;
  e.message = text;
  return e;
}
inline nvtx::event wide_event(wchar_t const* text) {
  nvtx::event e = text_event(nullptr);
  e.kind = nvtx::message_kind::wide_text;
  e.message = text;
  return e;
}
inline nvtx::event registered_event(string handle) {
  nvtx::event e = text_event(nullptr);
  e.kind = nvtx::message_kind::registered;
  e.message = handle;
  return e;
}

/// As NCCL describes its calls: `payload` is what the event refers to.
inline nvtx::event described_event(string handle, nvtx::payload_data const& payload) {
  nvtx::event e = registered_event(handle);
  e.payload_kind = nvtx::extended_payload;
  e.payload = reinterpret_cast<std::uintptr_t>(&payload);
  e.reserved = 1;
  return e;
}

/// One at a time, since NVTX's interface has no place for a context.
class module {
 public:
  module() {
    current() = this;
    for (unsigned i = 0; i <= last; ++i) {
      core_[i] = &core_functions_[i];
      core2_[i] = &core2_functions_[i];
    }
  }
  module(module const&) = delete;
  module& operator=(module const&) = delete;

  /// What the first NVTX call does.
  int attach(int (*initialize)(nvtx::export_table_function*)) { return initialize(&table); }

  int push(char const* text) { return call<int>(nvtx::core_id::push, text); }
  int push(wchar_t const* text) { return call<int>(nvtx::core_id::push_wide, text); }
  int push(nvtx::event const& e) { return call<int>(nvtx::core_id::push_event, &e); }
  int pop() { return call<int>(nvtx::core_id::pop); }
  nvtx::range_id start(char const* text) {
    return call<nvtx::range_id>(nvtx::core_id::start, text);
  }
  nvtx::range_id start(wchar_t const* text) {
    return call<nvtx::range_id>(nvtx::core_id::start_wide, text);
  }
  nvtx::range_id start(nvtx::event const& e) {
    return call<nvtx::range_id>(nvtx::core_id::start_event, &e);
  }
  void end(nvtx::range_id id) { call<void>(nvtx::core_id::end, id); }
  void mark(char const* text) { call<void>(nvtx::core_id::mark, text); }
  void mark(wchar_t const* text) { call<void>(nvtx::core_id::mark_wide, text); }
  void mark(nvtx::event const& e) { call<void>(nvtx::core_id::mark_event, &e); }

  domain create(char const* name) { return call<domain>(nvtx::core2_id::create_domain, name); }
  domain create(wchar_t const* name) {
    return call<domain>(nvtx::core2_id::create_domain_wide, name);
  }
  string enlist(domain in, char const* text) {
    return call<string>(nvtx::core2_id::register_string, in, text);
  }
  string enlist(domain in, wchar_t const* text) {
    return call<string>(nvtx::core2_id::register_string_wide, in, text);
  }
  int push(domain in, nvtx::event const& e) {
    return call<int>(nvtx::core2_id::domain_push, in, &e);
  }
  int pop(domain in) { return call<int>(nvtx::core2_id::domain_pop, in); }
  nvtx::range_id start(domain in, nvtx::event const& e) {
    return call<nvtx::range_id>(nvtx::core2_id::domain_start, in, &e);
  }
  void end(domain in, nvtx::range_id id) { call<void>(nvtx::core2_id::domain_end, in, id); }
  void mark(domain in, nvtx::event const& e) { call<void>(nvtx::core2_id::domain_mark, in, &e); }

 private:
  static constexpr unsigned last = 15;

  static module*& current() {
    static module* now = nullptr;
    return now;
  }
  static void const* table(std::uint32_t which) {
    static constexpr nvtx::export_callbacks callbacks{sizeof(nvtx::export_callbacks), &pointers};
    return which == nvtx::callbacks_table ? &callbacks : nullptr;
  }
  static int pointers(nvtx::module_id which, nvtx::function*** to, unsigned* size) {
    if (which != nvtx::module_id::core && which != nvtx::module_id::core2) return 0;
    *to = which == nvtx::module_id::core ? current()->core_ : current()->core2_;
    *size = last;
    return 1;
  }

  nvtx::function function(nvtx::core_id id) { return core_functions_[static_cast<unsigned>(id)]; }
  nvtx::function function(nvtx::core2_id id) { return core2_functions_[static_cast<unsigned>(id)]; }

  /// As in NVTX, a call that no tool took does nothing.
  template <class Result, class Id, class... Arguments>
  Result call(Id id, Arguments... arguments) {
    if (auto* const to = reinterpret_cast<Result (*)(Arguments...)>(function(id)))
      return to(arguments...);
    return Result();
  }

  nvtx::function core_functions_[last + 1] = {};
  nvtx::function core2_functions_[last + 1] = {};
  nvtx::function* core_[last + 1] = {};
  nvtx::function* core2_[last + 1] = {};
};

}  // namespace nvtx_calls

#endif  // STRATA_TESTS_NVTX_MODULE_HPP
