#ifndef STRATA_COLLECT_NVTX_NVTX_RANGES_HPP
#define STRATA_COLLECT_NVTX_NVTX_RANGES_HPP

#include <strata/collect/host/recorder.hpp>

// The part of NVTX's tool interface that Strata uses, declared here so that no NVTX header is
// needed. tests/package/abi_nvtx.cpp holds every number against the toolkit's headers.

STRATA_BEGIN
namespace detail {
namespace nvtx {

using range_id = std::uint64_t;  // nvtxRangeId_t

/// nvtxMessageType_t.
enum class message_kind : std::int32_t { none = 0, text = 1, wide_text = 2, registered = 3 };

/// nvtxEventAttributes_t: what is said of a range.
struct event {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_kind;
  std::uint32_t color;
  std::int32_t payload_kind;
  std::int32_t reserved;
  std::uint64_t payload;
  message_kind kind;
  void const* message;  // char const*, wchar_t const* or the handle of a registered string
};

/// What NVTX returns for a range without a level: NVTX_NO_PUSH_POP_TRACKING.
inline constexpr int no_level = -2;

/// NvtxCallbackModule.
enum class module_id : int { core = 1, core2 = 5 };

/// NvtxCallbackIdCore.
enum class core_id : unsigned {
  mark_event = 1,
  mark = 2,
  mark_wide = 3,
  start_event = 4,
  start = 5,
  start_wide = 6,
  end = 7,
  push_event = 8,
  push = 9,
  push_wide = 10,
  pop = 11
};

/// NvtxCallbackIdCore2.
enum class core2_id : unsigned {
  domain_mark = 1,
  domain_start = 2,
  domain_end = 3,
  domain_push = 4,
  domain_pop = 5,
  register_string = 10,
  register_string_wide = 11,
  create_domain = 12,
  create_domain_wide = 13,
  destroy_domain = 14
};

}  // namespace nvtx

/// A named domain of the program's NVTX calls; the default one has none.
struct nvtx_domain {
  std::string name;
  bool own;  // Strata's: its ranges are known already
};

/// A string that the program registered: its name is looked up once.
struct nvtx_string {
  std::string full;      // with the domain's name in front
  std::size_t text = 0;  // where the program's own text begins
  name_cache number{0};
};

/// The name of one range, made of what NVTX was given: the text, behind the name of a named domain
/// as `NCCL:ncclAllReduce`. Texts that have to be put together are cut where every name is.
class nvtx_name : uncopied {
 public:
  static constexpr std::string_view no_text = "[no text]";

  nvtx_name(nvtx_domain const* domain, char const* text) noexcept : domain_(domain) { read(text); }
  nvtx_name(nvtx_domain const* domain, wchar_t const* text) noexcept : domain_(domain) {
    read(text);
  }
  /// `find` knows the string of a handle.
  nvtx_name(nvtx_domain const* domain, nvtx::event const* event,
            nvtx_string* (*find)(void const* handle)) noexcept
      : domain_(domain) {
    bool const known = event != nullptr && event->size >= sizeof(nvtx::event);
    switch (known ? event->kind : nvtx::message_kind::none) {
      case nvtx::message_kind::text:
        read(static_cast<char const*>(event->message));
        return;
      case nvtx::message_kind::wide_text:
        read(static_cast<wchar_t const*>(event->message));
        return;
      case nvtx::message_kind::registered:
        if (nvtx_string* const string = find(event->message)) {
          full_ = string->full;
          text_ = string->text;
          number_ = &string->number;
          return;
        }
        break;
      default:
        break;
    }
    read(static_cast<char const*>(nullptr));
  }

  std::string_view full() const noexcept { return full_; }
  std::string_view text() const noexcept { return full_.substr(text_); }
  name_cache* number() const noexcept { return number_; }
  std::string_view domain() const noexcept {
    return domain_ == nullptr ? std::string_view() : std::string_view(domain_->name);
  }
  nvtx_domain const* where() const noexcept { return domain_; }
  bool own() const noexcept { return domain_ != nullptr && domain_->own; }

 private:
  static constexpr std::size_t most = name_table::longest + 4;  // so that the cut shows

