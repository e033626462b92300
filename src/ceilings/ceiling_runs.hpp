#include <strata/version.hpp>
#ifndef STRATA_CEILINGS_CEILING_RUNS_HPP
#define STRATA_CEILINGS_CEILING_RUNS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/profile.hpp>
#include "ceiling_kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

namespace driver {

using device_pointer = unsigned long long;  // CUdeviceptr
using event_handle = void*;                 // CUevent
using module_handle = void*;                // CUmodule
using function_handle = void*;              // CUfunction

enum class function_attribute : int { max_dynamic_shared_bytes = 8, shared_carveout = 9 };

/// The driver functions that run a kernel and time it.
struct work_table {
  result (*primary_retain)(context_handle* out, device_handle device) = nullptr;
  result (*primary_release)(device_handle device) = nullptr;
  result (*memory_info)(std::size_t* left, std::size_t* all) = nullptr;
  result (*memory_allocate)(device_pointer* out, std::size_t bytes) = nullptr;
  result (*memory_free)(device_pointer which) = nullptr;
  result (*copy_to_host)(void* destination, device_pointer source, std::size_t bytes,
                         stream_handle in) = nullptr;
  result (*copy_on_device)(device_pointer destination, device_pointer source, std::size_t bytes,
                           stream_handle in) = nullptr;
  result (*stream_create)(stream_handle* out, unsigned flags) = nullptr;
  result (*stream_destroy)(stream_handle which) = nullptr;
  result (*stream_synchronize)(stream_handle which) = nullptr;
  result (*event_create)(event_handle* out, unsigned flags) = nullptr;
  result (*event_destroy)(event_handle which) = nullptr;
  result (*event_record)(event_handle which, stream_handle in) = nullptr;
  result (*event_elapsed)(float* ms, event_handle begin, event_handle end) = nullptr;
  result (*module_load)(module_handle* out, void const* image, unsigned options, int* names,
                        void** values) = nullptr;
  result (*module_unload)(module_handle which) = nullptr;
  result (*module_function)(function_handle* out, module_handle cuda_module,
                            char const* name) = nullptr;
  result (*function_set)(function_handle kernel, function_attribute which, int value) = nullptr;
  result (*occupancy)(int* blocks, function_handle kernel, int threads,
                      std::size_t dynamic_shared) = nullptr;
  result (*launch)(function_handle what, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   stream_handle in, void** parameters, void** extra) = nullptr;

  /// Whether the library has all of them.
  bool bind(dynamic_library const& library) noexcept {
    library_function const all[] = {{"cuDevicePrimaryCtxRetain", &primary_retain},
                                    {"cuDevicePrimaryCtxRelease_v2", &primary_release},
                                    {"cuMemGetInfo_v2", &memory_info},
                                    {"cuMemAlloc_v2", &memory_allocate},
                                    {"cuMemFree_v2", &memory_free},
                                    {"cuMemcpyDtoHAsync_v2", &copy_to_host},
                                    {"cuMemcpyDtoDAsync_v2", &copy_on_device},
                                    {"cuStreamCreate", &stream_create},
                                    {"cuStreamDestroy_v2", &stream_destroy},
                                    {"cuStreamSynchronize", &stream_synchronize},
                                    {"cuEventCreate", &event_create},
                                    {"cuEventDestroy_v2", &event_destroy},
                                    {"cuEventRecord", &event_record},
                                    {"cuEventElapsedTime", &event_elapsed},
                                    {"cuModuleLoadDataEx", &module_load},
                                    {"cuModuleUnload", &module_unload},
                                    {"cuModuleGetFunction", &module_function},
                                    {"cuFuncSetAttribute", &function_set},
                                    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", &occupancy},
                                    {"cuLaunchKernel", &launch}};
    bool found = true;
    for (library_function const& function : all) found = library.bind(function) && found;
    return found;
  }
};

}  // namespace driver

/// A kernel of the ceilings and where it works.
struct ceiling_work {
  std::string text;            ///< PTX
  double of_block = 0.0;       ///< bytes or operations of a block in a round
  std::uint64_t size = 0;      ///< of what a block goes round in, a power of two
  std::uint64_t start = 0;     ///< from the start of a block to that of the next
  std::uint64_t step = 0;      ///< from a round to the next; 0: all blocks continue side by side
  std::uint64_t distance = 0;  ///< from where a copy reads to where it writes
  std::uint32_t dynamic_shared = 0;
  std::uint32_t blocks_of_sm = 0;  ///< 0: as many as fit
};

/// Fills a ceiling with the rates of its samples.
/// Requires: there are some.
inline void fill_ceiling(vec<double> rates, device_ceiling& ceiling) {
  rates.sort();
  ceiling.rate = rates[rates.size() / 2];
  ceiling.spread = (rates.back() - rates.front()) / ceiling.rate;
  ceiling.samples = static_cast<std::uint32_t>(rates.size());
}

