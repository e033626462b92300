#include "weights.hpp"

#include <algorithm>
#include <cmath>

#include "parallel.hpp"

namespace gpt2 {
namespace {

// A counter-based generator: the value depends on the index alone, so threads need not agree on
// anything.
std::uint64_t hash(std::uint64_t index) {
  std::uint64_t h = index * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
  return h ^ (h >> 31);
}

// Four 16-bit uniform numbers added up: mean 0, deviation 1, close to a normal distribution
// (nothing lies beyond 3.46), exact in integers and without a call into the mathematics library.
float near_normal(std::uint64_t index) {
  std::uint64_t const h = hash(index);
  std::uint64_t const sum = (h & 0xFFFF) + (h >> 16 & 0xFFFF) + (h >> 32 & 0xFFFF) + (h >> 48);
  return static_cast<float>(static_cast<std::int32_t>(sum) - 131070) * (1.0f / 37837.227f);
}

}  // namespace

weights::weights(dimensions const& d, std::uint64_t seed) {
  plan(d);
  data_.reset(new float[size_]);  // not zeroed: every element is written below
  std::uint64_t const first = seed << 40;
  constexpr std::size_t piece = 1 << 16;
  for (tensor const& t : tensors_) {
    std::size_t const pieces = (t.size + piece - 1) / piece;
    float* const data = data_.get();
    GPT2_PARALLEL_FOR
    for (std::size_t p = 0; p < pieces; ++p) {
      std::size_t const end = t.offset + std::min(t.size, (p + 1) * piece);
      for (std::size_t i = t.offset + p * piece; i < end; ++i) {
        data[i] = t.mean + t.deviation * near_normal(first + i);
      }
    }
  }
  std::fill(data_.get() + d.V * d.C, data_.get() + d.Vp * d.C, 0.0f);  // the padding
}

void weights::add(std::size_t size, float mean, float deviation) {
  tensors_.push_back({size_, size, mean, deviation});
  size_ += size;
}

// The order here is the order in view().
void weights::plan(dimensions const& d) {
  constexpr float deviation = 0.02f;
  float const residual = deviation / std::sqrt(2.0f * static_cast<float>(d.L));
  auto const norm = [&] {
    add(d.C, 1.0f, deviation);
    add(d.C, 0.0f, deviation);
  };
  auto const linear = [&](std::size_t in, std::size_t out, float weight_deviation) {
    add(in * out, 0.0f, weight_deviation);
    add(out, 0.0f, deviation);
  };
  add(d.Vp * d.C, 0.0f, deviation);
  add(d.max_T * d.C, 0.0f, deviation);
  for (std::size_t l = 0; l < d.L; ++l) {
    norm();
    linear(d.C, 3 * d.C, deviation);
    linear(d.C, d.C, residual);
    norm();
    linear(d.C, 4 * d.C, deviation);
    linear(4 * d.C, d.C, residual);
  }
  norm();
}

parameters weights::view(float const* base) const {
  std::size_t next = 0;
  auto const take = [&] { return base + tensors_[next++].offset; };
  auto const norm = [&] {
    float const* const gain = take();
    return parameters::norm{gain, take()};
  };
  auto const linear = [&] {
    float const* const weight = take();
    return parameters::linear{weight, take()};
  };
  parameters p{};
  p.token_table = take();
  p.position_table = take();
  p.blocks.resize((tensors_.size() - 4) / 12);
  for (auto& b : p.blocks) {
    b.ln1 = norm();
    b.qkv = linear();
    b.projection = linear();
    b.ln2 = norm();
    b.up = linear();
    b.down = linear();
  }
  p.lnf = norm();
  return p;
}

}  // namespace gpt2
