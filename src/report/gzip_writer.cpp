#include "gzip_writer.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace gzip {  // not anonymous: gzip_writer::state has members of these types

constexpr std::size_t window = std::size_t{32} << 10;  // how far back a match may be
constexpr std::size_t longest_match = 258;
constexpr std::size_t shortest_match = 8;
constexpr std::size_t end_of_block = 256;
constexpr std::size_t all_literals = 286;
constexpr std::size_t all_distances = 30;

// ---- the check ----

/// CRC-32 of 16 bytes at a time.
class checksum {
 public:
  void add(char const* text, std::size_t size) {
    auto const* next = reinterpret_cast<unsigned char const*>(text);
    table const& all = tables();
    std::uint32_t value = ~value_;
    for (; size >= 16; size -= 16, next += 16) {
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < 4; ++i) sum ^= all[15 - i][next[i] ^ (value >> 8 * i & 0xffu)];
      for (std::size_t i = 4; i < 16; ++i) sum ^= all[15 - i][next[i]];
      value = sum;
    }
    for (; size > 0; --size) value = value >> 8 ^ all[0][(value ^ *next++) & 0xffu];
    value_ = ~value;
  }
  std::uint32_t value() const noexcept { return value_; }

 private:
  using table = std::array<std::array<std::uint32_t, 256>, 16>;

  static table const& tables() {
    static table const made = [] {
      table all{};
      for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0u);
        all[0][byte] = value;
      }
      for (std::size_t i = 1; i < all.size(); ++i)
        for (std::size_t byte = 0; byte < 256; ++byte)
          all[i][byte] = all[i - 1][byte] >> 8 ^ all[0][all[i - 1][byte] & 0xffu];
      return all;
    }();
    return made;
  }

  std::uint32_t value_ = 0;
};

// ---- codes ----

/// A range of lengths or distances with one symbol: the first of them, and the bits that tell
/// which.
struct symbol_range {
  std::uint16_t first;
  std::uint8_t extra_bits;
};

/// `bits_of(symbol)`: the extra bits.
template <std::size_t Count, class BitsOf>
std::array<symbol_range, Count> ranges_from(std::uint16_t first, BitsOf const& bits_of) {
  std::array<symbol_range, Count> made{};
  for (std::size_t i = 0; i < Count; ++i) {
    made[i] = {first, static_cast<std::uint8_t>(bits_of(i))};
    first = static_cast<std::uint16_t>(first + (1u << made[i].extra_bits));
  }
  return made;
}

struct symbol_ranges {
  std::array<symbol_range, 29> lengths =
      ranges_from<29>(3, [](std::size_t i) { return i < 8 || i == 28 ? 0 : i / 4 - 1; });
  std::array<symbol_range, all_distances> distances =
      ranges_from<all_distances>(1, [](std::size_t i) { return i < 4 ? 0 : i / 2 - 1; });
  std::array<std::uint8_t, longest_match + 1> symbol_of_length{};
  std::array<std::uint8_t, window + 1> symbol_of_distance{};

  symbol_ranges() {
    lengths[28].first = longest_match;
    for (std::uint8_t symbol = 0; symbol < lengths.size(); ++symbol)
      std::fill(symbol_of_length.begin() + lengths[symbol].first, symbol_of_length.end(), symbol);
    for (std::uint8_t symbol = 0; symbol < distances.size(); ++symbol)
      std::fill(symbol_of_distance.begin() + distances[symbol].first, symbol_of_distance.end(),
                symbol);
  }
};

struct code {
  std::uint32_t bits = 0;  ///< the first bit is the lowest
  std::uint32_t length = 0;

  /// The code, and behind it more bits.
  code and_bits(std::uint32_t more, std::uint32_t count) const noexcept {
    return {bits | more << length, length + count};
  }
};

