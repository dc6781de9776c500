// The face of weft: two lambdas become a callable kernel.
#pragma once

#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <iosfwd>

#include "weft/expr/canonical.hpp"
#include "weft/expr/depth.hpp"
#include "weft/expr/evaluate.hpp"
#include "weft/expr/compute.hpp"
#include "weft/kernel_table.hpp"
#include "weft/results.hpp"
#include "weft/runtime/tensor.hpp"
#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {
namespace hana = boost::hana;

// --- running the what-lambda ----------------------------------------------------------------------------------
template <class In>
struct input_of;
template <class T, std::int64_t... E>
struct input_of<fixed_arg<T, E...>> {
  using handle = expr::tensor<element_t<dtype_of<T>>, static_cast<int>(sizeof...(E))>;
  static constexpr dtype type = dtype_of<T>;
  static constexpr int rank = static_cast<int>(sizeof...(E));
  static constexpr std::int64_t extents[sizeof...(E) + 1] = {E..., 0};
  static constexpr handle make(program& p) {
    short_name n;
    if (p.inputs.size() < 26) {
      char const letter[] = {static_cast<char>('A' + p.inputs.size())};
      n = short_name(std::string_view(letter, sizeof letter));
    } else {
      n = short_name("in");
      n.append(static_cast<int>(p.inputs.size()));
    }
    return {&p, p.add_input(n, dtype_of<T>, rank)};
  }
};
template <class T>
struct input_of<scalar_arg<T>> {
  using handle = value<element_t<dtype_of<T>>>;
  static constexpr dtype type = dtype_of<T>;
  static constexpr int rank = -1;
  static constexpr std::int64_t extents[1] = {0};
  static constexpr handle make(program& p) { return {{&p, p.add_scalar(dtype_of<T>)}}; }
};

/// Of a what-lambda: one tensor or weft::outputs of several.
template <class Result>
struct results_of {
  static_assert(sizeof(Result) == 0, "weft: the what-lambda returns a stage, or weft::outputs of several");
};
template <class T, int Rank>
struct results_of<expr::tensor<T, Rank>> {
  static constexpr int count = 1;
  static constexpr dtype types[1] = {dtype_of<T>};
  static constexpr int ranks[1] = {Rank};
  using owning = tensor<T, Rank>;
  static constexpr void add(program& p, expr::tensor<T, Rank> const& t) { p.outputs.push_back(t.id); }
};
template <class... T>
struct results_of<hana::tuple<T...>> {
  static_assert(sizeof...(T) > 0, "weft: weft::outputs needs a stage, or several");
  static constexpr int count = static_cast<int>(sizeof...(T));
  static constexpr dtype types[sizeof...(T)] = {results_of<T>::types[0]...};
  static constexpr int ranks[sizeof...(T)] = {results_of<T>::ranks[0]...};
  using owning = hana::tuple<typename results_of<T>::owning...>;
  static constexpr void add(program& p, hana::tuple<T...> const& t) {
    hana::unpack(t, [&](auto const&... one) { (p.outputs.push_back(one.id), ...); });
  }
};
template <class... T>
struct results_of<several<T...>> : results_of<hana::tuple<T...>> {
  static constexpr void add(program& p, several<T...> const& t) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (p.outputs.push_back(get<I>(t).id), ...);
    }(std::index_sequence_for<T...>{});
  }
};
template <class What, class... In>
struct result_type {
  static_assert(std::is_invocable_v<What const&, typename input_of<In>::handle...>,
                "weft: the what-lambda cannot be called with these inputs: it takes one parameter per input, a tensor "
                "or a number, and outputs are marked, weft::out(c); or other lines here say what in it does not compile");
  using type = std::remove_cvref_t<std::invoke_result_t<What const&, typename input_of<In>::handle...>>;
};
template <class What, class... In>
using result_t = typename result_type<What, In...>::type;
#define WEFT_KEPT_FROM_ANOTHER_STAGE \
  "weft: a stage uses an axis of another stage: a value, an index or a reduction was kept from one lambda for another; " \
  "read the finished stage instead, as in S(i)"
