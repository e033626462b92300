#include "documents.hpp"

#include <nlohmann/json.hpp>
#include <strata/base/text.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/driver.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include("strata_documents.hpp")
#include "strata_documents.hpp"
#else
#include <array>
namespace strata_documents {
struct document {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<document, 0> all{};
}  // namespace strata_documents
#endif

namespace tools {
namespace {

constexpr std::string_view messages_document = "docs/reference/messages.md";
/// The section of messages that tells of the outputs; what comes before it has no messages.
constexpr std::string_view first_messages = "STRATA and its keys";
/// A section of another document whose names are messages.
constexpr std::string_view notes = "Notes";
constexpr std::string_view no_more = "The message itself says what to do.";
constexpr std::size_t longest_name = 40;

/// What the names of a section are, where its title does not say it.
struct kind_of_section {
  std::string_view title;
  std::string_view kind;
};
constexpr kind_of_section kinds[] = {{"The table", "column"},
                                     {"Memory by purpose", "column"},
                                     {"The limiter", "limiter"},
                                     {"Rates", "metric"},
                                     {"Units", "metric"},
                                     {"Counters of the CPU", "metric"},
                                     {"The answer", "answer"},
                                     {"Sentences of the answer", "answer"},
                                     {"Rules that need the trace alone", "rule"},
                                     {"Rules that need counters", "rule"},
                                     {"Measured roofs", "roof"}};

bool takes(std::string_view& text, std::string_view begin) {
  if (text.substr(0, begin.size()) != begin) return false;
  text.remove_prefix(begin.size());
  return true;
}

std::string_view trimmed(std::string_view text, char const* around = " \t") {
  std::size_t const begin = (std::min)(text.find_first_not_of(around), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(around) + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t const end = (std::min)(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix((std::min)(end + 1, text.size()));
  }
  return lines;
}

/// Without marks of Markdown: a link is its words. The * of `block[*]`, or by itself, is none.
std::string plain(std::string_view text) {
  std::string made;
  bool is_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    is_code = is_code != (c == '`');
    bool const is_alone = text.substr(i > 0 ? i - 1 : 0, 3) == " * ";
    std::size_t const close = c == '[' ? text.find(']', i) : text.npos;
    if (close != text.npos && text.substr(close, 2) == "](") {
      std::size_t const end = text.find(')', close);
      if (end != text.npos) {
        made += plain(text.substr(i + 1, close - i - 1));
        i = end;
        continue;
      }
    }
    bool const is_blank = c == ' ' && !made.empty() && made.back() == ' ';
    bool const is_mark = c == '`' || (c == '*' && !is_code && !is_alone);
    if (!is_mark && !is_blank) made += c;
  }
  return std::string(trimmed(made));
}

/// The sections of a document with their titles; what comes before the first has none.
std::vector<std::pair<std::string_view, std::string_view>> sections_of(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> sections{{{}, text}};
  constexpr std::string_view mark = "\n## ";
  for (std::size_t at; (at = sections.back().second.find(mark)) != text.npos;) {
    std::string_view& before = sections.back().second;
    std::string_view rest = before.substr(at + mark.size());
    before = before.substr(0, at + 1);
    std::size_t const end = (std::min)(rest.find('\n'), rest.size());
    std::string_view const title = rest.substr(0, end);
    rest.remove_prefix(end);
    sections.push_back({title, rest});
  }
  return sections;
}

std::string_view section_of(std::string_view text, std::string_view wanted) {
  for (auto const& [title, section] : sections_of(text))
    if (title == wanted) return section;
  return {};
}

/// The items of the lists of a text, each in one line; those of a list in an item too.
std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  bool is_open = false;
  for (std::string_view const line : lines_of(text)) {
    std::string_view words = trimmed(line);
    if (takes(words, "- ")) {
      items.emplace_back(words);
      is_open = true;
    } else if (is_open && !words.empty() && line[0] == ' ') {
      items.back().append(" ").append(words);
    } else {
      is_open = false;
    }
  }
  return items;
}

/// The paragraphs that begin with code.
std::vector<std::string> paragraphs_of(std::string_view text) {
  std::vector<std::string> paragraphs;
  bool is_open = false;
  for (std::string_view const line : lines_of(text)) {
    bool const is_item = line.substr(0, 2) == "- ";
    if (is_open && !line.empty() && !is_item) {
      paragraphs.back().append(" ").append(trimmed(line));
      continue;
    }
    is_open = !line.empty() && line[0] == '`';
    if (is_open) paragraphs.emplace_back(line);
  }
  return paragraphs;
}

/// Takes "`name`", or "`name` (remark)".
bool takes_code(std::string_view& text, std::string& name, std::string_view* remark = nullptr) {
  std::size_t const end = text.find('`', 1);
  if (text.empty() || text[0] != '`' || end == text.npos || end == 1) return false;
  name = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  std::size_t const close = text.substr(0, 2) == " (" ? text.find(')') : text.npos;
  if (remark != nullptr) *remark = close == text.npos ? std::string_view() : text.substr(0, close);
  if (close != text.npos) text.remove_prefix(close + 1);
  return true;
}

std::vector<std::string> codes_in(std::string_view text) {
  std::vector<std::string> codes;
  for (std::size_t at; (at = text.find('`')) != text.npos;) {
    text.remove_prefix(at);
    std::string name;
    std::string_view remark;
    if (!takes_code(text, name, &remark)) break;
    codes.push_back(name);
    for (std::string& other : codes_in(remark)) codes.push_back(std::move(other));
  }
  return codes;
}

/// Names that can be asked for.
std::vector<std::string> topics(std::vector<std::string> names) {
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](std::string const& name) {
                               // A letter of UTF-8 has one byte that begins it.
                               auto const letters =
                                   std::count_if(name.begin(), name.end(), [](char c) {
                                     return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
                                   });
                               return static_cast<std::size_t>(letters) > longest_name ||
                                      name.find("…") != name.npos;
                             }),
              names.end());
  return names;
}

