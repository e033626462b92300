#include <strata/version.hpp>
#ifndef STRATA_BASE_VEC_HPP
#define STRATA_BASE_VEC_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Memory is short: throws std::bad_alloc. Without exceptions the program ends, and it is said why.
[[noreturn]] STRATA_DETAIL_COLD inline void out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::fputs("strata: memory is short: without exceptions the program ends\n", stderr);
  std::abort();
#endif
}

/// What the growth of a vec has to know of its elements.
struct vec_type {
  std::size_t size;
  /// Moves an element to where nothing lives, unless `to` is null, then destroys it if it `goes`.
  /// Null: memcpy moves elements, and nothing is to be destroyed.
  void (*move)(void* to, void* from, bool goes) noexcept;
};

/// The part of a vec that is the same for all elements: every growth, copy, erasure and insertion
/// of the library is compiled once, here.
class vec_base {
 public:
  STRATA_DETAIL_ALWAYS_INLINE bool empty() const noexcept { return size_ == 0; }
  STRATA_DETAIL_ALWAYS_INLINE std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }

 protected:
  /// Makes a copy where nothing lives, or a value of its own. Null: memcpy does, or zeros.
  using copier = void (*)(void* to, void const* from);

  STRATA_DETAIL_ALWAYS_INLINE vec_base() noexcept = default;
  /// Copies, as add_copies makes them.
  STRATA_DETAIL_COLD vec_base(vec_type const& type, copier copy, void const* from, std::size_t step,
                              std::size_t count) {
    add_copies(type, copy, from, step, count);
  }
  vec_base(vec_base const&) = delete;
  vec_base& operator=(vec_base const&) = delete;
  STRATA_DETAIL_ALWAYS_INLINE ~vec_base() = default;

  STRATA_DETAIL_COLD void take(vec_base& from) noexcept {
    data_ = from.data_;
    size_ = from.size_;
    capacity_ = from.capacity_;
    from.data_ = nullptr;
    from.size_ = from.capacity_ = 0;
  }

  STRATA_DETAIL_COLD void swap_with(vec_base& other) noexcept {
    vec_base former;
    former.take(*this);
    take(other);
    other.take(former);
  }

  /// Room for `wanted` elements in all. Without memory it is false, and all is as it was.
  STRATA_DETAIL_COLD bool try_grow(vec_type const& type, std::size_t wanted) noexcept {
    if (wanted <= capacity_) return true;
    std::size_t capacity = capacity_ == 0 ? 4 : capacity_ * 2;
    if (capacity < wanted) capacity = wanted;
    if (capacity > PTRDIFF_MAX / type.size) return false;
    bool const plain = type.move == nullptr;
    void* const data =
        plain ? std::realloc(data_, capacity * type.size) : std::malloc(capacity * type.size);
    if (data == nullptr) return false;
    if (!plain) relocate(type, data, data_, size_), std::free(data_);
    data_ = data;
    capacity_ = capacity;
    return true;
  }
  STRATA_DETAIL_COLD void grow(vec_type const& type, std::size_t wanted) {
    if (!try_grow(type, wanted)) out_of_memory();
  }

  /// Room for one more.
  /// Returns: where the value lies afterwards, which moves if it is an element.
  STRATA_DETAIL_COLD void* grow_for(vec_type const& type, void const* value) {
    auto const offset =
        reinterpret_cast<std::uintptr_t>(value) - reinterpret_cast<std::uintptr_t>(data_);
    bool const own = offset < size_ * type.size;
    grow(type, size_ + 1);
    return own ? place(type, 0, offset) : const_cast<void*>(value);
  }

  /// Appends a copy of what memcpy copies.
  STRATA_DETAIL_COLD void add_plain(vec_type const& type, void const* value) {
    if (STRATA_DETAIL_UNLIKELY(size_ == capacity_)) value = grow_for(type, value);
    std::memcpy(static_cast<unsigned char*>(data_) + size_ * type.size, value, type.size);
    ++size_;
  }

  /// Appends what `value` is moved out of.
  STRATA_DETAIL_COLD void add_moved(vec_type const& type, void* value) {
    if (size_ == capacity_) value = grow_for(type, value);
    type.move(place(type, size_), value, false);
    ++size_;
  }

  /// Appends copies; the values may be elements. Step 1 takes consecutive values, step 0 the same
  /// one; where `from` is null new values are made.
  STRATA_DETAIL_COLD void add_copies(vec_type const& type, copier copy, void const* from,
                                     std::size_t step, std::size_t count) {
    if (count == 0) return;
    if (count > capacity_ - size_) {
      auto const offset =
          reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(data_);
      bool const own = offset < size_ * type.size;
      grow(type, size_ + count);
      if (own) from = place(type, 0, offset);
    }
    if (copy == nullptr && (step == 1 || from == nullptr)) {
      from == nullptr ? std::memset(place(type, size_), 0, count * type.size)
                      : std::memcpy(place(type, size_), from, count * type.size);
      size_ += count;
      return;
    }
    unmade undo{*this, type, size_};
    for (; count > 0; --count) {
      copy == nullptr ? static_cast<void>(std::memcpy(place(type, size_), from, type.size))
                      : copy(place(type, size_), from);
      ++size_;
      from = static_cast<unsigned char const*>(from) + step * type.size;
    }
    undo.to = size_;
  }

  /// Cuts off elements, or appends copies of one.
  STRATA_DETAIL_COLD void resize_to(vec_type const& type, std::size_t count, copier copy,
                                    void const* value) {
    if (count <= size_) return shrink(type, count);
    add_copies(type, copy, value, 0, count - size_);
  }

  STRATA_DETAIL_COLD void shrink(vec_type const& type, std::size_t size) noexcept {
    relocate(type, nullptr, place(type, size), size_ - size);
    size_ = size;
  }

  STRATA_DETAIL_COLD void* remove(vec_type const& type, void const* first,
                                  void const* last) noexcept {
    std::size_t const at = index_of(type, first);
    std::size_t const count = index_of(type, last) - at;
    if (count > 0) {
      relocate(type, nullptr, place(type, at), count);
      relocate(type, place(type, at), place(type, at + count), size_ - at - count);
      size_ -= count;
    }
    return place(type, at);
  }

  /// Moves a value to before an element.
  STRATA_DETAIL_COLD void* insert_moved(vec_type const& type, void const* before, void* value) {
    std::size_t const at = index_of(type, before);
    type.move == nullptr ? add_plain(type, value) : add_moved(type, value);
    return bring_last(type, at, 1);
  }

  /// Puts copies, as add_copies makes them, before an element.
  STRATA_DETAIL_COLD void* insert_copies(vec_type const& type, void const* before, copier copy,
                                         void const* from, std::size_t step, std::size_t count) {
    std::size_t const at = index_of(type, before);
    add_copies(type, copy, from, step, count);
    return bring_last(type, at, count);
  }

  /// Moves the last `count` elements to before `at`.
  STRATA_DETAIL_COLD void* bring_last(vec_type const& type, std::size_t at, std::size_t count) {
    std::size_t const kept = size_ - count;
    if (at == kept || count == 0) return place(type, at);
    void* const room = std::malloc(count * type.size);
    if (room == nullptr) shrink(type, kept), out_of_memory();
    relocate(type, room, place(type, kept), count);
    relocate(type, place(type, at + count), place(type, at), kept - at);
    relocate(type, place(type, at), room, count);
    std::free(room);
    return place(type, at);
  }

  STRATA_DETAIL_COLD void free_all(vec_type const& type) noexcept {
    relocate(type, nullptr, data_, size_);
    std::free(data_);
  }

  STRATA_DETAIL_COLD void move_from(vec_type const& type, vec_base& from) noexcept {
    if (this == &from) return;
    vec_base former;  // `from` may live in one of its elements
    former.take(*this);
    take(from);
    former.free_all(type);
  }

  STRATA_DETAIL_COLD void copy_from(vec_type const& type, copier copy, vec_base const& from) {
    if (this == &from) return;
    vec_base made(type, copy, from.data_, 1, from.size_);
    swap_with(made);
    made.free_all(type);
  }

  /// Whether `a` belongs before `b`; the context is the comparison's own.
  using order = bool (*)(void const* context, void const* a, void const* b);

  /// Puts the elements in order, equal ones as they were. What is in order already is only read.
  STRATA_DETAIL_COLD void sort_by(vec_type const& type, order before, void const* context) {
    std::size_t known = 1;
    while (known < size_ && !before(context, place(type, known), place(type, known - 1))) ++known;
    if (known >= size_) return;
    std::size_t const room = size_ + size_ / 2;  // the half that is merged lies behind the whole
    void** const places = static_cast<void**>(std::malloc(room * sizeof(void*)));
    vec_base sorted;
    sorted.data_ = std::malloc(size_ * type.size);
    if (places == nullptr || sorted.data_ == nullptr) {
      std::free(places);
      std::free(sorted.data_);
      out_of_memory();
    }
    for (std::size_t i = 0; i < size_; ++i) places[i] = place(type, i);
    merge_sort(places, size_, places + size_, before, context);
    for (std::size_t i = 0; i < size_; ++i) relocate(type, sorted.place(type, i), places[i], 1);
    std::free(places);
    std::free(data_);
    data_ = sorted.data_;
    capacity_ = size_;
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;

 private:
  /// Destroys the copies that were made when the next one throws, and frees what has no elements:
  /// it may be under construction.
  struct unmade {
    vec_base& of;
    vec_type const& type;
    std::size_t to;
    ~unmade() {
      of.shrink(type, to);
      if (to > 0) return;
      vec_base none;
      std::free(of.data_), of.take(none);
    }
  };

  std::size_t index_of(vec_type const& type, void const* element) const noexcept {
    auto const offset =
        reinterpret_cast<std::uintptr_t>(element) - reinterpret_cast<std::uintptr_t>(data_);
    return static_cast<std::size_t>(offset) / type.size;
  }
  void* place(vec_type const& type, std::size_t at, std::size_t offset = 0) const noexcept {
    return data_ == nullptr ? nullptr
                            : static_cast<unsigned char*>(data_) + at * type.size + offset;
  }

  STRATA_DETAIL_COLD static void merge_sort(void** first, std::size_t count, void** room,
                                            order before, void const* context) {
    if (count <= 8) {
      for (std::size_t i = 1; i < count; ++i) {
        void* const moved = first[i];
        std::size_t at = i;
        for (; at > 0 && before(context, moved, first[at - 1]); --at) first[at] = first[at - 1];
        first[at] = moved;
      }
      return;
    }
    std::size_t const half = count / 2;
    merge_sort(first, half, room, before, context);
    merge_sort(first + half, count - half, room, before, context);
    if (!before(context, first[half], first[half - 1])) return;
    std::memcpy(room, first, half * sizeof(void*));
    std::size_t left = 0;
    std::size_t right = half;
    for (std::size_t to = 0; left < half; ++to) {
      bool const from_right = right < count && before(context, first[right], room[left]);
      first[to] = from_right ? first[right++] : room[left++];
    }
  }

  /// Moves elements to where nothing lives, which may overlap, or destroys them where `to` is null.
  STRATA_DETAIL_COLD static void relocate(vec_type const& type, void* to, void* from,
                                          std::size_t count) noexcept {
    if (count == 0) return;
    if (type.move == nullptr) {
      if (to != nullptr) std::memmove(to, from, count * type.size);
      return;
    }
    unsigned char* const source = static_cast<unsigned char*>(from);
    unsigned char* const target = static_cast<unsigned char*>(to);
    bool const up = target > source;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const at = (up ? count - 1 - i : i) * type.size;
      type.move(target == nullptr ? nullptr : target + at, source + at, true);
    }
  }
};

