// Kernels for a GPU: programs with their schedules, run by the interpreter and as text.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/cuda_host.hpp"
#include "support/traffic.hpp"
#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/size_code.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/compute.hpp"
#include "weft/expr/evaluate.hpp"
#include "weft/expr/expand.hpp"
#include "weft/interp/interp.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"
#include "weft/lower/lower.hpp"
#include "weft/matrix_units.hpp"
#include "weft/pass/gpu.hpp"
#include "weft/schedule/print.hpp"

#if WEFT_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace weft_test {

/// One kernel of the corpus: what it computes of inputs of these shapes, and the steps of its schedule as print_trace writes
/// them.
struct gpu_kernel {
  std::string name;
  weft::program p{};
  weft::sequence<weft::sequence<std::int64_t>> shapes{};
  std::string steps{};
  double tolerance = 0;  // 0: the steps reorder nothing, or all numbers are small and whole
  weft::sequence<weft::dense> given{};  // the inputs; empty: small whole numbers
  weft::sequence<weft::sequence<std::int64_t>> names{};  // of extents that stay open, below -1, by input; 0: the number
  weft::sequence<weft::open_range> ranges{};

  template <class T, int Rank>
  weft::expr::tensor<T, Rank> input(weft::sequence<std::int64_t> const& shape) {
    char const letter[] = {static_cast<char>('A' + p.inputs.size())};
    shapes.push_back(shape);
    return {&p, p.add_input(weft::short_name(std::string_view(letter, 1)), weft::dtype_of<T>, Rank)};
  }
  template <class Stage>
  gpu_kernel& out(Stage const& last) {
    p.outputs.push_back(last.id);
    return *this;
  }
};

/// A tensor's elements as a kernel has them, on a cache line.
class gpu_memory {
 public:
  explicit gpu_memory(weft::dense const& from, bool filled) : type_(from.type), count_(from.bits.size()) {
    bytes_ = (count_ * size() + 64 + 63) / 64 * 64;
    data_.reset(static_cast<unsigned char*>(std::aligned_alloc(64, bytes_)));
    std::memset(data_.get(), 0xff, bytes_);
    for (std::size_t i = 0; filled && i < count_; ++i) std::memcpy(data_.get() + i * size(), &from.bits[i], size());
    fence(true);
  }
  ~gpu_memory() { fence(false); }
  gpu_memory(gpu_memory const&) = delete;
  gpu_memory& operator=(gpu_memory const&) = delete;
  void* data() const { return data_.get(); }
  std::int64_t count() const { return static_cast<std::int64_t>(count_); }
  std::size_t bytes() const { return bytes_; }
  std::int64_t bits(std::size_t i) const {
    return weft::with_dtype(type_, [&]<class T>(T v) {
      std::memcpy(&v, data_.get() + i * sizeof(T), sizeof(T));
      return weft::to_bits(v);
    });
  }
  /// Behind the last element nothing was written.
  bool fence_stands() const {
    fence(false);
    bool stands = true;
    for (std::size_t i = count_ * size(); i < bytes_; ++i) stands = stands && data_.get()[i] == 0xff;
    fence(true);
    return stands;
  }

