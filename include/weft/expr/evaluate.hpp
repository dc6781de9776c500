// Direct evaluation: the program computed as it is written, one element at a time. The first of the three
// executors that must agree, and constexpr, so that a tiny kernel can be tested by static_assert.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/expr/access_error.hpp"
#include "weft/expr/expand.hpp"
#include "weft/expr/extern_error.hpp"

namespace weft::inline WEFT_ABI {

/// Elements in row-major order, each as its bits (base/op.hpp).
struct dense {
  dtype type = dtype::f32;
  sequence<std::int64_t> shape;
  sequence<std::int64_t> bits;
  constexpr bool operator==(dense const&) const = default;
};

/// Elements of inputs that are read where they stand: `index` has as many numbers as the tensor has axes.
struct element_source {
  std::int64_t (*read)(void const* context, int tensor, std::int64_t const* index) = nullptr;
  void const* context = nullptr;
};

/// Evaluates an expanded program (expand.hpp) over given inputs.
///
/// Cost    one visit per node, output element and reduction point; `at` visits only what that element needs, each element once
/// Errors  argument_error when an access leaves a tensor, an extent is negative or a weft::require is not met
class evaluator {
 public:
  constexpr evaluator(program const& p, sequence<dense> const& tensors, sequence<std::int64_t> const& scalars)
      : p_(p), inputs_(tensors), scalars_(scalars), results_(p.results.size()) {
    for (std::int32_t c : p.conditions)
      if (extent_of(c) != 1)
        WEFT_THROW(argument_error("evaluate: the extents of the inputs do not meet a weft::require of the computation"));
  }

