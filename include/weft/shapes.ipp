#include <cstdio>

#include "weft/base/env.hpp"
#include "weft/base/joined.hpp"
#include "weft/dim.hpp"
#include "weft/shapes.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Up to which size plans are alike: a few rows; less than a copy of an operand pays for (rule_input::copy_reads); what one block of
/// a cache holds.
inline constexpr std::int64_t range_ends[] = {16, 128, 1024, std::int64_t(1) << 40};

/// Forms for many shapes of one kernel: which extents are open, and in which range.
class shape_ranges {
 public:
  shape_ranges(kernel_table const& table, ready_kernel const& made) : made_(made) {
    each(__atomic_load_n(&table.first, __ATOMIC_ACQUIRE), [&](ready_kernel const& k) {
      if (k.open == nullptr && !k.nothing_to_do && (k.later == nullptr || !k.later->is_done())) seen_.push_back(&k);
    });
    each(__atomic_load_n(&table.general, __ATOMIC_ACQUIRE), [&](ready_kernel const& k) { general_.push_back(&k); });
  }
  int shapes() const { return static_cast<int>(seen_.size()); }
  /// Those for one shape, of that one.
  int forms_of(std::uint64_t shape) const {
    int count = 0;
    for (ready_kernel const* k : seen_) count += open_sizes::shape_of(k->arguments.data(), static_cast<int>(k->arguments.size())) == shape;
    return count;
  }
  /// A form for many shapes, this one too, that is being made; or null.
  later_code* awaited() const {
    for (ready_kernel const* k : seen_)
      if (k->later != nullptr && k->later->made->open != nullptr &&
          k->later->made->open->serve(made_.arguments.data(), static_cast<int>(made_.arguments.size())))
        return k->later;
    return nullptr;
  }

  /// The names of the extents that are to be open, and their ranges. False: there are none.
  bool find(program const& what, bool all, std::int64_t* names, sequence<open_range>& ranges) const {
    sequence<walked_pair> const pairs = walked_together(what);
    int const inputs = static_cast<int>(what.inputs.size());
    bool open[max_arguments * max_rank] = {};
    for (int i = 0; i < inputs; ++i)
      for (int d = 0; d < argument_of(i).rank; ++d) {
        bool& differs = open[i * max_rank + d] = all;
        for (ready_kernel const* k : seen_)
          differs = differs || k->arguments[static_cast<std::size_t>(i)].extents[d] != argument_of(i).extents[d];
        differs = differs && argument_of(i).extents[d] >= 2;
        names[i * max_rank + d] = differs ? name_of(what, i, d) : 0;
      }
    // One axis walks both: they are one size.
    auto const place = [&](std::int32_t tensor, int dim) {
      int i = 0;
      while (what.inputs[static_cast<std::size_t>(i)].tensor != tensor) ++i;
      return i * max_rank + dim;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (walked_pair const& w : pairs) {
        std::int64_t &a = names[place(w.tensor, w.dim)], &b = names[place(w.other, w.other_dim)];
        if (a == b || a == 0 || b == 0) continue;
        (a < b ? a : b) = a < b ? b : a;
        changed = true;
      }
    }
    for (int i = 0; i < inputs; ++i)
      for (int d = 0; d < argument_of(i).rank; ++d) add(i, d, names[i * max_rank + d], ranges);
    constexpr std::size_t most_forms = 16;  // two extents in each of four ranges
    if (general_.size() >= most_forms)
      for (open_range& r : ranges) r.low = 2, r.high = std::int64_t(1) << 40, r.shift = 0;
    // Where a form for multiples is there, and does not fit, another one would not fit for long.
    for (ready_kernel const* k : general_) {
      bool same = k->open->layout.ranges.size() == ranges.size();
      for (std::size_t i = 0; same && i < ranges.size(); ++i) {
        open_range const &a = ranges[i], &b = k->open->layout.ranges[i];
        same = a.name == b.name && a.low == b.low && a.high == b.high;
      }
      for (std::size_t i = 0; same && i < ranges.size(); ++i) ranges[i].shift = 0;
    }
    return !ranges.empty();
  }

