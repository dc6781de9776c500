#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>

#include "weft/base/fork_gate.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/memory.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/expr/extern_error.hpp"
#include "weft/kernel_table.hpp"
#include "weft/runtime/bind.hpp"
#include "weft/runtime/constant.hpp"
#include "weft/runtime/thread_pool.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// All tables of this program or shared library that have forms, for `supersede`. Of another library, whose functions a loader has
/// bound to those here, none is listed: it may be unloaded first.
[[gnu::visibility("hidden")]] inline kernel_table* first_table = nullptr;
[[gnu::visibility("hidden")]] inline mutex tables_lock;
/// Of the process, by names.
inline std::uint32_t supersession_counts[256] = {};
inline std::uint32_t& supersession_count(std::string_view name) { return supersession_counts[xxh64(name) % 256]; }
/// ready_kernel::machine of one that is not found any more.
[[gnu::visibility("hidden")]] inline target const* const superseded = reinterpret_cast<target const*>(&first_table);

inline bool is_of_this_library(void const* address) {
  Dl_info its{}, ours{};
  return ::dladdr(address, &its) != 0 && ::dladdr(&first_table, &ours) != 0 && its.dli_fbase == ours.dli_fbase;
}
inline bool same_trace(trace const& a, trace const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i])) return false;
  return true;
}
inline bool same_program(program const& a, program const& b) {
  if (a.nodes != b.nodes || a.operands != b.operands || a.extents != b.extents || a.outputs != b.outputs ||
      a.stages.size() != b.stages.size() || a.axes.size() != b.axes.size() || digest(a) != digest(b))
    return false;
  for (std::size_t s = 0; s < a.stages.size(); ++s)
    if (extern_function const *f = a.stages[s].by, *g = b.stages[s].by; f != g && (f == nullptr || g == nullptr || !f->is(*g)))
      return false;
  return true;
}

/// What the lambdas of a kernel that varies say today.
struct lambda_state {
  program what;
  trace steps;  // with each knob's first value
};
inline target const& machine_of(kernel_face const& face) { return face.machine != nullptr ? *face.machine : host(); }

inline compile_request request(kernel_face const& face, program const& what, call_layout const& layout,
                               target const& machine) {
  // Checked code speaks of the loops that were written, or of none.
  bool const by_rule = face.how == nullptr && !is_checked(face.wanted) && !is_set(face.wanted.plain, "WEFT_PLAIN");
  return {face.name, &what, face.how, face.object, &layout, &machine, face.wanted, by_rule};
}
/// Checked code is made for the sizes of a call: it tells of accesses that no proof for all sizes lets through.
inline bool may_stay_open(kernel_face const& face) { return face.open != nullptr && !is_checked(face.wanted); }
/// Whether today's lambdas would make the form `k`, which fits the call. Equal steps are legal or illegal alike; if they
/// were not legal, `k` has others, by knob values that these lambdas may not offer or do other steps with.
inline bool says_the_same(ready_kernel const& k, kernel_face const& face, lambda_state const& today) {
  if (!same_program(k.what, today.what) || !same_trace(k.steps, today.steps)) return false;
  if (k.nothing_to_do || face.how == nullptr || same_trace(k.steps, k.code.steps)) return true;
  call_layout const layout = k.open != nullptr ? k.open->layout
                                               : weft::bind(today.what, face.name, k.arguments.data(),
                                                            static_cast<int>(k.arguments.size()));
  return same_trace(make_schedule(request(face, today.what, layout, machine_of(face))).steps, k.code.steps);
}

inline ready_kernel const* lookup(kernel_table const& table, kernel_face const& face, argument const* arguments, int count, lambda_state const* captured) {
  ready_kernel const* k = __atomic_load_n(&table.first, __ATOMIC_ACQUIRE);
  for (bool general = false;; k = k->next) {
    if (k == nullptr && (general || (general = true, k = __atomic_load_n(&table.general, __ATOMIC_ACQUIRE)) == nullptr)) return nullptr;
    // By address: comparing targets feature by feature took 95 of a call's 130 ns.
    if (__atomic_load_n(&k->machine, __ATOMIC_RELAXED) != face.machine || !(k->wanted == face.wanted) || !fits(*k, arguments, count)) continue;
    if (captured != nullptr && !says_the_same(*k, face, *captured)) continue;
    return k->later == nullptr ? k : &linked_shapes.settled(face, *k);
  }
}

