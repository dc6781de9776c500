#include "weft/base/identifier.hpp"
#include "weft/schedule/print_how.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Takes the steps once more, and writes each as a statement.
class how_writer {
 public:
  explicit how_writer(schedule const& of) : steps_(of.steps), s_(*of.original, extents{&of}, of.limits) {}

  std::string run() {
    program const p = *s_.original;
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
      inputs_.push_back(variable(p.inputs[i].tensor < 0 ? "number" : program::at(p.tensors, p.inputs[i].tensor).name.view()));
    for (std::size_t i = 0; i < p.stages.size(); ++i)
      stages_.push_back(variable(stage_name(static_cast<int>(i)))), reduced_.push_back(p.stages[i].reduced);
    std::size_t const parameters = names_.size();
    for (std::size_t i = 0; i < p.stages.size(); ++i) name_axes(static_cast<int>(i));
    for (step const& s : steps_) {
      if (s.ruling == verdict::illegal) break;
      statement made = call(s);
      step again = s;
      if (!s_.take(again)) break;
      name_results(s, made);
    }
    return text(parameters);
  }

 private:
  struct extents {
    schedule const* s;
    std::int64_t operator()(int tensor, int dim) const {
      return program::at(program::at(s->inputs, tensor), dim);
    }
  };
  /// `auto [a, b] = call;` A statement of names alone stands only where one of them is used.
  struct statement {
    std::string call;
    sequence<std::int32_t> uses{}, makes{};
    bool several = false, names_only = false;
  };

  /// A new variable, called so if no other is. Loops of an axis `d` are called `do` and `di`, which C++ keeps one of.
  int variable(std::string_view wanted, std::string_view stage = {}) {
    std::string name = identifier(wanted);
    if (is_taken(name) && !stage.empty()) name = identifier(std::string(stage) + "_" + name);
    std::string const stem = name;
    for (int n = 2; is_taken(name); ++n) name = stem + "_" + std::to_string(n);
    names_.push_back(name);
    return static_cast<int>(names_.size()) - 1;
  }
  bool is_taken(std::string const& name) const {
    if (name == "s") return true;
    for (std::string const& other : names_)
      if (other == name) return true;
    return false;
  }
  std::string_view stage_name(int stage) const {
    program const& p = s_.computation();
    return program::at(p.tensors, program::at(p.stages, stage).tensor).name.view();
  }
  void name_loop(statement& made, int loop) {
    while (loops_.size() <= static_cast<std::size_t>(loop)) loops_.push_back(-1);
    loops_[static_cast<std::size_t>(loop)] = variable(s_.at(loop).name.view(), stage_name(s_.at(loop).stage));
    made.makes.push_back(loops_[static_cast<std::size_t>(loop)]);
  }
  /// `auto [i, j] = C.axes();`
  void name_axes(int stage) {
    statement made{use(stages_, stage) + ".axes()", {program::at(stages_, stage)}, {}, true, true};
    stage_info const info = program::at(s_.computation().stages, stage);
    for (int i = 0; i < info.axes(); ++i) name_loop(made, program::at(s_.loop_of, info.first_axis + i));
    for (int i = info.axes(); i < info.spatial + program::at(reduced_, stage); ++i) made.makes.push_back(variable("gone"));
    if (!made.makes.empty()) statements_.push_back(made);
  }
  std::string const& use(sequence<std::int32_t> const& variables, int which) const {
    return program::at(names_, program::at(variables, which));
  }

