#include <cstring>

#include "weft/base/joined.hpp"
#include "weft/codegen/launch.hpp"
#include "weft/codegen/llvm/stmt.hpp"
#include "weft/codegen/workspace.hpp"
#include "weft/pass/thread_tree.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

WEFT_DECL block_ref function_emitter::new_block() { return l_.AppendBasicBlockInContext(s_.context, function_, ""); }

WEFT_DECL value_ref function_emitter::new_function(std::string const& name, type_ref result,
                                                   sequence<type_ref> parameters, bool exported) {
  type_ref const t = l_.FunctionType(result, parameters.data(), static_cast<unsigned>(parameters.size()), 0);
  value_ref const f = l_.AddFunction(s_.module, name.c_str(), t);
  if (!exported) l_.SetLinkage(f, InternalLinkage);
  auto const enumerated = [&](char const* attribute, std::uint64_t value) {
    unsigned const kind = l_.GetEnumAttributeKindForName(attribute, std::strlen(attribute));
    l_.AddAttributeAtIndex(f, AttributeFunctionIndex, l_.CreateEnumAttribute(s_.context, kind, value));
  };
  enumerated("nounwind", 0);
  enumerated("uwtable", 2);
  std::string const width = std::to_string(s_.machine.vector_bytes * 8);
  l_.AddTargetDependentFunctionAttr(f, "target-cpu", s_.machine.cpu.c_str());
  l_.AddTargetDependentFunctionAttr(f, "target-features", s_.machine.feature_string().c_str());
  l_.AddTargetDependentFunctionAttr(f, "prefer-vector-width", width.c_str());
  // Without this, a large frame on a small thread stack can step over the guard page.
  l_.AddTargetDependentFunctionAttr(f, "probe-stack", "inline-asm");
  // LLVM aligns what it keeps on the stack of vectors only where it has a frame pointer before it looks for registers. A vector of 64 bytes
  // that lies 16 off its place halves the speed of a kernel, in every second process.
  if (!exported && s_.machine.vector_bytes > 16) l_.AddTargetDependentFunctionAttr(f, "frame-pointer", "all");
  return f;
}

/// The buffers' addresses, by buffer id; registers have none yet.
WEFT_DECL sequence<value_ref> function_emitter::load_buffers() {
  sequence<value_ref> bases(s_.f.buffers.size(), nullptr);
  value_ref const pointers = l_.BuildLoad2(b_, pointer(), launch_, "");
  value_ref workspace = nullptr, kept = nullptr;
  for (ir::buffer const* b : s_.f.buffers) {
    auto const id = static_cast<std::size_t>(b->id);
    if (b->where == ir::scope::argument) {
      value_ref at[] = {number(b->argument)};
      bases[id] = l_.BuildLoad2(b_, pointer(), l_.BuildGEP2(b_, pointer(), pointers, at, 1, ""), "");
    } else if (b->where == ir::scope::heap || b->where == ir::scope::kept) {
      value_ref& from = b->where == ir::scope::heap ? workspace : kept;
      if (from == nullptr) {
        value_ref member[] = {number(b->where == ir::scope::heap ? 3 : 7)};
        from = l_.BuildLoad2(b_, pointer(), l_.BuildGEP2(b_, pointer(), launch_, member, 1, ""), "");
      }
      value_ref offset[] = {emit(workspace_offset(*s_.f.nodes, s_.f, b, b->where))};
      bases[id] = l_.BuildGEP2(b_, l_.Int8TypeInContext(s_.context), from, offset, 1, "");
    }
  }
  return bases;
}

