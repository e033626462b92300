#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/tables/counter_sums.hpp>
#include "metric_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace metric_test {

using strata::expand_metrics;
using strata::find_metric;
using strata::metric_combine;
using strata::metric_level;
using strata::metric_location;
using strata::metric_set;
using strata::resolve_metrics;
using names = strata::vec<std::string>;

namespace {

double const nan = std::numeric_limits<double>::quiet_NaN();

bool everything(std::string const&) { return true; }

/// A chip that has all metrics but these.
struct without {
  std::set<std::string> missing;
  bool operator()(std::string const& name) const { return missing.count(name) == 0; }
};

double formula(std::string_view text, std::map<std::string, double> values) {
  strata::detail::formula const compiled(text);
  strata::vec<double> inputs;
  for (auto const& each : compiled.inputs()) {
    std::string_view const name = each.name;
    auto const found = values.find(std::string(name));
    inputs.push_back(found == values.end() ? nan : found->second);
  }
  return compiled.value(inputs.data());
}

double value(metric_set const& set, std::string_view key, std::map<std::string, double> values) {
  strata::counter_set counted;
  counted.method = strata::counting::while_running;  // without rates
  counted.metrics = set;
  strata::vec<double> counters;
  for (auto const& each : values) {
    counted.names.push_back(each.first);
    counters.push_back(each.second);
  }
  strata::vec<double> made;
  strata::detail::metric_formulas({}, counted).evaluate(counters.data(), nan, made);
  REQUIRE(set.find(key) != nullptr);
  return made[static_cast<std::size_t>(set.find(key) - set.metrics.begin())];
}

}  // namespace

TEST_CASE("formulas") {
  CHECK(formula("a", {{"a", 3}}) == 3);
  CHECK(formula("2 * (a + b) / c", {{"a", 1}, {"b", 2}, {"c", 4}}) == 1.5);
  CHECK(formula("1e9*a/b*c", {{"a", 2}, {"b", 4}, {"c", 3}}) == 1.5e9);
  CHECK(formula("a + 2 * b", {{"a", 1}, {"b", 10}}) == 21);
  CHECK(formula("x__a.sum + 32*y__b.avg", {{"x__a.sum", 1}, {"y__b.avg", 2}}) == 65);
  CHECK(formula("?a + ?b", {{"b", 2}}) == 2);
  CHECK(std::isnan(formula("a + b", {{"b", 2}})));
  CHECK(std::isnan(formula("a / b", {{"a", 1}, {"b", 0}})));
  for (char const* bad : {"", "a +", "a b", "(a", "a)", "* a", "2x", "a | b", "max(a)", "max(a, b",
                          "max a, b", "a, b", "max(a, b, a)", "max(,a)"}) {
    CAPTURE(bad);
    CHECK(std::isnan(formula(bad, {{"a", 1}, {"b", 2}})));
  }
}

TEST_CASE("formulas: a share of what was not done is 0, of what was done it needs the whole") {
  CHECK(formula("share(a, b)", {{"a", 3}, {"b", 4}}) == 0.75);
  CHECK(formula("share(?a, ?b)", {}) == 0.0);
  CHECK(formula("share(a, b)", {{"a", 0}, {"b", 0}}) == 0.0);
  CHECK(std::isnan(formula("share(a, ?b)", {{"a", 3}})));
  CHECK(std::isnan(formula("share(a, b)", {{"b", 4}})));
  CHECK(std::isnan(formula("2 + share(a, ?b)", {{"a", 3}})));
  CHECK(formula("c - share(a, b) - 1", {{"a", 3}, {"b", 4}, {"c", 2}}) == 0.25);
  CHECK(formula("a-b", {{"a", 3}, {"b", 4}}) == -1);
  strata::detail::formula const told("x * (share(?a, ?b) + share(?c, ?d) + e / f)");
  std::size_t divisor = 99;
  auto const value = [&](strata::vec<double> const& inputs) {
    divisor = 99;
    return told.value(inputs.data(), &divisor);
  };
  CHECK(value({1, 1, 2, 3, 4, 5, 10}) == 1.75);
  CHECK(divisor == 99);
  CHECK(std::isnan(value({1, 1, 2, 3, nan, 5, 10})));
  CHECK(divisor == 4);
  CHECK(std::isnan(value({1, 1, nan, 3, nan, 5, 0})));
  CHECK(divisor == 2);  // the first
  CHECK(std::isnan(value({1, 0, nan, 0, nan, 5, 0})));
  CHECK(divisor == 6);
}

