#include "report/gzip_writer.hpp"
#include <doctest/doctest.h>
#include <strata/base/dynamic_library.hpp>
#include "report/zlib_library.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report_sample.hpp"
#include "sample_profile.hpp"

#if __has_include(<zlib.h>)
#define STRATA_ZLIB_HEADER 1
#include <zlib.h>
#endif

namespace gzip_writer_test {

using namespace report_test;

namespace {

/// Reads a gzip file by zlib.
std::string unpacked(std::string const& file) {
  detail::dynamic_library zlib;
  int (*begin)(detail::zlib::stream*, int, char const*, int) = nullptr;
  int (*inflate)(detail::zlib::stream*, int) = nullptr;
  int (*end)(detail::zlib::stream*) = nullptr;
  REQUIRE(zlib.open("libz.so.1"));
  REQUIRE(zlib.bind("inflateInit2_", begin));
  REQUIRE(zlib.bind("inflate", inflate));
  REQUIRE(zlib.bind("inflateEnd", end));
  detail::zlib::stream all{};
  constexpr int gzip = 16 + 15;
  REQUIRE(begin(&all, gzip, detail::zlib::library().version(), static_cast<int>(sizeof all)) == 0);
  all.next_in = reinterpret_cast<unsigned char const*>(file.data());
  all.avail_in = static_cast<unsigned>(file.size());
  std::string text;
  int code = 0;
  while (code == 0) {
    std::array<unsigned char, 65536> out;
    all.next_out = out.data();
    all.avail_out = static_cast<unsigned>(out.size());
    code = inflate(&all, 0);
    text.append(reinterpret_cast<char const*>(out.data()), out.size() - all.avail_out);
  }
  CHECK(code == 1);  // the end, and the check and the size are those of the text
  CHECK(all.avail_in == 0);
  (void)end(&all);
  return text;
}

/// In parts of this size.
std::string packed(std::string_view text, std::size_t part, unsigned threads = 1) {
  return text_of([&](detail::text_writer& out) {
    detail::gzip_writer writer(out, threads);
    for (; !text.empty(); text.remove_prefix(std::min(part, text.size())))
      writer.write(text.substr(0, part));
    writer.finish();
  });
}

std::string of_random(std::size_t size, std::uint32_t letters, std::uint32_t seed) {
  sample::random_numbers random(seed);
  std::string text;
  while (text.size() < size) text += static_cast<char>(random.below(letters));
  return text;
}

}  // namespace

TEST_CASE("what is compressed reads back, whatever it is and in whatever parts it came") {
  std::vector<std::string> texts{"",
                                 "a",
                                 "ab",
                                 std::string(300, 'x'),
                                 std::string(400000, '\0'),
                                 of_random(70000, 256, 1),
                                 of_random(70000, 2, 2)};
  std::string rows;  // of one kind, with numbers that differ
  for (int i = 0; i < 6000; ++i)
    rows += "{\"ts\":" + std::to_string(std::int64_t{i} * 7919 % 100003) + "},\n";
  texts.push_back(rows);
  for (std::size_t const size : {(1u << 20) - 1, 1u << 20, (1u << 20) + 1, 3u << 20})  // of parts
    texts.push_back(of_random(size, 256, 3));
  for (std::string const& text : texts) {
    CAPTURE(text.size());
    for (std::size_t const part : {std::size_t{1} << 20, std::size_t{777}})
      CHECK(unpacked(packed(text, part)) == text);
  }
  CHECK(packed(rows, 100) == packed(rows, 60000));
  CHECK(packed(rows, 100).size() < rows.size() / 3);
}

TEST_CASE("several threads write what one writes") {
  std::string rows;
  for (int i = 0; rows.size() < 5000000; ++i)
    rows += "{\"ts\":" + std::to_string(std::int64_t{i} * 7919 % 100003) + "},\n";
  std::string const alone = packed(rows, 60000);
  CHECK(unpacked(alone) == rows);
  CHECK(packed(rows, 777, 3) == alone);
}

#if defined(STRATA_ZLIB_HEADER)
TEST_CASE("the stream of zlib is as its header has it") {
  using own = detail::zlib::stream;
  CHECK(sizeof(own) == sizeof(z_stream));
  CHECK(offsetof(own, avail_in) == offsetof(z_stream, avail_in));
  CHECK(offsetof(own, next_out) == offsetof(z_stream, next_out));
  CHECK(offsetof(own, avail_out) == offsetof(z_stream, avail_out));
  CHECK(offsetof(own, allocate) == offsetof(z_stream, zalloc));
  CHECK(offsetof(own, opaque) == offsetof(z_stream, opaque));
  CHECK(offsetof(own, reserved) == offsetof(z_stream, reserved));
  CHECK(detail::zlib::sync_flush == Z_SYNC_FLUSH);
  CHECK(detail::zlib::finish == Z_FINISH);
  CHECK(detail::zlib::deflated == Z_DEFLATED);
  CHECK(detail::zlib::filtered == Z_FILTERED);
}
#endif

}  // namespace gzip_writer_test