 private:
  struct freed {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::size_t size() const { return static_cast<std::size_t>(weft::size_bytes(type_)); }
  /// Whether the address sanitizer takes an access behind the last element for an error.
  void fence([[maybe_unused]] bool stands) const {
#if WEFT_TEST_ASAN
    if (stands) __asan_poison_memory_region(data_.get() + count_ * size(), bytes_ - count_ * size());
    else __asan_unpoison_memory_region(data_.get(), bytes_);
#endif
  }
  weft::dtype type_;
  std::size_t count_, bytes_ = 0;
  std::unique_ptr<unsigned char, freed> data_;
};

/// A kernel of the corpus on its way through the compiler.
class gpu_trial {
 public:
  enum how { evaluated, text_only };
  explicit gpu_trial(gpu_kernel const& k, weft::sequence<std::string> const& known = {}, how wanted = evaluated)
      : k_(k), wanted_(wanted), what_(weft::canonical(k.p)) {
    try {
      compile(known);
    } catch (weft::error const& e) {
      fault = e.what();
    }
  }
  void compile(weft::sequence<std::string> const& known) {
    expanded_ = weft::expand(what_, true);
    if (wanted_ == evaluated) {
      make_inputs();
      weft::evaluator e(expanded_, inputs_, {});
      for (std::int32_t t : expanded_.outputs) expected.push_back(e.result(t));
    } else {
      for (std::int32_t t : expanded_.outputs) expected.push_back({what_.tensors[static_cast<std::size_t>(t)].type, shape_of(t), {}});
    }
    auto const extents = [this](int t, int d) { return extent_of(k_, t, d); };
    weft::schedule s(expanded_, extents);
    std::string const& steps = k_.steps;
    for (std::size_t end = 0; end != steps.size();) {  // line by line: which of them is illegal, and why
      end = steps.find('\n', end) + 1;
      s = weft::schedule(expanded_, extents);
      if (weft::replay(s, weft::parse_trace(steps.substr(0, end), weft::schedule(what_, extents), weft::matrix_units))) continue;
      fault = k_.name + ": " + weft::explain(s, k_.name);
      return;
    }
    fault = weft::check_rounded(m_, s.computation(), s, layout());  // as weft/cuda.ipp looks
    if (!fault.empty()) return void(fault = "an axis that is rounded up reads too far: " + fault);
    f = weft::lower(m_, s.computation(), s, layout(), k_.name, weft::vector_tails::mask);
    std::string* const found = &fault;
    weft::run_gpu_passes(f, {[](void* to, char const* pass, weft::ir::function const& g) {
                               std::string const wrong = weft::ir::verify(g);
                               auto& all = *static_cast<std::string*>(to);
                               if (!wrong.empty() && all.empty()) all = std::string("after ") + pass + ": " + wrong + "\n" + weft::ir::print(g);
                             },
                             found});
    if (fault.empty()) module = weft::make_cuda_module(f, {.known = known});
    if (!f.sizes.empty() && k_.names.empty()) fault = "its sizes are open";
    for (weft::open_size const& o : weft::open_sizes_of(layout()))
      sizes_.push_back(k_.shapes[static_cast<std::size_t>(o.argument)][static_cast<std::size_t>(o.dim)] >> o.shift);
  }
  /// The number, or what stands for its name.
  static std::int64_t extent_of(gpu_kernel const& k, int t, int d) {
    auto const at = static_cast<std::size_t>(t), dim = static_cast<std::size_t>(d);
    return at < k.names.size() && k.names[at][dim] < -1 ? k.names[at][dim] : k.shapes[at][dim];
  }
  /// An expression over the sizes that this trial runs with.
  std::int64_t value(weft::ir::expr e) const {
    weft::detail::size_code code;
    std::int64_t values[weft::detail::size_code::most] = {};
    int const at = code.add(e);
    return code.run(sizes_.data(), values) ? values[at] : -1;
  }
  gpu_trial(gpu_trial const&) = delete;
  gpu_trial& operator=(gpu_trial const&) = delete;

