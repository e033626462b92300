// What a CUDA call costs while CUPTI is in the process and nothing is traced: by itself, by each
// part of it that Strata leaves on between windows, and with Strata. A process each, since CUPTI
// goes only in part; presence.py runs them in turns.
//
//   presence [early=ACTION+...] [late=ACTION+...]   one line of JSON: us a call, median
//   presence steps=N every=K                        us a step by its place in the period of K
//   presence cycles=N [late=untraced]               CUPTI comes, traces a token and goes, N times:
//   us
//                                                   of each part; what becomes of graphs
//
// early: before graphs are made; late: after it. With STRATA set the session begins early, and six
// steps follow late.
// ACTION: load       opens libcupti
//         subscribe  cuptiSubscribe
//         ends       callbacks of contexts and streams that go
//         nodes      callbacks of graphs' nodes
//         captures   callbacks of captures' begin and end
//         changes    callbacks of graphs that are made, updated and destroyed
//         calls      callbacks of launches, copies, allocations and waits; -calls: off again
//         traced     records on, a token, a flush, records off; kernel, copy, memory, wait,
//                    overhead: with records of that kind alone
//         traces     records on, and they stay on
//         period     cuptiActivityFlushPeriod of 100 ms; -period: of 0
//         unsubscribe, finalize
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <strata/strata.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bare_client.hpp"
#include "memory.hpp"

__global__ void work(float* out, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] += 1.0f;
}

namespace {

constexpr int nodes = 300;
constexpr int launches = 250;
constexpr int vocabulary = 32'000;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void check(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::printf(",\"failed\":\"%s: %s\"}\n", what, cudaGetErrorString(code));
  std::exit(1);
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                   all.end());
  return all[all.size() / 2];
}

void tell(std::string_view what, double us) {
  std::printf(",\"%.*s\":%.3f", static_cast<int>(what.size()), what.data(), us);
}

double resident_mb() { return memory_kib("VmRSS") / 1024.0; }

// ---- CUPTI ----

