// Loop IR expressions to LLVM values.
#pragma once

#include "weft/codegen/llvm/api.hpp"
#include "weft/codegen/target.hpp"
#include "weft/ir/ir.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

/// What is being built: one LLVM module out of one kernel.
struct module_state {
  api const& l;
  ir::function const& f;
  target const& machine;
  context_ref context;
  module_ref module;
  builder_ref builder;
};

/// Emits expressions at the builder's position.
///
/// Equal expressions are one node, and a node is emitted once per region: `values_` maps it to its LLVM value.
/// What was emitted inside a region is forgotten at its end (it does not dominate what follows); what read
/// memory is forgotten when that memory may have been written.
class expression_emitter {
 public:
  explicit expression_emitter(module_state& s) : s_(s), l_(s.l), b_(s.builder) {}

 protected:
  value_ref emit(ir::expr e);

  // types
  type_ref scalar_type(dtype t) const;         // bool is i1
  type_ref memory_type(dtype t) const;         // bool is i8
  type_ref with_lanes(type_ref t, int lanes) const;
  type_ref type_of(ir::expr e) const { return with_lanes(scalar_type(e->type), e->lanes); }
  type_ref i64() const { return l_.Int64TypeInContext(s_.context); }
  type_ref pointer() const { return l_.PointerTypeInContext(s_.context, 0); }
  value_ref number(std::int64_t v) const { return l_.ConstInt(i64(), static_cast<unsigned long long>(v), 1); }
  value_ref splat(value_ref scalar, int lanes);
  value_ref call_intrinsic(char const* name, std::vector<type_ref> overloads, std::vector<value_ref> arguments);

  // memory
  struct place {
    value_ref pointer = nullptr;  // of lane 0, or a vector of pointers
    std::int64_t stride = 0;      // between lanes, when `pointer` is scalar
    bool scattered = false;
  };
  place address(ir::buffer const* buf, ir::list<ir::expr> indices, int lanes);
  value_ref to_memory(value_ref v, dtype t, int lanes);    // i1 -> i8
  value_ref from_memory(value_ref v, dtype t, int lanes);  // i8 -> i1
  value_ref mask_vector(ir::expr mask, int lanes);
  value_ref zero_words();  // 64 bytes of 0 to read instead of what a mask forbids

  // regions
  std::size_t enter() const { return log_.size(); }
  void leave(std::size_t mark);
  void forget_memory(ir::buffer const* written);  // null: all
  void define(ir::expr e, value_ref v);
  std::vector<value_ref> hide();  // forgets everything, for another function
  void restore(std::vector<value_ref> const& known) { values_ = known; }

  module_state& s_;
  api const& l_;
  builder_ref b_;
  std::vector<value_ref> bases_;      // by buffer id: pointer to the elements
  std::vector<value_ref> variables_;  // by loop variable
  std::vector<int> depth_;            // by loop variable, of its loop
  value_ref launch_ = nullptr;
  value_ref zeros_ = nullptr;         // see zero_words

 private:
  value_ref make(ir::expr e);
  value_ref make_literal(ir::expr e);
  value_ref make_load(ir::expr e);
  value_ref make_cast(ir::expr e);
  value_ref make_binary(ir::expr e);
  value_ref make_division(ir::expr e, value_ref a, value_ref b);
  value_ref make_comparison(op o, dtype t, value_ref a, value_ref b);
  value_ref run_time_number(int member, std::int64_t position);
  ir::expr ordered_sum(ir::expr e);
  int depth_of(ir::expr e) const;
  std::uint64_t memory_read(ir::expr e);

  std::vector<value_ref> values_;       // by expression id
  std::vector<std::uint64_t> classes_;  // by expression id: alias classes read, as bits
  std::vector<std::uint32_t> log_;      // ids in order of definition
};

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/expr.ipp"
#endif
