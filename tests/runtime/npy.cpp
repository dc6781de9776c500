#include "weft/runtime/npy.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/private_cache.hpp"

using namespace weft;
using weft_test::content;
using weft_test::temporary_directory;
using weft_test::write_file;

namespace {
/// A file of version `major` with this header's text and these bytes behind it.
std::string npy(std::string const& header, std::string const& elements, int major = 1) {
  std::string s = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) s += static_cast<char>(header.size() >> (8 * i) & 255);
  return s + header + elements;
}
template <class T>
std::string bytes_of(std::vector<T> const& v) {
  return {reinterpret_cast<char const*>(v.data()), v.size() * sizeof(T)};
}
std::vector<float> const six{0, 1, 2, 3, 4, 5};
std::string const header_of_six = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

template <class T, int Rank>
std::vector<T> elements(weft::tensor<T, Rank> const& t) {
  return std::vector<T>(t.begin(), t.end());
}
/// What reading `bytes` as a 2-dimensional f32 tensor says, without the file's name; empty when it is read.
std::string refusal(std::string const& bytes) {
  temporary_directory const here;
  std::string const file = here.path + "/x.npy";
  write_file(file, bytes);
  try {
    static_cast<void>(read_npy<float, 2>(file));
  } catch (argument_error const& e) {
    CHECK(std::string(e.what()).rfind(file + ": ", 0) == 0);
    return std::string(e.what()).substr(file.size() + 2);
  }
  return "";
}
}  // namespace

