// A tree with what its dynamics are computed from, and many states of it at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>

#include "derivatives.hpp"

namespace diffsim {

struct ArticulatedModel {
  explicit ArticulatedModel(Tree given) : tree(std::move(given)) {}

  const Tree tree;
  const TreeBodies bodies{tree};        // fixed links merged
  const TreeBodies links{tree, false};  // every link a body: for parameters
};

/// Calls work(k, workspace) for k in [0, count), each by one thread: results do not depend on how
/// many there are (0: one a core).
template <class Work>
void each_state(const TreeBodies& bodies, int count, int threads, const Work& work) {
  constexpr int kChunk = 16;  // states that a thread takes at once
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  threads = std::clamp((count + kChunk - 1) / kChunk, 1, threads);
  std::atomic<int> next{0};
  auto run = [&] {
    DynamicsWorkspace own(bodies);
    for (int begin = next.fetch_add(kChunk); begin < count; begin = next.fetch_add(kChunk)) {
      for (int k = begin; k < std::min(begin + kChunk, count); ++k) work(k, own);
    }
  };
  std::vector<std::thread> pool;
  for (int t = 1; t < threads; ++t) pool.emplace_back(run);
  run();
  for (std::thread& t : pool) t.join();
}

}  // namespace diffsim
