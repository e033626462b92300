// formats=recording: what happened is on the disk while the program runs. Each session runs in a
// forked child, and the parent reads what it left.
#include "../patience.hpp"
#include "../sanitizers.hpp"
#include "../unit/trace_reader.hpp"
#include "fake_session.hpp"

#include "recording/recording.hpp"
#include "report/trace.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
#include <unordered_map>
#include <vector>

namespace stream_test {

using namespace fake;
using namespace trace_reading;
namespace fs = std::filesystem;

namespace {

constexpr char const* whole_name = "profile.strata";
constexpr char const* part_name = "profile.strata.part";

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
    std::atomic<std::uint64_t> launched{0}, resident{0}, folded{0}, problems{0};
    std::atomic<bool> done{false}, reported{false};
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

  /// Kills the child when it has got so far, and its file with it.
  void kill_after(std::uint64_t launched) {
    test::await([&] { return shared->launched >= launched; }, [] { pause_ms(10); });
    pause_ms(1000);
    kill(child, SIGKILL);
    wait();
  }

  strata::options options(std::string const& more) const {
    strata::vec<std::string> problems;
    return strata::options::parse("trace,out=" + (folder / "out").string() + "," + more, problems);
  }
  fs::path out(char const* name) const { return folder / "out" / name; }
  std::string said() const { return bytes_of(folder / "err"); }
};

profile read(fs::path const& file, strata::recording_view wanted = strata::recording_view::report) {
  profile recorded;
  strata::status const outcome = strata::read_recording_file(file.string(), recorded, wanted);
  REQUIRE_MESSAGE(outcome.ok(), outcome.message());
  return recorded;
}

std::string trace_of(profile const& recorded) {
  strata::profile_tables tables(recorded);
  std::string text;
  strata::detail::text_writer out(text);
  (void)strata::write_trace(out, tables.input());
  out.flush();
  return text;
}
contents timeline_of(profile const& recorded) { return from_json(trace_of(recorded)); }

/// The path of a node, as `outer[1]/inner`.
std::string path_of(profile const& recorded, std::uint32_t node) {
  if (node == strata::root_node) return {};
  strata::profile_node const& of = recorded.nodes[node];
  std::string const above = path_of(recorded, of.parent);
  return (above.empty() ? above : above + "/") + recorded.names[of.name];
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

/// A step each millisecond, until the program is killed.
void step_until_killed(trial& t) {
  for (int i = 0;; ++i) {
    step(i);
    pause_ms(1);
    t.shared->launched = static_cast<std::uint64_t>(i);
  }
}

}  // namespace

TEST_CASE("a killed program leaves what it had recorded up to the last second") {
  trial t;
  t.run([&] {
    fake_set_auto_delivery(20);
    session run(t.options("formats=recording"));
    (void)run.start();
    { STRATA_RANGE("load"); }
    pause_ms(600);         // the first piece is of the host alone
    STRATA_RANGE("main");  // never ends
    for (int i = 0;; ++i) {
      // Not once: on a busy machine CUPTI may come only after the first one.
      if (i % 100 == 0) (void)fake_malloc(4096u * (1 + static_cast<unsigned>(i)), 1 << 20, 3, 0);
      step(i, 20'000);
      t.shared->launched += 2;
      pause_ms(1);
    }
  });
  pause_ms(2100);
  std::uint64_t const two_seconds_before = t.shared->launched;
  pause_ms(2000);
  kill(t.child, SIGKILL);
  t.wait();
  CHECK(WIFSIGNALED(t.status));
  CHECK_FALSE(fs::exists(t.out(whole_name)));
  CHECK(fs::read_symlink(t.folder / "out-latest") == "out");
  profile const found = read(t.out(part_name));
  CHECK(two_seconds_before > 100);
  CHECK(found.kernels.size() >= two_seconds_before);
  CHECK(found.launches.size() >= two_seconds_before);
  CHECK(found.ranges.size() >= two_seconds_before);
  CHECK(found.steps.size() >= two_seconds_before / 2);
  CHECK(found.memory.size() >= 1);
  CHECK(found.threads.size() == 1);
  CHECK(found.environment.devices.size() == 1);
  CHECK(found.environment.options.find("formats=recording") != std::string::npos);
  CHECK(found.end > 2'500'000'000);
  CHECK(found.has_steps);
  CHECK(found.traced);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].find("The recording has no end: ") == 0);
  for (strata::kernel_record const& kernel : found.kernels) {
    std::string const path = path_of(found, kernel.node);
    bool const good = path == "main/outer/inner" || path == "main/outer";
    if (!good) CHECK(path == "");
  }
  CHECK(timeline_of(found).arrows.size() >= two_seconds_before);
}

TEST_CASE("what is written meanwhile has the timeline of trace.json") {
  trial t;
  t.run([&] {
    fake_set_auto_delivery(16);
    session run(t.options("formats=recording+trace.json+csv"));
    (void)run.start();
    for (int i = 0; i < 40; ++i) step(i, test::thread_sanitized ? 200'000 : 20'000);
    std::thread([] {
      STRATA_RANGE("worker", strata::flops(10.5), strata::tokens(3.5));
      STRATA_RANGE("noted", strata::note("a note"));
      (void)fake_copy(1, 1000, 7, 500);
    }).join();
    pause_ms(600);  // the rest comes in other pieces
    (void)fake_begin_capture(7);
    for (int i = 0; i < 3; ++i) (void)launch("captured");
    fake_graph_t const graph = fake_graph_clone(fake_end_capture(7));
    {
      STRATA_RANGE("graphs", strata::flops(7));
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
  CHECK(trace_of(read(t.out(whole_name))) == bytes_of(t.out("trace.json")));
  profile const streamed = read(t.out(whole_name), strata::recording_view::timeline);
  contents found = timeline_of(streamed);
  contents wanted = from_json(bytes_of(t.out("trace.json")));
  found.sort();
  wanted.sort();
  align(found, wanted);
  compare(found.slices, wanted.slices);
  compare(found.instants, wanted.instants);
  CHECK(found.counters.size() == wanted.counters.size());
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
    strata::options how = t.options("formats=recording");
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
    t.shared->folded = p.losses.ranges_summed * (p.losses.activity_summed != 0 ? 1 : 0);
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
  profile const report = read(t.out(whole_name));
  CHECK(report.losses.ranges_summed == t.shared->folded);
  CHECK(report.kernels.size() < 2 * rounds * each);
  profile const found = read(t.out(whole_name), strata::recording_view::timeline);
  CHECK(found.kernels.size() == 2 * rounds * each);
  CHECK(found.launches.size() == 2 * rounds * each);
  CHECK(found.ranges.size() == 2 * rounds * each);
  CHECK(found.steps.size() == rounds * each);
  std::unordered_map<std::uint32_t, std::int64_t> called;
  for (strata::driver_call_record const& launch : found.launches)
    called[launch.correlation] = launch.begin;
  std::size_t drawn = 0;  // all, unless the clocks are further apart than a kernel is long
  for (strata::kernel_record const& kernel : found.kernels)
    drawn += called.at(kernel.correlation) <= kernel.end ? 1 : 0;
  CHECK(timeline_of(found).arrows.size() == drawn);
  CHECK(drawn >= (test::thread_sanitized ? 1 : 2) * std::size_t{rounds} * each);
}

TEST_CASE("what CUPTI delivers at the end alone is all in the file") {
  constexpr int steps = 40'000;  // more kernels than a piece has
  trial t;
  t.run([&] {
    session run(t.options("formats=recording,drain=60000"));
    (void)run.start();
    for (int i = 0; i < steps; ++i) step(i);
    (void)run.report();
  });
  t.wait();
  INFO(t.said());
  CHECK(t.shared->done);
  profile const found = read(t.out(whole_name), strata::recording_view::timeline);
  CHECK(found.kernels.size() == 2 * steps);
  CHECK(found.launches.size() == 2 * steps);
}

TEST_CASE("a full disk ends the recording with a sentence, and the tables continue") {
  trial t;
  t.run([&] {
    rlimit const limit{512 << 10, 512 << 10};
    (void)setrlimit(RLIMIT_FSIZE, &limit);  // the thread that writes gets a SIGXFSZ, too
    fake_set_auto_delivery(20);
    session run(t.options("formats=recording+csv"));
    (void)run.start();
    for (int i = 0; i < 15'000; ++i) {
      step(i);
      if (i % 1000 == 0) pause_ms(100);
    }
    (void)run.report();
    t.shared->problems = run.problems().size();
  });
  t.wait();
  std::string const said = t.said();
  INFO(said);
  CHECK(t.shared->done);
  CHECK(t.shared->problems == 1);
  std::string const sentence = "profile.strata.part: File too large; the recording ends there";
  std::size_t const at = said.find(sentence);
  CHECK(at != said.npos);
  CHECK(said.find(sentence, at + 1) == said.npos);
  CHECK(bytes_of(t.out("ranges.csv")).find(",5000,") != std::string::npos);
  CHECK_FALSE(fs::exists(t.out(whole_name)));
  CHECK(read(t.out(part_name)).ranges.size() > 500);
}

TEST_CASE("a disk that has no room for the report leaves what was written before") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording"));
    (void)run.start();
    for (int i = 0; i < 1000; ++i) step(i);
    (void)run.profile();
    auto const written = static_cast<rlim_t>(fs::file_size(t.out(part_name)));
    rlimit const limit{written + 5000, written + 5000};
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    (void)run.report();
  });
  t.wait();
  CHECK(t.shared->done);
  CHECK(t.said().find("profile.strata.part: File too large; the recording ends there") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(t.out(whole_name)));
  CHECK(read(t.out(part_name)).ranges.size() == 2000);
}

TEST_CASE("a killed program's recording has what was said when it began") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording,counters=no_such_metric"));
    (void)run.start();
    step_until_killed(t);
  });
  t.kill_after(100);
  profile const found = read(t.out(part_name));
  REQUIRE(found.problems.size() == 2);
  CHECK(found.problems[0].find("no_such_metric") != std::string::npos);
  CHECK(found.problems[1].find("The recording has no end: ") == 0);
}

