#include <cstring>

#include "weft/base/hash.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

// The five primes of the specification.
inline constexpr std::uint64_t xxh_primes[] = {0x9E3779B185EBCA87u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
                                               0x85EBCA77C2B2AE63u, 0x27D4EB2F165667C5u};

constexpr std::uint64_t rotated(std::uint64_t x, int by) { return x << by | x >> (64 - by); }
constexpr std::uint64_t xxh_round(std::uint64_t sum, std::uint64_t lane) {
  return rotated(sum + lane * xxh_primes[1], 31) * xxh_primes[0];
}
template <class T>
inline std::uint64_t little_endian(char const* at) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
}  // namespace detail

WEFT_HOT_DECL std::uint64_t xxh64(std::string_view bytes) {
  using namespace detail;
  auto const& p = xxh_primes;
  char const* at = bytes.data();
  char const* const end = at + bytes.size();
  std::uint64_t h = p[4];
  if (bytes.size() >= 32) {
    std::uint64_t lanes[] = {p[0] + p[1], p[1], 0, 0 - p[0]};
    for (; end - at >= 32; at += 32)
      for (int i = 0; i < 4; ++i) lanes[i] = xxh_round(lanes[i], little_endian<std::uint64_t>(at + 8 * i));
    h = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
    for (std::uint64_t sum : lanes) h = (h ^ xxh_round(0, sum)) * p[0] + p[3];
  }
  h += bytes.size();
  for (; end - at >= 8; at += 8)
    h = rotated(h ^ xxh_round(0, little_endian<std::uint64_t>(at)), 27) * p[0] + p[3];
  for (; end - at >= 4; at += 4) h = rotated(h ^ little_endian<std::uint32_t>(at) * p[0], 23) * p[1] + p[2];
  for (; at < end; ++at) h = rotated(h ^ little_endian<unsigned char>(at) * p[4], 11) * p[0];
  h = (h ^ h >> 33) * p[1];
  h = (h ^ h >> 29) * p[2];
  return h ^ h >> 32;
}

}  // namespace weft::inline WEFT_ABI