/// Takes "`a`, `b` and `c`: ", or the same at the end of the text.
bool takes_names(std::string_view& text, std::vector<std::string>& names) {
  std::string_view rest = text;
  std::string name;
  if (!takes_code(rest, name)) return false;
  for (bool more = true; more;) {
    more = false;
    for (std::string_view const between : {", and ", ", or ", ", ", " and ", " or "}) {
      std::string_view behind = rest;
      more = takes(behind, between) && takes_code(behind, name);
      if (more) rest = behind;
      if (more) break;
    }
  }
  names = codes_in(text.substr(0, text.size() - rest.size()));
  if (rest == ".") rest = {};
  if (!takes(rest, ": ") && !rest.empty()) return false;
  text = rest;
  return true;
}

/// Calls look(names, meaning) for what an item or a paragraph explains: "`name`: text. `name`:
/// text."
template <class Look>
void for_each_definition(std::string_view text, Look const& look) {
  std::vector<std::string> names;
  std::vector<std::string> next;
  std::size_t begin = 0;  // of what is said of the names
  auto const say = [&](std::size_t end) {
    names = topics(std::move(names));
    if (!names.empty()) look(names, plain(text.substr(begin, end - begin)));
  };
  for (std::size_t at = 0; at < text.size();) {
    std::string_view rest = text.substr(at);
    if (takes_names(rest, next)) {
      say(at);
      names = next;
      begin = text.size() - rest.size();
      at = begin;
    }
    std::size_t const stop = text.find(". ", at);
    at = stop == text.npos ? text.size() : stop + 2;
  }
  say(text.size());
}

