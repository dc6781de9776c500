#include "weft/base/joined.hpp"
#include "weft/expr/im2col.hpp"
#include "weft/ir/own_memory.hpp"
#include "weft/lower/lowering.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// What is read of the stages that are computed inside one loop of `host`.
class guest_spans final : public index_spans {
 public:
  guest_spans(lowering& l, stage_frame const& host, int position)
      : index_spans(l.m_, l.p_), l_(l), host_(host), position_(position), ranges_(l.ranges_in(host, position)) {}
  range_table const& ranges() const { return ranges_; }
  /// Whether of_stage has been asked of it, for its own sake or another one's.
  bool has_asked(int stage) { return by_stage_.find(stage) != nullptr; }

  /// By spatial axis, what the stages that run inside the loop read of `stage`.
  sequence<span> const& of_stage(int stage) {
    if (sequence<span> const* known = by_stage_.find(stage); known != nullptr) return *known;
    stage_info const& wanted = program::at(p_.stages, stage);
    sequence<span> spans;
    bool first = true;
    if (l_.n_.places[static_cast<std::size_t>(stage)].beside) {
      forget();
      reader_ = host_.number;
      for (int d = 0; d < wanted.spatial; ++d) {
        bool shared = false;  // else all of it is computed
        for (int i = 0; i <= position_ && d < host_.stage->spatial; ++i)
          shared = shared || l_.n_.is_of(host_.loops[static_cast<std::size_t>(i)].id, host_.stage->first_axis + d);
        spans.push_back(shared ? axis(host_.stage->first_axis + d) : span());
      }
      return by_stage_.of(stage) = spans;
    }
    for (std::int32_t reader : l_.readers_[static_cast<std::size_t>(stage)]) {
      sequence<std::int32_t> const loads = loads_of(reader, wanted);
      if (loads.empty()) continue;
      if (reader != host_.number) of_stage(reader);  // before reader_ says whose axes are meant
      forget();
      reader_ = reader;
      for (std::int32_t load : loads) {
        node const& n = p_.at(load);
        for (int d = 0; d < n.c; ++d) {
          int const index = program::at(p_.operands, n.b + d);
          span const s = of(index, ranges_);
          if (first) spans.push_back(s);
          else spans[static_cast<std::size_t>(d)] = around(spans[static_cast<std::size_t>(d)], s, ranges_);
        }
        first = false;
      }
    }
    return by_stage_.of(stage) = spans;
  }

 private:
  /// The nodes by which `reader` reads it.
  sequence<std::int32_t> loads_of(int reader, stage_info const& stage) {
    sequence<std::int32_t> loads;
    node_set seen;
    stage_info const& s = program::at(p_.stages, reader);
    for (int r = 0; r < s.results; ++r) collect(p_.result(s, r).body, stage, seen, loads);
    return loads;
  }
  void collect(int id, stage_info const& stage, node_set& seen, sequence<std::int32_t>& loads) {
    if (id < 0 || !seen.add(id)) return;
    node const& n = p_.at(id);
    if (n.kind == op::load) {
      if (n.a >= stage.tensor && n.a < stage.tensor + stage.results) loads.push_back(id);
      for (int i = 0; i < n.c; ++i) collect(program::at(p_.operands, n.b + i), stage, seen, loads);
    } else if (arity(n.kind) > 0) {
      for (int o : {n.a, n.b, n.c}) collect(o, stage, seen, loads);
    }
  }

  /// Of an index, or a part of one, that numbers the axes that were fused into one loop of the host, as im2col and joined dimensions of a layout write it: what
  /// is left of that loop. Of each axis for itself less is known.
  span together(int id) override {
    nest const& n = l_.n_;
    sequence<std::int32_t> places;
    auto const is_size = [&](int x, int y) {
      if (x == y) return true;
      span const a = of(x, ranges_), b = of(y, ranges_);
      return a.known() && b.known() && a.low == a.high && a.low == b.low && b.low == b.high;
    };
    auto const is_positive = [&](int x) {
      span const s = of(x, ranges_);
      return s.known() && ranges_.of(s.low).low > 0;
    };
    node const& sum = p_.at(id);
    if (p_.at(sum.a).kind == op::mul) {  // e / n * n + e % n
      node const &by = p_.at(sum.a), &high = p_.at(plain(by.a)), &low = p_.at(plain(sum.b));
      bool const same = high.kind == op::floor_div && low.kind == op::floor_mod && high.a == low.a;
      if (same && is_size(high.b, low.b) && is_size(high.b, by.b) && is_positive(by.b)) return of(high.a, ranges_);
    }
    if (!host_.parts.empty() || !digits_of(p_, program::at(p_.stages, reader_), id, places, is_size, [&](int x) { return plain(x); }) || !stands_at_host(reader_)) return {};
    // An inlined reader may be wider than the host.
    stage_info const& reader = program::at(p_.stages, reader_);
    for (std::int32_t a : places)
      if (reader_ != host_.number && !is_size(program::at(p_.axes, reader.first_axis + a).extent, program::at(p_.axes, host_.stage->first_axis + a).extent)) return {};
    int const row = n.row_of(*host_.stage, places);
    return row < 0 ? span() : of_loop(row);
  }
  /// Of `i * 1 + k - 0`, where k is always 0: i.
  int plain(int id) {
    auto const is = [&](int of, std::int64_t number) {
      span const s = this->of(of, ranges_);
      return s.known() && ranges_.of(s.low).low == number && ranges_.of(s.high).high == number;
    };
    for (;;) {
      node const& n = p_.at(id);
      if (n.type != dtype::i64 || n.b < 0) return id;
      if ((n.kind == op::add || n.kind == op::sub) && is(n.b, 0)) id = n.a;
      else if (n.kind == op::add && is(n.a, 0)) id = n.b;
      else if (n.kind == op::mul && is(n.b, 1)) id = n.a;
      else return id;
    }
  }
  /// Whether `reader` is the host, or inlined in it at each of its elements.
  bool stands_at_host(int reader) const {
    if (reader == host_.number) return true;
    if (!l_.n_.places[static_cast<std::size_t>(reader)].inlined) return false;
    for (std::int32_t r : l_.readers_[static_cast<std::size_t>(reader)])
      if (!reads_own_element(p_, r, program::at(p_.stages, reader)) || !stands_at_host(r)) return false;
    return true;
  }

