// What formats=recording writes is a profile again, whatever becomes of its bytes.
#include <strata/session.hpp>
#include <strata/session/table_reports.hpp>

#include <doctest/doctest.h>
#include "recording/check.hpp"
#include "recording/recording.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../sanitizers.hpp"
#include "../work_folder.hpp"
#include "all_reports.hpp"
#include "page_sample.hpp"
#include "profile_checks.hpp"
#include "report_sample.hpp"

namespace recording_file_test {

using namespace strata;
using report_test::piece_part;
using report_test::recording_line;
using report_test::recording_of;
using report_test::recording_with;
using report_test::reports_of;
using test::row;

namespace {

/// A profile that has something of everything.
profile whole_sample() {
  profile p = page_test::gpt2_sample(2, 2).made;
  std::uint32_t const node = static_cast<std::uint32_t>(p.nodes.size() - 1);
  p.environment.rank = 3;
  profile_device& device = p.environment.devices[0];
  device.uuid = "9aa09ab6-c8dc-9cdb-20e2-35e8bce9f9d8";
  device.measured_at = "2026-11-22T20:45:06Z";
  device.warp_size = 32;
  device.threads_per_multiprocessor = 2048;
  device.blocks_per_multiprocessor = 32;
  device.registers_per_multiprocessor = 65'536;
  device.shared_bytes_per_multiprocessor = 233'472;
  device.reserved_shared_bytes_per_block = 1024;
  device.ceilings.push_back({"HBM read", true, 4.57e12, 4.81e12, 0.001, 1.98e9, 7, {}});
  device.ceilings.push_back({"L2 read", true, 9e12, 0.0, 0.1, 1.98e9, 7, "below HBM"});
  p.environment.started_at_unix_ns = 1793701230123456789;
  p.losses.spans_dropped = 7;
  p.losses.work_unfinished = 41;
  p.hang.found = true;
  p.hang.ranges.push_back({"train/all-reduce", 1, 12'300'000'000});
  p.hang.work.push_back({"train/all-reduce", 41, 12'200'000'000});
  p.problems.push_back("one \xff problem");
  p.threads.push_back({1, ~std::uint64_t{0}, "loader"});
  p.nodes[node].index = any_index;
  p.nodes[node].selected = false;
  p.early_steps.push_back({1, 2, 0, 0});
  p.summed_steps.add(123'456'789);
  p.summed_ranges.push_back({node, {}, 1e9, 2.0, -0.0});
  p.summed_ranges.back().durations.add(17);
  p.summed_ranges.back().durations.add(std::int64_t{1} << 40);
  p.spans.push_back({10, 20, 1, 0, no_step, 0, 1, span_kind::mark, {}});
  p.inherited.push_back({node, 0, 55});
  p.overheads.push_back({1, 2, 3, 0});
  p.contexts.push_back({7, 0, 40});
  p.has_migrations = true;
  p.step_traffic.push_back({3, 0, 1.5e9});
  p.energy.push_back({100'000'000, 5'000'000});
  p.samples.device = 1;  // which has no work
  p.samples.counters = 2;
  p.samples.about = "Sampled on GH100. ";
  detail::sample_writer samples;
  for (int i = 0; i < 50; ++i) samples.add(p.samples, {i * 1000, i * 1000 + 999, {i, 7}});
  p.migrations.push_back({1, 2, 4096, 0, migration_kind::to_device, {}});
  p.migrations.push_back({5, 5, 1, 0xffffffffu, migration_kind::last_former, {}});
  p.kernels[0].captured_by = node;
  p.kernels[0].registers = 255;
  p.kernels[0].adopted = p.copies[0].adopted = 1;
  p.launches[0].flags = driver_call_record::adopted;
  p.kernels[1].begin = p.kernels[1].end = lost_time;
  p.device = detail::sum_records(p);
  p.device.complete = true;
  p.device.by_node.devices.push_back({1, strata::vec<std::int64_t>(p.nodes.size(), 9)});
  counter_set& gpu = p.add_counters(counter_set::gpu);
  gpu.origins.resize(gpu.names.size());
  gpu.work.push_back({node, 1, 2, 0, ~std::uint64_t{0}, 5, 1e6});
  gpu.metrics.absent.push_back({"nvlink", "this chip has no links"});
  gpu.metrics.unknown.push_back({"l1_hit", {"l1_hit_rate"}});
  gpu.left_out.push_back({"smsp__sass_inst_executed.sum", "left out beside CUDA graphs"});
  counter_set& kernels = p.add_counters(counter_set::gpu_kernels);
  kernels.metrics = gpu.metrics;
  kernels.names = gpu.names;
  kernels.kernels.push_back(
      {p.kernels[2].node, p.kernels[2].name, 1, 1, strata::vec<double>(gpu.names.size(), 4e6)});
  counter_set& cpu = p.add_counters(counter_set::cpu);
  cpu.method = counting::while_running;
  cpu.about = "Counted in user code.";
  cpu.names = {"instructions"};
  cpu.values.push_back({node, 0, 1e9});
  return p;
}

/// Everything but the table; the files are written as the session writes them.
std::vector<std::string> files_of(profile& of, std::string const& folder) {
  strata::vec<std::string> problems;
  options const wanted =
      options::parse("formats=csv+json+trace+trace.json+html+recording,out=" + folder, problems);
  REQUIRE(problems.empty());
  REQUIRE(report_recording(of, wanted).ok());
  std::vector<std::string> names;
  for (auto const& file : test::fs::recursive_directory_iterator(folder))
    if (file.is_regular_file()) names.push_back(file.path().lexically_relative(folder).string());
  return names;
}

/// For its scope this program makes tables alone.
class without_analysis {
 public:
  without_analysis() { detail::installed_reports() = &detail::tables_alone; }
  ~without_analysis() { detail::installed_reports() = before_; }

 private:
  detail::report_side const* before_ = detail::installed_reports();
};

std::string problem_of(std::string_view bytes) {
  profile p;
  p.end = 42;
  status const read = read_recording(bytes, p);
  CHECK((read.ok() || p.end == 42));  // nothing is taken over from what is refused
  return read.message();
}

/// The parts that a session writes while it runs: so many, and in each a part of the records.
std::string pieces_of(profile const& whole, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    profile made;
    auto const share = [&](auto const& from, auto& to) {
      for (std::size_t k = from.size() * i / count; k < from.size() * (i + 1) / count; ++k)
        to.push_back(from[k]);
    };
    made.environment = whole.environment;
    made.traced = whole.traced;
    made.has_steps = whole.has_steps;
    made.end = whole.end;
    made.attributes = i == 0 ? whole.attributes : strata::vec<attribute_record>();
    made.names = i == 0 ? whole.names : strata::vec<std::string>();
    made.nodes = i == 0 ? whole.nodes : strata::vec<profile_node>();
    made.kernel_names = i == 0 ? whole.kernel_names : strata::vec<kernel_name>();
    share(whole.ranges, made.ranges);
    share(whole.steps, made.steps);
    share(whole.launches, made.launches);
    share(whole.kernels, made.kernels);
    share(whole.copies, made.copies);
    share(whole.memory, made.memory);
    share(whole.synchronizations, made.synchronizations);
    detail::profile_piece piece{made, i == 0};
    detail::text_writer out(bytes);
    detail::write_piece(out, piece);
  }
  return bytes;
}

constexpr char const* changed = "It is not whole, or was changed: copy it again as binary data.";
constexpr char const* no_profile = "Its content is not that of a profile: record it again.";

}  // namespace

TEST_CASE("reports of a recording are tables without the analysis") {
  test::work_folder here;
  profile of = report_test::gpu_sample().source;
  options wanted;
  wanted.out = here / "out";
  without_analysis const none;
  CHECK(report_recording(of, wanted).ok());
  CHECK(test::fs::exists(wanted.out + "/ranges.csv"));
  CHECK_FALSE(test::fs::exists(wanted.out + "/findings.json"));
}

TEST_CASE("a session in code without the analysis writes where it reports, and only there") {
  test::work_folder here;
  without_analysis const none;
  options wanted;
  wanted.trace = false;
  wanted.out = here / "out";
  session run(wanted);
  REQUIRE(run.start().ok());
  (void)run.profile();
  CHECK_FALSE(run.options().recording);
  CHECK_FALSE(test::fs::exists(wanted.out));
  CHECK(run.report().ok());
  CHECK(test::fs::exists(wanted.out + "/profile.strata"));
  CHECK(test::fs::exists(wanted.out + "/ranges.csv"));
  CHECK_FALSE(test::fs::exists(wanted.out + "/findings.json"));
}

TEST_CASE("every report of a recording is that of the profile, to the last byte") {
  test::quiet_stderr const quiet;
  report_test::report_sample const host = report_test::cpu_sample(2, 3);
  for (profile source : {whole_sample(), host.source, page_test::gpt2_sample(12, 5).made, profile(),
                         sample::random_program(7, 40).run(300)}) {
    std::string const bytes = recording_of(source);
    profile again;
    REQUIRE_MESSAGE(read_recording(bytes, again).ok(), problem_of(bytes));
    CHECK(recording_of(again) == bytes);
    CHECK(reports_of(again) == reports_of(source));
    test::work_folder const here;
    std::vector<std::string> const names = files_of(source, here / "first");
    CHECK(files_of(again, here / "second").size() == names.size());
    for (std::string const& name : names) {
      INFO(name);
      CHECK(test::content(here / "first/" + name) == test::content(here / "second/" + name));
    }
    profile of_file;
    std::string const place = source.environment.rank < 0 ? "first/" : "first/rank3/";
    CHECK(read_recording_file(here / (place + "profile.strata"), of_file).ok());
    CHECK(recording_of(of_file) == bytes);
  }
}

// The sizes of what recorded_fields names: whoever adds a member finds out that it is to be
// recorded too.
#if defined(__x86_64__) && defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI
static_assert(sizeof(profile_environment) == 312 && sizeof(profile_device) == 192 &&
              sizeof(device_ceiling) == 112 && sizeof(profile_losses) == 28 * 8 &&
              sizeof(profile_cost) == 14 * 8 && sizeof(profile_node) == 24 &&
              sizeof(profile_thread) == 48 && sizeof(overflow_sums) == 112 &&
              sizeof(kernel_sums) == 280 && sizeof(device_sums) == 216 &&
              sizeof(counter_set) == 360 && sizeof(resolved_metric) == 128 &&
              sizeof(counted_kernel) == 48 && sizeof(profile_hang) == 56 &&
              sizeof(device_samples) == 80 && sizeof(profile) == 1648);
#endif

TEST_CASE("a recording of a step is small") {
  profile const source = page_test::gpt2_sample(12, 5).made;
  std::size_t const raw = source.kernels.size() * sizeof(kernel_record) +
                          source.launches.size() * sizeof(driver_call_record) +
                          source.ranges.size() * sizeof(range_record) +
                          source.attributes.size() * sizeof(attribute_record) +
                          source.counters().values.size() * sizeof(counter_value);
  CHECK(recording_of(source).size() * 2 < raw);
}

TEST_CASE("what is no recording, or not whole, is refused in a sentence") {
  std::string const bytes = recording_of(whole_sample());
  for (std::string const& foreign :
       {std::string(), std::string("{}"), std::string("strata recordin"), std::string(4096, '\0')})
    CHECK(problem_of(foreign) == "It is no recording of Strata: formats=recording writes one.");
  for (std::string const number : {"3", "17", "999999999999"})
    CHECK(problem_of("strata recording " + number + bytes.substr(18)) ==
          "It is of a newer Strata: report it with the one that wrote it.");
  std::string const first = "strata recording 1\n" + bytes.substr(20, bytes.size() - 28);
  CHECK(problem_of(first + report_test::hash_bytes(first)).empty());
  CHECK(problem_of(first + report_test::hash_bytes(first.substr(19))) == changed);
  std::string const nothing =
      "It has nothing whole: the program ended in its first second, by _exit or a signal, or "
      "could not write on: let it run longer or end by exit; else remove it.";
  CHECK(problem_of(first.substr(0, 19)) == nothing);
  CHECK(problem_of(bytes.substr(0, 19)) == nothing);
  for (std::string const number : {"", "0", "-1", "x"})
    CHECK(problem_of("strata recording " + number + bytes.substr(18)) == changed);
  CHECK(problem_of(bytes.substr(0, 18)) == changed);
  for (std::size_t size = 20; size < bytes.size(); size += 1 + size / 50)
    CHECK(problem_of(bytes.substr(0, size)) == changed);
  CHECK(problem_of(bytes + '\n') == changed);
  for (std::size_t at = 19; at < bytes.size(); at += 1 + bytes.size() / 300) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
    CHECK(problem_of(flipped) == changed);
  }
  test::work_folder const here;
  profile p;
  CHECK(read_recording_file(here / "none", p).message() ==
        "It cannot be opened: No such file or directory; name a file that is there, and that you "
        "may read.");
  CHECK(read_recording_file(here / "", p).message() ==
        "It is a directory: name the profile.strata in it.");
}

TEST_CASE("a hostile recording gets no more memory than its size can be about") {
  auto const zeros = [](unsigned count) {  // records of one word, each in one byte
    std::string bytes("\5\1\11overheads\3\1", 14);
    for (unsigned left = count;; left >>= 7) {
      bytes += static_cast<char>(left >= 128 ? left | 128 : left);
      if (left < 128) break;
    }
    return recording_with(bytes + std::string(count + 1, '\0'));
  };
  profile p;
  REQUIRE(read_recording(zeros(1000), p).ok());
  CHECK(p.overheads.size() == 1000);
  CHECK(problem_of(zeros(12u << 20)) == no_profile);
}

TEST_CASE("fields that are not known are passed over, and those not there stay empty") {
  profile p;
  std::string const integer("\0\x0a", 2);            // 5
  std::string const content = std::string("\x05") +  // an object
                              "\1\6future" + "\5\2\1x" + integer + std::string(1, '\0') +
                              "\3\7records" + "\3\2\2" + "\3\1\2" + "\2\4" + "\4\4list" + "\4\2" +
                              "\2\1a" + "\2\1b" + "\5\3end" + integer + std::string(1, '\0');
  REQUIRE(read_recording(recording_with(content), p).ok());
  CHECK(p.end == 5);
  CHECK(p.environment.rank == -1);
  CHECK(p.nodes.empty());
  // A record of an earlier version, with fewer words, and of a later one, with more.
  std::string const shapes[] = {"\4\1\x05\2\4", "\7\1\x45\2\4\6"};
  for (std::string const& shape : shapes) {
    REQUIRE(read_recording(recording_with("\5\1\5steps\3" + shape + std::string(1, '\0')), p).ok());
    REQUIRE(p.steps.size() == 1);
    CHECK(p.steps[0].begin == 1);
    CHECK(p.steps[0].end == 2);
    CHECK(p.steps[0].thread == 0);
  }
}

TEST_CASE("numbers beyond what stands there are refused without memory for them") {
  std::string const huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1";
  std::string deep = "\5\1\1x";
  for (int i = 0; i < 100'000; ++i) deep += "\4\1";
  for (std::string const& content :
       {std::string("\5\1\5steps\3\6") + huge, std::string("\5\1\5steps\3") + huge + "\1",
        std::string("\5\1\5steps\3\6\xff\xff\3"), std::string("\5\1\5nodes\4") + huge,
        std::string("\5\1") + huge + "end", std::string("\5") + huge, std::string("\5\2\3end"),
        std::string("\5\1\3end\2\1x"), std::string("\5\1\3end") + huge,
        std::string("\5\1\6traced") + std::string("\0\4\0", 3), std::string("\5\1\5steps\5"), deep,
        std::string(1, '\0'), std::string()})
    CHECK(problem_of(recording_with(content)) == no_profile);
}

TEST_CASE("what refers to nothing is refused") {
  using change = void (*)(profile&);
  change const changes[] = {
      [](profile& p) { p.nodes[1].parent = 1; },
      [](profile& p) { p.nodes[0].parent = 1; },
      [](profile& p) { p.nodes[2].depth = 9; },
      [](profile& p) { p.nodes[1].name = 4000; },
      [](profile& p) { p.ranges[0].node = 4000; },
      [](profile& p) { p.ranges[0].attribute = 40000; },
      [](profile& p) { p.attributes[0].rank = 8; },
      [](profile& p) { p.attributes[0].note = 4000; },
      [](profile& p) { p.spans[0].name = 4000; },
      [](profile& p) { p.summed_ranges[0].node = 4000; },
      [](profile& p) { p.inherited[0].from = 4000; },
      [](profile& p) { p.launches[0].kind = static_cast<api_kind>(77); },
      [](profile& p) { p.kernels[0].name = 4000; },
      [](profile& p) { p.kernels[0].captured_by = 4000; },
      [](profile& p) { p.copies[0].kind = static_cast<copy_kind>(77); },
      [](profile& p) { p.memory[0].kind = static_cast<memory_kind>(77); },
      [](profile& p) { p.synchronizations[0].kind = static_cast<synchronization_kind>(77); },
      [](profile& p) { p.device.nodes.pop_back(); },
      [](profile& p) { p.device.by_node.times.pop_back(); },
      [](profile& p) { p.device.by_node.devices[0].ns.pop_back(); },
      [](profile& p) { p.device.family_of_node[0] = 4000; },
      [](profile& p) { p.device.kernels[0].name = 4000; },
      [](profile& p) { p.counter_sets[0].values[0].counter = 4000; },
      [](profile& p) { p.counter_sets[0].origins.pop_back(); },
      [](profile& p) { p.counter_sets[0].metrics.metrics[0].level = static_cast<metric_level>(7); },
      [](profile& p) { p.counter_sets[0].work[0].node = 4000; },
      [](profile& p) { p.counter_sets[0].work[0].pass = no_step; },
      [](profile& p) { p.counter_sets[0].origins[0].passes = no_step; },
      [](profile& p) { p.counter_sets[0].passes_done = INT64_MAX; },
      [](profile& p) { p.counter_sets[1].kernels[0].values.pop_back(); },
      [](profile& p) { p.samples.counters = 17; },
  };
  for (change const& each : changes) {
    profile p = whole_sample();
    each(p);
    CAPTURE(&each - changes);
    CHECK(problem_of(recording_of(p)) == no_profile);
  }
}

namespace {

std::vector<detail::counted_sample> samples_of(profile const& p) {
  std::vector<detail::counted_sample> all;
  detail::sample_reader reader(p.samples);
  for (detail::counted_sample now; reader.next(now);) all.push_back(now);
  return all;
}

/// Behind the others.
void add_sample(profile& p, detail::counted_sample const& added) {
  std::vector<detail::counted_sample> all = samples_of(p);
  all.push_back(added);
  p.samples.coded = {};
  p.samples.count = 0;
  detail::sample_writer writer;
  for (detail::counted_sample const& each : all) writer.add(p.samples, each);
}

}  // namespace

TEST_CASE("samples of any numbers are coded and read again") {
  detail::counted_sample const all[] = {{INT64_MIN, INT64_MAX, {INT64_MIN, 0}},
                                        {INT64_MAX, INT64_MIN, {INT64_MAX, INT64_MIN}},
                                        {12'027, 12'028, {0, INT64_MAX}}};
  device_samples coded;
  coded.counters = 2;
  detail::sample_writer writer;
  for (detail::counted_sample const& each : all) writer.add(coded, each);
  detail::sample_reader reader(coded);
  for (detail::counted_sample const& each : all) {
    detail::counted_sample read;
    REQUIRE(reader.next(read));
    CHECK(read.begin == each.begin);
    CHECK(read.end == each.end);
    CHECK(read.counts[0] == each.counts[0]);
    CHECK(read.counts[1] == each.counts[1]);
  }
}

TEST_CASE("records whose times cannot be are dropped and counted, and nothing else is lost") {
  using change = void (*)(profile&);
  constexpr std::int64_t far = std::int64_t{1} << 60;
  change const changes[] = {
      [](profile& p) { p.ranges[0].end = no_index + 1; },
      [](profile& p) { p.ranges[1].end = p.ranges[1].begin - 1; },
      [](profile& p) { p.steps[0].begin = far; },
      [](profile& p) { p.spans[0].begin = p.spans[0].end + 1; },
      [](profile& p) { p.launches[0].end = -far; },
      [](profile& p) { p.launches[0].begin = lost_time; },
      [](profile& p) { p.kernels[0].end = p.kernels[0].begin - 1; },
      [](profile& p) { p.kernels[0].begin = lost_time; },
      [](profile& p) { p.kernels[1].end = 0; },  // it has lost the other time
      [](profile& p) { p.copies[0].begin = far; },
      [](profile& p) { p.memory[0].time = INT64_MAX; },
      [](profile& p) { p.synchronizations[0].begin = p.synchronizations[0].end + 1; },
      [](profile& p) { p.overheads[0].end = 0; },
      [](profile& p) { p.migrations[0].end = lost_time; },
      [](profile& p) { p.energy[0].at = far; },
      [](profile& p) {
        detail::sample_writer().add(p.samples, {far, far + 1, {1, 2}});
      },
      [](profile& p) {
        add_sample(p, {60'000, 60'000, {1, 2}});
      },
      [](profile& p) {
        add_sample(p, {60'000, 60'001, {-1, 2}});
      },
      [](profile& p) {
        add_sample(p, {60'000, 60'001, {1, far}});
      },
      [](profile& p) { p.samples.coded.push_back(0x80); },  // a number without an end
  };
  auto const records = [](profile const& p) {
    return p.ranges.size() + p.steps.size() + p.spans.size() + p.launches.size() +
           p.kernels.size() + p.copies.size() + p.memory.size() + p.synchronizations.size() +
           p.overheads.size() + p.migrations.size() + samples_of(p).size() + p.energy.size() +
           static_cast<std::size_t>(p.samples.coded.size() > 0 && p.samples.coded.back() == 0x80);
  };
  for (change const& each : changes) {
    profile p = whole_sample();
    each(p);
    CAPTURE(&each - changes);
    profile again;
    REQUIRE(read_recording(recording_of(p), again).ok());
    CHECK(again.losses.records_refused == 1);
    CHECK(records(again) == records(p) - 1);
    CHECK(again.attributes.size() == p.attributes.size());
    CHECK(again.device.complete);
    REQUIRE(again.problems.size() == p.problems.size() + 1);
    CHECK(again.problems.back().find("The recording leaves out 1 of its records") == 0);
    (void)reports_of(again);
  }
}

TEST_CASE("sums of times that cannot be are made anew of the records") {
  profile p = whole_sample();
  profile const right = whole_sample();
  p.device.nodes[0].kernel_ns = std::int64_t{1} << 60;
  p.device.by_node.times[0].busy_ns = -1;
  profile again;
  REQUIRE(read_recording(recording_of(p), again).ok());
  CHECK_FALSE(again.device.complete);
  CHECK(row(again, "").total.kernels == row(right, "").total.kernels);
  CHECK(row(again, "").total.kernel_ns == row(right, "").total.kernel_ns);
}

TEST_CASE("a recording without a report is what its pieces say, and says that it is cut") {
  profile const whole = page_test::gpt2_sample(2, 2).made;
  std::string const bytes = recording_line + pieces_of(whole, 7);
  profile cut;
  REQUIRE_MESSAGE(read_recording(bytes, cut).ok(), problem_of(bytes));
  CHECK(cut.names.size() == whole.names.size());
  CHECK(cut.nodes.size() == whole.nodes.size());
  CHECK(cut.environment.command == whole.environment.command);
  CHECK(cut.ranges.size() == whole.ranges.size());
  CHECK(cut.end == whole.end);
  for (std::size_t i = 0; i < whole.ranges.size(); ++i)
    CHECK(std::memcmp(&cut.ranges[i], &whole.ranges[i], sizeof(range_record)) == 0);
  REQUIRE(cut.problems.size() == 1);
  CHECK(cut.problems[0].find("The recording has no end: ") == 0);
  CHECK(reports_of(cut).find("attention") != std::string::npos);
  // What a kill leaves of the piece that was written then is passed over.
  std::string const last = piece_part(std::string("\5\0", 2));
  for (std::size_t size = 0; size < last.size(); ++size) {
    profile torn;
    REQUIRE(read_recording(bytes + last.substr(0, size), torn).ok());
    CHECK(torn.ranges.size() == whole.ranges.size());
  }
  // So is what it leaves of the report.
  std::string const report = "u" + recording_of(whole).substr(recording_line.size() + 1);
  for (std::size_t size = 0; size <= report.size(); size += 1 + size / 7) {
    profile torn;
    REQUIRE(read_recording(bytes + report.substr(0, size), torn).ok());
    CHECK(torn.ranges.size() == whole.ranges.size());
    CHECK(torn.problems.size() == 1);
  }
  for (std::size_t at = recording_line.size(); at < bytes.size(); at += 1 + bytes.size() / 200) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
    CHECK(problem_of(flipped) == changed);
  }
}

TEST_CASE("a report is the session's, and a timeline has all that was written") {
  profile const whole = page_test::gpt2_sample(2, 2).made;
  profile kept = whole;
  kept.ranges.resize(3);
  kept.kernels.resize(2);
  std::string content = recording_of(kept);
  std::string const bytes =
      recording_line + pieces_of(whole, 5) + content.substr(recording_line.size());
  profile report;
  REQUIRE(read_recording(bytes, report).ok());
  CHECK(recording_of(report) == content);
  profile timeline;
  REQUIRE(read_recording(bytes, timeline, recording_view::timeline).ok());
  CHECK(timeline.ranges.size() == whole.ranges.size());
  CHECK(timeline.kernels.size() == whole.kernels.size());
  CHECK(timeline.counter_sets.size() == whole.counter_sets.size());
  CHECK(timeline.problems.size() == whole.problems.size());
  test::work_folder const here;
  std::ofstream(here / "profile.strata", std::ios::binary) << bytes;
  profile of_file;
  REQUIRE(read_recording_file(here / "profile.strata", of_file).ok());
  CHECK(recording_of(of_file) == content);
  REQUIRE(read_recording_file(here / "profile.strata", of_file, recording_view::timeline).ok());
  CHECK(of_file.ranges.size() == whole.ranges.size());
  // What came too fast for the pieces is in the report's sums alone.
  std::string with_losses = recording_line + pieces_of(whole, 5);
  {
    profile none;
    detail::profile_piece piece{none, false, 12'345};
    detail::text_writer out(with_losses);
    detail::write_piece(out, piece);
  }
  std::string const sentence = "The recording leaves out 12,345 events that came faster";
  profile cut;
  REQUIRE(read_recording(with_losses, cut).ok());
  REQUIRE(cut.problems.size() == 2);
  CHECK(cut.problems[0].find(sentence) == 0);
  with_losses += content.substr(recording_line.size());
  profile of_timeline;
  REQUIRE(read_recording(with_losses, of_timeline, recording_view::timeline).ok());
  REQUIRE(of_timeline.problems.size() == whole.problems.size() + 1);
  CHECK(of_timeline.problems.back().find(sentence) == 0);
  REQUIRE(read_recording(with_losses, of_timeline).ok());
  CHECK(of_timeline.problems.size() == whole.problems.size());
  // Of more than can be read the first pieces are there.
  profile first;
  std::size_t const half = bytes.size() - content.size() - 100;
  REQUIRE(
      detail::read_recording_file(here / "profile.strata", first, recording_view::timeline, half)
          .ok());
  CHECK(first.ranges.size() > 0);
  CHECK(first.ranges.size() < whole.ranges.size());
  CHECK(first.problems.back().find("The recording has no end: ") == 0);
  std::ofstream(here / "report.strata", std::ios::binary) << content;
  CHECK(detail::read_recording_file(here / "report.strata", first, recording_view::timeline, 100)
            .message() == "It has more than 1 GiB: record fewer steps.");
  // The report alone is a timeline too, of what the session kept.
  REQUIRE(read_recording(content, timeline, recording_view::timeline).ok());
  CHECK(timeline.ranges.size() == 3);
}

// STRATA_TEST_FUZZ=N: so many mutants rather than a few.
TEST_CASE("a recording with any bytes and the right hash is refused, or reported to the end") {
  std::string const bytes = recording_of(whole_sample());
  std::string const content = bytes.substr(20, bytes.size() - 28);
  char const* const asked = std::getenv("STRATA_TEST_FUZZ");
  int const mutants = asked != nullptr ? std::atoi(asked) : test::sanitized ? 20 : 100;
  std::mt19937 random(asked == nullptr ? 1 : std::random_device()());
  int refused = 0, reported = 0;
  for (int i = 0; i < mutants; ++i) {
    std::string mutant = content;
    for (auto left = 1 + random() % 3; left > 0; --left) {
      std::size_t const at = random() % mutant.size();
      switch (random() % 4) {
        case 0:
          mutant[at] = static_cast<char>(mutant[at] ^ 1 << random() % 8);
          break;
        case 1:
          mutant[at] = static_cast<char>(random());
          break;
        case 2:
          mutant.erase(at, 1 + random() % 4);
          break;
        default:
          mutant.insert(at, mutant, random() % 1000, 1 + random() % 8);
      }
    }
    mutant = recording_with(mutant);
    if (asked != nullptr) std::ofstream("last-mutant.strata", std::ios::binary) << mutant;
    profile p;
    if (!read_recording(mutant, p).ok()) {
      ++refused;
      continue;
    }
    ++reported;
    CHECK(!reports_of(p).empty());
  }
  CHECK(refused > mutants / 20);
  CHECK(reported > mutants / 20);
}

TEST_CASE("what hung for times that cannot be is dropped and counted") {
  profile p;
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t const ns : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{-2}, never}) {
    p.hang.ranges.push_back({"a", 0, ns});
    p.hang.work.push_back({"a", 1, ns});
  }
  detail::recording_repair(p).run();
  REQUIRE(p.hang.ranges.size() == 2);
  CHECK(p.hang.ranges[0].open_ns == -1);
  CHECK(p.hang.ranges[1].open_ns == 5);
  REQUIRE(p.hang.work.size() == 1);
  CHECK(p.hang.work[0].last_ns == 5);
  CHECK(p.losses.records_refused == 5);
}

}  // namespace recording_file_test
