// labels: long
// Every op against PyTorch: this writes inputs and results as .npy files, pytorch.py computes the same and compares.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ops/check.hpp"
#include "weft/ops.hpp"

using namespace weft_test;
namespace ops = weft::ops;

namespace {
std::string directory;

/// NumPy's format, version 1.0.
template <class T, int Rank>
void write_array(std::string const& name, weft::tensor<T, Rank> const& t) {
  std::string shape;
  for (std::int64_t e : t.shape()) shape += std::to_string(e) + ",";
  std::string const kind = std::is_floating_point_v<T> ? "f" : "i";
  std::string header =
      "{'descr': '<" + kind + std::to_string(sizeof(T)) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 10) / 64 * 64 + 64 - 10 - 1, ' ');
  header += '\n';
  std::FILE* const f = std::fopen((directory + "/" + name + ".npy").c_str(), "wb");
  REQUIRE(f != nullptr);
  std::string const head = std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(header.size() & 255) +
                           static_cast<char>(header.size() >> 8) + header;
  std::fwrite(head.data(), 1, head.size(), f);
  std::fwrite(t.data(), sizeof(T), t.size(), f);
  std::fclose(f);
}
template <class What, class... In>
void write(std::string const& name, What, In const&... inputs) {
  constexpr auto kernel = weft::kernel<"op">(What{});
  int number = 0;
  (write_array(name + ".in" + std::to_string(number++), inputs), ...);
  write_array(name + ".out", kernel(inputs...));
}
/// Floats of any mantissa between -3 and 3.
template <class... Extent>
auto numbers(std::uint64_t seed, Extent... extents) {
  weft::tensor<float, static_cast<int>(sizeof...(Extent))> t(extents...);
  fuzz::random_source r(seed);
  for (float& x : t) x = static_cast<float>(r.between(-3'000'000, 3'000'000)) * 1e-6f;
  return t;
}
auto positions(std::uint64_t seed, int below, long n) {
  weft::tensor<std::int64_t, 1> t(n);
  fuzz::random_source r(seed);
  for (std::int64_t& x : t) x = r.below(below);
  return t;
}
/// The first interpreter that has torch; empty without one.
std::string interpreter() {
  for (char const* python : {"python3", "/usr/bin/python3"})
    if (std::system((std::string(python) + " -c 'import torch, numpy' >/dev/null 2>&1").c_str()) == 0) return python;
  return "";
}
#define OP(...) [](auto... x) { return ops::__VA_ARGS__; }

