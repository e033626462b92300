// A libcupti.so.13 without a GPU: CUPTI's functions. What the program does is in fake_program.cpp.
// FAKE_MISSING_SYMBOLS: 1 leaves out what older or newer libraries lack, 2 leaves out
// cuptiSubscribe as well.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "fake_state.hpp"
#include "held_for_fork.hpp"

#ifndef FAKE_MISSING_SYMBOLS
#define FAKE_MISSING_SYMBOLS 0
#endif

namespace fake {

thread_local int in_buffer_callback = 0;
thread_local int in_resource_callback = 0;
std::atomic<void (*)()> callback_hook{nullptr};
std::atomic<void (*)()> configure_hook{nullptr};

state& the_state() {
  static state& s = *new state;
  static held_for_fork whole{s.mutex};
  static held_for_fork delivering{s.delivering};
  static int const forks = pthread_atfork(
      [] {
        delivering.begin();  // the order of those that take both
        whole.begin();
      },
      [] {
        whole.end();
        delivering.end();
      },
      [] {
        whole.end_in_child();
        delivering.end_in_child();
      });
  (void)forks;
  return s;
}

void misuse(state& s, char const* what) {
  ++s.misuses;
  s.last_misuse = what;
}

char const* intern(state& s, char const* name) { return s.names.insert(name).first->c_str(); }

std::uint64_t now_ns(state const& s) {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() + s.skew_ns);
}

// ---- callbacks ----

// The ids are not CUPTI's, on purpose.
char const* const driver_names[] = {"cuInit",
                                    "cuLaunchHostFunc",
                                    "cuCtxSynchronize",
                                    "cuStreamSynchronize",
                                    "cuMemAlloc_v2",
                                    "cuMemFree_v2",
                                    "cuMemHostAlloc",
                                    "cuMemFreeHost",
                                    "cuMemAllocManaged",
                                    "cuMemAllocAsync",
                                    "cuMemFreeAsync",
                                    "cuMemAllocFromPoolAsync",
                                    "cuMemAddressReserve",
                                    "cuMemCreate",
                                    "cuMemMap",
                                    "cuMemUnmap",
                                    "cuMemRelease",
                                    "cuMemcpyHtoDAsync_v2",
                                    "cuMemcpyDtoHAsync_v2",
                                    "cuMemcpyDtoDAsync_v2",
                                    "cuMemcpyPeerAsync",
                                    "cuMemcpyAsync",
                                    "cuMemsetD8Async",
                                    "cuLaunchKernel",
                                    "cuLaunchKernelEx",
                                    "cuLaunchKernel_ptsz",
                                    "cuLaunchCooperativeKernel",
                                    "cuGraphLaunch",
                                    "cuGraphLaunch_ptsz",
                                    "cuStreamBeginCapture_v2",
                                    "cuStreamBeginRecaptureToGraph",
                                    "cuStreamEndCapture",
                                    "cuGraphCreate",
                                    "cuGraphAddKernelNode_v2",
                                    "cuGraphInstantiateWithFlags",
                                    "cuMemSetAccess",
                                    "cuMemGetAllocationGranularity",
                                    "cuGraphExecUpdate_v2",
                                    "cuGraphExecDestroy",
                                    "cuGraphDestroy",
                                    "cuMemcpyDtoH_v2",
                                    "cuStreamWaitValue32_v2",
                                    "cuStreamBatchMemOp_v2_ptsz",
                                    "cuLaunchHostFunc",
                                    "cuStreamAddCallback",
                                    "cuWaitExternalSemaphoresAsync",
                                    "cuGraphInstantiateWithParams_ptsz",
                                    "cuGraphExecKernelNodeSetParams_v2",
                                    "cuGraphNodeSetEnabled"};
