// A libcuda.so.1 without a GPU: it counts, and fails when told to.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "fake.hpp"
#include "held_for_fork.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <strata/collect/cuda/driver.hpp>
#include <utility>

using strata::detail::driver::attribute;
using strata::detail::driver::capture_mode;
using strata::detail::driver::capture_status;
using strata::detail::driver::context_handle;
using strata::detail::driver::device_handle;
using strata::detail::driver::pointer_attribute;
using strata::detail::driver::result;
using strata::detail::driver::stream_handle;

namespace {

struct cuda_state {
  std::mutex mutex;
  int init_result = 0;
  int device_count = 1;
  int driver_version = 13000;
  bool ready = false;
  bool of_parent = false;  // this process was forked from one that had called cuInit
  bool has_context = true;
  bool broken = false;
  std::size_t synchronizations = 0;
  std::map<std::uint32_t, std::size_t> synchronizations_of;  // by context
  std::map<std::uint32_t, int> device_of;                    // by context
  std::size_t misuses = 0;
  std::size_t filled_bytes = 0;
  std::size_t events = 0;                 // that live; stays, as do the clock
  std::map<void*, std::uint32_t> fences;  // and the events that await a context's work
  std::uint64_t event_ns = 0;
  std::size_t allocated_bytes = 0;            // of the one allocation
  std::set<std::uint32_t> implicit_captures;  // contexts
  std::set<std::uint32_t> capturing;
  std::set<std::uint32_t> invalidated;  // of these
  std::size_t graph_calls = 0;          // under way, as are the next two
  std::size_t breaking_calls = 0;
  std::size_t session_calls = 0;
  std::size_t crashes = 0;
  std::size_t inits = 0;  // stays
  std::map<int, int> attributes;
  std::map<std::pair<int, int>, int> attributes_of;  // by device and code, before those of all

  bool devices_reach = true;               // each other's memory
  std::map<std::uint64_t, int> memory_of;  // device by address, -1: the host's
  using time_point = std::chrono::steady_clock::time_point;
  std::map<std::pair<std::uint32_t, std::uint32_t>, time_point> work_of;  // by context and stream
  std::set<std::pair<std::uint32_t, std::uint32_t>> waits;                // of these: until fake_go
  std::size_t stream_queries = 0;
  std::size_t stuck_calls = 0;

  // Whether a stream has work, or with 0 any stream of the context, or with 0 of all.
  bool is_busy(std::uint32_t context, std::uint32_t stream) const {
    auto const now = std::chrono::steady_clock::now();
    bool any = false;
    for (auto const& work : work_of) {
      bool const its = (context == 0 || work.first.first == context) &&
                       (stream == 0 || work.first.second == stream);
      any = any || (its && now < work.second);
    }
    return any;
  }

  void go() {
    for (auto const& stream : waits) work_of.erase(stream);
    waits.clear();
  }

  void clear() {
    work_of.clear();
    waits.clear();
    stream_queries = stuck_calls = 0;
    init_result = 0;
    device_count = 1;
    driver_version = 13000;
    ready = broken = false;
    has_context = true;
    synchronizations = misuses = filled_bytes = 0;
    synchronizations_of.clear();
    device_of.clear();
    implicit_captures.clear();
    capturing.clear();
    invalidated.clear();
    graph_calls = breaking_calls = session_calls = crashes = 0;
    attributes = {{10, 32}, {13, 1980000}, {16, 132},    {18, 0},        {32, 1},    {33, 1},
                  {34, 0},  {36, 2619000}, {37, 5120},   {38, 52428800}, {39, 2048}, {50, 0},
                  {75, 9},  {76, 0},       {81, 233472}, {82, 65536},    {106, 32},  {111, 1024}};
    attributes_of.clear();
    memory_of.clear();
    devices_reach = true;
  }
  cuda_state() { clear(); }

