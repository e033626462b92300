// The account of a run: its parts add up to the period, whatever was recorded.
#include "analyse/account.hpp"
#include <doctest/doctest.h>
#include <strata/tables/table.hpp>
#include "analyse/run_tables.hpp"
#include "recording/recording.hpp"
#include "report/account_view.hpp"
#include "report/finding_view.hpp"
#include "report/page.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "finding_sample.hpp"
#include "page_sample.hpp"
#include "random_steps.hpp"

namespace account_test {

using namespace finding_test;

namespace {

constexpr char const* recordings[] = {"gpt2-eager.strata",        "gpt2-fused.strata",
                                      "gpt2-memory.strata",       "llama-decode.strata",
                                      "pytorch-attention.strata", "pytorch-decode.strata",
                                      "pytorch-training.strata"};

profile recording(char const* name) {
  profile made;
  std::string const path = std::string(STRATA_TEST_DIR) + "/../examples/report/" + name;
  REQUIRE(static_cast<bool>(read_recording_file(path, made)));
  return made;
}

/// All parts are positive and add up to the period; step and what lies between are the period.
void closes(report_input const& input) {
  period_account const& account = input.account;
  double sum = 0.0;
  for (account_part const& part : account.parts) {
    CHECK_MESSAGE(part.ns > 0.0, part.name);
    CHECK_FALSE(part.name.empty());
    bool const is_of_host = part.name == "launch" || part.name == "copies";  // no limit of the GPU
    CHECK_FALSE((part.kind == account_kind::at_roof && is_of_host));
    sum += part.ns;
  }
  CHECK(account.step_ns + account.between_ns == doctest::Approx(account.period_ns));
  CHECK(account.period_ns == doctest::Approx(input.steps.period_ns()));
  if (account.parts.empty()) {
    CHECK_FALSE(account.period_ns > 0.0);
    return;
  }
  CHECK(sum == doctest::Approx(account.period_ns).epsilon(1e-6));
  if (!input.source.traced) return;
  CHECK(account.busy_ns() == doctest::Approx(input.steps.period_busy_ns()));
}

/// The place of each finding counts a range once. Returns: the findings that have one twice.
std::size_t ranges_count_once(report_input const& input) {
  std::size_t with_twice = 0;
  for (detail::finding_view const& view : detail::view_findings(input.findings, input.analysed)) {
    std::set<std::string> paths;
    for (finding_range const& range : view.found->ranges) paths.insert(range.path);
    CAPTURE(view.place);
    std::string const more = " and " + std::to_string(paths.size() - 1) + " more range";
    CHECK((view.place.find(" more range") == std::string::npos) == (paths.size() == 1));
    CHECK((view.place.find(more) != std::string::npos) == (paths.size() > 1));
    with_twice += paths.size() < view.found->ranges.size();
  }
  return with_twice;
}

/// A step of 1.9 ms, whose kernel takes 1.89 ms, and `between` until the next.
template <class Between>
program with_time_between(Between between) {
  program p;
  for (int step = 0; step < 8; ++step) {
    p.run(1, [&] {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1890 * us); });
      p.wait();
    });
    between(p);
  }
  return p;
}

/// The console's answer without its line breaks.
std::string sentences_of(answer const& a) {
  std::string text;
  for (char const letter : text_of(a, false))
    if (letter == '\n' || letter == ' ')
      text += text.empty() || text.back() == ' ' ? "" : " ";
    else
      text += letter;
  return text;
}

/// Of the parts with that name.
double sum_of(answer const& a, account_kind kind, std::string_view name) {
  double sum = 0.0;
  for (account_part const& part : a.input.account.parts)
    if (part.kind == kind && part.name == name) sum += part.ns;
  return sum;
}

/// Kernels of 560 us at half of HBM's peak, and of 440 us at `nearly_all` of it.
program half_and_nearly_all_of_hbm(double nearly_all) {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 560 * us); });
    p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 440 * us); });
    p.wait();
  });
  for (std::uint32_t const row : {p.attention, p.mlp}) {
    p.count_nothing(row);
    p.hbm(row, row == p.attention ? 0.5 * 0.56 : nearly_all * 0.44);  // of 1 ms
  }
  return p;
}

