#include <cstdio>

#include "weft/base/auxiliary.hpp"
#include "weft/base/env.hpp"
#include "weft/base/fork_gate.hpp"
#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/mutex.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/runtime/cache/key.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {
namespace detail {

struct settings {
  mutex lock;
  std::string directory;  // empty: as the environment says
  bool disabled = false;
  std::int64_t limit = std::int64_t(256) << 20;
  std::int64_t written = 0;  // bytes since the limit was looked at
  std::uint64_t hits = 0, misses = 0;
};
/// Never destroyed: other threads may compile while the program ends.
inline settings& shared() {
  static settings& only = *new settings;
  return only;
}
/// Holds the settings for the length of a scope.
struct held_settings {
  fork_gate gate;
  settings& s = shared();
  guard hold{s.lock};
  settings* operator->() { return &s; }
};

/// Where the kernels are; without a directory, why not.
struct place {
  std::string directory;
  char const* why = "";
  creation create = creation::anywhere;
};
[[gnu::cold]] inline place chosen_place() {
  place p;
  held_settings s;
  char const *asked = environment("WEFT_CACHE"), *xdg = environment("XDG_CACHE_HOME"), *home = environment("HOME");
  if (weft::detail::weft_auxiliary_value(weft::detail::auxiliary_secure) != 0) {
    p.why = "the program runs with the rights of another user than the one who started it";
  } else if (s->disabled) {
    p.why = "the program called weft::cache::disable()";
  } else if (!s->directory.empty()) {
    p.directory = s->directory;
  } else if (asked != nullptr && switch_value(asked) == 0) {
    p.why = "WEFT_CACHE says so";
  } else if (asked != nullptr && switch_value(asked) < 0) {
    p.directory = asked;
  } else {
    p.create = creation::below_own;
    bool const by_xdg = xdg != nullptr && *xdg == '/', by_home = home != nullptr && *home == '/';
    if (by_xdg || by_home) p.directory.append(by_xdg ? xdg : home).append(by_xdg ? "/weft" : "/.cache/weft");
    else p.why = "neither XDG_CACHE_HOME nor HOME names a directory; set WEFT_CACHE to one";
  }
  return p;
}
/// The number with a unit, in at most four digits.
inline std::string bytes_text(std::int64_t bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  double n = static_cast<double>(bytes);
  for (; n >= 1024 && unit < 3; ++unit) n /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit > 0 && n < 100 ? "%.1f %s" : "%.0f %s", n, units[unit]);
  return text;
}
inline std::string age_text(std::int64_t s) {
  static constexpr struct {
    std::int64_t seconds;
    char const* name;
  } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}};
  for (auto const& u : units)
    if (s >= 2 * u.seconds) return joined({std::to_string(s / u.seconds), " ", u.name});
  return std::to_string(s < 0 ? 0 : s) + " seconds";
}
/// In one cell of a table: at most `most` characters, on one line, whatever a kernel was called.
inline std::string cell(std::string const& text, std::size_t most) {
  std::string t = text.substr(0, most);
  for (char& c : t)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  if (text.size() > most) t.resize(most - 2), t += "..";
  return t;
}
}  // namespace detail

WEFT_DECL bool find(std::string_view key, std::string& bytes, entry& into) {
  detail::place const p = detail::chosen_place();
  if (p.directory.empty()) return false;
  directory const d(p.directory, creation::never);
  bool const found =
      d.usable() && d.read(name_of(xxh64(key)).name, bytes) && decode(bytes, into) && into.key == key;
  detail::settings& s = detail::shared();
  __atomic_fetch_add(found ? &s.hits : &s.misses, 1, __ATOMIC_RELAXED);
  return found;
}

WEFT_DECL void keep(entry const& e) {
  detail::place const p = detail::chosen_place();
  if (p.directory.empty()) return;
  directory const d(p.directory, p.create);
  if (!d.usable()) return;
  std::string const bytes = encode(e);
  std::uint64_t const digest = xxh64(e.key);
  if (!d.write(name_of(digest).name, bytes)) return;
  detail::held_settings s;
  s->written += static_cast<std::int64_t>(bytes.size());
  // Looking at all files takes 2 us for each. A process that writes much does it for each sixteenth of the limit; of
  // those that write little, each sixteenth.
  if (s->written <= s->limit / 16 && digest % 16 != 0) return;
  s->written = 0;
  evict(d, s->limit);
}

