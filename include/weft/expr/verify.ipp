#include "weft/expr/verify.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

class program_check {
 public:
  explicit program_check(program const& p) : p_(p) {}

  std::string run() {
    inputs();
    for (std::size_t i = 0; i < p_.nodes.size() && fault_.empty(); ++i) one_node(static_cast<int>(i));
    if (fault_.empty()) shapes();
    for (std::size_t s = 0; s < p_.stages.size() && fault_.empty(); ++s) one_stage(static_cast<int>(s));
    if (fault_.empty()) {
      need(axes_ == static_cast<int>(p_.axes.size()), "an axis belongs to no stage");
      for (std::int32_t c : p_.conditions)
        need(within(c, p_.nodes) && !below(c).data && p_.at(c).type == dtype::boolean,
             "what a call has to meet is no condition on extents");
      need(!p_.outputs.empty(), "the program has no output");
      for (std::int32_t t : p_.outputs) need(within(t, p_.tensors) && tensor(t).stage >= 0, "an output is no stage");
    }
    return fault_;
  }

 private:
  template <class T>
  static bool within(std::int64_t i, sequence<T> const& v) {
    return i >= 0 && i < static_cast<std::int64_t>(v.size());
  }
  bool need(bool holds, char const* sentence) {
    if (!holds && fault_.empty()) fault_ = sentence;
    return holds;
  }
  tensor_info const& tensor(int t) const { return program::at(p_.tensors, t); }

  void inputs() {
    int tensors = 0, scalars = 0;
    for (input_info const& i : p_.inputs)
      if (i.tensor < 0)
        ++scalars;
      else
        need(i.tensor == tensors++ && within(i.tensor, p_.tensors) && tensor(i.tensor).stage < 0 &&
                 tensor(i.tensor).type == i.type,
             "the inputs are not numbered in their order");
    need(scalars == p_.scalars, "the number of scalars is wrong");
    inputs_ = tensors;
    need(p_.tensors.size() == static_cast<std::size_t>(tensors) + p_.results.size(),
         "a tensor is neither an input nor a result of a stage");
    for (tensor_info const& t : p_.tensors) {
      need(t.rank >= 0 && t.rank <= 8, "a tensor has more than 8 dimensions");
      need(static_cast<int>(t.type) < dtype_count, "a tensor has an unknown dtype");
    }
  }
  void shapes() {
    for (tensor_info const& t : p_.tensors)
      for (int d = 0; d < t.rank && fault_.empty(); ++d)
        need(within(t.first_extent + d, p_.extents) && is_extent(program::at(p_.extents, t.first_extent + d)),
             "a shape is not made of extents");
  }
  /// What stands at a node and below it. Numbers: -1 none, -2 several different ones.
  struct facts {
    int depth = 0;
    int axis_stage = -1;
    bool self = false;
    int last_read = -1;  // the latest stage that is read
    bool data = false;   // holds something else than literals and dimensions of inputs
  };
  static void join(int& all, int one) {
    if (one != -1) all = all == -1 || all == one ? one : -2;
  }
  static void join(facts& all, facts const& one) {
    if (one.depth > all.depth) all.depth = one.depth;
    join(all.axis_stage, one.axis_stage);
    all.self = all.self || one.self;
    if (one.last_read > all.last_read) all.last_read = one.last_read;
    all.data = all.data || one.data;
  }
  facts const& below(int id) const { return facts_[static_cast<std::size_t>(id)]; }
  bool is_extent(int id) const { return within(id, p_.nodes) && !below(id).data && p_.at(id).type == dtype::i64; }

