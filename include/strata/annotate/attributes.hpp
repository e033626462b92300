#ifndef STRATA_ANNOTATE_ATTRIBUTES_HPP
#define STRATA_ANNOTATE_ATTRIBUTES_HPP

#include <strata/base/numbers.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <type_traits>

STRATA_BEGIN_LIGHT
namespace detail {

/// std::string_view without its header, which takes as long to compile as all else here.
struct text_span {
  char const* data = "";
  std::size_t size = 0;
};

template <class Text>
Text const& as() noexcept;

/// A text as the program gives it: up to a zero, or the characters of a class with data() and
/// size(). An unknown length is measured when a session wants it.
class given_text {
 public:
  constexpr given_text(char const* text) noexcept : text_{text, unmeasured} {}
  constexpr given_text(char const* text, std::size_t size) noexcept : text_{text, size} {}
  template <class Text, class = std::enable_if_t<
                            std::is_convertible<decltype(as<Text>().data()), char const*>::value &&
                            std::is_convertible<decltype(as<Text>().size()), std::size_t>::value &&
                            !std::is_convertible<Text const&, char const*>::value> >
  constexpr given_text(Text const& text) noexcept
      : text_{text.data(), static_cast<std::size_t>(text.size())} {}

  /// The characters; of an empty text these. Null is a mistake that must not end the program.
  text_span span(text_span empty = {}) const noexcept {
    if (text_.size == 0) return empty;
    if (text_.size != unmeasured) return text_;
    if (text_.data == nullptr) return {"[null]", 6};
    return *text_.data == '\0' ? empty : text_span{text_.data, std::strlen(text_.data)};
  }

 private:
  static constexpr std::size_t unmeasured = ~std::size_t{0};

  text_span text_;
};

/// The attributes of one range while it begins; lives on the caller's stack.
struct range_attributes {
  attribute_record record{not_a_number, not_a_number, not_a_number, root_node, no_reference, 0, {}};
  text_span note;
  bool refused = false;  // a value that is negative or no number

  /// Takes a value from which rates are made.
  void set(double& field, double value) noexcept {
    if (value >= 0 && is_finite(value)) {
      field = value;
    } else {
      refused = true;
    }
  }
};

/// An amount of one call of a range, of any type of number.
template <double attribute_record::*Field>
class declared_amount {
 public:
  template <class Number>
  STRATA_DETAIL_HOST_DEVICE constexpr explicit declared_amount(Number amount) noexcept
      : value_(static_cast<double>(amount)) {}
  void apply(range_attributes& attributes) const noexcept {
    attributes.set(attributes.record.*Field, value_);
  }

 private:
  double value_;
};

/// Takes the arguments of a range that is compiled out: they are compiled, never evaluated.
template <class... Arguments>
STRATA_DETAIL_HOST_DEVICE constexpr void swallow(Arguments const&...) noexcept {}

}  // namespace detail

/// The arithmetic of one call of a range. Units: operations; a fused multiply-add counts two.
class [[nodiscard]] flops : public detail::declared_amount<&attribute_record::flops> {
  using declared_amount::declared_amount;
};

/// The memory traffic that a call of a range cannot avoid. Units: bytes, read and written.
class [[nodiscard]] bytes : public detail::declared_amount<&attribute_record::bytes> {
  using declared_amount::declared_amount;
};

/// The tokens that one call of a range processes.
class [[nodiscard]] tokens : public detail::declared_amount<&attribute_record::tokens> {
  using declared_amount::declared_amount;
};

/// The dimensions that one call works on, `shape(B, T, C)`: up to seven, each below 2^32.
class [[nodiscard]] shape {
 public:
  template <class... Numbers>
  STRATA_DETAIL_HOST_DEVICE constexpr explicit shape(Numbers... dimensions) noexcept
      : rank_(sizeof...(Numbers)), dimensions_{static_cast<std::uint32_t>(dimensions)...} {
    static_assert(sizeof...(Numbers) >= 1 && sizeof...(Numbers) <= 7, "one to seven dimensions");
  }
  void apply(detail::range_attributes& attributes) const noexcept {
    attributes.record.rank = rank_;
    for (unsigned i = 0; i < 7; ++i) attributes.record.dimensions[i] = dimensions_[i];
  }

 private:
  std::uint32_t rank_;
  std::uint32_t dimensions_[7];
};

/// A word about one call of a range; the text is copied.
class [[nodiscard]] note {
 public:
  constexpr explicit note(detail::given_text text) noexcept : text_(text) {}
  void apply(detail::range_attributes& attributes) const noexcept {
    attributes.note = text_.span();
  }

 private:
  detail::given_text text_;
};

STRATA_END_LIGHT

#endif  // STRATA_ANNOTATE_ATTRIBUTES_HPP
