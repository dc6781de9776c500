#include "weft/codegen/epoch.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/golden.hpp"
#include "support/objects.hpp"
#include "weft/base/hash.hpp"

namespace {

std::string hexadecimal(std::uint64_t n) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(n));
  return text;
}
/// The digests of some kernels' texts on fixed targets: of loop programs, and of what this LLVM gets.
struct digests {
  std::string loops, llvm;
  digests() {
    for (weft::target const& t : {weft::x86_64_sse2(), weft::x86_64_avx2()})
      for (auto* make : {weft_test::tile_object, weft_test::parallel_object, weft_test::stages_object}) {
        weft_test::kernel_object const o = make(t);
        loops += o.loops;
        llvm += o.code.ir;
      }
    loops = hexadecimal(weft::xxh64(loops));
    llvm = hexadecimal(weft::xxh64(llvm));
  }
};

}  // namespace

TEST_CASE("generated code changes only together with codegen_epoch") {
  digests const d;
  int const major = static_cast<int>(weft::codegen::llvm::load_llvm().major);
  if (major != 19 && major != 22) {
    MESSAGE("[skip] LLVM " << major << ": the digests are of 19 and 22");
    return;
  }
  std::string const epoch = std::to_string(weft::codegen_epoch);
  INFO("Kernels that the last version left on disk would be used although this one makes other code: raise "
       "codegen_epoch in codegen/epoch.hpp, remove the golden files of the old number, and write those of the new one "
       "(WEFT_UPDATE_GOLDEN=1) with LLVM 19 and with 22");
  std::string const file = "codegen/epoch_" + epoch + ".llvm" + std::to_string(major);
  std::string const text = "loops " + d.loops + "\nllvm " + d.llvm + "\n";
  // A file per number, and one that is there is not rewritten: not without raising the number.
  std::ifstream golden(std::string(WEFT_TESTS_DIR) + "/golden/" + file);
  if (golden.good()) CHECK(text == std::string(std::istreambuf_iterator<char>(golden), {}));
  else weft_test::check_golden(file, text);
}