template <class Value>
STRATA_DETAIL_COLD void move_element(void* to, void* from, bool goes) noexcept {
  static_assert(noexcept(Value(static_cast<Value&&>(*static_cast<Value*>(from)))),
                "a vec moves its elements as it grows");
  Value& source = *static_cast<Value*>(from);
  if (to != nullptr) ::new (to) Value(static_cast<Value&&>(source));
  if (goes) source.~Value();
}

template <class Value>
STRATA_DETAIL_COLD void make_element(void* to, void const*) {
  ::new (to) Value();
}

template <class Value>
STRATA_DETAIL_COLD void copy_element(void* to, void const* from) {
  ::new (to) Value(*static_cast<Value const*>(from));
}

/// Whether memcpy copies and moves a Value. Every compiler's builtin: the traits of the library
/// take ten times as long to compile.
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

/// A sequence with the interface of std::vector, as far as the library needs it. It compiles in a
/// fraction of the time, because what is not inlined is shared by all types of elements.
/// Differences: an iterator is a pointer, bool is an element like any other, moving an element must
/// not throw, and no element may be aligned beyond std::max_align_t. Without memory it throws
/// std::bad_alloc, or ends the program under -fno-exceptions.
template <class Value>
class vec : public detail::vec_base {
  // What memcpy copies is not moved, too: no second push_back for it.
  using movable = std::conditional_t<detail::is_plain<Value>, detail::never, Value>;