  bool one_node(int id) {
    node const& n = p_.at(id);
    if (static_cast<int>(n.kind) >= op_count || static_cast<int>(n.type) >= dtype_count)
      return need(false, "a node has an unknown operation or dtype");
    facts all;
    auto const operand = [&](int o) {
      if (o < 0 || o >= id) return need(false, "an operand is not a node before its user");
      join(all, below(o));
      return true;
    };
    int const count = arity(n.kind), given[] = {n.a, n.b, n.c};
    for (int i = 0; i < 3 && count > 0; ++i)
      if (i < count ? !operand(given[i]) : !need(given[i] == -1, "a node has too many operands")) return false;
    if (n.kind == op::load) {
      if (!need(within(n.a, p_.tensors) && n.c == tensor(n.a).rank && n.b >= 0 && n.c >= 0 &&
                    static_cast<std::size_t>(n.b) + static_cast<std::size_t>(n.c) <= p_.operands.size(),
                "a load has not one index per dimension"))
        return false;
      for (int d = 0; d < n.c; ++d) {
        int const index = program::at(p_.operands, n.b + d);
        if (!operand(index) || !need(p_.at(index).type == dtype::i64, "an index is not an i64")) return false;
      }
    }
    if (!need(count == 0 ? leaf_fits(n) : types_fit(n, p_.at(n.a).type), "an operation has the wrong types"))
      return false;
    ++all.depth;
    if (n.kind == op::axis) all.axis_stage = program::at(p_.axes, n.a).stage;
    all.self = all.self || n.kind == op::self;
    if (n.kind == op::load) all.last_read = all.last_read > tensor(n.a).stage ? all.last_read : tensor(n.a).stage;
    all.data = all.data || (count == 0 && n.kind != op::literal && n.kind != op::extent);
    facts_.push_back(all);
    return need(all.depth <= 2000, "an expression is nested deeper than 2000");
  }
  bool leaf_fits(node const& n) const {
    switch (n.kind) {
      case op::literal:
        return n.a == -1 && is_element(n.type, n.value);
      case op::extent:
        return n.type == dtype::i64 && within(n.a, p_.tensors) && tensor(n.a).stage < 0 && n.b >= 0 &&
               n.b < tensor(n.a).rank;
      case op::scalar: {
        int number = 0;
        for (input_info const& i : p_.inputs)
          if (i.tensor < 0 && number++ == n.a) return i.type == n.type;
        return false;
      }
      case op::axis: return n.type == dtype::i64 && within(n.a, p_.axes);
      case op::load: return n.type == tensor(n.a).type;
      case op::self: return n.a >= 0;
      default: return false;  // ramp and broadcast are the loop program's
    }
  }
  bool types_fit(node const& n, dtype a) const {
    bool const boolean = a == dtype::boolean, real = is_float(a);
    if (is_half(a) && n.kind != op::cast && n.kind != op::bitcast) return false;  // a select's `a` is its condition
    auto const pair = [&] { return p_.at(n.b).type == a; };
    switch (n.kind) {
      case op::neg: return n.type == a && !boolean;
      case op::logical_not: return n.type == a && boolean;
      case op::cast: return true;
      case op::bitcast: return size_bytes(n.type) == size_bytes(a) && !boolean && n.type != dtype::boolean;
      case op::scaleb:
      case op::copysign:
      case op::pow:
      case op::atan2: return n.type == a && real && pair();
      case op::select:
      case op::rare:
      case op::blend: return boolean && p_.at(n.b).type == n.type && p_.at(n.c).type == n.type;
      case op::fma: return n.type == a && !boolean && pair() && p_.at(n.c).type == a;
      case op::add:
      case op::mul:
      case op::min:
      case op::max: return n.type == a && pair();
      case op::sub:
      case op::div: return n.type == a && pair() && !boolean;
      case op::rem: return n.type == a && pair() && !boolean;
      case op::floor_div:
      case op::floor_mod:
      case op::shl:
      case op::shr: return n.type == a && pair() && is_integer(a);
      case op::bit_and:
      case op::bit_or:
      case op::bit_xor: return n.type == a && pair() && !real;
      case op::logical_and:
      case op::logical_or: return n.type == a && pair() && boolean;
      default:
        if (n.kind == op::ramp || n.kind == op::broadcast) return false;  // the loop program's
        if (arity(n.kind) == 1) return n.type == a && real;               // sqrt to round, and math
        return is_comparison(n.kind) && n.type == dtype::boolean && pair();
    }
  }

