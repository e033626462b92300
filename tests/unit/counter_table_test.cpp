#include <doctest/doctest.h>
#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/counter_table.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "counter_sample.hpp"
#include "profile_checks.hpp"

namespace counter_table_test {

using namespace counter_test;
using test::counted;

namespace {

bool mentions(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("rates: counts of a counted step by the time of a timed one") {
  counted const t(counter_sample().made);
  CHECK(t.total("step/block[0]/mlp", "timed_gpu_seconds") == doctest::Approx(200e-9));
  CHECK(t.total("step/block[0]/mlp", "hbm_bytes_per_second") == doctest::Approx(1.5e9));
  CHECK(t.total("step/block[0]/attention", "hbm_bytes_per_second") == doctest::Approx(1.5e9));
  CHECK(t.total("step/block[0]/attention", "hbm_of_peak") == doctest::Approx(37.5));
  CHECK(t.total("step/block[0]/attention", "flop_per_second") == doctest::Approx(20e6));
  CHECK(t.total("step/block[0]/attention", "fp32_of_peak") == doctest::Approx(100.0 * 20e6 / 12e9));
  CHECK(t.total("step/block[0]/attention", "flop_per_hbm_byte") == doctest::Approx(20.0 / 1500));
  double const busy = 500 + 2 * 1000 + 2 * 200;  // ns a step
  CHECK(t.total("step", "hbm_bytes_per_second") == doctest::Approx(6000 / busy * 1e9));
  CHECK(t.note("step", "hbm_bytes_per_second") ==
        "counted in one step, mean GPU time of 2 timed steps");
  CHECK(t.note("step", "flop_per_hbm_byte") == "without tensor cores");
  CHECK(t.table.metrics[t.table.find("hbm_of_peak")].method == counter_method::counted_and_timed);
  CHECK(t.table.metrics[t.table.find("timed_gpu_seconds")].method == counter_method::timed);
  CHECK(t.table.metrics[t.table.find("l1_hit_rate")].method == counter_method::derived);
  CHECK(t.table.metrics[t.table.find("hbm_bytes")].method == counter_method::derived);
  CHECK(t.table.metrics[t.table.find("hbm_read_bytes")].method == counter_method::counted);
  CHECK(t.table.metrics[t.table.find("flop_per_hbm_byte")].method == counter_method::derived);
  // The busy time of a range without those below it is not known.
  CHECK(std::isnan(t.self("step", "hbm_bytes_per_second")));
  CHECK(mentions(t.note("step", "hbm_bytes_per_second", counter_scope::self), "ranges below"));
  // No roof of L1 was asked for, and no bytes of L1.
  CHECK(t.table.find("l1_of_peak") == counter_table::none);
  CHECK(t.table.find("tensor_flop_per_second") == counter_table::none);
}

TEST_CASE("a sampled value of 0 shows its interval") {
  counter_sample s;
  counter_set& set = s.counted();
  set.method = strata::counting::sampled;
  std::string const deviates = strata::detail::sampled_names::variance("dram__bytes_read.sum");
  set.names.push_back(deviates);
  s.set(s.mlp0, "dram__bytes_read.sum", 0.0);
  s.set(s.mlp0, deviates, 100.0);
  counted const t(s.made);
  counter_cell const cell = t.cell("step/block[0]/mlp", "hbm_read_bytes");
  CHECK(cell.value == 0.0);
  CHECK(cell.plus_minus > 0.0);
  CHECK(cell.plus_minus <= 20.0);
}

TEST_CASE("a modelled value whose interval says little is empty, and counts in the sum above") {
  using names = strata::detail::sampled_names;
  counter_sample s;
  counter_set& set = s.counted();
  set.method = strata::counting::sampled;
  strata::resolved_metric energy;
  energy.key = std::string(names::energy);
  energy.formula = std::string(names::energy_counter);
  energy.counters.push_back(energy.formula);
  set.metrics.metrics.push_back(energy);
  set.names.push_back(energy.formula);
  set.names.push_back(names::variance(names::energy_counter));
  s.set(s.attention0, energy.formula, 90.0);
  s.set(s.attention0, names::variance(names::energy_counter), 100.0);  // +- 20
  s.set(s.mlp0, energy.formula, 30.0);
  s.set(s.mlp0, names::variance(names::energy_counter), 100.0);
  counted const t(s.made);
  CHECK(t.total("step/block[0]/attention", "energy") > 0.0);
  CHECK(std::isnan(t.total("step/block[0]/mlp", "energy")));
  CHECK(mentions(t.note("step/block[0]/mlp", "energy"), "not separable from other ranges"));
  CHECK(t.total("step/block[0]", "energy") ==
        doctest::Approx(4.0 / 3.0 * t.total("step/block[0]/attention", "energy")));
}

TEST_CASE("a range that is counted in the one above says so") {
  using names = strata::detail::sampled_names;
  counter_sample s;
  counter_set& set = s.counted();
  set.method = strata::counting::sampled;
  set.names.emplace_back(names::work);
  set.names.emplace_back(names::merged);
  set.values.clear();
  s.set(s.step, "dram__bytes_read.sum", 500.0);
  s.set(s.mlp0, std::string(names::merged), 1.0);
  counted const t(s.made);
  CHECK(t.note("step/block[0]/mlp", "hbm_read_bytes") ==
        "not separable from ranges beside it: counted in the range above them");
  CHECK(mentions(t.note("step/block[1]/mlp", "hbm_read_bytes"), "no kernel or copy of it"));
}

TEST_CASE("a step or none: at least one timed step") {
  counter_sample s;
  s.made.steps.clear();
  counted const none(s.made);
  CHECK(none.table.timed_steps == 1);
  CHECK(none.total("step/block[0]/attention", "timed_gpu_seconds") == doctest::Approx(2000e-9));
  CHECK(mentions(none.note("step", "timed_gpu_seconds"), "one timed step"));
}

TEST_CASE("calls that differ from step to step are told") {
  counter_sample s;
  s.call(s.mlp0, 10, 20);
  counted const t(s.made);
  CHECK(t.note("step/block[0]/mlp", "hbm_bytes_per_second") ==
        "counted in one step, mean GPU time of 2 timed steps; calls differ from step to step: 3 in "
        "2 timed steps");
}

TEST_CASE("more than the peak is no value, and not silent") {
  counter_sample s;
  s.set(s.attention0, "dram__bytes_read.sum", 7500);
  counted const t(s.made);
  CHECK(std::isnan(t.total("step/block[0]/attention", "hbm_of_peak")));
  CHECK(t.total("step/block[0]/attention", "hbm_bytes") == 8000);
  CHECK(mentions(t.note("step/block[0]/attention", "hbm_of_peak"), "above 100 %"));
  CHECK_FALSE(mentions(t.note("step/block[1]/attention", "hbm_of_peak"), "above 100"));
  // Of 4 GB/s, in 1000 ns; 8,300 B in 1,200 ns; 12,500 B in 2,900 ns, all.
  double const percents[] = {107.759, 107.759, 172.917, 200};
  REQUIRE(t.table.above_peak.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    counter_table::share_above_peak const& share = t.table.above_peak[i];
    CHECK(t.table.metrics[share.metric].key == "hbm_of_peak");
    CHECK(share.percent == doctest::Approx(percents[i]).epsilon(1e-5));
  }
  CHECK(t.tree.rows()[t.table.above_peak[3].row].path == "step/block[0]/attention");
}

TEST_CASE("a ratio whose parts come from different passes is no more than 100 % either") {
  counter_sample s;
  s.set(s.attention0, "l1tex__t_sectors.sum", 100);
  s.set(s.attention0, "l1tex__t_sectors_lookup_hit.sum", 104);
  counted const near(s.made);
  CHECK(near.total("step/block[0]/attention", "l1_hit_rate") == 100.0);
  CHECK(mentions(near.note("step/block[0]/attention", "l1_hit_rate"), "100 for 104.0: the passes"));
  s.set(s.attention0, "l1tex__t_sectors_lookup_hit.sum", 106);
  counted const far(s.made);
  CHECK(std::isnan(far.total("step/block[0]/attention", "l1_hit_rate")));
  CHECK(mentions(far.note("step/block[0]/attention", "l1_hit_rate"), "above 100 %: its parts"));
  CHECK(far.table.above_peak.empty());
}

TEST_CASE("a little more than the peak is rounded to it, and says so") {
  struct share {
    double bytes;  // 40 are 1 %
    double shown;
    char const* note;
  };
  for (share const& each :
       {share{3999.0, 99.975, ""}, share{4001.0, 100.0, "100 for 100.0: the clocks"},
        share{4199.0, 100.0, "100 for 105.0: the clocks"}, share{4201.0, -1.0, "above 100 %"}}) {
    CAPTURE(each.bytes);
    counter_sample s;
    s.set(s.attention0, "dram__bytes_read.sum", each.bytes - 500);
    counted const t(s.made);
    double const shown = t.total("step/block[0]/attention", "hbm_of_peak");
    CHECK((each.shown < 0.0 ? std::isnan(shown) : shown == doctest::Approx(each.shown)));
    std::string const note = t.note("step/block[0]/attention", "hbm_of_peak");
    CHECK(mentions(note, each.note));
    CHECK(mentions(note, "100") == (each.bytes > 4000));
    CHECK(t.table.above_peak.size() == (each.shown < 0.0 ? 1 : 0));
  }
}

TEST_CASE("ranges that launch nothing have no values") {
  counted const t(counter_sample().made);
  CHECK(t.note("load", "hbm_bytes") == "never launched anything");
  CHECK(t.note("load", "hbm_bytes_per_second") == "never launched anything");
  CHECK(t.note("step/block[0]", "hbm_bytes", counter_scope::self) ==
        "never launched anything itself");
  CHECK(t.note("load", "l2_hit_rate").substr(0, 15) == "this chip lacks");
}

TEST_CASE("what the chip lacks has a column without values") {
  counted const t(counter_sample().made);
  CHECK(std::isnan(t.total("step", "l2_hit_rate")));
  CHECK(t.note("step", "l2_hit_rate") ==
        "this chip lacks lts__t_sectors_lookup_hit.sum, lts__t_sectors_lookup_miss.sum");
  CHECK(t.table.metrics[t.table.find("l2_hit_rate")].unit == "%");
}

TEST_CASE("a pass that was not reached: no value, not even for optional inputs") {
  counter_sample s("hbm_bytes+tensor_fp16+tensor_bf16+tensor_flop");
  s.counted().passes = 6;
  s.counted().passes_done = 2;
  s.counted().names = {"dram__bytes_read.sum", "dram__bytes_write.sum",
                       "sm__ops_path_tensor_src_fp16.sum"};
  s.counted().values.clear();
  s.set(s.attention0, "dram__bytes_read.sum", 10);
  s.set(s.attention0, "dram__bytes_write.sum", 5);
  s.set(s.attention0, "sm__ops_path_tensor_src_fp16.sum", 60);
  counted const t(s.made);
  CHECK(t.total("step", "tensor_fp16") == 60);
  CHECK(std::isnan(t.total("step", "tensor_bf16")));
  CHECK(std::isnan(t.total("step", "tensor_flop")));  // 60 would be less than there was
  CHECK(t.note("step", "tensor_flop") ==
        "not reached: the program ended after 2 of 6 counting steps");
  CHECK(std::isnan(t.total("step", "flop_per_hbm_byte")));
  s.counted().passes = 2;
  counted const refused(s.made);
  CHECK(mentions(refused.note("step", "tensor_bf16"),
                 "CUPTI did not count sm__ops_path_tensor_src_bf"));
}

TEST_CASE("what was left out on purpose has its reason, in every metric that needs it") {
  counter_sample s("hbm_bytes+flop+tensor_bf16+tensor_flop");
  metric_set const& set = s.counted().metrics;
  s.counted().names.clear();
  s.counted().values.clear();
  s.counted().left_out.clear();
  for (std::string const& name : set.counters()) {
    if (instruments_kernels(name)) {
      s.counted().left_out.push_back({name, "left out: " + name});
    } else {
      s.counted().names.push_back(name);
      s.set(s.attention0, name, 10);
    }
  }
  REQUIRE(s.counted().left_out.size() == 18);
  counted const t(s.made);
  CHECK(t.total("step", "hbm_bytes") == 20);
  for (char const* key : {"ffma", "flop_fp32", "flop", "flop_per_second", "flop_per_hbm_byte"}) {
    CAPTURE(key);
    CHECK(std::isnan(t.total("step", key)));
    CHECK(mentions(t.note("step", key), "left out: smsp__sass_thread_inst_executed_op_"));
  }
  CHECK(t.total("step", "tensor_flop") > 0);

  // The same where nothing at all was counted.
  s.counted().values.clear();
  CHECK(mentions(counted(s.made).note("step", "ffma"), "left out: smsp__sass"));

  // An optional input that was left out is no 0.
  s.counted().left_out = {{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "left out: tensor"}};
  s.counted().names = {"dram__bytes_read.sum", "dram__bytes_write.sum"};
  s.set(s.attention0, "dram__bytes_read.sum", 10);
  s.counted().metrics = resolve_metrics({"tensor_bf16", "tensor_flop"}, [](std::string const& n) {
    return n == "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
  });
  counted const optional(s.made);
  CHECK(std::isnan(optional.total("step", "tensor_flop")));
  CHECK(optional.note("step", "tensor_flop") == "left out: tensor");
}

TEST_CASE("what CUPTI gave no value for is unknown in every sum") {
  counter_sample s;
  s.set(s.mlp0, "dram__bytes_read.sum", sample::not_given);
  s.set(s.mlp1, "dram__bytes_write.sum", std::numeric_limits<double>::infinity());
  s.set(s.mlp0, "dram__bytes.sum.peak_sustained", sample::not_given);
  counted const t(s.made);
  CHECK(std::isnan(t.total("step/block[0]", "hbm_bytes")));
  CHECK(t.note("step/block[0]", "hbm_bytes") == "CUPTI gave no value for dram__bytes_read.sum");
  CHECK(t.note("step/block[1]/mlp", "hbm_bytes") ==
        "CUPTI gave no value for dram__bytes_write.sum");
  CHECK(std::isnan(t.total("step", "hbm_bytes_per_second")));
  CHECK(t.total("step/block[1]/attention", "hbm_bytes") == 3500);
  CHECK(t.total("step/block[0]", "hbm_peak_bytes_per_cycle") == 2);  // another range tells it
}

TEST_CASE("a range that only the counting steps met has a row") {
  counter_sample s;
  std::uint32_t const late = s.node(s.step, "late");
  s.set(late, "dram__bytes_read.sum", 9);
  s.set(late, "dram__bytes_write.sum", 2);
  counted const t(s.made);
  CHECK(t.total("step/late", "hbm_bytes") == 11);
  CHECK(t.total("step", "hbm_bytes") == 6011);
}

TEST_CASE("counting steps with other work are told from those with the same") {
  counter_sample s;
  auto const saw = [&](std::uint32_t node, std::uint32_t pass, std::uint64_t what,
                       std::uint64_t shapes, double threads) {
    s.counted().work.push_back({node, pass, 2, 0, what, shapes, threads});
  };
  for (std::uint32_t pass = 0; pass < 3; ++pass) {
    saw(s.mlp0, pass, 5, 6, 100);
    saw(s.attention0, pass, 7, 8 + pass, 100 + 10 * pass);       // a growing cache
    saw(s.attention1, pass, pass == 1 ? 9 : 10, 8, 100 + pass);  // another kernel
  }
  counted const all(s.made);
  CHECK(all.note("step/block[0]/mlp", "hbm_bytes").empty());
  CHECK(all.total("step/block[0]/attention", "hbm_bytes") == 1500);
  std::string const varying =
      "varying: the counting steps ran the same kernels with other grids, 100 to 120 threads";
  CHECK(all.note("step/block[0]/attention", "hbm_bytes") == varying);
  CHECK(mentions(all.note("step/block[0]", "hbm_bytes"), "varying"));
  CHECK(std::isnan(all.total("step/block[1]/attention", "hbm_bytes")));
  CHECK(all.note("step/block[1]/attention", "hbm_bytes") ==
        "inconsistent: the counting steps ran other kernels, 2 to 2 launches");
  CHECK(all.total("step/block[1]/mlp", "hbm_bytes") == 600);
  CHECK(all.work("step/block[0]/attention") == varying);
  CHECK(all.work("step/block[0]") == "");  // did nothing itself

  std::uint64_t const timed = all.tree.rows()[1].total.launches;  // of the step
  CHECK(timed != 2 * 6);
  CHECK(std::isnan(all.total("step/block[0]", "hbm_bytes_per_second")));
  CHECK(all.note("step/block[0]", "hbm_bytes_per_second") ==
        "a counted step launched 4, a timed one 2.0");

  // A metric of one step alone belongs to one work, whatever the others did.
  s.counted().origins.assign(s.counted().names.size(), {2, 1});
  counted const one(s.made);
  CHECK(one.total("step/block[1]/attention", "hbm_bytes") == 3500);
  CHECK(one.note("step/block[1]/attention", "hbm_bytes").empty());
  CHECK(one.table.metrics[one.table.find("hbm_bytes")].passes == strata::vec<std::uint32_t>{2});
  CHECK(one.table.metrics[one.table.find("timed_gpu_seconds")].passes.empty());

  s.counted().work[0].foreign = 1;
  s.counted().origins.clear();
  CHECK(counted(s.made).note("step/block[0]/mlp", "hbm_bytes") ==
        "1 launch of other threads counted with it, timed elsewhere");
}

TEST_CASE("rates are of the work that was timed, by its launches") {
  struct launches {
    std::uint32_t counted;
    std::uint32_t timed;  // of two steps
    bool same;
  };
  for (launches const& each :
       {launches{10, 20, true}, launches{9, 20, true}, launches{11, 20, true},
        launches{8, 20, false}, launches{12, 20, false}, launches{10, 22, true},
        launches{9, 19, true}}) {
    CAPTURE(each.counted);
    CAPTURE(each.timed);
    counter_sample s;
    for (std::uint32_t more = 2; more < each.timed; ++more) s.launch(s.mlp0, 1, 2);
    for (std::uint32_t pass = 0; pass < 3; ++pass)
      s.counted().work.push_back({s.mlp0, pass, each.counted, 0, 5, 6, 100});
    counted const t(s.made);
    std::size_t row = 0;
    while (t.tree.rows()[row].path != "step/block[0]/mlp") ++row;
    CHECK(t.table.is_timed_work(row, counter_scope::self) == each.same);
    CHECK(t.table.is_timed_work(row, counter_scope::total) == each.same);
    CHECK(t.total("step/block[0]/mlp", "hbm_bytes") == 300);  // what was counted stays
    CHECK(std::isnan(t.total("step/block[0]/mlp", "hbm_bytes_per_second")) == !each.same);
    CHECK(std::isnan(t.total("step/block[0]/mlp", "hbm_of_peak")) == !each.same);
    CHECK(t.total("step/block[0]/mlp", "timed_gpu_seconds") == doctest::Approx(200e-9));
  }
}

TEST_CASE("rates are of the work that was timed: launches of other threads are timed elsewhere") {
  counter_sample s;
  for (std::uint32_t pass = 0; pass < 3; ++pass)
    s.counted().work.push_back({s.mlp0, pass, 1, 1, 5, 6, 100});
  counted const t(s.made);
  CHECK(std::isnan(t.total("step/block[0]/mlp", "hbm_bytes_per_second")));
  CHECK(t.note("step/block[0]/mlp", "hbm_bytes_per_second") ==
        "launches of other threads are counted with it and timed elsewhere: 3");
  CHECK_FALSE(t.table.is_timed_work(0, counter_scope::total));
  CHECK(t.table.is_timed_work(0, counter_scope::self));
  CHECK(t.table.is_timed_work(12345, counter_scope::self));  // nothing is known of it
}

TEST_CASE("a range that launched in some of the counting steps only is inconsistent") {
  counter_sample s;
  s.counted().work = {{s.mlp0, 0, 1, 0, 5, 6, 100},
                      {s.attention0, 1, 1, 0, 5, 6, 100},
                      {s.attention0, 2, 1, 0, 5, 6, 100}};
  counted const t(s.made);
  CHECK(mentions(t.note("step/block[0]/mlp", "hbm_bytes"), "0 to 1 launches"));
}

TEST_CASE("passes that saw other ranges") {
  counter_sample s;
  s.forget(s.mlp0, "dram__bytes_write.sum");
  counted const t(s.made);
  CHECK(std::isnan(t.total("step/block[0]/mlp", "hbm_bytes")));
  CHECK(mentions(t.note("step/block[0]/mlp", "hbm_bytes"),
                 "launched nothing in the step that counted"));
  CHECK(t.total("step/block[0]", "hbm_bytes") == 1700);
  CHECK(
      mentions(t.note("step/block[0]", "hbm_bytes"), "the counted steps differ: 1 of its ranges"));
  CHECK(t.note("step/block[0]", "hbm_read_bytes").empty());
}

TEST_CASE("ratios that CUPTI made are means, and say so; maxima are maxima") {
  counter_sample s("l1tex__t_sector_hit_rate.pct+sm__cycles_elapsed.max");
  s.set(s.attention0, "l1tex__t_sector_hit_rate.pct", 80);
  s.set(s.attention1, "l1tex__t_sector_hit_rate.pct", 40);
  s.set(s.attention0, "sm__cycles_elapsed.max", 7);
  counted const t(s.made, folding::by_name);
  CHECK(t.total("step/block[*]/attention", "l1tex__t_sector_hit_rate.pct") == 60);
  CHECK(t.note("step/block[*]/attention", "l1tex__t_sector_hit_rate.pct") ==
        "plain mean of 2 ranges: CUPTI gives only the ratio");
  CHECK(t.total("step/block[*]", "l1tex__t_sector_hit_rate.pct") == 30);  // of 80, 40, 0, 0
  CHECK(t.total("step", "sm__cycles_elapsed.max") == 7);
  counted const one(s.made);
  CHECK(one.total("step/block[0]/attention", "l1tex__t_sector_hit_rate.pct") == 80);
  CHECK(one.note("step/block[0]/attention", "l1tex__t_sector_hit_rate.pct").empty());
}

TEST_CASE("stand-ins are told") {
  counter_sample s;
  s.counted().metrics = resolve_metrics({"hbm_read_bytes"}, [](std::string const& name) {
    return name == "dram__bytes_op_read.sum";
  });
  s.counted().names = s.counted().metrics.counters();
  s.counted().values.clear();
  s.set(s.mlp0, "dram__bytes_op_read.sum", 3);
  counted const t(s.made);
  CHECK(t.total("step", "hbm_read_bytes") == 3);
  CHECK(t.note("step", "hbm_read_bytes") == "stand-in: dram__bytes_op_read.sum");
}

TEST_CASE("rates without a trace, or without time") {
  counter_sample s;
  s.made.traced = false;
  CHECK(counted(s.made).note("step", "hbm_bytes_per_second") == "GPU times were not traced");
  s.made.traced = true;
  s.made.kernels.clear();
  CHECK(counted(s.made).note("step", "hbm_bytes_per_second") == "no GPU time in the timed steps");
}

TEST_CASE("damaged and empty profiles") {
  counter_sample s;
  s.counted().values.push_back({12345, 0, 7});     // an unknown range: outside of all
  s.counted().values.push_back({s.mlp0, 999, 7});  // an unknown counter
  counted const t(s.made);
  CHECK(t.self("", "hbm_read_bytes") == 7);
  CHECK(t.total("", "hbm_read_bytes") == 4707);
  // The same counter twice is not twice the traffic.
  counter_sample twice;
  twice.counted().names.push_back("dram__bytes_read.sum");
  auto const again = static_cast<std::uint32_t>(twice.counted().names.size() - 1);
  twice.counted().values.push_back({twice.mlp0, again, 200});
  CHECK(counted(twice.made).total("step/block[0]/mlp", "hbm_read_bytes") == 200);
  profile const empty;
  counted const nothing(empty);
  CHECK(nothing.table.metrics.empty());
}

TEST_CASE("rates are well made") {
  std::set<std::string_view> keys;
  for (metric const& each : metric_list{metric_source::rates}) {
    CAPTURE(each.key());
    CHECK(keys.insert(each.key()).second);
    CHECK(find_metric(each.key()) == nullptr);
    CHECK(find_preset(each.key()) == nullptr);
    CHECK_FALSE(each.meaning().empty());
    std::string_view rest = each.formula();
    while (!rest.empty()) {
      std::string_view const one = detail::take_until(rest, "|");
      detail::for_each_name(one, [&](std::string_view name, bool) {
        CAPTURE(name);
        bool const known = name == detail::timed_input || find_metric(name) != nullptr;
        CHECK((known || (detail::find_entry(name) != nullptr && detail::find_entry(name) < &each)));
      });
    }
  }
}

}  // namespace counter_table_test
