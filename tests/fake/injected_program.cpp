// A CUDA program without Strata, for the library of tools/inject. With INJECTED_RANGES=1 it
// includes range.hpp alone, with 2 the light strata.hpp, with or without an implementation next to
// it, with 3 its ranges and steps are in a unit of C. It links none of the stand-ins:
// FAKE_CUDA_FILE and FAKE_CUPTI_FILE name them. Arguments are done in order:
//   init              cuInit                     context       makes a context
//   work=N            N kernels                  copy          a copy to the device
//   step=N            a step with N kernels
//   push=NAME pop     NVTX                       other=NAME    another client owns CUPTI
//   handler           handles SIGINT itself      wait          until a signal comes
//   throw             an exception leaves main, told to a C++ library that others can reach or not
//   child             a forked child works and ends
//   nccl=VERSION      calls the plugin that NCCL_PROFILER_PLUGIN names as NCCL does
//   tell              what CUPTI and the driver were asked for
// It says `done` and ends with exit code 5.
#if INJECTED_RANGES == 1
#include <strata/range.hpp>
#elif INJECTED_RANGES == 2
#include <strata/strata.hpp>
#elif INJECTED_RANGES == 3
#include "../forked_leaks.hpp"
#include "injected_c.h"
#endif
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define INJECTED_NVTX 1
#endif

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "fake.hpp"

