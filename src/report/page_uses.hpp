#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_USES_HPP
#define STRATA_REPORT_PAGE_USES_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/json.hpp>
#include "range_projection.hpp"
#include "report_input.hpp"
#include "trace_plan.hpp"
#include "use_tracks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// Writes the uses of each device below the timeline of a step.
class page_uses {
 public:
  page_uses(report_input const& input, trace_labels const& labels)
      : tracks_(make_use_tracks(
            input,
            project_ranges(input.source,
                           [&](std::uint32_t node) { return labels.has_own_row(node); }),
            busy_detail::exact)) {}

  /// From `begin` to `end`: pieces of the same use, or means of equal parts where they are many.
  void write(json_writer& json, std::int64_t begin, std::int64_t end) const {
    json.array("uses");
    for (use_track const& track : tracks_) {
      vec<piece> pieces = pieces_of(track, begin, end);
      bool const joined = pieces.size() > most_pieces;
      if (joined) pieces = parts_of(pieces, begin, end);
      if (pieces.empty()) continue;
      json.line();
      json.object();
      json.integer("device", track.device);
      json.text("name", track.name);
      json.boolean("joined", joined);
      json.array("pieces");  // begin, from that of the one before on, length, thousandths
      std::int64_t last = begin;
      for (piece const& drawn : pieces) {
        json.integer({}, drawn.begin - last);
        json.integer({}, drawn.end - drawn.begin);
        json.integer({}, drawn.use);
        last = drawn.begin;
      }
      json.end_array();
      json.end_object();
    }
    json.end_array();
  }

 private:
  static constexpr std::size_t most_pieces = 1500;
  static constexpr std::int64_t most_parts = 500;

  struct piece {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t use;
  };

  /// What is not 0.
  static vec<piece> pieces_of(use_track const& track, std::int64_t begin, std::int64_t end) {
    vec<use_track::point> const& points = track.points;
    std::size_t const after =
        points.count_first([&](use_track::point const& point) { return point.time <= begin; });
    vec<piece> pieces;
    for (std::size_t i = after - std::min(after, std::size_t{1}); i + 1 < points.size(); ++i) {
      if (points[i].time >= end) break;
      std::int64_t const piece_begin = std::max(points[i].time, begin);
      std::int64_t const piece_end = std::min(points[i + 1].time, end);
      if (points[i].use > 0 && piece_begin < piece_end)
        pieces.push_back({piece_begin, piece_end, points[i].use});
    }
    return pieces;
  }

  static vec<piece> parts_of(vec<piece> const& pieces, std::int64_t begin, std::int64_t end) {
    std::int64_t const part = (end - begin) / most_parts + 1;
    vec<double> sums(static_cast<std::size_t>(most_parts), 0.0);
    for (piece const& drawn : pieces) {
      for_each_part(drawn.begin, drawn.end, begin, part, [&](std::size_t i, std::int64_t ns) {
        sums[i] += static_cast<double>(ns) * drawn.use;
      });
    }
    vec<piece> parts;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::int64_t const part_begin = begin + static_cast<std::int64_t>(i) * part;
      if (part_begin >= end) break;
      std::int64_t const part_end = std::min(end, part_begin + part);
      double const mean = sums[i] / static_cast<double>(part_end - part_begin);
      if (mean >= 0.5)
        parts.push_back({part_begin, part_end, static_cast<std::uint32_t>(mean + 0.5)});
    }
    return parts;
  }

  vec<use_track> tracks_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_USES_HPP