/// What findings explain of copies: what the GPU is idle meanwhile is idle time.
double copies_explained(report_input const& input) {
  double ns = 0.0;
  for (account_part const& part : input.account.parts)
    if (part.kind == account_kind::explained && part.finding != account_part::none &&
        input.findings.findings[part.finding].rule == "copy-in-step")
      ns += part.ns;
  return ns;
}

}  // namespace

TEST_CASE("the account of each recording closes, and all of its outputs have its numbers") {
  for (char const* const name : recordings) {
    CAPTURE(name);
    answer const a(recording(name));
    closes(a.input);
    CHECK(copies_explained(a.input) <= a.input.analysed.copies_alone_ns);
    nlohmann::json const json = nlohmann::json::parse(text_of(a, true));
    nlohmann::json const& account = json["account"];
    double parts = 0.0;
    for (nlohmann::json const& part : account["parts"]) parts += part["ns"].get<double>();
    CHECK(parts == doctest::Approx(account["period_ns"].get<double>()).epsilon(1e-3));
    double sums = 0.0;
    for (char const* const key :
         {"at_roof_ns", "explained_ns", "unknown_ns", "idle_ns", "idle_between_ns"})
      sums += account[key].get<double>();
    CHECK(sums == doctest::Approx(parts).epsilon(1e-3));
    std::string const text = account["text"];
    CHECK_FALSE(text.empty());
    CHECK(sentences_of(a).find(text) != text.npos);
  }
}

TEST_CASE("kernels of a finding, what the cause takes and what the step gains are told apart") {
  std::string const text = sentences_of(answer(recording("gpt2-fused.strata")));
  CHECK(text.find("finding 1's kernels 1.87 ms (851 us to gain)") != text.npos);
  CHECK(text.find("The cause takes 1.71 ms, of which fixing it saves only 851 us") != text.npos);
}

TEST_CASE("the account names the limiter that tables show of a range with all of its kernels") {
  for (char const* const name : recordings) {
    CAPTURE(name);
    answer const a(recording(name));
    for (account_part const& part : a.input.account.parts) {
      if (part.kind != account_kind::at_roof || part.row == account_part::none) continue;
      range_row const& row = a.input.folded[part.row];
      if (row.self.kernels != row.total.kernels || part.name == "tensor") continue;
      CAPTURE(row.path);
      CHECK(a.input.limits[part.row].limiter.find(part.name) == 0);
    }
  }
}

TEST_CASE("all work together has one limiter, which answer, table and comparison name") {
  struct expected {
    char const* recording;
    char const* limiter;
    char const* of_comparison;
    char const* sentence;
  };
  constexpr expected all[] = {{"gpt2-fused.strata", "mixed (issue)", "no single limiter",
                               " No single limiter: issue for 32 % of the step, latency for 27 %,"},
                              {"pytorch-decode.strata", "HBM", "HBM",
                               " Limiters: HBM for 67 % of the step, latency for 16 %."},
                              {"pytorch-training.strata", "tensor", "tensor",
                               " Limiters: tensor for 49 % of the step, latency for 46 %."}};
  for (expected const& each : all) {
    CAPTURE(each.recording);
    profile const made = recording(each.recording);
    answer const a(made);
    INFO(a.input.findings.bound);
    CHECK(a.input.findings.bound.find(each.sentence) != std::string::npos);
    CHECK(a.input.limits[0].limiter == each.limiter);
    CHECK(make_run_tables(made).period.limit ==
          "GPU-bound (" + std::string(each.of_comparison) + ")");
  }
}

TEST_CASE("a finding without a gain is not said to gain less than alone") {
  answer const a(page_test::gpt2_sample().made);
  std::string const text = detail::together_text(a.input.findings, a.input.analysed);
  CHECK(text.find("Without findings 1 (launch-bound) and 3 (fp32-without-tensor") == 0);
  CHECK(text.find("less than alone") == std::string::npos);
}

TEST_CASE("a limiter with less than half of the busy time is no single one") {
  period_account account;
  account.period_ns = 100.0;
  auto const add = [&](account_kind kind, std::string_view name, double ns) {
    account.parts.emplace_back();
    account.parts.back().kind = kind;
    account.parts.back().name = name;
    account.parts.back().ns = ns;
  };
  add(account_kind::at_roof, "issue", 30.0);
  for (char const* const unit : {"HBM", "L2", "LSU", "FP64"}) add(account_kind::at_roof, unit, 9.0);
  CHECK(account.limiter() == "mixed");
  CHECK(account.limiters_text("step") == "No single limiter: issue for 30 % of the step.");
  // What was not counted may be limited by issue, too.
  add(account_kind::unknown, detail::not_known, 32.0);
  CHECK(account.limiter().empty());
  CHECK(account.limiters_text("step") ==
        "Limiters: not counted for 32 % of the step, issue for 30 %.");
}

