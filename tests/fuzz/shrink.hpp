// Makes a failing program smaller, under steps that keep their text.
#pragma once

#include <string>

#include "fuzz/smaller.hpp"
#include "fuzz/steps.hpp"
#include "weft/expr/print_what.hpp"
#include "weft/expr/verify.hpp"

namespace weft_test::fuzz {

class shrinker {
  static auto extents(drawn const& d) {
    return [&d](int t, int dim) { return d.tensors[static_cast<std::size_t>(t)].shape[static_cast<std::size_t>(dim)]; };
  }

 public:
  shrinker(drawn const& d, weft::trace const& steps, weft::known_intrinsics known = weft::shipped_intrinsics)
      : d_(d), steps_(steps), known_(known), text_(text_of(d, steps)) {}
  drawn const& program() const { return d_; }
  weft::trace const& steps() const { return steps_; }

  /// As long as `fails` still says so: draws the elements by the seed, leaves out outputs, steps, stages that nothing reads,
  /// dimensions and inputs, puts operands, ones and numbers in the place of what is computed, makes extents smaller.
  template <class Fails>
  void run(Fails const& fails) {
    // What the text of the program makes (print_what), so that what is shrunk is what is pasted.
    attempt(fails, [](drawn& d) { d.what = weft::equal_nodes_joined(d.what); });
    for (contents const data : {contents::tame, contents::wild})
      if (d_.data == contents::own) attempt(fails, [&](drawn& d) { d.data = data, draw_contents(d); });
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (std::size_t o = d_.what.outputs.size(); o-- > 0 && d_.what.outputs.size() > 1;)
        smaller = attempt(fails, [&](drawn& d) { d.what.outputs.erase(d.what.outputs.begin() + static_cast<std::ptrdiff_t>(o)); }) || smaller;
      smaller = fewer_steps(fails) || smaller;
      smaller = one_stage_as_output(fails) || smaller;
      smaller = fewer_parts(fails) || smaller;
      for (std::size_t n = d_.what.nodes.size(); n-- > 0;)
        if (n < d_.what.nodes.size()) smaller = less_of(n, fails) || smaller;
      for (std::int64_t size = 64; size > 1; --size)
        for (std::int64_t less : {std::int64_t(1), size / 2, size - 1})
          if (has_extent(size) && attempt(fails, [&](drawn& d) { resize(d, size, less); })) smaller = true;
    }
  }

