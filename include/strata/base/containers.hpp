#ifndef STRATA_BASE_CONTAINERS_HPP
#define STRATA_BASE_CONTAINERS_HPP

#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>

#include <string>
#include <string_view>

STRATA_BEGIN_LIGHT
namespace detail {

/// Values by key in sorted blocks: <map> and <unordered_map> would be a sixth of what all of Strata
/// includes. Cost: a look-up is two binary searches; a new key moves at most those behind it in its
/// block.
template <class Key, class Value>
class flat_map {
 public:
  /// The value of a key, null where there is none.
  template <class Like>
  Value* find(Like const& key) noexcept {
    if (blocks_.empty()) return nullptr;
    block& in = blocks_[block_of(key)];
    std::size_t const index = lower(in, key);
    return index == in.size() || key < in[index].first ? nullptr : &in[index].second;
  }
  template <class Like>
  Value const* find(Like const& key) const noexcept {
    return const_cast<flat_map*>(this)->find(key);
  }

  /// The value of a key; where there was none, a new one. It stays until the next one.
  Value& operator[](Key const& key) {
    if (blocks_.empty()) blocks_.emplace_back();
    std::size_t number = block_of(key);
    std::size_t index = lower(blocks_[number], key);
    if (index < blocks_[number].size() && !(key < blocks_[number][index].first))
      return blocks_[number][index].second;
    if (blocks_[number].size() == most_of_block) {
      // Keys that come in order fill their blocks.
      std::size_t const kept =
          index == most_of_block && number + 1 == blocks_.size() ? index : most_of_block / 2;
      split(number, kept);
      number += index >= kept ? 1 : 0;
      index -= index >= kept ? kept : 0;
    }
    ++size_;
    return blocks_[number].insert(blocks_[number].begin() + index, {key, Value()})->second;
  }

  /// Calls visit(key, value) for each, in the order of the keys.
  template <class Visit>
  void for_each(Visit visit) const {
    for (block const& in : blocks_)
      for (pair<Key, Value> const& entry : in) visit(entry.first, entry.second);
  }
  std::size_t size() const noexcept { return size_; }
  void clear() noexcept {
    blocks_.clear();
    size_ = 0;
  }

 private:
  using block = vec<pair<Key, Value>>;
  static constexpr std::size_t most_of_block = 256;

  /// The last block that begins with this key or one before it; else the first.
  template <class Like>
  std::size_t block_of(Like const& key) const noexcept {
    if (blocks_.size() == 1) return 0;
    std::size_t const behind =
        blocks_.count_first([&](block const& in) { return in.empty() || !(key < in[0].first); });
    return behind == 0 ? 0 : behind - 1;
  }
  template <class Like>
  static std::size_t lower(block const& in, Like const& key) noexcept {
    if (!in.empty() && in.back().first < key) return in.size();
    return in.count_first([&](pair<Key, Value> const& entry) { return entry.first < key; });
  }
  /// All of a block but the first ones become the next block.
  void split(std::size_t number, std::size_t kept) {
    block behind;
    behind.reserve(most_of_block);
    for (std::size_t i = kept; i < blocks_[number].size(); ++i)
      behind.push_back(std::move(blocks_[number][i]));
    blocks_[number].resize(kept);
    blocks_.insert(blocks_.begin() + number + 1, std::move(behind));
  }

  vec<block> blocks_;  ///< none is empty but the only one
  std::size_t size_ = 0;
};

/// Values by a number, in no order. Cost: a look-up is a hash and a step or two.
template <class Value>
class number_map {
 public:
  /// No key.
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  Value* find(std::uint64_t key) noexcept {
    if (slots_.empty()) return nullptr;
    slot& found = slots_[place_of(key)];
    return found.key == key ? &found.value : nullptr;
  }
  Value const* find(std::uint64_t key) const noexcept {
    return const_cast<number_map*>(this)->find(key);
  }

  /// Room for one more key: `[]` needs no memory then. False where there is none.
  [[nodiscard]] bool make_room() noexcept {
    if (size_ * 2 < slots_.size()) return true;
    std::size_t const wanted = slots_.empty() ? 16 : slots_.size() * 2;
    vec<slot> former;
    if (!former.make_room(wanted)) return false;
    former.resize(wanted);
    former.swap(slots_);
    for (slot const& old : former) {
      if (old.key != nothing) slots_[place_of(old.key)] = old;
    }
    return true;
  }

