// Halide: loops scheduled by hand, and image pipelines by hand, as its own apps have them, and by its autoschedulers at their
// default settings. Versions 14 (Debian) to 21 (PyPI).
#include <Halide.h>

#include <algorithm>
#include <cstdio>

#include "../problem.hpp"

#ifndef HALIDE_VERSION_MAJOR  // Debian's
#define HALIDE_VERSION_MAJOR 14
#endif

namespace bench::peers {
namespace {
using namespace Halide;

Buffer<float> image(problem const& p, int i, std::int64_t width, std::int64_t height) {
  return Buffer<float>(const_cast<float*>(p.f32(i)), static_cast<int>(width), static_cast<int>(height));
}
Buffer<float> line(problem const& p, int i, std::int64_t length) {
  return Buffer<float>(const_cast<float*>(p.f32(i)), static_cast<int>(length));
}
/// Halide 14 takes a Zen 4 for a Sapphire Rapids and gives it AVX-VNNI, which it does not have.
Target machine() {
  Target const host = get_host_target();
  return __builtin_cpu_supports("avxvnni") ? host : host.without_feature(Target::AVX512_SapphireRapids);
}
int lanes() { return machine().natural_vector_size<float>(); }

/// All pieces of a parallel loop by the caller: one thread.
int one_after_the_other(JITUserContext* context, int (*piece)(JITUserContext*, int, std::uint8_t*), int first, int count,
                        std::uint8_t* closure) {
  for (int i = first; i < first + count; ++i)
    if (int const failed = piece(context, i, closure)) return failed;
  return 0;
}
void add(problem const& p, std::vector<way>& ways, char const* name, Pipeline pipeline, Buffer<float> out) {
  if (p.threads == 1) pipeline.jit_handlers().custom_do_par_for = one_after_the_other;
  pipeline.compile_jit(machine());
  pipeline.realize(out, machine());  // what fails, fails here
  ways.push_back({name, [pipeline, out, target = machine()]() mutable { pipeline.realize(out, target); }});
}

void matmul(problem const& p, std::vector<way>& ways) {
  if (p.batch != 1 || p.transpose_a || p.transpose_b || p.m % 64 != 0 || p.n % 64 != 0 || p.m < 256 || p.m > 2048) return;
  Buffer<float> const a = image(p, 0, p.k, p.m), b = image(p, 1, p.n, p.k);
  Var x("x"), y("y"), i("i"), k("k"), xo("xo"), yo("yo"), xi("xi"), yi("yi"), xii("xii"), yii("yii");
  RDom r(0, static_cast<int>(p.k));
  Func panels("panels"), product("product"), c("c");
  panels(i, k, xo) = b(xo * 32 + i, k);
  product(x, y) += a(r, y) * panels(x % 32, r, x / 32);
  c(x, y) = product(x, y);
  c.bound(x, 0, static_cast<int>(p.n)).bound(y, 0, static_cast<int>(p.m));
  int const wide = static_cast<int>(std::min<std::int64_t>(p.n, 512));
  c.tile(x, y, xo, yo, xi, yi, wide, 64).tile(xi, yi, xii, yii, 32, 8).vectorize(xii, lanes()).unroll(xii).unroll(yii);
  if (p.threads > 1) c.parallel(yo);
  product.compute_at(c, xi).bound_extent(x, 32).bound_extent(y, 8).vectorize(x, lanes()).unroll(x).unroll(y);
  product.update().reorder(x, y, r).vectorize(x, lanes()).unroll(x).unroll(y);
  panels.compute_root().vectorize(i, lanes());
  if (p.threads > 1) panels.parallel(xo);
  Buffer<float> out(p.result(), static_cast<int>(p.n), static_cast<int>(p.m));
  add(p, ways, "Halide", c, out);
}

/// One pass over a line, in chunks for threads.
void streams(problem const& p, std::vector<way>& ways) {
  Var x("x"), xo("xo");
  Func f("f");
  Buffer<float> const a = line(p, 0, p.m);
  Buffer<float> out(p.result(), static_cast<int>(p.m));
  switch (p.what) {
    case task::add: f(x) = a(x) + line(p, 1, p.m)(x); break;
    case task::scale: f(x) = 1.5f * a(x); break;
    case task::saxpy: f(x) = 0.5f * a(x) + out(x); break;
    case task::copy: f(x) = a(x); break;
    default: f(x) = exp(a(x));
  }
  f.split(x, xo, x, 1 << 14, TailStrategy::GuardWithIf).vectorize(x, lanes());
  if (p.threads > 1) f.parallel(xo);
  add(p, ways, "Halide", f, out);
}
void sum(problem const& p, std::vector<way>& ways) {
  int const chunk = 1 << 14, each = 4 * lanes();
  if (p.m % chunk != 0) return;
  Var i("i"), u("u");
  RDom r(0, chunk / each), all(0, static_cast<int>(p.m) / chunk), within(0, each);
  Buffer<float> const a = line(p, 0, p.m);
  Func parts("parts"), rows("rows"), f("f");
  parts(u, i) += a(i * chunk + r * each + u);
  rows(i) += parts(within, i);
  f() += rows(all);
  rows.compute_root();
  parts.compute_at(rows, i).vectorize(u, lanes()).unroll(u);
  parts.update().reorder(u, r).vectorize(u, lanes()).unroll(u);
  if (p.threads > 1) rows.parallel(i), rows.update().parallel(i);
  parts.compute_at(rows, i);
  Buffer<float> out = Buffer<float>::make_scalar(p.result());
  add(p, ways, "Halide", f, out);
}
void blur(problem const& p, std::vector<way>& ways) {
  Buffer<float> const in = image(p, 0, p.n + 2, p.m + 2);
  Var x("x"), y("y"), yo("yo"), yi("yi");
  Func across("across"), f("f");
  across(x, y) = in(x, y) + in(x + 1, y) + in(x + 2, y);
  f(x, y) = (across(x, y) + across(x, y + 1) + across(x, y + 2)) * (1.f / 9);
  f.split(y, yo, yi, 32).vectorize(x, lanes());
  if (p.threads > 1) f.parallel(yo);
  across.store_at(f, yo).compute_at(f, yi).vectorize(x, lanes());
  Buffer<float> out(p.result(), static_cast<int>(p.n), static_cast<int>(p.m));
  add(p, ways, "Halide", f, out);
}
void transposed(problem const& p, std::vector<way>& ways) {
  Buffer<float> const in = image(p, 0, p.n, p.m);
  Var x("x"), y("y"), xi("xi"), yi("yi"), xo("xo"), yo("yo");
  Func block("block"), f("f");
  block(x, y) = in(x, y);
  f(x, y) = block(y, x);
  // Halide's way: rows of a tile are read as vectors, columns of it written as such.
  f.tile(x, y, xo, yo, xi, yi, 16, 16).vectorize(xi).unroll(yi);
  block.compute_at(f, xo).vectorize(x).unroll(y);
  if (p.threads > 1) f.parallel(yo);
  Buffer<float> out(p.result(), static_cast<int>(p.m), static_cast<int>(p.n));
  add(p, ways, "Halide", f, out);
}
void softmax(problem const& p, std::vector<way>& ways) {
  Buffer<float> const in = image(p, 0, p.n, p.m);
  int const v = lanes();
  Var x("x"), y("y"), u("u"), yo("yo");
  RDom r(0, static_cast<int>(p.n) / v), w(0, v);
  Func top("top"), tops("tops"), e("e"), total("total"), totals("totals"), f("f");
  tops(u, y) = Float(32).min();
  tops(u, y) = max(tops(u, y), in(r * v + u, y));
  top(y) = Float(32).min();
  top(y) = max(top(y), tops(w, y));
  e(x, y) = fast_exp(in(x, y) - top(y));
  totals(u, y) += e(r * v + u, y);
  total(y) += totals(w, y);
  f(x, y) = e(x, y) / total(y);
  f.vectorize(x, v).split(y, yo, y, 32);
  if (p.threads > 1) f.parallel(yo);
  e.compute_at(f, y).vectorize(x, v);
  for (Func one : {tops, totals}) one.compute_at(f, y).vectorize(u), one.update().reorder(u, r).vectorize(u);
  top.compute_at(f, y), total.compute_at(f, y);
  Buffer<float> out(p.result(), static_cast<int>(p.n), static_cast<int>(p.m));
  add(p, ways, "Halide, fast_exp", f, out);
}

/// A result, and the stages that a schedule by hand keeps, from the first to the last.
struct stages {
  Func result;
  std::vector<Func> inner;
};

// --- image pipelines: the stages of ../pipelines.cpp, x before y ---------------------------------------------------------
stages harris(Func const& in) {
  Var x("x"), y("y");
  Func Iy("Iy"), Ix("Ix"), Ixx("Ixx"), Iyy("Iyy"), Ixy("Ixy"), f("harris");
  Iy(x, y) = (in(x, y + 2) - in(x, y)) / 12.f + (in(x + 1, y + 2) - in(x + 1, y)) / 6.f + (in(x + 2, y + 2) - in(x + 2, y)) / 12.f;
  Ix(x, y) = (in(x + 2, y) - in(x, y)) / 12.f + (in(x + 2, y + 1) - in(x, y + 1)) / 6.f + (in(x + 2, y + 2) - in(x, y + 2)) / 12.f;
  Ixx(x, y) = Ix(x, y) * Ix(x, y);
  Iyy(x, y) = Iy(x, y) * Iy(x, y);
  Ixy(x, y) = Ix(x, y) * Iy(x, y);
  auto const sum3x3 = [&](char const* name, Func g) {
    Func s(name);
    Expr all = 0.f;
    for (int v = 0; v < 3; ++v)
      for (int u = 0; u < 3; ++u) all = all + g(x + u, y + v);
    s(x, y) = all;
    return s;
  };
  Func const Sxx = sum3x3("Sxx", Ixx), Syy = sum3x3("Syy", Iyy), Sxy = sum3x3("Sxy", Ixy);
  Expr const trace = Sxx(x, y) + Syy(x, y);
  f(x, y) = Sxx(x, y) * Syy(x, y) - Sxy(x, y) * Sxy(x, y) - 0.04f * trace * trace;
  return {f, {Iy, Ix}};
}
stages unsharp(Func const& in) {
  Var x("x"), y("y");
  Func blur_y("blur_y"), blur_x("blur_x"), sharp("sharp"), ratio("ratio"), f("unsharp");
  auto const seven = [](auto at) {
    return 0.2708f * at(3) + 0.2167f * (at(2) + at(4)) + 0.1113f * (at(1) + at(5)) + 0.0366f * (at(0) + at(6));
  };
  blur_y(x, y) = seven([&](int d) -> Expr { return in(x, y + d); });
  blur_x(x, y) = seven([&](int d) -> Expr { return blur_y(x + d, y); });
  sharp(x, y) = 2.f * in(x + 3, y + 3) - blur_x(x, y);
  ratio(x, y) = sharp(x, y) / in(x + 3, y + 3);
  f(x, y) = ratio(x, y) * in(x + 3, y + 3);
  return {f, {blur_y}};
}
/// Half the size, twice the size, the tone at a level, and between two levels.
Expr within(Expr const& i, int n) { return clamp(i, 0, n - 1); }
template <class At>
Expr down(At const& at) {
  return (at(-1) + 3.f * (at(0) + at(1)) + at(2)) * 0.125f;
}
template <class Coarse>
Expr up(Expr const& x, Expr const& y, Coarse const& g) {  // g(x, y) of the coarse image
  auto const along_x = [&](Expr const& row) { return 0.25f * g(x / 2 - 1 + 2 * (x % 2), row) + 0.75f * g(x / 2, row); };
  return 0.25f * along_x(y / 2 - 1 + 2 * (y % 2)) + 0.75f * along_x(y / 2);
}
Expr tone(Expr const& value, Expr const& k, int count) {
  auto const steps = static_cast<float>(count - 1);
  Expr const level = cast<float>(k) / steps, d = (value - level) * steps;
  return 0.75f * (value - level) + level + 0.5f * d * exp(-0.5f * d * d) * 0.25f;
}
Expr picked(Expr const& brightness, Func const& pyramid, Expr const& x, Expr const& y, int count) {
  Expr const at = brightness * static_cast<float>(count - 1), i = clamp(cast<int>(at), 0, count - 2), t = at - cast<float>(i);
  return (1.f - t) * pyramid(x, y, i) + t * pyramid(x, y, i + 1);
}
stages local_laplacian(Func const& in, int w, int h) {
  Var x("x"), y("y"), k("k");
  int const w1 = (w + 1) / 2, h1 = (h + 1) / 2, levels = 4;
  Func g0("g0"), g1x("g1x"), g1("g1"), l0("l0"), in1x("in1x"), in1("in1"), out_l0("out_l0"), out_g1("out_g1"), f("local_laplacian");
  g0(x, y, k) = tone(in(x, y), k, levels);
  g1x(x, y, k) = down([&](int i) -> Expr { return g0(within(2 * x + i, w), y, k); });
  g1(x, y, k) = down([&](int i) -> Expr { return g1x(x, within(2 * y + i, h), k); });
  l0(x, y, k) = g0(x, y, k) - up(x, y, [&](Expr const& u, Expr const& v) -> Expr { return g1(within(u, w1), within(v, h1), k); });
  in1x(x, y) = down([&](int i) -> Expr { return in(within(2 * x + i, w), y); });
  in1(x, y) = down([&](int i) -> Expr { return in1x(x, within(2 * y + i, h)); });
  out_l0(x, y) = picked(in(x, y), l0, x, y, levels);
  out_g1(x, y) = picked(in1(x, y), g1, x, y, levels);
  f(x, y) = up(x, y, [&](Expr const& u, Expr const& v) -> Expr { return out_g1(within(u, w1), within(v, h1)); }) + out_l0(x, y);
  return {f, {g1, in1, out_g1}};
}
stages laplacian_pyramid(Func const& input, int w, int h, int images) {
  Var x("x"), y("y"), k("k");
  int const tones = 8;
  std::vector<int> width{w}, height{h};
  std::vector<Func> g{Func("g")}, in{input}, kept;
  g[0](x, y, k) = tone(input(x, y), k, tones);
  for (int j = 1; j < images; ++j) {
    auto const before = static_cast<std::size_t>(j) - 1;
    int const n = width[before], m = height[before];
    Func const fine = g[before], sharp = in[before];
    Func gx("gx"), coarse("g"), ix("ix"), half("i");
    gx(x, y, k) = down([&](int d) -> Expr { return fine(within(2 * x + d, n), y, k); });
    coarse(x, y, k) = down([&](int d) -> Expr { return gx(x, within(2 * y + d, m), k); });
    ix(x, y) = down([&](int d) -> Expr { return sharp(within(2 * x + d, n), y); });
    half(x, y) = down([&](int d) -> Expr { return ix(x, within(2 * y + d, m)); });
    g.push_back(coarse), in.push_back(half);
    kept.push_back(coarse), kept.push_back(half);
    width.push_back((n + 1) / 2), height.push_back((m + 1) / 2);
  }
  Func out("out");
  out(x, y) = picked(in.back()(x, y), g.back(), x, y, tones);
  kept.push_back(out);
  for (auto j = static_cast<std::size_t>(images) - 1; j-- > 0;) {
    int const n = width[j + 1], m = height[j + 1];
    Func const coarse = g[j + 1], below = out;
    Func l("l"), o("o"), next("out");
    l(x, y, k) = g[j](x, y, k) - up(x, y, [&](Expr const& u, Expr const& v) -> Expr { return coarse(within(u, n), within(v, m), k); });
    o(x, y) = picked(in[j](x, y), l, x, y, tones);
    next(x, y) = up(x, y, [&](Expr const& u, Expr const& v) -> Expr { return below(within(u, n), within(v, m)); }) + o(x, y);
    if (j > 0) kept.push_back(next);
    out = next;
  }
  return {out, kept};
}
Func bilateral_grid(Func const& in, int w, int h) {
  Var x("x"), y("y"), z("z"), c("c");
  int const cell = 8, depth = 13, columns = w / cell + 3, rows = h / cell + 3;
  RDom r(0, cell, 0, cell);
  Func histogram("histogram"), blurz("blurz"), blurx("blurx"), blury("blury"), f("bilateral_grid");
  Expr const value = in(clamp((x - 1) * cell + r.x - cell / 2, 0, w - 1), clamp((y - 1) * cell + r.y - cell / 2, 0, h - 1));
  // As Halide's app does it: each pixel adds to one level.
  Expr const level = clamp(cast<int>(value * 10.f + 0.5f) + 1, 0, depth - 1);
  histogram(x, y, z, c) = 0.f;
  histogram(x, y, level, c) += select(c == 0, value, 1.f);
  auto const five = [](auto at) { return at(-2) + at(2) + 4.f * (at(-1) + at(1)) + 6.f * at(0); };
  auto const inside = [](Expr const& i, int n, Expr const& v) { return select(i >= 0 && i < n, v, 0.f); };
  blurz(x, y, z, c) = five([&](int d) -> Expr { return inside(z + d, depth, histogram(x, y, clamp(z + d, 0, depth - 1), c)); });
  blurx(x, y, z, c) = five([&](int d) -> Expr { return inside(x + d, columns, blurz(clamp(x + d, 0, columns - 1), y, z, c)); });
  blury(x, y, z, c) = five([&](int d) -> Expr { return inside(y + d, rows, blurx(x, clamp(y + d, 0, rows - 1), z, c)); });
  Expr const zv = in(x, y) * 10.f, zi = clamp(cast<int>(zv), 0, depth - 3) + 1, zf = zv - cast<float>(zi - 1);
  Expr const xf = cast<float>(x % cell) / cell, yf = cast<float>(y % cell) / cell, xi = x / cell + 1, yi = y / cell + 1;
  auto const mix = [](Expr const& a, Expr const& b, Expr const& t) { return a + (b - a) * t; };
  auto const at = [&](int part) {
    auto const along_x = [&](Expr const& row, Expr const& l) { return mix(blury(xi, row, l, part), blury(xi + 1, row, l, part), xf); };
    auto const along_y = [&](Expr const& l) { return mix(along_x(yi, l), along_x(yi + 1, l), yf); };
    return mix(along_y(zi), along_y(zi + 1), zf);
  };
  f(x, y) = at(0) / at(1);
  return f;
}
stages camera(Func const& in) {
  Var x("x"), y("y"), c("c");
  Func cool("cool"), red("red"), green("green"), blue("blue"), toned("toned"), f("camera");
  Expr const a = in(x + 2, y), b = in(x + 2, y + 4), l = in(x, y + 2), r = in(x + 4, y + 2);
  cool(x, y) = clamp(in(x + 2, y + 2), min(min(a, b), min(l, r)), max(max(a, b), max(l, r)));
  Expr const beside = 0.5f * (cool(x, y + 1) + cool(x + 2, y + 1)), above = 0.5f * (cool(x + 1, y) + cool(x + 1, y + 2));
  Expr const across = 0.25f * (cool(x, y) + cool(x + 2, y) + cool(x, y + 2) + cool(x + 2, y + 2)), here = cool(x + 1, y + 1);
  auto const pick = [&](Expr const& ee, Expr const& eo, Expr const& oe, Expr const& oo) {
    return select(y % 2 == 0, select(x % 2 == 0, ee, eo), select(x % 2 == 0, oe, oo));
  };
  Expr const cross = 0.5f * (beside + above);
  red(x, y) = pick(above, across, here, beside);
  green(x, y) = pick(here, cross, cross, here);
  blue(x, y) = pick(beside, here, across, above);
  Expr const R = red(x, y), G = green(x, y), B = blue(x, y);
  Expr const v = clamp(select(c == 0, 1.6f * R - 0.4f * G - 0.2f * B, c == 1, 1.5f * G - 0.3f * R - 0.2f * B, 1.7f * B - 0.1f * R - 0.6f * G),
                       0.f, 1.f);
  toned(x, y, c) = v * (1.5f - 0.5f * v) * (1.25f - 0.25f * v);
  Expr const around = toned(x + 1, y, c) + toned(x + 1, y + 2, c) + toned(x, y + 1, c) + toned(x + 2, y + 1, c);
  f(x, y, c) = clamp(2.f * toned(x + 1, y + 1, c) - 0.25f * around, 0.f, 1.f);
  return {f, {cool, red, green, blue, toned}};
}

int margin_of(task t) { return t == task::harris ? 4 : t == task::unsharp ? 6 : t == task::camera ? 8 : 0; }
stages pipeline_of(problem const& p, Func const& in, int w, int h) {
  switch (p.what) {
    case task::harris: return harris(in);
    case task::unsharp: return unsharp(in);
    case task::local_laplacian: return local_laplacian(in, w, h);
    case task::laplacian_pyramid: return laplacian_pyramid(in, w, h, static_cast<int>(p.k));
    case task::bilateral_grid: return {bilateral_grid(in, w, h), {}};
    default: return camera(in);
  }
}
void schedule_by_rule_of_halide(Pipeline& pipeline, char const* scheduler, int threads) {
#if HALIDE_VERSION_MAJOR >= 15
  AutoschedulerParams settings(scheduler, {{"parallelism", std::to_string(threads)}});
  if (std::string(scheduler) == "Mullapudi2016") settings.extra["last_level_cache_size"] = "16777216", settings.extra["balance"] = "40";
  pipeline.apply_autoscheduler(machine(), settings);
#else
  pipeline.auto_schedule(scheduler, machine(), MachineParams(threads, 16 * 1024 * 1024, 40));
#endif
}
void scheduled_by_itself(problem const& p, std::vector<way>& ways) {
  int const w = static_cast<int>(p.n) - margin_of(p.what), h = static_cast<int>(p.m) - margin_of(p.what);
  struct {
    char const *name, *scheduler, *library;
  } const schedulers[] = {{"Halide, Mullapudi", "Mullapudi2016", "mullapudi2016"}, {"Halide, Adams", "Adams2019", "adams2019"}};
  for (auto const& s : schedulers) {
    if (p.what == task::laplacian_pyramid && p.k > 4 && std::string(s.library) == "adams2019") {
      std::printf("[skip] %s: takes minutes for each of five passes over 51 stages\n", s.name);
      continue;
    }
    try {
      static std::string loaded;
      if (loaded.find(s.library) == std::string::npos) {
        load_plugin(std::string(BENCH_HALIDE_PLUGINS) + "/libautoschedule_" + s.library + ".so");
        loaded += s.library;
      }
      // The edge goes on beyond the image, as in Halide's own apps: schedules round up what they compute of a stage.
      Func f = pipeline_of(p, BoundaryConditions::repeat_edge(image(p, 0, p.n, p.m)), w, h).result;
      if (p.what == task::camera) f.set_estimates({{0, w}, {0, h}, {0, 3}});
      else f.set_estimates({{0, w}, {0, h}});
      Pipeline pipeline(f);
      schedule_by_rule_of_halide(pipeline, s.scheduler, p.threads);
      add(p, ways, s.name, pipeline, p.what == task::camera ? Buffer<float>(p.result(), w, h, 3) : Buffer<float>(p.result(), w, h));
    } catch (Halide::Error const& e) {
      std::fprintf(stderr, "[skip] %s: %s\n", s.name, e.what());
    }
  }
}
/// After the schedules of Halide's apps of these names: strips of rows, in which windows slide; pyramids by level. The bilateral grid's, of an
/// older app, took minutes to compile here.
void scheduled_by_hand(problem const& p, std::vector<way>& ways) {
  if (p.what == task::bilateral_grid) return;
  int const v = lanes(), w = static_cast<int>(p.n) - margin_of(p.what), h = static_cast<int>(p.m) - margin_of(p.what);
  stages all = pipeline_of(p, BoundaryConditions::repeat_edge(image(p, 0, p.n, p.m)), w, h);
  Func& f = all.result;
  Var const x = f.args()[0], y = f.args()[1];
  Var yo("yo"), yi("yi");
  f.bound(x, 0, w).bound(y, 0, h);
  f.split(y, yo, yi, 32).vectorize(x, v);
  auto const slides = [&](Func& one) { one.store_at(f, yo).compute_at(f, yi).vectorize(one.args()[0], v); };
  auto const whole = [&](Func& one) {
    one.compute_root().vectorize(one.args()[0], v);
    if (p.threads > 1) one.parallel(one.args()[1], 8);
  };
  switch (p.what) {
    case task::harris:  // Iy, Ix
      for (Func& one : all.inner) slides(one);
      all.inner[1].compute_with(all.inner[0], all.inner[0].args()[0]);
      break;
    case task::unsharp: all.inner[0].compute_at(f, yi).vectorize(x, v); break;  // blur_y
    case task::camera: {                                                        // cool, red, green, blue, toned
      Var const c = f.args()[2];
      f.bound(c, 0, 3).reorder(x, c, yi, yo).unroll(c);
      slides(all.inner[0]), slides(all.inner[4]);
      all.inner[4].reorder(all.inner[4].args()[0], all.inner[4].args()[2], all.inner[4].args()[1]).unroll(all.inner[4].args()[2]);
      for (int i = 1; i < 4; ++i) all.inner[static_cast<std::size_t>(i)].compute_at(all.inner[4], all.inner[4].args()[1]).vectorize(x, v);
      break;
    }
    default:  // images of the pyramids, of which all but the finest of tones are stored whole; then those of results
      for (std::size_t i = 0; i < all.inner.size(); ++i) whole(all.inner[i]);
  }
  if (p.threads > 1) f.parallel(yo);
  add(p, ways, "Halide, by hand", Pipeline(f), p.what == task::camera ? Buffer<float>(p.result(), w, h, 3) : Buffer<float>(p.result(), w, h));
}
void pipeline(problem const& p, std::vector<way>& ways) {
  try {
    scheduled_by_hand(p, ways);
  } catch (Halide::Error const& e) {
    std::fprintf(stderr, "[skip] Halide, by hand: %s\n", e.what());
  }
  scheduled_by_itself(p, ways);
}
void add_ways(problem const& p, std::vector<way>& ways) {
  switch (p.what) {
    case task::matmul: return matmul(p, ways);
    case task::add:
    case task::scale:
    case task::saxpy:
    case task::copy:
    case task::exp: return streams(p, ways);
    case task::sum: return sum(p, ways);
    case task::blur: return blur(p, ways);
    case task::transpose: return transposed(p, ways);
    case task::softmax: return softmax(p, ways);
    case task::harris:
    case task::unsharp:
    case task::local_laplacian:
    case task::laplacian_pyramid:
    case task::bilateral_grid:
    case task::camera: return pipeline(p, ways);
    default: return;
  }
}
}  // namespace
}  // namespace bench::peers

char const* weft_bench_peer_version() {
  static std::string const all = "Halide " + std::to_string(HALIDE_VERSION_MAJOR);
  return all.c_str();
}
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways) {
  try {
    bench::peers::add_ways(p, ways);
  } catch (Halide::Error const& e) {
    std::fprintf(stderr, "[skip] Halide: %s\n", e.what());
  }
}
