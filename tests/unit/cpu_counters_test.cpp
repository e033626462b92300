// The CPU's counters against a kernel that does what the test says.
#include <strata/base/text_writer.hpp>
#include <strata/collect/cpu/cpu_counters.hpp>
#include <strata/profile.hpp>
#include <strata/strata.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/table.hpp>
#include "report/report_input.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profile_checks.hpp"
#include "recording.hpp"

#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter_tables.hpp"

namespace cpu_counters_test {

using namespace strata;
using detail::cpu_counter_collector;
using detail::perf_attributes;

namespace {

using event_id = std::pair<std::uint32_t, std::uint64_t>;

struct opened_event {
  perf_attributes what;
  int thread;
  int leader;
  bool open = true;
};

/// A kernel by script: what it refuses, what it has counted.
struct scripted_kernel {
  std::map<event_id, int> errors;
  std::uint64_t unknown_flags = 0;  // bits that it answers with EINVAL
  std::size_t max_descriptors = 1000;
  std::size_t max_in_group = 1000;  // one more gets EINVAL
  int paranoid = 2;
  vec<int> threads;
  int ended_thread = -1;
  int enable_error = 0;
  int failing_reads = 0;
  int read_error = EIO;
  bool short_reads = false;
  bool closed_by_program = false;

  std::vector<opened_event> events;  // the descriptor is 100 + position
  std::map<event_id, std::uint64_t> values;
  std::map<event_id, std::pair<std::uint64_t, std::uint64_t>> times;  // of leaders
  std::size_t reads = 0;

  std::size_t open_now() const {
    std::size_t count = 0;
    for (opened_event const& each : events) count += each.open;
    return count;
  }
  std::size_t group_size(int leader) const {
    std::size_t count = 1;
    for (opened_event const& each : events) count += each.leader == leader;
    return count;
  }
};

scripted_kernel kernel;

event_id id_of(perf_attributes const& what) { return {what.type, what.config}; }

int fake_open(perf_attributes const& what, int thread, int leader) noexcept {
  if (thread == kernel.ended_thread) return -ESRCH;
  auto const error = kernel.errors.find(id_of(what));
  if (error != kernel.errors.end()) return -error->second;
  if ((what.flags & kernel.unknown_flags) != 0) return -EINVAL;
  if (kernel.open_now() >= kernel.max_descriptors) return -EMFILE;
  if (leader >= 0 && kernel.group_size(leader) >= kernel.max_in_group) return -EINVAL;
  kernel.events.push_back({what, thread, leader});
  return static_cast<int>(kernel.events.size()) + 99;
}
int fake_enable(int) noexcept { return -kernel.enable_error; }
long fake_read(int leader, void* to, std::size_t size) noexcept {
  ++kernel.reads;
  if (kernel.failing_reads > 0) {
    --kernel.failing_reads;
    return -kernel.read_error;
  }
  auto const& first = kernel.events[static_cast<std::size_t>(leader - 100)];
  auto const time = kernel.times[id_of(first.what)];
  std::vector<std::uint64_t> words{kernel.group_size(leader), time.first, time.second,
                                   kernel.values[id_of(first.what)]};
  for (opened_event const& each : kernel.events) {
    if (each.leader == leader) words.push_back(kernel.values[id_of(each.what)]);
  }
  std::size_t const bytes = words.size() * sizeof words[0];
  if (size < bytes) return -ENOSPC;
  std::memcpy(to, words.data(), bytes);
  return static_cast<long>(kernel.short_reads ? bytes - 8 : bytes);
}
void fake_close(int descriptor) noexcept {
  kernel.events[static_cast<std::size_t>(descriptor - 100)].open = false;
}
std::uint64_t fake_number(int descriptor) noexcept {
  return kernel.closed_by_program ? 0 : static_cast<std::uint64_t>(descriptor);
}
int fake_paranoid() noexcept { return kernel.paranoid; }
vec<int> fake_threads() { return kernel.threads; }

constexpr detail::perf_system fake{&fake_open,   &fake_enable,   &fake_read,   &fake_close,
                                   &fake_number, &fake_paranoid, &fake_threads};

constexpr event_id cycles{0, 0}, instructions{0, 1}, references{0, 2}, misses{0, 3}, branches{0, 4},
    branch_misses{0, 5}, clock_time{1, 1}, faults{1, 2}, switches{1, 3}, loads{3, 0},
    load_misses{3, 0x10000};

struct fixture {
  fixture() { kernel = {}; }
  strata::vec<status> problems;

