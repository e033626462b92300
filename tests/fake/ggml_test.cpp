// The library of tools/ggml in programs of a shared ggml, which a stand-in takes the place of.
#include <doctest/doctest.h>

#include "unit/process/child.hpp"

using namespace process_test;

namespace {

/// A program that computes a prompt, four tokens, and a token of each of two sequences.
struct ggml_run {
  work_folder folder;
  ending end;

  explicit ggml_run(std::string const& name, std::string const& strata, texts environment = {}) {
    environment.push_back(std::string("LD_PRELOAD=") + STRATA_GGML_LIBRARY);
    if (!strata.empty()) environment.push_back("STRATA=" + strata + ",out=" + folder / "out");
    end = run({program(name), GGML_LIBRARY}, environment);
    INFO(end.err);
    CHECK(end.code == 7);
  }
  call_counts calls() const { return calls_in(folder / "out"); }
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
}

TEST_CASE("a backend that asks of each node once: from its second graph on") {
  ggml_run const p("ggml_program", "host,formats=csv", {"FAKE_GGML_PLANS=0"});
  call_counts const calls = p.calls();
  CHECK(calls.count("prefill/embedding") == 0);
  CHECK(operations(calls, "decode") == 60);
}

TEST_CASE("windows count the tokens that are not recorded") {
  std::string const fakes = FAKE_DIR;
  ggml_run const p(
      "ggml_opened", "trace,skip=2,active=1,formats=csv+json",
      {"STRATA_CUPTI=" + fakes + "/libcupti.so.13", "STRATA_LIBCUDA=" + fakes + "/libcuda.so.1",
       "FAKE_CUPTI_FILE=" + fakes + "/libcupti.so.13",
       "FAKE_CUDA_FILE=" + fakes + "/libcuda.so.1"});
  CHECK(p.end.out == results);
  CHECK(p.calls().at("decode") == 1);
  CHECK(p.steps() == 1);
}

TEST_CASE("without STRATA nothing changes") {
  ggml_run const p("ggml_program", "");
  CHECK(p.end.out == results);
  CHECK(p.end.err == "");
  CHECK_FALSE(fs::exists(p.folder / "out"));
}