TEST_CASE("all work that is mostly limited by latency says so, though HBM is used much") {
  program const p = half_and_nearly_all_of_hbm(0.95);
  answer const a(p.made);
  range_limit const& all = a.input.roofline.limits[0];
  CHECK(all.text == "latency");
  CHECK(all.kind == limiter::latency);
}

TEST_CASE("the limiter of most work has its own use, not that of the unit that is used most") {
  program p = half_and_nearly_all_of_hbm(0.98);
  p.use(p.attention, "issue", 0.9 * 0.56);
  p.use(p.mlp, "issue", 0.05 * 0.44);
  answer const a(p.made);
  CHECK(a.input.account.limiter() == "issue");
  CHECK(a.input.limits[0].limiter == "issue");
  CHECK(a.input.limits[0].use_percent ==
        doctest::Approx(100 * (0.9 * 0.56 + 0.05 * 0.44)).epsilon(0.01));
}

TEST_CASE("peaks of all formats are at one clock: TF32 has half of what was counted of BF16") {
  answer const a(recording("gpt2-fused.strata"));
  roofline_table const& roofline = a.input.roofline;
  CHECK(roofline.find("BF16 tensor")->origin == roof_origin::counted);
  CHECK(roofline.find("TF32 tensor")->origin == roof_origin::device_attributes);
  CHECK(roofline.rate_of("TF32 tensor") ==
        doctest::Approx(roofline.rate_of("BF16 tensor") / 2).epsilon(1e-4));
  CHECK(sentences_of(a).find("have 8 times that peak in TF32") != std::string::npos);
}

TEST_CASE("the account of random programs closes") {
  std::size_t with_between = 0;
  std::size_t with_twice = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    auto const how = static_cast<sample::step_end>(seed % 3);
    sample::random_steps program(seed, how);
    profile made = program.run(seed % 17);
    if (seed % 5 == 0) {  // recording slows its steps
      made.cost.unrecorded_steps = 5;
      made.cost.unrecorded_step_ns = answer(made).steps().mean_ns * 0.9;
    }
    if (seed % 7 == 0) made.losses.activity_dropped = 1;
    answer const a(made);
    closes(a.input);
    with_twice += ranges_count_once(a.input);
    if (a.steps().between_ns > 0.0) ++with_between;
  }
  CHECK(with_between > 50);
  CHECK(with_twice > 3);
}

TEST_CASE("the account of a run without work, and of host times alone") {
  program p;
  p.run(3, [&] { p.in(p.attention, [&](std::uint32_t) { p.now += 100 * us; }); });
  answer const idle(p.made);
  closes(idle.input);
  CHECK(idle.input.account.of(account_kind::idle) == doctest::Approx(100 * us));
  p.made.traced = false;
  answer const host(p.made);
  closes(host.input);
  REQUIRE(host.input.account.largest_unknown() != nullptr);
  CHECK(host.input.account.largest_unknown()->tells.text() == "STRATA=trace");
  profile const nothing;
  closes(answer(nothing).input);
}

TEST_CASE("the account: a unit at 80 % is a roof, a cause explains, the rest names what tells") {
  program p;
  std::uint32_t const gelu = p.node(0, "gelu");
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
    p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
    p.in(gelu, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us, 10); });
    p.wait();
  });
  for (std::uint32_t const where : {p.attention, p.mlp, gelu}) p.count_nothing(where);
  p.use(p.attention, "tensor", 0.85);
  p.use(p.mlp, "fma", 0.7);
  answer const a(p.made);
  closes(a.input);
  auto const of = [&](std::string_view path, account_kind kind) {
    double sum = 0.0;
    for (account_part const& part : a.input.account.parts)
      if (part.row < a.input.folded.size() && a.input.folded[part.row].path == path &&
          part.kind == kind)
        sum += part.ns;
    return sum;
  };
  CHECK(of("attention", account_kind::at_roof) == doctest::Approx(1000 * us).epsilon(0.01));
  // A limiter below 80 % needs its part; what the other part is for nobody knows.
  CHECK(of("mlp", account_kind::at_roof) == doctest::Approx(700 * us).epsilon(0.01));
  CHECK(of("mlp", account_kind::unknown) == doctest::Approx(300 * us).epsilon(0.01));
  REQUIRE(a.find("few-blocks") != nullptr);
  CHECK(of("gelu", account_kind::explained) == doctest::Approx(1000 * us).epsilon(0.01));
  // The answer says so, with the kernel, how near it is to a limit, and the command.
  std::string const text = sentences_of(a);
  CHECK(text.find("unknown: mlp, 300 us of the step (") != text.npos);
  CHECK(text.find("kernel work; the busiest unit, FMA, is at 70 % of its peak") != text.npos);
  CHECK(text.find("ncu --set full --kernel-name work") != text.npos);
  p.made.counter_sets.clear();
  answer const bare(p.made);
  closes(bare.input);
  REQUIRE(bare.input.account.largest_unknown() != nullptr);
  CHECK(bare.input.account.largest_unknown()->tells.text() == "STRATA=trace,counters=findings");
}

