// What a kernel is compiled from, and for what: all that the way from a program to code is asked (make_schedule.hpp, make_loops.hpp, ../compile.hpp).
#pragma once

#include <string>
#include <string_view>

#include "weft/base/env.hpp"
#include "weft/codegen/launch.hpp"
#include "weft/codegen/target.hpp"
#include "weft/ir/ir.hpp"
#include "weft/lower/layout.hpp"
#include "weft/options.hpp"
#include "weft/schedule/rules/input.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

struct argument;
struct compile_request;
struct kernel_face;
/// What goes another way for a GPU (cuda.ipp), so that schedules are made, searched and remembered alike for both.
struct gpu_way {
  /// What a rule is told of the call.
  rule_input (*told)(compile_request const& r);
  /// The schedule by rule, or a thread for each element where `in` is null; which plan it was.
  std::uint8_t (*by_rule)(schedule& s, rule_input const* in);
  /// The loop program before and after passes; the latter is checked, and what a worker gets.
  ir::function (*lowered)(ir::arena& m, compile_request const& r, schedule const& s);
  ir::function (*loops)(ir::arena& m, compile_request const& r, schedule const& s);
  /// Whether it becomes launches that the machine of the request can do.
  bool (*fits)(compile_request const& r, schedule const& s);
  call_layout (*bind)(program const& what, std::string_view name, argument const* arguments, int count);
  /// A GPU as a target: its architecture as the CPU, its name as the one feature, its processors as threads, what a block may share
  /// as the first cache. Errors: device_error without a driver or such a device
  target (*machine)(int device);
  std::string (*schedule_reason)(kernel_face const& face, argument* arguments, int count);
};

/// What is to be compiled, and for what.
struct compile_request {
  std::string_view name;
  program const* what = nullptr;  // canonical
  /// Writes the schedule; null: the plain nest.
  void (*how)(void const* context, schedule& s) = nullptr;
  void const* context = nullptr;
  call_layout const* layout = nullptr;
  target const* machine = nullptr;
  options wanted{};
  bool by_rule = false;  // where there is no `how`: a schedule by rule (schedule/rules/rules.hpp)
  rule_input const* told = nullptr;  // what the rule is told; null: made of the others, at each schedule
  gpu_way const* gpu = nullptr;      // null: for a CPU
  sequence<std::string>* reasons = nullptr;  // where a rule says why it left something undone (rule_input::told)
  int device = 0;  // the number of the GPU
};

namespace detail {
inline bool is_set(bool asked, char const* variable) { return asked || environment_switch(variable); }
inline bool is_bitwise(compile_request const& r) { return is_set(r.wanted.bitwise, "WEFT_BITWISE"); }
inline bool is_checked(options const& o) { return is_set(o.checked, "WEFT_CHECKED"); }
}  // namespace detail

}  // namespace weft::inline WEFT_ABI