 private:
  template <class F>
  void each(ready_kernel const* k, F const& f) const {
    for (; k != nullptr; k = k->next)
      if (k->shared == made_.shared && __atomic_load_n(&k->machine, __ATOMIC_RELAXED) == made_.machine && k->wanted == made_.wanted &&
          same_lambdas(*k, made_) && same_constants(*k))
        f(*k);
  }
  bool same_constants(ready_kernel const& k) const {
    for (std::size_t i = 0; i < made_.arguments.size(); ++i)
      if ((k.arguments[i].constant == nullptr) != (made_.arguments[i].constant == nullptr)) return false;
    return true;
  }
  argument const& argument_of(int i) const { return made_.arguments[static_cast<std::size_t>(i)]; }
  /// A0 for A.extent(0).
  static std::int64_t name_of(program const& what, int input, int dim) {
    short_name const& tensor = program::at(what.tensors, what.inputs[static_cast<std::size_t>(input)].tensor).name;
    std::string const name = joined({tensor.view().substr(0, 6), std::to_string(dim)});
    return dim_code(name);
  }
  void add(int i, int d, std::int64_t name, sequence<open_range>& ranges) const {
    if (name == 0) return;
    std::int64_t const size = argument_of(i).extents[d];
    open_range* r = nullptr;
    for (open_range& known : ranges)
      if (known.name == name) r = &known;
    if (r == nullptr) {
      open_range made{name, 2, range_ends[0]};
      for (std::size_t e = 1; size > made.high; ++e) made.low = made.high + 1, made.high = range_ends[e];
      made.likely = made.high <= range_ends[0] ? made.high : size;
      made.shift = made.high >= 1024 ? 6 : made.high >= 128 ? 4 : 0;  // eight multiples at least
      ranges.push_back(made);
      r = &ranges.back();
    }
    auto const divided = [&](std::int64_t by) {
      while (by % (std::int64_t(1) << r->shift) != 0) r->shift = r->shift == 6 ? 4 : 0;
    };
    divided(size);
    for (ready_kernel const* k : seen_) {
      std::int64_t const other = k->arguments[static_cast<std::size_t>(i)].extents[d];
      if (other < r->low || other > r->high) continue;
      divided(other);
      if (other > r->likely) r->likely = other;
    }
  }

  ready_kernel const& made_;
  sequence<ready_kernel const*> seen_, general_;
};

inline std::string range_text(open_range const& r) {
  bool const all = r.high >= std::int64_t(1) << 40;
  return joined({dim_text(r.name), all ? " from " : " in ", std::to_string(r.low), all ? "" : "..", all ? "" : std::to_string(r.high),
                 r.shift > 0 ? joined({", divided by ", std::to_string(1 << r.shift)}) : ""});
}
inline std::string form_text(ready_kernel const& k) {
  std::string text;
  std::size_t tensor = 0;
  program const& p = k.what;
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    argument const& a = k.arguments[i];
    if (a.is_scalar) continue;
    std::int32_t const id = i < p.inputs.size() ? p.inputs[i].tensor : p.outputs[i - p.inputs.size()];
    text += joined({text.empty() ? "" : ", ", program::at(p.tensors, id).name.view(), " "});
    for (int d = 0; d < a.rank; ++d) {
      std::int64_t const e = k.open != nullptr ? k.open->layout.arguments[tensor].extents[static_cast<std::size_t>(d)] : a.extents[d];
      text += joined({d > 0 ? " x " : "", e >= 0 ? std::to_string(e) : e == -1 ? std::string("?") : dim_text(e)});
    }
    ++tensor;
  }
  if (k.open != nullptr)
    for (open_range const& r : k.open->layout.ranges) text += "; " + range_text(r);
  return text;
}