TEST_CASE("the account: a cause that gains little of a kernel's distance does not explain it") {
  program p = one_kernel();
  double const wavefronts = 0.3 * program::l1_peak * 1e6;
  p.l1(p.attention, 0.0, wavefronts);
  p.set(p.attention, "smsp__sass_data_bytes_mem_shared_op_ld.sum", 64.0 * wavefronts);
  p.set(p.attention, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", 0.5 * wavefronts);
  answer const a(p.made);
  closes(a.input);
  REQUIRE(a.find("bank-conflicts") != nullptr);
  CHECK(a.find("bank-conflicts")->cost_ns_per_step < 200 * us);
  double explained = 0.0;
  for (account_part const& part : a.input.account.parts)
    if (part.finding != account_part::none &&
        a.findings()[part.finding].rule == std::string_view("bank-conflicts"))
      explained += part.ns;
  CHECK(explained < 200 * us);
  std::string const text = sentences_of(a);
  INFO(text);
  CHECK(text.find("'s cause ") != text.npos);  // its kernel takes five times as long
}

TEST_CASE(
    "the account: what no unit needs of a kernel its warps wait for, where that was counted") {
  program p = one_kernel();
  std::string const memory = "smsp__warps_issue_stalled_long_scoreboard.sum";
  p.use(p.attention, "fma", 0.5);
  p.set(p.attention, memory, 0.6 * 132e6 * 32);
  answer const a(p.made);
  closes(a.input);
  CHECK(sum_of(a, account_kind::explained, "latency") == doctest::Approx(1000 * us).epsilon(0.01));
  CHECK(sentences_of(a).find("latency (long scoreboard) 1.00 ms") != std::string::npos);
  p.use(p.attention, "fma", 0.7);
  answer const limited(p.made);
  closes(limited.input);
  CHECK(sum_of(limited, account_kind::at_roof, "FMA") == doctest::Approx(700 * us).epsilon(0.01));
  CHECK(sum_of(limited, account_kind::explained, "latency") ==
        doctest::Approx(300 * us).epsilon(0.01));
  // Most of what warps wait for was not counted: then it is not known.
  p.set(p.attention, memory, 0.3 * 132e6 * 32);
  CHECK(sum_of(answer(p.made), account_kind::unknown, "FMA") ==
        doctest::Approx(300 * us).epsilon(0.01));
}

TEST_CASE("the account: what is unknown names a kernel that no finding explains") {
  program p;
  p.made.kernel_names.push_back({"matvec"});
  p.made.kernel_names.push_back({"norm"});
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.kernel_of(at, 600 * us, 20);  // few-blocks explains it
      p.kernel_of(at, 580 * us).name = 2;
      p.kernel_of(at, 500 * us).name = 3;
    });
    p.wait();
  });
  p.count_nothing(p.attention);
  answer const a(p.made);
  closes(a.input);
  REQUIRE(a.find("few-blocks") != nullptr);
  CHECK(a.find("few-blocks")->ranges[0].kernel == "work");
  CHECK(a.find("few-blocks")->evidence[0].kernel == "work");
  REQUIRE(a.input.account.largest_unknown() != nullptr);
  CHECK(a.input.account.largest_unknown()->about.find("longest kernel without a finding matvec") ==
        0);
}