  /// The value of a key; where there was none, a new one.
  Value& operator[](std::uint64_t key) {
    if (!make_room()) out_of_memory();
    slot& found = slots_[place_of(key)];
    if (found.key != key) {
      found.key = key;
      found.value = Value();
      ++size_;
    }
    return found.value;
  }

  void erase(std::uint64_t key) noexcept {
    if (slots_.empty()) return;
    std::size_t free = place_of(key);
    if (slots_[free].key != key) return;
    --size_;
    // Later entries move up, as far as they would be found there.
    for (std::size_t index = next(free); slots_[index].key != nothing; index = next(index)) {
      std::size_t const home = hash(slots_[index].key);
      if (((index - home) & mask()) < ((index - free) & mask())) continue;
      slots_[free] = slots_[index];
      free = index;
    }
    slots_[free].key = nothing;
  }

  /// What make_room would take of memory. Units: bytes, 0 where there is room.
  std::size_t growth() const noexcept {
    if (size_ * 2 < slots_.size()) return 0;
    return (slots_.empty() ? 16 : slots_.size()) * sizeof(slot);
  }
  std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(slot); }

  std::size_t size() const noexcept { return size_; }
  void clear() noexcept {
    slots_ = {};
    size_ = 0;
  }

 private:
  struct slot {
    std::uint64_t key = nothing;
    Value value;
  };

  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t next(std::size_t index) const noexcept { return (index + 1) & mask(); }
  std::size_t hash(std::uint64_t key) const noexcept {
    std::uint64_t const h = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(h ^ h >> 29) & mask();
  }
  std::size_t place_of(std::uint64_t key) const noexcept {
    std::size_t index = hash(key);
    while (slots_[index].key != key && slots_[index].key != nothing) index = next(index);
    return index;
  }
  vec<slot> slots_;
  std::size_t size_ = 0;
};

/// Hashes and compares texts 8 bytes at a time, which beats memcmp for short ones.
class text_words {
 public:
  static std::uint64_t hash(std::string_view text) noexcept {
    char const* cursor = text.data();
    std::size_t left = text.size();
    std::uint64_t h = left * factor;
    for (; left > 8; cursor += 8, left -= 8) h = mix(h ^ load<std::uint64_t>(cursor));
    return mix(h ^ tail(cursor, left));
  }

  static bool equal(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    char const* cursor = a.data();
    char const* other = b.data();
    std::size_t left = a.size();
    for (; left > 8; cursor += 8, other += 8, left -= 8) {
      if (load<std::uint64_t>(cursor) != load<std::uint64_t>(other)) return false;
    }
    return tail(cursor, left) == tail(other, left);
  }

 private:
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15u;

  static std::uint64_t mix(std::uint64_t h) noexcept {
    h *= factor;
    return h ^ (h >> 32);
  }
  template <class Word>
  static Word load(char const* from) noexcept {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  /// Up to 8 bytes as one word; different ones of one size differ.
  static std::uint64_t tail(char const* bytes, std::size_t left) noexcept {
    if (left >= 4) {
      return std::uint64_t{load<std::uint32_t>(bytes)} << 32 |
             load<std::uint32_t>(bytes + left - 4);
    }
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < left; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
    return word;
  }
};

/// Numbers by key, for what a range calls: without memory `add` returns false, where a number_map
/// fails as a vec does. Where it has a limit it starts again from nothing beyond it, as a thread's
/// memory of a table that threads share may. A key has `hash()` and `==`. Threads: one at a time.
template <class Key>
class key_numbers : uncopied {
  static_assert(std::is_trivially_copyable<Key>::value, "an entry of zeros is free");

 public:
  /// The size of a thread's own map.
  static constexpr std::size_t max_remembered = std::size_t{1} << 16;

  explicit key_numbers(std::size_t most = ~std::size_t{0}) noexcept : most_(most) {}
  ~key_numbers() { std::free(entries_); }

  /// 0 where the key is not known.
  std::uint32_t find(Key const& key) const noexcept {
    if (STRATA_DETAIL_UNLIKELY(entries_ == nullptr)) return 0;
    return place_of(key).number;
  }

