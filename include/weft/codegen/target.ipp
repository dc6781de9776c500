#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "weft/base/auxiliary.hpp"
#include "weft/base/fork_gate.hpp"
#include "weft/base/joined.hpp"
#include "weft/base/mutex.hpp"
#include "weft/codegen/target.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
struct feature_bit {
  char const* name;
  unsigned char word, bit;
  unsigned char saved;  // what the operating system must save: 0 nothing beyond xmm, 1 ymm, 2 zmm and masks, 3 tiles, for which it was asked
  unsigned char level;  // of the x86-64 psABI: x86-64-v<level> has it; 9: none does
};

// In the order of the names, so that lists of them are sorted. Words: 0, 1 = ecx, edx of leaf 1; 2, 3, 4 = ebx,
// ecx, edx of leaf 7.0; 5, 6 = eax, edx of leaf 7.1; 7 = ecx of leaf 0x80000001.
// clang-format off
inline constexpr feature_bit x86_features[] = {
    {"amx-bf16", 4, 22, 3, 9}, {"amx-int8", 4, 25, 3, 9}, {"amx-tile", 4, 24, 3, 9},
    {"avx", 0, 28, 1, 3}, {"avx2", 2, 5, 1, 3}, {"avx512bf16", 5, 5, 2, 9},
    {"avx512bitalg", 3, 12, 2, 9}, {"avx512bw", 2, 30, 2, 4}, {"avx512cd", 2, 28, 2, 4},
    {"avx512dq", 2, 17, 2, 4}, {"avx512f", 2, 16, 2, 4}, {"avx512fp16", 4, 23, 2, 9},
    {"avx512ifma", 2, 21, 2, 9}, {"avx512vbmi", 3, 1, 2, 9}, {"avx512vbmi2", 3, 6, 2, 9},
    {"avx512vl", 2, 31, 2, 4}, {"avx512vnni", 3, 11, 2, 9}, {"avx512vpopcntdq", 3, 14, 2, 9},
    {"avxifma", 5, 23, 1, 9}, {"avxneconvert", 6, 5, 1, 9}, {"avxvnni", 5, 4, 1, 9},
    {"avxvnniint16", 6, 10, 1, 9}, {"avxvnniint8", 6, 4, 1, 9}, {"bmi", 2, 3, 0, 3},
    {"bmi2", 2, 8, 0, 3}, {"cx16", 0, 13, 0, 2}, {"f16c", 0, 29, 1, 3},
    {"fma", 0, 12, 1, 3}, {"gfni", 3, 8, 0, 9}, {"lzcnt", 7, 5, 0, 3},
    {"movbe", 0, 22, 0, 3}, {"pclmul", 0, 1, 0, 9}, {"popcnt", 0, 23, 0, 2},
    {"prfchw", 7, 8, 0, 9}, {"sahf", 7, 0, 0, 2}, {"sse2", 1, 26, 0, 1},
    {"sse3", 0, 0, 0, 2}, {"sse4.1", 0, 19, 0, 2}, {"sse4.2", 0, 20, 0, 2},
    {"ssse3", 0, 9, 0, 2}, {"xsave", 0, 26, 1, 3},
};
// clang-format on

// The highest psABI level of which nothing is missing.
inline int x86_level(target const& t) {
  int level = 4;
  for (feature_bit const& f : x86_features)
    if (f.level <= level && !t.has(f.name)) level = f.level - 1;
  return level;
}

// Everything that follows from the features.
inline void derive_x86(target& t) {
  t.arch = architecture::x86_64;
  int const level = x86_level(t);
  t.cpu = level == 4 ? "x86-64-v4" : level == 3 ? "x86-64-v3" : level == 2 ? "x86-64-v2" : "x86-64";
  t.vector_bytes = level == 4 ? 64 : t.has("avx2") ? 32 : 16;
  t.vector_registers = level == 4 ? 32 : 16;
  t.fma = t.has("fma");
}

inline std::int64_t read_sysfs(char const* path, char* text, std::size_t size) {
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  auto const n = ::read(file, text, size - 1);
  ::close(file);
  text[n > 0 ? n : 0] = '\0';
  return std::strtoll(text, nullptr, 10);
}