  void read(char const* text) noexcept {
    std::string_view const given = text == nullptr ? no_text : std::string_view(text);
    bool const may_have_metadata = !given.empty() && given.back() == '#';
    if (domain_ == nullptr && !may_have_metadata) {
      full_ = given;
      return;
    }
    begin();
    if (may_have_metadata) return add_without_metadata(given);
    add(given);
  }

  STRATA_DETAIL_COLD void read(wchar_t const* text) noexcept {
    if (text == nullptr) return read(static_cast<char const*>(nullptr));
    begin();
    while (*text != 0 && size_ + 4 <= most) {
      auto value = static_cast<std::uint32_t>(*text++);
      if (sizeof(wchar_t) == 2 && value >= 0xD800 && value < 0xDC00 && *text >= 0xDC00 &&
          *text < 0xE000) {
        value = 0x10000 + ((value - 0xD800) << 10) + (static_cast<std::uint32_t>(*text++) - 0xDC00);
      }
      add_character(value);
    }
    full_ = {buffer_, size_};
  }

  /// The domain's name, and what parts it from the text.
  void begin() noexcept {
    if (domain_ == nullptr) return;
    add(domain_->name);
    add(":");
    text_ = size_;
  }

  void add(std::string_view part) noexcept {
    std::size_t const room = most - size_;
    std::size_t length = part.size() < room ? part.size() : room;
    // Never a part of a character.
    if (length < part.size())
      while (length > 0 && (static_cast<unsigned char>(part[length]) & 0xC0) == 0x80) --length;
    part.copy(buffer_ + size_, length);
    size_ += length;
    full_ = {buffer_, size_};
  }

  /// XLA's names have numbers that differ between processes behind them, as in
  /// `Thunk:#hlo_op=fusion_3,unique_hlo_op_id=17#`: of the metadata the first value stays,
  /// `Thunk:fusion_3`. Requires: the text ends in `#`.
  STRATA_DETAIL_COLD void add_without_metadata(std::string_view text) noexcept {
    std::size_t const mark = text.find(":#");
    std::size_t const key_end = text.find('=', mark);
    if (key_end == text.npos) return add(text);
    text.remove_suffix(1);
    std::string_view const values = text.substr(key_end + 1);
    add(text.substr(0, mark + 1));
    add(values.substr(0, values.find(',')));
  }

  void add_character(std::uint32_t value) noexcept {
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) value = 0xFFFD;
    auto const put = [this](std::uint32_t byte) { buffer_[size_++] = static_cast<char>(byte); };
    if (value < 0x80) return put(value);
    if (value < 0x800) {
      put(0xC0 | value >> 6);
    } else {
      if (value < 0x10000) {
        put(0xE0 | value >> 12);
      } else {
        put(0xF0 | value >> 18);
        put(0x80 | (value >> 12 & 0x3F));
      }
      put(0x80 | (value >> 6 & 0x3F));
    }
    put(0x80 | (value & 0x3F));
  }

  nvtx_domain const* domain_;
  std::string_view full_;
  std::size_t text_ = 0;
  name_cache* number_ = nullptr;
  std::size_t size_ = 0;
  char buffer_[most];
};

/// The domains and registered strings of the program. Equal ones are one; none is ever given back,
/// since ranges may be open in it. Threads: any.
class nvtx_registry {
 public:
  static constexpr std::size_t max_strings = 65'536;
  static constexpr std::size_t max_domains = 4'096;

  static nvtx_registry& instance() {
    static auto* const only = static_cast<nvtx_registry*>(
        shared_object(process_object::nvtx_registry, []() -> void* { return new nvtx_registry; }));
    return *only;
  }

  /// Null, the default domain, where there are too many, or no memory.
  STRATA_DETAIL_COLD nvtx_domain* domain(std::string_view name) noexcept {
    system_lock lock(mutex_);
    if (nvtx_domain** const known = domains_.find(name)) return *known;
    if (domains_.size() >= max_domains) return nullptr;
    nvtx_domain* made = nullptr;
    (void)if_memory_allows([&] {
      owned<nvtx_domain> fresh(new nvtx_domain{std::string(name), name == own_domain});
      nvtx_domain*& slot = domains_[fresh->name];
      made = slot = fresh.release();
    });
    return made;
  }

