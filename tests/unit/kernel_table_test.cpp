#include "sample_profile.hpp"

#include <strata/tables/kernel_table.hpp>
#include "analyse/kernel_amounts.hpp"
#include "analyse/kernel_names.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include "../word_list.hpp"

namespace kernel_table_test {

using strata::call_tree;
using strata::kernel_row;
using strata::make_kernel_table;

namespace {

std::string short_of(std::string const& demangled) {
  return std::string(strata::detail::short_function_name(demangled));
}

/// A kernel with one template argument for each of many types, as matrix libraries have them.
std::string mangled_with_arguments(int count) {
  std::string name = "_ZN7cutlass6KernelI";
  for (int i = 0; i < count; ++i) {
    std::string const type = "layout_" + std::to_string(i);
    name += "NS_" + std::to_string(type.size()) + type + "E";
  }
  return name + "EEvNT_6ParamsE";
}

strata::profile with_one_kernel(std::string const& mangled) {
  sample::maker make;
  make.made.kernel_names.push_back({mangled});
  make.kernel(0, 0, 10).name = 1;
  return make.made;
}

kernel_row only_row(strata::profile const& source) {
  auto const rows = make_kernel_table(source, call_tree(source));
  REQUIRE(rows.size() == 1);
  return rows[0];
}

}  // namespace

TEST_CASE("short names of demangled functions") {
  CHECK(short_of("kernel") == "kernel");
  CHECK(short_of("kernel(float*, int)") == "kernel");
  CHECK(short_of("void kernel<4, float>(float*, int)") == "kernel");
  CHECK(short_of("void at::native::kernel<at::f<int>, 3>(at::g<int>)") == "kernel");
  CHECK(short_of("(anonymous namespace)::k") == "k");
  CHECK(short_of("(anonymous namespace)::k(int)") == "k");
  CHECK(short_of("void a::(anonymous namespace)::k<int>(int)") == "k");
  CHECK(short_of("unsigned long const* a::k(int)") == "k");
  CHECK(short_of("a::holder<int>::method(int)") == "method");
  CHECK(short_of("void a::holder<a::holder<int> >::method<float>(float)") == "method");
  CHECK(short_of("kernel(int) [clone .part.0]") == "kernel");
  CHECK(short_of("tagged[abi:cxx11](int)") == "tagged");
  CHECK(short_of("outer(int) const::local::method(int)") == "method");
  CHECK(short_of("void (*pointing<int>(int))(double)") == "pointing");
  CHECK(short_of("decltype ({parm#1}(1)) a::k<a::f>(a::f)") == "k");
  CHECK(short_of("decltype(auto) a::k<a::f>(a::f)") == "k");
  CHECK(short_of("a::decltype_kernel(int)") == "decltype_kernel");
  CHECK(short_of("operators::operator_table(int)") == "operator_table");
}

TEST_CASE("short names: lambdas and operators") {
  CHECK(short_of("void run<main::{lambda(int)#1}>(main::{lambda(int)#1})") == "run");
  CHECK(short_of("void run<f() const::{lambda(auto:1)#1}::operator()<int>(int) const::{lambda()#2}>"
                 "(int)") == "run");
  CHECK(short_of("void run<'lambda'(int)>('lambda'(int))") == "run");
  CHECK(short_of("main::{lambda(int)#1}::operator()(int) const") == "operator()");
  CHECK(short_of("main::{lambda(int)#1}") == "{lambda(int)#1}");
  CHECK(short_of("auto f::operator()<int>(int) const") == "operator()");
  CHECK(short_of("a::operator<(a, a)") == "operator<");
  CHECK(short_of("a::operator<< <int>(a, int)") == "operator<<");
  CHECK(short_of("a::operator->*(a) const") == "operator->*");
  CHECK(short_of("a::operator[](int)") == "operator[]");
  CHECK(short_of("a::operator int*<int>()") == "operator int*<int>");
  CHECK(short_of("void k<&(a::operator>(a, a))>(int)") == "k");
  CHECK(short_of("void k<(3>2), (a->b)>(flag<((3)>(2))>)") == "k");
  CHECK(short_of("void k<a->b::c>(int)") == "k");
}

TEST_CASE("short names of broken text are some text") {
  auto broken = test::listed(
      "(, ), <, >, ::, (), <>, k<, k(, k<(, operator, a::operator, operator<, a::, {, ], k)>, "
      "((((, decltype, decltype (, void (*, k<int>>>(, k(int) const, k(int)::, (anonymous "
      "namespace)");
  for (char const* const blank : {"", " ", "operator ", "void "}) broken.emplace_back(blank);
  for (std::string const& text : broken) {
    CAPTURE(text);
    CHECK(short_of(text).size() <= text.size());
    if (!text.empty()) CHECK_FALSE(short_of(text).empty());
  }
  sample::random_numbers random(5);
  static char const letters[] = "k<>()[]{}:: *&-'operator const";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint32_t n = random.below(24); n > 0; --n)
      text += letters[random.below(sizeof letters - 1)];
    CHECK(short_of(text).size() <= text.size());
  }
}

