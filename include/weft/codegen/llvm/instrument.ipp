#include "weft/codegen/launch.hpp"
#include "weft/codegen/llvm/debug_api.hpp"
#include "weft/codegen/llvm/instrument.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {
namespace detail {

/// The alias class of a shadow tells whose it is.
inline constexpr std::int32_t shadow_class = 2000000;

class instrumented_emitter final : public function_emitter {
 public:
  instrumented_emitter(module_state& s, instrumentation const& how) : function_emitter(s), how_(how) {
    checks_ = how.checked;
    if (!how_.lines.empty()) begin_lines();
  }
  void finish() {
    if (builder_ != nullptr) debug_->DIBuilderFinalize(builder_);
  }
  ~instrumented_emitter() {
    if (builder_ != nullptr) debug_->DisposeDIBuilder(builder_);
  }

 private:
  // --- checks -------------------------------------------------------------------------------------------------
  ir::buffer const* shadow_of(ir::buffer const* b) const {
    for (ir::buffer const* s : s_.f.buffers)
      if (s->alias_class == shadow_class + b->id) return s;
    return nullptr;
  }
  /// All values that are needed are emitted first: those emitted behind a jump would be known where they are not
  /// computed.
  void before_access(ir::buffer const* buf, ir::list<ir::expr> indices, ir::expr mask, ir::expr load) override {
    if (buf->where == ir::scope::registers) return;
    sequence<value_ref> index, extent;
    for (std::uint32_t d = 0; d < indices.size(); ++d) {
      if (indices[d]->lanes > 1) WEFT_THROW(internal_error("checked code: a vector access is left"));
      index.push_back(emit(indices[d]));
      extent.push_back(emit(buf->shape[d]));
    }
    value_ref const wanted = mask != nullptr ? emit(mask) : nullptr;
    ir::buffer const* const shadow = shadow_of(buf);
    value_ref const written = shadow != nullptr ? address(shadow, indices, 1).pointer : nullptr;
    block_ref const after = new_block();
    if (wanted != nullptr) {
      block_ref const inside = new_block();
      l_.BuildCondBr(b_, wanted, inside, after);
      l_.PositionBuilderAtEnd(b_, inside);
    }
    std::string const where = buf->name + (load != nullptr ? " is read at " : " is written at ") + places(index.size());
    sequence<value_ref> numbers = index;
    value_ref good = nullptr;
    for (std::size_t d = 0; d < index.size(); ++d) {
      value_ref const inside = l_.BuildICmp(b_, IntULT, index[d], extent[d], "");
      good = good == nullptr ? inside : l_.BuildAnd(b_, good, inside, "");
      numbers.push_back(extent[d]);
    }
    if (good != nullptr)
      give_up_unless(good, where + ", outside of its extents " + places(index.size()), numbers, load);
    type_ref const byte = l_.Int8TypeInContext(s_.context);
    if (written != nullptr && load == nullptr) l_.BuildStore(b_, l_.ConstInt(byte, 1, 0), written);
    if (written != nullptr && load != nullptr)
      give_up_unless(l_.BuildICmp(b_, IntNE, l_.BuildLoad2(b_, byte, written, ""), l_.ConstNull(byte), ""),
                     where + " before anything was written there", index, load);
    l_.BuildBr(b_, after);
    l_.PositionBuilderAtEnd(b_, after);
  }
  static std::string places(std::size_t count) {
    std::string list = "[";
    for (std::size_t i = 0; i < count; ++i) list += i == 0 ? "\1" : ", \1";
    return list + "]";
  }
  void give_up_unless(value_ref good, std::string what, sequence<value_ref> numbers, ir::expr load) {
    what = s_.f.name + ": " + what;
    for (std::size_t i = 0; i < open_.size() && numbers.size() < static_cast<std::size_t>(failure::most); ++i) {
      auto const v = static_cast<std::size_t>(open_[i]);
      what += (i == 0 ? "\n  in    " : ", ") + s_.f.variables[v] + "=\1";
      numbers.push_back(variables_[v]);
    }
    if (load != nullptr) {
      std::string const source = ir::print(load, s_.f);
      if (source.size() < 200 && source.find('\n') == std::string::npos) what += "\n  by    " + source;
    }
    block_ref const bad = new_block(), fine = new_block();
    hint_rare(l_.BuildCondBr(b_, l_.BuildNot(b_, good, ""), bad, fine));
    l_.PositionBuilderAtEnd(b_, bad);
    value_ref const list = alloca_in_entry(l_.ArrayType2(i64(), numbers.size()), 8);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      value_ref at[] = {number(static_cast<std::int64_t>(i))};
      l_.BuildStore(b_, numbers[i], l_.BuildGEP2(b_, i64(), list, at, 1, ""));
    }
    type_ref parameters[] = {pointer(), pointer(), pointer(), i64()};
    value_ref arguments[] = {launch_, text_in_object(what), list, number(static_cast<std::int64_t>(numbers.size()))};
    l_.BuildCall2(b_, l_.FunctionType(l_.VoidTypeInContext(s_.context), parameters, 4, 0),
                  member(member(launch_, 4), 2), arguments, 4, "");
    l_.BuildRetVoid(b_);
    l_.PositionBuilderAtEnd(b_, fine);
  }
  value_ref text_in_object(std::string const& text) {
    value_ref const bytes = debug().ConstStringInContext2(s_.context, text.data(), text.size(), 0);
    value_ref const global = l_.AddGlobal(s_.module, l_.TypeOf(bytes), "weft.text");
    l_.SetInitializer(global, bytes);
    l_.SetLinkage(global, InternalLinkage);
    l_.SetGlobalConstant(global, 1);
    return global;
  }
  value_ref failed_state() {
    value_ref const state = l_.BuildLoad2(b_, l_.Int32TypeInContext(s_.context), member(launch_, 5), "");
    l_.SetVolatile(state, 1);  // other threads write it
    return state;
  }
  void stop_if_failed() override {
    if (!checks_) return;
    block_ref const stop = new_block(), go_on = new_block();
    value_ref const nothing = l_.ConstNull(l_.Int32TypeInContext(s_.context));
    l_.BuildCondBr(b_, l_.BuildICmp(b_, IntEQ, failed_state(), nothing, ""), go_on, stop);
    l_.PositionBuilderAtEnd(b_, stop);
    l_.BuildRetVoid(b_);
    l_.PositionBuilderAtEnd(b_, go_on);
  }
  value_ref result() override { return checks_ ? failed_state() : function_emitter::result(); }

