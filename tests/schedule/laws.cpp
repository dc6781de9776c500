// Laws of the schedule language, each over the fuzzer's programs and traces, or over every small case. Sanitizers have a
// twentieth of the cases, which may be too few for one of them to meet what its law is about.
#include <algorithm>

#include "fuzz/run.hpp"
#include "lower/programs.hpp"
#include "weft/intrinsics.hpp"
#include "weft/ir/equal.hpp"
#include "weft/ir/parse.hpp"

namespace weft_test::fuzz {
namespace {

using weft::step, weft::trace, weft::verb;

/// A drawn program under a drawn schedule.
struct scheduled {
  drawn d;
  random_source r;
  weft::program expanded;
  weft::schedule fresh, s;

  explicit scheduled(std::uint64_t seed, bool plain = false)
      : d(program_maker(seed).make()), r(seed ^ 0x1a35), expanded(weft::expand(d.what, seed % 2 == 0)),
        fresh(expanded, extents_of(d)), s(fresh) {
    if (!plain) REQUIRE(weft::replay(s, draw_steps(r, fresh, d.order_free, {})));
  }
  scheduled(scheduled const&) = delete;

  bool attempt(step const& one) { return try_step(s, one, d.order_free, {}); }
  int stages() const { return static_cast<int>(s.order.size()); }
  weft::call_layout layout() const {
    weft::call_layout l;
    auto const add = [&](weft::sequence<std::int64_t> const& shape) {
      weft::argument_layout a{shape, weft::sequence<std::int64_t>(shape.size(), 1), 1,
                              static_cast<std::int32_t>(l.arguments.size())};
      for (std::size_t n = shape.size(); n > 1; --n) a.strides[n - 2] = a.strides[n - 1] * shape[n - 1];
      l.arguments.push_back(a);
    };
    for (weft::dense const& t : d.tensors) add(t.shape);
    for (std::int32_t t : d.what.outputs) {
      weft::sequence<std::int64_t> shape;
      for (int dim = 0; dim < weft::program::at(d.what.tensors, t).rank; ++dim)
        shape.push_back(weft::extent_value(d.what, d.what.extent_of(t, dim), extents_of(d)));
      add(shape);
    }
    return l;
  }
  /// The loop program as text, or why there is none.
  std::string loops_of(weft::schedule const& of) const {
    return without_exceptions([&] {
      weft::ir::arena m;
      return weft::ir::print(weft::lower(m, of.computation(), of, layout(), "k"));
    });
  }
};
/// Everything that a nest says, as texts.
std::string all_of(weft::nest const& n) {
  std::string out = weft::print_loops(n);
  for (weft::placement const& p : n.places)
    for (std::int32_t part : {std::int32_t(p.inlined), p.loop, p.store, p.ahead}) out += std::to_string(part) + " ";
  for (std::int32_t s : n.starts) out += std::to_string(s) + " ";
  for (weft::loop_info const& l : n.loops) out += std::string(l.name.view()) + "/" + std::to_string(l.fold) + " ";
  return out;
}
/// A step of `stage` alone.
step draw_own_step(random_source& r, weft::schedule const& s, int stage) {
  auto const& loops = s.order[static_cast<std::size_t>(stage)];
  step one{verb::set_scope};
  one.stage = stage;
  one.word = static_cast<std::uint8_t>(r.below(2));
  if (loops.empty() || r.chance(10)) return one;
  int const place = r.below(static_cast<int>(loops.size()));
  one = {r.one_of({verb::split, verb::split, verb::reorder, verb::fuse, verb::unroll, verb::vectorize, verb::parallel, verb::bind})};
  one.count = 1;
  one.loops[0] = loops[static_cast<std::size_t>(place)];
  if (one.what == verb::split) one.factor = r.one_of({1, 2, 3, 4, 7, 8, 16}), one.word = static_cast<std::uint8_t>(r.below(5));
  if (one.what == verb::reorder) one.count = 2, one.loops[1] = r.one_of(loops);
  if (one.what != verb::fuse) return one;
  if (place + 1 == static_cast<int>(loops.size())) return {verb::parallel, 1, {one.loops[0]}};
  one.count = 2, one.loops[1] = loops[static_cast<std::size_t>(place) + 1];
  return one;
}

// --- every small case ------------------------------------------------------------------------------------------

/// Counts, in place of each store to `b`, how often an element is stored.
struct counting : weft::ir::rewriter {
  weft::ir::buffer const* b;
  counting(weft::ir::arena& m, weft::ir::buffer const* of) : rewriter(m), b(of) {}
  weft::ir::stmt replace(weft::ir::stmt s) override {
    if (s->buf != b || s->kind != weft::ir::stmt_kind::store) return nullptr;
    weft::ir::stmt_node n = *s;
    n.kind = weft::ir::stmt_kind::accumulate;
    n.value = weft::ir::binary(m_, weft::op::add, weft::ir::self(m_, weft::dtype::i64, 1), weft::ir::index(m_, 1));
    n.identity = weft::ir::index(m_, 0);
    return m_.make(n);
  }
};
/// How often each element of a map over n x 3 elements is stored under `how`; empty: it was refused.
template <class How>
weft::sequence<std::int64_t> stores_under(std::int64_t n, How const& how) {
  weft::program p;
  weft::expr::tensor<std::int64_t, 2> const a{&p, p.add_input(weft::short_name("A"), weft::dtype::i64, 2)};
  auto const c = weft::compute<"C">(a.extent(0), a.extent(1), [=](auto i, auto j) { return a(i, j); });
  p.outputs.push_back(c.id);
  p = weft::canonical(p);
  weft::schedule s(p, [&](int, int d) { return d == 0 ? n : std::int64_t(3); });
  how(s);
  if (s.state == weft::verdict::illegal) return {};
  weft::call_layout const layout{{{{n, 3}, {3, 1}, 8, 0}, {{n, 3}, {3, 1}, 8, 1}}};
  weft::ir::arena m;
  weft::ir::function f = weft::lower(m, p, s, layout, "k");
  f.body = counting(m, f.buffers[1])(f.body);
  auto const elements = static_cast<std::size_t>(n * 3);
  weft::sequence<std::int64_t> in(elements, 7), count(elements, 0);
  std::string const fault = weft::interpret(f, {{in.data(), n * 3, true}, {count.data(), n * 3, true}}, {}, {});
  CHECK_MESSAGE(fault == "", fault << "\n" << weft::ir::print(f));
  return count;
}

TEST_CASE("law: a split of any extent by any factor with any tail stores each element, once but where the tail says twice") {
  int cases = 0, refused = 0;
  for (std::int64_t n = 1; n <= 13; ++n)
    for (std::int64_t factor = 1; factor <= 15; ++factor)
      for (int tail = 0; tail < 5; ++tail)
        for (int marks = 0; marks < 3; ++marks) {  // none; vectorized inside; and the parts split and fused again
          bool const shifts = tail == static_cast<int>(weft::tail::shift_inwards);
          auto const count = stores_under(n, [&](weft::schedule& s) {
            step cut{verb::split, 1, {s.order[0][0]}, factor};
            cut.word = static_cast<std::uint8_t>(tail);
            if (!s.take(cut)) return;
            std::int32_t const outer = s.at(cut.loops[0]).outer, inner = s.at(cut.loops[0]).inner;
            step again{verb::split, 1, {inner}, 2};
            if (marks == 2 && !s.take(again)) return;
            step mark{marks == 1 ? verb::vectorize : verb::fuse, 1, {inner}};
            if (marks == 2) mark.count = 3, mark.loops = {outer, s.at(inner).outer, s.at(inner).inner};
            if (marks > 0) s.take(mark);
          });
          ++cases;
          refused += count.empty();
          for (std::int64_t times : count)
            CHECK_MESSAGE((times == 1 || (shifts && times == 2)), "n " << n << ", factor " << factor << ", tail " << tail
                                                                        << ", marks " << marks << ": " << times);
        }
  CHECK(refused * 2 < cases);  // an output is not rounded up
}

// --- drawn programs ----------------------------------------------------------------------------------------------

TEST_CASE("law: loops brought into another order and back are what they were, in the nest and in the loop program") {
  int tried = 0;
  for_each_case("reorder and back", 150, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    std::string const before = all_of(c.s), loops = c.loops_of(c.s);
    for (int n = 0; n < 6; ++n) {
      weft::sequence<std::int32_t> const order = c.s.order[static_cast<std::size_t>(c.r.below(c.stages()))];
      if (order.size() < 2) continue;
      step there{verb::reorder, static_cast<std::int32_t>(order.size()), {}}, back = there;
      weft::sequence<std::int32_t> left = order;
      for (std::size_t i = 0; i < order.size(); ++i) {
        int const at = c.r.below(static_cast<int>(left.size()));
        there.loops[i] = left[static_cast<std::size_t>(at)];
        back.loops[i] = order[i];
        left.erase(left.begin() + at);
      }
      if (!c.attempt(there)) continue;
      if (!c.attempt(back)) return describe(c.d, c.s.steps) + "\nthe way back is refused";
      ++tried;
    }
    return all_of(c.s) == before && c.loops_of(c.s) == loops ? "" : describe(c.d, c.s.steps) + before;
  });
  CHECK((tried > 0 || is_sanitized));
}
TEST_CASE("law: a loop that is split and fused again, or copied by cache_read or cache_write, or inlined, changes no bit") {
  for_each_case("single steps", 25, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed, true);
    weft::schedule const start = c.fresh;
    weft::sequence<trace> all;
    auto const add = [&](std::initializer_list<step> steps) {
      c.s = start;
      for (step const& one : steps)
        if (!c.attempt(one)) return;
      all.push_back(c.s.steps);
    };
    for (int stage = 0; stage < c.stages(); ++stage) {
      step one{verb::compute_inline};
      one.stage = stage;
      add({one});
      one.what = verb::cache_write;
      add({one});
      for (int t = 0; t < static_cast<int>(c.expanded.tensors.size()); ++t) {
        step copy{verb::cache_read};
        copy.stage = stage, copy.tensor = t;
        add({copy});
      }
      for (std::int32_t loop : start.order[static_cast<std::size_t>(stage)]) {
        auto const made = static_cast<std::int32_t>(start.loops.size());
        add({{verb::split, 1, {loop}, c.r.one_of({1, 2, 3, 4, 7, 16})}, {verb::fuse, 2, {made, made + 1}}});
      }
    }
    for (trace const& steps : all)
      if (std::string const fault = check_interpreted(c.d, steps); !fault.empty() && !is_impossible(fault))
        return describe(c.d, steps) + fault;
    return "";
  });
}
TEST_CASE("law: what a stage is placed in is forgotten by compute_root") {
  int tried = 0;
  for_each_case("compute_at and compute_root", 150, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    std::string const before = all_of(c.s), loops = c.loops_of(c.s);
    for (int stage = 0; stage < c.stages(); ++stage) {
      if (!(c.s.places[static_cast<std::size_t>(stage)] == weft::placement())) continue;
      for (int host = 0; host < c.stages(); ++host) {
        weft::sequence<std::int32_t> const order = c.s.order[static_cast<std::size_t>(host)];  // attempts make the nest anew
        for (std::int32_t loop : order) {
          step at{verb::compute_at, 1, {loop}}, root{verb::compute_root}, store{verb::store_root};
          at.stage = root.stage = store.stage = stage;
          if (!c.attempt(at)) continue;
          if (c.r.chance(50)) c.attempt(store);
          if (!c.attempt(root)) return describe(c.d, c.s.steps) + "\ncompute_root is refused";
          ++tried;
        }
      }
    }
    return all_of(c.s) == before && c.loops_of(c.s) == loops ? "" : describe(c.d, c.s.steps) + before;
  });
  CHECK((tried > 0 || is_sanitized));
}
TEST_CASE("law: a trace read from its text, or replayed, is the same steps, hash, nest and loop program") {
  for_each_case("traces", 200, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    std::string const text = weft::print_trace(c.s);
    trace const read = weft::parse_trace(text, c.fresh, weft::shipped_intrinsics);
    weft::schedule again = c.fresh;
    bool const legal = weft::replay(again, read);
    bool const same = legal && read == c.s.steps && weft::hash(read) == weft::hash(c.s.steps) &&
                      weft::print_trace(again) == text && all_of(again) == all_of(c.s) &&
                      c.loops_of(again) == c.loops_of(c.s) && weft::print(weft::rewritten(c.expanded, read)) == weft::print(c.s.computation());
    return same ? "" : describe(c.d, c.s.steps) + text;
  });
}
TEST_CASE("law: a loop program read from its text is the same, as it was lowered and after each pass") {
  for_each_case("texts of loop programs", 60, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    std::string const wrong = without_exceptions([&]() -> std::string {
      struct {
        std::string fault;
        weft::sequence<weft::extern_function const*> functions;
      } known;
      for (weft::stage_info const& stage : c.s.computation().stages)
        if (stage.by != nullptr) known.functions.push_back(stage.by);
      auto const look = [](void* to, char const* pass, weft::ir::function const& f) {
        auto& of = *static_cast<decltype(known)*>(to);
        weft::ir::arena m;
        std::string const text = weft::ir::print(f);
        weft::ir::function const read =
            weft::ir::parse(m, text, weft::shipped_intrinsics, {of.functions.data(), static_cast<int>(of.functions.size())});
        if (!weft::ir::equal(read, f) || weft::ir::print(read) != text)
          of.fault = std::string(pass) + ":\n" + text + "read as\n" + weft::ir::print(read);
      };
      weft::ir::arena m;
      weft::ir::function f = weft::lower(m, c.s.computation(), c.s, c.layout(), "k");
      look(&known, "lowered", f);
      weft::run_passes(f, {16 << seed % 3, seed % 2 == 0}, {look, &known});
      return known.fault;
    });
    return is_impossible(wrong) ? "" : wrong;
  });
}
TEST_CASE("law: the program that steps have rewritten, evaluated as it is written, gives the bits of the one before") {
  int rewritten = 0;
  for_each_case("rewritten programs", 300, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    if (c.s.extended.empty()) return "";
    ++rewritten;
    weft::program const& p = c.s.computation();
    weft::evaluator before(c.expanded, c.d.tensors, c.d.scalars), after(p, c.d.tensors, c.d.scalars);
    REQUIRE(p.outputs.size() == c.expanded.outputs.size());
    for (std::size_t o = 0; o < p.outputs.size(); ++o) {
      weft::dense const was = before.result(c.expanded.outputs[o]), is = after.result(p.outputs[o]);
      tensor_memory m(c.r, is.type, is.shape, true, false);
      m.put(is);
      if (is.type != was.type || is.shape != was.shape) return describe(c.d, c.s.steps) + "an output has another shape";
      if (std::string const fault = m.difference(was); !fault.empty())
        return describe(c.d, c.s.steps) + "output " + std::to_string(o) + fault + "\n" + weft::print(p);
    }
    return "";
  });
  CHECK((rewritten > 0 || is_sanitized));
}
TEST_CASE("law: a step that is judged by the part of the nest that it touches is ruled as by a look at all of it") {
  int taken = 0, moved = 0, refused = 0;
  for_each_case("steps judged in part", 600, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    for (int tries = 0; tries < 12 && c.stages() > 1; ++tries) {
      int const stage = c.r.below(c.stages()), host = c.r.below(c.stages());
      step one = draw_own_step(c.r, c.s, stage);
      auto const& loops = c.s.order[static_cast<std::size_t>(host)];
      if (c.r.chance(60)) {
        one = step{c.r.one_of({verb::compute_at, verb::compute_at, verb::store_at, verb::store_root, verb::fold_storage, verb::compute_inline})};
        one.stage = stage;
        bool const by_loop = one.what == verb::compute_at || one.what == verb::store_at || one.what == verb::fold_storage;
        if (by_loop && loops.empty()) continue;
        if (by_loop) one.count = 1, one.loops[0] = c.r.one_of(loops);
        if (one.what == verb::fold_storage) one.stage = -1, one.factor = 4;
      }
      weft::ruling const whole = weft::schedule::check(c.s, one);
      weft::schedule after = c.s;
      after.take(one);
      bool const places = weft::moves_one_stage(c.s, one);
      if (one.ruling != whole.v || one.reason != whole.why)
        return describe(c.d, c.s.steps) + weft::detail::step_text(c.s, one) + ": in part " + std::string(weft::sentence(one.reason)) + ", in all " +
               std::string(weft::sentence(whole.why)) + "\n";
      refused += places && whole.v == weft::verdict::illegal;
      if (whole.v == weft::verdict::illegal) continue;
      if (weft::has_placements(after) && weft::placements_fit(after).v == weft::verdict::illegal)
        return describe(c.d, c.s.steps) + weft::detail::step_text(c.s, one) + ": taken, but its placements do not fit\n";
      moved += places, taken += weft::has_placements(c.s) && weft::keeps_placements(c.s, one);
      c.s = after;
    }
    return "";
  });
  CHECK((taken > 0 || is_sanitized));
  CHECK((moved > 0 || is_sanitized));
  CHECK((refused > 0 || is_sanitized));
}
TEST_CASE("law: which stages are computed in loops of which, and how many, is what their places say") {
  int placed = 0, beside = 0;
  for_each_case("guests by stage", 600, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    for (int tries = 0; tries < 6; ++tries) {  // they come back, too
      std::int32_t all = 0, besides = 0;
      bool scans = false, starts = false;
      weft::sequence<weft::sequence<std::int32_t>> guests(c.s.order.size());
      for (int s = 0; s < c.stages(); ++s) {
        weft::placement const& p = weft::program::at(c.s.places, s);
        scans = scans || weft::program::at(c.s.computation().stages, s).scanned >= 0;
        starts = starts || weft::program::at(c.s.starts, s) >= 0;
        if (p.loop >= 0) ++all, besides += p.beside, guests[static_cast<std::size_t>(c.s.at(p.loop).stage)].push_back(s);
      }
      placed += all, beside += besides;
      bool same = all == c.s.placed && besides == c.s.besides && (c.s.has_scans || !scans) && (c.s.has_starts || !starts);
      for (int s = 0; s < c.stages(); ++s) {
        weft::sequence<std::int32_t> known;
        if (c.s.has_guests(s)) known = weft::program::at(c.s.guests, s);
        std::sort(known.begin(), known.end());
        same = same && known == guests[static_cast<std::size_t>(s)];
      }
      if (!same) return describe(c.d, c.s.steps) + "its guests are others\n";
      step one{c.r.chance(50) ? verb::compute_root : verb::compute_inline};
      one.stage = c.r.below(c.stages());
      auto const& loops = c.s.order[static_cast<std::size_t>(c.r.below(c.stages()))];
      if (!loops.empty() && c.r.chance(50)) one = step{verb::compute_with, 1, {loops[0]}}, one.stage = c.r.below(c.stages());
      c.attempt(one);
    }
    return "";
  });
  CHECK((placed > 0 || is_sanitized));
  CHECK((beside > 0 || is_sanitized));
}
TEST_CASE("law: steps on different stages commute") {
  int both = 0;
  for_each_case("steps in either order", 400, [&](std::uint64_t seed) -> std::string {
    scheduled c(seed);
    if (c.stages() < 2) return "";
    int const x = c.r.below(c.stages()), y = c.r.below(c.stages());
    if (x == y) return "";
    step const a = draw_own_step(c.r, c.s, x), b = draw_own_step(c.r, c.s, y);
    auto const after = [&](step first, step second) {
      weft::schedule s = c.s;
      if (!s.take(first) || !s.take(second)) return std::string();
      return weft::print_loops(s) + c.loops_of(s);
    };
    std::string const one = after(a, b), other = after(b, a);
    both += !one.empty();
    return one == other ? "" : describe(c.d, c.s.steps) + "one order\n" + one + "the other\n" + other;
  });
  CHECK((both > 0 || is_sanitized));
}
}  // namespace
}  // namespace weft_test::fuzz