TEST_CASE("formulas: the larger of two, without what has no value") {
  CHECK(formula("max(a, b)", {{"a", 3}, {"b", 2}}) == 3);
  CHECK(formula("max(a, b)", {{"a", 2}, {"b", 3}}) == 3);
  CHECK(formula("100 * max(a, 2 * b) / c", {{"a", 3}, {"b", 2}, {"c", 8}}) == 50);
  CHECK(formula("max(a, max(b, c))", {{"a", 1}, {"b", 2}, {"c", 5}}) == 5);
  CHECK(formula("a + max(b, c) * b", {{"a", 1}, {"b", 2}, {"c", 5}}) == 11);
  CHECK(formula("max (a, b)", {{"a", 3}, {"b", 2}}) == 3);
  CHECK(formula("max(a, b)", {{"a", 3}}) == 3);
  CHECK(formula("max(a, b)", {{"b", 3}}) == 3);
  CHECK(std::isnan(formula("max(a, b)", {})));
  // A part of which the chip lacks both the count and its peak.
  CHECK(formula("max(a / b, ?c / ?d)", {{"a", 6}, {"b", 2}}) == 3);
  CHECK(formula("max(a / b, ?c / ?d)", {{"a", 6}, {"b", 2}, {"c", 8}, {"d", 2}}) == 4);
  CHECK(formula("max", {{"max", 7}}) == 7);  // a name like any other
}

TEST_CASE("every entry of the catalogue is well made") {
  std::set<std::string_view> keys;
  for (strata::metric const& each : strata::metric_list()) {
    CAPTURE(each.key());
    CHECK(keys.insert(each.key()).second);
    CHECK_FALSE(strata::detail::is_cupti_name(each.key()));
    CHECK(strata::find_preset(each.key()) == nullptr);
    CHECK_FALSE(each.unit().empty());
    CHECK_FALSE(each.meaning().empty());
    bool divided = false;
    std::string_view rest = each.formula();
    while (!rest.empty()) {
      std::string_view const one = strata::detail::take_until(rest, "|");
      divided = divided || one.find('/') != std::string_view::npos;
      strata::detail::formula const compiled(one);
      CHECK(std::isfinite(compiled.value(strata::vec<double>(compiled.inputs().size(), 1).data())));
      bool keyed = false;
      bool counted = false;
      strata::detail::for_each_name(one, [&](std::string_view name, bool) {
        CAPTURE(name);
        if (strata::detail::is_cupti_name(name)) {
          counted = true;
          CHECK(name.find('.') != std::string_view::npos);  // with its rollup
          // What CUPTI divided cannot be combined; a quotient is made of what can be.
          if (each.combine() == metric_combine::ratio)
            CHECK(strata::combine_of(name) != metric_combine::mean);
          else
            CHECK(strata::combine_of(name) == each.combine());
        } else {
          keyed = true;
          CHECK(find_metric(name) != nullptr);
          CHECK(find_metric(name) < &each);  // inputs stand before: no cycles
        }
      });
      CHECK((keyed || counted));
      CHECK((each.combine() == metric_combine::ratio || keyed != counted));
    }
    CHECK(divided == (each.combine() == metric_combine::ratio));
    // Of a link's clock CUPTI gives nothing but the quotient.
    CHECK((each.combine() == metric_combine::mean) ==
          (each.level() == metric_level::link && each.unit() == "Hz"));
  }
}

TEST_CASE("every preset resolves where the chip has everything") {
  for (char const* name : {"hbm", "l1", "memory", "l2hit", "flops", "tensor", "roofline",
                           "instructions", "stalls", "occupancy", "findings", "links"}) {
    CAPTURE(name);
    REQUIRE(strata::find_preset(name) != nullptr);
    names const keys = expand_metrics(name);
    CHECK(keys.size() >= 1);
    metric_set const set = resolve_metrics(keys, everything);
    CHECK(set.absent.empty());
    CHECK(set.unknown.empty());
    std::map<std::string, double> ones;
    for (std::string const& each : set.counters()) ones[each] = 1.0;
    for (std::string const& key : keys) {
      CAPTURE(key);
      REQUIRE(set.find(key) != nullptr);
      CHECK_FALSE(set.find(key)->stand_in);
      CHECK(std::isfinite(value(set, key, ones)));
    }
  }
  CHECK(strata::find_preset("nothing") == nullptr);
}

