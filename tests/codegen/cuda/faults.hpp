// Faults planted in the copies of kernels that run on by themselves, which the interpreter has to find.
#pragma once

#include <array>

#include "prepared.hpp"

namespace weft_test {

/// What stands in the loop `ko` of a text, up to the end of it.
inline std::string loop_of(std::string const& text, std::string const& name = "ko") {
  std::size_t const begin = text.rfind("for (int " + name + " = 0;"), line = text.rfind('\n', begin);
  REQUIRE(begin != std::string::npos);
  std::string const end = "\n" + text.substr(line + 1, begin - line - 1) + "}\n";
  return text.substr(begin, text.find(end, begin) - begin);
}

/// One fault, planted at the place of this number.
class faulty final : public weft::ir::rewriter {
 public:
  enum fault { no_commit, short_wait, live_turn };
  faulty(weft::ir::arena& m, fault what, int number) : weft::ir::rewriter(m), what_(what), left_(number) {}
  bool planted = false;

 protected:
  using weft::ir::rewriter::replace;
  weft::ir::stmt replace(weft::ir::stmt s) override {
    std::size_t d = 0;  // the index that says which turn it is
    while (d < s->indices.size() && s->indices[d]->kind != weft::op::floor_mod) ++d;
    bool const in_turns = s->asynchronous && d < s->indices.size();
    bool const here = what_ == no_commit ? s->kind == weft::ir::stmt_kind::commit : what_ == short_wait ? s->kind == weft::ir::stmt_kind::wait : in_turns;
    if (!here || left_-- != 0) return nullptr;
    weft::ir::stmt_node n = *s;
    if (what_ == short_wait) ++n.number;
    if (what_ == live_turn) {  // into the memory that is read now
      weft::sequence<weft::ir::expr> indices(s->indices.begin(), s->indices.end());
      indices[d] = weft::ir::binary(m_, weft::op::floor_mod, weft::ir::binary(m_, weft::op::add, indices[d]->a, weft::ir::index(m_, 1)), indices[d]->b);
      n.indices = m_.make_list(indices);
    }
    planted = true;
    return what_ == no_commit ? weft::ir::block(m_, {}) : m_.make(n);
  }

 private:
  fault what_;
  int left_;
};
/// What is said of the kernel with the fault; "none": there is no such place.
inline std::string judged(gpu_trial& t, faulty::fault what, int number) {
  weft::ir::function& f = t.f;
  faulty plant(*f.nodes, what, number);
  weft::ir::stmt const whole = f.body;
  f.body = plant(f.body);
  std::string const found = plant.planted ? t.interpreted(1) : "none";
  f.body = whole;
  return found;
}
/// Plants each fault at each of its places in all kernels: the interpreter finds all of them, and there are more than `least` commits, waits
/// and copies in turns. `spares(kernel, number)`: the commits from there on are not needed.
template <class Spares>
void check_faults(prepared_kernels& prepared, std::array<int, 3> const& least, Spares const& spares) {
  char const* const names[] = {"commit", "wait", "turn"};
  for (int what = faulty::no_commit; what <= faulty::live_turn; ++what) {
    INFO(std::string(names[what]));
    int all = 0, found = 0;
    std::string missed;
    prepared.each([&](gpu_kernel const& k, gpu_trial& t) {
      for (int i = 0;; ++i) {
        std::string const said = judged(t, static_cast<faulty::fault>(what), i);
        if (said == "none" || spares(k, i)) break;
        ++all;
        found += !said.empty();
        if (said.empty()) missed += k.name + " " + std::to_string(i) + "\n";
      }
    });
    MESSAGE(std::string(names[what]) << ": " << found << " of " << all << "; not found:\n" << missed);
    CHECK(all > least[static_cast<std::size_t>(what)]);
    CHECK(found == all);
  }
}

}  // namespace weft_test