#define WEFT_RETURNED_WRONGLY \
  "weft: a what-lambda returns stages that it made, each once; to copy an input, compute a stage from it"

template <class... In, class What>
constexpr program raw_program(What const& what, bool loud = false) {
  program p;
  p.loud = loud;
  hana::tuple<typename input_of<In>::handle...> const inputs{input_of<In>::make(p)...};
  auto const result = hana::unpack(inputs, what);
  results_of<std::remove_cvref_t<decltype(result)>>::add(p, result);
  return p;
}
constexpr bool returns_stages(program const& p) {
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    if (program::at(p.tensors, p.outputs[i]).stage < 0) return false;
    for (std::size_t k = 0; k < i; ++k)
      if (p.outputs[k] == p.outputs[i]) return false;
  }
  return true;
}
/// Whether each plain number fits the element type that it took.
constexpr bool numbers_fit(program const& p) {
  for (node const& n : p.nodes)
    if (n.kind == op::literal && n.a == program::misfit) return false;
  return true;
}
/// The program of a what-lambda for these argument types.
template <class... In, class What>
constexpr program build(What const& what) {
  program const p = raw_program<In...>(what);
  if (!std::is_constant_evaluated()) check_depth(p, 2000);  // before anything recurses over it
  if (!numbers_fit(p)) a_number_does_not_fit_the_element_type_that_it_meets__cast_the_tensor_to_a_wider_one();
  if (!returns_stages(p)) WEFT_THROW(argument_error(WEFT_RETURNED_WRONGLY));
  bool foreign = false;
  program const c = canonical(p, foreign);
  if (foreign) WEFT_THROW(argument_error(WEFT_KEPT_FROM_ANOTHER_STAGE));
  return c;
}
/// What the compiler can make of a lambda without having the object: nothing in it can differ from call to call.
template <class Lambda>
concept stateless = std::is_empty_v<Lambda> && std::is_default_constructible_v<Lambda>;

// --- what the compiler learns of it ---------------------------------------------------------------------------
struct program_summary {
  static constexpr int most = 128;
  int stages = 0;
  int axes[most] = {}, spatial[most] = {};
  std::uint64_t digest = 0;
  bool returns_stages = true, keeps_to_its_axes = true, numbers_fit = true;
};
template <class What, class... In>
constexpr program_summary summarise(bool loud = false) {
  program p = raw_program<In...>(What{}, loud);
  program_summary s;
  s.returns_stages = returns_stages(p);
  s.numbers_fit = numbers_fit(p);
  bool foreign = false;
  if (s.returns_stages) p = canonical(p, foreign);
  s.keeps_to_its_axes = !foreign;
  s.stages = static_cast<int>(p.stages.size());
  for (int i = 0; i < s.stages && i < program_summary::most; ++i) {
    stage_info const& stage = p.stages[static_cast<std::size_t>(i)];
    s.axes[i] = stage.axes();
    s.spatial[i] = stage.spatial;
  }
  s.digest = digest(p);
  return s;
}
// Whether the compiler can run something, and what it finds, in one run: as a template argument, which is no error when it
// is no constant. (Lambdas with captures are kept away by a specialization: clang looks into the run before it looks at a
// function's own constraint, and an object that cannot be made is an error there.)
template <auto Found>
struct found_by_compiler {
  static constexpr auto const& value = Found;
};
template <class What, class... In>
struct what_run {
  using type = void;
};
template <class What, class... In>
  requires stateless<What>
struct what_run<What, In...> {
  template <class W>
  static auto run(int) -> found_by_compiler<summarise<W, In...>()>;
  template <class W>
  static auto run(long) -> void;
  using type = decltype(run<What>(0));
};
template <class What, class... In>
concept compiler_runs_what = !std::is_void_v<typename what_run<What, In...>::type>;
template <class What, class... In>
inline constexpr program_summary const& summary = what_run<What, In...>::type::value;

