// The compiled forms of one kernel: which one fits a call, and making it when none does.
#pragma once

#include "weft/base/mutex.hpp"
#include "weft/base/sequence.hpp"
#include "weft/base/unload.hpp"
#include "weft/compile.hpp"
#include "weft/runtime/argument.hpp"
#include "weft/runtime/bind.hpp"

namespace weft::inline WEFT_ABI {

/// What plain calls of a form of open sizes are compared with, by places of words (plain_places): row-major tensors without gaps.
struct open_words {
  /// Of an extent. No bit of `mask` is set.
  struct range {
    std::int32_t word;
    std::int64_t low, high, mask;
  };
  struct pair {
    std::int32_t word, other;  // are equal
  };
  /// Of a tensor; its extents begin at `word`.
  struct rows {
    std::int32_t word, rank, bytes;  // of an element; 0: all of it is numbers
  };
  /// Of launch::sizes.
  struct size {
    std::int32_t word, shift;
  };
  sequence<std::uint64_t> numbers;  // of each word, the bits that are numbers
  sequence<range> ranges;
  sequence<pair> equal;
  sequence<rows> tensors;
  sequence<size> sizes;
  bool is_known = false;  // else no call is a plain one
  bool asks = false;      // open_sizes::hold
};

/// What a compiled form whose sizes are open knows of them (dim.hpp).
class open_sizes {
 public:
  static constexpr int most = 64;
  virtual ~open_sizes() = default;
  /// Whether what the code needs of these sizes is so, where words are of a plain call.
  virtual bool hold(std::int64_t const* sizes, std::uint64_t const* words) const = 0;
  /// Whether the code is right for these arguments. Part of each call, before any of it runs.
  virtual bool fit(argument const* arguments, int count) const = 0;
  /// Fills launch::sizes from arguments that fit.
  virtual void read(argument const* arguments, std::int64_t* sizes) const = 0;
  /// Writes `n` for A.extent(0) in a text for people.
  virtual void name_extents(std::string& text) const = 0;
  /// Whether it is the code for these arguments: it fits, and they are none for which a tuner has kept a result.
  [[gnu::always_inline]] bool serve(argument const* arguments, int count) const {
    return fit(arguments, count) && (tuned.empty() || !is_tuned(arguments, count));
  }
  /// Whether it is for such extents that a result is kept. Out of the way of calls.
  [[gnu::noinline]] bool is_tuned(argument const* arguments, int count) const { return is_among(tuned, shape_of(arguments, count)); }
  /// A number for the extents of inputs, from which those of outputs follow.
  static std::uint64_t shape_of(argument const* arguments, int count) {
    std::uint64_t number = 0;
    for (int i = 0; i < count; ++i)
      for (int d = 0; !arguments[i].is_output && !arguments[i].is_scalar && d < arguments[i].rank; ++d) number = mixed(number, arguments[i].extents[d]);
    return number;
  }
  /// The same of the first `count` of these.
  static std::uint64_t shape_of(std::int64_t const* extents, std::size_t count) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i) number = mixed(number, extents[i]);
    return number;
  }
  /// Whether `shape` is one of these.
  static bool is_among(sequence<std::uint64_t> const& shapes, std::uint64_t shape) {
    bool found = false;
    for (std::uint64_t one : shapes) found = found || one == shape;
    return found;
  }
  open_words call_words;  // of plain calls
  sequence<std::uint64_t> tuned;  // shapes that have code of their own: a hundred or so at most
  call_layout layout;             // with the open extents

 private:
  static std::uint64_t mixed(std::uint64_t number, std::int64_t extent) {
    number = (number ^ static_cast<std::uint64_t>(extent)) * 0x9e3779b97f4a7c15u;
    return number ^ (number >> 29);
  }
};

/// A kernel with its types erased: what kernel.hpp knows of the two lambdas.
struct kernel_face {
  std::string_view name;
  void const* object = nullptr;                         // the two lambdas
  program (*what)(void const* object) = nullptr;        // runs the first; canonical
  void (*how)(void const* object, schedule& s) = nullptr;
  bool varies = false;         // by captures or else; then what the lambdas say is part of what is looked up
  std::uint64_t digest = 0;    // of the program that the compiler saw; 0 when it saw none
  target const* machine = nullptr;  // of kept_target: null for the host
  /// Null when no extent of these argument types is open; may answer null when the sizes of a call are special.
  open_sizes* (*open)(program const& what, std::string_view name, argument const* arguments, int count,
                      call_layout const& numbers) = nullptr;
  options wanted{};
  bool waits = false;  // for the best code: no interim form will do
  gpu_way const* gpu = nullptr;    // null: for a CPU
  int device = 0;                  // the number of the GPU
  bool const* on_gpu = nullptr;    // which arguments are in its memory; null: none
};

