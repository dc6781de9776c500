// One drawn program on one set of arguments, run in every way that weft has.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/memory.hpp"
#include "fuzz/steps.hpp"
#include "weft/codegen/llvm/module.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/compile.hpp"
#include "weft/debug.hpp"
#include "weft/dim.hpp"
#include "weft/expr/expand.hpp"
#include "weft/expr/narrow.hpp"
#include "weft/interp/interp.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"
#include "weft/lower/bounds.hpp"
#include "weft/lower/work.hpp"
#include "weft/pass/pipeline.hpp"
#include "weft/runtime/bind.hpp"
#include "weft/schedule/print.hpp"

namespace weft_test::fuzz {

inline auto extents_of(drawn const& d) {
  return [&d](int t, int dim) { return d.tensors[static_cast<std::size_t>(t)].shape[static_cast<std::size_t>(dim)]; };
}
inline constexpr char const* not_legal = "the steps are not legal";

/// Calls machine code; parallel loops run as pieces in no order: threads are another test's business. Answers what checked
/// code found.
inline std::string call(weft::compiled_kernel const& k, weft::program const& what, weft::sequence<void*> const& pointers,
                        weft::sequence<std::int64_t> const& scalars, std::int64_t const* sizes = nullptr,
                        std::int64_t workspace_bytes = -1, void* kept = nullptr) {
  weft::services const host{[](void*, std::int64_t count, std::int64_t places, weft::loop_body* body, void* to) {
                              std::int64_t const half = count / 2;
                              if (half < count) body(to, half, count, places > 1 ? 1 : 0);
                              if (half > 0) body(to, 0, half, 0);
                            },
                            nullptr, weft::linked_instruments.report};
  if (workspace_bytes < 0) workspace_bytes = k.workspace_bytes;
  auto const bytes = static_cast<std::size_t>((workspace_bytes + 63) / 64 * 64);
  fenced_bytes const workspace(bytes, true);
  std::memset(workspace.data(), k.checked ? 0 : 0x5a, bytes);
  weft::failure failed;
  weft::sequence<weft::extern_call> functions;
  for (weft::stage_info const& s : what.stages)
    if (s.by != nullptr) functions.push_back(s.by->call);
  weft::launch const l{pointers.data(), sizes, scalars.data(), workspace.data(), &host, &failed, nullptr, kept, functions.data()};
  if (k.entry(&l) == 0) return "";
  try {
    weft::linked_instruments.raise(failed);
  } catch (weft::access_error const& e) {
    return e.what();
  }
  return "nothing was thrown";
}
/// What a compile_request takes: a how-lambda that takes these steps.
struct steps_to_take {
  drawn const& d;
  weft::trace const& steps;
  static void how(void const* p, weft::schedule& s) {
    auto const& to = *static_cast<steps_to_take const*>(p);
    for (weft::step const& one : to.steps) try_step(s, one, to.d.order_free, {});
  }
};

/// WEFT_FUZZ_PLANT=name: as if all executors were wrong about programs that have an operation of this name. What then fails,
/// shrinks and prints is tested in tests/fuzz/printed.cpp.
inline bool is_planted(weft::program const& p) {
  char const* const wanted = std::getenv("WEFT_FUZZ_PLANT");
  if (wanted == nullptr) return false;
  for (weft::node const& n : p.nodes)
    if (weft::name(n.kind) == wanted) return true;
  return false;
}

/// One program on one set of arguments.
class trial {
 public:
  static constexpr char const* takes_long = "more operations than interp_options allows";
  /// in_place: some results may be written over inputs.
  trial(drawn const& d, bool contract, bool may_run_back, bool in_place = false)
      : d_(d), expanded_(weft::expand(d.what, contract)), computed_(d.seed % 3 == 0 ? expanded_ : weft::in_few_bits(expanded_)), random_(d.seed ^ 0x517) {
    for (weft::input_info const& i : d.what.inputs) {
      if (i.tensor < 0) {
        weft::argument a;
        a.is_scalar = true;
        a.type = i.type;
        a.scalar_bits = d.scalars[scalars_++];
        arguments_.push_back(a);
        continue;
      }
      weft::dense const& values = d.tensors[static_cast<std::size_t>(i.tensor)];
      memory_.emplace_back(random_, values.type, values.shape, false, may_run_back);
      memory_.back().put(values);
      inputs_.push_back(memory_.back().get());
      arguments_.push_back(memory_.back().argument(false));
    }
    weft::evaluator e(expanded_, inputs_, d.scalars);
    for (std::int32_t t : d.what.outputs) {
      expected_.push_back(e.result(t));
      memory_.emplace_back(random_, expected_.back().type, expected_.back().shape, true, may_run_back);
      arguments_.push_back(memory_.back().argument(true));
      place_of_.push_back(memory_.size() - 1);
    }
    if (in_place) share_memory();
    layout_ = weft::bind(d.what, "fuzz", arguments_.data(), static_cast<int>(arguments_.size()));
    if (d.seed % 8 < 6)
      for (std::size_t i = 0; i < inputs_.size(); ++i) layout_.arguments[i].constant = !is_overwritten(i);
    draw_names();
  }

