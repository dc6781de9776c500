#include "weft/base/hash.hpp"
#include "weft/codegen/epoch.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/runtime/cache/key.hpp"
#include "weft/runtime/cache/one_keeper.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {
namespace detail {
inline constexpr std::string_view family_magic("weft family\r\n\x1a\0\2", std::size_t{16});
inline constexpr std::uint32_t most_relatives = 64;

inline file_info family_name(std::string_view family) { return name_of(xxh64(family), ".family"); }
inline void write(byte_writer& w, relative const& r) {
  w.numbers(r.task, r.form, r.plan);
  for (sequence<std::int64_t> const* list : {&r.machine, &r.extents, &r.names, &r.values}) {
    w.numbers(static_cast<std::uint32_t>(list->size()));
    for (std::int64_t n : *list) w.numbers(n);
  }
}
inline relative read(byte_reader& from) {
  relative r;
  r.task = from.number<std::uint64_t>();
  r.form = from.number<std::uint64_t>();
  r.plan = from.number<std::uint8_t>();
  for (sequence<std::int64_t>* list : {&r.machine, &r.extents, &r.names, &r.values})
    for (auto n = from.number<std::uint32_t>(); n > 0 && from.good; --n) list->push_back(from.number<std::int64_t>());
  from.good = from.good && r.names.size() == r.values.size();
  return r;
}
/// The bytes of a family's file, checked, up to the list.
inline byte_reader opened_family(std::string_view all, std::string_view& family, std::uint32_t& count) {
  byte_reader r = unsealed(all, family_magic);
  family = r.text();
  count = r.number<std::uint32_t>();
  return r;
}
inline byte_reader open_family(directory const& d, std::string_view family, std::string& bytes, std::uint32_t& count) {
  std::string_view whose;
  if (d.usable() && d.read(family_name(family).name, bytes)) {
    byte_reader const r = opened_family(bytes, whose, count);
    if (r.good && whose == family) return r;
  }
  byte_reader none({});
  none.good = false, count = 0;
  return none;
}
/// The product of the quotients of all extents, the larger over the smaller: as an order it is the sum of |log2|. 0: too far off.
inline double distance(sequence<std::int64_t> const& a, sequence<std::int64_t> const& b) {
  if (a.size() != b.size()) return 0;
  double product = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (a[i] <= 0 || b[i] <= 0 || a[i] > 2 * b[i] || b[i] > 2 * a[i]) return 0;
    product *= static_cast<double>(a[i] > b[i] ? a[i] : b[i]) / static_cast<double>(a[i] > b[i] ? b[i] : a[i]);
  }
  return product;
}
/// More than the distance of any two shapes; and more than that of any two shapes by other threads.
inline constexpr double other_threads = 1e50, other_machine = 1e100;
}  // namespace detail

WEFT_DECL std::string family_key(std::string_view name, program const& what, schedule const& first, call_layout const& layout,
                                 target const& machine, bool bitwise, std::string_view beginning) {
  byte_writer w;
  target any = machine;  // of one architecture: a GPU's only feature is its name
  if (any.arch == architecture::nvidia) any.features.clear(), beginning = {};
  w.bytes = shapeless_key_of(name, what, first.steps, layout, any, beginning);
  for (knob_info const& k : first.knobs) w.text(k.name.view());
  if (first.original == nullptr) w.numbers(rules_epoch);
  if (bitwise) w.text("bitwise");
  return static_cast<std::string&&>(w.bytes);
}
WEFT_DECL relative described(std::string_view task, call_layout const& layout, target const& machine, int threads) {
  relative r;
  r.task = xxh64(task);
  for (std::int64_t n : {machine.l1_bytes, machine.l2_bytes, machine.l3_bytes, static_cast<std::int64_t>(machine.threads)})
    r.machine.push_back(n);
  if (machine.arch == architecture::nvidia)
    for (std::string const& own : machine.features) r.machine.push_back(static_cast<std::int64_t>(xxh64(own)));
  if (threads > 0) r.machine.push_back(threads);
  bool open = false;
  for (argument_layout const& a : layout.arguments)
    for (std::int64_t e : a.extents) open = open || e < 0, r.extents.push_back(e);
  if (open) r.extents.clear();
  return r;
}
WEFT_DECL std::int64_t threads_of(relative const& r) { return r.machine.size() < 4 ? 0 : r.machine[r.machine.size() > 4 ? 4 : 3]; }
WEFT_DECL bool differ_in_threads_alone(relative const& a, relative const& b) {
  bool alike = a.machine.size() >= 4 && b.machine.size() >= 4 && threads_of(a) != threads_of(b);
  for (std::size_t i = 0; i < 4 && alike; ++i) alike = a.machine[i] == b.machine[i];
  return alike;
}
WEFT_DECL void note_choices(relative& r, schedule const& s) {
  r.names.clear(), r.values.clear();
  for (knob_info const& k : s.knobs) {
    r.names.push_back(static_cast<std::int64_t>(xxh64(k.name.view())));
    r.values.push_back(k.values[static_cast<std::size_t>(k.chosen)]);
  }
  r.form = form_of(s.steps);
}

