// Reads traces: Perfetto's as its trace processor does, and trace.json, into the same events.
#ifndef STRATA_TESTS_UNIT_PERFETTO_READER_HPP
#define STRATA_TESTS_UNIT_PERFETTO_READER_HPP

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace perfetto_reading {

using nlohmann::json;

// ---- a reader, as small as it can be: it knows only what the writer writes, and checks it ----

[[noreturn]] inline void broken(char const* what) { throw std::runtime_error(what); }

#define must(condition) ((condition) ? (void)0 : broken(#condition))

struct field {
  std::uint32_t number;
  std::uint64_t value;
  std::string_view bytes;
};

inline std::uint64_t varint(std::string_view from, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at >= from.size() || shift > 63) broken("number: cut or too long");
    auto const byte = static_cast<unsigned char>(from[at++]);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

inline std::vector<field> fields(std::string_view from) {
  std::vector<field> all;
  for (std::size_t at = 0; at < from.size();) {
    std::uint64_t const key = varint(from, at);
    field f{static_cast<std::uint32_t>(key >> 3), 0, {}};
    if ((key & 7) == 0) {
      f.value = varint(from, at);
    } else if ((key & 7) == 1) {
      if (from.size() - at < 8) broken("fixed: cut");
      for (unsigned i = 0; i < 8; ++i)
        f.value |= std::uint64_t{static_cast<unsigned char>(from[at++])} << 8 * i;
    } else if ((key & 7) == 2) {
      std::uint64_t const size = varint(from, at);
      if (size > from.size() - at) broken("bytes: cut");
      f.bytes = from.substr(at, size);
      at += size;
    } else {
      broken("wire type");
    }
    all.push_back(f);
  }
  return all;
}

inline field const* find(std::vector<field> const& all, std::uint32_t number) {
  for (field const& f : all)
    if (f.number == number) return &f;
  return nullptr;
}
inline std::uint64_t value(std::vector<field> const& all, std::uint32_t number) {
  field const* const f = find(all, number);
  return f == nullptr ? 0 : f->value;
}
inline std::string text(std::vector<field> const& all, std::uint32_t number) {
  field const* const f = find(all, number);
  return f == nullptr ? std::string() : std::string(f->bytes);
}

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
  std::set<std::uint64_t> sequences;
  std::map<std::uint64_t, event> work;                // of GPUs, by number
  std::map<std::string, std::set<std::string>> uses;  // counters of a GPU
  std::set<std::string> architectures, queues;
  std::size_t states = 0, skipped = 0;

  void sort() {
    std::sort(slices.begin(), slices.end());
    std::sort(instants.begin(), instants.end());
    std::sort(arrows.begin(), arrows.end());
    std::sort(counters.begin(), counters.end());
  }
};

/// What Perfetto's trace processor makes of a file: packets in their order, then events by time.
class reader {
 public:
  contents read(std::string_view file) {
    std::size_t at = 0;
    while (at < file.size()) {
      // A file that was cut ends within a packet.
      std::size_t next = at;
      if (file[next++] != '\x0a') broken("not a packet");
      std::uint64_t const size = varint(file, next);
      if (size > file.size() - next) break;
      auto const packet = fields(file.substr(next, size));
      at = next + size;
      take(packet);
    }
    play();
    return std::move(made_);
  }

 private:
  /// What work of a GPU names by numbers.
  struct gpu_names {
    std::map<std::uint64_t, std::string> queues;  // the stages too
    std::map<std::uint64_t, std::uint64_t> categories, processes;
    std::map<std::uint64_t, arguments> kernels;
    struct counter {
      std::string name;
      std::uint64_t gpu;
    };
    std::map<std::uint64_t, counter> counters;
  };
  struct state {
    // Categories, names, keys, texts, names of a launch's arguments.
    std::map<std::uint64_t, std::string> tables[5];
    gpu_names gpu;
    std::uint64_t track = 0;
    std::int64_t clock = 0;
    bool valid = false, has_clock = false;
  };
  struct track {
    std::string name;
    std::uint64_t parent = 0;
    bool is_process = false, is_counter = false;
  };
  struct timed {
    std::int64_t time;
    std::uint64_t track, type;
    event of;
    double counter;
    std::vector<std::uint64_t> out;  // events of GPUs
    std::uint64_t gpu_event = 0;
    std::int64_t duration = 0;
    std::uint64_t gpu = 0;
  };
  enum : std::uint64_t { on_gpu = 100 };  // a type beside those of tracks

