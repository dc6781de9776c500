// NVRTC, the compiler of CUDA text: the functions that weft uses, loaded when first needed.
#pragma once

#include <cstddef>
#include <string>

#include "weft/base/error.hpp"
#include "weft/base/sequence.hpp"

namespace weft::inline WEFT_ABI {

/// The part of NVRTC that weft calls, as nvrtc.h of CUDA 12 and 13 declares it; a result other than 0 is an error.
struct nvrtc_api {
  using program = struct program_t*;
  int (*nvrtcVersion)(int* major, int* minor);
  char const* (*nvrtcGetErrorString)(int result);
  int (*nvrtcGetNumSupportedArchs)(int* count);
  int (*nvrtcGetSupportedArchs)(int* numbers);
  int (*nvrtcCreateProgram)(program*, char const* source, char const* name, int headers, char const* const* texts,
                            char const* const* names);
  int (*nvrtcDestroyProgram)(program*);
  int (*nvrtcCompileProgram)(program, int count, char const* const* options);
  int (*nvrtcGetProgramLogSize)(program, std::size_t*);
  int (*nvrtcGetProgramLog)(program, char*);
  int (*nvrtcGetPTXSize)(program, std::size_t*);
  int (*nvrtcGetPTX)(program, char*);
  int (*nvrtcGetCUBINSize)(program, std::size_t*);
  int (*nvrtcGetCUBIN)(program, char*);
};

/// The library, loaded by the first call: what WEFT_NVRTC names, else that of CUDA 13, then of 12, each by its name, then from CUDA's
/// usual folders. With `most`, the version of CUDA that a driver is of, the first one whose code that takes: 12 leaves out NVRTC 13.
/// Null when there is none.
/// Threads  may be called from several at once
nvrtc_api const* find_nvrtc(int most = 0);
/// "NVRTC 13.0".
std::string version_of(nvrtc_api const& nvrtc);
/// What is wrong with an architecture: "NVRTC 13.0 makes no code for sm_61, but for sm_75 to sm_121: .."; empty: nothing.
std::string unknown_architecture(nvrtc_api const& nvrtc, std::string const& architecture);
/// What to say where there is none, or where WEFT_NVRTC names what is none.
std::string nvrtc_is_missing();

struct cuda_binary {
  std::string cubin, ptx, log;
};

/// Compiles text to machine code for one architecture.
///
/// `architecture` names a real one: "sm_80", "sm_90a". `options` go to NVRTC as they are. `by`: which one; null: the newest.
/// A kernel of which ptxas spills registers is compiled again for fewer blocks at a time, which leaves it more of them; where it spills
/// all the same, the log says so. One of which a processor has a single block is compiled again for two, where up to a fifth fewer registers
/// would do, and stays so if nothing spills.
///
/// Errors  device_error: no NVRTC on this machine, or it makes no code for the architecture. internal_error: the text has an error; the log is in the message.
///         argument_error instead where it has a cuda_function of the user's
/// Cost    tens of milliseconds; the first call in a process more, for the library is loaded; twice as long for two blocks, up to seven times
///         where registers are spilled
/// Text with products of four warps is compiled for sm_90a where sm_90 is asked for; schedule_error for any other.
cuda_binary compile_cuda(std::string const& text, std::string const& architecture,
                         sequence<std::string> const& options = {}, nvrtc_api const* by = nullptr);
/// Whether a text has products of four warps (wgmma), which are of sm_90 alone, and of no later GPU.
inline bool is_for_hopper(std::string const& text) { return text.find("weft_wgmma_") != std::string::npos; }

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/codegen/cuda/api.ipp"
#endif
