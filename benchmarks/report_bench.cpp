// How fast a profile becomes tables and files, beside a memcpy and an fwrite of the same bytes.
// The profile is made up: forward passes of a transformer, one launch and one kernel a leaf range.
#include "host_session.hpp"

#include <benchmark/benchmark.h>
#include <strata/base/text_writer.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include "report/page.hpp"
#include "report/trace.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::uint32_t layers = 12;
constexpr char const* leaves[] = {"ln1", "attention", "ln2", "mlp"};
constexpr std::int64_t million = 1'000'000;

class profile_maker {
 public:
  explicit profile_maker(std::size_t kernels, std::uint32_t with_layers = layers) {
    add_nodes(with_layers);
    made_.kernels.reserve(kernels);
    made_.launches.reserve(kernels);
    made_.ranges.reserve(kernels + kernels / 3 + 64);
    for (std::uint32_t step = 0; made_.kernels.size() < kernels; ++step) run_step(step, kernels);
    made_.end = now_;
  }

  /// As a session makes it: the sums are there before any report.
  strata::profile take() {
    made_.device = strata::detail::sum_records(made_);
    return std::move(made_);
  }

 private:
  std::uint32_t name(char const* text) {
    made_.names.emplace_back(text);
    return static_cast<std::uint32_t>(made_.names.size() - 1);
  }

  std::uint32_t node(std::uint32_t parent, std::uint32_t name_number, std::int64_t index) {
    std::uint32_t const depth = made_.nodes.empty() ? 0 : made_.nodes[parent].depth + 1;
    made_.nodes.push_back({parent, name_number, index, depth, true});
    return static_cast<std::uint32_t>(made_.nodes.size() - 1);
  }

  void add_nodes(std::uint32_t with_layers) {
    made_.traced = made_.has_steps = true;
    made_.threads.push_back({0, 1000, "main"});
    made_.environment.command = "train";
    made_.environment.devices.emplace_back();
    made_.environment.devices.back().name = "GPU";
    made_.environment.devices.back().multiprocessors = 132;
    std::uint32_t const root = node(0, name(""), strata::no_index);
    forward_ = node(root, name("forward"), strata::no_index);
    std::uint32_t const block = name("block");
    std::vector<std::uint32_t> leaf_names;
    for (char const* leaf : leaves) leaf_names.push_back(name(leaf));
    for (std::uint32_t layer = 0; layer < with_layers; ++layer) {
      blocks_.push_back(node(forward_, block, layer));
      for (std::uint32_t leaf : leaf_names) (void)node(blocks_.back(), leaf, strata::no_index);
    }
    for (int i = 0; i < 8; ++i) {
      made_.kernel_names.push_back(
          {"_ZN3llm12some_kernel" + std::to_string(i) + "IfLi256EEEvPT_PKS1_i"});
    }
  }

  void run_leaf(std::uint32_t where, std::uint32_t step) {
    auto const number = static_cast<std::uint32_t>(made_.launches.size()) + 1;
    std::int64_t const begin = now_;
    std::int64_t const spread = static_cast<std::int64_t>(number * 2654435761u >> 24);
    made_.launches.push_back(
        {now_ + 300, now_ + 3900, number, where, step, 0, strata::api_kind::launch, 0});
    gpu_ = (gpu_ > now_ + 6000 ? gpu_ : now_ + 6000) + 400;
    strata::kernel_record kernel{};
    kernel.begin = gpu_;
    kernel.end = gpu_ += 2800 + 5 * spread;
    kernel.node = where;
    kernel.captured_by = strata::no_node;
    kernel.correlation = number;
    kernel.name = 1 + number % 8;
    kernel.stream = 7;
    kernel.context = 1;
    kernel.grid_x = 144;
    kernel.grid_y = kernel.grid_z = 1;
    kernel.block_x = 256;
    kernel.block_y = kernel.block_z = 1;
    kernel.registers = 32;
    made_.kernels.push_back(kernel);
    now_ += 4300 + spread;
    made_.ranges.push_back({begin, now_, where, strata::no_reference, step, 0});
  }