namespace {

[[noreturn]] void throw_out() {
  void* const handle = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  bool const shared = handle != nullptr && dlsym(handle, "_ZSt13set_terminatePFvvE") ==
                                               reinterpret_cast<void*>(&std::set_terminate);
  std::puts(shared ? "shared C++ library" : "own C++ library");
  std::fflush(stdout);
  throw std::runtime_error("nobody catches this");
}

void* library(char const* variable) {
  void* const handle = dlopen(std::getenv(variable), RTLD_NOW);
  if (handle == nullptr) {
    std::puts(dlerror());
    std::exit(99);
  }
  return handle;
}

template <class Function>
Function* in(char const* variable, char const* name) {
  return reinterpret_cast<Function*>(dlsym(library(variable), name));
}
#define CUDA(name) in<decltype(name)>("FAKE_CUDA_FILE", #name)
#define CUPTI(name) in<decltype(name)>("FAKE_CUPTI_FILE", #name)

void launch(int times) {
  fake_kernel kernel;
  kernel.name = "_Z4gemmPf";
  for (int i = 0; i < times; ++i) (void)CUPTI(fake_launch)(&kernel);
}

void work(int times) {
#if INJECTED_RANGES == 3
  annotated_work(&launch, times);
#else
#if INJECTED_RANGES
  STRATA_RANGE("own");
#endif
  launch(times);
#endif
}

void step(int times) {
#if INJECTED_RANGES == 3
  annotated_step(&work, times);
#else
#if INJECTED_RANGES
  STRATA_STEP();
#endif
  work(times);
#endif
}

void say(char const* text) { (void)!write(1, text, std::strlen(text)); }

volatile std::sig_atomic_t interrupted = 0;

void wait_for_signal() {
  usleep(1);  // ThreadSanitizer loses a signal that comes in a thread's first call that may wait
  say("ready\n");
  while (interrupted == 0) usleep(1000);
}

void child() {
  pid_t const made = fork();
  if (made == 0) {
    work(1);
    std::exit(0);
  }
  int status = 0;
  (void)waitpid(made, &status, 0);
  std::printf("child %d\n", status);
}

// What NCCL hands to a profiler plugin, written independently of what the plugin expects:
// nccl_profiler.h of NCCL 2.32, with what version 7 has behind a collective.
template <class Type>
struct nccl_event {
  Type type;
  void* parent;
  int rank;
  union {
    struct {
      std::uint64_t sequence;
      char const* function;
      void const* from;
      void* to;
      std::size_t count;
      int root;
      char const* datatype;
      std::uint8_t channels, warps;
      char const *algorithm, *protocol;
      void* group;
      char const* variant;
      bool symmetric;
      std::uint64_t tag;
    } collective;
    struct {
      char const* function;
      void* buffer;
      char const* datatype;
      std::size_t count;
      int peer;
      std::uint8_t channels;
      void* group;
    } point;
  };
};
struct nccl_plugin {
  char const* name;
  void (*init)();
  int (*start)(void* context, void** handle, void* event);
  int (*stop)(void* handle);
  int (*record)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

template <class Type>
void nccl_group(nccl_plugin const& plugin, void* context, int wanted) {
  void* group = nullptr;
  void* handle = nullptr;
  nccl_event<Type> event{};
  event.type = 1;
  if ((wanted & 1) != 0) (void)plugin.start(context, &group, &event);
  if (group == nullptr) return std::puts("no group"), void();
  event.type = 2;
  event.collective.function = "AllReduce";
  event.collective.count = 1000;
  event.collective.datatype = "ncclBfloat16";
  event.collective.channels = 16;
  event.collective.algorithm = "RING";
  event.collective.protocol = "LL128";
  if ((wanted & 2) != 0) (void)plugin.start(context, &handle, &event);
  launch(1);
  (void)plugin.stop(handle);
  for (int const peer : {2, 3}) {
    event = {};
    event.type = 4;
    event.rank = 3;
    event.point.function = "Send";
    event.point.datatype = "ncclInt8";
    event.point.count = 4096;
    event.point.peer = peer;
    event.point.channels = 1;
    if ((wanted & 4) != 0) (void)plugin.start(context, &handle, &event);
    (void)plugin.record(handle, 22, nullptr);
    (void)plugin.stop(handle);
  }
  event = {};
  event.type = 2;
  event.collective.function = "AllGather";
  event.collective.datatype = "Unknown";
  if ((wanted & 2) != 0) (void)plugin.start(context, &handle, &event);
  event.type = 64;  // one of a later version
  (void)plugin.start(context, &handle, &event);
  (void)plugin.stop(group);
}

void nccl(std::string const& version) {
  void* const handle = library("NCCL_PROFILER_PLUGIN");
  auto const* const plugin =
      static_cast<nccl_plugin const*>(dlsym(handle, ("ncclProfiler_v" + version).c_str()));
  if (plugin == nullptr) return std::puts("no plugin"), void();
  void* context = nullptr;
  int wanted = -1;
  using init_v4 = int(void**, int*, char const*, std::uint64_t, int, int, int, void*);
  using init_v5 = int(void**, std::uint64_t, int*, char const*, int, int, int, void*);
  if (version == "4")
    (void)reinterpret_cast<init_v4*>(plugin->init)(&context, &wanted, "", 7, 1, 8, 3, nullptr);
  else
    (void)reinterpret_cast<init_v5*>(plugin->init)(&context, 7, &wanted, "", 1, 8, 3, nullptr);
  std::printf("%s wants %d\n", plugin->name, wanted);
  if (version == "4")
    nccl_group<std::uint8_t>(*plugin, context, wanted);
  else
    nccl_group<std::uint64_t>(*plugin, context, wanted);
  (void)plugin->finalize(context);
  dlclose(handle);
}

void run(std::string const& word) {
  std::size_t const sign = word.find('=');
  std::string const key = word.substr(0, sign);
  std::string const value = sign == std::string::npos ? "" : word.substr(sign + 1);
  if (key == "init") std::printf("cuInit: %d\n", in<int(unsigned)>("FAKE_CUDA_FILE", "cuInit")(0));
  if (key == "context") CUPTI(fake_create_context)(1);
  if (key == "work") work(std::atoi(value.c_str()));
  if (key == "step") step(std::atoi(value.c_str()));
  if (key == "copy") (void)CUPTI(fake_copy)(1, 4096, 7, 100);
  if (key == "other") CUPTI(fake_set_other_client)(value.c_str());
  if (key == "handler") std::signal(SIGINT, [](int) { interrupted = 1; });
  if (key == "wait") wait_for_signal();
  if (key == "throw") throw_out();
  if (key == "child") child();
  if (key == "nccl") nccl(value);
#if INJECTED_NVTX
  if (key == "push") (void)nvtxRangePushA(value.c_str());
  if (key == "pop") (void)nvtxRangePop();
#endif
  if (key == "tell") {
    std::printf("subscribed: %zu\n", CUPTI(fake_calls)("cuptiSubscribe"));
    std::printf("misuses: %zu %zu\n", CUDA(fake_cuda_misuse_count)(), CUPTI(fake_misuse_count)());
  }
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) run(words[i]);
  std::puts("done");
  return 5;
}
