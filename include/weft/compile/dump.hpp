// What WEFT_DUMP and WEFT_VERIFY want told and looked at on the way of a kernel.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "weft/base/env.hpp"
#include "weft/base/error.hpp"
#include "weft/base/joined.hpp"
#include "weft/ir/print.hpp"
#include "weft/ir/verify.hpp"
#include "weft/pass/pipeline.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// The next item of a list with commas, without the spaces around it.
inline std::string_view next_item(std::string_view& list) {
  std::size_t const comma = list.find(',');
  std::string_view one = list.substr(0, comma);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
  while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
  return one;
}
/// Whether WEFT_DUMP names `stage`, or the folder that it stands in.
inline bool dump_wanted(std::string_view stage) {
  char const* list = environment("WEFT_DUMP");
  if (list == nullptr) return false;
  for (std::string_view rest(list); !rest.empty();) {
    std::string_view const one = next_item(rest);
    if (one == stage || (stage.size() > one.size() && stage.substr(0, one.size()) == one && stage[one.size()] == '/'))
      return true;
  }
  return false;
}
/// Once in a process: the items of WEFT_DUMP that name nothing.
inline void name_unknown_dumps() {
  static bool told = false;
  char const* list = environment("WEFT_DUMP");
  if (list == nullptr || __atomic_exchange_n(&told, true, __ATOMIC_RELAXED)) return;
  std::string known;
  for (char const* one : {"schedule", "lower", "pass", "llvm", "asm", "cuda"}) (known += one) += ", ";
  auto const also = [&](char const* pass) {
    std::string const one = joined({"pass/", pass, ", "});
    if (known.find(one) == std::string::npos) known += one;
  };
  for (char const* pass : pass_names) also(pass);
  for (char const* pass : gpu_pass_names) also(pass);
  for (std::string_view rest(list); !rest.empty();) {
    std::string const one(next_item(rest));
    if (!one.empty() && (", " + known).find(joined({", ", one, ", "})) == std::string::npos)
      std::fprintf(stderr, "weft: WEFT_DUMP: no such item: %s; known are %s\n", one.c_str(),
                   known.substr(0, known.size() - 2).c_str());
  }
}
/// Shows the text of `stage`.
inline void dump(std::string_view stage, std::string const& text) {
  std::fprintf(stderr, "--- weft: %.*s\n%s", static_cast<int>(stage.size()), stage.data(), text.c_str());
}
/// Errors  internal_error with the loop program, where it is not sound.
inline void verify_or_throw(char const* after, ir::function const& f) {
  std::string const fault = verify(f);
  if (!fault.empty())
    WEFT_THROW(internal_error(joined({"after ", after, ": ", fault, "\n", print(f)})));
}
/// Whether WEFT_VERIFY asks for that after each pass.
inline bool verify_wanted() { return environment_switch("WEFT_VERIFY"); }
/// What is done after each pass, and the text that was there before it.
struct pass_log {
  bool verify = false;
  std::string last{};
};
/// For run_passes; `context` is a pass_log.
inline void after_pass(void* context, char const* pass, ir::function const& f) {
  auto& log = *static_cast<pass_log*>(context);
  if (log.verify) verify_or_throw(pass, f);
  std::string const stage = joined({"pass/", pass});
  if (!dump_wanted(stage)) return;
  std::string text = print(f);
  dump(stage, text == log.last ? "(no change)\n" : text);
  log.last = static_cast<std::string&&>(text);
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
