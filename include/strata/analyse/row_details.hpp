#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_ROW_DETAILS_HPP
#define STRATA_ANALYSE_ROW_DETAILS_HPP

#include <strata/analyse/range_row.hpp>
#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// What the calls of a row said about their work: sums, and the shape and note of the last call.
class row_details {
 public:
  /// NaN is a value that was not given.
  static void add_given(double& sum, double value) noexcept {
    if (is_given(value)) sum = is_given(sum) ? sum + value : value;
  }

  /// The work of a call that only captured it was not done: it has a shape and a note, no amounts.
  void add(range_row& row, profile const& source, range_record const& range, bool done) {
    if (range.attribute > source.attributes.size()) return;
    attribute_record const& attribute = source.attributes[range.attribute - 1];
    if (done) {
      add_given(row.flops, attribute.flops);
      add_given(row.bytes, attribute.bytes);
      add_given(row.tokens, attribute.tokens);
    }
    if (attribute.rank != 0) {
      if (shape_ != no_reference && !same_shape(source.attributes[shape_ - 1], attribute))
        shapes_differ_ = true;
      if (shape_ == no_reference || range.begin >= shape_at_) {
        shape_ = range.attribute;
        shape_at_ = range.begin;
      }
    }
    if (attribute.note != no_reference && (note_ == no_reference || range.begin >= note_at_)) {
      note_ = attribute.note;
      note_at_ = range.begin;
    }
  }

  void describe(range_row& row, profile const& source) const {
    if (shape_ != no_reference) {
      row.shape = shape_text(source.attributes[shape_ - 1]);
      if (shapes_differ_) row.shape += "...";
    }
    if (note_ != no_reference && note_ < source.names.size()) row.note = source.names[note_];
  }

 private:
  static bool is_given(double const& value) noexcept { return !is_nan(value); }

  static std::uint32_t rank_of(attribute_record const& attribute) noexcept {
    return attribute.rank < 7 ? attribute.rank : 7;
  }

  static bool same_shape(attribute_record const& a, attribute_record const& b) noexcept {
    return rank_of(a) == rank_of(b) &&
           std::equal(a.dimensions, a.dimensions + rank_of(a), b.dimensions);
  }

  static std::string shape_text(attribute_record const& attribute) {
    std::string text;
    for (std::uint32_t i = 0; i < rank_of(attribute); ++i) {
      if (i != 0) text += 'x';
      text += std::to_string(attribute.dimensions[i]);
    }
    return text;
  }

  std::int64_t shape_at_ = 0;
  std::int64_t note_at_ = 0;
  std::uint32_t shape_ = no_reference;  ///< 1-based in the attributes
  std::uint32_t note_ = no_reference;   ///< 1-based in the names
  bool shapes_differ_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_ROW_DETAILS_HPP