  /// A string as it is in a name's domain; null where there are too many, or no memory.
  STRATA_DETAIL_COLD nvtx_string* string(nvtx_name const& name) noexcept {
    system_lock lock(mutex_);
    if (nvtx_string** const known = strings_.find(name.full())) return *known;
    if (strings_.size() >= max_strings) return nullptr;
    nvtx_string* made = nullptr;
    (void)if_memory_allows([&] {
      owned<nvtx_string> fresh(new nvtx_string);
      fresh->full = name.full();
      fresh->text = name.full().size() - name.text().size();
      nvtx_string*& slot = strings_[fresh->full];
      made = slot = fresh.release();
    });
    return made;
  }

 private:
  static constexpr std::string_view own_domain = "strata";

  nvtx_registry() = default;

  system_mutex mutex_;
  flat_map<std::string, nvtx_domain*> domains_;
  flat_map<std::string, nvtx_string*> strings_;
};

/// The push/pop ranges of NVTX that one thread has open, of all domains, also those that nobody
/// heard: pops and pushes stay in step.
class nvtx_stack : uncopied {
 public:
  struct entry {
    range_token range;
    nvtx_domain const* domain;
  };
  ~nvtx_stack() {
    std::free(entries_);
    entries_ = nullptr;
    count_ = capacity_ = 0;
    refused_ = gone;
  }

  static nvtx_stack& of_this_thread() noexcept {
    static thread_local nvtx_stack own;
    return own;
  }

  /// False where the thread ends, or has too many open.
  bool has_room() noexcept {
    if (refused_ == gone) return false;
    if (refused_ == 0 && (count_ < capacity_ || grow())) return true;
    ++refused_;
    return false;
  }
  /// Requires: has_room. Its level, from 0.
  int push(entry const& opened) noexcept {
    entries_[count_] = opened;
    return static_cast<int>(count_++);
  }
  /// A step of the thread begins, or has ended what was pushed in it.
  static void turn(bool ends) noexcept {
    nvtx_stack& own = of_this_thread();
    if (!ends) own.step_begin_ = own.count_;
    if (ends && own.count_ > own.step_begin_) own.count_ = own.step_begin_;
  }

  /// Takes the innermost range of this domain out; its level, or no_level.
  int pop(nvtx_domain const* domain, range_token& range) noexcept {
    if (refused_ != 0) {
      if (refused_ != gone) --refused_;
      return nvtx::no_level;
    }
    for (std::size_t index = count_; index-- > 0;) {
      if (entries_[index].domain != domain) continue;
      range = entries_[index].range;
      for (std::size_t i = index + 1; i < count_; ++i) entries_[i - 1] = entries_[i];
      --count_;
      return static_cast<int>(index);
    }
    return nvtx::no_level;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 20;
  static constexpr std::size_t gone = ~std::size_t{0};

  STRATA_DETAIL_COLD bool grow() noexcept {
    if (capacity_ >= most) return false;
    std::size_t const capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    auto* const grown = static_cast<entry*>(std::realloc(entries_, capacity * sizeof(entry)));
    if (grown == nullptr) return false;
    entries_ = grown;
    capacity_ = capacity;
    return true;
  }

  entry* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::size_t step_begin_ = 0;
  std::size_t refused_ = 0;  // pushes beyond the limit, whose pops end nothing
};

/// A range's name and its index: NVTX has texts alone, which `block[3]`, `Train step 3` and
/// `layers.3` number all the same.
struct indexed_name {
  std::string_view name;
  std::int64_t index = no_index;
};

/// Splits the number off the end of a text.
inline indexed_name split_index(std::string_view text) noexcept {
  constexpr std::size_t max_digits = 9;
  std::size_t const tail = !text.empty() && text.back() == ']' ? 1 : 0;
  std::size_t const end = text.size() - tail;
  std::size_t first = end;
  std::int64_t index = 0;
  std::int64_t digit_value = 1;
  while (first > 0 && end - first < max_digits && is_digit(text[first - 1])) {
    --first;
    index += (text[first] - '0') * digit_value;
    digit_value *= 10;
  }
  if (first == end || first < 2) return {text};
  char const before = text[first - 1];
  bool const numbers = tail == 1 ? before == '[' : before == ' ' || before == '.';
  bool const fraction = before == '.' && is_digit(text[first - 2]);
  if (!numbers || fraction) return {text};
  return {text.substr(0, first - 1), index};
}

/// The program's NVTX calls as ranges, wherever they come from. Push/pop ranges are ranges like any
/// other, nested with Strata's own in their thread; start/end ranges, which need not nest and may
/// end in another thread, become spans, and marks spans without a length. Ranges that Strata itself
/// sends to NVTX are left alone. Threads: any. Cost: that of a range whose name is not constant.
class nvtx_ranges {
 public:
  /// `bytes` of a message, or NaN.
  static int push(nvtx_name const& name, double bytes = not_a_number) noexcept {
    if (name.own()) return nvtx::no_level;
    nvtx_stack& open = nvtx_stack::of_this_thread();
    if (!open.has_room()) return nvtx::no_level;
    range_token range;
    if (listener const* const active = listening()) {
      indexed_name const named = split_index(name.full());
      range_attributes attributes;
      attributes.record.bytes = bytes;
      range = active->begin(name.number(), named.name.data(), named.name.size(), named.index,
                            is_nan(bytes) ? nullptr : &attributes, false);
    }
    if (range.owner != nullptr) end_by_pop(range);
    return open.push({range, name.where()});
  }

