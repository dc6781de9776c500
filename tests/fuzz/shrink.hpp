// Makes a failing program smaller, under steps that keep their text.
#pragma once

#include <string>

#include "fuzz/steps.hpp"
#include "weft/expr/verify.hpp"

namespace weft_test::fuzz {

class shrinker {
  static auto extents(drawn const& d) {
    return [&d](int t, int dim) { return d.tensors[static_cast<std::size_t>(t)].shape[static_cast<std::size_t>(dim)]; };
  }

 public:
  shrinker(drawn const& d, weft::trace const& steps) : d_(d), steps_(steps) {
    weft::schedule s(d.what, extents(d));
    weft::replay(s, steps);
    text_ = weft::print_trace(s);
  }
  drawn const& program() const { return d_; }
  weft::trace const& steps() const { return steps_; }

  /// As long as `fails` still says so: leaves out outputs, puts operands and ones in the place of what is computed, makes
  /// extents smaller. Stages that nothing reads any more stay.
  template <class Fails>
  void run(Fails const& fails) {
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (std::size_t o = d_.what.outputs.size(); o-- > 0 && d_.what.outputs.size() > 1;)
        smaller = attempt(fails, [&](drawn& d) { d.what.outputs.erase(d.what.outputs.begin() + static_cast<std::ptrdiff_t>(o)); }) || smaller;
      for (std::size_t n = d_.what.nodes.size(); n-- > 0;)
        if (n < d_.what.nodes.size()) smaller = less_of(n, fails) || smaller;
      for (std::int64_t size = 64; size > 1; --size)
        for (std::int64_t less : {std::int64_t(1), size / 2, size - 1})
          if (has_extent(size) && attempt(fails, [&](drawn& d) { resize(d, size, less); })) smaller = true;
    }
  }

 private:
  /// In the place of a node one of its operands, else a one; of a literal half of it.
  template <class Fails>
  bool less_of(std::size_t n, Fails const& fails) {
    weft::node const x = d_.what.nodes[n];
    auto const put = [&](weft::node const& y) { return attempt(fails, [&](drawn& d) { d.what.nodes[n] = y; }); };
    if (x.kind == weft::op::literal)
      return x.type == weft::dtype::i64 && x.value > 1 && put({weft::op::literal, x.type, -1, -1, -1, x.value / 2});
    for (std::int32_t a : {x.a, x.b, x.c})
      if (weft::arity(x.kind) > 0 && a >= 0 && d_.what.at(a).type == x.type && put(d_.what.at(a))) return true;
    if (weft::arity(x.kind) == 0 && x.kind != weft::op::load) return false;
    return put({weft::op::literal, x.type, -1, -1, -1, weft::converted(weft::dtype::i64, x.type, 1)});
  }
  bool has_extent(std::int64_t size) const {
    for (weft::dense const& t : d_.tensors)
      for (std::int64_t e : t.shape)
        if (e == size) return true;
    return false;
  }
  static void resize(drawn& d, std::int64_t from, std::int64_t to) {
    random_source r(d.seed);
    for (weft::dense& t : d.tensors) {
      for (std::int64_t& e : t.shape)
        if (e == from) e = to;
      t = draw_tensor(r, t.type, t.shape, false);
    }
  }
  template <class Fails, class Change>
  bool attempt(Fails const& fails, Change const& change) {
    try {
      drawn next = d_;
      change(next);
      next.what = weft::canonical(next.what);
      if (!weft::fault_of(next.what).empty()) return false;
      next.order_free.clear();
      for (weft::stage_info const& s : next.what.stages) next.order_free.push_back(is_order_free(next.what, s));
      weft::schedule s(next.what, extents(next));
      weft::trace const steps = weft::parse_trace(text_, s, weft::shipped_intrinsics);
      if (!weft::replay(s, steps) || !keeps_order(s, next.order_free) || !fails(next, steps)) return false;
      d_ = next, steps_ = steps;
      return true;
    } catch (weft::error const&) {  // a step names what is gone, or an extent is none any more
      return false;
    }
  }
  /// As it was of the stage that had this name.
  bool is_order_free(weft::program const& p, weft::stage_info const& s) const {
    for (std::size_t i = 0; i < d_.what.stages.size(); ++i)
      if (weft::program::at(d_.what.tensors, d_.what.stages[i].tensor).name == weft::program::at(p.tensors, s.tensor).name)
        return d_.order_free[i];
    return false;
  }

  drawn d_;
  weft::trace steps_;
  std::string text_;
};

}  // namespace weft_test::fuzz
