// Windows that are reported while the program runs on: `trigger=FILE` at each touch of a file,
// `every=N,keep=K` by the number of the step.
#include "../../forked_leaks.hpp"
#include "../../patience.hpp"
#include "../../sanitizers.hpp"
#include "../recording.hpp"
#include "child.hpp"

#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

using namespace processes;

namespace {
/// What lies below this folder does not answer.
std::string dead_folder;
std::atomic<bool> is_dead{false};
std::atomic<int> in_dead_folder{0};
}  // namespace

extern "C" int stat(char const* path, struct stat* found) noexcept {
  static auto* const system =
      reinterpret_cast<int (*)(char const*, struct stat*)>(dlsym(RTLD_NEXT, "stat"));
  if (is_dead && std::string(path).find(dead_folder) == 0) {
    ++in_dead_folder;
    while (is_dead) usleep(1000);
    --in_dead_folder;
  }
  return system(path, found);
}

namespace {

using namespace std::chrono_literals;

/// One step of a server: 1 ms.
void serve(std::int64_t index = 0) {
  STRATA_STEP();
  STRATA_RANGE("request", index);
  std::this_thread::sleep_for(1ms);
}

/// Serves until the file is there; false where it does not come in 100 s.
bool serve_until(std::string const& file, std::int64_t index = 0) {
  for (int i = 0; i < 100'000 && !fs::exists(file); ++i) serve(index);
  return fs::exists(file);
}

/// Serves for longer than it takes until the trigger is looked at again.
void serve_on(std::int64_t index = 0) {
  for (int i = 0; i < 250; ++i) serve(index);
}

strata::options wish(std::string const& text) {
  strata::vec<std::string> problems;
  strata::options const made = strata::options::parse(text, problems);
  REQUIRE(problems.empty());
  return made;
}

struct server {
  work_folder folder;
  std::string const file = folder / "now";
  std::string const out = folder / "out";
  strata::session session;

  explicit server(std::string const& more = "", bool triggered = true)
      : session(
            wish("host,formats=csv,out=" + out + (triggered ? ",trigger=" + file : "") + more)) {
    REQUIRE(started);
  }
  std::string report(char const* number) const { return out + "/" + number; }
  bool const started = session.start().ok();
  test::threads_of_before threads;  // with the one that looks at the file
};

}  // namespace

TEST_CASE("each touch takes a window of its own, and the program continues") {
  server s;
  serve_on();
  CHECK_FALSE(fs::exists(s.report("001")));
  touch(s.file);
  REQUIRE(serve_until(s.report("001/memory.csv"), 1));
  CHECK(calls_in(s.report("001")) == call_counts{{"request[1]", 1}});
  serve_on(2);
  CHECK_FALSE(fs::exists(s.report("002")));
  touch(s.file);
  REQUIRE(serve_until(s.report("002/memory.csv"), 3));
  CHECK(calls_in(s.report("002")) == call_counts{{"request[3]", 1}});  // nothing of the first one
  fs::remove(s.file);
  serve_on(4);
  touch(s.file);  // made anew
  REQUIRE(serve_until(s.report("003/memory.csv"), 5));
  CHECK(calls_in(s.report("003")) == call_counts{{"request[5]", 1}});
  CHECK(s.session.report().ok());
  CHECK_FALSE(fs::exists(s.report("004")));
  CHECK(s.session.problems().empty());
}

// Sanitizers: one cannot follow threads in a forked child, the other has locks of its own there.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a child that is forked while a report is written ends") {
  server s;
  serve();
  touch(s.file);
  std::this_thread::sleep_for(150ms);
  serve();  // looks: the window begins with the next step
  {
    STRATA_STEP();
    for (int i = 0; i < 500'000; ++i) {
      STRATA_RANGE("request", i % 3);
    }
  }
  int ended = 0;
  int hung = 0;
  for (int i = 0; i < 100'000 && !fs::exists(s.report("001/memory.csv")) && hung == 0; ++i) {
    std::fflush(nullptr);
    pid_t const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(240);
      std::exit(0);  // ends the thread's recorder as well
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    ++(WIFEXITED(status) ? ended : hung);
  }
  CHECK(hung == 0);
  CHECK(ended > 0);
  CHECK(serve_until(s.report("001/memory.csv")));
}
#endif