char const* const runtime_names[] = {"cudaLaunchKernel_v7000",
                                     "cudaMemcpyAsync_v3020",
                                     "cudaMemsetAsync_v3020",
                                     "cudaMalloc_v3020",
                                     "cudaFree_v3020",
                                     "cudaStreamSynchronize_v3020",
                                     "cudaDeviceSynchronize_v3020",
                                     "cudaGraphLaunch_v10000",
                                     "cudaStreamBeginCapture_v10000",
                                     "cudaStreamEndCapture_v10000",
                                     "cudaGraphAddKernelNode_v10000",
                                     "cudaGraphInstantiate_v12000",
                                     "cudaGraphExecUpdate_v10020",
                                     "cudaGraphExecDestroy_v10000",
                                     "cudaGraphDestroy_v10000",
                                     "cudaMemcpy_v3020",
                                     "cudaGraphExecKernelNodeSetParams_v10010",
                                     "cudaGraphNodeSetEnabled_v11060"};
constexpr std::uint32_t last_callback_id = 400;

std::uint32_t id_at(std::size_t index, std::uint32_t shift) {
  return static_cast<std::uint32_t>(index) * 3 + 5 + shift;
}

std::uint32_t callback_id(cupti::domain where, char const* name) {
  state& s = the_state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  std::size_t index = 0;
  if (where == cupti::domain::driver_api) {
    for (char const* each : driver_names) {
      if (std::strcmp(each, name) == 0) return id_at(index, s.id_shift);
      ++index;
    }
  } else {
    for (char const* each : runtime_names) {
      if (std::strcmp(each, name) == 0) return id_at(index, 0);
      ++index;
    }
  }
  misuse(s, name);
  return 0;
}

void call_back(cupti::domain where, std::uint32_t id, void const* data) {
  state& s = the_state();
  cupti::callback_function* callback = nullptr;
  void* user = nullptr;
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.subscribed || s.callbacks.count({static_cast<int>(where), id}) == 0) return;
    callback = s.callback;
    user = s.user;
    ++s.callbacks_made;
  }
  int const resource = where == cupti::domain::resource ? 1 : 0;
  if (auto* const hook = callback_hook.exchange(nullptr)) hook();
  in_resource_callback += resource;
  callback(user, where, id, data);
  in_resource_callback -= resource;
}

// ---- records ----

std::size_t stride_of(cupti::activity_kind kind, std::uint32_t version) {
  const fake_record_sizes sizes = fake_sizes_of(version);
  switch (kind) {
    case cupti::activity_kind::kernel:
    case cupti::activity_kind::concurrent_kernel:
      return sizes.kernel;
    case cupti::activity_kind::copy:
      return sizes.copy;
    case cupti::activity_kind::context:
      return sizes.context;
    case cupti::activity_kind::peer_copy:
      return sizes.peer_copy;
    case cupti::activity_kind::set:
      return sizes.set;
    case cupti::activity_kind::memory:
      return sizes.memory;
    case cupti::activity_kind::synchronization:
      return sizes.synchronization;
    case cupti::activity_kind::overhead:
      return sizes.overhead;
    case cupti::activity_kind::unified_memory:
      return sizes.unified_memory;
    default:
      return 0;
  }
}

// Asks the client for a buffer. Returns false when it declined.
bool request_buffer() {
  state& s = the_state();
  cupti::buffer_request_function* request = nullptr;
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    request = s.request;
  }
  if (request == nullptr) return false;
  buffer fresh;
  ++in_buffer_callback;
  request(&fresh.data, &fresh.size, &fresh.max_records);
  --in_buffer_callback;
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (fresh.data == nullptr || fresh.size == 0) {
    if (s.version < 27) misuse(s, "a null buffer crashes CUPTI before 12.9");
    return false;
  }
  if (reinterpret_cast<std::uintptr_t>(fresh.data) % 8 != 0) {
    misuse(s, "a buffer is not aligned to 8 bytes");
    return false;
  }
  s.spare.push_back(fresh);
  ++s.outstanding;
  return true;
}

bool fits(state const& s, buffer const& in, std::size_t bytes) {
  const std::size_t limit = s.records_per_buffer;
  return in.used + bytes <= in.size && (limit == 0 || in.records < limit) &&
         (in.max_records == 0 || in.records < in.max_records);
}

