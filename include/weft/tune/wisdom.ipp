#include <dirent.h>

#include <cstdio>
#include <cstdlib>

#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/plain_numerals.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/runtime/cache/key.hpp"
#include "weft/runtime/cache/relatives.hpp"
#include "weft/runtime/cache/tuned.hpp"
#include "weft/tune/wisdom.hpp"

namespace weft::inline WEFT_ABI {
namespace wisdom {
namespace detail {

/// Calls `use` with each file of this kind; answers how often it was true.
template <class Use>
int each_file(std::string_view ending, Use const& use) {
  std::string const path = cache::directory_in_use();
  cache::directory const d(path, cache::creation::never);
  DIR* const stream = path.empty() || !d.usable() ? nullptr : ::opendir(path.c_str());
  int count = 0;
  while (dirent const* const entry = stream != nullptr ? ::readdir(stream) : nullptr) {
    std::string_view const name = entry->d_name;
    if (name.size() <= 16 || name.substr(16) != ending) continue;
    if (use(d, entry->d_name)) ++count;
  }
  if (stream != nullptr) ::closedir(stream);
  return count;
}
/// Calls `use` with the bytes of each result in the directory.
template <class Use>
int each_result(Use const& use) {
  return each_file(".tuned", [&](cache::directory const& d, char const* name) {
    std::string bytes;
    return d.read(name, bytes) && use(d, name, bytes);
  });
}
inline std::string hex(std::string_view bytes) {
  std::string t;
  t.reserve(2 * bytes.size());
  for (char c : bytes)
    for (int shift : {4, 0}) t += "0123456789abcdef"[(static_cast<unsigned char>(c) >> shift) & 15];
  return t;
}
inline int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }
inline bool read_hex(std::string_view text, std::string& bytes) {
  if (text.size() % 2 != 0) return false;
  bytes.clear();
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int const high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(16 * high + low);
  }
  return true;
}
/// For people only: what is not a plain letter is a `?`, so that a line stays a line.
inline std::string plain(std::string_view text) {
  std::string t;
  for (char c : text.substr(0, 64)) t += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
  return t;
}

/// Reads one flat JSON object whose values are strings without escapes, numbers and lists of whole numbers.
class object_reader {
 public:
  explicit object_reader(std::string_view text) : rest_(text) {}
  cache::tuned found{};
  std::string key, family;
  cache::relative own{};  // with a family
  std::string why;
  bool read() {
    bool first = true;
    if (!take('{')) return fail("no object");
    while (!take('}')) {
      if (!first && !take(',')) return fail("a comma was expected");
      first = false;
      std::string_view name;
      if (!string(name) || !take(':')) return fail("a name and a colon were expected");
      if (!member(name)) return why.empty() ? fail("a value that it cannot have") : false;
    }
    space();
    if (!rest_.empty()) return fail("more behind the object");
    if ((seen_ & 15) != 15) return fail("a part is missing: it has choices, ns, steps and key");
    if ((seen_ & 48) != 0 && ((seen_ & 63) != 63 || own.task != xxh64(key) || cache::head_of(family).kernel != cache::head_of(key).kernel))
      return fail("a family that is not of this result");
    return true;
  }

 private:
  bool fail(char const* what) {
    if (why.empty()) why = what;
    return false;
  }
  void space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool string(std::string_view& into) {
    if (!take('"')) return false;
    std::size_t const end = rest_.find('"');
    if (end == std::string_view::npos) return false;
    into = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return into.find('\\') == std::string_view::npos;
  }
  bool number(double& into) {
    space();
    std::size_t n = 0;
    while (n < rest_.size() && n < 40 && (digit(rest_[n]) >= 0 || std::string_view("+-.E").find(rest_[n]) < 4)) ++n;
    char text[48];
    std::snprintf(text, sizeof text, "%.*s", static_cast<int>(n), rest_.data());
    char* end = nullptr;
    into = std::strtod(text, &end);
    rest_.remove_prefix(n);
    return n > 0 && end == text + n;
  }
  bool member(std::string_view name) {
    std::string_view text;
    double n = 0;
    if (name == "kernel" || name == "target") return string(text);
    constexpr std::string_view known[] = {"ns", "steps", "key", "choices", "family", "relative", "plan"};
    for (int part = 0, bit = 1; part < 7; ++part, bit *= 2) {
      if (name != known[part]) continue;
      if ((seen_ & bit) != 0) return fail("a part that is given twice");
      seen_ |= bit;
    }
    if (name == "ns") return number(found.ns) && found.ns > 0 && found.ns < 1e15;
    if (name == "steps") {
      if (!string(text) || text.size() != 16) return false;
      for (char c : text) {
        if (digit(c) < 0) return false;
        found.steps = 16 * found.steps + static_cast<std::uint64_t>(digit(c));
      }
      return true;
    }
    if (name == "plan") {
      if (!number(n) || n < 0 || n > 255 || n != static_cast<double>(static_cast<std::uint8_t>(n))) return false;
      found.plan = static_cast<std::uint8_t>(n);
      return true;
    }
    if (name == "key") return string(text) && text.size() < 1000000 && read_hex(text, key) && !cache::head_of(key).kernel.empty();
    if (name == "family") return string(text) && text.size() < 1000000 && read_hex(text, family);
    if (name == "relative") {
      std::string bytes;
      return string(text) && text.size() < 100000 && read_hex(text, bytes) && cache::decode(bytes, own);
    }
    if (name != "choices") return fail("a part that results do not have");
    if (!take('[')) return false;
    for (bool first = true; !take(']'); first = false) {
      if ((!first && !take(',')) || !number(n) || n < 0 || n > 1e6 || n != static_cast<double>(static_cast<std::int32_t>(n)) ||
          found.choices.size() == schedule::max_knobs)
        return false;
      found.choices.push_back(static_cast<std::int32_t>(n));
    }
    return true;
  }
  std::string_view rest_;
  int seen_ = 0;
};
}  // namespace detail