namespace detail {
/// Whether the result of this task was measured here, and not imported.
inline bool is_measured(directory const& d, std::uint64_t task) {
  std::string bytes;
  std::string_view key;
  tuned t;
  return d.usable() && d.read(name_of(task, ".tuned").name, bytes) && decode(bytes, key, t) && t.trials > 0;
}
}  // namespace detail
WEFT_DECL bool keep_relative(std::string_view family, relative const& r, bool imported) {
  std::string const path = directory_in_use(true);
  if (path.empty() || r.extents.empty()) return false;
  directory const d(path, creation::never);
  detail::one_keeper const alone(path);
  std::string before;
  std::uint32_t count = 0, kept = 0;
  byte_reader from = detail::open_family(d, family, before, count);
  sequence<relative> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    relative other = detail::read(from);
    if (!from.good) break;
    if (other.task != r.task) all.push_back(static_cast<relative&&>(other));
  }
  // What was imported stands behind what was measured here, and is the first that has to go.
  std::size_t at = 0;
  if (imported)
    for (at = all.size(); at > 0 && !detail::is_measured(d, all[at - 1].task);) --at;
  if (at >= detail::most_relatives) return false;
  byte_writer list;
  for (std::size_t i = 0; i <= all.size() && kept < detail::most_relatives; ++i, ++kept)
    detail::write(list, i == at ? r : all[i < at ? i : i - 1]);
  byte_writer w;
  w.bytes.append(detail::family_magic);
  w.text(family);
  w.numbers(kept);
  w.bytes += list.bytes;
  w.numbers(xxh64(w.bytes));
  return d.usable() && d.write(detail::family_name(family).name, w.bytes);
}

WEFT_DECL bool find_relative(std::string_view family, relative const& wanted, relative& into) {
  std::string const path = directory_in_use();
  if (path.empty()) return false;
  return find_relative(directory(path, creation::never), family, wanted, into);
}
WEFT_DECL bool find_relative(directory const& where, std::string_view family, relative const& wanted, relative& into, tried_tasks without) {
  if (!where.usable() || wanted.extents.empty()) return false;
  std::string bytes;
  std::uint32_t count = 0;
  byte_reader const first = detail::open_family(where, family, bytes, count);
  std::uint64_t gone[detail::most_relatives];
  for (std::uint32_t removed = 0; removed < detail::most_relatives;) {
    byte_reader from = first;
    double least = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      relative r = detail::read(from);
      if (!from.good) break;
      double away = detail::distance(r.extents, wanted.extents);
      if (r.task == wanted.task) continue;
      if (!(r.machine == wanted.machine)) away *= differ_in_threads_alone(r, wanted) ? detail::other_threads : detail::other_machine;
      for (std::uint32_t g = 0; g < removed; ++g)
        if (gone[g] == r.task) away = 0;
      for (std::uint32_t g = 0; g < without.count; ++g)
        if (without.numbers[g] == r.task) away = 0;
      if (away > 0 && (least == 0 || away < least)) least = away, into = static_cast<relative&&>(r);
    }
    if (least == 0) return false;
    // Its result is still there: whoever removed it meant it.
    if (where.holds(name_of(into.task, ".tuned").name)) return true;
    gone[removed++] = into.task;
  }
  return false;
}

WEFT_DECL sequence<relative> all_of_family(directory const& where, std::string_view family) {
  sequence<relative> all;
  if (!where.usable()) return all;
  std::string bytes;
  std::uint32_t count = 0;
  byte_reader from = detail::open_family(where, family, bytes, count);
  for (; count > 0; --count) {
    relative r = detail::read(from);
    if (!from.good) break;
    if (where.holds(name_of(r.task, ".tuned").name)) all.push_back(static_cast<relative&&>(r));
  }
  return all;
}

WEFT_DECL bool is_imported(std::uint64_t task) {
  std::string const path = directory_in_use();
  std::string bytes;
  std::string_view key;
  tuned t;
  directory const d(path, creation::never);
  return !path.empty() && d.usable() && d.read(name_of(task, ".tuned").name, bytes) && decode(bytes, key, t) && t.trials == 0;
}
WEFT_DECL std::string encode(relative const& r) {
  byte_writer w;
  detail::write(w, r);
  return static_cast<std::string&&>(w.bytes);
}
WEFT_DECL bool decode(std::string_view bytes, relative& into) {
  byte_reader from(bytes);
  relative r = detail::read(from);
  constexpr std::int64_t most = std::int64_t(1) << 48;
  bool good = from.good && from.rest.empty() && r.machine.size() >= 4 && r.machine.size() <= 16 && !r.extents.empty() && r.names.size() <= schedule::max_knobs;
  for (std::int64_t e : r.extents) good = good && e >= 0 && e < most;
  for (std::int64_t v : r.values) good = good && v > -most && v < most;
  for (std::size_t i = 0; i < 4 && good; ++i) good = r.machine[i] >= 0 && r.machine[i] < most;
  if (good) into = static_cast<relative&&>(r);
  return good;
}
WEFT_DECL bool relative_in(std::string_view bytes, std::uint64_t task, std::string_view& family, relative& into) {
  std::uint32_t count = 0;
  byte_reader from = detail::opened_family(bytes, family, count);
  for (std::uint32_t i = 0; i < count && from.good; ++i) {
    relative r = detail::read(from);
    if (!from.good || r.task != task) continue;
    into = static_cast<relative&&>(r);
    return true;
  }
  return false;
}

}  // namespace cache
}  // namespace weft::inline WEFT_ABI