  void break_captures() {
    broken = broken || !capturing.empty();
    invalidated.insert(capturing.begin(), capturing.end());
  }
};

cuda_state& state() {
  static cuda_state& s = *new cuda_state;
  // As an H200's driver does (580): a child has no CUDA once its parent had it.
  static held_for_fork whole{s.mutex};
  static int const forks = pthread_atfork([] { whole.begin(); }, [] { whole.end(); },
                                          [] {
                                            whole.end_in_child();
                                            s.of_parent = s.of_parent || s.ready;
                                            s.ready = false;
                                          });
  (void)forks;
  return s;
}

// Runs `body` under the lock, once cuInit has succeeded.
template <class Body>
result with_state(Body body, char const* function = __builtin_FUNCTION()) {
  fake_ask_for_locks(function);
  cuda_state& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  return s.ready ? body(s) : result::not_initialized;
}

// The number of a context; handles are as fake::context_handle_of makes them.
std::uint32_t number_of(context_handle which) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(which) / 16 - 11);
}
context_handle handle_of(std::uint32_t number) {
  return reinterpret_cast<context_handle>(std::uintptr_t{16} * (std::uintptr_t{number} + 11));
}

// Contexts are numbered and never come back, also after fake_cuda_reset.
std::set<std::uint32_t>& gone() {
  static std::set<std::uint32_t>& all = *new std::set<std::uint32_t>;
  return all;
}

// The library that CUDA_INJECTION64_PATH names, once, within cuInit: it may not call the driver.
thread_local bool injecting = false;
void inject() {
  static std::atomic<bool> done{false};
  char const* const file = std::getenv("CUDA_INJECTION64_PATH");
  if (file == nullptr || *file == '\0' || done.exchange(true)) return;
  void* const library = dlopen(file, RTLD_NOW);
  if (library == nullptr) return;
  injecting = true;
  if (auto* const begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")))
    (void)begin();
  injecting = false;
}

// The contexts that the thread has pushed. Not a vector: exit handlers run after destructors.
struct context_stack {
  std::uint32_t numbers[32];
  std::size_t count;
  bool empty() const { return count == 0; }
  std::uint32_t back() const { return numbers[count - 1]; }
  void pop_back() { --count; }
  void push_back(std::uint32_t number) {
    if (count == sizeof numbers / sizeof *numbers) std::abort();
    numbers[count++] = number;
  }
};
thread_local context_stack pushed;
std::atomic<void (*)()> synchronize_hook{nullptr};
std::atomic<void (*)()> version_hook{nullptr};
std::atomic<unsigned> hang{0};
std::atomic<int> waits{0};
std::atomic<unsigned> call_time{0};
std::atomic<int (*)()> lock_question{nullptr};
std::atomic<std::size_t> calls_under_lock{0};

/// A driver before CUDA 12.5, without events of a context: with FAKE_OLD_DRIVER.
bool is_old() {
  static bool const old = std::getenv("FAKE_OLD_DRIVER") != nullptr;
  return old;
}

}  // namespace

