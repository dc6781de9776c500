// Tensors in NumPy's files (.npy).
//
//     auto a = weft::read_npy<float, 2>("a.npy");
//     weft::write_npy("c.npy", matmul(a, a));
#pragma once

#include <string>

#include "weft/runtime/tensor.hpp"

namespace weft::inline WEFT_ABI {

/// What the header of a .npy file says.
struct npy_header {
  dtype type = dtype::f32;
  int rank = 0;
  bool fortran_order = false;  // the first index runs fastest
  std::int64_t extents[max_rank]{};
  std::int64_t data_begin = 0;  // bytes before the elements
};

/// Reads the header alone: for whoever does not know what is in the file.
///
/// Errors  argument_error, with the file's name, for what is no .npy of version 1 to 3, has elements that weft has no
///         type for (big-endian, complex, text, objects), more than eight dimensions, or ends before its last element;
///         device_error where the system refuses to read
/// Source  the format's description, NumPy enhancement proposal 1, and numpy.lib.format
npy_header read_npy_header(std::string const& file);

namespace detail {
/// Opens the file, checks the header against what is wanted and reads the elements into `data`, which `allocate` makes.
void read_npy(std::string const& file, dtype type, int rank, void* (*allocate)(void* to, std::int64_t const* extents),
              void* to);
void write_npy(std::string const& file, argument const& a);
}  // namespace detail

/// The tensor in a file, whichever order it is in there.
///
/// Errors  as read_npy_header; argument_error when the file holds another element type or rank
/// Cost    one pass over the file; memory is taken only after its size was found to be right
template <element T, int Rank>
tensor<T, Rank> read_npy(std::string const& file) {
  static_assert(Rank >= 0 && Rank <= max_rank, "weft: a tensor has at most eight dimensions");
  tensor<T, Rank> made;
  detail::read_npy(
      file, dtype_of<T>, Rank,
      [](void* to, std::int64_t const* extents) -> void* {
        std::array<std::int64_t, static_cast<std::size_t>(Rank)> shape{};
        for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = extents[d];
        auto& t = *static_cast<tensor<T, Rank>*>(to);
        t = tensor<T, Rank>(shape);
        return t.data();
      },
      &made);
  return made;
}

/// Writes any argument of a kernel (a tensor, view, range, mdspan, Eigen's matrix) in row-major order, as format 1.0
/// with the elements at a multiple of 64 bytes. The file is there whole or not at all: a temporary one beside it gets
/// its name. A link is followed, and a file that is there keeps its mode; what is no file (a pipe, /dev/stdout) is written
/// to as it is.
///
/// Errors  argument_error for bf16, which NumPy has no name for; device_error where the system refuses to write, or the
///         file would be longer than `ulimit -f` allows
template <class A>
  requires(detail::argument_traits<A>::supported)
void write_npy(std::string const& file, A const& tensor_like) {
  static_assert(!element<A>, "weft: a number alone is no tensor; write weft::view(&number)");
  argument a;
  detail::argument_traits<A>::describe(tensor_like, a);
  detail::write_npy(file, a);
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/npy.ipp"
#endif
