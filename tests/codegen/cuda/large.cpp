// Tensors of more than 2^31 elements: where an index is a long long, and that it names the right element. The last block of a grid runs, on
// memory that is reserved and of which a page is there when it is touched.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include "prepared.hpp"
#include "products_mma.hpp"
#include "ruled.hpp"

using namespace weft;
using namespace weft_test;

namespace {

constexpr std::size_t wrapped = std::size_t(1) << 33;  // bytes: how far an int that has overflown leads, of elements of 4 bytes

/// So many bytes that are zero, with as many on both sides as an index may be wrong by.
class reserved_memory {
 public:
  explicit reserved_memory(std::size_t bytes) : bytes_(bytes + 2 * wrapped), at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (is_there()) madvise(at_, bytes_, MADV_NOHUGEPAGE);
  }
  reserved_memory(reserved_memory const&) = delete;
  reserved_memory& operator=(reserved_memory const&) = delete;
  ~reserved_memory() {
    if (is_there()) munmap(at_, bytes_);
  }
  bool is_there() const { return at_ != MAP_FAILED; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(at_) + wrapped);
  }

 private:
  std::size_t bytes_;
  void* at_;
};

/// What is computed of tensors of n x n, what is put into their last elements, and what comes of it.
struct large_case {
  char const* name;
  gpu_kernel (*make)(std::int64_t n);
  void (*fill)(std::int64_t n, sequence<reserved_memory*> const& inputs);
  bool (*is_right)(std::int64_t n, reserved_memory const& output);
};
float& f32_at(reserved_memory const& m, std::int64_t at) { return m.as<float>()[at]; }
void put_two(std::int64_t n, sequence<reserved_memory*> const& in) { f32_at(*in[0], n * n - 1) = 3, f32_at(*in[0], n * n - 2) = 5; }
void put_two_rows(std::int64_t n, sequence<reserved_memory*> const& in) { f32_at(*in[0], n * n - 1) = 3, f32_at(*in[0], n * (n - 1) - 1) = 5; }
template <class T>
void put_row_and_column(std::int64_t n, std::int64_t depth, sequence<reserved_memory*> const& in) {  // (l + 1) * 2, of all l
  for (std::int64_t l = 0; l < depth; ++l)
    in[0]->as<T>()[(n - 1) * depth + l] = T(static_cast<float>(l + 1)), in[1]->as<T>()[l * n + n - 1] = T(2.0f);
}
large_case const cases[] = {
    {"elementwise", [](std::int64_t n) { return by_rule(scaled<float>(n, n), "large"); }, put_two,
     [](std::int64_t n, reserved_memory const& out) { return f32_at(out, n * n - 1) == 12 && f32_at(out, n * n - 2) == 30; }},
    {"transpose", [](std::int64_t n) { return by_rule(transposed<float>(n, n), "large"); }, put_two_rows,
     [](std::int64_t n, reserved_memory const& out) { return f32_at(out, n * n - 1) == 3 && f32_at(out, n * n - 2) == 5; }},
    {"product", [](std::int64_t n) { return by_rule(product<float>(n, n, 16), "large"); },
     [](std::int64_t n, sequence<reserved_memory*> const& in) { put_row_and_column<float>(n, 16, in); },
     [](std::int64_t n, reserved_memory const& out) { return f32_at(out, n * n - 1) == 16 * 17 && f32_at(out, n * n - 2) == 0; }},
    {"product by mma", [](std::int64_t n) { return by_rule_with_units(wide_product<f16, float>(n, n, 32), "large"); },
     [](std::int64_t n, sequence<reserved_memory*> const& in) { put_row_and_column<f16>(n, 32, in); },
     [](std::int64_t n, reserved_memory const& out) { return f32_at(out, n * n - 1) == 32 * 33 && f32_at(out, n * n - 2) == 0; }},
    {"tree", [](std::int64_t n) { return by_rule(row_sums<float>(n, n), "large"); },
     [](std::int64_t n, sequence<reserved_memory*> const& in) {
       for (std::int64_t l = 0; l < n; ++l) f32_at(*in[0], (n - 1) * n + l) = 1;
     },
     [](std::int64_t n, reserved_memory const& out) { return f32_at(out, n - 1) == static_cast<float>(n); }},
};
/// Runs the last block of the kernel; whether its results are right. `skip`: this machine reserves no such memory.
bool last_block_is_right(large_case const& c, std::int64_t n, gpu_kernel const& k, gpu_trial const& t, cuda_on_host const& host, bool& skip) {
  cuda_kernel const& one = t.module.kernels[0];
  std::vector<std::unique_ptr<reserved_memory>> all;
  sequence<reserved_memory*> inputs;
  struct call {
    void (*at)(unsigned, unsigned, unsigned);
    void* kernel;
    unsigned block[3];
    void* p[3];
  } now{reinterpret_cast<void (*)(unsigned, unsigned, unsigned)>(host.symbol("as_block")), host.symbol(one.name.c_str()), {}, {}};
  REQUIRE((now.at != nullptr && now.kernel != nullptr));
  for (std::size_t i = 0; i <= k.shapes.size(); ++i) {
    std::size_t elements = 1;
    for (std::int64_t e : i < k.shapes.size() ? k.shapes[i] : t.expected[0].shape) elements *= static_cast<std::size_t>(e);
    all.push_back(std::make_unique<reserved_memory>(4 * elements));
    if (!all.back()->is_there()) return skip = true;
    now.p[i] = all.back()->as<void>();
    if (i < k.shapes.size()) inputs.push_back(all.back().get());
  }
  c.fill(n, inputs);
  unsigned const alone[] = {1, 1, 1};
  unsigned threads[3];
  for (int d = 0; d < 3; ++d) {
    now.block[d] = one.blocks[d] != nullptr ? static_cast<unsigned>(one.blocks[d]->value - 1) : 0;
    threads[d] = static_cast<unsigned>(one.threads[d]);
  }
  auto const thread = [](void* data) {
    auto const& a = *static_cast<call*>(data);
    a.at(a.block[0], a.block[1], a.block[2]);
    reinterpret_cast<void (*)(void*, void*, void*)>(a.kernel)(a.p[0], a.p[1], a.p[2]);
  };
  std::string const wrong = host.run(alone, threads, static_cast<unsigned>(one.shared_bytes), thread, &now, 3);
  return wrong.empty() && c.is_right(n, *all.back());
}
std::string with_ints(std::string text) {
  for (std::size_t at = 0; (at = text.find("long long", at)) != std::string::npos;) text.replace(at, 9, "int");
  return text;
}

}  // namespace

