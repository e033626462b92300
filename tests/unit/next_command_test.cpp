// The command that would tell most of what a run does not.
#include "report/next_command.hpp"
#include <doctest/doctest.h>
#include <strata/session/machine.hpp>
#include "report/answer_text.hpp"

#include <string>
#include <utility>

#include "finding_sample.hpp"
#include "report_sample.hpp"

namespace next_command_test {

using namespace finding_test;

namespace {

/// A range of one long kernel, of which everything is counted, at this use of HBM.
program counted_kernel(double hbm, std::uint32_t steps = 20) {
  program p;
  p.made.environment.command = "./train 'my model'";
  p.made.environment.options = "trace,skip=3,counters=findings";
  p.run(steps, [&] {
    p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us); });
    p.wait();
  });
  p.count_nothing(p.attention);
  p.hbm(p.attention, hbm);
  return p;
}

detail::next_command next_of(profile const& made) {
  return detail::make_next_command(answer(made).input);
}

}  // namespace

TEST_CASE("the next command has the program, its keys, and what would tell most") {
  program p = counted_kernel(0.9);
  CHECK(next_of(p.made).text ==
        "strata run --out after-the-change skip=3 counters=findings -- ./train 'my model'");
  CHECK(!next_of(p.made).tells_more);
  p.made.counter_sets.clear();
  p.made.environment.options = "trace,skip=3";
  CHECK(next_of(p.made).text ==
        "strata run --out next skip=3 counters=findings -- ./train 'my model'");
  CHECK(next_of(p.made).tells_more);
  CHECK(next_of(p.made).is_whole);
  p.made.environment.command = "'./my train' 'it'\\''s' '' '*.txt' --n=4 ''";
  CHECK(next_of(p.made).text ==
        "strata run --out next skip=3 counters=findings -- " + p.made.environment.command);
  for (char const* const other : {"./train; rm x", "./train $HOME", "./train 'x", "train\tx", ""}) {
    CAPTURE(other);
    p.made.environment.command = other;  // no plain words
    CHECK(next_of(p.made).text == "strata run --out next skip=3 counters=findings -- PROGRAM");
  }
}

TEST_CASE("a command is recorded as a shell takes it, with each word that it has") {
  auto const command_of = [](std::string const& words) {
    return detail::machine::command_of(words);
  };
  using namespace std::string_literals;
  CHECK(command_of("./train\0--n\0004\0"s) == "./train --n 4");
  CHECK(command_of("/my tools/train\0it's\0a \"b\"\0"s) ==
        "'/my tools/train' 'it'\\''s' 'a \"b\"'");
  CHECK(command_of("./train\0\0x\0\0"s) == "./train '' x ''");
  CHECK(command_of("./train\0\0"s) == "./train ''");
  CHECK(command_of("./train\0*\0\0\0\0\0"s) == "./train '*' '' '' '' ''");
  CHECK(command_of("worker: idle\0\0\0\0\0\0\0"s) == "'worker: idle'");  // it renamed itself
  CHECK(command_of("renamed without an end"s) == "'renamed without an end'");
  CHECK(command_of(""s).empty());
}

TEST_CASE("the next command is one for the steps that the program has, or says how many it needs") {
  auto const next = [](std::uint32_t steps, char const* options) {
    program p = counted_kernel(0.9, steps);
    p.made.counter_sets.clear();
    p.made.environment.options = options;
    return next_of(p.made);
  };
  // One to warm up, three that are timed, one that is tried, and nine passes.
  CHECK(next(14, "trace").first.empty());
  CHECK(next(14, "trace").text == "strata run --out next counters=findings -- ./train 'my model'");
  CHECK(next(13, "trace").first.empty());
  CHECK(next(13, "trace").text ==
        "strata run --out next warmup=1 active=1 counters=findings -- ./train 'my model'");
  CHECK(next(13, "trace,skip=8").text ==
        "strata run --out next warmup=1 active=1 counters=findings -- ./train 'my model'");
  CHECK(
      next(11, "trace").first ==
      "Let the program run 14 steps or more: it had 11, and counting takes a step for each pass.");
  CHECK(next(11, "trace").text == "strata run --out next counters=findings -- ./train 'my model'");
  // An option that says how many they are is raised, so that the command runs as it is printed.
  for (auto const& [had, has] :
       {std::pair{"--steps 9", "--steps 12"}, std::pair{"--max-steps=9 -v", "--max-steps=12 -v"}}) {
    program short_run = counted_kernel(0.9, 11);
    short_run.made.counter_sets.clear();
    short_run.made.environment.options = "trace";
    short_run.made.environment.command = std::string("./train --seed 4 ") + had;
    std::string const option = std::string(has).substr(0, std::string(has).find(" -v"));
    CHECK(next_of(short_run.made).first ==
          "Run with " + option +
              ", so that it has 14 steps: it had 11, and counting takes a step "
              "for each pass.");
    CHECK(next_of(short_run.made).text ==
          std::string("strata run --out next counters=findings -- ./train --seed 4 ") + has);
  }
  // Steps that were neither recorded nor counted were there too.
  program p = counted_kernel(0.9, 4);
  p.made.counter_sets.clear();
  p.made.environment.options = "trace,warmup=1,active=4";
  p.made.cost.unrecorded_steps = 20;
  CHECK(next_of(p.made).first.empty());
  // Of a window that comes again and again nobody knows them.
  p.made.cost.unrecorded_steps = 0;
  CHECK(!next_of(p.made).first.empty());
  p.made.environment.options = "trace,every=100,active=4";
  CHECK(next_of(p.made).first.empty());
}

