// Recordings and files of somebody else: refused at once, or read without harm.
#include <strata/profile/metric_set.hpp>
#include <strata/session/output_directory.hpp>
#include <strata/session/report_files.hpp>
#include "recording/recording.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "../work_folder.hpp"
#include "all_reports.hpp"
#include "sample_profile.hpp"

namespace foreign_input_test {

using namespace strata;
using report_test::has;
using test::content;
namespace fs = std::filesystem;

namespace {

std::string problem_of(std::string const& path) {
  profile none;
  return read_recording_file(path, none).message();
}

std::string write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string bytes_of(profile const& made) {
  std::string bytes;
  detail::text_writer out(bytes);
  write_recording(out, made);
  out.flush();
  return bytes;
}

/// A set of counters with one metric of that key and one value.
counter_set set_of(std::string const& name, std::string const& key) {
  counter_set made;
  made.name = name;
  made.names.push_back("lts__t_bytes.sum");
  made.values.push_back({1, 0, 64.0});
  made.passes = made.passes_done = 1;
  resolved_metric metric;
  metric.key = key;
  metric.formula = "lts__t_bytes.sum";
  metric.unit = "B";
  metric.counters.push_back("lts__t_bytes.sum");
  made.metrics.metrics.push_back(std::move(metric));
  return made;
}

profile one_range() {
  sample::maker sample;
  sample.call(sample.node(root_node, "block"), 0, 100);
  sample.made.end = 1000;
  return sample.made;
}

/// The names of all files below a folder, by their paths from there.
std::set<std::string> files_in(fs::path const& folder) {
  std::set<std::string> names;
  for (fs::directory_entry const& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) names.insert(fs::relative(entry.path(), folder).string());
  return names;
}

}  // namespace

TEST_CASE("a file is known by its first bytes") {
  test::work_folder const here;
  struct {
    std::string bytes;
    char const* kind;
  } const files[] = {{"\x89PNG\r\n\x1a\n", "a PNG image"},
                     {"\x1f\x8b\x08", "compressed by gzip"},
                     {std::string("SQLite format 3\0", 16), "an SQLite database"},
                     {"\x7f"
                      "ELF\2\1\1",
                      "an ELF program or library"},
                     {"NVIDIA Tegra Profiler Report 2025.1\n", "a report of Nsight Systems"},
                     {std::string("NVR\0\1", 5), "a report of Nsight Compute"},
                     {"PK\x03\x04", "a zip archive"},
                     {std::string(257, 'x') + "ustar", "a tar archive"},
                     {"{\"schema\": {}}", "JSON text"},
                     {std::string(4096, '\0'), "nothing but zeros"},
                     {"some words\n", "plain text"},
                     {"", "empty"}};
  for (auto const& file : files) {
    CAPTURE(file.kind);
    std::string const said = problem_of(write(here / "file", file.bytes));
    CHECK(has(said, (std::string("it seems to be ") + file.kind).c_str()));
    CHECK(has(said, "formats=recording writes one."));
  }
  CHECK(problem_of(write(here / "file", "\x01\x02\x03")) ==
        "It is no recording of Strata: formats=recording writes one.");
}

TEST_CASE("what is no regular file is refused before it is opened") {
  test::work_folder const here;
  CHECK(problem_of("/dev/zero") ==
        "It is a device, such as a terminal or a disk: name a regular file.");
  REQUIRE(::mkfifo((here / "pipe").c_str(), 0600) == 0);
  CHECK(problem_of(here / "pipe") ==  // nobody writes into it
        "It is a pipe or a socket: write what comes out of it to a file, and name that.");
  CHECK(problem_of(here / "") == "It is a directory: name the profile.strata in it.");
  // A file of a TiB that takes no room is refused by its size, and nothing of it is kept.
  write(here / "sparse", "strata recording 2\nw");
  REQUIRE(::truncate((here / "sparse").c_str(), off_t{1} << 40) == 0);
  CHECK(problem_of(here / "sparse") == "It has more than 1 GiB: record fewer steps.");
}

TEST_CASE("a set's name and its keys lead to no file elsewhere and break no format") {
  test::work_folder const here;
  fs::create_directory(here / "inner");
  profile made = one_range();
  std::string const key = "a\":1,\"b\x1b[2J";
  for (char const* const name :
       {"../escaped", "/tmp/strata-escaped", "ranges", "counters", "counters", "a/b", ""})
    made.counter_sets.push_back(set_of(name, key));
  made.counter_sets.push_back(set_of("cpu_counters", ""));
  profile read;
  REQUIRE(read_recording(bytes_of(made), read).ok());
  vec<std::string> problems;
  options wanted = options::parse("formats=csv+json", problems);
  wanted.out = here / "inner/out";
  detail::report_files::surroundings around;
  around.spare = here / "inner/spare";
  REQUIRE(detail::report_files(wanted, around).write(read).ok());

  std::set<std::string> expected{"findings.json", "kernels.csv", "memory.csv", "profile.json",
                                 "ranges.csv"};
  for (char const* const stem : {"set1____escaped", "set2__tmp_strata-escaped", "set3_ranges",
                                 "counters", "set5_counters", "set6_a_b", "set7__", "cpu_counters"})
    for (char const* const end : {".csv", "_wide.csv"}) expected.insert(std::string(stem) + end);
  CHECK(files_in(here / "inner/out") == expected);
  CHECK_FALSE(fs::exists(here / "escaped.csv"));
  CHECK_FALSE(fs::exists("/tmp/strata-escaped.csv"));
  CHECK(has(content(here / "inner/out/ranges.csv"), "block"));

  auto const json = nlohmann::json::parse(content(here / "inner/out/profile.json"));
  CHECK(json["counters"]["values"][1]["total"][key] == 64);
  CHECK(json["cpu_counters"]["values"][1]["total"].is_object());
  std::string const wide = content(here / "inner/out/counters_wide.csv");
  CHECK(wide.substr(0, wide.find('\n')) ==
        "rank,path_id,path,\"a\"\":1,\"\"b\x1b[2J_bytes\",timed_gpu_seconds");
}

TEST_CASE("a file of an output has a name of its folder alone") {
  test::work_folder const here;
  detail::output_directory folder;
  REQUIRE(folder.make(here / "out").ok());
  for (char const* const name : {"../x", "/tmp/x", "a/b", ""}) {
    CAPTURE(name);
    CHECK(folder.put(name, [](detail::text_writer& out) { out.write("x"); }) == EINVAL);
  }
  CHECK_FALSE(fs::exists(here / "x"));
  CHECK(detail::file_stem("../a b/\xff.csv") == "___a_b___csv");
  CHECK(detail::file_stem("") == "_");
  CHECK(detail::file_stem(std::string(1000, 'x')).size() == 64);
}

TEST_CASE("a formula nests to a bound and has a bounded length") {
  auto const is_formula = [](std::string const& text) {
    return detail::formula(text).inputs().size() == 1;
  };
  auto const nested = [](std::size_t depth, std::string const& open = "(") {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    return text + "a" + std::string(depth, ')');
  };
  CHECK(is_formula(nested(64)));
  CHECK_FALSE(is_formula(nested(65)));
  CHECK_FALSE(is_formula(nested(1000)));
  CHECK_FALSE(is_formula(nested(1'000'000)));
  CHECK_FALSE(is_formula(nested(1'000'000, "max(")));
  CHECK(is_formula("a" + std::string(4095, ' ')));
  CHECK_FALSE(is_formula("a" + std::string(4096, ' ')));
  std::string sum = "1";
  for (int i = 0; i < 100; ++i) sum += " + (1)";
  CHECK(detail::formula(sum).value(nullptr) == 101);  // brackets that follow each other do not nest
}

TEST_CASE("paths that stand for far more than the recording has are refused") {
  sample::maker sample;
  std::string const name(1000, 'n');
  std::uint32_t node = root_node;
  for (int i = 0; i < 200; ++i) node = sample.node(node, name);
  sample.call(node, 0, 100);
  sample.made.end = 1000;
  profile read;
  CHECK(read_recording(bytes_of(sample.made), read).ok());  // 20 MB of paths
  for (int i = 0; i < 200; ++i) node = sample.node(node, name);
  CHECK(read_recording(bytes_of(sample.made), read).message() ==
        "The paths of its ranges are too long for a report: give ranges shorter names, or nest "
        "fewer.");
}

TEST_CASE("counters whose tables would be far larger than the recording are left out") {
  sample::maker sample;
  for (int i = 0; i < 4000; ++i) sample.node(root_node, "a", i);
  sample.call(1, 0, 100);
  sample.made.end = 1000;
  sample.made.counter_sets.push_back(set_of("counters", "a"));
  counter_set wide = set_of("cpu_counters", "a");
  for (int i = 0; i < 2000; ++i) wide.metrics.metrics.push_back(wide.metrics.metrics[0]);
  sample.made.counter_sets.push_back(wide);
  counter_set long_list = set_of("kernel_counters", "a");
  for (int i = 0; i < 5000; ++i) long_list.names.push_back("x");
  sample.made.counter_sets.push_back(long_list);
  profile read;
  REQUIRE(read_recording(bytes_of(sample.made), read).ok());
  REQUIRE(read.counter_sets.size() == 1);
  CHECK(read.counter_sets[0].name == "counters");
  REQUIRE(read.problems.size() == 2);
  CHECK(read.problems[0] ==
        "The recording has 1 counters with 2001 metrics and 1 passes of 4001 ranges, more than a "
        "report can hold, so they are left out; count fewer metrics, or choose ranges with only=.");
}

TEST_CASE("a place that ends in no name gets a folder of its own") {
  test::work_folder const here;
  fs::create_directories(here / "a/b");
  for (char const* const place : {"a/b/.", "a/b/..", "a/b/../", "a/./"}) {
    CAPTURE(place);
    detail::output_directory made;
    REQUIRE(made.make(here / place).ok());
    CHECK(fs::path(made.path()).filename().string().compare(0, 10, "strata-out") == 0);
    made.link_latest(here / place);
    CHECK(fs::is_symlink(fs::path(made.path()).parent_path() / "strata-out-latest"));
  }
  CHECK(fs::exists(here / "a/b/strata-out"));
  CHECK(fs::exists(here / "a/strata-out-3"));
}

}  // namespace foreign_input_test
