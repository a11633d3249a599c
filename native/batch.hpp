// Many rollouts of one scene at once. Each is computed by one thread from its own inputs alone, so
// the results are the same bits whatever the number of threads.
#pragma once

#include <functional>

#include "rollout.hpp"

namespace diffsim {

/// P: one parameter vector per row; steps: one number, or one per row; threads: 0 = all cores;
/// where rows are fewer than half of them, a large enough scene has two threads per row.
/// directions: none, or one matrix per row; from: none, or a snapshot per row (see Rollout::run).
std::vector<std::unique_ptr<Rollout>> rollout_batch(
    const Scene& scene, const MatrixXd& P, const std::vector<int>& steps, const Options& options,
    const std::vector<int>& active, GradientMode mode, int threads, CancelToken* cancel,
    const std::vector<MatrixXd>& directions = {}, const std::vector<std::string>& outputs = {},
    const std::vector<Snapshot>& from = {});

/// work(i) for all i < n by so many threads (0 = all cores); what one throws is thrown in the end.
void in_parallel(int n, int threads, const std::function<void(int)>& work);

}  // namespace diffsim