extern "C" {

FAKE_EXPORT result cuInit(unsigned flags) {
  inject();
  cuda_state& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  ++s.inits;
  if (injecting) {
    ++s.misuses;
    return result::not_initialized;
  }
  if (flags != 0) return result::invalid_value;
  if (s.of_parent) return result::not_initialized;
  if (s.init_result != 0) return static_cast<result>(s.init_result);
  if (s.device_count == 0) return result::no_device;
  s.ready = true;
  return result::success;
}

FAKE_EXPORT result cuDriverGetVersion(int* version) {
  if (auto* const hook = version_hook.load()) hook();
  cuda_state& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (injecting) ++s.misuses;
  *version = is_old() ? 12'040 : s.driver_version;
  return result::success;
}

FAKE_EXPORT result cuDeviceGetCount(int* count) {
  return with_state([&](cuda_state& s) {
    *count = s.device_count;
    return result::success;
  });
}

FAKE_EXPORT result cuDeviceGet(device_handle* out, int ordinal) {
  return with_state([&](cuda_state& s) {
    if (ordinal < 0 || ordinal >= s.device_count) return result::invalid_device;
    *out = ordinal;
    return result::success;
  });
}

FAKE_EXPORT result cuDeviceGetName(char* name, int capacity, device_handle of) {
  return with_state([&](cuda_state&) {
    (void)std::snprintf(name, static_cast<std::size_t>(capacity), "Fake GPU %d", of);
    return result::success;
  });
}

FAKE_EXPORT result cuDeviceGetAttribute(int* value, attribute code, device_handle of) {
  fake_block_while(fake_blocks_attributes);
  return with_state([&](cuda_state& s) {
    const auto own = s.attributes_of.find({of, static_cast<int>(code)});
    if (own != s.attributes_of.end()) {
      *value = own->second;
      return result::success;
    }
    const auto found = s.attributes.find(static_cast<int>(code));
    if (found == s.attributes.end()) return result::invalid_value;
    *value = found->second;
    return result::success;
  });
}

FAKE_EXPORT result cuDeviceTotalMem_v2(std::size_t* bytes, device_handle) {
  return with_state([&](cuda_state&) {
    *bytes = std::size_t{80} << 30;
    return result::success;
  });
}

FAKE_EXPORT result cuDeviceGetUuid_v2(strata::detail::driver::uuid* out, device_handle of) {
  return with_state([&](cuda_state&) {
    *out = {};
    out->bytes[0] = 0xfa;
    out->bytes[15] = static_cast<unsigned char>(of);
    return result::success;
  });
}

FAKE_EXPORT result cuDeviceCanAccessPeer(int* can, device_handle, device_handle) {
  return with_state([&](cuda_state& s) {
    *can = s.devices_reach ? 1 : 0;
    return result::success;
  });
}

FAKE_EXPORT result cuMemAlloc_v2(unsigned long long* out, std::size_t bytes) {
  return with_state([&](cuda_state& s) {
    if (s.allocated_bytes != 0) return result::out_of_memory;
    s.allocated_bytes = bytes;
    *out = 4096;
    return result::success;
  });
}

FAKE_EXPORT result cuMemFree_v2(unsigned long long which) {
  return with_state([&](cuda_state& s) {
    if (which != 4096 || s.allocated_bytes == 0) return result::invalid_value;
    s.allocated_bytes = 0;
    return result::success;
  });
}

FAKE_EXPORT result cuMemsetD8Async(unsigned long long at, unsigned char, std::size_t bytes,
                                   stream_handle) {
  return with_state([&](cuda_state& s) {
    if (at != 4096 || bytes > s.allocated_bytes) return result::invalid_value;
    s.filled_bytes += bytes;
    return result::success;
  });
}

// Events are of a clock that stands still until fake_pass_event_time.
FAKE_EXPORT result cuEventCreate(void** out, unsigned) {
  return with_state([&](cuda_state& s) {
    ++s.events;
    *out = new std::uint64_t{0};
    return result::success;
  });
}

FAKE_EXPORT result cuEventDestroy_v2(void* which) {
  return with_state([&](cuda_state& s) {
    --s.events;
    s.fences.erase(which);
    delete static_cast<std::uint64_t*>(which);
    return result::success;
  });
}

FAKE_EXPORT result cuEventRecord(void* which, stream_handle) {
  return with_state([&](cuda_state& s) {
    *static_cast<std::uint64_t*>(which) = s.event_ns;
    return result::success;
  });
}

// Work is done when it is asked for, unless it hangs.
FAKE_EXPORT result cuEventQuery(void* which) {
  if ((hang.load() & fake_blocks_context) != 0) return result::not_ready;
  return with_state([&](cuda_state& s) {
    auto const fence = s.fences.find(which);
    if (fence == s.fences.end()) return result::success;
    if (s.is_busy(fence->second, 0)) return result::not_ready;
    ++s.synchronizations;
    ++s.synchronizations_of[fence->second];
    s.fences.erase(fence);
    return result::success;
  });
}

FAKE_EXPORT result cuEventSynchronize(void*) {
  return with_state([&](cuda_state&) { return result::success; });
}

FAKE_EXPORT result cuEventElapsedTime(float* ms, void* from, void* to) {
  return with_state([&](cuda_state&) {
    const std::uint64_t ns = *static_cast<std::uint64_t*>(to) - *static_cast<std::uint64_t*>(from);
    *ms = static_cast<float>(ns) * 1e-6f;
    return result::success;
  });
}

FAKE_EXPORT result cuDevicePrimaryCtxGetState(device_handle, unsigned* flags, int* active) {
  return with_state([&](cuda_state& s) {
    *flags = 0;
    *active = s.has_context ? 1 : 0;
    return result::success;
  });
}

FAKE_EXPORT result cuPointerGetAttributes(unsigned count, pointer_attribute* codes, void** values,
                                          unsigned long long address) {
  return with_state([&](cuda_state& s) {
    auto const found = s.memory_of.find(address);
    bool const known = found != s.memory_of.end();
    bool const of_device = known && found->second >= 0;
    for (unsigned i = 0; i < count; ++i) {
      auto* const value = static_cast<int*>(values[i]);
      if (codes[i] == pointer_attribute::memory_type) *value = of_device ? 2 : known ? 1 : 0;
      if (codes[i] == pointer_attribute::device_ordinal) *value = of_device ? found->second : 0;
    }
    return result::success;
  });
}

FAKE_EXPORT result cuCtxGetCurrent(context_handle* out) {
  return with_state([&](cuda_state& s) {
    *out = !pushed.empty() ? handle_of(pushed.back()) : s.has_context ? handle_of(1) : nullptr;
    return result::success;
  });
}

FAKE_EXPORT result cuCtxGetDevice(device_handle* out) {
  return with_state([&](cuda_state& s) {
    if (pushed.empty() && !s.has_context) return result::invalid_context;
    *out = s.device_of[pushed.empty() ? 1 : pushed.back()];
    return result::success;
  });
}

FAKE_EXPORT result cuCtxPushCurrent_v2(context_handle which) {
  return with_state([&](cuda_state& s) {
    const std::uint32_t number = number_of(which);
    if (gone().count(number) != 0) ++s.misuses;
    if (number == 0 || gone().count(number) != 0) return result::invalid_context;
    pushed.push_back(number);
    return result::success;
  });
}

FAKE_EXPORT result cuCtxPopCurrent_v2(context_handle* out) {
  return with_state([&](cuda_state&) {
    if (pushed.empty()) return result::invalid_context;
    if (out != nullptr) *out = handle_of(pushed.back());
    pushed.pop_back();
    return result::success;
  });
}

FAKE_EXPORT result cuCtxSynchronize() {
  if (auto* const hook = synchronize_hook.load()) hook();
  fake_block_while(fake_blocks_context);
  return with_state([&](cuda_state& s) {
    if (pushed.empty() && !s.has_context) return result::invalid_context;
    if (!s.capturing.empty()) {
      s.break_captures();
      return result::stream_capture_unsupported;
    }
    ++s.synchronizations;
    ++s.synchronizations_of[pushed.empty() ? 1 : pushed.back()];
    return result::success;
  });
}

FAKE_EXPORT result cuCtxRecordEvent(context_handle of, void* which) {
  if (is_old()) return result::not_supported;
  if (auto* const hook = synchronize_hook.load()) hook();
  return with_state([&](cuda_state& s) {
    if (!s.capturing.empty()) {
      s.break_captures();
      return result::stream_capture_unsupported;
    }
    s.fences[which] = number_of(of);
    return result::success;
  });
}

FAKE_EXPORT result cuStreamQuery(stream_handle which) {
  return with_state([&](cuda_state& s) {
    ++s.stream_queries;
    if (!s.capturing.empty()) {
      s.break_captures();
      return result::stream_capture_unsupported;
    }
    auto const number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(which));
    std::uint32_t const context = pushed.empty() ? 1 : pushed.back();
    return s.is_busy(context, number == 0 ? 7 : number) ? result::not_ready : result::success;
  });
}