// Whether the spare buffers hold one more record, roughly: delivery asks for another if need be.
bool has_room(state const& s, std::size_t bytes) {
  std::size_t size = 0;
  std::size_t records = 0;
  for (buffer const& each : s.spare) {
    size += each.size;
    records += s.records_per_buffer != 0 ? s.records_per_buffer : each.size;
  }
  return s.pending_bytes + bytes <= size && s.pending.size() < records;
}

void queue_record(void const* prefix, std::size_t size) {
  state& s = the_state();
  const cupti::activity_kind kind = static_cast<cupti::record const*>(prefix)->kind;
  std::unique_lock<std::mutex> lock(s.mutex);
  auto const recorded = [&] { return s.kinds.count(static_cast<std::uint32_t>(kind)) != 0; };
  if (!recorded()) return;
  pending_record record;
  record.bytes.assign(stride_of(kind, s.version), std::uint8_t{0xA5});  // what is appended is noise
  std::memcpy(record.bytes.data(), prefix, std::min(size, record.bytes.size()));
  record.held = s.hold != 0;
  record.unreadable = s.hold == 2;
  const std::size_t bytes = record.bytes.size();
  if (!has_room(s, bytes)) {
    lock.unlock();
    bool const granted = request_buffer();
    lock.lock();
    if (!recorded()) return;  // switched off meanwhile
    if (!granted) {
      ++s.dropped;
      return;
    }
  }
  if (record.held) {
    lock.unlock();
    record.synchronizations = fake_synchronize_count();
    lock.lock();
  }
  s.pending_bytes += bytes;
  s.pending.push_back(std::move(record));
  if (s.auto_delivery != 0 && s.pending.size() >= s.auto_delivery && !s.worker_asked) {
    s.worker_asked = true;
    ++s.workers_begun;
    std::thread([] {
      deliver(false);
      state& t = the_state();
      const std::lock_guard<std::mutex> last(t.mutex);
      ++t.workers_ended;
      t.worker_ended.notify_all();
    }).detach();
  }
}

// A record of work that has not ended: a kernel's lacks its times (13.0), others are invalid.
void leave_open(pending_record& record) {
  cupti::kernel_record kernel{};
  std::uint8_t* const bytes = record.bytes.data();
  std::memcpy(&kernel.kind, bytes, sizeof kernel.kind);
  if (record.unreadable || kernel.kind != cupti::activity_kind::concurrent_kernel) {
    std::memset(bytes, 0, sizeof kernel.kind);
    return;
  }
  std::memcpy(&kernel, bytes, sizeof kernel);
  kernel.start_ns = kernel.end_ns = 0;
  std::memcpy(bytes, &kernel, sizeof kernel);
}

// CUPTI 13.0 takes the times of a graph's kernels from its next launch where they have not been
// delivered when the kernels are switched off.
void lose_times_of_graphs(state& s) {
  for (pending_record& each : s.pending) {
    cupti::kernel_record kernel{};
    if (each.bytes.size() < sizeof kernel) continue;
    std::memcpy(&kernel, each.bytes.data(), sizeof kernel);
    if (kernel.kind != cupti::activity_kind::concurrent_kernel || kernel.graph_node_id == 0)
      continue;
    kernel.end_ns += 1'000'000'000;
    std::memcpy(each.bytes.data(), &kernel, sizeof kernel);
  }
}

// No record of a kernel comes before the kernel has ended.
void await_streams(state& s, std::unique_lock<std::mutex>& lock) {
  std::uint64_t last = 0;
  for (auto const& each : s.stream_end_ns) last = std::max(last, each.second);
  const std::uint64_t now = now_ns(s);
  if (last <= now) return;
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::nanoseconds(last - now));
  lock.lock();
}

