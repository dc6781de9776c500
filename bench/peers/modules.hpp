// The peers that are there, each loaded once, and the cases in which they take part.
#pragma once

#include "../harness.hpp"
#include "problem.hpp"

namespace bench::peers {

/// What the peers' libraries read when they are loaded has to be there before this process begins: sets it and starts the
/// program anew, once. What is set already stays, but for OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE.
///
/// OPENBLAS_CORETYPE   Debian's 0.3.21 takes newer CPUs with AVX-512 for a Haswell or a Zen, and some machines have a Haswell in
///                     their environment, with an OPENBLAS_L2_SIZE, which is taken away: half of its speed
/// OPENBLAS_THREAD_TIMEOUT, GOMP_SPINCOUNT  workers that wait for work spin for some ms by default, on the processor that
///                     the next variant wants; within a sample calls follow each other at once. (OpenBLAS at 128^3 on two
///                     threads of a Zen 4: 144 GFLOP/s with 2^16 cycles, 34 with 2^20, 125 with 2^26, which is the default
///                     and made samples of oneDNN take up to 76 times as long.)
/// GLIBC_TUNABLES      pages of 2 MiB for what peers allocate themselves, as ours have
void restart_with_environment(char** argv);
/// The same for one case among others, which goes on in a process of its own; false: this is that process.
bool ran_with_environment(report& r, char const* name);

/// All ways of all peers; a peer that is not there is said to be skipped, once.
std::vector<way> ways_of_all(report& r, problem const& p);
/// Of these peers alone, by the names of their modules.
std::vector<way> ways_of(report& r, problem const& p, std::initializer_list<std::string_view> names);

/// "OpenBLAS 0.3.21 (SkylakeX), ..", of those that are there.
std::string versions(report& r);

// The cases of `weft-bench --peers`, a file per family.
void matmul_squares(report& r, int threads);
void matmul_small(report& r, int threads);
void matmul_short(report& r, int threads);
void matmul_forms(report& r, int threads);
void matmul_fused(report& r, int threads);
void matmul_narrow(report& r, int threads);
void elementwise(report& r, int threads);
void rows(report& r, int threads);
void images(report& r, int threads);
void convolutions(report& r, int threads);
void attention(report& r, int threads);
void pipelines(report& r, int threads);

}  // namespace bench::peers
