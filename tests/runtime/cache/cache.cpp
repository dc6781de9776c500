#include "weft/runtime/cache/cache.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "lower/programs.hpp"
#include "support/private_cache.hpp"
#include "weft/compile.hpp"
#include "weft/runtime/cache/key.hpp"

using namespace weft;
using weft_test::content;
using weft_test::lowered_program;
using weft_test::private_cache;
using weft_test::write_file;

namespace {

/// A kernel y = x * factor + i, and whether it is right.
struct scaled {
  float factor;
  std::int64_t n;
  lowered_program l;
  call_layout layout;
  compile_request request;
  explicit scaled(float f, std::int64_t count = 24)
      : factor(f), n(count),
        l{weft_test::map_program([=](auto x, auto i) { return x(i) * f + cast<float>(i); }), {{count}}},
        layout(l.layout()), request{"scaled", &l.p, vectorized, nullptr, &layout, &host()} {}
  scaled(scaled const&) = delete;
  static void vectorized(void const*, schedule& s) {
    auto const [outer, inner] = s.split(axis{s.order[0][0]}, 8);
    static_cast<void>(outer);
    s.vectorize(inner);
  }
  std::string key() const {
    return cache::key_of(request.name, l.p, make_schedule(request).steps, layout, host());
  }
  bool is_right(compiled_kernel const& k) const {
    std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
    void* const pointers[] = {x.data(), y.data()};
    launch const la{pointers, nullptr, nullptr, nullptr, nullptr};
    if (k.entry(&la) != 0) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (y[i] != x[i] * factor + static_cast<float>(i)) return false;  // small numbers: exact, fused or not
    return true;
  }
  /// Compiles or loads it; how often code was made for that.
  std::uint64_t made() const {
    std::uint64_t const before = compilations();
    compiled_kernel const k = compile(request);
    CHECK(is_right(k));
    CHECK(k.steps.size() == 2);
    return compilations() - before;
  }
};
std::string only_file(private_cache const& c) {
  REQUIRE(c.files().size() == 1);
  return c.path + "/" + c.files()[0];
}
bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
/// Sets a variable of the environment for the length of a scope.
struct variable {
  std::string name, before;
  bool was_set;
  variable(char const* n, char const* value) : name(n), before(std::getenv(n) ? std::getenv(n) : ""), was_set(std::getenv(n)) {
    value != nullptr ? ::setenv(n, value, 1) : ::unsetenv(n);
  }
  ~variable() { was_set ? ::setenv(name.c_str(), before.c_str(), 1) : ::unsetenv(name.c_str()); }
};

}  // namespace

