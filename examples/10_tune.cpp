// Lesson 10: schedules by search.
//
// A how-lambda may leave numbers open, as knobs, and so do branches that depend on them. weft::tune runs the lambda with other
// values, compiles what is legal, measures it on copies of the arguments in a process of its own, and keeps the best on disk:
// from then on each call of the kernel uses it, in this program and in the next. docs/tuning.md goes on from here.
//
// runs: in under 5 s

#include <weft/knobs.hpp>
#include <weft/tune.hpp>
#include <weft/tune/progress.hpp>
#include <weft/tune/report.hpp>
#include <weft/tune/wisdom.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline constexpr auto matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto B, auto C) {
      auto [i, j, k] = C.axes();
      auto [ko, ki] = s.split(k, weft::divisor(s, "kb", k, 96));
      auto [io, ii] = s.split(i, s.knob("mr", {1, 2, 4, 6, 8, 12}));
      auto [jo, ji] = s.split(j, weft::power_of_two(s, "nr", 8, 64));
      auto [first, second, third] = weft::permutation(s, "order", ko, jo, io);
      s.reorder(first, second, third, ki, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
      if (weft::flag(s, "fetch")) s.prefetch(B, ki, s.knob("rows", {4, 8}));  // this knob is there in this branch only
    });

int main(int argc, char** argv) {
  if (weft::worker(argc, argv)) return 0;  // candidates are measured by this program, started anew
  // A lesson leaves nothing behind: its results stand in a directory of its own.
  char folder[] = "/tmp/weft-lesson.XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  weft::cache::set_directory(folder);

  std::vector<float> a(192 * 192), b(192 * 192), c(192 * 192);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7), b[i] = float(i % 5);
  auto const A = weft::view(a, 192, 192), B = weft::view(b, 192, 192);

  auto show = [](weft::tune_progress const& p) {
    std::fprintf(stderr, "\r%s  ", weft::progress_line(p).c_str());
    return true;  // false ends it; what was measured is kept
  };
  weft::tune_options options{.trials = 24, .seconds = 2.5};
  options.progress = show;
  weft::tune_result const r = weft::tune(matmul, options, A, B, weft::out(c, 192, 192));
  std::printf("\n%s", r.text().c_str());

  matmul(A, B, weft::out(c, 192, 192));  // as tuned: each later call, and each later process
  bool const used = matmul.trace(A, B, weft::out(c, 192, 192)).find("vectorize") != std::string::npos;
  // 160 rows were not tuned: the nearest sizes that were, and none more than twice as much, say how.
  auto const few = weft::view(a, 160, 192);
  std::string const reason = weft::schedule_reason(matmul, few, B);
  bool const nearest = !r.kept || reason.find("tuned for 192 x 192") == 0;
  std::printf("160 rows: %s\n", reason.c_str());
  std::printf("%s", weft::report(r).substr(0, 15).c_str());  // a page of HTML with drawings in it
  std::string const lines = weft::wisdom::export_all();       // for other machines of this kind
  int const removed = weft::wisdom::forget_all();
  weft::wisdom::imported const back = weft::wisdom::import_lines(lines);
  std::printf("\n%zu bytes of wisdom: %d results removed, %d taken back\n", lines.size(), removed, back.taken);
  bool const executed = r.worker == weft::tuning::isolation::executed;
  return used && nearest && executed && removed == back.taken && r.best_ns <= r.first_ns && std::system((std::string("rm -r ") + folder).c_str()) == 0 ? 0 : 1;
}