  /// Room for so many more keys: `add` needs no memory then. False where there is none; a map may
  /// fill up to one free place.
  [[nodiscard]] STRATA_DETAIL_COLD bool make_room(std::size_t more) noexcept {
    return (count_ + more - 1) * 4 < size() * 3 || grow() || count_ + more < size();
  }

  /// Requires: the number is not 0. False where there is no memory.
  STRATA_DETAIL_COLD bool add(Key const& key, std::uint32_t number) noexcept {
    if (!make_room(1)) return false;
    entry& slot = place_of(key);
    count_ += slot.number == 0 ? 1 : 0;
    slot = {key, number};
    return true;
  }

  void clear() noexcept {
    std::free(entries_);
    entries_ = nullptr;
    count_ = mask_ = 0;
  }
  /// The same, and there is room for some keys without memory, as there was before.
  void clear_but_room() noexcept {
    auto* const smallest = static_cast<entry*>(std::calloc(least, sizeof(entry)));
    if (smallest == nullptr) {
      std::memset(static_cast<void*>(entries_), 0, size() * sizeof(entry));
    } else {
      std::free(std::exchange(entries_, smallest));
      mask_ = least - 1;
    }
    count_ = 0;
  }

 private:
  struct entry {
    Key key;
    std::uint32_t number;  // 0: free
  };

  static constexpr std::size_t least = 64;

  std::size_t size() const noexcept { return entries_ == nullptr ? 0 : mask_ + 1; }

  /// The entry of the key, or the free one where it belongs.
  entry& place_of(Key const& key) const noexcept {
    std::size_t index = static_cast<std::size_t>(key.hash()) & mask_;
    while (entries_[index].number != 0 && !(entries_[index].key == key))
      index = (index + 1) & mask_;
    return entries_[index];
  }

  bool grow() noexcept {
    std::size_t const former_size = size();
    std::size_t const wanted = former_size == 0 ? least : former_size * 2;
    bool const begins_anew = wanted > most_;
    std::size_t const made_size = begins_anew ? former_size : wanted;
    auto* const made = static_cast<entry*>(std::calloc(made_size, sizeof(entry)));
    if (made == nullptr) return false;
    entry* const former = std::exchange(entries_, made);
    mask_ = made_size - 1;
    if (begins_anew) count_ = 0;
    for (std::size_t i = 0; i < former_size && !begins_anew; ++i) {
      if (former[i].number != 0) place_of(former[i].key) = former[i];
    }
    std::free(former);
    return true;
  }

  std::size_t most_;
  entry* entries_ = nullptr;
  std::size_t mask_ = 0;
  std::size_t count_ = 0;
};

/// A text as a key; its characters stay where they are.
struct text_key {
  std::string_view text;

  std::uint64_t hash() const noexcept { return text_words::hash(text); }
  friend bool operator==(text_key const& a, text_key const& b) noexcept {
    return text_words::equal(a.text, b.text);
  }
};

/// Numbers for texts: equal texts have one number, counted from one. Bounded in count and in bytes.
/// Where long texts are cut, those beyond `longest` bytes that begin alike are equal. Threads: any.
class name_table : uncopied {
 public:
  static constexpr std::size_t max_names = 65'536;
  static constexpr std::size_t max_bytes = std::size_t{64} << 20;
  static constexpr std::size_t longest = 1'000;

  enum class long_texts { kept, cut };

  explicit name_table(long_texts are = long_texts::kept) : cuts_(are == long_texts::cut) {
    texts_.emplace_back();
  }
  ~name_table() {
    for (std::string_view const text : texts_) std::free(const_cast<char*>(text.data()));
  }

  /// The number of a text; `fallback`'s number, and a counted refusal, where the table is full.
  std::uint32_t intern(std::string_view text, std::string_view fallback,
                       bool* refused = nullptr) noexcept {
    char cut[longest];
    if (is_cut(text)) text = cut_text(text, cut);
    system_lock lock(mutex_);
    ++asked_;
    if (std::uint32_t const known = numbers_.find({text})) return known;
    if (texts_.size() < max_names && bytes_ + text.size() <= limit_bytes_) {
      if (std::uint32_t const made = add(text)) return made;
    }
    refused_.fetch_add(1, memory_order_relaxed);
    if (refused != nullptr) *refused = true;
    if (std::uint32_t const known = numbers_.find({fallback})) return known;
    return add(fallback);
  }

  bool is_cut(std::string_view text) const noexcept { return text.size() > longest && cuts_; }