TEST_CASE("a window of a trigger has its warm-up and its steps, and its own time") {
  server s(",warmup=2,active=3");
  serve_on();
  touch(s.file);
  REQUIRE(serve_until(s.report("001/memory.csv"), 1));
  CHECK(calls_in(s.report("001")) == call_counts{{"request[1]", 3}});
  serve_on();
  touch(s.file);
  test::await([&] { return s.session.running() && !calls_in(s.report("002")).empty(); },
              [] { serve(2); });
  CHECK(calls_in(s.report("002")) == call_counts{{"request[2]", 3}});
}

TEST_CASE("a file that is there before the session asks for nothing") {
  work_folder const folder;
  touch(folder / "now");
  strata::session session(
      wish("host,formats=csv,trigger=" + folder / "now" + ",out=" + folder / "out"));
  REQUIRE(session.start().ok());
  serve_on();
  CHECK_FALSE(fs::exists(folder / "out/001"));
  touch(folder / "now");
  CHECK(serve_until(folder / "out/001/memory.csv"));
}

TEST_CASE("a file system that does not answer holds neither a step nor the end") {
  work_folder const dead;
  dead_folder = dead / "";
  work_folder const folder;
  strata::options const wanted =
      wish("host,formats=csv,trigger=" + dead / "now" + ",out=" + folder / "out");
  auto const revive = [] {
    is_dead = false;
    test::await([] { return in_dead_folder == 0; });
  };
  SUBCASE("from some step on") {
    strata::session session(wanted);
    REQUIRE(session.start().ok());
    serve();
    is_dead = true;
    test::await([] { return in_dead_folder != 0; });
    serve_on();
    session.stop();
    CHECK(in_dead_folder == 1);  // it still does not answer
    revive();
  }
  SUBCASE("from the start on, until it answers") {
    is_dead = true;
    strata::session session(wanted);
    REQUIRE(session.start().ok());
    REQUIRE(session.problems().size() == 1);
    CHECK(has(session.problems()[0].message(),
              dead / "now" + " cannot be looked at: its file system has not answered for 1 s"));
    serve_on();
    CHECK(in_dead_folder == 1);
    revive();
    serve_on();
    touch(dead / "now");
    CHECK(serve_until(folder / "out/001/memory.csv"));
  }
}

TEST_CASE("reports of an earlier run stay") {
  work_folder const folder;
  fs::create_directories(folder / "out/001");
  std::ofstream(folder / "out/001/ranges.csv") << "mine";
  strata::session session(
      wish("host,formats=csv,trigger=" + folder / "now" + ",out=" + folder / "out"));
  REQUIRE(session.start().ok());
  touch(folder / "now");
  CHECK(serve_until(folder / "out/002/memory.csv"));
  CHECK(content(folder / "out/001/ranges.csv") == "mine");
}

TEST_CASE("the end within a window: what was recorded is reported") {
  server s(",active=1000000");
  touch(s.file);
  serve_on(1);
  CHECK(s.session.report().ok());
  auto const calls = calls_in(s.report("001"));
  REQUIRE(calls.count("request[1]") == 1);
  CHECK(calls.at("request[1]") > 50);
  CHECK_FALSE(fs::exists(s.report("002")));
}

