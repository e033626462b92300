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
//       strata-kernels  Strata's trace=kernels
#include <cuda_runtime.h>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "bare_client.hpp"
#include "memory.hpp"

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

// ---- launches ----

/// How full the stream is kept: never more than 16 launches and only these timed, so that the host
/// never waits; 256 and the waits timed too; as full as it gets; 256 with a temporary of the device
/// each, as libraries of tensors have them: an allocation and a release beside each launch.
enum class shape { drained, batched, full, allocating };
constexpr shape shapes[] = {shape::drained, shape::batched, shape::full, shape::allocating};
constexpr char const* names[] = {"drained", "batched", "full", "allocating"};

char const* name_of(shape which) { return names[static_cast<int>(which)]; }

template <bool Range>
void launch_some(int count, bool allocating, cudaStream_t stream) {
  for (int i = 0; i < count; ++i) {
    void* temporary = nullptr;
    if (allocating) check(cudaMalloc(&temporary, 1 << 16), "cudaMalloc");
    if constexpr (Range) {
      STRATA_RANGE("launch");
      empty<<<1, 32, 0, stream>>>();
    } else {
      empty<<<1, 32, 0, stream>>>();
    }
    if (allocating) check(cudaFree(temporary), "cudaFree");
  }
}

/// ns a launch, over one window.
template <bool Range>
double window(shape which, int launches, cudaStream_t stream) {
  int const group = which == shape::drained ? 16 : which == shape::full ? launches : 256;
  double seconds = 0.0;
  int done = 0;
  for (; done < launches; done += group) {
    auto const begin = clock_type::now();
    launch_some<Range>(group, which == shape::allocating, stream);
    if (which != shape::drained) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    seconds += seconds_since(begin);
    if (which == shape::drained) check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  return seconds * 1e9 / done;
}

double resident_mb() { return memory_kib("VmRSS") / 1024.0; }

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
  bool const traced = mode == "strata" || mode == "strata-range" || mode == "strata-kernels";
  bool const range = mode == "strata-range" || mode == "idle";
  if (!bare && !traced && !range && mode != "plain") {
    std::fprintf(stderr,
                 "launch_bench: MODE is plain, idle, bare-short, bare, strata, strata-kernels or "
                 "strata-range\n");
    return 2;
  }
  unsetenv("STRATA");
  unsetenv("NVTX_INJECTION64_PATH");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  (void)window<false>(shape::batched, 4096, stream);

  double const before_mb = resident_mb();
  std::string const out = "launch-bench-report-" + std::to_string(static_cast<long>(getpid()));
  strata::options how = trace_only(report > 0, out);
  if (mode == "strata-kernels") how.trace_copies = how.trace_memory = how.trace_waits = false;
  strata::session session{how};
  if (bare) bare_client::instance().start(mode == "bare");
  if (traced) {
    strata::status const outcome = session.start();
    for (strata::status const& problem : session.problems())
      std::fprintf(stderr, "launch_bench: %s\n", problem.message().c_str());
    if (!outcome.ok() || !session.problems().empty()) return 1;
  }
  auto const run = [&](shape which, int count) {
    if (which == shape::allocating) count /= 10;  // 60 us each
    return range ? window<true>(which, count, stream) : window<false>(which, count, stream);
  };
  for (shape which : shapes) (void)run(which, 4096);

  if (report > 0) {
    (void)run(shape::batched, report);
    double const traced_mb = resident_mb();
    auto begin = clock_type::now();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
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
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
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
