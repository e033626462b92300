#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_NOTE_LIST_HPP
#define STRATA_ANALYSE_NOTE_LIST_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// Numbers for the notes of a counter_table: equal texts have one, the empty text has 0.
class note_list {
 public:
  /// The position of a text in `notes`, whose position 0 is empty.
  std::uint32_t number_of(std::string const& text, vec<std::string>& notes) {
    if (text.empty()) return 0;
    if (std::uint32_t const* const known = numbers_.find(text)) return *known;
    auto const made = static_cast<std::uint32_t>(notes.size());
    notes.push_back(text);
    return numbers_[text] = made;
  }

 private:
  flat_map<std::string, std::uint32_t> numbers_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_NOTE_LIST_HPP