/// What a plain call compares and needs of a form, as addresses: the functions of what holds them are not made for speed (config.hpp).
struct plain_form {
  std::uint64_t const* words = nullptr;  // as plain_places says; null where a call needs more than addresses, numbers and open sizes: memory
                                         // of its own, packed constants, outputs that lie on inputs
  open_words const* open = nullptr;      // where sizes are
  detail::byte_span const* spans = nullptr;  // of the elements of tensors
  extern_call const* functions = nullptr;
  kernel_entry entry = nullptr;          // null: calls with these words are this form's, but no plain ones
  std::int32_t word_count = 0;
  std::uint32_t wanted = 0;  // code_wanted
};
namespace detail {
/// How often `supersede` was called for kernels of this name. A few names share a number: what is then made anew for nothing is on disk.
std::uint32_t supersessions(std::string_view name);
}
struct ready_kernel;
/// What will take the place of interim forms (shapes.hpp).
class later_code {
 public:
  explicit later_code(ready_kernel* form) : made(form) {}
  later_code(later_code const&) = delete;
  later_code& operator=(later_code const&) = delete;
  virtual ~later_code() = default;
  virtual bool is_done() const = 0;
  ready_kernel* made;
  int users = 0;  // interim forms
};

/// One compiled form: for these extents (those that are not open), strides, shared memory, target, and (when the lambdas
/// vary) program and steps.
struct ready_kernel {
  sequence<argument> arguments;  // as bound: inputs, then outputs
  std::uint64_t shared = 0;
  mutable target const* machine = nullptr;  // as the face's
  options wanted;            // by the kernel; the environment's are in the code
  program what;
  trace steps;  // with captures: what the how-lambda does with each knob's first value
  compiled_kernel code;
  sequence<extern_call> functions;  // launch::functions
  bool nothing_to_do = false;  // an empty output
  std::string name;
  std::uint64_t number = 0;           // of no other form in this process, ever
  std::uint32_t supersession = 0;  // detail::supersessions when it was begun: what was looked up before a tuner kept its result is not found any more
  open_sizes const* open = nullptr;   // owned
  later_code* later = nullptr;        // not null: an interim form
  mutable void* workspace = nullptr;  // taken by the call that uses it
  ready_kernel* next = nullptr;
  plain_form plain;
  ready_kernel() = default;
  ready_kernel(ready_kernel const&) = delete;
  ready_kernel& operator=(ready_kernel const&) = delete;
  ~ready_kernel() {
    delete open;
    delete[] plain.words, delete[] plain.spans;
    if (later != nullptr && --later->users == 0) delete later;
  }
};

/// All compiled forms of a kernel for one list of argument types. Zero-initialised, so it costs nothing before main.
/// They live as long as the program, or until the shared library that the kernel is in is unloaded.
struct kernel_table {
  ready_kernel* first = nullptr;
  mutex lock{};
  /// Has the forms dropped when the library is unloaded that the kernel is in; called before the first one is made. Not a
  /// destructor, for which each call would ask whether the static table is there: in the child of a fork for ever, if another
  /// thread was just making it.
  void (*own)() = nullptr;
  kernel_table* next = nullptr;  // of all that have made a form
  bool listed = false;
  bool only_exact = false;          // code for many shapes cannot be made
  ready_kernel* general = nullptr;  // those for many shapes (shapes.hpp), looked at behind all others
  void drop();
};
struct dropped_at_unload {
  kernel_table& table;
  ~dropped_at_unload() {
    if (library_is_unloaded()) table.drop();
  }
};

/// The compiled form that fits, made if need be: once, however many threads ask. `arguments`: inputs in order, then
/// outputs.
///
/// Errors  argument_error, schedule_error, device_error, internal_error; a form that failed is tried again
/// Threads any; a hit takes no lock. In the lambdas of another kernel, a form that another thread is making just then
///         is made once more
/// Cost    a hit compares the extents and strides, and the addresses between which elements lie
ready_kernel const& find_or_compile(kernel_table& table, kernel_face const& face, argument* arguments, int count);

