// What stands on the two sides of an operator in a what-lambda, and the type in which they meet: the rules of
// base/dtype.hpp as C++ types.
#pragma once

#include <concepts>
#include <type_traits>

#include "weft/expr/program.hpp"

namespace weft::inline WEFT_ABI {

namespace expr {
/// A node of the program that is being written: what every typed expression is underneath. It stands in the namespace
/// of the operators (face.hpp), where argument-dependent lookup finds them for expressions, and for nothing else of
/// weft's: each comparison of two enumerators would try them all.
struct term {
  program* p = nullptr;
  int id = -1;
  /// Asked for by `if`, `?:`, `&&`: refused in words. A template, so that only its use is an error.
  template <std::same_as<bool> T>
  constexpr explicit operator T() const {
    static_assert(!std::same_as<T, bool>,
                  "weft: no size and no element has a value while a kernel is being described, so nothing can be "
                  "decided by it here; use weft::select(condition, a, b)");
    return false;
  }
};
}  // namespace expr
using expr::term;

/// A number of type T that the kernel computes, element by element.
template <element T>
struct value : term {
  using element_type = T;
};
/// The index along an axis of a stage or of a reduction; in arithmetic an i64.
struct axis_index : term {
  using element_type = std::int64_t;
};
/// The size of a dimension, known at the call; in arithmetic an i64.
struct extent : term {
  using element_type = std::int64_t;
};
/// A whole reduction. It has no operators on purpose: a reduction is a stage's entire body, what follows it
/// is the next stage, and whether the two run together is the schedule's business.
template <element T, int Axes>
struct reduction : term {
  using element_type = T;
  static constexpr int axes = Axes;
  int first_axis = 0;
  std::int64_t identity = 0;
};

namespace detail {

/// A number that is no expression: of C++'s arithmetic types, or a 16-bit float.
template <class T>
concept plain_number = std::is_arithmetic_v<T> || element<T>;
template <class T>
concept expression = std::derived_from<T, term> && requires { typename T::element_type; };
template <class T>
struct is_reduction : std::false_type {};
template <class T, int N>
struct is_reduction<reduction<T, N>> : std::true_type {};
template <class T>
concept operand = (expression<T> && !is_reduction<T>::value) || plain_number<T>;
template <class T>
concept index_like = std::same_as<T, axis_index> || std::same_as<T, extent>;
template <class T>
concept index_operand = index_like<T> || std::integral<T>;
template <class T>
struct is_integer_value : std::false_type {};
template <std::integral T>
struct is_integer_value<value<T>> : std::bool_constant<!std::same_as<T, bool>> {};
/// What stands between the parentheses behind a tensor.
template <class T>
concept subscript = index_operand<T> || is_integer_value<T>::value;

template <class T>
struct element_of {
  using type = T;
};
template <expression T>
struct element_of<T> {
  using type = typename T::element_type;
};
template <class T>
using element_of_t = typename element_of<T>::type;
/// The type in which arithmetic on elements T alone is done.
template <class T>
using computed_t = element_t<computed(dtype_of<T>)>;

/// The type in which A and B are computed with and compared. Plain numbers are weak: they take the type that the other
/// side computes in.
template <class A, class B>
struct common {
  static constexpr meeting_type meeting = promote(dtype_of<element_of_t<A>>, dtype_of<element_of_t<B>>);
  static_assert(meeting.exists,
                "weft: u64 meets a signed integer (an index is one), and no type holds the numbers of both; cast one "
                "of them first, for example weft::cast<std::int64_t>(A(i)) + B(i)");
  using type = element_t<meeting.type>;
};
template <plain_number A, expression B>
struct common<A, B> {
  using type = computed_t<element_of_t<B>>;
};
template <expression A, plain_number B>
struct common<A, B> {
  using type = computed_t<element_of_t<A>>;
};
template <class A, class B>
using common_t = typename common<A, B>::type;

/// The type of what only chooses one of A and B (min, max, clamp, select): equal types are kept, and a plain number
/// takes the other side's.
template <class A, class B>
struct chosen : common<A, B> {};
template <expression A, expression B>
  requires std::same_as<element_of_t<A>, element_of_t<B>>
struct chosen<A, B> {
  using type = element_of_t<A>;
};
template <plain_number A, expression B>
struct chosen<A, B> {
  using type = element_of_t<B>;
};
template <expression A, plain_number B>
struct chosen<A, B> {
  using type = element_of_t<A>;
};
template <plain_number A, plain_number B>
struct chosen<A, B> {
  static_assert(std::same_as<A, B>, "weft: select between two plain numbers of different types");
  using type = element_t<dtype_of<A>>;
};
template <class A, class B>
using chosen_t = typename chosen<A, B>::type;

template <class Number, class T>
constexpr void check_weak() {
  constexpr bool fraction = std::is_floating_point_v<Number> || (element<Number> && !std::is_arithmetic_v<Number>);
  static_assert(!fraction || is_float(dtype_of<T>),
                "weft: a number with a fraction meets an integer tensor; cast the tensor first, for example "
                "weft::cast<float>(A(i)) * 0.5f");
}
/// `number` as bits of element type T.
template <class T, plain_number Number>
constexpr std::int64_t number_bits(Number number) {
  if constexpr (std::is_same_v<T, Number>)
    return to_bits(number);
  else if constexpr (is_float(dtype_of<T>) && !std::is_same_v<T, double>)
    return from_f32(dtype_of<T>, static_cast<float>(number));
  else
    return to_bits(static_cast<T>(number));
}
/// Whether element type T can stand for `number`: integers exactly; in floats it may be rounded, but not to infinity.
template <class T, plain_number Number>
constexpr bool represents(Number number) {
  if constexpr (std::is_same_v<T, Number>) {
    return true;
  } else if constexpr (is_float(dtype_of<T>)) {
    constexpr std::int64_t infinity = infinity_bits(dtype_of<T>);
    constexpr double largest = 0x1.fffffffffffffp1023;
    auto const x = static_cast<double>(number);
    return (number_bits<T>(number) & infinity) != infinity || !(x >= -largest && x <= largest);
  } else if constexpr (std::is_integral_v<Number>) {
    auto const taken = static_cast<T>(number);
    return static_cast<Number>(taken) == number && (taken < T(0)) == (number < Number(0));
  } else {
    return false;  // check_weak refuses it
  }
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
