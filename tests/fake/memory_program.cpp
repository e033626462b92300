// A program that grows what Strata keeps, in a process of its own, and says how much it has grown:
//     fake_memory_program <what> <options of STRATA>
// Without options a client of CUPTI listens that keeps nothing: what the stand-ins take themselves.
// Prints `name number` lines. Units: KB of resident memory that is no file's, counts.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/tables/call_tree.hpp>
#include "fake.hpp"

namespace {

/// Of "RssAnon:" or "VmHWM:". Units: KB.
long memory_kb(char const* what) {
  std::ifstream status("/proc/self/status");
  long kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == what) status >> kilobytes;
  return kilobytes;
}

void print(char const* name, std::uint64_t number) {
  std::printf("%s %llu\n", name, static_cast<unsigned long long>(number));
}

/// The stand-in's own copies of records would need the memory while its thread has no turn.
void let_deliver() {
  while (fake_pending() > 4'000) std::this_thread::yield();
}

/// Names that live as long as the program, as CUPTI's do.
std::vector<std::string> const& kernel_names() {
  static std::vector<std::string> const names = [] {
    std::vector<std::string> made;
    for (int kernel = 0; kernel < 50; ++kernel) made.push_back("kernel_" + std::to_string(kernel));
    return made;
  }();
  return names;
}

std::uint64_t launched = 0;  // kernels that ran
std::uint64_t launched_ns = 0;

void launch(int kernel, std::uint64_t duration_ns, std::uint32_t stream = 7) {
  fake_kernel made;
  made.name = kernel_names()[static_cast<std::size_t>(kernel)].c_str();
  made.duration_ns = duration_ns;
  made.stream = stream;
  (void)fake_launch(&made);
}

/// Durations from 1 us to 1 ms, spread over all octaves.
std::uint64_t varied_ns(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  unsigned const octave = static_cast<unsigned>(state >> 60) % 10;
  return (std::uint64_t{1000} << octave) + (state >> 33) % (std::uint64_t{1000} << octave);
}

/// Ranges of so many nodes, below a hundred of the same name each.
void ranges(int count, int kernels, int rounds) {
  std::uint64_t state = 1;
  for (int round = 0; round < rounds; ++round) {
    for (int index = 0; index < count; ++index) {
      STRATA_RANGE("outer", index / 1000);
      STRATA_RANGE("inner", index % 1000);
      for (int kernel = 0; kernel < kernels; ++kernel) {
        std::uint64_t const duration_ns = varied_ns(state);
        launch(kernel, duration_ns,
               100 + static_cast<std::uint32_t>(launched % 64));  // so that the device keeps up
        ++launched;
        launched_ns += duration_ns;
      }
      let_deliver();
    }
  }
}

void graphs(int count) {
  constexpr std::uint32_t stream = 9;
  std::vector<fake_graph_t> made;
  for (int graph = 0; graph < count; ++graph) {
    STRATA_RANGE("graph", graph % 100);
    (void)fake_begin_capture(stream);
    for (int kernel = 0; kernel < 20; ++kernel) launch(kernel, 1000, stream);
    fake_graph_t const captured = fake_end_capture(stream);
    fake_graph_t const executable = fake_graph_clone(captured);
    (void)fake_graph_launch(executable, stream);
    launched += 20;
    launched_ns += 20 * 1000;
    made.push_back(captured);
    made.push_back(executable);
    let_deliver();
  }
}

void allocations(int count) {
  STRATA_RANGE("allocations");
  for (int index = 0; index < count; ++index) {
    (void)fake_malloc(0x7000'0000'0000u + 512u * static_cast<std::uint64_t>(index), 512, 3, 0);
    let_deliver();
  }
}

/// A client that takes each kind of record and forgets it.
void listen_and_forget() {
  using namespace strata::detail;
  cupti::table const& api = cupti_library::get().api;
  (void)api.register_callbacks(
      [](std::uint8_t** buffer, std::size_t* size, std::size_t* most) noexcept {
        *size = 1 << 16;
        *most = 0;
        *buffer = static_cast<std::uint8_t*>(std::calloc(1, *size));
      },
      [](void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) noexcept {
        std::free(buffer);
      });
  for (cupti::activity_kind const kind : {cupti::activity_kind::concurrent_kernel,
                                          cupti::activity_kind::copy, cupti::activity_kind::memory})
    (void)api.activity_enable(kind);
}

void act(std::string const& what) {
  if (what == "nodes") ranges(8'000, 5, 20);
  if (what == "ranges") ranges(100'000, 50, 1);
  if (what == "graphs") graphs(10'000);
  if (what == "allocations") allocations(1'000'000);
}

}  // namespace

int main(int count, char** texts) {
  if (count < 2) return 2;
  (void)kernel_names();
  fake_set_auto_delivery(2'000);
  bool const records = count > 2;
  strata::vec<std::string> problems;
  strata::options how;
  if (records) how = strata::options::parse(texts[2], problems);
  if (!problems.empty()) return 3;
  if (!records) listen_and_forget();
  long const before = memory_kb("RssAnon:");
  long const max_before = memory_kb("VmHWM:");
  strata::session session(how);
  if (records && !session.start().ok()) return 4;
  act(texts[1]);
  print("grown_kb", static_cast<std::uint64_t>(memory_kb("RssAnon:") - before));
  print("peak_kb", static_cast<std::uint64_t>(memory_kb("VmHWM:") - max_before));
  if (!records) return 0;
  session.stop();
  strata::profile const& made = session.profile();
  if (!session.report().ok()) return 5;
  print("peak_with_report_kb", static_cast<std::uint64_t>(memory_kb("VmHWM:") - max_before));
  print("log_bytes", made.cost.log_bytes);
  print("activity_bytes", made.cost.activity_bytes);
  std::uint64_t kernels = 0;
  std::int64_t kernel_ns = 0;
  std::uint64_t allocations_made = 0;
  std::uint64_t allocated = 0;
  for (strata::device_work const& work : made.device.nodes) {
    kernels += work.kernels;
    kernel_ns += work.kernel_ns;
    allocations_made += work.allocations;
    allocated += work.allocated_bytes;
  }
  std::uint64_t launches = 0;
  for (strata::kernel_sums const& sums : made.device.kernels) launches += sums.count;
  print("kernels", kernels);
  print("kernel_ns", static_cast<std::uint64_t>(kernel_ns));
  print("launched", launched);
  print("launched_ns", launched_ns);
  print("allocations", allocations_made);
  print("allocated_bytes", allocated);
  print("launches_of_kernels", launches);
  print("sums", made.device.kernels.size());
  for (strata::loss_kind const& kind : strata::loss_kinds)
    if (made.losses.*kind.count != 0) print(kind.key.data(), made.losses.*kind.count);
  return 0;
}