  /// The text of a number, in memory that does not move as long as the table lives.
  std::string_view text(std::uint32_t number) const noexcept {
    system_lock lock(mutex_);
    return texts_[number];
  }

  /// From now on the texts may have so many bytes, or `max_bytes` where that is less.
  void limit_bytes(std::size_t bytes) noexcept {
    system_lock lock(mutex_);
    limit_bytes_ = bytes < min_limit ? min_limit : bytes < max_bytes ? bytes : max_bytes;
  }
  /// The memory of all texts, with their places in the lists.
  std::size_t bytes() const noexcept {
    system_lock lock(mutex_);
    return bytes_ + (texts_.size() - 1) * bytes_of_place;
  }

  std::uint64_t refused() const noexcept { return refused_.load(memory_order_relaxed); }
  /// How many numbers were asked for, each under a lock.
  std::uint64_t asked() const noexcept {
    system_lock lock(mutex_);
    return asked_;
  }

  /// Hands the texts from this number on to `sink`.
  template <class Sink>
  void for_each_from(std::size_t first, Sink sink) const {
    system_lock lock(mutex_);
    for (; first < texts_.size(); ++first) sink(texts_[first]);
  }

  vec<std::string> texts() const {
    system_lock lock(mutex_);
    vec<std::string> copies;
    for (std::string_view const text : texts_) copies.emplace_back(text);
    return copies;
  }

 private:
  static constexpr std::size_t min_limit = std::size_t{1} << 20;
  /// In the vector, in the map of numbers that is half full, and around a block of memory.
  static constexpr std::size_t bytes_of_place =
      sizeof(std::string_view) + 2 * (sizeof(text_key) + 8) + 16;

  /// The beginning of a long text, up to a whole character, and an ellipsis.
  STRATA_DETAIL_COLD static std::string_view cut_text(std::string_view text,
                                                      char (&buffer)[longest]) noexcept {
    constexpr std::string_view mark = "\xE2\x80\xA6";
    std::size_t const room = longest - mark.size();
    std::size_t kept = room;
    while (kept > room - 4 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
    text.copy(buffer, kept);
    mark.copy(buffer + kept, mark.size());
    return {buffer, kept + mark.size()};
  }

  /// 0 where there is no memory.
  std::uint32_t add(std::string_view text) noexcept {
    if (!texts_.make_room(1)) return 0;
    auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) return 0;
    copy[text.copy(copy, text.size())] = '\0';
    auto const number = static_cast<std::uint32_t>(texts_.size());
    if (!numbers_.add({{copy, text.size()}}, number)) {
      std::free(copy);
      return 0;
    }
    texts_.emplace_back(copy, text.size());
    bytes_ += text.size();
    return number;
  }

  bool cuts_;
  mutable system_mutex mutex_;
  key_numbers<text_key> numbers_;
  vec<std::string_view> texts_;
  std::size_t bytes_ = 0;
  std::size_t limit_bytes_ = max_bytes;
  std::uint64_t asked_ = 0;
  atomic<std::uint64_t> refused_{0};
};

/// The numbers of the texts that one thread named, so that the shared table is asked for new ones
/// only. Threads: one. Cost: a few ns for a known text.
class name_memo {
 public:
  explicit name_memo(name_table& names) noexcept : names_(&names) {}

  /// As name_table::intern. A refused call is counted each time.
  std::uint32_t number(std::string_view text, std::string_view fallback,
                       bool* refused = nullptr) noexcept {
    if (STRATA_DETAIL_UNLIKELY(names_->is_cut(text)))
      return names_->intern(text, fallback, refused);
    std::uint32_t const known = known_.find({text});
    return STRATA_DETAIL_UNLIKELY(known == 0) ? ask(text, fallback, refused) : known;
  }

 private:
  STRATA_DETAIL_COLD std::uint32_t ask(std::string_view text, std::string_view fallback,
                                       bool* refused) noexcept {
    bool beyond = false;
    std::uint32_t const number = names_->intern(text, fallback, &beyond);
    if (!beyond) (void)known_.add({names_->text(number)}, number);
    if (beyond && refused != nullptr) *refused = true;
    return number;
  }

  name_table* names_;
  key_numbers<text_key> known_{key_numbers<text_key>::max_remembered};
};

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_BASE_CONTAINERS_HPP
