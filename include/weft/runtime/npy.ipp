#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "weft/base/file_limit.hpp"
#include "weft/runtime/npy.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// NumPy's name of a type, without the mark of byte order; empty for bf16.
inline std::string npy_name(dtype t) {
  if (t == dtype::bf16) return "";
  char const kind = t == dtype::boolean ? 'b' : is_float(t) ? 'f' : is_unsigned_integer(t) ? 'u' : 'i';
  return kind + std::to_string(size_bytes(t));
}

/// A file that is open; what is refused names it.
class npy_file {
 public:
  npy_file(std::string const& name, int flags) : npy_file(name, name, flags) {}
  npy_file(std::string const& name, std::string const& path, int flags)
      : name_(name), descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0666)) {}
  npy_file(npy_file const&) = delete;
  npy_file& operator=(npy_file const&) = delete;
  ~npy_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool close() {
    int const d = descriptor_;
    descriptor_ = -1;
    return ::close(d) == 0;
  }
  [[noreturn]] void refuse(std::string const& why) const { WEFT_THROW(argument_error(name_ + ": " + why)); }
  [[noreturn]] void fail(char const* doing) const {
    WEFT_THROW(device_error(name_ + ": " + doing + ": " + std::strerror(errno)));
  }
  void read(void* to, std::int64_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes > 0;) {
      ssize_t const n = ::read(descriptor_, at, static_cast<std::size_t>(bytes));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot be read");
      if (n == 0) refuse("ends in the middle; it is not whole");
      at += n, bytes -= n;
    }
  }
  bool write(void const* from, std::int64_t bytes) const {
    for (auto* at = static_cast<char const*>(from); bytes > 0;) {
      ssize_t const n = ::write(descriptor_, at, static_cast<std::size_t>(bytes));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n, bytes -= n;
    }
    return true;
  }

 private:
  std::string const& name_;
  int descriptor_;
};

/// The header's text: a Python dictionary with three keys, in any order, and nothing that would have to be evaluated.
class npy_reader {
 public:
  npy_reader(npy_file const& file, std::string_view text) : file_(file), rest_(text) {}

  npy_header run() {
    need('{');
    bool descr = false, order = false, shape = false;
    while (!take('}')) {
      std::string_view const key = quoted();
      need(':');
      bool& known = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if ((&known == &shape && key != "shape") || known)
        file_.refuse("has a header with '" + std::string(key) + "' in it" +
                     (known ? " twice" : ", which is not known"));
      known = true;
      if (&known == &descr) type();
      else if (&known == &order) h_.fortran_order = truth();
      else extents();
      if (!take(',')) {
        need('}');
        break;
      }
    }
    if (spaces(), !rest_.empty()) file_.refuse("has something behind its header's end");
    if (!(descr && order && shape)) file_.refuse("has a header without descr, fortran_order or shape");
    return h_;
  }

 private:
  void spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    spaces();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) file_.refuse(std::string("has a header that is not as NumPy writes it: '") + c + "' is missing");
  }
  std::string_view quoted() {
    char const mark = take('"') ? '"' : (need('\''), '\'');
    std::size_t const end = rest_.find(mark);
    if (end == std::string_view::npos) file_.refuse("has a header with a text that does not end");
    std::string_view const text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool truth() {
    spaces();
    for (std::string_view const word : {"True", "False"})
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    file_.refuse("has a fortran_order that is neither True nor False");
  }
  void type() {
    spaces();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"'))
      file_.refuse("holds structures, which weft has no element type for");
    std::string_view const text = quoted();
    for (int i = 0; i < dtype_count; ++i) {
      auto const t = static_cast<dtype>(i);
      std::string const known = npy_name(t);
      if (known.empty() || text.size() < 2 || text.substr(1) != known) continue;
      // '=' is the machine's own order; '|' says that there is none.
      if (text[0] == '<' || text[0] == '=' || (size_bytes(t) == 1 && (text[0] == '|' || text[0] == '>'))) {
        h_.type = t;
        return;
      }
    }
    std::string const shown(text.substr(0, 20));
    file_.refuse("holds elements of type '" + shown + "'" +
                 (!text.empty() && text[0] == '>' ? ", which are big-endian; write them little-endian"
                                                  : ", which weft has no element type for"));
  }
  void extents() {
    need('(');
    while (!take(')')) {
      spaces();
      std::int64_t e = 0;
      std::size_t digits = 0;
      for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
        if (__builtin_mul_overflow(e, 10, &e) || __builtin_add_overflow(e, rest_[digits] - '0', &e))
          file_.refuse("has an extent beyond 2^63");
      if (digits == 0) file_.refuse("has a shape that is not a list of numbers");
      rest_.remove_prefix(digits);
      if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // Python 2 wrote such
      if (h_.rank == max_rank) file_.refuse("has more than eight dimensions");
      h_.extents[h_.rank++] = e;
      if (!take(',')) {
        need(')');
        break;
      }
    }
  }

  npy_file const& file_;
  std::string_view rest_;
  npy_header h_;
};

