// Random programs: a seed makes one together with a model that says what each row has to show.
// STRATA_TEST_FULL=1 runs many more seeds, STRATA_TEST_SEEDS=FIRST-LAST others; the shortest
// beginning of a program that fails is printed.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <strata/collect/host/recorder.hpp>
#include "../sanitizers.hpp"
#include "fake_session.hpp"

namespace random_test {

using strata::profile;

namespace {

// ---- what a row shows ----

constexpr char const* field_names[] = {
    "calls",     "launches",  "kernels",       "kernel_ns",       "copies",
    "copy_ns",   "to_device", "to_host",       "on_device",       "between_devices",
    "set_bytes", "waits",     "wait_ns",       "allocated",       "allocations",
    "released",  "releases",  "graph_kernels", "graph_kernel_ns", "adopted_kernels",
    "adopted_ns"};
enum field : unsigned {
  calls,
  launches,
  kernels,
  kernel_ns,
  copies,
  copy_ns,
  to_device,
  to_host,
  on_device,
  between_devices,
  set_bytes,
  waits,
  wait_ns,
  allocated,
  allocations,
  released,
  releases,
  graph_kernels,
  graph_kernel_ns,
  adopted_kernels,
  adopted_ns,
  fields
};
static_assert(std::size(field_names) == fields, "each field has its name");
using values = std::array<std::uint64_t, fields>;

values shown_by(strata::range_row const& row) {
  strata::device_work const& w = row.self;
  auto const ns = [](std::int64_t of) { return static_cast<std::uint64_t>(of); };
  return {row.host.count(),
          w.launches,
          w.kernels,
          ns(w.kernel_ns),
          w.copies,
          ns(w.copy_ns),
          w.host_to_device_bytes,
          w.device_to_host_bytes,
          w.device_to_device_bytes,
          w.peer_bytes,
          w.set_bytes,
          w.synchronizations,
          ns(w.synchronization_ns),
          w.allocated_bytes,
          w.allocations,
          w.released_bytes,
          w.releases,
          w.graph_kernels,
          ns(w.graph_kernel_ns),
          w.adopted_kernels,
          ns(w.adopted_ns)};
}

/// The name of the kernels that are launched "at" a place, or captured "in" it. Few, since they are
/// kept.
std::string kernel_of(char const* how, std::string const& path) {
  return how + std::to_string(std::hash<std::string>()(path) % 997);
}

// ---- the model ----

enum traced_kind : unsigned { has_kernels = 1, has_copies = 2, has_memory = 4, has_waits = 8 };

/// What a session is asked for.
struct wishes {
  std::uint32_t skip = 0, warmup = 0, active = 0, repeat = 1;
  unsigned traced = 15;
  bool adopt = true;

  enum class phase { skip, warmup, active };
  bool has_windows() const { return active != 0; }
  phase of(std::uint32_t step) const {
    std::uint32_t const window = skip + warmup + active;
    if (repeat != 0 && step / window >= repeat) return phase::skip;
    std::uint32_t const at = step % window;
    return at < skip ? phase::skip : at < skip + warmup ? phase::warmup : phase::active;
  }
};

/// What it has to show.
struct expected {
  std::map<std::string, values> rows;
  std::map<std::string, std::uint64_t> losses;
  std::uint64_t steps = 0, calls = 0, records = 0;
  bool limits_cut = false;
  // Calls that were under way when it began or a window did: they are joined to their own range or
  // to none.
  std::map<std::string, values> unsure;
  std::uint64_t unsure_calls = 0;
  // Kernels of calls within which anything changed, and the ranges they may be of. A session or a
  // step that ends within a call ends what was pushed: the range after it need not be the one
  // before.
  std::set<std::pair<std::string, std::string>> unsure_kernels;
  std::uint64_t left_open_before = 0;  // ranges of other threads
  std::uint64_t missing_pops = 0;      // pushed ranges that ended with a step or a range around
};

struct shape {
  unsigned threads = 1;
  bool graphs = false;
  bool changes_within_calls = false;
  unsigned operations = 0;  // of each thread; 0: the seed says
  bool print = false;
};

/// What one session after another has to show, as the program continues. Threads: any; what is in
/// all of them changes while they wait.
struct model {
  bool listening = false, recording = false, window = false, times_lost = false;
  bool has_steps = false;     // the first thread has begun one in this session
  bool adopting = false;      // the call is of a thread in no range, and of the first one's range
  std::uint32_t session = 0;  // number
  std::uint64_t changes = 0;  // of the first three
  wishes wanted;
  expected now;
  std::mutex mutex;