  std::string told() const {
    std::string text;
    for (status const& each : problems) text += each.message() + '\n';
    return text;
  }
  bool says(std::string const& part) const { return told().find(part) != std::string::npos; }
};

/// Lets time pass and events happen; the hardware has counters for a share of the time.
void pass(std::uint64_t ns, std::initializer_list<std::pair<event_id, std::uint64_t>> what,
          double share = 1.0) {
  for (opened_event const& each : kernel.events) {
    if (each.leader != -1 || !each.open) continue;
    auto& time = kernel.times[id_of(each.what)];
    bool const hardware = each.what.type != 1;
    time.first += ns;
    time.second +=
        hardware ? static_cast<std::uint64_t>(share * static_cast<double>(ns) + 0.5) : ns;
  }
  for (auto const& each : what) kernel.values[each.first] += each.second;
}

/// What a program with ranges leads to.
struct outcome {
  profile data;
  strata::vec<range_row> rows;
  counter_table table;

  double value(std::string const& path, std::string const& key,
               counter_scope scope = counter_scope::self) const {
    return cell(path, key, scope).value;
  }
  std::string note(std::string const& path, std::string const& key,
                   counter_scope scope = counter_scope::self) const {
    return table.note(cell(path, key, scope));
  }
  counter_cell const& cell(std::string const& path, std::string const& key,
                           counter_scope scope) const {
    std::size_t const metric = table.find(key);
    REQUIRE_MESSAGE(metric != counter_table::none, key);
    return table.at(test::place_of(rows, path), metric, scope);
  }
};

outcome count(std::string const& request, strata::vec<status>& problems,
              std::function<void()> const& program) {
  outcome made;
  {
    recording_test::recording all;
    REQUIRE(all.started());
    cpu_counter_collector counters(fake);
    status const opened = counters.open(request, problems);
    REQUIRE_MESSAGE(opened.ok(), opened.message());
    CHECK(counters.begin().ok());
    program();
    counters.end();
    counters.close();
    made.data = all.profile();
    counters.copy_to(made.data, problems);
  }
  CHECK(kernel.open_now() == 0);
  call_tree const tree(made.data);
  made.rows = tree.rows();
  made.table = make_counter_table(made.data, tree, counter_set::cpu);
  return made;
}

}  // namespace

#if defined(PERF_ATTR_SIZE_VER0)
TEST_CASE("the attributes are the kernel's") {
  static_assert(sizeof(perf_attributes) == PERF_ATTR_SIZE_VER0, "");
  static_assert(offsetof(perf_attributes, type) == offsetof(perf_event_attr, type), "");
  static_assert(offsetof(perf_attributes, size) == offsetof(perf_event_attr, size), "");
  static_assert(offsetof(perf_attributes, config) == offsetof(perf_event_attr, config), "");
  static_assert(offsetof(perf_attributes, read_format) == offsetof(perf_event_attr, read_format),
                "");
  static_assert(offsetof(perf_attributes, config1) == offsetof(perf_event_attr, config1), "");
  static_assert(perf_attributes::total_time_enabled == PERF_FORMAT_TOTAL_TIME_ENABLED, "");
  static_assert(perf_attributes::total_time_running == PERF_FORMAT_TOTAL_TIME_RUNNING, "");
  static_assert(perf_attributes::group == PERF_FORMAT_GROUP, "");
  perf_event_attr theirs;
  auto const flags_of = [&] {
    perf_attributes ours;
    std::memcpy(static_cast<void*>(&ours), &theirs, sizeof ours);
    std::memset(&theirs, 0, sizeof theirs);
    return ours.flags;
  };
  std::memset(&theirs, 0, sizeof theirs);
  theirs.disabled = 1;
  CHECK(flags_of() == perf_attributes::disabled);
  theirs.inherit = 1;
  CHECK(flags_of() == perf_attributes::inherit);
  theirs.exclude_kernel = 1;
  CHECK(flags_of() == perf_attributes::exclude_kernel);
  theirs.exclude_hv = 1;
  CHECK(flags_of() == perf_attributes::exclude_hypervisor);
#if defined(PERF_ATTR_SIZE_VER7)  // headers that have inherit_thread
  theirs.inherit_thread = 1;
  CHECK(flags_of() == perf_attributes::inherit_thread);
#endif
  std::map<std::string, event_id> const expected{
      {"perf__cycles.sum", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES}},
      {"perf__instructions.sum", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}},
      {"perf__branches.sum", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
      {"perf__branch_misses.sum", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
      {"perf__l1d_loads.sum",
       {PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                                PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16}},
      {"perf__l1d_load_misses.sum",
       {PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                                PERF_COUNT_HW_CACHE_RESULT_MISS << 16}},
      {"perf__cache_references.sum", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES}},
      {"perf__cache_misses.sum", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}},
      {"perf__task_clock.sum", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}},
      {"perf__page_faults.sum", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}},
      {"perf__context_switches.sum", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}}};
  std::size_t known = 0;
  for (detail::perf_event const& each : detail::metric_catalogue::events) {
    auto const found = expected.find(std::string(each.counter));
    REQUIRE_MESSAGE(found != expected.end(), each.counter);
    CHECK(found->second == event_id(each.type, each.config));
    ++known;
  }
  CHECK(known == expected.size());
}
#endif

