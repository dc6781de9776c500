// Real spaces whose points were all measured once: kernels with knobs, and files of what each point took. A search can be
// replayed on them as often as one likes.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tune/landscapes.hpp"
#include "tune/recorded_kernels.hpp"
#include "weft/tune.hpp"

namespace weft_test {

/// What a space's points are judged for, wherever the replay runs: 32 registers of 64 bytes.
inline weft::target recorded_target() {
  weft::target t = weft::host();
  t.vector_bytes = 64, t.vector_registers = 32, t.fma = true;
  t.l1_bytes = 32 << 10, t.l2_bytes = 1 << 20, t.l3_bytes = 32 << 20, t.l3_bytes_per_cycle = 0, t.vector_units = 1, t.threads = 2;
  return t;
}

/// A kernel's space for arguments of these shapes, and the table of its file.
class recorded_space : public weft::tuning::landscape {
 public:
  template <class Kernel, class... A>
  recorded_space(Kernel const& kernel, std::string const& file, A const&... a) : machine_(recorded_target()) {
    kernel.erased(
        [&](weft::kernel_face const& f, weft::argument* arguments, int count) {
          what_ = f.what(f.object);
          weft::shape_outputs(what_, arguments, count);
          layout_ = weft::bind(what_, f.name, arguments, count);
          weft::tuning::space s({f.name, &what_, f.how, f.object, &layout_, &machine_, {}});
          weft::sequence<std::int32_t> choices;
          bool more = true;
          while (more) {  // the kernel's own object is gone later: all points now
            weft::tuning::point p = s.look(choices);
            described_.emplace_back();
            if (p.legal) described_.back().known = s.describe(p, described_.back().features, described_.back().estimate);
            more = weft::tuning::next_point(p, choices);
            times_.push_back(0);
            values_.resize(p.sizes.size());
            for (std::size_t i = 0; i < p.sizes.size() && p.legal; ++i) {
              auto const at = static_cast<std::size_t>(p.choices[i]);
              values_[i].resize(static_cast<std::size_t>(p.sizes[i]), -1);
              values_[i][at] = std::llround(std::exp2(static_cast<double>(p.features[i])) - 1);
            }
            known_.keep(p);
          }
        },
        a...);
    std::ifstream in(file);
    std::string text;
    for (double ns; in >> text >> ns;) {
      weft::sequence<std::int32_t> choices;
      for (std::size_t at = 0; at < text.size(); at = text.find(',', at) + 1) {
        choices.push_back(std::atoi(text.c_str() + at));
        if (text.find(',', at) == std::string::npos) break;
      }
      times_[known_.find(choices)] = ns;
      ++measured;
    }
  }
  weft::tuning::point look(weft::sequence<std::int32_t> const& choices) override {
    weft::sequence<std::int32_t> all = choices;
    all.resize(known_[0].choices.size(), 0);  // each point of these spaces has all knobs
    std::size_t const at = known_.find(all);
    weft::tuning::point p = known_[at];
    p.legal = p.legal && times_[at] > 0;
    if (is_outlined) {
      weft::sequence<weft::knob_info> knobs;
      for (std::size_t i = 0; i < p.sizes.size(); ++i) {
        weft::knob_info k{weft::short_name("k").append(static_cast<int>(i)), values_[i], p.choices[i]};
        knobs.push_back(k);
      }
      p.values = outline_.note(knobs);
    }
    return p;
  }
  weft::tuning::outline const* outlined_by() const override { return is_outlined ? &outline_ : nullptr; }
  weft::tuning::point look_by_values(weft::tuning::outlined const& wanted) override {
    weft::sequence<std::int32_t> choices;
    for (std::size_t i = 0; i < values_.size(); ++i)
      choices.push_back(weft::detail::nearest_value(values_[i], outline_.value(i, wanted.at[i])));
    return look(choices);
  }
  bool describe(weft::tuning::point const& p, weft::sequence<float>& features, double& estimate) override {
    description const& d = described_[known_.find(p.choices)];
    features = d.features, estimate = d.estimate;
    return d.known && describes;
  }
  bool is_outlined = false;  // as if a look were dear
  bool describes = true;  // false: as if nothing were known of the loop programs
  double ns(weft::tuning::point const& p) { return times_[known_.find(p.choices)]; }
  /// Calls `use` with each legal point that was measured, what is known of its loop program, and its time.
  template <class Use>
  void each_measured(Use const& use) const {
    for (std::size_t i = 0; i < times_.size(); ++i)
      if (times_[i] > 0 && known_[i].legal && described_[i].known) use(known_[i], described_[i].features, times_[i]);
  }
  int measured = 0;

 private:
  struct nowhere : weft::tuning::landscape {
    weft::tuning::point look(weft::sequence<std::int32_t> const&) override { return {}; }
  };
  struct description {
    bool known = false;
    double estimate = 0;
    weft::sequence<float> features;
  };
  std::vector<description> described_;
  weft::sequence<weft::sequence<std::int64_t>> values_;  // of knobs
  weft::tuning::outline outline_;
  weft::target machine_;
  weft::program what_;
  weft::call_layout layout_;
  nowhere nothing_;
  weft::tuning::known_points known_{nothing_};
  std::vector<double> times_;
};

}  // namespace weft_test
