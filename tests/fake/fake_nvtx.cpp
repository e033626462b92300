// CUPTI's part for NVTX: the program's NVTX comes in by InitializeInjectionNvtx2, and every call
// calls back in the domain of NVTX. Handles are numbers that mean nothing to the client.
#include <atomic>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/collect/nvtx/nvtx_ranges.hpp>

#include "../../tools/inject/nvtx_injection.hpp"
#include "fake_state.hpp"

namespace fake {

namespace nvtx = strata::detail::nvtx;
using cupti::nvtx_id;

namespace {

cupti::nvtx_word id_word(nvtx::range_id id) {
  cupti::nvtx_word word{nullptr};
  word.id = id;
  return word;
}

void tell(nvtx_id id, cupti::nvtx_parameters const& parameters, void const* result) {
  cupti::nvtx_data const data{"nvtx", &parameters, result};
  call_back(cupti::domain::nvtx, static_cast<std::uint32_t>(id), &data);
}

void* next_handle() {
  static std::atomic<std::uintptr_t> next{0x7000};
  return reinterpret_cast<void*>(next.fetch_add(16));
}

thread_local int depth = 0;

int pushed(nvtx_id id, void const* parameter) {
  int const level = depth++;
  tell(id, cupti::nvtx_parameters{{parameter}, {nullptr}}, &level);
  return level;
}
int popped(nvtx_id id, void* domain) {
  int const level = depth == 0 ? nvtx::no_level : --depth;
  tell(id, cupti::nvtx_parameters{{domain}, {nullptr}}, &level);
  return level;
}
nvtx::range_id next_range() {
  static std::atomic<nvtx::range_id> next{100};
  return next++;
}
nvtx::range_id started(nvtx_id id, void const* parameter) {
  nvtx::range_id const range = next_range();
  tell(id, cupti::nvtx_parameters{{parameter}, {nullptr}}, &range);
  return range;
}

template <nvtx_id Id>
int push(void const* what) {
  return pushed(Id, what);
}
int pop() { return popped(nvtx_id::pop, nullptr); }
template <nvtx_id Id>
nvtx::range_id start(void const* what) {
  return started(Id, what);
}
void end(nvtx::range_id id) {
  tell(nvtx_id::end, cupti::nvtx_parameters{id_word(id), {nullptr}}, nullptr);
}
template <nvtx_id Id>
void mark(void const* what) {
  tell(Id, cupti::nvtx_parameters{{what}, {nullptr}}, nullptr);
}

int domain_push(void* domain, nvtx::event const* event) {
  int const level = depth++;
  tell(nvtx_id::domain_push, cupti::nvtx_parameters{{domain}, {event}}, &level);
  return level;
}
int domain_pop(void* domain) { return popped(nvtx_id::domain_pop, domain); }
nvtx::range_id domain_start(void* domain, nvtx::event const* event) {
  nvtx::range_id const range = next_range();
  tell(nvtx_id::domain_start, cupti::nvtx_parameters{{domain}, {event}}, &range);
  return range;
}
void domain_end(void* domain, nvtx::range_id id) {
  tell(nvtx_id::domain_end, cupti::nvtx_parameters{{domain}, id_word(id)}, nullptr);
}
void domain_mark(void* domain, nvtx::event const* event) {
  tell(nvtx_id::domain_mark, cupti::nvtx_parameters{{domain}, {event}}, nullptr);
}
template <nvtx_id Id>
void* enlist(void* domain, void const* text) {
  void* const handle = next_handle();
  tell(Id, cupti::nvtx_parameters{{domain}, {text}}, &handle);
  return handle;
}
template <nvtx_id Id>
void* create(void const* name) {
  void* const handle = next_handle();
  tell(Id, cupti::nvtx_parameters{{name}, {nullptr}}, &handle);
  return handle;
}

template <class Id, class Function>
void set(nvtx::function** table, Id id, Function* function) {
  *table[static_cast<unsigned>(id)] = reinterpret_cast<nvtx::function>(function);
}

}  // namespace
}  // namespace fake

extern "C" FAKE_EXPORT int InitializeInjectionNvtx2(
    strata::detail::nvtx::export_table_function* get_table) {
  using namespace fake;
  auto const* const exported =
      static_cast<nvtx::export_callbacks const*>(get_table(nvtx::callbacks_table));
  nvtx::function** core = nullptr;
  nvtx::function** core2 = nullptr;
  unsigned last = 0;
  if (exported == nullptr || exported->get_module_table(nvtx::module_id::core, &core, &last) == 0 ||
      exported->get_module_table(nvtx::module_id::core2, &core2, &last) == 0)
    return 0;
  set(core, nvtx::core_id::mark_event, &mark<nvtx_id::mark_event>);
  set(core, nvtx::core_id::mark, &mark<nvtx_id::mark>);
  set(core, nvtx::core_id::mark_wide, &mark<nvtx_id::mark_wide>);
  set(core, nvtx::core_id::start_event, &start<nvtx_id::start_event>);
  set(core, nvtx::core_id::start, &start<nvtx_id::start>);
  set(core, nvtx::core_id::start_wide, &start<nvtx_id::start_wide>);
  set(core, nvtx::core_id::end, &end);
  set(core, nvtx::core_id::push_event, &push<nvtx_id::push_event>);
  set(core, nvtx::core_id::push, &push<nvtx_id::push>);
  set(core, nvtx::core_id::push_wide, &push<nvtx_id::push_wide>);
  set(core, nvtx::core_id::pop, &pop);
  set(core2, nvtx::core2_id::domain_mark, &domain_mark);
  set(core2, nvtx::core2_id::domain_start, &domain_start);
  set(core2, nvtx::core2_id::domain_end, &domain_end);
  set(core2, nvtx::core2_id::domain_push, &domain_push);
  set(core2, nvtx::core2_id::domain_pop, &domain_pop);
  set(core2, nvtx::core2_id::register_string, &enlist<nvtx_id::register_string>);
  set(core2, nvtx::core2_id::register_string_wide, &enlist<nvtx_id::register_string_wide>);
  set(core2, nvtx::core2_id::create_domain, &create<nvtx_id::create_domain>);
  set(core2, nvtx::core2_id::create_domain_wide, &create<nvtx_id::create_domain_wide>);
  return 1;
}
