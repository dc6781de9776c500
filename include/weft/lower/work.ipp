#include "weft/ir/middles.hpp"
#include "weft/lower/work.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline double written_by(ir::stmt s, middles& known, bool& good) {
  double all = 0, times = 1;
  if (s->kind == ir::stmt_kind::store || s->kind == ir::stmt_kind::accumulate || s->kind == ir::stmt_kind::call) return 1;
  if (s->kind == ir::stmt_kind::loop) {
    known.enter(s);
    std::int64_t const trips = known.at(s->extent);
    good = good && trips != middles::unknown;
    times = trips > 0 ? static_cast<double>(trips) : 0;
  }
  for (ir::stmt c : s->children) {
    double const one = written_by(c, known, good);
    all = s->kind == ir::stmt_kind::branch ? (one > all ? one : all) : all + one;
  }
  return times * all;
}
}  // namespace detail

WEFT_DECL double elements_written(ir::function const& f, sequence<std::int64_t> const& sizes) {
  detail::middles known(sizes);
  bool good = true;
  double const all = detail::written_by(f.body, known, good);
  return good ? all : 0;
}

}  // namespace weft::inline WEFT_ABI