TEST_CASE("the account: of several kernels the tensor cores work for those that may multiply") {
  program p;
  p.made.kernel_names[0].mangled = "my_gemm";
  p.made.kernel_names.push_back({"add_residual"});
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.kernel_of(at, 600 * us);
      p.kernel_of(at, 400 * us).name = 2;
    });
    p.wait();
  });
  p.count_nothing(p.attention);
  auto const at_roof = [&](double use) {
    p.use(p.attention, "tensor", use);
    answer const a(p.made);
    closes(a.input);
    return sum_of(a, account_kind::at_roof, "tensor");
  };
  CHECK(at_roof(0.42) == doctest::Approx(420 * us).epsilon(0.01));  // of 600 us 70 %
  CHECK(at_roof(0.5) == doctest::Approx(600 * us).epsilon(0.01));   // 83 %
  CHECK(at_roof(0.3) == 0.0);                                       // 50 %: no limiter
  p.made.kernel_names[1].mangled = "mine";                          // which may be a product, too
  CHECK(at_roof(0.42) == 0.0);
}

TEST_CASE("the account: of a row that stands for many ranges no count tells more") {
  program p = one_kernel();
  p.made.names[p.made.nodes[p.attention].name] = "[other names]";
  answer const a(p.made);
  closes(a.input);
  REQUIRE(a.input.account.largest_unknown() != nullptr);
  CHECK(a.input.account.largest_unknown()->tells.text().find("fewer names of ranges") == 0);
}

TEST_CASE("the account: copies beside kernels take no time of their own") {
  for (copy_kind const kind : {copy_kind::host_to_device, copy_kind::device_to_device}) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
      std::int64_t const end = p.free;
      p.copy_of(p.other, kind, 600 * us, false, 30u << 20);
      p.free = end;
      p.wait();
    });
    answer const a(p.made);
    closes(a.input);
    CHECK(sum_of(a, account_kind::explained, "copies") == 0.0);
    CHECK(a.input.account.of(account_kind::unknown) == doctest::Approx(1000 * us).epsilon(0.01));
  }
}

TEST_CASE("the account: idle time of small copies is not taken from the finding of a large one") {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 100 * us); });
    p.wait();
    p.in(p.mlp, [&](std::uint32_t at) {
      p.copy_of(at, copy_kind::device_to_host, 2000 * us, false, 100u << 20);
      for (int i = 0; i < 100; ++i)
        p.copy_of(at, copy_kind::device_to_device, 2 * us, false, 32u << 10);
    });
    p.wait();
  });
  answer const a(p.made);
  closes(a.input);
  std::vector<finding> const& found = a.input.findings.findings;
  REQUIRE(found.size() >= 2);
  CHECK(found[0].rule == "copy-in-step");
  CHECK(found[1].rule == "device-copy");
  CHECK(copies_explained(a.input) == doctest::Approx(2000 * us).epsilon(0.01));
  std::size_t idle_parts = 0;
  for (account_part const& part : a.input.account.parts) {
    if (part.kind != account_kind::idle || part.name != to_string(idle_cause::copy)) continue;
    CHECK(part.finding == 1);
    ++idle_parts;
  }
  CHECK(idle_parts == 1);
}

TEST_CASE("the account: kernels at the same time take nothing of copies that run alone") {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.kernel_of(at, 1000 * us);
      p.free -= 500 * us;
      p.kernel_of(at, 1000 * us).stream = 9;
    });
    p.wait();
    p.copy_of(p.other, copy_kind::device_to_host, 300 * us, false, 15u << 20);
  });
  answer const a(p.made);
  closes(a.input);
  CHECK(sum_of(a, account_kind::explained, "copies") == doctest::Approx(300 * us));
  CHECK(a.input.account.busy_ns() == doctest::Approx(1800 * us).epsilon(0.01));
}

TEST_CASE("the account: short kernels take their start and end, whatever they do") {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (int i = 0; i < 100; ++i) p.kernel_of(at, 4 * us);
      p.kernel_of(at, 500 * us);
    });
    p.wait();
  });
  answer const a(p.made);
  closes(a.input);
  CHECK(sum_of(a, account_kind::explained, detail::kernel_ends) ==
        doctest::Approx(101 * us).epsilon(0.05));
  // The shortest kernel of the run tells how long that is, if it is shorter.
  p.made.kernel_names.push_back({"fill"});
  p.made.kernels.back().end = p.made.kernels.back().begin + 500;
  p.made.kernels.back().name = 2;
  answer const shorter(p.made);
  CHECK(sum_of(shorter, account_kind::explained, detail::kernel_ends) ==
        doctest::Approx(50 * us).epsilon(0.05));
  // Of long kernels it says nothing.
  program sound = one_kernel();
  sound.made.counter_sets.clear();
  CHECK(sum_of(answer(sound.made), account_kind::explained, detail::kernel_ends) == 0.0);
}

