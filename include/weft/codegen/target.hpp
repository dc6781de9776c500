// What the generated code runs on, as a value: passes and schedules ask it, none of them asks the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/sequence.hpp"
#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {

/// What instructions a CPU has at all; an NVIDIA GPU is a target of searches alone (compile/request.hpp, gpu_way).
enum class architecture : std::uint8_t { x86_64, aarch64, nvidia };

/// A CPU. Two targets with equal features and cpu run the same code; the rest steers schedules only.
struct target {
  architecture arch = architecture::x86_64;
  std::string cpu;                    // for LLVM's tables: "x86-64", "x86-64-v2" .. "x86-64-v4", "generic"
  sequence<std::string> features;  // LLVM's names, sorted: "avx2", "fma"
  std::int32_t vector_bytes = 16;
  std::int32_t vector_registers = 16;
  bool fma = false;           // a * b + c in one instruction for vectors of f32 and f64
  std::int64_t l1_bytes = 0;  // data cache of one core; 0: not known
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;  // as one core sees it, shared by several
  std::int32_t l3_bytes_per_cycle = 0;  // what one core reads from it at most, where that is known to be little; 0: it is not
  std::int32_t vector_units = 1;  // multiplications of whole vectors that one core begins in a cycle: 2 where that is known and the last cache is near
  std::int32_t threads = 1;   // that this process may run at the same time

  /// Whether `features` holds this one: `has("avx512f")`.
  bool has(std::string_view feature) const;
  /// Whether an instruction converts between f16 and f32: F16C, or any aarch64.
  bool converts_f16() const { return arch == architecture::aarch64 || has("f16c"); }
  /// "+avx,+avx2,...", as LLVM takes them.
  std::string feature_string() const;
  /// "x86_64-unknown-linux-gnu"
  char const* triple() const;
  /// All members; kernels are compiled once for equal targets.
  bool operator==(target const&) const = default;
};

/// This machine, asked once.
///
/// A feature is there when the processor has it and the operating system saves its registers. The probe is
/// weft's own, since it belongs to the key of code on disk and a warm start loads no LLVM; it names the features
/// that weft can use, a subset of LLVM's.
/// Errors  device_error in the child of a fork that was under way before weft was first used (base/fork_gate.hpp)
/// Source  Intel SDM vol. 2, CPUID and XGETBV; Linux Documentation/arch/arm64/elf_hwcaps.rst
target const& host();

/// The x86-64 of every machine, and that of 2013 (Haswell): for code that must run elsewhere, and to try here what
/// a smaller machine would get. Caches and threads are the host's.
target x86_64_sse2();
/// x86-64 of 2013, as `x86_64_sse2` says.
target x86_64_avx2();
/// The 64-bit Arm of every machine (Armv8-A with its vectors of 16 bytes), as `x86_64_sse2` says.
target aarch64_neon();

/// A copy of `t` for as long as the process lives, the same for equal targets; null for what equals the host.
///
/// Threads any. Cost one comparison with each target that was asked for so far, 0.1 us
target const* kept_target(target const& t);

/// In words, why LLVM makes no code for `t`; empty when it does. LLVM ends the process at the name of a CPU that it does
/// not know, and its C interface does not tell which those are: known here are the names that probes and presets give.
std::string cannot_be_made(target const& t);
/// In words, why this machine cannot run code for `t`; empty when it can.
std::string cannot_run_here(target const& t);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/target.ipp"
#endif
