// The fake CUPTI's controls, and the program that it watches.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <strata/collect/cuda/driver.hpp>

#include "fake_profiler_state.hpp"
#include "fake_state.hpp"

extern "C" strata::detail::driver::result cuInit(unsigned flags);

namespace fake {

namespace {

using cupti::activity_kind;
using cupti::domain;
using cupti::resource_id;

struct api_call {
  char const* driver;
  char const* runtime;
  char const* symbol = nullptr;
  void const* params = nullptr;
  std::uint32_t context = 1;
};

std::atomic<void (*)()> call_hook{nullptr};

// Calls back around `body`, as CUPTI does, and hands it the correlation id unless the call fails.
template <class Body>
std::uint32_t perform(api_call const& call, Body body) {
  if (fake_use_cuda() == 0) return 0;
  state& s = the_state();
  std::uint32_t correlation = 0;
  bool runtime = false;
  int status = 0;
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    correlation = ++s.correlation;
    runtime = s.runtime_api && call.runtime != nullptr;
    std::swap(status, s.next_call_result);
  }
  const std::uint32_t driver_id = callback_id(domain::driver_api, call.driver);
  const std::uint32_t runtime_id = runtime ? callback_id(domain::runtime_api, call.runtime) : 0;
  std::uint64_t driver_data = 0;
  std::uint64_t runtime_data = 0;
  cupti::api_data data{};
  data.function_params = call.params;
  data.symbol_name = call.symbol;
  data.context = context_handle_of(call.context);
  data.context_uid = call.context;
  data.correlation_id = correlation;
  auto const tell = [&](domain where, cupti::api_site site) {
    const bool driver = where == domain::driver_api;
    data.site = site;
    data.function_name = driver ? call.driver : call.runtime;
    data.correlation_data = driver ? &driver_data : &runtime_data;
    data.return_value = site == cupti::api_site::exit ? &status : nullptr;
    call_back(where, driver ? driver_id : runtime_id, &data);
  };
  if (runtime) tell(domain::runtime_api, cupti::api_site::enter);
  tell(domain::driver_api, cupti::api_site::enter);
  if (auto* const hook = call_hook.exchange(nullptr)) hook();
  if (status == 0) status = body(correlation);
  tell(domain::driver_api, cupti::api_site::exit);
  if (runtime) tell(domain::runtime_api, cupti::api_site::exit);
  return correlation;
}

// A call that begins a capture, instantiates, updates or destroys a graph.
struct graph_call {
  graph_call() {
    fake_graph_call(1);
    fake_take_time();
  }
  ~graph_call() { fake_graph_call(0); }
};

struct span {
  std::uint64_t start_ns, end_ns;
};

// The stream does one thing after the other.
span occupy(std::uint32_t stream, std::uint64_t duration_ns) {
  state& s = the_state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (s.lose_timestamps) return {0, 0};
  if (s.has_next_times) {
    s.has_next_times = false;
    return {s.next_start_ns, s.next_end_ns};
  }
  std::uint64_t& free_from = s.stream_end_ns[stream];
  const std::uint64_t start = std::max(free_from, now_ns(s));
  free_from = start + duration_ns;
  return {start, free_from};
}

void queue_kernel(fake_kernel const& kernel, std::uint32_t stream, std::uint32_t correlation,
                  std::uint64_t node_id, std::uint64_t graph_id) {
  state& s = the_state();
  const span time = occupy(stream, kernel.duration_ns);
  cupti::kernel_record record{};
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    bool const concurrent =
        s.kinds.count(static_cast<std::uint32_t>(activity_kind::concurrent_kernel)) != 0;
    record.kind = concurrent ? activity_kind::concurrent_kernel : activity_kind::kernel;
    record.name = intern(s, kernel.name);
  }
  record.registers_per_thread = kernel.registers;
  record.start_ns = time.start_ns;
  record.end_ns = time.end_ns;
  record.device_id = kernel.device;
  record.context_id = kernel.context;
  record.stream_id = stream;
  record.grid_x = kernel.grid[0];
  record.grid_y = kernel.grid[1];
  record.grid_z = kernel.grid[2];
  record.block_x = kernel.block[0];
  record.block_y = kernel.block[1];
  record.block_z = kernel.block[2];
  record.static_shared_memory_bytes = kernel.static_shared_bytes;
  record.dynamic_shared_memory_bytes = kernel.dynamic_shared_bytes;
  record.local_memory_per_thread_bytes = kernel.local_bytes;
  record.correlation_id = correlation;
  record.graph_node_id = node_id;
  record.graph_id = static_cast<std::uint32_t>(graph_id);
  queue_record(&record, sizeof(record));
}

