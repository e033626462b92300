#ifndef STRATA_BASE_MEMORY_HPP
#define STRATA_BASE_MEMORY_HPP

// What grows, and what happens where there is no memory for it.

#include <strata/base/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN_LIGHT
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

/// Runs a body. Returns: false where memory was short; without exceptions the program ends.
inline bool if_memory_allows(callback<void()> body) noexcept {
#if defined(__cpp_exceptions)
  try {
    body();
  } catch (std::bad_alloc const&) {
    return false;
  }
#else
  body();
#endif
  return true;
}

/// What the growth of a vec has to know of its elements.
struct vec_type {
  std::size_t size;
  /// Moves an element to where nothing lives, unless `destination` is null, then destroys it if it
  /// `goes`. Null: memcpy moves elements.
  void (*move)(void* destination, void* from, bool goes) noexcept;
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
  using copier = void (*)(void* destination, void const* from);

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
    from.size_ = 0;
    from.capacity_ = 0;
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
    if (!plain) {
      relocate(type, data, data_, size_);
      std::free(data_);
    }
    data_ = data;
    capacity_ = capacity;
    return true;
  }
  STRATA_DETAIL_COLD void grow(vec_type const& type, std::size_t wanted) {
    if (!try_grow(type, wanted)) out_of_memory();
  }

  /// Room for one more. Returns: where the value lies afterwards, which may be an element.
  STRATA_DETAIL_COLD void* grow_for(vec_type const& type, void const* value) {
    auto const offset =
        reinterpret_cast<std::uintptr_t>(value) - reinterpret_cast<std::uintptr_t>(data_);
    bool const own = offset < size_ * type.size;
    grow(type, size_ + 1);
    return own ? address_of(type, 0, offset) : const_cast<void*>(value);
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
    type.move(address_of(type, size_), value, false);
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
      if (own) from = address_of(type, 0, offset);
    }
    if (copy == nullptr && (step == 1 || from == nullptr)) {
      if (from == nullptr) {
        std::memset(address_of(type, size_), 0, count * type.size);
      } else {
        std::memcpy(address_of(type, size_), from, count * type.size);
      }
      size_ += count;
      return;
    }
    unmade undo{*this, type, size_};
    for (; count > 0; --count) {
      if (copy == nullptr) {
        std::memcpy(address_of(type, size_), from, type.size);
      } else {
        copy(address_of(type, size_), from);
      }
      ++size_;
      from = static_cast<unsigned char const*>(from) + step * type.size;
    }
    undo.kept_size = size_;
  }

  /// Cuts off elements, or appends copies of one.
  STRATA_DETAIL_COLD void resize_to(vec_type const& type, std::size_t count, copier copy,
                                    void const* value) {
    if (count <= size_) return shrink(type, count);
    add_copies(type, copy, value, 0, count - size_);
  }

  STRATA_DETAIL_COLD void shrink(vec_type const& type, std::size_t size) noexcept {
    relocate(type, nullptr, address_of(type, size), size_ - size);
    size_ = size;
  }

  STRATA_DETAIL_COLD void* remove(vec_type const& type, void const* first,
                                  void const* last) noexcept {
    std::size_t const index = index_of(type, first);
    std::size_t const count = index_of(type, last) - index;
    if (count > 0) {
      relocate(type, nullptr, address_of(type, index), count);
      relocate(type, address_of(type, index), address_of(type, index + count),
               size_ - index - count);
      size_ -= count;
    }
    return address_of(type, index);
  }

  /// Moves a value to before an element.
  STRATA_DETAIL_COLD void* insert_moved(vec_type const& type, void const* before, void* value) {
    std::size_t const index = index_of(type, before);
    if (type.move == nullptr) {
      add_plain(type, value);
    } else {
      add_moved(type, value);
    }
    return bring_last(type, index, 1);
  }

  /// Puts copies, as add_copies makes them, before an element.
  STRATA_DETAIL_COLD void* insert_copies(vec_type const& type, void const* before, copier copy,
                                         void const* from, std::size_t step, std::size_t count) {
    std::size_t const index = index_of(type, before);
    add_copies(type, copy, from, step, count);
    return bring_last(type, index, count);
  }

  /// Moves the last `count` elements to before `index`.
  STRATA_DETAIL_COLD void* bring_last(vec_type const& type, std::size_t index, std::size_t count) {
    std::size_t const kept = size_ - count;
    if (index == kept || count == 0) return address_of(type, index);
    void* const room = std::malloc(count * type.size);
    if (room == nullptr) {
      shrink(type, kept);
      out_of_memory();
    }
    relocate(type, room, address_of(type, kept), count);
    relocate(type, address_of(type, index + count), address_of(type, index), kept - index);
    relocate(type, address_of(type, index), room, count);
    std::free(room);
    return address_of(type, index);
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
    while (known < size_ && !before(context, address_of(type, known), address_of(type, known - 1)))
      ++known;
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
    for (std::size_t i = 0; i < size_; ++i) places[i] = address_of(type, i);
    merge_sort(places, size_, places + size_, before, context);
    for (std::size_t i = 0; i < size_; ++i)
      relocate(type, sorted.address_of(type, i), places[i], 1);
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
    vec_base& vector;
    vec_type const& type;
    std::size_t kept_size;
    ~unmade() {
      vector.shrink(type, kept_size);
      if (kept_size > 0) return;
      vec_base none;
      std::free(vector.data_);
      vector.take(none);
    }
  };

  std::size_t index_of(vec_type const& type, void const* element) const noexcept {
    auto const offset =
        reinterpret_cast<std::uintptr_t>(element) - reinterpret_cast<std::uintptr_t>(data_);
    return static_cast<std::size_t>(offset) / type.size;
  }
  void* address_of(vec_type const& type, std::size_t index, std::size_t offset = 0) const noexcept {
    return data_ == nullptr ? nullptr
                            : static_cast<unsigned char*>(data_) + index * type.size + offset;
  }

  STRATA_DETAIL_COLD static void merge_sort(void** first, std::size_t count, void** room,
                                            order before, void const* context) {
    if (count <= 8) {
      for (std::size_t i = 1; i < count; ++i) {
        void* const moved = first[i];
        std::size_t index = i;
        for (; index > 0 && before(context, moved, first[index - 1]); --index)
          first[index] = first[index - 1];
        first[index] = moved;
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
    for (std::size_t index = 0; left < half; ++index) {
      bool const from_right = right < count && before(context, first[right], room[left]);
      first[index] = from_right ? first[right++] : room[left++];
    }
  }

  /// Moves elements to where nothing lives, which may overlap, or destroys them where
  /// `destination` is null.
  STRATA_DETAIL_COLD static void relocate(vec_type const& type, void* destination, void* from,
                                          std::size_t count) noexcept {
    if (count == 0) return;
    if (type.move == nullptr) {
      if (destination != nullptr) std::memmove(destination, from, count * type.size);
      return;
    }
    unsigned char* const source = static_cast<unsigned char*>(from);
    unsigned char* const target = static_cast<unsigned char*>(destination);
    bool const up = target > source;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const index = (up ? count - 1 - i : i) * type.size;
      type.move(target == nullptr ? nullptr : target + index, source + index, true);
    }
  }
};

}  // namespace detail
STRATA_END_LIGHT
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_MEMORY_HPP