TEST_CASE("what a thread does after main has ended is on the disk within a second") {
  trial t;
  t.run([&] {
    auto* const run = new session(t.options("formats=recording"));
    (void)run->start();
    std::thread([&t] { step_until_killed(t); }).detach();
    (void)syscall(SYS_exit, 0);  // as pthread_exit, which would unwind the test
  });
  t.kill_after(1000);
  CHECK(read(t.out(part_name)).ranges.size() >= 1000);
}

TEST_CASE("a program that is killed at once leaves a recording that has nothing yet") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording"));
    (void)run.start();
    kill(getpid(), SIGKILL);
  });
  t.wait();
  profile recorded;
  strata::status const outcome = strata::read_recording_file(t.out(part_name).string(), recorded);
  CHECK(outcome.message().find("It has nothing whole") == 0);
}

TEST_CASE("beyond a full log each range is written once, with its attributes") {
  trial t;
  t.run([&] {
    strata::options how = t.options("formats=recording,host");
    how.log_mb = 1;
    session run(how);
    (void)run.start();
    for (int i = 0;; ++i) {
      STRATA_RANGE("range", strata::tokens(i));
      if (i % 100 == 0) pause_ms(1);  // no faster than the file takes them
      t.shared->launched = static_cast<std::uint64_t>(i);
    }
  });
  t.kill_after(test::sanitized ? 10'000 : 60'000);
  profile found = read(t.out(part_name));
  CHECK(found.problems.size() == 1);  // no event was left out
  REQUIRE(found.ranges.size() > (test::sanitized ? 5'000 : 20'000));
  std::sort(found.ranges.begin(), found.ranges.end(),
            [](auto const& a, auto const& b) { return a.end < b.end; });
  std::size_t in_order = 0;
  for (strata::range_record const& range : found.ranges) {
    if (range.attribute == 0) continue;
    double const tokens = found.attributes[range.attribute - 1].tokens;
    in_order += static_cast<std::size_t>(tokens) == in_order ? 1 : 0;
  }
  CHECK(in_order == found.ranges.size());
}

