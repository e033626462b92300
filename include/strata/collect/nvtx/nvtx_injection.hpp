#include <strata/version.hpp>
#ifndef STRATA_COLLECT_NVTX_NVTX_INJECTION_HPP
#define STRATA_COLLECT_NVTX_NVTX_INJECTION_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/nvtx/nvtx_ranges.hpp>

#include <cstdint>

STRATA_BEGIN
namespace detail {

/// Strata as the tool that NVTX loads: the library that NVTX_INJECTION64_PATH names exports
/// `InitializeInjectionNvtx2`, which returns `nvtx_injection::attach(table)`. It serves machines
/// without CUPTI too. NVTX calls then are ranges of whatever session runs, unless nvtx=off; the
/// first one starts the session that STRATA asks for. Threads: any.
class nvtx_injection {
 public:
  /// Makes one module of the program call Strata. NVTX does this at the first call in each module,
  /// and waits for it: nothing else may begin here. 1; 0 where the interface is not known.
  static int attach(nvtx::export_table_function* get_table) noexcept {
    if (get_table == nullptr) return 0;
    auto const* const callbacks =
        static_cast<nvtx::export_callbacks const*>(get_table(nvtx::callbacks_table));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(nvtx::export_callbacks)) return 0;
    slots core(*callbacks, nvtx::module_id::core);
    slots core2(*callbacks, nvtx::module_id::core2);
    if (!core.known() || !core2.known()) return 0;
    block().nvtx_from.store(nvtx_source::injection);
    core.set(nvtx::core_id::mark_event, &mark_event);
    core.set(nvtx::core_id::mark, &mark<char>);
    core.set(nvtx::core_id::mark_wide, &mark<wchar_t>);
    core.set(nvtx::core_id::start_event, &start_event);
    core.set(nvtx::core_id::start, &start<char>);
    core.set(nvtx::core_id::start_wide, &start<wchar_t>);
    core.set(nvtx::core_id::end, &end);
    core.set(nvtx::core_id::push_event, &push_event);
    core.set(nvtx::core_id::push, &push<char>);
    core.set(nvtx::core_id::push_wide, &push<wchar_t>);
    core.set(nvtx::core_id::pop, &pop);
    core2.set(nvtx::core2_id::domain_mark, &domain_mark);
    core2.set(nvtx::core2_id::domain_start, &domain_start);
    core2.set(nvtx::core2_id::domain_end, &domain_end);
    core2.set(nvtx::core2_id::domain_push, &domain_push);
    core2.set(nvtx::core2_id::domain_pop, &domain_pop);
    core2.set(nvtx::core2_id::register_string, &register_string<char>);
    core2.set(nvtx::core2_id::register_string_wide, &register_string<wchar_t>);
    core2.set(nvtx::core2_id::create_domain, &create_domain<char>);
    core2.set(nvtx::core2_id::create_domain_wide, &create_domain<wchar_t>);
    return 1;
  }

 private:
  /// The pointers of one module.
  class slots {
   public:
    slots(nvtx::export_callbacks const& callbacks, nvtx::module_id module) noexcept {
      if (callbacks.get_module_table(module, &table_, &last_) == 0) table_ = nullptr;
    }
    bool known() const noexcept { return table_ != nullptr; }
    template <class Id, class Function>
    void set(Id id, Function* function) noexcept {
      auto const at = static_cast<unsigned>(id);
      if (at <= last_ && table_[at] != nullptr)
        *table_[at] = reinterpret_cast<nvtx::function>(function);
    }

   private:
    nvtx::function** table_ = nullptr;
    unsigned last_ = 0;
  };

  /// Handles are the addresses of what they stand for.
  static nvtx_string* string_of(void const* handle) noexcept {
    return const_cast<nvtx_string*>(static_cast<nvtx_string const*>(handle));
  }
  static nvtx_name name_of(nvtx_domain* domain, nvtx::event const* event) noexcept {
    return {domain, event, &string_of};
  }

  static int push_event(nvtx::event const* event) noexcept { return domain_push(nullptr, event); }
  template <class Char>
  static int push(Char const* text) noexcept {
    return nvtx_ranges::push({nullptr, text});
  }
  static int pop() noexcept { return nvtx_ranges::pop(nullptr); }
  static nvtx::range_id start_event(nvtx::event const* event) noexcept {
    return domain_start(nullptr, event);
  }
  template <class Char>
  static nvtx::range_id start(Char const* text) noexcept {
    return started({nullptr, text});
  }
  static void end(nvtx::range_id id) noexcept { nvtx_ranges::end(id); }
  static void mark_event(nvtx::event const* event) noexcept { domain_mark(nullptr, event); }
  template <class Char>
  static void mark(Char const* text) noexcept {
    nvtx_ranges::mark({nullptr, text});
  }

  static int domain_push(nvtx_domain* domain, nvtx::event const* event) noexcept {
    return nvtx_ranges::push(name_of(domain, event));
  }
  static int domain_pop(nvtx_domain* domain) noexcept { return nvtx_ranges::pop(domain); }
  static nvtx::range_id domain_start(nvtx_domain* domain, nvtx::event const* event) noexcept {
    return started(name_of(domain, event));
  }
  static void domain_end(nvtx_domain*, nvtx::range_id id) noexcept { nvtx_ranges::end(id); }
  static void domain_mark(nvtx_domain* domain, nvtx::event const* event) noexcept {
    nvtx_ranges::mark(name_of(domain, event));
  }
  template <class Char>
  static nvtx_string* register_string(nvtx_domain* domain, Char const* text) noexcept {
    return nvtx_registry::instance().string({domain, text});
  }
  template <class Char>
  static nvtx_domain* create_domain(Char const* name) noexcept {
    return nvtx_registry::instance().domain(nvtx_name(nullptr, name).full());
  }

  static nvtx::range_id started(nvtx_name const& name) noexcept {
    nvtx::range_id const id = nvtx_ranges::next_id();
    nvtx_ranges::start(name, id);
    return id;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_NVTX_INJECTION_HPP
