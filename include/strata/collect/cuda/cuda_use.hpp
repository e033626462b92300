#ifndef STRATA_COLLECT_CUDA_CUDA_USE_HPP
#define STRATA_COLLECT_CUDA_CUDA_USE_HPP

#include <strata/collect/cuda/driver.hpp>

#include <link.h>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Whether the program uses CUDA, asked without a call that starts it: a process that starts the
/// driver takes CUDA from the children that it forks. libcuda is not loaded here, only found, and
/// cuCtxGetCurrent says CUDA_ERROR_NOT_INITIALIZED before cuInit and starts nothing (H200, driver
/// 580).
class cuda_use {
 public:
  /// Threads: any, but in no range or step of the program: where a library has come since the last
  /// call it takes the lock of the dynamic loader, which a constructor holds that may wait for that
  /// range. Cost: until it is true, 25 ns; some microseconds where a library has come.
  static bool has_begun() noexcept {
    facts& all = instance();
    if (all.begun.load(memory_order_acquire)) return true;
    question* ask = all.ask.load(memory_order_acquire);
    if (ask == nullptr) ask = find(all);
    driver::context_handle current = nullptr;
    if (ask == nullptr || ask(&current) == driver::result::not_initialized) return false;
    all.begun.store(true, memory_order_release);
    return true;
  }

  /// One sentence, where the program did not use CUDA, or not in time. It calls nothing of CUDA:
  /// what cuInit returned is known to its caller alone, and another call might succeed.
  static std::string why_not() {
    char const* const chosen = filled_variable("STRATA_LIBCUDA");
    if (instance().begun.load())
      return "no device activity: the program began to use CUDA as the session ended";
    if (instance().ask.load() != nullptr || is_loaded(chosen))
      return "no device activity: CUDA is not initialised, though libcuda is loaded: cuInit failed "
             "in the program, or was not called; see the error that the program got from it, and "
             "check nvidia-smi, CUDA_VISIBLE_DEVICES and, in a container, --gpus all";
    if (chosen != nullptr)
      return sentence("STRATA_LIBCUDA=")
             << chosen
             << ": the program did not load it, so that there is no device activity: unset the "
                "variable, or name the libcuda.so.1 that the program uses";
    return "no device activity: the program did not use CUDA; where it should, check nvidia-smi "
           "and, in a container, --gpus all";
  }

 private:
  using question = driver::result(driver::context_handle* out);

  struct facts {
    atomic<bool> begun{false};
    atomic<question*> ask{nullptr};
    atomic<unsigned long long> loads{0};  // of libraries, when libcuda was looked for last
  };
  static facts& instance() noexcept {
    static facts only;
    return only;
  }

  static question* find(facts& all) noexcept {
    search wanted;
    wanted.loads = all.loads.load();
    if (filled_variable("STRATA_LIBCUDA") != nullptr) wanted.name = "";
    loader_use const use(loader_use::on_fork::give_up);
    if (use.is_safe()) (void)::dl_iterate_phdr(&look_at, &wanted);
    question* const found = wanted.is_worth_it ? bind() : nullptr;
    if (found != nullptr) all.ask.store(found, memory_order_release);
    all.loads.store(wanted.loads);
    return found;
  }

  struct search {
    unsigned long long loads = 0;
    char const* name = "libcuda.so";  // its beginning
    bool is_first = true;
    bool is_worth_it = false;
  };
  static char const* file_of(char const* path) noexcept {
    char const* const slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
  }
  /// By its name alone, which takes no lock that a constructor holds.
  static bool is_loaded(char const* chosen) noexcept {
    search wanted;
    if (chosen != nullptr) wanted.name = file_of(chosen);
    loader_use const use;
    (void)::dl_iterate_phdr(&look_at, &wanted);
    return wanted.is_worth_it;
  }

  /// Of the libraries of the process; it ends if none came since the last search.
  static int look_at(dl_phdr_info* info, std::size_t, void* data) noexcept {
    auto& wanted = *static_cast<search*>(data);
    if (wanted.is_first && wanted.loads == info->dlpi_adds) return 1;
    wanted.is_first = false;
    wanted.loads = info->dlpi_adds;
    char const* const name = file_of(info->dlpi_name == nullptr ? "" : info->dlpi_name);
    wanted.is_worth_it = std::strncmp(name, wanted.name, std::strlen(wanted.name)) == 0;
    return wanted.is_worth_it ? 1 : 0;
  }

  /// Keeps libcuda loaded, as it stays in each program that uses it.
  static question* bind() noexcept {
    dynamic_library library;
    question* ask = nullptr;
    if (driver_library::open_loaded(library)) (void)library.bind("cuCtxGetCurrent", ask);
    return ask;
  }
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_CUDA_USE_HPP
