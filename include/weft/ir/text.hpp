// What the printer and the parser of loop programs share: how operations are spelt, and which names need quotes.
// For .ipp files only.
#pragma once

#include <string_view>

#include "weft/base/op.hpp"

namespace weft::inline WEFT_ABI {
namespace ir::detail {

/// How tightly a piece of text binds; infix operators stand in between, see `infixes`.
inline constexpr int level_any = 0, level_not = 3, level_comparison = 4, level_prefix = 11, level_primary = 12;

struct infix {
  op kind;
  int level;  // all group from the left, but comparisons do not chain
  std::string_view sign;
};
// A sign stands before every other sign that it begins with.
inline constexpr infix infixes[] = {
    {op::logical_or, 1, "or"}, {op::logical_and, 2, "and"}, {op::le, 4, "<="},         {op::eq, 4, "=="},
    {op::ne, 4, "!="},         {op::bit_or, 5, "|"},        {op::bit_xor, 6, "^"},     {op::bit_and, 7, "&"},
    {op::shl, 8, "<<"},        {op::shr, 8, ">>"},          {op::lt, 4, "<"},          {op::add, 9, "+"},
    {op::sub, 9, "-"},         {op::mul, 10, "*"},          {op::floor_div, 10, "//"}, {op::floor_mod, 10, "%%"},
    {op::div, 10, "/"},        {op::rem, 10, "%"}};

constexpr infix const* infix_of(op kind) {
  for (infix const& i : infixes)
    if (i.kind == kind) return &i;
  return nullptr;
}

/// Operations written as calls: name(a, b, ..).
inline constexpr op calls[] = {op::sqrt, op::floor, op::ceil, op::trunc,  op::round,
                               op::min,  op::max,   op::scaleb, op::fma,  op::select, op::rare};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Whether `word` is `stem` alone or with lanes behind it: true, truex16.
constexpr bool is_with_lanes(std::string_view word, std::string_view stem) {
  if (!word.starts_with(stem)) return false;
  word.remove_prefix(stem.size());
  if (word.empty()) return true;
  if (word[0] != 'x' || word.size() < 2) return false;
  for (char c : word.substr(1))
    if (!is_digit(c)) return false;
  return true;
}
/// No names, since they mean something.
inline constexpr std::string_view reserved[] = {
    "and", "or", "not", "self", "inf", "nan", "bits", "cast", "bitcast", "ramp", "broadcast", "instruction", "sqrt", "floor", "ceil",
    "trunc", "round", "min", "max", "scaleb", "fma", "select", "rare", "if", "else", "for", "let", "pass", "allocate", "accumulate",
    "block", "together", "barrier", "call", "exchange", "async", "commit", "wait", "buffer", "sizes", "scalars", "variables"};
/// Whether a name reads as itself; others stand in backquotes.
constexpr bool is_plain_name(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name)
    if (!is_letter(c) && !is_digit(c)) return false;
  for (std::string_view r : reserved)
    if (name == r) return false;
  return !is_with_lanes(name, "true") && !is_with_lanes(name, "false");
}

}  // namespace ir::detail
}  // namespace weft::inline WEFT_ABI
