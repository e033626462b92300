// Lists of texts as one text.
#ifndef STRATA_TESTS_WORD_LIST_HPP
#define STRATA_TESTS_WORD_LIST_HPP

#include <sstream>
#include <string>
#include <vector>

namespace test {

/// The texts between commas, which lines may break: "a, b c,\n d" is a, b c and d.
inline std::vector<std::string> listed(std::string const& text) {
  std::vector<std::string> all;
  std::istringstream rest(text);
  for (std::string each; std::getline(rest, each, ',');) {
    std::istringstream words(each);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    if (!joined.empty()) all.push_back(joined);
  }
  return all;
}

}  // namespace test

#endif  // STRATA_TESTS_WORD_LIST_HPP
