// Two C function types are interchangeable at run time if their parameters have the same sizes and
// register classes.
#ifndef STRATA_TESTS_ABI_COMMON_HPP
#define STRATA_TESTS_ABI_COMMON_HPP

#include <type_traits>

template <class A, class B>
struct same_class
    : std::bool_constant<sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                         !std::is_floating_point_v<A> && !std::is_floating_point_v<B>> {};
template <>
struct same_class<void, void> : std::true_type {};

template <class... Types>
struct list {};

template <class A, class B>
struct same_classes : std::false_type {};  // lists of different lengths
template <>
struct same_classes<list<>, list<>> : std::true_type {};
template <class A, class... As, class B, class... Bs>
struct same_classes<list<A, As...>, list<B, Bs...>>
    : std::conjunction<same_class<A, B>, same_classes<list<As...>, list<Bs...>>> {};

template <class A, class B>
struct same_abi : std::false_type {};
template <class A, class... As, class B, class... Bs>
struct same_abi<A(As...), B (*)(Bs...)> : same_classes<list<A, As...>, list<B, Bs...>> {};

#define SAME_FUNCTION(theirs, table, ours) \
  static_assert(same_abi<decltype(theirs), decltype(table::ours)>::value, #theirs)
#define SAME_CALLBACK(theirs, ours) \
  static_assert(same_abi<std::remove_pointer_t<theirs>, ours*>::value, #theirs)
#define SAME_VALUE(theirs, ours) \
  static_assert(static_cast<long long>(theirs) == static_cast<long long>(ours), #theirs)
#define SAME_FIELD(theirs, their_field, ours, our_field)                      \
  static_assert(offsetof(theirs, their_field) == offsetof(ours, our_field) && \
                    sizeof(theirs::their_field) == sizeof(ours::our_field),   \
                #theirs "::" #their_field)
// A prefix record must not reach beyond the real one.
#define PREFIX_OF(theirs, ours)                                                                 \
  static_assert(sizeof(ours) <= sizeof(theirs) && alignof(ours) == 8 && alignof(theirs) == 8 && \
                    std::is_standard_layout_v<ours>,                                            \
                #theirs)

#endif  // STRATA_TESTS_ABI_COMMON_HPP
