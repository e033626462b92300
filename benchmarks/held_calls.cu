// How long calls of the driver are held up while windows and sessions begin and end beside them:
//
//   held_calls MODE      one line of JSON a kind of call; exit code 1 where kernels are missing
//
// MODE: plain; windows: a schedule; attach: CUPTI comes with the first window; sessions: one begins
// and ends every five steps; bare: a bare client comes after fifty steps. One thread steps, three
// launch kernels, and two make and launch graphs, but for attach, sessions and bare: CUPTI 13.0 may
// crash where it comes beside graphs. Microseconds, by the calling thread's clock.
#include "bare_client.hpp"

#include <cuda_runtime.h>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

__global__ void empty() {}

namespace {

constexpr int steps = 400;
constexpr int kernels_a_step = 50;
constexpr int steps_a_session = 5;
constexpr int steps_a_period = 10;
constexpr int steps_a_window = 2;

void check(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "held_calls: %s: %s\n", what, cudaGetErrorString(code));
  std::exit(2);
}

/// The times of one kind of call, in us.
class call_times {
 public:
  template <class Call>
  void time(Call call) {
    auto const begin = std::chrono::steady_clock::now();
    call();
    std::chrono::duration<double, std::micro> const taken =
        std::chrono::steady_clock::now() - begin;
    us_.push_back(taken.count());
  }
  void add(call_times const& other) { us_.insert(us_.end(), other.us_.begin(), other.us_.end()); }

  void print(std::string const& mode, char const* call) {
    if (us_.empty()) return;
    std::sort(us_.begin(), us_.end());
    auto const at_share = [&](double share) {
      return us_[static_cast<std::size_t>(share * static_cast<double>(us_.size() - 1))];
    };
    std::size_t const over =
        static_cast<std::size_t>(us_.end() - std::upper_bound(us_.begin(), us_.end(), 5'000.0));
    std::printf(
        "{\"bench\":\"held_calls\",\"mode\":\"%s\",\"call\":\"%s\",\"calls\":%zu,\"median_us\":%."
        "2f,"
        "\"p9999_us\":%.1f,\"longest_us\":%.1f,\"over_5_ms\":%zu}\n",
        mode.c_str(), call, us_.size(), at_share(0.5), at_share(0.9999), us_.back(), over);
  }

 private:
  std::vector<double> us_;
};

std::atomic<bool> goes_on{true};

void launch_kernels(call_times& launches) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  while (goes_on.load()) {
    for (int i = 0; i < 64; ++i) launches.time([&] { empty<<<1, 32, 0, stream>>>(); });
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

void make_graphs(call_times& calls) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  while (goes_on.load()) {
    cudaGraph_t made = nullptr;
    cudaGraphExec_t ready = nullptr;
    calls.time([&] {
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin of a capture");
    });
    for (int i = 0; i < 20; ++i) empty<<<1, 32, 0, stream>>>();
    calls.time([&] { check(cudaStreamEndCapture(stream, &made), "end of a capture"); });
    calls.time([&] { check(cudaGraphInstantiate(&ready, made, 0), "cudaGraphInstantiate"); });
    for (int i = 0; i < 20; ++i)
      calls.time([&] { check(cudaGraphLaunch(ready, stream), "cudaGraphLaunch"); });
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    calls.time([&] { check(cudaGraphExecDestroy(ready), "cudaGraphExecDestroy"); });
    check(cudaGraphDestroy(made), "cudaGraphDestroy");
  }
}

void step(cudaStream_t stream) {
  {
    STRATA_STEP();
    STRATA_RANGE("work");
    for (int i = 0; i < kernels_a_step; ++i) empty<<<1, 32, 0, stream>>>();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the others go on
}

bool has_windows(std::string const& mode) { return mode == "windows" || mode == "attach"; }

strata::options how_of(std::string const& mode) {
  strata::options how;
  how.table = how.csv = how.json = how.chrome_trace = false;
  how.nvtx = strata::options::nvtx_mode::off;
  if (!has_windows(mode)) return how;
  how.every = steps_a_period;
  how.active = steps_a_window;
  how.attach_in_window = mode == "attach";
  return how;
}

void print(strata::session const& session) {
  for (strata::status const& problem : session.problems())
    std::fprintf(stderr, "held_calls: %s\n", problem.message().c_str());
}

void start(strata::session& session) {
  bool const begun = session.start().ok();
  print(session);
  if (!begun) std::exit(2);
}

/// Whether the session recorded the kernels of so many steps in their range.
bool is_whole(strata::session& session, int recorded_steps) {
  strata::profile const& p = session.profile();
  int kernels = 0;
  for (strata::kernel_record const& kernel : p.kernels)
    kernels += p.names[p.nodes[kernel.node].name] == "work" && kernel.adopted == 0 ? 1 : 0;
  int const expected = recorded_steps * kernels_a_step;
  if (kernels == expected) return true;
  std::fprintf(stderr, "held_calls: %d kernels of %d\n", kernels, expected);
  print(session);
  return false;
}

/// Drives the steps with sessions or windows beside them. Returns: whether all kernels were seen.
bool drive(std::string const& mode, strata::session& session, cudaStream_t stream,
           call_times& begins, call_times& ends) {
  bool whole = true;
  for (int i = 0; i < steps; ++i) {
    if (mode == "sessions" && i % steps_a_session == 0) begins.time([&] { start(session); });
    if (mode == "bare" && i == steps / 8) begins.time([] { bare_client::instance().start(false); });
    step(stream);
    if (mode == "sessions" && i % steps_a_session == steps_a_session - 1) {
      ends.time([&] { session.stop(); });
      whole = is_whole(session, steps_a_session) && whole;
    }
  }
  if (!has_windows(mode)) return whole;
  ends.time([&] { session.stop(); });
  return is_whole(session, steps / steps_a_period * steps_a_window);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const mode = argc > 1 ? argv[1] : "plain";
  (void)unsetenv("STRATA");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  step(stream);
  bool const makes_graphs = mode == "plain" || mode == "windows";
  call_times launches[3];
  call_times graph_calls[2];
  call_times begins;
  call_times ends;
  std::vector<std::thread> others;
  strata::session session{how_of(mode)};
  if (has_windows(mode)) start(session);
  for (call_times& times : launches) others.emplace_back([&times] { launch_kernels(times); });
  for (call_times& times : graph_calls)
    if (makes_graphs) others.emplace_back([&times] { make_graphs(times); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  bool const whole = drive(mode, session, stream, begins, ends);
  goes_on.store(false);
  for (std::thread& other : others) other.join();
  call_times all_launches;
  call_times all_graph_calls;
  for (call_times const& times : launches) all_launches.add(times);
  for (call_times const& times : graph_calls) all_graph_calls.add(times);
  all_launches.print(mode, "launch");
  all_graph_calls.print(mode, "graph call");
  begins.print(mode, "begin");
  ends.print(mode, "end");
  return whole ? 0 : 1;
}
