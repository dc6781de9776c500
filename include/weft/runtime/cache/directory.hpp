// The directory of the cache: opened, checked, read and written through descriptors only.
//
// Code that is loaded from a file is run, so a file counts only when nobody else can have written it. Everything is
// checked on an open descriptor and used through that descriptor: what is swapped in between has no effect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {

/// Whether a missing directory is made, and where: `below_own` only inside of one that belongs to us, so that a program
/// run as root leaves nothing of root's in a user's home.
enum class creation : std::uint8_t { never, below_own, anywhere };

/// What is known of a file without reading it.
struct file_info {
  char name[32];
  std::int64_t bytes, age_s;
};

/// An open directory that belongs to the effective user, that nobody else may write, and that is no symbolic link.
class directory {
 public:
  directory(std::string const& path, creation create);
  ~directory();
  directory(directory const&) = delete;
  directory& operator=(directory const&) = delete;
  bool usable() const { return descriptor_ >= 0; }
  /// In words, why it is not. Most programs never ask, and so are not given the code that makes sentences.
  std::string why() const;

  /// The content of file `name`; false unless it is a regular file of ours with one name that nobody else may write.
  /// A file that was not used for an hour is marked as used.
  bool read(char const* name, std::string& bytes) const;
  /// Puts `bytes` in the place of file `name`, whole or not at all, and leaves nothing behind when it fails: errno then says why.
  bool write(char const* name, std::string_view bytes) const;
  bool remove(char const* name) const;
  /// Whether file `name` is there, of ours, that nobody else may write. What is in it is not looked at.
  bool holds(char const* name) const;
  /// The kernels in it, and the files that writers have not put in place or left when they were killed; those that were
  /// not used for longest first.
  sequence<file_info> list() const;

 private:
  enum class fault : std::uint8_t { none, not_there, parent_of_others, not_made, no_directory, not_opened, of_others,
                                    written_by_others, of_all };
  fault make(creation create);
  fault open();

  std::string path_;
  int descriptor_ = -1;
  fault fault_ = fault::none;
  int error_ = 0;  // of the system
};

/// The name of the file for a kernel: 16 hexadecimal digits and ".kernel".
file_info name_of(std::uint64_t digest);
/// 16 hexadecimal digits and `suffix`, of at most 15 characters. Written by hand: the first printf of a process takes 10 us.
file_info name_of(std::uint64_t digest, char const* suffix);
/// Whether a file is half a kernel whose writer is gone. (A writer in another container may look so: it then fails to
/// put its file in place, and keeps nothing.)
bool is_abandoned(file_info const& f);
bool is_kernel(file_info const& f);

/// Removes abandoned files, and when the kernels take more than `limit` bytes, those that were not used for longest,
/// until they take 7/8 of it.
/// Cost 2 us a file
void evict(directory const& d, std::int64_t limit);

}  // namespace cache
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/cache/directory.ipp"
#endif