TEST_CASE("tensors of more than 2^31 elements: a long long where an index needs it, and the last element of each is the right one") {
  std::int64_t const sizes[] = {46341, 70000};  // of which the first has 4,633 elements too many for an int
  std::vector<gpu_kernel> kernels;
  kernels.reserve(2 * std::size(cases));
  std::vector<std::unique_ptr<gpu_trial>> trials;
  sequence<std::string> known;
  std::string text;
  for (large_case const& c : cases) {
    gpu_kernel const few = c.make(64);
    gpu_trial const small(few, {}, gpu_trial::text_only);
    INFO(std::string(c.name));
    REQUIRE(small.fault == "");
    CHECK(small.module.text.find("(long long)") == std::string::npos);
    for (std::int64_t n : sizes) {
      kernels.push_back(c.make(n));
      kernels.back().name += "_" + std::to_string(n);
      INFO(kernels.back().name << "\n" << kernels.back().steps);
      trials.push_back(std::make_unique<gpu_trial>(kernels.back(), known, gpu_trial::text_only));
      REQUIRE(trials.back()->fault == "");
      REQUIRE(trials.back()->module.kernels.size() == 1);
      CHECK(!trials.back()->module.kernels[0].takes_workspace);
      CHECK(trials.back()->module.text.find("(long long)") != std::string::npos);
      known = trials.back()->module.called;
      text += trials.back()->module.text;
    }
  }
  // Of the product, whose tails take NVRTC three seconds for each GPU, one of four; its kin of smaller sizes are compiled for all of them.
  for (std::size_t i = 1; i < kernels.size() && nvrtc_is_asked(); i += std::size(sizes)) {
    INFO(kernels[i].name);
    if (kernels[i].name.find("product_") != 0) check_compiled_for_gpus(trials[i]->own_text(), 1, [](cuda_binary const&, std::string const&) {});
    else CHECK(compile_cuda(trials[i]->own_text(), "sm_90").log == "");  // which would have spills
  }
  if (is_sanitized || !cuda_on_host::available()) {
    MESSAGE("[skip] no compiler on this machine, or sanitizers, which have no room for the memory");
    return;
  }
  text += "extern \"C\" void as_block(unsigned x, unsigned y, unsigned z) { blockIdx = {x, y, z}; }\n";
  cuda_on_host const host(text, "1"), narrow(with_ints(text), "1 -fwrapv");
  REQUIRE_MESSAGE(host.loaded(), host.messages);
  REQUIRE_MESSAGE(narrow.loaded(), narrow.messages);
  bool skip = false;
  for (std::size_t i = 0; i < kernels.size() && !skip; ++i) {
    large_case const& c = cases[i / std::size(sizes)];
    std::int64_t const n = sizes[i % std::size(sizes)];
    INFO(kernels[i].name << "\n" << kernels[i].steps << "\n" << trials[i]->module.text);
    CHECK(last_block_is_right(c, n, kernels[i], *trials[i], host, skip));
    if (!skip) CHECK_FALSE(last_block_is_right(c, n, kernels[i], *trials[i], narrow, skip));  // else the test would see nothing
  }
  if (skip) MESSAGE("[skip] this machine does not reserve the memory");
}
