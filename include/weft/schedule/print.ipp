#include "weft/base/joined.hpp"
#include "weft/expr/canonical.hpp"  // mix
#include "weft/expr/formula.hpp"
#include "weft/expr/text.hpp"
#include "weft/schedule/narrow.hpp"
#include "weft/schedule/print.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline bool is_loop(nest const& n, int id) { return id >= 0 && id < static_cast<int>(n.loops.size()); }
inline std::string stage_text(nest const& n, int stage) {
  return tensor_text(n.computation(), program::at(n.computation().stages, stage).tensor);
}
/// A loop's name within `stage`. A name that was cut may not be the only one of its kind, nor may that of one that is
/// gone.
inline std::string loop_text(nest const& n, int stage, int id) {
  bool unclear = !is_loop(n, id) || n.at(id).stage != stage || n.at(id).name.size == short_name::capacity;
  for (std::size_t l = 0; l < n.loops.size() && !unclear && n.at(id).gone; ++l)
    unclear = static_cast<int>(l) != id && n.loops[l].stage == stage && n.loops[l].name == n.at(id).name;
  if (unclear) return "@" + std::to_string(id);
  return std::string(n.at(id).name.view());
}
/// How often a loop runs: a number, or the program's expression for it.
inline std::string trips_text(nest const& n, int id) {
  loop_info const& l = n.at(id);
  // Of a stage that is computed inside a loop of another, the extents of the part that is read there.
  bool const part = program::at(n.places, l.stage).loop >= 0 && !l.reduced;
  bool const inner = l.parent >= 0 && n.at(l.parent).inner == id;
  if (l.extent >= 0 && (!part || inner)) return std::to_string(l.extent);
  program const& p = n.computation();
  if (l.first >= 0) {
    std::string all;
    for (int i = l.first; i >= 0; i = n.at(i).next) {
      std::string const of_part = trips_text(n, i);
      (all += all.empty() ? "" : "*") += of_part.find(' ') == std::string::npos ? of_part : joined({"(", of_part, ")"});
    }
    return all;
  }
  if (l.parent < 0) {
    std::string const all = l.extent >= 0 ? std::to_string(l.extent) : expression_text(p, program::at(p.axes, l.root).extent);
    return part ? joined({"part(", all, ")"}) : all;
  }
  std::string const whole = trips_text(n, l.parent);
  bool const simple = whole.find(' ') == std::string::npos;
  return joined({"ceil(", simple ? whole : joined({"(", whole, ")"}), "/", std::to_string(n.at(l.parent).factor), ")"});
}
/// An axis in terms of live loops: `(ioo*4 + ioi)*8 + ii`; of three that were fused, `ijk / 5 % 4` is the middle one.
inline std::string parts_text(nest const& n, int id) {
  loop_info const& l = n.at(id);
  if (l.live()) return loop_text(n, l.stage, id);
  if (l.into >= 0) {
    std::string text = parts_text(n, l.into);
    if (!n.at(l.into).live()) text = joined({"(", text, ")"});
    auto const by = [&](char const* operation, int part) {
      std::string const trips = trips_text(n, part);
      text += operation + (trips.find(' ') == std::string::npos ? trips : joined({"(", trips, ")"}));
    };
    sequence<std::int32_t> inside;
    for (int i = l.next; i >= 0; i = n.at(i).next) inside.push_back(i);
    for (std::size_t i = inside.size(); i-- > 0;) by(" / ", inside[i]);
    if (n.at(l.into).first != id) by(" % ", id);
    return text;
  }
  std::string outer = parts_text(n, l.outer);
  outer = joined({n.at(l.outer).live() ? outer : joined({"(", outer, ")"}), "*", std::to_string(l.factor)});
  bool const shifted = l.at_end == tail::shift_inwards && (l.extent < 0 || (l.extent > l.factor && l.extent % l.factor != 0));
  if (shifted) outer = joined({"min(", outer, ", ", trips_text(n, id), " - ", std::to_string(l.factor), ")"});
  return joined({outer, " + ", parts_text(n, l.inner)});
}

