// Kernels for a GPU with their texts, made once, and the proofs that each list of them goes through.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "codegen/cuda/corpus.hpp"
#include "support/nvrtc.hpp"
#include "weft/codegen/cuda/resources.hpp"

namespace weft_test {

inline std::size_t count_of(std::string const& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// All lanes of a warp have come to each tile of a matrix unit, and some have.
inline void check_lanes_together(cuda_on_host const& host) {
  auto const counts = reinterpret_cast<unsigned const* (*)()>(host.symbol("shim_tile_counts"));
  REQUIRE((counts != nullptr));
  CHECK(counts()[0] > 0);
  for (unsigned t = 0; t < 1024; ++t) CHECK(counts()[t] == counts()[t / 32 * 32]);
}

/// What ldmatrix has met so far: matrices of 8 rows, and those of which two rows wanted the same bank.
struct ldmatrix_counts {
  unsigned long long all = 0, twice = 0;
  /// None of those since the last call met a bank twice.
  void check(cuda_on_host const& host) {
    auto const counts = reinterpret_cast<unsigned long long const* (*)()>(host.symbol("shim_ldmatrix_counts"));
    REQUIRE((counts != nullptr));
    CHECK(counts()[1] == twice);
    all = counts()[0], twice = counts()[1];
  }
};

inline constexpr char const* gpu_architectures[] = {"sm_80", "sm_89", "sm_90", "sm_120"};
/// Those for which a text is compiled: that have what it asks for, and of these the oldest and Hopper alone where not all are asked for (WEFT_TEST_GPUS=all), since
/// ptxas takes most of the time that tests of CUDA text take.
inline std::vector<std::string> gpus_of(std::string const& text) {
  if (weft::is_for_hopper(text)) return {"sm_90"};
  if (std::getenv("WEFT_TEST_GPUS") == nullptr) return {"sm_80", "sm_90"};
  return {std::begin(gpu_architectures), std::end(gpu_architectures)};
}

/// NVRTC compiles a text of so many kernels, or more, for each GPU: without warnings, spills, or arrays of a thread's own in memory.
/// `also(binary, architecture)` looks further.
template <class F>
void check_compiled_for_gpus(std::string const& text, std::size_t kernels, F const& also) {
  if (!nvrtc_is_asked()) return;
  for (std::string const& architecture : gpus_of(text)) {
    weft::cuda_binary const r = weft::compile_cuda(text, architecture, {"--ptxas-options=-v"});
    INFO(architecture << r.log);
    CHECK(r.cubin.size() > 4);
    CHECK(r.log.find("warning") == std::string::npos);
    CHECK(r.ptx.find(".local") == std::string::npos);
    CHECK(count_of(r.log, "bytes stack frame") >= kernels);
    CHECK(count_of(r.log, "bytes stack frame") == count_of(r.log, " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
    also(r, architecture);
  }
}
/// The same of all these kernels, whose texts are one.
template <class F>
void check_compiled_together(std::vector<std::unique_ptr<gpu_trial>> const& trials, std::string const& text, F const& also) {
  check_compiled_for_gpus(text, trials.empty() ? 0 : 1, [&](weft::cuda_binary const& r, std::string const& architecture) {
    for (auto const& t : trials) {
      if (!t->fault.empty()) continue;
      bool clean = true;
      for (weft::cuda_usage const& u : weft::usage_in(r.log, t->module, architecture)) {
        INFO(u.kernel);
        CHECK(u.registers > 0);  // it is there
        clean = clean && u.registers > 0 && u.stack_bytes + u.spill_stores + u.spill_loads == 0;
      }
      CHECK(clean);
      t->proofs.architectures += clean;
    }
    also(r, architecture);
  });
}
/// Which of the three proofs a kernel has not come through, of those that there are on this machine; NVRTC's for so many GPUs.
inline std::string lacking_proofs(gpu_trial const& t, std::size_t gpus) {
  bool const compiles = !is_sanitized && weft::find_nvrtc() != nullptr;
  std::string lacking;
  if (!t.proofs.interpreted) lacking += " the interpreter";
  if (!t.proofs.on_host && cuda_on_host::available()) lacking += " its text on the host";
  if (compiles && t.proofs.architectures != static_cast<int>(gpus)) lacking += " NVRTC for all GPUs";
  return lacking;
}

/// Under sanitizers, which see in a third of a list what they would see in all of it, the others are not run.
inline bool is_run(std::size_t kernel) { return !is_sanitized || kernel % 3 == 0; }

struct prepared_kernels {
  std::vector<gpu_kernel> kernels;
  std::vector<std::unique_ptr<gpu_trial>> trials;
  std::string text;  // of all of them, in one file
  std::string traffic_of_all;  // a table, behind check_interpreted
  explicit prepared_kernels(std::vector<gpu_kernel> all) : kernels(std::move(all)) {
    weft::sequence<std::string> known;
    for (gpu_kernel const& k : kernels) {
      trials.push_back(std::make_unique<gpu_trial>(k, known));
      if (!trials.back()->fault.empty() || !is_run(trials.size() - 1)) continue;
      known = trials.back()->module.called;
      text += trials.back()->module.text;
    }
  }
  /// Calls f(kernel, trial) for each that has text, and is run.
  template <class F>
  void each(F const& f) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      INFO(kernels[i].name << "\n" << kernels[i].steps);
      if (trials[i]->fault.empty() && is_run(i)) f(kernels[i], *trials[i]);
    }
  }
  void check_have_text() const {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      INFO(kernels[i].name << "\n" << kernels[i].steps);
      CHECK(trials[i]->fault == "");
    }
  }
  /// The interpreter finds nothing wrong, threads in the orders of these seeds; under sanitizers, of the first one. What memories do in the
  /// first one is counted: `looked(kernel, traffic)` judges it.
  template <class F>
  void check_interpreted(std::initializer_list<std::uint64_t> seeds, F const& looked) {
    traffic_table table;
    each([&](gpu_kernel const& k, gpu_trial& t) {
      memory_traffic traffic;
      for (std::uint64_t const& seed : seeds) {
        CHECK(t.interpreted(seed, &seed == seeds.begin() && !is_sanitized ? &traffic : nullptr) == "");
        if (is_sanitized) break;
      }
      table.add(k.name, traffic);
      if (!is_sanitized) looked(k, traffic);
    });
    traffic_of_all = table.text();
    if (char const* const folder = std::getenv("WEFT_TEST_KEEP")) std::ofstream(std::string(folder) + "/traffic.txt", std::ios::app) << traffic_of_all;
  }
  void check_interpreted(std::initializer_list<std::uint64_t> seeds) {
    check_interpreted(seeds, [](gpu_kernel const&, memory_traffic const&) {});
  }
  /// The same of what a rule has made. Its loads of 16 bytes meet no bank twice, nor do its stores of narrow types, whose rows are swizzled; those of
  /// others may, as rows of 64 bytes that are padded by 16 have four banks in common with the next row. Where rows of tensors are whole sectors, what a warp touches side by side
  /// comes in a tenth more than it fills at most.
  void check_ruled_and_interpreted(std::initializer_list<std::uint64_t> seeds) {
    check_interpreted(seeds, [this](gpu_kernel const& k, memory_traffic const& t) {
      CHECK(t.wide_loads.taken == t.wide_loads.least);
      bool narrow = true;
      for (std::size_t i = 0; i < k.shapes.size(); ++i) narrow = narrow && weft::size_bytes(k.p.tensors[i].type) <= 2;
      if (narrow) CHECK(t.wide_stores.taken == t.wide_stores.least);
      else CHECK(t.wide_stores.taken <= 2 * t.wide_stores.least);
      gpu_trial const& trial = *trials[static_cast<std::size_t>(&k - kernels.data())];
      bool whole = true;
      auto const look = [&](weft::dtype type, weft::sequence<std::int64_t> const& shape) {
        whole = whole && (shape.empty() || shape.back() * weft::size_bytes(type) % 32 == 0);
      };
      for (std::size_t i = 0; i < k.shapes.size(); ++i) look(k.p.tensors[i].type, k.shapes[i]);
      for (weft::dense const& d : trial.expected) look(d.type, d.shape);
      if (whole) CHECK(t.global_contiguous.ratio() <= 1.1);
    });
  }
  /// The text, compiled for the host, computes the same with threads in these orders; `also` is called after each run. Under sanitizers the
  /// text has them, too, and the last order is enough: what they find does not hang on it.
  template <class F>
  void check_on_host(std::initializer_list<unsigned> orders, F const& also) {
    if (!cuda_on_host::available()) {
      MESSAGE("[skip] neither $CXX nor c++ runs here: apt-get install g++");
      return;
    }
    cuda_on_host const host(text, "1", cuda_on_host::as_built);
    REQUIRE_MESSAGE(host.loaded(), host.messages);
    CHECK(host.messages == "");
    each([&](gpu_kernel const&, gpu_trial& t) {
      for (unsigned order : orders) {
        if (is_sanitized && order != orders.end()[-1]) continue;
        INFO("order " << order);
        CHECK(t.on_host(host, order) == "");
        also(host);
      }
    });
  }
  void check_on_host(std::initializer_list<unsigned> orders) {
    check_on_host(orders, [](cuda_on_host const&) {});
  }
  template <class F>
  void check_compiled(F const& also) const {
    check_compiled_together(trials, text, also);
  }
  /// All kernels have come through all proofs: behind the test cases of a list, in a file that has run from its begin.
  void check_proved() const {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      INFO(kernels[i].name << ", which the test cases in front of this one have judged");
      if (is_run(i)) CHECK(lacking_proofs(*trials[i], gpus_of(text).size()) == "");
    }
  }
  /// How many barriers there are, and without how many of them the interpreter finds a race.
  struct barrier_counts {
    int all = 0, needed = 0;
  };
  barrier_counts count_barriers() {
    barrier_counts n;
    std::string spare;
    each([&](gpu_kernel const& k, gpu_trial& t) {
      for (int b = 0;; ++b) {
        std::string const found = t.interpreted_without(b);
        if (found == "none") break;
        ++n.all;
        bool const race = found.find("race") != std::string::npos || found.find("uninitialised read") != std::string::npos ||
                          found.find("short wait") != std::string::npos;
        n.needed += race;
        if (!race) spare += k.name + " " + std::to_string(b) + ": " + found.substr(0, 100) + "\n";
      }
    });
    MESSAGE(n.needed << " of " << n.all << " barriers are needed; others:\n" << spare);
    return n;
  }
};

}  // namespace weft_test