  void run_step(std::uint32_t step, std::size_t kernels) {
    std::int64_t const step_begin = now_;
    for (std::uint32_t block : blocks_) {
      if (made_.kernels.size() >= kernels) break;
      std::int64_t const begin = now_;
      for (std::uint32_t leaf = 1; leaf <= 4 && made_.kernels.size() < kernels; ++leaf)
        run_leaf(block + leaf, step);
      made_.ranges.push_back({begin, now_ += 100, block, strata::no_reference, step, 0});
    }
    made_.ranges.push_back({step_begin, now_ += 200, forward_, strata::no_reference, step, 0});
    made_.steps.push_back({step_begin, now_ += 100, step, 0});
  }

  strata::profile made_;
  std::uint32_t forward_ = 0;
  std::vector<std::uint32_t> blocks_;
  std::int64_t now_ = 1000;
  std::int64_t gpu_ = 0;
};

/// A profile and all that its reports are made from.
struct analysed {
  explicit analysed(strata::profile data)
      : source(std::move(data)),
        tree(source),
        folded(source, strata::folding::by_name),
        kernels(strata::make_kernel_table(source, tree)),
        memory(strata::make_memory_table(source, tree)) {}
  strata::report_input input() const { return {source, tree, folded, kernels, memory}; }
  /// Adds the findings.
  void find_answer(strata::report_input& to) const { to.find_answer(folded); }

  strata::profile source;
  strata::call_tree tree;
  strata::call_tree folded;
  strata::vec<strata::kernel_row> kernels;
  strata::memory_table memory;
};

strata::profile const& profile_of(std::int64_t kernels) {
  static std::vector<std::pair<std::int64_t, std::unique_ptr<strata::profile>>> made;
  for (auto const& [size, data] : made)
    if (size == kernels) return *data;
  auto const size = static_cast<std::size_t>(kernels);
  made.emplace_back(kernels, std::make_unique<strata::profile>(profile_maker(size).take()));
  return *made.back().second;
}

/// A million allocations too, since memory.csv is the one CSV file that grows with the run.
analysed const& million_kernels() {
  static analysed const made = [] {
    strata::profile data = profile_maker(million).take();
    for (std::uint32_t i = 0; i < 2 * million; ++i) {
      strata::memory_record record{};
      record.time = 1000 + 1000 * std::int64_t{i};
      record.address = 0x7f0000000000u + (std::uint64_t{i / 2} << 9);
      record.bytes = 512;
      record.correlation = 1 + i / 2;
      record.kind = strata::memory_kind::device;
      record.allocates = i % 2 == 0;
      data.memory.push_back(record);
    }
    return analysed(std::move(data));
  }();
  return made;
}

// ---- aggregation ----

void call_tree(benchmark::State& state) {
  strata::profile const& source = profile_of(state.range(0));
  for (auto _ : state) {
    strata::call_tree const tree(source);
    benchmark::DoNotOptimize(tree.rows().data());
  }
  state.counters["records"] = static_cast<double>(state.range(0));
}

void call_tree_and_kernel_table(benchmark::State& state) {
  strata::profile const& source = profile_of(state.range(0));
  for (auto _ : state) {
    strata::call_tree const tree(source);
    auto const kernels = strata::make_kernel_table(source, tree);
    benchmark::DoNotOptimize(kernels.data());
  }
  state.counters["records"] = static_cast<double>(state.range(0));
}

/// 2,000 layers: 10,002 ranges.
analysed const& many_ranges(std::int64_t kernels) {
  static analysed const made(profile_maker(static_cast<std::size_t>(kernels), 2000).take());
  return made;
}

void find_answer(benchmark::State& state) {
  analysed const& made = many_ranges(state.range(0));
  for (auto _ : state) {
    strata::report_input input = made.input();
    made.find_answer(input);
    benchmark::DoNotOptimize(input.findings.findings.data());
  }
}

void write_page(benchmark::State& state) {
  analysed const& made = many_ranges(state.range(0));
  strata::report_input input = made.input();
  made.find_answer(input);
  for (auto _ : state) {
    std::string text;
    {
      strata::detail::text_writer out(text);
      strata::write_html(out, input);
    }
    state.counters["bytes"] = static_cast<double>(text.size());
  }
}

void statistics_add(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> durations(8.0, 1.0);
  std::vector<std::int64_t> values(1 << 16);
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(durations(random));
  strata::duration_statistics statistics;
  for (std::int64_t value : values) statistics.add(value);
  std::size_t next = 0;
  for (auto _ : state) {
    statistics.add(values[next++ & 0xffff]);
    benchmark::ClobberMemory();
  }
  benchmark::DoNotOptimize(statistics.count());
}

// ---- writing ----