/// Calls look(names, meaning) for each row of a table that begins with code.
template <class Look>
void for_each_row(std::string_view text, Look const& look) {
  for (std::string_view const line : lines_of(text)) {
    if (line.empty() || line[0] != '|') continue;
    std::string_view rest = trimmed(line, " |");
    if (rest.empty() || rest[0] != '`') continue;
    std::string meaning;
    std::string_view first;
    for (bool is_first = true; !rest.empty(); is_first = false) {
      std::size_t const end = (std::min)(rest.find('|'), rest.size());
      std::string_view const cell = trimmed(rest.substr(0, end));
      rest.remove_prefix((std::min)(end + 1, rest.size()));
      if (is_first) {
        first = cell;
      } else {
        meaning.append(meaning.empty() ? "" : " ").append(cell);
      }
    }
    std::vector<std::string> const names = topics(codes_in(first));
    if (!names.empty()) look(names, plain(meaning));
  }
}

/// Takes the messages that an item begins with: "`key` `a…`, `b…`, with `c…`: ".
std::vector<std::string> take_messages(std::string_view& item) {
  std::vector<std::string> messages;
  std::string message;
  while (takes_code(item, message)) {
    bool const is_key = messages.empty() && item.substr(0, 2) == " `" &&
                        message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == message.npos;
    if (!is_key) messages.push_back(message);
    if (is_key) item.remove_prefix(1);
    for (std::string_view const between :
         {", with ", " with ", ", after ", " after ", " and ", ", "})
      if (takes(item, between)) break;
  }
  return messages;
}

/// What to do about each code of a section: items such as "2, 3: what to do".
std::map<int, std::string> fixes_in(std::string_view text) {
  std::map<int, std::string> fixes;
  for (std::string_view item : items_of(text)) {
    std::size_t const end = item.find_first_not_of("0123456789, ");
    if (end == 0 || end == item.npos || item.substr(end, 2) != ": ") continue;
    std::string const fix = plain(item.substr(end + 2));
    for (std::string_view codes = item.substr(0, end); !codes.empty();) {
      int code = 0;
      auto const read = std::from_chars(codes.data(), codes.data() + codes.size(), code);
      if (read.ec == std::errc()) fixes[code] = fix;
      codes.remove_prefix((std::min)(codes.find_first_of(", "), codes.size()));
      codes = trimmed(codes, ", ");
    }
  }
  return fixes;
}

void add_codes(std::string_view document, std::vector<explained_message>& messages) {
  namespace cupti = strata::detail::cupti;
  namespace driver = strata::detail::driver;
  std::string_view const section = section_of(document, "CUPTI");
  std::size_t const profiler = section.find("Of the profiler");
  std::map<int, std::string> const general = fixes_in(section.substr(0, profiler));
  std::map<int, std::string> counting =
      profiler == section.npos ? std::map<int, std::string>() : fixes_in(section.substr(profiler));
  counting.insert(general.begin(), general.end());
  auto const add = [&](std::map<int, std::string> const& fixes, int code, char const* said) {
    auto const fix = fixes.find(code);
    if (said == nullptr || said == cupti::refused || fix == fixes.end()) return;
    if (messages.empty() || messages.back().said.front() != said)  // several codes have one
      messages.push_back({{said}, fix->second});
  };
  for (cupti::code_meaning const& meaning : cupti::code_meanings) {
    add(general, static_cast<int>(meaning.code), meaning.fix);
    add(counting, static_cast<int>(meaning.code), meaning.when_counting);
  }
  std::map<int, std::string> const fixes = fixes_in(section_of(document, "Driver and device"));
  for (auto const& [code, fix] : fixes)
    add(fixes, code, driver::fix(static_cast<driver::result>(code)));
}

std::vector<explained_message> read_messages(std::string_view document) {
  std::vector<explained_message> messages;
  add_codes(document, messages);
  bool is_message = false;
  for (auto const& [title, section] : sections_of(document)) {
    is_message = is_message || title == first_messages;
    if (!is_message) continue;
    for (std::string_view item : items_of(section)) {
      std::vector<std::string> said = take_messages(item);
      if (said.empty()) continue;
      std::string fix = plain(trimmed(item, ": "));
      messages.push_back({std::move(said), fix.empty() ? std::string(no_more) : std::move(fix)});
    }
  }
  return messages;
}