  void one_stage(int s) {
    stage_info const& st = program::at(p_.stages, s);
    if (!need(st.results >= 1 && st.first_result == results_ && st.tensor == inputs_ + results_ &&
                  results_ + st.results <= static_cast<int>(p_.results.size()),
              "the stages are not numbered in their order"))
      return;
    results_ += st.results;
    bool const numbered = st.first_axis == axes_ && st.first_reduced == axes_ + st.spatial && st.spatial >= 0 &&
                          st.reduced >= 0 && st.reduced <= 8 && st.spatial == tensor(st.tensor).rank &&
                          axes_ + st.axes() <= static_cast<int>(p_.axes.size());
    if (!need(numbered, "the axes are not numbered stage by stage, spatial ones first")) return;
    if (!need(st.scanned >= -1 && st.scanned < st.spatial && (st.scanned < 0 ? !st.backwards : st.reduced == 0),
              "a scan is along one spatial axis, and reduces nothing"))
      return;
    if (st.by != nullptr && !by_function(s, st)) return;
    for (int i = 0; i < st.axes(); ++i) {
      axis_info const& a = program::at(p_.axes, axes_ + i);
      if (!need(a.stage == s && a.reduced == (i >= st.spatial) && is_extent(a.extent), "an axis is malformed")) return;
      node const& e = p_.at(a.extent);
      need(e.kind != op::literal || e.value >= 0, "an extent is negative");
    }
    axes_ += st.axes();
    for (int r = 0; r < st.results && fault_.empty(); ++r) one_result(s, st, r);
  }
  bool by_function(int s, stage_info const& st) {
    if (!need(st.reduced == 0 && st.scanned < 0 && st.results == st.by->writes && st.first_read >= 0 &&
                  st.first_read + st.by->reads <= static_cast<int>(p_.reads.size()),
              "a stage has not the results of its function, or reduces or scans"))
      return false;
    for (int i = 0; i < s; ++i) {
      extern_function const* const other = program::at(p_.stages, i).by;
      need(other == nullptr || other->name != st.by->name || other->is(*st.by), "two functions have one name");
    }
    for (int i = 0; i < st.by->reads + st.results; ++i) {
      int const t = i < st.by->reads ? program::at(p_.reads, st.first_read + i) : st.tensor + i - st.by->reads;
      if (!need(within(t, p_.tensors) && (i >= st.by->reads || tensor(t).stage < s),
                "a function reads its own or a later stage"))
        return false;
      need(st.by->parameters[i] == extern_parameter{tensor(t).type, tensor(t).rank},
           "a tensor has another dtype or rank than the parameter of the function");
    }
    return fault_.empty();
  }
  void one_result(int s, stage_info const& st, int number) {
    result_info const& r = p_.result(st, number);
    int const t = st.tensor + number;
    if (!need(tensor(t).stage == s && tensor(t).rank == st.spatial, "a stage's tensors are not its own")) return;
    for (int i = 0; i < st.spatial; ++i)
      need(are_written_alike(p_, program::at(p_.axes, st.first_axis + i).extent, p_.extent_of(t, i)),
           "an axis has not its tensor's extent");
    if (st.by != nullptr) {
      need(r.body < 0 && r.merged < 0 && r.identity == 0, "a stage that a function computes has no body");
      return;
    }
    if (!need(within(r.body, p_.nodes) && p_.at(r.body).type == tensor(t).type,
              "a stage's body has not the stage's dtype"))
      return;
    need(is_element(tensor(t).type, r.identity), "an identity does not fit its dtype");
    one_body(s, st, r.body, st.results);
    need((r.merged < 0) == (p_.result(st, 0).merged < 0), "what parts become is said of some results of a reduction only");
    if (r.merged < 0) return;
    if (!need(within(r.merged, p_.nodes) && st.reduced > 0 && p_.at(r.merged).type == tensor(t).type,
              "what parts of a reduction become has not its dtype"))
      return;
    one_body(s, st, r.merged, 2 * st.results);
  }
  void one_body(int s, stage_info const& st, int id, int selves) {
    facts const& body = below(id);
    need(body.axis_stage == -1 || body.axis_stage == s, "a body uses the axis of another stage");
    need(body.last_read < s, "a body reads its own or a later stage");
    if (body.self)
      need((st.reduced > 0 || st.scanned >= 0) && selves_fit(id, st, selves),
           "the value so far stands outside of its reduction or scan");
  }
  bool selves_fit(int body, stage_info const& st, int selves) const {
    sequence<bool> used(static_cast<std::size_t>(body) + 1, false);
    used[static_cast<std::size_t>(body)] = true;
    for (int i = body; i >= 0; --i) {
      node const& n = p_.at(i);
      if (!used[static_cast<std::size_t>(i)]) continue;
      if (n.kind == op::self && (n.a >= selves || n.type != tensor(st.tensor + n.a % st.results).type)) return false;
      if (arity(n.kind) > 0)
        for (int o : {n.a, n.b, n.c})
          if (o >= 0) used[static_cast<std::size_t>(o)] = true;
    }
    return true;
  }
  program const& p_;
  std::string fault_;
  sequence<facts> facts_;  // by node
  int axes_ = 0, results_ = 0;  // numbered so far
  int inputs_ = 0;              // how many are tensors
};
}  // namespace detail

WEFT_DECL std::string fault_of(program const& p) { return detail::program_check(p).run(); }

}  // namespace weft::inline WEFT_ABI
