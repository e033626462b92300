// formats=perfetto: the timeline is on the disk while the program runs. Each session runs in a
// forked child, and the parent reads what it left.
#include "../sanitizers.hpp"
#include "../unit/perfetto_reader.hpp"
#include "fake_session.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace fake;
using namespace perfetto_reading;
namespace fs = std::filesystem;

namespace {

constexpr char const* whole_name = "trace.perfetto-trace";
constexpr char const* part_name = "trace.perfetto-trace.part";

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::string bytes_of(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

/// A folder of its own, and numbers that a child shares with the test.
struct trial {
  fs::path folder;
  struct numbers {
    std::atomic<std::uint64_t> launched{0}, resident{0}, peak{0}, folded{0};
    std::atomic<bool> done{false};
  };
  numbers* shared;
  pid_t child = 0;
  int status = 0;

  trial() {
    static int count = 0;
    folder = fs::path("stream_test_out") / std::to_string(++count);
    fs::remove_all(folder);
    fs::create_directories(folder);
    void* const page =
        mmap(nullptr, sizeof(numbers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = new (page) numbers;
  }
  trial(trial const&) = delete;
  trial& operator=(trial const&) = delete;
  ~trial() {
    munmap(shared, sizeof(numbers));
    fs::remove_all(folder);
  }

  template <class Body>
  void run(Body body) {
    std::fflush(nullptr);
    child = fork();
    if (child != 0) return;
    dup2(open((folder / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
    body();
    shared->done = true;
    _exit(0);
  }
  void wait() {
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(said().find("Sanitizer") == std::string::npos);
  }

  strata::options options(std::string const& more) const {
    strata::vec<std::string> problems;
    return strata::options::parse("trace,out=" + (folder / "out").string() + "," + more, problems);
  }
  fs::path out(char const* name) const { return folder / "out" / name; }
  std::string said() const { return bytes_of(folder / "err"); }
};

std::size_t count_of(contents const& all, std::string const& category) {
  return static_cast<std::size_t>(
      std::count_if(all.slices.begin(), all.slices.end(),
                    [&](event const& e) { return e.category == category; }));
}

/// Kilobytes that /proc says of this process.
std::uint64_t memory_of(char const* what) {
  std::ifstream status("/proc/self/status");
  std::uint64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == what) status >> kilobytes;
  return kilobytes;
}

/// Times within a microsecond become equal: the file has one rate of the clock, and that of a whole
/// session is known at its end.
void align(contents& found, contents const& wanted) {
  auto const pull = [](std::int64_t& time, std::int64_t to) {
    if (std::llabs(time - to) < 1000) time = to;
  };
  for (std::size_t i = 0; i < found.slices.size() && i < wanted.slices.size(); ++i) {
    pull(found.slices[i].begin, wanted.slices[i].begin);
    pull(found.slices[i].end, wanted.slices[i].end);
  }
  for (std::size_t i = 0; i < found.arrows.size() && i < wanted.arrows.size(); ++i) {
    pull(std::get<1>(found.arrows[i]), std::get<1>(wanted.arrows[i]));
    pull(std::get<3>(found.arrows[i]), std::get<3>(wanted.arrows[i]));
  }
}

/// A kernel that ends before its call begins, by an error of the clocks, would have no arrow: that
/// error is less than `kernel_ns`, if these are not the default.
void step(int i, std::uint64_t kernel_ns = 1000) {
  STRATA_STEP();
  STRATA_RANGE("outer", i % 3);
  {
    STRATA_RANGE("inner");
    (void)launch("gemm", 7, kernel_ns);
  }
  (void)launch("norm", 7, kernel_ns);
}

}  // namespace

TEST_CASE("a killed program leaves its timeline up to the last second") {
  trial t;
  t.run([&] {
    fake_set_auto_delivery(20);
    session run(t.options("formats=perfetto"));
    (void)run.start();
    STRATA_RANGE("main");  // never ends
    for (int i = 0;; ++i) {
      step(i, 20'000);
      t.shared->launched += 2;
      pause_ms(1);
    }
  });
  pause_ms(1500);
  std::uint64_t const two_seconds_before = t.shared->launched;
  pause_ms(2000);
  kill(t.child, SIGKILL);
  t.wait();
  CHECK(WIFSIGNALED(t.status));
  CHECK_FALSE(fs::exists(t.out(whole_name)));
  reader from;
  from.whole = false;  // of what was under way one end may be there
  contents const found = from.read(bytes_of(t.out(part_name)));
  CHECK(two_seconds_before > 100);
  CHECK(count_of(found, "kernel") >= two_seconds_before);
  CHECK(count_of(found, "driver") >= two_seconds_before);
  CHECK(count_of(found, "range") >= two_seconds_before);
  CHECK(count_of(found, "step") >= two_seconds_before / 2);
  CHECK(found.arrows.size() >= two_seconds_before);
  CHECK(found.sequences.size() == 1);
  for (event const& e : found.slices) {
    bool const good = e.track.find("overlap") == std::string::npos && e.name != "main" &&
                      (e.category != "kernel" || e.args.count("range") == 1);
    if (!good) CHECK(shown(e) == "");
  }
}

TEST_CASE("the file that is written meanwhile says what trace.json says") {
  trial t;
  t.run([&] {
    fake_set_auto_delivery(16);
    session run(t.options("formats=perfetto+trace+csv"));
    (void)run.start();
    for (int i = 0; i < 40; ++i) step(i, 20'000);
    std::thread([] {
      STRATA_RANGE("worker", strata::flops(10.5), strata::tokens(3.5));
      STRATA_RANGE("noted", strata::note("a note"));
      (void)fake_copy(1, 1000, 7, 500);
    }).join();
    (void)fake_begin_capture(7);
    for (int i = 0; i < 3; ++i) (void)launch("captured");
    fake_graph_t const graph = fake_graph_clone(fake_end_capture(7));
    {
      STRATA_RANGE("graphs");
      (void)fake_graph_launch(graph, 7);
      (void)fake_graph_launch(graph, 8);
      (void)fake_memset(64, 9, 100);
      (void)fake_malloc(4096, 1 << 20, 3, 0);
      (void)fake_sync(3, 7, 100);
      (void)fake_free(4096, 1 << 20, 3, 0);
    }
    (void)run.report();
  });
  t.wait();
  CHECK(t.shared->done);
  INFO(t.said());
  CHECK_FALSE(fs::exists(t.out(part_name)));
  contents found = reader().read(bytes_of(t.out(whole_name)));
  contents wanted = from_json(bytes_of(t.out("trace.json")));
  // The ranges of a stream are known when all of its work is.
  auto const of_streams = [](event const& e) { return e.category == "range on GPU"; };
  std::size_t const whole = wanted.slices.size();
  wanted.slices.erase(std::remove_if(wanted.slices.begin(), wanted.slices.end(), of_streams),
                      wanted.slices.end());
  CHECK(wanted.slices.size() < whole);
  found.sort();
  wanted.sort();
  align(found, wanted);
  compare(found.slices, wanted.slices);
  compare(found.instants, wanted.instants);
  CHECK(found.counters == wanted.counters);
  compare(found.arrows, wanted.arrows);
  CHECK(wanted.slices.size() > 300);
  CHECK(wanted.arrows.size() == 40 * 2 + 6 + 2);
}

TEST_CASE("beyond the caps everything is in the file, and memory stays flat") {
  constexpr int rounds = test::sanitized ? 6 : 20;
  constexpr int each = 1'500;
  trial t;
  t.run([&] {
    fake_set_auto_delivery(500);
    strata::options how = t.options("formats=perfetto");
    how.log_mb = how.buffers_mb = 1;
    session run(how);
    (void)run.start();
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < each; ++i) step(i, 20'000);
      pause_ms(100);
      if (round == rounds / 4) t.shared->resident = memory_of("VmRSS:");
    }
    t.shared->resident = memory_of("VmHWM:") - t.shared->resident;
    profile const& p = run.profile();
    t.shared->folded = p.losses.ranges_folded * (p.losses.activity_folded != 0 ? 1 : 0);
    (void)run.report();
  });
  t.wait();
  INFO(t.said());
  CHECK(t.shared->done);
  CHECK(t.shared->folded > 0);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  CHECK(t.shared->resident < 64u << 10);
#endif
  CHECK(fs::exists(t.out(whole_name)));
  contents const found = reader().read(bytes_of(t.out(whole_name)));
  CHECK(count_of(found, "kernel") == 2 * rounds * each);
  CHECK(count_of(found, "driver") == 2 * rounds * each);
  CHECK(count_of(found, "range") == 2 * rounds * each);
  CHECK(count_of(found, "step") == rounds * each);
  CHECK(found.arrows.size() == 2 * rounds * each);
}

TEST_CASE("a full disk ends the timeline with a sentence, and recording goes on") {
  trial t;
  t.run([&] {
    rlimit const limit{64 << 10, 64 << 10};
    (void)setrlimit(RLIMIT_FSIZE, &limit);  // the thread that writes gets a SIGXFSZ, too
    fake_set_auto_delivery(20);
    session run(t.options("formats=perfetto+csv"));
    (void)run.start();
    for (int i = 0; i < 15'000; ++i) {
      step(i);
      if (i % 1000 == 0) pause_ms(100);
    }
    (void)run.report();
    t.shared->launched = run.problems().size();
  });
  t.wait();
  std::string const said = t.said();
  INFO(said);
  CHECK(t.shared->done);
  CHECK(t.shared->launched == 1);
  std::string const sentence = "trace.perfetto-trace.part: File too large; the timeline ends there";
  std::size_t const at = said.find(sentence);
  CHECK(at != said.npos);
  CHECK(said.find(sentence, at + 1) == said.npos);
  CHECK(bytes_of(t.out("ranges.csv")).find(",5000,") != std::string::npos);
  CHECK_FALSE(fs::exists(t.out(whole_name)));
  reader from;
  from.whole = false;
  CHECK(count_of(from.read(bytes_of(t.out(part_name))), "range") > 500);
}

TEST_CASE("a directory that is removed meanwhile: a sentence, and the timeline is written anew") {
  trial t;
  t.run([&] {
    session run(t.options("formats=perfetto,host"));
    (void)run.start();
    { STRATA_RANGE("range"); }
    fs::remove_all(t.out(""));
    t.shared->launched = run.report().ok() ? 1 : 0;
    t.shared->folded = run.problems().size();
  });
  t.wait();
  CHECK(t.shared->done);
  CHECK(t.shared->launched == 0);
  CHECK(t.shared->folded == 1);
  std::string const said = t.said();
  INFO(said);
  std::size_t const at = said.find("trace.perfetto-trace: No such file or directory; choose");
  CHECK(at != said.npos);
  CHECK(said.find("cannot write", at) == said.npos);
  CHECK(reader().read(bytes_of(t.out(whole_name))).slices.at(0).name == "range");
}

TEST_CASE("a session without a report has its timeline, and the next one a directory of its own") {
  trial t;
  t.run([&] {
    for (int i = 0; i < 2; ++i) {
      session run(t.options("formats=perfetto,host"));
      (void)run.start();
      STRATA_RANGE("range", i);
    }
  });
  t.wait();
  CHECK(t.shared->done);
  contents const first = reader().read(bytes_of(t.out(whole_name)));
  REQUIRE(first.slices.size() == 1);
  CHECK(first.slices[0].name == "range[0]");
  fs::path const next = t.folder / "out-2" / whole_name;
  CHECK(reader().read(bytes_of(next)).slices.at(0).name == "range[1]");
}