/// if (launch->wanted != nullptr) return launch->wanted[0] = bytes, launch->wanted[1] = bytes that are kept, 0;
/// Code that may keep something answers also where nothing is left of that (its reads are never done): who calls it knows the
/// program alone.
WEFT_DECL void function_emitter::answer_workspace() {
  ir::arena& m = *s_.f.nodes;
  ir::expr bytes = workspace_wanted(m, s_.f);
  ir::expr kept = workspace_wanted(m, s_.f, ir::scope::kept);
  bool const may_keep = !s_.f.scalars.empty() && s_.f.scalars.back().type == dtype::boolean;
  if (!may_keep && (s_.f.sizes.empty() || bytes == nullptr)) return;
  if (bytes == nullptr) bytes = ir::literal(m, dtype::f64, 0);
  if (kept == nullptr && may_keep) kept = ir::literal(m, dtype::f64, 0);
  value_ref member[] = {number(6)};
  value_ref const to = l_.BuildLoad2(b_, pointer(), l_.BuildGEP2(b_, pointer(), launch_, member, 1, ""), "");
  block_ref const before = l_.GetInsertBlock(b_), answer = new_block(), after = new_block();
  l_.BuildCondBr(b_, l_.BuildICmp(b_, IntEQ, to, l_.ConstNull(pointer()), ""), after, answer);
  l_.PositionBuilderAtEnd(b_, answer);
  enter(before, false, false, ir::block(*s_.f.nodes, {}));
  l_.BuildStore(b_, emit(bytes), to);
  value_ref next[] = {number(1)};
  if (kept != nullptr) l_.BuildStore(b_, emit(kept), l_.BuildGEP2(b_, l_.DoubleTypeInContext(s_.context), to, next, 1, ""));
  leave();
  l_.BuildRet(b_, l_.ConstNull(l_.Int32TypeInContext(s_.context)));
  l_.PositionBuilderAtEnd(b_, after);
}

/// body(launch, buffers.., variables.. [, begin, end])
WEFT_DECL value_ref function_emitter::body_function(std::string const& name,
                                                    sequence<std::int32_t> const& variables, bool ranged) {
  sequence<type_ref> parameters{pointer()};
  sequence<unsigned> alone;  // parameters whose memory no other buffer shares
  for (ir::buffer const* b : s_.f.buffers) {
    if (!is_parameter(b)) continue;
    bool shared = false;
    for (ir::buffer const* o : s_.f.buffers) shared = shared || (o != b && o->alias_class == b->alias_class);
    if (!shared) alone.push_back(static_cast<unsigned>(parameters.size()));
    parameters.push_back(pointer());
  }
  for (std::size_t i = 0; i < variables.size() + (ranged ? 2 : 0); ++i) parameters.push_back(i64());
  value_ref const f = new_function(name, l_.VoidTypeInContext(s_.context), parameters, false);
  unsigned const noalias = l_.GetEnumAttributeKindForName("noalias", 7);
  for (unsigned p : alone) l_.AddAttributeAtIndex(f, p + 1, l_.CreateEnumAttribute(s_.context, noalias, 0));
  return f;
}
WEFT_DECL void function_emitter::open_body(value_ref function, sequence<std::int32_t> const& variables) {
  function_ = function;
  located(nullptr);
  entry_ = new_block();
  block_ref const start = new_block();
  l_.PositionBuilderAtEnd(b_, entry_);
  l_.BuildBr(b_, start);
  l_.PositionBuilderAtEnd(b_, start);
  unsigned next = 0;
  launch_ = l_.GetParam(function, next++);
  for (ir::buffer const* b : s_.f.buffers)
    if (is_parameter(b)) bases_[static_cast<std::size_t>(b->id)] = l_.GetParam(function, next++);
  for (std::int32_t v : variables) variables_[static_cast<std::size_t>(v)] = l_.GetParam(function, next++);
}
WEFT_DECL value_ref function_emitter::alloca_in_entry(type_ref type, unsigned alignment) {
  block_ref const here = l_.GetInsertBlock(b_);
  l_.PositionBuilderBefore(b_, l_.GetBasicBlockTerminator(entry_));
  value_ref const slot = l_.BuildAlloca(b_, type, "");
  l_.SetAlignment(slot, alignment);
  l_.PositionBuilderAtEnd(b_, here);
  moved_back();
  return slot;
}