// --- running the how-lambda -----------------------------------------------------------------------------------
template <class In>
inline constexpr int handle_rank = input_of<In>::rank < 0 ? 0 : input_of<In>::rank;
/// One handle per input, numbers too, then per stage. Without a constant program the number of stages is not known, and
/// the lambda takes the schedule alone.
template <class What, class... In, class How>
constexpr void write_schedule(How const& how, schedule& s) {
  if constexpr (std::is_invocable_v<How const&, schedule&>) {
    how(s);
  } else if constexpr (compiler_runs_what<What, In...>) {
    constexpr int inputs = static_cast<int>(sizeof...(In));
    constexpr bool few = summary<What, In...>.stages <= program_summary::most;
    static_assert(few, "weft: a how-lambda is given handles of at most 128 stages; let it take (auto& s) alone and ask "
                       "for weft::stage<\"C\", 3>(s)");
    constexpr int stages = few ? summary<What, In...>.stages : 0;
    [&]<int... I, int... S>(std::integer_sequence<int, I...>, std::integer_sequence<int, S...>) {
      static_assert(!few || std::is_invocable_v<How const&, schedule&, input_handle<handle_rank<In>>...,
                                        stage_handle<summary<What, In...>.axes[S], summary<What, In...>.spatial[S]>...>,
                    "weft: the how-lambda takes the schedule, then one handle per input, then one per stage");
      if constexpr (few)
        how(s, input_handle<handle_rank<In>>{I}...,
            handle_of<summary<What, In...>.axes[S], summary<What, In...>.spatial[S]>(s, S)...);
    }
    (std::make_integer_sequence<int, inputs>{}, std::make_integer_sequence<int, stages>{});
  }
}

/// What a constant run of the how-lambda found.
struct schedule_report {
  static constexpr int most = static_cast<int>(schedule::max_knobs);
  verdict state = verdict::legal;
  int steps = 0;
  verdict rulings[256] = {};
  int knobs = 0;
  int values[most] = {};
};
/// The extents that the argument types tell; the others are -1.
template <class... In>
constexpr std::int64_t known_extent(int tensor, int dim) {
  int at = 0;
  std::int64_t found = dynamic;
  auto const one = [&]<class I>(I) {
    if (input_of<typename I::type>::rank < 0) return;
    if (at++ == tensor) found = input_of<typename I::type>::extents[dim];
  };
  (one(std::type_identity<In>{}), ...);
  return found;
}
template <class What, class How, class... In>
constexpr schedule_report try_schedule(bool loud, int knob = -1, int choice = 0) {
  program const p = build<In...>(What{});
  schedule s(p, known_extent<In...>, {}, loud);
  if (knob >= 0) {
    s.choices.resize(static_cast<std::size_t>(knob) + 1, 0);
    s.choices.back() = choice;
  }
  write_schedule<What, In...>(How{}, s);
  schedule_report r;
  r.state = s.state;
  r.steps = static_cast<int>(s.steps.size());
  for (int i = 0; i < r.steps && i < 256; ++i) r.rulings[i] = s.steps[static_cast<std::size_t>(i)].ruling;
  r.knobs = static_cast<int>(s.knobs.size());
  for (int i = 0; i < r.knobs && i < schedule_report::most; ++i)
    r.values[i] = static_cast<int>(s.knobs[static_cast<std::size_t>(i)].values.size());
  return r;
}
template <class What, class How, class... In>
struct how_run {
  using type = void;
};
template <class What, class How, class... In>
  requires(stateless<How> && compiler_runs_what<What, In...>)
struct how_run<What, How, In...> {
  template <class H>
  static auto run(int) -> found_by_compiler<try_schedule<What, H, In...>(false)>;
  template <class H>
  static auto run(long) -> void;
  using type = decltype(run<How>(0));
};
template <class What, class How, class... In>
concept compiler_runs_how = !std::is_void_v<typename how_run<What, How, In...>::type>;
template <class What, class How, class... In>
inline constexpr schedule_report const& report = how_run<What, How, In...>::type::value;

