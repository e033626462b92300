// The line that a terminal shows while a program is counted.
#include <doctest/doctest.h>

#include <strata/base/progress_line.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace progress_line_test {

using strata::detail::progress_line;

namespace {

/// A pseudo terminal: what is written into `stream` comes out of `read`.
struct terminal {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  std::FILE* stream = nullptr;

  explicit terminal(unsigned short columns, char const* kind = "xterm") {
    (void)::setenv("TERM", kind, 1);
    REQUIRE(master >= 0);
    REQUIRE(::grantpt(master) == 0);
    REQUIRE(::unlockpt(master) == 0);
    int const slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    winsize size{};
    size.ws_col = columns;
    REQUIRE(::ioctl(slave, TIOCSWINSZ, &size) == 0);
    stream = ::fdopen(slave, "w");
    REQUIRE(stream != nullptr);
  }
  ~terminal() {
    (void)std::fclose(stream);
    (void)::close(master);
  }

  /// What came out since the last call. A pseudo terminal hands lines on in parts and when it
  /// likes, but in order: all of it is there when a mark comes that is written behind it.
  std::string read() const {
    constexpr char mark = '\x01';
    REQUIRE(std::fflush(stream) == 0);
    REQUIRE(::write(::fileno(stream), &mark, 1) == 1);
    std::string text;
    for (char next = 0; next != mark;) {
      pollfd ready{master, POLLIN, 0};
      REQUIRE(::poll(&ready, 1, 60'000) == 1);
      REQUIRE(::read(master, &next, 1) == 1);
      text += next;
    }
    text.pop_back();
    return text;
  }
};

}  // namespace

TEST_CASE("a terminal shows each line over the last, and none at the end") {
  terminal t(80);
  {
    progress_line line(t.stream);
    CHECK(line.live());
    CHECK(t.read().empty());
    line.show("pass 1");
    CHECK(t.read() == "\r\033[Kpass 1\r");
    line.show("pass 2");
    CHECK(t.read() == "\r\033[Kpass 2\r");
    line.erase();
    CHECK(t.read() == "\r\033[K");
    line.erase();  // nothing is there
    CHECK(t.read().empty());
    line.show("pass 3");
    (void)t.read();
  }
  CHECK(t.read() == "\r\033[K");
}

TEST_CASE("a line never wraps") {
  terminal t(10);
  progress_line line(t.stream);
  line.show("0123456789abcdef");
  CHECK(t.read() == "\r\033[K012345678\r");
  terminal unknown(0);
  progress_line wide(unknown.stream);
  wide.show(std::string(100, 'x'));
  CHECK(unknown.read() == "\r\033[K" + std::string(79, 'x') + '\r');
}

TEST_CASE("what cannot be written over stays clean") {
  terminal dumb(80, "dumb");
  progress_line on_dumb(dumb.stream);
  CHECK_FALSE(on_dumb.live());
  on_dumb.show("pass 1");
  on_dumb.erase();
  CHECK(dumb.read().empty());

  (void)::setenv("TERM", "xterm", 1);
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    progress_line line(file);
    CHECK_FALSE(line.live());
    line.show("pass 1");
  }
  CHECK(std::ftell(file) == 0);
  (void)std::fclose(file);
  progress_line nowhere(nullptr);
  CHECK_FALSE(nowhere.live());
}

TEST_CASE("what it says of a pass") {
  CHECK(progress_line::of_pass("GH100", 1, 9) ==
        "strata: counting on GH100: pass 1 of 9, 8 steps left");
  CHECK(progress_line::of_pass("", 8, 9) == "strata: counting: pass 8 of 9, 1 step left");
  CHECK(progress_line::of_pass("", 9, 9) == "strata: counting: pass 9 of 9, 0 steps left");
}

}  // namespace progress_line_test
