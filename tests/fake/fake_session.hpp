// What the tests of sessions against the stand-ins share.
#ifndef STRATA_TESTS_FAKE_FAKE_SESSION_HPP
#define STRATA_TESTS_FAKE_FAKE_SESSION_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/profile.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>
#include <utility>

#include "fake.hpp"
#include "profile_checks.hpp"

namespace fake {

using strata::call_tree;
using strata::profile;
using strata::session;

// CUPTI's kinds of records.
enum kind : std::uint32_t {
  copies = 1,
  fills = 2,
  kernels = 10,
  overheads = 17,
  peer_copies = 22,
  waits = 38,
  allocations = 49
};
inline constexpr kind all_kinds[] = {copies,      fills, kernels,    overheads,
                                     peer_copies, waits, allocations};

strata::options configure(std::string const& text);

/// Undoes what a test scripted. Strata may stay CUPTI's subscriber from one session to the next, so
/// fake_reset would take the ground from under it.
void unscript();

/// Locks of Strata's that no call of the driver or CUPTI may be made under.
int holds_lock();

/// A session that traces and writes nothing.
/// A loaded machine and a sanitizer slow the fake down: only tests of hung devices have less
/// patience.
struct traced : session {
  explicit traced(std::string const& more = "");
  ~traced();
};

std::uint32_t launch(char const* name = "kernel", std::uint32_t stream = 7,
                     std::uint64_t duration_ns = 1000);

/// Whether a device time is right, as far as the bridge between the clocks lets it be.
inline bool about(std::int64_t is, std::int64_t expected) {
  return is > expected - expected / 20 - 20 && is < expected + expected / 20 + 20;
}

using test::row;

void nothing_lost(profile const& p);
/// The profile, of which nothing was lost.
profile const& whole(session& s);
/// Whether one of its sentences says this.
bool has_problem(profile const& p, std::string const& part);

/// Whether the records and the launch callbacks are all on, or all off. Launches of graphs may be
/// looked at between windows, until one was seen.
void check_tracing(bool on);

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_FAKE_SESSION_HPP
