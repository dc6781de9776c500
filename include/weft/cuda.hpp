// weft::cuda(): the same kernels on an NVIDIA GPU. Optional: what does not include it has none of it.
#pragma once

#include "weft/base/mutex.hpp"
#include "weft/codegen/cuda/module.hpp"
#include "weft/codegen/cuda/resources.hpp"
#include "weft/kernel.hpp"
#include "weft/runtime/cuda/memory.hpp"

namespace weft::inline WEFT_ABI {

// --- memory on a device -----------------------------------------------------------------------------------------------
/// A row-major tensor in a GPU's memory, whose elements are whatever was there.
template <element T, int Rank>
class cuda_tensor {
 public:
  /// Of these extents, on device `number`.
  ///
  /// Errors  device_error when there is no such device, or not so much memory
  explicit cuda_tensor(std::array<std::int64_t, static_cast<std::size_t>(Rank)> const& shape, int number = 0)
      : shape_(shape),
        device_(number),
        data_(static_cast<T*>(detail::allocate_on_gpu(number, shape.data(), Rank, static_cast<int>(sizeof(T))))) {}
  /// Takes the memory of `o`, which is empty then.
  cuda_tensor(cuda_tensor&& o) noexcept : shape_(o.shape_), device_(o.device_), data_(o.data_) { o.data_ = nullptr; }
  cuda_tensor& operator=(cuda_tensor&& o) = delete;
  ~cuda_tensor() {
    if (data_ != nullptr) detail::free_on_gpu(device_, data_);
  }
  /// The address of the first element, for the GPU alone.
  T* address() const { return data_; }
  /// The number of its GPU.
  int device() const { return device_; }
  /// Its extents.
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> const& shape() const { return shape_; }
  /// How many elements there are.
  std::size_t size() const {
    std::size_t n = 1;
    for (std::int64_t e : shape_) n *= static_cast<std::size_t>(e);
    return n;
  }
  /// All elements from `from` on, row-major; waits until they are there.
  void fill(T const* from) {
    detail::copy_with_gpu(device_, data_, const_cast<T*>(from), size() * sizeof(T), true);
  }
  /// All elements to `to`; waits for all that was launched on the default stream.
  void read(T* to) const { detail::copy_with_gpu(device_, data_, to, size() * sizeof(T), false); }

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> shape_;
  int device_;
  T* data_;
};

/// Memory on a GPU that somebody else owns, of CUDA's runtime or PyTorch, or an output. `Extent...`: as of weft::tensor_view.
template <element T, bool Output, std::int64_t... Extent>
struct cuda_view {
  T* data = nullptr;
  std::array<std::int64_t, sizeof...(Extent)> shape{};
  int device = -1;  // the number of the GPU; -1: only its owner knows
};
/// The elements at a GPU's address, row-major: an input. An extent may be a number, a constant, or open: weft::dim<"n">(n).
template <element T, detail::extent_argument... E>
constexpr auto on_gpu(T const* data, E... extents) {
  return cuda_view<T, false, detail::extent_constant<E>()...>{const_cast<T*>(data), {detail::extent_number(extents)...}, -1};
}
/// The same as an output.
template <element T, detail::extent_argument... E>
constexpr auto out_on_gpu(T* data, E... extents) {
  return cuda_view<T, true, detail::extent_constant<E>()...>{data, {detail::extent_number(extents)...}, -1};
}
namespace detail {
template <bool Output, class T, int Rank, std::size_t... D>
constexpr auto tensor_on_gpu(cuda_tensor<T, Rank> const& t, std::index_sequence<D...>) {
  return cuda_view<T, Output, (static_cast<void>(D), dynamic)...>{t.address(), t.shape(), t.device()};
}
template <bool Output, class T, int Rank, std::size_t... D, class... Name>
constexpr auto tensor_on_gpu(cuda_tensor<T, Rank> const& t, std::index_sequence<D...>, Name... names) {
  static_assert(sizeof...(Name) == static_cast<std::size_t>(Rank), "weft: one name per dimension");
  auto const made = [&] {
    if constexpr (Output) return out_on_gpu(t.address(), names(t.shape()[D])...);
    else return on_gpu(static_cast<T const*>(t.address()), names(t.shape()[D])...);
  };
  auto v = made();
  v.device = t.device();
  return v;
}
template <class N>
concept extent_name = requires(N const& n) { n(std::int64_t{}).code; };
}  // namespace detail
/// A tensor on a GPU with a name for each extent: weft::view(t, weft::dim<"m">, weft::dim<"n">).
template <element T, int Rank, detail::extent_name... Name>
constexpr auto view(cuda_tensor<T, Rank> const& t, Name... names) {
  return detail::tensor_on_gpu<false>(t, std::make_index_sequence<static_cast<std::size_t>(Rank)>{}, names...);
}
/// A tensor on a GPU as an output; with names as an input's.
template <element T, int Rank, detail::extent_name... Name>
constexpr auto out(cuda_tensor<T, Rank>& t, Name... names) {
  return detail::tensor_on_gpu<true>(t, std::make_index_sequence<static_cast<std::size_t>(Rank)>{}, names...);
}

namespace detail {
template <class A>
inline constexpr bool is_on_gpu = false;
template <class T, bool Output, std::int64_t... E>
inline constexpr bool is_on_gpu<cuda_view<T, Output, E...>> = true;
template <class T, int Rank>
inline constexpr bool is_on_gpu<cuda_tensor<T, Rank>> = true;
template <class T, bool Output, std::int64_t... E>
constexpr int gpu_of(cuda_view<T, Output, E...> const& v) { return v.device; }
template <class T, int Rank>
int gpu_of(cuda_tensor<T, Rank> const& t) { return t.device(); }
/// A tensor of another GPU than the kernel runs on.
[[noreturn]] void refuse_other_gpu(std::string_view kernel, int place, int tensors, int kernels);
template <class T, bool Output, std::int64_t... E>
struct argument_traits<cuda_view<T, Output, E...>> {
  static constexpr bool supported = false;  // by kernels on the CPU
  static constexpr bool is_output = Output;
  using type = fixed_arg<T, E...>;
  static constexpr bool is_number = false;
  static constexpr std::size_t plain_words = 0;
  static void describe(cuda_view<T, Output, E...> const& v, argument& a) {
    a.data = v.data;
    set_kind(a, kind_of(dtype_of<T>, sizeof...(E), false, Output));
    auto const strides = row_major(v.shape);
    for (std::size_t d = 0; d < v.shape.size(); ++d) a.extents[d] = v.shape[d], a.strides[d] = strides[d];
  }
};
template <class T, int Rank>
using cuda_view_of = decltype(tensor_on_gpu<false>(std::declval<cuda_tensor<T, Rank> const&>(),
                                                   std::make_index_sequence<static_cast<std::size_t>(Rank)>{}));
template <class T, int Rank>
struct argument_traits<cuda_tensor<T, Rank>> : argument_traits<cuda_view_of<T, Rank>> {
  static void describe(cuda_tensor<T, Rank> const& t, argument& a) {
    argument_traits<cuda_view_of<T, Rank>>::describe({t.address(), t.shape(), t.device()}, a);
  }
};

// --- compiled forms ---------------------------------------------------------------------------------------------------
struct cuda_form;
/// The compiled forms of one kernel for one list of argument types; they live as long as the process.
struct cuda_table {
  cuda_form* first = nullptr;
  mutex lock{};
};
struct cuda_call {
  argument* arguments;
  bool const* on_gpu;
  int count;
  int device;
  void* stream;
};
void run_on_gpu(cuda_table& table, kernel_face const& face, cuda_call const& call);
cuda_module cuda_text_of(ir::arena& m, kernel_face const& face, argument* arguments, int count);
kernel_texts gpu_texts_of(kernel_face const& face, argument* arguments, int count);
/// The extents of outputs that are left out; on a stream that is being captured memory for them on the GPU is refused.
void shape_on_gpu(kernel_face const& face, cuda_call const& call, bool made_there);
std::string ptx_of(cuda_module const& module, int device);
std::string resources_of(cuda_module const& module);
/// What a request for a GPU has as compile_request::gpu.
[[gnu::weak]] extern gpu_way const gpu_compilation;
}  // namespace detail

// --- results that a call makes ------------------------------------------------------------------------------------------
namespace detail {
template <class T, int Rank>
inline constexpr bool is_result<cuda_tensor<T, Rank>> = true;
/// Tensors for the outputs of a call, on the GPU or in the host's memory, of the extents that the arguments say.
template <bool OnGpu, class Owning>
struct made_results;
template <bool OnGpu, class T, int Rank>
struct made_results<OnGpu, tensor<T, Rank>> {
  using type = std::conditional_t<OnGpu, cuda_tensor<T, Rank>, tensor<T, Rank>>;
  static type make(argument* a, int device) {
    std::array<std::int64_t, static_cast<std::size_t>(Rank)> shape{};
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = a->extents[d];
    a->is_allocated_here = false;
    if constexpr (OnGpu) {
      type made(shape, device);
      a->data = made.address();
      return made;
    } else {
      type made(shape);
      a->data = made.data();
      return made;
    }
  }
};
template <bool OnGpu, class... T>
struct made_results<OnGpu, boost::hana::tuple<T...>> {
  using type = boost::hana::tuple<typename made_results<OnGpu, T>::type...>;
  static type make(argument* a, int device) { return make(a, device, std::index_sequence_for<T...>{}); }

