// Bytes, operations, rates, intensity and limiter of known programs compared with what is computed
// by hand from their sizes and the time of CUDA events. Prints a table of every comparison.

#include <cmath>
#include <cstdio>
#include <strata/base/clock.hpp>
#include <strata/range.hpp>
#include <strata/tables/counter_table.hpp>
#include <string>
#include "analyse/roofline.hpp"
#include "analyse/steps.hpp"

#include "counter_tables.hpp"
#include "gpu/cublas.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/known_memory.hpp"

namespace {

using namespace known;

constexpr int steps = 5;
constexpr double within = 0.02;
constexpr double buffer_bytes = double(items) * sizeof(float);

/// What a session says about the range "work", and what separate clocks say.
struct answer {
  double event_ns = 0.0;  ///< of a step, from the first to the last launch
  double host_ns = 0.0;   ///< of a step, of the range
  strata::range_row row;
  strata::range_limit limit;
  strata::vec<strata::roofline_point> points;
  strata::counter_table counted;
  std::size_t at = 0;

  double of(char const* key) const {
    std::size_t const metric = counted.find(key);
    REQUIRE_MESSAGE(metric != strata::counter_table::none, key);
    return counted.at(at, metric, strata::counter_scope::total).value;
  }
  double kernels() const { return double(row.total.kernels) / steps; }
  double kernel_ns() const { return double(row.total.kernel_ns) / steps; }
  strata::roofline_point point(strata::work_evidence evidence) const {
    for (strata::roofline_point const& each : points)
      if (each.level == "HBM" && each.evidence == evidence) return each;
    FAIL("no point of HBM, " << strata::to_string(evidence));
    return {};
  }
};

/// Steps between two events, then counting passes. A kernel before the first event keeps the device
/// busy until all is launched, so that the events have no launches between them.
template <class Work>
answer measure(bool ahead, double flops, double bytes, Work work) {
  answer made;
  cudaEvent_t begin, end;
  GPU_CHECK(cudaEventCreate(&begin));
  GPU_CHECK(cudaEventCreate(&end));
  auto const step = [&] {
    {
      STRATA_RANGE("before");
      if (ahead) gpu::spin<<<1, 1>>>(1'000'000, nullptr);
    }
    GPU_CHECK(cudaEventRecord(begin));
    std::int64_t const from = strata::detail::monotonic_ns();
    {
      STRATA_RANGE("work", strata::flops(flops), strata::bytes(bytes));
      work();
    }
    made.host_ns += double(strata::detail::monotonic_ns() - from) / steps;
    GPU_CHECK(cudaEventRecord(end));
    GPU_CHECK(cudaDeviceSynchronize());
    float ms = 0.0f;
    GPU_CHECK(cudaEventElapsedTime(&ms, begin, end));
    made.event_ns += double(ms) * 1e6 / steps;
  };
  for (int i = 0; i < 3; ++i) step();  // code is loaded, clocks are up
  made.event_ns = made.host_ns = 0.0;
  strata::session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  gpu::run_steps(steps, step);
  double const event_ns = made.event_ns, host_ns = made.host_ns;
  for (auto const& pass : s.counters("roofline+flops+tensor")) {
    (void)pass;
    step();
  }
  made.event_ns = event_ns;
  made.host_ns = host_ns;
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  strata::call_tree const tree(p);
  strata::call_tree const folded(p, strata::folding::by_name);
  made.counted = strata::make_counter_table(p, folded);
  strata::step_analysis const summary = strata::make_steps(p, folded, tree.rows());
  strata::roofline_table const roofs =
      strata::make_roofline(p, folded.rows(), summary, &made.counted);
  while (made.at < folded.rows().size() && folded.rows()[made.at].path != "work") ++made.at;
  REQUIRE(made.at < folded.rows().size());
  made.row = folded.rows()[made.at];
  made.limit = roofs.limits[made.at];
  for (strata::roofline_point const& each : roofs.points)
    if (each.row == made.at) made.points.push_back(each);
  GPU_CHECK(cudaEventDestroy(begin));
  GPU_CHECK(cudaEventDestroy(end));
  return made;
}

void compare(char const* program, char const* what, double by_hand, double value,
             double most = within) {
  std::printf("| %s | %s | %.6g | %.6g | %+.2f %% |\n", program, what, by_hand, value,
              100.0 * (value / by_hand - 1.0));
  CAPTURE(program);
  CAPTURE(what);
  CHECK(std::fabs(value / by_hand - 1.0) <= most);
}

void limited(char const* program, answer const& of, std::string const& word) {
  std::printf("| %s | limiter | %s | %s | |\n", program, word.c_str(), of.limit.text.c_str());
  CAPTURE(program);
  // Operands of the tensor cores come through L1's data path, which large products fill as well.
  bool const is_fed =
      word.find("tensor") != std::string::npos && of.limit.text.compare(0, 3, "L1 ") == 0;
  CHECK((is_fed || of.limit.text.substr(0, word.size()) == word));
  CHECK_FALSE(of.limit.is_above_roof());
}

/// What all programs that keep the device busy have in common.
void compare_work(char const* program, answer const& of, double kernels) {
  compare(program, "kernels", kernels, of.kernels(), 0.0);
  compare(program, "GPU time, ns", of.event_ns, of.kernel_ns());
}

/// 16 bytes a thread: with 4 as in known::copy, HBM gives half of its roof.
__global__ void copy4_kernel(float4 const* from, float4* to) { to[position()] = from[position()]; }

__global__ void chase_kernel(unsigned const* zeros, float* to, unsigned rounds) {
  unsigned at = blockIdx.x * 2654435761u % static_cast<unsigned>(items);
  for (unsigned i = 0; i < rounds; ++i)
    at = (at + 40503u * 997u + zeros[at]) % static_cast<unsigned>(items);
  to[blockIdx.x] = static_cast<float>(at);
}

__global__ void nothing_kernel() {}

}  // namespace