inline void note_cache(target& t, int level, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (level == 1) t.l1_bytes = bytes;
  if (level == 2) t.l2_bytes = bytes;
  if (level == 3) t.l3_bytes = bytes;
}

inline void probe_caches_sysfs(target& t) {
  char path[] = "/sys/devices/system/cpu/cpu0/cache/index0/";
  for (char digit = '0'; digit < '6'; ++digit) {
    path[sizeof path - 3] = digit;
    char type[16], level[16], size[32];
    if (read_sysfs((joined({path, "type"})).c_str(), type, sizeof type) < 0) return;
    if (type[0] == 'I') continue;  // Instruction
    auto const number = read_sysfs((joined({path, "level"})).c_str(), level, sizeof level);
    auto const kib = read_sysfs((joined({path, "size"})).c_str(), size, sizeof size);  // "48K"
    note_cache(t, static_cast<int>(number), kib * 1024);
  }
}

// How many processors the process may run on, from a mask that is large enough for every kernel.
inline std::int32_t probe_threads() {
  alignas(8) unsigned long mask[8192 / (8 * sizeof(unsigned long))]{};
  if (::sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask)) != 0) {
    long const online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<std::int32_t>(online) : 1;
  }
  std::int32_t count = 0;
  for (unsigned long word : mask) count += __builtin_popcountl(word);
  return count > 0 ? count : 1;
}

#if defined(__x86_64__)
struct registers {
  std::uint32_t eax, ebx, ecx, edx;
};
// <cpuid.h> would define some hundred macros in the user's file.
inline registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  registers r;
  __asm__ volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(subleaf));
  return r;
}

/// Whether Linux lets this process use AMX's tiles, for which it has to be asked once: then it makes room for them where it saves what a thread has, also on a signal's
/// stack. Where a thread has told of one that is too small it says no.
///
/// Source  Linux Documentation/arch/x86/xstate.rst
inline bool is_allowed_tiles() {
  long const arch_prctl = 158, require_permission = 0x1023, tile_data = 18;
  return ::syscall(arch_prctl, require_permission, tile_data) == 0;
}
inline int state_saved_by_system(registers const& leaf1) {
  if ((leaf1.ecx >> 27 & 1) == 0) return 0;  // OSXSAVE: xgetbv exists
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 0xe6) != 0xe6) return (low & 0x6) == 0x6;
  return (low & 0x60000) == 0x60000 && is_allowed_tiles() ? 3 : 2;
}

inline void probe_x86_features(target& t) {
  std::uint32_t const last = cpuid(0, 0).eax, last_extended = cpuid(0x80000000u, 0).eax;
  registers const one = cpuid(1, 0), none{0, 0, 0, 0};
  registers const seven = last >= 7 ? cpuid(7, 0) : none;
  registers const seven_one = seven.eax >= 1 ? cpuid(7, 1) : none;
  registers const extended = last_extended >= 0x80000001u ? cpuid(0x80000001u, 0) : none;
  std::uint32_t const words[] = {one.ecx,   one.edx,       seven.ebx,     seven.ecx,
                                 seven.edx, seven_one.eax, seven_one.edx, extended.ecx};
  int const saved = state_saved_by_system(one);
  for (feature_bit const& f : x86_features)
    if ((words[f.word] >> f.bit & 1) != 0 && saved >= f.saved) t.features.push_back(f.name);
}

// Leaf 4 (Intel) and 0x8000001d (AMD, Hygon) describe one cache per subleaf in the same form.
inline void probe_x86_caches(target& t, std::uint32_t leaf) {
  for (std::uint32_t i = 0; i < 16; ++i) {
    registers const r = cpuid(leaf, i);
    std::uint32_t const type = r.eax & 31;
    if (type == 0) return;
    if (type == 2) continue;  // instructions
    std::int64_t const ways = (r.ebx >> 22) + 1, partitions = (r.ebx >> 12 & 1023) + 1, line = (r.ebx & 4095) + 1;
    note_cache(t, static_cast<int>(r.eax >> 5 & 7), ways * partitions * line * (std::int64_t(r.ecx) + 1));
  }
}

inline std::uint32_t model_of(registers const& one) { return (one.eax >> 4 & 15) + (one.eax >> 12 & 0xf0); }