/// The stage that a step is about; -1 when there is none.
inline int stage_of(nest const& n, step const& s) {
  if (form_of(s.what).stage) return s.stage < static_cast<int>(n.order.size()) ? s.stage : -1;
  return is_loop(n, s.loops[0]) ? n.at(s.loops[0]).stage : -1;
}

/// `C[i, j] = 0 over ii, j`, the spatial loops from `first` inwards.
inline std::string identity_text(nest const& n, int stage, int first) {
  program const& p = n.computation();
  stage_info const& s = program::at(p.stages, stage);
  std::string out = elements_text(p, stage);
  for (int r = 0; r < s.results; ++r)
    (out += r == 0 ? " = " : ", ") += literal_text(program::at(p.tensors, s.tensor + r).type, p.result(s, r).identity);
  char const* between = " over ";
  bool inside = false;
  for (std::int32_t id : program::at(n.order, stage)) {
    inside = inside || id == first;
    if (!inside || n.at(id).reduced) continue;
    (out += between) += loop_text(n, stage, id);
    between = ", ";
  }
  return out;
}
/// The stages that are computed in a loop, each behind those of them that it, or what is computed in its loops, reads: as lowering has them.
inline sequence<std::int32_t> guests_in_order(nest const& n, int loop) {
  sequence<std::int32_t> all, ordered;
  for (std::size_t s = 0; s < n.places.size(); ++s)
    if (n.places[s].loop == loop) all.push_back(static_cast<std::int32_t>(s));
  if (all.size() < 2) return all;
  sequence<sequence<std::int32_t>> const readers = readers_of(n.computation());
  sequence<sequence<std::int32_t>> reads(n.places.size());  // by guest
  for (std::int32_t g : all) {
    sequence<std::int32_t> next = readers[static_cast<std::size_t>(g)];
    for (std::size_t i = 0; i < next.size(); ++i) {
      std::int32_t r = next[i];
      while (program::at(n.places, r).loop >= 0 && program::at(n.places, r).loop != loop) r = n.at(program::at(n.places, r).loop).stage;
      if (r != g && program::at(n.places, r).loop == loop) reads[static_cast<std::size_t>(r)].push_back(g);
      if (!program::at(n.places, r).inlined) continue;
      for (std::int32_t beyond : readers[static_cast<std::size_t>(r)]) {  // which read it in its place
        bool known = false;
        for (std::int32_t other : next) known = known || other == beyond;
        if (!known) next.push_back(beyond);
      }
    }
  }
  sequence<bool> waits(n.places.size(), true);
  auto const place = [&](auto const& self, std::int32_t g) -> void {
    if (!waits[static_cast<std::size_t>(g)]) return;
    waits[static_cast<std::size_t>(g)] = false;
    for (std::int32_t other : reads[static_cast<std::size_t>(g)]) self(self, other);
    ordered.push_back(g);
  };
  for (std::int32_t g : all) place(place, g);
  return ordered;
}
inline void stage_loops(nest const& n, int stage, std::string indent, std::string& out) {
  program const& p = n.computation();
  out += indent + stage_text(n, stage);
  placement const place = program::at(n.places, stage);
  bool const inlined = place.inlined;
  if (inlined) out += " inlined";
  if (place.beside) out += " with " + stage_text(n, n.at(place.loop).stage);
  else if (place.store == placement::whole_kernel) out += " stored for the whole kernel";
  if (place.store >= 0) out += " stored at " + loop_text(n, n.at(place.store).stage, place.store);
  if (place.ahead > 0)
    out += joined({" for ", loop_text(n, n.at(place.loop).stage, place.loop), " + ", std::to_string(place.ahead), place.async ? ", asynchronously" : ""});
  for (loop_info const& l : n.loops)
    if (l.stage == stage && l.fold > 0) (((out += ", ") += l.name.view()) += " folded to ") += std::to_string(l.fold);
  stage_info const& s = program::at(p.stages, stage);
  narrow_results const narrow = s.results > 1 && s.reduced > 0 ? narrow_results_of(n) : narrow_results();
  for (int r = 0; r < s.results && !narrow.lacks.empty(); ++r) {
    char const* joined_by = ", one ";
    for (int d = 0; d < s.spatial; ++d) {
      if ((program::at(narrow.lacks, s.tensor + r) >> d & 1) == 0) continue;
      if (*joined_by == ',') (((out += joined_by) += tensor_text(p, s.tensor + r)) += " for all "), joined_by = " and ";
      else out += joined_by;
      out += axis_name(d).view();
    }
  }
  if (n.wish(stage, memory_wish::past_caches) != nullptr) out += " stored past the caches";
  if (n.wish(stage, memory_wish::kept) != nullptr) out += " kept for later calls";
  if (n.wish(stage, memory_wish::swizzled) != nullptr) out += ", rows swizzled";
  char const* joins = ", specialized for ";
  for (special const& c : n.specials)
    for (std::size_t i = 0; c.stage == stage && i < c.conditions.size(); i += 3) {
      (((out += joins) += "extent(") += axis_name(static_cast<int>(c.conditions[i])).view()) += ")";
      if (c.conditions[i + 1] > 0) out += " % " + std::to_string(c.conditions[i + 1]);
      out += " == " + std::to_string(c.conditions[i + 2]);
      joins = i + 3 < c.conditions.size() ? " && " : " or ";
    }
  out += "\n";
  std::string const outside = indent += "  ";
  for (std::int32_t id : n.order[static_cast<std::size_t>(stage)]) {
    if (inlined || program::at(p.stages, stage).by != nullptr) break;
    loop_kind const kind = n.at(id).kind;
    if (program::at(n.starts, stage) == id) out += indent + identity_text(n, stage, id) + "\n";
    (out += indent) += kind == loop_kind::serial ? "for" : name(kind);
    out += joined({" ", loop_text(n, stage, id), " in 0..", trips_text(n, id)});
    if (n.at(id).by != nullptr) out += joined({" by ", n.at(id).by->name});
    if (std::int32_t const group = n.jam_of(id); group > 0) {
      char const* with = " as one with ";
      for (std::int32_t l : n.jams[static_cast<std::size_t>(group) - 1])
        if (l != id) out += joined({with, stage_text(n, n.at(l).stage), ".", loop_text(n, n.at(l).stage, l)}), with = ", ";
    }
    out += n.at(id).threads > 0 ? joined({" by at most ", std::to_string(n.at(id).threads), " threads\n"}) : joined({"\n"});
    indent += "  ";
    for (fetch_ahead const& f : n.fetches)
      if (f.loop == id && (f.of < 0 || n.is_around(f.of, id)))  // else it is left out
        out += joined({indent, "prefetch ", tensor_text(p, f.tensor), " for ", f.of < 0 ? loop_text(n, stage, id) : loop_text(n, n.at(f.of).stage, f.of), " + ",
                       std::to_string(f.distance),
                       f.into == cache_level::l1 ? "" : joined({" into ", name(f.into)}),
                       f.turns < 0 ? "" : joined({" in turns of ", loop_text(n, n.at(f.turns).stage, f.turns)}), "\n"});
    for (std::int32_t guest : guests_in_order(n, id)) stage_loops(n, guest, indent, out);
  }
  out += joined({indent, elements_text(p, stage), update_text(p, stage), "\n"});
  bool split = false;
  for (std::size_t id = 0; id < n.loops.size(); ++id) {
    loop_info const& l = n.loops[id];
    if (l.stage != stage || l.gone || l.parent >= 0 || l.first >= 0 || inlined) continue;
    short_name const axis = axis_name(l.root - program::at(p.stages, stage).first_axis);  // as the statement calls it
    if (l.live() && l.name == axis) continue;
    (((out += split ? ", " : outside + "where ") += axis.view()) += " = ") += parts_text(n, static_cast<int>(id));
    split = true;
  }
  if (split) out += "\n";
}

