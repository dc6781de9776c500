// Random programs under random schedules, as code for another architecture: made here, linked by that one's own compiler,
// run by QEMU, gives the bits of direct evaluation.
#include "elsewhere/elsewhere.hpp"
#include "fuzz/run.hpp"
#include "weft/compile.hpp"

namespace weft_test::fuzz {
namespace {

/// A case whose code runs elsewhere, with all that it is compared with.
struct made_case {
  std::unique_ptr<drawn> d;
  std::unique_ptr<trial> run;
  weft::trace steps;
  trial::for_elsewhere code;
};

/// Draws the case of `seed`; false where all that it needs is not made for elsewhere, such as functions of this program.
bool make_case(std::uint64_t seed, weft::target const& machine, std::string const& name, made_case& c) {
  c.d = std::make_unique<drawn>(program_maker(seed).make());
  for (weft::stage_info const& s : c.d->what.stages)
    if (s.by != nullptr) return false;
  random_source r(seed ^ 0x5c4ed);
  c.steps = seed % 4 == 3 ? steps_by_rule(r, *c.d) : draw_steps(r, weft::schedule(c.d->what, extents_of(*c.d)), c.d->order_free, {});
  auto const make = [&](drawn const& d, weft::trace const& steps) {
    return without_exceptions([&] {
      c.run = std::make_unique<trial>(d, machine.fma, true);
      c.code = c.run->made_for(machine, steps, name);
      return std::string();
    });
  };
  std::string const fault = check_possible(make, *c.d, c.steps);
  CHECK_MESSAGE(fault.empty(), fault << describe(*c.d, c.steps));
  return fault.empty() && !c.code.object.empty();
}
/// What is wrong with the cases after their calls; in words, with the first of them.
std::string call_elsewhere(weft::sequence<made_case>& cases, std::string const& folder) {
  std::vector<elsewhere_call> calls;
  for (made_case& c : cases) {
    calls.emplace_back();
    calls.back().object = c.code.object, calls.back().workspace_bytes = c.code.workspace_bytes;
    for (tensor_memory& t : c.run->memory()) calls.back().tensors.push_back({&t.bytes(), t.first_byte()});
    for (std::int64_t n : c.code.scalars) calls.back().scalars.push_back(n);
  }
  std::string const ended = run_elsewhere(calls, folder);
  if (ended.find("the process answered") != 0 && !ended.empty()) return ended;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    made_case const& c = cases[i];
    std::string fault = !calls[i].came_back ? "it did not come to its end; " + ended
                        : calls[i].status != 0 ? std::string("it did not answer 0") : c.run->difference();
    if (!fault.empty())
      return "WEFT_FUZZ_SEED=" + std::to_string(c.d->seed) + " WEFT_FUZZ_CASES=1\n" + describe(*c.d, c.steps) + "fault\n  " + fault + "\nas a test\n" + as_test(*c.d, c.steps, fault);
  }
  return ended;
}

inline constexpr auto below_zero =
    weft::kernel<"below_zero">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return weft::min(x(i), 0); }); });
inline constexpr auto negative_of_sum =
    weft::kernel<"negative_of_sum">([](auto x) { return weft::compute<"y">(x.extent(0), [=](auto i) { return (x(i) + x(i) * x(i)) / -1.0f; }); });

}  // namespace

// Found by the case below: of -1 and 1 the sum is 0, its negative -0, and fnmadd's 0.
TEST_CASE("for aarch64 no negative of a sum is an instruction that adds negatives") {
  std::vector<float> const x(63, -1.0f);
  std::string const text = negative_of_sum.on(weft::aarch64_neon()).with({.plain = true}).assembly(x);
  CHECK(text.find("fmadd") != std::string::npos);
  CHECK(text.find("fnmadd") == std::string::npos);
}
// Found by the case below: -0 came out of min(-0, 0), which is 0, the second of two that compare equal.
TEST_CASE("for aarch64 no minimum is an instruction that orders zeros") {
  std::vector<float> const x(64, -0.0f);
  for (bool const plain : {false, true}) {
    std::string const text = below_zero.on(weft::aarch64_neon()).with({.plain = plain}).assembly(x);
    CHECK(text.find("fcm") != std::string::npos);
    CHECK(text.find("fminnm") == std::string::npos);
  }
}
TEST_CASE("machine code for aarch64, run by QEMU, gives the bits of direct evaluation") {
  if (!aarch64_is_there()) {
    std::printf("[skip] %s\n", no_aarch64_here);
    return;
  }
  weft::target const machine = weft::aarch64_neon();
  weft::sequence<made_case> cases;
  auto const call = [&] {
    temporary_directory const folder;
    std::string const fault = call_elsewhere(cases, folder.path);
    CHECK_MESSAGE(fault.empty(), fault);
    cases.clear();
  };
  int made = 0;
  for_each_case("aarch64", 300, [&](std::uint64_t seed) {
    made_case c;
    if (make_case(seed, machine, "case" + std::to_string(cases.size()), c)) ++made, cases.push_back(std::move(c));
    if (cases.size() == 150) call();
    return std::string();
  });
  if (cases.size() > 0) call();
  CHECK(made > 0);
}

}  // namespace weft_test::fuzz
