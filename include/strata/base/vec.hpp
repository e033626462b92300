#ifndef STRATA_BASE_VEC_HPP
#define STRATA_BASE_VEC_HPP

#include <strata/base/memory.hpp>

#include <initializer_list>
#include <type_traits>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN_LIGHT
namespace detail {

template <class Value>
STRATA_DETAIL_COLD void move_element(void* destination, void* from, bool goes) noexcept {
  static_assert(noexcept(Value(static_cast<Value&&>(*static_cast<Value*>(from)))),
                "a vec moves its elements as it grows");
  Value& source = *static_cast<Value*>(from);
  if (destination != nullptr) ::new (destination) Value(static_cast<Value&&>(source));
  if (goes) source.~Value();
}

template <class Value>
STRATA_DETAIL_COLD void make_element(void* destination, void const*) {
  ::new (destination) Value();
}

template <class Value>
STRATA_DETAIL_COLD void copy_element(void* destination, void const* from) {
  ::new (destination) Value(*static_cast<Value const*>(from));
}

/// Whether memcpy copies and moves a Value; the traits of the library compile ten times as long.
template <class Value>
inline constexpr bool is_plain = __is_trivially_copyable(Value);

/// A type without values, from three pointers: `{}`, `{a}` and `{a, b}` are a Value.
class never {
  never(never*, never*, never*) noexcept;
};

template <class Value>
constexpr vec_type make_vec_type() noexcept {
  static_assert(alignof(Value) <= alignof(std::max_align_t), "malloc aligns the elements");
  if constexpr (is_plain<Value>) {
    return {sizeof(Value), nullptr};
  } else {
    return {sizeof(Value), &move_element<Value>};
  }
}

template <class Value>
inline constexpr vec_type vec_type_of = make_vec_type<Value>();

}  // namespace detail

/// A sequence with the interface of std::vector that compiles in a fraction of the time: what is
/// not inlined is shared by all types. Differences: an iterator is a pointer, bool is an element
/// like any other, moving must not throw, and no element is aligned beyond std::max_align_t.
/// Without memory it throws std::bad_alloc, or ends the program under -fno-exceptions.
template <class Value>
class vec : public detail::vec_base {
  // What memcpy copies is not moved, too: no second push_back for it.
  using movable = std::conditional_t<detail::is_plain<Value>, detail::never, Value>;

 public:
  using value_type = Value;
  using reference = Value&;
  using iterator = Value*;

  STRATA_DETAIL_ALWAYS_INLINE vec() noexcept = default;
  STRATA_DETAIL_ALWAYS_INLINE explicit vec(std::size_t count)
      : vec_base(type(), maker(), nullptr, 0, count) {}
  STRATA_DETAIL_ALWAYS_INLINE vec(std::size_t count, Value const& value)
      : vec_base(type(), copying(), &value, 0, count) {}
  vec(std::initializer_list<Value> values)
      : vec_base(type(), copying(), values.begin(), 1, values.size()) {}
  template <class Iterator, class = std::enable_if_t<!std::is_integral<Iterator>::value>>
  vec(Iterator first, Iterator last) : vec() {
    add_range(first, last);
  }
  STRATA_DETAIL_ALWAYS_INLINE vec(vec const& other)
      : vec_base(type(), copying(), other.data_, 1, other.size_) {}
  STRATA_DETAIL_ALWAYS_INLINE vec(vec&& other) noexcept { take(other); }
  STRATA_DETAIL_ALWAYS_INLINE vec& operator=(vec const& other) {
    copy_from(type(), copying(), other);
    return *this;
  }
  STRATA_DETAIL_ALWAYS_INLINE vec& operator=(vec&& other) noexcept {
    move_from(type(), other);
    return *this;
  }
  STRATA_DETAIL_ALWAYS_INLINE ~vec() {
    if constexpr (detail::is_plain<Value>) {
      std::free(data_);
    } else {
      free_all(type());
    }
  }