TEST_CASE("a killed program's device work ends where its ranges do") {
  trial t;
  t.run([&] {
    fake_set_auto_delivery(1);
    session run(t.options("formats=recording"));
    (void)run.start();
    step_until_killed(t);
  });
  t.kill_after(300);
  profile const found = read(t.out(part_name));
  CHECK(found.kernels.size() > 200);
  CHECK(found.kernels.size() <= found.launches.size());
  CHECK(found.launches.size() <= found.ranges.size() + 2);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("where no thread can be started the recording is written at the end, in its place") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording,host"));
    rlim_t const used = memory_of("VmSize:") << 10;
    rlimit const limit{used + (4 << 20), RLIM_INFINITY};  // a thread's stack has 8 MB
    (void)setrlimit(RLIMIT_AS, &limit);
    (void)run.start();
    rlimit const none{RLIM_INFINITY, RLIM_INFINITY};
    (void)setrlimit(RLIMIT_AS, &none);
    { STRATA_RANGE("range"); }
    (void)run.report();
  });
  t.wait();
  CHECK(t.shared->done);
  INFO(t.said());
  CHECK(t.said().find("the recording is written at the end") != std::string::npos);
  CHECK(read(t.out(whole_name)).ranges.size() == 1);
  CHECK_FALSE(fs::exists(t.folder / "out-2"));
}
#endif