TEST_CASE("what is written is what NumPy writes, byte by byte, and is read again") {
  temporary_directory const here;
  std::string const file = here.path + "/a.npy";
  weft::tensor<float, 2> a(2, 3);
  for (std::size_t i = 0; i < 6; ++i) a.data()[i] = six[i];
  write_npy(file, a);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  CHECK(content(file) == npy(header + '\n', bytes_of(six)));
  CHECK(content(file).size() == 128 + 24);
  CHECK(elements(read_npy<float, 2>(file)) == six);
  npy_header const h = read_npy_header(file);
  CHECK(h.type == dtype::f32);
  CHECK(h.rank == 2);
  CHECK(h.extents[1] == 3);
  CHECK(h.data_begin == 128);
  CHECK(!h.fortran_order);
  CHECK(here.files().size() == 1);
}
TEST_CASE("ranges, strided views, vectors and single elements are written too") {
  temporary_directory const here;
  std::string const file = here.path + "/a.npy";
  write_npy(file, six);
  CHECK(content(file).find("'shape': (6,), }") != std::string::npos);
  CHECK(elements(read_npy<float, 1>(file)) == six);
  write_npy(file, view(six, 3, 2).strided(1, 3));  // transposed, over the file that is there
  CHECK(elements(read_npy<float, 2>(file)) == std::vector<float>{0, 3, 1, 4, 2, 5});
  std::vector<std::int16_t> large(40000);  // more than a buffer
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::int16_t>(i % 30011);
  write_npy(file, view(large, 200, 200).strided(1, 200));
  auto const turned = read_npy<std::int16_t, 2>(file);
  for (int i : {0, 1, 99, 199})
    for (int j : {0, 1, 50, 199}) CHECK(turned(i, j) == large[static_cast<std::size_t>(j * 200 + i)]);
  double const one = 1.5;
  write_npy(file, view(&one));
  CHECK(content(file).find("'shape': (), }") != std::string::npos);
  CHECK(read_npy<double, 0>(file)() == 1.5);
  write_npy(file, weft::tensor<int, 2>(0, 7));
  CHECK(read_npy<int, 2>(file).shape() == std::array<std::int64_t, 2>{0, 7});
}
TEST_CASE("every element type that NumPy has comes back; bf16 has no name there") {
  temporary_directory const here;
  std::string const file = here.path + "/a.npy";
  for (int i = 0; i < dtype_count; ++i)
    with_dtype(static_cast<dtype>(i), [&](auto e) {
      using T = decltype(e);
      weft::tensor<T, 1> t(3);
      std::memset(static_cast<void*>(t.data()), 1, 3 * sizeof(T));
      if constexpr (std::is_same_v<T, bf16>) {
        CHECK_THROWS_AS(write_npy(file, t), argument_error);
      } else {
        write_npy(file, t);
        auto const back = read_npy<T, 1>(file);
        CHECK(std::memcmp(back.data(), t.data(), 3 * sizeof(T)) == 0);
        CHECK(read_npy_header(file).type == dtype_of<T>);
      }
    });
  CHECK_FALSE(here.files().empty());
}
TEST_CASE("all three versions, both orders and every way to write the header are read") {
  for (int version : {1, 2, 3}) CHECK(refusal(npy(header_of_six, bytes_of(six), version)) == "");
  CHECK(refusal(npy("{\"shape\":(2L,3L),'fortran_order' :True , 'descr':\"=f4\"}", bytes_of(six))) == "");
  temporary_directory const here;
  std::string const file = here.path + "/a.npy";
  write_file(file, npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", bytes_of(six) + "more"));
  CHECK(elements(read_npy<float, 2>(file)) == std::vector<float>{0, 2, 4, 1, 3, 5});
  write_file(file, npy("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", {"\0\1\2\xff", 4}));
  CHECK(elements(read_npy<bool, 1>(file)) == std::vector<bool>{false, true, true, true});
}
TEST_CASE("what cannot be read is refused by name and in words, before memory is taken for it") {
  auto const header = [](std::string const& text) { return refusal(npy(text, bytes_of(six))); };
  auto const of = [&](std::string const& descr, std::string const& order, std::string const& shape) {
    return header("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}");
  };
  CHECK(refusal("") == "is not a .npy file");
  CHECK(refusal("PK\3\4 an archive of several") == "is not a .npy file");
  CHECK(refusal(npy(header_of_six, "", 4)) == "is of version 4 of the format; 1 to 3 are known");
  CHECK(refusal(npy(header_of_six, bytes_of(six)).substr(0, 40)) == "ends in the middle; it is not whole");
  CHECK(refusal(npy(header_of_six, "123")) ==
        "ends before its last element: the header asks for 24 bytes of elements, and there are 3");
  CHECK(of("'<f4'", "False", "(4611686018427387904, 4)") ==
        "ends before its last element: the header asks for more than 2^63 bytes of elements, and there are 24");
  CHECK(of("'<f4'", "False", "(1000000000000, 1)").find("asks for 4000000000000 bytes") != std::string::npos);
  CHECK(of("'<f4'", "False", "(99999999999999999999, 1)") == "has an extent beyond 2^63");
  CHECK(of("'<f4'", "False", "(0, 1099511627776)") == "");  // of nothing, and takes no memory
  CHECK(of("'>f4'", "False", "(2, 3)") ==
        "holds elements of type '>f4', which are big-endian; write them little-endian");
  CHECK(of("'<c8'", "False", "(2, 3)") == "holds elements of type '<c8', which weft has no element type for");
  CHECK(of("'|O'", "False", "(2, 3)") == "holds elements of type '|O', which weft has no element type for");
  CHECK(of("[('a', '<f4')]", "False", "(2, 3)") == "holds structures, which weft has no element type for");
  CHECK(of("'<f8'", "False", "(1, 3)") == "holds 2 dimensions of f64, not 2 of f32");
  CHECK(of("'<f4'", "False", "(6,)") == "holds 1 dimensions of f32, not 2 of f32");
  CHECK(of("'<f4'", "False", "(1,1,1,1,1,1,1,1,6)") == "has more than eight dimensions");
  CHECK(of("'<f4'", "1", "(2, 3)") == "has a fortran_order that is neither True nor False");
  CHECK(of("'<f4'", "False", "(2, -3)") == "has a shape that is not a list of numbers");
  CHECK(of("'<f4'", "False", "6") == "has a header that is not as NumPy writes it: '(' is missing");
  CHECK(header("{'descr': '<f4'}") == "has a header without descr, fortran_order or shape");
  CHECK(header("{'descr': '<f4', 'descr': '<f4'}") == "has a header with 'descr' in it twice");
  CHECK(header("{'alignment': 4}") == "has a header with 'alignment' in it, which is not known");
  CHECK(header("{'descr") == "has a header with a text that does not end");
  CHECK(header("__import__('os')") == "has a header that is not as NumPy writes it: '{' is missing");
  CHECK(header(header_of_six + "+") == "has something behind its header's end");
  CHECK(refusal(npy(std::string(70000, ' '), "", 2)) == "has a header of 70000 bytes, and 65536 are read");
  temporary_directory const here;
  CHECK_THROWS_WITH_AS((read_npy<float, 2>(here.path + "/none.npy")),
                       (here.path + "/none.npy: cannot be opened: No such file or directory").c_str(), device_error);
  CHECK_THROWS_AS((read_npy<float, 2>(here.path)), argument_error);
  REQUIRE(::mkfifo((here.path + "/pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS((read_npy<float, 2>(here.path + "/pipe")), argument_error);  // and does not wait for a writer
}
TEST_CASE("files with bytes changed, cut and doubled are read or refused, and nothing else happens") {
  unsigned const seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  temporary_directory const here;
  std::string const file = here.path + "/x.npy";
  std::string const good[] = {npy(header_of_six, bytes_of(six)), npy(header_of_six, bytes_of(six), 3),
                              npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", bytes_of(six))};
  static constexpr char telling[] = "0123456789(),'{}:<>|=fiubL \n\xff\x00";
  int read = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good[random() % 3];
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      std::size_t const at = random() % bytes.size(), length = 1 + random() % 6;
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = telling[random() % sizeof telling]; break;
        case 2: bytes.erase(at, length); break;
        default: bytes.insert(at, bytes.substr(at, length)); break;
      }
      if (bytes.empty()) bytes = "x";
    }
    write_file(file, bytes);
    try {
      auto const t = read_npy<float, 2>(file);
      CHECK(t.size() * 4 <= bytes.size());
      ++read;
    } catch (argument_error const&) {
      ++refused;
    }
  }
  CHECK(read + refused == 4000);
  CHECK(read > 0);
  CHECK(refused > 0);
}
TEST_CASE("what is written over keeps its mode, and stays where a link leads") {
  temporary_directory const here;
  std::string const file = here.path + "/a.npy", link = here.path + "/link.npy", next = here.path + "/next.npy";
  write_file(file, "before");
  auto const mode = [&](std::string const& of) {
    struct stat s {};
    CHECK(::lstat(of.c_str(), &s) == 0);
    return s.st_mode;
  };
  for (mode_t m : {0640u, 0604u, 0777u, 0200u}) {
    REQUIRE(::chmod(file.c_str(), m) == 0);
    write_npy(file, six);
    CHECK((mode(file) & 07777) == m);
  }
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  REQUIRE(::symlink("a.npy", link.c_str()) == 0);
  REQUIRE(::symlink(link.c_str(), next.c_str()) == 0);
  write_npy(next, std::vector<float>{7});
  CHECK(S_ISLNK(mode(link)));
  CHECK(S_ISLNK(mode(next)));
  CHECK((mode(file) & 07777) == 0600);
  CHECK(elements(read_npy<float, 1>(file)) == std::vector<float>{7});
  ::unlink(file.c_str());
  write_npy(next, six);  // the link leads to what is not there yet
  CHECK(elements(read_npy<float, 1>(file)) == six);
  CHECK(here.files().size() == 3);
  std::string const round = here.path + "/round";
  REQUIRE(::symlink("round", round.c_str()) == 0);
  CHECK_THROWS_WITH_AS(write_npy(round, six), (round + ": cannot be written: Too many levels of symbolic links").c_str(),
                       device_error);
  CHECK_THROWS_WITH_AS(write_npy(here.path, six), (here.path + ": cannot be written: Is a directory").c_str(),
                       device_error);
}
TEST_CASE("what is no file is written to as it is") {
  temporary_directory const here;
  std::string const file = here.path + "/a.npy", pipe = here.path + "/pipe", read = here.path + "/read";
  write_npy(file, six);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string const link = here.path + "/link";
  REQUIRE(::symlink("pipe", link.c_str()) == 0);
  // No device of the machine: were it replaced after all, root would have done it for everybody.
  for (std::string const& name : {pipe, link}) {
    std::thread reader([&] { write_file(read, content(pipe)); });
    write_npy(name, six);
    reader.join();
    CHECK(content(read) == content(file));
  }
  struct stat s {};
  CHECK(::lstat(pipe.c_str(), &s) == 0);
  CHECK(S_ISFIFO(s.st_mode));
  CHECK(::lstat(link.c_str(), &s) == 0);
  CHECK(S_ISLNK(s.st_mode));
  CHECK(here.files().size() == 4);
}
TEST_CASE("a write that fails leaves what was there, and nothing half-written") {
  temporary_directory const here;
  std::string const file = here.path + "/a.npy";
  write_npy(file, six);
  std::string const before = content(file);
  std::vector<float> const large(100000);
  rlimit saved;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &saved) == 0);
  rlimit small = saved;
  small.rlim_cur = 50000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  bool refused = false;
  try {
    write_npy(file, large);
  } catch (device_error const& e) {
    refused = std::string(e.what()) == file + ": cannot be written: File too large";
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &saved) == 0);
  CHECK(refused);
  CHECK(content(file) == before);
  CHECK(here.files().size() == 1);
  CHECK_THROWS_AS(write_npy(here.path + "/no/such/a.npy", six), device_error);
  CHECK_THROWS_AS(write_npy(file, view(static_cast<float const*>(nullptr), 3)), argument_error);
  CHECK_THROWS_AS(write_npy(file, view(six.data(), -3)), argument_error);
  CHECK_THROWS_AS(write_npy(file, view(six.data(), std::int64_t(1) << 40, std::int64_t(1) << 40)), argument_error);
  CHECK(content(file) == before);
}