  /// What the interpreter finds, or in what its results differ from direct evaluation; `traffic` counts what memories do.
  std::string interpreted(std::uint64_t seed, memory_traffic* traffic = nullptr) {
    weft::sequence<gpu_memory*> const all = fresh();
    weft::sequence<weft::interp_argument> pointers;
    for (std::size_t i = 0; i < all.size(); ++i) pointers.push_back({all[i]->data(), all[i]->count(), i < inputs_.size()});
    weft::interp_options o;
    o.seed = seed;
    if (traffic != nullptr) o.observe = &memory_traffic::observe, o.observer = traffic;
    std::string const wrong = weft::interpret(f, pointers, sizes_, {}, o);
    if (traffic != nullptr) traffic->finish();
    if (!wrong.empty()) return wrong + "\n" + weft::ir::print(f);
    std::string const differs = compared("interpreted");
    proofs.interpreted = proofs.interpreted || differs.empty();
    return differs;
  }
  /// The same with barrier number `left_out` taken away, or exchange; "none" when there are no more.
  std::string interpreted_without(int left_out, weft::ir::stmt_kind kind = weft::ir::stmt_kind::barrier) {
    without_one w(m_, left_out, kind);
    weft::ir::stmt const whole = f.body;
    f.body = w(f.body);
    std::string const found = w.removed ? interpreted(1) : "none";
    f.body = whole;
    return found;
  }
  /// The same of the text on the host, where `host` has it.
  std::string on_host(cuda_on_host const& host, unsigned order) {
    weft::sequence<gpu_memory*> const all = fresh();
    weft::sequence<void*> pointers;
    for (gpu_memory* m : all) pointers.push_back(m->data());
    std::size_t const bytes = static_cast<std::size_t>(value(weft::workspace_offset(m_, f, nullptr)));
    std::unique_ptr<unsigned char, void (*)(void*)> const workspace(  // without a byte more than it has, for the address sanitizer
        static_cast<unsigned char*>(std::aligned_alloc(64, bytes > 0 ? (bytes + 63) / 64 * 64 : 64)), std::free);
    std::memset(workspace.get(), 0xff, bytes);
    for (weft::cuda_kernel const& k : module.kernels) {
      weft::sequence<void*> given = pointers;  // sizes are passed as pointers are
      for (std::int64_t s : sizes_) given.push_back(reinterpret_cast<void*>(s));
      if (k.takes_workspace) given.push_back(workspace.get());
      std::string const wrong = launched(host, k, given, order);
      if (!wrong.empty()) return k.name + ": " + wrong + "\n" + module.text;
    }
    std::string const differs = compared("on the host");
    proofs.on_host = proofs.on_host || (differs.empty() && host.is_sanitized_as_built());
    return differs;
  }

  /// The same on a GPU: `device.run(module, memory, sizes, workspace_bytes, value)` brings all memory there and back; `value(e)` is that of
  /// an expression over the sizes.
  template <class Device>
  std::string on_device(Device& device) {
    auto const bytes = static_cast<std::size_t>(value(weft::workspace_offset(m_, f, nullptr)));
    std::string const wrong = device.run(module, fresh(), sizes_, bytes, [this](weft::ir::expr e) { return value(e); });
    return wrong.empty() ? compared("on the device") : wrong + "\n" + module.text;
  }

  /// What it has come through so far, wholly.
  struct {
    bool interpreted = false, on_host = false;
    int architectures = 0;  // that NVRTC has compiled it for
  } proofs;
  /// Its text with all of the prelude that it needs.
  std::string own_text() const { return weft::make_cuda_module(f).text; }

  std::string fault;
  weft::ir::function f;
  weft::cuda_module module;
  weft::sequence<weft::dense> expected;

 private:
  class without_one final : public weft::ir::rewriter {
   public:
    without_one(weft::ir::arena& m, int number, weft::ir::stmt_kind kind) : weft::ir::rewriter(m), left_(number), kind_(kind) {}
    bool removed = false;

   protected:
    using weft::ir::rewriter::replace;
    weft::ir::stmt replace(weft::ir::stmt s) override {
      if (s->kind != kind_) return nullptr;
      if (left_-- != 0) return s;
      removed = true;
      return weft::ir::block(m_, {});
    }

