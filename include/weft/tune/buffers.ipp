#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/base/error.hpp"
#include "weft/base/file_limit.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/op.hpp"
#include "weft/tune/buffers.hpp"
#include "weft/tune/point.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
inline constexpr std::int64_t page = 4096;
inline constexpr char pattern = 0x5b;

/// The bytes of a tensor, from its lowest to behind its highest element.
inline void reach_of(argument const& a, std::int64_t& low, std::int64_t& bytes) {
  std::int64_t least = 0, most = 0;
  bool empty = false;
  for (int d = 0; d < a.rank; ++d) {
    empty = empty || a.extents[d] <= 0;
    std::int64_t const step = (a.extents[d] - 1) * a.strides[d];
    (step < 0 ? least : most) += step;
  }
  std::int64_t const size = size_bytes(a.type);
  low = empty ? 0 : least * size;
  bytes = empty ? 0 : (most - least + 1) * size;
}
/// Blocks that overlap become one.
inline std::int32_t block_for(sequence<memory_block>& blocks, sequence<tensor_place>& tensors, char const* live,
                              std::int64_t bytes) {
  std::int32_t home = -1;
  for (std::size_t b = 0; live != nullptr && b < blocks.size(); ++b) {
    memory_block& m = blocks[b];
    if (m.live == nullptr || live + bytes <= m.live || m.live + m.bytes <= live) continue;
    char const *const begin = live < m.live ? live : m.live,
                      *const end = live + bytes > m.live + m.bytes ? live + bytes : m.live + m.bytes;
    if (home < 0) {
      for (tensor_place& t : tensors)
        if (t.block == static_cast<std::int32_t>(b)) t.at += m.live - begin;
      m.live = begin, m.bytes = end - begin;
      home = static_cast<std::int32_t>(b);
    } else {  // the new one joins two that were apart
      memory_block& h = blocks[static_cast<std::size_t>(home)];
      char const *const low = h.live < begin ? h.live : begin,
                        *const high = h.live + h.bytes > end ? h.live + h.bytes : end;
      for (tensor_place& t : tensors) {
        if (t.block == home) t.at += h.live - low;
        if (t.block == static_cast<std::int32_t>(b)) t.block = home, t.at += m.live - low;
      }
      h.live = low, h.bytes = high - low;
      h.written = h.written || m.written, h.read = h.read || m.read;
      m = memory_block{};
    }
    live = blocks[static_cast<std::size_t>(home)].live, bytes = blocks[static_cast<std::size_t>(home)].bytes;
  }
  if (home >= 0) return home;
  memory_block made;
  made.live = live, made.bytes = bytes;
  blocks.push_back(made);
  return static_cast<std::int32_t>(blocks.size()) - 1;
}
}  // namespace detail

