#include <strata/version.hpp>
#ifndef STRATA_RANGE_HPP
#define STRATA_RANGE_HPP

#include <strata/annotate/attributes.hpp>
#include <strata/base/threads.hpp>
#include <strata/inherit.hpp>

#if !STRATA_ENABLED

// The same names, no instruction.

STRATA_BEGIN_SWITCH_LIGHT

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

STRATA_END_SWITCH_LIGHT

#else

#include <strata/annotate/process.hpp>

#include <cstdint>
#include <type_traits>

STRATA_BEGIN_LIGHT
namespace detail {

/// A place in the source with a constant name: caches the number of the name.
struct range_site {
  name_cache name{0};
};

/// The place of a local class: in inline functions too one in each module.
template <class Local>
struct STRATA_DETAIL_OF_MODULE site_of {
  static inline range_site site{};
};

/// Such a place, and whether its name is a literal: another array may hold another text each time.
template <bool IsLiteral>
struct name_place {
  range_site& site;
};

inline constexpr text_span unnamed_range{"[unnamed]", 9};

/// The name that is behind STRATA_RANGE(.
template <class Name>
constexpr given_text range_name_of(Name const& name) noexcept {
  constexpr bool is_text = std::is_constructible<given_text, Name const&>::value;
  static_assert(is_text,
                "the name of a range comes first, and is a text: STRATA_RANGE(\"block\", layer)");
  if constexpr (is_text) {
    return given_text(name);
  } else {
    return given_text("");
  }
}

/// Whether a value is flops, bytes, tokens, a shape, a note, or something that acts like them.
template <class Value, class = void>
struct is_attribute : std::false_type {};
template <class Value>
struct is_attribute<Value, decltype(as<Value>().apply(*static_cast<range_attributes*>(nullptr)))>
    : std::true_type {};

template <class... Attributes>
STRATA_DETAIL_COLD range_token begin_range(listener const* active, name_cache* cached,
                                           text_span name, std::int64_t index, bool pushed,
                                           Attributes const&... attributes) noexcept {
  static_assert((is_attribute<Attributes>::value && ...),
                "behind the name of a range: one whole number as its index, then attributes such "
                "as strata::flops(n)");
  range_attributes all;
  if constexpr ((is_attribute<Attributes>::value && ...)) (attributes.apply(all), ...);
  if (all.refused) block().values_refused.fetch_add(1, memory_order_relaxed);
  return active->begin(cached, name.data, name.size, index, &all, pushed);
}

inline range_token begin_range(listener const* active, name_cache* cached, text_span name,
                               std::int64_t index, bool pushed) noexcept {
  return active->begin(cached, name.data, name.size, index, nullptr, pushed);
}

/// Splits an optional index from the attributes behind it.
template <class First, class... Rest>
range_token begin_with(listener const* active, name_cache* cached, text_span name, bool pushed,
                       First const& first, Rest const&... rest) noexcept {
  if constexpr (std::is_integral<First>::value || std::is_enum<First>::value) {
    return begin_range(active, cached, name, static_cast<std::int64_t>(first), pushed, rest...);
  } else {
    return begin_range(active, cached, name, no_index, pushed, first, rest...);
  }
}

inline range_token begin_with(listener const* active, name_cache* cached, text_span name,
                              bool pushed) noexcept {
  return begin_range(active, cached, name, no_index, pushed);
}

}  // namespace detail
STRATA_END_LIGHT

STRATA_BEGIN_SWITCH_LIGHT

/// A named region of the program that lasts as long as this object: `scoped_range r{"attention",
/// layer, flops(n)}`. An index and attributes may follow the name, the index first. Threads: any;
/// it ends in the thread that began it. Cost: a load and a branch at each end without a session.
class scoped_range {
 public:
  template <class... Details>
  [[nodiscard]] explicit scoped_range(detail::given_text name, Details const&... details) noexcept {
    detail::listener const* active = detail::active_listener();
    if (STRATA_DETAIL_UNLIKELY(active != nullptr))
      token_ =
          detail::begin_with(active, nullptr, name.span(detail::unnamed_range), false, details...);
  }

  /// For STRATA_RANGE: the number of a literal is looked up once for each place in the source.
  template <std::size_t Size, class... Details>
  [[nodiscard]] scoped_range(detail::name_place<true> location, char const (&name)[Size],
                             Details const&... details) noexcept {
    detail::listener const* active = detail::active_listener();
    if (STRATA_DETAIL_UNLIKELY(active != nullptr)) {
      token_ = detail::begin_with(
          active, &location.site.name,
          Size == 1 ? detail::unnamed_range : detail::text_span{name, Size - 1}, false, details...);
    }
  }
  template <bool IsLiteral, class Name, class... Details>
  [[nodiscard]] scoped_range(detail::name_place<IsLiteral>, Name const& name,
                             Details const&... details) noexcept
      : scoped_range(detail::range_name_of(name), details...) {}
  /// STRATA_RANGE().
  template <bool IsLiteral>
  [[nodiscard]] explicit scoped_range(detail::name_place<IsLiteral>) noexcept {
    static_assert(IsLiteral && !IsLiteral, "a range has a name: STRATA_RANGE(\"attention\")");
  }

  ~scoped_range() {
    if (STRATA_DETAIL_UNLIKELY(token_.owner != nullptr)) token_.owner->end(token_);
  }

