// What a kernel launch costs: plain, under a bare CUPTI client, under Strata. CUPTI has one client
// in a process, so each way is a process of its own; launch_bench.sh runs them in turn.
//
//   launch_bench MODE [--windows N] [--launches N]   one line of JSON a window
//   launch_bench MODE --report KERNELS               memory, and the time to stop and to report
//
// MODE: plain       nothing listens
//       idle        Strata compiled in, no session, a range around every launch
//       bare-short  CUPTI: the same records and callbacks as Strata, but no clock is read
//       bare        CUPTI: and the host's time at both ends of every launch
//       strata      Strata's trace
//       strata-range  and a range around every launch
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

__global__ void empty() {}

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

void check(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "launch_bench: %s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

// ---- a CUPTI client that does what it must and no more ----

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

  void stop() {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    expect(flush_(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  }

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
    std::fprintf(stderr, "launch_bench: libcupti has no %s\n", name);
    std::exit(1);
  }

  void load() {
    for (char const* path :
         {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/lib64/libcupti.so",
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"}) {
      if (library_ == nullptr) library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (library_ == nullptr) {
      std::fprintf(stderr, "launch_bench: no libcupti is found\n");
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
    std::fprintf(stderr, "launch_bench: %s: CUPTI code %d\n", what, static_cast<int>(code));
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

// ---- launches ----

/// How full the stream is kept: never more than 16 launches and only these timed, so that the host
/// never waits; 256 and the waits timed too; as full as it gets.
enum class shape { drained, batched, full };
constexpr shape shapes[] = {shape::drained, shape::batched, shape::full};

char const* name_of(shape which) {
  return which == shape::drained ? "drained" : which == shape::batched ? "batched" : "full";
}

template <bool Range>
void launch_some(int count, cudaStream_t stream) {
  for (int i = 0; i < count; ++i) {
    if constexpr (Range) {
      STRATA_RANGE("launch");
      empty<<<1, 32, 0, stream>>>();
    } else {
      empty<<<1, 32, 0, stream>>>();
    }
  }
}

/// ns a launch, over one window.
template <bool Range>
double window(shape which, int launches, cudaStream_t stream) {
  int const group = which == shape::drained ? 16 : which == shape::batched ? 256 : launches;
  double seconds = 0.0;
  int done = 0;
  for (; done < launches; done += group) {
    auto const begin = clock_type::now();
    launch_some<Range>(group, stream);
    if (which != shape::drained) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    seconds += seconds_since(begin);
    if (which == shape::drained) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  return seconds * 1e9 / done;
}

double resident_mb() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  double kb = 0.0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr)
    if (std::strncmp(line, "VmRSS:", 6) == 0) kb = std::atof(line + 6);
  if (file != nullptr) std::fclose(file);
  return kb / 1024.0;
}

strata::options trace_only(bool with_files, std::string const& out) {
  strata::options how;
  how.table = how.csv = how.json = how.chrome_trace = with_files;
  how.out = out;
  how.nvtx = strata::options::nvtx_mode::off;
  return how;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const mode = argc > 1 ? argv[1] : "";
  int windows = 3;
  int launches = 20'000;
  int report = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    std::string_view const option = argv[i];
    int const value = std::atoi(argv[i + 1]);
    (option == "--windows" ? windows : option == "--report" ? report : launches) = value;
  }
  bool const bare = mode == "bare" || mode == "bare-short";
  bool const traced = mode == "strata" || mode == "strata-range";
  bool const range = mode == "strata-range" || mode == "idle";
  if (!bare && !traced && !range && mode != "plain") {
    std::fprintf(stderr,
                 "launch_bench: MODE is plain, idle, bare-short, bare, strata or strata-range\n");
    return 2;
  }
  unsetenv("STRATA");
  unsetenv("NVTX_INJECTION64_PATH");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  (void)window<false>(shape::batched, 4096, stream);

  double const before_mb = resident_mb();
  std::string const out = "launch-bench-report-" + std::to_string(static_cast<long>(getpid()));
  strata::session session{trace_only(report > 0, out)};
  if (bare) bare_client::instance().start(mode == "bare");
  if (traced) {
    strata::status const outcome = session.start();
    for (strata::status const& problem : session.problems())
      std::fprintf(stderr, "launch_bench: %s\n", problem.message().c_str());
    if (!outcome.ok() || !session.problems().empty()) return 1;
  }
  auto const run = [&](shape which, int count) {
    return range ? window<true>(which, count, stream) : window<false>(which, count, stream);
  };
  for (shape which : shapes) (void)run(which, 4096);

  if (report > 0) {
    (void)run(shape::batched, report);
    double const traced_mb = resident_mb();
    auto begin = clock_type::now();
    if (bare) bare_client::instance().stop();
    if (traced) session.stop();
    double const stop_s = seconds_since(begin);
    double const stopped_mb = resident_mb();
    begin = clock_type::now();
    if (traced) (void)session.report();
    double const report_s = seconds_since(begin);
    std::size_t const kernels = bare     ? bare_client::instance().kernels()
                                : traced ? session.profile().kernels.size()
                                         : 0;
    std::printf(
        "{\"bench\":\"report\",\"mode\":\"%s\",\"kernels\":%zu,\"before_mb\":%.1f,\"traced_mb\":%."
        "1f,"
        "\"stopped_mb\":%.1f,\"reported_mb\":%.1f,\"stop_s\":%.3f,\"report_s\":%.3f}\n",
        mode.c_str(), kernels, before_mb, traced_mb, stopped_mb, resident_mb(), stop_s, report_s);
    return 0;
  }
  for (int i = 0; i < windows; ++i)
    for (shape which : shapes)
      std::printf("{\"bench\":\"launch\",\"mode\":\"%s\",\"shape\":\"%s\",\"ns\":%.1f}\n",
                  mode.c_str(), name_of(which), run(which, launches));
  std::size_t kernels = 0;
  if (bare) {
    bare_client::instance().stop();
    kernels = bare_client::instance().kernels();
  }
  if (traced) kernels = session.profile().kernels.size();
  std::size_t const expected =
      static_cast<std::size_t>(windows) * 3 * static_cast<std::size_t>(launches);
  if ((bare || traced) && kernels < expected) {
    std::fprintf(stderr, "launch_bench: %s kept %zu kernels of %zu\n", mode.c_str(), kernels,
                 expected);
    return 1;
  }
  return 0;
}