  static int pop(nvtx_domain const* domain) noexcept {
    if (domain != nullptr && domain->own) return nvtx::no_level;
    range_token range;
    int const level = nvtx_stack::of_this_thread().pop(domain, range);
    if (range.owner != nullptr) range.owner->end(range);
    return level;
  }

  /// A number for a range to start, where nobody else gives one.
  static nvtx::range_id next_id() noexcept {
    static atomic<nvtx::range_id> next{1};
    return next.fetch_add(1, memory_order_relaxed);
  }

  STRATA_DETAIL_COLD static void start(nvtx_name const& name, nvtx::range_id id) noexcept {
    if (name.own() || listening() == nullptr) return;
    recorder& host = recorder::instance();
    thread_recorder const* const own = host.of_this_thread();
    if (own == nullptr) return;
    host.span_begins(split_index(name.full()).name, id);
    host.state().spans.start(id, name.text(), name.domain(), own->ordinal());
  }
  STRATA_DETAIL_COLD static void end(nvtx::range_id id) noexcept {
    if (listening() == nullptr) return;
    recorder& host = recorder::instance();
    thread_recorder const* const own = host.of_this_thread();
    if (own == nullptr) return;
    host.state().spans.end(id, own->ordinal());
    host.span_ends(id);
  }
  STRATA_DETAIL_COLD static void mark(nvtx_name const& name) noexcept {
    if (name.own() || listening() == nullptr) return;
    recorder& host = recorder::instance();
    thread_recorder const* const own = host.of_this_thread();
    if (own != nullptr) host.state().spans.mark(name.text(), name.domain(), own->ordinal());
  }

  /// Whether the program made an NVTX call since this was called last.
  static bool heard() noexcept { return heard_.exchange(false, memory_order_relaxed); }

 private:
  static void end_by_pop(range_token const& range) noexcept {
    atomic<void (*)(bool) noexcept>& stack = recorder::instance().state().other_stack;
    if (stack.load(memory_order_relaxed) == nullptr) stack.store(&nvtx_stack::turn);
    static_cast<thread_recorder&>(*range.owner).end_by_pop(range);
  }

  /// The listener of ranges; the first range starts the session that STRATA asks for.
  static listener const* listening() noexcept {
    static process_block const& ours = block();
    if (!heard_.load(memory_order_relaxed)) heard_.store(true, memory_order_relaxed);
    listener const* active = active_listener();
    if (STRATA_DETAIL_UNLIKELY(active == &bootstrap_listener)) active = decide_listener();
    return ours.nvtx_ignored.load(memory_order_relaxed) ? nullptr : active;
  }

  static inline atomic<bool> heard_{false};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_NVTX_RANGES_HPP