void deliver(bool forced) {
  state& s = the_state();
  const std::size_t synchronizations = fake_synchronize_count();
  const std::lock_guard<std::mutex> one_at_a_time(s.delivering);
  std::unique_lock<std::mutex> lock(s.mutex);
  std::size_t come = s.pending.size();  // what comes meanwhile may not have ended
  await_streams(s, lock);
  s.worker_asked = false;
  std::vector<pending_record> ready;
  std::vector<pending_record> incomplete;
  std::deque<pending_record> rest;
  for (pending_record& each : s.pending) {
    bool const running = each.held && each.synchronizations == synchronizations;
    bool const is_late = come == 0;
    if (!is_late) --come;
    if (is_late || (running && !forced)) {
      rest.push_back(std::move(each));
      continue;
    }
    s.pending_bytes -= each.bytes.size();
    (running ? incomplete : ready).push_back(std::move(each));
  }
  s.pending = std::move(rest);
  if (s.order == fake_order::reversed) std::reverse(ready.begin(), ready.end());
  if (s.order == fake_order::shuffled) {
    std::mt19937 random(s.seed++);
    std::shuffle(ready.begin(), ready.end(), random);
  }
  for (pending_record& each : incomplete) {
    leave_open(each);
    ready.push_back(std::move(each));
  }

  std::vector<buffer> filled;
  for (pending_record const& each : ready) {
    if (filled.empty() || !fits(s, filled.back(), each.bytes.size())) {
      if (s.spare.empty()) {
        lock.unlock();
        (void)request_buffer();
        lock.lock();
      }
      if (s.spare.empty() || s.spare.front().size < each.bytes.size()) {
        ++s.dropped;
        continue;
      }
      filled.push_back(s.spare.front());
      s.spare.erase(s.spare.begin());
    }
    buffer& into = filled.back();
    std::memcpy(into.data + into.used, each.bytes.data(), each.bytes.size());
    into.used += each.bytes.size();
    ++into.records;
  }
  if (forced) {  // and the ones that were never written, empty
    filled.insert(filled.end(), s.spare.begin(), s.spare.end());
    s.spare.clear();
  }
  cupti::buffer_complete_function* complete = s.complete;
  s.outstanding -= filled.size();
  lock.unlock();
  for (buffer const& each : filled) {
    ++in_buffer_callback;
    complete(nullptr, 0, each.data, each.size, each.used);
    --in_buffer_callback;
  }
}

void join_workers() {
  state& s = the_state();
  std::unique_lock<std::mutex> lock(s.mutex);
  const std::uint64_t begun = s.workers_begun;
  s.worker_ended.wait(lock, [&s, begun] { return s.workers_ended >= begun; });
}

__attribute__((destructor)) void leave() { join_workers(); }

// CUPTI has objects that are destroyed after the exit handlers that are younger than it, and before
// the older ones: what calls it then crashes.
std::atomic<bool> is_destroyed{false};
struct own_objects {
  ~own_objects() { is_destroyed = true; }
} const objects;

// What every function does first. Returns true, and the code, when that is all it does.
enum class where_allowed { anywhere, not_in_buffer_callback };
bool stop(char const* function, where_allowed allowed, cupti::result& code) {
  if (is_destroyed) raise(SIGSEGV);
  if (std::strcmp(function, "cuptiActivityGetNextRecord") != 0) fake_ask_for_locks(function);
  bool const ready = fake_cuda_ready() != 0;
  state& s = the_state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  ++s.calls[function];
  if (allowed == where_allowed::not_in_buffer_callback && in_buffer_callback != 0) {
    misuse(s, (std::string(function) + " in a buffer callback").c_str());
    code = cupti::result::invalid_operation;
    return true;
  }
  auto const failing = s.failing.find(function);
  if (failing != s.failing.end()) {
    code = static_cast<cupti::result>(failing->second);
    return true;
  }
  if (!ready) {
    misuse(s, (std::string(function) + " before cuInit").c_str());
    code = cupti::result::unknown;
    return true;
  }
  return false;
}

}  // namespace fake

#define FAKE_FUNCTION(allowed)                                                   \
  {                                                                              \
    cupti::result early = cupti::result::success;                                \
    if (fake::stop(__func__, fake::where_allowed::allowed, early)) return early; \
  }                                                                              \
  fake::state& s = fake::the_state();                                            \
  const std::lock_guard<std::mutex> lock(s.mutex)

namespace cupti = strata::detail::cupti;
using cupti::result;

