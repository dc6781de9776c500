// Statements as CUDA text: which loop becomes the grid, and everything inside it.
#pragma once

#include <string>

#include "weft/codegen/cuda/expr.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// Prints what one thread does. A parallel loop inside the grid's runs serially: the kind only permits.
class stmt_printer {
 public:
  explicit stmt_printer(kernel_text& k) : k_(k), exprs_(k) {}
  /// The kernel's body.
  ///
  ///     parallel i in 0..n:     ->    long long const i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  ///       body                        if (i < n) { body }
  ///
  /// Without a parallel loop the first thread runs it all.
  /// Errors  internal_error: a parallel loop that is not the whole body (threads of one launch cannot wait for
  ///         each other yet), vector code, memory in the workspace
  std::string body();

 private:
  void print(ir::stmt s);
  void grid(ir::stmt loop);
  void loop(ir::stmt s);
  void updates(ir::list<ir::stmt> const& together);
  void old_element(ir::stmt s, std::string const& element, bool wanted);
  void branch(ir::stmt s);
  void allocate(ir::stmt s);
  void line(std::string const& text) { out_ += indent_ + text + "\n"; }
  void open(std::string const& head);
  void close();
  void enter(ir::stmt loop, std::string const& begin);
  std::string first_iteration(ir::stmt s);

  kernel_text& k_;
  expr_printer exprs_;
  std::string out_, indent_ = "  ";
};

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/stmt.ipp"
#endif