namespace {

/// Kernels of three names in a range of 1 ms: 20 of 8 blocks. Warps wait for memory for 49 % of the
/// time, issue for 3 %, and the rest was not counted.
program several_kernels(bool in_graph) {
  program p;
  p.made.kernel_names.push_back({"rope"});
  p.made.kernel_names.push_back({"quantize"});
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      std::uint32_t const graph = in_graph ? p.api(at, 20 * us, api_kind::graph_launch) : 0;
      for (int i = 0; i < 22; ++i) {
        kernel_record& made = p.kernel_of(at, i < 20 ? 5 * us : 450 * us, i < 20 ? 8 : 1000);
        made.name = i < 20 ? 3 : static_cast<std::uint32_t>(i - 19);
        if (!in_graph) continue;
        made.correlation = graph;
        p.made.launches.pop_back();
      }
    });
    p.wait();
  });
  p.count_nothing(p.attention);
  for (char const* name : {"gpu__time_duration.sum", "dram__cycles_elapsed.avg",
                           "lts__cycles_elapsed.avg", "gpc__cycles_elapsed.avg"})
    p.set(p.attention, name, 1e6);
  p.set(p.attention, "smsp__warps_issue_stalled_long_scoreboard.sum", 132e6 * 32 * 0.49);
  return p;
}

}  // namespace

TEST_CASE("the account: kernels with few blocks, and what those of a graph wait for") {
  answer const apart(several_kernels(false).made);
  INFO(apart.all());
  closes(apart.input);
  CHECK(sum_of(apart, account_kind::explained, detail::with_few_blocks) ==
        doctest::Approx(80 * us).epsilon(0.05));
  CHECK(apart.input.account.of(account_kind::unknown) > 600 * us);
  answer const in_graph(several_kernels(true).made);
  INFO(in_graph.all());
  closes(in_graph.input);
  CHECK(sum_of(in_graph, account_kind::explained, "latency") > 600 * us);
  CHECK(in_graph.input.account.of(account_kind::unknown) == 0.0);
}

TEST_CASE(
    "work of a thread in no range is named as that, with the mark that brings it to a range") {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 100 * us); });
    p.kernel_of(0, 1000 * us);
    p.made.launches.back().thread = 5;
    p.wait();
  });
  auto const unknown = [&] { return detail::unknown_text(answer(p.made).input); };
  CHECK(unknown().find("launched by thread 5, which is in no range: mark what it does") !=
        std::string::npos);
  p.made.environment.command = "python3 train.py";
  CHECK(unknown().find("thread 5, which is in no range (in PyTorch the backward pass") !=
        std::string::npos);
  p.made.threads.push_back({5, 0, "pt_autograd_0"});
  CHECK(unknown().find("launched by pt_autograd_0, which is in no range (PyTorch's backward pass: "
                       "put a range around loss.backward()); kernel work") != std::string::npos);
  // What the thread of the steps launches outside ranges is of no other thread.
  for (driver_call_record& call : p.made.launches) call.thread = 0;
  CHECK(unknown().find("launched by") == std::string::npos);
}