  void take(std::vector<field> const& packet) {
    if (field const* const f = find(packet, 60)) return describe(fields(f->bytes));
    if (field const* const f = find(packet, 128)) return describe_gpus(fields(f->bytes));
    std::uint64_t const id = value(packet, 10);
    must(id != 0);
    made_.sequences.insert(id);
    state& s = states_[id];
    std::uint64_t const flags = value(packet, 13);
    if (flags & 1) {
      s = state();
      s.valid = true;
      ++made_.states;
    }
    if (field const* const f = find(packet, 59)) {
      auto const defaults = fields(f->bytes);
      must(value(defaults, 58) == 64);
      field const* const track = find(defaults, 11);
      s.track = track == nullptr ? 0 : value(fields(track->bytes), 11);
    }
    if (field const* const f = find(packet, 12)) intern(s, fields(f->bytes));
    if (field const* const f = find(packet, 6)) return snapshot(s, fields(f->bytes));
    field const* const e = find(packet, 11);
    field const* const work = find(packet, 53);
    field const* const use = find(packet, 52);
    must((e != nullptr) + (work != nullptr) + (use != nullptr) == 1);
    must(flags == 2);
    if (!s.valid) {
      ++made_.skipped;
      return;
    }
    must(s.has_clock);
    must(static_cast<std::int64_t>(value(packet, 8)) >= 0);
    s.clock += static_cast<std::int64_t>(value(packet, 8));
    if (e != nullptr) add(s, fields(e->bytes));
    if (work != nullptr) add_work(s, fields(work->bytes));
    if (use != nullptr) add_use(s, fields(use->bytes));
  }

  void describe_gpus(std::vector<field> const& info) {
    for (std::size_t i = 0; i < info.size(); ++i) {
      must(info[i].number == 1);
      auto const gpu = fields(info[i].bytes);
      must(text(gpu, 2) == "NVIDIA");
      auto const known = gpus_.emplace(i, text(gpu, 1));
      must(known.first->second == text(gpu, 1));
    }
  }
  std::string gpu_name(std::uint64_t gpu) const {
    auto const known = gpus_.find(gpu);
    return known == gpus_.end() ? "GPU " + std::to_string(gpu) : known->second;
  }

  static void snapshot(state& s, std::vector<field> const& clocks) {
    std::map<std::uint64_t, std::vector<field>> by_id;
    for (field const& f : clocks)
      if (f.number == 1) by_id[value(fields(f.bytes), 1)] = fields(f.bytes);
    must(by_id.size() == 2);
    must(value(by_id[64], 3) == 1);  // is_incremental
    must(find(by_id[6], 3) == nullptr);
    must(value(by_id[6], 2) == 0);  // the trace's clock may not go back
    must(value(clocks, 2) == 6);
    s.clock = static_cast<std::int64_t>(value(by_id[64], 2));
    s.has_clock = true;
  }

  static void intern(state& s, std::vector<field> const& data) {
    for (field const& f : data) {
      auto const entry = fields(f.bytes);
      must(value(entry, 1) != 0);
      if (intern_gpu(s.gpu, f.number, value(entry, 1), entry)) continue;
      std::size_t const table = f.number == 29 ? 3 : f.number == 1001 ? 4 : f.number - 1;
      must(table < 5);
      auto const at = s.tables[table].emplace(value(entry, 1), text(entry, 2));
      must(at.second);  // each once
    }
  }

  static bool intern_gpu(gpu_names& gpu, std::uint32_t table, std::uint64_t id,
                         std::vector<field> const& entry) {
    if (table == 23) {
      must(value(entry, 3) == 4);  // CUDA
      must(gpu.processes.emplace(id, value(entry, 2)).second);
    } else if (table == 24) {
      must(gpu.queues.emplace(id, text(entry, 2)).second);
      gpu.categories[id] = value(entry, 4);
    } else if (table == 47) {
      auto const descriptor = fields(find(entry, 2)->bytes);
      auto const spec = fields(find(descriptor, 1)->bytes);
      must(value(spec, 1) == id);
      must(!text(spec, 2).empty());
      must(value(spec, 7) == 37);       // percent
      must(find(spec, 10) == nullptr);  // of no group
      must(value(spec, 11) == 2);       // from its time on
      gpu.counters[id] = {text(spec, 2), value(entry, 3)};
    } else if (table == 1000) {
      arguments names;
      names["name"] = text(entry, 2);
      names["arch"] = text(entry, 4);
      if (find(entry, 3) != nullptr) names["kernel"] = text(entry, 3);
      must(gpu.kernels.emplace(id, names).second);
    }
    return table == 23 || table == 24 || table == 47 || table == 1000;
  }

