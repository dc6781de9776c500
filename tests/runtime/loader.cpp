#include "weft/runtime/loader.hpp"

#include <doctest/doctest.h>
#include <unwind.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>

#include "support/objects.hpp"

using namespace weft;
using runtime::linker;
using weft_test::kernel_object;

namespace {

/// The permissions of the page at `address`, as /proc/self/maps shows them; "" when nothing is mapped there.
std::string permissions(void const* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    char mode[8]{};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &first, &last, mode) != 3) continue;
    auto const at = reinterpret_cast<unsigned long>(address);
    if (at >= first && at < last) return mode;
  }
  return "";
}
bool anything_writable_and_executable() {
  std::ifstream maps("/proc/self/maps");
  std::stringstream text;
  text << maps.rdbuf();
  return text.str().find(" rwx") != std::string::npos;
}
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}
std::string refusal(std::string const& object, std::string const& symbol) {
  std::string why;
  runtime::mapped_object const m = runtime::map_object(object, symbol, why);
  CHECK((m.entry() == nullptr) == !why.empty());
  return why;
}

// Places in an ELF file, by the numbers of the specification.
template <class T>
T get(std::string const& o, std::size_t at) {
  T value;
  std::memcpy(&value, o.data() + at, sizeof value);
  return value;
}
template <class T>
void put(std::string& o, std::size_t at, T value) {
  std::memcpy(o.data() + at, &value, sizeof value);
}
std::size_t section_header(std::string const& o, std::size_t index) { return get<std::uint64_t>(o, 40) + 64 * index; }
/// The header of the section called `name`; 0 when there is none.
std::size_t find_section(std::string const& o, std::string const& name) {
  auto const strings = get<std::uint64_t>(o, section_header(o, get<std::uint16_t>(o, 62)) + 24);
  for (std::size_t i = 1; i < get<std::uint16_t>(o, 60); ++i) {
    std::size_t const h = section_header(o, i);
    if (name == o.data() + strings + get<std::uint32_t>(o, h)) return h;
  }
  return 0;
}
/// The first relocation of .text behind which there are eight bytes without another.
std::size_t lone_relocation(std::string const& o) {
  std::size_t const list = find_section(o, ".rela.text");
  auto at = get<std::uint64_t>(o, list + 24);
  for (std::size_t left = get<std::uint64_t>(o, list + 32) / 24; left > 1; --left, at += 24)
    if (get<std::uint64_t>(o, at + 24) >= get<std::uint64_t>(o, at) + 8) return at;
  return at;
}

[[gnu::noinline]] _Unwind_Reason_Code count_frame(_Unwind_Context*, void* count) {
  ++*static_cast<int*>(count);
  return _URC_NO_REASON;
}
int frames_seen = 0;

}  // namespace

#if defined(__x86_64__)