TEST_CASE("names are demangled where they are mangled") {
#if defined(__GNUC__)
  kernel_row const row = only_row(with_one_kernel("_ZN12_GLOBAL__N_11kIiLi3EEEvT_"));
  CHECK(row.mangled == "_ZN12_GLOBAL__N_11kIiLi3EEEvT_");
  CHECK(row.demangled == "void (anonymous namespace)::k<int, 3>(int)");
  CHECK(row.short_name == "k");
#endif
  for (std::string const name : {"f", "i", "matmul_kernel_0d1d2d", "", "_Z", "_Zsomething(else)"}) {
    CAPTURE(name);  // `f` is not the type float
    kernel_row const plain = only_row(with_one_kernel(name));
    CHECK(plain.mangled == name);
    CHECK(plain.demangled == name);
    CHECK(plain.short_name == name);
  }
}

TEST_CASE("names of several kilobytes have short names, whatever the demangler makes of them") {
  for (int const count : {1, 10, 100, 400}) {
    std::string const mangled = mangled_with_arguments(count);
    CAPTURE(mangled.size());
    CHECK(only_row(with_one_kernel(mangled)).short_name == "Kernel");
  }
}

TEST_CASE("short names of mangled ones that resist") {
  auto const short_mangled = [](std::string const& name) {
    return std::string(strata::detail::short_mangled_name(name));
  };
  CHECK(short_mangled("_ZN3cub6detail6kernelINS_") == "kernel");
  CHECK(short_mangled("_Z6kernelIiEvT_") == "kernel");
  CHECK(short_mangled("_ZL6kernelIiEvT_") == "kernel");
  CHECK(short_mangled("_ZN12_GLOBAL__N_16kernelE") == "kernel");
  CHECK(short_mangled("_ZNK1a6kernelE") == "kernel");
  CHECK(short_mangled("_ZSt4sortIiE") == "sort");
  CHECK(short_mangled("kernel") == "kernel");
  CHECK(short_mangled("_ZN99kernel") == "_ZN99kernel");
  CHECK(short_mangled("_Z99999999999999999999999k") == "_Z99999999999999999999999k");
  CHECK(short_mangled("_Z") == "_Z");
  CHECK(short_mangled("") == "");
}

