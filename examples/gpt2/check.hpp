// Do two implementations compute the same?
#ifndef GPT2_CHECK_HPP
#define GPT2_CHECK_HPP

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace gpt2 {

struct outcome {
  float loss;
  std::vector<float> logits;
};

/// Norm of the difference over norm of the reference; anything that is no number counts as
/// infinitely far away.
inline double relative_error(std::vector<float> const& got, std::vector<float> const& expected) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const e = static_cast<double>(expected[i]);
    double const d = static_cast<double>(got[i]) - e;
    difference += d * d;
    norm += e * e;
  }
  double const error = std::sqrt(difference / norm);
  return std::isfinite(error) ? error : HUGE_VAL;
}

/// Prints one line; true if loss and logits lie within `limit`.
inline bool compare(char const* name, outcome const& got, outcome const& expected, double limit) {
  double const logits = relative_error(got.logits, expected.logits);
  double const loss = relative_error({got.loss}, {expected.loss});
  bool const good = logits <= limit && loss <= limit;
  std::printf("%-10s loss %.6f  relative error: loss %.1e, logits %.1e (limit %.0e)  %s\n", name,
              static_cast<double>(got.loss), loss, logits, limit, good ? "ok" : "DIFFERS");
  return good;
}

}  // namespace gpt2

#endif  // GPT2_CHECK_HPP