  bool traces(unsigned kind) const { return window && (wanted.traced & kind) != 0; }
  bool sees(unsigned kind) const { return recording && traces(kind); }

  void set(bool records, bool has_window) {
    changes += records != recording || has_window != window ? 1 : 0;
    recording = records;
    window = has_window;
  }
  void lose(char const* what, std::uint64_t times = 1) {
    std::lock_guard<std::mutex> const lock(mutex);
    now.losses[what] += times;
  }
  void add(std::string const& path, field to, std::uint64_t more) {
    std::lock_guard<std::mutex> const lock(mutex);
    now.rows[path][to] += more;
  }
  /// A call of the program; those that put work on the device are counted by row.
  void call(std::string const& path, unsigned kind, std::uint64_t times = 1) {
    if (!sees(kind)) return;
    if ((kind & (has_kernels | has_copies)) != 0) add(path, launches, times);
    std::lock_guard<std::mutex> const lock(mutex);
    now.calls += times;
  }
  /// A call that makes or changes a graph: it puts no work on the device.
  void graph_call() {
    if (!sees(has_kernels)) return;
    std::lock_guard<std::mutex> const lock(mutex);
    ++now.calls;
  }
  /// A record that follows from it.
  void record(std::string const& path, unsigned kind, field count, field time, std::uint64_t ns,
              std::uint64_t times = 1) {
    if (!sees(kind)) return;
    add(path, count, times);
    bool const has_time = kind != has_memory;
    if (has_time && times_lost) lose("timestamps_lost", times);
    if (!has_time || !times_lost) add(path, time, ns * times);
    if (adopting && (kind == has_kernels || kind == has_copies)) {
      if (kind == has_kernels) add(path, adopted_kernels, times);
      if (!times_lost) add(path, adopted_ns, ns * times);
    }
    std::lock_guard<std::mutex> const lock(mutex);
    now.records += times;
  }
};

// ---- the program ----

class program;

/// One thread of it.
class actor {
 public:
  actor(program& all, unsigned number, std::uint32_t seed);
  void run();
  void call();
  void calls_elsewhere(std::uint32_t count);
  std::uint32_t below(std::uint32_t end) { return random_() % end; }
  /// The range that calls of now belong to.
  std::string path() const {
    bool const in_none = open_.empty() || (is_elsewhere_ && !model_.adopting);
    return in_none ? std::string() : open_.back().path;
  }
  /// The session ends in this thread, or in another one.
  void cut();
  void count_open();
  /// A session has ended: nobody sees a pop until the next one.
  void forget_pushes();
  void enter_step() { step_begins_at_ = serial_; }
  /// What was pushed in the step and not popped ends with it, and so does what is within that.
  void leave_step();

 private:
  struct open_range {
    std::uint64_t serial;
    std::string path;
    unsigned depth;
    bool pushed;
    bool recorded;
    std::uint32_t session;
  };
  struct node {
    std::string by;
    bool known;
    std::uint32_t epoch;
    std::uint64_t ns;
  };
  struct graph {
    fake_graph_t id;
    bool executable;
    std::vector<node> nodes;
  };
  /// A range of the model together with one of the program.
  struct in_model {
    in_model(actor& who, std::string const& name, std::int64_t index = strata::no_index)
        : of(who), serial(who.begin(name, index, false)) {}
    ~in_model() { of.end(serial); }
    in_model(in_model const&) = delete;
    in_model& operator=(in_model const&) = delete;
    actor& of;
    std::uint64_t serial;
  };

  void block();
  void operation();
  void say(std::string const& what) const;
  std::uint64_t begin(std::string const& name, std::int64_t index, bool pushed);
  void end(std::uint64_t serial);
  void note_missing_pop(open_range const& pushed);
  void pop();
  void deep(unsigned levels);
  void many();
  void launch(bool into_capture);
  void launch_and_change();
  void call_in_another_thread();
  void end_capture();
  graph* find(bool executable);
  void change_graphs();
  void launch_graph(graph const& executable);
  node node_here(std::uint64_t ns) const;
  std::uint32_t stream() { return 10 + 4 * number_ + below(3); }
  std::uint32_t capturing_stream() const { return 100 + number_; }

  program& all_;
  model& model_;
  unsigned number_;
  std::mt19937 random_;
  std::vector<open_range> open_;
  std::vector<graph> graphs_;
  std::vector<node> captured_;
  bool capturing_ = false;
  bool is_elsewhere_ = false;
  unsigned calls_under_way_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t step_begins_at_ = 0;  // the last serial before it
  unsigned done_ = 0;
};

class program {
 public:
  program(std::uint32_t seed, shape const& how)
      : how(how), operations(how.operations), seed_(seed), random_(seed) {}

