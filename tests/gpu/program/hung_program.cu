// A program that comes into a state on a real device and then ends in a way: `hung_program STATE
// WAY`. `hung_program ways` prints the ways, and what Strata says at each. hung_test.py runs it.
#include "endings.hpp"

#include <strata/range.hpp>
#include <strata/strata.hpp>

#include <cuda_runtime.h>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int not_here = 77;

/// Runs until the host says so: a collective whose peer is dead, or waits for this thread.
__global__ void run_until(int volatile* released) {
  while (*released == 0) {
  }
}

/// Runs for so long, by the device's own clock.
__global__ void run_for(unsigned long long ns) {
  unsigned long long begin = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

__global__ void add(float* values) { values[threadIdx.x] += 1.0f; }

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(code));
  std::exit(not_here);
}

void say(char const* text) {
  std::puts(text);
  std::fflush(stdout);
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// A second context of the device. Which one is current, the driver is told.
class second_context {
 public:
  void enter() {
    auto* const create =
        driver_call<int(void** context, unsigned flags, int device)>("cuCtxCreate_v2");
    auto* const ask = driver_call<int(void** context)>("cuCtxGetCurrent");
    void* made = nullptr;
    if (ask(&first_) != 0 || create(&made, 0, 0) != 0) std::exit(not_here);
  }
  void leave() const {
    if (driver_call<int(void* context)>("cuCtxSetCurrent")(first_) != 0) std::exit(not_here);
  }

 private:
  template <class Function>
  static Function* driver_call(char const* name) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* const found = driver == nullptr ? nullptr : dlsym(driver, name);
    if (found == nullptr) std::exit(not_here);
    return reinterpret_cast<Function*>(found);
  }

  void* first_ = nullptr;
};

/// What is on the device.
class device_work {
 public:
  /// Both streams have run once: what is loaded with the first launch is there.
  device_work() {
    check(cudaHostAlloc(&released_, sizeof *released_, cudaHostAllocPortable));
    *released_ = 1;
    open();
  }
  /// Streams and memory of the context that is current.
  void open() {
    check(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
    check(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking));
    check(cudaMalloc(&values_, 64 * sizeof(float)));
    run_until<<<1, 1, 0, other_>>>(released_);
    run_for<<<1, 1, 0, other_>>>(0);
    add<<<1, 64, 0, own_>>>(values_);
    check(cudaStreamSynchronize(other_));
    check(cudaStreamSynchronize(own_));
  }

  void launch() const {
    STRATA_RANGE("good");
    add<<<1, 64, 0, own_>>>(values_);
  }
  void work() const {
    launch();
    check(cudaStreamSynchronize(own_));
  }
  void step() const {
    STRATA_STEP();
    work();
  }
  /// From here on the other stream has work until `release`.
  void hang() const {
    *released_ = 0;
    STRATA_RANGE("stuck");
    run_until<<<1, 1, 0, other_>>>(released_);
  }
  /// The other stream has work for a while.
  void be_busy() const {
    STRATA_RANGE("busy");
    run_for<<<1, 1, 0, other_>>>(500'000'000ull);
  }
  void release() const { *released_ = 1; }
  void wait_for_other() const {
    STRATA_RANGE("all-reduce");
    check(cudaStreamSynchronize(other_));
  }
  void begin_capture() const {
    cudaStream_t captured = nullptr;
    check(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal));
    STRATA_RANGE("captured");
    add<<<1, 64, 0, captured>>>(values_);
  }

 private:
  int* released_ = nullptr;
  cudaStream_t own_ = nullptr;
  cudaStream_t other_ = nullptr;
  float* values_ = nullptr;
};

/// Steps during work of another stream, which ends when the host says so: after so many steps, or
/// by a thread after so long. Prints the longest steps meanwhile.
void run_beside(device_work const& device, int steps_held, int release_after_ms) {
  device.hang();
  std::thread later;
  if (release_after_ms != 0) {
    later = std::thread([&device, release_after_ms] {
      usleep(static_cast<unsigned>(release_after_ms) * 1000u);
      device.release();
    });
  }
  std::vector<double> held;
  for (int step = 0; step < 20; ++step) {
    auto const begin = std::chrono::steady_clock::now();
    if (step == steps_held) device.release();
    device.step();
    if (step < steps_held) held.push_back(milliseconds_since(begin));
  }
  if (later.joinable()) later.join();
  device.wait_for_other();
  std::sort(held.rbegin(), held.rend());
  std::printf("longest step %.3f ms, then %.3f ms\n", held[0], held[1]);
}

/// What happens to be under way when the program ends.
struct state {
  device_work device;
  strata::phases open;
  std::unique_ptr<strata::scoped_step> step;

  void enter(std::string const& which) {
    for (int i = 0; i < 3; ++i) device.step();
    if (which == "busy") device.be_busy();
    if (which == "hung" || which == "watched") device.hang();
    if (which == "capture" || which == "hung-capture") device.begin_capture();
    if (which == "hung-capture") device.hang();
    if (which == "step") {  // in one that counts, where steps do
      step = std::make_unique<strata::scoped_step>();
      open.next("counted");
      device.launch();
    }
    if (which == "window") {  // its window ends before its work does
      step = std::make_unique<strata::scoped_step>();
      device.be_busy();
      step.reset();
    }
    if (which == "contexts") enter_both_contexts();
    if (which == "threads") {
      std::thread([this] {
        device.hang();
        device.wait_for_other();
      }).detach();
      usleep(300'000);
    }
    if (which == "spin") run_beside(device, 12, 0);
    if (which == "held") run_beside(device, 20, 1500);
  }

 private:
  /// A kernel without an end in each.
  void enter_both_contexts() {
    second_context other;
    other.enter();
    auto* const second = new device_work;  // stays, as the context does
    second->hang();
    other.leave();
    device.hang();
  }
};

int end(std::string const& way, state& now) {
  if (way == "wait") {
    say("waiting");
    now.device.wait_for_other();
    return 1;
  }
  if (way ==
      "pthread_exit") {  // threads of the driver continue, so that one of ours ends the process
    endings::start_worker([] { std::exit(9); });
    pthread_exit(nullptr);
  }
  return endings::end(way);
}

void print_ways() {
  for (endings::way_row const& way : endings::ways) {
    if (!way.on_device) continue;
    char const* const words[] = {"report", "sentence", "nothing"};
    std::printf("%s %s\n", way.name, words[static_cast<int>(way.what)]);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count == 2) {
    print_ways();
    return 0;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return not_here;
  auto* const now = new state;  // its ranges stay open
  now->enter(words[1]);
  say("ending");
  return end(words[2], *now);
}
