// A program that runs out of memory while it is measured: whichever allocation of Strata's fails,
// alone, with some that follow, or with all that follow, the program ends as it would have, and its
// report is true, says what it lacks, or is missed with a sentence.
#include "../sanitizers.hpp"
#include "../unit/process/child.hpp"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace short_memory_test {

using namespace processes;

namespace {

/// What a report has of the calls and of the kernels.
struct account {
  std::uint64_t calls = 0;
  std::uint64_t kernels = 0;
  std::uint64_t losses = 0;
  std::uint64_t unrecorded = 0;
  bool written = false;
};

account account_of(std::string const& folder) {
  account made;
  std::ifstream file(folder + "/profile.json");
  nlohmann::json const read = nlohmann::json::parse(file, nullptr, false);
  if (read.is_discarded()) return made;
  made.written = true;
  for (auto const& row : read["ranges"]) {
    made.calls += row["calls"].get<std::uint64_t>();
    if (row["kernels_self"].is_number()) made.kernels += row["kernels_self"].get<std::uint64_t>();
  }
  for (auto const& each : read["losses"].items()) made.losses += each.value().get<std::uint64_t>();
  made.unrecorded =
      read["losses"]["unrecorded"].get<std::uint64_t>() +
      read["losses"]["ranges_too_deep"].get<std::uint64_t>() +  // no room for the range
      read["losses"]["activity_dropped"].get<std::uint64_t>();  // no buffer for CUPTI's record
  return made;
}

/// One of the program's runs: `1:1 6 0 3300 1 1`.
struct trial {
  std::string which;
  int code = -1;
  int signal = -1;
  long allocations = 0;
  long failed = 0;
  long listened_to = 0;
};

std::vector<trial> run_all(std::string const& folder, texts const& what, texts const& which) {
  texts command{SHORT_MEMORY_PROGRAM, folder};
  command.insert(command.end(), what.begin(), what.end());
  command.insert(command.end(), which.begin(), which.end());
  ending const ended =
      run(command, {"ASAN_OPTIONS=detect_leaks=0", "STRATA_CUPTI=" FAKE_DIR "/libcupti.so.13",
                    "STRATA_LIBCUDA=" FAKE_DIR "/libcuda.so.1",
                    "FAKE_CUPTI_FILE=" FAKE_DIR "/libcupti.so.13"});
  std::vector<trial> all;
  std::istringstream in(ended.out);
  for (trial each; in >> each.which >> each.code >> each.signal >> each.allocations >>
                   each.failed >> each.listened_to;)
    all.push_back(each);
  REQUIRE(all.size() == which.size());
  return all;
}

/// Some of the places, another part of them for each number of failures.
void check(char const* what, char const* options) {
  work_folder const folder;
  CAPTURE(options);
  fs::create_directories(folder / "");
  texts const program{what, options};
  trial const whole = run_all(folder / "", program, {"0:1"})[0];
  account const truth = account_of(folder / "0:1");
  REQUIRE(whole.code == 6);
  REQUIRE(truth.calls > 20);
  bool const full = std::getenv("STRATA_TEST_FULL") != nullptr;
  for (int const count : {1, 0, 30}) {
    texts which;
    long const step = full ? 1 : whole.allocations / (test::sanitized ? 4 : 8) + 1;
    for (long at = 1 + (full ? 0 : count % 7); at <= whole.allocations; at += step)
      which.push_back(std::to_string(at) + ":" + std::to_string(count));
    for (std::size_t at = 0; at < which.size(); at += 20) {
      texts const some(
          which.begin() + static_cast<std::ptrdiff_t>(at),
          which.begin() + static_cast<std::ptrdiff_t>(std::min(at + 20, which.size())));
      for (trial const& each : run_all(folder / "", program, some)) {
        std::string const err = content(folder / (each.which + ".err"));
        CAPTURE(each.which);
        CAPTURE(err);
        CHECK(each.signal == 0);
        CHECK(each.code == 6);
        bool const said = has(err, "memory is short") || has(err, "Cannot allocate memory");
        account const found = account_of(folder / each.which);
        CHECK((found.written || said));
        if (!found.written || said) continue;
        CHECK(found.calls <= truth.calls);
        CHECK(found.kernels <= truth.kernels);
        CHECK(truth.calls - found.calls <= found.losses);
        CHECK(truth.kernels - found.kernels <= found.losses);
      }
    }
  }
}

}  // namespace

TEST_CASE("memory ends while device work is recorded, written and reported") {
  check("device", "trace,formats=table+csv+json+trace+trace.json+html+recording+openmetrics");
}