WEFT_DECL std::string step_text(nest const& n, step const& s) {
  step_form const& form = form_of(s.what);
  std::string out(form.name);
  char const* between = "(";
  auto const add = [&](std::string const& text) {
    (out += between) += text;
    between = ", ";
  };
  int const stage = is_loop(n, s.loops[0]) ? n.at(s.loops[0]).stage : -1;
  if (form.stage && s.count > 0 && stage >= 0) add(stage_text(n, stage));
  for (int i = 0; i < s.count; ++i) add(loop_text(n, stage, s.loops[static_cast<std::size_t>(i)]));
  if (form.tensor) add(s.tensor < 0 ? "@-1" : tensor_text(n.computation(), s.tensor));
  if (form.factor) add(std::to_string(s.factor));
  if (s.word < form.words.count && (s.word > 0 || form.shows_first_word())) add(std::string(form.words.first[s.word]));
  for (std::int64_t number : s.numbers) add(std::to_string(number));
  if (form.by) add(s.by == nullptr ? "?" : std::string(s.by->name));
  return out + (*between == '(' ? "()" : ")");
}
/// The loops that the step has made.
inline sequence<std::int32_t> made_by(nest const& n, step const& s) {
  sequence<std::int32_t> made;
  loop_info const& l = n.at(s.loops[0]);
  if (s.what == verb::split) made.push_back(l.outer), made.push_back(l.inner);
  if (s.what == verb::fuse) made.push_back(l.into);
  return made;
}
/// The whole line. `after`: what a step makes is known.
inline std::string step_line(nest const& n, step const& s, bool after) {
  int const stage = stage_of(n, s);
  std::string out = (stage >= 0 ? stage_text(n, stage) + ": " : "") + step_text(n, s);
  if (!after || s.count == 0) return out;
  char const* between = " -> ";
  for (std::int32_t l : made_by(n, s)) {
    out += between + loop_text(n, n.at(l).stage, l);
    between = ", ";
  }
  return out;
}

