#include <cmath>
#include <cstdio>

#include "weft/base/joined.hpp"
#include "weft/base/plain_numerals.hpp"
#include "weft/bench/benchmark.hpp"
#include "weft/bench/peak.hpp"
#include "weft/runtime/call_threads.hpp"

namespace weft::inline WEFT_ABI {
namespace bench::detail {
template <class... A>
std::string formatted(char const* format, A... values) {
  char all[160];
  std::snprintf(all, sizeof all, format, values...);
  return all;
}
WEFT_DECL std::string as_time(double ns) {
  if (ns < 1e3) return formatted("%.4g ns", ns);
  if (ns < 1e6) return formatted("%.4g us", ns * 1e-3);
  return ns < 1e9 ? formatted("%.4g ms", ns * 1e-6) : formatted("%.4g s", ns * 1e-9);
}
WEFT_DECL char const* word(bench::outcome o) {
  return o == bench::outcome::faster ? "faster" : o == bench::outcome::slower ? "slower" : "same";
}
/// Of fewer than 6 samples nothing is known, which is not the same.
WEFT_DECL char const* verdict(benchmark_line const& l) { return std::isinf(l.over_first.sure.high) ? "not known" : word(l.found); }
/// How many bytes the character has that begins here, in UTF-8; 0: none does.
inline std::size_t character_bytes(std::string_view s) {
  auto const byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  unsigned const first = byte(0);
  std::size_t const length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  bool const fits = (first != 0xe0 || byte(1) >= 0xa0) && (first != 0xed || byte(1) < 0xa0) && (first != 0xf0 || byte(1) >= 0x90) && (first != 0xf4 || byte(1) < 0x90);
  return fits ? length : 0;
}
WEFT_DECL std::string quoted(std::string_view s) {
  std::string out = "\"";
  while (!s.empty()) {
    std::size_t const n = character_bytes(s);
    if (n == 0) out += "\\ufffd";
    else if (n == 1 && static_cast<unsigned char>(s[0]) < 0x20) out += formatted("\\u%04x", static_cast<unsigned>(s[0]));
    else if (s[0] == '"' || s[0] == '\\') out.append("\\").append(1, s[0]);
    else out.append(s.substr(0, n));
    s.remove_prefix(n == 0 ? 1 : n);
  }
  return out += '"';
}
/// A name as a line of a table can have it: what is no character, or would end the line, is `?`.
inline std::string on_one_line(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    std::size_t const n = character_bytes(name);
    bool const shown = n > 1 || (n == 1 && name[0] >= 0x20 && name[0] != 0x7f);
    out.append(shown ? name.substr(0, n) : "?");
    name.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}
/// How many characters such a name has, each of which takes a column.
inline std::size_t columns_of(std::string_view name) {
  std::size_t count = 0;
  for (char const c : name) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}
}  // namespace bench::detail

WEFT_DECL benchmark_result bench::of_kernel(std::string_view name, std::string const& steps, bench::counts const& done,
                                     bench::timed_work work, measuring const& how) {
  benchmark_result r;
  benchmark_line line;
  line.name = std::string(name), line.done = done;
  line.threads = steps.find("parallel(") != std::string::npos ? working_threads() : 1;
  static_cast<void>(bench::peaks_of(line.threads));  // measured before the kernel is, where they are not known
  line.time = bench::measure({work}, how)[0];
  double const in_f32 = done.peak_of(1) > 0 ? done.operations / done.peak_of(1) : 0;
  auto const most = bench::peaks_beside(line.threads, in_f32, done.bytes, line.time.median);
  line.peak_gflops = done.peak_of(most.gflops), line.peak_gbs = most.gbs;
  r.lines.push_back(line);
  return r;
}

WEFT_DECL double benchmark_line::of_roofline() const {
  if (done.operations > 0 && peak_gflops <= 0) return 0;
  double const arithmetic = peak_gflops > 0 ? done.operations / peak_gflops : 0;
  double const memory = peak_gbs > 0 ? done.bytes / peak_gbs : 0;
  double const least = arithmetic > memory ? arithmetic : memory;
  return time.median > 0 ? least / time.median : 0;
}

WEFT_DECL benchmark_result compare(std::initializer_list<contestant> all, measuring const& how) {
  sequence<bench::timed_work> works;
  for (contestant const& c : all) {
    works.push_back(c.work());
    if (how.cold && works.back().own_clock != nullptr)
      WEFT_THROW(argument_error(joined({"compare: cold fills the caches of the CPU, not those of what ", c.name(), " runs on: leave it out, and take arguments that are "
                                        "larger than the GPU's L2"})));
  }
  sequence<bench::timing> const times = bench::measure(works, how);
  benchmark_result r;
  for (contestant const& c : all) {
    benchmark_line line;
    line.name = c.name(), line.time = times[r.lines.size()], line.by_events = c.work().own_clock != nullptr;
    if (!r.lines.empty()) {
      line.over_first = bench::ratio_of_medians(line.time.samples, times[0].samples);
      line.found = bench::judged(line.over_first);
    }
    r.lines.push_back(line);
  }
  return r;
}

WEFT_DECL std::string benchmark_result::text() const {
  std::size_t widest = 4;
  for (benchmark_line const& l : lines) {
    std::size_t const columns = bench::detail::columns_of(bench::detail::on_one_line(l.name));
    widest = columns > widest ? columns : widest;
  }
  std::string all;
  for (benchmark_line const& l : lines) {
    std::string const name = bench::detail::on_one_line(l.name);
    all.append(name).append(widest + 2 - bench::detail::columns_of(name), ' ');
    all.append(bench::detail::formatted("%10s +- %.1f%%", bench::detail::as_time(l.time.median).c_str(), 100 * l.time.sure.relative_to(l.time.median)));
    if (l.by_events) all.append(" by events");
    if (!l.time.settled) all.append(" (not settled)");
    if (l.done.operations > 0) all.append(bench::detail::formatted("  %.4g GFLOP/s", l.gflops()));
    if (l.done.bytes > 0) all.append(bench::detail::formatted("  %.4g GB/s", l.gbs()));
    if (l.of_roofline() > 0) all.append(bench::detail::formatted("  %.0f%% of the roofline", 100 * l.of_roofline()));
    if (&l != &lines.front())
      all.append(bench::detail::formatted("  %.3f of its time (%.3f to %.3f): ", l.over_first.value, l.over_first.sure.low, l.over_first.sure.high))
          .append(bench::detail::verdict(l));
    all += '\n';
  }
  return all;
}

WEFT_DECL std::string benchmark_result::json() const {
  weft::detail::plain_numerals const with_points;
  std::string all = "[";
  for (benchmark_line const& l : lines) {
    if (&l != &lines.front()) all += ",\n ";
    all.append(joined({"{\"name\":", bench::detail::quoted(l.name)}));
    all.append(bench::detail::formatted(",\"median_ns\":%.6g,\"low_ns\":%.6g,\"high_ns\":%.6g,\"fastest_ns\":%.6g", l.time.median,
                                 l.time.sure.low, l.time.sure.high, l.time.fastest));
    all.append(bench::detail::formatted(",\"spread\":%.4g,\"samples\":%d,\"settled\":%s", l.time.spread, static_cast<int>(l.time.samples.size()),
                                 l.time.settled ? "true" : "false"));
    all.append(bench::detail::formatted(",\"operations\":%.6g,\"bytes\":%.6g,\"threads\":%d,\"of_roofline\":%.4g", l.done.operations,
                                 l.done.bytes, l.threads, l.of_roofline()));
    if (l.by_events) all.append(",\"clock\":\"events\"");
    if (&l != &lines.front())
      all.append(bench::detail::formatted(",\"ratio\":%.6g,\"verdict\":\"%s\"", l.over_first.value, bench::detail::verdict(l)));
    all += '}';
  }
  return all += "]\n";
}

}  // namespace weft::inline WEFT_ABI