/// A second, loud run where the quiet one was illegal: the error stands on the user's line.
template <class What, class How, int Knob, int Choice, class... In>
constexpr bool choice_is_legal() {
  if constexpr (try_schedule<What, How, In...>(false, Knob, Choice).state == verdict::illegal)
    static_assert(try_schedule<What, How, In...>(true, Knob, Choice).state != verdict::illegal,
                  "weft: an illegal schedule step; the lines above name it");
  return true;
}
// One value of one knob at a time, the others at their first; combinations, and values behind the first 64, are checked when they are used.
inline constexpr int most_values_checked = 64;
template <class What, class How, int Knob, class... In, int... Choice>
constexpr bool values_are_legal(std::integer_sequence<int, Choice...>) {
  return (true && ... && choice_is_legal<What, How, Knob, Choice + 1, In...>());
}
template <class What, class How, class... In, int... Knob>
constexpr bool knobs_are_legal(std::integer_sequence<int, Knob...>) {
  return (true && ... && values_are_legal<What, How, Knob, In...>(
                             std::make_integer_sequence<int, (report<What, How, In...>.values[Knob] < most_values_checked ? report<What, How, In...>.values[Knob] : most_values_checked) - 1>{}));
}
/// Checks the schedule as far as the compiler can run the lambdas; a compile error when it is illegal.
template <class What, class How, class... In>
constexpr bool checked_schedule() {
  if constexpr (compiler_runs_how<What, How, In...>) {
    if constexpr (report<What, How, In...>.state == verdict::illegal)
      static_assert(try_schedule<What, How, In...>(true).state != verdict::illegal,
                    "weft: an illegal schedule step; the lines above name it");
    else
      static_assert(knobs_are_legal<What, How, In...>(
          std::make_integer_sequence<int, report<What, How, In...>.knobs>{}));
    return true;
  } else {
    return false;  // checked at the first call, by the same rules
  }
}

struct no_schedule {
  constexpr void operator()(schedule&) const {}
};

template <class A>
using traits = argument_traits<std::remove_cvref_t<A>>;

// The inputs among the arguments' types, in order.
template <class Done, class... A>
struct inputs_among;
template <class... In>
struct inputs_among<hana::tuple<In...>> {
  using type = hana::tuple<In...>;
};
template <class... In, class A, class... Rest>
struct inputs_among<hana::tuple<In...>, A, Rest...>
    : std::conditional_t<traits<A>::is_output, inputs_among<hana::tuple<In...>, Rest...>,
                         inputs_among<hana::tuple<In..., typename traits<A>::type>, Rest...>> {};
/// Whether the type of an argument names an extent, which is then open: dim.hpp, where the calls of such are, too.
template <class... A>
inline constexpr bool has_open = (... || [](std::int64_t const* extents, int rank) {
  bool open = false;
  for (int d = 0; d < rank; ++d) open = open || extents[d] < dynamic;
  return open;
}(input_of<typename traits<A>::type>::extents, input_of<typename traits<A>::type>::rank));
template <bool Open, class... A>
struct open_call {
  static_assert(!Open, "weft: open extents are made by weft::dim of weft/dim.hpp");
  static constexpr decltype(kernel_face::open) make = nullptr;
};
/// 0: the arguments marked weft::out fit the results; 1, 2: one has another dtype, another rank.
template <class Results, class... A>
constexpr int misfit() {
  int found = 0, n = 0;
  auto const one = [&](bool output, dtype type, int rank) {
    if (!output || found != 0 || n >= Results::count) return;
    if (type != Results::types[n]) found = 1;
    else if (rank != Results::ranks[n]) found = 2;
    ++n;
  };
  (one(traits<A>::is_output, input_of<typename traits<A>::type>::type, input_of<typename traits<A>::type>::rank), ...);
  return found;
}