  // --- lines --------------------------------------------------------------------------------------------------
  debug_api const& debug() {
    if (debug_ == nullptr) debug_ = &load_llvm_debug();
    return *debug_;
  }
  void begin_lines() {
    debug_api const& d = debug();
    auto const flag = [&](std::string_view name, unsigned value) {
      d.AddModuleFlag(s_.module, ModuleFlagBehaviorWarning, name.data(), name.size(),
                      l_.ValueAsMetadata(l_.ConstInt(l_.Int32TypeInContext(s_.context), value, 0)));
    };
    flag("Debug Info Version", 3);
    flag("Dwarf Version", 4);
    builder_ = d.CreateDIBuilder(s_.module);
    file_ = d.DIBuilderCreateFile(builder_, how_.file.data(), how_.file.size(), how_.directory.data(),
                                  how_.directory.size());
    d.DIBuilderCreateCompileUnit(builder_, DWARFSourceLanguageC99, file_, "weft", 4, 1, "", 0, 0, "", 0,
                                 DWARFEmissionFull, 0, 0, 0, "", 0, "", 0);
    signature_ = d.DIBuilderCreateSubroutineType(builder_, file_, nullptr, 0, DIFlagZero);
  }
  value_ref new_function(std::string const& name, type_ref result, sequence<type_ref> parameters,
                         bool exported) override {
    value_ref const f = function_emitter::new_function(name, result, parameters, exported);
    if (builder_ == nullptr) return f;
    metadata_ref const scope =
        debug().DIBuilderCreateFunction(builder_, file_, name.data(), name.size(), name.data(), name.size(), file_, 1,
                                        signature_, exported ? 0 : 1, 1, 1, DIFlagZero, 1);
    debug().SetSubprogram(f, scope);
    scopes_.push_back({f, scope});
    return f;
  }
  void located(ir::stmt s) override {
    if (builder_ == nullptr) return;
    std::int32_t line = s == nullptr ? 1 : 0;
    for (std::size_t i = 0; i < how_.lines.size() && line == 0; ++i) {
      // A statement may stand in several places: it is the next one in the order of the text.
      std::size_t const at = (next_line_ + i) % how_.lines.size();
      if (how_.lines[at].s != s) continue;
      line = how_.lines[at].line;
      next_line_ = at;
    }
    if (line == 0) return;
    metadata_ref scope = nullptr;
    for (auto const& [function, its] : scopes_)
      if (function == function_) scope = its;
    here_ = debug().DIBuilderCreateDebugLocation(s_.context, static_cast<unsigned>(line), 0, scope, nullptr);
    moved_back();
  }
  void moved_back() override {
    if (builder_ != nullptr) debug().SetCurrentDebugLocation2(b_, here_);
  }