/// Intel's servers reach their last cache over a mesh. Cascade Lake: 24 GB/s at 2.4 GHz (one core of a virtual machine, 8 MiB, 2026-11-26); one with AMX 29 GB/s; later ones
/// are taken to be alike. Virtual machines may have model numbers of their own; no other processors have AMX. Source of the numbers: Intel SDM vol. 4, table 2-1.
inline bool has_mesh() {
  registers const vendor = cpuid(0, 0), one = cpuid(1, 0);
  bool const intel = vendor.ebx == 0x756e6547 && vendor.edx == 0x49656e69 && vendor.ecx == 0x6c65746e;
  std::uint32_t const family = one.eax >> 8 & 15, model = model_of(one);
  // Skylake to Cooper Lake; Ice Lake; Sapphire and Emerald Rapids
  bool const has_amx = vendor.eax >= 7 && (cpuid(7, 0).edx >> 24 & 1) != 0;
  return intel && family == 6 && (has_amx || model == 0x55 || model == 0x6a || model == 0x6c || model == 0x8f || model == 0xcf);
}

/// AMD's family 1Ah (Zen 5) has two units for vectors of 64 bytes; Zen 4 takes two cycles for each, and so do some models of notebooks, of which none counts here. The bit with which a
/// processor says so (leaf 0x8000001a) is not set by the hypervisor of the one server that was measured. Source of the models' numbers: Linux, arch/x86/kernel/cpu/amd.c.
inline bool has_two_wide_units() {
  registers const vendor = cpuid(0, 0), one = cpuid(1, 0);
  bool const amd = vendor.ebx == 0x68747541 && vendor.edx == 0x69746e65 && vendor.ecx == 0x444d4163;
  std::uint32_t const family = (one.eax >> 8 & 15) + (one.eax >> 20 & 255), model = model_of(one);
  bool const notebook = (model >= 0x20 && model < 0x40) || (model >= 0x60 && model < 0x80);
  return amd && family == 0x1a && !notebook;
}

inline void probe(target& t) {
  probe_x86_features(t);
  derive_x86(t);
  if (has_mesh()) t.l3_bytes_per_cycle = 10;
  if (has_two_wide_units()) t.vector_units = 2;
  if (cpuid(0, 0).eax >= 4) probe_x86_caches(t, 4);
  if (t.l1_bytes == 0 && cpuid(0x80000000u, 0).eax >= 0x8000001du) probe_x86_caches(t, 0x8000001du);
}
#elif defined(__aarch64__)
inline void probe(target& t) {
  // Bits of AT_HWCAP (below 64) and AT_HWCAP2 (64 and up), in the order of LLVM's names.
  struct {
    char const* name;
    int bit;
  } constexpr bits[] = {{"bf16", 64 + 14}, {"dotprod", 20}, {"fp-armv8", 0}, {"fullfp16", 10},
                        {"i8mm", 64 + 13}, {"lse", 8},      {"neon", 1}};
  unsigned long const words[] = {weft_auxiliary_value(auxiliary_hwcap), weft_auxiliary_value(auxiliary_hwcap2)};
  for (auto const& b : bits)
    if ((words[b.bit / 64] >> (b.bit % 64) & 1) != 0) t.features.push_back(b.name);
  t.arch = architecture::aarch64;
  t.cpu = "generic";
  t.vector_bytes = 16;
  t.vector_registers = 32;
  t.fma = true;
}
#else
#error "weft generates CPU code for x86-64 and aarch64"
#endif

inline target probe_host() {
  target t;
  probe(t);
  if (t.has("avx512f") && !t.has("avx512vl")) {  // as of Knights Landing; see cannot_be_made
    sequence<std::string> others;
    for (std::string const& f : t.features)
      if (!f.starts_with("avx512")) others.push_back(f);
    t.features = others;
    t.vector_bytes = 32;
    t.vector_registers = 16;
  }
  if (t.l1_bytes == 0) probe_caches_sysfs(t);
  t.threads = probe_threads();
  return t;
}

// By the name of a CPU; 0: not known.
inline int x86_level_of(std::string_view cpu) {
  constexpr std::string_view names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  for (int level = 1; level <= 4; ++level)
    if (cpu == names[level - 1]) return level;
  return cpu == "generic" ? 1 : 0;
}

