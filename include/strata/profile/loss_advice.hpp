#ifndef STRATA_PROFILE_LOSS_ADVICE_HPP
#define STRATA_PROFILE_LOSS_ADVICE_HPP

#include <strata/profile.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// A power of two in MB with room for twice as much as was asked for.
inline std::string proposed_megabytes(std::uint64_t bytes) {
  std::uint64_t megabytes = 512;
  while (megabytes < 65536 && megabytes << 20 < 2 * bytes) megabytes *= 2;
  return sentence() << megabytes;
}

inline void put_in_place(std::string& text, std::string_view what, std::string const& substitute) {
  std::size_t const index = text.find(what);
  if (index != std::string::npos) text.replace(index, what.size(), substitute);
}

/// What was lost, one text each kind: how many, what follows from it, and the fix.
inline vec<std::string> loss_advice(profile const& source) {
  profile_losses const& l = source.losses;
  std::uint64_t const unlogged = 32 * (l.ranges_summed + l.launches_summed + l.launches_dropped);
  constexpr std::uint64_t of_histogram = 8'000;  // bytes, of times that spread over some octaves
  std::uint64_t const refused =
      64 * (l.activity_dropped + l.activity_summed + l.kernels_merged + l.allocations_dropped) +
      of_histogram * l.histograms_coarse;
  vec<std::string> advice;
  for (loss_kind const& kind : loss_kinds) {
    if (l.*kind.count == 0) continue;
    std::string text(kind.what);
    text += sentence(": ") << count_text(l.*kind.count) << ". ";
    text += kind.advice;
    put_in_place(
        text, "{log}",
        sentence("log=") << proposed_megabytes(source.cost.log_bytes + unlogged) << " (MB)");
    put_in_place(text, "{buffers}",
                 sentence("buffers=")
                     << proposed_megabytes(source.cost.activity_bytes + refused) << " (MB)");
    advice.push_back(std::move(text));
  }
  return advice;
}

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_LOSS_ADVICE_HPP