inline void check_digest(kernel_face const& face, program const& p) {
  if (face.digest == 0 || digest(p) == face.digest) return;
  WEFT_THROW(schedule_error(joined({face.name,
                            ": its stages came in another order at run time than in the compiler; two of them are "
                            "made in one expression: give each a name of its own (auto c = weft::compute<..>(..);)"})));
}
inline bool has_only_empty_outputs(argument const* arguments, int count) {
  bool all = count > 0;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    if (!arguments[i].is_output) continue;
    any = true;
    all = all && is_empty(arguments[i]);
  }
  return any && all;
}
inline void parallel_for(void* pool, std::int64_t count, std::int64_t places, loop_body* body, void* context) {
  static_cast<runtime::thread_pool*>(pool)->run(count, body, context, places);
}
/// A kernel whose lambdas run on this thread. One that comes back to itself, through whichever others, would wait for
/// its own table or never end.
class running_lambdas {
 public:
  explicit running_lambdas(kernel_face const& face) : what_(face.what), outer_(innermost()) {
    for (running_lambdas const* r = outer_; r != nullptr; r = r->outer_)
      if (r->what_ == what_)
        WEFT_THROW(schedule_error(joined({face.name,
                                  ": its lambdas call the kernel itself, perhaps through another one; they describe it "
                                          "and cannot run it: compute before it what they need, and capture that"})));
    innermost() = this;
  }
  running_lambdas(running_lambdas const&) = delete;
  running_lambdas& operator=(running_lambdas const&) = delete;
  ~running_lambdas() { innermost() = outer_; }
  bool is_nested() const { return outer_ != nullptr; }

 private:
  static running_lambdas const*& innermost() {
    thread_local running_lambdas const* r = nullptr;
    return r;
  }
  program (*what_)(void const*);
  running_lambdas const* outer_;
};
/// Holds a table while its kernel is compiled, so that others wait instead of compiling too. Not so within the lambdas
/// of another kernel: two threads that each hold what the other wants would wait forever.
class table_hold {
 public:
  table_hold(mutex& m, bool wait) : m_(m), held_(wait ? (m.lock(), true) : m.try_lock()) {}
  table_hold(table_hold const&) = delete;
  table_hold& operator=(table_hold const&) = delete;
  ~table_hold() {
    if (held_) m_.unlock();
  }

 private:
  mutex& m_;
  bool held_;
};
/// The memory in which a call finds what earlier ones kept of its constants, or leaves it: then it holds the lock of the first
/// of them, so that others wait, and what a call that failed has left counts for nothing. A call inside of such a call, which a
/// function of the program's may make, waits for nobody: it makes the memory for itself alone where the lock is taken.
class kept_use {
 public:
  kept_use(ready_kernel const& k, argument const* arguments, std::int64_t const* sizes) : kernel_(k.number) {
    for (std::uint64_t bits = k.code.keeps; bits != 0; bits &= bits - 1) {
      kept_of_constant* const c = arguments[__builtin_ctzll(bits)].constant;
      if (count_ == 0) home_ = c;
      states_[count_++] = c->state();
    }
    if (count_ > 0 && !found()) make(k, sizes);
  }
  kept_use(kept_use const&) = delete;
  kept_use& operator=(kept_use const&) = delete;
  ~kept_use() {
    if (making_) std::free(memory_), end();
  }
  bool is_there() const { return !making_; }
  void* memory() const { return memory_; }
  /// The call has ended well.
  void done() {
    if (!making_ || alone_) return;
    home_->keep(kernel_, states_, count_, memory_);
    end();
  }