namespace {

[[maybe_unused]] result subscribe(fake::state& s, cupti::subscriber_handle* out,
                                  cupti::callback_function* callback, void* user) {
  if (out == nullptr || callback == nullptr) return result::invalid_parameter;
  if (s.has_other_client || s.subscribed) return result::multiple_subscribers_not_supported;
  s.subscribed = true;
  s.callback = callback;
  s.user = user;
  *out = fake::handle_of(++s.subscriptions);
  return result::success;
}

}  // namespace

extern "C" {

FAKE_EXPORT result cuptiGetVersion(std::uint32_t* version) {
  FAKE_FUNCTION(anywhere);
  *version = s.version;
  return result::success;
}

FAKE_EXPORT result cuptiGetResultString(result code, char const** text) {
  switch (code) {
    case result::success:
      *text = "CUPTI_SUCCESS";
      break;
    case result::not_initialized:
      *text = "CUPTI_ERROR_NOT_INITIALIZED";
      break;
    case result::invalid_operation:
      *text = "CUPTI_ERROR_INVALID_OPERATION";
      break;
    case result::hardware_busy:
      *text = "CUPTI_ERROR_HARDWARE_BUSY";
      break;
    case result::insufficient_privileges:
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
      break;
    case result::multiple_subscribers_not_supported:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    case result::unknown:
      *text = "CUPTI_ERROR_UNKNOWN";
      break;
    default:
      return result::invalid_parameter;
  }
  return result::success;
}

FAKE_EXPORT result cuptiGetTimestamp(std::uint64_t* time_ns) {
  FAKE_FUNCTION(anywhere);
  *time_ns = fake::now_ns(s);
  return result::success;
}

#if FAKE_MISSING_SYMBOLS < 2
FAKE_EXPORT result cuptiSubscribe(cupti::subscriber_handle* out, cupti::callback_function* callback,
                                  void* user) {
  FAKE_FUNCTION(not_in_buffer_callback);
  return subscribe(s, out, callback, user);
}
#endif

FAKE_EXPORT result cuptiUnsubscribe(cupti::subscriber_handle which) {
  FAKE_FUNCTION(not_in_buffer_callback);
  if (!s.subscribed || which != fake::handle_of(s.subscriptions)) return result::invalid_parameter;
  if (!s.captures.empty()) fake::misuse(s, "cuptiUnsubscribe beside a capture");
  s.subscribed = false;
  s.callbacks.clear();
  return result::success;
}

FAKE_EXPORT result cuptiEnableCallback(std::uint32_t on, cupti::subscriber_handle who,
                                       cupti::domain where, std::uint32_t id) {
  fake_block_while(fake_blocks_switches);
  FAKE_FUNCTION(not_in_buffer_callback);
  if (!s.subscribed || who != fake::handle_of(s.subscriptions)) return result::invalid_parameter;
  if (where == cupti::domain::invalid || id == 0) return result::invalid_parameter;
  const std::pair<int, std::uint32_t> key{static_cast<int>(where), id};
  if (on != 0) {
    s.callbacks.insert(key);
  } else {
    s.callbacks.erase(key);
  }
  return result::success;
}

FAKE_EXPORT result cuptiEnableDomain(std::uint32_t on, cupti::subscriber_handle who,
                                     cupti::domain where) {
  FAKE_FUNCTION(not_in_buffer_callback);
  if (!s.subscribed || who != fake::handle_of(s.subscriptions)) return result::invalid_parameter;
  for (std::uint32_t id = 1; id <= fake::last_callback_id; ++id) {
    if (on != 0) {
      s.callbacks.insert({static_cast<int>(where), id});
    } else {
      s.callbacks.erase({static_cast<int>(where), id});
    }
  }
  return result::success;
}

FAKE_EXPORT result cuptiGetCallbackName(cupti::domain where, std::uint32_t id, char const** name) {
  FAKE_FUNCTION(anywhere);
  if (id == 0 || id > fake::last_callback_id) return result::invalid_parameter;
  std::size_t index = 0;
  if (where == cupti::domain::driver_api) {
    for (char const* each : fake::driver_names) {
      if (fake::id_at(index++, s.id_shift) == id) return *name = each, result::success;
    }
  } else if (where == cupti::domain::runtime_api) {
    for (char const* each : fake::runtime_names) {
      if (fake::id_at(index++, 0) == id) return *name = each, result::success;
    }
  } else {
    return result::invalid_parameter;
  }
  *name = fake::intern(s, ("cuda" + std::to_string(id)).c_str());
  return result::success;
}

FAKE_EXPORT result cuptiActivityRegisterCallbacks(cupti::buffer_request_function* request,
                                                  cupti::buffer_complete_function* complete) {
  FAKE_FUNCTION(not_in_buffer_callback);
  if (request == nullptr || complete == nullptr) return result::invalid_parameter;
  s.request = request;
  s.complete = complete;
  return result::success;
}

FAKE_EXPORT result cuptiActivityEnable(cupti::activity_kind kind) {
  FAKE_FUNCTION(not_in_buffer_callback);
  if (fake::stride_of(kind, s.version) == 0) return result::not_compatible;
  if (s.request == nullptr) fake::misuse(s, "cuptiActivityEnable without buffer callbacks");
  s.kinds.insert(static_cast<std::uint32_t>(kind));
  return result::success;
}

#if FAKE_MISSING_SYMBOLS < 1
FAKE_EXPORT result cuptiActivityEnableAndDump(cupti::activity_kind kind) {
  result const enabled = cuptiActivityEnable(kind);
  if (enabled == result::success && kind == cupti::activity_kind::context)
    fake::tell_of_green_contexts();
  return enabled;
}
#endif

FAKE_EXPORT result cuptiActivityDisable(cupti::activity_kind kind) {
  fake_block_while(fake_blocks_switches);
  FAKE_FUNCTION(not_in_buffer_callback);
  s.kinds.erase(static_cast<std::uint32_t>(kind));
  if (kind == cupti::activity_kind::concurrent_kernel) fake::lose_times_of_graphs(s);
  return result::success;
}

FAKE_EXPORT result cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                              cupti::record** record) {
  FAKE_FUNCTION(anywhere);
  if (buffer == nullptr || record == nullptr) return result::invalid_parameter;
  std::size_t offset = 0;
  if (*record != nullptr) {
    offset = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
    offset += fake::stride_of((*record)->kind, s.version);
  }
  if (offset >= valid) return result::max_limit_reached;
  auto* next = reinterpret_cast<cupti::record*>(buffer + offset);
  if (fake::stride_of(next->kind, s.version) == 0) return result::invalid_kind;
  *record = next;
  return result::success;
}