namespace detail {
inline bool has_call(ir::stmt s) {
  bool found = s->kind == ir::stmt_kind::call;
  for (ir::stmt c : s->children) found = found || has_call(c);
  return found;
}
}  // namespace detail
WEFT_DECL value_ref function_emitter::result() {
  type_ref const code = l_.Int32TypeInContext(s_.context);
  return calls_ ? l_.BuildLoad2(b_, code, member(launch_, 5), "") : l_.ConstNull(code);
}
WEFT_DECL void function_emitter::entry(std::string const& name) {
  calls_ = detail::has_call(s_.f.body);
  has_tiles_ = weft::detail::has_tile(s_.f.body);
  variables_.assign(s_.f.variables.size(), nullptr);
  variable_region_.assign(s_.f.variables.size(), 0);
  value_ref const exported = new_function(name, l_.Int32TypeInContext(s_.context), {pointer()}, true);
  value_ref const body = body_function(name + ".body", {}, false);
  function_ = exported;
  l_.PositionBuilderAtEnd(b_, new_block());
  located(nullptr);
  enter(nullptr, false, false, s_.f.body);
  launch_ = l_.GetParam(exported, 0);
  answer_workspace();
  bases_ = load_buffers();
  sequence<value_ref> arguments{launch_};
  for (ir::buffer const* b : s_.f.buffers)
    if (is_parameter(b)) arguments.push_back(bases_[static_cast<std::size_t>(b->id)]);
  sequence<type_ref> types(arguments.size(), pointer());
  type_ref const t = l_.FunctionType(l_.VoidTypeInContext(s_.context), types.data(), static_cast<unsigned>(types.size()), 0);
  l_.BuildCall2(b_, t, body, arguments.data(), static_cast<unsigned>(arguments.size()), "");
  l_.BuildRet(b_, result());
  leave();
  open_body(body, {});
  enter(nullptr, false, false, s_.f.body);
  statement(s_.f.body);
  end_stores();
  l_.BuildRetVoid(b_);
  leave();
}

WEFT_DECL void function_emitter::statement(ir::stmt s) {
  if (begins_tiles(s)) return with_tiles_on(s);
  located(s);
  switch (s->kind) {
    case ir::stmt_kind::block:
      for (std::size_t i = 0, stores = 0; i < s->children.size(); ++i) {
        if (i == stores && !checks_) {  // at the first of some behind one another
          while (stores < s->children.size() && s->children[stores]->kind == ir::stmt_kind::store) ++stores;
          if (stores > i + 1) {
            turn_squares(s->children.begin() + i, s->children.begin() + stores);
            if (store_squares(s->children.begin() + i, s->children.begin() + stores)) {
              i = stores - 1;
              continue;
            }
          }
          if (stores == i) ++stores;
        }
        statement(s->children[i]);
      }
      return;
    case ir::stmt_kind::loop: return s->how == loop_kind::parallel ? parallel(s) : loop(s);
    case ir::stmt_kind::store: return store(s);
    case ir::stmt_kind::branch: return branch(s);
    case ir::stmt_kind::allocate: return allocate(s);
    case ir::stmt_kind::call: return call(s);
    case ir::stmt_kind::tile: return tile(s);
    case ir::stmt_kind::accumulate:
    case ir::stmt_kind::together:
    case ir::stmt_kind::barrier:
    case ir::stmt_kind::exchange:
    case ir::stmt_kind::commit:
    case ir::stmt_kind::wait: break;
  }
  WEFT_THROW(internal_error("llvm: an accumulate is left after pass/promote, or what threads of a GPU do together"));
}

