#include "report/gzip_writer.hpp"
#include <doctest/doctest.h>
#include "report/zlib_library.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
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

/// Reads a gzip file as RFC 1951 and 1952 have it, slowly.
class gzip_reader {
 public:
  explicit gzip_reader(std::string_view file) : file_(file) {}

  std::string read() {
    must(file_.substr(0, 3) == "\x1f\x8b\x08" && file_[3] == 0, "a head");
    at_ = 80;
    while (!read_block()) continue;
    at_ = (at_ + 7) / 8 * 8;
    must(take(32) == checksum(), "the check");
    must(take(32) == (text_.size() & 0xffffffffu), "the size");
    must(at_ == 8 * file_.size(), "an end");
    return text_;
  }

 private:
  static void must(bool good, char const* what) {
    if (!good) throw std::runtime_error(std::string("gzip: ") + what);
  }
  std::uint32_t take(unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i, ++at_) {
      must(at_ / 8 < file_.size(), "cut");
      auto const byte = static_cast<unsigned char>(file_[at_ / 8]);
      value |= static_cast<std::uint32_t>(byte >> at_ % 8 & 1) << i;
    }
    return value;
  }
  std::uint32_t checksum() const {
    std::uint32_t value = 0xffffffffu;
    for (char const c : text_) {
      value ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0u);
    }
    return ~value;
  }

  /// A code of lengths: the symbol of the next bits.
  std::size_t symbol(std::vector<unsigned> const& lengths) {
    std::uint32_t code = 0, first = 0;
    for (unsigned length = 1; length < 16; ++length) {
      code = code << 1 | take(1);
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] != length) continue;
        if (first + count == code) return i;
        ++count;
      }
      first = (first + count) << 1;
    }
    must(false, "no such code");
    return 0;
  }

  bool read_block() {
    bool const is_last = take(1) == 1;
    must(take(2) == 2, "codes of its own");
    std::size_t const literals = take(5) + 257, distances = take(5) + 1, used = take(4) + 4;
    static constexpr std::array<unsigned, 19> order = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                       11, 4,  12, 3, 13, 2, 14, 1, 15};
    std::vector<unsigned> of_lengths(19, 0), lengths;
    for (std::size_t i = 0; i < used; ++i) of_lengths[order[i]] = take(3);
    check_whole(of_lengths);
    while (lengths.size() < literals + distances) {
      lengths.push_back(static_cast<unsigned>(symbol(of_lengths)));
      must(lengths.back() < 16, "a length");
    }
    std::vector<unsigned> const of_literals(lengths.begin(), lengths.begin() + literals);
    std::vector<unsigned> const of_distances(lengths.begin() + literals, lengths.end());
    check_whole(of_literals);
    check_whole(of_distances);
    for (;;) {
      std::size_t const literal = symbol(of_literals);
      if (literal == 256) return is_last;
      if (literal < 256) {
        text_ += static_cast<char>(literal);
        continue;
      }
      std::size_t const i = literal - 257;
      unsigned const bits = i < 8 || i == 28 ? 0 : static_cast<unsigned>(i / 4 - 1);
      std::size_t length = i == 28 ? 258 : i < 8 ? i + 3 : ((4 + i % 4) << bits) + 3;
      length += take(bits);
      std::size_t const d = symbol(of_distances);
      unsigned const more = d < 4 ? 0 : static_cast<unsigned>(d / 2 - 1);
      std::size_t const distance = (d < 4 ? d + 1 : ((2 + d % 2) << more) + 1) + take(more);
      must(distance <= text_.size() && distance <= 32768, "a distance");
      for (; length > 0; --length) text_ += text_[text_.size() - distance];
    }
  }
  /// No bits stand for nothing, which some readers refuse.
  static void check_whole(std::vector<unsigned> const& lengths) {
    std::uint32_t sum = 0;
    for (unsigned const length : lengths)
      if (length > 0) sum += 1u << (15 - length);
    must(sum == 1u << 15, "a whole code");
  }

  std::string_view file_;
  std::size_t at_ = 0;  // in bits
  std::string text_;
};

/// In parts of this size.
std::string packed(std::string_view text, std::size_t part, detail::gzip_effort effort = {}) {
  return text_of([&](detail::text_writer& out) {
    detail::gzip_writer writer(out, effort);
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
  for (int i = 0; i < 6000; ++i) rows += "{\"ts\":" + std::to_string(i * 7919 % 100003) + "},\n";
  texts.push_back(rows);
  texts.push_back(of_random(300, 256, 3) + std::string(32768 - 300, 'y') + of_random(300, 256, 3));
  texts.push_back(of_random(300, 256, 3) + std::string(32768, 'y') + of_random(300, 256, 3));
  for (std::string const& text : texts) {
    CAPTURE(text.size());
    for (std::size_t const part : {std::size_t{1} << 20, std::size_t{777}})
      CHECK(gzip_reader(packed(text, part)).read() == text);
  }
  CHECK(packed(rows, 100) == packed(rows, 60000));
  CHECK(packed(rows, 100).size() < rows.size() / 4);
}

TEST_CASE("several threads write what one writes") {
  std::string rows;
  for (int i = 0; rows.size() < 5000000; ++i)
    rows += "{\"ts\":" + std::to_string(i * 7919 % 100003) + "},\n";
  std::string const alone = packed(rows, 60000, {6, 1});
  CHECK(gzip_reader(alone).read() == rows);
  CHECK(packed(rows, 777, {6, 3}) == alone);
  CHECK(packed(rows, 60000, {1, 3}).size() > alone.size());
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