TEST_CASE("requests expand in order, each name once") {
  CHECK(expand_metrics("").empty());
  CHECK(expand_metrics("l2hit+flop+l2_hit_rate, dram__bytes.sum") ==
        names{"l2_hit_rate", "flop", "dram__bytes.sum"});
  names both = expand_metrics("hbm");
  for (std::string const& each : expand_metrics("l1")) both.push_back(each);
  CHECK(expand_metrics("memory") == both);
  CHECK(expand_metrics("hbn") == names{"hbn"});
}

TEST_CASE("derived metrics bring their inputs, before themselves") {
  metric_set const set = resolve_metrics({"l2_hit_rate"}, everything);
  REQUIRE(set.metrics.size() == 3);
  CHECK(set.metrics[0].key == "l2_sector_hits");
  CHECK(set.metrics[1].key == "l2_sector_misses");
  CHECK(set.metrics[2].key == "l2_hit_rate");
  CHECK(set.metrics[2].derived);
  CHECK(set.metrics[2].counters.empty());
  CHECK(set.counters() == names{"lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"});
  // Ratios come from sums: 90 of 100 and 0 of 100 are 45 %.
  CHECK(value(set, "l2_hit_rate",
              {{"lts__t_sectors_lookup_hit.sum", 90}, {"lts__t_sectors_lookup_miss.sum", 110}}) ==
        45);
  CHECK(std::isnan(value(set, "l2_hit_rate", {{"lts__t_sectors_lookup_hit.sum", 90}})));
  CHECK(std::isnan(
      value(set, "l2_hit_rate",
            {{"lts__t_sectors_lookup_hit.sum", 0}, {"lts__t_sectors_lookup_miss.sum", 0}})));
}

TEST_CASE("operations: a fused multiply-add is two, a packed half one four") {
  metric_set const set = resolve_metrics(expand_metrics("flops"), everything);
  std::map<std::string, double> counts;
  double next = 1;
  for (char const* op : {"fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma"}) {
    counts["smsp__sass_thread_inst_executed_op_" + std::string(op) + "_pred_on.sum"] = next;
    next *= 10;
  }
  CHECK(value(set, "flop_fp32", counts) == 1 + 10 + 2 * 100);
  CHECK(value(set, "flop_fp64", counts) == 1000 + 10000 + 2 * 100000);
  CHECK(value(set, "flop_fp16", counts) == 2 * 1e6 + 2 * 1e7 + 4 * 1e8);
  CHECK(value(set, "flop", counts) == 211 + 211000 + 422e6);
}

TEST_CASE("roofs and occupancy come from sums and constants") {
  metric_set const set =
      resolve_metrics({"hbm_peak_bytes_per_second", "achieved_occupancy"}, everything);
  // 2.6 GHz for 1 ms, 1288 bytes a cycle.
  CHECK(value(set, "hbm_peak_bytes_per_second",
              {{"gpu__time_duration.sum", 1e6},
               {"dram__cycles_elapsed.avg", 2.6e6},
               {"dram__bytes.sum.peak_sustained", 1288}}) == doctest::Approx(3.3488e12));
  CHECK(value(set, "achieved_occupancy",
              {{"sm__warps_active.sum", 3200},
               {"sm__cycles_active.sum", 100},
               {"sm__warps_active.avg.peak_sustained", 64}}) == 50);
  CHECK(set.find("hbm_peak_bytes_per_cycle")->combine == metric_combine::maximum);
}

TEST_CASE("names of other chips stand in") {
  metric_set set = resolve_metrics({"hbm_bytes"}, without{{"dram__bytes_read.sum"}});
  REQUIRE(set.find("hbm_read_bytes") != nullptr);
  CHECK(set.find("hbm_read_bytes")->formula == "dram__bytes_op_read.sum");
  CHECK(set.find("hbm_read_bytes")->stand_in);
  CHECK_FALSE(set.find("hbm_write_bytes")->stand_in);

  set = resolve_metrics({"hbm_read_bytes"}, [](std::string const& name) {
    return name.compare(0, 4, "dram") != 0 && name.compare(0, 4, "fbpa") != 0;
  });
  CHECK(set.counters() == names{"lts__d_sectors_fill_sysmem.sum"});
  CHECK(value(set, "hbm_read_bytes", {{"lts__d_sectors_fill_sysmem.sum", 10}}) == 320);

  // A sum of two where the first choice is missing.
  set = resolve_metrics({"tensor_fp16"}, without{{"sm__ops_path_tensor_src_fp16.sum"}});
  CHECK(set.counters().size() == 2);
  CHECK(value(set, "tensor_fp16",
              {{"sm__ops_path_tensor_src_fp16_dst_fp16.sum", 3},
               {"sm__ops_path_tensor_src_fp16_dst_fp32.sum", 4}}) == 7);
}