/// Everything about a call that follows from types.
template <class What, class How, class Inputs>
struct call_types;
template <class What, class How, class... In>
struct call_types<What, How, hana::tuple<In...>> {
  using result = result_t<What, In...>;
  static constexpr int inputs = static_cast<int>(sizeof...(In));
  static constexpr int outputs = results_of<result>::count;
  static_assert(inputs + outputs <= max_arguments, "weft: a kernel has at most 64 inputs and outputs");
  static constexpr bool scheduled = !std::is_same_v<How, no_schedule>;
  static constexpr bool has_captures = !stateless<What> || !stateless<How>;
  /// What the compiler cannot run may read anything that changes from call to call, and is looked at each time.
  static constexpr bool is_constant() {
    if constexpr (!compiler_runs_what<What, In...>) return false;
    else if constexpr (scheduled) return compiler_runs_how<What, How, In...>;
    else return true;
  }
  static constexpr bool check() {
    if constexpr (compiler_runs_what<What, In...>) {
      static_assert(summary<What, In...>.returns_stages, WEFT_RETURNED_WRONGLY);
      static_assert(summary<What, In...>.keeps_to_its_axes, WEFT_KEPT_FROM_ANOTHER_STAGE);
      if constexpr (!summary<What, In...>.numbers_fit)
        static_assert(summarise<What, In...>(true).numbers_fit, "weft: a number does not fit; the lines above name it");
    } else {
      static_assert(std::is_invocable_v<How const&, schedule&>,
                    "weft: the compiler cannot run this what-lambda (it captures, calls what is not constexpr, or nests deeper than -fconstexpr-depth), so "
                    "its stages are not known here: let the how-lambda take (auto& s) alone and ask for "
                    "weft::stage<\"C\", 3>(s). (g++ -fsanitize=undefined runs none with weft::external or tensorize: add "
                    "-fno-sanitize=null)");
    }
    if constexpr (scheduled) return checked_schedule<What, How, In...>();
    else return compiler_runs_what<What, In...>;
  }
  /// Without captures the compiler names what it could not run, on the user's line.
  static constexpr void say_why_not_checked() {
    if constexpr (has_captures) {
    } else if constexpr (!compiler_runs_what<What, In...>) {
      static_assert(summarise<What, In...>().stages >= 0);
    } else if constexpr (scheduled) {
      if constexpr (!compiler_runs_how<What, How, In...>) static_assert(try_schedule<What, How, In...>(true).steps >= 0);
    }
  }
  static constexpr std::uint64_t digest() {
    if constexpr (compiler_runs_what<What, In...>) return summary<What, In...>.digest;
    else return 0;
  }
  template <class Pair>
  static constexpr program program_of(Pair const& lambdas) {
    return build<In...>(lambdas.what);
  }
  static program run_what(void const* lambdas) { return build<In...>(static_cast<pair const*>(lambdas)->what); }
  static void run_how(void const* lambdas, schedule& s) {
    write_schedule<What, In...>(static_cast<pair const*>(lambdas)->how, s);
  }
  struct pair {
    What what;
    How how;
  };
};
}  // namespace detail

/// A kernel that is compiled already: call it with arguments of the shapes that it was prepared for.
///
/// Errors  argument_error when the shapes, strides or shared memory differ; device_error; extern_error of a function that
///         computes a stage; of checked code access_error
/// Cost    4 to 15 ns over the call of a function pointer (plain calls: kernel_table.hpp); 15 to 25 where constants are packed, memory is
///         shared, the kernel needs some of its own, or an executor of the program's runs it
template <int Inputs, int Outputs>
class prepared_kernel {
 public:
  /// What `kernel_t::prepare` does.
  explicit prepared_kernel(ready_kernel const& k) : k_(&k) {}
  /// Runs it on these inputs and outputs.
  template <class... A>
  void operator()(A const&... a) const {
    static_assert(sizeof...(A) == static_cast<std::size_t>(Inputs + Outputs),
                  "weft: a prepared kernel takes all inputs and all outputs");
    using plain = plain_arguments<Outputs, detail::traits<A>...>;
    if constexpr (plain::is_possible)
      if (run_plain(*k_, plain(a...).call())) return;
    argument arguments[sizeof...(A)];
    int input = 0, output = Inputs;
    (detail::traits<A>::describe(a, arguments[detail::traits<A>::is_output ? output++ : input++]), ...);
    if (!fits(*k_, arguments, Inputs + Outputs)) refuse();
    run(*k_, arguments, Inputs + Outputs);
  }

