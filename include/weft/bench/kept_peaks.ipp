#include <fcntl.h>
#include <unistd.h>

#include "weft/base/hash.hpp"
#include "weft/base/joined.hpp"
#include "weft/bench/kept_peaks.hpp"
#include "weft/codegen/target.hpp"
#include "weft/runtime/cache/cache.hpp"
#include "weft/runtime/cache/directory.hpp"
#include "weft/runtime/cache/entry.hpp"
#include "weft/runtime/cache/one_keeper.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {
namespace detail {
inline constexpr std::string_view peaks_magic("weft peaks\r\n\x1a\0\0\1", std::size_t{16});
inline constexpr std::uint32_t most_peaks = 1024;

inline cache::file_info peaks_name(std::string_view key) { return cache::name_of(xxh64(key), ".peaks"); }
/// Ten times what a core or a socket has today.
inline bool is_peak(double n, double most) { return n > 0 && n < most; }
inline bool read_peaks(cache::directory const& d, std::string_view key, peak_table& into) {
  std::string bytes;
  if (!d.usable() || !d.read(peaks_name(key).name, bytes)) return false;
  cache::byte_reader r = cache::unsealed(bytes, peaks_magic);
  if (r.text() != key || !r.good) return false;
  peak_table t;
  t.gflops = r.number<double>();
  auto const count = r.number<std::uint32_t>();
  bool good = (t.gflops == 0 || is_peak(t.gflops, 1e5)) && count <= most_peaks;
  for (std::uint32_t i = 0; i < count && good && r.good; ++i) {
    t.threads.push_back(r.number<std::int32_t>());
    t.gbs.push_back(r.number<double>());
    good = t.threads.back() > 0 && is_peak(t.gbs.back(), 1e5);
  }
  if (!good || !r.good || !r.rest.empty()) return false;
  into = static_cast<peak_table&&>(t);
  return true;
}

WEFT_DECL std::string peaks_key() {
  char text[4096] = {};
  if (int const file = ::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC); file >= 0) {
    static_cast<void>(!::read(file, text, sizeof text - 1));
    ::close(file);
  }
  std::string_view name = text;
  std::size_t const at = name.find("model name");
  name = at == std::string_view::npos ? std::string_view() : name.substr(at, name.substr(at).find('\n'));
  target const& t = host();
  auto const n = [](std::int64_t v) { return std::to_string(v); };
  return joined({name, "\n", t.cpu, " ", t.feature_string(), "\n", n(t.l1_bytes), " ", n(t.l2_bytes), " ", n(t.l3_bytes), " ", n(t.threads)});
}
WEFT_DECL bool find_peaks(std::string_view key, peak_table& into) {
  std::string const path = cache::directory_in_use();
  return !path.empty() && read_peaks(cache::directory(path, cache::creation::never), key, into);
}
WEFT_DECL bool keep_peaks(std::string_view key, peak_table const& t) {
  std::string const path = cache::directory_in_use(true);
  if (path.empty()) return false;
  cache::directory const d(path, cache::creation::never);
  cache::detail::one_keeper const alone(path);
  peak_table all;
  static_cast<void>(read_peaks(d, key, all));
  if (t.gflops > all.gflops) all.gflops = t.gflops;
  for (std::size_t i = 0; i < t.threads.size(); ++i) {
    bool there = false;
    for (std::size_t k = 0; k < all.threads.size(); ++k) {
      if (all.threads[k] != t.threads[i]) continue;
      there = true;
      if (t.gbs[i] > all.gbs[k]) all.gbs[k] = t.gbs[i];
    }
    if (!there && all.threads.size() < most_peaks) all.threads.push_back(t.threads[i]), all.gbs.push_back(t.gbs[i]);
  }
  cache::byte_writer w;
  w.bytes.append(peaks_magic);
  w.text(key);
  w.numbers(all.gflops, static_cast<std::uint32_t>(all.threads.size()));
  for (std::size_t i = 0; i < all.threads.size(); ++i) w.numbers(all.threads[i], all.gbs[i]);
  w.numbers(xxh64(w.bytes));
  return d.usable() && d.write(peaks_name(key).name, w.bytes);
}

}  // namespace detail
}  // namespace bench
}  // namespace weft::inline WEFT_ABI
