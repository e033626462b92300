#ifndef STRATA_TOOLS_GGML_GGML_BEHIND_HPP
#define STRATA_TOOLS_GGML_GGML_BEHIND_HPP

// The ggml behind the functions that libstrata_ggml.so puts before it. A process may have several,
// and some of them where dlsym by itself does not search, as Python's.

#include <ggml-backend.h>
#include <ggml.h>

#include <strata/annotate/process.hpp>
#include <strata/base/environment.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/threads.hpp>

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace ggml_behind {

/// Whether a function is one of this library.
inline bool is_own(void* found) {
  Dl_info own{};
  Dl_info theirs{};
  return dladdr(&strata::detail::module_mark, &own) != 0 && dladdr(found, &theirs) != 0 &&
         own.dli_fbase == theirs.dli_fbase;
}

/// The symbol of this name in a library of the process, or in what it is linked with.
inline void* find_in(char const* path, char const* name) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = dlsym(library, name);
  (void)dlclose(library);
  return found == nullptr || is_own(found) ? nullptr : found;
}

/// The symbol of this name in any library of the process but this one.
inline void* find_in_all(char const* name) {
  std::vector<std::string> paths;
  auto const note = [](dl_phdr_info* library, std::size_t, void* list) {
    static_cast<std::vector<std::string>*>(list)->emplace_back(library->dlpi_name);
    return 0;
  };
  (void)dl_iterate_phdr(note, &paths);
  for (std::string const& path : paths) {
    void* const found = path.empty() ? nullptr : find_in(path.c_str(), name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// The function of this name that `caller` would call without this library, whose own library stays
/// loaded from now on; null where there is none.
template <class Function>
Function* find(char const* name, void const* caller) {
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info from{};
  if (found == nullptr && dladdr(caller, &from) != 0) found = find_in(from.dli_fname, name);
  if (found == nullptr) found = find_in_all(name);
  if (found != nullptr && dladdr(found, &from) != 0)
    (void)dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return reinterpret_cast<Function*>(found);
}

/// Errors: ends the program where there is none, as a call of a function that no library has does.
template <class Function>
Function* require(Function* found, char const* name) {
  if (found != nullptr) return found;
  strata::detail::say((std::string("libstrata_ggml.so: no library has ") + name).c_str());
  std::abort();
}

/// One ggml, as a caller finds it.
struct ggml {
  decltype(ggml_is_empty)* is_empty = nullptr;  // null: it has none
  decltype(ggml_backend_graph_compute_async)* compute = nullptr;
  decltype(ggml_backend_sched_graph_compute_async)* compute_all = nullptr;
  bool readable = false;  // its tensors are those of the headers that this library was built with

  static ggml find_behind(void const* caller) {
    ggml found;
    found.is_empty = find<decltype(ggml_is_empty)>("ggml_is_empty", caller);
    found.compute = find<decltype(ggml_backend_graph_compute_async)>(
        "ggml_backend_graph_compute_async", caller);
    found.compute_all = find<decltype(ggml_backend_sched_graph_compute_async)>(
        "ggml_backend_sched_graph_compute_async", caller);
    found.readable = has_these_headers(caller) && answers_all(caller);
    if (found.readable) readable_caller().store(caller);
    return found;
  }

  /// A place that calls a readable ggml; null before there was one.
  static strata::detail::atomic<void const*>& readable_caller() {
    static strata::detail::atomic<void const*> last{nullptr};
    return last;
  }

 private:
  /// Whether it has all that ranges ask for.
  static bool answers_all(void const* caller) {
    for (char const* const name :
         {"ggml_nelements", "ggml_nrows", "ggml_nbytes", "ggml_blck_size", "ggml_type_size",
          "ggml_op_desc", "ggml_graph_nodes", "ggml_graph_n_nodes", "ggml_backend_get_device",
          "ggml_backend_buffer_is_host", "ggml_backend_buffer_get_type"})
      if (find<void()>(name, caller) == nullptr) return false;
    return true;
  }
  static bool has_these_headers(void const* caller) {
    constexpr std::size_t object_size = 32;  // of what ggml puts before each tensor
    auto* const overhead = find<std::size_t()>("ggml_tensor_overhead", caller);
    auto* const name_of = find<char const*(ggml_op)>("ggml_op_name", caller);
    return overhead != nullptr && overhead() == sizeof(ggml_tensor) + object_size &&
           name_of != nullptr && name_of(GGML_OP_FLASH_ATTN_EXT) == std::string("FLASH_ATTN_EXT");
  }
};

/// The ggml of each place that calls this library. Threads: any. Cost: nanoseconds for the first
/// 128 places, once seen; a search of all libraries for others.
class callers {
 public:
  static ggml const& find(void const* caller) {
    for (entry const& known : entries_) {
      void const* const which = known.caller.load(strata::detail::memory_order_acquire);
      if (which == caller) return known.called;
      if (which == nullptr) break;
    }
    return learn(caller);
  }

 private:
  struct entry {
    strata::detail::atomic<void const*> caller{nullptr};
    ggml called;
  };
  static constexpr std::size_t most = 128;

  STRATA_DETAIL_COLD static ggml const& learn(void const* caller) {
    static thread_local ggml found;  // where there is no room for more
    found = ggml::find_behind(caller);
    static strata::detail::spin_mutex mutex;
    strata::detail::spin_lock const lock(mutex);
    for (entry& known : entries_) {
      void const* const which = known.caller.load();
      if (which == nullptr) {
        known.called = found;
        known.caller.store(caller, strata::detail::memory_order_release);
      }
      if (which == nullptr || which == caller) return known.called;
    }
    return found;
  }

  static entry entries_[most];
};

inline callers::entry callers::entries_[callers::most];

/// Says once, where something is to be recorded, that a ggml is not readable.
inline void say_unreadable() {
  static strata::detail::atomic<bool> said{false};
  if (strata::detail::filled_variable("STRATA") == nullptr || said.exchange(true)) return;
  strata::detail::say(
      "libstrata_ggml.so was built with the headers of another ggml than this program's: its "
      "graphs are not recorded; build it with those of the program's");
}

}  // namespace ggml_behind

#endif  // STRATA_TOOLS_GGML_GGML_BEHIND_HPP