std::uint64_t new_handle() {
  state& s = the_state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  return ++s.next_handle;
}

void tell_resource(resource_id id, cupti::graph_data const& data) {
  cupti::resource_data resource{};
  resource.context = the_context();
  resource.descriptor = const_cast<cupti::graph_data*>(&data);
  call_back(domain::resource, static_cast<std::uint32_t>(id), &resource);
}

fake_graph_t make_graph() {
  const fake_graph_t id = new_handle();
  state& s = the_state();
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.graphs[id];
  }
  cupti::graph_data data{};
  data.graph = handle_of(id);
  tell_resource(resource_id::graph_created, data);
  return id;
}

fake_node_t make_node(fake_graph_t graph_id, fake_kernel const& kernel) {
  const fake_node_t id = new_handle();
  state& s = the_state();
  cupti::graph_data data{};
  data.graph = handle_of(graph_id);
  data.node_type = cupti::graph_node_type::kernel;
  tell_resource(resource_id::graph_node_create_starting, data);
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    node fresh{id, kernel, 1};
    fresh.kernel.name = intern(s, kernel.name);
    s.graphs[graph_id].nodes.push_back(fresh);
  }
  data.node = handle_of(id);
  tell_resource(resource_id::graph_node_created, data);
  return id;
}

// The graph that this stream is being captured into, or 0.
fake_graph_t capture_of(std::uint32_t stream) {
  state& s = the_state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  auto const found = s.captures.find(stream);
  return found == s.captures.end() ? 0 : found->second;
}

// The arguments of cuLaunchKernel and cuStreamBeginCapture_v2 as CUPTI passes them.
struct launch_params {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  void** arguments;
  void** extra;
};
struct stream_params {
  void* stream;
  int mode;
};

void* stream_handle(std::uint32_t stream) {
  return stream == 7 ? nullptr : reinterpret_cast<void*>(std::uintptr_t{stream});
}

template <class Change>
void with_state(Change change) {
  state& s = the_state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  change(s);
}

std::uint32_t memory_call(api_call const& call, cupti::memory_operation operation,
                          std::uint64_t address, std::uint64_t bytes, int kind, int async) {
  return perform(call, [&](std::uint32_t correlation) {
    cupti::memory_record record{};
    record.kind = activity_kind::memory;
    record.operation = operation;
    record.memory = static_cast<cupti::memory_kind>(kind);
    record.correlation_id = correlation;
    record.address = address;
    record.size_bytes = bytes;
    record.timestamp_ns = occupy(0, 0).start_ns;
    record.context_id = 1;
    record.stream_id = 7;
    record.is_async = async != 0 ? 1 : 0;
    queue_record(&record, sizeof(record));
    return 0;
  });
}

void tell_of(green_context const& made) {
  cupti::context_record record{};
  record.kind = activity_kind::context;
  record.context_id = made.number;
  record.device_id = made.device;
  record.parent_context_id = 1;
  record.is_green = 1;
  record.multiprocessors = made.multiprocessors;
  queue_record(&record, sizeof(record));
}

bool records_are_on() {
  bool on = false;
  with_state([&](fake::state& s) { on = !s.kinds.empty(); });
  return on;
}

/// Whether a session looks for the program's first use of CUDA.
bool watch_runs() {
  std::error_code gone;  // a thread that ends meanwhile
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "strata-cuda") return true;
  }
  return false;
}

}  // namespace

void tell_of_green_contexts() {
  std::vector<green_context> all;
  {
    state& s = the_state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    all = s.green_contexts;
  }
  for (green_context const& each : all) tell_of(each);
}

}  // namespace fake

using fake::the_state;
using fake::with_state;

