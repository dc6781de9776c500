#include "weft/base/sequence.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using weft::sequence;

namespace {
constexpr int sum_of_squares(int n) {
  sequence<int> s;
  for (int i = 0; i < n; ++i) s.push_back(i * i);
  sequence<int> const copy = s;
  s.clear();
  int sum = 0;
  for (int x : copy) sum += x;
  return s.empty() ? sum : -1;
}
static_assert(sum_of_squares(100) == 328350, "a sequence works in a constant evaluation and leaves no memory behind");

template <class T>
bool same(sequence<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::equal(b.begin(), b.end(), a.begin());
}
}  // namespace

TEST_CASE("a sequence is a std::vector under any operations in any order") {
  std::mt19937 random(3);
  sequence<std::string> s;
  std::vector<std::string> v;
  auto const place = [&] { return static_cast<std::ptrdiff_t>(random() % (v.size() + 1)); };
  for (int round = 0; round < 4000; ++round) {
    std::string const text(random() % 40, static_cast<char>('a' + random() % 26));
    std::ptrdiff_t const at = place();
    switch (random() % 10) {
      case 0: case 1: case 2: s.push_back(text), v.push_back(text); break;
      case 3: s.insert(s.begin() + at, text), v.insert(v.begin() + at, text); break;
      case 4: if (!v.empty()) s.pop_back(), v.pop_back(); break;
      case 5: if (at < static_cast<std::ptrdiff_t>(v.size())) s.erase(s.begin() + at), v.erase(v.begin() + at); break;
      case 6: s.resize(v.size() + 2, text), v.resize(v.size() + 2, text); break;
      case 7: s.resize(v.size() / 2), v.resize(v.size() / 2); break;
      case 8: if (!v.empty()) s.push_back(s[0]), v.push_back(v[0]); break;
      case 9: s.insert(s.begin() + at, &text, &text + 1), v.insert(v.begin() + at, text); break;
    }
    REQUIRE(same(s, v));
  }
}

TEST_CASE("copies are apart, moves leave nothing behind") {
  sequence<std::string> a{"x", "y"};
  sequence<std::string> b = a;
  b[0] = "z";
  CHECK(a[0] == "x");
  CHECK(a < b);
  sequence<std::string> c = static_cast<sequence<std::string>&&>(a);
  CHECK(a.empty());
  CHECK(c.size() == 2);
  sequence<std::string> const& itself = c;
  c = itself;
  CHECK(c == sequence<std::string>{"x", "y"});
  c.assign(3, "w");
  CHECK(c == std::vector<std::string>{"w", "w", "w"});
  CHECK(sequence<std::string>(2, c[0]) == sequence<std::string>(c.begin(), c.begin() + 2));
}
