#include <strata/version.hpp>
#ifndef STRATA_BASE_VEC_HPP
#define STRATA_BASE_VEC_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec_base.hpp>

#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <type_traits>

STRATA_BEGIN

/// A sequence with the interface of std::vector, as far as the library needs it. It compiles in a
/// fraction of the time, because what is not inlined is shared by all types of elements.
/// Differences: an iterator is a pointer, bool is an element like any other, moving an element must
/// not throw, and no element may be aligned beyond std::max_align_t. Without memory it throws
/// std::bad_alloc, or ends the program under -fno-exceptions.
template <class Value>
class vec : public detail::vec_base {
 public:
  using value_type = Value;
  using reference = Value&;
  using const_reference = Value const&;
  using iterator = Value*;
  using const_iterator = Value const*;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  vec() noexcept = default;
  explicit vec(std::size_t count) : vec() { resize(count); }
  vec(std::size_t count, Value const& value) : vec() { resize(count, value); }
  vec(std::initializer_list<Value> values) : vec() { append(values.begin(), 1, values.size()); }
  template <class Iterator, class = std::enable_if_t<!std::is_integral<Iterator>::value>>
  vec(Iterator first, Iterator last) : vec() {
    add_range(first, last);
  }
  vec(vec const& other) : vec() { append(other.data(), 1, other.size_); }
  vec(vec&& other) noexcept { take(other); }
  vec& operator=(vec const& other) {
    if (this != &other) vec(other).swap(*this);
    return *this;
  }
  vec& operator=(vec&& other) noexcept {
    move_from(type(), other);
    return *this;
  }
  ~vec() {
    if constexpr (detail::is_plain<Value>) {
      std::free(data_);
    } else {
      free_all(type());
    }
  }

  Value* data() noexcept { return static_cast<Value*>(data_); }
  Value const* data() const noexcept { return static_cast<Value const*>(data_); }
  Value* begin() noexcept { return static_cast<Value*>(data_); }
  Value const* begin() const noexcept { return static_cast<Value const*>(data_); }
  Value* end() noexcept { return static_cast<Value*>(data_) + size_; }
  Value const* end() const noexcept { return static_cast<Value const*>(data_) + size_; }
  Value& operator[](std::size_t at) noexcept { return static_cast<Value*>(data_)[at]; }
  Value const& operator[](std::size_t at) const noexcept {
    return static_cast<Value const*>(data_)[at];
  }
  /// Like operator[]; ends the program where there is no such element.
  Value const& at(std::size_t at) const noexcept {
    if (at >= size_) std::abort();
    return begin()[at];
  }
  Value& front() noexcept { return *static_cast<Value*>(data_); }
  Value const& front() const noexcept { return *static_cast<Value const*>(data_); }
  Value& back() noexcept { return static_cast<Value*>(data_)[size_ - 1]; }
  Value const& back() const noexcept { return static_cast<Value const*>(data_)[size_ - 1]; }

  void reserve(std::size_t count) { grow(type(), count); }

  void push_back(Value const& value) {
    if constexpr (detail::is_plain<Value>) {
      add_plain(&value);
    } else {
      append(&value, 0, 1);
    }
  }
  void push_back(Value&& value) {
    if constexpr (detail::is_plain<Value>) {
      add_plain(&value);
    } else {
      add_moved(type(), &value, &detail::move_element<Value>);
    }
  }
  template <class... From>
  Value& emplace_back(From&&... from) {
    push_back(Value(static_cast<From&&>(from)...));
    return back();
  }
  void pop_back() noexcept { cut(size_ - 1); }

  void clear() noexcept { cut(0); }
  void resize(std::size_t count) {
    if (count <= size_) return cut(count);
    Value const value = Value();
    append(&value, 0, count - size_);
  }
  void resize(std::size_t count, Value const& value) {
    if (count <= size_) return cut(count);
    append(&value, 0, count - size_);
  }
  /// The value may not be an element.
  void assign(std::size_t count, Value const& value) {
    cut(0);
    append(&value, 0, count);
  }
  template <class Iterator, class = std::enable_if_t<!std::is_integral<Iterator>::value>>
  void assign(Iterator first, Iterator last) {
    vec(first, last).swap(*this);
  }

  Value* erase(Value const* at) noexcept { return erase(at, at + 1); }
  Value* erase(Value const* first, Value const* last) noexcept {
    Value* const at = begin() + (first - begin());
    remove(type(), static_cast<std::size_t>(first - begin()),
           static_cast<std::size_t>(last - first));
    return at;
  }

  Value* insert(Value const* at, Value const& value) { return insert(at, 1, value); }
  Value* insert(Value const* at, Value&& value) {
    vec made;
    made.push_back(static_cast<Value&&>(value));
    return insert_all(at, made);
  }
  Value* insert(Value const* at, std::size_t count, Value const& value) {
    vec made(count, value);
    return insert_all(at, made);
  }
  template <class Iterator, class = std::enable_if_t<!std::is_integral<Iterator>::value>>
  Value* insert(Value const* at, Iterator first, Iterator last) {
    vec made(first, last);
    return insert_all(at, made);
  }
  template <class... From>
  Value* emplace(Value const* at, From&&... from) {
    return insert(at, Value(static_cast<From&&>(from)...));
  }

  void swap(vec& other) noexcept { swap_with(other); }

  friend bool operator==(vec const& a, vec const& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }
  friend bool operator!=(vec const& a, vec const& b) { return !(a == b); }

 private:
  static constexpr detail::vec_type const& type() noexcept { return detail::vec_type_of<Value>; }

  void append(Value const* from, std::size_t step, std::size_t count) {
    if constexpr (detail::is_plain<Value>) {
      add_copies(type(), nullptr, from, step, count);
    } else {
      add_copies(type(), &detail::copy_elements<Value>, from, step, count);
    }
  }

  template <class Iterator>
  void add_range(Iterator first, Iterator last) {
    if constexpr (std::is_same<Iterator, Value*>::value ||
                  std::is_same<Iterator, Value const*>::value) {
      append(first, 1, static_cast<std::size_t>(last - first));
    } else {
      for (; first != last; ++first) emplace_back(*first);
    }
  }

  void add_plain(Value const* value) {
    if (STRATA_DETAIL_UNLIKELY(size_ == capacity_))
      value = static_cast<Value const*>(grow_for(type(), value));
    ::new (static_cast<void*>(static_cast<Value*>(data_) + size_)) Value(*value);
    ++size_;
  }

  void cut(std::size_t size) noexcept {
    if constexpr (detail::is_plain<Value>) {
      size_ = size;
    } else {
      shrink(type(), size);
    }
  }

  Value* insert_all(Value const* at, vec& made) {
    return static_cast<Value*>(
        detail::vec_base::insert_all(type(), static_cast<std::size_t>(at - begin()), made));
  }
};

STRATA_END

#endif  // STRATA_BASE_VEC_HPP