TEST_CASE("host work, waits, allocations and copies between steps are found as those within") {
  struct planted {
    char const* rule;
    char const* cause;
    void (*between)(program&);
  };
  constexpr planted all[] = {
      {"gap-between-ranges", "host work", [](program& p) { p.now += 2000 * us; }},
      {"host-work", "host work",
       [](program& p) { p.in(p.other, [&](std::uint32_t) { p.now += 2000 * us; }); }},
      {"wait-in-step", "wait", [](program& p) { p.api(0, 2000 * us, api_kind::wait); }},
      {"allocation-in-step", "allocation",
       [](program& p) { p.api(p.other, 2000 * us, api_kind::allocate); }},
      {"pageable-copy", "",
       [](program& p) {
         p.copy_of(p.other, copy_kind::device_to_host, 2000 * us - 5 * us, true, 10u << 20);
       }},
      {"copy-in-step", "",
       [](program& p) {
         p.copy_of(p.other, copy_kind::host_to_device, 2000 * us - 5 * us, false, 100u << 20);
       }},
      {"launch-bound", "launch", [](program& p) {
         for (int i = 0; i < 100; ++i) p.api(p.other, 20 * us, api_kind::launch);
       }}};
  for (planted const& each : all) {
    CAPTURE(each.rule);
    program const p = with_time_between(each.between);
    answer const a(p.made);
    closes(a.input);
    CHECK(a.steps().mean_ns == doctest::Approx(1900 * us).epsilon(0.05));
    CHECK(a.steps().between_ns == doctest::Approx(2000 * us).epsilon(0.01));
    bool const is_copy = *each.cause == '\0';  // the GPU works meanwhile
    CHECK((is_copy ? sum_of(a, account_kind::explained, "copies")
                   : sum_of(a, account_kind::between, each.cause)) ==
          doctest::Approx(2000 * us).epsilon(0.02));
    INFO(a.all());
    REQUIRE_FALSE(a.findings().empty());
    finding const& first = a.findings()[0];
    CHECK(first.rule == each.rule);
    CHECK(first.title.find("between steps") != first.title.npos);
    // What pinned copies of as many bytes take stays of a pageable one.
    bool const is_pageable = first.rule == "pageable-copy";
    double const gained = is_pageable ? 1800 * us : 2000 * us;
    CHECK(first.gain_ns(a.steps().period_ns()) == doctest::Approx(gained).epsilon(0.05));
    CHECK(first.predicted_step_ns == doctest::Approx(a.steps().period_ns() - gained).epsilon(0.05));
    // Half of the period lies between steps.
    std::string const text = sentences_of(a);
    CHECK(text.find("GPU-bound") == text.npos);
    CHECK((text.find("mostly with copies") != text.npos) == is_copy);
    CHECK(text.find("of the period") != text.npos);
    CHECK(text.find("A period is a step of 1.9") != text.npos);
    CHECK(text.find("between steps") != text.npos);
  }
}

TEST_CASE("between steps: their work is busy time, a rare pause is none, little is nothing") {
  program const works = with_time_between([](program& p) {
    p.now += 500 * us;
    p.kernel_of(p.other, 1000 * us);
    p.wait();
  });
  answer const a(works.made);
  closes(a.input);
  CHECK(a.steps().between_busy_ns == doctest::Approx(1000 * us).epsilon(0.01));
  CHECK(a.input.account.busy_ns() == doctest::Approx(2890 * us).epsilon(0.01));
  CHECK(sum_of(a, account_kind::between, "host work") == doctest::Approx(500 * us).epsilon(0.05));

  program paused;
  for (int i = 0; i < 30; ++i) {
    paused.run(1, [&] {
      paused.in(paused.attention, [&](std::uint32_t at) { paused.kernel_of(at, 1000 * us); });
      paused.wait();
    });
    if (i == 20) paused.now += 500'000 * us;
  }
  CHECK(answer(paused.made).steps().between_ns == 0.0);
  CHECK(answer(with_time_between([](program& p) { p.now += 10 * us; }).made).steps().between_ns ==
        0.0);
}

TEST_CASE("tokens a second, shares and predictions are of the period") {
  program p = with_time_between([](program& of) { of.now += 1900 * us; });
  answer const a(p.made);
  std::string console;
  {
    detail::text_writer out(console);
    table_options wide;
    wide.width = 240;
    write_table(out, a.input, wide);
  }
  CHECK(console.find("% of period") != console.npos);
  CHECK(console.find("GPU busy 1.89 ms (49.") != console.npos);
  CHECK(console.find("until the next; period 3.80") != console.npos);
  page_test::page_tables const tables(p.made);
  nlohmann::json const data = nlohmann::json::parse(tables.data());
  CHECK(data["answer"]["step"]["period_ns"].get<double>() ==
        doctest::Approx(a.steps().period_ns()).epsilon(1e-3));
  double sum = 0.0;
  for (char const* const key : {"busy", "idle", "between"})
    for (std::size_t i = 2; i < data["budget"][key].size(); i += 4)
      sum += data["budget"][key][i].get<double>();
  CHECK(sum == doctest::Approx(a.steps().period_ns()).epsilon(1e-3));
}

