// A GPU that is this machine: NVRTC and the driver in one shared object, free of the library. What the one takes for machine code is
// the text, which the other compiles for the host against cuda_shim.hpp, as WEFT_STUB_CXX says, and runs. Built twice over by the test
// that needs it, as libnvrtc.so.13 and as libcuda.so.1.
#include <dlfcn.h>
#include <stdio.h>

#include <deque>
#include <string>
#include <utility>

#define cuLibraryLoadData recorded_cuLibraryLoadData
#define cuLibraryUnload recorded_cuLibraryUnload
#define cuLibraryGetKernel recorded_cuLibraryGetKernel
#define cuLaunchKernel recorded_cuLaunchKernel
#include "cuda_driver_stub.hpp"
#undef cuLibraryLoadData
#undef cuLibraryUnload
#undef cuLibraryGetKernel
#undef cuLaunchKernel

namespace {
constexpr char magic[] = "\177ELF text\n", made_by[] = "\n// made by NVRTC ";

// --- the compiler ------------------------------------------------------------------------------------------------------
struct compiled {
  std::string text, log;
};
/// What ptxas would say; a kernel whose name has "spill" in it spills.
std::string said_of(std::string const& text) {
  std::string log;
  std::string const begin = "__global__ void";
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    size_t const name = text.find('\n', at) + 1;  // behind __launch_bounds__
    std::string const kernel = text.substr(name, text.find('(', name) - name);
    bool const spills = kernel.find("spill") != std::string::npos;
    log += "ptxas info    : Compiling entry function '" + kernel + "' for 'sm_80'\n    " + (spills ? "8" : "0") + " bytes stack frame, " +
           (spills ? "8" : "0") + " bytes spill stores, " + (spills ? "8" : "0") + " bytes spill loads\nptxas info    : Used 32 registers\n";
  }
  return log;
}
// --- its code ------------------------------------------------------------------------------------------------------------
struct loaded;
struct kernel_of {
  loaded* in;
  std::string name;
  int parameters;
};
struct loaded {
  std::string text, folder;
  void* code = nullptr;
  std::deque<kernel_of> kernels = {};  // which go with it
};
void run_shell(std::string const& command) {
  if (system(command.c_str()) != 0) fprintf(stderr, "stub: %s\n", command.c_str());
}
constexpr int most_parameters = 24;
template <size_t... I>
void call_with(void* function, void** p, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(decltype(static_cast<void*>(p[I]))...)>(function)(p[I]...);
}
int failing = 0;  // a GPU that has failed once answers so for ever
}  // namespace