  void describe(std::vector<field> const& d) {
    track t;
    must(value(d, 1) != 0);
    t.parent = value(d, 5);
    t.name = text(d, 2);
    t.is_counter = find(d, 8) != nullptr;
    if (field const* const f = find(d, 3)) {
      t.is_process = true;
      t.name = text(fields(f->bytes), 6);
      pids_[value(fields(f->bytes), 1)] = value(d, 1);
    }
    if (field const* const f = find(d, 4)) {
      t.name = text(fields(f->bytes), 5);
      must(pids_.count(value(fields(f->bytes), 1)) == 1);
      t.parent = pids_[value(fields(f->bytes), 1)];
      auto const thread = threads_.emplace(value(fields(f->bytes), 2), value(d, 1));
      must(thread.first->second == value(d, 1));
    }
    auto const known = tracks_.emplace(value(d, 1), t);
    must(known.first->second.name == t.name);
  }

  static std::string looked_up(std::map<std::uint64_t, std::string> const& table,
                               std::uint64_t number) {
    auto const at = table.find(number);
    must(at != table.end());
    return at->second;
  }

  void add(state& s, std::vector<field> const& e) {
    timed t{s.clock, s.track, value(e, 9), {}, 0, {}};
    if (find(e, 3) != nullptr) t.of.category = looked_up(s.tables[0], value(e, 3));
    t.of.name = find(e, 10) != nullptr ? looked_up(s.tables[1], value(e, 10)) : text(e, 23);
    t.counter = static_cast<double>(static_cast<std::int64_t>(value(e, 30)));
    for (field const& f : e) {
      if (f.number == 3000)
        for (field const& to : fields(f.bytes)) t.out.push_back(to.value);
      if (f.number != 4) continue;
      auto const a = fields(f.bytes);
      must(a.size() == 2);
      std::string& to = t.of.args[looked_up(s.tables[2], value(a, 1))];
      must(to.empty());
      if (a[1].number == 17) to = looked_up(s.tables[3], a[1].value);
      if (a[1].number == 6) to = std::string(a[1].bytes);
      if (a[1].number == 4) to = std::to_string(static_cast<std::int64_t>(a[1].value));
      if (a[1].number == 2) to = a[1].value == 1 ? "true" : "false";
      if (a[1].number == 5) {
        double number = 0;
        std::memcpy(&number, &a[1].value, sizeof number);
        to = json(number).dump();
      }
    }
    events_.push_back(std::move(t));
  }

  void add_use(state& s, std::vector<field> const& e) {
    must(s.gpu.counters.count(value(e, 4)) == 1);
    auto const& meaning = s.gpu.counters[value(e, 4)];
    made_.uses[gpu_name(meaning.gpu)].insert(meaning.name);
    auto const sample = fields(find(e, 2)->bytes);
    must(value(sample, 1) == value(e, 4));
    timed t{s.clock, 0, 4, {}, 0, {}};
    std::memcpy(&t.counter, &find(sample, 3)->value, sizeof t.counter);
    events_.push_back(std::move(t));
  }

  /// With arguments as trace.json names them.
  void add_work(state& s, std::vector<field> const& e) {
    timed t{s.clock, 0, on_gpu, {}, 0, {}};
    t.gpu_event = value(e, 1);
    t.duration = static_cast<std::int64_t>(value(e, 2));
    t.gpu = value(e, 11);
    t.of.name = looked_up(s.tables[1], value(e, 20));
    t.of.track = looked_up(s.gpu.queues, value(e, 13));
    made_.queues.insert(t.of.track);
    if (t.of.track.compare(0, 5, "rank ") == 0) t.of.track.erase(0, t.of.track.find(", ") + 2);
    t.of.category = looked_up(s.gpu.queues, value(e, 14));
    must(s.gpu.categories[value(e, 14)] == (t.of.category == "kernel" ? 2u : 0u));
    must(pids_.count(s.gpu.processes.at(value(e, 5))) == 1);
    arguments& args = t.of.args = launch_of(s, fields(find(e, 21)->bytes), t.gpu);
    must((find(e, 19) != nullptr) == (t.of.category == "kernel"));
    if (find(e, 19) != nullptr) {
      arguments const& kernel = s.gpu.kernels.at(value(e, 19));
      if (kernel.count("kernel") == 1) args["kernel"] = kernel.at("kernel");
      made_.architectures.insert(kernel.at("arch"));
      if (kernel.at("name") != t.of.name) args["mangled"] = kernel.at("name");
    }
    events_.push_back(std::move(t));
  }

