#ifndef STRATA_COLLECT_CUDA_DRIVER_HPP
#define STRATA_COLLECT_CUDA_DRIVER_HPP

#include <strata/annotate/process.hpp>

#include <strata/base/dynamic_library.hpp>
#include <strata/base/text.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

namespace driver {

using device_handle = int;     // CUdevice
using context_handle = void*;  // CUcontext
using stream_handle = void*;   // CUstream
using event_handle = void*;    // CUevent

/// The CUresult values that Strata tells apart.
enum class result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  stub_library = 34,
  no_device = 100,
  invalid_device = 101,
  invalid_context = 201,
  not_ready = 600,
  not_permitted = 800,
  not_supported = 801,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported_on_device = 804,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_implicit = 906,
  stream_capture_wrong_thread = 908,
  unknown = 999
};

/// Device attribute codes. Units: clocks in kHz, bus width in bits, sizes in bytes.
enum class attribute : int {
  warp_size = 10,
  clock_rate_khz = 13,
  multiprocessor_count = 16,
  memory_clock_rate_khz = 36,
  memory_bus_width_bits = 37,
  l2_cache_size_bytes = 38,
  threads_per_multiprocessor = 39,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  shared_bytes_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  blocks_per_multiprocessor = 106,  // since CUDA 11.0, as the next one
  reserved_shared_bytes_per_block = 111
};

/// CUpointer_attribute.
enum class pointer_attribute : int { memory_type = 2, device_ordinal = 9 };

/// CUmemorytype.
enum class memory_type : int { none = 0, host = 1, device = 2 };

/// CUuuid.
struct uuid {
  unsigned char bytes[16];
};

/// CUevent_flags.
enum class event_flags : unsigned { without_times = 2 };

/// CUstreamCaptureMode: of which captures the calls of a thread take care.
enum class capture_mode : int { global = 0, of_thread = 1, relaxed = 2 };

/// CU_STREAM_PER_THREAD: the calling thread's own stream.
inline stream_handle stream_of_thread() noexcept { return reinterpret_cast<stream_handle>(2); }

enum class capture_status : int { none = 0, active = 1, invalidated = 2 };

/// The driver functions in use; any of them may be null.
struct table {
  result (*init)(unsigned flags) = nullptr;
  result (*driver_version)(int* version) = nullptr;
  result (*device_count)(int* count) = nullptr;
  result (*device_get)(device_handle* out, int ordinal) = nullptr;
  result (*device_name)(char* name, int capacity, device_handle device) = nullptr;
  result (*device_attribute)(int* value, attribute code, device_handle device) = nullptr;
  result (*device_total_memory)(std::size_t* bytes, device_handle device) = nullptr;
  result (*device_uuid)(uuid* out, device_handle device) = nullptr;
  result (*can_access_peer)(int* can, device_handle device, device_handle peer) = nullptr;
  result (*context_current)(context_handle* out) = nullptr;
  result (*context_device)(device_handle* out) = nullptr;
  result (*context_push)(context_handle which) = nullptr;
  result (*context_pop)(context_handle* out) = nullptr;
  result (*context_synchronize)() = nullptr;
  result (*context_record_event)(context_handle context,
                                 event_handle which) = nullptr;  // from 12.5 on
  result (*event_create)(event_handle* out, event_flags flags) = nullptr;
  result (*event_destroy)(event_handle which) = nullptr;
  result (*event_query)(event_handle which) = nullptr;
  result (*stream_query)(stream_handle which) = nullptr;
  result (*exchange_capture_mode)(capture_mode* own) = nullptr;
  result (*stream_is_capturing)(stream_handle which, capture_status* out) = nullptr;
  result (*pointer_attributes)(unsigned count, pointer_attribute* codes, void** values,
                               unsigned long long address) = nullptr;
  result (*error_name)(result code, char const** text) = nullptr;
};

/// Calls a function of the table. Returns: whether it is there, and succeeds.
template <class... Taken, class... Given>
bool succeeds(result (*function)(Taken...), Given... given) noexcept {
  return function != nullptr && function(given...) == result::success;
}