  /// What differs from the model; empty where nothing does.
  std::string run();
  /// All threads wait while the first one changes what all of them see.
  void meet(unsigned thread);
  void change(actor& by, bool within_call);
  void differ(std::string const& what) {
    if (differences_.size() < 1000) differences_ += (differences_.empty() ? "" : "; ") + what;
  }
  void say(std::string const& what) const {
    if (how.print) (void)std::fprintf(stderr, "%s\n", what.c_str());
  }

  shape const how;
  unsigned operations, between_meetings = 1;
  model in;

 private:
  std::uint32_t below(std::uint32_t end) { return random_() % end; }
  void start();
  void stop(actor& by);
  void begin_or_end_step();
  void deliver_otherwise();
  void compare(profile const& p);

  std::uint32_t seed_;
  std::mt19937 random_;
  std::string differences_;
  std::unique_ptr<strata::session> session_;
  std::optional<strata::scoped_step> step_;
  bool step_counts_ = false;
  std::size_t const misuses_ = fake_misuse_count();
  bool held_ = false;  // records are not complete until the device is waited for
  std::uint32_t steps_begun_ = 0;
  std::vector<std::unique_ptr<actor>> actors_;
  std::mutex mutex_;
  std::condition_variable met_;
  unsigned arrived_ = 0;
  std::uint64_t meetings_ = 0;
};

// ---- ranges ----

actor::actor(program& all, unsigned number, std::uint32_t seed)
    : all_(all), model_(all.in), number_(number), random_(seed * 31 + number) {}

void actor::say(std::string const& what) const {
  if (all_.how.print)
    all_.say(std::to_string(number_) +
             std::string(2 + 2 * std::min<std::size_t>(open_.size(), 9), ' ') + what);
}

std::uint64_t actor::begin(std::string const& name, std::int64_t index, bool pushed) {
  say((pushed ? "push " : "") + name);
  if (!model_.listening) return 0;
  unsigned const above = open_.empty() ? 0 : open_.back().depth;
  open_range made{++serial_, path(), above + 1, pushed, model_.recording, model_.session};
  if (above < 128) {
    made.path += (made.path.empty() ? "" : "/") + name;
    if (index != strata::no_index) made.path += "[" + std::to_string(index) + "]";
  } else {
    if (above == 128) made.path += "/[deeper]";
    model_.lose("ranges_too_deep");
  }
  open_.push_back(made);
  return made.serial;
}

void actor::end(std::uint64_t serial) {
  std::size_t at = open_.size();
  while (at != 0 && open_[at - 1].serial != serial) --at;
  if (at == 0) return;  // nobody listened, or an outer one has ended, or a step
  for (; open_.size() >= at; open_.pop_back()) {
    if (open_.size() > at) note_missing_pop(open_.back());
    if (open_.back().recorded && model_.recording && open_.back().session == model_.session)
      model_.add(open_.back().path, calls, 1);
  }
}

/// Another end than a pop ends this range, if it was pushed. Also where nothing is recorded any
/// more, if it was as the range began.
void actor::note_missing_pop(open_range const& pushed) {
  if (!pushed.pushed || !pushed.recorded) return;
  std::lock_guard<std::mutex> const lock(model_.mutex);
  ++model_.now.missing_pops;
}

void actor::leave_step() {
  for (open_range const& each : open_) {
    if (!each.pushed || each.serial <= step_begins_at_) continue;
    note_missing_pop(each);
    return end(each.serial);
  }
}

void actor::pop() {
  if (!model_.listening) return;
  if (!open_.empty() && open_.back().pushed) return end(open_.back().serial);
  model_.lose("pops_without_push");
}

void actor::forget_pushes() {
  for (std::size_t i = 0; i < open_.size(); ++i)
    if (open_[i].pushed) return open_.resize(i);
}

void actor::cut() {
  for (open_range& each : open_) {
    if (!model_.recording || !each.recorded || each.session != model_.session) continue;
    model_.add(each.path, calls, 1);
    model_.lose("ranges_left_open");
  }
}

void actor::count_open() {
  for (open_range const& each : open_) {
    if (each.session == model_.session) {
      model_.lose("ranges_left_open");
    } else {
      ++model_.now.left_open_before;
    }
  }
}

void actor::deep(unsigned levels) {
  STRATA_RANGE("deep");
  in_model const beside(*this, "deep");
  call();
  if (levels != 0) deep(levels - 1);
}

/// More than a small log keeps.
void actor::many() {
  std::uint64_t const times = 20'000 + below(20'000);
  in_model const beside(*this, "many");
  say("and so " + std::to_string(times) + " times, with a launch each");
  std::string const name = kernel_of("at ", path());
  for (std::uint64_t i = 0; i < times; ++i) {
    STRATA_RANGE("many");
    fake::launch(name.c_str(), 10, 3);
  }
  if (model_.recording) model_.add(path(), calls, times - 1);
  model_.call(path(), has_kernels, times);
  model_.record(path(), has_kernels, kernels, kernel_ns, 3, times);
  std::lock_guard<std::mutex> const lock(model_.mutex);
  model_.now.limits_cut = true;
}

// ---- calls ----

void actor::launch(bool into_capture) {
  std::uint64_t const ns = 1 + below(1000);
  say(into_capture ? "launch into the capture" : "launch");
  node const captured = node_here(ns);
  fake::launch(kernel_of(into_capture ? "in " : "at ", path()).c_str(),
               into_capture ? capturing_stream() : stream(), ns);
  model_.call(path(), has_kernels);
  if (into_capture) return captured_.push_back(captured);
  model_.record(path(), has_kernels, kernels, kernel_ns, ns);
}

/// A call that puts work on the device, or has to do with it.
void actor::call() {
  std::uint64_t const bytes = 1 + below(100), ns = 1 + below(1000), address = 4096 * (1 + below(9));
  switch (below(12)) {
    case 0: {
      constexpr std::pair<int, field> kinds[] = {
          {1, to_device}, {2, to_host}, {8, on_device}, {10, between_devices}};
      auto const& kind = kinds[below(4)];
      say("copy");
      (void)fake_copy(kind.first, bytes, stream(), ns);
      model_.call(path(), has_copies);
      model_.record(path(), has_copies, copies, copy_ns, ns);
      if (model_.sees(has_copies)) model_.add(path(), kind.second, bytes);
      return;
    }
    case 1:
      say("set");
      (void)fake_memset(bytes, stream(), ns);
      model_.call(path(), has_copies);
      model_.record(path(), has_copies, copies, copy_ns, ns);
      if (model_.sees(has_copies)) model_.add(path(), set_bytes, bytes);
      return;
    case 2:
      say("allocate");
      (void)fake_malloc(address, bytes, 3, static_cast<int>(below(2)));
      model_.call(path(), has_memory);
      return model_.record(path(), has_memory, allocations, allocated, bytes);
    case 3:
      say("release");
      (void)fake_free(address, bytes, 3, static_cast<int>(below(2)));
      model_.call(path(), has_memory);
      return model_.record(path(), has_memory, releases, released, bytes);
    case 4:
      say("wait");
      (void)fake_sync(3 + static_cast<int>(below(2)), stream(), ns);
      model_.call(path(), has_waits);
      return model_.record(path(), has_waits, waits, wait_ns, ns);
    case 5:
      if (all_.how.threads != 1) return;  // it would be another thread's call
      say("a call that fails");
      fake_fail_next_call(1);
      (void)fake_memset(bytes, stream(), ns);
      return;
    case 6:
      if (all_.how.changes_within_calls && calls_under_way_ < 2 && !is_elsewhere_)
        return launch_and_change();
      return launch(false);
    default:
      return launch(capturing_ && below(2) == 0);
  }
}

/// Where CUPTI went and came back, they have the numbers of earlier calls.
void actor::calls_elsewhere(std::uint32_t count) {
  STRATA_RANGE("meanwhile");
  in_model const beside(*this, "meanwhile");
  for (; count > 0; --count) call();
}

struct {
  program* all;
  actor* by;
} under_way;

/// Sessions, windows and CUPTI come and go while the driver executes the call.
void actor::launch_and_change() {
  std::uint64_t const before = model_.changes;
  under_way = {&all_, this};
  ++calls_under_way_;
  fake_set_call_hook([] {
    auto const now = under_way;
    for (std::uint32_t i = now.by->below(4); i-- > 0;) {
      now.all->change(*now.by, true);
      now.by->calls_elsewhere(now.by->below(60));
    }
  });
  say("launch, and meanwhile {");
  std::string const name = kernel_of("at ", path());
  fake::launch(name.c_str(), 10, 5);
  say("}");
  --calls_under_way_;
  if (before == model_.changes) {
    model_.now.unsure_kernels.emplace(name, path());
    model_.call(path(), has_kernels);
    return model_.record(path(), has_kernels, kernels, kernel_ns, 5);
  }
  if (!model_.traces(has_kernels)) return;
  ++model_.now.unsure_calls;
  for (std::string const& at : {model_.recording ? path() : std::string(), std::string()}) {
    model_.now.unsure_kernels.emplace(name, at);
    values& unsure = model_.now.unsure[at];
    ++unsure[launches];
    ++unsure[kernels];
    unsure[kernel_ns] += 5;
  }
}

/// By a thread that is in no range, while this one waits. Which range the first thread is in is
/// known only if it is the only other one.
void actor::call_in_another_thread() {
  if (all_.how.threads != 1 || capturing_ || calls_under_way_ != 0) return call();
  say("in another thread:");
  is_elsewhere_ = true;
  model_.adopting = model_.has_steps && model_.wanted.adopt && !open_.empty();
  std::thread([this] { call(); }).join();
  is_elsewhere_ = model_.adopting = false;
}

// ---- graphs ----

/// A node that is made here. Its range is noted while CUPTI is there, in threads that Strata knows.
actor::node actor::node_here(std::uint64_t ns) const {
  bool const known =
      fake_subscribed() != 0 && strata::detail::thread_recorder::current() != nullptr;
  return {path(), known, strata::detail::recorder::instance().state().nodes.epoch(), ns};
}

void actor::end_capture() {
  if (!std::exchange(capturing_, false)) return;
  say("end of the capture");
  fake_graph_t const made = fake_end_capture(capturing_stream());
  if (made == 0) return all_.differ("a capture was broken");
  model_.graph_call();
  graphs_.push_back({made, false, captured_});
}

actor::graph* actor::find(bool executable) {
  std::vector<graph*> found;
  for (graph& each : graphs_)
    if (each.executable == executable) found.push_back(&each);
  return found.empty() ? nullptr : found[below(static_cast<std::uint32_t>(found.size()))];
}

void actor::change_graphs() {
  bool const followed = fake_subscribed() != 0;
  switch (below(7)) {
    case 0:
      if (capturing_) return end_capture();
      say("capture");
      (void)fake_begin_capture(capturing_stream());
      model_.graph_call();
      capturing_ = true;
      captured_.clear();
      for (std::uint32_t i = below(4); i-- > 0;) launch(true);
      if (!followed) end_capture();  // what nobody saw begin is waited for
      return;
    case 1: {
      say("a graph of nodes");
      graph made{fake_graph_create(), false, {}};
      for (std::uint32_t i = below(3); i-- > 0;) {
        std::string const name = kernel_of("in ", path());
        fake_kernel kernel;
        kernel.name = name.c_str();
        kernel.duration_ns = 1 + below(1000);
        made.nodes.push_back(node_here(kernel.duration_ns));
        (void)fake_graph_create_node(made.id, &kernel);
      }
      return graphs_.push_back(made);
    }
    case 2: {
      graph const* const from = find(false);
      if (from == nullptr) return;
      say("instantiate");
      graph made{fake_graph_clone(from->id), true, from->nodes};
      model_.graph_call();
      for (node& each : made.nodes) each.known = each.known && followed;
      return graphs_.push_back(made);
    }
    case 3: {
      graph* const to = find(true);
      if (to == nullptr) return;
      std::vector<graph const*> alike;
      for (graph const& each : graphs_)
        if (!each.executable && each.nodes.size() == to->nodes.size()) alike.push_back(&each);
      if (alike.empty()) return;
      graph const* const from = alike[below(static_cast<std::uint32_t>(alike.size()))];
      launch_graph(*to);
      say("update");
      (void)fake_graph_update(to->id, from->id);
      model_.graph_call();
      to->nodes = from->nodes;
      for (node& each : to->nodes) each.known = each.known && followed;
      return;
    }
    case 4: {
      if (graphs_.size() < 4) return;
      say("destroy");
      auto const which = graphs_.begin() + below(static_cast<std::uint32_t>(graphs_.size()));
      fake_graph_destroy(which->id);
      model_.graph_call();
      graphs_.erase(which);
      return;
    }
    default:
      if (graph const* const executable = find(true)) launch_graph(*executable);
  }
}

void actor::launch_graph(graph const& executable) {
  say("launch a graph of " + std::to_string(executable.nodes.size()));
  (void)fake_graph_launch(executable.id, stream());
  model_.call(path(), has_kernels);
  std::uint32_t const epoch = strata::detail::recorder::instance().state().nodes.epoch();
  for (node const& each : executable.nodes) {
    model_.record(path(), has_kernels, kernels, kernel_ns, each.ns);
    bool const known = each.known && (each.epoch == epoch || each.by.empty());
    if (!known || each.by == path() || !model_.sees(has_kernels)) continue;
    model_.add(each.by, graph_kernels, 1);
    model_.add(each.by, graph_kernel_ns, model_.times_lost ? 0 : each.ns);
  }
}

// ---- what a thread does ----

void actor::run() {
  while (done_ < all_.operations) block();
  end_capture();
}

void actor::block() {
  while (done_ < all_.operations && below(5) != 0) operation();
}

void actor::operation() {
  if (++done_ % all_.between_meetings == 0) {
    if (number_ != 0 || below(2) == 0)
      end_capture();  // the end of a window waits for other threads'
    all_.meet(number_);
  }
  auto const index = static_cast<std::int64_t>(below(2));
  switch (open_.size() < 3 ? below(15) : 6 + below(9)) {  // a small tree is soon compared
    case 0: {
      STRATA_RANGE("a");
      in_model const beside(*this, "a");
      return block();
    }
    case 1: {
      STRATA_RANGE("b", index);
      in_model const beside(*this, "b", index);
      return block();
    }
    case 2: {
      char text[8];
      (void)std::snprintf(text, sizeof text, "c%d", static_cast<int>(index));
      STRATA_RANGE(text);
      in_model const beside(*this, text);
      return block();
    }
    case 3: {
      strata::phases parts;
      std::uint64_t serial = 0;
      for (std::uint32_t i = below(3); i-- > 0;) {
        end(serial);
        serial = begin("part", i, false);
        parts.next("part", i);
        block();
      }
      return end(serial);
    }
    case 4:
      strata::push("pushed", index);
      (void)begin("pushed", index, true);
      block();
      strata::pop();
      return pop();
    case 5:
      if (open_.empty() && below(8) == 0) return deep(130);
      if (open_.empty() && below(60) == 0) return many();
      if (below(8) != 0) return;
      say("pop");
      strata::pop();
      return pop();
    case 6:
    case 7:
      if (all_.how.graphs) return change_graphs();
      return call();
    case 8:
      for (std::uint32_t i = below(8); i-- > 0;) call();
      return;
    case 9:
      return call_in_another_thread();
    default:
      return call();
  }
}

// ---- sessions and steps ----

void program::meet(unsigned thread) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (thread != 0) {
    std::uint64_t const before = meetings_;
    ++arrived_;
    met_.notify_all();
    return met_.wait(lock, [&] { return meetings_ != before; });
  }
  met_.wait(lock, [&] { return arrived_ + 1 == how.threads; });
  for (std::uint32_t i = 1 + below(2); i-- > 0;) change(*actors_[0], false);
  arrived_ = 0;
  ++meetings_;
  met_.notify_all();
}