TEST_CASE("a directory that is removed meanwhile: a sentence, and the report is written anew") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording,host"));
    (void)run.start();
    { STRATA_RANGE("range"); }
    fs::remove_all(t.out(""));
    t.shared->reported = run.report().ok();
    t.shared->problems = run.problems().size();
  });
  t.wait();
  CHECK(t.shared->done);
  CHECK_FALSE(t.shared->reported);
  CHECK(t.shared->problems == 1);
  std::string const said = t.said();
  INFO(said);
  std::size_t const at = said.find("profile.strata: No such file or directory; choose");
  CHECK(at != said.npos);
  CHECK(said.find("cannot write", at) == said.npos);
  CHECK(read(t.out(whole_name)).ranges.size() == 1);
}

TEST_CASE("a directory that another run has now is left to it") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording+csv,host"));
    (void)run.start();
    { STRATA_RANGE("range"); }
    fs::rename(t.out(""), t.folder / "moved");
    fs::create_directory(t.out(""));
    std::ofstream(t.out(part_name)) << "of another run";
    (void)run.report();
  });
  t.wait();
  CHECK(t.shared->done);
  INFO(t.said());
  CHECK(bytes_of(t.out(part_name)) == "of another run");
  CHECK_FALSE(fs::exists(t.out(whole_name)));
  CHECK_FALSE(fs::exists(t.out("ranges.csv")));
  CHECK(read(t.folder / "out-2" / whole_name).ranges.size() == 1);
}

TEST_CASE("a session without a report has what it recorded, and the next one its own directory") {
  trial t;
  t.run([&] {
    for (int i = 0; i < 2; ++i) {
      session run(t.options("formats=recording,host"));
      (void)run.start();
      STRATA_RANGE("range", i);
    }
  });
  t.wait();
  CHECK(t.shared->done);
  for (fs::path const& folder : {t.folder / "out", t.folder / "out-2"}) {
    profile const found = read(folder / whole_name);
    REQUIRE(found.ranges.size() == 1);
    CHECK(found.problems.size() == 1);
    CHECK(found.nodes[found.ranges[0].node].index == (folder.filename() == "out" ? 0 : 1));
  }
}

TEST_CASE("a recording without a report knows which ranges only= leaves out") {
  trial t;
  t.run([&] {
    session run(t.options("formats=recording,host,only=inner"));
    (void)run.start();
    step(0);
  });
  t.wait();
  CHECK(t.shared->done);
  profile const found = read(t.out(whole_name));
  for (strata::profile_node const& node : found.nodes)
    CHECK(node.selected == (found.names[node.name] == "inner"));
}

TEST_CASE("kernels of a graph's conditional node are of the range that launched it") {
  trial t;
  t.run([&] {
    fake_set_auto_delivery(8);
    session run(t.options("formats=recording"));
    (void)run.start();
    fake_graph_t const graph = fake_graph_create();
    fake_kernel condition, body;
    (void)fake_graph_create_node(graph, &condition);
    fake_graph_set_body(graph, &body, 3);
    fake_graph_t const made = fake_graph_clone(graph);
    for (int i = 0; i < 20; ++i) {
      STRATA_RANGE("run");
      (void)fake_graph_launch(made, 7);
    }
    pause_ms(700);
    (void)run.report();
  });
  t.wait();
  CHECK(t.shared->done);
  profile const found = read(t.out(whole_name), strata::recording_view::timeline);
  CHECK(found.kernels.size() == 80);
  for (strata::kernel_record const& kernel : found.kernels)
    CHECK(path_of(found, kernel.node) == "run");
}

}  // namespace stream_test