void add_entries(strata_documents::document const& from, std::vector<explained_entry>& entries) {
  for (auto const& [title, section] : sections_of(from.text)) {
    if (title.empty()) continue;
    auto const found =
        std::find_if(std::begin(kinds), std::end(kinds),
                     [title = title](auto const& row) { return row.title == title; });
    std::string const kind(found == std::end(kinds) ? title : found->kind);
    auto const add = [&](std::vector<std::string> const& names, std::string const& meaning) {
      entries.push_back({names, kind, from.name, meaning});
    };
    if (title != notes) {
      for (std::string const& item : items_of(section)) for_each_definition(item, add);
      for (std::string const& text : paragraphs_of(section)) for_each_definition(text, add);
    }
    for_each_row(section, add);
  }
}

/// Whether a title or a code is the name of a file that a run writes.
bool is_file_name(std::string_view text) {
  constexpr std::string_view ends[] = {".csv", ".json", ".json.gz", ".html", ".prom", ".strata"};
  return text.find(' ') == text.npos &&
         std::any_of(std::begin(ends), std::end(ends), [text](std::string_view end) {
           return text.size() > end.size() && strata::detail::ends_with(text, end);
         });
}

/// The first paragraph of a section, in one line.
std::string first_paragraph(std::string_view section) {
  std::string text;
  for (std::string_view const line : lines_of(section)) {
    if (line.empty() && !text.empty()) break;
    text.append(text.empty() ? "" : " ").append(trimmed(line));
  }
  return text;
}

void add_files(strata_documents::document const& from, std::vector<explained_file>& files) {
  for (auto const& [title, section] : sections_of(from.text)) {
    if (!is_file_name(title)) continue;
    std::string const about = first_paragraph(section);
    explained_file file{{std::string(title)}, from.name, plain(about), {}};
    for (std::string const& code : codes_in(about))
      if (is_file_name(code) && code != title) file.names.push_back(code);
    auto const add = [&](std::vector<std::string> const& names, std::string const& meaning) {
      file.parts.push_back({names, std::string(member), from.name, meaning});
    };
    for (std::string const& item : items_of(section)) for_each_definition(item, add);
    files.push_back(std::move(file));
  }
}

/// The members that a schema describes, and those of its parts.
void add_members(std::string_view document, nlohmann::json const& schema,
                 std::vector<explained_entry>& entries) {
  for (auto const& [key, part] : schema.items()) {
    if (key == "properties")
      for (auto const& [name, about] : part.items())
        if (about.contains("description"))
          entries.push_back({{name}, std::string(member), document, about["description"]});
    if (part.is_structured()) add_members(document, part, entries);
  }
}

bool is_schema(strata_documents::document const& each) {
  return strata::detail::ends_with(each.name, ".json");
}

}  // namespace

bool has_documents() noexcept { return std::size(strata_documents::all) > 0; }

std::vector<explained_message> const& documented_messages() {
  static std::vector<explained_message> const messages = [] {
    for (strata_documents::document const& each : strata_documents::all)
      if (each.name == messages_document) return read_messages(each.text);
    return std::vector<explained_message>();
  }();
  return messages;
}

std::vector<explained_entry> const& documented_entries() {
  static std::vector<explained_entry> const entries = [] {
    std::vector<explained_entry> all;
    for (strata_documents::document const& each : strata_documents::all)
      if (is_schema(each))
        add_members(each.name, nlohmann::json::parse(each.text), all);
      else if (each.name != messages_document)
        add_entries(each, all);
    return all;
  }();
  return entries;
}

std::vector<explained_file> const& documented_files() {
  static std::vector<explained_file> const files = [] {
    std::vector<explained_file> all;
    for (strata_documents::document const& each : strata_documents::all)
      if (!is_schema(each) && each.name != messages_document) add_files(each, all);
    return all;
  }();
  return files;
}

}  // namespace tools