/// Half of the changes are steps. Within a call there are steps and sessions alone.
void program::change(actor& by, bool within_call) {
  std::uint32_t const what = below(within_call ? 11 : 16);
  if (what < (within_call ? 4 : 8)) return begin_or_end_step();
  if (what < 11) return in.listening ? stop(by) : start();
  if (what == 11) return deliver_otherwise();
  bool const may_be_nobodys = !held_;  // what no call stands behind is not waited for
  if (what == 12 && in.sees(has_kernels) && may_be_nobodys) {
    say("a kernel of nobody");
    fake_kernel kernel;
    kernel.name = "nobody's";
    fake_orphan_kernel(&kernel);
    in.record("", has_kernels, kernels, kernel_ns, kernel.duration_ns);
    in.lose("uncorrelated");
  }
  if (what == 13 && may_be_nobodys) fake_wait_ns_kernel();
  if (what == 14 && in.recording) {
    std::uint32_t const dropped = below(5);
    say(std::to_string(dropped) + " records are dropped");
    fake_drop(dropped);
    in.lose("activity_dropped", dropped);
  }
  if (what == 15) {
    in.times_lost = !in.times_lost && below(4) == 0;
    fake_lose_timestamps(in.times_lost ? 1 : 0);
  }
}

void program::deliver_otherwise() {
  constexpr std::size_t in_buffer[] = {0, 0, 20, 100};  // few buffers reach a limit of their own
  constexpr std::size_t waiting[] = {0, 0, 1, 3, 20};
  fake_set_order(static_cast<fake_order>(below(3)), below(1000));
  fake_set_delivery(static_cast<fake_thread>(below(2)));
  fake_set_records_per_buffer(in_buffer[below(4)]);
  fake_set_auto_delivery(waiting[below(5)]);
  held_ = !how.graphs && below(3) == 0;  // captures forbid to wait
  fake_hold(held_ ? 1 : 0);
}