WEFT_DECL argument_copies::argument_copies(argument const* arguments, int count) {
  for (int i = 0; i < count; ++i) {
    argument const& a = arguments[i];
    if (a.is_scalar) {
      scalars_.push_back(a.scalar_bits);
      continue;
    }
    std::int64_t low, bytes;
    detail::reach_of(a, low, bytes);
    char const* const live = a.data != nullptr ? static_cast<char const*>(a.data) + low : nullptr;
    std::int32_t const home = detail::block_for(blocks_, tensors_, live, bytes);
    memory_block& m = blocks_[static_cast<std::size_t>(home)];
    (a.is_output ? m.written : m.read) = true;
    tensors_.push_back({home, (live != nullptr ? live - m.live : 0) - low});
  }
  for (memory_block& m : blocks_) {
    std::int64_t const misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(m.live) % 64);
    m.offset = bytes_;
    m.pages_bytes = (m.bytes + 64 + detail::page - 1) / detail::page * detail::page;
    m.start = m.pages_bytes - m.bytes;
    m.start -= ((m.start - misaligned) % 64 + 64) % 64;
    bytes_ += m.pages_bytes;
    if (margin_bytes(m) > margin_) margin_ = margin_bytes(m);
  }
  if (!file_may_hold(bytes_ > 0 ? bytes_ : detail::page))  // memory that processes share is a file
    WEFT_THROW(device_error(joined({"tune: copies of the arguments take ", std::to_string(bytes_), " bytes, which is more than this process' limit of files (ulimit -f)"})));
  fd_ = ::memfd_create("weft-tune", MFD_CLOEXEC);
  if (fd_ < 0 || ::ftruncate(fd_, bytes_ > 0 ? bytes_ : detail::page) != 0) {
    std::string const why = std::strerror(errno);
    if (fd_ >= 0) ::close(fd_);
    WEFT_THROW(device_error(joined({"tune: no memory for copies of the arguments: ", why})));
  }
  auto const size = static_cast<std::size_t>(bytes_ > 0 ? bytes_ : detail::page), margin = static_cast<std::size_t>(margin_);
  void* const all = ::mmap(nullptr, size + 2 * margin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const mapped = all == MAP_FAILED ? all : ::mmap(static_cast<char*>(all) + margin, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0);
  if (mapped == MAP_FAILED) {
    if (all != MAP_FAILED) ::munmap(all, size + 2 * margin);
    ::close(fd_);
    WEFT_THROW(device_error("tune: no memory for copies of the arguments"));
  }
  memory_ = static_cast<char*>(mapped);
  for (char* const side : {memory_ - margin, memory_ + size}) std::memset(side, detail::pattern, margin);
  // A fork maps what it needs anew, inputs read-only: this mapping, all of which may be written, is not for it.
  static_cast<void>(::madvise(mapped, static_cast<std::size_t>(bytes_ > 0 ? bytes_ : detail::page), MADV_DONTFORK));
  std::memset(memory_, detail::pattern, static_cast<std::size_t>(bytes_));
  for (memory_block const& m : blocks_)
    if (m.live != nullptr && m.read)
      std::memcpy(memory_ + m.offset + m.start, m.live, static_cast<std::size_t>(m.bytes));
  find_holes(arguments, count);
}
WEFT_DECL void argument_copies::find_holes(argument const* arguments, int count) {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    memory_block const& m = blocks_[b];
    if (!m.written) continue;
    sequence<std::int64_t> has(static_cast<std::size_t>((m.bytes + 63) / 64), std::int64_t(0));  // a bit for each byte
    bool dense = false;
    for (int i = 0, tensor = 0; i < count && !dense; ++i) {
      argument const& a = arguments[i];
      if (a.is_scalar) continue;
      tensor_place const& place = tensors_[static_cast<std::size_t>(tensor++)];
      if (static_cast<std::size_t>(place.block) != b) continue;
      std::int64_t const size = size_bytes(a.type);
      std::int64_t elements = 1, index[max_rank] = {};
      for (int d = 0; d < a.rank; ++d) elements *= a.extents[d] > 0 ? a.extents[d] : 0;
      // Elements of outputs do not overlap.
      if (dense = a.is_output && elements * size == m.bytes; dense) break;
      for (std::int64_t n = 0, at = place.at; n < elements; ++n) {
        for (std::int64_t byte = at; byte < at + size; ++byte)
          has[static_cast<std::size_t>(byte / 64)] |= static_cast<std::int64_t>(std::uint64_t(1) << (byte % 64));
        for (int d = a.rank; d-- > 0;) {
          at += a.strides[d] * size;
          if (++index[d] < a.extents[d]) break;
          at -= a.extents[d] * a.strides[d] * size;
          index[d] = 0;
        }
      }
    }
    bool inside = false;
    for (std::int64_t byte = 0; byte <= m.bytes && !dense; ++byte) {
      bool const is_hole =
          byte < m.bytes && (static_cast<std::uint64_t>(has[static_cast<std::size_t>(byte / 64)]) >> (byte % 64) & 1) == 0;
      if (is_hole != inside) holes_.push_back(m.offset + m.start + byte);
      inside = is_hole;
    }
  }
}
WEFT_DECL argument_copies::~argument_copies() {
  ::munmap(memory_ - margin_, static_cast<std::size_t>((bytes_ > 0 ? bytes_ : detail::page) + 2 * margin_));
  ::close(fd_);
}
WEFT_DECL void argument_copies::protect_live() const {
  for (memory_block const& m : blocks_) {
    if (m.live == nullptr) continue;
    auto const size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto const from = reinterpret_cast<std::uintptr_t>(m.live);
    std::uintptr_t const begin = (from + size - 1) / size * size, end = (from + static_cast<std::uintptr_t>(m.bytes)) / size * size;
    if (begin < end) static_cast<void>(::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ));
  }
}
WEFT_DECL char* argument_copies::data(std::size_t i) const {
  memory_block const& m = blocks_[static_cast<std::size_t>(tensors_[i].block)];
  return memory_ + m.offset + m.start + tensors_[i].at;
}
WEFT_DECL void argument_copies::restore() {
  for (memory_block const& m : blocks_) {
    if (!m.written) continue;
    std::memset(memory_ + m.offset, detail::pattern, static_cast<std::size_t>(m.pages_bytes));
    if (m.live != nullptr && m.read) std::memcpy(memory_ + m.offset + m.start, m.live, static_cast<std::size_t>(m.bytes));
  }
  for (std::size_t i = 0; i + 1 < holes_.size(); i += 2)
    std::memset(memory_ + holes_[i], detail::pattern, static_cast<std::size_t>(holes_[i + 1] - holes_[i]));
}
WEFT_DECL void argument_copies::put_whole_numbers(argument const* arguments, int count) {
  restore();
  random_numbers random(1);
  for (int i = 0, tensor = 0; i < count; ++i) {
    argument const& a = arguments[i];
    if (a.is_scalar) continue;
    char* const at = data(static_cast<std::size_t>(tensor++));
    if (a.is_output || !is_float(a.type)) continue;
    std::int64_t elements = 1, index[max_rank] = {};
    for (int d = 0; d < a.rank; ++d) elements *= a.extents[d] > 0 ? a.extents[d] : 0;
    std::int64_t const size = size_bytes(a.type);
    for (std::int64_t n = 0, place = 0; n < elements; ++n) {
      int const drawn = random.below(4) - 2;
      double const number = drawn == 0 ? 2 : drawn;  // of -2, -1, 0, 1, 0 becomes 2
      std::int64_t const bits = a.type == dtype::f64 ? to_bits(number) : weft::detail::from_f32(a.type, static_cast<float>(number));
      std::memcpy(at + place * size, &bits, static_cast<std::size_t>(size));  // little endian
      for (int d = a.rank; d-- > 0;) {
        place += a.strides[d];
        if (++index[d] < a.extents[d]) break;
        place -= a.extents[d] * a.strides[d];
        index[d] = 0;
      }
    }
  }
}
WEFT_DECL void argument_copies::bring_inputs() {
  for (memory_block const& m : blocks_)
    if (m.live != nullptr && m.read) std::memcpy(memory_ + m.offset + m.start, m.live, static_cast<std::size_t>(m.bytes));
}
WEFT_DECL bool argument_copies::intact() const {
  for (memory_block const& m : blocks_) {
    char const* const page = memory_ + m.offset;
    for (std::int64_t i = 0; i < m.start; ++i)
      if (page[i] != detail::pattern) return false;
    for (std::int64_t i = m.start + m.bytes; i < m.pages_bytes; ++i)
      if (page[i] != detail::pattern) return false;
  }
  for (std::size_t i = 0; i + 1 < holes_.size(); i += 2)
    for (std::int64_t at = holes_[i]; at < holes_[i + 1]; ++at)
      if (memory_[at] != detail::pattern) return false;
  return true;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