  span axis(int number) override {
    stage_info const& s = program::at(p_.stages, reader_);
    int const d = number - s.first_axis;
    if (reader_ == host_.number) {
      span r = of_loop(program::at(l_.n_.loop_of, number));
      if (host_.stage->backwards && d == host_.stage->scanned)
        r = {simplify(m_, l_.mirrored(host_, number, r.high)), simplify(m_, l_.mirrored(host_, number, r.low))};
      if (!host_.parts.empty() && d < s.spatial) {
        part const& of = (host_.computed.empty() ? host_.parts : host_.computed)[static_cast<std::size_t>(d)];
        auto const behind = [&](ir::expr x) { return simplify(m_, ir::binary(m_, op::add, x, of.begin)); };
        r = {behind(r.low), behind(r.high)};
        // A split need not divide; what a last part would read beyond the end is not there for it.
        if (!l_.n_.at(program::at(l_.n_.loop_of, number)).live() && !has_tiles(reader_))
          r.high = least(r.high, behind(ir::binary(m_, op::sub, of.extent, ir::index(m_, 1))), ranges_);
      }
      return r;
    }
    ir::expr const last = simplify(m_, ir::binary(m_, op::sub, l_.axis_extent(number), ir::index(m_, 1)));
    span all{ir::index(m_, 0), last};
    if (d < s.spatial) {
      sequence<span> const* const spans = by_stage_.find(reader_);
      if (spans != nullptr && !spans->empty() && (*spans)[static_cast<std::size_t>(d)].known()) {
        span const read = (*spans)[static_cast<std::size_t>(d)];
        if (d != s.scanned) return whole_tiles(read, number);
        (s.backwards ? all.low : all.high) = s.backwards ? read.low : read.high;  // all steps up to those
      }
    }
    return whole_tiles(all, number);
  }
  /// Whether a matrix unit runs it: then the last tile is read whole, with zeros behind the end.
  bool has_tiles(int stage) const {
    for (std::int32_t l : program::at(l_.n_.order, stage))
      if (intrinsic const* by = l_.n_.at(l).by; by != nullptr && by->is_tile()) return true;
    return false;
  }
  span whole_tiles(span r, int number) {
    loop_info const& l = l_.n_.at(program::at(l_.n_.loop_of, number));
    if (l.live() || l.into >= 0 || l.factor <= 1 || !has_tiles(reader_)) return r;
    auto const by = [&](op kind, ir::expr a, ir::expr b) { return simplify(m_, ir::binary(m_, kind, a, b), ranges_); };
    ir::expr const last = by(op::floor_div, by(op::sub, r.high, r.low), ir::index(m_, l.factor));
    ir::expr const length = by(op::mul, by(op::add, last, ir::index(m_, 1)), ir::index(m_, l.factor));
    return {r.low, by(op::add, r.low, by(op::sub, length, ir::index(m_, 1)))};
  }
  /// Of an axis of the host, or a part of it: one value if it is a loop outside, else all that it runs over.
  span of_loop(int id) {
    loop_info const& l = l_.n_.at(id);
    if (l.into >= 0) return of_fused(id);
    if (!l.live()) {
      span const outer = of_loop(l.outer), inner = of_loop(l.inner);
      auto const both = [&](ir::expr o, ir::expr i) {
        return simplify(m_, ir::binary(m_, op::add, l_.part_begin(host_, id, o), i));
      };
      return {both(outer.low, inner.low), both(outer.high, inner.high)};
    }
    for (std::size_t i = 0; i < host_.loops.size(); ++i) {
      open_loop const& o = host_.loops[i];
      if (o.id != id) continue;
      if (static_cast<int>(i) <= position_) return {ir::variable(m_, o.variable), ir::variable(m_, o.variable)};
      return {ir::index(m_, 0), simplify(m_, ir::binary(m_, op::sub, o.extent, ir::index(m_, 1)))};
    }
    return {ir::index(m_, 0), ir::index(m_, 0)};
  }
  /// Of what went into a fused loop: quotients, and a remainder, which is an interval where the quotients at both ends are
  /// the same.
  span of_fused(int id) {
    nest const& n = l_.n_;
    loop_info const& l = n.at(id);
    span s = of_loop(l.into);
    auto const each = [&](op kind, ir::expr by) {
      auto const of = [&](ir::expr e) { return simplify(m_, ir::binary(m_, kind, e, by), ranges_); };
      return span{of(s.low), of(s.high)};
    };
    sequence<std::int32_t> inside;
    for (int i = l.next; i >= 0; i = n.at(i).next) inside.push_back(i);
    for (std::size_t i = inside.size(); i-- > 0;) s = each(op::floor_div, l_.longest(inside[i]));
    if (n.at(l.into).first == id) return s;
    ir::expr const length = l_.longest(id);
    if (span const around = each(op::floor_div, length); around.low == around.high) return each(op::floor_mod, length);
    return {ir::index(m_, 0), simplify(m_, ir::binary(m_, op::sub, length, ir::index(m_, 1)))};
  }
  ir::expr extent(node const& n) override {
    return l_.tensor_[static_cast<std::size_t>(n.a)]->shape[static_cast<std::size_t>(n.b)];
  }

  lowering& l_;
  stage_frame const& host_;
  int position_;
  range_table ranges_;
  node_map<sequence<span>> by_stage_;
  int reader_ = -1;
};