void program::start() {
  wishes w;
  std::string text = "formats=none,drain=60000,trace";  // on a busy machine
  if (below(4) == 0) {
    w.traced = 1 + below(15);
    constexpr char const* names[] = {"kernels", "copies", "memory", "waits"};
    char const* between = "=";
    for (unsigned i = 0; i < 4; ++i)
      if ((w.traced >> i & 1) != 0) text += std::exchange(between, "+") + std::string(names[i]);
  }
  auto const wish = [&](char const* key, std::uint32_t value) {
    text += std::string(",") + key + "=" + std::to_string(value);
  };
  if (below(2) == 0) {
    w.skip = below(4);
    w.warmup = below(2);
    w.active = 1 + below(3);
    w.repeat = below(4);
    wish("active", w.active);
    wish("warmup", w.warmup);
    if (below(3) == 0) {
      w.repeat = 0;
      wish("every", w.skip + w.warmup + w.active);
    } else {
      wish("skip", w.skip);
      wish("repeat", w.repeat);
    }
    if (below(2) == 0) text += ",attach=window";
  }
  w.adopt = how.threads == 1 && below(4) != 0;
  if (!w.adopt) text += ",adopt=off";
  bool const small = below(3) == 0;
  if (small) text += ",log=1,buffers=16";
  constexpr std::int64_t hour = 3'600'000'000'000;
  fake_skew_clock(below(2) == 0 ? 0 : below(2) == 0 ? hour : -hour);
  say("START " + text);
  session_ = std::make_unique<strata::session>(fake::configure(text));
  if (!session_->start().ok()) differ("the session did not start");
  in.wanted = w;
  in.now = {};
  in.now.limits_cut = small;
  in.listening = true;
  in.has_steps = false;
  ++in.session;
  steps_begun_ = 0;
  step_counts_ = false;
  in.set(!w.has_windows(), !w.has_windows());
}

