// Lesson 4: looking inside: what a kernel becomes, what its compilation costs, and who reads out of bounds.
//
// Everything here is for people who wonder; a program that does not ask pays nothing. docs/debugging.md goes on from here.
//
// runs: in under 5 s

#include <weft/weft.hpp>

#include <weft/debug.hpp>  // for .with({.checked = true}); a program that links weft::compiled has it already

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

inline constexpr auto matmul = weft::kernel<"matmul">(
    [](auto A, auto B) {
      auto M = A.extent(0), K = A.extent(1), N = B.extent(1);
      return weft::compute<"C">(M, N, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) { return A(i, k) * B(k, j); });
      });
    },
    [](auto& s, auto, auto, auto C) {
      auto [i, j, k] = C.axes();
      auto [io, ii] = s.split(i, 2);
      auto [jo, ji] = s.split(j, 8);
      s.reorder(io, jo, k, ii, ji);
      s.unroll(ii);
      s.vectorize(ji);
    });

// y(i) = table(index(i)): nobody but the data knows whether that is inside of the table.
inline constexpr auto pick = weft::kernel<"pick">([](auto table, auto index) {
  return weft::compute<"y">(index.extent(0), [=](auto i) { return table(index(i)); });
});
inline constexpr auto pick_clamped = weft::kernel<"pick_clamped">([](auto table, auto index) {
  return weft::compute<"y">(index.extent(0), [=](auto i) {
    return table(weft::clamp(weft::cast<std::int64_t>(index(i)), 0, table.extent(0) - 1));
  });
});

// The lines of a text that contain a word; the first `most` of them.
std::string lines_with(std::string const& text, char const* word, int most) {
  std::string found;
  for (std::size_t at = 0; at < text.size() && most > 0;) {
    std::size_t const end = text.find('\n', at);
    std::string const line = text.substr(at, end - at);
    if (line.find(word) != std::string::npos) found += line + "\n", --most;
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return found;
}
template <class Call>
std::string refusal(Call const& call) {
  try {
    call();
  } catch (weft::error const& e) {
    return e.what();
  }
  return "nothing is wrong";
}

int main() {
  // 1. Each step on the way is a text. None of these calls runs the kernel; outputs may be left out.
  std::vector<float> a(4 * 3, 1.0f), b(3 * 20, 2.0f), c(4 * 20);
  auto const A = weft::view(a, 4, 3), B = weft::view(b, 3, 20);
  std::printf("The loops, as scheduled:\n%s\n", matmul.loops(A, B).c_str());
  std::printf("The steps that were taken:\n%s\n", matmul.trace(A, B).c_str());
  std::string const ir = matmul.ir(A, B), llvm = matmul.llvm_ir(A, B), assembly = matmul.assembly(A, B);
  std::printf("Of the loop program, what the code generator gets:\n%s\n", lines_with(ir, "for ", 4).c_str());
  std::printf("Of LLVM's:\n%s\n", lines_with(llvm, "define ", 2).c_str());
  std::printf("Of %zu bytes of assembly: its functions are\n%s\n", assembly.size(), lines_with(assembly, "@function", 2).c_str());

  // 2. The same on stderr, at the moment when a kernel is compiled: set these variables before the program starts.
  ::setenv("WEFT_TIME", "1", 1);
  ::setenv("WEFT_DUMP", "schedule,pass/vectorize", 1);
  matmul(A, B, weft::out(c, 4, 20));
  ::unsetenv("WEFT_TIME");
  ::unsetenv("WEFT_DUMP");

  // 3. An index that is data. weft runs no access that may leave its tensor: it wants a clamp, a select, or checked code.
  std::vector<float> table{10, 11, 12, 13, 14}, y(4);
  std::vector<std::int32_t> index{4, 0, 7, 1};
  auto const run = [&](auto const& kernel) {
    return refusal([&] { kernel(weft::view(table, 5), weft::view(index, 4), weft::out(y, 4)); });
  };
  std::string const unproved = run(pick), clamped = run(pick_clamped);
  std::printf("pick:         %s\n", unproved.c_str());
  std::printf("pick_clamped: %s: y = %g %g %g %g\n", clamped.c_str(), static_cast<double>(y[0]), static_cast<double>(y[1]),
              static_cast<double>(y[2]), static_cast<double>(y[3]));

  // 4. Checked code looks at each access while it runs, and names the first that is wrong. WEFT_CHECKED=1 does this to all
  // kernels of a program.
  std::string const wrong = run(pick.with({.checked = true}));
  std::printf("checked:\n%s\n", wrong.c_str());
  index[2] = 2;
  std::string const right = run(pick.with({.checked = true}));
  std::printf("checked, with 2 instead of 7: %s: y[2] = %g\n", right.c_str(), static_cast<double>(y[2]));

  bool const as_said = ir.find("f32x") != std::string::npos && llvm.find("@weft_matmul_4x20x3_f32(") != std::string::npos &&
                       unproved.find("pick: A: index 0 runs from") == 0 && clamped == "nothing is wrong" &&
                       wrong.find("pick: A is read at [7], outside of its extents [5]\n  in    i=2") == 0 && y[2] == 12 &&
                       c[0] == 6;
  return as_said ? 0 : 1;
}