/// if (launch->failed->state != 0) return; code = launch->functions[number](words); if (code != 0) launch->failed->numbers[0] =
/// number, ->state = code, return; It has failed already where an executor left a loop undone: the function must not see that.
WEFT_DECL void function_emitter::call(ir::stmt s) {
  sequence<value_ref> words;
  for (ir::buffer const* b : s->buffers) {
    words.push_back(bases_[static_cast<std::size_t>(b->id)]);
    for (ir::expr e : b->shape) words.push_back(emit(e));
    for (ir::expr e : b->strides) words.push_back(emit(e));
  }
  value_ref const list = alloca_in_entry(l_.ArrayType2(i64(), words.size()), 16);
  auto const word = [&](value_ref of, std::int64_t position) {
    value_ref at[] = {number(position)};
    return l_.BuildGEP2(b_, i64(), of, at, 1, "");
  };
  for (std::size_t i = 0; i < words.size(); ++i) l_.BuildStore(b_, words[i], word(list, static_cast<std::int64_t>(i)));
  type_ref const code_type = l_.Int32TypeInContext(s_.context);
  type_ref parameters[] = {pointer()};
  value_ref arguments[] = {list};
  end_stores();
  value_ref const failed = member(launch_, 5), nothing = l_.ConstNull(code_type);
  auto const leave_unless = [&](value_ref good, auto const& before) {
    block_ref const bad = new_block(), fine = new_block();
    hint_rare(l_.BuildCondBr(b_, l_.BuildNot(b_, good, ""), bad, fine));
    l_.PositionBuilderAtEnd(b_, bad);
    before();
    l_.BuildRetVoid(b_);
    l_.PositionBuilderAtEnd(b_, fine);
  };
  leave_unless(l_.BuildICmp(b_, IntEQ, l_.BuildLoad2(b_, code_type, failed, ""), nothing, ""), [] {});
  value_ref const code =
      l_.BuildCall2(b_, l_.FunctionType(code_type, parameters, 1, 0), member(member(launch_, 8), s->number), arguments, 1, "");
  forget_memory(classes_written(s));
  leave_unless(l_.BuildICmp(b_, IntEQ, code, nothing, ""), [&] {
    l_.BuildStore(b_, number(s->number), word(failed, 2));
    l_.BuildStore(b_, code, failed);
  });
}
WEFT_DECL void function_emitter::loop(ir::stmt s) {
  value_ref const begin = emit(s->begin);
  value_ref const end = ir::is_literal(s->begin, 0) ? emit(s->extent) : l_.BuildAdd(b_, begin, emit(s->extent), "");
  bool const at_least_once = ranges_.of(s->extent).low >= 1;
  ranges_.set(s->variable, s->begin, s->extent);
  counted(s, begin, end, at_least_once);
}
/// for variable in begin .. end: body, tested at its end; before it too when it may run no time at all.
WEFT_DECL void function_emitter::counted(ir::stmt s, value_ref begin, value_ref end, bool at_least_once) {
  std::int32_t const variable = s->variable;
  ir::stmt const body = s->children[0];
  block_ref const header = new_block(), after = new_block();
  if (!at_least_once) {
    block_ref const preheader = new_block();
    l_.BuildCondBr(b_, l_.BuildICmp(b_, IntSLT, begin, end, ""), preheader, after);
    l_.MoveBasicBlockAfter(preheader, l_.GetInsertBlock(b_));
    l_.PositionBuilderAtEnd(b_, preheader);
  }
  l_.BuildBr(b_, header);
  block_ref before = l_.GetInsertBlock(b_);
  enter(before, true, !at_least_once, body);
  l_.PositionBuilderAtEnd(b_, header);
  value_ref const v = l_.BuildPhi(b_, i64(), "");
  variables_[static_cast<std::size_t>(variable)] = v;
  variable_region_[static_cast<std::size_t>(variable)] = static_cast<int>(regions_.size()) - 1;
  open_.push_back(variable);
  prefetch(s);
  statement(body);
  open_.pop_back();
  value_ref next = l_.BuildNSWAdd(b_, v, number(1), "");
  block_ref latch = l_.GetInsertBlock(b_);
  l_.BuildCondBr(b_, l_.BuildICmp(b_, IntSLT, next, end, ""), header, after);
  l_.AddIncoming(v, &begin, &before, 1);
  l_.AddIncoming(v, &next, &latch, 1);
  leave();
  l_.MoveBasicBlockAfter(after, latch);
  l_.PositionBuilderAtEnd(b_, after);
}

struct function_emitter::frame {
  value_ref function, launch;
  block_ref entry, block;
  sequence<value_ref> bases, variables, values;
  sequence<int> variable_region, levels;
  sequence<region> regions;
  sequence<known_pointer> pointers;
};

namespace detail {
/// What is allocated for each thread that runs the parallel loop around `s`; of a parallel loop in it, that one's own is not.
inline void find_memory_of_threads(ir::stmt s, sequence<ir::buffer const*>& found) {
  if (s->kind == ir::stmt_kind::loop && s->how == loop_kind::parallel) return;
  bool is_new = s->kind == ir::stmt_kind::allocate && s->buf->places > 0;
  for (ir::buffer const* b : found) is_new = is_new && b != s->buf;
  if (is_new) found.push_back(s->buf);
  for (ir::stmt c : s->children) find_memory_of_threads(c, found);
}
}  // namespace detail