extern "C" {
#ifndef STUB_NVRTC
#define STUB_NVRTC 13
#endif
int nvrtcVersion(int* major, int* minor) { return *major = STUB_NVRTC, *minor = 0, 0; }
char const* nvrtcGetErrorString(int) { return "the stub's"; }
int nvrtcGetNumSupportedArchs(int* n) { return *n = 1, 0; }
int nvrtcGetSupportedArchs(int* n) { return *n = 80, 0; }
int nvrtcCreateProgram(void** p, char const* source, char const*, int, char const* const*, char const* const*) {
  return *p = new compiled{source, {}}, 0;
}
int nvrtcDestroyProgram(void** p) { return delete static_cast<compiled*>(*p), 0; }
int nvrtcCompileProgram(void* p, int count, char const* const* options) {
  auto& c = *static_cast<compiled*>(p);
  for (int i = 0; i < count; ++i)
    if (strcmp(options[i], "-lineinfo") == 0) c.text += "// with its lines\n";
  return c.log = said_of(c.text), 0;
}
int nvrtcGetProgramLogSize(void* p, size_t* n) { return *n = static_cast<compiled*>(p)->log.size() + 1, 0; }
int nvrtcGetProgramLog(void* p, char* to) { return strcpy(to, static_cast<compiled*>(p)->log.c_str()), 0; }
int nvrtcGetPTXSize(void*, size_t* n) { return *n = 1, 0; }
int nvrtcGetPTX(void*, char* to) { return *to = 0, 0; }
static std::string code_of(void* p) { return magic + static_cast<compiled*>(p)->text + made_by + std::to_string(STUB_NVRTC) + "\n"; }
int nvrtcGetCUBINSize(void* p, size_t* n) { return *n = code_of(p).size() + 1, 0; }
int nvrtcGetCUBIN(void* p, char* to) { return strcpy(to, code_of(p).c_str()), 0; }

int cuLibraryLoadData(void** l, void const* code, int*, void**, unsigned, int*, void**, unsigned) {
  char const* const text = static_cast<char const*>(code);
  if (strncmp(text, magic, sizeof magic - 1) != 0) return 200;
  char const* const by = strstr(text, made_by);
  if (by == nullptr || atoi(by + sizeof made_by - 1) > stub_number("WEFT_STUB_DRIVER", 13)) return 200;  // as of machine code that is newer
  auto* const made = new loaded{text + sizeof magic - 1, "/tmp/weft_stub_XXXXXX"};
  if (mkdtemp(&made->folder[0]) == nullptr) return 2;
  if (FILE* const f = fopen((made->folder + "/k.cpp").c_str(), "w")) {
    fputs(made->text.c_str(), f);
    fclose(f);
  }
  run_shell(std::string(getenv("WEFT_STUB_CXX")) + " -o " + made->folder + "/k.so " + made->folder + "/k.cpp");
  made->code = dlopen((made->folder + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  run_shell("rm -r " + made->folder);
  *l = made;
  stub.lines += made->text.find("// with its lines") != std::string::npos;
  ++stub.libraries;
  return made->code != nullptr ? 0 : 200;
}
int cuLibraryUnload(void* l) { return delete static_cast<loaded*>(l), --stub.libraries, 0; }
int cuLibraryGetKernel(void** k, void* l, char const* name) {
  auto* const in = static_cast<loaded*>(l);
  size_t at = in->text.find(std::string(name) + "(");
  if (at == std::string::npos) return 500;
  int parameters = 1;
  for (; in->text[at] != ')'; ++at) parameters += in->text[at] == ',';
  *k = &in->kernels.emplace_back(kernel_of{in, name, parameters});
  return 0;
}
int cuLaunchKernel(void* f, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty, unsigned tz, unsigned shared, void*,
                   void** parameters, void**) {
  auto* const k = static_cast<kernel_of*>(f);
  if (int const r = stub_in_context(); r != 0) return r;
  if (int const r = stub.fail_launch; r != 0) return stub.fail_launch = 0, r;
  if (bx == 0 || by == 0 || bz == 0) return 1;
  ++stub.launches;
  if (failing != 0) return failing;
  // As a GPU does with an address that is none; the host would end.
  if (k->name.find("illegal") != std::string::npos) return failing = 700;
  using launcher = char const* (*)(unsigned const*, unsigned const*, unsigned, void (*)(void*), void*, unsigned);
  struct call {
    void* function;
    void** p;
    int count;
  } c{dlsym(k->in->code, k->name.c_str()), parameters, k->parameters};
  auto const launch = reinterpret_cast<launcher>(dlsym(k->in->code, "shim_launch"));
  unsigned const blocks[] = {bx, by, bz}, threads[] = {tx, ty, tz};
  auto const thread = [](void* data) {
    auto const& now = *static_cast<call*>(data);
    void* p[most_parameters] = {};
    for (int i = 0; i < now.count; ++i) p[i] = *static_cast<void**>(now.p[i]);
    call_with(now.function, p, std::make_index_sequence<most_parameters>());
  };
  if (c.function == nullptr || launch == nullptr || k->parameters > most_parameters) return 500;
  char const* const wrong = launch(blocks, threads, shared, thread, &c, 0);
  if (wrong != nullptr) fprintf(stderr, "stub: %s\n", wrong);
  return wrong != nullptr ? 719 : 0;
}
}
