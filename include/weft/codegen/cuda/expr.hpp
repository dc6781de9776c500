// Expressions as CUDA text.
#pragma once

#include <string>

#include "weft/base/sequence.hpp"
#include "weft/codegen/cuda/types.hpp"
#include "weft/ir/simplify.hpp"  // range_table

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// A loop variable while its loop is open: its name, where it starts, and its magnitude in bits; below 32, it is an int.
struct open_variable {
  std::string name, begin;
  int bits = 64;
  bool open = false;
};

/// What all parts of one kernel's text share.
struct kernel_text {
  /// number: of the launch, from 0 on.
  explicit kernel_text(ir::function const& f, int number = 0);
  /// Says that the printer cannot express something. Errors: internal_error, always.
  [[noreturn]] void refuse(std::string const& why) const;

  ir::function const& f;
  names taken;
  std::string kernel;                                // its name, as cuda_kernel_name says
  sequence<std::string> buffers, sizes, scalars;  // their names in the text
  sequence<std::string> selves;                      // of the accumulates that are being printed
  sequence<std::string> in_lane;  // by buffer, of a fragment: the element that a lane is at; empty: none
  sequence<open_variable> variables;
  range_table ranges;  // of those that are open
  sequence<std::string> called;  // prelude functions, and types
  std::string prelude, workspace;
  bool uses_workspace = false;
  /// Puts a definition in front of the kernel, once.
  void need(std::string const& name, std::string const& definition);
};

/// How tightly an expression binds, as far as the text needs it.
enum class binding { none, logical, comparison, sum, product, prefix, whole };

/// Prints the expressions of one statement. What is used twice gets a local; what is read only under a
/// condition stays there: printed once per use where that is short, else its select is a branch, with locals of its own.
///
/// What both ways of a select surely read is read in front of it.
/// A known gap: what two branches read, and nothing in front of both, is computed in each; past 1 MB the kernel is refused.
class expr_printer {
 public:
  explicit expr_printer(kernel_text& k) : k_(k) {}

  /// Declares the locals that `roots` share. The text, one line each, stands before the uses; all of `text`
  /// until the next `share` belongs to these roots.
  std::string share(sequence<ir::expr> const& roots, std::string const& indent);
  std::string text(ir::expr e, binding needed = binding::none);
  /// The text of `buf[indices]`, as an lvalue; or of what stands there if its rows are not swizzled.
  std::string element(ir::buffer const* buf, ir::list<ir::expr> const& indices, bool as_if_plain = false);
  /// The text of an i64 where the place says that it is one: literals without suffix.
  std::string plain(ir::expr e, binding needed = binding::none);
  /// How many bits the magnitude of an i64 has at most: below 64, its C++ text cannot overflow.
  int bits(ir::expr e);
  /// Whether the C++ text of an i64 is an int: all that it is made of surely fits one.
  bool is_int(ir::expr e);

 private:
  struct note {
    std::int32_t uses = 0;
    std::int16_t bits = 0;  // 0: not asked yet
    std::int8_t fits_int = -1;
    bool always = false;    // stands under no condition
    bool reads = false;     // memory of others, under a condition
    bool repeats = false;   // the text has something twice that reads so
    bool declared = false;
    bool collected = false;
    std::int32_t length = 0;  // operations in the text
    std::int32_t walk = 0;    // the last that came by
    std::string local;
  };
  note& at(ir::expr e);
  void count(ir::expr e);
  void mark_always(ir::expr e);
  void walk_sure(ir::expr e, std::int32_t known, sequence<ir::expr>& met);
  sequence<ir::expr> in_both_ways(ir::expr e);
  void declare(ir::expr e, std::string const& indent, std::string& out);
  bool is_rung(ir::expr e);
  void branch(ir::expr e, std::string const& indent, std::string& out);
  void arm(ir::expr e, std::string const& local, std::string const& indent, std::string& out);
  void collect(ir::expr e, sequence<ir::expr>& inside);
  std::string local_type(ir::expr e);
  std::string call(op kind, dtype type, sequence<ir::expr> const& arguments, dtype to = dtype::boolean);
  std::string arithmetic(char const* sign, ir::expr e, binding left, binding right);
  bool is_whole(ir::expr e);
  bool makes_int(ir::expr e);
  std::string infix(char const* sign, ir::expr a, ir::expr b, binding left, binding right);
  std::string operation(ir::expr e, binding& own);
  std::string conversion(ir::expr e, binding& own);

  kernel_text& k_;
  sequence<note> notes_;  // by expr id
  sequence<ir::expr> touched_;
  std::int32_t walk_ = 0;
};

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/expr.ipp"
#endif