/// Runs kernels in the current context, or in the primary one of a device, with a stream and memory
/// of its own. When it ends the thread's contexts are as they were, and all is freed.
class ceiling_runs {
 public:
  ceiling_runs() = default;
  ceiling_runs(ceiling_runs const&) = delete;
  ceiling_runs& operator=(ceiling_runs const&) = delete;
  ~ceiling_runs() { close(); }

  /// `device`: the ordinal; -1 is the device of the current context, or the first.
  bool open(int device) {
    if (!driver_.ok()) return fail(driver_.problem);
    dynamic_library library;
    if (!driver_library::open(library, problem_)) return false;
    if (!api_.bind(library) || driver_.api.context_current == nullptr ||
        driver_.api.context_device == nullptr || driver_.api.context_push == nullptr ||
        driver_.api.context_pop == nullptr)
      return fail("libcuda lacks functions that run kernels: is it NVIDIA's?");
    if (!enter(device)) return false;
    multiprocessors_ = driver_.attribute(device_, driver::attribute::multiprocessor_count);
    constexpr unsigned non_blocking = 1;
    constexpr unsigned blocking_sync_off = 0;
    if (!did("cuStreamCreate", api_.stream_create(&stream_, non_blocking)) ||
        !did("cuEventCreate", api_.event_create(&begin_, blocking_sync_off)) ||
        !did("cuEventCreate", api_.event_create(&end_, blocking_sync_off)) ||
        !did("cuMemAlloc", api_.memory_allocate(&out_, 64)))
      return false;
    std::size_t left = 0;
    std::size_t all = 0;
    if (!did("cuMemGetInfo", api_.memory_info(&left, &all))) return false;
    // Of a smaller buffer a part is still in L2 when it is read again.
    size_ = std::uint64_t{4} << 30;
    while (size_ > left / 4) size_ /= 2;
    for (;; size_ /= 2) {
      driver::result const code =
          api_.memory_allocate(&data_, static_cast<std::size_t>(size_ + behind));
      if (code == driver::result::success) return true;
      if (size_ < (1u << 22)) return did("cuMemAlloc", code);
    }
  }

  int device() const noexcept { return device_; }
  std::uint64_t size() const noexcept { return size_; }  ///< of the buffer, a power of two
  std::string const& problem() const noexcept { return problem_; }

  /// Several runs of `sample_ms` each; the median into `ceiling`, or the reason why not.
  void measure(ceiling_work const& work, device_ceiling& ceiling) {
    driver::module_handle made = nullptr;
    if (did("cuModuleLoadDataEx", api_.module_load(&made, work.text.c_str(), 0, nullptr, nullptr)))
      run_all(made, work, ceiling);
    if (made != nullptr) (void)api_.module_unload(made);
    if (ceiling.samples == 0) ceiling.refused = problem_;
    problem_.clear();
  }

  /// The driver's own copy of half of the buffer to the other half, where that is the faster one.
  void measure_copy(device_ceiling& ceiling) {
    vec<double> rates;
    auto const half = static_cast<std::size_t>(size_ / 2);
    double ms = 0.0;
    auto const copy = [&] {
      return did("cuMemcpyDtoDAsync", api_.copy_on_device(data_ + half, data_, half, stream_));
    };
    for (std::uint32_t i = 0; i <= samples; ++i) {
      if (!time(copy, ms)) return problem_.clear();
      if (i > 0) rates.push_back(2.0 * static_cast<double>(half) / ms * 1e3);
    }
    device_ceiling theirs = ceiling;
    fill_ceiling(std::move(rates), theirs);
    if (theirs.rate > ceiling.rate) ceiling = std::move(theirs);
  }

  /// Bytes for what blocks begin later.
  static constexpr std::uint64_t behind = std::uint64_t{128} << 20;
  static constexpr double sample_ms = 4.0;
  static constexpr std::uint32_t samples = 7;

 private:
  struct one_run {
    double ms = 0.0;
    double hertz = 0.0;
  };

  bool fail(std::string text) {
    problem_ = std::move(text);
    return false;
  }
  bool did(char const* call, driver::result code) {
    return code == driver::result::success || fail(driver_.describe(call, code));
  }

  bool enter(int wanted) {
    driver::context_handle current = nullptr;
    (void)driver_.api.context_current(&current);
    if (current != nullptr && !did("cuCtxGetDevice", driver_.api.context_device(&device_)))
      return false;
    if (current != nullptr && (wanted < 0 || wanted == device_)) return true;
    if (!did("cuDeviceGet", driver_.api.device_get(&device_, wanted < 0 ? 0 : wanted)))
      return false;
    if (!did("cuDevicePrimaryCtxRetain", api_.primary_retain(&current, device_))) return false;
    retained_ = true;
    pushed_ = did("cuCtxPushCurrent", driver_.api.context_push(current));
    return pushed_;
  }