void program::stop(actor& by) {
  say("STOP");
  session_->stop();
  by.cut();
  for (auto const& each : actors_)
    if (each.get() != &by) each->count_open();
  for (auto const& each : actors_) each->forget_pushes();
  in.set(false, false);
  in.listening = step_counts_ = false;
  compare(session_->profile());
  session_.reset();
}

void program::begin_or_end_step() {
  if (step_) {
    say("a step ends");
    step_.reset();
    if (!std::exchange(step_counts_, false)) return;
    actors_[0]->leave_step();
    if (in.recording) ++in.now.steps;
    if (in.wanted.has_windows() && in.wanted.of(steps_begun_) == wishes::phase::skip)
      in.set(false, false);
    return;
  }
  say("a step begins");
  step_.emplace();
  step_counts_ = in.listening;
  in.has_steps = in.has_steps || step_counts_;
  if (step_counts_) actors_[0]->enter_step();
  if (!step_counts_ || !in.wanted.has_windows()) return;
  wishes::phase const phase = in.wanted.of(steps_begun_++);
  if (phase != wishes::phase::skip) in.set(phase == wishes::phase::active, true);
}

// ---- the comparison ----

void program::compare(profile const& p) {
  expected& e = in.now;
  auto const check = [&](std::string const& what, std::uint64_t shown, std::uint64_t wanted,
                         std::uint64_t fewer = 0, std::uint64_t more = 0) {
    if (shown + fewer < wanted || shown > wanted + more)
      differ(what + " is " + std::to_string(shown) + ", not " + std::to_string(wanted));
  };
  // Where CUPTI got no buffer some records are missing: as many as it says.
  bool const refused = e.limits_cut && p.losses.buffers_refused != 0;
  std::uint64_t const missing =
      refused ? p.losses.activity_dropped - e.losses["activity_dropped"] : 0;
  for (strata::loss_kind const& each : strata::loss_kinds) {
    std::string const key(each.key);
    bool const of_limits = key == "buffers_refused" || key == "histograms_coarse" ||
                           key == "kernels_merged" || key.find("_folded") != key.npos;
    if (of_limits && e.limits_cut) continue;
    bool const of_records = key == "uncorrelated" || key == "timestamps_lost";
    check(key, p.losses.*each.count, e.losses[key] + (key == "activity_dropped" ? missing : 0),
          of_records ? missing : 0,
          of_records                  ? e.unsure_calls
          : key == "ranges_left_open" ? e.left_open_before
                                      : 0);
  }
  check("steps", p.steps.size() + p.early_steps.size(), e.steps);
  check("calls", p.launches.size() + p.losses.launches_summed, e.calls, 0, e.unsure_calls);
  check("records",
        p.kernels.size() + p.copies.size() + p.memory.size() + p.synchronizations.size() +
            p.losses.activity_summed + missing,
        e.records, 0, e.unsure_calls + missing);
  std::string const missing_pops =
      "a pop is missing: " + std::to_string(e.missing_pops) +
      (e.missing_pops == 1 ? " range" : " ranges") +
      " ended with the step or the range around, the first one was pushed: ";
  std::size_t problems = in.wanted.has_windows() && e.steps == 0 ? 1 : 0;
  if (e.missing_pops != 0) {
    ++problems;
    if (std::none_of(p.problems.begin(), p.problems.end(), [&](auto const& problem) {
          return std::string_view(problem).substr(0, missing_pops.size()) == missing_pops;
        }))
      differ("no problem says '" + missing_pops + "'");
  }
  if (p.problems.size() != problems) {
    differ(std::to_string(p.problems.size()) + " problems, not " + std::to_string(problems));
    for (auto const& problem : p.problems) differ("problem: " + std::string(problem));
  }

  strata::call_tree const tree(p);
  auto const compare_row = [&](std::string const& path, values const& shown) {
    for (unsigned i = 0; i < fields; ++i)
      check("'" + path + "' " + field_names[i], shown[i], e.rows[path][i],
            refused && i > launches ? e.rows[path][i] : 0, e.unsure[path][i]);
    e.rows.erase(path);
  };
  for (strata::range_row const& row : tree.rows()) compare_row(row.path, shown_by(row));
  while (!e.rows.empty()) compare_row(std::string(e.rows.begin()->first), {});
  for (strata::kernel_record const& k : p.kernels) {
    std::string const& name = p.kernel_names[k.name - 1].mangled;
    bool const captured = name.compare(0, 3, "in ") == 0;
    std::uint32_t const by = captured ? k.captured_by : k.node;
    if (by == strata::no_node || name == "nobody's") continue;
    std::string const& path = tree.row_of(by).path;
    if (name != kernel_of(captured ? "in " : "at ", path) &&
        e.unsure_kernels.count({name, path}) == 0)
      differ("a kernel '" + name + "' is of '" + path + "'");
  }
  if (fake_misuse_count() != misuses_) differ(std::string("misuse: ") + fake_last_misuse());
}