 private:
  [[noreturn]] void refuse() const {
    WEFT_THROW(argument_error(k_->name + ": these arguments have other shapes, strides or shared memory than those "
                                         "that it was prepared for, or none (a null pointer); prepare again, or call the "
                                         "kernel itself"));
  }
  ready_kernel const* k_;
};

/// A computation and a schedule. Make one with weft::kernel; call it with tensors, views, ranges and numbers.
///
/// Threads  any number at once; the first call for each list of types and shapes compiles, the others wait for it
/// Cost     first call 3 to 12 ms (once 10 to 30 ms more for loading LLVM), then what a prepared_kernel costs, and up to 2 ns
template <fixed_string Name, class What, class How>
struct kernel_t {
  What what;
  How how;
  target const* machine = nullptr;  // null: this machine
  options wanted{};

  /// Runs the kernel. Outputs marked by weft::out are written; when none is given, they are returned, new.
  ///
  /// Errors  argument_error and schedule_error (nothing has run), device_error; extern_error of a function that computes a
  ///         stage; of checked code access_error
  template <class... A>
  auto operator()(A const&... a) const {
    constexpr int given = call_check<A...>::given;
    using types = types_for<A...>;
    using plain = plain_arguments<types::outputs, detail::traits<A>...>;
    if constexpr (given > 0 && types::is_constant() && plain::is_possible)
      if (run_plain(table_of<false, A...>(), machine, code_wanted(wanted), plain(a...).call())) return;
    argument arguments[types::inputs + types::outputs];
    ready_kernel const& k = find<given == 0>(arguments, a...);
    if constexpr (given > 0) {
      run(k, arguments, types::inputs + types::outputs);
    } else {
      typename detail::results_of<typename types::result>::owning made;
      attach(made, shaped(k, arguments, types::inputs + types::outputs) + types::inputs, arguments + types::inputs);
      run(k, arguments, types::inputs + types::outputs);
      return made;
    }
  }

  /// Compiles for these shapes now; later calls of the result check little and never compile.
  ///
  /// Errors  argument_error, schedule_error, device_error, as at a call
  template <class... A>
  auto prepare(A const&... a) const {
    using types = types_for<A...>;
    static_assert(call_check<A...>::given == types::outputs,
                  "weft: a weft::out(...) is needed for each output here (prepare, benchmark, compare)");
    argument arguments[types::inputs + types::outputs];
    return prepared_kernel<types::inputs, types::outputs>(find<false, true>(arguments, a...));
  }

  /// The same kernel compiled for another target, of which it keeps a copy: `.on(weft::x86_64_avx2())`.
  ///
  /// Errors  a call ends in device_error when this machine cannot run such code, its texts can be had all the same;
  ///         argument_error when LLVM does not know the target's CPU
  /// Cost    0.1 us; keep the result to pay it once
  kernel_t on(target const& t) const {
    kernel_t k = *this;
    k.machine = kept_target(t);
    return k;
  }

  /// The same kernel on another kind of machine: `.on(weft::cuda())`, of weft/cuda.hpp.
  template <class Device>
    requires requires(Device const& d, kernel_t const& k) { d.place(k); }
  constexpr auto on(Device const& d) const {
    return d.place(*this);
  }

  /// The same kernel compiled in another way: `.with({.checked = true})`.
  constexpr kernel_t with(options o) const {
    kernel_t k = *this;
    k.wanted = o;
    return k;
  }

