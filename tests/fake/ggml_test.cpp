// The library of tools/ggml in programs of a shared ggml, which a stand-in takes the place of.
#include <doctest/doctest.h>

#include "unit/process/child.hpp"

using namespace processes;

namespace {

/// A program that computes a prompt, four tokens, and a token of each of two sequences.
struct ggml_run {
  work_folder folder;
  ending end;

  explicit ggml_run(std::string const& name, std::string const& strata, texts environment = {},
                    std::string const& way = "") {
    environment.push_back(std::string("LD_PRELOAD=") + STRATA_GGML_LIBRARY);
    if (!strata.empty()) environment.push_back("STRATA=" + strata + ",out=" + folder / "out");
    texts command = {program(name), GGML_LIBRARY};
    if (!way.empty()) command.push_back(way);
    end = run(command, environment);
    INFO(end.err);
    CHECK(end.code == 7);
  }
  call_counts calls() const { return calls_in(folder / "out"); }
  /// What paths declare in all their calls.
  call_counts bytes() const { return values_in(folder / "out", "bytes"); }
  std::size_t steps() const { return count_of(content(folder / "out/profile.json"), "\"step\":"); }
};

/// Calls of operations in `batch`, one for each node that was launched.
std::uint64_t operations(call_counts const& calls, std::string const& batch) {
  std::uint64_t sum = 0;
  for (auto const& [path, count] : calls)
    if (path.compare(0, batch.size() + 1, batch + "/") == 0 && has(path, " ")) sum += count;
  return sum;
}

// Twelve launches of a graph's sixteen nodes: two are views, and two are fused with their norms.
constexpr char results[] = "12 24 24 24 24 36\n";

constexpr std::uint64_t matrices = 7 * 64 * 64 * 4;  // bytes of the weights

}  // namespace

TEST_CASE("a token is a step, and layers have ranges where the backend launches them") {
  std::string name = "ggml_program";
  SUBCASE("linked") {}
  SUBCASE("opened by Python") { name = "ggml_opened"; }
  ggml_run const p(name, "host,formats=csv+json");
  CHECK(p.end.out == results);
  CHECK(count_of(p.end.err, "strata: wrote") == 1);
  call_counts const calls = p.calls();
  CHECK(calls.at("prefill") == 1);
  CHECK(calls.at("decode") == 5);
  CHECK(calls.at("prefill/embedding") == 1);
  CHECK(calls.at("prefill/attention[0]") == 1);
  CHECK(calls.at("prefill/attention[1]/ADD ffn_inp") == 1);
  CHECK(calls.at("prefill/mlp[1]/MUL_MAT ffn_up") == 1);
  CHECK(calls.at("prefill/output/MUL_MAT result_output") == 1);
  CHECK(operations(calls, "prefill") == 12);
  CHECK(operations(calls, "decode") == 24);  // a graph that is launched again has no nodes
  CHECK(p.steps() == 4);                     // the last token's has no end
  // Of the table a row a token.
  CHECK(p.bytes().at("prefill") == matrices + 5 * 64 * 4);
  CHECK(p.bytes().at("decode") == 5 * matrices + 6 * 64 * 4);
}

TEST_CASE("backends of a device that ask of each node once: from its second graph on") {
  ggml_run const p("ggml_program", "host,formats=csv", {"FAKE_GGML_PLANS=none"});
  call_counts const calls = p.calls();
  CHECK(calls.count("prefill/embedding") == 0);
  CHECK(operations(calls, "decode") == 60);
}

TEST_CASE("a graph whose planning ends midway has all its ranges") {
  ggml_run const p("ggml_program", "host,formats=csv", {"FAKE_GGML_PLANS=cut"});
  call_counts const calls = p.calls();
  CHECK(operations(calls, "prefill") == 12);
  CHECK(operations(calls, "decode") == 60);
  CHECK(calls.at("decode/embedding/GET_ROWS inp_embd") == 5);
}

TEST_CASE("a graph that fails midway leaves no range open, and its nodes are not looked at again") {
  ggml_run const p("ggml_program", "host,formats=csv", {"FAKE_GGML_PLANS=throw"});
  for (auto const& [path, count] : p.calls())
    CHECK((path.compare(0, 7, "prefill") == 0 || path.compare(0, 6, "decode") == 0));
  CHECK(operations(p.calls(), "decode") == 25);
}

TEST_CASE("threads that take turns with a scheduler make steps together") {
  ggml_run const p("ggml_program", "host,formats=csv+json", {}, "threads");
  CHECK(p.calls().at("decode") == 5);
  CHECK(p.steps() == 4);
  CHECK_FALSE(has(p.end.err, "steps not counted"));
}

TEST_CASE("the program's own steps stay as they are") {
  ggml_run const p("ggml_program", "host,formats=csv+json", {}, "steps");
  CHECK(p.calls().at("decode") == 5);
  CHECK(p.steps() == 2);
}

TEST_CASE("a graph that takes no rows of a table decodes nothing") {
  ggml_run const p("ggml_program", "host,formats=csv+json", {}, "encoder");
  CHECK(p.calls().at("prefill") == 2);
  CHECK(p.calls().at("decode") == 5);
  CHECK(p.steps() == 4);
}

TEST_CASE("a ggml of other headers computes as without the library") {
  std::string strata;
  SUBCASE("recorded") { strata = "host,formats=csv"; }
  SUBCASE("idle") {}
  ggml_run const p("ggml_program", strata, {"FAKE_GGML_OTHER=1"});
  CHECK(p.end.out == results);
  CHECK(count_of(p.end.err, "built with the headers of another ggml") == (strata.empty() ? 0 : 1));
  CHECK_FALSE(fs::exists(p.folder / "out"));
}

TEST_CASE("of several ggml in a process each has its own calls") {
  work_folder const folder;
  std::string const other = folder / "libother_ggml.so";
  fs::copy_file(GGML_LIBRARY, other);
  std::string strata;
  SUBCASE("recorded") { strata = "host,formats=csv"; }
  SUBCASE("idle") {}
  ggml_run const p("ggml_opened", strata, {}, other);
  CHECK(p.end.out == "12 24 24 24 24 36 12 24 36\n");
}

TEST_CASE("windows count the tokens that are not recorded, and know what was captured before") {
  std::string const fakes = FAKE_DIR;
  ggml_run const p(
      "ggml_opened", "trace,skip=2,active=1,formats=csv+json",
      {"STRATA_CUPTI=" + fakes + "/libcupti.so.13", "STRATA_LIBCUDA=" + fakes + "/libcuda.so.1",
       "FAKE_CUPTI_FILE=" + fakes + "/libcupti.so.13",
       "FAKE_CUDA_FILE=" + fakes + "/libcuda.so.1"});
  CHECK(p.end.out == results);
  CHECK(p.calls().at("decode") == 1);
  CHECK(p.bytes().at("decode") == matrices + 64 * 4);
  CHECK(p.steps() == 1);
  std::string const ranges = content(p.folder / "out/ranges.csv");
  CHECK(has(ranges, "decode/attention[1]/ADD ffn_inp,"));
}

TEST_CASE("without STRATA nothing changes") {
  ggml_run const p("ggml_program", "");
  CHECK(p.end.out == results);
  CHECK(p.end.err == "");
  CHECK_FALSE(fs::exists(p.folder / "out"));
}
