// Text for people waits for nobody: pipes that are read, that are full, and that have no reader.
#include <doctest/doctest.h>

#include <strata/annotate/process.hpp>
#include <strata/base/console.hpp>
#include <strata/base/text.hpp>
#include <strata/session/problem_log.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../patience.hpp"
#include "../sanitizers.hpp"
#include "../work_folder.hpp"

namespace console_test {

using strata::detail::console;

namespace {

/// A pipe that takes the place of stderr, also where a session of another test has begun: text for
/// people goes only to the file that was stderr then.
struct unread_pipe {
  int ends[2] = {-1, -1};
  int before = ::dup(STDERR_FILENO);

  unread_pipe() {
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    strata::detail::standard_error::begin();
  }
  ~unread_pipe() {
    (void)::dup2(before, STDERR_FILENO);
    strata::detail::standard_error::begin();
    for (int const file : {ends[0], ends[1], before})
      if (file >= 0) (void)::close(file);
  }

  void fill() const {
    (void)::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (::write(ends[1], "x", 1) == 1) continue;
    (void)::fcntl(ends[1], F_SETFL, 0);
  }
  std::string drain() const {
    (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::string all;
    char text[4096];
    for (ssize_t size; (size = ::read(ends[0], text, sizeof text)) > 0;)
      all.append(text, static_cast<std::size_t>(size));
    return all;
  }
};

constexpr int minute_ms = 60'000;  // far longer than a busy machine takes for what does not wait

void print(std::string const& text, int patience_ms = console::sentence_ms) {
  console::print(text.data(), text.size(), patience_ms);
}

double seconds_of(std::string const& text, int patience_ms = console::sentence_ms) {
  auto const begin = std::chrono::steady_clock::now();
  print(text, patience_ms);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("what nobody takes is left out after 100 ms, and counted once somebody reads") {
  unread_pipe const pipe;
  print("taken\n");
  CHECK(pipe.drain() == "taken\n");
  pipe.fill();
  CHECK(seconds_of("lost\n") >= 0.099);
  CHECK(seconds_of("lost at once\n", minute_ms) < 59.0);
  CHECK(pipe.drain().find('l') == std::string::npos);
  print("again\n");
  CHECK(pipe.drain() == "strata: 2 messages were left out here, since nobody read stderr\nagain\n");
  print("and again\n");
  CHECK(pipe.drain() == "and again\n");
}

TEST_CASE("a long text arrives whole where somebody reads slowly") {
  unread_pipe const pipe;
  std::string const text(300'000, 'a');
  std::string read;
  std::atomic<bool> printed{false};
  std::thread reader([&] {
    while (!printed) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      read += pipe.drain();
    }
  });
  console::print(text.data(), text.size(), console::table_ms);
  printed = true;
  reader.join();
  read += pipe.drain();
  CHECK(read == text);
}

TEST_CASE("a pipe without a reader takes nothing, and sends no signal") {
  unread_pipe pipe;
  (void)::close(pipe.ends[0]);
  pipe.ends[0] = -1;
  CHECK_FALSE(console::is_taken(STDERR_FILENO, 0));
  CHECK(seconds_of("lost\n", minute_ms) < 59.0);
}

TEST_CASE("a child that is forked while another thread prints has the next turn") {
  if (test::thread_sanitized) return;  // it ends a child of several threads
  unread_pipe const pipe;
  print("taken\n");
  (void)pipe.drain();
  pipe.fill();
  std::atomic<long> number{0};
  std::thread printer([&] {
    number = syscall(SYS_gettid);
    print("of the parent\n", minute_ms);
  });
  test::await([&] {  // it waits for a reader
    std::string const file = "/proc/self/task/" + std::to_string(number) + "/stat";
    return number != 0 && test::content(file).find(") S ") != std::string::npos;
  });
  int of_child[2];
  REQUIRE(::pipe(of_child) == 0);
  pid_t const child = fork();
  if (child == 0) {
    (void)::dup2(of_child[1], STDERR_FILENO);
    strata::detail::standard_error::begin();
    print("of the child\n");
    _exit(0);
  }
  (void)::close(of_child[1]);
  char text[80];
  ssize_t const size = ::read(of_child[0], text, sizeof text);
  CHECK(std::string(text, size > 0 ? static_cast<std::size_t>(size) : 0) == "of the child\n");
  (void)::close(of_child[0]);
  (void)::waitpid(child, nullptr, 0);
  std::string taken = pipe.drain();
  printer.join();
  taken += pipe.drain();
  CHECK(strata::detail::ends_with(taken, "of the parent\n"));
}

TEST_CASE("a sentence has no control characters, whatever it quotes") {
  unread_pipe const err;
  print("taken\n");
  (void)err.drain();
  strata::detail::say("out=\x1b[31m\r\n\x7f and \xc2\x9b, not \xc2\xa0 \xc3\x9b");
  CHECK(err.drain() == "strata: out=?[31m??? and ??, not \xc2\xa0 \xc3\x9b\n");
  strata::detail::say((std::string(5000, 'x') + "\x1b").c_str());
  CHECK(err.drain() == "strata: " + std::string(4086, 'x') + "\n");
}

}  // namespace console_test