  /// Its loops for these arguments, as a std::string; nothing runs. Here and below outputs may be left out.
  ///
  /// Errors  argument_error, schedule_error, as at a call
  template <class... A>
  auto loops(A const&... a) const { return texts(false, a...).loops; }
  /// The steps of its schedule, with what each was ruled.
  ///
  /// Errors  as of `loops`
  template <class... A>
  auto trace(A const&... a) const { return texts(false, a...).steps; }
  /// The loop program that becomes code.
  ///
  /// Errors  as of `loops`
  template <class... A>
  auto ir(A const&... a) const { return texts(false, a...).ir; }
  /// LLVM's text of it, after LLVM's passes.
  ///
  /// Errors  as of `loops`, and device_error when there is no LLVM
  template <class... A>
  auto llvm_ir(A const&... a) const { return texts(true, a...).llvm_ir; }
  /// The machine code, as assembly.
  ///
  /// Errors  as of `llvm_ir`
  template <class... A>
  auto assembly(A const&... a) const { return texts(true, a...).assembly; }
  /// All of these at once, as `kernel_texts`; the last two only with `machine_code`.
  ///
  /// Errors  as of `loops`; with `machine_code`, of `llvm_ir`
  template <class... A>
  auto texts(bool machine_code, A const&... a) const {
    return erased([=](kernel_face const& f, argument* arguments, int count) {
      return inspect(f, arguments, count, machine_code);
    }, a...);
  }
  /// What `use` makes of the kernel and of the arguments without their types, inputs before outputs: for the tuner and its like.
  template <class Use, class... A>
  auto erased(Use const& use, A const&... a) const {
    constexpr int given = call_check<A...>::given;
    using types = types_for<A...>;
    argument arguments[types::inputs + types::outputs];
    fill<types, given == 0>(arguments, a...);
    typename types::pair const lambdas{what, how};
    return use(face<types, A...>(&lambdas), arguments, types::inputs + types::outputs);
  }

  /// What has been compiled for calls with arguments of these types: for weft::forms.
  template <class... A>
  static kernel_table const& compiled_forms(A const&...) {
    return table_of<call_check<A...>::given == 0, A...>();
  }

  template <class... A>
  using types_for = detail::call_types<
      What, How, typename detail::inputs_among<boost::hana::tuple<>, std::remove_cvref_t<A>...>::type>;
  /// All that is refused while the program compiles. Named in the bodies of functions that return auto, which are
  /// instantiated where they are called: from a later place clang does not show the user's line.
  template <class... A>
  struct call_check {
    static constexpr int given = (0 + ... + (detail::traits<A>::is_output ? 1 : 0));
    static_assert((detail::traits<A>::supported && ...),
                  "weft: an argument is a weft::tensor, a weft::view or weft::out, a contiguous range, an mdspan, an Eigen "
                  "object, or a number; its elements are bool, signed or unsigned integers of 1 to 8 bytes (not char), "
                  "float, double, weft::f16 or weft::bf16");
    using types = types_for<A...>;
    static_assert(given == 0 || given == types::outputs,
                  "weft: give a weft::out(...) for each output of this kernel, or for none");
    static constexpr int misfit = detail::misfit<detail::results_of<typename types::result>, A...>();
    static_assert(misfit != 1,
                  "weft: an output has another element type than the result that it takes. Narrow types "
                  "widen in arithmetic (u8 + u8 is i32, f16 * f16 is f32): end the stage with a weft::cast "
                  "to what is to be stored, for example weft::cast<weft::f16>(...)");
    static_assert(misfit != 2, "weft: an output has another rank than the result that it takes");
    static_assert(types::check() || true);  // an illegal schedule
  };