TEST_CASE("weft's loader and ORC make the same of the same object") {
  for (kernel_object const& o : weft_test::all_objects()) {
    runtime::linked_object const own = runtime::link(o.code.bytes, o.code.symbol, linker::own);
    runtime::linked_object const orc = runtime::link(o.code.bytes, o.code.symbol, linker::orc);
    REQUIRE((own.entry() != nullptr));
    CHECK(own.entry() != orc.entry());
    CHECK(o.run(own.entry()) == o.run(orc.entry()));
    CHECK(refusal(o.code.bytes, o.code.symbol) == "");  // not by way of ORC
  }
}
TEST_CASE("code is executable and not writable, and gone when its owner is") {
  kernel_object const o = weft_test::parallel_object(host());
  void* entry = nullptr;
  {
    std::string why;
    runtime::mapped_object const m = runtime::map_object(o.code.bytes, o.code.symbol, why);
    entry = m.entry();
    CHECK(permissions(entry) == "r-xp");
    CHECK_FALSE(anything_writable_and_executable());
    runtime::mapped_object other;
    other = runtime::map_object(o.code.bytes, o.code.symbol, why);
    CHECK(other.entry() != entry);  // equal objects live side by side
    CHECK(o.run(other.entry()) == o.run(entry));
  }
  CHECK(permissions(entry) != "r-xp");
}
TEST_CASE("loading and unloading a thousand times leaves nothing behind") {
  kernel_object const o = weft_test::tile_object(host());
  std::string why;
  static_cast<void>(runtime::map_object(o.code.bytes, o.code.symbol, why));
  std::size_t const before = mappings();
  for (int i = 0; i < 1000; ++i) static_cast<void>(runtime::map_object(o.code.bytes, o.code.symbol, why));
  CHECK(mappings() <= before + 1);  // the heap may have grown
}
TEST_CASE("exceptions and backtraces pass through a kernel, by either linker") {
  kernel_object const o = weft_test::parallel_object(host());
  for (linker by : {linker::own, linker::orc}) {
    runtime::linked_object const code = runtime::link(o.code.bytes, o.code.symbol, by);
    int here = 0;
    _Unwind_Backtrace(count_frame, &here);
    frames_seen = 0;
    auto const thrower = [](void*, std::int64_t, std::int64_t, loop_body*, void*) {
      _Unwind_Backtrace(count_frame, &frames_seen);
      throw std::runtime_error("from inside");
    };
    CHECK_THROWS_WITH_AS(o.run(code.entry(), thrower), "from inside", std::runtime_error);
    CHECK(frames_seen > here);  // it did not end in the kernel
  }
  // After the code is gone, the unwinder does not look for it any more.
  CHECK_THROWS_AS(throw std::runtime_error("later"), std::runtime_error);
}
TEST_CASE("relocations of each kind that may occur give the address") {
  std::string object = weft_test::parallel_object(x86_64_sse2()).code.bytes;
  std::size_t const r = lone_relocation(object);
  auto const offset = get<std::uint64_t>(object, r);
  auto const symbol = get<std::uint32_t>(object, r + 12);
  std::string why;
  {  // PC32 as emitted: from there it reaches into pages that are only read
    runtime::mapped_object const m = runtime::map_object(object, "weft_parallel", why);
    auto const* place = static_cast<char*>(m.entry()) + offset;  // the entry is the first function
    CHECK(permissions(place + get<std::int32_t>(std::string(place, 4), 0)) == "r--p");
    put<std::uint32_t>(object, r + 8, 4);  // PLT32: the same number
    runtime::mapped_object const same = runtime::map_object(object, "weft_parallel", why);
    CHECK(std::memcmp(place, static_cast<char*>(same.entry()) + offset, 4) == 0);
  }
  put<std::uint32_t>(object, r + 8, 1);  // 64, with the addend of a PC32: 4 before the symbol
  put<std::int64_t>(object, r + 16, 0);
  runtime::mapped_object const m = runtime::map_object(object, "weft_parallel", why);
  CHECK(why == "");
  auto const address = get<std::uint64_t>(std::string(static_cast<char*>(m.entry()) + offset, 8), 0);
  CHECK(permissions(reinterpret_cast<void const*>(address)) == "r--p");
  for (std::uint32_t type : {10u, 11u}) {  // 32, 32S: no mapping is that low
    put<std::uint32_t>(object, r + 8, type);
    CHECK(refusal(object, "weft_parallel") == "a relocation does not reach its symbol");
  }
  put<std::uint32_t>(object, r + 8, 9);  // GOTPCREL
  CHECK(refusal(object, "weft_parallel") == "it has a relocation of a kind that no kernel has");
  put<std::uint32_t>(object, r + 8, 2);
  put<std::uint32_t>(object, r + 12, 0);
  CHECK(refusal(object, "weft_parallel") == "a relocation names no symbol");
  put<std::uint32_t>(object, r + 12, 1 << 20);
  CHECK(refusal(object, "weft_parallel") == "a relocation names no symbol");
  put<std::uint32_t>(object, r + 12, symbol);
  put<std::uint64_t>(object, r, offset + 0xffffffffffff0000u);
  CHECK(refusal(object, "weft_parallel") == "a relocation is outside of its section");
}
TEST_CASE("what a kernel never has is refused, in words") {
  std::string const good = weft_test::parallel_object(host()).code.bytes;
  auto const changed = [&](auto const& change) {
    std::string o = good;
    change(o);
    return refusal(o, "weft_parallel");
  };
  CHECK(refusal(good, "weft_parallel") == "");
  CHECK(refusal(good, "weft_other") == "it has no such function");
  CHECK(refusal(good, "") == "it has no such function");
  CHECK(refusal("", "weft_parallel") == "it is shorter than a header");
  CHECK(refusal("not an object at all, but as long as a header of one would have to be..", "x") ==
        "it is no relocatable ELF file for x86-64");
  CHECK(changed([](std::string& o) { put<std::uint16_t>(o, 18, 183); }) == "it is no relocatable ELF file for x86-64");
  CHECK(changed([](std::string& o) { put<std::uint16_t>(o, 16, 3); }) == "it is no relocatable ELF file for x86-64");
  CHECK(changed([](std::string& o) { put<std::uint64_t>(o, 40, ~0u); }) == "its section table is not in it");
  CHECK(changed([](std::string& o) { put<std::uint16_t>(o, 60, 0xfff0); }) == "its section table is not in it");
  CHECK(changed([](std::string& o) { put<std::uint64_t>(o, find_section(o, ".text") + 32, ~std::uint64_t(0)); }) ==
        "a section is not in it");
  CHECK(changed([](std::string& o) { put<std::uint64_t>(o, find_section(o, ".text") + 8, 2); }) == "it has no code");
  CHECK(changed([](std::string& o) { put<std::uint64_t>(o, find_section(o, ".text") + 8, 7); }) == "it has writable data");
  CHECK(changed([](std::string& o) { put<std::uint64_t>(o, find_section(o, ".text") + 8, 0x406); }) ==
        "it has a section of a kind that no kernel has");
  CHECK(changed([](std::string& o) { put<std::uint64_t>(o, find_section(o, ".text") + 48, 3); }) ==
        "a section's alignment is no such");
  CHECK(changed([](std::string& o) { put<std::uint32_t>(o, find_section(o, ".symtab") + 4, 0); }) == "it has no symbols");
  CHECK(changed([](std::string& o) { o[get<std::uint64_t>(o, find_section(o, ".eh_frame") + 24) + 9] = 'P'; }) ==
        "its .eh_frame has a form that no kernel's has");
  // A symbol that the object does not define: what it names must not be looked for in the process.
  CHECK(changed([](std::string& o) {
          auto const symbol = get<std::uint32_t>(o, lone_relocation(o) + 12);
          put<std::uint16_t>(o, get<std::uint64_t>(o, find_section(o, ".symtab") + 24) + 24 * symbol + 6, 0);
        }) == "it names a symbol that is not in it");
}
TEST_CASE("what weft's loader refuses is linked by ORC") {
  kernel_object o = weft_test::tile_object(host());
  put<std::uint64_t>(o.code.bytes, find_section(o.code.bytes, ".eh_frame") + 8, 3);  // writable, as on old systems
  CHECK(refusal(o.code.bytes, o.code.symbol) == "it has writable data");
  runtime::linked_object const code = runtime::link(o.code.bytes, o.code.symbol, linker::own);
  CHECK(o.run(code.entry()) == o.run(runtime::link(o.code.bytes, o.code.symbol, linker::orc).entry()));
  CHECK_THROWS_AS(runtime::link("nothing", "at all", linker::own), device_error);
}