  scoped_range(scoped_range const&) = delete;
  scoped_range& operator=(scoped_range const&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

 private:
  detail::range_token token_;
};

/// Consecutive parts of a function that has no braces around them: `p.next("ln1"); ...
/// p.next("attention"); ...`. Threads: the one that made it.
class phases {
 public:
  phases() = default;
  /// Ends the current phase, if any, and begins the next.
  template <class... Details>
  void next(detail::given_text name, Details const&... details) noexcept {
    end();
    detail::listener const* active = detail::active_listener();
    if (STRATA_DETAIL_UNLIKELY(active != nullptr))
      token_ =
          detail::begin_with(active, nullptr, name.span(detail::unnamed_range), false, details...);
  }
  /// Ends the current phase, if any.
  void end() noexcept {
    if (STRATA_DETAIL_UNLIKELY(token_.owner != nullptr)) {
      token_.owner->end(token_);
      token_ = {};
    }
  }
  ~phases() { end(); }

  phases(phases const&) = delete;
  phases& operator=(phases const&) = delete;

 private:
  detail::range_token token_;
};

/// Begins a range that the next `pop` of this thread ends, or the end of the session; for
/// callbacks, where no scope fits.
template <class... Details>
void push(detail::given_text name, Details const&... details) noexcept {
  detail::listener const* active = detail::active_listener();
  if (STRATA_DETAIL_UNLIKELY(active != nullptr))
    (void)detail::begin_with(active, nullptr, name.span(detail::unnamed_range), true, details...);
}

/// Ends the range that the last `push` of this thread began.
inline void pop() noexcept {
  detail::listener const* active = detail::active_listener();
  if (STRATA_DETAIL_UNLIKELY(active != nullptr)) active->pop();
}

/// One step of the program's loop, as long as this object lives: schedules and counter passes count
/// steps. Threads: one drives the steps; steps within a step are not counted.
class scoped_step {
 public:
  [[nodiscard]] scoped_step() noexcept {
    detail::listener const* active = detail::active_listener();
    if (STRATA_DETAIL_UNLIKELY(active != nullptr)) counted_ = active->step_begin();
  }
  ~scoped_step() {
    if (STRATA_DETAIL_UNLIKELY(counted_)) {
      if (detail::listener const* active = detail::active_listener()) active->step_end();
    }
  }
  scoped_step(scoped_step const&) = delete;
  scoped_step& operator=(scoped_step const&) = delete;

 private:
  bool counted_ = false;
};

STRATA_END_SWITCH_LIGHT

#endif  // STRATA_ENABLED

#if !STRATA_ENABLED || defined(__CUDA_ARCH__)
#define STRATA_RANGE(...) (false ? ::strata::detail::swallow(__VA_ARGS__) : void())
#define STRATA_FUNCTION() static_cast<void>(0)
#define STRATA_STEP() static_cast<void>(0)
#else
/// A range until the end of the scope: STRATA_RANGE("name"[, index][, attributes...]).
#define STRATA_RANGE(...)                                                 \
  STRATA_DETAIL_COUNTER_BEGIN                                             \
  STRATA_DETAIL_RANGE(__COUNTER__, (#__VA_ARGS__)[0] == '"', __VA_ARGS__) \
  STRATA_DETAIL_COUNTER_END
/// A range named after the enclosing function.
#define STRATA_FUNCTION()                          \
  STRATA_DETAIL_COUNTER_BEGIN                      \
  STRATA_DETAIL_RANGE(__COUNTER__, true, __func__) \
  STRATA_DETAIL_COUNTER_END
/// A step until the end of the enclosing scope.
#define STRATA_STEP()             \
  STRATA_DETAIL_COUNTER_BEGIN     \
  STRATA_DETAIL_STEP(__COUNTER__) \
  STRATA_DETAIL_COUNTER_END
// Clang 22 warns of __COUNTER__ with -Wpedantic, in the program's own lines.
#if defined(__clang__) && defined(__has_warning)
#if __has_warning("-Wc2y-extensions")
#define STRATA_DETAIL_COUNTER_BEGIN \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wc2y-extensions\"")
#define STRATA_DETAIL_COUNTER_END _Pragma("clang diagnostic pop")
#endif
#endif
#ifndef STRATA_DETAIL_COUNTER_BEGIN
#define STRATA_DETAIL_COUNTER_BEGIN
#define STRATA_DETAIL_COUNTER_END
#endif
#define STRATA_DETAIL_RANGE(number, is_literal, ...)                                             \
  struct STRATA_DETAIL_CAT(strata_range_needs_braces_, number);                                  \
  ::strata::scoped_range const STRATA_DETAIL_CAT(strata_range_, number) {                        \
    ::strata::detail::name_place<(is_literal)>{                                                  \
        ::strata::detail::site_of<STRATA_DETAIL_CAT(strata_range_needs_braces_, number)>::site}, \
        __VA_ARGS__                                                                              \
  }
// Behind `if (...)` without braces the second declaration does not find the first.
#define STRATA_DETAIL_STEP(number)                                                    \
  using STRATA_DETAIL_CAT(strata_step_needs_braces_, number) = ::strata::scoped_step; \
  STRATA_DETAIL_CAT(strata_step_needs_braces_, number)                                \
  const STRATA_DETAIL_CAT(strata_step_, number) {}
#endif

/// The purpose of all memory that is allocated until the end of the enclosing scope, a literal:
/// STRATA_MEMORY("weights"). It is a range of the name `memory:weights`: so is any other range of
/// such a name, of C or NVTX too, and of several the innermost counts.
#define STRATA_MEMORY(purpose) STRATA_DETAIL_MEMORY(purpose)
#define STRATA_DETAIL_MEMORY(purpose)                                       \
  STRATA_RANGE("memory:" purpose);                                          \
  static_assert((#purpose)[sizeof(#purpose) - 2] == '"',                    \
                "the purpose is a literal: STRATA_MEMORY(\"weights\"), or " \
                "STRATA_RANGE(\"memory:\" + kind) for a text of the program")

#endif  // STRATA_RANGE_HPP