WEFT_DECL std::string nest_text(nest const& n, int stage, int marked) {
  std::string line, mark;
  for (std::int32_t id : n.order[static_cast<std::size_t>(stage)]) {
    if (!line.empty()) line += " > ";
    loop_info const& l = n.at(id);
    if (l.kind != loop_kind::serial) (line += name(l.kind)) += ' ';
    std::string const text = loop_text(n, stage, id);
    if (id == marked) (mark = std::string(line.size(), ' ')).append(text.size(), '^');
    line += joined({text, "(", trips_text(n, id), ")"});
  }
  return joined({"  nest  ", line, mark.empty() ? "" : "\n        " + mark});
}

// --- reading a trace ----------------------------------------------------------------------------------------
class trace_parser {
 public:
  trace_parser(std::string_view text, schedule const& fresh, known_intrinsics known)
      : r_(text, "trace"), s_(fresh), known_(known) { s_.loud = false; }
  trace run() {
    for (; !r_.at_end(); r_.end_line()) line();
    return static_cast<trace&&>(s_.steps);
  }

 private:
  void line() {
    if (s_.failed >= 0)
      r_.fail(joined({"the step before this one is illegal here: ", sentence(program::at(s_.steps, s_.failed).reason)}));
    int stage = -1;  // a step on no loop of the schedule has none
    if (!r_.accept("?")) stage = stage_number();
    r_.expect(":");
    step s;
    s.what = verb_of(r_.word("a step"));
    step_form const& form = form_of(s.what);
    char const* before = "(";
    auto const next = [&] {
      r_.expect(before);
      before = ",";
    };
    if (form.stage) s.stage = stage;
    if (form.least_loops > 0) next(), first_loop(s, stage);
    while (form.most_loops > 1 && !(form.tensor && s.count == form.most_loops) && r_.accept(",")) {
      if (s.count == form.most_loops) r_.fail(joined({"a ", form.name, " takes at most 16 axes"}));
      s.loops[static_cast<std::size_t>(s.count++)] = loop(stage);
    }
    if (s.count < form.least_loops) r_.fail(joined({"this step takes at least ", std::to_string(form.least_loops),
                                                    " axes"}));
    if (form.tensor) next(), s.tensor = r_.accept("@-1") ? -1 : tensor_number();
    if (form.factor) next(), s.factor = r_.number();
    if (form.words.count > 0 && !form.shows_first_word() && *before == ',' && r_.accept(",")) s.word = word_of(form.words);
    if (form.words.count > 0 && form.shows_first_word()) next(), s.word = word_of(form.words);
    bool const closed = form.numbers && *before == '(' && r_.accept("()");
    while (form.numbers && !closed && r_.accept(before)) before = ",", s.numbers.push_back(r_.number());
    if (form.by) next(), s.by = intrinsic_of(r_.word("an intrinsic"));
    if (*before == '(' && !closed) r_.expect(before);
    if (!closed) r_.expect(")");
    if (!s_.take(s)) return skip_what_it_makes();  // the rule's words are those to be heard
    if (s.count == 0) return;
    sequence<std::int32_t> const made = made_by(s_, s);
    if (made.empty() || !r_.accept("->")) return;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i > 0) r_.expect(",");
      if (loop(stage) != made[i]) r_.fail(joined({"the ", name(s.what), " gives its parts other names"}));
    }
  }
  void skip_what_it_makes() {
    if (!r_.accept("->")) return;
    do loop_name();
    while (r_.accept(","));
  }
  void loop_name() { r_.accept("@") ? void(r_.number_below(1u << 30, "loop")) : void(r_.word("an axis")); }
  /// Of another stage than `stage`, where the step names that; `stage` is then the loop's.
  void first_loop(step& s, int& stage) {
    s.count = 1;
    if (form_of(s.what).stage) {
      if (r_.accept("@-1")) return void(s.loops[0] = -1);
      stage = stage_number();
      r_.expect(",");
    }
    s.loops[0] = loop(stage);
  }
  int tensor_number(char const* what = "tensor") {
    program const& p = s_.computation();
    if (r_.accept("@")) return r_.number_below(p.tensors.size(), what);
    short_name const wanted = r_.name();
    for (std::size_t t = 0; t < p.tensors.size(); ++t)
      if (p.tensors[t].name == wanted) return static_cast<int>(t);
    r_.fail(joined({"there is no such ", what}));
  }
  int stage_number() {
    program const& p = s_.computation();
    int const tensor = tensor_number("stage");
    for (std::size_t i = 0; i < p.stages.size(); ++i)
      if (p.stages[i].tensor == tensor) return static_cast<int>(i);
    r_.fail("there is no such stage");
  }
  std::uint8_t word_of(word_list known) {
    std::string_view const wanted = r_.word("a word");
    for (int i = 0; i < known.count; ++i)
      if (known.first[i] == wanted) return static_cast<std::uint8_t>(i);
    r_.fail("this step does not know the word");
  }
  intrinsic const* intrinsic_of(std::string_view wanted) {
    intrinsic const* const found = known_.find(wanted);
    if (found == nullptr) r_.fail("none of the intrinsics that parse_trace was given has this name");
    return found;
  }
  verb verb_of(std::string_view wanted) {
    for (int v = 0; v < verb_count; ++v)
      if (name(static_cast<verb>(v)) == wanted) return static_cast<verb>(v);
    r_.fail("there is no such step");
  }
  std::int32_t loop(int stage) {
    if (r_.accept("@")) {
      if (r_.accept("-1")) return -1;
      return r_.number_below(1u << 30, "loop");
    }
    short_name const wanted(r_.word("an axis"));
    std::int32_t gone = -1;
    for (std::size_t i = 0; i < s_.loops.size(); ++i) {
      if (s_.loops[i].stage != stage || !(s_.loops[i].name == wanted)) continue;
      if (!s_.loops[i].gone) return static_cast<std::int32_t>(i);
      gone = static_cast<std::int32_t>(i);
    }
    if (gone < 0) r_.fail("the stage has no such axis here");
    return gone;
  }

  text_reader r_;
  schedule s_;
  known_intrinsics known_;
};