TEST_CASE("copy and triad") {
  constexpr int times = 8;
  buffers const m;
  {
    answer const of = measure(true, 0.0, times * 2 * buffer_bytes, [&] {
      for (int i = 0; i < times; ++i)
        copy4_kernel<<<blocks / 4, threads>>>(reinterpret_cast<float4 const*>(m.a),
                                              reinterpret_cast<float4*>(m.b));
    });
    compare_work("copy", of, times);
    compare("copy", "HBM bytes", times * 2 * buffer_bytes, of.of("hbm_bytes"));
    compare("copy", "HBM bytes/s", times * 2 * buffer_bytes / of.event_ns * 1e9,
            of.of("hbm_bytes_per_second"));
    limited("copy", of, "HBM ");
  }
  double const flops = times * 2.0 * items, bytes = times * 3.0 * buffer_bytes;
  answer const of = measure(true, flops, bytes, [&] {
    for (int i = 0; i < times; ++i) triad(m);
  });
  compare_work("triad", of, times);
  compare("triad", "HBM bytes", bytes, of.of("hbm_bytes"));
  compare("triad", "HBM bytes/s", bytes / of.event_ns * 1e9, of.of("hbm_bytes_per_second"));
  compare("triad", "FLOP/s", flops / of.event_ns * 1e9, of.of("flop_per_second"));
  compare("triad", "FLOP/B", 2.0 / 12.0, of.of("flop_per_hbm_byte"));
  for (strata::work_evidence const evidence :
       {strata::work_evidence::counted, strata::work_evidence::declared}) {
    strata::roofline_point const point = of.point(evidence);
    bool const counted = evidence == strata::work_evidence::counted;
    compare(counted ? "triad, counted" : "triad, declared", "FLOP/B", 2.0 / 12.0,
            point.intensity_flop_per_byte);
    compare(counted ? "triad, counted" : "triad, declared", "bytes/s", bytes / of.event_ns * 1e9,
            point.bytes_per_s);
    compare(counted ? "triad, counted" : "triad, declared", "FLOP/s", flops / of.event_ns * 1e9,
            point.flops_per_s);
  }
  limited("triad", of, "HBM ");
}

namespace {

struct format {
  char const* name;
  char const* limiter;
  int side;
  cudaDataType type;
  gpu::compute by;
  char const* counted;
};
constexpr format formats[] = {
    {"GEMM FP32", "FP32 ", 4096, CUDA_R_32F, gpu::compute::f32_pedantic, "flop_fp32"},
    {"GEMM TF32", "TF32 tensor ", 8192, CUDA_R_32F, gpu::compute::f32_by_tf32, "tensor_tf32"},
    // cuBLAS chooses tiles that cover 8320 columns: 1.6 % more operations than asked for.
    {"GEMM BF16", "BF16 tensor ", 8192, CUDA_R_16BF, gpu::compute::f32, "tensor_bf16"}};

}  // namespace

TEST_CASE("products in three formats") {
  gpu::cublas const library;
  if (!library.found()) {
    MESSAGE("no libcublas here: not compared");
    return;
  }
  buffers const m;
  for (format const& each : formats) {
    constexpr int times = 4;
    double const side = each.side;
    double const flops = times * 2.0 * side * side * side;
    double const item = each.type == CUDA_R_32F ? 4.0 : 2.0;
    double const bytes = times * 3.0 * side * side * item;
    answer const of = measure(true, flops, bytes, [&] {
      for (int i = 0; i < times; ++i)
        REQUIRE(library.multiply(each.side, m.a, m.b, each.type, m.c, each.type, each.by));
    });
    compare_work(each.name, of, times);
    bool const tensor = each.counted[0] == 't';
    compare(each.name, "FLOP", flops, of.of(each.counted));
    compare(each.name, "FLOP/s", flops / of.event_ns * 1e9,
            of.of(tensor ? "tensor_flop_per_second" : "flop_per_second"));
    compare(each.name, "FLOP/B", flops / of.of("hbm_bytes"), of.of("flop_per_hbm_byte"));
    strata::roofline_point const declared = of.point(strata::work_evidence::declared);
    compare(each.name, "FLOP/B, declared", flops / bytes, declared.intensity_flop_per_byte);
    compare(each.name, "FLOP/s, declared", flops / of.event_ns * 1e9, declared.flops_per_s);
    // Each matrix is moved once or, where L2 does not hold it, more often.
    CHECK(of.of("hbm_bytes") > 0.6 * bytes);
    limited(each.name, of, each.limiter);
  }
}

TEST_CASE("a chain of loads, and a storm of launches") {
  buffers const m;
  {
    answer const of = measure(true, 0.0, 0.0, [&] {
      chase_kernel<<<132, 1>>>(reinterpret_cast<unsigned const*>(m.a), m.b, 4000);
    });
    compare_work("chase", of, 1);
    limited("chase", of, "latency");
  }
  constexpr int times = 1000;
  answer const of = measure(false, 0.0, 0.0, [] {
    for (int i = 0; i < times; ++i) nothing_kernel<<<1, 32>>>();
  });
  compare("storm", "kernels", times, of.kernels(), 0.0);
  compare("storm", "host time, ns", of.host_ns, double(of.row.host_total_ns) / steps);
  CHECK(of.kernel_ns() < of.event_ns);
  limited("storm", of, "launch");
}