struct kept_targets {
  target one;
  kept_targets const* next;
};
inline constinit kept_targets const* targets_kept = nullptr;
inline constinit mutex targets_lock;

inline target const* find_kept(target const& t) {
  for (kept_targets const* k = __atomic_load_n(&targets_kept, __ATOMIC_ACQUIRE); k != nullptr; k = k->next)
    if (k->one == t) return &k->one;
  return nullptr;
}

inline target x86_of_level(int level) {
  target t = host();
  t.features.clear(), t.vector_units = 1;
  for (feature_bit const& f : x86_features)
    if (f.level <= level) t.features.push_back(f.name);
  derive_x86(t);
  return t;
}
}  // namespace detail

WEFT_DECL bool target::has(std::string_view feature) const {
  for (auto const& f : features)
    if (f == feature) return true;
  return false;
}
WEFT_DECL std::string target::feature_string() const {
  std::string text;
  for (auto const& f : features) text += (text.empty() ? "+" : ",+") + f;
  return text;
}
WEFT_DECL char const* target::triple() const {
  if (arch == architecture::nvidia) return "nvptx64-nvidia-cuda";
  return arch == architecture::x86_64 ? "x86_64-unknown-linux-gnu" : "aarch64-unknown-linux-gnu";
}

WEFT_DECL target const& host() {
  static constinit target const* known = nullptr;
  if (target const* t = __atomic_load_n(&known, __ATOMIC_ACQUIRE)) return *t;
  fork_gate const no_fork;  // in the child of a fork nobody would finish the static that another thread began
  // Used until the process is gone, by destructors of statics too.
  static target const* const machine = new target(detail::probe_host());
  __atomic_store_n(&known, machine, __ATOMIC_RELEASE);
  return *machine;
}
WEFT_DECL target x86_64_sse2() { return detail::x86_of_level(1); }
WEFT_DECL target x86_64_avx2() { return detail::x86_of_level(3); }
WEFT_DECL target aarch64_neon() {
  target t = host();
  t.arch = architecture::aarch64;
  t.cpu = "generic";
  t.features = {"fp-armv8", "neon"};
  t.vector_bytes = 16;
  t.vector_registers = 32;
  t.vector_units = 1;
  t.fma = true;
  return t;
}

WEFT_DECL target const* kept_target(target const& t) {
  if (&t == &host() || t == host()) return nullptr;
  if (target const* known = detail::find_kept(t)) return known;
  fork_gate const no_fork;
  guard const hold(detail::targets_lock);
  if (target const* known = detail::find_kept(t)) return known;
  auto const* const made = new detail::kept_targets{t, detail::targets_kept};
  __atomic_store_n(&detail::targets_kept, made, __ATOMIC_RELEASE);
  return &made->one;
}
WEFT_DECL std::string cannot_be_made(target const& t) {
  bool const x86 = t.arch == architecture::x86_64;
  // LLVM 19 ends the process over a masked store of which it needs one part: it has no such store for shorter vectors.
  if (x86 && t.has("avx512f") && !t.has("avx512vl") && detail::x86_level_of(t.cpu) < 4)
    return "the target has avx512f without avx512vl, for which no code is made; give both, or take avx512f away";
  if (x86 ? detail::x86_level_of(t.cpu) > 0 : t.cpu == "generic") return "";
  return joined({"the target's CPU is called '", t.cpu, "'; give generic",
                 x86 ? ", x86-64, x86-64-v2, x86-64-v3 or x86-64-v4" : "", ", and its features by name"});
}
WEFT_DECL std::string cannot_run_here(target const& t) {
  std::string missing;
  auto const need = [&](std::string const& feature) {
    if (!host().has(feature)) missing += (missing.empty() ? "" : ", ") + feature;
  };
  if (t.arch != host().arch) return joined({"its code is for ", t.triple(), ", this is ", host().triple()});
  for (std::string const& f : t.features) need(f);
  if (missing.empty() && t.arch == architecture::x86_64)
    for (detail::feature_bit const& f : detail::x86_features)  // LLVM takes them from the name alone
      if (f.level <= detail::x86_level_of(t.cpu)) need(f.name);
  return missing.empty() ? "" : "this machine has no " + missing;
}

}  // namespace weft::inline WEFT_ABI