// --- the story of an illegal step ---------------------------------------------------------------------------
/// Which of the step's axes the rule stumbled over.
inline int offending_loop(nest const& n, step const& s) {
  if (form_of(s.what).stage) return s.count > 0 ? s.loops[0] : -1;
  for (int i = 0; i < s.count; ++i) {
    int const id = s.loops[static_cast<std::size_t>(i)];
    if (n.usable(id).v != verdict::legal || n.at(id).stage != n.at(s.loops[0]).stage) return id;
    for (int k = 0; k < i; ++k)
      if (s.loops[static_cast<std::size_t>(k)] == id) return id;
    if (s.what == verb::fuse && (n.at(id).reduced != n.at(s.loops[0]).reduced || n.at(id).kind != loop_kind::serial))
      return id;
  }
  if (s.what == verb::fuse)
    for (int i = 1; i < s.count; ++i)
      if (n.position(s.loops[static_cast<std::size_t>(i)]) != n.position(s.loops[0]) + i)
        return s.loops[static_cast<std::size_t>(i)];
  // What the marks of other loops forbid is shown at the loop that would stand wrong.
  if (s.what == verb::reorder)
    for (int i = s.count; i-- > 0;)
      if (n.at(s.loops[static_cast<std::size_t>(i)]).kind != loop_kind::serial)
        return s.loops[static_cast<std::size_t>(i)];
  return s.loops[0];
}
/// Live loops of a stage, after `one of`: below: only parts of loop `below` (-1: all); else also by what they are.
struct loop_choice {
  int below = -1;
  bool spatial = false, serial = false;
  int outside = -1;  // only loops outside of this one
};
inline bool is_part(nest const& n, int id, int of) {
  while (id >= 0 && id != of) id = n.at(id).parent;
  return id == of;
}
inline std::string loops_text(nest const& n, int stage, loop_choice c) {
  std::string out;
  for (std::int32_t id : n.order[static_cast<std::size_t>(stage)]) {
    if (id == c.outside) break;
    loop_info const& l = n.at(id);
    if ((c.spatial && l.reduced) || (c.serial && l.kind != loop_kind::serial)) continue;
    if (c.below >= 0 && !is_part(n, id, c.below)) continue;
    out += (out.empty() ? "" : ", ") + loop_text(n, stage, id);
  }
  return out;
}
inline std::string one_of(std::string const& loops, char const* otherwise) {
  if (loops.empty()) return otherwise;
  return loops.find(',') == std::string::npos ? loops : "one of " + loops;
}
inline std::string stages_text(program const& p) {
  std::string out = p.stages.size() > 1 ? "one of " : "";
  for (std::size_t i = 0; i < p.stages.size(); ++i)
    out += joined({i > 0 ? ", stage<\"" : "stage<\"", program::at(p.tensors, p.stages[i].tensor).name.view(),
                   "\", ", std::to_string(p.stages[i].axes()), ">"});
  return out;
}
inline step with_factor(step s, std::int64_t factor) {
  s.factor = factor;
  return s;
}
inline std::string way_out(nest const& n, step const& s, diagnosis why, int stage, int loop) {
  auto const choice = [&](loop_choice c) { return loops_text(n, stage, c); };
  auto const text = [&](int id) { return loop_text(n, stage, id); };
  if (std::string_view const way = static_way_out(why); !way.empty()) return std::string(way);
  switch (why) {
    case diagnosis::the_axis_was_split_already: return one_of(choice({loop}), "the parts of it");
    case diagnosis::the_axis_is_gone__use_those_of_the_handle_that_its_step_returned:
      return one_of(choice({}), "an axis of the stage") + ", or an axis of the handle";
    case diagnosis::the_axis_belongs_to_no_stage_of_this_schedule:
      return stage < 0 ? "an axis of a stage of this schedule, as C.axes() returns them" : one_of(choice({}), "");
    case diagnosis::a_factor_must_be_at_least_1: return step_text(n, with_factor(s, 8)) + ", or any other factor from 1 on";
    case diagnosis::an_axis_is_named_twice: return "naming each axis once: " + choice({});
    case diagnosis::the_axes_belong_to_different_stages:
      return joined({"one ", name(s.what), " per stage; of this one: ", choice({})});
    case diagnosis::the_axis_was_fused_already: return text(n.at(loop).into);
    case diagnosis::the_axes_do_not_stand_directly_inside_each_other__reorder_first: {
      std::string named, before, behind;
      bool passed = false;
      for (int i = 0; i < s.count; ++i) named += (i > 0 ? ", " : "") + text(s.loops[static_cast<std::size_t>(i)]);
      for (std::int32_t id : n.order[static_cast<std::size_t>(stage)]) {
        bool is_named = false;
        for (int i = 0; i < s.count; ++i) is_named = is_named || s.loops[static_cast<std::size_t>(i)] == id;
        passed = passed || is_named;
        if (!is_named) passed ? behind += ", " + text(id) : before += text(id) + ", ";
      }
      return joined({"reorder(", before, named, behind, ") before it"});
    }
    case diagnosis::the_axis_is_unrolled_vectorized_or_parallel_already:
      return joined({name(s.what), " of ", text(loop), " before it is marked, or ",
                     one_of(choice({-1, false, true}), "no more of it")});
    case diagnosis::only_a_reduced_axis_has_terms_to_share_out: {
      std::string reduced;
      for (std::int32_t id : n.order[static_cast<std::size_t>(stage)])
        if (n.at(id).reduced) reduced += (reduced.empty() ? "" : ", ") + text(id);
      return one_of(reduced, "a stage that reduces");
    }
    case diagnosis::a_reduction_axis_cannot_run_in_parallel__use_rfactor:
    case diagnosis::a_reduction_axis_cannot_be_vectorized__use_rfactor:
      return one_of(choice({-1, true, true}), "a spatial axis: split one that is marked before it is marked");
    case diagnosis::an_inner_part_of_this_axis_runs_inside_it__vectorize_that_part: {
      std::int32_t inner = -1;
      for (std::int32_t id : n.order[static_cast<std::size_t>(stage)])
        if (n.at(id).root == n.at(loop).root) inner = id;
      return inner == loop ? joined({"an order in which ", text(loop), " stands inside the other parts of its axis"})
                           : joined({"vectorize(", text(inner), ")"});
    }
    case diagnosis::an_unrolled_axis_runs_more_than_1024_times__split_it_first:
    case diagnosis::a_vectorized_axis_has_more_than_1024_lanes__split_it_first:
    case diagnosis::an_unrolled_axis_has_an_open_extent__split_it_first:
    case diagnosis::a_vectorized_axis_has_an_open_extent__split_it_first:
      return joined({"split(", text(loop), ", 8), then ", name(s.what), " of its inner part"});
    case diagnosis::the_stage_is_none_of_this_schedule: return stages_text(n.computation());
    case diagnosis::a_stage_cannot_be_computed_inside_an_unrolled_or_vectorized_axis:
      return "an axis outside of those that are marked: " + one_of(loops_text(n, stage, {-1, false, true}), "split one first");
    case diagnosis::no_stage_has_this_name_and_so_many_axes:
    case diagnosis::several_stages_have_this_name__give_each_its_own: return stages_text(n.computation());
    default: break;
  }
  return "another step";
}
}  // namespace detail