/// open_sizes::shape_of these extents of all tensors, of which those of inputs count.
inline sequence<std::uint64_t> numbers_of(sequence<sequence<std::int64_t>> const& shapes, ready_kernel const& form) {
  std::size_t of_inputs = 0;
  for (argument const& a : form.arguments) of_inputs += a.is_scalar || a.is_output ? 0 : static_cast<std::size_t>(a.rank);
  sequence<std::uint64_t> all;
  for (sequence<std::int64_t> const& extents : shapes)
    if (extents.size() >= of_inputs) all.push_back(open_sizes::shape_of(extents.data(), of_inputs));
  return all;
}
inline bool made_general(kernel_table& table, kernel_face const& face, ready_kernel*& form, call_layout const& numbers) {
  ready_kernel& made = *form;
  if (__atomic_load_n(&table.only_exact, __ATOMIC_RELAXED) || made.wanted.checked || environment_switch("WEFT_CHECKED")) return false;
  int const limit = face.wanted.exact_shapes >= 0 ? face.wanted.exact_shapes
                                                  : environment_number("WEFT_EXACT_SHAPES", 0, 1 << 30, WEFT_HAS_EXCEPTIONS ? 8 : 1 << 30);
  shape_ranges const shapes(table, made);
  if (shapes.shapes() < limit) return false;
  if (is_postponed(face))
    if (later_code* const later = shapes.awaited()) {
      ready_kernel* const interim = interim_form(face, made, numbers, *later);
      delete form;
      form = interim;
      return true;
    }
  std::int64_t names[max_arguments * max_rank] = {};
  call_layout layout = numbers;
  if (!shapes.find(made.what, limit == 0, names, layout.ranges)) return false;
  int const count = static_cast<int>(made.arguments.size());
  program const what = settled(made.what, [&] {
    call_layout named = layout;
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < made.what.inputs.size(); ++i) {
      if (made.arguments[i].is_scalar) continue;
      for (int d = 0; d < made.arguments[i].rank; ++d)
        if (std::int64_t const name = names[i * max_rank + static_cast<std::size_t>(d)]; name < -1)
          named.arguments[tensor].extents[static_cast<std::size_t>(d)] = name;
      ++tensor;
    }
    return named;
  }());
  compile_request const exact = request_of(face, made.what, numbers);
  if (is_tuned_exactly(exact)) return false;
  sequence<std::uint64_t> tuned = numbers_of(tuned_shapes(exact), made);
  // With other strides than those that it was tuned with it has code of its own, too: some of these.
  constexpr int most_of_a_shape = 8;
  std::uint64_t const shape = open_sizes::shape_of(made.arguments.data(), count);
  if (open_sizes::is_among(tuned, shape)) {
    if (shapes.forms_of(shape) < most_of_a_shape) return false;
    sequence<std::uint64_t> others;
    for (std::uint64_t one : tuned)
      if (one != shape) others.push_back(one);
    tuned = others;
  }
#if WEFT_HAS_EXCEPTIONS
  try {
#endif
    open_sizes* const open = open_form(what, face.name, made.arguments.data(), count, layout, names);
    if (open == nullptr) return false;
    open->tuned = static_cast<sequence<std::uint64_t>&&>(tuned);
    made.open = open;
    if (is_postponed(face)) make_or_postpone(table, face, form, what, made.open->layout, numbers);
    else made.code = compile(request_of(face, what, made.open->layout));
#if WEFT_HAS_EXCEPTIONS
  } catch (schedule_error const&) {
    delete made.open;
    made.open = nullptr;
    __atomic_store_n(&table.only_exact, true, __ATOMIC_RELAXED);
    return false;
  }
#endif
  if (environment_switch("WEFT_TIME"))
    std::fprintf(stderr, "weft: %s: for many shapes now: %s\n", made.name.c_str(), form_text(made).c_str());
  return true;
}
}  // namespace detail

WEFT_DECL std::string detail::forms_text(kernel_table const& table) {
  std::string text;
  for (bool many : {false, true}) {
    std::string lines;
    int count = 0;
    for (ready_kernel const* k = __atomic_load_n(many ? &table.general : &table.first, __ATOMIC_ACQUIRE); k != nullptr; k = k->next) {
      if (k->later != nullptr && k->later->is_done()) continue;
      lines = joined({"  ", form_text(*k), k->later != nullptr ? " (until better code is there)" : "", "\n", lines});
      ++count;
    }
    if (count > 0) text += joined({std::to_string(count), many ? " for many shapes:\n" : " for one shape each:\n", lines});
  }
  return text;
}

namespace detail {
inline bool postponed(kernel_table& table, kernel_face const& face, ready_kernel*& made, call_layout const& layout) {
  if (!is_postponed(face)) return false;
  make_or_postpone(table, face, made, made->what, layout, layout);
  return true;
}
}  // namespace detail

shape_services const linked_shapes{detail::made_general, detail::postponed, detail::begin_later, detail::settled, detail::forget_later};

}  // namespace weft::inline WEFT_ABI