  STRATA_DETAIL_ALWAYS_INLINE Value* data() noexcept { return static_cast<Value*>(data_); }
  STRATA_DETAIL_ALWAYS_INLINE Value const* data() const noexcept {
    return static_cast<Value const*>(data_);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* begin() noexcept { return static_cast<Value*>(data_); }
  STRATA_DETAIL_ALWAYS_INLINE Value const* begin() const noexcept {
    return static_cast<Value const*>(data_);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* end() noexcept { return static_cast<Value*>(data_) + size_; }
  STRATA_DETAIL_ALWAYS_INLINE Value const* end() const noexcept {
    return static_cast<Value const*>(data_) + size_;
  }
  STRATA_DETAIL_ALWAYS_INLINE Value& operator[](std::size_t index) noexcept {
    return static_cast<Value*>(data_)[index];
  }
  STRATA_DETAIL_ALWAYS_INLINE Value const& operator[](std::size_t index) const noexcept {
    return static_cast<Value const*>(data_)[index];
  }
  /// Like operator[]; ends the program where there is no such element.
  Value const& at(std::size_t index) const noexcept {
    if (index >= size_) std::abort();
    return begin()[index];
  }
  STRATA_DETAIL_ALWAYS_INLINE Value& front() noexcept { return *static_cast<Value*>(data_); }
  STRATA_DETAIL_ALWAYS_INLINE Value const& front() const noexcept {
    return *static_cast<Value const*>(data_);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value& back() noexcept {
    return static_cast<Value*>(data_)[size_ - 1];
  }
  STRATA_DETAIL_ALWAYS_INLINE Value const& back() const noexcept {
    return static_cast<Value const*>(data_)[size_ - 1];
  }

  STRATA_DETAIL_ALWAYS_INLINE void reserve(std::size_t count) { grow(type(), count); }
  /// Room for so many more elements: adding them needs no memory then. False where there is none.
  [[nodiscard]] STRATA_DETAIL_ALWAYS_INLINE bool make_room(std::size_t more) noexcept {
    return more <= capacity_ - size_ || try_grow(type(), size_ + more);
  }

  STRATA_DETAIL_ALWAYS_INLINE void push_back(Value const& value) {
    if constexpr (detail::is_plain<Value>) {
      add_plain(type(), &value);
    } else {
      add_copies(type(), copying(), &value, 0, 1);
    }
  }
  STRATA_DETAIL_ALWAYS_INLINE void push_back(movable&& value) { add_moved(type(), &value); }
  template <class... From>
  Value& emplace_back(From&&... from) {
    push_back(Value(static_cast<From&&>(from)...));
    return back();
  }
  STRATA_DETAIL_ALWAYS_INLINE void pop_back() noexcept { cut(size_ - 1); }

  STRATA_DETAIL_ALWAYS_INLINE void clear() noexcept { cut(0); }
  STRATA_DETAIL_ALWAYS_INLINE void resize(std::size_t count) {
    resize_to(type(), count, maker(), nullptr);
  }
  STRATA_DETAIL_ALWAYS_INLINE void resize(std::size_t count, Value const& value) {
    resize_to(type(), count, copying(), &value);
  }
  /// The value may not be an element.
  STRATA_DETAIL_ALWAYS_INLINE void assign(std::size_t count, Value const& value) {
    cut(0);
    resize(count, value);
  }

  STRATA_DETAIL_ALWAYS_INLINE Value* erase(Value const* position) noexcept {
    return erase(position, position + 1);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* erase(Value const* first, Value const* last) noexcept {
    return static_cast<Value*>(remove(type(), first, last));
  }

  STRATA_DETAIL_ALWAYS_INLINE Value* insert(Value const* position, Value const& value) {
    return static_cast<Value*>(insert_copies(type(), position, copying(), &value, 0, 1));
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* insert(Value const* position, Value&& value) {
    return static_cast<Value*>(insert_moved(type(), position, &value));
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* insert(Value const* position, Value const* first,
                                            Value const* last) {
    auto const count = static_cast<std::size_t>(last - first);
    return static_cast<Value*>(insert_copies(type(), position, copying(), first, 1, count));
  }
  template <class... From>
  Value* emplace(Value const* position, From&&... from) {
    return insert(position, Value(static_cast<From&&>(from)...));
  }

  /// The position of the first element that equals this, size() without one.
  template <class Like>
  std::size_t index_of(Like const& value) const {
    std::size_t index = 0;
    while (index < size_ && !(begin()[index] == value)) ++index;
    return index;
  }
  template <class Like>
  bool contains(Like const& value) const {
    return index_of(value) < size_;
  }
  /// How many elements at the front this holds for, by a binary search.
  template <class Holds>
  std::size_t count_first(Holds holds) const {
    std::size_t first = 0;
    for (std::size_t count = size_; count > 0;) {
      std::size_t const half = count / 2;
      bool const beyond = holds(begin()[first + half]);
      first += beyond ? half + 1 : 0;
      count = beyond ? count - half - 1 : half;
    }
    return first;
  }
  /// Takes out what this does not hold for.
  template <class Holds>
  void keep_if(Holds holds) {
    Value* target = begin();
    for (Value* from = target; from != end(); ++from) {
      if (!holds(*from)) continue;
      if (target != from) *target = static_cast<Value&&>(*from);
      ++target;
    }
    cut(static_cast<std::size_t>(target - begin()));
  }

  /// Puts the elements in order; what is equal stays as it was.
  template <class Before>
  void sort(Before before) {
    sort_by(type(), &compare<Before>, &before);
  }
  void sort() { sort(&is_less); }

  STRATA_DETAIL_ALWAYS_INLINE void swap(vec& other) noexcept { swap_with(other); }

  friend bool operator==(vec const& a, vec const& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }
  friend bool operator!=(vec const& a, vec const& b) { return !(a == b); }

 private:
  STRATA_DETAIL_ALWAYS_INLINE static constexpr detail::vec_type const& type() noexcept {
    return detail::vec_type_of<Value>;
  }

  STRATA_DETAIL_ALWAYS_INLINE static constexpr copier copying() noexcept {
    if constexpr (detail::is_plain<Value>) {
      return nullptr;
    } else {
      return &detail::copy_element<Value>;
    }
  }
  /// Zeros without one; but zero is no null of a pointer to a member.
  STRATA_DETAIL_ALWAYS_INLINE static constexpr copier maker() noexcept {
    if constexpr (!std::is_class<Value>::value && !std::is_member_pointer<Value>::value) {
      return nullptr;
    } else {
      return &detail::make_element<Value>;
    }
  }

  template <class Before>
  static bool compare(void const* before, void const* a, void const* b) {
    return (*static_cast<Before const*>(before))(*static_cast<Value const*>(a),
                                                 *static_cast<Value const*>(b));
  }
  static bool is_less(Value const& a, Value const& b) { return a < b; }

  template <class Iterator>
  void add_range(Iterator first, Iterator last) {
    if constexpr (std::is_same<Iterator, Value*>::value ||
                  std::is_same<Iterator, Value const*>::value) {
      add_copies(type(), copying(), first, 1, static_cast<std::size_t>(last - first));
    } else {
      for (; first != last; ++first) emplace_back(*first);
    }
  }

  STRATA_DETAIL_ALWAYS_INLINE void cut(std::size_t size) noexcept {
    if constexpr (detail::is_plain<Value>) {
      size_ = size;
    } else {
      shrink(type(), size);
    }
  }
};

STRATA_END_LIGHT
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_VEC_HPP
