// A small harness: the variants of a case run interleaved, and each figure comes with its spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// What the command line asks for.
struct options {
  std::string filter;  // run the cases whose names contain it
  std::string only;    // of those of peers/, the rows whose names contain it
  bool json = false;
  bool list = false;
  bool peers = false;     // the cases of peers/ instead of the others
  bool markdown = false;  // of those, a table
  int threads = 0;        // of those, with so many threads; 0: with 1 and with 2
  int rounds = 15;
};

/// One way to do the work of a case.
struct variant {
  std::string name;
  std::function<void(std::int64_t times)> run;  // does the work so many times
  int reference = 0;                            // the index of the variant that it is compared with
};

/// What `measure` found of one variant. Units: ns for the work done once.
struct figure {
  double median = 0;
  double spread = 0;  // (p90 - p10) / median
  double ratio = 1;   // the reference's time over this one's, median of the rounds: above 1 is faster
  double fastest = 0;
};

struct sampling {
  int rounds = 15;
  double sample_ms = 2;  // a sample repeats the work until it takes at least this long
  double settle_ms = 0;  // the work runs this long, untimed, before each sample; once at least
  double budget_ms = 0;  // 0: none; else fewer rounds, but three, where all would take longer
};

/// The time of the work done once, in ns: a list per variant, an entry per round. In turns: each round takes one sample of
/// each, every second round in reverse order, so that a slow minute of the machine meets all alike.
std::vector<std::vector<double>> sample(std::vector<variant> const& variants, sampling const& s);

/// Measures all variants in turns; the ratio is that of samples taken side by side.
std::vector<figure> measure(std::vector<variant> const& variants, sampling const& s);

double now_ns();
double percentile(std::vector<double> const& values, double part);  // part in 0..1; 0 of no values
double median(std::vector<double> const& values);
double spread(std::vector<double> const& values);

/// Floats on 2 MiB pages where the system has them. No two buffers of different `number` start at the same place of
/// a page, since then a store to one would delay loads of the other.
class buffer {
 public:
  buffer(std::size_t count, int number);
  ~buffer();
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;
  float* data() const { return data_; }
  std::size_t size() const { return count_; }
  void randomize(std::uint64_t seed) const;  // -1 .. 1 without -0.25 .. 0.25: nothing multiplies by a zero
  void poison() const;                       // with NaN: what is not written shows

 private:
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::size_t count_ = 0;
  float* data_ = nullptr;
};

enum class verdict { none, pass, miss };

/// A line of the report.
struct row {
  std::string variant{};
  double median = 0;
  double spread = 0;
  std::string unit{};
  double ratio = 0;  // 0: nothing to compare with
  std::string reference{};
  std::string bar{};
  verdict met = verdict::none;
  std::string note{};
  std::string more{};  // of JSON: ",\"name\":value"
};
std::string text(char const* format, ...) __attribute__((format(printf, 1, 2)));
void demand_at_least(row& r, double value, double limit, char const* unit);
void demand_at_most(row& r, double value, double limit, char const* unit);

/// Where the cases put their rows.
class report {
 public:
  explicit report(options const& o) : wanted(o) {}
  void begin(std::string const& name);
  void add(row const& r);
  void skip(std::string const& why);   // the case cannot run here
  void wrong(std::string const& what);  // a variant computed something else than the reference
  bool all_right() const { return all_right_; }

  options wanted;

 private:
  std::string case_;
  bool header_printed_ = false;
  bool all_right_ = true;
};
/// Measures calls, and adds a row for each; `limit_ns`: what all but the first may take more than it.
void add_ns_over_first(report& r, std::vector<variant> const& variants, double limit_ns);

// The cases, one file each.
void matmul(report& r, std::int64_t n);
void matmul_packed(report& r, std::int64_t n);
void matmul_two_threads(report& r);
void attention(report& r);
void lowering(report& r);
void jit(report& r);
void call(report& r);
void launch(report& r);
void fork_join(report& r);
void warm_start(report& r);
void tuned(report& r);
void sketches(report& r);
void rounds(report& r);

/// The body of the process that `jit` starts to see a first compilation.
int first_jit();
/// Of the processes that `tuned` starts.
int first_look(char const* directory, char const* size);

}  // namespace bench