TEST_CASE_FIXTURE(fixture, "three groups, in user space, and the threads that are made later") {
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu", problems).ok());
  CHECK(told() == "");
  REQUIRE(kernel.events.size() == 11);
  std::vector<int> leaders;
  for (opened_event const& each : kernel.events) {
    leaders.push_back(each.leader);
    bool const in_kernel = id_of(each.what) == switches;
    CHECK(((each.what.flags & perf_attributes::exclude_kernel) == 0) == in_kernel);
    CHECK(((each.what.flags & perf_attributes::disabled) != 0) == (each.leader == -1));
    CHECK((each.what.flags & perf_attributes::inherit) != 0);
    CHECK((each.what.flags & perf_attributes::inherit_thread) != 0);
    CHECK(each.what.read_format == 11);
    CHECK(each.what.size == 64);
    CHECK(each.what.sample_period == 0);
  }
  CHECK(leaders == std::vector<int>{-1, 100, 100, 100, -1, 104, 104, 104, -1, 108, 108});
  counters.close();
  CHECK(kernel.open_now() == 0);
}

TEST_CASE_FIXTURE(fixture, "only what was asked for is opened, and its inputs") {
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu_ipc+cpu_page_faults+cpu_ipc", problems).ok());
  REQUIRE(kernel.events.size() == 3);
  CHECK(id_of(kernel.events[0].what) == instructions);
  CHECK(id_of(kernel.events[1].what) == cycles);
  CHECK(id_of(kernel.events[2].what) == faults);
}

TEST_CASE_FIXTURE(fixture, "counts go to the innermost range, sums to those around it") {
  outcome const made = count("cpu", problems, [] {
    pass(10, {{instructions, 5}});
    STRATA_RANGE("outer");
    pass(100, {{instructions, 1000}, {cycles, 500}, {faults, 3}});
    for (int i = 0; i < 2; ++i) {
      STRATA_RANGE("inner");
      pass(50,
           {{instructions, 300}, {cycles, 100}, {loads, 80}, {load_misses, 20}, {clock_time, 50}});
      pass(50, {{references, 10}, {misses, 5}, {branches, 40}, {branch_misses, 1}, {switches, 1}});
    }
    pass(7, {{instructions, 7}});
  });
  CHECK(told() == "");
  CHECK(made.value("", "cpu_instructions") == 5);
  CHECK(made.value("", "cpu_instructions", counter_scope::total) == 1612);
  CHECK(made.value("outer", "cpu_instructions") == 1007);
  CHECK(made.value("outer", "cpu_instructions", counter_scope::total) == 1607);
  CHECK(made.value("outer/inner", "cpu_instructions") == 600);
  CHECK(made.value("outer/inner", "cpu_cycles") == 200);
  CHECK(made.value("outer", "cpu_cycles") == 500);
  CHECK(made.value("outer", "cpu_ipc", counter_scope::total) == doctest::Approx(1607.0 / 700));
  CHECK(made.value("outer/inner", "cpu_ipc") == 3);
  CHECK(made.value("outer/inner", "cpu_l1d_loads") == 160);
  CHECK(made.value("outer/inner", "cpu_l1d_load_misses") == 40);
  CHECK(made.value("outer/inner", "cpu_l1d_miss_rate") == 25);
  CHECK(made.value("outer/inner", "cpu_llc_references") == 20);
  CHECK(made.value("outer/inner", "cpu_llc_misses") == 10);
  CHECK(made.value("outer/inner", "cpu_llc_miss_rate") == 50);
  CHECK(made.value("outer/inner", "cpu_branches") == 80);
  CHECK(made.value("outer/inner", "cpu_branch_misses") == 2);
  CHECK(made.value("outer/inner", "cpu_branch_miss_rate") == 2.5);
  CHECK(made.value("outer/inner", "cpu_task_clock_ns") == 100);
  CHECK(made.value("outer/inner", "cpu_context_switches") == 2);
  CHECK(made.value("outer", "cpu_page_faults") == 3);
  CHECK(made.note("outer", "cpu_instructions") == "");
  CHECK(std::isnan(made.value("outer", "cpu_llc_miss_rate")));
  CHECK(made.note("outer", "cpu_llc_miss_rate") == "a divisor is 0");
  CHECK(made.data.cost.counter_reads == 8);  // begin, two for each range, end
  CHECK(made.data.cost.counter_read_ns > 0);
}