WEFT_DECL std::string print_loops(nest const& n) {
  std::string out;
  for (std::size_t s = 0; s < n.order.size(); ++s)
    if (n.places[s].loop < 0) detail::stage_loops(n, static_cast<int>(s), "", out);
  return out;
}
WEFT_DECL std::string print_trace(schedule const& s) {
  std::string out;
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    out += detail::stage_of(s, s.steps[i]) >= 0 ? "" : "?: ";
    out += detail::step_line(s, s.steps[i], static_cast<int>(i) != s.failed) + "\n";
  }
  return out;
}
WEFT_DECL trace parse_trace(std::string_view text, schedule const& fresh, known_intrinsics known) {
  return detail::trace_parser(text, fresh, known).run();
}
WEFT_DECL bool replay(schedule& s, trace const& steps) {
  for (step one : steps) {
    if (static_cast<int>(one.what) >= verb_count || one.count > step::max_axes) return false;
    if (one.count < form_of(one.what).least_loops) return false;
    if (one.word > 0 && one.word >= form_of(one.what).words.count) return false;
    if (form_of(one.what).by != (one.by != nullptr)) return false;
    if (!s.take(one)) return false;
  }
  return s.failed < 0;
}
WEFT_DECL std::uint64_t hash(trace const& steps) {
  std::uint64_t h = steps.size();
  for (step const& s : steps) {
    h = mix(h, static_cast<std::uint64_t>(s.what) << 32 | static_cast<std::uint32_t>(s.count));
    h = mix(h, static_cast<std::uint64_t>(s.factor));
    if (s.word > 0) h = mix(h, s.word);
    h = mix(h, static_cast<std::uint64_t>(s.stage) << 32 | static_cast<std::uint32_t>(s.tensor));
    for (int i = 0; i < s.count; ++i) h = mix(h, static_cast<std::uint32_t>(s.loops[static_cast<std::size_t>(i)]));
    for (std::int64_t number : s.numbers) h = mix(h, static_cast<std::uint64_t>(number));
    for (std::size_t i = 0; s.by != nullptr && i < s.by->name.size(); ++i) h = mix(h, static_cast<unsigned char>(s.by->name[i]));
  }
  return h;
}

