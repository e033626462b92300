#include <strata/version.hpp>
#ifndef STRATA_COLLECT_NVTX_NVTX_NAME_HPP
#define STRATA_COLLECT_NVTX_NVTX_NAME_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/nvtx/nvtx_types.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

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
/// as `NCCL:ncclAllReduce`. Texts that have to be put together are cut behind 1,000 bytes.
class nvtx_name {
 public:
  static constexpr std::string_view no_text = "[no text]";

  nvtx_name(nvtx_domain const* domain, char const* text) noexcept : domain_(domain) { read(text); }
  nvtx_name(nvtx_domain const* domain, wchar_t const* text) noexcept : domain_(domain) {
    read(text);
  }
  /// `find` knows the string of a handle.
  template <class Find>
  nvtx_name(nvtx_domain const* domain, nvtx::event const* event, Find find) noexcept
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
  nvtx_name(nvtx_name const&) = delete;
  nvtx_name& operator=(nvtx_name const&) = delete;

  std::string_view full() const noexcept { return full_; }
  std::string_view text() const noexcept { return full_.substr(text_); }
  name_cache* number() const noexcept { return number_; }
  std::string_view domain() const noexcept {
    return domain_ == nullptr ? std::string_view() : std::string_view(domain_->name);
  }
  nvtx_domain const* where() const noexcept { return domain_; }
  bool own() const noexcept { return domain_ != nullptr && domain_->own; }

 private:
  static constexpr std::size_t most = 1'000;

  void read(char const* text) noexcept {
    std::string_view const given = text == nullptr ? no_text : std::string_view(text);
    if (domain_ == nullptr) {
      full_ = given;
      return;
    }
    begin();
    add(given);
  }

  void read(wchar_t const* text) noexcept {
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
  static constexpr std::size_t most_strings = 65'536;
  static constexpr std::size_t most_domains = 4'096;

  static nvtx_registry& instance() noexcept {
    static nvtx_registry& only = *new nvtx_registry;
    return only;
  }

  /// Null, the default domain, where there are too many.
  nvtx_domain* domain(std::string_view name) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (nvtx_domain** const known = domains_.find(name)) return *known;
    if (domains_.size() >= most_domains) return nullptr;
    auto* const made = new (std::nothrow) nvtx_domain{std::string(name), name == own_domain};
    if (made != nullptr) domains_[made->name] = made;
    return made;
  }

  /// A string as it is in a name's domain; null where there are too many.
  nvtx_string* string(nvtx_name const& name) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (nvtx_string** const known = strings_.find(name.full())) return *known;
    if (strings_.size() >= most_strings) return nullptr;
    auto* const made = new (std::nothrow) nvtx_string;
    if (made == nullptr) return nullptr;
    made->full = name.full();
    made->text = name.full().size() - name.text().size();
    strings_[made->full] = made;
    return made;
  }

 private:
  static constexpr std::string_view own_domain = "strata";

  nvtx_registry() = default;

  std::mutex mutex_;
  flat_map<std::string, nvtx_domain*> domains_;
  flat_map<std::string, nvtx_string*> strings_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_NVTX_NVTX_NAME_HPP
