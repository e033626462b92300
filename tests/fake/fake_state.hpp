// What the fake CUPTI remembers, and how its two halves (CUPTI's functions, the program's calls)
// meet.
#ifndef STRATA_TESTS_FAKE_FAKE_STATE_HPP
#define STRATA_TESTS_FAKE_FAKE_STATE_HPP

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <strata/collect/cuda/cupti.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake.hpp"
#include "record_sizes.hpp"

namespace fake {

namespace cupti = strata::detail::cupti;

struct pending_record {
  std::vector<std::uint8_t> bytes;
  bool held = false;
  bool unreadable = false;           // where it is asked for while its work runs
  std::size_t synchronizations = 0;  // when it was held
};

struct buffer {
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::size_t max_records = 0;
  std::size_t used = 0;
  std::size_t records = 0;
};

struct node {
  fake_node_t id = 0;
  fake_kernel kernel;
  int times = 1;           // in a launch
  bool is_body = false;    // of a conditional node
  fake_node_t origin = 0;  // that an executable's node was cloned from
};

struct graph {
  bool executable = false;
  std::vector<node> nodes;
};

struct green_context {
  std::uint32_t number, device;
  std::uint16_t multiprocessors;
};

// Everything that fake_reset puts back.
struct settings {
  std::uint32_t version = 130001;
  std::map<std::string, int> failing;
  std::map<std::string, std::size_t> calls;
  std::string other_client;
  bool has_other_client = false;
  bool runtime_api = true;
  std::uint32_t id_shift = 0;
  int next_call_result = 0;
  std::int64_t skew_ns = 0;
  bool has_next_times = false;
  std::uint64_t next_start_ns = 0, next_end_ns = 0;
  fake_order order = fake_order::launched;
  std::uint32_t seed = 1;
  fake_thread delivery = fake_thread::caller;
  std::size_t records_per_buffer = 0;
  std::size_t auto_delivery = 0;
  int hold = 0;
  bool lose_timestamps = false;
  std::size_t dropped = 0;
  std::size_t misuses = 0;
  std::string last_misuse;

  cupti::callback_function* callback = nullptr;
  void* user = nullptr;
  bool subscribed = false;
  std::uint64_t subscriptions = 0;  // each has a handle of its own
  std::size_t callbacks_made = 0;
  std::set<std::pair<int, std::uint32_t>> callbacks;
  std::set<std::uint32_t> kinds;
  std::map<int, std::vector<std::uint8_t>> attributes;
  cupti::buffer_request_function* request = nullptr;
  cupti::buffer_complete_function* complete = nullptr;

  std::deque<pending_record> pending;
  std::size_t pending_bytes = 0;
  std::vector<buffer> spare;  // requested, not yet written
  std::size_t outstanding = 0;
  std::vector<green_context> green_contexts;
  std::map<std::uint32_t, std::uint64_t> stream_end_ns;
  std::map<fake_graph_t, graph> graphs;
  std::map<std::uint32_t, fake_graph_t> captures;  // by stream
  std::map<std::uint32_t, std::uint32_t> contexts_of_captures;
};

struct state : settings {
  std::mutex mutex;
  std::mutex delivering;  // one delivery at a time, and never with `mutex` held
  std::set<std::string> names;
  std::uint64_t workers_begun = 0;  // deliveries on threads of the library's own
  std::uint64_t workers_ended = 0;
  bool worker_asked = false;  // one of them has not taken its records yet
  std::condition_variable worker_ended;
  std::uint32_t correlation = 0;
  std::uint64_t next_handle = 1;
  std::string misuse_text;  // keeps what fake_last_misuse returned
};

state& the_state();

// With the mutex held.
void misuse(state& s, char const* what);
char const* intern(state& s, char const* name);
std::uint64_t now_ns(state const& s);

// Without it.
void deliver(bool forced);
void join_workers();
void queue_record(void const* prefix, std::size_t size);
void tell_of_green_contexts();
std::uint32_t callback_id(cupti::domain where, char const* name);
void call_back(cupti::domain where, std::uint32_t id, void const* data);

inline void* handle_of(std::uint64_t id) {
  return id == 0 ? nullptr : reinterpret_cast<void*>(static_cast<std::uintptr_t>(id * 16 + 4096));
}
inline std::uint64_t id_of(void const* handle) {
  auto const value = reinterpret_cast<std::uintptr_t>(handle);
  return value < 4096 ? 0 : (value - 4096) / 16;
}
inline void* context_handle_of(std::uint32_t number) {
  return reinterpret_cast<void*>(std::uintptr_t{16} * (std::uintptr_t{number} + 11));
}
inline void* the_context() { return context_handle_of(1); }

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_FAKE_STATE_HPP