extern "C" {

// ---- conditions ----

void fake_set_call_hook(void (*hook)()) { fake::call_hook.store(hook); }

void fake_reset() {
  fake::state& s = the_state();
  fake::join_workers();
  const std::lock_guard<std::mutex> lock(s.mutex);
  for (auto const& capture : s.captures) fake_mark_capture(capture.first, 0);
  static_cast<fake::settings&>(s) = fake::settings{};
}

void fake_set_version(std::uint32_t version) {
  with_state([&](fake::state& s) { s.version = version; });
}
void fake_fail(char const* function, int code) {
  with_state([&](fake::state& s) {
    if (code == 0) {
      s.failing.erase(function);
    } else {
      s.failing[function] = code;
    }
  });
}
void fake_set_other_client(char const* name) {
  with_state([&](fake::state& s) {
    s.has_other_client = name != nullptr;
    s.other_client = name != nullptr ? name : "";
  });
}
void fake_set_runtime_api(int on) {
  with_state([&](fake::state& s) { s.runtime_api = on != 0; });
}
void fake_shift_callback_ids(std::uint32_t by) {
  with_state([&](fake::state& s) { s.id_shift = by; });
}
void fake_fail_next_call(int code) {
  with_state([&](fake::state& s) { s.next_call_result = code; });
}
void fake_skew_clock(std::int64_t by_ns) {
  with_state([&](fake::state& s) {
    s.skew_ns = by_ns;
    s.stream_end_ns.clear();  // by the clock as it was
  });
}
void fake_set_next_times(std::uint64_t start_ns, std::uint64_t end_ns) {
  with_state([&](fake::state& s) {
    s.has_next_times = true;
    s.next_start_ns = start_ns;
    s.next_end_ns = end_ns;
  });
}

// ---- what the program does ----

int fake_use_cuda() {
  static std::atomic<int> making{0};  // the first context: what other threads call waits for it
  if (fake_cuda_ready() != 0) {
    for (int i = 0; i < 20'000 && making.load() != 0; ++i) ::usleep(1000);
    return 1;
  }
  ++making;
  if (cuInit(0) != strata::detail::driver::result::success) return --making, 0;
  for (int i = 0; i < 20'000 && !fake::records_are_on() && fake::watch_runs(); ++i) ::usleep(1000);
  fake_create_context(1);
  --making;
  return 1;
}

std::uint32_t fake_launch(fake_kernel const* kernel) {
  fake::launch_params params{};
  for (int i = 0; i < 3; ++i) {
    params.grid[i] = static_cast<unsigned>(kernel->grid[i]);
    params.block[i] = static_cast<unsigned>(kernel->block[i]);
  }
  with_state([&](fake::state& s) {
    params.function = const_cast<char*>(fake::intern(s, kernel->name));  // a handle: one a kernel
  });
  params.shared_bytes = static_cast<unsigned>(kernel->dynamic_shared_bytes);
  params.stream = fake::stream_handle(kernel->stream);
  const fake::api_call call{"cuLaunchKernel", "cudaLaunchKernel_v7000", kernel->name, &params,
                            kernel->context};
  return fake::perform(call, [&](std::uint32_t correlation) {
    if (const fake_graph_t graph = fake::capture_of(kernel->stream)) {
      (void)fake::make_node(graph, *kernel);
    } else {
      fake::queue_kernel(*kernel, kernel->stream, correlation, 0, 0);
      if (kernel->waits) fake_wait(kernel->context, kernel->stream);
      bool serialises = false;
      with_state([&](fake::state& s) {
        fake::profile_kernel(s, *kernel);
        serialises = fake::serialises_kernels(kernel->context);
      });
      if (serialises) fake_await_context(kernel->context);
    }
    return 0;
  });
}

std::uint32_t fake_wait_call(char const* driver_function, std::uint32_t stream) {
  fake::stream_params params{fake::stream_handle(stream), 0};
  return fake::perform({driver_function, nullptr, nullptr, &params}, [&](std::uint32_t) {
    fake_wait(1, stream);
    return 0;
  });
}

static std::atomic<bool> host_is_pageable{false};

void fake_set_pageable(int on) { host_is_pageable.store(on != 0); }

std::uint32_t fake_copy(int kind, std::uint64_t bytes, std::uint32_t stream,
                        std::uint64_t duration_ns) {
  char const* name = kind == 1    ? "cuMemcpyHtoDAsync_v2"
                     : kind == 2  ? "cuMemcpyDtoHAsync_v2"
                     : kind == 8  ? "cuMemcpyDtoDAsync_v2"
                     : kind == 10 ? "cuMemcpyPeerAsync"
                                  : "cuMemcpyAsync";
  return fake::perform({name, "cudaMemcpyAsync_v3020"}, [&](std::uint32_t correlation) {
    const fake::span time = fake::occupy(stream, duration_ns);
    if (kind == 10) {
      fake::cupti::peer_copy_record record{};
      record.kind = fake::activity_kind::peer_copy;
      record.copy = 10;
      record.source = record.destination = 3;
      record.flags = 1;
      record.size_bytes = bytes;
      record.start_ns = time.start_ns;
      record.end_ns = time.end_ns;
      record.context_id = record.source_context_id = record.destination_context_id = 1;
      record.stream_id = stream;
      record.destination_device_id = 1;
      record.correlation_id = correlation;
      fake::queue_record(&record, sizeof(record));
      return 0;
    }
    fake::cupti::copy_record record{};
    record.kind = fake::activity_kind::copy;
    record.copy = static_cast<std::uint8_t>(kind);
    // CUPTI's memory kinds: 1 pageable, 2 pinned, 3 device.
    std::uint8_t const host = host_is_pageable.load() ? 1 : 2;
    record.source = kind == 1 ? host : 3;
    record.destination = kind == 2 ? host : 3;
    record.flags = 1;
    record.size_bytes = bytes;
    record.start_ns = time.start_ns;
    record.end_ns = time.end_ns;
    record.context_id = 1;
    record.stream_id = stream;
    record.correlation_id = correlation;
    fake::queue_record(&record, sizeof(record));
    return 0;
  });
}

std::uint32_t fake_copy_to_host(std::uint64_t bytes) {
  return fake::perform({"cuMemcpyDtoH_v2", "cudaMemcpy_v3020"}, [&](std::uint32_t correlation) {
    const fake::span time = fake::occupy(7, 1000);
    fake::cupti::copy_record record{};
    record.kind = fake::activity_kind::copy;
    record.copy = 2;
    record.source = 3;
    record.destination = 1;
    record.size_bytes = bytes;
    record.start_ns = time.start_ns;
    record.end_ns = time.end_ns;
    record.context_id = 1;
    record.stream_id = 7;
    record.correlation_id = correlation;
    fake::queue_record(&record, sizeof(record));
    return 0;
  });
}

std::uint32_t fake_copy_by_host(std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                                int second_first) {
  return fake::perform({"cuMemcpyPeerAsync", nullptr}, [&](std::uint32_t correlation) {
    for (int i = 0; i < 2; ++i) {
      bool const receives = (i == 1) != (second_first != 0);
      const fake::span time = fake::occupy(7, 1000);
      fake::cupti::copy_record record{};
      record.kind = fake::activity_kind::copy;
      record.copy = receives ? 1 : 2;
      record.source = record.destination = 3;
      record.flags = 1;
      record.size_bytes = bytes;
      record.start_ns = time.start_ns;
      record.end_ns = time.end_ns;
      record.device_id = receives ? to : from;
      record.context_id = 1;
      record.stream_id = 7;
      record.correlation_id = correlation;
      fake::queue_record(&record, sizeof(record));
    }
    return 0;
  });
}

std::uint32_t fake_copy_between(char const* function, std::uint64_t destination,
                                std::uint64_t source, std::uint64_t bytes) {
  // What cuMemcpyAsync and cuMemcpyDtoDAsync_v2 begin with.
  std::uint64_t const params[] = {destination, source, bytes};
  int const from = fake_memory_of(source);
  int const to = fake_memory_of(destination);
  fake::api_call const call{function, "cudaMemcpyAsync_v3020", nullptr,
                            const_cast<std::uint64_t*>(params)};
  return fake::perform(call, [&](std::uint32_t correlation) {
    const fake::span time = fake::occupy(7, 1000);
    fake::cupti::peer_copy_record record{};
    record.kind = fake::activity_kind::peer_copy;
    record.copy = 8;
    record.source = record.destination = 3;
    record.flags = 1;
    record.size_bytes = bytes;
    record.start_ns = time.start_ns;
    record.end_ns = time.end_ns;
    record.device_id = record.source_device_id = static_cast<std::uint32_t>(from);
    record.destination_device_id = static_cast<std::uint32_t>(to);
    record.context_id = 1;
    record.stream_id = 7;
    record.correlation_id = correlation;
    fake::queue_record(&record, sizeof(record));
    if (from == to || fake_devices_reach() != 0) return 0;
    const fake::span second = fake::occupy(7, 1000);
    record.start_ns = second.start_ns;
    record.end_ns = second.end_ns;
    record.device_id = static_cast<std::uint32_t>(to);
    fake::queue_record(&record, sizeof(record));
    return 0;
  });
}

std::uint32_t fake_memset(std::uint64_t bytes, std::uint32_t stream, std::uint64_t duration_ns) {
  return fake::perform({"cuMemsetD8Async", "cudaMemsetAsync_v3020"},
                       [&](std::uint32_t correlation) {
                         const fake::span time = fake::occupy(stream, duration_ns);
                         fake::cupti::set_record record{};
                         record.kind = fake::activity_kind::set;
                         record.size_bytes = bytes;
                         record.start_ns = time.start_ns;
                         record.end_ns = time.end_ns;
                         record.context_id = 1;
                         record.stream_id = stream;
                         record.correlation_id = correlation;
                         record.flags = 1;
                         record.memory = 3;
                         fake::queue_record(&record, sizeof(record));
                         return 0;
                       });
}

std::uint32_t fake_malloc(std::uint64_t address, std::uint64_t bytes, int kind, int async) {
  char const* name = async != 0  ? "cuMemAllocAsync"
                     : kind == 2 ? "cuMemHostAlloc"
                     : kind == 5 ? "cuMemAllocManaged"
                                 : "cuMemAlloc_v2";
  return fake::memory_call({name, "cudaMalloc_v3020"}, fake::cupti::memory_operation::allocation,
                           address, bytes, kind, async);
}

std::uint32_t fake_free(std::uint64_t address, std::uint64_t bytes, int kind, int async) {
  char const* name = async != 0 ? "cuMemFreeAsync" : kind == 2 ? "cuMemFreeHost" : "cuMemFree_v2";
  return fake::memory_call({name, "cudaFree_v3020"}, fake::cupti::memory_operation::release,
                           address, bytes, kind, async);
}

std::uint32_t fake_memory_call(char const* driver_function, char does, std::uint64_t address,
                               std::uint64_t bytes) {
  if (does == '-')
    return fake::perform({driver_function, nullptr}, [](std::uint32_t) { return 0; });
  auto const operation = does == 'a' ? fake::cupti::memory_operation::allocation
                                     : fake::cupti::memory_operation::release;
  return fake::memory_call({driver_function, nullptr}, operation, address, bytes, 3, 0);
}

std::uint32_t fake_sync(int type, std::uint32_t stream, std::uint64_t duration_ns) {
  bool const context = type == 4;
  return fake::perform({context ? "cuCtxSynchronize" : "cuStreamSynchronize",
                        context ? "cudaDeviceSynchronize_v3020" : "cudaStreamSynchronize_v3020"},
                       [&](std::uint32_t correlation) {
                         fake_block_while(fake_blocks_stream);
                         const fake::span time = fake::occupy(stream, duration_ns);
                         fake::cupti::synchronization_record record{};
                         record.kind = fake::activity_kind::synchronization;
                         record.type = static_cast<fake::cupti::synchronization_type>(type);
                         record.start_ns = time.start_ns;
                         record.end_ns = time.end_ns;
                         record.correlation_id = correlation;
                         record.context_id = 1;
                         record.stream_id = context ? 0xFFFFFFFF : stream;
                         fake::queue_record(&record, sizeof(record));
                         return 0;
                       });
}

void fake_overhead(int kind, std::uint64_t duration_ns) {
  const fake::span time = fake::occupy(0, duration_ns);
  fake::cupti::overhead_record record{};
  record.kind = fake::activity_kind::overhead;
  record.overhead = static_cast<fake::cupti::overhead_type>(kind);
  record.object_kind = 2;  // a thread
  record.start_ns = time.start_ns;
  record.end_ns = time.end_ns;
  fake::queue_record(&record, sizeof(record));
}

void fake_migrate(int kind, std::uint64_t value, std::uint64_t start_ns, std::uint64_t end_ns) {
  fake::cupti::unified_memory_record record{};
  record.kind = fake::activity_kind::unified_memory;
  record.counter = static_cast<fake::cupti::unified_memory_kind>(kind);
  record.value = value;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  bool const to_device = record.counter == fake::cupti::unified_memory_kind::host_to_device;
  (to_device ? record.source_id : record.destination_id) = 0xFFFFFFFF;  // the CPU
  fake::queue_record(&record, sizeof(record));
}

void fake_orphan_kernel(fake_kernel const* kernel) {
  std::uint32_t correlation = 0;
  with_state([&](fake::state& s) { correlation = ++s.correlation; });
  fake::queue_kernel(*kernel, kernel->stream, correlation, 0, 0);
}

void fake_wait_ns_kernel() {
  fake_kernel kernel;
  kernel.name = "WaitNs";
  fake_orphan_kernel(&kernel);
}

void fake_create_context(std::uint32_t context) {
  fake::cupti::resource_data resource{};
  resource.context = fake::context_handle_of(context);
  fake::call_back(fake::domain::resource,
                  static_cast<std::uint32_t>(fake::resource_id::context_created), &resource);
}

void fake_create_green_context(std::uint32_t context, std::uint32_t device,
                               std::uint16_t multiprocessors) {
  fake::green_context const made{context, device, multiprocessors};
  with_state([&](fake::state& s) { s.green_contexts.push_back(made); });
  fake::tell_of(made);
}

void fake_destroy_context(std::uint32_t context) {
  fake::cupti::resource_data resource{};
  resource.context = fake::context_handle_of(context);
  fake::call_back(fake::domain::resource,
                  static_cast<std::uint32_t>(fake::resource_id::context_destroy_starting),
                  &resource);
  fake_forget_context(context);
  fake::with_state([&](fake::state& s) {
    for (auto each = s.contexts_of_captures.begin(); each != s.contexts_of_captures.end(); ++each) {
      if (each->second != context) continue;
      s.captures.erase(each->first);
      fake_mark_capture(each->first, 0);
    }
    auto& objects = fake::the_profiler().objects;
    for (auto each = objects.begin(); each != objects.end();) {
      bool const its = each->second->context == fake::context_handle_of(context);
      each = its ? objects.erase(each) : std::next(each);
    }
  });
}

// ---- graphs ----

std::uint32_t fake_begin_capture(std::uint32_t stream) { return fake_begin_capture_in(1, stream); }

std::uint32_t fake_begin_capture_in(std::uint32_t context, std::uint32_t stream) {
  const fake::stream_params params{fake::stream_handle(stream), 0};
  return fake::perform(
      {"cuStreamBeginCapture_v2", "cudaStreamBeginCapture_v10000", nullptr, &params, context},
      [&](std::uint32_t) {
        const fake::graph_call under_way;
        const fake_graph_t graph = fake::make_graph();
        with_state([&](fake::state& s) {
          s.captures[stream] = graph;
          s.contexts_of_captures[stream] = context;
        });
        fake_mark_capture(stream, 1);
        return 0;
      });
}

std::uint32_t fake_begin_recapture(std::uint32_t stream, fake_graph_t graph) {
  const fake::stream_params params{fake::stream_handle(stream), 0};
  return fake::perform({"cuStreamBeginRecaptureToGraph", nullptr, nullptr, &params},
                       [&](std::uint32_t) {
                         const fake::graph_call under_way;
                         with_state([&](fake::state& s) { s.captures[stream] = graph; });
                         fake_mark_capture(stream, 1);
                         return 0;
                       });
}

fake_graph_t fake_end_capture(std::uint32_t stream) {
  const fake::stream_params params{fake::stream_handle(stream), 0};
  fake_graph_t graph = 0;
  (void)fake::perform({"cuStreamEndCapture", "cudaStreamEndCapture_v10000", nullptr, &params},
                      [&](std::uint32_t) {
                        graph = fake::capture_of(stream);
                        const int invalid = fake_capture_invalid(stream);
                        with_state([&](fake::state& s) { s.captures.erase(stream); });
                        fake_mark_capture(stream, 0);
                        if (invalid == 0) return 0;
                        graph = 0;
                        return 901;  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      });
  return graph;
}

void fake_end_capture_elsewhere(std::uint32_t stream) {
  const fake::stream_params params{fake::stream_handle(stream), 0};
  (void)fake::perform({"cuStreamEndCapture", "cudaStreamEndCapture_v10000", nullptr, &params},
                      [](std::uint32_t) { return 908; });
}

fake_graph_t fake_graph_create() {
  fake_graph_t graph = 0;
  (void)fake::perform({"cuGraphCreate", "cudaGraphInstantiate_v12000"}, [&](std::uint32_t) {
    graph = fake::make_graph();
    return 0;
  });
  return graph;
}

fake_node_t fake_graph_create_node(fake_graph_t graph, fake_kernel const* kernel) {
  fake_node_t node = 0;
  (void)fake::perform({"cuGraphAddKernelNode_v2", "cudaGraphAddKernelNode_v10000"},
                      [&](std::uint32_t) {
                        node = fake::make_node(graph, *kernel);
                        return 0;
                      });
  return node;
}

fake_graph_t fake_graph_clone(fake_graph_t graph) { return fake_graph_instantiate(graph, 0, 0); }

fake_graph_t fake_graph_instantiate(fake_graph_t graph, std::uint64_t flags, int in_structure) {
  fake_graph_t copy = 0;
  fake::cupti::instantiate_params params{};
  params.flags = flags;
  if (in_structure != 0) params.params = &flags;
  char const* const name =
      in_structure != 0 ? "cuGraphInstantiateWithParams_ptsz" : "cuGraphInstantiateWithFlags";
  (void)fake::perform({name, "cudaGraphInstantiate_v12000", nullptr, &params}, [&](std::uint32_t) {
    const fake::graph_call under_way;
    std::vector<fake::node> nodes;
    with_state([&](fake::state& s) { nodes = s.graphs[graph].nodes; });
    copy = fake::new_handle();
    fake::cupti::graph_data data{};
    data.graph = fake::handle_of(copy);
    data.original_graph = fake::handle_of(graph);
    fake::tell_resource(fake::resource_id::graph_cloned, data);
    data.node_type = fake::cupti::graph_node_type::kernel;
    for (fake::node& each : nodes) {
      data.original_node = fake::handle_of(each.id);
      each.origin = each.id;
      each.id = fake::new_handle();
      data.node = fake::handle_of(each.id);
      fake::tell_resource(fake::resource_id::graph_node_cloned, data);
    }
    with_state([&](fake::state& s) { s.graphs[copy] = {true, nodes}; });
    fake::cupti::graph_data executable{};
    executable.graph = fake::handle_of(graph);
    executable.exec = fake::handle_of(copy);
    fake::tell_resource(fake::resource_id::graph_exec_created, executable);
    return 0;
  });
  return copy;
}

std::uint32_t fake_graph_update(fake_graph_t executable, fake_graph_t graph) {
  void* const params[] = {fake::handle_of(executable), fake::handle_of(graph)};
  fake::api_call call{"cuGraphExecUpdate_v2", "cudaGraphExecUpdate_v10020"};
  call.params = params;
  return fake::perform(call, [&](std::uint32_t) {
    const fake::graph_call under_way;
    std::vector<fake::node> from;
    std::vector<fake::node> to;
    with_state([&](fake::state& s) {
      from = s.graphs[graph].nodes;
      to = s.graphs[executable].nodes;
    });
    if (from.size() != to.size()) return 910;  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    fake::cupti::graph_data data{};
    data.exec = fake::handle_of(executable);
    data.node_type = fake::cupti::graph_node_type::kernel;
    for (std::size_t i = to.size(); i-- > 0;) {
      to[i].kernel = from[i].kernel;
      data.node = fake::handle_of(from[i].id);
      data.original_node = fake::handle_of(to[i].id);
      fake::tell_resource(fake::resource_id::graph_node_updated, data);
    }
    with_state([&](fake::state& s) { s.graphs[executable].nodes = to; });
    return 0;
  });
}

std::uint32_t fake_graph_set_kernel(fake_graph_t executable, std::size_t node,
                                    fake_kernel const* kernel, int tells) {
  void* const params[] = {fake::handle_of(executable), nullptr};
  fake::api_call call{"cuGraphExecKernelNodeSetParams_v2",
                      "cudaGraphExecKernelNodeSetParams_v10010"};
  call.params = params;
  return fake::perform(call, [&](std::uint32_t) {
    fake::node changed;
    with_state([&](fake::state& s) {
      changed = s.graphs[executable].nodes[node];
      changed.kernel = *kernel;
      changed.kernel.name = fake::intern(s, kernel->name);
      s.graphs[executable].nodes[node] = changed;
    });
    if (tells == 0) return 0;
    fake::cupti::graph_data data{};
    data.exec = fake::handle_of(executable);
    data.node_type = fake::cupti::graph_node_type::kernel;
    data.node = fake::handle_of(changed.origin);
    data.original_node = fake::handle_of(changed.id);
    fake::tell_resource(fake::resource_id::graph_node_updated, data);
    return 0;
  });
}

std::uint32_t fake_graph_enable(fake_graph_t executable, std::size_t node, int enabled) {
  void* const params[] = {fake::handle_of(executable), nullptr};
  fake::api_call call{"cuGraphNodeSetEnabled", "cudaGraphNodeSetEnabled_v11060"};
  call.params = params;
  return fake::perform(call, [&](std::uint32_t) {
    with_state([&](fake::state& s) { s.graphs[executable].nodes[node].times = enabled; });
    return 0;
  });
}

std::uint32_t fake_graph_launch(fake_graph_t executable, std::uint32_t stream) {
  struct {
    void* executable;
    void* stream;
  } const params{fake::handle_of(executable), fake::stream_handle(stream)};
  fake::api_call call{"cuGraphLaunch", "cudaGraphLaunch_v10000"};
  call.params = &params;
  return fake::perform(call, [&](std::uint32_t correlation) {
    fake::graph graph;
    with_state([&](fake::state& s) { graph = s.graphs[executable]; });
    if (!graph.executable) return 1;  // CUDA_ERROR_INVALID_VALUE
    for (const fake::node& each : graph.nodes) {
      for (int i = 0; i < each.times; ++i) {
        // As on an H200 with CUDA 13.0: kernels of a conditional node have an id of no call.
        std::uint32_t const id = each.is_body ? 0 : correlation;
        fake_graph_t const graph_id = each.is_body ? each.id : executable;
        fake::queue_kernel(each.kernel, stream, id, each.id, graph_id);
        with_state([&](fake::state& s) { fake::profile_kernel(s, each.kernel); });
      }
    }
    return 0;
  });
}

void fake_graph_set_body(fake_graph_t executable, fake_kernel const* kernel, int times) {
  fake::node body{fake::new_handle(), *kernel, times};
  body.is_body = true;
  with_state([&](fake::state& s) {
    body.kernel.name = fake::intern(s, kernel->name);
    s.graphs[executable].nodes.push_back(body);
  });
}

void fake_graph_device_launch(fake_graph_t executable, std::uint32_t stream) {
  fake::graph graph;
  std::uint32_t correlation = 0;
  with_state([&](fake::state& s) {
    graph = s.graphs[executable];
    correlation = ++s.correlation;
  });
  for (fake::node const& each : graph.nodes)
    fake::queue_kernel(each.kernel, stream, correlation, each.id, executable);
}

void fake_graph_destroy(fake_graph_t graph) {
  fake::graph gone;
  with_state([&](fake::state& s) { gone = s.graphs[graph]; });
  fake::api_call call = gone.executable
                            ? fake::api_call{"cuGraphExecDestroy", "cudaGraphExecDestroy_v10000"}
                            : fake::api_call{"cuGraphDestroy", "cudaGraphDestroy_v10000"};
  void* const params[] = {fake::handle_of(graph)};
  call.params = params;
  (void)fake::perform(call, [&](std::uint32_t) {
    const fake::graph_call under_way;
    fake::cupti::graph_data data{};
    data.graph = fake::handle_of(graph);
    data.node_type = fake::cupti::graph_node_type::kernel;
    for (fake::node const& each : gone.nodes) {
      data.node = fake::handle_of(each.id);
      fake::tell_resource(fake::resource_id::graph_node_destroy_starting, data);
    }
    with_state([&](fake::state& s) { s.graphs.erase(graph); });
    return 0;
  });
}

void fake_destroy_stream(std::uint32_t stream) {
  fake::cupti::resource_data resource{};
  resource.context = fake::the_context();
  resource.stream = fake::stream_handle(stream);
  fake::call_back(fake::domain::resource,
                  static_cast<std::uint32_t>(fake::resource_id::stream_destroy_starting),
                  &resource);
  with_state([&](fake::state& s) { s.captures.erase(stream); });
  fake_mark_capture(stream, 0);
}

std::size_t fake_graph_nodes(fake_graph_t graph, fake_node_t* nodes, std::size_t capacity) {
  std::size_t count = 0;
  with_state([&](fake::state& s) {
    for (const fake::node& each : s.graphs[graph].nodes) {
      if (count < capacity) nodes[count] = each.id;
      ++count;
    }
  });
  return count;
}

// ---- how records come back ----

void fake_set_order(fake_order order, std::uint32_t seed) {
  with_state([&](fake::state& s) {
    s.order = order;
    s.seed = seed;
  });
}
void fake_set_delivery(fake_thread thread) {
  with_state([&](fake::state& s) { s.delivery = thread; });
}
void fake_set_records_per_buffer(std::size_t count) {
  with_state([&](fake::state& s) { s.records_per_buffer = count; });
}
void fake_set_auto_delivery(std::size_t records) {
  with_state([&](fake::state& s) { s.auto_delivery = records; });
}
void fake_hold(int how) {
  with_state([&](fake::state& s) { s.hold = how; });
}
void fake_lose_timestamps(int on) {
  with_state([&](fake::state& s) { s.lose_timestamps = on != 0; });
}
void fake_drop(std::size_t count) {
  with_state([&](fake::state& s) { s.dropped += count; });
}

// ---- what the client did ----

std::size_t fake_calls(char const* function) {
  std::size_t count = 0;
  with_state([&](fake::state& s) {
    const auto found = s.calls.find(function);
    if (found != s.calls.end()) count = found->second;
  });
  return count;
}
std::size_t fake_pending() {
  std::size_t count = 0;
  with_state([&](fake::state& s) { count = s.pending.size(); });
  return count;
}
std::size_t fake_buffers_outstanding() {
  std::size_t count = 0;
  with_state([&](fake::state& s) { count = s.outstanding; });
  return count;
}
int fake_kind_enabled(std::uint32_t kind) {
  int enabled = 0;
  with_state([&](fake::state& s) { enabled = static_cast<int>(s.kinds.count(kind)); });
  return enabled;
}
std::size_t fake_callbacks_made() {
  std::size_t count = 0;
  with_state([&](fake::state& s) { count = s.callbacks_made; });
  return count;
}
int fake_subscribed() {
  int subscribed = 0;
  with_state([&](fake::state& s) { subscribed = s.subscribed ? 1 : 0; });
  return subscribed;
}
int fake_callback_enabled(char const* driver_function) {
  const std::uint32_t id = fake::callback_id(fake::domain::driver_api, driver_function);
  int enabled = 0;
  with_state([&](fake::state& s) {
    enabled = static_cast<int>(s.callbacks.count({static_cast<int>(fake::domain::driver_api), id}));
  });
  return enabled;
}
std::size_t fake_misuse_count() {
  std::size_t count = 0;
  with_state([&](fake::state& s) { count = s.misuses; });
  return count;
}
char const* fake_last_misuse() {
  char const* text = "";
  with_state([&](fake::state& s) {
    s.misuse_text = s.last_misuse;
    text = s.misuse_text.c_str();
  });
  return text;
}

}  // extern "C"