TEST_CASE("a session that ends while a report is written waits for it") {
  for (int i = 0; i < 20; ++i) {
    server s;
    touch(s.file);
    REQUIRE(serve_until(s.report("001"), 1));  // the folder: its files are being written
    s.session.stop();
    CHECK(calls_in(s.report("001")) == call_counts{{"request[1]", 1}});
    CHECK_FALSE(fs::exists(s.report("002")));
  }
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
TEST_CASE("the memory of a window is given back before the next one") {
  auto const used = [] {
    auto const all = mallinfo2();
    return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
  };
  server s;
  auto const serve_many = [] {
    STRATA_STEP();
    for (int i = 0; i < 200'000; ++i) {
      STRATA_RANGE("many");
    }
  };
  serve_many();
  std::int64_t const before = used();
  touch(s.file);
  std::int64_t most = before;
  for (int i = 0; i < 100'000 && !fs::exists(s.report("001/memory.csv")); ++i) {
    serve_many();
    most = (std::max)(most, used());
  }
  CHECK(calls_in(s.report("001")) == call_counts{{"many", 200'000}});
  s.threads.await_others();
  serve_many();
  CHECK(most - before > std::int64_t{6} << 20);
  CHECK(used() - before < std::int64_t{1} << 20);
}
#endif

TEST_CASE("a report that takes long holds up no step of the program") {
  work_folder const folder;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  int const before = dup(2);
  (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
  (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (write(ends[1], "x", 1) == 1) continue;  // full: who writes there waits
  (void)fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], 2);
  {
    strata::session session(
        wish("host,formats=csv+table,trigger=" + folder / "now" + ",out=" + folder / "out"));
    REQUIRE(session.start().ok());
    touch(folder / "now");
    bool const written = serve_until(folder / "out/001/memory.csv");
    auto const begin = std::chrono::steady_clock::now();
    serve_on(2);
    touch(folder / "now");  // waits for the report
    serve_on(3);
    bool const waits = !fs::exists(folder / "out/002");
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    std::thread reader([&] {
      char text[4096];
      while (read(ends[0], text, sizeof text) > 0) continue;
    });
    bool const second = serve_until(folder / "out/002/memory.csv", 4);
    session.stop();
    dup2(before, 2);
    close(ends[1]);
    reader.join();
    CHECK(written);
    CHECK(waits);
    CHECK(second);
  }
  CHECK(calls_in(folder / "out/002") == call_counts{{"request[4]", 1}});
  close(ends[0]);
  close(before);
}

TEST_CASE("threads that record beside the windows") {
  server s(",active=5");
  std::atomic<bool> ends{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([&, t] {
      while (!ends) {
        STRATA_RANGE("worker", t);
        std::thread([] { STRATA_RANGE("short"); }).join();
      }
    });
  }
  for (int window = 1; window <= 5; ++window) {
    touch(s.file);
    CHECK(serve_until(s.report(("00" + std::to_string(window)).c_str()) + "/memory.csv", window));
    std::string const own = "request[" + std::to_string(window) + "]";
    CHECK(calls_in(s.report(("00" + std::to_string(window)).c_str())).at(own) == 5);
  }
  ends = true;
  for (std::thread& each : workers) each.join();
}

TEST_CASE("passes of the program's own are refused beside trigger=") {
  server s;
  int runs = 0;
  for (auto const& pass : s.session.counters("hbm")) {
    (void)pass;
    ++runs;
  }
  CHECK(runs == 1);
  CHECK(has(s.session.counters("hbm").replay([] {}).message(),
            "cannot be combined with windows that are"));
}

TEST_CASE("a directory that is not there: one sentence, and the program is as ever") {
  work_folder const folder;
  std::string const file = folder / "nowhere/now";
  ending const e = run({program("scenarios"), "steps"},
                       {"STRATA=host,trigger=" + file + ",out=" + folder / "out"});
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(count_of(e.err, "trigger=" + file + " cannot be looked at: No such file or directory") ==
        1);
  CHECK(reports_in(e) == 0);
  ending const below = run({program("scenarios"), "steps"},
                           {"STRATA=host,trigger=/dev/null/now,out=" + folder / "out"});
  CHECK(count_of(below.err, "trigger=/dev/null/now cannot be looked at: Not a directory") == 1);
}

TEST_CASE("a file that nobody touched, and a program without steps: a sentence") {
  work_folder const folder;
  texts const more{"STRATA=host,trigger=" + folder / "now" + ",out=" + folder / "out"};
  ending const never = run({program("scenarios"), "steps"}, more);
  CHECK(never.code == 0);
  CHECK(has(never.err, "nothing is reported: nobody touched " + folder / "now"));
  CHECK(reports_in(never) == 0);
  ending const none = run({program("scenarios"), "return"}, more);
  CHECK(none.code == 5);
  CHECK(has(none.err,
            "trigger= is looked at at the ends of STRATA_STEP(), and the program has none"));
  CHECK(fs::is_empty(folder / "out"));
}

TEST_CASE("what cannot be combined with trigger= is ignored, with a sentence") {
  work_folder const folder;
  std::string const common = "host,formats=json,out=" + folder / "out";
  for (char const* key : {"every=5", "skip=2", "repeat=3"}) {
    ending const e = run({program("server"), folder / "now", "3"},
                         {"STRATA=" + common + ",trigger=" + folder / "now," + key});
    CAPTURE(e.err);
    CHECK(count_of(e.err, "every=, skip= and repeat= are ignored with trigger=") == 1);
  }
  ending const never = run({program("scenarios"), "steps"},
                           {"STRATA=" + common + ",every=5,trigger=" + folder / "now-and-then"});
  CHECK(count_of(never.err, "every=, skip= and repeat= are ignored with trigger=") == 1);
  CHECK(has(never.err, "nothing is reported: nobody touched"));
}

TEST_CASE("a server that is killed leaves the report of its last whole window") {
  work_folder const folder;
  std::string const wanted =
      "STRATA=host,formats=csv,trigger=" + folder / "now" + ",out=" + folder / "out";
  // It touches the file itself, and says `ready` after each report.
  ending const killed =
      run({program("server"), folder / "now", "2", folder / "out"}, {wanted}, {0, SIGKILL});
  CHECK(killed.signal == SIGKILL);
  CHECK(calls_in(folder / "out/001") == call_counts{{"request", 1}});
  CHECK(calls_in(folder / "out/002") == call_counts{{"request", 1}});
  CHECK(has(killed.err, "strata: wrote " + folder / "out/001/"));
  ending const ended =
      run({program("server"), folder / "now", "2", folder / "more"},
          {"STRATA=host,formats=csv,trigger=" + folder / "now" + ",out=" + folder / "more"},
          {0, SIGTERM});
  CHECK(ended.signal == SIGTERM);
  CHECK(calls_in(folder / "more/002") == call_counts{{"request", 1}});
}

namespace {

/// A server with windows by the number of the step, which waits for each report.
struct periodic : server {
  explicit periodic(std::string const& windows) : server(",every=20" + windows, false) {}

  /// The steps of one period, with the number of its report.
  void serve_period(int number) {
    for (int i = 0; i < 20; ++i) {
      STRATA_STEP();
      STRATA_RANGE("request", number);
    }
    char name[8];
    std::snprintf(name, sizeof name, "%03d", number);
    for (int i = 0; i < 100'000 && !fs::exists(report(name) + "/memory.csv"); ++i)
      std::this_thread::sleep_for(1ms);
    threads.await_others();
  }
};

}  // namespace

TEST_CASE("every=N,keep=K: each window has its report, and the last K stay") {
  periodic s(",active=3,warmup=1,keep=2");
  for (int window = 1; window <= 5; ++window) {
    s.serve_period(window);
    char name[8];
    std::snprintf(name, sizeof name, "%03d", window);
    CHECK(calls_in(s.report(name)) == call_counts{{"request[" + std::to_string(window) + "]", 3}});
  }
  CHECK(s.session.report().ok());
  CHECK(s.session.problems().empty());
  CHECK(fs::read_symlink(s.out + "-latest") == "out/005");
  for (char const* gone : {"001", "002", "003", "006"}) CHECK_FALSE(fs::exists(s.report(gone)));
  CHECK(fs::exists(s.report("004/ranges.csv")));
}

TEST_CASE("every=N,keep=K: files of others stay, and no number comes twice") {
  periodic s(",keep=1");
  s.serve_period(1);
  std::ofstream(s.report("001/notes.txt")) << "mine";
  s.serve_period(2);
  s.serve_period(3);
  s.session.stop();
  CHECK(content(s.report("001/notes.txt")) == "mine");
  CHECK_FALSE(fs::exists(s.report("001/ranges.csv")));
  CHECK_FALSE(fs::exists(s.report("002")));
  CHECK(calls_in(s.report("003")) == call_counts{{"request[3]", 1}});
}

TEST_CASE("keep=: a link in the place of a report, and another directory, are left alone") {
  periodic s(",keep=1");
  s.serve_period(1);
  fs::remove_all(s.report("001"));
  fs::create_directories(s.folder / "precious");
  std::ofstream(s.folder / "precious/ranges.csv") << "mine";
  fs::create_directory_symlink(s.folder / "precious", s.report("001"));
  s.serve_period(2);
  CHECK(content(s.folder / "precious/ranges.csv") == "mine");
  fs::remove_all(s.report("002"));
  fs::create_directories(s.report("002"));
  std::ofstream(s.report("002/ranges.csv")) << "mine";
  s.serve_period(3);
  CHECK(content(s.report("002/ranges.csv")) == "mine");
}

TEST_CASE("keep=: reports go where out= was at the start, and nothing elsewhere is removed") {
  work_folder const folder;
  fs::path const before = fs::current_path();
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "b/o/001");
  std::ofstream(folder / "b/o/001/ranges.csv") << "mine";
  fs::current_path(folder / "a");
  {
    strata::session session(wish("host,formats=csv,every=1,keep=1,out=o"));
    REQUIRE(session.start().ok());
    REQUIRE(serve_until(folder / "a/o/001/memory.csv"));
    fs::current_path(folder / "b");
    CHECK(serve_until(folder / "a/o/003/memory.csv"));
  }
  fs::current_path(before);
  CHECK(content(folder / "b/o/001/ranges.csv") == "mine");
  CHECK_FALSE(fs::exists(folder / "b/o/002"));
}

TEST_CASE("keep=: a window that the end cuts off takes no whole one's place") {
  periodic s(",keep=1");
  s.serve_period(1);
  for (int i = 0; i < 19; ++i) {
    STRATA_STEP();
  }
  STRATA_STEP();
  STRATA_RANGE("request", 2);
  CHECK(s.session.report().ok());
  CHECK(calls_in(s.report("001")) == call_counts{{"request[1]", 1}});
  CHECK(fs::read_symlink(s.out + "-latest") == "out/001");
}

TEST_CASE("trigger= with keep=: the last reports stay") {
  server s(",keep=1");
  for (char const* number : {"001", "002"}) {
    touch(s.file);
    REQUIRE(serve_until(s.report(number) + "/memory.csv"));
  }
  CHECK(s.session.report().ok());
  CHECK_FALSE(fs::exists(s.report("001")));
  CHECK(fs::exists(s.report("002")));
}

TEST_CASE("a window that is due while another one is reported is counted as left out") {
  server s(",formats=csv+json,every=1,keep=100000", false);
  int steps = 0;
  for (; steps < 5'000'000 && !fs::exists(s.report("003/memory.csv")); ++steps) {
    STRATA_STEP();
    STRATA_RANGE("request");
  }
  CHECK(s.session.report().ok());
  std::string const says = "every=: ";
  auto const count_in = [&](std::string const& text) {
    std::size_t const at = text.find(says);
    return at == text.npos ? 0 : std::atoi(text.c_str() + at + says.size());
  };
  int reports = 0;
  int left_out = 0;  // each report has those since the one before
  for (fs::directory_entry const& each : fs::directory_iterator(s.out)) {
    ++reports;
    CHECK(calls_in(each.path().string()) == call_counts{{"request", 1}});
    left_out += count_in(content(each.path() / "profile.json"));
  }
  CHECK(reports >= 3);
  CHECK(left_out > 0);
  for (strata::status const& each : s.session.problems()) left_out += count_in(each.message());
  CHECK(left_out == steps - reports);
}

TEST_CASE("the end before the first window, and no steps at all: a sentence") {
  work_folder const folder;
  std::string const common = "STRATA=host,out=" + folder / "out" + ",keep=3,every=";
  ending const early = run({program("scenarios"), "steps"}, {common + "1000000"});
  CHECK(early.code == 0);
  CHECK(has(early.err, "nothing is reported: the program ended before step 999999"));
  ending const none = run({program("scenarios"), "return"}, {common + "10"});
  CHECK(none.code == 5);
  CHECK(has(none.err, "nothing is reported: every= counts steps, and the program has no"));
}

TEST_CASE("what each window has is in its files, and printed once") {
  for (char const* formats : {"json+csv", "json+csv+table"}) {
    work_folder const folder;
    std::string const now = folder / "now";
    ending const e = run({program("server"), now, "3", folder / "out"},
                         {"STRATA=host,kernels=a,only=b,trigger=" + now + ",out=" + folder / "out" +
                          ",formats=" + formats},
                         {0, 0, SIGTERM});
    CAPTURE(e.err);
    CHECK(count_of(e.err, "strata: wrote ") >= 3);
    CHECK(count_of(e.err, "kernels= says where to count kernels") == 1);  // at the start
    CHECK(count_of(e.err, "only= matches no range") == 1);                // in each window
    CHECK(count_of(e.err, "; start ") == (has(formats, "table") ? 1 : 0));
    for (char const* number : {"001", "002", "003"}) {
      std::string const made = content(folder / "out" + "/" + number + "/profile.json");
      CHECK(has(made, "kernels= says where to count kernels"));
      CHECK(has(made, "only= matches no range"));
      CHECK(has(made, "\"start_seconds\":0,") == (number != std::string("001")));
    }
  }
}

TEST_CASE("keep= without windows is ignored, with a sentence") {
  work_folder const folder;
  ending const e = run({program("scenarios"), "steps"},
                       {"STRATA=host,formats=none,keep=3,out=" + folder / "out"});
  CHECK(has(e.err, "keep= is ignored"));
}

TEST_CASE("a server with every= that is killed leaves the reports of its last whole windows") {
  work_folder const folder;
  ending const killed =
      run({program("server"), "", "3", folder / "out"},
          {"STRATA=host,formats=csv,every=50,active=2,keep=2,out=" + folder / "out"}, {0, SIGKILL});
  CHECK(killed.signal == SIGKILL);
  std::string last;
  for (fs::directory_entry const& each : fs::directory_iterator(folder / "out"))
    if (fs::exists(each.path() / "memory.csv")) last = (std::max)(last, each.path().string());
  REQUIRE_FALSE(last.empty());
  CHECK(calls_in(last) == call_counts{{"request", 2}});
}
