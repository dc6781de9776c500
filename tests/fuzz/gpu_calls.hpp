// Drawn programs as calls of a GPU have them: under its rule, with the strides and the begin of each tensor in memory, numbers, empty
// tensors, results in place and open sizes.
#pragma once

#include "fuzz/rules.hpp"
#include "fuzz/trial.hpp"
#include "weft/cuda.hpp"

namespace weft_test::fuzz {

/// One call.
class gpu_call : public trial {
 public:
  explicit gpu_call(drawn const& d, bool in_place = false) : trial(d, true, false, in_place) {}

  /// Makes its loop program, by rule; with `r` at a point around that. Where sums may not change their order, `bitwise`. False: open sizes are
  /// asked for, and it has none.
  bool make(bool open, random_source* r = nullptr) {
    open_.reset(open ? open_form() : nullptr);
    if (open && open_ == nullptr) return false;
    weft::call_layout layout = open ? open_->layout : layout_;
    std::size_t tensor = 0;
    for (weft::argument const& a : arguments_) {  // as weft/cuda.ipp has it of memory on the GPU
      if (a.is_scalar) continue;
      auto const place = reinterpret_cast<std::uintptr_t>(a.data);
      weft::argument_layout& l = layout.arguments[tensor++];
      l.alignment = place % 32 == 0 ? 32 : place % 16 == 0 ? 16 : weft::size_bytes(a.type), l.constant = false;
    }
    for (bool const bitwise : {false, true}) {
      weft::compile_request request{"drawn", &d_.what, nullptr, nullptr, &layout, nullptr, {.bitwise = bitwise}, true, nullptr, &weft::detail::gpu_compilation};
      weft::schedule s;
      weft::rule_input const in = weft::detail::rule_input_for(request, expanded_, s);
      request.told = &in;
      for (int tries = 0; r != nullptr && tries < 4 && !s.knobs.empty(); ++tries) {
        weft::sequence<std::int32_t> choices;
        for (std::size_t k = 0; k < weft::schedule::max_knobs; ++k) choices.push_back(r->chance(40) ? r->below(8) : 0);
        weft::schedule const other = weft::detail::schedule_with(request, expanded_, choices);
        if (other.state == weft::verdict::illegal || (!bitwise && !keeps_bits(other))) continue;
        s = other;
        break;
      }
      if (s.state == weft::verdict::illegal || (!bitwise && !keeps_bits(s))) continue;
      steps_ = weft::print_trace(s);
      f_ = request.gpu->loops(m_, request, s);
      break;
    }
    if (open) open_->read(arguments_.data(), sizes_);
    return f_.body != nullptr;
  }
  /// What the interpreter finds, or in what the results differ from direct evaluation.
  std::string interpreted() { return trial::interpreted("by the interpreter", f_, weft::sequence<std::int64_t>(sizes_, sizes_ + f_.sizes.size()), 3000000); }
  std::string const& steps() const { return steps_; }

 private:
  bool keeps_bits(weft::schedule const& s) const { return keeps_order(s, d_.order_free) && parts_may_be(s, d_.order_free); }
  /// With a form of its own for what 16 divides, as calls of a GPU have it.
  weft::open_sizes* open_form() const {
    bool any = false;
    for (std::int64_t n : names_) any = any || n < -1;
    weft::call_layout layout = layout_;
    layout.multiples = true;
    return any ? weft::detail::open_form(d_.what, "fuzz", arguments_.data(), static_cast<int>(arguments_.size()), layout, names_.data()) : nullptr;
  }
  weft::ir::arena m_;
  weft::ir::function f_;
  std::unique_ptr<weft::open_sizes> open_;
  std::int64_t sizes_[weft::open_sizes::most] = {};
};

}  // namespace weft_test::fuzz