WEFT_DECL void function_emitter::parallel(ir::stmt s) {
  value_ref const begin = emit(s->begin), extent = emit(s->extent);
  ranges_.set(s->variable, s->begin, s->extent);
  std::string const name = joined({s_.name, ".parallel", std::to_string(bodies_++)});
  struct own_memory {
    ir::buffer const* buf;
    std::size_t word;  // where its address stands
    value_ref bytes;   // of a place
  };
  sequence<own_memory> own;
  std::int64_t places = any_number_of_places;
  sequence<ir::buffer const*> of_threads;
  detail::find_memory_of_threads(s->children[0], of_threads);
  for (ir::buffer const* b : of_threads) {
    if (b->places < places) places = b->places;
    own.push_back({b, 0, emit(ir::binary(*s_.f.nodes, op::mul, workspace_lines(*s_.f.nodes, b), ir::index(*s_.f.nodes, 64)))});
  }
  // The context: launch, begin, [extent,] buffers.., variables.., bytes of places.., a word each.
  sequence<value_ref> words{launch_, begin};
  sequence<bool> is_address{true, false};
  if (s->threads > 0) words.push_back(extent), is_address.push_back(false);
  for (ir::buffer const* b : s_.f.buffers) {
    if (!is_parameter(b)) continue;
    for (own_memory& o : own)
      if (o.buf == b) o.word = words.size();
    words.push_back(bases_[static_cast<std::size_t>(b->id)]), is_address.push_back(true);
  }
  for (std::int32_t v : open_) words.push_back(variables_[static_cast<std::size_t>(v)]), is_address.push_back(false);
  for (own_memory const& o : own) words.push_back(o.bytes), is_address.push_back(false);
  value_ref const context = alloca_in_entry(l_.ArrayType2(i64(), words.size()), 16);
  for (std::size_t i = 0; i < words.size(); ++i) {
    value_ref at[] = {number(static_cast<std::int64_t>(i))};
    l_.BuildStore(b_, words[i], l_.BuildGEP2(b_, i64(), context, at, 1, ""));
  }
  type_ref const void_type = l_.VoidTypeInContext(s_.context);
  value_ref const body = body_function(name, open_, true);
  value_ref const thunk = new_function(name + ".thunk", void_type, {pointer(), i64(), i64(), i64()}, false);

  value_ref member[] = {number(4)}, one[] = {number(1)};
  value_ref const host = l_.BuildLoad2(b_, pointer(), l_.BuildGEP2(b_, pointer(), launch_, member, 1, ""), "");
  value_ref const run = l_.BuildLoad2(b_, pointer(), host, "");
  value_ref const pool = l_.BuildLoad2(b_, pointer(), l_.BuildGEP2(b_, pointer(), host, one, 1, ""), "");
  type_ref service[] = {pointer(), i64(), i64(), pointer(), pointer()};
  // By at most so many threads: so many pieces, of which piece p begins at iteration p * extent / pieces.
  value_ref pieces = extent;
  if (s->threads > 0)
    pieces = l_.BuildSelect(b_, l_.BuildICmp(b_, IntSLT, extent, number(s->threads), ""), extent, number(s->threads), "");
  value_ref call[] = {pool, pieces, number(places), thunk, context};
  end_stores();
  l_.BuildCall2(b_, l_.FunctionType(void_type, service, 5, 0), run, call, 5, "");
  forget_memory(classes_written(s));
  stop_if_failed();
  frame saved{function_,        launch_, entry_,           l_.GetInsertBlock(b_), bases_,    variables_,
              values_, variable_region_, levels_, regions_, pointers_};

  function_ = thunk;
  l_.PositionBuilderAtEnd(b_, new_block());
  located(s);
  sequence<value_ref> arguments;
  sequence<type_ref> types;
  for (std::size_t i = 0; i < words.size(); ++i) {
    value_ref at[] = {number(static_cast<std::int64_t>(i))};
    types.push_back(is_address[i] ? pointer() : i64());
    arguments.push_back(
        l_.BuildLoad2(b_, types.back(), l_.BuildGEP2(b_, i64(), l_.GetParam(thunk, 0), at, 1, ""), ""));
  }
  for (std::size_t i = own.size(); i-- > 0;) {
    value_ref at[] = {l_.BuildMul(b_, l_.GetParam(thunk, 3), arguments.back(), "")};
    arguments[own[i].word] = l_.BuildGEP2(b_, l_.Int8TypeInContext(s_.context), arguments[own[i].word], at, 1, "");
    arguments.pop_back(), types.pop_back();
  }
  value_ref const first = arguments[1], all = s->threads > 0 ? arguments[2] : nullptr;
  for (int i = s->threads > 0 ? 2 : 1; i > 0; --i) {
    arguments.erase(arguments.begin() + 1);
    types.erase(types.begin() + 1);
  }
  for (unsigned i = 1; i <= 2; ++i) {
    value_ref at = l_.GetParam(thunk, i);
    if (s->threads > 0) {
      value_ref const fewer = l_.BuildICmp(b_, IntSLT, all, number(s->threads), "");
      at = l_.BuildSelect(b_, fewer, at, l_.BuildSDiv(b_, l_.BuildMul(b_, at, all, ""), number(s->threads), ""), "");
    }
    arguments.push_back(l_.BuildAdd(b_, at, first, ""));
    types.push_back(i64());
  }
  l_.BuildCall2(b_, l_.FunctionType(void_type, types.data(), static_cast<unsigned>(types.size()), 0), body,
                arguments.data(), static_cast<unsigned>(arguments.size()), "");
  l_.BuildRetVoid(b_);

  // Nothing emitted so far is of use in another function.
  values_.assign(values_.size(), nullptr);
  levels_.assign(levels_.size(), 0);
  regions_.clear();
  pointers_.clear();
  for (std::int32_t v : open_) variable_region_[static_cast<std::size_t>(v)] = 0;
  open_body(body, open_);
  located(s);
  stop_if_failed();
  enter(nullptr, false, false, s);
  auto const last = static_cast<unsigned>(types.size());
  counted(s, l_.GetParam(body, last - 2), l_.GetParam(body, last - 1), false);
  end_stores();
  l_.BuildRetVoid(b_);
  function_ = saved.function, launch_ = saved.launch, entry_ = saved.entry;
  bases_.swap(saved.bases), variables_.swap(saved.variables), values_.swap(saved.values);
  variable_region_.swap(saved.variable_region), levels_.swap(saved.levels);
  regions_.swap(saved.regions), pointers_.swap(saved.pointers);
  l_.PositionBuilderAtEnd(b_, saved.block);
  located(s);
}

