// Loop IR expressions to LLVM values.
#pragma once

#include "weft/base/sequence.hpp"
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
  std::string name;  // of its functions; f's, or one that says more
};

/// Emits expressions, each in the outermost region where it has all it needs.
///
/// A region is the function's body, a loop's body or a branch of an if; they form a stack. Equal expressions are one
/// node, and a node is emitted once per region that needs it: what a loop does not change is computed in front of
/// it. (LLVM's licm finds the same but takes a third of its passes' time, and hoists constant displacements that
/// cost registers.) A load leaves a loop only when nothing in the loop writes its memory.
class expression_emitter {
 public:
  explicit expression_emitter(module_state& s) : s_(s), l_(s.l), b_(s.builder) {}

 protected:
  /// In front of each load and store of memory if `checks_`: code may be emitted, and blocks parted.
  virtual void before_access(ir::buffer const*, ir::list<ir::expr>, ir::expr /*mask*/, ir::expr /*load, null: a store*/) {}
  /// The builder stands where it stood, after it has been elsewhere; LLVM took that place's line for its own.
  virtual void moved_back() {}
  bool checks_ = false;  // then no load leaves the place where it stands

  value_ref emit(ir::expr e);
  int copy_ = 0;  // of the literals in memory: which is read

  // types
  type_ref scalar_type(dtype t) const;  // bool is i1, f16 and bf16 are i16
  type_ref memory_type(dtype t) const;  // bool is i8
  type_ref with_lanes(type_ref t, int lanes) const;
  type_ref type_of(ir::expr e) const { return with_lanes(scalar_type(e->type), e->lanes); }
  type_ref i64() const { return l_.Int64TypeInContext(s_.context); }
  type_ref pointer() const { return l_.PointerTypeInContext(s_.context, 0); }
  value_ref shuffled(value_ref a, value_ref b, sequence<std::int32_t> const& lanes);
  value_ref number(std::int64_t v) const { return l_.ConstInt(i64(), static_cast<unsigned long long>(v), 1); }
  value_ref splat(value_ref scalar, int lanes);
  value_ref call_intrinsic(char const* name, sequence<type_ref> overloads, sequence<value_ref> arguments);

  // memory
  struct place {
    value_ref pointer = nullptr;  // of lane 0, or a vector of pointers
    std::int64_t stride = 0;      // between lanes, when `pointer` is scalar
    bool scattered = false;
  };
  struct flat_index {
    ir::expr first;           // of lane 0
    std::int64_t stride = 0;  // between lanes
  };
  value_ref pointer_at(ir::buffer const* buf, ir::expr flat);
  flat_index element_at(ir::buffer const* buf, ir::list<ir::expr> indices, int lanes);
  place address(ir::buffer const* buf, ir::list<ir::expr> indices, int lanes);
  value_ref lane_pointers(place const& at, type_ref element, int lanes);
  bool has_gathers_of_words(unsigned bytes, int lanes) const;
  value_ref masked_load(type_ref element, int lanes, value_ref from, unsigned bytes, value_ref mask);  // 0 where the mask is off
  value_ref gathered_words(value_ref pointers, type_ref element, unsigned bytes, int lanes, value_ref mask);
  value_ref to_memory(value_ref v, dtype t, int lanes);    // i1 -> i8
  value_ref from_memory(value_ref v, dtype t, int lanes);  // i8 -> i1
  value_ref mask_vector(ir::expr mask, int lanes);
  value_ref all_lanes(int lanes);
  void hint_rare(value_ref branch);
  value_ref zero_words();  // 128 bytes of 0 to read instead of what a mask forbids
  value_ref pointer_or_zeros(ir::buffer const* buf, ir::expr flat, ir::expr wanted);

