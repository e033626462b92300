#include <strata/version.hpp>
#ifndef STRATA_ANNOTATE_OFF_HPP
#define STRATA_ANNOTATE_OFF_HPP

// The twins of everything in range.hpp and inherit.hpp for STRATA_ENABLED=0: the same names, no
// instruction.

#include <strata/annotate/attributes.hpp>
#include <strata/base/macros.hpp>

#include <cstddef>

STRATA_BEGIN_SWITCH

class scoped_range {
 public:
  template <class... Details>
  [[nodiscard]] constexpr explicit scoped_range(detail::given_text, Details const&...) noexcept {}
  ~scoped_range() {
  }  // not defaulted: an unused object of a class with a destructor draws no warning
  scoped_range(scoped_range const&) = delete;
  scoped_range& operator=(scoped_range const&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;
};

class phases {
 public:
  phases() = default;
  template <class... Details>
  constexpr void next(detail::given_text, Details const&...) noexcept {}
  constexpr void end() noexcept {}
  ~phases() {}
  phases(phases const&) = delete;
  phases& operator=(phases const&) = delete;
};

template <class... Details>
constexpr void push(detail::given_text, Details const&...) noexcept {}
constexpr void pop() noexcept {}

class scoped_step {
 public:
  [[nodiscard]] constexpr scoped_step() noexcept {}
  ~scoped_step() {}
  scoped_step(scoped_step const&) = delete;
  scoped_step& operator=(scoped_step const&) = delete;
};

class range_handle {};

[[nodiscard]] constexpr range_handle current() noexcept { return {}; }

class inherit {
 public:
  [[nodiscard]] constexpr explicit inherit(range_handle const&) noexcept {}
  ~inherit() {}
  inherit(inherit const&) = delete;
  inherit& operator=(inherit const&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;
};

STRATA_END_SWITCH

#define STRATA_RANGE(...) (false ? ::strata::detail::swallow(__VA_ARGS__) : void())
#define STRATA_FUNCTION() static_cast<void>(0)
#define STRATA_STEP() static_cast<void>(0)

#endif  // STRATA_ANNOTATE_OFF_HPP