namespace detail {
/// The value of one lane of a mask, if it hangs on literals alone.
inline bool known_lane(ir::expr e, int lane, int depth, std::int64_t& value) {
  if (e->kind == op::literal) return value = e->value, true;
  if (e->kind == op::ramp || e->kind == op::broadcast)
    return value = e->a->value + (e->kind == op::ramp ? lane * e->value : 0), e->a->kind == op::literal;
  std::int64_t a = 0, b = 0, c = 0;
  if (depth == 0 || arity(e->kind) == 0 || !known_lane(e->a, lane, depth - 1, a)) return false;
  if (e->b != nullptr && !known_lane(e->b, lane, depth - 1, b)) return false;
  if (e->c != nullptr && !known_lane(e->c, lane, depth - 1, c)) return false;
  return value = apply(e->kind, is_choice(e->kind) ? e->b->type : e->a->type, a, b, c, e->type), true;
}
/// The only lane of a mask that is true, if that is known; else -1.
inline int only_lane(ir::expr mask) {
  int found = -1;
  for (int lane = 0; lane < mask->lanes; ++lane) {
    std::int64_t on = 0;
    if (!known_lane(mask, lane, 6, on) || (on != 0 && found >= 0)) return -1;
    if (on != 0) found = lane;
  }
  return found;
}
}  // namespace detail