  static arguments launch_of(state& s, std::vector<field> const& launch, std::uint64_t gpu) {
    arguments args, sizes;
    std::map<std::string, std::uint64_t> counts;
    for (field const& f : launch) {
      auto const a = fields(f.bytes);
      if (f.number == 3) {
        must(a.size() == 2);
        std::string& to = args[looked_up(s.tables[4], value(a, 1))];
        must(to.empty());
        to = a[1].number == 7 ? looked_up(s.tables[3], a[1].value)
                              : std::to_string(static_cast<std::int64_t>(a[1].value));
        must(a[1].number == 7 || a[1].number == 3);
        continue;
      }
      must(a.size() == 3);
      char const* const name = f.number == 1 ? "grid" : "block";
      counts[name] = a[0].value * a[1].value * a[2].value;
      sizes[name] = std::to_string(a[0].value) + "x" + std::to_string(a[1].value) + "x" +
                    std::to_string(a[2].value);
    }
    auto const take = [&](char const* key) {
      must(args.count(key) == 1);
      std::string const found = args[key];
      args.erase(key);
      return found;
    };
    must(take("device") == std::to_string(gpu));
    (void)take("stream");
    if (sizes.empty()) return args;
    must(take("grid_size") == std::to_string(counts["grid"]));
    must(take("workgroup_size") == std::to_string(counts["block"]));
    must(take("thread_count") == std::to_string(counts["grid"] * counts["block"]));
    args["registers"] = take("registers_per_thread");
    args["static_shared_bytes"] = take("shared_mem_static");
    args["dynamic_shared_bytes"] = take("shared_mem_dynamic");
    args.insert(sizes.begin(), sizes.end());
    return args;
  }

  void play() {
    std::vector<timed*> order;
    for (timed& e : events_) order.push_back(&e);
    std::stable_sort(order.begin(), order.end(),
                     [](timed const* a, timed const* b) { return a->time < b->time; });
    std::map<std::uint64_t, std::vector<event>> open;
    std::map<std::uint64_t, std::pair<std::string, std::int64_t>> flows;
    for (timed const& e : events_)
      for (std::uint64_t const event : e.out)
        must(flows.emplace(event, std::make_pair(tracks_[e.track].name, e.time)).second);
    for (timed* const next : order) {
      timed& e = *next;
      if (e.type == on_gpu) {
        finish_work(e, flows);
        continue;
      }
      if (e.track == 0) {  // a use of a GPU
        made_.counters.emplace_back(e.time, e.counter);
        continue;
      }
      must(tracks_.count(e.track) == 1);
      track const& t = tracks_[e.track];
      e.of.track = t.is_process ? "" : t.name;
      e.of.process = t.is_process ? t.name : tracks_[t.parent].name;
      e.of.begin = e.of.end = e.time;
      if (e.type == 4) {
        must(t.is_counter);
        made_.counters.emplace_back(e.time, e.counter);
      } else if (e.type == 3) {
        made_.instants.push_back(e.of);
      } else if (e.type == 1) {
        open[e.track].push_back(e.of);
      } else {
        must(e.type == 2);
        if (open[e.track].empty() && made_.skipped > 0) continue;
        must(!open[e.track].empty());
        e.of = open[e.track].back();
        e.of.end = e.time;
        open[e.track].pop_back();
        made_.slices.push_back(e.of);
      }
    }
    if (made_.skipped == 0 && whole) must(flows.empty());
    for (auto const& track : open)
      if (whole) must(track.second.empty());
  }

  void finish_work(timed& e, std::map<std::uint64_t, std::pair<std::string, std::int64_t>>& flows) {
    e.of.process = gpu_name(e.gpu);
    e.of.begin = e.time;
    e.of.end = e.time + e.duration;
    made_.slices.push_back(e.of);
    must(made_.work.emplace(e.gpu_event, e.of).second);
    auto const from = flows.find(e.gpu_event);
    if (from == flows.end()) return;
    made_.arrows.emplace_back(from->second.first, from->second.second, e.of.track, e.of.begin);
    flows.erase(from);
  }

