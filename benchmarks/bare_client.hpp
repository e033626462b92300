// A CUPTI client that does what it must and no more: the records and callbacks that Strata asks for
// under `trace`, and of each kernel what Strata keeps. CUPTI has one client in a process.
#ifndef STRATA_BENCHMARKS_BARE_CLIENT_HPP
#define STRATA_BENCHMARKS_BARE_CLIENT_HPP

#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

/// The handle of the library, as a program without Strata finds it; null where there is none.
inline void* open_libcupti() {
  void* found = nullptr;
  for (char const* path : {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/lib64/libcupti.so",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"})
    if (found == nullptr) found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return found;
}

class bare_client {
 public:
  static bare_client& instance() {
    static bare_client& only = *new bare_client;
    return only;
  }

  void start(bool read_clocks) {
    read_clocks_ = read_clocks;
    load();
    launches_.resize(map_size);
    kernels_.reserve(std::size_t{4} << 20);
    for (int i = 0; i < 4; ++i) free_.push_back(new_buffer());
    expect(subscribe_(&subscriber_, &on_callback, this), "cuptiSubscribe");
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    (void)set_attribute_(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    expect(register_callbacks_(&on_request, &on_complete), "cuptiActivityRegisterCallbacks");
    for (CUpti_ActivityKind kind : kinds) expect(enable_(kind), "cuptiActivityEnable");
    for (std::uint32_t id = 1; id < 900; ++id) {
      char const* name = nullptr;
      if (callback_name_(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS && wanted(name))
        (void)enable_callback_(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  }

  /// The device is idle.
  void stop() { expect(flush_(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll"); }

  std::size_t kernels() const { return kernels_.size(); }

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{2} << 20;
  static constexpr std::size_t map_size = std::size_t{1} << 20;
  static constexpr CUpti_ActivityKind kinds[] = {
      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
      CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
      CUPTI_ACTIVITY_KIND_MEMORY2,           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
      CUPTI_ACTIVITY_KIND_OVERHEAD};

#if CUPTI_API_VERSION >= 130000
  using kernel_activity = CUpti_ActivityKernel10;
#else
  using kernel_activity = CUpti_ActivityKernel9;
#endif

  struct launch {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t correlation;
    std::uint32_t range;
  };

  struct kernel {
    std::uint64_t begin;
    std::uint64_t end;
    char const* name;
    std::uint64_t graph_node;
    std::uint32_t correlation;
    std::uint32_t stream;
    std::uint32_t grid[3];
    std::uint16_t block[3];
    std::uint16_t registers;
  };
  static_assert(sizeof(kernel) <= 64, "as compact as Strata's");

  template <class Function>
  void load(Function*& to, char const* name) {
    to = reinterpret_cast<Function*>(dlsym(library_, name));
    if (to != nullptr) return;
    std::fprintf(stderr, "bare client: libcupti has no %s\n", name);
    std::exit(1);
  }

  void load() {
    library_ = open_libcupti();
    if (library_ == nullptr) {
      std::fprintf(stderr, "bare client: no libcupti is found\n");
      std::exit(1);
    }
    load(subscribe_, "cuptiSubscribe");
    load(enable_callback_, "cuptiEnableCallback");
    load(callback_name_, "cuptiGetCallbackName");
    load(set_attribute_, "cuptiActivitySetAttribute");
    load(register_callbacks_, "cuptiActivityRegisterCallbacks");
    load(enable_, "cuptiActivityEnable");
    load(next_record_, "cuptiActivityGetNextRecord");
    load(flush_, "cuptiActivityFlushAll");
  }

  static void expect(CUptiResult code, char const* what) {
    if (code == CUPTI_SUCCESS) return;
    std::fprintf(stderr, "bare client: %s: CUPTI code %d\n", what, static_cast<int>(code));
    std::exit(1);
  }

  static bool wanted(char const* name) {
    if (name == nullptr) return false;
    std::string_view const text(name);
    for (std::string_view prefix :
         {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuMemAlloc", "cuMemHostAlloc",
          "cuMemFree", "cuStreamBeginCapture", "cuStreamEndCapture"}) {
      if (text.substr(0, prefix.size()) == prefix) return text != "cuLaunchHostFunc";
    }
    return false;
  }

  static std::uint8_t* new_buffer() {
    void* const made = std::aligned_alloc(64, buffer_bytes);
    if (made != nullptr) std::memset(made, 0, buffer_bytes);
    return static_cast<std::uint8_t*>(made);
  }

  static void CUPTIAPI on_callback(void* user, CUpti_CallbackDomain, CUpti_CallbackId,
                                   void const* data) {
    auto& self = *static_cast<bare_client*>(user);
    auto const& call = *static_cast<CUpti_CallbackData const*>(data);
    launch& entry = self.launches_[call.correlationId & (map_size - 1)];
    if (call.callbackSite == CUPTI_API_ENTER) {
      entry.correlation = call.correlationId;
      entry.range = self.range_;
      if (self.read_clocks_) entry.begin = static_cast<std::int64_t>(__builtin_ia32_rdtsc());
    } else if (self.read_clocks_) {
      entry.end = static_cast<std::int64_t>(__builtin_ia32_rdtsc());
    }
  }

  static void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    bare_client& self = instance();
    *size = buffer_bytes;
    *records = 0;
    std::lock_guard<std::mutex> lock(self.mutex_);
    if (self.free_.empty()) {
      *buffer = new_buffer();
    } else {
      *buffer = self.free_.back();
      self.free_.pop_back();
    }
  }

  static void CUPTIAPI on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                   std::size_t valid) {
    bare_client& self = instance();
    std::lock_guard<std::mutex> lock(self.parse_mutex_);
    CUpti_Activity* record = nullptr;
    while (valid != 0 && self.next_record_(buffer, valid, &record) == CUPTI_SUCCESS) {
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
      auto const& from = *reinterpret_cast<kernel_activity const*>(record);
      self.kernels_.push_back(
          {from.start,
           from.end,
           from.name,
           from.graphNodeId,
           from.correlationId,
           from.streamId,
           {static_cast<std::uint32_t>(from.gridX), static_cast<std::uint32_t>(from.gridY),
            static_cast<std::uint32_t>(from.gridZ)},
           {static_cast<std::uint16_t>(from.blockX), static_cast<std::uint16_t>(from.blockY),
            static_cast<std::uint16_t>(from.blockZ)},
           from.registersPerThread});
    }
    std::memset(buffer, 0, valid);
    std::lock_guard<std::mutex> pool_lock(self.mutex_);
    self.free_.push_back(buffer);
  }

  void* library_ = nullptr;
  decltype(cuptiSubscribe)* subscribe_ = nullptr;
  decltype(cuptiEnableCallback)* enable_callback_ = nullptr;
  decltype(cuptiGetCallbackName)* callback_name_ = nullptr;
  decltype(cuptiActivitySetAttribute)* set_attribute_ = nullptr;
  decltype(cuptiActivityRegisterCallbacks)* register_callbacks_ = nullptr;
  decltype(cuptiActivityEnable)* enable_ = nullptr;
  decltype(cuptiActivityGetNextRecord)* next_record_ = nullptr;
  decltype(cuptiActivityFlushAll)* flush_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool read_clocks_ = false;
  std::uint32_t range_ = 7;
  std::vector<launch> launches_;
  std::vector<kernel> kernels_;
  std::mutex mutex_;
  std::mutex parse_mutex_;
  std::vector<std::uint8_t*> free_;
};

#endif  // STRATA_BENCHMARKS_BARE_CLIENT_HPP