FAKE_EXPORT result cuThreadExchangeStreamCaptureMode(capture_mode* own) {
  static thread_local auto mode = capture_mode::global;
  std::swap(*own, mode);
  return result::success;
}

FAKE_EXPORT result cuStreamIsCapturing(stream_handle which, capture_status* out) {
  return with_state([&](cuda_state& s) {
    std::uint32_t const current = pushed.empty() ? 1 : pushed.back();
    if (which == nullptr && s.implicit_captures.count(current) != 0)
      return result::stream_capture_implicit;
    const auto id = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(which));
    const bool open = s.capturing.count(id == 0 ? 7 : id) != 0;
    bool const invalid = s.invalidated.count(id == 0 ? 7 : id) != 0;
    *out = !open     ? capture_status::none
           : invalid ? capture_status::invalidated
                     : capture_status::active;
    return result::success;
  });
}

FAKE_EXPORT result cuGetErrorName(result code, char const** text) {
  switch (code) {
    case result::success:
      *text = "CUDA_SUCCESS";
      break;
    case result::no_device:
      *text = "CUDA_ERROR_NO_DEVICE";
      break;
    case result::system_driver_mismatch:
      *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
      break;
    case result::unknown:
      *text = "CUDA_ERROR_UNKNOWN";
      break;
    default:
      *text = nullptr;
      return result::invalid_value;
  }
  return result::success;
}