 private:
  bool found() { return (memory_ = home_->find(kernel_, states_, count_)) != nullptr; }
  [[gnu::cold]] void make(ready_kernel const& k, std::int64_t const* sizes) {
    std::int64_t const bytes = wanted_memory(k.code, k.name, sizes, true);
    if (calls_that_make() == 0) home_->lock.lock();
    else alone_ = !home_->lock.try_lock();
    if (!alone_ && found()) return home_->lock.unlock();  // by the call that held it
    making_ = true;
    ++calls_that_make();
    memory_ = element_memory(bytes + 1);
    if (memory_ != nullptr) return;
    end();
    WEFT_THROW(device_error(joined({k.name, ": no memory for ", std::to_string(bytes), " bytes of packed constants"})));
  }
  void end() {
    making_ = false;
    --calls_that_make();
    if (!alone_) home_->lock.unlock();
  }
  /// Of this thread, one inside of the other.
  static int& calls_that_make() {
    static constinit thread_local int count = 0;
    return count;
  }
  std::uint64_t kernel_;
  kept_of_constant* home_ = nullptr;
  void* memory_ = nullptr;
  int count_ = 0;
  bool making_ = false;
  bool alone_ = false;  // nobody else is to find it
  std::uint64_t states_[max_arguments];
};
WEFT_COLD_BEGIN
/// Says what a plain call is compared with, if one may run it.
inline void note_plain(ready_kernel& k) {
  compiled_kernel const& c = k.code;
  if ((k.open != nullptr && (!k.open->call_words.is_known || !k.open->tuned.empty())) || k.later != nullptr || k.nothing_to_do || k.shared != 0 || c.keeps != 0 || c.checked) return;
  bool const needs_memory = c.workspace_bytes != 0;
  if (needs_memory && k.open != nullptr) return;
  for (argument const& a : k.arguments)
    if (a.is_allocated_here || a.constant != nullptr) return;
  sequence<std::uint64_t> words;
  sequence<byte_span> spans;
  for (argument const& a : k.arguments) {
    words.push_back(kind_of(a));
    if (a.is_scalar) continue;
    spans.push_back(span_of(a));
    for (int d = 0; d < a.rank; ++d) words.push_back(static_cast<std::uint64_t>(a.extents[d]));
    for (int d = 0; d < a.rank; ++d) words.push_back(static_cast<std::uint64_t>(a.strides[d]));
  }
  auto const kept = [](auto const& all) {
    auto* const copy = new std::remove_cvref_t<decltype(all[0])>[all.size()];
    for (std::size_t i = 0; i < all.size(); ++i) copy[i] = all[i];
    return copy;
  };
  k.plain.spans = kept(spans);
  k.plain.words = kept(words);
  if (k.open != nullptr) k.plain.open = &k.open->call_words;
  k.plain.word_count = static_cast<std::int32_t>(words.size());
  k.plain.functions = k.functions.data(), k.plain.entry = needs_memory ? nullptr : c.entry, k.plain.wanted = code_wanted(k.wanted);
}
/// The way of a first call, and of every call of a kernel that varies: the lambdas run.
inline ready_kernel const& find_by_lambdas(kernel_table& table, kernel_face const& face, argument* arguments, int count) {
  running_lambdas const running(face);
  lambda_state captured;
  if (face.varies) {
    captured.what = face.what(face.object);
    if (face.how != nullptr) {
      // The steps without extents: what the captured values made of the how-lambda.
      schedule s(captured.what, [](int, int) { return std::int64_t(-1); });
      face.how(face.object, s);
      captured.steps = s.steps;
    }
  }
  lambda_state const* const state = face.varies ? &captured : nullptr;
  if (state != nullptr)
    if (ready_kernel const* k = lookup(table, face, arguments, count, state)) return *k;

  fork_gate const no_fork;
  table_hold const hold(table.lock, !running.is_nested());
  if (ready_kernel const* k = lookup(table, face, arguments, count, state)) return *k;
  if (table.own != nullptr) table.own();
  if (!table.listed && is_of_this_library(&table)) {
    weft::guard const holding(tables_lock);
    table.next = first_table;
    first_table = &table;
    table.listed = true;
  }
  program what = face.varies ? captured.what : face.what(face.object);
  check_digest(face, what);
  bool left_out = false;
  for (int i = 0; i < count; ++i) left_out = left_out || arguments[i].is_allocated_here;
  if (left_out) shape_outputs(what, arguments, count);
  call_layout layout = weft::bind(what, face.name, arguments, count);
  auto* made = new ready_kernel;
  made->supersession = supersessions(face.name);
  struct dropper {
    ready_kernel*& k;
    ~dropper() { delete k; }
  } const drop{made};
  made->what = static_cast<program&&>(what);
  made->arguments.assign(arguments, arguments + count);
  made->steps = captured.steps;
  made->shared = shared_memory(arguments, count);
  made->machine = face.machine;
  made->wanted = face.wanted;
  made->name = std::string(face.name);
  for (stage_info const& s : made->what.stages)
    if (s.by != nullptr) made->functions.push_back(s.by->call);
  made->number = next_number();
  made->nothing_to_do = has_only_empty_outputs(arguments, count);
  if ((face.wanted.background || face.wanted.exact_shapes >= 0) && find_shapes() == nullptr)
    WEFT_THROW(argument_error(joined({face.name, ": .background and .exact_shapes need #include <weft/shapes.hpp> in one file of the ",
                                      "program, or weft::compiled"})));
  shape_services const* const shapes = made->nothing_to_do ? nullptr : find_shapes();
  bool const for_many = shapes != nullptr && face.open == nullptr && shapes->generalise(table, face, made, layout);
  if (!for_many) {
    if (may_stay_open(face)) made->open = face.open(made->what, face.name, arguments, count, layout);
    if (made->open != nullptr) layout = made->open->layout;
    bool const later = shapes != nullptr && made->open == nullptr && shapes->postpone(table, face, made, layout);
    if (!made->nothing_to_do && !later) made->code = compile(request(face, made->what, layout, machine_of(face)));
  }
  static_cast<void>(host_services());  // made here, where no other thread forks
  ready_kernel** const list = for_many && made->later == nullptr ? &table.general : &table.first;
  publish(*list, made);
  ready_kernel const& result = *made;
  made = nullptr;  // kept for the life of the process: code may be running in it at any time
  if (result.later != nullptr) shapes->begin(result);
  return result;
}
WEFT_COLD_END
}  // namespace detail