FAKE_EXPORT result cuptiActivityGetNumDroppedRecords(cupti::context_handle, std::uint32_t,
                                                     std::size_t* dropped) {
  FAKE_FUNCTION(anywhere);
  *dropped = s.dropped;
  s.dropped = 0;
  return result::success;
}

FAKE_EXPORT result cuptiActivityFlushAll(cupti::flush_flag flag) {
  fake_thread delivery = fake_thread::caller;
  {
    FAKE_FUNCTION(not_in_buffer_callback);
    if (s.complete == nullptr) return result::invalid_operation;
    if (fake::in_resource_callback != 0) fake::misuse(s, "FlushAll in a resource callback");
    delivery = s.delivery;
  }
  bool const forced = flag == cupti::flush_flag::forced;
  fake_block_while(forced ? fake_blocks_forced_flush : fake_blocks_flush);
  if (!forced && fake_hangs() != 0) return result::success;  // no buffer is complete
  fake::join_workers();
  if (delivery == fake_thread::caller) {
    fake::deliver(forced);
  } else {
    std::thread(fake::deliver, forced).join();
  }
  return result::success;
}

FAKE_EXPORT result cuptiActivitySetAttribute(cupti::attribute code, std::size_t* size,
                                             void* value) {
  FAKE_FUNCTION(anywhere);
  if (code == cupti::attribute::per_thread_activity_buffer && s.version < 21) {
    return result::invalid_parameter;
  }
  auto const* bytes = static_cast<std::uint8_t const*>(value);
  s.attributes[static_cast<int>(code)].assign(bytes, bytes + *size);
  return result::success;
}