using write_function = void (*)(strata::detail::text_writer&, strata::table_input const&);

constexpr strata::trace_options whole{1'000'000'000, false, false};
constexpr strata::trace_options compressed{1'000'000'000, false, true};
std::uint64_t events = 0;  // of the trace that was written last

void write_whole_trace(strata::detail::text_writer& out, strata::table_input const& input) {
  events = strata::write_trace(out, input, whole).events;
}

void write_compressed_trace(strata::detail::text_writer& out, strata::table_input const& input) {
  events = strata::write_trace(out, input, compressed).events;
}

std::string const& text_of(write_function write) {
  static std::vector<std::pair<write_function, std::string>> made;
  for (auto const& [which, text] : made)
    if (which == write) return text;
  std::string text;
  {
    strata::detail::text_writer out(text);
    write(out, million_kernels().input());
  }
  made.emplace_back(write, std::move(text));
  return made.back().second;
}

/// A file in memory: what a disk does is not Strata's to answer for.
std::FILE* open_file() {
  int const descriptor = memfd_create("report", 0);
  return descriptor < 0 ? std::tmpfile() : fdopen(descriptor, "w");
}

void write_to(std::FILE* file, benchmark::State& state, write_function write) {
  strata::report_input const input = million_kernels().input();
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    strata::detail::text_writer out(file);
    write(out, input);
    out.flush();
    bytes = out.bytes();
  }
  std::fclose(file);
  state.counters["bytes"] = static_cast<double>(bytes);
}

void write_to_nowhere(benchmark::State& state, write_function write) {
  write_to(std::fopen("/dev/null", "w"), state, write);
  state.counters["events"] = static_cast<double>(events);
}

void write_to_file(benchmark::State& state, write_function write) {
  write_to(open_file(), state, write);
}

void copy_bytes(benchmark::State& state, write_function write) {
  std::string const& text = text_of(write);
  std::vector<char> to(text.size(), ' ');
  for (auto _ : state) {
    std::memcpy(to.data(), text.data(), text.size());
    benchmark::ClobberMemory();
  }
  state.counters["bytes"] = static_cast<double>(text.size());
}

void fwrite_bytes(benchmark::State& state, write_function write) {
  std::string const& text = text_of(write);
  std::FILE* const file = open_file();
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::fwrite(text.data(), 1, text.size(), file));
    std::fflush(file);
  }
  std::fclose(file);
  state.counters["bytes"] = static_cast<double>(text.size());
}

void add_writers(std::string const& what, write_function write) {
  auto const add = [&](char const* how, void (*function)(benchmark::State&, write_function)) {
    benchmark::RegisterBenchmark((what + ", " + how).c_str(), function, write)->Iterations(1);
  };
  add("to nowhere", &write_to_nowhere);
  add("to a file", &write_to_file);
  add("memcpy", &copy_bytes);
  add("fwrite", &fwrite_bytes);
}

}  // namespace

/// An argument `--largest=N` (kernels, 10000000 by default) bounds the time and memory that it
/// takes.
int main(int argc, char** argv) {
  bench::clear_environment();
  std::int64_t largest = 10 * million;
  if (argc > 1 && std::strncmp(argv[argc - 1], "--largest=", 10) == 0)
    largest = std::atoll(argv[--argc] + 10);

  for (std::int64_t kernels = 100'000; kernels <= largest; kernels *= 10) {
    benchmark::RegisterBenchmark("call tree", &call_tree)->Arg(kernels)->Iterations(1);
    benchmark::RegisterBenchmark("call tree and kernel table", &call_tree_and_kernel_table)
        ->Arg(kernels)
        ->Iterations(1);
  }
  benchmark::RegisterBenchmark("find_answer, 10,002 ranges", &find_answer)
      ->Arg(largest)
      ->Iterations(1);
  benchmark::RegisterBenchmark("report.html, 10,002 ranges", &write_page)
      ->Arg(largest)
      ->Iterations(1);
  benchmark::RegisterBenchmark("duration_statistics::add", &statistics_add)
      ->Iterations(5 * million);
  add_writers("memory.csv", &strata::write_memory_csv);
  add_writers("trace.json", &write_whole_trace);
  add_writers("trace.json.gz", &write_compressed_trace);

  benchmark::AddCustomContext("compiler", bench::compiler);
  benchmark::AddCustomContext("flags", BENCH_FLAGS);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
