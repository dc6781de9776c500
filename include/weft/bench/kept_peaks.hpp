// The peaks of a machine on disk, so that they are measured once. For peak.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace bench {
namespace detail {

/// What was measured of a machine. Units: GFLOP/s of one thread, GB/s on `threads[i]` threads.
struct peak_table {
  double gflops = 0;  // 0: not yet
  sequence<std::int32_t> threads{};
  sequence<double> gbs{};
  /// 0: not yet
  double gbs_of(int n) const {
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (threads[i] == n) return gbs[i];
    return 0;
  }
};

/// This machine, as text: its processor by the system's name, instructions, caches, threads.
std::string peaks_key();
/// What is kept for this machine in the directory of the cache; false: nothing, or a file that is damaged, or says what no machine has.
bool find_peaks(std::string_view key, peak_table& into);
/// Keeps it; of what stands there already the larger numbers stay, since what disturbs a measurement only makes it smaller. False: there is
/// no cache to keep it in. The file is put in place whole.
bool keep_peaks(std::string_view key, peak_table const& t);

}  // namespace detail
}  // namespace bench
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/bench/kept_peaks.ipp"
#endif