/// Codes of Huffman, none longer than `longest` bits, of symbols that occur so often.
template <std::size_t Count>
std::array<code, Count> make_codes(std::array<std::uint32_t, Count> const& counts,
                                   std::size_t longest) {
  struct node {
    std::uint64_t count;
    std::size_t parent;
  };
  std::vector<std::size_t> used;
  for (std::size_t symbol = 0; symbol < Count; ++symbol)
    if (counts[symbol] > 0) used.push_back(symbol);
  for (std::size_t symbol = 0; used.size() < 2; ++symbol)  // a code of one symbol has a gap
    if (counts[symbol] == 0) used.push_back(symbol);
  std::stable_sort(used.begin(), used.end(),
                   [&](std::size_t a, std::size_t b) { return counts[a] < counts[b]; });

  // Leaves, then what joins two, each in the order of their counts.
  std::vector<node> nodes;
  for (std::size_t const symbol : used) nodes.push_back({counts[symbol], 0});
  std::size_t leaf = 0, joined = used.size();
  auto const take = [&] {
    bool const is_leaf =
        leaf < used.size() && (joined == nodes.size() || nodes[leaf].count <= nodes[joined].count);
    return is_leaf ? leaf++ : joined++;
  };
  while (nodes.size() < 2 * used.size() - 1) {
    std::size_t const a = take(), b = take();
    nodes[a].parent = nodes[b].parent = nodes.size();
    nodes.push_back({nodes[a].count + nodes[b].count, 0});
  }
  std::vector<std::size_t> depth(nodes.size(), 0);
  std::array<std::size_t, 16> of_length{};
  for (std::size_t i = nodes.size() - 1; i-- > 0;) {
    depth[i] = depth[nodes[i].parent] + 1;
    if (i < used.size()) ++of_length[(std::min)(depth[i], longest)];
  }
  // Where codes were cut the sum is too large: a longer one makes room for it.
  std::size_t sum = 0;
  for (std::size_t length = 1; length <= longest; ++length)
    sum += of_length[length] << (longest - length);
  for (; sum > std::size_t{1} << longest; --sum) {
    std::size_t length = longest - 1;
    while (of_length[length] == 0) --length;
    --of_length[length];
    of_length[length + 1] += 2;
    --of_length[longest];
  }

  std::array<code, Count> codes{};
  std::size_t next = 0;  // the rarest have the longest
  for (std::size_t length = longest; length > 0; --length)
    for (std::size_t i = 0; i < of_length[length]; ++i)
      codes[used[next++]].length = static_cast<std::uint32_t>(length);
  std::uint32_t value = 0;
  for (std::size_t length = 1; length <= longest; ++length, value <<= 1)
    for (code& each : codes) {
      if (each.length != length) continue;
      for (std::size_t bit = 0; bit < length; ++bit)
        each.bits |= (value >> bit & 1) << (length - 1 - bit);
      ++value;
    }
  return codes;
}

/// A literal, or a match: its length and how far back it is.
struct token {
  std::uint16_t literal_or_length;
  std::uint16_t distance;  ///< 0: a literal
};