TEST_CASE("the launches of the first recorded step are distinguished") {
  sample::maker make;
  make.made.traced = make.made.has_steps = true;
  auto const mlp = make.node(0, "mlp");
  auto const head = make.node(0, "head");
  auto const launch = [&](std::uint32_t node, std::int64_t begin, std::int64_t ns,
                          std::uint32_t step) {
    std::uint32_t const id = make.launch(node, begin, begin + 1);
    make.made.launches.back().step = step;
    make.kernel(id, begin + 1, begin + 1 + ns).grid_x = step == 4 ? 2 : 8;
  };
  make.made.environment.devices.push_back({});
  make.made.environment.devices[0].multiprocessors = 8;
  launch(mlp, 0, 5000, strata::no_step);  // before the steps
  launch(mlp, 10'000, 700, 4);
  launch(mlp, 11'000, 800, 4);
  launch(mlp, 20'000, 100, 5);
  launch(head, 21'000, 100, 5);
  make.made.steps.push_back({20'000, 22'000, 5, 0});
  make.made.steps.push_back({10'000, 12'000, 4, 0});
  auto const rows = make_kernel_table(make.made, call_tree(make.made));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].path == "mlp");
  CHECK(rows[0].count == 4);
  CHECK(rows[0].first_step_count == 2);
  CHECK(rows[0].first_step_ns == 1500);
  double const used = rows[0].sm_utilisation;
  CHECK(rows[0].gpu_utilisation == doctest::Approx(used * (5100 + 1500 * 0.25) / 6600));
  CHECK(rows[0].later_gpu_utilisation == doctest::Approx(used));
  CHECK(rows[1].later_gpu_utilisation == rows[1].gpu_utilisation);
  strata::steps_summary steps;
  CHECK(gpu_fill_in_step(rows[0], steps) == rows[0].gpu_utilisation);
  steps.without_first = true;
  CHECK(gpu_fill_in_step(rows[0], steps) == rows[0].later_gpu_utilisation);
  CHECK(rows[1].first_step_count == 0);
  CHECK(rows[1].first_step_ns == 0);
  make.made.losses.activity_summed = 1;  // records are missing
  CHECK(make_kernel_table(make.made, call_tree(make.made))[0].first_step_count == 0);
}

TEST_CASE("utilisation without times or without a device") {
  strata::profile source = with_one_kernel("k");
  source.kernels[0].block_x = 96;
  source.kernels[0].begin = strata::lost_time;
  kernel_row const row = only_row(source);
  CHECK(row.sm_utilisation == 0.75);
  CHECK(std::isnan(row.gpu_utilisation));
  CHECK(row.duration.count() == 0);
  source.environment.devices.push_back({});
  CHECK(std::isnan(only_row(source).gpu_utilisation));
  source.environment.devices[0].multiprocessors = 4;
  CHECK(only_row(source).gpu_utilisation == 0.75 / 4);
}

TEST_CASE("hostile kernels") {
  strata::profile source = with_one_kernel("k");
  source.kernels.push_back(source.kernels[0]);
  source.kernels.push_back(source.kernels[0]);
  auto& wild = source.kernels[1];
  wild.name = 4'000'000'000u;
  wild.begin = (std::numeric_limits<std::int64_t>::min)() + 1;
  wild.end = (std::numeric_limits<std::int64_t>::max)();
  wild.grid_x = 0xffffffffu;
  wild.grid_y = wild.grid_z = wild.block_x = wild.block_y = wild.block_z = 0xffffu;
  auto& empty = source.kernels[2];
  empty.name = strata::no_reference;
  empty.begin = 10;
  empty.end = 5;
  empty.grid_x = empty.block_x = 0;
  auto const rows = make_kernel_table(source, call_tree(source));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == strata::no_reference);
  CHECK(rows[0].short_name == "[unknown]");
  CHECK(rows[0].mangled.empty());
  CHECK(rows[0].count == 2);
  CHECK(rows[0].blocks_min == 0);
  CHECK(rows[0].blocks_max == std::uint64_t{1} * strata::detail::latest_time);  // no grid has more
  CHECK(rows[0].block_threads_max == 0xffffffffu);
  CHECK(rows[0].duration.minimum() == 0);
  strata::profile const nothing;
  CHECK(make_kernel_table(nothing, call_tree(nothing)).empty());
}

TEST_CASE("kernels of one short name are distinguished by their template arguments, else by all") {
  auto const row = [](char const* mangled, char const* short_name, char const* demangled) {
    kernel_row made;
    made.mangled = mangled;
    made.short_name = short_name;
    made.demangled = demangled;
    return made;
  };
  strata::vec<kernel_row> const rows = {
      row("1", "reduce", "void m::reduce<m::sum, (int)4>(m::sum, float*)"),
      row("2", "reduce", "void m::reduce<m::(anonymous namespace)::most, (int)4>(float*)"),
      row("1", "reduce", "void m::reduce<m::sum, (int)4>(m::sum, float*)"),
      row("3", "gelu", "void m::gelu<float>(float*)"),
      row("4", "copy", "a::copy(float*)"),
      row("5", "copy", "b::copy(float*)"),
      row("6", "fill", "void fill<a::x>()"),
      row("7", "fill", "void fill<b::x>()")};
  strata::vec<std::string> const names = strata::detail::distinct_names(rows);
  CHECK(names[0] == "reduce<sum, (int)4>");
  CHECK(names[1] == "reduce<most, (int)4>");
  CHECK(names[2] == names[0]);
  CHECK(names[3] == "gelu");
  CHECK(names[4] == "a::copy(float*)");
  CHECK(names[5] == "b::copy(float*)");
  CHECK(names[6] == "void fill<a::x>()");
}

TEST_CASE("random programs: every kernel is in one row of its range") {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    CAPTURE(seed);
    strata::profile source = sample::random_program(seed, 20).run(200);
    source.kernel_names = {{"a"}, {"b"}, {"c"}};
    sample::random_numbers random(seed);
    for (auto& kernel : source.kernels) {
      kernel.name = 1 + random.below(3);
      kernel.grid_x = 1 + random.below(300);
      kernel.block_x = static_cast<std::uint16_t>(1 + random.below(1024));
    }
    source.environment.devices.push_back({});
    source.environment.devices[0].multiprocessors = 132;
    for (strata::folding const mode : {strata::folding::none, strata::folding::by_name}) {
      call_tree const tree(source, mode);
      auto const rows = make_kernel_table(source, tree);
      std::vector<std::uint64_t> counts(source.nodes.size(), 0);
      std::vector<double> sums(source.nodes.size(), 0.0);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        counts[rows[i].path_id] += rows[i].count;
        sums[rows[i].path_id] += rows[i].duration.sum();
        CHECK(rows[i].path == tree.row_of(rows[i].path_id).path);
        if (i > 0) CHECK(rows[i].duration.sum() <= rows[i - 1].duration.sum());
        CHECK(rows[i].gpu_utilisation <= rows[i].sm_utilisation);
        CHECK(rows[i].sm_utilisation <= 1.0);
        CHECK(rows[i].gpu_utilisation > 0.0);
        CHECK(rows[i].blocks_median >= rows[i].blocks_min);
        CHECK(rows[i].blocks_median <= rows[i].blocks_max);
      }
      for (strata::range_row const& range : tree.rows()) {
        CHECK(counts[range.path_id] == range.self.kernels);
        CHECK(sums[range.path_id] == static_cast<double>(range.self.kernel_ns));
      }
    }
  }
}

}  // namespace kernel_table_test