  void close() noexcept {
    if (stream_ != nullptr) (void)api_.stream_synchronize(stream_);
    if (data_ != 0) (void)api_.memory_free(data_);
    if (out_ != 0) (void)api_.memory_free(out_);
    if (begin_ != nullptr) (void)api_.event_destroy(begin_);
    if (end_ != nullptr) (void)api_.event_destroy(end_);
    if (stream_ != nullptr) (void)api_.stream_destroy(stream_);
    driver::context_handle mine = nullptr;
    if (pushed_) (void)driver_.api.context_pop(&mine);
    if (retained_) (void)api_.primary_release(device_);
  }

  void run_all(driver::module_handle from, ceiling_work const& work, device_ceiling& ceiling) {
    driver::function_handle kernel = nullptr;
    if (!did("cuModuleGetFunction", api_.module_function(&kernel, from, ceiling_kernel::entry)))
      return;
    using driver::function_attribute;
    if (work.dynamic_shared > 0 &&
        !did("cuFuncSetAttribute",
             api_.function_set(kernel, function_attribute::max_dynamic_shared_bytes,
                               static_cast<int>(work.dynamic_shared))))
      return;
    if (work.step > 0 && work.start == 0)  // the rest is L1; a wish only
      (void)api_.function_set(kernel, function_attribute::shared_carveout, 0);
    int fits = 0;
    if (!did("cuOccupancyMaxActiveBlocksPerMultiprocessor",
             api_.occupancy(&fits, kernel, ceiling_kernel::threads, work.dynamic_shared)))
      return;
    auto const blocks =
        (work.blocks_of_sm > 0 ? work.blocks_of_sm : static_cast<std::uint32_t>(fits)) *
        static_cast<std::uint32_t>(multiprocessors_);
    // As many rounds as a sample takes.
    std::uint32_t rounds = 4;
    one_run found;
    for (;;) {
      if (!run(kernel, blocks, rounds, work, found)) return;
      double const wanted = rounds * (sample_ms / (found.ms > 1e-3 ? found.ms : 1e-3));
      bool const close = found.ms > 0.3 * sample_ms;
      double const most = 64.0 * rounds;
      rounds = static_cast<std::uint32_t>(wanted > most ? most : wanted < 1.0 ? 1.0 : wanted);
      if (close || rounds > 1u << 30) break;
    }
    vec<double> rates;
    double hertz = 0.0;
    for (std::uint32_t i = 0; i < samples; ++i) {
      if (!run(kernel, blocks, rounds, work, found)) return;
      rates.push_back(work.of_block * blocks * rounds / found.ms * 1e3);
      hertz += found.hertz / samples;
    }
    fill_ceiling(std::move(rates), ceiling);
    ceiling.clock_hertz = hertz;
  }

  bool run(driver::function_handle kernel, std::uint32_t blocks, std::uint32_t rounds,
           ceiling_work const& work, one_run& found) {
    std::uint64_t mask = work.size - 1;
    std::uint64_t start = work.start;
    std::uint64_t distance = work.distance;
    std::uint64_t step = work.step > 0 ? work.step : start * blocks;
    void* parameters[] = {&data_, &out_, &mask, &step, &start, &distance, &rounds};
    std::uint64_t durations[2] = {};  // cycles, ns
    auto const launch = [&] {
      return did("cuLaunchKernel", api_.launch(kernel, blocks, 1, 1, ceiling_kernel::threads, 1, 1,
                                               work.dynamic_shared, stream_, parameters, nullptr));
    };
    if (!time(launch, found.ms) ||
        !did("cuMemcpyDtoHAsync", api_.copy_to_host(durations, out_, sizeof durations, stream_)) ||
        !did("cuStreamSynchronize", api_.stream_synchronize(stream_)))
      return false;
    // By the device's own clock: block 0 may end before the others do.
    found.hertz = durations[1] > 0
                      ? 1e9 * static_cast<double>(durations[0]) / static_cast<double>(durations[1])
                      : 0.0;
    return true;
  }

  /// The time of what is put into the stream; it is done afterwards.
  template <class Work>
  bool time(Work const& work, double& ms) {
    float taken = 0.0f;
    if (!did("cuEventRecord", api_.event_record(begin_, stream_)) || !work() ||
        !did("cuEventRecord", api_.event_record(end_, stream_)) ||
        !did("cuStreamSynchronize", api_.stream_synchronize(stream_)) ||
        !did("cuEventElapsedTime", api_.event_elapsed(&taken, begin_, end_)))
      return false;
    ms = static_cast<double>(taken);
    return ms > 0.0 || fail("the driver measured no time");
  }

  driver_library const& driver_ = driver_library::get();
  driver::work_table api_;
  std::string problem_;
  int device_ = 0;
  int multiprocessors_ = 0;
  bool retained_ = false;
  bool pushed_ = false;
  driver::stream_handle stream_ = nullptr;
  driver::event_handle begin_ = nullptr;
  driver::event_handle end_ = nullptr;
  driver::device_pointer out_ = 0;
  driver::device_pointer data_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_CEILINGS_CEILING_RUNS_HPP
