// A failing case as a TEST_CASE, to be pasted into tests/fuzz/regressions.cpp.
#pragma once

#include <string>

#include "fuzz/generate.hpp"
#include "weft/expr/print_what.hpp"
#include "weft/schedule/print_how.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft_test::fuzz {

namespace detail {
inline std::string joined_numbers(weft::sequence<std::int64_t> const& numbers) {
  std::string out;
  for (std::int64_t n : numbers) {
    out += out.empty() ? "" : ", ";
    out += n == INT64_MIN ? "INT64_MIN" : std::to_string(n) + (n > INT32_MIN && n <= INT32_MAX ? "" : "LL");
  }
  return out;
}
inline std::string cpp_type(weft::dtype t) {
  static constexpr char const* names[] = {
#define WEFT_X(id, type, text, kind, computed) #type,
      WEFT_DTYPES(WEFT_X)
#undef WEFT_X
  };
  return names[static_cast<int>(t)];
}
inline std::string indented(std::string const& text, std::string const& by) {
  std::string out;
  for (char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}
}  // namespace detail

/// The arguments of a case as found.hpp takes them: `input<float, 2>{{3, 4}}, number<float>{0}`. Elements stand there when no
/// seed draws them.
inline std::string arguments_text(drawn const& d) {
  std::string out;
  std::size_t scalar = 0;
  for (weft::input_info const& i : d.what.inputs) {
    if (!out.empty()) out += ", ";
    if (i.tensor < 0) {
      out += "number<" + detail::cpp_type(i.type) + ">{" + detail::joined_numbers({d.scalars[scalar++]}) + "}";
      continue;
    }
    weft::dense const& t = d.tensors[static_cast<std::size_t>(i.tensor)];
    out += "input<" + detail::cpp_type(i.type) + ", " + std::to_string(t.shape.size()) + ">{{" + detail::joined_numbers(t.shape) + "}";
    if (d.data == contents::own) out += ", {" + detail::joined_numbers(t.bits) + "}";
    out += "}";
  }
  return out;
}
/// The what-lambda of a drawn program; its functions are those of support/functions.hpp.
inline std::string what_text(weft::program const& p) {
  std::string out = weft::print_what(p);
  for (weft::stage_info const& s : p.stages) {
    if (s.by == nullptr) continue;
    std::string const name = "&" + std::string(s.by->name) + ">(";
    std::string const by = "&weft_test::running<" + detail::cpp_type(s.by->parameters[0].type) + ", " + std::to_string(s.by->parameters[0].rank) + ">>(";
    for (std::size_t at = 0; (at = out.find(name, at)) != out.npos; at += by.size()) out.replace(at, name.size(), by);
  }
  // found.hpp includes what it asks for.
  if (std::string const include = "// #include <weft/expr/exact.hpp>\n"; out.find(include) == 0) out.erase(0, include.size());
  return out;
}
/// The case; `fault`: what was found, in words, of which the first line is kept. `function`: what it calls.
inline std::string test_case(drawn const& d, weft::schedule const& s, std::string const& fault, std::string const& function = "check_found") {
  std::string const first = fault.substr(0, fault.find('\n'));
  std::string out = "TEST_CASE(\"WEFT_FUZZ_SEED=" + std::to_string(d.seed) + ": say here what was wrong\") {\n  // " + first + "\n";
  std::string const inside(function.size() + 3, ' ');
  out += "  " + function + "({" + std::to_string(d.seed) + "ULL, " + (d.data == contents::own ? "contents::own" : d.data == contents::wild ? "contents::wild" : "contents::tame") + "},\n";
  for (std::string const& lambda : {what_text(d.what), weft::print_how(s)}) out += inside + detail::indented(lambda, inside) + ",\n";
  return out + inside + arguments_text(d) + ");\n}\n";
}

}  // namespace weft_test::fuzz
