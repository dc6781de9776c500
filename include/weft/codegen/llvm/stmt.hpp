// Loop IR statements to LLVM basic blocks.
#pragma once

#include "weft/base/sequence.hpp"
#include "weft/codegen/llvm/expr.hpp"
#include "weft/codegen/llvm/prefetch.hpp"
#include "weft/ir/simplify.hpp"  // range_table

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

/// Emits the LLVM functions of a kernel: its body, and the body of each of its parallel loops.
///
/// A parallel loop's body is a function of its own, internal(launch, buffers.., loop variables.., begin, end):
/// buffers that share memory with no other are noalias parameters there, which LLVM can use and loads cannot
/// say. It is called through a thunk that unpacks what parallel_for passes on.
class function_emitter : public expression_emitter {
 public:
  explicit function_emitter(module_state& s) : expression_emitter(s) {}

  /// `int32 name(launch*)`, the only exported symbol.
  void entry(std::string const& name);

 protected:
  /// What is emitted from here on belongs to `s` (null: to the whole) and stands in function_.
  virtual void located(ir::stmt) {}
  /// Where code of other threads may have given up meanwhile.
  virtual void stop_if_failed() {}
  /// What the kernel returns.
  virtual value_ref result();
  virtual value_ref new_function(std::string const& name, type_ref result, sequence<type_ref> parameters, bool exported);
  value_ref alloca_in_entry(type_ref type, unsigned alignment);
  /// Word `position` of a struct of words.
  value_ref member(value_ref of, std::int64_t position) {
    value_ref at[] = {number(position)};
    return l_.BuildLoad2(b_, pointer(), l_.BuildGEP2(b_, pointer(), of, at, 1, ""), "");
  }
  block_ref new_block();
  value_ref function_ = nullptr;
  block_ref last_store_ = nullptr;  // where it began
  sequence<std::int32_t> open_;  // loop variables around the current statement

 private:
  struct frame;  // what is saved while another function is emitted

  void statement(ir::stmt s);
  void loop(ir::stmt s);
  void parallel(ir::stmt s);
  void store(ir::stmt s);
  void store_past_caches(value_ref v, value_ref to, unsigned bytes, unsigned element_bytes);
  void end_stores();
  void branch(ir::stmt s);
  void tile(ir::stmt s);
  bool begins_tiles(ir::stmt s) const;
  void with_tiles_on(ir::stmt s);
  value_ref tile_register(ir::buffer const* fragment);
  void free_tile_register(ir::buffer const* b);
  void allocate(ir::stmt s);
  void call(ir::stmt s);
  void counted(ir::stmt s, value_ref begin, value_ref end, bool at_least_once);
  void prefetch(ir::stmt s);
  sequence<detail::asked_line> asked_in(ir::stmt s, ir::prefetched const& p);
  void ask(ir::prefetched const& p, detail::asked_line const& a, value_ref where);
  void ask_in_turns(ir::stmt s, ir::prefetched const& p, sequence<detail::asked_line> const& asked, int& left);

  value_ref body_function(std::string const& name, sequence<std::int32_t> const& variables, bool ranged);
  void open_body(value_ref function, sequence<std::int32_t> const& variables);
  sequence<value_ref> load_buffers();
  void answer_workspace();
  /// Of the body of a parallel loop; of memory on the stack only what is there already.
  bool is_parameter(ir::buffer const* b) const {
    if (b->where != ir::scope::stack) return b->where != ir::scope::registers;
    auto const id = static_cast<std::size_t>(b->id);
    return id < bases_.size() && bases_[id] != nullptr;
  }

  block_ref entry_ = nullptr;
  struct stack_slot {
    value_ref function = nullptr, address = nullptr;
  };
  sequence<stack_slot> slots_;      // by buffer
  range_table ranges_;              // of the loop variables: a loop that surely runs needs no test before it
  int bodies_ = 0;
  bool calls_ = false;        // functions of the program's
  bool past_caches_ = false;  // the function has stored so since its last fence
  bool has_tiles_ = false, has_tiles_on_ = false;  // of AMX
  value_ref tile_shapes_ = nullptr;  // for all of its registers
  sequence<int> tile_of_;            // by buffer: the register that is its
  unsigned tiles_used_ = 0;
};

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/llvm/prefetch.ipp"
#include "weft/codegen/llvm/stmt.ipp"
#include "weft/codegen/llvm/tile.ipp"
#endif