TEST_CASE("a kernel is made once, and found on disk from then on") {
  private_cache const c;
  scaled const k(2.0f), other(3.0f), longer(2.0f, 25);
  CHECK(k.made() == 1);
  CHECK(k.made() == 0);
  CHECK(other.made() == 1);
  CHECK(longer.made() == 1);
  CHECK(k.made() == 0);
  CHECK(other.made() == 0);
  CHECK(longer.made() == 0);
  CHECK(c.files().size() == 3);
}
TEST_CASE("intermediate tensors come back with the size of their workspace") {
  private_cache const c;
  lowered_program l{weft_test::two_stages(), {{17, 3}}};
  call_layout const layout = l.layout();
  compile_request const r{"rows", &l.p, nullptr, nullptr, &layout, &host()};
  CHECK(compile(r).workspace_bytes == 128);
  std::uint64_t const before = compilations();
  CHECK(compile(r).workspace_bytes == 128);
  CHECK(compilations() == before);
}
TEST_CASE("an entry that was changed anywhere is not used; the kernel is made anew and kept") {
  private_cache const c;
  scaled const k(2.0f);
  REQUIRE(k.made() == 1);
  std::string const file = only_file(c), good = content(file);
  unsigned const seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 24; ++n) {
    std::string bad = good;
    if (n % 4 == 3) bad.resize(random() % bad.size());
    else bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    write_file(file, bad);
    CHECK(k.made() == 1);
    CHECK(content(file) == good);
  }
  CHECK(k.made() == 0);
}
TEST_CASE("an entry with another key is not used, though its checksum is right") {
  private_cache const c;
  scaled const k(2.0f), foreign(3.0f);
  REQUIRE(foreign.made() == 1);
  std::string const foreign_bytes = content(only_file(c));
  cache::clear();
  REQUIRE(k.made() == 1);
  std::string const file = only_file(c), good = content(file);
  write_file(file, foreign_bytes);  // as if both had one hash
  CHECK(k.made() == 1);

  std::string const key = k.key();
  cache::entry e;
  REQUIRE(cache::decode(good, e));
  REQUIRE(e.key == key);
  std::size_t used = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    std::string doctored = key;
    doctored[i] ^= 1;
    cache::entry other = e;
    other.key = doctored;
    write_file(file, encode(other));
    std::string bytes;
    cache::entry found;
    used += cache::find(key, bytes, found) ? 1 : 0;
  }
  for (std::size_t n : {std::size_t(0), key.size() - 1}) {
    cache::entry other = e;
    other.key = std::string_view(key).substr(0, n);
    write_file(file, encode(other));
    std::string bytes;
    cache::entry found;
    used += cache::find(key, bytes, found) ? 1 : 0;
  }
  CHECK(used == 0);
  CHECK(k.made() == 1);
}
TEST_CASE("an object that the loader refuses is not used, though its checksum is right") {
  private_cache const c;
  scaled const k(2.0f);
  REQUIRE(k.made() == 1);
  std::string const file = only_file(c), good = content(file);
  cache::entry e;
  REQUIRE(cache::decode(good, e));
  for (std::string const& object : {std::string(), std::string("junk"), std::string(e.object.substr(0, e.object.size() / 2))}) {
    cache::entry other = e;
    other.object = object;
    write_file(file, encode(other));
    CHECK(k.made() == 1);
  }
}
TEST_CASE("where it cannot be used, the call succeeds, and status() says why") {
  scaled const k(2.0f);
  private_cache const c;
  CHECK(cache::status() == "used: " + c.path);
  REQUIRE(::chmod(c.path.c_str(), 0777) == 0);
  CHECK(has(cache::status(), "not used: "));
  CHECK(has(cache::status(), "may be written by others"));
  CHECK(k.made() == 1);
  CHECK(k.made() == 1);
  CHECK(c.files().empty());
  REQUIRE(::chmod(c.path.c_str(), 0700) == 0);

  cache::disable();
  CHECK(has(cache::status(), "not used: the program called weft::cache::disable()"));
  CHECK(k.made() == 1);
  CHECK(k.made() == 1);
  CHECK(c.files().empty());
  cache::enable();
  CHECK(k.made() == 1);
  CHECK(k.made() == 0);

  std::string const file = c.path + "/" + c.files()[0];
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  CHECK(k.made() == 1);  // and puts its own in its place
  CHECK(k.made() == 0);
  write_file(c.path + "/file", "");
  cache::set_directory(c.path + "/file");
  CHECK(has(cache::status(), "is a symbolic link or no directory"));
  CHECK(k.made() == 1);
}
TEST_CASE("the environment says where it is, unless the program does") {
  weft_test::temporary_directory const t;
  scaled const k(2.0f);
  variable const no_home("HOME", nullptr), no_xdg("XDG_CACHE_HOME", nullptr);
  for (char const* word : {"off", "0", "OFF", "Off", "no", "False"}) {
    variable const off("WEFT_CACHE", word);
    CHECK(cache::status() == "not used: WEFT_CACHE says so");
  }
  {
    variable const there("WEFT_CACHE", (t.path + "/explicit").c_str());
    CHECK(cache::status() == "used: " + t.path + "/explicit");
    cache::set_directory(t.path + "/program");
    CHECK(cache::status() == "used: " + t.path + "/program");
    cache::set_directory("");
  }
  variable const unset("WEFT_CACHE", nullptr);
  CHECK(has(cache::status(), "not used: neither XDG_CACHE_HOME nor HOME"));
  CHECK(k.made() == 1);
  {
    variable const relative("XDG_CACHE_HOME", "relative/path");  // to be ignored, says its specification
    CHECK(has(cache::status(), "not used: neither"));
    variable const home("HOME", (t.path + "/home").c_str());
    CHECK(cache::status() == "used: " + t.path + "/home/.cache/weft");
    for (char const* word : {"on", "1", "YES"}) {
      variable const on("WEFT_CACHE", word);
      CHECK(cache::status() == "used: " + t.path + "/home/.cache/weft");
    }
    variable const xdg("XDG_CACHE_HOME", (t.path + "/xdg").c_str());
    CHECK(cache::status() == "used: " + t.path + "/xdg/weft");
  }
  variable const nowhere("HOME", "/proc/self/nowhere");
  CHECK(has(cache::status(), "not used: "));
  CHECK(k.made() == 1);
}
TEST_CASE("it can be looked at and cleared") {
  private_cache const c;
  cache::report const before = cache::inspect();
  CHECK(before.kernels.empty());
  CHECK(before.bytes == 0);
  CHECK(before.limit == std::int64_t(256) << 20);
  scaled const k(2.0f), other(3.0f);
  CHECK(k.made() == 1);
  CHECK(other.made() == 1);
  CHECK(k.made() == 0);
  write_file(c.path + "/0123456789abcdef.kernel", "no kernel");
  write_file(c.path + "/notes.txt", "not ours");
  cache::report const r = cache::inspect();
  REQUIRE(r.kernels.size() == 2);
  CHECK(r.kernels[0].kernel == "scaled");
  CHECK(r.kernels[0].target == host().cpu);
  CHECK(r.kernels[0].bytes > 1000);
  CHECK(r.kernels[0].age_s < 100);
  CHECK(r.kernels[0].llvm.find('.') != std::string::npos);
  CHECK(r.bytes == r.kernels[0].bytes + r.kernels[1].bytes);
  CHECK(r.unreadable == 1);
  CHECK(r.hits == before.hits + 1);
  CHECK(r.misses == before.misses + 2);
  for (char const* part : {"used: ", "2 kernels", "scaled", "1 files that cannot be used", "LLVM "}) CHECK(has(r.text(), part));
  cache::report odd;
  odd.kernels.push_back({"a\nb\x1b[1m", "cpu", "19.1", "0.1", 10, 5});
  odd.kernels.push_back({std::string(500, 'x'), "cpu", "19.1", "0.1", 10, 5});
  std::string const table = odd.text();
  CHECK(has(table, "a?b?[1m "));
  CHECK(has(table, "xx.. cpu"));
  CHECK(std::count(table.begin(), table.end(), '\n') == 5);  // status, counts, heading, two kernels
  CHECK(cache::clear() == 3);
  CHECK(cache::inspect().kernels.empty());
  CHECK(c.files().size() == 1);  // notes.txt
  CHECK(k.made() == 1);
}
TEST_CASE("it stays below its limit") {
  private_cache const c;
  scaled const first(1.0f);
  REQUIRE(first.made() == 1);
  std::int64_t const one = cache::inspect().bytes;
  cache::set_limit(8 * one + one / 2);
  for (int i = 2; i < 24; ++i) CHECK(scaled(static_cast<float>(i)).made() == 1);
  std::int64_t const bytes = cache::inspect().bytes;
  CHECK(bytes <= 8 * one + one);
  CHECK(bytes > 4 * one);
  cache::set_limit(0);
  CHECK(scaled(100.0f).made() == 1);
  CHECK(c.files().empty());
}
TEST_CASE("what shows how a kernel is made makes it") {
  private_cache const c;
  scaled const k(2.0f);
  REQUIRE(k.made() == 1);
  for (char const* text : {"lower", "pass/unroll", "llvm", "asm", "schedule,lower"}) {
    variable const dump("WEFT_DUMP", text);
    CHECK(k.made() == 1);
  }
  {
    variable const verify("WEFT_VERIFY", "1");
    CHECK(k.made() == 1);
  }
  {
    variable const dump("WEFT_DUMP", "schedule");  // which is made in any case
    CHECK(k.made() == 0);
  }
  CHECK(k.made() == 0);
  CHECK(c.files().size() == 1);
}
TEST_CASE("objects from disk are loaded by either linker") {
  private_cache const c;
  scaled const k(2.0f);
  REQUIRE(k.made() == 1);
  variable const by_orc("WEFT_LOADER", "orc");
  CHECK(k.made() == 0);
}
TEST_CASE("a kernel with the same steps that was made for more registers is not taken for a machine with fewer") {
  private_cache const c;
  lowered_program l{weft_test::matmul(), {{64, 64}, {64, 64}}};
  call_layout const layout = l.layout();
  auto const tile = [](void const*, schedule& s) {
    auto const at = [&](int place) { return axis{s.order[0][static_cast<std::size_t>(place)]}; };
    axis const i = at(0), j = at(1), k = at(2);
    auto const [io, ii] = s.split(i, 4);
    auto const [jo, ji] = s.split(j, 16);
    s.reorder(io, jo, k, ii, ji);
    s.unroll(ii);
    s.vectorize(ji);
  };
  static_cast<void>(compile({"product", &l.p, tile, nullptr, &layout, &host()}));
  target small = host();
  small.vector_registers = 2;
  auto const before = compilations();
  static_cast<void>(compile({"product", &l.p, tile, nullptr, &layout, &small}));
  CHECK(compilations() == before + 1);
}
TEST_CASE("threads that make and find the same kernels at once all get right ones") {
  private_cache const c;
  std::uint64_t wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 12; ++i) {
        scaled const k(static_cast<float>((i + t) % 6));
        if (!k.is_right(compile(k.request))) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (i == 8 && t == 0) cache::clear();
        if (i % 4 == 0) static_cast<void>(cache::inspect());
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(cache::inspect().unreadable == 0);
}
