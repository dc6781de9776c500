// How long it takes from a program to its loop program, all passes included, and to a schedule by rule, as programs grow: it must grow with them.
#include <time.h>

#include "harness.hpp"
#include "weft/compile.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/compute.hpp"

namespace bench {
namespace {

enum class placed { root, inlined, at_tile };
constexpr char const* names[] = {"root", "inlined", "compute_at"};
constexpr int lengths[] = {10, 30, 100, 300, 1000};

/// y = x * 2 + 1, so many times over.
weft::program chain(int stages) {
  weft::program p;
  weft::expr::tensor<float, 1> x{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 1)};
  for (int s = 0; s < stages; ++s) {
    auto const y = weft::compute<"S">(x.extent(0), [=](auto i) { return x(i) * 2.0f + 1.0f; });
    x = {&p, y.id};
  }
  p.outputs.push_back(x.id);
  return weft::canonical(p);
}
/// Each stage reads the one before it in a window.
weft::program windows(int stages) {
  weft::program p;
  weft::expr::tensor<float, 2> x{&p, p.add_input(weft::short_name("A"), weft::dtype::f32, 2)};
  for (int s = 0; s < stages; ++s) {
    auto const y = weft::compute<"S">(x.extent(0) - 2, x.extent(1) - 2, [=](auto i, auto j) {
      return weft::max(x(i, j), x(i + 1, j + 2)) + weft::min(x(i + 2, j), x(i + 1, j + 1));
    });
    x = {&p, y.id};
  }
  p.outputs.push_back(x.id);
  return weft::canonical(p);
}
/// The last stage runs in tiles of 64; all others stand in a nest of their own, in its elements, or in its tiles.
void place(void const* how, weft::schedule& s) {
  auto const where = *static_cast<placed const*>(how);
  auto const last = static_cast<std::int32_t>(s.order.size()) - 1;
  weft::step cut{weft::verb::split, 1, {s.order[static_cast<std::size_t>(last)][0]}, 64};
  s.take(cut);
  for (std::int32_t stage = last; stage-- > 0 && where != placed::root;) {
    weft::step one{where == placed::inlined ? weft::verb::compute_inline : weft::verb::compute_at};
    one.stage = stage;
    if (where == placed::at_tile) one.count = 1, one.loops[0] = s.at(cut.loops[0]).outer;
    s.take(one);
  }
}
/// Of this thread: others on the machine do not count.
double cpu_us() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}
struct figures {
  double steps_us = 0, loops_us = 0;
};
figures time_of(report& r, int stages, placed how) {
  weft::program const p = chain(stages);
  std::int64_t const n = 4096;
  weft::call_layout const layout{{{{n}, {1}, 4, 0}, {{n}, {1}, 4, 1}}};
  weft::compile_request const request{"chain", &p, place, &how, &layout, &weft::host()};
  std::vector<double> steps, loops;
  double const start = cpu_us();
  do {
    double const before = cpu_us();
    weft::schedule const s = weft::make_schedule(request);
    double const between = cpu_us();
    weft::ir::arena m;
    weft::ir::function const f = weft::make_loops(m, request, s);
    loops.push_back(cpu_us() - between);
    steps.push_back(between - before);
    if (f.body == nullptr || s.state == weft::verdict::illegal) r.wrong("no loop program");
  } while (loops.size() < 3 || (static_cast<int>(loops.size()) < r.wanted.rounds && cpu_us() - start < 5e5));
  return {median(steps), median(loops)};
}
/// Schedules by rule: what a stage costs must not grow with the number of stages.
void ruled(report& r) {
  double first = 0;
  for (int const stages : {30, 100, 300, 1000}) {
    weft::program const p = windows(stages);
    std::int64_t const n = 4096, left = n - 2 * stages;
    weft::call_layout const layout{{{{n, n}, {n, 1}, 4, 0}, {{left, left}, {left, 1}, 4, 1}}};
    weft::compile_request request{"windows", &p, nullptr, nullptr, &layout, &weft::host()};
    request.by_rule = true;
    std::vector<double> steps;
    double const start = cpu_us();
    do {
      double const before = cpu_us();
      weft::schedule const s = weft::make_schedule(request);
      steps.push_back(cpu_us() - before);
      if (s.state == weft::verdict::illegal) r.wrong("no schedule");
    } while (steps.size() < 3 || (static_cast<int>(steps.size()) < r.wanted.rounds && cpu_us() - start < 5e5));
    double const each = median(steps) / stages;
    if (first == 0) first = each;
    row line;
    line.variant = text("by rule, %d windows", stages);
    line.median = median(steps), line.unit = "us";
    line.note = text("%.2f us a stage, %.2f of that of 30", each, each / first);
    if (stages == 1000) demand_at_most(line, each / first, 2, " a stage");
    r.add(line);
  }
}
}  // namespace

void lowering(report& r) {
  for (placed const how : {placed::root, placed::inlined, placed::at_tile}) {
    double first = 0;
    for (int const stages : lengths) {
      figures const f = time_of(r, stages, how);
      double const each = f.loops_us / stages;
      if (stages == lengths[0]) first = each;
      row line;
      line.variant = text("%s, %d stages", names[static_cast<int>(how)], stages);
      line.median = f.loops_us, line.unit = "us";
      line.note = text("%.2f us a stage, %.2f of that of %d; its steps %.2f us a stage", each, each / first, lengths[0],
                       f.steps_us / stages);
      if (stages == 1000) demand_at_most(line, each / first, 2, " a stage");
      r.add(line);
    }
  }
  ruled(r);
}

}  // namespace bench