  /// The whole of tensor `t`, the result of a stage; every stage before it that is needed is computed once.
  constexpr dense const& result(int t) {
    stage_info const& s = stage_of(t);
    dense& r = results_[place_of(t)];
    if (!r.shape.empty() || !r.bits.empty()) return r;
    if (s.by != nullptr) return by_function(s), r;
    sequence<dense> made(static_cast<std::size_t>(s.results), described(s));
    std::int64_t count = 1, step = 1;  // step: between neighbours along a scanned axis
    for (std::int64_t e : made[0].shape) count *= e;
    for (int d = s.spatial; d-- > s.scanned + 1;) step *= made[0].shape[static_cast<std::size_t>(d)];
    sequence<std::int64_t> index(made[0].shape.size(), 0);
    for (dense& one : made) one.bits.resize(static_cast<std::size_t>(count), 0);
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t place = n;  // a scan backwards begins at the other end
      sequence<std::int64_t> self = identities(s), at = index;
      if (s.scanned >= 0) {
        auto const d = static_cast<std::size_t>(s.scanned);
        if (s.backwards) at[d] = made[0].shape[d] - 1 - index[d], place += (at[d] - index[d]) * step;
        std::int64_t const before = s.backwards ? place + step : place - step;
        for (std::size_t i = 0; i < self.size() && index[d] > 0; ++i) self[i] = made[i].bits[static_cast<std::size_t>(before)];
      }
      sequence<std::int64_t> const values = elements(s, at, self, true);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].bits[static_cast<std::size_t>(place)] = values[i];
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < made[0].shape[d]) break;
        index[d] = 0;
      }
    }
    keep(s, made);
    return r;
  }
  /// One element of tensor `t`, computed from the inputs alone.
  constexpr std::int64_t at(int t, sequence<std::int64_t> const& index) {
    stage_info const& s = stage_of(t);
    if (s.by != nullptr) return element(t, index);
    sequence<std::int64_t> self = identities(s);
    if (s.scanned < 0) return elements(s, index, self, false)[static_cast<std::size_t>(t - s.tensor)];
    sequence<std::int64_t> step = index;
    auto const d = static_cast<std::size_t>(s.scanned);
    std::int64_t const last = s.backwards ? extent(t, s.scanned) - 1 : 0;
    for (step[d] = last;; step[d] += s.backwards ? -1 : 1) {
      self = elements(s, step, self, false);
      if (step[d] == index[d] || ran_out()) return self[static_cast<std::size_t>(t - s.tensor)];
    }
  }
  constexpr std::int64_t extent(int t, int dim) const { return axis_extent(stage_of(t).first_axis + dim); }
  /// Inputs that have a shape and no bits are read from there.
  constexpr void read_from(element_source const& s) { source_ = s; }
  /// From now on at most so many points of stages are visited; past that `ran_out`, and results mean nothing.
  constexpr void allow(std::int64_t points) { left_ = points; }
  constexpr bool ran_out() const { return left_ < 0; }
  constexpr std::int64_t points_left() const { return left_; }

 private:
  struct frame {
    sequence<std::int64_t> axis;   // by axis number of the program, relative to the stage's first
    sequence<std::int64_t> value;  // by node
    sequence<std::int32_t> known;  // == stamp: value is of this point
    std::int32_t stamp = 0;
    int first_axis = 0;
    sequence<std::int64_t> self;
    bool whole = false;
  };

  constexpr stage_info const& stage_of(int t) const {
    return program::at(p_.stages, program::at(p_.tensors, t).stage);
  }
  constexpr std::size_t place_of(int t) const {
    return static_cast<std::size_t>(stage_of(t).first_result + t - stage_of(t).tensor);
  }
  constexpr void keep(stage_info const& s, sequence<dense>& made) {
    for (int i = 0; i < s.results; ++i) {
      dense& one = made[static_cast<std::size_t>(i)];
      one.type = program::at(p_.tensors, s.tensor + i).type;
      results_[place_of(s.tensor + i)] = static_cast<dense&&>(one);
    }
  }
  constexpr void by_function(stage_info const& s) {
    if (s.by->on_elements == nullptr) WEFT_THROW(argument_error("evaluate: a function of the program is there for GPUs alone"));
    sequence<dense const*> read;
    each_whole_read(p_, s, [&](int t) { read.push_back(&whole(t)); });
    sequence<dense> made(static_cast<std::size_t>(s.results), described(s));
    std::int64_t count = 1;
    for (std::int64_t e : made[0].shape) count *= e;
    for (dense& one : made) one.bits.resize(static_cast<std::size_t>(count), 0);
    std::int32_t const code = s.by->on_elements(read.data(), made.data());
    if (code != 0) raise_extern("evaluate", p_, extern_number(p_, program::at(p_.tensors, s.tensor).stage), code);
    keep(s, made);
  }
  constexpr dense described(stage_info const& st) const {
    dense d;
    for (int i = 0; i < st.spatial; ++i) d.shape.push_back(axis_extent(st.first_axis + i));
    return d;
  }
  constexpr std::int64_t extent_of(int id) const {
    return extent_value(p_, id, [&](int tensor, int dim) {
      return inputs_[static_cast<std::size_t>(tensor)].shape[static_cast<std::size_t>(dim)];
    });
  }
  constexpr std::int64_t axis_extent(int axis) const {
    std::int64_t const extent = extent_of(program::at(p_.axes, axis).extent);
    if (extent == endless_extent) WEFT_THROW(argument_error("evaluate: an axis has more elements than an i64 counts"));
    if (extent < 0) WEFT_THROW(argument_error("evaluate: an axis has a negative extent"));
    return extent;
  }
  constexpr sequence<std::int64_t> identities(stage_info const& st) const {
    sequence<std::int64_t> all;
    for (int i = 0; i < st.results; ++i) all.push_back(p_.result(st, i).identity);
    return all;
  }
  /// Of all results of the stage, from these values so far.
  constexpr sequence<std::int64_t> elements(stage_info const& st, sequence<std::int64_t> const& index,
                                            sequence<std::int64_t> const& self, bool whole) {
    frame f;
    f.axis = index;
    f.axis.resize(static_cast<std::size_t>(st.axes()), 0);
    f.value.resize(p_.nodes.size(), 0);
    f.known.resize(p_.nodes.size(), 0);
    f.first_axis = st.first_axis;
    f.self = self;
    f.whole = whole;
    sequence<std::int64_t> next(f.self.size(), 0);
    std::int64_t points = 1;
    for (int i = 0; i < st.reduced; ++i) points *= axis_extent(st.first_reduced + i);
    for (std::int64_t n = 0; n < points; ++n) {
      if (--left_ < 0) break;
      ++f.stamp;
      for (int i = 0; i < st.results; ++i) next[static_cast<std::size_t>(i)] = visit(f, p_.result(st, i).body);
      for (std::size_t i = 0; i < next.size(); ++i) f.self[i] = next[i];
      for (int d = st.axes(); d-- > st.spatial;) {
        std::int64_t& x = f.axis[static_cast<std::size_t>(d)];
        if (++x < axis_extent(st.first_axis + d)) break;
        x = 0;
      }
    }
    return f.self;
  }
  constexpr std::int64_t visit(frame& f, int id) {
    auto const at = static_cast<std::size_t>(id);
    if (f.known[at] == f.stamp) return f.value[at];
    std::int64_t const v = compute(f, p_.nodes[at]);
    f.known[at] = f.stamp;
    return f.value[at] = v;
  }
  constexpr std::int64_t compute(frame& f, node const& n) {
    switch (n.kind) {
      case op::literal: return n.value;
      case op::scalar: return scalars_[static_cast<std::size_t>(n.a)];
      case op::axis: return f.axis[static_cast<std::size_t>(n.a - f.first_axis)];
      case op::self: return f.self[static_cast<std::size_t>(n.a)];
      case op::extent: return inputs_[static_cast<std::size_t>(n.a)].shape[static_cast<std::size_t>(n.b)];
      case op::load: return element_of(f, n);
      case op::select:
      case op::rare:
      case op::blend: return visit(f, n.a) ? visit(f, n.b) : visit(f, n.c);
      default: break;
    }
    std::int64_t const a = visit(f, n.a), b = n.b >= 0 ? visit(f, n.b) : 0, c = n.c >= 0 ? visit(f, n.c) : 0;
    return apply(n.kind, p_.at(n.a).type, a, b, c, n.type);
  }
  constexpr std::int64_t element_of(frame& f, node const& n) {
    sequence<std::int64_t> index;
    for (int d = 0; d < n.c; ++d) index.push_back(visit(f, program::at(p_.operands, n.b + d)));
    if (ran_out()) return 0;  // what was computed may be no subscript
    bool const made_here = program::at(p_.tensors, n.a).stage >= 0;
    if (made_here && !f.whole && stage_of(n.a).by == nullptr) {
      for (std::size_t d = 0; d < index.size(); ++d)
        if (index[d] < 0 || index[d] >= extent(n.a, static_cast<int>(d)))
          raise_access(p_, n.a, index, described(stage_of(n.a)).shape);
      return remembered(n.a, index);
    }
    return element(n.a, index);
  }
  /// `at`, once for each element: a chain of stages costs the elements that it reads, not the ways to them.
  constexpr std::int64_t remembered(int t, sequence<std::int64_t> const& index) {
    if (std::is_constant_evaluated()) return at(t, index);
    std::int64_t key = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (__builtin_mul_overflow(key, extent(t, static_cast<int>(d)), &key) || key > std::int64_t(1) << 48) return at(t, index);
      key += index[d];
    }
    key = key * static_cast<std::int64_t>(p_.tensors.size()) + t + 1;
    if (keys_.empty()) keys_.resize(1024, 0), values_.resize(1024, 0);
    if (std::size_t const p = place_of_key(key); keys_[p] == key) return values_[p];
    std::int64_t const v = at(t, index);
    if (2 * ++used_ > keys_.size()) make_room();
    std::size_t const p = place_of_key(key);
    keys_[p] = key, values_[p] = v;
    return v;
  }
  /// Where it stands, or else may stand.
  constexpr std::size_t place_of_key(std::int64_t key) const {
    std::size_t const last = keys_.size() - 1;
    std::size_t p = static_cast<std::size_t>(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ULL >> 32) & last;
    while (keys_[p] != 0 && keys_[p] != key) p = (p + 1) & last;
    return p;
  }
  /// Of twice as many elements, up to half a million; then it begins anew.
  constexpr void make_room() {
    bool const begins_anew = keys_.size() >= std::size_t(1) << 20;
    sequence<std::int64_t> const keys = keys_, values = values_;
    std::size_t const places = begins_anew ? keys.size() : 2 * keys.size();
    keys_.clear(), keys_.resize(places, 0), values_.resize(places, 0);
    used_ = 1;
    for (std::size_t i = 0; !begins_anew && i < keys.size(); ++i)
      if (keys[i] != 0) {
        std::size_t const p = place_of_key(keys[i]);
        keys_[p] = keys[i], values_[p] = values[i], ++used_;
      }
  }
  constexpr dense const& whole(int t) {
    return program::at(p_.tensors, t).stage >= 0 ? result(t) : inputs_[static_cast<std::size_t>(t)];
  }
  constexpr std::int64_t element(int tensor, sequence<std::int64_t> const& index) {
    dense const& t = whole(tensor);
    std::size_t flat = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= t.shape[d]) raise_access(p_, tensor, index, t.shape);
      flat = flat * static_cast<std::size_t>(t.shape[d]) + static_cast<std::size_t>(index[d]);
    }
    if (t.bits.empty() && source_.read != nullptr) return source_.read(source_.context, tensor, index.data());
    return t.bits[flat];
  }

  program const& p_;
  sequence<dense> const& inputs_;  // by tensor number; entries of stages are not looked at
  sequence<std::int64_t> const& scalars_;
  sequence<dense> results_;  // by place in program::results
  // Elements that `at` needed, a hash table: 0 is a free place. At run time alone.
  sequence<std::int64_t> keys_, values_;
  std::size_t used_ = 0;
  element_source source_{};
  std::int64_t left_ = 0x7fffffffffffffff;
};

}  // namespace weft::inline WEFT_ABI