 private:
  static std::string text_of(drawn const& d, weft::trace const& steps) {
    weft::schedule s(d.what, extents(d));
    weft::replay(s, steps);
    return weft::print_trace(s);
  }
  /// Another output alone, with the stages that it needs, where these are fewer; else all steps have to go, too.
  template <class Fails>
  bool one_stage_as_output(Fails const& fails) {
    bool smaller = false;
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(d_.what.tensors.size()); ++t) {
      if (d_.what.tensors[static_cast<std::size_t>(t)].stage < 0) continue;
      auto const change = [&](drawn& d) {
        d.what.outputs = {t};
        for (std::size_t s = d.what.stages.size(); s-- > 0;) without_stage(d.what, static_cast<int>(s)), d.what = weft::canonical(d.what);
        if (d.what.stages.size() == d_.what.stages.size()) d = d_;
      };
      smaller = attempt(fails, change) || (!text_.empty() && attempt(fails, change, "")) || smaller;
    }
    return smaller;
  }
  /// Without one line of the steps.
  template <class Fails>
  bool fewer_steps(Fails const& fails) {
    bool smaller = false;
    for (std::size_t end = text_.size(); end > 0;) {
      end = end < text_.size() ? end : text_.size();
      std::size_t const line = end < 2 ? text_.npos : text_.rfind('\n', end - 2);
      std::size_t const begin = line == text_.npos ? 0 : line + 1;
      std::string const less = text_.substr(0, begin) + text_.substr(end);
      smaller = attempt(fails, [](drawn&) {}, less) || smaller;
      end = begin;
    }
    return smaller;
  }
  /// Without stages, axes, dimensions of inputs, inputs, and conditions.
  template <class Fails>
  bool fewer_parts(Fails const& fails) {
    bool smaller = false;
    for (std::size_t s = d_.what.stages.size(); s-- > 0;)
      if (s < d_.what.stages.size())
        smaller = attempt(fails, [&](drawn& d) { without_stage(d.what, static_cast<int>(s)); }) || smaller;
    for (std::size_t r = d_.what.results.size(); r-- > 0;)
      if (r < d_.what.results.size())
        smaller = attempt(fails, [&](drawn& d) { without_result(d.what, static_cast<int>(r)); }) || smaller;
    for (std::size_t a = d_.what.axes.size(); a-- > 0;)
      if (a < d_.what.axes.size()) smaller = attempt(fails, [&](drawn& d) { without_axis(d.what, static_cast<int>(a)); }) || smaller;
    for (std::size_t t = d_.tensors.size(); t-- > 0;)
      for (std::size_t dim = d_.tensors[t].shape.size(); dim-- > 0;)
        smaller = attempt(fails, [&](drawn& d) { without_dimension(d, t, dim); }) || smaller;
    for (std::size_t i = d_.what.inputs.size(); i-- > 0 && d_.what.inputs.size() > 1;)
      smaller = attempt(fails, [&](drawn& d) { without_input(d, i); }) || smaller;
    for (std::size_t c = d_.what.conditions.size(); c-- > 0;)
      smaller = attempt(fails, [&](drawn& d) { d.what.conditions.erase(d.what.conditions.begin() + static_cast<std::ptrdiff_t>(c)); }) || smaller;
    return smaller;
  }
  /// In the place of a node one of its operands, or of theirs, as behind two casts, else a one; of a literal half of it, of an extent the number that it is.
  template <class Fails>
  bool less_of(std::size_t n, Fails const& fails) {
    weft::node const x = d_.what.nodes[n];
    auto const put = [&](weft::node const& y) { return attempt(fails, [&](drawn& d) { d.what.nodes[n] = y; }); };
    auto const number = [&](std::int64_t bits) { return weft::node{weft::op::literal, x.type, -1, -1, -1, bits}; };
    if (x.kind == weft::op::literal) return x.type == weft::dtype::i64 && x.value > 1 && put(number(x.value / 2));
    if (x.kind == weft::op::extent) return put(number(extents(d_)(x.a, x.b)));
    for (std::int32_t a : {x.a, x.b, x.c})
      if (weft::arity(x.kind) > 0 && a >= 0 && d_.what.at(a).type == x.type && put(d_.what.at(a))) return true;
    for (std::int32_t a : {x.a, x.b, x.c}) {
      if (weft::arity(x.kind) == 0 || a < 0 || weft::arity(d_.what.at(a).kind) == 0) continue;
      weft::node const between = d_.what.at(a);
      for (std::int32_t below : {between.a, between.b, between.c})
        if (below >= 0 && d_.what.at(below).type == x.type && put(d_.what.at(below))) return true;
    }
    if (weft::arity(x.kind) == 0 && x.kind != weft::op::load && x.kind != weft::op::scalar) return false;
    return put(number(weft::converted(weft::dtype::i64, x.type, 1)));
  }
  bool has_extent(std::int64_t size) const {
    for (weft::dense const& t : d_.tensors)
      for (std::int64_t e : t.shape)
        if (e == size) return true;
    return false;
  }
  /// Of elements of the case's own those that are left.
  static void resize(drawn& d, std::int64_t from, std::int64_t to) {
    for (weft::dense& t : d.tensors) {
      weft::sequence<std::int64_t> const before = t.shape;
      for (std::int64_t& e : t.shape)
        if (e == from) e = to;
      t = part_of(t, before);
    }
    draw_contents(d);
  }
  template <class Fails, class Change>
  bool attempt(Fails const& fails, Change const& change) {
    return attempt(fails, change, text_);
  }
  template <class Fails, class Change>
  bool attempt(Fails const& fails, Change const& change, std::string const& text) {
    try {
      drawn next = d_;
      change(next);
      next.what = weft::canonical(next.what);
      if (is_same(next) && text == text_) return false;
      if (!weft::fault_of(next.what).empty()) return false;
      next.order_free.clear(), next.has_empty = false;
      for (weft::stage_info const& s : next.what.stages) next.order_free.push_back(is_order_free(next.what, s));
      for (weft::dense const& t : next.tensors)
        for (std::int64_t e : t.shape) next.has_empty = next.has_empty || e == 0;
      weft::schedule s(next.what, extents(next));
      weft::trace const steps = weft::parse_trace(text, s, known_);
      if (!weft::replay(s, steps) || !keeps_order(s, next.order_free) || !fails(next, steps)) return false;
      name_inputs(next.what);  // as a kernel does
      d_ = next, steps_ = steps, text_ = text_of(d_, steps_);
      return true;
    } catch (weft::error const&) {  // a step names what is gone, or an extent is none any more
      return false;
    }
  }
  bool is_same(drawn const& other) const {
    bool same = other.tensors.size() == d_.tensors.size() && other.data == d_.data && weft::digest(other.what) == weft::digest(d_.what);
    for (std::size_t t = 0; same && t < d_.tensors.size(); ++t) same = other.tensors[t].shape == d_.tensors[t].shape;
    return same;
  }
  /// As it was of the stage that had this name.
  bool is_order_free(weft::program const& p, weft::stage_info const& s) const {
    for (std::size_t i = 0; i < d_.what.stages.size(); ++i)
      for (int r = 0; r < d_.what.stages[i].results; ++r)
        if (weft::program::at(d_.what.tensors, d_.what.stages[i].tensor + r).name == weft::program::at(p.tensors, s.tensor).name)
          return d_.order_free[i];
    return false;
  }

  drawn d_;
  weft::trace steps_;
  weft::known_intrinsics known_;
  std::string text_;
};

}  // namespace weft_test::fuzz
