#include <cstring>

#include "weft/interp/interpreter.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

inline std::string interpreter::element_text(ir::buffer const* b, ir::list<ir::expr> const& indices, int l) {
  std::string s = b->name + "[";
  for (std::size_t d = 0; d < indices.size(); ++d) s += (d > 0 ? ", " : "") + std::to_string(lane(indices[d], l));
  return s + "]" + (b->lanes > 1 ? " lane " + std::to_string(l) : "");
}
/// Evaluates shape and strides; gives intermediates their memory.
inline bool interpreter::prepare(ir::buffer const* b) {
  memory& m = memory_[at(b->id)];
  std::int64_t last = 0, count = 1;
  bool fits = true;
  for (std::size_t d = 0; d < b->shape.size(); ++d) {
    m.shape.push_back(scalar(b->shape[d]));
    m.strides.push_back(scalar(b->strides[d]));
    if (m.shape[d] < 0) fault("buffer " + b->name + " has extent " + std::to_string(m.shape[d]));
    if (m.shape[d] == 0) count = 0;
    std::int64_t far = 0;
    fits = fits && !__builtin_mul_overflow(m.shape[d] - 1, m.strides[d], &far) &&
           !__builtin_add_overflow(last, far < 0 ? 0 : far, &last);
  }
  m.shadow = at(b->id);
  bool initialised = false;
  if (std::int64_t const place = f_.shared_place(b); place >= 0) {
    std::int64_t const size = size_bytes(b->type);
    if (count > 0 && last >= ir::shared_bytes_of(b) / size) fault("buffer " + b->name + " is larger than its place in shared memory");
    m.elements = count == 0 ? 0 : b->swizzled ? m.shape[0] * m.strides[0] : last + 1;
    m.data = block_memory_.data() + place;
    m.shadow = shadows_.size() - 1;
    m.first = place / part_bytes_, m.parts = size / part_bytes_;
    return ok();
  }
  if (b->where == ir::scope::argument) {
    interp_argument const& a = pointers_[at(b->argument)];
    m.data = static_cast<unsigned char*>(a.data);
    m.elements = a.elements;
    initialised = a.initialised;
  } else {
    if (count > 0 && (!fits || last >= options_.max_heap_elements))
      fault("buffer " + b->name + " is too large to interpret");
    if (!ok()) return false;
    m.elements = count == 0 ? 0 : (last + 1) * b->lanes;
    m.own.resize(at(m.elements) * at(size_bytes(b->type)));
    m.data = m.own.data();
  }
  if (m.elements < 0 || (m.data == nullptr && m.elements > 0)) fault("argument " + b->name + " has no memory");
  if (ok()) shadows_[m.shadow].reset(at(m.elements), initialised);
  return ok();
}
/// All that blocks share: one block after the other has it.
inline void interpreter::prepare_shared() {
  std::int64_t bytes = 0;
  for (ir::buffer const* b : f_.buffers) {
    std::int64_t const place = f_.shared_place(b);
    if (place < 0) continue;
    if (place + ir::shared_bytes_of(b) > bytes) bytes = place + ir::shared_bytes_of(b);
    if (size_bytes(b->type) < part_bytes_) part_bytes_ = size_bytes(b->type);
  }
  block_memory_.resize(at(bytes));
  shadows_[shadows_.size() - 1].reset(at(bytes / part_bytes_), false);
}
/// In which lifetime an element was written; of one that others have written in since, in theirs.
inline std::uint32_t interpreter::written(memory const& m, std::int64_t element) const {
  sequence<std::uint32_t> const& all = shadows_[m.shadow].written;
  std::uint32_t by = lifetime(m);
  for (std::int64_t p = m.first + element * m.parts, end = p + m.parts; p < end && by != shadow::in_flight; ++p)
    if (all[at(p)] != lifetime(m)) by = all[at(p)];
  return by;
}
inline void interpreter::set_written(memory const& m, std::int64_t element, std::uint32_t by) {
  std::int64_t const first = m.first + element * m.parts;
  for (std::int64_t p = 0; p < m.parts; ++p) shadows_[m.shadow].written[at(first + p)] = by;
}
/// Who has written there since.
inline std::string interpreter::owner_text(ir::buffer const* b, std::uint32_t by) const {
  for (ir::buffer const* o : f_.buffers)
    if (o != b && by != 0 && memory_[at(o->id)].lifetime == by) return ", where " + o->name + " has been written since";
  return by != 0 ? ", which was written before its memory was allocated anew" : "";
}
/// Arguments over the same memory see each other's writes.
inline void interpreter::share_shadows() {
  for (ir::buffer const* b : f_.buffers)
    for (ir::buffer const* o : f_.buffers) {
      if (o == b) break;
      if (b->where != ir::scope::argument || o->where != ir::scope::argument) continue;
      memory &mb = memory_[at(b->id)], &mo = memory_[at(o->id)];
      auto const begin = [](memory const& m) { return reinterpret_cast<std::uintptr_t>(m.data); };
      auto const end = [&](memory const& m, ir::buffer const* x) {
        return begin(m) + at(m.elements * size_bytes(x->type));
      };
      if (begin(mb) >= end(mo, o) || begin(mo) >= end(mb, b)) continue;
      bool const same = mb.data == mo.data && size_bytes(b->type) == size_bytes(o->type);
      if (!b->written && !o->written && !(same && b->alias_class == o->alias_class)) continue;
      if (b->alias_class != o->alias_class)
        return fault("arguments " + o->name + " and " + b->name + " share memory, but not an alias class");
      if (!same) return fault("arguments " + o->name + " and " + b->name + " overlap in part: that is not interpreted");
      shadow& s = shadows_[mo.shadow];
      std::size_t const elements = s.written.size() > at(mb.elements) ? s.written.size() : at(mb.elements);
      s.reset(elements, s.is_written(0) || pointers_[at(b->argument)].initialised);
      mb.shadow = mo.shadow;
    }
}
/// The element that a lane's indices stand for; false after a fault.
inline bool interpreter::locate(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, std::int64_t& element) {
  memory const& m = memory_[at(b->id)];
  element = b->lanes > 1 ? l : 0;
  bool inside = true, fits = true;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    std::int64_t const i = lane(indices[d], l);
    inside = inside && i >= 0 && i < m.shape[d];
    std::int64_t step = 0;
    fits = fits && !__builtin_mul_overflow(i, m.strides[d], &step) && !__builtin_add_overflow(element, step, &element);
  }
  if (ir::swizzle const z = ir::swizzle_of(f_, b); z.phases > 1 && inside) {
    std::int64_t const column = lane(indices[indices.size() - 1], l);
    std::int64_t row = 0;
    for (std::size_t d = 0; d + 1 < indices.size(); ++d) row += lane(indices[d], l) * ir::rows_of_step(b, d);
    element += z.column(row, column) - column;
  }
  for (std::size_t d = 0; d < indices.size() && !wrapped_.empty() && ok(); ++d)
    if (has_wrapped(indices[d], l))
      fault("overflow of index " + std::to_string(d) + " in " + element_text(b, indices, l) + ": it leaves the range of i64");
  if (!ok()) return false;
  if (inside && fits && element >= 0 && element < m.elements) return true;
  std::string shape;
  for (std::int64_t e : m.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(e);
  if (!inside)
    fault("out of bounds: " + element_text(b, indices, l) + " of " + b->name + " with shape [" + shape + "]");
  else
    fault("out of bounds: " + element_text(b, indices, l) + " is element " + std::to_string(element) + " of the " +
          std::to_string(m.elements) + " of " + b->name);
  return false;
}
inline void interpreter::touch(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, std::int64_t element,
                               bool writes) {
  memory const& m = memory_[at(b->id)];
  shadow::earlier e;
  for (std::int64_t p = 0; p < m.parts && e.place == shadow::nobody; ++p)
    e = shadows_[m.shadow].touch(tree_, at(m.first + element * m.parts + p), place_, writes);
  if (e.place == shadow::nobody) return;
  iteration_tree::meeting const both = tree_.meet(e.place, place_);
  iteration_tree::entry const &then = tree_.entries[both.from_a], &now = tree_.entries[both.from_b];
  std::string const& name = f_.variables[at(now.variable)];
  auto const how = static_cast<loop_kind>(tree_.entries[both.at].value);
  fault("race in " + std::string(weft::name(how)) + " loop " + name + ": " +
        element_text(b, indices, l) + " is " + (e.writes ? "written" : "read") + " in iteration " + name + " = " +
        std::to_string(then.value) + " and " + (writes ? "written" : "read") + " in iteration " + name + " = " +
        std::to_string(now.value));
}
inline std::int64_t interpreter::read(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, bool matters) {
  std::int64_t element = 0;
  if (!locate(b, indices, l, element)) return 0;
  memory const& m = memory_[at(b->id)];
  if (matters) {
    std::uint32_t const by = written(m, element);
    if (by == shadow::in_flight)
      fault("short wait: " + element_text(b, indices, l) + " is read while the copy to it is in flight");
    else if (by != lifetime(m))
      fault("uninitialised read of " + element_text(b, indices, l) + owner_text(b, by));
    touch(b, indices, l, element, false);
  }
  return with_dtype(b->type, [&]<class T>(T x) -> std::int64_t {
    if constexpr (std::is_same_v<T, bool>) return m.data[element] != 0;
    std::memcpy(&x, m.data + element * static_cast<std::int64_t>(sizeof x), sizeof x);
    return to_bits(x);
  });
}
inline void interpreter::write(ir::buffer const* b, ir::list<ir::expr> const& indices, int l, std::int64_t bits, bool arrives_later) {
  std::int64_t element = 0;
  if (!locate(b, indices, l, element)) return;
  memory const& m = memory_[at(b->id)];
  if (written(m, element) == shadow::in_flight)
    fault("a live copy: " + element_text(b, indices, l) + " is written while the copy to it is in flight");
  touch(b, indices, l, element, true);
  if (!ok()) return;
  set_written(m, element, arrives_later ? shadow::in_flight : lifetime(m));
  if (arrives_later) now_flying_->all.push_back({b, element, bits, now_flying_->groups});
  else put(b, element, bits);
}
inline void interpreter::put(ir::buffer const* b, std::int64_t element, std::int64_t bits) {
  memory const& m = memory_[at(b->id)];
  with_dtype(b->type, [&]<class T>(T) {
    T const x = from_bits<T>(bits);
    std::memcpy(m.data + element * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
  });
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
