#include "weft/bench/counts.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {
namespace detail {
class counter {
 public:
  counter(program const& p, argument const* arguments) : p_(p), arguments_(arguments) {}

  counts all() {
    counts c;
    for (stage_info const& s : p_.stages) c.operations += points(s) * operations(s);
    for (std::size_t i = 0; i < p_.inputs.size(); ++i)
      if (p_.inputs[i].tensor >= 0) c.bytes += bytes(p_.inputs[i].tensor);
    for (std::int32_t const t : p_.outputs) c.bytes += bytes(t);
    bool floats = true;
    int widest = 4;
    for (tensor_info const& t : p_.tensors) {
      floats = floats && (t.type == dtype::f32 || t.type == dtype::f64);
      if (t.type == dtype::f64) widest = 8;
    }
    c.float_bytes = floats ? widest : 0;
    return c;
  }

 private:
  double points(stage_info const& s) {
    double all = 1;
    for (int a = 0; a < s.axes(); ++a) all *= value(program::at(p_.axes, s.first_axis + a).extent);
    return all;
  }
  double bytes(std::int32_t tensor) {
    tensor_info const& t = program::at(p_.tensors, tensor);
    double all = size_bytes(t.type);
    for (int d = 0; d < t.rank; ++d) all *= value(program::at(p_.extents, t.first_extent + d));
    return all;
  }
  /// Of one point: each node once, however many others use it.
  double operations(stage_info const& s) {
    seen_ = sequence<char>(p_.nodes.size(), 0);
    double all = 0;
    for (int i = 0; i < s.results; ++i) {
      std::int32_t const body = program::at(p_.results, s.first_result + i).body;
      if (body >= 0) all += operations(body);
    }
    return all;
  }
  double operations(std::int32_t at) {
    if (at < 0 || seen_[static_cast<std::size_t>(at)] != 0) return 0;
    seen_[static_cast<std::size_t>(at)] = 1;
    node const& n = program::at(p_.nodes, at);
    if (arity(n.kind) == 0 || is_comparison(n.kind)) return 0;  // subscripts of loads are not looked at
    if (n.kind == op::logical_and || n.kind == op::logical_or || n.kind == op::logical_not) return 0;
    double all = 0;
    if (n.kind == op::cast || n.kind == op::bitcast) return operations(n.a);
    if (is_choice(n.kind)) return operations(n.b) + operations(n.c);
    all = n.kind == op::fma ? 2 : 1;
    return all + operations(n.a) + (arity(n.kind) > 1 ? operations(n.b) : 0) + (arity(n.kind) > 2 ? operations(n.c) : 0);
  }
  /// Of an extent, which is arithmetic on those of the inputs.
  double value(std::int32_t at) {
    node const& n = program::at(p_.nodes, at);
    if (n.kind == op::literal) return static_cast<double>(n.value);
    if (n.kind == op::extent) return extent(n.a, n.b);
    if (n.kind == op::axis) return value(program::at(p_.axes, n.a).extent);
    double const a = value(n.a), b = arity(n.kind) > 1 ? value(n.b) : 0;
    switch (n.kind) {
      case op::add: return a + b;
      case op::sub: return a - b;
      case op::mul: return a * b;
      case op::neg: return -a;
      case op::div:
      case op::floor_div: return b != 0 ? __builtin_floor(a / b) : 0;
      case op::rem:
      case op::floor_mod: return b != 0 ? a - b * __builtin_floor(a / b) : 0;
      case op::min: return a < b ? a : b;
      case op::max: return a > b ? a : b;
      case op::select: return value(n.b) > value(n.c) ? value(n.b) : value(n.c);
      default: return a;
    }
  }
  double extent(std::int32_t tensor, std::int32_t dim) {
    for (std::size_t i = 0; i < p_.inputs.size(); ++i)
      if (p_.inputs[i].tensor == tensor) return static_cast<double>(arguments_[i].extents[dim]);
    // Of a stage: its own extents are nodes as well.
    return value(program::at(p_.extents, program::at(p_.tensors, tensor).first_extent + dim));
  }

  program const& p_;
  argument const* arguments_;
  sequence<char> seen_;
};
}  // namespace detail

WEFT_DECL counts counted(program const& p, argument const* arguments) { return detail::counter(p, arguments).all(); }

}  // namespace bench
}  // namespace weft::inline WEFT_ABI
