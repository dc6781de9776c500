#include <errno.h>

#include <cstring>

#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/codegen/epoch.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/runtime/cache/key.hpp"
#include "weft/runtime/cache/one_keeper.hpp"
#include "weft/runtime/cache/tuned.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {
namespace detail {
inline constexpr std::string_view tuned_magic("weft tuned\r\n\x1a\0\0\2", std::size_t{16});

inline file_info tuned_name(std::string_view key) { return name_of(xxh64(key), ".tuned"); }
inline bool read_tuned(directory const& d, std::string_view key, tuned& into) {
  std::string bytes;
  std::string_view of;
  return d.usable() && d.read(tuned_name(key).name, bytes) && decode(bytes, of, into) && of == key;
}
/// Whether the file for this key is another one's, of the same hash, that stays: what was measured gives way to nothing, and what was imported, which may
/// have been made to collide, to what is measured.
inline bool is_taken(directory const& d, std::string_view key, tuned const& t) {
  std::string bytes;
  std::string_view of;
  tuned other;
  return d.usable() && d.read(tuned_name(key).name, bytes) && decode(bytes, of, other) && of != key && (t.trials == 0 || other.trials > 0);
}
}  // namespace detail

WEFT_DECL std::string task_key(std::string_view name, program const& what, schedule const& first, call_layout const& layout,
                               target const& machine, bool bitwise, std::string_view beginning, int threads) {
  byte_writer w;
  w.bytes = key_of(name, what, first.steps, layout, machine, false, beginning);
  w.numbers(machine.l1_bytes, machine.l2_bytes, machine.l3_bytes, machine.threads);
  for (knob_info const& k : first.knobs) {
    w.text(k.name.view());
    w.numbers(static_cast<std::uint32_t>(k.values.size()));
    for (std::int64_t v : k.values) w.numbers(v);
  }
  if (first.original == nullptr) w.numbers(rules_epoch);
  // Behind the knobs: keys of other calls stay what they were.
  if (threads > 0) w.text("threads"), w.numbers(threads);
  return bitwise ? bitwise_key(static_cast<std::string&&>(w.bytes)) : static_cast<std::string&&>(w.bytes);
}
WEFT_DECL std::string bitwise_key(std::string task) {
  byte_writer w;
  w.bytes = static_cast<std::string&&>(task);
  w.text("bitwise");
  return static_cast<std::string&&>(w.bytes);
}

WEFT_DECL std::string encode(std::string_view key, tuned const& t) {
  byte_writer w;
  w.bytes.append(detail::tuned_magic.data(), detail::tuned_magic.size());
  w.numbers(t.steps, t.ns, t.trials, t.plan);
  w.text(key);
  w.numbers(static_cast<std::uint32_t>(t.choices.size()));
  for (std::int32_t c : t.choices) w.numbers(c);
  w.numbers(xxh64(w.bytes));
  return static_cast<std::string&&>(w.bytes);
}

WEFT_DECL bool decode(std::string_view bytes, std::string_view& key, tuned& into) {
  byte_reader r = unsealed(bytes, detail::tuned_magic);
  if (!r.good) return false;
  into.steps = r.number<std::uint64_t>();
  into.ns = r.number<double>();
  into.trials = r.number<std::int64_t>();
  into.plan = r.number<std::uint8_t>();
  key = r.text();
  auto const count = r.number<std::uint32_t>();
  if (count > schedule::max_knobs) return false;
  into.choices.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    into.choices.push_back(r.number<std::int32_t>());
    if (into.choices.back() < 0) return false;
  }
  return r.good && r.rest.empty() && into.ns > 0;
}

WEFT_DECL bool find_tuned(std::string_view key, tuned& into) {
  std::string const path = directory_in_use();
  if (path.empty()) return false;
  return find_tuned(directory(path, creation::never), key, into);
}
WEFT_DECL bool find_tuned(directory const& where, std::string_view key, tuned& into) { return detail::read_tuned(where, key, into); }

WEFT_DECL bool keep_tuned(std::string_view key, tuned const& t, bool replace, tuned const* seen, std::string* why_not) {
  auto const refused = [&](std::string_view why) {
    if (why_not != nullptr) *why_not = why;
    return false;
  };
  std::string const path = directory_in_use(true);
  if (path.empty()) return refused(joined({"the cache is ", status()}));
  directory const d(path, creation::never);
  detail::one_keeper const alone(path);
  tuned before;
  // Between what was measured here and what was imported the times say nothing: of what machine is the latter?
  bool const found = detail::read_tuned(d, key, before), gives_way = found && before.trials == 0 && t.trials > 0;
  if (found && t.trials == 0 && before.trials > 0) return refused("what was measured here stays");
  bool const may = gives_way || (replace && (seen == nullptr || before == *seen));
  if (found && !may && before.ns <= t.ns) return refused("what another tuning has kept is as fast or faster");
  if (!found && detail::is_taken(d, key, t)) return refused("the result of another task has its place");
  if (!d.usable()) return refused(d.why());
  if (d.write(detail::tuned_name(key).name, encode(key, t))) return true;
  return refused(joined({"it cannot be written in ", path, ": ", std::strerror(errno)}));
}

WEFT_DECL bool forget_tuned(std::string_view key) {
  std::string const path = directory_in_use();
  if (path.empty()) return false;
  directory const d(path, creation::never);
  return d.usable() && d.remove(detail::tuned_name(key).name);
}

}  // namespace cache
}  // namespace weft::inline WEFT_ABI
