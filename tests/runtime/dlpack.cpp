#include "weft/runtime/dlpack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/weft.hpp"

using namespace weft;

// The binary interface: sizes and offsets as the header of DLPack 1.1 has them on 64-bit machines.
static_assert(sizeof(dlpack::tensor) == 48 && offsetof(dlpack::tensor, ndim) == 16 &&
              offsetof(dlpack::tensor, dtype) == 20 && offsetof(dlpack::tensor, shape) == 24 &&
              offsetof(dlpack::tensor, byte_offset) == 40);
static_assert(sizeof(dlpack::managed_tensor) == 64 && offsetof(dlpack::managed_tensor, deleter) == 56);
static_assert(sizeof(dlpack::managed_tensor_versioned) == 80 &&
              offsetof(dlpack::managed_tensor_versioned, deleter) == 16 &&
              offsetof(dlpack::managed_tensor_versioned, flags) == 24 &&
              offsetof(dlpack::managed_tensor_versioned, dl_tensor) == 32);

namespace {
// The structs as dlpack.h declares them, under names of their own: users may have that header.
enum foreign_device_type : std::int32_t { foreign_cpu = 1 };
struct foreign_tensor {
  void* data;
  struct {
    foreign_device_type device_type;
    std::int32_t device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct foreign_managed {
  foreign_tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(foreign_managed*);
};

/// What a producer makes: 2 x 3 floats, row-major; counts its deletions.
struct producer {
  std::vector<float> memory{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<std::int64_t, 2> shape{2, 3}, strides{3, 1};
  int deleted = 0;
  dlpack::managed_tensor_versioned made{};
  producer() {
    made.version = {1, 3};
    made.manager_ctx = this;
    made.deleter = [](dlpack::managed_tensor_versioned* self) { ++static_cast<producer*>(self->manager_ctx)->deleted; };
    made.dl_tensor = {memory.data(), {1, 0}, 2, {2, 32, 1}, shape.data(), strides.data(), 0};
  }
};

inline constexpr auto doubled = weft::kernel<"doubled">(
    [](auto A) { return weft::compute<"C">(A.extent(0), A.extent(1), [=](auto i, auto j) { return 2 * A(i, j); }); });
}  // namespace

TEST_CASE("a tensor of another library is an argument, where it lies, and is given back once") {
  producer p;
  {
    auto x = from_dlpack<float, 2>(&p.made);
    CHECK(x.data() == p.memory.data());
    auto const y = doubled(x);
    CHECK(y(1, 2) == 10);
    auto z = std::move(x);  // still one owner
    CHECK(evaluate(doubled, z).values[5] == 10);
    CHECK(p.deleted == 0);
    producer q;
    z = from_dlpack<float, 2>(&q.made);
    CHECK(p.deleted == 1);
    CHECK(q.deleted == 0);
    z = from_dlpack<float, 2>(&p.made);
    CHECK(q.deleted == 1);
  }
  CHECK(p.deleted == 2);
  p.made.deleter = nullptr;  // allowed: nothing to give back
  static_cast<void>(from_dlpack<float, 2>(&p.made));
}
TEST_CASE("strides, null strides and the byte offset are honoured") {
  producer p;
  p.strides = {1, 2};
  p.made.dl_tensor.byte_offset = 4;
  CHECK(doubled(from_dlpack<float, 2>(&p.made))(1, 2) == 2 * (1 + 1 + 4));
  p.strides = {-3, 1};
  p.made.dl_tensor.byte_offset = 16;
  CHECK(doubled(from_dlpack<float, 2>(&p.made))(1, 2) == 2 * (4 - 3 + 2));
  p.made.dl_tensor.strides = nullptr;
  p.made.dl_tensor.byte_offset = 4;
  auto const x = from_dlpack<float, 2>(&p.made);
  CHECK(x.stride_of(0) == 3);
  CHECK(doubled(x)(1, 2) == 12);
}
TEST_CASE("memory of the CPU that a GPU's driver has pinned is the CPU's") {
  for (std::int32_t device : {3, 11}) {
    producer p;
    p.made.dl_tensor.device = {device, 0};
    CHECK(doubled(from_dlpack<float, 2>(&p.made))(1, 2) == 10);
  }
}
TEST_CASE("an output is written where it lies, a read-only tensor is none") {
  producer p, q;
  auto x = from_dlpack<float, 2>(&p.made), y = from_dlpack<float, 2>(&q.made);
  doubled(x, out(y));
  CHECK(q.memory == std::vector<float>{0, 2, 4, 6, 8, 10, 6, 7});
  q.made.flags = dlpack::read_only | 2;
  auto const fixed = from_dlpack<float, 2>(&q.made);
  CHECK(fixed.is_read_only());
  CHECK(doubled(fixed)(0, 1) == 4);
  CHECK_THROWS_WITH_AS(static_cast<void>(out(fixed)),
                       "dlpack: the tensor's producer says that it is read-only, so it is no output; write to a copy",
                       argument_error);
}
TEST_CASE("a plain tensor is borrowed, the struct of before 1.0 is taken over, and so are those of dlpack.h") {
  producer p;
  CHECK(doubled(from_dlpack<float, 2>(&p.made.dl_tensor))(1, 2) == 10);
  CHECK(p.deleted == 0);
  static int deleted = 0;
  dlpack::managed_tensor old{p.made.dl_tensor, nullptr, [](dlpack::managed_tensor*) { ++deleted; }};
  CHECK(doubled(from_dlpack<float, 2>(&old))(1, 2) == 10);
  CHECK(deleted == 1);
  foreign_managed theirs{{p.memory.data(), {foreign_cpu, 0}, 2, {2, 32, 1}, p.shape.data(), nullptr, 0},
                         nullptr,
                         [](foreign_managed*) { ++deleted; }};
  CHECK(doubled(from_dlpack<float, 2>(&theirs))(1, 2) == 10);
  CHECK(deleted == 2);
}
TEST_CASE("what does not fit is refused in words, and stays the caller's") {
  auto const refused = [](auto change) {
    producer p;
    change(p);
    std::string why;
    try {
      static_cast<void>(from_dlpack<float, 2>(&p.made));
    } catch (argument_error const& e) {
      why = e.what();
    }
    CHECK(p.deleted == 0);
    return why;
  };
  CHECK(refused([](producer& p) { p.made.version = {2, 0}; }) ==
        "dlpack: the tensor is laid out by version 2.0 of DLPack, and version 1 is read; ask its producer for that (in "
        "Python: "
        "__dlpack__(max_version=(1, 1)))");
  CHECK(refused([](producer& p) { p.made.dl_tensor.device = {2, 1}; }) ==
        "dlpack: the tensor is on a device of type 2, number 1; weft reads the CPU's memory: copy it there first");
  CHECK(refused([](producer& p) { p.made.dl_tensor.dtype = {2, 64, 1}; }) == "dlpack: the tensor holds f64, not f32");
  CHECK(refused([](producer& p) { p.made.dl_tensor.dtype = {5, 64, 1}; }) ==
        "dlpack: the tensor holds type code 5 with 64 bits and 1 lanes, which weft has no element type for, not f32");
  CHECK(refused([](producer& p) { p.made.dl_tensor.dtype.lanes = 4; }).find("and 4 lanes") != std::string::npos);
  CHECK(refused([](producer& p) { p.made.dl_tensor.ndim = 3; }) == "dlpack: the tensor has 3 dimensions, not 2");
  CHECK(refused([](producer& p) { p.made.dl_tensor.ndim = -1; }) == "dlpack: the tensor has -1 dimensions, not 2");
  CHECK(refused([](producer& p) { p.made.dl_tensor.shape = nullptr; }) ==
        "dlpack: the tensor has no shape (a null pointer)");
  CHECK(refused([](producer& p) { p.made.dl_tensor.data = nullptr; }) ==
        "dlpack: the tensor has no memory (a null pointer)");
  CHECK(refused([](producer& p) { p.shape[1] = -3; }) == "dlpack: dimension 1 has -3 elements");
  CHECK(refused([](producer& p) { p.made.dl_tensor.byte_offset = 2; }) ==
        "dlpack: the tensor's first element is not at a multiple of its 4 bytes; copy it first");
  CHECK(refused([](producer& p) {
          p.made.dl_tensor.strides = nullptr;
          p.shape = {std::int64_t(1) << 40, std::int64_t(1) << 40};
        }) == "dlpack: the tensor is larger than memory");
  CHECK_THROWS_AS((from_dlpack<float, 2>(static_cast<dlpack::tensor*>(nullptr))), argument_error);
  producer p;
  p.shape = {0, 3};
  p.made.dl_tensor.data = nullptr;  // of nothing: as it should be
  CHECK(from_dlpack<float, 2>(&p.made).extent(0) == 0);
}
TEST_CASE("every element type has its code there and back") {
  for (int i = 0; i < dtype_count; ++i) {
    auto const t = static_cast<dtype>(i);
    std::int64_t shape[] = {1};
    std::int64_t memory = 0;
    dlpack::tensor one{&memory, {1, 0}, 1, dlpack::type_of(t), shape, nullptr, 0};
    int fits = 0;
    for (int k = 0; k < dtype_count; ++k)
      with_dtype(static_cast<dtype>(k), [&](auto e) {
        try {
          static_cast<void>(from_dlpack<decltype(e), 1>(&one));
          ++fits;
          CHECK(k == i);
        } catch (argument_error const&) {
        }
      });
    CHECK(fits == 1);
  }
  CHECK(dlpack::type_of(dtype::boolean) == dlpack::data_type{6, 8, 1});
  CHECK(dlpack::type_of(dtype::bf16) == dlpack::data_type{4, 16, 1});
  CHECK(dlpack::type_of(dtype::u16) == dlpack::data_type{1, 16, 1});
}
TEST_CASE("what weft gives away comes back with shape, strides and elements, under both structs") {
  weft::tensor<double, 2> t(3, 5);
  for (std::size_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<double>(i);
  double const* const where = t.data();
  dlpack::managed_tensor_versioned* const made = to_dlpack(std::move(t));
  CHECK(made->version.major == 1);
  CHECK(made->flags == 0);
  CHECK(made->dl_tensor.shape[0] == 3);
  CHECK(made->dl_tensor.strides[0] == 5);
  CHECK(made->dl_tensor.dtype == dlpack::data_type{2, 64, 1});
  auto const back = from_dlpack<double, 2>(made);  // whose end deletes it
  CHECK(back.data() == where);
  CHECK(doubled(back)(2, 4) == 28);
  auto* const old = to_dlpack<dlpack::managed_tensor>(weft::tensor<bf16, 1>(7));
  CHECK(from_dlpack<bf16, 1>(old).extent(0) == 7);
  auto* const theirs = to_dlpack<foreign_managed>(weft::tensor<int, 0>(std::array<std::int64_t, 0>{}));
  CHECK(theirs->dl_tensor.device.device_type == foreign_cpu);
  theirs->deleter(theirs);
}