TEST_CASE("where recording slows steps, title, evidence, cost and budget are of one step") {
  profile const made = recording("llama-decode.strata");
  answer const a(made);
  REQUIRE(a.steps().is_slowed());
  CHECK(a.input.account.period_ns == doctest::Approx(made.cost.unrecorded_step_ns));
  for (finding const& found : a.findings()) {
    CAPTURE(found.rule);
    double costs = 0.0;
    for (finding_range const& range : found.ranges) costs += range.cost_ns_per_step;
    CHECK(costs <= found.cost_ns_per_step * 1.001);
    double idle = 0.0;
    for (finding_evidence const& value : found.evidence)
      if (value.column == "gpu_idle_ns") idle += value.value;
    CHECK(idle <= a.steps().period_idle_ns() * 1.001);
    if (found.rule != "wait-in-step") continue;
    CHECK(found.title.find(detail::time_text(idle)) != found.title.npos);
  }
}

TEST_CASE("evidence is in words: no output shows the name of a column") {
  auto const all_words = [](report_input const& input) {
    for (detail::finding_view const& view : detail::view_findings(input.findings, input.analysed))
      for (detail::evidence_view const& value : view.evidence) {
        std::string const column(value.column);
        bool const is_key = column.find('_') != column.npos;
        CHECK_MESSAGE(!(is_key && value.text.find(column) != value.text.npos), value.text);
      }
  };
  for (char const* const name : recordings) all_words(answer(recording(name)).input);
  program p = one_kernel(10);
  all_words(answer(p.made).input);
  program slow;  // a first step and a slow one
  for (int i = 0; i < 20; ++i)
    slow.run(1, [&] {
      slow.in(slow.attention, [&](std::uint32_t at) { slow.kernel_of(at, 1000 * us); });
      slow.wait();
      if (i == 0 || i == 10) slow.now += 20'000 * us;
    });
  answer const a(slow.made);
  CHECK(a.find("first-step") != nullptr);
  all_words(a.input);
}

TEST_CASE("recordings for the test of outputs") {  // tests/script/check_consistency.py
  char const* const folder = std::getenv("STRATA_TEST_RECORDINGS");
  if (folder == nullptr) return;
  auto const write = [&](std::string const& name, profile const& made) {
    std::ofstream file(std::string(folder) + "/" + name + ".strata", std::ios::binary);
    file << report_test::recording_of(made);
    CHECK(file.good());
  };
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    auto const how = static_cast<sample::step_end>(seed % 3);
    sample::random_steps program(seed, how);
    profile made = program.run(seed % 4 == 0 ? 0 : 8);
    if (seed % 5 == 0) {
      made.cost.unrecorded_steps = 5;
      made.cost.unrecorded_step_ns = answer(made).steps().mean_ns * 0.9;
    }
    if (seed % 6 == 0) made.environment.rank = static_cast<std::int32_t>(seed / 6);
    write("random" + std::to_string(seed), made);
    if (seed != 1) continue;
    for (kernel_record& kernel : made.kernels) kernel.begin = kernel.end = lost_time;
    for (copy_record& copy : made.copies) copy.begin = copy.end = lost_time;
    made.losses.timestamps_lost = made.kernels.size() + made.copies.size();
    write("lost", made);
  }
  write("between", with_time_between([](program& p) {
                     p.now += 1500 * us;
                     p.in(p.other, [&](std::uint32_t at) { p.kernel_of(at, 300 * us); });
                     p.wait();
                   }).made);
  write("counted", page_test::gpt2_sample().made);
  // More ranges than a page shows, in a run without steps.
  page_test::gpt2_sample many(1, 2);
  many.made.has_steps = false;
  many.made.steps.clear();
  for (std::uint32_t i = 0; i < 2000; ++i) {
    std::int64_t const now = many.made.end + 2000 * i;
    std::uint32_t const at = many.node(0, "range " + std::to_string(i));
    many.call(at, now, now + 1500).step = no_step;
    std::uint32_t const correlation = many.made.launches.back().correlation + 1;
    many.made.launches.push_back({now, now + 10, correlation, at, no_step, 0, api_kind::launch, 0});
    kernel_record kernel = many.made.kernels.back();
    kernel.node = at;
    kernel.correlation = correlation;
    kernel.begin = now + 20;
    kernel.end = now + 1000;
    many.made.kernels.push_back(kernel);
  }
  many.made.end += 2000 * 2000;
  many.made.cost.seconds_in_window = static_cast<double>(many.made.end) * 1e-9;
  write("many", many.made);
}

}  // namespace account_test