TEST_CASE("what the chip lacks is said, and nothing is invented") {
  metric_set set = resolve_metrics({"l2_hit_rate", "l1_bytes", "tensor_bf16", "hbm_read_bytes"},
                                   [](std::string const&) { return false; });
  CHECK(set.metrics.empty());
  REQUIRE(set.absent.size() == 4);
  CHECK(set.absent[0].key == "l2_hit_rate");
  CHECK(set.absent[0].reason ==
        "this chip lacks lts__t_sectors_lookup_hit.sum, lts__t_sectors_lookup_miss.sum");
  CHECK(set.absent[1].reason == "this chip lacks l1tex__t_bytes.sum");
  CHECK(set.absent[3].reason == "this chip lacks dram__bytes_read.sum and any alternative");

  // Optional inputs count as nothing, but all of them missing is no value.
  set = resolve_metrics({"tensor_flop"}, [](std::string const& name) {
    return name == "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
  });
  REQUIRE(set.find("tensor_flop") != nullptr);
  CHECK(value(set, "tensor_flop", {{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 5}}) == 5);
  set = resolve_metrics({"tensor_flop"}, [](std::string const&) { return false; });
  CHECK(set.metrics.empty());
  CHECK(set.absent.size() == 1);
}

TEST_CASE("CUPTI names are taken as they are") {
  auto const has = [](std::string const& name) {
    return name == "dram__bytes.sum" || name == "l1tex__t_sector_hit_rate.pct" ||
           name == "lts__t_bytes.sum.peak_sustained" || name == "pcie__read_bytes.max";
  };
  metric_set const set =
      resolve_metrics({"dram__bytes", "dram__bytes.sum", "l1tex__t_sector_hit_rate.pct",
                       "lts__t_bytes.sum.peak_sustained", "pcie__read_bytes.max"},
                      has);
  CHECK(set.unknown.empty());
  REQUIRE(set.metrics.size() == 4);
  CHECK(set.metrics[0].key == "dram__bytes.sum");  // a rollup is added where it lacks
  CHECK(set.metrics[0].level == metric_level::hbm);
  CHECK(set.metrics[0].combine == metric_combine::sum);
  CHECK(set.metrics[1].level == metric_level::l1);
  CHECK(set.metrics[1].combine == metric_combine::mean);
  CHECK(set.metrics[2].level == metric_level::l2);
  CHECK(set.metrics[2].combine == metric_combine::maximum);
  CHECK(set.metrics[3].level == metric_level::link);
  CHECK(value(set, "dram__bytes.sum", {{"dram__bytes.sum", 7}}) == 7);
}

TEST_CASE("unknown names get the nearest ones") {
  auto const none = [](std::string const&) { return false; };
  metric_set const set = resolve_metrics(
      {"hbn", "l1_hit_rat", "flpos", "dram__bytes_raed.sum", "zzzzzzzzzzzz", "l1_hit_rate"}, none,
      {"dram__bytes_read", "dram__bytes_write", "lts__t_bytes"});
  REQUIRE(set.unknown.size() == 5);
  CHECK(set.unknown[0].suggestions.at(0) == "hbm");
  CHECK(set.unknown[1].suggestions.at(0) == "l1_hit_rate");
  auto const& for_flpos = set.unknown[2].suggestions;
  CHECK(std::find(for_flpos.begin(), for_flpos.end(), "flops") != for_flpos.end());
  CHECK(set.unknown[3].suggestions.at(0) == "dram__bytes_read");
  CHECK(set.unknown[4].suggestions.empty());
  CHECK(set.unknown[4].message() == "unknown metric 'zzzzzzzzzzzz': strata metrics prints all");
  CHECK(set.unknown[1].message().substr(0, 56) ==
        "unknown metric 'l1_hit_rat': did you mean l1_hit_rate or");
  CHECK(set.absent.size() == 1);  // the rest continues
}

