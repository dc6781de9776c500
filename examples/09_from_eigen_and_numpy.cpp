// Lesson 9: data that is already there. Memory, Eigen, NumPy's files, DLPack: one kernel takes them all.
//
// Nothing is copied: each of these says where its elements are and by which strides. Eigen's part needs its headers
// (libeigen3-dev); weft itself never includes them.
//
// runs: in under 5 s

#include <weft/runtime/dlpack.hpp>
#include <weft/runtime/npy.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#endif

// How far each point of P is from each of Q, squared.
inline constexpr auto distances = weft::kernel<"distances">(
    [](auto P, auto Q) {
      auto I = P.extent(0), J = Q.extent(0), K = P.extent(1);
      return weft::compute<"D">(I, J, [=](auto i, auto j) {
        return weft::sum(K, [=](auto k) {
          auto d = P(i, k) - Q(j, k);
          return d * d;
        });
      });
    },
    [](auto& s, auto, auto, auto D) { s.parallel(D.axes()[0]); });

constexpr int points = 40, others = 30, dimensions = 3;

// What a library that deals in DLPack hands over; here made by hand.
struct lent_points {
  std::vector<float> memory;
  std::int64_t shape[2] = {points, dimensions};
  weft::dlpack::managed_tensor_versioned made{};
  bool* given_back;
};
weft::dlpack::managed_tensor_versioned* lend(std::vector<float> const& p, bool& given_back) {
  auto* const l = new lent_points{.memory = p, .given_back = &given_back};
  l->made.version.major = 1;
  l->made.manager_ctx = l;
  l->made.deleter = [](weft::dlpack::managed_tensor_versioned* self) {
    auto* const lent = static_cast<lent_points*>(self->manager_ctx);
    *lent->given_back = true;
    delete lent;
  };
  l->made.dl_tensor = {l->memory.data(), {weft::dlpack::cpu, 0}, 2, {2, 32, 1}, l->shape, nullptr, 0};
  return &l->made;
}

int main() {
  std::vector<float> p(points * dimensions), q(others * dimensions), d(points * others);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<float>(i % 17) * 0.37f;
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 13) * 0.53f;

  std::printf("%-44s checked\n", "P and Q given as");
  std::vector<float> expected;
  bool all_right = true;
  auto const row = [&](char const* how) {
    if (expected.empty()) expected = d;
    bool const right = d == expected;
    all_right = all_right && right;
    std::printf("%-44s %s\n", how, right ? "yes" : "WRONG");
    d.assign(d.size(), -1);
  };

  distances(weft::view(p, points, dimensions), weft::view(q, others, dimensions), weft::out(d, points, others));
  row("a range and its extents");

  distances(weft::view(p.data(), points, dimensions), weft::view(q.data(), others, dimensions),
            weft::out(d.data(), points, others));
  row("a pointer and extents");

  std::vector<float> turned(p.size());  // by columns: x of all points, then y, then z
  for (std::size_t i = 0; i < points; ++i)
    for (std::size_t k = 0; k < dimensions; ++k) turned[k * points + i] = p[i * dimensions + k];
  distances(weft::view(turned, points, dimensions).strided(1, points), weft::view(q, others, dimensions),
            weft::out(d, points, others));
  row("a view with strides");

  weft::tensor<float, 2> t(points, dimensions);  // owns its memory, 64-byte aligned
  for (std::size_t i = 0; i < p.size(); ++i) t.data()[i] = p[i];
  weft::tensor<float, 2> const made = distances(t, weft::view(q, others, dimensions));  // and so do results
  d.assign(made.begin(), made.end());
  row("a weft::tensor, and the result as one");

#if __has_include(<eigen3/Eigen/Core>)
  Eigen::MatrixXf P = Eigen::Map<Eigen::MatrixXf>(turned.data(), points, dimensions);  // by columns, as usual there
  Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, dimensions, Eigen::RowMajor>> Q(q.data(), others, dimensions);
  Eigen::MatrixXf D(points, others);
  distances(P, Q, weft::out(D));
  for (int i = 0; i < points; ++i)
    for (int j = 0; j < others; ++j) d[static_cast<std::size_t>(i * others + j)] = D(i, j);
  row("an Eigen::Matrix and a Map");

  Eigen::MatrixXf wide = Eigen::MatrixXf::Zero(dimensions + 2, points + 5);
  wide.block(1, 2, dimensions, points) = P.transpose();
  Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> result(d.data(), points, others);
  distances(wide.block(1, 2, dimensions, points).transpose(), Q, weft::out(result));
  row("a transposed block");
#else
  std::printf("[skip] Eigen is not installed: apt-get install libeigen3-dev\n");
#endif

  char folder[] = "/tmp/weft-lesson.XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  std::string const file = std::string(folder) + "/p.npy";
  weft::write_npy(file, weft::view(p, points, dimensions));  // numpy.load reads it, and numpy.save writes for us
  weft::npy_header const header = weft::read_npy_header(file);
  weft::tensor<float, 2> const loaded = weft::read_npy<float, 2>(file);
  distances(loaded, weft::view(q, others, dimensions), weft::out(d, points, others));
  row("a .npy file");
  std::printf("  p.npy: %s, %lld x %lld\n", std::string(weft::name(header.type)).c_str(),
              static_cast<long long>(header.extents[0]), static_cast<long long>(header.extents[1]));

  bool given_back = false;
  {
    auto const x = weft::from_dlpack<float, 2>(lend(p, given_back));  // takes it over
    distances(x, weft::view(q, others, dimensions), weft::out(d, points, others));
    row("DLPack, as PyTorch or JAX hand it over");
  }
  auto* const exported = weft::to_dlpack(distances(t, weft::view(q, others, dimensions)));  // theirs from now on
  all_right = all_right && given_back && exported->dl_tensor.shape[1] == others;
  exported->deleter(exported);

  std::printf("\nRefused, in words:\n");
  int refused = 0;
  auto const refuse = [&](auto const& call) {
    try {
      call();
    } catch (weft::argument_error const& e) {
      ++refused;
      std::printf("  %s\n", e.what());
    }
  };
  refuse([&] { static_cast<void>(weft::read_npy<double, 2>(file)); });
  refuse([&] { distances(loaded, weft::view(q, 10, 9), weft::out(d, points, 10)); });
  all_right = std::remove(file.c_str()) == 0 && std::remove(folder) == 0 && all_right;
  return all_right && refused == 2 ? 0 : 1;
}
