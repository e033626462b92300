// Reads trace.json into events that tests compare.
#ifndef STRATA_TESTS_UNIT_TRACE_READER_HPP
#define STRATA_TESTS_UNIT_TRACE_READER_HPP

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace trace_reading {

using nlohmann::json;

using arguments = std::map<std::string, std::string>;
struct event {
  std::string process, track, name, category;
  std::int64_t begin = 0, end = 0;
  arguments args;

  auto key() const { return std::tie(process, track, begin, end, name, category, args); }
  bool operator<(event const& o) const { return key() < o.key(); }
  bool operator==(event const& o) const { return key() == o.key(); }
};
inline std::string shown(event const& e) {
  std::string text = e.process + " / " + e.track + " / " + e.category + " / " + e.name + " " +
                     std::to_string(e.begin) + ".." + std::to_string(e.end);
  for (auto const& arg : e.args) text += " " + arg.first + "=" + arg.second;
  return text;
}
/// Slice to slice: where each begins.
using arrow = std::tuple<std::string, std::int64_t, std::string, std::int64_t>;
inline std::string shown(arrow const& a) {
  return std::get<0>(a) + " " + std::to_string(std::get<1>(a)) + " -> " + std::get<2>(a) + " " +
         std::to_string(std::get<3>(a));
}

struct contents {
  std::vector<event> slices, instants;
  std::vector<std::pair<std::int64_t, double>> counters;
  std::vector<arrow> arrows;

  void sort() {
    std::sort(slices.begin(), slices.end());
    std::sort(instants.begin(), instants.end());
    std::sort(arrows.begin(), arrows.end());
    std::sort(counters.begin(), counters.end());
  }
};

inline std::int64_t ns(json const& time) { return std::llround(time.get<double>() * 1000.0); }

inline arguments arguments_of(json const& e) {
  arguments all;
  if (!e.contains("args")) return all;
  for (auto const& item : e["args"].items())
    all[item.key()] =
        item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
  return all;
}

inline contents from_json(std::string const& document) {
  contents made;
  json const all = json::parse(document)["traceEvents"];
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<std::uint64_t, event> spans;
  std::map<std::uint64_t, std::pair<std::string, std::int64_t>> producers;
  std::map<std::uint64_t, std::pair<std::string, std::int64_t>> early;
  auto const place = [](json const& e) {
    return std::make_pair(e["pid"].get<int>(), e["tid"].get<int>());
  };
  for (json const& e : all) {
    if (e["name"] == "process_name") processes[place(e).first] = e["args"]["name"];
    if (e["name"] == "thread_name") tracks[place(e)] = e["args"]["name"];
    if (e.contains("flow_out")) {
      auto const id = e["bind_id"].get<std::uint64_t>();
      CHECK(producers.count(id) == 0);
      producers[id] = {tracks[place(e)], ns(e["ts"])};
    }
  }
  for (json const& e : all) {
    if (e["ph"] != "s") continue;
    early[e["id"].get<std::uint64_t>()] = {tracks[place(e)], ns(e["ts"])};
  }
  for (json const& e : all) {
    std::string const phase = e["ph"];
    if (phase == "M" || phase == "s") continue;
    if (phase == "f") {
      auto const& from = early.at(e["id"].get<std::uint64_t>());
      made.arrows.emplace_back(from.first, from.second, tracks[place(e)], made.slices.back().begin);
      continue;
    }
    event of{processes[place(e).first],
             tracks[place(e)],
             e["name"],
             e.value("cat", ""),
             ns(e["ts"]),
             0,
             arguments_of(e)};
    of.end = of.begin + (phase == "X" ? ns(e["dur"]) : 0);
    if (phase == "C") made.counters.emplace_back(of.begin, e["args"].front().get<double>());
    if (phase == "X") made.slices.push_back(of);
    if (phase == "i") made.instants.push_back(of);
    if (e.contains("flow_in")) {
      auto const from = producers.find(e["bind_id"].get<std::uint64_t>());
      REQUIRE(from != producers.end());
      made.arrows.emplace_back(from->second.first, from->second.second, of.track, of.begin);
    }
    if (phase == "b") spans[e["id2"]["local"].get<std::uint64_t>()] = of;
    if (phase == "e") {
      event& span = spans[e["id2"]["local"].get<std::uint64_t>()];
      span.end = of.begin;
      made.slices.push_back(span);
    }
  }
  return made;
}

template <class Thing>
void compare(std::vector<Thing> const& found, std::vector<Thing> const& wanted) {
  CHECK(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size() && i < wanted.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    CHECK(shown(found[i]) == shown(wanted[i]));
    return;
  }
}

}  // namespace trace_reading

#endif  // STRATA_TESTS_UNIT_TRACE_READER_HPP