  /// The step, in names that stand before it.
  statement call(step const& s) const {
    statement made{"s." + std::string(s.what == verb::rfactor_chunks ? "rfactor" : name(s.what)), {}, {}, false, false};
    step_form const& form = form_of(s.what);
    char const* between = "(";
    auto const add = [&](std::string const& text) { (made.call += between) += text, between = ", "; };
    auto const add_used = [&](sequence<std::int32_t> const& variables, int which) {
      add(use(variables, which));
      made.uses.push_back(program::at(variables, which));
    };
    if (form.tensor) {
      program const& p = s_.computation();
      int const from = program::at(p.tensors, s.tensor).stage;
      int input = 0;
      while (from < 0 && program::at(p.inputs, input).tensor != s.tensor) ++input;
      from < 0 ? add_used(inputs_, input) : add_used(stages_, from);
      if (int const first = from < 0 ? s.tensor : program::at(p.stages, from).tensor; s.tensor > first)
        made.call += joined({".result(", std::to_string(s.tensor - first), ")"});
    }
    bool const of_all = s.what == verb::cache_read && static_cast<readers>(s.word) == readers::all;
    if (form.stage && s.what != verb::specialize && !of_all) add_used(stages_, s.stage);
    for (int i = 0; i < s.count; ++i) {
      std::int32_t const loop = s.loops[static_cast<std::size_t>(i)];
      bool const named = static_cast<std::size_t>(loop) < loops_.size() && program::at(loops_, loop) >= 0;
      // Of those that reverse_compute_at copies, most are in no handle.
      named ? add_used(loops_, loop) : add("weft::axis{" + std::to_string(loop) + "}");
    }
    if (form.factor) add(std::to_string(s.factor));
    if (s.what == verb::split && s.word > 0) add("weft::tail::" + std::string(form.words.first[s.word]));
    if (s.what == verb::bind) add("weft::thread_axis::" + std::string(form.words.first[s.word]));
    if (s.what == verb::set_scope) add("weft::scope::" + std::string(form.words.first[s.word]));
    if (s.what == verb::pipeline && s.word > 0) add("weft::transfer::" + std::string(form.words.first[s.word]));
    bool const fetches = s.what == verb::prefetch || s.what == verb::prefetch_inside || s.what == verb::prefetch_in_turns;
    if (fetches && s.word > 0) add("weft::cache_level::" + std::string(form.words.first[s.word]));
    if (s.what == verb::rfactor_chunks) add("weft::chunks");
    if (s.what == verb::parallel && !s.numbers.empty()) add("weft::thread_limit(" + std::to_string(s.numbers[0]) + ")");
    else if (s.what == verb::specialize) add_conditions(s, made, add);
    else if (s.what == verb::transform_layout) add_layout(s.numbers, add);
    else if (s.what == verb::im2col)
      for (std::int64_t place : s.numbers)
        add_used(loops_, program::at(s_.loop_of, program::at(s_.computation().stages, s.stage).first_reduced + static_cast<int>(place)));
    else
      for (std::int64_t number : s.numbers) add(std::to_string(number));
    if (form.by) add(std::string(s.by->scope) += s.by->name);
    made.call += ")";
    return made;
  }
  /// `s.extent(i) % 8 == 0 && s.extent(j) == 64`
  template <class Add>
  void add_conditions(step const& s, statement& made, Add const& add) const {
    std::string all;
    int const first = program::at(s_.computation().stages, s.stage).first_axis;
    for (std::size_t i = 0; i + 2 < s.numbers.size(); i += 3) {
      int const axis = program::at(s_.loop_of, first + static_cast<int>(s.numbers[i]));
      made.uses.push_back(program::at(loops_, axis));
      all += joined({i > 0 ? " && s.extent(" : "s.extent(", use(loops_, axis), ")"});
      if (s.numbers[i + 1] > 0) all += " % " + std::to_string(s.numbers[i + 1]);
      all += " == " + std::to_string(s.numbers[i + 2]);
    }
    add(all);
  }
  /// `[](auto d0, auto d1) { return weft::dims(d0 / 4, d1, d0 % 4); }`, and what fills the holes.
  template <class Add>
  static void add_layout(sequence<std::int64_t> const& numbers, Add const& add) {
    int rank = 0;
    std::string indices, parameters;
    for (std::size_t t = 0; t + 2 < numbers.size(); t += 3) {
      joined_dims const of(numbers[t]);
      if (of.end() > rank) rank = of.end();
      std::string index = "d" + std::to_string(of.first);
      for (int d = of.first + 1; d < of.end(); ++d) index = joined({"join(", index, ", d", std::to_string(d), ")"});
      indices += (t > 0 ? ", " : "") + index;
      if (numbers[t + 1] > 1) indices += " / " + std::to_string(numbers[t + 1]);
      if (numbers[t + 2] > 0) indices += " % " + std::to_string(numbers[t + 2]);
    }
    for (int d = 0; d < rank; ++d) parameters += (d > 0 ? ", auto d" : "auto d") + std::to_string(d);
    add("[](" + parameters + ") { return weft::dims(" + indices + "); }");
    if (numbers.back() != 0) add(std::to_string(numbers.back()));
  }
  /// What the step made, in the schedule after it.
  void name_results(step const& s, statement& made) {
    auto const name_stage = [&](int stage) {
      while (stages_.size() <= static_cast<std::size_t>(stage)) stages_.push_back(-1);
      stages_[static_cast<std::size_t>(stage)] = variable(stage_name(stage));
      made.makes.push_back(stages_[static_cast<std::size_t>(stage)]);
    };
    int const last = static_cast<int>(s_.order.size()) - 1;
    bool const copies = s.what == verb::cache_read || s.what == verb::cache_write;
    bool const parts = s.what == verb::rfactor || s.what == verb::rfactor_chunks;
    bool const changes = s.what == verb::transform_layout;
    bool const matrices = s.what == verb::im2col;
    made.several = s.what == verb::split || parts || matrices;
    if (s.what == verb::split) name_loop(made, s_.at(s.loops[0]).outer), name_loop(made, s_.at(s.loops[0]).inner);
    if (s.what == verb::fuse) name_loop(made, s_.at(s.loops[0]).into);
    if (copies || parts) name_stage(last), reduced_.push_back(s.what == verb::cache_read ? 0 : program::at(reduced_, s.stage));
    if (matrices) {
      for (int stage : {last, last - 2, last - 1}) name_stage(stage);
      for (std::int32_t count : {0, 0, 1}) reduced_.push_back(count);
    }
    if (changes) name_stage(s.stage);
    if (parts) name_loop(made, program::at(s_.loop_of, program::at(s_.computation().stages, s.stage).first_reduced));
    statements_.push_back(made);
    if (copies || parts || matrices) name_axes(last);
    if (matrices) name_axes(last - 2), name_axes(last - 1);
    if (changes) name_axes(s.stage);
  }