void write_all() {
  auto const x2 = numbers(1, 17, 33), y2 = numbers(2, 17, 33), w2 = numbers(3, 33, 29);
  auto const row = numbers(4, 33), bias = numbers(5, 33);
  auto positive = numbers(31, 17, 33);
  for (float& v : positive) v = v * v + 0.1f;
  write("abs", ops::abs, x2);
  write("neg", ops::neg, x2);
  write("square", ops::square, x2);
  write("sqrt", ops::sqrt, positive);
  write("rsqrt", ops::rsqrt, positive);
  write("reciprocal", ops::reciprocal, positive);
  write("exp", ops::exp, x2);
  write("log", ops::log, positive);
  write("sin", ops::sin, x2);
  write("cos", ops::cos, x2);
  write("tanh", ops::tanh, x2);
  write("erf", ops::erf, x2);
  write("floor", ops::floor, x2);
  write("ceil", ops::ceil, x2);
  write("round", ops::round, x2);
  write("sub", ops::sub, x2, row);
  write("pow", ops::pow, positive, row);
  write("fmod", ops::fmod, x2, row);
  write("maximum", ops::maximum, x2, row);
  write("minimum", ops::minimum, x2, row);
  auto same = numbers(2, 17, 33);
  for (std::size_t i = 0; i < same.size(); i += 3) same.data()[i] = x2.data()[i];
  write("equal", ops::equal, x2, same);
  write("less", ops::less, x2, same);
  write("less_equal", ops::less_equal, x2, same);
  write("squared_difference", ops::squared_difference, x2, row);
  write("where", OP(where(ops::less(x...), x...)), x2, y2);
  write("clamp", OP(clamp(x..., -1, 2)), x2);
  write("cast", OP(cast<std::int32_t>(x...)), x2);
  write("relu", ops::relu, x2);
  write("relu6", ops::relu6, x2);
  write("leaky_relu", OP(leaky_relu(x...)), x2);
  write("elu", OP(elu(x...)), x2);
  write("sigmoid", ops::sigmoid, x2);
  write("silu", ops::silu, x2);
  write("gelu", ops::gelu, x2);
  write("gelu_tanh", ops::gelu_tanh, x2);
  write("softplus", ops::softplus, x2);
  write("mish", ops::mish, x2);
  write("hard_sigmoid", ops::hard_sigmoid, x2);
  write("hard_swish", ops::hard_swish, x2);
  write("add", ops::add, x2, row);
  write("mul", ops::mul, x2, row);
  write("div", ops::div, x2, row);
  write("matmul", ops::matmul, x2, w2);
  write("matmul_nt", OP(matmul(x..., {.transpose_b = true})), x2, y2);
  write("matmul_batched", ops::matmul, numbers(6, 3, 1, 7, 11), numbers(7, 5, 11, 13));
  write("linear", OP(linear(x...)), x2, numbers(8, 29, 33), numbers(9, 29));
  write("matvec", ops::matvec, x2, row);
  write("outer", ops::outer, row, bias);
  write("vecmat", ops::vecmat, row, w2);
  write("dot", ops::dot, row, bias);

  auto const image = numbers(10, 2, 6, 13, 17);
  write("conv1d", OP(conv1d(x..., {.stride = {2}, .padding = {3}})), numbers(11, 2, 5, 31), numbers(12, 7, 5, 4));
  write("conv2d", OP(conv2d(x..., {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 3})), image,
        numbers(13, 9, 2, 3, 3));
  write("conv2d_last", OP(conv2d(x..., {.padding = {1, 1}, .layout = ops::layout::channels_last})),
        numbers(14, 2, 13, 17, 6), numbers(15, 3, 3, 6, 8));
  write("conv3d", OP(conv3d(x..., {.padding = {1, 1, 1}})), numbers(16, 1, 3, 5, 6, 7), numbers(17, 4, 3, 3, 3, 3));
  write("depthwise_conv2d", OP(depthwise_conv2d(x..., {.padding = {1, 1}})), image, numbers(18, 6, 3, 3));
  write("max_pool2d", OP(max_pool2d(x..., {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}})), image);
  write("avg_pool2d", OP(avg_pool2d(x..., {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}})), image);
  write("avg_pool2d_inside", OP(avg_pool2d(x..., {.kernel = {3, 2}, .padding = {1, 1}, .count_include_pad = false})),
        image);
  write("max_pool1d", OP(max_pool1d(x..., {.kernel = {4}})), numbers(19, 2, 5, 31));
  write("avg_pool1d", OP(avg_pool1d(x..., {.kernel = {4}, .padding = {1}})), numbers(19, 2, 5, 31));
  write("max_pool3d", OP(max_pool3d(x..., {.kernel = {2, 3, 2}})), numbers(20, 1, 3, 5, 6, 7));
  write("avg_pool3d", OP(avg_pool3d(x..., {.kernel = {2, 2, 2}})), numbers(20, 1, 3, 5, 6, 7));

  write("softmax", ops::softmax, x2);
  write("softmax_1", OP(softmax(x..., {.axis = 1})), image);
  write("log_softmax", ops::log_softmax, x2);
  write("cross_entropy", ops::cross_entropy, x2, positions(21, 33, 17));
  write("mean_of", ops::mean_of, row);
  write("layer_norm", OP(layer_norm(x...)), x2, row, bias);
  write("rms_norm", OP(rms_norm(x...)), x2, row);
  auto variance = numbers(22, 6);
  for (float& v : variance) v = v * v + 0.1f;
  write("batch_norm", OP(batch_norm(x...)), image, numbers(23, 6), variance, numbers(24, 6), numbers(25, 6));
  auto const q = numbers(26, 2, 3, 11, 8), k = numbers(27, 2, 3, 13, 8), v = numbers(28, 2, 3, 13, 5);
  write("attention", OP(attention(x...)), q, k, v);
  write("attention_causal", OP(attention(x..., {.causal = true})), q, k, v);
  write("attention_blocks", OP(attention(x..., {.block = 4})), q, k, v);
  write("attention_mask", OP(attention(x...)), q, k, v, numbers(29, 11, 13));

  write("permute", OP(permute(x..., {{2, 0, 3, 1}})), image);
  write("transpose", ops::transpose, x2);
  write("concat", OP(concat(x..., {.axis = 0})), x2, y2);
  write("slice", OP(slice(x..., {.begin = {2, -20}, .end = {-3, 30}, .step = {3, 2}})), x2);
  write("flip", OP(flip(x..., {.axis = 0})), x2);
  write("pad", OP(pad(x..., {.before = {1, 2}, .after = {3, 0}, .value = 0.5})), x2);
  write("pad_reflect", OP(pad(x..., {.before = {0, 0, 1, 2}, .after = {0, 0, 3, 4}, .mode = ops::pad_mode::reflect})),
        image);
  write("take", OP(take(x..., {.axis = 1})), x2, positions(30, 33, 50));
  weft::tensor<std::int64_t, 2> which(17, 9);
  for (int n = 0; auto& one : which) one = n++ * 7 % 33;
  write("gather", ops::gather, x2, which);
  write("cumsum", ops::cumsum, x2);
  write("cumprod", OP(cumprod(x..., {.axis = 0})), x2);
  write("cummax", ops::cummax, x2);
  write("cummin", ops::cummin, x2);
  write("tril", OP(tril(x..., {.diagonal = 3})), x2);
  write("triu", ops::triu, x2);
  write("resize_nearest", OP(resize_nearest(x..., {.size = {29, 8}})), image);
  write("resize_bilinear", OP(resize_bilinear(x..., {.size = {29, 8}})), image);
  write("box_blur", OP(box_blur(x...)), x2);
  write("gaussian_blur", ops::gaussian_blur, x2);
  write("sobel_x", ops::sobel_x, x2);
  write("sobel_y", ops::sobel_y, x2);
  write("sobel", ops::sobel, x2);
}
}  // namespace

TEST_CASE("the ops are those of PyTorch") {
  std::string const python = interpreter();
  if (python.empty()) {
    std::puts("[skip] no Python with torch and numpy here: the ops are not compared with PyTorch");
    return;
  }
  char place[] = "/tmp/weft_ops_XXXXXX";
  REQUIRE(mkdtemp(place) != nullptr);
  directory = place;
  write_all();
  CHECK(std::system((python + " " WEFT_TESTS_DIR "/ops/pytorch.py " + directory + " " WEFT_TESTS_DIR "/../include/weft/ops").c_str()) == 0);
  CHECK(std::system(("rm -r " + directory).c_str()) == 0);
}