TEST_CASE("edit distance") {
  using strata::detail::edit_distance;
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("hbn", "hbm") == 1);
  CHECK(edit_distance("hmb", "hbm") == 1);  // neighbours exchanged
  CHECK(edit_distance("skpi", "skip") == 1);
  CHECK(edit_distance("bhm", "hbm") == 1);
  CHECK(edit_distance("mhb", "hbm") == 2);
  CHECK(edit_distance("HOST", "host") == 0);
  CHECK(edit_distance("HSOT[", "host") == 2);
}

TEST_CASE("places of counters") {
  using strata::location_of;
  CHECK(location_of("dram__bytes_read.sum") == metric_location::memory);
  CHECK(location_of("lts__t_sectors.sum") == metric_location::memory);
  CHECK(location_of("gpc__cycles_elapsed.avg") == metric_location::memory);
  CHECK(location_of("l1tex__t_bytes.sum") == metric_location::sm);
  CHECK(location_of("SM_C.TriageCompute.smsp__warps_active.sum") == metric_location::sm);
  CHECK(location_of("smsp__sass_inst_executed_op_global_ld.sum") == metric_location::sass);
  CHECK(location_of("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained") ==
        metric_location::anywhere);
  CHECK(location_of("gpu__time_duration.sum") == metric_location::anywhere);
  CHECK(location_of("pcie__read_bytes.sum") == metric_location::device_wide);
  CHECK(location_of("nvlrx__bytes.sum") == metric_location::device_wide);
}

TEST_CASE("groups: the memory, SMs, links and SASS are apart") {
  auto const groups = [](char const* request) {
    return strata::group_metrics(resolve_metrics(expand_metrics(request), everything));
  };
  auto all = groups("hbm+l1+flops+links");
  REQUIRE(all.size() == 4);
  CHECK(all[0].location == metric_location::memory);
  CHECK(all[1].location == metric_location::sm);
  CHECK(all[2].location == metric_location::device_wide);
  CHECK(all[3].location == metric_location::sass);
  CHECK(std::count(all[0].counters.begin(), all[0].counters.end(), "gpu__time_duration.sum") == 1);
  CHECK(std::count(all[0].counters.begin(), all[0].counters.end(),
                   "sm__warps_active.avg.peak_sustained") == 1);

  // Constants and time go with what is there.
  all = groups("achieved_occupancy");
  REQUIRE(all.size() == 1);
  CHECK(all[0].location == metric_location::sm);
  all = groups("time_ns+pcie_read_bytes+nvlink_receive_bytes");
  REQUIRE(all.size() == 1);
  CHECK(all[0].location == metric_location::device_wide);
  // Links refuse constants, also their own: they are counted apart, and time with them.
  all = groups("time_ns+links");
  REQUIRE(all.size() == 2);
  CHECK(all[0].location == metric_location::memory);
  CHECK(all[1].location == metric_location::device_wide);
  for (std::string const& each : all[1].counters) CHECK(each.find("peak") == std::string::npos);
  all = groups("time_ns+flops");
  REQUIRE(all.size() == 2);
  CHECK(all[0].location == metric_location::memory);
  all = groups("flops+fp32_peak_per_cycle");
  REQUIRE(all.size() == 2);
  CHECK(all[0].location == metric_location::memory);
  all = groups("links+l2_peak_bytes_per_cycle");
  CHECK(all.size() == 2);
  all = groups("time_ns");
  REQUIRE(all.size() == 1);
  CHECK(all[0].counters == names{"gpu__time_duration.sum"});
  CHECK(groups("").empty());
}

TEST_CASE("what instruments kernels stands alone, in every preset") {
  for (auto const& preset : strata::preset_list()) {
    CAPTURE(preset.name);
    metric_set const set = resolve_metrics(expand_metrics(preset.name), everything);
    for (auto const& group : strata::group_metrics(set)) {
      bool const apart = group.location == metric_location::sass;
      for (std::string const& name : group.counters)
        CHECK(strata::instruments_kernels(name) == apart);
    }
  }
}

TEST_CASE(
    "the list of the CPU's metrics has every key, and formulas of those that are not counted") {
  std::string const text = strata::list_cpu_metrics();
  for (auto const& each : strata::metric_list{strata::metric_source::perf})
    CHECK(text.find('\n' + std::string(each.key()) + ' ') != std::string::npos);
  CHECK(text.find("cpu_ipc                           instructions/cycle  cpu     instructions in a "
                  "cycle = cpu_instructions / cpu_cycles\n") != std::string::npos);
  CHECK(text.find("perf__") == std::string::npos);
}

}  // namespace metric_test
