#include "batch.hpp"

#include <algorithm>
#include <exception>
#include <thread>

namespace diffsim {
namespace {

constexpr int kWorthTwo = 100;  // unknowns below which handing a step over costs more than S of it

}  // namespace

void in_parallel(int n, int threads, const std::function<void(int)>& work) {
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::exception_ptr> error(n);
  std::atomic<int> next{0};
  auto loop = [&] {
    for (int i = next++; i < n; i = next++) {
      try {
        work(i);
      } catch (...) {
        error[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  for (int t = 1; t < std::min(threads, n); ++t) pool.emplace_back(loop);
  loop();
  for (std::thread& t : pool) t.join();
  for (const auto& e : error) {
    if (e) std::rethrow_exception(e);
  }
}

std::vector<std::unique_ptr<Rollout>> rollout_batch(
    const Scene& scene, const MatrixXd& P, const std::vector<int>& steps, const Options& options,
    const std::vector<int>& active, GradientMode mode, int threads, CancelToken* cancel,
    const std::vector<MatrixXd>& directions, const std::vector<std::string>& outputs,
    const std::vector<Snapshot>& from) {
  const int n = static_cast<int>(P.rows());
  if (steps.size() != 1 && static_cast<int>(steps.size()) != n) {
    refuse("rollout_batch: steps", "must be one number or one per row of P", steps.size());
  }
  if (!directions.empty() && static_cast<int>(directions.size()) != n) {
    refuse("rollout_batch: directions", "must be none, or a matrix per row of P",
           directions.size());
  }
  if (!from.empty() && static_cast<int>(from.size()) != n) {
    refuse("rollout_batch: from", "must be none, or a snapshot per row of P", from.size());
  }
  if (threads < 0) refuse("rollout_batch: threads", "must be >= 0 (0 = all cores)", threads);
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const bool spare = n > 0 && threads >= 2 * n && scene.ndof() >= kWorthTwo;
  const int each = spare ? 2 : 1;                    // rollouts can use two
  const RequestedOutputs requested(scene, outputs);  // once: there may be many to choose from
  std::vector<std::unique_ptr<Rollout>> result(n);
  in_parallel(n, threads, [&](int i) {
    result[i] = Rollout::run(scene, P.row(i), steps[steps.size() == 1 ? 0 : i], options, active,
                             mode, cancel, each, directions.empty() ? nullptr : &directions[i],
                             requested, from.empty() ? nullptr : &from[i]);
  });
  return result;
}

}  // namespace diffsim