WEFT_DECL std::string export_all() {
  weft::detail::plain_numerals const with_points;
  std::string all;
  sequence<std::string> families;
  detail::each_file(".family", [&](cache::directory const& d, char const* name) {
    std::string bytes;
    if (d.read(name, bytes)) families.push_back(bytes);
    return true;
  });
  detail::each_result([&](cache::directory const&, char const*, std::string const& bytes) {
    cache::tuned t;
    std::string_view key;
    if (!cache::decode(bytes, key, t)) return false;
    cache::key_head const head = cache::head_of(key);
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "], \"ns\": %.6g, \"steps\": \"%016llx\", \"key\": \"", t.ns,
                  static_cast<unsigned long long>(t.steps));
    std::string choices;
    for (std::int32_t c : t.choices) choices += joined({choices.empty() ? "" : ", ", std::to_string(c)});
    std::string const plan = t.plan > 0 ? joined({"\", \"plan\": ", std::to_string(t.plan)}) : std::string();
    std::string family;
    for (std::string const& one : families) {
      std::string_view whose;
      cache::relative own;
      if (!cache::relative_in(one, xxh64(key), whose, own)) continue;
      family = joined({"\", \"family\": \"", detail::hex(whose), "\", \"relative\": \"", detail::hex(cache::encode(own))});
      break;
    }
    all += joined({"{\"kernel\": \"", detail::plain(head.kernel), "\", \"target\": \"", detail::plain(head.target),
                   "\", \"choices\": [", choices, numbers, detail::hex(key), family, plan.empty() ? "\"" : "", plan, "}\n"});
    return true;
  });
  return all;
}

WEFT_DECL imported import_lines(std::string_view text) {
  weft::detail::plain_numerals const with_points;
  imported r;
  sequence<std::uint64_t> taken;  // keys of results of this text, in order: of several for one task the fastest is kept, whatever was imported before
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; text.substr(0, mark.size()) == mark) text.remove_prefix(mark.size());  // which some editors write in front
  for (int line = 1; !text.empty(); ++line) {
    std::size_t const end = text.find('\n');
    std::string_view const one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    detail::object_reader o(one);
    if (!o.read()) {
      ++r.refused;
      if (r.why.empty()) r.why = joined({"line ", std::to_string(line), ": ", o.why});
      continue;
    }
    cache::tuned known;
    o.found.trials = 0;  // not measured here
    std::string why;
    if (!cache::is_of_this_version(o.key)) {
      ++r.refused;
      if (r.why.empty()) r.why = joined({"line ", std::to_string(line), ": a result of another version of weft, ", detail::plain(cache::head_of(o.key).version),
                                         ", whose schedules may be other ones: tune again, or export it there from the one that is used here"});
      continue;
    }
    std::uint64_t const key = xxh64(o.key);
    std::size_t at = 0;
    for (std::size_t behind = taken.size(); at < behind;) {
      std::size_t const middle = at + (behind - at) / 2;
      if (taken[middle] < key) at = middle + 1;
      else behind = middle;
    }
    bool const again = at < taken.size() && taken[at] == key;
    auto const is_known = [&] { return cache::find_tuned(o.key, known) && (known.trials > 0 || (again && known.ns <= o.found.ns)); };
    if (is_known()) ++r.known;  // measured here, or in this text, and as fast
    else if (cache::keep_tuned(o.key, o.found, true, nullptr, &why)) {
      if (!again) taken.insert(taken.begin() + at, key);
      if (!o.family.empty()) static_cast<void>(cache::keep_relative(o.family, o.own, true));
      ++r.taken;
    } else if (is_known()) {  // meanwhile
      ++r.known;
    } else {
      ++r.refused;
      if (r.why.empty()) r.why = joined({"line ", std::to_string(line), ": it cannot be kept: ", why});
    }
  }
  return r;
}

WEFT_DECL int forget_all() {
  detail::each_file(".family", [](cache::directory const& d, char const* name) { return d.remove(name); });
  return detail::each_result([](cache::directory const& d, char const* name, std::string const&) { return d.remove(name); });
}

}  // namespace wisdom
}  // namespace weft::inline WEFT_ABI
