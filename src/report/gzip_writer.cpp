#include "gzip_writer.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include "zlib_library.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

STRATA_BEGIN
namespace detail {
namespace gzip {  // not anonymous: gzip_writer::state has members of these types

constexpr std::size_t window = std::size_t{32} << 10;  // how far back a match may be
constexpr std::size_t part_size = std::size_t{1} << 20;

unsigned char const* bytes_of(std::string const& text) noexcept {
  return reinterpret_cast<unsigned char const*>(text.data());
}

/// A part of the text, behind what is known of the text before it.
struct part {
  std::string text;
  std::size_t known = 0;
  bool is_last = false;
};

struct packed_part {
  std::string bytes;
  unsigned long check = 0;
  std::size_t size = 0;
};

packed_part pack(zlib::library const& zlib, part const& from) {
  if (!zlib.is_whole()) throw std::bad_alloc();  // it was whole when the report was planned
  zlib::stream all{};
  auto const failed = [](int code) { return code < 0; };
  constexpr int level = 6;
  constexpr int raw = -15;  // bits of the window, no header
  constexpr int most_memory = 9;
  if (failed(zlib.begin_deflate(&all, level, zlib::deflated, raw, most_memory, zlib::filtered,
                                zlib.version(), static_cast<int>(sizeof all))))
    throw std::bad_alloc();
  unsigned char const* const begin = bytes_of(from.text) + from.known;
  packed_part made;
  made.size = from.text.size() - from.known;
  if (from.known > 0)
    (void)zlib.set_dictionary(&all, bytes_of(from.text), static_cast<unsigned>(from.known));
  all.next_in = begin;
  all.avail_in = static_cast<unsigned>(made.size);
  do {
    std::array<unsigned char, std::size_t{16} << 10> out;
    all.next_out = out.data();
    all.avail_out = static_cast<unsigned>(out.size());
    (void)zlib.deflate(&all, from.is_last ? zlib::finish : zlib::sync_flush);
    made.bytes.append(reinterpret_cast<char const*>(out.data()), out.size() - all.avail_out);
  } while (all.avail_out == 0);
  (void)zlib.end_deflate(&all);
  made.check = zlib.crc32(0, begin, static_cast<unsigned>(made.size));
  return made;
}

}  // namespace gzip
using namespace gzip;

struct gzip_writer::state {
  state(text_writer& to, unsigned wanted) : out(to), threads(wanted) {}

  zlib::library zlib;
  text_writer& out;
  unsigned threads;
  part next;
  std::deque<std::future<packed_part>> packing;  ///< in the order of the text
  unsigned long check = 0;
  std::uint64_t size = 0;

  void add(std::string_view more) {
    while (!more.empty()) {
      std::size_t const room = next.known + part_size - next.text.size();
      next.text.append(more.substr(0, room));
      more.remove_prefix((std::min)(more.size(), room));
      if (next.text.size() == next.known + part_size) send();
    }
  }

  void send() {
    part full = std::move(next);
    next = {};
    next.text.reserve(window + part_size);
    next.known = (std::min)(window, full.text.size());
    next.text.assign(full.text, full.text.size() - next.known);
    if (threads <= 1) return put(pack(zlib, full));
    if (packing.size() >= threads) put_first();
    auto const work = [this](part const& from) { return pack(zlib, from); };
    try {
      packing.push_back(std::async(std::launch::async, work, full));
    } catch (std::system_error const&) {  // no more threads
      packing.push_back(std::async(std::launch::deferred, work, std::move(full)));
    }
  }

  void put_first() {
    std::future<packed_part> first = std::move(packing.front());
    packing.pop_front();
    put(first.get());
  }
  void put(packed_part const& made) {
    check = zlib.crc32_combine(check, made.check, static_cast<long>(made.size));
    size += made.size;
    out.write(made.bytes);
  }
  void put_number(std::uint64_t value) {
    for (int byte = 0; byte < 4; ++byte) out.put(static_cast<char>(value >> 8 * byte & 0xffu));
  }
};

gzip_writer::gzip_writer(text_writer& out, unsigned threads)
    : state_(std::make_unique<state>(out, threads)) {
  // Deflate, no name, no time, unknown system.
  out.write(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
}

gzip_writer::~gzip_writer() = default;

bool gzip_writer::has_zlib() noexcept {
  static bool const has = zlib::library().is_whole();  // to open a library reads its file
  return has;
}

unsigned gzip_writer::spare_threads() noexcept {
  return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 8u);
}

void gzip_writer::write(std::string_view text) { state_->add(text); }

void gzip_writer::finish() {
  state& all = *state_;
  all.next.is_last = true;
  all.send();
  while (!all.packing.empty()) all.put_first();
  all.put_number(all.check);
  all.put_number(all.size);
}

}  // namespace detail
STRATA_END