FAKE_EXPORT result cuGetErrorString(result, char const** text) {
  *text = "an error of the fake driver";
  return result::success;
}

// ---- controls ----

void fake_cuda_reset() {
  cuda_state& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  bool const ready = s.ready;  // a process initialises the driver once
  s.clear();
  s.ready = ready && !s.of_parent;
}

void fake_set_init_result(int code) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().init_result = code;
  if (code != 0) state().ready = false;
}

void fake_set_device_count(int count) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().device_count = count;
}

void fake_set_driver_version(int version) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().driver_version = version;
}

void fake_set_device_attribute(int code, int value) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().attributes[code] = value;
}

void fake_set_attribute_of(int device, int code, int value) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().attributes_of[{device, code}] = value;
}

void fake_set_memory_of(std::uint64_t address, int device) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().memory_of[address] = device;
}

void fake_set_devices_reach(int reach) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().devices_reach = reach != 0;
}

int fake_devices_reach() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().devices_reach ? 1 : 0;
}

int fake_memory_of(std::uint64_t address) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  auto const found = state().memory_of.find(address);
  return found == state().memory_of.end() ? -1 : found->second;
}

void fake_set_current_context(int present) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().has_context = present != 0;
}

std::size_t fake_synchronize_count() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().synchronizations;
}

void* fake_current_context() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  if (!pushed.empty()) return handle_of(pushed.back());
  return state().has_context ? handle_of(1) : nullptr;
}

void fake_set_device_of(std::uint32_t context, int device) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().device_of[context] = device;
}

std::size_t fake_synchronize_count_of(std::uint32_t context) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().synchronizations_of[context];
}

std::size_t fake_init_count() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().inits;
}

void fake_set_version_hook(void (*hook)()) { version_hook.store(hook); }

void fake_set_synchronize_hook(void (*hook)()) { synchronize_hook.store(hook); }

void fake_forget_context(std::uint32_t context) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  gone().insert(context);
}

void fake_pass_event_time(std::uint64_t ns) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().event_ns += ns;
}
std::size_t fake_cuda_events() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().events;
}

std::size_t fake_cuda_filled_bytes() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().filled_bytes;
}