TEST_CASE("a range that becomes the step has to be called often enough") {
  program p;
  p.made.environment.command = "./train";
  p.made.environment.options = "trace";
  for (int i = 0; i < 5; ++i) {
    p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us); });
    p.wait();
  }
  p.made.end = p.now;
  CHECK(next_of(p.made).text ==
        "strata run --out next --steps attention counters=findings -- ./train");
  CHECK(next_of(p.made).first.find("it had 5") != std::string::npos);
}

TEST_CASE("the next command has each key whole, or its name") {
  program p = counted_kernel(0.9);
  p.made.counter_sets.clear();
  p.made.environment.options = "trace,live,interval=23,skip=3";
  CHECK(next_of(p.made).text ==
        "strata run --out next live interval=23 skip=3 counters=findings -- ./train 'my model'");
  std::string many = "layer_norm_0";
  for (int i = 1; i < 60; ++i) many += "+layer_norm_" + std::to_string(i);
  p.made.environment.options = "trace,only=" + many;
  CHECK(next_of(p.made).text ==
        "strata run --out next only=VALUE counters=findings -- ./train 'my model'");
  CHECK(!next_of(p.made).is_whole);
}

TEST_CASE("what no run of ours tells, Nsight Compute does: of the kernel by its plain name") {
  program p = counted_kernel(0.5);
  p.made.kernel_names[0].mangled = "_Z4workIfEvv";
  answer const a(p.made);
  REQUIRE(a.input.account.largest_unknown() != nullptr);
  REQUIRE(a.input.findings.undecided.empty());
  detail::next_command const next = detail::make_next_command(a.input);
  CHECK(next.text == "ncu --set full --kernel-name work ./train 'my model'");
  CHECK(next.tells_more);
  std::string const unknown = detail::unknown_text(a.input);
  CHECK(unknown.find("What would tell more") == std::string::npos);  // one place says it
}

TEST_CASE("Nsight Compute is for a kernel that is much of a step, which the GPU bounds") {
  struct step {
    std::int64_t idle_us;  // of the GPU
    std::int64_t rest_us;  // in a kernel whose limit is known
    bool is_worth;
  };
  for (step const& each :
       {step{0, 0, true}, {3'000, 0, false}, {0, 9'000, true}, {0, 30'000, false}}) {
    CAPTURE(each.idle_us);
    CAPTURE(each.rest_us);
    program p;
    p.made.environment.command = "./train";
    p.made.environment.options = "trace,counters=findings";
    p.run(20, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us); });
      if (each.rest_us > 0)
        p.in(p.mlp, [&](std::uint32_t row) { p.kernel_of(row, each.rest_us * us); });
      p.wait();
      p.now += each.idle_us * us;
    });
    p.count_nothing(p.attention);
    p.hbm(p.attention, 0.5);
    if (each.rest_us > 0) {
      p.count_nothing(p.mlp);
      p.hbm(p.mlp, 0.95);
    }
    answer const a(p.made);
    REQUIRE(a.input.account.largest_unknown() != nullptr);
    CHECK(a.input.account.is_large(*a.input.account.largest_unknown()));
    CHECK((detail::make_next_command(a.input).text.rfind("ncu ", 0) == 0) == each.is_worth);
  }
}

TEST_CASE("beside CUDA graphs: the variable of a program that is known, else a sentence") {
  program p = counted_kernel(0.9);
  std::string const lost = "smsp__sass_data_bytes_mem_global_op_ld.sum";
  p.drop(lost);
  p.made.add_counters(strata::counter_set::gpu).left_out.push_back({lost, "CUDA graphs"});
  CHECK(next_of(p.made).first ==
        "First make the program launch its work without CUDA graphs (no stream capture), for this "
        "run "
        "only.");
  CHECK(next_of(p.made).text ==
        "strata run --out next skip=3 counters=findings -- ./train 'my model'");
  p.made.environment.command = "./llama_decode";  // a name that is no mark of ggml
  CHECK(next_of(p.made).text == "strata run --out next skip=3 counters=findings -- ./llama_decode");
  p.made.kernel_names[0].mangled = "_Z13mul_mat_vec_qIL9ggml_type12ELi1EEvPKv";
  CHECK(next_of(p.made).first.empty());
  CHECK(next_of(p.made).text ==
        "GGML_CUDA_DISABLE_GRAPHS=1 strata run --out next skip=3 counters=findings -- "
        "./llama_decode");
}

TEST_CASE("an older build's recording is to be made again with the keys that it had") {
  program p = counted_kernel(0.9);
  p.made.environment.options = "trace,counters=memory+findings";
  p.drop("smsp__sass_data_bytes_mem_global_op_ld.sum");
  p.made.add_counters(strata::counter_set::gpu)
      .metrics.metrics.keep_if(
          [](resolved_metric const& metric) { return metric.key != "global_load_bytes"; });
  CHECK(next_of(p.made).text ==
        "strata run --out next counters=memory+findings -- ./train 'my model'");
  CHECK(next_of(p.made).tells_more);
}

TEST_CASE("the console has the command on one line, however narrow it is") {
  program p = counted_kernel(0.9);
  p.made.counter_sets.clear();
  p.made.environment.options = "trace,skip=3";
  answer const a(p.made);
  std::string const text = report_test::text_of(
      [&](detail::text_writer& out) { detail::write_answer(out, a.input, 60, false); });
  CHECK(text.find("next:      " + next_of(p.made).text + "\n") != std::string::npos);
}

}  // namespace next_command_test