class client {
 public:
  void act(std::string_view action) {
    double const begin = now_us();
    CUptiResult code = CUPTI_SUCCESS;
    if (action == "load") {
      load();
    } else if (action == "subscribe") {
      load();
      code = subscribe_(&subscriber_, &on_callback, nullptr);
    } else if (action == "ends") {
      resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
      resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
    } else if (action == "nodes") {
      resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
      resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
      resource(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
      resource(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
    } else if (action == "captures") {
      calls(1, {"cuStreamBeginCapture", "cuStreamEndCapture"});
    } else if (action == "changes") {
      calls(1, {"cuGraphInstantiate", "cuGraphExecDestroy", "cuGraphExecUpdate", "cuGraphDestroy",
                "cuGraphUpload"});
    } else if (action == "calls" || action == "-calls") {
      calls(action == "calls",
            {"cuLaunchKernel", "cuLaunchCooperativeKernel", "cuLaunchGrid", "cuGraphLaunch",
             "cuMemcpy", "cuMemset", "cuMemAlloc", "cuMemHostAlloc", "cuMemFree",
             "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"});
    } else if (action == "period" || action == "-period") {
      code = period_(action == "period" ? 100 : 0);
    } else if (action == "unsubscribe") {
      code = unsubscribe_(subscriber_);
    } else if (action == "finalize") {
      code = finalize_();
      registered_ = false;
      free_buffers();
    }
    tell(std::string("action ").append(action), now_us() - begin);
    if (code != CUPTI_SUCCESS) tell(std::string("code of ").append(action), code);
  }

  void trace(bool on, std::string_view which) {
    double const begin = now_us();
    load();
    if (on && !registered_) code_of("register", register_(&on_request, &on_complete));
    registered_ = true;
    struct {
      CUpti_ActivityKind kind;
      char const* name;
    } const kinds[] = {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernel"},
                       {CUPTI_ACTIVITY_KIND_MEMCPY, "copy"},
                       {CUPTI_ACTIVITY_KIND_MEMCPY2, "copy"},
                       {CUPTI_ACTIVITY_KIND_MEMSET, "copy"},
                       {CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
                       {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "wait"},
                       {CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"}};
    for (auto const& each : kinds) {
      if (which != "traced" && which != "traces" && which != each.name) continue;
      code_of(each.name, on ? enable_(each.kind) : disable_(each.kind));
    }
    tell(on ? "action trace" : "action end of trace", now_us() - begin);
  }
  void flush() {
    double const begin = now_us();
    code_of("flush", flush_(0));
    tell("action flush", now_us() - begin);
  }

 private:
  template <class Function>
  void bind(Function*& to, char const* name) {
    to = reinterpret_cast<Function*>(dlsym(library_, name));
    if (to == nullptr) std::exit(2);
  }
  void load() {
    if (library_ != nullptr) return;
    library_ = open_libcupti();
    if (library_ == nullptr) std::exit(2);
    bind(subscribe_, "cuptiSubscribe");
    bind(unsubscribe_, "cuptiUnsubscribe");
    bind(finalize_, "cuptiFinalize");
    bind(enable_callback_, "cuptiEnableCallback");
    bind(callback_name_, "cuptiGetCallbackName");
    bind(register_, "cuptiActivityRegisterCallbacks");
    bind(enable_, "cuptiActivityEnable");
    bind(disable_, "cuptiActivityDisable");
    bind(flush_, "cuptiActivityFlushAll");
    bind(period_, "cuptiActivityFlushPeriod");
  }
  static void code_of(char const* what, CUptiResult code) {
    if (code != CUPTI_SUCCESS) tell(std::string("code of ").append(what), code);
  }
  void resource(std::uint32_t id) {
    code_of("resource", enable_callback_(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id));
  }
  void calls(unsigned on, std::vector<std::string_view> const& prefixes) {
    for (std::uint32_t id = 1; id < 900; ++id) {
      char const* name = nullptr;
      if (callback_name_(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS || !name) continue;
      for (std::string_view prefix : prefixes)
        if (std::string_view(name).substr(0, prefix.size()) == prefix)
          (void)enable_callback_(on, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
  }
  static void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, void const*) {}
  static std::set<std::uint8_t*>& buffers() {
    static auto& all = *new std::set<std::uint8_t*>;
    return all;
  }
  static std::mutex& mutex() {
    static auto& only = *new std::mutex;
    return only;
  }
  static void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
    *size = std::size_t{2} << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, *size));
    *most = 0;
    std::lock_guard<std::mutex> const lock(mutex());
    buffers().insert(*buffer);
  }
  static void CUPTIAPI on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                   std::size_t) {
    std::lock_guard<std::mutex> const lock(mutex());
    if (buffers().erase(buffer) != 0) std::free(buffer);
  }
  /// CUPTI is gone, and with it the callbacks for those that it held.
  static void free_buffers() {
    std::lock_guard<std::mutex> const lock(mutex());
    for (std::uint8_t* const each : buffers()) std::free(each);
    buffers().clear();
  }

  void* library_ = nullptr;
  bool registered_ = false;
  decltype(cuptiSubscribe)* subscribe_ = nullptr;
  decltype(cuptiUnsubscribe)* unsubscribe_ = nullptr;
  decltype(cuptiFinalize)* finalize_ = nullptr;
  decltype(cuptiEnableCallback)* enable_callback_ = nullptr;
  decltype(cuptiGetCallbackName)* callback_name_ = nullptr;
  decltype(cuptiActivityRegisterCallbacks)* register_ = nullptr;
  decltype(cuptiActivityEnable)* enable_ = nullptr;
  decltype(cuptiActivityDisable)* disable_ = nullptr;
  decltype(cuptiActivityFlushAll)* flush_ = nullptr;
  decltype(cuptiActivityFlushPeriod)* period_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

// ---- the program ----

class program {
 public:
  program() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(&device_, vocabulary * sizeof(float)), "cudaMalloc");
    check(cudaMallocHost(&pinned_, vocabulary * sizeof(float)), "cudaMallocHost");
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    pageable_.resize(vocabulary);
  }

  void make_graphs() {
    large_ = make(nodes);
    small_ = make(1);
    for (int i = 0; i < 20; ++i) token();
  }

  /// As a decoder does: inputs, one graph, logits, a wait.
  void token() {
    for (int i = 0; i < 6; ++i)
      check(
          cudaMemcpyAsync(device_ + 16 * i, pageable_.data(), 64, cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
    check(cudaGraphLaunch(large_, stream_), "cudaGraphLaunch");
    check(cudaMemcpyAsync(pageable_.data(), device_, vocabulary * sizeof(float),
                          cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
    wait();
  }

  void measure() {
    timed("token", 200, [&] { token(); });
    launched("graph of 300", 100, 1, [&] { return cudaGraphLaunch(large_, stream_); });
    launched("graph of 1", 100, 10, [&] { return cudaGraphLaunch(small_, stream_); });
    launched("launch", 60, launches, [&] {
      work<<<1, 32, 0, stream_>>>(device_, 32);
      return cudaSuccess;
    });
    auto const copy = [&](void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
      return [=] { return cudaMemcpyAsync(to, from, bytes, kind, stream_); };
    };
    launched("copy of 64 B to the device", 100, 10,
             copy(device_, pageable_.data(), 64, cudaMemcpyHostToDevice));
    launched("the same from pinned memory", 100, 10,
             copy(device_, pinned_, 64, cudaMemcpyHostToDevice));
    launched("copy of 128 kB to the host", 100, 1,
             copy(pageable_.data(), device_, vocabulary * sizeof(float), cudaMemcpyDeviceToHost));
    launched("cudaMemsetAsync", 100, 10, [&] { return cudaMemsetAsync(device_, 0, 64, stream_); });
    launched("cudaEventRecord", 100, 10, [&] { return cudaEventRecord(event_, stream_); });
    launched("cudaStreamSynchronize, idle", 100, 10,
             [&] { return cudaStreamSynchronize(stream_); });
    launched("cudaStreamQuery", 100, 10, [&] {
      (void)cudaStreamQuery(stream_);
      return cudaSuccess;
    });
    timed("capture and instantiate 100", 12,
          [&] { check(cudaGraphExecDestroy(make(100)), "cudaGraphExecDestroy"); });
  }

  cudaGraph_t capture(int count) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    for (int i = 0; i < count; ++i) work<<<132, 128, 0, stream_>>>(device_, vocabulary);
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    return graph;
  }
  cudaGraphExec_t make(int count) {
    cudaGraph_t const graph = capture(count);
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return made;
  }
  cudaError_t launch(cudaGraphExec_t graph) {
    cudaError_t const code = cudaGraphLaunch(graph, stream_);
    return code == cudaSuccess ? cudaStreamSynchronize(stream_) : code;
  }

 private:
  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  template <class Call>
  void timed(char const* name, int samples, Call call) {
    std::vector<double> all;
    for (int i = 0; i < samples; ++i) {
      double const begin = now_us();
      call();
      all.push_back(now_us() - begin);
    }
    tell(name, median(std::move(all)));
  }
  /// The host's time of a call, and that of all until the device is idle.
  template <class Call>
  void launched(std::string const& name, int samples, int each, Call call) {
    std::vector<double> host, whole;
    for (int i = 0; i < samples; ++i) {
      wait();
      double const begin = now_us();
      for (int j = 0; j < each; ++j) check(call(), name.c_str());
      host.push_back((now_us() - begin) / each);
      wait();
      whole.push_back((now_us() - begin) / each);
    }
    tell(name, median(std::move(host)));
    tell(name + ", to its end", median(std::move(whole)));
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  float* device_ = nullptr;
  float* pinned_ = nullptr;
  std::vector<float> pageable_;
  cudaGraphExec_t large_ = nullptr;
  cudaGraphExec_t small_ = nullptr;
};

void act(client& cupti, program& run, std::string_view actions) {
  while (!actions.empty()) {
    std::size_t const end = std::min(actions.find('+'), actions.size());
    std::string_view const action = actions.substr(0, end);
    actions.remove_prefix(std::min(end + 1, actions.size()));
    bool is_kind = false;
    for (std::string_view kind :
         {"traced", "traces", "kernel", "copy", "memory", "wait", "overhead"})
      is_kind = is_kind || action == kind;
    if (!is_kind) {
      cupti.act(action);
      continue;
    }
    cupti.trace(true, action);
    for (int i = 0; i < 3; ++i) run.token();
    cupti.flush();
    if (action != "traces") cupti.trace(false, action);
  }
}

/// What a graph gives that was made, updated or changed in a way while CUPTI was there.
void tell_graphs(client& cupti, program& run) {
  cudaGraphExec_t const before = run.make(10), updated = run.make(10);
  cudaGraph_t const recipe = run.capture(10), plan = run.capture(10);
  cudaGraphExec_t with_parameters = nullptr;
  check(cudaGraphInstantiate(&with_parameters, plan, 0), "cudaGraphInstantiate");
  cupti.act("subscribe");
  cupti.trace(true, "traced");
  cudaGraphExec_t const beside = run.make(10), gone = run.make(10);
  cudaGraphExec_t of_recipe = nullptr;
  check(cudaGraphInstantiate(&of_recipe, recipe, 0), "cudaGraphInstantiate");
  for (cudaGraphExec_t each : {before, updated, with_parameters, beside, gone, of_recipe})
    check(run.launch(each), "cudaGraphLaunch");
  cudaGraph_t const other = run.capture(10);
  cudaGraphExecUpdateResultInfo outcome{};
  check(cudaGraphExecUpdate(updated, other, &outcome), "cudaGraphExecUpdate");
  check(cudaGraphExecDestroy(gone), "cudaGraphExecDestroy");
  cudaGraphNode_t members[10];
  std::size_t count = 10;
  check(cudaGraphGetNodes(plan, members, &count), "cudaGraphGetNodes");
  cudaKernelNodeParams how{};
  check(cudaGraphKernelNodeGetParams(members[3], &how), "cudaGraphKernelNodeGetParams");
  check(cudaGraphExecKernelNodeSetParams(with_parameters, members[3], &how),
        "cudaGraphExecKernelNodeSetParams");
  cupti.flush();
  cupti.trace(false, "traced");
  cupti.act("unsubscribe");
  cupti.act("finalize");
  auto const launched = [&](char const* name, cudaGraphExec_t graph) {
    tell(name, run.launch(graph));
    (void)cudaGetLastError();
    std::fflush(stdout);
  };
  launched("graph from before", before);
  launched("graph whose parameters were set", with_parameters);
  launched("graph that was updated", updated);
  cudaGraphExec_t late = nullptr;
  check(cudaGraphInstantiate(&late, other, 0), "cudaGraphInstantiate");
  launched("graph instantiated after, captured beside", late);
  launched("graph made beside, of a recipe from before", of_recipe);
  launched("graph made beside", beside);
}

void measure_cycles(client& cupti, program& run, int cycles, bool traces) {
  std::vector<double> parts[6];
  for (int i = 0; i < cycles; ++i) {
    double at[7];
    at[0] = now_us();
    cupti.act("subscribe");
    cupti.act("captures");
    cupti.act("calls");
    at[1] = now_us();
    if (traces) cupti.trace(true, "traced");
    at[2] = now_us();
    run.token();
    at[3] = now_us();
    if (traces) cupti.flush();
    if (traces) cupti.trace(false, "traced");
    at[4] = now_us();
    cupti.act("finalize");
    at[5] = now_us();
    for (int j = 0; j < 10; ++j) run.token();
    at[6] = now_us();
    for (std::size_t j = 0; j < 6; ++j) parts[j].push_back(at[j + 1] - at[j]);
    if (i == 0 || i == 10 || i == cycles / 2 || i == cycles - 1)
      tell("MB after " + std::to_string(i + 1), resident_mb());
  }
  char const* const names[] = {"come", "begin to trace",  "a token", "end",
                               "go",   "ten tokens after"};
  for (std::size_t j = 0; j < 6; ++j) {
    tell(std::string("first, ") + names[j], parts[j][0]);
    tell(std::string("all, ") + names[j], median(parts[j]));
  }
}

void measure_steps(program& run, int steps, int every) {
  std::vector<std::vector<double>> by_place(static_cast<std::size_t>(every));
  for (int i = 0; i < steps; ++i) {
    double const begin = now_us();
    {
      STRATA_STEP();
      run.token();
    }
    if (i % (steps / 5) == steps / 10) tell("MB at " + std::to_string(i), resident_mb());
    if (i >= 2 * every) by_place[static_cast<std::size_t>(i % every)].push_back(now_us() - begin);
  }
  for (std::size_t i = 0; i < by_place.size(); ++i)
    tell("step " + std::to_string(i), median(by_place[i]));
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view early, late;
  int steps = 0, every = 1, cycles = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view const option = argv[i];
    if (option.substr(0, 6) == "early=") early = option.substr(6);
    if (option.substr(0, 5) == "late=") late = option.substr(5);
    if (option.substr(0, 6) == "steps=") steps = std::atoi(argv[i] + 6);
    if (option.substr(0, 7) == "cycles=") cycles = std::atoi(argv[i] + 7);
    if (option.substr(0, 6) == "every=") every = std::atoi(argv[i] + 6);
  }
  std::printf("{\"early\":\"%.*s\",\"late\":\"%.*s\",\"strata\":\"%s\"",
              static_cast<int>(early.size()), early.data(), static_cast<int>(late.size()),
              late.data(), std::getenv("STRATA") == nullptr ? "" : std::getenv("STRATA"));
  program run;
  client cupti;
  act(cupti, run, early);
  double const begin = now_us();
  { STRATA_RANGE("begin"); }
  tell("action session", now_us() - begin);
  run.make_graphs();
  act(cupti, run, late);
  if (cycles != 0) {
    measure_cycles(cupti, run, cycles, late != "untraced");
    std::fflush(stdout);
    tell_graphs(cupti, run);
  } else if (steps != 0) {
    measure_steps(run, steps, every);
  } else {
    for (int i = 0; i < 6; ++i) {
      STRATA_STEP();
      run.token();
    }
    run.measure();
  }
  std::printf("}\n");
}
