#include <strata/version.hpp>
#ifndef STRATA_REPORT_STREAM_TRACK_HPP
#define STRATA_REPORT_STREAM_TRACK_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/trace_plan.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// A track of a trace that is written piece by piece: its slices come by pieces of time, what
/// contains after what is contained. What would overlap on one lane goes to the next one.
class stream_track {
 public:
  struct lane {
    std::uint32_t number;  ///< among those of the process
    vec<trace_slice> slices;

   private:
    friend class stream_track;
    /// A slice that was written and is in no other one, or several next to each other.
    struct stretch {
      std::int64_t begin;
      std::int64_t end;
      std::uint32_t within;
      std::uint32_t piece;
    };
    vec<stretch> written;
  };

  /// `nests`: a lane has slices within each other.
  stream_track(trace_track::position const& place, bool nests) : at(place), nests_(nests) {}

  /// What is around a slice in the tree, so that neighbours are known.
  void add(trace_slice const& slice, std::uint32_t within) { fresh_.push_back({slice, within}); }
  bool has_fresh() const noexcept { return !fresh_.empty(); }

  /// Puts what was added on the lanes, each in the order that a trace needs.
  template <class Number>
  void place(Number next_number) {
    ++piece_;
    bool const nests = nests_;
    fresh_.sort([nests](placed const& a, placed const& b) {
      if (!nests) return a.slice < b.slice;
      if (a.slice.end != b.slice.end) return a.slice.end < b.slice.end;
      return b.slice < a.slice;
    });
    for (placed const& each : fresh_) {
      std::size_t i = 0;
      while (i < lanes.size() && !takes(lanes[i], each)) ++i;
      if (i == lanes.size()) {
        lanes.emplace_back();
        lanes[i].number = next_number();
        (void)takes(lanes[i], each);
      }
      lanes[i].slices.push_back(each.slice);
    }
    fresh_.clear();
    for (lane& each : lanes) each.slices.sort();
  }

  trace_track::position const at;
  vec<lane> lanes;

 private:
  struct placed {
    trace_slice slice;
    std::uint32_t within;
  };
  using stretch = lane::stretch;
  static constexpr std::size_t most_known = 2048;  // stretches of a lane

  bool takes(lane& to, placed const& next) {
    trace_slice const& slice = next.slice;
    vec<stretch>& known = to.written;
    std::size_t apart = known.size();
    while (nests_ && apart > 0 && contains(slice, known[apart - 1])) --apart;
    if (apart > 0 && known[apart - 1].end > slice.begin) return false;
    known.resize(nests_ ? apart : 0);
    known.push_back({slice.begin, slice.end, next.within, piece_});
    if (known.size() > most_known) join_old(known);
    return true;
  }

  /// Of two that begin at one time a reader takes the one that was written first as the outer one.
  bool contains(trace_slice const& slice, stretch const& other) const noexcept {
    bool const begins_before =
        slice.begin < other.begin || (slice.begin == other.begin && other.piece == piece_);
    return begins_before && other.end <= slice.end;
  }

  /// Neighbours in one range become one stretch: what will contain them contains all of them.
  static void join_old(vec<stretch>& known) {
    for (bool const only_neighbours : {true, false}) {
      std::size_t kept = 0;
      std::size_t const old = known.size() / 2;
      for (std::size_t i = 1; i < known.size(); ++i) {
        bool const joins = i < old && (!only_neighbours || known[i].within == known[kept].within);
        if (joins) {
          known[kept].end = known[i].end;
        } else {
          known[++kept] = known[i];
        }
      }
      known.resize(kept + 1);
      if (known.size() <= most_known / 4 * 3) return;
    }
  }

  bool nests_;
  std::uint32_t piece_ = 0;
  vec<placed> fresh_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_STREAM_TRACK_HPP
