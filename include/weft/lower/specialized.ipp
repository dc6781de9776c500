#include "weft/ir/linear.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What is known of an extent, which is a size and something else: a divisor and the rest that it leaves; divisor 0: all of it.
struct known_length {
  ir::expr extent, size;
  std::int64_t divisor, rest;
  ir::expr by = nullptr;  // what the size is then
};
/// Puts what is known of sizes in their place.
class known_sizes final : public ir::rewriter {
 public:
  known_sizes(ir::arena& m, sequence<known_length> const& known) : ir::rewriter(m), known_(known) {}

 protected:
  ir::expr replace(ir::expr e) override {
    for (known_length const& k : known_)
      if (e == k.size) return k.by;
    return nullptr;
  }
  using ir::rewriter::replace;

 private:
  sequence<known_length> const& known_;
};
/// One copy for each condition on open sizes, and the general one. Where 16 divides it, n is max(n, 16) / 16 * 16: that loops
/// and guards which count by 16 come out even is then seen by arithmetic. The quotient is that of op::div, which range proofs
/// take for a number of its own; a floor_div they bound by n, and the loop that it is the length of no longer cancels.
WEFT_DECL ir::stmt lowering::specialized(int stage, ir::stmt general) {
  ir::stmt all = general;
  for (std::size_t s = n_.specials.size(); s-- > 0;) {
    special const& c = n_.specials[s];
    if (c.stage != stage) continue;
    ir::expr condition = nullptr;
    sequence<known_length> known;
    for (std::size_t i = 0; i < c.conditions.size(); i += 3) {
      ir::expr const e = simplify(m_, axis_extent(p_.stages[at(stage)].first_axis + static_cast<int>(c.conditions[i])));
      std::int64_t const divisor = c.conditions[i + 1], rest = c.conditions[i + 2];
      ir::expr const asked = divisor > 0 ? ir::binary(m_, op::floor_mod, e, ir::index(m_, divisor)) : e;
      condition = ir::all_of(m_, condition, simplify(m_, ir::binary(m_, op::eq, asked, ir::index(m_, rest))));
      known_length k{e, nullptr, divisor, rest};
      linear const form = linear_form(e);
      for (linear::term const& t : form.terms)
        if (t.coefficient == 1 && k.size == nullptr) k.size = t.atom;
      for (known_length& other : known) {
        if (other.size != k.size) continue;
        // Of a square, say, where 6 divides one side and 16 the other.
        bool const both_divide = other.extent == e && rest == 0 && other.rest == 0 && other.divisor < 1 << 20;
        if (both_divide) other.divisor *= divisor / common_divisor(divisor, other.divisor);
        if (divisor == 0 && other.extent == e) other.divisor = 0, other.rest = rest;
        k.size = nullptr;
      }
      if (k.size != nullptr) known.push_back(k);
      // A loop that is left runs, as code for open sizes does not fit else, and so does one along a whole dimension; this one may be gone.
      bool const whole = form.terms.size() == 1 && form.constant == 0 && form.terms[0].coefficient == 1;
      if (k.size != nullptr && divisor > 0 && !whole) condition = ir::all_of(m_, condition, simplify(m_, ir::binary(m_, op::lt, ir::index(m_, 0), e)));
    }
    for (known_length& k : known) {
      ir::expr is = ir::index(m_, k.rest);
      if (k.divisor > 0) {
        ir::expr const least = ir::index(m_, k.rest == 0 ? k.divisor : 1);
        ir::expr const times = ir::binary(m_, op::div, ir::binary(m_, op::max, k.extent, least), ir::index(m_, k.divisor));
        is = ir::binary(m_, op::add, ir::binary(m_, op::mul, times, ir::index(m_, k.divisor)), is);
      }
      k.by = simplify(m_, ir::binary(m_, op::sub, is, ir::binary(m_, op::sub, k.extent, k.size)));
    }
    if (!known.empty()) all = ir::branch(m_, condition, known_sizes(m_, known)(general), all);
  }
  return all;
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