inline constexpr std::int64_t npy_buffer_bytes = 16384;

/// How many bytes the elements take; false when that is more than can be counted.
inline bool count_bytes(dtype type, std::int64_t const* extents, int rank, std::int64_t& bytes) {
  bytes = size_bytes(type);
  bool counted = true, empty = false;
  for (int d = 0; d < rank; ++d) {
    empty = empty || extents[d] == 0;
    counted = !__builtin_mul_overflow(bytes, extents[d] > 0 ? extents[d] : 1, &bytes) && counted;
  }
  if (empty) bytes = 0;
  return counted;
}

inline npy_header read_header(npy_file const& f) {
  struct stat about;
  if (!f.is_open()) f.fail("cannot be opened");
  if (::fstat(f.descriptor(), &about) != 0) f.fail("cannot be read");
  if (!S_ISREG(about.st_mode)) f.refuse("is not a file");
  unsigned char start[12];
  if (about.st_size < 10) f.refuse("is not a .npy file");
  f.read(start, 10);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) f.refuse("is not a .npy file");
  if (start[6] < 1 || start[6] > 3)
    f.refuse("is of version " + std::to_string(start[6]) + " of the format; 1 to 3 are known");
  if (start[6] > 1) f.read(start + 10, 2);
  std::int64_t const begin = start[6] > 1 ? 12 : 10;
  std::uint32_t length = 0;
  for (std::int64_t i = begin; i-- > 8;) length = length << 8u | start[i];
  // The three keys with eight numbers take 300 bytes; 2.0 was made for structures of many members.
  if (length > 65536) f.refuse("has a header of " + std::to_string(length) + " bytes, and 65536 are read");
  std::string text(length, ' ');
  f.read(text.data(), static_cast<std::int64_t>(length));
  npy_header h = npy_reader(f, text).run();
  h.data_begin = begin + static_cast<std::int64_t>(length);
  std::int64_t bytes = 0;
  bool const counted = count_bytes(h.type, h.extents, h.rank, bytes);
  if (!counted || bytes > about.st_size - h.data_begin)
    f.refuse("ends before its last element: the header asks for " +
             (counted ? std::to_string(bytes) : "more than 2^63") + " bytes of elements, and there are " +
             std::to_string(about.st_size - h.data_begin));
  return h;
}

/// Copies the elements of `a`, the last index fastest, to or from a buffer that `full` fills before and empties after
/// each time that it is walked through.
template <class Copy, class Full>
void walk_elements(argument const& a, std::int64_t count, Copy copy, Full full) {
  std::int64_t const most = npy_buffer_bytes / size_bytes(a.type);
  std::int64_t index[max_rank]{}, at = 0;
  while (count > 0) {
    std::int64_t const now = count < most ? count : most;
    full(now, true);
    for (std::int64_t n = 0; n < now; ++n) {
      copy(n, at);
      for (int d = a.rank; d-- > 0;) {
        at += a.strides[d];
        if (++index[d] < a.extents[d]) break;
        at -= index[d] * a.strides[d];
        index[d] = 0;
      }
    }
    full(now, false);
    count -= now;
  }
}

WEFT_DECL void read_npy(std::string const& file, dtype type, int rank,
                        void* (*allocate)(void* to, std::int64_t const* extents), void* to) {
  npy_file const f(file, O_RDONLY | O_NONBLOCK);  // a pipe without a writer must not hold us up
  npy_header const h = read_header(f);
  if (h.type != type || h.rank != rank)
    f.refuse("holds " + std::to_string(h.rank) + " dimensions of " + std::string(weft::name(h.type)) + ", not " +
             std::to_string(rank) + " of " + std::string(weft::name(type)));
  auto* const data = static_cast<char*>(allocate(to, h.extents));
  std::int64_t bytes = 0;
  count_bytes(type, h.extents, rank, bytes);
  std::int64_t const size = size_bytes(type);
  if (!h.fortran_order) {
    f.read(data, bytes);
  } else if (bytes > 0) {
    // The file's order is that of the tensor with its dimensions turned round.
    argument a;
    a.type = type;
    a.rank = static_cast<std::int8_t>(rank);
    std::int64_t stride = 1;
    for (int d = rank; d-- > 0; stride *= h.extents[d]) {
      a.extents[rank - 1 - d] = h.extents[d];
      a.strides[rank - 1 - d] = stride;
    }
    char buffer[npy_buffer_bytes];
    walk_elements(
        a, bytes / size,
        [&](std::int64_t n, std::int64_t at) {
          std::memcpy(data + at * size, buffer + n * size, static_cast<std::size_t>(size));
        },
        [&](std::int64_t elements, bool begins) {
          if (begins) f.read(buffer, elements * size);
        });
  }
  for (std::int64_t i = 0; type == dtype::boolean && i < bytes; ++i) data[i] = data[i] != 0;  // else it is no bool
}

