#include <strata/version.hpp>
#ifndef STRATA_REPORT_NAME_CUTTER_HPP
#define STRATA_REPORT_NAME_CUTTER_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Cuts long names so that different ones stay different.
class name_cutter {
 public:
  /// `tail`: columns of the end that stay.
  name_cutter(std::size_t width, std::size_t tail) : width_(width), tail_(tail) {}
  explicit name_cutter(std::size_t width) : name_cutter(width, width == 0 ? 0 : (width - 1) / 2) {}

  /// The names within the width. What would be equal without its middle has a longer end or begin,
  /// or a cut end: `sm80_~tilesize64x64x8_stage3~split`.
  void cut(vec<std::string>& names) const {
    flat_map<std::string, std::size_t> places;
    for (std::string const& name : names) places[name] = 0;
    vec<std::string> whole;
    places.for_each([&](std::string const& name, std::size_t) { whole.push_back(name); });
    vec<std::string> const cut = cut_distinct(whole);
    for (std::size_t i = 0; i < whole.size(); ++i) places[whole[i]] = i;
    for (std::string& name : names) name = cut[places[name]];
  }

 private:
  vec<std::string> cut_distinct(vec<std::string> const& whole) const {
    vec<std::string> names;
    for (std::string const& text : whole) names.push_back(shortened(text, width_, tail_));
    std::size_t const head = width_ / 5;
    for (std::size_t i = 0; i < whole.size() && head > 1; ++i) {
      vec<std::size_t> alike;
      for (std::size_t k = 0; k < whole.size(); ++k)
        if (names[k] != whole[k] && begin_of(whole[k], head) == begin_of(whole[i], head))
          alike.push_back(k);
      if (alike.empty() || alike[0] != i || !collide(names, alike)) continue;
      std::size_t const from = word_that_differs(whole, alike, head);
      std::size_t const end = width_ - head - 1;
      if (are_ends_within(whole, alike, from, end) && differ(whole, names, alike, end)) continue;
      if (from + head <= end && differ(whole, names, alike, head)) continue;
      for (std::size_t const k : alike) {
        std::string_view const name(whole[k]);
        names[k] = ended(name, head + 1) + ended(name.substr(from), width_ - head - 1);
      }
      for (std::size_t const k : alike) separate(whole, names, alike, k, from, head);
    }
    return names;
  }

  static bool are_ends_within(vec<std::string> const& whole, vec<std::size_t> const& among,
                              std::size_t from, std::size_t room) {
    for (std::size_t const k : among)
      if (display_width(std::string_view(whole[k]).substr(from)) > room) return false;
    return true;
  }
  /// Cuts these once, so that so many columns of their ends stay; whether they differ then.
  bool differ(vec<std::string> const& whole, vec<std::string>& names, vec<std::size_t> const& among,
              std::size_t tail) const {
    for (std::size_t const k : among) names[k] = shortened(whole[k], width_, tail);
    return !collide(names, among);
  }

  /// The longest begin that has room, before an ellipsis where something is left out.
  static std::string ended(std::string_view text, std::size_t room) {
    if (display_width(text) <= room) return std::string(text);
    return std::string(begin_of(text, room - 1)).append(ellipsis);
  }

  static bool collide(vec<std::string> const& cut, vec<std::size_t> const& among) {
    for (std::size_t const i : among)
      for (std::size_t const k : among)
        if (i != k && cut[i] == cut[k]) return true;
    return false;
  }

  /// Those whose begin is still the same get the word in which they differ at the end.
  void separate(vec<std::string> const& whole, vec<std::string>& names,
                vec<std::size_t> const& among, std::size_t i, std::size_t from,
                std::size_t head) const {
    vec<std::size_t> alike;
    for (std::size_t const k : among)
      if (names[k] == names[i]) alike.push_back(k);
    if (alike.size() < 2) return;
    std::size_t const room = width_ - head - 1;
    std::size_t const index = word_that_differs(whole, alike, from);
    std::size_t const enough = std::max(room / 6, difference(whole, alike) - index + 1);
    for (std::size_t const k : alike) {
      std::string_view const name(whole[k]);
      std::size_t const word = std::min(name.find_first_of(separators, index), name.size()) - index;
      bool const fits = word >= enough && word <= room / 4 && room >= 28;
      std::string_view const last =
          begin_of(name.substr(index), fits ? word : std::min(enough, room / 2));
      names[k] = ended(name, head + 1) + ended(name.substr(from), room - display_width(last));
      names[k] += last;
    }
  }

  /// How much at the start the names have in common.
  static std::size_t difference(vec<std::string> const& whole, vec<std::size_t> const& among) {
    std::string_view const first = whole[among[0]];
    std::size_t same = first.size();
    for (std::size_t const k : among) {
      if (k == among[0]) continue;
      std::size_t const most = std::min(same, whole[k].size());
      for (same = 0; same < most && whole[k][same] == first[same];) ++same;
    }
    return same;
  }
  /// Where the word begins in which the names differ first; from `least` on.
  static std::size_t word_that_differs(vec<std::string> const& whole, vec<std::size_t> const& among,
                                       std::size_t least) {
    std::size_t const same = difference(whole, among);
    std::size_t const separator =
        same == 0 ? std::string::npos : whole[among[0]].find_last_of(separators, same - 1);
    std::size_t const word = separator == std::string::npos ? 0 : separator + 1;
    std::size_t index = std::min(std::max(word, least), same);
    while (index > 0 && (static_cast<unsigned char>(whole[among[0]][index]) & 0xC0) == 0x80)
      --index;
    return index;
  }

  static constexpr std::string_view separators = "_:<>, /";
  std::size_t width_;
  std::size_t tail_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_NAME_CUTTER_HPP