TEST_CASE_FIXTURE(fixture,
                  "what had counters for a part of the time is scaled by sums, and says so") {
  outcome const made = count("cpu", problems, [] {
    STRATA_RANGE("a");
    pass(100, {{instructions, 1000}, {cycles, 1000}, {faults, 4}}, 1.0);
    {
      STRATA_RANGE("b");
      pass(300, {{instructions, 200}, {cycles, 100}, {faults, 4}}, 0.25);
    }
    {
      STRATA_RANGE("never");
      pass(100, {{faults, 1}}, 0.0);
    }
  });
  CHECK(made.value("a", "cpu_instructions") == 1000);
  CHECK(made.note("a", "cpu_instructions") == "");
  CHECK(made.value("a/b", "cpu_instructions") == 800);
  CHECK(made.note("a/b", "cpu_instructions") == "scaled: the hardware counted 25.0 % of the time");
  CHECK(made.value("a/b", "cpu_ipc") == 2);
  CHECK(made.note("a/b", "cpu_ipc") == "scaled: the hardware counted 25.0 % of the time");
  // 1200 in 175 of 500 ns
  CHECK(made.value("a", "cpu_instructions", counter_scope::total) ==
        doctest::Approx(1200 * 500.0 / 175));
  CHECK(made.note("a", "cpu_instructions", counter_scope::total) ==
        "scaled: the hardware counted 35.0 % of the time");
  CHECK(made.value("a", "cpu_page_faults", counter_scope::total) == 9);
  CHECK(made.note("a", "cpu_page_faults", counter_scope::total) == "");
  CHECK(std::isnan(made.value("a/never", "cpu_cycles")));
  CHECK(made.note("a/never", "cpu_cycles").find("NMI watchdog") != std::string::npos);
  CHECK(made.value("a/never", "cpu_page_faults") == 1);
}

TEST_CASE_FIXTURE(fixture, "what never had a counter is told") {
  outcome const made = count("cpu_ipc+cpu_page_faults", problems, [] {
    STRATA_RANGE("a");
    pass(100, {{faults, 1}}, 0.0);
  });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code() == errc::busy);
  CHECK(says("no counter free for cpu_instructions, cpu_cycles: ask"));
  CHECK(made.value("a", "cpu_page_faults") == 1);
}

TEST_CASE_FIXTURE(fixture, "a thread that is about to end delays a reading, and spoils none") {
  kernel.read_error = ECHILD;
  outcome const made = count("cpu_instructions", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{instructions, 1}});
    kernel.failing_reads = 5;
  });
  CHECK(kernel.failing_reads == 0);
  CHECK(made.value("a", "cpu_instructions") == 1);
  CHECK(problems.empty());
}

TEST_CASE_FIXTURE(fixture, "a thread that never ends to end does not hang the program") {
  kernel.read_error = ECHILD;
  outcome const made = count("cpu_instructions", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{instructions, 1}});
    kernel.failing_reads = 1'000'000;
  });
  kernel.failing_reads = 0;
  CHECK(made.note("a", "cpu_instructions") != "");
  CHECK(says("readings of the CPU's counters failed"));
}