WEFT_DECL void function_emitter::store(ir::stmt s) {
  // Neighbours in a block have literals of their own, since LLVM would load an address once for all of them, by an instruction
  // and into a register again: erf of 8 f64, which are two stores, 2.4 ns instead of 2.2 (EPYC Milan, loaded, 2026-11-21).
  block_ref const block = l_.GetInsertBlock(b_);
  copy_ = block == last_store_ ? (copy_ + 1) % 4 : 0;
  last_store_ = block;
  ir::buffer const* buf = s->buf;
  int lanes = s->value->lanes;
  for (ir::expr i : s->indices)
    if (i->lanes > lanes) lanes = i->lanes;
  value_ref v = to_memory(emit(s->value), buf->type, s->value->lanes);
  if (buf->where == ir::scope::registers) {
    l_.BuildStore(b_, v, bases_[static_cast<std::size_t>(buf->id)]);
    return forget_memory(class_of(buf));
  }
  if (s->value->lanes < lanes) v = splat(v, lanes);
  if (checks_) before_access(buf, s->indices, s->mask, nullptr);
  place const at = address(buf, s->indices, lanes);
  auto const bytes = static_cast<unsigned>(size_bytes(buf->type));
  type_ref const element = memory_type(buf->type), vector = with_lanes(element, lanes);
  value_ref const alignment = l_.ConstInt(l_.Int32TypeInContext(s_.context), bytes, 0);
  if (lanes > 1 && (at.scattered || at.stride != 1)) {
    call_intrinsic("llvm.masked.scatter", {vector, with_lanes(pointer(), lanes)},
                   {v, lane_pointers(at, element, lanes), alignment,
                    s->mask != nullptr ? mask_vector(s->mask, lanes) : all_lanes(lanes)});
  } else if (int const one = lanes > 1 && s->mask != nullptr ? detail::only_lane(s->mask) : -1; one >= 0) {
    // LLVM 22 (22.1.8; llvm-project issue 179489) makes such a masked store of a truncated vector one that writes an
    // element as wide as before the truncation, past the end of the buffer.
    value_ref lane[] = {number(one)};
    value_ref const p = one == 0 ? at.pointer : l_.BuildGEP2(b_, element, at.pointer, lane, 1, "");
    l_.SetAlignment(l_.BuildStore(b_, l_.BuildExtractElement(b_, v, number(one), ""), p), bytes);
  } else if (lanes > 1 && s->mask != nullptr) {
    call_intrinsic("llvm.masked.store", {vector, pointer()}, {v, at.pointer, alignment, mask_vector(s->mask, lanes)});
  } else if (s->mask != nullptr) {
    block_ref const then = new_block(), after = new_block();
    l_.BuildCondBr(b_, emit(s->mask), then, after);
    l_.PositionBuilderAtEnd(b_, then);
    l_.BuildStore(b_, v, at.pointer);
    l_.BuildBr(b_, after);
    l_.PositionBuilderAtEnd(b_, after);
  } else if (unsigned const whole = bytes * static_cast<unsigned>(lanes);
             buf->non_temporal && whole >= 16 && (whole & (whole - 1)) == 0 && whole <= 64) {
    store_past_caches(v, at.pointer, whole, bytes);
  } else {
    l_.SetAlignment(l_.BuildStore(b_, v, at.pointer), bytes);
  }
  forget_memory(class_of(buf));
}
/// Processors store a vector so only where its address is a multiple of its size; kernels are not keyed by alignment (decision
/// 004), so the code asks. Memory from malloc, as a std::vector has it, begins at multiples of 16 bytes alone: there a vector goes in pieces of 16, which fill lines as well (f32, EPYC, Zen 4, one
/// thread, 16 MiB: a copy through the caches 26 GB/s, in pieces 48, in whole vectors 49; exp 29, 35, 46).
WEFT_DECL void function_emitter::store_past_caches(value_ref v, value_ref to, unsigned bytes, unsigned element_bytes) {
  constexpr unsigned piece = 16;
  metadata_ref one[] = {l_.ValueAsMetadata(l_.ConstInt(l_.Int32TypeInContext(s_.context), 1, 0))};
  auto const past = [&](value_ref part, value_ref at, unsigned size) {
    value_ref const store = l_.BuildStore(b_, part, at);
    l_.SetAlignment(store, size);
    l_.SetMetadata(store, l_.GetMDKindIDInContext(s_.context, "nontemporal", 11),
                   l_.MetadataAsValue(s_.context, l_.MDNodeInContext2(s_.context, one, 1)));
  };
  block_ref const after = new_block();
  value_ref const where = l_.BuildPtrToInt(b_, to, i64(), "");
  // Goes on where `to` is no multiple of so many bytes.
  auto const unless = [&](unsigned multiple, auto const& stores) {
    block_ref const there = new_block(), next = new_block();
    l_.BuildCondBr(b_, l_.BuildICmp(b_, IntEQ, l_.BuildAnd(b_, where, number(multiple - 1), ""), number(0), ""), there, next);
    l_.PositionBuilderAtEnd(b_, there);
    stores();
    l_.BuildBr(b_, after);
    l_.PositionBuilderAtEnd(b_, next);
  };
  unless(bytes, [&] { past(v, to, bytes); });
  if (bytes > piece)
    unless(piece, [&] {
      unsigned const lanes = piece / element_bytes;
      for (unsigned i = 0; i < bytes / piece; ++i) {
        sequence<std::int32_t> picked;
        for (unsigned l = 0; l < lanes; ++l) picked.push_back(static_cast<std::int32_t>(i * lanes + l));
        value_ref offset[] = {number(static_cast<std::int64_t>(i * piece))};
        past(shuffled(v, v, picked), l_.BuildGEP2(b_, l_.Int8TypeInContext(s_.context), to, offset, 1, ""), piece);
      }
    });
  l_.SetAlignment(l_.BuildStore(b_, v, to), element_bytes);
  l_.BuildBr(b_, after);
  l_.PositionBuilderAtEnd(b_, after);
  past_caches_ = true;
}
/// What this function has stored past the caches is there for other threads, which such stores do not wait for.
WEFT_DECL void function_emitter::end_stores() {
  if (past_caches_) l_.BuildFence(b_, AtomicOrderingSequentiallyConsistent, 0, "");
  past_caches_ = false;
}
WEFT_DECL void function_emitter::branch(ir::stmt s) {
  bool const two = s->children.size() > 1;
  value_ref const condition = emit(s->value);
  block_ref const before = l_.GetInsertBlock(b_);
  block_ref const then = new_block(), otherwise = two ? new_block() : nullptr, after = new_block();
  l_.BuildCondBr(b_, condition, then, two ? otherwise : after);
  for (std::size_t i = 0; i < s->children.size(); ++i) {
    block_ref const part = i == 0 ? then : otherwise;
    l_.MoveBasicBlockAfter(part, l_.GetInsertBlock(b_));
    l_.PositionBuilderAtEnd(b_, part);
    enter(before, false, false, s->children[i]);
    statement(s->children[i]);
    leave();
    l_.BuildBr(b_, after);
  }
  l_.MoveBasicBlockAfter(after, l_.GetInsertBlock(b_));
  l_.PositionBuilderAtEnd(b_, after);
}
WEFT_DECL void function_emitter::allocate(ir::stmt s) {
  auto const id = static_cast<std::size_t>(s->buf->id);
  if (s->buf->where == ir::scope::heap) return statement(s->children[0]);  // has its place in the workspace
  type_ref t = with_lanes(memory_type(s->buf->type), s->buf->lanes);
  if (s->buf->where == ir::scope::stack) {
    std::int64_t const count = s->buf->shape.size() > 0 ? s->buf->shape[0]->value * s->buf->strides[0]->value : 1;
    t = l_.ArrayType2(t, static_cast<std::uint64_t>(count > 0 ? count : 1));
  }
  if (bases_.size() <= id) bases_.resize(id + 1, nullptr);
  // A loop that stands twice, for full tiles and the last, has its memory once: addresses are remembered by buffer.
  if (slots_.size() <= id) slots_.resize(id + 1, {});
  if (slots_[id].function != function_) slots_[id] = {function_, alloca_in_entry(t, 64)};
  bases_[id] = slots_[id].address;
  statement(s->children[0]);
  bases_[id] = nullptr;
  free_tile_register(s->buf);
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
