#include <strata/version.hpp>
#ifndef STRATA_REPORT_RECORDING_WRITER_HPP
#define STRATA_REPORT_RECORDING_WRITER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/report/recorded_fields.hpp>
#include <strata/report/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

STRATA_BEGIN
namespace detail {

/// Writes a profile as a recording, in few bytes: whole numbers take as many as they need, and a
/// record is what changed since the one before it. Memory: that of the text_writer.
class recording_writer {
 public:
  explicit recording_writer(text_writer& out) : out_(&out) {}

  void write(profile const& source) {
    write_bytes(recording_magic);
    write_bytes(sentence() << recording_version << '\n');
    write_value<profile>(*this, const_cast<profile*>(&source));  // it is only read
    std::uint64_t const hash = hash_.value();
    char bytes[sizeof hash];
    std::memcpy(bytes, &hash, sizeof bytes);
    out_->write({bytes, sizeof bytes});
  }

  /// One member. An empty text or list is left out.
  template <class Value>
  void field(char const* name, Value& of) {
    if constexpr (std::is_floating_point<Value>::value) {
      real(name, of);
    } else if constexpr (!std::is_class<Value>::value) {
      integer(name, static_cast<std::int64_t>(of));
    } else if constexpr (is_vec<Value>) {
      using each = typename Value::value_type;
      if constexpr (is_record<each>) {
        static_assert(sizeof(each) % 4 == 0, "a record is made of words");
        records(name, of.data(), sizeof(each) / 4, of.size());
      } else {
        list(name, of.data(), sizeof(each), of.size(), &write_value<each>);
      }
    } else if constexpr (std::is_same<Value, std::string>::value) {
      list(name, &of, 0, of.empty() ? 0 : 1, &write_value<Value>);
    } else {
      key(name);
      write_value<Value>(*this, &of);
    }
  }

 private:
  using write_function = void(recording_writer& to, void* value);

  template <class Value>
  static void write_value(recording_writer& to, void* value) {
    if constexpr (std::is_same<Value, std::string>::value) {
      to.kind(recorded_kind::text);
      to.write_text(*static_cast<std::string*>(value));
    } else {
      to.kind(recorded_kind::object);
      recorded_fields::each(to, *static_cast<Value*>(value));
      to.number(0);  // no key
    }
  }

  /// A list of texts or objects; `size` 0: one of them alone.
  void list(char const* name, void* first, std::size_t size, std::size_t count,
            write_function* fill) {
    if (count == 0) return;
    key(name);
    if (size != 0) {
      kind(recorded_kind::list);
      number(count);
    }
    for (; count > 0; --count, first = static_cast<char*>(first) + size) fill(*this, first);
  }
  void integer(char const* name, std::int64_t value) {
    key(name);
    kind(recorded_kind::integer);
    number(static_cast<std::uint64_t>(value) << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void real(char const* name, double value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof bytes);
    key(name);
    kind(recorded_kind::real);
    write_bytes({bytes, sizeof bytes});
  }
  void records(char const* name, void const* first, std::size_t words, std::size_t count) {
    if (count == 0) return;
    key(name);
    kind(recorded_kind::records);
    number(words);
    number(count);
    vec<std::uint32_t> changes(words), before(words);
    auto const* at = static_cast<char const*>(first);
    for (; count > 0; --count, at += words * 4) {
      std::memcpy(changes.data(), at, words * 4);
      for (std::size_t i = 0; i < words; ++i) {
        std::uint32_t const word = changes[i];
        changes[i] -= before[i];
        before[i] = word;
      }
      // A bit for each word that changed, then those words' changes.
      for (std::size_t i = 0; i < words; i += 8) {
        unsigned mask = 0;
        for (std::size_t k = i; k < words && k < i + 8; ++k)
          mask |= changes[k] != 0 ? 1u << (k - i) : 0u;
        write_byte(static_cast<unsigned char>(mask));
      }
      for (std::uint32_t const change : changes)
        if (change != 0) number(change << 1 ^ (change >> 31 != 0 ? ~0u : 0u));
    }
  }

  /// A key is written once; from then on it is a number, from 1.
  void key(char const* name) {
    std::size_t at = 0;
    while (at < keys_.size() && keys_[at] != name) ++at;
    number(at + 1);
    if (at < keys_.size()) return;
    keys_.push_back(name);
    write_text(name);
  }
  void kind(recorded_kind of) { write_byte(static_cast<unsigned char>(of)); }
  void write_text(std::string_view text) {
    number(text.size());
    write_bytes(text);
  }
  /// 7 bits a byte, the lowest first.
  void number(std::uint64_t value) {
    char bytes[10];
    std::size_t used = 0;
    for (; value >= 128; value >>= 7) bytes[used++] = static_cast<char>(value | 128);
    bytes[used++] = static_cast<char>(value);
    write_bytes({bytes, used});
  }
  void write_byte(unsigned char value) {
    char const byte = static_cast<char>(value);
    write_bytes({&byte, 1});
  }
  void write_bytes(std::string_view bytes) {
    hash_.add(bytes);
    out_->write(bytes);
  }

  text_writer* out_;
  fnv1a hash_;  ///< of what was written; it ends the recording
  vec<char const*> keys_;
};

}  // namespace detail

/// Writes all that a profile has, for read_recording of <strata/recording.hpp>.
inline void write_recording(detail::text_writer& out, profile const& source) {
  detail::recording_writer(out).write(source);
}

STRATA_END

#endif  // STRATA_REPORT_RECORDING_WRITER_HPP