   private:
    int left_;
    weft::ir::stmt_kind kind_;
  };
  void make_inputs() {
    inputs_ = k_.given;
    if (!inputs_.empty()) return;
    unsigned seed = 1;
    for (std::size_t t = 0; t < k_.shapes.size(); ++t) {
      weft::dense d{what_.tensors[t].type, k_.shapes[t], {}};
      std::int64_t count = 1;
      for (std::int64_t e : d.shape) count *= e;
      for (std::int64_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        bool const is_unsigned = weft::is_unsigned_integer(d.type) || d.type == weft::dtype::boolean;
        auto const whole = static_cast<std::int64_t>((seed >> 16) % 13) - (is_unsigned ? 0 : 6);
        std::int64_t const v = d.type == weft::dtype::boolean ? whole % 2 : whole;
        d.bits.push_back(weft::converted(weft::dtype::i64, d.type, v));
      }
      inputs_.push_back(d);
    }
  }
  weft::call_layout layout() const {
    weft::call_layout l;
    l.ranges = k_.ranges;
    auto const add = [&](weft::sequence<std::int64_t> const& shape) {
      weft::argument_layout a{shape, weft::sequence<std::int64_t>(shape.size(), 1), 32,
                              static_cast<std::int32_t>(l.arguments.size())};
      for (std::size_t d = shape.size(); d > 1; --d) a.strides[d - 2] = a.strides[d - 1] * shape[d - 1];
      l.arguments.push_back(a);
    };
    for (auto const& s : k_.shapes) add(s);
    for (weft::dense const& d : expected) add(d.shape);
    if (k_.names.empty()) return l;
    auto const open = [&](weft::argument_layout& a, std::size_t d, std::int64_t code) {
      a.extents[d] = code, a.packed = true;
      for (std::int64_t& s : a.strides) s = weft::open_stride;
    };
    for (std::size_t t = 0; t < k_.shapes.size(); ++t)
      for (std::size_t d = 0; d < k_.shapes[t].size(); ++d)
        if (k_.names[t][d] < -1) open(l.arguments[t], d, k_.names[t][d]);
    for (std::size_t o = 0; o < expected.size(); ++o)
      for (std::size_t d = 0; d < expected[o].shape.size(); ++d) {
        std::int32_t const e = what_.extent_of(what_.outputs[o], static_cast<int>(d));
        if (weft::extent_value(what_, e, [this](int t, int dim) { return extent_of(k_, t, dim); }) == weft::open_extent)
          open(l.arguments[k_.shapes.size() + o], d, -1);
      }
    return l;
  }
  weft::sequence<gpu_memory*> fresh() {
    memory_.clear();
    for (weft::dense const& d : inputs_) memory_.push_back(std::make_unique<gpu_memory>(d, true));
    for (weft::dense const& d : expected) memory_.push_back(std::make_unique<gpu_memory>(d, false));
    weft::sequence<gpu_memory*> all;
    for (auto const& m : memory_) all.push_back(m.get());
    return all;
  }
  template <class T>
  static double number(weft::dtype t, std::int64_t bits) {
    return static_cast<T>(weft::from_bits<double>(weft::apply(weft::op::cast, t, bits, 0, 0, weft::dtype::f64)));
  }
  std::string compared(char const* where) {
    for (std::size_t o = 0; o < expected.size(); ++o) {
      gpu_memory const& got = *memory_[inputs_.size() + o];
      weft::dense const& wanted = expected[o];
      if (!got.fence_stands()) return std::string(where) + ": a store behind the last element";
      for (std::size_t i = 0; i < wanted.bits.size(); ++i) {
        std::int64_t const a = got.bits(i), b = wanted.bits[i];
        if (a == b) continue;
        double const x = wanted.type == weft::dtype::f64 ? weft::from_bits<double>(a) : number<double>(wanted.type, a);
        double const y = wanted.type == weft::dtype::f64 ? weft::from_bits<double>(b) : number<double>(wanted.type, b);
        if (k_.tolerance > 0 && std::fabs(x - y) <= k_.tolerance * (1 + std::fabs(y))) continue;
        return std::string(where) + ": element " + std::to_string(i) + " is " + std::to_string(x) + ", not " +
               std::to_string(y) + "\n" + weft::ir::print(f);
      }
    }
    for (std::size_t t = 0; t < inputs_.size(); ++t)
      for (std::size_t i = 0; i < inputs_[t].bits.size(); ++i)
        if (memory_[t]->bits(i) != inputs_[t].bits[i]) return std::string(where) + ": an input was changed";
    return "";
  }
  std::string launched(cuda_on_host const& host, weft::cuda_kernel const& k, weft::sequence<void*> const& given,
                       unsigned order) const {
    struct call {
      void* function;
      weft::sequence<void*> const& p;
    } c{host.symbol(k.name.c_str()), given};
    if (c.function == nullptr) return "no such kernel";
    auto const thread = [](void* data) {
      auto const& now = *static_cast<call*>(data);
      auto const& p = now.p;
      auto const with = [&]<class... P>(P... all) { reinterpret_cast<void (*)(P...)>(now.function)(all...); };
      switch (p.size()) {
        case 1: return with(p[0]);
        case 2: return with(p[0], p[1]);
        case 3: return with(p[0], p[1], p[2]);
        case 4: return with(p[0], p[1], p[2], p[3]);
        case 5: return with(p[0], p[1], p[2], p[3], p[4]);
        case 6: return with(p[0], p[1], p[2], p[3], p[4], p[5]);
        case 7: return with(p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
        default: return with(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
      }
    };
    if (given.size() > 8) return "the test launches at most eight parameters";
    unsigned blocks[3], threads[3];
    for (int d = 0; d < 3; ++d) {
      blocks[d] = k.blocks[d] != nullptr ? static_cast<unsigned>(value(k.blocks[d])) : 1;
      threads[d] = static_cast<unsigned>(k.threads[d]);
    }
    return host.run(blocks, threads, static_cast<unsigned>(k.shared_bytes), thread, &c, order, shared_gaps(k));
  }
  /// Behind a kernel's shared arrays, up to a multiple of 128, what belongs to none of them, as its text has them:
  /// T* const name = (T*)(weft_shared + 128); several may have the same bytes.
  std::vector<unsigned> shared_gaps(weft::cuda_kernel const& k) const {
    enum : char { unknown, behind, owned };
    std::string bytes_of(static_cast<std::size_t>(k.shared_bytes), unknown);
    std::size_t const begin = module.text.find(k.name + "("), end = module.text.find("\n}\n", begin);
    for (std::size_t at = begin; (at = module.text.find("weft_shared", at + 1)) < end;) {
      std::size_t const line = module.text.rfind('\n', at) + 1, name = module.text.find("* const ", line) + 8;
      std::string const of = module.text.substr(name, module.text.find(' ', name) - name);
      unsigned const from = module.text[at - 1] == '(' ? static_cast<unsigned>(std::atoi(module.text.c_str() + at + 14)) : 0;
      for (weft::ir::buffer const* b : f.buffers) {
        if (b->name != of || b->shape.size() == 0) continue;
        auto const bytes = static_cast<unsigned>(b->shape[0]->value * b->strides[0]->value * weft::size_bytes(b->type));
        for (unsigned i = from; i < from + (bytes + 127) / 128 * 128 && i < bytes_of.size(); ++i)
          if (i < from + bytes) bytes_of[i] = owned;
          else if (bytes_of[i] == unknown) bytes_of[i] = behind;
      }
    }
    std::vector<unsigned> gaps;
    for (unsigned i = 0; i < bytes_of.size(); ++i) {
      bool const is_behind = bytes_of[i] == behind, before = i > 0 && bytes_of[i - 1] == behind;
      if (is_behind != before) gaps.push_back(i);
    }
    if (gaps.size() % 2 != 0) gaps.push_back(static_cast<unsigned>(bytes_of.size()));
    return gaps;
  }

  weft::sequence<std::int64_t> shape_of(std::int32_t t) const {
    weft::sequence<std::int64_t> shape;
    for (int d = 0; d < expanded_.tensors[static_cast<std::size_t>(t)].rank; ++d)
      shape.push_back(extent_value(expanded_, expanded_.extent_of(t, d), [this](int x, int dim) {
        return k_.shapes[static_cast<std::size_t>(x)][static_cast<std::size_t>(dim)];
      }));
    return shape;
  }
  gpu_kernel const& k_;
  how wanted_;
  weft::program what_, expanded_;
  weft::ir::arena m_;
  weft::sequence<weft::dense> inputs_;
  weft::sequence<std::int64_t> sizes_;  // the function's
  std::vector<std::unique_ptr<gpu_memory>> memory_;
};

}  // namespace weft_test