 private:
  template <class Types, class... A>
  kernel_face face(typename Types::pair const* lambdas) const {
    return {Name.view(),
            lambdas,
            &Types::run_what,
            Types::scheduled ? &Types::run_how : nullptr,
            !Types::is_constant(),
            Types::digest(),
            machine,
            detail::open_call<detail::has_open<A...>, A...>::make,
            wanted};
  }
  template <class Types, bool LeftOut, class... A>
  static void fill(argument* arguments, A const&... a) {
    int input = 0, output = Types::inputs;
    (detail::traits<A>::describe(a, arguments[detail::traits<A>::is_output ? output++ : input++]), ...);
    for (; output < Types::inputs + Types::outputs; ++output) {
      arguments[output].is_output = true;
      arguments[output].is_allocated_here = LeftOut;
    }
  }
  template <bool LeftOut, class... A>
  static kernel_table& table_of() {
    static constinit kernel_table table{nullptr, {}, [] { static dropped_at_unload const forms{table}; }};
    return table;
  }
  template <bool LeftOut, bool Waits = false, class... A>
  ready_kernel const& find(argument* arguments, A const&... a) const {
    using types = types_for<A...>;
    fill<types, LeftOut>(arguments, a...);
    typename types::pair const lambdas{what, how};
    kernel_face asked = face<types, A...>(&lambdas);
    asked.waits = Waits;
    return find_or_compile(table_of<LeftOut, A...>(), asked, arguments, types::inputs + types::outputs);
  }
  template <class T, int Rank>
  static void attach(tensor<T, Rank>& made, argument const* bound, argument* out) {
    std::array<std::int64_t, static_cast<std::size_t>(Rank)> shape{};
    for (int d = 0; d < Rank; ++d) shape[static_cast<std::size_t>(d)] = bound->extents[d];
    made = tensor<T, Rank>(shape);
    out->data = made.data();
  }
  template <class... T>
  static void attach(boost::hana::tuple<T...>& made, argument const* bound, argument* out) {
    boost::hana::unpack(made, [&](auto&... one) { (attach(one, bound++, out++), ...); });
  }
};

/// A kernel from what it computes and how its loops run; without the second lambda, by rule (schedule/rules/rules.hpp).
///
///     inline constexpr auto scale = weft::kernel<"scale">([](auto x, auto a) {
///       return weft::compute<"y">(x.extent(0), [=](auto i) { return a * x(i); });
///     });
///
/// The lambdas are ordinary functions. Where the compiler can run them (no captures, nothing but constexpr), it
/// checks them while the program compiles; else the first call does, by the same rules.
template <fixed_string Name, class What>
constexpr auto kernel(What what) {
  return kernel_t<Name, What, detail::no_schedule>{what, {}};
}
/// With the second lambda.
template <fixed_string Name, class What, class How>
constexpr auto kernel(What what, How how) {
  return kernel_t<Name, What, How>{what, how};
}

/// True, or a compile error: `static_assert(weft::checked<matmul, weft::arg<float, 2>, weft::arg<float, 2>>);`
/// A kernel that the compiler cannot run is an error too: nothing would have been checked.
template <auto const& Kernel, class... In>
inline constexpr bool checked = [] {
  using k = std::remove_cvref_t<decltype(Kernel)>;
  using types = detail::call_types<decltype(k::what), decltype(k::how), boost::hana::tuple<In...>>;
  types::say_why_not_checked();
  static_assert(types::check(), "weft: the compiler cannot run this kernel's lambdas (they capture, or call what is "
                                "not constexpr), so nothing was checked");
  return true;
}();

/// What each step of the schedule was judged, for arguments of these types: legal, or deferred to the first call.
template <auto const& Kernel, class... In>
inline constexpr detail::schedule_report verdicts =
    detail::report<decltype(std::remove_cvref_t<decltype(Kernel)>::what),
                   decltype(std::remove_cvref_t<decltype(Kernel)>::how), In...>;

#undef WEFT_RETURNED_WRONGLY

/// The CPU that this program runs on, for `.on(weft::cpu())`.
inline target const& cpu() { return host(); }

}  // namespace weft::inline WEFT_ABI