FAKE_EXPORT result cuptiActivityGetAttribute(cupti::attribute code, std::size_t* size,
                                             void* value) {
  FAKE_FUNCTION(anywhere);
  auto const found = s.attributes.find(static_cast<int>(code));
  if (found == s.attributes.end()) return result::invalid_parameter;
  if (*size < found->second.size()) return result::size_not_sufficient;
  *size = found->second.size();
  std::memcpy(value, found->second.data(), *size);
  return result::success;
}

FAKE_EXPORT result cuptiGetContextId(cupti::context_handle, std::uint32_t* id) {
  FAKE_FUNCTION(anywhere);
  *id = 1;
  return result::success;
}

FAKE_EXPORT result cuptiGetDeviceId(cupti::context_handle, std::uint32_t* id) {
  FAKE_FUNCTION(anywhere);
  *id = 0;
  return result::success;
}

FAKE_EXPORT result cuptiGetStreamIdEx(cupti::context_handle, cupti::stream_handle which,
                                      std::uint8_t, std::uint32_t* id) {
  FAKE_FUNCTION(anywhere);
  *id = which == nullptr ? 7U : static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(which));
  return result::success;
}

#if FAKE_MISSING_SYMBOLS < 1
FAKE_EXPORT result cuptiSubscribe_v2(cupti::subscriber_handle* out,
                                     cupti::callback_function* callback, void* user,
                                     cupti::subscriber_params* params) {
  FAKE_FUNCTION(not_in_buffer_callback);
  bool const known =
      params->struct_size == 32 || (params->struct_size == 40 && s.version >= 130200);
  if (!known || s.version < 130000) return result::invalid_parameter;
  const result code = subscribe(s, out, callback, user);
  if (code == result::multiple_subscribers_not_supported &&
      params->old_subscriber_name != nullptr && params->old_subscriber_capacity != 0) {
    std::string const& name = s.other_client;
    const std::size_t length = std::min(name.size(), params->old_subscriber_capacity - 1);
    std::memcpy(params->old_subscriber_name, name.c_str(), length);
    params->old_subscriber_name[length] = '\0';
  }
  return code;
}

FAKE_EXPORT void fake_set_callback_hook(void (*hook)()) { fake::callback_hook.store(hook); }
FAKE_EXPORT void fake_set_configure_hook(void (*hook)()) { fake::configure_hook.store(hook); }

FAKE_EXPORT result cuptiActivityConfigureUnifiedMemoryCounter(cupti::unified_memory_config* list,
                                                              std::uint32_t count) {
  if (auto* const hook = fake::configure_hook.exchange(nullptr)) hook();
  FAKE_FUNCTION(not_in_buffer_callback);
  if (list == nullptr || count == 0) return result::invalid_parameter;
  for (std::uint32_t i = 0; i < count; ++i)
    if (list[i].scope != cupti::unified_memory_config::process_all_devices || list[i].enable != 1)
      return result::invalid_parameter;
  return result::success;
}

FAKE_EXPORT result cuptiActivityFlushPeriod(std::uint32_t) {
  FAKE_FUNCTION(not_in_buffer_callback);
  return result::success;
}

FAKE_EXPORT result cuptiGetGraphNodeId(cupti::graph_node_handle node, std::uint64_t* id) {
  FAKE_FUNCTION(anywhere);
  *id = fake::id_of(node);
  return *id == 0 ? result::invalid_parameter : result::success;
}

FAKE_EXPORT result cuptiGetGraphId(cupti::graph_handle graph, std::uint32_t* id) {
  FAKE_FUNCTION(anywhere);
  *id = static_cast<std::uint32_t>(fake::id_of(graph));
  return *id == 0 ? result::invalid_parameter : result::success;
}

FAKE_EXPORT result cuptiGetGraphExecId(cupti::graph_exec_handle exec, std::uint32_t* id) {
  FAKE_FUNCTION(anywhere);
  *id = static_cast<std::uint32_t>(fake::id_of(exec));
  return *id == 0 ? result::invalid_parameter : result::success;
}
#endif

}  // extern "C"
