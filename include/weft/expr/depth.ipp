#include "weft/base/joined.hpp"
#include "weft/expr/depth.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void check_depth(program const& p, int most) {
  sequence<int> depth(p.nodes.size(), 1);
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    node const& n = p.nodes[i];
    auto const over = [&](int operand) {
      if (operand >= 0 && depth[static_cast<std::size_t>(operand)] >= depth[i])
        depth[i] = depth[static_cast<std::size_t>(operand)] + 1;
    };
    if (n.kind == op::load)
      for (int d = 0; d < n.c; ++d) over(program::at(p.operands, n.b + d));
    else if (arity(n.kind) > 0)
      over(n.a), over(n.b), over(n.c);
    if (depth[i] > most)
      WEFT_THROW(argument_error(joined({"weft: an expression has more than ", std::to_string(most),
                                " operations one upon the other; make a stage of a part of it (weft::compute), or sum "
                                        "over an axis"})));
  }
}

}  // namespace weft::inline WEFT_ABI