TEST_CASE_FIXTURE(fixture, "a reading that fails gives nothing to the wrong range") {
  outcome const made = count("cpu_instructions", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{instructions, 1}});
    {
      STRATA_RANGE("b");
      pass(10, {{instructions, 10}});
      kernel.failing_reads = 1;
    }
    pass(10, {{instructions, 100}});
    {
      STRATA_RANGE("c");
      pass(10, {{instructions, 1000}});
      kernel.short_reads = true;
    }
    kernel.short_reads = false;
    pass(10, {{instructions, 10000}});
  });
  CHECK(made.value("a", "cpu_instructions") == 1);
  CHECK(made.note("a/b", "cpu_instructions") != "");
  CHECK(made.note("a/c", "cpu_instructions") != "");
  CHECK(made.value("", "cpu_instructions", counter_scope::total) == 1);
  CHECK(says("counters: 2 of 8 readings of the CPU's counters failed"));
}

TEST_CASE_FIXTURE(fixture, "descriptors that the program closed are neither read nor closed") {
  recording_test::recording all;
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu", problems).ok());
  CHECK(counters.begin().ok());
  pass(1000, {{faults, 3}});
  { STRATA_RANGE("counted"); }
  std::size_t const reads = kernel.reads;
  std::size_t const open = kernel.open_now();
  kernel.closed_by_program = true;
  { STRATA_RANGE("not counted"); }
  kernel.closed_by_program = false;  // once is enough
  { STRATA_RANGE("not counted"); }
  kernel.closed_by_program = true;
  counters.end();
  counters.close();
  CHECK(kernel.reads == reads);
  CHECK(kernel.open_now() == open);
  profile data = all.profile();
  counters.copy_to(data, problems);
  CHECK(says("the program closed the descriptors of the CPU's counters, as closefrom() and"));
  CHECK_FALSE(says("readings of the CPU's counters failed"));
}

TEST_CASE_FIXTURE(fixture, "a forbidden call names the setting and the fix") {
  for (event_id const& each : {cycles, instructions, references, misses, branches, branch_misses,
                               clock_time, faults, switches, loads, load_misses})
    kernel.errors[each] = EACCES;
  cpu_counter_collector counters(fake);
  SUBCASE("the kernel's setting") {
    kernel.paranoid = 4;
    status const opened = counters.open("cpu", problems);
    CHECK(opened.code() == errc::not_permitted);
    CHECK(opened.message() ==
          "counters: the CPU's cannot be counted: perf_event_open is forbidden (EACCES): "
          "/proc/sys/kernel/perf_event_paranoid is 4; set it to 2 (sysctl "
          "kernel.perf_event_paranoid=2), or give the program CAP_PERFMON");
  }
  SUBCASE("a container") {
    for (auto& each : kernel.errors) each.second = EPERM;
    kernel.paranoid = 2;
    status const opened = counters.open("cpu", problems);
    CHECK(opened.code() == errc::not_permitted);
    CHECK(opened.message().find("(EPERM) although /proc/sys/kernel/perf_event_paranoid is 2, which "
                                "allows it: in a container its seccomp profile") !=
          std::string::npos);
    CHECK(opened.message().find("--cap-add PERFMON") != std::string::npos);
  }
  SUBCASE("a setting that cannot be read") {
    kernel.paranoid = detail::perf_system::no_paranoid;
    CHECK(counters.open("cpu", problems).message().find("cannot be read") != std::string::npos);
  }
  CHECK(counters.begin().ok());
  CHECK(kernel.reads == 0);
  CHECK(kernel.events.empty());
}

TEST_CASE_FIXTURE(fixture, "context switches happen in the kernel and need more") {
  kernel.errors[switches] = EACCES;
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu", problems).ok());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code() == errc::not_permitted);
  CHECK(says("counters: cpu_context_switches cannot be counted"));
  CHECK(says("perf_event_paranoid is 2; set it to 1"));
}

TEST_CASE_FIXTURE(fixture, "a machine without a PMU counts what the kernel counts") {
  for (event_id const& each :
       {cycles, instructions, references, misses, branches, branch_misses, loads, load_misses})
    kernel.errors[each] = ENOENT;
  outcome const made = count("cpu", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{faults, 2}, {clock_time, 10}});
  });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code() == errc::not_supported);
  CHECK(
      says("cpu_cycles, cpu_instructions, cpu_branches, cpu_branch_misses, cpu_l1d_loads, "
           "cpu_l1d_load_misses, cpu_llc_references, cpu_llc_misses cannot be counted: the "
           "kernel has no hardware counters here (ENOENT)"));
  CHECK(made.value("a", "cpu_page_faults") == 2);
  CHECK(made.value("a", "cpu_task_clock_ns") == 10);
  CHECK(std::isnan(made.value("a", "cpu_ipc")));
  CHECK(made.note("a", "cpu_ipc").find("without a virtual PMU") != std::string::npos);
}