/// The file that a name leads to through symbolic links, also where there is none yet.
inline std::string behind_links(std::string path) {
  char link[4096];
  for (int links = 0; links < 40; ++links) {
    ssize_t const n = ::readlink(path.c_str(), link, sizeof link);
    if (n <= 0 || n == sizeof link) break;
    if (link[0] == '/') path.clear();
    else path.resize(path.rfind('/') + 1);  // npos + 1 is 0
    path.append(link, static_cast<std::size_t>(n));
  }
  return path;
}
/// Owner and mode of the file that `f` will replace. Where its group cannot be kept, ours is given no rights.
inline bool give_mode(npy_file const& f, struct stat const& before) {
  bool const same_group = ::fchown(f.descriptor(), before.st_uid, before.st_gid) == 0;
  return ::fchmod(f.descriptor(), before.st_mode & (same_group ? 0777 : 0707)) == 0;
}
inline bool write_all(npy_file const& f, std::string const& start, argument const& a, bool compact,
                      std::int64_t bytes) {
  bool good = f.write(start.data(), static_cast<std::int64_t>(start.size()));
  auto const* const data = static_cast<char const*>(a.data);
  if (compact) return good && f.write(data, bytes);
  std::int64_t const size = size_bytes(a.type);
  char buffer[npy_buffer_bytes];
  walk_elements(
      a, bytes / size,
      [&](std::int64_t n, std::int64_t at) {
        std::memcpy(buffer + n * size, data + at * size, static_cast<std::size_t>(size));
      },
      [&](std::int64_t elements, bool begins) {
        if (!begins) good = good && f.write(buffer, elements * size);
      });
  return good;
}

WEFT_DECL void write_npy(std::string const& file, argument const& a) {
  std::string const type = npy_name(a.type);
  if (type.empty())
    WEFT_THROW(
        argument_error(file + ": bf16 has no name in NumPy's files; weft::cast it to f32, which holds it exactly"));
  std::string text = std::string("{'descr': '") + (size_bytes(a.type) == 1 ? '|' : '<') + type +
                     "', 'fortran_order': False, 'shape': (";
  std::int64_t bytes = 0, stride = 1;
  bool counted = count_bytes(a.type, a.extents, a.rank, bytes), compact = true;
  for (int d = a.rank; d-- > 0; stride *= a.extents[d]) {
    counted = counted && a.extents[d] >= 0;
    if (!counted) break;
    compact = compact && (a.strides[d] == stride || a.extents[d] == 1);
  }
  if (!counted || (a.data == nullptr && bytes > 0))
    WEFT_THROW(argument_error(file + ": what is to be written has no shape that memory holds, or no memory"));
  for (int d = 0; d < a.rank; ++d)
    text += std::to_string(a.extents[d]) + (a.rank == 1 ? "," : d + 1 < a.rank ? ", " : "");
  text += "), }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(text.size() & 255);
  start += static_cast<char>(text.size() >> 8);
  start += text;

  npy_file const there(file, O_WRONLY);
  struct stat before {};
  bool const exists = there.is_open();
  if (exists ? ::fstat(there.descriptor(), &before) != 0 : errno != ENOENT) there.fail("cannot be written");
  if (exists && !S_ISREG(before.st_mode)) {
    if (!write_all(there, start, a, compact, bytes)) there.fail("cannot be written");
    return;
  }
  std::int64_t length = 0;
  if (__builtin_add_overflow(bytes, static_cast<std::int64_t>(start.size()), &length) || !file_may_hold(length)) {
    errno = EFBIG;
    there.fail("cannot be written");
  }
  static int numbers = 0;  // of this process's temporary files
  std::string const real = behind_links(file);
  std::string const temporary = real + ".tmp" + std::to_string(::getpid()) + "." +
                                std::to_string(__atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED));
  npy_file f(file, temporary, O_WRONLY | O_CREAT | O_EXCL);
  if (!f.is_open()) f.fail("cannot be written");
  bool good = (!exists || give_mode(f, before)) && write_all(f, start, a, compact, bytes);
  good = f.close() && good && ::rename(temporary.c_str(), real.c_str()) == 0;
  if (good) return;
  int const why = errno;
  ::unlink(temporary.c_str());
  errno = why;
  f.fail("cannot be written");
}
}  // namespace detail

WEFT_DECL npy_header read_npy_header(std::string const& file) {
  return detail::read_header(detail::npy_file(file, O_RDONLY | O_NONBLOCK));
}

}  // namespace weft::inline WEFT_ABI