 public:
  using value_type = Value;
  using reference = Value&;
  using const_reference = Value const&;
  using iterator = Value*;
  using const_iterator = Value const*;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

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
  STRATA_DETAIL_ALWAYS_INLINE Value& operator[](std::size_t at) noexcept {
    return static_cast<Value*>(data_)[at];
  }
  STRATA_DETAIL_ALWAYS_INLINE Value const& operator[](std::size_t at) const noexcept {
    return static_cast<Value const*>(data_)[at];
  }
  /// Like operator[]; ends the program where there is no such element.
  Value const& at(std::size_t at) const noexcept {
    if (at >= size_) std::abort();
    return begin()[at];
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

  STRATA_DETAIL_ALWAYS_INLINE Value* erase(Value const* at) noexcept { return erase(at, at + 1); }
  STRATA_DETAIL_ALWAYS_INLINE Value* erase(Value const* first, Value const* last) noexcept {
    return static_cast<Value*>(remove(type(), first, last));
  }

  STRATA_DETAIL_ALWAYS_INLINE Value* insert(Value const* at, Value const& value) {
    return static_cast<Value*>(insert_copies(type(), at, copying(), &value, 0, 1));
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* insert(Value const* at, Value&& value) {
    return static_cast<Value*>(insert_moved(type(), at, &value));
  }
  STRATA_DETAIL_ALWAYS_INLINE Value* insert(Value const* at, Value const* first,
                                            Value const* last) {
    auto const count = static_cast<std::size_t>(last - first);
    return static_cast<Value*>(insert_copies(type(), at, copying(), first, 1, count));
  }
  template <class... From>
  Value* emplace(Value const* at, From&&... from) {
    return insert(at, Value(static_cast<From&&>(from)...));
  }

  /// The position of the first element that equals this, size() without one.
  template <class Like>
  std::size_t index_of(Like const& value) const {
    std::size_t at = 0;
    while (at < size_ && !(begin()[at] == value)) ++at;
    return at;
  }
  template <class Like>
  bool contains(Like const& value) const {
    return index_of(value) < size_;
  }
  /// How many elements at the front this holds for, by a binary search: it holds for none behind
  /// the first that it does not hold for.
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
    Value* to = begin();
    for (Value* from = to; from != end(); ++from) {
      if (!holds(*from)) continue;
      if (to != from) *to = static_cast<Value&&>(*from);
      ++to;
    }
    cut(static_cast<std::size_t>(to - begin()));
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

STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_VEC_HPP