 private:
  template <std::size_t... I>
  static type make(argument* a, int device, std::index_sequence<I...>) {
    return type{made_results<OnGpu, T>::make(a + I, device)...};
  }
};
}  // namespace detail

struct cuda_device;
/// A kernel on a GPU; `kernel.on(weft::cuda())` makes it.
template <fixed_string Name, class What, class How>
struct cuda_kernel_t {
  What what;
  How how;
  int device = 0;          // the number of the GPU
  void* stream = nullptr;  // a CUstream or cudaStream_t, null the default one
  options wanted{};        // plain and bitwise

  /// Runs it on the stream. Where all tensors are on the GPU the call does not wait for the result; inputs in the host's memory
  /// are copied there, outputs back, and the call waits. Outputs that are left out, all of them, are returned: as cuda_tensor where an
  /// input is on the GPU, else as weft::tensor. On a stream that is being captured it becomes a part of the graph; its first call
  /// for arguments of these shapes must have been before, and its outputs are given.
  ///
  /// Needs   a weft::out(...) for each output, or none
  /// Errors  argument_error and schedule_error (nothing has run); device_error: no driver, no NVRTC, no such device, no memory,
  ///         or what the driver says of the launch
  /// Cost    first call tens of milliseconds, or what finding it on disk takes; outputs that are made cost cuMemAlloc, which waits
  template <class... A>
  auto operator()(A const&... a) const {
    using types = types_for<A...>;
    constexpr int given = (0 + ... + (detail::traits<A>::is_output ? 1 : 0)), count = types::inputs + types::outputs;
    static_assert(given == 0 || given == types::outputs,
                  "weft: give a weft::out(...) for each output of this kernel, or for none");
    static_assert(types::check() || true);
    argument arguments[count];
    bool on_gpu[count];
    int input = 0, output = types::inputs;
    (describe(a, input, output, arguments, on_gpu), ...);
    static constinit detail::cuda_table table{};
    typename types::pair const lambdas{what, how};
    kernel_face const f = face<types, A...>(&lambdas);
    if constexpr (given > 0) {
      detail::run_on_gpu(table, f, {arguments, on_gpu, count, device, stream});
    } else {
      constexpr bool there = (false || ... || detail::is_on_gpu<A>);
      for (int o = types::inputs; o < count; ++o)
        arguments[o].is_output = arguments[o].is_allocated_here = true, on_gpu[o] = there;
      detail::shape_on_gpu(f, {arguments, on_gpu, count, device, stream}, there);
      auto made = detail::made_results<there, typename detail::results_of<typename types::result>::owning>::make(arguments + types::inputs, device);
      detail::run_on_gpu(table, f, {arguments, on_gpu, count, device, stream});
      return made;
    }
  }
  /// The same kernel with a schedule by rule of another kind: `.with({.bitwise = true})`, `.with({.plain = true})`, which is a thread
  /// for each element. The other options are a CPU's.
  constexpr cuda_kernel_t with(options o) const {
    cuda_kernel_t k = *this;
    k.wanted = o;
    return k;
  }
  /// The CUDA C++ text of its kernels for these arguments; nothing runs, and there need be no GPU.
  ///
  /// Errors  argument_error, schedule_error, as at a call
  template <class... A>
  std::string cuda_source(A const&... a) const {
    ir::arena m;
    return module(m, a...).text;
  }
  /// The PTX of its kernels, as NVRTC makes it: for its GPU, or for sm_80 where there is none.
  ///
  /// Errors  as of `cuda_source`; device_error: no NVRTC on this machine
  /// Cost    tens of milliseconds
  template <class... A>
  std::string ptx(A const&... a) const {
    ir::arena m;
    return detail::ptx_of(module(m, a...), device);
  }
  /// A table of the registers, shared memory, spills and occupancy of its kernels, for each architecture that NVRTC knows of
  /// known_architectures(); there need be no GPU. One of them as data: usage_of(module(m, args...), "sm_90").
  ///
  /// Errors  as of `ptx`
  template <class... A>
  std::string resources(A const&... a) const {
    ir::arena m;
    return detail::resources_of(module(m, a...));
  }
  /// The text with how each of its kernels is launched. Expressions live in `m`.
  template <class... A>
  cuda_module module(ir::arena& m, A const&... a) const {
    return erased([&](kernel_face const& f, argument* arguments, int count) {
      return detail::cuda_text_of(m, f, arguments, count);
    }, a...);
  }
  /// Its loops for these arguments; nothing runs, and there need be no GPU. Outputs may be left out. weft::print_how gives its steps
  /// as a how-lambda.
  ///
  /// Errors  argument_error, schedule_error, as at a call
  template <class... A>
  std::string loops(A const&... a) const { return texts(false, a...).loops; }
  /// The steps of its schedule, with what each was ruled. Errors as of `loops`.
  template <class... A>
  std::string trace(A const&... a) const { return texts(false, a...).steps; }
  /// The loop program that becomes text. Errors as of `loops`.
  template <class... A>
  std::string ir(A const&... a) const { return texts(false, a...).ir; }
  /// All of these at once; of machine code, which the first argument asks for, see `cuda_source`.
  template <class... A>
  kernel_texts texts(bool, A const&... a) const {
    return erased([](kernel_face const& f, argument* arguments, int count) { return detail::gpu_texts_of(f, arguments, count); }, a...);
  }
  template <class... A>
  using types_for = detail::call_types<
      What, How, typename detail::inputs_among<boost::hana::tuple<>, std::remove_cvref_t<A>...>::type>;
  /// `use(face, arguments, count)`: what other parts of weft do with a kernel whose types are forgotten.
  template <class Use, class... A>
  auto erased(Use const& use, A const&... a) const {
    using types = types_for<A...>;
    argument arguments[types::inputs + types::outputs];
    bool on_gpu[types::inputs + types::outputs];
    int input = 0, output = types::inputs;
    (describe(a, input, output, arguments, on_gpu), ...);
    for (; output < types::inputs + types::outputs; ++output)
      arguments[output].is_output = arguments[output].is_allocated_here = true, on_gpu[output] = false;
    typename types::pair const lambdas{what, how};
    kernel_face f = face<types, A...>(&lambdas);
    f.on_gpu = on_gpu;
    return use(f, arguments, types::inputs + types::outputs);
  }

