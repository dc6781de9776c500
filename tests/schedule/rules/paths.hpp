// A computation, its types erased, on each path that its machine code by rule may take: targets, threads, open sizes, strides, in place, elsewhere.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "elsewhere/elsewhere.hpp"
#include "ops/check.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/dim.hpp"
#include "weft/expr/expand.hpp"
#include "weft/runtime/bind.hpp"
#include "weft/schedule/print.hpp"
#include "weft/schedule/rules/rules.hpp"

namespace weft_test {

using extents = weft::sequence<std::int64_t>;

/// A kernel without a how-lambda, and what it is called with.
struct family {
  std::string name;
  weft::program what;
  std::vector<extents> shapes;  // by input; below zero: -1 is the first size of a call, -2 the second
  std::vector<extents> calls;   // sizes: those that vectors divide, those that nothing divides, ones or what is least
  std::int64_t terms = 0;       // of the longest sum of numbers that are rounded; 0: all is exact, in any order
  int over = -1;                // the input that the result may be written over
  bool threads_part_sums = false;  // in pieces, as many as there are threads: in another order then
};

enum class memory_form : std::uint8_t { dense, padded, every_other, turned };

/// A tensor in memory whose end is watched.
class placed_tensor {
 public:
  placed_tensor(weft::dtype type, extents const& shape, memory_form how) {
    values_.type = type, values_.shape = shape;
    std::size_t const rank = shape.size();
    first_ = how == memory_form::dense ? 0 : 1;  // not where vectors begin
    std::int64_t reach = how == memory_form::every_other ? 2 : 1, last = first_;
    strides_.resize(rank, 1);
    for (std::size_t n = 0; n < rank; ++n) {
      std::size_t const d = how == memory_form::turned ? n : rank - 1 - n;
      strides_[d] = reach, count_ *= shape[d];
      last += (shape[d] - 1) * reach;
      reach = reach * shape[d] + (how == memory_form::dense ? 0 : 3);
    }
    bytes_ = fenced_bytes(static_cast<std::size_t>((last + 1) * size()), how != memory_form::dense);
    clear();
  }
  void clear() { std::memset(bytes_.data(), unused, bytes_.size()); }
  weft::argument argument(bool output) {
    weft::argument a;
    a.data = bytes_.data() + first_byte();
    a.type = values_.type, a.rank = static_cast<std::int8_t>(strides_.size()), a.is_output = output;
    for (std::size_t d = 0; d < strides_.size(); ++d) a.extents[d] = values_.shape[d], a.strides[d] = strides_[d];
    return a;
  }
  void put(weft::dense const& values) {
    for_each([&](std::int64_t n, unsigned char* at) { std::memcpy(at, &values.bits[static_cast<std::size_t>(n)], static_cast<std::size_t>(size())); });
  }
  weft::dense const& get() {
    values_.bits.resize(static_cast<std::size_t>(count_), 0);
    for_each([&](std::int64_t n, unsigned char const* at) {
      weft::with_dtype(values_.type, [&]<class T>(T x) {
        if constexpr (!std::is_same_v<T, bool>) std::memcpy(&x, at, sizeof x);
        values_.bits[static_cast<std::size_t>(n)] = weft::to_bits(x);
      });
    });
    return values_;
  }
  /// Whether bytes between its elements were written.
  bool is_torn() {
    weft::sequence<unsigned char> rest(bytes_.data(), bytes_.data() + bytes_.size());
    for_each([&](std::int64_t, unsigned char const* at) { std::memset(rest.data() + (at - bytes_.data()), unused, static_cast<std::size_t>(size())); });
    for (unsigned char b : rest)
      if (b != unused) return true;
    return false;
  }
  std::int64_t first_byte() const { return first_ * size(); }
  fenced_bytes& bytes() { return bytes_; }