WEFT_DECL std::string explain(schedule const& s, std::string_view kernel_name) {
  if (s.state != verdict::illegal) return "";
  if (s.fault != diagnosis::none) {  // no step, but a knob or the name of a stage
    bool const knob = s.fault == diagnosis::a_knob_needs_at_least_one_value ||
                      s.fault == diagnosis::a_schedule_has_at_most_32_knobs;
    bool const named = s.fault == diagnosis::two_knobs_have_this_name__give_each_its_own || s.fault == diagnosis::the_name_of_a_knob_has_at_most_30_characters;
    bool const threw = s.fault == diagnosis::the_how_lambda_threw_for_these_values_of_its_knobs;
    std::string out = threw ? std::string() : named ? joined({"knob \"", s.asked.view(), "\": "}) : knob ? std::string("knob: ") : joined({"stage<\"", s.asked.view(), "\">: "});
    ((out += sentence(s.fault)) += "\n  in    schedule of ") += kernel_name;
    return joined({out, "\n  try   ", detail::way_out(s, {}, s.fault, -1, -1)});
  }
  step const& bad = s.steps[static_cast<std::size_t>(s.failed)];
  std::string out(name(bad.what));
  ((out += ": ") += sentence(bad.reason)) += "\n  in    schedule of ";
  (out += kernel_name) += joined({", step ", std::to_string(s.failed + 1), ": ", detail::step_line(s, bad, false),
                                  "\n"});
  int const loop = detail::offending_loop(s, bad);
  int stage = loop >= 0 && detail::is_loop(s, loop) ? s.at(loop).stage : detail::stage_of(s, bad);
  if (stage < 0 && s.order.size() == 1) stage = 0;
  if (stage >= 0) out += detail::nest_text(s, stage, loop) + "\n";
  return joined({out, "  try   ", detail::way_out(s, bad, bad.reason, stage, loop)});
}

}  // namespace weft::inline WEFT_ABI
