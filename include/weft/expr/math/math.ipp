#include "weft/base/joined.hpp"
#include "weft/expr/math/error.hpp"
#include "weft/expr/math/gate.hpp"
#include "weft/expr/math/inverse.hpp"
#include "weft/expr/math/math.hpp"
#include "weft/expr/math/power.hpp"
#include "weft/expr/math/remainder.hpp"
#include "weft/expr/math/trigonometric.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {
namespace math {
/// Whether f32 is better computed in f64: without fma, those that would need two numbers for one.
constexpr bool needs_double(op o) {
  return o == op::log || o == op::log2 || o == op::log1p || o == op::tanh || o == op::erf || o == op::gelu ||
         o == op::atan || o == op::atan2;
}
}  // namespace math

WEFT_DECL int expand_math(program& to, bool fused, op o, dtype type, int a, int b) {
  using namespace math;
  num const x{&to, fused, type, a}, y{&to, fused, type, b};
  if (type == dtype::f32 && !fused && needs_double(o)) {
    int const wide = expand_math(to, fused, o, dtype::f64, cast(x, dtype::f64).id, b < 0 ? b : cast(y, dtype::f64).id);
    return cast(num{&to, fused, dtype::f64, wide}, type).id;
  }
  switch (o) {
    case op::abs: return magnitude(x).id;
    case op::copysign: return real((bits(x) & ~sign_mask(x)) | sign(y)).id;
    case op::exp: return exp(x).id;
    case op::exp2: return exp2(x).id;
    case op::expm1: return expm1(x).id;
    case op::log: return log(x).id;
    case op::log2: return log2(x).id;
    case op::log1p: return log1p(x).id;
    case op::sin:
    case op::cos:
    case op::tan: return trigonometric(o, x).id;
    case op::atan: return atan(x).id;
    case op::atan2: return atan2(x, y).id;
    case op::erf: return erf(x).id;
    case op::gelu: return gelu(x).id;
    case op::pow: return pow(x, y).id;
    case op::rem: return fmod(x, y).id;
    case op::tanh: return tanh(x).id;
    case op::sigmoid: return sigmoid(x).id;
    case op::rsqrt: return (1 / one(op::sqrt, x)).id;
    default: break;
  }
  WEFT_THROW(internal_error(joined({"expand: no arithmetic for ", name(o)})));
}
WEFT_DECL int expand_one_plus_tanh(program& to, bool fused, dtype type, int a) {
  using namespace math;
  num const x{&to, fused, type, a};
  if (type == dtype::f32 && !fused) return cast(one_plus_tanh(cast(x, dtype::f64)), type).id;
  return one_plus_tanh(x).id;
}
WEFT_DECL int expand_gate(program& to, program const& from, node const& n, sequence<std::int32_t> const& at) {
  math::gate const g = math::gate_of(from, n);
  if (g.x < 0) return -1;
  return math::gated({&to, true, dtype::f32, at[static_cast<std::size_t>(g.x)]}, g).id;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
