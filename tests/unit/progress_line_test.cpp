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
    (void)::fcntl(master, F_SETFL, O_NONBLOCK);
  }
  ~terminal() {
    (void)std::fclose(stream);
    (void)::close(master);
  }

  /// What came out within 0.5 s: on a busy machine the kernel takes its time.
  std::string read() const {
    pollfd ready{master, POLLIN, 0};
    (void)::poll(&ready, 1, 500);
    char text[4096];
    auto const size = ::read(master, text, sizeof text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
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
