// What the sizes of a call decide of a program.
#include "weft/lower/settled.hpp"

#include <doctest/doctest.h>

#include "lower/programs.hpp"
#include "weft/ops.hpp"
#include "weft/schedule/placement.hpp"

using namespace weft;
using weft_test::lowered_program;

namespace {
/// The first input of two, with the second one added to it by NumPy's rule.
program sum_of_two(int rank) {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  if (rank == 1) p.outputs.push_back(ops::add(A, expr::tensor<float, 1>{&p, p.add_input(short_name("b"), dtype::f32, 1)}).id);
  else p.outputs.push_back(ops::add(A, expr::tensor<float, 2>{&p, p.add_input(short_name("b"), dtype::f32, 2)}).id);
  return canonical(p);
}
program softmax_of_rows() {
  program p;
  expr::tensor<float, 2> const A{&p, p.add_input(short_name("A"), dtype::f32, 2)};
  p.outputs.push_back(ops::softmax(A).id);
  return canonical(p);
}
/// Where the stages of the program for these sizes read a tensor: "i,j" at their own axes, "0" at a literal, "?" elsewhere; each way once, in order.
std::string read_at(char const* tensor, program const& p, sequence<sequence<std::int64_t>> const& shapes, sequence<sequence<char const*>> const& dims = {},
                    sequence<open_range> const& ranges = {}) {
  lowered_program l{p, shapes};
  l.dims = dims;
  call_layout layout = l.layout();
  layout.ranges = ranges;
  program const s = settled(p, layout);
  CHECK(s.nodes.size() == p.nodes.size());
  std::string all;
  for (int stage = 0; stage < static_cast<int>(s.stages.size()); ++stage)
    weft::detail::each_load(s, stage, [&](node const& n) {
      if (!program::at(s.tensors, n.a).is_called(tensor)) return;
      std::string one;
      for (int d = 0; d < n.c; ++d) {
        node const& index = s.at(program::at(s.operands, n.b + d));
        if (d > 0) one += ",";
        if (index.kind == op::axis) one += static_cast<char>('i' + (index.a - program::at(s.stages, stage).first_axis));
        else one += index.kind == op::literal ? std::to_string(index.value) : "?";
      }
      if ((" " + all + " ").find(" " + one + " ") == std::string::npos) all += (all.empty() ? "" : " ") + one;
    });
  return all;
}
}  // namespace

TEST_CASE("sizes decide which tensor is broadcast, and what is left is read at an axis or at 0") {
  program const two = sum_of_two(2), one = sum_of_two(1);
  CHECK(read_at("b", two, {{3, 5}, {3, 5}}) == "i,j");
  CHECK(read_at("b", two, {{3, 5}, {1, 5}}) == "0,j");
  CHECK(read_at("b", two, {{3, 5}, {3, 1}}) == "i,0");
  CHECK(read_at("A", two, {{1, 5}, {3, 5}}) == "0,j");
  CHECK(read_at("A", two, {{3, 5}, {1, 1}}) == "i,j");
  CHECK(read_at("b", one, {{3, 5}, {5}}) == "j");
  CHECK(read_at("b", one, {{3, 5}, {1}}) == "0");
}
TEST_CASE("of open sizes it is known which are the same, and what a range leaves out") {
  program const two = sum_of_two(2), soft = softmax_of_rows();
  CHECK(read_at("b", two, {{3, 5}, {3, 5}}, {{"m", "n"}, {"m", "n"}}) == "i,j");
  CHECK(read_at("A", two, {{3, 5}, {3, 5}}, {{"m", "n"}, {"m", "n"}}) == "i,j");
  // Sizes of two names may differ, and one of them be 1.
  CHECK(read_at("b", two, {{3, 5}, {3, 5}}, {{"m", "n"}, {"p", "n"}}) == "?,j");
  sequence<open_range> const from_two{{weft_test::dim_code("m"), 2}, {weft_test::dim_code("p"), 2}};
  CHECK(read_at("b", two, {{3, 5}, {3, 5}}, {{"m", "n"}, {"p", "n"}}, from_two) == "i,j");
  CHECK(read_at("e", soft, {{3, 5}}, {{"m", "n"}}) == "i,k i,j");
  CHECK(read_at("total", soft, {{3, 5}}, {{"m", "n"}}) == "i,0");
}