  contents made_;
  std::map<std::uint64_t, std::string> gpus_;
  std::map<std::uint64_t, state> states_;
  std::map<std::uint64_t, track> tracks_;
  std::map<std::uint64_t, std::uint64_t> pids_, threads_;
  std::vector<timed> events_;

 public:
  bool whole = true;  ///< nothing of the file is missing
};

// ---- the same from trace.json ----

inline std::int64_t ns(json const& time) { return std::llround(time.get<double>() * 1000.0); }

inline arguments arguments_of(json const& e) {
  arguments all;
  if (!e.contains("args")) return all;
  for (auto const& item : e["args"].items())
    all[item.key()] =
        item.value().is_string() ? item.value().get<std::string>() : item.value().dump();
  return all;
}

/// What overlaps on a stream is on tracks of its own here, but not on a GPU.
inline std::string as_stream(std::string const& track) {
  bool const is_work =
      track.find("stream ") != std::string::npos && track.find(", ranges") == std::string::npos;
  return is_work ? track.substr(0, track.find(" (overlap")) : track;
}

inline contents from_json(std::string const& document) {
  contents made;
  json const all = json::parse(document)["traceEvents"];
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<std::uint64_t, event> spans;
  for (json const& e : all) {
    auto const place = std::make_pair(e["pid"].get<int>(), e["tid"].get<int>());
    if (e["name"] == "process_name") processes[place.first] = e["args"]["name"];
    if (e["name"] == "thread_name") tracks[place] = e["args"]["name"];
  }
  struct end {
    std::string track;
    std::int64_t time;
    std::uint64_t id;
  };
  std::map<std::uint64_t, end> begins;
  std::vector<end> ends;
  for (json const& e : all) {
    std::string const phase = e["ph"];
    if (phase == "M") continue;
    auto const place = std::make_pair(e["pid"].get<int>(), e["tid"].get<int>());
    event of{processes[place.first], tracks[place], e["name"], e.value("cat", ""), ns(e["ts"]), 0,
             arguments_of(e)};
    of.end = of.begin + (phase == "X" ? ns(e["dur"]) : 0);
    if (phase == "C") made.counters.emplace_back(of.begin, e["args"].front().get<double>());
    // Perfetto's has one name of a kernel, but for types.
    if (of.args.count("mangled") == 1 && of.args["mangled"] == of.name) of.args.erase("mangled");
    if (phase == "X") made.slices.push_back(of);
    if (phase == "i") {
      of.track.clear();
      made.instants.push_back(of);
    }
    if (phase == "s") begins[e["id"].get<std::uint64_t>()] = {of.track, of.begin, 0};
    if (phase == "f") ends.push_back({of.track, of.begin, e["id"].get<std::uint64_t>()});
    if (phase == "b") {
      of.track = "NVTX ranges";
      spans[e["id2"]["local"].get<std::uint64_t>()] = of;
    }
    if (phase == "e") {
      spans[e["id2"]["local"].get<std::uint64_t>()].end = of.begin;
      made.slices.push_back(spans[e["id2"]["local"].get<std::uint64_t>()]);
    }
  }
  std::multimap<std::pair<std::string, std::int64_t>, std::size_t> at;  // slices by track and end
  for (std::size_t i = 0; i < made.slices.size(); ++i)
    at.emplace(std::make_pair(made.slices[i].track, made.slices[i].end), i);
  for (end const& to : ends) {
    event const* target = nullptr;  // one that ends where the arrow does may be the one before
    for (auto i = at.lower_bound({to.track, to.time}); i != at.end(); ++i) {
      event const& slice = made.slices[i->second];
      auto const found = slice.args.find("correlation");
      if (slice.track != to.track) break;
      if (slice.begin > to.time || found == slice.args.end() ||
          found->second != std::to_string(to.id & 0xffffffffu))
        continue;
      target = &slice;
      if (slice.end > to.time) break;
    }
    if (target != nullptr)
      made.arrows.emplace_back(begins[to.id].track, begins[to.id].time, as_stream(to.track),
                               target->begin);
  }
  for (event& slice : made.slices) slice.track = as_stream(slice.track);
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

}  // namespace perfetto_reading

#endif  // STRATA_TESTS_UNIT_PERFETTO_READER_HPP