WEFT_DECL compile_request detail::request_of(kernel_face const& face, program const& what, call_layout const& layout) {
  return request(face, what, layout, machine_of(face));
}
WEFT_DECL std::uint64_t detail::next_number() {
  static std::uint64_t last = 0;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
WEFT_DECL void detail::publish(ready_kernel*& list, ready_kernel* made) {
  note_plain(*made);
  made->next = __atomic_load_n(&list, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&list, &made->next, made, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
  }
  // Who supersedes counts, and then looks at what is published: one of the two sees the other.
  if (supersessions(made->name) != made->supersession) give_up(*made);
}
WEFT_DECL std::uint32_t detail::supersessions(std::string_view name) { return __atomic_load_n(&supersession_count(name), __ATOMIC_SEQ_CST); }
WEFT_DECL void detail::give_up(ready_kernel const& k) { __atomic_store_n(&k.machine, superseded, __ATOMIC_RELAXED); }
WEFT_DECL bool detail::same_lambdas(ready_kernel const& a, ready_kernel const& b) {
  return same_program(a.what, b.what) && same_trace(a.steps, b.steps);
}
WEFT_HOT_DECL services const& detail::host_services() {
  instruments const* const extra = find_instruments();
  static services const host{parallel_for, &runtime::default_pool(), extra != nullptr ? extra->report : nullptr};
  return host;
}

WEFT_DECL void supersede(std::string_view name, bool (*stale)(void const* context, ready_kernel const& k), void const* context) {
  guard const holding(detail::tables_lock);
  __atomic_fetch_add(&detail::supersession_count(name), 1, __ATOMIC_SEQ_CST);
  for (kernel_table* t = detail::first_table; t != nullptr; t = t->next)
    for (ready_kernel** list : {&t->first, &t->general})
      for (ready_kernel* k = __atomic_load_n(list, __ATOMIC_SEQ_CST); k != nullptr; k = k->next)
        if (__atomic_load_n(&k->machine, __ATOMIC_RELAXED) != detail::superseded && k->name == name && (stale == nullptr || stale(context, *k))) detail::give_up(*k);
}

WEFT_DECL void kernel_table::drop() {
  if (shape_services const* const shapes = find_shapes()) shapes->forget(*this);
  detail::first_table = nullptr;  // the library goes, and all its tables
  for (ready_kernel** list : {&first, &general})
    while (ready_kernel* const k = *list) {
      *list = k->next;
      std::free(k->workspace);
      delete k;
    }
}

WEFT_HOT_DECL bool fits(ready_kernel const& k, argument const* arguments, int count) {
  if (static_cast<std::size_t>(count) != k.arguments.size()) return false;
  if (k.open != nullptr && !k.open->serve(arguments, count)) return false;
  argument const* const made_for = k.arguments.data();
  for (int i = 0; i < count; ++i) {
    argument const &a = arguments[i], &b = made_for[i];
    if ((a.constant == nullptr) != (b.constant == nullptr)) return false;
    if (k.open != nullptr) continue;
    if (a.is_allocated_here && b.is_allocated_here) continue;  // its shape follows from the others
    if (detail::kind_of(a) != detail::kind_of(b)) return false;
    for (int d = 0; d < a.rank; ++d)
      if (((a.extents[d] ^ b.extents[d]) | (a.strides[d] ^ b.strides[d])) != 0) return false;
    // Let the slow path say what is wrong.
    if (a.data == nullptr && !a.is_scalar && !k.nothing_to_do && !detail::is_empty(a)) return false;
  }
  return shared_memory(arguments, count) == k.shared;
}

WEFT_HOT_DECL ready_kernel const& find_or_compile(kernel_table& table, kernel_face const& face, argument* arguments, int count) {
  if (!face.varies)
    if (ready_kernel const* k = detail::lookup(table, face, arguments, count, nullptr)) return *k;
  return detail::find_by_lambdas(table, face, arguments, count);
}

WEFT_HOT_DECL argument const* shaped(ready_kernel const& k, argument* arguments, int count) {
  if (k.open == nullptr) return k.arguments.data();
  shape_outputs(k.what, arguments, count);
  return arguments;
}

namespace detail {
[[gnu::cold]] inline void raise_failure(ready_kernel const& k, failure const& failed, std::int32_t code) {
  if (failed.text == nullptr) raise_extern(k.name, k.what, static_cast<std::int32_t>(failed.numbers[0]), code);
  linked_instruments.raise(failed);
}
/// Whether no element of an output may be another argument's, too, and no address is null: others say what that is.
template <class Span>
[[gnu::always_inline]] inline bool are_apart(plain_call const& c, Span const* spans) {
  auto const address = [&](int i) { return reinterpret_cast<std::uintptr_t>(c.tensors[i]); };
  bool apart = true;
  for (int i = 0; i < c.tensor_count; ++i) apart = apart && address(i) != 0;
  for (int o = c.tensor_count - c.outputs; o < c.tensor_count; ++o) {
    std::uintptr_t const first = address(o) + spans[o].first, last = address(o) + spans[o].last;
    for (int i = 0; i < o; ++i) apart = apart && (last <= address(i) + spans[i].first || address(i) + spans[i].last <= first);
  }
  return apart && __atomic_load_n(&chosen_runner, __ATOMIC_ACQUIRE) == nullptr;
}
[[gnu::always_inline]] inline bool enter_plain(ready_kernel const& k, plain_call const& c, std::int64_t const* sizes) {
  failure failed;
  launch const l{c.tensors, sizes, c.scalars, nullptr, &host_services(), &failed, nullptr, nullptr, k.plain.functions};
  if (std::int32_t const code = k.plain.entry(&l); code != 0) raise_failure(k, failed, code);
  return true;
}
[[gnu::always_inline]] inline bool has_words(plain_form const& form, plain_call const& c) {
  std::uint64_t differences = 0;
  for (int i = 0; i < c.word_count; ++i) differences |= c.words[i] ^ form.words[i];
  return differences == 0;
}
[[gnu::always_inline]] inline bool run_with_its_words(ready_kernel const& k, plain_call const& c) {
  return k.plain.entry != nullptr && are_apart(c, k.plain.spans) && enter_plain(k, c, nullptr);
}
[[gnu::noinline, gnu::hot]] inline bool run_if_open(ready_kernel const& k, plain_call const& c) {
  plain_form const& form = k.plain;
  open_words const& open = *form.open;
  std::uint64_t differences = 0;
  std::uint64_t const* const numbers = open.numbers.data();
  for (int i = 0; i < c.word_count; ++i) differences |= (c.words[i] ^ form.words[i]) & numbers[i];
  if (differences != 0) return false;
  auto const* const words = reinterpret_cast<std::int64_t const*>(c.words);
  for (open_words::range const *r = open.ranges.begin(), *const end = open.ranges.end(); r != end; ++r)
    if (words[r->word] < r->low || words[r->word] > r->high || (words[r->word] & r->mask) != 0) return false;
  for (open_words::pair const *p = open.equal.begin(), *const end = open.equal.end(); p != end; ++p)
    if (words[p->word] != words[p->other]) return false;
  struct {
    std::uint64_t first, last;
  } spans[max_arguments];  // a byte_span's, which would all be set to zero
  open_words::rows const* t = open.tensors.begin();
  for (int i = 0; i < c.tensor_count; ++i, ++t) {
    spans[i].first = form.spans[i].first, spans[i].last = form.spans[i].last;
    if (t->bytes == 0) continue;
    std::int64_t stride = 1;
    std::int64_t const *const extents = words + t->word, *const strides = extents + t->rank;
    for (int d = t->rank; d-- > 0;)
      if (strides[d] != stride || __builtin_mul_overflow(stride, extents[d], &stride) || stride > std::int64_t(1) << 47) return false;
    spans[i].first = 0, spans[i].last = static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(t->bytes);
  }
  if (!are_apart(c, spans)) return false;
  std::int64_t sizes[open_sizes::most];
  std::int64_t* to = sizes;
  for (open_words::size const *s = open.sizes.begin(), *const end = open.sizes.end(); s != end; ++s) *to++ = words[s->word] >> s->shift;
  return (!open.asks || k.open->hold(sizes, c.words)) && enter_plain(k, c, sizes);
}
}  // namespace detail
// In the code of each call there would be too much of it.
[[gnu::noinline]] WEFT_HOT_DECL bool run_plain(ready_kernel const& k, plain_call const& c) {
  if (k.plain.word_count != c.word_count) return false;
  if (k.plain.open != nullptr) return detail::run_if_open(k, c);
  return detail::has_words(k.plain, c) && detail::run_with_its_words(k, c);
}
[[gnu::noinline]] WEFT_HOT_DECL bool run_plain(kernel_table const& table, target const* machine, std::uint32_t wanted, plain_call const& c) {
  auto const is_for = [&](ready_kernel const& k) {
    return __atomic_load_n(&k.machine, __ATOMIC_RELAXED) == machine && k.plain.wanted == wanted && k.plain.word_count == c.word_count;
  };
  for (ready_kernel const* k = __atomic_load_n(&table.first, __ATOMIC_ACQUIRE); k != nullptr; k = k->next)
    if (is_for(*k)) {
      if (k->plain.open == nullptr) {
        if (detail::has_words(k->plain, c)) return detail::run_with_its_words(*k, c);  // a form for many shapes is none for this one
      } else if (detail::run_if_open(*k, c)) {
        return true;
      }
    }
  for (ready_kernel const* k = __atomic_load_n(&table.general, __ATOMIC_ACQUIRE); k != nullptr; k = k->next)
    if (is_for(*k) && k->plain.open != nullptr && detail::run_if_open(*k, c)) return true;
  return false;
}
WEFT_HOT_DECL void run(ready_kernel const& k, argument const* arguments, int count) {
  if (k.nothing_to_do) return;
  void* pointers[max_arguments];
  std::int64_t scalars[max_arguments + 1];
  int tensors = 0, numbers = 0;
  for (int i = 0; i < count; ++i) {
    if (arguments[i].is_scalar) scalars[numbers++] = arguments[i].scalar_bits;
    else pointers[tensors++] = arguments[i].data;
  }
  // Lent to this call, and given back however it ends.
  struct loan {
    void** home;
    void* memory = nullptr;
    ~loan() {
      if (memory != nullptr) std::free(__atomic_exchange_n(home, memory, __ATOMIC_ACQ_REL));
    }
  } workspace{&k.workspace};
  std::int64_t sizes[open_sizes::most];
  if (k.open != nullptr) k.open->read(arguments, sizes);
  std::int64_t const bytes = k.code.workspace_bytes != told_by_call ? k.code.workspace_bytes : wanted_memory(k.code, k.name, sizes, false);
  if (bytes > 0) {
    workspace.memory = __atomic_exchange_n(&k.workspace, nullptr, __ATOMIC_ACQ_REL);
    if (k.open != nullptr && malloc_usable_size(workspace.memory) < static_cast<std::size_t>(bytes)) {
      std::free(workspace.memory);  // of a call with smaller sizes
      workspace.memory = nullptr;
    }
    if (workspace.memory == nullptr)
      workspace.memory = detail::element_memory(bytes);
    if (workspace.memory == nullptr)
      WEFT_THROW(device_error(joined({k.name, ": no memory for ", std::to_string(bytes),
                                      " bytes of intermediate tensors"})));
  }
  detail::kept_use kept(k, arguments, sizes);
  if (k.code.keeps != 0) scalars[numbers] = kept.is_there();
  failure failed;
  if (k.code.checked && bytes > 0) __builtin_memset(workspace.memory, 0, static_cast<std::size_t>(bytes));
  launch const l{pointers, sizes, scalars, workspace.memory, &detail::host_services(), &failed, nullptr, kept.memory(),
                 k.functions.data()};
  loop_runner const* const r = __atomic_load_n(&detail::chosen_runner, __ATOMIC_ACQUIRE);
  if (std::int32_t const code = r != nullptr ? r->call(*r, k.code.entry, l) : k.code.entry(&l); code != 0) detail::raise_failure(k, failed, code);
  kept.done();
}

WEFT_COLD_BEGIN
namespace detail {
/// The request that a first call of these arguments would make.
class shown_request {
 public:
  shown_request(kernel_face const& face, argument* arguments, int count) : running_(face), what_(face.what(face.object)) {
    check_digest(face, what_);
    bool left_out = false;
    for (int i = 0; i < count; ++i) left_out = left_out || arguments[i].is_allocated_here;
    if (left_out) shape_outputs(what_, arguments, count);
    layout_ = weft::bind(what_, face.name, arguments, count);
    if (may_stay_open(face)) form_.open = face.open(what_, face.name, arguments, count, layout_);
    if (form_.open != nullptr) layout_ = form_.open->layout;
    asked_ = request(face, what_, layout_, machine_of(face));
  }
  compile_request const& asked() const { return asked_; }
  open_sizes const* open() const { return form_.open; }

 private:
  running_lambdas const running_;
  program const what_;
  call_layout layout_;
  ready_kernel form_;
  compile_request asked_;
};
}  // namespace detail

WEFT_DECL std::string schedule_reason(kernel_face const& face, argument* arguments, int count) {
  if (face.gpu != nullptr) return face.gpu->schedule_reason(face, arguments, count);
  detail::shown_request const shown(face, arguments, count);
  std::string reason;
  static_cast<void>(make_schedule(shown.asked(), &reason));
  return reason;
}
WEFT_DECL kernel_texts inspect(kernel_face const& face, argument* arguments, int count, bool machine_code) {
  detail::shown_request const shown(face, arguments, count);
  kernel_texts texts = inspect(shown.asked(), machine_code);
  if (shown.open() != nullptr) shown.open()->name_extents(texts.loops);
  return texts;
}

WEFT_COLD_END

}  // namespace weft::inline WEFT_ABI