std::string program::run() {
  fake::unscript();
  deliver_otherwise();
  fake_set_runtime_api(static_cast<int>(below(2)));
  unsigned const usual = 10 + below(150);
  if (operations == 0) operations = usual;
  between_meetings = 1 + below(8);
  for (unsigned i = 0; i < how.threads; ++i)
    actors_.push_back(std::make_unique<actor>(*this, i, seed_));
  if (below(2) == 0) start();
  std::vector<std::thread> others;
  for (unsigned i = 1; i < how.threads; ++i) others.emplace_back([this, i] { actors_[i]->run(); });
  actors_[0]->run();
  for (std::thread& each : others) each.join();
  if (in.listening) stop(*actors_[0]);
  step_.reset();
  fake_lose_timestamps(0);
  return differences_;
}

void run_seeds(std::uint32_t usual, shape how) {
  std::uint32_t first = 1;
  std::uint32_t last = usual / (test::sanitized ? 2 : 1);
  if (std::getenv("STRATA_TEST_FULL") != nullptr) last = 100 * usual;
  if (char const* const chosen = std::getenv("STRATA_TEST_SEEDS"))
    REQUIRE(std::sscanf(chosen, "%u-%u", &first, &last) == 2);
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    std::string const found = program(seed, how).run();
    CHECK(found == "");
    if (found.empty()) continue;
    for (how.operations = 1; how.operations < 200; ++how.operations) {
      if (program(seed, how).run().empty()) continue;
      how.print = true;
      FAIL("after " << how.operations << " operations: " << program(seed, how).run());
    }
    FAIL("not again in its beginnings");
  }
}

}  // namespace

TEST_CASE("random programs of one thread") { run_seeds(80, {}); }

TEST_CASE("random programs of three threads") {
  shape how;
  how.threads = 3;
  run_seeds(40, how);
}

TEST_CASE("random programs whose calls are under way while sessions and windows come and go") {
  shape how;
  how.changes_within_calls = true;
  run_seeds(30, how);
}

// From here on the subscription is kept, since there are graphs.
TEST_CASE("random programs with graphs") {
  shape how;
  how.graphs = true;
  run_seeds(100, how);
}

TEST_CASE("random programs of three threads with graphs") {
  shape how;
  how.graphs = true;
  how.threads = 3;
  run_seeds(40, how);
}

}  // namespace random_test
