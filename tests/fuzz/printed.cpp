// Programs and failures as C++: a compiler reads what is printed of drawn ones, and makes the same of it.
#include <fstream>
#include <sstream>

#include "fuzz/launch_steps.hpp"
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {
namespace {

#ifndef WEFT_TEST_COMPILER
#define WEFT_TEST_COMPILER ""
#define WEFT_TEST_LIBRARY ""
#endif
/// The compiler with its flags, and weft's bodies; "": none are told.
std::string told(char const* variable, char const* otherwise) {
  char const* const given = std::getenv(variable);
  return given != nullptr ? given : otherwise;
}
bool is_skipped() {
  if (!told("WEFT_TEST_COMPILER", WEFT_TEST_COMPILER).empty()) return false;
  std::puts("[skip] no compiler is told: a build with sanitizers, or by hand without WEFT_TEST_COMPILER and WEFT_TEST_LIBRARY");
  return true;
}
/// What the compiler and the program's run say, "" when all goes well. `environment`: in front of the program.
struct built {
  temporary_directory folder{};
  std::string fault{};
  explicit built(std::string const& text) {
    std::string const source = folder.path + "/printed.cpp", tests = WEFT_TESTS_DIR;
    std::ofstream(source) << "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include \"fuzz/found.hpp\"\n#include \"support/functions.hpp\"\n"
                             "namespace weft_test::fuzz {\n" << text << "}\n";
    std::string const command = told("WEFT_TEST_COMPILER", WEFT_TEST_COMPILER) +
        " -std=c++20 -O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -DWEFT_COMPILED=1 -DWEFT_TEST_ASAN=0 -DWEFT_TEST_TSAN=0"
        " '-DWEFT_TESTS_DIR=\"" + tests + "\"' -I" + tests + " -I" + tests + "/../include " + source + " " +
        told("WEFT_TEST_LIBRARY", WEFT_TEST_LIBRARY) + " -ldl -lpthread -o " + folder.path + "/printed";
    fault = said(command);
  }
  std::string run(std::string const& environment, std::string const& which) const {
    return said(environment + " " + folder.path + "/printed --test-case='" + which + "'");
  }

 private:
  std::string said(std::string const& command) const {
    std::string const file = folder.path + "/said";
    if (std::system((command + " >" + file + " 2>&1").c_str()) == 0) return "";
    std::stringstream text;
    text << command << "\n" << std::ifstream(file).rdbuf();
    return text.str();
  }
};
/// A test that the lambdas make the program and the steps of the case.
std::string same_as(drawn const& d, weft::schedule const& s) {
  drawn shapes = d;  // elements do not matter here
  shapes.data = contents::tame;
  std::string const number = std::to_string(d.seed);
  return "TEST_CASE(\"same: WEFT_FUZZ_SEED=" + number + "\") {\n  weft::trace steps;\n  drawn const d = made_case({" + number + "ULL},\n" +
         what_text(d.what) + ",\n" + weft::print_how(s) + ",\nsteps, " + arguments_text(shapes) +
         ");\n  weft::schedule s(d.what, extents_of(d));\n  weft::replay(s, steps);\n  CHECK(weft::print_trace(s) == R\"(" + weft::print_trace(s) +
         ")\");\n  CHECK(weft::print(weft::equal_nodes_joined(d.what)) == R\"(" + weft::print(weft::equal_nodes_joined(d.what)) + ")\");\n}\n";
}
/// The report on the first drawn case that fails as if `operation` were wrong, made small.
std::string planted(char const* operation, drawn& small) {
  setenv("WEFT_FUZZ_PLANT", operation, 1);
  random_source seeds(20261123);
  std::string text;
  for (int tries = 0; tries < 4000 && text.empty(); ++tries) {
    std::uint64_t const seed = seeds.next();
    drawn const d = program_maker(seed).make();
    if (d.what.stages.size() < 3 || !is_planted(d.what)) continue;  // else there is little to leave out
    weft::trace steps;
    std::string const fault = check_small(seed, check_interpreted, small, steps);
    if (fault.empty()) continue;
    text = as_test(small, steps, fault);
  }
  unsetenv("WEFT_FUZZ_PLANT");
  return text;
}

}  // namespace

TEST_CASE("what is printed of a drawn program and of its steps makes the same program and takes the same steps") {
  if (is_skipped()) return;
  std::string text;
  int cases = 0;
  auto const compile = [&] {
    built const program(text);
    CHECK_MESSAGE(program.fault == "", program.fault.substr(0, 20000));
    if (program.fault.empty()) CHECK(program.run("", "same:*") == "");
    text.clear();
  };
  for_each_case("printed", 12, [&](std::uint64_t seed) {
    drawn const d = program_maker(seed).make();
    random_source r(seed ^ 0x5c4ed);
    weft::schedule s(d.what, extents_of(d));
    weft::replay(s, seed % 4 == 3 ? steps_by_rule(r, d, seed % 8 == 7) : seed % 4 == 2 ? draw_launch_steps(r, s, d.order_free) : draw_steps(r, s, d.order_free, {}));
    std::string const what = what_text(d.what);
    if (what.find("// not written") != what.npos) return what;
    text += same_as(d, s);
    if (++cases % 40 == 0) compile();
    return std::string();
  });
  if (!text.empty()) compile();
}

TEST_CASE("all that is drawn can be written") {
  for_each_case("written", 1000, [&](std::uint64_t seed) {
    std::string const text = what_text(program_maker(seed, seed % 2 == 1).make().what);
    return text.find("// not written") == text.npos && text.find("[](auto") != text.npos ? std::string() : text;
  });
}
TEST_CASE("a planted fault shrinks to a stage or two, and prints as a test that fails for it and passes without it") {
  if (is_skipped()) return;
  char const* const operations[] = {"tanh", "fmod", "shl"};
  std::string text;
  for (char const* operation : operations) {
    drawn small;
    std::string one = planted(operation, small);
    INFO(one);
    REQUIRE(one != "");
    CHECK(small.what.stages.size() <= 2);
    CHECK(small.what.outputs.size() == 1);
    CHECK(small.what.inputs.size() == 1);
    CHECK(small.what.nodes.size() <= 8);
    CHECK(small.data != contents::own);
    for (weft::dense const& t : small.tensors)
      for (std::int64_t e : t.shape) CHECK(e <= 1);
    std::string const title = "TEST_CASE(\"";
    text += one.insert(title.size(), std::string("planted: ") + operation + " ");
  }
  built const program(text);
  REQUIRE_MESSAGE(program.fault == "", program.fault.substr(0, 20000) << text);
  CHECK(program.run("", "planted:*") == "");
  for (char const* operation : operations) {
    INFO(operation);
    std::string const which = std::string("planted: ") + operation + " *", said = program.run(std::string("WEFT_FUZZ_PLANT=") + operation, which);
    CHECK(said.find("and should be") != said.npos);  // what difference() says
    CHECK(program.run("WEFT_FUZZ_PLANT=erf", which) == "");
  }
}

}  // namespace weft_test::fuzz
