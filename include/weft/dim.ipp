#include "weft/codegen/size_code.hpp"
#include "weft/dim.hpp"
#include "weft/expr/expand.hpp"
#include "weft/ir/simplify.hpp"
#include "weft/lower/bounds.hpp"
#include "weft/lower/open_bounds.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Whether the elements are row-major without gaps; strides of dimensions with one index do not matter.
[[gnu::hot]] inline bool is_packed(argument const& a) {
  std::int64_t stride = 1;
  for (int d = a.rank; d-- > 0;) {
    if (a.extents[d] > 1 && a.strides[d] != stride) return false;
    if (__builtin_mul_overflow(stride, a.extents[d], &stride) || stride > std::int64_t(1) << 47) return false;
  }
  return true;
}

class open_kernel_sizes final : public open_sizes {
 public:
  open_kernel_sizes(program const& p, std::string_view name, argument const* arguments, int count)
      : program_(expand(p, false)), name_(name), given_(arguments, arguments + count) {
    for (int i = 0; i < count; ++i) {
      kinds_.push_back(kind_of(arguments[i]));
      if (!arguments[i].is_scalar) places_.push_back(i);
    }
  }
  /// Of the layout, once it has its open extents. False: these sizes are special, or the code would be too long.
  bool derive(program const& what, std::int64_t const* names) {
    ir::arena m;
    ir::function const f = lower(m, program_, plain(), layout, name_, vector_tails::partition, narrow_memory::no);
    sizes_ = open_sizes_of(layout);
    for (open_size const& s : sizes_) {
      int const at = places_[static_cast<std::size_t>(s.argument)];
      origins_.push_back({at, s.dim, s.shift, s.is_stride});
      if (s.is_stride) continue;
      bounds_.push_back({at, s.dim, std::int64_t(1) << s.shift, (((std::int64_t(1) << 40) + 1) << s.shift) - 1, 0});
      for (open_range const& r : layout.ranges)
        if (r.name == s.name) bounds_.push_back({at, s.dim, r.low, r.high, (std::int64_t(1) << r.shift) - 1});
    }
    auto const of = [&](std::int32_t tensor, std::int32_t dim) {
      for (ir::buffer const* b : f.buffers)
        if (b->argument >= 0 && places_[static_cast<std::size_t>(b->argument)] == place(tensor))
          return b->shape[static_cast<std::size_t>(dim)];
      return ir::expr();
    };
    for (walked_pair const& w : walked_together(what))
      if (of(w.tensor, w.dim) != of(w.other, w.other_dim))
        pairs_.push_back({place(w.tensor), w.dim, place(w.other), w.other_dim});
    for (std::int32_t condition : program_.conditions) {
      int const met = code_.add(program_, condition, of);
      if (met < 0) return false;
      required_.push_back(met);
    }
    open_conditions const c = conditions_of(f);
    for (ir::expr e : c.lengths) lengths_.push_back(code_.add(e));
    for (ir::expr e : c.accesses) accesses_.push_back(code_.add(e));
    complete_ = c.complete;
    for (std::size_t i = 0; i < places_.size(); ++i)
      for (std::size_t d = 0; d < layout.arguments[i].extents.size(); ++d) {
        auto const equals = [&](ir::expr size) {
          int const a = places_[i], dim = static_cast<int>(d);
          if (size->kind != op::extent) return extents_.push_back({a, dim, code_.add(size)});
          open_size const& s = sizes_[static_cast<std::size_t>(size->value)];
          if (a != places_[static_cast<std::size_t>(s.argument)] || dim != s.dim)
            copies_.push_back({a, dim, static_cast<int>(size->value)});
        };
        if (layout.arguments[i].extents[d] < 0) equals(f.buffers[i]->shape[d]);
        // The name of an output's extent is that of an input's, or says nothing.
        std::int64_t const name = names[places_[i] * max_rank + static_cast<int>(d)];
        for (open_size const& s : sizes_)
          if (given_[static_cast<std::size_t>(places_[i])].is_output && !s.is_stride && s.name == name)
            equals(f.buffers[static_cast<std::size_t>(s.argument)]->shape[static_cast<std::size_t>(s.dim)]);
      }
    std::int64_t sizes[most], values[size_code::most];
    if (sizes_.size() > most || code_.size() > size_code::most) return false;
    take(given_.data(), sizes);
    if (!code_.run(sizes, values) || !all(lengths_, values)) return false;
    write_plain();
    return true;
  }
  /// Of the accesses with the numbers of a call.
  std::string fault_of(argument const* arguments) const {
    call_layout numbers = layout;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      argument const& a = arguments[places_[i]];
      argument_layout& l = numbers.arguments[i];
      for (std::size_t d = 0; d < l.extents.size(); ++d) {
        bool const follows = a.is_allocated_here;  // and its accesses are in no question
        l.extents[d] = follows ? 1 : a.extents[d];
        l.strides[d] = follows ? 1 : a.strides[d];
      }
      l.packed = false;
    }
    ir::arena m;
    return check_bounds(lower(m, program_, plain(), numbers, name_, vector_tails::partition, narrow_memory::no));
  }

  [[gnu::hot]] bool hold(std::int64_t const* sizes, std::uint64_t const* words) const override {
    std::int64_t values[size_code::most];
    if (!code_.run(sizes, values) || !all(lengths_, values) || !meet(values) || !all(accesses_, values)) return false;
    for (extent_of_argument const *e = extents_.begin(), *const end = extents_.end(); e != end; ++e)
      if (words[word_of(e->argument) + e->dim] != static_cast<std::uint64_t>(values[e->value])) return false;
    return true;
  }
  [[gnu::hot]] bool fit(argument const* arguments, int count) const override {
    if (static_cast<std::size_t>(count) != kinds_.size()) return false;
    std::uint64_t const* const kinds = kinds_.data();
    for (int i = 0; i < count; ++i) {
      argument const& a = arguments[i];
      bool const same = a.is_allocated_here ? given_.data()[i].is_allocated_here : kind_of(a) == kinds[i];  // the shape of such a one follows from others
      if (!same || (a.data == nullptr && !a.is_scalar && !a.is_allocated_here)) return false;
    }
    for (bounds const *b = bounds_.begin(), *const end = bounds_.end(); b != end; ++b) {
      std::int64_t const e = arguments[b->argument].extents[b->dim];
      if (e < b->low || e > b->high || (e & b->mask) != 0) return false;
    }
    argument_layout const* l = layout.arguments.begin();
    for (int const *at = places_.begin(), *const end = places_.end(); at != end; ++at, ++l)
      if (!same_class(arguments[*at], *l)) return false;
    for (walked_pair const *w = pairs_.begin(), *const end = pairs_.end(); w != end; ++w)
      if (arguments[w->tensor].extents[w->dim] != arguments[w->other].extents[w->other_dim]) return false;
    std::int64_t sizes[most], values[size_code::most];
    take(arguments, sizes);
    if (differ(copies_, arguments, sizes) || !code_.run(sizes, values) || !all(lengths_, values) || !meet(values) ||
        differ(extents_, arguments, values))
      return false;
    return (complete_ && all(accesses_, values)) || fault_of(arguments).empty();
  }
  [[gnu::hot]] void read(argument const* arguments, std::int64_t* sizes) const override { take(arguments, sizes); }

  void name_extents(std::string& text) const override {
    std::size_t i = 0;
    for (input_info const& in : program_.inputs) {
      if (in.tensor < 0) continue;
      argument_layout const& l = layout.arguments[i++];
      for (std::size_t d = 0; d < l.extents.size(); ++d) {
        if (l.extents[d] >= 0) continue;
        std::string const tensor(program::at(program_.tensors, in.tensor).name.view());
        std::string const long_name = tensor + ".extent(" + std::to_string(d) + ")";
        for (std::size_t at = 0; (at = text.find(long_name, at)) != std::string::npos;)
          text.replace(at, long_name.size(), dim_text(l.extents[d]));
      }
    }
  }

 private:
  struct extent_of_argument {
    int argument, dim, value;
  };
  /// Of an extent, by its argument's place.
  struct bounds {
    int argument, dim;
    std::int64_t low, high, mask;  // of which no bit is set
  };
  /// Where a size stands.
  struct origin {
    int argument, dim, shift;
    bool is_stride;
  };
  nest plain() const {
    return nest(program_, [](int, int) { return std::int64_t(-1); }, {});
  }
  /// Of an input among the arguments.
  std::int32_t place(std::int32_t tensor) const {
    std::int32_t i = 0;
    while (program_.inputs[static_cast<std::size_t>(i)].tensor != tensor) ++i;
    return i;
  }
  /// Where the extents of an argument begin among the words of a plain call.
  std::int32_t word_of(int argument) const { return first_words_[static_cast<std::size_t>(argument)] + 1; }
  /// What of `fit` is asked of the words of a plain call.
  void write_plain() {
    std::int32_t at = 0;
    for (argument const& a : given_) {
      first_words_.push_back(at);
      at += a.is_scalar ? 1 : 1 + 2 * a.rank;
      if (a.is_allocated_here) return;
    }
    open_words w;
    w.numbers = sequence<std::uint64_t>(static_cast<std::size_t>(at), ~std::uint64_t(0));
    for (std::size_t i = 0; i < places_.size(); ++i) {
      argument_layout const& l = layout.arguments[i];
      argument const& a = given_[static_cast<std::size_t>(places_[i])];
      open_words::rows tensor{word_of(places_[i]), a.rank, 0};
      for (int d = 0; d < a.rank; ++d) {
        if (l.extents[static_cast<std::size_t>(d)] >= 0) continue;
        tensor.bytes = size_bytes(a.type);
        w.numbers[static_cast<std::size_t>(tensor.word + d)] = 0;
      }
      if (tensor.bytes > 0 && !l.packed) return;
      for (int d = 0; d < a.rank && tensor.bytes > 0; ++d) w.numbers[static_cast<std::size_t>(tensor.word + a.rank + d)] = 0;
      w.tensors.push_back(tensor);
    }
    for (bounds const& b : bounds_) w.ranges.push_back({word_of(b.argument) + b.dim, b.low, b.high, b.mask});
    for (walked_pair const& p : pairs_) w.equal.push_back({word_of(p.tensor) + p.dim, word_of(p.other) + p.other_dim});
    for (origin const& o : origins_) {
      if (o.is_stride) return;
      w.sizes.push_back({word_of(o.argument) + o.dim, o.shift});
    }
    for (extent_of_argument const& e : copies_) {
      origin const& o = origins_[static_cast<std::size_t>(e.value)];
      if (o.shift > 0) return;
      w.equal.push_back({word_of(e.argument) + e.dim, word_of(o.argument) + o.dim});
    }
    w.asks = code_.size() > 0, w.is_known = complete_;
    call_words = static_cast<open_words&&>(w);
  }
  [[gnu::always_inline]] void take(argument const* arguments, std::int64_t* sizes) const {
    for (origin const *o = origins_.begin(), *const end = origins_.end(); o != end; ++o) {
      argument const& a = arguments[o->argument];
      *sizes++ = o->is_stride ? a.strides[o->dim] : a.extents[o->dim] >> o->shift;
    }
  }
  [[gnu::always_inline]] static bool differ(sequence<extent_of_argument> const& all, argument const* arguments, std::int64_t const* values) {
    for (extent_of_argument const *e = all.begin(), *const end = all.end(); e != end; ++e)
      if (argument const& a = arguments[e->argument]; !a.is_allocated_here && a.extents[e->dim] != values[e->value])
        return true;
    return false;
  }
  [[gnu::always_inline]] static bool all(sequence<int> const& conditions, std::int64_t const* values) {
    for (int const *c = conditions.begin(), *const end = conditions.end(); c != end; ++c)
      if (values[*c] < 0) return false;
    return true;
  }
  /// What weft::require asks for; the call's own binding says in words what is not met.
  [[gnu::always_inline]] bool meet(std::int64_t const* values) const {
    for (int const *c = required_.begin(), *const end = required_.end(); c != end; ++c)
      if (values[*c] != 1) return false;
    return true;
  }
  /// Equal in all that is a number in the code. Open extents are compared by value afterwards.
  [[gnu::hot]] static bool same_class(argument const& a, argument_layout const& l) {
    if (a.is_allocated_here) return true;
    bool open = false;
    std::int64_t const* const extents = l.extents.data();
    for (int d = 0; d < a.rank; ++d) {
      std::int64_t const e = extents[d];
      open = open || e < 0;
      if (e >= 0 && e != a.extents[d]) return false;
    }
    if (l.packed) return is_packed(a);
    return is_apart(a, l, open);
  }
  /// The same of what is not packed.
  [[gnu::noinline]] static bool is_apart(argument const& a, argument_layout const& l, bool open) {
    if (open && is_packed(a)) return false;
    for (int d = 0; d < a.rank; ++d) {
      std::int64_t const s = l.strides[static_cast<std::size_t>(d)];
      bool const one_index = open && a.extents[d] == 1;
      if (!one_index && (s == open_stride ? a.strides[d] == 1 : a.strides[d] != s)) return false;
    }
    return !open || (!reaches_too_far(a) && !(a.is_output && overlaps_itself(a)));
  }

  program program_;  // expanded
  std::string name_;
  sequence<argument> given_;     // of the call that it was made for
  sequence<std::uint64_t> kinds_;
  sequence<std::int32_t> first_words_;  // of a plain call's, of each argument
  sequence<int> places_;         // of the layout's tensors among the arguments
  sequence<origin> origins_;     // of sizes_
  sequence<bounds> bounds_;
  sequence<walked_pair> pairs_;  // by place, of sizes with different names
  sequence<open_size> sizes_;
  size_code code_;
  sequence<int> lengths_, accesses_, required_;
  bool complete_ = true;
  sequence<extent_of_argument> copies_, extents_;  // equal to a size; to a value of the code
};
}  // namespace detail