/// What calls of many shapes, and calls that do not wait for their code, need; most programs do without.
struct shape_services {
  /// Makes the code of `made`, a form for more than this call's shape, or an interim form in its place. False: `made` is to be
  /// one for this shape.
  bool (*generalise)(kernel_table& table, kernel_face const& face, ready_kernel*& made, call_layout const& numbers);
  /// Makes an interim form in place of `made`, which has the open sizes of its own, or finds its code on disk. False: neither
  /// is wanted.
  bool (*postpone)(kernel_table& table, kernel_face const& face, ready_kernel*& made, call_layout const& layout);
  /// Begins to make the code that `k`, an interim form, waits for.
  void (*begin)(ready_kernel const& k);
  /// What a call that finds `k`, an interim form, is to run: the code that it waited for, or `k` itself. Errors: what
  /// the code could not be made for, once.
  ready_kernel const& (*settled)(kernel_face const& face, ready_kernel const& k);
  /// Makes no more code for `table`, whose library goes.
  void (*forget)(kernel_table& table);
};
/// Of shapes.hpp, and null without it.
[[gnu::weak]] extern shape_services const linked_shapes;
inline shape_services const* find_shapes() {
  shape_services const* const there = &linked_shapes;
  return there;
}

/// A call with tensors and numbers that are no constants, in the order of a kernel's arguments. Those of a program that
/// has chosen an executor go the other way.
struct plain_call {
  void* const* tensors;
  std::int64_t const* scalars;
  std::uint64_t const* words;  // as plain_places says
  int tensor_count, outputs, word_count;
};
/// The same by a call's types: room for it, or nothing. Most calls of small kernels are such.
template <int Outputs, class... Traits>
class plain_arguments {
 public:
  static constexpr bool is_possible = sizeof...(Traits) > 0 && (... && (Traits::plain_words > 0));
  template <class... A>
  explicit plain_arguments(A const&... a) {
    constexpr std::size_t given = (0 + ... + (Traits::is_output ? 0 : Traits::plain_words));
    constexpr int before = (0 + ... + (!Traits::is_output && !Traits::is_number));
    detail::plain_places inputs{tensors_, scalars_, words_}, outputs{tensors_ + before, scalars_, words_ + given};
    (Traits::place(a, Traits::is_output ? outputs : inputs), ...);
  }
  plain_call call() const { return {tensors_, scalars_, words_, tensors, Outputs, static_cast<int>(words)}; }

 private:
  static constexpr int tensors = (0 + ... + !Traits::is_number);
  static constexpr std::size_t words = (0 + ... + Traits::plain_words);
  void* tensors_[tensors + 1];
  std::int64_t scalars_[sizeof...(Traits) + 1];
  std::uint64_t words_[words + 1];
};
/// Runs `k` if it is for such a call, which needs nothing more: false, and nothing has run, where that is not so.
///
/// Errors  extern_error of a function that computes a stage
/// Threads any; it takes no lock
/// Cost    4 to 15 ns over the call of a function pointer (three tensors of rank 2); with open sizes 26
bool run_plain(ready_kernel const& k, plain_call const& c);
/// The same by the newest form of `table` that is for it. The kernel does not vary.
bool run_plain(kernel_table const& table, target const* machine, std::uint32_t wanted, plain_call const& c);

/// Whether `k` was made for such arguments, which share memory as those that it was made for.
bool fits(ready_kernel const& k, argument const* arguments, int count);

/// The arguments with the shapes of outputs that were left out: those that the form was made for, or, where sizes are
/// open, `arguments`, filled in.
argument const* shaped(ready_kernel const& k, argument* arguments, int count);

/// Runs `k` on arguments that fit it. Errors: device_error when there is no memory for intermediate tensors; extern_error
/// from a function of the program's; access_error from checked code.
void run(ready_kernel const& k, argument const* arguments, int count);

/// Has the next calls of kernels of this name make those forms anew of which `stale` is true (null: all), and those that are being made, and all for GPUs: a
/// tuner has found a better schedule. They stay, for who has prepared them and for calls that are under way. `stale` calls no kernel.
///
/// Threads any
void supersede(std::string_view name, bool (*stale)(void const* context, ready_kernel const& k) = nullptr, void const* context = nullptr);

namespace detail {
/// What kernels ask of this process: its threads.
services const& host_services();
/// The request for a form of `face`.
compile_request request_of(kernel_face const& face, program const& what, call_layout const& layout);
/// A number for a form that no other one has.
std::uint64_t next_number();
/// Has no further call find the form.
void give_up(ready_kernel const& k);
/// Puts `made` in front of a table's list, where calls find it from now on.
void publish(ready_kernel*& list, ready_kernel* made);
/// Whether two forms of one kernel are of the same program and steps.
bool same_lambdas(ready_kernel const& a, ready_kernel const& b);
}

/// Which schedule a call would take if it were the first one now, and why, in a sentence (make_schedule). Nothing is compiled or
/// timed for that.
std::string schedule_reason(kernel_face const& face, argument* arguments, int count);

/// For `loops`, `ir` and the like: never looked up, never kept.
kernel_texts inspect(kernel_face const& face, argument* arguments, int count, bool machine_code);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/kernel_table.ipp"
#endif
