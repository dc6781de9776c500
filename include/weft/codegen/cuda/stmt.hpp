// Statements as CUDA text: which loop becomes the grid, and everything inside it.
#pragma once

#include <string>

#include "weft/codegen/cuda/expr.hpp"

namespace weft::inline WEFT_ABI {
namespace cuda_text {

/// Whether each statement of a body is for a launch of its own.
bool is_row_of_launches(ir::stmt s);

/// What a kernel's text wants of its launch.
struct launch_text {
  std::string body;
  ir::expr blocks[3] = {};    // null: 1
  std::int32_t threads[3] = {1, 1, 1};
  std::int64_t shared_bytes = 0;
  ir::expr iterations = nullptr;  // of a parallel loop: a thread for each
};

/// Prints what one thread does. A parallel loop inside the grid's runs serially: the kind only permits.
class stmt_printer {
 public:
  explicit stmt_printer(kernel_text& k) : k_(k), exprs_(k) {}
  /// The body of the kernel that runs one statement of the function's (pass/threads.hpp).
  ///
  ///     for b in 0..8 block_x:             int const b = blockIdx.x;
  ///       allocate row: f32[64]:     ->    float* const row = (float*)weft_shared;
  ///         for tx in 0..64 thread_x:      int const tx = threadIdx.x;
  ///           body                         body
  ///
  ///     parallel i in 0..n:          ->    long long const i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  ///       body                             if (i < n) { body }
  ///
  /// Without such a loop the first thread runs it all.
  /// Errors  internal_error: a parallel loop inside other statements (threads of one launch cannot wait for each other then),
  ///         vector code
  launch_text launch(ir::stmt s);

 private:
  void print(ir::stmt s);
  void grid(ir::stmt loop);
  void bound(ir::stmt s);
  void shared(ir::buffer const* b);
  void workspace(ir::stmt s);
  void wide(ir::stmt s);
  void loop(ir::stmt s);
  void call(ir::stmt s);
  void tile(ir::stmt s);
  void mma_tile(ir::stmt s);
  void mma_store(ir::stmt s);
  void products_of_four_warps(ir::list<ir::stmt> tiles);
  void settle();
  void find_fragments(ir::stmt s);
  std::string fragment(ir::buffer const* b, ir::list<ir::expr> const& indices);
  void unroll(ir::stmt s);
  void updates(ir::list<ir::stmt> const& together);
  void old_element(ir::stmt s, std::string const& element, bool wanted);
  void exchange(ir::stmt s);
  void copy(ir::stmt s);
  void group(ir::stmt s);
  void branch(ir::stmt s);
  void allocate(ir::stmt s);
  void line(std::string const& text) { out_ += indent_ + text + "\n"; }
  void open(std::string const& head);
  void close();
  void enter(ir::stmt loop, std::string const& begin);
  void leave(ir::stmt loop);
  std::string first_iteration(ir::stmt s);

  struct fragment_info {
    intrinsic const* unit = nullptr;
    char which = 0;
    bool row = true;  // how the matrix lies that is in it
  };
  kernel_text& k_;
  expr_printer exprs_;
  sequence<fragment_info> fragments_;  // by buffer
  std::string names_of_pairs_[3];      // of locals of mma_store
  bool has_four_warps_ = false;        // products that run on by themselves: barriers wait for them
  bool products_run_ = false;          // some may, here
  std::string out_, indent_ = "  ";
  launch_text launch_;
  sequence<bool> shared_;  // by buffer: of the whole block
};

}  // namespace cuda_text
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/copies.ipp"
#include "weft/codegen/cuda/mma_tile.ipp"
#include "weft/codegen/cuda/wgmma.ipp"
#include "weft/codegen/cuda/stmt.ipp"
#endif