TEST_CASE_FIXTURE(fixture, "an event that this CPU lacks leaves the others") {
  kernel.errors[references] = kernel.errors[misses] = ENOENT;
  outcome const made = count("cpu", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{loads, 8}, {load_misses, 2}, {instructions, 5}});
  });
  REQUIRE(problems.size() == 1);
  CHECK(
      says("cpu_llc_references, cpu_llc_misses cannot be counted: this CPU or its kernel does "
           "not count it (ENOENT)"));
  CHECK(made.value("a", "cpu_l1d_miss_rate") == 25);
  CHECK(made.value("a", "cpu_instructions") == 5);
}

TEST_CASE_FIXTURE(fixture,
                  "an event that the kernel refuses leaves the others, and their threads") {
  kernel.errors[branches] = kernel.errors[loads] = EINVAL;
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu", problems).ok());
  CHECK(says("cpu_branches, cpu_l1d_loads cannot be counted: the kernel refused it (EINVAL)"));
  CHECK(kernel.events.size() == 9);
  for (opened_event const& each : kernel.events)
    CHECK((each.what.flags & perf_attributes::inherit_thread) != 0);
}

TEST_CASE_FIXTURE(fixture, "no descriptor left: what is open counts") {
  kernel.max_descriptors = 3;
  outcome const made = count("cpu", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{cycles, 2}, {instructions, 3}, {branches, 4}});
  });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code() == errc::limit);
  CHECK(says("ulimit -n"));
  CHECK(made.value("a", "cpu_cycles") == 2);
  CHECK(made.value("a", "cpu_instructions") == 3);
  CHECK(made.value("a", "cpu_branches") == 4);
  CHECK(std::isnan(made.value("a", "cpu_branch_miss_rate")));
}

TEST_CASE_FIXTURE(fixture, "older kernels: child processes too, or one thread") {
  cpu_counter_collector counters(fake);
  kernel.unknown_flags = perf_attributes::inherit_thread;
  SUBCASE("they cannot tell threads from processes") {
    REQUIRE(counters.open("cpu", problems).ok());
    CHECK(told() == "");
    for (opened_event const& each : kernel.events) {
      CHECK((each.what.flags & perf_attributes::inherit_thread) == 0);
      CHECK((each.what.flags & perf_attributes::inherit) != 0);
    }
  }
  SUBCASE("they cannot read groups of several threads") {
    kernel.unknown_flags |= perf_attributes::inherit;
    REQUIRE(counters.open("cpu", problems).ok());
    for (opened_event const& each : kernel.events)
      CHECK((each.what.flags & perf_attributes::inherit) == 0);
    CHECK(says("in one thread only"));
  }
  CHECK(kernel.events.size() == 11);
}

TEST_CASE_FIXTURE(fixture, "events that do not fit together make another group") {
  kernel.max_in_group = 2;
  outcome const made = count("cpu", problems, [] {
    STRATA_RANGE("a");
    pass(100, {{cycles, 2}, {instructions, 3}, {branches, 4}, {branch_misses, 1}});
    kernel.times[branches].second -= 50;
  });
  CHECK(told() == "");
  CHECK(kernel.group_size(100) == 2);
  CHECK(made.value("a", "cpu_instructions") == 3);
  CHECK(made.value("a", "cpu_branches") == 8);  // by the times of its own group
  CHECK(made.note("a", "cpu_branches") == "scaled: the hardware counted 50.0 % of the time");
}

TEST_CASE_FIXTURE(fixture, "a group that cannot be switched on") {
  kernel.enable_error = EBUSY;
  cpu_counter_collector counters(fake);
  status const opened = counters.open("cpu", problems);
  CHECK(opened.code() == errc::busy);
  CHECK(kernel.open_now() == 0);
}

TEST_CASE_FIXTURE(fixture, "unknown names are told, with the nearest") {
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu_instruction+cpu_cycles", problems).ok());
  CHECK(says("unknown metric 'cpu_instruction': did you mean cpu_instructions"));
  problems.clear();
  CHECK(counters.open("cpu_nothing_of_the_kind", problems).code() == errc::bad_argument);
  CHECK(kernel.open_now() == 0);
}