WEFT_DECL open_sizes* detail::open_form(program const& what, std::string_view name, argument const* arguments, int count,
                                        call_layout const& numbers, std::int64_t const* names) {
  auto* made = new open_kernel_sizes(what, name, arguments, count);
  struct dropper {
    open_kernel_sizes*& k;
    ~dropper() { delete k; }
  } const drop{made};
  call_layout& layout = made->layout;
  layout = numbers;
  bool special = false;
  int const inputs = static_cast<int>(what.inputs.size());
  auto const named = [&](int i, int d) { return names[i * max_rank + d] < dynamic; };
  for (int i = 0; i < count; ++i)
    for (int d = 0; d < arguments[i].rank; ++d) {
      std::int64_t const code = names[i * max_rank + d], size = arguments[i].extents[d];
      if (arguments[i].is_scalar || !named(i, d)) continue;
      special = special || size < 1 || size > std::int64_t(1) << 40;
      for (int j = 0; j <= i; ++j)
        for (int e = 0; e < arguments[j].rank; ++e)
          if (!arguments[j].is_scalar && names[j * max_rank + e] == code && arguments[j].extents[e] != size) {
            auto const where = [&](int a, int dim) {
              int const t = a < inputs ? what.inputs[static_cast<std::size_t>(a)].tensor
                                       : what.outputs[static_cast<std::size_t>(a - inputs)];
              return std::to_string(arguments[a].extents[dim]) + " in dimension " + std::to_string(dim) + " of " +
                     std::string(program::at(what.tensors, t).name.view());
            };
            WEFT_THROW(argument_error(std::string(name) + ": " + dim_text(code) + " is " + where(j, e) + " and " +
                                      where(i, d) + "; what has one name has one size"));
          }
    }
  if (special) return nullptr;
  bool const by_choice = !numbers.ranges.empty();  // of weft's own; then the call can have code of its own in place of an error
  for (int i = 0; i < inputs; ++i)
    for (int d = 0; d < arguments[i].rank && !by_choice; ++d) {
      if (arguments[i].is_scalar || !named(i, d) || layout.range_of(names[i * max_rank + d]).likely > 0) continue;
      // Larger sizes follow more often than smaller ones: a first call may be a trial.
      std::int64_t const size = arguments[i].extents[d];
      std::int32_t const shift = numbers.multiples && size % 16 == 0 ? 4 : 0;
      layout.ranges.push_back({names[i * max_rank + d], 1, std::int64_t(1) << 40, shift, size < 64 ? 64 : size});
    }
  std::size_t tensor = 0;
  for (int i = 0; i < count; ++i) {
    if (arguments[i].is_scalar) continue;
    argument_layout& l = layout.arguments[tensor++];
    bool open = false;
    for (int d = 0; d < arguments[i].rank; ++d) {
      std::int64_t& e = l.extents[static_cast<std::size_t>(d)];
      if (i < inputs && named(i, d)) e = names[i * max_rank + d];
      if (i >= inputs) {
        std::int64_t const value = extent_value(
            what, what.extent_of(what.outputs[static_cast<std::size_t>(i - inputs)], d), [&](int t, int dim) {
              std::size_t at = 0;
              for (input_info const& in : what.inputs) {
                if (in.tensor == t) return layout.arguments[at].extents[static_cast<std::size_t>(dim)];
                if (in.tensor >= 0) ++at;
              }
              return std::int64_t(-1);
            });
        if (value == open_extent) e = -1;
      }
      open = open || e < 0;
    }
    if (!open) continue;
    l.packed = is_packed(arguments[i]);
    for (std::int64_t& s : l.strides)
      if (l.packed || s != 1) s = open_stride;
  }
  if (!made->derive(what, names)) return nullptr;
  if (std::string const why = made->fault_of(arguments); !why.empty()) {
    if (by_choice) return nullptr;
    WEFT_THROW(argument_error(std::string(name) + ": " + why));
  }
  open_sizes* const result = made;
  made = nullptr;
  return result;
}

}  // namespace weft::inline WEFT_ABI