/// One sentence on what a code means for the user and how to fix it.
inline char const* fix(result code) noexcept {
  switch (code) {
    case result::success:
      return "no error";
    case result::out_of_memory:
      return "the GPU or the host is out of memory";
    case result::deinitialized:
      return "the CUDA driver is shutting down";
    case result::stub_library:
      return "the libcuda.so.1 that was found is the link-time stub: remove the toolkit's stubs "
             "folder from "
             "LD_LIBRARY_PATH";
    case result::no_device:
      return "no CUDA device is visible: check nvidia-smi, CUDA_VISIBLE_DEVICES, and, in a "
             "container, --gpus";
    case result::invalid_device:
      return "CUDA_VISIBLE_DEVICES names a device that does not exist";
    case result::not_permitted:
      return "the system does not permit the operation";
    case result::system_not_ready:
      return "the system is not ready for CUDA: start the fabric manager or wait until it is up";
    case result::system_driver_mismatch:
      return "libcuda and the kernel module have different versions: reload the module or reboot";
    case result::compat_not_supported_on_device:
      return "the forward-compatibility libcuda does not serve this GPU: remove the compat folder "
             "from "
             "LD_LIBRARY_PATH";
    case result::stream_capture_unsupported:
    case result::stream_capture_invalidated:
    case result::stream_capture_implicit:
    case result::stream_capture_wrong_thread:
      return "a stream is being captured into a graph";
    default:
      return "the CUDA driver refused the call";
  }
}

}  // namespace driver

/// The CUDA driver: opened and initialised at first use, once a process, never closed.
///
/// Environment: STRATA_LIBCUDA names another library (a bare name or an absolute path); ignored
/// when setuid. Threads: get() from any; the members are constant afterwards.
struct driver_library {
  driver::table api;
  int version = 0;       // CUDA_VERSION of the driver: 1000 * major + 10 * minor
  int device_count = 0;  // visible devices
  std::string problem;   // why there is no driver to use; empty when there is

  [[nodiscard]] bool ok() const noexcept { return problem.empty(); }
  [[nodiscard]] int major() const noexcept { return version / 1000; }

  /// The attribute of the device with this ordinal, or `otherwise` if it is not available.
  [[nodiscard]] int attribute(int ordinal, driver::attribute code,
                              int otherwise = 0) const noexcept {
    driver::device_handle device = 0;
    int value = 0;
    bool const is_known = ok() && driver::succeeds(api.device_get, &device, ordinal) &&
                          driver::succeeds(api.device_attribute, &value, code, device);
    return is_known ? value : otherwise;
  }

  /// Whether a device can read the memory of another; true where that is not known.
  [[nodiscard]] bool reaches(int ordinal, int other) const noexcept {
    driver::device_handle from = 0;
    driver::device_handle device = 0;
    int can = 1;
    bool const is_known = ok() && driver::succeeds(api.device_get, &from, ordinal) &&
                          driver::succeeds(api.device_get, &device, other) &&
                          driver::succeeds(api.can_access_peer, &can, from, device);
    return !is_known || can != 0;
  }

  /// The device whose memory an address points to; -1 for the host's, and where it is not known.
  /// Fit for a callback of a driver function: it waits for nothing, captures included.
  [[nodiscard]] int device_of(unsigned long long address) const noexcept {
    driver::pointer_attribute codes[] = {driver::pointer_attribute::memory_type,
                                         driver::pointer_attribute::device_ordinal};
    auto type = driver::memory_type::none;
    int ordinal = -1;
    void* values[] = {&type, &ordinal};
    bool const is_known =
        ok() && driver::succeeds(api.pointer_attributes, 2u, codes, values, address);
    return is_known && type == driver::memory_type::device ? ordinal : -1;
  }

  /// "<call>: <CUDA_ERROR_...> (<code>): <fix>".
  [[nodiscard]] std::string describe(char const* call, driver::result code) const {
    char const* name = nullptr;
    if (api.error_name != nullptr) (void)api.error_name(code, &name);
    return sentence(call) << ": " << (name != nullptr ? name : "CUDA error") << " ("
                          << static_cast<int>(code) << "): " << driver::fix(code);
  }