TEST_CASE_FIXTURE(fixture, "threads that are older than the counting are counted too") {
  kernel.threads = {7, 8, 9};
  kernel.ended_thread = 9;
  outcome const made = count("cpu_instructions+cpu_page_faults", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{instructions, 5}, {faults, 2}});
  });
  CHECK(told() == "");
  REQUIRE(kernel.events.size() == 6);
  CHECK(kernel.events[0].thread == 0);
  CHECK(kernel.events[2].thread == 7);
  CHECK(kernel.events[5].thread == 8);
  CHECK(made.value("a", "cpu_instructions") == 5);
  CHECK(made.value("a", "cpu_page_faults") == 2);
  // Those of the others count where they are read; the script has the same count for each.
  CHECK(made.value("", "cpu_instructions") == 10);
  CHECK(made.value("", "cpu_instructions", counter_scope::total) == 15);
  CHECK(made.value("", "cpu_page_faults", counter_scope::total) == 6);
}

TEST_CASE_FIXTURE(fixture, "older threads are read at the ends of steps, not of ranges") {
  for (int thread = 0; thread < 20; ++thread) kernel.threads.push_back(50 + thread);
  recording_test::recording all;
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu", problems).ok());
  CHECK(counters.begin().ok());
  std::size_t before = kernel.reads;
  {
    STRATA_RANGE("a");
    pass(10, {});
  }
  CHECK(kernel.reads - before == 2 * 3);  // three groups of the thread itself
  STRATA_RANGE("around");
  before = kernel.reads;
  pass(10, {{instructions, 5}});
  counters.end_step();
  CHECK(kernel.reads - before == 20 * 3);
  counters.close();
  profile data = all.profile();
  counters.copy_to(data, problems);
  CHECK(told() == "");
  call_tree const tree(data);
  counter_table const table = make_counter_table(data, tree, counter_set::cpu);
  REQUIRE(tree.rows().size() == 3);
  std::size_t const metric = table.find("cpu_instructions");
  auto const own = [&](char const* path) {
    return table.at(test::place_of(tree.rows(), path), metric, counter_scope::self).value;
  };
  CHECK(own("a") == 0);
  CHECK(own("around") == 5 * 21);
}

TEST_CASE_FIXTURE(fixture, "ranges have several observers, and one that ends leaves the others") {
  struct seen {
    std::vector<std::uint32_t> nodes;
    static void changed(void* self, std::uint32_t node) noexcept {
      static_cast<seen*>(self)->nodes.push_back(node);
    }
  };
  recording_test::recording all;
  detail::thread_recorder* const own = detail::recorder::instance().of_this_thread();
  seen first;
  seen second;
  REQUIRE(own->observe(&seen::changed, &first));
  REQUIRE(own->observe(&seen::changed, &second));
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu_instructions", problems).ok());
  CHECK(counters.begin().ok());
  { STRATA_RANGE("a"); }
  std::thread([&] { own->stop_observing(&first); }).join();
  { STRATA_RANGE("b"); }
  CHECK(first.nodes.size() == 2);
  CHECK(second.nodes.size() == 4);
  CHECK(kernel.reads == 5);
  own->stop_observing(&second);
  counters.close();
  { STRATA_RANGE("c"); }
  CHECK(second.nodes.size() == 4);
  CHECK(own->observe(&seen::changed, &first));
  for (int i = 0; i < 3; ++i) CHECK(own->observe(&seen::changed, &first));
  CHECK_FALSE(own->observe(&seen::changed, &first));
  own->stop_observing(&first);
}

TEST_CASE_FIXTURE(fixture, "older threads beyond the limit are told") {
  kernel.threads = {7, 8};
  kernel.max_descriptors = 3;
  outcome const made = count("cpu_cycles+cpu_instructions", problems, [] {
    STRATA_RANGE("a");
    pass(10, {{instructions, 5}});
  });
  CHECK(says("counters: 2 threads of the program could not be counted"));
  CHECK(made.value("a", "cpu_instructions") == 5);
}