  /// The loop program before its passes and after them, for vectors of some size, and both with run-time sizes.
  std::string interpreted(weft::trace const& steps) {
    weft::ir::arena m;
    weft::nest const plain(computed_, [](int, int) { return std::int64_t(-1); }, {});
    weft::ir::function const unscheduled =
        weft::lower(m, computed_, plain, layout_, "fuzz", weft::vector_tails::partition, weft::narrow_memory::no);
    if (std::string const why = weft::check_bounds(unscheduled); !why.empty())
      return "check_bounds refuses: " + why + "\n" + weft::ir::print(unscheduled);
    weft::schedule s(computed_, extents_of(d_));
    if (!weft::replay(s, steps)) return not_legal;
    steps_ = weft::print_trace(s);
    // What reads too far when it is rounded up is refused at the call.
    if (!weft::check_rounded(m, s.computation(), s, layout_).empty()) return interpreted(without_rounding(steps));
    auto const tails = d_.seed % 4 < 2 ? weft::vector_tails::mask : weft::vector_tails::partition;
    auto const threads = static_cast<std::int32_t>(d_.seed / 4 % 3);  // 0: memory for each iteration
    weft::ir::function f = weft::lower(m, s.computation(), s, layout_, "fuzz", tails, weft::narrow_memory::yes, threads);
    // A case in a thousand would take as long as the rest.
    std::string fault = interpreted("lowered", f, {}, steps.empty() ? interp_limit : 300000);
    if (!fault.empty()) return fault;
    int const bytes = 16 << d_.seed / 16 % 3;
    fault = with_passes("for vectors of " + std::to_string(bytes) + " bytes", f, bytes, {});
    return fault.empty() ? interpreted_open(steps) : fault;
  }
  /// With numbers in the code, and every second time with open sizes too (checked code has none).
  std::string compiled(weft::trace const& steps, weft::target const& machine, weft::options wanted = {}) {
    std::string const fault = compiled_or_refused(steps, machine, wanted, nullptr);
    std::unique_ptr<weft::open_sizes> const open(wanted.checked || d_.seed % 4 < 2 ? nullptr : open_form());
    if (!fault.empty() || open == nullptr) return fault;
    return allowing_unknown_parts([&] { return compiled_or_refused(steps, machine, wanted, open.get()); });
  }

