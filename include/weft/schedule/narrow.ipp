#include "weft/schedule/narrow.hpp"
#include "weft/schedule/placement.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Finds them for one stage, when those before it are known.
class narrow_stage {
 public:
  narrow_stage(nest const& n, int stage, narrow_results& known)
      : n_(n), p_(n.computation()), s_(program::at(p_.stages, stage)), order_(program::at(n.order, stage)), known_(known),
        stage_(stage) {}
  void find() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (!n_.at(order_[i]).reduced) continue;
      if (first_reduced_ < 0) first_reduced_ = static_cast<int>(i);
      last_reduced_ = static_cast<int>(i);
    }
    if (first_reduced_ < 0) return;
    std::uint32_t allowed = 0;
    for (int d = 0; d < s_.spatial; ++d)
      if (loops_allow(d)) allowed |= bit(d);
    if (allowed == 0) return;
    for (int r = 0; r < s_.results; ++r) lacks(r) = has_all_dimensions(s_.tensor + r) ? 0 : allowed;
    while (!agree()) {}
    std::uint32_t all = allowed;
    for (int r = 0; r < s_.results; ++r) all &= lacks(r);
    for (int r = 0; r < s_.results; ++r) lacks(r) &= ~all;  // the loops of a stage are there for some result
    if (known_.starts[static_cast<std::size_t>(stage_)] < 0 && has_loop_inside()) start();
  }

 private:
  static std::uint32_t bit(int d) { return std::uint32_t(1) << d; }
  std::uint32_t& lacks(int result) { return known_.lacks[static_cast<std::size_t>(s_.tensor + result)]; }
  /// Of an output, and of what a function of the program takes.
  bool has_all_dimensions(int tensor) const {
    for (sequence<std::int32_t> const* all : {&p_.outputs, &p_.reads})
      for (std::int32_t t : *all)
        if (t == tensor) return true;
    return false;
  }
  bool loops_allow(int d) const {
    bool any = false;
    int const start = program::at(n_.starts, stage_), started = start < 0 ? first_reduced_ : n_.position(start);
    for (int i = 0; i < static_cast<int>(order_.size()); ++i) {
      int const loop = program::at(order_, i);
      if (!n_.is_of(loop, s_.first_axis + d)) continue;
      any = true;
      // Outside of the reduced loops nothing would be made for an axis that is empty, inside of them what it has no element of.
      bool const may_be_empty = n_.at(loop).extent < 0, is_empty = n_.at(loop).extent == 0;
      if (is_empty) return false;
      if (i < last_reduced_) {
        if (n_.at(loop).kind != loop_kind::serial || i >= started || may_be_empty) return false;
      } else if (!is_left_out(n_, loop, bit(d)) || has_guests(i)) {
        return false;
      }
    }
    return any;
  }
  /// Whether a stage is computed, or has its memory, in the loop at `position` or inside of it.
  bool has_guests(int position) const {
    for (placement const& p : n_.places)
      for (std::int32_t loop : {p.loop, p.store})
        if (loop >= 0 && n_.at(loop).stage == stage_ && n_.position(loop) >= position) return true;
    return false;
  }
  /// Takes from what each result is thought to lack what its body depends on; whether nothing was to be taken.
  bool agree() {
    sequence<std::uint32_t> on(p_.nodes.size(), 0);  // by node: the spatial axes that it depends on
    int last = 0;
    for (int r = 0; r < s_.results; ++r)
      if (int const body = p_.result(s_, r).body; body > last) last = body;
    auto const of = [&](int id) { return id < 0 ? 0 : program::at(on, id); };
    for (int id = 0; id <= last; ++id) {
      node const& n = p_.at(id);
      std::uint32_t& all = on[static_cast<std::size_t>(id)];
      if (n.kind == op::axis) {
        int const d = n.a - s_.first_axis;
        all = d >= 0 && d < s_.spatial ? bit(d) : 0;
      } else if (n.kind == op::self) {
        all = n.a < s_.results ? ~lacks(n.a) : 0;
      } else if (n.kind == op::load) {
        for (int i = 0; i < n.c; ++i)
          if ((program::at(known_.lacks, n.a) & bit(i)) == 0) all |= of(program::at(p_.operands, n.b + i));
      } else if (arity(n.kind) > 0) {
        all = of(n.a) | of(n.b) | of(n.c);
      }
    }
    bool same = true;
    for (int r = 0; r < s_.results; ++r) {
      std::uint32_t const left = lacks(r) & ~of(p_.result(s_, r).body);
      same = same && left == lacks(r);
      lacks(r) = left;
    }
    return same;
  }
  /// Whether a loop inside of all reduced ones is one that some result is updated outside of.
  bool has_loop_inside() {
    bool any = false;
    for (int i = last_reduced_ + 1; i < static_cast<int>(order_.size()); ++i)
      for (int r = 0; r < s_.results; ++r) any = any || is_left_out(n_, program::at(order_, i), lacks(r));
    return any;
  }
  /// In front of the outermost reduced loop, and of the tile around it, which is to stay one.
  void start() {
    int at = first_reduced_;
    while (at > 0 && is_written_out(n_.at(program::at(order_, at - 1)).kind)) --at;
    known_.starts[static_cast<std::size_t>(stage_)] = program::at(order_, at);
  }

  nest const& n_;
  program const& p_;
  stage_info const& s_;
  sequence<std::int32_t> const& order_;
  narrow_results& known_;
  int stage_;
  int first_reduced_ = -1, last_reduced_ = -1;
};
}  // namespace detail

WEFT_DECL bool is_left_out(nest const& n, int loop, std::uint32_t lacks) {
  if (lacks == 0) return false;
  stage_info const& s = program::at(n.computation().stages, n.at(loop).stage);
  bool any = false;
  for (int d = 0; d < s.axes(); ++d) {
    if (!n.is_of(loop, s.first_axis + d)) continue;
    if (d >= s.spatial || (lacks & std::uint32_t(1) << d) == 0) return false;
    any = true;
  }
  return any;
}
WEFT_DECL narrow_results narrow_results_of(nest const& n) {
  program const& p = n.computation();
  narrow_results all{sequence<std::uint32_t>(p.tensors.size(), 0), n.starts};
  sequence<bool> done;
  auto const find = [&](auto const& self, int stage) -> void {
    stage_info const& s = program::at(p.stages, stage);
    if (s.results == 1 || s.results > 31 || s.reduced == 0 || program::at(done, stage)) return;
    // Its memory is one for all iterations of a loop of another stage, which may run at the same time, or one part each.
    if (program::at(n.places, stage).beside) return;
    done[static_cast<std::size_t>(stage)] = true;
    // Those that it reads first: a stage that a step has added has a higher number than its reader.
    detail::each_load(p, stage, [&](node const& x) {
      if (int const from = program::at(p.tensors, x.a).stage; from >= 0) self(self, from);
    });
    detail::narrow_stage(n, stage, all).find();
  };
  done.resize(p.stages.size(), false);
  for (int s = 0; s < static_cast<int>(p.stages.size()); ++s) find(find, s);
  return all;
}

}  // namespace weft::inline WEFT_ABI
