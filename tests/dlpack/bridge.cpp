// What the Python script beside it calls: kernels on tensors that arrive, and leave, through DLPack; files of NumPy's.
#include <cstdio>
#include <string>

#include "weft/runtime/dlpack.hpp"
#include "weft/runtime/npy.hpp"
#include "weft/weft.hpp"

namespace {
using namespace weft;

inline constexpr auto scaled = kernel<"scaled">([](auto x, auto a) {
  return compute<"y">(x.extent(0), x.extent(1), [=](auto i, auto j) { return a * x(i, j) + 1.0f; });
});

template <class F>
void* answer(char* message, std::size_t size, F const& f) {
  message[0] = '\0';
  try {
    return f();
  } catch (error const& e) {
    std::snprintf(message, size, "%s", e.what());
    return nullptr;
  }
}
dlpack_tensor<float, 2> taken(void* p, bool versioned) {
  if (versioned) return from_dlpack<float, 2>(static_cast<dlpack::managed_tensor_versioned*>(p));
  return from_dlpack<float, 2>(static_cast<dlpack::managed_tensor*>(p));
}
template <class T>
void copy_npy(std::string const& from, std::string const& to, int rank) {
  if (rank == 0) write_npy(to, read_npy<T, 0>(from));
  else if (rank == 1) write_npy(to, read_npy<T, 1>(from));
  else if (rank == 2) write_npy(to, read_npy<T, 2>(from));
  else write_npy(to, read_npy<T, 3>(from));
}
}  // namespace

// The elements of a file of up to three dimensions in another one.
extern "C" void weft_copy_npy(char const* from, char const* to, char* message, std::size_t size) {
  answer(message, size, [&]() -> void* {
    npy_header const h = read_npy_header(from);
    with_dtype(h.type, [&](auto e) { copy_npy<decltype(e)>(from, to, h.rank); });
    return nullptr;
  });
}
// a * x + 1 as a new tensor under the struct that is asked for; x is taken over unless there is a message.
extern "C" void* weft_scaled(void* x, int versioned, float a, int versioned_result, char* message, std::size_t size) {
  return answer(message, size, [&]() -> void* {
    auto const from = taken(x, versioned != 0);
    if (versioned_result != 0) return to_dlpack(scaled(from, a));
    return to_dlpack<dlpack::managed_tensor>(scaled(from, a));
  });
}
// The same over x. When it is read-only, x is given back all the same: it was taken over before that was asked.
extern "C" void weft_scale_in_place(void* x, int versioned, float a, char* message, std::size_t size) {
  answer(message, size, [&]() -> void* {
    auto const from = taken(x, versioned != 0);
    scaled(from, a, out(from));
    return nullptr;
  });
}