TEST_CASE_FIXTURE(fixture, "steps that go to another thread are counted there") {
  recording_test::recording all;
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu_instructions", problems).ok());
  CHECK(counters.begin().ok());
  {
    STRATA_RANGE("first");
    pass(10, {{instructions, 1}});
  }
  counters.end();
  std::thread([&] {
    STRATA_RANGE("second");
    CHECK(counters.begin().ok());
    pass(10, {{instructions, 10}});
  }).join();
  std::size_t const before = kernel.reads;
  counters.end();  // of a thread that is no more
  CHECK(kernel.reads == before + 1);
  counters.close();
  CHECK(kernel.open_now() == 0);
  profile data = all.profile();
  counters.copy_to(data, problems);
  call_tree const tree(data);
  counter_table const table = make_counter_table(data, tree, counter_set::cpu);
  CHECK(table.at(0, 0, counter_scope::total).value == 11);
  REQUIRE(tree.rows().size() == 3);
  CHECK(table.at(1, 0, counter_scope::self).value == 1);
  CHECK(table.at(2, 0, counter_scope::self).value == 10);
}

TEST_CASE_FIXTURE(fixture, "a session that another thread ends hears nothing more") {
  recording_test::recording all;
  std::size_t reads = 0;
  {
    cpu_counter_collector counters(fake);
    REQUIRE(counters.open("cpu", problems).ok());
    CHECK(counters.begin().ok());
    std::thread([&] { counters.close(); }).join();
    reads = kernel.reads;
    STRATA_RANGE("after");
  }
  { STRATA_RANGE("after the session"); }
  CHECK(kernel.reads == reads);
  CHECK(kernel.open_now() == 0);
}

TEST_CASE_FIXTURE(fixture, "a forked child does not touch the counters") {
  recording_test::recording all;
  cpu_counter_collector counters(fake);
  REQUIRE(counters.open("cpu", problems).ok());
  CHECK(counters.begin().ok());
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::size_t const before = kernel.reads;
    { STRATA_RANGE("in the child"); }
    _exit(kernel.reads == before ? 0 : 1);
  }
  int code = 0;
  REQUIRE(waitpid(child, &code, 0) == child);
  CHECK(code == 0);
  std::size_t const before = kernel.reads;
  { STRATA_RANGE("in the parent"); }
  CHECK(kernel.reads > before);
}

TEST_CASE_FIXTURE(fixture, "reports: table, CSV and JSON have the CPU's counters") {
  outcome made = count("cpu_instructions+cpu_ipc+cpu_llc_misses", problems, [] {
    STRATA_RANGE("work");
    pass(100, {{instructions, 1234}, {cycles, 617}}, 0.5);
  });
  call_tree const tree(made.data);
  call_tree const folded(made.data, folding::by_name);
  strata::vec<kernel_row> const kernels;
  memory_table const memory;
  report_input input(made.data, tree, folded, kernels, memory);
  input.counters.push_back({made.table, make_counter_table(made.data, folded, counter_set::cpu)});
  auto const text_of = [&](auto write) {
    std::string text;
    detail::text_writer out(text);
    write(out);
    out.flush();
    return text;
  };
  std::string const table = text_of([&](detail::text_writer& out) {
    write_table(out, input, {120, false, 60});
  });
  CHECK(table.find("IPC") != std::string::npos);
  CHECK(table.find("2.00") != std::string::npos);
  CHECK(table.find("2.47 K") != std::string::npos);
  CHECK(table.find("took turns on the hardware") != std::string::npos);
  CHECK(table.find("readings of CPU counters") != std::string::npos);
  std::string const csv =
      text_of([&](detail::text_writer& out) { write_counters_csv(out, input, made.table); });
  CHECK(csv.find("work,cpu_instructions,2468,instructions,self,counted,1,scaled: the hardware "
                 "counted 50.0 % of the time") != std::string::npos);
  CHECK(csv.find("work,cpu_ipc,2,instructions/cycle,total,derived,1,") != std::string::npos);
  std::string const json = text_of([&](detail::text_writer& out) { write_json(out, input); });
  CHECK(json.find("\"cpu_counters\":{") != std::string::npos);
  CHECK(json.find("\"level\":\"cpu\"") != std::string::npos);
  CHECK(json.find("\"counter_reads\":4") != std::string::npos);
}

TEST_CASE("STRATA=counters=cpu needs no device") {
  strata::vec<std::string> wrong;
  options how = options::parse("host,counters=cpu", wrong);
  CHECK(how.cpu_counters == "cpu");
  CHECK(how.counters == "");
  CHECK_FALSE(how.trace);
  how = options::parse("host,counters=hbm+cpu_ipc+l1+cpu_cycles", wrong);
  CHECK(how.cpu_counters == "cpu_ipc+cpu_cycles");
  CHECK(how.counters == "hbm+l1");
  CHECK(how.trace);
  CHECK(wrong.empty());
}

}  // namespace cpu_counters_test