std::size_t fake_cuda_misuse_count() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().misuses;
}

void fake_set_implicit_capture(int on) { fake_set_implicit_capture_in(1, on); }

void fake_set_implicit_capture_in(std::uint32_t context, int on) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  if (on != 0) {
    state().implicit_captures.insert(context);
  } else {
    state().implicit_captures.erase(context);
  }
}

int fake_capture_broken() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().broken ? 1 : 0;
}

int fake_cuda_ready() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().ready || injecting ? 1 : 0;
}

void fake_mark_capture(std::uint32_t stream, int open) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  cuda_state& s = state();
  if (open != 0) {
    s.capturing.insert(stream);
    if (s.breaking_calls != 0) s.break_captures();
  } else {
    s.capturing.erase(stream);
    s.invalidated.erase(stream);
  }
}

int fake_capture_invalid(std::uint32_t stream) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().invalidated.count(stream) != 0 ? 1 : 0;
}

void fake_graph_call(int begins) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  cuda_state& s = state();
  s.graph_calls += begins != 0 ? std::size_t{1} : std::size_t{0} - 1;
  if (begins != 0 && s.session_calls != 0) ++s.crashes;
}

void fake_breaking_call(int begins, int of_session) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  cuda_state& s = state();
  std::size_t const change = begins != 0 ? std::size_t{1} : std::size_t{0} - 1;
  s.breaking_calls += change;
  if (of_session != 0) s.session_calls += change;
  if (begins == 0) return;
  s.break_captures();
  if (of_session != 0 && s.graph_calls != 0) ++s.crashes;
}

std::size_t fake_crash_count() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().crashes;
}

void fake_hang(unsigned blocked) { hang.store(blocked); }
int fake_hangs() { return hang.load() != 0 ? 1 : 0; }
int fake_waits() { return waits.load(); }
void fake_block_while(unsigned which) {
  ++waits;
  while ((hang.load() & which) != 0) ::usleep(500);
  --waits;
  constexpr unsigned drains = fake_blocks_context | fake_blocks_profiler;
  if ((which & drains) != 0) fake_await_context(0);
}

void fake_await_context(std::uint32_t context) {
  constexpr int turns = 6000;  // 3 s
  for (int turn = 0;; ++turn) {
    {
      const std::lock_guard<std::mutex> lock(state().mutex);
      cuda_state& s = state();
      if (!s.is_busy(context, 0)) return;
      if (turn == turns && !s.waits.empty()) {
        ++s.stuck_calls;
        s.go();
      }
    }
    ::usleep(500);
  }
}

void fake_wait(std::uint32_t context, std::uint32_t stream) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().work_of[{context, stream}] = cuda_state::time_point::max();
  state().waits.insert({context, stream});
}

void fake_go() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().go();
}

std::size_t fake_stuck_calls() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().stuck_calls;
}

void fake_occupy(std::uint32_t context, std::uint32_t stream, long milliseconds) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  auto const now = std::chrono::steady_clock::now();
  state().work_of[{context, stream}] = milliseconds < 0
                                           ? cuda_state::time_point::max()
                                           : now + std::chrono::milliseconds(milliseconds);
}

std::size_t fake_stream_queries() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().stream_queries;
}

void fake_set_lock_question(int (*holds)()) {
  lock_question.store(holds);
  calls_under_lock.store(0);
}
std::size_t fake_calls_under_lock() { return calls_under_lock.load(); }
void fake_ask_for_locks(char const* function) {
  auto* const holds = lock_question.load();
  if (holds == nullptr || holds() == 0) return;
  if (calls_under_lock.fetch_add(1) == 0)
    (void)std::fprintf(stderr, "fake: %s is called under a lock\n", function);
}

void fake_set_call_time(unsigned microseconds) { call_time.store(microseconds); }

void fake_take_time() {
  if (unsigned const us = call_time.load()) ::usleep(us);
}

}  // extern "C"