  // regions
  struct region {
    block_ref before = nullptr;    // ends in the jump into the region; what is moved out goes in front of it
    bool is_loop = false;
    bool guarded = false;          // `before` runs only when the loop does
    bool has_loop = false;         // a loop stands inside
    std::uint64_t written = 0;     // alias classes stored to inside, as bits
    sequence<std::uint32_t> values, levels;  // expressions known since this region began
    std::size_t pointers = 0;      // of pointers_ at its beginning
  };
  void enter(block_ref before, bool is_loop, bool guarded, ir::stmt body);
  void leave();
  void forget_memory(std::uint64_t classes);
  static std::uint64_t class_of(ir::buffer const* b) { return std::uint64_t(1) << (b->alias_class % 63); }
  static std::uint64_t classes_written(ir::stmt s);
  static bool contains_loop(ir::stmt s);
  void turn_squares(ir::stmt const* first, ir::stmt const* last);
  bool store_squares(ir::stmt const* first, ir::stmt const* last);
  bool moves_in_outer_loop(int level) const;

  module_state& s_;
  api const& l_;
  builder_ref b_;
  sequence<value_ref> bases_;           // by buffer id: pointer to the elements
  sequence<value_ref> variables_;       // by loop variable
  sequence<int> variable_region_;       // by loop variable: position of its loop in regions_
  sequence<region> regions_;
  value_ref launch_ = nullptr;
  value_ref zeros_ = nullptr;

  // Everything that belongs to the function being emitted, for emitting another one meanwhile.
  struct known_pointer {
    ir::buffer const* buf;
    ir::expr prefix;
    value_ref pointer;
  };
  sequence<value_ref> values_;          // by expression id
  sequence<int> levels_;                // by expression id: region where its operands are known, + 1
  sequence<known_pointer> pointers_;

 private:
  value_ref make(ir::expr e);
  value_ref make_literal(ir::expr e);
  bool reads_literal(ir::expr e) const;
  value_ref load_literal(ir::expr e);
  value_ref make_load(ir::expr e);
  value_ref load_window(ir::buffer const* buf, flat_index const& flat, int lanes, ir::expr wanted);
  value_ref wanted_elements(value_ref mask, sequence<std::int64_t> const& places, std::int64_t begin, int elements);
  value_ref load_wanted(ir::buffer const* buf, ir::expr first, sequence<ir::expr> const& conditions, sequence<std::int64_t> const& places,
                        std::int64_t begin, int elements);
  value_ref emit_low_half(ir::expr e);
  value_ref permuted(sequence<value_ref> const& parts, ir::expr places, dtype type);
  value_ref make_cast(ir::expr e);
  value_ref make_half_cast(ir::expr e, value_ref a);
  value_ref saturated(ir::expr e, value_ref a);
  value_ref narrowed(ir::expr e, value_ref v, type_ref to);
  value_ref make_binary(ir::expr e);
  value_ref make_division(ir::expr e, value_ref a, value_ref b);
  value_ref make_comparison(op o, dtype t, value_ref a, value_ref b);
  value_ref smaller(dtype t, value_ref low, value_ref high, value_ref then, value_ref otherwise);
  value_ref make_rounded(ir::expr e);
  value_ref make_scaled(ir::expr e);
  value_ref make_rare(ir::expr e);
  value_ref make_instruction(ir::expr e);
  value_ref terms_side_by_side(ir::expr e, int operand);
  void turn_over(sequence<value_ref>& square, type_ref vector);
  sequence<value_ref> woven(sequence<value_ref> const& columns, int lanes);
  value_ref run_time_number(int member, std::int64_t position);
  int level_of(ir::expr e);
  int level_of_load(ir::expr e, int level) const;
  std::uint64_t memory_read(ir::expr e);
  template <class F>
  value_ref at_level(int level, F const& f);

  struct known_literal {
    std::int64_t bits;
    dtype type;
    int lanes, copy;
    value_ref global;
  };
  sequence<known_literal> literals_;    // of the module, as vectors in memory
  sequence<std::uint64_t> classes_;     // by expression id: alias classes read, as bits; never forgotten
  int rare_floor_ = -1;                    // inside what is rarely computed: the region around it
  int at_ = -1;                            // the region in which the builder stands; -1: the innermost
};

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/expr.ipp"
#include "weft/codegen/llvm/instruction.ipp"
#include "weft/codegen/llvm/memory.ipp"
#include "weft/codegen/llvm/transpose.ipp"
#include "weft/codegen/llvm/window.ipp"
#endif