std::uint64_t load(char const* from) noexcept {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace gzip
using namespace gzip;

struct gzip_writer::state {
  explicit state(text_writer& to) : out(to) {
    tokens.reserve(most_tokens);
    packed.reserve(std::size_t{64} << 10);
  }

  static constexpr std::size_t step = std::size_t{128} << 10;  // compressed at a time
  static constexpr std::size_t most_tokens = std::size_t{32} << 10;
  static constexpr int table_bits = 14;

  text_writer& out;
  checksum check;
  std::uint64_t size = 0;
  symbol_ranges ranges;
  std::array<char, window + step> text{};  // what was compressed, then what will be
  std::size_t begin = 0;                   // of what will be
  std::size_t end = 0;
  // By eight bytes where they were last and before, counted from one in `text`.
  struct places {
    std::uint32_t last;
    std::uint32_t before;
  };
  std::vector<places> known = std::vector<places>(std::size_t{1} << table_bits, places{0, 0});
  std::vector<token> tokens;
  std::vector<char> packed;
  std::uint64_t bits = 0;
  unsigned bit_count = 0;

  void add(std::string_view more) {
    while (!more.empty()) {
      if (end == window + step) compress();
      std::size_t const part = (std::min)(more.size(), window + step - end);
      std::memcpy(&text[end], more.data(), part);
      end += part;
      more.remove_prefix(part);
    }
  }

  std::size_t equal_from(std::size_t a, std::size_t b) const noexcept {
    std::size_t const most = (std::min)(longest_match, end - b);
    std::size_t same = 0;
    while (same + 8 <= most && load(&text[a + same]) == load(&text[b + same])) same += 8;
    while (same < most && text[a + same] == text[b + same]) ++same;
    return same;
  }

  std::size_t place_of(std::size_t at) const noexcept {
    return static_cast<std::size_t>(load(&text[at]) * 0x9E3779B97F4A7C15u >> (64 - table_bits));
  }

  void compress() {
    check.add(&text[begin], end - begin);
    size += end - begin;
    for (std::size_t at = begin; at < end;) {
      std::size_t length = 0;
      std::size_t from = 0;
      if (end - at >= shortest_match) {
        places& here = known[place_of(at)];
        for (std::uint32_t const place : {here.last, here.before}) {
          if (place == 0 || at - (place - 1) > window) break;
          std::size_t const same = equal_from(place - 1, at);
          if (same <= length) continue;
          length = same;
          from = place - 1;
        }
        here.before = here.last;
        here.last = static_cast<std::uint32_t>(at + 1);
      }
      if (length < shortest_match) {
        tokens.push_back({static_cast<unsigned char>(text[at]), 0});
        ++at;
      } else {
        tokens.push_back(
            {static_cast<std::uint16_t>(length), static_cast<std::uint16_t>(at - from)});
        at += length;
      }
      if (tokens.size() == most_tokens) write_block(false);
    }
    // The last of it is what later text is compared with.
    std::size_t const drop = end > window ? end - window : 0;
    std::memmove(text.data(), &text[drop], end - drop);
    end -= drop;
    begin = end;
    for (places& each : known)
      for (std::uint32_t* const place : {&each.last, &each.before})
        *place = *place > drop ? *place - static_cast<std::uint32_t>(drop) : 0;
  }

  void put(std::uint64_t value, unsigned count) {
    bits |= value << bit_count;
    bit_count += count;
    if (bit_count < 32) return;
    for (int i = 0; i < 4; ++i, bits >>= 8) packed.push_back(static_cast<char>(bits));
    bit_count -= 32;
  }
  void put(code const& of) { put(of.bits, of.length); }

  void write_block(bool is_last) {
    std::array<std::uint32_t, all_literals> literals{};
    std::array<std::uint32_t, all_distances> distances{};
    for (token const& each : tokens) {
      if (each.distance == 0) {
        ++literals[each.literal_or_length];
      } else {
        ++literals[end_of_block + 1 + ranges.symbol_of_length[each.literal_or_length]];
        ++distances[ranges.symbol_of_distance[each.distance]];
      }
    }
    literals[end_of_block] = 1;
    auto const literal_codes = make_codes(literals, 15);
    auto const distance_codes = make_codes(distances, 15);

    put(is_last ? 1 : 0, 1);
    put(2, 2);  // with codes of its own
    put(all_literals - 257, 5);
    put(all_distances - 1, 5);
    write_lengths(literal_codes, distance_codes);
    std::array<code, longest_match + 1> length_codes;
    for (std::size_t length = 3; length < length_codes.size(); ++length) {
      std::size_t const symbol = ranges.symbol_of_length[length];
      symbol_range const& range = ranges.lengths[symbol];
      length_codes[length] = literal_codes[end_of_block + 1 + symbol].and_bits(
          static_cast<std::uint32_t>(length) - range.first, range.extra_bits);
    }
    for (token const& each : tokens) {
      if (each.distance == 0) {
        put(literal_codes[each.literal_or_length]);
        continue;
      }
      put(length_codes[each.literal_or_length]);
      std::size_t const symbol = ranges.symbol_of_distance[each.distance];
      symbol_range const& range = ranges.distances[symbol];
      put(distance_codes[symbol].and_bits(std::uint32_t{each.distance} - range.first,
                                          range.extra_bits));
    }
    put(literal_codes[end_of_block]);
    tokens.clear();
    out.write({packed.data(), packed.size()});
    packed.clear();
  }

  /// The lengths of the codes, themselves in a code.
  void write_lengths(std::array<code, all_literals> const& literals,
                     std::array<code, all_distances> const& distances) {
    static constexpr std::uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                             11, 4,  12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint32_t, 19> counts{};
    for (code const& each : literals) ++counts[each.length];
    for (code const& each : distances) ++counts[each.length];
    auto const codes = make_codes(counts, 7);
    put(sizeof order - 4, 4);
    for (std::uint8_t const length : order) put(codes[length].length, 3);
    for (code const& each : literals) put(codes[each.length]);
    for (code const& each : distances) put(codes[each.length]);
  }
};

gzip_writer::gzip_writer(text_writer& out) : state_(std::make_unique<state>(out)) {
  // Deflate, no name, no time, as of no system.
  out.write(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
}

gzip_writer::~gzip_writer() = default;

void gzip_writer::write(std::string_view text) { state_->add(text); }

void gzip_writer::finish() {
  state& all = *state_;
  all.compress();
  all.write_block(true);
  all.put(0, (8 - all.bit_count % 8) % 8);
  all.put(all.check.value(), 32);
  all.put(all.size & 0xffffffffu, 32);
  for (; all.bit_count > 0; all.bit_count -= 8, all.bits >>= 8)
    all.packed.push_back(static_cast<char>(all.bits));
  all.out.write({all.packed.data(), all.packed.size()});
  all.packed.clear();
}

}  // namespace detail
STRATA_END