/// An output may be written over an input that no stage behind its own reads (runtime/bind), and so it may still when steps
/// let stages before it run inside its loops, or behind it, as long as those read elements that were not yet written.
WEFT_DECL void lowering::check_in_place() const {
  sequence<sequence<std::int32_t>> readers;
  bool moved = false;  // stages may run in another order than that of their definition
  for (placement const& p : n_.places) moved = moved || p.beside;
  for (std::int32_t t : p_.outputs)
    for (input_info const& i : p_.inputs) {
      if (i.tensor < 0 || tensor_[at(i.tensor)]->alias_class != tensor_[at(t)]->alias_class) continue;
      if (readers.empty()) readers = readers_of(p_);
      write_order order{p_.tensors[at(t)].stage, readers};
      for (int s : order_) {
        if ((n_.places[at(s)] == placement() && !moved) || !read_[at(s)] || !reads_tensor(p_, s, i.tensor)) continue;
        if (reads_in_time(s, reads_own_element(p_, s, i.tensor, 1), order) || reads_own_rows_in_time(s, reads_own_rows(p_, s, i.tensor, 1), order)) continue;
        auto const called = [&](int tensor) { return std::string(p_.tensors[at(tensor)].name.view()); };
        std::string const stage = called(p_.stages[at(s)].tensor);
        WEFT_THROW(argument_error(joined({f_.name, ": output ", called(t), " cannot be written over input ",
                                          called(i.tensor), ": stage ", stage, ", where the schedule has it computed, reads "
                                          "elements of ", called(i.tensor), " after their place was written; give ", called(t),
                                          " memory of its own, or leave compute_at, compute_inline and compute_with out"})));
      }
    }
}
/// Whether a scan is computed inside a loop along its axis: there it begins anew each time.
WEFT_DECL bool lowering::scans_anew(int stage) const {
  int const scanned = p_.stages[at(stage)].scanned;
  for (int host = n_.places[at(stage)].loop; host >= 0 && scanned >= 0; host = n_.places[at(n_.at(host).stage)].loop)
    for (std::int32_t l : n_.order_of(host)) {
      if (n_.is_of(l, p_.stages[at(n_.at(host).stage)].first_axis + scanned)) return true;
      if (l == host) break;
    }
  return false;
}
/// Whether what `stage` reads is read before `order.writer` writes there. own: it reads the element at its own index.
WEFT_DECL bool lowering::reads_in_time(int stage, bool own, write_order& order) const {
  own = own && !scans_anew(stage);
  if (stage == order.writer) return own && p_.stages[at(stage)].reduced == 0 && is_computed_once(n_, stage);
  if (!n_.places[at(stage)].inlined) {
    int const root = n_.root_of(stage), writes = n_.root_of(order.writer);
    for (int s : order_)
      if (root != writes && (s == root || s == writes)) return s == root;
    if (writes != order.writer) return false;  // beside what reads it
    if (n_.places[at(stage)].beside) return own && is_computed_once(n_, stage);
    own = own && !meets_other_writes(n_, stage, order.writer);
  }
  return order.known(stage, own ? write_order::elements : write_order::nothing, [&] {
    for (std::int32_t r : order.readers[at(stage)])
      if (read_[at(r)] && !reads_in_time(r, own && reads_own_element(p_, r, p_.stages[at(stage)]), order)) return false;
    return true;
  });
}
/// Whether what `stage` reads of rows (reads_own_rows) is read in the iteration of loops of the writer that writes there, before it does; in the writer
/// itself, through inlined stages, the same element alone.
WEFT_DECL bool lowering::reads_own_rows_in_time(int stage, int rows, write_order& order) const {
  if (stage == order.writer || rows == 0 || scans_anew(stage)) return false;
  if (!n_.places[at(stage)].inlined) {
    int const alike = rows_read_alike(stage, order);
    return stands_in_own_rows(stage, alike < rows ? alike : rows, order.writer);
  }
  return order.known(stage, rows, [&] {
    stage_info const &of = p_.stages[at(stage)], &last = p_.stages[at(order.writer)];
    for (std::int32_t r : order.readers[at(stage)]) {
      if (!read_[at(r)]) continue;
      int const alike = reads_own_rows(p_, r, of.tensor, of.results), common = alike < rows ? alike : rows;
      bool const same_element = common == last.spatial && last.reduced == 0 && is_computed_once(n_, order.writer);
      if (r == order.writer ? !same_element : !reads_own_rows_in_time(r, common, order)) return false;
    }
    return true;
  });
}
/// In how many dimensions all that reads `stage`, and what reads that, up to the writer, reads it at its own index.
WEFT_DECL int lowering::rows_read_alike(int stage, write_order& order) const {
  if (order.alike.empty()) order.alike.resize(p_.stages.size(), -1);
  if (order.alike[at(stage)] >= 0) return order.alike[at(stage)];
  stage_info const& of = p_.stages[at(stage)];
  int rows = of.scanned >= 0 ? of.scanned : of.spatial;  // of a scan all steps before are made, too
  for (std::int32_t r : order.readers[at(stage)]) {
    if (!read_[at(r)]) continue;
    for (int alike : {reads_own_rows(p_, r, of.tensor, of.results), r == order.writer ? rows : rows_read_alike(r, order)})
      if (alike < rows) rows = alike;
  }
  return order.alike[at(stage)] = rows;
}
WEFT_DECL bool lowering::stands_in_own_rows(int stage, int rows, int writer) const {
  placement const& own = n_.places[at(stage)];
  int loop = own.loop;
  if (own.beside || own.ahead > 0 || own.store != placement::as_computed || rows == 0) return false;
  while (loop >= 0 && n_.at(loop).stage != writer) {
    placement const& host = n_.places[at(n_.at(loop).stage)];
    if (host.beside || host.ahead > 0 || host.store != placement::as_computed) return false;
    loop = host.loop;
  }
  return loop >= 0 && have_own_rows(n_, loop, rows) && !computes_for_others(n_, loop);
}
/// Where a reduction over nothing stands beside another stage, what they read is made for that.
WEFT_DECL bool lowering::has_guests(int loop) const {
  return !guests_[at(loop)].empty() && !now_->identity && (!now_->empty || n_.has_beside(now_->number));
}
/// Inside the loop at `position`: the nests of the stages that are computed there, but for early ones, then the rest.
WEFT_DECL ir::stmt lowering::with_guests(int position, guard_states const& states, sequence<early_guest>& early) {
  stage_frame& host = *now_;
  sequence<std::int32_t> const& guests = guests_[at(host.loops[at(position)].id)];
  sequence<ir::stmt> steps;
  if (!frames_[at(guests[0])].is_open) {
    note_memory_around(host, position, guests);
    guest_spans spans(*this, host, position);
    for (int g : guests) {
      frames_[at(g)].host = &host;
      frames_[at(g)].host_position = position;
      frames_[at(g)].store = n_.places[at(g)].store;
      // The loop of a reduction over nothing is not made.
      if (frames_[at(g)].store >= 0 && store_of(frames_[at(g)]).frame == nullptr) frames_[at(g)].store = placement::as_computed;
      find_parts(frames_[at(g)], g, spans);
    }
    note_parts_further_in(spans);
    for (int g : guests) make_guest_memory(frames_[at(g)], g);
  }
  for (int g : guests) {
    ir::stmt const nest = stage_nest(g);
    if (n_.places[at(g)].ahead > 0) early.push_back({g, nest});
    else steps.push_back(nest);
  }
  steps.push_back(tile_branches(position, 0, states));
  ir::stmt all = ir::block(m_, steps);
  for (std::size_t i = guests.size(); i-- > 0;)
    if (stage_frame const& guest = frames_[at(guests[i])];
        guest.store == placement::as_computed && n_.places[at(guests[i])].ahead == 0 && outermost_copy(guest).frame == nullptr)
      all = with_memory(guests[i], all);
  return all;
}
/// What stands in front of the loop: the parts of its first iterations; `body` then begins with those of later ones. inside:
/// in an iteration for which it does not hold nothing is done (null: always).
///
/// Asynchronous parts are one group of each iteration, also of those in front and of the last ones, where it is
/// empty: so what is to have arrived is all groups but the last so many. The wait is the first of all: the barrier behind it, by
/// which all threads see what each of them has waited for, is also the one behind which nobody reads the memory any more that
/// is filled next. In the loop they stand last, where nothing else is ahead and more than one iteration copies: an H100 gives the addresses of copies free late, and
/// threads that issue them first wait for these registers in front of their products (18 of 100 stalls of products by mma.sync).
WEFT_DECL ir::stmt lowering::computed_ahead(int position, ir::expr trips, ir::expr inside,
                                            sequence<early_guest> const& early, ir::stmt& body) {
  std::int32_t most = 0, least = 1 << 20, left = 1 << 20, early_readers = 0;
  for (early_guest const& e : early) {
    std::int32_t const ahead = n_.places[at(e.stage)].ahead;
    if (ahead > most) most = ahead;
    if (ahead < least) least = ahead;
    if (!is_async(e.stage)) continue;
    // Of this iteration's and later ones', what the first one that reads it wants has arrived.
    std::int32_t const read = most_ahead(e.stage, now_->loops[at(position)].id);
    if (ahead - read - 1 < left) left = ahead - read - 1;
    if (read > early_readers) early_readers = read;
  }
  bool const async = left < 1 << 20;
  std::int32_t const variable = now_->loops[at(position)].variable;
  ir::expr const v = ir::variable(m_, variable), zero = ir::index(m_, 0);
  auto const plus = [&](ir::expr e, std::int32_t n) { return n == 0 ? e : ir::binary(m_, op::add, e, ir::index(m_, n)); };
  ir::expr const all_first = ir::index(m_, most);
  ir::expr const count = async ? all_first : simplify(m_, ir::binary(m_, op::min, all_first, plus(trips, most - least)));
  range_table ranges = ranges_in(*now_, position - 1);
  sequence<ir::stmt> first, steps, copies, others;
  sequence<early_guest> in_order;
  for (bool copied : {true, false})
    for (early_guest const& e : early)
      if (is_async(e.stage) == copied) in_order.push_back(e);
  if (async) steps.push_back(ir::wait(m_, left));
  if (async && early_readers > 0) first.push_back(ir::wait(m_, left));
  bool open = async;
  auto const close = [&] {
    if (open) first.push_back(ir::commit(m_)), copies.push_back(ir::commit(m_));
    open = false;
  };
  for (early_guest const& e : in_order) {
    if (!is_async(e.stage)) close();
    std::int32_t const ahead = n_.places[at(e.stage)].ahead;
    ir::stmt const part = inside != nullptr ? ir::branch(m_, inside, e.nest) : e.nest;
    auto const of = [&](ir::expr iteration, ir::expr extent) {
      ranges.set(variable, zero, extent);
      ir::expr const begun = simplify(m_, ir::binary(m_, op::le, zero, iteration), ranges);
      ir::expr const ends = simplify(m_, ir::binary(m_, op::lt, iteration, trips), ranges);
      return ir::branch(m_, ir::all_of(m_, begun, ends), iteration == v ? part : ir::substitute(m_, part, variable, iteration));
    };
    // In the order of the loop itself, as copies are used again: v counts the iterations of what is furthest ahead.
    first.push_back(of(plus(v, ahead - most), count));
    (is_async(e.stage) ? copies : others).push_back(of(plus(v, ahead), trips));
  }
  close();
  bool const once = trips->kind == op::literal && trips->value <= most + 1;  // whose turn is a number, that the reader's is not known to differ from
  bool inside_too = false;  // stages of inner loops run ahead of them
  for (std::size_t p = at(position) + 1; p < now_->loops.size(); ++p)
    for (std::int32_t g : guests_[at(now_->loops[p].id)]) inside_too = inside_too || n_.places[at(g)].ahead > 0;
  bool const last = others.empty() && !once && !inside_too;
  if (!last) steps.push_back(ir::block(m_, copies));
  for (ir::stmt s : others) steps.push_back(s);
  steps.push_back(body);
  if (last) steps.push_back(ir::block(m_, copies));
  body = ir::block(m_, steps);
  return ir::loop(m_, loop_kind::serial, variable, zero, count, ir::block(m_, first));
}
/// How far ahead in a loop the last stage runs that reads `stage`.
WEFT_DECL std::int32_t lowering::least_ahead(int stage, int loop) const {
  std::int32_t least = n_.places[at(stage)].ahead;
  for (std::int32_t r : readers_[at(stage)]) {
    std::int32_t const ahead = n_.places[at(r)].inlined ? least_ahead(r, loop) : n_.ahead_in(r, loop);
    if (ahead < least) least = ahead;
  }
  return least;
}
/// How far ahead in a loop the first stage runs that reads `stage`.
WEFT_DECL std::int32_t lowering::most_ahead(int stage, int loop) const {
  std::int32_t most = 0;
  for (std::int32_t r : readers_[at(stage)]) {
    std::int32_t const ahead = n_.places[at(r)].inlined ? most_ahead(r, loop) : n_.ahead_in(r, loop);
    if (ahead > most) most = ahead;
  }
  return most;
}
/// Whether the stage's elements are copied by a GPU while its threads go on: a CPU has no blocks.
WEFT_DECL bool lowering::is_async(int stage) const { return n_.places[at(stage)].async && is_in_a_block(n_, stage); }
WEFT_DECL ir::stmt lowering::with_memory(int stage, ir::stmt body) {
  for (int r = p_.stages[at(stage)].results; r-- > 0;) {
    ir::stmt_node n;
    n.kind = ir::stmt_kind::allocate;
    n.buf = tensor_[at(p_.stages[at(stage)].tensor + r)];
    // In a loop of a reduction over nothing, which is not made; or the caller's.
    if (n.buf == nullptr || n.buf->argument >= 0) continue;
    n.children = m_.make_list(sequence<ir::stmt>(1, body));
    body = m_.make(n);
  }
  return body;
}
/// By spatial axis of `stage`, what is read of it inside the loop of `spans`.
WEFT_DECL sequence<part> lowering::parts_of(int stage, guest_spans& spans) {
  sequence<part> parts;
  stage_info const& s = p_.stages[at(stage)];
  sequence<span> const& read = spans.of_stage(stage);
  range_table const& ranges = spans.ranges();
  ir::expr const zero = ir::index(m_, 0), one = ir::index(m_, 1);
  for (int d = 0; d < s.spatial; ++d) {
    ir::expr const whole = simplify(m_, axis_extent(s.first_axis + d));
    part p{zero, whole, whole};
    bool const known = d < static_cast<int>(read.size()) && read[at(d)].known();
    if (known && d == s.scanned) {  // all steps up to the last one that is read
      ir::expr const last = simplify(m_, ir::binary(m_, op::sub, whole, one));
      p.begin = s.backwards ? spans.most(read[at(d)].low, zero, ranges) : zero;
      p.last = s.backwards ? last : spans.least(read[at(d)].high, last, ranges);
      ir::expr const count = ir::binary(m_, op::add, ir::binary(m_, op::sub, p.last, p.begin), one);
      p.extent = spans.most(simplify(m_, count), zero, ranges);
    } else if (known) {
      span const r = read[at(d)];
      ir::expr const last = simplify(m_, ir::binary(m_, op::sub, whole, one));
      auto const length = [&](ir::expr from, ir::expr to) {
        return simplify(m_, ir::binary(m_, op::add, ir::binary(m_, op::sub, to, from), one));
      };
      ir::expr const all = length(r.low, r.high);
      std::int64_t const most = spans.difference(r.high, r.low, ranges) + 1;
      bool const bounded = most < std::int64_t(1) << 31;
      // Beyond the borders nothing is read; and no more is computed than what is, on which the parts of others hang.
      // Each length by itself is linear, which ranges can be told of.
      p.begin = spans.most(r.low, zero, ranges);
      if (all->kind == op::literal) {
        p.extent = spans.least(all, length(r.low, last), ranges);
        if (p.begin != r.low) p.extent = spans.least(p.extent, spans.least(length(zero, r.high), whole, ranges), ranges);
      } else {
        p.extent = length(p.begin, spans.least(r.high, last, ranges));
      }
      p.extent = spans.most(p.extent, zero, ranges);
      p.last = spans.least(r.high, last, ranges);
      if (bounded && !(whole->kind == op::literal && whole->value < most)) p.most = ir::index(m_, most < 0 ? 0 : most);
      // Too much for the stack, and perhaps more than there is: an open size is anything up to 2^40.
      if (p.most != whole && most > most_on_stack) p.most = ir::binary(m_, op::min, p.most, whole);
    }
    parts.push_back(p);
  }
  return parts;
}
/// What the loop of `spans` takes for read of stages that are computed further in, between one of its own guests, or one that has its memory there, and what reads that:
/// they compute no more, so that they read no more than is there. Further in less may be known, as of the remainder of an index that is no longer seen to be one number.
WEFT_DECL void lowering::note_parts_further_in(guest_spans& spans) {
  for (int t : order_) {
    placement const& p = n_.places[at(t)];
    stage_frame& further_in = frames_[at(t)];
    if (p.loop < 0 || p.inlined || p.beside || further_in.is_open || !spans.has_asked(t)) continue;
    sequence<part> now = parts_of(t, spans);
    for (std::size_t d = 0; d < further_in.around.size(); ++d) keep_inside(now[d], further_in.around[d], spans);
    further_in.around = now;
  }
}
/// Of the loop at `position` of `host`, before its guests know their parts: what is computed inside of theirs, and has its memory in a loop around, is told there how much is read of it.
WEFT_DECL void lowering::note_memory_around(stage_frame& host, int position, sequence<std::int32_t> const& guests) {
  auto const is_inside = [&](int stage) {
    for (int loop = n_.places[at(stage)].loop; loop >= 0; loop = n_.places[at(n_.at(loop).stage)].loop)
      for (int g : guests)
        if (n_.at(loop).stage == g) return true;
    return false;
  };
  for (int t : order_) {
    if (n_.places[at(t)].store < 0 || !is_inside(t)) continue;
    int inside = position;
    for (stage_frame* f = &host; f != nullptr; inside = f->host_position, f = f->host)
      for (int i = 0; i <= inside; ++i) {
        if (f->loops[at(i)].id != n_.places[at(t)].store) continue;
        guest_spans spans(*this, *f, i);
        static_cast<void>(spans.of_stage(t));
        note_parts_further_in(spans);
      }
  }
}
WEFT_DECL void lowering::find_parts(stage_frame& guest, int stage, guest_spans& spans) {
  guest.parts = parts_of(stage, spans);
  for (std::size_t d = 0; d < guest.around.size(); ++d) keep_inside(guest.parts[d], guest.around[d], spans);
  if (guest.store == placement::as_computed) return;
  stage_info const& s = p_.stages[at(stage)];
  if (guest.store == placement::whole_kernel) {
    for (int d = 0; d < s.spatial; ++d) {
      ir::expr const whole = simplify(m_, axis_extent(s.first_axis + d));
      guest.stored.push_back({ir::index(m_, 0), whole, whole});
    }
  } else {
    auto const [host, position] = store_of(guest);
    guest_spans further_out(*this, *host, position);
    guest.stored = parts_of(stage, further_out);
    note_parts_further_in(further_out);
    for (std::size_t d = 0; d < guest.parts.size(); ++d) keep_inside(guest.parts[d], guest.stored[d], spans);
  }
  if (n_.places[at(stage)].beside) return;
  guest.computed = slid(guest, spans);
  only_at_first(guest);
}
/// Of a loop between the guest's memory and the loop in which it is computed, along which the part does not move: what its first iteration
/// has computed, the others find there; so that is written out apart. Not so where an iteration of a loop inside may be left out in the first one,
/// and not in others; a ring has lost what it began with.
WEFT_DECL void lowering::only_at_first(stage_frame& guest) {
  auto const memory = store_of(guest);
  for (int d = 0; d < guest.stage->spatial; ++d)
    if (n_.at(n_.loop_of[at(guest.stage->first_axis + d)]).fold > 0) return;
  sequence<loop_of_frame> frames;  // from the host outwards, each with its innermost loop around the guest
  auto const stays = [&](stage_frame const& of, int position) {
    open_loop const& w = of.loops[at(position)];
    if (w.how != loop_kind::serial || n_.at(w.id).reduced || of.stage->scanned >= 0) return false;  // a scan begins where its loop does
    for (part const& p : guest.parts)
      for (ir::expr e : {p.begin, p.extent})
        if (uses(e, w.variable)) return false;
    for (loop_of_frame const& f : frames) {
      int const outermost = f.frame == &of ? position : -1;
      for (int i = outermost + 1; i <= f.position; ++i)
        if (uses(f.frame->loops[at(i)].extent, w.variable)) return false;
      for (guard const& g : f.frame->guards) {
        if (g.depth < outermost || g.depth > f.position || (g.condition < 0 && !uses(g.index, w.variable) && !uses(g.bound, w.variable))) continue;
        // An end of the loop itself: the first iteration is there where another one is.
        if (g.depth != outermost || g.condition >= 0 || uses(g.bound, w.variable) || !is_linear(g.index, w.variable)) return false;
        for (linear::term const& t : linear_form(g.index).terms)
          if (t.coefficient < 0 && uses(t.atom, w.variable)) return false;
      }
    }
    return true;
  };
  int inside = guest.host_position;
  for (stage_frame* f = guest.host; f != nullptr; inside = f->host_position, f = f->host) {
    frames.push_back({f, inside});
    for (int i = f == guest.host ? inside - 1 : inside; i > (f == memory.frame ? memory.position : -1); --i) {
      if (guest.parts.empty() || !stays(*f, i)) continue;
      if (guest.computed.empty()) guest.computed = guest.parts;
      part& p = guest.computed[0];
      ir::expr const first = ir::binary(m_, op::lt, ir::variable(m_, f->loops[at(i)].variable), ir::index(m_, 1));
      p.extent = ir::ternary(m_, op::select, first, p.extent, ir::index(m_, 0));
      bool known = false;
      for (int other : f->apart) known = known || other == i;
      if (!known) f->apart.push_back(i);
    }
    if (f == memory.frame) return;
  }
}
/// Less is known of what is read in a loop further in, perhaps; none of it is outside of what is read around.
WEFT_DECL void lowering::keep_inside(part& p, part const& around, guest_spans& spans) {
  ir::expr const one = ir::index(m_, 1);
  auto const last_of = [&](part const& of) {
    return simplify(m_, ir::binary(m_, op::sub, ir::binary(m_, op::add, of.begin, of.extent), one));
  };
  ir::expr const end = p.last != nullptr ? p.last : last_of(p);
  ir::expr const begin = spans.most(p.begin, around.begin, spans.ranges());
  ir::expr const last = spans.least(end, around.last != nullptr ? around.last : last_of(around), spans.ranges());
  if (begin == p.begin && last == end) return;
  ir::expr const length = simplify(m_, ir::binary(m_, op::add, ir::binary(m_, op::sub, last, begin), one));
  bool const fewer = p.most->kind != op::literal || (around.most->kind == op::literal && around.most->value < p.most->value);
  p = {begin, spans.most(length, ir::index(m_, 0), spans.ranges()), fewer ? around.most : p.most, last};
}
/// The frame and the position of the loop for all of whose iterations the guest has its memory.
WEFT_DECL loop_of_frame lowering::store_of(stage_frame const& guest) const {
  if (guest.store == placement::as_computed) return {guest.host, guest.host_position};
  for (stage_frame const *f = guest.host, *of = &guest; f != nullptr; of = f, f = f->host)
    for (int i = of->host_position; i >= 0; --i)
      if (f->loops[at(i)].id == guest.store) return {f, i};
  return {nullptr, -1};
}
/// Calls `f(frame, position)` for each loop for whose iterations the guest has memory of its own, inside out by stage.
template <class F>
void lowering::each_around_memory(stage_frame const& guest, F const& f) const {
  if (guest.host == nullptr) return;
  loop_of_frame of = store_of(guest);
  for (; of.frame != nullptr; of = {of.frame->host, of.frame->host_position})
    for (int i = 0; i <= of.position; ++i) f(*of.frame, i);
}
/// The outermost of those that are virtual threads, whose iterations run in turns: the copies of the guest's memory are there
/// at the same time. Of no frame: there is none.
WEFT_DECL loop_of_frame lowering::outermost_copy(stage_frame const& guest) const {
  loop_of_frame out{nullptr, -1};
  each_around_memory(guest, [&](stage_frame const& f, int position) {
    bool const further_out = out.frame != &f;  // of one stage the first counts
    if (f.loops[at(position)].how == loop_kind::virtual_thread && further_out) out = {&f, position};
  });
  return out;
}
/// What is new at each iteration of the loop in which the guest is computed, if what is read of it moves forward along one
/// dimension: element x of the part of iteration v, below the last one of iteration v - 1, was read there, as the part
/// of that began no later. In the first iteration all is new. Empty: the part has to be computed whole, as it has where a guard
/// inside the loop may leave out an iteration in front of others: that computes nothing, and those would rely on it.
WEFT_DECL sequence<part> lowering::slid(stage_frame const& guest, guest_spans& spans) {
  open_loop const& v = guest.host->loops[at(guest.host_position)];
  if (v.how != loop_kind::serial || guest.store == v.id) return {};
  range_table const& ranges = spans.ranges();
  ir::expr const here = ir::variable(m_, v.variable), zero = ir::index(m_, 0), one = ir::index(m_, 1);
  ir::expr const previous = ir::binary(m_, op::sub, here, one);
  auto const in_iteration = [&](ir::expr which, ir::expr e) { return simplify(m_, ir::substitute(m_, e, v.variable, which)); };
  auto const before = [&](ir::expr e) { return in_iteration(previous, e); };
  // A guard that is linear in the loop is an end of it (nest_from); another one has to hold there, if not always, then wherever it
  // holds here, as no term of its index is larger there.
  auto const runs_too = [&](ir::expr earlier) {
    for (guard const& g : guest.host->guards) {
      if (g.depth != guest.host_position || g.condition >= 0 || is_linear(g.index, v.variable)) continue;
      if (ir::is_literal(simplify(m_, ir::binary(m_, op::lt, in_iteration(earlier, g.index), g.bound), ranges), 1)) continue;
      for (linear::term const& t : linear_form(g.index).terms)
        if (t.coefficient < 0 || spans.difference(in_iteration(earlier, t.atom), t.atom, ranges) > 0) return false;
    }
    return true;
  };
  int moving = -1;
  for (std::size_t d = 0; d < guest.parts.size(); ++d) {
    part const& p = guest.parts[d];
    if (!uses(p.begin, v.variable) && !uses(p.extent, v.variable)) continue;
    if (moving >= 0 || p.last == nullptr || static_cast<int>(d) == guest.stage->scanned) return {};
    moving = static_cast<int>(d);
  }
  sequence<part> computed = guest.parts;
  if (moving < 0) {  // the same in all iterations: done in the first one
    if (computed.empty() || !runs_too(zero)) return {};
    part& p = computed[0];
    p.extent = ir::ternary(m_, op::select, ir::binary(m_, op::lt, here, one), p.extent, zero);
    return computed;
  }
  part& p = computed[at(moving)];
  auto const moves_forward = [&](ir::expr e) { return spans.difference(before(e), e, ranges) <= 0; };
  if (!moves_forward(p.begin) || !moves_forward(p.last) || !runs_too(previous)) return {};
  ir::expr const next = simplify(m_, ir::binary(m_, op::add, before(p.last), one));
  ir::expr const begin = ir::ternary(m_, op::select, ir::binary(m_, op::lt, here, one), p.begin, spans.most(p.begin, next, ranges));
  ir::expr const left = ir::binary(m_, op::add, ir::binary(m_, op::sub, p.last, begin), one);
  p = {begin, spans.most(simplify(m_, left), zero, ranges), p.most, p.last};
  return computed;
}
/// Where in the guest's memory an element stands.
WEFT_DECL ir::expr lowering::stored_index(stage_frame const& guest, int dim, ir::expr element) {
  std::int64_t const fold = n_.at(n_.loop_of[at(guest.stage->first_axis + dim)]).fold;
  if (fold > 0) return simplify(m_, ir::binary(m_, op::floor_mod, element, ir::index(m_, fold)));
  ir::expr const begin = (guest.stored.empty() ? guest.parts : guest.stored)[at(dim)].begin;
  return simplify(m_, ir::binary(m_, op::sub, element, begin));
}
WEFT_DECL void lowering::need_fewer_than_folded(stage_frame const& guest, int dim, std::int64_t fold) const {
  ir::expr const most = guest.parts[at(dim)].most;
  if (most->kind == op::literal && most->value <= fold) return;
  std::string const count = most->kind == op::literal ? std::to_string(most->value) : "any number of";
  WEFT_THROW(schedule_error(joined({"fold_storage: ", count, " elements along this axis are read at a time, ",
                                    std::to_string(fold),
                                    " are kept\n  in    stage ", p_.tensors[at(guest.stage->tensor)].name.view(),
                                    ", axis ", n_.at(n_.loop_of[at(guest.stage->first_axis + dim)]).name.view(),
                                    "\n  try   ",
                            most->kind == op::literal ? "a factor of " + count : "compute_at a loop further in"})));
}
/// On the stack of the thread that runs the loop where all guests of the kernel together are small enough for it;
/// else in the workspace, where each thread that runs the innermost parallel loop around it has memory of its own: what one panel was copied to is still in
/// its cache when the next one comes. Where threads are not known, each iteration has, as those of other loops that run at once. Virtual threads have it
/// either way.
WEFT_DECL void lowering::make_guest_memory(stage_frame& guest, int stage) {
  if (!read_[at(stage)]) return;
  stage_info const& s = p_.stages[at(stage)];
  sequence<ir::expr> shape;
  for (int d = 0; d < s.spatial; ++d) {
    shape.push_back((guest.stored.empty() ? guest.parts : guest.stored)[at(d)].most);
    if (std::int64_t const fold = n_.at(n_.loop_of[at(s.first_axis + d)]).fold; fold > 0) {
      need_fewer_than_folded(guest, d, fold);
      shape.back() = ir::index(m_, fold);
    }
  }
  auto const shape_of = [&](int r) { return kept_dimensions(s.tensor + r, shape); };
  // What a step wants of strides is about dimensions that all are there.
  auto const strides_of = [&](int r, sequence<ir::expr> const& of) {
    return packed_strides(of, narrow_.lacks[at(s.tensor + r)] == 0 ? stage : -1);
  };
  std::int32_t const ahead = n_.places[at(stage)].ahead;
  std::int32_t const copies = ahead == 0 ? 1 : 1 + ahead - least_ahead(stage, n_.places[at(stage)].loop);
  double all_copies = copies, bytes = 64.0 * (s.results - 1);
  each_around_memory(guest, [&](stage_frame const& f, int i) {
    if (f.loops[at(i)].how == loop_kind::virtual_thread) all_copies *= static_cast<double>(f.loops[at(i)].extent->value);
  });
  for (int r = 0; r < s.results; ++r)
    bytes += all_copies * memory_bytes(p_.tensors[at(s.tensor + r)].type, shape_of(r), strides_of(r, shape_of(r)));
  bool const on_stack = has_place_on_stack(stage, bytes, !outlives_launches(stage));
  sequence<ir::expr> around;
  std::int32_t places = 0;
  each_around_memory(guest, [&](stage_frame const& f, int i) {
    open_loop const& o = f.loops[at(i)];
    if (on_stack ? o.how != loop_kind::virtual_thread : !is_concurrent(o.how)) return;
    if (o.how == loop_kind::parallel && places == 0 && threads_ > 0) {  // the first one that is met is the innermost one
      std::int32_t const limit = n_.at(o.id).threads;
      places = limit > 0 && limit < threads_ ? limit : threads_;
      if (o.extent->kind == op::literal && o.extent->value < places) places = o.extent->value > 0 ? static_cast<std::int32_t>(o.extent->value) : 1;
      return;
    }
    guest.instance.push_back(ir::variable(m_, o.variable));
    around.push_back(o.extent->variables == 0 ? o.extent : longest(o.id, true));
  });
  if (copies > 1) {
    open_loop const& of = guest.host->loops[at(guest.host_position)];
    guest.instance.push_back(ir::binary(m_, op::floor_mod, ir::variable(m_, of.variable), ir::index(m_, copies)));
    around.push_back(ir::index(m_, copies));
  }
  for (int r = 0; r < s.results; ++r) {
    if (tensor_[at(s.tensor + r)] != nullptr) continue;  // an output, of a stage beside another
    ir::buffer* b = new_buffer(s.tensor + r);
    b->where = on_stack ? ir::scope::stack : ir::scope::heap;
    b->places = places;
    if (wants_registers(stage)) f_.wanted_in_registers.push_back(b->id);
    if (wants_shared(stage)) f_.wanted_in_shared.push_back(b->id);
    b->written = true;
    b->alignment = 64;
    b->alias_class = ir::own_alias_class(b->id);
    sequence<ir::expr> all = around;
    for (ir::expr e : shape_of(r)) all.push_back(e);
    b->shape = m_.make_list(all);
    b->strides = m_.make_list(strides_of(r, all));
    b->swizzled = on_stack && narrow_.lacks[at(s.tensor + r)] == 0 && wants_swizzle(stage, *b);
  }
}
/// Errors: schedule_error where rows are not what can be swizzled.
WEFT_DECL bool lowering::wants_swizzle(int stage, ir::buffer const& b) const {
  if (n_.wish(stage, memory_wish::swizzled) == nullptr) return false;
  ir::expr const stride = b.strides[b.strides.size() - 2];
  ir::expr const beside = b.strides[b.strides.size() - 1];  // storage_align may have put elements apart
  bool fits = stride->kind == op::literal && stride->value % (16 / size_bytes(b.type)) == 0 && ir::is_literal(beside, 1);
  if (ir::is_literal(stride, 0)) return false;  // rows of no elements
  for (std::size_t d = 0; d + 2 < b.strides.size() && fits; ++d) {
    linear const apart = linear_form(b.strides[d]);
    fits = apart.constant % stride->value == 0;
    for (linear::term const& t : apart.terms) fits = fits && t.coefficient % stride->value == 0;
  }
  if (fits) return true;
  diagnosis const why = diagnosis::rows_that_are_swizzled_are_multiples_of_16_bytes_apart;
  char const* const rows = ir::is_literal(beside, 1) ? ": rows are " : ": elements of a row are not side by side, and rows are ";
  WEFT_THROW(schedule_error(joined({"swizzle: ", sentence(why), "\n  in    stage ", p_.tensors[at(p_.stages[at(stage)].tensor)].name.view(), rows,
                                    stride->kind == op::literal ? std::to_string(stride->value * size_bytes(b.type)) + " bytes apart" : "as long as the call says",
                                    "\n  try   ", static_way_out(why)})));
}

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