 private:
  template <class A>
  void describe(A const& a, int& input, int& output, argument* arguments, bool* on_gpu) const {
    int const place = detail::traits<A>::is_output ? output++ : input++;
    detail::traits<A>::describe(a, arguments[place]);
    on_gpu[place] = detail::is_on_gpu<A>;
    if constexpr (detail::is_on_gpu<A>)
      if (int const there = detail::gpu_of(a); there >= 0 && there != device)
        detail::refuse_other_gpu(Name.view(), place, there, device);
  }
  template <class Types, class... A>
  kernel_face face(typename Types::pair const* lambdas) const {
    return {Name.view(), lambdas, &Types::run_what, Types::scheduled ? &Types::run_how : nullptr, !Types::is_constant(),
            Types::digest(), nullptr, detail::open_call<detail::has_open<A...>, A...>::make, wanted, false, &detail::gpu_compilation, device};
  }
};

/// A GPU of this machine, and the stream that kernels are launched on: of CUDA, or null for the default one.
struct cuda_device {
  int number = 0;
  void* stream = nullptr;
  /// What `on` makes: the kernel, with a schedule by rule (schedule/rules/gpu.hpp).
  template <fixed_string Name, class What, class How>
  constexpr auto place(kernel_t<Name, What, How> const& k) const {
    return cuda_kernel_t<Name, What, detail::no_schedule>{k.what, {}, number, stream, k.wanted};
  }
};
/// The GPU of this number, for `.on(weft::cuda())`. Nothing is looked for before a kernel is called.
constexpr cuda_device cuda(int number = 0, void* stream = nullptr) { return {number, stream}; }

/// A how-lambda for GPUs.
template <class How>
struct cuda_how {
  How how;
};
/// Says that a how-lambda is for GPUs: `weft::kernel<"scale">(what, how, weft::cuda_schedule(how_gpu))`.
template <class How>
constexpr cuda_how<How> cuda_schedule(How how) {
  return {how};
}
/// A kernel with a schedule for each kind of machine.
template <fixed_string Name, class What, class How, class Gpu>
struct scheduled_kernel_t : kernel_t<Name, What, How> {
  Gpu gpu;
  using kernel_t<Name, What, How>::on;
  /// On a GPU, under its own schedule.
  constexpr auto on(cuda_device const& d) const {
    return cuda_kernel_t<Name, What, Gpu>{this->what, gpu, d.number, d.stream, this->wanted};
  }
  /// As kernel_t::with.
  constexpr scheduled_kernel_t with(options o) const {
    scheduled_kernel_t k = *this;
    k.wanted = o;
    return k;
  }
};
/// With a how-lambda for the CPU and one for GPUs.
template <fixed_string Name, class What, class How, class Gpu>
constexpr auto kernel(What what, How how, cuda_how<Gpu> gpu) {
  return scheduled_kernel_t<Name, What, How, Gpu>{{what, how}, gpu.how};
}
/// With one for GPUs alone.
template <fixed_string Name, class What, class Gpu>
constexpr auto kernel(What what, cuda_how<Gpu> gpu) {
  return scheduled_kernel_t<Name, What, detail::no_schedule, Gpu>{{what, {}}, gpu.how};
}

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/cuda.ipp"
#endif