  /// Code for a machine that this one is not, and what it is called with there; `weft_NAME` is its symbol.
  struct for_elsewhere {
    std::string object;
    weft::sequence<std::int64_t> scalars;
    std::int64_t workspace_bytes = 0;
  };
  for_elsewhere made_for(weft::target const& machine, weft::trace const& steps, std::string const& name) {
    weft::call_layout layout = layout_;
    for (weft::argument_layout& a : layout.arguments) a.constant = false;  // nothing is kept from call to call there
    for_elsewhere made = rounded_or_not(steps, [&](weft::trace const& now) {
      steps_to_take const to{d_, now};
      weft::compile_request const r{"fuzz", &d_.what, steps_to_take::how, &to, &layout, &machine};
      weft::ir::arena m;
      weft::ir::function const f = weft::make_loops(m, r, weft::make_schedule(r));
      weft::codegen::llvm::object_request wanted;
      wanted.verify = true, wanted.name = name;
      return for_elsewhere{weft::codegen::llvm::compile(f, machine, wanted).bytes, d_.scalars, weft::workspace_bytes(f)};
    });
    made.scalars.push_back(0);
    clear();
    return made;
  }
  std::vector<tensor_memory>& memory() { return memory_; }
  /// Empty when memory() is what it should be after a call.
  std::string difference() {
    for (std::size_t o = 0; o < expected_.size() && is_planted(d_.what); ++o) {
      weft::dense wrong = expected_[o];
      if (!wrong.bits.empty()) wrong.bits[0] ^= 1, memory_of(o).put(wrong);
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      bool const input = i < inputs_.size();
      if (input && is_overwritten(i)) continue;
      std::string const fault =
          input ? memory_[i].difference(inputs_[i]) : memory_of(i - inputs_.size()).difference(expected_[i - inputs_.size()]);
      std::int32_t const t = input ? static_cast<std::int32_t>(i) : d_.what.outputs[i - inputs_.size()];
      if (!fault.empty()) return std::string(weft::program::at(d_.what.tensors, t).name.view()) + fault;
    }
    return "";
  }

 protected:
  /// Lets some results be written over inputs of the same form that a call takes for that.
  void share_memory() {
    random_source r(d_.seed ^ 0x1a);
    for (std::size_t o = 0; o < expected_.size(); ++o)
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        weft::argument& out = arguments_[argument_of(inputs_.size() + o)];
        weft::argument const before = out;
        bool const fits = inputs_[i].type == expected_[o].type && inputs_[i].shape == expected_[o].shape;
        if (!fits || inputs_[i].bits.empty() || is_overwritten(i) || place_of_[o] < inputs_.size() || r.chance(40)) continue;
        out = memory_[i].argument(true);
        try {
          weft::bind(d_.what, "fuzz", arguments_.data(), static_cast<int>(arguments_.size()));
          place_of_[o] = i;
        } catch (weft::argument_error const&) {
          out = before;
        }
      }
  }
  /// Which argument has the memory that is made as number `tensor`.
  std::size_t argument_of(std::size_t tensor) const {
    for (std::size_t a = 0; a < arguments_.size(); ++a)
      if (!arguments_[a].is_scalar && tensor-- == 0) return a;
    return 0;
  }
  bool is_overwritten(std::size_t input) const {
    for (std::size_t p : place_of_)
      if (p == input) return true;
    return false;
  }
  tensor_memory& memory_of(std::size_t output) { return memory_[place_of_[output]]; }