TEST_CASE("any bytes are loaded or refused, and none beyond them is read") {
  // Under the address sanitizer, which sees reads beyond the end. What is loaded is not run.
  unsigned const seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  auto const below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::uint64_t const odd[] = {0, 1, 2, 3, 4, 7, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t(0)};
  int loaded = 0;
  for (kernel_object const& o : weft_test::all_objects())
    for (int n = 0; n < 4000; ++n) {
      std::string bytes = o.code.bytes;
      if (below(8) == 0) bytes.resize(below(bytes.size()));
      for (std::size_t changes = below(4); changes > 0 && bytes.size() > 8; --changes) {
        // Mostly in the tables, since nothing follows from the code's bytes.
        std::size_t const tables = get<std::uint64_t>(o.code.bytes, find_section(o.code.bytes, ".eh_frame") + 24);
        std::size_t at = below(5) == 0 ? below(64) : tables + below(o.code.bytes.size() - tables);
        if (at + 8 > bytes.size()) at = below(bytes.size() - 8);
        std::size_t const width = std::size_t(1) << below(4);
        std::uint64_t const value = below(3) == 0 ? random() : odd[below(std::size(odd))];
        std::memcpy(bytes.data() + at, &value, width);
      }
      std::unique_ptr<char[]> const exact(new char[bytes.size()]);
      std::memcpy(exact.get(), bytes.data(), bytes.size());
      std::string why;
      loaded += runtime::map_object({exact.get(), bytes.size()}, o.code.symbol, why).entry() != nullptr ? 1 : 0;
      if (n % 500 == 0) CHECK_FALSE(anything_writable_and_executable());
    }
  CHECK(loaded > 1000);  // else the changes were so coarse that nothing behind the first checks was reached
}

#endif