 private:
  static constexpr unsigned char unused = 0x5a;
  std::int64_t size() const { return weft::size_bytes(values_.type); }
  template <class F>
  void for_each(F const& f) {
    for (std::int64_t n = 0; n < count_; ++n) {
      std::int64_t place = first_, rest = n;
      for (std::size_t d = strides_.size(); d-- > 0; rest /= values_.shape[d]) place += rest % values_.shape[d] * strides_[d];
      f(n, bytes_.data() + place * size());
    }
  }
  weft::dense values_;
  weft::sequence<std::int64_t> strides_;
  std::int64_t first_ = 0, count_ = 1;
  fenced_bytes bytes_;
};

/// Forms of one kernel.
struct own_table : weft::kernel_table {
  ~own_table() { drop(); }
};

/// One call of a family.
class family_call {
  auto extent_of() const {
    return [this](int t, int d) { return inputs_[static_cast<std::size_t>(t)].shape[static_cast<std::size_t>(d)]; };
  }

 public:
  /// `rough`: numbers whose sums are rounded, so that bits say in which order they were taken.
  family_call(family const& f, extents const& sizes, bool rough = false) : f_(f) {
    fuzz::random_source r(sizes.size() + static_cast<std::uint64_t>(f.calls[0][0]));
    for (std::size_t i = 0; i < f.shapes.size(); ++i) {
      extents shape;
      for (std::int64_t e : f.shapes[i]) shape.push_back(e >= 0 ? e : sizes[static_cast<std::size_t>(-1 - e)]);
      inputs_.push_back(fuzz::draw_tensor(r, f.what.inputs[i].type, shape, false));
      for (std::int64_t& b : inputs_.back().bits)
        if (rough && inputs_.back().type == weft::dtype::f32) b = weft::to_bits(weft::from_bits<float>(b) * 1.1f);
    }
    if (rough) {
      wanted_ = {weft::program::at(f.what.tensors, f.what.outputs[0]).type, {}, {}};
      for (int d = 0; d < weft::program::at(f.what.tensors, f.what.outputs[0]).rank; ++d)
        wanted_.shape.push_back(weft::extent_value(f.what, f.what.extent_of(f.what.outputs[0], d), extent_of()));
    } else {
      weft::program const expanded = weft::expand(f.what, false);
      weft::evaluator e(expanded, inputs_, {});
      wanted_ = e.result(f.what.outputs[0]);
    }
    layout({});
  }
  /// Lays out input `which` in another way, or the result, which is behind them; the others as they were made.
  void layout(std::vector<memory_form> const& how) {
    memory_.clear();
    for (std::size_t i = 0; i <= inputs_.size(); ++i) {
      weft::dense const& t = i < inputs_.size() ? inputs_[i] : wanted_;
      memory_.emplace_back(t.type, t.shape, i < how.size() ? how[i] : memory_form::dense);
      if (i < inputs_.size()) memory_.back().put(t);
    }
  }
  /// Runs it by way of `table`, as a call of a kernel does. Empty, or what is wrong with the result. `steps`: in place of a rule's.
  std::string run(own_table& table, weft::target const& on, weft::trace const* steps = nullptr, bool open = false, int over = -1) {
    memory_.back().clear();
    if (over >= 0) memory_[static_cast<std::size_t>(over)].put(inputs_[static_cast<std::size_t>(over)]);
    asked const what{&f_.what, steps};
    weft::kernel_face const face{f_.name, &what, what_of, steps != nullptr ? take_steps : nullptr, false, 0, weft::kept_target(on), open ? open_form : nullptr};
    weft::sequence<weft::argument> a = arguments(over);
    if (open) put_names();
    try {
      weft::run(weft::find_or_compile(table, face, a.data(), static_cast<int>(a.size())), a.data(), static_cast<int>(a.size()));
    } catch (weft::error const& e) {
      return std::string("thrown: ") + e.what();
    }
    return difference(over);
  }
  /// The result, after a call.
  weft::dense const& result() { return memory_.back().get(); }
  /// What a rule does for a machine with small caches, on which forks cost nothing.
  weft::trace small_steps(weft::target const& on, int threads, bool bitwise) const {
    weft::program const expanded = weft::expand(f_.what, on.fma);
    weft::schedule s(expanded, extent_of(), {on.vector_registers, on.vector_bytes});
    weft::rule_input in{1 << 10, 1 << 14, 1 << 16, threads, !bitwise};
    in.fork_cycles = in.short_fork_cycles = 0;
    in.strides.resize(expanded.tensors.size());
    weft::schedule_by_rule(s, in);
    return s.steps;
  }
  /// The call on another machine, where it is number `n`.
  elsewhere_call made_for(weft::target const& machine, std::size_t n) {
    weft::sequence<weft::argument> const a = arguments(-1);
    weft::call_layout const bound = weft::bind(f_.what, f_.name, a.data(), static_cast<int>(a.size()));
    weft::compile_request r{f_.name, &f_.what, nullptr, nullptr, &bound, &machine};
    r.by_rule = true;
    weft::ir::arena m;
    weft::ir::function const f = weft::make_loops(m, r, weft::make_schedule(r));
    memory_.back().clear();
    weft::codegen::llvm::object_request wanted;
    std::string const name = "case" + std::to_string(n);
    wanted.verify = true, wanted.name = name;
    elsewhere_call made;
    made.object = weft::codegen::llvm::compile(f, machine, wanted).bytes;
    made.scalars.push_back(0), made.workspace_bytes = weft::workspace_bytes(f);
    for (placed_tensor& t : memory_) made.tensors.push_back({&t.bytes(), t.first_byte()});
    return made;
  }
  /// Empty when the result is what it should be, and nothing else was written.
  std::string difference(int over = -1) {
    placed_tensor& written = over >= 0 ? memory_[static_cast<std::size_t>(over)] : memory_.back();
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i].is_torn()) return "bytes that are no elements were written";
      if (i < inputs_.size() && &memory_[i] != &written && !(memory_[i].get() == inputs_[i])) return "an input was written";
    }
    weft::dense const& got = written.get();
    for (std::size_t n = 0; n < wanted_.bits.size(); ++n) {
      double const is = number(got, n), should = number(wanted_, n), apart = std::fabs(is - should) / (1 + std::fabs(should));
      bool const fine = f_.terms == 0 ? got.bits[n] == wanted_.bits[n] : apart <= 8 * static_cast<double>(f_.terms) * 0x1p-23;
      if (!fine) return "element " + std::to_string(n) + " is " + std::to_string(is) + " and should be " + std::to_string(should);
    }
    return "";
  }
  std::size_t inputs() const { return inputs_.size(); }
  /// The first one that has the form of the result; -1: none.
  int input_like_result() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].type == wanted_.type && inputs_[i].shape == wanted_.shape) return static_cast<int>(i);
    return -1;
  }

 private:
  struct asked {
    weft::program const* what;
    weft::trace const* steps;
  };
  static weft::program what_of(void const* a) { return *static_cast<asked const*>(a)->what; }
  static void take_steps(void const* a, weft::schedule& s) { weft::replay(s, *static_cast<asked const*>(a)->steps); }
  static double number(weft::dense const& d, std::size_t n) { return weft::from_bits<double>(weft::converted(d.type, weft::dtype::f64, d.bits[n])); }
  static std::int64_t (&names())[weft::max_arguments * weft::max_rank] {
    static std::int64_t all[weft::max_arguments * weft::max_rank];
    return all;
  }
  static weft::open_sizes* open_form(weft::program const& what, std::string_view name, weft::argument const* a, int count, weft::call_layout const& numbers) {
    return weft::detail::open_form(what, name, a, count, numbers, names());
  }
  /// weft::dim<"a">, weft::dim<"b"> and so on.
  void put_names() const {
    for (std::int64_t& n : names()) n = -1;
    for (std::size_t i = 0; i < f_.shapes.size(); ++i)
      for (std::size_t d = 0; d < f_.shapes[i].size(); ++d)
        if (std::int64_t const e = f_.shapes[i][d]; e < 0) names()[i * weft::max_rank + d] = -2 - ('a' - 1 - e);
  }
  weft::sequence<weft::argument> arguments(int over) {
    weft::sequence<weft::argument> all;
    for (std::size_t i = 0; i < inputs_.size(); ++i) all.push_back(memory_[i].argument(false));
    all.push_back(over >= 0 ? memory_[static_cast<std::size_t>(over)].argument(true) : memory_.back().argument(true));
    return all;
  }

  family const& f_;
  weft::sequence<weft::dense> inputs_;
  weft::dense wanted_;
  std::vector<placed_tensor> memory_;  // inputs, then the result
};

}  // namespace weft_test