  /// How much of a stage is read at a time may not be known while sizes are open; a ring for it is refused then, and to write it out.
  template <class F>
  static std::string allowing_unknown_parts(F const& f) {
    try {
      return f();
    } catch (weft::schedule_error const& e) {
      std::string const why = e.what();
      for (char const* refused : {"fold_storage: any number of", "unroll: an axis that is to be written out", "vectorize: a vectorized axis has an open extent"})
        if (why.find(refused) == 0) return "";
      throw;
    }
  }
  std::string compiled_or_refused(weft::trace const& steps, weft::target const& machine, weft::options wanted,
                                  weft::open_sizes const* open) {
    return rounded_or_not(steps, [&](weft::trace const& now) { return compiled(now, machine, wanted, open); });
  }
  template <class F>
  static auto rounded_or_not(weft::trace const& steps, F const& f) -> decltype(f(steps)) {
    try {
      return f(steps);
    } catch (weft::schedule_error const& e) {
      if (std::string(e.what()).find("rounded up reads too far") == std::string::npos) throw;
    }
    return f(without_rounding(steps));
  }
  std::string compiled(weft::trace const& steps, weft::target const& machine, weft::options wanted,
                       weft::open_sizes const* open) {
    steps_to_take const to{d_, steps};
    weft::compiled_kernel const k = weft::compile(
        {"fuzz", &d_.what, steps_to_take::how, &to, open != nullptr ? &open->layout : &layout_, &machine, wanted});
    std::int64_t sizes[weft::open_sizes::most];
    if (open != nullptr && !open->fit(arguments_.data(), static_cast<int>(arguments_.size())))
      return "the form for open sizes does not fit the call that it was made for";
    if (open != nullptr) open->read(arguments_.data(), sizes);
    std::int64_t const bytes =
        k.workspace_bytes != weft::told_by_call ? k.workspace_bytes : weft::wanted_memory(k, "fuzz", sizes, false);
    weft::sequence<void*> pointers;
    for (std::size_t i = 0; i < inputs_.size(); ++i) pointers.push_back(memory_[i].data());
    for (std::size_t o = 0; o < expected_.size(); ++o) pointers.push_back(memory_of(o).data());
    auto const kept_bytes = k.keeps != 0 ? static_cast<std::size_t>(weft::wanted_memory(k, "fuzz", sizes, true)) : 0;
    fenced_bytes const kept((kept_bytes + 63) / 64 * 64, true);
    std::string fault;
    for (int there = 0; there <= (k.keeps != 0 ? 1 : 0) && fault.empty(); ++there) {
      weft::sequence<std::int64_t> scalars = d_.scalars;
      scalars.push_back(there);
      clear();
      fault = call(k, d_.what, pointers, scalars, sizes, bytes, kept.data());
      if (fault.empty()) fault = difference();
      if (!fault.empty() && there > 0) fault = "what was kept: " + fault;
    }
    return fault.empty() ? fault
                         : (wanted.checked ? "checked code for " : "machine code for ") + machine.cpu +
                               (open != nullptr ? ", open: " : ": ") + fault;
  }
  void clear() {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (is_overwritten(i)) memory_[i].put(inputs_[i]);
    for (std::size_t o = 0; o < expected_.size(); ++o) memory_[inputs_.size() + o].clear();
  }
  static constexpr std::int64_t interp_limit = weft::interp_options().max_operations;
  std::string interpreted(std::string const& what, weft::ir::function const& f,
                          weft::sequence<std::int64_t> const& sizes, std::int64_t limit = interp_limit) {
    weft::sequence<weft::interp_argument> pointers;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      tensor_memory& t = i < inputs_.size() ? memory_[i] : memory_of(i - inputs_.size());
      pointers.push_back({t.data(), t.elements(), i < inputs_.size()});
    }
    clear();
    weft::interp_options options;
    options.seed = d_.seed;
    options.max_operations = limit;
    options.steps = steps_;
    weft::sequence<std::int64_t> scalars = d_.scalars;
    scalars.push_back(0);  // nothing is kept yet
    std::string fault = weft::interpret(f, pointers, sizes, scalars, options);
    if (fault.empty()) fault = difference();
    return fault.empty() ? fault : what + ": " + fault + "\n" + weft::ir::print(f);
  }
  std::string with_passes(std::string const& what, weft::ir::function& f, int bytes,
                          weft::sequence<std::int64_t> const& sizes) {
    std::string fault;
    weft::run_passes(f, {bytes, d_.seed % 3 == 0, d_.seed % 2 == 0}, {[](void* to, char const* pass, weft::ir::function const& now) {
                                  auto& first = *static_cast<std::string*>(to);
                                  if (!first.empty()) return;
                                  first = weft::ir::verify(now);
                                  if (!first.empty())
                                    first = std::string("after ") + pass + ": " + first + "\n" + weft::ir::print(now);
                                },
                                &fault});
    return fault.empty() ? interpreted(what, f, sizes) : what + ", " + fault;
  }
  /// Some extents of the inputs get names, equal ones perhaps the same.
  void draw_names() {
    random_source r(d_.seed ^ 0xd1);
    weft::sequence<std::int64_t> known;
    names_.resize(arguments_.size() * weft::max_rank, -1);
    for (std::size_t i = 0; i < d_.what.inputs.size(); ++i)
      for (int d = 0; d < arguments_[i].rank && !arguments_[i].is_scalar; ++d) {
        if (r.chance(20)) continue;
        std::int64_t const size = arguments_[i].extents[d];
        std::size_t at = known.size();
        for (std::size_t k = 0; k < known.size() && at == known.size(); ++k)
          if (known[k] == size && r.chance(60)) at = k;
        if (at == known.size()) known.push_back(size);
        names_[i * weft::max_rank + static_cast<std::size_t>(d)] =
            -2 - static_cast<std::int64_t>('a' + at % 26 + 128 * ('a' + at / 26));
      }
  }
  weft::open_sizes* open_form() const {
    bool any = false;
    for (std::int64_t n : names_) any = any || n < -1;
    if (!any) return nullptr;
    return weft::detail::open_form(d_.what, "fuzz", arguments_.data(), static_cast<int>(arguments_.size()), layout_,
                                   names_.data());
  }
  std::string interpreted_open(weft::trace const& steps) {
    std::unique_ptr<weft::open_sizes> const open(open_form());
    if (open == nullptr) return "";
    weft::ir::arena m;
    // Open, not unknown: what is said of parts of unknown extents waits for a call that says them, which here never comes.
    weft::schedule s(computed_, [&](int tensor, int dim) {
      std::size_t position = 0;
      for (weft::input_info const& i : computed_.inputs) {
        if (i.tensor == tensor) return open->layout.arguments[position].extents[static_cast<std::size_t>(dim)];
        if (i.tensor >= 0) ++position;
      }
      return std::int64_t(-1);
    });
    for (weft::step const& one : steps) try_step(s, one, d_.order_free, {64, true, {}});
    weft::sequence<std::int64_t> sizes(weft::open_sizes::most, 0);
    open->read(arguments_.data(), sizes.data());
    auto const tails = d_.seed % 4 < 2 ? weft::vector_tails::mask : weft::vector_tails::partition;
    if (!weft::check_rounded(m, s.computation(), s, open->layout).empty()) return interpreted_open(without_rounding(steps));
    return allowing_unknown_parts([&] {
      weft::ir::function f = weft::lower(m, s.computation(), s, open->layout, "fuzz", tails, weft::narrow_memory::yes,
                                         static_cast<std::int32_t>(d_.seed / 4 % 3));
      sizes.resize(f.sizes.size());
      // A part may be the whole, of what is read at places that only the call knows: in loops inside of each other that takes hours.
      constexpr double most_written = 1e7;
      if (weft::elements_written(f, sizes) > most_written) return std::string();
      std::string const fault = interpreted("with open sizes, lowered", f, sizes);
      return fault.empty() ? with_passes("with open sizes", f, 32, sizes) : fault;
    });
  }

  drawn const& d_;
  std::string steps_;  // for people
  weft::program expanded_, computed_;  // what is evaluated, and what executors get
  random_source random_;
  std::size_t scalars_ = 0;
  std::vector<tensor_memory> memory_;  // inputs, then outputs
  std::vector<std::size_t> place_of_;  // by output: which memory it is written to
  weft::sequence<weft::dense> inputs_, expected_;
  weft::sequence<weft::argument> arguments_;
  weft::call_layout layout_;
  weft::sequence<std::int64_t> names_;  // max_rank for each argument; -1: none
};

}  // namespace weft_test::fuzz