WEFT_DECL std::string directory_in_use(bool make) {
  detail::place const p = detail::chosen_place();
  if (p.directory.empty() || !make) return p.directory;
  directory const d(p.directory, p.create);
  return d.usable() ? p.directory : "";
}

WEFT_DECL std::string status() {
  detail::place const p = detail::chosen_place();
  if (p.directory.empty()) return joined({"not used: ", p.why});
  directory const d(p.directory, p.create);
  return d.usable() ? "used: " + p.directory : "not used: " + d.why();
}

WEFT_DECL report inspect() {
  report r;
  r.status = status();
  detail::settings& s = detail::shared();
  r.hits = __atomic_load_n(&s.hits, __ATOMIC_RELAXED);
  r.misses = __atomic_load_n(&s.misses, __ATOMIC_RELAXED);
  r.limit = detail::held_settings()->limit;
  detail::place const p = detail::chosen_place();
  if (p.directory.empty()) return r;
  directory const d(p.directory, creation::never);
  if (!d.usable()) return r;
  sequence<file_info> const files = d.list();
  for (std::size_t i = files.size(); i-- > 0;) {
    file_info const& f = files[i];
    if (!is_kernel(f)) continue;
    std::string bytes;
    entry e;
    if (!d.read(f.name, bytes) || !decode(bytes, e)) {
      ++r.unreadable;
      continue;
    }
    key_head const head = head_of(e.key);
    r.bytes += f.bytes;
    r.kernels.push_back({std::string(head.kernel), std::string(head.target), std::string(e.llvm),
                         std::string(head.version), f.bytes, f.age_s});
  }
  return r;
}

WEFT_DECL std::string report::text() const {
  char line[256];
  char const* const row = line;
  std::snprintf(line, sizeof line, "%zu kernels, %s of %s at most; this process: %llu hits, %llu misses\n",
                kernels.size(), detail::bytes_text(bytes).c_str(), detail::bytes_text(limit).c_str(),
                static_cast<unsigned long long>(hits), static_cast<unsigned long long>(misses));
  std::string t = joined({status, "\n", line});
  if (unreadable > 0) t += std::to_string(unreadable) + " files that cannot be used\n";
  if (kernels.empty()) return t;
  std::snprintf(line, sizeof line, "%-24s %-12s %10s  %-12s %s\n", "kernel", "target", "bytes", "age", "made by");
  t += row;
  for (stored const& k : kernels) {
    std::snprintf(line, sizeof line, "%-24s %-12s %10lld  %-12s weft %s, LLVM %s\n", detail::cell(k.kernel, 64).c_str(),
                  detail::cell(k.target, 32).c_str(), static_cast<long long>(k.bytes),
                  detail::age_text(k.age_s).c_str(), detail::cell(k.version, 32).c_str(),
                  detail::cell(k.llvm, 32).c_str());
    t += row;
  }
  return t;
}

WEFT_DECL std::int64_t clear() {
  detail::place const p = detail::chosen_place();
  std::int64_t removed = 0;
  if (p.directory.empty()) return removed;
  directory const d(p.directory, creation::never);
  if (!d.usable()) return removed;
  for (file_info const& f : d.list())
    if (is_kernel(f) && d.remove(f.name)) ++removed;
  return removed;
}

WEFT_DECL void set_directory(std::string path) {
  detail::held_settings()->directory = static_cast<std::string&&>(path);
}
WEFT_DECL void disable() {
  detail::held_settings()->disabled = true;
}
WEFT_DECL void enable() {
  detail::held_settings()->disabled = false;
}
WEFT_DECL void set_limit(std::int64_t bytes) {
  detail::held_settings()->limit = bytes;
}

}  // namespace cache
}  // namespace weft::inline WEFT_ABI
