// Memory whose ends are watched by the machine.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <utility>

namespace weft_test {

/// Bytes between two pages that cannot be touched, flush with the one or the other.
class fenced_bytes {
 public:
  fenced_bytes() = default;
  fenced_bytes(std::size_t size, bool at_end)
      : size_(size), mapped_((size + page - 1) / page * page + 2 * page), at_end_(at_end) {
    void* const all = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    map_ = static_cast<unsigned char*>(all);
    if (size > 0 && ::mprotect(map_ + page, mapped_ - 2 * page, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = at_end ? map_ + mapped_ - page - size : map_ + page;
  }
  fenced_bytes(fenced_bytes&& other) noexcept { *this = std::move(other); }
  fenced_bytes& operator=(fenced_bytes&& other) noexcept {
    std::swap(map_, other.map_), std::swap(data_, other.data_);
    std::swap(size_, other.size_), std::swap(mapped_, other.mapped_), std::swap(at_end_, other.at_end_);
    return *this;
  }
  ~fenced_bytes() {
    if (map_ != nullptr) ::munmap(map_, mapped_);
  }
  unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool at_end() const { return at_end_; }

 private:
  static constexpr std::size_t page = 65536;  // of any machine
  unsigned char *map_ = nullptr, *data_ = nullptr;
  std::size_t size_ = 0, mapped_ = 0;
  bool at_end_ = false;
};

}  // namespace weft_test