  /// Opens libcuda, and calls cuInit where the program has not: for what asks for a device by
  /// itself. Cost: then 0.1 to 1 s.
  void load() {
    problem.clear();
    dynamic_library library;
    if (!open(library, problem)) return;
    bind(library);
    if (api.init == nullptr || api.driver_version == nullptr || api.device_count == nullptr) {
      problem = "libcuda lacks basic functions: is it NVIDIA's?";
      return;
    }
    driver::context_handle current = nullptr;
    bool const has_begun = api.context_current != nullptr &&
                           api.context_current(&current) != driver::result::not_initialized;
    driver::result code = has_begun ? driver::result::success : api.init(0);
    if (code != driver::result::success) {
      problem = describe("cuInit", code);
    } else if ((code = api.driver_version(&version)) != driver::result::success) {
      problem = describe("cuDriverGetVersion", code);
    } else if ((code = api.device_count(&device_count)) != driver::result::success) {
      problem = describe("cuDeviceGetCount", code);
    } else if (device_count < 1) {
      problem = describe("cuDeviceGetCount", driver::result::no_device);
    }
  }

  static driver_library& get() {
    static auto* const library =
        static_cast<driver_library*>(shared_object(process_object::driver, []() -> void* {
          auto* fresh = new driver_library;
          fresh->load();
          return fresh;
        }));
    return *library;
  }

  /// The libcuda that the process has already, if it has.
  static bool open_loaded(dynamic_library& library) noexcept {
    if (char const* const chosen = filled_variable("STRATA_LIBCUDA"))
      return library.open_loaded(chosen);
    return library.open_loaded("libcuda.so.1") ||
           library.open_loaded("/usr/lib/wsl/lib/libcuda.so.1");
  }

  /// Opens the libcuda of this process, or says why there is none.
  static bool open(dynamic_library& library, std::string& problem) {
    if (char const* chosen = filled_variable("STRATA_LIBCUDA")) {
      if (!dynamic_library::acceptable(chosen)) {
        problem = sentence("STRATA_LIBCUDA=") << chosen << ": give a bare name or an absolute path";
      } else if (std::string reason; !library.open(chosen, reason)) {
        problem = sentence("STRATA_LIBCUDA=") << chosen << ": " << reason;
      }
      return library.is_open();
    }
    if (library.open("libcuda.so.1") || library.open("/usr/lib/wsl/lib/libcuda.so.1")) return true;
    problem =
        "no NVIDIA driver: libcuda.so.1 was not found (in a container, start it with --gpus all)";
    return false;
  }

 private:
  void bind(dynamic_library const& library) noexcept {
    library.bind("cuInit", api.init);
    library.bind("cuDriverGetVersion", api.driver_version);
    library.bind("cuDeviceGetCount", api.device_count);
    library.bind("cuDeviceGet", api.device_get);
    library.bind("cuDeviceGetName", api.device_name);
    library.bind("cuDeviceGetAttribute", api.device_attribute);
    library.bind("cuDeviceTotalMem_v2", api.device_total_memory);
    if (!library.bind("cuDeviceGetUuid_v2", api.device_uuid))  // of the MIG instance, from 11.4 on
      library.bind("cuDeviceGetUuid", api.device_uuid);
    library.bind("cuDeviceCanAccessPeer", api.can_access_peer);
    library.bind("cuCtxGetCurrent", api.context_current);
    library.bind("cuCtxGetDevice", api.context_device);
    library.bind("cuCtxPushCurrent_v2", api.context_push);
    library.bind("cuCtxPopCurrent_v2", api.context_pop);
    library.bind("cuCtxSynchronize", api.context_synchronize);
    library.bind("cuCtxRecordEvent", api.context_record_event);
    library.bind("cuEventCreate", api.event_create);
    library.bind("cuEventDestroy_v2", api.event_destroy);
    library.bind("cuEventQuery", api.event_query);
    library.bind("cuStreamQuery", api.stream_query);
    library.bind("cuThreadExchangeStreamCaptureMode", api.exchange_capture_mode);
    library.bind("cuStreamIsCapturing", api.stream_is_capturing);
    library.bind("cuPointerGetAttributes", api.pointer_attributes);
    library.bind("cuGetErrorName", api.error_name);
  }
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_DRIVER_HPP
