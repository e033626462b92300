#ifndef STRATA_BASE_CELL_SINK_HPP
#define STRATA_BASE_CELL_SINK_HPP

#include <strata/base/text.hpp>

STRATA_BEGIN
namespace detail {

/// Takes the values of a row, column by column. A key is a literal: a text of known length would be
/// a call more at each of some five hundred places.
class cell_sink {
 public:
  /// A value that is not known.
  virtual void absent(char const* key) = 0;
  virtual void text(char const* key, std::string_view value) = 0;
  /// A text that only fits where nothing is cut.
  virtual void exact(char const* key, std::string_view value) = 0;
  /// NaN is absent.
  virtual void number(char const* key, double value) = 0;
  virtual void whole(char const* key, std::uint64_t magnitude, bool negative) = 0;

  template <class Integer>
  void integer(char const* key, Integer value) {
    auto const bits = static_cast<std::uint64_t>(value);
    bool const negative = is_negative(value);
    whole(key, negative ? 0 - bits : bits, negative);
  }

 protected:
  ~cell_sink() = default;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_CELL_SINK_HPP