  instrumentation const& how_;
  debug_api const* debug_ = nullptr;
  debug_builder_ref builder_ = nullptr;
  metadata_ref file_ = nullptr, signature_ = nullptr, here_ = nullptr;
  struct function_scope {
    value_ref function;
    metadata_ref scope;
  };
  sequence<function_scope> scopes_;
  std::size_t next_line_ = 0;
};
inline void mark_written_by_calls(ir::stmt s, sequence<bool>& marks) {
  for (std::uint32_t i = 0; i < s->buffers.size(); ++i)
    if (static_cast<std::int32_t>(i) >= s->by->reads) marks[static_cast<std::size_t>(s->buffers[i]->id)] = true;
  for (ir::stmt c : s->children) mark_written_by_calls(c, marks);
}
}  // namespace detail

WEFT_DECL void add_shadows(ir::function& f) {
  std::size_t const count = f.buffers.size();
  sequence<bool> by_function(count, false);  // all of it is written at once
  detail::mark_written_by_calls(f.body, by_function);
  for (std::size_t i = 0; i < count; ++i) {
    ir::buffer const* const b = f.buffers[i];
    bool shared = b->where == ir::scope::registers || !b->written || by_function[i];
    for (std::size_t k = 0; k < count; ++k) shared = shared || (k != i && f.buffers[k]->alias_class == b->alias_class);
    if (shared) continue;
    ir::buffer* const s = f.nodes->make_buffer();
    s->id = static_cast<std::int32_t>(f.buffers.size());
    s->name = b->name + ".written";
    s->type = dtype::u8;
    s->where = ir::scope::heap;
    s->written = true;
    s->alignment = 64;
    s->alias_class = detail::shadow_class + b->id;
    s->shape = b->shape;
    sequence<ir::expr> strides(b->shape.size(), nullptr);
    ir::expr stride = ir::index(*f.nodes, 1);
    for (std::size_t d = strides.size(); d-- > 0;) {
      strides[d] = stride;
      stride = ir::binary(*f.nodes, op::mul, stride, b->shape[d]);
    }
    s->strides = f.nodes->make_list(strides);
    f.buffers.push_back(s);
  }
}

WEFT_DECL void emit_instrumented(module_state& s, std::string const& symbol, instrumentation const& how) {
  detail::instrumented_emitter emitter(s, how);
  emitter.entry(symbol);
  emitter.finish();
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