  std::string text(std::size_t parameters) const {
    sequence<bool> used(names_.size(), false), stands(statements_.size(), false);
    auto const is_used = [&](statement const& made) {
      for (std::int32_t v : made.makes)
        if (used[static_cast<std::size_t>(v)]) return true;
      return false;
    };
    for (std::size_t i = statements_.size(); i-- > 0;) {
      stands[i] = !statements_[i].names_only || is_used(statements_[i]);
      if (stands[i])
        for (std::int32_t v : statements_[i].uses) used[static_cast<std::size_t>(v)] = true;
    }
    bool any = false;
    for (bool stand : stands) any = any || stand;
    std::string out = any ? "[](auto& s" : "[](auto&";
    for (std::size_t v = 0; v < parameters; ++v) out += used[v] ? ", auto " + names_[v] : ", auto";
    out += ") {\n";
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      statement const& made = statements_[i];
      if (!stands[i]) continue;
      out += "  ";
      char const* between = made.several ? "auto [" : "auto ";
      for (std::int32_t v : made.makes) {
        if (!is_used(made)) break;
        (out += between) += names_[static_cast<std::size_t>(v)];
        between = ", ";
      }
      if (is_used(made)) out += made.several ? "] = " : " = ";
      out += made.call + ";\n";
    }
    return out + "}";
  }

  trace const& steps_;
  schedule s_;
  sequence<std::string> names_;                     // of all variables
  sequence<std::int32_t> inputs_, stages_, loops_;  // which variable each is called by
  sequence<std::int32_t> reduced_;                  // by stage: how many reduced axes its handle has, gone ones too
  sequence<statement> statements_;
};

}  // namespace detail

WEFT_DECL std::string print_how(schedule const& s) { return detail::how_writer(s).run(); }

}  // namespace weft::inline WEFT_ABI