TEST_CASE("memory ends while the log is full and calls become sums") {
  check("fold", "host,log=1,formats=csv+json");
}

TEST_CASE("memory ends while the device is counted") {
  check("device", "trace,formats=csv+json,counters=hbm+flops,kernels=*");
}

TEST_CASE("memory ends while the device is sampled") {
  check("live", "trace,live,interval=20,formats=csv+json+recording");
}

TEST_CASE("memory ends while a batch is summed up: each record is in the sums once, or is lost") {
  work_folder const folder;
  fs::create_directories(folder / "");
  std::uint64_t lost = 0;
  for (trial const& each : run_all(folder / "", {"batch", "trace,formats=json"},
                                   {"300:1", "500:1", "600:40", "700:40", "800:40", "900:1"})) {
    CAPTURE(each.which);
    CAPTURE(content(folder / (each.which + ".err")));
    CHECK(each.signal == 0);
    CHECK(each.code == 6);
    account const found = account_of(folder / each.which);
    CAPTURE(found.losses);
    CAPTURE(found.kernels);
    CAPTURE(found.unrecorded);
    CHECK(found.kernels + found.calls + found.unrecorded == 280'000);  // a kernel in each range
    lost += found.unrecorded;
  }
  CHECK(lost > 3);
}

TEST_CASE("memory ends while windows are reported, and while the program drives passes") {
  work_folder const folder;
  fs::create_directories(folder / "");
  bool const full = std::getenv("STRATA_TEST_FULL") != nullptr;
  std::string const touched = "trace,formats=json,keep=2,trigger=" + folder / "touched";
  for (texts const& each :
       {texts{"device", "trace,formats=csv+json,every=4,keep=2"},
        texts{"device", "trace,formats=trace,every=4,keep=2,attach=window,nonsense=1"},
        texts{"device", "trace,formats=json+html,every=6,keep=1,active=1,counters=hbm"},
        texts{"device", "trace,formats=recording+json,skip=2,active=2,repeat=0,attach=window"},
        texts{"touch", touched}, texts{"by-hand", "trace,formats=json"}}) {
    trial const whole = run_all(folder / "", each, {"0:1"})[0];
    for (int const count : {1, 0, -40}) {
      texts which;
      for (long at = 1 + count * count % 7; at <= whole.allocations;
           at += full ? 1 : whole.allocations / (test::sanitized ? 3 : 6) + 1)
        which.push_back(std::to_string(at) + ":" + std::to_string(count));
      for (trial const& one : run_all(folder / "", each, which)) {
        CAPTURE(each[1]);
        CAPTURE(one.which);
        CAPTURE(content(folder / (one.which + ".err")));
        CHECK(one.signal == 0);
        CHECK(one.code == 6);
      }
    }
  }
}

TEST_CASE("memory ends in a step of every window: each report says so once, of itself") {
  work_folder const folder;
  fs::create_directories(folder / "");
  texts const program{"windows", "trace,formats=json,every=6,keep=9,active=1,counters=hbm"};
  trial const all = run_all(folder / "", program, {"1:0"})[0];
  CAPTURE(content(folder / "1:0.err"));
  CHECK(all.signal == 0);
  CHECK(all.code == 6);
  std::string const sentence = "a part of this run is left out, since memory is short";
  CHECK(count_of(content(folder / "1:0.err"), sentence) == 2);
  CHECK(count_of(content(folder / "1:0/001/profile.json"), sentence) == 1);
  CHECK(count_of(content(folder / "1:0/002/profile.json"), sentence) == 1);
}

TEST_CASE("memory ends while a session begins: it records, or nothing does and it is said") {
  work_folder const folder;
  fs::create_directories(folder / "");
  texts const program{"start", "host,formats=json,nonsense=1,trace=2"};
  trial const whole = run_all(folder / "", program, {"0:1"})[0];
  CHECK(whole.listened_to == 1);
  texts which;
  for (long at = 1; at <= whole.allocations; ++at) which.push_back(std::to_string(at) + ":1");
  int refused = 0;
  for (trial const& each : run_all(folder / "", program, which)) {
    std::string const err = content(folder / (each.which + ".err"));
    CAPTURE(each.which);
    CAPTURE(err);
    CHECK(each.code == 6);
    bool const nothing = has(err, "this program is not recorded") ||
                         has(err, "this session did not begin") || has(err, "STRATA is not read");
    CHECK(each.listened_to == !nothing);
    refused += nothing;
  }
  CHECK(refused > 5);
}

}  // namespace short_memory_test
